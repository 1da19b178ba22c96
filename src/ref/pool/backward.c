// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "ref/pool/pool.h"

// Whether output o's window has an element at i, in dimension d.
static bool covers(const husk_ref_window *window, int32_t d, int64_t i, int64_t o)
{
    int64_t distance = i + window->pad[d] - o * window->stride[d];
    return distance >= 0 && distance % window->dilation[d] == 0 && distance / window->dilation[d] < window->window[d];
}

// The range of outputs outside of which no window has an element at i; first may be a few too small.
static int64_t first_output(const husk_ref_window *window, int32_t d, int64_t i)
{
    int64_t extent = window->dilation[d] * (window->window[d] - 1) + 1;
    int64_t first = (i + window->pad[d] - extent) / window->stride[d];
    return first > 0 ? first : 0;
}

static int64_t past_last_output(const husk_ref_window *window, int32_t d, int64_t i, int64_t out)
{
    int64_t last = (i + window->pad[d]) / window->stride[d] + 1;
    return last < out ? last : out;
}

// Window elements that count in the mean. They are counted by division: windows may have 2^29 elements in a dimension.
static double count_window(const husk_ref_pool_backward *op, const husk_ref_window *window, const int64_t *output)
{
    double all = 1.0;
    for (int32_t d = 0; d < window->space; d++) {
        const int64_t start = output[2 + d] * window->stride[d] - window->pad[d], dilation = window->dilation[d];
        const int64_t end = op->x->shape[2 + d] + (op->params->count_pad ? window->pad_end[d] : 0);
        const int64_t before_x = start < 0 ? (dilation - 1 - start) / dilation : 0;
        const int64_t before_end = start < end ? (end - 1 - start) / dilation + 1 : 0;
        const int64_t first = op->params->count_pad ? 0 : before_x;
        const int64_t last = before_end < window->window[d] ? before_end : window->window[d];
        all *= last > first ? (double)(last - first) : 0.0;
    }
    return all;
}

// Where the output's maximum was.
static int64_t position_of(const husk_ref_pool_backward *op, const int64_t *output)
{
    if (op->indices != NULL)
        return (int64_t)husk_ref_load(op->indices, husk_ref_offset(op->indices, output));
    const husk_ref_pool forward = {.params = op->params, .x = op->x};
    return husk_ref_pool_index_at(&forward, output);
}

typedef struct gathered {
    const husk_ref_pool_backward *op;
    const husk_ref_window *window;
    const int64_t *index;
    int64_t position;
    husk_ref_value *result;
} gathered;

// Adds what the outputs have, whose first dimensions of space, fewer than d, are in `output`.
static void gather(const gathered *g, int32_t d, int64_t *output)
{
    const husk_ref_pool_backward *op = g->op;
    if (d < g->window->space) {
        const int64_t i = g->index[2 + d], last = past_last_output(g->window, d, i, op->dy->shape[2 + d]);
        for (int64_t o = first_output(g->window, d, i); o < last; o++) {
            output[2 + d] = o;
            if (covers(g->window, d, i, o))
                gather(g, d + 1, output);
        }
        return;
    }
    double term = husk_ref_load(op->dy, husk_ref_offset(op->dy, output));
    if (op->params->kind == HUSK_POOL_AVG)
        term /= count_window(op, g->window, output);
    else if (position_of(op, output) != g->position)
        return;
    g->result->value += term;
    g->result->magnitude += fabs(term);
    g->result->terms++;
}

husk_ref_value husk_ref_pool_backward_at(const husk_ref_pool_backward *op, const int64_t *index)
{
    const husk_ref_pool forward = {.params = op->params, .x = op->x};
    const husk_ref_window window = husk_ref_pool_get_window(&forward);
    int64_t output[HUSK_MAX_RANK] = {index[0], index[1]}, position = 0;
    husk_ref_value result = {0};
    for (int32_t d = 0; d < window.space; d++)
        position = position * op->x->shape[2 + d] + index[2 + d];
    const gathered g = {op, &window, index, position, &result};
    gather(&g, 0, output);
    const double gradient = result.value;
    if (op->params->kind == HUSK_POOL_AVG || result.terms > 1)
        result.bound = husk_ref_sum_bound(8.0 + 2.0 * sqrt((double)result.terms), result.terms, result.magnitude);
    else if (result.magnitude < HUSK_REF_TINY)
        result.bound = HUSK_REF_TINY * (double)result.terms; // the copy of a denormal
    if (op->dx != NULL) {
        double before = husk_ref_load(op->dx, husk_ref_offset(op->dx, index));
        if (result.terms > 0)
            result.bound += 2.0 * HUSK_REF_UNIT * (fabs(before) + fabs(gradient)) + HUSK_REF_TINY;
        result.value += before;
        result.magnitude += fabs(before);
    }
    return result;
}

static husk_ref_value pool_backward_at(const void *op, const int64_t *index)
{
    return husk_ref_pool_backward_at(op, index);
}

husk_ref_function husk_ref_pool_backward_function(const husk_ref_pool_backward *op)
{
    husk_ref_function function = {.op = op, .at = pool_backward_at, .rank = op->x->rank, .cost = 1.0};
    const husk_ref_pool forward = {.params = op->params, .x = op->x};
    const husk_ref_window window = husk_ref_pool_get_window(&forward);
    for (int32_t d = 0; d < window.space; d++) // of windows over an element, or of the elements that one is found among
        function.cost *= (double)window.window[d];
    memcpy(function.shape, op->x->shape, sizeof(function.shape));
    return function;
}

void husk_ref_pool_backward_run(const husk_ref_pool_backward *op, const husk_ref_array *dx)
{
    husk_ref_function function = husk_ref_pool_backward_function(op);
    husk_ref_function_evaluate(&function, dx);
}
