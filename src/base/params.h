/* SPDX-License-Identifier: MIT */
/*
 * base/params.h: reading a params struct of a caller who may have been compiled against another version.
 */
#ifndef HUSK_BASE_PARAMS_H
#define HUSK_BASE_PARAMS_H

#include "base/error.h"

/*
 * Fill own, of own_size bytes, from the caller's struct: its first member, a uint32_t, is its size, and what it
 * does not reach stays zero, which means the default. Size 0 is the first version's, first_size. given NULL
 * gives zeros. INVALID_ARGUMENT for a struct that is larger than this library knows.
 */
husk_status husk__params_read(void *own, uint32_t own_size, uint32_t first_size, const void *given,
                              const husk__scope *scope);

/* The same for a struct that is another argument than params. */
husk_status husk__struct_read(void *own, uint32_t own_size, uint32_t first_size, const void *given,
                              const char *argument, const husk__scope *scope);

#endif
