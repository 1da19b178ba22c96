// SPDX-License-Identifier: MIT
#include "spec/point.h"

#include <stdio.h>
#include <string.h>

int64_t bench_spec_config_count(const bench_spec *spec)
{
    int64_t count = 1;
    for (int i = 0; i < spec->config_count; i++)
        count = count > INT32_MAX ? INT32_MAX : count * spec->configs[i].count;
    return count > INT32_MAX ? INT32_MAX : count;
}

void bench_spec_config(const bench_spec *spec, int64_t number, int64_t *values)
{
    for (int i = spec->config_count - 1; i >= 0; i--) {
        values[i] = spec->configs[i].values[number % spec->configs[i].count];
        number /= spec->configs[i].count;
    }
}

int bench_spec_size_count(const bench_spec *spec)
{
    return spec->sizes.names ? spec->sizes.count : 1;
}

const int64_t *bench_spec_size(const bench_spec *spec, int number)
{
    return spec->sizes.names ? spec->sizes.values + (size_t)number * (size_t)spec->sizes.names : NULL;
}

static bool take(bench_point *point, char reason[BENCH_REASON_TEXT])
{
    bench_evaluation *e = &point->evaluation;
    const bool is_right = !e->has_failed;
    if (!is_right)
        bench_explain(reason, BENCH_REASON_TEXT, "%s", e->reason);
    e->has_failed = false;
    return is_right;
}

// These two count on.
static bool find_integer(bench_point *point, const bench_expression *expression, int64_t *value,
                         char reason[BENCH_REASON_TEXT])
{
    *value = bench_evaluate_integer(&point->evaluation, expression);
    return take(point, reason);
}

static bool find_real(bench_point *point, const bench_expression *expression, double *value,
                      char reason[BENCH_REASON_TEXT])
{
    *value = bench_evaluate(&point->evaluation, expression).value;
    return take(point, reason);
}

bool bench_point_integer(bench_point *point, const bench_expression *expression, int64_t *value,
                         char reason[BENCH_REASON_TEXT])
{
    point->evaluation.steps = 0;
    return find_integer(point, expression, value, reason);
}

bool bench_point_real(bench_point *point, const bench_expression *expression, double *value,
                      char reason[BENCH_REASON_TEXT])
{
    point->evaluation.steps = 0;
    return find_real(point, expression, value, reason);
}

// Those from *next on that are declared before a symbol, and so may be used by it.
static bool set_defines(bench_point *point, int *next, int symbol, char reason[BENCH_REASON_TEXT])
{
    const bench_spec *spec = point->spec;
    for (; *next < spec->define_count && spec->defines[*next].symbol < symbol; ++*next) {
        const bench_define *define = &spec->defines[*next];
        if (!find_integer(point, &define->value, &point->bindings[define->symbol].integer, reason))
            return false;
    }
    return true;
}

// A scalar as the kernel gets it: float(0.1) is not 0.1.
static bool set_argument(bench_point *point, const bench_argument *argument, char reason[BENCH_REASON_TEXT])
{
    bench_binding *binding = &point->bindings[argument->symbol];
    char cell[8];
    if (!bench_element_is_real(argument->element)) {
        if (!find_integer(point, &argument->values[0], &binding->integer, reason))
            return false;
        bench_element_store_integer(argument->element, cell, 0, binding->integer);
        binding->integer = bench_element_integer(argument->element, cell, 0);
        return true;
    }
    if (!find_real(point, &argument->values[0], &binding->real, reason))
        return false;
    bench_element_store(argument->element, cell, 0, binding->real);
    binding->real = bench_element_load(argument->element, cell, 0);
    return true;
}

// In the order in which they are declared: one may use another. Elements of buffers are not there yet.
static bool set_numbers(bench_point *point, char reason[BENCH_REASON_TEXT])
{
    const bench_spec *spec = point->spec;
    int next = 0;
    for (int i = 0; i < spec->step_count; i++) {
        for (int k = 0; k < spec->steps[i].argument_count; k++) {
            const bench_argument *argument = &spec->steps[i].arguments[k];
            const bool is_named =
                argument->kind == BENCH_ARGUMENT_SCALAR && argument->symbol >= 0 && argument->width == 1;
            if (is_named &&
                (!set_defines(point, &next, argument->symbol, reason) || !set_argument(point, argument, reason)))
                return false;
        }
    }
    return set_defines(point, &next, spec->symbols.count, reason);
}

static bool set_count(bench_point *point, const bench_buffer *buffer, char reason[BENCH_REASON_TEXT])
{
    bench_binding *binding = &point->bindings[buffer->symbol];
    const char *name = point->spec->symbols.items[buffer->symbol].name;
    if (!find_integer(point, &buffer->count, &binding->count, reason))
        return false;
    if (binding->count < 1)
        return bench_explain(reason, BENCH_REASON_TEXT, "%.200s:%d: %s has %lld elements: OpenCL has no empty buffers",
                             buffer->count.file, buffer->line, name, (long long)binding->count);
    if (binding->count > ((int64_t)1 << 36))
        return bench_explain(reason, BENCH_REASON_TEXT, "%.200s:%d: %s has %lld elements, which is too many",
                             buffer->count.file, buffer->line, name, (long long)binding->count);
    return true;
}

bool bench_point_set(bench_point *point, const bench_spec *spec, const int64_t *config, const int64_t *size,
                     char reason[BENCH_REASON_TEXT])
{
    memset(point, 0, sizeof *point);
    point->spec = spec;
    bench_evaluation_begin(&point->evaluation, &spec->symbols, point->bindings, BENCH_ELEMENT_INT);
    // Of all sizes together: there may be many points.
    point->evaluation.most_steps = 1e6;
    for (int i = 0; i < spec->config_count; i++)
        point->bindings[spec->configs[i].symbol].integer = config[i];
    for (int i = 0; i < spec->sizes.names; i++)
        point->bindings[spec->sizes.symbols[i]].integer = size[i];
    if (!set_numbers(point, reason))
        return false;
    for (int i = 0; i < spec->buffer_count; i++) {
        if (!set_count(point, &spec->buffers[i], reason))
            return false;
    }
    point->evaluation.most_steps = 1e7;
    point->most_operations = 1e9;
    return true;
}

bool bench_point_is_allowed(bench_point *point, char reason[BENCH_REASON_TEXT])
{
    reason[0] = '\0';
    for (int i = 0; i < point->spec->rule_count; i++) {
        int64_t value = 0;
        if (!bench_point_integer(point, &point->spec->rules[i], &value, reason) || !value)
            return false;
    }
    return true;
}

void bench_point_text(const bench_spec *spec, const int64_t *config, const int64_t *size, char text[BENCH_POINT_TEXT])
{
    text[0] = '\0';
    for (int i = 0; config && i < spec->config_count; i++)
        bench_append(text, BENCH_POINT_TEXT, "%s%s=%lld", text[0] ? " " : "",
                     spec->symbols.items[spec->configs[i].symbol].name, (long long)config[i]);
    for (int i = 0; size && i < spec->sizes.names; i++)
        bench_append(text, BENCH_POINT_TEXT, "%s%s=%lld", text[0] ? " " : "",
                     spec->symbols.items[spec->sizes.symbols[i]].name, (long long)size[i]);
}

static void add_macro(const bench_point *point, int symbol, char *text, size_t size)
{
    bench_append(text, size, " -D%s=%lld", point->spec->symbols.items[symbol].name,
                 (long long)point->bindings[symbol].integer);
}

void bench_point_macros(const bench_point *point, char *text, size_t size)
{
    text[0] = '\0';
    for (int i = 0; i < point->spec->config_count; i++)
        add_macro(point, point->spec->configs[i].symbol, text, size);
    for (int i = 0; i < point->spec->define_count; i++) {
        if (point->spec->defines[i].is_macro)
            add_macro(point, point->spec->defines[i].symbol, text, size);
    }
}
