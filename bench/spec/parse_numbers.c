// SPDX-License-Identifier: MIT
#include "spec/parse_numbers.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 10000 };

static const int64_t largest = (int64_t)1 << 40;

typedef struct list {
    int64_t *values;
    int count;
} list;

static bool list_add(bench_scan *scan, list *l, int64_t value)
{
    if (l->count == MOST_VALUES)
        return bench_scan_fail(scan, scan->word.column, "more than %d values", MOST_VALUES);
    if ((l->count & (l->count - 1)) == 0) {
        int64_t *values = realloc(l->values, (size_t)(l->count ? 2 * l->count : 1) * sizeof *values);
        if (!values)
            return bench_scan_fail(scan, scan->word.column, "host memory does not suffice");
        l->values = values;
    }
    l->values[l->count++] = value;
    return true;
}

// 1, 1..4, 16..64+16, 1..1024*2
static bool parse_item(bench_scan *scan, list *l)
{
    int64_t first = 0, last = 0, step = 1;
    const int column = scan->word.column;
    if (!bench_scan_integer(scan, &first, "a value"))
        return false;
    if (first > largest || first < -largest)
        return bench_scan_fail(scan, column, "a value is at most %lld", (long long)largest);
    if (!bench_scan_take(scan, ".."))
        return list_add(scan, l, first);
    if (!bench_scan_integer(scan, &last, "the end of the range"))
        return false;
    const bool is_product = bench_scan_take(scan, "*");
    if ((is_product || bench_scan_take(scan, "+")) && !bench_scan_integer(scan, &step, "the step of the range"))
        return false;
    if (last < first || last > largest || step < (is_product ? 2 : 1) || (is_product && first < 1))
        return bench_scan_fail(scan, column,
                               "a range goes up: first..last, first..last+step, or first..last*factor from 1 on with a "
                               "factor of 2 or more");
    // Whatever the step is, what lies past the end is not computed.
    for (int64_t value = first; list_add(scan, l, value);) {
        if (is_product ? value > last / step : step > last - value)
            break;
        value = is_product ? value * step : value + step;
    }
    return !scan->has_failed;
}

static bool parse_list(bench_scan *scan, list *l)
{
    do {
        if (!parse_item(scan, l))
            return false;
    } while (bench_scan_take(scan, ","));
    return true;
}

bool bench_parse_configs(bench_scan *scan, bench_spec *spec)
{
    do {
        bench_symbol symbol = {.kind = BENCH_SYMBOL_CONFIG};
        const int column = scan->word.column;
        if (!bench_scan_name(scan, symbol.name, "a parameter") || !bench_scan_expect(scan, "=", "behind its name"))
            return false;
        if (spec->config_count == BENCH_MOST_CONFIGS)
            return bench_scan_fail(scan, column, "a kernel has at most %d parameters", BENCH_MOST_CONFIGS);
        bench_config *config = &spec->configs[spec->config_count];
        config->symbol = bench_symbols_add(&spec->symbols, scan, column, &symbol);
        if (config->symbol < 0)
            return false;
        list l = {0};
        spec->config_count++;
        const bool is_read = parse_list(scan, &l);
        config->values = l.values;
        config->count = l.count;
        if (!is_read)
            return false;
    } while (scan->word.kind == BENCH_WORD_NAME);
    return true;
}

// The points of one line: every combination, the last name's values first.
static bool add_points(bench_scan *scan, bench_sizes *sizes, const list *lists)
{
    double points = 1;
    for (int i = 0; i < sizes->names; i++)
        points *= lists[i].count;
    if (points + sizes->count > MOST_VALUES)
        return bench_scan_fail(scan, 1, "more than %d sizes", MOST_VALUES);
    const int count = (int)points, names = sizes->names;
    int64_t *values = realloc(sizes->values, (size_t)(sizes->count + count) * (size_t)names * sizeof *values);
    if (!values)
        return bench_scan_fail(scan, 1, "host memory does not suffice");
    sizes->values = values;
    for (int point = 0; point < count; point++) {
        int rest = point;
        for (int i = names - 1; i >= 0; i--) {
            values[(sizes->count + point) * names + i] = lists[i].values[rest % lists[i].count];
            rest /= lists[i].count;
        }
    }
    sizes->count += count;
    return true;
}

// A name's place in the line; -1: a mistake. The first line of sizes says which there are.
static int size_of(bench_scan *scan, bench_spec *spec, bool is_first)
{
    bench_symbol symbol = {.kind = BENCH_SYMBOL_SIZE};
    bench_sizes *sizes = &spec->sizes;
    const int column = scan->word.column;
    if (!bench_scan_name(scan, symbol.name, "the name of a size") || !bench_scan_expect(scan, "=", "behind its name"))
        return -1;
    for (int i = 0; i < sizes->names; i++) {
        if (!strcmp(spec->symbols.items[sizes->symbols[i]].name, symbol.name))
            return i;
    }
    if (!is_first)
        bench_scan_fail(scan, column, "the first line of sizes has no %s", symbol.name);
    else if (sizes->names == BENCH_MOST_SIZES)
        bench_scan_fail(scan, column, "a kernel has at most %d sizes", BENCH_MOST_SIZES);
    else
        sizes->symbols[sizes->names] = bench_symbols_add(&spec->symbols, scan, column, &symbol);
    return scan->has_failed ? -1 : sizes->names++;
}

static bool parse_points(bench_scan *scan, bench_spec *spec, bench_sizes *to)
{
    list lists[BENCH_MOST_SIZES] = {{0}};
    const bool is_first = spec->sizes.count == 0;
    do {
        const int column = scan->word.column, place = size_of(scan, spec, is_first);
        if (place < 0)
            break;
        if (lists[place].count)
            bench_scan_fail(scan, column, "this size is given twice in a line");
        else
            parse_list(scan, &lists[place]);
    } while (scan->word.kind == BENCH_WORD_NAME);
    for (int i = 0; i < spec->sizes.names && !scan->has_failed; i++) {
        if (!lists[i].count)
            bench_scan_fail(scan, 1, "the line lacks %s", spec->symbols.items[spec->sizes.symbols[i]].name);
    }
    to->names = spec->sizes.names;
    if (!scan->has_failed)
        add_points(scan, to, lists);
    for (int i = 0; i < BENCH_MOST_SIZES; i++)
        free(lists[i].values);
    return !scan->has_failed;
}

bool bench_parse_sizes(bench_scan *scan, bench_spec *spec)
{
    return parse_points(scan, spec, &spec->sizes);
}

bool bench_parse_measured(bench_scan *scan, bench_spec *spec)
{
    if (!spec->sizes.count)
        return bench_scan_fail(scan, 1, "`measure` is of sizes, which a line `size` before it names");
    memcpy(spec->measured.symbols, spec->sizes.symbols, sizeof spec->measured.symbols);
    return parse_points(scan, spec, &spec->measured);
}
