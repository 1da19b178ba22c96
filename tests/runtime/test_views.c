// SPDX-License-Identifier: MIT
// ctest: tiers=default,valgrind timeout=30
// Views of tensors: which element of the memory each index reads, and what is not possible.
#include <check.h>
#include <string.h>

#include <husk/tensor.h>

#include "support/main.h"

static int64_t at(const husk_tensor *tensor, const int64_t *index)
{
    int64_t offset = tensor->offset;
    for (int32_t d = 0; d < tensor->rank; d++)
        offset += index[d] * tensor->strides[d];
    return offset;
}

static husk_tensor packed(void)
{
    husk_tensor tensor = husk_tensor_make(NULL, HUSK_F32, 3, (int64_t[]){2, 3, 4});
    memset(tensor.strides, 0, sizeof(tensor.strides)); // the other spelling of packed
    tensor.offset = 5;
    return tensor;
}

START_TEST(permuted)
{
    const husk_tensor tensor = packed(), view = husk_tensor_permute(&tensor, (int32_t[]){2, 0, 1});
    ck_assert_int_eq(view.rank, 3);
    ck_assert_int_eq(view.shape[0], 4);
    ck_assert_int_eq(view.shape[1], 2);
    ck_assert_int_eq(view.shape[2], 3);
    for (int64_t i = 0; i < 24; i++)
        ck_assert_int_eq(at(&view, (int64_t[]){i % 4, i / 12, i / 4 % 3}), 5 + i);
    const husk_tensor from_last = husk_tensor_permute(&tensor, (int32_t[]){-1, 0, -2});
    ck_assert_mem_eq(&from_last, &view, sizeof view);
    ck_assert_int_eq(husk_tensor_permute(&tensor, (int32_t[]){0, 1, 1}).rank, -1);
    ck_assert_int_eq(husk_tensor_permute(&tensor, (int32_t[]){0, 1, -2}).rank, -1);
    ck_assert_int_eq(husk_tensor_permute(&tensor, (int32_t[]){0, 1, -4}).rank, -1);
    ck_assert_int_eq(husk_tensor_permute(&tensor, (int32_t[]){0, 1, 3}).rank, -1);
    ck_assert_int_eq(husk_tensor_permute(&tensor, (int32_t[]){0, -1, 2}).rank, -1);
    ck_assert_int_eq(husk_tensor_permute(NULL, (int32_t[]){0}).rank, -1);
}
END_TEST

START_TEST(sliced)
{
    const husk_tensor tensor = packed();
    husk_tensor view = husk_tensor_slice(&tensor, 2, 1, 2, 2);
    ck_assert_int_eq(view.shape[2], 2);
    for (int64_t i = 0; i < 12; i++)
        ck_assert_int_eq(at(&view, (int64_t[]){i / 6, i / 2 % 3, i % 2}), 5 + i / 2 * 4 + 1 + i % 2 * 2);
    view = husk_tensor_slice(&view, 0, 1, 1, 7); // of a view; a step that is not taken
    ck_assert_int_eq(at(&view, (int64_t[]){0, 2, 1}), 5 + 12 + 2 * 4 + 3);
    ck_assert_int_eq(husk_tensor_count(&view), 6);
    view = husk_tensor_slice(&tensor, 1, 3, 0, 1);
    ck_assert_int_eq(husk_tensor_count(&view), 0);
    ck_assert_int_eq(husk_tensor_slice(&tensor, 2, 1, 2, 3).rank, -1); // past the end
    ck_assert_int_eq(husk_tensor_slice(&tensor, 3, 0, 1, 1).rank, -1);
    ck_assert_int_eq(husk_tensor_slice(&tensor, -4, 0, 1, 1).rank, -1);
    const husk_tensor from_last = husk_tensor_slice(&tensor, -1, 1, 2, 2),
                      from_first = husk_tensor_slice(&tensor, 2, 1, 2, 2);
    ck_assert_mem_eq(&from_last, &from_first, sizeof from_last);
    ck_assert_int_eq(husk_tensor_slice(&tensor, 0, -1, 1, 1).rank, -1);
    ck_assert_int_eq(husk_tensor_slice(&tensor, 0, 0, -1, 1).rank, -1);
    ck_assert_int_eq(husk_tensor_slice(&tensor, 0, 0, 2, 0).rank, -1);
    ck_assert_int_eq(husk_tensor_slice(&tensor, 0, 0, 2, INT64_MAX).rank, -1);
    ck_assert_int_eq(husk_tensor_slice(&tensor, 0, 1, 3, INT64_MAX / 2).rank, -1);
    // Four strides of it would be 0, and nothing else would say that it reaches too far.
    const husk_tensor far = {.dtype = HUSK_F32, .rank = 1, .shape = {8}, .strides = {INT64_C(1) << 62}};
    ck_assert_int_eq(husk_tensor_slice(&far, 0, 0, 2, 4).rank, -1);
}
END_TEST

START_TEST(reshaped)
{
    const husk_tensor tensor = packed();
    husk_tensor view = husk_tensor_reshape(&tensor, 2, (int64_t[]){6, 4});
    for (int64_t i = 0; i < 24; i++)
        ck_assert_int_eq(at(&view, (int64_t[]){i / 4, i % 4}), 5 + i);
    view = husk_tensor_reshape(&tensor, 4, (int64_t[]){1, 8, 1, 3});
    ck_assert_int_eq(at(&view, (int64_t[]){0, 7, 0, 2}), 5 + 23);
    ck_assert_int_eq(husk_tensor_reshape(&tensor, 1, (int64_t[]){23}).rank, -1);
    ck_assert_int_eq(husk_tensor_reshape(&tensor, 2, (int64_t[]){-4, -6}).rank, -1);
    ck_assert_int_eq(husk_tensor_reshape(&tensor, 9, (int64_t[]){24, 1, 1, 1, 1, 1, 1, 1, 1}).rank, -1);
    view = husk_tensor_permute(&tensor, (int32_t[]){1, 0, 2});
    ck_assert_int_eq(husk_tensor_reshape(&view, 1, (int64_t[]){24}).rank, -1); // not packed
    view = husk_tensor_slice(&tensor, 0, 1, 1, 1);
    ck_assert_int_eq(husk_tensor_reshape(&view, 1, (int64_t[]){12}).offset, 17);
}
END_TEST

START_TEST(expanded)
{
    husk_tensor tensor = husk_tensor_make(NULL, HUSK_F32, 2, (int64_t[]){3, 1});
    tensor.offset = 2;
    husk_tensor view = husk_tensor_expand(&tensor, 3, (int64_t[]){2, 3, 5});
    for (int64_t i = 0; i < 30; i++)
        ck_assert_int_eq(at(&view, (int64_t[]){i / 15, i / 5 % 3, i % 5}), 2 + i / 5 % 3);
    ck_assert_int_eq(husk_tensor_extent(&view), 12);
    ck_assert_int_eq(husk_tensor_expand(&tensor, 2, (int64_t[]){4, 5}).rank, -1);
    ck_assert_int_eq(husk_tensor_expand(&tensor, 1, (int64_t[]){3}).rank, -1);
    ck_assert_int_eq(husk_tensor_expand(&tensor, 3, (int64_t[]){-2, 3, 5}).rank, -1);
    view = husk_tensor_expand(&tensor, 3, (int64_t[]){0, 3, 5});
    ck_assert_int_eq(husk_tensor_count(&view), 0);
    tensor = husk_tensor_make(NULL, HUSK_F32, 0, NULL);
    ck_assert_int_eq(husk_tensor_expand(&tensor, 1, (int64_t[]){4}).rank, -1); // all strides zero means packed
    view = husk_tensor_expand(&tensor, 2, (int64_t[]){1, 1});
    ck_assert_int_eq(husk_tensor_count(&view), 1);
    view = husk_tensor_slice(&tensor, 0, 0, 1, 1); // a scalar has no dimension
    ck_assert_int_eq(husk_tensor_expand(&view, 1, (int64_t[]){4}).rank, -1);
}
END_TEST

// A negative dimension is one beside a dimension of 0, too.
START_TEST(negative)
{
    husk_tensor tensor = {.rank = 2, .shape = {0, -3}};
    ck_assert_int_eq(husk_tensor_count(&tensor), -1);
    ck_assert_int_eq(husk_tensor_extent(&tensor), -1);
    ck_assert_int_eq(husk_tensor_permute(&tensor, (int32_t[]){1, 0}).rank, -1);
    tensor = husk_tensor_make(NULL, HUSK_F32, 1, (int64_t[]){0});
    ck_assert_int_eq(husk_tensor_reshape(&tensor, 2, (int64_t[]){-3, 0}).rank, -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("views");
    TCase *tests = tcase_create("views");
    tcase_add_test(tests, permuted);
    tcase_add_test(tests, sliced);
    tcase_add_test(tests, reshaped);
    tcase_add_test(tests, expanded);
    tcase_add_test(tests, negative);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
