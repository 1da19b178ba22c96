/* SPDX-License-Identifier: MIT */
/* bench/worker/kernel_launch.h: a described kernel's buffers on a device, and its launches. */
#ifndef BENCH_WORKER_KERNEL_LAUNCH_H
#define BENCH_WORKER_KERNEL_LAUNCH_H

#include "worker/kernel_poison.h"
#include "worker/kernel_program.h"

/* A buffer: between guard bands, or by itself. */
typedef struct bench_kernel_buffer {
    husk_buffer *block; /* NULL: mem is a buffer of its own */
    cl_mem mem;
    size_t bytes;
    cl_mem kept; /* what a timed run finds in it, of one that is restored; or NULL */
    void *before, *after; /* in host memory */
} bench_kernel_buffer;

typedef struct bench_kernel_launcher {
    husk_context *context;
    cl_context cl;
    cl_device_id device;
    cl_command_queue queue;
    bool is_guarded;
    bench_kernel_programs programs;
    bench_kernel_poison poison;
    const bench_description *description;
} bench_kernel_launcher;

/* A step that is ready to be enqueued. */
typedef struct bench_kernel_step {
    cl_kernel kernel;
    cl_uint dimensions;
    size_t global[3], local[3];
    bool has_local;
} bench_kernel_step;

typedef struct bench_kernel_job {
    bench_kernel_launcher *launcher;
    bench_point *point;
    bench_kernel_buffer buffers[BENCH_MOST_BUFFERS];
    bench_kernel_step steps[BENCH_MOST_STEPS];
} bench_kernel_job;

bool bench_kernel_launcher_begin(bench_kernel_launcher *launcher, husk_context *context, bool is_guarded,
                                 char reason[BENCH_REASON_TEXT]);
void bench_kernel_launcher_end(bench_kernel_launcher *launcher);

/* A number, or a vector's numbers, as the kernel gets them. False: reason. */
bool bench_kernel_scalar(bench_point *point, const bench_argument *argument, uint64_t cells[BENCH_MOST_WIDTH],
                         char reason[BENCH_REASON_TEXT]);

/* Compiles the point's programs alone. */
bench_answer bench_kernel_compile(bench_kernel_launcher *launcher, bench_point *point, char **log,
                                  char reason[BENCH_REASON_TEXT]);
/*
 * Buffers, filled by the seed, programs and arguments. The point's bindings have the buffers' data from then on.
 * UNSUPPORTED: the device cannot run it, which is not the kernel's fault. End it in every case.
 */
bench_answer bench_kernel_job_begin(bench_kernel_job *job, bench_kernel_launcher *launcher, bench_point *point,
                                    uint64_t seed, char reason[BENCH_REASON_TEXT]);
void bench_kernel_job_end(bench_kernel_job *job);

/* Puts every buffer back to what it holds before; of outputs poison, which: bench_fill_poison's. */
bench_answer bench_kernel_reset(bench_kernel_job *job, int which, char reason[BENCH_REASON_TEXT]);
/* Runs all steps once, each with poison in local memory (which: bench_kernel_poison_local's), and waits. */
bench_answer bench_kernel_run(bench_kernel_job *job, int which, char reason[BENCH_REASON_TEXT]);
/* Enqueues all steps, without poison, behind copies to what is restored. */
bench_answer bench_kernel_enqueue(bench_kernel_job *job, char reason[BENCH_REASON_TEXT]);
/* Waits for all that was enqueued. */
bench_answer bench_kernel_finish(const bench_kernel_launcher *launcher, char reason[BENCH_REASON_TEXT]);
/* Copies every buffer to its `after`. */
bench_answer bench_kernel_read(bench_kernel_job *job, char reason[BENCH_REASON_TEXT]);
/* What was written beside the buffers: found is "" or says it. */
bench_answer bench_kernel_guards(bench_kernel_job *job, char found[BENCH_REASON_TEXT], char reason[BENCH_REASON_TEXT]);

#endif
