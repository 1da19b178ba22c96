// SPDX-License-Identifier: MIT
// ctest: tiers=default,valgrind
// The pool of device memory: its budget, its figures, and when a freed block may be handed out again.
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "husk/opencl.h"
#include "runtime/call.h"
#include "support/environment.h"
#include "support/gate.h"
#include "support/support.h"

enum { MEGABYTE = 1 << 20 };

static husk_context *context;
static husk_queue *queue, *other_queue;

static void open_with(const husk_context_params *params)
{
    husk_error error = {0};
    test_ok_error(husk_context_create(NULL, params, &context, &error), &error);
    test_ok_error(husk_queue_create(context, NULL, &queue, &error), &error);
    test_ok_error(husk_queue_create(context, NULL, &other_queue, &error), &error);
}

static void setup(void)
{
    husk_context_params params = HUSK_CONTEXT_PARAMS(.memory_budget = 64 * MEGABYTE);
    open_with(&params);
}

static void teardown(void)
{
    husk_queue_release(queue);
    husk_queue_release(other_queue);
    husk_context_release(context);
}

static husk_memory_stats stats(void)
{
    husk_memory_stats figures;
    husk_context_memory_stats(context, &figures);
    return figures;
}

static husk_buffer *make(uint64_t bytes)
{
    husk_buffer *buffer = NULL;
    husk_error error = {0};
    test_ok_error(husk_buffer_create(context, bytes, &buffer, &error), &error);
    ck_assert_str_eq(error.text, ""); // whatever was tried on the way
    return buffer;
}

START_TEST(figures_follow_what_happens)
{
    ck_assert_uint_eq(stats().budget_bytes, 64 * MEGABYTE);
    ck_assert_uint_eq(stats().live_bytes, 0);
    husk_buffer *a = make(MEGABYTE), *b = make(3 * MEGABYTE);
    ck_assert_uint_ge(stats().live_bytes, 4 * MEGABYTE);
    ck_assert_uint_le(stats().live_bytes, 5 * MEGABYTE); /* at most a quarter more than was asked for */
    ck_assert_uint_eq(stats().allocations, 2);
    const uint64_t peak = stats().peak_bytes;
    husk_buffer_release(b);
    ck_assert_uint_ge(stats().cached_bytes, 3 * MEGABYTE);
    ck_assert_uint_eq(stats().peak_bytes, peak);
    b = make(3 * MEGABYTE - 100);
    ck_assert_uint_eq(stats().allocations, 2);
    ck_assert_uint_eq(stats().reuses, 1);
    ck_assert_uint_eq(stats().cached_bytes, 0);
    husk_buffer_release(a);
    husk_buffer_release(b);
    ck_assert_uint_eq(stats().live_bytes, 0);
    ck_assert_uint_eq(stats().peak_bytes, peak);
}
END_TEST

START_TEST(trim_returns_what_is_cached)
{
    husk_buffer *held = make(MEGABYTE);
    for (int i = 0; i < 4; i++)
        husk_buffer_release(make((uint64_t)(i + 1) * MEGABYTE));
    ck_assert_uint_ge(stats().cached_bytes, 4 * MEGABYTE);
    husk_context_trim(context, 2 * MEGABYTE);
    ck_assert_uint_le(stats().cached_bytes, 2 * MEGABYTE);
    husk_context_trim(context, 0);
    ck_assert_uint_eq(stats().cached_bytes, 0);
    ck_assert_uint_eq(stats().live_bytes, husk_buffer_size(held));
    husk_context_trim(NULL, 0);
    husk_buffer_release(held);
}
END_TEST

START_TEST(trim_leaves_what_commands_still_use)
{
    const uint32_t one = 1;
    husk_buffer *used = make(2 * MEGABYTE);
    test_gate gate = test_gate_close(queue);
    test_ok(husk_buffer_fill(queue, used, 0, 2 * MEGABYTE, &one, 4));
    husk_buffer_release(used);
    husk_buffer_release(make(MEGABYTE));
    husk_context_trim(context, 0);
    ck_assert_uint_ge(stats().cached_bytes, 2 * MEGABYTE); /* the driver has it, so it counts */
    ck_assert_uint_lt(stats().cached_bytes, 3 * MEGABYTE);
    test_gate_open(&gate);
    test_ok(husk_queue_finish(queue));
    husk_context_trim(context, 0);
    ck_assert_uint_eq(stats().cached_bytes, 0);
}
END_TEST

static cl_uint references_of(cl_command_queue cl)
{
    cl_uint references = 0;
    ck_assert_int_eq(clGetCommandQueueInfo(cl, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references, NULL), 0);
    return references;
}

/* PoCL lets go of a command's queue a moment after the wait for it has ended. */
static cl_uint references_after(cl_command_queue cl, cl_uint wanted)
{
    for (int i = 0; i < 1000 && references_of(cl) > wanted; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return references_of(cl);
}

/* A buffer that outlives its queues keeps none of the driver's: those that have ended go at once, others by trim. */
START_TEST(a_buffer_keeps_no_queue_that_has_ended)
{
    const uint32_t one = 1;
    cl_uint own = 0; // what PoCL keeps by itself for the last command that used a buffer
    for (int i = 0; i < 6; i++) {
        const bool is_early = i % 2 != 0;
        husk_queue *last = NULL;
        husk_error error = {0};
        husk_buffer *buffer = make(MEGABYTE);
        test_gate gate = {0};
        test_ok_error(husk_queue_create(context, NULL, &last, &error), &error);
        cl_command_queue cl = husk_queue_opencl(last);
        clRetainCommandQueue(cl);
        const cl_uint before = references_of(cl);
        if (is_early)
            gate = test_gate_close(last);
        test_ok(husk_buffer_fill(last, buffer, 0, MEGABYTE, &one, 4));
        if (!is_early) {
            test_ok(husk_queue_finish(last));
            own = references_after(cl, before) - before;
        }
        husk_queue_release(last);
        if (is_early) {
            test_gate_open(&gate);
            ck_assert_int_eq(clFinish(cl), CL_SUCCESS);
            ck_assert_uint_gt(references_of(cl), 1 + own); // by it is asked whether the buffer is in use
            husk_context_trim(context, UINT64_MAX);
            ck_assert_int_eq(clFinish(cl), CL_SUCCESS); // the trim has asked
            husk_context_trim(context, UINT64_MAX);
        }
        const cl_uint left = references_after(cl, 1 + own);
        ck_assert_msg(left == 1 + own, "%s: %u references are left", is_early ? "early" : "finished", (unsigned)left);
        husk_buffer_release(buffer);
        husk_buffer_release(make(MEGABYTE)); // the block is asked for, and is free
        clReleaseCommandQueue(cl);
    }
}
END_TEST

/* HUSK_LIMITS=pooled_memory=... is read with the device. */
static void open_limited(const char *limits)
{
    teardown();
    test_setenv("HUSK_LIMITS", limits);
    setup();
}

START_TEST(a_pool_may_be_kept_small)
{
    open_limited("pooled_memory=2M");
    for (int i = 0; i < 4; i++)
        husk_buffer_release(make((uint64_t)(i + 1) * MEGABYTE));
    ck_assert_uint_eq(stats().cached_bytes, MEGABYTE); /* the largest go first */
    husk_buffer *again = make(MEGABYTE);
    ck_assert_uint_eq(stats().reuses, 1);
    husk_buffer_release(again);
    test_restore_environment();
}
END_TEST

/* For Oclgrind: memory is fresh for every buffer, and ends where the buffer ends. */
START_TEST(without_a_pool_memory_is_fresh_and_exact)
{
    open_limited("pooled_memory=0");
    for (int i = 0; i < 3; i++) {
        husk_buffer *buffer = make(52);
        size_t bytes = 0;
        const cl_mem mem = husk_buffer_opencl(buffer);
        ck_assert_int_eq(clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof bytes, &bytes, NULL), CL_SUCCESS);
        ck_assert_uint_eq(bytes, 52);
        ck_assert_uint_eq(stats().live_bytes, 52);
        /* work still enqueued keeps the memory */
        const float one = 1;
        ck_assert_int_eq(husk_buffer_fill(queue, buffer, 0, 52, &one, sizeof one), HUSK_OK);
        husk_buffer_release(buffer);
        ck_assert_uint_eq(stats().live_bytes, 0);
        ck_assert_uint_eq(stats().cached_bytes, 0);
        ck_assert_int_eq(husk_queue_finish(queue), HUSK_OK);
    }
    ck_assert_uint_eq(stats().allocations, 3);
    ck_assert_uint_eq(stats().reuses, 0);
    test_restore_environment();
}
END_TEST

START_TEST(the_budget_is_kept_and_the_text_has_the_figures)
{
    husk_error error = {0};
    husk_buffer *first = make(40 * MEGABYTE), *second = NULL;
    ck_assert_int_eq(husk_buffer_create(context, 40 * MEGABYTE, &second, &error), HUSK_OUT_OF_MEMORY);
    ck_assert_ptr_null(second);
    ck_assert_ptr_nonnull(strstr(error.text, "husk_buffer_create"));
    ck_assert_ptr_nonnull(strstr(error.text, "41943040"));
    ck_assert_ptr_nonnull(strstr(error.text, "67108864"));
    /* everything is usable, and the memory comes back */
    husk_buffer_release(first);
    second = make(40 * MEGABYTE);
    husk_buffer_release(second);
    second = make(60 * MEGABYTE); /* another class: the cached block has to go */
    ck_assert_uint_le(stats().live_bytes + stats().cached_bytes, 64 * MEGABYTE);
    husk_buffer_release(second);
}
END_TEST

/* Blocks are of classes, whose surplus nobody has asked for. */
START_TEST(what_fits_is_not_refused_for_its_class)
{
    husk_buffer *first = make(28 * MEGABYTE), *second = make(34 * MEGABYTE);
    ck_assert_uint_le(stats().live_bytes, 64 * MEGABYTE);
    husk_buffer_release(second);
    second = make(32 * MEGABYTE); /* the smaller class has it then */
    ck_assert_uint_eq(stats().reuses, 1);
    husk_buffer_release(second);
    second = make(36 * MEGABYTE);
    ck_assert_uint_eq(stats().reuses, 1);
    ck_assert_uint_eq(stats().cached_bytes, 0);
    husk_buffer_release(first);
    husk_buffer_release(second);
}
END_TEST

/* What was made of fewer bytes than the smallest class has is never a block of that class. */
START_TEST(a_block_of_less_than_its_class_serves_no_request_of_it)
{
    husk_context_params params = HUSK_CONTEXT_PARAMS(.memory_budget = 5000);
    teardown();
    open_with(&params);
    husk_buffer *first = make(4000), *small = make(800), *again;
    ck_assert_uint_lt(stats().live_bytes, 5000);
    husk_buffer_release(first);
    husk_buffer_release(small);
    again = make(4000);
    size_t bytes = 0;
    ck_assert_int_eq(clGetMemObjectInfo(husk_buffer_opencl(again), CL_MEM_SIZE, sizeof bytes, &bytes, NULL),
                     CL_SUCCESS);
    ck_assert_uint_ge(bytes, 4000);
    husk_buffer_release(again);
}
END_TEST

START_TEST(more_than_the_device_allows_is_refused_cleanly)
{
    husk_error error = {0};
    husk_buffer *buffer = NULL;
    const uint64_t sizes[] = {husk_context_traits(context)->max_allocation + 1, UINT64_C(1) << 62, UINT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ck_assert_int_eq(husk_buffer_create(context, sizes[i], &buffer, &error), HUSK_OUT_OF_MEMORY);
        ck_assert_ptr_null(buffer);
    }
    ck_assert_uint_eq(stats().live_bytes, 0);
    ck_assert_int_eq(husk_buffer_create(NULL, 1, &buffer, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_buffer_create(context, 1, NULL, &error), HUSK_INVALID_ARGUMENT);
}
END_TEST

/* A block whose queue has not got there yet is not given to somebody else. */
START_TEST(a_block_in_use_is_not_handed_out)
{
    const uint32_t one = 1, two = 2;
    uint32_t seen = 0;
    husk_buffer *target = make(MEGABYTE);
    husk_buffer *source = make(2 * MEGABYTE);
    test_ok(husk_buffer_fill(queue, source, 0, 2 * MEGABYTE, &one, 4));
    test_ok(husk_queue_finish(queue));
    test_gate gate = test_gate_close(queue);
    test_ok(husk_buffer_copy(queue, source, 0, target, 0, MEGABYTE));
    husk_buffer_release(source);
    /* the same size, on another queue: were it the same block, the copy would see twos */
    husk_buffer *thief = make(2 * MEGABYTE);
    ck_assert_uint_eq(stats().reuses, 0);
    test_ok(husk_buffer_fill(other_queue, thief, 0, 2 * MEGABYTE, &two, 4));
    test_ok(husk_queue_finish(other_queue));
    test_gate_open(&gate);
    test_ok(husk_buffer_read(queue, target, MEGABYTE - 4, 4, &seen));
    ck_assert_uint_eq(seen, one);
    /* now that the queue has passed it, the block is handed out */
    husk_buffer *heir = make(2 * MEGABYTE);
    ck_assert_uint_eq(stats().reuses, 1);
    husk_buffer_release(heir);
    husk_buffer_release(thief);
    husk_buffer_release(target);
}
END_TEST

START_TEST(uses_on_two_queues_both_count)
{
    const uint32_t one = 1;
    husk_buffer *source = make(2 * MEGABYTE), *target = make(MEGABYTE);
    test_ok(husk_buffer_fill(queue, source, 0, 4, &one, 4));
    test_ok(husk_queue_finish(queue));
    test_gate gate = test_gate_close(other_queue);
    test_ok(husk_buffer_copy(other_queue, source, 0, target, 0, 4));
    test_ok(husk_buffer_copy(queue, source, 4, target, 4, 4));
    husk_buffer_release(source);
    test_ok(husk_queue_finish(queue)); /* one of the two has ended */
    husk_buffer *again = make(2 * MEGABYTE);
    ck_assert_uint_eq(stats().reuses, 0);
    test_gate_open(&gate);
    test_ok(husk_queue_finish(other_queue));
    husk_buffer *heir = make(2 * MEGABYTE);
    ck_assert_uint_eq(stats().reuses, 1);
    husk_buffer_release(again);
    husk_buffer_release(heir);
    husk_buffer_release(target);
}
END_TEST

/* Ten queues use one block: more than a block keeps count of by itself. */
START_TEST(a_block_survives_many_queues)
{
    enum { QUEUES = 10 };
    husk_queue *queues[QUEUES];
    husk_error error = {0};
    uint32_t word = 5, seen = 0;
    husk_buffer *shared = make(MEGABYTE);
    for (int i = 0; i < QUEUES; i++) {
        test_ok_error(husk_queue_create(context, NULL, &queues[i], &error), &error);
        word = (uint32_t)i;
        test_ok(husk_buffer_fill(queues[i], shared, (uint64_t)i * 4, 4, &word, 4));
    }
    for (int i = 0; i < QUEUES; i++) {
        test_ok(husk_queue_finish(queues[i]));
        husk_queue_release(queues[i]);
    }
    for (int i = 0; i < QUEUES; i++) {
        test_ok(husk_buffer_read(queue, shared, (uint64_t)i * 4, 4, &seen));
        ck_assert_uint_eq(seen, (uint32_t)i);
    }
    husk_buffer_release(shared);
    husk_buffer_release(make(MEGABYTE));
    ck_assert_uint_eq(stats().reuses, 1);
}
END_TEST

/* In a loop that never waits, a short budget makes the pool wait instead of failing. */
START_TEST(a_short_budget_waits_for_its_own_blocks)
{
    const uint32_t word = 3;
    for (int i = 0; i < 200; i++) {
        husk_buffer *buffer = make(24 * MEGABYTE);
        test_ok(husk_buffer_fill(queue, buffer, 0, 4, &word, 4));
        husk_buffer_release(buffer);
    }
    ck_assert_uint_le(stats().live_bytes + stats().cached_bytes, 64 * MEGABYTE);
    ck_assert_uint_le(stats().peak_bytes, 64 * MEGABYTE);
}
END_TEST

/* The host waits for the second queue alone, the first one's work is waited for on the device. */
START_TEST(blocks_of_a_queue_that_nobody_waits_for_are_used_again)
{
    enum { ROUNDS = 100 };
    const uint32_t word = 3;
    uint32_t seen = 0;
    husk_buffer *target = make(MEGABYTE);
    for (int i = 0; i < ROUNDS; i++) {
        husk_event *event = NULL;
        husk_buffer *passing = make(256 * 1024);
        test_ok(husk_buffer_fill(queue, passing, 0, 4, &word, 4));
        test_ok(husk_queue_record(queue, &event));
        test_ok(husk_queue_wait(other_queue, event));
        test_ok(husk_buffer_copy(other_queue, passing, 0, target, 0, 4));
        test_ok(husk_buffer_read(other_queue, target, 0, 4, &seen));
        ck_assert_uint_eq(seen, word);
        husk_event_release(event);
        husk_buffer_release(passing);
    }
    ck_assert_uint_ge(stats().reuses, ROUNDS / 2);
    ck_assert_uint_le(stats().cached_bytes, 10 * MEGABYTE);
    husk_buffer_release(target);
}
END_TEST

static void *make_in_thread(void *argument)
{
    husk_buffer **made = argument;
    return (void *)(uintptr_t)husk_buffer_create(context, 40 * MEGABYTE, made, NULL);
}

/* Who waits for memory holds nobody else up. */
START_TEST(a_short_budget_holds_only_its_own_thread)
{
    const uint32_t word = 3;
    test_held_gate held;
    pthread_t thread;
    void *status;
    husk_buffer *buffer = make(40 * MEGABYTE), *small = make(MEGABYTE), *made = NULL;
    test_gate_hold(&held, queue);
    test_ok(husk_buffer_fill(queue, buffer, 0, 4, &word, 4));
    test_ok(husk_queue_flush(queue));
    husk_buffer_release(buffer);
    ck_assert_int_eq(pthread_create(&thread, NULL, make_in_thread, &made), 0);
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL); /* it is waiting by then */
    husk_buffer_release(small);
    husk_buffer_release(make(MEGABYTE));
    ck_assert_msg(test_gate_held(&held), "a thread has waited for the memory of another");
    pthread_join(thread, &status);
    ck_assert_uint_eq((uintptr_t)status, HUSK_OK);
    husk_buffer_release(made);
}
END_TEST

/* Nor does it wait for what its block's queue is given meanwhile. */
START_TEST(a_short_budget_waits_for_no_later_work)
{
    const uint32_t word = 3;
    test_held_gate held;
    pthread_t thread;
    void *status;
    husk_buffer *buffer = make(40 * MEGABYTE), *made = NULL;
    test_gate gate = test_gate_close(queue);
    test_ok(husk_buffer_fill(queue, buffer, 0, 4, &word, 4));
    test_ok(husk_queue_flush(queue));
    husk_buffer_release(buffer);
    ck_assert_int_eq(pthread_create(&thread, NULL, make_in_thread, &made), 0);
    nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL); /* it is waiting by then */
    test_gate_hold(&held, queue);
    test_gate_open(&gate);
    pthread_join(thread, &status);
    ck_assert_msg(test_gate_held(&held), "a thread has waited for work that came later");
    ck_assert_uint_eq((uintptr_t)status, HUSK_OK);
    husk_buffer_release(made);
}
END_TEST

static atomic_bool has_made;

static void *make_larger_in_thread(void *argument)
{
    husk_buffer **made = argument;
    const husk_status status = husk_buffer_create(context, 60 * MEGABYTE, made, NULL);
    atomic_store(&has_made, true);
    return (void *)(uintptr_t)status;
}

/* Released or not, the driver keeps what a command uses: another class of sizes does not get round the budget. */
START_TEST(the_budget_counts_what_commands_still_use)
{
    const uint32_t word = 3;
    test_held_gate held;
    pthread_t thread;
    void *status;
    husk_buffer *buffer = make(40 * MEGABYTE), *made = NULL;
    atomic_store(&has_made, false);
    test_gate_hold(&held, queue);
    test_ok(husk_buffer_fill(queue, buffer, 0, 4, &word, 4));
    test_ok(husk_queue_flush(queue));
    husk_buffer_release(buffer);
    ck_assert_int_eq(pthread_create(&thread, NULL, make_larger_in_thread, &made), 0);
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    const bool was_early = atomic_load(&has_made);
    ck_assert(test_gate_held(&held));
    pthread_join(thread, &status);
    ck_assert_msg(!was_early, "40 MiB in use and 60 more are within 64");
    ck_assert_uint_eq((uintptr_t)status, HUSK_OK);
    husk_buffer_release(made);
}
END_TEST

/* Nobody waits for a command while there is memory that none uses. */
START_TEST(idle_blocks_of_other_sizes_go_before_anybody_waits)
{
    const uint32_t word = 3;
    test_held_gate held;
    husk_buffer *idle = make(40 * MEGABYTE), *kept = make(20 * MEGABYTE), *more = make(3 * MEGABYTE);
    husk_buffer *busy = make(MEGABYTE); /* the budget is full */
    husk_buffer_release(idle);
    test_gate_hold(&held, queue);
    test_ok(husk_buffer_fill(queue, busy, 0, 4, &word, 4));
    test_ok(husk_queue_flush(queue));
    husk_buffer_release(busy);
    husk_buffer *made = make(MEGABYTE);
    ck_assert_msg(test_gate_held(&held), "a buffer has waited for a command, with 40 MiB idle");
    ck_assert_uint_le(stats().live_bytes + stats().cached_bytes, 64 * MEGABYTE);
    husk_buffer_release(kept);
    husk_buffer_release(more);
    husk_buffer_release(made);
}
END_TEST

START_TEST(a_queue_that_wants_more_scratch_memory_keeps_none_of_the_smaller)
{
    husk_error error = {0};
    const husk__scope scope = {"test", &error};
    husk__scratch scratch;
    test_ok_error(husk__scratch_begin(queue, 8 * MEGABYTE, &scratch, &scope), &error);
    husk__scratch_end(queue, &scratch);
    const uint64_t smaller = stats().live_bytes;
    ck_assert_uint_ge(smaller, 8 * MEGABYTE);
    test_ok_error(husk__scratch_begin(queue, 4 * MEGABYTE, &scratch, &scope), &error);
    husk__scratch_end(queue, &scratch);
    ck_assert_uint_eq(stats().live_bytes, smaller); // what is there suffices
    test_ok_error(husk__scratch_begin(queue, 12 * MEGABYTE, &scratch, &scope), &error);
    ck_assert_uint_eq(stats().live_bytes, husk_buffer_size(scratch.buffer));
    husk__scratch_end(queue, &scratch);
    ck_assert_uint_lt(stats().live_bytes, smaller + 12 * MEGABYTE);
    husk_queue_release(queue);
    queue = NULL;
    ck_assert_uint_eq(stats().live_bytes, 0);
}
END_TEST

START_TEST(a_buffer_keeps_its_context_alive)
{
    husk_error error = {0};
    husk_context *lonely = NULL;
    husk_buffer *buffer = NULL;
    test_ok_error(husk_context_create(NULL, NULL, &lonely, &error), &error);
    test_ok_error(husk_buffer_create(lonely, 100, &buffer, &error), &error);
    husk_context_release(lonely);
    ck_assert_ptr_eq(husk_buffer_context(buffer), lonely);
    ck_assert_int_eq(husk_context_status(husk_buffer_context(buffer)), HUSK_OK);
    husk_buffer_release(buffer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pool");
    TCase *tests = tcase_create("pool");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, figures_follow_what_happens);
    tcase_add_test(tests, trim_returns_what_is_cached);
    tcase_add_test(tests, trim_leaves_what_commands_still_use);
    tcase_add_test(tests, a_buffer_keeps_no_queue_that_has_ended);
    tcase_add_test(tests, a_pool_may_be_kept_small);
    tcase_add_test(tests, without_a_pool_memory_is_fresh_and_exact);
    tcase_add_test(tests, the_budget_is_kept_and_the_text_has_the_figures);
    tcase_add_test(tests, what_fits_is_not_refused_for_its_class);
    tcase_add_test(tests, a_block_of_less_than_its_class_serves_no_request_of_it);
    tcase_add_test(tests, more_than_the_device_allows_is_refused_cleanly);
    tcase_add_test(tests, a_block_in_use_is_not_handed_out);
    tcase_add_test(tests, uses_on_two_queues_both_count);
    tcase_add_test(tests, a_block_survives_many_queues);
    tcase_add_test(tests, a_short_budget_waits_for_its_own_blocks);
    tcase_add_test(tests, blocks_of_a_queue_that_nobody_waits_for_are_used_again);
    tcase_add_test(tests, a_short_budget_holds_only_its_own_thread);
    tcase_add_test(tests, a_short_budget_waits_for_no_later_work);
    tcase_add_test(tests, the_budget_counts_what_commands_still_use);
    tcase_add_test(tests, idle_blocks_of_other_sizes_go_before_anybody_waits);
    tcase_add_test(tests, a_queue_that_wants_more_scratch_memory_keeps_none_of_the_smaller);
    tcase_add_test(tests, a_buffer_keeps_its_context_alive);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
