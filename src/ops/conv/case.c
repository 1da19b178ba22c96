// SPDX-License-Identifier: MIT
// A convolution, or a gradient of it, as a case of clbench.
#include "ops/conv/problem.h"

#include <string.h>

#include "base/checked.h"

// One to three numbers by the names of their dimensions.
static void write_space(husk__case *c, const char *const keys[3], const int64_t *extents, int32_t space)
{
    for (int32_t i = 0; i < space; ++i)
        husk__case_size(c, keys[3 - space + i], extents[i]);
}

// What a transposed convolution has past the fewest elements may make the padding at the end negative.
static void write_pad(const husk__conv_problem *problem, int32_t space, husk__case *c)
{
    int64_t end[3];
    for (int32_t i = 0; i < space; ++i) {
        end[i] = husk__max_i64(problem->pad_end[i], 0);
        if (problem->pad_end[i] < 0)
            husk__case_note(c, "%lld of padding at the end", (long long)problem->pad_end[i]);
    }
    husk__case_pad(c, "pad", problem->pad, end, space);
}

static void note_dtypes(const husk__conv_problem *problem, const char *output, husk__case *c)
{
    if (problem->wide_output)
        husk__case_note(c, "%s is f32", output);
    if (problem->has_bias && problem->bias.dtype != problem->dtype)
        husk__case_note(c, "the bias is f32");
}

static void note_epilogue(const husk__conv_problem *problem, husk__case *c)
{
    if (problem->has_bias)
        husk__case_note(c, "bias");
    if (problem->activation != HUSK_ACT_NONE)
        husk__case_note(c, "act %s", husk_act_name(problem->activation));
}

void husk__conv_write_case(const husk__conv_problem *problem, const char *dir, bool is_packed, husk__case *c)
{
    static const char *const in[] = {"d", "h", "w"}, *const filter[] = {"t", "r", "s"};
    const husk_tensor *x = &problem->x, *w = &problem->w;
    const bool is_data = !strcmp(dir, "bwd_data"), is_weights = !strcmp(dir, "bwd_weight");
    const int32_t space = x->rank - 2;
    husk__case_begin(c, "conv");
    husk__case_integer(c, "n", x->shape[0], 1);
    husk__case_size(c, "c", x->shape[1]);
    write_space(c, in, &x->shape[2], space);
    husk__case_size(c, "k", w->shape[0]);
    write_space(c, filter, &w->shape[2], space);
    husk__case_list(c, "stride", problem->stride, space, 1);
    write_pad(problem, space, c);
    husk__case_list(c, "dilation", problem->dilation, space, 1);
    husk__case_integer(c, "groups", problem->geometry.groups, 1);
    husk__case_integer(c, "bias", problem->has_bias && !is_data, 0);
    if (!is_data && !is_weights)
        husk__case_act(c, problem->activation, problem->slope);
    husk__case_layout(c, is_data ? "dx" : "x", x, is_data || is_weights ? "dy" : "y", &problem->y);
    husk__case_dtype(c, problem->dtype);
    husk__case_precision(c, problem->precision);
    husk__case_integer(c, "packed", is_packed, 0);
    husk__case_word(c, "dir", dir, "fwd");
    note_dtypes(problem, is_data ? "dx" : is_weights ? "dw" : "y", c);
    if (is_data) // what a transposed convolution has beside the gradient
        note_epilogue(problem, c);
    if (problem->allows_winograd && problem->precision == HUSK_PRECISION_HIGHEST)
        husk__case_note(c, "winograd");
    if (!is_packed)
        husk__case_tensor(c, is_weights ? "dw" : "w", w);
    if (problem->is_bias_alone)
        husk__case_note(c, "dbias alone");
    if (problem->accumulates)
        husk__case_note(c, "accumulates");
}
