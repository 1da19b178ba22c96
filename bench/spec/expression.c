// SPDX-License-Identifier: MIT
#include "spec/expression.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 2000, DEEPEST = 60, MOST_INDICES = 8, MOST_NAMES = 24 };

typedef struct parser {
    bench_scan *scan;
    bench_symbols *symbols;
    bench_expression *expression;
    int depth;
} parser;

static int parse_condition(parser *p);

static int fail(parser *p, int column, const char *text)
{
    bench_scan_fail(p->scan, column, "%s", text);
    return -1;
}

static int add(parser *p, const bench_node *node)
{
    bench_expression *e = p->expression;
    if (p->scan->has_failed)
        return -1;
    if (e->count == MOST_NODES)
        return fail(p, node->column, "the expression is too long");
    if ((e->count & (e->count - 1)) == 0) {
        bench_node *nodes = realloc(e->nodes, (size_t)(e->count ? 2 * e->count : 1) * sizeof *nodes);
        if (!nodes)
            return fail(p, node->column, "host memory does not suffice");
        e->nodes = nodes;
    }
    e->nodes[e->count] = *node;
    return e->count++;
}

static const bench_node *at(const parser *p, int node)
{
    return &p->expression->nodes[node];
}

static bool is_integer(const parser *p, int node)
{
    return node >= 0 && at(p, node)->is_integer;
}

static bool is_static(const parser *p, int node)
{
    return node < 0 || at(p, node)->is_static;
}

// ---- names, elements and calls ----

static int parse_name(parser *p)
{
    const bench_word word = p->scan->word;
    const int symbol = bench_symbols_find(p->symbols, word.text);
    if (symbol < 0) {
        const char *names[BENCH_MOST_SYMBOLS + 64];
        size_t count = 0;
        for (int i = 0; i < p->symbols->count; i++)
            names[count++] = p->symbols->items[i].name;
        for (int i = 0; bench_function_get(i) && i < 64; i++)
            names[count++] = bench_function_get(i)->name;
        const char *nearest = bench_nearest(word.text, names, count);
        // A name of one letter is near to every other.
        const bool is_near = nearest && 2 * bench_edit_distance(word.text, nearest) <= strlen(word.text);
        bench_scan_fail(p->scan, word.column,
                        "nothing is called %.60s%s%s; indices come from for i<n, or sum(i<n, ...)", word.text,
                        is_near ? ", the nearest is " : "", is_near ? nearest : "");
        return -1;
    }
    const bench_symbol *s = &p->symbols->items[symbol];
    bench_node node = {.kind = BENCH_NODE_SYMBOL, .symbol = symbol, .column = word.column};
    bench_scan_next(p->scan);
    if (s->kind == BENCH_SYMBOL_LOCAL)
        return fail(p, word.column, "local memory has no value here");
    if (s->kind == BENCH_SYMBOL_BUFFER) {
        node.kind = BENCH_NODE_ELEMENT;
        if (!bench_scan_expect(p->scan, "[", "behind a buffer"))
            return -1;
        node.child[0] = parse_condition(p);
        if (node.child[0] >= 0 && !is_integer(p, node.child[0]))
            return fail(p, word.column, "an index is a whole number: write int(...), floor(...) or //");
        if (!bench_scan_expect(p->scan, "]", "behind the index"))
            return -1;
    }
    const bool is_typed =
        s->kind == BENCH_SYMBOL_BUFFER || s->kind == BENCH_SYMBOL_ARGUMENT || s->kind == BENCH_SYMBOL_NAMED;
    node.is_integer = !is_typed || !bench_element_is_real(s->element);
    node.is_named = s->kind == BENCH_SYMBOL_NAMED;
    node.is_static = node.is_integer;
    return add(p, &node);
}

// "k<" or "1<=k<" and then the end, of a sum.
static bool parse_range(parser *p, bench_node *node)
{
    bench_symbol index = {.kind = BENCH_SYMBOL_INDEX};
    int column = p->scan->word.column;
    const bool has_begin = p->scan->word.kind == BENCH_WORD_INTEGER;
    bench_node begin = {.kind = BENCH_NODE_INTEGER, .is_integer = true, .is_static = true, .column = column};
    if (has_begin) {
        if (!bench_scan_integer(p->scan, &begin.integer, "the first index") ||
            !bench_scan_expect(p->scan, "<=", "behind the first index"))
            return false;
        column = p->scan->word.column;
    }
    node->child[0] = add(p, &begin);
    if (!bench_scan_name(p->scan, index.name, "the index of the sum, as in sum(k<n, ...),") ||
        !bench_scan_expect(p->scan, "<", "behind the index of the sum"))
        return false;
    // The end is read first: it may not depend on the index.
    const int end = parse_condition(p);
    if (end < 0)
        return false;
    if (!is_integer(p, end))
        return bench_scan_fail(p->scan, column, "the end of the sum is a whole number: write floor(...) or ceil(...)");
    node->child[1] = end;
    node->symbol = bench_symbols_add(p->symbols, p->scan, column, &index);
    return node->symbol >= 0;
}

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

// Whether a range comes next: NAME< or NUMBER<=NAME<, of a name that is not in use.
static bool begins_range(const parser *p)
{
    char name[BENCH_NAME_TEXT] = "";
    const char *next = skip_blanks(p->scan->at);
    if (p->scan->word.kind == BENCH_WORD_INTEGER && next[0] == '<' && next[1] == '=') {
        next = skip_blanks(next + 2);
        size_t length = 0;
        for (; length + 1 < sizeof name && (next[length] == '_' || isalnum((unsigned char)next[length])); length++)
            name[length] = next[length];
        next = skip_blanks(next + length);
    } else if (p->scan->word.kind == BENCH_WORD_NAME) {
        snprintf(name, sizeof name, "%.63s", p->scan->word.text);
    }
    return (name[0] == '_' || isalpha((unsigned char)name[0])) && next[0] == '<' && next[1] != '<' && next[1] != '=' &&
           bench_symbols_find(p->symbols, name) < 0;
}

// Behind "sum(": the ranges, and then what is added. Several ranges are sums of sums.
static int parse_reduction(parser *p, bench_reduction reduction, int column)
{
    bench_node nodes[MOST_INDICES];
    int count = 0;
    const int symbols = p->symbols->count;
    do {
        if (count == MOST_INDICES)
            return fail(p, column, "too many indices");
        nodes[count] = (bench_node){.kind = BENCH_NODE_REDUCE, .reduction = reduction, .column = column};
        if (!parse_range(p, &nodes[count++]) || !bench_scan_expect(p->scan, ",", "behind the range of the sum"))
            return -1;
    } while (begins_range(p));
    int body = parse_condition(p);
    if (body < 0 || !bench_scan_expect(p->scan, ")", "behind what is added"))
        return -1;
    while (count-- > 0) {
        nodes[count].child[2] = body;
        nodes[count].is_integer = is_integer(p, body);
        nodes[count].is_static = is_static(p, body);
        body = add(p, &nodes[count]);
    }
    p->symbols->count = symbols;
    return body;
}

// Whether NAME = comes next.
static bool begins_name(const parser *p)
{
    const char *next = skip_blanks(p->scan->at);
    return p->scan->word.kind == BENCH_WORD_NAME && next[0] == '=' && next[1] != '=';
}

// let(a = x[i], b = a*a, a + b): each name is of the values behind it, and gone behind the parenthesis.
static int parse_let(parser *p)
{
    bench_node nodes[MOST_NAMES];
    int count = 0;
    const int symbols = p->symbols->count;
    bench_scan_next(p->scan);
    if (!bench_scan_expect(p->scan, "(", "behind let"))
        return -1;
    do {
        bench_symbol symbol = {.kind = BENCH_SYMBOL_NAMED};
        bench_node *node = &nodes[count];
        const int at = p->scan->word.column;
        if (count++ == MOST_NAMES)
            return fail(p, at, "too many names");
        *node = (bench_node){.kind = BENCH_NODE_LET, .column = at, .child = {-1, -1, -1}};
        if (!bench_scan_name(p->scan, symbol.name, "a name, as in let(a = x[i], a*a),") ||
            !bench_scan_expect(p->scan, "=", "behind the name") || (node->child[0] = parse_condition(p)) < 0 ||
            !bench_scan_expect(p->scan, ",", "behind what is named"))
            return -1;
        symbol.element = is_integer(p, node->child[0]) ? BENCH_ELEMENT_LONG : BENCH_ELEMENT_DOUBLE;
        node->symbol = bench_symbols_add(p->symbols, p->scan, at, &symbol);
        if (node->symbol < 0)
            return -1;
    } while (begins_name(p));
    int body = parse_condition(p);
    if (body < 0 || !bench_scan_expect(p->scan, ")", "behind what is computed with the names"))
        return -1;
    while (count-- > 0) {
        nodes[count].child[1] = body;
        nodes[count].is_integer = is_integer(p, body);
        nodes[count].is_static = is_static(p, body);
        body = add(p, &nodes[count]);
    }
    p->symbols->count = symbols;
    return body;
}

static int parse_call(parser *p)
{
    const bench_word word = p->scan->word;
    const bench_function *function = bench_function_find(word.text);
    const bench_element element = bench_element_find(word.text);
    const bench_reduction reduction = bench_reduction_find(word.text);
    bench_scan_next(p->scan);
    if (!bench_scan_expect(p->scan, "(", "behind a function's name"))
        return -1;
    if (reduction != BENCH_REDUCTIONS && (!function || begins_range(p)))
        return parse_reduction(p, reduction, word.column);
    bench_node node = {.kind = function ? BENCH_NODE_CALL : BENCH_NODE_CONVERT,
                       .function = function,
                       .element = element,
                       .column = word.column};
    const int operands = function ? function->operands : 1;
    bool are_integers = true, are_static = true;
    for (int i = 0; i < operands; i++) {
        if (i > 0 && !bench_scan_expect(p->scan, ",", "between operands"))
            return -1;
        node.child[i] = parse_condition(p);
        if (node.child[i] < 0)
            return -1;
        are_integers = are_integers && is_integer(p, node.child[i]);
        are_static = are_static && is_static(p, node.child[i]);
    }
    if (!bench_scan_expect(p->scan, ")", "behind the operands"))
        return -1;
    node.is_static = are_static;
    if (!function)
        node.is_integer = !bench_element_is_real(element);
    else
        node.is_integer = function->is_whole && (are_integers || (are_static && function->shape == BENCH_SHAPE_STEP));
    return add(p, &node);
}

static int parse_primary(parser *p)
{
    const bench_word *word = &p->scan->word;
    bench_node node = {.is_static = true, .column = word->column};
    if (p->scan->has_failed)
        return -1;
    if (word->kind == BENCH_WORD_INTEGER || word->kind == BENCH_WORD_REAL) {
        node.kind = word->kind == BENCH_WORD_INTEGER ? BENCH_NODE_INTEGER : BENCH_NODE_REAL;
        node.is_integer = word->kind == BENCH_WORD_INTEGER;
        node.integer = word->integer;
        node.real = word->real;
        bench_scan_next(p->scan);
        return add(p, &node);
    }
    if (word->kind == BENCH_WORD_NAME && !strcmp(word->text, "let"))
        return parse_let(p);
    if (word->kind == BENCH_WORD_NAME)
        return bench_function_find(word->text) || bench_reduction_find(word->text) != BENCH_REDUCTIONS ||
                       bench_element_find(word->text) != BENCH_ELEMENTS
                   ? parse_call(p)
                   : parse_name(p);
    if (bench_scan_take(p->scan, "(")) {
        const int inner = parse_condition(p);
        return inner >= 0 && bench_scan_expect(p->scan, ")", "behind what is in parentheses") ? inner : -1;
    }
    if (word->kind == BENCH_WORD_END)
        return fail(p, word->column, "a number or a name is wanted, and the line ends");
    bench_scan_fail(p->scan, word->column, "a number or a name is wanted, and '%.40s' stands there", word->text);
    return -1;
}

// ---- operations ----

static int parse_unary(parser *p)
{
    static const struct {
        const char *sign;
        bench_operation operation;
    } signs[] = {{"-", BENCH_NEGATE}, {"!", BENCH_NOT}, {"~", BENCH_COMPLEMENT}};
    const int column = p->scan->word.column;
    if (++p->depth > DEEPEST)
        return fail(p, column, "the expression is too deep");
    int node = -1;
    bool is_found = false;
    for (size_t i = 0; i < sizeof signs / sizeof *signs && !is_found; i++) {
        if (!bench_scan_take(p->scan, signs[i].sign))
            continue;
        is_found = true;
        const int child = parse_unary(p);
        if (child < 0)
            break;
        if (signs[i].operation == BENCH_COMPLEMENT && !is_integer(p, child)) {
            node = fail(p, column, "~ is of whole numbers");
            break;
        }
        node = add(p, &(bench_node){.kind = BENCH_NODE_OPERATION,
                                    .operation = signs[i].operation,
                                    .child = {child, -1, -1},
                                    .is_integer = is_integer(p, child),
                                    .is_static = is_static(p, child),
                                    .column = column});
    }
    if (!is_found)
        node = parse_primary(p);
    p->depth--;
    return node;
}

typedef struct binary {
    const char *sign;
    bench_operation operation;
    int strength; // the larger, the tighter
    bool wants_integers;
} binary;

static const binary binaries[] = {
    {"||", BENCH_OR, 1, false},
    {"&&", BENCH_AND, 2, false},
    {"|", BENCH_BIT_OR, 3, true},
    {"^", BENCH_BIT_XOR, 4, true},
    {"&", BENCH_BIT_AND, 5, true},
    {"==", BENCH_EQUAL, 6, false},
    {"!=", BENCH_NOT_EQUAL, 6, false},
    {"<", BENCH_LESS, 7, false},
    {"<=", BENCH_LESS_EQUAL, 7, false},
    {">", BENCH_GREATER, 7, false},
    {">=", BENCH_GREATER_EQUAL, 7, false},
    {"<<", BENCH_SHIFT_LEFT, 8, true},
    {">>", BENCH_SHIFT_RIGHT, 8, true},
    {"+", BENCH_ADD, 9, false},
    {"-", BENCH_SUBTRACT, 9, false},
    {"*", BENCH_MULTIPLY, 10, false},
    {"/", BENCH_DIVIDE, 10, false},
    {"//", BENCH_FLOOR_DIVIDE, 10, true},
    {"%", BENCH_REMAINDER, 10, true},
};

static const binary *find_binary(const parser *p)
{
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++) {
        if (bench_scan_is(p->scan, binaries[i].sign))
            return &binaries[i];
    }
    return NULL;
}

static int combine(parser *p, const binary *b, int left, int right, int column)
{
    const bool are_integers = is_integer(p, left) && is_integer(p, right);
    if (b->wants_integers && !are_integers) {
        bench_scan_fail(p->scan, column, "%s is of whole numbers: write int(...), floor(...) or //", b->sign);
        return -1;
    }
    return add(p, &(bench_node){.kind = BENCH_NODE_OPERATION,
                                .operation = b->operation,
                                .child = {left, right, -1},
                                .is_integer = are_integers && b->operation != BENCH_DIVIDE,
                                .is_static = is_static(p, left) && is_static(p, right),
                                .column = column});
}

static int parse_binary(parser *p, int weakest)
{
    int left = parse_unary(p);
    const binary *b;
    while (left >= 0 && (b = find_binary(p)) && b->strength >= weakest) {
        const int column = p->scan->word.column;
        bench_scan_next(p->scan);
        const int right = parse_binary(p, b->strength + 1);
        left = right < 0 ? -1 : combine(p, b, left, right, column);
    }
    return p->scan->has_failed ? -1 : left;
}

static int parse_condition(parser *p)
{
    if (++p->depth > DEEPEST)
        return fail(p, p->scan->word.column, "the expression is too deep");
    int condition = parse_binary(p, 1);
    const int column = p->scan->word.column;
    if (condition >= 0 && bench_scan_take(p->scan, "?")) {
        const int yes = parse_condition(p);
        const int no = yes >= 0 && bench_scan_expect(p->scan, ":", "between what a condition chooses from")
                           ? parse_condition(p)
                           : -1;
        if (no < 0)
            return -1;
        condition =
            add(p, &(bench_node){.kind = BENCH_NODE_CONDITION,
                                 .child = {condition, yes, no},
                                 .is_integer = is_integer(p, condition) && is_integer(p, yes) && is_integer(p, no),
                                 .is_static = is_static(p, condition) && is_static(p, yes) && is_static(p, no),
                                 .column = column});
    }
    p->depth--;
    return p->scan->has_failed ? -1 : condition;
}

bool bench_expression_parse(bench_scan *scan, bench_symbols *symbols, bench_expression *expression)
{
    const int count = symbols->count;
    *expression = (bench_expression){.root = -1, .file = scan->file, .line = scan->line};
    parser p = {.scan = scan, .symbols = symbols, .expression = expression};
    expression->root = parse_condition(&p);
    symbols->count = count;
    return expression->root >= 0;
}

bool bench_expression_parse_integer(bench_scan *scan, bench_symbols *symbols, bench_expression *expression,
                                    const char *what)
{
    const int column = scan->word.column;
    if (!bench_expression_parse(scan, symbols, expression))
        return false;
    if (bench_expression_root(expression)->is_integer)
        return true;
    return bench_scan_fail(scan, column, "%s is a whole number: write floor(...), ceil(...) or //", what);
}

void bench_expression_free(bench_expression *expression)
{
    free(expression->nodes);
    *expression = (bench_expression){.root = -1};
}
