// SPDX-License-Identifier: MIT
// ctest: timeout=120
// Result files: those that are right are read, and of those that are not it is said where and why; whatever the bytes,
// nothing crashes.
#include <check.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/json.h"
#include "compare/compare.h"
#include "compare/comparison.h"
#include "compare/show.h"
#include "record/result_file.h"
#include "record/results.h"
#include "ref/random.h"
#include "report/report.h"
#include "report/roofline.h"
#include "report/roofline_svg.h"

static char reason[BENCH_REASON_TEXT];

// The first rows of a result that is kept with the tests.
static json_t *small_document(size_t rows)
{
    json_t *document = bench_result_read(HUSK_TESTS_DIR "/bench/data/cpu_result.json", reason);
    ck_assert_msg(document != NULL, "%s", reason);
    json_t *all = json_object_get(document, "results");
    while (json_array_size(all) > rows)
        json_array_remove(all, json_array_size(all) - 1);
    return document;
}

static void write_file(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static char path[] = "/tmp/husk-test-result-XXXXXX";

static void make_path(void)
{
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
    int descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    close(descriptor);
}

static void remove_path(void)
{
    unlink(path);
}

// What another implementation of JSON Schema says, where there is one.
static void check_outside(const char *file)
{
    char command[2000];
    snprintf(command, sizeof command, "sh '" HUSK_TESTS_DIR "/tools/check_schema.sh' '%s' '%s'",
             HUSK_SOURCE_DIR "/bench/schema/clbench-2.schema.json", file);
    ck_assert_msg(system(command) == 0, "%s", command);
}

// A CPU's, another's without what may be missing, a GPU's, one of two devices; and one of schema clbench/1.
START_TEST(every_kept_result_is_one)
{
    glob_t found;
    ck_assert_int_eq(glob(HUSK_TESTS_DIR "/bench/data/*_result.json", 0, NULL, &found), 0);
    ck_assert_uint_ge(found.gl_pathc, 5);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        json_t *document = bench_result_read(found.gl_pathv[i], reason), *schema = bench_result_schema();
        bench_fault fault;
        ck_assert_msg(document != NULL, "%s", reason);
        ck_assert_msg(bench_schema_names_all(schema, document, &fault), "%s: %s: %s", found.gl_pathv[i], fault.place,
                      fault.rule);
        json_decref(document);
        json_decref(schema);
        if (!strstr(found.gl_pathv[i], "old_form"))
            check_outside(found.gl_pathv[i]);
    }
    globfree(&found);
}
END_TEST

// Words of the language that json_schema.c does not know would be rules that nobody checks.
static void check_words(const json_t *schema, bool names_members)
{
    static const char known[] =
        " $schema $id $defs $ref title description type const enum required properties additionalProperties items "
        "minItems maxItems minLength maxLength minimum exclusiveMinimum maximum ";
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)schema, key, value)
    {
        char word[80];
        snprintf(word, sizeof word, " %s ", key);
        ck_assert_msg(names_members || strstr(known, word) != NULL, "json_schema.c does not know \"%s\"", key);
        if (json_is_object(value))
            check_words(value, !names_members && (!strcmp(key, "properties") || !strcmp(key, "$defs")));
    }
}

START_TEST(the_schema_says_nothing_that_is_not_checked)
{
    json_t *schema = bench_result_schema();
    ck_assert_ptr_nonnull(schema);
    check_words(schema, false);
    json_decref(schema);
}
END_TEST

// Sets what is at a path such as "results.0.time.n"; value NULL removes it.
static void put(json_t *document, const char *where, json_t *value)
{
    char copy[200], *position = NULL;
    json_t *at = document;
    snprintf(copy, sizeof copy, "%s", where);
    for (char *word = strtok_r(copy, ".", &position); word;) {
        char *next = strtok_r(NULL, ".", &position);
        ck_assert_msg(at != NULL, "%s", where);
        if (next)
            at = json_is_array(at) ? json_array_get(at, strtoul(word, NULL, 10)) : json_object_get(at, word);
        else if (!value)
            ck_assert_int_eq(json_object_del(at, word), 0);
        else if (json_is_array(at))
            ck_assert_int_eq(json_array_set_new(at, strtoul(word, NULL, 10), value), 0);
        else
            ck_assert_int_eq(json_object_set_new(at, word, value), 0);
        word = next;
    }
}

static void refuse(const char *where, json_t *value, const char *words)
{
    json_t *document = small_document(3);
    put(document, where, value);
    ck_assert_msg(!bench_result_check(document, "the.json", reason), "%s: %s", where, words);
    ck_assert_msg(!strncmp(reason, "the.json: ", 10) && strstr(reason, words), "'%s' is not in: %s", words, reason);
    json_decref(document);
}

START_TEST(what_is_wrong_is_named_with_its_place)
{
    refuse("schema", json_string("clbench/3"), "schema: \"clbench/2\" is wanted, not \"clbench/3\"");
    refuse("schema", NULL, "it is no result of clbench");
    refuse("results", json_object(), "results: a list is wanted, not an object");
    refuse("results.1", json_null(), "results[1]: an object is wanted, not null");
    refuse("results.1.case", NULL, "results[1].case: it is missing");
    refuse("results.1.case", json_integer(7), "results[1].case: a text is wanted, not 7");
    refuse("results.1.state", json_string("fine"), "one of \"ok\", \"unsupported\"");
    refuse("results.2.time.median_ns", json_string("12"), "results[2].time.median_ns: a number is wanted");
    refuse("results.2.time.median_ns", json_real(-1), "results[2].time.median_ns: at least 0 is wanted, not -1");
    refuse("results.2.time.median_ns", json_real(1e300), "at most 1e+18 is wanted, not 1e+300");
    refuse("results.2.time.samples_ns.0", json_null(), "results[2].time.samples_ns[0]: a number is wanted");
    refuse("results.2.time.samples_ns", json_array(), "samples_ns: a list of another length is wanted");
    refuse("results.2.time.n", json_real(3), "results[2].time.n: a whole number is wanted, not 3");
    refuse("results.0.baselines.0.forms.0.time.n", json_integer(100000), "results[0].baselines[0].forms[0]: n is not");
    refuse("device.peaks.copy.3.bytes", json_integer(0), "device.peaks.copy[3].bytes: more than 0 is wanted");
    refuse("device.peaks", json_true(), "device.peaks: an object or null is wanted, not true");
    refuse("started", json_string("yesterday"), "started: a text of another length");
    refuse("summary.counts.ok", json_string("\033[31m"), "summary.counts.ok: a whole number is wanted, not \" [31m\"");
}
END_TEST

// clbench/1 calls mistrusted what clbench/2 calls inconclusive: in a row, a baseline, one of its forms and the counts.
START_TEST(the_schema_before_is_read)
{
    static const char *const places[] = {"results.0.state", "results.1.baselines.0.state",
                                         "results.1.baselines.0.forms.0.state"};
    json_t *document = small_document(2), *counts = json_object_get(json_object_get(document, "summary"), "counts");
    put(document, "schema", json_string("clbench/1"));
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        put(document, places[i], json_string("mistrusted"));
    json_object_del(counts, "inconclusive");
    put(document, "summary.counts.mistrusted", json_integer(3));
    ck_assert_msg(bench_result_check(document, "the.json", reason), "%s", reason);
    ck_assert_str_eq(bench_text_of(document, "schema"), "clbench/2");
    ck_assert_int_eq(json_integer_value(json_object_get(counts, "inconclusive")), 3);
    ck_assert_ptr_null(json_object_get(counts, "mistrusted"));
    char *text = json_dumps(document, 0);
    ck_assert_ptr_null(strstr(text, "mistrusted"));
    free(text);
    json_decref(document);
    refuse("results.1.state", json_string("mistrusted"), "one of \"ok\", \"unsupported\""); // of clbench/2
}
END_TEST

START_TEST(what_a_schema_cannot_say_is_checked)
{
    json_t *document = small_document(2);
    json_t *again = json_deep_copy(json_array_get(json_object_get(document, "results"), 1));
    refuse("results.2", again, "results[2]: the same case is there a second time");
    json_decref(document);
    refuse("results.1.device", json_integer(1), "of a device that the document does not have");
    refuse("results.1.time", json_null(), "its state is ok without a time");
    refuse("results.1.time.n", json_integer(1), "n is not the number of samples_ns");
    refuse("results.1.time.min_ns", json_real(1e17), "out of order");
    refuse("results.1.time.ci_high_ns", json_real(0), "outside its confidence interval");
    document = small_document(2);
    const json_t *time = json_object_get(json_array_get(json_object_get(document, "results"), 1), "time");
    refuse("results.1.time.median_ns", json_real(1.00001 * bench_number_of(time, "median_ns")),
           "is not the median of samples_ns");
    json_decref(document);
    refuse("results.1.time.processes.0.n", json_integer(100), "its processes have more samples than samples_ns");
    refuse("results.1.time.processes.2.median_ns", json_real(1), "a process' median_ns is not the median");
    refuse("results.1.sentinels", json_pack("[{s:f, s:n, s:i}]", "before_gflops", 1.0, "after_gflops", "samples", 1),
           "are not together as many as its n");
}
END_TEST

static void refuse_bytes(const char *bytes, size_t size, const char *words)
{
    make_path();
    write_file(path, bytes, size);
    ck_assert_ptr_null(bench_result_read(path, reason));
    ck_assert_msg(!strncmp(reason, path, strlen(path)) && strstr(reason, words), "'%s' is not in: %s", words, reason);
    remove_path();
}

START_TEST(files_that_are_none_are_refused)
{
    char deep[10000];
    memset(deep, '[', sizeof deep);
    refuse_bytes("", 0, "line 1, column 0: no JSON");
    refuse_bytes("{\"schema\": NaN}", 15, "line 1, column 14: no JSON");
    refuse_bytes("{\"schema\": 1e999}", 17, "no JSON: real number overflow");
    refuse_bytes("{\"a\": 1, \"a\": 2}", 16, "no JSON: duplicate object key");
    refuse_bytes("{\"schema\": \"\xff\"}", 14, "no JSON");
    refuse_bytes("{\"schema\": \"a\\u0000b\"}", 22, "no JSON");
    refuse_bytes("{} {}", 5, "no JSON: end of file expected");
    refuse_bytes("{}", 2, "it is no result of clbench");
    refuse_bytes("[]", 2, "it is no result of clbench");
    refuse_bytes(deep, sizeof deep, "no JSON: maximum parsing depth reached");
    ck_assert_ptr_null(bench_result_read("/no/such/file", reason));
    ck_assert_str_eq(reason, "/no/such/file: No such file or directory");
    ck_assert_ptr_null(bench_result_read("/tmp", reason));
    ck_assert_str_eq(reason, "/tmp: Is a directory");
}
END_TEST

static json_t *read_kept(void)
{
    json_t *document = bench_result_read(path, reason);
    ck_assert_msg(document != NULL, "%s", reason);
    return document;
}

// What is written is read again: both have one limit, which also ends a file that has none.
START_TEST(nothing_is_written_that_would_not_be_read)
{
    const size_t usual = bench_result_most;
    char said[2000];
    make_path();
    bench_results results = {0};
    ck_assert(bench_results_claim(&results, path, reason));
    ck_assert(bench_results_resume(&results, path, small_document(2)));
    json_t *kept = read_kept();
    struct stat about;
    ck_assert_int_eq(stat(path, &about), 0);
    bench_result_most = (size_t)about.st_size;
    json_decref(read_kept()); // as large as it may be
    FILE *file = tmpfile();
    const int before = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    json_t *row = json_deep_copy(json_array_get(results.rows, 0));
    json_object_set_new(row, "case", json_string("gemm m=1 n=1 k=1"));
    bench_results_add(&results, json_incref(row));
    bench_results_add(&results, row);
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(file);
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    fclose(file);
    ck_assert(results.failed);
    ck_assert_msg(strstr(said, "which is not read again; what was written last stays") != NULL, "%s", said);
    ck_assert_ptr_null(strstr(strstr(said, "read again") + 1, "read again")); // once
    json_t *now = read_kept();
    ck_assert(json_equal(now, kept));
    bench_results_free(&results);
    json_decref(now);
    json_decref(kept);
    bench_result_most--;
    ck_assert_ptr_null(bench_result_read(path, reason));
    ck_assert_ptr_nonnull(strstr(reason, "KiB, and that is more than"));
    ck_assert_ptr_null(bench_result_read("/dev/zero", reason));
    ck_assert_ptr_nonnull(strstr(reason, "/dev/zero: it has more than"));
    bench_result_most = usual;
    remove_path();
}
END_TEST

// Rounds before the last one are shuffled; the file has the order of the last.
START_TEST(rows_lie_as_they_were_added)
{
    make_path();
    bench_results results = {0};
    ck_assert(bench_results_claim(&results, path, reason));
    ck_assert(bench_results_resume(&results, path, small_document(2)));
    const json_t *first = json_array_get(results.rows, 0), *second = json_array_get(results.rows, 1);
    json_t *a = json_deep_copy(first), *b = json_deep_copy(second);
    bench_results_note(&results, json_deep_copy(b));
    ck_assert(json_equal(json_array_get(results.rows, 0), a));
    bench_results_add(&results, json_incref(a)); // before b now, which is to follow
    bench_results_add(&results, json_incref(b));
    ck_assert_uint_eq(json_array_size(results.rows), 2);
    ck_assert(json_equal(json_array_get(results.rows, 0), a));
    ck_assert(json_equal(json_array_get(results.rows, 1), b));
    bench_results_add(&results, json_incref(a));
    ck_assert(json_equal(json_array_get(results.rows, 0), b));
    json_decref(a);
    json_decref(b);
    bench_results_free(&results);
    remove_path();
}
END_TEST

START_TEST(texts_may_be_printed)
{
    json_t *document = small_document(1);
    put(document, "device.name", json_string("a\033[31m\nb"));
    ck_assert_msg(bench_result_check(document, "x", reason), "%s", reason);
    ck_assert_str_eq(bench_text_of(json_object_get(document, "device"), "name"), "a [31m b");
    json_decref(document);
}
END_TEST

// ---- thousands of broken files ----

// What was read is used, so that what the checks let through cannot break what relies on them.
static void use(const json_t *document)
{
    bench_comparison comparison;
    if (bench_compare(document, 0, document, 0, true, &comparison)) {
        const char *const names[2] = {"a", "b"};
        json_decref(bench_comparison_json(&comparison, names));
        bench_comparison_free(&comparison);
    }
    const bench_column column = {document, 0, "a"};
    FILE *page = fopen("/dev/null", "w");
    if (page && bench_device_of(document, 0))
        bench_report_write(&column, 1, page);
    if (page)
        fclose(page);
    bench_roofline roofline;
    char why[BENCH_REASON_TEXT];
    if (!bench_roofline_make(document, &roofline, why))
        return;
    FILE *file = fopen("/dev/null", "w");
    if (file) {
        bench_roofline_draw(&roofline, file);
        fclose(file);
    }
    bench_roofline_free(&roofline);
}

static size_t below(husk_ref_random *random, size_t limit)
{
    return (size_t)husk_ref_random_below(random, (int64_t)limit);
}

static size_t mutate(char *bytes, size_t size, size_t capacity, husk_ref_random *random)
{
    static const char *const pieces[] = {"NaN",  "-",       "1e999",    "1e308", "99999999999999999999",
                                         "null", "[",       "]",        "{",     "}",
                                         "\"",   "\\u0000", "\xc3\x28", ",",     ":",
                                         "-0.0", "\n",      "\"ok\"",   "0"};
    const size_t at = below(random, size), length = below(random, 40);
    switch (below(random, 6)) {
    case 0:
        bytes[at] = (char)below(random, 256);
        return size;
    case 1: // truncated
        return at;
    case 2: // a piece is lost
        if (at + length >= size)
            return size;
        memmove(bytes + at, bytes + at + length, size - at - length);
        return size - length;
    case 3: // a piece comes twice
        if (at + length >= size || size + length > capacity)
            return size;
        memmove(bytes + at + length, bytes + at, size - at);
        return size + length;
    case 4: { // something else is written over what is there
        const char *piece = pieces[below(random, sizeof pieces / sizeof *pieces)];
        const size_t wide = strlen(piece);
        if (at + wide < size)
            memcpy(bytes + at, piece, wide);
        return size;
    }
    default: { // a number becomes another
        size_t digit = at;
        while (digit < size && (bytes[digit] < '0' || bytes[digit] > '9'))
            digit++;
        if (digit < size)
            bytes[digit] = (char)('0' + below(random, 10));
        return size;
    }
    }
}

START_TEST(thousands_of_damaged_files_are_read_or_refused)
{
    json_t *document = small_document(2);
    char *text = json_dumps(document, JSON_INDENT(1));
    const size_t size = strlen(text), capacity = 2 * size;
    char *bytes = malloc(capacity);
    husk_ref_random random = {.seed = 6};
    int good = 0, bad = 0;
    make_path();
    for (int i = 0; i < 2500; i++) {
        memcpy(bytes, text, size);
        size_t now = size;
        for (size_t changes = 1 + below(&random, 3); changes && now > 1; changes--)
            now = mutate(bytes, now, capacity, &random);
        write_file(path, bytes, now);
        reason[0] = '\0';
        json_t *read = bench_result_read(path, reason);
        good += read != NULL;
        bad += read == NULL;
        if (read)
            use(read);
        else
            ck_assert_msg(!strncmp(reason, path, strlen(path)) && strlen(reason) > strlen(path) + 5, "%s", reason);
        json_decref(read);
    }
    ck_assert_int_gt(bad, 500);
    ck_assert_int_gt(good, 100); // a digit of a host's load, say
    remove_path();
    free(bytes);
    free(text);
    json_decref(document);
}
END_TEST

// Any value in any place of the document.
static json_t *anything(husk_ref_random *random)
{
    switch (below(random, 11)) {
    case 0:
        return json_null();
    case 1:
        return json_true();
    case 2:
        return json_integer(0);
    case 3:
        return json_integer(-1);
    case 4:
        return json_integer(9007199254740992);
    case 5:
        return json_real(1e308);
    case 6:
        return json_real(1e-308);
    case 7:
        return json_string("");
    case 8:
        return json_string("\x1b]0;<b>%s%n&\"'</script>");
    case 9:
        return json_array();
    default:
        return json_object();
    }
}

static bool replace_one(json_t *at, husk_ref_random *random)
{
    const size_t count = json_is_array(at) ? json_array_size(at) : json_object_size(at);
    if (count == 0)
        return false;
    const size_t chosen = below(random, count);
    if (json_is_array(at)) {
        if (below(random, 4) && replace_one(json_array_get(at, chosen), random))
            return true;
        return json_array_set_new(at, chosen, anything(random)) == 0;
    }
    void *iterator = json_object_iter(at);
    for (size_t i = 0; i < chosen; i++)
        iterator = json_object_iter_next(at, iterator);
    if (below(random, 4) && replace_one(json_object_iter_value(iterator), random))
        return true;
    return json_object_iter_set_new(at, iterator, anything(random)) == 0;
}

START_TEST(any_value_in_any_place_is_read_or_refused)
{
    json_t *document = small_document(2);
    husk_ref_random random = {.seed = 7};
    int good = 0;
    for (int i = 0; i < 2500; i++) {
        json_t *changed = json_deep_copy(document);
        replace_one(changed, &random);
        if (bench_result_check(changed, "x", reason)) {
            use(changed);
            good++;
        }
        json_decref(changed);
    }
    ck_assert_int_gt(good, 100);
    ck_assert_int_lt(good, 2000);
    json_decref(document);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("result files");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, every_kept_result_is_one);
    tcase_add_test(tests, the_schema_says_nothing_that_is_not_checked);
    tcase_add_test(tests, what_is_wrong_is_named_with_its_place);
    tcase_add_test(tests, the_schema_before_is_read);
    tcase_add_test(tests, what_a_schema_cannot_say_is_checked);
    tcase_add_test(tests, files_that_are_none_are_refused);
    tcase_add_test(tests, nothing_is_written_that_would_not_be_read);
    tcase_add_test(tests, rows_lie_as_they_were_added);
    tcase_add_test(tests, texts_may_be_printed);
    tcase_add_test(tests, thousands_of_damaged_files_are_read_or_refused);
    tcase_add_test(tests, any_value_in_any_place_is_read_or_refused);
    Suite *suite = suite_create("result files");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
