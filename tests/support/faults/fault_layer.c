// SPDX-License-Identifier: MIT
// Each function here has the name of an OpenCL call: the static library, linked into this program, finds these
// first; the real ones are found behind them.
#define _GNU_SOURCE
#include "support/faults/fault_layer.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_long calls, fail_at;
static atomic_int fail_code, event_end;
static atomic_bool forever;
static _Atomic(const char *) failed_name;
static _Atomic(const char *) spared;
static _Atomic(const char *) named;
static atomic_long named_left;
static atomic_int named_code;
static atomic_long objects;

void fault_plan(long number, cl_int code, bool for_good)
{
    atomic_store(&calls, 0);
    atomic_store(&fail_at, number);
    atomic_store(&fail_code, code);
    atomic_store(&forever, for_good);
    atomic_store(&failed_name, NULL);
    atomic_store(&named, NULL);
}

void fault_fail(const char *name, long count, cl_int code)
{
    atomic_store(&named_code, code);
    atomic_store(&named_left, count);
    atomic_store(&named, name);
}

void fault_spare(const char *name)
{
    atomic_store(&spared, name);
}

void fault_end_event(cl_int status)
{
    atomic_store(&event_end, status);
}

long fault_calls(void)
{
    return atomic_load(&calls);
}

const char *fault_name(void)
{
    return atomic_load(&failed_name);
}

long fault_objects(void)
{
    return atomic_load(&objects);
}

static bool is_planned(const char *name)
{
    const long number = atomic_fetch_add(&calls, 1) + 1, at = atomic_load(&fail_at);
    const char *never = atomic_load(&spared);
    return at > 0 && (number == at || (number > at && atomic_load(&forever))) && !(never && strcmp(never, name) == 0);
}

static bool is_named(const char *name)
{
    const char *wanted = atomic_load(&named);
    return wanted && strcmp(wanted, name) == 0 && atomic_fetch_sub(&named_left, 1) > 0;
}

// What the call answers instead of being made; CL_SUCCESS: it is made.
static cl_int failure(const char *name)
{
    const char *nobody = NULL;
    const bool planned = is_planned(name), by_name = is_named(name);
    if (!planned && !by_name)
        return CL_SUCCESS;
    atomic_compare_exchange_strong(&failed_name, &nobody, name);
    return (cl_int)atomic_load(planned ? &fail_code : &named_code);
}

// By the loader's name: this file has every call of it that is made, so the program may not be linked with it.
static void *real(const char *name)
{
    static _Atomic(void *) loader;
    if (!atomic_load(&loader))
        atomic_store(&loader, dlopen("libOpenCL.so.1", RTLD_NOW));
    void *found = atomic_load(&loader) ? dlsym(atomic_load(&loader), name) : NULL;
    if (!found)
        abort();
    return found;
}

static void refuse(const char *name, cl_int code)
{
    fprintf(stderr, "%s answers %d\n", name, (int)code);
    abort();
}

/* A call that answers with its error, and one that makes an object and has the error as its last argument. */
#define ANSWERS(name, parameters, arguments)                                    \
    cl_int name parameters                                                      \
    {                                                                           \
        cl_int(*call) parameters = (cl_int(*) parameters)real(#name);           \
        const cl_int failed = failure(#name);                                   \
        return failed ? failed : call arguments;                                \
    }
#define MAKES(type, name, parameters, arguments)                  \
    type name parameters                                          \
    {                                                             \
        type(*call) parameters = (type(*) parameters)real(#name); \
        const cl_int failed = failure(#name);                     \
        if (failed) {                                             \
            if (code)                                             \
                *code = failed;                                   \
            return NULL;                                          \
        }                                                         \
        type made = call arguments;                               \
        atomic_fetch_add(&objects, made != NULL);                 \
        return made;                                              \
    }
/* The same, where what is made is no object, but the event is. */
#define MAPS(type, name, parameters, arguments)                              \
    type name parameters                                                     \
    {                                                                        \
        type(*call) parameters = (type(*) parameters)real(#name);            \
        const cl_int failed = failure(#name);                                \
        if (failed) {                                                        \
            if (code)                                                        \
                *code = failed;                                              \
            return NULL;                                                     \
        }                                                                    \
        type mapped = call arguments;                                        \
        atomic_fetch_add(&objects, mapped != NULL && event != NULL);         \
        return mapped;                                                       \
    }
/* A command with an event as its last parameter, which is one more object where it is asked for. */
#define ENQUEUES(name, parameters, arguments)                              \
    cl_int name parameters                                                 \
    {                                                                      \
        cl_int(*call) parameters = (cl_int(*) parameters)real(#name);      \
        const cl_int failed = failure(#name);                              \
        if (failed)                                                        \
            return failed;                                                 \
        const cl_int answer = call arguments;                              \
        atomic_fetch_add(&objects, answer == CL_SUCCESS && event != NULL); \
        return answer;                                                     \
    }
/*
 * Never made to fail; change is what it does to the number of references. One that the driver refuses ends the program:
 * it may be of an object that is gone, a mistake that another one, a reference too many, must not make good.
 */
#define COUNTS(name, type, change)                           \
    cl_int name(type object)                                 \
    {                                                        \
        cl_int (*call)(type) = (cl_int(*)(type))real(#name); \
        const cl_int answer = call(object);                  \
        if (answer != CL_SUCCESS)                            \
            refuse(#name, answer);                           \
        atomic_fetch_add(&objects, change);                  \
        return answer;                                       \
    }

COUNTS(clRetainContext, cl_context, 1)
COUNTS(clReleaseContext, cl_context, -1)
COUNTS(clRetainCommandQueue, cl_command_queue, 1)
COUNTS(clReleaseCommandQueue, cl_command_queue, -1)
COUNTS(clRetainMemObject, cl_mem, 1)
COUNTS(clReleaseMemObject, cl_mem, -1)
COUNTS(clRetainProgram, cl_program, 1)
COUNTS(clReleaseProgram, cl_program, -1)
COUNTS(clRetainKernel, cl_kernel, 1)
COUNTS(clReleaseKernel, cl_kernel, -1)
COUNTS(clRetainEvent, cl_event, 1)
COUNTS(clReleaseEvent, cl_event, -1)

ANSWERS(clGetPlatformIDs, (cl_uint count, cl_platform_id *ids, cl_uint *found), (count, ids, found))
ANSWERS(clGetDeviceIDs,
        (cl_platform_id platform, cl_device_type type, cl_uint count, cl_device_id *ids, cl_uint *found),
        (platform, type, count, ids, found))
ANSWERS(clGetPlatformInfo, (cl_platform_id platform, cl_platform_info name, size_t size, void *value, size_t *needed),
        (platform, name, size, value, needed))
ANSWERS(clGetDeviceInfo, (cl_device_id device, cl_device_info name, size_t size, void *value, size_t *needed),
        (device, name, size, value, needed))
ANSWERS(clGetContextInfo, (cl_context context, cl_context_info name, size_t size, void *value, size_t *needed),
        (context, name, size, value, needed))
ANSWERS(clGetCommandQueueInfo,
        (cl_command_queue queue, cl_command_queue_info name, size_t size, void *value, size_t *needed),
        (queue, name, size, value, needed))
ANSWERS(clGetMemObjectInfo, (cl_mem mem, cl_mem_info name, size_t size, void *value, size_t *needed),
        (mem, name, size, value, needed))
ANSWERS(clSetMemObjectDestructorCallback, (cl_mem mem, void(CL_CALLBACK *notify)(cl_mem, void *), void *user),
        (mem, notify, user))
MAKES(cl_context, clCreateContext,
      (const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
       void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user, cl_int *code),
      (properties, count, devices, notify, user, code))
MAKES(cl_command_queue, clCreateCommandQueue,
      (cl_context context, cl_device_id device, cl_command_queue_properties properties, cl_int *code),
      (context, device, properties, code))
MAKES(cl_mem, clCreateBuffer, (cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code),
      (context, flags, size, host, code))
MAKES(cl_mem, clCreateSubBuffer,
      (cl_mem mem, cl_mem_flags flags, cl_buffer_create_type type, const void *part, cl_int *code),
      (mem, flags, type, part, code))
MAKES(cl_program, clCreateProgramWithSource,
      (cl_context context, cl_uint count, const char **strings, const size_t *lengths, cl_int *code),
      (context, count, strings, lengths, code))
MAKES(cl_program, clCreateProgramWithBinary,
      (cl_context context, cl_uint count, const cl_device_id *devices, const size_t *lengths,
       const unsigned char **binaries, cl_int *status, cl_int *code),
      (context, count, devices, lengths, binaries, status, code))
ANSWERS(clBuildProgram,
        (cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
         void(CL_CALLBACK *notify)(cl_program, void *), void *user),
        (program, count, devices, options, notify, user))
ANSWERS(clGetProgramBuildInfo,
        (cl_program program, cl_device_id device, cl_program_build_info name, size_t size, void *value, size_t *needed),
        (program, device, name, size, value, needed))
ANSWERS(clGetProgramInfo, (cl_program program, cl_program_info name, size_t size, void *value, size_t *needed),
        (program, name, size, value, needed))
MAKES(cl_kernel, clCreateKernel, (cl_program program, const char *name, cl_int *code), (program, name, code))
ANSWERS(clGetKernelWorkGroupInfo,
        (cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info name, size_t size, void *value,
         size_t *needed),
        (kernel, device, name, size, value, needed))
ANSWERS(clSetKernelArg, (cl_kernel kernel, cl_uint index, size_t size, const void *value), (kernel, index, size, value))
ENQUEUES(clEnqueueNDRangeKernel,
         (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset, const size_t *global,
          const size_t *local, cl_uint count, const cl_event *events, cl_event *event),
         (queue, kernel, dimensions, offset, global, local, count, events, event))
ENQUEUES(clEnqueueNativeKernel,
         (cl_command_queue queue, void(CL_CALLBACK *function)(void *), void *arguments, size_t size, cl_uint mem_count,
          const cl_mem *mems, const void **places, cl_uint count, const cl_event *events, cl_event *event),
         (queue, function, arguments, size, mem_count, mems, places, count, events, event))
ENQUEUES(clEnqueueWriteBuffer,
         (cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t offset, size_t size, const void *host,
          cl_uint count, const cl_event *events, cl_event *event),
         (queue, mem, blocking, offset, size, host, count, events, event))
ENQUEUES(clEnqueueReadBuffer,
         (cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t offset, size_t size, void *host, cl_uint count,
          const cl_event *events, cl_event *event),
         (queue, mem, blocking, offset, size, host, count, events, event))
ENQUEUES(clEnqueueCopyBuffer,
         (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size,
          cl_uint count, const cl_event *events, cl_event *event),
         (queue, from, to, from_offset, to_offset, size, count, events, event))
ENQUEUES(clEnqueueFillBuffer,
         (cl_command_queue queue, cl_mem mem, const void *pattern, size_t pattern_size, size_t offset, size_t size,
          cl_uint count, const cl_event *events, cl_event *event),
         (queue, mem, pattern, pattern_size, offset, size, count, events, event))
MAPS(void *, clEnqueueMapBuffer,
     (cl_command_queue queue, cl_mem mem, cl_bool blocking, cl_map_flags flags, size_t offset, size_t size,
      cl_uint count, const cl_event *events, cl_event *event, cl_int *code),
     (queue, mem, blocking, flags, offset, size, count, events, event, code))
ENQUEUES(clEnqueueUnmapMemObject,
         (cl_command_queue queue, cl_mem mem, void *host, cl_uint count, const cl_event *events, cl_event *event),
         (queue, mem, host, count, events, event))
ENQUEUES(clEnqueueMarkerWithWaitList, (cl_command_queue queue, cl_uint count, const cl_event *events, cl_event *event),
         (queue, count, events, event))
ENQUEUES(clEnqueueBarrierWithWaitList, (cl_command_queue queue, cl_uint count, const cl_event *events, cl_event *event),
         (queue, count, events, event))
cl_int clGetEventInfo(cl_event event, cl_event_info name, size_t size, void *value, size_t *needed)
{
    typedef cl_int (*call)(cl_event, cl_event_info, size_t, void *, size_t *);
    call next = (call)real("clGetEventInfo");
    const cl_int failed = failure("clGetEventInfo");
    if (failed)
        return failed;
    const cl_int answer = next(event, name, size, value, needed);
    if (answer == CL_SUCCESS && value && name == CL_EVENT_COMMAND_EXECUTION_STATUS) {
        const cl_int end = (cl_int)atomic_exchange(&event_end, 0);
        *(cl_int *)value = end < 0 ? end : *(cl_int *)value;
    }
    return answer;
}
ANSWERS(clGetEventProfilingInfo, (cl_event event, cl_profiling_info name, size_t size, void *value, size_t *needed),
        (event, name, size, value, needed))
ANSWERS(clWaitForEvents, (cl_uint count, const cl_event *events), (count, events))
ANSWERS(clFlush, (cl_command_queue queue), (queue))
ANSWERS(clFinish, (cl_command_queue queue), (queue))
