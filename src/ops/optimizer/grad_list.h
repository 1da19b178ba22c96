/* SPDX-License-Identifier: MIT */
/*
 * ops/optimizer/grad_list.h: operators over a list of gradients, whose units may each leave a part that a last kernel
 * puts together; what grad_norm and grad_scale share.
 */
#ifndef HUSK_OPS_OPTIMIZER_GRAD_LIST_H
#define HUSK_OPS_OPTIMIZER_GRAD_LIST_H

#include "runtime/list.h"
#include "select/plan.h"

/* Where the tensors lie is a run's, not the plan's. */
typedef struct husk__grad_list_problem {
    int64_t units;
    uint32_t dtypes; /* bits 1 << dtype */
    husk_dtype accumulator;
    bool has_parts; /* an accumulator of each unit */
} husk__grad_list_problem;

/* A variant's state. */
typedef struct husk__grad_list_launch {
    const husk__kernel *kernels[HUSK__LIST_DTYPES], *finish;
} husk__grad_list_launch;

husk__grad_list_problem husk__grad_list_resolve(const husk__list *list, bool has_parts);
void husk__grad_list_describe(const void *problem, husk__key *key);
void husk__grad_list_classify(const void *problem, husk__text *text);
/* The case's beginning. list: a run's, or NULL, where only units are known. */
void husk__grad_list_begin_case(const husk__grad_list_problem *problem, const char *op, const husk__list *list,
                                husk__case *c);

/* Groups of one work-item, for husk__grid_items. */
extern const husk__configuration husk__grad_list_vector_menu[1];
uint64_t husk__grad_list_workspace(const husk__candidate *candidate);
/* Kernels of cl/optimizer/OP_vector.cl or OP_grid.cl. */
husk_status husk__grad_list_prepare(husk_plan *plan, const husk__scope *scope);
husk__arg husk__grad_list_parts(const husk_plan *plan, const husk__scratch *scratch);

#endif
