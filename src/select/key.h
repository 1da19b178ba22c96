/* SPDX-License-Identifier: MIT */
/*
 * select/key.h: resolved fields in a row of bytes, by which plans are found and packed weights recognised.
 * Fields are written one by one, never a struct's bytes, so padding does not count.
 */
#ifndef HUSK_SELECT_KEY_H
#define HUSK_SELECT_KEY_H

#include <husk/tensor.h>

enum { HUSK__KEY_CAPACITY = 1024 };

typedef struct husk__key {
    size_t size;
    bool is_full; /* a field did not fit: the key must not be used */
    unsigned char bytes[HUSK__KEY_CAPACITY];
} husk__key;

void husk__key_i64(husk__key *key, int64_t value);
void husk__key_f32(husk__key *key, float value);
/* The text with its end; NULL and "" differ. */
void husk__key_text(husk__key *key, const char *text);
/* Presence, rank, dtype, shape and strides of a resolved tensor; NULL is legal. Buffer and offset do not count. */
void husk__key_tensor(husk__key *key, const husk_tensor *tensor);
bool husk__key_equal(const husk__key *a, const husk__key *b);

#endif
