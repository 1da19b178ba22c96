// SPDX-License-Identifier: MIT
// ctest: tiers=default,valgrind
// The list of devices, their traits, the choice among them, and HUSK_LIMITS.
#include <stdio.h>
#include <string.h>

#include "runtime/device.h"
#include "support/environment.h"
#include "support/support.h"

static husk_device_list *list;

static void setup(void)
{
    husk_error error = {0};
    test_ok_error(husk_device_list_create(&list, &error), &error);
}

static void teardown(void)
{
    test_restore_environment();
    husk_device_list_release(list);
    list = NULL;
}

static const husk_device *selected(const char *preference)
{
    const husk_device *device = NULL;
    husk_error error = {0};
    test_ok_error(husk_device_list_select(list, preference, &device, &error), &error);
    return device;
}

START_TEST(traits_make_sense)
{
    ck_assert_uint_ge(husk_device_list_count(list), 1);
    ck_assert_ptr_null(husk_device_list_get(list, husk_device_list_count(list)));
    for (size_t i = 0; i < husk_device_list_count(list); i++) {
        const husk_device_traits *traits = husk_device_get_traits(husk_device_list_get(list, i));
        ck_assert_str_ne(traits->name, "");
        ck_assert_str_ne(traits->platform_name, "");
        ck_assert_str_ne(traits->driver_version, "");
        ck_assert_ptr_eq(strstr(traits->device_version, "OpenCL "), traits->device_version);
        ck_assert_uint_ge(traits->compute_units, 1);
        ck_assert_uint_ge(traits->work_group, 1);
        ck_assert_uint_ge(traits->work_item_sizes[0], 1);
        ck_assert_uint_gt(traits->global_memory, 0);
        ck_assert_uint_gt(traits->max_allocation, 0);
        ck_assert_uint_le(traits->max_allocation, traits->global_memory);
        if (traits->device_class == HUSK_DEVICE_CPU)
            ck_assert(traits->vector_width == 4 || traits->vector_width == 8 || traits->vector_width == 16);
        ck_assert_str_ne(husk_device_class_text(traits->device_class), "unknown");
    }
    ck_assert_str_eq(husk_device_class_text((husk_device_class)99), "unknown");
}
END_TEST

START_TEST(preferences_are_granted)
{
    char preference[64];
    for (size_t i = 0; i < husk_device_list_count(list); i++) {
        const husk_device *device = husk_device_list_get(list, i);
        const husk_device_traits *traits = husk_device_get_traits(device);
        if (!traits->is_available)
            continue;
        snprintf(preference, sizeof preference, "%u:%u", traits->platform_index, traits->device_index);
        ck_assert_ptr_eq(selected(preference), device);
    }
    /* a part of the default's name, in the wrong case */
    const husk_device *fallback = selected(NULL);
    snprintf(preference, sizeof preference, "%.40s", husk_device_get_traits(fallback)->name);
    for (char *at = preference; *at; at++)
        *at = (char)(*at >= 'a' && *at <= 'z' ? *at - 32 : *at);
    ck_assert_str_eq(husk_device_get_traits(selected(preference))->name, husk_device_get_traits(fallback)->name);
}
END_TEST

START_TEST(classes_may_be_written_in_capitals)
{
    const husk_device *device = NULL;
    husk_error error = {0};
    const char *const pairs[][2] = {{"cpu", "CPU"}, {"gpu", "GPU"}};
    for (int i = 0; i < 2; i++) {
        const husk_device *small = NULL;
        husk_status status = husk_device_list_select(list, pairs[i][0], &small, &error);
        ck_assert_int_eq(husk_device_list_select(list, pairs[i][1], &device, &error), status);
        ck_assert_ptr_eq(device, small);
    }
}
END_TEST

START_TEST(a_preference_is_never_replaced)
{
    const husk_device *device = selected(NULL);
    husk_error error = {0};
    const char *const preferences[] = {"no such device", "97:0", "0:97", "0:", ":0", "0:0x"};
    for (size_t i = 0; i < sizeof preferences / sizeof *preferences; i++) {
        ck_assert_int_eq(husk_device_list_select(list, preferences[i], &device, &error), HUSK_NO_DEVICE);
        ck_assert_ptr_null(device);
        ck_assert_ptr_nonnull(strstr(error.text, preferences[i]));
        /* and the list of what there is */
        ck_assert_ptr_nonnull(strstr(error.text, husk_device_get_traits(husk_device_list_get(list, 0))->name));
    }
}
END_TEST

START_TEST(each_of_a_hundred_devices_has_its_place)
{
    enum { PLATFORMS = 10, DEVICES = 10 };
    static husk_device devices[PLATFORMS * DEVICES];
    for (int i = 0; i < PLATFORMS * DEVICES; i++)
        devices[i].traits = (husk_device_traits){.platform_index = (uint32_t)(i / DEVICES),
                                                 .device_index = (uint32_t)(i % DEVICES),
                                                 .name = "card",
                                                 .platform_name = "many",
                                                 .device_class = HUSK_DEVICE_GPU_DISCRETE,
                                                 .is_available = true};
    const husk_device_list many = {.count = PLATFORMS * DEVICES, .devices = devices};
    for (int i = 0; i < PLATFORMS * DEVICES; i++) {
        const husk_device *device = NULL;
        husk_error error = {0};
        char preference[16];
        snprintf(preference, sizeof preference, "%d:%d", i / DEVICES, i % DEVICES);
        test_ok_error(husk_device_list_select(&many, preference, &device, &error), &error);
        ck_assert_ptr_eq(device, &devices[i]);
    }
}
END_TEST

START_TEST(the_best_of_a_kind_is_the_default)
{
    static const struct {
        husk_device_class classes[3];
        uint32_t units[3];
        bool is_away[3];
        int best;
    } lists[] = {
        {{HUSK_DEVICE_CPU, HUSK_DEVICE_CPU, HUSK_DEVICE_CPU}, {1, 8, 8}, {0}, 1}, // cpu-minimal before the whole
        {{HUSK_DEVICE_CPU, HUSK_DEVICE_CPU, HUSK_DEVICE_CPU}, {2, 8, 1}, {false, true, false}, 0},
        {{HUSK_DEVICE_CPU, HUSK_DEVICE_GPU_INTEGRATED, HUSK_DEVICE_CPU}, {64, 2, 128}, {0}, 1},
        {{HUSK_DEVICE_GPU_DISCRETE, HUSK_DEVICE_GPU_DISCRETE, HUSK_DEVICE_CPU}, {10, 80, 128}, {0}, 0},
        {{HUSK_DEVICE_SIMULATOR, HUSK_DEVICE_CPU, HUSK_DEVICE_ACCELERATOR}, {64, 2, 1}, {0}, 2},
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        static husk_device devices[3];
        const husk_device *device = NULL;
        husk_error error = {0};
        for (int d = 0; d < 3; d++)
            devices[d].traits = (husk_device_traits){.name = "card",
                                                     .platform_name = "made up",
                                                     .device_class = lists[i].classes[d],
                                                     .compute_units = lists[i].units[d],
                                                     .is_available = !lists[i].is_away[d]};
        const husk_device_list some = {.count = 3, .devices = devices};
        test_setenv("HUSK_DEVICE", "");
        test_ok_error(husk_device_list_select(&some, NULL, &device, &error), &error);
        ck_assert_ptr_eq(device, &devices[lists[i].best]);
    }
}
END_TEST

START_TEST(the_environment_chooses_where_the_caller_does_not)
{
    const husk_device *device = NULL;
    husk_error error = {0};
    test_setenv("HUSK_DEVICE", "no such device");
    ck_assert_int_eq(husk_device_list_select(list, NULL, &device, &error), HUSK_NO_DEVICE);
    ck_assert_int_eq(husk_device_list_select(list, "", &device, &error), HUSK_NO_DEVICE);
    husk_context *context = NULL;
    ck_assert_int_eq(husk_context_create(NULL, NULL, &context, &error), HUSK_NO_DEVICE);
    ck_assert_ptr_null(context);
    /* what the caller says comes first */
    ck_assert_int_eq(husk_device_list_select(list, "0:0", &device, &error), HUSK_OK);
    test_setenv("HUSK_DEVICE", "0:0");
    ck_assert_int_eq(husk_device_list_select(list, NULL, &device, &error), HUSK_OK);
    ck_assert_uint_eq(husk_device_get_traits(device)->platform_index, 0);
}
END_TEST

START_TEST(null_arguments_are_refused)
{
    husk_error error = {0};
    const husk_device *device = NULL;
    ck_assert_int_eq(husk_device_list_create(NULL, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "husk_device_list_create: list"));
    ck_assert_int_eq(husk_device_list_select(NULL, NULL, &device, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_device_list_select(list, NULL, NULL, NULL), HUSK_INVALID_ARGUMENT);
    ck_assert_uint_eq(husk_device_list_count(NULL), 0);
    ck_assert_uint_eq(husk_device_list_note_count(NULL), 0);
    ck_assert_ptr_null(husk_device_list_get(NULL, 0));
    ck_assert_ptr_null(husk_device_list_note(list, husk_device_list_note_count(list), NULL));
    ck_assert_ptr_null(husk_device_get_traits(NULL));
    husk_device_list_release(NULL);
}
END_TEST

START_TEST(a_context_keeps_its_device_when_the_list_goes)
{
    husk_device_list *own = NULL;
    husk_context *context = NULL;
    husk_error error = {0};
    test_ok_error(husk_device_list_create(&own, &error), &error);
    const husk_device *device = NULL;
    test_ok_error(husk_device_list_select(own, NULL, &device, &error), &error);
    test_ok_error(husk_context_create(device, NULL, &context, &error), &error);
    husk_device_list_release(own);
    ck_assert_str_ne(husk_context_traits(context)->name, "");
    husk_context_release(context);
}
END_TEST

START_TEST(limits_lower_traits_and_never_raise_them)
{
    const husk_device_traits *before = husk_device_get_traits(selected(NULL));
    husk_device_list *limited = NULL;
    const husk_device *device = NULL;
    husk_error error = {0};
    test_setenv("HUSK_LIMITS", "local_memory=1K,work_group=8,compute_units=1,max_allocation=64M,global_memory=99999G");
    test_ok_error(husk_device_list_create(&limited, &error), &error);
    test_ok_error(husk_device_list_select(limited, NULL, &device, &error), &error);
    const husk_device_traits *after = husk_device_get_traits(device);
    ck_assert_uint_eq(after->local_memory, 1024);
    ck_assert_uint_eq(after->work_group, 8);
    ck_assert_uint_eq(after->compute_units, 1);
    ck_assert_uint_eq(after->max_allocation, 64 << 20);
    ck_assert_uint_eq(after->global_memory, before->global_memory);

    /* and the limits are obeyed */
    husk_context *context = NULL;
    husk_buffer *buffer = NULL;
    test_ok_error(husk_context_create(device, NULL, &context, &error), &error);
    ck_assert_int_eq(husk_buffer_create(context, (64 << 20) + 1, &buffer, &error), HUSK_OUT_OF_MEMORY);
    test_ok_error(husk_buffer_create(context, 64 << 20, &buffer, &error), &error);
    husk_buffer_release(buffer);
    husk_context_release(context);
    husk_device_list_release(limited);
}
END_TEST

// What operators say where a device has no f64.
START_TEST(a_device_without_f64_refuses_it)
{
    husk_device_list *limited = NULL;
    const husk_device *device = NULL;
    husk_context *context = NULL;
    husk_queue *queue = NULL;
    husk_buffer *buffer = NULL;
    husk_error error = {0};
    test_setenv("HUSK_LIMITS", "f64=0");
    test_ok_error(husk_device_list_create(&limited, &error), &error);
    test_ok_error(husk_device_list_select(limited, NULL, &device, &error), &error);
    ck_assert(!husk_device_get_traits(device)->has_f64);
    test_ok_error(husk_context_create(device, NULL, &context, &error), &error);
    ck_assert(!husk_context_has(context, HUSK_FEATURE_F64));
    test_ok_error(husk_queue_create(context, NULL, &queue, &error), &error);
    test_ok_error(husk_buffer_create(context, 4096, &buffer, &error), &error);
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F64, 4, (int64_t[]){1, 1, 3, 3});
    husk_tensor y = x;
    y.offset = 100;
    static const char text[] = "x: is f64, which this device does not compute in";
    ck_assert_int_eq(husk_unary(queue, &HUSK_UNARY_PARAMS(.op = HUSK_UNARY_EXP), &x, &y), HUSK_UNSUPPORTED);
    ck_assert_msg(strstr(husk_queue_error(queue)->text, text) != NULL, "%s", husk_queue_error(queue)->text);
    ck_assert_int_eq(husk_conv(queue, &HUSK_CONV_PARAMS(.pad = {1, 1}), &x, &x, NULL, &y), HUSK_UNSUPPORTED);
    ck_assert_msg(strstr(husk_queue_error(queue)->text, text) != NULL, "%s", husk_queue_error(queue)->text);
    const husk_tensor sequence = husk_tensor_make(buffer, HUSK_F64, 3, (int64_t[]){1, 1, 3});
    const husk_tensor matrix = husk_tensor_make(buffer, HUSK_F64, 2, (int64_t[]){3, 3});
    husk_tensor states = sequence;
    states.offset = 100;
    const husk_rnn_weights weights = {&matrix, &matrix, NULL, NULL};
    ck_assert_int_eq(husk_rnn(queue, &HUSK_RNN_PARAMS(.hidden_size = 3),
                              &HUSK_RNN_INPUTS(.x = &sequence, .weights = &weights), &HUSK_RNN_OUTPUTS(.y = &states)),
                     HUSK_UNSUPPORTED);
    ck_assert_msg(strstr(husk_queue_error(queue)->text, text) != NULL, "%s", husk_queue_error(queue)->text);
    husk_buffer_release(buffer);
    husk_queue_release(queue);
    husk_context_release(context);
    husk_device_list_release(limited);
}
END_TEST

START_TEST(limits_that_make_no_sense_are_said)
{
    const char *const bad[] = {"local_memory",  "lokal=3",         "work_group=",
                               "work_group=-1", "work_group=4X",   "local_memory=99999999999999999999",
                               "work_group=0",  "compute_units=0", "vector_width=5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        husk_device_list *limited = NULL;
        husk_error error = {0};
        int found = 0;
        test_setenv("HUSK_LIMITS", bad[i]);
        test_ok_error(husk_device_list_create(&limited, &error), &error);
        for (size_t n = 0; n < husk_device_list_note_count(limited); n++) {
            husk_note_kind kind;
            const char *text = husk_device_list_note(limited, n, &kind);
            found += kind == HUSK_NOTE_WARNING && strstr(text, "HUSK_LIMITS") != NULL;
        }
        ck_assert_msg(found > 0, "nothing is said about HUSK_LIMITS=%s", bad[i]);
        husk_device_list_release(limited);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device");
    TCase *tests = tcase_create("device");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, traits_make_sense);
    tcase_add_test(tests, preferences_are_granted);
    tcase_add_test(tests, classes_may_be_written_in_capitals);
    tcase_add_test(tests, a_preference_is_never_replaced);
    tcase_add_test(tests, each_of_a_hundred_devices_has_its_place);
    tcase_add_test(tests, the_best_of_a_kind_is_the_default);
    tcase_add_test(tests, the_environment_chooses_where_the_caller_does_not);
    tcase_add_test(tests, null_arguments_are_refused);
    tcase_add_test(tests, a_context_keeps_its_device_when_the_list_goes);
    tcase_add_test(tests, limits_lower_traits_and_never_raise_them);
    tcase_add_test(tests, a_device_without_f64_refuses_it);
    tcase_add_test(tests, limits_that_make_no_sense_are_said);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
