// SPDX-License-Identifier: MIT
// Layer, RMS, group, instance and batch normalisation: validate -> resolve -> choose, with
// ops/norm/problem.c. The variants are in ops/norm/rows.c, columns.c, registers.c and workgroup.c.
#include "base/params.h"
#include "base/tensor.h"
#include "ops/norm/problem.h"

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&husk__norm_rows, &husk__norm_columns_variant, &husk__norm_workgroup,
                                                &husk__norm_registers, NULL};

const husk__op husk__op_norm = {
    .name = "norm",
    .problem_size = sizeof(husk__norm_problem),
    .variants = variants,
    .describe = husk__norm_describe,
    .prewarm = prewarm,
    .classify = husk__norm_classify,
    .write_case = husk__norm_write_case,
};

static husk_status check_running(const husk_norm_params *params, const husk__norm_arguments *given,
                                 const husk__scope *scope)
{
    const bool is_batch = params->kind == HUSK_NORM_BATCH, is_needed = is_batch && !params->training;
    if (!is_batch && (given->running_mean || given->running_variance))
        return husk__reject(scope, given->running_mean ? "running_mean" : "running_variance",
                            "must be NULL: kind is %s", husk_norm_kind_name(params->kind));
    husk_status status = husk__norm_check_small(params, given->x, given->running_mean, HUSK__NORM_STATISTIC, is_needed,
                                                "running_mean", scope);
    if (status == HUSK_OK)
        status = husk__norm_check_small(params, given->x, given->running_variance, HUSK__NORM_STATISTIC, is_needed,
                                        "running_variance", scope);
    const int64_t count = husk__tensor_count(given->x);
    if (status == HUSK_OK && is_batch && params->training && count > 0 && count == given->x->shape[1])
        status = husk__reject(scope, "x", "has one element a channel; training needs two at least");
    return status;
}

// No output shares memory with anything else; y may be x.
static husk_status check_overlaps(const husk__norm_arguments *given, bool updates, const husk__scope *scope)
{
    const struct {
        const husk_tensor *tensor;
        const char *name;
    } all[] = {{given->y, "y"},
               {given->mean, "mean"},
               {given->rstd, "rstd"},
               {given->running_mean, "running_mean"},
               {given->running_variance, "running_variance"},
               {given->scale, "scale"},
               {given->bias, "bias"},
               {given->x, "x"}};
    husk_status status = husk__refuse_partial_overlap(given->y, "y", given->x, "x", scope);
    const size_t outputs = updates ? 5 : 3, count = sizeof all / sizeof all[0];
    for (size_t i = 0; i < outputs; ++i)
        for (size_t j = i + 1; j < count && status == HUSK_OK && all[i].tensor; ++j)
            if (!(i == 0 && j == count - 1))
                status = husk__refuse_overlap(all[i].tensor, all[i].name, all[j].tensor, all[j].name, scope);
    return status;
}

static husk_status bind_all(husk_queue *queue, const husk__norm_arguments *given, const husk__scope *scope)
{
    husk_status status = husk__tensor_bind_given(queue, given->x, "x", scope);
    status = status ? status : husk__tensor_bind_given(queue, given->scale, "scale", scope);
    status = status ? status : husk__tensor_bind_given(queue, given->bias, "bias", scope);
    status = status ? status : husk__tensor_bind_given(queue, given->running_mean, "running_mean", scope);
    status = status ? status : husk__tensor_bind_given(queue, given->running_variance, "running_variance", scope);
    status = status ? status : husk__tensor_bind_given(queue, given->y, "y", scope);
    status = status ? status : husk__tensor_bind_given(queue, given->mean, "mean", scope);
    return status ? status : husk__tensor_bind_given(queue, given->rstd, "rstd", scope);
}

static husk_status validate(husk_queue *queue, const husk_norm_params *params, const husk__norm_arguments *given,
                            const husk__scope *scope)
{
    const husk_tensor *x = given->x;
    husk_status status = husk__tensor_check_real(queue, x, "x", scope);
    if (status == HUSK_OK)
        status = husk__norm_check_params(params, x, scope);
    if (status == HUSK_OK)
        status = husk__norm_check_small(params, x, given->scale, HUSK__NORM_PARAMETER, false, "scale", scope);
    if (status == HUSK_OK)
        status = husk__norm_check_small(params, x, given->bias, HUSK__NORM_PARAMETER, false, "bias", scope);
    if (status == HUSK_OK)
        status = check_running(params, given, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(given->y, x->dtype, "y", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(given->y, "y", x->rank, x->shape, "as x", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(given->y, "y", scope);
    if (status == HUSK_OK)
        status = husk__norm_check_saved(params, x, given->mean, given->rstd, false, scope);
    if (status == HUSK_OK)
        status = bind_all(queue, given, scope);
    if (status == HUSK_OK)
        status = check_overlaps(given, params->training != 0, scope);
    return status;
}

husk_status husk_norm(husk_queue *queue, const husk_norm_params *params, const husk_tensor *x, const husk_tensor *scale,
                      const husk_tensor *bias, const husk_tensor *running_mean, const husk_tensor *running_variance,
                      const husk_tensor *y, const husk_tensor *mean, const husk_tensor *rstd)
{
    const husk_norm_params defaults = husk_norm_defaults(HUSK_NORM_LAYER);
    husk__scope scope;
    husk_norm_params options;
    const husk__norm_arguments given = {.x = x,
                                        .scale = scale,
                                        .bias = bias,
                                        .running_mean = running_mean,
                                        .running_variance = running_variance,
                                        .y = y,
                                        .mean = mean,
                                        .rstd = rstd};
    husk_status status = husk__call_begin(queue, "husk_norm", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&options, sizeof options, "husk_norm_defaults", params ? params : &defaults, &scope);
    if (status == HUSK_OK)
        status = validate(queue, &options, &given, &scope);
    if (status != HUSK_OK || husk__tensor_count(x) == 0)
        return status;

    const husk__norm_problem own = husk__norm_resolve(&options, x, y, NULL);
    const husk_tensor *const operands[] = {x, y, scale, bias};
    const husk__preference preference = husk__preference_of(options.variant, 0, operands, 4);
    return husk__plan_immediate(queue, &husk__op_norm, &own, &preference, &given, &scope);
}

// A few rows, and a small image in both layouts.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const int64_t shape[] = {2, 32, 4, 4};
    husk_buffer *buffer;
    husk_status status =
        husk_buffer_create(husk_queue_context(queue), 2 * 32 * 16 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor images[] = {husk_tensor_make(buffer, HUSK_F32, 4, shape),
                                  husk_tensor_make_channels_last(buffer, HUSK_F32, 4, shape)};
    for (int i = 0; i < 2 && status == HUSK_OK; ++i) {
        const husk_norm_params params =
            HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_GROUP, .groups = 4, .axis = -1, .epsilon = 1e-5f);
        const husk__norm_problem own = husk__norm_resolve(&params, &images[i], &images[i], NULL);
        const husk__preference preference = {0};
        const husk__norm_arguments given = {.x = &images[i], .y = &images[i]};
        status = husk__plan_immediate(queue, &husk__op_norm, &own, &preference, &given, scope);
    }
    husk_buffer_release(buffer);
    return status;
}
