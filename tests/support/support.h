/* SPDX-License-Identifier: MIT */
/*
 * support/support.h: everything a test of an operator needs. The way of such a test:
 *
 *     test_tensor x = test_input(2, shape, TEST_PACKED, seed, 1.0f);
 *     test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PADDED);
 *     husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .variant = variant, .axis = -1);
 *     if (test_ran(husk_softmax(test_queue(), &params, &x.tensor, &y.tensor), "softmax", variant)) {
 *         test_fetch(&y);
 *         husk_ref_softmax op = {.params = &params, .x = &x.array};
 *         husk_ref_function function = husk_ref_softmax_function(&op);
 *         husk_ref_report report = {0};
 *         husk_ref_check(&function, seed, &y.array, &report);
 *         test_accept("softmax", variant, "outer=3 axis=1000", &report);
 *     }
 *     test_release(&x);
 *     test_release(&y);
 */
#ifndef HUSK_TESTS_SUPPORT_H
#define HUSK_TESTS_SUPPORT_H

#include <check.h>

#include <husk/husk.h>

#include "ref/check.h"
#include "ref/random.h"
#include "support/device.h"
#include "support/generate.h"
#include "support/gradient.h"
#include "support/main.h"
#include "support/planted.h"
#include "support/tensor.h"

#endif
