// SPDX-License-Identifier: MIT
#include "ref/rnn/problem.h"

enum { RESERVE_UNIT = 64 }; // parts of the reserve begin at multiples of so many elements

int64_t husk_ref_rnn_directions(const husk_rnn_params *params)
{
    return params->bidirectional ? 2 : 1;
}

static int64_t reserve_part(const husk_ref_rnn *op, int64_t row)
{
    int64_t elements = op->x->shape[0] * op->x->shape[1] * row * op->params->hidden_size;
    return (elements + RESERVE_UNIT - 1) / RESERVE_UNIT * RESERVE_UNIT;
}

int64_t husk_ref_rnn_reserve_gates(const husk_ref_rnn *op, int64_t layer, int64_t direction)
{
    int64_t directions = husk_ref_rnn_directions(op->params), gates = reserve_part(op, husk_ref_rnn_kept(op->params));
    return layer * (directions * gates + reserve_part(op, directions)) + direction * gates;
}

int64_t husk_ref_rnn_reserve_output(const husk_ref_rnn *op, int64_t layer)
{
    return husk_ref_rnn_reserve_gates(op, layer, husk_ref_rnn_directions(op->params));
}

int64_t husk_ref_rnn_length(const husk_ref_rnn *op, int64_t b)
{
    const int64_t steps = op->x->shape[0];
    if (op->lengths == NULL)
        return steps;
    double given = husk_ref_load(op->lengths, b * op->lengths->strides[0]);
    return given < 0.0 ? 0 : (given > (double)steps ? steps : (int64_t)given);
}

void husk_ref_rnn_load_initial(const husk_ref_array *initial, const int64_t index[3], int64_t hidden, double *values)
{
    for (int64_t j = 0; initial != NULL && j < hidden; j++)
        values[j] = husk_ref_load(initial, husk_ref_offset(initial, index) + j * initial->strides[2]);
}
