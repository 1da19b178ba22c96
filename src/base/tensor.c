// SPDX-License-Identifier: MIT
#include "base/axis.h"
#include "base/tensor.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"

uint64_t husk_dtype_size(husk_dtype dtype)
{
    switch (dtype) {
#define SIZE(name, number, bytes) \
    case HUSK_##name:             \
        return bytes;
        HUSK_DTYPE_LIST(SIZE)
#undef SIZE
    }
    return 0;
}

const char *husk_dtype_name(husk_dtype dtype)
{
    switch (dtype) {
    case HUSK_F32:
        return "f32";
    case HUSK_F16:
        return "f16";
    case HUSK_BF16:
        return "bf16";
    case HUSK_F64:
        return "f64";
    case HUSK_I8:
        return "i8";
    case HUSK_U8:
        return "u8";
    case HUSK_I32:
        return "i32";
    case HUSK_I64:
        return "i64";
    }
    return "unknown";
}

static bool all_strides_zero(const husk_tensor *tensor)
{
    for (int32_t d = 0; d < tensor->rank; ++d)
        if (tensor->strides[d] != 0)
            return false;
    return true;
}

static bool product(const husk_tensor *tensor, int64_t *count)
{
    bool is_empty = false;
    *count = 1;
    for (int32_t d = 0; d < tensor->rank; ++d) {
        if (tensor->shape[d] < 0)
            return false;
        is_empty = is_empty || tensor->shape[d] == 0;
    }
    if (is_empty)
        return *count = 0, true;
    for (int32_t d = 0; d < tensor->rank; ++d)
        if (!husk__mul_i64(*count, tensor->shape[d], count))
            return false;
    return true;
}

// Strides of packed memory in which dimensions lie in the given order, fastest last.
static void pack_strides(husk_tensor *tensor, const int32_t *order)
{
    int64_t stride = 1;
    for (int32_t i = tensor->rank - 1; i >= 0; --i) {
        int32_t d = order[i];
        tensor->strides[d] = stride;
        // Overflow is possible only beside a dimension of 0, where no stride is ever taken.
        if (tensor->shape[d] > 0 && !husk__mul_i64(stride, tensor->shape[d], &stride))
            stride = 1;
    }
}

static void row_major_order(int32_t rank, int32_t *order)
{
    for (int32_t d = 0; d < rank; ++d)
        order[d] = d;
}

static void channels_last_order(int32_t rank, int32_t *order)
{
    row_major_order(rank, order);
    if (rank < 3)
        return;
    for (int32_t d = 1; d + 1 < rank; ++d)
        order[d] = d + 1;
    order[rank - 1] = 1;
}

void husk__tensor_resolve(husk_tensor *tensor)
{
    if (!all_strides_zero(tensor))
        return;
    int32_t order[HUSK_MAX_RANK];
    row_major_order(tensor->rank, order);
    pack_strides(tensor, order);
}

void husk__tensor_bare(husk_tensor *tensor)
{
    husk__tensor_resolve(tensor);
    tensor->buffer = NULL;
    tensor->packed = NULL;
    tensor->offset = 0;
}

husk_tensor husk__tensor_bare_copy(const husk_tensor *tensor)
{
    husk_tensor copy = *tensor;
    husk__tensor_bare(&copy);
    return copy;
}

static husk_tensor make(husk_buffer *buffer, husk_dtype dtype, int32_t rank, const int64_t *shape)
{
    husk_tensor tensor = {.buffer = buffer, .dtype = dtype, .rank = rank};
    for (int32_t d = 0; d < rank && d < HUSK_MAX_RANK; ++d)
        tensor.shape[d] = shape[d];
    return tensor;
}

husk_tensor husk_tensor_make(husk_buffer *buffer, husk_dtype dtype, int32_t rank, const int64_t *shape)
{
    husk_tensor tensor = make(buffer, dtype, rank, shape);
    if (rank >= 0 && rank <= HUSK_MAX_RANK && husk_tensor_count(&tensor) >= 0)
        husk__tensor_resolve(&tensor);
    return tensor;
}

husk_tensor husk_tensor_make_channels_last(husk_buffer *buffer, husk_dtype dtype, int32_t rank, const int64_t *shape)
{
    husk_tensor tensor = make(buffer, dtype, rank, shape);
    if (rank >= 0 && rank <= HUSK_MAX_RANK && husk_tensor_count(&tensor) >= 0) {
        int32_t order[HUSK_MAX_RANK];
        channels_last_order(rank, order);
        pack_strides(&tensor, order);
    }
    return tensor;
}

static husk_tensor impossible(void)
{
    return (husk_tensor){.rank = -1};
}

// The tensor with its strides written out; false where it is no plain, valid one.
static bool view_of(const husk_tensor *tensor, husk_tensor *view)
{
    if (!tensor || tensor->packed || husk_tensor_count(tensor) < 0)
        return false;
    *view = *tensor;
    husk__tensor_resolve(view);
    return true;
}

int32_t husk_tensor_dimension(const husk_tensor *tensor, int32_t axis)
{
    return tensor ? husk__axis_dimension(axis, tensor->rank) : -1;
}

husk_tensor husk_tensor_permute(const husk_tensor *tensor, const int32_t *order)
{
    husk_tensor from, view;
    uint32_t seen = 0;
    if (!view_of(tensor, &from))
        return impossible();
    view = from;
    for (int32_t d = 0; d < from.rank; ++d) {
        const int32_t own = husk__axis_dimension(order[d], from.rank);
        if (own < 0 || (seen >> own & 1))
            return impossible();
        seen |= 1u << own;
        view.shape[d] = from.shape[own];
        view.strides[d] = from.strides[own];
    }
    return view;
}

husk_tensor husk_tensor_slice(const husk_tensor *tensor, int32_t axis, int64_t first, int64_t count, int64_t step)
{
    husk_tensor view;
    int64_t reach, start, last = 0;
    if (!view_of(tensor, &view))
        return impossible();
    const int32_t dimension = husk__axis_dimension(axis, view.rank);
    if (dimension < 0 || first < 0 || count < 0 || step < 1)
        return impossible();
    if (count > 0 && (!husk__mul_i64(count - 1, step, &reach) || !husk__add_i64(first, reach, &last) ||
                      last >= view.shape[dimension]))
        return impossible();
    if (count > 0) {
        if (!husk__mul_i64(first, view.strides[dimension], &start) || !husk__add_i64(view.offset, start, &view.offset))
            return impossible();
        // Of a single element the step is never taken.
        if (count > 1 && !husk__mul_i64(view.strides[dimension], step, &view.strides[dimension]))
            return impossible();
    }
    view.shape[dimension] = count;
    return view;
}

husk_tensor husk_tensor_reshape(const husk_tensor *tensor, int32_t rank, const int64_t *shape)
{
    husk_tensor from;
    if (!view_of(tensor, &from) || rank < 0 || rank > HUSK_MAX_RANK)
        return impossible();
    husk_tensor view = make(from.buffer, from.dtype, rank, shape);
    const int64_t count = husk_tensor_count(&from);
    if (husk_tensor_count(&view) != count || (count > 0 && !husk__tensor_is_packed(&from)))
        return impossible();
    view.offset = from.offset;
    husk__tensor_resolve(&view);
    return view;
}

husk_tensor husk_tensor_expand(const husk_tensor *tensor, int32_t rank, const int64_t *shape)
{
    husk_tensor from;
    if (!view_of(tensor, &from) || rank < from.rank || rank > HUSK_MAX_RANK)
        return impossible();
    husk_tensor view = make(from.buffer, from.dtype, rank, shape);
    view.offset = from.offset;
    for (int32_t d = 0; d < rank; ++d) {
        const int32_t own = d - (rank - from.rank);
        if (shape[d] < 0 || (own >= 0 && from.shape[own] != 1 && from.shape[own] != shape[d]))
            return impossible();
        view.strides[d] = own >= 0 && from.shape[own] == shape[d] ? from.strides[own] : 0;
    }
    const int64_t count = husk_tensor_count(&view);
    return count < 0 || (count > 1 && all_strides_zero(&view)) ? impossible() : view;
}

int64_t husk_tensor_count(const husk_tensor *tensor)
{
    int64_t count;
    if (!tensor || tensor->rank < 0 || tensor->rank > HUSK_MAX_RANK || !product(tensor, &count))
        return -1;
    return count;
}

int64_t husk__tensor_count(const husk_tensor *tensor)
{
    int64_t count = 0;
    product(tensor, &count);
    return count;
}

static bool last_index(const husk_tensor *tensor, int64_t *last)
{
    *last = 0;
    for (int32_t d = 0; d < tensor->rank; ++d) {
        int64_t reach;
        if (tensor->strides[d] < 0 || !husk__mul_i64(tensor->shape[d] - 1, tensor->strides[d], &reach) ||
            !husk__add_i64(*last, reach, last))
            return false;
    }
    return true;
}

int64_t husk_tensor_extent(const husk_tensor *tensor)
{
    int64_t count = husk_tensor_count(tensor);
    if (count <= 0)
        return count;
    int64_t elements = count, bytes; // packed, unless there are strides
    if (!all_strides_zero(tensor) && (!last_index(tensor, &elements) || !husk__add_i64(elements, 1, &elements)))
        return -1;
    if (!husk__mul_i64(elements, (int64_t)husk_dtype_size(tensor->dtype), &bytes))
        return -1;
    return bytes;
}

bool husk__tensor_broadcast(const husk_tensor *tensor, husk_tensor *shape)
{
    const husk_tensor before = *shape;
    shape->rank = tensor->rank > before.rank ? tensor->rank : before.rank;
    for (int32_t d = 0; d < shape->rank; ++d) {
        const int32_t i = d - (shape->rank - tensor->rank), k = d - (shape->rank - before.rank);
        const int64_t own = i < 0 ? 1 : tensor->shape[i], other = k < 0 ? 1 : before.shape[k];
        if (own != other && own != 1 && other != 1)
            return false;
        shape->shape[d] = own == 1 ? other : own;
    }
    return true;
}

husk_status husk__tensor_check_broadcast(const husk_tensor *tensor, const char *argument, const husk_tensor *to,
                                         const char *other, const husk__scope *scope)
{
    char is[HUSK__SHAPE_TEXT], must[HUSK__SHAPE_TEXT];
    bool fits = tensor->rank <= to->rank;
    for (int32_t d = 0; d < tensor->rank && fits; ++d)
        fits = tensor->shape[d] == 1 || tensor->shape[d] == to->shape[to->rank - tensor->rank + d];
    if (fits)
        return HUSK_OK;
    return husk__reject(scope, argument, "shape is %s, which does not broadcast to %s's %s",
                        husk__shape_text(tensor, is), other, husk__shape_text(to, must));
}

int64_t husk__tensor_last(const husk_tensor *tensor)
{
    int64_t last = 0;
    for (int32_t d = 0; d < tensor->rank; ++d) {
        if (tensor->shape[d] == 0)
            return -1;
        last += (tensor->shape[d] - 1) * tensor->strides[d];
    }
    return last;
}

// Of a tensor without elements the other dimensions count as well: shares and sums are reckoned with them.
static husk_tensor without_zeros(const husk_tensor *tensor)
{
    husk_tensor whole = *tensor;
    for (int32_t d = 0; d < whole.rank; ++d)
        whole.shape[d] += whole.shape[d] == 0;
    return whole;
}

husk_status husk__tensor_check(const husk_tensor *tensor, const char *argument, const husk__scope *scope)
{
    if (!tensor)
        return husk__reject(scope, argument, "is NULL");
    if (tensor->rank < 0 || tensor->rank > HUSK_MAX_RANK)
        return husk__reject(scope, argument, "rank is %d, must be 0 to %d", (int)tensor->rank, HUSK_MAX_RANK);
    if (husk_dtype_size(tensor->dtype) == 0)
        return husk__reject(scope, argument, "dtype %d is unknown", (int)tensor->dtype);
    for (int32_t d = 0; d < tensor->rank; ++d) {
        if (tensor->shape[d] < 0)
            return husk__reject(scope, argument, "shape[%d] is %lld, must not be negative", (int)d,
                                (long long)tensor->shape[d]);
        if (tensor->strides[d] < 0)
            return husk__reject(scope, argument, "strides[%d] is %lld, must not be negative", (int)d,
                                (long long)tensor->strides[d]);
    }
    if (tensor->offset < 0)
        return husk__reject(scope, argument, "offset is %lld, must not be negative", (long long)tensor->offset);
    const husk_tensor whole = without_zeros(tensor);
    if (husk_tensor_extent(&whole) < 0)
        return husk__reject(scope, argument, "its size overflows 64 bits");
    // Behind elements that strides of 0 repeat there is no memory that would bound their number.
    const int64_t count = husk__tensor_count(&whole);
    if (count > HUSK__MOST_ELEMENTS)
        return husk__reject(scope, argument, "its size of %lld elements is more than 2^52", (long long)count);
    return HUSK_OK;
}

// Sorted by stride, each dimension must step over all that the faster ones reach.
bool husk__tensor_may_alias_itself(const husk_tensor *tensor)
{
    int32_t order[HUSK_MAX_RANK];
    int32_t count = 0;
    for (int32_t d = 0; d < tensor->rank; ++d) {
        if (tensor->shape[d] == 0)
            return false;
        if (tensor->shape[d] == 1)
            continue;
        int32_t at = count++;
        while (at > 0 && tensor->strides[order[at - 1]] > tensor->strides[d]) {
            order[at] = order[at - 1];
            --at;
        }
        order[at] = d;
    }
    int64_t reach = 0;
    for (int32_t i = 0; i < count; ++i) {
        int64_t stride = tensor->strides[order[i]];
        if (stride <= reach)
            return true;
        reach += (tensor->shape[order[i]] - 1) * stride;
    }
    return false;
}

static bool has_packed_order(const husk_tensor *tensor, const int32_t *order)
{
    int64_t stride = 1;
    for (int32_t i = tensor->rank - 1; i >= 0; --i) {
        int32_t d = order[i];
        if (tensor->shape[d] == 1)
            continue;
        if (tensor->strides[d] != stride)
            return false;
        stride *= tensor->shape[d];
    }
    return true;
}

bool husk__tensor_is_packed(const husk_tensor *tensor)
{
    int32_t order[HUSK_MAX_RANK];
    row_major_order(tensor->rank, order);
    return has_packed_order(tensor, order);
}

bool husk__tensor_is_channels_last(const husk_tensor *tensor)
{
    int32_t order[HUSK_MAX_RANK];
    channels_last_order(tensor->rank, order);
    return has_packed_order(tensor, order);
}

const char *husk__shape_text(const husk_tensor *tensor, char text[HUSK__SHAPE_TEXT])
{
    size_t used = 0;
    text[used++] = '[';
    for (int32_t d = 0; d < tensor->rank; ++d)
        used += (size_t)snprintf(text + used, HUSK__SHAPE_TEXT - used, "%s%lld", d ? ", " : "",
                                 (long long)tensor->shape[d]);
    snprintf(text + used, HUSK__SHAPE_TEXT - used, "]");
    return text;
}

husk_status husk__tensor_check_plain(const husk_tensor *tensor, husk_dtype dtype, const char *argument,
                                     const husk__scope *scope)
{
    husk_status status = husk__tensor_check(tensor, argument, scope);
    if (status != HUSK_OK)
        return status;
    if (tensor->packed)
        return husk__reject(scope, argument, "is packed weights, a plain tensor is wanted");
    if (tensor->dtype != dtype)
        return husk__fail(scope, HUSK_UNSUPPORTED, "%s: is %s; only %s is computed here", argument,
                          husk_dtype_name(tensor->dtype), husk_dtype_name(dtype));
    return HUSK_OK;
}

static husk_status check_plain_of(const husk_tensor *tensor, const char *argument, bool may_be_f64,
                                  const husk__scope *scope)
{
    husk_status status = husk__tensor_check(tensor, argument, scope);
    if (status != HUSK_OK)
        return status;
    if (tensor->packed)
        return husk__reject(scope, argument, "is packed weights, a plain tensor is wanted");
    if (tensor->dtype != HUSK_F32 && tensor->dtype != HUSK_F16 && tensor->dtype != HUSK_BF16 &&
        !(may_be_f64 && tensor->dtype == HUSK_F64))
        return husk__fail(scope, HUSK_UNSUPPORTED, "%s: is %s; only f32, f16%s are computed here", argument,
                          husk_dtype_name(tensor->dtype), may_be_f64 ? ", bf16 and f64" : " and bf16");
    return HUSK_OK;
}

husk_status husk__tensor_check_float(const husk_tensor *tensor, const char *argument, const husk__scope *scope)
{
    return check_plain_of(tensor, argument, false, scope);
}

husk_status husk__tensor_check_number(const husk_tensor *tensor, const char *argument, const husk__scope *scope)
{
    return check_plain_of(tensor, argument, true, scope);
}

husk_status husk__tensor_check_indices(const husk_tensor *tensor, const char *argument, const husk__scope *scope)
{
    husk_status status = husk__tensor_check(tensor, argument, scope);
    if (status == HUSK_OK && tensor->packed)
        return husk__reject(scope, argument, "is packed weights, a plain tensor is wanted");
    if (status == HUSK_OK && tensor->dtype != HUSK_I32 && tensor->dtype != HUSK_I64)
        return husk__fail(scope, HUSK_UNSUPPORTED, "%s: is %s; only i32 and i64 are taken here", argument,
                          husk_dtype_name(tensor->dtype));
    return status;
}

husk_status husk__tensor_check_dtype(const husk_tensor *tensor, const char *argument, husk_dtype dtype,
                                     const char *other, const husk__scope *scope)
{
    if (tensor->dtype == dtype)
        return HUSK_OK;
    return husk__reject(scope, argument, "is %s, must be %s %s", husk_dtype_name(tensor->dtype), husk_dtype_name(dtype),
                        other);
}

uint64_t husk__accumulator_size(husk_dtype dtype)
{
    return dtype == HUSK_F64 ? sizeof(double) : sizeof(float);
}

const char *husk__dtype_option(husk_dtype dtype)
{
    switch (dtype) {
    case HUSK_F16:
        return "-DDTYPE_F16";
    case HUSK_BF16:
        return "-DDTYPE_BF16";
    case HUSK_F64:
        return "-DDTYPE_F64";
    default:
        return "-DDTYPE_F32";
    }
}

husk_status husk__tensor_check_shape(const husk_tensor *tensor, const char *argument, int32_t rank,
                                     const int64_t *shape, const char *other, const husk__scope *scope)
{
    husk_tensor wanted = {.rank = rank};
    bool is_same = tensor->rank == rank;
    for (int32_t d = 0; d < rank; ++d) {
        wanted.shape[d] = shape[d];
        is_same = is_same && tensor->shape[d] == shape[d];
    }
    if (is_same)
        return HUSK_OK;
    char is[HUSK__SHAPE_TEXT], must[HUSK__SHAPE_TEXT];
    return husk__reject(scope, argument, "shape is %s, must be %s%s%s", husk__shape_text(tensor, is),
                        husk__shape_text(&wanted, must), other[0] ? ", " : "", other);
}

husk_status husk__tensor_check_distinct(const husk_tensor *tensor, const char *argument, const husk__scope *scope)
{
    husk_tensor resolved = *tensor;
    husk__tensor_resolve(&resolved);
    if (husk__tensor_may_alias_itself(&resolved))
        return husk__reject(scope, argument, "its strides make elements coincide");
    return HUSK_OK;
}
