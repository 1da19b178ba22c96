// SPDX-License-Identifier: MIT
// ctest: tiers=faults,asan timeout=60 with=../support/faults/fault_layer,../support/faults/swept
// The runtime's own calls, of which every allocation of Husk's and every OpenCL call fails once: devices, contexts,
// queues, events, memory, transfers, profiles. Each failure is a documented status with a text of its own and leaves
// nothing behind; the same call on the same objects, once more, gives what it would have given.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <husk/opencl.h>

#include "support/environment.h"
#include "support/faults/fault_layer.h"
#include "support/faults/swept.h"
#include "support/support.h"
#include "support/wrong_kernels.h"

enum { BYTES = 4096, WORDS = BYTES / 4 };

typedef struct subject {
    husk_device_list *list;
    husk_context *context, *made_context;
    husk_queue *queue, *other;
    husk_event *event;
    husk_buffer *a, *b, *view;
    cl_context cl;
    cl_command_queue cl_queue;
    cl_mem mem;
    int32_t words[WORDS];
    size_t records;
    bool has;
} subject;

static char directory[] = "/tmp/husk-sweep-XXXXXX";

static void make_context(void *user)
{
    subject *s = user;
    husk_error error;
    husk_context_params params = HUSK_CONTEXT_PARAMS(.cache = HUSK_CACHE_OFF);
    memset(s, 0, sizeof *s);
    test_ok_error(husk_context_create(NULL, &params, &s->context, &error), &error);
}

static void make_all(void *user)
{
    subject *s = user;
    husk_error error;
    husk_queue_params profiling = HUSK_QUEUE_PARAMS(.profiling = 1);
    make_context(s);
    test_ok_error(husk_queue_create(s->context, &profiling, &s->queue, &error), &error);
    test_ok_error(husk_queue_create(s->context, NULL, &s->other, &error), &error);
    test_ok_error(husk_buffer_create(s->context, BYTES, &s->a, &error), &error);
    test_ok_error(husk_buffer_create(s->context, BYTES, &s->b, &error), &error);
}

static void release(void *user)
{
    subject *s = user;
    if (s->queue)
        husk_queue_finish(s->queue);
    husk_device_list_release(s->list);
    husk_event_release(s->event);
    husk_buffer_release(s->view);
    husk_buffer_release(s->a);
    husk_buffer_release(s->b);
    husk_queue_release(s->queue);
    husk_queue_release(s->other);
    husk_context_release(s->made_context);
    husk_context_release(s->context);
    if (s->mem)
        clReleaseMemObject(s->mem);
    if (s->cl_queue)
        clReleaseCommandQueue(s->cl_queue);
    if (s->cl)
        clReleaseContext(s->cl);
    memset(s, 0, sizeof *s);
}

#define SWEEP(name, before, run, failed, check) \
    sweep_exactly(&(swept){name, &s, before, run, failed, check, release})

static void expect_words(const subject *s, int32_t wanted, const char *when)
{
    for (int i = 0; i < WORDS; i++)
        ck_assert_msg(s->words[i] == wanted, "%s: word %d is %d", when, i, (int)s->words[i]);
}

static void try_context(husk_context *context, const char *when)
{
    husk_queue *queue;
    husk_buffer *buffer;
    husk_error error;
    int32_t word = 7, seen = 0;
    ck_assert_msg(husk_context_status(context) == HUSK_OK, "%s: the device is lost", when);
    ck_assert_msg(husk_queue_create(context, NULL, &queue, &error) == HUSK_OK, "%s: %s", when, error.text);
    ck_assert_msg(husk_buffer_create(context, 4, &buffer, &error) == HUSK_OK, "%s: %s", when, error.text);
    test_ok(husk_buffer_write(queue, buffer, 0, 4, &word));
    test_ok(husk_buffer_read(queue, buffer, 0, 4, &seen));
    ck_assert_msg(seen == 7, "%s: the context reads %d", when, (int)seen);
    husk_buffer_release(buffer);
    husk_queue_release(queue);
}

// ---- devices ----

static size_t devices, notes;

static husk_status run_list(void *user)
{
    subject *s = user;
    husk_status status = SWEPT(husk_device_list_create, &s->list);
    SWEPT_ASSERT(!status || !s->list);
    return status;
}

// A platform that does not list its devices and a device that does not answer are skipped, and a note says so.
static bool leaves_devices_out(const char *when)
{
    return strstr(when, "clGetDeviceIDs") || strstr(when, "clGetDeviceInfo") || strstr(when, "clGetPlatformInfo");
}

static void check_list(void *user, const char *when)
{
    subject *s = user;
    bool is_known = false;
    for (size_t i = 0; i < husk_device_list_note_count(s->list); i++)
        is_known = is_known || (strstr(husk_device_list_note(s->list, i, NULL), "(CL_") &&
                                !strstr(husk_device_list_note(s->list, i, NULL), "CL_SUCCESS"));
    if (is_known && leaves_devices_out(when))
        return;
    if (!devices) {
        devices = husk_device_list_count(s->list);
        notes = husk_device_list_note_count(s->list);
    }
    ck_assert_msg(husk_device_list_count(s->list) == devices, "%s: other devices", when);
    ck_assert_msg(husk_device_list_note_count(s->list) == notes, "%s: other notes", when);
    for (size_t i = 0; i < devices; i++) {
        const husk_device_traits *traits = husk_device_get_traits(husk_device_list_get(s->list, i));
        ck_assert_msg(traits->name[0] && traits->work_group <= 32, "%s: the device %s has groups of %llu", when,
                      traits->name, (unsigned long long)traits->work_group);
    }
}

// ---- contexts ----

static husk_status create_context(void *user)
{
    subject *s = user;
    husk_context_params params = HUSK_CONTEXT_PARAMS(.cache = HUSK_CACHE_ON, .cache_directory = directory);
    const husk_device *device = husk_device_list_get(s->list, 0);
    husk_status status = SWEPT(husk_context_create, device, &params, &s->made_context);
    SWEPT_ASSERT(!status || !s->made_context);
    // What the list would have said, for which the context asks.
    static const char choice[] = "husk_context_create: husk_device_list_select: ";
    if (status == HUSK_NO_DEVICE && !device && strncmp(swept_error.text, choice, sizeof choice - 1) == 0 &&
        strstr(swept_error.text, "(CL_"))
        return HUSK_OK; // as check_context expects
    return status;
}

static void make_list(void *user)
{
    subject *s = user;
    husk_error error;
    test_ok_error(husk_device_list_create(&s->list, &error), &error);
}

static void make_cl(void *user)
{
    subject *s = user;
    cl_int code;
    make_context(s);
    s->cl = husk_context_opencl(s->context);
    clRetainContext(s->cl);
    s->cl_queue = clCreateCommandQueue(s->cl, husk_context_opencl_device(s->context), 0, &code);
    s->mem = clCreateBuffer(s->cl, CL_MEM_READ_WRITE, BYTES, NULL, &code);
    ck_assert(s->cl_queue && s->mem);
}

static husk_status wrap_context(void *user)
{
    subject *s = user;
    husk_context_params params = HUSK_CONTEXT_PARAMS(.cache = HUSK_CACHE_OFF);
    husk_status status =
        SWEPT(husk_context_from_opencl, s->cl, husk_context_opencl_device(s->context), &params, &s->made_context);
    SWEPT_ASSERT(!status || !s->made_context);
    return status;
}

static void make_cl_part(void *user)
{
    subject *s = user;
    cl_int code;
    make_cl(s);
    const cl_buffer_region region = {BYTES, BYTES};
    clReleaseMemObject(s->mem);
    const cl_mem twice = clCreateBuffer(s->cl, CL_MEM_READ_WRITE, 2 * (size_t)BYTES, NULL, &code);
    s->mem = clCreateSubBuffer(twice, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    ck_assert(s->mem);
    clReleaseMemObject(twice);
}

static void check_context(void *user, const char *when)
{
    subject *s = user;
    if (!s->made_context && leaves_devices_out(when))
        return;
    ck_assert_msg(s->made_context != NULL, "%s: there is no context", when);
    const husk_device_traits *traits = husk_context_traits(s->made_context);
    ck_assert_msg(traits->work_group <= 32, "%s: groups of %llu", when, (unsigned long long)traits->work_group);
    try_context(s->made_context, when);
}

START_TEST(contexts)
{
    subject s = {0};
    ck_assert_ptr_nonnull(mkdtemp(strcpy(directory, "/tmp/husk-sweep-XXXXXX")));
    test_setenv("HUSK_LIMITS", "work_group=32");
    sweep_begin();
    SWEEP("devices", NULL, run_list, NULL, check_list);
    SWEEP("context", make_list, create_context, NULL, check_context);
    SWEEP("context of the default device", NULL, create_context, NULL, check_context);
    SWEEP("context around OpenCL's", make_cl, wrap_context, NULL, check_context);
    sweep_end();
    test_restore_environment();
    rmdir(directory);
}
END_TEST

// ---- queues and buffers ----

static husk_status create_queue(void *user)
{
    subject *s = user;
    husk_queue_params profiling = HUSK_QUEUE_PARAMS(.profiling = 1);
    husk_status status = SWEPT(husk_queue_create, s->context, &profiling, &s->queue);
    SWEPT_ASSERT(!status || !s->queue);
    return status;
}

static husk_status wrap_queue(void *user)
{
    subject *s = user;
    husk_status status = SWEPT(husk_queue_from_opencl, s->context, s->cl_queue, &s->queue);
    SWEPT_ASSERT(!status || !s->queue);
    return status;
}

static void check_queue(void *user, const char *when)
{
    subject *s = user;
    ck_assert_msg(husk_queue_finish(s->queue) == HUSK_OK, "%s: %s", when, husk_queue_error(s->queue)->text);
    try_context(s->context, when);
}

static husk_status create_buffer(void *user)
{
    subject *s = user;
    husk_status status = SWEPT(husk_buffer_create, s->context, BYTES, &s->a);
    SWEPT_ASSERT(!status || !s->a);
    return status;
}

static husk_status wrap_buffer(void *user)
{
    subject *s = user;
    husk_status status = SWEPT(husk_buffer_from_opencl, s->context, s->mem, &s->a);
    SWEPT_ASSERT(!status || !s->a);
    return status;
}

static husk_status view_buffer(void *user)
{
    subject *s = user;
    husk_status status = SWEPT(husk_buffer_view, s->a, 16, 64, &s->view);
    SWEPT_ASSERT(!status || !s->view);
    return status;
}

static void check_buffer(void *user, const char *when)
{
    subject *s = user;
    husk_memory_stats stats;
    husk_context_memory_stats(s->context, &stats);
    ck_assert_msg(husk_buffer_size(s->a) == BYTES, "%s: another size", when);
    ck_assert_msg(stats.live_bytes <= 2 * BYTES, "%s: %llu bytes are alive", when,
                  (unsigned long long)stats.live_bytes);
    if (s->view)
        ck_assert_msg(husk_buffer_opencl_offset(s->view) == 16 && husk_buffer_size(s->view) == 64, "%s: the view",
                      when);
    try_context(s->context, when);
}

static void make_guarded(void *user)
{
    subject *s = user;
    husk_error error;
    make_context(s);
    test_ok_error(husk_context_set_guards(s->context, HUSK_GUARD_BYTES, &error), &error);
    test_ok_error(husk_buffer_create(s->context, BYTES, &s->a, &error), &error);
}

static husk_status look_at_guards(void *user)
{
    subject *s = user;
    husk_status status = HUSK_OK;
    if (!s->b)
        status = SWEPT(husk_buffer_create, s->context, BYTES, &s->b);
    SWEPT_ASSERT(!status || !s->b);
    if (!status)
        status = SWEPT(husk_buffer_check_guards, s->b);
    return status ? status : SWEPT(husk_context_check_guards, s->context);
}

static void check_guarded(void *user, const char *when)
{
    subject *s = user;
    ck_assert_msg(husk_buffer_opencl_offset(s->b) == HUSK_GUARD_BYTES, "%s: it has no guards", when);
    try_context(s->context, when);
}

START_TEST(queues_and_buffers)
{
    subject s = {0};
    sweep_begin();
    SWEEP("queue", make_context, create_queue, NULL, check_queue);
    SWEEP("queue around OpenCL's", make_cl, wrap_queue, NULL, check_queue);
    SWEEP("buffer", make_context, create_buffer, NULL, check_buffer);
    SWEEP("buffer around OpenCL's", make_cl, wrap_buffer, NULL, check_buffer);
    SWEEP("buffer around a part of OpenCL's", make_cl_part, wrap_buffer, NULL, check_buffer);
    SWEEP("view", make_all, view_buffer, NULL, check_buffer);
    SWEEP("guard bands", make_guarded, look_at_guards, NULL, check_guarded);
    sweep_end();
}
END_TEST

// ---- transfers ----

static const int32_t forty = 40;

static husk_status run_transfers(void *user)
{
    subject *s = user;
    int32_t words[WORDS];
    void *mapped = NULL;
    for (int i = 0; i < WORDS; i++)
        words[i] = 42;
    husk_status status = SWEPT_QUEUE(husk_buffer_fill, s->queue, s->a, 0, BYTES, &forty, 4);
    if (!status)
        status = SWEPT_QUEUE(husk_buffer_write, s->queue, s->b, 0, BYTES, words);
    if (!status)
        status = SWEPT_QUEUE(husk_buffer_copy, s->queue, s->b, 0, s->a, 0, BYTES / 2);
    if (!status)
        status = SWEPT_QUEUE(husk_buffer_write_async, s->queue, s->a, BYTES / 2, BYTES / 2, words);
    if (!status)
        status = SWEPT_QUEUE(husk_buffer_map, s->queue, s->a, HUSK_MAP_WRITE, 0, 4, &mapped);
    if (!status) {
        *(int32_t *)mapped = 42;
        status = SWEPT_QUEUE(husk_buffer_unmap, s->queue, s->a, mapped);
    }
    if (!status)
        status = SWEPT_QUEUE(husk_buffer_read, s->queue, s->a, 0, BYTES / 2, s->words);
    if (!status)
        status = SWEPT_QUEUE(husk_buffer_read_async, s->queue, s->a, BYTES / 2, BYTES / 2, s->words + WORDS / 2);
    swept_call = status ? swept_call : "husk_queue_flush";
    if (!status)
        status = swept_of_queue(s->queue, husk_queue_flush(s->queue));
    swept_call = status ? swept_call : "husk_queue_finish";
    if (!status)
        status = swept_of_queue(s->queue, husk_queue_finish(s->queue));
    return status;
}

static void clear_words(void *user, const char *when)
{
    subject *s = user;
    ck_assert_msg(husk_queue_finish(s->queue) == HUSK_OK, "%s: %s", when, husk_queue_error(s->queue)->text);
    ck_assert_msg(husk_context_status(s->context) == HUSK_OK, "%s: the device is lost", when);
    memset(s->words, 0, sizeof s->words);
}

static void check_words(void *user, const char *when)
{
    expect_words(user, 42, when);
}

// ---- events and profiles ----

static husk_status run_events(void *user)
{
    subject *s = user;
    const int32_t word = 42;
    husk_event_release(s->event);
    s->event = NULL;
    husk_status status = SWEPT_QUEUE(husk_buffer_fill, s->queue, s->a, 0, BYTES, &word, 4);
    if (!status)
        status = SWEPT_QUEUE(husk_queue_record, s->queue, &s->event);
    if (!status)
        status = SWEPT_QUEUE(husk_queue_wait, s->other, s->event);
    if (!status)
        status = SWEPT_QUEUE(husk_buffer_read, s->other, s->a, 0, BYTES, s->words);
    return status;
}

static husk_status run_profile(void *user)
{
    subject *s = user;
    const husk_profile_record *records;
    char path[64];
    snprintf(path, sizeof path, "%s/trace.json", directory);
    husk_status status = SWEPT_QUEUE(husk_queue_profile, s->queue, &records, &s->records);
    if (!status)
        status = SWEPT_QUEUE(husk_queue_profile_export, s->queue, path);
    return status;
}

static void make_profile(void *user)
{
    subject *s = user;
    make_all(s);
    for (int i = 0; i < 8; i++)
        test_ok(husk_buffer_fill(s->queue, s->a, 0, BYTES, &forty, 4));
}

static void check_profile(void *user, const char *when)
{
    subject *s = user;
    char path[64];
    ck_assert_msg(s->records == 8, "%s: %zu records", when, s->records);
    snprintf(path, sizeof path, "%s/trace.json", directory);
    ck_assert_msg(unlink(path) == 0, "%s: there is no trace", when);
}

START_TEST(transfers_events_and_profiles)
{
    subject s = {0};
    ck_assert_ptr_nonnull(mkdtemp(strcpy(directory, "/tmp/husk-sweep-XXXXXX")));
    sweep_begin();
    SWEEP("transfers", make_all, run_transfers, clear_words, check_words);
    SWEEP("events", make_all, run_events, clear_words, check_words);
    SWEEP("profile", make_profile, run_profile, NULL, check_profile);
    sweep_end();
    rmdir(directory);
}
END_TEST

// ---- features: no is an answer for want of memory, until the next question ----

static husk_feature feature;

static husk_status ask_feature(void *user)
{
    subject *s = user;
    swept_call = "husk_context_has";
    s->has = husk_context_has(s->context, feature);
    return HUSK_OK;
}

static void check_feature(void *user, const char *when)
{
    subject *s = user;
    const bool has = husk_context_has(s->context, feature);
    ck_assert_msg(has, "%s: %s is answered with no", when, husk_feature_name(feature));
}

START_TEST(features)
{
    subject s = {0};
    sweep_begin();
    feature = HUSK_FEATURE_FMA;
    SWEEP("feature", make_context, ask_feature, NULL, check_feature);
    sweep_end();
}
END_TEST

// ---- quirks: no answer, until the next question ----

static husk_status ask_quirk(void *user)
{
    subject *s = user;
    return SWEPT(husk_context_quirk, s->context, HUSK_QUIRK_LOCAL_LOAD, &s->has);
}

static void check_quirk(void *user, const char *when)
{
    subject *s = user;
    ck_assert_msg(husk_context_has_quirk(s->context, HUSK_QUIRK_LOCAL_LOAD), "%s: the quirk is forgotten", when);
}

START_TEST(quirks)
{
    char kernels[] = "/tmp/husk-quirks-XXXXXX";
    subject s = {0};
    test_copy_kernels(kernels);
    test_plant(kernels, "runtime/quirks.cl", "= first;", "= scratch[63 - item];");
    test_setenv("HUSK_KERNEL_DIR", kernels);
    sweep_begin();
    SWEEP("quirk", make_context, ask_quirk, NULL, check_quirk);
    sweep_end();
    test_restore_environment();
    test_remove_kernels(kernels);
}
END_TEST

// ---- threads: bound by a call that says so ----

static husk_status bind_threads(void *user)
{
    subject *s = user;
    husk_status status = SWEPT(husk_context_bind_threads, s->context, NULL, 0);
    return status ? status : SWEPT(husk_context_threads_bound, s->context, &s->has);
}

static void check_threads(void *user, const char *when)
{
    subject *s = user;
    ck_assert_msg(s->has, "%s: the threads are not bound", when);
}

START_TEST(threads)
{
    subject s = {0};
    husk_error error;
    ck_assert_ptr_nonnull(mkdtemp(strcpy(directory, "/tmp/husk-sweep-XXXXXX")));
    test_setenv("XDG_CACHE_HOME", directory); // no other process is asked
    sweep_begin();
    if (husk_context_bind_threads(test_context(), NULL, 0, &error) == HUSK_OK)
        SWEEP("threads", make_context, bind_threads, NULL, check_threads);
    else
        printf("threads: %s\n", error.text);
    sweep_end();
    test_restore_environment();
    test_remove_kernels(directory);
}
END_TEST

START_TEST(enough_was_planted)
{
    sweep_report("runtime", sweep_has_all() ? 900 : 300);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("call_sweep");
    TCase *tests = tcase_create("calls");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, contexts);
    tcase_add_test(tests, queues_and_buffers);
    tcase_add_test(tests, transfers_events_and_profiles);
    tcase_add_test(tests, features);
    tcase_add_test(tests, quirks);
    tcase_add_test(tests, threads);
    tcase_add_test(tests, enough_was_planted);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
