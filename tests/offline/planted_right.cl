// SPDX-License-Identifier: MIT
// Nothing is wrong with it.
// registers planted_right: nvidia 16, amd 16
__kernel void planted_right(__global float *y)
{
    y[get_global_id(0)] *= 2.0f;
}
