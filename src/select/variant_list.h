/* SPDX-License-Identifier: MIT */
/*
 * select/variant_list.h: HUSK_VARIANT: what the user prefers where a call names no variant.
 */
#ifndef HUSK_SELECT_VARIANT_LIST_H
#define HUSK_SELECT_VARIANT_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct husk__variant_list {
    char *text; /* as it was when it was read; NULL where unset */
} husk__variant_list;

/* False for want of memory. */
bool husk__variant_list_read(husk__variant_list *list);
void husk__variant_list_free(husk__variant_list *list);

/* The part of a list such as "conv:winograd_4x4,gemm:tiled:64x64" that is about op; false where there is none. */
bool husk__variant_from_list(const char *list, const char *op, char *wanted, size_t capacity);

#endif
