// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=180 with=rnn_case
// Gradients of recurrent layers: every cell, option and variant against the reference; what forward keeps; the same
// bits every time. The other rooms: rnn_backward_case.h.
#include <math.h>
#include <stdio.h>

#include "rnn_backward_case.h"
#include "support/environment.h"

static const char name[] = "rnn_backward";

// Forward's variants, whose reserves are one another's.
static const char *const forward_variants[] = {NULL, "panel", "tile:16x16"};

// ---- every variant against the reference ----

static rnn_backward_config draw(int number)
{
    husk_ref_random random = {.seed = 5000 + (uint64_t)number};
    rnn_backward_config c =
        rnn_backward_everything(rnn_backward_shape(number % RNN_CELLS, TEST_PICK(&random, 1, 2, 3, 5, 9), 1, 1, 1));
    rnn_shape *s = &c.shape;
    s->batch = test_pick_size(&random, TEST_PICK(&random, 4, 8, 16), test_is_long() ? 65 : 20);
    s->inputs = test_pick_size(&random, 16, 40);
    s->hidden = test_pick_size(&random, TEST_PICK(&random, 16, 32), test_is_long() ? 150 : 70);
    s->layers = TEST_PICK(&random, 1, 1, 2, 3);
    s->bidirectional = test_one_in(&random, 3);
    s->has_lengths = test_one_in(&random, 2);
    s->has_h0 = test_one_in(&random, 2);
    s->has_c0 = test_one_in(&random, 2);
    s->has_h_n = test_one_in(&random, 2);
    s->has_input_bias = !test_one_in(&random, 3);
    s->has_hidden_bias = !test_one_in(&random, 3);
    s->are_rows_apart = test_one_in(&random, 3);
    s->x_layout = test_pick_layout(&random);
    s->seed = 70 + 1000 * (uint64_t)number;
    c.dx_layout = test_pick_layout(&random);
    c.accumulate = (uint32_t)TEST_PICK(&random, 0, 0, 1, 2, 3);
    c.has_dy = !test_one_in(&random, 5);
    c.has_dh_n = !c.has_dy || test_one_in(&random, 2);
    c.has_dc_n = test_one_in(&random, 2);
    c.wants_x = !test_one_in(&random, 4);
    c.wants_h0 = test_one_in(&random, 2);
    c.wants_c0 = test_one_in(&random, 2);
    for (int part = 0; part < RNN_PARTS; part++)
        c.wants[part] = !test_one_in(&random, 4);
    c.wants[1] = c.wants[1] || !(c.wants_x || c.wants[0] || c.wants[2] || c.wants[3]);
    c.forward = forward_variants[number % 3];
    return c;
}

START_TEST(drawn)
{
    const rnn_backward_config c = draw(_i);
    rnn_backward_verify_all(&c);
}
END_TEST

START_TEST(with_everything)
{
    rnn_backward_config c = rnn_backward_everything(rnn_backward_shape(_i % RNN_CELLS, 5, 13, 9, 37));
    c.shape.layers = 2;
    c.shape.bidirectional = c.shape.has_lengths = c.shape.are_rows_apart = true;
    c.shape.x_layout = c.dx_layout = TEST_SPREAD;
    c.accumulate = _i / RNN_CELLS ? HUSK_ACCUMULATE_ALL : 0;
    c.forward = forward_variants[_i % 3];
    rnn_backward_verify_all(&c);
}
END_TEST

// f16, bf16 and f64: every cell with everything, in two layouts.
static rnn_backward_config narrow_config(husk_dtype dtype, int i)
{
    rnn_backward_config c = rnn_backward_everything(rnn_backward_shape(i % RNN_CELLS, 4, 6, 9, 21));
    c.shape.dtype = dtype;
    c.shape.layers = 2;
    c.shape.bidirectional = c.shape.has_lengths = true;
    c.shape.are_rows_apart = i / (2 * RNN_CELLS);
    c.shape.x_layout = c.dx_layout = c.shape.are_rows_apart ? TEST_REVERSED : TEST_PACKED;
    c.accumulate = i / (2 * RNN_CELLS) ? HUSK_ACCUMULATE_ALL : 0;
    return c;
}

START_TEST(narrow)
{
    const rnn_backward_config c = narrow_config(_i / RNN_CELLS % 2 ? HUSK_BF16 : HUSK_F16, _i);
    rnn_backward_verify_all(&c);
}
END_TEST

START_TEST(each_dtype)
{
    const rnn_backward_config c = narrow_config(test_dtype(_i / RNN_CELLS), _i);
    rnn_backward_verify_all(&c);
}
END_TEST

START_TEST(drawn_dtypes)
{
    rnn_backward_config c = draw(2000 + _i);
    c.shape.dtype = test_dtype(_i);
    rnn_backward_verify_all(&c);
}
END_TEST

// Doubles by the device's own variant alone.
START_TEST(doubles)
{
    rnn_backward_config c = rnn_backward_everything(rnn_backward_shape(2 + _i, 5, 7, 9, 21));
    c.shape.dtype = HUSK_F64;
    c.shape.layers = 2;
    c.shape.bidirectional = c.shape.has_lengths = c.shape.are_rows_apart = true;
    c.accumulate = _i ? HUSK_ACCUMULATE_ALL : 0;
    if (!husk_context_has(test_context(), HUSK_FEATURE_F64))
        return;
    rnn_backward_case t;
    rnn_backward_make(&c, &t);
    husk_ref_report report = {0};
    ck_assert(husk_ref_rnn_reserve_check(&t.forward, &t.c.y.array, &t.reserve.array, &report));
    test_accept("rnn", c.forward, "the reserve of doubles", &report);
    husk_ref_rnn_gradients expected;
    const husk_ref_rnn_backward op = rnn_backward_reference_of(&t);
    ck_assert(husk_ref_rnn_backward_run(&op, &expected));
    rnn_backward_verify_variant(&t, &expected, NULL);
    husk_ref_rnn_gradients_release(&expected);
    rnn_backward_release(&t);
}
END_TEST

// More sequences than sums are kept of at once; and one of a layer so wide that hidden units are divided among
// work-items, a launch a step.
START_TEST(divided)
{
    rnn_backward_config c = rnn_backward_everything(_i < RNN_CELLS ? rnn_backward_shape(_i, 2, 65, 3, 33)
                                                                   : rnn_backward_shape(_i - RNN_CELLS, 2, 1, 4, 500));
    c.shape.bidirectional = _i == 2;
    rnn_backward_verify_all(&c);
}
END_TEST

START_TEST(lengths)
{
    static const int32_t given[][4] = {{0, 0, 0, 0}, {5, 5, 5, 5}, {0, 5, 3, 1}, {-7, 9, 2147483647, 4}};
    rnn_backward_config c = rnn_backward_everything(rnn_backward_shape(_i % RNN_CELLS, 5, 4, 3, 18));
    c.shape.layers = 2;
    c.shape.bidirectional = c.shape.has_lengths = true;
    c.shape.lengths = given[_i / RNN_CELLS];
    rnn_backward_verify_all(&c);
}
END_TEST

// Sums over nothing are 0, or what was there; the states' gradients go through.
START_TEST(empty)
{
    rnn_backward_config c = rnn_backward_everything(
        rnn_backward_shape(_i % RNN_CELLS, _i / RNN_CELLS % 2 ? 3 : 0, _i / RNN_CELLS % 2 ? 0 : 3, 4, 19));
    c.accumulate = _i / (2 * RNN_CELLS) ? HUSK_ACCUMULATE_ALL : 0;
    c.shape.layers = 2;
    rnn_backward_verify_all(&c);
}
END_TEST

// The layer below reads its states and biases alone.
START_TEST(no_feature)
{
    static const husk_dtype dtypes[] = {HUSK_F32, HUSK_F16, HUSK_BF16};
    rnn_backward_config c =
        rnn_backward_everything(rnn_backward_shape(_i / 3 ? 0 : RNN_CELLS - 1, 3, 4, 0, _i / 3 ? 1 : 19));
    c.shape.dtype = dtypes[_i % 3];
    c.shape.layers = 2;
    rnn_backward_verify_all(&c);
}
END_TEST

// One gradient alone, of every kind; and layers of which nothing is wanted.
START_TEST(one_alone)
{
    rnn_backward_config c = rnn_backward_everything(rnn_backward_shape(_i / 7, 3, 5, 6, 20));
    c.shape.layers = 2;
    c.wants_x = _i % 7 == 0;
    c.wants_h0 = _i % 7 == 1;
    c.wants_c0 = _i % 7 == 2;
    for (int part = 0; part < RNN_PARTS; part++)
        c.wants[part] = _i % 7 == 3 + part;
    if (_i % 7 == 2 && c.shape.cell != HUSK_RNN_LSTM)
        c.wants_h0 = true;
    rnn_backward_verify_all(&c);
}
END_TEST

START_TEST(top_layer_alone)
{
    rnn_backward_config c = rnn_backward_everything(rnn_backward_shape(_i, 3, 5, 6, 20));
    c.shape.layers = 3;
    c.wants_x = c.wants_h0 = c.wants_c0 = false;
    rnn_backward_case t;
    rnn_backward_make(&c, &t);
    for (int i = 0; i < 2; i++)
        t.list[i] = (husk_rnn_weights){0};
    test_ok(rnn_backward_run(&t, NULL));
    husk_ref_rnn_gradients expected;
    const husk_ref_rnn_backward op = rnn_backward_reference_of(&t);
    ck_assert(husk_ref_rnn_backward_run(&op, &expected));
    for (int part = 0; part < RNN_PARTS; part++) {
        test_untouched(&t.d_weights[0][part]);
        test_untouched(&t.d_weights[1][part]);
        test_fetch(&t.d_weights[2][part]);
        rnn_backward_compare(&t, &op, &expected.weights[2][part], &t.d_weights[2][part], 0, NULL, "the top layer");
    }
    husk_ref_rnn_gradients_release(&expected);
    rnn_backward_release(&t);
}
END_TEST

// One sequence's mistake reaches its own gradients, and the weights', alone.
START_TEST(special_values)
{
    rnn_backward_config c = rnn_backward_everything(rnn_backward_shape(_i, 4, 7, 6, 21));
    rnn_backward_case t;
    rnn_backward_make(&c, &t);
    husk_ref_store(&t.dy.array, husk_ref_offset(&t.dy.array, (int64_t[]){2, 3, 5}), _i % 2 ? NAN : INFINITY);
    test_input_update(&t.dy);
    husk_ref_rnn_gradients expected;
    const husk_ref_rnn_backward op = rnn_backward_reference_of(&t);
    ck_assert(husk_ref_rnn_backward_run(&op, &expected));
    for (int v = 0; v < RNN_BACKWARD_VARIANTS; v++) {
        rnn_backward_each(&t, test_restore);
        if (!test_ran(rnn_backward_run(&t, rnn_backward_variants[v]), name, rnn_backward_variants[v]))
            continue;
        rnn_backward_each(&t, test_fetch);
        for (int64_t b = 0; b < 7; b++)
            for (int64_t j = 0; j < 6; j++) {
                const int64_t index[3] = {0, b, j};
                const double value = husk_ref_load(&t.dx.array, husk_ref_offset(&t.dx.array, index));
                ck_assert_msg(b == 3 || isfinite(value), "sequence %d", (int)b);
            }
        bool spread = false;
        for (int64_t j = 0; j < 21; j++)
            spread =
                spread || !isfinite(husk_ref_load(&t.dh0.array, husk_ref_offset(&t.dh0.array, (int64_t[]){0, 3, j})));
        ck_assert(spread || c.shape.cell == HUSK_RNN_RELU);
    }
    husk_ref_rnn_gradients_release(&expected);
    rnn_backward_release(&t);
}
END_TEST

// ---- the same bits ----

START_TEST(the_same_bits)
{
    rnn_backward_config c = rnn_backward_everything(rnn_backward_shape(_i % RNN_CELLS, 6, 21, 30, 45));
    c.shape.bidirectional = c.shape.has_lengths = true;
    c.shape.layers = 2;
    rnn_backward_case t;
    rnn_backward_make(&c, &t);
    uint64_t first = 0;
    for (int run = 0; run < 10; run++) {
        rnn_backward_each(&t, test_restore);
        test_ok(rnn_backward_run(&t, NULL));
        const uint64_t bits = rnn_backward_bits(&t);
        first = run == 0 ? bits : first;
        ck_assert_msg(bits == first, "run %d has other bits", run);
    }
    rnn_backward_release(&t);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    rnn_backward_config c = rnn_backward_everything(rnn_backward_shape(_i, 3, 4, 5, 18));
    rnn_backward_case t;
    rnn_backward_make(&c, &t);
    husk_ref_rnn_gradients expected;
    const husk_ref_rnn_backward op = rnn_backward_reference_of(&t);
    ck_assert(husk_ref_rnn_backward_run(&op, &expected));
    test_ok(rnn_backward_run(&t, NULL));
    rnn_backward_each(&t, test_fetch);
    const struct {
        const husk_ref_rnn_gradient *expected;
        test_tensor *actual;
    } pairs[] = {{&expected.x, &t.dx},
                 {&expected.h0, &t.dh0},
                 {&expected.weights[0][0], &t.d_weights[0][0]},
                 {&expected.weights[0][1], &t.d_weights[0][1]},
                 {&expected.weights[0][3], &t.d_weights[0][3]}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        const int64_t count = husk_ref_array_count(&pairs[i].actual->array);
        for (int64_t at = 0; at < count; at += count - 1) {
            const double right = husk_ref_load(&pairs[i].actual->array, at);
            husk_ref_report report = {0};
            husk_ref_rnn_gradient_compare(&op, pairs[i].expected, NULL, &pairs[i].actual->array, &report);
            ck_assert(husk_ref_report_pass(&report) && report.checked == count);
            husk_ref_store(&pairs[i].actual->array, at, right + 2e-3);
            husk_ref_rnn_gradient_compare(&op, pairs[i].expected, NULL, &pairs[i].actual->array, &report);
            ck_assert(!husk_ref_report_pass(&report));
            husk_ref_store(&pairs[i].actual->array, at, right);
        }
        test_planted_guards(pairs[i].actual);
    }
    husk_ref_rnn_gradients_release(&expected);
    rnn_backward_release(&t);
}
END_TEST

// What a matrix engine multiplies is within the bound that the plan states, and not within f32's.
START_TEST(by_an_engine)
{
    rnn_backward_config config = rnn_backward_everything(rnn_backward_shape(_i, 6, 17, 130, 40));
    rnn_backward_case t;
    rnn_backward_make(&config, &t);
    test_setenv("HUSK_ENGINES", "soft_amx");
    t.c.params.precision = HUSK_PRECISION_MEDIUM;
    test_ok(rnn_backward_run(&t, NULL));
    t.forward.product_factor = husk_plan_error_factor(husk_queue_plan(test_queue()));
    const bool is_engine = t.forward.product_factor > 0.0;
    ck_assert(t.forward.product_factor > 0x1p16 || !test_device_is_home());
    husk_ref_rnn_gradients expected;
    const husk_ref_rnn_backward op = rnn_backward_reference_of(&t);
    ck_assert(husk_ref_rnn_backward_run(&op, &expected));
    rnn_backward_verify(&t, &expected, "of soft_amx");
    husk_ref_rnn_gradients_release(&expected);
    t.forward.product_factor = 0.0;
    ck_assert(husk_ref_rnn_backward_run(&op, &expected));
    husk_ref_report x = {0}, weights = {0};
    husk_ref_rnn_gradient_compare(&op, &expected.x, NULL, &t.dx.array, &x);
    husk_ref_rnn_gradient_compare(&op, &expected.weights[0][0], NULL, &t.d_weights[0][0].array, &weights);
    ck_assert((x.failures > 0) == is_engine && (weights.failures > 0) == is_engine);
    husk_ref_rnn_gradients_release(&expected);
    rnn_backward_release(&t);
    test_restore_environment();
}
END_TEST

START_TEST(counts)
{
    ck_assert_int_ge(test_executed(name), 400);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create(name);
    TCase *numbers = tcase_create("numbers"), *wide = tcase_create("doubles"), *last = tcase_create("counts");
    if (test_tier_is("dtypes")) {
        tcase_add_loop_test(numbers, each_dtype, 0, 6 * RNN_CELLS);
        tcase_add_loop_test(numbers, drawn_dtypes, 0, 90);
        suite_add_tcase(suite, numbers);
        return test_main(suite);
    }
    tcase_add_loop_test(numbers, narrow, 0, 2);
    tcase_add_loop_test(wide, doubles, 0, test_is_long() ? 2 : 0); // their programs are many
    tcase_add_loop_test(numbers, with_everything, 0, 2 * RNN_CELLS);
    tcase_add_loop_test(numbers, drawn, 0, test_is_long() ? 400 : 40);
    tcase_add_loop_test(numbers, divided, 0, 2 * RNN_CELLS);
    tcase_add_loop_test(numbers, lengths, 0, 4 * RNN_CELLS);
    tcase_add_loop_test(numbers, empty, 0, 4 * RNN_CELLS);
    tcase_add_loop_test(numbers, no_feature, 0, 6);
    tcase_add_loop_test(numbers, one_alone, 0, 7 * RNN_CELLS);
    tcase_add_loop_test(numbers, top_layer_alone, 0, RNN_CELLS);
    tcase_add_loop_test(numbers, special_values, 0, RNN_CELLS);
    tcase_add_loop_test(numbers, the_same_bits, 0, RNN_CELLS);
    tcase_add_loop_test(numbers, the_check_sees_mistakes, 0, RNN_CELLS);
    tcase_add_loop_test(numbers, by_an_engine, 0, RNN_CELLS);
    tcase_add_test(last, counts);
    suite_add_tcase(suite, rnn_backward_reference());
    suite_add_tcase(suite, numbers);
    suite_add_tcase(suite, rnn_backward_plans());
    suite_add_tcase(suite, rnn_backward_refusals());
    suite_add_tcase(suite, rnn_backward_plan_refusals());
    suite_add_tcase(suite, wide);
    suite_add_tcase(suite, last);
    return test_main(suite);
}
