// SPDX-License-Identifier: MIT
// Rows of a table: validate -> resolve -> choose -> launch. Kernels: cl/lookup/embedding_*.cl.
#include <stdio.h>
#include <stdlib.h>

#include <husk/context.h>

#include "base/checked.h"
#include "base/params.h"
#include "base/tensor.h"
#include "ops/lookup/embedding_problem.h"
#include "select/grid.h"

typedef struct arguments {
    const husk_tensor *table, *indices, *y;
} arguments;

// ---- what the two variants share ----

typedef struct state {
    const husk__kernel *kernel;
    husk__walk_values walk;
    int64_t share, span; // vector: lookups and columns a work-group takes
    bool streams;
    husk__range range;
} state;

static state *make_state(husk_plan *plan)
{
    const husk__embedding_problem *own = plan->problem;
    state *made = calloc(1, sizeof *made);
    plan->state = made; // freed with the plan
    if (made) {
        const husk__walk walk = husk__embedding_walk(own);
        made->walk = husk__walk_prepare(&walk);
    }
    return made;
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const husk__embedding_problem *own = plan->problem;
    const arguments *given = untyped;
    const state *made = plan->state;
    husk__arg list[2 + HUSK__EMBEDDING_INDICES_ARGS + 8];
    husk__arg *end = list;
    (void)scratch;
    *end++ = HUSK__ARG_TENSOR(given->y);
    *end++ = HUSK__ARG_TENSOR(given->table);
    end = husk__embedding_write_indices(own, given->indices, &made->walk, end);
    *end++ = HUSK__ARG_I64(own->table.shape[0]);
    *end++ = HUSK__ARG_I64(husk__embedding_columns(own));
    *end++ = HUSK__ARG_I64(own->table.strides[0]);
    *end++ = HUSK__ARG_I64(own->table.strides[1]);
    *end++ = HUSK__ARG_I64(husk__embedding_column_stride(own));
    *end++ = HUSK__ARG_I64(made->share);
    *end++ = HUSK__ARG_I64(made->span);
    *end++ = HUSK__ARG_I32(made->streams);
    return husk__launch(queue, made->kernel, &made->range, list, (size_t)(end - list), scope);
}

// ---- vector: CPU devices ----

// A work-group is worth launching for so many elements; several a core even out the cores' speeds.
enum { VECTOR_MINIMUM = 65536, GROUPS_PER_UNIT = 4 };

static husk_status prepare_vector(husk_plan *plan, const husk__scope *scope)
{
    const husk__embedding_problem *own = plan->problem;
    const husk_device_traits *traits = husk_context_traits(plan->context);
    const int64_t lookups = husk__embedding_lookups(own), columns = husk__embedding_columns(own);
    char options[128];
    state *made = make_state(plan);
    if (!made)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    made->span = husk__max_i64(husk__min_i64(columns, VECTOR_MINIMUM), 1);
    const int64_t share = husk__divide_up(lookups, GROUPS_PER_UNIT * (int64_t)traits->compute_units);
    made->share = husk__max_i64(share, husk__divide_up(VECTOR_MINIMUM, made->span));
    made->range = (husk__range){
        {(size_t)husk__divide_up(lookups, made->share), (size_t)husk__divide_up(columns, made->span), 1}, {1, 1, 1}};
    const double bytes = (double)husk_dtype_size(own->rows.dtype) * (double)lookups * (double)columns;
    made->streams = traits->global_cache > 0 && bytes > (double)traits->global_cache;
    snprintf(options, sizeof options, "%s", husk__dtype_option(own->table.dtype));
    return husk__kernel_get(plan->context, "lookup/embedding_vector.cl", options, "husk_embedding_vector",
                            &made->kernel, scope);
}

static const husk__configuration vector_menu[] = {{.name = "1", .options = ""}};

static const husk__variant vector = {
    .name = "vector",
    .family = HUSK__FAMILY_CPU,
    .configurations = vector_menu,
    .configuration_count = 1,
    .prepare = prepare_vector,
    .run = run,
};

// ---- grid: GPUs ----

enum { GRID_GROUPS_PER_UNIT = 16 };

static husk_status prepare_grid(husk_plan *plan, const husk__scope *scope)
{
    const husk__embedding_problem *own = plan->problem;
    const husk_device_traits *traits = husk_context_traits(plan->context);
    const int64_t total = husk__tensor_count(&own->rows), items = plan->configuration->values[0];
    char options[128];
    state *made = make_state(plan);
    if (!made)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    const int64_t most = GRID_GROUPS_PER_UNIT * (int64_t)traits->compute_units;
    made->range = (husk__range){{(size_t)husk__min_i64(husk__divide_up(total, items), most), 1, 1},
                                {(size_t)items, 1, 1}};
    snprintf(options, sizeof options, "%s %s%s", husk__dtype_option(own->table.dtype), plan->configuration->options,
             husk__needs_index_64(plan->context, total) ? " -DINDEX_64" : "");
    return husk__kernel_get(plan->context, "lookup/embedding_grid.cl", options, "husk_embedding_grid",
                            &made->kernel, scope);
}

static const husk__variant grid = {
    .name = "grid",
    .family = HUSK__FAMILY_GPU,
    .configurations = husk__grid_menu,
    .configuration_count = HUSK__GRID_CONFIGURATIONS,
    .supports = husk__grid_supports,
    .cost = husk__grid_cost,
    .prepare = prepare_grid,
    .run = run,
};

// ---- the operator ----

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&vector, &grid, NULL};

const husk__op husk__op_embedding = {
    .name = "embedding",
    .problem_size = sizeof(husk__embedding_problem),
    .variants = variants,
    .describe = husk__embedding_describe,
    .prewarm = prewarm,
    .classify = husk__embedding_classify,
};

static husk_status enqueue(husk_queue *queue, const husk_embedding_params *params, const arguments *tensors,
                           const husk__scope *scope)
{
    const husk__embedding_problem own =
        husk__embedding_resolve(params, tensors->table, tensors->indices, tensors->y);
    const husk_tensor *const operands[] = {tensors->table, tensors->indices, tensors->y};
    const husk__wish wish = husk__wish_of(params->variant, 0, operands, 3);
    return husk__plan_immediate(queue, &husk__op_embedding, &own, &wish, tensors, scope);
}

husk_status husk_embedding(husk_queue *queue, const husk_embedding_params *params, const husk_tensor *table,
                           const husk_tensor *indices, const husk_tensor *y)
{
    husk__scope scope;
    husk_embedding_params given;
    husk_status status = husk__call_begin(queue, "husk_embedding", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, "HUSK_EMBEDDING_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = husk__embedding_validate(queue, &given, table, "table", indices, y, "y", &scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(y, "y", &scope);
    if (status == HUSK_OK)
        status = husk__refuse_overlap(y, "y", table, "table", &scope);
    if (status == HUSK_OK)
        status = husk__refuse_overlap(y, "y", indices, "indices", &scope);
    const arguments tensors = {table, indices, y};
    return status == HUSK_OK ? enqueue(queue, &given, &tensors, &scope) : status;
}

// The device's program, with two lookups. What the indices are does not matter.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const int64_t table_shape[] = {2, 16}, indices_shape[] = {2};
    husk_buffer *buffer;
    husk_status status = husk_buffer_create(husk_queue_context(queue), 512, &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor table = husk_tensor_make(buffer, HUSK_F32, 2, table_shape);
    husk_tensor y = table, indices = husk_tensor_make(buffer, HUSK_I32, 1, indices_shape);
    y.offset = 32;
    indices.offset = 64;
    const husk_embedding_params params = HUSK_EMBEDDING_PARAMS(0);
    const arguments tensors = {&table, &indices, &y};
    status = enqueue(queue, &params, &tensors, scope);
    husk_buffer_release(buffer);
    return status;
}
