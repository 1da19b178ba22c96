// SPDX-License-Identifier: MIT
// A map: y = max(a x + b, 0), V elements a work-item.
//   -DV   elements that a work-item computes
__kernel void scale_and_clamp(int n, float a, float b, __global const float *x, __global float *y)
{
    const int first = get_global_id(0) * V;
    for (int i = first; i < first + V; i++) {
        if (i < n)
            y[i] = max(a * x[i] + b, 0.0f);
    }
}
