// SPDX-License-Identifier: MIT
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // sets of CPUs
#endif
#include "os/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#if defined(__linux__)
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

size_t husk__thread_stack_bytes(void)
{
    pthread_attr_t plain;
    size_t bytes = 0;
    if (pthread_attr_init(&plain) != 0)
        return 0;
    if (pthread_attr_getstacksize(&plain, &bytes) != 0)
        bytes = 0;
    pthread_attr_destroy(&plain);
    return bytes;
}

#if defined(__linux__)
long husk__thread_number(void)
{
    return syscall(SYS_gettid); // glibc has a function for it from 2.30 on
}

static int *list_cpus(const cpu_set_t *set, size_t bytes, size_t *count)
{
    *count = (size_t)CPU_COUNT_S(bytes, set);
    int *cpus = malloc((*count + 1) * sizeof *cpus);
    size_t found = 0;
    for (int cpu = 0; cpus && found < *count; ++cpu)
        if (CPU_ISSET_S(cpu, bytes, set))
            cpus[found++] = cpu;
    return cpus;
}

int *husk__allowed_cpus(long thread, size_t *count)
{
    enum { FIRST = 1024, MOST = 1 << 20 }; // the system takes no set that is smaller than its own
    int *cpus = NULL;
    bool is_small = true;
    for (int most = FIRST; is_small && most <= MOST; most *= 4) {
        const size_t bytes = CPU_ALLOC_SIZE(most);
        cpu_set_t *set = calloc(1, bytes);
        if (!set)
            return NULL;
        const bool is_known = sched_getaffinity((pid_t)thread, bytes, set) == 0;
        is_small = !is_known && errno == EINVAL;
        const int why = errno;
        cpus = is_known ? list_cpus(set, bytes, count) : NULL;
        free(set);
        errno = is_known ? ENOMEM : why;
    }
    return cpus;
}

bool husk__allow_cpus(const int *cpus, size_t count)
{
    int most = 0;
    for (size_t i = 0; i < count; ++i)
        most = cpus[i] > most ? cpus[i] : most;
    const size_t bytes = CPU_ALLOC_SIZE(most + 1);
    cpu_set_t *set = calloc(1, bytes);
    if (!set)
        return false;
    for (size_t i = 0; i < count; ++i)
        CPU_SET_S(cpus[i], bytes, set);
    const bool done = sched_setaffinity(0, bytes, set) == 0;
    const int why = errno;
    free(set);
    errno = why;
    return done;
}
#else
long husk__thread_number(void)
{
    return 0;
}

int *husk__allowed_cpus(long thread, size_t *count)
{
    (void)thread;
    *count = 0;
    errno = ENOSYS;
    return NULL;
}

bool husk__allow_cpus(const int *cpus, size_t count)
{
    (void)cpus, (void)count;
    errno = ENOSYS;
    return false;
}
#endif
