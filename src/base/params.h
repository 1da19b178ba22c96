/* SPDX-License-Identifier: MIT */
/*
 * base/params.h: reading a params struct of a caller, who has told its size.
 */
#ifndef HUSK_BASE_PARAMS_H
#define HUSK_BASE_PARAMS_H

#include "base/error.h"

/*
 * Fill own, of own_size bytes, from the caller's struct, whose first member, a uint32_t, is its size; NULL gives zeros.
 * INVALID_ARGUMENT for any other size, 0 among them: such a struct was not made by what sets it (made_by, a macro's
 * name or a function's), or by another version's, and whatever was guessed of its members might be wrong.
 */
husk_status husk__params_read(void *own, uint32_t own_size, const char *made_by, const void *given,
                              const husk__scope *scope);

/* The same for a struct that is another argument than params. */
husk_status husk__struct_read(void *own, uint32_t own_size, const char *made_by, const void *given,
                              const char *argument, const husk__scope *scope);

#endif
