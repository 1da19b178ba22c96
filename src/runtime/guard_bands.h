/* SPDX-License-Identifier: MIT */
/*
 * runtime/guard_bands.h: guard bands: laid when a block is made, compared when someone asks and when the block is
 * released.
 */
#ifndef HUSK_RUNTIME_GUARD_BANDS_H
#define HUSK_RUNTIME_GUARD_BANDS_H

#include "base/error.h"
#include "runtime/block.h"

/* Write the bands of a new block, and what its memory holds until it is written. */
husk_status husk__guards_lay(husk_context *context, const husk__block *block, const husk__scope *scope);
/* Whether they are as they were laid, once the commands that use the block have ended: else INTERNAL, told once. */
husk_status husk__guards_look(husk_context *context, husk__block *block, const husk__scope *scope);
/* Look, and keep what there is to tell for the next check. */
void husk__guards_look_and_keep(husk_context *context, husk__block *block);
/* A last look at a block that nobody has any more. */
void husk__guards_end(husk_context *context, husk__block *block);

#endif
