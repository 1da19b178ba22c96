// SPDX-License-Identifier: MIT
#include "worker/kernel_poison.h"

#include <string.h>

// Volatile: nobody reads what is written.
static const char source[] = "__kernel void poison_local(__local volatile uint *memory, uint count, uint pattern)\n"
                             "{\n"
                             "    for (uint i = get_local_id(0); i < count; i += get_local_size(0))\n"
                             "        memory[i] = pattern;\n"
                             "}\n";

// Of local memory the first part, where kernels have theirs; some CPUs have as much as their caches hold.
enum { MOST_BYTES = 64 << 10, MOST_ITEMS = 64 };
// Groups for each unit, so that each, and each of a CPU's threads, has some.
enum { GROUPS_OF_UNIT = 8 };

static bool set_up(bench_kernel_poison *poison, cl_context context, cl_device_id device)
{
    const char *const text = source;
    cl_int error = CL_SUCCESS;
    cl_ulong bytes = 0;
    cl_uint units = 1;
    size_t most = 1;
    poison->program = clCreateProgramWithSource(context, 1, (const char **)&text, NULL, &error);
    if (!poison->program || clBuildProgram(poison->program, 1, &device, "", NULL, NULL) != CL_SUCCESS)
        return false;
    poison->kernel = clCreateKernel(poison->program, "poison_local", &error);
    if (!poison->kernel ||
        clGetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof bytes, &bytes, NULL) != CL_SUCCESS ||
        clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL) != CL_SUCCESS ||
        clGetKernelWorkGroupInfo(poison->kernel, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL) !=
            CL_SUCCESS)
        return false;
    poison->items = most < MOST_ITEMS ? most : MOST_ITEMS;
    poison->groups = (size_t)units * GROUPS_OF_UNIT;
    const size_t taken = bytes < MOST_BYTES ? (size_t)bytes : MOST_BYTES;
    const cl_uint count = (cl_uint)(taken / sizeof(cl_uint));
    return count > 0 && clSetKernelArg(poison->kernel, 0, count * sizeof(cl_uint), NULL) == CL_SUCCESS &&
           clSetKernelArg(poison->kernel, 1, sizeof count, &count) == CL_SUCCESS;
}

void bench_kernel_poison_begin(bench_kernel_poison *poison, cl_context context, cl_device_id device)
{
    memset(poison, 0, sizeof *poison);
    if (!set_up(poison, context, device))
        bench_kernel_poison_end(poison);
}

void bench_kernel_poison_end(bench_kernel_poison *poison)
{
    if (poison->kernel)
        clReleaseKernel(poison->kernel);
    if (poison->program)
        clReleaseProgram(poison->program);
    memset(poison, 0, sizeof *poison);
}

void bench_kernel_poison_local(const bench_kernel_poison *poison, cl_command_queue queue, int which)
{
    const cl_uint pattern = which ? 0x59595959u : 0xffffffffu;
    const size_t global = poison->groups * poison->items;
    if (poison->kernel && clSetKernelArg(poison->kernel, 2, sizeof pattern, &pattern) == CL_SUCCESS)
        clEnqueueNDRangeKernel(queue, poison->kernel, 1, NULL, &global, &poison->items, 0, NULL, NULL);
}
