// SPDX-License-Identifier: MIT
#include "support/gate.h"

#include <time.h>

#include <check.h>

test_gate test_gate_close(husk_queue *queue)
{
    cl_int code;
    test_gate gate = {.event = clCreateUserEvent(husk_context_opencl(husk_queue_context(queue)), &code)};
    ck_assert_int_eq(code, CL_SUCCESS);
    code = clEnqueueBarrierWithWaitList(husk_queue_opencl(queue), 1, &gate.event, &gate.barrier);
    ck_assert_int_eq(code, CL_SUCCESS);
    return gate;
}

static void release(test_gate *gate)
{
    clReleaseEvent(gate->event);
    clReleaseEvent(gate->barrier); // kept until now: PoCL 3.1 ends the process where one fails that nobody has
    gate->event = gate->barrier = NULL;
}

void test_gate_open(test_gate *gate)
{
    ck_assert_int_eq(clSetUserEventStatus(gate->event, CL_COMPLETE), CL_SUCCESS);
    release(gate);
}

bool test_gate_break(test_gate *gate)
{
    ck_assert_int_eq(clSetUserEventStatus(gate->event, -1), CL_SUCCESS);
    cl_int execution = CL_QUEUED;
    clWaitForEvents(1, &gate->barrier);
    clGetEventInfo(gate->barrier, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof execution, &execution, NULL);
    release(gate);
    return execution < 0;
}

enum { PATIENCE_SECONDS = 10 };

static void *open_late(void *argument)
{
    test_held_gate *held = argument;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += PATIENCE_SECONDS;
    held->was_late = sem_timedwait(&held->over, &end) != 0;
    clSetUserEventStatus(held->gate.event, CL_COMPLETE);
    return NULL;
}

void test_gate_hold(test_held_gate *held, husk_queue *queue)
{
    held->gate = test_gate_close(queue);
    ck_assert_int_eq(sem_init(&held->over, 0, 0), 0);
    ck_assert_int_eq(pthread_create(&held->thread, NULL, open_late, held), 0);
}

bool test_gate_held(test_held_gate *held)
{
    sem_post(&held->over);
    pthread_join(held->thread, NULL);
    sem_destroy(&held->over);
    clReleaseEvent(held->gate.event);
    clReleaseEvent(held->gate.barrier);
    return !held->was_late;
}
