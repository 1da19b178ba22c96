/* SPDX-License-Identifier: MIT */
/*
 * train/wrong_kernels.h: copies of the kernels with mistakes in them, and what the log says of it.
 */
#ifndef HUSK_TESTS_WRONG_KERNELS_H
#define HUSK_TESTS_WRONG_KERNELS_H

#include <husk/train.h>

typedef struct mistake {
    const char *op, *variant, *file, *right, *wrong; /* file: of the kernels */
    const char *what;
} mistake;

/* The kernels that CPUs take for most convolutions. */
#define FORWARD "conv", "implicit_gemm", "conv_implicit_gemm.cl"
#define DATA    "conv_backward_data", "phases", "conv_backward_data_phases.cl"
#define WEIGHTS "conv_backward_weights", "panels", "conv_backward_weights_panels.cl"

/* A copy of all kernels in a folder of this template's (mkdtemp); a mistake in one of them; the end of it. */
void test_copy_kernels(char *folder);
void test_plant(const char *folder, const mistake *m);
void test_remove_kernels(const char *folder);

typedef struct test_log {
    char warnings[8192], information[65536]; /* their lines */
} test_log;

/* A context with an empty log. */
husk_context *test_logged_context(test_log *log);

#endif
