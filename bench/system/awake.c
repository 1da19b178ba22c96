// SPDX-License-Identifier: MIT
#if defined(__linux__)
#define _GNU_SOURCE // SCHED_IDLE, sets of processors
#endif
#include "system/awake.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "system/host.h"

// ---- where it helps ----

// x86 tells programs by a flag that they run on a virtual machine; Xen by a folder.
static bool is_virtual(const char *root)
{
    char path[512], line[8192];
    bool found = false;
    snprintf(path, sizeof path, "%.400s/sys/hypervisor/type", root);
    if (!access(path, R_OK))
        return true;
    snprintf(path, sizeof path, "%.400s/proc/cpuinfo", root);
    FILE *file = fopen(path, "r");
    while (file && !found && fgets(line, sizeof line, file))
        found = !strncmp(line, "flags", 5) && strstr(line, " hypervisor") != NULL;
    if (file)
        fclose(file);
    return found;
}

bool bench_awake_is_wanted(const char *root, const json_t *device)
{
    bench_host_limits limits;
    if (!json_is_true(json_object_get(json_object_get(device, "traits"), "is_cpu")))
        return false;
    bench_host_read_limits(root, &limits);
    return limits.quota <= 0 && is_virtual(root);
}

void bench_awake_start(bench_process *process, const json_t *device)
{
    static const char *const arguments[] = {"clbench", BENCH_AWAKE_ARGUMENT, NULL};
    char reason[BENCH_REASON_TEXT];
    memset(process, 0, sizeof *process);
    if (bench_awake_is_wanted("", device) && bench_process_start(process, arguments, NULL, reason))
        snprintf(process->who, sizeof process->who, "what keeps processors awake");
}

// ---- the process ----

#if defined(__linux__)
static void rest(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// Never at another priority than that of an idle processor: it would take what is measured half of its time.
static void *keep_awake(void *argument)
{
    const int cpu = (int)(intptr_t)argument;
    const struct sched_param none = {0};
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) || sched_setscheduler(0, SCHED_IDLE, &none))
        return NULL;
    for (;;)
        rest();
    return NULL;
}

static void start_threads(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set))
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        pthread_t thread;
        if (CPU_ISSET(cpu, &set) && !pthread_create(&thread, NULL, keep_awake, (void *)(intptr_t)cpu))
            pthread_detach(thread);
    }
}
#else
static void start_threads(void) {}
#endif

int bench_awake_serve(void)
{
    char byte;
    ssize_t got;
    start_threads();
    do
        got = read(BENCH_WORKER_REQUESTS, &byte, 1);
    while (got > 0 || (got < 0 && errno == EINTR));
    _exit(0); // with its threads
}
