// SPDX-License-Identifier: MIT
// The gradients of recurrent layers: from arguments to a problem, and the memory behind them.
#include <string.h>

#include "base/params.h"
#include "base/tensor.h"
#include "ops/rnn/backward_problem.h"
#include "ops/rnn/resolve.h"

typedef husk__rnn_backward_problem problem;
typedef husk__rnn_backward_run arguments;
typedef husk__rnn_backward_call call;

enum { PARTS = HUSK__RNN_BACKWARD_WEIGHT_PARTS, NAME = HUSK__RNN_BACKWARD_NAME };

// ---- the caller's structs ----

static husk_status read_outputs(const husk_rnn_outputs *given, const char *name, husk_rnn_outputs *outputs,
                                const husk__scope *scope)
{
    if (!given)
        return husk__reject(scope, name, "is NULL");
    return husk__struct_read(outputs, sizeof *outputs, "HUSK_RNN_OUTPUTS", given, name, scope);
}

husk_status husk__rnn_backward_read(const husk_rnn_inputs *inputs, const husk_rnn_outputs *outputs,
                                    const husk_rnn_outputs *output_gradients, const husk_rnn_gradients *gradients,
                                    call *own, const husk__scope *scope)
{
    husk_status status = husk__rnn_read(inputs, outputs, &own->inputs, &own->outputs, scope);
    if (status == HUSK_OK)
        status = read_outputs(output_gradients, "output_gradients", &own->output_gradients, scope);
    if (status == HUSK_OK && !gradients)
        status = husk__reject(scope, "gradients", "is NULL");
    if (status == HUSK_OK)
        status = husk__struct_read(&own->gradients, sizeof own->gradients, "HUSK_RNN_GRADIENTS", gradients, "gradients",
                                   scope);
    // Of the outputs only these are read.
    own->outputs.h_n = own->outputs.c_n = NULL;
    return status;
}

// ---- tensors ----

typedef enum demand { ANY_STRIDES = 1, IS_GRADIENT = 2 } demand;

// Numbers, shape and strides of an optional tensor; a copy without memory.
static husk_status resolve_tensor(const problem *own, const husk_tensor *tensor, const char *name, int32_t rank,
                                  const int64_t *shape, const char *meaning, unsigned demands, husk_tensor *out,
                                  bool *is_present, const husk__scope *scope)
{
    *is_present = tensor != NULL;
    if (!tensor)
        return HUSK_OK;
    husk_status status = husk__tensor_check_plain(tensor, own->forward.dtype, name, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(tensor, name, rank, shape, meaning, scope);
    if (status != HUSK_OK)
        return status;
    *out = *tensor;
    husk__tensor_bare(out);
    if (!(demands & ANY_STRIDES) && shape[rank - 1] > 1 && out->strides[rank - 1] != 1)
        return husk__fail(scope, HUSK_UNSUPPORTED, "%s: its last stride is %lld, it must be 1", name,
                          (long long)out->strides[rank - 1]);
    return demands & IS_GRADIENT ? husk__tensor_check_distinct(out, name, scope) : HUSK_OK;
}

static husk_status resolve_output_gradients(const husk_rnn_outputs *given, problem *own, const husk__scope *scope)
{
    const husk__rnn_problem *forward = &own->forward;
    static const char states[] = "[layers * directions, batch, hidden]";
    const int64_t state[3] = {husk__rnn_weight_count(forward), forward->batch, forward->hidden};
    if (!given->y && !given->h_n && !given->c_n)
        return husk__reject(scope, "output_gradients", "y, h_n and c_n are all NULL; one at least must be there");
    husk_status status = resolve_tensor(own, given->y, "output_gradients.y", 3, forward->y.shape, "as y", 0, &own->dy,
                                        &own->has_dy, scope);
    if (status == HUSK_OK)
        status = resolve_tensor(own, given->h_n, "output_gradients.h_n", 3, state, states, 0, &own->dh_n,
                                &own->has_dh_n, scope);
    if (status == HUSK_OK && given->c_n && forward->cell != HUSK_RNN_LSTM)
        status = husk__reject(scope, "output_gradients.c_n", "is given, but only an LSTM has a cell state");
    if (status == HUSK_OK)
        status = resolve_tensor(own, given->c_n, "output_gradients.c_n", 3, state, states, 0, &own->dc_n,
                                &own->has_dc_n, scope);
    return status;
}

const char *husk__rnn_backward_weight_name(int64_t index, int part, char name[NAME])
{
    static const char *const parts[PARTS] = {".input", ".hidden", ".input_bias", ".hidden_bias"};
    char *at = name;
    memcpy(at, "gradients.weights[", 18);
    at += 18;
    if (index >= 10)
        *at++ = (char)('0' + index / 10 % 10);
    *at++ = (char)('0' + index % 10);
    *at++ = ']';
    memcpy(at, parts[part], strlen(parts[part]) + 1);
    return name;
}

static husk_status resolve_weight(const husk_rnn_weights *given, int64_t index, problem *own, const husk__scope *scope)
{
    const husk__rnn_problem *forward = &own->forward;
    husk__rnn_wanted *wanted = &own->wanted[index];
    const int64_t rows = forward->gates * forward->hidden;
    const int64_t shapes[PARTS][2] = {{rows, husk__rnn_layer_inputs(forward, index / forward->directions)},
                                      {rows, forward->hidden},
                                      {rows, 0},
                                      {rows, 0}};
    const husk_tensor *const tensors[PARTS] = {given->input, given->hidden, given->input_bias, given->hidden_bias};
    bool *const wants[PARTS] = {&wanted->input, &wanted->hidden, &wanted->input_bias, &wanted->hidden_bias};
    int64_t *const row[2] = {&wanted->rows.input, &wanted->rows.hidden};
    husk_status status = HUSK_OK;
    char name[NAME];
    for (int i = 0; i < PARTS && status == HUSK_OK; ++i) {
        husk_tensor resolved;
        if (i < 2)
            *row[i] = husk__max_i64(1, shapes[i][1]);
        if (!tensors[i])
            continue;
        husk__rnn_backward_weight_name(index, i, name);
        status = resolve_tensor(own, tensors[i], name, i < 2 ? 2 : 1, shapes[i], "as the weight itself", IS_GRADIENT,
                                &resolved, wants[i], scope);
        if (status == HUSK_OK && i < 2 && rows > 1)
            *row[i] = resolved.strides[0];
    }
    return status;
}

static husk_status resolve_gradients(const husk_rnn_gradients *given, problem *own, const husk__scope *scope)
{
    const husk__rnn_problem *forward = &own->forward;
    static const char states[] = "[layers * directions, batch, hidden]";
    const int64_t state[3] = {husk__rnn_weight_count(forward), forward->batch, forward->hidden};
    husk_status status = resolve_tensor(own, given->x, "gradients.x", 3, forward->x.shape, "as x",
                                        ANY_STRIDES | IS_GRADIENT, &own->dx, &own->has_dx, scope);
    if (status == HUSK_OK)
        status = resolve_tensor(own, given->h0, "gradients.h0", 3, state, states, IS_GRADIENT, &own->dh0, &own->has_dh0,
                                scope);
    if (status == HUSK_OK && given->c0 && forward->cell != HUSK_RNN_LSTM)
        status = husk__reject(scope, "gradients.c0", "is given, but only an LSTM has a cell state");
    if (status == HUSK_OK)
        status = resolve_tensor(own, given->c0, "gradients.c0", 3, state, states, IS_GRADIENT, &own->dc0, &own->has_dc0,
                                scope);
    bool is_any = own->has_dx || own->has_dh0 || own->has_dc0;
    for (int64_t i = 0; given->weights && i < husk__rnn_weight_count(forward) && status == HUSK_OK; ++i) {
        const husk__rnn_wanted *wanted = &own->wanted[i];
        status = resolve_weight(&given->weights[i], i, own, scope);
        is_any = is_any || wanted->input || wanted->hidden || wanted->input_bias || wanted->hidden_bias;
    }
    if (status == HUSK_OK && !is_any)
        status = husk__reject(scope, "gradients", "all are NULL; one gradient at least must be wanted");
    return status;
}

// Everything that has a stand-in of f32: forward's, and the gradients.
int64_t husk__rnn_backward_border_total(const problem *own)
{
    const husk__rnn_problem *forward = &own->forward;
    const husk_tensor *const tensors[] = {&own->dy, &own->dh_n, &own->dc_n, &own->dx, &own->dh0, &own->dc0};
    const bool is_there[] = {own->has_dy, own->has_dh_n, own->has_dc_n, own->has_dx, own->has_dh0, own->has_dc0};
    if (!husk__rnn_is_narrow(forward))
        return 0;
    int64_t room = husk__rnn_border_total(forward) + husk__rnn_border_weights_room(forward);
    for (int i = 0; i < 6; ++i)
        room += is_there[i] ? husk__rnn_border_room(tensors[i]) : 0;
    return room;
}

// What the caller has is kept; what the library works on is f32 or f64, packed where it has to be converted.
static void keep_given(problem *own)
{
    husk_tensor *const tensors[] = {&own->dy, &own->dh_n, &own->dc_n, &own->dx, &own->dh0, &own->dc0};
    const bool is_there[] = {own->has_dy, own->has_dh_n, own->has_dc_n, own->has_dx, own->has_dh0, own->has_dc0};
    const bool is_narrow = husk__rnn_is_narrow(&own->forward);
    for (int i = 0; i < 6; ++i) {
        own->given[i] = *tensors[i];
        if (is_narrow && is_there[i])
            *tensors[i] = husk__rnn_as_f32(tensors[i]);
    }
    for (int64_t i = 0; i < husk__rnn_weight_count(&own->forward); ++i) {
        own->given_rows[i] = own->wanted[i].rows;
        if (is_narrow)
            own->wanted[i].rows = own->forward.rows[i];
    }
}

husk_status husk__rnn_backward_resolve(const husk_context *context, const husk_rnn_params *params, const call *given,
                                       problem *own, husk__preference *preference, const husk__scope *scope)
{
    *own = (problem){0};
    husk_status status =
        husk__rnn_resolve(context, params, &given->inputs, &given->outputs, &own->forward, preference, scope);
    if (status != HUSK_OK)
        return status;
    if (!given->outputs.reserve)
        return husk__reject(scope, "reserve", "is NULL; forward writes one where it is given one");
    husk_rnn_params read;
    husk__rnn_problem unused;
    status = husk__rnn_read_params(params, &read, &unused, scope);
    own->accumulate = read.accumulate;
    if (status == HUSK_OK)
        status = resolve_output_gradients(&given->output_gradients, own, scope);
    if (status == HUSK_OK)
        status = resolve_gradients(&given->gradients, own, scope);
    if (status != HUSK_OK)
        return status;
    keep_given(own);
    husk__rnn_set_limit(context, &read, husk__rnn_backward_border_total(own), &own->forward, preference);
    return HUSK_OK;
}

// ---- memory ----

static husk_status bind_all(husk_queue *queue, const husk_tensor *const *tensors, const char *const *names,
                            size_t count, const husk__scope *scope)
{
    husk_status status = HUSK_OK;
    for (size_t i = 0; i < count && status == HUSK_OK; ++i)
        status = tensors[i] ? husk__tensor_bind(queue, tensors[i], names[i], scope) : HUSK_OK;
    return status;
}

// A gradient against one layer's weights or their gradients, as far as `parts`.
static husk_status refuse_weights(const husk_tensor *gradient, const char *name, const husk_rnn_weights *weights,
                                  int parts, const char *other, const husk__scope *scope)
{
    const husk_tensor *const tensors[PARTS] = {weights->input, weights->hidden, weights->input_bias,
                                               weights->hidden_bias};
    husk_status status = HUSK_OK;
    for (int i = 0; i < parts && status == HUSK_OK; ++i)
        status = husk__refuse_overlap(gradient, name, tensors[i], other, scope);
    return status;
}

enum { INPUTS = 9, STATES = 3 };

// One gradient against everything that is read, and the gradients before it: `states` of x, h0 and c0, all weights
// before `index`, and `parts` of those of `index`.
static husk_status refuse_overlaps(const problem *own, const arguments *run, const husk_tensor *gradient,
                                   const char *name, int states, int64_t index, int parts, const husk__scope *scope)
{
    static const char *const names[INPUTS] = {"x",
                                              "lengths",
                                              "h0",
                                              "c0",
                                              "y",
                                              "reserve",
                                              "output_gradients.y",
                                              "output_gradients.h_n",
                                              "output_gradients.c_n"};
    const husk_tensor *const inputs[INPUTS] = {run->inputs->x,
                                               run->inputs->lengths,
                                               run->inputs->h0,
                                               run->inputs->c0,
                                               run->outputs->y,
                                               run->outputs->reserve,
                                               run->output_gradients->y,
                                               run->output_gradients->h_n,
                                               run->output_gradients->c_n};
    static const char *const before_names[STATES] = {"gradients.x", "gradients.h0", "gradients.c0"};
    const husk_tensor *const before[STATES] = {run->gradients->x, run->gradients->h0, run->gradients->c0};
    husk_status status = HUSK_OK;
    for (int i = 0; i < INPUTS && status == HUSK_OK; ++i)
        status = husk__refuse_overlap(gradient, name, inputs[i], names[i], scope);
    for (int64_t i = 0; i < husk__rnn_weight_count(&own->forward) && status == HUSK_OK; ++i)
        status = refuse_weights(gradient, name, &run->inputs->weights[i], PARTS, "weights", scope);
    for (int i = 0; i < states && status == HUSK_OK; ++i)
        status = husk__refuse_overlap(gradient, name, before[i], before_names[i], scope);
    for (int64_t i = 0; i <= index && status == HUSK_OK; ++i)
        status = refuse_weights(gradient, name, &run->gradients->weights[i], i < index ? PARTS : parts,
                                "gradients.weights", scope);
    return status;
}

static husk_status bind_gradients(const problem *own, husk_queue *queue, const arguments *run, const husk__scope *scope)
{
    static const char *const names[STATES] = {"gradients.x", "gradients.h0", "gradients.c0"};
    const husk_tensor *const states[STATES] = {run->gradients->x, run->gradients->h0, run->gradients->c0};
    husk_status status = bind_all(queue, states, names, STATES, scope);
    for (int i = 0; i < STATES && status == HUSK_OK; ++i)
        if (states[i])
            status = refuse_overlaps(own, run, states[i], names[i], i, -1, 0, scope);
    const husk_rnn_weights *weights = run->gradients->weights;
    for (int64_t i = 0; weights && i < husk__rnn_weight_count(&own->forward); ++i) {
        const husk_tensor *const tensors[PARTS] = {weights[i].input, weights[i].hidden, weights[i].input_bias,
                                                   weights[i].hidden_bias};
        for (int part = 0; part < PARTS && status == HUSK_OK; ++part) {
            char name[NAME];
            if (!tensors[part])
                continue;
            status = husk__tensor_bind(queue, tensors[part], husk__rnn_backward_weight_name(i, part, name), scope);
            if (status == HUSK_OK)
                status = refuse_overlaps(own, run, tensors[part], name, STATES, i, part, scope);
        }
    }
    return status;
}

husk_status husk__rnn_backward_bind(const problem *own, husk_queue *queue, const arguments *run,
                                    const husk__scope *scope)
{
    static const char *const names[] = {"output_gradients.y", "output_gradients.h_n", "output_gradients.c_n"};
    const husk_tensor *const tensors[] = {run->output_gradients->y, run->output_gradients->h_n,
                                          run->output_gradients->c_n};
    const husk__rnn_run forward = {run->inputs, run->outputs};
    husk_status status = husk__rnn_bind(&own->forward, queue, &forward, scope);
    if (status == HUSK_OK)
        status = bind_all(queue, tensors, names, 3, scope);
    return status == HUSK_OK ? bind_gradients(own, queue, run, scope) : status;
}

// ---- keys ----

// Strides alone: shapes follow from forward's.
static void key_strides(husk__key *key, const husk_tensor *tensor, bool is_present)
{
    husk__key_i64(key, is_present);
    for (int d = 0; is_present && d < 3; ++d)
        husk__key_i64(key, tensor->strides[d]);
}

void husk__rnn_backward_describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    husk__rnn_describe(&own->forward, key);
    husk__key_i64(key, own->accumulate);
    const bool is_there[] = {own->has_dy, own->has_dh_n, own->has_dc_n, own->has_dx, own->has_dh0, own->has_dc0};
    for (int i = 0; i < 6; ++i)
        key_strides(key, &own->given[i], is_there[i]);
    int64_t wants[2] = {0, 0};
    for (int64_t i = 0; i < husk__rnn_weight_count(&own->forward); ++i) {
        const husk__rnn_wanted *wanted = &own->wanted[i];
        const int64_t bits = wanted->input + 2 * wanted->hidden + 4 * wanted->input_bias + 8 * wanted->hidden_bias;
        wants[i / 16] = (int64_t)((uint64_t)wants[i / 16] | (uint64_t)bits << (4 * (i % 16)));
        const husk__rnn_rows *rows = &own->given_rows[i];
        const bool is_packed = rows->input == husk__rnn_packed_pitch(&own->forward, i / own->forward.directions) &&
                               rows->hidden == own->forward.hidden;
        if (!bits || is_packed) // packed rows, the usual case, take no room
            continue;
        husk__key_i64(key, i);
        husk__key_i64(key, rows->input);
        husk__key_i64(key, rows->hidden);
    }
    husk__key_i64(key, wants[0]);
    husk__key_i64(key, wants[1]);
}
