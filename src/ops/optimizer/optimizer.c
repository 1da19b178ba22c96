// SPDX-License-Identifier: MIT
// Steps of optimizers: validate -> resolve -> choose -> launch. Kernels: cl/optimizer/*.cl.
#include <husk/ops/optimizer.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/params.h"
#include "base/tensor.h"
#include "select/grid.h"
#include "select/plan.h"

// ---- the problem: what changes from step to step is the run's, not the plan's ----

// The same numbers as in cl/lib/optimizer.clh.
enum { FLAG_FIRST = 1, FLAG_SECOND = 2, FLAG_THIRD = 4, FLAG_NESTEROV = 8 };

typedef struct problem {
    int64_t count;
    husk_dtype gradient, copy; // copy: f32 where there is none
} problem;

typedef struct arguments {
    const husk_tensor *g, *w, *first, *second, *third, *copy, *by, *skip, *skipped;
    int32_t kind, flags, divides;
    double rate, shrink, decay, keep, add, keep2, add2, scale, epsilon, number;
} arguments;

static void describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    husk__key_i64(key, own->count);
    husk__key_i64(key, own->gradient);
    husk__key_i64(key, own->copy);
}

static void classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    husk__text_format(text, " %s %s", husk_dtype_name(own->gradient), husk_dtype_name(own->copy));
    husk__class_size(text, "count", own->count);
}

// What a run does is in its arguments. adamw without decay is adam.
static void write_case(const void *untyped, const void *untyped_run, husk__case *c)
{
    const problem *own = untyped;
    const arguments *given = untyped_run;
    husk__case_begin(c, "optimizer");
    husk__case_size(c, "count", own->count);
    if (given) {
        const bool is_adamw = given->kind == HUSK_OPTIMIZER_ADAM && given->shrink != 1.0;
        const husk_optimizer_kind kind = is_adamw ? HUSK_OPTIMIZER_ADAMW : (husk_optimizer_kind)given->kind;
        husk__case_word(c, "kind", husk_optimizer_kind_name(kind), husk_optimizer_kind_name(HUSK_OPTIMIZER_ADAM));
        if (kind == HUSK_OPTIMIZER_SGD && !(given->flags & FLAG_FIRST))
            husk__case_note(c, "without momentum");
        if (kind == HUSK_OPTIMIZER_RMSPROP && given->flags & FLAG_FIRST)
            husk__case_note(c, "with momentum");
        if (given->flags & FLAG_THIRD)
            husk__case_note(c, kind == HUSK_OPTIMIZER_RMSPROP ? "centered" : "amsgrad");
    } else {
        husk__case_note(c, "of any kind");
    }
    if (own->gradient == HUSK_F64)
        husk__case_dtype(c, own->gradient);
    else if (own->gradient != HUSK_F32)
        husk__case_note(c, "g is %s", husk_dtype_name(own->gradient));
    if (own->copy != HUSK_F32)
        husk__case_note(c, "a copy of %s", husk_dtype_name(own->copy));
}

// ---- launches ----

typedef struct launch {
    const husk__kernel *kernel;
    int64_t share;
    husk__range range;
} launch;

enum { VECTOR_MINIMUM = 16384, VECTOR_GROUPS = 4, GRID_GROUPS = 16 };

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const problem *what = plan->problem;
    const husk_device_traits *traits = husk_context_traits(plan->context);
    const int64_t items = husk__grid_items(plan->configuration), units = (int64_t)traits->compute_units;
    char options[64];
    launch *own = calloc(1, sizeof *own);
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = own; // freed with the plan
    const bool is_mixed = what->gradient == HUSK_F32 && what->copy != HUSK_F32;
    snprintf(options, sizeof options, "%s%s %s", husk__dtype_option(is_mixed ? what->copy : what->gradient),
             is_mixed ? " -DGRADIENT_F32" : "", plan->configuration->options);
    int64_t groups = husk__divide_up(what->count, items);
    if (items == 1) {
        own->share = husk__max_i64(VECTOR_MINIMUM, husk__divide_up(what->count, VECTOR_GROUPS * units));
        own->share = husk__round_up(own->share, 64);
        groups = husk__divide_up(what->count, own->share);
    } else if (groups > GRID_GROUPS * units) {
        groups = GRID_GROUPS * units;
    }
    own->range = (husk__range){{(size_t)groups, 1, 1}, {(size_t)items, 1, 1}};
    return items == 1 ? husk__kernel_get(plan->context, "optimizer/vector.cl", options, "husk_optimizer_vector",
                                         &own->kernel, scope)
                      : husk__kernel_get(plan->context, "optimizer/grid.cl", options, "husk_optimizer_grid",
                                         &own->kernel, scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const problem *what = plan->problem;
    const launch *own = plan->state;
    const arguments *given = untyped;
    const husk_dtype dtype = what->gradient;
    (void)scratch;
    return HUSK__LAUNCH(
        queue, own->kernel, &own->range, scope, HUSK__ARG_TENSOR(given->g), HUSK__ARG_TENSOR(given->w),
        HUSK__ARG_TENSOR(given->first), HUSK__ARG_TENSOR(given->second), HUSK__ARG_TENSOR(given->third),
        HUSK__ARG_TENSOR(given->copy), HUSK__ARG_TENSOR(given->by), HUSK__ARG_TENSOR(given->skip),
        HUSK__ARG_TENSOR(given->skipped), HUSK__ARG_ACC(dtype, given->number), HUSK__ARG_ACC(dtype, log(given->keep)),
        HUSK__ARG_ACC(dtype, log(given->keep2)), HUSK__ARG_I32(given->divides), HUSK__ARG_I64(what->count),
        HUSK__ARG_I64(own->share), HUSK__ARG_I32(given->kind), HUSK__ARG_I32(given->flags),
        HUSK__ARG_ACC(dtype, given->rate), HUSK__ARG_ACC(dtype, given->shrink), HUSK__ARG_ACC(dtype, given->decay),
        HUSK__ARG_ACC(dtype, given->keep), HUSK__ARG_ACC(dtype, given->add), HUSK__ARG_ACC(dtype, given->keep2),
        HUSK__ARG_ACC(dtype, given->add2), HUSK__ARG_ACC(dtype, given->scale), HUSK__ARG_ACC(dtype, given->epsilon));
}

static const husk__configuration vector_menu[] = {{.name = "1", .options = "", .values = {1}}};

static const husk__variant vector = {
    .name = "vector",
    .family = HUSK__FAMILY_CPU,
    .configurations = vector_menu,
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

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&vector, &grid, NULL};

const husk__op husk__op_optimizer = {
    .name = "optimizer",
    .problem_size = sizeof(problem),
    .variants = variants,
    .describe = describe,
    .prewarm = prewarm,
    .classify = classify,
    .write_case = write_case,
};

const char *husk_optimizer_kind_name(husk_optimizer_kind kind)
{
    switch (kind) {
#define NAME(name, number, text) \
    case HUSK_OPTIMIZER_##name:  \
        return text;
        HUSK_OPTIMIZER_LIST(NAME)
#undef NAME
    }
    return "unknown";
}

static int32_t flags_of(const husk_optimizer_params *params)
{
    const bool is_adam = params->kind >= HUSK_OPTIMIZER_ADAM;
    const bool is_averaged = is_adam ? params->amsgrad : params->kind == HUSK_OPTIMIZER_RMSPROP && params->centered;
    return (is_adam || params->momentum != 0 ? FLAG_FIRST : 0) |
           (params->kind != HUSK_OPTIMIZER_SGD ? FLAG_SECOND : 0) | (is_averaged ? FLAG_THIRD : 0) |
           (params->kind == HUSK_OPTIMIZER_SGD && params->nesterov ? FLAG_NESTEROV : 0);
}

static husk_status check_params(const husk_optimizer_params *params, const husk__scope *scope)
{
    const struct {
        double value, largest;
        const char *name;
    } numbers[] = {{params->momentum, INFINITY, "momentum"},
                   {params->dampening, INFINITY, "dampening"},
                   {params->beta, 1, "beta"},
                   {params->beta2, 1, "beta2"},
                   {params->epsilon, INFINITY, "epsilon"},
                   {params->weight_decay, INFINITY, "weight_decay"}};
    if ((int)params->kind < HUSK_OPTIMIZER_SGD || params->kind > HUSK_OPTIMIZER_ADAMW)
        return husk__reject(scope, "params", "kind %d is none of husk_optimizer_kind", (int)params->kind);
    if (!isfinite(params->rate))
        return husk__reject(scope, "params", "rate is %g, must be finite", params->rate);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i)
        if (!(numbers[i].value >= 0 && numbers[i].value < numbers[i].largest))
            return husk__reject(scope, "params", "%s is %g, must be at least 0 and less than %g", numbers[i].name,
                                numbers[i].value, numbers[i].largest);
    if (params->nesterov && params->kind == HUSK_OPTIMIZER_SGD && (params->momentum == 0 || params->dampening != 0))
        return husk__reject(scope, "params", "nesterov needs a momentum and no dampening");
    return HUSK_OK;
}

static husk_status check_tensor(const husk_tensor *w, const husk_tensor *tensor, husk_dtype dtype, const char *argument,
                                const husk__scope *scope)
{
    husk_status status = husk__tensor_check_plain(tensor, dtype, argument, scope);
    if (status != HUSK_OK)
        return status;
    husk_tensor own = *tensor;
    husk__tensor_resolve(&own);
    if (husk__tensor_count(&own) > 0 && !husk__tensor_is_packed(&own))
        return husk__reject(scope, argument, "is not packed");
    return husk__tensor_check_shape(tensor, argument, w->rank, w->shape, "as w", scope);
}

// The copy's dtype is g's, unless that is f32.
static husk_status check_copy(const arguments *given, const husk__scope *scope)
{
    husk_dtype dtype = given->g->dtype;
    if (dtype == HUSK_F64)
        return husk__reject(scope, "copy", "is not NULL: nothing stands beside f64");
    if (dtype == HUSK_F32)
        dtype = given->copy->dtype == HUSK_BF16 ? HUSK_BF16 : HUSK_F16;
    return check_tensor(given->w, given->copy, dtype, "copy", scope);
}

static husk_status check_number(husk_queue *queue, const husk_tensor *number, husk_dtype dtype, const char *argument,
                                const husk__scope *scope)
{
    husk_status status = husk__tensor_check_plain(number, dtype, argument, scope);
    if (status == HUSK_OK && husk__tensor_count(number) != 1)
        return husk__reject(scope, argument, "has %lld elements, must have 1", (long long)husk__tensor_count(number));
    return status == HUSK_OK ? husk__tensor_bind(queue, number, argument, scope) : status;
}

static husk_status validate(husk_queue *queue, const husk_optimizer_params *params, const arguments *given,
                            const husk__scope *scope)
{
    const struct {
        const husk_tensor *tensor;
        const char *name;
        int32_t flag;
    } all[] = {{given->g, "g", 0},
               {given->w, "w", 0},
               {given->first, "first", FLAG_FIRST},
               {given->second, "second", FLAG_SECOND},
               {given->third, "third", FLAG_THIRD},
               {given->copy, "copy", 0},
               {given->by, "scale", 0},
               {given->skip, "skip", 0},
               {given->skipped, "skipped", 0}};
    const int32_t flags = flags_of(params);
    const husk_dtype own = given->w && given->w->dtype == HUSK_F64 ? HUSK_F64 : HUSK_F32;
    husk_status status = own == HUSK_F64 ? husk__tensor_check_real(queue, given->w, "w", scope)
                                         : husk__tensor_check_plain(given->w, HUSK_F32, "w", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_real(queue, given->g, "g", scope);
    if (status == HUSK_OK && (given->g->dtype == HUSK_F64) != (own == HUSK_F64))
        return husk__reject(scope, "g", "is %s, w is %s: nothing stands beside f64", husk_dtype_name(given->g->dtype),
                            husk_dtype_name(own));
    for (int i = 0; i < 5 && status == HUSK_OK; ++i) {
        if (i < 2 || (flags & all[i].flag))
            status = check_tensor(given->w, all[i].tensor, i == 0 ? given->g->dtype : own, all[i].name, scope);
        else if (all[i].tensor)
            status = husk__reject(scope, all[i].name, "is not NULL, but these options keep no such state");
    }
    if (status == HUSK_OK && given->copy)
        status = check_copy(given, scope);
    for (int i = 0; i < 6 && status == HUSK_OK; ++i)
        if (all[i].tensor)
            status = husk__tensor_bind(queue, all[i].tensor, all[i].name, scope);
    for (int i = 6; i < 9 && status == HUSK_OK; ++i)
        if (all[i].tensor)
            status = check_number(queue, all[i].tensor, own, all[i].name, scope);
    if (status == HUSK_OK && params->divides && !given->by)
        status = husk__reject(scope, "scale", "is NULL, but divides is set");
    for (int i = 1; i < 9; ++i)
        for (int j = 0; j < (i < 7 ? i : 6) && status == HUSK_OK; ++j)
            if (all[i].tensor)
                status = husk__refuse_overlap(all[i].tensor, all[i].name, all[j].tensor, all[j].name, scope);
    return status;
}

static void resolve(const husk_optimizer_params *params, arguments *given)
{
    const bool is_adam = params->kind >= HUSK_OPTIMIZER_ADAM;
    const bool is_decoupled = params->kind == HUSK_OPTIMIZER_ADAMW;
    const double step = params->step ? (double)params->step : 1.0, rate = params->rate;
    const double beta = params->beta, beta2 = params->beta2;
    given->divides = params->divides != 0;
    given->kind = is_adam ? HUSK_OPTIMIZER_ADAM : (int32_t)params->kind;
    given->flags = flags_of(params);
    const bool counts = !given->skipped; // else the device does
    given->number = step;
    given->rate = is_adam && counts ? rate / (1 - pow(beta, step)) : rate;
    given->shrink = is_decoupled ? 1 - rate * params->weight_decay : 1.0;
    given->decay = is_decoupled ? 0.0 : params->weight_decay;
    given->epsilon = params->epsilon;
    given->keep = is_adam ? beta : params->momentum;
    given->add = is_adam ? 1 - beta : 1 - params->dampening;
    given->keep2 = is_adam ? beta2 : beta;
    given->add2 = 1 - (is_adam ? beta2 : beta);
    given->scale = is_adam ? 1 / sqrt(1 - pow(beta2, step)) : params->momentum;
    if (params->kind == HUSK_OPTIMIZER_SGD && step == 1 && counts) { // first is the gradient itself
        given->add = 1.0;
        given->keep = 0.0;
    }
}

husk_status husk_optimizer(husk_queue *queue, const husk_optimizer_params *params, const husk_tensor *g,
                           const husk_tensor *w, const husk_tensor *first, const husk_tensor *second,
                           const husk_tensor *third)
{
    const husk_optimizer_params defaults = husk_sgd(0);
    husk__scope scope;
    husk_optimizer_params options;
    arguments given = {.g = g, .w = w, .first = first, .second = second, .third = third};
    husk_status status = husk__call_begin(queue, "husk_optimizer", &scope);
    if (status == HUSK_OK)
        status =
            husk__params_read(&options, sizeof options, "husk_sgd, husk_adam ...", params ? params : &defaults, &scope);
    if (status == HUSK_OK)
        status = check_params(&options, &scope);
    given.copy = options.copy;
    given.by = options.scale;
    given.skip = options.skip;
    given.skipped = options.skipped;
    if (status == HUSK_OK)
        status = validate(queue, &options, &given, &scope);
    if (status != HUSK_OK || husk__tensor_count(w) == 0)
        return status;
    const problem own = {husk__tensor_count(w), g->dtype, given.copy ? given.copy->dtype : HUSK_F32};
    const husk_tensor *const operands[] = {w, g};
    const husk__preference preference = husk__preference_of(options.variant, 0, operands, 2);
    resolve(&options, &given);
    return husk__plan_immediate(queue, &husk__op_optimizer, &own, &preference, &given, &scope);
}

// One plain step.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const int64_t shape[] = {64};
    husk_buffer *buffer;
    husk_status status = husk_buffer_create(husk_queue_context(queue), 2 * 64 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor w = husk_tensor_make(buffer, HUSK_F32, 1, shape);
    husk_tensor g = w;
    g.offset = 64;
    const husk_optimizer_params params = husk_sgd(0.1);
    arguments given = {.g = &g, .w = &w};
    const problem own = {.count = 64};
    const husk__preference preference = {0};
    resolve(&params, &given);
    status = husk__plan_immediate(queue, &husk__op_optimizer, &own, &preference, &given, scope);
    husk_buffer_release(buffer);
    return status;
}
