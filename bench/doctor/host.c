// SPDX-License-Identifier: MIT
// What this process may use of the machine, where Husk keeps its files, and which variables are set.
#define _GNU_SOURCE // environ
#include "doctor/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor/access.h"
#include "system/environment.h"
#include "system/host.h"

#define MOST_VARIABLES 64

// Variables that only tests have, and what is said by name elsewhere.
static bool is_none_of_ours(const char *name)
{
    return !strncmp(name, "HUSK_TEST_", 10) || !strncmp(name, "HUSK_DOCTOR_", 12);
}

// One with a typing error would silently do nothing.
static void find_misspelt(bench_doctor *d)
{
    extern char **environ;
    const char *names[MOST_VARIABLES];
    size_t count = 0;
    for (const bench_variable *v; count < MOST_VARIABLES && (v = bench_variable_at(count));)
        names[count++] = v->name;
    for (char **entry = environ; *entry; entry++) {
        char name[128];
        bool is_known = false;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*entry, "="), *entry);
        for (size_t i = 0; i < count; i++)
            is_known = is_known || !strcmp(name, names[i]);
        if (strncmp(name, "HUSK_", 5) != 0 || is_known || is_none_of_ours(name))
            continue;
        bench_doctor_advise(
            bench_doctor_find(d, BENCH_FINDING_NOTE, "variable_unknown", "%s is set, and nothing reads it", name),
            "is %s meant?", bench_nearest(name, names, count));
    }
}

static void find_variables(bench_doctor *d)
{
    const bench_variable *v;
    for (size_t i = 0; (v = bench_variable_at(i)); i++) {
        const char *value = getenv(v->name);
        if (!value || !*value)
            continue;
        bench_doctor_advise(
            bench_doctor_find(d, BENCH_FINDING_NOTE, "variable", "%s=%.200s %s", v->name, value, v->does),
            "unset %s, unless that is meant", v->name);
    }
    find_misspelt(d);
}

static void find_limits(bench_doctor *d)
{
    bench_host_limits limits;
    char text[256];
    bench_host_read_limits(d->root, &limits);
    bench_host_limits_text(&limits, text, sizeof text);
    if (bench_host_usable_cores(&limits) >= limits.online && !(limits.quota > 0 && limits.quota < limits.online)) {
        bench_doctor_find(d, BENCH_FINDING_OK, "processors", "this process may use %s", text);
        return;
    }
    bench_doctor_advise(
        bench_doctor_find(d, BENCH_FINDING_NOTE, "processors_limited",
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
