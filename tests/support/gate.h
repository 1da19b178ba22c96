/* SPDX-License-Identifier: MIT */
/*
 * support/gate.h: a queue that does not get on until the test says so, whatever the speed of the machine.
 */
#ifndef HUSK_TESTS_GATE_H
#define HUSK_TESTS_GATE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

#include <husk/opencl.h>

typedef struct test_gate {
    cl_event event, barrier;
} test_gate;

/* Whatever is enqueued on the queue from now on waits until the gate is opened. */
test_gate test_gate_close(husk_queue *queue);
void test_gate_open(test_gate *gate);
/* Whatever waits ends badly: true. Some drivers (Intel's for CPUs) run it all the same: false. */
bool test_gate_break(test_gate *gate);

/*
 * For calls that must not wait for a closed gate: a thread opens it after some seconds, so that a test whose call does
 * wait fails instead of hanging. test_gate_held opens it at once, and says whether it was closed until then.
 */
typedef struct test_held_gate {
    test_gate gate;
    pthread_t thread;
    sem_t over;
    bool was_late;
} test_held_gate;

void test_gate_hold(test_held_gate *held, husk_queue *queue);
bool test_gate_held(test_held_gate *held);

#endif
