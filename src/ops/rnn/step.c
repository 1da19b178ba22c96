// SPDX-License-Identifier: MIT
// The recurrent steps of one layer: the arguments that both step kernels share, and one launch or many.
#include "ops/rnn/problem.h"

// The same numbers as PASS_FIRST and PASS_SECOND in cl/rnn/*.cl.
enum { PASS_FIRST = 1, PASS_SECOND = 2, PASS_INPUTS = 4, MAX_ARGUMENTS = 64 };

// Both return where the next argument goes. A state of a layer's first direction: where it begins, its rows, its
// directions, and whether it is there.
static husk__arg *add_state(husk__arg *end, const husk_tensor *given, const husk_tensor *planned, int64_t first)
{
    husk__arg state = HUSK__ARG_TENSOR(given);
    if (given)
        state.value.i64 += first * planned->strides[0];
    *end++ = state;
    *end++ = HUSK__ARG_I64(planned->strides[1]);
    *end++ = HUSK__ARG_I64(planned->strides[0]);
    *end++ = HUSK__ARG_I32(given != NULL);
    return end;
}

static husk__arg *add_shared(husk__arg *end, const husk_plan *plan, const husk__rnn_run *run,
                             const husk__scratch *scratch, const husk__rnn_launch *launch)
{
    const husk__rnn_problem *problem = husk__rnn_worked(plan);
    const husk__rnn_layout *layout = &((const husk__rnn_state *)plan->state)->layout;
    const int64_t first = launch->layer * problem->directions;
    const uint32_t size = husk__rnn_size(problem);
    if (run->outputs->reserve) {
        const husk_tensor gates = husk__rnn_reserve_gates(problem, run->outputs->reserve, launch->layer, 0);
        *end++ = HUSK__ARG_TENSOR(&gates);
        *end++ = HUSK__ARG_I64(problem->batch * husk__rnn_kept(problem) * problem->hidden);
        *end++ = HUSK__ARG_I64(husk__rnn_reserve_direction(problem));
    } else {
        *end++ = HUSK__ARG_BUFFER(scratch->buffer, layout->products, size);
        *end++ = HUSK__ARG_I64(problem->batch * problem->gates * problem->hidden); // by gemm
        *end++ = HUSK__ARG_I64(layout->products_direction / size);
    }
    *end++ = HUSK__ARG_I32(launch->inputs_first);
    *end++ = HUSK__ARG_I32(launch->inputs_first_reverse);
    *end++ = HUSK__ARG_I32(launch->inputs_by_step);
    *end++ = launch->packed;
    *end++ = HUSK__ARG_I64(layout->weight_stride);
    *end++ = HUSK__ARG_TENSOR(run->inputs->lengths);
    *end++ = HUSK__ARG_I32(run->inputs->lengths != NULL);
    end = add_state(end, run->inputs->h0, &problem->h0, first);
    end = add_state(end, run->inputs->c0, &problem->c0, first);
    *end++ = HUSK__ARG_TENSOR(launch->y);
    *end++ = HUSK__ARG_I64(launch->y->strides[0]);
    *end++ = HUSK__ARG_I64(launch->y->strides[1]);
    end = add_state(end, run->outputs->h_n, &problem->h_n, first);
    end = add_state(end, run->outputs->c_n, &problem->c_n, first);
    *end++ = HUSK__ARG_BUFFER(scratch->buffer, layout->states, size);
    *end++ = HUSK__ARG_I32(problem->steps);
    *end++ = HUSK__ARG_I32(problem->batch);
    *end++ = HUSK__ARG_I32(problem->hidden);
    *end++ = HUSK__ARG_I32(problem->cell == HUSK_RNN_RELU);
    *end++ = HUSK__ARG_I32(run->outputs->reserve != NULL);
    return end;
}

// The panel variant's arguments that rnn_tile does not have. rows: of x, or NULL where no inputs are made.
static husk__arg *add_panel(husk__arg *end, const husk_plan *plan, const husk__rnn_launch *launch,
                            const husk_tensor *rows, int64_t direction, int64_t x_group_rows, int64_t group_panels,
                            int64_t group_rows)
{
    const husk__rnn_problem *problem = husk__rnn_worked(plan);
    const husk__rnn_state *state = plan->state;
    *end++ = HUSK__ARG_I32(!launch->has_own_inputs);
    *end++ = HUSK__ARG_TENSOR(rows);
    *end++ = HUSK__ARG_I64(rows ? rows->strides[0] : 0);
    *end++ = HUSK__ARG_I32(state->layout.chunk * problem->batch);
    *end++ = HUSK__ARG_I32(x_group_rows);
    *end++ = HUSK__ARG_I32(husk__rnn_layer_inputs(problem, launch->layer));
    *end = launch->input_packed;
    end++->value.i64 += direction * launch->input_packed_stride;
    *end++ = HUSK__ARG_I64(launch->input_packed_stride);
    *end++ = HUSK__ARG_I32(group_panels);
    *end++ = HUSK__ARG_I32(group_rows);
    return end;
}

husk_status husk__rnn_launch_inputs(const husk_plan *plan, husk_queue *queue, const husk__rnn_run *run,
                                    const husk__scratch *scratch, const husk__rnn_launch *launch, int64_t direction,
                                    const husk_tensor *rows, const husk__scope *scope)
{
    const husk__rnn_problem *problem = husk__rnn_worked(plan);
    const husk__rnn_state *state = plan->state;
    const husk__rnn_grid *grid = &state->grid;
    const husk__range range = {{grid->input_groups[0], grid->input_groups[1], 1}, {1, 1, 1}};
    const uint64_t at = state->layout.products + (direction == 1 ? state->layout.products_direction : 0);
    husk__arg arguments[MAX_ARGUMENTS];
    husk__arg *end = add_shared(arguments, plan, run, scratch, launch);
    arguments[0] = HUSK__ARG_BUFFER(scratch->buffer, at, husk__rnn_size(problem));
    end = add_panel(end, plan, launch, rows, direction, grid->input_rows, grid->input_panels, problem->batch);
    *end++ = HUSK__ARG_I32(0);
    *end++ = HUSK__ARG_I32(0);
    *end++ = HUSK__ARG_I32(PASS_INPUTS);
    *end++ = HUSK__ARG_I32(state->is_far);
    return husk__launch(queue, state->step, &range, arguments, (size_t)(end - arguments), scope);
}

husk_status husk__rnn_launch_steps(const husk_plan *plan, husk_queue *queue, const husk__rnn_run *run,
                                   const husk__scratch *scratch, const husk__rnn_launch *launch,
                                   const husk__scope *scope)
{
    const husk__rnn_problem *problem = husk__rnn_worked(plan);
    const husk__rnn_state *state = plan->state;
    const husk__rnn_grid *grid = &state->grid;
    const husk__range range = {{grid->groups[0], grid->groups[1], (size_t)problem->directions},
                               {grid->items[0], grid->items[1], grid->items[2]}};
    const bool is_panel = state->strip_vectors > 0;
    const int last_pass = husk__rnn_has_two_passes(problem) ? PASS_SECOND : PASS_FIRST;
    husk__arg arguments[MAX_ARGUMENTS];
    const bool makes_inputs = launch->has_own_inputs && grid->makes_inputs;
    husk__arg *shared = add_shared(arguments, plan, run, scratch, launch);
    if (is_panel)
        shared = add_panel(shared, plan, launch, makes_inputs ? &launch->x : NULL, 0,
                           makes_inputs ? launch->x.shape[0] : 0, grid->group_panels, grid->group_rows);
    if (grid->is_whole) {
        husk__arg *end = shared;
        *end++ = HUSK__ARG_I32(launch->first_step);
        *end++ = HUSK__ARG_I32(launch->steps);
        *end++ = HUSK__ARG_I32(PASS_FIRST | PASS_SECOND | (makes_inputs ? PASS_INPUTS : 0));
        *end++ = HUSK__ARG_I32(state->is_far);
        return husk__launch(queue, state->step, &range, arguments, (size_t)(end - arguments), scope);
    }
    for (int64_t step = launch->first_step; step < launch->first_step + launch->steps; ++step)
        for (int pass = PASS_FIRST; pass <= last_pass; ++pass) {
            const bool is_first = step == launch->first_step && pass == PASS_FIRST;
            husk__arg *end = shared;
            *end++ = HUSK__ARG_I32(step);
            if (is_panel)
                *end++ = HUSK__ARG_I32(1);
            *end++ = HUSK__ARG_I32(pass | (makes_inputs && is_first ? PASS_INPUTS : 0));
            if (is_panel)
                *end++ = HUSK__ARG_I32(state->is_far);
            husk_status status = husk__launch(queue, state->step, &range, arguments, (size_t)(end - arguments), scope);
            if (status != HUSK_OK)
                return status;
        }
    return HUSK_OK;
}
