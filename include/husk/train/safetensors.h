/* SPDX-License-Identifier: MIT */
/*
 * husk/train/safetensors.h: tensors in files, by name, in the format of Hugging Face.
 *
 *     8 bytes        n, the length of the header, little-endian
 *     n bytes        the header, JSON: {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...},
 *                    "__metadata__" beside them: texts by text; padded with spaces
 *     all others     the elements, packed, last dimension fastest, little-endian
 *
 * A file is refused, with a text that names the file, the tensor and the rule, unless its header has at most
 * 100,000,000 bytes, begins with "{" and is UTF-8 and JSON, names are there once, and the tensors' bytes are what
 * their dtypes and shapes say, within the file, without holes or overlaps, to the file's end: the rules of the
 * reference implementation. Beyond these, tensors have at most HUSK_MAX_RANK dimensions, and no text holds a zero.
 * Files are not trusted: what is allocated is bounded by four times the header's length, and that by the file's. A
 * dtype that Husk does not have is no reason to refuse a file: such tensors are listed and read as bytes.
 *
 * Files that are written here carry two checksums as metadata, XXH3-128 in 32 hexadecimal digits, verified when a
 * file that has them is opened: "husk.xxh3" of all elements, and "husk.header", with which the header begins, of the
 * n bytes of the header, its own digits taken as "0". A program that copies metadata to a file of its own leaves both
 * out. Hosts that are not little-endian are not supported.
 *
 * Failures of the system are IO, broken rules of a file INVALID_ARGUMENT, and memory OUT_OF_HOST_MEMORY.
 */
#ifndef HUSK_TRAIN_SAFETENSORS_H
#define HUSK_TRAIN_SAFETENSORS_H

#include <husk/tensor.h>

HUSK_BEGIN_DECLS

/* An open file. It does not change, so threads may read from it at once. */
typedef struct husk_safetensors husk_safetensors;

typedef struct husk_safetensors_params {
    uint32_t size; /* sizeof this struct: HUSK_SAFETENSORS_PARAMS sets it */
    /*
     * Not 0: a file is opened whatever its checksums say. That of the elements is not looked at, which saves reading
     * the file once. HUSK_LOAD_RESUME refuses it in any case unless that of the header is right.
     */
    uint32_t unverified;
} husk_safetensors_params;

#define HUSK_SAFETENSORS_PARAMS(...) HUSK_MAKE(husk_safetensors_params, __VA_ARGS__)

/* What the header says of one tensor. The texts belong to the file. */
typedef struct husk_safetensors_entry {
    const char *name;
    const char *dtype_name; /* the format's: "F32", "BF16", "BOOL" ... */
    int32_t dtype;          /* a husk_dtype, or -1 where Husk has none like it */
    int32_t rank;
    int64_t shape[HUSK_MAX_RANK];
    uint64_t bytes;
    uint64_t offset; /* bytes from the first tensor's */
} husk_safetensors_entry;

/* params: NULL for the defaults. */
HUSK_API husk_status husk_safetensors_open(const char *path, const husk_safetensors_params *params,
                                           husk_safetensors **file, husk_error *error);
HUSK_API void husk_safetensors_close(husk_safetensors *file);

/* The tensors, in the order of their elements in the file. */
HUSK_API size_t husk_safetensors_count(const husk_safetensors *file);
/* index is below the count. */
HUSK_API void husk_safetensors_get(const husk_safetensors *file, size_t index, husk_safetensors_entry *entry);
/* False where no tensor has this name. entry may be NULL. */
HUSK_API bool husk_safetensors_find(const husk_safetensors *file, const char *name,
                                    husk_safetensors_entry *entry);

/* The metadata's text of this key, or NULL. */
HUSK_API const char *husk_safetensors_metadata(const husk_safetensors *file, const char *key);
/* The pairs in the order of the file; false past the last. */
HUSK_API bool husk_safetensors_metadata_get(const husk_safetensors *file, size_t index, const char **key,
                                            const char **value);

/* A tensor's elements into host memory. bytes has to be the entry's. */
HUSK_API husk_status husk_safetensors_read(const husk_safetensors *file, const char *name, void *host,
                                           uint64_t bytes, husk_error *error);
/*
 * A tensor's elements into device memory. dtype and shape have to be the entry's, and to packed. It returns when the
 * device has them; where it fails, some may have been written.
 */
HUSK_API husk_status husk_safetensors_read_tensor(const husk_safetensors *file, const char *name,
                                                  husk_queue *queue, const husk_tensor *to, husk_error *error);

/* A tensor to be written. It is packed: its strides are zero, or what they would be then. */
typedef struct husk_safetensors_item {
    const char *name;   /* UTF-8; not "__metadata__" */
    const void *host;   /* its elements, packed; NULL: they are in tensor's buffer */
    husk_tensor tensor; /* dtype and shape */
} husk_safetensors_item;

typedef struct husk_safetensors_pair {
    const char *key; /* UTF-8, once; neither "husk.xxh3" nor "husk.header" */
    const char *value;
} husk_safetensors_pair;

/*
 * Write a file. queue: the tensors in device memory are read on it; NULL where there are none.
 *
 * All or nothing: it is written beside path, as path with ".part" behind it, synced, renamed, and the folder synced.
 * Whatever happens before, a full disk or a killed process among it, path stays as it was. A failed call leaves no
 * ".part"; what a killed process has left of one is used again by the next call. Two writers of one path at once: the
 * second is refused. Where the file system has no locks, each has a part of its own, with more behind ".part", and the
 * last one's file stays. Only when the last step fails, the folder's syncing, path is the new file and the answer IO.
 */
HUSK_API husk_status husk_safetensors_write(const char *path, husk_queue *queue,
                                            const husk_safetensors_item *items, size_t count,
                                            const husk_safetensors_pair *metadata, size_t metadata_count,
                                            husk_error *error);

HUSK_END_DECLS

#endif
