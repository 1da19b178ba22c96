// SPDX-License-Identifier: MIT
// How near a row comes to what the device can do, and whether that can be true.
#include <math.h>
#include <stdio.h>

#include "plausible.h"
#include "results.h"

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

double bench_peaks_largest_bandwidth(const bench_peaks *peaks)
{
    double largest = 0;
    for (int i = 0; i < peaks->copy_count; i++) {
        if (peaks->copy[i].gbytes_per_s > largest)
            largest = peaks->copy[i].gbytes_per_s;
    }
    return largest;
}

double bench_percent_of_peak(double executed_flops, double bytes, double working_set, bool by_memory_alone,
                             double median_ns, const bench_peaks *peaks, bool *bound_by_memory)
{
    double bandwidth = bench_peaks_bandwidth(peaks, working_set > bytes ? working_set : bytes);
    double by_memory = bandwidth > 0 ? bytes / median_ns / bandwidth : 0;
    double by_arithmetic = 0;
    if (peaks->fma_gflops > 0 && !by_memory_alone)
        by_arithmetic = executed_flops / median_ns / peaks->fma_gflops;
    *bound_by_memory = by_memory > by_arithmetic;
    double nearer = *bound_by_memory ? by_memory : by_arithmetic;
    return nearer > 0 && isfinite(nearer) ? 100 * nearer : NAN;
}

bench_plausibility bench_plausible(const bench_case *c, double executed_flops, double working_set,
                                   double median_ns, const bench_peaks *measured)
{
    bench_plausibility p = {.percent_of_peak = NAN};
    bench_peaks own = *measured; // as they are for the case's arithmetic
    const bench_peaks *peaks = &own;
    own.fma_gflops *= bench_case_peak_factor(c);
    double bytes = bench_case_bytes(c), flops = executed_flops > 0 ? executed_flops : bench_case_flops(c);
    bool by_memory_alone = bench_case_is_bandwidth(c);
    if (!(median_ns > 0) || isinf(median_ns)) {
        p.is_suspect = true;
        snprintf(p.reason, sizeof p.reason, "its time is %g ns", median_ns);
        return p;
    }
    p.percent_of_peak = bench_percent_of_peak(flops, bytes, working_set, by_memory_alone, median_ns, peaks,
                                              &p.bound_by_memory);
    double gflops = flops / median_ns, gbytes = bytes / median_ns;
    double largest = bench_peaks_largest_bandwidth(peaks);
    // A working set may lie in a nearer cache than its size says: only the fastest level of all is a limit.
    if (peaks->fma_gflops > 0 && !by_memory_alone && gflops > 1.05 * peaks->fma_gflops) {
        p.is_suspect = true;
        snprintf(p.reason, sizeof p.reason, "%.0f GFLOP/s executed, but the device's measured peak is %.0f",
                 gflops, peaks->fma_gflops);
    } else if (largest > 0 && gbytes > 1.05 * largest) {
        p.is_suspect = true;
        snprintf(p.reason, sizeof p.reason, "%.0f GB/s, but the device's measured cache bandwidth is %.0f",
                 gbytes, largest);
    }
    return p;
}
