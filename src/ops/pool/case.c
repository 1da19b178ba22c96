// SPDX-License-Identifier: MIT
// Pooling as a case of clbench. What the problem has merged or left out is taken from a run, where there is one.
#include "ops/pool/problem.h"

#include "base/checked.h"

typedef husk__pool_problem problem;

// Dimensions of space: those before have one element and nothing to do.
static int32_t space_of(const problem *own, const husk_tensor *x)
{
    if (x)
        return x->rank - 2;
    for (int d = POOL_D; d < POOL_W; ++d)
        if (own->in[d] != 1 || own->window[d] != 1 || own->pad[d] != 0)
            return 3 - d;
    return 1;
}

// The problem before dimensions that windows span whole became one, and with the strides that are never used as
// clbench has them by default.
static problem unmerged(const problem *merged, const husk_tensor *x)
{
    problem own = *merged;
    for (int d = POOL_D; d <= POOL_W; ++d) {
        const int32_t at = x ? d - 3 + x->rank : 0;
        if (at >= 2 && x->shape[at] != own.in[d])
            own.in[d] = own.window[d] = own.limit[d] = x->shape[at];
        if (own.out[d] == 1)
            own.stride[d] = own.window[d];
    }
    return own;
}

static bool is_global(const problem *own)
{
    bool is = true;
    for (int d = POOL_D; d <= POOL_W; ++d)
        is = is && own->out[d] == 1 && own->window[d] == own->in[d] && own->pad[d] == 0 && own->limit[d] == own->in[d];
    return is;
}

static bool is_rounded_up(const problem *own)
{
    bool is = false;
    for (int d = POOL_D; d <= POOL_W; ++d) {
        const int64_t extent = own->dilation[d] * (own->window[d] - 1) + 1;
        const int64_t last = own->limit[d] + own->pad[d] - extent; // below 0: a window that only fits so
        is = is || last < 0 || last / own->stride[d] + 1 < own->out[d];
    }
    return is;
}

static void write_window(const problem *own, int32_t space, husk__case *c)
{
    static const char *const keys[] = {"t", "r", "s"};
    const int first = 3 - space;
    int64_t end[3];
    bool is_usual = true;
    for (int d = first; d < 3; ++d) {
        husk__case_size(c, keys[d], own->window[d]);
        is_usual = is_usual && own->stride[d] == own->window[d];
        end[d] = own->limit[d] - own->in[d];
    }
    if (!is_usual)
        husk__case_list(c, "stride", &own->stride[first], space, 0);
    husk__case_pad(c, "pad", &own->pad[first], &end[first], space);
    husk__case_list(c, "dilation", &own->dilation[first], space, 1);
    husk__case_integer(c, "ceil", is_rounded_up(own), 0);
}

static husk_tensor image_of(const problem *own, const int64_t extents[3], const int64_t strides[5])
{
    husk_tensor image = {.rank = 5, .shape = {own->batch, own->channels, extents[0], extents[1], extents[2]}};
    for (int i = 0; i < 5; ++i)
        image.strides[i] = strides[i];
    return image;
}

void husk__pool_begin_case(const problem *merged, const husk_tensor *x, bool has_indices, husk__case *c)
{
    static const char *const keys[] = {"d", "h", "w"};
    const problem own = unmerged(merged, x);
    const int32_t space = space_of(merged, x);
    const husk_tensor image = image_of(merged, merged->in, merged->x_strides);
    const husk_tensor result = image_of(merged, merged->out, merged->y_strides);
    husk__case_begin(c, "pool");
    husk__case_word(c, "kind", own.kind == HUSK_POOL_MAX ? "max" : "avg", "max");
    husk__case_integer(c, "n", own.batch, 1);
    husk__case_size(c, "c", own.channels);
    for (int d = 3 - space; d < 3; ++d)
        husk__case_size(c, keys[d], own.in[d]);
    if (is_global(&own))
        husk__case_size(c, "global", 1);
    else
        write_window(&own, space, c);
    husk__case_integer(c, "count_pad", own.count_pad, 0);
    husk__case_integer(c, "indices", has_indices, 0);
    husk__case_layout(c, "x", &image, "y", &result);
    husk__case_dtype(c, own.dtype);
    if (has_indices && own.indices_are_long)
        husk__case_note(c, "indices are i64");
}
