/* SPDX-License-Identifier: MIT */
/*
 * train/check/conv.h: how convolutions and their gradients are verified.
 *
 * conv.c          what is drawn, the runs
 * conv_problem.c  the problem
 * conv_sums.c     all elements at once
 * conv_element.c  one element
 */
#ifndef HUSK_TRAIN_CHECK_CONV_H
#define HUSK_TRAIN_CHECK_CONV_H

#include "train/check/verify.h"

extern const husk__verifier husk__verify_conv, husk__verify_conv_backward_data, husk__verify_conv_backward_weights;

#endif
