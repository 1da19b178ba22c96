// SPDX-License-Identifier: MIT
// An entry of the cache of binaries. The input is what a file might hold; and, since no chance finds a hash, a key and
// a binary that an entry is made of, which is read back, and is refused with a byte changed, a byte less or more, and
// for another key.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "runtime/cache.h"

static const char KEY[] = "device driver -cl-std=CL1.2 source";

static void expect_refused(const char *bytes, size_t size, const char *key, const char *what)
{
    size_t binary_size = 0;
    char *exact = malloc(size ? size : 1);
    fuzz_expect(exact != NULL, "memory is short");
    memcpy(exact, bytes, size);
    fuzz_expect(!husk__cache_entry_find(exact, size, key, &binary_size), "accepted: %s", what);
    free(exact);
}

static void expect_found(const husk__text *entry, const char *key, const char *binary, size_t size)
{
    size_t found_size = 0;
    const char *found = husk__cache_entry_find(entry->bytes, entry->size, key, &found_size);
    fuzz_expect(found != NULL, "an entry is not found under its own key");
    fuzz_expect(found_size == size && !memcmp(found, binary, size), "an entry gives another binary");
    fuzz_expect(found >= entry->bytes && found + found_size == entry->bytes + entry->size,
                "the binary is not within its entry");
}

// place, how it is changed, the length of the key, the key, the binary
static void make_and_break(const char *text, size_t size)
{
    unsigned char head[4] = {0};
    memcpy(head, text, size < sizeof head ? size : sizeof head);
    text += size < sizeof head ? size : sizeof head;
    size -= size < sizeof head ? size : sizeof head;
    char key[256];
    size_t key_size = head[3] < size ? head[3] : size;
    memcpy(key, text, key_size);
    key[key_size] = '\0';
    key_size = strlen(key);
    const char *binary = text + key_size;
    const size_t binary_size = size - key_size;
    husk__text entry = {0};
    husk__cache_entry_write(&entry, key, (const unsigned char *)binary, binary_size);
    fuzz_expect(!entry.failed, "memory is short");
    expect_found(&entry, key, binary, binary_size);
    expect_refused(entry.bytes, entry.size - 1, key, "a byte less");
    expect_refused(entry.bytes, entry.size + 1, key, "a byte more");
    char other[258];
    strcpy(other, key);
    strcat(other, "x");
    expect_refused(entry.bytes, entry.size, other, "another key");
    const size_t place = (head[0] | (size_t)head[1] << 8) % entry.size;
    entry.bytes[place] ^= (char)(head[2] ? head[2] : 1);
    expect_refused(entry.bytes, entry.size, key, "a changed byte");
    husk__text_free(&entry);
}

void fuzz_target(const char *text, size_t size)
{
    size_t binary_size = 0;
    const char *binary = husk__cache_entry_find(text, size, KEY, &binary_size);
    if (binary)
        fuzz_expect(binary > text && binary + binary_size == text + size, "the binary is not within its entry");
    make_and_break(text, size);
}
