// SPDX-License-Identifier: MIT
// An IDX file. What is taken is, written again from the array, the same bytes; and what was allocated for it is at most
// twice as large.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "train/data/parse.h"

static const unsigned char *element(const husk_array *array, int64_t index, int bytes, unsigned char big[8])
{
    uint64_t value = 0;
    memcpy(&value, (const char *)array->data + (size_t)index * husk_dtype_size(array->dtype),
           husk_dtype_size(array->dtype));
    for (int i = 0; i < bytes; i++)
        big[i] = (unsigned char)(value >> 8 * (bytes - 1 - i));
    return big;
}

static void expect_same(const unsigned char *bytes, size_t size, const husk_array *array)
{
    static const struct {
        int code, bytes;
        husk_dtype dtype;
    } types[] = {{8, 1, HUSK_U8},   {9, 1, HUSK_I8},   {11, 2, HUSK_I32},
                 {12, 4, HUSK_I32}, {13, 4, HUSK_F32}, {14, 8, HUSK_F64}};
    size_t type = 0;
    while (type < 6 && types[type].code != bytes[2])
        type++;
    fuzz_expect(type < 6 && types[type].dtype == array->dtype, "type %d became dtype %d", bytes[2], (int)array->dtype);
    fuzz_expect(array->rank == bytes[3], "rank %d became %d", bytes[3], array->rank);
    int64_t count = 1;
    for (int i = 0; i < array->rank; i++) {
        const unsigned char *at = bytes + 4 + 4 * i;
        fuzz_expect(array->shape[i] == ((int64_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3]), "size %d is another",
                    i);
        count *= array->shape[i];
    }
    const size_t begin = 4 + 4 * (size_t)array->rank;
    fuzz_expect(begin + (size_t)(count * types[type].bytes) == size, "%zu bytes became %lld elements", size,
                (long long)count);
    fuzz_expect(array->bytes == (uint64_t)count * husk_dtype_size(array->dtype) && array->bytes <= 2 * size,
                "%zu bytes became %llu", size, (unsigned long long)array->bytes);
    for (int64_t i = 0; i < count; i++) {
        unsigned char big[8];
        fuzz_expect(!memcmp(element(array, i, types[type].bytes, big), bytes + begin + i * types[type].bytes,
                            (size_t)types[type].bytes),
                    "element %lld is another", (long long)i);
    }
}

void fuzz_target(const char *text, size_t size)
{
    husk_error error = {0};
    husk_array array;
    const husk__source source = {.call = "fuzz", .path = "input", .error = &error};
    const husk_status status = husk__idx_parse((const unsigned char *)text, size, &array, &source);
    if (status) {
        fuzz_expect(status == HUSK_INVALID_ARGUMENT, "refused with %d: %s", (int)status, error.text);
        fuzz_expect_reason(error.text, sizeof error.text);
        fuzz_expect_clean(error.text);
        fuzz_expect(!array.data, "a refused array has memory");
    } else {
        expect_same((const unsigned char *)text, size, &array);
    }
    husk_array_release(&array);
}
