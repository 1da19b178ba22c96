// SPDX-License-Identifier: MIT
// ctest: tiers=default,valgrind
// Ways in and out of device memory: blocking, asynchronous, mapped; copies, fills, views, and what is refused.
#include <stdlib.h>
#include <string.h>

#include "support/gate.h"
#include "support/support.h"

enum { BYTES = 10000 };

static unsigned char host[BYTES], seen[BYTES];
static husk_buffer *buffer;

static void setup(void)
{
    husk_error error = {0};
    test_ok_error(husk_buffer_create(test_context(), BYTES, &buffer, &error), &error);
    for (int i = 0; i < BYTES; i++)
        host[i] = (unsigned char)(i * 7 + i / 256);
    memset(seen, 0, sizeof seen);
}

static void teardown(void)
{
    test_ok(husk_queue_finish(test_queue()));
    husk_buffer_release(buffer);
    buffer = NULL;
}

static husk_buffer *make_view(uint64_t offset, uint64_t bytes)
{
    husk_buffer *view = NULL;
    husk_error error = {0};
    test_ok_error(husk_buffer_view(buffer, offset, bytes, &view, &error), &error);
    return view;
}

START_TEST(what_is_written_is_read)
{
    test_ok(husk_buffer_write(test_queue(), buffer, 0, BYTES, host));
    test_ok(husk_buffer_read(test_queue(), buffer, 0, BYTES, seen));
    ck_assert_mem_eq(seen, host, BYTES);
    test_ok(husk_buffer_write(test_queue(), buffer, 13, 5, "abcde"));
    test_ok(husk_buffer_read(test_queue(), buffer, 12, 7, seen));
    ck_assert_mem_eq(seen + 1, "abcde", 5);
    ck_assert_uint_eq(seen[0], host[12]);
    ck_assert_uint_eq(seen[6], host[18]);
}
END_TEST

/* The host memory may be changed at once: what reaches the device is what it held at the call. */
START_TEST(write_async_takes_a_copy)
{
    test_gate gate = test_gate_close(test_queue());
    unsigned char changing[BYTES];
    memcpy(changing, host, BYTES);
    test_ok(husk_buffer_write_async(test_queue(), buffer, 0, BYTES, changing));
    memset(changing, 0xee, BYTES);
    test_gate_open(&gate);
    test_ok(husk_buffer_read(test_queue(), buffer, 0, BYTES, seen));
    ck_assert_mem_eq(seen, host, BYTES);
}
END_TEST

/* Many of them held back at once, so that each needs staging memory of its own; large and small ones by turns. */
START_TEST(write_async_many)
{
    static const int sizes[] = {1, 100, 5000};
    const int chunk = sizes[_i];
    test_held_gate held;
    test_gate_hold(&held, test_queue());
    for (int i = 0; i < BYTES; i += chunk) {
        unsigned char bytes[5000];
        memcpy(bytes, host + i, (size_t)chunk);
        test_ok(husk_buffer_write_async(test_queue(), buffer, (uint64_t)i, (uint64_t)chunk, bytes));
        memset(bytes, 0xee, (size_t)chunk);
        if (i % 1000 == 0) // in between what small ones have no room for
            test_ok(husk_buffer_write_async(test_queue(), buffer, 0, (uint64_t)i + 1, host));
    }
    ck_assert_msg(test_gate_held(&held), "writes of %d bytes have waited", chunk);
    test_ok(husk_buffer_read(test_queue(), buffer, 0, BYTES, seen));
    ck_assert_mem_eq(seen, host, BYTES);
}
END_TEST

START_TEST(write_async_reuses_its_staging_memory)
{
    husk_queue *queue = NULL;
    husk_error error = {0};
    test_ok_error(husk_queue_create(test_context(), NULL, &queue, &error), &error);
    for (unsigned round = 0; round < 200; round++) {
        host[0] = (unsigned char)round;
        test_ok(husk_buffer_write_async(queue, buffer, 0, BYTES, host));
        test_ok(husk_buffer_read(queue, buffer, 0, 1, seen));
        ck_assert_uint_eq(seen[0], host[0]);
    }
    husk_queue_release(queue);
}
END_TEST

/* 128 MiB in use are waited for; what is kept for use again is not in use, and a few bytes do not make it so. */
START_TEST(write_async_does_not_wait_for_what_is_kept)
{
    enum { LARGE = 110 << 20, MIDDLE = 24 << 20 };
    husk_queue *queue = NULL;
    husk_buffer *large = NULL;
    husk_error error = {0};
    test_held_gate held;
    unsigned char *bytes = calloc(1, LARGE);
    ck_assert_ptr_nonnull(bytes);
    test_ok_error(husk_queue_create(test_context(), NULL, &queue, &error), &error);
    test_ok_error(husk_buffer_create(test_context(), LARGE, &large, &error), &error);
    test_ok(husk_buffer_write_async(queue, large, 0, LARGE, bytes));
    test_ok(husk_queue_finish(queue));
    test_gate_hold(&held, queue);
    test_ok(husk_buffer_write_async(queue, buffer, 0, 1000, host));
    bytes[MIDDLE - 1] = 77;
    test_ok(husk_buffer_write_async(queue, large, 0, MIDDLE, bytes));
    ck_assert_msg(test_gate_held(&held), "24 MiB beside 1000 bytes have waited");
    test_ok(husk_buffer_read(queue, buffer, 0, 1000, seen));
    ck_assert_mem_eq(seen, host, 1000);
    test_ok(husk_buffer_read(queue, large, MIDDLE - 1, 1, seen));
    ck_assert_uint_eq(seen[0], 77);
    husk_buffer_release(large);
    husk_queue_release(queue);
    free(bytes);
}
END_TEST

START_TEST(read_async_has_arrived_when_the_event_says_so)
{
    test_ok(husk_buffer_write(test_queue(), buffer, 0, BYTES, host));
    test_gate gate = test_gate_close(test_queue());
    husk_event *event = NULL;
    test_ok(husk_buffer_read_async(test_queue(), buffer, 0, BYTES, seen));
    test_ok(husk_queue_record(test_queue(), &event));
    ck_assert_int_eq(husk_event_wait(event, 2000000), HUSK_TIMEOUT);
    ck_assert_uint_eq(seen[1], 0);
    test_gate_open(&gate);
    ck_assert_int_eq(husk_event_wait(event, HUSK_FOREVER), HUSK_OK);
    ck_assert_mem_eq(seen, host, BYTES);
    husk_event_release(event);
}
END_TEST

START_TEST(maps_read_and_write)
{
    unsigned char *mapped = NULL;
    test_ok(husk_buffer_write(test_queue(), buffer, 0, BYTES, host));
    test_ok(husk_buffer_map(test_queue(), buffer, HUSK_MAP_READ, 100, 50, (void **)&mapped));
    ck_assert_mem_eq(mapped, host + 100, 50);
    test_ok(husk_buffer_unmap(test_queue(), buffer, mapped));

    test_ok(husk_buffer_map(test_queue(), buffer, HUSK_MAP_WRITE, 100, 50, (void **)&mapped));
    mapped[3] = 0xaa;
    test_ok(husk_buffer_unmap(test_queue(), buffer, mapped));
    test_ok(husk_buffer_read(test_queue(), buffer, 0, BYTES, seen));
    host[103] = 0xaa;
    ck_assert_mem_eq(seen, host, BYTES);

    test_ok(husk_buffer_map(test_queue(), buffer, HUSK_MAP_DISCARD, 0, BYTES, (void **)&mapped));
    memset(mapped, 0x55, BYTES);
    test_ok(husk_buffer_unmap(test_queue(), buffer, mapped));
    test_ok(husk_buffer_read(test_queue(), buffer, 0, BYTES, seen));
    for (int i = 0; i < BYTES; i++)
        ck_assert_uint_eq(seen[i], 0x55);
}
END_TEST

START_TEST(bad_maps_are_refused)
{
    void *mapped = host;
    husk_queue *queue = test_silent_queue();
    const int modes[] = {0, 8, HUSK_MAP_DISCARD | HUSK_MAP_READ, HUSK_MAP_DISCARD | HUSK_MAP_WRITE, -1};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        test_refused(husk_buffer_map(queue, buffer, (husk_map_mode)modes[i], 0, 4, &mapped), HUSK_INVALID_ARGUMENT,
                     "mode");
        ck_assert_ptr_null(mapped);
    }
    test_refused(husk_buffer_map(queue, buffer, HUSK_MAP_READ, 0, 4, NULL), HUSK_INVALID_ARGUMENT, "host");
    test_refused(husk_buffer_map(queue, buffer, HUSK_MAP_READ, BYTES - 3, 4, &mapped), HUSK_INVALID_ARGUMENT, "bytes");
    test_refused(husk_buffer_unmap(queue, buffer, NULL), HUSK_INVALID_ARGUMENT, "host");
}
END_TEST

START_TEST(fills_repeat_their_pattern)
{
    const unsigned char pattern[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    for (uint64_t width = 1; width <= 16; width *= 2) {
        test_ok(husk_buffer_write(test_queue(), buffer, 0, BYTES, host));
        test_ok(husk_buffer_fill(test_queue(), buffer, 3 * 16, 20 * 16, pattern, width));
        test_ok(husk_buffer_read(test_queue(), buffer, 0, BYTES, seen));
        for (uint64_t i = 0; i < BYTES; i++) {
            const bool inside = i >= 3 * 16 && i < 23 * 16;
            ck_assert_uint_eq(seen[i], inside ? pattern[i % width] : host[i]);
        }
    }
}
END_TEST

START_TEST(bad_fills_are_refused)
{
    const uint32_t word = 1;
    husk_queue *queue = test_silent_queue();
    test_refused(husk_buffer_fill(queue, buffer, 0, 8, NULL, 4), HUSK_INVALID_ARGUMENT, "pattern");
    for (uint64_t width = 0; width < 40; width++)
        if (width != 1 && width != 2 && width != 4 && width != 8 && width != 16)
            test_refused(husk_buffer_fill(queue, buffer, 0, 8, host, width), HUSK_INVALID_ARGUMENT, "pattern_bytes");
    test_refused(husk_buffer_fill(queue, buffer, 2, 8, &word, 4), HUSK_INVALID_ARGUMENT, "bytes");
    test_refused(husk_buffer_fill(queue, buffer, 0, 6, &word, 4), HUSK_INVALID_ARGUMENT, "bytes");
    test_refused(husk_buffer_fill(queue, buffer, BYTES, 4, &word, 4), HUSK_INVALID_ARGUMENT, "bytes");
}
END_TEST

START_TEST(copies_move_bytes_and_refuse_overlap)
{
    husk_buffer *other = NULL;
    husk_error error = {0};
    husk_queue *queue = test_silent_queue();
    test_ok_error(husk_buffer_create(test_context(), BYTES, &other, &error), &error);
    test_ok(husk_buffer_write(test_queue(), buffer, 0, BYTES, host));
    test_ok(husk_buffer_copy(test_queue(), buffer, 5, other, 17, 1000));
    test_ok(husk_buffer_read(test_queue(), other, 17, 1000, seen));
    ck_assert_mem_eq(seen, host + 5, 1000);
    /* within one buffer, side by side */
    test_ok(husk_buffer_copy(test_queue(), buffer, 0, buffer, 5000, 5000));
    test_ok(husk_buffer_read(test_queue(), buffer, 5000, 5000, seen));
    ck_assert_mem_eq(seen, host, 5000);
    test_refused(husk_buffer_copy(queue, buffer, 0, buffer, 4999, 5000), HUSK_INVALID_ARGUMENT, "to");
    test_refused(husk_buffer_copy(queue, buffer, 10, buffer, 10, 1), HUSK_INVALID_ARGUMENT, "to");
    test_refused(husk_buffer_copy(queue, NULL, 0, buffer, 0, 1), HUSK_INVALID_ARGUMENT, "from");
    test_refused(husk_buffer_copy(queue, buffer, 0, NULL, 0, 1), HUSK_INVALID_ARGUMENT, "to");
    husk_buffer *view = make_view(100, 200);
    test_refused(husk_buffer_copy(queue, buffer, 299, view, 0, 1000), HUSK_INVALID_ARGUMENT, "bytes");
    test_refused(husk_buffer_copy(queue, buffer, 299, view, 100, 100), HUSK_INVALID_ARGUMENT, "to");
    husk_buffer_release(view);
    husk_buffer_release(other);
}
END_TEST

START_TEST(views_share_memory_and_keep_it_alive)
{
    test_ok(husk_buffer_write(test_queue(), buffer, 0, BYTES, host));
    husk_buffer *view = make_view(1001, 500), *inner = NULL;
    ck_assert_uint_eq(husk_buffer_size(view), 500);
    husk_error error = {0};
    test_ok_error(husk_buffer_view(view, 10, 490, &inner, &error), &error);
    husk_buffer_release(view);
    husk_buffer_retain(buffer);
    husk_buffer_release(buffer); /* as a caller would who no longer needs the parent */
    test_ok(husk_buffer_read(test_queue(), inner, 0, 490, seen));
    ck_assert_mem_eq(seen, host + 1011, 490);
    ck_assert_int_eq(husk_buffer_view(inner, 0, 491, &view, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "husk_buffer_view: bytes"));
    ck_assert_ptr_null(view);
    test_ok_error(husk_buffer_view(inner, 490, 0, &view, &error), &error);
    husk_buffer_release(view);
    husk_buffer_release(inner);
}
END_TEST

START_TEST(a_view_outlives_its_parent)
{
    husk_buffer *parent = NULL, *view = NULL;
    husk_error error = {0};
    test_ok_error(husk_buffer_create(test_context(), 4096, &parent, &error), &error);
    test_ok(husk_buffer_write(test_queue(), parent, 0, 4096, host));
    test_ok_error(husk_buffer_view(parent, 1024, 1024, &view, &error), &error);
    husk_buffer_release(parent);
    test_ok_error(husk_buffer_create(test_context(), 4096, &parent, &error), &error);
    const uint32_t zero = 0; /* were the block handed out again, this would show */
    test_ok(husk_buffer_fill(test_queue(), parent, 0, 4096, &zero, 4));
    test_ok(husk_buffer_read(test_queue(), view, 0, 1024, seen));
    ck_assert_mem_eq(seen, host + 1024, 1024);
    husk_buffer_release(parent);
    husk_buffer_release(view);
}
END_TEST

START_TEST(ranges_past_the_end_are_refused_whatever_the_sum_does)
{
    husk_queue *queue = test_silent_queue();
    const uint64_t bad[][2] = {{0, BYTES + 1},           {1, BYTES},          {BYTES, 1},
                               {BYTES + 1, 0},           {UINT64_MAX, 1},     {1, UINT64_MAX},
                               {UINT64_MAX, UINT64_MAX}, {UINT64_MAX - 3, 8}, {BYTES / 2, UINT64_MAX - BYTES / 2 + 1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        test_refused(husk_buffer_write(queue, buffer, bad[i][0], bad[i][1], host), HUSK_INVALID_ARGUMENT, "bytes");
        test_refused(husk_buffer_read(queue, buffer, bad[i][0], bad[i][1], seen), HUSK_INVALID_ARGUMENT, "bytes");
        test_refused(husk_buffer_write_async(queue, buffer, bad[i][0], bad[i][1], host), HUSK_INVALID_ARGUMENT,
                     "bytes");
        test_refused(husk_buffer_read_async(queue, buffer, bad[i][0], bad[i][1], seen), HUSK_INVALID_ARGUMENT, "bytes");
        test_refused(husk_buffer_copy(queue, buffer, bad[i][0], buffer, 0, bad[i][1]), HUSK_INVALID_ARGUMENT, "bytes");
        husk_buffer *view = NULL;
        ck_assert_int_eq(husk_buffer_view(buffer, bad[i][0], bad[i][1], &view, NULL), HUSK_INVALID_ARGUMENT);
    }
}
END_TEST

START_TEST(null_arguments_are_refused)
{
    husk_queue *queue = test_silent_queue();
    test_refused(husk_buffer_write(queue, NULL, 0, 1, host), HUSK_INVALID_ARGUMENT, "buffer");
    test_refused(husk_buffer_read(queue, NULL, 0, 1, seen), HUSK_INVALID_ARGUMENT, "buffer");
    test_refused(husk_buffer_write(queue, buffer, 0, 1, NULL), HUSK_INVALID_ARGUMENT, "host");
    test_refused(husk_buffer_read(queue, buffer, 0, 1, NULL), HUSK_INVALID_ARGUMENT, "host");
    test_refused(husk_buffer_write_async(queue, buffer, 0, 1, NULL), HUSK_INVALID_ARGUMENT, "host");
    test_refused(husk_buffer_read_async(queue, buffer, 0, 1, NULL), HUSK_INVALID_ARGUMENT, "host");
    test_refused(husk_buffer_fill(queue, NULL, 0, 4, host, 4), HUSK_INVALID_ARGUMENT, "buffer");
    ck_assert_int_eq(husk_buffer_write(NULL, buffer, 0, 1, host), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_buffer_view(NULL, 0, 0, NULL, NULL), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_buffer_view(buffer, 0, 0, NULL, NULL), HUSK_INVALID_ARGUMENT);
    ck_assert_uint_eq(husk_buffer_size(NULL), 0);
    ck_assert_ptr_null(husk_buffer_context(NULL));
    ck_assert_ptr_eq(husk_buffer_context(buffer), test_context());
    husk_buffer_release(NULL);
    husk_buffer_retain(NULL);
}
END_TEST

START_TEST(nothing_is_a_legal_amount)
{
    husk_buffer *empty = NULL;
    husk_error error = {0};
    test_ok_error(husk_buffer_create(test_context(), 0, &empty, &error), &error);
    ck_assert_uint_eq(husk_buffer_size(empty), 0);
    test_ok(husk_buffer_write(test_queue(), empty, 0, 0, NULL));
    test_ok(husk_buffer_read(test_queue(), empty, 0, 0, NULL));
    test_ok(husk_buffer_write_async(test_queue(), empty, 0, 0, NULL));
    test_ok(husk_buffer_read_async(test_queue(), empty, 0, 0, NULL));
    test_ok(husk_buffer_copy(test_queue(), empty, 0, buffer, BYTES, 0));
    test_ok(husk_buffer_fill(test_queue(), empty, 0, 0, host, 4));
    test_ok(husk_buffer_write(test_queue(), buffer, BYTES, 0, NULL));
    test_refused(husk_buffer_write(test_silent_queue(), empty, 0, 1, host), HUSK_INVALID_ARGUMENT, "bytes");
    husk_buffer_release(empty);
}
END_TEST

START_TEST(another_contexts_buffer_is_refused)
{
    husk_context *other = NULL;
    husk_buffer *foreign = NULL;
    husk_error error = {0};
    void *mapped;
    test_ok_error(husk_context_create(NULL, NULL, &other, &error), &error);
    test_ok_error(husk_buffer_create(other, 64, &foreign, &error), &error);
    husk_queue *queue = test_silent_queue();
    test_refused(husk_buffer_write(queue, foreign, 0, 1, host), HUSK_INVALID_ARGUMENT, "buffer");
    test_refused(husk_buffer_read(queue, foreign, 0, 1, seen), HUSK_INVALID_ARGUMENT, "buffer");
    test_refused(husk_buffer_copy(queue, buffer, 0, foreign, 0, 1), HUSK_INVALID_ARGUMENT, "to");
    test_refused(husk_buffer_copy(queue, foreign, 0, buffer, 0, 1), HUSK_INVALID_ARGUMENT, "from");
    test_refused(husk_buffer_map(queue, foreign, HUSK_MAP_READ, 0, 1, &mapped), HUSK_INVALID_ARGUMENT, "buffer");
    test_refused(husk_buffer_fill(queue, foreign, 0, 4, host, 4), HUSK_INVALID_ARGUMENT, "buffer");
    husk_buffer_release(foreign);
    husk_context_release(other);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transfer");
    TCase *tests = tcase_create("transfer");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, what_is_written_is_read);
    tcase_add_test(tests, write_async_takes_a_copy);
    tcase_add_loop_test(tests, write_async_many, 0, 3);
    tcase_add_test(tests, write_async_reuses_its_staging_memory);
    tcase_add_test(tests, write_async_does_not_wait_for_what_is_kept);
    tcase_add_test(tests, read_async_has_arrived_when_the_event_says_so);
    tcase_add_test(tests, maps_read_and_write);
    tcase_add_test(tests, bad_maps_are_refused);
    tcase_add_test(tests, fills_repeat_their_pattern);
    tcase_add_test(tests, bad_fills_are_refused);
    tcase_add_test(tests, copies_move_bytes_and_refuse_overlap);
    tcase_add_test(tests, views_share_memory_and_keep_it_alive);
    tcase_add_test(tests, a_view_outlives_its_parent);
    tcase_add_test(tests, ranges_past_the_end_are_refused_whatever_the_sum_does);
    tcase_add_test(tests, null_arguments_are_refused);
    tcase_add_test(tests, nothing_is_a_legal_amount);
    tcase_add_test(tests, another_contexts_buffer_is_refused);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
