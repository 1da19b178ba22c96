// SPDX-License-Identifier: MIT
// ctest: timeout=120 processors=2
// A kernel that never ends: the library gives control back. It runs in a process of its own, which says what it does
// and is killed in the end, whatever the driver makes of that.
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <check.h>

#include <husk/husk.h>
#include <husk/opencl.h>

#define MS UINT64_C(1000000)
enum { COUNT = 1000, LATE_MS = 2000 }; // what a loaded machine may take to come back

// ---- the process with the kernel ----

static const char source[] = "__kernel void husk_test_endless(volatile __global int *flag, long at)\n"
                             "{\n"
                             "    while (flag[at] == 0)\n"
                             "        ;\n"
                             "}\n";

typedef struct endless {
    husk_context *context;
    husk_queue *stuck, *other;
    husk_buffer *flag, *x, *y;
    cl_kernel kernel;
} endless;

static long now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (long)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

// A line a step, which the test reads: what, its status, how long it took.
static void say(const char *what, husk_status status, long since)
{
    printf("%s %s %ld\n", what, husk_status_name(status), now_ms() - since);
    fflush(stdout);
}

static husk_status double_numbers(endless *e, husk_queue *queue)
{
    const int64_t shape[1] = {COUNT};
    const husk_tensor x = husk_tensor_make(e->x, HUSK_F32, 1, shape), y = husk_tensor_make(e->y, HUSK_F32, 1, shape);
    const husk_binary_params params = husk_binary_defaults(HUSK_BINARY_ADD);
    return husk_binary(queue, &params, &x, &x, &y);
}

// OPENCL where what comes back is not twice what was sent.
static husk_status compute(endless *e, husk_queue *queue)
{
    float numbers[COUNT];
    for (int i = 0; i < COUNT; i++)
        numbers[i] = (float)i;
    husk_status status = husk_buffer_write(queue, e->x, 0, sizeof numbers, numbers);
    status = status ? status : double_numbers(e, queue);
    status = status ? status : husk_buffer_read(queue, e->y, 0, sizeof numbers, numbers);
    for (int i = 0; status == HUSK_OK && i < COUNT; i++)
        status = numbers[i] == 2.0f * (float)i ? HUSK_OK : HUSK_OPENCL;
    return status;
}

static bool open_all(endless *e)
{
    const char *text = source;
    cl_int code = CL_SUCCESS;
    husk_status status = husk_context_create(NULL, NULL, &e->context, NULL);
    status = status ? status : husk_queue_create(e->context, NULL, &e->stuck, NULL);
    status = status ? status : husk_queue_create(e->context, NULL, &e->other, NULL);
    status = status ? status : husk_buffer_create(e->context, 4096, &e->flag, NULL);
    status = status ? status : husk_buffer_create(e->context, COUNT * sizeof(float), &e->x, NULL);
    status = status ? status : husk_buffer_create(e->context, COUNT * sizeof(float), &e->y, NULL);
    if (status != HUSK_OK)
        return false;
    const cl_device_id device = husk_context_opencl_device(e->context);
    cl_program program = clCreateProgramWithSource(husk_context_opencl(e->context), 1, &text, NULL, &code);
    code = code ? code : clBuildProgram(program, 1, &device, "", NULL, NULL);
    e->kernel = code ? NULL : clCreateKernel(program, "husk_test_endless", &code);
    return e->kernel != NULL && compute(e, e->stuck) == HUSK_OK; // what is compiled at first use is there
}

static husk_status get_stuck(endless *e)
{
    const size_t one = 1;
    const cl_int zero = 0;
    const cl_mem mem = husk_buffer_opencl(e->flag);
    const cl_long at = (cl_long)(husk_buffer_opencl_offset(e->flag) / sizeof zero);
    husk_status status = husk_buffer_write(e->stuck, e->flag, 0, sizeof zero, &zero);
    if (status != HUSK_OK)
        return status;
    clSetKernelArg(e->kernel, 0, sizeof mem, &mem);
    clSetKernelArg(e->kernel, 1, sizeof at, &at);
    const cl_int code =
        clEnqueueNDRangeKernel(husk_queue_opencl(e->stuck), e->kernel, 1, NULL, &one, &one, 0, NULL, NULL);
    return code == CL_SUCCESS ? HUSK_OK : HUSK_OPENCL;
}

static void wait_for(const char *what, husk_event *event, uint64_t timeout_ns)
{
    const long start = now_ms();
    say(what, husk_event_wait(event, timeout_ns), start);
}

// Whether another queue's work goes on beside the kernel: OpenCL leaves that to the device, and PoCL's has a thread for
// each compute unit, or one unit and no thread.
static bool has_room_beside(const endless *e)
{
    const cl_device_id device = husk_context_opencl_device(e->context);
    char version[256] = "";
    cl_uint units = 0;
    clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof version, version, NULL);
    clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    return (strstr(version, "pocl") || strstr(version, "PoCL")) && units > 1;
}

static int run_endless(bool is_ended)
{
    endless e = {0};
    husk_event *event = NULL, *behind = NULL;
    long start = now_ms();
    if (!open_all(&e))
        return 6;
    say("ready", HUSK_OK, start);
    start = now_ms();
    husk_status status = get_stuck(&e);
    say("stuck", status ? status : husk_queue_record(e.stuck, &event), start);
    wait_for("asked", event, 0);
    wait_for("waited", event, 300 * MS);
    start = now_ms(); // what is enqueued behind it waits in the queue, and the caller does not
    status = double_numbers(&e, e.stuck);
    say("enqueued", status ? status : husk_queue_record(e.stuck, &behind), start);
    wait_for("behind", behind, 100 * MS);
    start = now_ms();
    say("context", husk_context_status(e.context), start);
    start = now_ms();
    const bool goes_on = has_room_beside(&e);
    if (goes_on)
        say("elsewhere", compute(&e, e.other), start);
    wait_for("again", event, 100 * MS);
    if (is_ended && !goes_on) {
        say("alone", HUSK_OK, start);
    } else if (is_ended) {
        const cl_int one = 1;
        float numbers[COUNT];
        start = now_ms();
        say("told", husk_buffer_write(e.other, e.flag, 0, sizeof one, &one), start);
        wait_for("ended", event, HUSK_FOREVER);
        wait_for("followed", behind, HUSK_FOREVER);
        start = now_ms();
        status = husk_buffer_read(e.stuck, e.y, 0, sizeof numbers, numbers);
        say("result", status ? status : numbers[COUNT - 1] == 2.0f * (COUNT - 1) ? HUSK_OK : HUSK_OPENCL, start);
    } else {
        start = now_ms(); // everything is given back while it runs
        husk_event_release(event);
        husk_event_release(behind);
        husk_buffer_release(e.flag);
        husk_buffer_release(e.x);
        husk_buffer_release(e.y);
        husk_queue_release(e.other);
        husk_queue_release(e.stuck);
        husk_context_release(e.context);
        say("released", HUSK_OK, start);
    }
    for (;;)
        pause(); // to be killed
}

// ---- the test ----

static const char *own_path;
static char said[4096];

// Begins the process, and reads what it says until it says one of two last words, or nothing more within the time;
// kills it.
static void observe(const char *mode, const char *last, const char *or_last)
{
    int ends[2];
    size_t used = 0;
    ck_assert_int_eq(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(own_path, own_path, mode, (char *)NULL);
        _exit(99);
    }
    ck_assert_int_gt(child, 0);
    close(ends[1]);
    struct pollfd ready = {.fd = ends[0], .events = POLLIN};
    ssize_t got = 1;
    said[0] = '\0';
    while (got > 0 && !strstr(said, last) && !strstr(said, or_last) && poll(&ready, 1, 40000) > 0) {
        got = read(ends[0], said + used, sizeof said - 1 - used);
        used += got > 0 ? (size_t)got : 0;
        said[used] = '\0';
    }
    int status = 0;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    close(ends[0]);
}

// The step was said to have this status, within these times.
static void expect(const char *what, const char *status, long least_ms, long most_ms)
{
    char line[100], got[64] = "";
    long took = -1;
    snprintf(line, sizeof line, "%s ", what);
    const char *at = strncmp(said, line, strlen(line)) == 0 ? said : NULL;
    snprintf(line, sizeof line, "\n%s ", what);
    at = at ? at : strstr(said, line);
    at = at && *at == '\n' ? at + 1 : at;
    if (at)
        sscanf(at + strlen(what), "%63s %ld", got, &took);
    ck_assert_msg(!strcmp(got, status), "%s: %s instead of %s in\n%s", what, at ? got : "nothing", status, said);
    ck_assert_msg(took >= least_ms && took <= most_ms, "%s took %ld ms, not %ld to %ld:\n%s", what, took, least_ms,
                  most_ms, said);
}

static void expect_the_wait_to_end(void)
{
    expect("stuck", "HUSK_OK", 0, LATE_MS);
    expect("asked", "HUSK_TIMEOUT", 0, LATE_MS);
    expect("waited", "HUSK_TIMEOUT", 300, 300 + LATE_MS);
    expect("enqueued", "HUSK_OK", 0, LATE_MS);
    expect("behind", "HUSK_TIMEOUT", 100, 100 + LATE_MS);
    expect("context", "HUSK_OK", 0, LATE_MS);
}

START_TEST(a_wait_with_a_limit_ends_and_all_can_be_released)
{
    observe("--endless", "released ", "released ");
    expect_the_wait_to_end();
    if (strstr(said, "elsewhere"))
        expect("elsewhere", "HUSK_OK", 0, 10 * LATE_MS);
    expect("again", "HUSK_TIMEOUT", 100, 100 + LATE_MS);
    expect("released", "HUSK_OK", 0, LATE_MS);
}
END_TEST

START_TEST(what_waited_behind_it_is_right_when_it_ends_after_all)
{
    observe("--ended", "result ", "alone ");
    if (strstr(said, "alone"))
        return; // nobody can tell it to end
    expect_the_wait_to_end();
    expect("elsewhere", "HUSK_OK", 0, 10 * LATE_MS);
    expect("told", "HUSK_OK", 0, LATE_MS);
    expect("ended", "HUSK_OK", 0, 10 * LATE_MS);
    expect("followed", "HUSK_OK", 0, 10 * LATE_MS);
    expect("result", "HUSK_OK", 0, LATE_MS);
}
END_TEST

int main(int argc, char **argv)
{
    own_path = argv[0];
    if (argc == 2 && (!strcmp(argv[1], "--endless") || !strcmp(argv[1], "--ended")))
        return run_endless(!strcmp(argv[1], "--ended"));
    TCase *tests = tcase_create("endless");
    tcase_set_timeout(tests, 100);
    tcase_add_test(tests, a_wait_with_a_limit_ends_and_all_can_be_released);
    tcase_add_test(tests, what_waited_behind_it_is_right_when_it_ends_after_all);
    Suite *suite = suite_create("endless kernels");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
