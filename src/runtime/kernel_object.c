// SPDX-License-Identifier: MIT
// Kernel objects of queues, and their arguments: set where they differ from those of the object's last launch. Most
// calls repeat the one before, with other buffers at most, and some kernels have sixty arguments.
#include "runtime/kernel_object.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/lost.h"
#include "runtime/opencl_error.h"
#include "runtime/pocl.h"
#include "runtime/shares.h"

enum { WIDE = 8 }; // numbers of a long8

static bool grow(husk_queue *queue, uint32_t id)
{
    size_t capacity = queue->kernel_capacity ? queue->kernel_capacity : 64;
    while (capacity <= id)
        capacity *= 2;
    husk__kernel_object *kernels = realloc(queue->kernels, capacity * sizeof *kernels);
    if (!kernels)
        return false;
    memset(kernels + queue->kernel_capacity, 0, (capacity - queue->kernel_capacity) * sizeof *kernels);
    queue->kernels = kernels;
    queue->kernel_capacity = capacity;
    return true;
}

// Some drivers compile a kernel only when it is launched (PoCL), and may crash on it then: the log names it before. The
// kernel is one of the context's own, which alone makes them.
static void announce(const husk_context *context, const husk__kernel *kernel)
{
    if (!atomic_exchange(&((husk__kernel *)(uintptr_t)kernel)->is_announced, true))
        husk__log_write(&context->log, HUSK_LOG_DEBUG, "first launch of %s of %s", kernel->name, kernel->program->file);
}

husk_status husk__kernel_object_get(husk_queue *queue, const husk__kernel *kernel, husk__kernel_object **object,
                                    const husk__scope *scope)
{
    if (kernel->id >= queue->kernel_capacity && !grow(queue, kernel->id))
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for kernel %s", kernel->name);
    *object = &queue->kernels[kernel->id];
    if ((*object)->cl)
        return HUSK_OK;
    // compiled when it is launched, perhaps
    const husk_status status = husk__refuse_full_folder(&queue->context->device->traits, scope);
    if (status != HUSK_OK)
        return status;
    announce(queue->context, kernel);
    cl_int code;
    (*object)->cl = clCreateKernel(kernel->program->cl, kernel->name, &code);
    return (*object)->cl ? HUSK_OK : husk__opencl_failed(queue->context, scope, "clCreateKernel", code);
}

void husk__kernel_objects_destroy(husk_queue *queue)
{
    for (size_t i = 0; i < queue->kernel_capacity; ++i) {
        if (queue->kernels[i].cl)
            clReleaseKernel(queue->kernels[i].cl);
        free(queue->kernels[i].words);
    }
    free(queue->kernels);
}

static size_t words_of(const husk__arg *arguments, size_t count)
{
    size_t words = 0;
    for (size_t i = 0; i < count; ++i)
        words += arguments[i].tag == HUSK__TAG_BUFFER ? 2 : arguments[i].tag == HUSK__TAG_I64X8 ? WIDE : 1;
    return words;
}

// Nothing is known of the arguments any more; room for what will be.
static void forget(husk__kernel_object *object, const husk__arg *arguments, size_t count)
{
    object->is_known = false;
    if (object->words && object->argument_count == count)
        return;
    free(object->words);
    object->words = malloc((words_of(arguments, count) + 1) * sizeof *object->words);
    object->argument_count = count;
}

// One walk through an object's arguments.
typedef struct walk {
    cl_kernel cl;
    cl_uint index;
    bool is_known;
    uint64_t *word; // of the next argument, or NULL
    cl_int code;
    const char *function; // that answered it
} walk;

// Whether the next word differs from what was set; it is what is set then.
static inline bool differs(walk *w, uint64_t now)
{
    if (!w->word)
        return true;
    uint64_t *word = w->word++;
    if (w->is_known && *word == now)
        return false;
    *word = now;
    return true;
}

static inline void set(walk *w, size_t size, const void *value)
{
    w->code = clSetKernelArg(w->cl, w->index, size, value);
}

static inline void set_buffer(walk *w, const husk__arg *argument)
{
    const husk_buffer *buffer = argument->buffer;
    const husk__block *block = buffer ? buffer->block : NULL;
    // Buffers that are no views begin at 0, and a division takes longer than the rest.
    const cl_long begin = buffer && buffer->offset ? (cl_long)(buffer->offset / argument->element_size) : 0;
    const cl_long offset = buffer ? argument->value.i64 + begin : 0;
    if (differs(w, block ? block->serial : 0))
        set(w, sizeof block->mem, block ? &block->mem : NULL);
    if (w->code != CL_SUCCESS)
        return;
    w->index++;
    if (differs(w, (uint64_t)offset))
        set(w, sizeof offset, &offset);
}

static void set_wide(walk *w, const int64_t *numbers)
{
    bool any = false;
    for (int i = 0; i < WIDE; ++i)
        any = differs(w, (uint64_t)numbers[i]) || any;
    if (any)
        set(w, WIDE * sizeof *numbers, numbers);
}

// A queue has one table of shares.
static void set_shares(walk *w, husk_queue *queue)
{
    const cl_mem mem = husk__queue_shares(queue, &w->code);
    if (!mem) {
        w->function = "clCreateBuffer";
        return;
    }
    w->code = CL_SUCCESS;
    if (differs(w, 1))
        set(w, sizeof mem, &mem);
}

// Four bytes of a value as a word; what they are is compared, not what they mean.
static uint64_t bits_of(const void *value)
{
    uint32_t bits;
    memcpy(&bits, value, sizeof bits);
    return bits;
}

static void set_next(walk *w, husk_queue *queue, const husk__arg *argument)
{
    switch (argument->tag) {
    case HUSK__TAG_BUFFER:
        set_buffer(w, argument);
        break;
    case HUSK__TAG_I32:
    case HUSK__TAG_F32:
        if (differs(w, bits_of(&argument->value)))
            set(w, sizeof argument->value.i32, &argument->value);
        break;
    case HUSK__TAG_I64:
    case HUSK__TAG_F64:
        if (differs(w, (uint64_t)argument->value.i64))
            set(w, sizeof argument->value.i64, &argument->value);
        break;
    case HUSK__TAG_I64X8:
        set_wide(w, argument->value.i64x8);
        break;
    case HUSK__TAG_LOCAL:
        if (differs(w, argument->value.bytes))
            set(w, argument->value.bytes, NULL);
        break;
    case HUSK__TAG_SHARES:
        set_shares(w, queue);
        break;
    }
}

// An argument that the kernel does not have, or not of that size, is a mistake of ours; the rest is the device's.
static husk_status set_failed(const walk *w, husk_queue *queue, const husk__kernel *kernel, const husk__scope *scope)
{
    const husk_status status = husk__opencl_failed(queue->context, scope, w->function, w->code);
    const bool is_ours = w->code == CL_INVALID_ARG_INDEX || w->code == CL_INVALID_ARG_VALUE ||
                         w->code == CL_INVALID_ARG_SIZE || w->code == CL_INVALID_MEM_OBJECT;
    if (status == HUSK_DEVICE_LOST)
        return status;
    return husk__fail_opencl(scope, is_ours ? HUSK_INTERNAL : status, w->code, "kernel %s: argument %u: %s answered %s",
                             kernel->name, (unsigned)w->index, w->function, husk__opencl_name(w->code));
}

husk_status husk__kernel_object_set(husk_queue *queue, husk__kernel_object *object, const husk__kernel *kernel,
                                    const husk__arg *arguments, size_t count, const husk__scope *scope)
{
    if (!object->is_known || object->argument_count != count)
        forget(object, arguments, count);
    walk w = {object->cl, 0, object->is_known, object->words, CL_SUCCESS, "clSetKernelArg"};
    for (size_t i = 0; i < count; ++i) {
        set_next(&w, queue, &arguments[i]);
        if (w.code != CL_SUCCESS)
            break;
        w.index++;
    }
    object->is_known = w.code == CL_SUCCESS && object->words;
    return w.code == CL_SUCCESS ? HUSK_OK : set_failed(&w, queue, kernel, scope);
}
