// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "train/data/parse.h"

static const struct type_row {
    unsigned char code;
    int bytes;
    husk_dtype dtype;
} TYPES[] = {
    {0x08, 1, HUSK_U8},  {0x09, 1, HUSK_I8},  {0x0b, 2, HUSK_I32},
    {0x0c, 4, HUSK_I32}, {0x0d, 4, HUSK_F32}, {0x0e, 8, HUSK_F64},
};

// ---- arrays ----

void husk_array_release(husk_array *array)
{
    if (!array)
        return;
    free(array->data);
    *array = (husk_array){0};
}

husk_status husk__array_make(husk_array *array, husk_dtype dtype, int32_t rank, const int64_t *shape,
                             const husk__source *source)
{
    *array = (husk_array){.dtype = dtype, .rank = rank, .bytes = husk_dtype_size(dtype)};
    for (int32_t i = 0; i < rank; ++i) {
        array->shape[i] = shape[i];
        array->bytes *= (uint64_t)shape[i];
    }
    array->data = malloc(array->bytes ? (size_t)array->bytes : 1);
    if (array->data)
        return HUSK_OK;
    const unsigned long long bytes = array->bytes;
    *array = (husk_array){0};
    return husk__source_fail(source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for its %llu bytes", bytes);
}

// ---- IDX ----

static uint32_t read_32(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void convert(const struct type_row *type, const unsigned char *from, uint64_t count, void *data)
{
    if (type->bytes == 1) {
        memcpy(data, from, (size_t)count);
    } else if (type->bytes == 2) {
        for (uint64_t i = 0; i < count; ++i, from += 2)
            ((int32_t *)data)[i] = (int16_t)((uint32_t)from[0] << 8 | from[1]);
    } else if (type->bytes == 4) {
        for (uint64_t i = 0; i < count; ++i, from += 4)
            ((uint32_t *)data)[i] = read_32(from);
    } else {
        for (uint64_t i = 0; i < count; ++i, from += 8)
            ((uint64_t *)data)[i] = (uint64_t)read_32(from) << 32 | read_32(from + 4);
    }
}

static husk_status check_magic(const unsigned char *bytes, uint64_t size, const struct type_row **type,
                               const husk__source *source)
{
    if (size >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "it is compressed: gunzip it first");
    if (size < 4)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "it ends within its first four bytes");
    if (bytes[0] != 0 || bytes[1] != 0)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "it is no IDX file, which begins with two zeros");
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; ++i)
        if (TYPES[i].code == bytes[2])
            *type = &TYPES[i];
    if (!*type)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "no element has type 0x%02X", bytes[2]);
    if (bytes[3] > HUSK_MAX_RANK)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT,
                                 "it has %d dimensions, and Husk has tensors of %d at most", bytes[3], HUSK_MAX_RANK);
    return HUSK_OK;
}

husk_status husk__idx_parse(const unsigned char *bytes, uint64_t size, husk_array *array, const husk__source *source)
{
    const struct type_row *type = NULL;
    int64_t shape[HUSK_MAX_RANK];
    *array = (husk_array){0};
    husk_status status = check_magic(bytes, size, &type, source);
    if (status)
        return status;
    const int rank = bytes[3];
    const uint64_t begin = 4 + 4 * (uint64_t)rank;
    if (size < begin)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "it ends within the sizes of its %d dimensions", rank);
    int64_t count = 1;
    bool overflows = false, is_empty = false;
    for (int i = 0; i < rank; ++i) {
        shape[i] = read_32(bytes + 4 + 4 * i);
        is_empty = is_empty || shape[i] == 0;
        overflows = __builtin_mul_overflow(count, shape[i], &count) || overflows;
    }
    const uint64_t behind = size - begin, element = (uint64_t)type->bytes;
    if (is_empty && overflows) // nothing is there, and yet no product of sizes is to be trusted
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "its sizes are beyond 63 bits");
    if (overflows || (uint64_t)count > behind / element)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT,
                                 "its sizes are of more than the %llu bytes it has behind them",
                                 (unsigned long long)behind);
    if (behind != (uint64_t)count * element)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT,
                                 "its sizes are of %llu bytes, and it has %llu behind them",
                                 (unsigned long long)((uint64_t)count * element), (unsigned long long)behind);
    status = husk__array_make(array, type->dtype, rank, shape, source);
    if (!status)
        convert(type, bytes + begin, (uint64_t)count, array->data);
    return status;
}

husk_status husk_idx_read(const char *path, husk_array *array, husk_error *error)
{
    husk__source source = {.call = "husk_idx_read", .error = error};
    unsigned char *bytes;
    uint64_t size;
    if (!path || !array)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "%s: it is NULL", path ? "array" : "path");
    source.path = path;
    *array = (husk_array){0};
    husk_status status = husk__file_load(&source, &bytes, &size);
    if (status)
        return status;
    status = husk__idx_parse(bytes, size, array, &source);
    free(bytes);
    return status;
}
