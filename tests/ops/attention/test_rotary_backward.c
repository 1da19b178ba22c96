// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=60
// The gradient of rotary position embedding: finite differences; every variant, layout and source of angles against
// the reference; forward undone; the same bits every time; bad input.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/rotary_case.h"

static const char *const variants[] = {NULL, "vector", "grid:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };
static const char name[] = "rotary_backward";

// ---- the reference is the gradient ----

static void forward(void *op)
{
    husk_ref_rotary_run(((husk_ref_rotary **)op)[0], ((husk_ref_array **)op)[1]);
}

START_TEST(differences)
{
    husk_ref_random random = {.seed = 70 + (uint64_t)_i};
    test_rotary c = test_rotary_draw(&random, HUSK_F32, (uint64_t)_i);
    c.shape[1] = 1;
    husk_ref_array x = test_array(4, c.shape, (uint64_t)_i, 2.0), dx = test_array(4, c.shape, 0, 0.0);
    husk_ref_array y = test_array(4, c.shape, 0, 0.0), dy = test_array(4, c.shape, (uint64_t)_i + 50, 1.0);
    husk_ref_rotary op = test_rotary_reference(&c, &x), backward = test_rotary_reference(&c, &dy);
    backward.is_gradient = true;
    void *user[] = {&op, &y};
    forward(user);
    husk_ref_rotary_run(&backward, &dx);
    if (!isnan(test_dot(&y, &y))) { // a position without a row
        test_differences(name, forward, user, &x, &y, &dy, &dx, (uint64_t)_i);
        test_adjoint(name, &y, &dy, &x, &dx);
    }
    test_array_release(&x);
    test_array_release(&dx);
    test_array_release(&y);
    test_array_release(&dy);
    test_rotary_release(&c);
}
END_TEST

// ---- every variant ----

static void check(void *user, const husk_ref_array *dx, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_rotary_function(user);
    husk_ref_check(&function, 1, dx, report);
}

static husk_status call(const test_rotary *c, const char *variant, const test_tensor *dy, const test_tensor *dx)
{
    husk_rotary_params params = c->params;
    params.variant = variant;
    return husk_rotary_backward(test_queue(), &params, test_rotary_tensor(c, &c->positions),
                                test_rotary_tensor(c, &c->cosines), test_rotary_tensor(c, &c->sines), &dy->tensor,
                                &dx->tensor);
}

static void run_all(const test_rotary *c, test_tensor *dy, test_tensor *dx)
{
    husk_ref_rotary op = test_rotary_reference(c, dy == dx ? &dx->before : &dy->array);
    op.is_gradient = true;
    op.before = &dx->before;
    for (int v = 0; v < VARIANTS; v++) {
        test_restore(dx);
        if (!test_ran(call(c, variants[v], dy, dx), name, variants[v]))
            continue;
        test_fetch(dx);
        husk_ref_report report = {0};
        check(&op, &dx->array, &report);
        test_accept(name, variants[v], c->text, &report);
    }
}

// In the tier "dtypes" f16 and bf16 in turns; here every eighth is one of them. A quarter is in place, half is added.
START_TEST(options_and_layouts)
{
    husk_ref_random random = {.seed = 31 + (uint64_t)_i};
    const int64_t rounds = test_is_long() ? 100 : 30;
    const bool is_narrow = test_tier_is("dtypes");
    for (int64_t round = 0; round < rounds; round++) {
        const husk_dtype dtype = is_narrow        ? test_dtype(round)
                                 : round % 8 != 7 ? HUSK_F32
                                 : round % 2      ? HUSK_F16
                                                  : HUSK_BF16;
        test_rotary c = test_rotary_draw(&random, dtype, (uint64_t)round);
        const bool adds = test_one_in(&random, 2);
        c.params.accumulate = adds ? HUSK_ACCUMULATE_INPUTS : HUSK_ACCUMULATE_PARAMETERS;
        if (test_one_in(&random, 4)) {
            test_tensor dx = test_inout_of(dtype, 4, c.shape, c.layout, (uint64_t)round + 50, 4.0f);
            run_all(&c, &dx, &dx);
            test_release(&dx);
        } else {
            const test_layout layout = test_one_in(&random, 2) ? c.layout : test_pick_layout(&random);
            test_tensor dy = test_input_of(dtype, 4, c.shape, c.layout, (uint64_t)round + 50, 4.0f);
            test_tensor dx = adds ? test_inout_of(dtype, 4, c.shape, layout, (uint64_t)round + 60, 2.0f)
                                  : test_output(dtype, 4, c.shape, layout);
            run_all(&c, &dy, &dx);
            test_release(&dy);
            test_release(&dx);
        }
        test_rotary_release(&c);
    }
}
END_TEST

// Turned and turned back: x, but for rounding.
START_TEST(forward_undone)
{
    test_rotary c = {.params = HUSK_ROTARY_PARAMS(.first_position = 77, .interleaved = (uint32_t)_i),
                     .shape = {2, 3, 50, 66}};
    test_tensor x = test_input(4, c.shape, TEST_PACKED, 1, 1.0f);
    test_tensor y = test_output(HUSK_F32, 4, c.shape, TEST_PACKED);
    test_ok(husk_rotary(test_queue(), &c.params, &x.tensor, NULL, NULL, NULL, &y.tensor));
    test_ok(husk_rotary_backward(test_queue(), &c.params, NULL, NULL, NULL, &y.tensor, &y.tensor));
    test_fetch(&y);
    for (int64_t i = 0; i < husk_ref_array_count(&x.array); i++)
        ck_assert(fabs(husk_ref_load(&x.array, i) - husk_ref_load(&y.array, i)) < 1e-6);
    test_release(&x);
    test_release(&y);
}
END_TEST

START_TEST(the_same_bits)
{
    test_rotary c = {.params = HUSK_ROTARY_PARAMS(.first_position = 5, .accumulate = HUSK_ACCUMULATE_INPUTS),
                     .shape = {2, 7, 150, 66}};
    test_tensor dy = test_input(4, c.shape, TEST_PACKED, 21, 2.0f);
    test_tensor dx = test_inout(4, c.shape, TEST_PADDED, 22, 2.0f);
    const size_t bytes = (size_t)dx.words * sizeof(uint32_t);
    uint32_t *first = malloc(bytes);
    ck_assert_ptr_nonnull(first);
    for (int run = 0; run < 10; run++) {
        test_restore(&dx);
        test_ok(call(&c, NULL, &dy, &dx));
        test_fetch(&dx);
        if (run == 0)
            memcpy(first, dx.current, bytes);
        ck_assert_msg(memcmp(first, dx.current, bytes) == 0, "run %d has other bits", run);
    }
    free(first);
    test_release(&dy);
    test_release(&dx);
}
END_TEST

START_TEST(nothing)
{
    static const int64_t shapes[][4] = {{0, 2, 3, 4}, {1, 0, 3, 4}, {1, 2, 0, 4}, {1, 2, 3, 0}};
    test_rotary c = {.params = HUSK_ROTARY_PARAMS(0)};
    memcpy(c.shape, shapes[_i], sizeof c.shape);
    test_tensor dy = test_input(4, c.shape, TEST_PACKED, 1, 1.0f);
    test_tensor dx = test_output(HUSK_F32, 4, c.shape, TEST_PACKED);
    for (int v = 0; v < VARIANTS; v++) {
        test_ran(call(&c, variants[v], &dy, &dx), name, variants[v]);
        test_untouched(&dx);
    }
    test_release(&dy);
    test_release(&dx);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    test_rotary c = {.params = HUSK_ROTARY_PARAMS(.first_position = 1), .shape = {1, 2, 5, 20}};
    test_tensor dy = test_input(4, c.shape, TEST_PACKED, 1, 1.0f);
    test_tensor dx = test_output(HUSK_F32, 4, c.shape, TEST_PADDED);
    test_ok(call(&c, NULL, &dy, &dx));
    test_fetch(&dx);
    husk_ref_rotary op = test_rotary_reference(&c, &dy.array);
    op.is_gradient = true;
    husk_ref_function function = husk_ref_rotary_function(&op);
    test_planted(&function, &dx.array, check, &op);
    test_planted_guards(&dx);
    test_release(&dy);
    test_release(&dx);
}
END_TEST

// What is refused forward is refused here by the same code; the names are others.
START_TEST(bad_input)
{
    const int64_t shape[] = {2, 3, 4, 6}, table[] = {9, 3}, positions_shape[] = {2, 4};
    husk_rotary_params params = HUSK_ROTARY_PARAMS(0);
    test_tensor g = test_input(4, shape, TEST_PACKED, 1, 1.0f), o = test_output(HUSK_F32, 4, shape, TEST_PACKED);
    test_tensor t = test_input(2, table, TEST_PACKED, 1, 1.0f);
    test_tensor p = test_input_of(HUSK_I32, 2, positions_shape, TEST_PACKED, 1, 1.0f);
    const husk_tensor *dy = &g.tensor, *dx = &o.tensor;
    husk_tensor bad = *dy;
    bad.rank = 3;
#define REFUSED(status, argument, ...) \
    test_refused(husk_rotary_backward(test_silent_queue(), &params, __VA_ARGS__), HUSK_##status, argument)
    REFUSED(INVALID_ARGUMENT, "dy", NULL, NULL, NULL, NULL, dx);
    REFUSED(INVALID_ARGUMENT, "dx", NULL, NULL, NULL, dy, NULL);
    REFUSED(INVALID_ARGUMENT, "dy", NULL, NULL, NULL, &bad, dx);
    REFUSED(INVALID_ARGUMENT, "dx", NULL, NULL, NULL, dy, &bad);
    REFUSED(UNSUPPORTED, "positions", &t.tensor, NULL, NULL, dy, dx);
    REFUSED(INVALID_ARGUMENT, "sines", NULL, &t.tensor, NULL, dy, dx);
    REFUSED(INVALID_ARGUMENT, "cosines", NULL, NULL, &t.tensor, dy, dx);
    REFUSED(UNSUPPORTED, "sines", NULL, &t.tensor, &p.tensor, dy, dx);
    bad = *dx;
    bad.offset += 1;
    bad.shape[0] = 1;
    husk_tensor part = *dx;
    part.shape[0] = 1;
    REFUSED(INVALID_ARGUMENT, "dx", NULL, NULL, NULL, &part, &bad);
    params.accumulate = 8;
    REFUSED(INVALID_ARGUMENT, "accumulate", NULL, NULL, NULL, dy, dx);
    params = HUSK_ROTARY_PARAMS(.rotary_dimension = 5);
    REFUSED(INVALID_ARGUMENT, "rotary_dimension", NULL, NULL, NULL, dy, dx);
    ck_assert_int_eq(husk_rotary_backward(NULL, NULL, NULL, NULL, NULL, dy, dx), HUSK_INVALID_ARGUMENT);
    test_untouched(&o);
    test_release_all();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rotary_backward");
    TCase *tests = tcase_create("rotary_backward");
    tcase_add_loop_test(tests, options_and_layouts, 0, 4);
    suite_add_tcase(suite, tests);
    if (test_tier_is("dtypes"))
        return test_main(suite);
    tcase_add_loop_test(tests, differences, 0, 28);
    tcase_add_loop_test(tests, forward_undone, 0, 2);
    tcase_add_test(tests, the_same_bits);
    tcase_add_loop_test(tests, nothing, 0, 4);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_input);
    return test_main(suite);
}
