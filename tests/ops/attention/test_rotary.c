// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=60
// Rotary position embedding: every variant, layout and source of angles against the reference; bad input.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/rotary_case.h"

static const char *const variants[] = {NULL, "vector", "grid:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };
static const char name[] = "rotary";

static void check(void *user, const husk_ref_array *y, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_rotary_function(user);
    husk_ref_check(&function, 1, y, report);
}

static husk_status call(const test_rotary *c, const char *variant, const test_tensor *x, const test_tensor *y)
{
    husk_rotary_params params = c->params;
    params.variant = variant;
    return husk_rotary(test_queue(), &params, &x->tensor, test_rotary_tensor(c, &c->positions),
                       test_rotary_tensor(c, &c->cosines), test_rotary_tensor(c, &c->sines), &y->tensor);
}

static void run_all(const test_rotary *c, test_tensor *x, test_tensor *y)
{
    husk_ref_rotary op = test_rotary_reference(c, x == y ? &y->before : &x->array);
    for (int v = 0; v < VARIANTS; v++) {
        test_restore(y);
        if (!test_ran(call(c, variants[v], x, y), name, variants[v]))
            continue;
        test_fetch(y);
        husk_ref_report report = {0};
        check(&op, &y->array, &report);
        test_accept(name, variants[v], c->text, &report);
    }
}

// In the tier "dtypes" the other dtypes in turns; here every eighth is one of them. A quarter is in place.
START_TEST(options_and_layouts)
{
    husk_ref_random random = {.seed = 11 + (uint64_t)_i};
    const int64_t rounds = test_is_long() ? 100 : 30;
    const bool is_narrow = test_tier_is("dtypes");
    for (int64_t round = 0; round < rounds; round++) {
        const husk_dtype dtype = is_narrow        ? test_dtype(round)
                                 : round % 8 != 7 ? HUSK_F32
                                 : round % 2      ? HUSK_F16
                                                  : HUSK_BF16;
        test_rotary c = test_rotary_draw(&random, dtype, (uint64_t)round);
        if (test_one_in(&random, 4)) {
            test_tensor y = test_inout_of(dtype, 4, c.shape, c.layout, (uint64_t)round + 50, 4.0f);
            run_all(&c, &y, &y);
            test_release(&y);
        } else {
            test_tensor x = test_input_of(dtype, 4, c.shape, c.layout, (uint64_t)round + 50, 4.0f);
            test_tensor y =
                test_output(dtype, 4, c.shape, test_one_in(&random, 2) ? c.layout : test_pick_layout(&random));
            run_all(&c, &x, &y);
            test_release(&x);
            test_release(&y);
        }
        test_rotary_release(&c);
    }
}
END_TEST

// Several work-groups; one token of a long cache.
START_TEST(large)
{
    static const int64_t shapes[][4] = {{2, 12, 700, 64}, {1, 32, 1, 128}};
    test_rotary c = {.params = HUSK_ROTARY_PARAMS(.first_position = 131071), .text = "large"};
    memcpy(c.shape, shapes[_i], sizeof c.shape);
    test_tensor x = test_input(4, c.shape, TEST_PACKED, 1, 1.0f);
    test_tensor y = test_output(HUSK_F32, 4, c.shape, TEST_PACKED);
    run_all(&c, &x, &y);
    test_release(&x);
    test_release(&y);
}
END_TEST

// The scores of a rotated query and key depend on how far apart they are alone, however far from the start.
START_TEST(only_distances_count)
{
    const int64_t shape[] = {1, 1, 2, 64};
    float q[64], k[64];
    test_tensor x = test_input(4, shape, TEST_PACKED, 3, 1.0f);
    test_tensor y = test_output(HUSK_F32, 4, shape, TEST_PACKED);
    double first = 0;
    for (int round = 0; round < 3; round++) {
        static const int64_t starts[] = {0, 12345, 1000000000};
        const husk_rotary_params params = HUSK_ROTARY_PARAMS(.first_position = starts[round]);
        test_ok(husk_rotary(test_queue(), &params, &x.tensor, NULL, NULL, NULL, &y.tensor));
        test_fetch(&y);
        double score = 0, size = 0;
        for (int i = 0; i < 64; i++) {
            q[i] = (float)husk_ref_load(&y.array, i);
            k[i] = (float)husk_ref_load(&y.array, 64 + i);
            score += (double)q[i] * (double)k[i];
            size += fabs((double)q[i] * (double)k[i]);
        }
        if (round == 0)
            first = score;
        ck_assert_msg(fabs(score - first) <= 1e-6 * size + 1e-6, "at %lld the score is %g, not %g",
                      (long long)starts[round], score, first);
        test_restore(&y);
    }
    test_release(&x);
    test_release(&y);
}
END_TEST

START_TEST(special_values)
{
    static const float specials[] = {NAN, INFINITY, -INFINITY, 3e38f, 1e-40f, -0.0f};
    test_rotary c = {.params = HUSK_ROTARY_PARAMS(.first_position = 3), .shape = {1, 2, 6, 34}, .text = "special"};
    test_tensor x = test_input(4, c.shape, TEST_PACKED, 4, 1.0f);
    test_tensor y = test_output(HUSK_F32, 4, c.shape, TEST_PACKED);
    for (int i = 0; i < 6; i++)
        ((float *)x.array.data)[i * 34 + 5 + i] = specials[i];
    test_input_update(&x);
    run_all(&c, &x, &y);
    test_release(&x);
    test_release(&y);
}
END_TEST

START_TEST(nothing)
{
    static const int64_t shapes[][4] = {{0, 2, 3, 4}, {1, 0, 3, 4}, {1, 2, 0, 4}, {1, 2, 3, 0}};
    test_rotary c = {.params = HUSK_ROTARY_PARAMS(0)};
    memcpy(c.shape, shapes[_i], sizeof c.shape);
    test_tensor x = test_input(4, c.shape, TEST_PACKED, 1, 1.0f);
    test_tensor y = test_output(HUSK_F32, 4, c.shape, TEST_PACKED);
    for (int v = 0; v < VARIANTS; v++) {
        test_ran(call(&c, variants[v], &x, &y), name, variants[v]);
        test_untouched(&y);
    }
    test_release(&x);
    test_release(&y);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    test_rotary c = {.params = HUSK_ROTARY_PARAMS(.first_position = 1), .shape = {1, 2, 5, 20}};
    test_tensor x = test_input(4, c.shape, TEST_PACKED, 1, 1.0f);
    test_tensor y = test_output(HUSK_F32, 4, c.shape, TEST_PADDED);
    test_ok(call(&c, NULL, &x, &y));
    test_fetch(&y);
    husk_ref_rotary op = test_rotary_reference(&c, &x.array);
    husk_ref_function function = husk_ref_rotary_function(&op);
    test_planted(&function, &y.array, check, &op);
    test_planted_guards(&y);
    test_release(&x);
    test_release(&y);
}
END_TEST

// ---- bad input ----

typedef struct given {
    husk_rotary_params params;
    husk_tensor x, positions, cosines, sines, y;
    const husk_tensor *x_or, *positions_or, *cosines_or, *sines_or, *y_or; // what is passed
} given;

static void refuse(husk_status wanted, const char *argument, const given *g)
{
    test_refused(
        husk_rotary(test_silent_queue(), &g->params, g->x_or, g->positions_or, g->cosines_or, g->sines_or, g->y_or),
        wanted, argument);
}

START_TEST(bad_input)
{
    const int64_t shape[] = {2, 3, 4, 6}, odd[] = {2, 3, 4, 5}, positions_shape[] = {2, 4}, table[] = {9, 3};
    test_tensor x = test_input(4, shape, TEST_PACKED, 1, 1.0f), y = test_output(HUSK_F32, 4, shape, TEST_PACKED);
    test_tensor x5 = test_input(4, odd, TEST_PACKED, 1, 1.0f), half = test_output(HUSK_F16, 4, shape, TEST_PACKED);
    test_tensor p = test_input_of(HUSK_I32, 2, positions_shape, TEST_PACKED, 1, 1.0f);
    test_tensor t = test_input(2, table, TEST_PACKED, 1, 1.0f);
#define FRESH() \
    g = (given){HUSK_ROTARY_PARAMS(0), x.tensor, p.tensor, t.tensor, t.tensor, y.tensor, \
                &g.x, &g.positions, &g.cosines, &g.sines, &g.y}
#define REFUSED(status, argument, ...) \
    do { \
        given g; \
        FRESH(); \
        __VA_ARGS__; \
        refuse(HUSK_##status, argument, &g); \
    } while (0)
    REFUSED(INVALID_ARGUMENT, "x", g.x_or = NULL);
    REFUSED(INVALID_ARGUMENT, "y", g.y_or = NULL);
    REFUSED(INVALID_ARGUMENT, "sines", g.sines_or = NULL);
    REFUSED(INVALID_ARGUMENT, "cosines", g.cosines_or = NULL);
    REFUSED(UNSUPPORTED, "x", g.x = p.tensor);
    REFUSED(INVALID_ARGUMENT, "x", g.x.rank = 3);
    REFUSED(INVALID_ARGUMENT, "x", g.x = x5.tensor);
    REFUSED(INVALID_ARGUMENT, "x", g.x.offset += 4);
    REFUSED(UNSUPPORTED, "positions", g.positions = t.tensor);
    REFUSED(INVALID_ARGUMENT, "positions", g.positions.shape[0] = 1);
    REFUSED(INVALID_ARGUMENT, "positions", g.positions.rank = 1);
    REFUSED(INVALID_ARGUMENT, "positions", g.positions.offset += 1);
    REFUSED(UNSUPPORTED, "cosines", g.cosines = half.tensor);
    REFUSED(INVALID_ARGUMENT, "cosines", g.cosines.shape[1] = 2);
    REFUSED(INVALID_ARGUMENT, "sines", g.sines.shape[0] = 8);
    REFUSED(INVALID_ARGUMENT, "sines", g.sines.buffer = NULL);
    REFUSED(UNSUPPORTED, "y", g.y = half.tensor);
    REFUSED(INVALID_ARGUMENT, "y", g.y.shape[2] = 3);
    REFUSED(INVALID_ARGUMENT, "y", g.y.strides[0] = 6; g.y.strides[3] = 1);
    REFUSED(INVALID_ARGUMENT, "y", g.x = y.tensor; g.y.offset += 2; g.y.shape[0] = g.x.shape[0] = 1;
            g.positions_or = NULL);
    REFUSED(INVALID_ARGUMENT, "y", g.cosines = y.tensor; g.cosines.rank = 2; g.cosines.shape[0] = 9;
            g.cosines.shape[1] = 3);
    REFUSED(INVALID_ARGUMENT, "interleaved", g.params.interleaved = 2);
    REFUSED(INVALID_ARGUMENT, "base", g.params.base = 1.0f);
    REFUSED(INVALID_ARGUMENT, "base", g.params.base = -2.0f);
    REFUSED(INVALID_ARGUMENT, "base", g.params.base = NAN);
    REFUSED(INVALID_ARGUMENT, "base", g.params.base = INFINITY);
    REFUSED(INVALID_ARGUMENT, "rotary_dimension", g.params.rotary_dimension = 3);
    REFUSED(INVALID_ARGUMENT, "rotary_dimension", g.params.rotary_dimension = 8);
    REFUSED(INVALID_ARGUMENT, "rotary_dimension", g.params.rotary_dimension = -2);
    REFUSED(INVALID_ARGUMENT, "accumulate", g.params.accumulate = 4);
    REFUSED(INVALID_ARGUMENT, "vectorr", g.params.variant = "vectorr");
    REFUSED(INVALID_ARGUMENT, "params", g.params.size += 8);
    ck_assert_int_eq(husk_rotary(NULL, NULL, &x.tensor, NULL, NULL, NULL, &y.tensor), HUSK_INVALID_ARGUMENT);
    test_untouched(&y);
    test_release_all();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rotary");
    TCase *tests = tcase_create("rotary");
    tcase_add_loop_test(tests, options_and_layouts, 0, 4);
    suite_add_tcase(suite, tests);
    if (test_tier_is("dtypes"))
        return test_main(suite);
    tcase_add_loop_test(tests, large, 0, 2);
    tcase_add_test(tests, only_distances_count);
    tcase_add_test(tests, special_values);
    tcase_add_loop_test(tests, nothing, 0, 4);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_input);
    return test_main(suite);
}
