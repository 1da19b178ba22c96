/* SPDX-License-Identifier: MIT */
/* bench/cases/loss/loss.h: the fields of a loss case, resolved. */
#ifndef BENCH_CASES_LOSS_LOSS_H
#define BENCH_CASES_LOSS_LOSS_H

#include <stdint.h>

/* x: [n, c] or with inner > 1 [n, c, inner]. */
typedef struct bench_loss {
    int64_t n, c, inner;
    int64_t kind, reduction;
    int64_t probabilities; /* cross_entropy: targets are no labels */
} bench_loss;

#endif
