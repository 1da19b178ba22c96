// SPDX-License-Identifier: MIT
// The variants of softmax and its gradient for CPU devices: choose -> launch. Kernels: cl/softmax/rows.cl and
// columns.cl, backward_rows.cl and backward_columns.cl.
#include <stdio.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "machine/predict.h"
#include "ops/softmax/problem.h"
#include "runtime/groups.h"

typedef husk__softmax_geometry geometry;
typedef husk__softmax_launch launch;

enum { CPU_GROUPS_PER_UNIT = 4 };

static int64_t lanes_of(const husk_device_traits *traits)
{
    return traits->vector_width > 4 ? traits->vector_width : 4;
}

// Nanoseconds of one core, forward and of the gradient: of an element, and of a row or a block before its elements.
// They say how many rows are worth a work-group.
static const double ELEMENT_NS = 0.25, ELEMENT_BACK_NS = 0.2, ROW_NS = 30.0, ROW_BACK_NS = 20.0;

static double element_time(const geometry *shape)
{
    return shape->is_gradient ? ELEMENT_BACK_NS : ELEMENT_NS;
}

static double row_time(const geometry *shape)
{
    return shape->is_gradient ? ROW_BACK_NS : ROW_NS;
}

// Equal shares of the units; unit_time: nanoseconds of one core.
static void share_out(launch *own, const husk_device_traits *traits, int64_t units, double unit_time)
{
    own->units = units;
    own->share = husk__group_share(traits, units, unit_time);
    own->range = (husk__range){{(size_t)husk__divide_up(units, own->share), 1, 1}, {1, 1, 1}};
}

static const husk__configuration cpu_menu[] = {{.name = "1", .options = ""}};

// ---- rows: a row at a time ----

enum {
    ROWS_PRIVATE = 65536, // ROW of cl/softmax/rows.cl
    ROWS_BLOCK = 4096     // BLOCK of it and of cl/softmax/backward_rows.cl
};

// Long rows are cut where there are too few of them for the device; forward's also where they are too long for its
// memory of a row.
static bool rows_are_split(const geometry *shape, const husk_device_traits *traits)
{
    if (!shape->is_gradient && shape->axis.extent > ROWS_PRIVATE)
        return true;
    return shape->axis.extent > 4 * ROWS_BLOCK && !husk__softmax_fills(traits, shape->row_count);
}

static int64_t rows_blocks(const geometry *shape)
{
    return husk__divide_up(shape->axis.extent, ROWS_BLOCK);
}

// Cycles, measured on AVX-512 and with vectors of 8, which agree: of a row, of a vector of it, of an element of a row
// whose elements lie apart and are gathered one by one; of columns, of a vector's element and of a block of them.
static const double ROW_CYCLES = 100.0, VECTOR_CYCLES = 13.0, GATHER_CYCLES = 4.5, GATHER_BACK_CYCLES = 6.5,
                    COLUMN_CYCLES = 2.2, BLOCK_CYCLES = 100.0;

// Of so many units, which the cores share, with the cycles of each.
static double cost_of(const husk__candidate *candidate, int64_t units, double unit_cycles)
{
    const husk_machine *machine = candidate->machine;
    const int64_t groups = husk__max_i64(1, husk__min_i64(units, CPU_GROUPS_PER_UNIT * (int64_t)machine->cores));
    const double work = husk__cycles_ns(&machine->rates, (double)units * unit_cycles);
    return husk__launch_time(machine, &machine->rates, work / (double)groups, groups);
}

static double cost_rows(const husk__candidate *candidate)
{
    const geometry shape = husk__softmax_geometry_of(candidate->problem);
    const int64_t vectors = husk__divide_up(shape.axis.extent, lanes_of(candidate->traits));
    const double gathered = shape.is_gradient ? GATHER_BACK_CYCLES : GATHER_CYCLES;
    return cost_of(candidate, shape.row_count,
                   ROW_CYCLES + (husk__softmax_is_packed(&shape, &shape.axis) ? (double)vectors * VECTOR_CYCLES
                                                                              : (double)shape.axis.extent * gathered));
}

static uint64_t workspace_rows(const husk__candidate *candidate)
{
    const geometry shape = husk__softmax_geometry_of(candidate->problem);
    if (!rows_are_split(&shape, candidate->traits))
        return 0;
    return (uint64_t)(shape.row_count * rows_blocks(&shape)) * husk__softmax_partial_size(&shape);
}

static husk_status prepare_rows(husk_plan *plan, const husk__scope *scope)
{
    const husk_device_traits *traits = husk_context_traits(plan->context);
    launch *own = husk__softmax_make_launch(plan);
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    const bool is_split = rows_are_split(&own->shape, traits);
    own->block = is_split ? ROWS_BLOCK : 0;
    own->row_blocks = is_split ? (int32_t)rows_blocks(&own->shape) : 1;
    const int64_t elements = is_split ? ROWS_BLOCK : own->shape.axis.extent;
    share_out(own, traits, own->shape.row_count * own->row_blocks,
              row_time(&own->shape) + element_time(&own->shape) * (double)elements);
    return husk__softmax_get_kernels(plan, husk__dtype_option(own->shape.dtype), scope);
}

static husk_status run_stage(const husk_plan *plan, husk_queue *queue, const void *given, const husk__scratch *scratch,
                             bool is_partial, const husk__scope *scope)
{
    const launch *own = plan->state;
    husk__arg list[HUSK__SOFTMAX_ARGS], *end = husk__softmax_write_tensors(plan, given, scratch, is_partial, list);
    end = husk__softmax_write_rows(&own->shape, &own->shape.rows, end);
    end = husk__softmax_write_strides(&own->shape, &own->shape.axis, is_partial, end);
    if (own->block)
        *end++ = HUSK__ARG_I32(own->row_blocks);
    *end++ = HUSK__ARG_I64(own->units);
    *end++ = HUSK__ARG_I64(own->share);
    end = husk__softmax_write_options(plan, is_partial, end);
    return husk__launch(queue, own->kernels[own->block && !is_partial], &own->range, list, (size_t)(end - list), scope);
}

static husk_status run_rows(const husk_plan *plan, husk_queue *queue, const void *given, const husk__scratch *scratch,
                            const husk__scope *scope)
{
    const launch *own = plan->state;
    husk_status status = own->block ? run_stage(plan, queue, given, scratch, true, scope) : HUSK_OK;
    return status == HUSK_OK ? run_stage(plan, queue, given, scratch, false, scope) : status;
}

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

// ---- columns: vectors across neighbouring rows ----

enum {
    COLUMNS_STRIP = 65536, // STRIP of cl/softmax/columns.cl; of the gradient what a second-level cache holds of two
    COLUMNS_WIDTH = 1024   // WIDTH of cl/softmax/columns.cl and cl/softmax/backward_columns.cl
};

static bool supports_columns(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const geometry shape = husk__softmax_geometry_of(candidate->problem);
    const int64_t lanes = lanes_of(candidate->traits);
    const bool is_packed = husk__softmax_is_packed(&shape, &shape.inner);
    if (shape.is_gradient) {
        if (!husk__softmax_supports(candidate, reason))
            return false;
        snprintf(reason, HUSK__REASON_CAPACITY, "it needs neighbouring rows at stride 1");
        return is_packed;
    }
    snprintf(reason, HUSK__REASON_CAPACITY, "it needs neighbouring rows at stride 1 and at most %lld elements a row",
             (long long)(COLUMNS_STRIP / lanes));
    return is_packed && shape.axis.extent * lanes <= COLUMNS_STRIP;
}

// A long axis of few columns keeps one core busy and the others idle.
static double cost_columns(const husk__candidate *candidate)
{
    const geometry shape = husk__softmax_geometry_of(candidate->problem);
    const int64_t lanes = lanes_of(candidate->traits);
    const int64_t vectors = husk__divide_up(shape.inner.extent, lanes);
    return cost_of(candidate, husk__strided_count(&shape.outer),
                   BLOCK_CYCLES + (double)(vectors * shape.axis.extent) * COLUMN_CYCLES * (double)lanes);
}

// As wide as memory or the cache allows, but narrower where there would be fewer strips than work-groups.
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
    launch *own = husk__softmax_make_launch(plan);
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    const int64_t groups = CPU_GROUPS_PER_UNIT * (int64_t)traits->compute_units;
    const int64_t width = strip_width(&own->shape, lanes_of(traits), groups);
    const double begin = own->shape.is_gradient ? row_time(&own->shape) : 0.0;
    own->width = (int32_t)width;
    share_out(own, traits, husk__strided_count(&own->shape.outer) * husk__divide_up(own->shape.inner.extent, width),
              begin + element_time(&own->shape) * (double)(width * own->shape.axis.extent));
    return husk__softmax_get_kernels(plan, husk__dtype_option(own->shape.dtype), scope);
}

static husk_status run_columns(const husk_plan *plan, husk_queue *queue, const void *given,
                               const husk__scratch *scratch, const husk__scope *scope)
{
    const launch *own = plan->state;
    husk__arg list[HUSK__SOFTMAX_ARGS], *end = husk__softmax_write_tensors(plan, given, scratch, false, list);
    end = husk__softmax_write_rows(&own->shape, &own->shape.outer, end);
    end = husk__softmax_write_strides(&own->shape, &own->shape.axis, false, end);
    *end++ = HUSK__ARG_I64(own->shape.inner.extent);
    *end++ = HUSK__ARG_I32(own->width);
    *end++ = HUSK__ARG_I64(own->units);
    *end++ = HUSK__ARG_I64(own->share);
    end = husk__softmax_write_options(plan, false, end);
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
