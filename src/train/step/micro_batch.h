/* SPDX-License-Identifier: MIT */
/*
 * train/step/micro_batch.h: several forwards before the first of their backwards.
 */
#ifndef HUSK_TRAIN_STEP_MICRO_BATCH_H
#define HUSK_TRAIN_STEP_MICRO_BATCH_H

#include "train/graph/compiled.h"

/* No forward has a backward to come. */
void husk__drop_forwards(husk__compiled *compiled);
/* The number of the batch whose forward is to be made: backwards done, and forwards that wait for theirs. */
void husk__begin_forward(husk__compiled *compiled);
/* Use another one: buffers are bound to the calls anew. */
void husk__use_micro_batch(husk__compiled *compiled, uint32_t index);

#endif
