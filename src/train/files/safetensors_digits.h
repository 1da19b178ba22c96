/* SPDX-License-Identifier: MIT */
/*
 * train/files/safetensors_digits.h: checksums of a safetensors file, as texts.
 */
#ifndef HUSK_TRAIN_FILES_SAFETENSORS_DIGITS_H
#define HUSK_TRAIN_FILES_SAFETENSORS_DIGITS_H

#include <stddef.h>
#include <stdint.h>

#include "train/files/safetensors_header.h"

#define HUSK__SAFETENSORS_CHECKSUM    "husk.xxh3"   /* of the elements */
#define HUSK__SAFETENSORS_HEADER      "husk.header" /* of the header, the digits of this one taken as zeros */
enum { HUSK__SAFETENSORS_DIGITS = 32 };

/* What a header begins with that is verified; its digits follow. */
#define HUSK__SAFETENSORS_BEGINNING "{\"" HUSK__SAFETENSORS_METADATA "\":{\"" HUSK__SAFETENSORS_HEADER "\":\""

/* XXH3-128 as text. */
typedef struct husk__safetensors_digits {
    char text[HUSK__SAFETENSORS_DIGITS + 1];
} husk__safetensors_digits;
husk__safetensors_digits husk__safetensors_digits_of(uint64_t high, uint64_t low);
/* Of a header that begins like one that is verified, and is longer. Its own digits become zeros. */
husk__safetensors_digits husk__safetensors_hash_header(char *header, size_t size);

#endif
