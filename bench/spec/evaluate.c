// SPDX-License-Identifier: MIT
#include "spec/evaluate.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct walk {
    bench_evaluation *e;
    const bench_expression *expression;
} walk;

static bench_value evaluate(walk *w, int node);
static bench_value call(walk *w, const bench_node *node);
static int64_t evaluate_integer(walk *w, int node);

static void fail(walk *w, const bench_node *node, const char *format, ...) BENCH_PRINTF(3, 4);

// Where it is, what is wrong, and at which indices.
static void fail(walk *w, const bench_node *node, const char *format, ...)
{
    if (w->e->has_failed)
        return;
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    w->e->has_failed = true;
    snprintf(w->e->reason, sizeof w->e->reason, "%.200s:%d:", w->expression->file, w->expression->line);
    // Of a document that was translated only the line is known.
    if (node->column)
        bench_append(w->e->reason, sizeof w->e->reason, "%d:", node->column);
    bench_append(w->e->reason, sizeof w->e->reason, " %.600s", text);
    bench_clean_line(w->e->reason);
}

static bool count_step(walk *w, const bench_node *node)
{
    w->e->steps++;
    if (w->e->most_steps > 0 && w->e->steps > w->e->most_steps)
        fail(w, node, "evaluating this takes more than %.0f operations", w->e->most_steps);
    return !w->e->has_failed;
}

// ---- whole numbers ----

static int64_t divide(walk *w, const bench_node *node, int64_t a, int64_t b)
{
    const bool is_quotient = node->operation == BENCH_FLOOR_DIVIDE;
    if (b == 0)
        fail(w, node, "division by zero");
    if (b == 0 || b == -1) // INT64_MIN / -1 wraps around
        return b == 0 || !is_quotient ? 0 : (int64_t)(0 - (uint64_t)a);
    const bool is_below = a % b != 0 && (a < 0) != (b < 0); // C rounds towards zero
    return is_quotient ? a / b - is_below : a % b + (is_below ? b : 0);
}

static int64_t shift(walk *w, const bench_node *node, int64_t a, int64_t by)
{
    if (by < 0 || by > 63) {
        fail(w, node, "a shift by %lld bits", (long long)by);
        return 0;
    }
    if (node->operation == BENCH_SHIFT_LEFT)
        return (int64_t)((uint64_t)a << by);
    return a < 0 ? ~(~a >> by) : a >> by;
}

static int64_t operate_integer(walk *w, const bench_node *node)
{
    const int64_t a = evaluate_integer(w, node->child[0]);
    if (node->operation == BENCH_AND && !a)
        return 0;
    if (node->operation == BENCH_OR && a)
        return 1;
    const int64_t b = node->child[1] >= 0 && !w->e->has_failed ? evaluate_integer(w, node->child[1]) : 0;
    const uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (node->operation) {
    case BENCH_NEGATE:
        return (int64_t)(0 - x);
    case BENCH_NOT:
        return !a;
    case BENCH_COMPLEMENT:
        return ~a;
    case BENCH_ADD:
        return (int64_t)(x + y);
    case BENCH_SUBTRACT:
        return (int64_t)(x - y);
    case BENCH_MULTIPLY:
        return (int64_t)(x * y);
    case BENCH_FLOOR_DIVIDE:
    case BENCH_REMAINDER:
        return divide(w, node, a, b);
    case BENCH_SHIFT_LEFT:
    case BENCH_SHIFT_RIGHT:
        return shift(w, node, a, b);
    case BENCH_LESS:
        return a < b;
    case BENCH_LESS_EQUAL:
        return a <= b;
    case BENCH_GREATER:
        return a > b;
    case BENCH_GREATER_EQUAL:
        return a >= b;
    case BENCH_EQUAL:
        return a == b;
    case BENCH_NOT_EQUAL:
        return a != b;
    case BENCH_BIT_AND:
        return a & b;
    case BENCH_BIT_XOR:
        return a ^ b;
    case BENCH_BIT_OR:
        return a | b;
    default: // && and ||: the other operand decides
        return b != 0;
    }
}

// A function of what has no error as it is computed here, such as ceil(n/64).
static int64_t call_static(walk *w, const bench_node *node)
{
    const bench_rounding rounding = w->e->rounding;
    w->e->rounding = (bench_rounding){.unit = 0};
    const double value = call(w, node).value;
    w->e->rounding = rounding;
    if (!(value >= -0x1p63 && value < 0x1p63)) {
        fail(w, node, "%g does not fit into 64 bits", value);
        return 0;
    }
    return (int64_t)value;
}

static int64_t call_integer(walk *w, const bench_node *node)
{
    if (!w->expression->nodes[node->child[0]].is_integer)
        return call_static(w, node);
    const int64_t a = evaluate_integer(w, node->child[0]);
    if (!strcmp(node->function->name, "abs"))
        return a < 0 ? (int64_t)(0 - (uint64_t)a) : a;
    if (!strcmp(node->function->name, "sign"))
        return (a > 0) - (a < 0);
    if (node->function->operands == 1)
        return a;
    const int64_t b = evaluate_integer(w, node->child[1]);
    if (!strcmp(node->function->name, "min"))
        return b < a ? b : a;
    if (!strcmp(node->function->name, "max"))
        return a < b ? b : a;
    const int64_t c = evaluate_integer(w, node->child[2]), low = a < b ? b : a;
    return c < low ? c : low;
}

static int64_t cut(bench_element element, int64_t value)
{
    int64_t cell = 0;
    bench_element_store_integer(element, &cell, 0, value);
    return bench_element_integer(element, &cell, 0);
}

// int(x): of real x towards zero, which has to be the same for all that x may be.
static int64_t convert_integer(walk *w, const bench_node *node)
{
    const bench_node *child = &w->expression->nodes[node->child[0]];
    if (child->is_integer)
        return cut(node->element, evaluate_integer(w, node->child[0]));
    const bench_value x = evaluate(w, node->child[0]);
    const double value = trunc(x.value);
    if (x.error > 0 && (trunc(x.value - x.error) != value || trunc(x.value + x.error) != value))
        fail(w, node, "%s(%g) depends on how %g is rounded, so that no one result is right",
             bench_element_name(node->element), x.value, x.value);
    if (!(value >= (double)bench_element_least(node->element) && value <= (double)bench_element_most(node->element) &&
          value < 0x1p63)) {
        fail(w, node, "%g does not fit into %s", x.value, bench_element_name(node->element));
        return 0;
    }
    return (int64_t)value;
}

// The element's position; -1: it is outside.
static int64_t position(walk *w, const bench_node *node)
{
    const int64_t index = evaluate_integer(w, node->child[0]), count = w->e->bindings[node->symbol].count;
    if (w->e->has_failed)
        return -1;
    if (!w->e->bindings[node->symbol].data) {
        fail(w, node, "what %s holds is not known here: sizes, rules and arguments cannot depend on it",
             w->e->symbols->items[node->symbol].name);
        return -1;
    }
    if (index >= 0 && index < count)
        return index;
    fail(w, node, "%s[%lld] is outside: it has %lld elements", w->e->symbols->items[node->symbol].name,
         (long long)index, (long long)count);
    return -1;
}

static int64_t reduce_integer(walk *w, const bench_node *node)
{
    const int64_t begin = evaluate_integer(w, node->child[0]), end = evaluate_integer(w, node->child[1]);
    int64_t result = node->reduction == BENCH_PRODUCT ? 1 : 0;
    if (begin >= end && node->reduction >= BENCH_LEAST)
        fail(w, node, "the smallest or largest of nothing");
    bench_binding *index = &w->e->bindings[node->symbol];
    const bench_binding before = *index;
    for (int64_t k = begin; k < end && !w->e->has_failed; k++) {
        index->integer = k;
        const int64_t term = evaluate_integer(w, node->child[2]);
        if (node->reduction == BENCH_SUM)
            result = (int64_t)((uint64_t)result + (uint64_t)term);
        else if (node->reduction == BENCH_PRODUCT)
            result = (int64_t)((uint64_t)result * (uint64_t)term);
        else if (k == begin || (node->reduction == BENCH_LEAST ? term < result : term > result))
            result = term;
    }
    *index = before;
    return result;
}

// Of let(a = ..., ...): a stands for its value from here on. What it stood for before, for afterwards.
static bench_binding begin_let(walk *w, const bench_node *node)
{
    const bench_node *value = &w->expression->nodes[node->child[0]];
    bench_binding binding = {.integer = 0};
    if (value->is_integer)
        binding.integer = evaluate_integer(w, node->child[0]);
    else
        binding.named = evaluate(w, node->child[0]);
    const bench_binding before = w->e->bindings[node->symbol];
    w->e->bindings[node->symbol] = binding;
    return before;
}

static int64_t let_integer(walk *w, const bench_node *node)
{
    const bench_binding before = begin_let(w, node);
    const int64_t result = evaluate_integer(w, node->child[1]);
    w->e->bindings[node->symbol] = before;
    return result;
}

static int64_t evaluate_integer(walk *w, int index)
{
    const bench_node *node = &w->expression->nodes[index];
    if (!count_step(w, node))
        return 0;
    switch (node->kind) {
    case BENCH_NODE_INTEGER:
        return node->integer;
    case BENCH_NODE_SYMBOL:
        return w->e->bindings[node->symbol].integer;
    case BENCH_NODE_ELEMENT: {
        const int64_t at = position(w, node);
        const bench_binding *buffer = &w->e->bindings[node->symbol];
        return at < 0 ? 0 : bench_element_integer(w->e->symbols->items[node->symbol].element, buffer->data, at);
    }
    case BENCH_NODE_OPERATION:
        return operate_integer(w, node);
    case BENCH_NODE_CONDITION:
        return evaluate_integer(w, node->child[evaluate_integer(w, node->child[0]) ? 1 : 2]);
    case BENCH_NODE_CALL:
        return call_integer(w, node);
    case BENCH_NODE_CONVERT:
        return convert_integer(w, node);
    case BENCH_NODE_REDUCE:
        return reduce_integer(w, node);
    case BENCH_NODE_LET:
        return let_integer(w, node);
    default:
        return 0;
    }
}

// ---- real numbers ----

static bench_value operate(walk *w, const bench_node *node)
{
    const bench_rounding *r = &w->e->rounding;
    const bench_value a = evaluate(w, node->child[0]);
    const bool is_logical = node->operation == BENCH_AND || node->operation == BENCH_OR;
    const int sure = is_logical || node->operation == BENCH_NOT ? bench_surely_true(&a) : 0;
    if ((node->operation == BENCH_AND && sure < 0) || (node->operation == BENCH_OR && sure > 0))
        return bench_value_exactly(sure > 0);
    const bench_value b = node->child[1] >= 0 ? evaluate(w, node->child[1]) : (bench_value){0};
    switch (node->operation) {
    case BENCH_NEGATE: {
        bench_value negative = a;
        negative.value = -a.value;
        return negative;
    }
    case BENCH_NOT:
        return bench_value_truth(-sure, a.value == 0);
    case BENCH_ADD:
        return bench_value_add(r, &a, &b, 1);
    case BENCH_SUBTRACT:
        return bench_value_add(r, &a, &b, -1);
    case BENCH_MULTIPLY:
        return bench_value_multiply(r, &a, &b);
    case BENCH_DIVIDE:
        return bench_value_divide(r, &a, &b);
    case BENCH_AND:
    case BENCH_OR: {
        const int other = bench_surely_true(&b);
        const bool decides = node->operation == BENCH_AND ? other < 0 : other > 0;
        return bench_value_truth(decides || sure ? other : 0, b.value != 0);
    }
    default:
        return bench_value_compare(node->operation, &a, &b);
    }
}

static bench_value choose(walk *w, const bench_node *node)
{
    const bench_value condition = evaluate(w, node->child[0]);
    const int sure = bench_surely_true(&condition);
    const bool is_true = sure ? sure > 0 : condition.value != 0;
    bench_value taken = evaluate(w, node->child[is_true ? 1 : 2]);
    if (sure || w->e->has_failed)
        return taken;
    const bench_value other = evaluate(w, node->child[is_true ? 2 : 1]);
    const double distance = fabs(other.value - taken.value) + other.error;
    taken.error = taken.error > distance ? taken.error : distance;
    taken.grain = BENCH_NO_GRAIN;
    return taken;
}

// ---- functions ----

static const double pi = 3.14159265358979323846;

static double larger(double a, double b)
{
    return isnan(b) ? INFINITY : a > b ? a : b;
}

// How far the function's value moves when its operands move to any corner.
static double corners(const bench_function *f, const bench_value *operands, double value)
{
    double most = 0;
    for (int corner = 0; corner < 1 << f->operands; corner++) {
        double x[BENCH_MOST_OPERANDS];
        for (int i = 0; i < f->operands; i++) {
            x[i] = operands[i].value + (corner >> i & 1 ? operands[i].error : -operands[i].error);
            if (f->operands == 1)
                x[i] = x[i] < f->least ? f->least : x[i] > f->most ? f->most : x[i];
        }
        const double there = bench_function_value(f, x);
        most = larger(most, there == value ? 0 : fabs(there - value));
    }
    return most;
}

static double moved(const bench_function *f, const bench_value *operands, double value)
{
    bool is_off = false;
    for (int i = 0; i < f->operands; i++)
        is_off = is_off || operands[i].error > 0;
    if (!is_off)
        return 0;
    const double x = operands[0].value, error = operands[0].error;
    switch (f->shape) {
    case BENCH_SHAPE_SLOPE_1:
        return error;
    case BENCH_SHAPE_TAN: {
        // Across a pole it may be anything.
        const bool has_pole = floor((x - error) / pi - 0.5) != floor((x + error) / pi - 0.5);
        return has_pole ? INFINITY : corners(f, operands, value);
    }
    case BENCH_SHAPE_WRAP: {
        const double y = operands[1].value, low = (x - error) / y, high = (x + error) / y;
        const bool wraps = operands[1].error > 0 || trunc(low) != trunc(high);
        return wraps ? fabs(y) + operands[1].error : error;
    }
    default:
        return corners(f, operands, value);
    }
}

static bench_value call(walk *w, const bench_node *node)
{
    const bench_function *f = node->function;
    const bench_rounding *r = &w->e->rounding;
    bench_value operands[BENCH_MOST_OPERANDS];
    double x[BENCH_MOST_OPERANDS];
    bool are_exact = true;
    for (int i = 0; i < f->operands; i++) {
        operands[i] = evaluate(w, node->child[i]);
        x[i] = operands[i].value;
        are_exact = are_exact && operands[i].error == 0;
    }
    bench_value result = {.value = bench_function_value(f, x)};
    if (f->three == fma) {
        const bench_value product = bench_value_multiply(r, &operands[0], &operands[1]);
        return bench_value_add(r, &product, &operands[2], 1);
    }
    result.error = moved(f, operands, result.value);
    const double ulps = r->is_double ? f->ulps_f64 : f->ulps;
    // What chooses among its operands, or cuts them to whole numbers, rounds nothing.
    if (ulps == 0) {
        result.magnitude = fabs(result.value);
        result.grain = are_exact ? bench_grain_of(result.value) : BENCH_NO_GRAIN;
        return result;
    }
    // sqrt(4), exp(0), pow(2, 3) need not be exact: the specification grants the error to all.
    return bench_value_rounded(r, result, 2 * ulps);
}

static bench_value convert(walk *w, const bench_node *node)
{
    const bench_value x = evaluate(w, node->child[0]);
    char cell[8];
    if (!bench_element_is_real(node->element))
        return bench_value_exactly((double)convert_integer(w, node));
    bench_element_store(node->element, cell, 0, x.value);
    bench_value result = bench_value_exactly(bench_element_load(node->element, cell, 0));
    // One that is off may be rounded to the next number.
    if (x.error > 0)
        result.error = x.error + ldexp(fabs(x.value) + x.error, 1 - bench_element_precision(node->element));
    return result;
}

// ---- sums ----

static void add_term(bench_value *sum, const bench_value *term)
{
    sum->value += term->value;
    sum->error += term->error;
    sum->magnitude += term->magnitude;
    sum->grain = sum->grain < term->grain ? sum->grain : term->grain;
}

static void take_extreme(bench_value *best, const bench_value *term, bool is_first, bool wants_least)
{
    const double error = fmax(best->error, term->error);
    if (is_first || (wants_least ? term->value < best->value : term->value > best->value))
        *best = *term;
    best->error = is_first ? best->error : error;
}

static bench_value reduce(walk *w, const bench_node *node)
{
    const int64_t begin = evaluate_integer(w, node->child[0]), end = evaluate_integer(w, node->child[1]);
    const bench_rounding *r = &w->e->rounding;
    bench_value result = bench_value_exactly(node->reduction == BENCH_PRODUCT ? 1 : 0);
    double terms = 0;
    if (begin >= end && node->reduction >= BENCH_LEAST)
        fail(w, node, "the smallest or largest of nothing");
    bench_binding *index = &w->e->bindings[node->symbol];
    const bench_binding before = *index;
    for (int64_t k = begin; k < end && !w->e->has_failed; k++) {
        index->integer = k;
        const bench_value term = evaluate(w, node->child[2]);
        terms++;
        if (node->reduction == BENCH_SUM)
            add_term(&result, &term);
        else if (node->reduction == BENCH_PRODUCT)
            result = bench_value_multiply(r, &result, &term);
        else
            take_extreme(&result, &term, k == begin, node->reduction == BENCH_LEAST);
    }
    *index = before;
    if (node->reduction != BENCH_SUM || (result.error == 0 && bench_value_is_exact(r, result.magnitude, result.grain)))
        return result;
    const double worst = terms, likely = 4 + 2 * sqrt(terms);
    const double units = w->e->worst || worst < likely ? worst : likely;
    result.error += units * r->unit * (result.magnitude + result.error) + terms * r->smallest;
    result.grain = BENCH_NO_GRAIN;
    return result;
}

static bench_value let(walk *w, const bench_node *node)
{
    const bench_binding before = begin_let(w, node);
    const bench_value result = evaluate(w, node->child[1]);
    w->e->bindings[node->symbol] = before;
    return result;
}

static bench_value evaluate(walk *w, int index)
{
    const bench_node *node = &w->expression->nodes[index];
    if (node->is_integer) {
        // The kernel rounds it where it computes with it in its type.
        bench_value value = bench_value_exactly((double)evaluate_integer(w, index));
        if (!bench_value_is_exact(&w->e->rounding, value.magnitude, value.grain))
            value.error = bench_rounding_cost(&w->e->rounding, value.magnitude, 1);
        return value;
    }
    if (!count_step(w, node))
        return bench_value_exactly(0);
    switch (node->kind) {
    case BENCH_NODE_REAL: {
        // A literal is rounded by the kernel's compiler, unless it is exact.
        bench_value value = bench_value_exactly(node->real);
        if (!bench_value_is_exact(&w->e->rounding, value.magnitude, value.grain))
            value.error = bench_rounding_cost(&w->e->rounding, value.magnitude, 1);
        return value;
    }
    case BENCH_NODE_SYMBOL:
        return node->is_named ? w->e->bindings[node->symbol].named
                              : bench_value_exactly(w->e->bindings[node->symbol].real);
    case BENCH_NODE_ELEMENT: {
        const int64_t at = position(w, node);
        const bench_element element = w->e->symbols->items[node->symbol].element;
        return bench_value_exactly(at < 0 ? 0 : bench_element_load(element, w->e->bindings[node->symbol].data, at));
    }
    case BENCH_NODE_OPERATION:
        return operate(w, node);
    case BENCH_NODE_CONDITION:
        return choose(w, node);
    case BENCH_NODE_CALL:
        return call(w, node);
    case BENCH_NODE_CONVERT:
        return convert(w, node);
    case BENCH_NODE_REDUCE:
        return reduce(w, node);
    case BENCH_NODE_LET:
        return let(w, node);
    default:
        return bench_value_exactly(0);
    }
}

void bench_evaluation_begin(bench_evaluation *evaluation, const bench_symbols *symbols, bench_binding *bindings,
                            bench_element computed_in)
{
    *evaluation = (bench_evaluation){.symbols = symbols, .bindings = bindings};
    if (!bench_element_is_real(computed_in))
        return;
    const int precision = bench_element_precision(computed_in);
    evaluation->rounding = (bench_rounding){.unit = ldexp(1, -precision),
                                            .precision = precision,
                                            .smallest = bench_element_smallest(computed_in),
                                            .is_double = computed_in == BENCH_ELEMENT_DOUBLE};
}

bench_value bench_evaluate(bench_evaluation *evaluation, const bench_expression *expression)
{
    walk w = {evaluation, expression};
    bench_value value = evaluate(&w, expression->root);
    // The reference rounds in double, too.
    if (evaluation->rounding.is_double)
        value.error *= 2;
    return value;
}

int64_t bench_evaluate_integer(bench_evaluation *evaluation, const bench_expression *expression)
{
    walk w = {evaluation, expression};
    return evaluate_integer(&w, expression->root);
}
