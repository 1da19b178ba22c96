// SPDX-License-Identifier: MIT
// ctest: timeout=60 processors=1
// What a worker tells of the library's log: the program that is being built, and, as long as it is the only one, the
// file by which it is marked.
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker/builds.h"

static char program[1000], mark[200], kernel[200];
static int told;

static void hear(const char *said, const char *of_mark)
{
    snprintf(program, sizeof program, "%s", said ? said : "nothing");
    snprintf(mark, sizeof mark, "%s", of_mark ? of_mark : "none");
    told++;
}

static void hear_launch(const char *launched)
{
    snprintf(kernel, sizeof kernel, "%s", launched);
}

static void expect(const char *wanted_program, const char *wanted_mark)
{
    ck_assert_str_eq(program, wanted_program);
    ck_assert_str_eq(mark, wanted_mark);
}

START_TEST(a_build_begins_and_ends)
{
    bench_builds builds;
    bench_builds_begin(&builds, hear, hear_launch);
    bench_builds_note(&builds, "building a.cl with \"-DX\" (refused where there is /c/1.crashed)");
    expect("a.cl with \"-DX\"", "/c/1.crashed");
    bench_builds_note(&builds, "kernel file a.cl does not build");
    expect("a.cl with \"-DX\"", "/c/1.crashed");
    bench_builds_note(&builds, "building b.cl with \"\""); // the end of the first was not said
    expect("b.cl with \"\"", "none");
    bench_builds_note(&builds, "not built: b.cl \"\"");
    expect("nothing", "none");
    const int before = told;
    bench_builds_note(&builds, "built c.cl \"\" in 3 ms"); // from a binary: its beginning was not said
    ck_assert_int_eq(told, before);
    bench_builds_note(&builds, "first launch of husk_a of a.cl");
    ck_assert_str_eq(kernel, "husk_a of a.cl");
    ck_assert_int_eq(told, before);
    bench_builds_end(&builds);
    bench_builds_begin(&builds, NULL, NULL);
    bench_builds_note(&builds, "first launch of husk_b of b.cl");
    bench_builds_note(&builds, "building a.cl with \"-DX\"");
    bench_builds_end(&builds);
    ck_assert_int_eq(told, before);
    ck_assert_str_eq(kernel, "husk_a of a.cl");
}
END_TEST

static void *build_another(void *builds)
{
    bench_builds_note(builds, "building b.cl with \"\" (refused where there is /c/2.crashed)");
    return NULL;
}

START_TEST(of_several_none_is_marked)
{
    bench_builds builds;
    pthread_t thread;
    bench_builds_begin(&builds, hear, NULL);
    bench_builds_note(&builds, "building a.cl with \"\" (refused where there is /c/1.crashed)");
    ck_assert_int_eq(pthread_create(&thread, NULL, build_another, &builds), 0);
    pthread_join(thread, NULL);
    expect("one of 2 programs at once, the last of them b.cl with \"\"", "none");
    bench_builds_note(&builds, "built a.cl \"\" in 3 ms");
    expect("b.cl with \"\"", "/c/2.crashed");
    bench_builds_end(&builds);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("builds");
    TCase *tests = tcase_create("builds");
    tcase_add_test(tests, a_build_begins_and_ends);
    tcase_add_test(tests, of_several_none_is_marked);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
