/* SPDX-License-Identifier: MIT */
/*
 * train/check/conv_element.h: one element of a convolution that is being verified.
 */
#ifndef HUSK_TRAIN_CHECK_CONV_ELEMENT_H
#define HUSK_TRAIN_CHECK_CONV_ELEMENT_H

#include "train/check/conv_problem.h"

/* Whether the activation gives some of its arguments as they are, and cuts off the others. */
bool husk__conv_is_cut(husk_act activation);
/* Compute an element of an output and record it in the finding where the device's differs. numbers: the image that it
   is in, as the device has it. */
void husk__conv_look_at(const husk__conv_check *c, int output, const int64_t index[HUSK__DRAWN_RANK],
                        const double *numbers);

#endif
