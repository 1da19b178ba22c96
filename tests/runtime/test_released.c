// SPDX-License-Identifier: MIT
// ctest: tiers=default,valgrind timeout=60
// A buffer that was released is refused, by its argument's name, wherever it is named still: it is no crash in a
// kernel.
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

static husk_buffer *released(void)
{
    husk_error error;
    husk_buffer *buffer;
    test_ok_error(husk_buffer_create(test_context(), 64, &buffer, &error), &error);
    husk_buffer_release(buffer);
    return buffer;
}

START_TEST(tensors_of_released_buffers_are_refused)
{
    const int64_t shape[] = {16};
    const husk_tensor gone = husk_tensor_make(released(), HUSK_F32, 1, shape);
    test_tensor there = test_inout(1, shape, TEST_PACKED, 1, 1.0f);
    const husk_tensor *const list[] = {&there.tensor, &gone};
    husk_queue *queue = test_silent_queue();
    test_refused(husk_copy(queue, NULL, &gone, &there.tensor), HUSK_INVALID_ARGUMENT, "x: its buffer was released");
    test_refused(husk_copy(queue, NULL, &there.tensor, &gone), HUSK_INVALID_ARGUMENT, "y: its buffer was released");
    test_refused(husk_softmax(queue, NULL, &gone, &gone), HUSK_INVALID_ARGUMENT, "x: its buffer was released");
    test_refused(husk_grad_scale(queue, NULL, list, 2, NULL, NULL), HUSK_INVALID_ARGUMENT, "its buffer was released");
    const int64_t one[] = {1, 1, 16};
    husk_tensor image = husk_tensor_make(there.tensor.buffer, HUSK_F32, 3, one);
    husk_tensor w = husk_tensor_make(gone.buffer, HUSK_F32, 3, (int64_t[]){1, 1, 1});
    test_refused(husk_conv(queue, NULL, &image, &w, NULL, &image), HUSK_INVALID_ARGUMENT, "w: its buffer was released");
    test_untouched(&there);
    test_release(&there);
}
END_TEST

START_TEST(transfers_and_views_are_refused)
{
    husk_buffer *gone = released(), *view = NULL;
    float values[16] = {0};
    husk_error error;
    husk_queue *queue = test_silent_queue();
    test_refused(husk_buffer_write(queue, gone, 0, sizeof values, values), HUSK_INVALID_ARGUMENT, "was released");
    test_refused(husk_buffer_read(queue, gone, 0, sizeof values, values), HUSK_INVALID_ARGUMENT, "was released");
    test_refused(husk_buffer_fill(queue, gone, 0, 4, values, 4), HUSK_INVALID_ARGUMENT, "was released");
    ck_assert_int_eq(husk_buffer_view(gone, 0, 4, &view, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "buffer: was released"));
    ck_assert_ptr_null(view);
    ck_assert_int_eq(husk_buffer_check_guards(gone, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "buffer: was released"));
}
END_TEST

// What is kept of them does not grow: a thousand buffers one after the other, and as many at once.
START_TEST(what_is_kept_is_bounded)
{
    enum { MANY = 1000 };
    husk_error error;
    husk_buffer *all[MANY];
    int again = 0;
    for (int i = 0; i < MANY; i++) {
        test_ok_error(husk_buffer_create(test_context(), 64, &all[i], &error), &error);
        for (int k = i > 300 ? i - 300 : 0; k < i && i > 600; k++)
            again += all[k] == all[i];
        husk_buffer_release(all[i]);
    }
    ck_assert_int_gt(again, 0); // addresses serve again
    for (int i = 0; i < MANY; i++)
        test_ok_error(husk_buffer_create(test_context(), 64, &all[i], &error), &error);
    for (int i = 0; i < MANY; i++)
        for (int k = 0; k < i; k++)
            ck_assert_ptr_ne(all[i], all[k]);
    for (int i = 0; i < MANY; i++)
        husk_buffer_release(all[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("released");
    TCase *tests = tcase_create("released");
    tcase_add_test(tests, tensors_of_released_buffers_are_refused);
    tcase_add_test(tests, transfers_and_views_are_refused);
    tcase_add_test(tests, what_is_kept_is_bounded);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
