// SPDX-License-Identifier: MIT
// The gradients of normalisation: validate -> resolve -> choose. The variants are in ops/norm/backward_*.c.
#include "base/params.h"
#include "base/tensor.h"
#include "ops/norm/problem.h"

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&husk__norm_backward_rows, &husk__norm_backward_columns,
                                                &husk__norm_backward_workgroup, NULL};

const husk__op husk__op_norm_backward = {
    .name = "norm_backward",
    .problem_size = sizeof(husk__norm_problem),
    .variants = variants,
    .describe = husk__norm_describe,
    .prewarm = prewarm,
    .classify = husk__norm_classify,
    .write_case = husk__norm_write_case,
};

static husk_status check_like_x(const husk_tensor *x, const husk_tensor *tensor, bool is_output, const char *argument,
                                const husk__scope *scope)
{
    husk_status status = husk__tensor_check_plain(tensor, x->dtype, argument, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(tensor, argument, x->rank, x->shape, "as x", scope);
    if (status == HUSK_OK && is_output)
        status = husk__tensor_check_distinct(tensor, argument, scope);
    return status;
}

static husk_status check_numbers(husk_queue *queue, const husk_norm_params *params, const husk__norm_arguments *given,
                                 const husk__scope *scope)
{
    const husk_tensor *x = given->x;
    husk_status status = husk__tensor_check_real(queue, x, "x", scope);
    if (status == HUSK_OK)
        status = husk__norm_check_params(params, x, scope);
    if (status == HUSK_OK)
        status = husk__norm_check_small(params, x, given->scale, HUSK__NORM_PARAMETER, false, "scale", scope);
    if (status == HUSK_OK)
        status = husk__norm_check_saved(params, x, given->mean, given->rstd, true, scope);
    if (status == HUSK_OK)
        status = check_like_x(x, given->dy, false, "dy", scope);
    if (status == HUSK_OK && given->dx)
        status = check_like_x(x, given->dx, true, "dx", scope);
    if (status == HUSK_OK)
        status = husk__norm_check_small(params, x, given->dscale, HUSK__NORM_PARAMETER, false, "dscale", scope);
    if (status == HUSK_OK)
        status = husk__norm_check_small(params, x, given->dbias, HUSK__NORM_PARAMETER, false, "dbias", scope);
    if (status == HUSK_OK && !given->dx && !given->dscale && !given->dbias)
        status = husk__reject(scope, "dx", "dx, dscale and dbias are all NULL; one gradient at least must be wanted");
    return status;
}

// No gradient shares memory with anything else; dx may be x or dy, unless it is added to.
static husk_status check_overlaps(const husk_norm_params *params, const husk__norm_arguments *given,
                                  const husk__scope *scope)
{
    const struct {
        const husk_tensor *tensor;
        const char *name;
    } all[] = {{given->dx, "dx"},     {given->dscale, "dscale"}, {given->dbias, "dbias"}, {given->scale, "scale"},
               {given->mean, "mean"}, {given->rstd, "rstd"},     {given->x, "x"},         {given->dy, "dy"}};
    const bool may_replace = !(params->accumulate & HUSK_ACCUMULATE_INPUTS);
    husk_status status = HUSK_OK;
    for (size_t i = 0; i < 3; ++i)
        for (size_t j = i + 1; j < sizeof all / sizeof all[0] && status == HUSK_OK && all[i].tensor; ++j) {
            if (i == 0 && j >= 6 && may_replace)
                status = husk__refuse_partial_overlap(all[i].tensor, all[i].name, all[j].tensor, all[j].name, scope);
            else
                status = husk__refuse_overlap(all[i].tensor, all[i].name, all[j].tensor, all[j].name, scope);
        }
    return status;
}

static husk_status validate(husk_queue *queue, const husk_norm_params *params, const husk__norm_arguments *given,
                            const husk__scope *scope)
{
    husk_status status = check_numbers(queue, params, given, scope);
    status = status ? status : husk__tensor_bind_given(queue, given->x, "x", scope);
    status = status ? status : husk__tensor_bind_given(queue, given->scale, "scale", scope);
    status = status ? status : husk__tensor_bind_given(queue, given->mean, "mean", scope);
    status = status ? status : husk__tensor_bind_given(queue, given->rstd, "rstd", scope);
    status = status ? status : husk__tensor_bind_given(queue, given->dy, "dy", scope);
    status = status ? status : husk__tensor_bind_given(queue, given->dx, "dx", scope);
    status = status ? status : husk__tensor_bind_given(queue, given->dscale, "dscale", scope);
    status = status ? status : husk__tensor_bind_given(queue, given->dbias, "dbias", scope);
    return status ? status : check_overlaps(params, given, scope);
}

// The sum over nothing.
static husk_status write_zeros(husk_queue *queue, const husk_tensor *tensor)
{
    const uint16_t zero = 0;
    if (!tensor || husk__tensor_count(tensor) == 0)
        return HUSK_OK;
    const uint64_t size = husk_dtype_size(tensor->dtype);
    return husk_buffer_fill(queue, tensor->buffer, (uint64_t)tensor->offset * size,
                            (uint64_t)husk__tensor_count(tensor) * size, &zero, sizeof zero);
}

static husk_status finish_empty(husk_queue *queue, const husk_norm_params *params, const husk__norm_arguments *given,
                                const husk__scope *scope)
{
    if (params->accumulate & HUSK_ACCUMULATE_PARAMETERS)
        return HUSK_OK;
    husk_status status = write_zeros(queue, given->dscale);
    status = status ? status : write_zeros(queue, given->dbias);
    if (status != HUSK_OK)
        husk__name_outer(scope);
    return status;
}

static husk__norm_problem resolve(const husk_norm_params *params, const husk__norm_arguments *given)
{
    husk__norm_problem own = husk__norm_resolve(params, given->x, given->dy, given->dx);
    own.is_backward = true;
    own.accumulate = params->accumulate;
    own.wants_input = given->dx != NULL;
    own.wants_parameters = given->dscale || given->dbias;
    own.epsilon = own.momentum = 0; // rstd is given: they do not count
    return own;
}

husk_status husk_norm_backward(husk_queue *queue, const husk_norm_params *params, const husk_tensor *x,
                               const husk_tensor *scale, const husk_tensor *mean, const husk_tensor *rstd,
                               const husk_tensor *dy, const husk_tensor *dx, const husk_tensor *dscale,
                               const husk_tensor *dbias)
{
    const husk_norm_params defaults = husk_norm_defaults(HUSK_NORM_LAYER);
    husk__scope scope;
    husk_norm_params options;
    const husk__norm_arguments given = {
        .x = x, .scale = scale, .mean = mean, .rstd = rstd, .dy = dy, .dx = dx, .dscale = dscale, .dbias = dbias};
    husk_status status = husk__call_begin(queue, "husk_norm_backward", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&options, sizeof options, "husk_norm_defaults", params ? params : &defaults, &scope);
    if (status == HUSK_OK)
        status = validate(queue, &options, &given, &scope);
    if (status != HUSK_OK)
        return status;
    if (husk__tensor_count(x) == 0)
        return finish_empty(queue, &options, &given, &scope);

    const husk__norm_problem own = resolve(&options, &given);
    const husk_tensor *const operands[] = {x, dy, dx, scale, dscale, dbias};
    const husk__preference preference = husk__preference_of(options.variant, 0, operands, 6);
    return husk__plan_immediate(queue, &husk__op_norm_backward, &own, &preference, &given, &scope);
}

// A few rows, and a small image in both layouts; everything is in the same few numbers.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const int64_t shape[] = {2, 32, 4, 4}, statistics[] = {2, 4}, channels[] = {32};
    husk_buffer *buffer;
    husk_status status =
        husk_buffer_create(husk_queue_context(queue), 2 * 32 * 16 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor images[] = {husk_tensor_make(buffer, HUSK_F32, 4, shape),
                                  husk_tensor_make_channels_last(buffer, HUSK_F32, 4, shape)};
    const husk_tensor saved = husk_tensor_make(buffer, HUSK_F32, 2, statistics);
    const husk_tensor parameter = husk_tensor_make(buffer, HUSK_F32, 1, channels);
    for (int i = 0; i < 2 && status == HUSK_OK; ++i) {
        const husk_norm_params params =
            HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_GROUP, .groups = 4, .axis = -1, .epsilon = 1e-5f);
        const husk_tensor *x = &images[i];
        const husk__norm_arguments given = {
            .x = x, .mean = &saved, .rstd = &saved, .dy = x, .dx = x, .dscale = &parameter, .dbias = &parameter};
        const husk__norm_problem own = resolve(&params, &given);
        const husk__preference preference = {0};
        status = husk__plan_immediate(queue, &husk__op_norm_backward, &own, &preference, &given, scope);
    }
    husk_buffer_release(buffer);
    return status;
}
