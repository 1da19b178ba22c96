// SPDX-License-Identifier: MIT
// Preloaded before an OpenCL library: the name of every kernel that is enqueued, a line each, is added to the file
// that HUSK_TEST_KERNELS names. check_kernels.sh and check_oclgrind.sh ask it which kernels were run.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <husk/opencl.h>

typedef cl_int enqueue_function(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *,
                                const size_t *, cl_uint, const cl_event *, cl_event *);
typedef cl_int info_function(cl_kernel, cl_kernel_info, size_t, void *, size_t *);

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

static void note(cl_kernel kernel)
{
    const char *path = getenv("HUSK_TEST_KERNELS");
    if (!path || !*path)
        return;
    info_function *info;
    next_of("clGetKernelInfo", &info);
    char line[256] = "";
    if (info(kernel, CL_KERNEL_FUNCTION_NAME, sizeof line - 1, line, NULL) != CL_SUCCESS)
        return;
    strcat(line, "\n"); // room was left for it
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0666);
    if (file < 0 || write(file, line, strlen(line)) < 0) // one write: lines of several processes do not mix
        fprintf(stderr, "list_kernels: %s cannot be written\n", path);
    if (file >= 0)
        close(file);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                              const size_t *global, const size_t *local, cl_uint wait_count, const cl_event *wait,
                              cl_event *event)
{
    enqueue_function *enqueue;
    next_of("clEnqueueNDRangeKernel", &enqueue);
    note(kernel);
    return enqueue(queue, kernel, dimensions, offset, global, local, wait_count, wait, event);
}
