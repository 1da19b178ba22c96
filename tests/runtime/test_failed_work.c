// SPDX-License-Identifier: MIT
// ctest: tiers=default,valgrind
// Commands that end badly after they were enqueued: whoever waits for them is told, once, and the queue goes on. Where
// the driver carries them out although what they waited for has failed, nobody is told anything.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "runtime/queue_struct.h"
#include "support/gate.h"
#include "support/support.h"

enum { BYTES = 4096, NOT_RUN = 77 };
static husk_queue *queue;
static husk_buffer *buffer;
static unsigned char host[BYTES];

static void setup(void)
{
    husk_error error = {0};
    test_ok_error(husk_queue_create(test_context(), &HUSK_QUEUE_PARAMS(.profiling = 1), &queue, &error), &error);
    test_ok_error(husk_buffer_create(test_context(), BYTES, &buffer, &error), &error);
}

static void teardown(void)
{
    husk_buffer_release(buffer);
    husk_queue_release(queue);
}

// ---- what is asked afterwards ----

static husk_status finish(husk_queue *asked)
{
    return husk_queue_finish(asked);
}

static husk_status read_it(husk_queue *asked)
{
    return husk_buffer_read(asked, buffer, 0, BYTES, host);
}

static husk_status write_it(husk_queue *asked)
{
    return husk_buffer_write(asked, buffer, 0, BYTES, host);
}

static husk_status map(husk_queue *asked)
{
    void *mapped = host;
    const husk_status status = husk_buffer_map(asked, buffer, HUSK_MAP_READ, 0, BYTES, &mapped);
    if (status == HUSK_OK)
        return husk_buffer_unmap(asked, buffer, mapped);
    ck_assert_ptr_null(mapped);
    return status;
}

static husk_status record(husk_queue *asked)
{
    husk_event *event = NULL;
    husk_status status = husk_queue_record(asked, &event);
    if (status == HUSK_OK)
        status = husk_event_wait(event, HUSK_FOREVER);
    husk_event_release(event);
    return status;
}

static husk_status profile(husk_queue *asked)
{
    const husk_profile_record *records;
    size_t count;
    return husk_queue_profile(asked, &records, &count);
}

static husk_status (*const questions[])(husk_queue *asked) = {finish, read_it, write_it, map, record, profile};
enum { QUESTIONS = sizeof questions / sizeof *questions };

// ---- what fails ----

static void fill(void)
{
    const uint32_t word = 7;
    test_ok(husk_buffer_fill(queue, buffer, 0, BYTES, &word, sizeof word));
}

static void read_later(void)
{
    test_ok(husk_buffer_read_async(queue, buffer, 0, BYTES, host));
}

static void write_later(void)
{
    test_ok(husk_buffer_write_async(queue, buffer, 0, BYTES, host));
}

static void copy(void)
{
    test_ok(husk_buffer_copy(queue, buffer, 0, buffer, BYTES / 2, BYTES / 2));
}

static void (*const commands[])(void) = {fill, read_later, write_later, copy};
enum { COMMANDS = sizeof commands / sizeof *commands };

// What an event's status is of a command whose wait list has failed: PoCL's one code; other drivers have several.
static void expect_code(int code)
{
    if (strstr(husk_context_traits(test_context())->platform_name, "Portable Computing"))
        ck_assert_int_eq(code, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    else
        ck_assert_int_lt(code, 0);
}

// Once, unless the driver has carried it out all the same.
static void expect_told(bool has_failed, husk_status (*question)(husk_queue *asked), husk_queue *asked)
{
    if (has_failed) {
        ck_assert_int_eq(question(asked), HUSK_OPENCL);
        if (question == record) // an event may have told it, which is another answer than the queue's
            husk_queue_finish(asked);
        else
            expect_code(husk_queue_error(asked)->opencl_code);
    }
    ck_assert_int_eq(question(asked), HUSK_OK);
    fill();
    test_ok(husk_buffer_read(queue, buffer, 0, BYTES, host));
    ck_assert_int_eq(host[0], 7);
}

START_TEST(whoever_waits_is_told)
{
    for (int i = 0; i < COMMANDS; i++) {
        test_gate gate = test_gate_close(queue);
        commands[i]();
        expect_told(test_gate_break(&gate), questions[_i], queue);
    }
}
END_TEST

// ---- what is mapped in vain ----

static bool refuses_to_unmap;

cl_int __real_clEnqueueUnmapMemObject(cl_command_queue asked, cl_mem memory, void *mapped, cl_uint count,
                                      const cl_event *events, cl_event *event);
cl_int __wrap_clEnqueueUnmapMemObject(cl_command_queue asked, cl_mem memory, void *mapped, cl_uint count,
                                      const cl_event *events, cl_event *event);
cl_int __wrap_clEnqueueUnmapMemObject(cl_command_queue asked, cl_mem memory, void *mapped, cl_uint count,
                                      const cl_event *events, cl_event *event)
{
    const cl_int code = __real_clEnqueueUnmapMemObject(asked, memory, mapped, count, events, event);
    return refuses_to_unmap ? CL_OUT_OF_HOST_MEMORY : code;
}

// A driver that says of commands that have ended badly that they have ended, as NVIDIA's does.
static bool says_nothing;
cl_int __real_clWaitForEvents(cl_uint count, const cl_event *events);
cl_int __wrap_clWaitForEvents(cl_uint count, const cl_event *events);
cl_int __wrap_clWaitForEvents(cl_uint count, const cl_event *events)
{
    const cl_int code = __real_clWaitForEvents(count, events);
    return says_nothing && code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST ? CL_SUCCESS : code;
}

static void setup_silent(void)
{
    says_nothing = true;
    setup();
}

static void teardown_silent(void)
{
    teardown();
    says_nothing = false;
}

static uint64_t last_use(void)
{
    const husk__block *block = buffer->block;
    for (int i = 0; i < block->use_count; i++)
        if (block->uses[i].clock == queue->clock)
            return block->uses[i].number;
    return 0;
}

// A map that answers what failed before it is undone by a command of its own, which may write to the buffer: until that
// has ended the memory is nobody else's, and where it cannot be enqueued, never.
START_TEST(what_is_mapped_in_vain_is_in_use)
{
    for (int i = 0; i < COMMANDS; i++) {
        test_gate gate = test_gate_close(queue);
        commands[i]();
        if (!test_gate_break(&gate))
            continue;
        const uint64_t before = last_use();
        refuses_to_unmap = _i;
        ck_assert_int_eq(map(queue), HUSK_OPENCL);
        refuses_to_unmap = false;
        ck_assert_uint_ge(last_use(), before + (_i ? 1 : 2));
        ck_assert_int_eq(atomic_load(&buffer->block->maps), _i);
        atomic_store(&buffer->block->maps, 0);
        test_ok(husk_queue_finish(queue));
    }
}
END_TEST

/* Also where many have ended well since. */
START_TEST(it_is_not_forgotten)
{
    test_gate gate = test_gate_close(queue);
    fill();
    const bool has_failed = test_gate_break(&gate);
    for (int i = 0; i < 1000; i++)
        fill();
    expect_told(has_failed, finish, queue);
}
END_TEST

START_TEST(a_queue_that_waits_for_it_is_told)
{
    husk_error error = {0};
    husk_queue *other = NULL;
    husk_event *event = NULL;
    test_ok_error(husk_queue_create(test_context(), NULL, &other, &error), &error);
    test_gate gate = test_gate_close(queue);
    fill();
    test_ok(husk_queue_record(queue, &event));
    test_ok(husk_queue_wait(other, event));
    const bool has_failed = test_gate_break(&gate);
    const husk_status wanted = has_failed ? HUSK_OPENCL : HUSK_OK;
    ck_assert_int_eq(husk_event_wait(event, HUSK_FOREVER), wanted);
    ck_assert_int_eq(husk_queue_finish(queue), wanted);
    expect_told(has_failed, finish, other);
    husk_event_release(event);
    husk_queue_release(other);
}
END_TEST

// ---- where there is no memory to remember it ----

typedef struct breaker {
    pthread_t thread;
    test_gate gate;
    sem_t refused;
    int refusals;
    bool has_failed;
} breaker;

static breaker *waiting; // for a reallocation, which fails; NULL: none does

void *__real_realloc(void *block, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes)
{
    if (!waiting)
        return __real_realloc(block, bytes);
    waiting->refusals++;
    sem_post(&waiting->refused);
    errno = ENOMEM;
    return NULL;
}

static void *break_then(void *argument)
{
    breaker *b = argument;
    while (sem_wait(&b->refused))
        continue;
    b->has_failed = test_gate_break(&b->gate);
    return NULL;
}

static void breaker_begin(breaker *b)
{
    b->gate = test_gate_close(queue);
    ck_assert_int_eq(sem_init(&b->refused, 0, 0), 0);
    ck_assert_int_eq(pthread_create(&b->thread, NULL, break_then, b), 0);
    waiting = b;
}

static bool breaker_end(breaker *b)
{
    waiting = NULL;
    sem_post(&b->refused); // where nothing was refused
    pthread_join(b->thread, NULL);
    sem_destroy(&b->refused);
    ck_assert_int_eq(b->refusals, 1);
    return b->has_failed;
}

/* Who cannot keep a command's event waits for it, and whoever asks next is told. */
START_TEST(it_is_told_without_memory_to_remember_it)
{
    breaker b = {0};
    husk_error error = {0};
    husk_queue_release(queue);
    test_ok_error(husk_queue_create(test_context(), NULL, &queue, &error), &error); // remembers nothing yet
    breaker_begin(&b);
    commands[_i]();
    expect_told(breaker_end(&b), finish, queue);
}
END_TEST

// Mesa's rusticl answers every later command of a queue with what one has failed with.
static bool queues_go_on(void)
{
    const husk_context *context = test_context();
    cl_event events[3] = {clCreateUserEvent(context->cl, NULL)}; // the gate, what waits for it, and what comes later
    cl_command_queue asked = clCreateCommandQueue(context->cl, context->device->id, 0, NULL);
    cl_int execution = CL_QUEUED;
    clEnqueueBarrierWithWaitList(asked, 1, &events[0], &events[1]);
    clSetUserEventStatus(events[0], -1);
    clWaitForEvents(1, &events[1]);
    clEnqueueMarkerWithWaitList(asked, 0, NULL, &events[2]);
    clFinish(asked);
    clGetEventInfo(events[2], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof execution, &execution, NULL);
    for (int i = 0; i < 3; i++)
        clReleaseEvent(events[i]);
    clReleaseCommandQueue(asked);
    return execution >= 0;
}

int main(void)
{
    if (!queues_go_on()) {
        printf("this driver's queues answer each later command with what one has failed with\n");
        return NOT_RUN;
    }
    Suite *suite = suite_create("failed work");
    TCase *tests = tcase_create("failed work");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, whoever_waits_is_told, 0, QUESTIONS);
    tcase_add_test(tests, it_is_not_forgotten);
    tcase_add_loop_test(tests, what_is_mapped_in_vain_is_in_use, 0, 2);
    tcase_add_test(tests, a_queue_that_waits_for_it_is_told);
    tcase_add_loop_test(tests, it_is_told_without_memory_to_remember_it, 0, COMMANDS);
    suite_add_tcase(suite, tests);
    TCase *silent = tcase_create("failed work of which the driver says nothing");
    tcase_add_checked_fixture(silent, setup_silent, teardown_silent);
    tcase_add_loop_test(silent, whoever_waits_is_told, 0, QUESTIONS);
    tcase_add_test(silent, it_is_not_forgotten);
    tcase_add_test(silent, a_queue_that_waits_for_it_is_told);
    tcase_add_loop_test(silent, it_is_told_without_memory_to_remember_it, 0, COMMANDS);
    suite_add_tcase(suite, silent);
    return test_main(suite);
}
