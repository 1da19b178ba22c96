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

void test_gate_open(test_gate *gate)
{
    ck_assert_int_eq(clSetUserEventStatus(gate->event, CL_COMPLETE), CL_SUCCESS);
    clReleaseEvent(gate->event);
    gate->event = NULL;
}
