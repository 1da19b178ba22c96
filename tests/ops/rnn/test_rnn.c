// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=300
// Recurrent layers against the reference: every cell, every variant and configuration, and every way to run
// them; and what the interface promises beside the numbers.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rnn_case.h"
#include "support/environment.h"

static const char *const variants[] = {"panel:8x2", "panel:6x2",        "tile:32x32",     "tile:16x16",
                                       "tile:4x16", "tile:16x16_split", "tile:4x16_split"};
#define VARIANTS ((int)(sizeof(variants) / sizeof(*variants)))

// ---- drawn by chance ----

enum { SHORT_CASES = 72, LONG_CASES = 600 };

static rnn_shape draw(int number)
{
    husk_ref_random random = {.seed = 1000 + (uint64_t)number};
    rnn_shape s = {.seed = 77 + 1000 * (uint64_t)number};
    // Five cells in turn, so that each gets its share.
    s.cell = number % 5 < 4 ? (husk_rnn_cell)(number % 5) : HUSK_RNN_GRU;
    s.reset = number % 5 == 4 ? HUSK_GRU_RESET_BEFORE : HUSK_GRU_RESET_AFTER;
    s.steps = TEST_PICK(&random, 1, 2, 2, 5, 5, 17);
    s.layers = TEST_PICK(&random, 1, 1, 2, 3);
    s.batch = test_pick_size(&random, TEST_PICK(&random, 4, 6, 16, 32, 48), 65);
    s.inputs = test_pick_size(&random, 16, 80);
    s.hidden = test_pick_size(&random, TEST_PICK(&random, 16, 32, 64), test_is_long() ? 300 : 140);
    s.bidirectional = test_one_in(&random, 3);
    s.has_lengths = test_one_in(&random, 2);
    s.has_h0 = test_one_in(&random, 2);
    s.has_c0 = test_one_in(&random, 2);
    s.has_h_n = test_one_in(&random, 2);
    s.has_c_n = test_one_in(&random, 2);
    s.has_input_bias = !test_one_in(&random, 3);
    s.has_hidden_bias = !test_one_in(&random, 3);
    if (s.cell == HUSK_RNN_RELU && s.hidden < 8)
        s.hidden += 8; // a handful of ReLU units may all be 0, which proves nothing
    s.are_rows_apart = test_one_in(&random, 3);
    s.x_layout = test_pick_layout(&random);
    return s;
}

START_TEST(test_drawn)
{
    const rnn_shape shape = draw(_i);
    rnn_case c;
    rnn_case_make(&shape, &c);
    rnn_case_verify(&c, NULL, (rnn_way)(_i % RNN_WAYS));
    for (int i = 0; i < 2; i++) {
        const int at = 2 * _i + i;
        rnn_case_verify(&c, variants[at % VARIANTS], (rnn_way)(at / VARIANTS % RNN_WAYS));
    }
    rnn_case_release(&c);
}
END_TEST

// f16, bf16 and f64, by every way and variant.
static void verify_dtype(husk_dtype dtype, int number)
{
    rnn_shape shape = draw(3000 + number);
    shape.dtype = dtype;
    rnn_case c;
    rnn_case_make(&shape, &c);
    rnn_case_verify(&c, NULL, (rnn_way)(number % RNN_WAYS));
    rnn_case_verify(&c, variants[number % VARIANTS], (rnn_way)(number / VARIANTS % RNN_WAYS));
    rnn_case_release(&c);
}

START_TEST(test_narrow)
{
    verify_dtype(_i % 2 ? HUSK_BF16 : HUSK_F16, _i);
}
END_TEST

START_TEST(test_dtypes)
{
    verify_dtype(test_dtype(_i), _i);
}
END_TEST

// An LSTM of doubles: panels and a tail, packed and not, sequences that end. Weights packed for f32 are others.
START_TEST(test_double)
{
    rnn_shape shape = {.dtype = HUSK_F64,
                       .cell = HUSK_RNN_LSTM,
                       .steps = 6,
                       .batch = 9,
                       .inputs = 21,
                       .hidden = 29,
                       .layers = 2,
                       .bidirectional = true,
                       .has_lengths = true,
                       .has_h0 = true,
                       .has_c0 = true,
                       .has_h_n = true,
                       .has_c_n = true,
                       .has_input_bias = true,
                       .has_hidden_bias = true,
                       .are_rows_apart = _i == 1,
                       .x_layout = _i == 2 ? TEST_SPREAD : TEST_PACKED,
                       .seed = 640};
    if (!husk_context_has(test_context(), HUSK_FEATURE_F64))
        return;
    rnn_case c, other;
    rnn_case_make(&shape, &c);
    rnn_case_verify(&c, "panel", RNN_IMMEDIATE);
    rnn_case_verify(&c, "panel", RNN_PLAN_PACKED);
    shape.dtype = HUSK_F32;
    rnn_case_make(&shape, &other);
    husk_plan *plan = NULL;
    husk_packed *packed = NULL;
    husk_error error;
    c.params.variant = other.params.variant = "panel";
    test_ok_error(husk_rnn_plan_create(test_context(), &other.params, &other.inputs, &other.outputs, &plan, &error),
                  &error);
    test_ok(husk_rnn_plan_pack(plan, test_queue(), other.weights, &packed));
    c.inputs.weights = NULL;
    c.inputs.packed = packed;
    test_refused(husk_rnn(test_silent_queue(), &c.params, &c.inputs, &c.outputs), HUSK_INVALID_ARGUMENT, "packed");
    husk_packed_release(packed);
    husk_plan_release(plan);
    rnn_case_release(&other);
    rnn_case_release(&c);
}
END_TEST

// ---- each cell in each configuration, with everything ----

START_TEST(test_everything)
{
    const int cell = _i % 5;
    const rnn_shape shape = {.cell = cell < 4 ? (husk_rnn_cell)cell : HUSK_RNN_GRU,
                             .reset = cell == 4 ? HUSK_GRU_RESET_BEFORE : HUSK_GRU_RESET_AFTER,
                             .steps = 5,
                             .batch = 13,
                             .inputs = 9,
                             .hidden = 37,
                             .layers = 2,
                             .bidirectional = true,
                             .has_lengths = true,
                             .has_h0 = true,
                             .has_c0 = true,
                             .has_h_n = true,
                             .has_c_n = true,
                             .has_input_bias = true,
                             .has_hidden_bias = true,
                             .x_layout = TEST_SPREAD,
                             .seed = 4321};
    rnn_case c;
    rnn_case_make(&shape, &c);
    for (int way = 0; way < RNN_WAYS; way++)
        rnn_case_verify(&c, variants[_i / 5], (rnn_way)way);
    rnn_case_release(&c);
}
END_TEST

// ---- a batch of one, and one that several work-items share ----

START_TEST(test_batches)
{
    static const int64_t batches[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 47, 49, 64};
    const rnn_shape shape = {.cell = (husk_rnn_cell)(_i % 4),
                             .steps = 2,
                             .batch = batches[_i],
                             .inputs = 5,
                             .hidden = 65,
                             .layers = 1,
                             .has_h0 = true,
                             .has_h_n = true,
                             .has_c_n = true,
                             .has_hidden_bias = true,
                             .seed = 99};
    rnn_case c;
    rnn_case_make(&shape, &c);
    rnn_case_verify(&c, NULL, RNN_IMMEDIATE);
    rnn_case_verify(&c, "panel:6x2", RNN_IMMEDIATE);
    rnn_case_release(&c);
}
END_TEST

// One sequence of a layer so wide that hidden units are divided among work-items, a launch a step.
START_TEST(test_divided)
{
    const rnn_shape shape = {.cell = _i < 4 ? (husk_rnn_cell)_i : HUSK_RNN_GRU,
                             .reset = _i == 4 ? HUSK_GRU_RESET_BEFORE : HUSK_GRU_RESET_AFTER,
                             .steps = 2,
                             .batch = 1,
                             .inputs = 8,
                             .hidden = 1000,
                             .layers = 1,
                             .has_h0 = true,
                             .has_h_n = true,
                             .has_c_n = true,
                             .seed = 31};
    rnn_case c;
    rnn_case_make(&shape, &c);
    rnn_case_verify(&c, NULL, RNN_IMMEDIATE);
    rnn_case_release(&c);
}
END_TEST

// Products of the inputs: by a launch of their own, dividing rows or panels, or by the first launch of the steps; more
// rows and features than a block has, and features that lie apart.
START_TEST(test_inputs)
{
    static const struct {
        int64_t steps, batch, inputs, hidden;
        bool bidirectional;
        test_layout x_layout;
    } sizes[] = {
        {200, 1, 70, 64, false, TEST_PACKED}, {60, 3, 530, 20, false, TEST_PACKED},
        {7, 34, 33, 100, true, TEST_PACKED},  {9, 16, 40, 200, false, TEST_REVERSED},
        {150, 1, 40, 48, true, TEST_SPREAD},  {5, 1, 3, 17, true, TEST_PACKED},
        {1, 1, 600, 90, false, TEST_PACKED},  {2, 2, 50, 70, false, TEST_PADDED},
    };
    const int cell = _i % 5;
    const rnn_shape shape = {.cell = cell < 4 ? (husk_rnn_cell)cell : HUSK_RNN_GRU,
                             .reset = cell == 4 ? HUSK_GRU_RESET_BEFORE : HUSK_GRU_RESET_AFTER,
                             .steps = sizes[_i / 5].steps,
                             .batch = sizes[_i / 5].batch,
                             .inputs = sizes[_i / 5].inputs,
                             .hidden = sizes[_i / 5].hidden,
                             .layers = 1 + _i % 2,
                             .bidirectional = sizes[_i / 5].bidirectional,
                             .has_h_n = true,
                             .has_input_bias = true,
                             .has_hidden_bias = _i % 3 > 0,
                             .x_layout = sizes[_i / 5].x_layout,
                             .seed = 640 + (uint64_t)_i};
    rnn_case c;
    rnn_case_make(&shape, &c);
    rnn_case_verify(&c, NULL, RNN_IMMEDIATE);
    rnn_case_verify(&c, NULL, RNN_PLAN_PACKED);
    rnn_case_verify(&c, "panel:6x2", RNN_IMMEDIATE);
    rnn_case_release(&c);
}
END_TEST

// Inputs that are one element repeated throughout, the stride of a single sequence or step is not 0.
START_TEST(test_one_input_for_all)
{
    const rnn_shape shape = {.cell = HUSK_RNN_GRU,
                             .steps = _i ? 1 : 4,
                             .batch = _i ? 4 : 1,
                             .inputs = 6,
                             .hidden = 9,
                             .layers = 1,
                             .has_h_n = true,
                             .has_input_bias = true,
                             .seed = 71};
    const int64_t strides[3] = {_i ? 1 : 0, _i ? 0 : 1, 0};
    rnn_case c;
    rnn_case_make(&shape, &c);
    memcpy(c.x.tensor.strides, strides, sizeof strides);
    memcpy(c.x.array.strides, strides, sizeof strides);
    for (int v = 0; v < VARIANTS; v++)
        rnn_case_verify(&c, variants[v], RNN_IMMEDIATE);
    rnn_case_release(&c);
}
END_TEST

// More weights than most caches hold, which one or two sequences ask for ahead.
START_TEST(test_far)
{
    const rnn_shape shape = {.cell = HUSK_RNN_LSTM,
                             .steps = 2,
                             .batch = 1 + _i,
                             .inputs = 8,
                             .hidden = 1480,
                             .layers = 1,
                             .has_h0 = true,
                             .has_h_n = true,
                             .seed = 34};
    rnn_case c;
    rnn_case_make(&shape, &c);
    rnn_case_verify(&c, NULL, RNN_IMMEDIATE);
    rnn_case_release(&c);
}
END_TEST

// ---- empty and all but empty ----

START_TEST(test_no_step)
{
    const rnn_shape shape = {.cell = HUSK_RNN_LSTM,
                             .steps = 0,
                             .batch = 3,
                             .inputs = 4,
                             .hidden = 19,
                             .layers = 2,
                             .has_h0 = _i % 2 == 0,
                             .has_c0 = _i % 2 == 0,
                             .has_h_n = true,
                             .has_c_n = true,
                             .seed = 8};
    rnn_case c;
    rnn_case_make(&shape, &c);
    ck_assert(rnn_case_run(&c, NULL, _i / 2 ? RNN_PLAN_PACKED : RNN_IMMEDIATE));
    int64_t index[3] = {0};
    do {
        double h = shape.has_h0 ? husk_ref_load(&c.h0.array, husk_ref_offset(&c.h0.array, index)) : 0.0;
        double cell = shape.has_c0 ? husk_ref_load(&c.c0.array, husk_ref_offset(&c.c0.array, index)) : 0.0;
        ck_assert(husk_ref_load(&c.h_n.array, husk_ref_offset(&c.h_n.array, index)) == h);
        ck_assert(husk_ref_load(&c.c_n.array, husk_ref_offset(&c.c_n.array, index)) == cell);
    } while (husk_ref_index_next(3, c.h_n.array.shape, index));
    rnn_case_release(&c);
}
END_TEST

START_TEST(test_no_sequence)
{
    const rnn_shape shape = {.cell = HUSK_RNN_GRU,
                             .steps = 3,
                             .batch = 0,
                             .inputs = 4,
                             .hidden = 5,
                             .layers = 1,
                             .has_h_n = true,
                             .seed = 8};
    rnn_case c;
    rnn_case_make(&shape, &c);
    ck_assert(rnn_case_run(&c, NULL, RNN_IMMEDIATE));
    ck_assert(rnn_case_run(&c, NULL, RNN_PLAN));
    rnn_case_release(&c);
}
END_TEST

// Layers that read their states and biases alone.
START_TEST(test_no_feature)
{
    static const husk_dtype dtypes[] = {HUSK_F32, HUSK_F16, HUSK_BF16};
    const int way = _i % RNN_WAYS, dtype = _i / RNN_WAYS % 3;
    const rnn_shape shape = {.dtype = dtypes[dtype],
                             .cell = _i / RNN_WAYS / 3 ? HUSK_RNN_TANH : HUSK_RNN_GRU,
                             .steps = 3,
                             .batch = 4,
                             .inputs = 0,
                             .hidden = _i / RNN_WAYS / 3 ? 1 : 19,
                             .layers = 2,
                             .has_h0 = true,
                             .has_h_n = true,
                             .has_input_bias = true,
                             .has_hidden_bias = true,
                             .seed = 60};
    rnn_case c;
    rnn_case_make(&shape, &c);
    for (int v = 0; v < VARIANTS; v++)
        rnn_case_verify(&c, variants[v], (rnn_way)way);
    rnn_case_release(&c);
}
END_TEST

START_TEST(test_lengths)
{
    static const int32_t lengths[][4] = {{0, 0, 0, 0}, {5, 5, 5, 5}, {0, 5, 3, 1}, {-7, 9, 2147483647, 4}};
    const rnn_shape shape = {.cell = _i % 2 ? HUSK_RNN_LSTM : HUSK_RNN_GRU,
                             .reset = _i / 2 % 2 ? HUSK_GRU_RESET_BEFORE : HUSK_GRU_RESET_AFTER,
                             .steps = 5,
                             .batch = 4,
                             .inputs = 3,
                             .hidden = 18,
                             .layers = 2,
                             .bidirectional = true,
                             .has_lengths = true,
                             .lengths = lengths[_i / 4],
                             .has_h0 = true,
                             .has_c0 = true,
                             .has_h_n = true,
                             .has_c_n = true,
                             .has_input_bias = true,
                             .seed = 12};
    rnn_case c;
    rnn_case_make(&shape, &c);
    rnn_case_verify(&c, NULL, RNN_IMMEDIATE);
    rnn_case_verify(&c, "tile:4x16", RNN_PLAN);
    rnn_case_release(&c);
}
END_TEST

// ---- what a run executes ----

// The state before the first step is multiplied where there is one.
START_TEST(test_executed_flops)
{
    enum { STEPS = 3, BATCH = 5, INPUTS = 7, HIDDEN = 20, LAYERS = 2, DIRECTIONS = 2 };
    const rnn_shape shape = {.cell = HUSK_RNN_GRU,
                             .steps = STEPS,
                             .batch = BATCH,
                             .inputs = INPUTS,
                             .hidden = HIDDEN,
                             .layers = LAYERS,
                             .bidirectional = true,
                             .has_h0 = _i % 2,
                             .seed = 61};
    const double inputs = STEPS * (INPUTS + DIRECTIONS * HIDDEN), states = LAYERS * (STEPS - (_i % 2 ? 0 : 1)) * HIDDEN;
    rnn_case c;
    husk_plan *plan = NULL;
    husk_error error;
    rnn_case_make(&shape, &c);
    c.params.variant = _i / 2 ? "tile" : "panel";
    test_ok_error(husk_rnn_plan_create(test_context(), &c.params, &c.inputs, &c.outputs, &plan, &error), &error);
    const double expected = 2 * BATCH * DIRECTIONS * 3 * HIDDEN * (inputs + states);
    ck_assert_double_eq_tol(husk_plan_executed_flops(plan), expected, 0.5);
    husk_plan_release(plan);
    rnn_case_release(&c);
}
END_TEST

// ---- packed weights serve every number of steps and sequences ----

START_TEST(test_packed_elsewhere)
{
    rnn_shape shape = {.cell = HUSK_RNN_GRU,
                       .steps = _i ? 1 : 9,
                       .batch = _i ? 1 : 12,
                       .inputs = 33,
                       .hidden = 40,
                       .layers = 2,
                       .has_input_bias = true,
                       .has_hidden_bias = true,
                       .has_h_n = true,
                       .seed = 3};
    rnn_case packing, other;
    husk_plan *plan = NULL;
    husk_packed *packed = NULL;
    husk_error error;
    rnn_case_make(&shape, &packing);
    shape.steps = _i ? 9 : 1;
    shape.batch = _i ? 12 : 1;
    rnn_case_make(&shape, &other);
    test_ok_error(
        husk_rnn_plan_create(test_context(), &packing.params, &packing.inputs, &packing.outputs, &plan, &error),
        &error);
    test_ok(husk_rnn_plan_pack(plan, test_queue(), packing.weights, &packed));
    husk_plan_release(plan);
    other.inputs.weights = NULL;
    other.inputs.packed = packed;
    rnn_case_verify(&other, NULL, RNN_IMMEDIATE);
    rnn_case_verify(&other, NULL, RNN_PLAN); // made from packed weights
    husk_packed_release(packed);
    rnn_case_release(&packing);
    rnn_case_release(&other);
}
END_TEST

// ---- NaN and infinity ----

START_TEST(test_not_a_number)
{
    const rnn_shape shape = {.cell = (husk_rnn_cell)_i,
                             .steps = 4,
                             .batch = 7,
                             .inputs = 6,
                             .hidden = 21,
                             .layers = 1,
                             .has_h0 = true,
                             .has_h_n = true,
                             .has_c_n = true,
                             .seed = 21};
    rnn_case c;
    rnn_case_make(&shape, &c);
    husk_ref_store(&c.x.array, husk_ref_offset(&c.x.array, (int64_t[]){1, 2, 3}), NAN);
    husk_ref_store(&c.x.array, husk_ref_offset(&c.x.array, (int64_t[]){2, 5, 0}), 1e30);
    test_input_update(&c.x);
    for (int i = 0; i < VARIANTS; i++)
        rnn_case_verify(&c, variants[i], RNN_IMMEDIATE);
    ck_assert(rnn_case_run(&c, NULL, RNN_IMMEDIATE));
    for (int64_t j = 0; j < 21; j++) { // one sequence's mistake does not spread
        ck_assert(!isnan(husk_ref_load(&c.y.array, husk_ref_offset(&c.y.array, (int64_t[]){0, 2, j}))));
        ck_assert(isnan(husk_ref_load(&c.y.array, husk_ref_offset(&c.y.array, (int64_t[]){1, 2, j}))));
        ck_assert(!isnan(husk_ref_load(&c.y.array, husk_ref_offset(&c.y.array, (int64_t[]){3, 1, j}))));
    }
    rnn_case_release(&c);
}
END_TEST

// ---- the check itself ----

static void check_again(void *user, const husk_ref_array *array, husk_ref_report *report)
{
    rnn_case_check(user, array, report);
}

static bool is_seen(rnn_case *c, const int64_t *index, double value)
{
    const int64_t at = husk_ref_offset(&c->y.array, index);
    const double right = husk_ref_load(&c->y.array, at);
    husk_ref_report report = {0};
    husk_ref_store(&c->y.array, at, value);
    rnn_case_check(c, &c->y.array, &report);
    husk_ref_store(&c->y.array, at, right);
    return !husk_ref_report_pass(&report);
}

START_TEST(test_planted_errors)
{
    const rnn_shape shape = {.cell = HUSK_RNN_LSTM,
                             .steps = 4,
                             .batch = 5,
                             .inputs = 6,
                             .hidden = 17,
                             .layers = 1,
                             .has_lengths = true,
                             .lengths = (const int32_t[]){4, 2, 4, 1, 4},
                             .seed = 2};
    static const int64_t places[][3] = {{0, 0, 0}, {1, 2, 8}, {3, 4, 16}, {3, 1, 3}};
    rnn_case c;
    rnn_case_make(&shape, &c);
    ck_assert(rnn_case_run(&c, NULL, RNN_IMMEDIATE));
    husk_ref_report report = {0};
    rnn_case_check(&c, &c.y.array, &report);
    ck_assert(husk_ref_report_pass(&report) && report.checked == 4 * 5 * 17);
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        const double right = husk_ref_load(&c.y.array, husk_ref_offset(&c.y.array, places[i]));
        ck_assert(is_seen(&c, places[i], right + 1e-4));
        ck_assert(is_seen(&c, places[i], NAN));
        ck_assert(is_seen(&c, places[i], INFINITY));
    }
    test_planted_patch(&c.y.array, check_again, &c);
    test_planted_guards(&c.y);
    rnn_case_release(&c);
}
END_TEST

// What a matrix engine multiplies is within the bound that the plan states, and not within f32's.
START_TEST(test_engine)
{
    rnn_case c;
    husk_ref_report report = {0}, as_f32 = {0};
    test_setenv("HUSK_ENGINES", "soft_amx");
    rnn_case_make(&(rnn_shape){.cell = (husk_rnn_cell)_i,
                               .steps = 5,
                               .batch = 9,
                               .inputs = 130,
                               .hidden = 40,
                               .layers = 2,
                               .has_input_bias = true,
                               .precision = HUSK_PRECISION_MEDIUM,
                               .seed = 900 + (uint64_t)_i},
                  &c);
    if (rnn_case_run(&c, "tile:16x16", RNN_IMMEDIATE)) {
        c.product_factor = husk_plan_error_factor(husk_queue_plan(test_queue()));
        ck_assert(c.product_factor > 0x1p16 || !test_device_is_home());
        rnn_case_check(&c, &c.y.array, &report);
        test_accept("rnn", "tile:16x16", "by soft_amx", &report);
        const bool is_engine = c.product_factor > 0.0;
        c.product_factor = 0.0;
        rnn_case_check(&c, &c.y.array, &as_f32);
        ck_assert((as_f32.failures > 0) == is_engine);
    }
    rnn_case_release(&c);
    test_restore_environment();
}
END_TEST

START_TEST(test_counts)
{
    ck_assert_int_ge(test_executed("rnn"), 150);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rnn");
    TCase *numbers = tcase_create("numbers"), *edges = tcase_create("edges"), *doubles = tcase_create("doubles"),
          *last = tcase_create("counts");
    if (test_tier_is("dtypes")) {
        tcase_add_loop_test(numbers, test_dtypes, 0, 180);
        suite_add_tcase(suite, numbers);
        return test_main(suite);
    }
    tcase_add_loop_test(numbers, test_narrow, 0, 8);
    tcase_add_loop_test(doubles, test_double, 0, test_is_long() ? 3 : 0); // its programs are many
    tcase_add_loop_test(numbers, test_everything, 0, 5 * VARIANTS);
    tcase_add_loop_test(numbers, test_drawn, 0, test_is_long() ? LONG_CASES : SHORT_CASES);
    tcase_add_loop_test(numbers, test_batches, 0, 15);
    tcase_add_loop_test(numbers, test_divided, 0, 5);
    tcase_add_loop_test(numbers, test_inputs, 0, 5 * 8);
    tcase_add_loop_test(numbers, test_one_input_for_all, 0, 2);
    tcase_add_loop_test(numbers, test_far, 0, 2);
    tcase_add_loop_test(edges, test_no_step, 0, 4);
    tcase_add_test(edges, test_no_sequence);
    tcase_add_loop_test(edges, test_no_feature, 0, 2 * 3 * RNN_WAYS);
    tcase_add_loop_test(edges, test_lengths, 0, 16);
    tcase_add_loop_test(edges, test_executed_flops, 0, 4);
    tcase_add_loop_test(edges, test_packed_elsewhere, 0, 2);
    tcase_add_loop_test(edges, test_not_a_number, 0, 4);
    tcase_add_test(edges, test_planted_errors);
    tcase_add_loop_test(edges, test_engine, 0, 4);
    tcase_add_test(last, test_counts);
    suite_add_tcase(suite, numbers);
    suite_add_tcase(suite, edges);
    suite_add_tcase(suite, doubles);
    suite_add_tcase(suite, rnn_workspace());
    suite_add_tcase(suite, rnn_refusals());
    suite_add_tcase(suite, last);
    return test_main(suite);
}
