/* SPDX-License-Identifier: MIT */
/*
 * train/data/set.h: examples as the feed sees them.
 */
#ifndef HUSK_TRAIN_DATA_SET_H
#define HUSK_TRAIN_DATA_SET_H

#include <husk/train/data.h>

#include "train/data/file.h"

/* Inputs or labels: example i begins at element first + i * step. */
typedef struct husk__column {
    const void *data; /* NULL: there are no labels */
    husk_dtype dtype; /* in memory */
    husk_dtype given; /* HUSK_F32 or HUSK_I32 */
    int64_t first, step;
    int64_t elements; /* of one example */
    int32_t rank;     /* and its shape */
    int64_t shape[HUSK_MAX_RANK];
} husk__column;

typedef struct husk__store husk__store;

struct husk_dataset {
    husk__store *store;
    int64_t count;
    int64_t *examples; /* which of the store's; NULL: from first on */
    int64_t first;
};

const husk__column *husk__dataset_inputs(const husk_dataset *dataset);
const husk__column *husk__dataset_labels(const husk_dataset *dataset);
/* The example's number in the store. */
int64_t husk__dataset_example(const husk_dataset *dataset, int64_t index);
/* Another handle of the same examples; NULL where there is no memory. */
husk_dataset *husk__dataset_share(const husk_dataset *dataset);

/* Uninitialised, for the numbers of so many examples; NULL where there is no memory. */
int64_t *husk__example_list(int64_t count);

/* Element by element, converted, not normalised. */
void husk__column_read(const husk__column *column, int64_t example, void *to);
/* One element of numbers. */
double husk__column_number(const husk__column *column, int64_t element);

#endif
