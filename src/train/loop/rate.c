// SPDX-License-Identifier: MIT
// Learning rates: functions of the step.
#include <husk/train/rate.h>

#include <math.h>

#include "train/graph/graph.h"

#define PI 3.14159265358979323846

const char *husk_rate_kind_name(husk_rate_kind kind)
{
    switch (kind) {
#define NAME(name, number, text) \
    case HUSK_RATE_##name:       \
        return text;
        HUSK_RATE_LIST(NAME)
#undef NAME
    }
    return "unknown";
}

// ---- what is right ----

static husk_status check_rate(double rate, const char *name, const husk__train_scope *scope)
{
    if (isfinite(rate) && rate >= 0)
        return HUSK_OK;
    return husk__train_reject(scope, "params", "%s is %g; it has to be finite and 0 or more", name, rate);
}

static bool has_steps(husk_rate_kind kind)
{
    return kind != HUSK_RATE_CONSTANT && kind != HUSK_RATE_MULTI_STEP;
}

static bool has_factor(husk_rate_kind kind)
{
    return kind == HUSK_RATE_STEP || kind == HUSK_RATE_MULTI_STEP || kind == HUSK_RATE_EXPONENTIAL;
}

static bool has_end(husk_rate_kind kind)
{
    return kind == HUSK_RATE_POLYNOMIAL || kind == HUSK_RATE_COSINE || kind == HUSK_RATE_COSINE_RESTARTS ||
           kind == HUSK_RATE_ONE_CYCLE;
}

static husk_status check_milestones(const husk_rate_params *own, const husk__train_scope *scope)
{
    if (!own->milestones || own->milestone_count == 0)
        return husk__train_reject(scope, "params", "multi_step needs milestones");
    for (size_t i = 1; i < own->milestone_count; i++)
        if (own->milestones[i] <= own->milestones[i - 1])
            return husk__train_reject(scope, "params", "milestones have to rise; number %zu is %llu, behind %llu", i,
                                      (unsigned long long)own->milestones[i],
                                      (unsigned long long)own->milestones[i - 1]);
    return HUSK_OK;
}

static husk_status check_cycle(const husk_rate_params *own, const husk__train_scope *scope)
{
    husk_status status = check_rate(own->start_rate, "start_rate", scope);
    if (!status && !(own->rise < 1 && own->rise > 0 && own->rise * (double)own->steps > 1))
        status = husk__train_reject(scope, "params",
                                    "rise is %g of %llu steps; it has to be below 1, and rise * steps above 1",
                                    own->rise, (unsigned long long)own->steps);
    return status;
}

static husk_status check(const husk_rate_params *own, const husk__train_scope *scope)
{
    if ((unsigned)own->kind > HUSK_RATE_ONE_CYCLE)
        return husk__train_reject(scope, "params", "kind %u does not exist", (unsigned)own->kind);
    husk_status status = check_rate(own->rate, "rate", scope);
    if (!status && has_steps(own->kind) && own->steps == 0)
        status = husk__train_reject(scope, "params", "%s needs steps", husk_rate_kind_name(own->kind));
    if (!status && has_factor(own->kind) && !(isfinite(own->factor) && own->factor > 0))
        status = husk__train_reject(scope, "params", "factor is %g; it has to be finite and above 0", own->factor);
    if (!status && own->kind == HUSK_RATE_POLYNOMIAL && !(isfinite(own->power) && own->power > 0))
        status = husk__train_reject(scope, "params", "power is %g; it has to be finite and above 0", own->power);
    if (!status && own->kind == HUSK_RATE_COSINE_RESTARTS && own->growth == 0)
        status = husk__train_reject(scope, "params", "growth is 0; it has to be 1 or more");
    if (!status && own->kind == HUSK_RATE_MULTI_STEP)
        status = check_milestones(own, scope);
    if (!status && own->kind == HUSK_RATE_ONE_CYCLE)
        status = check_cycle(own, scope);
    if (!status && has_end(own->kind))
        status = check_rate(own->end_rate, "end_rate", scope);
    if (!status && own->warmup > 0)
        status = check_rate(own->warmup_rate, "warmup_rate", scope);
    return status;
}

// ---- the formulas ----

// From `from` at part 0 to `to` at 1.
static double half_cosine(double from, double to, double part)
{
    return to + (from - to) * (1 + cos(PI * part)) / 2;
}

static double multi_step(const husk_rate_params *own, uint64_t s)
{
    size_t passed = 0;
    while (passed < own->milestone_count && own->milestones[passed] <= s)
        passed++;
    return own->rate * pow(own->factor, (double)passed);
}

static double restarts(const husk_rate_params *own, uint64_t s)
{
    uint64_t period = own->steps;
    if (own->growth == 1)
        s %= period;
    while (s >= period) {
        s -= period;
        period = period > UINT64_MAX / own->growth ? UINT64_MAX : period * own->growth;
    }
    return half_cosine(own->rate, own->end_rate, (double)s / (double)period);
}

static double one_cycle(const husk_rate_params *own, uint64_t s)
{
    double last = (double)own->steps - 1, top = own->rise * (double)own->steps - 1;
    double at = s < own->steps ? (double)s : last;
    if (at <= top)
        return half_cosine(own->start_rate, own->rate, at / top);
    return half_cosine(own->rate, own->end_rate, (at - top) / (last - top));
}

static double rate_of(const husk_rate_params *own, uint64_t s)
{
    double steps = (double)own->steps, done = s < own->steps ? (double)s / steps : 1;
    switch (own->kind) {
    case HUSK_RATE_CONSTANT:
        break;
    case HUSK_RATE_STEP:
        return own->rate * pow(own->factor, (double)(s / own->steps));
    case HUSK_RATE_MULTI_STEP:
        return multi_step(own, s);
    case HUSK_RATE_EXPONENTIAL:
        return own->rate * pow(own->factor, (double)s / steps);
    case HUSK_RATE_POLYNOMIAL:
        return own->end_rate + (own->rate - own->end_rate) * pow(1 - done, own->power);
    case HUSK_RATE_COSINE:
        return half_cosine(own->rate, own->end_rate, done);
    case HUSK_RATE_COSINE_RESTARTS:
        return restarts(own, s);
    case HUSK_RATE_ONE_CYCLE:
        return one_cycle(own, s);
    }
    return own->rate;
}

static husk_status rate_at(const husk_rate_params *params, uint64_t step, double *rate, const husk__train_scope *scope)
{
    husk_rate_params own;
    if (!params)
        return husk__train_reject(scope, "params", "it is NULL");
    husk_status status = husk__train_struct(&own, sizeof own, "husk_rate_defaults", params, "params", scope);
    if (status)
        return status;
    status = check(&own, scope);
    if (status)
        return status;
    if (step >= own.warmup)
        *rate = rate_of(&own, step - own.warmup);
    else
        *rate = own.warmup_rate + (rate_of(&own, 0) - own.warmup_rate) * ((double)step / (double)own.warmup);
    return HUSK_OK;
}

husk_status husk_rate_at(const husk_rate_params *params, uint64_t step, double *rate, husk_error *error)
{
    const husk__train_scope scope = {"husk_rate_at", error};
    return rate ? rate_at(params, step, rate, &scope) : husk__train_reject(&scope, "rate", "it is NULL");
}

husk_status husk_graph_schedule_rate(husk_graph *graph, const husk_rate_params *params)
{
    if (!graph)
        return HUSK_INVALID_ARGUMENT;
    const husk__train_scope scope = {"husk_graph_schedule_rate", &graph->error};
    double rate = 0;
    // A graph that cannot have a rate says so itself, in husk_graph_set_rate.
    husk_status status =
        graph->failed ? graph->failed : rate_at(params, husk_graph_get_position(graph).updates, &rate, &scope);
    return status ? status : husk_graph_set_rate(graph, rate);
}
