// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "ref/optimizer/optimizer.h"

// A number and how far an f32 computation may be from it.
typedef struct known {
    double value, error;
} known;

static known rounded(double value, double error)
{
    return (known){value, error + 2.0 * HUSK_REF_UNIT * fabs(value) + HUSK_REF_TINY};
}

// a number exactly known to both, such as beta, but for its own rounding.
static known times(known a, double b)
{
    return rounded(a.value * b, a.error * fabs(b) + HUSK_REF_UNIT * fabs(a.value * b));
}

static known product(known a, known b)
{
    return rounded(a.value * b.value, fabs(a.value) * b.error + a.error * fabs(b.value) + a.error * b.error);
}

static known plus(known a, known b)
{
    return rounded(a.value + b.value, a.error + b.error);
}

static known over(known a, known b)
{
    const double least = fabs(b.value) - b.error;
    const double y = a.value / b.value, own = 3.0 * HUSK_REF_UNIT * fabs(y); // OpenCL allows 2.5 ulp
    return rounded(y, own + (least > 0 ? (a.error + fabs(y) * b.error) / least : INFINITY));
}

// Where the argument may be 0 the root's error is as large as it makes it.
static known root(known a)
{
    const double y = sqrt(a.value), least = a.value - a.error;
    const double own = 4.0 * HUSK_REF_UNIT * y; // OpenCL allows 3 ulp
    return rounded(y, own + (least > 0 ? a.error / (2.0 * sqrt(least)) : sqrt(a.error) + y));
}

// By a factor that errs by this much of itself.
static known inexact(known a, double error)
{
    return (known){a.value, a.error + error * fabs(a.value)};
}

static known load(const husk_ref_array *array, const int64_t *index)
{
    return (known){array != NULL ? husk_ref_load(array, husk_ref_offset(array, index)) : 0.0, 0.0};
}

static void step(const husk_ref_optimizer *op, const int64_t *index, known out[HUSK_REF_OPTIMIZER_OUTPUTS])
{
    const husk_optimizer_params *p = op->params;
    const bool is_adam = p->kind >= HUSK_OPTIMIZER_ADAM, is_sgd = p->kind == HUSK_OPTIMIZER_SGD;
    const bool is_decoupled = p->kind == HUSK_OPTIMIZER_ADAMW;
    const double number = p->step ? (double)p->step : 1.0, rate = p->rate, decay = p->weight_decay;
    const double beta = p->beta, beta2 = p->beta2;
    const known epsilon = {p->epsilon, HUSK_REF_UNIT * p->epsilon};
    known g = load(op->g, index), w = load(op->before[0], index);
    known first = load(op->before[1], index), second = load(op->before[2], index), third = load(op->before[3], index);
    if (op->scale != 0.0) // 1 / scale, which is a division's result, where it divides
        g = inexact(times(g, op->scale), p->divides ? 5.0 * HUSK_REF_UNIT : 0.0);
    const known untouched = w;
    if (decay != 0 && !is_decoupled)
        g = plus(g, times(w, decay));
    if (is_decoupled)
        w = times(w, 1 - rate * decay);
    if (op->skips) {
        const known as_they_are[] = {untouched, first, second, third};
        memcpy(out, as_they_are, sizeof(as_they_are));
        return;
    }
    known move = g;
    if (is_sgd) {
        if (p->momentum != 0) {
            first = number == 1 ? g : plus(times(first, p->momentum), times(g, 1.0 - p->dampening));
            move = p->nesterov ? plus(g, times(first, p->momentum)) : first;
        }
        out[0] = plus(w, times(move, -rate));
    } else if (!is_adam) {
        second = plus(times(second, beta), times(product(g, g), 1 - beta));
        known square = second;
        if (p->centered) {
            third = plus(times(third, beta), times(g, 1 - beta));
            square = plus(second, times(product(third, third), -1));
        }
        move = over(g, plus(root(square), epsilon));
        if (p->momentum != 0)
            move = first = plus(times(first, p->momentum), move);
        out[0] = plus(w, times(move, -rate));
    } else {
        first = plus(times(first, beta), times(g, 1 - beta));
        second = plus(times(second, beta2), times(product(g, g), 1 - beta2));
        known square = second;
        if (p->amsgrad)
            square = third = third.value > second.value ? (known){third.value, second.error} : second;
        const double own = op->counts ? 16.0 * HUSK_REF_UNIT : 0.0, correction = 1 / sqrt(1 - pow(beta2, number));
        const double move_rate = -rate / (1 - pow(beta, number));
        const known denominator = plus(inexact(times(root(square), correction), own), epsilon);
        out[0] = plus(w, inexact(times(over(first, denominator), move_rate), own));
    }
    out[1] = first;
    out[2] = second;
    out[3] = third;
}

husk_ref_value husk_ref_optimizer_at(const husk_ref_optimizer *op, const int64_t *index)
{
    known out[HUSK_REF_OPTIMIZER_OUTPUTS];
    step(op, index, out);
    const known made = out[op->output];
    return (husk_ref_value){made.value, fabs(made.value), made.error, 1};
}

static husk_ref_value optimizer_at(const void *op, const int64_t *index)
{
    return husk_ref_optimizer_at(op, index);
}

husk_ref_function husk_ref_optimizer_function(const husk_ref_optimizer *op)
{
    husk_ref_function function = {.op = op, .at = optimizer_at, .rank = op->g->rank, .cost = 1.0};
    memcpy(function.shape, op->g->shape, sizeof(function.shape));
    return function;
}

void husk_ref_optimizer_run(const husk_ref_optimizer *op)
{
    int64_t index[HUSK_MAX_RANK] = {0};
    if (husk_ref_array_count(op->g) == 0)
        return;
    do {
        known out[HUSK_REF_OPTIMIZER_OUTPUTS];
        step(op, index, out);
        for (int i = 0; i < HUSK_REF_OPTIMIZER_OUTPUTS; i++)
            if (op->before[i] != NULL)
                husk_ref_store(op->before[i], husk_ref_offset(op->before[i], index), out[i].value);
    } while (husk_ref_index_next(op->g->rank, op->g->shape, index));
}
