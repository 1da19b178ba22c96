// SPDX-License-Identifier: MIT
// oneDNN's C interface, opened at run time, and the threads it runs on.

#include "onednn_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "dynamic_library.h"

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
 * OpenMP runtimes read these when they are loaded. GNU's threads spin 300,000 times before they sleep (7 ms
 * measured); 10,000 are 0.25 ms, which is still longer than any gap between two parallel regions of a run.
 * Not spinning at all (OMP_WAIT_POLICY=passive) costs 25 us a parallel region: see docs/baselines.md.
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
}

// Call a function of the OpenMP runtime, if that is GNU's: others go by the environment alone.
static void call_openmp(const char *name, int argument)
{
    void (*function)(int) = NULL;
    char reason[BENCH_REASON_TEXT];
    void *openmp = dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (openmp && bench_library_function(openmp, name, &function, reason) == BENCH_OK)
        function(argument);
    if (openmp)
        dlclose(openmp);
}

void onednn_library_rest(void)
{
    const int pause_hard = 2;
    call_openmp("omp_pause_resource_all", pause_hard);
}

static void *opened;

bench_answer onednn_library_open(int threads, char reason[BENCH_REASON_TEXT])
{
    set_environment(threads);
    if (!opened) {
        void *library = bench_library_open(library_names, reason);
        if (!library)
            return BENCH_UNSUPPORTED;
        bench_answer answer = BENCH_OK;
#define LOAD(name)          \
    if (answer == BENCH_OK) \
        answer = bench_library_function(library, "dnnl_" #name, &dnnl.name, reason);
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
