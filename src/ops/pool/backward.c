// SPDX-License-Identifier: MIT
// The gradient of maximum and average pooling: validate -> resolve -> choose. The variants are in
// ops/pool/backward_variants.c.
#include <string.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/pool/backward_problem.h"

typedef husk__pool_backward_problem problem;
typedef husk__pool_backward_arguments arguments;
typedef husk__pool_dimension dimension;

static void describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    husk__pool_describe(&own->pool, key);
    husk__key_i64(key, own->accumulates + 2 * own->recomputes);
    for (int i = 0; i < 5; ++i)
        husk__key_i64(key, own->source_strides[i]);
}

static void classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    husk__pool_classify(&own->pool, text);
    husk__text_format(text, "%s%s", own->accumulates ? " accumulate" : "", own->recomputes ? " anew" : "");
}

static void write_case(const void *untyped, const void *untyped_run, husk__case *c)
{
    const problem *own = untyped;
    const arguments *given = untyped_run;
    husk__pool_begin_case(&own->pool, given ? given->dx : NULL, own->pool.has_indices && !own->recomputes, c);
    husk__case_word(c, "dir", "bwd", NULL);
    if (own->accumulates)
        husk__case_note(c, "accumulates");
}

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&husk__pool_backward_planes, &husk__pool_backward_channels,
                                                &husk__pool_backward_direct, NULL};

const husk__op husk__op_pool_backward = {
    .name = "pool_backward",
    .problem_size = sizeof(problem),
    .variants = variants,
    .describe = describe,
    .prewarm = prewarm,
    .classify = classify,
    .write_case = write_case,
};

// Where indices do not do, x is read: it has dx's shape.
static husk_status validate_x(husk_queue *queue, const husk_tensor *x, const husk_tensor *dx, const husk__scope *scope)
{
    if (!x)
        return husk__reject(scope, "x", "is NULL, and there are no indices: MAX needs one of them");
    husk_status status = husk__tensor_check_plain(x, dx->dtype, "x", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(x, "x", dx->rank, dx->shape, "as dx", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, x, "x", scope);
    if (status == HUSK_OK)
        status = husk__refuse_overlap(dx, "dx", x, "x", scope);
    return status;
}

static husk_status validate_indices(husk_queue *queue, const husk_pool_params *params, const husk_tensor *indices,
                                    const husk_tensor *dx, const int64_t *shape, const husk__scope *scope)
{
    husk_status status = husk__pool_check_indices(params, indices, dx->rank, shape, "as dy", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, indices, "indices", scope);
    if (status == HUSK_OK)
        status = husk__refuse_overlap(dx, "dx", indices, "indices", scope);
    return status;
}

static husk_status validate(husk_queue *queue, const husk_pool_params *params, const arguments *given,
                            const int64_t *shape, const husk__scope *scope)
{
    const husk_tensor *dx = given->dx, *dy = given->dy;
    husk_status status = husk__tensor_check_plain(dy, dx->dtype, "dy", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(dy, "dy", dx->rank, shape, "see husk_pool_output_shape", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(dx, "dx", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, dx, "dx", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, dy, "dy", scope);
    if (status == HUSK_OK)
        status = husk__refuse_overlap(dx, "dx", dy, "dy", scope);
    if (status == HUSK_OK && given->indices)
        status = validate_indices(queue, params, given->indices, dx, shape, scope);
    if (status == HUSK_OK && params->kind == HUSK_POOL_MAX && !given->indices)
        status = validate_x(queue, given->x, dx, scope);
    if (status == HUSK_OK && (dx->shape[0] > HUSK__POOL_LARGEST || dx->shape[1] > HUSK__POOL_LARGEST))
        status = husk__fail(scope, HUSK_UNSUPPORTED, "dx: more than %d images or channels", HUSK__POOL_LARGEST);
    return status;
}

static problem resolve(const husk_pool_params *params, const arguments *given, const dimension dimensions[3])
{
    problem own;
    memset(&own, 0, sizeof own);
    own.accumulates = (params->accumulate & HUSK_ACCUMULATE_INPUTS) != 0;
    own.recomputes = params->kind == HUSK_POOL_MAX && !given->indices;
    if (!own.recomputes) {
        own.pool = husk__pool_resolve(params, given->dx, given->dy, given->indices, dimensions);
        return own;
    }
    int64_t positions = 1;
    for (int32_t d = 2; d < given->dx->rank; ++d)
        if (!husk__mul_i64(positions, given->dx->shape[d], &positions))
            positions = INT64_MAX;
    husk_tensor dx = *given->dx;
    husk__tensor_resolve(&dx);
    const husk_tensor saved =
        husk__pool_backward_saved(given->dy, dx.shape[1] > 1 && dx.strides[1] == 1, positions > INT32_MAX);
    own.pool = husk__pool_resolve(params, given->dx, given->dy, &saved, dimensions);
    const husk__pool_problem by_x = husk__pool_resolve(params, given->x, given->dy, &saved, dimensions);
    if (memcmp(own.pool.in, by_x.in, sizeof by_x.in) == 0)
        memcpy(own.source_strides, by_x.x_strides, sizeof by_x.x_strides);
    return own;
}

husk_status husk_pool_backward(husk_queue *queue, const husk_pool_params *params, const husk_tensor *x,
                               const husk_tensor *indices, const husk_tensor *dy, const husk_tensor *dx)
{
    husk__scope scope;
    husk_pool_params given;
    dimension dimensions[3];
    int64_t shape[HUSK_MAX_RANK];
    husk_status status = husk__call_begin(queue, "husk_pool_backward", &scope);
    if (status == HUSK_OK)
        status = husk__pool_check_params(params, &given, dx, "dx", &scope);
    if (status == HUSK_OK)
        status = husk__dtype_check(husk_queue_context(queue), dx->dtype, "dx", &scope);
    if (status == HUSK_OK && (given.accumulate & ~(uint32_t)HUSK_ACCUMULATE_ALL))
        status = husk__reject(&scope, "params", "accumulate is %u, which has unknown bits", (unsigned)given.accumulate);
    if (status == HUSK_OK)
        status = husk__pool_resolve_dimensions(&given, dx, dimensions, &scope);
    if (status != HUSK_OK)
        return status;
    husk__pool_write_shape(dx, dimensions, shape);
    const arguments tensors = {&given, x, indices, dy, dx};
    status = validate(queue, &given, &tensors, shape, &scope);
    if (status != HUSK_OK || husk__tensor_count(dx) == 0)
        return status;

    const problem own = resolve(&given, &tensors, dimensions);
    const husk_tensor *const operands[] = {dx, dy};
    const husk__preference preference = husk__preference_of(given.variant, 0, operands, 2);
    return husk__plan_immediate(queue, &husk__op_pool_backward, &own, &preference, &tensors, &scope);
}

// Maximum, with indices, and average over 3x3 windows on a few numbers.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const int64_t shape[] = {1, 4, 16, 16};
    husk_buffer *buffer;
    husk_status status =
        husk_buffer_create(husk_queue_context(queue), 3 * 4 * 16 * 16 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const uint32_t zero = 0;
    status = husk_buffer_fill(queue, buffer, 0, 3 * 4 * 16 * 16 * sizeof(float), &zero, sizeof zero);
    const husk_tensor dx = husk_tensor_make(buffer, HUSK_F32, 4, shape);
    for (int i = 0; i < 2 && status == HUSK_OK; ++i) {
        const husk_pool_params params =
            HUSK_POOL_PARAMS(.kind = i ? HUSK_POOL_AVG : HUSK_POOL_MAX, .window = {3, 3}, .stride = {2, 2});
        dimension dimensions[3];
        int64_t out[HUSK_MAX_RANK];
        status = husk__pool_resolve_dimensions(&params, &dx, dimensions, scope);
        if (status != HUSK_OK)
            break;
        husk__pool_write_shape(&dx, dimensions, out);
        husk_tensor dy = husk_tensor_make(buffer, HUSK_F32, 4, out);
        husk_tensor indices = husk_tensor_make(buffer, HUSK_I32, 4, out);
        dy.offset = 4 * 16 * 16;
        indices.offset = 2 * 4 * 16 * 16;
        const arguments tensors = {&params, NULL, i ? NULL : &indices, &dy, &dx};
        const problem own = resolve(&params, &tensors, dimensions);
        const husk__preference preference = {0};
        status = husk__plan_immediate(queue, &husk__op_pool_backward, &own, &preference, &tensors, scope);
    }
    husk_buffer_release(buffer);
    return status;
}
