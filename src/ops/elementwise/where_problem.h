/* SPDX-License-Identifier: MIT */
/* ops/elementwise/where_problem.h: what husk_where and husk_where_backward share. */
#ifndef HUSK_OPS_ELEMENTWISE_WHERE_PROBLEM_H
#define HUSK_OPS_ELEMENTWISE_WHERE_PROBLEM_H

#include <husk/tensor.h>

#include "base/error.h"

/* A condition's dtype is u8, or that of the other tensor. */
husk_status husk__where_check_condition(const husk_tensor *condition, const husk_tensor *other,
                                        const husk__scope *scope);

#endif
