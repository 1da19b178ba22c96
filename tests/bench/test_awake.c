// SPDX-License-Identifier: MIT
// ctest: timeout=30
// Processors of a virtual machine are kept awake at idle priority, where that helps, and only there.
#if defined(__linux__)
#define _GNU_SOURCE // SCHED_IDLE
#endif
#include <check.h>
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "system/awake.h"
#include "system/host.h"

static char root[] = "/tmp/husk-test-awake-XXXXXX";

static void put(const char *path, const char *text)
{
    char full[300];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        mkdir(full, 0700);
    }
    FILE *file = fopen(full, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void expect_wanted(bool wanted, bool is_cpu)
{
    json_t *device = json_pack("{s:{s:b}}", "traits", "is_cpu", is_cpu);
    ck_assert_int_eq(bench_awake_is_wanted(root, device), wanted);
    json_decref(device);
}

START_TEST(it_is_for_cpus_of_virtual_machines_without_a_quota)
{
    char command[100];
    ck_assert_ptr_nonnull(mkdtemp(root));
    put("/sys/devices/system/cpu/online", "0-3\n");
    put("/proc/cpuinfo", "processor\t: 0\nmodel name\t: hypervisor of old\nflags\t\t: fpu vme avx2\n");
    expect_wanted(false, true);
    put("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme hypervisor avx2\n");
    expect_wanted(true, true);
    expect_wanted(false, false); // a GPU's host may sleep
    put("/proc/self/cgroup", "0::/box\n");
    put("/sys/fs/cgroup/box/cpu.max", "max 100000\n");
    expect_wanted(true, true);
    put("/sys/fs/cgroup/box/cpu.max", "150000 100000\n"); // it would be used up
    expect_wanted(false, true);
    put("/sys/fs/cgroup/box/cpu.max", "max 100000\n");
    put("/proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 50.00\n"); // no flags
    expect_wanted(false, true);
    put("/sys/hypervisor/type", "xen\n");
    expect_wanted(true, true);
    snprintf(command, sizeof command, "rm -rf %s", root);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

#if defined(__linux__)
// Threads of the process at idle priority; one that computes at any other would take what is measured its time.
static int count_idle(pid_t pid, int *others)
{
    char path[64];
    int idle = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    ck_assert_ptr_nonnull(tasks);
    *others = 0;
    for (struct dirent *entry; (entry = readdir(tasks));) {
        const int policy = entry->d_name[0] == '.' ? -1 : sched_getscheduler(atoi(entry->d_name));
        idle += policy == SCHED_IDLE;
        *others += policy >= 0 && policy != SCHED_IDLE;
    }
    closedir(tasks);
    return idle;
}

START_TEST(a_thread_for_each_processor_until_it_is_ended)
{
    static const char *const arguments[] = {"clbench", BENCH_AWAKE_ARGUMENT, NULL};
    char reason[BENCH_REASON_TEXT];
    bench_process process;
    bench_host_limits limits;
    int others = 0, idle = 0;
    bench_host_read_limits("", &limits);
    ck_assert_msg(bench_process_start(&process, arguments, NULL, reason), "%s", reason);
    for (int i = 0; i < 1000 && (idle = count_idle(process.pid, &others)) < limits.affinity; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    ck_assert_int_eq(idle, limits.affinity);
    ck_assert_int_eq(others, 1); // which waits for the end
    const pid_t pid = process.pid;
    bench_process_stop(&process);
    ck_assert_int_eq(process.pid, 0);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    ck_assert(access(path, F_OK) != 0);
}
END_TEST
#endif

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], BENCH_AWAKE_ARGUMENT)) // as clbench does, which this program is here
        return bench_awake_serve();
    Suite *suite = suite_create("awake");
    TCase *tests = tcase_create("awake");
    tcase_add_test(tests, it_is_for_cpus_of_virtual_machines_without_a_quota);
#if defined(__linux__)
    tcase_add_test(tests, a_thread_for_each_processor_until_it_is_ended);
#endif
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
