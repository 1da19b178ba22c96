/* SPDX-License-Identifier: MIT */
/*
 * runtime/launch.h: kernels and how operators launch them. No OpenCL type shows here.
 *
 *     husk__kernel_get     at plan time, from any thread: builds the program on first use
 *     husk__launch         at run time, on one queue: one array of tagged arguments, in the kernel's order
 */
#ifndef HUSK_RUNTIME_LAUNCH_H
#define HUSK_RUNTIME_LAUNCH_H

#include "base/error.h"
#include "runtime/arg.h"
#include "runtime/range.h"

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

/* HUSK__MOST_ITEMS, or what HUSK_LIMITS leaves: what has more of a kind takes several launches. */
int64_t husk__most_items(const husk_context *context);

/* Work-items the kernel's reqd_work_group_size asks for, 1s where it has none. */
const size_t *husk__kernel_work_group(const husk__kernel *kernel);

/*
 * Whether a kernel whose indices are int by default must be built with -DINDEX_64: some element lies `reach` from its
 * tensor's first, or there are that many.
 */
bool husk__needs_index_64(const husk_context *context, int64_t reach);

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
