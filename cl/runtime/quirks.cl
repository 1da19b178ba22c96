// SPDX-License-Identifier: MIT
// What compilers are known to get wrong, or to do badly, in the smallest kernel that shows it. What is right is known
// to the host.
//
//   -DQUIRK_LOCAL_LOAD   a value read from local memory, needed behind a barrier after which others write there
//   -DQUIRK_LOOP_EXIT    a loop without a barrier under a condition that does not hold
//   -DQUIRK_FLUSH        a loop of the library's functions on vectors, built with and without -cl-denorms-are-zero

#if defined(QUIRK_LOCAL_LOAD)

// Writes 1 everywhere. A compiler that reads scratch again where `first` is needed writes 2.
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void husk_runtime_quirk(__global float *y_base, long y_offset)
{
    __local float scratch[64];
    const int item = (int)get_local_id(0);
    scratch[item] = 1.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    const float first = scratch[63 - item];
    barrier(CLK_LOCAL_MEM_FENCE);
    scratch[item] = 2.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    y_base[y_offset + item] = first;
}

#elif defined(QUIRK_LOOP_EXIT)

// Writes 0 to the first n elements, n a multiple of 4, and nothing behind them; adds is 0 and stride 1. A compiler that
// loses the end of one of the inner loops, which are not run, goes on past n.
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void husk_runtime_quirk(const __global float *x_base, long x_offset, __global float *y_base, long y_offset, int n,
                        int adds, long stride)
{
    const __global float *x = x_base + x_offset;
    __global float *y = y_base + y_offset;
    for (int j = 0; j < n; j += 4) {
        const int lanes = n - j < 4 ? n - j : 4;
        float4 sum = (float4)(0.0f);
        if (adds) {
            if (stride == 1) {
                sum = vload4(0, x + j);
            } else {
                float line[4];
                for (int i = 0; i < 4; ++i)
                    line[i] = i < lanes ? x[j + i * stride] : 0.0f;
                sum = vload4(0, line);
            }
        }
        if (stride == 1) {
            if (lanes >= 4)
                vstore4(sum, 0, y + j);
            else
                y[j] = sum.x;
        } else {
            float line[4];
            vstore4(sum, 0, line);
            for (int i = 0; i < lanes; ++i)
                y[j + i * stride] = line[i];
        }
    }
}

#elif defined(QUIRK_FLUSH)

#define CONCAT_(a, b) a##b
#define CONCAT(a, b) CONCAT_(a, b)
typedef CONCAT(float, VW) vf;

// Four functions of the library beside one multiplication, to tell calls of them from all else. y[2] becomes the
// product of y[0] and y[1], which is 0 where denormal numbers are flushed. n vectors are read, and the next one is
// written.
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void husk_runtime_quirk(__global float *y_base, long y_offset, int n, int rounds)
{
    __global float *y = y_base + y_offset;
    const float small = y[0] * y[1];
    vf sum = (vf)(0.0f), least = (vf)(0.0f);
    for (int round = 0; round < rounds; ++round)
        for (int i = 0; i < n; ++i) {
            sum += CONCAT(vload, VW)(i, y) * (vf)(y[i]);
            least = min(least, max(sum, clamp(least, (vf)(-1.0f), (vf)(1.0f))));
        }
    y[2] = small;
    CONCAT(vstore, VW)(sum + least, n, y);
}

#else
#error "name what to look for: -DQUIRK_LOCAL_LOAD, -DQUIRK_LOOP_EXIT or -DQUIRK_FLUSH"
#endif
