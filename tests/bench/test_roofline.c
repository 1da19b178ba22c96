// SPDX-License-Identifier: MIT
// ctest: timeout=60
// The picture of a result: well-formed, a point for each case that is right, and plain words for what cannot be drawn.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/roofline.h"
#include "report/roofline_svg.h"

static char picture[1 << 20];

static json_t *row(const char *name, const char *op, const char *state, double flops, double bytes, double median)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:f, s:f, s:f, s:{s:f}}", "case", name, "op", op, "state", state, "variant",
                     "v", "executed_flops", flops, "bytes", bytes, "percent_of_peak", 50.0, "time", "median_ns",
                     median);
}

// Four that are right, two of them in one place, and six that are not to be drawn.
static json_t *document(void)
{
    json_t *copy = json_array(), *rows = json_array();
    const double bandwidths[] = {90, 100, 99, 60, 55, 11, 10};
    for (int i = 0; i < 7; i++)
        json_array_append_new(
            copy, json_pack("{s:f, s:f}", "bytes", 32768.0 * (1 << (2 * i)), "gbytes_per_s", bandwidths[i]));
    json_array_append_new(rows, row("gemm m=1 & <n>=\"2\"", "gemm", "ok", 2e6, 1e4, 4e4));
    json_array_append_new(rows, row("gemm m=1 n=2 k=3", "gemm", "ok", 2e6, 1e4, 4e4));
    json_array_append_new(rows, row("softmax outer=1 axis=2", "softmax", "ok", 5e4, 8e4, 1e4));
    json_array_append_new(rows, row("fold n=1", "fold", "ok", 5e4, 8e4, 1e4)); // of a later version
    json_array_append_new(rows, row("gemm wrong", "gemm", "failed", 2e6, 1e4, 4e4));
    json_array_append_new(rows, row("gemm untimed", "gemm", "ok", 2e6, 1e4, 0));
    json_array_append_new(rows, row("gemm empty", "gemm", "ok", 0, 1e4, 4e4));
    json_array_append_new(rows, row("gemm of no bytes", "gemm", "ok", 2e6, 1e-300, 4e4)); // no axis has such a place
    json_array_append_new(rows, row("gemm of no end", "gemm", "ok", 2e6, 1e4, 1e300));
    json_array_append_new(rows, row("gemm backwards", "gemm", "ok", -2e6, -1e4, -4e4));
    return json_pack("{s:s, s:s, s:s, s:{s:s, s:s, s:s, s:{s:f, s:o}}, s:o}", "schema", "clbench/2", "husk_version",
                     "9", "started", "2026-01-02T03:04:05Z", "device", "name", "a <b> & \"c\"", "platform", "p",
                     "driver", "1", "peaks", "fma_gflops", 100.0, "copy", copy, "results", rows);
}

static void draw(const bench_roofline *roofline)
{
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    bench_roofline_draw(roofline, file);
    rewind(file);
    picture[fread(picture, 1, sizeof picture - 1, file)] = '\0';
    fclose(file);
}

static int count(const char *part)
{
    int found = 0;
    for (const char *at = picture; (at = strstr(at, part)); at += strlen(part))
        found++;
    return found;
}

// Every element that is opened is closed in its turn, and text has no bare sign; then xmllint, where there is one.
static void check_xml(void)
{
    const char *open[64];
    size_t lengths[64], depth = 0;
    for (const char *at = picture; (at = strpbrk(at, "<&"));) {
        if (*at == '&') {
            ck_assert_msg(!strncmp(at, "&lt;", 4) || !strncmp(at, "&gt;", 4) || !strncmp(at, "&amp;", 5), "%.40s", at);
            at++;
            continue;
        }
        const char *end = strchr(at, '>');
        ck_assert_ptr_nonnull(end);
        const bool closes = at[1] == '/';
        const char *name = at + 1 + closes;
        const size_t length = strcspn(name, " />\n");
        if (closes) {
            ck_assert_uint_gt(depth, 0);
            depth--;
            ck_assert_msg(length == lengths[depth] && !strncmp(name, open[depth], length), "%.40s", at);
        } else if (end[-1] != '/') {
            ck_assert_uint_lt(depth, 64);
            open[depth] = name;
            lengths[depth++] = length;
        }
        at = end;
    }
    ck_assert_uint_eq(depth, 0);
    char path[] = "/tmp/husk-test-roofline-XXXXXX", command[100];
    const int descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    ck_assert_int_eq(write(descriptor, picture, strlen(picture)), (ssize_t)strlen(picture));
    close(descriptor);
    snprintf(command, sizeof command, "! command -v xmllint > /dev/null || xmllint --noout %s", path);
    const int status = system(command);
    unlink(path);
    ck_assert_int_eq(status, 0);
}

START_TEST(every_right_case_is_a_point)
{
    char reason[BENCH_REASON_TEXT] = "";
    json_t *made = document();
    bench_roofline roofline;
    ck_assert_msg(bench_roofline_make(made, &roofline, reason), "%s", reason);
    ck_assert_uint_eq(roofline.count, 4);
    ck_assert_double_eq(roofline.points[0].intensity, 200);
    ck_assert_double_eq(roofline.points[0].gflops, 50);
    ck_assert_int_eq(roofline.roof_count, 3); // 100, 55, 10
    ck_assert_double_eq(roofline.roofs[0].gbytes_per_s, 100);
    ck_assert_double_eq(roofline.roofs[1].gbytes_per_s, 55);
    ck_assert_double_eq(roofline.roofs[2].gbytes_per_s, 10);
    draw(&roofline);
    ck_assert_int_eq(count("<g class=\"p "), 4);
    ck_assert_int_eq(count("<path class=\"roof"), 3);
    ck_assert_int_eq(count("gemm m=1 &amp; &lt;n&gt;=\"2\"\n"), 1);
    ck_assert_int_eq(count("gemm (2)"), 1);
    ck_assert_int_eq(count("other (1)"), 1);
    ck_assert_int_eq(count("prefers-color-scheme:dark"), 1);
    ck_assert_int_eq(count("http"), 1); // its name space, and nothing to load
    check_xml();
    bench_roofline_free(&roofline);
    json_decref(made);
}
END_TEST

START_TEST(one_case_and_one_roof_suffice)
{
    char reason[BENCH_REASON_TEXT] = "";
    json_t *made = document();
    bench_roofline roofline;
    json_t *copy = json_object_get(json_object_get(json_object_get(made, "device"), "peaks"), "copy");
    while (json_array_size(copy) > 1)
        json_array_remove(copy, 1);
    while (json_array_size(json_object_get(made, "results")) > 1)
        json_array_remove(json_object_get(made, "results"), 1);
    ck_assert_msg(bench_roofline_make(made, &roofline, reason), "%s", reason);
    draw(&roofline);
    ck_assert_int_eq(count("<g class=\"p "), 1);
    check_xml();
    bench_roofline_free(&roofline);
    json_decref(made);
}
END_TEST

static void refuse(json_t *made, const char *words)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_roofline roofline;
    ck_assert(!bench_roofline_make(made, &roofline, reason));
    ck_assert_msg(strstr(reason, words) != NULL, "%s", reason);
    json_decref(made);
}

START_TEST(what_cannot_be_drawn_is_said)
{
    refuse(json_array(), "no result of clbench");
    refuse(json_pack("{s:s}", "schema", "clbench/3"), "no result of clbench");
    json_t *made = document();
    json_object_set_new(json_object_get(made, "device"), "peaks", json_null());
    refuse(made, "no measured peaks");
    made = document();
    json_object_set_new(made, "results", json_array());
    refuse(made, "no case that is right");
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("roofline");
    tcase_add_test(tests, every_right_case_is_a_point);
    tcase_add_test(tests, one_case_and_one_roof_suffice);
    tcase_add_test(tests, what_cannot_be_drawn_is_said);
    Suite *suite = suite_create("roofline");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
