// SPDX-License-Identifier: MIT
// Where things of recurrent layers lie in scratch memory and in packed weights, and how many time steps and sequences
// are worked on at once.
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "ops/rnn/problem.h"

enum { FEW_ROWS = 4 };

// x as a matrix of time * batch rows; false where its strides do not allow it. The panel variant wants its features
// side by side and its rows at a distance whose multiples fit an int.
static bool is_matrix(const husk__rnn_problem *problem, bool is_panel)
{
    const int64_t *stride = problem->x.strides, most_row = INT64_C(1) << 27;
    const int64_t row = problem->batch > 1 ? stride[1] : stride[0];
    if (row == 0 && stride[2] == 0)
        return false; // one element is repeated throughout: a matrix's strides of 0 alone mean packed
    if (is_panel && ((problem->inputs > 1 && stride[2] != 1) || row > most_row))
        return false;
    return problem->steps <= 1 || problem->batch <= 1 || stride[0] == problem->batch * stride[1];
}

bool husk__rnn_takes_few(const husk__rnn_problem *problem)
{
    return problem->steps * problem->batch <= FEW_ROWS;
}

bool husk__rnn_has_own_inputs(const husk__rnn_state *state, const husk__rnn_run *run)
{
    return state->strip_vectors > 0 && !run->outputs->reserve && (run->inputs->packed || !state->takes_few);
}

// ---- input weights of the panel variant ----

int64_t husk__rnn_input_panels(const husk__rnn_problem *problem, const husk__rnn_layout *layout, int64_t layer)
{
    return husk__round_up(problem->gates * layout->pitch * (husk__rnn_layer_inputs(problem, layer) + 1), 64);
}

// Behind all hidden weights, and behind those of the layers before.
int64_t husk__rnn_input_panels_at(const husk__rnn_problem *problem, const husk__rnn_layout *layout, int64_t layer)
{
    int64_t at = husk__rnn_weight_count(problem) * layout->weight_stride;
    for (int64_t l = 0; l < layer; ++l)
        at += problem->directions * husk__rnn_input_panels(problem, layout, l);
    return at;
}

// ---- scratch memory ----

uint64_t husk__rnn_reserve(uint64_t *next, uint32_t size, int64_t elements)
{
    const uint64_t at = *next;
    *next += (uint64_t)husk__round_up(elements * (int64_t)size, HUSK__RNN_ALIGNMENT);
    return at;
}

static int64_t widest_input(const husk__rnn_problem *problem)
{
    const int64_t between = problem->layers > 1 ? problem->directions * problem->hidden : 0;
    return husk__max_i64(problem->inputs, between);
}

static void place(const husk__rnn_problem *problem, bool is_panel, husk__rnn_layout *layout)
{
    const int64_t rows = layout->chunk * problem->batch;
    const int64_t output = problem->steps * problem->batch * problem->directions * problem->hidden;
    const int64_t columns = layout->product_columns;
    const uint32_t size = husk__rnn_size(problem);
    uint64_t next = 0;
    layout->products = husk__rnn_reserve(&next, size, rows * columns);
    layout->products_direction = next - layout->products;
    for (int64_t d = 1; d < problem->directions; ++d)
        husk__rnn_reserve(&next, size, rows * columns);
    layout->gathered = husk__rnn_reserve(&next, size,
                                         layout->gathers_chunks ? rows * widest_input(problem)
                                         : layout->gathers_x    ? rows * problem->inputs
                                                                : 0);
    layout->outputs[0] = husk__rnn_reserve(&next, size, problem->layers > 1 && !problem->has_reserve ? output : 0);
    layout->outputs[1] = husk__rnn_reserve(&next, size, problem->layers > 2 && !problem->has_reserve ? output : 0);
    layout->states = husk__rnn_reserve(&next, size, problem->directions * 4 * problem->batch * layout->pitch);
    layout->weights = husk__rnn_reserve(&next, size, problem->directions * layout->weight_stride);
    if (is_panel && !problem->has_reserve) {
        int64_t input_weights = husk__rnn_input_panels(problem, layout, 0);
        if (problem->layers > 1)
            input_weights = husk__max_i64(input_weights, husk__rnn_input_panels(problem, layout, 1));
        layout->input_weights = husk__rnn_reserve(&next, size, problem->directions * input_weights);
    }
    layout->border = husk__rnn_reserve(&next, size, husk__rnn_border_total(problem));
    layout->total = next;
}

// As many time steps of so many sequences as the limit allows; one, where even that is too much.
static void lay_out_steps(const husk__rnn_problem *problem, uint64_t limit, int64_t panel_units, bool is_panel,
                          husk__rnn_layout *layout)
{
    memset(layout, 0, sizeof *layout);
    layout->sequences = problem->batch;
    layout->panel_units = panel_units;
    layout->pitch = husk__round_up(problem->hidden, panel_units);
    layout->weight_stride = husk__round_up(problem->gates * layout->pitch * (problem->hidden + 1), 64);
    if (problem->has_input_bias)
        layout->weight_stride += husk__round_up(problem->gates * problem->hidden, 64);
    layout->product_columns = problem->gates * (is_panel ? layout->pitch : problem->hidden);
    if (problem->has_reserve)
        layout->product_columns = 0; // the products lie there, of all time steps
    layout->gathers_x = !is_matrix(problem, is_panel);
    layout->chunk = problem->steps;
    place(problem, is_panel, layout);
    if (layout->total <= limit || problem->steps <= 1 || problem->has_reserve)
        return;
    layout->gathers_chunks = problem->directions == 2 && problem->has_lengths;
    int64_t least = 1, most = problem->steps - 1;
    while (least < most) { // the largest chunk that fits
        layout->chunk = least + (most - least + 1) / 2;
        place(problem, is_panel, layout);
        if (layout->total <= limit)
            least = layout->chunk;
        else
            most = layout->chunk - 1;
    }
    layout->chunk = least;
    place(problem, is_panel, layout);
}

// All sequences and time steps at once, as a rule. Then as many steps of all sequences as fit; where what does not
// depend on the steps, as the outputs of inner layers, is too much, half of the sequences, or a quarter.
static void lay_out_sequences(const husk__rnn_problem *problem, uint64_t limit, int64_t panel_units, bool is_panel,
                              husk__rnn_layout *layout)
{
    lay_out_steps(problem, limit, panel_units, is_panel, layout);
    while (layout->total > limit && layout->sequences > 1 && !problem->has_reserve) {
        const husk__rnn_problem part = husk__rnn_part(problem, husk__divide_up(layout->sequences, 2));
        lay_out_steps(&part, limit, panel_units, is_panel, layout);
    }
}

void husk__rnn_lay_out(const husk__rnn_problem *problem, int64_t panel_units, bool is_panel, husk__rnn_layout *layout)
{
    lay_out_sequences(problem, problem->workspace_limit, panel_units, is_panel, layout);
    if (layout->total > problem->workspace_limit && !problem->limit_is_given)
        lay_out_sequences(problem, problem->most_scratch, panel_units, is_panel, layout);
}

// Every row of every part is computed, and the products of inputs of every step of every chunk; those of the hidden
// state are not where it is zero, in the first step without an h0.
double husk__rnn_flops(const husk__rnn_problem *problem, const husk__rnn_layout *layout)
{
    const double steps = (double)problem->steps, hidden = (double)problem->hidden;
    const double hidden_steps = steps > 0.0 && !problem->has_h0 ? steps - 1.0 : steps;
    const double products = steps > 0.0 ? ceil(steps / (double)layout->chunk) * (double)layout->chunk : 0.0;
    const double sequences = layout->sequences > 0
                                 ? ceil((double)problem->batch / (double)layout->sequences) * (double)layout->sequences
                                 : 0.0;
    double features = 0.0;
    for (int64_t layer = 0; layer < problem->layers; ++layer)
        features += products * (double)husk__rnn_layer_inputs(problem, layer) + hidden_steps * hidden;
    return 2.0 * sequences * (double)(problem->directions * problem->gates) * hidden * features;
}
