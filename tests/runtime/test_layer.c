// SPDX-License-Identifier: MIT
// ctest: timeout=60
// The OpenCL layer of the tests (support/layer) does what its rules say: whatever it plants elsewhere was planted.
#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <husk/opencl.h>

#include "support/support.h"

static void (*set_rules)(const char *);
static long (*count_live)(void);
static cl_context context;
static cl_device_id device;
static cl_command_queue queue;

// POSIX lets an object's address become a function's; ISO C has no cast for it.
static void find(void *library, const char *name, void *function)
{
    void *address = dlsym(library, name);
    ck_assert_msg(address != NULL, "%s", name);
    memcpy(function, &address, sizeof address);
}

static void setup(void)
{
    cl_platform_id platform;
    cl_int code;
    ck_assert_int_eq(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    void *library = dlopen(HUSK_TEST_LAYER, RTLD_NOW | RTLD_NOLOAD); // what the loader has opened
    ck_assert_ptr_nonnull(library);
    find(library, "husk_test_layer_rules", &set_rules);
    find(library, "husk_test_layer_live", &count_live);
    set_rules("");
    ck_assert_int_eq(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), CL_SUCCESS);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    ck_assert_int_eq(code, CL_SUCCESS);
    queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &code);
    ck_assert_int_eq(code, CL_SUCCESS);
}

static void teardown(void)
{
    set_rules("");
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
}

static cl_mem buffer(size_t bytes, cl_int *code)
{
    return clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, code);
}

START_TEST(the_nth_call_fails_and_no_other)
{
    const cl_int wanted[] = {CL_SUCCESS, CL_OUT_OF_RESOURCES, CL_SUCCESS};
    set_rules("fail=-5 clFinish nth=2");
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(clFinish(queue), wanted[i]);
    set_rules("fail=-36 any nth=2+");
    ck_assert_int_eq(clFlush(queue), CL_SUCCESS);
    ck_assert_int_eq(clFlush(queue), CL_INVALID_COMMAND_QUEUE);
    ck_assert_int_eq(clFinish(queue), CL_INVALID_COMMAND_QUEUE);
}
END_TEST

START_TEST(a_question_fails_too)
{
    cl_context found = NULL;
    set_rules("fail=-6 clGetCommandQueueInfo nth=2; fail=-5 any nth=2");
    ck_assert_int_eq(clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof found, &found, NULL), CL_SUCCESS);
    ck_assert_ptr_eq(found, context);
    ck_assert_int_eq(clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof found, &found, NULL), CL_OUT_OF_HOST_MEMORY);
    ck_assert_int_eq(clGetContextInfo(context, CL_CONTEXT_PROPERTIES, 0, NULL, NULL), CL_OUT_OF_RESOURCES);
}
END_TEST

START_TEST(large_memory_is_refused_and_small_is_not)
{
    cl_int code;
    set_rules("fail=-4 clCreateBuffer over=4096");
    cl_mem small = buffer(4096, &code);
    ck_assert_int_eq(code, CL_SUCCESS);
    ck_assert_ptr_null(buffer(4097, &code));
    ck_assert_int_eq(code, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    clReleaseMemObject(small);
}
END_TEST

START_TEST(what_is_read_is_corrupted)
{
    cl_int code;
    float one = 1, seen = 0;
    cl_mem mem = buffer(4, &code);
    ck_assert_int_eq(clEnqueueWriteBuffer(queue, mem, CL_TRUE, 0, 4, &one, 0, NULL, NULL), CL_SUCCESS);
    set_rules("corrupt clEnqueueReadBuffer nth=1");
    ck_assert_int_eq(clEnqueueReadBuffer(queue, mem, CL_FALSE, 0, 4, &seen, 0, NULL, NULL), CL_SUCCESS);
    ck_assert_float_ne(seen, 1);
    ck_assert_int_eq(clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, 4, &seen, 0, NULL, NULL), CL_SUCCESS);
    ck_assert_float_eq(seen, 1);
    clReleaseMemObject(mem);
}
END_TEST

START_TEST(a_command_is_skipped_or_ends_badly)
{
    cl_int code, status = 0;
    float one = 1, seen = 0;
    cl_event event = NULL;
    cl_mem mem = buffer(4, &code);
    ck_assert_int_eq(clEnqueueWriteBuffer(queue, mem, CL_TRUE, 0, 4, &one, 0, NULL, NULL), CL_SUCCESS);
    set_rules("skip clEnqueueReadBuffer; status=-5 clEnqueueMarkerWithWaitList");
    ck_assert_int_eq(clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, 4, &seen, 0, NULL, &event), CL_SUCCESS);
    ck_assert_float_eq(seen, 0);
    ck_assert_int_eq(clWaitForEvents(1, &event), CL_SUCCESS);
    clReleaseEvent(event);
    ck_assert_int_eq(clEnqueueMarkerWithWaitList(queue, 0, NULL, &event), CL_SUCCESS);
    (void)clWaitForEvents(1, &event); // to be negative; NVIDIA's driver says CL_SUCCESS
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    ck_assert_int_eq(status, CL_OUT_OF_RESOURCES);
    clReleaseEvent(event);
    clReleaseMemObject(mem);
}
END_TEST

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

START_TEST(a_call_is_delayed)
{
    set_rules("delay=1200 clFinish nth=1");
    const double before = now();
    ck_assert_int_eq(clFinish(queue), CL_SUCCESS);
    ck_assert_double_ge(now() - before, 1.2);
}
END_TEST

START_TEST(times_of_events_are_scaled)
{
    cl_event event = NULL;
    cl_ulong plain = 0, scaled = 0;
    ck_assert_int_eq(clEnqueueMarkerWithWaitList(queue, 0, NULL, &event), CL_SUCCESS);
    ck_assert_int_eq(clFinish(queue), CL_SUCCESS);
    clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof plain, &plain, NULL);
    ck_assert(plain > 0);
    set_rules("scale=2 clGetEventProfilingInfo");
    clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof scaled, &scaled, NULL);
    ck_assert_double_eq_tol((double)scaled, 2 * (double)plain, 1e-6 * (double)plain);
    clReleaseEvent(event);
}
END_TEST

START_TEST(what_is_left_behind_is_counted)
{
    cl_int code;
    const long before = count_live();
    cl_event event = NULL;
    cl_mem mem = buffer(4, &code);
    ck_assert_int_eq(count_live(), before + 1);
    clRetainMemObject(mem);
    ck_assert_int_eq(count_live(), before + 2);
    ck_assert_int_eq(clEnqueueMarkerWithWaitList(queue, 0, NULL, &event), CL_SUCCESS);
    ck_assert_int_eq(clEnqueueMarkerWithWaitList(queue, 0, NULL, NULL), CL_SUCCESS);
    ck_assert_int_eq(count_live(), before + 3);
    clReleaseEvent(event);
    clReleaseMemObject(mem);
    clReleaseMemObject(mem);
    ck_assert_int_eq(count_live(), before);
    set_rules("fail=-6 clCreateBuffer");
    ck_assert_ptr_null(buffer(4, &code));
    ck_assert_int_eq(count_live(), before); // what was not made is not there
}
END_TEST

enum { BY_TIMEOUT = 124, BY_SIGNAL = 128 };

// How a process of this program ends that makes one call under the rules, as a shell says it.
static int end_of_a_call_under(const char *rules)
{
    char command[1024];
    snprintf(command, sizeof command, "HUSK_TEST_FAULTS='%s' timeout 5 /proc/%ld/exe --touch > /dev/null 2>&1", rules,
             (long)getpid());
    const int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : BY_SIGNAL + WTERMSIG(status);
}

START_TEST(a_call_ends_its_process_or_never_returns)
{
    ck_assert_int_eq(end_of_a_call_under("fail=-5 clFinish; crash clGetPlatformIDs nth=2+; fail=-4 any over=9"), 0);
    ck_assert_int_eq(end_of_a_call_under("crash clGetPlatformIDs"), BY_SIGNAL + SIGSEGV);
    ck_assert_int_eq(end_of_a_call_under("hang clGetPlatformIDs"), BY_TIMEOUT);
}
END_TEST

static int threads(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    ck_assert_ptr_nonnull(tasks);
    for (const struct dirent *entry; (entry = readdir(tasks));)
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

START_TEST(threads_spin_from_then_on)
{
    ck_assert_int_eq(clFinish(queue), CL_SUCCESS);
    const int before = threads();
    set_rules("load=2 clFinish nth=1");
    ck_assert_int_eq(clFinish(queue), CL_SUCCESS);
    ck_assert_int_eq(clFinish(queue), CL_SUCCESS);
    ck_assert_int_eq(threads(), before + 2);
}
END_TEST

// A typing error must not let a test pass.
START_TEST(nonsense_ends_the_program)
{
    static const char *const rules[] = {
        "fial clFinish", "fail=-5 clFinsh", "fail=-5", "crash clFinish ath=3", "hang clFinish nth=x",
        // what would do nothing
        "fail clFinish", "fail=0 clFinish", "fail=5 clFinish", "fail=abc clFinish", "fail=-5x clFinish",
        "crash=1 clFinish", "crash=99 clFinish", "delay clFinish", "load clFinish", "scale=0 clGetEventProfilingInfo",
        "skip clCreateBuffer", "skip clEnqueueMapBuffer", "skip any", "corrupt clFinish", "status=-5 clFinish",
        "status=0 clEnqueueNDRangeKernel", "scale=2 clGetEventInfo", "fail=-5 clFinish kernel=gemm",
        "fail=-5 clFinish over=10", "fail=-5 clFlush nth=", "fail=-4 clCreateBuffer over=10+",
        "fail=-4 clCreateBuffer over=-1",
        "crash clEnqueueNDRangeKernel kernel=", "crash clFinish after=", "crash clFinish nth=0",
        "crash clFinish nth=-1", "crash clFinish since=-1", "load=0.5 clFinish"};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        ck_assert_msg(end_of_a_call_under(rules[i]) == BY_SIGNAL + SIGABRT, "'%s' was taken", rules[i]);
}
END_TEST

int main(int argc, char **argv)
{
    cl_uint platforms = 0;
    if (argc == 2 && !strcmp(argv[1], "--touch"))
        return clGetPlatformIDs(0, NULL, &platforms) == CL_SUCCESS ? EXIT_SUCCESS : EXIT_FAILURE;
    setenv("OPENCL_LAYERS", HUSK_TEST_LAYER, 1);
    if (clGetPlatformIDs(0, NULL, &platforms) != CL_SUCCESS || !dlopen(HUSK_TEST_LAYER, RTLD_NOW | RTLD_NOLOAD)) {
        puts("this OpenCL loader knows no layers, or there is no platform");
        return 77; // CTest says "skipped"
    }
    TCase *tests = tcase_create("layer");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, the_nth_call_fails_and_no_other);
    tcase_add_test(tests, a_question_fails_too);
    tcase_add_test(tests, large_memory_is_refused_and_small_is_not);
    tcase_add_test(tests, what_is_read_is_corrupted);
    tcase_add_test(tests, a_command_is_skipped_or_ends_badly);
    tcase_add_test(tests, a_call_is_delayed);
    tcase_add_test(tests, times_of_events_are_scaled);
    tcase_add_test(tests, what_is_left_behind_is_counted);
    tcase_add_test(tests, a_call_ends_its_process_or_never_returns);
    tcase_add_test(tests, nonsense_ends_the_program);
    tcase_add_test(tests, threads_spin_from_then_on); // the last one: they do not end
    Suite *suite = suite_create("OpenCL layer");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
