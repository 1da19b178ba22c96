// SPDX-License-Identifier: MIT
// A CPU device's rates: the kernels of cl/runtime/rates.cl, timed from outside. Something else may run on the machine,
// which only ever makes a launch slower: the fastest of several tries counts, and a round of tries of all kinds follows
// another, so that what runs for a while spoils one try of each and not all of one.
#include "machine/measure.h"

#include <math.h>
#include <stdio.h>

#include "base/checked.h"
#include "machine/sizes.h"
#include "os/time.h"
#include "runtime/launch.h"

enum { ROUNDS = 11, MEMORY_ROUNDS = 4, READ_AT_ONCE = 8 };
// Cycles of a try, some 15 us each, bytes that it reads from a cache, and launches in a row. It is timed beside one of
// LONGER times as much: their difference has nothing in it that a single launch takes.
enum { CHAIN_CYCLES = 64000, FMA_CYCLES = 64000, CACHE_BYTES = 1 << 20, LAUNCHES = 4, LONGER = 8 };
// A part of the last cache that other programs leave to this one, and what is as good as memory. Larger caches would
// take more time than measuring may.
enum { MOST_L3_BYTES = 8 << 20, LEAST_MEMORY_BYTES = 32 << 20, MOST_MEMORY_BYTES = 64 << 20 };

typedef struct measuring {
    husk_context *context;
    const husk_machine *machine;
    husk_queue *queue;
    husk_buffer *data, *result;
    uint64_t data_bytes;
    const husk__kernel *chain, *fma, *read;
    int sums; // of the kernel fma
    const husk__scope *scope;
} measuring;

static husk__range groups_of(uint32_t count)
{
    return (husk__range){{count, 1, 1}, {1, 1, 1}};
}

// Transfers and waits leave their error on the queue.
static husk_status of_queue(const measuring *m, husk_status status)
{
    const husk_error *error = husk_queue_error(m->queue);
    return status == HUSK_OK ? HUSK_OK : husk__fail_opencl(m->scope, status, error->opencl_code, "%s", error->text);
}

static husk_status finish(const measuring *m)
{
    return of_queue(m, husk_queue_finish(m->queue));
}

// ---- launches ----

// What is timed: a launch of so many groups, each of which repeats something.
typedef husk_status (*launch_fn)(const measuring *m, uint32_t groups, int size, int repeats);

static husk_status launch_chain(const measuring *m, uint32_t groups, int unused, int cycles)
{
    enum { A = 0x5bd1e995, B = 0x2545f491, CYCLES_PER_STEP = 2 };
    const husk__range range = groups_of(groups);
    (void)unused;
    return HUSK__LAUNCH(m->queue, m->chain, &range, m->scope, HUSK__ARG_BUFFER(m->result, 0, sizeof(float)),
                        HUSK__ARG_I32(cycles / CYCLES_PER_STEP), HUSK__ARG_I32(A), HUSK__ARG_I32(B));
}

static husk_status launch_fma(const measuring *m, uint32_t groups, int unused, int steps)
{
    const husk__range range = groups_of(groups);
    (void)unused;
    return HUSK__LAUNCH(m->queue, m->fma, &range, m->scope, HUSK__ARG_BUFFER(m->result, 0, sizeof(float)),
                        HUSK__ARG_I32(steps), HUSK__ARG_F32(0.5f), HUSK__ARG_F32(1.0f));
}

static husk_status launch_read(const measuring *m, uint32_t groups, int vectors, int rounds)
{
    const husk__range range = groups_of(groups);
    return HUSK__LAUNCH(m->queue, m->read, &range, m->scope, HUSK__ARG_BUFFER(m->data, 0, sizeof(float)),
                        HUSK__ARG_BUFFER(m->result, 0, sizeof(float)), HUSK__ARG_I32(vectors), HUSK__ARG_I32(rounds));
}

// Launches in a row, of so many cycles each.
static husk_status launch_row(const measuring *m, uint32_t groups, int cycles, int launches)
{
    husk_status status = HUSK_OK;
    for (int i = 0; i < launches && status == HUSK_OK; ++i)
        status = launch_chain(m, groups, 0, cycles);
    return status;
}

// ---- times ----

// Each of the first ones is followed by what is LONGER.
enum {
    EMPTY,
    EMPTY_LONGER,
    CHAIN,
    CHAIN_LONGER,
    FMA,
    FMA_LONGER,
    L2,
    L2_LONGER,
    L3,
    L3_LONGER,
    ROW,
    ROW_ALL,
    MEMORY,
    MEMORY_ALL,
    TIMINGS
};

typedef struct timing {
    launch_fn launch; // NULL: not timed
    uint32_t groups;
    int size, repeats, rounds;
    double ns; // the least
} timing;

static timing longer(timing t)
{
    t.repeats *= LONGER;
    return t;
}

// Vectors that each of the groups reads of so many bytes.
static int vectors_of(const measuring *m, uint32_t groups, uint64_t bytes)
{
    const uint64_t vector = m->machine->vector_width * sizeof(float);
    return (int)(bytes / groups / vector / READ_AT_ONCE * READ_AT_ONCE);
}

static double bytes_of(const measuring *m, const timing *t)
{
    return (double)t->size * t->groups * m->machine->vector_width * sizeof(float);
}

static timing reading(const measuring *m, uint64_t bytes)
{
    const int repeats = (int)husk__max_i64(1, (int64_t)(CACHE_BYTES / bytes));
    return (timing){launch_read, 1, vectors_of(m, 1, bytes), repeats, ROUNDS, INFINITY};
}

static void plan_timings(const measuring *m, timing timings[TIMINGS])
{
    const husk_machine *machine = m->machine;
    const uint64_t l3 = machine->l3 / 2 < MOST_L3_BYTES ? machine->l3 / 2 : MOST_L3_BYTES;
    const bool has_l3 = l3 >= 2 * machine->l2;
    timings[EMPTY] = (timing){launch_row, 1, 0, LAUNCHES, ROUNDS, INFINITY};
    timings[CHAIN] = (timing){launch_chain, 1, 0, CHAIN_CYCLES, ROUNDS, INFINITY};
    timings[FMA] = (timing){launch_fma, 1, 0, FMA_CYCLES / m->sums, ROUNDS, INFINITY};
    timings[L2] = reading(m, machine->l2 / 2);
    timings[L3] = has_l3 ? reading(m, l3) : (timing){0};
    for (int i = EMPTY; i <= L3; i += 2)
        timings[i + 1] = longer(timings[i]);
    timings[ROW] = (timing){launch_row, 1, CHAIN_CYCLES, LAUNCHES, ROUNDS, INFINITY};
    timings[ROW_ALL] = timings[ROW];
    timings[ROW_ALL].groups = machine->cores;
    timings[MEMORY] = (timing){launch_read, 1, vectors_of(m, 1, m->data_bytes), 1, MEMORY_ROUNDS, INFINITY};
    timings[MEMORY_ALL] = timings[MEMORY];
    timings[MEMORY_ALL].groups = machine->cores;
    timings[MEMORY_ALL].size = vectors_of(m, machine->cores, m->data_bytes);
}

static husk_status try_once(const measuring *m, timing *t)
{
    const uint64_t begin = husk__now_ns();
    husk_status status = t->launch(m, t->groups, t->size, t->repeats);
    if (status == HUSK_OK)
        status = finish(m);
    t->ns = fmin(t->ns, (double)(husk__now_ns() - begin));
    return status;
}

static husk_status take_times(const measuring *m, timing timings[TIMINGS])
{
    husk_status status = HUSK_OK;
    for (int round = 0; round < ROUNDS; ++round)
        for (int i = 0; i < TIMINGS && status == HUSK_OK; ++i)
            if (timings[i].launch && round < timings[i].rounds)
                status = try_once(m, &timings[i]);
    return status;
}

// What one repetition takes. Where the short one never ran undisturbed there is no difference: the long one counts,
// with what its launch takes.
static double time_of_one(const timing *t)
{
    const double few = t[0].ns, many = t[1].ns;
    return many > 2.0 * few ? (many - few) / (t[1].repeats - t[0].repeats) : many / t[1].repeats;
}

static husk_machine_rates rates_of(const measuring *m, const timing timings[TIMINGS])
{
    const double cycle = time_of_one(&timings[CHAIN]);
    husk_machine_rates rates = {
        .clock_ghz = 1.0 / cycle,
        .fma_per_cycle = m->sums * cycle / time_of_one(&timings[FMA]),
        .l2_rate = bytes_of(m, &timings[L2]) / time_of_one(&timings[L2]),
        .memory_rate = bytes_of(m, &timings[MEMORY]) / timings[MEMORY].ns,
        .launch_ns = time_of_one(&timings[EMPTY]),
        .wake_ns = m->machine->cores > 1 ? (timings[ROW_ALL].ns - timings[ROW].ns) / LAUNCHES : 0.0,
    };
    // All cores reach at least what one does; others' work on them hides that.
    rates.memory_rate_all = fmax(rates.memory_rate, bytes_of(m, &timings[MEMORY_ALL]) / timings[MEMORY_ALL].ns);
    rates.l3_rate = timings[L3].launch ? bytes_of(m, &timings[L3]) / time_of_one(&timings[L3]) : rates.memory_rate;
    return rates;
}

// ---- all of it ----

static husk_status get_kernel(const measuring *m, const char *options, const husk__kernel **kernel)
{
    return husk__kernel_get(m->context, "runtime/rates.cl", options, "husk_runtime_rate", kernel, m->scope);
}

// As many sums as fit the registers beside the two factors: more than any core has multiply-adds in flight.
static int sums_of(const husk_machine *machine)
{
    return machine->registers >= 32 ? 24 : 12;
}

static husk_status prepare(measuring *m)
{
    const husk_machine *machine = m->machine;
    char options[64];
    const float zero = 0.0f;
    const uint64_t memory = 2 * machine->l3;
    m->data_bytes = memory < LEAST_MEMORY_BYTES ? LEAST_MEMORY_BYTES : memory;
    if (m->data_bytes > MOST_MEMORY_BYTES)
        m->data_bytes = MOST_MEMORY_BYTES;
    const uint64_t largest = husk_context_traits(m->context)->max_allocation;
    if (m->data_bytes > largest)
        m->data_bytes = largest;
    husk_error *error = m->scope->error;
    husk_status status = husk_queue_create(m->context, NULL, &m->queue, error);
    if (status == HUSK_OK)
        status = husk_buffer_create(m->context, m->data_bytes, &m->data, error);
    if (status == HUSK_OK)
        status = husk_buffer_create(m->context, (uint64_t)machine->cores * machine->vector_width * sizeof(float),
                                    &m->result, error);
    if (status == HUSK_OK)
        status = get_kernel(m, "-DDTYPE_F32 -DRATE_CYCLE", &m->chain);
    snprintf(options, sizeof options, "-DDTYPE_F32 -DRATE_FMA -DSUMS=%d", m->sums);
    if (status == HUSK_OK)
        status = get_kernel(m, options, &m->fma);
    if (status == HUSK_OK)
        status = get_kernel(m, "-DDTYPE_F32 -DRATE_READ", &m->read);
    // Memory that nobody has written may be one page of zeros everywhere.
    if (status == HUSK_OK)
        status = of_queue(m, husk_buffer_fill(m->queue, m->data, 0, m->data_bytes, &zero, sizeof zero));
    return status == HUSK_OK ? finish(m) : status;
}

static husk_status measure(measuring *m, husk_machine_rates *rates)
{
    timing timings[TIMINGS];
    husk_status status = prepare(m);
    plan_timings(m, timings);
    if (status == HUSK_OK)
        status = launch_chain(m, m->machine->cores, 0, LONGER * CHAIN_CYCLES); // until threads and clocks are at speed
    if (status == HUSK_OK)
        status = take_times(m, timings);
    if (status == HUSK_OK)
        *rates = rates_of(m, timings);
    return status;
}

husk_status husk__machine_measure(const husk_device *device, const husk_machine *machine, husk_machine_rates *rates,
                                  const husk__scope *scope)
{
    husk_error error = {0};
    const husk__scope own = {scope->call, &error};
    const husk_context_params params = HUSK_CONTEXT_PARAMS(.cache = HUSK_CACHE_OFF);
    measuring m = {.machine = machine, .sums = sums_of(machine), .scope = &own};
    husk_machine_rates found;
    husk_status status = husk_context_create(device, &params, &m.context, &error);
    if (status == HUSK_OK)
        status = measure(&m, &found);
    husk_buffer_release(m.data);
    husk_buffer_release(m.result);
    husk_queue_release(m.queue);
    husk_context_release(m.context);
    if (status != HUSK_OK)
        return husk__fail_opencl(scope, status, error.opencl_code, "the rates cannot be measured: %s", error.text);
    husk__rates_confine(machine, &found);
    *rates = found;
    return HUSK_OK;
}
