// SPDX-License-Identifier: MIT
// The gradient of a table of embeddings: validate -> resolve -> choose -> launch. Kernels:
// cl/lookup/embedding_backward_*.cl.
//
// Two launches: the indices sorted by rows, into workspace, and the sums of the rows. Neither order depends on how many
// work-groups share the work.
#include <stdio.h>
#include <stdlib.h>

#include <husk/context.h>

#include "base/checked.h"
#include "base/params.h"
#include "base/tensor.h"
#include "ops/lookup/embedding_problem.h"
#include "ops/lookup/lookups.h"
#include "select/grid.h"

typedef struct arguments {
    const husk_tensor *indices, *dy, *dtable;
} arguments;

// ---- what the two variants share ----

typedef struct state {
    const husk__kernel *sort, *sum;
    husk__walk_values walk;
    int64_t owned; // rows that an owner sorts
    husk__range sort_range, sum_range;
} state;

static state *make_state(husk_plan *plan)
{
    const husk__embedding_problem *own = plan->problem;
    state *made = calloc(1, sizeof *made);
    plan->state = made; // freed with the plan
    if (made)
        made->walk = husk__lookup_walk(&own->indices, &own->rows);
    return made;
}

static bool is_empty(const husk__embedding_problem *own)
{
    return own->table.shape[0] == 0 || own->table.shape[1] == 0;
}

// Where every row's lookups end, and all lookups in order.
static uint64_t workspace(const husk__candidate *candidate)
{
    const husk__embedding_problem *own = candidate->problem;
    return is_empty(own) ? 0 : 8 * ((uint64_t)own->table.shape[0] + (uint64_t)husk__embedding_lookups(own));
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const husk__embedding_problem *own = plan->problem;
    const arguments *given = untyped;
    const state *made = plan->state;
    const int64_t rows = own->table.shape[0];
    const husk__arg ends = HUSK__ARG_BUFFER(scratch->buffer, 0, 8);
    const husk__arg order = HUSK__ARG_BUFFER(scratch->buffer, 8 * (uint64_t)rows, 8);
    husk__arg list[2 + HUSK__LOOKUP_INDICES_ARGS + 3];
    husk__arg *end = list;
    *end++ = ends;
    *end++ = order;
    end = husk__lookup_write_indices(given->indices, &made->walk, end);
    *end++ = HUSK__ARG_I64(rows);
    *end++ = HUSK__ARG_I64(own->skipped);
    *end++ = HUSK__ARG_I64(made->owned);
    husk_status status = husk__launch(queue, made->sort, &made->sort_range, list, (size_t)(end - list), scope);
    if (status != HUSK_OK)
        return status;
    return HUSK__LAUNCH(queue, made->sum, &made->sum_range, scope, HUSK__ARG_TENSOR(given->dtable),
                        HUSK__ARG_TENSOR(given->dy), ends, order, HUSK__ARG_I64(rows),
                        HUSK__ARG_I64(husk__embedding_columns(own)), HUSK__ARG_I64(own->table.strides[0]),
                        HUSK__ARG_I64(own->table.strides[1]), HUSK__ARG_I64(husk__embedding_column_stride(own)),
                        HUSK__ARG_I32((own->adds ? 1 : 0) | (own->means ? 2 : 0)));
}

// Groups for so much work; none where nothing is to be written.
static size_t groups_for(const husk__embedding_problem *own, int64_t wanted)
{
    return is_empty(own) ? 0 : (size_t)husk__max_i64(wanted, 1);
}

// ---- vector: CPU devices ----

// A sum's work-group is worth launching for so many elements. One core sorts: several would each read all indices, and
// guess at which are their own.
enum { VECTOR_MINIMUM = 65536, GROUPS_PER_UNIT = 4 };

static husk_status prepare_vector(husk_plan *plan, const husk__scope *scope)
{
    const husk__embedding_problem *own = plan->problem;
    const int64_t units = (int64_t)husk_context_traits(plan->context)->compute_units;
    const int64_t rows = own->table.shape[0], work = rows + husk__embedding_lookups(own);
    const char *options = husk__dtype_option(own->table.dtype);
    state *made = make_state(plan);
    if (!made)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    made->owned = rows;
    made->sort_range = (husk__range){{groups_for(own, 1), 1, 1}, {1, 1, 1}};
    const double elements = (double)work * (double)husk__embedding_columns(own);
    const int64_t worth = (int64_t)husk__min_i64((int64_t)(elements / VECTOR_MINIMUM), GROUPS_PER_UNIT * units);
    made->sum_range = (husk__range){{groups_for(own, husk__min_i64(worth, rows)), 1, 1}, {1, 1, 1}};
    husk_status status = husk__kernel_get(plan->context, "lookup/embedding_backward_vector.cl", options,
                                          "husk_embedding_backward_vector_sort", &made->sort, scope);
    if (status == HUSK_OK)
        status = husk__kernel_get(plan->context, "lookup/embedding_backward_vector.cl", options,
                                  "husk_embedding_backward_vector_sum", &made->sum, scope);
    return status;
}

static const husk__configuration vector_menu[] = {{.name = "1", .options = ""}};

static const husk__variant vector = {
    .name = "vector",
    .family = HUSK__FAMILY_CPU,
    .configurations = vector_menu,
    .configuration_count = 1,
    .workspace = workspace,
    .prepare = prepare_vector,
    .run = run,
};

// ---- grid: GPUs ----

enum { GRID_GROUPS_PER_UNIT = 16 };

static husk_status prepare_grid(husk_plan *plan, const husk__scope *scope)
{
    const husk__embedding_problem *own = plan->problem;
    const int64_t items = husk__grid_items(plan->configuration);
    const int64_t most = GRID_GROUPS_PER_UNIT * (int64_t)husk_context_traits(plan->context)->compute_units;
    const int64_t rows = own->table.shape[0];
    char options[128];
    state *made = make_state(plan);
    if (!made)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    made->owned = husk__max_i64(husk__divide_up(rows, most * items), 1);
    const int64_t owners = husk__divide_up(rows, made->owned);
    made->sort_range = (husk__range){{groups_for(own, husk__divide_up(owners, items)), 1, 1}, {(size_t)items, 1, 1}};
    made->sum_range = (husk__range){{groups_for(own, husk__min_i64(rows, most)), 1, 1}, {(size_t)items, 1, 1}};
    snprintf(options, sizeof options, "%s %s", husk__dtype_option(own->table.dtype), plan->configuration->options);
    husk_status status = husk__kernel_get(plan->context, "lookup/embedding_backward_grid.cl", options,
                                          "husk_embedding_backward_grid_sort", &made->sort, scope);
    if (status == HUSK_OK)
        status = husk__kernel_get(plan->context, "lookup/embedding_backward_grid.cl", options,
                                  "husk_embedding_backward_grid_sum", &made->sum, scope);
    return status;
}

static const husk__variant grid = {
    HUSK__GRID_VARIANT,
    .workspace = workspace,
    .prepare = prepare_grid,
    .run = run,
};

// ---- the operator ----

static void write_case(const void *problem, const void *given, husk__case *c)
{
    (void)given;
    husk__embedding_write_case(problem, true, c);
}

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&vector, &grid, NULL};

const husk__op husk__op_embedding_backward = {
    .name = "embedding_backward",
    .problem_size = sizeof(husk__embedding_problem),
    .variants = variants,
    .describe = husk__embedding_describe,
    .prewarm = prewarm,
    .classify = husk__embedding_classify,
    .write_case = write_case,
};

static husk_status enqueue(husk_queue *queue, const husk_embedding_params *params, const arguments *tensors,
                           const husk__scope *scope)
{
    const husk__embedding_problem own = husk__embedding_resolve(params, tensors->dtable, tensors->indices, tensors->dy);
    const husk_tensor *const operands[] = {tensors->indices, tensors->dy, tensors->dtable};
    const husk__preference preference = husk__preference_of(params->variant, 0, operands, 3);
    return husk__plan_immediate(queue, &husk__op_embedding_backward, &own, &preference, tensors, scope);
}

husk_status husk_embedding_backward(husk_queue *queue, const husk_embedding_params *params, const husk_tensor *indices,
                                    const husk_tensor *dy, const husk_tensor *dtable)
{
    husk__scope scope;
    husk_embedding_params given;
    husk_status status = husk__call_begin(queue, "husk_embedding_backward", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, "HUSK_EMBEDDING_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = husk__embedding_validate(queue, &given, dtable, "dtable", indices, dy, "dy", &scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(dtable, "dtable", &scope);
    if (status == HUSK_OK)
        status = husk__refuse_overlap(dtable, "dtable", dy, "dy", &scope);
    if (status == HUSK_OK)
        status = husk__refuse_overlap(dtable, "dtable", indices, "indices", &scope);
    const arguments tensors = {indices, dy, dtable};
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
    const husk_tensor dtable = husk_tensor_make(buffer, HUSK_F32, 2, table_shape);
    husk_tensor dy = dtable, indices = husk_tensor_make(buffer, HUSK_I32, 1, indices_shape);
    dy.offset = 32;
    indices.offset = 64;
    const husk_embedding_params params = HUSK_EMBEDDING_PARAMS(0);
    const arguments tensors = {&indices, &dy, &dtable};
    status = enqueue(queue, &params, &tensors, scope);
    husk_buffer_release(buffer);
    return status;
}
