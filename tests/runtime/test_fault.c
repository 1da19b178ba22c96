// SPDX-License-Identifier: MIT
// ctest: with=../support/faults/fault_layer
// The nth OpenCL call fails, for every n: the failure is answered, nothing crashes, nothing leaks (asan's tier
// sees to that), and what is left works. And a device that stops answering is lost for good.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/call.h"
#include "runtime/launch.h"
#include "support/environment.h"
#include "support/faults/fault_layer.h"
#include "support/support.h"

static char directory[] = "/tmp/husk-fault-XXXXXX";

static void setup(void)
{
    char path[128];
    strcpy(directory + sizeof directory - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/test_fault.cl", directory);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs("__kernel void husk_test_fault(__global int *x, long offset) { x[offset] += 1; }\n", file);
    fclose(file);
    test_setenv("HUSK_KERNEL_DIR", directory);
}

static void teardown(void)
{
    char command[200];
    fault_plan(0, 0, false);
    test_restore_environment();
    snprintf(command, sizeof command, "rm -rf %s", directory);
    ck_assert_int_eq(system(command), 0);
}

typedef struct run {
    husk_context *context;
    husk_queue *queue;
    husk_event *event;
    husk_buffer *a, *b;
    husk_error error;
    void *mapped;
    int32_t seen;
} run;

/* A bit of everything. Stops at the first failure. */
static husk_status work(run *r)
{
    husk__scope scope = {"husk_test", &r->error};
    const husk__kernel *kernel = NULL;
    const husk__range range = {{1, 1, 1}, {1, 1, 1}};
    const int32_t word = 40;
    husk_queue_params profiling = HUSK_QUEUE_PARAMS(.profiling = 1);
    husk_context_params params = HUSK_CONTEXT_PARAMS(.cache = HUSK_CACHE_ON, .cache_directory = directory);
    husk_status status = husk_context_create(NULL, &params, &r->context, &r->error);
    if (!status)
        status = husk_queue_create(r->context, &profiling, &r->queue, &r->error);
    if (!status)
        status = husk_buffer_create(r->context, 4096, &r->a, &r->error);
    if (!status)
        status = husk_buffer_create(r->context, 8192, &r->b, &r->error);
    if (!status)
        status = husk_buffer_fill(r->queue, r->a, 0, 4096, &word, 4);
    if (!status)
        status = husk__kernel_get(r->context, "test_fault.cl", "", "husk_test_fault", &kernel, &scope);
    if (!status)
        status = HUSK__LAUNCH(r->queue, kernel, &range, &scope, HUSK__ARG_BUFFER(r->a, 0, 4));
    if (!status)
        status = husk_buffer_copy(r->queue, r->a, 0, r->b, 0, 4096);
    if (!status)
        status = husk_buffer_write_async(r->queue, r->a, 0, 4, &word);
    if (!status)
        status = husk_queue_record(r->queue, &r->event);
    if (!status)
        status = husk_queue_wait(r->queue, r->event);
    if (!status)
        status = husk_event_wait(r->event, UINT64_C(60000000000));
    if (!status)
        status = husk_buffer_map(r->queue, r->b, HUSK_MAP_WRITE, 0, 4, &r->mapped);
    if (!status) {
        *(int32_t *)r->mapped += 1;
        status = husk_buffer_unmap(r->queue, r->b, r->mapped);
        r->mapped = status ? r->mapped : NULL;
    }
    if (!status)
        status = husk_buffer_read(r->queue, r->b, 0, 4, &r->seen);
    if (!status)
        status = husk_queue_finish(r->queue);
    return status;
}

static void close_run(run *r)
{
    if (r->mapped) /* the same call, made again */
        ck_assert_int_eq(husk_buffer_unmap(r->queue, r->b, r->mapped), HUSK_OK);
    husk_event_release(r->event);
    husk_buffer_release(r->a);
    husk_buffer_release(r->b);
    husk_queue_release(r->queue);
    husk_context_release(r->context);
    ck_assert_int_eq(fault_objects(), 0);
}

static bool same_name(const char *text, const char *name)
{
    return text && name && strstr(text, name) != NULL;
}

START_TEST(every_call_may_fail_once)
{
    const cl_int codes[] = {CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_RESOURCES, CL_MEM_OBJECT_ALLOCATION_FAILURE,
                            CL_INVALID_VALUE};
    long failures = 0, survived = 0;
    for (size_t c = 0; c < sizeof codes / sizeof *codes; c++)
        for (long number = 1;; number++) {
            run r = {0};
            fault_plan(number, codes[c], false);
            const husk_status status = work(&r);
            const bool reached = fault_calls() >= number;
            const char *name = fault_name();
            fault_plan(0, 0, false);
            if (status != HUSK_OK) {
                const husk_error *queue_error = r.queue ? husk_queue_error(r.queue) : NULL;
                /* a wait on an event has a status alone; what a driver takes for no value is no mapping of ours */
                const bool is_wait = r.event && same_name(name, "clGetEventInfo");
                const bool is_refused = r.mapped && codes[c] == CL_INVALID_VALUE;
                ck_assert_msg(r.error.status == status || (queue_error && queue_error->status == status) || is_wait,
                              "%s failed, and no text says so", name);
                ck_assert_msg(!r.event || is_wait || is_refused || same_name(queue_error->text, name),
                              "%s failed, and is told as: %s", name, queue_error->text);
                failures++;
            } else {
                /* what does not need to fail may go on, but then everything has to be right */
                ck_assert_int_eq(r.seen, 42);
                survived += reached;
            }
            if (status != HUSK_OK && r.context)
                ck_assert_msg(husk_context_status(r.context) == HUSK_OK, "%s failed once, and the device is lost: %s",
                              name, r.error.text);
            close_run(&r);
            if (!reached)
                break;
            ck_assert_int_lt(number, 1000);
        }
    printf("%ld failures answered, %ld survived\n", failures, survived);
    ck_assert_int_gt(failures, 60);
}
END_TEST

START_TEST(the_text_names_the_call_and_its_error)
{
    run r = {0};
    for (long number = 1; number < 100; number++) {
        memset(&r, 0, sizeof r);
        fault_plan(number, CL_INVALID_VALUE, false);
        const husk_status status = work(&r);
        const char *name = fault_name();
        if (status == HUSK_OPENCL && same_name(name, "clEnqueueFillBuffer")) {
            const husk_error *error = husk_queue_error(r.queue);
            ck_assert_ptr_nonnull(strstr(error->text, "husk_buffer_fill"));
            ck_assert_ptr_nonnull(strstr(error->text, "clEnqueueFillBuffer"));
            ck_assert_ptr_nonnull(strstr(error->text, "CL_INVALID_VALUE"));
            ck_assert_int_eq(error->opencl_code, CL_INVALID_VALUE);
            close_run(&r);
            return;
        }
        close_run(&r);
    }
    ck_abort_msg("the fill was never made to fail");
}
END_TEST

/* From a certain call on nothing works any more, not even the library's own trial. */
START_TEST(a_device_that_stops_answering_is_lost)
{
    run r = {0};
    husk_buffer *buffer = NULL;
    husk_error error = {0};
    const int32_t word = 1;
    fault_plan(0, 0, false);
    ck_assert_int_eq(work(&r), HUSK_OK);
    ck_assert_int_gt(fault_objects(), 4); /* the count counts */
    fault_plan(1, CL_OUT_OF_RESOURCES, true);
    ck_assert_int_eq(husk_buffer_write(r.queue, r.a, 0, 4, &word), HUSK_DEVICE_LOST);
    ck_assert_ptr_nonnull(strstr(husk_queue_error(r.queue)->text, "the device was lost"));
    ck_assert_ptr_nonnull(strstr(husk_queue_error(r.queue)->text, "CL_OUT_OF_RESOURCES"));
    fault_plan(0, 0, false);
    /* for good, at once, and in every call */
    const long before = fault_calls();
    ck_assert_int_eq(husk_context_status(r.context), HUSK_DEVICE_LOST);
    ck_assert_int_eq(husk_buffer_write(r.queue, r.a, 0, 4, &word), HUSK_DEVICE_LOST);
    ck_assert_ptr_nonnull(strstr(husk_queue_error(r.queue)->text, "CL_OUT_OF_RESOURCES"));
    ck_assert_int_eq(husk_queue_finish(r.queue), HUSK_DEVICE_LOST);
    ck_assert_int_eq(husk_queue_flush(r.queue), HUSK_DEVICE_LOST);
    ck_assert_int_eq(husk_event_wait(r.event, 0), HUSK_DEVICE_LOST);
    ck_assert_int_eq(husk_buffer_create(r.context, 64, &buffer, &error), HUSK_DEVICE_LOST);
    ck_assert_int_eq(husk_context_prewarm(r.context, NULL, 0, &error), HUSK_DEVICE_LOST);
    ck_assert_ptr_nonnull(strstr(error.text, "create another"));
    ck_assert_int_eq(fault_calls(), before);
    close_run(&r);
    /* another context on the same device works */
    run again = {0};
    ck_assert_int_eq(work(&again), HUSK_OK);
    close_run(&again);
}
END_TEST

/* A command that ended with an error is no lost device, where that goes on computing. */
START_TEST(a_command_that_fails_ends_no_context)
{
    run r = {0};
    husk_event *event = NULL;
    const int32_t word = 7;
    fault_plan(0, 0, false);
    ck_assert_int_eq(work(&r), HUSK_OK);
    ck_assert_int_eq(husk_queue_record(r.queue, &event), HUSK_OK);
    fault_plan(1, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, false);
    ck_assert_int_eq(husk_event_wait(event, HUSK_FOREVER), HUSK_OPENCL);
    ck_assert_str_eq(fault_name(), "clWaitForEvents");
    fault_plan(0, 0, false);
    ck_assert_int_eq(husk_context_status(r.context), HUSK_OK);
    ck_assert_int_eq(husk_buffer_write(r.queue, r.a, 0, 4, &word), HUSK_OK);
    ck_assert_int_eq(husk_buffer_read(r.queue, r.a, 0, 4, &r.seen), HUSK_OK);
    ck_assert_int_eq(r.seen, word);
    /* and one that is */
    fault_plan(1, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, true);
    ck_assert_int_eq(husk_event_wait(event, HUSK_FOREVER), HUSK_DEVICE_LOST);
    fault_plan(0, 0, false);
    ck_assert_int_eq(husk_context_status(r.context), HUSK_DEVICE_LOST);
    husk_event_release(event);
    close_run(&r);
}
END_TEST

/* The same for who never waits without a limit: by the event's status, and by the question about it. */
START_TEST(a_wait_with_a_limit_sees_how_it_ended)
{
    run r = {0};
    fault_plan(0, 0, false);
    ck_assert_int_eq(work(&r), HUSK_OK);
    fault_end_event(CL_OUT_OF_RESOURCES);
    ck_assert_int_eq(husk_event_wait(r.event, 1), HUSK_OPENCL);
    ck_assert_int_eq(husk_context_status(r.context), HUSK_OK);
    ck_assert_int_eq(husk_event_wait(r.event, 1), HUSK_OK);
    fault_plan(1, CL_OUT_OF_RESOURCES, false);
    ck_assert_int_eq(husk_event_wait(r.event, 1), HUSK_OPENCL);
    ck_assert_str_eq(fault_name(), "clGetEventInfo");
    ck_assert_int_eq(husk_context_status(r.context), HUSK_OK);
    fault_plan(1, CL_OUT_OF_RESOURCES, true);
    ck_assert_int_eq(husk_event_wait(r.event, 1), HUSK_DEVICE_LOST);
    fault_plan(0, 0, false);
    ck_assert_int_eq(husk_context_status(r.context), HUSK_DEVICE_LOST);
    close_run(&r);
}
END_TEST

static husk_status get_kernel(husk_context *context, husk_error *error)
{
    const husk__scope scope = {"husk_test", error};
    const husk__kernel *kernel = NULL;
    return husk__kernel_get(context, "test_fault.cl", "", "husk_test_fault", &kernel, &scope);
}

/* What comes of a kernel whose first build fails so, and for_good every call after it. */
static husk_status fail_a_build(cl_int code, bool for_good, husk_context **context, husk_error *error)
{
    husk_context_params params = HUSK_CONTEXT_PARAMS(.cache = HUSK_CACHE_OFF);
    for (long number = 1;; number++) {
        ck_assert_int_lt(number, 100);
        *error = (husk_error){0};
        test_ok_error(husk_context_create(NULL, &params, context, error), error);
        fault_plan(number, code, for_good);
        const husk_status status = get_kernel(*context, error);
        const bool is_build = same_name(fault_name(), "clBuildProgram");
        fault_plan(0, 0, false);
        if (is_build)
            return status;
        husk_context_release(*context);
    }
}

/* A compiler's refusal is one by whatever name: the program is not built at every call. */
START_TEST(a_refusal_by_another_name_is_remembered)
{
    const cl_int codes[] = {CL_INVALID_BINARY, -9999};
    for (size_t c = 0; c < sizeof codes / sizeof *codes; c++) {
        husk_context *context;
        husk_error error;
        ck_assert_int_eq(fail_a_build(codes[c], false, &context, &error), HUSK_BUILD_FAILED);
        ck_assert_int_eq(get_kernel(context, &error), HUSK_BUILD_FAILED);
        ck_assert_int_eq(fault_calls(), 0);
        husk_context_release(context);
    }
}
END_TEST

/* PoCL's cache makes builds fail where processes meet, of which its compiler knows nothing: the next one succeeds. */
START_TEST(a_build_that_no_compiler_has_refused_is_made_again)
{
    husk_context *context;
    husk_error error;
    husk_program_stats stats;
    const husk_status status = fail_a_build(CL_BUILD_PROGRAM_FAILURE, false, &context, &error);
    const char *platform = husk_context_traits(context)->platform_name;
    const husk_status wanted = strstr(platform, "Portable Computing Language") ? HUSK_OK : HUSK_BUILD_FAILED;
    ck_assert_int_eq(status, wanted);
    ck_assert_int_eq(get_kernel(context, &error), wanted);
    husk_context_program_stats(context, &stats);
    ck_assert_uint_eq(stats.builds, 1);
    husk_context_release(context);
}
END_TEST

/* Other processes may be at it for longer than is waited for: that is not the kernel's fault either. */
START_TEST(nor_is_it_remembered_however_often_it_fails)
{
    enum { ATTEMPTS = 5 };
    husk_context *context;
    husk_error error = {0};
    husk_context_params params = HUSK_CONTEXT_PARAMS(.cache = HUSK_CACHE_OFF);
    test_ok_error(husk_context_create(NULL, &params, &context, &error), &error);
    if (strstr(husk_context_traits(context)->platform_name, "Portable Computing Language")) {
        fault_fail("clBuildProgram", ATTEMPTS, CL_BUILD_PROGRAM_FAILURE);
        ck_assert_int_eq(get_kernel(context, &error), HUSK_OPENCL);
        ck_assert_int_eq(error.opencl_code, CL_BUILD_PROGRAM_FAILURE);
        test_ok_error(get_kernel(context, &error), &error);
    }
    husk_context_release(context);
}
END_TEST

/* What is no compiler's word may pass: its status is that of any other call. */
START_TEST(a_build_for_which_there_is_no_memory_is_made_again)
{
    const struct {
        cl_int code;
        husk_status status;
    } failures[] = {{CL_MEM_OBJECT_ALLOCATION_FAILURE, HUSK_OUT_OF_MEMORY},
                    {CL_OUT_OF_HOST_MEMORY, HUSK_OUT_OF_HOST_MEMORY},
                    {CL_INVALID_VALUE, HUSK_OPENCL}};
    for (size_t f = 0; f < sizeof failures / sizeof *failures; f++) {
        husk_context *context;
        husk_error error;
        ck_assert_int_eq(fail_a_build(failures[f].code, false, &context, &error), failures[f].status);
        ck_assert_int_eq(error.opencl_code, failures[f].code);
        ck_assert_ptr_nonnull(strstr(error.text, "husk_test: clBuildProgram answered"));
        test_ok_error(get_kernel(context, &error), &error);
        husk_context_release(context);
    }
}
END_TEST

/* What a driver may say of a kernel that is too large for the device: others are tried, and this one once more. */
START_TEST(a_build_for_which_resources_do_not_suffice_is_a_refusal)
{
    husk_context *context;
    husk_error error;
    ck_assert_int_eq(fail_a_build(CL_OUT_OF_RESOURCES, false, &context, &error), HUSK_BUILD_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "does not build"));
    test_ok_error(get_kernel(context, &error), &error);
    husk_context_release(context);
}
END_TEST

START_TEST(a_device_that_is_lost_while_it_builds_is_lost)
{
    const cl_int codes[] = {CL_DEVICE_NOT_AVAILABLE, CL_INVALID_CONTEXT, CL_OUT_OF_RESOURCES};
    for (size_t c = 0; c < sizeof codes / sizeof *codes; c++) {
        husk_context *context;
        husk_error error;
        ck_assert_int_eq(fail_a_build(codes[c], true, &context, &error), HUSK_DEVICE_LOST);
        ck_assert_ptr_nonnull(strstr(error.text, "clBuildProgram"));
        ck_assert_int_eq(husk_context_status(context), HUSK_DEVICE_LOST);
        husk_context_release(context);
    }
}
END_TEST

/* Drivers that make memory at a buffer's first use say so late, when there is none: what the pool keeps is theirs. */
START_TEST(memory_that_is_missed_by_a_command_is_taken_from_the_pool)
{
    run r = {0};
    husk_buffer *kept = NULL;
    husk_memory_stats stats;
    const int32_t word = 7;
    fault_plan(0, 0, false);
    ck_assert_int_eq(work(&r), HUSK_OK);
    test_ok_error(husk_buffer_create(r.context, 1 << 20, &kept, &r.error), &r.error);
    husk_buffer_release(kept);
    fault_plan(1, CL_MEM_OBJECT_ALLOCATION_FAILURE, false);
    ck_assert_int_eq(husk_buffer_write(r.queue, r.a, 0, 4, &word), HUSK_OK);
    ck_assert_str_eq(fault_name(), "clEnqueueWriteBuffer");
    husk_context_memory_stats(r.context, &stats);
    ck_assert_uint_eq(stats.cached_bytes, 0);
    ck_assert_int_eq(husk_buffer_read(r.queue, r.a, 0, 4, &r.seen), HUSK_OK);
    ck_assert_int_eq(r.seen, word);
    /* which has nothing left */
    fault_plan(1, CL_MEM_OBJECT_ALLOCATION_FAILURE, false);
    ck_assert_int_eq(husk_buffer_write(r.queue, r.a, 0, 4, &word), HUSK_OUT_OF_MEMORY);
    fault_plan(0, 0, false);
    close_run(&r);
}
END_TEST

/* Some drivers say CL_OUT_OF_RESOURCES for memory: what the pool keeps goes before the device is asked about. */
START_TEST(memory_that_is_missed_by_a_buffer_is_taken_from_the_pool)
{
    const cl_int codes[] = {CL_OUT_OF_RESOURCES, CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY};
    run r = {0};
    husk_buffer *kept = NULL, *made = NULL;
    husk_memory_stats stats;
    husk_error error = {0};
    fault_plan(0, 0, false);
    ck_assert_int_eq(work(&r), HUSK_OK);
    for (size_t c = 0; c < sizeof codes / sizeof *codes; c++) {
        test_ok_error(husk_buffer_create(r.context, 1 << 16, &kept, &error), &error);
        husk_buffer_release(kept);
        fault_plan(1, codes[c], false);
        test_ok_error(husk_buffer_create(r.context, 1 << 17, &made, &error), &error);
        ck_assert_str_eq(fault_name(), "clCreateBuffer");
        ck_assert_int_eq(fault_calls(), 2);
        ck_assert_str_eq(error.text, "");
        husk_context_memory_stats(r.context, &stats);
        ck_assert_uint_eq(stats.cached_bytes, 0);
        husk_buffer_release(made);
        husk_context_trim(r.context, 0);
    }
    close_run(&r);
}
END_TEST

START_TEST(memory_that_is_missed_by_staging_is_taken_from_the_pool)
{
    run r = {0};
    husk_buffer *kept = NULL;
    bool reached = true;
    static int32_t words[1024] = {9};
    for (long number = 1; reached; number++) {
        r = (run){0};
        fault_plan(0, 0, false);
        ck_assert_int_eq(work(&r), HUSK_OK);
        test_ok_error(husk_buffer_create(r.context, 1 << 20, &kept, &r.error), &r.error);
        husk_queue *fresh = NULL; // which has no staging memory yet
        test_ok_error(husk_queue_create(r.context, NULL, &fresh, &r.error), &r.error);
        husk_buffer_release(kept);
        fault_plan(number, CL_MEM_OBJECT_ALLOCATION_FAILURE, false);
        const husk_status status = husk_buffer_write_async(fresh, r.a, 0, sizeof r.seen, words);
        const char *name = fault_name();
        reached = name && strcmp(name, "clEnqueueWriteBuffer") != 0 && strcmp(name, "clEnqueueCopyBuffer") != 0;
        if (name && (strcmp(name, "clCreateBuffer") == 0 || strcmp(name, "clEnqueueMapBuffer") == 0))
            ck_assert_msg(status == HUSK_OK, "%s: %s", name, husk_queue_error(fresh)->text);
        fault_plan(0, 0, false);
        husk_queue_release(fresh);
        close_run(&r);
        ck_assert_int_lt(number, 20);
    }
}
END_TEST

/* Profiling is the application's own there: Husk keeps what it has been asked for. */
START_TEST(a_wrapped_queue_keeps_no_event_unasked)
{
    enum { FILLS = 1000 };
    run r = {0};
    cl_int code;
    const husk_profile_record *records = NULL;
    size_t count = 0;
    const int32_t word = 1;
    test_ok_error(husk_context_create(NULL, NULL, &r.context, &r.error), &r.error);
    cl_command_queue cl = clCreateCommandQueue(husk_context_opencl(r.context), husk_context_opencl_device(r.context),
                                               CL_QUEUE_PROFILING_ENABLE, &code);
    ck_assert_int_eq(code, CL_SUCCESS);
    test_ok_error(husk_queue_from_opencl(r.context, cl, &r.queue, &r.error), &r.error);
    test_ok_error(husk_buffer_create(r.context, 4096, &r.a, &r.error), &r.error);
    const long before = fault_objects();
    for (int i = 0; i < FILLS; i++)
        ck_assert_int_eq(husk_buffer_fill(r.queue, r.a, 0, 4096, &word, 4), HUSK_OK);
    ck_assert_int_eq(husk_queue_finish(r.queue), HUSK_OK);
    ck_assert_int_eq(fault_objects(), before);
    ck_assert_int_eq(husk_queue_profile(r.queue, &records, &count), HUSK_OK);
    ck_assert_uint_eq(count, 0);
    /* from here on it has been */
    ck_assert_int_eq(husk_buffer_fill(r.queue, r.a, 0, 4096, &word, 4), HUSK_OK);
    ck_assert_int_eq(husk_queue_profile(r.queue, &records, &count), HUSK_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(records[0].name, "fill");
    clReleaseCommandQueue(cl);
    close_run(&r);
}
END_TEST

/*
 * What a device computes is not forgotten because the first question came at a bad moment; nor is it denied where
 * memory was found after all, in the place of what the pool kept.
 */
START_TEST(a_probe_that_fails_is_made_again)
{
    const cl_int codes[] = {CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_RESOURCES, CL_MEM_OBJECT_ALLOCATION_FAILURE};
    int failures = 0;
    bool reached = husk_context_traits(test_context())->has_f64;
    for (long number = 1; reached; number++)
        for (size_t c = 0; c < sizeof codes / sizeof *codes; c++) {
            husk_context *context = NULL;
            husk_error error = {0};
            husk__scope scope = {"husk_test", &error};
            husk_buffer *kept = NULL;
            test_ok_error(husk_context_create(NULL, NULL, &context, &error), &error);
            test_ok_error(husk_buffer_create(context, 1 << 20, &kept, &error), &error);
            husk_buffer_release(kept);
            fault_plan(number, codes[c], false);
            const husk_status status = husk__dtype_check(context, HUSK_F64, "x", &scope);
            const char *name = fault_name();
            reached = fault_calls() >= number;
            fault_plan(0, 0, false);
            const bool is_refusal = same_name(name, "clBuildProgram") && codes[c] == CL_OUT_OF_RESOURCES;
            ck_assert_msg(status == HUSK_OK || status == HUSK_OPENCL || status == HUSK_OUT_OF_MEMORY ||
                              status == HUSK_OUT_OF_HOST_MEMORY || (is_refusal && status == HUSK_BUILD_FAILED) ||
                              (status == HUSK_UNSUPPORTED && strstr(error.text, "refuses the launch")),
                          "%s failed, and it was said that %s", name, error.text);
            ck_assert_msg(status == HUSK_OK || strstr(error.text, name), "%s: %s", name, error.text);
            ck_assert_msg(status == HUSK_OK || !same_name(name, "clCreateBuffer"), "%s: %s", name, error.text);
            ck_assert_int_eq(husk__dtype_check(context, HUSK_F64, "x", &scope), HUSK_OK);
            ck_assert(husk_context_has(context, HUSK_FEATURE_F64));
            failures += status != HUSK_OK;
            husk_context_release(context);
        }
    ck_assert(failures > 6 || !husk_context_traits(test_context())->has_f64);
}
END_TEST

/* The variant and configuration that the first call to be answered by OK has taken, of a context of its own. */
static void multiply(cl_int code, husk_status wanted, char taken[128])
{
    const int64_t shape[] = {64, 64};
    run r = {0};
    husk_context_params params = HUSK_CONTEXT_PARAMS(.cache = HUSK_CACHE_OFF);
    test_ok_error(husk_context_create(NULL, &params, &r.context, &r.error), &r.error);
    husk_context_has_quirk(r.context, HUSK_QUIRK_FLUSH); /* which the first program is built by */
    test_ok_error(husk_queue_create(r.context, NULL, &r.queue, &r.error), &r.error);
    test_ok_error(husk_buffer_create(r.context, 4 * 64 * 64, &r.a, &r.error), &r.error);
    test_ok_error(husk_buffer_create(r.context, 4 * 64 * 64, &r.b, &r.error), &r.error);
    const husk_tensor a = husk_tensor_make(r.a, HUSK_F32, 2, shape), c = husk_tensor_make(r.b, HUSK_F32, 2, shape);
    fault_plan(0, 0, false);
    fault_fail("clBuildProgram", wanted == HUSK_OK ? 0 : 1, code);
    ck_assert_int_eq(husk_gemm(r.queue, NULL, 1.0f, &a, &a, NULL, 0.0f, &c), wanted);
    ck_assert(wanted == HUSK_OK || same_name(husk_queue_error(r.queue)->text, "clBuildProgram"));
    ck_assert_int_eq(husk_gemm(r.queue, NULL, 1.0f, &a, &a, NULL, 0.0f, &c), HUSK_OK);
    const husk_plan *plan = husk_queue_plan(r.queue);
    snprintf(taken, 128, "%s:%s", husk_plan_variant(plan), husk_plan_configuration(plan));
    ck_assert_int_eq(husk_queue_finish(r.queue), HUSK_OK);
    close_run(&r);
}

/* Want of memory while a plan is made chooses nothing: another variant would compute other bits from then on. */
START_TEST(a_build_that_fails_once_chooses_no_other_variant)
{
    char sound[128], taken[128];
    test_close_device(); /* whose objects are counted, too */
    multiply(CL_SUCCESS, HUSK_OK, sound);
    multiply(CL_MEM_OBJECT_ALLOCATION_FAILURE, HUSK_OUT_OF_MEMORY, taken);
    ck_assert_str_eq(taken, sound);
    multiply(CL_INVALID_OPERATION, HUSK_OPENCL, taken);
    ck_assert_str_eq(taken, sound);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fault");
    TCase *tests = tcase_create("fault");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, every_call_may_fail_once);
    tcase_add_test(tests, the_text_names_the_call_and_its_error);
    tcase_add_test(tests, a_command_that_fails_ends_no_context);
    tcase_add_test(tests, a_wait_with_a_limit_sees_how_it_ended);
    tcase_add_test(tests, a_device_that_stops_answering_is_lost);
    tcase_add_test(tests, a_refusal_by_another_name_is_remembered);
    tcase_add_test(tests, a_build_that_no_compiler_has_refused_is_made_again);
    tcase_add_test(tests, nor_is_it_remembered_however_often_it_fails);
    tcase_add_test(tests, a_build_for_which_there_is_no_memory_is_made_again);
    tcase_add_test(tests, a_build_for_which_resources_do_not_suffice_is_a_refusal);
    tcase_add_test(tests, a_device_that_is_lost_while_it_builds_is_lost);
    tcase_add_test(tests, memory_that_is_missed_by_a_command_is_taken_from_the_pool);
    tcase_add_test(tests, memory_that_is_missed_by_a_buffer_is_taken_from_the_pool);
    tcase_add_test(tests, memory_that_is_missed_by_staging_is_taken_from_the_pool);
    tcase_add_test(tests, a_wrapped_queue_keeps_no_event_unasked);
    suite_add_tcase(suite, tests);
    tests = tcase_create("probes"); /* whose kernels are the library's own */
    tcase_add_test(tests, a_probe_that_fails_is_made_again);
    tcase_add_test(tests, a_build_that_fails_once_chooses_no_other_variant);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
