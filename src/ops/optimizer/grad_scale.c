// SPDX-License-Identifier: MIT
// Lists of tensors multiplied in place: validate -> resolve -> choose -> launch. Kernels: cl/optimizer/grad_scale_*.cl.
#include <husk/ops/grad_scale.h>

#include <math.h>

#include "base/params.h"
#include "base/tensor.h"
#include "ops/optimizer/grad_list.h"
#include "select/grid.h"

typedef husk__grad_list_problem problem;

typedef struct arguments {
    husk__list list;
    const husk_tensor *by, *found, *state;
    float factor, limit, growth, backoff;
    int32_t divides, keeps;
    uint32_t interval;
} arguments;

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const problem *what = plan->problem;
    const husk__grad_list_launch *own = plan->state;
    const arguments *given = untyped;
    const husk__arg parts = husk__grad_list_parts(plan, scratch);
    const husk__arg more[] = {HUSK__ARG_TENSOR(given->by), parts,
                              HUSK__ARG_ACC(what->accumulator, (double)given->factor), HUSK__ARG_I32(given->divides),
                              HUSK__ARG_ACC(what->accumulator, (double)given->limit)};
    husk_status status =
        husk__list_launch(queue, own->kernels, &given->list, husk__grid_items(plan->configuration), more, 5, scope);
    if (status != HUSK_OK || !given->found)
        return status;
    const husk__range one = {{1, 1, 1}, {1, 1, 1}};
    return HUSK__LAUNCH(queue, own->finish, &one, scope, parts, HUSK__ARG_I64(what->units), HUSK__ARG_I32(given->keeps),
                        HUSK__ARG_TENSOR(given->found), HUSK__ARG_TENSOR(given->state),
                        HUSK__ARG_ACC(what->accumulator, (double)given->growth),
                        HUSK__ARG_ACC(what->accumulator, (double)given->backoff),
                        HUSK__ARG_ACC(what->accumulator, (double)given->interval));
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
    husk__grad_list_begin_case(untyped, "grad_scale", given ? &given->list : NULL, c);
    if (!given)
        return;
    husk__case_integer(c, "clips", isfinite(given->limit), 0);
    if (given->factor != 1.0f || given->by)
        husk__case_note(c, given->divides ? "divides" : "multiplies");
    if (given->state)
        husk__case_note(c, "with a state");
}

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&vector, &grid, NULL};

const husk__op husk__op_grad_scale = {
    .name = "grad_scale",
    .problem_size = sizeof(problem),
    .variants = variants,
    .describe = husk__grad_list_describe,
    .prewarm = prewarm,
    .classify = husk__grad_list_classify,
    .write_case = write_case,
};

// Beside the list as a number is, but for the elements.
static husk_status check_state(husk_queue *queue, const arguments *given, const husk__scope *scope)
{
    const husk_tensor *state = given->state;
    if (!given->found)
        return husk__reject(scope, "found", "is NULL, but state is to follow it");
    husk_status status = husk__tensor_check_plain(state, husk__list_accumulator(&given->list), "state", scope);
    if (status == HUSK_OK && (state->rank != 1 || state->shape[0] != 4 || state->strides[0] > 1))
        return husk__reject(scope, "state", "must be packed, of rank 1 and 4 elements");
    for (int64_t i = 0; i < 4 && status == HUSK_OK; ++i) {
        husk_tensor number = husk_tensor_make(state->buffer, state->dtype, 0, NULL);
        number.offset = state->offset + i;
        status = husk__list_check_number(queue, &given->list, &number, "state", scope);
    }
    return status == HUSK_OK ? husk__refuse_overlap(state, "state", given->found, "found", scope) : status;
}

static husk_status validate(husk_queue *queue, const husk_grad_scale_params *params, const arguments *given,
                            const husk__scope *scope)
{
    if (!isfinite(params->factor))
        return husk__reject(scope, "params", "factor is not finite");
    if (!(params->limit >= 0))
        return husk__reject(scope, "params", "limit is %g, must not be negative", (double)params->limit);
    if (params->divides && !given->by)
        return husk__reject(scope, "by", "is NULL, but params.divides is set");
    if (!(params->growth >= 1 && params->growth < INFINITY))
        return husk__reject(scope, "params", "growth is %g, must be at least 1", (double)params->growth);
    if (!(params->backoff > 0 && params->backoff <= 1))
        return husk__reject(scope, "params", "backoff is %g, must be more than 0 and at most 1",
                            (double)params->backoff);
    if (params->interval == 0)
        return husk__reject(scope, "params", "interval is 0, must be at least 1");
    husk_status status = husk__list_check(queue, &given->list, "tensors", true, scope);
    if (status == HUSK_OK && given->by)
        status = husk__list_check_number(queue, &given->list, given->by, "by", scope);
    if (status == HUSK_OK && given->found)
        status = husk__list_check_number(queue, &given->list, given->found, "found", scope);
    if (status == HUSK_OK && given->by && given->found)
        status = husk__refuse_overlap(given->found, "found", given->by, "by", scope);
    if (status == HUSK_OK && given->state)
        status = check_state(queue, given, scope);
    return status;
}

static husk_status enqueue(husk_queue *queue, const char *variant, const arguments *given, const husk__scope *scope)
{
    const problem own = husk__grad_list_resolve(&given->list, given->found != NULL);
    const husk__preference preference = {.variant = variant};
    return husk__plan_immediate(queue, &husk__op_grad_scale, &own, &preference, given, scope);
}

husk_status husk_grad_scale(husk_queue *queue, const husk_grad_scale_params *params, const husk_tensor *const *tensors,
                            size_t count, const husk_tensor *by, const husk_tensor *found)
{
    const husk_grad_scale_params defaults = husk_grad_scale_defaults();
    husk__scope scope;
    husk_grad_scale_params options;
    arguments given = {.list = {tensors, count}, .by = by, .found = found};
    husk_status status = husk__call_begin(queue, "husk_grad_scale", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&options, sizeof options, "husk_grad_scale_defaults", params ? params : &defaults,
                                   &scope);
    given.state = status == HUSK_OK ? options.state : NULL;
    if (status == HUSK_OK)
        status = validate(queue, &options, &given, &scope);
    if (status != HUSK_OK)
        return status;
    given.factor = options.factor;
    given.limit = options.limit > 0 ? options.limit : INFINITY;
    given.divides = options.divides != 0;
    given.keeps = options.keeps != 0;
    given.growth = options.growth;
    given.backoff = options.backoff;
    given.interval = options.interval;
    return enqueue(queue, options.variant, &given, &scope);
}

// One small tensor, that stays what it is.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const int64_t shape[] = {64};
    husk_buffer *buffer;
    husk_status status = husk_buffer_create(husk_queue_context(queue), 128 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 1, shape), found = {.buffer = buffer, .offset = 64};
    const husk_tensor *const tensors[] = {&x};
    const arguments given = {.list = {tensors, 1}, .found = &found, .factor = 1.0f, .limit = INFINITY};
    status = enqueue(queue, NULL, &given, scope);
    husk_buffer_release(buffer);
    return status;
}
