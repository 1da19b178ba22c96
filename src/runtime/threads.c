// SPDX-License-Identifier: MIT
// Binding the threads with which a CPU's driver computes, each to a CPU of its own: which CPUs those are, and whether
// another process has them. gather.c finds the threads.
#include <errno.h>
#include <stdlib.h>

#include "os/file_lock.h"
#include "os/private.h"
#include "os/process.h"
#include "os/thread.h"
#include "runtime/begin.h"
#include "runtime/context_struct.h"
#include "runtime/gather.h"
#include "runtime/lost.h"

// How many threads the driver computes with; or why they cannot be gathered.
static husk_status count_threads(husk_context *context, size_t *count, const husk__scope *scope)
{
    const cl_device_id device = context->device->id;
    cl_device_exec_capabilities runs = 0;
    cl_uint units = 0; // the driver's own word: HUSK_LIMITS lowers the traits'
    if (context->device->traits.device_class != HUSK_DEVICE_CPU)
        return husk__fail(scope, HUSK_UNSUPPORTED, "the device is no CPU: %s",
                          husk_device_class_text(context->device->traits.device_class));
    cl_int code = clGetDeviceInfo(device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof runs, &runs, NULL);
    if (code == CL_SUCCESS)
        code = clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    if (code != CL_SUCCESS)
        return husk__opencl_failed(context, scope, "clGetDeviceInfo", code);
    if (!(runs & CL_EXEC_NATIVE_KERNEL))
        return husk__fail(scope, HUSK_UNSUPPORTED, "the driver runs no native kernels, by which its threads are found");
    *count = units > 0 ? units : 1;
    return HUSK_OK;
}

// ---- which CPUs ----

typedef struct cpu_list {
    int *cpus;
    size_t count;
} cpu_list;

static bool has(const int *cpus, size_t count, int cpu)
{
    for (size_t i = 0; i < count; ++i)
        if (cpus[i] == cpu)
            return true;
    return false;
}

static husk_status list_allowed(cpu_list *allowed, const husk__scope *scope)
{
    allowed->cpus = husk__allowed_cpus(0, &allowed->count);
    if (allowed->cpus)
        return HUSK_OK;
    if (errno == ENOMEM)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a set of CPUs");
    return husk__fail(scope, HUSK_UNSUPPORTED, "the system does not say which CPUs a thread may use (errno %d)", errno);
}

static husk_status check_named(const int *cpus, size_t count, size_t threads, const cpu_list *allowed,
                               const husk__scope *scope)
{
    for (size_t i = 0; i < count; ++i) {
        if (cpus[i] < 0)
            return husk__reject(scope, "cpus", "element %zu is %d, must not be negative", i, cpus[i]);
        if (has(cpus, i, cpus[i]))
            return husk__reject(scope, "cpus", "element %zu names CPU %d once more", i, cpus[i]);
        if (!has(allowed->cpus, allowed->count, cpus[i]))
            return husk__reject(scope, "cpus", "element %zu is CPU %d, which the calling thread may not use", i,
                                cpus[i]);
    }
    if (count < threads)
        return husk__reject(scope, "count", "is %zu, must be at least %zu: the driver has so many threads", count,
                            threads);
    return HUSK_OK;
}

// Without names all CPUs are meant, so each must have its thread.
static husk_status check_unnamed(size_t threads, const cpu_list *allowed, const husk__scope *scope)
{
    if (threads < allowed->count)
        return husk__fail(scope, HUSK_UNSUPPORTED,
                          "cpus: the driver has fewer threads (%zu) than the program has CPUs (%zu), so that other "
                          "processes may be meant to have the rest; name the CPUs that are for this one",
                          threads, allowed->count);
    if (threads > allowed->count)
        return husk__fail(scope, HUSK_UNSUPPORTED,
                          "the driver has more threads (%zu) than the program has CPUs (%zu); start it with as many "
                          "threads as CPUs (PoCL: POCL_MAX_PTHREAD_COUNT, from 7.0 on POCL_MAX_COMPUTE_UNITS)",
                          threads, allowed->count);
    return HUSK_OK;
}

// ---- other processes ----

// A process that binds to CPUs without naming them has a lock in the user's file "threads", until it ends: of the byte
// whose place is the number of the process. The first byte is locked by who looks for others, one at a time.
enum { GATE = 0, PLACES = INT32_MAX, MOST_LOCKS = 1000 };
static const uint64_t GATE_NS = UINT64_C(1000000000);

typedef struct search {
    const char *path;
    const cpu_list *allowed;
    long own;
    int patience; // how many more locks are looked at
} search;

static bool is_rival(const search *s, long process)
{
    cpu_list theirs = {0};
    bool shares = false;
    if (process == s->own)
        return false;
    theirs.cpus = husk__allowed_cpus(process, &theirs.count); // NULL: it is not on this machine
    for (size_t i = 0; theirs.cpus && i < theirs.count; ++i)
        shares = shares || has(s->allowed->cpus, s->allowed->count, theirs.cpus[i]);
    free(theirs.cpus);
    return shares;
}

// The process that has a lock in this range and may use CPUs that are allowed here; 0: there is none.
static long find_rival(search *s, uint32_t from, uint32_t to)
{
    const int64_t place = s->patience-- > 0 ? husk__find_lock(s->path, from, to) : -1;
    if (place < 0)
        return 0;
    if (is_rival(s, (long)place))
        return (long)place;
    const long rival = find_rival(s, from, (uint32_t)place); // it need not have been the first
    return rival ? rival : find_rival(s, (uint32_t)place + 1, to);
}

// *lock: to be ended by husk__unlock if nothing is bound; -1 also where this process has it already, or where the user
// has no folder for it, and nobody is asked.
static husk_status claim(const cpu_list *allowed, int *lock, const husk__scope *scope)
{
    husk__text path = {0};
    char *folder = husk__user_folder();
    search s = {.allowed = allowed, .own = husk__process_number(), .patience = MOST_LOCKS};
    long rival = 0;
    *lock = -1;
    if (folder)
        husk__text_format(&path, "%s/threads", folder);
    if (folder && !path.failed) {
        const int gate = husk__lock(path.bytes, GATE, GATE_NS);
        s.path = path.bytes;
        rival = find_rival(&s, GATE + 1, PLACES);
        if (!rival)
            *lock = husk__lock(path.bytes, (uint32_t)s.own, 0);
        husk__unlock(gate);
    }
    husk__text_free(&path);
    free(folder);
    if (!rival)
        return HUSK_OK;
    return husk__fail(scope, HUSK_UNSUPPORTED,
                      "cpus: process %ld has bound threads to the same CPUs, where these would wait for them; divide "
                      "the CPUs between the processes, and name each its own",
                      rival);
}

// ---- the calls ----

static husk_status bind_unnamed(husk_context *context, size_t threads, const cpu_list *allowed,
                                const husk__scope *scope)
{
    int lock = -1;
    husk_status status = check_unnamed(threads, allowed, scope);
    if (status == HUSK_OK)
        status = claim(allowed, &lock, scope);
    if (status == HUSK_OK)
        status = husk__gather_threads(context, threads, allowed->cpus, NULL, scope);
    if (status != HUSK_OK)
        husk__unlock(lock); // otherwise it ends with the process, as the threads do
    return status;
}

husk_status husk_context_bind_threads(husk_context *context, const int *cpus, size_t count, husk_error *error)
{
    husk__scope scope;
    size_t threads = 0;
    cpu_list allowed = {0};
    husk_status status = husk__context_call_begin(context, "husk_context_bind_threads", error, &scope);
    if (status == HUSK_OK && !cpus && count > 0)
        return husk__reject(&scope, "cpus", "is NULL, and count is %zu", count);
    if (status == HUSK_OK)
        status = count_threads(context, &threads, &scope);
    if (status == HUSK_OK)
        status = list_allowed(&allowed, &scope);
    if (status == HUSK_OK && !cpus)
        status = bind_unnamed(context, threads, &allowed, &scope);
    else if (status == HUSK_OK && (status = check_named(cpus, count, threads, &allowed, &scope)) == HUSK_OK)
        status = husk__gather_threads(context, threads, cpus, NULL, &scope);
    free(allowed.cpus);
    return status;
}

husk_status husk_context_threads_bound(husk_context *context, bool *bound, husk_error *error)
{
    husk__scope scope;
    size_t threads = 0;
    husk_status status = husk__context_call_begin(context, "husk_context_threads_bound", error, &scope);
    if (status == HUSK_OK && !bound)
        return husk__reject(&scope, "bound", "is NULL");
    if (bound)
        *bound = false;
    if (status == HUSK_OK)
        status = count_threads(context, &threads, &scope);
    return status == HUSK_OK ? husk__gather_threads(context, threads, NULL, bound, &scope) : status;
}
