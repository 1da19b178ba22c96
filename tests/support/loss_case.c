// SPDX-License-Identifier: MIT
#include "support/loss_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const int64_t loss_scalar[1] = {1};

static bool has_rows(const loss_case *c)
{
    return c->params.kind <= HUSK_LOSS_NEGATIVE_LOG;
}

static int64_t classes_of(const loss_case *c)
{
    return c->shape[c->rank > 1 ? 1 : 0];
}

static void find_rows(loss_case *c)
{
    c->rows_rank = 0;
    for (int32_t d = 0; d < c->rank; d++)
        if (!has_rows(c) || d != (c->rank > 1 ? 1 : 0))
            c->rows_shape[c->rows_rank++] = c->shape[d];
}

// Labels of every class; some are ignored where the case has an index for that.
static void fill_labels(loss_case *c, uint64_t seed)
{
    husk_ref_random random = {.seed = seed};
    int64_t index[HUSK_MAX_RANK] = {0};
    const int64_t ignored = c->params.ignore_index;
    if (husk_ref_array_count(&c->target.array) == 0)
        return;
    do {
        const int64_t label = test_one_in(&random, 5) ? ignored : husk_ref_random_below(&random, classes_of(c));
        husk_ref_store(&c->target.array, husk_ref_offset(&c->target.array, index), (double)label);
    } while (husk_ref_index_next(c->rows_rank, c->rows_shape, index));
    test_input_update(&c->target);
}

// Positive where logarithms or probabilities are wanted.
static void make_positive(test_tensor *tensor, double least)
{
    int64_t index[HUSK_MAX_RANK] = {0};
    if (husk_ref_array_count(&tensor->array) == 0)
        return;
    do {
        const int64_t at = husk_ref_offset(&tensor->array, index);
        husk_ref_store(&tensor->array, at, fabs(husk_ref_load(&tensor->array, at)) + least);
    } while (husk_ref_index_next(tensor->array.rank, tensor->array.shape, index));
    test_input_update(tensor);
}

void loss_case_fill(loss_case *c, loss_target target, test_layout layout, test_layout target_layout, bool has_weight,
                    bool has_positive_weight, uint64_t seed)
{
    const int64_t *small = &c->shape[c->rank > 0 ? c->rank - 1 : 0];
    const bool is_binary = c->params.kind == HUSK_LOSS_BINARY_LOGITS;
    const bool has_labels = has_rows(c) && target != LOSS_TARGET_FLOAT;
    const int64_t classes = has_rows(c) ? classes_of(c) : 0;
    find_rows(c);
    c->x = test_input_of(c->dtype, c->rank, c->shape, layout, seed, 3.0f);
    if (has_labels) {
        const husk_dtype labels = target == LOSS_TARGET_I64 ? HUSK_I64 : HUSK_I32;
        c->target = test_inout_of(labels, c->rows_rank, c->rows_shape, target_layout, seed, 3.0f);
        fill_labels(c, seed + 5);
    } else {
        c->target = test_input_of(c->dtype, c->rank, c->shape, target_layout, seed + 1, 1.0f);
        if (has_rows(c) || is_binary || (c->params.kind == HUSK_LOSS_DIVERGENCE && !c->params.log_target))
            make_positive(&c->target, 0.0);
    }
    c->has_weight = has_weight && (has_rows(c) || is_binary);
    c->has_positive_weight = has_positive_weight && is_binary;
    if (c->has_weight) {
        c->weight = has_rows(c) ? test_input_of(c->dtype, 1, &classes, TEST_SPREAD, seed + 2, 1.0f)
                                : test_input_of(c->dtype, c->rank, c->shape, layout, seed + 2, 1.0f);
        make_positive(&c->weight, 0.25);
    }
    if (c->has_positive_weight) {
        c->positive_weight = test_input_of(c->dtype, c->rank > 0 ? 1 : 0, small, TEST_PACKED, seed + 3, 1.0f);
        make_positive(&c->positive_weight, 0.5);
    }
    size_t used = (size_t)snprintf(c->text, sizeof c->text, "%s %s reduction %d target %d weights %d%d shape",
                                   husk_dtype_name(c->dtype), husk_loss_kind_name(c->params.kind),
                                   (int)c->params.reduction, (int)target, c->has_weight, c->has_positive_weight);
    for (int32_t d = 0; d < c->rank && used < sizeof c->text; d++)
        used += (size_t)snprintf(c->text + used, sizeof c->text - used, " %lld", (long long)c->shape[d]);
}

void loss_case_draw(loss_case *c, husk_dtype dtype, husk_ref_random *random, uint64_t seed)
{
    *c = (loss_case){.dtype = dtype, .params = husk_loss_defaults(0)};
    // Half of them are rows of classes, and half of those cross entropy of labels.
    c->params.kind = (husk_loss_kind)TEST_PICK(random, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 6, 7);
    c->params.reduction = (husk_loss_reduction)husk_ref_random_below(random, 3);
    loss_target target = (loss_target)TEST_PICK(random, 0, 1, 2);
    if (c->params.kind == HUSK_LOSS_NEGATIVE_LOG && target == LOSS_TARGET_FLOAT)
        target = LOSS_TARGET_I32;
    if (c->params.kind == HUSK_LOSS_CROSS_ENTROPY && test_one_in(random, 3))
        c->params.label_smoothing = 0.125f;
    if (test_one_in(random, 2))
        c->params.ignore_index = 0;
    c->params.beta =
        c->params.kind == HUSK_LOSS_HUBER || test_one_in(random, 2) ? 0.5f : (float)TEST_PICK(random, 0, 1);
    c->params.log_target = test_one_in(random, 2);
    c->rank = (int32_t)TEST_PICK(random, 1, 2, 2, 2, 3, 4, 5);
    for (int32_t d = 0; d < c->rank; d++)
        c->shape[d] = test_pick_size(random, 16, c->rank > 3 ? 5 : c->rank > 2 ? 20 : 60);
    if (c->rank <= 2) // rows longer than a block, many rows
        c->shape[c->rank - 1] = test_pick_size(random, 64, test_one_in(random, 4) ? 5000 : 300);
    const test_layout layout = test_pick_layout(random);
    loss_case_fill(c, target, layout, test_one_in(random, 2) ? layout : test_pick_layout(random),
                   test_one_in(random, 2), test_one_in(random, 2), seed);
}

void loss_case_release(loss_case *c)
{
    test_release(&c->x);
    test_release(&c->target);
    if (c->has_weight)
        test_release(&c->weight);
    if (c->has_positive_weight)
        test_release(&c->positive_weight);
}

const husk_tensor *loss_case_weight(const loss_case *c)
{
    return c->has_weight ? &c->weight.tensor : NULL;
}

const husk_tensor *loss_case_positive_weight(const loss_case *c)
{
    return c->has_positive_weight ? &c->positive_weight.tensor : NULL;
}

husk_ref_loss loss_case_ref(loss_case *c)
{
    return (husk_ref_loss){.params = &c->params,
                           .x = &c->x.array,
                           .target = &c->target.array,
                           .weight = c->has_weight ? &c->weight.array : NULL,
                           .positive_weight = c->has_positive_weight ? &c->positive_weight.array : NULL};
}

int32_t loss_case_loss_rank(const loss_case *c)
{
    return c->params.reduction == HUSK_LOSS_NONE ? c->rows_rank : 0;
}
