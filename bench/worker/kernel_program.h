/* SPDX-License-Identifier: MIT */
/* bench/worker/kernel_program.h: the programs of described kernels, compiled as their description says. */
#ifndef BENCH_WORKER_KERNEL_PROGRAM_H
#define BENCH_WORKER_KERNEL_PROGRAM_H

#include <husk/opencl.h>

#include "spec/description.h"
#include "spec/point.h"
#include "worker/runner.h"

enum { BENCH_OPTIONS_TEXT = 4096, BENCH_KEPT_PROGRAMS = 8 };

typedef struct bench_kernel_program {
    char path[2 * BENCH_PATH_TEXT];
    char options[BENCH_OPTIONS_TEXT];
    cl_program program;
    uint64_t used; /* when, for the oldest to make room */
} bench_kernel_program;

typedef struct bench_kernel_programs {
    cl_context context;
    cl_device_id device;
    bench_kernel_program kept[BENCH_KEPT_PROGRAMS];
    uint64_t clock;
    uint64_t built; /* how many were compiled */
} bench_kernel_programs;

/* What a step's program is compiled with at a point; false: it does not fit. */
bool bench_kernel_options(const bench_description *description, const bench_point *point, char *text, size_t size,
                          char reason[BENCH_REASON_TEXT]);
/* The file that a step's program is made from. */
void bench_kernel_path(const bench_description *description, const bench_spec *spec, const bench_step *step, char *text,
                       size_t size);

/*
 * The step's program, compiled or found; it belongs to the table. NULL: answer and reason say why, and *log is the
 * compiler's, to be freed, or NULL.
 */
cl_program bench_kernel_program_get(bench_kernel_programs *programs, const bench_description *description,
                                    const bench_point *point, const bench_step *step, bench_answer *answer, char **log,
                                    char reason[BENCH_REASON_TEXT]);
void bench_kernel_programs_free(bench_kernel_programs *programs);

#endif
