// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "soak.h"

static const char *const kinds[SOAK_KINDS] = {"context", "queue", "mem", "program", "kernel", "event"};
enum { PROGRAM = 3 };
static long (*count_live)(const char *kind);

// Sanitizers keep released memory, and find what is lost themselves.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool is_sanitized = true;
#else
static const bool is_sanitized = false;
#endif

// What the resident memory may grow by between the first sample and the last, along the line through all.
#define GROWTH_BYTES 16e6
#define GROWTH_SHARE 0.03

void soak_count_objects(void)
{
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1); // what is resident is what is in use, and not what threads keep for themselves
    mallopt(M_MMAP_THRESHOLD, 1 << 25); // data of cases is used again
    mallopt(M_TRIM_THRESHOLD, 1 << 28);
#endif
    setenv("OPENCL_LAYERS", HUSK_TEST_LAYER, 1);
}

static void find_counter(void)
{
    void *library = dlopen(HUSK_TEST_LAYER, RTLD_NOW | RTLD_NOLOAD); // what the loader has opened, if it knows layers
    void *address = library ? dlsym(library, "husk_test_layer_live_of") : NULL;
    if (address)
        memcpy(&count_live, &address, sizeof address); // ISO C has no cast for it
    else
        puts("this OpenCL loader knows no layers: objects are not counted");
}

static double resident_bytes(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%ld %ld", &pages, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

void soak_take_sample(soak *s, double seconds, soak_sample *sample)
{
    static bool is_first = true;
    if (is_first)
        find_counter();
    is_first = false;
    husk_memory_stats memory;
    husk_context_memory_stats(s->opened->context, &memory);
    *sample = (soak_sample){.seconds = seconds, .live = memory.live_bytes, .cached = memory.cached_bytes};
    husk_context_program_stats(s->opened->context, &sample->programs);
    husk_context_trim(s->opened->context, 0);
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    sample->resident = resident_bytes();
    for (int i = 0; i < SOAK_KINDS; i++)
        sample->objects[i] = count_live ? count_live(kinds[i]) : -1;
}

void soak_print_sample(const soak *s, const soak_sample *sample)
{
    printf("%6.0f s: %lld calls, %lld by the reference, %lld by their bits, %lld transfers, %lld mismatches; ",
           sample->seconds, atomic_load(&s->calls), atomic_load(&s->by_reference), atomic_load(&s->by_bits),
           atomic_load(&s->transfers), atomic_load(&s->mismatches));
    printf("resident %.1f MB, device %.2f MB and %.1f cached; %" PRIu64 " programs, %" PRIu64 " plans, %" PRIu64
           " found;",
           sample->resident * 1e-6, (double)sample->live * 1e-6, (double)sample->cached * 1e-6,
           sample->programs.builds + sample->programs.cache_loads, sample->programs.plans, sample->programs.plan_hits);
    for (int i = 0; i < SOAK_KINDS && sample->objects[i] >= 0; i++)
        printf(" %ld %s", sample->objects[i], kinds[i]);
    putchar('\n');
    fflush(stdout);
}

// By least squares: what the line through the samples rises by from the first to the last.
static double growth(const soak_sample *samples, size_t count)
{
    double x = 0, y = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < count; i++) {
        x += samples[i].seconds / (double)count;
        y += samples[i].resident / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        xx += (samples[i].seconds - x) * (samples[i].seconds - x);
        xy += (samples[i].seconds - x) * (samples[i].resident - y);
    }
    return xx > 0 ? xy / xx * (samples[count - 1].seconds - samples[0].seconds) : 0;
}

int soak_judge_memory(const soak_sample *samples, size_t count)
{
    int broken = 0;
    if (count < 3) {
        puts("memory: too few samples to say");
        return 1;
    }
    const soak_sample *first = &samples[0], *last = &samples[count - 1];
    const double grown = growth(samples, count), allowed = GROWTH_BYTES + GROWTH_SHARE * first->resident;
    printf("memory: resident %.1f MB at the start, %.1f MB at the end, grown by %.1f MB (at most %.1f are allowed); "
           "device %.2f MB and %.2f MB\n",
           first->resident * 1e-6, last->resident * 1e-6, grown * 1e-6, allowed * 1e-6, (double)first->live * 1e-6,
           (double)last->live * 1e-6);
    if (grown > allowed && !is_sanitized)
        broken += puts("memory: the resident memory grows") >= 0;
    if (last->live > first->live)
        broken += puts("memory: the device memory in use grows") >= 0;
    for (int i = 0; i < SOAK_KINDS; i++) {
        const long more = last->objects[i] - first->objects[i];
        const long built = (long)(last->programs.builds + last->programs.cache_loads - first->programs.builds -
                                  first->programs.cache_loads);
        if (more <= (i == PROGRAM ? built : 0))
            continue;
        printf("memory: %ld references to a %s were not given back\n", more, kinds[i]);
        broken++;
    }
    return broken;
}
