/* SPDX-License-Identifier: MIT */
/* ref/optimizer/optimizer.h: one step of an optimizer, see husk/ops/optimizer.h. */
#ifndef HUSK_REF_OPTIMIZER_OPTIMIZER_H
#define HUSK_REF_OPTIMIZER_OPTIMIZER_H

#include <husk/ops/optimizer.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

typedef enum husk_ref_optimizer_output {
    HUSK_REF_OPTIMIZER_W,
    HUSK_REF_OPTIMIZER_FIRST,
    HUSK_REF_OPTIMIZER_SECOND,
    HUSK_REF_OPTIMIZER_THIRD,
    HUSK_REF_OPTIMIZER_OUTPUTS
} husk_ref_optimizer_output;

/* before: w and the states before the step; states that are not kept are NULL. The numbers in params are not read. */
typedef struct husk_ref_optimizer {
    const husk_optimizer_params *params;
    const husk_ref_array *g;
    const husk_ref_array *before[HUSK_REF_OPTIMIZER_OUTPUTS];
    double scale;                     /* what g is multiplied with; 0 means 1 */
    bool skips;                       /* nothing is done */
    bool counts;                      /* the device knows the step's number: params' */
    husk_ref_optimizer_output output; /* which one the functions below speak of */
} husk_ref_optimizer;

husk_ref_value husk_ref_optimizer_at(const husk_ref_optimizer *op, const int64_t *index);
husk_ref_function husk_ref_optimizer_function(const husk_ref_optimizer *op);
/* All outputs, in their places. */
void husk_ref_optimizer_run(const husk_ref_optimizer *op);

HUSK_END_DECLS

#endif
