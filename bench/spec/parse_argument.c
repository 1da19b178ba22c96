// SPDX-License-Identifier: MIT
#include "spec/parse_argument.h"

#include <stdio.h>
#include <string.h>

#include "spec/parse_generator.h"

static bool refuse_type(bench_scan *scan, int column, const char *name)
{
    if (!strncmp(name, "image", 5) || !strcmp(name, "sampler_t") || !strcmp(name, "pipe"))
        return bench_scan_fail(scan, column, "%s: images, samplers and pipes cannot be described, buffers can", name);
    if (!strcmp(name, "struct"))
        return bench_scan_fail(scan, column, "structs cannot be described: a buffer's elements are numbers");
    return bench_scan_fail(scan, column,
                           "%s is no type of numbers: char uchar short ushort int uint long ulong half "
                           "float double, or i8 to u64, f16, f32, f64",
                           name);
}

// "float", or "float4" where width is not NULL.
static bool parse_element(bench_scan *scan, bench_element *element, int *width)
{
    char name[BENCH_NAME_TEXT];
    const int column = scan->word.column;
    if (!bench_scan_name(scan, name, "a type, such as float,"))
        return false;
    *element = bench_element_find(name);
    if (*element == BENCH_ELEMENTS && width) {
        static const struct {
            const char *text;
            int width;
        } widths[] = {{"16", 16}, {"2", 2}, {"3", 3}, {"4", 4}, {"8", 8}};
        const size_t length = strlen(name);
        for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
            const size_t digits = strlen(widths[i].text);
            char shorter[BENCH_NAME_TEXT];
            if (length <= digits || strcmp(name + length - digits, widths[i].text) != 0)
                continue;
            snprintf(shorter, sizeof shorter, "%.*s", (int)(length - digits), name);
            // float4 is one, f324 is none.
            if (bench_element_find(shorter) == BENCH_ELEMENTS || strchr("0123456789", shorter[strlen(shorter) - 1]))
                continue;
            *element = bench_element_find(shorter);
            *width = widths[i].width;
            return true;
        }
    }
    return *element != BENCH_ELEMENTS || refuse_type(scan, column, name);
}

static bool parse_access(bench_scan *scan, bench_buffer *buffer, bool may_be_scratch)
{
    static const struct {
        const char *word;
        bench_access access;
    } words[] = {{"in", BENCH_ACCESS_IN}, {"out", BENCH_ACCESS_OUT}, {"inout", BENCH_ACCESS_INOUT}};
    const int column = scan->word.column;
    char name[BENCH_NAME_TEXT];
    if (!bench_scan_name(scan, name, may_be_scratch ? "in, out, inout or scratch" : "in, out or inout"))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!strcmp(words[i].word, name)) {
            const int behind = scan->word.column;
            buffer->access = words[i].access;
            buffer->is_restored = bench_scan_take(scan, "restored");
            return !buffer->is_restored || buffer->access == BENCH_ACCESS_INOUT ||
                   bench_scan_fail(scan, behind, "only what is inout can be restored");
        }
    }
    buffer->access = BENCH_ACCESS_SCRATCH;
    return (may_be_scratch && !strcmp(name, "scratch")) ||
           bench_scan_fail(scan, column, "%s: a buffer is in, out%s inout", name,
                           may_be_scratch ? ", scratch or" : " or");
}

// Behind the name: float[n] in = uniform(-1, 1). The buffer's number; -1: a mistake.
int bench_parse_buffer(bench_scan *scan, bench_spec *spec, const char *name, int column, bool is_constant,
                       bool may_be_scratch)
{
    bench_buffer buffer = {.is_constant = is_constant, .line = scan->line, .count = {.root = -1}};
    if (!parse_element(scan, &buffer.element, NULL) || !bench_scan_expect(scan, "[", "behind the type"))
        return -1;
    if (spec->buffer_count == BENCH_MOST_BUFFERS) {
        bench_scan_fail(scan, column, "a kernel has at most %d buffers", BENCH_MOST_BUFFERS);
        return -1;
    }
    // It is in the table from here on, so that what it holds is freed with it.
    const int number = spec->buffer_count++;
    bench_buffer *place = &spec->buffers[number];
    *place = buffer;
    if (!bench_expression_parse_integer(scan, &spec->symbols, &place->count, "the number of elements") ||
        !bench_scan_expect(scan, "]", "behind the number of elements") || !parse_access(scan, place, may_be_scratch))
        return -1;
    const bool is_filled = bench_scan_take(scan, "=");
    if (is_filled && !bench_parse_generator(scan, spec, place, &place->generator))
        return -1;
    if (is_filled && place->access == BENCH_ACCESS_OUT && !scan->has_failed)
        bench_scan_fail(scan, column,
                        "%s is an output, which holds NaN or a pattern before the run: leave out what it holds, or say "
                        "inout if the kernel reads it",
                        name);
    const bool needs = place->access == BENCH_ACCESS_IN || place->access == BENCH_ACCESS_INOUT;
    if (needs && !is_filled)
        bench_scan_fail(scan, scan->word.column, "what %s holds is not said: write = uniform(-1, 1) or the like", name);
    bench_symbol symbol = {.kind = BENCH_SYMBOL_BUFFER, .element = place->element};
    snprintf(symbol.name, sizeof symbol.name, "%.63s", name);
    place->symbol = bench_symbols_add(&spec->symbols, scan, column, &symbol);
    return scan->has_failed ? -1 : number;
}

// 0.5, or (1, 2, 3, 4) for a vector.
static bool parse_values(bench_scan *scan, bench_spec *spec, bench_argument *argument)
{
    const bool is_list = argument->width > 1 && bench_scan_is(scan, "(");
    if (is_list)
        bench_scan_next(scan);
    const int column = scan->word.column;
    do {
        if (argument->value_count == argument->width)
            return bench_scan_fail(scan, column, "the vector has %d numbers", argument->width);
        bench_expression *value = &argument->values[argument->value_count++];
        if (!bench_expression_parse(scan, &spec->symbols, value))
            return false;
        if (!bench_element_is_real(argument->element) && !bench_expression_root(value)->is_integer)
            return bench_scan_fail(scan, column, "%s is a whole number: write floor(...), ceil(...) or //",
                                   bench_element_name(argument->element));
    } while (is_list && bench_scan_take(scan, ","));
    if (is_list && argument->value_count != argument->width)
        return bench_scan_fail(scan, column, "the vector has %d numbers", argument->width);
    return !is_list || bench_scan_expect(scan, ")", "behind the vector's numbers");
}

bench_argument *bench_parse_add_argument(bench_scan *scan, bench_step *step)
{
    if (step->argument_count == BENCH_MOST_ARGUMENTS) {
        bench_scan_fail(scan, scan->word.column, "a kernel has at most %d arguments", BENCH_MOST_ARGUMENTS);
        return NULL;
    }
    bench_argument *argument = &step->arguments[step->argument_count++];
    *argument = (bench_argument){.symbol = -1, .width = 1};
    return argument;
}

bool bench_parse_local_argument(bench_scan *scan, bench_spec *spec, bench_argument *argument)
{
    argument->kind = BENCH_ARGUMENT_LOCAL;
    argument->value_count = 1;
    argument->values[0].root = -1;
    return parse_element(scan, &argument->element, NULL) && bench_scan_expect(scan, "[", "behind the type") &&
           bench_expression_parse_integer(scan, &spec->symbols, &argument->values[0], "the number of elements") &&
           bench_scan_expect(scan, "]", "behind the number of elements");
}

static bool parse_one(bench_scan *scan, bench_spec *spec)
{
    bench_symbol symbol = {.kind = BENCH_SYMBOL_ARGUMENT};
    const int column = scan->word.column;
    bench_argument *argument = bench_parse_add_argument(scan, &spec->steps[0]);
    if (!argument || !bench_scan_name(scan, symbol.name, "the argument's name"))
        return false;
    const bool is_constant = bench_scan_is(scan, "constant");
    if (bench_scan_take(scan, "global") || bench_scan_take(scan, "constant")) {
        argument->buffer = bench_parse_buffer(scan, spec, symbol.name, column, is_constant, false);
        return argument->buffer >= 0;
    }
    if (bench_scan_take(scan, "local")) {
        symbol.kind = BENCH_SYMBOL_LOCAL;
        return bench_parse_local_argument(scan, spec, argument) &&
               bench_symbols_add(&spec->symbols, scan, column, &symbol) >= 0;
    }
    argument->kind = BENCH_ARGUMENT_SCALAR;
    if (!parse_element(scan, &argument->element, &argument->width) ||
        !bench_scan_expect(scan, "=", "behind a number's type") || !parse_values(scan, spec, argument))
        return false;
    // An argument may be called as the size that it passes on: then the two are the same.
    const bench_node *root = bench_expression_root(&argument->values[0]);
    const int there = bench_symbols_find(&spec->symbols, symbol.name);
    if (there >= 0 && argument->width == 1 && root->kind == BENCH_NODE_SYMBOL && root->symbol == there)
        return true;
    symbol.element = argument->element;
    if (argument->width > 1)
        symbol.kind = BENCH_SYMBOL_LOCAL; // a vector has no value in expressions
    argument->symbol = bench_symbols_add(&spec->symbols, scan, column, &symbol);
    return argument->symbol >= 0;
}

bool bench_parse_arguments(bench_scan *scan, bench_spec *spec)
{
    do {
        if (!parse_one(scan, spec))
            return false;
    } while (bench_scan_take(scan, ","));
    return true;
}
