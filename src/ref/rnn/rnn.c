// SPDX-License-Identifier: MIT
// Recurrent layers as a whole, and what a device computed and kept of them compared with that.
#include "ref/rnn/rnn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/random.h"
#include "ref/rnn/sequence.h"

typedef husk_ref_rnn_sequence sequence;
typedef husk_ref_rnn_number number;

static void emit_to_arrays(void *user, husk_ref_rnn_output which, const int64_t index[3], number value)
{
    const husk_ref_array *array = ((const husk_ref_array **)user)[which];
    if (array != NULL)
        husk_ref_store(array, husk_ref_offset(array, index), value.value);
}

bool husk_ref_rnn_run(const husk_ref_rnn *op, const husk_ref_array *y, const husk_ref_array *h_n,
                      const husk_ref_array *c_n)
{
    const husk_ref_array *arrays[3] = {y, h_n, c_n};
    sequence s = {.emit = emit_to_arrays, .user = arrays};
    if (!husk_ref_rnn_sequence_create(op, &s))
        return false;
    bool done = true;
    for (int64_t b = 0; done && b < s.batch; b++)
        done = husk_ref_rnn_sequence_run(&s, b);
    free(s.memory);
    return done;
}

// ---- a device's reserve ----

// One running step: everything it read is the device's own, and exact.
static bool check_step(const husk_ref_rnn *op, const husk_ref_array *y, const husk_ref_array *reserve, int64_t layer,
                       int64_t direction, int64_t b, int64_t length, int64_t step_number, double *memory,
                       husk_ref_report *report)
{
    const husk_rnn_params *params = op->params;
    int64_t hidden = params->hidden_size, directions = husk_ref_rnn_directions(params), batch = op->x->shape[1];
    int64_t layers = params->layers != 0 ? params->layers : 1, row = layer * directions + direction;
    int64_t time = direction == 0 ? step_number : length - 1 - step_number, back = direction == 0 ? time - 1 : time + 1;
    int64_t kept = husk_ref_rnn_kept(params) * hidden, gates = husk_ref_rnn_reserve_gates(op, layer, direction);
    int64_t features = layer == 0 ? op->x->shape[2] : directions * hidden;
    husk_ref_rnn_state now = husk_ref_rnn_state_at(memory, hidden);
    husk_ref_rnn_state next = husk_ref_rnn_state_at(memory + 4 * hidden, hidden);
    number *numbers = (number *)(memory + 8 * hidden);
    double *x = memory + 18 * hidden;
    memset(memory, 0, (size_t)(8 * hidden) * sizeof(*memory));
    for (int64_t i = 0; i < features; i++) {
        const int64_t index[3] = {time, b, i};
        x[i] = layer == 0 ? husk_ref_load(op->x, husk_ref_offset(op->x, index))
                          : husk_ref_load(reserve, husk_ref_rnn_reserve_output(op, layer - 1) +
                                                       (time * batch + b) * features + i);
    }
    if (step_number == 0) {
        husk_ref_rnn_load_initial(op->h0, (const int64_t[3]){row, b, 0}, hidden, now.h);
        husk_ref_rnn_load_initial(op->c0, (const int64_t[3]){row, b, 0}, hidden, now.c);
    }
    for (int64_t j = 0; step_number > 0 && j < hidden; j++) {
        const int64_t feature = direction * hidden + j, index[3] = {back, b, feature};
        if (layer + 1 == layers)
            now.h_error[j] = sqrt((double)hidden) *
                             husk_ref_round_bound(y->dtype, fabs(husk_ref_load(y, husk_ref_offset(y, index))));
        now.h[j] = layer + 1 == layers ? husk_ref_load(y, husk_ref_offset(y, index))
                                       : husk_ref_load(reserve, husk_ref_rnn_reserve_output(op, layer) +
                                                                    (back * batch + b) * directions * hidden + feature);
        if (params->cell == HUSK_RNN_LSTM)
            now.c[j] = husk_ref_load(reserve, gates + (back * batch + b) * kept + 4 * hidden + j);
    }
    if (!husk_ref_rnn_step_and_keep(params, &op->weights[row], x, NULL, &now, NULL, 0, &next, op->product_factor,
                                    numbers))
        return false;
    for (int64_t i = 0; i < kept; i++) {
        const int64_t index[3] = {row, time * batch + b, i};
        husk_ref_report_add(report, 3, index, numbers[i].value, husk_ref_bound_in(reserve->dtype, numbers[i].error),
                            husk_ref_load(reserve, gates + index[1] * kept + i));
    }
    for (int64_t j = 0; layer + 1 < layers && j < hidden; j++) {
        const int64_t index[3] = {time, b, direction * hidden + j};
        husk_ref_report_add(report, 3, index, next.h[j], husk_ref_bound_in(reserve->dtype, next.h_error[j]),
                            husk_ref_load(reserve, husk_ref_rnn_reserve_output(op, layer) +
                                                       (time * batch + b) * directions * hidden + index[2]));
    }
    return true;
}

bool husk_ref_rnn_reserve_check(const husk_ref_rnn *op, const husk_ref_array *y, const husk_ref_array *reserve,
                                husk_ref_report *report)
{
    const husk_rnn_params *params = op->params;
    int64_t hidden = params->hidden_size, layers = params->layers != 0 ? params->layers : 1;
    int64_t features = 2 * hidden > op->x->shape[2] ? 2 * hidden : op->x->shape[2];
    double *memory = malloc((size_t)(18 * hidden + features) * sizeof(*memory));
    bool done = memory != NULL;
    for (int64_t layer = 0; layer < layers; layer++)
        for (int64_t direction = 0; direction < husk_ref_rnn_directions(params); direction++)
            for (int64_t b = 0; b < op->x->shape[1]; b++) {
                int64_t length = husk_ref_rnn_length(op, b);
                for (int64_t i = 0; done && i < length; i++)
                    done = check_step(op, y, reserve, layer, direction, b, length, i, memory, report);
            }
    free(memory);
    return done;
}

typedef struct comparison {
    const husk_ref_array *arrays[3];
    husk_ref_report *reports[3];
} comparison;

static void emit_to_reports(void *user, husk_ref_rnn_output which, const int64_t index[3], number value)
{
    const comparison *to = user;
    const husk_ref_array *array = to->arrays[which];
    if (array == NULL)
        return;
    husk_ref_report *report = to->reports[which];
    value.error = husk_ref_bound_in(array->dtype, value.error);
    const double rounding =
        value.error > 0.0 ? husk_ref_round_bound(array->dtype, fabs(value.value) + value.error) : 0.0;
    const double actual = husk_ref_load(array, husk_ref_offset(array, index));
    husk_ref_report_add(report, 3, index, value.value, value.error + rounding, actual);
    if (value.error > 0.0)
        husk_ref_report_add_zero(report, value.value, value.error + rounding, actual);
}

// count of the numbers below limit, the first and the last among them, ascending.
static int64_t sample_numbers(int64_t limit, int64_t count, husk_ref_random *random, int64_t *numbers)
{
    if (count >= limit) {
        for (int64_t i = 0; i < limit; i++)
            numbers[i] = i;
        return limit;
    }
    numbers[0] = 0;
    for (int64_t i = 1; i < count; i++) // one from each of count - 1 stretches of 1 .. limit - 1
        numbers[i] = i + 1 == count ? limit - 1
                                    : 1 + (i - 1) * (limit - 1) / (count - 1) +
                                          husk_ref_random_below(random, (limit - 1) / (count - 1));
    return count;
}

// How many sequences and units of the top layer to compare.
static void choose_sample(const sequence *s, int64_t *sequences, int64_t *units)
{
    const double limit = 16.0 * HUSK_REF_COMPLETE_COST;
    const husk_rnn_params *params = s->op->params;
    int64_t gates = params->cell == HUSK_RNN_LSTM ? 4 : (params->cell == HUSK_RNN_GRU ? 3 : 1);
    double unit_cost = 0.0, lower_cost = 0.0; // of one sequence over all of time
    for (int64_t layer = 0; layer < s->layers; layer++) {
        double input = (double)(layer == 0 ? s->input : s->directions * s->hidden);
        double cost = (double)(s->steps * s->directions * gates) * (input + (double)s->hidden);
        if (layer < s->layers - 1)
            lower_cost += cost * (double)s->hidden;
        else
            unit_cost = cost;
    }
    *sequences = s->batch;
    *units = s->hidden;
    if ((lower_cost + unit_cost * (double)s->hidden) * (double)s->batch <= HUSK_REF_COMPLETE_COST)
        return;
    *sequences = s->batch < 4 ? s->batch : 4;
    bool all_units = s->layers > 1 || s->observed == NULL ||
                     (params->cell == HUSK_RNN_GRU && params->reset == HUSK_GRU_RESET_BEFORE);
    if (!all_units) {
        int64_t enough = 2048 / (s->steps * s->directions * *sequences) + 1;
        *units = enough > 16 ? enough : 16;
        *units = *units < s->hidden ? *units : s->hidden;
    }
    while (*sequences > 1 && (lower_cost + unit_cost * (double)*units) * (double)*sequences > limit)
        *sequences /= 2;
    while (!all_units && *units > 4 && unit_cost * (double)*units > limit)
        *units /= 2;
}

static bool has_nan(const husk_ref_array *array, int64_t index[3])
{
    do {
        if (isnan(husk_ref_load(array, husk_ref_offset(array, index))))
            return true;
    } while (husk_ref_index_next(3, array->shape, index));
    return false;
}

bool husk_ref_rnn_check(const husk_ref_rnn *op, const husk_ref_array *y, const husk_ref_array *h_n,
                        const husk_ref_array *c_n, uint64_t seed, husk_ref_report *y_report,
                        husk_ref_report *state_report)
{
    comparison to = {{y, h_n, c_n}, {y_report, state_report, state_report}};
    const bool is_rounded = y->dtype == HUSK_F16 || y->dtype == HUSK_BF16;
    sequence s = {.observed = is_rounded ? NULL : y, .emit = emit_to_reports, .user = &to};
    if (!husk_ref_rnn_sequence_create(op, &s))
        return false;
    husk_ref_random random = {.seed = seed};
    int64_t sequence_count, unit_count;
    choose_sample(&s, &sequence_count, &unit_count);
    int64_t *numbers = malloc((size_t)(s.batch + s.hidden + 1) * sizeof(*numbers));
    bool done = numbers != NULL;
    if (done) {
        bool complete = sequence_count == s.batch && unit_count == s.hidden;
        sequence_count = sample_numbers(s.batch, sequence_count, &random, numbers);
        s.units = numbers + s.batch;
        s.unit_count = sample_numbers(s.hidden, unit_count, &random, numbers + s.batch);
        for (int64_t i = 0; done && i < sequence_count; i++)
            done = husk_ref_rnn_sequence_run(&s, numbers[i]);
        // What was not sampled is not NaN either; where the samples passed, no NaN is right.
        for (int i = 0; i < 3 && !complete; i++) {
            int64_t index[3] = {0};
            if (to.arrays[i] != NULL && to.reports[i]->failures == 0 && has_nan(to.arrays[i], index))
                husk_ref_report_add(to.reports[i], 3, index, 0.0, 0.0, NAN);
        }
    }
    free(numbers);
    free(s.memory);
    return done;
}
