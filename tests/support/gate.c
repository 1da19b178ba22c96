// SPDX-License-Identifier: MIT
#include "support/gate.h"

#include <check.h>

test_gate test_gate_close(husk_queue *queue)
{
    cl_int code;
    test_gate gate = {clCreateUserEvent(husk_context_opencl(husk_queue_context(queue)), &code)};
    ck_assert_int_eq(code, CL_SUCCESS);
    code = clEnqueueBarrierWithWaitList(husk_queue_opencl(queue), 1, &gate.event, NULL);
    ck_assert_int_eq(code, CL_SUCCESS);
    return gate;
}

static void end(test_gate *gate, cl_int status)
{
    ck_assert_int_eq(clSetUserEventStatus(gate->event, status), CL_SUCCESS);
    clReleaseEvent(gate->event);
    gate->event = NULL;
}

void test_gate_open(test_gate *gate)
{
    end(gate, CL_COMPLETE);
}

void test_gate_break(test_gate *gate)
{
    end(gate, -1);
}
