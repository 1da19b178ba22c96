/* SPDX-License-Identifier: MIT */
/*
 * runtime/arg.h: the arguments of kernels. No OpenCL type shows here.
 */
#ifndef HUSK_RUNTIME_ARG_H
#define HUSK_RUNTIME_ARG_H

#include <stddef.h>
#include <stdint.h>

#include <husk/tensor.h>

typedef enum husk__arg_tag {
    HUSK__TAG_BUFFER, /* pointer and long: a buffer and an offset in elements from its start; NULL is legal */
    HUSK__TAG_I32,
    HUSK__TAG_I64,
    HUSK__TAG_I64X8, /* long8: a pointer to eight numbers that live until the launch */
    HUSK__TAG_F32,
    HUSK__TAG_F64,
    HUSK__TAG_LOCAL, /* bytes of local memory */
    HUSK__TAG_SHARES /* SHARES_PARAM of cl/lib/shares.clh: who does which share of the launch, CPU devices */
} husk__arg_tag;

typedef struct husk__arg {
    husk__arg_tag tag;
    uint32_t element_size; /* BUFFER: bytes of an element */
    const husk_buffer *buffer;
    union {
        int32_t i32;
        int64_t i64; /* BUFFER: the offset in elements */
        const int64_t *i64x8;
        float f32;
        double f64;
        size_t bytes;
    } value;
} husk__arg;

/* A tensor is two kernel arguments: __global T *base, long offset. NULL gives (NULL, 0). */
husk__arg husk__arg_tensor(const husk_tensor *tensor);
/* Part of a buffer from a byte offset on, as elements of element_size bytes: two kernel arguments too. */
husk__arg husk__arg_buffer(const husk_buffer *buffer, uint64_t byte_offset, uint32_t element_size);

/* A number in the precision that kernels of that dtype compute in: acc_t of cl/lib/dtype.clh. */
husk__arg husk__arg_acc(husk_dtype dtype, double number);

#define HUSK__ARG_TENSOR(tensor) husk__arg_tensor(tensor)
#define HUSK__ARG_BUFFER(buffer, byte_offset, element_size) \
    husk__arg_buffer(buffer, byte_offset, element_size)
#define HUSK__ARG_I32(number) ((husk__arg){.tag = HUSK__TAG_I32, .value.i32 = (int32_t)(number)})
#define HUSK__ARG_I64(number) ((husk__arg){.tag = HUSK__TAG_I64, .value.i64 = (int64_t)(number)})
#define HUSK__ARG_I64X8(numbers) ((husk__arg){.tag = HUSK__TAG_I64X8, .value.i64x8 = (numbers)})
#define HUSK__ARG_F32(number) ((husk__arg){.tag = HUSK__TAG_F32, .value.f32 = (float)(number)})
#define HUSK__ARG_ACC(dtype, number) husk__arg_acc(dtype, number)
#define HUSK__ARG_LOCAL(size) ((husk__arg){.tag = HUSK__TAG_LOCAL, .value.bytes = (size)})
#define HUSK__ARG_SHARES ((husk__arg){.tag = HUSK__TAG_SHARES})

#endif
