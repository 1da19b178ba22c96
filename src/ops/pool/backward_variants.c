// SPDX-License-Identifier: MIT
// The variants of pooling's gradient: choose -> launch. Kernels: cl/pool/backward_*.cl.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/pool/backward_problem.h"
#include "runtime/groups.h"
#include "select/grid.h"

typedef husk__pool_backward_problem problem;
typedef husk__pool_backward_arguments arguments;

// A variant's state: everything a launch needs but the buffers.
typedef struct launch {
    const husk__kernel *kernel;
    husk__range range;
    int32_t rows, columns; // planes: of a band
    int32_t by_fills;      // planes, average: see cl/pool/backward_planes.cl
    int32_t together;      // planes, maximum: the same
    bool is_anew, streams; // planes, maximum: found by the kernel itself; dx is stored past the caches
    int64_t units;         // CPU variants: units in all
    int64_t share;         // ... that a work-group takes
} launch;

#define OPERATION_TIME 0.5 // nanoseconds, of what costs are counted in
enum {
    CPU_GROUPS_PER_UNIT = 4,
    BAND = 8192,       // of cl/pool/backward_planes.cl
    MOST_TERMS = 128,  // that it adds up one after another: of some more alike the error passes the bound
    ANEW_BAND = 3136,  // elements of a band of maxima found anew: x and dx of it stay in the first-level cache
    ANEW_COLUMNS = 256 // of one, at most
};

// ---- numbers that judge a problem ----

static int64_t inputs_of(const husk__pool_problem *own)
{
    return own->batch * own->channels * own->in[POOL_D] * own->in[POOL_H] * own->in[POOL_W];
}

static int64_t plane_outputs(const husk__pool_problem *own)
{
    return own->out[POOL_D] * own->out[POOL_H] * own->out[POOL_W];
}

// Windows over an element, on average.
static double cover_of(const husk__pool_problem *own)
{
    double cover = 1.0;
    for (int d = 0; d < 3; ++d)
        cover *= fmin((double)own->out[d], fmax(1.0, (double)own->window[d] / (double)own->stride[d]));
    return cover;
}

static int64_t lanes_of(const husk_device_traits *traits)
{
    return traits->vector_width > 4 ? traits->vector_width : 4;
}

// Positions are counted in int by the kernels that work with vectors.
static bool positions_fit(const husk__pool_problem *own)
{
    const double positions = (double)own->in[POOL_D] * (double)own->in[POOL_H] * (double)own->in[POOL_W];
    return positions < (double)(INT32_MAX - BAND);
}

// ---- what the variants share ----

static const char *name_of(const husk__pool_problem *own)
{
    return own->kind == HUSK_POOL_AVG ? "avg" : "max";
}

// The kernel is husk_pool_backward_VARIANT_WHAT.
static husk_status prepare(husk_plan *plan, const char *variant, const char *what, launch **made,
                           const husk__scope *scope)
{
    const problem *own = plan->problem;
    launch *state = calloc(1, sizeof *state);
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = state; // freed with the plan
    *made = state;
    char file[64], options[96], kernel[64];
    const bool needs_index_64 = husk__needs_index_64(plan->context, inputs_of(&own->pool));
    snprintf(file, sizeof file, "pool/backward_%s.cl", variant);
    snprintf(kernel, sizeof kernel, "husk_pool_backward_%s_%s", variant, what);
    snprintf(options, sizeof options, "%s %s%s", husk__dtype_option(own->pool.dtype), plan->configuration->options,
             needs_index_64 ? " -DINDEX_64" : "");
    return husk__kernel_get(plan->context, file, options, kernel, &state->kernel, scope);
}

// Equal shares of the units; cost is a unit's operations.
static void share_out(launch *own, const husk_device_traits *traits, int64_t units, double cost)
{
    own->units = units;
    own->share = husk__group_share(traits, units, cost * OPERATION_TIME);
    own->range = (husk__range){{(size_t)husk__divide_up(units, own->share), 1, 1}, {1, 1, 1}};
}

// POOL_BACKWARD_PARAMS and, for MAX, SAVED_PARAMS; then at most 5 of a variant.
enum { MOST_ARGUMENTS = 2 + 25 + 10 + 7 + 5 };

static husk__arg *write_geometry(const problem *what, const arguments *given, husk__arg *end)
{
    return husk__pool_write_geometry(&what->pool, given->dx, given->dy, what->accumulates, end);
}

static husk__arg *write_problem(const problem *what, const arguments *given, const husk_tensor *indices, husk__arg *end)
{
    const husk__pool_problem *own = &what->pool;
    end = write_geometry(what, given, end);
    return own->kind == HUSK_POOL_AVG ? end : husk__pool_write_indices(own, indices, end);
}

static husk_status run_units(const husk_plan *plan, husk_queue *queue, const void *given, const husk__scratch *scratch,
                             const husk__scope *scope)
{
    const problem *what = plan->problem;
    const launch *own = plan->state;
    husk_tensor indices = {0};
    husk_status status = husk__pool_backward_indices(plan, queue, given, scratch, &indices);
    if (status != HUSK_OK)
        return status;
    husk__arg list[MOST_ARGUMENTS], *end = write_problem(what, given, &indices, list);
    if (own->columns) {
        *end++ = HUSK__ARG_I32(own->rows);
        *end++ = HUSK__ARG_I32(own->columns);
        *end++ = what->pool.kind == HUSK_POOL_AVG ? HUSK__ARG_I32(own->by_fills) : HUSK__ARG_I32(own->together);
    }
    *end++ = HUSK__ARG_I64(own->units);
    *end++ = HUSK__ARG_I64(own->share);
    return husk__launch(queue, own->kernel, &own->range, list, (size_t)(end - list), scope);
}

static const husk__configuration cpu_menu[] = {{.name = "1", .options = ""}};

// ---- planes ----

// Windows of one dimension that an element is in, at most.
static double windows_along(const husk__pool_problem *own, int dimension)
{
    const double step = own->dilation[dimension] == 1 ? (double)own->stride[dimension] : 1.0;
    return fmin(ceil((double)own->window[dimension] / step), (double)own->out[dimension]);
}

// Rows of windows that an element of dx is in, at most.
static double window_rows(const husk__pool_problem *own)
{
    return windows_along(own, POOL_D) * windows_along(own, POOL_H);
}

// Rows of outputs whose gradients the kernel adds up by themselves; 0: all.
static int32_t rows_together(const husk__pool_problem *own)
{
    const double row = windows_along(own, POOL_W);
    return row * window_rows(own) <= MOST_TERMS ? 0 : (int32_t)(MOST_TERMS / row);
}

// Additions that an element of dx meets one after another, at least: of averages those of a row are done by
// themselves, of maxima those of some rows, whose sums are added up then.
static double additions_of(const husk__pool_problem *own)
{
    const double row = windows_along(own, POOL_W), rows = window_rows(own);
    const int32_t together = own->kind == HUSK_POOL_MAX && row <= MOST_TERMS ? rows_together(own) : 0;
    return own->kind != HUSK_POOL_MAX ? row + rows : together > 0 ? fmax(row, ceil(rows / together)) : row;
}

static bool supports_planes(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__pool_problem *own = &((const problem *)candidate->problem)->pool;
    if (own->x_strides[4] != 1 || own->y_strides[4] != 1)
        return husk__pool_refuse(reason, "needs stride 1 of dx and dy along the width");
    if ((own->window[POOL_W] - 1) * own->dilation[POOL_W] >= BAND)
        return husk__pool_refuse(reason, "the window is too wide");
    if (additions_of(own) > MOST_TERMS)
        return husk__pool_refuse(reason, "an element is in so many windows that their sum needs runs");
    return positions_fit(own) || husk__pool_refuse(reason, "dx has too many positions");
}

// Vector operations of cl/pool/backward_planes.cl. Of averages, the row of shares of cl/lib/pool_spread.clh:
static const double BEGIN_PHASE = 20.0; // to begin a phase of the stride: its first element and output
static const double BEGIN_FILL = 4.0;   // to begin to fill the window of an output
static const double FILL_VECTOR = 3.0;  // to add a vector of it: load, add, store
// The band:
static const double BEGIN_PLANE = 60.0; // to begin it
static const double DX_ROW = 10.0;      // a row of dx, beside its vectors
static const double DX_VECTOR = 4.0;    // a vector of dx: cleared at first, loaded and stored at last
static const double SCATTER = 3.0;      // of maxima, an output: its position, its dy and the element they meet
static const double SHARES_ROW = 30.0;  // of averages, a row of outputs: its scale, and where its shares go
static const double ADD_ROW = 5.0;      // the shares that are added to a row of the band, beside their vectors
static const double ADD_VECTOR = 2.0;   // a vector of them

// Vector operations of a row of outputs that becomes shares, by phases and by fills.
static double phases_cost(const husk__pool_problem *own, double lanes)
{
    const double taps = ceil((double)own->window[POOL_W] / (double)own->stride[POOL_W]);
    const double stores = own->stride[POOL_W] > 2 ? lanes : 2.0;
    return ceil((double)own->in[POOL_W] / lanes) * (taps + stores) + BEGIN_PHASE * (double)own->stride[POOL_W];
}

static double fills_cost(const husk__pool_problem *own, double lanes)
{
    if (own->dilation[POOL_W] != 1)
        return INFINITY;
    return ceil((double)own->in[POOL_W] / lanes) +
           (double)own->out[POOL_W] * (BEGIN_FILL + FILL_VECTOR * ceil((double)own->window[POOL_W] / lanes));
}

// Operations of a plane.
static double plane_cost(const husk__pool_problem *own, const husk_device_traits *traits)
{
    const double lanes = (double)lanes_of(traits);
    const double rows = (double)own->in[POOL_D] * (double)own->in[POOL_H];
    const double vectors = ceil((double)own->in[POOL_W] / lanes);
    const double store = BEGIN_PLANE + rows * (DX_ROW + DX_VECTOR * vectors);
    if (own->kind == HUSK_POOL_MAX)
        return store + SCATTER * (double)plane_outputs(own);
    const double out_rows = (double)own->out[POOL_D] * (double)own->out[POOL_H];
    const double adds = (double)own->window[POOL_D] * (double)own->window[POOL_H] * (ADD_ROW + ADD_VECTOR * vectors);
    return store + out_rows * (SHARES_ROW + adds + fmin(phases_cost(own, lanes), fills_cost(own, lanes)));
}

static double cost_planes(const husk__candidate *candidate)
{
    const husk__pool_problem *own = &((const problem *)candidate->problem)->pool;
    return husk__pool_time(candidate, own->batch * own->channels, plane_cost(own, candidate->traits));
}

// As many rows as a band holds, but fewer where there would be fewer bands than work-groups.
static int64_t band_rows(const husk__pool_problem *own, int64_t columns, int64_t groups)
{
    const int64_t plane_rows = own->in[POOL_D] * own->in[POOL_H];
    const int64_t planes = own->batch * own->channels;
    const int64_t few = husk__divide_up(plane_rows * planes, groups);
    int64_t rows = husk__min_i64(husk__max_i64(BAND / columns, 1), plane_rows);
    if (columns < own->in[POOL_W])
        return 1;
    if (few < rows)
        rows = husk__max_i64(few, husk__min_i64(rows, 4 * own->window[POOL_H]));
    // Bands of a plane are as large as each other.
    return husk__divide_up(plane_rows, husk__divide_up(plane_rows, rows));
}

// Maxima that the kernel finds itself, without positions: the common windows of images.
static bool is_anew(const problem *what)
{
    const husk__pool_problem *own = &what->pool;
    const int64_t window = own->window[POOL_W], stride = own->stride[POOL_W];
    return what->recomputes && what->source_strides[4] == 1 && own->in[POOL_D] == 1 && own->out[POOL_D] == 1 &&
           own->window[POOL_D] == 1 && own->pad[POOL_D] == 0 && own->dilation[POOL_H] == 1 &&
           own->dilation[POOL_W] == 1 && own->window[POOL_H] == window && own->stride[POOL_H] == stride &&
           (window == 2 || window == 3) && (stride == 1 || stride == 2);
}

// Vector operations of cl/lib/pool_anew.clh:
static const double ANEW_PLANE = 200.0; // to begin a plane: its strips and their masks
static const double ANEW_ROW = 40.0;    // a strip's row

// Vector operations of a strip's row: what is made of x, and of the outputs.
static double anew_cost(const husk__pool_problem *own, double lanes)
{
    const double strips = ceil((double)own->in[POOL_W] / (lanes * (double)own->stride[POOL_W] - 2.0));
    return ANEW_PLANE + (double)own->in[POOL_H] * strips * ANEW_ROW;
}

static void shape_anew(launch *state, const problem *what, const husk_device_traits *traits)
{
    const husk__pool_problem *own = &what->pool;
    const int64_t parts = husk__divide_up(own->in[POOL_W], ANEW_COLUMNS);
    const int64_t columns = husk__divide_up(own->in[POOL_W], parts);
    const int64_t most = husk__max_i64(ANEW_BAND / columns, 8);
    const int64_t bands = husk__divide_up(own->in[POOL_H], most);
    state->columns = (int32_t)columns;
    state->rows = (int32_t)husk__divide_up(own->in[POOL_H], bands);
    const int64_t units = own->batch * own->channels * parts * husk__divide_up(own->in[POOL_H], state->rows);
    share_out(state, traits, units, anew_cost(own, (double)lanes_of(traits)) / (double)(bands * parts));
    const uint64_t bytes = (uint64_t)inputs_of(own) * 2 * husk_dtype_size(own->dtype);
    state->streams = traits->global_cache > 0 && bytes > traits->global_cache && !what->accumulates;
}

// Where dx goes past the caches, a band for every work-group.
static uint64_t workspace_planes(const husk__candidate *candidate)
{
    const problem *what = candidate->problem;
    if (!is_anew(what))
        return husk__pool_backward_workspace(candidate);
    launch made = {0};
    shape_anew(&made, what, candidate->traits);
    const uint64_t band = (uint64_t)made.rows * (uint64_t)made.columns * husk_dtype_size(what->pool.dtype);
    return made.streams ? (uint64_t)made.range.groups[0] * band : 0;
}

static void shape_planes(launch *state, const husk_plan *plan)
{
    const husk__pool_problem *own = &((const problem *)plan->problem)->pool;
    const husk_device_traits *traits = husk_context_traits(plan->context);
    const int64_t columns = husk__min_i64(own->in[POOL_W], BAND), plane_rows = own->in[POOL_D] * own->in[POOL_H];
    const int64_t rows = band_rows(own, columns, CPU_GROUPS_PER_UNIT * (int64_t)traits->compute_units);
    const int64_t bands = husk__divide_up(plane_rows, rows) * husk__divide_up(own->in[POOL_W], columns);
    const double lanes = (double)lanes_of(traits);
    state->columns = (int32_t)columns;
    state->rows = (int32_t)rows;
    state->together = rows_together(own);
    state->by_fills = fills_cost(own, lanes) < phases_cost(own, lanes);
    share_out(state, traits, own->batch * own->channels * bands, plane_cost(own, traits) / (double)bands);
}

static husk_status prepare_planes(husk_plan *plan, const husk__scope *scope)
{
    const problem *what = plan->problem;
    const bool finds = is_anew(what);
    launch *state;
    husk_status status = prepare(plan, "planes", finds ? "anew" : name_of(&what->pool), &state, scope);
    if (status != HUSK_OK)
        return status;
    state->is_anew = finds;
    if (finds)
        shape_anew(state, what, husk_context_traits(plan->context));
    else
        shape_planes(state, plan);
    return HUSK_OK;
}

static husk_status run_planes(const husk_plan *plan, husk_queue *queue, const void *untyped,
                              const husk__scratch *scratch, const husk__scope *scope)
{
    const problem *what = plan->problem;
    const launch *own = plan->state;
    const arguments *given = untyped;
    if (!own->is_anew)
        return run_units(plan, queue, given, scratch, scope);
    husk__arg list[MOST_ARGUMENTS], *end = write_geometry(what, given, list);
    *end++ = HUSK__ARG_TENSOR(given->x);
    *end++ = HUSK__ARG_I64(what->source_strides[0]);
    *end++ = HUSK__ARG_I64(what->source_strides[1]);
    *end++ = HUSK__ARG_I64(what->source_strides[3]);
    if (own->streams)
        *end++ = HUSK__ARG_BUFFER(scratch->buffer, 0, husk_dtype_size(what->pool.dtype));
    else
        *end++ = HUSK__ARG_TENSOR(NULL);
    *end++ = HUSK__ARG_I32(own->rows);
    *end++ = HUSK__ARG_I32(own->columns);
    *end++ = HUSK__ARG_I64(own->units);
    *end++ = HUSK__ARG_I64(own->share);
    return husk__launch(queue, own->kernel, &own->range, list, (size_t)(end - list), scope);
}

const husk__variant husk__pool_backward_planes = {
    .name = "planes",
    .family = HUSK__FAMILY_CPU,
    .configurations = cpu_menu,
    .configuration_count = 1,
    .supports = supports_planes,
    .cost = cost_planes,
    .workspace = workspace_planes,
    .prepare = prepare_planes,
    .run = run_planes,
};

// ---- channels ----

enum { CHANNELS_UNIT = 8 }; // UNIT of cl/pool/backward_channels.cl
// Vector operations of that kernel:
static const double BEGIN_UNIT = 20.0;   // to begin a unit, a row of dx
static const double POSITION = 60.0;     // a position of it: the outputs over it, found by divisions
static const double FINISH_VECTOR = 2.0; // a vector of its channels: cleared at first, stored at last
static const double OUTPUT = 15.0;       // an output over it: where it lies, and its share
static const double TAKE_VECTOR = 3.0;   // a vector of the output's channels: loaded, compared or scaled, added

static bool supports_channels(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__pool_problem *own = &((const problem *)candidate->problem)->pool;
    if (own->x_strides[1] != 1 || own->y_strides[1] != 1)
        return husk__pool_refuse(reason, "needs stride 1 of dx and dy along the channels");
    return positions_fit(own) || husk__pool_refuse(reason, "dx has too many positions");
}

static double channels_unit_cost(const husk__pool_problem *own, const husk_device_traits *traits)
{
    const int64_t vectors = husk__divide_up(own->channels, lanes_of(traits));
    const double taken = (double)husk__min_i64(vectors, CHANNELS_UNIT);
    return BEGIN_UNIT + (double)own->in[POOL_W] *
                            (POSITION + FINISH_VECTOR * taken + cover_of(own) * (OUTPUT + TAKE_VECTOR * taken));
}

static int64_t channels_units(const husk__pool_problem *own, const husk_device_traits *traits)
{
    return own->batch * own->in[POOL_D] * own->in[POOL_H] *
           husk__divide_up(own->channels, CHANNELS_UNIT * lanes_of(traits));
}

static double cost_channels(const husk__candidate *candidate)
{
    const husk__pool_problem *own = &((const problem *)candidate->problem)->pool;
    return husk__pool_time(candidate, channels_units(own, candidate->traits),
                           channels_unit_cost(own, candidate->traits));
}

static husk_status prepare_channels(husk_plan *plan, const husk__scope *scope)
{
    const husk__pool_problem *own = &((const problem *)plan->problem)->pool;
    const husk_device_traits *traits = husk_context_traits(plan->context);
    launch *state;
    husk_status status = prepare(plan, "channels", name_of(own), &state, scope);
    if (status == HUSK_OK)
        share_out(state, traits, channels_units(own, traits), channels_unit_cost(own, traits));
    return status;
}

const husk__variant husk__pool_backward_channels = {
    .name = "channels",
    .family = HUSK__FAMILY_CPU,
    .configurations = cpu_menu,
    .configuration_count = 1,
    .supports = supports_channels,
    .cost = cost_channels,
    .workspace = husk__pool_backward_workspace,
    .prepare = prepare_channels,
    .run = run_units,
};

// ---- direct ----

enum { GPU_GROUPS_PER_UNIT = 64 };

static husk_status prepare_direct(husk_plan *plan, const husk__scope *scope)
{
    const problem *own = plan->problem;
    const int64_t items = husk__grid_items(plan->configuration);
    launch *state;
    husk_status status = prepare(plan, "direct", name_of(&own->pool), &state, scope);
    if (status != HUSK_OK)
        return status;
    const int64_t most = GPU_GROUPS_PER_UNIT * (int64_t)husk_context_traits(plan->context)->compute_units;
    const int64_t groups = husk__min_i64(husk__divide_up(inputs_of(&own->pool), items), most);
    state->range = (husk__range){{(size_t)groups, 1, 1}, {(size_t)items, 1, 1}};
    return HUSK_OK;
}

static husk_status run_direct(const husk_plan *plan, husk_queue *queue, const void *given, const husk__scratch *scratch,
                              const husk__scope *scope)
{
    const problem *what = plan->problem;
    const launch *state = plan->state;
    husk_tensor indices = {0};
    husk_status status = husk__pool_backward_indices(plan, queue, given, scratch, &indices);
    if (status != HUSK_OK)
        return status;
    husk__arg list[MOST_ARGUMENTS], *end = write_problem(what, given, &indices, list);
    const bool channels_fastest = what->pool.x_strides[1] == 1 && what->pool.x_strides[4] != 1;
    *end++ = HUSK__ARG_I32(channels_fastest);
    return husk__launch(queue, state->kernel, &state->range, list, (size_t)(end - list), scope);
}

const husk__variant husk__pool_backward_direct = {
    .name = "direct",
    .family = HUSK__FAMILY_GPU,
    .configurations = husk__grid_menu,
    .configuration_count = HUSK__GRID_CONFIGURATIONS,
    .supports = husk__pool_supports_direct,
    .cost = husk__grid_cost,
    .workspace = husk__pool_backward_workspace,
    .prepare = prepare_direct,
    .run = run_direct,
};
