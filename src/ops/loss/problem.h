/* SPDX-License-Identifier: MIT */
/*
 * ops/loss/problem.h: a loss or its gradient with every option resolved, between ops/loss/loss.c and
 * ops/loss/backward.c, which make it, and ops/loss/launch.c, which both of their variants share.
 */
#ifndef HUSK_OPS_LOSS_PROBLEM_H
#define HUSK_OPS_LOSS_PROBLEM_H

#include <husk/ops/loss.h>

#include "runtime/walk.h"
#include "select/plan.h"

/* last: the loss, or dx. dloss: backward alone. weight and positive_weight may be NULL. */
typedef struct husk__loss_arguments {
    const husk_tensor *x, *target, *weight, *positive_weight, *dloss, *last;
} husk__loss_arguments;

typedef struct husk__loss_problem {
    husk_loss_kind kind;
    husk_loss_reduction reduction;
    float beta, smoothing;
    bool log_target, has_labels, has_weight, has_positive_weight;
    bool is_backward, accumulates;
    int64_t ignored;
    /* No buffers. weight and positive_weight of elements have x's shape and their broadcast strides. */
    husk_tensor x, target, weight, positive_weight;
    husk_tensor loss; /* or dloss */
    husk_tensor dx;   /* backward */
} husk__loss_problem;

bool husk__loss_has_rows(husk_loss_kind kind);
/* The dimension of the classes in a tensor of x's shape. */
int32_t husk__loss_axis(const husk_tensor *x);

/* Everything that does not need buffers, in the header's order; with buffers, the memory behind them and overlaps. */
husk_status husk__loss_validate(husk_queue *queue, const husk_loss_params *params,
                                const husk__loss_arguments *arguments, bool is_backward, const husk__scope *scope);
husk__loss_problem husk__loss_resolve(const husk_loss_params *params, const husk__loss_arguments *arguments,
                                      bool is_backward);

void husk__loss_describe(const void *problem, husk__key *key);
void husk__loss_classify(const void *problem, husk__text *text);
void husk__loss_write_case(const void *problem, const void *arguments, husk__case *c);

/* What a variant's row says beside its name. */
bool husk__loss_supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY]);
double husk__loss_cost(const husk__candidate *candidate);
uint64_t husk__loss_workspace(const husk__candidate *candidate);
husk_status husk__loss_prepare(husk_plan *plan, const husk__scope *scope);
husk_status husk__loss_run(const husk_plan *plan, husk_queue *queue, const void *arguments,
                           const husk__scratch *scratch, const husk__scope *scope);

/* Build and launch, on a few numbers, what calls take: rows and elements. */
husk_status husk__loss_prewarm(husk_queue *queue, const husk__op *op, bool is_backward, const husk__scope *scope);

/* Groups of one work-item, for husk__grid_items. */
extern const husk__configuration husk__loss_vector_menu[1];

#endif
