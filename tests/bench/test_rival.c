// SPDX-License-Identifier: MIT
// What a run says of its rivals, over rows whose answers are known.
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "record/rival.h"

static json_t *form(const char *name, const char *state, double median)
{
    return json_pack("{s:s, s:s, s:{s:f}}", "form", name, "state", state, "time", "median_ns", median);
}

static json_t *row(const char *name, const char *op, const char *state, json_t *baselines)
{
    return json_pack("{s:s, s:s, s:s, s:{s:f}, s:o}", "case", name, "op", op, "state", state, "time", "median_ns",
                     100.0, "baselines", baselines);
}

// A gemm that oneDNN beats, one that the reference alone beats, one without rivals, one that is not right, and two
// convolutions: ours takes 100 ns, oneDNN's own choice 400 and 200, its Winograd 100 and 800.
static json_t *make_rows(void)
{
    json_t *rows = json_array();
    json_array_append_new(rows, row("gemm a", "gemm", "ok",
                                    json_pack("[{s:s, s:f}, {s:s, s:f}, {s:s, s:n}]", "name", "onednn", "speedup", 0.5,
                                              "name", "blas", "speedup", 2.0, "name", "clblast", "speedup")));
    json_array_append_new(rows, row("gemm b", "gemm", "ok",
                                    json_pack("[{s:s, s:f}, {s:s, s:f}]", "name", "blas", "speedup", 2.0, "name", "ref",
                                              "speedup", 0.1)));
    json_array_append_new(rows, row("gemm c", "gemm", "ok", json_array()));
    json_array_append_new(rows,
                          row("gemm d", "gemm", "suspect", json_pack("[{s:s, s:f}]", "name", "blas", "speedup", 0.01)));
    for (int i = 0; i < 2; i++)
        json_array_append_new(
            rows, row(i ? "conv b" : "conv a", "conv", "ok",
                      json_pack("[{s:s, s:f, s:[o, o]}]", "name", "onednn", "speedup", i ? 2.0 : 1.0, "forms",
                                form("auto", "ok", i ? 200 : 400), form("winograd", "ok", i ? 800 : 100))));
    return rows;
}

START_TEST(the_fastest_rival_of_each_row_counts)
{
    json_t *rows = make_rows();
    const char *who = NULL;
    ck_assert_double_eq(bench_rival_speedup(json_array_get(rows, 0), BENCH_BEST, &who), 0.5);
    ck_assert_str_eq(who, "onednn");
    ck_assert_double_eq(bench_rival_speedup(json_array_get(rows, 0), "blas", &who), 2);
    ck_assert_double_eq(bench_rival_speedup(json_array_get(rows, 1), BENCH_BEST, &who), 2);
    ck_assert_str_eq(who, "blas");
    ck_assert_double_eq(bench_rival_speedup(json_array_get(rows, 1), "ref", &who), 0.1);
    ck_assert_double_nan(bench_rival_speedup(json_array_get(rows, 1), "onednn", NULL));
    ck_assert_double_nan(bench_rival_speedup(json_array_get(rows, 2), BENCH_BEST, NULL));
    ck_assert_double_nan(bench_rival_speedup(json_array_get(rows, 3), BENCH_BEST, NULL));
    json_decref(rows);
}
END_TEST

START_TEST(means_count_what_is_right_and_compared)
{
    json_t *rows = make_rows();
    size_t count;
    ck_assert_double_eq_tol(bench_rival_geomean(rows, BENCH_BEST, "gemm", &count), 1, 1e-12);
    ck_assert_uint_eq(count, 2);
    ck_assert_double_eq_tol(bench_rival_geomean(rows, BENCH_BEST, NULL, &count), sqrt(sqrt(2)), 1e-12);
    ck_assert_uint_eq(count, 4);
    ck_assert_double_nan(bench_rival_geomean(rows, BENCH_BEST, "pool", &count));
    ck_assert_uint_eq(count, 0);
    json_decref(rows);
}
END_TEST

START_TEST(the_worst_row_is_named)
{
    json_t *rows = make_rows();
    double speedup;
    const char *who = NULL;
    const json_t *worst = bench_rival_worst(rows, &speedup, &who);
    ck_assert_ptr_eq(worst, json_array_get(rows, 0));
    ck_assert_double_eq(speedup, 0.5);
    ck_assert_str_eq(who, "onednn");
    json_decref(rows);
    rows = json_array();
    ck_assert_ptr_null(bench_rival_worst(rows, &speedup, &who));
    json_decref(rows);
}
END_TEST

START_TEST(winograd_rows_are_compared_with_both_of_its_forms)
{
    json_t *rows = make_rows();
    bench_rival_forms forms = bench_rival_winograd(rows);
    ck_assert_uint_eq(forms.count, 2);
    ck_assert_double_eq_tol(forms.automatic, sqrt(8), 1e-12);
    ck_assert_double_eq_tol(forms.fastest, sqrt(2), 1e-12);
    json_decref(rows);
}
END_TEST

START_TEST(the_summary_has_all_of_it)
{
    json_t *rows = make_rows(), *summary = json_object(), *part;
    bench_rival_summary(rows, summary);
    part = json_object_get(summary, "geomean_speedup");
    ck_assert_double_eq_tol(json_number_value(json_object_get(part, "best")), sqrt(sqrt(2)), 1e-12);
    ck_assert_double_eq_tol(json_number_value(json_object_get(part, "blas")), 2, 1e-12);
    ck_assert_ptr_null(json_object_get(part, "clblast"));
    part = json_object_get(json_object_get(summary, "geomean_speedup_by_op"), "conv");
    ck_assert_double_eq_tol(json_number_value(json_object_get(part, "best")), sqrt(2), 1e-12);
    part = json_object_get(json_object_get(summary, "counts_by_op"), "gemm");
    ck_assert_int_eq(json_integer_value(json_object_get(part, "rows")), 4);
    ck_assert_int_eq(json_integer_value(json_object_get(part, "ok")), 3);
    ck_assert_int_eq(json_integer_value(json_object_get(part, "compared")), 2);
    part = json_object_get(summary, "worst");
    ck_assert_str_eq(json_string_value(json_object_get(part, "case")), "gemm a");
    part = json_object_get(summary, "conv_3x3_stride_1");
    ck_assert_int_eq(json_integer_value(json_object_get(part, "count")), 2);
    json_decref(summary);
    json_decref(rows);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("rival");
    tcase_add_test(tests, the_fastest_rival_of_each_row_counts);
    tcase_add_test(tests, means_count_what_is_right_and_compared);
    tcase_add_test(tests, the_worst_row_is_named);
    tcase_add_test(tests, winograd_rows_are_compared_with_both_of_its_forms);
    tcase_add_test(tests, the_summary_has_all_of_it);
    Suite *suite = suite_create("rival");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
