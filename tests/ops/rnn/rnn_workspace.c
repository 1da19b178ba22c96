// SPDX-License-Identifier: MIT
// Scratch memory of recurrent layers: what is computed in turn where there is little of it, and that there is enough
// where nobody says how much.
#include <string.h>

#include "rnn_case.h"
#include "support/environment.h"

static husk_plan *plan_of(const rnn_case *c)
{
    husk_plan *plan = NULL;
    husk_error error;
    test_ok_error(husk_rnn_plan_create(test_context(), &c->params, &c->inputs, &c->outputs, &plan, &error), &error);
    return plan;
}

static uint64_t workspace_of(const rnn_case *c)
{
    husk_plan *plan = plan_of(c);
    const uint64_t bytes = husk_plan_workspace(plan);
    husk_plan_release(plan);
    return bytes;
}

static double flops_of(const rnn_case *c)
{
    husk_plan *plan = plan_of(c);
    const double flops = husk_plan_executed_flops(plan);
    husk_plan_release(plan);
    return flops;
}

static void refused(const rnn_case *c)
{
    husk_plan *plan = NULL;
    husk_error error;
    ck_assert_int_eq(husk_rnn_plan_create(test_context(), &c->params, &c->inputs, &c->outputs, &plan, &error),
                     HUSK_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "bytes of workspace, the limit is"));
}

// ---- for a few time steps only ----

START_TEST(steps_in_turn)
{
    const rnn_shape shape = {.cell = HUSK_RNN_LSTM,
                             .steps = 17,
                             .batch = 5,
                             .inputs = 7,
                             .hidden = 20,
                             .layers = 1 + _i % 2,
                             .bidirectional = _i / 2 % 2,
                             .has_lengths = _i / 4 % 2,
                             .has_h0 = true,
                             .has_h_n = true,
                             .has_c_n = true,
                             .x_layout = TEST_REVERSED,
                             .seed = 55};
    rnn_case c;
    rnn_case_make(&shape, &c);
    const uint64_t products = 17 * 5 * 80 * 4 * (shape.bidirectional ? 2 : 1);
    c.params.workspace_limit = workspace_of(&c) - products * 2 / 3;
    ck_assert_uint_le(workspace_of(&c), c.params.workspace_limit);
    for (int way = 0; way < RNN_WAYS; way++)
        rnn_case_verify(&c, NULL, (rnn_way)way);
    c.params.workspace_limit = 64;
    refused(&c);
    rnn_case_release(&c);
}
END_TEST

// ---- for a few sequences only ----

// With the memory that one sequence or a few take, a batch of any size is computed, though the outputs of its inner
// layers alone are more. A step's sequences cannot be cut along time: there it is known how many are done twice.
START_TEST(sequences_in_turn)
{
    enum { PART_DTYPES = 3, PART_SIZES = 3, STEPS = 4, BATCH = 13 };
    static const husk_dtype dtypes[PART_DTYPES] = {HUSK_F32, HUSK_F16, HUSK_BF16};
    static const int64_t parts[PART_SIZES] = {1, 3, 7}, steps[STEPS] = {40, 1, 40, 2};
    static const double computed[PART_SIZES] = {13.0, 14.0, 14.0}; // in parts of 1, 2 and 7
    static const test_layout layouts[] = {TEST_PACKED, TEST_REVERSED, TEST_SPREAD, TEST_PADDED};
    const int cell = _i % 5;
    const char *const variant = _i % 2 ? "tile:16x16" : "panel";
    rnn_shape shape = {.dtype = dtypes[_i % PART_DTYPES],
                       .cell = cell < 4 ? (husk_rnn_cell)cell : HUSK_RNN_GRU,
                       .reset = cell == 4 ? HUSK_GRU_RESET_BEFORE : HUSK_GRU_RESET_AFTER,
                       .steps = steps[_i / 3 % STEPS],
                       .inputs = 9,
                       .hidden = 20,
                       .layers = 3,
                       .bidirectional = true,
                       .has_lengths = _i / 8 % 2,
                       .has_h0 = _i / 5 % 2,
                       .has_c0 = _i / 5 % 2,
                       .has_h_n = true,
                       .has_c_n = true,
                       .has_input_bias = true,
                       .has_hidden_bias = true,
                       .are_rows_apart = _i / 3 % 2,
                       .x_layout = layouts[_i / 2 % 4],
                       .seed = 2000 + (uint64_t)_i};
    for (int i = 0; i < PART_SIZES; i++) {
        rnn_case few, all;
        shape.batch = parts[i];
        rnn_case_make(&shape, &few);
        few.params.variant = variant;
        const uint64_t limit = workspace_of(&few);
        shape.batch = BATCH;
        rnn_case_make(&shape, &all);
        all.params.variant = variant;
        const uint64_t inner = 2 * (uint64_t)(shape.steps * BATCH) * 40 * sizeof(float);
        ck_assert(i > 0 || husk_dtype_size(shape.dtype) < 4 || shape.steps < 40 || limit < inner);
        ck_assert_uint_gt(workspace_of(&all), limit);
        const double whole = flops_of(&all);
        all.params.workspace_limit = limit;
        ck_assert_uint_le(workspace_of(&all), limit);
        if (shape.steps == 1)
            ck_assert_double_eq_tol(flops_of(&all) / whole, computed[i] / BATCH, 1e-9);
        ck_assert_double_ge(flops_of(&all), whole);
        for (int way = 0; way < RNN_WAYS; way++)
            rnn_case_verify(&all, variant, (rnn_way)way);
        all.params.workspace_limit = 1024;
        all.params.variant = variant;
        refused(&all);
        rnn_case_release(&few);
        rnn_case_release(&all);
    }
}
END_TEST

// Scratch memory is one buffer: of a device whose buffers are small the time steps go in turn as well.
START_TEST(small_buffers)
{
    const int64_t x_shape[] = {200, 16, 32}, y_shape[] = {200, 16, 64}, input[] = {256, 32}, hidden[] = {256, 64};
    const husk_tensor x = husk_tensor_make(NULL, HUSK_F32, 3, x_shape);
    const husk_tensor y = husk_tensor_make(NULL, HUSK_F32, 3, y_shape);
    const husk_tensor w = husk_tensor_make(NULL, HUSK_F32, 2, input), r = husk_tensor_make(NULL, HUSK_F32, 2, hidden);
    const husk_rnn_weights weights = {.input = &w, .hidden = &r};
    const husk_rnn_params params = HUSK_RNN_PARAMS(.cell = HUSK_RNN_LSTM, .hidden_size = 64);
    const husk_rnn_inputs inputs = HUSK_RNN_INPUTS(.x = &x, .weights = &weights);
    const husk_rnn_outputs outputs = HUSK_RNN_OUTPUTS(.y = &y);
    husk_context *context;
    husk_plan *plan;
    husk_error error;
    test_setenv("HUSK_LIMITS", "max_allocation=1M");
    test_ok_error(husk_context_create(NULL, NULL, &context, &error), &error);
    test_restore_environment();
    test_ok_error(husk_rnn_plan_create(context, &params, &inputs, &outputs, &plan, &error), &error);
    ck_assert_uint_le(husk_plan_workspace(plan), 2 << 20); // its own, and what a product takes
    husk_plan_release(plan);
    husk_context_release(context);
}
END_TEST

// ---- where nobody says how much ----

static husk_plan *plan_described(const rnn_description *d)
{
    husk_plan *plan = NULL;
    husk_error error;
    const husk_status status = husk_rnn_plan_create(test_context(), &d->params, &d->inputs, &d->outputs, &plan, &error);
    return rnn_described_plan(d, status, plan, &error);
}

// The default never makes a choice other than a large limit's, and never has a step's sequences computed in turn, in
// any dtype.
START_TEST(default_is_enough)
{
    husk_ref_random random = {.seed = 4000 + (uint64_t)_i};
    rnn_description d;
    rnn_describe(&random, &d);
    husk_plan *plan = plan_described(&d);
    d.params.workspace_limit = UINT64_C(1) << 40;
    husk_plan *large = plan_described(&d);
    ck_assert(!plan == !large);
    if (!plan)
        return;
    ck_assert_str_eq(husk_plan_variant(plan), husk_plan_variant(large));
    ck_assert_str_eq(husk_plan_configuration(plan), husk_plan_configuration(large));
    if (d.x.shape[0] == 1)
        ck_assert_uint_eq(husk_plan_workspace(plan), husk_plan_workspace(large));
    husk_plan_release(plan);
    husk_plan_release(large);
}
END_TEST

TCase *rnn_workspace(void)
{
    TCase *cases = tcase_create("workspace");
    tcase_add_loop_test(cases, steps_in_turn, 0, 8);
    tcase_add_loop_test(cases, sequences_in_turn, 0, test_is_long() ? 120 : 15);
    tcase_add_test(cases, small_buffers);
    tcase_add_loop_test(cases, default_is_enough, 0, test_is_long() ? 400 : 100);
    return cases;
}
