/* SPDX-License-Identifier: MIT */
/*
 * select/preferences.h: HUSK_VARIANT: what the user prefers where a call names no variant.
 */
#ifndef HUSK_SELECT_PREFERENCES_H
#define HUSK_SELECT_PREFERENCES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct husk__preferences {
    char *list; /* as it was when it was read; NULL where unset */
} husk__preferences;

/* False for want of memory. */
bool husk__preferences_read(husk__preferences *preferences);
void husk__preferences_free(husk__preferences *preferences);

/* The part of a list such as "conv:winograd_4x4,gemm:tiled:64x64" that is about op; false where there is none. */
bool husk__variant_from_list(const char *list, const char *op, char *wanted, size_t capacity);

#endif
