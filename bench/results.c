// SPDX-License-Identifier: MIT
#include "results.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host.h"

bool bench_results_begin(bench_results *results, const char *path)
{
    memset(results, 0, sizeof *results);
    results->path = path;
    results->root = json_object();
    results->rows = json_array();
    json_object_set_new(results->root, "schema", json_string("clbench/1"));
    json_object_set_new(results->root, "husk_version", json_string(husk_version()));
    json_object_set_new(results->root, "started", bench_host_time());
    json_object_set_new(results->root, "host", bench_host_json());
    json_object_set_new(results->root, "device", json_null());
    json_object_set_new(results->root, "timer", json_null());
    json_object_set_new(results->root, "results", results->rows);
    json_object_set_new(results->root, "summary", json_object());
    bench_results_write(results);
    return !results->failed;
}

static bool is_regular(const char *path)
{
    struct stat about;
    return strncmp(path, "/dev/", 5) && (stat(path, &about) != 0 || S_ISREG(about.st_mode));
}

void bench_results_write(bench_results *results)
{
    if (!results->path || results->failed)
        return;
    char temporary[4096];
    bool replace = is_regular(results->path); // not /dev/stdout or a pipe: those get it once, at the end
    if (!replace && !json_object_size(json_object_get(results->root, "summary")))
        return;
    snprintf(temporary, sizeof temporary, "%.4000s%s", results->path, replace ? ".part" : "");
    FILE *file = fopen(temporary, "w");
    bool good = file && json_dumpf(results->root, file, JSON_INDENT(1) | JSON_REAL_PRECISION(10)) == 0 &&
                fputc('\n', file) != EOF;
    good = file && fclose(file) == 0 && good;
    if (good && replace)
        good = rename(temporary, results->path) == 0;
    if (!good) {
        results->failed = true;
        fprintf(stderr, "clbench: %s could not be written: %s\n", results->path, strerror(errno));
        if (replace)
            unlink(temporary);
    }
}

void bench_results_device(bench_results *results, json_t *device, json_t *timer)
{
    json_t *devices = json_object_get(results->root, "devices");
    if (!devices) {
        json_object_set_new(results->root, "devices", json_array());
        devices = json_object_get(results->root, "devices");
        json_object_set(results->root, "device", device);
        json_object_set(results->root, "timer", timer);
    }
    json_array_append_new(devices, device);
    json_decref(timer);
}

void bench_results_add(bench_results *results, json_t *row)
{
    size_t devices = json_array_size(json_object_get(results->root, "devices"));
    json_object_set_new(row, "device", json_integer(devices ? (json_int_t)devices - 1 : 0));
    json_array_append_new(results->rows, row);
    bench_results_write(results);
}

static bool row_is(const json_t *row, const char *key, const char *wanted)
{
    const char *value = json_string_value(json_object_get(row, key));
    return value && !strcmp(value, wanted);
}

size_t bench_results_count(const json_t *rows, const char *state)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(rows); i++)
        count += row_is(json_array_get(rows, i), "state", state);
    return count;
}

double bench_results_geomean(const json_t *rows, const char *baseline, const char *op, size_t *count)
{
    size_t total = json_array_size(rows), used = 0;
    double *ratios = calloc(total + 1, sizeof *ratios);
    for (size_t i = 0; ratios && i < total; i++) {
        const json_t *row = json_array_get(rows, i), *all = json_object_get(row, "baselines");
        if (!row_is(row, "state", "ok") || (op && !row_is(row, "op", op)))
            continue;
        for (size_t k = 0; k < json_array_size(all); k++) {
            const json_t *b = json_array_get(all, k), *speedup = json_object_get(b, "speedup");
            if (row_is(b, "name", baseline) && json_is_number(speedup))
                ratios[used++] = json_number_value(speedup);
        }
    }
    double mean = bench_geometric_mean(ratios, used);
    free(ratios);
    if (count)
        *count = used;
    return mean;
}

// The names of all baselines in the rows, in the order of their first appearance.
static json_t *baseline_names(const json_t *rows)
{
    json_t *names = json_object();
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *all = json_object_get(json_array_get(rows, i), "baselines");
        for (size_t k = 0; k < json_array_size(all); k++) {
            const char *name = json_string_value(json_object_get(json_array_get(all, k), "name"));
            if (name)
                json_object_set_new(names, name, json_true());
        }
    }
    return names;
}

static void put_mean(json_t *object, const char *key, double mean)
{
    if (isfinite(mean))
        json_object_set_new(object, key, json_real(mean));
}

void bench_results_finish(bench_results *results)
{
    static const char *const states[] = {"ok",         "unsupported", "skipped", "failed",
                                         "mistrusted", "suspect",     "error",   "timeout"};
    json_t *summary = json_object_get(results->root, "summary");
    json_t *means = json_object(), *by_op = json_object(), *counts = json_object();
    json_t *names = baseline_names(results->rows);
    const char *name;
    json_t *ignored;
    json_object_foreach(names, name, ignored)
    {
        put_mean(means, name, bench_results_geomean(results->rows, name, NULL, NULL));
        for (int op = 0; op < BENCH_OP_COUNT; op++) {
            const char *op_name = bench_op_text((bench_op_kind)op);
            double mean = bench_results_geomean(results->rows, name, op_name, NULL);
            if (!isfinite(mean))
                continue;
            if (!json_object_get(by_op, op_name))
                json_object_set_new(by_op, op_name, json_object());
            put_mean(json_object_get(by_op, op_name), name, mean);
        }
    }
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        json_object_set_new(counts, states[i],
                            json_integer((json_int_t)bench_results_count(results->rows, states[i])));
    json_object_set_new(summary, "geomean_speedup", means);
    json_object_set_new(summary, "geomean_speedup_by_op", by_op);
    json_object_set_new(summary, "counts", counts);
    json_object_set_new(results->root, "finished", bench_host_time());
    json_decref(names);
    bench_results_write(results);
}

void bench_results_free(bench_results *results)
{
    json_decref(results->root);
    memset(results, 0, sizeof *results);
}
