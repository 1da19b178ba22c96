// SPDX-License-Identifier: MIT
// What CLBlast's GEMM lacks: bias and activation, over all of C in one launch after it.
//
// BIAS  0 none, 1 a value a column, 2 a value a row
// ACT   the number of husk_act
//
// Work-items: (n, m, batch).
#if !defined(BIAS) || !defined(ACT)
#error "clblast_epilogue.cl needs -DBIAS=<0, 1 or 2> and -DACT=<number of a husk_act>"
#endif

float activate(float x)
{
#if ACT == 1
    return x < 0.0f ? 0.0f : x;
#elif ACT == 2
    return x < 0.0f ? 0.01f * x : x;
#elif ACT == 3
    return x < 0.0f ? 0.0f : x > 6.0f ? 6.0f : x;
#elif ACT == 4
    return 0.5f * x * (1.0f + erf(x * 0.70710678f));
#elif ACT == 5
    return 0.5f * x * (1.0f + tanh(0.79788456f * (x + 0.044715f * x * x * x)));
#elif ACT == 6
    return x / (1.0f + exp(-x));
#elif ACT == 7
    return 1.0f / (1.0f + exp(-x));
#elif ACT == 8
    return tanh(x);
#else
    return x;
#endif
}

__kernel void clblast_epilogue(__global float *c, const long ldc, const long batch_stride,
                               __global const float *bias)
{
    const long column = get_global_id(0), row = get_global_id(1);
    __global float *element = c + get_global_id(2) * batch_stride + row * ldc + column;
    float x = *element;
#if BIAS == 1
    x += bias[column];
#elif BIAS == 2
    x += bias[row];
#endif
    *element = activate(x);
}
