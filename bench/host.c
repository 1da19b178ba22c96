// SPDX-License-Identifier: MIT
#if defined(__linux__)
#define _GNU_SOURCE // sched_getaffinity
#endif
#include "host.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

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

// cgroup v2's cpu.max: "200000 100000" is two cores' time, "max" is no limit.
static int quota_cores(void)
{
    double quota = 0, period = 0;
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "r");
    int read = file ? fscanf(file, "%lf %lf", &quota, &period) : 0;
    if (file)
        fclose(file);
    return read == 2 && period > 0 && quota > 0 ? (int)ceil(quota / period) : 0;
}

int bench_host_cores(void)
{
    int cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
#if defined(__linux__)
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof set, &set))
        cores = CPU_COUNT(&set);
#endif
    int quota = quota_cores();
    return quota > 0 && quota < cores ? quota : cores > 0 ? cores : 1;
}

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
    return json_pack("{s:s, s:i, s:f, s:s, s:f}", "cpu", cpu, "cores", bench_host_cores(), "memory", memory,
                     "os", os, "load", load);
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
