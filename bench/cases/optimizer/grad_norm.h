/* SPDX-License-Identifier: MIT */
/* bench/cases/optimizer/grad_norm.h: the fields of a case of grad_norm, resolved. */
#ifndef BENCH_CASES_OPTIMIZER_GRAD_NORM_H
#define BENCH_CASES_OPTIMIZER_GRAD_NORM_H

#include <husk/ops/grad_norm.h>

enum { BENCH_LIST_MOST = 256 };

/* a list of tensors of count elements each */
typedef struct bench_grad_norm {
    int64_t count, tensors;
    int kind;
} bench_grad_norm;

#endif
