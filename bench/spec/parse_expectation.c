// SPDX-License-Identifier: MIT
#include "spec/parse_expectation.h"

#include <stdio.h>
#include <string.h>

// Whether it uses a symbol from this number to below that.
static bool uses_from(const bench_expression *expression, int first, int count)
{
    for (int i = 0; i < expression->count; i++) {
        const bench_node *node = &expression->nodes[i];
        if (node->kind == BENCH_NODE_SYMBOL && node->symbol >= first && node->symbol < count)
            return true;
    }
    return false;
}

// The indices come last, `for i<n, j<m`, and are used before: this reads them first, from a copy of the scan.
static bool parse_ranges(bench_scan *scan, bench_spec *spec, bench_expectation *expectation)
{
    bench_scan ahead = *scan;
    const int first = spec->symbols.count;
    while (ahead.word.kind != BENCH_WORD_END && !bench_scan_is(&ahead, "for"))
        bench_scan_next(&ahead);
    if (ahead.has_failed) {
        *scan = ahead;
        return false;
    }
    if (!bench_scan_take(&ahead, "for"))
        return true;
    do {
        bench_symbol index = {.kind = BENCH_SYMBOL_INDEX};
        const int column = ahead.word.column;
        bench_range *range = &expectation->ranges[expectation->range_count];
        if (expectation->range_count == BENCH_MOST_RANGES) {
            bench_scan_fail(&ahead, column, "an expectation has at most %d indices", BENCH_MOST_RANGES);
            break;
        }
        if (!bench_scan_name(&ahead, index.name, "an index, as in for i<n,") ||
            !bench_scan_expect(&ahead, "<", "behind the index"))
            break;
        expectation->range_count++;
        if (!bench_expression_parse(&ahead, &spec->symbols, &range->end))
            break;
        if (!bench_expression_root(&range->end)->is_integer)
            bench_scan_fail(&ahead, column, "the end of an index is a whole number: write floor(...) or ceil(...)");
        if (uses_from(&range->end, first, spec->symbols.count))
            bench_scan_fail(&ahead, column, "the end of an index cannot depend on another index");
        range->symbol = bench_symbols_add(&spec->symbols, &ahead, column, &index);
    } while (!ahead.has_failed && bench_scan_take(&ahead, ","));
    if (ahead.has_failed)
        *scan = ahead;
    return !ahead.has_failed;
}

// Passes over what parse_ranges has read.
static bool skip_ranges(bench_scan *scan, bench_spec *spec, const bench_expectation *expectation)
{
    if (!bench_scan_take(scan, "for"))
        return true;
    for (int i = 0; i < expectation->range_count; i++) {
        bench_expression again;
        if (i > 0)
            bench_scan_next(scan);
        bench_scan_next(scan);
        bench_scan_next(scan);
        const bool is_read = bench_expression_parse(scan, &spec->symbols, &again);
        bench_expression_free(&again);
        if (!is_read)
            return false;
    }
    return true;
}

// `y[i] = ...` without `for`: i goes over all of y.
static bool add_plain_index(bench_scan *scan, bench_spec *spec, bench_expectation *expectation)
{
    bench_symbol index = {.kind = BENCH_SYMBOL_INDEX};
    const int column = scan->word.column;
    if (scan->word.kind != BENCH_WORD_NAME || bench_symbols_find(&spec->symbols, scan->word.text) >= 0 ||
        bench_word_is_reserved(scan->word.text))
        return true;
    snprintf(index.name, sizeof index.name, "%.63s", scan->word.text);
    bench_range *range = &expectation->ranges[expectation->range_count++];
    range->end = (bench_expression){.root = -1};
    range->symbol = bench_symbols_add(&spec->symbols, scan, column, &index);
    bench_scan ahead = *scan;
    bench_scan_next(&ahead);
    if (!bench_scan_is(&ahead, "]"))
        return bench_scan_fail(scan, column, "how far %s goes is not said: write for %s<... behind the formula",
                               index.name, index.name);
    return range->symbol >= 0;
}

static bool parse_formula(bench_scan *scan, bench_spec *spec, bench_expectation *expectation)
{
    const bench_element element = spec->buffers[expectation->buffer].element;
    const int column = scan->word.column;
    expectation->by = BENCH_BY_FORMULA;
    bench_scan_next(scan);
    if (!parse_ranges(scan, spec, expectation))
        return false;
    if (!expectation->range_count && !add_plain_index(scan, spec, expectation))
        return false;
    if (!bench_expression_parse(scan, &spec->symbols, &expectation->subscript))
        return false;
    if (!bench_expression_root(&expectation->subscript)->is_integer)
        return bench_scan_fail(scan, column, "an index is a whole number: write floor(...) or //");
    if (!bench_scan_expect(scan, "]", "behind the index") || !bench_scan_expect(scan, "=", "before the formula") ||
        !bench_expression_parse(scan, &spec->symbols, &expectation->formula))
        return false;
    if (!bench_element_is_real(element) && !bench_expression_root(&expectation->formula)->is_integer)
        return bench_scan_fail(scan, column,
                               "%s has whole numbers, and the formula may come to others: write int(...), floor(...) "
                               "or //",
                               bench_element_name(element));
    return true;
}

// An operand's buffer, a number, or a word such as `relu`.
static bool parse_key(bench_scan *scan, bench_spec *spec, bench_operand_of *key)
{
    *key = (bench_operand_of){.buffer = -1, .value = {.root = -1}};
    if (!bench_scan_name(scan, key->key, "a key of the operator's case") ||
        !bench_scan_expect(scan, "=", "behind the key"))
        return false;
    bench_scan ahead = *scan;
    bench_scan_next(&ahead);
    const bool is_alone = bench_scan_is(&ahead, ",") || bench_scan_is(&ahead, ")");
    const int symbol = scan->word.kind == BENCH_WORD_NAME ? bench_symbols_find(&spec->symbols, scan->word.text) : -1;
    if (is_alone && symbol >= 0 && spec->symbols.items[symbol].kind == BENCH_SYMBOL_BUFFER) {
        key->buffer = bench_spec_buffer_of(spec, symbol);
        bench_scan_next(scan);
        return true;
    }
    if (is_alone && symbol < 0 && scan->word.kind == BENCH_WORD_NAME)
        return bench_scan_name(scan, key->word, "a word");
    return bench_expression_parse(scan, &spec->symbols, &key->value);
}

// gemm(m=M, n=N, k=K, x=a, w=b)
static bool parse_operator(bench_scan *scan, bench_spec *spec, bench_expectation *expectation)
{
    expectation->by = BENCH_BY_OPERATOR;
    if (!bench_scan_name(scan, expectation->op, "an operator of clbench list, such as gemm,") ||
        !bench_scan_expect(scan, "(", "behind the operator"))
        return false;
    do {
        if (expectation->key_count == BENCH_MOST_KEYS)
            return bench_scan_fail(scan, scan->word.column, "too many keys");
        if (!parse_key(scan, spec, &expectation->keys[expectation->key_count++]))
            return false;
    } while (bench_scan_take(scan, ","));
    return bench_scan_expect(scan, ")", "behind the keys");
}

// by "./libref.so:saxpy_ref", or by "y.npy"
static bool parse_foreign(bench_scan *scan, bench_expectation *expectation)
{
    const int column = scan->word.column;
    if (!bench_scan_argument(scan, "by", expectation->path, sizeof expectation->path,
                             "\"LIBRARY:FUNCTION\" or the path of an .npy file"))
        return false;
    const size_t length = strlen(expectation->path);
    if (length > 4 && !strcmp(expectation->path + length - 4, ".npy")) {
        expectation->by = BENCH_BY_FILE;
        return true;
    }
    char *colon = strrchr(expectation->path, ':');
    if (!colon || colon == expectation->path || !colon[1] || strlen(colon + 1) >= sizeof expectation->function)
        return bench_scan_fail(scan, column, "this is neither \"LIBRARY:FUNCTION\" nor the path of an .npy file");
    snprintf(expectation->function, sizeof expectation->function, "%s", colon + 1);
    *colon = '\0';
    expectation->by = BENCH_BY_FUNCTION;
    return true;
}

static bool parse_tolerance(bench_scan *scan, bench_expectation *expectation)
{
    if (bench_scan_take(scan, "exactly")) {
        expectation->tolerance = BENCH_WITHIN_NOTHING;
        return true;
    }
    if (!bench_scan_take(scan, "within"))
        return true;
    if (bench_scan_take(scan, "worst")) {
        expectation->tolerance = BENCH_WITHIN_WORST;
        return bench_scan_expect(scan, "case", "behind worst");
    }
    const int column = scan->word.column;
    if (!bench_scan_real(scan, &expectation->limit, "how far results may be off"))
        return false;
    if (expectation->limit < 0)
        return bench_scan_fail(scan, column, "results cannot be off by less than nothing");
    expectation->tolerance = bench_scan_take(scan, "ulp") || bench_scan_take(scan, "ulps") ? BENCH_WITHIN_ULPS
                             : bench_scan_take(scan, "relative")                           ? BENCH_WITHIN_RELATIVE
                                                                                           : BENCH_WITHIN_ABSOLUTE;
    return true;
}

// What expects a bound of nobody, or has one that it cannot have.
static bool check_tolerance(bench_scan *scan, int column, const bench_spec *spec, const bench_expectation *expectation)
{
    const bench_element element = spec->buffers[expectation->buffer].element;
    const bool is_foreign = expectation->by == BENCH_BY_FUNCTION || expectation->by == BENCH_BY_FILE;
    const bool is_derived =
        expectation->tolerance == BENCH_WITHIN_DERIVED || expectation->tolerance == BENCH_WITHIN_WORST;
    if (is_foreign && is_derived && bench_element_is_real(element))
        return bench_scan_fail(
            scan, column,
            "no bound can be derived here: write within 2 ulp, within 1e-5, within 1e-5 relative, or "
            "exactly");
    if (expectation->tolerance == BENCH_WITHIN_WORST && expectation->by != BENCH_BY_FORMULA)
        return bench_scan_fail(scan, column, "the worst case is derived of formulas alone");
    if (!bench_element_is_real(element) && expectation->tolerance == BENCH_WITHIN_ULPS)
        return bench_scan_fail(scan, column, "whole numbers have no ulp: write within 1, or nothing for exactly");
    return true;
}

static bool parse_computed_in(bench_scan *scan, bench_expectation *expectation)
{
    if (!bench_scan_take(scan, "computed"))
        return true;
    const int column = scan->word.column;
    char name[BENCH_NAME_TEXT];
    if (!bench_scan_expect(scan, "in", "behind computed"))
        return false;
    const int at = scan->word.column;
    if (!bench_scan_name(scan, name, "half, float or double"))
        return false;
    const bench_element element = bench_element_find(name);
    if (element == BENCH_ELEMENTS || !bench_element_is_real(element))
        return bench_scan_fail(scan, at, "kernels round in half, float and double");
    if (expectation->by != BENCH_BY_FORMULA)
        return bench_scan_fail(scan, column, "this is of formulas alone");
    expectation->computed_in = element;
    return true;
}

// What stands behind a formula or what is in its place, in any order.
static bool parse_clauses(bench_scan *scan, bench_spec *spec, bench_expectation *expectation)
{
    bool has_ranges = false;
    while (!scan->has_failed) {
        if (bench_scan_is(scan, "for") && has_ranges)
            return bench_scan_fail(scan, scan->word.column, "for is given twice");
        if (bench_scan_is(scan, "for") && expectation->by == BENCH_BY_FORMULA)
            has_ranges = skip_ranges(scan, spec, expectation);
        else if (bench_scan_is(scan, "computed"))
            parse_computed_in(scan, expectation);
        else if (bench_scan_take(scan, "in"))
            expectation->any_order =
                bench_scan_expect(scan, "any", "behind in") && bench_scan_expect(scan, "order", "behind in any");
        else if (bench_scan_is(scan, "within") || bench_scan_is(scan, "exactly"))
            parse_tolerance(scan, expectation);
        else
            return true;
    }
    return false;
}

bool bench_parse_expectation(bench_scan *scan, bench_spec *spec)
{
    const int column = scan->word.column;
    char name[BENCH_NAME_TEXT];
    if (!bench_scan_name(scan, name, "the name of a buffer"))
        return false;
    const int symbol = bench_symbols_find(&spec->symbols, name);
    const int buffer = symbol >= 0 ? bench_spec_buffer_of(spec, symbol) : -1;
    if (buffer < 0)
        return bench_scan_fail(scan, column, "%s is no buffer of the kernel", name);
    if (spec->buffers[buffer].access == BENCH_ACCESS_IN || spec->buffers[buffer].access == BENCH_ACCESS_SCRATCH)
        return bench_scan_fail(scan, column, "%s is no output: it is declared as neither out nor inout", name);
    if (spec->expectation_count == BENCH_MOST_EXPECTATIONS)
        return bench_scan_fail(scan, column, "a kernel has at most %d expectations", BENCH_MOST_EXPECTATIONS);
    const int symbols = spec->symbols.count, behind = scan->word.column;
    bench_expectation *expectation = &spec->expectations[spec->expectation_count++];
    *expectation = (bench_expectation){.buffer = buffer,
                                       .subscript = {.root = -1},
                                       .formula = {.root = -1},
                                       .computed_in = spec->buffers[buffer].element,
                                       .line = scan->line};
    bool is_read = false;
    if (bench_scan_is(scan, "[")) {
        is_read = parse_formula(scan, spec, expectation);
    } else if (bench_scan_take(scan, "anything")) {
        expectation->by = BENCH_BY_NOBODY;
        expectation->any_order = true;
        is_read = true;
    } else if (bench_scan_take(scan, "repeatable")) {
        expectation->by = BENCH_BY_NOBODY;
        is_read = true;
    } else if (bench_scan_take(scan, "as")) {
        is_read = parse_operator(scan, spec, expectation);
    } else if (bench_scan_is(scan, "by")) {
        is_read = parse_foreign(scan, expectation);
    } else {
        is_read = bench_scan_fail(scan, scan->word.column,
                                  "behind %s comes [i] = FORMULA, as OPERATOR(...), by \"LIBRARY:FUNCTION\", by "
                                  "\"FILE.npy\", anything, or repeatable",
                                  name);
    }
    is_read = is_read && parse_clauses(scan, spec, expectation);
    // Indices keep their places, but nobody finds them by their names.
    for (int i = symbols; i < spec->symbols.count; i++)
        spec->symbols.items[i].name[0] = '\0';
    return is_read && check_tolerance(scan, behind, spec, expectation);
}
