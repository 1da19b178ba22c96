// SPDX-License-Identifier: MIT
#include "runtime/walk.h"

#include "base/checked.h"

void husk__walk_add(husk__walk *walk, husk__walk_dimension dimension)
{
    if (dimension.extent != 1)
        walk->dimensions[walk->rank++] = dimension;
}

static bool comes_before(const husk__walk_dimension *a, const husk__walk_dimension *b, int leading)
{
    for (int i = 0; i < HUSK__WALK_TENSORS; ++i) {
        const int t = (leading + i) % HUSK__WALK_TENSORS;
        if (a->strides[t] != b->strides[t])
            return a->strides[t] > b->strides[t];
    }
    return false;
}

void husk__walk_sort(husk__walk *walk)
{
    husk__walk_sort_by(walk, 0);
}

void husk__walk_sort_by(husk__walk *walk, int leading)
{
    for (int32_t i = 1; i < walk->rank; ++i) {
        const husk__walk_dimension dimension = walk->dimensions[i];
        int32_t at = i;
        for (; at > 0 && comes_before(&dimension, &walk->dimensions[at - 1], leading); --at)
            walk->dimensions[at] = walk->dimensions[at - 1];
        walk->dimensions[at] = dimension;
    }
}

static bool follows(const husk__walk_dimension *outer, const husk__walk_dimension *inner)
{
    for (int t = 0; t < HUSK__WALK_TENSORS; ++t)
        if (outer->strides[t] != inner->extent * inner->strides[t])
            return false;
    return true;
}

void husk__walk_merge(husk__walk *walk)
{
    int32_t rank = 0;
    for (int32_t d = 0; d < walk->rank; ++d) {
        const husk__walk_dimension inner = walk->dimensions[d];
        if (rank > 0 && follows(&walk->dimensions[rank - 1], &inner)) {
            const int64_t outer = walk->dimensions[rank - 1].extent;
            walk->dimensions[rank - 1] = inner;
            walk->dimensions[rank - 1].extent = outer * inner.extent;
        } else {
            walk->dimensions[rank++] = inner;
        }
    }
    walk->rank = rank;
}

int64_t husk__broadcast_stride(const husk_tensor *tensor, int32_t rank, int32_t d)
{
    const int32_t own = d - (rank - tensor->rank);
    return own < 0 || tensor->shape[own] == 1 ? 0 : tensor->strides[own];
}

husk__walk husk__walk_make(int32_t rank, const int64_t *shape, const husk_tensor *const tensors[HUSK__WALK_TENSORS],
                           int leading)
{
    husk__walk walk = {0};
    for (int32_t d = 0; d < rank; ++d) {
        husk__walk_dimension dimension = {.extent = shape[d]};
        for (int t = 0; t < HUSK__WALK_TENSORS; ++t)
            dimension.strides[t] = husk__broadcast_stride(tensors[t] ? tensors[t] : tensors[HUSK__WALK_U], rank, d);
        husk__walk_add(&walk, dimension);
    }
    husk__walk_sort_by(&walk, leading);
    husk__walk_merge(&walk);
    if (walk.rank == 0)
        walk = (husk__walk){.rank = 1, .dimensions = {{.extent = 1, .strides = {1, 1, 1, 1}}}};
    return walk;
}

husk__walk_dimension husk__walk_take_last(husk__walk *walk)
{
    if (walk->rank == 0)
        return (husk__walk_dimension){.extent = 1};
    return walk->dimensions[--walk->rank];
}

void husk__walk_bring_last(husk__walk *walk, int tensor)
{
    int32_t least = -1;
    for (int32_t d = 0; d < walk->rank; ++d) {
        const int64_t stride = walk->dimensions[d].strides[tensor];
        if (stride > 0 && (least < 0 || stride <= walk->dimensions[least].strides[tensor]))
            least = d;
    }
    if (least < 0)
        return;
    const husk__walk_dimension dimension = walk->dimensions[least];
    for (int32_t d = least; d + 1 < walk->rank; ++d)
        walk->dimensions[d] = walk->dimensions[d + 1];
    walk->dimensions[walk->rank - 1] = dimension;
}

int64_t husk__walk_count(const husk__walk *walk)
{
    int64_t count = 1;
    for (int32_t d = 0; d < walk->rank; ++d)
        count *= walk->dimensions[d].extent;
    return count;
}

int64_t husk__walk_reach(const husk__walk *walk)
{
    int64_t reach = husk__walk_count(walk);
    for (int t = 0; t < HUSK__WALK_TENSORS; ++t) {
        int64_t last = 0;
        for (int32_t d = 0; d < walk->rank; ++d)
            last += (walk->dimensions[d].extent - 1) * walk->dimensions[d].strides[t];
        reach = husk__max_i64(reach, last);
    }
    return reach;
}

husk__walk_values husk__walk_prepare(const husk__walk *walk)
{
    husk__walk_values values = {.rank = walk->rank};
    for (int32_t i = 0; i < HUSK_MAX_RANK; ++i) {
        const int32_t d = i - (HUSK_MAX_RANK - walk->rank);
        values.extents[i] = d < 0 ? 1 : walk->dimensions[d].extent;
        for (int t = 0; t < HUSK__WALK_TENSORS; ++t)
            values.strides[t][i] = d < 0 ? 0 : walk->dimensions[d].strides[t];
    }
    return values;
}

husk__arg *husk__walk_write_args(const husk__walk_values *values, int tensors, husk__arg *arguments)
{
    *arguments++ = HUSK__ARG_I32(values->rank);
    *arguments++ = HUSK__ARG_I64X8(values->extents);
    for (int t = 0; t < tensors; ++t)
        *arguments++ = HUSK__ARG_I64X8(values->strides[t]);
    return arguments;
}
