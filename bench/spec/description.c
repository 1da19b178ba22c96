// SPDX-License-Identifier: MIT
#include "spec/description.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/parse_spec.h"

enum { LONGEST_LINE = 4000, MOST_SPECS = 500 };

// ---- memory ----

bool bench_description_begin(const char *path, bench_description *description, char reason[BENCH_REASON_TEXT])
{
    const char *slash = strrchr(path, '/');
    *description = (bench_description){.count = 0};
    if (strlen(path) >= sizeof description->path)
        return bench_explain(reason, BENCH_REASON_TEXT, "a path has at most %d characters", BENCH_PATH_TEXT - 1);
    snprintf(description->path, sizeof description->path, "%.511s", path);
    bench_clean_line(description->path);
    if (strcmp(description->path, path) != 0)
        return bench_explain(reason, BENCH_REASON_TEXT,
                             "%.200s: a description's path is UTF-8 text without control characters",
                             description->path);
    snprintf(description->folder, sizeof description->folder, "%.*s", slash ? (int)(slash - path) + 1 : 0, path);
    return true;
}

bench_spec *bench_description_add(bench_description *description)
{
    bench_spec **specs = realloc(description->specs, (size_t)(description->count + 1) * sizeof *specs);
    if (!specs)
        return NULL;
    description->specs = specs;
    bench_spec *spec = calloc(1, sizeof *spec);
    if (spec)
        specs[description->count++] = spec;
    return spec;
}

void bench_description_free(bench_description *description)
{
    for (int i = 0; i < description->count; i++)
        bench_spec_free(description->specs[i]);
    free(description->specs);
    description->specs = NULL;
    description->count = 0;
}

// ---- lines ----

// A description that is being read.
typedef struct reader {
    bench_description *description;
    bench_spec *spec; // the one at hand; NULL before the first
    bench_scan scan;
    char *reason;
    char line[LONGEST_LINE + 1], clean[LONGEST_LINE + 1];
} reader;

// Messages, results and the worker's requests are UTF-8, and a terminal is to take nothing in them as a command.
static bool check_text(reader *r)
{
    snprintf(r->clean, sizeof r->clean, "%s", r->line);
    bench_clean_line(r->clean);
    for (int i = 0; r->line[i]; i++) {
        if (r->line[i] != r->clean[i] && r->line[i] != '\t' && r->line[i] != '\r')
            return bench_scan_fail(&r->scan, i + 1, "a description is UTF-8 text without control characters");
    }
    return true;
}

static bool finish_spec(reader *r)
{
    return !r->spec || bench_parse_check(&r->scan, r->spec);
}

static bool name_is_free(const reader *r, const char *name)
{
    for (int i = 0; i + 1 < r->description->count; i++) {
        if (!strcmp(r->description->specs[i]->name, name))
            return false;
    }
    return true;
}

static bool begin_spec(reader *r)
{
    bench_description *d = r->description;
    const int column = r->scan.word.column, line = r->scan.line;
    const bool is_pipeline = bench_scan_is(&r->scan, "pipeline");
    bench_scan_next(&r->scan);
    if (!finish_spec(r))
        return false;
    r->scan.line = line;
    if (d->count == MOST_SPECS)
        return bench_scan_fail(&r->scan, column, "a file describes at most %d kernels", MOST_SPECS);
    r->spec = bench_description_add(d);
    if (!r->spec)
        return bench_scan_fail(&r->scan, column, "host memory does not suffice");
    if (!bench_parse_heading(&r->scan, r->spec, is_pipeline) || !bench_scan_end(&r->scan))
        return false;
    if (!is_pipeline) {
        r->spec->step_count = 1;
        r->spec->steps[0].line = line;
    }
    return name_is_free(r, r->spec->name) || bench_scan_fail(&r->scan, column, "%s is described twice", r->spec->name);
}

static bool read_line(reader *r, int number)
{
    bench_scan_begin(&r->scan, r->description->path, number, r->line, r->reason);
    if (r->scan.has_failed || !check_text(r))
        return false;
    if (r->scan.word.kind == BENCH_WORD_END)
        return true;
    if (bench_scan_is(&r->scan, "kernel") || bench_scan_is(&r->scan, "pipeline"))
        return begin_spec(r);
    if (!r->spec)
        return bench_scan_fail(&r->scan, r->scan.word.column,
                               "a description begins with kernel NAME file=..., or pipeline NAME file=...");
    return bench_parse_line(&r->scan, r->spec);
}

static bool read_lines(reader *r, const char *text)
{
    int number = 0;
    for (const char *at = text; *at;) {
        const char *end = strchr(at, '\n');
        const size_t length = end ? (size_t)(end - at) : strlen(at);
        number++;
        if (length > LONGEST_LINE)
            return bench_explain(r->reason, BENCH_REASON_TEXT, "%.200s:%d:1: a line has at most %d characters",
                                 r->description->path, number, LONGEST_LINE);
        memcpy(r->line, at, length);
        r->line[length] = '\0';
        if (!read_line(r, number))
            return false;
        at += length + (end ? 1 : 0);
    }
    if (!r->spec)
        return bench_explain(r->reason, BENCH_REASON_TEXT, "%.200s: no kernel is described in it",
                             r->description->path);
    return finish_spec(r);
}

bool bench_description_parse(const char *path, const char *text, bench_description *description,
                             char reason[BENCH_REASON_TEXT])
{
    if (!bench_description_begin(path, description, reason))
        return false;
    reader *r = calloc(1, sizeof *r);
    if (!r)
        return bench_explain(reason, BENCH_REASON_TEXT, "host memory does not suffice");
    r->description = description;
    r->reason = reason;
    const bool is_read = read_lines(r, text);
    free(r);
    if (!is_read)
        bench_description_free(description);
    return is_read;
}

// ---- paths ----

void bench_description_path(const bench_description *description, const char *path, char *text, size_t size)
{
    snprintf(text, size, "%s%s", path[0] == '/' ? "" : description->folder, path);
}
