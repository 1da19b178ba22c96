// SPDX-License-Identifier: MIT
// An OpenCL program that has its own context, queue and memory, and lets Husk do one softmax in the middle.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <husk/husk.h>
#include <husk/opencl.h>

enum { ROWS = 4, CLASSES = 10 };

static const char *const double_it_source =
    "__kernel void double_it(__global float *x) { x[get_global_id(0)] *= 2.0f; }\n";

typedef struct application {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem x, y;
} application;

/* What an application has anyway. The first device of the first platform that has one will do. */
static cl_int application_open(application *app)
{
    cl_platform_id platforms[16];
    cl_uint count = 0;
    cl_int code = clGetPlatformIDs(16, platforms, &count);
    for (cl_uint i = 0; !app->device && i < count && i < 16; i++) {
        clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &app->device, NULL);
    }
    if (!app->device) {
        return code ? code : CL_DEVICE_NOT_FOUND;
    }
    const size_t bytes = sizeof(float) * ROWS * CLASSES;
    app->context = clCreateContext(NULL, 1, &app->device, NULL, NULL, &code);
    app->queue = code ? NULL : clCreateCommandQueue(app->context, app->device, 0, &code);
    app->x = code ? NULL : clCreateBuffer(app->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    app->y = code ? NULL : clCreateBuffer(app->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (!code) {
        app->program = clCreateProgramWithSource(app->context, 1, (const char **)&double_it_source, NULL, &code);
    }
    if (!code) {
        code = clBuildProgram(app->program, 1, &app->device, "", NULL, NULL);
    }
    app->kernel = code ? NULL : clCreateKernel(app->program, "double_it", &code);
    return code;
}

static void application_close(application *app)
{
    if (app->kernel)
        clReleaseKernel(app->kernel);
    if (app->program)
        clReleaseProgram(app->program);
    if (app->y)
        clReleaseMemObject(app->y);
    if (app->x)
        clReleaseMemObject(app->x);
    if (app->queue)
        clReleaseCommandQueue(app->queue);
    if (app->context)
        clReleaseContext(app->context);
}

/* Husk joins: y = softmax(x) over the classes, on the application's queue, after what is enqueued there. */
static husk_status softmax(application *app, husk_error *error)
{
    husk_context *context = NULL;
    husk_queue *queue = NULL;
    husk_buffer *x_memory = NULL, *y_memory = NULL;
    husk_status status = husk_context_from_opencl(app->context, app->device, NULL, &context, error);
    if (!status) {
        status = husk_queue_from_opencl(context, app->queue, &queue, error);
    }
    if (!status) {
        status = husk_buffer_from_opencl(context, app->x, &x_memory, error);
    }
    if (!status) {
        status = husk_buffer_from_opencl(context, app->y, &y_memory, error);
    }
    if (!status) {
        husk_tensor x = husk_tensor_make(x_memory, HUSK_F32, 2, (int64_t[]){ROWS, CLASSES});
        husk_tensor y = husk_tensor_make(y_memory, HUSK_F32, 2, (int64_t[]){ROWS, CLASSES});
        husk_softmax_params params = husk_softmax_defaults();
        status = husk_softmax(queue, &params, &x, &y);
        if (status) {
            *error = *husk_queue_error(queue);
        }
    }
    husk_buffer_release(x_memory);
    husk_buffer_release(y_memory);
    husk_queue_release(queue);
    husk_context_release(context);
    return status;
}

int main(void)
{
    application app = {0};
    husk_error error = {0};
    float x[ROWS * CLASSES] = {[3] = 1.0f}, y[ROWS * CLASSES] = {0};
    const size_t count = ROWS * CLASSES;
    int failed = 1;

    cl_int code = application_open(&app);
    if (!code) {
        code = clEnqueueWriteBuffer(app.queue, app.x, CL_TRUE, 0, sizeof x, x, 0, NULL, NULL);
    }
    if (!code) {
        code = clSetKernelArg(app.kernel, 0, sizeof app.x, &app.x);
    }
    if (!code) {
        code = clEnqueueNDRangeKernel(app.queue, app.kernel, 1, NULL, &count, NULL, 0, NULL, NULL);
    }
    if (!code && softmax(&app, &error)) {
        fprintf(stderr, "%s\n", error.text);
        goto cleanup;
    }
    if (!code) {
        code = clEnqueueReadBuffer(app.queue, app.y, CL_TRUE, 0, sizeof y, y, 0, NULL, NULL);
    }
    if (code) {
        fprintf(stderr, "OpenCL error %d\n", (int)code);
        goto cleanup;
    }
    const double expected = exp(2.0) / (exp(2.0) + CLASSES - 1);
    printf("%g, expected %g; %g, expected 0.1\n", (double)y[3], expected, (double)y[CLASSES]);
    failed = fabs(y[3] - expected) > 1e-6 || fabs(y[CLASSES] - 0.1) > 1e-6;
cleanup:
    application_close(&app);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
