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

json_t *bench_host_json(void)
{
    char cpu[256], os[512] = "unknown";
    struct utsname names;
    double load = 0;
    cpu_name(cpu, sizeof cpu);
    if (!uname(&names))
        snprintf(os, sizeof os, "%.60s %.200s %.60s", names.sysname, names.release, names.machine);
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
