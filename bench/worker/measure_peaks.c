// SPDX-License-Identifier: MIT
#include "worker/measure_peaks.h"

#include <math.h>
#include <string.h>

#include "common/text.h"
#include "system/timer.h"
#include "worker/peaks_more.h"

#define FMA_PER_ROUND (12 * 4)
#define SENTINEL_NS   10e6
#define MEMORY_SENTINEL_NS 3e6
#define MAX_COPY_NS   500e6
#define MOVE_NS       4e6
#define QUICK_MOVE_NS 1e6

static bool set_fma(bench_meter *m, cl_int rounds, char reason[BENCH_REASON_TEXT])
{
    const cl_float a = 0.999f, b = 0.001f;
    cl_int error = clSetKernelArg(m->fma, 0, sizeof m->to, &m->to);
    error |= clSetKernelArg(m->fma, 1, sizeof rounds, &rounds);
    error |= clSetKernelArg(m->fma, 2, sizeof a, &a);
    error |= clSetKernelArg(m->fma, 3, sizeof b, &b);
    return !bench_meter_failed(error, "clSetKernelArg", reason);
}

static double fma_flops(const bench_meter *m, cl_int rounds)
{
    return 2.0 * FMA_PER_ROUND * rounds * m->vector * m->group * (double)bench_meter_groups(m);
}

// Rounds that make the kernel last about so long.
static bool find_rounds(bench_meter *m, double wanted_ns, cl_int *rounds, char reason[BENCH_REASON_TEXT])
{
    double ns = 0, again = 0;
    // The first launch may compile: some drivers make a kernel ready for a grid only when they see it.
    if (!set_fma(m, 1, reason) || !bench_meter_time(m, m->fma, bench_meter_groups(m), &ns, NULL, reason))
        return false;
    for (*rounds = 256; *rounds < 1 << 26; *rounds *= 2) {
        if (!set_fma(m, *rounds, reason) || !bench_meter_time(m, m->fma, bench_meter_groups(m), &ns, NULL, reason))
            return false;
        if (ns > wanted_ns / 4 && !bench_meter_time(m, m->fma, bench_meter_groups(m), &again, NULL, reason))
            return false;
        if (ns > wanted_ns / 4 && again > wanted_ns / 4) // twice: a hiccup must not end it
            break;
    }
    ns = again > 0 && again < ns ? again : ns;
    double scaled = *rounds * wanted_ns / ns;
    *rounds = scaled > 1 << 28 ? 1 << 28 : (cl_int)scaled + 1;
    return true;
}

static bool measure_fma(bench_meter *m, bool quick, bench_peaks *peaks, char reason[BENCH_REASON_TEXT])
{
    if (!find_rounds(m, SENTINEL_NS, &m->sentinel_rounds, reason))
        return false;
    for (int i = 0; i < (quick ? 4 : 8); i++) {
        double ns, gflops;
        if (!bench_meter_sentinel(m, &ns, &gflops, reason))
            return false;
        if (gflops > peaks->fma_gflops)
            peaks->fma_gflops = gflops;
    }
    return true;
}

bool bench_meter_sentinel(bench_meter *m, double *ns, double *gflops, char reason[BENCH_REASON_TEXT])
{
    if (!m->sentinel_rounds && !find_rounds(m, SENTINEL_NS, &m->sentinel_rounds, reason))
        return false;
    for (int attempt = 0; attempt < 3; attempt++) {
        if (!set_fma(m, m->sentinel_rounds, reason) ||
            !bench_meter_time(m, m->fma, bench_meter_groups(m), ns, NULL, reason))
            return false;
        // Found while something else ran, it is too short, and its rate would be that of launches.
        if (*ns > SENTINEL_NS / 2 || m->sentinel_rounds > 1 << 26)
            break;
        m->sentinel_rounds = (cl_int)(m->sentinel_rounds * fmin(SENTINEL_NS / *ns, 4)) + 1;
    }
    *gflops = fma_flops(m, m->sentinel_rounds) / *ns;
    return true;
}

static bool time_move(bench_meter *m, int kind, size_t bytes, cl_int rounds, double *ns, double *moved,
                      char reason[BENCH_REASON_TEXT])
{
    // One group a compute unit on CPUs, so that a small working set stays in that core's own cache. GPUs have caches
    // of all units, and may have more groups than are under way.
    const bool is_cpu = m->group == 1;
    const size_t groups = is_cpu ? bench_meter_groups(m) / (size_t)m->groups_a_unit : bench_meter_groups(m);
    const cl_int step = is_cpu ? 0 : (cl_int)bench_meter_step(groups);
    const size_t each = bytes / (size_t)bench_move_kinds[kind].buffers;
    cl_long vectors = (cl_long)(each / (sizeof(cl_float) * (size_t)m->vector) / groups);
    vectors = vectors > 0 ? vectors : 1;
    cl_kernel kernel = m->moves[kind];
    cl_int error = clSetKernelArg(kernel, 0, sizeof m->from, &m->from);
    error |= clSetKernelArg(kernel, 1, sizeof m->to, &m->to);
    error |= clSetKernelArg(kernel, 2, sizeof vectors, &vectors);
    error |= clSetKernelArg(kernel, 3, sizeof rounds, &rounds);
    error |= clSetKernelArg(kernel, 4, sizeof step, &step);
    *moved = bench_move_kinds[kind].buffers * (double)vectors * (double)groups * (double)sizeof(cl_float) * m->vector *
             rounds;
    return !bench_meter_failed(error, "clSetKernelArg", reason) &&
           bench_meter_time(m, kernel, groups, ns, NULL, reason);
}

// Copying all that the two buffers hold, which no cache does: once, but for a few milliseconds at least.
bool bench_meter_memory_sentinel(bench_meter *m, double *gbytes_per_s, char reason[BENCH_REASON_TEXT])
{
    const size_t bytes = 2 * m->buffer_bytes;
    double ns = 0, moved = 0;
    if (!m->memory_rounds) {
        if (!time_move(m, 0, bytes, 1, &ns, &moved, reason) || // may compile
            !time_move(m, 0, bytes, 1, &ns, &moved, reason))
            return false;
        m->memory_rounds = ns < MEMORY_SENTINEL_NS ? (cl_int)(MEMORY_SENTINEL_NS / ns) + 1 : 1;
    }
    for (int attempt = 0; attempt < 3; attempt++) {
        if (!time_move(m, 0, bytes, m->memory_rounds, &ns, &moved, reason))
            return false;
        // Found while the memory's clock was low or something else ran, it is too short, as of the sentinel.
        if (ns > MEMORY_SENTINEL_NS / 2 || m->memory_rounds > 1 << 20)
            break;
        m->memory_rounds = (cl_int)(m->memory_rounds * fmin(MEMORY_SENTINEL_NS / ns, 8)) + 1;
    }
    *gbytes_per_s = moved / ns;
    return true;
}

static bool measure_move(bench_meter *m, int kind, bool quick, size_t bytes, double *best,
                         char reason[BENCH_REASON_TEXT])
{
    double ns = 0, moved = 0;
    cl_int rounds = 1;
    if (!time_move(m, kind, bytes, 1, &ns, &moved, reason)) // may compile
        return false;
    for (; rounds < 1 << 24; rounds *= 2) {
        if (!time_move(m, kind, bytes, rounds, &ns, &moved, reason))
            return false;
        if (ns > (quick ? QUICK_MOVE_NS : MOVE_NS))
            break;
    }
    for (int i = 0; i < (quick ? 3 : 6); i++) {
        if (!time_move(m, kind, bytes, rounds, &ns, &moved, reason))
            return false;
        if (moved / ns > *best)
            *best = moved / ns;
    }
    return true;
}

static bool measure_copy(bench_meter *m, bool quick, bench_peaks *peaks, char reason[BENCH_REASON_TEXT])
{
    static const size_t sizes[BENCH_COPY_SIZES] = {(size_t)32 << 10, (size_t)256 << 10, (size_t)1 << 20,
                                                   (size_t)4 << 20,  (size_t)16 << 20,  (size_t)64 << 20,
                                                   (size_t)256 << 20};
    for (int i = 0; i < BENCH_COPY_SIZES && sizes[i] <= 2 * m->buffer_bytes; i++) {
        double best = 0;
        for (int kind = 0; kind < BENCH_MOVES; kind++) {
            if (sizes[i] >= bench_move_kinds[kind].from_bytes && !measure_move(m, kind, quick, sizes[i], &best, reason))
                return false;
        }
        peaks->copy[peaks->copy_count].bytes = (double)sizes[i];
        peaks->copy[peaks->copy_count++].gbytes_per_s = best;
        if ((double)sizes[i] / best > MAX_COPY_NS) // the next would take several times as long: a very slow device
            break;
    }
    return true;
}

static bool measure_launch(bench_meter *m, bench_peaks *peaks, char reason[BENCH_REASON_TEXT])
{
    peaks->launch_ns = 1e18;
    if (!set_fma(m, 1, reason))
        return false;
    for (int i = 0; i < 50; i++) {
        double ns;
        if (!bench_meter_time(m, m->fma, 1, &ns, NULL, reason))
            return false;
        if (i > 0 && ns < peaks->launch_ns)
            peaks->launch_ns = ns;
    }
    return true;
}

// One kernel of 50 ms or more, by event and by wall.
bool bench_meter_trust(bench_meter *m, double *ratio, char reason[BENCH_REASON_TEXT])
{
    double ns = 0, by_event = 0;
    *ratio = 0;
    if (!m->has_profiling)
        return true;
    if (!m->sentinel_rounds && !find_rounds(m, SENTINEL_NS, &m->sentinel_rounds, reason))
        return false;
    cl_int rounds = m->sentinel_rounds < 1 << 27 ? 6 * m->sentinel_rounds : m->sentinel_rounds;
    for (int attempt = 0; attempt < 3; attempt++) {
        if (!set_fma(m, rounds, reason) || !bench_meter_time(m, m->fma, bench_meter_groups(m), &ns, &by_event, reason))
            return false;
        *ratio = by_event / ns;
        if (*ratio > 0.8 && *ratio < 1.25)
            break; // anything else is said only when it lasts: other work on the machine delays a finish
    }
    return true;
}

// ---- the parts, in their order ----

static bool do_arithmetic(bench_meter *m, const bench_peaks_request *preference, bench_peaks *peaks,
                          char reason[BENCH_REASON_TEXT])
{
    return measure_fma(m, preference->quick, peaks, reason) &&
           bench_meter_arithmetic(m, preference->quick, preference->arithmetic, peaks, reason);
}

static bool do_memory(bench_meter *m, const bench_peaks_request *preference, bench_peaks *peaks,
                      char reason[BENCH_REASON_TEXT])
{
    return measure_copy(m, preference->quick, peaks, reason);
}

static bool do_clock(bench_meter *m, const bench_peaks_request *preference, bench_peaks *peaks,
                     char reason[BENCH_REASON_TEXT])
{
    (void)preference;
    return measure_launch(m, peaks, reason) && bench_meter_trust(m, &peaks->trust_ratio, reason) &&
           bench_meter_round_trip(m, peaks, reason);
}

static bool do_transfers(bench_meter *m, const bench_peaks_request *preference, bench_peaks *peaks,
                         char reason[BENCH_REASON_TEXT])
{
    return preference->quick || (bench_meter_local(m, peaks, reason) && bench_meter_transfers(m, peaks, reason));
}

static bool do_engines(bench_meter *m, const bench_peaks_request *preference, bench_peaks *peaks,
                       char reason[BENCH_REASON_TEXT])
{
    (void)reason;
    if (!preference->quick)
        bench_meter_engines(m, peaks);
    return true;
}

static const struct {
    const char *what;
    double seconds, quick_seconds; // on a CPU of two cores, programs compiled before
    bool (*measure)(bench_meter *, const bench_peaks_request *, bench_peaks *, char[BENCH_REASON_TEXT]);
} parts[] = {
    {"arithmetic", 1, 0.4, do_arithmetic},          {"memory and caches", 1.5, 0.7, do_memory},
    {"launches and the clock", 0.2, 0.2, do_clock}, {"local memory and transfers", 0.5, 0, do_transfers},
    {"matrix engines", 2, 0, do_engines},
};

const char *bench_peaks_part(size_t index, bool quick, double *seconds)
{
    if (index >= sizeof parts / sizeof *parts || (quick && parts[index].quick_seconds <= 0))
        return NULL;
    *seconds = quick ? parts[index].quick_seconds : parts[index].seconds;
    return parts[index].what;
}

bool bench_meter_peaks(bench_meter *m, const bench_peaks_request *preference, bench_peaks *peaks,
                       char reason[BENCH_REASON_TEXT])
{
    const size_t count = sizeof parts / sizeof *parts;
    bool good = true;
    if (preference->part <= 0)
        memset(&m->measured, 0, sizeof m->measured);
    for (size_t i = 0; i < count && good; i++) {
        if (preference->part < 0 || (size_t)preference->part == i)
            good = parts[i].measure(m, preference, &m->measured, reason);
    }
    *peaks = m->measured;
    return good;
}
