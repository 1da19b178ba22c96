// SPDX-License-Identifier: MIT
// ctest: tiers=default,valgrind
// Guard bands: what is written outside a buffer is seen to the byte, wherever the memory comes from.
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <husk/guard.h>
#include <husk/opencl.h>

#include "runtime/call.h"
#include "runtime/context_struct.h"
#include "support/support.h"

enum { BYTES = 1001, BAND = HUSK_GUARD_BYTES }; // amid a word

static husk_context *context;
static husk_queue *queue;
static char logged[512];

static void keep_log(void *user, husk_log_level level, const char *text)
{
    (void)user;
    if (level == HUSK_LOG_WARNING)
        snprintf(logged, sizeof logged, "%s", text);
}

static void setup(void)
{
    husk_error error;
    husk_context_params params = HUSK_CONTEXT_PARAMS(.log = keep_log);
    logged[0] = '\0';
    test_ok_error(husk_context_create(NULL, &params, &context, &error), &error);
    test_ok_error(husk_queue_create(context, NULL, &queue, &error), &error);
    test_ok_error(husk_context_set_guards(context, 1, &error), &error);
}

static void teardown(void)
{
    husk_queue_release(queue);
    husk_context_release(context);
}

static husk_buffer *make(uint64_t bytes)
{
    husk_error error;
    husk_buffer *buffer = NULL;
    test_ok_error(husk_buffer_create(context, bytes, &buffer, &error), &error);
    return buffer;
}

// At a place counted from the buffer's first byte, by OpenCL itself: as a kernel would.
static void poke(husk_buffer *buffer, int64_t at, unsigned char change)
{
    unsigned char byte;
    const size_t place = (size_t)((int64_t)husk_buffer_opencl_offset(buffer) + at);
    cl_command_queue cl = husk_queue_opencl(queue);
    cl_mem mem = husk_buffer_opencl(buffer);
    ck_assert_int_eq(clEnqueueReadBuffer(cl, mem, CL_TRUE, place, 1, &byte, 0, NULL, NULL), CL_SUCCESS);
    byte ^= change;
    ck_assert_int_eq(clEnqueueWriteBuffer(cl, mem, CL_TRUE, place, 1, &byte, 0, NULL, NULL), CL_SUCCESS);
    ck_assert_int_eq(clFinish(cl), CL_SUCCESS); // guards have a queue of their own
}

static void expect_found(husk_status status, const husk_error *error, const char *text)
{
    ck_assert_msg(status == HUSK_INTERNAL, "expected to be told \"%s\", got %s", text, husk_status_name(status));
    ck_assert_int_eq(error->status, HUSK_INTERNAL);
    ck_assert_msg(strstr(error->text, text), "not told \"%s\": %s", text, error->text);
}

static void expect_nothing(void)
{
    husk_error error;
    test_ok_error(husk_context_check_guards(context, &error), &error);
}

START_TEST(nothing_is_found_where_nothing_was_written)
{
    husk_error error;
    husk_buffer *none = make(0), *buffer = make(BYTES);
    unsigned char bytes[BYTES] = {1};
    test_ok(husk_buffer_write(queue, buffer, 0, BYTES, bytes));
    test_ok_error(husk_buffer_check_guards(buffer, &error), &error);
    test_ok_error(husk_buffer_check_guards(none, &error), &error);
    expect_nothing();
    husk_buffer_release(buffer);
    husk_buffer_release(none);
    expect_nothing();
}
END_TEST

START_TEST(each_byte_of_the_bands_is_seen)
{
    static const struct {
        int64_t at;
        const char *text;
    } places[] = {
        {BYTES, ": byte 0 behind its end"},
        {BYTES + 1, ": byte 1 behind its end"},
        {BYTES + BAND - 1, ": byte 4095 behind its end"},
        {-1, ": byte 1 before its beginning"},
        {-BAND, ": byte 4096 before its beginning"},
    };
    husk_buffer *buffer = make(BYTES);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        husk_error error;
        poke(buffer, places[i].at, 1);
        expect_found(husk_buffer_check_guards(buffer, &error), &error, places[i].text);
        expect_nothing(); // it was told, and made good
        poke(buffer, places[i].at, 0x80);
        expect_found(husk_context_check_guards(context, &error), &error, places[i].text);
        expect_nothing();
    }
    husk_buffer_release(buffer);
}
END_TEST

START_TEST(the_text_has_it_all)
{
    husk_error error;
    husk_buffer *buffer = make(BYTES), *view = NULL;
    test_ok_error(husk_buffer_view(buffer, 8, 16, &view, &error), &error);
    poke(buffer, BYTES + 3, 1);
    poke(buffer, BYTES + 66, 1);
    poke(buffer, -4, 1);
    poke(buffer, -2, 1);
    expect_found(husk_buffer_check_guards(view, &error), &error,
                 "husk_buffer_check_guards: memory outside a buffer of 1001 bytes was written: bytes 2 to 4 before its "
                 "beginning and bytes 3 to 66 behind its end; no kernel of Husk's has used it");
    husk_buffer_release(view);
    husk_buffer_release(buffer);
}
END_TEST

START_TEST(what_was_released_is_told)
{
    husk_error error;
    husk_buffer *first = make(BYTES), *second = make(500), *third = make(600);
    poke(first, BYTES, 1);
    poke(second, 500, 1);
    poke(third, 600, 1);
    husk_buffer_release(first);
    husk_buffer_release(second);
    expect_found(husk_context_check_guards(context, &error), &error, "a buffer of 1001 bytes");
    ck_assert_msg(strstr(error.text, "(and 2 more such buffers)"), "%s", error.text);
    expect_nothing();
    husk_buffer_release(third);
    expect_nothing();
}
END_TEST

START_TEST(what_nobody_asks_for_is_logged)
{
    husk_buffer *buffer = make(BYTES);
    poke(buffer, BYTES, 1);
    husk_buffer_release(buffer);
    teardown();
    ck_assert_msg(strstr(logged, "a buffer of 1001 bytes was written: byte 0 behind its end"), "%s", logged);
    setup();
}
END_TEST

// As the element types of tensors, wherever a buffer ends: of two bytes more each element begins elsewhere.
static void expect_nan_around(uint64_t bytes)
{
    husk_buffer *buffer = make(bytes);
    unsigned char band[BAND];
    const size_t end = (size_t)(husk_buffer_opencl_offset(buffer) + bytes);
    ck_assert_int_eq(clEnqueueReadBuffer(husk_queue_opencl(queue), husk_buffer_opencl(buffer), CL_TRUE, end, BAND, band,
                                         0, NULL, NULL),
                     CL_SUCCESS);
    for (size_t i = 0; i < BAND; i++) {
        const size_t at = end + i;
        float single;
        double wide;
        uint16_t half;
        if (at % 8 == 0 && i + 8 <= BAND)
            ck_assert(isnan(*(double *)memcpy(&wide, band + i, 8)));
        if (at % 4 == 0 && i + 4 <= BAND)
            ck_assert(isnan(*(float *)memcpy(&single, band + i, 4)));
        if (at % 2 == 0 && i + 2 <= BAND)
            ck_assert_uint_eq(*(uint16_t *)memcpy(&half, band + i, 2) & 0x7fc0u, 0x7fc0u); // as f16 and as bf16
    }
    husk_buffer_release(buffer);
}

START_TEST(bands_are_nan)
{
    for (uint64_t bytes = 64; bytes < 80; bytes++)
        expect_nan_around(bytes);
}
END_TEST

START_TEST(what_was_never_written_is_nan)
{
    husk_buffer *buffer = make(BYTES);
    unsigned char bytes[BYTES] = {0};
    test_ok(husk_buffer_read(queue, buffer, 0, BYTES, bytes));
    for (size_t i = 0; i < BYTES; i++)
        ck_assert_uint_eq(bytes[i], 0xff);
    husk_buffer_release(buffer);
}
END_TEST

// A kernel that copies an element too many, from behind one buffer to behind another.
START_TEST(a_band_that_is_copied_is_seen)
{
    husk_error error;
    husk_buffer *from = make(BYTES), *to = make(BYTES);
    for (int i = 0; i < 256; i++) {
        const size_t place = (size_t)husk_buffer_opencl_offset(from) + BYTES + 1 + 2 * (size_t)i;
        ck_assert_int_eq(clEnqueueCopyBuffer(husk_queue_opencl(queue), husk_buffer_opencl(from), husk_buffer_opencl(to),
                                             place, place, 2, 0, NULL, NULL),
                         CL_SUCCESS);
        ck_assert_int_eq(clFinish(husk_queue_opencl(queue)), CL_SUCCESS);
        expect_found(husk_buffer_check_guards(to, &error), &error, "behind its end");
    }
    husk_buffer_release(from);
    husk_buffer_release(to);
}
END_TEST

START_TEST(scratch_memory_has_its_very_size)
{
    static const uint64_t sizes[] = {5000, 100, 100, 70000};
    husk_error error;
    husk__scope scope;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        husk__scratch scratch;
        char text[64];
        test_ok(husk__call_begin(queue, "test", &scope));
        test_ok(husk__scratch_begin(queue, sizes[i], &scratch, &scope));
        ck_assert_uint_eq(husk_buffer_size(scratch.buffer), sizes[i]);
        poke((husk_buffer *)scratch.buffer, (int64_t)sizes[i], 1);
        husk__scratch_end(queue, &scratch);
        snprintf(text, sizeof text, "a buffer of %d bytes was written: byte 0 behind", (int)sizes[i]);
        expect_found(husk_context_check_guards(context, &error), &error, text);
    }
}
END_TEST

START_TEST(a_kernel_is_named)
{
    const int64_t shape[] = {250};
    husk_error error;
    husk_buffer *x_memory = make(1000), *y_memory = make(1000);
    const husk_tensor x = husk_tensor_make(x_memory, HUSK_F32, 1, shape);
    const husk_tensor y = husk_tensor_make(y_memory, HUSK_F32, 1, shape);
    husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_RELU);
    ck_assert_int_eq(husk_activation(queue, &params, &x, &y), HUSK_OK);
    poke(y_memory, 1000, 1);
    expect_found(husk_context_check_guards(context, &error), &error,
                 "a buffer of 1000 bytes was written: byte 0 behind its end; the last kernel that used it is "
                 "husk_activation");
    husk_buffer_release(x_memory);
    husk_buffer_release(y_memory);
}
END_TEST

// Where some memory could not be looked at, what other memory tells is not lost.
START_TEST(a_failure_hides_nothing)
{
    husk_error error;
    husk_buffer *buffer = make(BYTES);
    context->guards.failure = (husk_error){.status = HUSK_OUT_OF_HOST_MEMORY, .text = "no memory to look"};
    context->guards.has_failed = true;
    poke(buffer, BYTES, 1);
    expect_found(husk_context_check_guards(context, &error), &error, "a buffer of 1001 bytes");
    expect_nothing();
    context->guards.has_failed = true;
    ck_assert_int_eq(husk_context_check_guards(context, &error), HUSK_OUT_OF_HOST_MEMORY);
    ck_assert_str_eq(error.text, "no memory to look");
    expect_nothing();
    husk_buffer_release(buffer);
}
END_TEST

static void *check_guards(void *unused)
{
    husk_error error;
    (void)unused;
    test_ok_error(husk_context_check_guards(context, &error), &error);
    return NULL;
}

// While a check waits for a kernel, others may take memory, use the same and give it back: what the kernel waits for
// may depend on it.
START_TEST(a_check_holds_nobody_up)
{
    const int64_t shape[] = {250};
    const struct timespec moment = {.tv_nsec = 50000000};
    husk_error error;
    cl_int code;
    pthread_t thread;
    husk_buffer *x_memory = make(1000), *y_memory = make(1000);
    const husk_tensor x = husk_tensor_make(x_memory, HUSK_F32, 1, shape);
    const husk_tensor y = husk_tensor_make(y_memory, HUSK_F32, 1, shape);
    husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_RELU);
    cl_event event = clCreateUserEvent(husk_context_opencl(context), &code);
    ck_assert_int_eq(code, CL_SUCCESS);
    ck_assert_int_eq(clEnqueueBarrierWithWaitList(husk_queue_opencl(queue), 1, &event, NULL), CL_SUCCESS);
    ck_assert_int_eq(husk_activation(queue, &params, &x, &y), HUSK_OK);
    ck_assert_int_eq(pthread_create(&thread, NULL, check_guards, NULL), 0);
    nanosleep(&moment, NULL);
    husk_buffer_release(make(BYTES));
    ck_assert_int_eq(husk_activation(queue, &params, &y, &y), HUSK_OK);
    test_ok_error(husk_context_set_guards(context, BAND, &error), &error);
    ck_assert_int_eq(clSetUserEventStatus(event, CL_COMPLETE), CL_SUCCESS);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    clReleaseEvent(event);
    husk_buffer_release(x_memory);
    husk_buffer_release(y_memory);
}
END_TEST

START_TEST(guards_are_there_where_they_are_wanted)
{
    husk_error error;
    husk_memory_stats stats;
    husk_buffer *guarded = make(1 << 20);
    husk_context_memory_stats(context, &stats);
    ck_assert_uint_eq(stats.live_bytes, (1 << 20) + 2 * BAND);
    test_ok_error(husk_context_set_guards(context, 0, &error), &error);
    husk_buffer *plain = make(1 << 20);
    husk_context_memory_stats(context, &stats);
    ck_assert_uint_eq(stats.peak_bytes, 1 << 20); // what has guards is no peak
    ck_assert_uint_eq(husk_buffer_opencl_offset(guarded), BAND);
    ck_assert_uint_eq(husk_buffer_opencl_offset(plain), 0);
    test_ok_error(husk_buffer_check_guards(plain, &error), &error);
    husk_buffer_release(guarded);
    husk_context_memory_stats(context, &stats);
    ck_assert_uint_eq(stats.cached_bytes, 0); // it is not used again
    husk_buffer_release(plain);
    test_ok_error(husk_context_set_guards(context, BAND + 1, &error), &error);
    guarded = make(1);
    ck_assert_uint_eq(husk_buffer_opencl_offset(guarded), 2 * BAND);
    husk_buffer_release(guarded);
    expect_nothing();
}
END_TEST

// Scratch memory from before guards, and guarded from before there were none, is not used again.
START_TEST(scratch_memory_follows_what_is_wanted)
{
    husk_error error;
    husk__scope scope;
    husk__scratch scratch;
    for (int i = 0; i < 4; i++) {
        test_ok_error(husk_context_set_guards(context, i % 2 ? BAND : 0, &error), &error);
        test_ok(husk__call_begin(queue, "test", &scope));
        test_ok(husk__scratch_begin(queue, 1000, &scratch, &scope));
        ck_assert_uint_eq(husk_buffer_opencl_offset(scratch.buffer), i % 2 ? BAND : 0);
        husk__scratch_end(queue, &scratch);
    }
}
END_TEST

START_TEST(what_is_refused)
{
    husk_error error;
    husk_buffer *buffer = NULL;
    const uint64_t most = husk_context_traits(context)->max_allocation;
    test_refused_error(husk_context_set_guards(NULL, 0, &error), &error, HUSK_INVALID_ARGUMENT, "context");
    test_refused_error(husk_context_set_guards(context, (UINT64_C(1) << 30) + 1, &error), &error, HUSK_INVALID_ARGUMENT,
                       "bytes");
    test_refused_error(husk_context_check_guards(NULL, &error), &error, HUSK_INVALID_ARGUMENT, "context");
    test_refused_error(husk_buffer_check_guards(NULL, &error), &error, HUSK_INVALID_ARGUMENT, "buffer");
    test_refused_error(husk_buffer_create(context, most - BAND, &buffer, &error), &error, HUSK_OUT_OF_MEMORY,
                       "two guard bands of 4096");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("guard");
    TCase *tests = tcase_create("guard");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, nothing_is_found_where_nothing_was_written);
    tcase_add_test(tests, each_byte_of_the_bands_is_seen);
    tcase_add_test(tests, the_text_has_it_all);
    tcase_add_test(tests, what_was_released_is_told);
    tcase_add_test(tests, what_nobody_asks_for_is_logged);
    tcase_add_test(tests, bands_are_nan);
    tcase_add_test(tests, what_was_never_written_is_nan);
    tcase_add_test(tests, a_band_that_is_copied_is_seen);
    tcase_add_test(tests, scratch_memory_has_its_very_size);
    tcase_add_test(tests, a_kernel_is_named);
    tcase_add_test(tests, a_failure_hides_nothing);
    tcase_add_test(tests, a_check_holds_nobody_up);
    tcase_add_test(tests, guards_are_there_where_they_are_wanted);
    tcase_add_test(tests, scratch_memory_follows_what_is_wanted);
    tcase_add_test(tests, what_is_refused);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
