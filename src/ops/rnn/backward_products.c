// SPDX-License-Identifier: MIT
// The gradients of recurrent layers: what gemm's gradients make, of the gates' gradients of a chunk of time steps, for
// one layer and direction: the gradients of the layer's inputs, and sums of those of weights and biases.
#include <math.h>
#include <string.h>

#include "base/tensor.h"
#include "ops/rnn/backward_problem.h"

typedef husk__rnn_backward_problem problem;
typedef husk__rnn_backward_layout layout;
typedef husk__rnn_backward_state state;
typedef husk__rnn_backward_run arguments;
typedef husk__rnn_backward_span span;

enum { PRODUCTS = HUSK__RNN_BACKWARD_PRODUCTS };

// Gemm's gradients of a [time, batch, k] times b [n, k] transposed, from dy [time, batch, n]. What is not wanted has no
// rank.
typedef struct part {
    husk_tensor a, b, dy, da, db, dbias;
    uint32_t accumulate;
    bool is_needed;
} part;

// One layer and direction, and one chunk of its time. run and scratch are NULL while a plan is made.
typedef struct site {
    const problem *own;
    const layout *places;
    const arguments *run;
    const husk__scratch *scratch;
    int64_t index, layer, direction;
    int64_t place; // among the directions that scratch memory has at once
    int64_t first_time, steps; // of the chunk
    uint32_t sums; // HUSK_ACCUMULATE_PARAMETERS where weights' gradients are added to
} site;

static site site_of(const problem *own, const layout *places, const arguments *run, const husk__scratch *scratch,
                    int64_t index, const span *at)
{
    const int64_t direction = index % own->forward.directions;
    return (site){.own = own,
                  .places = places,
                  .run = run,
                  .scratch = scratch,
                  .index = index,
                  .layer = index / own->forward.directions,
                  .direction = direction,
                  .place = direction - at->direction,
                  .first_time = direction == 1 ? own->forward.steps - at->end : at->begin,
                  .steps = at->end - at->begin,
                  .sums = at->chunk > 0 ? HUSK_ACCUMULATE_PARAMETERS : own->accumulate & HUSK_ACCUMULATE_PARAMETERS};
}

// ---- tensors ----

// Rows first... of a weight [rows, columns] or a bias [rows]; without memory where `given` is NULL.
static husk_tensor rows_of(const site *s, const husk_tensor *given, int32_t rank, int64_t first, int64_t rows,
                           int64_t columns, int64_t row)
{
    husk_tensor made =
        husk_tensor_make(given ? given->buffer : NULL, s->own->forward.work, rank, (int64_t[]){rows, columns});
    made.strides[0] = rank == 2 ? row : 1;
    made.strides[rank - 1] = 1;
    made.offset = (given ? given->offset : 0) + first * made.strides[0];
    return made;
}

// The chunk's time of a tensor [time, ...] whose memory is `given`'s.
static husk_tensor chunk_of(const site *s, husk_tensor whole, const husk_tensor *given)
{
    whole.shape[0] = s->steps;
    whole.buffer = given ? given->buffer : NULL;
    whole.offset = (given ? given->offset : 0) + s->first_time * whole.strides[0];
    return whole;
}

static husk_tensor layer_input(const site *s)
{
    const husk__rnn_problem *forward = &s->own->forward;
    const husk_tensor nothing = {0};
    if (s->layer == 0)
        return chunk_of(s, forward->x, s->run ? s->run->inputs->x : NULL);
    const husk_tensor whole =
        husk__rnn_reserve_output(forward, s->run ? s->run->outputs->reserve : &nothing, s->layer - 1);
    return chunk_of(s, whole, &whole);
}

static husk_tensor input_gradient(const site *s)
{
    const husk__rnn_problem *forward = &s->own->forward;
    const int64_t features = husk__rnn_layer_inputs(forward, s->layer);
    if (s->layer == 0)
        return chunk_of(s, s->own->dx, s->run ? s->run->gradients->x : NULL);
    const husk_tensor whole = husk__rnn_backward_scratch(
        forward, s->scratch, husk__rnn_backward_below(s->places, s->layer), 0, forward->steps, features, features);
    return chunk_of(s, whole, &whole);
}

// Columns of the gates' gradients, counted in hidden sizes.
static husk_tensor gate_gradients(const site *s, int64_t first_column, int64_t gates)
{
    const husk__rnn_problem *forward = &s->own->forward;
    const int64_t beyond = s->place * s->places->gradients_direction + first_column * forward->hidden;
    return husk__rnn_backward_scratch(forward, s->scratch, s->places->gradients, beyond, s->steps,
                                      gates * forward->hidden, s->places->columns * forward->hidden);
}

// The states before every step: h', or the second of h' and r . h'.
static husk_tensor previous_states(const site *s, int64_t which)
{
    const husk__rnn_problem *forward = &s->own->forward;
    const int64_t beyond = s->place * s->places->previous_direction + which * forward->hidden;
    return husk__rnn_backward_scratch(forward, s->scratch, s->places->previous, beyond, s->steps, forward->hidden,
                                      s->places->previous_parts * forward->hidden);
}

static husk_rnn_weights weights_of(const site *s)
{
    return s->run ? s->run->inputs->weights[s->index] : (husk_rnn_weights){0};
}

static husk_rnn_weights gradients_of(const site *s)
{
    const husk_rnn_weights *list = s->run ? s->run->gradients->weights : NULL;
    return list ? list[s->index] : (husk_rnn_weights){0};
}

// ---- the products ----

// Columns first_column... of the gates' gradients, rows first... of the input weights; adds: da has something already.
static part input_part(const site *s, int64_t first_column, int64_t first, int64_t gates, bool adds)
{
    const problem *own = s->own;
    const husk__rnn_problem *forward = &own->forward;
    const int64_t units = forward->hidden, rows = gates * units, features = husk__rnn_layer_inputs(forward, s->layer);
    const husk__rnn_wanted *wanted = &own->wanted[s->index];
    const husk_rnn_weights weights = weights_of(s), gradients = gradients_of(s);
    const bool wants_input = s->layer > 0 ? husk__rnn_backward_lowest(own) < s->layer : own->has_dx;
    part made = {.dy = gate_gradients(s, first_column, gates), .accumulate = s->sums};
    if (wants_input) {
        made.b = rows_of(s, weights.input, 2, first * units, rows, features, forward->rows[s->index].input);
        made.da = input_gradient(s);
    }
    if (wanted->input) {
        made.a = layer_input(s);
        made.db = rows_of(s, gradients.input, 2, first * units, rows, features, wanted->rows.input);
    }
    if (wanted->input_bias)
        made.dbias = rows_of(s, gradients.input_bias, 1, first * units, rows, 0, 1);
    if (adds || s->direction > 0 || (s->layer == 0 && own->accumulate & HUSK_ACCUMULATE_INPUTS))
        made.accumulate |= HUSK_ACCUMULATE_INPUTS;
    made.is_needed = wants_input || wanted->input || wanted->input_bias;
    return made;
}

// The same of the hidden weights, with part `previous` of the states before.
static part hidden_part(const site *s, int64_t first_column, int64_t first, int64_t gates, int64_t previous)
{
    const int64_t units = s->own->forward.hidden, rows = gates * units;
    const husk__rnn_wanted *wanted = &s->own->wanted[s->index];
    const husk_rnn_weights gradients = gradients_of(s);
    part made = {.dy = gate_gradients(s, first_column, gates),
                 .accumulate = s->sums,
                 .is_needed = wanted->hidden || wanted->hidden_bias};
    if (wanted->hidden) {
        made.a = previous_states(s, previous);
        made.db = rows_of(s, gradients.hidden, 2, first * units, rows, units, wanted->rows.hidden);
    }
    if (wanted->hidden_bias)
        made.dbias = rows_of(s, gradients.hidden_bias, 1, first * units, rows, 0, 1);
    return made;
}

// No rows at all: a matrix, since strides of an empty batch may say that it is one for all.
static void flatten(husk_tensor *tensor)
{
    if (tensor->rank == 0)
        return;
    tensor->rank = 2;
    tensor->shape[0] = 0;
    tensor->shape[1] = tensor->shape[2];
    tensor->strides[0] = tensor->shape[2];
    tensor->strides[1] = 1;
}

static void parts_of(const site *s, part parts[PRODUCTS])
{
    memset(parts, 0, PRODUCTS * sizeof *parts);
    switch (husk__rnn_backward_cell(&s->own->forward)) {
    case HUSK__RNN_BACKWARD_GRU_AFTER: // columns n r z q
        parts[0] = input_part(s, 1, 0, 2, false);
        parts[1] = input_part(s, 0, 2, 1, true);
        parts[2] = hidden_part(s, 1, 0, 3, 0);
        break;
    case HUSK__RNN_BACKWARD_GRU_BEFORE: // r and z read h', n reads r . h'
        parts[0] = input_part(s, 0, 0, 3, false);
        parts[1] = hidden_part(s, 0, 0, 2, 0);
        parts[2] = hidden_part(s, 2, 2, 1, 1);
        break;
    default:
        parts[0] = input_part(s, 0, 0, s->own->forward.gates, false);
        parts[1] = hidden_part(s, 0, 0, s->own->forward.gates, 0);
    }
    for (int p = 0; p < PRODUCTS && s->own->forward.steps * s->own->forward.batch == 0; ++p) {
        flatten(&parts[p].a);
        flatten(&parts[p].dy);
        flatten(&parts[p].da);
    }
}

static const husk_tensor *if_there(const husk_tensor *tensor)
{
    return tensor->rank > 0 ? tensor : NULL;
}

// ---- plans ----

static husk_status plan_part(husk_plan *plan, const part *made, husk_plan **product, const husk__scope *scope)
{
    const problem *own = plan->problem;
    const husk_gemm_params params =
        HUSK_GEMM_PARAMS(.transpose_b = 1, .precision = own->forward.precision, .accumulate = made->accumulate,
                         .workspace_limit = husk__plan_inside_limit(plan));
    husk_error error = {0};
    husk_status status = husk_gemm_backward_plan_create(plan->context, &params, if_there(&made->a), if_there(&made->b),
                                                        NULL, NULL, &made->dy, if_there(&made->da), if_there(&made->db),
                                                        if_there(&made->dbias), NULL, product, &error);
    if (status != HUSK_OK)
        return husk__fail_opencl(scope, status, error.opencl_code, "gradients of the products: %s", error.text);
    husk__plan_adopt(plan, *product);
    plan->error_factor = fmax(plan->error_factor, (*product)->error_factor);
    return HUSK_OK;
}

// Those of one layer and direction in a chunk; all chunks but the first have the same length, and add to its sums.
static husk_status plan_parts(husk_plan *plan, const layout *places, int64_t index, int64_t chunk,
                              husk_plan *made[PRODUCTS], const husk__scope *scope)
{
    const problem *own = plan->problem;
    const int64_t direction = places->at_once == 1 ? index % own->forward.directions : 0;
    const span at = husk__rnn_backward_span_of(own, places, chunk, direction);
    const site s = site_of(own, places, NULL, NULL, index, &at);
    part parts[PRODUCTS];
    husk_status status = HUSK_OK;
    parts_of(&s, parts);
    for (int p = 0; p < PRODUCTS && status == HUSK_OK; ++p)
        if (parts[p].is_needed)
            status = plan_part(plan, &parts[p], &made[p], scope);
    return status;
}

husk_status husk__rnn_backward_plan_products(husk_plan *plan, state *made, const husk__scope *scope)
{
    const problem *own = plan->problem;
    const int64_t first = husk__rnn_backward_lowest(own) * own->forward.directions;
    husk_status status = HUSK_OK;
    for (int64_t i = first; i < husk__rnn_weight_count(&own->forward) && status == HUSK_OK; ++i) {
        status = plan_parts(plan, &made->layout, i, 0, made->products[i].first, scope);
        if (status == HUSK_OK && made->layout.chunks > 1)
            status = plan_parts(plan, &made->layout, i, 1, made->products[i].others, scope);
    }
    return status;
}

void husk__rnn_backward_release_products(state *made)
{
    for (int i = 0; i < HUSK__RNN_MAX_WEIGHTS; ++i)
        for (int p = 0; p < PRODUCTS; ++p) {
            husk_plan_release(made->products[i].first[p]);
            husk_plan_release(made->products[i].others[p]);
        }
}

husk_status husk__rnn_backward_multiply(const husk_plan *plan, husk_queue *queue, const arguments *run,
                                        const husk__scratch *scratch, int64_t index, const span *at)
{
    const state *made = plan->state;
    const husk__rnn_backward_products *products = &made->products[index];
    husk_plan *const *plans = at->chunk > 0 ? products->others : products->first;
    const site s = site_of(plan->problem, &made->layout, run, scratch, index, at);
    part parts[PRODUCTS];
    husk_status status = HUSK_OK;
    parts_of(&s, parts);
    for (int p = 0; p < PRODUCTS && status == HUSK_OK; ++p)
        if (parts[p].is_needed)
            status = husk_gemm_backward_plan_run(plans[p], queue, 1.0f, if_there(&parts[p].a), if_there(&parts[p].b),
                                                 0.0f, NULL, NULL, &parts[p].dy, if_there(&parts[p].da),
                                                 if_there(&parts[p].db), if_there(&parts[p].dbias), NULL);
    return status;
}
