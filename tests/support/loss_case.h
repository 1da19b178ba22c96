/* SPDX-License-Identifier: MIT */
/*
 * support/loss_case.h: operands of losses by chance, for the tests of husk_loss and of husk_loss_backward.
 */
#ifndef HUSK_TESTS_LOSS_CASE_H
#define HUSK_TESTS_LOSS_CASE_H

#include "ref/loss/loss.h"
#include "support/support.h"

typedef struct loss_case {
    husk_loss_params params;
    husk_dtype dtype;
    int32_t rank;
    int64_t shape[HUSK_MAX_RANK];
    int32_t rows_rank; /* of the losses before they are reduced */
    int64_t rows_shape[HUSK_MAX_RANK];
    test_tensor x, target, weight, positive_weight;
    bool has_weight, has_positive_weight;
    char text[240];
} loss_case;

/* The shape of a tensor of rank 0, of which nothing is read. */
extern const int64_t loss_scalar[1];

/* How labels or targets are given. */
typedef enum loss_target { LOSS_TARGET_I32, LOSS_TARGET_I64, LOSS_TARGET_FLOAT } loss_target;

/* shape, rank, dtype and params are set; makes the operands. */
void loss_case_fill(loss_case *c, loss_target target, test_layout layout, test_layout target_layout, bool has_weight,
                    bool has_positive_weight, uint64_t seed);
/* Any configuration. */
void loss_case_draw(loss_case *c, husk_dtype dtype, husk_ref_random *random, uint64_t seed);
void loss_case_release(loss_case *c);

const husk_tensor *loss_case_weight(const loss_case *c);
const husk_tensor *loss_case_positive_weight(const loss_case *c);
/* The reference's description. */
husk_ref_loss loss_case_ref(loss_case *c);
/* The rank and shape of the loss: rows_shape, or rank 0. */
int32_t loss_case_loss_rank(const loss_case *c);

#endif
