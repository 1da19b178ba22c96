/* SPDX-License-Identifier: MIT */
/*
 * train/files/safetensors_header.h: the header of a safetensors file, as bytes in memory.
 *
 * A reader of its own and no JSON library: a document in memory takes some fifty times the bytes it was made of, and a
 * header may have a hundred million. Names and texts are decoded where they stand.
 */
#ifndef HUSK_TRAIN_FILES_SAFETENSORS_HEADER_H
#define HUSK_TRAIN_FILES_SAFETENSORS_HEADER_H

#include <husk/train/safetensors.h>

#include "train/data/file.h"

#define HUSK__SAFETENSORS_MOST_HEADER 100000000
#define HUSK__SAFETENSORS_METADATA    "__metadata__"

typedef struct husk__tensor_place {
    const char *name;
    uint64_t begin, end; /* bytes from the first tensor's */
    const char *shape;   /* behind its "[" */
    uint8_t dtype;       /* a row of the table of dtypes */
    uint8_t rank;
} husk__tensor_place;

/* What the text says. Everything points into the text. */
typedef struct husk__tensor_list {
    char *text; /* size bytes and a zero; changed */
    size_t size;
    husk__tensor_place *places; /* in the order of their bytes */
    husk__tensor_place **by_name;
    size_t count;
    const char *metadata; /* key, zero, value, zero, key ... */
    size_t metadata_count;
} husk__tensor_list;

/* text is the caller's and has to outlive the list; data_size: bytes behind the header. Freed also after a failure. */
husk_status husk__tensor_list_parse(husk__tensor_list *list, char *text, size_t size, uint64_t data_size,
                                    const husk__source *source);
void husk__tensor_list_free(husk__tensor_list *list);

void husk__tensor_list_entry(const husk__tensor_place *place, husk_safetensors_entry *entry);
/* NULL where there is none. */
const husk__tensor_place *husk__tensor_list_find(const husk__tensor_list *list, const char *name);
/* The format's name of a husk_dtype; NULL for none. */
const char *husk__safetensors_dtype_name(husk_dtype dtype);
/* The bytes before header and data, read: how long the header is. Refused where it does not fit into file_size. */
husk_status husk__tensor_list_length(const unsigned char bytes[8], uint64_t file_size, uint64_t *length,
                                     const husk__source *source);
/* Whether the bytes are UTF-8 as Unicode has it: no surrogates, nothing longer than needed. */
bool husk__is_utf8(const char *bytes, size_t size);
/* Whether strides are zero, or what they would be then; false where the rank is none. */
bool husk__safetensors_is_packed(const husk_tensor *tensor);

#endif
