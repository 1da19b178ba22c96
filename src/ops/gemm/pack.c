// SPDX-License-Identifier: MIT
// Packed weights as aligned rows: what the variants that have no panels (packed.c, cpu_matrix.c) read.
#include "base/checked.h"
#include "base/tensor.h"
#include "ops/gemm/problem.h"

// Rows of packed weights begin at multiples of eight elements: 16 bytes of the narrowest dtype.
static int64_t row_stride(const husk__gemm_shape *shape)
{
    return husk__round_up(shape->n, 8);
}

void husk__gemm_use_rows(husk__gemm_shape *shape)
{
    shape->b_step = row_stride(shape);
    shape->b_column = 1;
    shape->b_batch = 0;
}

// Whatever the strides it is given with.
husk_status husk__gemm_rows_pack(const husk_plan *plan, husk_queue *queue, const husk_tensor *b, husk_packed **packed,
                                 const husk__scope *scope)
{
    const husk__gemm_problem *problem = plan->problem;
    int64_t elements;
    if (!husk__mul_i64(problem->shape.k, row_stride(&problem->shape), &elements) || elements > INT64_MAX / 4)
        return husk__reject(scope, "b", "is too large to pack");
    const husk__kernel *copy;
    char options[64];
    const size_t element = husk_dtype_size(problem->b.dtype);
    husk__gemm_problem as_output = {.dtype = problem->b.dtype,
                                    .shape = {.batch = 1,
                                              .m = problem->shape.k,
                                              .n = problem->shape.n,
                                              .c_row = row_stride(&problem->shape),
                                              .c_column = 1}};
    husk__gemm_options(&as_output, "", options, sizeof options);
    husk_status status = husk__kernel_get(plan->context, "gemm/reduce.cl", options, "husk_gemm_reduce", &copy, scope);
    if (status == HUSK_OK)
        status = husk__packed_create(plan, (uint64_t)elements * element, &problem->b, packed, scope);
    if (status != HUSK_OK || elements == 0)
        return status;
    husk_tensor plain = *b;
    husk__tensor_resolve(&plain);
    const husk_tensor rows = {.buffer = (*packed)->buffer, .dtype = problem->b.dtype, .rank = 2};
    const husk__gemm_reduce whole = {.parts = HUSK__ARG_TENSOR(b),
                                     .row = plain.strides[problem->transpose_b ? 1 : 0],
                                     .column = plain.strides[problem->transpose_b ? 0 : 1],
                                     .splits = 1,
                                     .alpha = 1.0f,
                                     .only_scales = true};
    const husk__gemm_run run = {.c = &rows};
    status = husk__gemm_reduce_launch(copy, queue, &as_output, &whole, &run, scope);
    if (status != HUSK_OK) {
        husk_packed_release(*packed);
        *packed = NULL;
    }
    return status;
}
