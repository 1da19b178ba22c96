// SPDX-License-Identifier: MIT
// What a result says, as points under the roofs.
#include "report/roofline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "record/result_file.h"

// What a logarithmic axis has a place for beside what was measured.
static bool is_plottable(double value)
{
    return value >= 1e-15 && value <= 1e18;
}

static void add_roof(bench_roofline *r, const json_t *copy)
{
    char size[32];
    const double bandwidth = bench_number_of(copy, "gbytes_per_s");
    // One that is hardly lower than the one before says nothing of its own.
    if (!is_plottable(bandwidth) || (r->roof_count && bandwidth > 0.85 * r->roofs[r->roof_count - 1].gbytes_per_s))
        return;
    bench_format_bytes(bench_number_of(copy, "bytes"), size, sizeof size);
    r->roofs[r->roof_count].gbytes_per_s = bandwidth;
    snprintf(r->roofs[r->roof_count++].name, sizeof r->roofs->name, "memory, %s: %.0f GB/s", size, bandwidth);
}

// The fastest bandwidth, the largest working set, and one in between where it differs from both.
static bool take_peaks(const json_t *peaks, bench_roofline *r, char reason[BENCH_REASON_TEXT])
{
    const json_t *all = json_object_get(peaks, "copy"), *fastest = NULL;
    const size_t count = json_array_size(all);
    r->fma_gflops = bench_number_of(peaks, "fma_gflops");
    if (!is_plottable(r->fma_gflops) || count == 0)
        return bench_explain(reason, BENCH_REASON_TEXT, "it has no measured peaks (device.peaks)");
    for (size_t i = 0; i < count; i++)
        if (!fastest ||
            bench_number_of(json_array_get(all, i), "gbytes_per_s") > bench_number_of(fastest, "gbytes_per_s"))
            fastest = json_array_get(all, i);
    add_roof(r, fastest);
    if (count > 2)
        add_roof(r, json_array_get(all, count - 3));
    add_roof(r, json_array_get(all, count - 1));
    if (r->roof_count == 0)
        return bench_explain(reason, BENCH_REASON_TEXT, "its measured peaks are no numbers (device.peaks.copy)");
    return true;
}

static int series_of(const char *op)
{
    for (int i = 0; i < BENCH_OP_COUNT; i++)
        if (!strcmp(bench_op_text((bench_op_kind)i), op))
            return i;
    return BENCH_OP_COUNT;
}

// Rows of the first device that are right and have everything that a point needs.
static void take_row(const json_t *row, bench_roofline *r)
{
    const double flops = bench_number_of(row, "executed_flops"), bytes = bench_number_of(row, "bytes"),
                 median = bench_number_of(json_object_get(row, "time"), "median_ns");
    if (strcmp(bench_text_of(row, "state"), "ok") || json_integer_value(json_object_get(row, "device")) != 0 ||
        !(flops > 0) || !is_plottable(flops / bytes) || !is_plottable(flops / median))
        return;
    r->points[r->count++] = (bench_roofline_point){
        .text = bench_text_of(row, "case"),
        .op = bench_text_of(row, "op"),
        .variant = bench_text_of(row, "variant"),
        .series = series_of(bench_text_of(row, "op")),
        .intensity = flops / bytes,
        .gflops = flops / median,
        .percent = bench_number_of(row, "percent_of_peak"),
        .median_ns = median,
    };
}

bool bench_roofline_make(const json_t *document, bench_roofline *r, char reason[BENCH_REASON_TEXT])
{
    memset(r, 0, sizeof *r);
    const json_t *rows = json_object_get(document, "results"), *device = json_object_get(document, "device");
    if (strcmp(bench_text_of(document, "schema"), "clbench/2"))
        return bench_explain(reason, BENCH_REASON_TEXT, "it is no result of clbench (schema clbench/2)");
    if (!take_peaks(json_object_get(device, "peaks"), r, reason))
        return false;
    r->points = calloc(json_array_size(rows) + 1, sizeof *r->points);
    if (!r->points)
        return bench_explain(reason, BENCH_REASON_TEXT, "host memory does not suffice");
    for (size_t i = 0; i < json_array_size(rows); i++)
        take_row(json_array_get(rows, i), r);
    if (r->count == 0) {
        bench_roofline_free(r);
        return bench_explain(reason, BENCH_REASON_TEXT, "it has no case that is right and was timed");
    }
    snprintf(r->id, sizeof r->id, "title");
    snprintf(r->title, sizeof r->title, "%s", bench_text_of(device, "name"));
    snprintf(r->subtitle, sizeof r->subtitle, "Husk %s on %.80s %.60s, %.10s: %zu case%s",
             bench_text_of(document, "husk_version"), bench_text_of(device, "platform"),
             bench_text_of(device, "driver"), bench_text_of(document, "started"), r->count, r->count == 1 ? "" : "s");
    return true;
}

void bench_roofline_free(bench_roofline *r)
{
    free(r->points);
    r->points = NULL;
    r->count = 0;
}
