// SPDX-License-Identifier: MIT
// What a plan of recurrent layers prepares, and how a run goes through layers, directions and time:
// for each layer, for each chunk of time steps that scratch memory has room for, the products of all inputs
// with the input weights (gemm's public plans), then the steps (step.c).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/rnn/border.h"

enum { GATHER_STEPS = 16, GATHER_ITEMS = 64 };

// ---- tensors in scratch memory ----

static husk_tensor matrix_at(const husk__rnn_problem *problem, const husk__scratch *scratch, uint64_t byte_offset,
                             int64_t rows, int64_t columns)
{
    husk_tensor matrix =
        husk_tensor_make(scratch ? scratch->buffer : NULL, problem->work, 2, (int64_t[]){rows, columns});
    matrix.strides[0] = columns;
    matrix.strides[1] = 1;
    matrix.offset = (int64_t)(byte_offset / husk__rnn_size(problem));
    return matrix;
}

static husk_tensor layer_output(const husk__rnn_problem *problem, const husk__scratch *scratch, uint64_t byte_offset)
{
    husk_tensor output =
        husk_tensor_make(scratch->buffer, problem->work, 3,
                         (int64_t[]){problem->steps, problem->batch, problem->directions * problem->hidden});
    output.offset = (int64_t)(byte_offset / husk__rnn_size(problem));
    return output;
}

// Time steps first... of a layer's input [time, batch, features] as rows of a matrix.
static husk_tensor input_rows(const husk__rnn_problem *problem, const husk_tensor *input, int64_t first, int64_t steps)
{
    husk_tensor rows = *input;
    rows.rank = 2;
    rows.offset += first * input->strides[0];
    rows.shape[0] = steps * problem->batch;
    rows.shape[1] = input->shape[2];
    rows.strides[0] = problem->batch > 1 ? input->strides[1] : input->strides[0];
    rows.strides[1] = input->strides[2];
    return rows;
}

static husk_tensor weight_matrix(const husk__rnn_problem *problem, int64_t index)
{
    husk_tensor weights = matrix_at(problem, NULL, 0, problem->gates * problem->hidden,
                                    husk__rnn_layer_inputs(problem, index / problem->directions));
    weights.strides[0] = problem->rows[index].input;
    return weights;
}

// ---- preparing ----

static bool reads_gathered(const husk__rnn_layout *layout, int64_t layer, int64_t direction)
{
    return (layer == 0 && layout->gathers_x) || (direction == 1 && layout->gathers_chunks);
}

static husk_status plan_product(husk_plan *plan, husk__rnn_state *state, int64_t index, const husk__scope *scope)
{
    const husk__rnn_problem *problem = husk__rnn_worked(plan);
    const husk__rnn_layout *layout = &state->layout;
    const int64_t layer = index / problem->directions, columns = problem->gates * problem->hidden;
    const int64_t rows = layout->chunk * problem->batch;
    husk_tensor a = matrix_at(problem, NULL, 0, rows, husk__rnn_layer_inputs(problem, layer));
    if (layer == 0 && !reads_gathered(layout, layer, index % problem->directions))
        a = input_rows(problem, &problem->x, 0, layout->chunk);
    const husk_tensor b = weight_matrix(problem, index);
    husk_tensor c = matrix_at(problem, NULL, 0, rows, columns);
    if (problem->has_reserve)
        c.strides[0] = husk__rnn_kept(problem) * problem->hidden;
    const husk_tensor bias = husk_tensor_make(NULL, problem->work, 1, &columns);
    const husk_gemm_params params = HUSK_GEMM_PARAMS(.transpose_b = 1, .precision = problem->precision,
                                                     .workspace_limit = husk__plan_inside_limit(plan));
    husk_error error = {0};
    husk_status status = husk_gemm_plan_create(plan->context, &params, &a, &b, problem->has_input_bias ? &bias : NULL,
                                               &c, &state->products[index], &error);
    if (status != HUSK_OK)
        return husk__fail_opencl(scope, status, error.opencl_code, "products of the inputs: %s", error.text);
    husk__plan_adopt(plan, state->products[index]);
    plan->error_factor = fmax(plan->error_factor, state->products[index]->error_factor);
    return HUSK_OK;
}

husk_status husk__rnn_prepare(husk_plan *plan, husk__rnn_state *state, const husk__scope *scope)
{
    const husk__rnn_problem *problem = husk__rnn_worked(plan);
    const char *options = husk__rnn_dtype_options(problem);
    const char *pack = state->strip_vectors > 0 ? "husk_rnn_pack_panels" : "husk_rnn_pack";
    husk_status status = husk__kernel_get(plan->context, "rnn/pack.cl", options, pack, &state->pack, scope);
    if (status == HUSK_OK)
        status = husk__kernel_get(plan->context, "rnn/pack.cl", options, "husk_rnn_gather", &state->gather, scope);
    const bool is_own = state->strip_vectors > 0 && !state->takes_few && !problem->has_reserve;
    if (problem->steps == 0 || problem->batch == 0 || is_own)
        return status;
    for (int64_t i = 0; i < husk__rnn_weight_count(problem) && status == HUSK_OK; ++i)
        status = plan_product(plan, state, i, scope);
    return status;
}

void husk__rnn_unprepare(husk_plan *plan)
{
    husk__rnn_state *state = plan->state;
    for (int i = 0; i < HUSK__RNN_MAX_WEIGHTS; ++i)
        husk_plan_release(state->products[i]);
    free(state);
}

// ---- running ----

// What a run of gathering is told.
typedef struct gather_call {
    const husk_tensor *from; /* [time, batch, features]; NULL: zeros */
    const husk_tensor *to;   /* the same, with a last stride of 1 */
    const husk_tensor *lengths;
    int64_t first_step, steps;
    bool is_reversed;
} gather_call;

static husk_status gather(const husk_plan *plan, husk_queue *queue, const gather_call *call, const husk__scope *scope)
{
    const husk__rnn_problem *problem = husk__rnn_worked(plan);
    const husk__rnn_state *state = plan->state;
    const int64_t zeros[3] = {0, 0, 0}, *from = call->from ? call->from->strides : zeros;
    const int64_t batch = call->to->shape[1], features = call->to->shape[2];
    const int64_t group_steps = husk__max_i64(GATHER_STEPS, husk__divide_up(call->steps, HUSK__MOST_GROUPS));
    const husk__range range = {{(size_t)(husk__divide_up(features, GATHER_ITEMS) * batch), 1,
                                (size_t)husk__divide_up(call->steps, group_steps)},
                               {GATHER_ITEMS, 1, 1}};
    return HUSK__LAUNCH(queue, state->gather, &range, scope, HUSK__ARG_TENSOR(call->from), HUSK__ARG_I64(from[0]),
                        HUSK__ARG_I64(from[1]), HUSK__ARG_I64(from[2]), HUSK__ARG_I32(call->from != NULL),
                        HUSK__ARG_TENSOR(call->lengths), HUSK__ARG_I32(call->lengths != NULL),
                        HUSK__ARG_I32(call->is_reversed), HUSK__ARG_TENSOR(call->to),
                        HUSK__ARG_I64(call->to->strides[0]), HUSK__ARG_I64(call->to->strides[1]),
                        HUSK__ARG_I32(problem->steps), HUSK__ARG_I32(call->first_step), HUSK__ARG_I32(call->steps),
                        HUSK__ARG_I32(features), HUSK__ARG_I32(group_steps));
}

// No time step at all: the last states are the first ones.
static husk_status copy_states(const husk_plan *plan, husk_queue *queue, const husk__rnn_run *run,
                               const husk__scope *scope)
{
    const husk_tensor *const from[2] = {run->inputs->h0, run->inputs->c0};
    const husk_tensor *const to[2] = {run->outputs->h_n, run->outputs->c_n};
    husk_status status = HUSK_OK;
    for (int i = 0; i < 2 && status == HUSK_OK; ++i) {
        if (!to[i])
            continue;
        husk_tensor source = from[i] ? *from[i] : (husk_tensor){0}, target = *to[i];
        husk__tensor_resolve(&source);
        husk__tensor_resolve(&target);
        const gather_call call = {from[i] ? &source : NULL, &target, NULL, 0, target.shape[0], false};
        status = gather(plan, queue, &call, scope);
    }
    return status;
}

// products = rows * input weights^T + input bias.
static husk_status multiply(const husk_plan *plan, husk_queue *queue, const husk__rnn_run *run, int64_t index,
                            const husk_tensor *rows, const husk_tensor *products)
{
    const husk__rnn_problem *problem = husk__rnn_worked(plan);
    const husk__rnn_state *state = plan->state;
    husk_plan *product = state->products[index];
    const husk_packed *packed = run->inputs->packed;
    if (!packed) {
        const husk_rnn_weights *weights = &run->inputs->weights[index];
        return husk_gemm_plan_run(product, queue, 1.0f, rows, weights->input, weights->input_bias, 0.0f, products);
    }
    husk_tensor input, bias;
    husk__rnn_packed_inputs(plan, packed, index, &input, &bias);
    const husk_tensor *has_bias = problem->has_input_bias ? &bias : NULL;
    const bool is_product = input.packed ? input.packed->variant == product->variant &&
                                               input.packed->configuration == product->configuration
                                         : problem->rows[index].input == input.strides[0];
    if (is_product)
        return husk_gemm_plan_run(product, queue, 1.0f, rows, &input, has_bias, 0.0f, products);
    // Packed for another number of time steps or sequences, for which gemm had chosen another variant.
    const husk_gemm_params params = HUSK_GEMM_PARAMS(.transpose_b = 1, .precision = problem->precision,
                                                     .workspace_limit = husk__plan_inside_limit(plan));
    return husk_gemm(queue, &params, 1.0f, rows, &input, has_bias, 0.0f, products);
}

// The products of one direction of a layer for steps first... of it (in time, or in the backward
// direction's own order); *origin receives the time, or step, of the first row.
static husk_status compute_products(const husk_plan *plan, husk_queue *queue, const husk__rnn_run *run,
                                    const husk__scratch *scratch, husk__rnn_launch *launch, int64_t direction,
                                    const husk_tensor *input, int64_t first, int64_t *origin, const husk__scope *scope)
{
    const husk__rnn_state *state = plan->state;
    const husk__rnn_problem *problem = husk__rnn_worked(plan);
    const husk__rnn_layout *layout = &((const husk__rnn_state *)plan->state)->layout;
    const int64_t layer = launch->layer, index = layer * problem->directions + direction;
    const bool by_step = direction == 1 && layout->gathers_chunks;
    const int64_t rows = layout->chunk * problem->batch, features = input->shape[2];
    *origin = direction == 1 && !by_step ? problem->steps - first - layout->chunk : first;
    husk_tensor from = input_rows(problem, input, *origin, layout->chunk);
    if (reads_gathered(layout, layer, direction)) {
        from = matrix_at(problem, scratch, layout->gathered, rows, features);
        husk_tensor to = from;
        to.rank = 3;
        memcpy(to.shape, (int64_t[]){layout->chunk, problem->batch, features}, 3 * sizeof *to.shape);
        memcpy(to.strides, (int64_t[]){problem->batch * features, features, 1}, 3 * sizeof *to.strides);
        const gather_call call = {input, &to, by_step ? run->inputs->lengths : NULL, *origin, layout->chunk, by_step};
        husk_status status = gather(plan, queue, &call, scope);
        if (status != HUSK_OK)
            return status;
    }
    if (launch->has_own_inputs && state->grid.makes_inputs) {
        launch->x = from;
        return HUSK_OK;
    }
    if (launch->has_own_inputs)
        return husk__rnn_launch_inputs(plan, queue, run, scratch, launch, direction, &from, scope);
    const uint64_t at = layout->products + (direction == 1 ? layout->products_direction : 0);
    husk_tensor products = matrix_at(problem, scratch, at, rows, problem->gates * problem->hidden);
    if (run->outputs->reserve) {
        products = husk__rnn_reserve_gates(problem, run->outputs->reserve, layer, direction);
        products.shape[1] = problem->gates * problem->hidden;
    }
    return multiply(plan, queue, run, index, &from, &products);
}

// All steps of one layer, chunk by chunk. The last chunk overlaps the one before where T is no multiple.
static husk_status run_layer(const husk_plan *plan, husk_queue *queue, const husk__rnn_run *run,
                             const husk__scratch *scratch, husk__rnn_launch *launch, const husk_tensor *input,
                             const husk__scope *scope)
{
    const husk__rnn_problem *problem = husk__rnn_worked(plan);
    const husk__rnn_layout *layout = &((const husk__rnn_state *)plan->state)->layout;
    husk_status status = HUSK_OK;
    launch->inputs_by_step = layout->gathers_chunks;
    for (int64_t step = 0; step < problem->steps && status == HUSK_OK; step += layout->chunk) {
        const int64_t first = husk__min_i64(step, problem->steps - layout->chunk);
        int64_t origins[2] = {0, 0};
        for (int64_t d = 0; d < problem->directions && status == HUSK_OK; ++d)
            status = compute_products(plan, queue, run, scratch, launch, d, input, first, &origins[d], scope);
        launch->first_step = step;
        launch->steps = husk__min_i64(problem->steps - step, layout->chunk);
        launch->inputs_first = origins[0];
        launch->inputs_first_reverse = origins[1];
        if (status == HUSK_OK)
            status = husk__rnn_launch_steps(plan, queue, run, scratch, launch, scope);
    }
    return status;
}

// The hidden weights of a layer's directions as panels: the packed ones, or packed now into scratch memory.
static husk_status layer_weights(const husk_plan *plan, husk_queue *queue, const husk__rnn_run *run,
                                 const husk__scratch *scratch, husk__rnn_launch *launch, const husk__scope *scope)
{
    const husk__rnn_problem *problem = husk__rnn_worked(plan);
    const husk__rnn_layout *layout = &((const husk__rnn_state *)plan->state)->layout;
    const uint32_t size = husk__rnn_size(problem);
    const uint64_t stride = (uint64_t)layout->weight_stride * size;
    const int64_t first = launch->layer * problem->directions;
    launch->has_own_inputs = husk__rnn_has_own_inputs(plan->state, run);
    launch->input_packed_stride = husk__rnn_input_panels(problem, layout, launch->layer);
    if (run->inputs->packed) {
        const uint64_t input_at = (uint64_t)husk__rnn_input_panels_at(problem, layout, launch->layer) * size;
        const husk_buffer *packed = run->inputs->packed->buffer;
        launch->packed = HUSK__ARG_BUFFER(packed, (uint64_t)first * stride, size);
        launch->input_packed = HUSK__ARG_BUFFER(packed, input_at, size);
        return HUSK_OK;
    }
    const uint64_t input_stride = (uint64_t)launch->input_packed_stride * size;
    launch->packed = HUSK__ARG_BUFFER(scratch->buffer, layout->weights, size);
    launch->input_packed = HUSK__ARG_BUFFER(scratch->buffer, layout->input_weights, size);
    husk_status status = HUSK_OK;
    for (int64_t d = 0; d < problem->directions && status == HUSK_OK; ++d) {
        const husk_rnn_weights *weights = &run->inputs->weights[first + d];
        const uint64_t at = layout->weights + (uint64_t)d * stride;
        if (((const husk__rnn_state *)plan->state)->strip_vectors > 0)
            status = husk__rnn_pack_panels(plan, queue, weights, scratch->buffer, at, launch->has_own_inputs,
                                           layout->input_weights + (uint64_t)d * input_stride, scope);
        else
            status = husk__rnn_pack_hidden(plan, queue, weights, scratch->buffer, at, scope);
    }
    return status;
}

// All tensors of f32 or all of f64.
static husk_status run_layers(const husk_plan *plan, husk_queue *queue, const husk__rnn_run *run,
                              const husk__scratch *scratch, const husk__scope *scope)
{
    const husk__rnn_problem *problem = husk__rnn_worked(plan);
    const husk__rnn_layout *layout = &((const husk__rnn_state *)plan->state)->layout;
    if (problem->steps == 0)
        return copy_states(plan, queue, run, scope);
    husk_tensor input = *run->inputs->x, y = *run->outputs->y;
    husk__tensor_resolve(&input);
    husk__tensor_resolve(&y);
    husk_status status = HUSK_OK;
    for (int64_t layer = 0; layer < problem->layers && status == HUSK_OK; ++layer) {
        const husk_tensor output = layer + 1 == problem->layers ? y
                                   : run->outputs->reserve
                                       ? husk__rnn_reserve_output(problem, run->outputs->reserve, layer)
                                       : layer_output(problem, scratch, layout->outputs[layer % 2]);
        husk__rnn_launch launch = {.layer = layer, .y = &output};
        status = layer_weights(plan, queue, run, scratch, &launch, scope);
        if (status == HUSK_OK)
            status = run_layer(plan, queue, run, scratch, &launch, &input, scope);
        input = output;
    }
    return status;
}

husk_status husk__rnn_run_layers(const husk_plan *plan, husk_queue *queue, const husk__rnn_run *run,
                                 const husk__scratch *scratch, const husk__scope *scope)
{
    const husk__rnn_problem *problem = husk__rnn_worked(plan);
    const husk__rnn_layout *layout = &((const husk__rnn_state *)plan->state)->layout;
    if (!husk__rnn_is_narrow(problem))
        return run_layers(plan, queue, run, scratch, scope);
    husk__rnn_border border;
    husk__rnn_border_begin(&border, scratch->buffer, layout->border);
    husk_status status = husk__rnn_enter(problem, queue, run, &border);
    if (status == HUSK_OK)
        status = run_layers(plan, queue, &border.run, scratch, scope);
    return status == HUSK_OK ? husk__rnn_leave(queue, run, &border) : status;
}
