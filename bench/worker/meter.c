// SPDX-License-Identifier: MIT
#include "worker/meter.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/embedded.h"
#include "common/text.h"
#include "system/timer.h"

const bench_move_kind bench_move_kinds[BENCH_MOVES] = {
    {"husk_bench_copy", 2, 0},
    {"husk_bench_stream", 2, (size_t)16 << 20},
    {"husk_bench_read", 1, (size_t)1 << 20},
};

bool bench_meter_failed(cl_int error, const char *call, char reason[BENCH_REASON_TEXT])
{
    if (error != CL_SUCCESS)
        snprintf(reason, BENCH_REASON_TEXT, "measuring the device's peaks: %s failed with OpenCL error %d", call,
                 error);
    return error != CL_SUCCESS;
}

size_t bench_meter_groups(const bench_meter *m)
{
    size_t units = m->traits->compute_units ? m->traits->compute_units : 1;
    return units * (size_t)m->groups_a_unit;
}

static bool have_common_factor(size_t a, size_t b)
{
    while (b) {
        const size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a > 1;
}

// By the golden section windows lie as far from those before them as they can.
size_t bench_meter_step(size_t groups)
{
    size_t step = (size_t)(0.6180339887 * (double)groups + 0.5);
    while (step > 1 && have_common_factor(groups, step))
        --step;
    return step;
}

static bool build(bench_meter *m, cl_device_id device, unsigned wanted, char reason[BENCH_REASON_TEXT])
{
    const char *source = bench_embedded_text("kernels/peaks.cl");
    char options[128];
    cl_int error = CL_INVALID_PROGRAM;
    // Asked of the library, which asks the device: a compiler that does not know its processor's name says less.
    const bool has_dot = (wanted & 1u << BENCH_PEAK_I8) && husk_context_has(m->husk, HUSK_FEATURE_DOT_I8);
    snprintf(options, sizeof options, "-cl-std=CL1.2 -DVW=%d -DWG=%d%s%s%s", m->vector, m->group,
             m->traits->has_f64 ? " -DHAS_F64" : "", m->traits->has_f16 ? " -DHAS_F16" : "",
             has_dot ? " -DHAS_DOT" : "");
    if (source)
        m->program = clCreateProgramWithSource(m->context, 1, &source, NULL, &error);
    if (bench_meter_failed(error, "clCreateProgramWithSource", reason))
        return false;
    error = clBuildProgram(m->program, 1, &device, options, NULL, NULL);
    if (error != CL_SUCCESS) { // the rest is worth less than what every device has
        bench_append(options, sizeof options, " -DPLAIN");
        error = clBuildProgram(m->program, 1, &device, options, NULL, NULL);
    }
    if (bench_meter_failed(error, "clBuildProgram", reason))
        return false;
    m->fma = clCreateKernel(m->program, "husk_bench_fma", &error);
    if (bench_meter_failed(error, "clCreateKernel", reason))
        return false;
    for (int i = 0; i < BENCH_MOVES; i++) {
        m->moves[i] = clCreateKernel(m->program, bench_move_kinds[i].kernel, &error);
        if (bench_meter_failed(error, "clCreateKernel", reason))
            return false;
    }
    return true;
}

// At most 128 MiB written and twice as much read, of what one buffer may have a quarter and a half: past any last-level
// cache that is common.
static bool make_buffers(bench_meter *m, char reason[BENCH_REASON_TEXT])
{
    m->buffer_bytes = (size_t)128 << 20;
    while (m->buffer_bytes > m->traits->max_allocation / 4 || m->buffer_bytes > m->traits->global_memory / 16)
        m->buffer_bytes /= 2;
    cl_int error = CL_SUCCESS;
    m->from = clCreateBuffer(m->context, CL_MEM_READ_WRITE, 2 * m->buffer_bytes, NULL, &error);
    if (bench_meter_failed(error, "clCreateBuffer", reason))
        return false;
    m->to = clCreateBuffer(m->context, CL_MEM_READ_WRITE, m->buffer_bytes, NULL, &error);
    if (bench_meter_failed(error, "clCreateBuffer", reason))
        return false;
    const cl_float one = 1;
    error = clEnqueueFillBuffer(m->queue, m->from, &one, sizeof one, 0, 2 * m->buffer_bytes, 0, NULL, NULL);
    if (error == CL_SUCCESS)
        error = clEnqueueFillBuffer(m->queue, m->to, &one, sizeof one, 0, m->buffer_bytes, 0, NULL, NULL);
    if (error == CL_SUCCESS)
        error = clFinish(m->queue);
    return !bench_meter_failed(error, "clEnqueueFillBuffer", reason);
}

static void make_more(bench_meter *m)
{
    static const char *const names[BENCH_ARITHMETICS] = {"husk_bench_fma_f64", "husk_bench_fma_f16", "husk_bench_dot"};
    cl_int error;
    for (int i = 0; i < BENCH_ARITHMETICS; i++)
        m->arithmetic[i] = clCreateKernel(m->program, names[i], &error); // NULL where it is not in the program
    if (m->traits->local_memory >= BENCH_LOCAL_BYTES)
        m->local = clCreateKernel(m->program, "husk_bench_local", &error);
}

bench_meter *bench_meter_create(husk_context *context, unsigned wanted, char reason[BENCH_REASON_TEXT])
{
    if (husk_context_traits(context)->device_class == HUSK_DEVICE_SIMULATOR) {
        bench_explain(reason, BENCH_REASON_TEXT, "the speed of a simulator means nothing");
        return NULL;
    }
    bench_meter *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->husk = context;
    m->traits = husk_context_traits(context);
    m->context = husk_context_opencl(context);
    bool is_cpu = m->traits->device_class == HUSK_DEVICE_CPU;
    m->vector = is_cpu && m->traits->vector_width >= 4 ? (int)m->traits->vector_width : 4;
    m->group = is_cpu ? 1 : m->traits->work_group >= 256 ? 256 : (int)m->traits->work_group;
    m->groups_a_unit = is_cpu ? 4 : 16;
    cl_device_id device = husk_context_opencl_device(context);
    cl_int error = CL_SUCCESS;
    m->queue = clCreateCommandQueue(m->context, device, CL_QUEUE_PROFILING_ENABLE, &error);
    m->has_profiling = error == CL_SUCCESS;
    if (error != CL_SUCCESS)
        m->queue = clCreateCommandQueue(m->context, device, 0, &error);
    if (bench_meter_failed(error, "clCreateCommandQueue", reason) || !build(m, device, wanted, reason) ||
        !make_buffers(m, reason)) {
        bench_meter_release(m);
        return NULL;
    }
    make_more(m);
    return m;
}

void bench_meter_release(bench_meter *m)
{
    if (!m)
        return;
    if (m->from)
        clReleaseMemObject(m->from);
    if (m->to)
        clReleaseMemObject(m->to);
    if (m->fma)
        clReleaseKernel(m->fma);
    for (int i = 0; i < BENCH_MOVES; i++) {
        if (m->moves[i])
            clReleaseKernel(m->moves[i]);
    }
    for (int i = 0; i < BENCH_ARITHMETICS; i++) {
        if (m->arithmetic[i])
            clReleaseKernel(m->arithmetic[i]);
    }
    if (m->local)
        clReleaseKernel(m->local);
    if (m->program)
        clReleaseProgram(m->program);
    if (m->queue)
        clReleaseCommandQueue(m->queue);
    free(m);
}

bool bench_meter_time(bench_meter *m, cl_kernel kernel, size_t groups, double *ns, double *by_event,
                      char reason[BENCH_REASON_TEXT])
{
    size_t global = groups * (size_t)m->group, local = (size_t)m->group;
    cl_event event = NULL;
    cl_ulong start = 0, end = 0;
    uint64_t before = bench_now_ns();
    cl_int error =
        clEnqueueNDRangeKernel(m->queue, kernel, 1, NULL, &global, &local, 0, NULL, by_event ? &event : NULL);
    if (error == CL_SUCCESS)
        error = clFinish(m->queue);
    *ns = (double)(bench_now_ns() - before);
    if (by_event) { // a device that has such queues and no times for them is timed by the wall clock, as all are
        const bool is_timed =
            error == CL_SUCCESS &&
            clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL) == CL_SUCCESS &&
            clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL) == CL_SUCCESS;
        *by_event = is_timed && end > start ? (double)(end - start) : 0;
    }
    if (event)
        clReleaseEvent(event);
    return !bench_meter_failed(error, "a kernel", reason);
}
