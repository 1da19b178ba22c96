// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Guarded buffers on a program's own OpenCL objects: what a kernel writes outside is found, and said.
#include <math.h>
#include <stdio.h>

#include <husk/verify_opencl.h>

#include "verify/runner.h"

static const char *const source = "__kernel void put(__global uchar *x, int first, int count, uchar value)\n"
                                  "{ for (int i = 0; i < count; i++) x[first + i] = value; }\n";

static struct {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel put;
} cl;

static bool open_device(void)
{
    cl_platform_id platforms[16];
    cl_uint count = 0;
    cl_int code = clGetPlatformIDs(16, platforms, &count);
    for (cl_uint i = 0; !cl.device && i < count && i < 16; ++i)
        clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &cl.device, NULL);
    if (!cl.device)
        return false;
    cl.context = clCreateContext(NULL, 1, &cl.device, NULL, NULL, &code);
    cl.queue = clCreateCommandQueue(cl.context, cl.device, 0, &code);
    cl.program = clCreateProgramWithSource(cl.context, 1, (const char **)&source, NULL, &code);
    code = clBuildProgram(cl.program, 1, &cl.device, "", NULL, NULL);
    cl.put = code == CL_SUCCESS ? clCreateKernel(cl.program, "put", &code) : NULL;
    return cl.put != NULL;
}

static void close_device(void)
{
    clReleaseKernel(cl.put);
    clReleaseProgram(cl.program);
    clReleaseCommandQueue(cl.queue);
    clReleaseContext(cl.context);
}

// Write count bytes from x[first] on.
static void put(const husk_verify_buffer *buffer, cl_int first, cl_int count, cl_uchar value)
{
    const size_t one = 1;
    const cl_mem mem = husk_verify_buffer_mem(buffer);
    clSetKernelArg(cl.put, 0, sizeof mem, &mem);
    clSetKernelArg(cl.put, 1, sizeof first, &first);
    clSetKernelArg(cl.put, 2, sizeof count, &count);
    clSetKernelArg(cl.put, 3, sizeof value, &value);
    ck_assert_int_eq(clEnqueueNDRangeKernel(cl.queue, cl.put, 1, NULL, &one, NULL, 0, NULL, NULL), CL_SUCCESS);
}

static husk_verify_buffer *create(uint64_t bytes)
{
    husk_error error;
    husk_verify_buffer *buffer = NULL;
    ck_ok(husk_verify_buffer_create(cl.queue, bytes, &buffer, &error), &error);
    ck_assert_uint_eq(husk_verify_buffer_size(buffer), bytes);
    return buffer;
}

START_TEST(test_contents)
{
    float data[64];
    husk_error error;
    husk_verify_buffer *buffer = create(252);
    ck_ok(husk_verify_buffer_read(buffer, 0, 252, data, &error), &error);
    for (int i = 0; i < 63; ++i)
        ck_assert(isnan(data[i]));
    for (int i = 0; i < 64; ++i)
        data[i] = (float)i;
    ck_ok(husk_verify_buffer_write(buffer, 0, 252, data, &error), &error);
    memset(data, 0, sizeof data);
    ck_ok(husk_verify_buffer_read(buffer, 4, 248, data, &error), &error);
    for (int i = 0; i < 62; ++i)
        ck_assert(data[i] == (float)(i + 1));
    ck_ok(husk_verify_buffer_check(buffer, &error), &error);
    husk_verify_buffer_release(buffer);
    husk_verify_buffer_release(NULL);
}
END_TEST

// What a kernel gets begins where the device wants it to, and has exactly its size.
START_TEST(test_sub_buffer)
{
    cl_uint bits = 0;
    size_t offset = 0, size = 0;
    husk_verify_buffer *buffer = create(13);
    clGetDeviceInfo(cl.device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL);
    clGetMemObjectInfo(husk_verify_buffer_mem(buffer), CL_MEM_OFFSET, sizeof offset, &offset, NULL);
    clGetMemObjectInfo(husk_verify_buffer_mem(buffer), CL_MEM_SIZE, sizeof size, &size, NULL);
    ck_assert_uint_eq(size, 13);
    ck_assert_uint_ge(offset, HUSK_GUARD_BYTES);
    ck_assert_uint_eq(offset % (bits / 8), 0);
    husk_verify_buffer_release(buffer);
}
END_TEST

static void found(husk_verify_buffer *buffer, const char *words)
{
    husk_error error;
    ck_refused(husk_verify_buffer_check(buffer, &error), HUSK_INTERNAL, &error, words);
    ck_ok(husk_verify_buffer_check(buffer, &error), &error); // told once
}

// 0 is no byte of a band: its bytes are NaN's.
START_TEST(test_damage)
{
    husk_error error;
    husk_verify_buffer *buffer = create(252), *other = create(252);
    put(buffer, 0, 252, 0);
    ck_ok(husk_verify_buffer_check(buffer, &error), &error);
    put(buffer, 251, 2, 0x55);
    found(buffer, "a buffer of 252 bytes was written: byte 0 behind its end");
    put(buffer, -3, 3, 0x55);
    found(buffer, "bytes 1 to 3 before its beginning");
    put(buffer, -1, 255, 0x55);
    found(buffer, "byte 1 before its beginning and bytes 0 to 1 behind its end");
    put(buffer, 252 + HUSK_GUARD_BYTES - 1, 1, 0x55);
    found(buffer, "byte 4095 behind its end");
    ck_ok(husk_verify_buffer_check(other, &error), &error);
    husk_verify_buffer_release(buffer);
    husk_verify_buffer_release(other);
}
END_TEST

// Bands of two buffers differ, so that one that is copied onto the other shows.
START_TEST(test_bands_differ)
{
    unsigned char band[2][64];
    husk_verify_buffer *buffers[2] = {create(64), create(64)};
    for (int i = 0; i < 2; ++i) {
        cl_mem block = NULL;
        size_t offset = 0;
        clGetMemObjectInfo(husk_verify_buffer_mem(buffers[i]), CL_MEM_ASSOCIATED_MEMOBJECT, sizeof block, &block, NULL);
        clGetMemObjectInfo(husk_verify_buffer_mem(buffers[i]), CL_MEM_OFFSET, sizeof offset, &offset, NULL);
        ck_assert_ptr_nonnull(block);
        ck_assert_int_eq(clEnqueueReadBuffer(cl.queue, block, CL_TRUE, offset + 64, 64, band[i], 0, NULL, NULL), 0);
    }
    ck_assert(memcmp(band[0], band[1], 64) != 0);
    for (int i = 0; i < 16; ++i) {
        float number;
        memcpy(&number, band[0] + 4 * i, 4);
        ck_assert(isnan(number));
    }
    husk_verify_buffer_release(buffers[0]);
    husk_verify_buffer_release(buffers[1]);
}
END_TEST

START_TEST(test_refusals)
{
    char byte = 0;
    husk_error error;
    husk_verify_buffer *buffer = create(8), *none = buffer;
    ck_refused(husk_verify_buffer_create(NULL, 8, &none, &error), HUSK_INVALID_ARGUMENT, &error, "queue: is NULL");
    ck_assert_ptr_null(none);
    ck_refused(husk_verify_buffer_create(cl.queue, 0, &none, &error), HUSK_INVALID_ARGUMENT, &error, "bytes: is 0");
    ck_refused(husk_verify_buffer_create(cl.queue, 8, NULL, &error), HUSK_INVALID_ARGUMENT, &error, "buffer: is NULL");
    ck_refused(husk_verify_buffer_create(cl.queue, UINT64_MAX, &none, &error), HUSK_INVALID_ARGUMENT, &error,
               "bytes: is 18446744073709551615");
    ck_refused(husk_verify_buffer_write(buffer, 8, 1, &byte, &error), HUSK_INVALID_ARGUMENT, &error, "bytes: 1 from 8");
    ck_refused(husk_verify_buffer_read(buffer, 9, 0, &byte, &error), HUSK_INVALID_ARGUMENT, &error, "offset: 0 from 9");
    ck_refused(husk_verify_buffer_read(buffer, 0, 1, NULL, &error), HUSK_INVALID_ARGUMENT, &error, "host: is NULL");
    ck_refused(husk_verify_buffer_check(NULL, &error), HUSK_INVALID_ARGUMENT, &error, "buffer: is NULL");
    ck_refused(husk_verify_buffer_read(NULL, 0, 1, &byte, &error), HUSK_INVALID_ARGUMENT, &error, "buffer: is NULL");
    husk_verify_buffer_release(buffer);
}
END_TEST

// An OpenCL error is told by the call and its name.
START_TEST(test_opencl_errors)
{
    cl_ulong most = 0;
    husk_error error;
    husk_verify_buffer *none = NULL;
    clGetDeviceInfo(cl.device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most, NULL);
    const husk_status status = husk_verify_buffer_create(cl.queue, UINT64_C(1) << 60, &none, &error);
    ck_assert(status == HUSK_OPENCL || status == HUSK_OUT_OF_MEMORY || status == HUSK_OUT_OF_HOST_MEMORY);
    ck_assert_ptr_null(none);
    ck_assert_msg(strstr(error.text, "clCreateBuffer answered CL_") != NULL, "%s", error.text);
    ck_assert_int_ne(error.opencl_code, 0);
}
END_TEST

int main(void)
{
    if (!open_device()) {
        fprintf(stderr, "no OpenCL device that builds a kernel is here\n");
        return 6;
    }
    Suite *suite = suite_create("buffer");
    TCase *cases = tcase_create("buffer");
    tcase_add_test(cases, test_contents);
    tcase_add_test(cases, test_sub_buffer);
    tcase_add_test(cases, test_damage);
    tcase_add_test(cases, test_bands_differ);
    tcase_add_test(cases, test_refusals);
    tcase_add_test(cases, test_opencl_errors);
    suite_add_tcase(suite, cases);
    const int status = run_suite(suite);
    close_device();
    return status;
}
