// SPDX-License-Identifier: MIT
// Variant clblast: CLBlast's GEMM, tuned for many devices, with Husk's own last step for what it lacks.
// The only file of the library that knows CLBlast, whose cache of programs is one for the whole process.
#ifdef HUSK_WITH_CLBLAST

#include <stdio.h>
#include <stdlib.h>

#include <clblast_c.h>
#include <husk/opencl.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/gemm/problem.h"

static const husk__configuration configurations[] = {{"default", "", {0}}};

typedef struct clblast_state {
    const husk__kernel *finish;
} clblast_state;

// One matrix as BLAS describes it.
typedef struct blas_matrix {
    CLBlastTranspose transpose;
    size_t leading;
} blas_matrix;

// A matrix of lines x length elements whose lines lie line apart, or whose elements do; false for other strides.
static bool describe_matrix(int64_t lines, int64_t length, int64_t line, int64_t element, blas_matrix *matrix)
{
    const bool by_lines = element == 1 && (lines <= 1 || line >= length);
    const bool by_elements = line == 1 && (length <= 1 || element >= lines);
    if (!by_lines && !by_elements)
        return false;
    matrix->transpose = by_lines ? CLBlastTransposeNo : CLBlastTransposeYes;
    matrix->leading = (size_t)(by_lines ? husk__max_i64(lines > 1 ? line : length, 1)
                                        : husk__max_i64(length > 1 ? element : lines, 1));
    return true;
}

static husk__gemm_shape shape_of(const husk__gemm_problem *problem, bool b_is_packed)
{
    husk__gemm_shape shape = problem->shape;
    if (b_is_packed)
        husk__gemm_use_rows(&shape);
    return husk__gemm_is_by_columns(&shape) ? husk__gemm_transposed(&shape) : shape;
}

static bool describe_all(const husk__gemm_shape *shape, blas_matrix *a, blas_matrix *b, blas_matrix *c)
{
    return describe_matrix(shape->m, shape->k, shape->a_row, shape->a_step, a) &&
           describe_matrix(shape->k, shape->n, shape->b_step, shape->b_column, b) &&
           describe_matrix(shape->m, shape->n, shape->c_row, shape->c_column, c) && c->transpose == CLBlastTransposeNo;
}

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__gemm_problem *problem = candidate->problem;
    const husk__gemm_shape shape = shape_of(problem, problem->b_is_packed);
    blas_matrix a, b, c;
    if (problem->dtype != HUSK_F32 || problem->wide) {
        snprintf(reason, HUSK__REASON_CAPACITY, "CLBlast adds f16 up in half precision, and has no bf16");
        return false;
    }
    if (!describe_all(&shape, &a, &b, &c)) {
        snprintf(reason, HUSK__REASON_CAPACITY, "rows or columns of every matrix must be contiguous for BLAS");
        return false;
    }
    return husk__gemm_fits_int(&problem->shape, reason);
}

// Taken when it is named, or when a measurement on this device has found it faster.
static double cost(const husk__candidate *candidate)
{
    (void)candidate;
    return 1e20;
}

static void clear_cache(husk_context *context)
{
    (void)context;
    CLBlastClearCache();
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    clblast_state *state = calloc(1, sizeof *state);
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = state;
    husk_status status = husk__context_on_release(plan->context, clear_cache, scope);
    return status == HUSK_OK ? husk__gemm_reduce_get(plan, &state->finish, scope) : status;
}

static size_t offset_of(const husk_tensor *tensor)
{
    return (size_t)(husk_buffer_opencl_offset(tensor->buffer) / sizeof(float)) + (size_t)tensor->offset;
}

static husk_status multiply(const husk__gemm_problem *problem, husk_queue *queue, const husk__gemm_run *run,
                            const husk__scope *scope)
{
    const husk__gemm_shape s = shape_of(problem, run->b->packed != NULL);
    const bool is_exchanged = husk__gemm_is_by_columns(&problem->shape);
    const husk_tensor weights = {.buffer = run->b->packed ? run->b->packed->buffer : NULL};
    const husk_tensor *given_b = run->b->packed ? &weights : run->b;
    const husk_tensor *left = is_exchanged ? given_b : run->a, *right = is_exchanged ? run->a : given_b;
    blas_matrix a, b, c;
    if (!describe_all(&s, &a, &b, &c))
        return husk__fail(scope, HUSK_UNSUPPORTED, "variant clblast does not compute this");
    cl_command_queue command_queue = husk_queue_opencl(queue);
    cl_mem a_mem = husk_buffer_opencl(left->buffer), b_mem = husk_buffer_opencl(right->buffer);
    cl_mem c_mem = husk_buffer_opencl(run->c->buffer);
    const size_t m = (size_t)s.m, n = (size_t)s.n, k = (size_t)s.k;
    CLBlastStatusCode code;
    if (s.batch == 1)
        code = CLBlastSgemm(CLBlastLayoutRowMajor, a.transpose, b.transpose, m, n, k, run->alpha, a_mem,
                            offset_of(left), a.leading, b_mem, offset_of(right), b.leading, run->beta, c_mem,
                            offset_of(run->c), c.leading, &command_queue, NULL);
    else
        code = CLBlastSgemmStridedBatched(CLBlastLayoutRowMajor, a.transpose, b.transpose, m, n, k, run->alpha, a_mem,
                                          offset_of(left), a.leading, (size_t)s.a_batch, b_mem, offset_of(right),
                                          b.leading, (size_t)s.b_batch, run->beta, c_mem, offset_of(run->c), c.leading,
                                          (size_t)s.c_batch, (size_t)s.batch, &command_queue, NULL);
    // C is written by CLBlast's last kernel alone. Where one is refused, those before it have read A and B into memory
    // of CLBlast's own: nothing has begun, and nobody waits for what they read.
    if (code != CLBlastSuccess)
        return husk__fail_opencl(scope, HUSK_UNSUPPORTED, (int32_t)code, "CLBlast refuses with code %d", (int)code);
    const husk_buffer *const used[] = {run->a->buffer, given_b->buffer, run->c->buffer};
    husk__launch_note_foreign(queue, used, 3);
    return HUSK_OK;
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *arguments, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    (void)scratch;
    const husk__gemm_problem *problem = plan->problem;
    const clblast_state *state = plan->state;
    const husk__gemm_run *given = arguments;
    const husk__gemm_shape *s = &problem->shape;
    husk__gemm_reduce finish = {.parts = HUSK__ARG_TENSOR(given->c),
                                .row = s->c_row,
                                .column = s->c_column,
                                .batch = s->c_batch,
                                .splits = 1,
                                .alpha = 1.0f};
    if (s->k == 0) { // BLAS refuses what the mathematics allows
        finish.splits = 0;
        finish.beta = given->beta;
        return husk__gemm_reduce_launch(state->finish, queue, problem, &finish, given, scope);
    }
    husk_status status = multiply(problem, queue, given, scope);
    if (status != HUSK_OK || (!problem->has_bias && problem->activation == HUSK_ACT_NONE))
        return status;
    status = husk__gemm_reduce_launch(state->finish, queue, problem, &finish, given, scope);
    // C has been written: another variant must not be tried on it, since it would apply beta again.
    return status == HUSK_UNSUPPORTED ? HUSK_OPENCL : status;
}

const husk__variant husk__gemm_clblast = {
    .name = "clblast",
    .family = HUSK__FAMILY_ANY,
    .configurations = configurations,
    .configuration_count = 1,
    .supports = supports,
    .cost = cost,
    .flops = husk__gemm_flops,
    .prepare = prepare,
    .run = run,
};

#else
typedef int husk__gemm_without_clblast; // a file must declare something
#endif
