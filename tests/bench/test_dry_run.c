// SPDX-License-Identifier: MIT
// ctest: timeout=60
// --dry-run says what would be done, and does nothing: no context is made, nothing is compiled or enqueued.
#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/runners.h"

#ifndef HUSK_CLBENCH
#error "HUSK_CLBENCH is the path of clbench; bench/CMakeLists.txt defines it"
#endif

static char output[1 << 16], report[] = "/tmp/husk-dry-run-XXXXXX";

static bool has_layers; // not before 2.3 of ocl-icd, nor before 3.0.0 of Khronos' loader

static int run(const char *environment, const char *arguments)
{
    char command[2048];
    snprintf(command, sizeof command, "OPENCL_LAYERS='%s' HUSK_TEST_REPORT='%s' %s '%s' %s 2>&1 < /dev/null",
             HUSK_TEST_LAYER, report, environment, HUSK_CLBENCH, arguments);
    FILE *pipe = popen(command, "r");
    if (!pipe)
        return -1;
    const size_t size = fread(output, 1, sizeof output - 1, pipe);
    output[size] = '\0';
    const int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect(const char *arguments, int code)
{
    const int got = run("", arguments);
    ck_assert_msg(got == code, "clbench %s: exit code %d instead of %d\n%.2000s", arguments, got, code, output);
}

static void expect_said(const char *part)
{
    ck_assert_msg(strstr(output, part) != NULL, "'%s' is not in\n%.2000s", part, output);
}

// The layer writes down what a process has called; a loader that knows no layers leaves the file empty.
static void expect_nothing_done(void)
{
    static const char *const calls[] = {"clCreate", "clBuildProgram", "clEnqueue"};
    char line[200];
    long listed = 0;
    FILE *file = fopen(report, "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file)) {
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
            char name[64] = "";
            long count = 0;
            if (sscanf(line, "calls %63s %ld", name, &count) == 2 && !strncmp(name, calls[i], strlen(calls[i])))
                ck_assert_msg(count == 0, "%s was called %ld times", name, count);
            if (i == 0 && !strcmp(name, "clGetPlatformIDs"))
                listed += count;
        }
    }
    fclose(file);
    ck_assert_msg(!has_layers || listed > 0, "nothing was written down");
    ck_assert_int_eq(truncate(report, 0), 0);
}

START_TEST(run_names_cases_devices_baselines_and_time)
{
    expect("run gemm m=64..256*2 n=64 k=64 --baseline none --dry-run", 0);
    expect_said("3 cases would be measured, on\n  0:0  ");
    expect_said("against no baseline\n  gemm m=64 n=64 k=64\n  gemm m=128 n=64 k=64\n  gemm m=256 n=64 k=64\n");
    expect_said("It would take about ");
    expect_said("Nothing was run.");
    const bool has_ref = bench_runner_find("ref") != NULL; // built with baselines
    expect(has_ref ? "run gemm m=1 n=1 k=1 -n --baseline ref --variant all --rounds 3"
                   : "run gemm m=1 n=1 k=1 -n --baseline none --variant all --rounds 3",
           0);
    expect_said("1 case would be measured, ");
    expect_said(" with their variants, in 3 rounds, on\n");
    expect_said(has_ref ? "against ref\n" : "against no baseline\n");
    expect("-n", 0);
    expect_said(" cases would be measured, in 3 rounds, on\n"); // who reads the bare run compares it with another
    expect("-n --quick", 0);
    ck_assert_ptr_null(strstr(output, "rounds"));
    expect("-n --rounds 1", 0);
    ck_assert_ptr_null(strstr(output, "rounds"));
    expect("-n", 0);
    expect_said(has_ref ? ", and is given 60 s (--budget)" : "It would take about "); // without baselines it has enough
    expect_nothing_done();
}
END_TEST

START_TEST(verify_and_tune_say_theirs)
{
    expect("verify softmax outer=1,2 axis=5 -n", 0);
    expect_said("2 cases would be verified, ");
    expect("tune gemm m=1 n=2 k=3 -n --budget 0", 0);
    expect_said("1 case would be tuned, ");
    expect_nothing_done();
}
END_TEST

START_TEST(what_could_not_run_is_refused)
{
    expect("run gemm m=1 n=1 k=1 -n -d no-such-device", 6);
    expect_said("no device fits");
    expect("run gemm m=1 n=1 -n", 2);
    expect("run gemm m=1 n=1 k=1 -n --baseline nonsense", 2);
    ck_assert_int_eq(run("OCL_ICD_VENDORS=/no/such/folder", "run gemm m=1 n=1 k=1 -n"), 6);
    expect_nothing_done();
}
END_TEST

// A platform's default device is its best, whether the platform is named or numbered.
START_TEST(a_platform_stands_for_its_default_device)
{
    static const char *const platforms[] = {"0", "'Fake platform'"};
    char vendors[] = "/tmp/husk-dry-run-vendors-XXXXXX", path[100], environment[300], arguments[100];
    ck_assert_ptr_nonnull(mkdtemp(vendors));
    snprintf(path, sizeof path, "%s/fake.icd", vendors);
    FILE *file = fopen(path, "w");
    ck_assert(file && fputs(HUSK_TEST_ICD_LIBRARY "\n", file) >= 0 && fclose(file) == 0);
    snprintf(environment, sizeof environment, "OPENCL_LAYERS= OCL_ICD_VENDORS='%s' HUSK_TEST_ICD=behind", vendors);
    ck_assert_int_eq(run(environment, "run gemm m=1 n=1 k=1 -n -d 0:0"), 0);
    expect_said("0:0  Fake CPU");
    for (size_t i = 0; i < sizeof platforms / sizeof *platforms; i++) {
        snprintf(arguments, sizeof arguments, "run gemm m=1 n=1 k=1 -n -p %s", platforms[i]);
        ck_assert_msg(run(environment, arguments) == 0, "%.2000s", output);
        expect_said("0:1  Fake GPU");
    }
    ck_assert_int_eq(run(environment, "run gemm m=1 n=1 k=1 -n -p 1"), 6);
    expect_said("no device fits \"1:0\"; there is:");
    unlink(path);
    rmdir(vendors);
    ck_assert_int_eq(truncate(report, 0), 0);
}
END_TEST

// A GPU that OpenCL does not show is said before anything else, by what runs and by what would run alike.
START_TEST(a_missing_gpu_is_said)
{
#ifdef HUSK_TEST_MISSING_GPU
    static const char wanted[] = "warning: this machine has an NVIDIA GPU (/dev/nvidia0) that OpenCL does not show";
    static const char *const commands[] = {"verify softmax outer=1 axis=5 --variant rows -n",
                                           "run softmax outer=1 axis=5 --baseline none -n",
                                           "run softmax outer=1 axis=5 -d all -n", "tune softmax outer=1 axis=5 -n"};
    const char *const preload = "LD_PRELOAD=\"$LD_PRELOAD:" HUSK_TEST_MISSING_GPU "\"";
    run(preload, "verify softmax outer=1 axis=5");
    if (!strstr(output, wanted)) // there is a GPU, and it is shown
        return;
    ck_assert_ptr_eq(strstr(output, wanted), output);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        ck_assert_int_eq(run(preload, commands[i]), 0);
        ck_assert_msg(!strncmp(output, wanted, strlen(wanted)), "%s: %.1000s", commands[i], output);
    }
#endif
    ck_assert_int_eq(truncate(report, 0), 0);
}
END_TEST

START_TEST(lists_are_written_out)
{
    expect("list gemm m=1,2 n=3 k=4", 0);
    ck_assert_str_eq(output, "gemm m=1 n=3 k=4\ngemm m=2 n=3 k=4\n");
    expect("verify --list softmax outer=1..2 axis=5", 0);
    expect_said("softmax outer=1 axis=5\nsoftmax outer=2 axis=5\n");
    expect("list gemm m=1..100000 n=3 k=4", 2);
    expect_said("m= stands for more than 10000 values");
}
END_TEST

int main(void)
{
    const int file = mkstemp(report);
    if (file < 0)
        return EXIT_FAILURE;
    close(file);
    has_layers = run("HUSK_TEST_FAULTS=nonsense", "run gemm m=1 n=1 k=1 -n") != 0;
    TCase *tests = tcase_create("dry run");
    tcase_add_test(tests, run_names_cases_devices_baselines_and_time);
    tcase_add_test(tests, verify_and_tune_say_theirs);
    tcase_add_test(tests, what_could_not_run_is_refused);
    tcase_add_test(tests, a_platform_stands_for_its_default_device);
    tcase_add_test(tests, a_missing_gpu_is_said);
    tcase_add_test(tests, lists_are_written_out);
    Suite *suite = suite_create("clbench --dry-run");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    unlink(report);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
