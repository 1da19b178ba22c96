// SPDX-License-Identifier: MIT
#include "support/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/main.h"
#include "support/tensor.h"

#define EXIT_NO_DEVICE 6

static husk_context *context;
static husk_queue *queue, *silent_queue;
static bool is_home, is_unguarded;

static void print_log(void *user, husk_log_level level, const char *text)
{
    (void)user;
    if (level >= HUSK_LOG_WARNING)
        fprintf(stderr, "husk: %s\n", text);
}

// Failing here ends the process: no test can do anything without a device.
static void must(husk_status status, const husk_error *error)
{
    if (status == HUSK_OK)
        return;
    fprintf(stderr, "%s\n", error->text);
    exit(status == HUSK_NO_PLATFORM || status == HUSK_NO_DEVICE ? EXIT_NO_DEVICE : EXIT_FAILURE);
}

// Memory that is used once is there for checkers: valgrind and Oclgrind see more at its end than in a band.
static bool has_checker(void)
{
    const char *limits = getenv("HUSK_LIMITS");
    return limits != NULL && strstr(limits, "pooled_memory=0") != NULL;
}

// The tier long has the memory that users have, which is used again while earlier commands run.
static bool has_guards(void)
{
    return !is_unguarded && !has_checker() && !test_tier_is("long");
}

static void open_device(void)
{
    static husk_error error;
    husk_device_list *list = NULL;
    const husk_device *device = NULL;
    husk_context_params params = HUSK_CONTEXT_PARAMS(.log = print_log);
    husk_queue_params profiling = HUSK_QUEUE_PARAMS(.profiling = 1);
    must(husk_device_list_create(&list, &error), &error);
    must(husk_device_list_select(list, NULL, &device, &error), &error);
    must(husk_context_create(device, &params, &context, &error), &error);
    husk_device_list_release(list);
    must(husk_context_set_guards(context, has_guards() ? HUSK_GUARD_BYTES : 0, &error), &error);
    must(husk_queue_create(context, NULL, &queue, &error), &error);
    must(husk_queue_create(context, &profiling, &silent_queue, &error), &error);
    const husk_device_traits *traits = husk_context_traits(context);
    printf("device %u:%u: %s (%s)\n", traits->platform_index, traits->device_index, traits->name,
           traits->platform_name);
    is_home = traits->device_class == HUSK_DEVICE_CPU && strstr(traits->platform_name, "Portable Computing") != NULL &&
              getenv("HUSK_LIMITS") == NULL;
}

bool test_device_is_home(void)
{
    return is_home;
}

bool test_lacks_panels(const char *variant)
{
    const husk_device_class class = husk_context_traits(test_context())->device_class;
    return (class == HUSK_DEVICE_GPU_DISCRETE || class == HUSK_DEVICE_GPU_INTEGRATED) &&
           (strncmp(variant, "packed", 6) == 0 || strncmp(variant, "implicit_gemm", 13) == 0 ||
            strncmp(variant, "skinny", 6) == 0);
}

void test_finish_device(void)
{
    const uint64_t most = UINT64_C(60000000000);
    husk_queue *const queues[] = {queue, silent_queue};
    for (int i = 0; i < 2; ++i) {
        husk_event *event = NULL;
        if (queues[i] && husk_queue_record(queues[i], &event) == HUSK_OK)
            husk_event_wait(event, most);
        husk_event_release(event);
    }
}

void test_without_guards(void)
{
    is_unguarded = true;
    if (context != NULL)
        husk_context_set_guards(context, 0, NULL);
}

bool test_guards_are_intact(husk_error *error)
{
    return context == NULL || husk_context_check_guards(context, error) == HUSK_OK;
}

void test_close_device(void)
{
    test_release_all();
    husk_queue_release(silent_queue);
    husk_queue_release(queue);
    husk_context_release(context);
    silent_queue = queue = NULL;
    context = NULL;
}

husk_context *test_context(void)
{
    if (context == NULL)
        open_device();
    return context;
}

husk_queue *test_queue(void)
{
    test_context();
    return queue;
}

husk_queue *test_silent_queue(void)
{
    test_context();
    return silent_queue;
}

void test_ok_error(husk_status status, const husk_error *error)
{
    ck_assert_msg(status == HUSK_OK, "%s: %s", husk_status_name(status), error->text);
}

void test_ok(husk_status status)
{
    test_ok_error(status, husk_queue_error(test_queue()));
}

bool test_ran_error(husk_status status, const husk_error *error, const char *op, const char *variant)
{
    if (status == HUSK_UNSUPPORTED && variant != NULL) {
        test_count_refused(op, variant);
        return false;
    }
    ck_assert_msg(status == HUSK_OK, "%s, variant %s: %s: %s", op, variant != NULL ? variant : "(chosen)",
                  husk_status_name(status), error->text);
    return true;
}

bool test_ran(husk_status status, const char *op, const char *variant)
{
    return test_ran_error(status, husk_queue_error(test_queue()), op, variant);
}

void test_refused_error(husk_status status, const husk_error *error, husk_status wanted, const char *argument)
{
    ck_assert_msg(status == wanted, "expected %s naming '%s', got %s: %s", husk_status_name(wanted), argument,
                  husk_status_name(status), status == HUSK_OK ? "" : error->text);
    ck_assert_msg(error->status == wanted, "the error's status is %s, not %s", husk_status_name(error->status),
                  husk_status_name(wanted));
    ck_assert_msg(strstr(error->text, argument) != NULL, "the text does not name '%s': %s", argument, error->text);
}

void test_refused(husk_status status, husk_status wanted, const char *argument)
{
    static husk_error error;
    error = *husk_queue_error(test_silent_queue());
    const husk_profile_record *records = NULL;
    size_t count = 0;
    char name[64] = "";
    // The records go before anything can fail, so that one failure does not make the next.
    husk_status profile = husk_queue_profile(test_silent_queue(), &records, &count);
    if (profile == HUSK_OK && count > 0)
        snprintf(name, sizeof(name), "%s", records[0].name);
    husk_queue_profile_clear(test_silent_queue());
    test_refused_error(status, &error, wanted, argument);
    ck_assert_msg(profile == HUSK_OK, "%s", husk_queue_error(test_silent_queue())->text);
    ck_assert_msg(count == 0, "a refused call enqueued '%s'", name);
}
