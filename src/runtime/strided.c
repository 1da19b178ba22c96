// SPDX-License-Identifier: MIT
#include "runtime/strided.h"

#include "base/checked.h"

// Larger strides first; y decides, since writing in order matters more.
static bool comes_before(const husk__strided_dimension *a, const husk__strided_dimension *b)
{
    if (a->y_stride != b->y_stride)
        return a->y_stride > b->y_stride;
    return a->x_stride > b->x_stride;
}

static void insert(husk__strided *strided, husk__strided_dimension dimension)
{
    int32_t at = strided->rank++;
    while (at > 0 && comes_before(&dimension, &strided->dimensions[at - 1])) {
        strided->dimensions[at] = strided->dimensions[at - 1];
        --at;
    }
    strided->dimensions[at] = dimension;
}

static void merge(husk__strided *strided)
{
    int32_t rank = 0;
    for (int32_t d = 0; d < strided->rank; ++d) {
        const husk__strided_dimension inner = strided->dimensions[d];
        husk__strided_dimension *outer = rank > 0 ? &strided->dimensions[rank - 1] : NULL;
        if (outer && outer->x_stride == inner.extent * inner.x_stride &&
            outer->y_stride == inner.extent * inner.y_stride && outer->z_stride == inner.extent * inner.z_stride) {
            const int64_t extent = outer->extent * inner.extent;
            *outer = inner;
            outer->extent = extent;
        } else {
            strided->dimensions[rank++] = inner;
        }
    }
    strided->rank = rank;
}

husk__strided husk__strided_make_three(const husk_tensor *x, const husk_tensor *y, const husk_tensor *z, int32_t but)
{
    husk__strided strided = {0};
    for (int32_t d = 0; d < x->rank; ++d)
        if (d != but && x->shape[d] != 1)
            insert(&strided,
                   (husk__strided_dimension){x->shape[d], x->strides[d], y->strides[d], z ? z->strides[d] : 0});
    merge(&strided);
    return strided;
}

husk__strided husk__strided_make(const husk_tensor *x, const husk_tensor *y, int32_t but)
{
    return husk__strided_make_three(x, y, NULL, but);
}

husk__strided_dimension husk__strided_take_last(husk__strided *strided)
{
    if (strided->rank == 0)
        return (husk__strided_dimension){.extent = 1};
    return strided->dimensions[--strided->rank];
}

int64_t husk__strided_count(const husk__strided *strided)
{
    int64_t count = 1;
    for (int32_t d = 0; d < strided->rank; ++d)
        count *= strided->dimensions[d].extent;
    return count;
}

int64_t husk__strided_reach(const husk__strided *strided)
{
    int64_t x_last = 0, y_last = 0, z_last = 0;
    for (int32_t d = 0; d < strided->rank; ++d) {
        x_last += (strided->dimensions[d].extent - 1) * strided->dimensions[d].x_stride;
        y_last += (strided->dimensions[d].extent - 1) * strided->dimensions[d].y_stride;
        z_last += (strided->dimensions[d].extent - 1) * strided->dimensions[d].z_stride;
    }
    return husk__max_i64(husk__max_i64(husk__max_i64(x_last, y_last), z_last), husk__strided_count(strided));
}

husk__arg *husk__strided_write_args(const husk__strided *strided, husk__arg *arguments)
{
    *arguments++ = HUSK__ARG_I32(strided->rank);
    for (int field = 0; field < 3; ++field) {
        for (int32_t i = 0; i < HUSK__STRIDED_OUTER; ++i) {
            const int32_t d = i - (HUSK__STRIDED_OUTER - strided->rank);
            const husk__strided_dimension *dimension = d >= 0 ? &strided->dimensions[d] : NULL;
            const int64_t absent = field == 0 ? 1 : 0;
            const int64_t present = !dimension   ? absent
                                    : field == 0 ? dimension->extent
                                    : field == 1 ? dimension->x_stride
                                                 : dimension->y_stride;
            *arguments++ = HUSK__ARG_I64(present);
        }
    }
    return arguments;
}

husk__arg *husk__strided_write_third(const husk__strided *strided, husk__arg *arguments)
{
    for (int32_t i = 0; i < HUSK__STRIDED_OUTER; ++i) {
        const int32_t d = i - (HUSK__STRIDED_OUTER - strided->rank);
        *arguments++ = HUSK__ARG_I64(d >= 0 ? strided->dimensions[d].z_stride : 0);
    }
    return arguments;
}
