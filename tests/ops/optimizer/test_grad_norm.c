// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=60
// Norms of lists of tensors and their coefficients: every variant against the reference, with few and many tensors; the
// same bits every time; special values; bad input.
#include <math.h>
#include <string.h>

#include "ref/optimizer/grad_norm.h"
#include "support/list.h"
#include "support/support.h"

static const char *const variants[] = {NULL, "vector", "grid:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };

static void check(void *user, const husk_ref_array *made, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_grad_norm_function(user);
    husk_ref_check(&function, 1, made, report);
}

// wanted: 1 the norm, 2 the coefficient, 3 both
static void run_all(husk_grad_norm_params params, const test_list *list, int wanted)
{
    const husk_dtype own = list->list[0]->dtype == HUSK_F64 ? HUSK_F64 : HUSK_F32;
    test_tensor outputs[2] = {test_output(own, 0, NULL, TEST_PACKED), test_output(own, 0, NULL, TEST_PACKED)};
    husk_ref_grad_norm op = {.params = &params, .tensors = list->arrays, .count = list->count};
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        for (int i = 0; i < 2; i++)
            test_restore(&outputs[i]);
        if (!test_ran(husk_grad_norm(test_queue(), &params, list->list, list->count,
                                     wanted & 1 ? &outputs[0].tensor : NULL, wanted & 2 ? &outputs[1].tensor : NULL),
                      "grad_norm", variants[v]))
            continue;
        for (int i = 0; i < 2; i++) {
            husk_ref_report report = {0};
            op.is_coefficient = i == 1;
            if (!(wanted >> i & 1)) {
                test_untouched(&outputs[i]);
                continue;
            }
            test_fetch(&outputs[i]);
            check(&op, &outputs[i].array, &report);
            test_accept("grad_norm", variants[v], list->text, &report);
        }
    }
    test_release(&outputs[0]);
    test_release(&outputs[1]);
}

START_TEST(lists)
{
    static const husk_dtype dtypes[] = {HUSK_F32, HUSK_I32, HUSK_F32, HUSK_BF16};
    husk_ref_random random = {.seed = 30 + (uint64_t)_i};
    for (int64_t round = 0; round < (test_is_long() ? 40 : 8); round++) {
        test_list list;
        const husk_grad_norm_params params =
            HUSK_GRAD_NORM_PARAMS(.kind = (husk_grad_norm_kind)(round % 2),
                                  .max_norm = (float)TEST_PICK(&random, 0, 1, 30, 100000));
        test_list_make(&list, &random, test_tier_is("dtypes") ? test_dtype(round / 2) : dtypes[round % 4], 70000);
        run_all(params, &list, (int)TEST_PICK(&random, 1, 2, 3, 3));
        test_list_release(&list);
    }
}
END_TEST

static test_list list_of(test_tensor *tensor)
{
    return (test_list){.count = 1, .list = {&tensor->tensor}, .arrays = {&tensor->before}, .text = "one tensor"};
}

// Lengths around vectors, units and launches; a sum of many units.
START_TEST(lengths)
{
    static const int64_t all[] = {1, 15, 16, 17, 63, 65, 16383, 16384, 16385, 300007, 3000017};
    test_tensor x = test_inout(1, &all[_i], TEST_PACKED, 4, 2.0f);
    const test_list list = list_of(&x);
    run_all(HUSK_GRAD_NORM_PARAMS(.max_norm = 5.0f), &list, 3);
    run_all(HUSK_GRAD_NORM_PARAMS(.kind = HUSK_GRAD_NORM_MAXIMUM, .max_norm = 0.5f), &list, 3);
    test_release(&x);
}
END_TEST

START_TEST(special_values)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, -0.0, 1e30, 3e-39};
    const int64_t shape[] = {20};
    for (int i = 0; i < 6; i++) {
        test_tensor x = test_inout(1, shape, TEST_PACKED, 4, 2.0f);
        husk_ref_store(&x.before, 7, values[i]);
        memcpy(x.array.data, x.before.data, 20 * sizeof(float));
        test_input_update(&x);
        const test_list list = list_of(&x);
        if (fabs(values[i]) < 1e20 || !isfinite(values[i]))
            run_all(HUSK_GRAD_NORM_PARAMS(.max_norm = 5.0f), &list, isfinite(values[i]) ? 3 : 1);
        run_all(HUSK_GRAD_NORM_PARAMS(.kind = HUSK_GRAD_NORM_MAXIMUM, .max_norm = 5.0f), &list, 3);
        test_release(&x);
    }
}
END_TEST

// No tensor, or none with elements: the norm is 0.
START_TEST(nothing)
{
    const int64_t none[] = {0, 3};
    test_tensor x = test_output(HUSK_F32, 2, none, TEST_PACKED), norm = test_output(HUSK_F32, 0, NULL, TEST_PACKED);
    const husk_tensor *const list[] = {&x.tensor};
    for (int v = 0; v < VARIANTS; v++)
        for (size_t count = 0; count < 2; count++) {
            const husk_grad_norm_params params = HUSK_GRAD_NORM_PARAMS(.variant = variants[v]);
            test_restore(&norm);
            test_ok(husk_grad_norm(test_queue(), &params, list, count, &norm.tensor, NULL));
            test_fetch(&norm);
            ck_assert_float_eq(*(float *)norm.array.data, 0.0f);
            const husk_grad_norm_params clips = HUSK_GRAD_NORM_PARAMS(.max_norm = 5.0f, .variant = variants[v]);
            test_restore(&norm);
            test_ok(husk_grad_norm(test_queue(), &clips, list, count, NULL, &norm.tensor));
            test_fetch(&norm);
            ck_assert_float_eq(*(float *)norm.array.data, 1.0f);
        }
    test_release(&x);
    test_release(&norm);
}
END_TEST

START_TEST(ten_runs_agree)
{
    husk_ref_random random = {.seed = 3};
    test_list list;
    float first = 0.0f;
    test_list_make(&list, &random, HUSK_F32, 300000);
    test_tensor norm = test_output(HUSK_F32, 0, NULL, TEST_PACKED);
    for (int run = 0; run < 10; run++) {
        test_ok(husk_grad_norm(test_queue(), NULL, list.list, list.count, &norm.tensor, NULL));
        test_fetch(&norm);
        first = run == 0 ? *(float *)norm.array.data : first;
        ck_assert_mem_eq(norm.array.data, &first, sizeof(first));
    }
    test_release(&norm);
    test_list_release(&list);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    const int64_t shape[] = {1000};
    test_tensor x = test_inout(1, shape, TEST_PACKED, 4, 2.0f), norm = test_output(HUSK_F32, 0, NULL, TEST_PACKED);
    const test_list list = list_of(&x);
    test_ok(husk_grad_norm(test_queue(), NULL, list.list, 1, &norm.tensor, NULL));
    test_fetch(&norm);
    husk_ref_grad_norm op = {.tensors = list.arrays, .count = 1};
    husk_ref_function function = husk_ref_grad_norm_function(&op);
    test_planted(&function, &norm.array, check, &op);
    test_planted_guards(&norm);
    test_release(&x);
    test_release(&norm);
}
END_TEST

// ---- bad input ----

static void refuse(husk_status wanted, const char *argument, const husk_grad_norm_params *params,
                   const husk_tensor *const *list, size_t count, const husk_tensor *norm,
                   const husk_tensor *coefficient)
{
    test_refused(husk_grad_norm(test_silent_queue(), params, list, count, norm, coefficient), wanted, argument);
}

START_TEST(bad_input)
{
    const int64_t shape[] = {4, 6};
    test_tensor a = test_inout(2, shape, TEST_PACKED, 1, 1), b = test_inout(2, shape, TEST_PACKED, 2, 1);
    test_tensor gaps = test_inout(2, shape, TEST_PADDED, 3, 1), whole = test_output(HUSK_I32, 2, shape, TEST_PACKED);
    test_tensor n = test_output(HUSK_F32, 0, NULL, TEST_PACKED), half = test_output(HUSK_F16, 0, NULL, TEST_PACKED);
    const husk_tensor *list[] = {&a.tensor, &b.tensor}, *norm = &n.tensor;
    husk_grad_norm_params params = HUSK_GRAD_NORM_PARAMS(.kind = (husk_grad_norm_kind)2);
    refuse(HUSK_INVALID_ARGUMENT, "kind", &params, list, 2, norm, NULL);
    params = HUSK_GRAD_NORM_PARAMS(.max_norm = -1.0f);
    refuse(HUSK_INVALID_ARGUMENT, "max_norm", &params, list, 2, norm, NULL);
    params = HUSK_GRAD_NORM_PARAMS(.max_norm = NAN);
    refuse(HUSK_INVALID_ARGUMENT, "max_norm", &params, list, 2, norm, NULL);
    params = HUSK_GRAD_NORM_PARAMS(.variant = "gird");
    refuse(HUSK_INVALID_ARGUMENT, "gird", &params, list, 2, norm, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "tensors", NULL, NULL, 2, norm, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "norm", NULL, list, 2, NULL, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "norm", NULL, list, 2, &b.tensor, NULL);
    refuse(HUSK_UNSUPPORTED, "norm", NULL, list, 2, &half.tensor, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "coefficient", NULL, list, 2, norm, norm);
    husk_tensor inside = a.tensor;
    inside.rank = 0;
    refuse(HUSK_INVALID_ARGUMENT, "coefficient", NULL, list, 2, norm, &inside);
    if (husk_context_has(test_context(), HUSK_FEATURE_F64)) { // beside which nothing else stands
        test_tensor d = test_inout_of(HUSK_F64, 2, shape, TEST_PACKED, 1, 1);
        list[1] = &d.tensor;
        refuse(HUSK_INVALID_ARGUMENT, "tensors[1]", NULL, list, 2, norm, NULL);
        list[0] = &d.tensor;
        refuse(HUSK_UNSUPPORTED, "norm", NULL, list, 1, norm, NULL);
        list[0] = &a.tensor;
        test_release(&d);
    }
    list[1] = &gaps.tensor;
    refuse(HUSK_INVALID_ARGUMENT, "tensors[1]", NULL, list, 2, norm, NULL);
    list[1] = &whole.tensor;
    refuse(HUSK_UNSUPPORTED, "tensors[1]", NULL, list, 2, norm, NULL);
    list[1] = NULL;
    refuse(HUSK_INVALID_ARGUMENT, "tensors[1]", NULL, list, 2, norm, NULL);
    ck_assert_int_eq(husk_grad_norm(NULL, NULL, list, 1, norm, NULL), HUSK_INVALID_ARGUMENT);
    test_untouched(&n);
    test_tensor *const all[] = {&a, &b, &gaps, &whole, &n, &half};
    for (int i = 0; i < 6; i++)
        test_release(all[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("grad_norm");
    TCase *tests = tcase_create("grad_norm");
    tcase_add_loop_test(tests, lists, 0, 6);
    suite_add_tcase(suite, tests);
    if (test_tier_is("dtypes"))
        return test_main(suite);
    tcase_add_loop_test(tests, lengths, 0, 11);
    tcase_add_test(tests, special_values);
    tcase_add_test(tests, nothing);
    tcase_add_test(tests, ten_runs_agree);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_input);
    return test_main(suite);
}
