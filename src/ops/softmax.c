// SPDX-License-Identifier: MIT
// Softmax and log-softmax over one axis. Kernels: cl/softmax_*.cl.
#include <husk/ops/softmax.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/params.h"
#include "base/tensor.h"
#include "runtime/strided.h"
#include "select/plan.h"

// ---- the problem: every option resolved, every shape and stride, no buffer ----

typedef struct problem {
    int32_t axis;
    bool is_log;
    husk_tensor x, y;
} problem;

static void describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    husk__key_i64(key, own->axis);
    husk__key_i64(key, own->is_log);
    husk__key_tensor(key, &own->x);
    husk__key_tensor(key, &own->y);
}

// What a run is given beside the plan.
typedef struct arguments {
    const husk_tensor *x, *y;
} arguments;

// ---- what the variants share ----

// The problem as kernels see it: rows along the axis, numbered over the inner dimension (the one with the
// smallest strides beside the axis) and the outer ones. Made once for a candidate, it is cheap.
typedef struct geometry {
    husk__strided_dimension axis;
    husk__strided_dimension inner;
    husk__strided outer;   // without axis and inner
    husk__strided rows;    // without axis alone
    int64_t row_count;
} geometry;

static geometry geometry_of(const problem *own)
{
    geometry made;
    made.axis = (husk__strided_dimension){1, 0, 0};
    if (own->x.rank > 0) {
        made.axis.extent = own->x.shape[own->axis];
        made.axis.x_stride = own->x.strides[own->axis];
        made.axis.y_stride = own->y.strides[own->axis];
    }
    made.rows = husk__strided_make(&own->x, &own->y, own->axis);
    made.row_count = husk__strided_count(&made.rows);
    made.outer = made.rows;
    made.inner = husk__strided_take_last(&made.outer);
    return made;
}

// A variant's state: everything a launch needs but the buffers.
typedef struct launch {
    const husk__kernel *kernels[2]; // one stage, or partial and apply
    geometry shape;
    husk__range range;
    int64_t units;      // rows, strips or blocks in all
    int64_t share;      // ... that a work-group takes
    int32_t width;      // columns: of a strip
    int32_t block;      // elements of a row's block; 0: rows are whole
    int32_t row_blocks; // blocks of a row
} launch;

static launch *make_launch(husk_plan *plan)
{
    launch *state = calloc(1, sizeof *state);
    plan->state = state; // freed with the plan
    if (state)
        state->shape = geometry_of(plan->problem);
    return state;
}

// Whether the device has something to do for all its units with so many independent pieces.
static bool fills(const husk_device_traits *traits, int64_t pieces)
{
    return pieces >= 2 * (int64_t)traits->compute_units;
}

// ---- rows: CPU devices, a row at a time ----

enum {
    ROWS_PRIVATE = 65536, // ROW and BLOCK of cl/softmax_rows.cl
    ROWS_BLOCK = 4096,
    CPU_GROUPS_PER_UNIT = 4,
    CPU_MINIMUM = 8192 // elements that are worth a work-group
};

static bool rows_are_split(const geometry *shape, const husk_device_traits *traits)
{
    if (shape->axis.extent > ROWS_PRIVATE)
        return true;
    return shape->axis.extent > 4 * ROWS_BLOCK && !fills(traits, shape->row_count);
}

static int64_t rows_blocks(const geometry *shape)
{
    return husk__divide_up(shape->axis.extent, ROWS_BLOCK);
}

static bool supports_kernels(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const geometry shape = geometry_of(candidate->problem);
    if (shape.axis.extent <= INT32_MAX / 2)
        return true;
    snprintf(reason, HUSK__REASON_CAPACITY, "the axis has %lld elements, more than 2^30",
             (long long)shape.axis.extent);
    return false;
}

// Rows whose elements lie apart are gathered one by one, some ten times slower than by vectors.
static double cost_rows(const husk__candidate *candidate)
{
    const geometry shape = geometry_of(candidate->problem);
    const bool is_packed = shape.axis.x_stride == 1 && shape.axis.y_stride == 1;
    return (double)shape.row_count * (20.0 + (double)shape.axis.extent * (is_packed ? 0.3 : 2.0));
}

static uint64_t workspace_rows(const husk__candidate *candidate)
{
    const geometry shape = geometry_of(candidate->problem);
    if (!rows_are_split(&shape, candidate->traits))
        return 0;
    return (uint64_t)(shape.row_count * rows_blocks(&shape)) * 2 * sizeof(float);
}

// Equal shares of the units, as many as the cores can use.
static void share_out(launch *own, const husk_device_traits *traits, int64_t units, int64_t unit_elements)
{
    const int64_t minimum = husk__divide_up(CPU_MINIMUM, husk__max_i64(unit_elements, 1));
    own->units = units;
    own->share =
        husk__max_i64(husk__divide_up(units, CPU_GROUPS_PER_UNIT * (int64_t)traits->compute_units), minimum);
    own->range = (husk__range){{(size_t)husk__divide_up(units, own->share), 1, 1}, {1, 1, 1}};
}

static husk_status prepare_rows(husk_plan *plan, const husk__scope *scope)
{
    const husk_device_traits *traits = husk_context_traits(plan->context);
    launch *own = make_launch(plan);
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    const char *file = "softmax_rows.cl", *options = "-DDTYPE_F32";
    if (!rows_are_split(&own->shape, traits)) {
        share_out(own, traits, own->shape.row_count, own->shape.axis.extent);
        return husk__kernel_get(plan->context, file, options, "husk_softmax_rows", &own->kernels[0], scope);
    }
    own->block = ROWS_BLOCK;
    own->row_blocks = (int32_t)rows_blocks(&own->shape);
    share_out(own, traits, own->shape.row_count * own->row_blocks, ROWS_BLOCK);
    husk_status status =
        husk__kernel_get(plan->context, file, options, "husk_softmax_rows_partial", &own->kernels[0], scope);
    if (status == HUSK_OK)
        status = husk__kernel_get(plan->context, file, options, "husk_softmax_rows_apply", &own->kernels[1],
                                  scope);
    return status;
}

static husk_status run_whole_rows(const husk_plan *plan, husk_queue *queue, const arguments *given,
                                  const husk__scope *scope)
{
    const launch *own = plan->state;
    const problem *what = plan->problem;
    husk__arg list[2 + HUSK__STRIDED_ARGS + 6], *end = list;
    *end++ = HUSK__ARG_TENSOR(given->x);
    *end++ = HUSK__ARG_TENSOR(given->y);
    end = husk__strided_write_args(&own->shape.rows, end);
    *end++ = HUSK__ARG_I32(own->shape.axis.extent);
    *end++ = HUSK__ARG_I64(own->shape.axis.x_stride);
    *end++ = HUSK__ARG_I64(own->shape.axis.y_stride);
    *end++ = HUSK__ARG_I64(own->units);
    *end++ = HUSK__ARG_I64(own->share);
    *end++ = HUSK__ARG_I32(what->is_log);
    return husk__launch(queue, own->kernels[0], &own->range, list, (size_t)(end - list), scope);
}

static husk_status run_split_rows(const husk_plan *plan, husk_queue *queue, const arguments *given,
                                  const husk__scratch *scratch, const husk__scope *scope)
{
    const launch *own = plan->state;
    const problem *what = plan->problem;
    husk__arg list[3 + HUSK__STRIDED_ARGS + 7], *end = list;
    *end++ = HUSK__ARG_TENSOR(given->x);
    *end++ = HUSK__ARG_BUFFER(scratch->buffer, 0, sizeof(float));
    end = husk__strided_write_args(&own->shape.rows, end);
    *end++ = HUSK__ARG_I32(own->shape.axis.extent);
    *end++ = HUSK__ARG_I64(own->shape.axis.x_stride);
    *end++ = HUSK__ARG_I32(own->row_blocks);
    *end++ = HUSK__ARG_I64(own->units);
    *end++ = HUSK__ARG_I64(own->share);
    husk_status status = husk__launch(queue, own->kernels[0], &own->range, list, (size_t)(end - list), scope);
    if (status != HUSK_OK)
        return status;

    end = list;
    *end++ = HUSK__ARG_TENSOR(given->x);
    *end++ = HUSK__ARG_TENSOR(given->y);
    *end++ = HUSK__ARG_BUFFER(scratch->buffer, 0, sizeof(float));
    end = husk__strided_write_args(&own->shape.rows, end);
    *end++ = HUSK__ARG_I32(own->shape.axis.extent);
    *end++ = HUSK__ARG_I64(own->shape.axis.x_stride);
    *end++ = HUSK__ARG_I64(own->shape.axis.y_stride);
    *end++ = HUSK__ARG_I32(own->row_blocks);
    *end++ = HUSK__ARG_I64(own->units);
    *end++ = HUSK__ARG_I64(own->share);
    *end++ = HUSK__ARG_I32(what->is_log);
    return husk__launch(queue, own->kernels[1], &own->range, list, (size_t)(end - list), scope);
}

static husk_status run_rows(const husk_plan *plan, husk_queue *queue, const void *given,
                            const husk__scratch *scratch, const husk__scope *scope)
{
    const launch *own = plan->state;
    if (own->block)
        return run_split_rows(plan, queue, given, scratch, scope);
    return run_whole_rows(plan, queue, given, scope);
}

static const husk__configuration cpu_menu[] = {{.name = "1", .options = ""}};

static const husk__variant rows = {
    .name = "rows",
    .family = HUSK__FAMILY_CPU,
    .configurations = cpu_menu,
    .configuration_count = 1,
    .supports = supports_kernels,
    .cost = cost_rows,
    .workspace = workspace_rows,
    .prepare = prepare_rows,
    .run = run_rows,
};

// ---- columns: CPU devices, vectors across neighbouring rows ----

enum {
    COLUMNS_STRIP = 65536, // STRIP and WIDTH of cl/softmax_columns.cl
    COLUMNS_WIDTH = 1024
};

static bool supports_columns(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const geometry shape = geometry_of(candidate->problem);
    const int64_t lanes = candidate->traits->vector_width > 4 ? candidate->traits->vector_width : 4;
    snprintf(reason, HUSK__REASON_CAPACITY,
             "it needs neighbouring rows at stride 1 and at most %lld elements a row",
             (long long)(COLUMNS_STRIP / lanes));
    return shape.inner.x_stride == 1 && shape.inner.y_stride == 1 &&
           shape.axis.extent * lanes <= COLUMNS_STRIP;
}

static double cost_columns(const husk__candidate *candidate)
{
    const geometry shape = geometry_of(candidate->problem);
    const int64_t lanes = candidate->traits->vector_width > 4 ? candidate->traits->vector_width : 4;
    const int64_t vectors = husk__divide_up(shape.inner.extent, lanes);
    return (double)husk__strided_count(&shape.outer) * (double)(vectors * shape.axis.extent) * 0.3 *
           (double)lanes;
}

// As wide as memory allows, but narrower where there would be fewer strips than work-groups.
static int64_t strip_width(const geometry *shape, int64_t lanes, int64_t groups)
{
    const int64_t outer = husk__strided_count(&shape->outer);
    int64_t width = husk__min_i64(COLUMNS_STRIP / shape->axis.extent / lanes * lanes, COLUMNS_WIDTH);
    width = husk__min_i64(width, husk__round_up(shape->inner.extent, lanes));
    while (width > 4 * lanes && outer * husk__divide_up(shape->inner.extent, width) < groups)
        width = husk__round_up(width / 2, lanes);
    return width;
}

static husk_status prepare_columns(husk_plan *plan, const husk__scope *scope)
{
    const husk_device_traits *traits = husk_context_traits(plan->context);
    launch *own = make_launch(plan);
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    const int64_t lanes = traits->vector_width > 4 ? traits->vector_width : 4;
    if (own->shape.axis.extent > 0) {
        const int64_t width =
            strip_width(&own->shape, lanes, CPU_GROUPS_PER_UNIT * (int64_t)traits->compute_units);
        const int64_t strips = husk__divide_up(own->shape.inner.extent, width);
        own->width = (int32_t)width;
        share_out(own, traits, husk__strided_count(&own->shape.outer) * strips,
                  width * own->shape.axis.extent);
    }
    return husk__kernel_get(plan->context, "softmax_columns.cl", "-DDTYPE_F32", "husk_softmax_columns",
                            &own->kernels[0], scope);
}

static husk_status run_columns(const husk_plan *plan, husk_queue *queue, const void *untyped,
                               const husk__scratch *scratch, const husk__scope *scope)
{
    const launch *own = plan->state;
    const problem *what = plan->problem;
    const arguments *given = untyped;
    husk__arg list[2 + HUSK__STRIDED_ARGS + 8], *end = list;
    (void)scratch;
    *end++ = HUSK__ARG_TENSOR(given->x);
    *end++ = HUSK__ARG_TENSOR(given->y);
    end = husk__strided_write_args(&own->shape.outer, end);
    *end++ = HUSK__ARG_I32(own->shape.axis.extent);
    *end++ = HUSK__ARG_I64(own->shape.axis.x_stride);
    *end++ = HUSK__ARG_I64(own->shape.axis.y_stride);
    *end++ = HUSK__ARG_I64(own->shape.inner.extent);
    *end++ = HUSK__ARG_I32(own->width);
    *end++ = HUSK__ARG_I64(own->units);
    *end++ = HUSK__ARG_I64(own->share);
    *end++ = HUSK__ARG_I32(what->is_log);
    return husk__launch(queue, own->kernels[0], &own->range, list, (size_t)(end - list), scope);
}

static const husk__variant columns = {
    .name = "columns",
    .family = HUSK__FAMILY_CPU,
    .configurations = cpu_menu,
    .configuration_count = 1,
    .supports = supports_columns,
    .cost = cost_columns,
    .prepare = prepare_columns,
    .run = run_columns,
};

// ---- workgroup: GPUs ----

enum {
    GPU_BLOCK = 4096, // elements of a long row that a work-group takes at least
    GPU_GROUPS_PER_UNIT = 16
};

static int64_t workgroup_strips(const geometry *shape, const husk__configuration *configuration)
{
    return husk__strided_count(&shape->outer) *
           husk__divide_up(shape->inner.extent, configuration->values[0]);
}

// Rows are cut where there are too few of them for the device. 0: they are not.
static int32_t workgroup_block(const geometry *shape, const husk__configuration *configuration,
                               const husk_device_traits *traits)
{
    const int64_t least = husk__max_i64(GPU_BLOCK, 16 * (int64_t)configuration->values[1]);
    if (shape->axis.extent < 2 * least || fills(traits, workgroup_strips(shape, configuration)))
        return 0;
    return (int32_t)least;
}

static bool supports_workgroup(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const int32_t *values = candidate->configuration->values;
    if ((uint64_t)values[0] * (uint64_t)values[1] > candidate->traits->work_group) {
        snprintf(reason, HUSK__REASON_CAPACITY, "needs work-groups of %d", values[0] * values[1]);
        return false;
    }
    return supports_kernels(candidate, reason);
}

// Work-items that walk along what lies together in memory, and large work-groups where rows are long.
static double cost_workgroup(const husk__candidate *candidate)
{
    const geometry shape = geometry_of(candidate->problem);
    const int32_t *values = candidate->configuration->values;
    const bool is_along = values[0] == 1;
    const bool wants_along = shape.inner.extent == 1 || shape.axis.x_stride <= shape.inner.x_stride;
    const bool wants_large = (is_along ? shape.axis.extent : shape.inner.extent * shape.axis.extent) >= 256;
    const bool is_large = values[0] * values[1] >= 256;
    return (is_along == wants_along ? 0.0 : 10.0) + (is_large == wants_large ? 0.0 : 1.0);
}

static uint64_t workspace_workgroup(const husk__candidate *candidate)
{
    const geometry shape = geometry_of(candidate->problem);
    const husk__configuration *configuration = candidate->configuration;
    const int32_t block = workgroup_block(&shape, configuration, candidate->traits);
    if (!block)
        return 0;
    const int64_t blocks =
        workgroup_strips(&shape, configuration) * husk__divide_up(shape.axis.extent, block);
    return (uint64_t)(blocks * configuration->values[0]) * 2 * sizeof(float);
}

static husk_status prepare_workgroup(husk_plan *plan, const husk__scope *scope)
{
    const husk_device_traits *traits = husk_context_traits(plan->context);
    const husk__configuration *configuration = plan->configuration;
    launch *own = make_launch(plan);
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    own->block = workgroup_block(&own->shape, configuration, traits);
    own->row_blocks = own->block ? (int32_t)husk__divide_up(own->shape.axis.extent, own->block) : 1;
    own->units = workgroup_strips(&own->shape, configuration) * own->row_blocks;
    const int64_t groups = husk__min_i64(own->units, GPU_GROUPS_PER_UNIT * (int64_t)traits->compute_units);
    own->range = (husk__range){{(size_t)groups, 1, 1},
                               {(size_t)configuration->values[0], (size_t)configuration->values[1], 1}};

    const husk__strided_dimension axis = own->shape.axis;
    const int64_t stride = husk__max_i64(axis.x_stride, axis.y_stride);
    const bool needs_index_64 = stride > 0 && axis.extent > INT32_MAX / 2 / stride;
    char options[128];
    snprintf(options, sizeof options, "-DDTYPE_F32 %s%s", configuration->options,
             needs_index_64 ? " -DINDEX_64" : "");
    const char *first = own->block ? "husk_softmax_workgroup_partial" : "husk_softmax_workgroup";
    husk_status status =
        husk__kernel_get(plan->context, "softmax_workgroup.cl", options, first, &own->kernels[0], scope);
    if (status == HUSK_OK && own->block)
        status = husk__kernel_get(plan->context, "softmax_workgroup.cl", options,
                                  "husk_softmax_workgroup_apply", &own->kernels[1], scope);
    return status;
}

static husk__arg *write_inner(const launch *own, bool has_y, husk__arg *end)
{
    *end++ = HUSK__ARG_I64(own->shape.inner.extent);
    *end++ = HUSK__ARG_I64(own->shape.inner.x_stride);
    if (has_y)
        *end++ = HUSK__ARG_I64(own->shape.inner.y_stride);
    if (own->block) {
        *end++ = HUSK__ARG_I32(own->block);
        *end++ = HUSK__ARG_I32(own->row_blocks);
    }
    *end++ = HUSK__ARG_I64(own->units);
    return end;
}

static husk_status run_workgroup_partial(const launch *own, husk_queue *queue, const arguments *given,
                                         const husk__scratch *scratch, const husk__scope *scope)
{
    husk__arg list[2 + HUSK__STRIDED_ARGS + 7], *end = list;
    *end++ = HUSK__ARG_TENSOR(given->x);
    *end++ = HUSK__ARG_BUFFER(scratch->buffer, 0, sizeof(float));
    end = husk__strided_write_args(&own->shape.outer, end);
    *end++ = HUSK__ARG_I32(own->shape.axis.extent);
    *end++ = HUSK__ARG_I64(own->shape.axis.x_stride);
    end = write_inner(own, false, end);
    return husk__launch(queue, own->kernels[0], &own->range, list, (size_t)(end - list), scope);
}

static husk_status run_workgroup(const husk_plan *plan, husk_queue *queue, const void *untyped,
                                 const husk__scratch *scratch, const husk__scope *scope)
{
    const launch *own = plan->state;
    const problem *what = plan->problem;
    const arguments *given = untyped;
    husk__arg list[3 + HUSK__STRIDED_ARGS + 10], *end = list;
    if (own->block) {
        husk_status status = run_workgroup_partial(own, queue, given, scratch, scope);
        if (status != HUSK_OK)
            return status;
    }
    *end++ = HUSK__ARG_TENSOR(given->x);
    *end++ = HUSK__ARG_TENSOR(given->y);
    if (own->block)
        *end++ = HUSK__ARG_BUFFER(scratch->buffer, 0, sizeof(float));
    end = husk__strided_write_args(&own->shape.outer, end);
    *end++ = HUSK__ARG_I32(own->shape.axis.extent);
    *end++ = HUSK__ARG_I64(own->shape.axis.x_stride);
    *end++ = HUSK__ARG_I64(own->shape.axis.y_stride);
    end = write_inner(own, true, end);
    *end++ = HUSK__ARG_I32(what->is_log);
    return husk__launch(queue, own->kernels[own->block ? 1 : 0], &own->range, list, (size_t)(end - list),
                        scope);
}

// Work-items across rows, and along a row.
static const husk__configuration workgroup_menu[] = {
    {.name = "1x256", .options = "-DWG_INNER=1 -DWG_AXIS=256", .values = {1, 256}},
    {.name = "1x64", .options = "-DWG_INNER=1 -DWG_AXIS=64", .values = {1, 64}},
    {.name = "32x8", .options = "-DWG_INNER=32 -DWG_AXIS=8", .values = {32, 8}},
    {.name = "16x4", .options = "-DWG_INNER=16 -DWG_AXIS=4", .values = {16, 4}},
};

static const husk__variant workgroup = {
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

// ---- the operator ----

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&rows, &columns, &workgroup, NULL};

const husk__op husk__op_softmax = {
    .name = "softmax",
    .problem_size = sizeof(problem),
    .variants = variants,
    .describe = describe,
    .prewarm = prewarm,
};

static husk_status validate(husk_queue *queue, const husk_softmax_params *params, const husk_tensor *x,
                            const husk_tensor *y, const husk__scope *scope)
{
    husk_status status = husk__tensor_check_plain(x, HUSK_F32, "x", scope);
    if (status == HUSK_OK && x->rank < 1)
        status = husk__reject(scope, "x", "rank is 0, must be 1 to %d", HUSK_MAX_RANK);
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(y, HUSK_F32, "y", scope);
    if (status == HUSK_OK && params->axis_from_last >= (uint32_t)x->rank)
        status = husk__reject(scope, "params", "axis_from_last is %u, must be less than x's rank %d",
                              (unsigned)params->axis_from_last, (int)x->rank);
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(y, "y", x->rank, x->shape, "as x", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(y, "y", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, x, "x", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, y, "y", scope);
    if (status == HUSK_OK)
        status = husk__refuse_partial_overlap(y, "y", x, "x", scope);
    return status;
}

static problem resolve(const husk_softmax_params *params, const husk_tensor *x, const husk_tensor *y)
{
    problem own = {.x = *x, .y = *y, .is_log = params->log != 0};
    own.axis = x->rank - 1 - (int32_t)params->axis_from_last;
    husk__tensor_resolve(&own.x);
    husk__tensor_resolve(&own.y);
    own.x.buffer = own.y.buffer = NULL;
    own.x.offset = own.y.offset = 0;
    return own;
}

husk_status husk_softmax(husk_queue *queue, const husk_softmax_params *params, const husk_tensor *x,
                         const husk_tensor *y)
{
    husk__scope scope;
    husk_softmax_params given;
    husk_status status = husk__call_begin(queue, "husk_softmax", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, sizeof given, params, &scope);
    if (status == HUSK_OK)
        status = validate(queue, &given, x, y, &scope);
    if (status != HUSK_OK || husk__tensor_count(x) == 0)
        return status;

    const problem own = resolve(&given, x, y);
    const husk__wish wish = {.variant = given.variant};
    const arguments tensors = {x, y};
    return husk__plan_immediate(queue, &husk__op_softmax, &own, &wish, &tensors, &scope);
}

// Softmax over the last axis and over the one before it, on a few numbers.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const int64_t shape[] = {2, 32, 32};
    husk_buffer *buffer;
    husk_status status =
        husk_buffer_create(husk_queue_context(queue), 2 * 32 * 32 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 3, shape);
    for (uint32_t axis = 0; axis < 2 && status == HUSK_OK; ++axis) {
        const husk_softmax_params params = HUSK_SOFTMAX_PARAMS(.axis_from_last = axis);
        const problem own = resolve(&params, &x, &x);
        const husk__wish wish = {0};
        const arguments tensors = {&x, &x};
        status = husk__plan_immediate(queue, &husk__op_softmax, &own, &wish, &tensors, scope);
    }
    husk_buffer_release(buffer);
    return status;
}
