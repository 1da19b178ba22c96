/* SPDX-License-Identifier: MIT */
/*
 * bench/baseline/ref_op.h: what the runner ref keeps of a case. An operator's part is baseline/ref_<op>.c.
 */
#ifndef BENCH_BASELINE_REF_OP_H
#define BENCH_BASELINE_REF_OP_H

#include "ref/ref.h"

#include "baseline/operand.h"
#include "cases/verdict.h"

typedef struct bench_ref_state {
    bench_case c;
    const bench_data *data;
    bench_array y, indices, h_n, c_n; /* outputs, laid out as bench_data and bench_output have them */
    bench_output blank;               /* what they hold before a run */
    void *extra[2];                   /* the operator's own, freed with the state */
} bench_ref_state;

typedef struct bench_ref_op {
    bool (*prepare)(bench_ref_state *s); /* outputs beside y and extra; NULL: there are none */
    bool (*run)(const bench_ref_state *s, const husk_ref_array *y); /* false: memory is short */
} bench_ref_op;

/* The array as the reference sees it; *there is NULL where the case has none. */
static inline husk_ref_array bench_ref_optional(const bench_array *array, const husk_ref_array **there)
{
    if (!array->data)
        *there = NULL;
    return bench_ref_array(array);
}

/* An output of 4-byte elements with these strides; NULL: packed. */
bool bench_ref_make_output(bench_array *array, husk_dtype dtype, int32_t rank, const int64_t *shape,
                           const int64_t *strides);

#endif
