// SPDX-License-Identifier: MIT
// ctest: tiers=default,long timeout=60
// The kernels that measure peaks, as devices see them that are not here.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <husk/opencl.h>

#include "common/embedded.h"
#include "support/main.h"
#include "worker/husk_runner.h"
#include "worker/meter.h"
#include "worker/peaks_more.h"

// As on a device that has cl_khr_integer_dot_product; the product is a plain one.
static const char *const dot_options = "-cl-std=CL1.2 -DVW=4 -DWG=64 -Dcl_khr_integer_dot_product "
                                       "-D__opencl_c_integer_dot_product_input_4x8bit_packed";
static const char *const product = "#define dot_4x8packed_us_int(a, b) (int)((a) * (b))\n";

typedef struct built {
    const bench_husk_session *session;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
} built;

static built build(const char *options)
{
    char reason[BENCH_REASON_TEXT] = "", log[4096] = "";
    void *opened = NULL;
    const bench_open_options open = {.threads = 1};
    ck_assert_msg(bench_runner_husk.open(&open, &opened, reason) == BENCH_OK, "%s", reason);
    built b = {.session = opened};
    b.context = husk_context_opencl(b.session->context);
    b.queue = husk_queue_opencl(b.session->queue);
    cl_device_id device = husk_context_opencl_device(b.session->context);
    const char *sources[] = {product, bench_embedded_text("kernels/peaks.cl")};
    cl_int error;
    b.program = clCreateProgramWithSource(b.context, 2, sources, NULL, &error);
    ck_assert_int_eq(error, CL_SUCCESS);
    error = clBuildProgram(b.program, 1, &device, options, NULL, NULL);
    clGetProgramBuildInfo(b.program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
    ck_assert_msg(error == CL_SUCCESS, "OpenCL error %d\n%.4000s", error, log);
    return b;
}

static void release(built *b)
{
    clReleaseProgram(b->program);
    bench_runner_husk.close((void *)(uintptr_t)b->session);
}

static cl_int sum_after(cl_command_queue queue, cl_kernel kernel, cl_mem out, cl_int rounds)
{
    const cl_int a = 5, b = 2;
    const size_t size = 64;
    cl_int sum = 0;
    ck_assert_int_eq(clSetKernelArg(kernel, 0, sizeof out, &out), CL_SUCCESS);
    ck_assert_int_eq(clSetKernelArg(kernel, 1, sizeof rounds, &rounds), CL_SUCCESS);
    ck_assert_int_eq(clSetKernelArg(kernel, 2, sizeof a, &a), CL_SUCCESS);
    ck_assert_int_eq(clSetKernelArg(kernel, 3, sizeof b, &b), CL_SUCCESS);
    ck_assert_int_eq(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, &size, 0, NULL, NULL), CL_SUCCESS);
    ck_assert_int_eq(clEnqueueReadBuffer(queue, out, CL_TRUE, 4 * sizeof sum, sizeof sum, &sum, 0, NULL, NULL),
                     CL_SUCCESS);
    return sum;
}

// It has to build, or the device would have no peak but f32's; and each product has to wait for the one before, or a
// compiler makes one of them all.
START_TEST(products_of_bytes_are_a_chain)
{
    cl_int error;
    built b = build(dot_options);
    cl_kernel kernel = clCreateKernel(b.program, "husk_bench_dot", &error);
    ck_assert_int_eq(error, CL_SUCCESS);
    cl_mem out = clCreateBuffer(b.context, CL_MEM_READ_WRITE, (4 + 4 * 64) * sizeof(cl_int), NULL, &error);
    ck_assert_int_eq(error, CL_SUCCESS);
    const cl_int none = sum_after(b.queue, kernel, out, 0), one = sum_after(b.queue, kernel, out, 1),
                 two = sum_after(b.queue, kernel, out, 2);
    ck_assert_int_eq(none, 66); // 0 + 1 + ... + 11
    ck_assert_int_ne(one, none);
    ck_assert_int_ne(two - one, one - none);
    clReleaseMemObject(out);
    clReleaseKernel(kernel);
    release(&b);
}
END_TEST

// Of as many groups as a device may have a part is under way at a time: when these have moved as much as the working
// set holds, at least half of it was among that.
START_TEST(groups_under_way_move_the_whole_working_set)
{
    enum { MOST = 9000 };
    static const size_t counts[] = {1, 2, 3, 16, 96, 160, 2112, 4096, 8192};
    static bool is_moved[MOST];
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        const size_t groups = counts[c], step = bench_meter_step(groups);
        size_t at = 0, parts = 0;
        for (size_t round = 0; round < groups; round++, at = (at + step) % groups)
            parts += at == 0;
        ck_assert_msg(parts == 1, "%zu groups: a step of %zu comes back after less than all", groups, step);
        for (size_t under_way = (groups + 31) / 32; under_way < groups; under_way *= 2) {
            size_t distinct = 0, rounds = (groups + under_way - 1) / under_way;
            memset(is_moved, 0, sizeof is_moved);
            for (size_t round = 0; round < rounds; round++)
                for (size_t g = 0; g < under_way; g++)
                    is_moved[(g + round * step) % groups] = true;
            for (size_t part = 0; part < groups; part++)
                distinct += is_moved[part];
            ck_assert_msg(distinct * 2 >= groups, "%zu of %zu groups move %zu parts", under_way, groups, distinct);
        }
    }
}
END_TEST

// Each group moves its part of each round, all of them together everything.
START_TEST(every_part_is_moved)
{
    enum { GROUPS = 6, WG = 64, VECTORS = 70, FLOATS = GROUPS * VECTORS * 4 };
    static const char *const names[] = {"husk_bench_copy", "husk_bench_stream"};
    static float values[FLOATS];
    const cl_long vectors = VECTORS;
    const size_t size = GROUPS * WG, group = WG;
    cl_int error;
    built b = build(dot_options);
    cl_kernel kernel = clCreateKernel(b.program, names[_i / 2], &error);
    ck_assert_int_eq(error, CL_SUCCESS);
    cl_mem from = clCreateBuffer(b.context, CL_MEM_READ_WRITE, sizeof values, NULL, &error);
    cl_mem to = clCreateBuffer(b.context, CL_MEM_READ_WRITE, sizeof values, NULL, &error);
    const cl_int step = _i % 2 ? (cl_int)bench_meter_step(GROUPS) : 0;
    for (cl_int rounds = 1; rounds <= 4; rounds++) {
        const float zero = 0, before = -1;
        clEnqueueFillBuffer(b.queue, from, &zero, sizeof zero, 0, sizeof values, 0, NULL, NULL);
        clEnqueueFillBuffer(b.queue, to, &before, sizeof before, 0, sizeof values, 0, NULL, NULL);
        clSetKernelArg(kernel, 0, sizeof from, &from);
        clSetKernelArg(kernel, 1, sizeof to, &to);
        clSetKernelArg(kernel, 2, sizeof vectors, &vectors);
        clSetKernelArg(kernel, 3, sizeof rounds, &rounds);
        clSetKernelArg(kernel, 4, sizeof step, &step);
        ck_assert_int_eq(clEnqueueNDRangeKernel(b.queue, kernel, 1, NULL, &size, &group, 0, NULL, NULL), CL_SUCCESS);
        ck_assert_int_eq(clEnqueueReadBuffer(b.queue, to, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL), 0);
        for (int i = 0; i < FLOATS; i++) // of some round; without a step of the last
            ck_assert_msg(step ? values[i] >= 0 && values[i] < (float)rounds : values[i] == (float)(rounds - 1),
                          "%s, step %d, %d rounds: number %d is %g", names[_i / 2], step, rounds, i, values[i]);
    }
    clReleaseMemObject(from);
    clReleaseMemObject(to);
    clReleaseKernel(kernel);
    release(&b);
}
END_TEST

// What measuring engines takes of memory is not the cases', whose most is said at the end of a run.
// In the tier long: it builds seven programs.
START_TEST(engines_leave_no_trace_in_the_memory_of_cases)
{
    char reason[BENCH_REASON_TEXT] = "";
    void *opened = NULL;
    const bench_open_options options = {.threads = 1};
    setenv("HUSK_ENGINES", "soft_amx", 1);
    ck_assert_msg(bench_runner_husk.open(&options, &opened, reason) == BENCH_OK, "%s", reason);
    const bench_husk_session *session = opened;
    bench_meter *meter = bench_meter_create(session->context, 0, reason);
    ck_assert_msg(meter != NULL, "%s", reason);
    husk_memory_stats before, after;
    bench_peaks peaks = {0};
    husk_context_memory_stats(session->context, &before);
    bench_meter_engines(meter, &peaks);
    husk_context_memory_stats(session->context, &after);
    if (peaks.engine_count == 0)
        puts("this device computes no engine: nothing was measured");
    ck_assert_uint_eq(after.peak_bytes, before.peak_bytes);
    bench_meter_release(meter);
    bench_runner_husk.close(opened);
    unsetenv("HUSK_ENGINES");
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("peaks");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, products_of_bytes_are_a_chain);
    tcase_add_test(tests, groups_under_way_move_the_whole_working_set);
    tcase_add_loop_test(tests, every_part_is_moved, 0, 4);
    tcase_add_loop_test(tests, engines_leave_no_trace_in_the_memory_of_cases, 0, test_is_long());
    Suite *suite = suite_create("peaks");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
