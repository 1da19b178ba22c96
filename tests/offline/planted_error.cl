// SPDX-License-Identifier: MIT
// Not OpenCL C.
__kernel void planted_error(__global float *y)
{
    y[0] = there_is_no_such_function(y[1]);
}
