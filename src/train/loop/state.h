/* SPDX-License-Identifier: MIT */
/*
 * train/loop/state.h: the states of a loop as texts: a word, and numbers in hexadecimal, doubles by their bits. So a
 * text gives the same state again, whatever the locale.
 */
#ifndef HUSK_TRAIN_LOOP_STATE_H
#define HUSK_TRAIN_LOOP_STATE_H

#include <husk/train/rate.h>

#include "train/error.h"

uint64_t husk__state_bits(double number);
double husk__state_number(uint64_t bits);
/* "word a b c". */
void husk__state_write(const char *word, const uint64_t *numbers, int count, char text[HUSK_STATE_TEXT]);
/* The same backwards; anything else is refused. */
husk_status husk__state_read(const char *text, const char *word, uint64_t *numbers, int count,
                             const husk__train_scope *scope);

/* Whether value is better than best by more than a margin. */
bool husk__is_better(husk_better better, double value, double best, double margin);
husk_status husk__check_better(husk_better better, const husk__train_scope *scope);

#endif
