/* SPDX-License-Identifier: MIT */
/*
 * os/avx512.h: whether the CPU that this process runs on has AVX-512's dot products.
 */
#ifndef HUSK_OS_AVX512_H
#define HUSK_OS_AVX512_H

#include <stdbool.h>

/* AVX512_BF16: VDPBF16PS. Whether the operating system keeps such registers is not asked: a compiler that uses them
 * has. */
bool husk__cpu_has_avx512_bf16(void);

#endif
