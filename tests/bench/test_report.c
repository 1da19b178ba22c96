// SPDX-License-Identifier: MIT
// ctest: timeout=60
// The page of a report: whole, with nothing to load, every case in it, and no markup that a result put there.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/text.h"
#include "record/result_file.h"
#include "report/report.h"

static char page[1 << 21], reason[BENCH_REASON_TEXT];

static json_t *document(const char *name)
{
    char path[500];
    snprintf(path, sizeof path, "%s/bench/data/%s", HUSK_TESTS_DIR, name);
    json_t *root = bench_result_read(path, reason);
    ck_assert_msg(root != NULL, "%s", reason);
    return root;
}

static void make(const bench_column *columns, size_t count)
{
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    bench_report_write(columns, count, file);
    rewind(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    fclose(file);
}

static int count(const char *part)
{
    int found = 0;
    for (const char *at = page; (at = strstr(at, part)); at += strlen(part))
        found++;
    return found;
}

// Elements are closed in the order in which they were opened, names are given once, and nothing is loaded.
static void check_page(void)
{
    static const char *const empty[] = {"meta", "link", "!DOCTYPE", "br"};
    const char *open[64];
    size_t lengths[64], depth = 0;
    for (const char *at = page; (at = strchr(at, '<'));) {
        const char *end = strchr(at, '>');
        ck_assert_ptr_nonnull(end);
        const bool closes = at[1] == '/';
        const char *name = at + 1 + closes;
        const size_t length = strcspn(name, " />\n");
        bool is_empty = end[-1] == '/';
        for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
            is_empty = is_empty || (strlen(empty[i]) == length && !strncmp(name, empty[i], length));
        if (closes) {
            ck_assert_uint_gt(depth, 0);
            depth--;
            ck_assert_msg(length == lengths[depth] && !strncmp(name, open[depth], length),
                          "</%.*s> closes <%.*s>: %.60s", (int)length, name, (int)lengths[depth], open[depth], at);
        } else if (!is_empty) {
            ck_assert_uint_lt(depth, 64);
            open[depth] = name;
            lengths[depth++] = length;
            if (length == 6 && !strncmp(name, "script", 6)) // its text is no markup
                end = strstr(end, "</script>") - 1;
        }
        at = end + 1;
    }
    ck_assert_uint_eq(depth, 0);
    for (const char *at = page; (at = strstr(at, " id=\"")); at++) {
        char own[80];
        snprintf(own, sizeof own, "%.*s", (int)(strcspn(at + 5, "\"") + 6), at);
        ck_assert_msg(count(own) == 1, "%s is there %d times", own, count(own));
    }
    // Names of name spaces are no addresses.
    ck_assert_int_eq(count("://"), count("xmlns=\"http://www.w3.org/2000/svg\""));
    ck_assert_int_eq(count("src="), 0);
    ck_assert_int_eq(count("@import"), 0);
    ck_assert_int_eq(count("url("), 0);
    ck_assert_int_eq(count("nan"), 0);
    ck_assert_int_eq(count(">-<"), 0);
}

START_TEST(one_device_is_a_page)
{
    json_t *root = document("cpu_result.json");
    const bench_column column = {root, 0, "a.json"};
    make(&column, 1);
    check_page();
    const int rows = (int)json_array_size(json_object_get(root, "results"));
    ck_assert_int_eq(count("<tr><td class=\"r-case\""), rows);
    ck_assert_int_eq(count("class=\"r-dist\""), rows);
    ck_assert_int_eq(count("<h1>"), 1);
    ck_assert_int_eq(count("All 8 results are right."), 1);
    ck_assert_int_eq(count("times</strong> as fast as onednn"), 1);
    ck_assert_int_eq(count("of the measured multiply-adds are reached where arithmetic is the limit (median of 4)"), 1);
    ck_assert_int_eq(count("memory is the limit and caches hold the data (median of 4)"), 1);
    ck_assert_int_eq(count("<g class=\"p "), rows); // points of the roofline
    ck_assert_int_ge(count("class=\"r-fill r-b0\""), 6);
    ck_assert_int_ge(count("prefers-color-scheme:dark"), 2);
    ck_assert_int_eq(count("@media print"), 1);
    ck_assert_int_eq(count("name=\"viewport\""), 1);
    json_decref(root);
}
END_TEST

// As the terminal says it.
START_TEST(what_disturbed_the_run_is_said)
{
    json_t *root = document("cpu_result.json");
    const bench_column column = {root, 0, "a.json"};
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(root, "results"), i, row)
    {
        json_object_set_new(row, "sentinel_drift", json_real(0.01));
        json_object_set_new(json_object_get(row, "time"), "stop", json_string("precise"));
    }
    make(&column, 1);
    ck_assert_int_eq(count("The machine's speed changed"), 0);
    ck_assert_int_eq(count("cut short"), 0);
    row = json_array_get(json_object_get(root, "results"), 3);
    json_object_set_new(row, "sentinel_drift", json_real(-0.2));
    json_object_set_new(json_object_get(row, "time"), "stop", json_string("budget"));
    make(&column, 1);
    check_page();
    ck_assert_int_eq(count("The machine's speed changed by up to 20% during the run"), 1);
    ck_assert_int_eq(count("Measurements were cut short"), 1);
    json_decref(root);
}
END_TEST

// One sample has no interval, and no +- of 0.
START_TEST(too_few_samples_have_no_interval)
{
    json_t *root = document("cpu_result.json");
    json_t *row = json_array_get(json_object_get(root, "results"), 0), *time = json_object_get(row, "time");
    json_t *samples = json_array();
    static const char *const all[] = {"median_ns", "ci_low_ns", "ci_high_ns", "min_ns", "q1_ns", "q3_ns", "max_ns"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        json_object_set_new(time, all[i], json_real(1e6));
    json_array_append_new(samples, json_real(1e6));
    json_object_set_new(time, "samples_ns", samples);
    json_object_set_new(time, "n", json_integer(1));
    const bench_column column = {root, 0, "a.json"};
    make(&column, 1);
    ck_assert_int_eq(count(">n=1</td>"), 1);
    ck_assert_int_eq(count(">0.0%</td>"), 0);
    json_decref(root);
}
END_TEST

START_TEST(several_results_are_one_page)
{
    json_t *a = document("cpu_result.json"), *b = document("old_form_result.json"),
           *c = document("earlier_result.json"), *d = document("gpu_result.json");
    const bench_column columns[] = {{a, 0, "a.json"}, {b, 0, "b.json"}, {c, 0, "c.json"}, {d, 0, "d.json"}};
    make(columns, 4);
    check_page();
    ck_assert_int_eq(count("<section id=\"device-"), 4);
    ck_assert_int_eq(count("href=\"#device-"), 4);
    ck_assert_int_eq(count("<h1>"), 1);
    ck_assert_int_ge(count("all together"), 1);
    json_decref(a);
    json_decref(b);
    json_decref(c);
    json_decref(d);
}
END_TEST

START_TEST(a_result_cannot_put_markup_into_it)
{
    static const char evil[] = "</script><script>alert(1)</script>\" onload=\"x' & <b>";
    json_t *root = document("cpu_result.json"), *device = json_object_get(root, "device");
    json_t *row = json_array_get(json_object_get(root, "results"), 0),
           *baseline = json_array_get(json_object_get(row, "baselines"), 0);
    static const char *const of_device[] = {"name", "platform", "driver"}, *const of_row[] = {"case", "op", "variant",
                                                                                              "reason"};
    json_object_del(root, "devices");
    for (size_t i = 0; i < sizeof of_device / sizeof *of_device; i++)
        json_object_set_new(device, of_device[i], json_string(evil));
    for (size_t i = 0; i < sizeof of_row / sizeof *of_row; i++)
        json_object_set_new(row, of_row[i], json_string(evil));
    json_object_set_new(baseline, "name", json_string(evil));
    json_object_set_new(baseline, "version", json_string(evil));
    json_object_set_new(root, "husk_version", json_string(evil));
    json_object_set_new(json_object_get(root, "host"), "cpu", json_string(evil));
    ck_assert_msg(bench_result_check(root, "made", reason), "%s", reason);
    const bench_column columns[] = {{root, 0, evil}, {root, 0, evil}};
    make(columns, 2);
    check_page();
    ck_assert_int_eq(count("<script>"), 1);
    ck_assert_int_eq(count("<b>"), 0);
    for (const char *at = page; (at = strstr(at, "onload=")); at++) { // in texts, and not within a tag
        const char *before = at;
        while (before > page && *before != '<' && *before != '>')
            before--;
        const bool is_value = at[-1] == ' ' && !strncmp(at - 7, "&quot; ", 7);
        ck_assert_msg(*before == '>' || is_value, "%.100s", before);
    }
    json_decref(root);
}
END_TEST

START_TEST(what_was_not_measured_leaves_no_trace)
{
    json_t *root = document("cpu_result.json"), *rows = json_object_get(root, "results");
    while (json_array_size(rows) > 2)
        json_array_remove(rows, 2);
    json_object_set_new(json_array_get(rows, 0), "state", json_string("timeout"));
    json_object_set_new(json_array_get(rows, 1), "state", json_string("failed"));
    for (size_t i = 0; i < 2; i++) {
        static const char *const keys[] = {"time", "gflops", "gbytes_per_s", "percent_of_peak"};
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            json_object_set_new(json_array_get(rows, i), keys[k], json_null());
        json_array_clear(json_object_get(json_array_get(rows, i), "baselines"));
        json_object_del(json_array_get(rows, i), "sentinels"); // there were no samples
    }
    ck_assert_msg(bench_result_check(root, "made", reason), "%s", reason);
    const bench_column column = {root, 0, "a.json"};
    make(&column, 1);
    check_page();
    ck_assert_int_eq(count("1 of 2 results are WRONG."), 1);
    ck_assert_int_eq(count("There is no roofline"), 1);
    json_array_clear(rows);
    make(&column, 1);
    check_page();
    ck_assert_int_eq(count("Nothing was measured on it."), 1);
    json_decref(root);
}
END_TEST

static void expect(const char *arguments, int code, const char *part)
{
    static char output[1 << 16];
    char command[1500];
    snprintf(command, sizeof command, "OCL_ICD_VENDORS=/nonexistent '%s' %s 2>&1 < /dev/null", HUSK_CLBENCH, arguments);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    output[fread(output, 1, sizeof output - 1, pipe)] = '\0';
    const int status = pclose(pipe);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == code, "%s: %.500s", arguments, output);
    ck_assert_msg(strstr(output, part) != NULL, "%s: '%s' is not in\n%.500s", arguments, part, output);
}

START_TEST(the_command_writes_it_or_says_why_not)
{
    const char *kept = HUSK_TESTS_DIR "/bench/data/cpu_result.json";
    char arguments[1200];
    expect("report", 2, "clbench report RESULT.json");
    expect("report /no/such/file", 2, "/no/such/file: No such file");
    expect("report " HUSK_SOURCE_DIR "/README.md", 2, "no JSON");
    snprintf(arguments, sizeof arguments, "report '%s' -o /no/such/folder/x.html", kept);
    expect(arguments, 1, "cannot be written");
    snprintf(arguments, sizeof arguments, "report '%s' -o /dev/full", kept);
    expect(arguments, 1, "could not be written");
    snprintf(arguments, sizeof arguments, "report '%s' -o - | tail -n 1", kept);
    expect(arguments, 0, "");
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("report");
    tcase_add_test(tests, one_device_is_a_page);
    tcase_add_test(tests, what_disturbed_the_run_is_said);
    tcase_add_test(tests, too_few_samples_have_no_interval);
    tcase_add_test(tests, several_results_are_one_page);
    tcase_add_test(tests, a_result_cannot_put_markup_into_it);
    tcase_add_test(tests, what_was_not_measured_leaves_no_trace);
    tcase_add_test(tests, the_command_writes_it_or_says_why_not);
    Suite *suite = suite_create("report");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
