// SPDX-License-Identifier: MIT
// Gathers the threads with which a CPU's driver computes.
//
// OpenCL names no threads, but runs functions of the host on them: native kernels. So as many functions as there are
// threads are enqueued, on a queue each, and none returns before all have begun. Each thread then has exactly one, and
// what a function does to its own thread is done to all of the driver's.
#include "runtime/gather.h"

#include <errno.h>
#include <stdlib.h>

#include "os/thread.h"
#include "os/time.h"
#include "runtime/context_struct.h"
#include "runtime/lost.h"
#include "runtime/opencl_error.h"

static const uint64_t PATIENCE_NS = UINT64_C(1000000000); // for the other threads, once one is there

typedef enum gathering_state {
    GATHERING = 0, // not all are there
    ACTING,        // all are: each looks at what it may run on, and binds itself
    DONE,
    FAILED, // one could not be bound: those that were become what they have been
    LATE,   // not all have come in time
    AT_HOME // a function runs on the thread that has called Husk, which is no thread of the driver's
} gathering_state;

typedef struct seat {
    long thread; // of the one that has come as the so manieth
    int target;  // where the thread with the so manieth number is to be bound
    int only;    // the only CPU that it might run on before; -1: there were several
} seat;

// Shared with the driver's threads. Where OpenCL fails they may still be on their way when the call returns: the last
// one frees it then.
typedef struct gathering {
    pthread_mutex_t lock;
    gathering_state state;
    pthread_t caller;
    bool binds;        // or only looks
    int why;           // of FAILED: errno
    bool is_abandoned; // by the caller, which has enqueued so many functions
    size_t functions, left;
    size_t count, arrived, acted;
    seat seats[];
} gathering;

static gathering *make_gathering(size_t count, const int *cpus)
{
    gathering *g = calloc(1, sizeof *g + count * sizeof *g->seats);
    if (!g)
        return NULL;
    pthread_mutex_init(&g->lock, NULL);
    g->caller = pthread_self();
    g->binds = cpus != NULL;
    g->count = count;
    for (size_t i = 0; cpus && i < count; ++i)
        g->seats[i].target = cpus[i];
    return g;
}

static void free_gathering(gathering *g)
{
    pthread_mutex_destroy(&g->lock);
    free(g);
}

// With the lock, which the others have meanwhile.
static void pause_for_others(gathering *g)
{
    pthread_mutex_unlock(&g->lock);
    husk__sleep_ns(20000);
    pthread_mutex_lock(&g->lock);
}

// While the state is this one, but no longer than that.
static void wait_while(gathering *g, gathering_state state, uint64_t patience_ns)
{
    const uint64_t start = husk__now_ns();
    while (g->state == state && husk__now_ns() - start < patience_ns)
        pause_for_others(g);
}

// By the system's numbers, so that a thread gets the same CPU in each call.
static int target_of(const gathering *g, long thread)
{
    size_t before = 0;
    for (size_t i = 0; i < g->count; ++i)
        before += g->seats[i].thread < thread;
    return g->seats[before].target;
}

// All have come, and none leaves before each has acted.
static void act(gathering *g, seat *own)
{
    size_t count = 0;
    int *before = husk__allowed_cpus(0, &count);
    const int target = target_of(g, own->thread);
    own->only = before && count == 1 ? before[0] : -1;
    if (!before || (g->binds && !husk__allow_cpus(&target, 1)))
        g->why = errno;
    if (++g->acted == g->count)
        g->state = g->why ? FAILED : DONE;
    wait_while(g, ACTING, UINT64_MAX);
    if (g->state == FAILED && g->binds && before)
        husk__allow_cpus(before, count);
    free(before);
}

static void join(gathering *g)
{
    seat *own = &g->seats[g->arrived++];
    own->thread = husk__thread_number();
    if (g->arrived == g->count)
        g->state = ACTING;
    wait_while(g, GATHERING, PATIENCE_NS);
    if (g->state == GATHERING)
        g->state = LATE;
    if (g->state == ACTING)
        act(g, own);
}

static void CL_CALLBACK take_part(void *argument)
{
    gathering *g = *(gathering **)argument;
    pthread_mutex_lock(&g->lock);
    if (g->state == GATHERING && pthread_equal(g->caller, pthread_self()))
        g->state = AT_HOME;
    if (g->state == GATHERING)
        join(g);
    ++g->left;
    const bool is_last = g->is_abandoned && g->left == g->functions;
    pthread_mutex_unlock(&g->lock);
    if (is_last)
        free_gathering(g);
}

// ---- its queues ----

typedef struct meeting {
    husk_context *context;
    gathering *gathering;
    cl_command_queue *queues;
    size_t enqueued;
    husk__unanswered failed; // the first call of OpenCL that has
    gathering_state state;   // how it has ended
    size_t arrived;
    int why;
} meeting;

static bool is_well(meeting *m, const char *function, cl_int code)
{
    if (code != CL_SUCCESS && m->failed.code == CL_SUCCESS)
        m->failed = (husk__unanswered){function, code};
    return code == CL_SUCCESS;
}

static void make_queues(meeting *m)
{
    const cl_device_id device = m->context->device->id;
    cl_int code = CL_SUCCESS;
    for (size_t i = 0; i < m->gathering->count && code == CL_SUCCESS; ++i) {
        m->queues[i] = clCreateCommandQueue(m->context->cl, device, 0, &code);
        is_well(m, "clCreateCommandQueue", code);
    }
}

// Whoever is there waits for no others.
static void call_off(gathering *g)
{
    pthread_mutex_lock(&g->lock);
    if (g->state == GATHERING)
        g->state = LATE;
    wait_while(g, ACTING, UINT64_MAX);
    pthread_mutex_unlock(&g->lock);
}

static void enqueue(meeting *m)
{
    gathering *g = m->gathering;
    bool goes_on = m->failed.code == CL_SUCCESS;
    for (size_t i = 0; i < g->count && goes_on; ++i) {
        goes_on = is_well(m, "clEnqueueNativeKernel",
                          clEnqueueNativeKernel(m->queues[i], take_part, &g, sizeof g, 0, NULL, NULL, 0, NULL, NULL));
        m->enqueued += goes_on;
        goes_on = goes_on && is_well(m, "clFlush", clFlush(m->queues[i]));
    }
    if (!goes_on)
        call_off(g);
}

// Whether the driver says of all that was enqueued that it has ended.
static bool finish(meeting *m)
{
    gathering *g = m->gathering;
    bool has_ended = true;
    for (size_t i = 0; m->queues[i]; ++i)
        if (!is_well(m, "clFinish", clFinish(m->queues[i]))) {
            call_off(g);
            has_ended = false;
        }
    pthread_mutex_lock(&g->lock);
    m->state = g->state;
    m->arrived = g->arrived;
    m->why = g->why;
    pthread_mutex_unlock(&g->lock);
    return has_ended;
}

// Where OpenCL could not wait for them, functions that have begun are about to leave; others may come much later.
static void part(meeting *m, bool has_ended)
{
    gathering *g = m->gathering;
    const uint64_t start = husk__now_ns();
    pthread_mutex_lock(&g->lock);
    while (!has_ended && g->left < m->enqueued && husk__now_ns() - start < PATIENCE_NS)
        pause_for_others(g);
    g->is_abandoned = true;
    g->functions = m->enqueued;
    const bool is_last = has_ended || g->left == g->functions;
    pthread_mutex_unlock(&g->lock);
    if (is_last)
        free_gathering(g);
    for (size_t i = 0; m->queues[i]; ++i)
        clReleaseCommandQueue(m->queues[i]);
    free(m->queues);
}

// What has become of it. A call of OpenCL may have failed once all was done.
static husk_status outcome(const meeting *m, const husk__scope *scope)
{
    if (m->state == DONE)
        return HUSK_OK;
    if (m->state == FAILED && m->why == ENOMEM)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a set of CPUs");
    if (m->state == FAILED)
        return husk__fail(scope, HUSK_UNSUPPORTED, "the system does not let the driver's threads be bound (errno %d)",
                          m->why);
    if (m->failed.code == CL_INVALID_OPERATION)
        return husk__fail_opencl(scope, HUSK_UNSUPPORTED, m->failed.code,
                                 "the driver runs no native kernels, by which its threads are found: %s answered %s",
                                 m->failed.function, husk__opencl_name(m->failed.code));
    if (m->failed.code != CL_SUCCESS)
        return husk__opencl_failed(m->context, scope, m->failed.function, m->failed.code);
    if (m->state == AT_HOME)
        return husk__fail(scope, HUSK_UNSUPPORTED,
                          "the driver computes on the thread that calls it, and has none of its own");
    return husk__fail(scope, HUSK_UNSUPPORTED,
                      "%zu of the driver's %zu threads came within a second: the others have work to do, or it runs "
                      "native kernels on some of its threads alone",
                      m->arrived, m->gathering->count);
}

// Whether each thread had a CPU of its own before.
static bool were_bound(const gathering *g)
{
    for (size_t i = 0; i < g->count; ++i) {
        if (g->seats[i].only < 0)
            return false;
        for (size_t k = 0; k < i; ++k)
            if (g->seats[k].only == g->seats[i].only)
                return false;
    }
    return true;
}

husk_status husk__gather_threads(husk_context *context, size_t count, const int *cpus, bool *bound,
                                 const husk__scope *scope)
{
    meeting m = {.context = context,
                 .gathering = make_gathering(count, cpus),
                 .queues = calloc(count + 1, sizeof(cl_command_queue))}; // NULL behind the last
    if (!m.gathering || !m.queues) {
        if (m.gathering)
            free_gathering(m.gathering);
        free(m.queues);
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory to gather %zu threads", count);
    }
    pthread_mutex_lock(&context->threads_lock); // two gatherings would have some of the threads each
    make_queues(&m);
    enqueue(&m);
    const bool has_ended = finish(&m);
    pthread_mutex_unlock(&context->threads_lock);
    if (bound)
        *bound = m.state == DONE && were_bound(m.gathering);
    const husk_status status = outcome(&m, scope);
    part(&m, has_ended);
    return status;
}
