// SPDX-License-Identifier: MIT
// Peaks beside f32's arithmetic and global memory: other dtypes, local memory, transfers, an empty queue, engines; and
// all of them as JSON.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/data.h"
#include "cases/parse.h"
#include "cases/size.h"
#include "common/text.h"
#include "os/timer.h"
#include "worker/meter.h"

#define ROUND_CHAINS   (12 * 4) // vectors that a round of a kernel works on
#define ARITHMETIC_NS  10e6
#define LOCAL_BYTES    8192 // as the kernel has them
#define TRANSFER_BYTES ((size_t)32 << 20)
#define TRIPS          51

const char *bench_arithmetic_name(bench_arithmetic arithmetic)
{
    static const char *const names[BENCH_ARITHMETICS] = {"f64", "f16", "i8"};
    return names[arithmetic];
}

const char *bench_transfer_name(bench_transfer transfer)
{
    static const char *const names[BENCH_TRANSFERS] = {"to_device", "to_device_pinned", "from_device",
                                                       "from_device_pinned"};
    return names[transfer];
}

// ---- arithmetic ----

void bench_meter_make_more(bench_meter *m)
{
    static const char *const names[BENCH_ARITHMETICS] = {"husk_bench_fma_f64", "husk_bench_fma_f16",
                                                         "husk_bench_dot"};
    cl_int error;
    for (int i = 0; i < BENCH_ARITHMETICS; i++)
        m->arithmetic[i] =
            clCreateKernel(m->program, names[i], &error); // NULL where it is not in the program
    if (m->traits->local_memory >= LOCAL_BYTES)
        m->local = clCreateKernel(m->program, "husk_bench_local", &error);
}

// Elements of a vector, as the kernels choose it.
static int width_of(const bench_meter *m, bench_arithmetic which)
{
    if (which == BENCH_PEAK_F64)
        return m->vector / 2;
    if (which == BENCH_PEAK_F16)
        return m->vector >= 8 ? 16 : 8;
    return m->vector;
}

static bool set_arithmetic(bench_meter *m, bench_arithmetic which, cl_int rounds,
                           char reason[BENCH_REASON_TEXT])
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
static bool lengthen(bench_meter *m, bench_arithmetic which, cl_int *rounds, double *ns,
                     char reason[BENCH_REASON_TEXT])
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
    if (which == BENCH_PEAK_I8 && bench_meter_failed(clEnqueueReadBuffer(m->queue, m->to, CL_TRUE, 0,
                                                                         sizeof lane, &lane, 0, NULL, NULL),
                                                     "clEnqueueReadBuffer", reason))
        return false;
    for (int i = 0; i < (quick ? 3 : 6); i++) {
        if (!bench_meter_time(m, m->arithmetic[which], groups, &ns, NULL, reason))
            return false;
        const double operations =
            (double)lane * ROUND_CHAINS * rounds * width_of(m, which) * m->group * (double)groups;
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
    const int vectors = LOCAL_BYTES / (4 * m->vector), each = (vectors / m->group + 3) / 4 * 4;
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
        peaks->local_gbytes_per_s =
            bytes / ns > peaks->local_gbytes_per_s ? bytes / ns : peaks->local_gbytes_per_s;
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
        good ? clCreateBuffer(m->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &error)
             : NULL;
    if (!owner) // it has no such memory: that is no failure
        return good;
    void *pinned = clEnqueueMapBuffer(m->queue, owner, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, NULL,
                                      NULL, &error);
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
                 strcmp(variant, "amx") == 0 ? "packed=1" : "tb=1");
    else
        snprintf(line, sizeof line, "gemm m=%d n=%d k=%d dtype=%s", edge, edge, edge, dtype);
    if (!bench_case_parse(line, &c, reason) || !bench_data_make(&c, &data, reason))
        return 0;
    void *own = (void *)(uintptr_t)session;
    bool good = bench_contender_husk.prepare(own, &c, &data, &options, &state, reason) == BENCH_OK;
    for (int i = 0; good && i < 5; i++) {
        const uint64_t start = bench_now_ns();
        good = bench_contender_husk.run_batch(state, i ? 4 : 1, reason) == BENCH_OK; // the first may compile
        const double rate = 4 * bench_case_flops(&c) / (double)(bench_now_ns() - start);
        best = good && i > 0 && rate > best ? rate : best;
    }
    if (state)
        bench_contender_husk.release(state);
    bench_data_free(&c, &data);
    return best;
}

// A square that fills what the engine is part of; nobody waits for the ones that tests compute in its place.
static int edge_for(const char *engine)
{
    return !strncmp(engine, "soft", 4) ? 128 : strstr(engine, "amx") ? 2048 : 4096;
}

static void measure_engine(const bench_husk_session *session, const char *engine, const char *text, bench_peaks *peaks)
{
    static const char *const dtypes[] = {"f16", "bf16", "i8"};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes && peaks->engine_count < BENCH_ENGINE_PEAKS; d++) {
        double gflops = 0;
        if (strstr(text, dtypes[d]))
            gflops = time_engine(session, strstr(engine, "amx") ? "amx" : "matrix", dtypes[d], edge_for(engine));
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
    char text[256], wish[48], reason[BENCH_REASON_TEXT];
    bool is_measured[2] = {false}; // of those of one kind the library takes the first that is ready
    void *opened = NULL;
    snprintf(wish, sizeof wish, "%u:%u", (unsigned)m->traits->platform_index, (unsigned)m->traits->device_index);
    const bench_open_options options = {.device = wish, .threads = 1};
    const bool is_open = bench_contender_husk.open(&options, &opened, reason) == BENCH_OK;
    const bench_husk_session *session = opened;
    for (size_t i = 0; is_open && husk_engine_name(i); i++) {
        bool *done = &is_measured[strstr(husk_engine_name(i), "amx") != NULL];
        if (*done || husk_context_engine(session->context, i, text, sizeof text) != HUSK_ENGINE_READY)
            continue;
        *done = true;
        measure_engine(session, husk_engine_name(i), text, peaks);
    }
    if (opened)
        bench_contender_husk.close(opened);
}

// ---- JSON ----

static void put(json_t *object, const char *key, double value)
{
    json_object_set_new(object, key, value > 0 ? json_real(value) : json_null());
}

json_t *bench_peaks_json(const bench_peaks *peaks)
{
    json_t *reply = json_object(), *copy = json_array(), *arithmetic = json_object(),
           *transfers = json_object(), *engines = json_array();
    json_object_set_new(reply, "fma_gflops", json_real(peaks->fma_gflops));
    put(arithmetic, "f32", peaks->fma_gflops);
    for (int i = 0; i < BENCH_ARITHMETICS; i++)
        put(arithmetic, bench_arithmetic_name((bench_arithmetic)i), peaks->arithmetic[i]);
    json_object_set_new(reply, "arithmetic", arithmetic);
    for (int i = 0; i < peaks->engine_count; i++)
        json_array_append_new(engines,
                              json_pack("{s:s, s:s, s:f}", "name", peaks->engines[i].name, "dtype",
                                        peaks->engines[i].dtype, "gflops", peaks->engines[i].gflops));
    json_object_set_new(reply, "engines", engines);
    for (int i = 0; i < peaks->copy_count; i++)
        json_array_append_new(copy, json_pack("{s:f, s:f}", "bytes", peaks->copy[i].bytes, "gbytes_per_s",
                                              peaks->copy[i].gbytes_per_s));
    json_object_set_new(reply, "copy", copy);
    put(reply, "local_gbytes_per_s", peaks->local_gbytes_per_s);
    for (int i = 0; i < BENCH_TRANSFERS; i++)
        put(transfers, bench_transfer_name((bench_transfer)i), peaks->transfers[i]);
    json_object_set_new(reply, "transfer_gbytes_per_s", transfers);
    json_object_set_new(reply, "launch_ns", json_real(peaks->launch_ns));
    put(reply, "round_trip_ns", peaks->round_trip_ns);
    json_object_set_new(reply, "trust_ratio", json_real(peaks->trust_ratio));
    return reply;
}

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

void bench_read_peaks(const json_t *json, bench_peaks *peaks)
{
    const json_t *copy = json_object_get(json, "copy"), *arithmetic = json_object_get(json, "arithmetic");
    const json_t *transfers = json_object_get(json, "transfer_gbytes_per_s"),
                 *engines = json_object_get(json, "engines");
    peaks->fma_gflops = number_of(json, "fma_gflops");
    peaks->launch_ns = number_of(json, "launch_ns");
    peaks->round_trip_ns = number_of(json, "round_trip_ns");
    peaks->trust_ratio = number_of(json, "trust_ratio");
    peaks->local_gbytes_per_s = number_of(json, "local_gbytes_per_s");
    for (int i = 0; i < BENCH_ARITHMETICS; i++)
        peaks->arithmetic[i] = number_of(arithmetic, bench_arithmetic_name((bench_arithmetic)i));
    for (int i = 0; i < BENCH_TRANSFERS; i++)
        peaks->transfers[i] = number_of(transfers, bench_transfer_name((bench_transfer)i));
    for (size_t i = 0; i < json_array_size(copy) && i < BENCH_COPY_SIZES; i++) {
        peaks->copy[i].bytes = number_of(json_array_get(copy, i), "bytes");
        peaks->copy[i].gbytes_per_s = number_of(json_array_get(copy, i), "gbytes_per_s");
        peaks->copy_count = (int)i + 1;
    }
    for (size_t i = 0; i < json_array_size(engines) && i < BENCH_ENGINE_PEAKS; i++) {
        const char *name = json_string_value(json_object_get(json_array_get(engines, i), "name"));
        const char *dtype = json_string_value(json_object_get(json_array_get(engines, i), "dtype"));
        snprintf(peaks->engines[i].name, sizeof peaks->engines[i].name, "%s", name ? name : "");
        snprintf(peaks->engines[i].dtype, sizeof peaks->engines[i].dtype, "%s", dtype ? dtype : "");
        peaks->engines[i].gflops = number_of(json_array_get(engines, i), "gflops");
        peaks->engine_count = (int)i + 1;
    }
}
