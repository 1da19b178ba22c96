/* SPDX-License-Identifier: MIT */
/* bench/cases/optimizer/grad_scale.h: the fields of a case of grad_scale, resolved. */
#ifndef BENCH_CASES_OPTIMIZER_GRAD_SCALE_H
#define BENCH_CASES_OPTIMIZER_GRAD_SCALE_H

#include <husk/ops/grad_scale.h>

/* a list of tensors of count elements each */
typedef struct bench_grad_scale {
    int64_t count, tensors;
    int clips;
} bench_grad_scale;

#endif
