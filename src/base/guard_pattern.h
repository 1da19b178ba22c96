/* SPDX-License-Identifier: MIT */
/*
 * base/guard_pattern.h: what guard bands hold, and which of their bytes were written. Nothing here is OpenCL's.
 *
 * A guarded block has `band` bytes, the buffer's own, and `band` bytes again.
 */
#ifndef HUSK_BASE_GUARD_PATTERN_H
#define HUSK_BASE_GUARD_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

/* What memory between bands holds until it is written: NaN of every real type. */
#define HUSK__GUARD_UNWRITTEN 0xff

typedef struct husk__guarded {
    uint64_t serial; /* bands of blocks with different numbers differ */
    uint64_t bytes;  /* of the whole block */
    uint64_t band;
} husk__guarded;

/* Bytes of a band that were written: the first and the last, counted from the edge of the buffer. */
typedef struct husk__guard_touch {
    bool is_touched;
    uint64_t nearest, farthest;
} husk__guard_touch;

/* Where the band behind the buffer, or the one before it, begins in the block. */
uint64_t husk__guard_begin(const husk__guarded *block, bool is_behind);
/* The band's bytes as they are laid. */
void husk__guard_fill(const husk__guarded *block, bool is_behind, unsigned char *bytes);
/* What was written of a band that now holds these bytes. */
husk__guard_touch husk__guard_compare(const husk__guarded *block, bool is_behind, const unsigned char *bytes);
/*
 * "bytes 1 to 4 before its beginning and byte 0 behind its end", of the bands before and behind; "" where nothing was
 * written.
 */
#define HUSK__GUARD_TEXT 200
void husk__guard_describe(const husk__guard_touch found[2], char text[HUSK__GUARD_TEXT]);

#endif
