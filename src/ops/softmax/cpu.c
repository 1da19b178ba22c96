// SPDX-License-Identifier: MIT
// Softmax's variants for CPU devices: choose -> launch. Kernels: cl/softmax/rows.cl, cl/softmax/columns.cl.
#include <stdio.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/softmax/problem.h"
#include "runtime/groups.h"

typedef husk__softmax_problem problem;
typedef husk__softmax_arguments arguments;
typedef husk__softmax_geometry geometry;
typedef husk__softmax_launch launch;

// ---- rows: CPU devices, a row at a time ----

enum {
    ROWS_PRIVATE = 65536, // ROW and BLOCK of cl/softmax/rows.cl
    ROWS_BLOCK = 4096,
    CPU_GROUPS_PER_UNIT = 4
};

static bool rows_are_split(const geometry *shape, const husk_device_traits *traits)
{
    if (shape->axis.extent > ROWS_PRIVATE)
        return true;
    return shape->axis.extent > 4 * ROWS_BLOCK && !husk__softmax_fills(traits, shape->row_count);
}

static int64_t rows_blocks(const geometry *shape)
{
    return husk__divide_up(shape->axis.extent, ROWS_BLOCK);
}

// Rows whose elements lie apart are gathered one by one, some ten times slower than by vectors.
static double cost_rows(const husk__candidate *candidate)
{
    const geometry shape = husk__softmax_geometry_of(candidate->problem);
    const bool is_packed = shape.axis.x_stride == 1 && shape.axis.y_stride == 1;
    return (double)shape.row_count * (20.0 + (double)shape.axis.extent * (is_packed ? 0.3 : 2.0));
}

static uint64_t workspace_rows(const husk__candidate *candidate)
{
    const geometry shape = husk__softmax_geometry_of(candidate->problem);
    if (!rows_are_split(&shape, candidate->traits))
        return 0;
    return (uint64_t)(shape.row_count * rows_blocks(&shape)) * 2 * husk__accumulator_size(shape.dtype);
}

// Nanoseconds of one core.
#define ELEMENT_TIME 0.25

static double row_time(int64_t extent)
{
    return 30.0 + ELEMENT_TIME * (double)extent;
}

// Equal shares of the units; unit_time: nanoseconds of one core.
static void share_out(launch *own, const husk_device_traits *traits, int64_t units, double unit_time)
{
    own->units = units;
    own->share = husk__group_share(traits, units, unit_time);
    own->range = (husk__range){{(size_t)husk__divide_up(units, own->share), 1, 1}, {1, 1, 1}};
}

static husk_status prepare_rows(husk_plan *plan, const husk__scope *scope)
{
    const husk_device_traits *traits = husk_context_traits(plan->context);
    launch *own = husk__softmax_make_launch(plan);
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    const char *file = "softmax/rows.cl", *options = husk__dtype_option(own->shape.dtype);
    if (!rows_are_split(&own->shape, traits)) {
        share_out(own, traits, own->shape.row_count, row_time(own->shape.axis.extent));
        return husk__kernel_get(plan->context, file, options, "husk_softmax_rows", &own->kernels[0], scope);
    }
    own->block = ROWS_BLOCK;
    own->row_blocks = (int32_t)rows_blocks(&own->shape);
    share_out(own, traits, own->shape.row_count * own->row_blocks, row_time(ROWS_BLOCK));
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
    *end++ = HUSK__ARG_BUFFER(scratch->buffer, 0, husk__accumulator_size(own->shape.dtype));
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
    *end++ = HUSK__ARG_BUFFER(scratch->buffer, 0, husk__accumulator_size(own->shape.dtype));
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

const husk__variant husk__softmax_rows = {
    .name = "rows",
    .family = HUSK__FAMILY_CPU,
    .configurations = cpu_menu,
    .configuration_count = 1,
    .supports = husk__softmax_supports,
    .cost = cost_rows,
    .workspace = workspace_rows,
    .prepare = prepare_rows,
    .run = run_rows,
};

// ---- columns: CPU devices, vectors across neighbouring rows ----

enum {
    COLUMNS_STRIP = 65536, // STRIP and WIDTH of cl/softmax/columns.cl
    COLUMNS_WIDTH = 1024
};

static bool supports_columns(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const geometry shape = husk__softmax_geometry_of(candidate->problem);
    const int64_t lanes = candidate->traits->vector_width > 4 ? candidate->traits->vector_width : 4;
    snprintf(reason, HUSK__REASON_CAPACITY,
             "it needs neighbouring rows at stride 1 and at most %lld elements a row",
             (long long)(COLUMNS_STRIP / lanes));
    return shape.inner.x_stride == 1 && shape.inner.y_stride == 1 &&
           shape.axis.extent * lanes <= COLUMNS_STRIP;
}

static double cost_columns(const husk__candidate *candidate)
{
    const geometry shape = husk__softmax_geometry_of(candidate->problem);
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
    launch *own = husk__softmax_make_launch(plan);
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    const int64_t lanes = traits->vector_width > 4 ? traits->vector_width : 4;
    if (own->shape.axis.extent > 0) {
        const int64_t width =
            strip_width(&own->shape, lanes, CPU_GROUPS_PER_UNIT * (int64_t)traits->compute_units);
        const int64_t strips = husk__divide_up(own->shape.inner.extent, width);
        own->width = (int32_t)width;
        share_out(own, traits, husk__strided_count(&own->shape.outer) * strips,
                  ELEMENT_TIME * (double)(width * own->shape.axis.extent));
    }
    return husk__kernel_get(plan->context, "softmax/columns.cl", husk__dtype_option(own->shape.dtype),
                            "husk_softmax_columns", &own->kernels[0], scope);
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

const husk__variant husk__softmax_columns = {
    .name = "columns",
    .family = HUSK__FAMILY_CPU,
    .configurations = cpu_menu,
    .configuration_count = 1,
    .supports = supports_columns,
    .cost = cost_columns,
    .prepare = prepare_columns,
    .run = run_columns,
};
