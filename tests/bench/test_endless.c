// SPDX-License-Identifier: MIT
// ctest: timeout=200 processors=1
// A kernel that never ends, in a folder of kernels: clbench names the case, measures the others, ends when it says it
// does, and leaves nothing running.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include <jansson.h>

#ifndef HUSK_CLBENCH
#error "HUSK_CLBENCH is the path of clbench; bench/CMakeLists.txt defines it"
#endif

enum { EXIT_NO_DEVICE = 6, EXIT_SKIPPED = 77 };

static char folder[] = "/tmp/husk-test-endless-XXXXXX";
static char output[1 << 16];

// The flag is in the kernel's own memory: nobody else can set it.
static const char endless[] = "\n    volatile int husk_test_flag = 0;\n"
                              "    while (husk_test_flag == 0)\n"
                              "        ;\n";

// A copy of all kernels, in which softmax's for rows begins with a loop that has no end.
static void plant(void)
{
    static char text[1 << 18];
    char command[600], path[200];
    snprintf(command, sizeof command, "cp -R '%s/cl' '%s/cl'", HUSK_SOURCE_DIR, folder);
    ck_assert_int_eq(system(command), 0);
    snprintf(path, sizeof path, "%s/cl/softmax/rows.cl", folder);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    char *at = strstr(text, "void husk_softmax_rows(");
    ck_assert_msg(at != NULL, "softmax/rows.cl has no husk_softmax_rows: the test is out of date");
    at = strchr(at, '{') + 1;
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "%.*s%s%s", (int)(at - text), text, endless, at);
    fclose(file);
}

// Runs clbench through the shell; its exit code, what it wrote in output, and the seconds it took.
static int run(const char *arguments, double *seconds)
{
    char command[1200];
    struct timespec start, end;
    snprintf(command, sizeof command,
             "HUSK_TEST_BUILDS= HUSK_DEVICE=cpu HUSK_KERNEL_DIR='%s/cl' HUSK_TEST_MARK='%s' '%s' %s 2>&1 < /dev/null",
             folder, folder, HUSK_CLBENCH, arguments);
    clock_gettime(CLOCK_MONOTONIC, &start);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    output[fread(output, 1, sizeof output - 1, pipe)] = '\0';
    const int status = pclose(pipe);
    clock_gettime(CLOCK_MONOTONIC, &end);
    *seconds = (double)(end.tv_sec - start.tv_sec);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect(const char *arguments, int code, double most_seconds)
{
    double seconds = 0;
    const int got = run(arguments, &seconds);
    ck_assert_msg(got == code, "clbench %s: exit code %d instead of %d\n%.6000s", arguments, got, code, output);
    ck_assert_msg(seconds <= most_seconds, "clbench %s: %.0f s\n%.6000s", arguments, seconds, output);
    // All its processes have the mark in their environment.
    char command[300];
    snprintf(command, sizeof command,
             "for i in 1 2 3 4 5 6 7 8 9; do [ -n \"$(grep -lsa 'HUSK_TEST_MARK=%s' /proc/[0-9]*/environ)\" ] || "
             "exit 0; sleep 1; done; exit 1",
             folder);
    ck_assert_msg(system(command) == 0, "something is left running after clbench %s", arguments);
}

static void expect_said(const char *part)
{
    ck_assert_msg(strstr(output, part) != NULL, "'%s' is not in\n%.6000s", part, output);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

#define ENDLESS "softmax outer=4 axis=50"
#define SOUND "activation count=100"

START_TEST(a_run_names_the_case_and_goes_on)
{
    char arguments[400];
    expect("run --quick --baseline none " SOUND, 0, 150); // what is compiled is there
    snprintf(arguments, sizeof arguments,
             "run --quick --max-time 8s --baseline none --json %s/result.json " ENDLESS " " SOUND, folder);
    expect(arguments, 124, 90);
    expect_said("again: clbench run " ENDLESS "\n");
    snprintf(arguments, sizeof arguments, "%s/result.json", folder);
    json_t *document = json_load_file(arguments, 0, NULL), *rows = json_object_get(document, "results");
    ck_assert_uint_eq(json_array_size(rows), 2);
    ck_assert_str_eq(text_of(json_array_get(rows, 0), "case"), ENDLESS);
    ck_assert_str_eq(text_of(json_array_get(rows, 0), "state"), "timeout");
    ck_assert_msg(strstr(text_of(json_array_get(rows, 0), "reason"), "while running for the first time") != NULL, "%s",
                  text_of(json_array_get(rows, 0), "reason"));
    ck_assert_str_eq(text_of(json_array_get(rows, 1), "case"), SOUND);
    ck_assert_str_eq(text_of(json_array_get(rows, 1), "state"), "ok");
    json_decref(document);
}
END_TEST

START_TEST(verifying_names_the_case_and_the_variant)
{
    expect("verify --max-time 8s --variant rows " ENDLESS " " SOUND, 124, 60);
    expect_said("clbench verify " ENDLESS " --variant rows\n");
    expect_said("1 not finished");
}
END_TEST

int main(void)
{
    char command[100];
    // A GPU that runs such a kernel may be lost to everybody.
    if (WEXITSTATUS(system("'" HUSK_CLBENCH "' devices -d cpu > /dev/null 2>&1")) == EXIT_NO_DEVICE)
        return EXIT_SKIPPED;
    if (!mkdtemp(folder))
        return EXIT_FAILURE;
    TCase *tests = tcase_create("endless");
    tcase_set_timeout(tests, 190);
    tcase_add_unchecked_fixture(tests, plant, NULL);
    tcase_add_test(tests, a_run_names_the_case_and_goes_on);
    tcase_add_test(tests, verifying_names_the_case_and_the_variant);
    Suite *suite = suite_create("clbench and endless kernels");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0 || failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
