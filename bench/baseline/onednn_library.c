// SPDX-License-Identifier: MIT
// oneDNN's C interface, opened at run time, and the threads it runs on.

#ifdef __linux__
#define _GNU_SOURCE // sched_setaffinity
#endif
#include "baseline/onednn_library.h"

#include <dlfcn.h>
#ifdef __linux__
#include <sched.h>
#endif
#include <stdio.h>
#include <stdlib.h>

#include "system/dynamic_library.h"

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

onednn_functions dnnl;

// Where CMake found it, then by the name that this interface's binary has.
static const char *const library_names[] = {
#ifdef HUSK_ONEDNN_LIBRARY
    HUSK_ONEDNN_LIBRARY,
#endif
    "libdnnl.so." TEXT(DNNL_VERSION_MAJOR),
    "libdnnl." TEXT(DNNL_VERSION_MAJOR) ".dylib",
    NULL,
};

/*
 * OpenMP runtimes read these when they are loaded; docs/baselines.md has the measurements behind them. GNU's
 * threads spin 300,000 times (7 ms) before they sleep; 10,000 are 0.25 ms, still longer than any gap between
 * two parallel regions of a run. Not spinning at all (OMP_WAIT_POLICY=passive) costs 25 us a region. Threads
 * that keep to a core of their own do not end up spinning on one while something else is at work.
 */
static void set_environment(int threads)
{
    char text[16];
    snprintf(text, sizeof text, "%d", threads);
    setenv("OMP_NUM_THREADS", text, 1);
    bench_environment_default("OMP_DYNAMIC", "false");
    bench_environment_default("KMP_BLOCKTIME", "1"); // milliseconds: LLVM's and Intel's runtimes
    if (!getenv("OMP_WAIT_POLICY"))
        bench_environment_default("GOMP_SPINCOUNT", "10000");
    if (!getenv("OMP_PROC_BIND") && !getenv("GOMP_CPU_AFFINITY") && !getenv("KMP_AFFINITY")) {
        bench_environment_default("OMP_PROC_BIND", "spread");
        bench_environment_default("OMP_PLACES", "threads");
    }
}

#ifdef __linux__
static cpu_set_t affinity; // of the main thread, which the runtime binds as well
static bool has_affinity;
#endif

static void save_affinity(void)
{
#ifdef __linux__
    has_affinity = sched_getaffinity(0, sizeof affinity, &affinity) == 0;
#endif
}

static void restore_affinity(void)
{
#ifdef __linux__
    if (has_affinity)
        sched_setaffinity(0, sizeof affinity, &affinity);
#endif
}

// Call a function of the OpenMP runtime, if that is GNU's: others go by the environment alone.
static void call_openmp(const char *name, int argument)
{
    void (*function)(int) = NULL;
    char reason[BENCH_REASON_TEXT];
    void *openmp = dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (openmp && bench_library_function(openmp, name, &function, reason))
        function(argument);
    if (openmp)
        dlclose(openmp);
}

void onednn_library_rest(void)
{
    const int pause_hard = 2;
    call_openmp("omp_pause_resource_all", pause_hard);
    restore_affinity();
}

static void *opened;

bench_answer onednn_library_open(int threads, char reason[BENCH_REASON_TEXT])
{
    set_environment(threads);
    save_affinity();
    if (!opened) {
        void *library = bench_library_open(library_names, reason);
        if (!library)
            return BENCH_UNSUPPORTED;
        bench_answer answer = BENCH_OK;
#define LOAD(name)          \
    if (answer == BENCH_OK) \
        answer = bench_library_function(library, "dnnl_" #name, &dnnl.name, reason) ? BENCH_OK : BENCH_UNSUPPORTED;
        ONEDNN_FUNCTIONS(LOAD)
#undef LOAD
        if (answer != BENCH_OK) {
            dlclose(library);
            return answer;
        }
        opened = library; // stays: OpenMP runtimes do not survive being unloaded
    }
    // The runtime may have been loaded before, for something else: then it has not read the environment.
    call_openmp("omp_set_num_threads", threads);
    return BENCH_OK;
}

const char *onednn_library_threading(void)
{
    switch (dnnl.version()->cpu_runtime) {
    case DNNL_RUNTIME_SEQ:
        return "sequential";
    case DNNL_RUNTIME_OMP:
        return "OpenMP";
    case DNNL_RUNTIME_TBB:
        return "TBB";
    case DNNL_RUNTIME_THREADPOOL:
        return "thread pool";
    default:
        return "unknown threading";
    }
}
