// SPDX-License-Identifier: MIT
#include "record/result_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/embedded.h"
#include "common/json.h"
#include "common/stats.h"
#include "common/text.h"
#include "system/input.h"

size_t bench_result_most = (size_t)1 << 30; // of a sweep of several days

// With --variant all a case has several rows, which nothing else tells apart.
void bench_row_name(const json_t *row, char name[BENCH_ROW_NAME])
{
    const char *text = bench_text_of(row, "case"), *asked = bench_text_of(row, "asked");
    snprintf(name, BENCH_ROW_NAME, "%s%s%.80s%s", text, *asked ? " (" : "", asked, *asked ? ")" : "");
}

size_t bench_longest_name(const json_t *document, size_t least)
{
    const json_t *rows = json_object_get(document, "results");
    char name[BENCH_ROW_NAME];
    for (size_t i = 0; i < json_array_size(rows); i++) {
        bench_row_name(json_array_get(rows, i), name);
        least = strlen(name) > least ? strlen(name) : least;
    }
    return least;
}

json_t *bench_result_schema(void)
{
    const char *text = bench_embedded_text("schema/clbench-2.schema.json");
    return text ? json_loads(text, 0, NULL) : NULL;
}

static bool is_true(bench_fault *fault, bool condition, const char *rule)
{
    if (!condition)
        snprintf(fault->rule, sizeof fault->rule, "%s", rule);
    return condition;
}

// ---- what the schema cannot say ----

// Numbers are written with ten digits.
static bool is_about(double a, double b)
{
    return fabs(a - b) <= 1e-8 * fmax(fabs(a), fabs(b));
}

static bool is_at_most(double a, double b)
{
    return a <= b || is_about(a, b);
}

// Of one process the median of all samples; of several the median of their medians, which are of their samples.
static bool check_median(const json_t *time, const json_t *samples, double median, bench_fault *fault)
{
    const json_t *processes = json_object_get(time, "processes");
    const size_t count = json_array_size(samples), parts = json_array_size(processes);
    double *values = calloc(count + 1, sizeof *values), *medians = calloc(parts + 1, sizeof *medians);
    bool good = true;
    size_t at = 0;
    for (size_t i = 0; values && i < count; i++)
        values[i] = json_number_value(json_array_get(samples, i));
    for (size_t i = 0; values && medians && good && i < parts; i++) {
        const json_t *part = json_array_get(processes, i);
        const json_int_t n = json_integer_value(json_object_get(part, "n"));
        good = is_true(fault, n >= 0 && (size_t)n <= count - at, "its processes have more samples than samples_ns");
        medians[i] = good ? bench_median(values + at, (size_t)n) : NAN;
        good = good && is_true(fault, is_about(medians[i], bench_number_of(part, "median_ns")),
                               "a process' median_ns is not the median of its samples");
        at += good ? (size_t)n : 0;
    }
    if (good && values && medians) {
        good = is_true(fault, !parts || at == count, "its processes have fewer samples than samples_ns");
        const double computed = parts > 1 ? bench_median(medians, parts) : bench_median(values, count);
        good = good && is_true(fault, is_about(computed, median), "median_ns is not the median of samples_ns");
    }
    good = good && is_true(fault, values && medians, "host memory does not suffice to check it");
    free(values);
    free(medians);
    return good;
}

static bool check_time(const json_t *time, bench_fault *fault)
{
    const json_t *samples = json_object_get(time, "samples_ns");
    const size_t count = json_array_size(samples);
    static const char *const order[] = {"min_ns", "q1_ns", "median_ns", "q3_ns", "max_ns"};
    double before = 0;
    if (!json_is_object(time))
        return true;
    if (!is_true(fault, (json_int_t)count == json_integer_value(json_object_get(time, "n")),
                 "n is not the number of samples_ns"))
        return false;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const double value = bench_number_of(time, order[i]);
        if (isnan(value)) // max_ns came later
            continue;
        // The median of processes is none of all samples.
        if (i == 2 && json_array_size(json_object_get(time, "processes")) > 1)
            continue;
        if (!is_true(fault, is_at_most(before, value), "minimum, quartiles, median and maximum are out of order"))
            return false;
        before = value;
    }
    const double low = bench_number_of(time, "ci_low_ns"), high = bench_number_of(time, "ci_high_ns"),
                 median = bench_number_of(time, "median_ns");
    if (!is_true(fault, is_at_most(low, median) && is_at_most(median, high),
                 "the median is outside its confidence interval"))
        return false;
    return check_median(time, samples, median, fault);
}

static bool check_times(const json_t *row, bench_fault *fault)
{
    const json_t *all = json_object_get(row, "baselines");
    if (!check_time(json_object_get(row, "time"), fault))
        return false;
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *forms = json_object_get(json_array_get(all, i), "forms");
        for (size_t k = 0; k < json_array_size(forms); k++) {
            if (check_time(json_object_get(json_array_get(forms, k), "time"), fault))
                continue;
            bench_append(fault->place, sizeof fault->place, ".baselines[%zu].forms[%zu]", i, k);
            return false;
        }
    }
    return true;
}

// How many of Husk's samples are of which round: together they are all.
static bool check_sentinels(const json_t *row, bench_fault *fault)
{
    const json_t *sentinels = json_object_get(row, "sentinels");
    json_int_t samples = 0, n = json_integer_value(json_object_get(json_object_get(row, "time"), "n"));
    for (size_t i = 0; i < json_array_size(sentinels); i++) {
        samples += json_integer_value(json_object_get(json_array_get(sentinels, i), "samples"));
        if (samples > n)
            break;
    }
    return is_true(fault, !json_array_size(sentinels) || samples == n,
                   "the samples of its sentinels are not together as many as its n");
}

static bool check_row(const json_t *row, size_t devices, json_t *seen, bench_fault *fault)
{
    char key[BENCH_CASE_TEXT + 256];
    const bool is_ok = !strcmp(bench_text_of(row, "state"), "ok");
    const json_int_t device = json_integer_value(json_object_get(row, "device"));
    snprintf(key, sizeof key, "%lld|%s|%s|%s", (long long)device, bench_text_of(row, "case"),
             bench_text_of(row, "variant"), bench_text_of(row, "temperature"));
    if (!is_true(fault, (size_t)device < devices, "it is of a device that the document does not have") ||
        !is_true(fault, !json_object_get(seen, key), "the same case is there a second time") ||
        !is_true(fault, !is_ok || json_is_object(json_object_get(row, "time")), "its state is ok without a time"))
        return false;
    json_object_set_new(seen, key, json_true());
    return check_times(row, fault) && check_sentinels(row, fault);
}

static bool check_rows(const json_t *document, bench_fault *fault)
{
    const json_t *rows = json_object_get(document, "results"), *all = json_object_get(document, "devices");
    const size_t devices = all ? json_array_size(all) : json_is_object(json_object_get(document, "device"));
    json_t *seen = json_object();
    bool good = seen != NULL;
    for (size_t i = 0; good && i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        snprintf(fault->place, sizeof fault->place, "results[%zu]", i);
        good = check_row(row, devices, seen, fault);
        if (!good)
            bench_append(fault->rule, sizeof fault->rule, " (%.100s)", bench_text_of(row, "case"));
    }
    json_decref(seen);
    return good;
}

// ---- texts ----

static void clean_string(json_t *value)
{
    char *copy = bench_copy_text(json_string_value(value));
    if (!copy)
        return;
    bench_clean_line(copy);
    if (strcmp(copy, json_string_value(value)) != 0)
        json_string_set(value, copy);
    free(copy);
}

static void clean_texts(json_t *value)
{
    const char *key;
    json_t *member;
    if (json_is_string(value))
        clean_string(value);
    for (size_t i = 0; i < json_array_size(value); i++)
        clean_texts(json_array_get(value, i));
    json_object_foreach(value, key, member) clean_texts(member);
}

// ---- the schema before ----

#define NAME_IN_1 "mistrusted" // the state that clbench/2 calls inconclusive; nothing else differs

static void rename_state(json_t *object)
{
    if (!strcmp(bench_text_of(object, "state"), NAME_IN_1))
        json_object_set_new(object, "state", json_string("inconclusive"));
}

// A document of schema clbench/1 becomes one of clbench/2. What lacks memory is refused as the wrong schema.
static void upgrade(json_t *document)
{
    json_t *counts = json_object_get(json_object_get(document, "summary"), "counts");
    json_t *count = json_object_get(counts, NAME_IN_1), *row, *baseline, *form;
    size_t i, j, k;
    if (strcmp(bench_text_of(document, "schema"), "clbench/1"))
        return;
    json_array_foreach(json_object_get(document, "results"), i, row)
    {
        rename_state(row);
        json_array_foreach(json_object_get(row, "baselines"), j, baseline)
        {
            rename_state(baseline);
            json_array_foreach(json_object_get(baseline, "forms"), k, form) rename_state(form);
        }
    }
    if (count && !json_object_set(counts, "inconclusive", count))
        json_object_del(counts, NAME_IN_1);
    json_object_set_new(document, "schema", json_string("clbench/2"));
}

// ---- files ----

bool bench_result_fits(FILE *file)
{
    const long size = ftell(file); // negative: a pipe
    return size < 0 || (size_t)size <= bench_result_most;
}

bool bench_result_check_by(const json_t *schema, json_t *document, const char *name, char reason[BENCH_REASON_TEXT])
{
    bench_fault fault = {0};
    const bool is_ours = json_is_string(json_object_get(document, "schema"));
    bool good = schema != NULL;
    if (!schema)
        snprintf(fault.rule, sizeof fault.rule, "host memory does not suffice");
    else if (!is_ours)
        snprintf(fault.rule, sizeof fault.rule, "it is no result of clbench: it names no schema");
    if (is_ours)
        upgrade(document);
    good = good && is_ours && bench_schema_check(schema, document, &fault);
    if (good) {
        clean_texts(document);
        good = check_rows(document, &fault);
    }
    if (!good)
        bench_explain(reason, BENCH_REASON_TEXT, "%.300s: %s%s%s", name, fault.place, fault.place[0] ? ": " : "",
                      fault.rule);
    if (!good) // it quotes the file
        bench_clean_line(reason);
    return good;
}

bool bench_result_check(json_t *document, const char *name, char reason[BENCH_REASON_TEXT])
{
    json_t *schema = bench_result_schema();
    const bool good = bench_result_check_by(schema, document, name, reason);
    json_decref(schema);
    return good;
}

json_t *bench_result_parse(const json_t *schema, const char *text, size_t size, const char *name,
                           char reason[BENCH_REASON_TEXT])
{
    json_error_t error;
    const char *begin = bench_input_text(text, size);
    json_t *document = json_loadb(begin, size - (size_t)(begin - text), JSON_REJECT_DUPLICATES, &error);
    if (!document) {
        bench_clean_line(error.text);
        bench_explain(reason, BENCH_REASON_TEXT, "%.300s: line %d, column %d: no JSON: %s", name, error.line,
                      error.column, error.text);
        return NULL;
    }
    if (bench_result_check_by(schema, document, name, reason))
        return document;
    json_decref(document);
    return NULL;
}

json_t *bench_result_read(const char *path, char reason[BENCH_REASON_TEXT])
{
    size_t size;
    char *text = bench_input_read(path, bench_result_most, &size, reason);
    if (!text)
        return NULL;
    json_t *schema = bench_result_schema();
    json_t *document = bench_result_parse(schema, text, size, path, reason);
    json_decref(schema);
    free(text);
    return document;
}
