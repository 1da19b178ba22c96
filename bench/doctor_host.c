// SPDX-License-Identifier: MIT
// What this process may use of the machine, where Husk keeps its files, and the variables that change what is measured.
#define _GNU_SOURCE // environ
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "host.h"

static const struct {
    const char *name, *does; // behind "VARIABLE=value"
} changing[] = {
    {"HUSK_VARIANT", "chooses variants, whatever would be the fastest"},
    {"HUSK_ENGINES", "decides which matrix engines may be used"},
    {"HUSK_LIMITS", "makes devices smaller than they are"},
    {"HUSK_KERNEL_DIR", "takes the kernels from a folder, and not those that were tested with this version"},
    {"HUSK_PROGRAM_DIR", "writes every program to a folder, which takes time"},
    {"HUSK_TUNING", "takes another tuning database, or none"},
    {"HUSK_CACHE", "turns the cache of programs on or off for every device"},
    {"HUSK_DEVICE", "decides which device is the default"},
    {"POCL_MAX_PTHREAD_COUNT", "limits the threads of PoCL's CPU device"},
    {"POCL_CPU_MAX_CU_COUNT", "limits the threads of PoCL's CPU device"},
    {"POCL_MAX_WORK_GROUP_SIZE", "makes PoCL's CPU device smaller than it is"},
    {"POCL_DEVICES", "decides which devices PoCL has"},
    {"OMP_NUM_THREADS", "limits the threads of CPU baselines"},
    {"OPENBLAS_NUM_THREADS", "limits the threads of CPU baselines"},
    {"OPENCL_LAYERS", "puts a layer between programs and drivers"},
};
#define CHANGING (sizeof changing / sizeof *changing)

// Variables that only tests have, and what is said by name elsewhere.
static bool is_none_of_ours(const char *name)
{
    return !strncmp(name, "HUSK_TEST_", 10) || !strncmp(name, "HUSK_DOCTOR_", 12);
}

// One with a typing error would silently do nothing.
static void find_misspelt(bench_doctor *d)
{
    extern char **environ;
    const char *names[CHANGING];
    for (size_t i = 0; i < CHANGING; i++)
        names[i] = changing[i].name;
    for (char **entry = environ; *entry; entry++) {
        char name[128];
        bool is_known = false;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*entry, "="), *entry);
        for (size_t i = 0; i < CHANGING; i++)
            is_known = is_known || !strcmp(name, names[i]);
        if (strncmp(name, "HUSK_", 5) != 0 || is_known || is_none_of_ours(name))
            continue;
        bench_doctor_advise(bench_doctor_find(d, BENCH_FINDING_NOTE, "variable_unknown",
                                              "%s is set, and nothing reads it", name),
                            "is %s meant?", bench_nearest(name, names, CHANGING));
    }
}

static void find_variables(bench_doctor *d)
{
    for (size_t i = 0; i < CHANGING; i++) {
        const char *value = getenv(changing[i].name);
        if (!value || !*value)
            continue;
        bench_doctor_advise(bench_doctor_find(d, BENCH_FINDING_NOTE, "variable", "%s=%.200s %s",
                                              changing[i].name, value, changing[i].does),
                            "unset %s, unless that is meant", changing[i].name);
    }
    find_misspelt(d);
}

static void find_limits(bench_doctor *d)
{
    bench_host_limits limits;
    char text[256];
    bench_host_read_limits(d->root, &limits);
    bench_host_limits_text(&limits, text, sizeof text);
    if (bench_host_usable_cores(&limits) >= limits.online &&
        !(limits.quota > 0 && limits.quota < limits.online)) {
        bench_doctor_find(d, BENCH_FINDING_OK, "processors", "this process may use %s", text);
        return;
    }
    bench_doctor_advise(
        bench_doctor_find(
            d, BENCH_FINDING_NOTE, "processors_limited",
            "this process may use %s, so that figures of the CPU are smaller than the machine's", text),
        "%s",
        limits.quota > 0 && limits.quota < limits.online
            ? "give the container more time (docker run --cpus, Kubernetes' limits.cpu), or compare within it alone"
            : "widen the set (taskset, docker run --cpuset-cpus, the scheduler's request), or compare within it alone");
}

void bench_doctor_host(bench_doctor *d)
{
    find_limits(d);
    bench_doctor_folder(d, "XDG_CACHE_HOME", ".cache", "compiled programs", true);
    bench_doctor_folder(d, "XDG_DATA_HOME", ".local/share", "results and tuning", false);
    find_variables(d);
}
