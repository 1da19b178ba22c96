// SPDX-License-Identifier: MIT
// Padding's calls: what is valid, and the dimensions as the kernels take them.
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/layout/pad_problem.h"

// ---- values as bits ----

static uint16_t f16_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u)
        return sign | 0x7e00u;
    if (bits >= 0x477ff000u) // 65520 and more
        return sign | 0x7c00u;
    if (bits < 0x38800000u) // denormal: a multiple of 2^-24
        return sign | (uint16_t)lrintf(fabsf(value) * 16777216.0f);
    const uint32_t rounded = bits + 0xfffu + (bits >> 13 & 1u);
    return sign | (uint16_t)((rounded - 0x38000000u) >> 13);
}

static uint16_t bf16_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return isnan(value) ? (uint16_t)(bits >> 16 | 0x40u) : (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

// Its last bit is set where it is not the value itself: rounded once more, to fewer bits, it is as if it had been
// rounded once.
static float sticky(double value)
{
    float single = (float)value;
    uint32_t bits;
    if ((double)single == value || !isfinite(single))
        return single;
    memcpy(&bits, &single, sizeof bits);
    if (fabs((double)single) > fabs(value))
        bits--; // towards zero
    bits |= 1;
    memcpy(&single, &bits, sizeof bits);
    return single;
}

static int64_t bits_of(husk_dtype dtype, double value)
{
    const float single = (float)value;
    uint32_t word;
    int64_t bits;
    switch (dtype) {
    case HUSK_F32:
        memcpy(&word, &single, sizeof word);
        return word;
    case HUSK_F16:
        return f16_bits(sticky(value));
    case HUSK_BF16:
        return bf16_bits(sticky(value));
    case HUSK_F64:
        memcpy(&bits, &value, sizeof bits);
        return bits;
    default:
        return (int64_t)value;
    }
}

static bool holds(husk_dtype dtype, double value)
{
    switch (dtype) {
    case HUSK_I8:
        return value == trunc(value) && fabs(value + 0.5) <= 127.5;
    case HUSK_U8:
        return value == trunc(value) && value >= 0 && value <= 255;
    case HUSK_I32:
        return value == trunc(value) && fabs(value + 0.5) <= 2147483647.5;
    case HUSK_I64:
        return value == trunc(value) && fabs(value) <= 9007199254740992.0;
    default:
        return true;
    }
}

// ---- validate ----

static husk_status check_widths(const husk_pad_params *params, const husk_tensor *x, const char *x_name,
                                const husk__scope *scope)
{
    for (int32_t d = 0; d < x->rank; ++d) {
        const int64_t n = x->shape[d], before = params->before[d], after = params->after[d];
        const int64_t widest = husk__max_i64(before, after);
        int64_t total;
        if (__builtin_add_overflow(n, before, &total) || __builtin_add_overflow(total, after, &total))
            return husk__reject(scope, "params", "before and after overflow in dimension %d", (int)d);
        if (before < -n || after < -n || total < 0)
            return husk__reject(scope, "params",
                                "before %lld and after %lld cut off more of dimension %d than there is",
                                (long long)before, (long long)after, (int)d);
        if (params->mode == HUSK_PAD_CONSTANT || widest <= 0)
            continue;
        if (n == 0)
            return husk__reject(scope, x_name, "has nothing in dimension %d to pad with", (int)d);
        if ((params->mode == HUSK_PAD_REFLECT && widest >= n) || (params->mode == HUSK_PAD_CIRCULAR && widest > n))
            return husk__reject(scope, "params", "before or after, %lld, is too wide for dimension %d of %lld elements",
                                (long long)widest, (int)d, (long long)n);
    }
    return HUSK_OK;
}

static husk_status check_params(const husk_pad_params *params, husk_dtype dtype, const husk__scope *scope)
{
    if ((int)params->mode < HUSK_PAD_CONSTANT || params->mode > HUSK_PAD_CIRCULAR)
        return husk__reject(scope, "params", "mode %d is none of husk_pad_mode", (int)params->mode);
    if (params->accumulate > HUSK_ACCUMULATE_ALL)
        return husk__reject(scope, "params", "accumulate %u has bits that mean nothing", (unsigned)params->accumulate);
    if (params->mode == HUSK_PAD_CONSTANT && !holds(dtype, params->value))
        return husk__reject(scope, "params", "value %g is none of %s", params->value, husk_dtype_name(dtype));
    return HUSK_OK;
}

husk_status husk__pad_validate(husk_queue *queue, const husk_pad_params *params, bool is_gradient,
                               const husk__pad_arguments *given, const husk__scope *scope)
{
    const husk_tensor *x = given->x, *y = given->y;
    const char *x_name = is_gradient ? "dx" : "x", *y_name = is_gradient ? "dy" : "y";
    husk_status status = is_gradient ? husk__tensor_check_real(queue, y, y_name, scope)
                                     : husk__tensor_check_plain(x, x ? x->dtype : HUSK_F32, x_name, scope);
    if (status == HUSK_OK)
        status = is_gradient ? husk__tensor_check_plain(x, y->dtype, x_name, scope)
                             : husk__tensor_check_plain(y, x->dtype, y_name, scope);
    if (status == HUSK_OK)
        status = check_params(params, x->dtype, scope);
    if (status == HUSK_OK)
        status = check_widths(params, x, x_name, scope);
    if (status != HUSK_OK)
        return status;
    husk_tensor wanted = *x;
    for (int32_t d = 0; d < x->rank; ++d)
        wanted.shape[d] += params->before[d] + params->after[d];
    status = husk__tensor_check_shape(y, y_name, wanted.rank, wanted.shape, "as it is padded", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(is_gradient ? x : y, is_gradient ? x_name : y_name, scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, x, x_name, scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, y, y_name, scope);
    if (status == HUSK_OK)
        status = is_gradient ? husk__refuse_overlap(x, x_name, y, y_name, scope)
                             : husk__refuse_overlap(y, y_name, x, x_name, scope);
    return status;
}

// ---- resolve ----

// Larger strides first: those of what is written decide.
static bool comes_before(const husk__pad_problem *own, const husk__pad_dimension *a, const husk__pad_dimension *b)
{
    if (own->is_gradient ? a->x_stride != b->x_stride : a->y_stride != b->y_stride)
        return own->is_gradient ? a->x_stride > b->x_stride : a->y_stride > b->y_stride;
    return own->is_gradient ? a->y_stride > b->y_stride : a->x_stride > b->x_stride;
}

static void insert(husk__pad_problem *own, husk__pad_dimension dimension)
{
    int32_t at = own->rank++;
    for (; at > 0 && comes_before(own, &dimension, &own->dimensions[at - 1]); --at)
        own->dimensions[at] = own->dimensions[at - 1];
    own->dimensions[at] = dimension;
}

// One dimension of an outer and an inner one that is not padded: mirrored and repeated edges are of single elements.
static bool merges(const husk__pad_problem *own, const husk__pad_dimension *outer, const husk__pad_dimension *inner)
{
    const bool goes_on = own->mode == HUSK_PAD_CONSTANT || own->mode == HUSK_PAD_CIRCULAR;
    return inner->before == 0 && inner->extent == inner->total &&
           (goes_on || (outer->before == 0 && outer->extent == outer->total)) &&
           outer->x_stride == inner->extent * inner->x_stride && outer->y_stride == inner->total * inner->y_stride;
}

static void merge(husk__pad_problem *own)
{
    int32_t rank = 0;
    for (int32_t d = 0; d < own->rank; ++d) {
        husk__pad_dimension inner = own->dimensions[d];
        if (rank > 0 && merges(own, &own->dimensions[rank - 1], &inner)) {
            const husk__pad_dimension *outer = &own->dimensions[--rank];
            inner.before = outer->before * inner.extent;
            inner.total *= outer->total;
            inner.extent *= outer->extent;
        }
        own->dimensions[rank++] = inner;
    }
    own->rank = rank;
}

husk__pad_problem husk__pad_resolve(const husk_pad_params *params, bool is_gradient, const husk__pad_arguments *given)
{
    husk_tensor x = *given->x, y = *given->y;
    husk__pad_problem own = {.is_gradient = is_gradient,
                             .adds = is_gradient && (params->accumulate & HUSK_ACCUMULATE_INPUTS),
                             .dtype = x.dtype,
                             .mode = params->mode};
    if (params->mode == HUSK_PAD_CONSTANT && !is_gradient)
        own.fill = bits_of(x.dtype, params->value);
    husk__tensor_resolve(&x);
    husk__tensor_resolve(&y);
    for (int32_t d = 0; d < x.rank; ++d)
        if (x.shape[d] != 1 || y.shape[d] != 1 || params->before[d] != 0)
            insert(&own, (husk__pad_dimension){x.shape[d], params->before[d], y.shape[d], x.strides[d], y.strides[d]});
    merge(&own);
    if (own.rank == 0)
        own.dimensions[own.rank++] = (husk__pad_dimension){1, 0, 1, 1, 1};
    return own;
}
