// SPDX-License-Identifier: MIT
#include "os/avx512.h"

// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, CPUID.
#if defined(__x86_64__)
#include <cpuid.h>

bool husk__cpu_has_avx512_bf16(void)
{
    enum { AVX512_BF16 = 1 << 5 };
    unsigned a, b, c, d; // leaf 7's second page, EAX
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & AVX512_BF16);
}

#else
bool husk__cpu_has_avx512_bf16(void)
{
    return false;
}
#endif
