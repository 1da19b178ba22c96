// SPDX-License-Identifier: MIT
#if defined(__linux__)
#define _GNU_SOURCE // sched_getaffinity
#endif
#include "system/host.h"

#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "common/text.h"

static void cpu_name(char *name, size_t size)
{
    char line[512];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(name, size, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (!colon || (strncmp(line, "model name", 10) && strncmp(line, "Model", 5)))
            continue;
        snprintf(name, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    if (file)
        fclose(file);
}

// ---- limits ----

#define UNLIMITED_BYTES 1e17 // what v1 writes where there is no limit is larger

// A file's first line below root; false when it cannot be read.
static bool read_line(const char *root, const char *path, char *line, size_t size)
{
    char full[1024];
    snprintf(full, sizeof full, "%.400s%.600s", root, path);
    FILE *file = fopen(full, "r");
    bool good = file && fgets(line, (int)size, file);
    if (file)
        fclose(file);
    if (good)
        line[strcspn(line, "\n")] = '\0';
    return good;
}

// "0-3,8,10-11" has seven; 0 when it is none.
static int count_list(const char *text)
{
    int count = 0;
    while (*text) {
        char *end = NULL;
        long first = strtol(text, &end, 10), last = first;
        if (end == text || first < 0)
            return 0;
        if (*end == '-') {
            text = end + 1;
            last = strtol(text, &end, 10);
            if (end == text || last < first)
                return 0;
        }
        count += (int)(last - first + 1);
        text = end + strspn(end, ", \n");
        if (text == end && *end)
            return 0;
    }
    return count;
}

static void keep_less(double *value, double other)
{
    if (other > 0 && (*value <= 0 || other < *value))
        *value = other;
}

static void keep_fewer(int *value, int other)
{
    if (other > 0 && (*value <= 0 || other < *value))
        *value = other;
}

// One folder of a hierarchy: v2's files and v1's have different names, so that both may be looked for.
static void read_group(const char *root, const char *folder, bench_host_limits *limits)
{
    char path[600], line[4096]; // a set of every other processor is a long list
    double quota = 0, period = 0;
    snprintf(path, sizeof path, "%.500s/cpu.max", folder);
    if (read_line(root, path, line, sizeof line) && sscanf(line, "%lf %lf", &quota, &period) == 2 && period > 0)
        keep_less(&limits->quota, quota / period);
    snprintf(path, sizeof path, "%.500s/cpu.cfs_quota_us", folder);
    if (read_line(root, path, line, sizeof line) && (quota = atof(line)) > 0) { // -1: none
        snprintf(path, sizeof path, "%.500s/cpu.cfs_period_us", folder);
        if (read_line(root, path, line, sizeof line) && (period = atof(line)) > 0)
            keep_less(&limits->quota, quota / period);
    }
    static const char *const sets[] = {"cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        snprintf(path, sizeof path, "%.500s/%s", folder, sets[i]);
        if (read_line(root, path, line, sizeof line))
            keep_fewer(&limits->cpuset, count_list(line));
    }
    static const char *const memories[] = {"memory.max", "memory.limit_in_bytes"};
    for (size_t i = 0; i < sizeof memories / sizeof *memories; i++) {
        snprintf(path, sizeof path, "%.500s/%s", folder, memories[i]);
        if (read_line(root, path, line, sizeof line) && atof(line) < UNLIMITED_BYTES)
            keep_less(&limits->memory, atof(line));
    }
}

// A group and all above it: each limits what is below. In a container the path may be the host's, and only its
// root can be seen.
static void read_hierarchy(const char *root, const char *mount, const char *group, bench_host_limits *limits)
{
    char folder[512];
    snprintf(folder, sizeof folder, "%.100s%.400s", mount, group);
    for (;;) {
        size_t length = strlen(folder);
        while (length > strlen(mount) && folder[length - 1] == '/')
            folder[--length] = '\0';
        read_group(root, folder, limits);
        char *slash = strrchr(folder, '/');
        if (length <= strlen(mount) || !slash)
            break;
        *slash = '\0';
    }
}

// Each line of /proc/self/cgroup: "0::/a/b" is v2's; "4:cpu,cpuacct:/a/b" is one of v1's.
static void read_groups(const char *root, bench_host_limits *limits)
{
    char path[512], line[1024];
    snprintf(path, sizeof path, "%.400s/proc/self/cgroup", root);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        controllers++;
        if (!*controllers) {
            read_hierarchy(root, "/sys/fs/cgroup", group, limits);
            read_hierarchy(root, "/sys/fs/cgroup/unified", group, limits);
        }
        char mount[128], *position = NULL;
        snprintf(mount, sizeof mount, "/sys/fs/cgroup/%.90s", controllers); // cpu,cpuacct
        if (*controllers)
            read_hierarchy(root, mount, group, limits);
        for (char *one = strtok_r(controllers, ",", &position); one; one = strtok_r(NULL, ",", &position)) {
            snprintf(mount, sizeof mount, "/sys/fs/cgroup/%.90s", one);
            read_hierarchy(root, mount, group, limits);
        }
    }
    if (file)
        fclose(file);
}

void bench_host_read_limits(const char *root, bench_host_limits *limits)
{
    char line[4096];
    memset(limits, 0, sizeof *limits);
    if (read_line(root, "/sys/devices/system/cpu/online", line, sizeof line))
        limits->online = count_list(line);
    if (limits->online <= 0)
        limits->online = (int)sysconf(_SC_NPROCESSORS_ONLN);
#if defined(__linux__)
    cpu_set_t set;
    if (!*root && !sched_getaffinity(0, sizeof set, &set))
        limits->affinity = CPU_COUNT(&set);
#endif
    char path[512];
    snprintf(path, sizeof path, "%.400s/proc/self/status", root);
    FILE *file = *root ? fopen(path, "r") : NULL;
    while (file && fgets(line, sizeof line, file)) {
        if (!strncmp(line, "Cpus_allowed_list:", 18))
            limits->affinity = count_list(line + 18 + strspn(line + 18, " \t"));
    }
    if (file)
        fclose(file);
    read_groups(root, limits);
}

int bench_host_usable_cores(const bench_host_limits *limits)
{
    int cores = limits->online;
    keep_fewer(&cores, limits->affinity);
    keep_fewer(&cores, limits->cpuset);
    if (limits->quota > 0)
        keep_fewer(&cores, (int)ceil(limits->quota - 1e-9));
    return cores > 0 ? cores : 1;
}

void bench_host_limits_text(const bench_host_limits *limits, char *text, size_t size)
{
    const int cores = bench_host_usable_cores(limits);
    const bool by_affinity = limits->affinity > 0 && limits->affinity < limits->online;
    const bool by_set = limits->cpuset > 0 && limits->cpuset < limits->online;
    const bool by_quota = limits->quota > 0 && limits->quota < limits->online;
    snprintf(text, size, "%d of %d processor%s", cores, limits->online, limits->online == 1 ? "" : "s");
    const char *before = " (";
    if (by_affinity) {
        bench_append(text, size, "%saffinity: %d", before, limits->affinity);
        before = ", ";
    }
    if (by_set) {
        bench_append(text, size, "%sthe control group's set: %d", before, limits->cpuset);
        before = ", ";
    }
    if (by_quota) {
        bench_append(text, size, "%sthe control group's quota: %.3g", before, limits->quota);
        before = ", ";
    }
    if (before[0] == ',')
        bench_append(text, size, ")");
}

int bench_host_cores(void)
{
    bench_host_limits limits;
    bench_host_read_limits("", &limits);
    return bench_host_usable_cores(&limits);
}

int bench_host_begins_at_0(void)
{
#if defined(__linux__)
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof set, &set)) {
        for (int i = 0; i < CPU_COUNT(&set); i++) {
            if (!CPU_ISSET(i, &set))
                return 0;
        }
    }
#endif
    return 1;
}

#define MOST_PROCESSORS 1024

// A processor's last level: its bytes, and the first processor that shares it. 0: there is no such processor.
static double last_level(const char *root, int processor, int *first)
{
    double largest = 0;
    for (int i = 0; i < 8; i++) {
        char path[128], line[64], *end = NULL;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/size", processor, i);
        if (!read_line(root, path, line, sizeof line))
            break;
        const double bytes = strtod(line, &end) * (*end == 'K' ? 1024.0 : *end == 'M' ? 1048576.0 : 1.0);
        if (bytes < largest)
            continue;
        largest = bytes;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/shared_cpu_list", processor, i);
        *first = read_line(root, path, line, sizeof line) ? atoi(line) : 0;
    }
    return largest;
}

// A processor of several dies has a last level on each: what is spread over its cores lies in all of them.
double bench_host_cache(const char *root)
{
    bool is_counted[MOST_PROCESSORS] = {false};
    double all = 0;
#if defined(__linux__)
    cpu_set_t set;
    const bool has_set = !*root && !sched_getaffinity(0, sizeof set, &set);
#endif
    for (int i = 0; i < MOST_PROCESSORS; i++) {
#if defined(__linux__)
        if (has_set && !CPU_ISSET(i, &set))
            continue;
#endif
        int first = 0;
        const double bytes = last_level(root, i, &first);
        if (bytes <= 0 && *root)
            break;
        if (bytes <= 0 || first < 0 || first >= MOST_PROCESSORS || is_counted[first])
            continue;
        is_counted[first] = true;
        all += bytes;
    }
    return all;
}

double bench_host_free_memory(const char *root)
{
    char path[512], line[256];
    double free_bytes = 0;
    bench_host_limits limits;
    snprintf(path, sizeof path, "%.400s/proc/meminfo", root);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        if (!strncmp(line, "MemAvailable:", 13))
            free_bytes = atof(line + 13) * 1024;
    }
    if (file)
        fclose(file);
    bench_host_read_limits(root, &limits);
    keep_less(&free_bytes, limits.memory);
    return free_bytes;
}

// ---- the rest ----

// PRETTY_NAME of os-release: "Debian GNU/Linux 12 (bookworm)"; "" where there is none.
static void distribution_name(char *name, size_t size)
{
    char line[256];
    name[0] = 0;
    FILE *file = fopen("/etc/os-release", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "PRETTY_NAME=", 12) != 0)
            continue;
        const char *value = line + 12 + (line[12] == '"');
        snprintf(name, size, "%.*s", (int)strcspn(value, "\"\n"), value);
    }
    if (file)
        fclose(file);
}

// The distribution and the kernel's version without the builder's suffix, which says nothing to others.
static void system_name(char *text, size_t size)
{
    struct utsname names;
    char distribution[128];
    distribution_name(distribution, sizeof distribution);
    if (uname(&names))
        snprintf(text, size, "%s", distribution);
    else
        snprintf(text, size, "%s%s%s %.*s %s", distribution, distribution[0] ? ", " : "", names.sysname,
                 (int)strspn(names.release, "0123456789."), names.release, names.machine);
}

json_t *bench_host_json(void)
{
    char cpu[256], os[512] = "unknown";
    double load = 0;
    cpu_name(cpu, sizeof cpu);
    system_name(os, sizeof os);
    FILE *file = fopen("/proc/loadavg", "r");
    if (file && fscanf(file, "%lf", &load) != 1)
        load = 0;
    if (file)
        fclose(file);
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    bench_host_limits limits;
    bench_host_read_limits("", &limits);
    return json_pack("{s:s, s:i, s:f, s:s, s:f, s:f, s:{s:i, s:i, s:i, s:f, s:f}}", "cpu", cpu, "cores",
                     bench_host_usable_cores(&limits), "memory", memory, "os", os, "load", load, "cache",
                     bench_host_cache(""), "limits", "online", limits.online, "affinity", limits.affinity, "cpuset",
                     limits.cpuset, "quota", limits.quota, "memory", limits.memory);
}

json_t *bench_host_time(void)
{
    char text[40];
    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return json_string(text);
}
