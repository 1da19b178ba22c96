// SPDX-License-Identifier: MIT
// ctest: timeout=60
// What clbench verify writes for programs: JSON as its schema says, and JUnit XML that any reader takes, whatever a
// driver has said.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases/case.h"
#include "cases/parse.h"
#include "common/json_schema.h"
#include "verify/results.h"

static char folder[] = "/tmp/husk-test-verify-XXXXXX", json_path[100], junit_path[100], text[1 << 16];
static bench_verify_results results;
static bench_case first, second;

static void add(const bench_case *c, const char *variant, bench_state state, const char *reason, double ratio,
                bool is_void)
{
    bench_check check = {.state = state};
    snprintf(check.reason, sizeof check.reason, "%s", reason);
    check.prepared = json_pack("{s:s, s:s}", "variant", variant ? variant : "tiled", "configuration", "8x8");
    check.verified = ratio >= 0 ? json_pack("{s:f, s:b}", "max_ratio", ratio, "inconclusive", is_void) : NULL;
    bench_verify_results_add(&results, c, "gemm", variant, &check, 0.25);
    json_decref(check.prepared);
    json_decref(check.verified);
}

static void setup(void)
{
    char reason[BENCH_REASON_TEXT];
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(json_path, sizeof json_path, "%s/a.json", folder);
    snprintf(junit_path, sizeof junit_path, "%s/a.xml", folder);
    ck_assert_msg(bench_case_parse("gemm m=1 n=2 k=3", &first, reason), "%s", reason);
    ck_assert_msg(bench_case_parse("gemm m=4 n=5 k=6 act=relu", &second, reason), "%s", reason);
    bench_verify_results_begin(&results);
    json_t *device = json_pack("{s:s}", "name", "A \"card\" <1> & more");
    bench_verify_results_device(&results, device);
    json_decref(device);
    add(&first, NULL, BENCH_STATE_OK, "", 0.5, false);
    add(&first, "packed", BENCH_STATE_FAILED, "1 of 2 outputs wrong: \"-0\" < 1 & \033[31m\377", -1, false);
    add(&first, "skinny:4", BENCH_STATE_UNSUPPORTED, "m is too large", -1, false);
    add(&second, NULL, BENCH_STATE_OK, "", 0.25, true);
    add(&second, "tiled", BENCH_STATE_TIMEOUT, "no answer within 1 s", -1, false);
    add(&second, "packed", BENCH_STATE_ERROR, "the driver crashed", -1, false);
}

static void teardown(void)
{
    char command[200];
    bench_verify_results_free(&results);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static void read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
}

START_TEST(json_is_what_the_schema_says)
{
    static const char *const verdicts[] = {"right", "wrong", "refused", "inconclusive", "timeout", "error"};
    static const char path[] = HUSK_SOURCE_DIR "/bench/schema/clbench-verify-2.schema.json";
    char command[600];
    bench_fault fault = {0};
    ck_assert(bench_verify_results_json(&results, json_path));
    json_t *document = json_load_file(json_path, 0, NULL), *schema = json_load_file(path, 0, NULL);
    ck_assert(json_is_object(document) && json_is_object(schema));
    ck_assert_msg(bench_schema_check(schema, document, &fault), "%s: %s", fault.place, fault.rule);
    snprintf(command, sizeof command, "sh '%s' '%s' '%s'", HUSK_TESTS_DIR "/tools/check_schema.sh", path, json_path);
    ck_assert_msg(system(command) == 0, "%s", command);
    const json_t *device = json_array_get(json_object_get(document, "devices"), 0),
                 *list = json_object_get(device, "results");
    ck_assert_uint_eq(json_array_size(list), 6);
    for (size_t i = 0; i < 6; i++)
        ck_assert_str_eq(json_string_value(json_object_get(json_array_get(list, i), "verdict")), verdicts[i]);
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(list, 1), "reason")),
                     "1 of 2 outputs wrong: \"-0\" < 1 &  [31m?");
    ck_assert(json_is_null(json_object_get(json_array_get(list, 0), "asked")));
    ck_assert_double_eq(json_number_value(json_object_get(json_array_get(list, 0), "of_bound")), 0.5);
    ck_assert(json_is_null(json_object_get(json_array_get(list, 2), "of_bound")));
    json_decref(document);
    json_decref(schema);
}
END_TEST

START_TEST(junit_is_xml_that_counts)
{
    static const char *const parts[] = {
        ("<testsuite name=\"A &quot;card&quot; &lt;1&gt; &amp; more\" tests=\"6\" failures=\"1\" errors=\"2\" "
         "skipped=\"2\" time=\"1.500\">"),
        "<testcase classname=\"clbench.gemm\" name=\"gemm m=1 n=2 k=3 [chosen]\" time=\"0.250\"/>",
        "<failure message=\"1 of 2 outputs wrong: &quot;-0&quot; &lt; 1 &amp;  [31m?\" type=\"wrong\"/>",
        "<skipped message=\"m is too large\"/>",
        "<skipped message=\"inconclusive\"/>",
        "<error message=\"no answer within 1 s\" type=\"timeout\"/>",
        "<error message=\"the driver crashed\" type=\"error\"/>",
    };
    char command[400];
    ck_assert(bench_verify_results_junit(&results, junit_path));
    read_file(junit_path);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        ck_assert_msg(strstr(text, parts[i]) != NULL, "%s is not in\n%s", parts[i], text);
    snprintf(command, sizeof command,
             "! command -v python3 > '%s/which' || python3 -c 'import sys, xml.etree.ElementTree as e; "
             "assert len(list(e.parse(sys.argv[1]).iter(\"testcase\"))) == 6' '%s'",
             folder, junit_path);
    ck_assert_msg(system(command) == 0, "%s", command);
}
END_TEST

START_TEST(what_cannot_be_written_is_said)
{
    ck_assert(!bench_verify_results_json(&results, "/nonexistent/a.json"));
    ck_assert(!bench_verify_results_junit(&results, "/nonexistent/a.xml"));
    results.lacks_memory = true;
    ck_assert(!bench_verify_results_json(&results, json_path));
    ck_assert_int_ne(access(json_path, F_OK), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("verify_results");
    TCase *tests = tcase_create("verify_results");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, json_is_what_the_schema_says);
    tcase_add_test(tests, junit_is_xml_that_counts);
    tcase_add_test(tests, what_cannot_be_written_is_said);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
