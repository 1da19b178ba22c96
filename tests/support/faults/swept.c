// SPDX-License-Identifier: MIT
#include "support/faults/swept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/faults/fault_layer.h"
#include "support/faults/fault_memory.h"
#include "support/support.h"

// ---- what fails ----

typedef struct fault {
    const char *name;
    cl_int code; // 0: an allocation of Husk's
    husk_status status;
} fault;

static const fault faults[] = {
    {"allocation", 0, HUSK_OUT_OF_HOST_MEMORY},
    {"CL_OUT_OF_RESOURCES", CL_OUT_OF_RESOURCES, HUSK_OPENCL},
    {"CL_OUT_OF_HOST_MEMORY", CL_OUT_OF_HOST_MEMORY, HUSK_OUT_OF_HOST_MEMORY},
    {"CL_MEM_OBJECT_ALLOCATION_FAILURE", CL_MEM_OBJECT_ALLOCATION_FAILURE, HUSK_OUT_OF_MEMORY},
    {"CL_INVALID_COMMAND_QUEUE", CL_INVALID_COMMAND_QUEUE, HUSK_OPENCL},
};
enum { FAULTS = sizeof faults / sizeof *faults, MOST_POINTS = 20000, SAMPLE = 12 };

static bool is_exact; // sweep_exactly
static bool is_sampled;

static void arm(const fault *f, long number)
{
    fault_plan(f && f->code ? number : 0, f ? f->code : 0, false);
    // A launch for which resources do not suffice is the variant's fault: from then on another one computes, with other
    // bits. Results of sweep_exactly are the same in all variants; operators' are compared within their bounds
    // (tests/bench/test_fault_sweep.c).
    fault_spare(f && f->code == CL_OUT_OF_RESOURCES && !is_exact ? "clEnqueueNDRangeKernel" : NULL);
    fault_plan_allocation(f && !f->code ? number : 0);
}

// Calls or allocations since it was armed.
static long reached(const fault *f)
{
    return f->code ? fault_calls() : fault_allocations();
}

static void disarm(void)
{
    arm(NULL, 0);
}

// ---- a point ----

const char *swept_call = "";
husk_error swept_error;

static long points, answered, survived;

husk_status swept_of_queue(const husk_queue *queue, husk_status status)
{
    if (status)
        swept_error = *husk_queue_error(queue);
    return status;
}

static husk_status run(const swept *what)
{
    swept_call = "";
    swept_error = (husk_error){.status = HUSK_TIMEOUT, .text = "a text of before"};
    return what->run(what->user);
}

// A text that a call has left is that of this failure.
static void expect_explained(const char *when, const fault *f, const char *call, husk_status status)
{
    const husk_error *error = &swept_error;
    const size_t length = strlen(swept_call);
    ck_assert_msg(error->status == status, "%s: the call answers %s, and its text is of %s: %s", when,
                  husk_status_name(status), husk_status_name(error->status), error->text);
    ck_assert_msg(strncmp(error->text, swept_call, length) == 0 && strncmp(error->text, "husk_", 5) == 0,
                  "%s: the text begins without %s: %s", when, swept_call, error->text);
    // Some drivers have no other word for memory, or for a kernel that is too large for the device. A launch that it
    // refuses is the plan's.
    const bool is_memory = call && strcmp(call, "clCreateBuffer") == 0 && status == HUSK_OUT_OF_MEMORY;
    const bool is_build = call && strcmp(call, "clBuildProgram") == 0 && status == HUSK_BUILD_FAILED;
    const bool is_launch = call && strcmp(call, "clEnqueueNDRangeKernel") == 0 && status == HUSK_UNSUPPORTED;
    ck_assert_msg(status == f->status || (f->code == CL_OUT_OF_RESOURCES && (is_memory || is_build || is_launch)),
                  "%s is answered by %s: %s", when, husk_status_name(status), error->text);
    if (!call)
        ck_assert_msg(strstr(error->text, "memory"), "%s: memory is not spoken of: %s", when, error->text);
    else {
        ck_assert_msg(strstr(error->text, call) && strstr(error->text, f->name), "%s is told as: %s", when,
                      error->text);
        ck_assert_msg(error->opencl_code == f->code, "%s: opencl_code is %d: %s", when, (int)error->opencl_code,
                      error->text);
    }
}

typedef struct left {
    long blocks, objects;
} left;

// Blocks whose last command's end nobody has seen yet stay where the context is trimmed: it is asked again.
static left what_is_left(void)
{
    husk_memory_stats memory = {.cached_bytes = 1};
    for (int i = 0; i < 1000 && memory.cached_bytes > 0; i++) {
        if (i > 0)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        husk_context_trim(test_context(), 0);
        husk_context_memory_stats(test_context(), &memory);
    }
    return (left){fault_blocks(), fault_objects()};
}

// But for what a queue may keep until it is released, which sweep_end looks for: a marker, and pieces of staging memory
// that are made where it could not ask whether the others are in use.
static void expect_nothing_left(const left *before, const char *when)
{
    const left now = what_is_left();
    enum { MARKERS = 2, PIECES = 2, OF_A_PIECE = 2 };
    const long pieces = is_exact ? 0 : PIECES, markers = is_exact ? 0 : MARKERS;
    ck_assert_msg(now.objects <= before->objects + markers + pieces * OF_A_PIECE, "%s: %ld OpenCL objects are left",
                  when, now.objects - before->objects);
    ck_assert_msg(now.blocks >= before->blocks && now.blocks <= before->blocks + pieces,
                  "%s: %ld blocks of host memory are left", when, now.blocks - before->blocks);
}

static long blocks_before;

void sweep_begin(void)
{
    test_without_guards();
    blocks_before = fault_blocks();
}

void sweep_end(void)
{
    test_close_device();
    ck_assert_msg(fault_objects() == 0, "%ld OpenCL objects are left", fault_objects());
    ck_assert_msg(fault_blocks() == blocks_before, "%ld blocks of host memory are left",
                  fault_blocks() - blocks_before);
}

// Without a fault: what could have failed.
static void run_sound(const swept *what, const char *when, long *own, long *calls)
{
    if (what->before)
        what->before(what->user);
    disarm();
    const husk_status status = run(what);
    *own = fault_allocations();
    *calls = fault_calls();
    ck_assert_msg(status == HUSK_OK, "%s: %s: %s", when, husk_status_name(status), swept_error.text);
    what->check(what->user, when);
    if (what->after)
        what->after(what->user);
}

// False where the run was over before.
static bool plant(const swept *what, const fault *f, long number, const left *before)
{
    char when[256];
    if (what->before)
        what->before(what->user);
    // What the queue of the tests says is of no fault.
    ck_assert_int_eq(husk_buffer_write(test_queue(), NULL, 0, 0, NULL), HUSK_INVALID_ARGUMENT);
    arm(f, number);
    husk_status status = run(what);
    const bool met = reached(f) >= number;
    const char *call = fault_name();
    disarm();
    snprintf(when, sizeof when, "%s: %s at %ld (%s%s%s)", what->name, f->name, number, swept_call, call ? ", " : "",
             call ? call : "");
    ck_assert_msg(met || status == HUSK_OK, "%s: without a fault: %s", when, swept_error.text);
    points += met && (call || !f->code);
    if (status) {
        answered++;
        expect_explained(when, f, call, status);
        if (what->failed)
            what->failed(what->user, when);
        status = run(what);
        ck_assert_msg(status == HUSK_OK, "%s: once more: %s: %s", when, husk_status_name(status), swept_error.text);
    } else
        survived += met && (call || !f->code); // what need not fail may go on, to a right result
    what->check(what->user, when);
    if (what->after)
        what->after(what->user);
    expect_nothing_left(before, when);
    return met;
}

bool sweep_has_all(void)
{
    return test_tier_is("faults");
}

void sweep(const swept *what)
{
    const long points_before = points;
    long own = 0, calls = 0;
    for (int i = 0; i < 4; i++) // caches fill
        run_sound(what, what->name, &own, &calls);
    const left before = what_is_left();
    run_sound(what, what->name, &own, &calls);
    expect_nothing_left(&before, what->name);
    for (int f = 0; f < FAULTS; f++) {
        const long stride = sweep_has_all() && !(f && is_sampled) ? 1 : (f ? calls : own) / SAMPLE + 1;
        for (long number = 1 + 7 * f % stride; plant(what, &faults[f], number, &before); number += stride)
            ck_assert_int_lt(number, MOST_POINTS);
    }
    printf("%s: %ld of %ld\n", what->name, points - points_before, own + (FAULTS - 1) * calls);
    fflush(stdout);
}

void sweep_exactly(const swept *what)
{
    is_exact = true;
    sweep(what);
    is_exact = false;
}

void sweep_sampled(const swept *what)
{
    is_sampled = true;
    sweep(what);
    is_sampled = false;
}

void sweep_report(const char *of, long least)
{
    printf("injection points: %ld of %s (%ld answered, %ld survived)\n", points, of, answered, survived);
    ck_assert_int_gt(answered, survived);
    ck_assert_int_ge(points, least);
}
