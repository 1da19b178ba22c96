// SPDX-License-Identifier: MIT
// ctest: tiers=default,valgrind
// A queue's kernel object remembers what its arguments are and sets those that differ. What could go wrong: a new
// buffer whose handle is an old one's, another queue or thread, values that compare equal and are not, a call that was
// refused.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <husk/opencl.h>

#include "runtime/context_struct.h"
#include "runtime/launch.h"
#include "support/environment.h"
#include "support/support.h"

enum { WORDS = 8 }; // that the kernel leaves, each of 8 bytes

static atomic_long calls, refused_index = -1;

// The static library, linked into this program, finds this one first.
cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    typedef cl_int (*set_function)(cl_kernel, cl_uint, size_t, const void *);
    static _Atomic(set_function) real;
    if (!atomic_load(&real))
        atomic_store(&real, (set_function)dlsym(RTLD_NEXT, "clSetKernelArg"));
    atomic_fetch_add(&calls, 1);
    long refused = (long)index;
    if (atomic_compare_exchange_strong(&refused_index, &refused, -1))
        return CL_OUT_OF_HOST_MEMORY;
    return atomic_load(&real)(kernel, index, size, value);
}

static char directory[] = "/tmp/husk-arguments-XXXXXX";
static husk_context *context;
static husk_queue *queue;
static const husk__kernel *kernel, *twin;
static husk_error error;
static const husk__scope scope = {"husk_test", &error};

static void run_command(const char *before, const char *after)
{
    char command[400];
    snprintf(command, sizeof command, "%s '%s%s'", before, directory, after);
    ck_assert_int_eq(system(command), 0);
}

static husk_queue *make_queue(void)
{
    husk_queue *made = NULL;
    test_ok_error(husk_queue_create(context, NULL, &made, &error), &error);
    return made;
}

static husk_buffer *make_buffer(void)
{
    husk_buffer *made = NULL;
    test_ok_error(husk_buffer_create(context, 2 * WORDS * sizeof(int64_t), &made, &error), &error);
    return made;
}

// Free memory is not kept, so that handles of OpenCL's come and go.
static void setup(void)
{
    husk_context_params params = HUSK_CONTEXT_PARAMS(.cache = HUSK_CACHE_OFF);
    char path[100];
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/test_arguments.cl", directory);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs("#define BODY(extra) \\\n"
          "    __global long *to = base + offset; \\\n"
          "    to[0] = whole; to[1] = wide.s0; to[2] = wide.s7; to[3] = as_int(real); to[4] = number + extra; \\\n"
          "    to[5] = from ? from[from_offset] : -1; \\\n"
          "    room[0] = 1; to[6] = room[0];\n"
          "#define PARAMETERS __global long *base, long offset, long whole, long8 wide, float real, int number, \\\n"
          "    const __global long *from, long from_offset, __local int *room\n"
          "__attribute__((reqd_work_group_size(1, 1, 1)))\n"
          "__kernel void husk_test_arguments(PARAMETERS)\n{\n    BODY(0)\n}\n"
          "__attribute__((reqd_work_group_size(1, 1, 1)))\n"
          "__kernel void husk_test_twin(PARAMETERS)\n{\n    BODY(1000)\n}\n",
          file);
    fclose(file);
    test_setenv("HUSK_KERNEL_DIR", directory);
    test_setenv("HUSK_LIMITS", "pooled_memory=0");
    test_ok_error(husk_context_create(NULL, &params, &context, &error), &error);
    test_ok_error(husk__kernel_get(context, "test_arguments.cl", "", "husk_test_arguments", &kernel, &scope), &error);
    test_ok_error(husk__kernel_get(context, "test_arguments.cl", "", "husk_test_twin", &twin, &scope), &error);
}

static void setup_queue(void)
{
    queue = make_queue();
}

static void teardown_queue(void)
{
    husk_queue_release(queue);
}

static void teardown(void)
{
    husk_context_release(context);
    test_restore_environment();
    run_command("rm -rf", "");
}

// What a launch is given.
typedef struct values {
    husk_buffer *to, *from;
    int64_t at, whole, wide[8], from_at;
    float real;
    int32_t number;
    size_t room;
} values;

static husk_status launch_on(husk_queue *on, const husk__kernel *what, const values *v)
{
    const husk__range range = {{1, 1, 1}, {1, 1, 1}};
    husk_error own_error = {0};
    const husk__scope own = {"husk_test", &own_error};
    return HUSK__LAUNCH(on, what, &range, &own, HUSK__ARG_BUFFER(v->to, (uint64_t)v->at * 8, 8),
                        HUSK__ARG_I64(v->whole), HUSK__ARG_I64X8(v->wide), HUSK__ARG_F32(v->real),
                        HUSK__ARG_I32(v->number), HUSK__ARG_BUFFER(v->from, (uint64_t)v->from_at * 8, 8),
                        HUSK__ARG_LOCAL(v->room));
}

// 0 where the buffer has what this launch leaves.
static int differs(husk_queue *on, const values *v, int64_t number, int64_t read)
{
    int64_t seen[WORDS] = {0};
    uint32_t bits;
    memcpy(&bits, &v->real, sizeof bits);
    const int64_t wanted[WORDS] = {v->whole, v->wide[0], v->wide[7], (int32_t)bits, number, read, 1, 0};
    if (husk_buffer_read(on, v->to, (uint64_t)v->at * 8, sizeof seen, seen) != HUSK_OK)
        return 1;
    return memcmp(seen, wanted, (WORDS - 1) * sizeof *seen);
}

static void check(const values *v, long calls_wanted, int64_t read)
{
    atomic_store(&calls, 0);
    test_ok(launch_on(queue, kernel, v));
    ck_assert_int_eq(atomic_load(&calls), calls_wanted);
    ck_assert_int_eq(differs(queue, v, v->number, read), 0);
}

enum { ALL = 9 }; // arguments of the kernel

START_TEST(what_has_not_changed_is_not_set)
{
    values v = {
        .to = make_buffer(), .whole = 7, .wide = {1, 2, 3, 4, 5, 6, 7, 8}, .real = 1.5f, .number = 3, .room = 64};
    husk_buffer *other = make_buffer();
    int64_t numbers[2 * WORDS];
    for (int i = 0; i < 2 * WORDS; ++i)
        numbers[i] = 100 + i;
    test_ok(husk_buffer_write(queue, other, 0, sizeof numbers, numbers));
    check(&v, ALL, -1);
    check(&v, 0, -1);
    v.at = 3;
    check(&v, 1, -1);
    v.whole = INT64_C(7) << 32; // the same lower half as 0
    check(&v, 1, -1);
    v.whole = 0;
    check(&v, 1, -1);
    v.wide[7] = -8;
    check(&v, 1, -1);
    v.wide[0] = v.wide[7] = 9; // two of its numbers, one argument
    check(&v, 1, -1);
    v.real = 0.0f;
    check(&v, 1, -1);
    v.real = -0.0f; // equal, but not the same
    check(&v, 1, -1);
    v.real = NAN; // the same, but not equal
    check(&v, 1, -1);
    check(&v, 0, -1);
    v.number = -3;
    check(&v, 1, -1);
    v.room = 128;
    check(&v, 1, -1);
    v.from = other; // a buffer where there was none
    check(&v, 1, 100);
    v.from_at = 5;
    check(&v, 1, 105);
    v.from = NULL;
    v.from_at = 0;
    check(&v, 2, -1);
    husk_buffer_release(v.to);
    husk_buffer_release(other);
}
END_TEST

START_TEST(a_view_is_its_buffer_at_an_offset)
{
    values v = {.to = make_buffer(), .number = 5, .room = 64};
    husk_buffer *view = NULL, *whole = v.to;
    test_ok_error(husk_buffer_view(whole, 3 * 8, WORDS * 8, &view, &error), &error);
    check(&v, ALL, -1);
    v.to = view;
    check(&v, 1, -1);
    check(&v, 0, -1);
    v.to = whole;
    v.at = 3; // the same place in other words
    check(&v, 0, -1);
    husk_buffer_release(view);
    husk_buffer_release(whole);
}
END_TEST

// A released buffer's handle may be the next one's: what was set is another object all the same, and is set again.
START_TEST(a_new_buffer_at_an_old_handle_is_set)
{
    enum { ROUNDS = 50 };
    int repeated = 0;
    cl_mem last = NULL;
    values v = {.room = 64};
    for (int round = 0; round < ROUNDS; ++round) {
        v.to = make_buffer();
        v.number = round / 2;
        repeated += v.to->block->mem == last;
        last = v.to->block->mem;
        check(&v, round == 0 ? ALL : round % 2 ? 1 : 2, -1);
        husk_buffer_release(v.to);
    }
    printf("%d of %d handles were the one before\n", repeated, ROUNDS);
}
END_TEST

// An application's own cl_mem, released and made again between calls.
START_TEST(foreign_memory_is_told_apart_too)
{
    values v = {.room = 64};
    for (int round = 0; round < 20; ++round) {
        cl_int code;
        cl_mem mem = clCreateBuffer(context->cl, CL_MEM_READ_WRITE, 256, NULL, &code);
        ck_assert_ptr_nonnull(mem);
        test_ok_error(husk_buffer_from_opencl(context, mem, &v.to, &error), &error);
        check(&v, round == 0 ? ALL : 1, -1);
        husk_buffer_release(v.to);
        clReleaseMemObject(mem);
    }
}
END_TEST

START_TEST(kernels_and_queues_have_arguments_of_their_own)
{
    husk_queue *second = make_queue();
    values a = {.to = make_buffer(), .number = 1, .room = 64}, b = {.to = make_buffer(), .number = 2, .room = 64};
    check(&a, ALL, -1);
    atomic_store(&calls, 0);
    test_ok(launch_on(second, kernel, &b)); // another queue's object of the same kernel
    test_ok(husk_queue_finish(second));
    test_ok(launch_on(queue, twin, &b)); // another kernel of the same program
    ck_assert_int_eq(atomic_load(&calls), 2 * ALL);
    ck_assert_int_eq(differs(queue, &b, 1002, -1), 0);
    check(&a, 0, -1);
    atomic_store(&calls, 0);
    test_ok(launch_on(second, kernel, &b));
    ck_assert_int_eq(atomic_load(&calls), 0);
    ck_assert_int_eq(differs(second, &b, 2, -1), 0);
    husk_queue_release(second);
    second = make_queue(); // perhaps where the last one was
    atomic_store(&calls, 0);
    test_ok(launch_on(second, kernel, &b));
    ck_assert_int_eq(atomic_load(&calls), ALL);
    test_ok(husk_queue_finish(second));
    husk_queue_release(second);
    husk_buffer_release(a.to);
    husk_buffer_release(b.to);
}
END_TEST

// After a refusal nothing is taken for set, not even what was set before it.
START_TEST(a_refused_argument_is_set_the_next_time)
{
    values v = {.to = make_buffer(), .number = 1, .room = 64};
    check(&v, ALL, -1);
    for (int index = 0; index < ALL; ++index) {
        values w = {.to = make_buffer(),
                    .from = v.to,
                    .at = 1,
                    .whole = index + 1,
                    .wide = {index + 1},
                    .real = (float)index + 1.0f,
                    .number = index + 2,
                    .from_at = 1,
                    .room = 128};
        atomic_store(&refused_index, index);
        ck_assert_int_ne(launch_on(queue, kernel, &w), HUSK_OK);
        ck_assert_int_eq(atomic_load(&refused_index), -1);
        check(&v, ALL, -1);
        husk_buffer_release(w.to);
    }
    husk_buffer_release(v.to);
}
END_TEST

enum { THREADS = 4, TURNS = 200 };

static void *take_turns(void *argument)
{
    const int self = *(int *)argument;
    long wrong = 0;
    husk_queue *own = NULL;
    wrong += husk_queue_create(context, NULL, &own, NULL) != HUSK_OK;
    for (int turn = 0; turn < TURNS; ++turn) {
        values v = {.number = self * TURNS + turn, .whole = turn / 3, .room = 64};
        wrong += husk_buffer_create(context, 2 * WORDS * 8, &v.to, NULL) != HUSK_OK;
        wrong += launch_on(own, turn % 2 ? kernel : twin, &v) != HUSK_OK;
        wrong += differs(own, &v, v.number + (turn % 2 ? 0 : 1000), -1) != 0;
        husk_buffer_release(v.to);
    }
    husk_queue_release(own);
    return (void *)wrong;
}

START_TEST(threads_with_a_queue_each_do_not_meet)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int i = 0; i < THREADS; ++i) {
        numbers[i] = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, take_turns, &numbers[i]), 0);
    }
    for (int i = 0; i < THREADS; ++i) {
        void *wrong;
        ck_assert_int_eq(pthread_join(threads[i], &wrong), 0);
        ck_assert_int_eq((long)wrong, 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arguments");
    TCase *tests = tcase_create("arguments");
    tcase_add_unchecked_fixture(tests, setup, teardown);
    tcase_add_checked_fixture(tests, setup_queue, teardown_queue);
    tcase_add_test(tests, what_has_not_changed_is_not_set);
    tcase_add_test(tests, a_view_is_its_buffer_at_an_offset);
    tcase_add_test(tests, a_new_buffer_at_an_old_handle_is_set);
    tcase_add_test(tests, foreign_memory_is_told_apart_too);
    tcase_add_test(tests, kernels_and_queues_have_arguments_of_their_own);
    tcase_add_test(tests, a_refused_argument_is_set_the_next_time);
    tcase_add_test(tests, threads_with_a_queue_each_do_not_meet);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
