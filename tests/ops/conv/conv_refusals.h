/* SPDX-License-Identifier: MIT */
/* ops/conv/conv_refusals.h: bad calls, each with the argument that its error text must name. */
#ifndef HUSK_TESTS_OPS_CONV_CONV_REFUSALS_H
#define HUSK_TESTS_OPS_CONV_CONV_REFUSALS_H

#include <check.h>

void conv_add_refusals(TCase *tcase);

#endif
