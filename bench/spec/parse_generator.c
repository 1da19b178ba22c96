// SPDX-License-Identifier: MIT
#include "spec/parse_generator.h"

#include <stdio.h>
#include <string.h>

#include "spec/evaluate.h"
#include "spec/generator.h"

typedef struct kind {
    const char *name;
    bench_filling filling;
    int numbers;
    double a, b; // where no numbers are given
} kind;

static const kind kinds[] = {
    {"uniform", BENCH_FILL_UNIFORM, 2, 0, 0},   {"normal", BENCH_FILL_NORMAL, 2, 0, 0},
    {"integers", BENCH_FILL_INTEGERS, 2, 0, 0}, {"zeros", BENCH_FILL_CONSTANT, 0, 0, 0},
    {"ones", BENCH_FILL_CONSTANT, 0, 1, 0},     {"constant", BENCH_FILL_CONSTANT, 1, 0, 0},
    {"ramp", BENCH_FILL_RAMP, 0, 0, 1},         {"permutation", BENCH_FILL_PERMUTATION, 0, 0, 0},
    {"special", BENCH_FILL_SPECIAL, 0, -1, 1},  {"each", BENCH_FILL_FORMULA, 0, 0, 0},
    {"npy", BENCH_FILL_FILE, 0, 0, 0},
};

static const kind *find_kind(bench_scan *scan, int column, const char *name)
{
    const char *names[sizeof kinds / sizeof *kinds];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        names[i] = kinds[i].name;
        if (!strcmp(kinds[i].name, name))
            return &kinds[i];
    }
    bench_scan_fail(scan, column, "nothing fills a buffer by the name %s; the nearest is %s", name,
                    bench_nearest(name, names, sizeof names / sizeof *names));
    return NULL;
}

// each(i, i*3 % n)
static bool parse_formula(bench_scan *scan, bench_spec *spec, bench_generator *generator)
{
    bench_symbol index = {.kind = BENCH_SYMBOL_INDEX};
    const int column = scan->word.column, count = spec->symbols.count;
    if (!bench_scan_name(scan, index.name, "the index, as in each(i, 2*i),") ||
        !bench_scan_expect(scan, ",", "behind the index"))
        return false;
    generator->index = bench_symbols_add(&spec->symbols, scan, column, &index);
    const bool is_read = generator->index >= 0 && bench_expression_parse(scan, &spec->symbols, &generator->formula);
    // The symbol stays where it is, but nobody finds it by its name.
    if (spec->symbols.count > count)
        spec->symbols.items[count].name[0] = '\0';
    return is_read;
}

// Names that have a value, those of sums and of let among them: for these there is no place yet.
static bool has_symbols(const bench_expression *expression)
{
    for (int i = 0; i < expression->count; i++) {
        const bench_node_kind what = expression->nodes[i].kind;
        if (what == BENCH_NODE_ELEMENT || what == BENCH_NODE_SYMBOL || what == BENCH_NODE_REDUCE ||
            what == BENCH_NODE_LET)
            return true;
    }
    return false;
}

// -1 is a number now; BINS-1, of parameters, sizes and arguments, will be one where these are known.
static bool parse_number(bench_scan *scan, bench_spec *spec, bench_expression *expression, double *value)
{
    const int column = scan->word.column;
    bench_evaluation evaluation;
    if (!bench_expression_parse(scan, &spec->symbols, expression))
        return false;
    for (int i = 0; i < expression->count; i++) {
        if (expression->nodes[i].kind == BENCH_NODE_ELEMENT)
            return bench_scan_fail(scan, column, "elements of buffers are known later than what fills a buffer");
    }
    if (has_symbols(expression))
        return true;
    bench_evaluation_begin(&evaluation, &spec->symbols, NULL, BENCH_ELEMENT_DOUBLE);
    *value = bench_evaluate(&evaluation, expression).value;
    bench_expression_free(expression);
    return !evaluation.has_failed || bench_scan_fail(scan, column, "%s", evaluation.reason);
}

static bool parse_numbers(bench_scan *scan, bench_spec *spec, const kind *k, bench_generator *generator)
{
    if (k->numbers >= 1 && !parse_number(scan, spec, &generator->numbers[0], &generator->a))
        return false;
    return k->numbers < 2 || (bench_scan_expect(scan, ",", "between the numbers") &&
                              parse_number(scan, spec, &generator->numbers[1], &generator->b));
}

static bool check(bench_scan *scan, int column, const bench_buffer *buffer, const bench_generator *generator)
{
    char reason[BENCH_REASON_TEXT];
    const bool is_real = generator->filling == BENCH_FILL_UNIFORM || generator->filling == BENCH_FILL_NORMAL ||
                         generator->filling == BENCH_FILL_SPECIAL;
    if (is_real && !bench_element_is_real(buffer->element))
        return bench_scan_fail(scan, column, "%s has whole numbers: write integers(a, b)",
                               bench_element_name(buffer->element));
    // What has formulas is checked where they are numbers.
    if (generator->numbers[0].nodes || generator->numbers[1].nodes)
        return true;
    return bench_generator_check(buffer, generator, reason) || bench_scan_fail(scan, column, "%s", reason);
}

bool bench_parse_generator(bench_scan *scan, bench_spec *spec, const bench_buffer *buffer, bench_generator *generator)
{
    char name[BENCH_NAME_TEXT];
    const int column = scan->word.column;
    if (!bench_scan_name(scan, name, "what fills the buffer, such as uniform(-1, 1),"))
        return false;
    const kind *k = find_kind(scan, column, name);
    if (!k)
        return false;
    *generator = (bench_generator){.filling = k->filling, .a = k->a, .b = k->b};
    const bool has_operands = k->numbers > 0 || k->filling == BENCH_FILL_FORMULA || k->filling == BENCH_FILL_FILE;
    if (!bench_scan_is(scan, "(") && !has_operands)
        return check(scan, column, buffer, generator);
    if (!bench_scan_expect(scan, "(", "behind what fills the buffer"))
        return false;
    if (!parse_numbers(scan, spec, k, generator))
        return false;
    if (k->filling == BENCH_FILL_FORMULA && !parse_formula(scan, spec, generator))
        return false;
    if (k->filling == BENCH_FILL_FILE && !bench_scan_string(scan, generator->path, sizeof generator->path, "the path"))
        return false;
    return bench_scan_expect(scan, ")", "at the end of what fills the buffer") &&
           check(scan, column, buffer, generator);
}
