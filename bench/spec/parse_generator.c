// SPDX-License-Identifier: MIT
#include "spec/parse_generator.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

static bool check_range(bench_scan *scan, int column, const bench_buffer *buffer, const bench_generator *generator)
{
    const bool is_real = bench_element_is_real(buffer->element);
    const double least =
                     is_real ? -bench_element_largest(buffer->element) : (double)bench_element_least(buffer->element),
                 most = is_real ? bench_element_largest(buffer->element) : (double)bench_element_most(buffer->element);
    const bool has_range = generator->filling == BENCH_FILL_UNIFORM || generator->filling == BENCH_FILL_INTEGERS;
    const bool is_whole = generator->a == floor(generator->a) && generator->b == floor(generator->b);
    if (has_range && generator->a > generator->b)
        return bench_scan_fail(scan, column, "the first number is above the second");
    if (generator->filling == BENCH_FILL_INTEGERS && !is_whole)
        return bench_scan_fail(scan, column, "integers(a, b) wants whole numbers");
    if (!is_real && (generator->filling == BENCH_FILL_UNIFORM || generator->filling == BENCH_FILL_NORMAL ||
                     generator->filling == BENCH_FILL_SPECIAL))
        return bench_scan_fail(scan, column, "%s has whole numbers: write integers(a, b)",
                               bench_element_name(buffer->element));
    if (has_range && (generator->a < least || generator->b > most))
        return bench_scan_fail(scan, column, "%s holds %g to %g", bench_element_name(buffer->element), least, most);
    return true;
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
        return true;
    if (!bench_scan_expect(scan, "(", "behind what fills the buffer"))
        return false;
    if (k->numbers >= 1 && !bench_scan_real(scan, &generator->a, "a number"))
        return false;
    if (k->numbers == 2 && (!bench_scan_expect(scan, ",", "between the numbers") ||
                            !bench_scan_real(scan, &generator->b, "the second number")))
        return false;
    if (k->filling == BENCH_FILL_FORMULA && !parse_formula(scan, spec, generator))
        return false;
    if (k->filling == BENCH_FILL_FILE &&
        !bench_scan_argument(scan, generator->path, sizeof generator->path, "the path, in quotes,"))
        return false;
    return bench_scan_expect(scan, ")", "at the end of what fills the buffer") &&
           check_range(scan, column, buffer, generator);
}
