// SPDX-License-Identifier: MIT
// Nothing is wrong with it.
__kernel void planted_right(__global float *y)
{
    y[get_global_id(0)] *= 2.0f;
}
