// SPDX-License-Identifier: MIT
// Peaks beside f32's arithmetic and global memory: other dtypes, local memory, transfers, an empty queue, engines.
#include "worker/peaks_more.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/data.h"
#include "cases/parse.h"
#include "cases/size.h"
#include "common/text.h"
#include "system/timer.h"
#include "worker/husk_runner.h"

#define ROUND_CHAINS   (12 * 4) // vectors that a round of a kernel works on
#define ARITHMETIC_NS  10e6
#define TRANSFER_BYTES ((size_t)32 << 20)
#define TRIPS          51

// ---- arithmetic ----

// Elements of a vector, as the kernels choose it.
static int width_of(const bench_meter *m, bench_arithmetic which)
{
    if (which == BENCH_PEAK_F64)
        return m->vector / 2;
    if (which == BENCH_PEAK_F16)
        return m->vector >= 8 ? 16 : 8;
    return m->vector;
}

static bool set_arithmetic(bench_meter *m, bench_arithmetic which, cl_int rounds, char reason[BENCH_REASON_TEXT])
{
    const cl_float factor = 0.999f, term = 0.001f;
    const cl_int bytes = 0x01020304;
    const bool is_dot = which == BENCH_PEAK_I8;
    cl_kernel kernel = m->arithmetic[which];
    cl_int error = clSetKernelArg(kernel, 0, sizeof m->to, &m->to);
    error |= clSetKernelArg(kernel, 1, sizeof rounds, &rounds);
    error |= clSetKernelArg(kernel, 2, sizeof factor, is_dot ? (const void *)&bytes : &factor);
    error |= clSetKernelArg(kernel, 3, sizeof term, is_dot ? (const void *)&bytes : &term);
    return !bench_meter_failed(error, "clSetKernelArg", reason);
}

// Rounds that make a launch last long enough to be timed; ns is the time of the last.
static bool lengthen(bench_meter *m, bench_arithmetic which, cl_int *rounds, double *ns, char reason[BENCH_REASON_TEXT])
{
    const size_t groups = bench_meter_groups(m);
    for (*rounds = 1; *rounds < 1 << 26; *rounds *= 4) { // the first launch may compile
        if (!set_arithmetic(m, which, *rounds, reason) ||
            !bench_meter_time(m, m->arithmetic[which], groups, ns, NULL, reason))
            return false;
        if (*ns > ARITHMETIC_NS / 4 && *rounds > 1)
            break;
    }
    return true;
}

static bool measure_one(bench_meter *m, bench_arithmetic which, bool quick, double *gops,
                        char reason[BENCH_REASON_TEXT])
{
    const size_t groups = bench_meter_groups(m);
    cl_int rounds = 1, lane = 2;
    double ns = 0;
    if (!lengthen(m, which, &rounds, &ns, reason))
        return false;
    if (which == BENCH_PEAK_I8 &&
        bench_meter_failed(clEnqueueReadBuffer(m->queue, m->to, CL_TRUE, 0, sizeof lane, &lane, 0, NULL, NULL),
                           "clEnqueueReadBuffer", reason))
        return false;
    for (int i = 0; i < (quick ? 3 : 6); i++) {
        if (!bench_meter_time(m, m->arithmetic[which], groups, &ns, NULL, reason))
            return false;
        const double operations = (double)lane * ROUND_CHAINS * rounds * width_of(m, which) * m->group * (double)groups;
        *gops = operations / ns > *gops ? operations / ns : *gops;
    }
    return true;
}

bool bench_meter_arithmetic(bench_meter *m, bool quick, unsigned wanted, bench_peaks *peaks,
                            char reason[BENCH_REASON_TEXT])
{
    for (int i = 0; i < BENCH_ARITHMETICS; i++) {
        if (m->arithmetic[i] && (wanted & 1u << i) &&
            !measure_one(m, (bench_arithmetic)i, quick, &peaks->arithmetic[i], reason))
            return false;
    }
    return true;
}

// ---- local memory ----

bool bench_meter_local(bench_meter *m, bench_peaks *peaks, char reason[BENCH_REASON_TEXT])
{
    const size_t groups = bench_meter_groups(m);
    const int vectors = BENCH_LOCAL_BYTES / (4 * m->vector), each = (vectors / m->group + 3) / 4 * 4;
    double ns = 0;
    if (!m->local || m->group > vectors)
        return true;
    for (cl_int rounds = 1, repeats = 0; rounds < 1 << 26 && repeats < 5;) {
        cl_int error = clSetKernelArg(m->local, 0, sizeof m->to, &m->to);
        error |= clSetKernelArg(m->local, 1, sizeof rounds, &rounds);
        if (bench_meter_failed(error, "clSetKernelArg", reason) ||
            !bench_meter_time(m, m->local, groups, &ns, NULL, reason))
            return false;
        const double bytes = 4.0 * m->vector * each * rounds * m->group * (double)groups;
        if (ns < ARITHMETIC_NS / 4 || rounds == 1) {
            rounds *= 4;
            continue;
        }
        repeats++;
        peaks->local_gbytes_per_s = bytes / ns > peaks->local_gbytes_per_s ? bytes / ns : peaks->local_gbytes_per_s;
    }
    return true;
}

// ---- transfers ----

// The best of five of each way, from and to host.
static bool time_transfers(bench_meter *m, void *host, size_t bytes, bool pinned, bench_peaks *peaks,
                           char reason[BENCH_REASON_TEXT])
{
    for (int i = 0; i < 12; i++) {
        const bool back = i % 2;
        const uint64_t start = bench_now_ns();
        cl_int error = back ? clEnqueueReadBuffer(m->queue, m->to, CL_TRUE, 0, bytes, host, 0, NULL, NULL)
                            : clEnqueueWriteBuffer(m->queue, m->to, CL_TRUE, 0, bytes, host, 0, NULL, NULL);
        if (error == CL_SUCCESS)
            error = clFinish(m->queue);
        const double rate = (double)bytes / (double)(bench_now_ns() - start);
        if (bench_meter_failed(error, back ? "clEnqueueReadBuffer" : "clEnqueueWriteBuffer", reason))
            return false;
        double *best = &peaks->transfers[(back ? BENCH_FROM_DEVICE : BENCH_TO_DEVICE) + pinned];
        if (i > 1 && rate > *best) // the first of each touches the pages
            *best = rate;
    }
    return true;
}

bool bench_meter_transfers(bench_meter *m, bench_peaks *peaks, char reason[BENCH_REASON_TEXT])
{
    const size_t bytes = m->buffer_bytes < TRANSFER_BYTES ? m->buffer_bytes : TRANSFER_BYTES;
    cl_int error = CL_SUCCESS;
    void *pageable = malloc(bytes);
    bool good = pageable != NULL;
    if (good) {
        memset(pageable, 1, bytes);
        good = time_transfers(m, pageable, bytes, false, peaks, reason);
    }
    free(pageable);
    cl_mem owner =
        good ? clCreateBuffer(m->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &error) : NULL;
    if (!owner) // it has no such memory: that is no failure
        return good;
    void *pinned =
        clEnqueueMapBuffer(m->queue, owner, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, NULL, NULL, &error);
    if (pinned) {
        memset(pinned, 1, bytes);
        good = time_transfers(m, pinned, bytes, true, peaks, reason);
        clEnqueueUnmapMemObject(m->queue, owner, pinned, 0, NULL, NULL);
        clFinish(m->queue);
    }
    clReleaseMemObject(owner);
    return good;
}

// A marker on an idle queue, and waiting for it: what asking costs, without any work.
bool bench_meter_round_trip(bench_meter *m, bench_peaks *peaks, char reason[BENCH_REASON_TEXT])
{
    for (int i = 0; i < TRIPS; i++) {
        const uint64_t start = bench_now_ns();
        cl_int error = clEnqueueMarkerWithWaitList(m->queue, 0, NULL, NULL);
        if (error == CL_SUCCESS)
            error = clFinish(m->queue);
        const double ns = (double)(bench_now_ns() - start);
        if (i == 0 || ns < peaks->round_trip_ns)
            peaks->round_trip_ns = ns;
        if (bench_meter_failed(error, "clEnqueueMarkerWithWaitList", reason))
            return false;
    }
    return true;
}

// ---- engines ----

// GFLOP/s of gemm's variant for an engine, of bytes quantized_gemm's, on a square that fills the device; 0 where it
// does not take that dtype.
static double time_engine(const bench_husk_session *session, const char *variant, const char *dtype, int edge)
{
    char line[128], reason[BENCH_REASON_TEXT];
    bench_case c;
    bench_data data;
    void *state = NULL;
    double best = 0;
    const bench_prepare_options options = {.form = variant};
    if (strcmp(dtype, "i8") == 0)
        snprintf(line, sizeof line, "quantized_gemm m=%d n=%d k=%d c=i32 %s", edge, edge, edge,
                 strcmp(variant, "cpu_matrix") == 0 ? "packed=1" : "tb=1");
    else
        snprintf(line, sizeof line, "gemm m=%d n=%d k=%d dtype=%s", edge, edge, edge, dtype);
    if (!bench_case_parse(line, &c, reason) || !bench_data_make(&c, &data, reason))
        return 0;
    void *own = (void *)(uintptr_t)session;
    bool good = bench_runner_husk.prepare(own, &c, &data, &options, &state, reason) == BENCH_OK;
    for (int i = 0; good && i < 5; i++) {
        const uint64_t start = bench_now_ns();
        good = bench_runner_husk.run_batch(state, i ? 4 : 1, reason) == BENCH_OK; // the first may compile
        const double rate = 4 * bench_case_flops(&c) / (double)(bench_now_ns() - start);
        best = good && i > 0 && rate > best ? rate : best;
    }
    if (state)
        bench_runner_husk.release(state);
    bench_data_free(&c, &data);
    return best;
}

// A square that fills what the engine is part of; nobody waits for the ones that tests compute in its place.
static int edge_for(const char *engine)
{
    return !strncmp(engine, "soft", 4) ? 128 : bench_engine_is_of_cpus(engine) ? 2048 : 4096;
}

static void measure_engine(const bench_husk_session *session, const char *engine, const char *text, bench_peaks *peaks)
{
    static const char *const dtypes[] = {"f16", "bf16", "i8"};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes && peaks->engine_count < BENCH_ENGINE_PEAKS; d++) {
        double gflops = 0;
        if (strstr(text, dtypes[d]))
            gflops = time_engine(session, bench_engine_is_of_cpus(engine) ? "cpu_matrix" : "matrix", dtypes[d],
                                 edge_for(engine));
        if (gflops <= 0)
            continue;
        const int at = peaks->engine_count++;
        snprintf(peaks->engines[at].name, sizeof peaks->engines[at].name, "%s", engine);
        snprintf(peaks->engines[at].dtype, sizeof peaks->engines[at].dtype, "%s", dtypes[d]);
        peaks->engines[at].gflops = gflops;
    }
}

// Its instruction is reached only through the library, whose best product says what it can do at least: in a context
// of its own, as the most memory that the cases' has in use is theirs.
void bench_meter_engines(bench_meter *m, bench_peaks *peaks)
{
    char text[256], preference[48], reason[BENCH_REASON_TEXT];
    bool is_measured[2] = {false}; // of those of one kind the library takes the first that is ready
    void *opened = NULL;
    snprintf(preference, sizeof preference, "%u:%u", (unsigned)m->traits->platform_index,
             (unsigned)m->traits->device_index);
    const bench_open_options options = {.device = preference, .threads = 1};
    const bool is_open = bench_runner_husk.open(&options, &opened, reason) == BENCH_OK;
    const bench_husk_session *session = opened;
    for (size_t i = 0; is_open && husk_engine_name(i); i++) {
        bool *done = &is_measured[bench_engine_is_of_cpus(husk_engine_name(i))];
        if (*done || husk_context_engine(session->context, i, text, sizeof text) != HUSK_ENGINE_READY)
            continue;
        *done = true;
        measure_engine(session, husk_engine_name(i), text, peaks);
    }
    if (opened)
        bench_runner_husk.close(opened);
}
