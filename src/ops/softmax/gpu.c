// SPDX-License-Identifier: MIT
// The variant of softmax and its gradient for GPUs: choose -> launch. Kernels: cl/softmax/workgroup.cl,
// cl/softmax/backward_workgroup.cl.
#include <stdio.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/softmax/problem.h"

typedef husk__softmax_geometry geometry;
typedef husk__softmax_launch launch;

enum {
    GPU_BLOCK = 4096, // elements of a long row that a work-group takes at least
    GPU_GROUPS_PER_UNIT = 16
};

// values: work-items across rows, and along a row.
enum { WG_INNER, WG_AXIS };

static int32_t workgroup_items(const husk__configuration *configuration)
{
    return configuration->values[WG_INNER] * configuration->values[WG_AXIS];
}

static int64_t workgroup_strips(const geometry *shape, const husk__configuration *configuration)
{
    return husk__strided_count(&shape->outer) * husk__divide_up(shape->inner.extent, configuration->values[WG_INNER]);
}

// Rows are cut where there are too few of them for the device. 0: they are not.
static int32_t workgroup_block(const geometry *shape, const husk__configuration *configuration,
                               const husk_device_traits *traits)
{
    const int64_t least = husk__max_i64(GPU_BLOCK, 16 * (int64_t)configuration->values[WG_AXIS]);
    if (shape->axis.extent < 2 * least || husk__softmax_fills(traits, workgroup_strips(shape, configuration)))
        return 0;
    return (int32_t)least;
}

static bool supports_workgroup(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const geometry shape = husk__softmax_geometry_of(candidate->problem);
    const int32_t items = workgroup_items(candidate->configuration);
    const bool is_refused = (uint64_t)items > candidate->traits->work_group;
    if (!is_refused && husk__softmax_supports(candidate, reason))
        return true;
    if (shape.is_gradient)
        snprintf(reason, HUSK__REASON_CAPACITY, "needs work-groups of %d and less than 2^30 elements along the axis",
                 items);
    else if (is_refused)
        snprintf(reason, HUSK__REASON_CAPACITY, "needs work-groups of %d", items);
    return false;
}

enum {
    LARGE_GROUP = 256, // work-items of the larger work-groups of workgroup_menu
    LONG_ROW = 256     // elements, of a row or of neighbouring rows together, that keep a large work-group busy
};
// What it costs to walk in another direction than memory lies together, beside 1 for a work-group of the wrong size.
static const double WRONG_WAY = 10.0;

// Work-items that walk along what lies together in memory, and large work-groups where rows are long.
static double cost_workgroup(const husk__candidate *candidate)
{
    const geometry shape = husk__softmax_geometry_of(candidate->problem);
    const bool is_along = candidate->configuration->values[WG_INNER] == 1;
    const bool wants_along = shape.inner.extent == 1 || shape.axis.x_stride <= shape.inner.x_stride;
    const bool wants_large = (is_along ? shape.axis.extent : shape.inner.extent * shape.axis.extent) >= LONG_ROW;
    const bool is_large = workgroup_items(candidate->configuration) >= LARGE_GROUP;
    return (is_along == wants_along ? 0.0 : WRONG_WAY) + (is_large == wants_large ? 0.0 : 1.0);
}

static uint64_t workspace_workgroup(const husk__candidate *candidate)
{
    const geometry shape = husk__softmax_geometry_of(candidate->problem);
    const husk__configuration *configuration = candidate->configuration;
    const int32_t block = workgroup_block(&shape, configuration, candidate->traits);
    if (!block)
        return 0;
    const int64_t blocks = workgroup_strips(&shape, configuration) * husk__divide_up(shape.axis.extent, block);
    return (uint64_t)(blocks * configuration->values[WG_INNER]) * husk__softmax_partial_size(&shape);
}

static husk_status prepare_workgroup(husk_plan *plan, const husk__scope *scope)
{
    const husk_device_traits *traits = husk_context_traits(plan->context);
    const husk__configuration *configuration = plan->configuration;
    launch *own = husk__softmax_make_launch(plan);
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    own->block = workgroup_block(&own->shape, configuration, traits);
    own->row_blocks = own->block ? (int32_t)husk__divide_up(own->shape.axis.extent, own->block) : 1;
    own->units = workgroup_strips(&own->shape, configuration) * own->row_blocks;
    const int64_t groups = husk__min_i64(own->units, GPU_GROUPS_PER_UNIT * (int64_t)traits->compute_units);
    own->range = (husk__range){{(size_t)groups, 1, 1},
                               {(size_t)configuration->values[WG_INNER], (size_t)configuration->values[WG_AXIS], 1}};

    const husk__strided_dimension axis = own->shape.axis;
    const int64_t stride = husk__max_i64(husk__max_i64(axis.x_stride, axis.y_stride), axis.z_stride);
    const bool needs_index_64 = husk__needs_index_64(plan->context, axis.extent * stride);
    char options[128];
    snprintf(options, sizeof options, "%s %s%s", husk__dtype_option(own->shape.dtype), configuration->options,
             needs_index_64 ? " -DINDEX_64" : "");
    return husk__softmax_get_kernels(plan, options, scope);
}

static husk_status run_stage(const husk_plan *plan, husk_queue *queue, const void *given, const husk__scratch *scratch,
                             bool is_partial, const husk__scope *scope)
{
    const launch *own = plan->state;
    husk__arg list[HUSK__SOFTMAX_ARGS], *end = husk__softmax_write_tensors(plan, given, scratch, is_partial, list);
    end = husk__softmax_write_rows(&own->shape, &own->shape.outer, end);
    end = husk__softmax_write_strides(&own->shape, &own->shape.axis, is_partial, end);
    *end++ = HUSK__ARG_I64(own->shape.inner.extent);
    end = husk__softmax_write_strides(&own->shape, &own->shape.inner, is_partial, end);
    if (own->block) {
        *end++ = HUSK__ARG_I32(own->block);
        *end++ = HUSK__ARG_I32(own->row_blocks);
    }
    *end++ = HUSK__ARG_I64(own->units);
    end = husk__softmax_write_options(plan, is_partial, end);
    return husk__launch(queue, own->kernels[own->block && !is_partial], &own->range, list, (size_t)(end - list), scope);
}

static husk_status run_workgroup(const husk_plan *plan, husk_queue *queue, const void *given,
                                 const husk__scratch *scratch, const husk__scope *scope)
{
    const launch *own = plan->state;
    husk_status status = own->block ? run_stage(plan, queue, given, scratch, true, scope) : HUSK_OK;
    return status == HUSK_OK ? run_stage(plan, queue, given, scratch, false, scope) : status;
}

static const husk__configuration workgroup_menu[] = {
    {.name = "1x256", .options = "-DWG_INNER=1 -DWG_AXIS=256", .values = {1, 256}},
    {.name = "1x64", .options = "-DWG_INNER=1 -DWG_AXIS=64", .values = {1, 64}},
    {.name = "32x8", .options = "-DWG_INNER=32 -DWG_AXIS=8", .values = {32, 8}},
    {.name = "16x4", .options = "-DWG_INNER=16 -DWG_AXIS=4", .values = {16, 4}},
};

const husk__variant husk__softmax_workgroup = {
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
