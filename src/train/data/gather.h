/* SPDX-License-Identifier: MIT */
/*
 * train/data/gather.h: examples into a batch, normalised and augmented.
 */
#ifndef HUSK_TRAIN_DATA_GATHER_H
#define HUSK_TRAIN_DATA_GATHER_H

#include "train/data/set.h"

typedef struct husk__gather {
    const husk__column *inputs;
    int32_t channels;
    float scale, *mean, *deviation; /* of the channels */
    float *table;                   /* of inputs of bytes: what becomes of each, by channel; else NULL */
    bool flip;
    int64_t shift;
    uint64_t seed;
} husk__gather;

/* Resolves the params; refused where they do not fit the dataset. */
husk_status husk__gather_make(husk__gather *gather, const husk_dataset *dataset, const husk_feed_params *params,
                              const husk__source *source);
void husk__gather_free(husk__gather *gather);
/* One example into its place in the batch. */
void husk__gather_example(const husk__gather *gather, int64_t example, uint64_t epoch, void *to);

#endif
