// SPDX-License-Identifier: MIT
// Measured peaks in words.
#include "measure/peaks_show.h"

#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "system/terminal.h"
#include "worker/peaks.h"

static void add_number(char *text, size_t size, const char *before, double value, const char *after)
{
    bench_append(text, size, "%s", text[0] ? ", " : "");
    bench_append(text, size, "%s%.*f%s", before, value < 10 ? 2 : value < 100 ? 1 : 0, value, after);
}

static void print_line(const char *indent, const char *name, const char *text)
{
    if (text[0])
        bench_print((int)strlen(indent) + 13, "%s%-12s %s\n", indent, name, text);
}

static void print_arithmetic(const bench_peaks *peaks, const char *indent)
{
    char text[400] = "";
    add_number(text, sizeof text, "f32 ", peaks->fma_gflops, " GFLOP/s");
    for (int i = 0; i < BENCH_ARITHMETICS; i++) {
        char name[16];
        snprintf(name, sizeof name, "%s ", bench_arithmetic_name((bench_arithmetic)i));
        if (peaks->arithmetic[i] > 0)
            add_number(text, sizeof text, name, peaks->arithmetic[i], i == BENCH_PEAK_I8 ? " Gop/s" : "");
    }
    print_line(indent, "arithmetic", text);
    text[0] = '\0';
    for (int i = 0; i < peaks->engine_count; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s %s at least ", peaks->engines[i].name, peaks->engines[i].dtype);
        add_number(text, sizeof text, name, peaks->engines[i].gflops, " GFLOP/s");
    }
    print_line(indent, "engines", text);
}

static void print_bandwidth(const bench_peaks *peaks, const char *indent)
{
    char text[400] = "";
    for (int i = 0; i < peaks->copy_count; i++) {
        char bytes[32];
        bench_format_bytes(peaks->copy[i].bytes, bytes, sizeof bytes);
        bench_append(bytes, sizeof bytes, " ");
        add_number(text, sizeof text, bytes, peaks->copy[i].gbytes_per_s, i ? "" : " GB/s");
    }
    if (peaks->local_gbytes_per_s > 0)
        add_number(text, sizeof text, "local memory ", peaks->local_gbytes_per_s, "");
    print_line(indent, "bandwidth", text);
}

static void print_transfers(const bench_peaks *peaks, const char *indent)
{
    static const char *const names[BENCH_TRANSFERS] = {"to the device ", "pinned ", "from the device ", "pinned "};
    char text[400] = "";
    for (int i = 0; i < BENCH_TRANSFERS; i++) {
        if (peaks->transfers[i] > 0)
            add_number(text, sizeof text, names[i], peaks->transfers[i], text[0] ? "" : " GB/s");
    }
    print_line(indent, "transfers", text);
}

void bench_print_peaks(const bench_peaks *peaks, const char *indent)
{
    char launch[32], trip[32], text[128];
    print_arithmetic(peaks, indent);
    print_bandwidth(peaks, indent);
    print_transfers(peaks, indent);
    bench_format_ns(peaks->launch_ns, launch, sizeof launch);
    bench_format_ns(peaks->round_trip_ns, trip, sizeof trip);
    snprintf(text, sizeof text, "a launch %s, an empty queue and back %s", launch, trip);
    print_line(indent, "waiting", text);
}
