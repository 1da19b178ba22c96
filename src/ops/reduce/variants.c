// SPDX-License-Identifier: MIT
// The variants of reductions: choose -> launch. Kernels: cl/reduce/*.cl.
//
// Where results are few and each of many elements, these are cut into segments: by the shape alone, so that sums do not
// depend on the number of threads.
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/reduce/problem.h"

typedef husk__reduce_problem problem;
typedef husk__reduce_arguments arguments;
typedef husk__reduce_geometry geometry;

// A variant's state: everything a launch needs but the buffers.
typedef struct launch {
    const husk__kernel *kernels[2]; // the reduction; combining its segments, NULL where there is one
    husk__walk_values kept, all_kept; // without and with the innermost kept dimension
    husk__walk_values reduced;
    husk__walk_dimension inner; // columns, workgroup: the innermost kept dimension
    husk__walk_dimension run; // rows, workgroup: the innermost reduced dimension
    int64_t rows, count;
    int64_t segments, segment;
    int64_t units, share;
    int32_t width; // columns: of a strip
    husk__range range;
} launch;

enum {
    STATE = 4, // words a segment's state takes, each of the accumulator's size
    SEGMENT = 65536, // elements, at least, of a CPU's
    ROWS_UNITS = 256,
    COLUMNS_UNITS = 64,
    CPU_GROUPS_PER_UNIT = 4,
    CPU_MINIMUM = 32768 // elements that are worth a work-group: waking a thread costs as much
};

static int64_t lanes_of(const husk_device_traits *traits)
{
    return traits->vector_width > 4 ? traits->vector_width : 4;
}

// Cut what is reduced, `count` lines of `line` elements, where there are fewer than `enough` units: into as many
// segments as make that many units, but none of fewer than `elements`. multiple: of a segment's lines.
static void cut(launch *own, int64_t units, int64_t enough, int64_t line, int64_t multiple, int64_t elements)
{
    const int64_t least = husk__max_i64(elements / husk__max_i64(line, 1), 1);
    const int64_t wanted = husk__divide_up(enough, husk__max_i64(units, 1));
    const int64_t segment = husk__round_up(husk__max_i64(husk__divide_up(own->count, wanted), least), multiple);
    own->segment = own->count;
    own->segments = 1;
    if (own->count >= 2 * least && segment < own->count) {
        own->segment = segment;
        own->segments = husk__divide_up(own->count, segment);
    }
    own->units = units * own->segments;
}

static const char *dtype_option(const husk_plan *plan)
{
    const problem *own = plan->problem;
    return husk__dtype_option(own->x.dtype);
}

static uint64_t states_size(const husk__candidate *candidate, const launch *own)
{
    const problem *what = candidate->problem;
    const uint64_t state = STATE * husk__accumulator_size(what->x.dtype);
    return own->segments > 1 ? (uint64_t)(own->rows * own->segments) * state : 0;
}

// Equal shares of the units, as many as the cores can use.
static void share_out(launch *own, const husk_device_traits *traits, int64_t unit_elements)
{
    const int64_t minimum = husk__divide_up(CPU_MINIMUM, husk__max_i64(unit_elements, 1));
    own->share =
        husk__max_i64(husk__divide_up(own->units, CPU_GROUPS_PER_UNIT * (int64_t)traits->compute_units), minimum);
    own->range = (husk__range){{(size_t)husk__divide_up(own->units, own->share), 1, 1}, {1, 1, 1}};
}

// The plan's state with what does not depend on the variant; NULL without memory.
static launch *make_launch(husk_plan *plan)
{
    launch *state = calloc(1, sizeof *state);
    plan->state = state; // freed with the plan
    if (!state)
        return NULL;
    geometry shape = husk__reduce_geometry_of(plan->problem);
    state->rows = shape.rows;
    state->count = shape.count;
    state->segments = 1;
    state->segment = shape.count;
    state->all_kept = husk__walk_prepare(&shape.kept);
    return state;
}

// Kernels of a variant's file: NAME and, for several segments, NAME_combine.
static husk_status get_kernels(husk_plan *plan, const char *file, const char *options, const char *name,
                               const char *combine, const husk__scope *scope)
{
    launch *own = plan->state;
    husk_status status = husk__kernel_get(plan->context, file, options, name, &own->kernels[0], scope);
    if (status == HUSK_OK && own->segments > 1)
        status = husk__kernel_get(plan->context, file, options, combine, &own->kernels[1], scope);
    return status;
}

static husk_status run_combine(const husk_plan *plan, husk_queue *queue, const arguments *given,
                               const husk__scratch *scratch, const husk__scope *scope)
{
    const launch *own = plan->state;
    const problem *what = plan->problem;
    const husk__range range = {{(size_t)husk__min_i64(own->rows, 64), 1, 1}, {1, 1, 1}};
    const uint64_t word = husk__accumulator_size(what->x.dtype);
    husk__arg list[16], *end = list;
    *end++ = HUSK__ARG_BUFFER(scratch->buffer, 0, word);
    *end++ = HUSK__ARG_TENSOR(given->y);
    end = husk__walk_write_args(&own->all_kept, 2, end);
    *end++ = HUSK__ARG_I64(own->count);
    *end++ = HUSK__ARG_I64(own->segments);
    *end++ = HUSK__ARG_I64(own->rows);
    *end++ = HUSK__ARG_I32(what->kind);
    *end++ = HUSK__ARG_I32(what->result);
    return husk__launch(queue, own->kernels[1], &range, list, (size_t)(end - list), scope);
}

// Launch both; `more` are the arguments between the walks and kind.
static husk_status run(const husk_plan *plan, husk_queue *queue, const arguments *given, const husk__scratch *scratch,
                       const husk__arg *more, size_t more_count, const husk__scope *scope)
{
    const launch *own = plan->state;
    const problem *what = plan->problem;
    const uint64_t word = husk__accumulator_size(what->x.dtype);
    husk__arg list[40], *end = list;
    *end++ = HUSK__ARG_TENSOR(given->x);
    *end++ = HUSK__ARG_TENSOR(given->y);
    *end++ = HUSK__ARG_BUFFER(own->segments > 1 ? scratch->buffer : NULL, 0, word);
    end = husk__walk_write_args(&own->kept, 2, end);
    end = husk__walk_write_args(&own->reduced, 2, end);
    for (size_t i = 0; i < more_count; ++i)
        *end++ = more[i];
    *end++ = HUSK__ARG_I32(what->kind);
    *end++ = HUSK__ARG_I32(what->result);
    husk_status status = husk__launch(queue, own->kernels[0], &own->range, list, (size_t)(end - list), scope);
    if (status == HUSK_OK && own->segments > 1)
        status = run_combine(plan, queue, given, scratch, scope);
    return status;
}

// ---- rows: CPU devices, what is reduced lies together ----

static husk__walk_dimension take_run(geometry *shape)
{
    husk__walk_bring_last(&shape->reduced, 0);
    return husk__walk_take_last(&shape->reduced);
}

enum { DIRECT = 256 }; // DIRECT of cl/reduce/rows.cl: shorter runs are gathered in a private block
// Nanoseconds of one core, of which the ratios matter; they follow from what cl/reduce/rows.cl does:
static const double ROW_NS = 25.0; // to begin a row and to store its result
static const double RUN_NS = 10.0; // to find the next run where runs are gathered
static const double DIRECT_NS = 0.08; // an element that is read in vectors where it lies
static const double GATHER_NS = 0.15; // an element that is copied to the private block first, in vectors
static const double STRIDED_NS = 1.2; // an element that is copied to it by itself

static double cost_rows(const husk__candidate *candidate)
{
    geometry shape = husk__reduce_geometry_of(candidate->problem);
    const husk__walk_dimension run = take_run(&shape);
    const double elements = (double)shape.rows * (double)shape.count;
    const double runs = elements / (double)husk__max_i64(run.extent, 1);
    const bool is_whole = run.extent == shape.count || run.extent >= DIRECT;
    const double each = run.strides[0] != 1 && run.extent > 1 ? STRIDED_NS : is_whole ? DIRECT_NS : GATHER_NS;
    return (double)shape.rows * ROW_NS + (is_whole ? 0.0 : runs * RUN_NS) + elements * each;
}

static void resolve_rows(launch *own, geometry *shape)
{
    own->run = take_run(shape);
    own->reduced = husk__walk_prepare(&shape->reduced);
    own->kept = husk__walk_prepare(&shape->kept);
    cut(own, own->rows, ROWS_UNITS, 1, 1024, SEGMENT);
}

static uint64_t workspace_rows(const husk__candidate *candidate)
{
    geometry shape = husk__reduce_geometry_of(candidate->problem);
    launch own = {.rows = shape.rows, .count = shape.count};
    resolve_rows(&own, &shape);
    return states_size(candidate, &own);
}

static husk_status prepare_rows(husk_plan *plan, const husk__scope *scope)
{
    launch *own = make_launch(plan);
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    geometry shape = husk__reduce_geometry_of(plan->problem);
    resolve_rows(own, &shape);
    share_out(own, husk_context_traits(plan->context), own->segment);
    return get_kernels(plan, "reduce/rows.cl", dtype_option(plan), "husk_reduce_rows", "husk_reduce_rows_combine",
                       scope);
}

static husk_status run_rows(const husk_plan *plan, husk_queue *queue, const void *given, const husk__scratch *scratch,
                            const husk__scope *scope)
{
    const launch *own = plan->state;
    const husk__arg more[] = {
        HUSK__ARG_I64(own->run.extent), HUSK__ARG_I64(own->run.strides[0]), HUSK__ARG_I64(own->run.strides[1]),
        HUSK__ARG_I64(own->count),      HUSK__ARG_I64(own->segments),       HUSK__ARG_I64(own->segment),
        HUSK__ARG_I64(own->units),      HUSK__ARG_I64(own->share),
    };
    return run(plan, queue, given, scratch, more, sizeof more / sizeof *more, scope);
}

static const husk__configuration cpu_menu[] = {{.name = "1", .options = ""}};

const husk__variant husk__reduce_rows = {
    .name = "rows",
    .family = HUSK__FAMILY_CPU,
    .configurations = cpu_menu,
    .configuration_count = 1,
    .cost = cost_rows,
    .workspace = workspace_rows,
    .prepare = prepare_rows,
    .run = run_rows,
};

// ---- columns: CPU devices, vectors across neighbouring results ----

enum { COLUMNS_WIDTH = 1024, COLUMNS_LINES = 64 }; // WIDTH and LINES of cl/reduce/columns.cl

// Nanoseconds of one core, of which the ratios matter; they follow from what cl/reduce/columns.cl does:
static const double STRIP_NS = 100.0; // to begin a strip
static const double LINE_NS = 5.0; // to find a line of a strip
static const double COLUMN_NS = 3.0; // to begin a column and to store its result
static const double ACROSS_NS = 0.08; // an element, of vectors across columns at stride 1
static const double ACROSS_STRIDED_NS = 0.8; // an element of columns at another stride, which is read by itself

static double cost_columns(const husk__candidate *candidate)
{
    geometry shape = husk__reduce_geometry_of(candidate->problem);
    const husk__walk_dimension inner = husk__walk_take_last(&shape.kept);
    const int64_t lanes = lanes_of(candidate->traits);
    const double outer = (double)husk__walk_count(&shape.kept);
    const double strips = (double)husk__divide_up(inner.extent, COLUMNS_WIDTH);
    const double elements = (double)husk__round_up(inner.extent, lanes) * (double)shape.count;
    return outer * (strips * (STRIP_NS + LINE_NS * (double)shape.count) + COLUMN_NS * (double)inner.extent +
                    elements * (inner.strides[0] == 1 ? ACROSS_NS : ACROSS_STRIDED_NS));
}

// Strips as wide as there are columns, but no wider than its program's.
static void resolve_columns(launch *own, geometry *shape, int64_t lanes)
{
    own->reduced = husk__walk_prepare(&shape->reduced);
    own->inner = husk__walk_take_last(&shape->kept);
    own->kept = husk__walk_prepare(&shape->kept);
    const int64_t width = husk__min_i64(husk__round_up(own->inner.extent, lanes), COLUMNS_WIDTH);
    own->width = (int32_t)width;
    cut(own, husk__walk_count(&shape->kept) * husk__divide_up(own->inner.extent, width), COLUMNS_UNITS,
        husk__min_i64(own->inner.extent, width), COLUMNS_LINES, SEGMENT);
}

static uint64_t workspace_columns(const husk__candidate *candidate)
{
    geometry shape = husk__reduce_geometry_of(candidate->problem);
    launch own = {.rows = shape.rows, .count = shape.count};
    resolve_columns(&own, &shape, lanes_of(candidate->traits));
    return states_size(candidate, &own);
}

static husk_status prepare_columns(husk_plan *plan, const husk__scope *scope)
{
    const husk_device_traits *traits = husk_context_traits(plan->context);
    launch *own = make_launch(plan);
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    geometry shape = husk__reduce_geometry_of(plan->problem);
    resolve_columns(own, &shape, lanes_of(traits));
    share_out(own, traits, own->segment * own->width);
    return get_kernels(plan, "reduce/columns.cl", dtype_option(plan), "husk_reduce_columns",
                       "husk_reduce_columns_combine", scope);
}

static husk_status run_columns(const husk_plan *plan, husk_queue *queue, const void *given,
                               const husk__scratch *scratch, const husk__scope *scope)
{
    const launch *own = plan->state;
    const husk__arg more[] = {
        HUSK__ARG_I64(own->inner.extent),
        HUSK__ARG_I64(own->inner.strides[0]),
        HUSK__ARG_I64(own->inner.strides[1]),
        HUSK__ARG_I64(own->count),
        HUSK__ARG_I64(own->segments),
        HUSK__ARG_I64(own->segment),
        HUSK__ARG_I32(own->width),
        HUSK__ARG_I64(own->units),
        HUSK__ARG_I64(own->share),
    };
    return run(plan, queue, given, scratch, more, sizeof more / sizeof *more, scope);
}

const husk__variant husk__reduce_columns = {
    .name = "columns",
    .family = HUSK__FAMILY_CPU,
    .configurations = cpu_menu,
    .configuration_count = 1,
    .cost = cost_columns,
    .workspace = workspace_columns,
    .prepare = prepare_columns,
    .run = run_columns,
};

// ---- workgroup: GPUs ----

enum {
    GPU_SEGMENT = 8192, // elements, at least
    GPU_UNITS = 512,
    GPU_GROUPS_PER_UNIT = 16
};

// values: work-items across rows, and along a row.
enum { WG_INNER, WG_AXIS };

static int32_t workgroup_items(const husk__configuration *configuration)
{
    return configuration->values[WG_INNER] * configuration->values[WG_AXIS];
}

static bool supports_workgroup(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const int32_t items = workgroup_items(candidate->configuration);
    snprintf(reason, HUSK__REASON_CAPACITY, "needs work-groups of %d", items);
    return (uint64_t)items <= candidate->traits->work_group;
}

enum {
    LARGE_GROUP = 256, // work-items of the larger work-groups of workgroup_menu
    LONG_ROW = 256 // elements, of a row or of neighbouring rows together, that keep a large work-group busy
};
// What it costs to walk in another direction than memory lies together, beside 1 for a work-group of the wrong size.
static const double WRONG_WAY = 10.0;

// Work-items that walk along what lies together in memory, and large work-groups where rows are long.
static double cost_workgroup(const husk__candidate *candidate)
{
    geometry shape = husk__reduce_geometry_of(candidate->problem);
    const husk__walk_dimension run = take_run(&shape), inner = husk__walk_take_last(&shape.kept);
    const bool is_along = candidate->configuration->values[WG_INNER] == 1;
    const bool wants_along = inner.extent == 1 || (run.extent > 1 && run.strides[0] <= inner.strides[0]);
    const bool wants_large = (is_along ? shape.count : inner.extent * shape.count) >= LONG_ROW;
    const bool is_large = workgroup_items(candidate->configuration) >= LARGE_GROUP;
    return (is_along == wants_along ? 0.0 : WRONG_WAY) + (is_large == wants_large ? 0.0 : 1.0);
}

static void resolve_workgroup(launch *own, geometry *shape, const husk__configuration *configuration)
{
    own->run = take_run(shape);
    own->reduced = husk__walk_prepare(&shape->reduced);
    own->inner = husk__walk_take_last(&shape->kept);
    own->kept = husk__walk_prepare(&shape->kept);
    cut(own, husk__walk_count(&shape->kept) * husk__divide_up(own->inner.extent, configuration->values[WG_INNER]),
        GPU_UNITS, 1, 256, GPU_SEGMENT);
}

static uint64_t workspace_workgroup(const husk__candidate *candidate)
{
    geometry shape = husk__reduce_geometry_of(candidate->problem);
    launch own = {.rows = shape.rows, .count = shape.count};
    resolve_workgroup(&own, &shape, candidate->configuration);
    return states_size(candidate, &own);
}

static husk_status prepare_workgroup(husk_plan *plan, const husk__scope *scope)
{
    const husk__configuration *configuration = plan->configuration;
    launch *own = make_launch(plan);
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    geometry shape = husk__reduce_geometry_of(plan->problem);
    resolve_workgroup(own, &shape, configuration);
    const int64_t most = GPU_GROUPS_PER_UNIT * (int64_t)husk_context_traits(plan->context)->compute_units;
    own->range = (husk__range){{(size_t)husk__min_i64(own->units, most), 1, 1},
                               {(size_t)configuration->values[WG_INNER], (size_t)configuration->values[WG_AXIS], 1}};
    char options[128];
    snprintf(options, sizeof options, "%s %s", dtype_option(plan), configuration->options);
    return get_kernels(plan, "reduce/workgroup.cl", options, "husk_reduce_workgroup", "husk_reduce_workgroup_combine",
                       scope);
}

static husk_status run_workgroup(const husk_plan *plan, husk_queue *queue, const void *given,
                                 const husk__scratch *scratch, const husk__scope *scope)
{
    const launch *own = plan->state;
    const husk__arg more[] = {
        HUSK__ARG_I64(own->run.extent),   HUSK__ARG_I64(own->run.strides[0]),   HUSK__ARG_I64(own->run.strides[1]),
        HUSK__ARG_I64(own->inner.extent), HUSK__ARG_I64(own->inner.strides[0]), HUSK__ARG_I64(own->inner.strides[1]),
        HUSK__ARG_I64(own->count),        HUSK__ARG_I64(own->segments),         HUSK__ARG_I64(own->segment),
        HUSK__ARG_I64(own->units),
    };
    return run(plan, queue, given, scratch, more, sizeof more / sizeof *more, scope);
}

static const husk__configuration workgroup_menu[] = {
    {.name = "1x256", .options = "-DWG_INNER=1 -DWG_AXIS=256", .values = {1, 256}},
    {.name = "1x64", .options = "-DWG_INNER=1 -DWG_AXIS=64", .values = {1, 64}},
    {.name = "32x8", .options = "-DWG_INNER=32 -DWG_AXIS=8", .values = {32, 8}},
    {.name = "16x4", .options = "-DWG_INNER=16 -DWG_AXIS=4", .values = {16, 4}},
};

const husk__variant husk__reduce_workgroup = {
    .name = "workgroup",
    .family = HUSK__FAMILY_GPU,
    .configurations = workgroup_menu,
    .configuration_count = 4,
    .supports = supports_workgroup,
    .cost = cost_workgroup,
    .workspace = workspace_workgroup,
    .prepare = prepare_workgroup,
    .run = run_workgroup,
};
