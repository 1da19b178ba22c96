// SPDX-License-Identifier: MIT
// The variants of softmax's gradient for CPU devices: choose -> launch. Kernels: cl/softmax/backward_rows.cl,
// cl/softmax/backward_columns.cl.
#include <stdio.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/softmax/backward_problem.h"
#include "runtime/groups.h"

typedef husk__softmax_backward_problem problem;
typedef husk__softmax_backward_arguments arguments;
typedef husk__softmax_backward_geometry geometry;
typedef husk__softmax_backward_launch launch;

enum {
    BLOCK = 4096, // of cl/softmax/backward_rows.cl
    GROUPS_PER_UNIT = 4
};

static int64_t lanes_of(const husk_device_traits *traits)
{
    return traits->vector_width > 4 ? traits->vector_width : 4;
}

// Nanoseconds of one core, of a row or a block.
static double time_of(int64_t elements)
{
    return 20.0 + 0.2 * (double)elements;
}

// Equal shares of the units.
static void share_out(launch *own, const husk_device_traits *traits, int64_t units, int64_t unit_elements)
{
    own->units = units;
    own->share = husk__group_share(traits, units, time_of(unit_elements));
    own->range = (husk__range){{(size_t)husk__divide_up(units, own->share), 1, 1}, {1, 1, 1}};
}

static husk__arg *write_tensors(const arguments *given, bool has_dx, husk__arg *end)
{
    *end++ = HUSK__ARG_TENSOR(given->y);
    *end++ = HUSK__ARG_TENSOR(given->dy);
    if (has_dx)
        *end++ = HUSK__ARG_TENSOR(given->dx);
    return end;
}

// STRIDED_PARAMS, STRIDED_Z_PARAMS and the axis.
static husk__arg *write_shape(const launch *own, const husk__strided *outer, bool has_dx, husk__arg *end)
{
    end = husk__strided_write_args(outer, end);
    end = husk__strided_write_third(outer, end);
    *end++ = HUSK__ARG_I32(own->shape.axis.extent);
    *end++ = HUSK__ARG_I64(own->shape.axis.x_stride);
    *end++ = HUSK__ARG_I64(own->shape.axis.z_stride);
    if (has_dx)
        *end++ = HUSK__ARG_I64(own->shape.axis.y_stride);
    return end;
}

enum { MOST_ARGUMENTS = 4 + HUSK__STRIDED_ARGS + HUSK__STRIDED_OUTER + 4 + 6 };

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const geometry shape = husk__softmax_backward_geometry_of(candidate->problem);
    if (shape.axis.extent <= INT32_MAX / 2)
        return true;
    snprintf(reason, HUSK__REASON_CAPACITY, "the axis has %lld elements, more than 2^30",
             (long long)shape.axis.extent);
    return false;
}

// ---- rows: a row at a time ----

// Long rows are cut where there are too few of them for the device; that does not change their sums.
static bool rows_are_split(const geometry *shape, const husk_device_traits *traits)
{
    return shape->axis.extent > 4 * BLOCK && shape->row_count < 2 * (int64_t)traits->compute_units;
}

static int64_t rows_blocks(const geometry *shape)
{
    return husk__divide_up(shape->axis.extent, BLOCK);
}

// Rows whose elements lie apart are gathered one by one, some ten times slower than by vectors.
static double cost_rows(const husk__candidate *candidate)
{
    const geometry shape = husk__softmax_backward_geometry_of(candidate->problem);
    const bool is_packed = shape.axis.x_stride == 1 && shape.axis.y_stride == 1 && shape.axis.z_stride == 1;
    return (double)shape.row_count * (20.0 + (double)shape.axis.extent * (is_packed ? 0.3 : 3.0));
}

static uint64_t workspace_rows(const husk__candidate *candidate)
{
    const geometry shape = husk__softmax_backward_geometry_of(candidate->problem);
    if (!rows_are_split(&shape, candidate->traits))
        return 0;
    return (uint64_t)(shape.row_count * rows_blocks(&shape)) * husk__accumulator_size(shape.dtype);
}

static husk_status prepare_rows(husk_plan *plan, const husk__scope *scope)
{
    const husk_device_traits *traits = husk_context_traits(plan->context);
    launch *own = husk__softmax_backward_make_launch(plan);
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    const char *file = "softmax/backward_rows.cl", *options = husk__dtype_option(own->shape.dtype);
    if (!rows_are_split(&own->shape, traits)) {
        share_out(own, traits, own->shape.row_count, own->shape.axis.extent);
        return husk__kernel_get(plan->context, file, options, "husk_softmax_backward_rows", &own->kernels[0], scope);
    }
    own->block = BLOCK;
    own->row_blocks = (int32_t)rows_blocks(&own->shape);
    share_out(own, traits, own->shape.row_count * own->row_blocks, BLOCK);
    husk_status status = husk__kernel_get(plan->context, file, options, "husk_softmax_backward_rows_partial",
                                          &own->kernels[0], scope);
    if (status == HUSK_OK)
        status = husk__kernel_get(plan->context, file, options, "husk_softmax_backward_rows_apply",
                                  &own->kernels[1], scope);
    return status;
}

static husk_status run_partial(const launch *own, const problem *what, husk_queue *queue, const arguments *given,
                               const husk__scratch *scratch, const husk__scope *scope)
{
    husk__arg list[MOST_ARGUMENTS], *end = write_tensors(given, false, list);
    *end++ = HUSK__ARG_BUFFER(scratch->buffer, 0, husk__accumulator_size(own->shape.dtype));
    end = write_shape(own, &own->shape.rows, false, end);
    *end++ = HUSK__ARG_I32(own->row_blocks);
    *end++ = HUSK__ARG_I64(own->units);
    *end++ = HUSK__ARG_I64(own->share);
    *end++ = HUSK__ARG_I32(what->is_log);
    return husk__launch(queue, own->kernels[0], &own->range, list, (size_t)(end - list), scope);
}

static husk_status run_rows(const husk_plan *plan, husk_queue *queue, const void *given,
                            const husk__scratch *scratch, const husk__scope *scope)
{
    const launch *own = plan->state;
    const problem *what = plan->problem;
    if (own->block) {
        husk_status status = run_partial(own, what, queue, given, scratch, scope);
        if (status != HUSK_OK)
            return status;
    }
    husk__arg list[MOST_ARGUMENTS], *end = write_tensors(given, true, list);
    if (own->block)
        *end++ = HUSK__ARG_BUFFER(scratch->buffer, 0, husk__accumulator_size(own->shape.dtype));
    end = write_shape(own, &own->shape.rows, true, end);
    if (own->block)
        *end++ = HUSK__ARG_I32(own->row_blocks);
    *end++ = HUSK__ARG_I64(own->units);
    *end++ = HUSK__ARG_I64(own->share);
    *end++ = HUSK__ARG_I32(what->is_log);
    *end++ = HUSK__ARG_I32(what->accumulates);
    return husk__launch(queue, own->kernels[own->block ? 1 : 0], &own->range, list, (size_t)(end - list), scope);
}

static const husk__configuration cpu_menu[] = {{.name = "1", .options = ""}};

const husk__variant husk__softmax_backward_rows = {
    .name = "rows",
    .family = HUSK__FAMILY_CPU,
    .configurations = cpu_menu,
    .configuration_count = 1,
    .supports = supports,
    .cost = cost_rows,
    .workspace = workspace_rows,
    .prepare = prepare_rows,
    .run = run_rows,
};

// ---- columns: vectors across neighbouring rows ----

enum {
    COLUMNS_STRIP = 65536, // elements of a strip of each tensor: what a second-level cache holds of two
    COLUMNS_WIDTH = 1024   // WIDTH of cl/softmax/backward_columns.cl
};

static bool supports_columns(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const geometry shape = husk__softmax_backward_geometry_of(candidate->problem);
    if (!supports(candidate, reason))
        return false;
    snprintf(reason, HUSK__REASON_CAPACITY, "it needs neighbouring rows at stride 1");
    return shape.inner.x_stride == 1 && shape.inner.y_stride == 1 && shape.inner.z_stride == 1;
}

// A long axis of few columns keeps one core busy and the others idle.
static double cost_columns(const husk__candidate *candidate)
{
    const geometry shape = husk__softmax_backward_geometry_of(candidate->problem);
    const int64_t lanes = lanes_of(candidate->traits);
    const int64_t vectors = husk__divide_up(shape.inner.extent, lanes);
    return (double)husk__strided_count(&shape.outer) * (double)(vectors * shape.axis.extent) * 0.3 * (double)lanes;
}

// As wide as the cache allows, but narrower where there would be fewer strips than work-groups.
static int64_t strip_width(const geometry *shape, int64_t lanes, int64_t groups)
{
    const int64_t outer = husk__strided_count(&shape->outer);
    int64_t width = husk__max_i64(COLUMNS_STRIP / husk__max_i64(shape->axis.extent, 1), lanes) / lanes * lanes;
    width = husk__min_i64(width, COLUMNS_WIDTH);
    width = husk__min_i64(width, husk__round_up(shape->inner.extent, lanes));
    while (width > 4 * lanes && outer * husk__divide_up(shape->inner.extent, width) < groups)
        width = husk__round_up(width / 2, lanes);
    return width;
}

static husk_status prepare_columns(husk_plan *plan, const husk__scope *scope)
{
    const husk_device_traits *traits = husk_context_traits(plan->context);
    launch *own = husk__softmax_backward_make_launch(plan);
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    const int64_t width =
        strip_width(&own->shape, lanes_of(traits), GROUPS_PER_UNIT * (int64_t)traits->compute_units);
    own->width = (int32_t)width;
    share_out(own, traits,
              husk__strided_count(&own->shape.outer) * husk__divide_up(own->shape.inner.extent, width),
              width * own->shape.axis.extent);
    return husk__kernel_get(plan->context, "softmax/backward_columns.cl", husk__dtype_option(own->shape.dtype),
                            "husk_softmax_backward_columns", &own->kernels[0], scope);
}

static husk_status run_columns(const husk_plan *plan, husk_queue *queue, const void *given,
                               const husk__scratch *scratch, const husk__scope *scope)
{
    const launch *own = plan->state;
    const problem *what = plan->problem;
    husk__arg list[MOST_ARGUMENTS], *end = write_tensors(given, true, list);
    (void)scratch;
    end = write_shape(own, &own->shape.outer, true, end);
    *end++ = HUSK__ARG_I64(own->shape.inner.extent);
    *end++ = HUSK__ARG_I32(own->width);
    *end++ = HUSK__ARG_I64(own->units);
    *end++ = HUSK__ARG_I64(own->share);
    *end++ = HUSK__ARG_I32(what->is_log);
    *end++ = HUSK__ARG_I32(what->accumulates);
    return husk__launch(queue, own->kernels[0], &own->range, list, (size_t)(end - list), scope);
}

const husk__variant husk__softmax_backward_columns = {
    .name = "columns",
    .family = HUSK__FAMILY_CPU,
    .configurations = cpu_menu,
    .configuration_count = 1,
    .supports = supports_columns,
    .cost = cost_columns,
    .prepare = prepare_columns,
    .run = run_columns,
};
