// SPDX-License-Identifier: MIT
// The lesson docs/write-a-kernel.md: a kernel of the program's own between calls of Husk, on Husk's queue.
#include <stdio.h>

#include <husk/husk.h>
#include <husk/opencl.h>

enum { ROWS = 2, COLUMNS = 3, COUNT = ROWS * COLUMNS };

// Hard swish, x min(max(x + 3, 0), 6) / 6, which is not among Husk's activations.
static const char *const source = "__kernel void hard_swish(__global float *x, ulong first)\n"
                                  "{\n"
                                  "    const ulong i = first + get_global_id(0);\n"
                                  "    x[i] *= clamp(x[i] + 3.0f, 0.0f, 6.0f) / 6.0f;\n"
                                  "}\n";

static cl_int build(husk_context *context, cl_program *program, cl_kernel *kernel)
{
    cl_int code;
    cl_device_id device = husk_context_opencl_device(context);
    const char *text = source;
    *program = clCreateProgramWithSource(husk_context_opencl(context), 1, &text, NULL, &code);
    if (!code) {
        code = clBuildProgram(*program, 1, &device, "", NULL, NULL);
    }
    if (!code) {
        *kernel = clCreateKernel(*program, "hard_swish", &code);
    }
    return code;
}

static cl_int enqueue(husk_queue *queue, cl_kernel kernel, const husk_tensor *x)
{
    const size_t count = (size_t)husk_tensor_count(x);
    const cl_ulong start = husk_buffer_opencl_offset(x->buffer) / sizeof(float);
    const cl_ulong first = start + (cl_ulong)x->offset;
    cl_mem memory = husk_buffer_opencl(x->buffer);
    cl_int code = clSetKernelArg(kernel, 0, sizeof memory, &memory);
    if (!code) {
        code = clSetKernelArg(kernel, 1, sizeof first, &first);
    }
    if (!code) {
        code = clEnqueueNDRangeKernel(husk_queue_opencl(queue), kernel, 1, NULL, &count, NULL, 0, NULL, NULL);
    }
    return code;
}

static int compute(husk_queue *queue, cl_kernel kernel, husk_buffer *memory, float *values)
{
    husk_tensor x = husk_tensor_make(memory, HUSK_F32, 2, (int64_t[]){ROWS, COLUMNS});
    husk_softmax_params params = husk_softmax_defaults();
    husk_status status = husk_buffer_write(queue, memory, 0, sizeof(float) * COUNT, values);
    cl_int code = status ? CL_SUCCESS : enqueue(queue, kernel, &x);
    if (!status && !code) {
        status = husk_softmax(queue, &params, &x, &x);
    }
    if (!status && !code) {
        status = husk_buffer_read(queue, memory, 0, sizeof(float) * COUNT, values);
    }
    if (status) {
        fprintf(stderr, "%s\n", husk_queue_error(queue)->text);
    } else if (code) {
        fprintf(stderr, "OpenCL error %d\n", (int)code);
    }
    return status || code;
}

int main(void)
{
    husk_error error = {HUSK_OK, 0, ""};
    husk_context *context = NULL;
    husk_queue *queue = NULL;
    husk_buffer *memory = NULL;
    cl_program program = NULL;
    cl_kernel kernel = NULL;
    float values[COUNT] = {-3, 0, 3, 1, 1, 1};
    int failed = 1;

    if (husk_context_create(NULL, NULL, &context, &error) || husk_queue_create(context, NULL, &queue, &error) ||
        husk_buffer_create(context, sizeof values, &memory, &error)) {
        fprintf(stderr, "%s\n", error.text);
        goto cleanup;
    }
    cl_int code = build(context, &program, &kernel);
    if (code) {
        fprintf(stderr, "the kernel does not build: OpenCL error %d\n", (int)code);
        goto cleanup;
    }
    failed = compute(queue, kernel, memory, values);
    for (int i = 0; i < ROWS && !failed; i++) {
        const float *row = values + i * COLUMNS;
        printf("%.3f %.3f %.3f\n", (double)row[0], (double)row[1], (double)row[2]);
    }

cleanup:
    if (kernel) {
        clReleaseKernel(kernel);
    }
    if (program) {
        clReleaseProgram(program);
    }
    husk_buffer_release(memory);
    husk_queue_release(queue);
    husk_context_release(context);
    return failed;
}
