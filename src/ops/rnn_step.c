// SPDX-License-Identifier: MIT
// The recurrent steps of one layer: the arguments that both step kernels share, and one launch or many.
#include "base/tensor.h"
#include "ops/rnn_problem.h"

// The same numbers as PASS_FIRST and PASS_SECOND in cl/rnn_*.cl.
enum { PASS_FIRST = 1, PASS_SECOND = 2, PASS_INPUTS = 4, MAX_ARGUMENTS = 64 };

typedef struct argument_list {
    size_t count;
    husk__arg arguments[MAX_ARGUMENTS];
} argument_list;

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
static void add_state(argument_list *list, const husk_tensor *state, int64_t first)
{
    husk_tensor own = state ? *state : (husk_tensor){0};
    husk__tensor_resolve(&own);
    own.offset += first * own.strides[0];
    add(list, HUSK__ARG_TENSOR(state ? &own : NULL));
    add_i64(list, own.strides[1]);
    add_i64(list, own.strides[0]);
    add_i32(list, state != NULL);
}

static void add_shared(argument_list *list, const husk_plan *plan, const husk__rnn_run *run,
                       const husk__scratch *scratch, const husk__rnn_launch *launch)
{
    const husk__rnn_problem *problem = plan->problem;
    const husk__rnn_layout *layout = &((const husk__rnn_state *)plan->state)->layout;
    const int64_t first = launch->layer * problem->directions;
    if (run->outputs->reserve) {
        const husk_tensor gates = husk__rnn_reserve_gates(problem, run->outputs->reserve, launch->layer, 0);
        add(list, HUSK__ARG_TENSOR(&gates));
        add_i64(list, problem->batch * husk__rnn_kept(problem) * problem->hidden);
        add_i64(list, husk__rnn_reserve_direction(problem));
    } else {
        add(list, HUSK__ARG_BUFFER(scratch->buffer, layout->products, sizeof(float)));
        add_i64(list, problem->batch * problem->gates * problem->hidden); // by gemm
        add_i64(list, (int64_t)(layout->products_direction / sizeof(float)));
    }
    add_i32(list, launch->inputs_first);
    add_i32(list, launch->inputs_first_reverse);
    add_i32(list, launch->inputs_by_step);
    add(list, launch->packed);
    add_i64(list, layout->weight_stride);
    add(list, HUSK__ARG_TENSOR(run->inputs->lengths));
    add_i32(list, run->inputs->lengths != NULL);
    add_state(list, run->inputs->h0, first);
    add_state(list, run->inputs->c0, first);
    add(list, HUSK__ARG_TENSOR(launch->y));
    add_i64(list, launch->y->strides[0]);
    add_i64(list, launch->y->strides[1]);
    add_state(list, run->outputs->h_n, first);
    add_state(list, run->outputs->c_n, first);
    add(list, HUSK__ARG_BUFFER(scratch->buffer, layout->states, sizeof(float)));
    add_i32(list, problem->steps);
    add_i32(list, problem->batch);
    add_i32(list, problem->hidden);
    add_i32(list, problem->cell == HUSK_RNN_RELU);
    add_i32(list, run->outputs->reserve != NULL);
}

// The panel variant's arguments that rnn_tile does not have. rows: of x, or NULL where no inputs are made.
static void add_panel(argument_list *list, const husk_plan *plan, const husk__rnn_launch *launch,
                      const husk_tensor *rows, int64_t direction, int64_t x_group_rows, int64_t group_panels,
                      int64_t group_rows)
{
    const husk__rnn_problem *problem = plan->problem;
    const husk__rnn_state *state = plan->state;
    add_i32(list, !launch->has_own_inputs);
    add(list, HUSK__ARG_TENSOR(rows));
    add_i64(list, rows ? rows->strides[0] : 0);
    add_i32(list, state->layout.chunk * problem->batch);
    add_i32(list, x_group_rows);
    add_i32(list, husk__rnn_layer_inputs(problem, launch->layer));
    husk__arg weights = launch->input_packed;
    weights.value.i64 += direction * launch->input_packed_stride;
    add(list, weights);
    add_i64(list, launch->input_packed_stride);
    add_i32(list, group_panels);
    add_i32(list, group_rows);
}

husk_status husk__rnn_launch_inputs(const husk_plan *plan, husk_queue *queue, const husk__rnn_run *run,
                                    const husk__scratch *scratch, const husk__rnn_launch *launch,
                                    int64_t direction, const husk_tensor *rows, const husk__scope *scope)
{
    const husk__rnn_problem *problem = plan->problem;
    const husk__rnn_state *state = plan->state;
    const husk__rnn_grid *grid = &state->grid;
    const husk__range range = {{grid->input_groups[0], grid->input_groups[1], 1}, {1, 1, 1}};
    const uint64_t at = state->layout.products + (direction == 1 ? state->layout.products_direction : 0);
    argument_list list = {0};
    add_shared(&list, plan, run, scratch, launch);
    list.arguments[0] = HUSK__ARG_BUFFER(scratch->buffer, at, sizeof(float));
    add_panel(&list, plan, launch, rows, direction, grid->input_rows, grid->input_panels, problem->batch);
    add_i32(&list, 0);
    add_i32(&list, 0);
    add_i32(&list, PASS_INPUTS);
    add_i32(&list, state->is_far);
    return husk__launch(queue, state->step, &range, list.arguments, list.count, scope);
}

husk_status husk__rnn_launch_steps(const husk_plan *plan, husk_queue *queue, const husk__rnn_run *run,
                                   const husk__scratch *scratch, const husk__rnn_launch *launch,
                                   const husk__scope *scope)
{
    const husk__rnn_problem *problem = plan->problem;
    const husk__rnn_state *state = plan->state;
    const husk__rnn_grid *grid = &state->grid;
    const husk__range range = {{grid->groups[0], grid->groups[1], (size_t)problem->directions},
                               {grid->items[0], grid->items[1], 1}};
    const bool is_panel = plan->variant == &husk__rnn_panel;
    const int last_pass = husk__rnn_has_two_passes(problem) ? PASS_SECOND : PASS_FIRST;
    argument_list list;
    list.count = 0; // the rest, two kilobytes, is written before it is read
    add_shared(&list, plan, run, scratch, launch);
    const bool makes_inputs = launch->has_own_inputs && grid->makes_inputs;
    if (is_panel)
        add_panel(&list, plan, launch, makes_inputs ? &launch->x : NULL, 0, makes_inputs ? launch->x.shape[0] : 0,
                  grid->group_panels, grid->group_rows);
    const size_t shared = list.count;
    if (grid->is_whole) {
        add_i32(&list, launch->first_step);
        add_i32(&list, launch->steps);
        add_i32(&list, PASS_FIRST | PASS_SECOND | (makes_inputs ? PASS_INPUTS : 0));
        add_i32(&list, state->is_far);
        return husk__launch(queue, state->step, &range, list.arguments, list.count, scope);
    }
    for (int64_t step = launch->first_step; step < launch->first_step + launch->steps; ++step)
        for (int pass = PASS_FIRST; pass <= last_pass; ++pass) {
            list.count = shared;
            add_i32(&list, step);
            if (is_panel)
                add_i32(&list, 1);
            const bool is_first = step == launch->first_step && pass == PASS_FIRST;
            add_i32(&list, pass | (makes_inputs && is_first ? PASS_INPUTS : 0));
            if (is_panel)
                add_i32(&list, state->is_far);
            husk_status status = husk__launch(queue, state->step, &range, list.arguments, list.count, scope);
            if (status != HUSK_OK)
                return status;
        }
    return HUSK_OK;
}
