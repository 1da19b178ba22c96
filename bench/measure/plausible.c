// SPDX-License-Identifier: MIT
// How near a row comes to what the device can do, and whether that can be true.
#include "measure/plausible.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cases/size.h"

double bench_peaks_bandwidth(const bench_peaks *peaks, double bytes)
{
    if (peaks->copy_count == 0)
        return 0;
    if (bytes <= peaks->copy[0].bytes)
        return peaks->copy[0].gbytes_per_s;
    for (int i = 1; i < peaks->copy_count; i++) {
        if (bytes > peaks->copy[i].bytes)
            continue;
        double low = log2(peaks->copy[i - 1].bytes), high = log2(peaks->copy[i].bytes);
        double part = (log2(bytes) - low) / (high - low);
        return (1 - part) * peaks->copy[i - 1].gbytes_per_s + part * peaks->copy[i].gbytes_per_s;
    }
    return peaks->copy[peaks->copy_count - 1].gbytes_per_s;
}

// Drivers of cards name the first level, 16 KiB of AMD's and a few MiB of NVIDIA's, where up to 256 MiB lie behind it;
// and what the host has says nothing of them.
#define CARD_CACHE (256.0 * 1048576)

double bench_last_level_cache(const json_t *device, double host)
{
    const json_t *traits = json_object_get(device, "traits");
    const char *class = json_string_value(json_object_get(traits, "class"));
    const bool is_card = class && !strcmp(class, husk_device_class_text(HUSK_DEVICE_GPU_DISCRETE));
    return fmax(json_number_value(json_object_get(traits, "global_cache")), is_card ? CARD_CACHE : host);
}

double bench_peaks_largest_bandwidth(const bench_peaks *peaks)
{
    double largest = 0;
    for (int i = 0; i < peaks->copy_count; i++) {
        if (peaks->copy[i].gbytes_per_s > largest)
            largest = peaks->copy[i].gbytes_per_s;
    }
    return largest;
}

unsigned bench_wanted_arithmetic(const bench_case *c)
{
    if (bench_case_peak_factor(c) > 1)
        return 1u << BENCH_PEAK_I8;
    return c->dtype == HUSK_F64 ? 1u << BENCH_PEAK_F64 : c->dtype == HUSK_F16 ? 1u << BENCH_PEAK_F16 : 0;
}

bool bench_is_on_engine(const char *variant)
{
    return variant && (!strcmp(variant, "matrix") || !strcmp(variant, "cpu_matrix"));
}

// How many products of bf16 an engine makes of one in f32 (docs/engines.md); 0: it multiplies something else, whose
// peak nobody measured: TF32 on NVIDIA's, and f32 itself where precision is the highest.
static double products_of_f32(husk_precision precision, const char *engine)
{
    if (strstr(engine, "nv_mma"))
        return 0;
    return precision == HUSK_PRECISION_HIGH ? 3 : precision == HUSK_PRECISION_MEDIUM ? 1 : 0;
}

// Of the engine that the variant takes, CPUs' or GPUs', in the dtype that it multiplies; 0 where that was not measured:
// engines differ in how much faster they are at another.
static double engine_peak(husk_dtype dtype, husk_precision precision, const char *variant, const bench_peaks *peaks)
{
    const char *multiplied = husk_dtype_name(dtype == HUSK_F32 ? HUSK_BF16 : dtype);
    for (int i = 0; i < peaks->engine_count; i++) {
        const char *name = peaks->engines[i].name;
        const double products = dtype == HUSK_F32 ? products_of_f32(precision, name) : 1;
        const bool is_its = bench_engine_is_of_cpus(name) == !strcmp(variant, "cpu_matrix");
        if (is_its && products > 0 && !strcmp(peaks->engines[i].dtype, multiplied))
            return peaks->engines[i].gflops / products;
    }
    return 0;
}

// Of a described kernel what is known is how much it moves, where that was said, and what it does with f16, f32, f64.
static bool is_of_whole_numbers(const bench_case *c)
{
    return c->op == BENCH_OP_DESCRIBED && c->dtype != HUSK_F32 && c->dtype != HUSK_F16 && c->dtype != HUSK_F64;
}

double bench_peaks_arithmetic(const bench_case *c, const char *variant, const bench_peaks *peaks)
{
    if (is_of_whole_numbers(c))
        return 0;
    const double factor = bench_case_peak_factor(c), f32 = peaks->fma_gflops;
    const bool is_on_engine = bench_is_on_engine(variant);
    const double bytes = factor > 1 && is_on_engine ? engine_peak(HUSK_I8, c->precision, variant, peaks) : 0;
    if (bytes > 0)
        return bytes;
    if (factor > 1)
        return peaks->arithmetic[BENCH_PEAK_I8] > 0 ? peaks->arithmetic[BENCH_PEAK_I8] : factor * f32;
    if (is_on_engine)
        return engine_peak(c->dtype, c->precision, variant, peaks);
    if (c->dtype == HUSK_F64)
        return peaks->arithmetic[BENCH_PEAK_F64];
    // Narrow numbers may be computed with as they are, or as f32.
    return c->dtype == HUSK_F16 ? fmax(f32, peaks->arithmetic[BENCH_PEAK_F16]) : f32;
}

double bench_percent_of_peak(const bench_case *c, const char *variant, double executed_flops, double working_set,
                             double median_ns, const bench_peaks *peaks, bool *bound_by_memory)
{
    const double bytes = bench_case_bytes(c);
    const double flops = executed_flops > 0 ? executed_flops : bench_case_flops(c);
    const double bandwidth = bench_peaks_bandwidth(peaks, working_set > bytes ? working_set : bytes);
    const double peak = bench_peaks_arithmetic(c, variant, peaks);
    const double by_memory = bandwidth > 0 ? bytes / median_ns / bandwidth : 0;
    double by_arithmetic = 0;
    *bound_by_memory = true;
    if (!bench_case_is_bandwidth(c)) {
        if (!(peak > 0))
            return NAN;
        by_arithmetic = flops / median_ns / peak;
        *bound_by_memory = by_memory > by_arithmetic;
    }
    const double nearer = *bound_by_memory ? by_memory : by_arithmetic;
    return nearer > 0 && isfinite(nearer) ? 100 * nearer : NAN;
}

bench_plausibility bench_plausible(const bench_case *c, const char *variant, double executed_flops, double working_set,
                                   double median_ns, const bench_peaks *peaks)
{
    bench_plausibility p = {.percent_of_peak = NAN};
    const double bytes = bench_case_bytes(c), flops = executed_flops > 0 ? executed_flops : bench_case_flops(c);
    const double peak = bench_peaks_arithmetic(c, variant, peaks);
    const bool by_memory_alone = bench_case_is_bandwidth(c);
    if (!(median_ns > 0) || isinf(median_ns)) {
        p.is_suspect = true;
        snprintf(p.reason, sizeof p.reason, "its time is %g ns", median_ns);
        return p;
    }
    p.percent_of_peak =
        bench_percent_of_peak(c, variant, executed_flops, working_set, median_ns, peaks, &p.bound_by_memory);
    double gflops = flops / median_ns, gbytes = bytes / median_ns;
    double largest = bench_peaks_largest_bandwidth(peaks);
    // A working set may lie in a nearer cache than its size says: only the fastest level of all is a limit.
    if (peak > 0 && !by_memory_alone && !bench_is_on_engine(variant) && gflops > 1.05 * peak) {
        p.is_suspect = true;
        snprintf(p.reason, sizeof p.reason, "%.0f GFLOP/s executed, but the device's measured peak is %.0f", gflops,
                 peak);
    } else if (largest > 0 && gbytes > 1.05 * largest && c->op == BENCH_OP_DESCRIBED && c->as.described.is_guess) {
        p.percent_of_peak = NAN; // a run needs a part of its buffers
    } else if (largest > 0 && gbytes > 1.05 * largest) {
        p.is_suspect = true;
        snprintf(p.reason, sizeof p.reason, "%.0f GB/s, but the device's measured cache bandwidth is %.0f", gbytes,
                 largest);
    }
    return p;
}
