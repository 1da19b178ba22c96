/* SPDX-License-Identifier: MIT */
/*
 * base/text.h: a growing string that remembers running out of memory instead of crashing; and reading strings.
 */
#ifndef HUSK_BASE_TEXT_H
#define HUSK_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct husk__text {
    char *bytes; /* zero-terminated; NULL while empty */
    size_t size;
    size_t capacity;
    bool failed; /* an append found no memory; later appends do nothing */
} husk__text;

void husk__text_append(husk__text *text, const char *bytes, size_t size);
void husk__text_format(husk__text *text, const char *format, ...) HUSK__PRINTF(2, 3);
void husk__text_free(husk__text *text);

/* strdup that is there in C11. */
char *husk__copy_string(const char *string);
/* Whether part occurs in whole, letters' case ignored. */
bool husk__contains_ignoring_case(const char *whole, const char *part);
/* "64", "16K", "512M", "1G" (powers of 1024). False for anything else. */
bool husk__parse_size(const char *text, uint64_t *value);

#endif
