// SPDX-License-Identifier: MIT
#include "record/results.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "system/host.h"
#include "system/output.h"
#include "system/terminal.h"
#include "system/timer.h"
#include "record/network.h"
#include "record/result_file.h"
#include "record/resume.h"
#include "record/rival.h"

#define MOST_WRITING 20 // notes are written after so many times what writing takes

static void say_unwritten(bench_results *results)
{
    char most[32];
    bench_format_bytes((double)bench_result_most, most, sizeof most);
    if (results->is_full)
        bench_say("clbench: %s would have more than %s, which is not read again; what was written last stays, and what "
                  "is measured from now on is not kept: give the other cases a file of their own",
                  results->path, most);
    else if (!results->failed) // once, until it can be written again
        fprintf(stderr, "clbench: %s could not be written: %s\n", results->path, strerror(errno));
    results->failed = true;
}

// Asked before the work is done whose result it is to have; what is there stays.
static void check_path(bench_results *results)
{
    char temporary[4096];
    struct stat about;
    if (bench_output_is_stream(results->path))
        return;
    const bool is_folder = stat(results->path, &about) == 0 && S_ISDIR(about.st_mode);
    snprintf(temporary, sizeof temporary, "%.4000s.XXXXXX", results->path);
    FILE *file = is_folder ? NULL : bench_output_temporary(temporary);
    if (is_folder)
        errno = EISDIR;
    if (!file)
        say_unwritten(results);
    else if (fclose(file) == 0)
        unlink(temporary);
}

bool bench_results_claim(bench_results *results, const char *path, char reason[BENCH_REASON_TEXT])
{
    return !path || bench_output_is_stream(path) || bench_claim_take(&results->claim, path, reason);
}

static void clear(bench_results *results, const char *path)
{
    const bench_claim claim = results->claim;
    *results = (bench_results){.path = path, .claim = claim};
}

bool bench_results_begin(bench_results *results, const char *path, json_t *run)
{
    clear(results, path);
    results->root = json_object();
    results->rows = json_array();
    json_object_set_new(results->root, "schema", json_string("clbench/2"));
    json_object_set_new(results->root, "husk_version", json_string(husk_version()));
    json_object_set_new(results->root, "started", bench_host_time());
    json_object_set_new(results->root, "run", run ? run : json_null());
    json_object_set_new(results->root, "host", bench_host_json());
    json_object_set_new(results->root, "device", json_null());
    json_object_set_new(results->root, "timer", json_null());
    json_object_set_new(results->root, "results", results->rows);
    json_object_set_new(results->root, "summary", json_object());
    if (path)
        check_path(results);
    return !results->failed;
}

bool bench_results_resume(bench_results *results, const char *path, json_t *document)
{
    clear(results, path);
    results->root = document;
    results->rows = json_object_get(document, "results");
    results->is_untouched = true;
    if (path && !bench_output_is_stream(path)) // as it is: it may yet turn out that it cannot be gone on with
        bench_results_write(results);
    return !results->failed;
}

void bench_results_go_on(bench_results *results)
{
    json_t *resumed = json_object_get(results->root, "resumed");
    if (!results->is_untouched)
        return;
    results->is_untouched = false;
    if (!json_is_array(resumed)) {
        resumed = json_array();
        json_object_set_new(results->root, "resumed", resumed);
    }
    json_array_append_new(resumed, bench_host_time());
    json_object_del(results->root, "finished");
    json_object_set_new(results->root, "summary", json_object());
    bench_results_write(results);
}

static bool write_stream(const bench_results *results)
{
    FILE *file = bench_output_file(results->path);
    const bool good = file && json_dumpf(results->root, file, JSON_INDENT(1) | JSON_REAL_PRECISION(10)) == 0 &&
                      fputc('\n', file) != EOF;
    return file && fclose(file) == 0 && good;
}

void bench_results_write(bench_results *results)
{
    if (!results->path || results->is_full)
        return;
    const uint64_t start = bench_now_ns();
    const bool is_stream = bench_output_is_stream(results->path);
    const bool is_empty = !json_is_object(json_object_get(results->root, "device")) && !json_array_size(results->rows);
    // A stream gets it once, at the end. An older result is not replaced by nothing.
    if (is_stream ? !json_object_size(json_object_get(results->root, "summary")) : is_empty)
        return;
    bool fits = true;
    const bool good =
        is_stream ? write_stream(results) : bench_claim_write(&results->claim, results->path, results->root, &fits);
    results->is_full = !fits;
    results->written_ns = bench_now_ns();
    results->writing_ns = results->written_ns - start;
    if (!good)
        say_unwritten(results);
    else if (results->failed)
        fprintf(stderr, "clbench: %s is written again, with all that was measured\n", results->path);
    results->failed = !good;
}

void bench_results_device(bench_results *results, size_t index, json_t *device, json_t *timer)
{
    json_t *devices = json_object_get(results->root, "devices");
    if (!devices) {
        devices = json_array();
        json_object_set_new(results->root, "devices", devices);
    }
    results->device = index < json_array_size(devices) ? index : json_array_size(devices);
    json_t *known = json_array_get(devices, results->device); // in a run that is resumed
    const bool is_new = !json_is_object(json_object_get(known, "peaks")); // or was ended while they were measured
    if (!known)
        json_array_append(devices, device);
    else if (is_new)
        json_object_set(known, "peaks", json_object_get(device, "peaks"));
    json_object_set(results->root, "device", json_array_get(devices, 0));
    if (is_new && results->device == 0)
        json_object_set(results->root, "timer", timer);
    json_decref(device);
    json_decref(timer);
    bench_results_write(results);
}

static bool row_is(const json_t *row, const char *key, const char *wanted)
{
    const char *value = json_string_value(json_object_get(row, key));
    return value && !strcmp(value, wanted);
}

// The variant that a row was asked for. In files of before rows said so, the run alone has one that was named for all.
static const char *asked_of(const bench_results *results, const json_t *row)
{
    const char *own = json_string_value(json_object_get(row, "asked"));
    const char *named = json_string_value(json_object_get(json_object_get(results->root, "run"), "variant"));
    return own ? own : named && strcmp(named, "all") ? named : "";
}

static size_t find_row(const bench_results *results, const char *case_line, const char *asked)
{
    for (size_t i = 0; case_line && i < json_array_size(results->rows); i++) {
        const json_t *row = json_array_get(results->rows, i);
        if (row_is(row, "case", case_line) && !strcmp(asked_of(results, row), asked ? asked : "") &&
            (size_t)json_integer_value(json_object_get(row, "device")) == results->device)
            return i;
    }
    return SIZE_MAX;
}

json_t *bench_results_find(const bench_results *results, const char *case_line, const char *asked)
{
    return json_array_get(results->rows, find_row(results, case_line, asked));
}

// A run that goes on measures a row from its first round on: what has more rounds stays until there are as many.
static bool has_more(const json_t *before, const json_t *row)
{
    return bench_resume_is_whole(before, json_integer_value(json_object_get(row, "rounds")) + 1);
}

// At the end, or where its forerunner is.
static void put_row(bench_results *results, json_t *row, bool at_end)
{
    const size_t at = find_row(results, json_string_value(json_object_get(row, "case")), asked_of(results, row));
    json_object_set_new(row, "device", json_integer((json_int_t)results->device));
    if (at != SIZE_MAX && has_more(json_array_get(results->rows, at), row))
        json_decref(row);
    else if (at != SIZE_MAX && !at_end)
        json_array_set_new(results->rows, at, row);
    else {
        if (at != SIZE_MAX)
            json_array_remove(results->rows, at);
        json_array_append_new(results->rows, row);
    }
}

void bench_results_add(bench_results *results, json_t *row)
{
    put_row(results, row, true);
    bench_results_write(results);
}

void bench_results_note(bench_results *results, json_t *row)
{
    put_row(results, row, false);
    if (bench_now_ns() - results->written_ns >= MOST_WRITING * results->writing_ns)
        bench_results_write(results);
}

size_t bench_results_count(const json_t *rows, const char *state)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(rows); i++)
        count += row_is(json_array_get(rows, i), "state", state);
    return count;
}

const json_t *bench_results_most_scratch(const json_t *rows)
{
    const json_t *most = NULL;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (json_integer_value(json_object_get(row, "workspace")) >
            (most ? json_integer_value(json_object_get(most, "workspace")) : 0))
            most = row;
    }
    return most;
}

json_t *bench_results_of(const json_t *rows, size_t device)
{
    json_t *own = json_array();
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i);
        if ((size_t)json_integer_value(json_object_get(row, "device")) == device)
            json_array_append(own, row);
    }
    return own;
}

void bench_results_memory(bench_results *results, int64_t peak_bytes)
{
    // Beside startup and overhead: the first device's in the document itself.
    json_t *devices = json_object_get(results->root, "devices");
    json_t *rows = bench_results_of(results->rows, results->device);
    json_t *place = results->device ? json_array_get(devices, results->device) : results->root;
    const json_t *before = json_object_get(json_object_get(place, "memory"), "peak_bytes");
    if (before && json_integer_value(before) > peak_bytes)
        peak_bytes = json_integer_value(before);
    const json_t *most = bench_results_most_scratch(rows);
    json_t *scratch = most ? json_pack("{s:O, s:O}", "case", json_object_get(most, "case"), "bytes",
                                       json_object_get(most, "workspace"))
                           : json_null();
    json_object_set_new(place, "memory",
                        json_pack("{s:I, s:o}", "peak_bytes", (json_int_t)peak_bytes, "most_scratch", scratch));
    json_decref(rows);
}

static json_t *summary_of(const json_t *rows)
{
    static const char *const states[] = {"ok",           "unsupported", "skipped", "failed",
                                         "inconclusive", "suspect",     "error",   "timeout"};
    json_t *summary = json_object(), *counts = json_object();
    bench_rival_summary(rows, summary);
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        json_object_set_new(counts, states[i], json_integer((json_int_t)bench_results_count(rows, states[i])));
    json_object_set_new(summary, "counts", counts);
    return summary;
}

// A mean over two devices says nothing: of several, each has its own, and only rows are counted together.
static json_t *summary_of_devices(const json_t *rows, size_t count)
{
    json_t *all = summary_of(rows), *summary = json_object(), *devices = json_array();
    json_object_set(summary, "counts", json_object_get(all, "counts"));
    json_decref(all);
    for (size_t d = 0; d < count; d++) {
        json_t *own = bench_results_of(rows, d);
        json_array_append_new(devices, summary_of(own));
        json_decref(own);
    }
    json_object_set_new(summary, "devices", devices);
    return summary;
}

void bench_results_finish(bench_results *results, bool is_whole)
{
    if (is_whole)
        bench_results_go_on(results);
    if (results->is_untouched && json_object_get(results->root, "finished")) // refused: it stays as it was
        return;
    const size_t devices = json_array_size(json_object_get(results->root, "devices"));
    json_t *summary = devices > 1 ? summary_of_devices(results->rows, devices) : summary_of(results->rows);
    json_t *networks = json_array();
    for (size_t d = 0; d < devices; d++)
        json_array_append_new(networks, bench_networks(results->rows, d));
    json_object_set_new(summary, "networks", networks);
    json_object_set_new(results->root, "summary", summary);
    if (is_whole)
        json_object_set_new(results->root, "finished", bench_host_time());
    bench_results_write(results);
}

void bench_results_free(bench_results *results)
{
    json_decref(results->root);
    bench_claim_drop(&results->claim);
    memset(results, 0, sizeof *results);
}
