// SPDX-License-Identifier: MIT
// Scaled dot-product attention: validate -> resolve -> choose -> launch. Kernels: cl/attention/*.cl.
#include <stdio.h>
#include <stdlib.h>

#include <husk/context.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/attention/problem.h"
#include "ops/attention/totals.h"

typedef husk__attention_problem problem;

enum { BATCH = HUSK__ATTENTION_BATCH, HEADS, LENGTH, COLUMNS };

typedef husk__attention_arguments arguments;

// ---- what variants share ----

typedef struct state {
    const husk__kernel *kernel;
    int64_t unit_rows, chunk, step; // blocks
    husk__attention_totals totals;  // workgroup
    husk__range range;
} state;

static state *make_state(husk_plan *plan, int64_t rows)
{
    const problem *own = plan->problem;
    state *made = calloc(1, sizeof *made);
    plan->state = made; // freed with the plan
    if (made) {
        const int64_t heads = own->q.shape[BATCH] * own->q.shape[HEADS];
        made->unit_rows = rows;
        made->range = (husk__range){{(size_t)husk__divide_up(own->q.shape[LENGTH], rows), (size_t)heads, 1}, {1, 1, 1}};
    }
    return made;
}

static husk__arg *write_args(const problem *own, const arguments *given, husk__arg *end)
{
    end = husk__attention_write_outputs(own, given, end);
    return husk__attention_write_args(own, &given->inputs, end);
}

// ---- blocks: CPU devices ----

static husk_status prepare_blocks(husk_plan *plan, const husk__scope *scope)
{
    const problem *own = plan->problem;
    const husk_device_traits *traits = husk_context_traits(plan->context);
    const husk__configuration *configuration = plan->configuration;
    const husk__attention_tile tile = husk__attention_tile_of(configuration, traits, own->q.dtype);
    const int64_t padded = husk__attention_padded(&tile, own->v.shape[COLUMNS]);
    const int64_t heads = own->q.shape[BATCH] * own->q.shape[HEADS];
    const int64_t keys = own->k.shape[LENGTH];
    const int64_t chunk = husk__attention_chunk(&tile, keys, own->q.shape[COLUMNS], padded, padded / tile.columns);
    const int64_t room = keys <= chunk ? INT32_MAX : husk__attention_room(&tile, padded);
    state *made = make_state(plan, husk__attention_unit_rows(&tile, traits, heads, own->q.shape[LENGTH], room));
    if (!made)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    made->chunk = chunk;
    made->step = husk__attention_share(chunk, configuration->values[HUSK__ATTENTION_LINE], tile.columns);
    char options[192];
    snprintf(options, sizeof options, "%s %s", husk__attention_options(own->q.dtype), configuration->options);
    return husk__kernel_get(plan->context, "attention/blocks.cl", options, "husk_attention_blocks", &made->kernel,
                            scope);
}

static husk_status run_blocks(const husk_plan *plan, husk_queue *queue, const void *untyped,
                              const husk__scratch *scratch, const husk__scope *scope)
{
    const state *made = plan->state;
    husk__arg list[HUSK__ATTENTION_OUTPUT_ARGS + HUSK__ATTENTION_ARGS + 3];
    husk__arg *end = write_args(plan->problem, untyped, list);
    (void)scratch;
    *end++ = HUSK__ARG_I32(made->unit_rows);
    *end++ = HUSK__ARG_I32(made->chunk);
    *end++ = HUSK__ARG_I32(made->step);
    return husk__launch(queue, made->kernel, &made->range, list, (size_t)(end - list), scope);
}

static const husk__variant blocks = {
    .name = "blocks",
    .family = HUSK__FAMILY_CPU,
    .configurations = husk__attention_blocks_menu,
    .configuration_count = HUSK__ATTENTION_BLOCKS,
    .supports = husk__attention_supports_blocks,
    .cost = husk__attention_cost_blocks,
    .prepare = prepare_blocks,
    .run = run_blocks,
};

// ---- workgroup: GPUs ----

static husk__range workgroup_range(const problem *own, int64_t side)
{
    const int64_t block = 4 * side, heads = own->q.shape[BATCH] * own->q.shape[HEADS];
    return (husk__range){{(size_t)(husk__divide_up(own->q.shape[LENGTH], block) * heads), // ATTENTION_PLACE
                          (size_t)husk__divide_up(husk__max_i64(own->v.shape[COLUMNS], 1), block), 1},
                         {(size_t)(side * side), 1, 1}};
}

static husk__attention_totals workgroup_totals(const problem *own, const husk_device_traits *traits,
                                               const husk__range *range, int64_t side)
{
    return husk__attention_totals_of(traits, range, husk__divide_up(own->k.shape[LENGTH], 4 * side));
}

static uint64_t workspace_workgroup(const husk__candidate *candidate)
{
    enum { OF_ITEM = 24 }; // TOTALS of cl/attention/workgroup.cl
    const problem *own = candidate->problem;
    const int64_t side = candidate->configuration->values[HUSK__ATTENTION_SIDE];
    const husk__range range = workgroup_range(own, side);
    const husk__attention_totals totals = workgroup_totals(own, candidate->traits, &range, side);
    return husk__attention_totals_bytes(&totals, &range, OF_ITEM * side * side, own->q.dtype);
}

static husk_status prepare_workgroup(husk_plan *plan, const husk__scope *scope)
{
    const problem *own = plan->problem;
    const int64_t side = plan->configuration->values[HUSK__ATTENTION_SIDE], block = 4 * side;
    state *made = make_state(plan, block);
    if (!made)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    made->range = workgroup_range(own, side);
    made->totals = workgroup_totals(own, husk_context_traits(plan->context), &made->range, side);
    char options[192];
    snprintf(options, sizeof options, "%s %s", husk__dtype_option(own->q.dtype), plan->configuration->options);
    return husk__kernel_get(plan->context, "attention/workgroup.cl", options, "husk_attention_workgroup", &made->kernel,
                            scope);
}

static husk_status run_workgroup(const husk_plan *plan, husk_queue *queue, const void *untyped,
                                 const husk__scratch *scratch, const husk__scope *scope)
{
    const state *made = plan->state;
    const problem *own = plan->problem;
    husk__arg list[HUSK__ATTENTION_OUTPUT_ARGS + HUSK__ATTENTION_ARGS + HUSK__ATTENTION_TOTALS_ARGS];
    husk__arg *end = write_args(own, untyped, list);
    return husk__attention_totals_launch(&made->totals, queue, made->kernel, &made->range, list, end, scratch,
                                         own->q.dtype, scope);
}

static const husk__variant workgroup = {
    .name = "workgroup",
    .family = HUSK__FAMILY_GPU,
    .configurations = husk__attention_workgroup_menu,
    .configuration_count = HUSK__ATTENTION_SIDES,
    .supports = husk__attention_supports_workgroup,
    .cost = husk__attention_cost_workgroup,
    .workspace = workspace_workgroup,
    .prepare = prepare_workgroup,
    .run = run_workgroup,
};

// ---- the operator ----

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static void write_case(const void *untyped, const void *untyped_run, husk__case *c)
{
    const problem *own = untyped;
    const arguments *given = untyped_run;
    husk__attention_begin_case(own, given ? &given->inputs : NULL, c);
    husk__case_precision(c, own->precision);
    if (own->log_sum_exp.rank > 0)
        husk__case_note(c, "with log_sum_exp");
}

static const husk__variant *const variants[] = {
    &blocks, &husk__attention_ranges, &workgroup, &husk__attention_tiled, &husk__attention_matrix, NULL};

const husk__op husk__op_attention = {
    .name = "attention",
    .problem_size = sizeof(problem),
    .variants = variants,
    .describe = husk__attention_describe,
    .prewarm = prewarm,
    .classify = husk__attention_classify,
    .write_case = write_case,
};

static husk_status check_outputs(const arguments *given, const husk__scope *scope)
{
    const husk_tensor *q = given->inputs.q, *y = given->y;
    const int64_t shape[] = {q->shape[BATCH], q->shape[HEADS], q->shape[LENGTH], given->inputs.v->shape[COLUMNS]};
    husk_status status = husk__attention_check_tensor(y, "y", q, shape, "q's, and v's columns", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(y, "y", scope);
    if (status == HUSK_OK && given->log_sum_exp)
        status = husk__attention_check_sums(given->log_sum_exp, q, scope);
    if (status == HUSK_OK && given->log_sum_exp)
        status = husk__tensor_check_distinct(given->log_sum_exp, "log_sum_exp", scope);
    return status;
}

static husk_status validate(husk_queue *queue, const husk_attention_params *params, const arguments *given,
                            const husk__scope *scope)
{
    const husk_tensor *const others[] = {given->inputs.q, given->inputs.k, given->inputs.v, given->inputs.mask};
    static const char *const names[] = {"q", "k", "v", "mask"};
    husk_status status = husk__attention_check(queue, params, &given->inputs, scope);
    if (status == HUSK_OK)
        status = check_outputs(given, scope);
    if (status == HUSK_OK)
        status = husk__attention_bind(queue, &given->inputs, scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, given->y, "y", scope);
    if (status == HUSK_OK && given->log_sum_exp)
        status = husk__tensor_bind(queue, given->log_sum_exp, "log_sum_exp", scope);
    for (int i = 0; i < 4 && status == HUSK_OK; ++i) {
        status = husk__refuse_overlap(given->y, "y", others[i], names[i], scope);
        if (status == HUSK_OK && given->log_sum_exp)
            status = husk__refuse_overlap(given->log_sum_exp, "log_sum_exp", others[i], names[i], scope);
    }
    if (status == HUSK_OK && given->log_sum_exp)
        status = husk__refuse_overlap(given->log_sum_exp, "log_sum_exp", given->y, "y", scope);
    return status;
}

static husk_status enqueue(husk_queue *queue, const husk_attention_params *params, const arguments *given,
                           const husk__scope *scope)
{
    problem own = husk__attention_resolve(husk_queue_context(queue), params, &given->inputs);
    husk__attention_resolve_tensor(&own.y, given->y);
    husk__attention_resolve_tensor(&own.log_sum_exp, given->log_sum_exp);
    if (husk__tensor_count(&own.y) == 0 && husk__tensor_count(&own.log_sum_exp) * own.log_sum_exp.rank == 0)
        return HUSK_OK;
    const husk_tensor *const operands[] = {given->inputs.q, given->inputs.k, given->inputs.v, given->inputs.mask,
                                           given->y};
    const husk__preference preference = husk__preference_of(params->variant, 0, operands, 5);
    return husk__plan_immediate(queue, &husk__op_attention, &own, &preference, given, scope);
}

husk_status husk_attention(husk_queue *queue, const husk_attention_params *params, const husk_tensor *q,
                           const husk_tensor *k, const husk_tensor *v, const husk_tensor *mask, const husk_tensor *y,
                           const husk_tensor *log_sum_exp)
{
    husk__scope scope;
    husk_attention_params options;
    husk_status status = husk__call_begin(queue, "husk_attention", &scope);
    if (status == HUSK_OK)
        status = husk__attention_read(&options, params, &scope);
    if (status != HUSK_OK)
        return status;
    const arguments given = {{q, k, v, mask, options.seed, options.offset, options.dropout}, y, log_sum_exp};
    status = validate(queue, &options, &given, &scope);
    return status == HUSK_OK ? enqueue(queue, &options, &given, &scope) : status;
}

// The device's programs, on two queries and on more.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    static const int64_t lengths[] = {2, 32};
    const husk_attention_params params = HUSK_ATTENTION_PARAMS(0);
    husk_buffer *buffer = NULL;
    husk_status status = husk_buffer_create(husk_queue_context(queue), 1024 * sizeof(float), &buffer, scope->error);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0] && status == HUSK_OK; ++i) {
        const int64_t shape[] = {1, 1, lengths[i], 16};
        const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 4, shape);
        husk_tensor y = x;
        y.offset = 512;
        const arguments given = {{.q = &x, .k = &x, .v = &x}, &y, NULL};
        status = enqueue(queue, &params, &given, scope);
    }
    husk_buffer_release(buffer);
    return status;
}
