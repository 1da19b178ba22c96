// SPDX-License-Identifier: MIT
// ctest: tiers=default,valgrind
// Contexts: what they are made from, that two never meet, that threads share one; and statuses and tensors.
#include <pthread.h>
#include <string.h>
#include <time.h>

#include <husk/opencl.h>

#include "support/environment.h"
#include "support/support.h"

START_TEST(bad_arguments_are_refused)
{
    husk_error error = {0};
    husk_context *context = NULL;
    husk_context_params params = HUSK_CONTEXT_PARAMS(.plan_cache_capacity = 4);
    ck_assert_int_eq(husk_context_create(NULL, NULL, NULL, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "husk_context_create: context: is NULL"));
    params.size = sizeof params + 1;
    ck_assert_int_eq(husk_context_create(NULL, &params, &context, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "params: size"));
    params = HUSK_CONTEXT_PARAMS(.cache = (husk_cache_mode)7);
    ck_assert_int_eq(husk_context_create(NULL, &params, &context, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "cache"));
    ck_assert_ptr_null(context);
    ck_assert_int_eq(husk_context_status(NULL), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_context_prewarm(NULL, NULL, 0, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_null(husk_context_traits(NULL));
    husk_memory_stats memory = {.live_bytes = 5};
    husk_context_memory_stats(NULL, &memory);
    ck_assert_uint_eq(memory.live_bytes, 0);
    husk_context_memory_stats(test_context(), NULL);
    husk_context_program_stats(test_context(), NULL);
    husk_context_release(NULL);
    husk_context_retain(NULL);
}
END_TEST

/* Nothing is guessed of a struct that nobody has made: neither what it means, nor that its other members are zero. */
START_TEST(a_struct_of_another_size_is_refused)
{
    husk_error error = {0};
    husk_context *context = NULL;
    husk_context_params params = HUSK_CONTEXT_PARAMS(.memory_budget = 1 << 20);
    const uint32_t sizes[] = {0, 1, sizeof params - 8, sizeof params + 8, UINT32_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        params.size = sizes[i];
        ck_assert_int_eq(husk_context_create(NULL, &params, &context, &error), HUSK_INVALID_ARGUMENT);
        ck_assert_ptr_nonnull(strstr(error.text, "husk_context_create: params: size is "));
        ck_assert_ptr_nonnull(strstr(error.text, "HUSK_CONTEXT_PARAMS"));
        ck_assert_ptr_null(context);
    }
}
END_TEST

// ---- a share of the device ----

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// How many processors the context's multiplications keep busy.
static double busy_processors(husk_context *context)
{
    enum { N = 256, ROUNDS = 60 };
    husk_error error = {0};
    husk_queue *queue = NULL;
    husk_buffer *buffer = NULL;
    const float one = 1;
    float seen = 0;
    test_ok_error(husk_queue_create(context, NULL, &queue, &error), &error);
    test_ok_error(husk_buffer_create(context, 3 * N * N * sizeof(float), &buffer, &error), &error);
    test_ok(husk_buffer_fill(queue, buffer, 0, 3 * N * N * sizeof(float), &one, sizeof one));
    husk_tensor a = husk_tensor_make(buffer, HUSK_F32, 2, (int64_t[]){N, N}), b = a, c = a;
    b.offset = N * N;
    c.offset = 2 * N * N;
    test_ok(husk_gemm(queue, NULL, 1, &a, &b, NULL, 0, &c)); // compiled
    test_ok(husk_queue_finish(queue));
    const double begin = seconds(CLOCK_MONOTONIC), used = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < ROUNDS; i++)
        test_ok(husk_gemm(queue, NULL, 1, &a, &b, NULL, 0, &c));
    test_ok(husk_queue_finish(queue));
    const double busy = (seconds(CLOCK_PROCESS_CPUTIME_ID) - used) / (seconds(CLOCK_MONOTONIC) - begin);
    test_ok(husk_buffer_read(queue, buffer, (3 * N * N - 1) * sizeof seen, sizeof seen, &seen));
    ck_assert_float_eq(seen, N);
    husk_buffer_release(buffer);
    husk_queue_release(queue);
    return busy;
}

START_TEST(a_share_leaves_the_other_cores_alone)
{
    husk_error error = {0};
    husk_context *context = NULL;
    husk_context_params params = HUSK_CONTEXT_PARAMS(.units = 1);
    const husk_device_traits *whole = husk_context_traits(test_context());
    const husk_status status = husk_context_create(NULL, &params, &context, &error);
    cl_uint most = 0; // parts, as the driver says: 0 of a PoCL that was built with OpenMP, TBB or for conformance
    ck_assert_int_eq(clGetDeviceInfo(husk_context_opencl_device(test_context()), CL_DEVICE_PARTITION_MAX_SUB_DEVICES,
                                     sizeof most, &most, NULL),
                     CL_SUCCESS);
    if (whole->compute_units > 1 && (most == 0 || !test_device_is_home()) && status == HUSK_UNSUPPORTED) {
        ck_assert_ptr_nonnull(strstr(error.text, "params: units is 1, and the device, of"));
        ck_assert_ptr_nonnull(strstr(error.text, "cannot be divided"));
        return;
    }
    test_ok_error(status, &error);
    ck_assert_uint_eq(husk_context_traits(context)->compute_units, 1);
    ck_assert_uint_eq(husk_context_traits(context)->device_index, whole->device_index);
    const double busy = busy_processors(context);
    ck_assert_msg(busy < 1.4 || whole->device_class != HUSK_DEVICE_CPU, "one unit keeps %.2f processors busy", busy);
    husk_context_release(context);
}
END_TEST

START_TEST(shares_that_are_none)
{
    husk_error error = {0};
    husk_context *context = NULL;
    husk_context_params params = HUSK_CONTEXT_PARAMS(.units = husk_context_traits(test_context())->compute_units);
    test_ok_error(husk_context_create(NULL, &params, &context, &error), &error); // all of them
    ck_assert_uint_eq(husk_context_traits(context)->compute_units, params.units);
    husk_context_release(context);
    params.units = 1u << 30;
    ck_assert_int_eq(husk_context_create(NULL, &params, &context, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "params: units is 1073741824, and the device has"));
    ck_assert_ptr_null(context);
}
END_TEST

/* Also where a tensor has no element: its buffer is a kernel's argument all the same. */
static void refuse_what_is_of_another(husk_context *context, husk_buffer *foreign)
{
    husk_error error = {0};
    husk_queue *queue = NULL;
    husk_buffer *own = NULL;
    float sums[4] = {1.0f, 1.0f, 1.0f, 1.0f};
    test_ok_error(husk_queue_create(context, NULL, &queue, &error), &error);
    test_ok_error(husk_buffer_create(context, sizeof sums, &own, &error), &error);
    test_ok(husk_buffer_write(queue, own, 0, sizeof sums, sums));
    husk_tensor a = husk_tensor_make(foreign, HUSK_F32, 2, (int64_t[]){2, 0});
    const husk_tensor b = husk_tensor_make(NULL, HUSK_F32, 2, (int64_t[]){0, 2});
    const husk_tensor c = husk_tensor_make(own, HUSK_F32, 2, (int64_t[]){2, 2});
    ck_assert_int_eq(husk_gemm(queue, NULL, 1.0f, &a, &b, NULL, 0.0f, &c), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(husk_queue_error(queue)->text, "a: its buffer belongs to another context"));
    a.buffer = NULL;
    test_ok(husk_gemm(queue, NULL, 1.0f, &a, &b, NULL, 0.0f, &c));
    test_ok(husk_buffer_read(queue, own, 0, sizeof sums, sums));
    ck_assert_float_eq(sums[3], 0.0f);
    husk_buffer_release(own);
    husk_queue_release(queue);
}

START_TEST(two_contexts_never_meet)
{
    husk_error error = {0};
    husk_context *a = NULL, *b = NULL;
    husk_buffer *buffer = NULL;
    husk_memory_stats memory;
    husk_context_params params = HUSK_CONTEXT_PARAMS(.memory_budget = 8 << 20);
    test_ok_error(husk_context_create(NULL, &params, &a, &error), &error);
    test_ok_error(husk_context_create(NULL, &params, &b, &error), &error);
    test_ok_error(husk_buffer_create(a, 6 << 20, &buffer, &error), &error);
    husk_context_memory_stats(b, &memory);
    ck_assert_uint_eq(memory.live_bytes, 0);
    husk_buffer_release(buffer);
    test_ok_error(husk_buffer_create(b, 6 << 20, &buffer, &error), &error);
    refuse_what_is_of_another(a, buffer);
    husk_context_release(a);
    husk_buffer_release(buffer);
    husk_context_release(b);
}
END_TEST

START_TEST(children_may_be_released_last)
{
    husk_error error = {0};
    husk_context *context = NULL;
    husk_queue *queue = NULL;
    husk_buffer *buffer = NULL;
    husk_event *event = NULL;
    test_ok_error(husk_context_create(NULL, NULL, &context, &error), &error);
    test_ok_error(husk_queue_create(context, NULL, &queue, &error), &error);
    test_ok_error(husk_buffer_create(context, 64, &buffer, &error), &error);
    husk_context_release(context);
    const uint32_t word = 9;
    uint32_t seen = 0;
    test_ok(husk_buffer_fill(queue, buffer, 0, 64, &word, 4));
    test_ok(husk_queue_record(queue, &event));
    test_ok(husk_buffer_read(queue, buffer, 0, 4, &seen));
    ck_assert_uint_eq(seen, word);
    husk_queue_release(queue);
    husk_buffer_release(buffer);
    ck_assert_int_eq(husk_event_wait(event, HUSK_FOREVER), HUSK_OK);
    husk_event_release(event);
}
END_TEST

/* Contexts made and used by threads at once, each with its own. */
static void *live_and_die(void *argument)
{
    int *wrong = argument;
    for (int round = 0; round < 5; round++) {
        husk_context *context = NULL;
        husk_queue *queue = NULL;
        husk_buffer *buffer = NULL;
        const uint32_t word = (uint32_t)round;
        uint32_t seen = 99;
        *wrong += husk_context_create(NULL, NULL, &context, NULL) != HUSK_OK ||
                  husk_queue_create(context, NULL, &queue, NULL) != HUSK_OK ||
                  husk_buffer_create(context, 64, &buffer, NULL) != HUSK_OK ||
                  husk_buffer_fill(queue, buffer, 0, 64, &word, 4) != HUSK_OK ||
                  husk_buffer_read(queue, buffer, 60, 4, &seen) != HUSK_OK || seen != word;
        husk_buffer_release(buffer);
        husk_queue_release(queue);
        husk_context_release(context);
    }
    return NULL;
}

START_TEST(threads_with_a_context_each)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    int wrong[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, live_and_die, &wrong[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_int_eq(wrong[i], 0);
    }
}
END_TEST

/* Of small work-groups no feature is refused, and no full memory is remembered. */
START_TEST(features_do_not_depend_on_the_moment)
{
    husk_context *context = NULL;
    husk_buffer *all = NULL;
    husk_error error = {0};
    const bool has = husk_context_has(test_context(), HUSK_FEATURE_F64);
    test_setenv("HUSK_LIMITS", "work_group=3");
    test_ok_error(husk_context_create(NULL, NULL, &context, &error), &error);
    ck_assert(husk_context_has(context, HUSK_FEATURE_FMA));
    ck_assert_int_eq(husk_context_has(context, HUSK_FEATURE_F64), has);
    husk_context_release(context);
    test_restore_environment();
    const husk_context_params params = HUSK_CONTEXT_PARAMS(.memory_budget = 1 << 20);
    test_ok_error(husk_context_create(NULL, &params, &context, &error), &error);
    test_ok_error(husk_buffer_create(context, 1 << 20, &all, &error), &error);
    ck_assert(!husk_context_has(context, HUSK_FEATURE_FMA));
    husk_buffer_release(all);
    ck_assert(husk_context_has(context, HUSK_FEATURE_FMA));
    husk_context_release(context);
}
END_TEST

START_TEST(features_are_what_the_device_really_computes)
{
    ck_assert(husk_context_has(test_context(), HUSK_FEATURE_FMA));
    /* asked twice, answered alike; what is not advertised is not there */
    for (int feature = HUSK_FEATURE_F64; feature <= HUSK_FEATURE_DOT_I8; feature++) {
        const bool has = husk_context_has(test_context(), (husk_feature)feature);
        ck_assert_int_eq(husk_context_has(test_context(), (husk_feature)feature), has);
        ck_assert_str_ne(husk_feature_name((husk_feature)feature), "unknown");
    }
    if (!husk_context_traits(test_context())->has_f64)
        ck_assert(!husk_context_has(test_context(), HUSK_FEATURE_F64));
    ck_assert(!husk_context_has(test_context(), (husk_feature)99));
    ck_assert(!husk_context_has(NULL, HUSK_FEATURE_F64));
}
END_TEST

START_TEST(statuses_have_names_and_texts)
{
    ck_assert_str_eq(husk_status_name(HUSK_OK), "HUSK_OK");
    ck_assert_str_eq(husk_status_name(HUSK_OUT_OF_MEMORY), "HUSK_OUT_OF_MEMORY");
    ck_assert_str_eq(husk_status_name((husk_status)4711), "HUSK_UNKNOWN_STATUS");
#define NAMED(name, number, text)                                           \
    ck_assert_int_eq(HUSK_##name, number);                                  \
    ck_assert_str_eq(husk_status_name((husk_status)number), "HUSK_" #name); \
    ck_assert_str_eq(husk_status_text((husk_status)number), text);
    HUSK_STATUS_LIST(NAMED)
    ck_assert_str_ne(husk_status_text((husk_status)-1), "");
    ck_assert_str_eq(husk_version(), HUSK_VERSION_STRING);
}
END_TEST

START_TEST(tensors_count_without_overflowing)
{
    husk_tensor tensor = husk_tensor_make(NULL, HUSK_F32, 3, (int64_t[]){2, 3, 4});
    ck_assert_int_eq(husk_tensor_count(&tensor), 24);
    ck_assert_int_eq(husk_tensor_extent(&tensor), 96);
    tensor = husk_tensor_make_channels_last(NULL, HUSK_F32, 4, (int64_t[]){2, 3, 4, 5});
    ck_assert_int_eq(tensor.strides[1], 1);
    ck_assert_int_eq(tensor.strides[3], 3);
    ck_assert_int_eq(tensor.strides[2], 15);
    ck_assert_int_eq(tensor.strides[0], 60);
    ck_assert_int_eq(husk_tensor_extent(&tensor), 480);
    tensor = husk_tensor_make(NULL, HUSK_F64, 2, (int64_t[]){0, 7});
    ck_assert_int_eq(husk_tensor_count(&tensor), 0);
    ck_assert_int_eq(husk_tensor_extent(&tensor), 0);
    tensor = husk_tensor_make(NULL, HUSK_F32, 0, NULL);
    ck_assert_int_eq(husk_tensor_count(&tensor), 1);
    tensor = husk_tensor_make(NULL, HUSK_F32, 2, (int64_t[]){INT64_C(1) << 32, INT64_C(1) << 32});
    ck_assert_int_eq(husk_tensor_count(&tensor), -1);
    ck_assert_int_eq(husk_tensor_extent(&tensor), -1);
    tensor = husk_tensor_make(NULL, HUSK_F32, 2, (int64_t[]){INT64_C(1) << 31, INT64_C(1) << 31});
    ck_assert_int_eq(husk_tensor_count(&tensor), INT64_C(1) << 62);
    ck_assert_int_eq(husk_tensor_extent(&tensor), -1); /* the bytes do not fit */
    tensor = husk_tensor_make(NULL, HUSK_F32, 1, (int64_t[]){-1});
    ck_assert_int_eq(husk_tensor_count(&tensor), -1);
    ck_assert_uint_eq(husk_dtype_size(HUSK_BF16), 2);
    ck_assert_uint_eq(husk_dtype_size((husk_dtype)99), 0);
    ck_assert_str_eq(husk_dtype_name(HUSK_I32), "i32");
    ck_assert_str_eq(husk_dtype_name((husk_dtype)99), "unknown");
}
END_TEST

/* Beside a dimension of 0 nothing is computed, but the others are multiplied. */
START_TEST(shapes_without_elements_do_not_overflow)
{
    const int64_t half = INT64_C(1) << 32, legal[] = {half, 0, 3}, products[] = {half, 0, half};
    const husk_tensor good = husk_tensor_make(NULL, HUSK_F32, 3, legal);
    const husk_tensor shape = husk_tensor_make(NULL, HUSK_F32, 3, products);
    husk_tensor strides = good;
    strides.strides[0] = half;
    test_ok(husk_unary(test_queue(), NULL, &good, &good));
    test_refused(husk_unary(test_silent_queue(), NULL, &shape, &shape), HUSK_INVALID_ARGUMENT, "x");
    ck_assert_ptr_nonnull(strstr(husk_queue_error(test_silent_queue())->text, "overflows 64 bits"));
    test_refused(husk_unary(test_silent_queue(), NULL, &strides, &strides), HUSK_INVALID_ARGUMENT, "x");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("context");
    TCase *tests = tcase_create("context");
    tcase_add_test(tests, bad_arguments_are_refused);
    tcase_add_test(tests, a_struct_of_another_size_is_refused);
    tcase_add_test(tests, a_share_leaves_the_other_cores_alone);
    tcase_add_test(tests, shares_that_are_none);
    tcase_add_test(tests, two_contexts_never_meet);
    tcase_add_test(tests, children_may_be_released_last);
    tcase_add_test(tests, threads_with_a_context_each);
    tcase_add_test(tests, features_do_not_depend_on_the_moment);
    tcase_add_test(tests, features_are_what_the_device_really_computes);
    tcase_add_test(tests, statuses_have_names_and_texts);
    tcase_add_test(tests, tensors_count_without_overflowing);
    tcase_add_test(tests, shapes_without_elements_do_not_overflow);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
