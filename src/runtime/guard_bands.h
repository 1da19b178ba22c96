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
/*
 * Which blocks are known to be intact: those whose bands were read, all of them with one wait, and are as they were
 * laid. A wait for each band would cost the waking of a driver's thread, which is most of what looking takes. Nothing
 * is told of the others: is_intact is false of one that was written, could not be read, or has wide bands.
 */
void husk__guards_look_together(husk_context *context, husk__block *const *blocks, int count, bool *is_intact);
/* A last look at a block that nobody has any more. */
void husk__guards_end(husk_context *context, husk__block *block);

#endif
