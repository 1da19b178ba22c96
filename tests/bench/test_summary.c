// SPDX-License-Identifier: MIT
// ctest: tiers=default,valgrind timeout=30
// The verdict's lines on what limits the rows: by where their data lie, and without those that a launch limits.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "report/summary.h"

static char said[4096];
static json_t *root;

static void setup(void)
{
    root = json_pack("{s:{s:f}, s:[{s:s, s:{s:f, s:b}, s:{s:f}}], s:[]}", "host", "cache", 32e6, "devices", "name",
                     "device", "traits", "global_cache", 1e6, "is_cpu", 1, "peaks", "launch_ns", 10000.0, "results");
    ck_assert_ptr_nonnull(root);
}

static void teardown(void)
{
    json_decref(root);
}

static void add(const char *bound, double percent, double median_ns, double bytes)
{
    json_array_append_new(json_object_get(root, "results"),
                          json_pack("{s:s, s:s, s:s, s:s, s:i, s:f, s:{s:f}, s:f, s:f, s:[]}", "case",
                                    "softmax outer=1 axis=2", "op", "softmax", "state", "ok", "bound_by", bound,
                                    "device", 0, "percent_of_peak", percent, "time", "median_ns", median_ns, "bytes",
                                    bytes, "working_set", bytes, "baselines"));
}

// What it prints; stdout is a file meanwhile.
static void print_verdict_of(double slower)
{
    FILE *file = tmpfile();
    bench_results results = {.root = root, .rows = json_object_get(root, "results")};
    ck_assert_ptr_nonnull(file);
    fflush(stdout);
    const int before = dup(STDOUT_FILENO);
    dup2(fileno(file), STDOUT_FILENO);
    bench_print_verdict(&results, 0, false, 0, slower);
    fflush(stdout);
    dup2(before, STDOUT_FILENO);
    close(before);
    rewind(file);
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    fclose(file);
}

static void print_verdict(void)
{
    print_verdict_of(0);
}

static void expect_said(const char *part)
{
    ck_assert_msg(strstr(said, part) != NULL, "'%s' is not in\n%s", part, said);
}

// By how much processes differ is said where there were several, and how many cases have two speeds.
START_TEST(processes_that_differ_are_told)
{
    json_t *rows = json_object_get(root, "results");
    for (int i = 0; i < 11; i++) {
        add("arithmetic", 80, 1e6, 1e6);
        json_t *time = json_object_get(json_array_get(rows, (size_t)i), "time");
        json_object_set_new(time, "processes", json_pack("[{}, {}, {}]"));
        json_object_set_new(time, "between", json_real(0.01 * i));
        if (i == 10)
            json_object_set_new(time, "speeds_ns", json_pack("[f, f]", 1e6, 2e6));
    }
    print_verdict();
    expect_said("Measured by 3 processes each: their medians deviate by 5.0% in the middle case, by 9.0% in one of "
                "ten.\n");
    expect_said("1 case has more than one speed");
    json_array_clear(rows);
    add("arithmetic", 80, 1e6, 1e6); // one process, or a file of before
    print_verdict();
    ck_assert_ptr_null(strstr(said, "processes"));
}
END_TEST

START_TEST(memory_is_judged_by_where_the_data_lie)
{
    add("arithmetic", 80, 1e6, 1e6);
    add("memory", 40, 1e6, 2e6);
    add("memory", 50, 1e6, 32e6); // as much as the last level holds
    add("memory", 60, 1e6, 4e6);
    add("memory", 90, 1e7, 33e6);
    add("memory", 2, 1e5, 1e4); // 2 us of data, and a launch takes 10
    print_verdict();
    expect_said("Where arithmetic is the limit, 80% of the measured peak is reached (median of 1).\n");
    expect_said(
        "Where memory is the limit, of what copying or reading as much data reaches: 50% where the data lie in caches "
        "(median of 3), 90% where they do not (median of 1).\n");
    expect_said("1 case is not counted there: its data move in less time than a launch takes (10 us).\n");
}
END_TEST

START_TEST(what_there_is_none_of_is_not_said)
{
    add("memory", 90, 1e7, 33e6);
    print_verdict();
    ck_assert_ptr_null(strstr(said, "arithmetic is the limit"));
    ck_assert_ptr_null(strstr(said, "in caches"));
    ck_assert_ptr_null(strstr(said, "not counted"));
    expect_said("reaches: 90% where they do not (median of 1).\n");
}
END_TEST

static void make_gpu(const char *class)
{
    json_t *traits = json_object_get(json_array_get(json_object_get(root, "devices"), 0), "traits");
    json_object_set_new(traits, "is_cpu", json_false());
    json_object_set_new(traits, "class", json_string(class));
}

// A card's data are not in the host's caches, and its driver does not say how large its own last level is.
START_TEST(a_gpu_has_its_own_cache)
{
    make_gpu("discrete GPU");
    add("memory", 90, 1e7, 300e6); // more than any card's caches
    add("memory", 80, 1e7, 33e5);
    add("memory", 82, 1e7, 256.0 * 1048576);
    add("memory", 70, 1e7, 1e5);
    add("memory", 1, 1e5, 1e5);
    add("memory", 1, 1e5, 1e5);
    print_verdict();
    expect_said("70% where the data lie in caches (median of 1), 90% where they do not (median of 1), 81% where the "
                "driver does not tell (median of 2).\n");
    expect_said("2 cases are not counted there: their data");
}
END_TEST

// It may share the host's last level.
START_TEST(an_integrated_gpu_may_have_the_hosts_cache)
{
    make_gpu("integrated GPU");
    add("memory", 90, 1e7, 33e6);
    add("memory", 80, 1e7, 32e6);
    print_verdict();
    expect_said("90% where they do not (median of 1), 80% where the driver does not tell (median of 1).\n");
}
END_TEST

// Rounded up it would be a claim that does not hold.
START_TEST(the_worst_row_is_never_rounded_up)
{
    add("arithmetic", 80, 1e6, 1e6);
    json_t *row = json_array_get(json_object_get(root, "results"), 0);
    json_array_append_new(json_object_get(row, "baselines"),
                          json_pack("{s:s, s:f}", "name", "onednn", "speedup", 0.9961));
    print_verdict();
    expect_said("Worst: softmax outer=1 axis=2, 1.01 times slower than onednn.\n");
}
END_TEST

START_TEST(memory_that_became_slower_is_said)
{
    add("memory", 90, 1e7, 33e6);
    print_verdict_of(0.1); // it does so by itself
    ck_assert_ptr_null(strstr(said, "memory was"));
    print_verdict_of(1);
    expect_said("Its memory was up to 50% slower at times: other work uses it.\n");
}
END_TEST

// Two devices: each verdict has the memory of its own.
START_TEST(memory_is_said_of_its_own_device)
{
    bench_results results = {.root = root, .rows = json_object_get(root, "results")};
    json_array_append_new(json_object_get(root, "devices"), json_pack("{s:s}", "name", "another"));
    for (size_t d = 0; d < 2; d++) {
        add("memory", 90, 1e7, 33e6);
        json_t *row = json_array_get(results.rows, d);
        json_object_set_new(row, "device", json_integer((json_int_t)d));
        json_object_set_new(row, "workspace", json_integer(d ? 4 << 20 : 2 << 20));
        results.device = d;
        bench_results_memory(&results, d ? 64 << 20 : 16 << 20);
    }
    json_t *rows = json_object_get(root, "results"), *second = json_incref(json_array_get(rows, 1));
    json_array_remove(rows, 1);
    print_verdict();
    expect_said("at most 16 MiB at once; the most scratch for one case 2 MiB");
    json_array_set_new(rows, 0, second);
    print_verdict();
    expect_said("at most 64 MiB at once; the most scratch for one case 4 MiB");
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("verdict");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, memory_is_judged_by_where_the_data_lie);
    tcase_add_test(tests, processes_that_differ_are_told);
    tcase_add_test(tests, what_there_is_none_of_is_not_said);
    tcase_add_test(tests, a_gpu_has_its_own_cache);
    tcase_add_test(tests, an_integrated_gpu_may_have_the_hosts_cache);
    tcase_add_test(tests, the_worst_row_is_never_rounded_up);
    tcase_add_test(tests, memory_that_became_slower_is_said);
    tcase_add_test(tests, memory_is_said_of_its_own_device);
    Suite *suite = suite_create("the verdict's limits");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
