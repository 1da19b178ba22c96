// SPDX-License-Identifier: MIT
// Pooling's options and tensors: what is valid, and the problem they make, which the gradient's begins with.
#include "ops/pool/problem.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/params.h"
#include "base/tensor.h"
#include "machine/predict.h"
#include "select/grid.h"

typedef husk__pool_dimension dimension;

// ---- one space dimension's options ----

static husk_status resolve_options(const husk_pool_params *params, int d, dimension *own, const husk__scope *scope)
{
    own->window = params->window[d];
    own->stride = params->stride[d] ? params->stride[d] : params->window[d];
    own->pad = params->pad[d];
    own->dilation = params->dilation[d] ? params->dilation[d] : 1;
    if (params->global) {
        if (own->window || own->stride || own->pad || params->pad_end_extra[d] || params->dilation[d])
            return husk__reject(scope, "params",
                                "global is set, so window, stride, pad, pad_end_extra and dilation must be 0");
        own->window = own->in;
        own->stride = 1;
        return HUSK_OK;
    }
    if (own->window < 1)
        return husk__reject(scope, "params", "window[%d] is %lld, must be at least 1", d, (long long)own->window);
    if (own->stride < 1)
        return husk__reject(scope, "params", "stride[%d] is %lld, must not be negative", d, (long long)own->stride);
    if (own->dilation < 1)
        return husk__reject(scope, "params", "dilation[%d] is %lld, must not be negative", d, (long long)own->dilation);
    if (own->pad < 0)
        return husk__reject(scope, "params", "pad[%d] is %lld, must not be negative", d, (long long)own->pad);
    if (!husk__add_i64(own->pad, params->pad_end_extra[d], &own->pad_end) || own->pad_end < 0)
        return husk__reject(scope, "params", "pad_end_extra[%d] is %lld, which makes %lld of pad no number from 0 on",
                            d, (long long)params->pad_end_extra[d], (long long)own->pad);
    return HUSK_OK;
}

// The quotient rounded down; b is positive.
static int64_t divide_down(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static husk_status resolve_dimension(const husk_pool_params *params, int d, dimension *own, const husk__scope *scope)
{
    husk_status status = resolve_options(params, d, own, scope);
    if (status != HUSK_OK)
        return status;
    if (own->in > HUSK__POOL_LARGEST || own->window > HUSK__POOL_LARGEST || own->stride > HUSK__POOL_LARGEST ||
        own->dilation > HUSK__POOL_LARGEST)
        return husk__fail(scope, HUSK_UNSUPPORTED, "params: a size or option of more than %d in dimension %d",
                          HUSK__POOL_LARGEST, d);
    own->out = 1;
    if (params->global)
        return HUSK_OK;
    const int64_t extent = own->dilation * (own->window - 1) + 1;
    if (own->pad >= extent || own->pad_end >= extent)
        return husk__reject(scope, "params", "%s[%d] is %lld, must be less than the window's extent of %lld",
                            own->pad >= extent ? "pad" : "pad and pad_end_extra", d,
                            (long long)(own->pad >= extent ? own->pad : own->pad_end), (long long)extent);
    if (extent > HUSK__POOL_LARGEST)
        return husk__fail(scope, HUSK_UNSUPPORTED, "params: window[%d] and dilation reach over more than %d elements",
                          d, HUSK__POOL_LARGEST);
    const int64_t last = own->in + own->pad + own->pad_end - extent;
    own->out = divide_down(params->ceil_mode ? last + own->stride - 1 : last, own->stride) + 1;
    if (params->ceil_mode && (own->out - 1) * own->stride >= own->in + own->pad)
        --own->out;
    if (own->out < 1)
        return husk__reject(scope, "params",
                            "window[%d] reaches over %lld elements, x and its padding have %lld in that dimension", d,
                            (long long)extent, (long long)(own->in + own->pad + own->pad_end));
    return HUSK_OK;
}

husk_status husk__pool_check_params(const husk_pool_params *given, husk_pool_params *params, const husk_tensor *x,
                                    const char *argument, const husk__scope *scope)
{
    if (!given)
        return husk__reject(scope, "params", "is NULL");
    husk_status status = husk__params_read(params, sizeof *params, "HUSK_POOL_PARAMS", given, scope);
    if (status == HUSK_OK && params->kind != HUSK_POOL_MAX && params->kind != HUSK_POOL_AVG)
        status = husk__reject(scope, "params", "kind is %d, which is none", (int)params->kind);
    if (status == HUSK_OK)
        status = husk__tensor_check_number(x, argument, scope);
    if (status == HUSK_OK && (x->rank < 3 || x->rank > 5))
        status = husk__reject(scope, argument, "rank is %d, must be 3, 4 or 5", (int)x->rank);
    return status;
}

// Dimensions before those that x has stay as a window of one element leaves them.
husk_status husk__pool_resolve_dimensions(const husk_pool_params *params, const husk_tensor *x, dimension dimensions[3],
                                          const husk__scope *scope)
{
    const int32_t space = x->rank - 2;
    for (int32_t i = 0; i < 3; ++i) {
        dimensions[i] = (dimension){.in = 1, .out = 1, .window = 1, .stride = 1, .dilation = 1};
        const int32_t d = i - (3 - space);
        if (d < 0)
            continue;
        dimensions[i].in = x->shape[2 + d];
        husk_status status = resolve_dimension(params, d, &dimensions[i], scope);
        if (status != HUSK_OK)
            return status;
    }
    return HUSK_OK;
}

void husk__pool_write_shape(const husk_tensor *x, const dimension dimensions[3], int64_t *shape)
{
    shape[0] = x->shape[0];
    shape[1] = x->shape[1];
    for (int32_t d = 2; d < x->rank; ++d)
        shape[d] = dimensions[d + 3 - x->rank].out;
}

husk_status husk__pool_check_indices(const husk_pool_params *params, const husk_tensor *indices, int32_t rank,
                                     const int64_t *shape, const char *other, const husk__scope *scope)
{
    if (params->kind != HUSK_POOL_MAX)
        return husk__reject(scope, "indices", "is given, but kind is not MAX");
    husk_status status = husk__tensor_check(indices, "indices", scope);
    if (status == HUSK_OK && indices->packed)
        status = husk__reject(scope, "indices", "is packed weights, a plain tensor is wanted");
    if (status == HUSK_OK && indices->dtype != HUSK_I32 && indices->dtype != HUSK_I64)
        status = husk__reject(scope, "indices", "is %s, must be i32 or i64", husk_dtype_name(indices->dtype));
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(indices, "indices", rank, shape, other, scope);
    return status;
}

// ---- the problem ----

static void write_strides(const husk_tensor *tensor, int64_t strides[5])
{
    husk_tensor resolved = *tensor;
    husk__tensor_resolve(&resolved);
    const int32_t missing = 5 - resolved.rank;
    for (int32_t i = 0; i < 5; ++i) {
        const int32_t d = i < 2 ? i : i - missing;
        const bool is_there = i < 2 || d >= 2;
        const bool is_one = !is_there || resolved.shape[d] <= 1;
        strides[i] = !is_one ? resolved.strides[d] : i == 1 || i == 4 ? 1 : 0;
    }
}

static bool is_spanned(const husk__pool_problem *own, int d)
{
    return own->out[d] == 1 && own->window[d] == own->in[d] && own->pad[d] == 0 && own->limit[d] == own->in[d] &&
           own->dilation[d] == 1;
}

// A dimension that windows span whole and that continues the width's memory becomes part of the width.
// Positions, counted row-major, stay what they are.
static void merge_spanned(husk__pool_problem *own)
{
    for (int d = POOL_H; d >= POOL_D; --d) {
        const int64_t merged = own->in[d] * own->in[POOL_W];
        if (own->in[d] == 1 && is_spanned(own, d))
            continue;
        const bool continues = own->in[POOL_W] == 1 || own->x_strides[2 + d] == own->in[POOL_W] * own->x_strides[4];
        if (!is_spanned(own, d) || !is_spanned(own, POOL_W) || !continues || merged > HUSK__POOL_LARGEST)
            return;
        if (own->in[POOL_W] == 1)
            own->x_strides[4] = own->x_strides[2 + d];
        own->in[POOL_W] = own->window[POOL_W] = own->limit[POOL_W] = merged;
        own->in[d] = own->window[d] = own->limit[d] = 1;
        own->x_strides[2 + d] = 0;
    }
}

husk__pool_problem husk__pool_resolve(const husk_pool_params *params, const husk_tensor *x, const husk_tensor *y,
                                      const husk_tensor *indices, const dimension dimensions[3])
{
    husk__pool_problem own;
    memset(&own, 0, sizeof own);
    own.kind = params->kind;
    own.dtype = x->dtype;
    own.has_indices = indices != NULL;
    own.indices_are_long = indices && indices->dtype == HUSK_I64;
    own.count_pad = params->count_pad != 0;
    own.batch = x->shape[0];
    own.channels = x->shape[1];
    for (int d = 0; d < 3; ++d) {
        own.in[d] = dimensions[d].in;
        own.out[d] = dimensions[d].out;
        own.window[d] = dimensions[d].window;
        own.stride[d] = dimensions[d].out == 1 ? 1 : dimensions[d].stride; // never used then
        own.pad[d] = dimensions[d].pad;
        own.dilation[d] = dimensions[d].window == 1 ? 1 : dimensions[d].dilation;
        own.limit[d] = dimensions[d].in + dimensions[d].pad_end;
    }
    write_strides(x, own.x_strides);
    write_strides(y, own.y_strides);
    if (indices)
        write_strides(indices, own.indices_strides);
    merge_spanned(&own);
    return own;
}

int64_t husk__pool_outputs(const husk__pool_problem *own)
{
    return own->batch * own->channels * own->out[POOL_D] * own->out[POOL_H] * own->out[POOL_W];
}

void husk__pool_describe(const void *untyped, husk__key *key)
{
    const husk__pool_problem *own = untyped;
    husk__key_i64(key, own->kind);
    husk__key_i64(key, own->dtype);
    husk__key_i64(key, own->has_indices + 2 * own->indices_are_long + 4 * own->count_pad);
    husk__key_i64(key, own->batch);
    husk__key_i64(key, own->channels);
    for (int d = 0; d < 3; ++d) {
        const int64_t fields[] = {own->in[d],  own->out[d],      own->window[d], own->stride[d],
                                  own->pad[d], own->dilation[d], own->limit[d]};
        for (size_t i = 0; i < sizeof fields / sizeof *fields; ++i)
            husk__key_i64(key, fields[i]);
    }
    for (int i = 0; i < 5; ++i) {
        husk__key_i64(key, own->x_strides[i]);
        husk__key_i64(key, own->y_strides[i]);
        husk__key_i64(key, own->indices_strides[i]);
    }
}

// Window and stride make the work of an element, and are few.
void husk__pool_classify(const void *untyped, husk__text *text)
{
    const husk__pool_problem *own = untyped;
    husk__text_format(text, " %s %s%s %s", husk_dtype_name(own->dtype), own->kind == HUSK_POOL_MAX ? "max" : "avg",
                      own->has_indices ? " indices" : "",
                      own->x_strides[1] == 1 && own->channels > 1 ? "nhwc" : "nchw");
    husk__text_format(text, " window=%lldx%lldx%lld stride=%lldx%lldx%lld", (long long)own->window[0],
                      (long long)own->window[1], (long long)own->window[2], (long long)own->stride[0],
                      (long long)own->stride[1], (long long)own->stride[2]);
    husk__class_size(text, "planes", own->batch * own->channels);
    husk__class_size(text, "w", own->out[POOL_W]);
    husk__class_size(text, "plane", own->out[POOL_D] * own->out[POOL_H] * own->out[POOL_W]);
}

// ---- what the variants of both share ----

bool husk__pool_refuse(char reason[HUSK__REASON_CAPACITY], const char *text)
{
    snprintf(reason, HUSK__REASON_CAPACITY, "%s", text);
    return false;
}

bool husk__pool_supports_direct(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    return (uint64_t)husk__grid_items(candidate->configuration) <= candidate->traits->work_group ||
           husk__pool_refuse(reason, "needs larger work-groups than the device has");
}

static husk__arg *add_strides(const int64_t strides[5], husk__arg *end)
{
    for (int i = 0; i < 5; ++i)
        *end++ = HUSK__ARG_I64(strides[i]);
    return end;
}

husk__arg *husk__pool_write_geometry(const husk__pool_problem *own, const husk_tensor *x, const husk_tensor *y,
                                     int32_t option, husk__arg *end)
{
    const int64_t *const dimensions[] = {own->in,  own->out,      own->window, own->stride,
                                         own->pad, own->dilation, own->limit};
    *end++ = HUSK__ARG_TENSOR(x);
    *end++ = HUSK__ARG_TENSOR(y);
    *end++ = HUSK__ARG_I32(own->batch);
    *end++ = HUSK__ARG_I32(own->channels);
    for (size_t i = 0; i < sizeof dimensions / sizeof *dimensions; ++i)
        for (int d = 0; d < 3; ++d)
            *end++ = HUSK__ARG_I32(dimensions[i][d]);
    *end++ = HUSK__ARG_I32(own->count_pad);
    *end++ = HUSK__ARG_I32(option);
    end = add_strides(own->x_strides, end);
    return add_strides(own->y_strides, end);
}

husk__arg *husk__pool_write_indices(const husk__pool_problem *own, const husk_tensor *indices, husk__arg *end)
{
    *end++ = HUSK__ARG_TENSOR(indices);
    *end++ = HUSK__ARG_I32(own->indices_are_long);
    return add_strides(own->indices_strides, end);
}

// ---- time ----

double husk__pool_time(const husk__candidate *candidate, int64_t units, double unit_operations)
{
    static const double OPERATION_CYCLES = 1.4; // measured: the middle of what variants take
    enum { GROUPS_PER_CORE = 16 };
    const husk_machine *machine = candidate->machine;
    const int64_t groups = husk__max_i64(1, husk__min_i64(units, GROUPS_PER_CORE * (int64_t)machine->cores));
    const double work = husk__cycles_ns(&machine->rates, (double)units * unit_operations * OPERATION_CYCLES);
    return husk__launch_time(machine, &machine->rates, work / (double)groups, groups);
}
