// SPDX-License-Identifier: MIT
// Testing an OpenCL kernel of one's own by libhusk_verify, for CTest or make: the exit code says whether it is right.
#include <stdio.h>

#include <husk/verify_opencl.h>

enum { M = 33, N = 17, K = 65 };

static const char *const code_under_test =
    "__kernel void product(int n, int k, __global const float *a, __global const float *b, __global float *c)\n"
    "{\n"
    "    int i = get_global_id(0), j = get_global_id(1);\n"
    "    float sum = 0;\n"
    "    for (int l = 0; l < k; l++)\n"
    "        sum += a[i * k + l] * b[l * n + j];\n"
    "    c[i * n + j] = sum;\n"
    "}\n";

static float data[3][M * K]; // room for each of the matrices a, b and c
static double expected[M * N], bounds[M * N];

static int verify(cl_command_queue queue, cl_kernel kernel, husk_verify_buffer *buffers[3], husk_error *error)
{
    const int64_t shapes[3][2] = {{M, K}, {K, N}, {M, N}};
    const cl_int sizes[2] = {N, K};
    const size_t global[2] = {M, N};
    husk_verify_array arrays[3];
    husk_verify_report report;
    for (cl_uint i = 0; i < 3; i++) {
        const uint64_t bytes = sizeof(float) * (uint64_t)(shapes[i][0] * shapes[i][1]);
        arrays[i] = husk_verify_array_make(data[i], HUSK_F32, 2, shapes[i]);
        if (husk_verify_random_fill(&arrays[i], i, error) ||
            husk_verify_buffer_create(queue, bytes, &buffers[i], error) ||
            (i < 2 && husk_verify_buffer_write(buffers[i], 0, bytes, data[i], error)))
            return 0;
        cl_mem mem = husk_verify_buffer_mem(buffers[i]);
        clSetKernelArg(kernel, 2 + i, sizeof mem, &mem);
    }
    clSetKernelArg(kernel, 0, sizeof sizes[0], &sizes[0]);
    clSetKernelArg(kernel, 1, sizeof sizes[1], &sizes[1]);
    clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, NULL, 0, NULL, NULL);
    for (int i = 0; i < 3; i++)
        if (husk_verify_buffer_check(buffers[i], error)) // was anything written outside?
            return 0;
    if (husk_verify_buffer_read(buffers[2], 0, sizeof(float) * M * N, data[2], error) ||
        husk_verify_gemm(NULL, 1, &arrays[0], &arrays[1], NULL, 0, &arrays[2], expected, bounds, error))
        return 0;
    const int is_right = husk_verify_compare(&arrays[2], expected, bounds, NULL, &report);
    printf("%s\n", report.text);
    return is_right;
}

int main(void)
{
    cl_platform_id platform = NULL;
    cl_device_id device = NULL;
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 2;
    const char *source = code_under_test;
    husk_error error = {HUSK_OK, 0, ""};
    husk_verify_buffer *buffers[3] = {NULL, NULL, NULL};
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    cl_kernel kernel =
        clBuildProgram(program, 1, &device, "", NULL, NULL) ? NULL : clCreateKernel(program, "product", NULL);
    const int is_right = kernel && verify(queue, kernel, buffers, &error);
    if (error.status)
        printf("%s\n", error.text);
    for (int i = 0; i < 3; i++)
        husk_verify_buffer_release(buffers[i]);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return is_right ? 0 : 1;
}
