/* SPDX-License-Identifier: MIT */
/*
 * husk/train/data.h: examples from files.
 *
 * Files are not trusted: lengths are compared with the file's before memory is asked for, and what is wrong is refused
 * with a text that names the file and the rule. Failures of the system are IO, broken rules of a file INVALID_ARGUMENT,
 * memory OUT_OF_HOST_MEMORY.
 */
#ifndef HUSK_TRAIN_DATA_H
#define HUSK_TRAIN_DATA_H

#include <husk/tensor.h>

HUSK_BEGIN_DECLS

/* Elements in host memory, packed, last dimension fastest. */
typedef struct husk_array {
    husk_dtype dtype;
    int32_t rank;
    int64_t shape[HUSK_MAX_RANK];
    uint64_t bytes;
    void *data; /* the array's, by malloc */
} husk_array;

/* Frees the elements and makes it empty. An array of zeros may be released, too, and NULL. */
HUSK_API void husk_array_release(husk_array *array);

/*
 * IDX, the format of MNIST: two zeros, a byte for the type, a byte for the rank, the sizes in 32 bits each, the
 * elements; all big-endian. Types 0x08 (u8), 0x09 (i8), 0x0B (16 bits, which become i32), 0x0C (i32), 0x0D (f32) and
 * 0x0E (f64); at most HUSK_MAX_RANK dimensions; nothing behind the elements. What is allocated is as large as the file,
 * or twice as large for elements of 16 bits.
 */
HUSK_API husk_status husk_idx_read(const char *path, husk_array *array, husk_error *error);

/*
 * CIFAR-10, the binary version: records of a label, 0 to 9, and 3 x 32 x 32 bytes of red, green and blue. The files
 * (data_batch_1.bin ...) one behind the other: images u8 [n, 3, 32, 32], labels u8 [n].
 */
HUSK_API husk_status husk_cifar10_read(const char *const *paths, size_t count, husk_array *images,
                                       husk_array *labels, husk_error *error);

HUSK_END_DECLS

#endif
