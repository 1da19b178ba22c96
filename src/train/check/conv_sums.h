/* SPDX-License-Identifier: MIT */
/*
 * train/check/conv_sums.h: all elements of a convolution that is being verified, at once.
 */
#ifndef HUSK_TRAIN_CHECK_CONV_SUMS_H
#define HUSK_TRAIN_CHECK_CONV_SUMS_H

#include "train/check/conv_problem.h"

/* All elements of the outputs, of the images that are looked at. */
husk_status husk__conv_compare_all(husk__conv_check *c);

#endif
