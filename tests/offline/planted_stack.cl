// SPDX-License-Identifier: MIT
// An array whose elements are chosen at run time is no register: it needs a stack frame.
// registers planted_stack: nvidia 64, amd 64
__kernel void planted_stack(__global float *y, int n)
{
    float x[300];
    y += n * get_global_id(0);
    for (int i = 0; i < n; ++i)
        x[i] = y[i];
    for (int i = 0; i < n; ++i)
        y[i] = x[(int)y[i] % n];
}
