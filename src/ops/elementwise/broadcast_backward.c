// SPDX-License-Identifier: MIT
// Gradients by two inputs that may have been broadcast: problem, variants, call.
#include "ops/elementwise/broadcast_backward.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/tensor.h"
#include "runtime/sum.h"
#include "select/grid.h"

typedef husk__broadcast_backward problem;
typedef husk__broadcast_arguments arguments;
typedef husk__broadcast_recipe recipe;

enum { INPUTS = HUSK__BROADCAST_INPUTS };

void husk__broadcast_describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    husk__key_i64(key, own->adds);
    husk__key_tensor(key, &own->dy);
    for (int i = 0; i < INPUTS; ++i) {
        husk__key_i64(key, own->recipes[i].kind);
        husk__key_f32(key, own->recipes[i].number);
        husk__key_i64(key, own->is_wanted[i]);
        husk__key_tensor(key, &own->read[i]);
        husk__key_tensor(key, &own->gradient[i]);
    }
}

void husk__broadcast_classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    husk__text_format(text, " %s %s", husk_dtype_name(own->dy.dtype), own->function);
    for (int i = 0; i < INPUTS; ++i)
        if (own->is_wanted[i])
            husk__class_size(text, i == HUSK__BY_A ? "a" : "b", husk__tensor_count(&own->gradient[i]));
    husk__class_size(text, "count", husk__tensor_count(&own->dy));
}

void husk__broadcast_end_case(const husk__broadcast_backward *own, husk__case *c)
{
    static const char *const inputs[HUSK__BROADCAST_INPUTS] = {"the first input", "the second"};
    static const char *const gradients[HUSK__BROADCAST_INPUTS] = {"da", "db"};
    husk__case_dtype(c, own->dy.dtype);
    husk__case_word(c, "dir", "bwd", NULL);
    husk__case_tensor(c, "dy", &own->dy);
    for (int i = 0; i < HUSK__BROADCAST_INPUTS; ++i) {
        if (own->read[i].rank > 0)
            husk__case_tensor(c, inputs[i], &own->read[i]);
        if (own->is_wanted[i])
            husk__case_tensor(c, gradients[i], &own->gradient[i]);
        else
            husk__case_note(c, "without %s", gradients[i]);
    }
    if (own->adds)
        husk__case_note(c, "accumulates");
}

// ---- what the two variants share ----

typedef struct state {
    husk__map map[INPUTS]; // for those not broadcast
    husk__sum sum[INPUTS]; // for those that are
} state;

// y, u, v, w of the gradient by one input.
static void list_tensors(const problem *own, int by, const husk_tensor *list[HUSK__WALK_TENSORS])
{
    const recipe *how = &own->recipes[by];
    list[HUSK__WALK_Y] = &own->gradient[by];
    list[HUSK__WALK_U] = &own->dy;
    list[HUSK__WALK_V] = how->v >= 0 ? &own->read[how->v] : NULL;
    list[HUSK__WALK_W] = how->w >= 0 ? &own->read[how->w] : NULL;
}

static husk__sum make_sum(const problem *own, int by)
{
    const husk_tensor *list[HUSK__WALK_TENSORS];
    list_tensors(own, by, list);
    return husk__sum_make(own->dy.rank, own->dy.shape, list);
}

static bool is_summed(const problem *own, int by)
{
    const int64_t count = husk__tensor_count(&own->gradient[by]);
    return own->is_wanted[by] && count != husk__tensor_count(&own->dy) && count > 0;
}

static uint64_t workspace(const husk__candidate *candidate)
{
    uint64_t bytes = 0;
    for (int i = 0; i < INPUTS; ++i)
        if (is_summed(candidate->problem, i)) {
            const husk__sum sum = make_sum(candidate->problem, i);
            bytes += husk__sum_workspace(&sum);
        }
    return bytes;
}

enum { MINIMUM = 65536 }; // elements that a work-group is worth launching for

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const problem *own = plan->problem;
    const int64_t items = husk__grid_items(plan->configuration);
    state *made = calloc(1, sizeof *made);
    if (!made)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = made; // freed with the plan
    char file[64], kernel[64], options[128];
    snprintf(file, sizeof file, "elementwise/%s_%s.cl", plan->op->name, plan->variant->name);
    snprintf(kernel, sizeof kernel, "husk_%s_%s", plan->op->name, plan->variant->name);
    snprintf(options, sizeof options, "%s %s%s", husk__dtype_option(own->dy.dtype), plan->configuration->options,
             own->options);
    husk_status status = HUSK_OK;
    for (int i = 0; i < INPUTS && status == HUSK_OK; ++i) {
        if (is_summed(own, i)) {
            made->sum[i] = make_sum(own, i);
            status = husk__sum_prepare(plan->context, file, options, kernel, items, &made->sum[i], scope);
        } else if (own->is_wanted[i]) {
            const husk_tensor *list[HUSK__WALK_TENSORS];
            list_tensors(own, i, list);
            made->map[i].walk = husk__walk_make(own->dy.rank, own->dy.shape, list, HUSK__WALK_Y);
            status = items == 1
                         ? husk__map_prepare_vector(plan->context, file, options, kernel, MINIMUM,
                                                    3 * husk_dtype_size(own->dy.dtype), &made->map[i], scope)
                         : husk__map_prepare_grid(plan->context, file, options, kernel, items, &made->map[i], scope);
        }
    }
    return status;
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const problem *own = plan->problem;
    const state *made = plan->state;
    const arguments *given = untyped;
    husk_status status = HUSK_OK;
    uint64_t at = 0;
    for (int i = 0; i < INPUTS && status == HUSK_OK; ++i) {
        const recipe *how = &own->recipes[i];
        const husk__map_run call = {.y = given->gradient[i],
                                    .u = given->dy,
                                    .v = how->v >= 0 ? given->read[how->v] : NULL,
                                    .w = how->w >= 0 ? given->read[how->w] : NULL,
                                    .adds = own->adds,
                                    .kind = how->kind,
                                    .numbers = {how->number}};
        if (is_summed(own, i)) {
            status = husk__sum_launch(&made->sum[i], queue, &call, scratch->buffer, at, scope);
            at += husk__sum_workspace(&made->sum[i]);
        } else if (own->is_wanted[i]) {
            status = husk__map_launch(&made->map[i], queue, &call, scope);
        }
    }
    return status;
}

static const husk__configuration vector_menu[] = {{.name = "1", .options = "", .values = {1}}};

static const husk__variant vector = {
    .name = "vector",
    .family = HUSK__FAMILY_CPU,
    .configurations = vector_menu,
    .configuration_count = 1,
    .workspace = workspace,
    .prepare = prepare,
    .run = run,
};

static const husk__variant grid = {
    HUSK__GRID_VARIANT,
    .workspace = workspace,
    .prepare = prepare,
    .run = run,
};

const husk__variant *const husk__broadcast_variants[] = {&vector, &grid, NULL};

// ---- the call ----

static bool is_read(const problem *own, int32_t number)
{
    for (int i = 0; i < INPUTS; ++i)
        if (own->recipes[i].v == number || own->recipes[i].w == number)
            return true;
    return false;
}

static husk_tensor bare(const husk_tensor *tensor)
{
    husk_tensor made = *tensor;
    husk__tensor_bare(&made);
    return made;
}

static husk_status call(husk_queue *queue, const husk__op *op, const husk__preference *preference, problem *own,
                        const arguments *given, const husk__scope *scope)
{
    own->dy = bare(given->dy);
    for (int i = 0; i < INPUTS; ++i) {
        if (is_read(own, i))
            own->read[i] = bare(given->read[i]);
        own->is_wanted[i] = given->gradient[i] != NULL;
        if (own->is_wanted[i])
            own->gradient[i] = bare(given->gradient[i]);
    }
    return husk__plan_immediate(queue, op, own, preference, given, scope);
}

husk_status husk__broadcast_call(husk_queue *queue, const husk__op *op, const char *variant, problem own,
                                 const arguments *given, const husk__scope *scope)
{
    const husk_tensor *const operands[] = {given->read[0], given->read[1], given->dy, given->gradient[HUSK__BY_A],
                                           given->gradient[HUSK__BY_B]};
    const husk__preference preference = husk__preference_of(variant, 0, operands, 5);
    return call(queue, op, &preference, &own, given, scope);
}

husk_status husk__broadcast_prewarm(husk_queue *queue, const husk__op *op, problem own, const husk__scope *scope)
{
    const int64_t shape[] = {64};
    husk_buffer *buffer;
    husk_status status = husk_buffer_create(husk_queue_context(queue), 192 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor dy = husk_tensor_make(buffer, HUSK_F32, 1, shape);
    const husk_tensor one = {.buffer = buffer, .offset = 64};
    husk_tensor other = dy;
    other.offset = 128;
    const arguments given = {&dy, {&dy, &dy}, {&other, &one}};
    const husk__preference preference = {0};
    status = call(queue, op, &preference, &own, &given, scope);
    husk_buffer_release(buffer);
    return status;
}
