// SPDX-License-Identifier: MIT
// Preloaded before an OpenCL library: the name of every kernel that is enqueued, a line each, is added to the file
// that HUSK_TEST_KERNELS names, and after "has " that of every kernel in a program that is built.
// check_kernels.sh and check_oclgrind.sh ask it which kernels were run.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <husk/opencl.h>

typedef cl_int enqueue_function(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,
                                cl_uint, const cl_event *, cl_event *);
typedef cl_int info_function(cl_kernel, cl_kernel_info, size_t, void *, size_t *);
typedef cl_int program_info_function(cl_program, cl_program_info, size_t, void *, size_t *);
typedef cl_int build_function(cl_program, cl_uint, const cl_device_id *, const char *,
                              void(CL_CALLBACK *)(cl_program, void *), void *);

// POSIX lets an object's address become a function's; ISO C has no cast for it.
static void next_of(const char *name, void *function)
{
    void *address = dlsym(RTLD_NEXT, name);
    if (!address) {
        fprintf(stderr, "list_kernels: there is no %s\n", name);
        abort();
    }
    memcpy(function, &address, sizeof address);
}

static void note(const char *prefix, const char *name, size_t length)
{
    const char *path = getenv("HUSK_TEST_KERNELS");
    if (!path || !*path)
        return;
    char line[300];
    snprintf(line, sizeof line, "%s%.*s\n", prefix, (int)(length < 256 ? length : 256), name);
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0666);
    if (file < 0 || write(file, line, strlen(line)) < 0) // one write: lines of several processes do not mix
        fprintf(stderr, "list_kernels: %s cannot be written\n", path);
    if (file >= 0)
        close(file);
}

static void note_kernel(cl_kernel kernel)
{
    info_function *info;
    next_of("clGetKernelInfo", &info);
    char name[256] = "";
    if (info(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name - 1, name, NULL) == CL_SUCCESS)
        note("", name, strlen(name));
}

static void note_program(cl_program program)
{
    program_info_function *info;
    next_of("clGetProgramInfo", &info);
    char names[4096] = "";
    if (info(program, CL_PROGRAM_KERNEL_NAMES, sizeof names - 1, names, NULL) != CL_SUCCESS)
        return;
    for (const char *at = names; *at;) {
        size_t length = strcspn(at, ";");
        note("has ", at, length);
        at += length + (at[length] == ';');
    }
}

cl_int clBuildProgram(cl_program program, cl_uint device_count, const cl_device_id *devices, const char *options,
                      void(CL_CALLBACK *notify)(cl_program, void *), void *user)
{
    build_function *build;
    next_of("clBuildProgram", &build);
    cl_int code = build(program, device_count, devices, options, notify, user);
    if (code == CL_SUCCESS)
        note_program(program);
    return code;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                              const size_t *global, const size_t *local, cl_uint wait_count, const cl_event *wait,
                              cl_event *event)
{
    enqueue_function *enqueue;
    next_of("clEnqueueNDRangeKernel", &enqueue);
    note_kernel(kernel);
    return enqueue(queue, kernel, dimensions, offset, global, local, wait_count, wait, event);
}
