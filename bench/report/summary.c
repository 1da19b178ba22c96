// SPDX-License-Identifier: MIT
#include "report/summary.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/stats.h"
#include "common/text.h"
#include "measure/peaks_show.h"
#include "measure/plausible.h"
#include "system/output.h"
#include "system/terminal.h"
#include "record/network.h"
#include "record/result_file.h"
#include "record/rival.h"
#include "report/nearness.h"

static const char *string_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "unknown";
}

void bench_print_device(const json_t *device, const bench_peaks *peaks, int threads)
{
    const json_t *traits = json_object_get(device, "traits");
    bench_print(2, "%s%s%s (%s; %s, driver %s)\n", bench_colour_on(BENCH_STRONG), string_of(device, "name"),
                bench_colour_off(), string_of(traits, "class"), string_of(device, "platform"),
                string_of(device, "driver"));
    if (peaks->copy_count)
        bench_print(
            2,
            "measured peaks: %.0f GFLOP/s f32; memory %.0f GB/s in the nearest cache, %.1f GB/s beyond all caches; "
            "a launch takes %.0f us\n",
            peaks->fma_gflops, bench_peaks_largest_bandwidth(peaks), peaks->copy[peaks->copy_count - 1].gbytes_per_s,
            peaks->launch_ns * 1e-3);
    if (peaks->local_gbytes_per_s > 0) // not with --quick
        bench_print_peaks(peaks, "  ");
    if (!peaks->copy_count)
        printf("timer: wall clock\n");
    else if (peaks->trust_ratio <= 0)
        printf("timer: wall clock; the device times no events\n");
    else if (peaks->trust_ratio < 0.8 || peaks->trust_ratio > 1.25)
        bench_print(2,
                    "timer: wall clock; events are not to be trusted: they say %.2f times what the wall clock says\n",
                    peaks->trust_ratio);
    else
        printf("timer: wall clock; events agree (%.2f)\n", peaks->trust_ratio);
    if (!json_is_true(json_object_get(traits, "is_cpu")))
        printf("Transfers between host and device are not in the times.\n");
    printf("CPU baselines run on %d thread%s\n", threads, threads == 1 ? "" : "s");
    fflush(stdout);
}

static void print_start(const char *name, const json_t *start)
{
    char open[32], warm[32];
    if (!json_is_object(start)) {
        printf("%s: could not be measured\n", name);
        return;
    }
    bench_format_ns(json_number_value(json_object_get(start, "open_ns")), open, sizeof open);
    bench_format_ns(json_number_value(json_object_get(start, "prewarm_ns")), warm, sizeof warm);
    bench_print(4, "%s: context %s, every operator prewarmed %s (%lld programs)\n", name, open, warm,
                (long long)(json_integer_value(json_object_get(start, "builds")) +
                            json_integer_value(json_object_get(start, "cache_loads"))));
    const json_t *first = json_object_get(start, "first");
    bench_format_ns(json_number_value(json_object_get(first, "gemm_ns")), open, sizeof open);
    bench_format_ns(json_number_value(json_object_get(first, "conv_ns")), warm, sizeof warm);
    if (first)
        bench_print(8, "    instead, the first result on the host, context included: gemm %s, conv %s\n", open, warm);
}

void bench_print_startup(const json_t *startup)
{
    putchar('\n');
    print_start("start with warm caches", json_object_get(startup, "warm"));
    print_start("start with empty caches", json_object_get(startup, "cold"));
}

#define MEMORY_DRIFT 0.15 // what copying moves by itself

static void print_limits(const bench_results *results)
{
    const bench_nearness near = bench_nearness_of(results->root, results->rows);
    static const struct {
        bench_place place;
        const char *text;
    } by_place[] = {{BENCH_IN_CACHES, "the data lie in caches"},
                    {BENCH_IN_MEMORY, "they do not"},
                    {BENCH_NOT_TOLD, "the driver does not tell"}};
    const size_t *count = near.count;
    char text[400] = "";
    if (count[BENCH_BY_ARITHMETIC])
        bench_print(2, "Where arithmetic is the limit, %.0f%% of the measured peak is reached (median of %zu).\n",
                    near.median[BENCH_BY_ARITHMETIC], count[BENCH_BY_ARITHMETIC]);
    for (size_t i = 0; i < sizeof by_place / sizeof *by_place; i++) {
        const bench_place place = by_place[i].place;
        if (count[place])
            bench_append(text, sizeof text, "%s%.0f%% where %s (median of %zu)", text[0] ? ", " : "",
                         near.median[place], by_place[i].text, count[place]);
    }
    if (text[0])
        bench_print(2, "Where memory is the limit, of what copying or reading as much data reaches: %s.\n", text);
    const size_t launches = count[BENCH_BY_LAUNCH];
    if (launches)
        bench_print(2, "%zu case%s not counted there: %s data move in less time than a launch takes (%.0f us).\n",
                    launches, launches == 1 ? " is" : "s are", launches == 1 ? "its" : "their", near.launch_ns * 1e-3);
}

static void print_counts(const json_t *rows)
{
    size_t total = json_array_size(rows), right = bench_results_count(rows, "ok");
    size_t wrong = bench_results_count(rows, "failed");
    static const char *const others[][2] = {
        {"unsupported", "not supported"},    {"skipped", "skipped"},
        {"inconclusive", "proving nothing"}, {"suspect", "faster than the device can be"},
        {"error", "ended with an error"},    {"timeout", "not finished in time"},
    };
    char text[400] = "";
    if (wrong)
        bench_append(text, sizeof text, "%s%zu of %zu results are WRONG.%s", bench_colour_on(BENCH_BAD), wrong, total,
                     bench_colour_off());
    else if (right == total)
        bench_append(text, sizeof text, "All %zu results are right.", total);
    else
        bench_append(text, sizeof text, "%zu of %zu results are right, none is wrong.", right, total);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        size_t count = bench_results_count(rows, others[i][0]);
        if (count)
            bench_append(text, sizeof text, " %zu %s.", count, others[i][1]);
    }
    bench_print(2, "%s\n", text);
}

static void print_rival(const json_t *rows, const char *name, const char *words)
{
    size_t count = 0;
    double mean = bench_rival_geomean(rows, name, NULL, &count);
    char text[2000] = "";
    if (mean >= 1)
        bench_append(text, sizeof text, "%.2f times as fast as %s", mean, words);
    else
        bench_append(text, sizeof text, "%c%s is %.2f times as fast", name == words ? *words : toupper(*words),
                     words + 1, 1 / mean);
    bench_append(text, sizeof text, " (geometric mean of %zu case%s; ", count, count == 1 ? "" : "s");
    bool first = true;
    for (int op = 0; op < BENCH_OP_COUNT; op++) {
        const char *op_name = bench_op_text((bench_op_kind)op);
        double by_op = bench_rival_geomean(rows, name, op_name, &count);
        if (isnan(by_op))
            continue;
        bench_append(text, sizeof text, "%s%zu %s %.2f", first ? "" : ", ", count, op_name, by_op);
        first = false;
    }
    bench_print(2, "%s).\n", text);
}

static void print_rivals(const json_t *rows)
{
    json_t *names = bench_rival_names(rows), *ignored;
    const char *name, *who = NULL;
    size_t rivals = 0;
    double worst;
    json_object_foreach(names, name, ignored)
    {
        rivals += strcmp(name, "ref") != 0;
        if (!isnan(bench_rival_geomean(rows, name, NULL, NULL)))
            print_rival(rows, name, name);
    }
    json_decref(names);
    if (rivals > 1 && !isnan(bench_rival_geomean(rows, BENCH_BEST, NULL, NULL)))
        print_rival(rows, BENCH_BEST, "the fastest rival of each case");
    const json_t *row = bench_rival_worst(rows, &worst, &who);
    char what[BENCH_ROW_NAME];
    bench_row_name(row, what);
    if (row && worst < 1) // never rounded to our favour
        bench_print(2, "Worst: %s, %.4g times slower than %s.\n", what, ceil(100 / worst) / 100, who);
    else if (row)
        bench_print(2, "No case is slower than its fastest rival; the nearest: %s, %.4g times as fast as %s.\n", what,
                    floor(100 * worst) / 100, who);
    bench_rival_forms forms = bench_rival_winograd(rows);
    if (forms.count)
        bench_print(
            2,
            "3x3 convolutions with stride 1 in high precision (%zu): %.2f times as fast as onednn's own choice (auto), "
            "%.2f against the faster of auto and its Winograd.\n",
            forms.count, forms.automatic, forms.fastest);
}

static void print_memory(const json_t *memory)
{
    char peak[32], scratch[32], text[BENCH_CASE_TEXT + 200] = "";
    const json_t *most = json_object_get(memory, "most_scratch");
    if (!memory)
        return;
    bench_format_bytes(json_number_value(json_object_get(memory, "peak_bytes")), peak, sizeof peak);
    bench_format_bytes(json_number_value(json_object_get(most, "bytes")), scratch, sizeof scratch);
    if (json_is_object(most))
        snprintf(text, sizeof text, "; the most scratch for one case %s (%s)", scratch, string_of(most, "case"));
    bench_print(2, "Device memory: at most %s at once%s.\n", peak, text);
}

// By how much the processes that measured a case differ: what another run may be off by.
static void print_processes(const json_t *rows)
{
    double *spreads = calloc(json_array_size(rows) + 1, sizeof *spreads);
    size_t count = 0, divided = 0, most = 0;
    for (size_t i = 0; spreads && i < json_array_size(rows); i++) {
        const json_t *time = json_object_get(json_array_get(rows, i), "time");
        const double between = bench_number_of(time, "between");
        const size_t processes = json_array_size(json_object_get(time, "processes"));
        if (isnan(between))
            continue;
        most = processes > most ? processes : most;
        divided += json_is_array(json_object_get(time, "speeds_ns"));
        spreads[count++] = between;
    }
    bench_median(spreads, spreads ? count : 0); // sorts
    if (spreads && count) {
        bench_print(2,
                    "Measured by %zu processes each: their medians deviate by %.1f%% in the middle case, by %.1f%% in "
                    "one of ten.\n",
                    most, 100 * bench_quantile(spreads, count, 0.5), 100 * bench_quantile(spreads, count, 0.9));
        if (divided)
            bench_print(2, "%s%zu case%s more than one speed: the median is not all there is to know.%s\n",
                        bench_colour_on(BENCH_WARN), divided, divided == 1 ? " has" : "s have", bench_colour_off());
    }
    free(spreads);
}

void bench_print_verdict(const bench_results *results, double budget, bool was_cut, double drift, double memory_drift)
{
    const json_t *rows = results->rows;
    if (!json_array_size(rows))
        return;
    putchar('\n');
    print_counts(rows);
    print_limits(results);
    print_rivals(rows);
    const size_t device = (size_t)json_integer_value(json_object_get(json_array_get(rows, 0), "device"));
    json_t *networks = bench_networks(rows, device);
    bench_networks_print(networks, stdout);
    json_decref(networks);
    const json_t *devices = json_object_get(results->root, "devices");
    print_memory(json_object_get(device ? json_array_get(devices, device) : results->root, "memory"));
    print_processes(rows);
    if (fabs(drift) > BENCH_SAID_DRIFT)
        bench_print(2, "The machine's speed changed by up to %.0f%% during the run: other work, or throttling.\n",
                    100 * fabs(drift));
    if (memory_drift > MEMORY_DRIFT)
        bench_print(2, "Its memory was up to %.0f%% slower at times: other work uses it.\n",
                    100 * (1 - 1 / (1 + memory_drift)));
    if (was_cut)
        bench_print(2, "Measurements were cut short to keep within %.0f s: --budget 0 takes the time they need.\n",
                    budget);
    if (results->path && !bench_output_is_stream(results->path))
        bench_print(2, "Everything, samples included, is in %s.\n", results->path);
    fflush(stdout);
}
