// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=60 with=concat_case
// Tensors one after the other: every variant against the reference, along every axis, with few and many inputs in all
// layouts and dtypes; rows of packed tensors; bad input.
#include <math.h>
#include <string.h>

#include "ref/layout/concat.h"

#include "concat_case.h"

static const char *const variants[] = {NULL, "rows", "grid:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };

static void check(void *user, const husk_ref_array *y, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_concat_function(user);
    husk_ref_check(&function, 1, y, report);
}

typedef struct inputs {
    test_tensor tensors[CONCAT_MOST];
    const husk_tensor *list[CONCAT_MOST];
    husk_ref_array arrays[CONCAT_MOST];
} inputs;

static void make(const concat_case *c, husk_dtype dtype, inputs *in)
{
    for (size_t i = 0; i < c->count; i++) {
        in->tensors[i] = test_input_of(dtype, c->rank, c->parts[i], c->layouts[i], i + 3,
                                       dtype == HUSK_U8    ? 0.9f
                                       : dtype >= HUSK_F64 ? 100.0f
                                                           : 2.0f);
        in->list[i] = &in->tensors[i].tensor;
        in->arrays[i] = in->tensors[i].array;
    }
}

static void release(const concat_case *c, inputs *in)
{
    for (size_t i = 0; i < c->count; i++)
        test_release(&in->tensors[i]);
}

static void run_case(const concat_case *c, husk_dtype dtype)
{
    inputs in;
    make(c, dtype, &in);
    test_tensor y = test_output(dtype, c->rank, c->whole, c->whole_layout);
    husk_concat_params params = HUSK_CONCAT_PARAMS(.axis = c->axis);
    husk_ref_concat op = {.params = &params, .inputs = in.arrays, .count = c->count};
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_restore(&y);
        if (!test_ran(husk_concat(test_queue(), &params, in.list, c->count, &y.tensor), "concat", variants[v]))
            continue;
        test_fetch(&y);
        husk_ref_report report = {0};
        check(&op, &y.array, &report);
        if (dtype == HUSK_U8) // nothing but zeros, which guard bands and the tests of other dtypes make up for
            ck_assert_msg(husk_ref_report_pass(&report), "%s", c->text);
        else
            test_accept("concat", variants[v], c->text, &report);
    }
    release(c, &in);
    test_release(&y);
}

START_TEST(axes_and_layouts)
{
    static const husk_dtype dtypes[] = {HUSK_F32, HUSK_F32, HUSK_F16, HUSK_F32, HUSK_I64, HUSK_BF16, HUSK_I32, HUSK_U8};
    husk_ref_random random = {.seed = 90 + (uint64_t)_i};
    for (int64_t round = 0; round < (test_is_long() ? 60 : 20); round++) {
        const concat_case c = concat_case_draw(&random);
        run_case(&c, test_tier_is("dtypes") ? test_dtype(round) : dtypes[round % 8]);
    }
}
END_TEST

// Packed rows of lengths around vectors and shares: inputs of unlike extents, along the first and the last axis.
START_TEST(rows)
{
    static const int64_t lengths[] = {1, 15, 16, 17, 63, 65, 1000, 40000, 65537, 140001};
    for (int32_t axis = 0; axis < 2; axis++) {
        concat_case c = {.rank = 2, .axis = axis, .count = 3, .text = "packed rows"};
        const int64_t extents[] = {lengths[_i], 7, lengths[_i] / 2 + 1};
        c.whole[1 - axis] = 3;
        for (size_t i = 0; i < 3; i++) {
            c.parts[i][1 - axis] = 3;
            c.parts[i][axis] = extents[i];
            c.whole[axis] += extents[i];
        }
        run_case(&c, HUSK_F32);
    }
}
END_TEST

// The bits of NaN and of denormals are copied, too; one input broadcast by strides of 0; a scalar's worth; nothing.
START_TEST(special_values)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, -0.0, 1e-40, 3.4e38};
    const int64_t shape[] = {2, 3}, whole[] = {6, 3}, none[] = {0, 3}, row[] = {3};
    test_tensor a = test_input(2, shape, TEST_PACKED, 1, 2), b = test_input(1, row, TEST_PACKED, 2, 2);
    test_tensor y = test_output(HUSK_F32, 2, whole, TEST_PACKED);
    test_tensor empty = test_output(HUSK_F32, 2, none, TEST_PACKED);
    for (int64_t i = 0; i < 6; i++)
        husk_ref_store(&a.array, i, values[i]);
    test_input_update(&a);
    const husk_tensor repeated = husk_tensor_expand(&b.tensor, 2, shape);
    const husk_tensor *const list[] = {&a.tensor, &repeated, &a.tensor}, *const nothing[] = {&empty.tensor};
    husk_ref_array arrays[] = {a.array, b.array, a.array};
    arrays[1].rank = 2;
    memcpy(arrays[1].shape, shape, sizeof(shape));
    arrays[1].strides[0] = 0;
    arrays[1].strides[1] = 1;
    husk_ref_concat op = {.inputs = arrays, .count = 3};
    for (int v = 0; v < VARIANTS; v++) {
        const husk_concat_params params = HUSK_CONCAT_PARAMS(.variant = variants[v]);
        test_restore(&y);
        test_ok(husk_concat(test_queue(), &params, list, 3, &y.tensor));
        test_fetch(&y);
        husk_ref_report report = {0};
        check(&op, &y.array, &report);
        test_accept("concat", variants[v], "special values", &report);
        ck_assert_mem_eq(y.array.data, a.array.data, 6 * sizeof(float)); // bits
        test_ok(husk_concat(test_queue(), &params, nothing, 1, &empty.tensor));
    }
    test_release(&a);
    test_release(&b);
    test_release(&y);
    test_release(&empty);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    concat_case c = {.rank = 2, .axis = 1, .count = 2, .whole = {6, 50}, .parts = {{6, 20}, {6, 30}}};
    inputs in;
    make(&c, HUSK_F32, &in);
    test_tensor y = test_output(HUSK_F32, 2, c.whole, TEST_PADDED);
    const husk_concat_params params = HUSK_CONCAT_PARAMS(.axis = 1);
    test_ok(husk_concat(test_queue(), &params, in.list, 2, &y.tensor));
    test_fetch(&y);
    husk_ref_concat op = {.params = &params, .inputs = in.arrays, .count = 2};
    husk_ref_function function = husk_ref_concat_function(&op);
    test_planted(&function, &y.array, check, &op);
    test_planted_guards(&y);
    release(&c, &in);
    test_release(&y);
}
END_TEST

// ---- bad input ----

static void refuse(husk_status wanted, const char *argument, const husk_concat_params *params,
                   const husk_tensor *const *list, size_t count, const husk_tensor *y)
{
    test_refused(husk_concat(test_silent_queue(), params, list, count, y), wanted, argument);
}

START_TEST(bad_input)
{
    const int64_t shape[] = {4, 6}, turned[] = {6, 4}, whole[] = {8, 6};
    test_tensor a = test_input(2, shape, TEST_PACKED, 1, 1), t = test_input(2, turned, TEST_PACKED, 1, 1);
    test_tensor y = test_output(HUSK_F32, 2, whole, TEST_PACKED), half = test_output(HUSK_F16, 2, shape, TEST_PACKED);
    const husk_tensor *list[] = {&a.tensor, &a.tensor, NULL};
    husk_concat_params params = HUSK_CONCAT_PARAMS(.variant = "columns");
    refuse(HUSK_INVALID_ARGUMENT, "columns", &params, list, 2, &y.tensor);
    params = HUSK_CONCAT_PARAMS(.axis = 2);
    refuse(HUSK_INVALID_ARGUMENT, "axis", &params, list, 2, &y.tensor);
    params = HUSK_CONCAT_PARAMS(.axis = -3);
    refuse(HUSK_INVALID_ARGUMENT, "axis", &params, list, 2, &y.tensor);
    params = HUSK_CONCAT_PARAMS(.axis = 1);
    refuse(HUSK_INVALID_ARGUMENT, "inputs[0]", &params, list, 2, &y.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "inputs", NULL, NULL, 2, &y.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "count", NULL, list, 0, &y.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "inputs[2]", NULL, list, 3, &y.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "y", NULL, list, 2, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "y", NULL, list, 1, &y.tensor);
    list[1] = &t.tensor;
    refuse(HUSK_INVALID_ARGUMENT, "inputs[1]", NULL, list, 2, &y.tensor);
    list[1] = &half.tensor;
    refuse(HUSK_UNSUPPORTED, "inputs[1]", NULL, list, 2, &y.tensor);
    husk_tensor bad = a.tensor;
    list[1] = &bad;
    bad.offset += 4;
    refuse(HUSK_INVALID_ARGUMENT, "inputs[1]", NULL, list, 2, &y.tensor);
    bad = y.tensor; // y's own rows
    bad.shape[0] = 4;
    refuse(HUSK_INVALID_ARGUMENT, "y", NULL, list, 2, &y.tensor);
    list[1] = &a.tensor;
    bad = y.tensor;
    bad.strides[0] = 3;
    bad.strides[1] = 1;
    refuse(HUSK_INVALID_ARGUMENT, "y", NULL, list, 2, &bad);
    bad = a.tensor;
    bad.rank = 0;
    refuse(HUSK_INVALID_ARGUMENT, "y", NULL, list, 2, &bad);
    ck_assert_int_eq(husk_concat(NULL, NULL, list, 2, &y.tensor), HUSK_INVALID_ARGUMENT);
    test_untouched(&y);
    test_release(&a);
    test_release(&t);
    test_release(&y);
    test_release(&half);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("concat");
    TCase *tests = tcase_create("concat");
    tcase_add_loop_test(tests, axes_and_layouts, 0, 8);
    suite_add_tcase(suite, tests);
    if (test_tier_is("dtypes"))
        return test_main(suite);
    tcase_add_loop_test(tests, rows, 0, 10);
    tcase_add_test(tests, special_values);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_input);
    return test_main(suite);
}
