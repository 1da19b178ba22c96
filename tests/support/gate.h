/* SPDX-License-Identifier: MIT */
/*
 * support/gate.h: a queue that does not get on until the test says so, whatever the speed of the machine.
 */
#ifndef HUSK_TESTS_GATE_H
#define HUSK_TESTS_GATE_H

#include <husk/opencl.h>

typedef struct test_gate {
    cl_event event;
} test_gate;

/* Whatever is enqueued on the queue from now on waits until the gate is opened. */
test_gate test_gate_close(husk_queue *queue);
void test_gate_open(test_gate *gate);

#endif
