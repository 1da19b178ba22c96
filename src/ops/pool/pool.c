// SPDX-License-Identifier: MIT
// Maximum and average pooling: validate -> resolve -> choose, with ops/pool/problem.c. The variants are in
// ops/pool/variants.c.
#include "base/checked.h"
#include "base/tensor.h"
#include "ops/pool/problem.h"

typedef husk__pool_dimension dimension;

static void write_case(const void *untyped, const void *untyped_run, husk__case *c)
{
    const husk__pool_problem *own = untyped;
    const husk__pool_arguments *given = untyped_run;
    husk__pool_begin_case(own, given ? given->x : NULL, own->has_indices, c);
}

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&husk__pool_planes, &husk__pool_channels, &husk__pool_window,
                                                &husk__pool_direct, NULL};

const husk__op husk__op_pool = {
    .name = "pool",
    .problem_size = sizeof(husk__pool_problem),
    .variants = variants,
    .describe = husk__pool_describe,
    .prewarm = prewarm,
    .classify = husk__pool_classify,
    .write_case = write_case,
};

// ---- the public calls ----

husk_status husk_pool_output_shape(const husk_pool_params *params, const husk_tensor *x, int64_t shape[HUSK_MAX_RANK],
                                   husk_error *error)
{
    const husk__scope scope = {"husk_pool_output_shape", error};
    husk_pool_params own;
    dimension dimensions[3];
    husk_status status = husk__pool_check_params(params, &own, x, "x", &scope);
    if (status == HUSK_OK && !shape)
        status = husk__reject(&scope, "shape", "is NULL");
    if (status == HUSK_OK)
        status = husk__pool_resolve_dimensions(&own, x, dimensions, &scope);
    if (status == HUSK_OK)
        husk__pool_write_shape(x, dimensions, shape);
    return status;
}

static husk_status validate_indices(husk_queue *queue, const husk_pool_params *params, const husk_tensor *x,
                                    const husk_tensor *y, const husk_tensor *indices, const int64_t *shape,
                                    const husk__scope *scope)
{
    husk_status status = husk__pool_check_indices(params, indices, x->rank, shape, "as y", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(indices, "indices", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, indices, "indices", scope);
    if (status == HUSK_OK)
        status = husk__refuse_overlap(indices, "indices", x, "x", scope);
    if (status == HUSK_OK)
        status = husk__refuse_overlap(indices, "indices", y, "y", scope);
    int64_t positions = 1;
    for (int32_t d = 2; d < x->rank; ++d)
        if (!husk__mul_i64(positions, x->shape[d], &positions))
            positions = INT64_MAX;
    if (status == HUSK_OK && indices->dtype == HUSK_I32 && positions > INT32_MAX)
        status = husk__reject(scope, "indices", "is i32, which cannot number x's %lld positions", (long long)positions);
    return status;
}

static husk_status validate(husk_queue *queue, const husk_pool_params *params, const husk_tensor *x,
                            const husk_tensor *y, const husk_tensor *indices, const int64_t *shape,
                            const husk__scope *scope)
{
    husk_status status = husk__tensor_check_plain(y, x->dtype, "y", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(y, "y", x->rank, shape, "see husk_pool_output_shape", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(y, "y", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, x, "x", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, y, "y", scope);
    if (status == HUSK_OK)
        status = husk__refuse_overlap(y, "y", x, "x", scope);
    if (status == HUSK_OK && indices)
        status = validate_indices(queue, params, x, y, indices, shape, scope);
    if (status == HUSK_OK && (x->shape[0] > HUSK__POOL_LARGEST || x->shape[1] > HUSK__POOL_LARGEST))
        status = husk__fail(scope, HUSK_UNSUPPORTED, "x: more than %d images or channels", HUSK__POOL_LARGEST);
    return status;
}

husk_status husk_pool(husk_queue *queue, const husk_pool_params *params, const husk_tensor *x, const husk_tensor *y,
                      const husk_tensor *indices)
{
    husk__scope scope;
    husk_pool_params given;
    dimension dimensions[3];
    int64_t shape[HUSK_MAX_RANK];
    husk_status status = husk__call_begin(queue, "husk_pool", &scope);
    if (status == HUSK_OK)
        status = husk__pool_check_params(params, &given, x, "x", &scope);
    if (status == HUSK_OK)
        status = husk__dtype_check(husk_queue_context(queue), x->dtype, "x", &scope);
    if (status == HUSK_OK)
        status = husk__pool_resolve_dimensions(&given, x, dimensions, &scope);
    if (status != HUSK_OK)
        return status;
    husk__pool_write_shape(x, dimensions, shape);
    status = validate(queue, &given, x, y, indices, shape, &scope);
    if (status != HUSK_OK || husk__tensor_count(y) == 0)
        return status;

    const husk__pool_problem own = husk__pool_resolve(&given, x, y, indices, dimensions);
    const husk_tensor *const operands[] = {x, y};
    const husk__preference preference = husk__preference_of(given.variant, 0, operands, 2);
    const husk__pool_arguments tensors = {x, y, indices};
    return husk__plan_immediate(queue, &husk__op_pool, &own, &preference, &tensors, &scope);
}

// Maximum and average over 3x3 windows, and global average, on a few numbers.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const int64_t x_shape[] = {1, 4, 16, 16};
    husk_pool_params cases[] = {HUSK_POOL_PARAMS(.kind = HUSK_POOL_MAX, .window = {3, 3}, .stride = {2, 2}),
                                HUSK_POOL_PARAMS(.kind = HUSK_POOL_AVG, .window = {3, 3}, .stride = {2, 2}),
                                HUSK_POOL_PARAMS(.kind = HUSK_POOL_AVG, .global = 1)};
    husk_buffer *buffer;
    husk_status status =
        husk_buffer_create(husk_queue_context(queue), 2 * 4 * 16 * 16 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 4, x_shape);
    for (int i = 0; i < 3 && status == HUSK_OK; ++i) {
        dimension dimensions[3];
        int64_t shape[HUSK_MAX_RANK];
        status = husk__pool_resolve_dimensions(&cases[i], &x, dimensions, scope);
        if (status != HUSK_OK)
            break;
        husk__pool_write_shape(&x, dimensions, shape);
        husk_tensor y = husk_tensor_make(buffer, HUSK_F32, 4, shape);
        y.offset = 4 * 16 * 16;
        const husk__pool_problem own = husk__pool_resolve(&cases[i], &x, &y, NULL, dimensions);
        const husk__preference preference = {0};
        const husk__pool_arguments tensors = {&x, &y, NULL};
        status = husk__plan_immediate(queue, &husk__op_pool, &own, &preference, &tensors, scope);
    }
    husk_buffer_release(buffer);
    return status;
}
