// SPDX-License-Identifier: MIT
#include "readers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare.h"
#include "compare/comparison.h"
#include "compare/show.h"
#include "fuzz.h"
#include "record/result_file.h"
#include "record/resume.h"
#include "report/report.h"
#include "report/roofline.h"
#include "report/roofline_svg.h"

// A stream whose text is looked at and thrown away.
typedef struct sink {
    char *text;
    size_t size;
    FILE *file;
} sink;

static void open_sink(sink *s)
{
    *s = (sink){0};
    s->file = open_memstream(&s->text, &s->size);
    fuzz_expect(s->file != NULL, "memory is short");
}

static void close_sink(sink *s, const char *what)
{
    fuzz_expect(fclose(s->file) == 0 && s->size > 0, "%s is empty", what);
    free(s->text);
}

// A result beside itself: nothing is faster or slower.
static void compare(const json_t *document, size_t device)
{
    bench_comparison comparison;
    const char *const names[2] = {"old", "new"};
    sink s;
    fuzz_expect(bench_compare(document, device, document, device, true, &comparison), "memory is short");
    for (size_t i = 0; i < comparison.pair_count; i++) {
        const bench_pair *p = &comparison.pairs[i];
        fuzz_expect(p->change != BENCH_SLOWER && p->change != BENCH_FASTER, "%s is %s than itself", p->text,
                    bench_change_text(p->change));
        fuzz_expect(isnan(p->ratio) || fabs(p->ratio - 1) < 1e-9, "%s: %g times itself", p->text, p->ratio);
    }
    fuzz_expect(comparison.wrong == 0 && comparison.lost == 0, "a result lost cases against itself");
    open_sink(&s);
    fuzz_expect(bench_comparison_markdown(&comparison, names, s.file), "the comparison cannot be written");
    close_sink(&s, "the comparison");
    json_t *json = bench_comparison_json(&comparison, names);
    char *text = json ? json_dumps(json, 0) : NULL;
    fuzz_expect(text != NULL, "the comparison is no JSON");
    free(text);
    json_decref(json);
    bench_comparison_free(&comparison);
}

static void show(const json_t *document, size_t devices)
{
    bench_column columns[BENCH_MAX_COLUMNS];
    const size_t count = devices < BENCH_MAX_COLUMNS ? devices : BENCH_MAX_COLUMNS;
    sink s;
    for (size_t i = 0; i < count; i++)
        columns[i] = (bench_column){.document = document, .device = i, .file = "a result"};
    if (!count)
        return;
    open_sink(&s);
    bench_report_write(columns, count, s.file);
    close_sink(&s, "the report");
    open_sink(&s);
    bench_columns_markdown(columns, count, s.file);
    close_sink(&s, "the table of devices");
    json_t *json = bench_columns_json(columns, count);
    fuzz_expect(json != NULL, "the devices are no JSON");
    json_decref(json);
}

// Numbers of a picture are in its tags; what is between them may be called anything.
static bool is_in_a_tag(const char *svg, const char *word)
{
    for (const char *at = strstr(svg, word); at; at = strstr(at + 1, word)) {
        const char *tag = at;
        while (tag > svg && *tag != '<' && *tag != '>')
            tag--;
        if (*tag == '<')
            return true;
    }
    return false;
}

static void draw(const json_t *document)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_roofline roofline;
    sink s;
    if (!bench_roofline_make(document, &roofline, reason)) {
        fuzz_expect_reason(reason, sizeof reason);
        return;
    }
    for (size_t i = 0; i < roofline.count; i++)
        fuzz_expect(roofline.points[i].intensity > 0 && roofline.points[i].gflops > 0,
                    "%s has no place in the roofline", roofline.points[i].text);
    open_sink(&s);
    bench_roofline_draw(&roofline, s.file);
    fflush(s.file);
    fuzz_expect(!is_in_a_tag(s.text, "nan") && !is_in_a_tag(s.text, "inf"),
                "the roofline has a place that is no number");
    close_sink(&s, "the roofline");
    bench_roofline_free(&roofline);
}

static void resume(const json_t *document)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_options *options = calloc(1, sizeof *options);
    bench_suite suite;
    fuzz_expect(options != NULL, "memory is short");
    options->resume_path = "a result";
    if (bench_resume_take(document, options, &suite, reason)) {
        fuzz_expect(suite.count > 0 && options->rounds >= 1, "a run without cases goes on");
        for (size_t i = 0; i < suite.count; i++)
            fuzz_expect(suite.entries[i].count > 0, "%s occurs %lld times", suite.entries[i].c.canonical,
                        (long long)suite.entries[i].count);
        fuzz_expect(isfinite(options->max_time) && options->max_time >= 0, "%g seconds a case", options->max_time);
    } else {
        fuzz_expect_reason(reason, sizeof reason);
    }
    bench_suite_free(&suite);
    free(options);
}

static void expect_clean(json_t *value)
{
    const char *key;
    json_t *member;
    if (json_is_string(value))
        fuzz_expect_clean(json_string_value(value));
    for (size_t i = 0; i < json_array_size(value); i++)
        expect_clean(json_array_get(value, i));
    json_object_foreach(value, key, member) expect_clean(member);
}

void fuzz_read_result(json_t *document, unsigned reader)
{
    const size_t devices = bench_device_count(document);
    expect_clean(document);
    switch (reader % FUZZ_READERS) {
    case 0:
        for (size_t i = 0; i < devices && i < 4; i++)
            compare(document, i);
        break;
    case 1:
        show(document, devices);
        break;
    case 2:
        draw(document);
        break;
    default:
        resume(document);
    }
}

void fuzz_write_result(const json_t *schema, const json_t *document)
{
    char reason[BENCH_REASON_TEXT] = "";
    char *text = json_dumps(document, JSON_INDENT(1) | JSON_REAL_PRECISION(10));
    fuzz_expect(text != NULL, "it cannot be written");
    json_t *again = bench_result_parse(schema, text, strlen(text), "again", reason);
    fuzz_expect(again != NULL, "what was accepted is refused: %s\n%s", reason, text);
    json_decref(again);
    free(text);
}
