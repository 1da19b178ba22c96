/* SPDX-License-Identifier: MIT */
/*
 * train/data/parse.h: formats of data as bytes in memory.
 */
#ifndef HUSK_TRAIN_DATA_PARSE_H
#define HUSK_TRAIN_DATA_PARSE_H

#include <husk/train/data.h>

#include "train/data/file.h"

enum {
    HUSK__CIFAR10_PIXELS = 3 * 32 * 32,
    HUSK__CIFAR10_RECORD = 1 + HUSK__CIFAR10_PIXELS,
    HUSK__CIFAR10_CLASSES = 10
};

/* Memory for an array of this dtype and shape; the product must not overflow. */
husk_status husk__array_make(husk_array *array, husk_dtype dtype, int32_t rank, const int64_t *shape,
                             const husk__source *source);

husk_status husk__idx_parse(const unsigned char *bytes, uint64_t size, husk_array *array, const husk__source *source);

/* Whether a file of these bytes is one: its records. */
husk_status husk__cifar10_count(uint64_t size, int64_t *records, const husk__source *source);
/* Records' labels and pixels; refused where a label is no class. first: the number of the first one, for the text. */
husk_status husk__cifar10_parse(const unsigned char *bytes, int64_t first, int64_t records, uint8_t *images,
                                uint8_t *labels, const husk__source *source);

#endif
