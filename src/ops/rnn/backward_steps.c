// SPDX-License-Identifier: MIT
// The gradients of recurrent layers: the launches of a layer's steps, and of packing its hidden weights before them.
#include "base/checked.h"
#include "ops/rnn/backward_problem.h"

typedef husk__rnn_backward_problem problem;
typedef husk__rnn_backward_layout layout;
typedef husk__rnn_backward_state state;
typedef husk__rnn_backward_run arguments;
typedef husk__rnn_backward_span span;

enum { PASS_FIRST = 1, PASS_SECOND = 2 }; // as in cl/lib/rnn_backward.clh
enum { PACK_ROWS = 512, MAX_ARGUMENTS = 64 };

typedef struct argument_list {
    size_t count;
    husk__arg arguments[MAX_ARGUMENTS];
} argument_list;

// What a launch of one layer's steps works on.
typedef struct launch {
    const husk_plan *plan;
    const problem *own;
    const state *made;
    const arguments *run;
    const husk__scratch *scratch;
    const span *at;
    int64_t layer, first; // the weights of the layer's first direction
} launch;

static void add(argument_list *list, husk__arg argument)
{
    list->arguments[list->count++] = argument;
}

static void add_i64(argument_list *list, int64_t number)
{
    add(list, HUSK__ARG_I64(number));
}

static void add_i32(argument_list *list, int64_t number)
{
    add(list, HUSK__ARG_I32(number));
}

// A state of a layer's first direction: where it begins, its rows, its directions, and whether it is there.
static void add_state(argument_list *list, const husk_tensor *given, const husk_tensor *planned, int64_t first)
{
    husk_tensor own = *planned;
    if (given) {
        own.buffer = given->buffer;
        own.offset = given->offset + first * own.strides[0];
    }
    add(list, HUSK__ARG_TENSOR(given ? &own : NULL));
    add_i64(list, own.strides[1]);
    add_i64(list, own.strides[0]);
    add_i32(list, given != NULL);
}

static void add_sequence(argument_list *list, const husk_tensor *tensor)
{
    add(list, HUSK__ARG_TENSOR(tensor));
    add_i64(list, tensor ? tensor->strides[0] : 0);
    add_i64(list, tensor ? tensor->strides[1] : 0);
}

static husk_tensor placed(const husk_tensor *planned, const husk_tensor *given)
{
    husk_tensor made = *planned;
    made.buffer = given->buffer;
    made.offset = given->offset;
    return made;
}

// Hidden weights as the step kernel takes them: packed for the span's directions, or where those of all lie.
static void add_weights(argument_list *list, const launch *l)
{
    const husk__rnn_problem *forward = &l->own->forward;
    if (l->made->pack) {
        add(list, HUSK__ARG_BUFFER(l->scratch->buffer, l->made->layout.packed, husk__rnn_size(forward)));
        add_i64(list, l->made->layout.packed_direction);
        return;
    }
    const int64_t last = l->first + forward->directions - 1;
    add(list, HUSK__ARG_TENSOR(l->run->inputs->weights[l->first].hidden));
    add(list, HUSK__ARG_TENSOR(l->run->inputs->weights[last].hidden));
    add_i64(list, forward->rows[l->first].hidden);
    add_i64(list, forward->rows[last].hidden);
}

// What forward left: the gates, the weights, and the states.
static void add_forward(argument_list *list, const launch *l)
{
    const husk__rnn_problem *forward = &l->own->forward;
    const husk_rnn_inputs *inputs = l->run->inputs;
    const bool is_top = l->layer + 1 == forward->layers;
    const husk_tensor kept = husk__rnn_reserve_gates(forward, l->run->outputs->reserve, l->layer, 0);
    const husk_tensor y = is_top ? placed(&forward->y, l->run->outputs->y)
                                 : husk__rnn_reserve_output(forward, l->run->outputs->reserve, l->layer);
    add(list, HUSK__ARG_TENSOR(&kept));
    add_i64(list, husk__rnn_reserve_direction(forward));
    add_weights(list, l);
    add(list, HUSK__ARG_TENSOR(inputs->lengths));
    add_i32(list, inputs->lengths != NULL);
    add_state(list, inputs->h0, &forward->h0, l->first);
    add_state(list, inputs->c0, &forward->c0, l->first);
    add_sequence(list, &y);
}

// The gradients of the layer's outputs, and those of its initial states.
static void add_gradients(argument_list *list, const launch *l)
{
    const problem *own = l->own;
    const husk_rnn_outputs *given = l->run->output_gradients;
    const husk_rnn_gradients *wanted = l->run->gradients;
    const bool is_top = l->layer + 1 == own->forward.layers, has_dy = !is_top || own->has_dy;
    const int64_t features = own->forward.directions * own->forward.hidden;
    husk_tensor dy = {0};
    if (!is_top)
        dy = husk__rnn_backward_scratch(&own->forward, l->scratch,
                                        husk__rnn_backward_below(&l->made->layout, l->layer + 1), 0, own->forward.steps,
                                        features, features);
    else if (own->has_dy)
        dy = placed(&own->dy, given->y);
    add_sequence(list, has_dy ? &dy : NULL);
    add_i32(list, has_dy);
    add_state(list, own->has_dh_n ? given->h_n : NULL, &own->dh_n, l->first);
    add_state(list, own->has_dc_n ? given->c_n : NULL, &own->dc_n, l->first);
    add_state(list, own->has_dh0 ? wanted->h0 : NULL, &own->dh0, l->first);
    add_state(list, own->has_dc0 ? wanted->c0 : NULL, &own->dc0, l->first);
    add_i32(list, (own->accumulate & HUSK_ACCUMULATE_INPUTS) != 0);
}

// Scratch memory, and the sizes.
static void add_places(argument_list *list, const launch *l)
{
    const husk__rnn_problem *forward = &l->own->forward;
    const layout *places = &l->made->layout;
    const uint32_t size = husk__rnn_size(forward);
    add(list, HUSK__ARG_BUFFER(l->scratch->buffer, places->gradients, size));
    add_i64(list, places->gradients_direction);
    add(list, HUSK__ARG_BUFFER(l->scratch->buffer, places->previous, size));
    add_i64(list, places->previous_direction);
    add_i32(list, husk__rnn_backward_needs_previous(l->own, l->layer));
    add(list, HUSK__ARG_BUFFER(l->scratch->buffer, places->rows, size));
    add_i64(list, places->rows_direction);
    add_i32(list, places->rows_pitch);
    add_i32(list, forward->steps);
    add_i32(list, forward->batch);
    add_i32(list, forward->hidden);
    add_i32(list, husk__rnn_backward_cell(forward));
    add_i32(list, l->at->direction);
    add_i32(list, l->at->begin);
    add_i32(list, l->at->end);
}

husk_status husk__rnn_backward_pack(const husk_plan *plan, husk_queue *queue, const arguments *run,
                                    const husk__scratch *scratch, int64_t layer, const span *at,
                                    const husk__scope *scope)
{
    const problem *own = plan->problem;
    const husk__rnn_problem *forward = &own->forward;
    const state *made = plan->state;
    const int64_t first = layer * forward->directions + at->direction, last = first + at->count - 1;
    const int64_t rows = forward->gates * forward->hidden;
    const husk__range range = {{(size_t)husk__divide_up(rows, PACK_ROWS),
                                (size_t)(made->layout.pitch / made->layout.panel_units), (size_t)at->count},
                               {1, 1, 1}};
    return HUSK__LAUNCH(queue, made->pack, &range, scope, HUSK__ARG_TENSOR(run->inputs->weights[first].hidden),
                        HUSK__ARG_TENSOR(run->inputs->weights[last].hidden), HUSK__ARG_I64(forward->rows[first].hidden),
                        HUSK__ARG_I64(forward->rows[last].hidden),
                        HUSK__ARG_BUFFER(scratch->buffer, made->layout.packed, husk__rnn_size(forward)),
                        HUSK__ARG_I64(made->layout.packed_direction), HUSK__ARG_I32(rows),
                        HUSK__ARG_I32(forward->hidden), HUSK__ARG_I32(PACK_ROWS));
}

// Steps `begin` down to `end`, a launch each, or two where gates are done in two passes.
static husk_status launch_each(husk_queue *queue, const launch *l, const husk__range *range, argument_list *list,
                               int64_t begin, int64_t end, const husk__scope *scope)
{
    const int last_pass = husk__rnn_has_two_passes(&l->own->forward) ? PASS_SECOND : PASS_FIRST;
    const size_t shared = list->count;
    for (int64_t step = begin; step >= end; --step)
        for (int pass = PASS_FIRST; pass <= (step < 0 ? PASS_FIRST : last_pass); ++pass) {
            list->count = shared;
            add_i32(list, step);
            if (l->made->pack)
                add_i32(list, 1);
            add_i32(list, pass);
            husk_status status = husk__launch(queue, l->made->step, range, list->arguments, list->count, scope);
            if (status != HUSK_OK)
                return status;
        }
    return HUSK_OK;
}

husk_status husk__rnn_backward_run_steps(const husk_plan *plan, husk_queue *queue, const arguments *run,
                                         const husk__scratch *scratch, int64_t layer, const span *at,
                                         const husk__scope *scope)
{
    const problem *own = plan->problem;
    const state *made = plan->state;
    const husk__rnn_grid *grid = &made->grid;
    const launch l = {plan, own, made, run, scratch, at, layer, layer * own->forward.directions};
    const husk__range range = {{grid->groups[0], grid->groups[1], (size_t)at->count},
                               {grid->items[0], grid->items[1], grid->items[2]}};
    // Step -1 stands for the initial states' gradients.
    const int64_t end = at->begin == 0 && (own->has_dh0 || own->has_dc0) ? -1 : at->begin;
    argument_list list;
    list.count = 0; // the rest is written before it is read
    add_forward(&list, &l);
    add_gradients(&list, &l);
    add_places(&list, &l);
    if (made->pack) {
        add_i32(&list, grid->group_panels);
        add_i32(&list, grid->group_rows);
        add_i32(&list, made->is_far);
    }
    if (!grid->is_whole)
        return launch_each(queue, &l, &range, &list, at->end - 1, end, scope);
    add_i32(&list, at->end - 1);
    add_i32(&list, at->end - end);
    add_i32(&list, PASS_FIRST | PASS_SECOND);
    return husk__launch(queue, made->step, &range, list.arguments, list.count, scope);
}
