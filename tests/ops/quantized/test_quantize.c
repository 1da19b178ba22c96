// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=60
// Quantization: every variant, layout and channel against the reference; special values; bad input.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ref/quantized/quantize.h"
#include "support/support.h"

static const char *const variants[] = {NULL, "vector", "grid:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };
#define NAME "quantize"

static void check(void *user, const husk_ref_array *y, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_quantize_function(user);
    husk_ref_check(&function, 1, y, report);
}

// Any bytes, or numbers from low to low + 255.
static test_tensor make_bytes(husk_dtype dtype, int32_t rank, const int64_t *shape, test_layout layout, uint64_t seed)
{
    test_tensor made = test_input_of(dtype, rank, shape, layout, seed, 1.0f);
    husk_ref_random random = {.seed = seed};
    int64_t index[HUSK_MAX_RANK] = {0};
    if (husk_ref_array_count(&made.array) == 0)
        return made;
    do
        husk_ref_store(&made.array, husk_ref_offset(&made.array, index),
                       (double)(husk_ref_random_below(&random, 256) - (dtype == HUSK_I8 ? 128 : 0)));
    while (husk_ref_index_next(rank, shape, index));
    test_input_update(&made);
    return made;
}

// Between a 64th and a 16th; every third is a power of two.
static test_tensor make_scales(int32_t rank, const int64_t *shape, test_layout layout, uint64_t seed)
{
    test_tensor made = test_input(rank, shape, layout, seed, 1.0f);
    husk_ref_random random = {.seed = seed};
    for (int64_t i = 0; i < husk_ref_array_count(&made.array); i++)
        husk_ref_store(&made.array, rank == 0 ? 0 : i * made.array.strides[0],
                       i % 3 == 2 ? 0.03125 : (1 + 3 * (double)husk_ref_random_below(&random, 1000) / 1000) / 64);
    test_input_update(&made);
    return made;
}

static void run_all(const husk_quantize_params *wanted, test_tensor *x, test_tensor *scale, test_tensor *zero,
                    test_tensor *y)
{
    husk_quantize_params params = *wanted;
    husk_ref_quantize op = {.params = &params, .x = &x->array, .scale = &scale->array};
    op.zero = zero ? &zero->array : NULL;
    op.dtype = y->tensor.dtype;
    char text[300];
    size_t used = (size_t)snprintf(text, sizeof(text), "%s to %s axis %u of%s shape", husk_dtype_name(x->tensor.dtype),
                                   husk_dtype_name(y->tensor.dtype), (unsigned)params.axis, zero ? " zero," : "");
    for (int32_t d = 0; d < x->tensor.rank; d++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, " %lld", (long long)x->tensor.shape[d]);
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_restore(y);
        if (!test_ran(husk_quantize(test_queue(), &params, &x->tensor, &scale->tensor, zero ? &zero->tensor : NULL,
                                    &y->tensor),
                      NAME, variants[v]))
            continue;
        test_fetch(y);
        husk_ref_report report = {0};
        check(&op, &y->array, &report);
        test_accept(NAME, variants[v], text, &report);
    }
}

static test_tensor make_x(husk_dtype wide, husk_dtype byte, int32_t rank, const int64_t *shape, test_layout layout,
                          uint64_t seed)
{
    (void)byte;
    return test_input_of(wide, rank, shape, layout, seed, 4.0f);
}

static test_tensor make_y(husk_dtype wide, husk_dtype byte, int32_t rank, const int64_t *shape, test_layout layout)
{
    (void)wide;
    return test_output(byte, rank, shape, layout);
}

static void run_any(husk_dtype wide, husk_ref_random *random, uint64_t seed)
{
    const husk_dtype byte = test_one_in(random, 2) ? HUSK_I8 : HUSK_U8;
    const int32_t rank = (int32_t)TEST_PICK(random, 0, 1, 2, 2, 3, 3, 4, 4, 5, 8);
    int64_t shape[HUSK_MAX_RANK];
    for (int32_t d = 0; d < rank; d++)
        shape[d] = test_pick_size(random, 32, rank == 1 ? 5000 : rank == 2 ? 200 : rank < 5 ? 30 : 3);
    const bool has_channels = rank > 0 && !test_one_in(random, 3);
    const husk_quantize_params params =
        HUSK_QUANTIZE_PARAMS(.axis = has_channels ? (uint32_t)husk_ref_random_below(random, rank)
                                                  : (uint32_t)(seed % 2) * 99);
    const int64_t channels = has_channels ? shape[params.axis] : 1;
    const int32_t scale_rank = has_channels || test_one_in(random, 2) ? 1 : 0;
    const test_layout layout = test_pick_layout(random);
    test_tensor x = make_x(wide, byte, rank, shape, layout, seed);
    test_tensor y = make_y(wide, byte, rank, shape, test_one_in(random, 2) ? layout : test_pick_layout(random));
    test_tensor scale = make_scales(scale_rank, &channels, test_one_in(random, 3) ? TEST_SPREAD : TEST_PACKED, seed);
    test_tensor zero =
        make_bytes(byte, scale_rank, &channels, test_one_in(random, 3) ? TEST_SPREAD : TEST_PACKED, seed + 7);
    run_all(&params, &x, &scale, test_one_in(random, 3) ? NULL : &zero, &y);
    test_release(&x);
    test_release(&y);
    test_release(&scale);
    test_release(&zero);
}

// In the tier "dtypes" f16 and bf16 in turns; elsewhere one in eight is f16: few programs.
START_TEST(shapes_and_channels)
{
    husk_ref_random random = {.seed = 60 + (uint64_t)_i};
    const bool is_narrow = test_tier_is("dtypes");
    for (int64_t round = 0; round < (test_is_long() ? 40 : 10); round++) {
        const bool turns = is_narrow || (round + _i) % 8 == 0;
        run_any(!turns                   ? HUSK_F32
                : is_narrow && round % 2 ? HUSK_BF16
                                         : HUSK_F16,
                &random, (uint64_t)(round + 100 * _i));
    }
}
END_TEST

// Larger than a work-group's share, by rows, by channels in front and by channels last.
START_TEST(large)
{
    static const int64_t shapes[][3] = {{3, 64, 3137}, {1000, 300, 1}, {1, 1, 300007}};
    const int64_t *shape = shapes[_i];
    for (uint32_t axis = 0; axis < 3; axis++) {
        const husk_quantize_params params = HUSK_QUANTIZE_PARAMS(.axis = axis);
        test_tensor x = make_x(HUSK_F32, HUSK_I8, 3, shape, axis == 1 ? TEST_CHANNELS_LAST : TEST_PACKED, axis);
        test_tensor y = make_y(HUSK_F32, HUSK_I8, 3, shape, axis == 1 ? TEST_CHANNELS_LAST : TEST_PACKED);
        test_tensor scale = make_scales(1, &shape[axis], TEST_PACKED, 1);
        test_tensor zero = make_bytes(HUSK_I8, 1, &shape[axis], TEST_PACKED, 20);
        run_all(&params, &x, &scale, &zero, &y);
        test_release(&x);
        test_release(&y);
        test_release(&scale);
        test_release(&zero);
    }
}
END_TEST

// Ties, both ends of the range, what is past them, NaN and infinity, and scales that are no numbers.
START_TEST(special_values)
{
    static const double values[] = {0.5,      1.5,       2.5,  -0.5,  -1.5,  -2.5,  126.5, 127.5,
                                    128,      -128.5,    -129, 254.5, 255.5, 256,   1e30,  -1e30,
                                    INFINITY, -INFINITY, NAN,  0.0,   -0.0,  1e-30, 3.25,  100};
    static const double scales[] = {1.0, 0.5, 0.0, INFINITY, NAN, -1.0};
    const husk_dtype byte = _i % 2 ? HUSK_U8 : HUSK_I8;
    const int64_t shape[] = {6, 24};
    const husk_quantize_params params = HUSK_QUANTIZE_PARAMS(.axis = 0);
    test_tensor x = test_input(2, shape, _i / 2 % 2 ? TEST_PADDED : TEST_PACKED, 1, 1.0f);
    test_tensor zero = make_bytes(byte, 1, shape, TEST_PACKED, 2), scale = make_scales(1, shape, TEST_PACKED, 1);
    test_tensor y = test_output(byte, 2, shape, TEST_PACKED);
    for (int64_t i = 0; i < 6 * 24; i++)
        husk_ref_store(&x.array, i / 24 * x.array.strides[0] + i % 24, values[i % 24]);
    for (int i = 0; i < 6; i++)
        husk_ref_store(&scale.array, i, scales[i]);
    test_input_update(&x);
    test_input_update(&scale);
    run_all(&params, &x, &scale, _i / 4 ? &zero : NULL, &y);
    test_release_all();
}
END_TEST

START_TEST(nothing)
{
    static const int64_t shapes[][2] = {{0, 7}, {4, 0}};
    const int64_t one = 1;
    husk_quantize_params params = HUSK_QUANTIZE_PARAMS(.axis = 0);
    test_tensor x = make_x(HUSK_F32, HUSK_U8, 2, shapes[_i], TEST_PACKED, 1);
    test_tensor scale = make_scales(1, &one, TEST_PACKED, 1);
    test_tensor y = make_y(HUSK_F32, HUSK_U8, 2, shapes[_i], TEST_PACKED);
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_ran(husk_quantize(test_queue(), &params, &x.tensor, &scale.tensor, NULL, &y.tensor), NAME, variants[v]);
        test_untouched(&y);
    }
    test_release_all();
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    const int64_t shape[] = {6, 20};
    const husk_quantize_params params = HUSK_QUANTIZE_PARAMS(.axis = 1);
    test_tensor x = make_x(HUSK_F32, HUSK_U8, 2, shape, TEST_PACKED, 5);
    test_tensor scale = make_scales(1, shape + 1, TEST_PACKED, 1);
    test_tensor y = make_y(HUSK_F32, HUSK_U8, 2, shape, TEST_PADDED);
    test_ok(husk_quantize(test_queue(), &params, &x.tensor, &scale.tensor, NULL, &y.tensor));
    test_fetch(&y);
    husk_ref_quantize op = {.params = &params, .x = &x.array, .scale = &scale.array, .dtype = HUSK_U8};
    husk_ref_function function = husk_ref_quantize_function(&op);
    test_planted(&function, &y.array, check, &op);
    test_planted_guards(&y);
    test_release_all();
}
END_TEST

// ---- bad input ----

static void refuse(husk_status wanted, const char *argument, const husk_quantize_params *params, const husk_tensor *x,
                   const husk_tensor *scale, const husk_tensor *zero, const husk_tensor *y)
{
    test_refused(husk_quantize(test_silent_queue(), params, x, scale, zero, y), wanted, argument);
}

START_TEST(bad_input)
{
    const int64_t shape[] = {4, 6}, other[] = {6, 4};
    husk_quantize_params params = HUSK_QUANTIZE_PARAMS(.axis = 0);
    test_tensor own_x = make_x(HUSK_F32, HUSK_I8, 2, shape, TEST_PACKED, 1);
    test_tensor own_scale = make_scales(1, shape, TEST_PACKED, 1), six = make_scales(1, other, TEST_PACKED, 1);
    test_tensor own_zero = make_bytes(HUSK_I8, 1, shape, TEST_PACKED, 1);
    test_tensor unsigned_zero = make_bytes(HUSK_U8, 1, shape, TEST_PACKED, 1);
    test_tensor whole = test_output(HUSK_I32, 2, shape, TEST_PACKED);
    test_tensor own_y = make_y(HUSK_F32, HUSK_I8, 2, shape, TEST_PACKED);
    test_tensor turned = make_y(HUSK_F32, HUSK_I8, 2, other, TEST_PACKED);
    const husk_tensor *x = &own_x.tensor, *scale = &own_scale.tensor, *zero = &own_zero.tensor, *y = &own_y.tensor;
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, NULL, scale, zero, y);
    refuse(HUSK_INVALID_ARGUMENT, "scale", &params, x, NULL, zero, y);
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, x, scale, zero, NULL);
    refuse(HUSK_UNSUPPORTED, "x", &params, &whole.tensor, scale, zero, y);
    refuse(HUSK_UNSUPPORTED, "scale", &params, x, zero, zero, y);
    refuse(HUSK_UNSUPPORTED, "zero", &params, x, scale, scale, y);
    refuse(HUSK_UNSUPPORTED, "zero", &params, x, scale, &unsigned_zero.tensor, y);
    refuse(HUSK_UNSUPPORTED, "y", &params, x, scale, zero, &whole.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "scale", &params, x, &six.tensor, NULL, y);
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, x, scale, zero, &turned.tensor);
    husk_tensor bad = *zero;
    bad.shape[0] = 3;
    refuse(HUSK_INVALID_ARGUMENT, "zero", &params, x, scale, &bad, y);
    bad = *x;
    bad.offset += 64; // its end is past the buffer's
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, &bad, scale, zero, y);
    bad = *scale;
    bad.offset += 64;
    refuse(HUSK_INVALID_ARGUMENT, "scale", &params, x, &bad, zero, y);
    bad = *zero;
    bad.buffer = NULL;
    refuse(HUSK_INVALID_ARGUMENT, "zero", &params, x, scale, &bad, y);
    bad = *y;
    bad.strides[0] = 3; // rows of 6 elements 3 apart
    bad.strides[1] = 1;
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, x, scale, zero, &bad);
    bad = *x;
    bad.buffer = y->buffer; // y lies over x
    bad.offset = y->offset / 4;
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &bad, scale, zero, y);
    params.axis = 2;
    refuse(HUSK_INVALID_ARGUMENT, "axis", &params, x, scale, zero, y);
    params = HUSK_QUANTIZE_PARAMS(.variant = "vectorr");
    refuse(HUSK_INVALID_ARGUMENT, "vectorr", &params, x, scale, zero, y);
    params = HUSK_QUANTIZE_PARAMS(.axis = 0);
    params.size = sizeof(params) + 8;
    refuse(HUSK_INVALID_ARGUMENT, "params", &params, x, scale, zero, y);
    ck_assert_int_eq(husk_quantize(NULL, NULL, x, scale, zero, y), HUSK_INVALID_ARGUMENT);
    test_untouched(&own_y);
    test_release_all();
}
END_TEST

START_TEST(enough_configurations)
{
    ck_assert_msg(test_executed(NAME) >= 200, "only %ld configurations were executed", test_executed(NAME));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create(NAME);
    TCase *tests = tcase_create(NAME);
    tcase_add_loop_test(tests, shapes_and_channels, 0, 9);
    suite_add_tcase(suite, tests);
    if (test_tier_is("dtypes"))
        return test_main(suite);
    tcase_add_loop_test(tests, large, 0, 3);
    tcase_add_loop_test(tests, special_values, 0, 8);
    tcase_add_loop_test(tests, nothing, 0, 2);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_input);
    tcase_add_test(tests, enough_configurations);
    return test_main(suite);
}
