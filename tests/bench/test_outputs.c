// SPDX-License-Identifier: MIT
// ctest: timeout=60
// What a run writes beside JSON, and what it predicts of networks.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases/parse.h"
#include "cases/suite.h"
#include "cases/suites.h"
#include "common/json.h"
#include "record/network.h"
#include "record/result_file.h"
#include "record/results.h"
#include "report/table.h"

static char path[] = "/tmp/husk-test-outputs-XXXXXX", text[1 << 20];

static void make_path(void)
{
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
    const int descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    close(descriptor);
}

static void read_path(void)
{
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    unlink(path);
}

// A result that is kept, and a row of it that is wrong and was not timed.
static json_t *document(void)
{
    char reason[BENCH_REASON_TEXT];
    json_t *root = bench_result_read(HUSK_TESTS_DIR "/bench/data/cpu_result.json", reason);
    ck_assert_msg(root != NULL, "%s", reason);
    json_t *row = json_array_get(json_object_get(root, "results"), 0);
    json_object_set_new(row, "state", json_string("failed"));
    json_object_set_new(row, "time", json_null());
    json_object_set_new(row, "gflops", json_null());
    json_object_set_new(row, "percent_of_peak", json_null());
    json_array_clear(json_object_get(row, "baselines"));
    return root;
}

static size_t lines_of(size_t *fields)
{
    size_t lines = 0;
    for (char *line = text, *next; *line; line = next) {
        size_t commas = 1;
        bool quoted = false;
        next = strchr(line, '\n');
        ck_assert_ptr_nonnull(next);
        for (; line < next; line++) {
            quoted = *line == '"' ? !quoted : quoted;
            commas += *line == ',' && !quoted;
        }
        next++;
        ck_assert_msg(lines == 0 || commas == *fields, "line %zu has %zu fields, not %zu", lines, commas, *fields);
        *fields = commas;
        lines++;
    }
    return lines;
}

START_TEST(csv_has_as_many_fields_in_each_line)
{
    json_t *root = document();
    const json_t *rows = json_object_get(root, "results");
    size_t fields = 0, lines = 1 + json_array_size(rows);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *all = json_object_get(json_array_get(rows, i), "baselines");
        for (size_t k = 0; k < json_array_size(all); k++)
            lines += json_array_size(json_object_get(json_array_get(all, k), "forms"));
    }
    make_path();
    ck_assert(bench_write_csv(path, rows));
    read_path();
    ck_assert_uint_eq(lines_of(&fields), lines);
    ck_assert_uint_eq(fields, 19);
    ck_assert(!bench_write_csv("/no/such/folder/x", rows));
    json_decref(root);
}
END_TEST

START_TEST(markdown_is_a_table_without_nan)
{
    json_t *root = document();
    make_path();
    ck_assert(bench_write_markdown(path, root));
    read_path();
    ck_assert_ptr_null(strstr(text, "nan"));
    ck_assert_ptr_nonnull(strstr(text, "| failed |"));
    size_t bars = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        size_t own = 0;
        for (const char *at = line; *at; at++)
            own += *at == '|';
        ck_assert_msg(!own || !bars || own == bars, "%s", line);
        bars = own ? own : bars;
    }
    ck_assert_uint_ge(bars, 7);
    json_decref(root);
}
END_TEST

START_TEST(plain_lines_are_name_value_unit)
{
    json_t *root = document();
    size_t count = 0;
    make_path();
    ck_assert(bench_write_plain(path, root));
    read_path();
    ck_assert_ptr_nonnull(strstr(text, " state: failed\n"));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        double value;
        char unit[16];
        const char *colon = strstr(line, ": ");
        ck_assert_ptr_nonnull(colon);
        if (strcmp(colon, ": failed") != 0)
            ck_assert_msg(sscanf(colon + 2, "%lf %15s", &value, unit) == 2, "%s", line);
        count++;
    }
    ck_assert_uint_gt(count, 3 * json_array_size(json_object_get(root, "results")));
    json_decref(root);
}
END_TEST

// With --variant all a case has a row for each of its variants.
START_TEST(rows_name_the_variant_that_was_asked_for)
{
    json_t *root = document(), *rows = json_object_get(root, "results");
    char wanted[BENCH_ROW_NAME + 100];
    json_array_append_new(rows, json_deep_copy(json_array_get(rows, 1)));
    json_t *const own[2] = {json_array_get(rows, 1), json_array_get(rows, json_array_size(rows) - 1)};
    static const char *const variants[2] = {"packed", "tiled:32x32"};
    for (int i = 0; i < 2; i++)
        json_object_set_new(own[i], "asked", json_string(variants[i]));
    make_path();
    ck_assert(bench_write_plain(path, root));
    read_path();
    for (int i = 0; i < 2; i++) {
        snprintf(wanted, sizeof wanted, "%s (%s) time: ", bench_text_of(own[i], "case"), variants[i]);
        ck_assert_msg(strstr(text, wanted) != NULL, "%s", wanted);
    }
    make_path();
    ck_assert(bench_write_markdown(path, root));
    read_path();
    for (int i = 0; i < 2; i++) {
        snprintf(wanted, sizeof wanted, "| `%s (%s)` | ok |", bench_text_of(own[i], "case"), variants[i]);
        ck_assert_msg(strstr(text, wanted) != NULL, "%s", wanted);
    }
    json_decref(root);
}
END_TEST

// Two devices: each has its name, its rows and its means, and none is over both.
START_TEST(devices_are_apart)
{
    json_t *root = document(), *rows = json_object_get(root, "results"), *row = json_array_get(rows, 1);
    json_t *first = json_object_get(root, "device"), *second = json_deep_copy(first), *devices = json_array();
    json_object_set_new(second, "name", json_string("Another"));
    json_array_append(devices, first);
    json_array_append_new(devices, second);
    json_object_set_new(root, "devices", devices);
    json_t *other = json_deep_copy(row), *baselines = json_object_get(other, "baselines");
    json_object_set_new(other, "device", json_integer(1));
    for (size_t i = 0; i < json_array_size(baselines); i++)
        json_object_set_new(json_array_get(baselines, i), "speedup", json_real(1234));
    json_array_append_new(rows, other);
    make_path();
    ck_assert(bench_write_plain(path, root));
    read_path();
    ck_assert_ptr_nonnull(strstr(text, "mean against best on 0: "));
    ck_assert_ptr_nonnull(strstr(text, "mean against best on 1: 1234 x\n"));
    ck_assert_ptr_null(strstr(text, "mean against best: "));
    make_path();
    ck_assert(bench_write_markdown(path, root));
    read_path();
    const char *name = strstr(text, "\nAnother ("), *at = strstr(text, " 1234.00 |");
    ck_assert_ptr_nonnull(name);
    ck_assert_ptr_nonnull(at);
    ck_assert(at > name);
    json_decref(root);
}
END_TEST

static double best_of(const json_t *summary)
{
    return bench_number_of(json_object_get(summary, "geomean_speedup"), "best");
}

// In the document, too: the means of each, and none over both.
START_TEST(the_summary_has_each_device_apart)
{
    bench_results results = {0};
    bench_fault fault;
    json_t *schema = bench_result_schema();
    ck_assert(bench_results_begin(&results, NULL, NULL));
    for (size_t d = 0; d < 2; d++) {
        bench_results_device(&results, d,
                             json_pack("{s:s, s:s, s:s}", "platform", "p", "name", d ? "b" : "a", "driver", "1"),
                             json_pack("{s:s}", "source", "wall"));
        bench_results_add(&results,
                          json_pack("{s:s, s:s, s:s, s:[{s:s, s:f}]}", "case", "softmax outer=2 axis=3", "op",
                                    "softmax", "state", "ok", "baselines", "name", "onednn", "speedup", d ? 8.0 : 2.0));
        bench_results_finish(&results, d == 1);
        const json_t *summary = json_object_get(results.root, "summary"), *each = json_object_get(summary, "devices");
        ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(summary, "counts"), "ok")), (int)d + 1);
        ck_assert_uint_eq(json_array_size(each), d ? 2 : 0);
        if (d == 0) {
            ck_assert_double_eq_tol(best_of(summary), 2, 1e-12);
            continue;
        }
        ck_assert_ptr_null(json_object_get(summary, "geomean_speedup"));
        ck_assert_double_eq_tol(best_of(json_array_get(each, 0)), 2, 1e-12);
        ck_assert_double_eq_tol(best_of(json_array_get(each, 1)), 8, 1e-12);
        json_t *only = json_copy(results.root); // these rows are no whole ones
        json_object_set_new(only, "results", json_array());
        json_object_del(only, "run");
        ck_assert_msg(bench_schema_check(schema, only, &fault), "%s: %s", fault.place, fault.rule);
        ck_assert_msg(bench_schema_names_all(schema, only, &fault), "%s: %s", fault.place, fault.rule);
        json_decref(only);
    }
    bench_results_free(&results);
    json_decref(schema);
}
END_TEST

// ---- networks ----

static json_t *rows_of(const char *suite_name, const char *dtype)
{
    char reason[BENCH_REASON_TEXT];
    bench_suite suite;
    json_t *rows = json_array();
    ck_assert_msg(bench_suite_load(suite_name, &suite, reason), "%s", reason);
    for (size_t i = 0; i < suite.count; i++) {
        char line[2 * BENCH_CASE_TEXT];
        bench_case c;
        snprintf(line, sizeof line, "%s%s%s", suite.entries[i].c.canonical, *dtype ? " dtype=" : "", dtype);
        ck_assert(bench_case_parse(line, &c, reason));
        json_array_append_new(rows,
                              json_pack("{s:s, s:s, s:s, s:i, s:{s:f}, s:[{s:s, s:f}]}", "case", c.canonical, "state",
                                        "ok", "dtype", *dtype ? dtype : "f32", "device", 0, "time", "median_ns",
                                        1e6 * (i == 3 ? 10 : 1), "baselines", "name", "onednn", "speedup", 0.5));
    }
    bench_suite_free(&suite);
    return rows;
}

START_TEST(a_network_is_the_sum_of_its_layers)
{
    json_t *rows = rows_of("resnet50", ""), *networks = bench_networks(rows, 0);
    ck_assert_uint_eq(json_array_size(networks), 2);
    // The second has its 3x3 in high precision.
    const json_t *n = json_array_get(networks, 0), *top = json_object_get(n, "top");
    const double layers = bench_number_of(n, "layers");
    // 53 convolutions, two poolings, a product, a softmax; the fourth entry, of which there are three, takes ten times.
    ck_assert_double_eq(layers, 57);
    ck_assert_double_eq_tol(bench_number_of(n, "seconds"), (layers + 3 * 9) * 1e-3, 1e-9);
    ck_assert_double_eq_tol(bench_number_of(n, "per_second"), 1e3 / (layers + 3 * 9), 1e-6);
    ck_assert_double_eq_tol(bench_number_of(n, "best_rival_seconds"), 0.5 * bench_number_of(n, "seconds"), 1e-9);
    ck_assert_uint_eq(json_array_size(top), 5);
    ck_assert_str_eq(bench_text_of(json_array_get(top, 0), "case"), bench_text_of(json_array_get(rows, 3), "case"));
    ck_assert_double_eq_tol(bench_number_of(json_array_get(top, 0), "ns"), 3e7, 1);
    FILE *file = fopen("/dev/null", "w");
    bench_networks_print(networks, file);
    bench_networks_markdown(networks, file);
    fclose(file);
    json_decref(networks);
    // Of another device there is none; and without one of its layers it is not predicted.
    networks = bench_networks(rows, 1);
    ck_assert_uint_eq(json_array_size(networks), 0);
    json_decref(networks);
    // Of a variant that was named it is; not of every variant: its layers would be by the first that the library has.
    json_t *asked = json_deep_copy(rows);
    const size_t layer_count = json_array_size(asked);
    for (size_t i = 0; i < layer_count; i++)
        json_object_set_new(json_array_get(asked, i), "asked", json_string("direct"));
    networks = bench_networks(asked, 0);
    ck_assert_uint_eq(json_array_size(networks), 2);
    json_decref(networks);
    for (size_t i = 0; i < layer_count; i++) {
        json_t *other = json_deep_copy(json_array_get(asked, i));
        json_object_set_new(other, "asked", json_string("grid"));
        json_array_append_new(asked, other);
    }
    networks = bench_networks(asked, 0);
    ck_assert_uint_eq(json_array_size(networks), 0);
    json_decref(networks);
    json_decref(asked);
    json_object_set_new(json_array_get(rows, 5), "state", json_string("failed"));
    networks = bench_networks(rows, 0);
    ck_assert_uint_eq(json_array_size(networks), 2);
    ck_assert_ptr_null(json_object_get(json_array_get(networks, 0), "per_second"));
    ck_assert_double_eq(bench_number_of(json_array_get(networks, 0), "missing"), 1);
    json_decref(networks);
    json_decref(rows);
}
END_TEST

START_TEST(every_suite_of_a_network_has_its_networks)
{
    static const struct {
        const char *suite, *dtype;
        size_t networks;
    } known[] = {
        {"vgg16", "", 2}, {"mobilenetv2", "f16", 1}, {"bert", "", 4}, {"llama", "bf16", 6}, {"standard", "", 0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        json_t *rows = rows_of(known[i].suite, known[i].dtype), *networks = bench_networks(rows, 0);
        ck_assert_msg(json_array_size(networks) == known[i].networks, "%s: %zu", known[i].suite,
                      json_array_size(networks));
        for (size_t k = 0; k < json_array_size(networks); k++)
            ck_assert_double_gt(bench_number_of(json_array_get(networks, k), "per_second"), 0);
        json_decref(networks);
        json_decref(rows);
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("outputs");
    tcase_add_test(tests, csv_has_as_many_fields_in_each_line);
    tcase_add_test(tests, markdown_is_a_table_without_nan);
    tcase_add_test(tests, plain_lines_are_name_value_unit);
    tcase_add_test(tests, rows_name_the_variant_that_was_asked_for);
    tcase_add_test(tests, devices_are_apart);
    tcase_add_test(tests, the_summary_has_each_device_apart);
    tcase_add_test(tests, a_network_is_the_sum_of_its_layers);
    tcase_add_test(tests, every_suite_of_a_network_has_its_networks);
    Suite *suite = suite_create("outputs");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
