// SPDX-License-Identifier: MIT
// Attention's gradients: validate -> resolve -> choose -> launch. Kernels: cl/attention/backward_*.cl.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <husk/context.h>

#include "base/checked.h"
#include "base/params.h"
#include "base/tensor.h"
#include "ops/attention/problem.h"
#include "ops/attention/totals.h"

enum { BATCH = HUSK__ATTENTION_BATCH, HEADS, LENGTH, COLUMNS };
// Gradients by number.
enum { BY_Q, BY_K, BY_V, GRADIENTS };
static const char *const gradient_names[GRADIENTS] = {"dq", "dk", "dv"};

// The forward problem, with log_sum_exp; y is forward's. Of rank 0: not wanted.
typedef struct problem {
    husk__attention_problem forward;
    bool adds;
    husk_tensor dy, gradient[GRADIENTS];
} problem;

typedef struct arguments {
    husk__attention_inputs inputs;
    const husk_tensor *y, *log_sum_exp, *dy, *gradient[GRADIENTS];
} arguments;

static void describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    husk__attention_describe(&own->forward, key);
    husk__key_i64(key, own->adds);
    husk__key_tensor(key, &own->dy);
    for (int i = 0; i < GRADIENTS; ++i)
        husk__key_tensor(key, &own->gradient[i]);
}

static void classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    husk__attention_classify(&own->forward, text);
    for (int i = 0; i < GRADIENTS; ++i)
        if (own->gradient[i].rank)
            husk__text_format(text, " %s", gradient_names[i]);
}

static void write_case(const void *untyped, const void *untyped_run, husk__case *c)
{
    const problem *own = untyped;
    const arguments *given = untyped_run;
    husk__attention_begin_case(&own->forward, given ? &given->inputs : NULL, c);
    husk__case_word(c, "dir", "bwd", NULL);
    husk__case_tensor(c, "dy", &own->dy);
    for (int i = 0; i < GRADIENTS; ++i) {
        if (own->gradient[i].rank > 0)
            husk__case_tensor(c, gradient_names[i], &own->gradient[i]);
        else
            husk__case_note(c, "without %s", gradient_names[i]);
    }
    if (own->adds)
        husk__case_note(c, "accumulates");
}

// ---- what the two variants share ----

// One of the two passes.
typedef struct pass {
    const husk__kernel *kernel;    // NULL: not wanted
    int64_t unit_rows, chunk;      // blocks
    husk__attention_totals totals; // workgroup
    husk__range range;
} pass;

typedef struct state {
    pass queries, keys;
} state;

static bool has_elements(const husk_tensor *tensor)
{
    return tensor->rank > 0 && husk__tensor_count(tensor) > 0;
}

static husk__arg *write_saved(const problem *own, const arguments *given, husk__arg *end)
{
    end = husk__attention_write_tensor(&own->forward.y, given->y, end);
    end = husk__attention_write_tensor(&own->dy, given->dy, end);
    end = husk__attention_write_tensor(&own->forward.log_sum_exp, given->log_sum_exp, end);
    end = husk__attention_write_args(&own->forward, &given->inputs, end);
    *end++ = HUSK__ARG_ACC(own->forward.q.dtype, husk__attention_scale(&own->forward));
    *end++ = HUSK__ARG_I32(own->adds);
    return end;
}

// scratch: NULL for blocks.
static husk_status launch(const pass *which, const husk__scratch *scratch, husk_dtype dtype, husk_queue *queue,
                          husk__arg *list, husk__arg *end, const husk__scope *scope)
{
    if (scratch)
        return husk__attention_totals_launch(&which->totals, queue, which->kernel, &which->range, list, end, scratch,
                                             dtype, scope);
    *end++ = HUSK__ARG_I32(which->unit_rows);
    *end++ = HUSK__ARG_I32(which->chunk);
    return husk__launch(queue, which->kernel, &which->range, list, (size_t)(end - list), scope);
}

static husk_status run_passes(const husk_plan *plan, const husk__scratch *scratch, husk_queue *queue,
                              const arguments *given, const husk__scope *scope)
{
    const problem *own = plan->problem;
    const state *made = plan->state;
    const husk_dtype dtype = own->forward.q.dtype;
    husk__arg list[5 * HUSK__ATTENTION_TENSOR_ARGS + 2 + HUSK__ATTENTION_ARGS + 2 + HUSK__ATTENTION_TOTALS_ARGS];
    husk_status status = HUSK_OK;
    if (made->queries.kernel) {
        husk__arg *end = husk__attention_write_tensor(&own->gradient[BY_Q], given->gradient[BY_Q], list);
        status = launch(&made->queries, scratch, dtype, queue, list, write_saved(own, given, end), scope);
    }
    if (made->keys.kernel && status == HUSK_OK) {
        husk__arg *end = husk__attention_write_tensor(&own->gradient[BY_K], given->gradient[BY_K], list);
        end = husk__attention_write_tensor(&own->gradient[BY_V], given->gradient[BY_V], end);
        *end++ = HUSK__ARG_I32(has_elements(&own->gradient[BY_K]));
        *end++ = HUSK__ARG_I32(has_elements(&own->gradient[BY_V]));
        status = launch(&made->keys, scratch, dtype, queue, list, write_saved(own, given, end), scope);
    }
    return status;
}

static state *make_state(husk_plan *plan, int64_t query_rows, int64_t key_rows)
{
    const problem *own = plan->problem;
    const husk_tensor *q = &own->forward.q, *k = &own->forward.k;
    state *made = calloc(1, sizeof *made);
    plan->state = made; // freed with the plan
    if (!made)
        return NULL;
    made->queries.unit_rows = query_rows;
    made->queries.range = (husk__range){
        {(size_t)husk__divide_up(q->shape[LENGTH], query_rows), (size_t)(q->shape[BATCH] * q->shape[HEADS]), 1},
        {1, 1, 1}};
    made->keys.unit_rows = key_rows;
    made->keys.range = (husk__range){
        {(size_t)husk__divide_up(k->shape[LENGTH], key_rows), (size_t)(k->shape[BATCH] * k->shape[HEADS]), 1},
        {1, 1, 1}};
    return made;
}

static husk_status get_kernels(husk_plan *plan, const char *file, const char *queries, const char *keys,
                               const husk__scope *scope)
{
    const problem *own = plan->problem;
    state *made = plan->state;
    char options[192];
    snprintf(options, sizeof options, "%s %s", husk__attention_options(own->dy.dtype), plan->configuration->options);
    husk_status status = HUSK_OK;
    if (has_elements(&own->gradient[BY_Q]))
        status = husk__kernel_get(plan->context, file, options, queries, &made->queries.kernel, scope);
    if (status == HUSK_OK && (has_elements(&own->gradient[BY_K]) || has_elements(&own->gradient[BY_V])))
        status = husk__kernel_get(plan->context, file, options, keys, &made->keys.kernel, scope);
    return status;
}

// ---- blocks: CPU devices ----

static husk_status prepare_blocks(husk_plan *plan, const husk__scope *scope)
{
    const problem *own = plan->problem;
    const husk_tensor *q = &own->forward.q, *k = &own->forward.k;
    const husk_device_traits *traits = husk_context_traits(plan->context);
    const husk__attention_tile tile = husk__attention_tile_of(plan->configuration, traits, q->dtype);
    const int64_t d = q->shape[COLUMNS], e = own->forward.v.shape[COLUMNS];
    const int64_t wide_d = husk__attention_padded(&tile, d), wide_e = husk__attention_padded(&tile, e);
    state *made = make_state(plan,
                             husk__attention_unit_rows(&tile, traits, q->shape[BATCH] * q->shape[HEADS],
                                                       q->shape[LENGTH], husk__attention_room(&tile, wide_d)),
                             husk__attention_unit_rows(&tile, traits, k->shape[BATCH] * k->shape[HEADS],
                                                       k->shape[LENGTH], husk__attention_room(&tile, wide_d + wide_e)));
    if (!made)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    made->queries.chunk = husk__attention_chunk(&tile, k->shape[LENGTH], d + e, wide_d, wide_d / tile.columns);
    made->keys.chunk =
        husk__attention_chunk(&tile, q->shape[LENGTH], d + e, wide_d + wide_e, (wide_d + wide_e) / tile.columns);
    return get_kernels(plan, "attention/backward_blocks.cl", "husk_attention_backward_blocks_queries",
                       "husk_attention_backward_blocks_keys", scope);
}

static husk_status run_blocks(const husk_plan *plan, husk_queue *queue, const void *untyped,
                              const husk__scratch *scratch, const husk__scope *scope)
{
    (void)scratch;
    return run_passes(plan, NULL, queue, untyped, scope);
}

static const husk__variant blocks = {
    .name = "blocks",
    .family = HUSK__FAMILY_CPU,
    .configurations = husk__attention_backward_blocks_menu,
    .configuration_count = HUSK__ATTENTION_BLOCKS,
    .supports = husk__attention_supports_blocks, // the forward problem is the problem's first member
    .cost = husk__attention_cost_blocks,
    .prepare = prepare_blocks,
    .run = run_blocks,
};

// ---- workgroup: GPUs ----

// What forward's supports, and as many work-groups as the passes over queries and over keys have.
static bool supports_workgroup(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__attention_problem *forward = candidate->problem; // the problem's first member
    const int64_t side = candidate->configuration->values[HUSK__ATTENTION_SIDE], d = forward->q.shape[COLUMNS];
    const int64_t column_blocks = husk__divide_up(husk__max_i64(d, forward->v.shape[COLUMNS]), 4 * side);
    return husk__attention_supports_workgroup(candidate, reason) &&
           husk__attention_can_launch(&forward->q, 4 * side, husk__divide_up(d, 4 * side), side * side, reason) &&
           husk__attention_can_launch(&forward->k, 4 * side, column_blocks, side * side, reason);
}

// Work-groups of tiles of a side's rows, of all heads, and of columns: ATTENTION_PLACE of cl/lib/attention.clh.
static husk__range workgroup_range(const husk_tensor *rows, int64_t columns, int64_t side)
{
    const int64_t heads = rows->shape[BATCH] * rows->shape[HEADS];
    return (husk__range){{(size_t)(husk__divide_up(rows->shape[LENGTH], 4 * side) * heads),
                          (size_t)husk__divide_up(husk__max_i64(columns, 1), 4 * side), 1},
                         {(size_t)(side * side), 1, 1}};
}

// What the passes add up: dq over tiles of keys; dk and dv over tiles of the queries of all heads of a group.
static void set_workgroup(state *made, const problem *own, const husk_device_traits *traits, int64_t side)
{
    const husk_tensor *q = &own->forward.q, *k = &own->forward.k;
    const int64_t d = q->shape[COLUMNS], e = own->forward.v.shape[COLUMNS];
    const int64_t group = k->shape[HEADS] ? q->shape[HEADS] / k->shape[HEADS] : 0;
    made->queries.range = workgroup_range(q, d, side);
    made->queries.totals =
        husk__attention_totals_of(traits, &made->queries.range, husk__divide_up(k->shape[LENGTH], 4 * side));
    made->keys.range = workgroup_range(k, husk__max_i64(d, e), side);
    made->keys.totals =
        husk__attention_totals_of(traits, &made->keys.range, husk__divide_up(q->shape[LENGTH], 4 * side) * group);
}

// One pass after the other, in the same place.
static uint64_t workspace_workgroup(const husk__candidate *candidate)
{
    const problem *own = candidate->problem;
    const int64_t side = candidate->configuration->values[HUSK__ATTENTION_SIDE], items = side * side;
    state made = {0};
    set_workgroup(&made, own, candidate->traits, side);
    const uint64_t queries =
        husk__attention_totals_bytes(&made.queries.totals, &made.queries.range, 16 * items, own->dy.dtype);
    const uint64_t keys = // of dk and of dv
        husk__attention_totals_bytes(&made.keys.totals, &made.keys.range, 32 * items, own->dy.dtype);
    return queries > keys ? queries : keys;
}

static husk_status prepare_workgroup(husk_plan *plan, const husk__scope *scope)
{
    const int64_t side = plan->configuration->values[HUSK__ATTENTION_SIDE];
    state *made = make_state(plan, 4 * side, 4 * side);
    if (!made)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    set_workgroup(made, plan->problem, husk_context_traits(plan->context), side);
    return get_kernels(plan, "attention/backward_workgroup.cl", "husk_attention_backward_workgroup_queries",
                       "husk_attention_backward_workgroup_keys", scope);
}

static husk_status run_workgroup(const husk_plan *plan, husk_queue *queue, const void *untyped,
                                 const husk__scratch *scratch, const husk__scope *scope)
{
    return run_passes(plan, scratch, queue, untyped, scope);
}

static const husk__variant workgroup = {
    .name = "workgroup",
    .family = HUSK__FAMILY_GPU,
    .configurations = husk__attention_workgroup_menu,
    .configuration_count = HUSK__ATTENTION_SIDES,
    .supports = supports_workgroup,
    .cost = husk__attention_cost_workgroup,
    .workspace = workspace_workgroup,
    .prepare = prepare_workgroup,
    .run = run_workgroup,
};

// ---- the operator ----

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&blocks, &workgroup, NULL};

extern const husk__op husk__op_attention_backward;
const husk__op husk__op_attention_backward = {
    .name = "attention_backward",
    .problem_size = sizeof(problem),
    .variants = variants,
    .describe = describe,
    .prewarm = prewarm,
    .classify = classify,
    .write_case = write_case,
};

static husk_status check_tensors(const arguments *given, const husk__scope *scope)
{
    const husk_tensor *q = given->inputs.q;
    const husk_tensor *const of[GRADIENTS] = {q, given->inputs.k, given->inputs.v};
    static const char *const as[GRADIENTS] = {"as q", "as k", "as v"};
    const int64_t shape[] = {q->shape[BATCH], q->shape[HEADS], q->shape[LENGTH], given->inputs.v->shape[COLUMNS]};
    husk_status status = husk__attention_check_tensor(given->y, "y", q, shape, "q's, and v's columns", scope);
    if (status == HUSK_OK)
        status = husk__attention_check_sums(given->log_sum_exp, q, scope);
    if (status == HUSK_OK)
        status = husk__attention_check_tensor(given->dy, "dy", q, shape, "as y", scope);
    bool is_any = false;
    for (int i = 0; i < GRADIENTS && status == HUSK_OK; ++i) {
        if (!given->gradient[i])
            continue;
        is_any = true;
        status = husk__attention_check_tensor(given->gradient[i], gradient_names[i], q, of[i]->shape, as[i], scope);
        if (status == HUSK_OK)
            status = husk__tensor_check_distinct(given->gradient[i], gradient_names[i], scope);
    }
    if (status == HUSK_OK && !is_any)
        return husk__reject(scope, "dq", "is NULL, and so are dk and dv: there is nothing to compute");
    return status;
}

static husk_status validate(husk_queue *queue, const husk_attention_params *params, const arguments *given,
                            const husk__scope *scope)
{
    const husk_tensor *const read[] = {given->inputs.q, given->inputs.k,    given->inputs.v, given->inputs.mask,
                                       given->y,        given->log_sum_exp, given->dy};
    static const char *const names[] = {"q", "k", "v", "mask", "y", "log_sum_exp", "dy"};
    husk_status status = husk__attention_check(queue, params, &given->inputs, scope);
    if (status == HUSK_OK)
        status = check_tensors(given, scope);
    if (status == HUSK_OK)
        status = husk__attention_bind(queue, &given->inputs, scope);
    for (int i = 4; i < 7 && status == HUSK_OK; ++i)
        status = husk__tensor_bind(queue, read[i], names[i], scope);
    for (int i = 0; i < GRADIENTS && status == HUSK_OK; ++i)
        if (given->gradient[i])
            status = husk__tensor_bind(queue, given->gradient[i], gradient_names[i], scope);
    for (int i = 0; i < GRADIENTS && status == HUSK_OK; ++i) {
        if (!given->gradient[i])
            continue;
        for (int r = 0; r < 7 && status == HUSK_OK; ++r)
            status = husk__refuse_overlap(given->gradient[i], gradient_names[i], read[r], names[r], scope);
        for (int o = 0; o < i && status == HUSK_OK; ++o)
            status = husk__refuse_overlap(given->gradient[i], gradient_names[i], given->gradient[o], gradient_names[o],
                                          scope);
    }
    return status;
}

static husk_status enqueue(husk_queue *queue, const husk_attention_params *params, const arguments *given,
                           const husk__scope *scope)
{
    problem own = {.forward = husk__attention_resolve(husk_queue_context(queue), params, &given->inputs),
                   .adds = (params->accumulate & HUSK_ACCUMULATE_INPUTS) != 0};
    bool is_any = false;
    husk__attention_resolve_tensor(&own.forward.y, given->y);
    husk__attention_resolve_tensor(&own.forward.log_sum_exp, given->log_sum_exp);
    husk__attention_resolve_tensor(&own.dy, given->dy);
    for (int i = 0; i < GRADIENTS; ++i) {
        husk__attention_resolve_tensor(&own.gradient[i], given->gradient[i]);
        is_any = is_any || has_elements(&own.gradient[i]);
    }
    if (!is_any)
        return HUSK_OK;
    const husk_tensor *const operands[] = {
        given->inputs.q, given->inputs.k,       given->inputs.v,       given->inputs.mask,   given->y,
        given->dy,       given->gradient[BY_Q], given->gradient[BY_K], given->gradient[BY_V]};
    const husk__preference preference = husk__preference_of(params->variant, 0, operands, 9);
    return husk__plan_immediate(queue, &husk__op_attention_backward, &own, &preference, given, scope);
}

husk_status husk_attention_backward(husk_queue *queue, const husk_attention_params *params, const husk_tensor *q,
                                    const husk_tensor *k, const husk_tensor *v, const husk_tensor *mask,
                                    const husk_tensor *y, const husk_tensor *log_sum_exp, const husk_tensor *dy,
                                    const husk_tensor *dq, const husk_tensor *dk, const husk_tensor *dv)
{
    husk__scope scope;
    husk_attention_params options;
    husk_status status = husk__call_begin(queue, "husk_attention_backward", &scope);
    if (status == HUSK_OK)
        status = husk__attention_read(&options, params, &scope);
    if (status != HUSK_OK)
        return status;
    const arguments given = {
        {q, k, v, mask, options.seed, options.offset, options.dropout}, y, log_sum_exp, dy, {dq, dk, dv}};
    status = validate(queue, &options, &given, &scope);
    return status == HUSK_OK ? enqueue(queue, &options, &given, &scope) : status;
}

// The device's program, on two queries.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const int64_t shape[] = {1, 1, 2, 16};
    const husk_attention_params params = HUSK_ATTENTION_PARAMS(0);
    husk_buffer *buffer;
    husk_status status = husk_buffer_create(husk_queue_context(queue), 160 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 4, shape);
    const husk_tensor sums = husk_tensor_make(buffer, HUSK_F32, 3, shape);
    husk_tensor gradient[GRADIENTS] = {x, x, x};
    for (int i = 0; i < GRADIENTS; ++i)
        gradient[i].offset = 32 * (i + 1);
    const arguments given = {{.q = &x, .k = &x, .v = &x}, &x, &sums, &x, {&gradient[0], &gradient[1], &gradient[2]}};
    status = enqueue(queue, &params, &given, scope);
    husk_buffer_release(buffer);
    return status;
}
