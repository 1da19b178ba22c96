/* SPDX-License-Identifier: MIT */
/*
 * train/loop/log.h: what a log holds already, as text in memory.
 */
#ifndef HUSK_TRAIN_LOOP_LOG_H
#define HUSK_TRAIN_LOOP_LOG_H

#include <husk/train/loop.h>

#include "train/data/file.h"

/*
 * How much of the text, behind which there is a zero, stays: the header, and rows before resume_at. 0 where
 * the header is not whole, and is to be written.
 */
husk_status husk__log_end(const char *text, uint64_t bytes, const char *header, const husk_log_params *own,
                          uint64_t *stays, const husk__source *source);

#endif
