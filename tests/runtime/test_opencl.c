// SPDX-License-Identifier: MIT
// Joining an application's own OpenCL objects (husk/opencl.h), and what is refused.
#include <string.h>
#include <time.h>

#include <husk/opencl.h>

#include "support/support.h"

typedef struct application {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_mem mem;
} application;

static application app;

static void setup(void)
{
    cl_int code;
    app.device = husk_context_opencl_device(test_context());
    app.context = clCreateContext(NULL, 1, &app.device, NULL, NULL, &code);
    ck_assert_int_eq(code, CL_SUCCESS);
    app.queue = clCreateCommandQueue(app.context, app.device, 0, &code);
    ck_assert_int_eq(code, CL_SUCCESS);
    app.mem = clCreateBuffer(app.context, CL_MEM_READ_WRITE, 4096, NULL, &code);
    ck_assert_int_eq(code, CL_SUCCESS);
}

static void teardown(void)
{
    clReleaseMemObject(app.mem);
    clReleaseCommandQueue(app.queue);
    clReleaseContext(app.context);
}

static cl_uint references(cl_context context)
{
    cl_uint count = 0;
    clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, NULL);
    return count;
}

// A driver's own thread (rusticl's) may let go of a command that has ended a little after clFinish.
static cl_uint references_at_rest(cl_context context, cl_uint expected)
{
    enum { PAUSE_NS = 10000000, ATTEMPTS = 500 };
    for (int i = 0; i < ATTEMPTS && references(context) != expected; i++)
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    return references(context);
}

START_TEST(husk_works_on_the_applications_objects)
{
    husk_error error = {0};
    husk_context *context = NULL;
    husk_queue *queue = NULL;
    husk_buffer *buffer = NULL;
    uint32_t word = 0x01020304, seen = 0;
    const cl_uint before = references(app.context);
    test_ok_error(husk_context_from_opencl(app.context, app.device, NULL, &context, &error), &error);
    test_ok_error(husk_queue_from_opencl(context, app.queue, &queue, &error), &error);
    test_ok_error(husk_buffer_from_opencl(context, app.mem, &buffer, &error), &error);
    ck_assert_uint_gt(references(app.context), before);
    ck_assert_ptr_eq(husk_context_opencl(context), app.context);
    ck_assert_ptr_eq(husk_context_opencl_device(context), app.device);
    ck_assert_ptr_eq(husk_queue_opencl(queue), app.queue);
    ck_assert_ptr_eq(husk_buffer_opencl(buffer), app.mem);
    ck_assert_uint_eq(husk_buffer_opencl_offset(buffer), 0);
    ck_assert_uint_eq(husk_buffer_size(buffer), 4096);
    ck_assert_str_eq(husk_context_traits(context)->name, husk_context_traits(test_context())->name);

    /* what both enqueue runs in the order of the calls */
    ck_assert_int_eq(clEnqueueWriteBuffer(app.queue, app.mem, CL_FALSE, 8, 4, &word, 0, NULL, NULL), CL_SUCCESS);
    test_ok(husk_buffer_copy(queue, buffer, 8, buffer, 100, 4));
    ck_assert_int_eq(clEnqueueReadBuffer(app.queue, app.mem, CL_TRUE, 100, 4, &seen, 0, NULL, NULL), CL_SUCCESS);
    ck_assert_uint_eq(seen, word);

    /* it does not count against the budget, and goes without harm to the application's objects */
    husk_memory_stats stats;
    husk_context_memory_stats(context, &stats);
    ck_assert_uint_eq(stats.live_bytes, 0);
    husk_buffer *view = NULL;
    test_ok_error(husk_buffer_view(buffer, 100, 4, &view, &error), &error);
    ck_assert_uint_eq(husk_buffer_opencl_offset(view), 100);
    husk_buffer_release(buffer);
    test_ok(husk_buffer_read(queue, view, 0, 4, &seen));
    ck_assert_uint_eq(seen, word);
    husk_buffer_release(view);
    husk_queue_release(queue);
    husk_context_memory_stats(context, &stats);
    ck_assert_uint_eq(stats.cached_bytes, 0);
    husk_context_release(context);
    ck_assert_int_eq(clFinish(app.queue), CL_SUCCESS);
    ck_assert_uint_eq(references_at_rest(app.context, before), before);
}
END_TEST

START_TEST(operators_run_on_a_wrapped_context)
{
    husk_error error = {0};
    husk_context *context = NULL;
    husk_queue *queue = NULL;
    husk_buffer *own = NULL;
    uint32_t word = 77, seen = 0;
    test_ok_error(husk_context_from_opencl(app.context, app.device, NULL, &context, &error), &error);
    test_ok_error(husk_queue_create(context, NULL, &queue, &error), &error);
    test_ok_error(husk_buffer_create(context, 64, &own, &error), &error);
    test_ok(husk_buffer_fill(queue, own, 0, 64, &word, 4));
    test_ok(husk_buffer_read(queue, own, 60, 4, &seen));
    ck_assert_uint_eq(seen, word);
    husk_buffer_release(own);
    husk_queue_release(queue);
    husk_context_release(context);
}
END_TEST

static uint32_t word_at(husk_queue *queue, husk_buffer *buffer, uint64_t offset)
{
    uint32_t word = 0;
    test_ok(husk_buffer_read(queue, buffer, offset, sizeof word, &word));
    return word;
}

static cl_mem part_of(cl_mem mem, size_t origin, size_t bytes)
{
    cl_int code;
    const cl_buffer_region region = {origin, bytes};
    const cl_mem part = clCreateSubBuffer(mem, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    ck_assert_int_eq(code, CL_SUCCESS);
    return part;
}

/* The pool hands a buffer's memory to nobody else while a buffer around it is there. */
START_TEST(ones_own_memory_is_shared)
{
    enum { BYTES = 1 << 20, PART = 4096 };
    husk_error error = {0};
    husk_buffer *own = NULL, *whole = NULL, *part = NULL, *other = NULL;
    const uint32_t seven = 7, nine = 9;
    husk_memory_stats before, stats;
    husk_context_memory_stats(test_context(), &before);
    test_ok_error(husk_buffer_create(test_context(), BYTES, &own, &error), &error);
    test_ok(husk_buffer_fill(test_queue(), own, 0, BYTES, &seven, sizeof seven));
    test_ok(husk_queue_finish(test_queue()));
    const cl_mem mem = husk_buffer_opencl(own), sub = part_of(mem, PART, PART);
    test_ok_error(husk_buffer_from_opencl(test_context(), mem, &whole, &error), &error);
    test_ok_error(husk_buffer_from_opencl(test_context(), sub, &part, &error), &error);
    ck_assert_uint_eq(husk_buffer_size(part), PART);
    ck_assert_ptr_eq(husk_buffer_opencl(part), mem);
    ck_assert_uint_eq(husk_buffer_opencl_offset(part), PART);
    husk_buffer_release(own);
    for (int i = 0; i < 2; i++) { /* while both are there, and while one is */
        test_ok_error(husk_buffer_create(test_context(), BYTES, &other, &error), &error);
        test_ok(husk_buffer_fill(test_queue(), other, 0, BYTES, &nine, sizeof nine));
        ck_assert_uint_eq(word_at(test_queue(), part, 0), seven);
        husk_buffer_release(other);
        if (i == 0)
            husk_buffer_release(whole);
    }
    test_ok(husk_buffer_fill(test_queue(), part, 0, PART, &nine, sizeof nine));
    ck_assert_uint_eq(word_at(test_queue(), part, PART - 4), nine);
    husk_buffer_release(part);
    clReleaseMemObject(sub);
    husk_context_memory_stats(test_context(), &stats);
    ck_assert_uint_eq(stats.live_bytes, before.live_bytes);
}
END_TEST

/* The same memory under two names, and parts of it, is the same memory. */
START_TEST(memory_that_is_wrapped_twice_overlaps_itself)
{
    enum { WHOLE, AGAIN, BEGIN, END, WRAPS, COUNT = 512 };
    husk_error error = {0};
    husk_context *context = NULL;
    husk_queue *queue = NULL;
    husk_buffer *wraps[WRAPS];
    husk_tensor x[WRAPS];
    float numbers[COUNT] = {[COUNT - 1] = -2.0f};
    cl_mem parts[] = {app.mem, app.mem, part_of(app.mem, 0, 2048), part_of(app.mem, 2048, 2048)};
    test_ok_error(husk_context_from_opencl(app.context, app.device, NULL, &context, &error), &error);
    test_ok_error(husk_queue_create(context, NULL, &queue, &error), &error);
    for (int i = 0; i < WRAPS; i++) {
        test_ok_error(husk_buffer_from_opencl(context, parts[i], &wraps[i], &error), &error);
        x[i] = husk_tensor_make(wraps[i], HUSK_F32, 1, (int64_t[]){COUNT});
    }
    const husk_unary_params params = HUSK_UNARY_PARAMS(.op = HUSK_UNARY_CLAMP, .low = 2.0f, .high = 3.0f);
    husk_tensor shifted = x[AGAIN];
    shifted.offset = 1;
    ck_assert_int_eq(husk_unary(queue, &params, &x[WHOLE], &shifted), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(husk_queue_error(queue)->text, "overlaps x"));
    ck_assert_int_eq(husk_unary(queue, &params, &x[BEGIN], &shifted), HUSK_INVALID_ARGUMENT);
    shifted.offset = COUNT + 1;
    shifted.shape[0] = x[END].shape[0] = COUNT - 1;
    ck_assert_int_eq(husk_unary(queue, &params, &x[END], &shifted), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_buffer_copy(queue, wraps[BEGIN], 4, wraps[WHOLE], 0, 2000), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(husk_queue_error(queue)->text, "to: overlaps from"));
    /* what only lies beside it, or is the very same, is welcome */
    x[END].shape[0] = COUNT;
    test_ok(husk_buffer_write(queue, wraps[BEGIN], 0, sizeof numbers, numbers));
    test_ok(husk_unary(queue, &params, &x[BEGIN], &x[END]));
    test_ok(husk_unary(queue, &params, &x[WHOLE], &x[AGAIN]));
    test_ok(husk_buffer_copy(queue, wraps[END], 0, wraps[BEGIN], 0, 4));
    test_ok(husk_buffer_read(queue, wraps[WHOLE], 4096 - sizeof numbers, sizeof numbers, numbers));
    ck_assert_float_eq(numbers[COUNT - 1], 2.0f);
    for (int i = 0; i < WRAPS; i++)
        husk_buffer_release(wraps[i]);
    clReleaseMemObject(parts[BEGIN]);
    clReleaseMemObject(parts[END]);
    husk_queue_release(queue);
    husk_context_release(context);
}
END_TEST

START_TEST(what_does_not_belong_is_refused)
{
    husk_error error = {0};
    husk_context *context = NULL;
    husk_queue *queue = NULL;
    husk_buffer *buffer = NULL;
    ck_assert_int_eq(husk_context_from_opencl(NULL, app.device, NULL, &context, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_context_from_opencl(app.context, NULL, NULL, &context, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "husk_context_from_opencl: device"));
    ck_assert_int_eq(husk_context_from_opencl(app.context, app.device, NULL, NULL, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_null(context);
    /* objects of another cl_context */
    ck_assert_int_eq(husk_queue_from_opencl(test_context(), app.queue, &queue, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "command_queue: belongs to another"));
    ck_assert_int_eq(husk_buffer_from_opencl(test_context(), app.mem, &buffer, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "mem: belongs to another"));
    ck_assert_int_eq(husk_queue_from_opencl(test_context(), NULL, &queue, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_buffer_from_opencl(test_context(), NULL, &buffer, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_null(queue);
    ck_assert_ptr_null(buffer);
    ck_assert_ptr_null(husk_context_opencl(NULL));
    ck_assert_ptr_null(husk_context_opencl_device(NULL));
    ck_assert_ptr_null(husk_queue_opencl(NULL));
    ck_assert_ptr_null(husk_buffer_opencl(NULL));
    ck_assert_uint_eq(husk_buffer_opencl_offset(NULL), 0);
}
END_TEST

// An application's own part of a device. PoCL says of its context that it is one of the whole.
START_TEST(a_part_of_a_device_is_a_device)
{
    const cl_device_partition_property counts[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1,
                                                   CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
    husk_error error = {0};
    husk_context *context = NULL;
    husk_queue *queue = NULL;
    cl_device_id part;
    cl_int code = clCreateSubDevices(app.device, counts, 1, &part, NULL);
    if (code != CL_SUCCESS || husk_context_traits(test_context())->compute_units < 2)
        return; // it cannot be divided
    const cl_context cl = clCreateContext(NULL, 1, &part, NULL, NULL, &code);
    ck_assert_int_eq(code, CL_SUCCESS);
    test_ok_error(husk_context_from_opencl(cl, part, NULL, &context, &error), &error);
    ck_assert_uint_eq(husk_context_traits(context)->compute_units, 1);
    const cl_command_queue own = clCreateCommandQueue(cl, part, 0, &code);
    ck_assert_int_eq(code, CL_SUCCESS);
    test_ok_error(husk_queue_from_opencl(context, own, &queue, &error), &error);
    husk_buffer *buffer = NULL;
    float values[4] = {1, 1, 1, 1};
    test_ok_error(husk_buffer_create(context, sizeof values, &buffer, &error), &error);
    test_ok(husk_buffer_write(queue, buffer, 0, sizeof values, values));
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 1, (int64_t[]){4});
    test_ok(husk_softmax(queue, NULL, &x, &x));
    test_ok(husk_buffer_read(queue, buffer, 0, sizeof values, values));
    ck_assert_float_eq(values[3], 0.25f);
    husk_buffer_release(buffer);
    husk_queue_release(queue);
    husk_context_release(context);
    const husk_context_params params = HUSK_CONTEXT_PARAMS(.units = 1);
    ck_assert_int_eq(husk_context_from_opencl(cl, part, &params, &context, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "params: units is 1"));
    clReleaseCommandQueue(own);
    clReleaseContext(cl);
    clReleaseDevice(part);
}
END_TEST

START_TEST(an_out_of_order_queue_is_refused)
{
    cl_int code;
    husk_error error = {0};
    husk_queue *queue = NULL;
    cl_command_queue unordered = clCreateCommandQueue(husk_context_opencl(test_context()), app.device,
                                                      CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
    if (!unordered)
        return; /* this device has none */
    ck_assert_int_eq(husk_queue_from_opencl(test_context(), unordered, &queue, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "out-of-order"));
    clReleaseCommandQueue(unordered);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("opencl");
    TCase *tests = tcase_create("opencl");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, husk_works_on_the_applications_objects);
    tcase_add_test(tests, a_part_of_a_device_is_a_device);
    tcase_add_test(tests, operators_run_on_a_wrapped_context);
    tcase_add_test(tests, ones_own_memory_is_shared);
    tcase_add_test(tests, memory_that_is_wrapped_twice_overlaps_itself);
    tcase_add_test(tests, what_does_not_belong_is_refused);
    tcase_add_test(tests, an_out_of_order_queue_is_refused);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
