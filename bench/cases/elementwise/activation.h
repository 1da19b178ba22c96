/* SPDX-License-Identifier: MIT */
/* bench/cases/elementwise/activation.h: the fields of an activation case, resolved. */
#ifndef BENCH_CASES_ELEMENTWISE_ACTIVATION_H
#define BENCH_CASES_ELEMENTWISE_ACTIVATION_H

#include <stdint.h>

/* count elements, packed */
typedef struct bench_activation {
    int64_t count;
} bench_activation;

#endif
