// SPDX-License-Identifier: MIT
#include "spec/python_list.h"

#include <stdlib.h>
#include <string.h>

#include "spec/evaluate.h"
#include "spec/python.h"

enum { MOST_VALUES = 10000, LONGEST_VALUE = 1000 };

typedef struct list {
    bench_scan scan;
    int64_t *values;
    int count;
    bench_symbols symbols; // what a comprehension runs over, or nothing
    bench_binding bindings[BENCH_MOST_SYMBOLS];
    char found[BENCH_REASON_TEXT];
} list;

static const bench_python_scope nothing = {.spec = NULL};

static bool add(list *l, int column, int64_t value)
{
    if (l->count == MOST_VALUES)
        return bench_scan_fail(&l->scan, column, "more than %d values", MOST_VALUES);
    if ((l->count & (l->count - 1)) == 0) {
        int64_t *values = realloc(l->values, (size_t)(l->count ? 2 * l->count : 1) * sizeof *values);
        if (!values)
            return bench_scan_fail(&l->scan, column, "host memory does not suffice");
        l->values = values;
    }
    l->values[l->count++] = value;
    return true;
}

// Our expression of a value, which has no other names than the list's symbol.
static bool compile(list *l, int column, const char *written, bench_expression *expression)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_scan scan;
    bench_scan_begin(&scan, "", 0, written, reason);
    if (bench_expression_parse_integer(&scan, &l->symbols, expression, "a value") && bench_scan_end(&scan))
        return true;
    const char *message = strstr(reason, ": ");
    return bench_scan_fail(&l->scan, column, "%.600s", message ? message + 2 : reason);
}

static bool evaluate(list *l, int column, const bench_expression *expression, int64_t *value)
{
    bench_evaluation e;
    bench_evaluation_begin(&e, &l->symbols, l->bindings, BENCH_ELEMENT_INT);
    *value = bench_evaluate_integer(&e, expression);
    const char *message = strstr(e.reason, ": ");
    return !e.has_failed || bench_scan_fail(&l->scan, column, "%.600s", message ? message + 2 : e.reason);
}

static bool read_value(list *l, int64_t *value)
{
    char written[LONGEST_VALUE];
    const int column = l->scan.word.column;
    bench_expression expression = {.root = -1};
    const bool is_read = bench_python_read(&l->scan, &nothing, written, sizeof written) &&
                         compile(l, column, written, &expression) && evaluate(l, column, &expression, value);
    bench_expression_free(&expression);
    return is_read;
}

typedef struct range {
    int64_t first, end, step;
} range;

static bool read_range(list *l, range *r)
{
    int64_t numbers[3] = {0, 0, 1};
    int count = 0;
    const int column = l->scan.word.column;
    if (!bench_scan_expect(&l->scan, "range", "here") || !bench_scan_expect(&l->scan, "(", "behind range"))
        return false;
    do {
        if (count == 3)
            return bench_scan_fail(&l->scan, column, "range has at most three numbers");
        if (!read_value(l, &numbers[count++]))
            return false;
    } while (bench_scan_take(&l->scan, ","));
    *r = count == 1 ? (range){0, numbers[0], 1} : (range){numbers[0], numbers[1], numbers[2]};
    if (r->step == 0)
        return bench_scan_fail(&l->scan, column, "the step of a range is not 0");
    const int64_t most = (int64_t)1 << 40;
    for (int i = 0; i < count; i++) {
        if (numbers[i] > most || numbers[i] < -most)
            return bench_scan_fail(&l->scan, column, "a range goes up to %lld", (long long)most);
    }
    return bench_scan_expect(&l->scan, ")", "behind the range");
}

static bool goes_on(const range *r, int64_t value)
{
    return r->step > 0 ? value < r->end : value > r->end;
}

static bool add_range(list *l)
{
    range r;
    const int column = l->scan.word.column;
    if (!read_range(l, &r))
        return false;
    for (int64_t value = r.first; goes_on(&r, value); value += r.step) {
        if (!add(l, column, value))
            return false;
    }
    return true;
}

// Behind the value of [2*i for i in range(6)].
static bool add_comprehension(list *l, int column, const char *written)
{
    range r;
    bench_symbol index = {.kind = BENCH_SYMBOL_CONFIG};
    const int at = l->scan.word.column;
    bench_expression expression = {.root = -1};
    if (!bench_scan_name(&l->scan, index.name, "a name") || !bench_scan_expect(&l->scan, "in", "behind the name") ||
        !read_range(l, &r) || bench_symbols_add(&l->symbols, &l->scan, at, &index) < 0)
        return false;
    bool is_read = compile(l, column, written, &expression);
    for (int64_t i = r.first; goes_on(&r, i) && is_read; i += r.step) {
        int64_t value = 0;
        l->bindings[0].integer = i;
        is_read = evaluate(l, column, &expression, &value) && add(l, column, value);
    }
    bench_expression_free(&expression);
    l->symbols.count = 0;
    return is_read && bench_scan_expect(&l->scan, "]", "behind the range");
}

// Behind "[".
static bool add_bracket(list *l)
{
    char written[LONGEST_VALUE];
    bool is_first = true;
    while (!bench_scan_is(&l->scan, "]")) {
        const int column = l->scan.word.column;
        if (!bench_python_read(&l->scan, &nothing, written, sizeof written))
            return false;
        if (is_first && bench_scan_take(&l->scan, "for"))
            return add_comprehension(l, column, written);
        int64_t value = 0;
        bench_expression expression = {.root = -1};
        const bool is_read = compile(l, column, written, &expression) && evaluate(l, column, &expression, &value);
        bench_expression_free(&expression);
        if (!is_read || !add(l, column, value))
            return false;
        is_first = false;
        if (!bench_scan_take(&l->scan, ","))
            break;
    }
    return bench_scan_expect(&l->scan, "]", "behind the values");
}

static bool read_list(list *l)
{
    do {
        const int column = l->scan.word.column;
        bool is_read = false;
        if (bench_scan_take(&l->scan, "["))
            is_read = add_bracket(l);
        else if (bench_scan_take(&l->scan, "list"))
            is_read = bench_scan_expect(&l->scan, "(", "behind list") && add_range(l) &&
                      bench_scan_expect(&l->scan, ")", "behind the range");
        else if (bench_scan_is(&l->scan, "range"))
            is_read = add_range(l);
        else
            bench_scan_fail(&l->scan, column,
                            "this is no list: [16, 32], list(range(1, 9)), [2*i for i in range(4)] and sums of such "
                            "are");
        if (!is_read)
            return false;
    } while (bench_scan_take(&l->scan, "+"));
    return bench_scan_end(&l->scan);
}

bool bench_python_list(const char *text, int64_t **values, int *count, char reason[BENCH_REASON_TEXT])
{
    list *l = calloc(1, sizeof *l);
    *values = NULL;
    *count = 0;
    if (!l)
        return bench_explain(reason, BENCH_REASON_TEXT, "host memory does not suffice");
    bench_scan_begin(&l->scan, "", 0, text, l->found);
    const bool is_read = read_list(l);
    if (is_read) {
        *values = l->values;
        *count = l->count;
    } else {
        bench_python_explain(l->found, reason);
        free(l->values);
    }
    free(l);
    return is_read;
}
