// SPDX-License-Identifier: MIT
// ctest: timeout=30
// What containers, schedulers and taskset leave of a machine, read below a folder that is laid out as they do it.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "system/host.h"

static char root[] = "/tmp/husk-host-XXXXXX";

static void setup(void)
{
    strcpy(root + sizeof root - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static void teardown(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", root);
    ck_assert_int_eq(system(command), 0);
}

// Writes a file below the root, with the folders on its way.
static void put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(full, 0777);
        *at = '/';
    }
    FILE *file = fopen(full, "w");
    ck_assert_msg(file != NULL, "%s", full);
    fputs(text, file);
    fclose(file);
}

static bench_host_limits limits_of(int cores, const char *wanted)
{
    bench_host_limits limits;
    char text[256];
    bench_host_read_limits(root, &limits);
    bench_host_limits_text(&limits, text, sizeof text);
    ck_assert_msg(bench_host_usable_cores(&limits) == cores, "%s", text);
    ck_assert_str_eq(text, wanted);
    return limits;
}

START_TEST(a_machine_without_limits)
{
    put("/sys/devices/system/cpu/online", "0-63\n");
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/cpuset.cpus.effective", "0-63\n");
    limits_of(64, "64 of 64 processors");
    put("/sys/fs/cgroup/user/cpu.max", "max 100000\n");
    put("/proc/self/cgroup", "0::/user\n");
    limits_of(64, "64 of 64 processors");
}
END_TEST

START_TEST(a_quota_of_version_2_is_read_in_every_group_above)
{
    put("/sys/devices/system/cpu/online", "0-63\n");
    put("/proc/self/cgroup", "0::/slice/pod/box\n");
    put("/sys/fs/cgroup/slice/cpu.max", "400000 100000\n");
    put("/sys/fs/cgroup/slice/pod/cpu.max", "150000 100000\n");
    put("/sys/fs/cgroup/slice/pod/box/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/slice/pod/memory.max", "1073741824\n");
    put("/sys/fs/cgroup/slice/pod/box/memory.max", "max\n");
    bench_host_limits limits = limits_of(2, "2 of 64 processors (the control group's quota: 1.5)");
    ck_assert_double_eq_tol(limits.quota, 1.5, 1e-9);
    ck_assert_double_eq(limits.memory, 1073741824);
}
END_TEST

// Docker's view: the path is the host's, and what can be seen is the root of the namespace.
START_TEST(a_path_that_cannot_be_seen_leaves_the_root)
{
    put("/sys/devices/system/cpu/online", "0-7\n");
    put("/proc/self/cgroup", "0::/../../docker/0123abcd\n");
    put("/sys/fs/cgroup/cpu.max", "200000 100000\n");
    limits_of(2, "2 of 8 processors (the control group's quota: 2)");
}
END_TEST

START_TEST(version_1_has_its_own_names)
{
    put("/sys/devices/system/cpu/online", "0-15\n");
    put("/proc/self/cgroup", "4:cpu,cpuacct:/docker/x\n3:cpuset:/docker/x\n2:memory:/docker/x\n1:name=systemd:/\n");
    put("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "350000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/cpuset/docker/x/cpuset.cpus", "2-3,8,10-12\n");
    put("/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "9223372036854771712\n");
    bench_host_limits limits =
        limits_of(4, "4 of 16 processors (the control group's set: 6, the control group's quota: 3.5)");
    ck_assert_int_eq(limits.cpuset, 6);
    ck_assert_double_eq(limits.memory, 0);
    put("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "-1\n");
    limits_of(6, "6 of 16 processors (the control group's set: 6)");
}
END_TEST

// Every other processor of 256, as where their siblings are left out: 128 numbers in a line.
START_TEST(a_long_set_is_read_to_its_end)
{
    char list[1024] = "";
    size_t length = 0;
    for (int i = 0; i < 256; i += 2)
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%d", i ? "," : "", i);
    put("/sys/devices/system/cpu/online", "0-255\n");
    put("/proc/self/cgroup", "0::/box\n");
    put("/sys/fs/cgroup/box/cpuset.cpus.effective", list);
    limits_of(128, "128 of 256 processors (the control group's set: 128)");
}
END_TEST

START_TEST(affinity_counts)
{
    put("/sys/devices/system/cpu/online", "0-3\n");
    put("/proc/self/status", "Name:\tx\nCpus_allowed:\t4\nCpus_allowed_list:\t2\n");
    limits_of(1, "1 of 4 processors (affinity: 1)");
}
END_TEST

START_TEST(nonsense_limits_nothing)
{
    put("/sys/devices/system/cpu/online", "0-3\n");
    put("/proc/self/cgroup", "what\n0:\n::\n0::/a\n");
    put("/sys/fs/cgroup/a/cpu.max", "lots\n");
    put("/sys/fs/cgroup/a/cpuset.cpus.effective", "3-1\n");
    put("/sys/fs/cgroup/cpu.max", "100000 0\n");
    limits_of(4, "4 of 4 processors");
}
END_TEST

START_TEST(caches_and_free_memory_are_read)
{
    put("/sys/devices/system/cpu/cpu0/cache/index0/size", "32K\n");
    put("/sys/devices/system/cpu/cpu0/cache/index1/size", "32K\n");
    put("/sys/devices/system/cpu/cpu0/cache/index2/size", "2M\n");
    put("/sys/devices/system/cpu/cpu0/cache/index3/size", "32768K\n");
    ck_assert_double_eq(bench_host_cache(root), 32768.0 * 1024);
    // Two processors a die, and a last level a die.
    put("/sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list", "0-1\n");
    for (int i = 1; i < 6; i++) {
        char path[128];
        const char *const lists[] = {"0-1\n", "2-3\n", "4-5\n"};
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index0/size", i);
        put(path, "32K\n");
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index1/size", i);
        put(path, "16384K\n");
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index1/shared_cpu_list", i);
        put(path, lists[i / 2]);
    }
    ck_assert_double_eq(bench_host_cache(root), (32768.0 + 2 * 16384) * 1024);
    put("/proc/meminfo", "MemTotal: 1000000 kB\nMemFree: 1 kB\nMemAvailable: 4096 kB\n");
    ck_assert_double_eq(bench_host_free_memory(root), 4096.0 * 1024);
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/memory.max", "2097152\n");
    ck_assert_double_eq(bench_host_free_memory(root), 2097152);
}
END_TEST

START_TEST(this_machine_has_a_core)
{
    json_t *host = bench_host_json();
    ck_assert_int_ge(bench_host_cores(), 1);
    ck_assert_int_eq(json_integer_value(json_object_get(host, "cores")), bench_host_cores());
    ck_assert(json_is_object(json_object_get(host, "limits")));
    json_decref(host);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("host");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_machine_without_limits);
    tcase_add_test(tests, a_quota_of_version_2_is_read_in_every_group_above);
    tcase_add_test(tests, a_path_that_cannot_be_seen_leaves_the_root);
    tcase_add_test(tests, version_1_has_its_own_names);
    tcase_add_test(tests, a_long_set_is_read_to_its_end);
    tcase_add_test(tests, affinity_counts);
    tcase_add_test(tests, nonsense_limits_nothing);
    tcase_add_test(tests, caches_and_free_memory_are_read);
    tcase_add_test(tests, this_machine_has_a_core);
    Suite *suite = suite_create("clbench host");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
