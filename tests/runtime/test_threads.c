// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=120 processors=2
// The driver's threads: each is bound to a CPU of its own, or all stay as they were, and the reason is told. What they
// may run on is read from the system. This program is also each of the processes that meet.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <husk/opencl.h>

#include "os/thread.h"
#include "support/environment.h"
#include "support/support.h"
#include "support/wrong_kernels.h"

// ---- a driver's and a system's other answers ----

typedef enum enqueue_answer { RUNS, REFUSES, LOSES_SECOND, DELAYS_SECOND, RUNS_HERE } enqueue_answer;

static struct {
    cl_uint units;      // 0: the driver's own
    cl_device_type type;
    bool has_no_native_kernels;
    enqueue_answer enqueue;
    int refused_binding; // the so manieth is; 0: none
    int enqueued, bindings;
} planted;

cl_int __real_clGetDeviceInfo(cl_device_id id, cl_device_info info, size_t size, void *value, size_t *needed);
cl_int __wrap_clGetDeviceInfo(cl_device_id id, cl_device_info info, size_t size, void *value, size_t *needed);
cl_int __real_clEnqueueNativeKernel(cl_command_queue queue, void(CL_CALLBACK *function)(void *), void *arguments,
                                    size_t size, cl_uint mem_count, const cl_mem *mems, const void **places,
                                    cl_uint count, const cl_event *events, cl_event *event);
cl_int __wrap_clEnqueueNativeKernel(cl_command_queue queue, void(CL_CALLBACK *function)(void *), void *arguments,
                                    size_t size, cl_uint mem_count, const cl_mem *mems, const void **places,
                                    cl_uint count, const cl_event *events, cl_event *event);
int __real_sched_setaffinity(pid_t thread, size_t size, const cpu_set_t *set);
int __wrap_sched_setaffinity(pid_t thread, size_t size, const cpu_set_t *set);

cl_int __wrap_clGetDeviceInfo(cl_device_id id, cl_device_info info, size_t size, void *value, size_t *needed)
{
    const cl_int code = __real_clGetDeviceInfo(id, info, size, value, needed);
    if (info == CL_DEVICE_MAX_COMPUTE_UNITS && value && planted.units > 0)
        *(cl_uint *)value = planted.units;
    if (info == CL_DEVICE_TYPE && value && planted.type != 0)
        *(cl_device_type *)value = planted.type;
    if (info == CL_DEVICE_EXECUTION_CAPABILITIES && value && planted.has_no_native_kernels)
        *(cl_device_exec_capabilities *)value = CL_EXEC_KERNEL;
    return code;
}

cl_int __wrap_clEnqueueNativeKernel(cl_command_queue queue, void(CL_CALLBACK *function)(void *), void *arguments,
                                    size_t size, cl_uint mem_count, const cl_mem *mems, const void **places,
                                    cl_uint count, const cl_event *events, cl_event *event)
{
    const bool is_second = ++planted.enqueued == 2;
    if (planted.enqueue == REFUSES)
        return CL_INVALID_OPERATION;
    if (planted.enqueue == LOSES_SECOND && is_second)
        return CL_SUCCESS;
    if (planted.enqueue == DELAYS_SECOND && is_second)
        nanosleep(&(struct timespec){1, 200000000}, NULL);
    if (planted.enqueue == RUNS_HERE) {
        function(arguments);
        return CL_SUCCESS;
    }
    return __real_clEnqueueNativeKernel(queue, function, arguments, size, mem_count, mems, places, count, events,
                                        event);
}

int __wrap_sched_setaffinity(pid_t thread, size_t size, const cpu_set_t *set)
{
    if (__atomic_add_fetch(&planted.bindings, 1, __ATOMIC_SEQ_CST) == planted.refused_binding) {
        errno = EPERM;
        return -1;
    }
    return __real_sched_setaffinity(thread, size, set);
}

// ---- what the system says of this process's threads ----

enum { MOST_TASKS = 512 };

typedef struct task {
    long number;
    int only; // the only CPU that it may run on; -1: there are several
    cpu_set_t set;
} task;

static task tasks[MOST_TASKS];
static int task_count;

static int by_number(const void *a, const void *b)
{
    const long x = ((const task *)a)->number, y = ((const task *)b)->number;
    return (x > y) - (x < y);
}

/* All but the calling one. */
static void read_tasks(void)
{
    DIR *directory = opendir("/proc/self/task");
    memset(tasks, 0, sizeof tasks);
    task_count = 0;
    for (struct dirent *entry; directory && (entry = readdir(directory)) && task_count < MOST_TASKS;) {
        task *t = &tasks[task_count];
        t->number = atol(entry->d_name);
        if (t->number == 0 || t->number == husk__thread_number() ||
            sched_getaffinity((pid_t)t->number, sizeof t->set, &t->set) != 0)
            continue;
        t->only = -1;
        for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&t->set) == 1; cpu++)
            t->only = CPU_ISSET(cpu, &t->set) ? cpu : t->only;
        task_count++;
    }
    if (directory)
        closedir(directory);
    qsort(tasks, (size_t)task_count, sizeof *tasks, by_number);
}

/* The thread that is bound to this CPU, as no other one is. */
static long bound_to(int cpu)
{
    long found = 0;
    int count = 0;
    for (int i = 0; i < task_count; i++)
        if (tasks[i].only == cpu) {
            found = tasks[i].number;
            count++;
        }
    ck_assert_msg(count == 1, "%d threads are bound to CPU %d", count, cpu);
    return found;
}

static task before[MOST_TASKS];
static int before_count;

static void remember_tasks(void)
{
    read_tasks();
    memcpy(before, tasks, sizeof tasks);
    before_count = task_count;
}

static void expect_tasks_as_remembered(void)
{
    read_tasks();
    ck_assert_int_eq(task_count, before_count);
    for (int i = 0; i < task_count; i++)
        ck_assert_msg(tasks[i].number == before[i].number && CPU_EQUAL(&tasks[i].set, &before[i].set),
                      "thread %ld may run elsewhere", tasks[i].number);
}

// ---- the subject ----

static cpu_set_t own; // what the program was started with
static char folder[] = "/tmp/husk-threads-XXXXXX";
static husk_context *context;
static husk_error error;
static cl_uint units;
static int cpus[MOST_TASKS]; // as many as the driver has threads

static void allow_all(void)
{
    ck_assert_int_eq(__real_sched_setaffinity(0, sizeof own, &own), 0);
}

/* Of the CPUs that this program has, as many as there are threads: where there are as many. */
static bool take_cpus(void)
{
    cl_uint found = 0;
    cpu_set_t some;
    CPU_ZERO(&some);
    for (int cpu = 0; cpu < CPU_SETSIZE && found < units; cpu++)
        if (CPU_ISSET(cpu, &own)) {
            cpus[found++] = cpu;
            CPU_SET(cpu, &some);
        }
    return found == units && __real_sched_setaffinity(0, sizeof some, &some) == 0;
}

/* Whether threads can be bound here at all, with a CPU for each of them. */
static bool can_bind(void)
{
    bool bound;
    context = test_context();
    clGetDeviceInfo(husk_context_opencl_device(context), CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    const bool can = husk_context_threads_bound(context, &bound, &error) == HUSK_OK && take_cpus();
    if (!can)
        printf("not tried here: %s\n", error.text);
    return can;
}

static void setup(void)
{
    ck_assert_int_eq(sched_getaffinity(0, sizeof own, &own), 0);
    ck_assert_ptr_nonnull(mkdtemp(strcpy(folder, "/tmp/husk-threads-XXXXXX")));
    test_setenv("XDG_CACHE_HOME", folder); // this test's processes alone meet there
    memset(&planted, 0, sizeof planted);
    memset(&error, 0, sizeof error);
}

static void teardown(void)
{
    memset(&planted, 0, sizeof planted);
    allow_all();
    test_restore_environment();
    test_remove_kernels(folder);
}

static void expect_refused(const int *named, size_t count, husk_status wanted, const char *text)
{
    memset(&error, 0, sizeof error);
    const husk_status status = husk_context_bind_threads(context, named, count, &error);
    ck_assert_msg(status == wanted, "%s instead of %s: %s", husk_status_name(status), husk_status_name(wanted),
                  error.text);
    ck_assert_int_eq(error.status, wanted);
    ck_assert_msg(strstr(error.text, "husk_context_bind_threads: ") == error.text && strstr(error.text, text),
                  "\"%s\" is not in: %s", text, error.text);
}

/* Bound in this order, the first thread to the first. */
static void expect_bound(const int *wanted)
{
    bool bound = false;
    test_ok_error(husk_context_threads_bound(context, &bound, &error), &error);
    ck_assert(bound);
    read_tasks();
    for (cl_uint i = 1; i < units; i++)
        ck_assert_int_lt(bound_to(wanted[i - 1]), bound_to(wanted[i]));
    ck_assert_int_gt(bound_to(wanted[0]), 0);
}

START_TEST(each_thread_gets_a_cpu_of_its_own)
{
    if (!can_bind())
        return;
    test_ok_error(husk_context_bind_threads(context, NULL, 0, &error), &error);
    expect_bound(cpus);
    remember_tasks();
    test_ok_error(husk_context_bind_threads(context, NULL, 0, &error), &error); // again
    expect_tasks_as_remembered();

    husk_context *other;
    test_ok_error(husk_context_create(NULL, NULL, &other, &error), &error);
    test_ok_error(husk_context_bind_threads(other, NULL, 0, &error), &error); // of the same process
    husk_context_release(other);
    expect_tasks_as_remembered();
}
END_TEST

START_TEST(named_cpus_are_given_out_in_their_order)
{
    if (!can_bind())
        return;
    int swapped[MOST_TASKS];
    for (cl_uint i = 0; i < units; i++)
        swapped[i] = cpus[units - 1 - i];
    test_ok_error(husk_context_bind_threads(context, swapped, units, &error), &error);
    expect_bound(swapped);
    test_ok_error(husk_context_bind_threads(context, cpus, units, &error), &error);
    expect_bound(cpus);
}
END_TEST

START_TEST(a_thread_among_all_cpus_is_not_bound)
{
    bool bound = true;
    if (!can_bind() || units < 2)
        return;
    test_ok_error(husk_context_bind_threads(context, cpus, units, &error), &error);
    read_tasks();
    const long first = bound_to(cpus[0]);
    ck_assert_int_eq(__real_sched_setaffinity((pid_t)first, sizeof own, &own), 0);
    test_ok_error(husk_context_threads_bound(context, &bound, &error), &error);
    ck_assert(!bound);
    cpu_set_t last; // two on one CPU
    CPU_ZERO(&last);
    CPU_SET(cpus[units - 1], &last);
    ck_assert_int_eq(__real_sched_setaffinity((pid_t)first, sizeof last, &last), 0);
    test_ok_error(husk_context_threads_bound(context, &bound, &error), &error);
    ck_assert(!bound);
    test_ok_error(husk_context_bind_threads(context, cpus, units, &error), &error);
    expect_bound(cpus);
}
END_TEST

START_TEST(arguments_that_break_a_rule_are_refused)
{
    bool bound = true;
    ck_assert_int_eq(husk_context_bind_threads(NULL, NULL, 0, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_context_threads_bound(NULL, &bound, NULL), HUSK_INVALID_ARGUMENT);
    ck_assert(!bound);
    ck_assert_int_eq(husk_context_threads_bound(test_context(), NULL, NULL), HUSK_INVALID_ARGUMENT);
    context = test_context();
    expect_refused(NULL, 3, HUSK_INVALID_ARGUMENT, "cpus: is NULL, and count is 3");
    if (!can_bind())
        return;
    remember_tasks();
    expect_refused(cpus, units - 1, HUSK_INVALID_ARGUMENT, "count: is ");
    expect_refused((int[]){-1}, 1, HUSK_INVALID_ARGUMENT, "cpus: element 0 is -1, must not be negative");
    expect_refused((int[]){cpus[0], cpus[0]}, 2, HUSK_INVALID_ARGUMENT, "cpus: element 1 names CPU ");
    expect_refused((int[]){cpus[0], 1 << 28}, 2, HUSK_INVALID_ARGUMENT,
                   "cpus: element 1 is CPU 268435456, which the calling thread may not use");
    expect_tasks_as_remembered();
}
END_TEST

START_TEST(other_numbers_of_threads_than_cpus_need_names)
{
    if (!can_bind())
        return;
    remember_tasks();
    planted.units = units + 1;
    expect_refused(NULL, 0, HUSK_UNSUPPORTED, "more threads");
    planted.units = units - 1;
    if (planted.units > 0)
        expect_refused(NULL, 0, HUSK_UNSUPPORTED, "name the CPUs that are for this one");
    expect_tasks_as_remembered();
}
END_TEST

START_TEST(devices_without_such_threads_are_refused)
{
    bool bound = true;
    planted.type = CL_DEVICE_TYPE_GPU;
    test_ok_error(husk_context_create(NULL, NULL, &context, &error), &error);
    expect_refused(NULL, 0, HUSK_UNSUPPORTED, "the device is no CPU");
    ck_assert_int_eq(husk_context_threads_bound(context, &bound, &error), HUSK_UNSUPPORTED);
    ck_assert(!bound);
    husk_context_release(context);
    planted.type = 0;
    if (!can_bind())
        return;
    remember_tasks();
    planted.has_no_native_kernels = true;
    expect_refused(NULL, 0, HUSK_UNSUPPORTED, "the driver runs no native kernels");
    planted.has_no_native_kernels = false;
    planted.enqueue = REFUSES;
    expect_refused(NULL, 0, HUSK_UNSUPPORTED, "the driver runs no native kernels");
    ck_assert_int_eq(error.opencl_code, CL_INVALID_OPERATION);
    planted.enqueue = RUNS_HERE;
    expect_refused(NULL, 0, HUSK_UNSUPPORTED, "computes on the thread that calls it");
    expect_tasks_as_remembered();
    planted.enqueue = RUNS;
    test_ok_error(husk_context_bind_threads(context, NULL, 0, &error), &error); // nothing is left of all that
}
END_TEST

/* All or none: one that comes late, or never, leaves the others as they were. */
START_TEST(threads_that_do_not_come_leave_the_others_alone)
{
    if (!can_bind() || units < 2)
        return;
    remember_tasks();
    planted.enqueued = 0;
    planted.enqueue = LOSES_SECOND;
    expect_refused(NULL, 0, HUSK_UNSUPPORTED, "threads came within a second");
    planted.enqueued = 0;
    planted.enqueue = DELAYS_SECOND;
    expect_refused(NULL, 0, HUSK_UNSUPPORTED, "threads came within a second");
    expect_tasks_as_remembered();
}
END_TEST

START_TEST(a_thread_that_cannot_be_bound_leaves_the_others_as_they_were)
{
    if (!can_bind())
        return;
    remember_tasks();
    int swapped[MOST_TASKS];
    for (cl_uint i = 0; i < units; i++)
        swapped[i] = cpus[units - 1 - i];
    planted.bindings = 0;
    planted.refused_binding = (int)units;
    expect_refused(swapped, units, HUSK_UNSUPPORTED, "the system does not let the driver's threads be bound");
    expect_tasks_as_remembered();
}
END_TEST

// ---- several processes ----

typedef struct other {
    pid_t pid;
    int to, from;
    char said[400];
} other;

/* Another process of this program, on these CPUs alone, with so many threads; it says how its call has ended. */
static void begin(other *o, int first, int count, int threads)
{
    int to[2], from[2];
    char number[16];
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int i = 0; i < count; i++)
        CPU_SET(cpus[first + i], &set);
    snprintf(number, sizeof number, "%d", threads);
    ck_assert_int_eq(pipe2(to, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(from, O_CLOEXEC), 0);
    fflush(stdout);
    o->pid = fork();
    if (o->pid == 0) {
        __real_sched_setaffinity(0, sizeof set, &set);
        unsetenv("POCL_AFFINITY"); // by which threads do leave it
        setenv("POCL_MAX_PTHREAD_COUNT", number, 1);
        setenv("POCL_CPU_MAX_CU_COUNT", number, 1);
        setenv("POCL_MAX_COMPUTE_UNITS", number, 1);
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        execl("/proc/self/exe", "test_runtime_threads", "other", (char *)NULL);
        _exit(127);
    }
    ck_assert_int_gt(o->pid, 0);
    close(to[0]);
    close(from[1]);
    o->to = to[1];
    o->from = from[0];
    FILE *file = fdopen(from[0], "r");
    ck_assert_ptr_nonnull(file);
    do // the name of the device may be there before
        ck_assert_ptr_nonnull(fgets(o->said, sizeof o->said, file));
    while (strncmp(o->said, "HUSK_", 5) != 0);
    fclose(file);
}

static void end(other *o)
{
    int status;
    close(o->to);
    ck_assert_int_eq(waitpid(o->pid, &status, 0), o->pid);
    ck_assert_int_eq(status, 0);
}

/* That process. Its first word is of the call, the second of where its threads may run. */
static int be_the_other(void)
{
    char until;
    cpu_set_t mine;
    bool strays = false;
    const husk_status status = husk_context_bind_threads(test_context(), NULL, 0, &error);
    sched_getaffinity(0, sizeof mine, &mine);
    read_tasks();
    for (int i = 0; i < task_count; i++) {
        cpu_set_t both;
        CPU_AND(&both, &mine, &tasks[i].set);
        strays = strays || !CPU_EQUAL(&both, &tasks[i].set);
    }
    printf("%s %s %s\n", husk_status_name(status), strays ? "strays" : "stays", status ? error.text : "");
    fflush(stdout);
    const bool is_over = read(STDIN_FILENO, &until, 1) == 0;
    test_close_device();
    return is_over ? 0 : 1;
}

static bool begins(const other *o, const char *text)
{
    return strncmp(o->said, text, strlen(text)) == 0;
}

START_TEST(two_processes_do_not_bind_to_the_same_cpus)
{
    char name[64];
    other first, second;
    if (!can_bind())
        return;
    remember_tasks();
    begin(&first, 0, (int)units, (int)units);
    ck_assert_msg(begins(&first, "HUSK_OK stays"), "%s", first.said);
    snprintf(name, sizeof name, "process %ld has bound threads", (long)first.pid);
    expect_refused(NULL, 0, HUSK_UNSUPPORTED, name);
    expect_tasks_as_remembered();
    begin(&second, 0, (int)units, (int)units);
    ck_assert_msg(begins(&second, "HUSK_UNSUPPORTED stays"), "%s", second.said);
    end(&second);
    test_ok_error(husk_context_bind_threads(context, cpus, units, &error), &error); // who names them means it
    end(&first);
    test_ok_error(husk_context_bind_threads(context, NULL, 0, &error), &error);
}
END_TEST

START_TEST(processes_on_other_cpus_are_not_in_the_way)
{
    other first, second;
    if (!can_bind() || units < 2)
        return;
    begin(&first, 0, 1, 1);
    begin(&second, 1, 1, 1);
    ck_assert_msg(begins(&first, "HUSK_OK stays"), "%s", first.said);
    ck_assert_msg(begins(&second, "HUSK_OK stays"), "%s", second.said);
    expect_refused(NULL, 0, HUSK_UNSUPPORTED, "has bound threads to the same CPUs");
    end(&first);
    end(&second);
}
END_TEST

/* As with taskset -c 1: more threads than CPUs, and none leaves them. */
START_TEST(no_thread_leaves_the_set_of_the_process)
{
    other one;
    if (!can_bind() || units < 2)
        return;
    begin(&one, (int)units - 1, 1, (int)units);
    ck_assert_msg(begins(&one, "HUSK_UNSUPPORTED stays") && strstr(one.said, "more threads"), "%s", one.said);
    end(&one);
}
END_TEST

START_TEST(without_a_folder_nobody_is_asked)
{
    if (!can_bind())
        return;
    test_setenv("XDG_CACHE_HOME", "/dev/null");
    test_ok_error(husk_context_bind_threads(context, NULL, 0, &error), &error);
    expect_bound(cpus);
}
END_TEST

int main(int count, char **arguments)
{
    if (count == 2 && strcmp(arguments[1], "other") == 0)
        return be_the_other();
    Suite *suite = suite_create("threads");
    TCase *tests = tcase_create("threads");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_thread_that_cannot_be_bound_leaves_the_others_as_they_were);
    tcase_add_test(tests, threads_that_do_not_come_leave_the_others_alone);
    tcase_add_test(tests, devices_without_such_threads_are_refused);
    tcase_add_test(tests, arguments_that_break_a_rule_are_refused);
    tcase_add_test(tests, other_numbers_of_threads_than_cpus_need_names);
    tcase_add_test(tests, two_processes_do_not_bind_to_the_same_cpus);
    tcase_add_test(tests, processes_on_other_cpus_are_not_in_the_way);
    tcase_add_test(tests, no_thread_leaves_the_set_of_the_process);
    tcase_add_test(tests, each_thread_gets_a_cpu_of_its_own);
    tcase_add_test(tests, named_cpus_are_given_out_in_their_order);
    tcase_add_test(tests, a_thread_among_all_cpus_is_not_bound);
    tcase_add_test(tests, without_a_folder_nobody_is_asked);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
