// SPDX-License-Identifier: MIT
// ctest: tiers=default,long timeout=60
// The kernels that measure peaks, as devices see them that are not here.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include <husk/opencl.h>

#include "embedded.h"
#include "husk_contender.h"
#include "meter.h"
#include "support/main.h"

// As on a device that has cl_khr_integer_dot_product; the product is a plain one.
static const char *const dot_options = "-cl-std=CL1.2 -DVW=4 -DWG=64 -Dcl_khr_integer_dot_product "
                                       "-D__opencl_c_integer_dot_product_input_4x8bit_packed";
static const char *const product = "#define dot_4x8packed_us_int(a, b) (int)((a) * (b))\n";

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
    char reason[BENCH_REASON_TEXT] = "", log[4096] = "";
    void *opened = NULL;
    const bench_open_options options = {.threads = 1};
    ck_assert_msg(bench_contender_husk.open(&options, &opened, reason) == BENCH_OK, "%s", reason);
    const bench_husk_session *session = opened;
    cl_context context = husk_context_opencl(session->context);
    cl_device_id device = husk_context_opencl_device(session->context);
    cl_command_queue queue = husk_queue_opencl(session->queue);
    const char *sources[] = {product, bench_embedded_text("kernels/peaks.cl")};
    cl_int error;
    cl_program program = clCreateProgramWithSource(context, 2, sources, NULL, &error);
    ck_assert_int_eq(error, CL_SUCCESS);
    error = clBuildProgram(program, 1, &device, dot_options, NULL, NULL);
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
    ck_assert_msg(error == CL_SUCCESS, "OpenCL error %d\n%.4000s", error, log);
    cl_kernel kernel = clCreateKernel(program, "husk_bench_dot", &error);
    ck_assert_int_eq(error, CL_SUCCESS);
    cl_mem out = clCreateBuffer(context, CL_MEM_READ_WRITE, (4 + 4 * 64) * sizeof(cl_int), NULL, &error);
    ck_assert_int_eq(error, CL_SUCCESS);
    const cl_int none = sum_after(queue, kernel, out, 0), one = sum_after(queue, kernel, out, 1),
                 two = sum_after(queue, kernel, out, 2);
    ck_assert_int_eq(none, 66); // 0 + 1 + ... + 11
    ck_assert_int_ne(one, none);
    ck_assert_int_ne(two - one, one - none);
    clReleaseMemObject(out);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    bench_contender_husk.close(opened);
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
    ck_assert_msg(bench_contender_husk.open(&options, &opened, reason) == BENCH_OK, "%s", reason);
    const bench_husk_session *session = opened;
    bench_meter *meter = bench_meter_create(session, 0, reason);
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
    bench_contender_husk.close(opened);
    unsetenv("HUSK_ENGINES");
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("peaks");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, products_of_bytes_are_a_chain);
    tcase_add_loop_test(tests, engines_leave_no_trace_in_the_memory_of_cases, 0, test_is_long());
    Suite *suite = suite_create("peaks");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
