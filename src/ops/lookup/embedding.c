// SPDX-License-Identifier: MIT
// Rows of a table: validate -> resolve -> choose -> launch. Kernels: cl/lookup/embedding_*.cl.
#include "base/params.h"
#include "base/tensor.h"
#include "ops/lookup/embedding_problem.h"
#include "ops/lookup/lookups.h"
#include "select/grid.h"

typedef struct arguments {
    const husk_tensor *table, *indices, *y;
} arguments;

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__embedding_problem *own = plan->problem;
    return husk__lookup_prepare(plan, &own->indices, &own->rows, scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const husk__embedding_problem *own = plan->problem;
    const arguments *given = untyped;
    const husk__lookup_launch *made = plan->state;
    husk__arg list[2 + HUSK__LOOKUP_INDICES_ARGS + 8];
    husk__arg *end = list;
    (void)scratch;
    *end++ = HUSK__ARG_TENSOR(given->y);
    *end++ = HUSK__ARG_TENSOR(given->table);
    end = husk__lookup_write_indices(given->indices, &made->walk, end);
    *end++ = HUSK__ARG_I64(own->table.shape[0]);
    *end++ = HUSK__ARG_I64(husk__embedding_columns(own));
    *end++ = HUSK__ARG_I64(own->table.strides[0]);
    *end++ = HUSK__ARG_I64(own->table.strides[1]);
    *end++ = HUSK__ARG_I64(husk__embedding_column_stride(own));
    end = husk__lookup_write_share(made, end);
    return husk__launch(queue, made->kernel, &made->range, list, (size_t)(end - list), scope);
}

static const husk__variant vector = {
    .name = "vector",
    .family = HUSK__FAMILY_CPU,
    .configurations = husk__lookup_vector_menu,
    .configuration_count = 1,
    .prepare = prepare,
    .run = run,
};

static const husk__variant grid = {
    HUSK__GRID_VARIANT,
    .prepare = prepare,
    .run = run,
};

// ---- the operator ----

static void write_case(const void *problem, const void *given, husk__case *c)
{
    (void)given;
    husk__embedding_write_case(problem, false, c);
}

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&vector, &grid, NULL};

const husk__op husk__op_embedding = {
    .name = "embedding",
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
    const husk__embedding_problem own = husk__embedding_resolve(params, tensors->table, tensors->indices, tensors->y);
    const husk_tensor *const operands[] = {tensors->table, tensors->indices, tensors->y};
    const husk__preference preference = husk__preference_of(params->variant, 0, operands, 3);
    return husk__plan_immediate(queue, &husk__op_embedding, &own, &preference, tensors, scope);
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
