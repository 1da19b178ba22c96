// SPDX-License-Identifier: MIT
#include "report/nearness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/stats.h"
#include "compare/devices.h"
#include "measure/plausible.h"

typedef struct limits {
    double launch_ns, cache_bytes; // 0: not known
    double most_cache_bytes;       // what the last level has at most
} limits;

static limits limits_of(const json_t *root, const json_t *row)
{
    const json_t *device = bench_device_of(root, (size_t)json_integer_value(json_object_get(row, "device")));
    const json_t *peaks = json_object_get(device, "peaks"), *traits = json_object_get(device, "traits");
    const double host = json_number_value(json_object_get(json_object_get(root, "host"), "cache"));
    const double own = json_number_value(json_object_get(traits, "global_cache"));
    // Of GPUs drivers name the first level, and whether an integrated one shares the host's is not known.
    const double most = bench_last_level_cache(device, host);
    const bool is_cpu = json_is_true(json_object_get(traits, "is_cpu"));
    return (limits){json_number_value(json_object_get(peaks, "launch_ns")), is_cpu ? most : own, most};
}

// The best time that memory allows a row is its percentage of the median: where a launch takes longer, the row says
// nothing about memory.
static bench_place place_of(const json_t *row, const limits *l)
{
    const double percent = json_number_value(json_object_get(row, "percent_of_peak"));
    const double median = json_number_value(json_object_get(json_object_get(row, "time"), "median_ns"));
    if (strcmp(bench_text_of(row, "bound_by"), "memory") != 0)
        return BENCH_BY_ARITHMETIC;
    if (percent / 100 * median < l->launch_ns)
        return BENCH_BY_LAUNCH;
    const double bytes =
        fmax(json_number_value(json_object_get(row, "working_set")), json_number_value(json_object_get(row, "bytes")));
    if (bytes <= l->cache_bytes)
        return BENCH_IN_CACHES;
    return bytes <= l->most_cache_bytes ? BENCH_NOT_TOLD : BENCH_IN_MEMORY;
}

static bool counts(const json_t *row)
{
    return json_is_number(json_object_get(row, "percent_of_peak")) && !strcmp(bench_text_of(row, "state"), "ok");
}

bench_nearness bench_nearness_of(const json_t *root, const json_t *rows)
{
    bench_nearness near = {.launch_ns = limits_of(root, json_array_get(rows, 0)).launch_ns};
    double *values = calloc(json_array_size(rows) + 1, sizeof *values);
    for (int place = 0; place < BENCH_PLACES; place++) {
        for (size_t i = 0; values && i < json_array_size(rows); i++) {
            const json_t *row = json_array_get(rows, i);
            const limits l = limits_of(root, row);
            if (counts(row) && place_of(row, &l) == (bench_place)place)
                values[near.count[place]++] = json_number_value(json_object_get(row, "percent_of_peak"));
        }
        near.median[place] = near.count[place] ? bench_median(values, near.count[place]) : NAN;
    }
    free(values);
    return near;
}
