// SPDX-License-Identifier: MIT
// The OpenCL of stand_in.h. Every object is one struct with a count of references; memory is there as soon as somebody
// maps it; commands have ended when they are enqueued.
#include "stand_in.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <husk/opencl.h>

typedef struct thing {
    int references;
    size_t bytes;
    void *memory; // of a buffer, made when it is mapped
    void *user;
    void(CL_CALLBACK *destructor)(cl_mem, void *);
} thing;

// The handles' types are only declared in OpenCL's headers: a thing stands behind each.
#define HANDLE(type) ((type)make_thing())

static bool is_gpu = true;
static cl_uint width = 4;
static int platform, device;
static const char *platform_name = "stand-in", *device_name = "stand-in", *more_extensions = "";

static const char *driver = "stand-in";

void stand_in_be_driver(const char *version)
{
    driver = version;
}

void stand_in_be_of(const char *platform_, const char *device_, const char *extensions)
{
    platform_name = platform_;
    device_name = device_;
    more_extensions = extensions;
}

void stand_in_be_gpu(void)
{
    is_gpu = true;
    width = 4;
    stand_in_be_of("stand-in", "stand-in", "");
}

void stand_in_be_cpu(uint32_t vector_width)
{
    stand_in_be_gpu();
    is_gpu = false;
    width = vector_width;
}

static void *make_thing(void)
{
    thing *made = calloc(1, sizeof *made);
    if (!made)
        abort();
    made->references = 1;
    return made;
}

static cl_int retain(void *handle)
{
    ((thing *)handle)->references++;
    return CL_SUCCESS;
}

static cl_int release(void *handle)
{
    thing *t = handle;
    if (--t->references > 0)
        return CL_SUCCESS;
    if (t->destructor)
        t->destructor((cl_mem)handle, t->user);
    free(t->memory);
    free(t);
    return CL_SUCCESS;
}

static cl_int answer(const void *value, size_t bytes, size_t capacity, void *to, size_t *size)
{
    if (size)
        *size = bytes;
    if (to && capacity < bytes)
        return CL_INVALID_VALUE;
    if (to)
        memcpy(to, value, bytes);
    return CL_SUCCESS;
}

static cl_int answer_text(const char *text, size_t capacity, void *to, size_t *size)
{
    return answer(text, strlen(text) + 1, capacity, to, size);
}

// As many bytes of 0 as are asked for.
static cl_int answer_zero(size_t capacity, void *to, size_t *size)
{
    if (size)
        *size = 1;
    if (to)
        memset(to, 0, capacity);
    return CL_SUCCESS;
}

static cl_int done(cl_event *event)
{
    if (event)
        *event = HANDLE(cl_event);
    return CL_SUCCESS;
}

// ---- platform and device ----

cl_int clGetPlatformIDs(cl_uint capacity, cl_platform_id *platforms, cl_uint *count)
{
    if (count)
        *count = 1;
    if (platforms && capacity > 0)
        *platforms = (cl_platform_id)&platform;
    return CL_SUCCESS;
}

cl_int clGetPlatformInfo(cl_platform_id id, cl_platform_info what, size_t capacity, void *to, size_t *size)
{
    (void)id;
    return answer_text(what == CL_PLATFORM_NAME ? platform_name : "stand-in", capacity, to, size);
}

cl_int clGetDeviceIDs(cl_platform_id id, cl_device_type type, cl_uint capacity, cl_device_id *devices, cl_uint *count)
{
    (void)id, (void)type;
    if (count)
        *count = 1;
    if (devices && capacity > 0)
        *devices = (cl_device_id)&device;
    return CL_SUCCESS;
}

// What a device of today has, so that no configuration is refused for want of room.
static uint64_t number_of(cl_device_info what)
{
    switch (what) {
    case CL_DEVICE_TYPE:
        return is_gpu ? CL_DEVICE_TYPE_GPU : CL_DEVICE_TYPE_CPU;
    case CL_DEVICE_AVAILABLE:
        return CL_TRUE;
    case CL_DEVICE_MAX_COMPUTE_UNITS:
        return 16;
    case CL_DEVICE_MAX_CLOCK_FREQUENCY:
        return 2000;
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT:
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT:
        return width;
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN:
        return 1024;
    case CL_DEVICE_GLOBAL_MEM_SIZE:
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        return UINT64_C(64) << 30;
    case CL_DEVICE_LOCAL_MEM_SIZE:
        return 256 << 10;
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        return 1024;
    case CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE:
        return 64;
    case CL_DEVICE_GLOBAL_MEM_CACHE_SIZE:
        return 1 << 20;
    default:
        return 0;
    }
}

cl_int clGetDeviceInfo(cl_device_id id, cl_device_info what, size_t capacity, void *to, size_t *size)
{
    (void)id;
    if (what == CL_DEVICE_EXTENSIONS) {
        char extensions[256];
        snprintf(extensions, sizeof extensions, "cl_khr_fp64 cl_khr_fp16 cl_khr_subgroups%s", more_extensions);
        return answer_text(extensions, capacity, to, size);
    }
    if (what == CL_DEVICE_NAME)
        return answer_text(device_name, capacity, to, size);
    if (what == CL_DRIVER_VERSION)
        return answer_text(driver, capacity, to, size);
    if (what == CL_DEVICE_VENDOR || what == CL_DEVICE_VERSION || what == CL_DEVICE_OPENCL_C_VERSION)
        return answer_text("stand-in", capacity, to, size);
    if (what == CL_DEVICE_MAX_WORK_ITEM_SIZES) {
        const size_t sizes[3] = {1024, 1024, 1024};
        return answer(sizes, sizeof sizes, capacity, to, size);
    }
    const uint64_t number = number_of(what); // a little-endian machine's first bytes are its smaller types
    return answer(&number, capacity < sizeof number ? capacity : sizeof number, capacity, to, size);
}

// ---- contexts, queues, events ----

cl_context clCreateContext(const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
                           void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user,
                           cl_int *code)
{
    (void)properties, (void)count, (void)devices, (void)notify, (void)user;
    if (code)
        *code = CL_SUCCESS;
    return HANDLE(cl_context);
}

cl_int clRetainContext(cl_context context)
{
    return retain(context);
}

cl_int clReleaseContext(cl_context context)
{
    return release(context);
}

cl_int clGetContextInfo(cl_context context, cl_context_info what, size_t capacity, void *to, size_t *size)
{
    (void)context, (void)what;
    return answer_zero(capacity, to, size);
}

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id id, cl_command_queue_properties properties,
                                      cl_int *code)
{
    (void)context, (void)id, (void)properties;
    if (code)
        *code = CL_SUCCESS;
    return HANDLE(cl_command_queue);
}

cl_int clRetainCommandQueue(cl_command_queue queue)
{
    return retain(queue);
}

cl_int clReleaseCommandQueue(cl_command_queue queue)
{
    return release(queue);
}

cl_int clGetCommandQueueInfo(cl_command_queue queue, cl_command_queue_info what, size_t capacity, void *to,
                             size_t *size)
{
    (void)queue, (void)what;
    return answer_zero(capacity, to, size);
}

cl_int clFlush(cl_command_queue queue)
{
    (void)queue;
    return CL_SUCCESS;
}

cl_int clFinish(cl_command_queue queue)
{
    (void)queue;
    return CL_SUCCESS;
}

cl_int clRetainEvent(cl_event event)
{
    return retain(event);
}

cl_int clReleaseEvent(cl_event event)
{
    return release(event);
}

cl_int clWaitForEvents(cl_uint count, const cl_event *events)
{
    (void)count, (void)events;
    return CL_SUCCESS;
}

cl_int clGetEventInfo(cl_event event, cl_event_info what, size_t capacity, void *to, size_t *size)
{
    const cl_int complete = CL_COMPLETE;
    (void)event, (void)what;
    return answer(&complete, sizeof complete, capacity, to, size);
}

cl_int clGetEventProfilingInfo(cl_event event, cl_profiling_info what, size_t capacity, void *to, size_t *size)
{
    (void)event, (void)what;
    return answer_zero(capacity, to, size);
}

// ---- memory ----

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *code)
{
    (void)context, (void)flags, (void)host;
    cl_mem made = HANDLE(cl_mem);
    ((thing *)made)->bytes = bytes;
    if (code)
        *code = CL_SUCCESS;
    return made;
}

cl_int clRetainMemObject(cl_mem memory)
{
    return retain(memory);
}

cl_int clReleaseMemObject(cl_mem memory)
{
    return release(memory);
}

cl_int clGetMemObjectInfo(cl_mem memory, cl_mem_info what, size_t capacity, void *to, size_t *size)
{
    (void)memory, (void)what;
    return answer_zero(capacity, to, size);
}

cl_int clSetMemObjectDestructorCallback(cl_mem memory, void(CL_CALLBACK *destructor)(cl_mem, void *), void *user)
{
    ((thing *)memory)->destructor = destructor;
    ((thing *)memory)->user = user;
    return CL_SUCCESS;
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset, size_t bytes,
                           void *to, cl_uint count, const cl_event *wait, cl_event *event)
{
    (void)queue, (void)memory, (void)blocking, (void)offset, (void)count, (void)wait;
    memset(to, 0, bytes);
    return done(event);
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset, size_t bytes,
                            const void *from, cl_uint count, const cl_event *wait, cl_event *event)
{
    (void)queue, (void)memory, (void)blocking, (void)offset, (void)bytes, (void)from, (void)count, (void)wait;
    return done(event);
}

cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
                           size_t bytes, cl_uint count, const cl_event *wait, cl_event *event)
{
    (void)queue, (void)from, (void)to, (void)from_offset, (void)to_offset, (void)bytes, (void)count, (void)wait;
    return done(event);
}

cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem memory, const void *pattern, size_t pattern_bytes,
                           size_t offset, size_t bytes, cl_uint count, const cl_event *wait, cl_event *event)
{
    (void)queue, (void)memory, (void)pattern, (void)pattern_bytes, (void)offset, (void)bytes, (void)count, (void)wait;
    return done(event);
}

void *clEnqueueMapBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking, cl_map_flags flags, size_t offset,
                         size_t bytes, cl_uint count, const cl_event *wait, cl_event *event, cl_int *code)
{
    thing *t = (thing *)memory;
    (void)queue, (void)blocking, (void)flags, (void)bytes, (void)count, (void)wait;
    if (!t->memory && !(t->memory = calloc(1, t->bytes)))
        abort();
    if (code)
        *code = CL_SUCCESS;
    done(event);
    return (char *)t->memory + offset;
}

cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void *mapped, cl_uint count, const cl_event *wait,
                               cl_event *event)
{
    (void)queue, (void)memory, (void)mapped, (void)count, (void)wait;
    return done(event);
}

cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *wait, cl_event *event)
{
    (void)queue, (void)count, (void)wait;
    return done(event);
}

cl_int clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *wait, cl_event *event)
{
    (void)queue, (void)count, (void)wait;
    return done(event);
}

// ---- programs and kernels ----

cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char **texts, const size_t *lengths,
                                     cl_int *code)
{
    (void)context, (void)count, (void)texts, (void)lengths;
    if (code)
        *code = CL_SUCCESS;
    return HANDLE(cl_program);
}

cl_program clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id *devices,
                                     const size_t *lengths, const unsigned char **binaries, cl_int *status,
                                     cl_int *code)
{
    (void)context, (void)count, (void)devices, (void)lengths, (void)binaries, (void)status;
    if (code)
        *code = CL_INVALID_BINARY;
    return NULL;
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                      void(CL_CALLBACK *notify)(cl_program, void *), void *user)
{
    (void)program, (void)count, (void)devices, (void)options, (void)notify, (void)user;
    return CL_SUCCESS;
}

cl_int clGetProgramInfo(cl_program program, cl_program_info what, size_t capacity, void *to, size_t *size)
{
    (void)program, (void)what;
    return answer_zero(capacity, to, size);
}

cl_int clGetProgramBuildInfo(cl_program program, cl_device_id id, cl_program_build_info what, size_t capacity, void *to,
                             size_t *size)
{
    (void)program, (void)id, (void)what;
    return answer_text("", capacity, to, size);
}

cl_int clReleaseProgram(cl_program program)
{
    return release(program);
}

cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *code)
{
    (void)program, (void)name;
    if (code)
        *code = CL_SUCCESS;
    return HANDLE(cl_kernel);
}

cl_int clReleaseKernel(cl_kernel kernel)
{
    return release(kernel);
}

// No kernel requires a size of work-group: all are refused none.
cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id id, cl_kernel_work_group_info what, size_t capacity,
                                void *to, size_t *size)
{
    const size_t most = 1024;
    (void)kernel, (void)id;
    if (what == CL_KERNEL_WORK_GROUP_SIZE)
        return answer(&most, sizeof most, capacity, to, size);
    return answer_zero(capacity, to, size);
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t bytes, const void *value)
{
    (void)kernel, (void)index, (void)bytes, (void)value;
    return CL_SUCCESS;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                              const size_t *global, const size_t *local, cl_uint count, const cl_event *wait,
                              cl_event *event)
{
    (void)queue, (void)kernel, (void)dimensions, (void)offset, (void)global, (void)local, (void)count, (void)wait;
    return done(event);
}
