/* SPDX-License-Identifier: MIT */
/*
 * ops/rnn_refusals.h: bad input to recurrent layers, and packed weights that do not fit.
 */
#ifndef HUSK_TESTS_OPS_RNN_REFUSALS_H
#define HUSK_TESTS_OPS_RNN_REFUSALS_H

#include <check.h>

TCase *rnn_refusals(void);

#endif
