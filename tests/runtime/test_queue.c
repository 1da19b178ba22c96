// SPDX-License-Identifier: MIT
// ctest: tiers=default,valgrind
// Queues, events, and the order between queues.
#include <pthread.h>
#include <string.h>

#include "support/gate.h"
#include "support/support.h"

static husk_queue *make_queue(void)
{
    husk_queue *queue = NULL;
    husk_error error = {0};
    test_ok_error(husk_queue_create(test_context(), NULL, &queue, &error), &error);
    return queue;
}

static husk_buffer *make_buffer(uint64_t bytes)
{
    husk_buffer *buffer = NULL;
    husk_error error = {0};
    test_ok_error(husk_buffer_create(test_context(), bytes, &buffer, &error), &error);
    return buffer;
}

START_TEST(null_arguments_are_refused)
{
    husk_error error = {0};
    husk_queue *queue = NULL;
    husk_event *event = NULL;
    ck_assert_int_eq(husk_queue_create(NULL, NULL, &queue, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "husk_queue_create: context"));
    ck_assert_int_eq(husk_queue_create(test_context(), NULL, NULL, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "queue: is NULL"));
    ck_assert_int_eq(husk_queue_create(test_context(), NULL, NULL, NULL), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_queue_finish(NULL), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_queue_flush(NULL), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_queue_record(NULL, &event), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_queue_record(test_queue(), NULL), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(husk_queue_error(test_queue())->text, "husk_queue_record: event: is NULL"));
    ck_assert_int_eq(husk_queue_error(test_queue())->status, HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_queue_wait(test_queue(), NULL), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_event_wait(NULL, 0), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(husk_queue_error(NULL));
    ck_assert_ptr_null(husk_queue_context(NULL));
    husk_queue_release(NULL);
    husk_event_release(NULL);
    husk_event_retain(NULL);
}
END_TEST

START_TEST(params_of_a_newer_version_are_refused)
{
    husk_error error = {0};
    husk_queue *queue = NULL;
    husk_queue_params params = HUSK_QUEUE_PARAMS(.profiling = 1);
    params.size += 8;
    ck_assert_int_eq(husk_queue_create(test_context(), &params, &queue, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "params: size"));
    ck_assert_ptr_null(queue);
}
END_TEST

START_TEST(a_fresh_queue_has_no_error)
{
    husk_queue *queue = make_queue();
    ck_assert_int_eq(husk_queue_error(queue)->status, HUSK_OK);
    ck_assert_str_eq(husk_queue_error(queue)->text, "");
    ck_assert_ptr_eq(husk_queue_context(queue), test_context());
    test_ok(husk_queue_finish(queue));
    husk_queue_release(queue);
}
END_TEST

START_TEST(an_event_ends_when_the_work_before_it_has)
{
    husk_queue *queue = make_queue();
    husk_buffer *buffer = make_buffer(64);
    test_gate gate = test_gate_close(queue);
    husk_event *event = NULL;
    const uint32_t word = 7;
    test_ok(husk_buffer_fill(queue, buffer, 0, 64, &word, sizeof word));
    test_ok(husk_queue_record(queue, &event));
    ck_assert_int_eq(husk_event_wait(event, 0), HUSK_TIMEOUT);
    ck_assert_int_eq(husk_event_wait(event, 3000000), HUSK_TIMEOUT);
    test_gate_open(&gate);
    ck_assert_int_eq(husk_event_wait(event, UINT64_C(10000000000)), HUSK_OK);
    ck_assert_int_eq(husk_event_wait(event, HUSK_FOREVER), HUSK_OK);
    ck_assert_int_eq(husk_event_wait(event, 0), HUSK_OK);
    husk_event_release(event);
    husk_buffer_release(buffer);
    husk_queue_release(queue);
}
END_TEST

START_TEST(an_event_on_an_empty_queue_ends)
{
    husk_queue *queue = make_queue();
    husk_event *event = NULL;
    test_ok(husk_queue_record(queue, &event));
    ck_assert_int_eq(husk_event_wait(event, HUSK_FOREVER), HUSK_OK);
    husk_event_release(event);
    husk_queue_release(queue);
}
END_TEST

/* The first queue is held back; the second waits for its event and only then reads what the first writes. */
START_TEST(a_queue_waits_for_the_event_of_another)
{
    enum { COUNT = 1024 };
    static uint32_t seen[COUNT];
    husk_queue *first = make_queue(), *second = make_queue();
    husk_buffer *a = make_buffer(sizeof seen), *b = make_buffer(sizeof seen);
    const uint32_t old = 1, new = 2;
    test_ok(husk_buffer_fill(first, a, 0, sizeof seen, &old, sizeof old));
    test_ok(husk_queue_finish(first));

    test_gate gate = test_gate_close(first);
    husk_event *filled = NULL, *copied = NULL;
    test_ok(husk_buffer_fill(first, a, 0, sizeof seen, &new, sizeof new));
    test_ok(husk_queue_record(first, &filled));
    test_ok(husk_queue_wait(second, filled));
    test_ok(husk_buffer_copy(second, a, 0, b, 0, sizeof seen));
    test_ok(husk_queue_record(second, &copied));
    ck_assert_int_eq(husk_event_wait(copied, 5000000), HUSK_TIMEOUT);
    test_gate_open(&gate);
    test_ok(husk_buffer_read(second, b, 0, sizeof seen, seen));
    for (int i = 0; i < COUNT; i++)
        ck_assert_uint_eq(seen[i], new);
    husk_event_release(filled);
    husk_event_release(copied);
    husk_buffer_release(a);
    husk_buffer_release(b);
    husk_queue_release(first);
    husk_queue_release(second);
}
END_TEST

START_TEST(an_event_outlives_its_queue)
{
    husk_queue *queue = make_queue();
    husk_event *event = NULL;
    test_ok(husk_queue_record(queue, &event));
    husk_queue_release(queue);
    ck_assert_int_eq(husk_event_wait(event, HUSK_FOREVER), HUSK_OK);
    husk_event_retain(event);
    husk_event_release(event);
    ck_assert_int_eq(husk_event_wait(event, 0), HUSK_OK);
    husk_event_release(event);
}
END_TEST

START_TEST(another_contexts_event_is_refused)
{
    husk_error error = {0};
    husk_context *other = NULL;
    husk_queue *queue = NULL;
    husk_event *event = NULL;
    test_ok_error(husk_context_create(NULL, NULL, &other, &error), &error);
    test_ok_error(husk_queue_create(other, NULL, &queue, &error), &error);
    test_ok(husk_queue_record(queue, &event));
    ck_assert_int_eq(husk_queue_wait(test_queue(), event), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(husk_queue_error(test_queue())->text, "husk_queue_wait: event: belongs to another"));
    husk_event_release(event);
    husk_queue_release(queue);
    husk_context_release(other);
}
END_TEST

START_TEST(work_enqueued_survives_the_release_of_its_queue_and_buffers)
{
    husk_queue *queue = make_queue();
    husk_buffer *source = make_buffer(1 << 20), *target = make_buffer(1 << 20);
    const uint32_t word = 0xabcd1234;
    uint32_t seen = 0;
    husk_event *event = NULL;
    test_ok(husk_buffer_fill(queue, source, 0, 1 << 20, &word, sizeof word));
    test_ok(husk_buffer_copy(queue, source, 0, target, 0, 1 << 20));
    test_ok(husk_queue_record(queue, &event));
    husk_buffer_release(source);
    husk_queue_release(queue);
    ck_assert_int_eq(husk_event_wait(event, HUSK_FOREVER), HUSK_OK);
    test_ok(husk_buffer_read(test_queue(), target, (1 << 20) - 4, 4, &seen));
    ck_assert_uint_eq(seen, word);
    husk_event_release(event);
    husk_buffer_release(target);
}
END_TEST

/* The memory that an asynchronous write passes through has to outlive the queue. */
START_TEST(a_release_does_not_wait_for_a_write)
{
    enum { BYTES = 1 << 20 };
    static uint32_t sent[BYTES / 4], seen[BYTES / 4];
    husk_queue *queue = make_queue();
    husk_buffer *buffer = make_buffer(BYTES);
    husk_event *event = NULL;
    test_held_gate held;
    for (uint32_t i = 0; i < BYTES / 4; i++)
        sent[i] = i * 2654435761u;
    test_gate_hold(&held, queue);
    test_ok(husk_buffer_write_async(queue, buffer, 0, BYTES, sent));
    test_ok(husk_queue_record(queue, &event));
    husk_queue_release(queue);
    ck_assert_msg(test_gate_held(&held), "husk_queue_release has waited");
    ck_assert_int_eq(husk_event_wait(event, HUSK_FOREVER), HUSK_OK);
    test_ok(husk_buffer_read(test_queue(), buffer, 0, BYTES, seen));
    ck_assert_mem_eq(seen, sent, BYTES);
    husk_event_release(event);
    husk_buffer_release(buffer);
}
END_TEST

/* One of them is stuck, and nobody has waited for the others: more than a block has room for. */
START_TEST(queues_that_share_a_buffer_do_not_wait_for_each_other)
{
    enum { QUEUES = 24 };
    husk_queue *queues[QUEUES];
    husk_buffer *shared = make_buffer(4096);
    test_held_gate held;
    uint32_t seen[QUEUES];
    for (uint32_t i = 0; i < QUEUES; i++) {
        queues[i] = make_queue();
        if (i == 0)
            test_gate_hold(&held, queues[0]);
        test_ok(husk_buffer_fill(queues[i], shared, (uint64_t)i * 4, 4, &i, 4));
        test_ok(husk_queue_flush(queues[i]));
    }
    ck_assert_msg(test_gate_held(&held), "husk_buffer_fill has waited for another queue");
    for (uint32_t i = 0; i < QUEUES; i++) {
        test_ok(husk_queue_finish(queues[i]));
        husk_queue_release(queues[i]);
    }
    test_ok(husk_buffer_read(test_queue(), shared, 0, sizeof seen, seen));
    for (uint32_t i = 0; i < QUEUES; i++)
        ck_assert_uint_eq(seen[i], i);
    husk_buffer_release(shared);
}
END_TEST

/* Each thread has a queue; all of them write and read their own numbers, over and over. */
enum { THREADS = 4, ROUNDS = 40, WORDS = 2048 };

static void *write_and_read(void *argument)
{
    uint32_t number = *(uint32_t *)argument, *values = malloc(WORDS * sizeof *values), wrong = 0;
    husk_queue *queue = NULL;
    husk_buffer *a = NULL, *b = NULL;
    wrong += husk_queue_create(test_context(), NULL, &queue, NULL) != HUSK_OK;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const uint32_t word = number * 1000 + round;
        wrong += husk_buffer_create(test_context(), WORDS * sizeof *values, &a, NULL) != HUSK_OK;
        wrong += husk_buffer_create(test_context(), WORDS * sizeof *values, &b, NULL) != HUSK_OK;
        wrong += husk_buffer_fill(queue, a, 0, WORDS * sizeof *values, &word, sizeof word) != HUSK_OK;
        wrong += husk_buffer_copy(queue, a, 0, b, 0, WORDS * sizeof *values) != HUSK_OK;
        husk_buffer_release(a); /* the copy may not have begun */
        wrong += husk_buffer_read(queue, b, 0, WORDS * sizeof *values, values) != HUSK_OK;
        husk_buffer_release(b);
        for (int i = 0; i < WORDS; i++)
            wrong += values[i] != word;
    }
    husk_queue_release(queue);
    free(values);
    *(uint32_t *)argument = wrong;
    return NULL;
}

START_TEST(threads_with_a_queue_each_do_not_meet)
{
    pthread_t threads[THREADS];
    uint32_t numbers[THREADS];
    test_context();
    for (uint32_t i = 0; i < THREADS; i++) {
        numbers[i] = i + 1;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, write_and_read, &numbers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_uint_eq(numbers[i], 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("queue");
    TCase *tests = tcase_create("queue");
    tcase_add_test(tests, null_arguments_are_refused);
    tcase_add_test(tests, params_of_a_newer_version_are_refused);
    tcase_add_test(tests, a_fresh_queue_has_no_error);
    tcase_add_test(tests, an_event_ends_when_the_work_before_it_has);
    tcase_add_test(tests, an_event_on_an_empty_queue_ends);
    tcase_add_test(tests, a_queue_waits_for_the_event_of_another);
    tcase_add_test(tests, an_event_outlives_its_queue);
    tcase_add_test(tests, another_contexts_event_is_refused);
    tcase_add_test(tests, work_enqueued_survives_the_release_of_its_queue_and_buffers);
    tcase_add_test(tests, a_release_does_not_wait_for_a_write);
    tcase_add_test(tests, queues_that_share_a_buffer_do_not_wait_for_each_other);
    tcase_add_test(tests, threads_with_a_queue_each_do_not_meet);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
