/* SPDX-License-Identifier: MIT */
/*
 * ref/lookup/one_hot.h: class numbers as vectors.
 */
#ifndef HUSK_REF_LOOKUP_ONE_HOT_H
#define HUSK_REF_LOOKUP_ONE_HOT_H

#include <husk/ops/one_hot.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

typedef struct husk_ref_one_hot {
    const husk_one_hot_params *params; /* NULL for the defaults */
    const husk_ref_array *labels;
    int64_t classes;
} husk_ref_one_hot;

void husk_ref_one_hot_run(const husk_ref_one_hot *op, const husk_ref_array *y);
husk_ref_value husk_ref_one_hot_at(const husk_ref_one_hot *op, const int64_t *index);
husk_ref_function husk_ref_one_hot_function(const husk_ref_one_hot *op);

HUSK_END_DECLS

#endif
