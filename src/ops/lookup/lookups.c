// SPDX-License-Identifier: MIT
#include "ops/lookup/lookups.h"

#include <stdio.h>
#include <stdlib.h>

#include <husk/context.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "select/grid.h"

typedef husk__lookup_launch launch;

husk__walk_values husk__lookup_walk(const husk_tensor *indices, const husk_tensor *rows)
{
    husk__walk walk = {0};
    for (int32_t d = 0; d < indices->rank; ++d)
        husk__walk_add(&walk, (husk__walk_dimension){.extent = indices->shape[d],
                                                     .strides = {indices->strides[d], rows->strides[d]}});
    husk__walk_merge(&walk);
    return husk__walk_prepare(&walk);
}

husk__arg *husk__lookup_write_indices(const husk_tensor *indices, const husk__walk_values *walk, husk__arg *end)
{
    *end++ = HUSK__ARG_TENSOR(indices);
    *end++ = HUSK__ARG_I32(indices->dtype == HUSK_I64);
    *end++ = HUSK__ARG_I64(husk__tensor_count(indices));
    return husk__walk_write_args(walk, 2, end);
}

// A CPU's work-group is worth launching for so many elements; several a core even out the cores' speeds.
enum { VECTOR_MINIMUM = 65536, GROUPS_PER_UNIT = 4, GRID_GROUPS_PER_UNIT = 16 };

const husk__configuration husk__lookup_vector_menu[1] = {{.name = "1", .options = "", .values = {1}}};

static void share_out(launch *own, const husk_device_traits *traits, int64_t indices, int64_t columns, husk_dtype dtype)
{
    own->span = husk__max_i64(husk__min_i64(columns, VECTOR_MINIMUM), 1);
    const int64_t share = husk__divide_up(indices, GROUPS_PER_UNIT * (int64_t)traits->compute_units);
    own->share = husk__max_i64(share, husk__divide_up(VECTOR_MINIMUM, own->span));
    own->range = (husk__range){
        {(size_t)husk__divide_up(indices, own->share), (size_t)husk__divide_up(columns, own->span), 1}, {1, 1, 1}};
    const double bytes = (double)husk_dtype_size(dtype) * (double)indices * (double)columns;
    own->streams = traits->global_cache > 0 && bytes > (double)traits->global_cache;
}

husk_status husk__lookup_prepare(husk_plan *plan, const husk_tensor *indices, const husk_tensor *rows,
                                 const husk__scope *scope)
{
    const husk_device_traits *traits = husk_context_traits(plan->context);
    const int64_t items = husk__grid_items(plan->configuration), total = husk__tensor_count(rows);
    const char *dtype = husk__dtype_option(rows->dtype);
    char file[64], kernel[64], options[128];
    launch *own = calloc(1, sizeof *own);
    plan->state = own; // freed with the plan
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    own->walk = husk__lookup_walk(indices, rows);
    snprintf(file, sizeof file, "lookup/%s_%s.cl", plan->op->name, plan->variant->name);
    snprintf(kernel, sizeof kernel, "husk_%s_%s", plan->op->name, plan->variant->name);
    if (items == 1) {
        share_out(own, traits, husk__tensor_count(indices), rows->shape[indices->rank], rows->dtype);
        return husk__kernel_get(plan->context, file, dtype, kernel, &own->kernel, scope);
    }
    const int64_t most = GRID_GROUPS_PER_UNIT * (int64_t)traits->compute_units;
    own->range =
        (husk__range){{(size_t)husk__min_i64(husk__divide_up(total, items), most), 1, 1}, {(size_t)items, 1, 1}};
    snprintf(options, sizeof options, "%s %s%s", dtype, plan->configuration->options,
             husk__needs_index_64(plan->context, total) ? " -DINDEX_64" : "");
    return husk__kernel_get(plan->context, file, options, kernel, &own->kernel, scope);
}

husk__arg *husk__lookup_write_share(const launch *own, husk__arg *end)
{
    *end++ = HUSK__ARG_I64(own->share);
    *end++ = HUSK__ARG_I64(own->span);
    *end++ = HUSK__ARG_I32(own->streams);
    return end;
}
