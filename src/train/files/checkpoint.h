/* SPDX-License-Identifier: MIT */
/*
 * train/files/checkpoint.h: what saving and loading a checkpoint share: the names in the file.
 */
#ifndef HUSK_TRAIN_FILES_CHECKPOINT_H
#define HUSK_TRAIN_FILES_CHECKPOINT_H

#include <husk/train/checkpoint.h>

#include "train/graph/compiled.h"
#include "train/data/file.h"

#define HUSK__CHECKPOINT_OWN      "husk." /* what names and keys of Husk's begin with */
#define HUSK__CHECKPOINT_GRADIENT "husk.gradient."
#define HUSK__CHECKPOINT_MASK     "husk.mask."
#define HUSK__CHECKPOINT_RATE     "husk.rate"
#define HUSK__CHECKPOINT_SCALE    "husk.loss_scale"

/* Metadata of a checkpoint that is more than weights. */
#define HUSK__CHECKPOINT_VERSION_KEY    "husk.checkpoint"
#define HUSK__CHECKPOINT_VERSION        "1"
#define HUSK__CHECKPOINT_OPTIMIZER_KEY  "husk.optimizer"
#define HUSK__CHECKPOINT_UPDATES_KEY    "husk.updates"
#define HUSK__CHECKPOINT_BATCHES_KEY    "husk.batches"
#define HUSK__CHECKPOINT_SEED_KEY       "husk.seed"
#define HUSK__CHECKPOINT_PENDING_KEY    "husk.pending"
#define HUSK__CHECKPOINT_ACCUMULATE_KEY "husk.accumulate"
#define HUSK__CHECKPOINT_EPOCH_KEY      "husk.feed.epoch"
#define HUSK__CHECKPOINT_BATCH_KEY      "husk.feed.batch"

/* Tensors of a graph, on the device, by their names in the file. */
typedef struct husk__checkpoint_list {
    husk_safetensors_item *items; /* parameters and statistics first, in the order in which they were made */
    size_t count, parameters;
    char *names;
} husk__checkpoint_list;

/* What is listed beside parameters and statistics. */
typedef struct husk__checkpoint_preference {
    bool states, gradients;       /* states: and the loss scale */
    husk_buffer *masks;           /* of pruning, train/step/masks.h; NULL: none */
    const husk_safetensors *file; /* masks of the parameters that this has masks of; NULL: that the graph has */
} husk__checkpoint_preference;

husk_status husk__checkpoint_list_make(husk__checkpoint_list *list, husk_graph *graph,
                                       const husk__checkpoint_preference *preference, const husk__source *source);
/* Also of one whose making failed. */
void husk__checkpoint_list_free(husk__checkpoint_list *list);

/* A number of the metadata: digits, up to 2^64 - 1. NULL is none. */
bool husk__checkpoint_number(const char *text, uint64_t *number);

/* OK, or why the graph can be neither saved nor loaded. */
husk_status husk__checkpoint_check_graph(const husk_graph *graph, const husk__source *source);
/* Another call's error, less that call's name. */
husk_status husk__checkpoint_pass_on(const husk__source *source, const husk_error *error);

#endif
