// SPDX-License-Identifier: MIT
// Preloaded into clbench: GEMM takes SLOW_GEMM percent longer (a whole number from 1 to 100, 15 where nothing is said),
// whatever computes it: after each launch of one of its kernels the host waits for it, and then lets that share of the
// time it took go by. check_compare.sh has compare find that out.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <husk/opencl.h>

// Not in every version of dlfcn.h without _GNU_SOURCE.
#ifndef RTLD_NEXT
#define RTLD_NEXT ((void *)-1L)
#endif

typedef cl_int (*enqueue_function)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,
                                   cl_uint, const cl_event *, cl_event *);
typedef cl_int (*info_function)(cl_kernel, cl_kernel_info, size_t, void *, size_t *);
typedef cl_int (*finish_function)(cl_command_queue);

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

static double slower_by(void)
{
    const char *said = getenv("SLOW_GEMM");
    const long percent = said ? strtol(said, NULL, 10) : 15;
    return 0.01 * (double)(percent < 1 ? 1 : percent > 100 ? 100 : percent);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                              const size_t *global, const size_t *local, cl_uint wait_count, const cl_event *waits,
                              cl_event *event)
{
    enqueue_function real = (enqueue_function)dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
    info_function info = (info_function)dlsym(RTLD_NEXT, "clGetKernelInfo");
    finish_function finish = (finish_function)dlsym(RTLD_NEXT, "clFinish");
    char name[100] = "";
    if (!real || !info || !finish)
        return CL_INVALID_OPERATION;
    if (info(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL) != CL_SUCCESS ||
        strncmp(name, "husk_gemm", strlen("husk_gemm")) != 0)
        return real(queue, kernel, dimensions, offset, global, local, wait_count, waits, event);
    cl_int error = finish(queue); // what was launched before is not part of its time
    if (error != CL_SUCCESS)
        return error;
    const double begin = now();
    error = real(queue, kernel, dimensions, offset, global, local, wait_count, waits, event);
    if (error != CL_SUCCESS)
        return error;
    error = finish(queue);
    const double end = now();
    const double until = end + slower_by() * (end - begin);
    while (now() < until)
        continue;
    return error;
}
