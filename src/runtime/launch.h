/* SPDX-License-Identifier: MIT */
/*
 * runtime/launch.h: kernels and how operators launch them. No OpenCL type shows here.
 *
 *     husk__kernel_get     at plan time, from any thread: builds the program on first use
 *     husk__launch         at run time, on one queue: one array of tagged arguments, in the kernel's order
 */
#ifndef HUSK_RUNTIME_LAUNCH_H
#define HUSK_RUNTIME_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

#include <husk/tensor.h>

#include "base/error.h"

/* Belongs to the context and lives as long as it; the same arguments give the same pointer. */
typedef struct husk__kernel husk__kernel;

/*
 * Kernel name of program (file, options). options are the caller's -D constants; what every kernel is built
 * with (-cl-std, -DVW= the device's vector width) is added here.
 * BUILD_FAILED with the log; UNSUPPORTED when the kernel needs more work-items a group or more local memory
 * than the device has: the caller takes its next variant then. A build that fails by no compiler's word (want of
 * memory, a lost device) is answered as any other OpenCL call is, and is made again when it is asked for again.
 */
husk_status husk__kernel_get(husk_context *context, const char *file, const char *options, const char *name,
                             const husk__kernel **kernel, const husk__scope *scope);

/* Work-items of one dimension of a launch: most drivers count them in 32 bits. */
#define HUSK__MOST_ITEMS INT64_C(0xffffffff)
/* As many, or what HUSK_LIMITS leaves: what has more of a kind takes several launches. */
int64_t husk__most_items(const husk_context *context);

/* Work-items the kernel's reqd_work_group_size asks for, 1s where it has none. */
const size_t *husk__kernel_work_group(const husk__kernel *kernel);

/*
 * Whether a kernel whose indices are int by default must be built with -DINDEX_64: some element lies `reach` from its
 * tensor's first, or there are that many.
 */
bool husk__needs_index_64(const husk_context *context, int64_t reach);

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

/* Work-groups of a dimension but the first at most: NVIDIA's end at 65,535. What has more goes on elsewhere. */
enum { HUSK__MOST_GROUPS = 32768 };

/* Number of work-groups in each dimension, and work-items a group; 0 groups launch nothing. */
typedef struct husk__range {
    size_t groups[3];
    size_t items[3];
} husk__range;

/*
 * Enqueue the kernel. UNSUPPORTED when the device refuses the launch for lack of registers or local memory
 * but is alive: the caller takes its next variant.
 */
husk_status husk__launch(husk_queue *queue, const husk__kernel *kernel, const husk__range *range,
                         const husk__arg *arguments, size_t count, const husk__scope *scope);

/*
 * Commands that another library has just enqueued on the queue use this memory: it is not handed out again
 * before they have ended. NULL buffers count nothing.
 */
void husk__launch_note_foreign(husk_queue *queue, const husk_buffer *const *buffers, size_t count);

#define HUSK__LAUNCH(queue, kernel, range, scope, ...)                                              \
    husk__launch(queue, kernel, range, (const husk__arg[]){__VA_ARGS__},                            \
                 sizeof((const husk__arg[]){__VA_ARGS__}) / sizeof(husk__arg), scope)

#endif
