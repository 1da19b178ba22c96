// SPDX-License-Identifier: MIT
#include "runtime/loops.h"

#include "base/checked.h"

int64_t husk__broadcast_stride(const husk_tensor *tensor, int32_t rank, int32_t d)
{
    const int32_t own = d - (rank - tensor->rank);
    return own < 0 || tensor->shape[own] == 1 ? 0 : tensor->strides[own];
}

static bool comes_before(const husk__loop *a, const husk__loop *b, int leading)
{
    for (int i = 0; i < HUSK__LOOPS_TENSORS; ++i) {
        const int t = (leading + i) % HUSK__LOOPS_TENSORS;
        if (a->strides[t] != b->strides[t])
            return a->strides[t] > b->strides[t];
    }
    return false;
}

static void insert(husk__loops *loops, husk__loop loop, int leading)
{
    int32_t at = loops->rank++;
    while (at > 0 && comes_before(&loop, &loops->loops[at - 1], leading)) {
        loops->loops[at] = loops->loops[at - 1];
        --at;
    }
    loops->loops[at] = loop;
}

// Whether one step of the outer loop is a whole turn of the inner one, in every tensor.
static bool continues(const husk__loop *outer, const husk__loop *inner)
{
    for (int t = 0; t < HUSK__LOOPS_TENSORS; ++t)
        if (outer->strides[t] != inner->extent * inner->strides[t])
            return false;
    return true;
}

static void merge(husk__loops *loops)
{
    int32_t rank = 0;
    for (int32_t d = 0; d < loops->rank; ++d) {
        husk__loop inner = loops->loops[d];
        if (rank > 0 && continues(&loops->loops[rank - 1], &inner))
            inner.extent *= loops->loops[--rank].extent;
        loops->loops[rank++] = inner;
    }
    loops->rank = rank;
}

husk__loops husk__loops_make(int32_t rank, const int64_t *shape,
                             const husk_tensor *const tensors[HUSK__LOOPS_TENSORS], int leading)
{
    husk__loops loops = {0};
    for (int32_t d = 0; d < rank; ++d) {
        if (shape[d] == 1)
            continue;
        husk__loop loop = {.extent = shape[d]};
        for (int t = 0; t < HUSK__LOOPS_TENSORS; ++t) {
            const husk_tensor *tensor = tensors[t] ? tensors[t] : tensors[HUSK__LOOPS_U];
            loop.strides[t] = husk__broadcast_stride(tensor, rank, d);
        }
        insert(&loops, loop, leading);
    }
    merge(&loops);
    if (loops.rank == 0)
        loops = (husk__loops){.rank = 1, .loops = {{.extent = 1, .strides = {1, 1, 1, 1}}}};
    return loops;
}

int64_t husk__loops_count(const husk__loops *loops)
{
    int64_t count = 1;
    for (int32_t d = 0; d < loops->rank; ++d)
        count *= loops->loops[d].extent;
    return count;
}

int64_t husk__loops_reach(const husk__loops *loops)
{
    int64_t reach = husk__loops_count(loops);
    for (int t = 0; t < HUSK__LOOPS_TENSORS; ++t) {
        int64_t last = 0;
        for (int32_t d = 0; d < loops->rank; ++d)
            last += (loops->loops[d].extent - 1) * loops->loops[d].strides[t];
        reach = husk__max_i64(reach, last);
    }
    return reach;
}

husk__arg *husk__loops_write_args(const husk__loops *loops, husk__arg *arguments)
{
    const int32_t absent = HUSK_MAX_RANK - loops->rank;
    for (int32_t i = 0; i < HUSK_MAX_RANK; ++i)
        *arguments++ = HUSK__ARG_I64(i < absent ? 1 : loops->loops[i - absent].extent);
    for (int t = 0; t < HUSK__LOOPS_TENSORS; ++t)
        for (int32_t i = 0; i < HUSK_MAX_RANK; ++i)
            *arguments++ = HUSK__ARG_I64(i < absent ? 0 : loops->loops[i - absent].strides[t]);
    return arguments;
}
