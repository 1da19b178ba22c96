// SPDX-License-Identifier: MIT
// Preloaded into clbench: GEMM takes 15% longer, whatever computes it. Of every twenty launches of one of its kernels
// three are made twice, which writes the same once more (where beta is 0). check_compare.sh has compare find that out.
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include <husk/opencl.h>

// Not in every version of dlfcn.h without _GNU_SOURCE.
#ifndef RTLD_NEXT
#define RTLD_NEXT ((void *)-1L)
#endif

#define KERNELS 64

typedef cl_int (*enqueue_function)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *,
                                   const size_t *, cl_uint, const cl_event *, cl_event *);
typedef cl_int (*info_function)(cl_kernel, cl_kernel_info, size_t, void *, size_t *);

static struct {
    _Atomic(cl_kernel) kernel;
    atomic_uint launches;
} known[KERNELS];

// How often this kernel was launched before; 0 where the table is full.
static unsigned count_launch(cl_kernel kernel)
{
    for (size_t i = 0; i < KERNELS; i++) {
        cl_kernel none = NULL;
        if (atomic_compare_exchange_strong(&known[i].kernel, &none, kernel) || none == kernel)
            return atomic_fetch_add(&known[i].launches, 1);
    }
    return 0;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t *offset, const size_t *global, const size_t *local,
                              cl_uint wait_count, const cl_event *waits, cl_event *event)
{
    enqueue_function real = (enqueue_function)dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
    info_function info = (info_function)dlsym(RTLD_NEXT, "clGetKernelInfo");
    char name[100] = "";
    if (!real || !info)
        return CL_INVALID_OPERATION;
    if (info(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL) == CL_SUCCESS &&
        strstr(name, "gemm")) {
        const unsigned at = count_launch(kernel) % 20;
        if (at == 6 || at == 13 || at == 19) {
            const cl_int error =
                real(queue, kernel, dimensions, offset, global, local, wait_count, waits, NULL);
            if (error != CL_SUCCESS)
                return error;
        }
    }
    return real(queue, kernel, dimensions, offset, global, local, wait_count, waits, event);
}
