// SPDX-License-Identifier: MIT
// Normalisation's options and small tensors: what is valid, and the problem they make, for forward and backward.
#include "ops/norm/problem.h"

#include <math.h>

#include "base/axis.h"
#include "base/tensor.h"

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
        return husk__reject(scope, "x", "rank is %d, must be 2 to %d: N, C, space", (int)x->rank, HUSK_MAX_RANK);
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
        return husk__reject(scope, "params", "epsilon is %g, must be finite and not negative", (double)params->epsilon);
    if (!(params->momentum >= 0 && params->momentum <= 1))
        return husk__reject(scope, "params", "momentum is %g, must be 0 to 1", (double)params->momentum);
    if (params->training && params->kind != HUSK_NORM_BATCH)
        return husk__reject(scope, "params", "training is not 0, but kind is %s", husk_norm_kind_name(params->kind));
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

husk__norm_problem husk__norm_resolve(const husk_norm_params *params, const husk_tensor *x, const husk_tensor *y,
                                      const husk_tensor *z)
{
    husk__norm_problem own = {.kind = params->kind, .epsilon = params->epsilon, .momentum = params->momentum};
    own.dimensions = is_trailing(params) ? get_dimensions(params, x) : 0;
    if (!is_trailing(params))
        own.groups = params->kind != HUSK_NORM_GROUP ? x->shape[1] : params->groups ? params->groups : 1;
    own.uses_running = params->kind == HUSK_NORM_BATCH && !params->training;
    own.tensors[HUSK__NORM_X] = husk__tensor_bare_copy(x);
    own.tensors[HUSK__NORM_Y] = husk__tensor_bare_copy(y);
    own.tensors[HUSK__NORM_Z] = husk__tensor_bare_copy(z ? z : x);
    return own;
}
