// SPDX-License-Identifier: MIT
#include "worker/tape.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <husk/opencl.h>

#ifndef RTLD_NEXT // without _GNU_SOURCE
#define RTLD_NEXT ((void *)-1L)
#endif

typedef cl_int (*set_function)(cl_kernel, cl_uint, size_t, const void *);
typedef cl_int (*enqueue_function)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,
                                   cl_uint, const cl_event *, cl_event *);

// An argument, or a launch (queue is not NULL).
typedef struct step {
    cl_kernel kernel;
    cl_command_queue queue;
    cl_uint index, dimensions;
    bool is_null;
    size_t size;
    unsigned char value[64];
    size_t global[3], local[3];
    bool has_local;
} step;

struct bench_tape {
    step *steps;
    size_t count, capacity, launches;
    bool failed;
};

static _Atomic(bench_tape *) recorder;
static _Atomic(set_function) real_set;
static _Atomic(enqueue_function) real_enqueue;

static void find_real(void)
{
    atomic_store(&real_set, (set_function)dlsym(RTLD_NEXT, "clSetKernelArg"));
    atomic_store(&real_enqueue, (enqueue_function)dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel"));
}

static step *add_step(bench_tape *tape)
{
    if (tape->count == tape->capacity) {
        size_t capacity = tape->capacity ? 2 * tape->capacity : 64;
        step *steps = realloc(tape->steps, capacity * sizeof *steps);
        if (!steps) {
            tape->failed = true;
            return NULL;
        }
        tape->steps = steps;
        tape->capacity = capacity;
    }
    step *fresh = &tape->steps[tape->count++];
    memset(fresh, 0, sizeof *fresh);
    return fresh;
}

static void keep_argument(bench_tape *tape, cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    step *fresh = size <= sizeof fresh->value || !value ? add_step(tape) : NULL;
    if (!fresh) {
        tape->failed = true;
        return;
    }
    fresh->kernel = kernel;
    fresh->index = index;
    fresh->size = size;
    fresh->is_null = !value;
    if (value)
        memcpy(fresh->value, value, size);
}

static void keep_launch(bench_tape *tape, cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                        const size_t *global, const size_t *local)
{
    step *fresh = add_step(tape);
    if (!fresh)
        return;
    fresh->kernel = kernel;
    fresh->queue = queue;
    fresh->dimensions = dimensions;
    memcpy(fresh->global, global, dimensions * sizeof *global);
    fresh->has_local = local != NULL;
    if (local)
        memcpy(fresh->local, local, dimensions * sizeof *local);
    tape->launches++;
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    if (!atomic_load_explicit(&real_set, memory_order_relaxed))
        find_real();
    bench_tape *tape = atomic_load_explicit(&recorder, memory_order_relaxed);
    if (tape)
        keep_argument(tape, kernel, index, size, value);
    return atomic_load_explicit(&real_set, memory_order_relaxed)(kernel, index, size, value);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                              const size_t *global, const size_t *local, cl_uint event_count, const cl_event *events,
                              cl_event *event)
{
    if (!atomic_load_explicit(&real_enqueue, memory_order_relaxed))
        find_real();
    bench_tape *tape = atomic_load_explicit(&recorder, memory_order_relaxed);
    if (tape)
        keep_launch(tape, queue, kernel, dimensions, global, local);
    return atomic_load_explicit(&real_enqueue, memory_order_relaxed)(queue, kernel, dimensions, offset, global, local,
                                                                     event_count, events, event);
}

bench_tape *bench_tape_record(void)
{
    bench_tape *tape = calloc(1, sizeof *tape);
    atomic_store(&recorder, tape);
    return tape;
}

bool bench_tape_stop(bench_tape *tape)
{
    atomic_store(&recorder, NULL);
    return tape && !tape->failed;
}

size_t bench_tape_launches(const bench_tape *tape)
{
    return tape->launches;
}

bool bench_tape_play(const bench_tape *tape)
{
    set_function set = atomic_load_explicit(&real_set, memory_order_relaxed);
    enqueue_function enqueue = atomic_load_explicit(&real_enqueue, memory_order_relaxed);
    for (size_t i = 0; i < tape->count; i++) {
        const step *s = &tape->steps[i];
        cl_int code = s->queue ? enqueue(s->queue, s->kernel, s->dimensions, NULL, s->global,
                                         s->has_local ? s->local : NULL, 0, NULL, NULL)
                               : set(s->kernel, s->index, s->size, s->is_null ? NULL : s->value);
        if (code != CL_SUCCESS)
            return false;
    }
    return true;
}

void bench_tape_free(bench_tape *tape)
{
    if (!tape)
        return;
    free(tape->steps);
    free(tape);
}
