// SPDX-License-Identifier: MIT
// Attention of few queries on many keys, CPU devices: the keys' ranges. Kernels: cl/attention/ranges.cl.
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/attention/problem.h"

typedef husk__attention_problem problem;
typedef husk__attention_arguments arguments;

enum { BATCH = HUSK__ATTENTION_BATCH, HEADS, LENGTH, COLUMNS };

// Room for 4 rows of 4096 columns; lines of 128 scores and what they are made from leave a second-level cache half
// empty. One program: `whole` has work-groups of all ranges, `split` of one range each, and joins what they come to.
enum { LINE, MOST_ROWS, STATE_FLOATS, SPLITS };
#define ROOM "-DTILE_M=4 -DTILE_NV=4 -DLINE=128 -DMOST_ROWS=64 -DSTATE_FLOATS=16384"
static const husk__configuration menu[] = {
    {"whole", ROOM, {128, 64, 16384, 0}},
    {"split", ROOM, {128, 64, 16384, 1}},
};

typedef struct state {
    const husk__kernel *kernel, *join; // join: of `split`
    int64_t range, ranges;
    husk__range groups, join_groups;
} state;

// Queries of all heads that share keys.
static int64_t rows_of(const problem *own)
{
    return own->k.shape[HEADS] ? own->q.shape[HEADS] / own->k.shape[HEADS] * own->q.shape[LENGTH] : 0;
}

static int64_t units_of(const problem *own)
{
    return own->k.shape[BATCH] * own->k.shape[HEADS];
}

// As the kernel's pitch.
static int64_t padded(const problem *own, const husk_device_traits *traits, int dimension)
{
    const husk_tensor *of = dimension == 0 ? &own->q : &own->v;
    return husk__round_up(husk__max_i64(of->shape[COLUMNS], 1), husk__attention_lanes(traits, of->dtype));
}

// Keys in a range: a function of their number alone. Fewer than some hundred are not worth a work-group; and more than
// some dozen ranges are of no use.
static int64_t range_of(const problem *own)
{
    enum { LEAST = 512, MOST_RANGES = 64 };
    const int64_t keys = husk__max_i64(own->k.shape[LENGTH], 1);
    const int64_t ranges = husk__min_i64(husk__divide_up(keys, LEAST), MOST_RANGES);
    return husk__round_up(husk__divide_up(keys, ranges), menu[0].values[LINE]);
}

static int64_t ranges_of(const problem *own)
{
    return husk__divide_up(husk__max_i64(own->k.shape[LENGTH], 1), range_of(own));
}

// What decides between `whole` and `split`, and nothing else: the second kernel of `split`, which joins; bytes of keys
// and values that a core takes in a nanosecond.
static const double JOIN_NS = 15e3, BYTES_PER_NS = 12;

// Cores are left idle by work-groups of all ranges where there are few of them; a second kernel takes time, too.
static double time_of(const problem *own, const husk_device_traits *traits, bool splits)
{
    const int64_t cores = (int64_t)traits->compute_units, units = units_of(own), ranges = ranges_of(own);
    const double unit = (double)own->k.shape[LENGTH] * (double)(own->q.shape[COLUMNS] + own->v.shape[COLUMNS]) *
                        (double)husk_dtype_size(own->q.dtype) / BYTES_PER_NS;
    return splits ? (double)husk__divide_up(units * ranges, cores) * unit / (double)ranges + JOIN_NS
                  : (double)husk__divide_up(units, cores) * unit;
}

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const problem *own = candidate->problem;
    const int32_t *most = candidate->configuration->values;
    const int64_t rows = rows_of(own), room = rows <= 1 ? 1 : husk__round_up(rows, 4);
    if (rows > most[MOST_ROWS]) {
        snprintf(reason, HUSK__REASON_CAPACITY, "takes at most %d queries of heads that share keys", most[MOST_ROWS]);
        return false;
    }
    if (most[SPLITS] && ranges_of(own) == 1) {
        snprintf(reason, HUSK__REASON_CAPACITY, "has one range of keys to split");
        return false;
    }
    if (room * padded(own, candidate->traits, 0) <= most[STATE_FLOATS] &&
        room * padded(own, candidate->traits, 1) <= most[STATE_FLOATS])
        return true;
    snprintf(reason, HUSK__REASON_CAPACITY, "has room for %d columns of so many queries",
             (int)(most[STATE_FLOATS] / husk__max_i64(room, 1)));
    return false;
}

// Blocks packs keys and values for each head once, which costs what its products of some ten queries cost; here a query
// takes 1.4 times as long as there.
static bool suits(const husk__candidate *candidate)
{
    enum { MOST_QUERIES = 12 };
    const problem *own = candidate->problem;
    return own->q.shape[LENGTH] <= MOST_QUERIES;
}

// Beside blocks, whose better configuration costs 1 and the other 2: before both where this suits, after both where
// not; and what is added for the slower of its own two.
static const double SUITED = 0.5, UNSUITED = 4.0, SLOWER = 0.1;

static double cost(const husk__candidate *candidate)
{
    const problem *own = candidate->problem;
    const bool splits = candidate->configuration->values[SPLITS] != 0;
    const bool is_faster = time_of(own, candidate->traits, splits) <= time_of(own, candidate->traits, !splits);
    return (suits(candidate) ? SUITED : UNSUITED) + (is_faster ? 0.0 : SLOWER);
}

static uint64_t workspace(const husk__candidate *candidate)
{
    const problem *own = candidate->problem;
    if (!candidate->configuration->values[SPLITS])
        return 0;
    return (uint64_t)(units_of(own) * rows_of(own) * ranges_of(own) * (padded(own, candidate->traits, 1) + 2)) *
           husk__accumulator_size(own->q.dtype);
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const problem *own = plan->problem;
    state *made = calloc(1, sizeof *made);
    plan->state = made; // freed with the plan
    if (!made)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    const bool splits = plan->configuration->values[SPLITS] != 0;
    made->range = range_of(own);
    made->ranges = ranges_of(own);
    made->groups = (husk__range){{splits ? (size_t)made->ranges : 1, (size_t)units_of(own), 1}, {1, 1, 1}};
    made->join_groups = (husk__range){
        {(size_t)own->q.shape[LENGTH], (size_t)(own->q.shape[BATCH] * own->q.shape[HEADS]), 1}, {1, 1, 1}};
    char options[192];
    snprintf(options, sizeof options, "%s %s", husk__attention_options(own->q.dtype), plan->configuration->options);
    husk_status status =
        husk__kernel_get(plan->context, "attention/ranges.cl", options, "husk_attention_ranges", &made->kernel, scope);
    if (status == HUSK_OK && splits)
        status = husk__kernel_get(plan->context, "attention/ranges.cl", options, "husk_attention_ranges_join",
                                  &made->join, scope);
    return status;
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const problem *own = plan->problem;
    const arguments *given = untyped;
    const state *made = plan->state;
    const husk__arg parts = HUSK__ARG_BUFFER(scratch->buffer, 0, (uint32_t)husk__accumulator_size(own->q.dtype));
    husk__arg list[HUSK__ATTENTION_OUTPUT_ARGS + HUSK__ATTENTION_ARGS + 2];
    husk__arg *end = husk__attention_write_outputs(own, given, list);
    end = husk__attention_write_args(own, &given->inputs, end);
    const husk__arg keep = end[-1]; // the last one
    *end++ = parts;
    *end++ = HUSK__ARG_I32(made->range);
    husk_status status = husk__launch(queue, made->kernel, &made->groups, list, (size_t)(end - list), scope);
    if (status != HUSK_OK || !made->join)
        return status;
    end = husk__attention_write_outputs(own, given, list);
    *end++ = parts;
    *end++ = HUSK__ARG_I32(own->q.shape[HEADS]);
    *end++ = HUSK__ARG_I32(made->ranges);
    *end++ = HUSK__ARG_I32(own->v.shape[COLUMNS]);
    *end++ = keep;
    return husk__launch(queue, made->join, &made->join_groups, list, (size_t)(end - list), scope);
}

const husk__variant husk__attention_ranges = {
    .name = "ranges",
    .family = HUSK__FAMILY_CPU,
    .configurations = menu,
    .configuration_count = sizeof(menu) / sizeof(menu[0]),
    .supports = supports,
    .cost = cost,
    .workspace = workspace,
    .prepare = prepare,
    .run = run,
};
