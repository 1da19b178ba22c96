// SPDX-License-Identifier: MIT
#include "runtime/list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <husk/context.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "runtime/bind.h"
#include "runtime/probe.h"
#include "runtime/released.h"

static int64_t units_of(const husk_tensor *tensor)
{
    return husk__divide_up(husk__tensor_count(tensor), HUSK__LIST_UNIT);
}

int64_t husk__list_units(const husk__list *list)
{
    int64_t units = 0;
    for (size_t i = 0; i < list->count; ++i)
        units += units_of(list->tensors[i]);
    return units;
}

uint32_t husk__list_dtypes(const husk__list *list)
{
    uint32_t dtypes = 0;
    for (size_t i = 0; i < list->count; ++i)
        if (husk__tensor_count(list->tensors[i]) > 0)
            dtypes |= 1u << list->tensors[i]->dtype;
    return dtypes ? dtypes : 1u << husk__list_accumulator(list);
}

husk_dtype husk__list_accumulator(const husk__list *list)
{
    return list->count > 0 && list->tensors[0]->dtype == HUSK_F64 ? HUSK_F64 : HUSK_F32;
}

// ---- checks ----

static bool has_gaps(const husk_tensor *tensor)
{
    husk_tensor own = *tensor;
    husk__tensor_resolve(&own);
    return husk__tensor_count(&own) > 0 && husk__tensor_last(&own) + 1 != husk__tensor_count(&own);
}

typedef struct place {
    cl_mem root;
    uint64_t first, past;
    size_t index;
} place;

static int compare_places(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->root != y->root)
        return (uintptr_t)x->root < (uintptr_t)y->root ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

// Sorted by their places, those that overlap are neighbours.
static husk_status check_apart(const husk__list *list, const char *argument, const husk__scope *scope)
{
    place *places = malloc(list->count * sizeof *places);
    if (!places)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a list of %zu tensors", list->count);
    size_t count = 0;
    for (size_t i = 0; i < list->count; ++i) {
        const husk_tensor *tensor = list->tensors[i];
        const int64_t elements = husk__tensor_count(tensor);
        if (elements == 0)
            continue;
        const uint64_t bytes = husk_dtype_size(tensor->dtype);
        const husk__block *block = tensor->buffer->block;
        const uint64_t first = block->root_offset + tensor->buffer->offset + (uint64_t)tensor->offset * bytes;
        places[count++] = (place){block->root, first, first + (uint64_t)elements * bytes, i};
    }
    qsort(places, count, sizeof *places, compare_places);
    husk_status status = HUSK_OK;
    for (size_t i = 1; i < count && status == HUSK_OK; ++i)
        if (places[i].root == places[i - 1].root && places[i].first < places[i - 1].past)
            status = husk__reject(scope, argument, "[%zu] overlaps [%zu]", places[i].index, places[i - 1].index);
    free(places);
    return status;
}

husk_status husk__list_check(husk_queue *queue, const husk__list *list, const char *argument, bool is_written,
                             const husk__scope *scope)
{
    char name[64];
    husk_status status = HUSK_OK;
    if (!list->tensors)
        return husk__reject(scope, argument, "is NULL");
    for (size_t i = 0; i < list->count && status == HUSK_OK; ++i) {
        const husk_tensor *tensor = list->tensors[i];
        snprintf(name, sizeof name, "%s[%zu]", argument, i);
        status = husk__tensor_check_real(queue, tensor, name, scope);
        if (status == HUSK_OK && (tensor->dtype == HUSK_F64) != (list->tensors[0]->dtype == HUSK_F64))
            status = husk__reject(scope, name, "is %s, the first is %s: nothing stands beside f64",
                                  husk_dtype_name(tensor->dtype), husk_dtype_name(list->tensors[0]->dtype));
        if (status == HUSK_OK)
            status = husk__tensor_check_distinct(tensor, name, scope);
        if (status == HUSK_OK && has_gaps(tensor))
            status = husk__reject(scope, name, "has gaps between its elements");
        if (status == HUSK_OK)
            status = husk__tensor_bind(queue, tensor, name, scope);
    }
    return status == HUSK_OK && is_written && list->count > 0 ? check_apart(list, argument, scope) : status;
}

husk_status husk__list_check_number(husk_queue *queue, const husk__list *list, const husk_tensor *number,
                                    const char *argument, const husk__scope *scope)
{
    char name[64];
    husk_status status = husk__tensor_check_plain(number, husk__list_accumulator(list), argument, scope);
    if (status == HUSK_OK && husk__tensor_count(number) != 1)
        return husk__reject(scope, argument, "has %lld elements, must have 1", (long long)husk__tensor_count(number));
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, number, argument, scope);
    for (size_t i = 0; i < list->count && status == HUSK_OK; ++i) {
        snprintf(name, sizeof name, "[%zu]", i);
        status = husk__refuse_overlap(number, argument, list->tensors[i], name, scope);
    }
    return status;
}

// ---- launches ----

enum { GROUPS_PER_UNIT = 4, SHARE_MINIMUM = 4 };

// Up to HUSK__LIST_TENSORS of one dtype from *next on, which goes past them; their number.
static int take(const husk__list *list, size_t *next, const husk_tensor *taken[HUSK__LIST_TENSORS])
{
    int count = 0;
    for (; *next < list->count && count < HUSK__LIST_TENSORS; ++*next) {
        const husk_tensor *tensor = list->tensors[*next];
        if (husk__tensor_count(tensor) == 0)
            continue;
        if (count > 0 && tensor->dtype != taken[0]->dtype)
            break;
        taken[count++] = tensor;
    }
    return count;
}

husk_status husk__list_launch(husk_queue *queue, const husk__kernel *const kernels[HUSK__LIST_DTYPES],
                              const husk__list *list, int64_t items, const husk__arg *more, size_t more_count,
                              const husk__scope *scope)
{
    const int64_t cores = (int64_t)husk_context_traits(husk_queue_context(queue))->compute_units;
    const husk_tensor *taken[HUSK__LIST_TENSORS];
    husk_status status = HUSK_OK;
    int64_t first = 0;
    int count;
    for (size_t next = 0; status == HUSK_OK && (count = take(list, &next, taken)) > 0;) {
        int64_t ends[HUSK__LIST_TENSORS], counts[HUSK__LIST_TENSORS], units = 0;
        husk__arg arguments[64], *end = arguments;
        for (int k = 0; k < HUSK__LIST_TENSORS; ++k) {
            const husk_tensor *tensor = k < count ? taken[k] : NULL;
            units += tensor ? units_of(tensor) : 0;
            ends[k] = units;
            counts[k] = tensor ? husk__tensor_count(tensor) : 0;
            *end++ = HUSK__ARG_TENSOR(tensor);
        }
        for (int half = 0; half < HUSK__LIST_TENSORS; half += 8)
            *end++ = HUSK__ARG_I64X8(ends + half);
        for (int half = 0; half < HUSK__LIST_TENSORS; half += 8)
            *end++ = HUSK__ARG_I64X8(counts + half);
        const int64_t share =
            items > 1 ? 1 : husk__max_i64(husk__divide_up(units, GROUPS_PER_UNIT * cores), SHARE_MINIMUM);
        *end++ = HUSK__ARG_I64(units);
        *end++ = HUSK__ARG_I64(share);
        *end++ = HUSK__ARG_I64(first);
        memcpy(end, more, more_count * sizeof *more);
        const husk__range range = {{(size_t)husk__divide_up(units, share), 1, 1}, {(size_t)items, 1, 1}};
        status = husk__launch(queue, kernels[taken[0]->dtype], &range, arguments,
                              (size_t)(end - arguments) + more_count, scope);
        first += units;
    }
    return status;
}
