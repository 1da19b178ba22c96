// SPDX-License-Identifier: MIT
#include "spec/python.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_NODES = 300, DEEPEST = 40, MOST_POWER = 8 };

// An operator of two operands: Python's sign and level, from the loosest on, and ours.
typedef struct sign {
    const char *python, *ours;
    int level, strength;
} sign;

enum { LEVEL_OR = 1, LEVEL_AND, LEVEL_NOT, LEVEL_COMPARISON, LEVEL_BIT_OR, LEVEL_PRODUCT = 10, LEVEL_UNARY };

static const sign signs[] = {
    {"or", "||", LEVEL_OR, 1},         {"and", "&&", LEVEL_AND, 2},       {"==", "==", LEVEL_COMPARISON, 6},
    {"!=", "!=", LEVEL_COMPARISON, 6}, {"<", "<", LEVEL_COMPARISON, 7},   {"<=", "<=", LEVEL_COMPARISON, 7},
    {">", ">", LEVEL_COMPARISON, 7},   {">=", ">=", LEVEL_COMPARISON, 7}, {"|", "|", LEVEL_BIT_OR, 3},
    {"^", "^", LEVEL_BIT_OR + 1, 4},   {"&", "&", LEVEL_BIT_OR + 2, 5},   {"<<", "<<", LEVEL_BIT_OR + 3, 8},
    {">>", ">>", LEVEL_BIT_OR + 3, 8}, {"+", "+", LEVEL_BIT_OR + 4, 9},   {"-", "-", LEVEL_BIT_OR + 4, 9},
    {"*", "*", LEVEL_PRODUCT, 10},     {"/", "/", LEVEL_PRODUCT, 10},     {"//", "//", LEVEL_PRODUCT, 10},
    {"%", "%", LEVEL_PRODUCT, 10},
};

enum { OURS_CONDITION = 0, OURS_UNARY = 11, OURS_PRIMARY = 12 };

typedef enum node_kind {
    NODE_NUMBER,
    NODE_NAME,
    NODE_UNARY,  // text: our sign
    NODE_BINARY,
    NODE_CALL,   // text: our function
    NODE_CONDITION // child 0 ? child 1 : child 2
} node_kind;

typedef struct node {
    node_kind kind;
    int child[3]; // -1: none
    const sign *sign;
    char text[BENCH_NAME_TEXT];
} node;

typedef struct parser {
    bench_scan *scan;
    const bench_python_scope *scope;
    int count, depth;
    node nodes[MOST_NODES];
} parser;

static int parse_condition(parser *p);
static int parse_unary(parser *p);

static int add(parser *p, node_kind kind, const char *text, int first, int second)
{
    if (p->scan->has_failed || first == -2 || second == -2)
        return -2;
    if (p->count == MOST_NODES) {
        bench_scan_fail(p->scan, p->scan->word.column, "the expression is too long");
        return -2;
    }
    node *n = &p->nodes[p->count];
    *n = (node){.kind = kind, .child = {first, second, -1}};
    snprintf(n->text, sizeof n->text, "%.63s", text);
    return p->count++;
}

static int add_binary(parser *p, const sign *s, int left, int right)
{
    const int number = add(p, NODE_BINARY, "", left, right);
    if (number >= 0)
        p->nodes[number].sign = s;
    return number;
}

static const sign *find_sign(const char *python)
{
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (!strcmp(signs[i].python, python))
            return &signs[i];
    }
    return NULL;
}

static int add_integer(parser *p, int64_t value)
{
    char text[32];
    // Our numbers have no sign.
    snprintf(text, sizeof text, "%" PRIu64, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
    const int number = add(p, NODE_NUMBER, text, -1, -1);
    return value < 0 ? add(p, NODE_UNARY, "-", number, -1) : number;
}

// ---- names and calls ----

static const bench_config *find_parameter(const parser *p, const char *name)
{
    const bench_spec *spec = p->scope->spec;
    for (int i = 0; spec && i < spec->config_count; i++) {
        if (!strcmp(spec->symbols.items[spec->configs[i].symbol].name, name))
            return &spec->configs[i];
    }
    return NULL;
}

// max(NAME) of a parameter: the largest of all its values. -1: it is none.
static int parse_extreme(parser *p, bool is_max)
{
    bench_scan ahead = *p->scan;
    const bench_config *config = ahead.word.kind == BENCH_WORD_NAME ? find_parameter(p, ahead.word.text) : NULL;
    bench_scan_next(&ahead);
    if (!config || !bench_scan_take(&ahead, ")"))
        return -1;
    int64_t value = config->values[0];
    for (int i = 1; i < config->count; i++)
        value = (config->values[i] > value) == is_max ? config->values[i] : value;
    *p->scan = ahead;
    return add_integer(p, value);
}

static const struct {
    const char *python, *ours;
    bool may_be_many; // operands; of the others there is one
} functions[] = {
    {"min", "min", true},    {"max", "max", true},      {"abs", "abs", false},    {"int", "trunc", false},
    {"ceil", "ceil", false}, {"floor", "floor", false}, {"round", "rint", false},
};

static int parse_call(parser *p, const char *name, int column)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strcmp(functions[i].python, name) != 0)
            continue;
        const int extreme = functions[i].may_be_many ? parse_extreme(p, name[1] == 'a') : -1;
        if (extreme != -1)
            return extreme;
        int value = parse_condition(p), operands = 1;
        while (functions[i].may_be_many && value >= 0 && bench_scan_take(p->scan, ",")) {
            value = add(p, NODE_CALL, functions[i].ours, value, parse_condition(p));
            operands++;
        }
        if (!bench_scan_expect(p->scan, ")", "behind the operands"))
            return -2;
        if (functions[i].may_be_many && operands == 1)
            bench_scan_fail(p->scan, column, "%s of one number, which is no parameter, is not understood", name);
        return functions[i].may_be_many ? (p->scan->has_failed ? -2 : value)
                                        : add(p, NODE_CALL, functions[i].ours, value, -1);
    }
    bench_scan_fail(p->scan, column, "the function %s is not understood; min, max, abs, int, round, ceil and floor are",
                    name);
    return -2;
}

// ProblemSize[0], and ProblemSize where it is one number.
static int parse_problem(parser *p, int column)
{
    int64_t place = 0;
    const int count = p->scope->problem_count;
    const bool has_place = bench_scan_take(p->scan, "[");
    if (has_place &&
        (!bench_scan_integer(p->scan, &place, "a place") || !bench_scan_expect(p->scan, "]", "behind the place")))
        return -2;
    if (!has_place && count > 1)
        bench_scan_fail(p->scan, column, "ProblemSize has %d numbers: one of them is wanted", count);
    else if (place < 0 || place >= count)
        bench_scan_fail(p->scan, column, "ProblemSize has %d numbers, and none at %" PRId64, count, place);
    return p->scan->has_failed ? -2 : add_integer(p, p->scope->problem[place]);
}

static int parse_name(parser *p)
{
    char name[BENCH_NAME_TEXT];
    const int column = p->scan->word.column;
    static const char *const others[] = {"in", "is", "if", "else", "for", "lambda", "None", "not", "and", "or"};
    if (!bench_scan_name(p->scan, name, "a name"))
        return -2;
    if (!strcmp(name, "math") && bench_scan_take(p->scan, ".") && !bench_scan_name(p->scan, name, "a function"))
        return -2;
    if (bench_scan_take(p->scan, "("))
        return parse_call(p, name, column);
    if (!strcmp(name, "True") || !strcmp(name, "False"))
        return add_integer(p, name[0] == 'T');
    if (!strcmp(name, "ProblemSize"))
        return parse_problem(p, column);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!strcmp(others[i], name))
            bench_scan_fail(p->scan, column, "'%s' is not understood here", name);
    }
    if (bench_scan_is(p->scan, "[") || bench_scan_is(p->scan, "."))
        bench_scan_fail(p->scan, column, "%s%s is not understood", name, p->scan->word.text);
    return add(p, NODE_NAME, name, -1, -1);
}

static int parse_primary(parser *p)
{
    const bench_word *word = &p->scan->word;
    if (p->scan->has_failed)
        return -2;
    if (word->kind == BENCH_WORD_INTEGER || word->kind == BENCH_WORD_REAL) {
        if (strlen(word->text) >= BENCH_NAME_TEXT) {
            bench_scan_fail(p->scan, word->column, "the number is too long");
            return -2;
        }
        const int number = add(p, NODE_NUMBER, word->text, -1, -1);
        bench_scan_next(p->scan);
        return number;
    }
    if (word->kind == BENCH_WORD_NAME)
        return parse_name(p);
    if (bench_scan_take(p->scan, "(")) {
        const int inner = parse_condition(p);
        return inner >= 0 && bench_scan_expect(p->scan, ")", "behind what is in parentheses") ? inner : -2;
    }
    if (word->kind == BENCH_WORD_END)
        bench_scan_fail(p->scan, word->column, "a number or a name is wanted, and the text ends");
    else if (word->kind == BENCH_WORD_STRING)
        bench_scan_fail(p->scan, word->column, "a text is not understood: parameters are whole numbers");
    else
        bench_scan_fail(p->scan, word->column, "a number or a name is wanted, and '%.40s' stands there", word->text);
    return -2;
}

// ---- operations ----

// "**", which the scan takes for two signs.
static bool is_power(const parser *p)
{
    return bench_scan_is(p->scan, "*") && *p->scan->at == '*';
}

static bool is_number(const parser *p, int number, const char *text)
{
    return number >= 0 && p->nodes[number].kind == NODE_NUMBER && (!text || !strcmp(p->nodes[number].text, text));
}

static int parse_power(parser *p)
{
    const int base = parse_primary(p), column = p->scan->word.column;
    if (base < 0 || !is_power(p))
        return base;
    bench_scan_next(p->scan);
    bench_scan_next(p->scan);
    const int exponent = parse_unary(p);
    if (exponent < 0)
        return -2;
    if (is_number(p, base, "2"))
        return add_binary(p, find_sign("<<"), add_integer(p, 1), exponent);
    const char digit = p->nodes[exponent].text[0];
    if (!is_number(p, exponent, NULL) || p->nodes[exponent].text[1] || digit < '0' || digit > '0' + MOST_POWER) {
        bench_scan_fail(p->scan, column, "** is not understood but of 2, or with an exponent of 0 to %d", MOST_POWER);
        return -2;
    }
    int product = digit == '0' ? add_integer(p, 1) : base;
    for (int i = 1; i < digit - '0'; i++)
        product = add_binary(p, find_sign("*"), product, base);
    return product;
}

static int parse_unary(parser *p)
{
    const int column = p->scan->word.column;
    if (++p->depth > DEEPEST) {
        bench_scan_fail(p->scan, column, "the expression is too deep");
        return -2;
    }
    int number;
    if (bench_scan_take(p->scan, "-"))
        number = add(p, NODE_UNARY, "-", parse_unary(p), -1);
    else if (bench_scan_take(p->scan, "~"))
        number = add(p, NODE_UNARY, "~", parse_unary(p), -1);
    else if (bench_scan_take(p->scan, "+"))
        number = parse_unary(p);
    else
        number = parse_power(p);
    p->depth--;
    return number;
}

static const sign *next_sign(const parser *p, int level)
{
    const bool is_sign = p->scan->word.kind == BENCH_WORD_SIGN || p->scan->word.kind == BENCH_WORD_NAME;
    const sign *s = is_sign && !is_power(p) ? find_sign(p->scan->word.text) : NULL;
    return s && s->level == level ? s : NULL;
}

// a < b < c: a < b and b < c.
static int parse_binary(parser *p, int level)
{
    if (level == LEVEL_UNARY)
        return parse_unary(p);
    if (level == LEVEL_NOT && bench_scan_is(p->scan, "not")) {
        if (++p->depth > DEEPEST)
            bench_scan_fail(p->scan, p->scan->word.column, "the expression is too deep");
        bench_scan_next(p->scan);
        const int inner = p->scan->has_failed ? -2 : parse_binary(p, LEVEL_NOT);
        p->depth--;
        return add(p, NODE_UNARY, "!", inner, -1);
    }
    int left = parse_binary(p, level + 1), last = left;
    bool is_first = true;
    const sign *s;
    while (left >= 0 && (s = next_sign(p, level))) {
        bench_scan_next(p->scan);
        const int right = parse_binary(p, level + 1);
        if (level != LEVEL_COMPARISON || is_first)
            left = add_binary(p, s, left, right);
        else
            left = add_binary(p, find_sign("and"), left, add_binary(p, s, last, right));
        last = right;
        is_first = false;
    }
    return p->scan->has_failed ? -2 : left;
}

static int parse_condition(parser *p)
{
    if (++p->depth > DEEPEST) {
        bench_scan_fail(p->scan, p->scan->word.column, "the expression is too deep");
        return -2;
    }
    int value = parse_binary(p, LEVEL_OR);
    if (value >= 0 && bench_scan_take(p->scan, "if")) {
        const int condition = parse_binary(p, LEVEL_OR);
        const bool has_else = condition >= 0 && bench_scan_expect(p->scan, "else", "behind the condition");
        const int otherwise = has_else ? parse_condition(p) : -2;
        value = add(p, NODE_CONDITION, "", condition, value);
        if (value >= 0)
            p->nodes[value].child[2] = otherwise;
    }
    p->depth--;
    return p->scan->has_failed ? -2 : value;
}

// ---- writing ----

typedef struct writer {
    const node *nodes;
    char *text;
    size_t size, length;
} writer;

static void put(writer *w, const char *text)
{
    const size_t length = strlen(text);
    if (w->length + length >= w->size)
        w->length = w->size; // full: nothing more is written
    else
        memcpy(w->text + w->length, text, length + 1);
    w->length += w->length < w->size ? length : 0;
}

static bool is_quotient(const node *n)
{
    return n->kind == NODE_BINARY && !strcmp(n->sign->python, "/");
}

static void write_node(writer *w, int number, int least);

// a % (b / c) is (a * c) % b / c: of whole numbers but for the last step.
static void write_remainder(writer *w, const node *n)
{
    const node *by = &w->nodes[n->child[1]];
    write_node(w, n->child[0], 10);
    put(w, " * ");
    write_node(w, by->child[1], OURS_UNARY);
    put(w, " % ");
    write_node(w, by->child[0], OURS_UNARY);
    put(w, " / ");
    write_node(w, by->child[1], OURS_UNARY);
}

static void write_inner(writer *w, const node *n)
{
    switch (n->kind) {
    case NODE_NUMBER:
    case NODE_NAME:
        put(w, n->text);
        break;
    case NODE_UNARY:
        put(w, n->text);
        write_node(w, n->child[0], OURS_UNARY);
        break;
    case NODE_BINARY:
        if (!strcmp(n->sign->python, "%") && is_quotient(&w->nodes[n->child[1]])) {
            write_remainder(w, n);
            break;
        }
        write_node(w, n->child[0], n->sign->strength);
        put(w, " ");
        put(w, n->sign->ours);
        put(w, " ");
        write_node(w, n->child[1], n->sign->strength + 1);
        break;
    case NODE_CALL:
        put(w, n->text);
        put(w, "(");
        write_node(w, n->child[0], OURS_CONDITION);
        if (n->child[1] >= 0) {
            put(w, ", ");
            write_node(w, n->child[1], OURS_CONDITION);
        }
        put(w, ")");
        break;
    case NODE_CONDITION:
        write_node(w, n->child[0], OURS_CONDITION + 1);
        put(w, " ? ");
        write_node(w, n->child[1], OURS_CONDITION + 1);
        put(w, " : ");
        write_node(w, n->child[2], OURS_CONDITION + 1);
        break;
    }
}

static void write_node(writer *w, int number, int least)
{
    const node *n = &w->nodes[number];
    const int strength = n->kind == NODE_CONDITION ? OURS_CONDITION
                         : n->kind == NODE_BINARY  ? n->sign->strength
                         : n->kind == NODE_UNARY   ? OURS_UNARY
                                                   : OURS_PRIMARY;
    if (w->length >= w->size)
        return;
    if (strength < least)
        put(w, "(");
    write_inner(w, n);
    if (strength < least)
        put(w, ")");
}

bool bench_python_read(bench_scan *scan, const bench_python_scope *scope, char *written, size_t size)
{
    parser p;
    const int column = scan->word.column;
    p.scan = scan;
    p.scope = scope;
    p.count = p.depth = 0;
    const int root = parse_condition(&p);
    written[0] = '\0';
    if (root < 0 || scan->has_failed)
        return false;
    writer w = {.nodes = p.nodes, .text = written, .size = size};
    write_node(&w, root, OURS_CONDITION);
    return w.length < size || bench_scan_fail(scan, column, "the expression is too long");
}

void bench_python_explain(const char *found, char reason[BENCH_REASON_TEXT])
{
    const char *message = strstr(found, ": ");
    bench_explain(reason, BENCH_REASON_TEXT, "character %.*s: %.900s", message ? (int)(message - found) - 3 : 0,
                  found + 3, message ? message + 2 : found);
}

bool bench_python_write(const char *text, const bench_python_scope *scope, char *written, size_t size,
                        char reason[BENCH_REASON_TEXT])
{
    char found[BENCH_REASON_TEXT] = "";
    bench_scan scan;
    bench_scan_begin(&scan, "", 0, text, found);
    if (bench_python_read(&scan, scope, written, size) && bench_scan_end(&scan))
        return true;
    bench_python_explain(found, reason);
    return false;
}
