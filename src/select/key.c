// SPDX-License-Identifier: MIT
#include "select/key.h"

#include <string.h>

static void append(husk__key *key, const void *bytes, size_t size)
{
    if (key->size + size > sizeof key->bytes) {
        key->is_full = true;
        return;
    }
    memcpy(key->bytes + key->size, bytes, size);
    key->size += size;
}

void husk__key_i64(husk__key *key, int64_t value)
{
    append(key, &value, sizeof value);
}

void husk__key_f32(husk__key *key, float value)
{
    append(key, &value, sizeof value);
}

void husk__key_text(husk__key *key, const char *text)
{
    husk__key_i64(key, text ? (int64_t)strlen(text) : -1);
    if (text)
        append(key, text, strlen(text));
}

void husk__key_tensor(husk__key *key, const husk_tensor *tensor)
{
    if (!tensor) {
        husk__key_i64(key, -1);
        return;
    }
    husk__key_i64(key, tensor->rank);
    husk__key_i64(key, tensor->dtype);
    append(key, tensor->shape, (size_t)tensor->rank * sizeof tensor->shape[0]);
    append(key, tensor->strides, (size_t)tensor->rank * sizeof tensor->strides[0]);
}

bool husk__key_equal(const husk__key *a, const husk__key *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}
