// SPDX-License-Identifier: MIT
// Layer, RMS, group, instance and batch normalisation: validate -> resolve -> choose. The variants are in
// ops/norm/rows.c, ops/norm/columns.c and ops/norm/workgroup.c, the gradients in ops/norm/backward*.c.
#include <husk/ops/norm.h>

#include <math.h>

#include "base/axis.h"
#include "base/params.h"
#include "base/tensor.h"
#include "ops/norm/problem.h"

const char *husk_norm_kind_name(husk_norm_kind kind)
{
    switch (kind) {
#define NAME(name, number, text)  \
    case HUSK_NORM_##name:        \
        return text;
        HUSK_NORM_LIST(NAME)
#undef NAME
    }
    return "unknown";
}

// ---- what forward and backward share ----

void husk__norm_describe(const void *untyped, husk__key *key)
{
    const husk__norm_problem *own = untyped;
    husk__key_i64(key, own->kind);
    husk__key_i64(key, own->dimensions);
    husk__key_i64(key, own->groups);
    husk__key_f32(key, own->epsilon);
    husk__key_f32(key, own->momentum);
    husk__key_i64(key, own->uses_running);
    husk__key_i64(key, own->is_backward);
    husk__key_i64(key, own->accumulate);
    husk__key_i64(key, own->wants_input);
    husk__key_i64(key, own->wants_parameters);
    for (int t = 0; t < HUSK__NORM_TENSORS; ++t)
        husk__key_tensor(key, &own->tensors[t]);
}

void husk__norm_classify(const void *untyped, husk__text *text)
{
    const husk__norm_problem *own = untyped;
    const husk__norm_lists sets = husk__norm_sets(own);
    husk__norm_list inner = sets.inner;
    husk__norm_columns columns;
    const bool is_packed = husk__norm_take_last(&inner).strides[HUSK__NORM_X] == 1;
    husk__text_format(text, " %s %s%s %s", husk_dtype_name(own->tensors[HUSK__NORM_X].dtype),
                      husk_norm_kind_name(own->kind), own->uses_running ? " running" : "",
                      husk__norm_as_columns(own, &columns) ? "columns" : is_packed ? "rows" : "strided");
    if (own->is_backward)
        husk__text_format(text, " %s%s", own->wants_input ? "dx" : "", own->wants_parameters ? " parameters" : "");
    husk__class_size(text, "sets", sets.outer_count);
    husk__class_size(text, "elements", sets.inner_count);
}

static bool is_trailing(const husk_norm_params *params)
{
    return params->kind == HUSK_NORM_LAYER || params->kind == HUSK_NORM_RMS;
}

// How many of the last dimensions are a set of LAYER and RMS.
static int32_t get_dimensions(const husk_norm_params *params, const husk_tensor *x)
{
    return x->rank - husk__axis_dimension(params->axis, x->rank);
}

static husk_status check_shape_options(const husk_norm_params *params, const husk_tensor *x, const husk__scope *scope)
{
    if (is_trailing(params)) {
        if (x->rank < 1)
            return husk__reject(scope, "x", "rank is 0, must be 1 to %d", HUSK_MAX_RANK);
        if (husk__axis_dimension(params->axis, x->rank) < 0)
            return husk__reject(scope, "params", "axis " HUSK__AXIS_TEXT,
                                HUSK__AXIS_VALUES(params->axis, x->rank, "x"));
        if (params->groups)
            return husk__reject(scope, "params", "groups is %u, but kind is %s", (unsigned)params->groups,
                                husk_norm_kind_name(params->kind));
        return HUSK_OK;
    }
    if (x->rank < 2)
        return husk__reject(scope, "x", "rank is %d, must be 2 to %d: N, C, space", (int)x->rank,
                            HUSK_MAX_RANK);
    if (params->groups && params->kind != HUSK_NORM_GROUP)
        return husk__reject(scope, "params", "groups is %u, but kind is %s", (unsigned)params->groups,
                            husk_norm_kind_name(params->kind));
    if (params->groups && x->shape[1] % params->groups)
        return husk__reject(scope, "params", "groups is %u, must divide x's %lld channels", (unsigned)params->groups,
                            (long long)x->shape[1]);
    return HUSK_OK;
}

husk_status husk__norm_check_params(const husk_norm_params *params, const husk_tensor *x, const husk__scope *scope)
{
    if ((uint32_t)params->kind > (uint32_t)HUSK_NORM_BATCH)
        return husk__reject(scope, "params", "kind is %d, which is none", (int)params->kind);
    if (!isfinite(params->epsilon) || params->epsilon < 0)
        return husk__reject(scope, "params", "epsilon is %g, must be finite and not negative",
                            (double)params->epsilon);
    if (!(params->momentum >= 0 && params->momentum <= 1))
        return husk__reject(scope, "params", "momentum is %g, must be 0 to 1", (double)params->momentum);
    if (params->training && params->kind != HUSK_NORM_BATCH)
        return husk__reject(scope, "params", "training is not 0, but kind is %s",
                            husk_norm_kind_name(params->kind));
    if (params->accumulate & ~(uint32_t)HUSK_ACCUMULATE_ALL)
        return husk__reject(scope, "params", "accumulate is %u, which has unknown bits", (unsigned)params->accumulate);
    return check_shape_options(params, x, scope);
}

static husk_tensor make_small(const husk_norm_params *params, const husk_tensor *x, husk__norm_belonging belonging)
{
    const int32_t first = is_trailing(params) ? husk__axis_dimension(params->axis, x->rank) : 0;
    const int64_t groups = params->kind == HUSK_NORM_GROUP ? (params->groups ? params->groups : 1) : x->shape[1];
    const husk_dtype statistic = x->dtype == HUSK_F64 ? HUSK_F64 : HUSK_F32;
    const int64_t by_image[] = {x->shape[0], groups};
    if (is_trailing(params) && belonging == HUSK__NORM_STATISTIC)
        return husk_tensor_make(NULL, statistic, first, x->shape);
    if (is_trailing(params))
        return husk_tensor_make(NULL, x->dtype, x->rank - first, x->shape + first);
    if (belonging == HUSK__NORM_PARAMETER || params->kind == HUSK_NORM_BATCH)
        return husk_tensor_make(NULL, belonging == HUSK__NORM_PARAMETER ? x->dtype : statistic, 1, &x->shape[1]);
    return husk_tensor_make(NULL, statistic, 2, by_image);
}

husk_status husk__norm_check_small(const husk_norm_params *params, const husk_tensor *x, const husk_tensor *small,
                                   husk__norm_belonging belonging, bool is_needed, const char *argument,
                                   const husk__scope *scope)
{
    if (!small)
        return is_needed ? husk__reject(scope, argument, "is NULL, but it is needed") : HUSK_OK;
    const husk_tensor wanted = make_small(params, x, belonging);
    husk_status status = husk__tensor_check_plain(small, wanted.dtype, argument, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(small, argument, wanted.rank, wanted.shape, "as x and params want it", scope);
    husk_tensor resolved = *small;
    if (status == HUSK_OK)
        husk__tensor_resolve(&resolved);
    if (status == HUSK_OK && husk__tensor_count(small) > 0 && !husk__tensor_is_packed(&resolved))
        status = husk__reject(scope, argument, "has strides, must be packed");
    return status;
}

husk_status husk__norm_check_saved(const husk_norm_params *params, const husk_tensor *x, const husk_tensor *mean,
                                   const husk_tensor *rstd, bool is_needed, const husk__scope *scope)
{
    const bool has_mean = params->kind != HUSK_NORM_RMS;
    if (mean && !has_mean)
        return husk__reject(scope, "mean", "must be NULL: kind rms has none");
    husk_status status =
        husk__norm_check_small(params, x, mean, HUSK__NORM_STATISTIC, is_needed && has_mean, "mean", scope);
    if (status == HUSK_OK)
        status = husk__norm_check_small(params, x, rstd, HUSK__NORM_STATISTIC, is_needed, "rstd", scope);
    return status;
}

static husk_tensor without_memory(const husk_tensor *tensor)
{
    husk_tensor plain = *tensor;
    husk__tensor_resolve(&plain);
    plain.buffer = NULL;
    plain.packed = NULL;
    plain.offset = 0;
    return plain;
}

husk__norm_problem husk__norm_resolve(const husk_norm_params *params, const husk_tensor *x, const husk_tensor *y,
                                      const husk_tensor *z)
{
    husk__norm_problem own = {.kind = params->kind, .epsilon = params->epsilon, .momentum = params->momentum};
    own.dimensions = is_trailing(params) ? get_dimensions(params, x) : 0;
    if (!is_trailing(params))
        own.groups = params->kind != HUSK_NORM_GROUP ? x->shape[1] : params->groups ? params->groups : 1;
    own.uses_running = params->kind == HUSK_NORM_BATCH && !params->training;
    own.tensors[HUSK__NORM_X] = without_memory(x);
    own.tensors[HUSK__NORM_Y] = without_memory(y);
    own.tensors[HUSK__NORM_Z] = without_memory(z ? z : x);
    return own;
}

// ---- the operator ----

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

static husk_status bind(husk_queue *queue, const husk_tensor *tensor, const char *argument, const husk__scope *scope)
{
    return tensor ? husk__tensor_bind(queue, tensor, argument, scope) : HUSK_OK;
}

static husk_status bind_all(husk_queue *queue, const husk__norm_arguments *given, const husk__scope *scope)
{
    husk_status status = bind(queue, given->x, "x", scope);
    status = status ? status : bind(queue, given->scale, "scale", scope);
    status = status ? status : bind(queue, given->bias, "bias", scope);
    status = status ? status : bind(queue, given->running_mean, "running_mean", scope);
    status = status ? status : bind(queue, given->running_variance, "running_variance", scope);
    status = status ? status : bind(queue, given->y, "y", scope);
    status = status ? status : bind(queue, given->mean, "mean", scope);
    return status ? status : bind(queue, given->rstd, "rstd", scope);
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

husk_status husk_norm(husk_queue *queue, const husk_norm_params *params, const husk_tensor *x,
                      const husk_tensor *scale, const husk_tensor *bias, const husk_tensor *running_mean,
                      const husk_tensor *running_variance, const husk_tensor *y, const husk_tensor *mean,
                      const husk_tensor *rstd)
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
        status = husk__params_read(&options, sizeof options, "husk_norm_defaults",
                                   params ? params : &defaults, &scope);
    if (status == HUSK_OK)
        status = validate(queue, &options, &given, &scope);
    if (status != HUSK_OK || husk__tensor_count(x) == 0)
        return status;

    const husk__norm_problem own = husk__norm_resolve(&options, x, y, NULL);
    const husk_tensor *const operands[] = {x, y, scale, bias};
    const husk__wish wish = husk__wish_of(options.variant, 0, operands, 4);
    return husk__plan_immediate(queue, &husk__op_norm, &own, &wish, &given, &scope);
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
        const husk__wish wish = {0};
        const husk__norm_arguments given = {.x = &images[i], .y = &images[i]};
        status = husk__plan_immediate(queue, &husk__op_norm, &own, &wish, &given, scope);
    }
    husk_buffer_release(buffer);
    return status;
}
