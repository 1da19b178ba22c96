// SPDX-License-Identifier: MIT
// ctest: tiers=default,long timeout=300 processors=1
// Faults planted in the driver by an OpenCL layer (tests/support/layer): each costs its row, each detector finds its
// own, and nothing is left running. Programs are not counted here: workers that crash build theirs again.
#include <check.h>
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "support/main.h"

#ifndef HUSK_CLBENCH
#error "HUSK_CLBENCH is the path of clbench; bench/CMakeLists.txt defines it"
#endif

static char output[1 << 16], mark[64];
static const char *const clean = "HUSK_TEST_BUILDS= HUSK_LIMITS=max_allocation=64M";

// Runs clbench through the shell; its exit code, and what it wrote to both streams in output.
static int run(const char *environment, const char *faults, const char *arguments)
{
    char command[4096];
    snprintf(command, sizeof command, "%s %s %s OPENCL_LAYERS='%s' HUSK_TEST_FAULTS='%s' '%s' %s 2>&1 < /dev/null",
             mark, clean, environment, HUSK_TEST_LAYER, faults, HUSK_CLBENCH, arguments);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    size_t size = fread(output, 1, sizeof output - 1, pipe);
    output[size] = '\0';
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect(const char *environment, const char *faults, const char *arguments, int code)
{
    int got = run(environment, faults, arguments);
    ck_assert_msg(got == code, "clbench %s: exit code %d instead of %d\n%.4000s", arguments, got, code, output);
}

static void expect_said(const char *part)
{
    ck_assert_msg(strstr(output, part) != NULL, "'%s' is not in\n%.4000s", part, output);
}

// Processes of this test that still run: they all have its mark in their environment.
static int left_running(void)
{
    int count = 0;
    DIR *processes = opendir("/proc");
    struct dirent *entry;
    while (processes && (entry = readdir(processes))) {
        char path[300], text[1 << 15];
        if (strspn(entry->d_name, "0123456789") != strlen(entry->d_name) || atoi(entry->d_name) == getpid())
            continue;
        snprintf(path, sizeof path, "/proc/%.200s/environ", entry->d_name);
        FILE *file = fopen(path, "r");
        size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
        if (file)
            fclose(file);
        for (size_t i = 0; i + strlen(mark) <= size; i++)
            count += !memcmp(text + i, mark, strlen(mark));
    }
    if (processes)
        closedir(processes);
    return count;
}

static void expect_nothing_running(void)
{
    for (int i = 0; i < 300 && left_running(); i++)
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    ck_assert_int_eq(left_running(), 0);
}

static char path[64];

static json_t *read_result(void)
{
    json_error_t error;
    json_t *document = json_load_file(path, 0, &error);
    ck_assert_msg(document != NULL, "%s", error.text);
    return document;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

// Not before 2.3 of ocl-icd, nor before 3.0.0 of Khronos' loader.
static bool loader_has_layers(void)
{
    char command[2048];
    snprintf(command, sizeof command,
             "HUSK_TEST_BUILDS= OPENCL_LAYERS='%s' HUSK_TEST_FAULTS=nonsense '%s' devices > /dev/null 2>&1 < /dev/null",
             HUSK_TEST_LAYER, HUSK_CLBENCH);
    return system(command) != 0;
}

#define CASES                                                                                             \
    "softmax outer=4 axis=50 pool kind=max c=4 h=8 w=8 r=2 s=2 activation count=100 unary count=6000000 " \
    "reduce outer=2 axis=64 binary rows=8 columns=16"

static const struct {
    const char *op, *state, *reason;
} planted[] = {
    {"softmax", "timeout", "while running for the first time"},
    {"pool", "error", "the driver or Husk crashed: SIGSEGV"},
    {"activation", "failed", "1 of 100 outputs wrong"},
    {"unary", "error", "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {"reduce", "ok", ""},
    {"binary", "ok", ""},
};

START_TEST(every_fault_costs_its_row_and_no_other)
{
    char arguments[400];
    // The layer by itself does no harm, and the caches are warm afterwards: the limit below is then for the hang.
    expect("", "", "run --quick --baseline none " CASES, 0);
    snprintf(arguments, sizeof arguments, "run --quick --max-time 12s --baseline none --json %s " CASES, path);
    expect("",
           "hang clFinish after=softmax; crash clEnqueueNDRangeKernel kernel=pool;"
           "corrupt clEnqueueReadBuffer after=activation; fail=-4 clCreateBuffer over=20000000",
           arguments, 3);
    json_t *document = read_result(), *rows = json_object_get(document, "results");
    ck_assert_uint_eq(json_array_size(rows), sizeof planted / sizeof *planted);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        ck_assert_str_eq(text_of(row, "op"), planted[i].op);
        ck_assert_msg(!strcmp(text_of(row, "state"), planted[i].state), "%s: %s: %s", planted[i].op,
                      text_of(row, "state"), text_of(row, "reason"));
        ck_assert_msg(strstr(text_of(row, "reason"), planted[i].reason) != NULL, "%s", text_of(row, "reason"));
        char again[200];
        snprintf(again, sizeof again, "again: clbench run %s\n", text_of(row, "case"));
        ck_assert_msg((strstr(output, again) == NULL) == !strcmp(planted[i].state, "ok"), "%.4000s", output);
    }
    json_decref(document);
    expect_nothing_running();
}
END_TEST

START_TEST(the_exit_code_says_the_worst)
{
    // A hang alone is 124, a crash alone 1.
    expect("", "hang clFinish after=softmax",
           "run --quick --max-time 10s --baseline none softmax outer=4 axis=50 activation count=100", 124);
    expect("", "crash clEnqueueNDRangeKernel kernel=pool",
           "run --quick --baseline none pool kind=max c=4 h=8 w=8 r=2 s=2 activation count=100", 1);
    expect_nothing_running();
}
END_TEST

// A driver that hangs while it is opened is given --max-time, too.
START_TEST(a_device_that_does_not_open_is_given_up)
{
    expect("", "hang clCreateContext", "run --max-time 5s --baseline none activation count=100", 1);
    expect_said("no answer within 5 s while opening the device");
    expect("", "hang clCreateContext", "devices --max-time 5s", 1);
    expect_said("no answer within 5 s while opening the device");
    expect_nothing_running();
}
END_TEST

START_TEST(events_that_lie_are_not_trusted)
{
    char arguments[200];
    snprintf(arguments, sizeof arguments, "run --quick --baseline none activation count=100 --json %s", path);
    expect("", "scale=2 clGetEventProfilingInfo", arguments, 0);
    expect_said("events are not to be trusted");
    json_t *document = read_result(), *timer = json_object_get(document, "timer");
    ck_assert(json_is_false(json_object_get(timer, "events_trusted")));
    ck_assert_double_gt(json_number_value(json_object_get(timer, "trust_ratio")), 1.25);
    json_decref(document);
}
END_TEST

static bool is_cpu(const json_t *document)
{
    const json_t *traits = json_object_get(json_object_get(document, "device"), "traits");
    return !strcmp(text_of(traits, "class"), "CPU");
}

// From the second case on, threads spin on every processor. A machine that was busy before is not slower for them, and
// a GPU never is.
START_TEST(a_load_in_the_middle_is_noticed)
{
    char arguments[300];
    snprintf(
        arguments, sizeof arguments,
        "run --quick --baseline none activation count=100 reduce outer=2 axis=64 binary rows=8 columns=16 --json %s",
        path);
    expect("", "load=0 clEnqueueNDRangeKernel kernel=reduce nth=1", arguments, 0);
    json_t *document = read_result(), *rows = json_object_get(document, "results");
    if (is_cpu(document)) {
        const json_t *drift = json_object_get(json_array_get(rows, 2), "sentinel_drift");
        expect_said("The machine's speed changed by up to");
        ck_assert_double_gt(fabs(json_number_value(drift)), 0.03);
    }
    json_decref(document);
    expect_nothing_running();
}
END_TEST

// A driver that does nothing from the fourth launch on, when the result has been verified.
START_TEST(a_device_that_does_nothing_is_wrong)
{
    expect("", "skip clEnqueueNDRangeKernel kernel=softmax nth=5+",
           "run --quick --baseline none softmax outer=2 axis=40 activation count=100", 3);
    expect_said("the verified run was right, and the last that was timed is not");
    expect_said("1 of 2 results are WRONG");
}
END_TEST

// Peaks that a slow answer makes too low: rows cannot be as fast as they are.
START_TEST(what_is_too_fast_is_suspect)
{
    char arguments[200];
    snprintf(arguments, sizeof arguments, "run --quick --baseline none softmax outer=64 axis=1024 --json %s", path);
    expect("", "delay=10 clFinish after=husk_bench", arguments, 1);
    expect_said("suspect");
    json_t *document = read_result();
    const json_t *row = json_array_get(json_object_get(document, "results"), 0);
    ck_assert_msg(strstr(text_of(row, "reason"), "measured cache bandwidth") != NULL, "%s", text_of(row, "reason"));
    json_decref(document);
}
END_TEST

// One that dies when it tidies up has been measured before, and its successor measures the rest. A device that dies of
// being measured has no peaks, and rows nevertheless.
START_TEST(what_fails_beside_the_rows_is_said)
{
    const char *two = "run --quick --baseline none activation count=100 reduce outer=2 axis=64";
    // The first two that are released are those of the run between guard bands.
    expect("HUSK_LIMITS=pooled_memory=0", "crash clReleaseMemObject after=activation nth=3", two, 0);
    expect_said("after activation count=100: the driver or Husk crashed: SIGSEGV");
    expect_said("All 2 results are right");
    expect("", "crash clEnqueueNDRangeKernel kernel=husk_bench_fma", two, 0);
    expect_said("peaks could not be measured: the driver or Husk crashed");
    expect_said("All 2 results are right");
    expect("", "fail=-36 clFinish after=activation", two, 1); // the device is lost: a new worker, a new context
    expect_said("HUSK_DEVICE_LOST");
    expect_said("1 of 2 results are right");
    expect("", "crash clCreateContext", two, 1);
    expect_said("while opening the device");
    expect_nothing_running();
}
END_TEST

// Whatever ends clbench, no worker outlives it: not even one that hangs in its driver.
START_TEST(no_worker_outlives_its_parent)
{
    setenv("OPENCL_LAYERS", HUSK_TEST_LAYER, 1);
    setenv("HUSK_TEST_FAULTS", "hang clFinish after=activation", 1);
    setenv("HUSK_TEST_MARK", strchr(mark, '=') + 1, 1);
    pid_t pid = fork();
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stdout) || dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
            _exit(98);
        execl(HUSK_CLBENCH, "clbench", "run", "--quick", "--baseline", "none", "activation", "count=100", NULL);
        _exit(99);
    }
    unsetenv("HUSK_TEST_MARK");
    unsetenv("OPENCL_LAYERS");
    unsetenv("HUSK_TEST_FAULTS");
    for (int i = 0; i < 500 && left_running() < 2; i++)
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    ck_assert_int_ge(left_running(), 2);
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    expect_nothing_running();
}
END_TEST

// PoCL's two drivers are two devices, whatever it calls them.
START_TEST(all_devices_are_measured_in_one_run)
{
    char arguments[200];
    snprintf(arguments, sizeof arguments, "run -d all --quick --baseline none activation count=100 --json %s", path);
    expect("POCL_DEVICES='pthread basic'", "", arguments, 0);
    json_t *document = read_result(), *rows = json_object_get(document, "results");
    const json_t *devices = json_object_get(document, "devices");
    if (strstr(text_of(json_array_get(devices, 0), "platform"), "Portable")) {
        ck_assert_uint_eq(json_array_size(devices), 2);
        ck_assert_uint_eq(json_array_size(rows), 2);
        for (int i = 0; i < 2; i++) {
            const json_t *row = json_array_get(rows, (size_t)i);
            ck_assert_int_eq(json_integer_value(json_object_get(row, "device")), i);
            ck_assert_str_eq(text_of(row, "state"), "ok");
            expect_said(text_of(json_array_get(devices, (size_t)i), "name"));
        }
        ck_assert_str_ne(text_of(json_array_get(devices, 0), "name"), text_of(json_array_get(devices, 1), "name"));
        ck_assert_ptr_nonnull(strstr(text_of(json_array_get(rows, 1), "reproduce"), " -d 0:1"));
    }
    json_decref(document);
    // A preference that nothing fits is said, and costs the others nothing.
    snprintf(arguments, sizeof arguments,
             "run -d nothing-such -d 0:0 --quick --baseline none activation count=100 --json %s", path);
    expect("", "", arguments, 6);
    expect_said("no device fits");
    document = read_result();
    ck_assert_uint_eq(json_array_size(json_object_get(document, "results")), 1);
    json_decref(document);
}
END_TEST

static size_t count_said(const char *part)
{
    size_t count = 0;
    for (const char *at = output; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

START_TEST(every_command_takes_all_devices)
{
    static const char *const two = "POCL_DEVICES='pthread basic'";
    char arguments[300];
    expect(two, "", "devices --json", 0);
    if (count_said("\"is_default\"") != 2 || !strstr(output, "Portable"))
        return;
    expect(two, "", "verify -d all activation count=100", 0);
    ck_assert_uint_eq(count_said(": 1 cases, every variant"), 2);
    expect(two, "", "verify -d 0:1 -d 0:0 activation count=100 -n", 0);
    ck_assert_uint_eq(count_said("\n  0:"), 2);
    expect(two, "", "devices -d nothing-such", 6);
    expect_said("no device fits");
    if (!test_is_long()) // what follows takes minutes where nothing is compiled yet
        return;
    snprintf(arguments, sizeof arguments, "tune -d all --budget 20s activation count=100; rm -f %s.tuning", path);
    char environment[200];
    snprintf(environment, sizeof environment, "%s HUSK_TUNING=%s.tuning", two, path);
    expect(environment, "", arguments, 0);
    ck_assert_uint_eq(count_said("1 of 1 cases"), 2);
    expect(two, "", "overhead -d all --json", 0);
    const char *array = strstr(output, "[\n"); // among what is said of the progress
    ck_assert_ptr_nonnull(array);
    json_t *list = json_loads(array, JSON_DISABLE_EOF_CHECK, NULL);
    ck_assert_uint_eq(json_array_size(list), 12);
    ck_assert_str_ne(text_of(json_array_get(list, 0), "device"), text_of(json_array_get(list, 11), "device"));
    json_decref(list);
    expect(two, "", "devices -d 0:1 --json", 0);
    ck_assert_uint_eq(count_said("\"is_default\""), 1);
    expect(two, "", "devices -d all", 0);
    ck_assert_uint_eq(count_said("     class        CPU"), 2);
    // What is measured beside the rows is measured of each device, and stands with it.
    snprintf(arguments, sizeof arguments,
             "run -d all --quick --baseline none activation count=100 --startup --max-time 1s --json %s", path);
    run(two, "", arguments);
    json_t *document = read_result();
    const json_t *second = json_array_get(json_object_get(document, "devices"), 1);
    if (json_array_size(json_object_get(document, "devices")) == 2) {
        ck_assert(json_is_object(json_object_get(document, "startup")));
        ck_assert(json_is_object(json_object_get(second, "startup")));
    }
    json_decref(document);
}
END_TEST

// ---- compilers that crash ----

static char folder[80], with_cache[200]; // of the cache of binaries, and the environment that has it there

static void begin_cache(void)
{
    snprintf(folder, sizeof folder, "%s.cache", path);
    snprintf(with_cache, sizeof with_cache, "HUSK_CACHE=1 XDG_CACHE_HOME=%s", folder);
}

static void end_cache(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

// How many programs are marked as having crashed; they are unmarked where that is wanted.
static int marks(bool are_removed)
{
    char command[300];
    snprintf(command, sizeof command, "for f in %s/husk/*.crashed; do [ ! -f $f ] || { echo; %s; }; done", folder,
             are_removed ? "rm $f" : ":");
    FILE *pipe = popen(command, "r");
    int count = 0;
    for (int c; pipe && (c = fgetc(pipe)) != EOF;)
        count += c == '\n';
    ck_assert_int_eq(pclose(pipe), 0);
    return count;
}

#define ROWS_CRASH "clBuildProgram kernel=husk_softmax_rows"
#define TWO_CASES  "softmax outer=4 axis=50 activation count=100"

// Its row says so and with what, the others are right; and from then on the library does without that program, until
// the file that the row names is gone.
START_TEST(a_compiler_that_crashes_costs_its_row)
{
    begin_cache();
    expect(with_cache, "crash=5 " ROWS_CRASH, "verify " TWO_CASES, 1);
    expect_said("the driver's compiler crashed (SIGTRAP) while building softmax/rows.cl with \"-cl-std=CL1.2");
    expect_said("Husk does without that program until");
    expect_said("5 configurations right, 0 wrong, 2 ended with an error");
    ck_assert_int_eq(marks(false), 1);
    expect(with_cache, "", "run --quick --baseline none " TWO_CASES, 0); // another variant
    expect_said("All 2 results are right");
    expect(with_cache, "", "verify --variant rows softmax outer=4 axis=50", 1);
    expect_said("has crashed the driver's compiler (SIGTRAP, as clbench saw); delete ");
    ck_assert_int_eq(marks(true), 1);
    expect(with_cache, "", "verify --variant rows softmax outer=4 axis=50", 0);
    expect_nothing_running();
    end_cache();
}
END_TEST

// What crashes while a program is built, since something ran before, is not that program's fault.
START_TEST(a_crash_that_came_of_an_earlier_kernel_marks_nothing)
{
    begin_cache();
    expect(with_cache, "crash clBuildProgram kernel=husk_softmax after=husk_activation",
           "verify activation count=100 softmax outer=4 axis=50", 1);
    expect_said("crashed (SIGSEGV) while building softmax/");
    expect_said("which is not held against the program: a new process that has launched nothing does not crash there");
    ck_assert_int_eq(marks(false), 0);
    expect_nothing_running();
    end_cache();
}
END_TEST

START_TEST(a_compiler_may_crash_under_every_command)
{
    char arguments[200];
    begin_cache();
    expect(with_cache, "crash=6 " ROWS_CRASH, "run --quick --baseline none " TWO_CASES, 1);
    expect_said("the driver's compiler crashed (SIGABRT) while building softmax/rows.cl");
    expect_said("1 of 2 results are right, none is wrong. 1 ended with an error.");
    ck_assert_int_eq(marks(true), 1);
    snprintf(arguments, sizeof arguments, "tune -q --budget 30s softmax outer=4 axis=50; rm -f %s.tuning", path);
    char environment[400];
    snprintf(environment, sizeof environment, "%s HUSK_TUNING=%s.tuning", with_cache, path);
    run(environment, "crash " ROWS_CRASH, arguments);
    expect_said("the driver's compiler crashed (SIGSEGV) while building softmax/rows.cl");
    ck_assert_int_eq(marks(true), 1);
    snprintf(environment, sizeof environment, "%s HUSK_ENGINES=soft_nv_mma", with_cache);
    expect(environment, "crash=4 clBuildProgram", "devices", 0);
    expect_said("unknown: the driver's compiler crashed (SIGILL) while building runtime/engine_probe.cl");
    ck_assert_int_eq(marks(true), 1);
    expect_nothing_running();
    end_cache();
}
END_TEST

START_TEST(the_doctor_names_a_compiler_that_crashes)
{
    begin_cache();
    run(with_cache, "crash clBuildProgram nth=1", "doctor");
    expect_said("does not end well: the driver's compiler crashed (SIGSEGV) while building");
    ck_assert_int_ge(marks(true), 1);
    expect_nothing_running();
    end_cache();
}
END_TEST

// Drivers that compile a kernel when it is launched crash there: the kernel is named, and nothing is held against it.
START_TEST(a_crash_at_a_first_launch_names_the_kernel)
{
    begin_cache();
    expect(with_cache, "crash clEnqueueNDRangeKernel nth=1", "verify activation count=100", 1);
    expect_said("crashed: SIGSEGV");
    expect_said("the last kernel launched for the first time was husk_");
    expect(with_cache, "crash clEnqueueNDRangeKernel kernel=husk_softmax_rows",
           "verify --variant rows softmax outer=4 axis=50", 1);
    expect_said("while running for the first time; the last kernel launched for the first time was husk_softmax_rows "
                "of softmax/rows.cl: it may have crashed, or the driver's compiler");
    ck_assert_int_eq(marks(false), 0);
    // What has been launched before is none of the compiler's.
    expect(with_cache, "crash clEnqueueNDRangeKernel kernel=husk_softmax_rows nth=2",
           "verify --variant rows softmax outer=4 axis=50", 1);
    ck_assert_ptr_null(strstr(output, "launched for the first time"));
    expect_nothing_running();
    end_cache();
}
END_TEST

// A process that is ended from outside while it builds, or that is too slow for its limit, says nothing of the
// compiler; nor is anything kept where there is no cache.
START_TEST(a_build_that_is_ended_is_not_held_against_its_program)
{
    begin_cache();
    expect(with_cache, "crash=9 " ROWS_CRASH, "verify --variant rows softmax outer=4 axis=50", 1);
    expect_said("ended from outside, perhaps since memory was short: SIGKILL (Killed) while building softmax/rows.cl");
    expect(with_cache, "hang " ROWS_CRASH, "verify --max-time 5s --variant rows softmax outer=4 axis=50", 124);
    expect_said("no answer within 5 s while building softmax/rows.cl with");
    ck_assert_int_eq(marks(false), 0);
    expect("HUSK_CACHE=0", "crash=5 " ROWS_CRASH, "verify --variant rows softmax outer=4 axis=50", 1);
    expect_said("the driver's compiler crashed (SIGTRAP) while building softmax/rows.cl");
    ck_assert_ptr_null(strstr(output, "does without"));
    expect_nothing_running();
    end_cache();
}
END_TEST

int main(void)
{
    char made[] = "/tmp/husk-test-isolation-XXXXXX";
    int descriptor = mkstemp(made);
    if (descriptor < 0)
        return EXIT_FAILURE;
    close(descriptor);
    snprintf(path, sizeof path, "%s", made);
    snprintf(mark, sizeof mark, "HUSK_TEST_MARK=%s-%ld", made + strlen(made) - 6, (long)getpid());
    if (!loader_has_layers()) {
        puts("this OpenCL loader knows no layers: nothing is planted");
        unlink(path);
        return 77; // CTest says "skipped"
    }
    TCase *tests = tcase_create("isolation");
    tcase_set_timeout(tests, 250);
    tcase_add_test(tests, every_fault_costs_its_row_and_no_other);
    tcase_add_test(tests, the_exit_code_says_the_worst);
    tcase_add_test(tests, a_device_that_does_not_open_is_given_up);
    tcase_add_test(tests, events_that_lie_are_not_trusted);
    tcase_add_test(tests, a_load_in_the_middle_is_noticed);
    tcase_add_test(tests, a_device_that_does_nothing_is_wrong);
    tcase_add_test(tests, what_is_too_fast_is_suspect);
    tcase_add_test(tests, what_fails_beside_the_rows_is_said);
    tcase_add_test(tests, no_worker_outlives_its_parent);
    tcase_add_test(tests, all_devices_are_measured_in_one_run);
    tcase_add_test(tests, every_command_takes_all_devices);
    tcase_add_test(tests, a_compiler_that_crashes_costs_its_row);
    tcase_add_test(tests, a_crash_that_came_of_an_earlier_kernel_marks_nothing);
    tcase_add_test(tests, a_compiler_may_crash_under_every_command);
    if (test_is_long())
        tcase_add_test(tests, the_doctor_names_a_compiler_that_crashes);
    tcase_add_test(tests, a_crash_at_a_first_launch_names_the_kernel);
    tcase_add_test(tests, a_build_that_is_ended_is_not_held_against_its_program);
    Suite *suite = suite_create("clbench isolation");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    unlink(path);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
