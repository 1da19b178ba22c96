/* SPDX-License-Identifier: MIT */
/* bench/cases/optimizer/optimizer.h: the fields of an optimizer case, resolved. */
#ifndef BENCH_CASES_OPTIMIZER_OPTIMIZER_H
#define BENCH_CASES_OPTIMIZER_OPTIMIZER_H

#include <stdint.h>

typedef struct bench_optimizer {
    int64_t count;
    int64_t kind;
} bench_optimizer;

#endif
