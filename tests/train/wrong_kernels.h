/* SPDX-License-Identifier: MIT */
/*
 * train/wrong_kernels.h: mistakes to plant in convolutions (support/wrong_kernels.h), and what the log says of them.
 */
#ifndef HUSK_TESTS_WRONG_KERNELS_H
#define HUSK_TESTS_WRONG_KERNELS_H

#include <husk/train.h>

#include "support/wrong_kernels.h"

typedef struct mistake {
    const char *op, *variant, *file, *right, *wrong; /* file: of the kernels */
    const char *what;
} mistake;

/* The kernels that CPUs take for most convolutions. */
#define FORWARD "conv", "implicit_gemm", "conv/implicit_gemm.cl"
#define DATA    "conv_backward_data", "phases", "conv/backward_data_phases.cl"
#define WEIGHTS "conv_backward_weights", "panels", "conv/backward_weights_panels.cl"

typedef struct test_log {
    char warnings[8192], information[65536]; /* their lines */
} test_log;

/* A context with an empty log. */
husk_context *test_logged_context(test_log *log);

#endif
