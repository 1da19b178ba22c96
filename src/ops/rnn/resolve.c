// SPDX-License-Identifier: MIT
// From a public call's arguments to a problem of recurrent layers: validation, defaults, and the memory behind them.
#include "ops/rnn/resolve.h"

#include <string.h>

#include "base/checked.h"
#include "base/epilogue.h"
#include "base/params.h"
#include "base/tensor.h"

// ---- the caller's structs ----

husk_status husk__rnn_read(const husk_rnn_inputs *given_inputs, const husk_rnn_outputs *given_outputs,
                           husk_rnn_inputs *inputs, husk_rnn_outputs *outputs, const husk__scope *scope)
{
    if (!given_inputs)
        return husk__reject(scope, "inputs", "is NULL");
    if (!given_outputs)
        return husk__reject(scope, "outputs", "is NULL");
    husk_status status = husk__struct_read(inputs, sizeof *inputs, "HUSK_RNN_INPUTS", given_inputs, "inputs", scope);
    if (status == HUSK_OK)
        status = husk__struct_read(outputs, sizeof *outputs, "HUSK_RNN_OUTPUTS", given_outputs, "outputs", scope);
    return status;
}

static husk_status check_params(const husk_rnn_params *params, husk__rnn_problem *problem, const husk__scope *scope)
{
    if ((int)params->cell < HUSK_RNN_TANH || params->cell > HUSK_RNN_GRU)
        return husk__reject(scope, "params", "cell %d is none of husk_rnn_cell", (int)params->cell);
    if ((int)params->reset < HUSK_GRU_RESET_AFTER || params->reset > HUSK_GRU_RESET_BEFORE)
        return husk__reject(scope, "params", "reset %d is none of husk_gru_reset", (int)params->reset);
    husk_status status = husk__precision_check(params->precision, scope);
    if (status != HUSK_OK)
        return status;
    if (params->accumulate > HUSK_ACCUMULATE_ALL)
        return husk__reject(scope, "params", "accumulate %u has bits that mean nothing", (unsigned)params->accumulate);
    if (params->hidden_size < 1)
        return husk__reject(scope, "params", "hidden_size is %lld, it must be at least 1",
                            (long long)params->hidden_size);
    if (params->layers < 0)
        return husk__reject(scope, "params", "layers is %lld, it must not be negative", (long long)params->layers);
    if (params->layers > HUSK__RNN_MAX_LAYERS)
        return husk__fail(scope, HUSK_UNSUPPORTED, "params: layers is %lld, at most %d are computed in one call",
                          (long long)params->layers, HUSK__RNN_MAX_LAYERS);
    problem->cell = params->cell;
    problem->reset = params->cell == HUSK_RNN_GRU ? params->reset : HUSK_GRU_RESET_AFTER;
    problem->precision = params->precision;
    problem->hidden = params->hidden_size;
    problem->layers = params->layers ? params->layers : 1;
    problem->directions = params->bidirectional ? 2 : 1;
    problem->gates = params->cell == HUSK_RNN_LSTM ? 4 : params->cell == HUSK_RNN_GRU ? 3 : 1;
    int64_t rows;
    if (!husk__mul_i64(2 * problem->gates, problem->hidden, &rows) || rows > HUSK__MOST_ELEMENTS)
        return husk__reject(scope, "params", "hidden_size is %lld: the weights' rows overflow",
                            (long long)params->hidden_size);
    return HUSK_OK;
}

husk_status husk__rnn_read_params(const husk_rnn_params *given, husk_rnn_params *params, husk__rnn_problem *problem,
                                  const husk__scope *scope)
{
    *problem = (husk__rnn_problem){0};
    if (!given)
        return husk__reject(scope, "params", "is NULL");
    husk_status status = husk__params_read(params, sizeof *params, "HUSK_RNN_PARAMS", given, scope);
    return status == HUSK_OK ? check_params(params, problem, scope) : status;
}

// ---- tensors ----

// Numbers, dtype and rank; a copy without memory, strides written out.
static husk_status describe_tensor(const husk_tensor *tensor, const char *name, husk_dtype dtype, int32_t rank,
                                   husk_tensor *out, const husk__scope *scope)
{
    if (!tensor)
        return husk__reject(scope, name, "is NULL");
    husk_status status = husk__tensor_check(tensor, name, scope);
    if (status != HUSK_OK)
        return status;
    if (tensor->packed)
        return husk__reject(scope, name, "is packed; packed weights go into inputs.packed");
    const bool is_float = tensor->dtype == HUSK_F32 || tensor->dtype == HUSK_F16 || tensor->dtype == HUSK_BF16 ||
                          tensor->dtype == HUSK_F64;
    if (dtype != HUSK_I32 && !is_float)
        return husk__fail(scope, HUSK_UNSUPPORTED, "%s: is %s; recurrent layers are of f32, f16, bf16 or f64", name,
                          husk_dtype_name(tensor->dtype));
    if (tensor->dtype != dtype)
        return husk__reject(scope, name, "is %s, it must be %s%s", husk_dtype_name(tensor->dtype),
                            husk_dtype_name(dtype), dtype == HUSK_F32 || dtype == HUSK_I32 ? "" : " as x");
    if (tensor->rank != rank)
        return husk__reject(scope, name, "has rank %d, it must be %d", (int)tensor->rank, (int)rank);
    *out = *tensor;
    husk__tensor_bare(out);
    return HUSK_OK;
}

static husk_status check_shape(const husk_tensor *tensor, const char *name, const int64_t *shape, const char *meaning,
                               const husk__scope *scope)
{
    bool is_same = true;
    for (int32_t d = 0; d < tensor->rank; ++d)
        is_same = is_same && tensor->shape[d] == shape[d];
    if (is_same)
        return HUSK_OK;
    husk_tensor wanted = *tensor;
    memcpy(wanted.shape, shape, (size_t)tensor->rank * sizeof *shape);
    char is[HUSK__SHAPE_TEXT], must[HUSK__SHAPE_TEXT];
    return husk__reject(scope, name, "is %s, it must be %s = %s", husk__shape_text(tensor, is), meaning,
                        husk__shape_text(&wanted, must));
}

static husk_status check_last_stride(const husk_tensor *tensor, const char *name, const husk__scope *scope)
{
    const int32_t last = tensor->rank - 1;
    if (tensor->shape[last] > 1 && tensor->strides[last] != 1)
        return husk__fail(scope, HUSK_UNSUPPORTED, "%s: its last stride is %lld, it must be 1", name,
                          (long long)tensor->strides[last]);
    return HUSK_OK;
}

static husk_status check_no_alias(const husk_tensor *tensor, const char *name, const husk__scope *scope)
{
    if (husk__tensor_may_alias_itself(tensor))
        return husk__reject(scope, name, "its strides let different elements coincide");
    return HUSK_OK;
}

// A state [layers * directions, batch, hidden], or NULL.
static husk_status resolve_state(const husk_tensor *tensor, const char *name, const husk__rnn_problem *problem,
                                 husk_tensor *out, bool *is_present, const husk__scope *scope)
{
    *is_present = tensor != NULL;
    if (!tensor)
        return HUSK_OK;
    const int64_t shape[3] = {husk__rnn_weight_count(problem), problem->batch, problem->hidden};
    husk_status status = describe_tensor(tensor, name, problem->dtype, 3, out, scope);
    if (status == HUSK_OK)
        status = check_shape(out, name, shape, "[layers * directions, batch, hidden]", scope);
    if (status == HUSK_OK)
        status = check_last_stride(out, name, scope);
    return status;
}

static husk_status resolve_inputs(const husk_rnn_inputs *inputs, husk__rnn_problem *problem, const husk__scope *scope)
{
    const husk_dtype dtype = inputs->x ? inputs->x->dtype : HUSK_F32;
    problem->dtype = dtype == HUSK_F16 || dtype == HUSK_BF16 || dtype == HUSK_F64 ? dtype : HUSK_F32;
    problem->work = dtype == HUSK_F64 ? HUSK_F64 : HUSK_F32;
    husk_status status = describe_tensor(inputs->x, "x", problem->dtype, 3, &problem->x, scope);
    if (status != HUSK_OK)
        return status;
    problem->steps = problem->x.shape[0];
    problem->batch = problem->x.shape[1];
    problem->inputs = problem->x.shape[2];
    problem->has_lengths = inputs->lengths != NULL;
    if (inputs->lengths) {
        status = describe_tensor(inputs->lengths, "lengths", HUSK_I32, 1, &problem->lengths, scope);
        if (status == HUSK_OK)
            status = check_shape(&problem->lengths, "lengths", &problem->batch, "[batch]", scope);
        if (status == HUSK_OK)
            status = check_last_stride(&problem->lengths, "lengths", scope);
    }
    if (status == HUSK_OK)
        status = resolve_state(inputs->h0, "h0", problem, &problem->h0, &problem->has_h0, scope);
    if (status == HUSK_OK && inputs->c0 && problem->cell != HUSK_RNN_LSTM)
        status = husk__reject(scope, "c0", "is given, but only an LSTM has a cell state");
    if (status == HUSK_OK)
        status = resolve_state(inputs->c0, "c0", problem, &problem->c0, &problem->has_c0, scope);
    return status;
}

static husk_status resolve_reserve(const husk_tensor *tensor, husk__rnn_problem *problem, const husk__scope *scope)
{
    const int64_t count = husk__rnn_reserve_count(problem);
    husk_status status = describe_tensor(tensor, "reserve", problem->work, 1, &problem->reserve, scope);
    if (status == HUSK_OK)
        status = check_last_stride(&problem->reserve, "reserve", scope);
    if (status != HUSK_OK)
        return status;
    if (count < 0 || problem->reserve.shape[0] < count)
        return husk__reject(scope, "reserve", "has %lld elements, husk_rnn_reserve_size asks for %lld",
                            (long long)problem->reserve.shape[0], (long long)count);
    problem->has_reserve = true;
    return HUSK_OK;
}

static husk_status resolve_outputs(const husk_rnn_outputs *outputs, husk__rnn_problem *problem,
                                   const husk__scope *scope)
{
    const int64_t shape[3] = {problem->steps, problem->batch, problem->directions * problem->hidden};
    husk_status status = describe_tensor(outputs->y, "y", problem->dtype, 3, &problem->y, scope);
    if (status == HUSK_OK)
        status = check_shape(&problem->y, "y", shape, "[time, batch, directions * hidden]", scope);
    if (status == HUSK_OK)
        status = check_last_stride(&problem->y, "y", scope);
    if (status == HUSK_OK)
        status = check_no_alias(&problem->y, "y", scope);
    if (status == HUSK_OK)
        status = resolve_state(outputs->h_n, "h_n", problem, &problem->h_n, &problem->has_h_n, scope);
    if (status == HUSK_OK && outputs->h_n)
        status = check_no_alias(&problem->h_n, "h_n", scope);
    if (status == HUSK_OK && outputs->c_n && problem->cell != HUSK_RNN_LSTM)
        status = husk__reject(scope, "c_n", "is given, but only an LSTM has a cell state");
    if (status == HUSK_OK)
        status = resolve_state(outputs->c_n, "c_n", problem, &problem->c_n, &problem->has_c_n, scope);
    if (status == HUSK_OK && outputs->c_n)
        status = check_no_alias(&problem->c_n, "c_n", scope);
    if (status == HUSK_OK && outputs->reserve)
        status = resolve_reserve(outputs->reserve, problem, scope);
    return status;
}

// ---- weights ----

static husk_status resolve_matrix(const husk_tensor *tensor, const char *name, husk_dtype dtype, int64_t rows,
                                  int64_t columns, const char *meaning, int64_t *row, const husk__scope *scope)
{
    const int64_t shape[2] = {rows, columns};
    husk_tensor own;
    husk_status status = describe_tensor(tensor, name, dtype, 2, &own, scope);
    if (status == HUSK_OK)
        status = check_shape(&own, name, shape, meaning, scope);
    if (status == HUSK_OK)
        status = check_last_stride(&own, name, scope);
    if (status == HUSK_OK)
        *row = rows > 1 ? own.strides[0] : husk__max_i64(1, columns);
    return status;
}

static husk_status resolve_bias(const husk_tensor *tensor, const char *name, husk_dtype dtype, int64_t rows,
                                bool is_wanted, const husk__scope *scope)
{
    husk_tensor own;
    if (is_wanted != (tensor != NULL))
        return husk__reject(scope, name,
                            is_wanted ? "is NULL, but the other weights have this bias; all or none must"
                                      : "is given, but the other weights have no such bias; all or none "
                                        "must");
    if (!tensor)
        return HUSK_OK;
    husk_status status = describe_tensor(tensor, name, dtype, 1, &own, scope);
    if (status == HUSK_OK)
        status = check_shape(&own, name, &rows, "[gates * hidden]", scope);
    if (status == HUSK_OK)
        status = check_last_stride(&own, name, scope);
    return status;
}

// "weights[12].input_bias", for every weight of every call: printf would take longer than all of the checks.
const char *husk__rnn_weight_name(int64_t index, const char *part, char name[HUSK__RNN_NAME])
{
    char *at = name;
    memcpy(at, "weights[", 8);
    at += 8;
    if (index >= 10)
        *at++ = (char)('0' + index / 10 % 10);
    *at++ = (char)('0' + index % 10);
    *at++ = ']';
    const size_t length = strlen(part);
    memcpy(at, part, length + 1);
    return name;
}

husk_status husk__rnn_resolve_weight(const husk_rnn_weights *weights, int64_t index, const husk__rnn_problem *problem,
                                     husk__rnn_rows *rows, const husk__scope *scope)
{
    const int64_t gate_rows = problem->gates * problem->hidden;
    const int64_t columns = husk__rnn_layer_inputs(problem, index / problem->directions);
    char name[HUSK__RNN_NAME];
    husk_status status = resolve_matrix(weights->input, husk__rnn_weight_name(index, ".input", name), problem->dtype,
                                        gate_rows, columns, "[gates * hidden, layer's inputs]", &rows->input, scope);
    if (status != HUSK_OK)
        return status;
    status = resolve_matrix(weights->hidden, husk__rnn_weight_name(index, ".hidden", name), problem->dtype, gate_rows,
                            problem->hidden, "[gates * hidden, hidden]", &rows->hidden, scope);
    if (status != HUSK_OK)
        return status;
    status = resolve_bias(weights->input_bias, husk__rnn_weight_name(index, ".input_bias", name), problem->dtype,
                          gate_rows, problem->has_input_bias, scope);
    if (status != HUSK_OK)
        return status;
    return resolve_bias(weights->hidden_bias, husk__rnn_weight_name(index, ".hidden_bias", name), problem->dtype,
                        gate_rows, problem->has_hidden_bias, scope);
}

husk_status husk__rnn_refuse_packed_training(const husk_rnn_inputs *inputs, const husk__rnn_problem *problem,
                                             const husk__scope *scope)
{
    if (!inputs->packed || !problem->has_reserve)
        return HUSK_OK;
    return husk__fail(scope, HUSK_UNSUPPORTED, "packed: with a reserve, for training, weights are plain");
}

static husk_status resolve_weights(const husk_rnn_inputs *inputs, husk__rnn_problem *problem, const husk__scope *scope)
{
    const int64_t count = husk__rnn_weight_count(problem);
    if (inputs->weights && inputs->packed)
        return husk__reject(scope, "packed", "is given beside weights; one of the two must be NULL");
    if (!inputs->weights && !inputs->packed)
        return husk__reject(scope, "weights", "is NULL, and packed is NULL too");
    husk_status status = husk__rnn_refuse_packed_training(inputs, problem, scope);
    if (status != HUSK_OK)
        return status;
    // Known by how it describes its problems: the row itself is rnn.c's, above.
    if (inputs->packed && inputs->packed->op->describe != husk__rnn_describe)
        return husk__reject(scope, "packed", "was packed for %s, not for rnn", inputs->packed->op->name);
    if (inputs->packed) {
        problem->has_input_bias = (inputs->packed->flags & HUSK__RNN_PACKED_INPUT_BIAS) != 0;
        problem->has_hidden_bias = (inputs->packed->flags & HUSK__RNN_PACKED_HIDDEN_BIAS) != 0;
        for (int64_t i = 0; i < count; ++i)
            problem->rows[i] =
                (husk__rnn_rows){husk__rnn_packed_pitch(problem, i / problem->directions), problem->hidden};
        return HUSK_OK;
    }
    problem->has_input_bias = inputs->weights[0].input_bias != NULL;
    problem->has_hidden_bias = inputs->weights[0].hidden_bias != NULL;
    for (int64_t i = 0; i < count && status == HUSK_OK; ++i)
        status = husk__rnn_resolve_weight(&inputs->weights[i], i, problem, &problem->rows[i], scope);
    return status;
}

// What the caller has is kept; what the library works on is f32 or f64, packed where it had to be converted.
static void keep_given(husk__rnn_problem *problem)
{
    husk_tensor *const own[] = {&problem->x, &problem->y, &problem->h0, &problem->c0, &problem->h_n, &problem->c_n};
    const bool is_there[] = {true, true, problem->has_h0, problem->has_c0, problem->has_h_n, problem->has_c_n};
    husk__rnn_given *given = &problem->given;
    husk_tensor *const kept[] = {&given->x, &given->y, &given->h0, &given->c0, &given->h_n, &given->c_n};
    for (int i = 0; i < 6; ++i) {
        *kept[i] = *own[i];
        if (husk__rnn_is_narrow(problem) && is_there[i])
            *own[i] = husk__rnn_as_f32(own[i]);
    }
    for (int64_t i = 0; i < husk__rnn_weight_count(problem); ++i) {
        given->rows[i] = problem->rows[i];
        if (husk__rnn_is_narrow(problem))
            problem->rows[i] =
                (husk__rnn_rows){husk__rnn_packed_pitch(problem, i / problem->directions), problem->hidden};
    }
}

// The larger of 64 MiB and twice the tensors as they are worked on, all layers' weights among them.
static uint64_t default_limit(const husk__rnn_problem *problem)
{
    husk_tensor weights = {.dtype = problem->work, .rank = 1};
    const husk_tensor *const tensors[] = {&problem->x, &problem->y, &weights,
                                          problem->has_reserve ? &problem->reserve : NULL};
    for (int64_t i = 0; i < husk__rnn_weight_count(problem); ++i)
        weights.shape[0] += problem->gates * problem->hidden *
                            (problem->hidden + husk__rnn_layer_inputs(problem, i / problem->directions));
    return husk__default_limit(tensors, 4).bytes;
}

void husk__rnn_set_limit(const husk_context *context, const husk_rnn_params *params, int64_t border,
                         husk__rnn_problem *problem, husk__preference *preference)
{
    const uint64_t given = params->workspace_limit;
    problem->limit_is_given = given != 0;
    problem->workspace_limit = given ? given : default_limit(problem) + (uint64_t)border * sizeof(float);
    problem->most_scratch = husk_context_traits(context)->max_allocation; // it is one buffer
    if (problem->workspace_limit > problem->most_scratch)
        problem->workspace_limit = problem->most_scratch;
    preference->limit.bytes = params->variant ? given : problem->workspace_limit;
    preference->limit.is_default = !params->variant && !given;
    preference->inside_limit = given;
}

husk_status husk__rnn_resolve(const husk_context *context, const husk_rnn_params *given, const husk_rnn_inputs *inputs,
                              const husk_rnn_outputs *outputs, husk__rnn_problem *problem, husk__preference *preference,
                              const husk__scope *scope)
{
    husk_rnn_params params;
    husk_status status = husk__rnn_read_params(given, &params, problem, scope);
    problem->has_reserve = outputs->reserve != NULL;
    if (status == HUSK_OK)
        status = resolve_inputs(inputs, problem, scope);
    if (status == HUSK_OK)
        status = resolve_weights(inputs, problem, scope);
    if (status == HUSK_OK)
        status = resolve_outputs(outputs, problem, scope);
    if (status != HUSK_OK)
        return status;
    keep_given(problem);
    husk__rnn_set_limit(context, &params, husk__rnn_border_total(problem), problem, preference);
    preference->variant = params.variant;
    husk__preference_of_packed(preference, inputs->packed);
    return HUSK_OK;
}

// ---- memory ----

husk_status husk__rnn_bind_weights(const husk__rnn_problem *problem, husk_queue *queue, const husk_rnn_weights *weights,
                                   const husk__scope *scope)
{
    static const char *const parts[4] = {".input", ".hidden", ".input_bias", ".hidden_bias"};
    for (int64_t i = 0; i < husk__rnn_weight_count(problem); ++i) {
        const husk_tensor *const tensors[4] = {weights[i].input, weights[i].hidden, weights[i].input_bias,
                                               weights[i].hidden_bias};
        for (int part = 0; part < 4; ++part) {
            char name[HUSK__RNN_NAME];
            husk_status status = tensors[part] ? husk__tensor_bind(queue, tensors[part],
                                                                   husk__rnn_weight_name(i, parts[part], name), scope)
                                               : HUSK_OK;
            if (status != HUSK_OK)
                return status;
        }
    }
    return HUSK_OK;
}

enum { INPUTS = 4, OUTPUTS = 4 };

static husk_status refuse_overlaps(const husk__rnn_problem *problem, const husk_tensor *output, const char *name,
                                   const husk_tensor *const inputs[INPUTS], const husk_rnn_weights *weights,
                                   const husk__scope *scope)
{
    static const char *const names[INPUTS] = {"x", "lengths", "h0", "c0"};
    husk_status status = HUSK_OK;
    for (int i = 0; i < INPUTS && status == HUSK_OK; ++i)
        status = husk__refuse_overlap(output, name, inputs[i], names[i], scope);
    for (int64_t i = 0; weights && i < husk__rnn_weight_count(problem) && status == HUSK_OK; ++i) {
        const husk_tensor *const tensors[4] = {weights[i].input, weights[i].hidden, weights[i].input_bias,
                                               weights[i].hidden_bias};
        for (int part = 0; part < 4 && status == HUSK_OK; ++part)
            status = husk__refuse_overlap(output, name, tensors[part], "weights", scope);
    }
    return status;
}

husk_status husk__rnn_bind(const husk__rnn_problem *problem, husk_queue *queue, const husk__rnn_run *run,
                           const husk__scope *scope)
{
    static const char *const input_names[INPUTS] = {"x", "lengths", "h0", "c0"};
    static const char *const output_names[OUTPUTS] = {"y", "h_n", "c_n", "reserve"};
    const husk_tensor *const inputs[INPUTS] = {run->inputs->x, run->inputs->lengths, run->inputs->h0, run->inputs->c0};
    const husk_tensor *const outputs[OUTPUTS] = {run->outputs->y, run->outputs->h_n, run->outputs->c_n,
                                                 run->outputs->reserve};
    husk_status status = HUSK_OK;
    for (int i = 0; i < INPUTS && status == HUSK_OK; ++i)
        status = inputs[i] ? husk__tensor_bind(queue, inputs[i], input_names[i], scope) : HUSK_OK;
    if (status == HUSK_OK && run->inputs->weights)
        status = husk__rnn_bind_weights(problem, queue, run->inputs->weights, scope);
    for (int i = 0; i < OUTPUTS && status == HUSK_OK; ++i)
        status = outputs[i] ? husk__tensor_bind(queue, outputs[i], output_names[i], scope) : HUSK_OK;
    for (int i = 0; i < OUTPUTS && status == HUSK_OK; ++i) {
        if (!outputs[i])
            continue;
        status = refuse_overlaps(problem, outputs[i], output_names[i], inputs, run->inputs->weights, scope);
        for (int j = 0; j < i && status == HUSK_OK; ++j)
            status = husk__refuse_overlap(outputs[i], output_names[i], outputs[j], output_names[j], scope);
    }
    return status;
}
