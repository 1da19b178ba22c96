// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=60
// Gradients of activations: finite differences; every kind, variant and layout, from x and from y, against the
// reference; special values; the same bits every time; bad input.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ref/elementwise/activation.h"
#include "support/support.h"

static const char *const variants[] = {NULL, "vector", "grid:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]), KINDS = HUSK_ACT_TANH + 1 };
static const char name[] = "activation_backward";

static bool follows_from_y(const husk_activation_params *params)
{
    const husk_act act = params->activation;
    return act <= HUSK_ACT_RELU6 || act == HUSK_ACT_SIGMOID || act == HUSK_ACT_TANH;
}

// ---- the reference is the gradient ----

static void forward(void *op)
{
    husk_ref_activation_run(((husk_ref_activation **)op)[0], ((husk_ref_array **)op)[1]);
}

START_TEST(differences)
{
    const int64_t shape[] = {5, 7};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = (husk_act)_i);
        params.slope = seed == 2 ? 0.25f : 0.0f;
        husk_ref_array x = test_array(2, shape, seed, 8.0), dy = test_array(2, shape, seed + 9, 1.0);
        husk_ref_array y = test_array(2, shape, 0, 0.0), dx = test_array(2, shape, 0, 0.0);
        for (int64_t i = 0; i < 35; i++) { // away from the kinks at 0 and 6
            double *value = (double *)x.data + i;
            if (fabs(*value) < 1e-2 || fabs(*value - 6.0) < 1e-2)
                *value += 0.05;
        }
        husk_ref_activation op = {.params = &params, .x = &x};
        void *user[] = {&op, &y};
        forward(user);
        husk_ref_activation_backward backward = {.params = &params, .x = &x, .dy = &dy};
        husk_ref_activation_backward_run(&backward, &dx);
        test_differences("activation_backward from x", forward, user, &x, &y, &dy, &dx, seed);
        if (follows_from_y(&params)) {
            backward.y = &y;
            backward.x = NULL;
            husk_ref_activation_backward_run(&backward, &dx);
            test_differences("activation_backward from y", forward, user, &x, &y, &dy, &dx, seed);
        }
        test_array_release(&x);
        test_array_release(&y);
        test_array_release(&dy);
        test_array_release(&dx);
    }
}
END_TEST

// ---- every variant ----

static void check(void *user, const husk_ref_array *dx, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_activation_backward_function(user);
    husk_ref_check(&function, 1, dx, report);
}

typedef struct tensors {
    test_tensor x, y, dy, dx;
} tensors;

// y is what forward makes of x, as the dtype holds it.
static tensors make_of(husk_dtype dtype, const husk_activation_params *params, int32_t rank, const int64_t *shape,
                       const test_layout layouts[4], uint64_t seed)
{
    tensors t = {.x = test_input_of(dtype, rank, shape, layouts[0], seed, 8.0f),
                 .y = test_input_of(dtype, rank, shape, layouts[1], seed, 8.0f),
                 .dy = test_input_of(dtype, rank, shape, layouts[2], seed + 1, 2.0f),
                 .dx = test_inout_of(dtype, rank, shape, layouts[3], seed + 2, 2.0f)};
    husk_ref_activation op = {.params = params, .x = &t.x.array};
    husk_ref_activation_run(&op, &t.y.array);
    test_input_update(&t.y);
    return t;
}

static tensors make(const husk_activation_params *params, int32_t rank, const int64_t *shape,
                    const test_layout layouts[4], uint64_t seed)
{
    return make_of(HUSK_F32, params, rank, shape, layouts, seed);
}

static void release(tensors *t)
{
    test_release(&t->x);
    test_release(&t->y);
    test_release(&t->dy);
    test_release(&t->dx);
}

static void run_all(const husk_activation_params *wanted, tensors *t, bool with_x, bool with_y)
{
    husk_activation_params params = *wanted;
    const husk_ref_activation_backward op = {.params = &params,
                                             .x = with_x ? &t->x.array : NULL,
                                             .y = with_y ? &t->y.array : NULL,
                                             .dy = &t->dy.array,
                                             .before = &t->dx.before};
    char text[160];
    snprintf(text, sizeof(text), "%s%s%s rank=%d", husk_act_name(params.activation), with_y ? " y" : "",
             params.accumulate ? " accumulate" : "", (int)t->dx.array.rank);
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_restore(&t->dx);
        if (!test_ran(husk_activation_backward(test_queue(), &params, with_x ? &t->x.tensor : NULL,
                                               with_y ? &t->y.tensor : NULL, &t->dy.tensor, &t->dx.tensor),
                      name, variants[v]))
            continue;
        test_fetch(&t->dx);
        husk_ref_report report = {0};
        check((void *)&op, &t->dx.array, &report);
        test_accept(name, variants[v], text, &report);
    }
}

// In the tier "dtypes" the others in turns.
START_TEST(kinds_and_layouts)
{
    husk_ref_random random = {.seed = 31 + (uint64_t)_i};
    const int64_t rounds = test_is_long() ? 60 : 14;
    const bool is_narrow = test_tier_is("dtypes");
    for (int64_t round = 0; round < rounds; round++) {
        int64_t shape[HUSK_MAX_RANK];
        const int32_t rank = (int32_t)TEST_PICK(&random, 1, 1, 2, 3, 4, 5, 8);
        for (int32_t d = 0; d < rank; d++)
            shape[d] = d + 1 < rank ? test_pick_size(&random, 4, rank > 4 ? 3 : 9)
                                    : test_pick_size(&random, 64, rank == 1 ? 5000 : 150);
        husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = (husk_act)_i);
        if (test_one_in(&random, 2))
            params.slope = 0.25f;
        if (test_one_in(&random, 3))
            params.accumulate = HUSK_ACCUMULATE_INPUTS;
        const test_layout one = test_pick_layout(&random);
        const bool is_alike = test_one_in(&random, 2);
        test_layout layouts[4];
        for (int i = 0; i < 4; i++)
            layouts[i] = is_alike ? one : test_pick_layout(&random);
        const husk_dtype dtype = is_narrow ? test_dtype(round) : HUSK_F32;
        tensors t = make_of(dtype, &params, rank, shape, layouts, (uint64_t)round);
        const bool with_y = follows_from_y(&params) && test_one_in(&random, 2);
        run_all(&params, &t, !with_y || test_one_in(&random, 2), with_y);
        release(&t);
    }
}
END_TEST

// Shares of work-groups and tails of vectors end somewhere: sizes around them.
START_TEST(sizes_around_the_shares)
{
    static const int64_t sizes[] = {1, 15, 16, 17, 63, 64, 65, 255, 257, 16384, 16385, 65536, 65537, 300007};
    static const test_layout packed[4];
    const int64_t shape[] = {sizes[_i]};
    husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = _i % 2 ? HUSK_ACT_SILU : HUSK_ACT_RELU);
    tensors t = make(&params, 1, shape, packed, 3);
    run_all(&params, &t, true, false);
    release(&t);
}
END_TEST

// Larger than the caches of most machines: stored past them.
START_TEST(large)
{
    static const test_layout packed[4];
    const int64_t shape[] = {3, 3000017};
    husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_RELU);
    tensors t = make(&params, 2, shape, packed, 3);
    run_all(&params, &t, true, false);
    release(&t);
}
END_TEST

START_TEST(in_place)
{
    static const test_layout layouts[] = {TEST_PACKED, TEST_PADDED, TEST_SPREAD, TEST_REVERSED};
    const int64_t shape[] = {5, 37, 11};
    for (int v = 0; v < VARIANTS; v++) {
        for (int l = 0; l < 8; l++) {
            husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = (husk_act)_i, .variant = variants[v]);
            const bool is_dy = l % 2; // dx is dy, or x
            test_tensor dx = test_inout(3, shape, layouts[l / 2], 5, 6.0f);
            test_tensor other = test_input(3, shape, TEST_PACKED, 6, 6.0f);
            husk_ref_activation_backward op = {
                .params = &params, .x = is_dy ? &other.array : &dx.before, .dy = is_dy ? &dx.before : &other.array};
            const husk_tensor *x = is_dy ? &other.tensor : &dx.tensor, *dy = is_dy ? &dx.tensor : &other.tensor;
            if (test_ran(husk_activation_backward(test_queue(), &params, x, NULL, dy, &dx.tensor), name, variants[v])) {
                test_fetch(&dx);
                husk_ref_report report = {0};
                check(&op, &dx.array, &report);
                test_accept(name, variants[v], "in place", &report);
            }
            test_release(&dx);
            test_release(&other);
        }
    }
}
END_TEST

START_TEST(special_values)
{
    static const double values[] = {NAN,    INFINITY, -INFINITY, 0.0,  -0.0,  1e30,  -1e30,  3.4e38, -3.4e38, 87.0,
                                    -87.0,  88.0,     -88.0,     88.5, -88.5, 89.0,  -89.0,  104.0,  -104.0,  1e-30,
                                    -1e-30, 31.0,     -31.0,     33.0, -33.0, 127.0, -129.0, 9.0,    -9.0,    3.92,
                                    -3.92,  6.0,      5.5,       13.0, -13.0, 1e-3,  -1e-3};
    enum { COUNT = sizeof(values) / sizeof(values[0]) };
    static const test_layout layouts[4] = {TEST_PADDED, TEST_PACKED, TEST_PACKED, TEST_PACKED};
    const int64_t shape[] = {3, COUNT};
    husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = (husk_act)_i);
    tensors t = make(&params, 2, shape, layouts, 7);
    for (int64_t i = 0; i < 3 * COUNT; i++) {
        const int64_t index[] = {i / COUNT, i % COUNT};
        husk_ref_store(&t.x.array, husk_ref_offset(&t.x.array, index), values[i % COUNT]);
        if (i % 17 == 16) // NaN is passed on, or cut off; so is infinity where derivatives are 0 or 1
            husk_ref_store(&t.dy.array, husk_ref_offset(&t.dy.array, index),
                           i % 2 || params.activation >= HUSK_ACT_GELU ? NAN : INFINITY);
    }
    test_input_update(&t.x);
    test_input_update(&t.dy);
    run_all(&params, &t, true, false);
    if (follows_from_y(&params)) {
        husk_ref_activation op = {.params = &params, .x = &t.x.array};
        husk_ref_activation_run(&op, &t.y.array);
        test_input_update(&t.y);
        run_all(&params, &t, false, true);
    }
    release(&t);
}
END_TEST

START_TEST(scalar_and_nothing)
{
    static const test_layout packed[4];
    static const int64_t empty[][2] = {{0, 7}, {7, 0}, {0, 0}};
    husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_TANH);
    tensors t = make(&params, 0, empty[0], packed, 9);
    run_all(&params, &t, true, false);
    release(&t);
    for (int i = 0; i < 3; i++) {
        for (int v = 0; v < VARIANTS; v++) {
            params.variant = variants[v];
            t = make(&params, 2, empty[i], packed, 9);
            test_ran(husk_activation_backward(test_queue(), &params, &t.x.tensor, NULL, &t.dy.tensor, &t.dx.tensor),
                     name, variants[v]);
            test_untouched(&t.dx);
            release(&t);
        }
    }
}
END_TEST

START_TEST(the_same_bits)
{
    static const test_layout layouts[4] = {TEST_PACKED, TEST_PACKED, TEST_PACKED, TEST_PADDED};
    const int64_t shape[] = {40, 1003};
    husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_GELU);
    tensors t = make(&params, 2, shape, layouts, 21);
    const size_t bytes = (size_t)t.dx.words * sizeof(uint32_t);
    uint32_t *first = malloc(bytes);
    ck_assert_ptr_nonnull(first);
    for (int run = 0; run < 10; run++) {
        test_restore(&t.dx);
        test_ok(husk_activation_backward(test_queue(), &params, &t.x.tensor, NULL, &t.dy.tensor, &t.dx.tensor));
        test_fetch(&t.dx);
        if (run == 0)
            memcpy(first, t.dx.current, bytes);
        ck_assert_msg(memcmp(first, t.dx.current, bytes) == 0, "run %d has other bits", run);
    }
    free(first);
    release(&t);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    static const test_layout layouts[4] = {TEST_PACKED, TEST_PACKED, TEST_PACKED, TEST_PADDED};
    const int64_t shape[] = {6, 50};
    husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_GELU);
    tensors t = make(&params, 2, shape, layouts, 15);
    test_ok(husk_activation_backward(test_queue(), &params, &t.x.tensor, NULL, &t.dy.tensor, &t.dx.tensor));
    test_fetch(&t.dx);
    husk_ref_activation_backward op = {.params = &params, .x = &t.x.array, .dy = &t.dy.array};
    husk_ref_function function = husk_ref_activation_backward_function(&op);
    test_planted(&function, &t.dx.array, check, &op);
    test_planted_guards(&t.dx);
    release(&t);
}
END_TEST

// ---- bad input ----

static void refuse(husk_status wanted, const char *argument, const husk_activation_params *params, const husk_tensor *x,
                   const husk_tensor *y, const husk_tensor *dy, const husk_tensor *dx)
{
    test_refused(husk_activation_backward(test_silent_queue(), params, x, y, dy, dx), wanted, argument);
}

START_TEST(bad_params)
{
    static const test_layout packed[4];
    const int64_t shape[] = {4, 6};
    husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_RELU);
    tensors t = make(&params, 2, shape, packed, 17);
    const husk_tensor *x = &t.x.tensor, *y = &t.y.tensor, *dy = &t.dy.tensor, *dx = &t.dx.tensor;
    params.activation = (husk_act)9;
    refuse(HUSK_INVALID_ARGUMENT, "activation", &params, x, y, dy, dx);
    params = HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_LEAKY_RELU, .slope = NAN);
    refuse(HUSK_INVALID_ARGUMENT, "slope", &params, x, y, dy, dx);
    params = HUSK_ACTIVATION_PARAMS(.accumulate = 4);
    refuse(HUSK_INVALID_ARGUMENT, "accumulate", &params, x, y, dy, dx);
    params = HUSK_ACTIVATION_PARAMS(.variant = "gridd");
    refuse(HUSK_INVALID_ARGUMENT, "gridd", &params, x, y, dy, dx);
    params = HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_GELU); // does not follow from y
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, NULL, y, dy, dx);
    params = HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_LEAKY_RELU, .slope = -0.5f);
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, NULL, y, dy, dx);
    params = HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_RELU);
    params.size = sizeof(params) + 8;
    refuse(HUSK_INVALID_ARGUMENT, "params", &params, x, y, dy, dx);
    ck_assert_int_eq(husk_activation_backward(NULL, NULL, x, y, dy, dx), HUSK_INVALID_ARGUMENT);
    test_untouched(&t.dx);
    release(&t);
}
END_TEST

START_TEST(bad_tensors)
{
    static const test_layout packed[4];
    const int64_t shape[] = {4, 6}, other[] = {6, 4};
    const husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_RELU);
    tensors t = make(&params, 2, shape, packed, 19);
    const husk_tensor *x = &t.x.tensor, *y = &t.y.tensor, *dy = &t.dy.tensor, *dx = &t.dx.tensor;
    test_tensor turned = test_input(2, other, TEST_PACKED, 1, 1.0f);
    test_tensor whole = test_output(HUSK_I32, 2, shape, TEST_PACKED);
    test_tensor half = test_output(HUSK_F16, 2, shape, TEST_PACKED);
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, NULL, NULL, dy, dx);
    refuse(HUSK_INVALID_ARGUMENT, "dy", &params, x, y, NULL, dx);
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, x, y, dy, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, &turned.tensor, y, dy, dx);
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, x, &turned.tensor, dy, dx);
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, x, y, dy, &turned.tensor);
    refuse(HUSK_UNSUPPORTED, "x", &params, &whole.tensor, y, dy, dx);
    refuse(HUSK_UNSUPPORTED, "y", &params, x, &whole.tensor, dy, dx);
    refuse(HUSK_UNSUPPORTED, "dy", &params, x, y, &whole.tensor, dx);
    refuse(HUSK_UNSUPPORTED, "x", &params, &half.tensor, y, dy, dx);
    refuse(HUSK_UNSUPPORTED, "dx", &params, x, y, dy, &whole.tensor);
    husk_tensor bad = *dy;
    bad.offset += 4; // its end is past the buffer's
    refuse(HUSK_INVALID_ARGUMENT, "dy", &params, x, y, &bad, dx);
    bad = *dx;
    bad.buffer = NULL;
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, x, y, dy, &bad);
    bad = *dx;
    bad.strides[0] = 3; // rows of 6 elements 3 apart
    bad.strides[1] = 1;
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, x, y, dy, &bad);
    bad = *dx;
    bad.offset += 2; // in place, but not quite
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, x, y, dx, &bad);
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, dx, y, dy, &bad);
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, x, dx, dy, &bad);
    test_untouched(&t.dx);
    release(&t);
    test_release(&turned);
    test_release(&whole);
    test_release(&half);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("activation_backward");
    TCase *tests = tcase_create("activation_backward");
    tcase_add_loop_test(tests, kinds_and_layouts, 0, KINDS);
    if (test_tier_is("dtypes")) {
        suite_add_tcase(suite, tests);
        return test_main(suite);
    }
    tcase_add_loop_test(tests, differences, 0, KINDS);
    tcase_add_loop_test(tests, sizes_around_the_shares, 0, 14);
    tcase_add_test(tests, large);
    tcase_add_loop_test(tests, in_place, 0, KINDS);
    tcase_add_loop_test(tests, special_values, 0, KINDS);
    tcase_add_test(tests, scalar_and_nothing);
    tcase_add_test(tests, the_same_bits);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_params);
    tcase_add_test(tests, bad_tensors);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
