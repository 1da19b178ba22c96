// SPDX-License-Identifier: MIT
// Whether the device's compiler has a fault that is known: a kernel of the shape that it cannot take is run, and its
// numbers are looked at, or its time. Compilers are not known by their version: distributions mend them.
#include "runtime/quirk.h"

#include <stdlib.h>
#include <string.h>

#include "os/time.h"
#include "runtime/fork.h"
#include "runtime/launch.h"
#include "runtime/opencl_error.h"
#include "runtime/pocl.h"
#include "runtime/program.h"
#include "runtime/queue_struct.h"

#define FLUSH_OPTION "-cl-denorms-are-zero"

// ---- running a probe ----

typedef struct quirk_run {
    husk_context *context;
    husk_queue *queue;
    husk_buffer *buffer; /* of COUNT floats */
    const husk__scope *scope;
} quirk_run;

enum { ROOM = 64, FLUSH_VECTORS = 256, COUNT = 16 * (FLUSH_VECTORS + 1) };

static const husk__range one_item = {{1, 1, 1}, {1, 1, 1}};

// Transfers leave their error on the queue.
static husk_status of_queue(const quirk_run *r, husk_status status)
{
    const husk_error *error = husk_queue_error(r->queue);
    return status == HUSK_OK ? HUSK_OK : husk__fail_opencl(r->scope, status, error->opencl_code, "%s", error->text);
}

static husk_status get_kernel(const quirk_run *r, const char *options, const husk__kernel **kernel)
{
    static const char file[] = "runtime/quirks.cl";
    return husk__kernel_make(r->context, file, options, "husk_runtime_quirk", husk__flushes_denormals(r->context, file),
                             kernel, r->scope);
}

static husk_status write_floats(const quirk_run *r, const float *values, size_t count)
{
    return of_queue(r, husk_buffer_write(r->queue, r->buffer, 0, count * sizeof *values, values));
}

static husk_status read_floats(const quirk_run *r, float *values, size_t count)
{
    return of_queue(r, husk_buffer_read(r->queue, r->buffer, 0, count * sizeof *values, values));
}

static husk_status probe_local_load(const quirk_run *r, bool *has)
{
    const husk__range group = {{1, 1, 1}, {ROOM, 1, 1}};
    const husk__kernel *kernel;
    float values[ROOM];
    husk_status status = get_kernel(r, "-DQUIRK_LOCAL_LOAD", &kernel);
    if (status == HUSK_OK)
        status = HUSK__LAUNCH(r->queue, kernel, &group, r->scope, HUSK__ARG_BUFFER(r->buffer, 0, sizeof(float)));
    if (status == HUSK_OK)
        status = read_floats(r, values, ROOM);
    for (int i = 0; i < ROOM && status == HUSK_OK; ++i)
        *has |= values[i] != 1.0f;
    return status;
}

static husk_status probe_loop_exit(const quirk_run *r, bool *has)
{
    enum { WRITTEN = 4 };
    const husk__kernel *kernel;
    float values[2 * ROOM];
    for (int i = 0; i < 2 * ROOM; ++i)
        values[i] = 7.0f;
    husk_status status = get_kernel(r, "-DQUIRK_LOOP_EXIT", &kernel);
    if (status == HUSK_OK)
        status = write_floats(r, values, 2 * ROOM);
    if (status == HUSK_OK)
        status = HUSK__LAUNCH(
            r->queue, kernel, &one_item, r->scope, HUSK__ARG_BUFFER(r->buffer, ROOM * sizeof(float), sizeof(float)),
            HUSK__ARG_BUFFER(r->buffer, 0, sizeof(float)), HUSK__ARG_I32(WRITTEN), HUSK__ARG_I32(0), HUSK__ARG_I64(1));
    if (status == HUSK_OK)
        status = read_floats(r, values, 2 * ROOM);
    for (int i = 0; i < 2 * ROOM && status == HUSK_OK; ++i)
        *has |= values[i] != (i < WRITTEN ? 0.0f : 7.0f);
    return status;
}

// Nanoseconds that processors spend on one launch, of a CPU device: how long it waits for them, where other processes
// want them too, says nothing of the code. Its end is waited for.
static husk_status time_flush(const quirk_run *r, const husk__kernel *kernel, uint64_t *spent)
{
    enum { ROUNDS = 240 }; // some 0.1 ms where the functions are inlined
    const uint64_t start = husk__cpu_ns(), began = husk__now_ns();
    husk_status status =
        HUSK__LAUNCH(r->queue, kernel, &one_item, r->scope, HUSK__ARG_BUFFER(r->buffer, 0, sizeof(float)),
                     HUSK__ARG_I32(FLUSH_VECTORS), HUSK__ARG_I32(ROUNDS));
    if (status == HUSK_OK)
        status = of_queue(r, husk_queue_finish(r->queue));
    const uint64_t used = husk__cpu_ns() - start;
    *spent = used ? used : husk__now_ns() - began; // that clock may stand still for longer
    return status;
}

bool husk__flush_costs(const uint64_t flushing_ns[HUSK__FLUSH_PAIRS], const uint64_t plain_ns[HUSK__FLUSH_PAIRS])
{
    int dearer = 0;
    uint64_t flushing = UINT64_MAX, plain = UINT64_MAX;
    for (int i = 0; i < HUSK__FLUSH_PAIRS; ++i) {
        dearer += 2 * flushing_ns[i] > 3 * plain_ns[i];
        flushing = flushing_ns[i] < flushing ? flushing_ns[i] : flushing;
        plain = plain_ns[i] < plain ? plain_ns[i] : plain;
    }
    return (2 * dearer > HUSK__FLUSH_PAIRS && 5 * flushing > 7 * plain) || dearer >= HUSK__FLUSH_PAIRS - 1;
}

// Whether the library's functions are called where denormal numbers are flushed: 4.4 times as slow on PoCL 6.0 with
// AVX2, 2.0 to 2.6 times on a Zen 5 with AVX-512, as fast on 3.1 and 7.1. The first launches compile, and do not count.
static husk_status probe_flush(const quirk_run *r, bool *has)
{
    if (r->context->device->traits.device_class != HUSK_DEVICE_CPU)
        return HUSK_OK; // others have no functions to call
    const husk__kernel *plain, *flushing;
    float values[COUNT] = {1e-30f, 1e-9f};
    uint64_t plain_ns[HUSK__FLUSH_PAIRS], flushing_ns[HUSK__FLUSH_PAIRS];
    husk_status status = get_kernel(r, "-DQUIRK_FLUSH", &plain);
    if (status == HUSK_OK)
        status = get_kernel(r, "-DQUIRK_FLUSH " FLUSH_OPTION, &flushing);
    if (status == HUSK_OK)
        status = write_floats(r, values, COUNT);
    for (int i = -1; i < HUSK__FLUSH_PAIRS && status == HUSK_OK; ++i) {
        status = time_flush(r, flushing, &flushing_ns[i < 0 ? 0 : i]);
        if (status == HUSK_OK)
            status = time_flush(r, plain, &plain_ns[i < 0 ? 0 : i]); // the last one: whose product is read
    }
    if (status == HUSK_OK)
        status = read_floats(r, values, 3);
    if (status != HUSK_OK)
        return status;
    atomic_store(&r->context->flushes_anyway, values[2] == 0.0f);
    *has = husk__flush_costs(flushing_ns, plain_ns);
    return HUSK_OK;
}

static husk_status probe_assembly(const quirk_run *r, bool *has)
{
    *has = husk__breaks_on_assembly(&r->context->device->traits);
    return HUSK_OK;
}

// ---- the table ----

static const struct {
    const char *name, *text, *advice;
    husk_status (*probe)(const quirk_run *r, bool *has);
} rows[HUSK__QUIRKS] = {
    [HUSK_QUIRK_LOCAL_LOAD] =
        {"local_load",
         "the compiler repeats loads from local memory behind barriers, where others have written there (PoCL 7.0 to "
         "7.2, its pull request 2269); Husk's kernels avoid the shape",
         "for other kernels set POCL_PREGION_VALUE_REMAT=0 and empty PoCL's cache (~/.cache/pocl), which does not know "
         "the variable",
         probe_local_load},
    [HUSK_QUIRK_LOOP_EXIT] =
        {"loop_exit",
         "the compiler loses the end of loops under a condition, which then write past it (PoCL 7.0 to 7.2, its pull "
         "request 1736); Husk's kernels avoid the shape",
         "for other kernels set POCL_FORCE_PARALLEL_OUTER_LOOP=0 and empty PoCL's cache (~/.cache/pocl), which does "
         "not know the variable",
         probe_loop_exit},
    [HUSK_QUIRK_FLUSH] = {"flush",
                          "with " FLUSH_OPTION
                          " the compiler calls functions such as vload8 and min instead of inlining them (PoCL "
                          "6.0); Husk's kernels are built without it, and denormal numbers are kept",
                          "leave the option out for other kernels, too, or install PoCL 7", probe_flush},
    [HUSK_QUIRK_ASSEMBLY] =
        {"assembly",
         "the compiler takes inline assembly for a call of its own and ends the process (PoCL 4.0 to 6.0, "
         "handleLocalMemAllocas); Husk does without the instructions that need it, VNNI's and AMX's",
         "keep inline assembly out of other kernels, or install PoCL 7", probe_assembly},
};

const char *husk_quirk_name(husk_quirk quirk)
{
    return (unsigned)quirk < HUSK__QUIRKS ? rows[quirk].name : "unknown";
}

const char *husk_quirk_text(husk_quirk quirk)
{
    return (unsigned)quirk < HUSK__QUIRKS ? rows[quirk].text : "";
}

const char *husk_quirk_advice(husk_quirk quirk)
{
    return (unsigned)quirk < HUSK__QUIRKS ? rows[quirk].advice : "";
}

enum { UNKNOWN = 0, YES = 1, NO = -1, NOT_TRIED = -2 };

static husk_status run_probe(husk_context *context, husk_quirk quirk, bool *has, husk_error *error)
{
    const husk__scope scope = {"husk_context_quirk", error};
    quirk_run r = {.context = context, .scope = &scope};
    husk_status status = husk_queue_create(context, NULL, &r.queue, error);
    if (status == HUSK_OK)
        status = husk_buffer_create(context, COUNT * sizeof(float), &r.buffer, error);
    if (status == HUSK_OK)
        status = rows[quirk].probe(&r, has);
    if (status != HUSK_OK)
        husk__name_outer(&scope);
    husk_buffer_release(r.buffer);
    husk_queue_release(r.queue);
    return status;
}

static husk_status probe(husk_context *context, husk_quirk quirk, husk_error *error)
{
    bool has = false;
    const husk_status status = run_probe(context, quirk, &has, error);
    if (status != HUSK_OK) {
        husk__log_write(&context->log, HUSK_LOG_INFORMATION, "the probe of %s fails: %s", husk_quirk_name(quirk),
                        error->text);
        if (!husk__may_pass(error)) // else it is asked again the next time
            atomic_store(&context->quirks[quirk], NOT_TRIED);
        return status;
    }
    if (has)
        husk__log_write(&context->log, HUSK_LOG_INFORMATION, "quirk %s: %s; %s", husk_quirk_name(quirk),
                        husk_quirk_text(quirk), husk_quirk_advice(quirk));
    atomic_store(&context->quirks[quirk], has ? YES : NO);
    return HUSK_OK;
}

bool husk_context_has_quirk(husk_context *context, husk_quirk quirk)
{
    husk_error error = {0};
    if (!context || (unsigned)quirk >= HUSK__QUIRKS)
        return false;
    if (atomic_load(&context->quirks[quirk]) == UNKNOWN && !atomic_load(&context->is_lost) && !husk__is_forked()) {
        pthread_mutex_lock(&context->quirk_lock);
        if (atomic_load(&context->quirks[quirk]) == UNKNOWN)
            probe(context, quirk, &error);
        pthread_mutex_unlock(&context->quirk_lock);
    }
    return atomic_load(&context->quirks[quirk]) == YES;
}

husk_status husk_context_quirk(husk_context *context, husk_quirk quirk, bool *has, husk_error *error)
{
    const husk__scope scope = {"husk_context_quirk", error};
    husk_error found = {0};
    husk_status status = HUSK_OK;
    if (has)
        *has = false;
    if (!context || !has)
        return husk__reject(&scope, context ? "has" : "context", "is NULL");
    if ((unsigned)quirk >= HUSK__QUIRKS)
        return husk__reject(&scope, "quirk", "is %d, which is none", (int)quirk);
    status = husk__refuse_forked(&scope);
    if (status != HUSK_OK)
        return status;
    pthread_mutex_lock(&context->quirk_lock);
    const int known = atomic_load(&context->quirks[quirk]);
    if (known == UNKNOWN || known == NOT_TRIED)
        status = probe(context, quirk, &found);
    pthread_mutex_unlock(&context->quirk_lock);
    *has = atomic_load(&context->quirks[quirk]) == YES;
    if (status != HUSK_OK && error)
        *error = found;
    return status;
}

bool husk__flushes_denormals(husk_context *context, const char *file)
{
    if (context->device->traits.device_class != HUSK_DEVICE_CPU)
        return true;
    return strncmp(file, "runtime/", 8) != 0 && !husk_context_has_quirk(context, HUSK_QUIRK_FLUSH) &&
           !atomic_load(&context->flushes_anyway);
}
