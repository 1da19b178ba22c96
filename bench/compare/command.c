// SPDX-License-Identifier: MIT
// clbench compare: two runs, or several devices beside each other.
#include "compare/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/take_stdout.h"
#include "common/json.h"
#include "common/text.h"
#include "compare/compare.h"
#include "compare/comparison.h"
#include "compare/devices.h"
#include "compare/history.h"
#include "compare/show.h"
#include "system/output.h"
#include "system/terminal.h"
#include "record/result_file.h"

typedef struct session {
    const bench_options *options;
    json_t *documents[BENCH_MAX_FILES];
    char paths[BENCH_MAX_FILES][BENCH_PATH_TEXT];
    size_t count;
    json_t *json; /* of all comparisons */
    FILE *markdown;
    bench_writing md;
} session;

// ---- which devices belong together ----

static bool differs(const json_t *a, const json_t *b, const char *key)
{
    return strcmp(bench_text_of(a, key), bench_text_of(b, key)) != 0;
}

// What is different; "" where two runs may be compared.
static void explain_difference(const json_t *old_document, const json_t *a, const json_t *new_document, const json_t *b,
                               char *text, size_t size)
{
    static const char *const keys[] = {"platform", "name", "driver"};
    const json_t *a_traits = json_object_get(a, "traits"), *b_traits = json_object_get(b, "traits");
    const json_t *a_host = json_object_get(old_document, "host"), *b_host = json_object_get(new_document, "host");
    const json_int_t a_units = json_integer_value(json_object_get(a_traits, "compute_units")),
                     b_units = json_integer_value(json_object_get(b_traits, "compute_units"));
    text[0] = '\0';
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !text[0]; i++)
        if (differs(a, b, keys[i]))
            snprintf(text, size, "the %s is \"%.100s\" in one and \"%.100s\" in the other", keys[i],
                     bench_text_of(a, keys[i]), bench_text_of(b, keys[i]));
    if (!text[0] && a_units != b_units)
        snprintf(text, size, "the device has %lld compute units in one and %lld in the other", (long long)a_units,
                 (long long)b_units);
    if (!text[0] && json_is_true(json_object_get(a_traits, "is_cpu")) && differs(a_host, b_host, "cpu"))
        snprintf(text, size, "the CPU is \"%.100s\" in one and \"%.100s\" in the other", bench_text_of(a_host, "cpu"),
                 bench_text_of(b_host, "cpu"));
}

static int refuse(const char *reason)
{
    fprintf(stderr, "clbench: %s\n", reason);
    return BENCH_EXIT_USAGE;
}

// ---- what is written ----

static void take(session *s, const bench_comparison *c, const char *const names[2])
{
    if (s->json)
        json_array_append_new(s->json, bench_comparison_json(c, names));
    if (s->markdown)
        bench_comparison_markdown(c, names, s->markdown);
    bench_comparison_print(c, names);
}

static int severity(int code)
{
    static const int order[] = {BENCH_EXIT_OK, BENCH_EXIT_AMBIGUOUS, BENCH_EXIT_REGRESSION, BENCH_EXIT_ERROR,
                                BENCH_EXIT_VERIFICATION};
    int at = 0;
    while (at < 4 && order[at] != code)
        at++;
    return at;
}

static int worse(int a, int b)
{
    return severity(a) > severity(b) ? a : b;
}

// What --fail-on makes of what was found. A wrong result fails always, and so does finding nothing to compare.
static int leave_with(const bench_options *options, int code, bool any)
{
    const char *fail = options->fail_on ? options->fail_on : "regression";
    if (code == BENCH_EXIT_VERIFICATION || code == BENCH_EXIT_ERROR || (!any && strcmp(fail, "never") != 0))
        return code;
    if (!strcmp(fail, "never"))
        return BENCH_EXIT_OK;
    return code == BENCH_EXIT_AMBIGUOUS && strcmp(fail, "ambiguous") != 0 ? BENCH_EXIT_OK : code;
}

// ---- two runs ----

static int compare_devices(session *s, size_t old_device, size_t new_device, bool is_same, bool *any)
{
    const char *const names[2] = {s->options->files[0], s->options->files[1]};
    bench_comparison comparison;
    if (!bench_compare(s->documents[0], old_device, s->documents[1], new_device, is_same, &comparison)) {
        fprintf(stderr, "clbench: host memory does not suffice\n");
        return BENCH_EXIT_ERROR;
    }
    take(s, &comparison, names);
    *any = *any || comparison.groups[comparison.group_count - 1].count > 0;
    const int code = bench_comparison_code(&comparison);
    bench_comparison_free(&comparison);
    return code;
}

typedef struct partners {
    size_t of_new[BENCH_MAX_COLUMNS]; // the old one; NONE
    bool is_taken[BENCH_MAX_COLUMNS]; // of the old ones
    char why[400];                    // two of them differ, the last that did
} partners;

#define NONE ((size_t)-1)

// Of several that are equal, the one in the same place.
static bool is_at_same_place(const json_t *a, const json_t *b)
{
    const char *address = bench_text_of(json_object_get(a, "traits"), "pci_address");
    return *address && !strcmp(address, bench_text_of(json_object_get(b, "traits"), "pci_address"));
}

// Each device of the new run with its own of the old one: those at the same place first, then in their order.
static void find_partners(const json_t *old, const json_t *new, partners *p)
{
    memset(p, 0, sizeof *p);
    for (size_t k = 0; k < bench_device_count(new); k++)
        p->of_new[k] = NONE;
    for (int by_place = 1; by_place >= 0; by_place--) {
        for (size_t k = 0; k < bench_device_count(new); k++) {
            for (size_t i = 0; i < bench_device_count(old) && p->of_new[k] == NONE; i++) {
                const json_t *a = bench_device_of(old, i), *b = bench_device_of(new, k);
                char text[sizeof p->why];
                if (p->is_taken[i] || (by_place && !is_at_same_place(a, b)))
                    continue;
                explain_difference(old, a, new, b, text, sizeof text);
                if (text[0]) {
                    snprintf(p->why, sizeof p->why, "%s", text);
                    continue;
                }
                p->of_new[k] = i;
                p->is_taken[i] = true;
            }
        }
    }
}

static void say_alone(const json_t *document, size_t device, const char *name)
{
    const json_t *d = bench_device_of(document, device);
    bench_print(2, "\nNot compared: %s (driver %s), which only %s has.\n", bench_text_of(d, "name"),
                bench_text_of(d, "driver"), name);
}

// A wrong result is one on a device that nothing is compared with, too: each is said. The exit code of that.
static int judge_alone(const json_t *document, size_t device, const char *name)
{
    const json_t *rows = json_object_get(document, "results");
    int code = BENCH_EXIT_OK;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *reason = bench_text_of(row, "reason");
        char what[BENCH_ROW_NAME];
        bench_row_name(row, what);
        if ((size_t)json_integer_value(json_object_get(row, "device")) != device ||
            strcmp(bench_text_of(row, "state"), "failed") != 0)
            continue;
        bench_print(2, "%sWRONG: %s: failed, and not compared, on %s of %s%s%s%s\n", bench_colour_on(BENCH_BAD), what,
                    bench_text_of(bench_device_of(document, device), "name"), name, bench_colour_off(),
                    reason[0] ? ": " : "", reason);
        code = BENCH_EXIT_VERIFICATION;
    }
    return code;
}

static int compare_two(session *s)
{
    const json_t *old = s->documents[0], *new = s->documents[1];
    int code = BENCH_EXIT_OK, compared = 0;
    bool any = false;
    partners p;
    bench_column columns[BENCH_MAX_COLUMNS]; // only to refuse what is too much for the table, too
    char reason[BENCH_REASON_TEXT];
    for (size_t i = 0, count = 0; i < 2; i++, count = 0)
        if (!bench_columns_add(columns, &count, s->documents[i], s->options->files[i], reason))
            return refuse(reason);
    find_partners(old, new, &p);
    for (size_t k = 0; k < bench_device_count(new); k++) {
        if (p.of_new[k] == NONE)
            continue;
        if (compared++)
            putchar('\n');
        code = worse(code, compare_devices(s, p.of_new[k], k, true, &any));
    }
    for (size_t k = 0; compared && k < bench_device_count(new); k++) {
        if (p.of_new[k] != NONE)
            continue;
        say_alone(new, k, s->options->files[1]);
        code = worse(code, judge_alone(new, k, s->options->files[1]));
    }
    for (size_t i = 0; compared && i < bench_device_count(old); i++)
        if (!p.is_taken[i])
            say_alone(old, i, s->options->files[0]);
    if (!compared && !s->options->force) {
        fprintf(stderr,
                "clbench: %s and %s are not of the same device and driver: %s; --force compares them nevertheless, "
                "without taking out how fast the machine was\n",
                s->options->files[0], s->options->files[1], p.why);
        return BENCH_EXIT_USAGE;
    }
    if (!compared) {
        code = compare_devices(s, 0, 0, false, &any);
        for (size_t k = 1; k < bench_device_count(new); k++)
            code = worse(code, judge_alone(new, k, s->options->files[1]));
    }
    return leave_with(s->options, code, any);
}

// ---- several devices ----

static int show_columns(session *s)
{
    bench_column columns[BENCH_MAX_COLUMNS];
    char reason[BENCH_REASON_TEXT];
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        if (!bench_columns_add(columns, &count, s->documents[i], s->options->files[i], reason))
            return refuse(reason);
    if (count < 2) {
        fprintf(stderr, "clbench: compare needs two results, or one of several devices: clbench compare OLD NEW\n");
        return BENCH_EXIT_USAGE;
    }
    if (s->json)
        json_array_append_new(s->json, bench_columns_json(columns, count));
    if (s->markdown)
        bench_columns_markdown(columns, count, s->markdown);
    bench_columns_print(columns, count);
    return BENCH_EXIT_OK;
}

static bool check_options(const bench_options *o)
{
    const char *const known[] = {"regression", "ambiguous", "never"};
    for (size_t i = 0; o->fail_on && i < 3; i++)
        if (!strcmp(o->fail_on, known[i]))
            return true;
    if (o->fail_on)
        fprintf(stderr, "clbench: --fail-on %.60s: regression, ambiguous or never is wanted; the nearest is '%s'\n",
                o->fail_on, bench_nearest(o->fail_on, known, 3));
    return !o->fail_on;
}

// A document of one comparison is that comparison; of several devices, a list of them.
static bool write_json(const session *s)
{
    const json_t *document = json_array_size(s->json) == 1 ? json_array_get(s->json, 0) : s->json;
    bench_writing writing;
    FILE *file = bench_output_open(&writing, s->options->json_path);
    if (file) {
        json_dumpf(document, file, JSON_INDENT(1) | JSON_REAL_PRECISION(10));
        fputc('\n', file);
    }
    return file && bench_output_close(&writing, s->options->json_path);
}

static bool read_one(session *s, size_t index, const json_t *like, char reason[BENCH_REASON_TEXT])
{
    const char *word = s->options->files[index];
    if (!bench_history_resolve(word, like, s->paths[index], reason))
        return false;
    s->documents[index] = bench_result_read(s->paths[index], reason);
    return s->documents[index] != NULL;
}

// "last" is of the device of the other one; and "last" alone is compared with what was measured before it.
static bool read_all(session *s, bench_options *options, char reason[BENCH_REASON_TEXT])
{
    if (options->file_count == 1 && bench_history_is_last(options->files[0])) {
        options->files[1] = options->files[0];
        options->files[0] = "last";
        options->file_count = 2;
        if (!read_one(s, 1, NULL, reason) || !read_one(s, 0, s->documents[1], reason))
            return false;
    } else if (options->file_count == 2 && bench_history_is_last(options->files[0])) {
        const bool both = bench_history_is_last(options->files[1]);
        if (!read_one(s, 1, NULL, reason) || !read_one(s, 0, both ? NULL : s->documents[1], reason))
            return false;
    } else {
        for (size_t i = 0; i < options->file_count; i++)
            if (!read_one(s, i, NULL, reason))
                return false;
    }
    for (size_t i = 0; i < options->file_count; i++)
        if (!bench_output_is_apart(options->json_path, s->paths[i], reason) ||
            !bench_output_is_apart(options->md_path, s->paths[i], reason))
            return false;
    for (size_t i = 0; i < options->file_count; i++) { // from now on they are only said, in JSON, too
        bench_clean_line(s->paths[i]);
        options->files[i] = s->paths[i];
    }
    s->count = options->file_count;
    return true;
}

int bench_command_compare(const bench_options *given)
{
    bench_options options = *given;
    char reason[BENCH_REASON_TEXT], stdout_path[32] = "";
    session s = {.options = &options};
    int code = check_options(&options) ? BENCH_EXIT_OK : BENCH_EXIT_USAGE;
    if (code == BENCH_EXIT_OK && !options.file_count) {
        fprintf(stderr, "clbench: compare needs results: clbench compare OLD.json NEW.json\n");
        return BENCH_EXIT_USAGE;
    }
    if (code == BENCH_EXIT_OK && !read_all(&s, &options, reason)) {
        fprintf(stderr, "clbench: %s\n", reason);
        code = BENCH_EXIT_USAGE;
    }
    if (code == BENCH_EXIT_OK) {
        bench_output_take_stdout(&options, stdout_path);
        s.json = options.json_path ? json_array() : NULL;
        s.markdown = options.md_path ? bench_output_open(&s.md, options.md_path) : NULL;
        code = s.count == 2 ? compare_two(&s) : show_columns(&s);
        const bool is_written = code != BENCH_EXIT_USAGE;
        if (!is_written)
            bench_output_drop(&s.md);
        bool good = !options.md_path || !is_written || (s.markdown && bench_output_close(&s.md, options.md_path));
        good = (!s.json || !is_written || write_json(&s)) && good;
        // A wrong result comes before what could not be written.
        code = good || code == BENCH_EXIT_VERIFICATION ? code : BENCH_EXIT_ERROR;
    }
    for (size_t i = 0; i < BENCH_MAX_FILES; i++)
        json_decref(s.documents[i]);
    json_decref(s.json);
    return code;
}
