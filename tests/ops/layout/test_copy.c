// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,valgrind timeout=180
// Copies: layouts, views, broadcasts and dtypes, every variant against the reference; special values; bad input.
#include "ref/layout/copy.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const variants[] = {NULL, "blocks", "grid:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };

static husk_ref_copy op_of(const husk_ref_array *x, const test_tensor *y)
{
    husk_ref_copy op = {.x = x, .dtype = y->tensor.dtype, .rank = y->tensor.rank};
    memcpy(op.shape, y->tensor.shape, sizeof(op.shape));
    return op;
}

static void check(void *user, const husk_ref_array *y, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_copy_function(user);
    husk_ref_check(&function, 1, y, report);
}

// x as the tensor and the array say, which may be views, into y by every variant.
static void run_view(const husk_tensor *x, const husk_ref_array *array, test_tensor *y)
{
    husk_ref_copy op = op_of(array, y);
    char text[300];
    size_t used = (size_t)snprintf(text, sizeof(text), "%s to %s shape", husk_dtype_name(x->dtype),
                                   husk_dtype_name(y->tensor.dtype));
    for (int32_t d = 0; d < y->tensor.rank; d++)
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used, " %lld (%lld to %lld)", (long long)y->tensor.shape[d],
                             (long long)(d < x->rank ? x->strides[d] : 0), (long long)y->tensor.strides[d]);
    for (int v = 0; v < VARIANTS; v++) {
        husk_copy_params params = HUSK_COPY_PARAMS(.variant = variants[v]);
        test_restore(y);
        if (!test_ran(husk_copy(test_queue(), &params, x, &y->tensor), "copy", variants[v]))
            continue;
        test_fetch(y);
        husk_ref_report report = {0};
        check(&op, &y->array, &report);
        test_accept("copy", variants[v], text, &report);
    }
}

START_TEST(layouts)
{
    husk_ref_random random = {.seed = 40 + (uint64_t)_i};
    for (int64_t round = 0; round < (test_is_long() ? 20 : 4); round++) {
        int64_t shape[HUSK_MAX_RANK];
        const int32_t rank = (int32_t)TEST_PICK(&random, 0, 1, 2, 2, 3, 3, 4, 4, 5, 8);
        for (int32_t d = 0; d < rank; d++)
            shape[d] = test_pick_size(&random, 32, rank == 1 ? 5000 : rank == 2 ? 200 : rank < 5 ? 40 : 3);
        test_tensor x = test_input(rank, shape, test_pick_layout(&random), (uint64_t)round, 2.0f);
        test_tensor y = test_output(HUSK_F32, rank, shape, test_pick_layout(&random));
        run_view(&x.tensor, &x.array, &y);
        test_release(&x);
        test_release(&y);
    }
}
END_TEST

// Transposes around the blocks' ends, and both ways between NCHW and NHWC.
START_TEST(turned)
{
    static const int64_t sizes[] = {1, 2, 31, 32, 33, 63, 64, 65, 130};
    for (int i = 0; i < 9; i++) {
        const int64_t shape[] = {2, sizes[_i], sizes[i]};
        test_tensor x = test_input(3, shape, TEST_CHANNELS_LAST, 3, 1.0f);
        test_tensor y = test_output(HUSK_F32, 3, shape, i % 2 ? TEST_PACKED : TEST_PADDED);
        run_view(&x.tensor, &x.array, &y);
        test_release(&x);
        test_release(&y);
        x = test_input(3, shape, TEST_PACKED, 3, 1.0f);
        y = test_output(HUSK_F32, 3, shape, TEST_CHANNELS_LAST);
        run_view(&x.tensor, &x.array, &y);
        test_release(&x);
        test_release(&y);
    }
}
END_TEST

static husk_ref_array array_of(const test_tensor *x, const husk_tensor *view)
{
    husk_ref_array array = {.dtype = view->dtype, .rank = view->rank};
    array.data = (char *)x->array.data + (view->offset - x->tensor.offset) * (int64_t)husk_dtype_size(view->dtype);
    memcpy(array.shape, view->shape, sizeof(array.shape));
    memcpy(array.strides, view->strides, sizeof(array.strides));
    return array;
}

// What husk/tensor.h makes of a tensor: slices, transposes, broadcasts, and all of them.
START_TEST(views)
{
    const int64_t shape[] = {6, 1, 40, 9}, wide[] = {3, 6, 5, 40, 9};
    test_tensor x = test_input(4, shape, TEST_PACKED, 5, 1.0f);
    husk_tensor v[5];
    v[0] = husk_tensor_slice(&x.tensor, 2, 3, 12, 3);
    v[1] = husk_tensor_permute(&x.tensor, (int32_t[]){3, 1, 0, 2});
    v[2] = husk_tensor_expand(&x.tensor, 5, wide);
    v[3] = husk_tensor_slice(&v[1], 0, 1, 4, 2);
    v[4] = husk_tensor_permute(&v[2], (int32_t[]){2, 4, 0, 3, 1});
    for (int i = 0; i < 5; i++) {
        ck_assert_int_ge(v[i].rank, 0);
        const husk_ref_array array = array_of(&x, &v[i]);
        test_tensor y = test_output(HUSK_F32, v[i].rank, v[i].shape, i % 2 ? TEST_PADDED : TEST_PACKED);
        run_view(&v[i], &array, &y);
        test_release(&y);
    }
    // Broadcasts by shape, where the view cannot say it.
    const int64_t one[] = {1}, many[] = {7, 300};
    test_tensor single = test_input(1, one, TEST_PACKED, 6, 1.0f), y = test_output(HUSK_F32, 2, many, TEST_PACKED);
    run_view(&single.tensor, &single.array, &y);
    test_release(&single);
    single = test_input(1, many + 1, TEST_PACKED, 6, 1.0f);
    run_view(&single.tensor, &single.array, &y);
    test_release(&single);
    test_release(&y);
    test_release(&x);
}
END_TEST

static const husk_dtype dtypes[] = {HUSK_F32, HUSK_F16, HUSK_BF16, HUSK_I32, HUSK_I64, HUSK_U8, HUSK_F64, HUSK_I8};
enum { DTYPES = 8, CONVERTED = 6, WIDE = 67 };

static void fill(test_tensor *x)
{
    static const double special[] = {NAN, INFINITY, -INFINITY, 1e30, -1e30, 70000, -1.9,
                                     2.5, 255.5,    256,       -1,   3e9,   -3e9};
    const husk_dtype dtype = x->tensor.dtype;
    const bool is_float = dtype <= HUSK_F64;
    for (int64_t i = 0; i < 3 * WIDE; i++) {
        const int64_t index[] = {i / WIDE, i % WIDE};
        double value = is_float && i < 13 ? special[i] : (double)(i * 37 % 251);
        if (dtype == HUSK_I32 || dtype == HUSK_I64)
            value = (double)(i * 7919 - 300000) * (dtype == HUSK_I64 && i % 2 ? 1048576.0 : 1.0);
        else if (dtype == HUSK_I8)
            value = (double)(i % 200 - 100);
        else if (is_float && i >= 13)
            value = value / 8 - 10;
        husk_ref_store(&x->array, husk_ref_offset(&x->array, index), value);
    }
    test_input_update(x);
}

// Between two neighbours of f16 or bf16, the lower one even or odd, and just beside that; integers that no f32 holds.
static void fill_ties(test_tensor *x, husk_dtype to)
{
    static const double beside[] = {0.0, 0x1p-23, -0x1p-23};
    const int digits = to == HUSK_BF16 ? 8 : 11;
    for (int64_t i = 0; i < 3 * WIDE; i++) {
        const int64_t index[] = {i / WIDE, i % WIDE};
        double value = ((double)(1 << digits) + (double)(2 * (i / 3) + 1)) / (double)(1 << digits); // in (1, 2)
        value = (value + beside[i % 3]) * (i % 2 ? -1.0 : 1.0);
        if (x->tensor.dtype != HUSK_F32) // to f32: 24 digits
            value = (i % 2 ? -1.0 : 1.0) * (double)((1 << 24) + 1 + i + (i % 3 << 3));
        husk_ref_store(&x->array, husk_ref_offset(&x->array, index), value);
    }
    test_input_update(x);
}

// Rounded to nearest, ties to even.
START_TEST(rounding)
{
    static const husk_dtype pairs[][2] = {
        {HUSK_F32, HUSK_F16}, {HUSK_F32, HUSK_BF16}, {HUSK_I32, HUSK_F32}, {HUSK_I64, HUSK_F32}};
    const int64_t shape[] = {3, WIDE};
    for (int pair = 0; pair < 4; pair++) {
        test_tensor x = test_input_of(pairs[pair][0], 2, shape, TEST_PADDED, 4, 0.9f);
        test_tensor y = test_output(pairs[pair][1], 2, shape, TEST_PACKED);
        fill_ties(&x, pairs[pair][1]);
        run_view(&x.tensor, &x.array, &y);
        test_release(&x);
        test_release(&y);
    }
}
END_TEST

// A program a pair: the default tier has the commoner ones.
START_TEST(conversions)
{
    static const int common[][2] = {{0, 3}, {3, 0}, {0, 4}, {4, 0}, {0, 5}, {5, 0}, {0, 1}, {2, 0}, {4, 3}};
    const int64_t shape[] = {3, WIDE};
    for (int pair = 0; pair < (test_is_long() ? CONVERTED * CONVERTED : 9); pair++) {
        const int from = test_is_long() ? pair / CONVERTED : common[pair][0];
        const int to = test_is_long() ? pair % CONVERTED : common[pair][1];
        test_tensor x = test_input_of(dtypes[from], 2, shape, TEST_PADDED, 4, 0.9f);
        fill(&x);
        test_tensor y = test_output(dtypes[to], 2, shape, pair % 2 ? TEST_PACKED : TEST_REVERSED);
        husk_ref_copy op = op_of(&x.array, &y);
        test_ok(husk_copy(test_queue(), NULL, &x.tensor, &y.tensor));
        test_fetch(&y);
        husk_ref_report report = {0};
        check(&op, &y.array, &report);
        char text[64];
        snprintf(text, sizeof(text), "%s to %s", husk_dtype_name(dtypes[from]), husk_dtype_name(dtypes[to]));
        test_accept("copy", NULL, text, &report);
        test_release(&x);
        test_release(&y);
    }
}
END_TEST

// Every dtype to itself, bit by bit: NaN's, too.
START_TEST(bits)
{
    const int64_t shape[] = {3, WIDE};
    for (int i = 0; i < DTYPES; i++) {
        test_tensor x = test_input_of(dtypes[i], 2, shape, TEST_PACKED, 0, 0.9f);
        fill(&x);
        if (dtypes[i] == HUSK_F32)
            ((uint32_t *)x.array.data)[5] = 0xffc12345u, ((uint32_t *)x.array.data)[6] = 0x00000123u;
        test_input_update(&x);
        test_tensor y = test_output(dtypes[i], 2, shape, TEST_PACKED);
        test_ok(husk_copy(test_queue(), NULL, &x.tensor, &y.tensor));
        test_fetch(&y);
        ck_assert_mem_eq(x.array.data, y.array.data, (size_t)(3 * WIDE) * husk_dtype_size(dtypes[i]));
        test_release(&x);
        test_release(&y);
    }
}
END_TEST

// The same of any bits, exchanged and spread, by every variant: what a comparison of numbers would not tell apart.
START_TEST(strided_bits)
{
    static const test_layout spread[][2] = {
        {TEST_REVERSED, TEST_PACKED}, {TEST_PACKED, TEST_REVERSED}, {TEST_SPREAD, TEST_PADDED}};
    const int64_t shape[] = {70, WIDE};
    for (int i = 0; i < DTYPES; i++) {
        const size_t size = (size_t)husk_dtype_size(dtypes[i]);
        test_tensor x = test_input_of(dtypes[i], 2, shape, spread[_i][0], 0, 0.9f);
        test_tensor y = test_output(dtypes[i], 2, shape, spread[_i][1]);
        const int64_t elements = husk_ref_array_extent(&x.array);
        for (size_t byte = 0; byte < (size_t)elements * size; byte++)
            ((unsigned char *)x.array.data)[byte] = (unsigned char)husk_ref_random_bits(8, byte);
        test_input_update(&x);
        for (int v = 0; v < VARIANTS; v++) {
            const husk_copy_params params = HUSK_COPY_PARAMS(.variant = variants[v]);
            test_restore(&y);
            if (!test_ran(husk_copy(test_queue(), &params, &x.tensor, &y.tensor), "copy", variants[v]))
                continue;
            test_fetch(&y);
            for (int64_t at = 0; at < 70 * WIDE; at++) {
                const int64_t index[] = {at / WIDE, at % WIDE};
                ck_assert_mem_eq((char *)y.array.data + (size_t)husk_ref_offset(&y.array, index) * size,
                                 (char *)x.array.data + (size_t)husk_ref_offset(&x.array, index) * size, size);
            }
        }
        test_release(&x);
        test_release(&y);
    }
}
END_TEST

START_TEST(nothing)
{
    const int64_t shape[] = {3, 0};
    for (int v = 0; v < VARIANTS; v++) {
        husk_copy_params params = HUSK_COPY_PARAMS(.variant = variants[v]);
        test_tensor x = test_input(2, shape, TEST_PACKED, 1, 1.0f), y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
        test_ok(husk_copy(test_queue(), &params, &x.tensor, &y.tensor));
        test_untouched(&y);
        test_release(&x);
        test_release(&y);
    }
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    const int64_t shape[] = {9, 20};
    test_tensor x = test_input(2, shape, TEST_REVERSED, 15, 2.0f), y = test_output(HUSK_F32, 2, shape, TEST_PADDED);
    test_ok(husk_copy(test_queue(), NULL, &x.tensor, &y.tensor));
    test_fetch(&y);
    husk_ref_copy op = op_of(&x.array, &y);
    husk_ref_function function = husk_ref_copy_function(&op);
    test_planted(&function, &y.array, check, &op);
    test_planted_guards(&y);
    test_release(&x);
    test_release(&y);
}
END_TEST

static void refuse(husk_status wanted, const char *argument, const husk_copy_params *params, const husk_tensor *x,
                   const husk_tensor *y)
{
    test_refused(husk_copy(test_silent_queue(), params, x, y), wanted, argument);
}

START_TEST(bad_input)
{
    const int64_t shape[] = {4, 6}, other[] = {6, 4};
    husk_copy_params params = HUSK_COPY_PARAMS(.variant = NULL);
    test_tensor x = test_input(2, shape, TEST_PACKED, 19, 1.0f), y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    test_tensor exchanged = test_output(HUSK_F32, 2, other, TEST_PACKED);
    test_tensor wide = test_output(HUSK_F64, 2, shape, TEST_PACKED);
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, NULL, &y.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &x.tensor, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, &x.tensor, &exchanged.tensor);
    refuse(HUSK_UNSUPPORTED, "y", &params, &x.tensor, &wide.tensor);
    params.variant = "block";
    refuse(HUSK_INVALID_ARGUMENT, "block", &params, &x.tensor, &y.tensor);
    params.variant = NULL;
    params.size = 4096;
    refuse(HUSK_INVALID_ARGUMENT, "params", &params, &x.tensor, &y.tensor);
    ck_assert_int_eq(husk_copy(NULL, NULL, &x.tensor, &y.tensor), HUSK_INVALID_ARGUMENT);
    husk_tensor bad = husk_tensor_slice(&x.tensor, 0, 0, 9, 1); // an impossible view
    refuse(HUSK_INVALID_ARGUMENT, "x", NULL, &bad, &y.tensor);
    bad = y.tensor;
    bad.strides[0] = 0;
    bad.strides[1] = 1;
    refuse(HUSK_INVALID_ARGUMENT, "y", NULL, &x.tensor, &bad);
    refuse(HUSK_INVALID_ARGUMENT, "y", NULL, &y.tensor, &y.tensor);
    bad = y.tensor;
    bad.buffer = NULL;
    refuse(HUSK_INVALID_ARGUMENT, "y", NULL, &x.tensor, &bad);
    test_untouched(&y);
    test_release(&x);
    test_release(&y);
    test_release(&exchanged);
    test_release(&wide);
}
END_TEST

START_TEST(enough_configurations)
{
    ck_assert_msg(test_executed("copy") >= 200, "only %ld configurations were executed", test_executed("copy"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copy");
    TCase *tests = tcase_create("copy");
    tcase_add_loop_test(tests, layouts, 0, 12);
    tcase_add_loop_test(tests, turned, 0, 9);
    tcase_add_test(tests, views);
    tcase_add_test(tests, conversions);
    tcase_add_test(tests, rounding);
    tcase_add_test(tests, bits);
    tcase_add_loop_test(tests, strided_bits, 0, 3);
    tcase_add_test(tests, nothing);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_input);
    tcase_add_test(tests, enough_configurations);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
