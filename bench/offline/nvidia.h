/* SPDX-License-Identifier: MIT */
/* Included before every program that is compiled for NVIDIA: what the vendor's OpenCL has and clang's lacks there. */
#ifndef OFFLINE_NVIDIA_H
#define OFFLINE_NVIDIA_H

// The vendor's word for inline assembly, which clang keeps for C++ and GNU C.
#define asm __asm__

// libclc has no native_ functions for nvptx.
inline float __attribute__((overloadable)) native_exp2(float x)
{
    float y;
    __asm__("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

inline float __attribute__((overloadable)) native_log2(float x)
{
    float y;
    __asm__("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

inline float __attribute__((overloadable)) native_exp(float x)
{
    return native_exp2(x * 1.44269504f);
}

inline float __attribute__((overloadable)) native_log(float x)
{
    return native_log2(x) * 0.693147181f;
}

#endif
