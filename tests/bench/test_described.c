// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Rows of described kernels: which sizes and configurations are measured, what a run computes and moves, and what is
// asked of the worker.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases/size.h"
#include "common/json.h"
#include "run/described.h"
#include "support/main.h"

static char path[] = "/tmp/husk-test-described-XXXXXX";
static bench_options options;
static bench_suite suite;
static char reason[BENCH_REASON_TEXT];

static void begin(void)
{
    strcpy(path + sizeof path - 7, "XXXXXX");
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    close(file);
    options = (bench_options){.kernels = {path}, .kernel_count = 1, .seed = 7};
    memset(&suite, 0, sizeof suite);
}

static void end(void)
{
    bench_suite_free(&suite);
    unlink(path);
}

static bool make(const char *text, const char *words)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
    snprintf(options.cases, sizeof options.cases, "%s", words);
    bench_suite_free(&suite);
    reason[0] = '\0';
    return bench_described_suite(&options, &suite, reason);
}

static void has(const char *text, const char *words, const char *const *rows)
{
    ck_assert_msg(make(text, words), "%s", reason);
    size_t count = 0;
    for (; rows[count]; count++) {
        ck_assert_uint_lt(count, suite.count);
        ck_assert_str_eq(bench_suite_entry_text(&suite.entries[count]), rows[count]);
    }
    ck_assert_uint_eq(suite.count, count);
}

#define ROWS(...) ((const char *const[]){__VA_ARGS__, NULL})

#define HEAD "kernel k file=k.cl\n config W=2,4\n size n=1,8,3 m=1,2\n where W <= n\n"
#define TAIL                                     \
    " arg x global float[n*m] in = ones\n"       \
    " arg y global double[n] out\n"              \
    " arg z global int[m] inout = zeros\n"       \
    " global n\n expect y[i] = n\n expect z anything\n"

START_TEST(sizes)
{
    has(HEAD TAIL, "", ROWS("k W=2 n=8 m=2", "k W=4 n=8 m=2")); // the largest of the listed
    has(HEAD " measure n=64,3 m=9\n" TAIL, "",
        ROWS("k W=2 n=64 m=9", "k W=4 n=64 m=9", "k W=2 n=3 m=9")); // and W=4 is excluded there
    has(HEAD " measure n=64 m=9\n" TAIL, "W=2", ROWS("k W=2 n=64 m=9"));
    // One that is named takes the place of its list, in what is measured, or else in what is listed.
    has(HEAD " measure n=64,7 m=9\n" TAIL, "n=5 W=2", ROWS("k W=2 n=5 m=9"));
    has(HEAD TAIL, "n=5 W=2", ROWS("k W=2 n=5 m=1", "k W=2 n=5 m=2"));
    has("kernel k file=k.cl\n arg y global float[4] out\n global 4\n expect y[i] = 1\n", "k", ROWS("k"));
}
END_TEST

START_TEST(amounts)
{
    ck_assert(make(HEAD TAIL, "W=2 n=3 m=2"));
    const bench_case *c = &suite.entries[0].c;
    ck_assert_int_eq(c->op, BENCH_OP_DESCRIBED);
    ck_assert_int_eq(c->dtype, HUSK_F64); // of the first output
    ck_assert_str_eq(c->canonical, "k W=2 n=3 m=2");
    ck_assert_double_eq(bench_case_flops(c), 0);
    ck_assert_double_eq(bench_case_bytes(c), 4 * 6 + 8 * 3 + 2 * 4 * 2);
    ck_assert(bench_case_is_bandwidth(c));
    ck_assert(!bench_described_has_operator(&suite));

    ck_assert(make(HEAD TAIL " flops W*n*m + 0.5\n bytes 100\n", "W=4 n=5 m=2"));
    ck_assert_double_eq(bench_case_flops(&suite.entries[0].c), 40.5);
    ck_assert_double_eq(bench_case_bytes(&suite.entries[0].c), 100);
    ck_assert(!bench_case_is_bandwidth(&suite.entries[0].c));

    ck_assert(!make(HEAD TAIL " flops n - 10\n", ""));
    ck_assert_str_eq(reason, "k: flops of a run are -2");
    ck_assert(!make(HEAD TAIL " bytes 1/(n-8)\n", ""));
    ck_assert_str_eq(reason, "k: bytes of a run are inf");
    // What a set of operands takes is more than what a run moves, and the other way round.
    ck_assert(make(HEAD TAIL " bytes 5\n", "W=2 n=3 m=2"));
    ck_assert_double_eq(bench_case_operands(&suite.entries[0].c), 4 * 6 + 8 * 3 + 4 * 2);
}
END_TEST

START_TEST(operators)
{
    static const char text[] =
        "kernel mine file=k.cl\n config T=8\n size m=3 n=4 k=5\n arg a global float[m*k] in = ones\n"
        " arg b global float[k*n] in = ones\n arg c global float[m*n] out\n global m, n\n"
        " expect c as gemm(m=m, n=n, k=k, x=a, w=b)\n";
    ck_assert_msg(make(text, ""), "%s", reason);
    const bench_suite_entry *entry = &suite.entries[0];
    ck_assert_str_eq(bench_suite_entry_text(entry), "mine T=8 m=3 n=4 k=5");
    ck_assert_str_eq(entry->c.canonical, "gemm m=3 n=4 k=5");
    ck_assert_double_eq(bench_case_flops(&entry->c), 2 * 3 * 4 * 5);
    ck_assert(bench_described_has_operator(&suite));
    ck_assert_str_eq(bench_text_of(entry->kernel, "operation"), "gemm m=3 n=4 k=5");
    ck_assert_str_eq(bench_text_of(entry->kernel, "path"), path);
    ck_assert_str_eq(bench_text_of(entry->kernel, "name"), "mine");
    ck_assert_str_eq(bench_text_of(entry->kernel, "configuration"), "T=8");
    ck_assert_str_eq(bench_text_of(entry->kernel, "options"), "-DT=8");
    ck_assert(json_is_true(json_object_get(entry->kernel, "compares")));
    ck_assert_int_eq(json_integer_value(json_object_get(entry->kernel, "seed")), 7);
    ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(entry->kernel, "sizes"), "k")), 5);
    ck_assert_int_eq(json_integer_value(json_array_get(json_object_get(entry->kernel, "size"), 1)), 4);

    // Keys that no case has are said with their line.
    char wrong[sizeof text + 20];
    snprintf(wrong, sizeof wrong, "%.*sq=1, x=a, w=b)\n", (int)(strstr(text, "k=k") - text), text);
    ck_assert(!make(wrong, ""));
    ck_assert_ptr_nonnull(strstr(reason, ":8: gemm: unknown key 'q'"));
}
END_TEST

START_TEST(mistakes)
{
    ck_assert(!make(HEAD TAIL, "nobody"));
    ck_assert_str_eq(reason, "nobody is no kernel, parameter or size of these files");
    ck_assert(!make(HEAD TAIL, "n=1"));
    ck_assert_ptr_nonnull(strstr(reason, "`where` excludes all"));
    ck_assert(!make("kernel k file=k.cl\n measure n=3\n", ""));
    ck_assert_ptr_nonnull(strstr(reason, ":2:1: `measure` is of sizes, which a line `size` before it names"));
    ck_assert(!make(HEAD " measure n=3\n" TAIL, ""));
    ck_assert_ptr_nonnull(strstr(reason, ":5:1: the line lacks m"));
    ck_assert(!make(HEAD " measure n=3 m=1 q=2\n" TAIL, ""));
    ck_assert_ptr_nonnull(strstr(reason, "the first line of sizes has no q"));
    ck_assert(!make("kernel k file=k.cl\n arg x global int[4] out restored\n", ""));
    ck_assert_ptr_nonnull(strstr(reason, ":2:26: only what is inout can be restored"));
    options.kernels[options.kernel_count++] = path;
    ck_assert(!make(HEAD TAIL, ""));
    ck_assert_ptr_nonnull(strstr(reason, "both have a kernel k: rows are told apart by names"));
    options.kernel_count = 1;
    options.kernels[0] = "/nowhere/k.txt";
    ck_assert(!bench_described_suite(&options, &suite, reason));
    ck_assert_ptr_nonnull(strstr(reason, "/nowhere/k.txt"));
}
END_TEST

// Another description, or another source, is another digest; one that is not there is none of both.
START_TEST(digests)
{
    char first[20], second[20], third[20];
    ck_assert(make(HEAD TAIL, ""));
    bench_described_digest(&options, first);
    bench_described_digest(&options, second);
    ck_assert_str_eq(first, second);
    ck_assert(make(HEAD TAIL " flops 1\n", ""));
    bench_described_digest(&options, second);
    ck_assert_str_ne(first, second);

    char source[sizeof path + 4], text[300];
    snprintf(source, sizeof source, "%s.cl", path);
    snprintf(text, sizeof text, "kernel k file=%s\n arg y global int[1] out\n global 1\n expect y anything\n", source);
    ck_assert(make(text, ""));
    bench_described_digest(&options, first);
    FILE *file = fopen(source, "w");
    ck_assert_ptr_nonnull(file);
    bench_described_digest(&options, second);
    fputs("// one\n", file);
    fclose(file);
    bench_described_digest(&options, third);
    unlink(source);
    ck_assert_str_ne(first, second);
    ck_assert_str_ne(second, third);
    ck_assert_uint_eq(strlen(third), 16);
}
END_TEST

int main(void)
{
    Suite *suite_of_tests = suite_create("described");
    TCase *tcase = tcase_create("described");
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_test(tcase, sizes);
    tcase_add_test(tcase, amounts);
    tcase_add_test(tcase, operators);
    tcase_add_test(tcase, mistakes);
    tcase_add_test(tcase, digests);
    suite_add_tcase(suite_of_tests, tcase);
    return test_main(suite_of_tests);
}
