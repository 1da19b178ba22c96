// SPDX-License-Identifier: MIT
// Pooling's variants: choose -> launch. Kernels: cl/pool/*.cl.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/pool/problem.h"
#include "runtime/groups.h"
#include "select/grid.h"

typedef husk__pool_problem problem;

// A variant's state: everything a launch needs but the buffers.
typedef struct launch {
    const husk__kernel *kernel;
    husk__range range;
    int32_t sum_block;
    int32_t columns; // planes: outputs of a unit
    int64_t units;   // CPU variants: units in all
    int64_t share;   // ... that a work-group takes
} launch;

#define OPERATION_TIME 0.5 // nanoseconds, of what costs are counted in
enum {
    PLANES_ROW = 4096, // ROW of cl/pool/planes.cl
    PLANES_LARGEST_SUM = 64
};

// ---- numbers that judge a problem ----

static double window_elements(const problem *own)
{
    return (double)own->window[POOL_D] * (double)own->window[POOL_H] * (double)own->window[POOL_W];
}

// Positions are counted in int by the kernels that work with vectors.
static bool positions_fit(const problem *own)
{
    if (!own->has_indices)
        return true;
    const double positions = (double)own->in[POOL_D] * (double)own->in[POOL_H] * (double)own->in[POOL_W];
    return positions < (double)(INT32_MAX - PLANES_ROW);
}

static int64_t lanes_of(const husk_device_traits *traits)
{
    return traits->vector_width > 4 ? traits->vector_width : 4;
}

// ---- what the variants share ----

static husk_status prepare(husk_plan *plan, const char *variant, launch **made, const husk__scope *scope)
{
    const problem *own = plan->problem;
    launch *state = calloc(1, sizeof *state);
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = state; // freed with the plan
    *made = state;
    const double elements = fmin(window_elements(own), 1e9);
    state->sum_block = (int32_t)fmax(16.0, ceil(sqrt(elements)));

    char file[64], options[96], kernel[64];
    const char *mode = own->kind == HUSK_POOL_AVG ? "avg" : own->has_indices ? "max_indices" : "max";
    const bool needs_index_64 = husk__needs_index_64(plan->context, husk__pool_outputs(own));
    snprintf(file, sizeof file, "pool/%s.cl", variant);
    snprintf(kernel, sizeof kernel, "husk_pool_%s_%s", variant, mode);
    snprintf(options, sizeof options, "%s %s%s", husk__dtype_option(own->dtype), plan->configuration->options,
             needs_index_64 ? " -DINDEX_64" : "");
    return husk__kernel_get(plan->context, file, options, kernel, &state->kernel, scope);
}

// Equal shares of the units; cost is a unit's operations.
static void share_out(launch *own, const husk_plan *plan, int64_t units, double cost)
{
    own->units = units;
    own->share = husk__group_share(husk_context_traits(plan->context), units, cost * OPERATION_TIME);
    own->range = (husk__range){{(size_t)husk__divide_up(units, own->share), 1, 1}, {1, 1, 1}};
}

// POOL_PARAMS and, where there are indices, INDICES_PARAMS.
enum { POOL_ARGUMENTS = 2 + 25 + 10 + 7 };

static husk__arg *write_problem(const husk_plan *plan, const husk__pool_arguments *given, husk__arg *end)
{
    const problem *own = plan->problem;
    const launch *state = plan->state;
    end = husk__pool_write_geometry(own, given->x, given->y, state->sum_block, end);
    return own->has_indices ? husk__pool_write_indices(own, given->indices, end) : end;
}

static husk_status run_units(const husk_plan *plan, husk_queue *queue, const void *given, const husk__scratch *scratch,
                             const husk__scope *scope)
{
    const launch *own = plan->state;
    husk__arg list[POOL_ARGUMENTS + 3];
    husk__arg *end = write_problem(plan, given, list);
    (void)scratch;
    if (own->columns)
        *end++ = HUSK__ARG_I32(own->columns);
    *end++ = HUSK__ARG_I64(own->units);
    *end++ = HUSK__ARG_I64(own->share);
    return husk__launch(queue, own->kernel, &own->range, list, (size_t)(end - list), scope);
}

static const husk__configuration cpu_menu[] = {{.name = "1", .options = ""}};

// ---- planes ----

// Elements of the private row that so many outputs need.
static int64_t planes_span(const problem *own, int64_t columns, int64_t lanes)
{
    return (husk__round_up(columns, lanes) - 1) * own->stride[POOL_W] +
           (own->window[POOL_W] - 1) * own->dilation[POOL_W] + 1;
}

static bool supports_planes(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const problem *own = candidate->problem;
    if (own->x_strides[4] != 1 || own->y_strides[4] != 1)
        return husk__pool_refuse(reason, "needs stride 1 of x and y along the width");
    if (own->window[POOL_W] < 1 || planes_span(own, 1, lanes_of(candidate->traits)) > PLANES_ROW)
        return husk__pool_refuse(reason, "the window is too wide");
    // Sums are formed one after another here, which is exact enough for small windows only.
    if (own->kind == HUSK_POOL_AVG &&
        (own->window[POOL_W] > PLANES_LARGEST_SUM || own->window[POOL_D] * own->window[POOL_H] > PLANES_LARGEST_SUM))
        return husk__pool_refuse(reason, "the window is too large for simple sums");
    return positions_fit(own) || husk__pool_refuse(reason, "x has too many positions");
}

// The common windows, which the kernel pools by bands (try_bands).
static bool is_banded(const problem *own)
{
    return !own->has_indices && own->in[POOL_D] == 1 && own->out[POOL_D] == 1 && own->window[POOL_D] == 1 &&
           own->pad[POOL_D] == 0 && own->dilation[POOL_H] == 1 && own->dilation[POOL_W] == 1 &&
           own->window[POOL_H] == own->window[POOL_W] && own->stride[POOL_H] == own->stride[POOL_W] &&
           (own->window[POOL_W] == 2 || own->window[POOL_W] == 3) && own->stride[POOL_W] <= 2;
}

// Vector operations of cl/pool/planes.cl. Of bands:
static const double BAND_ROW = 8.0;     // a row of outputs, beside its vectors
static const double BAND_VECTOR = 15.0; // a vector of its outputs: loads, combined down the columns and along the row
// By way of a private row:
static const double BEGIN_ROW = 20.0;       // to begin a row of outputs: where its windows lie
static const double EVERY_OTHER = 3.0;      // a vector of every other element: two loads and a shuffle
static const double PLANES_POSITIONS = 8.0; // times as many with positions: they are chosen and kept, too

// Vector operations of a row of outputs.
static double planes_row_cost(const problem *own, const husk_device_traits *traits)
{
    const double lanes = (double)lanes_of(traits);
    const double in_vectors = ceil((double)own->out[POOL_W] * (double)own->stride[POOL_W] / lanes);
    const double out_vectors = ceil((double)own->out[POOL_W] / lanes);
    const double take = own->stride[POOL_W] == 1 ? 1.0 : own->stride[POOL_W] == 2 ? EVERY_OTHER : lanes;
    const double indices = own->has_indices ? PLANES_POSITIONS : 1.0;
    if (is_banded(own))
        return BAND_ROW + BAND_VECTOR * out_vectors;
    return BEGIN_ROW + indices * (in_vectors * (double)(own->window[POOL_D] * own->window[POOL_H]) +
                                  out_vectors * (double)own->window[POOL_W] * take);
}

static double cost_planes(const husk__candidate *candidate)
{
    const problem *own = candidate->problem;
    return husk__pool_time(candidate, husk__pool_outputs(own) / own->out[POOL_W],
                           planes_row_cost(own, candidate->traits));
}

static husk_status prepare_planes(husk_plan *plan, const husk__scope *scope)
{
    const problem *own = plan->problem;
    const husk_device_traits *traits = husk_context_traits(plan->context);
    const int64_t lanes = lanes_of(traits);
    launch *state;
    husk_status status = prepare(plan, "planes", &state, scope);
    if (status != HUSK_OK)
        return status;
    int64_t columns = own->out[POOL_W];
    if (planes_span(own, columns, lanes) > PLANES_ROW) {
        const int64_t room = PLANES_ROW - (own->window[POOL_W] - 1) * own->dilation[POOL_W] - 1;
        columns = (room / own->stride[POOL_W] + 1) / lanes * lanes;
    }
    state->columns = (int32_t)columns;
    const int64_t rows = husk__pool_outputs(own) / own->out[POOL_W];
    share_out(state, plan, rows * husk__divide_up(own->out[POOL_W], columns),
              planes_row_cost(own, traits) * (double)columns / (double)own->out[POOL_W]);
    return HUSK_OK;
}

const husk__variant husk__pool_planes = {
    .name = "planes",
    .family = HUSK__FAMILY_CPU,
    .configurations = cpu_menu,
    .configuration_count = 1,
    .supports = supports_planes,
    .cost = cost_planes,
    .prepare = prepare_planes,
    .run = run_units,
};

// ---- channels ----

enum { CHANNELS_UNIT = 8 }; // UNIT of cl/pool/channels.cl
// Vector operations of that kernel:
static const double CHANNELS_OUTPUT = 30.0;   // an output position: its window, and what is stored
static const double CHANNELS_ELEMENT = 2.0;   // an element of the window, beside its vectors of channels
static const double CHANNELS_POSITIONS = 8.0; // a vector with positions, where one without them takes one

static bool supports_channels(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const problem *own = candidate->problem;
    if (own->x_strides[1] != 1 || own->y_strides[1] != 1)
        return husk__pool_refuse(reason, "needs stride 1 of x and y along the channels");
    return positions_fit(own) || husk__pool_refuse(reason, "x has too many positions");
}

static double channels_unit_cost(const problem *own, const husk_device_traits *traits)
{
    const int64_t vectors = husk__divide_up(own->channels, lanes_of(traits));
    const double taken = (double)husk__min_i64(vectors, CHANNELS_UNIT);
    return CHANNELS_OUTPUT +
           window_elements(own) * (CHANNELS_ELEMENT + taken * (own->has_indices ? CHANNELS_POSITIONS : 1.0));
}

static int64_t channels_units(const problem *own, const husk_device_traits *traits)
{
    return husk__pool_outputs(own) / own->channels * husk__divide_up(own->channels, CHANNELS_UNIT * lanes_of(traits));
}

static double cost_channels(const husk__candidate *candidate)
{
    const problem *own = candidate->problem;
    return husk__pool_time(candidate, channels_units(own, candidate->traits),
                           channels_unit_cost(own, candidate->traits));
}

static husk_status prepare_channels(husk_plan *plan, const husk__scope *scope)
{
    const husk_device_traits *traits = husk_context_traits(plan->context);
    launch *state;
    husk_status status = prepare(plan, "channels", &state, scope);
    if (status == HUSK_OK)
        share_out(state, plan, channels_units(plan->problem, traits), channels_unit_cost(plan->problem, traits));
    return status;
}

const husk__variant husk__pool_channels = {
    .name = "channels",
    .family = HUSK__FAMILY_CPU,
    .configurations = cpu_menu,
    .configuration_count = 1,
    .supports = supports_channels,
    .cost = cost_channels,
    .prepare = prepare_channels,
    .run = run_units,
};

// ---- window ----

// Vector operations of cl/pool/window.cl:
static const double GLOBAL_OUTPUT = 5.0;     // an output of global pooling: its part of what several share
static const double GLOBAL_VECTOR = 1.5;     // a vector of its window
static const double WINDOW_OUTPUT = 40.0;    // any other output: its window, and the lanes brought together
static const double WINDOW_ROW = 10.0;       // a row of its window, beside its vectors
static const double WINDOW_POSITIONS = 10.0; // a vector with positions, where one without them takes one

static bool supports_window(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const problem *own = candidate->problem;
    if (own->x_strides[4] != 1 || own->dilation[POOL_W] != 1)
        return husk__pool_refuse(reason, "needs stride 1 of x along the width, and no dilation there");
    return positions_fit(own) || husk__pool_refuse(reason, "x has too many positions");
}

static double window_unit_cost(const problem *own, const husk_device_traits *traits)
{
    const double vectors = ceil((double)own->window[POOL_W] / (double)lanes_of(traits));
    const double indices = own->has_indices ? WINDOW_POSITIONS : 1.0;
    // Global pooling of rows, several at a time.
    if (!own->has_indices && husk__pool_outputs(own) == own->batch * own->channels &&
        own->window[POOL_D] * own->window[POOL_H] == 1)
        return GLOBAL_OUTPUT + GLOBAL_VECTOR * vectors;
    return WINDOW_OUTPUT + (double)(own->window[POOL_D] * own->window[POOL_H]) * (WINDOW_ROW + vectors * indices);
}

static double cost_window(const husk__candidate *candidate)
{
    return husk__pool_time(candidate, husk__pool_outputs(candidate->problem),
                           window_unit_cost(candidate->problem, candidate->traits));
}

static husk_status prepare_window(husk_plan *plan, const husk__scope *scope)
{
    launch *state;
    husk_status status = prepare(plan, "window", &state, scope);
    if (status != HUSK_OK)
        return status;
    const husk_device_traits *traits = husk_context_traits(plan->context);
    share_out(state, plan, husk__pool_outputs(plan->problem), window_unit_cost(plan->problem, traits));
    // Global pooling takes as many outputs at a time as a vector has lanes.
    state->share = husk__round_up(state->share, lanes_of(traits));
    state->range.groups[0] = (size_t)husk__divide_up(state->units, state->share);
    return HUSK_OK;
}

const husk__variant husk__pool_window = {
    .name = "window",
    .family = HUSK__FAMILY_CPU,
    .configurations = cpu_menu,
    .configuration_count = 1,
    .supports = supports_window,
    .cost = cost_window,
    .prepare = prepare_window,
    .run = run_units,
};

// ---- direct ----

enum { GPU_GROUPS_PER_UNIT = 64 };

static husk_status prepare_direct(husk_plan *plan, const husk__scope *scope)
{
    const int64_t items = husk__grid_items(plan->configuration);
    launch *state;
    husk_status status = prepare(plan, "direct", &state, scope);
    if (status != HUSK_OK)
        return status;
    const int64_t most = GPU_GROUPS_PER_UNIT * (int64_t)husk_context_traits(plan->context)->compute_units;
    const int64_t groups = husk__min_i64(husk__divide_up(husk__pool_outputs(plan->problem), items), most);
    state->range = (husk__range){{(size_t)groups, 1, 1}, {(size_t)items, 1, 1}};
    return HUSK_OK;
}

static husk_status run_direct(const husk_plan *plan, husk_queue *queue, const void *given, const husk__scratch *scratch,
                              const husk__scope *scope)
{
    const problem *own = plan->problem;
    const launch *state = plan->state;
    husk__arg list[POOL_ARGUMENTS + 1];
    husk__arg *end = write_problem(plan, given, list);
    (void)scratch;
    const bool channels_fastest = own->x_strides[1] == 1 && own->x_strides[4] != 1;
    *end++ = HUSK__ARG_I32(channels_fastest);
    return husk__launch(queue, state->kernel, &state->range, list, (size_t)(end - list), scope);
}

const husk__variant husk__pool_direct = {
    .name = "direct",
    .family = HUSK__FAMILY_GPU,
    .configurations = husk__grid_menu,
    .configuration_count = HUSK__GRID_CONFIGURATIONS,
    .supports = husk__pool_supports_direct,
    .cost = husk__grid_cost,
    .prepare = prepare_direct,
    .run = run_direct,
};
