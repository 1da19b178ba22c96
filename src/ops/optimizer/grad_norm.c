// SPDX-License-Identifier: MIT
// Norms of lists of tensors: validate -> resolve -> choose -> launch. Kernels: cl/optimizer/grad_norm_*.cl.
#include <husk/ops/grad_norm.h>

#include <math.h>

#include "base/params.h"
#include "base/tensor.h"
#include "ops/optimizer/grad_list.h"
#include "select/grid.h"

typedef husk__grad_list_problem problem;

typedef struct arguments {
    husk__list list;
    const husk_tensor *norm, *coefficient;
    int32_t kind;
    float max_norm;
} arguments;

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const problem *what = plan->problem;
    const husk__grad_list_launch *own = plan->state;
    const arguments *given = untyped;
    const husk__arg parts = husk__grad_list_parts(plan, scratch);
    const husk__arg more[] = {parts, HUSK__ARG_I32(given->kind)};
    husk_status status =
        husk__list_launch(queue, own->kernels, &given->list, husk__grid_items(plan->configuration), more, 2, scope);
    if (status != HUSK_OK)
        return status;
    const husk__range one = {{1, 1, 1}, {1, 1, 1}};
    return HUSK__LAUNCH(queue, own->finish, &one, scope, parts, HUSK__ARG_I64(what->units), HUSK__ARG_I32(given->kind),
                        HUSK__ARG_ACC(what->accumulator, (double)given->max_norm), HUSK__ARG_TENSOR(given->norm),
                        HUSK__ARG_TENSOR(given->coefficient));
}

static const husk__variant vector = {
    .name = "vector",
    .family = HUSK__FAMILY_CPU,
    .configurations = husk__grad_list_vector_menu,
    .configuration_count = 1,
    .workspace = husk__grad_list_workspace,
    .prepare = husk__grad_list_prepare,
    .run = run,
};

static const husk__variant grid = {
    HUSK__GRID_VARIANT,
    .workspace = husk__grad_list_workspace,
    .prepare = husk__grad_list_prepare,
    .run = run,
};

// ---- the operator ----

static void write_case(const void *untyped, const void *untyped_run, husk__case *c)
{
    const arguments *given = untyped_run;
    husk__grad_list_begin_case(untyped, "grad_norm", given ? &given->list : NULL, c);
    if (given)
        husk__case_word(c, "kind", given->kind == HUSK_GRAD_NORM_MAXIMUM ? "maximum" : "euclidean", "euclidean");
    if (given && given->coefficient)
        husk__case_note(c, "with a coefficient");
}

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&vector, &grid, NULL};

const husk__op husk__op_grad_norm = {
    .name = "grad_norm",
    .problem_size = sizeof(problem),
    .variants = variants,
    .describe = husk__grad_list_describe,
    .prewarm = prewarm,
    .classify = husk__grad_list_classify,
    .write_case = write_case,
};

static husk_status validate(husk_queue *queue, const husk_grad_norm_params *params, const arguments *given,
                            const husk__scope *scope)
{
    if (params->kind != HUSK_GRAD_NORM_EUCLIDEAN && params->kind != HUSK_GRAD_NORM_MAXIMUM)
        return husk__reject(scope, "params", "kind %d is none of husk_grad_norm_kind", (int)params->kind);
    if (!(params->max_norm >= 0))
        return husk__reject(scope, "params", "max_norm is %g, must not be negative", (double)params->max_norm);
    husk_status status = husk__list_check(queue, &given->list, "tensors", false, scope);
    if (status == HUSK_OK && given->norm)
        status = husk__list_check_number(queue, &given->list, given->norm, "norm", scope);
    if (status == HUSK_OK && given->coefficient)
        status = husk__list_check_number(queue, &given->list, given->coefficient, "coefficient", scope);
    if (status == HUSK_OK && !given->norm && !given->coefficient)
        return husk__reject(scope, "norm", "is NULL, and so is coefficient: there is nothing to compute");
    if (status == HUSK_OK && given->norm && given->coefficient)
        status = husk__refuse_overlap(given->coefficient, "coefficient", given->norm, "norm", scope);
    return status;
}

static husk_status enqueue(husk_queue *queue, const char *variant, const arguments *given, const husk__scope *scope)
{
    const problem own = husk__grad_list_resolve(&given->list, true);
    const husk__preference preference = {.variant = variant};
    return husk__plan_immediate(queue, &husk__op_grad_norm, &own, &preference, given, scope);
}

husk_status husk_grad_norm(husk_queue *queue, const husk_grad_norm_params *params, const husk_tensor *const *tensors,
                           size_t count, const husk_tensor *norm, const husk_tensor *coefficient)
{
    husk__scope scope;
    husk_grad_norm_params options;
    arguments given = {.list = {tensors, count}, .norm = norm, .coefficient = coefficient};
    husk_status status = husk__call_begin(queue, "husk_grad_norm", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&options, sizeof options, "HUSK_GRAD_NORM_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = validate(queue, &options, &given, &scope);
    if (status != HUSK_OK)
        return status;
    given.kind = options.kind;
    given.max_norm = options.max_norm > 0 ? options.max_norm : INFINITY;
    return enqueue(queue, options.variant, &given, &scope);
}

// One small tensor.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const int64_t shape[] = {64};
    husk_buffer *buffer;
    husk_status status = husk_buffer_create(husk_queue_context(queue), 128 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 1, shape), norm = {.buffer = buffer, .offset = 64};
    const husk_tensor *const tensors[] = {&x};
    const arguments given = {.list = {tensors, 1}, .norm = &norm, .max_norm = INFINITY};
    status = enqueue(queue, NULL, &given, scope);
    husk_buffer_release(buffer);
    return status;
}
