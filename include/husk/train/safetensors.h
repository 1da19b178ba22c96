/* SPDX-License-Identifier: MIT */
/** @file
 * Tensors in files, by name, in the safetensors format of Hugging Face.
 *
 *     8 bytes        n, the length of the header, little-endian
 *     n bytes        the header, JSON: {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...},
 *                    "__metadata__" beside them: texts by text; padded with spaces
 *     all others     the elements, packed, last dimension fastest, little-endian
 *
 * ## Rules for files
 *
 * Files are not trusted. A file is refused, with a text that names the file, the tensor and the rule, if it breaks one
 * of these rules. The following are those of the reference implementation:
 *
 * - The header has at most 100,000,000 bytes, begins with "{", and is UTF-8 and JSON.
 * - Each name occurs once.
 * - The bytes of each tensor are those of its dtype and shape. They lie within the file, without holes or overlaps, up
 *   to the file's end.
 *
 * Husk has two more rules: tensors have at most #HUSK_MAX_RANK dimensions, and no text contains a zero.
 *
 * What is allocated is at most four times the header's length, and that is at most the file's. A dtype that Husk does
 * not have is accepted: such tensors are listed, and read as bytes. Hosts that are not little-endian are not supported.
 *
 * ## Checksums
 *
 * Files written by Husk have two checksums in their metadata, XXH3-128 in 32 hexadecimal digits:
 *
 * | key | checksum of |
 * | --- | --- |
 * | husk.xxh3 | all elements |
 * | husk.header | the n bytes of the header, with its own digits taken as "0"; the header begins with it |
 *
 * They are verified when a file that has them is opened. A program that copies metadata to a file of its own must leave
 * out both.
 *
 * ## Errors
 *
 * | status | reason |
 * | --- | --- |
 * | HUSK_IO | the system failed |
 * | HUSK_INVALID_ARGUMENT | the file breaks a rule |
 * | HUSK_OUT_OF_HOST_MEMORY | memory |
 */
#ifndef HUSK_TRAIN_SAFETENSORS_H
#define HUSK_TRAIN_SAFETENSORS_H

#include <husk/tensor.h>

HUSK_BEGIN_DECLS

/** An open file. It does not change, so threads may read from it at the same time. */
typedef struct husk_safetensors husk_safetensors;

/** Options of husk_safetensors_open(). */
typedef struct husk_safetensors_params {
    uint32_t size; /**< sizeof this struct; HUSK_SAFETENSORS_PARAMS() sets it. */
    /**
     * Not 0: a file is opened whatever its checksums are. The checksum of the elements is not computed, which saves
     * reading the file once. HUSK_LOAD_RESUME still refuses the file unless the checksum of the header is right.
     */
    uint32_t unverified;
} husk_safetensors_params;

/** Makes a husk_safetensors_params; see husk/export.h. */
#define HUSK_SAFETENSORS_PARAMS(...) HUSK_MAKE(husk_safetensors_params, __VA_ARGS__)

/** The header's information about one tensor. The texts belong to the file. */
typedef struct husk_safetensors_entry {
    const char *name;
    const char *dtype_name; /**< The format's name: "F32", "BF16", "BOOL" and so on. */
    int32_t dtype;          /**< A husk_dtype; -1 if Husk has no such dtype. */
    int32_t rank;
    int64_t shape[HUSK_MAX_RANK];
    uint64_t bytes;
    uint64_t offset;        /**< Bytes from the start of the first tensor. */
} husk_safetensors_entry;

/**
 * Open a file.
 *
 * @param params NULL for the defaults
 */
HUSK_API husk_status husk_safetensors_open(const char *path, const husk_safetensors_params *params,
                                           husk_safetensors **file, husk_error *error);
/** Close the file. */
HUSK_API void husk_safetensors_close(husk_safetensors *file);

/** The number of tensors. */
HUSK_API size_t husk_safetensors_count(const husk_safetensors *file);
/** A tensor's entry, in the order of the elements in the file. `index` is below the count. */
HUSK_API void husk_safetensors_get(const husk_safetensors *file, size_t index, husk_safetensors_entry *entry);
/** Find a tensor by its name. False if there is none. `entry` may be NULL. */
HUSK_API bool husk_safetensors_find(const husk_safetensors *file, const char *name, husk_safetensors_entry *entry);

/** The metadata's text for a key; NULL if there is none. */
HUSK_API const char *husk_safetensors_metadata(const husk_safetensors *file, const char *key);
/** A pair of the metadata, in the order of the file. False past the last. */
HUSK_API bool husk_safetensors_metadata_get(const husk_safetensors *file, size_t index, const char **key,
                                            const char **value);

/** Read a tensor's elements into host memory. `bytes` must be the entry's. */
HUSK_API husk_status husk_safetensors_read(const husk_safetensors *file, const char *name, void *host, uint64_t bytes,
                                           husk_error *error);
/**
 * Read a tensor's elements into device memory. The call returns when the device has them. After a failure some may have
 * been written.
 *
 * @param to packed, with the entry's dtype and shape
 */
HUSK_API husk_status husk_safetensors_read_tensor(const husk_safetensors *file, const char *name, husk_queue *queue,
                                                  const husk_tensor *to, husk_error *error);

/** A tensor to be written. It is packed: its strides are zero, or those of a packed tensor. */
typedef struct husk_safetensors_item {
    const char *name;   /**< UTF-8; not "__metadata__". */
    const void *host;   /**< The elements, packed; NULL: they are in the tensor's buffer. */
    husk_tensor tensor; /**< Dtype and shape. */
} husk_safetensors_item;

/** A pair of metadata to be written. */
typedef struct husk_safetensors_pair {
    const char *key; /**< UTF-8, unique; neither "husk.xxh3" nor "husk.header". */
    const char *value;
} husk_safetensors_pair;

/**
 * Write a file, all or nothing.
 *
 * The data is written to a second file, `path` with ".part" appended, and synced. Then that file is renamed, and the
 * folder is synced. Whatever happens before the renaming, such as a full disk or a killed process, `path` does not
 * change.
 *
 * - A failed call leaves no ".part". The next call reuses what a killed process has left.
 * - If two writers use one path at the same time, the second is refused. If the file system has no locks, each writes
 *   to its own file, whose name continues after ".part", and the last one's file stays.
 *
 * @param queue reads the tensors in device memory; NULL if there are none
 * @retval HUSK_IO A write failed. If only the last step failed, the syncing of the folder, `path` is the new file.
 */
HUSK_API husk_status husk_safetensors_write(const char *path, husk_queue *queue, const husk_safetensors_item *items,
                                            size_t count, const husk_safetensors_pair *metadata, size_t metadata_count,
                                            husk_error *error);

HUSK_END_DECLS

#endif
