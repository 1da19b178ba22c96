// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Descriptions of kernels, and what compilers and simulators say of them, that mean no good: numbers at the ends of
// their types, sizes that depend on what is not there yet, formulas that take forever. Each ends with a word.
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/description.h"
#include "spec/fill.h"
#include "spec/judge.h"
#include "common/compiler_log.h"
#include "worker/simulator_log.h"

static bench_description description;
static char reason[BENCH_REASON_TEXT];

static void parse(const char *text)
{
    bench_description_free(&description);
    reason[0] = '\0';
    if (!bench_description_parse("k.txt", text, &description, reason))
        ck_assert(reason[0] && description.count == 0);
}

static void teardown(void)
{
    bench_description_free(&description);
}

// Steps as large as 64 bits hold end at the range's end.
START_TEST(ranges)
{
    parse(
        "kernel k file=2d.cl\n config A=1..2+9223372036854775807 B=2..1000*4611686018427387904 C=0..6+3\n global 1\n");
    ck_assert_msg(description.count == 1, "%s", reason);
    const bench_spec *spec = description.specs[0];
    ck_assert_str_eq(spec->file, "2d.cl"); // no number that ends badly
    ck_assert(spec->configs[0].count == 1 && spec->configs[0].values[0] == 1);
    ck_assert(spec->configs[1].count == 1 && spec->configs[1].values[0] == 2);
    ck_assert(spec->configs[2].count == 3 && spec->configs[2].values[2] == 6);
}
END_TEST

// Numbers are worked out in the order of their lines; what they cannot be is said.
START_TEST(points)
{
    static bench_point point;
    parse("kernel k file=k.cl\n arg a int = 5\n define T = 2*a\n arg b int = T + 1\n let c = b + 1\n"
          " arg x global int[c] in = ramp\n global 1\n");
    ck_assert_msg(description.count == 1, "%s", reason);
    const bench_spec *spec = description.specs[0];
    ck_assert_msg(bench_point_set(&point, spec, NULL, NULL, reason), "%s", reason);
    ck_assert_int_eq(point.bindings[spec->buffers[0].symbol].count, 12);
    parse("kernel k file=k.cl\n arg x global int[4] in = ramp\n arg y global int[x[0]] out\n global 1\n"
          " expect y[i] = 1\n");
    ck_assert(!bench_point_set(&point, description.specs[0], NULL, NULL, reason));
    ck_assert_ptr_nonnull(strstr(reason, "k.txt:3:19: what x holds is not known here"));
    parse("kernel k file=k.cl\n arg x global int[4] in = ramp\n where x[1]\n global 1\n");
    ck_assert(bench_point_set(&point, description.specs[0], NULL, NULL, reason));
    ck_assert(!bench_point_is_allowed(&point, reason));
    ck_assert_ptr_nonnull(strstr(reason, "k.txt:3:8: what x holds is not known here"));
    // Each of them alone would do.
    parse("kernel k file=k.cl\n let a = sum(k<200000, k)\n let b = sum(k<200000, k)\n let c = sum(k<200000, k)\n"
          " let d = sum(k<200000, k)\n let e = sum(k<200000, k)\n global 1\n");
    ck_assert(!bench_point_set(&point, description.specs[0], NULL, NULL, reason));
    ck_assert_ptr_nonnull(strstr(reason, "k.txt:6:24: evaluating this takes more than 1000000 operations"));
}
END_TEST

// The only kernel's only expectation, of a y whose elements are these before and after, in so many operations.
static bench_judgement judge(const char *lines, double operations, const void *y)
{
    char text[1000];
    static bench_point point;
    static unsigned char touched[4096];
    bench_judgement judgement;
    bool all = false;
    snprintf(text, sizeof text, "kernel k file=k.cl\n%s\n global 1\n", lines);
    parse(text);
    ck_assert_msg(description.count == 1, "%s", reason);
    const bench_spec *spec = description.specs[0];
    ck_assert_msg(bench_point_set(&point, spec, NULL, NULL, reason), "%s", reason);
    const bench_contents contents = {y, y};
    memset(touched, 0, sizeof touched);
    point.bindings[spec->buffers[0].symbol].data = y;
    point.most_operations = operations;
    bench_judgement_begin(&judgement);
    bench_judge_formula(&point, &spec->expectations[0], &contents, 1, touched, &all, &judgement);
    bench_judgement_end(&judgement);
    return judgement;
}

// Formulas that take forever do not.
START_TEST(long_formulas)
{
    enum { COUNT = 4096 };
    static float ones[COUNT];
    for (int i = 0; i < COUNT; i++)
        ones[i] = 1;
    // Of a single element.
    bench_judgement judgement =
        judge(" arg y global float[1] out\n expect y[0] = sum(k<1099511627776, 1.5)", 1e4, ones);
    ck_assert(!judgement.is_right);
    ck_assert_ptr_nonnull(strstr(judgement.text, "k.txt:3:37: evaluating this takes more than 10000 operations"));
    judgement = judge(" arg y global float[4] out\n expect y[i + sum(k<1099511627776, 0)] = 1 for i<4", 1e4, ones);
    ck_assert_ptr_nonnull(strstr(judgement.text, "evaluating this takes more than 10000000 operations"));
    // One that takes as long as there is time: it is compared once, whatever the samples are.
    static const char one[] = " arg y global float[1] out\n expect y[0] = sum(k<9000000, 1) - 8999999";
    judgement = judge(one, 3e7, ones);
    ck_assert_msg(judgement.is_right && judgement.checked == 1, "%s, %d checked", judgement.text,
                  (int)judgement.checked);
    ones[0] = 2;
    ck_assert(!judge(one, 3e7, ones).is_right);
    ones[0] = 1;
    // Of many that take long, some are compared; NaN is found anywhere.
    static const char all[] = " arg y global float[4096] inout = ones\n expect y[i] = sum(k<4096, 1) - 4095";
    judgement = judge(all, 1e6, ones);
    ck_assert_msg(judgement.is_right && judgement.checked > 200 && judgement.checked < 300, "%d checked",
                  (int)judgement.checked);
    ones[2222] = NAN;
    judgement = judge(all, 1e6, ones);
    ck_assert_str_eq(judgement.text, "y[2222] is NaN, or was not written");
    // An element that takes longer than those that were tried first.
    static const char uneven[] =
        " arg y global float[4096] inout = ones\n expect y[i] = i % 1000 == 1 ? sum(k<20000, 1) - 19999 : 1";
    judgement = judge(uneven, 1e5, ones);
    ck_assert_msg(!judgement.is_right && judgement.checked < COUNT, "%s", judgement.text);
}
END_TEST

// Numbers at the ends of their types, and formulas that take long.
START_TEST(strange_contents)
{
    static bench_point point;
    int64_t longs[4];
    float reals[4];
    double doubles[4];
    unsigned char bytes[300];
    parse("kernel k file=k.cl\n arg a global long[4] in = integers(9223372036854775807, 9223372036854775807)\n"
          " arg b global float[4] in = integers(-10000000000000000000000, 10000000000000000000000)\n"
          " arg c global double[4] in = uniform(-8e307, 8e307)\n arg d global uchar[300] in = permutation\n"
          " arg e global uchar[256] in = permutation\n arg f global int[4] in = each(i, sum(k<1000, i))\n global 1\n");
    ck_assert_ptr_nonnull(strstr(reason, "does not fit into 64 bits")); // 1e22 is to be written for it
    parse("kernel k file=k.cl\n arg a global long[4] in = integers(9223372036854775807, 9223372036854775807)\n"
          " arg b global float[4] in = integers(-1e22, 1e22)\n"
          " arg c global double[4] in = uniform(-8e307, 8e307)\n arg d global uchar[300] in = permutation\n"
          " arg e global uchar[256] in = permutation\n arg f global int[4] in = each(i, sum(k<1000, i))\n global 1\n");
    ck_assert_msg(description.count == 1, "%s", reason);
    ck_assert(bench_point_set(&point, description.specs[0], NULL, NULL, reason));
    ck_assert(bench_fill(&point, &description, 0, 1, longs, reason));
    ck_assert(longs[0] == INT64_MAX && longs[3] == INT64_MAX);
    ck_assert(bench_fill(&point, &description, 1, 1, reals, reason));
    for (int i = 0; i < 4; i++)
        ck_assert_msg(fabsf(reals[i]) <= 1e22f && fabsf(reals[i]) > 1e19f, "%g", (double)reals[i]);
    ck_assert(bench_fill(&point, &description, 2, 1, doubles, reason));
    ck_assert(doubles[0] != doubles[1] && fabs(doubles[0]) <= 8e307);
    ck_assert(!bench_fill(&point, &description, 3, 1, bytes, reason));
    ck_assert_ptr_nonnull(strstr(reason, "k.txt:5: permutation: uchar does not hold all numbers below 300"));
    ck_assert(bench_fill(&point, &description, 4, 1, bytes, reason));
    int32_t whole[4];
    point.most_operations = 100; // and ten times as many
    ck_assert(!bench_fill(&point, &description, 5, 1, whole, reason));
    ck_assert_ptr_nonnull(strstr(reason, "k.txt:7: filling the buffer takes more than 1000 operations"));
    point.most_operations = 5000;
    ck_assert(bench_fill(&point, &description, 5, 1, whole, reason));
    ck_assert_int_eq(whole[3], 3000);
}
END_TEST

// ---- what compilers and simulators say ----

START_TEST(logs)
{
    bench_log_message message = bench_log_first_error("a.cl:1:2: warning: x\na.cl:12:5: error: no \xc3\xa9\x1b\n");
    ck_assert_int_eq(message.line, 12);
    ck_assert_str_eq(message.text, "no \xc3\xa9 ");
    message = bench_log_first_error("error: /tmp/a.cl:7:5: no\n");
    ck_assert_int_eq(message.line, 7);
    ck_assert_str_eq(message.text, "no");
    // What is no place, ends in the next line, or is the number of no line.
    message = bench_log_first_error("error: a:12 b\n");
    ck_assert_int_eq(message.line, 0);
    ck_assert_str_eq(message.text, "a:12 b");
    message = bench_log_first_error("error: a:\n12:5: b\n");
    ck_assert_int_eq(message.line, 0);
    ck_assert_str_eq(message.text, "a:");
    message = bench_log_first_error("a:99999999999:1: error: b\n");
    ck_assert_int_eq(message.line, 0);
    char text[300] = "x\n\tKernel: ";
    for (int i = 0; i < 98; i++)
        strcat(text, "k");
    strcat(text, "\xc3\xa9\n\tAt line 99999999999 of input.cl:\n\tAt line 3 of input.cl:\n\t  y = x;\n");
    json_t *findings = bench_simulator_findings(text); // a character that is cut at its end is no reason to lose it
    ck_assert_int_eq(json_array_size(findings), 1);
    ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(findings, 0), "line")), 3);
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(findings, 0), "source")), "y = x;");
    json_decref(findings);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("untrusted_kernels");
    TCase *tcase = tcase_create("untrusted_kernels");
    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_test(tcase, ranges);
    tcase_add_test(tcase, points);
    tcase_add_test(tcase, long_formulas);
    tcase_add_test(tcase, strange_contents);
    tcase_add_test(tcase, logs);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
