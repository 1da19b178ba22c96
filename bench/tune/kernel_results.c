// SPDX-License-Identifier: MIT
#include "tune/kernel_results.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <husk/husk.h>
#include <husk/version.h>

#include "common/json.h"
#include "system/host.h"

static json_t *number(double value)
{
    return isfinite(value) && value > 0 ? json_real(value) : json_null();
}

static json_t *text_or_null(const char *text)
{
    json_t *value = text && *text ? json_string(text) : NULL;
    return value ? value : json_null();
}

// ---- ours ----

json_t *bench_kernel_results_begin(void)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:[], s:[]}", "schema", "clbench-tune/1", "husk_version", husk_version(),
                     "measured", bench_host_time(), "host", bench_host_json(), "devices", "results");
}

void bench_kernel_results_device(json_t *results, const json_t *device)
{
    const json_t *traits = json_object_get(device, "traits");
    json_array_append_new(json_object_get(results, "devices"),
                          json_pack("{s:s, s:s, s:s, s:s}", "name", bench_text_of(device, "name"), "platform",
                                    bench_text_of(device, "platform"), "driver",
                                    bench_text_of(traits, "driver_version"), "class", bench_text_of(traits, "class")));
}

static json_t *configuration_json(const bench_tried *tried)
{
    return json_pack("{s:O, s:s, s:s, s:o, s:o, s:o, s:o, s:b}", "configuration",
                     json_object_get(tried->kernel, "values"), "options", bench_text_of(tried->kernel, "options"),
                     "state", tried->state == BENCH_STATE_SKIPPED ? "not reached" : bench_state_text(tried->state),
                     "reason", text_or_null(tried->reason), "median_ns", number(tried->median_ns), "ci_low_ns",
                     number(tried->low_ns), "ci_high_ns", number(tried->high_ns), "is_finalist", tried->is_finalist);
}

void bench_kernel_results_add(json_t *results, const bench_kernel_race *race)
{
    const json_t *kernel = race->entries[0].kernel;
    json_t *configurations = json_array(), *as_fast = json_array();
    for (size_t i = 0; i < race->count; i++)
        json_array_append_new(configurations, configuration_json(&race->tried[i]));
    for (size_t i = 1; i <= race->as_fast; i++)
        json_array_append(as_fast, json_object_get(race->tried[race->order[i]].kernel, "values"));
    json_t *best = race->finalists ? configuration_json(&race->tried[race->order[0]]) : json_null();
    const size_t device = json_array_size(json_object_get(results, "devices")) - 1;
    json_array_append_new(json_object_get(results, "results"),
                          json_pack("{s:I, s:O, s:O, s:O, s:b, s:o, s:o, s:o}", "device", (json_int_t)device, "kernel",
                                    json_object_get(kernel, "name"), "path", json_object_get(kernel, "path"), "sizes",
                                    json_object_get(kernel, "sizes"), "compares",
                                    json_is_true(json_object_get(kernel, "compares")), "best", best, "as_fast", as_fast,
                                    "configurations", configurations));
}

// ---- T4 ----

static const char *invalidity_of(const bench_tried *tried)
{
    switch (tried->state) {
    case BENCH_STATE_OK:
        return "correct";
    case BENCH_STATE_FAILED:
    case BENCH_STATE_INCONCLUSIVE:
        return "correctness";
    case BENCH_STATE_TIMEOUT:
        return "timeout";
    case BENCH_STATE_UNSUPPORTED:
        return "constraints";
    default:
        return strcmp(tried->stage, "compile") ? "runtime" : "compile";
    }
}

static json_t *milliseconds(const json_t *ns)
{
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(ns); i++)
        json_array_append_new(list, json_real(json_number_value(json_array_get(ns, i)) * 1e-6));
    return list;
}

static json_t *t4_result(const bench_tried *tried)
{
    const bool is_right = tried->state == BENCH_STATE_OK;
    json_t *times =
        json_pack("{s:f, s:o}", "compilation_time", tried->build_ns * 1e-6, "runtimes", milliseconds(tried->samples));
    json_t *measurements = json_array();
    if (is_right)
        json_array_append_new(
            measurements, json_pack("{s:s, s:f, s:s}", "name", "time", "value", tried->median_ns * 1e-6, "unit", "ms"));
    return json_pack("{s:s, s:O, s:[s], s:o, s:s, s:i, s:o}", "timestamp", tried->at, "configuration",
                     json_object_get(tried->kernel, "values"), "objectives", "time", "times", times, "invalidity",
                     invalidity_of(tried), "correctness", is_right ? 1 : 0, "measurements", measurements);
}

json_t *bench_kernel_results_t4(const bench_kernel_race *race)
{
    json_t *results = json_array();
    for (size_t i = 0; i < race->count; i++) {
        if (race->tried[i].state != BENCH_STATE_SKIPPED)
            json_array_append_new(results, t4_result(&race->tried[i]));
    }
    return json_pack("{s:s, s:o}", "schema_version", "1.0.0", "results", results);
}
