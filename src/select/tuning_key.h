/* SPDX-License-Identifier: MIT */
/*
 * select/tuning_key.h: by what tuning knows devices, problems and kernels.
 */
#ifndef HUSK_SELECT_TUNING_KEY_H
#define HUSK_SELECT_TUNING_KEY_H

#include <husk/tuning.h>

#include "base/text.h"
#include "select/op.h"

/* The device's part of the key; the rest is emptied. False for want of memory. */
bool husk__tuning_key_device(const husk_device_traits *traits, husk_tuning_key *key);

/*
 * problem and shape_class. is_call: for an immediate call; explicit plans, whose weights are packed beforehand as a
 * rule, are tuned apart. False: the problem has no key. lacks_memory, which may be NULL: shape_class is empty for want
 * of it.
 */
bool husk__tuning_key_problem(const husk__op *op, const void *problem, bool is_call, husk_tuning_key *key,
                              bool *lacks_memory);

/*
 * A hash of the operator's menus and of its kernel files with what they include, as the library would build them now:
 * comments, blanks and line numbers do not count. Empty where a file cannot be read. False, and empty, for want of
 * memory.
 */
bool husk__tuning_kernels(const husk__op *op, char hash[33]);

#endif
