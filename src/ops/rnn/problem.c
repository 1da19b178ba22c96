// SPDX-License-Identifier: MIT
// What follows from the sizes of recurrent layers: what kernels can count, the parts of a batch, what lies in a reserve
// and in scratch memory, and what a problem is known by.
#include "ops/rnn/problem.h"

#include <stdio.h>

#include "base/checked.h"
#include "base/tensor.h"

bool husk__rnn_fits_int(const husk__rnn_problem *problem, char reason[HUSK__REASON_CAPACITY])
{
    const int64_t most = INT64_C(1) << 30, most_row = INT64_C(1) << 27;
    int64_t rows;
    if (problem->gates * (problem->hidden + 128) > most || problem->steps > most || problem->batch > most ||
        problem->inputs > most || !husk__mul_i64(problem->steps, problem->batch, &rows) || rows > most) {
        snprintf(reason, HUSK__REASON_CAPACITY, "a size is beyond 2^30");
        return false;
    }
    if (problem->hidden > most_row || (problem->has_h0 && problem->h0.strides[1] > most_row)) {
        snprintf(reason, HUSK__REASON_CAPACITY, "rows of h0 lie more than 2^27 elements apart");
        return false;
    }
    return true;
}

// ---- f16 and bf16 ----

enum { ALIGNMENT = 64 }; // elements

husk_tensor husk__rnn_as_f32(const husk_tensor *tensor)
{
    husk_tensor made = *tensor;
    made.dtype = HUSK_F32;
    for (int32_t d = 0; d < HUSK_MAX_RANK; ++d)
        made.strides[d] = 0;
    husk__tensor_resolve(&made);
    return made;
}

int64_t husk__rnn_border_room(const husk_tensor *tensor)
{
    return husk__round_up(husk__tensor_count(tensor), ALIGNMENT);
}

int64_t husk__rnn_border_weights_room(const husk__rnn_problem *problem)
{
    int64_t room = 0;
    const int64_t rows = problem->gates * problem->hidden;
    for (int64_t i = 0; i < husk__rnn_weight_count(problem); ++i) {
        room += husk__round_up(rows * husk__rnn_layer_inputs(problem, i / problem->directions), ALIGNMENT);
        room += husk__round_up(rows * problem->hidden, ALIGNMENT) + 2 * husk__round_up(rows, ALIGNMENT);
    }
    return room;
}

int64_t husk__rnn_border_total(const husk__rnn_problem *problem)
{
    const husk_tensor *const states[] = {problem->has_h0 ? &problem->h0 : NULL, problem->has_c0 ? &problem->c0 : NULL,
                                         problem->has_h_n ? &problem->h_n : NULL,
                                         problem->has_c_n ? &problem->c_n : NULL};
    if (!husk__rnn_is_narrow(problem))
        return 0;
    int64_t room = husk__rnn_border_room(&problem->x) + husk__rnn_border_room(&problem->y);
    for (int i = 0; i < 4; ++i)
        room += states[i] ? husk__rnn_border_room(states[i]) : 0;
    return room + husk__rnn_border_weights_room(problem);
}

// ---- part of a batch ----

husk__rnn_problem husk__rnn_part(const husk__rnn_problem *problem, int64_t sequences)
{
    husk__rnn_problem part = *problem;
    if (sequences == problem->batch)
        return part;
    husk_tensor *const tensors[] = {&part.x, &part.y, &part.h0, &part.c0, &part.h_n, &part.c_n};
    const bool is_there[] = {true, true, part.has_h0, part.has_c0, part.has_h_n, part.has_c_n};
    part.batch = sequences;
    for (int i = 0; i < 6; ++i) {
        if (!is_there[i])
            continue;
        *tensors[i] = husk_tensor_slice(tensors[i], HUSK__RNN_SEQUENCES, 0, sequences, 1);
        if (husk__rnn_is_narrow(problem)) // as they will lie in scratch memory
            *tensors[i] = husk__rnn_as_f32(tensors[i]);
    }
    if (part.has_lengths)
        part.lengths = husk_tensor_slice(&part.lengths, 0, 0, sequences, 1);
    return part;
}

// ---- what forward leaves for the gradients ----

enum { RESERVE_UNIT = 64 }; // parts begin at multiples of so many elements

int64_t husk__rnn_reserve_direction(const husk__rnn_problem *problem)
{
    return husk__round_up(problem->steps * problem->batch * husk__rnn_kept(problem) * problem->hidden, RESERVE_UNIT);
}

int64_t husk__rnn_reserve_outputs(const husk__rnn_problem *problem)
{
    return husk__round_up(problem->steps * problem->batch * problem->directions * problem->hidden, RESERVE_UNIT);
}

int64_t husk__rnn_reserve_layer(const husk__rnn_problem *problem)
{
    return problem->directions * husk__rnn_reserve_direction(problem) + husk__rnn_reserve_outputs(problem);
}

// -1: beyond what a number holds.
int64_t husk__rnn_reserve_count(const husk__rnn_problem *problem)
{
    int64_t all;
    if (!husk__mul_i64(problem->steps, problem->batch, &all) ||
        !husk__mul_i64(all, (husk__rnn_kept(problem) + 1) * problem->hidden * problem->directions, &all) ||
        !husk__mul_i64(all, 2 * problem->layers, &all) || all > INT64_MAX / 2)
        return -1;
    return problem->layers * husk__rnn_reserve_layer(problem) - husk__rnn_reserve_outputs(problem);
}

husk_tensor husk__rnn_reserve_gates(const husk__rnn_problem *problem, const husk_tensor *reserve, int64_t layer,
                                    int64_t direction)
{
    const int64_t columns = husk__rnn_kept(problem) * problem->hidden;
    husk_tensor gates =
        husk_tensor_make(reserve->buffer, problem->work, 2, (int64_t[]){problem->steps * problem->batch, columns});
    gates.strides[0] = columns;
    gates.strides[1] = 1;
    gates.offset =
        reserve->offset + layer * husk__rnn_reserve_layer(problem) + direction * husk__rnn_reserve_direction(problem);
    return gates;
}

husk_tensor husk__rnn_reserve_output(const husk__rnn_problem *problem, const husk_tensor *reserve, int64_t layer)
{
    husk_tensor output =
        husk_tensor_make(reserve->buffer, problem->work, 3,
                         (int64_t[]){problem->steps, problem->batch, problem->directions * problem->hidden});
    output.offset = reserve->offset + layer * husk__rnn_reserve_layer(problem) +
                    problem->directions * husk__rnn_reserve_direction(problem);
    husk__tensor_resolve(&output);
    return output;
}

// ---- keys and classes ----

void husk__rnn_describe(const void *problem_, husk__key *key)
{
    const husk__rnn_problem *problem = problem_;
    husk__key_i64(key, problem->cell);
    husk__key_i64(key, problem->reset);
    husk__key_i64(key, problem->precision);
    husk__key_i64(key, problem->hidden);
    husk__key_i64(key, problem->layers);
    husk__key_i64(key, problem->directions);
    husk__key_i64(key, problem->has_input_bias + 2 * problem->has_hidden_bias);
    const husk__rnn_given *given = &problem->given;
    husk__key_tensor(key, &given->x);
    husk__key_tensor(key, problem->has_lengths ? &problem->lengths : NULL);
    husk__key_tensor(key, problem->has_h0 ? &given->h0 : NULL);
    husk__key_tensor(key, problem->has_c0 ? &given->c0 : NULL);
    husk__key_tensor(key, &given->y);
    husk__key_tensor(key, problem->has_h_n ? &given->h_n : NULL);
    husk__key_tensor(key, problem->has_c_n ? &given->c_n : NULL);
    husk__key_tensor(key, problem->has_reserve ? &problem->reserve : NULL);
    // Packed rows, the usual case, take no room.
    for (int64_t i = 0; i < husk__rnn_weight_count(problem); ++i) {
        const husk__rnn_rows *rows = &given->rows[i];
        if (rows->input == husk__rnn_packed_pitch(problem, i / problem->directions) && rows->hidden == problem->hidden)
            continue;
        husk__key_i64(key, i);
        husk__key_i64(key, rows->input);
        husk__key_i64(key, rows->hidden);
    }
}

static const char *const cells[] = {"tanh", "relu", "lstm", "gru"};

void husk__rnn_begin_case(const husk__rnn_problem *problem, husk__case *c)
{
    husk__case_begin(c, "rnn");
    husk__case_word(c, "cell", cells[problem->cell], NULL);
    husk__case_size(c, "t", problem->steps);
    husk__case_size(c, "b", problem->batch);
    husk__case_size(c, "input", problem->inputs);
    husk__case_size(c, "hidden", problem->hidden);
    husk__case_integer(c, "layers", problem->layers, 1);
    husk__case_integer(c, "bidir", problem->directions == 2, 0);
    husk__case_word(c, "reset", husk__rnn_has_two_passes(problem) ? "before" : "after", "after");
    husk__case_integer(c, "lengths", problem->has_lengths, 0);
    husk__case_integer(c, "bias", problem->has_input_bias || problem->has_hidden_bias, 1);
    husk__case_integer(c, "state", problem->has_h0 || problem->has_c0, 0);
    husk__case_dtype(c, problem->dtype);
    husk__case_precision(c, problem->precision);
    if (problem->has_input_bias != problem->has_hidden_bias)
        husk__case_note(c, "one bias");
    if (problem->cell == HUSK_RNN_LSTM && problem->has_h0 != problem->has_c0)
        husk__case_note(c, problem->has_h0 ? "h0 alone" : "c0 alone");
    husk__case_tensor(c, "x", &problem->given.x);
    husk__case_tensor(c, "y", &problem->given.y);
}

void husk__rnn_classify(const void *problem_, husk__text *text)
{
    const husk__rnn_problem *problem = problem_;
    husk__text_format(text, " %s %s%s%s layers=%lld directions=%lld", husk_dtype_name(problem->dtype),
                      (size_t)problem->cell < sizeof cells / sizeof *cells ? cells[problem->cell] : "cell",
                      husk__rnn_has_two_passes(problem) ? " reset before" : "", problem->has_lengths ? " lengths" : "",
                      (long long)problem->layers, (long long)problem->directions);
    husk__class_size(text, "t", problem->steps);
    husk__class_size(text, "b", problem->batch);
    husk__class_size(text, "input", problem->inputs);
    husk__class_size(text, "hidden", problem->hidden);
}
