// SPDX-License-Identifier: MIT
// A description of kernels. A refusal has its place. What is accepted has what a run of it takes for granted; at its
// first and its last point, if that says nothing against it, small buffers are filled, and judged as a kernel would
// leave them that writes nothing.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "spec/description.h"
#include "spec/fill.h"
#include "spec/judge.h"

enum { MOST_ELEMENTS = 2000, MOST_OPERATIONS = 20000 };

static const char path[] = "d/k.txt";

// "d/k.txt:7:3: ...", or "d/k.txt: ..." of the file as a whole.
static void expect_place(const char *reason)
{
    char clean[BENCH_REASON_TEXT];
    fuzz_expect_reason(reason, BENCH_REASON_TEXT);
    memcpy(clean, reason, sizeof clean);
    bench_clean_line(clean);
    fuzz_expect(!strcmp(clean, reason), "this is no UTF-8, or has more than one line: %s", reason);
    fuzz_expect(!strncmp(reason, path, sizeof path - 1) && reason[sizeof path - 1] == ':', "no place: %s", reason);
}

static void expect_name(const char *name)
{
    const size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    fuzz_expect(length > 0 && length < BENCH_NAME_TEXT && !name[length], "a name: %s", name);
}

// Of another symbol than it may be: a number of a table would be looked up past its end, or of another kind.
static void expect_symbol(const bench_spec *spec, int symbol, bench_symbol_kind kind)
{
    fuzz_expect(symbol >= 0 && symbol < spec->symbols.count, "symbol %d of %d", symbol, spec->symbols.count);
    fuzz_expect(spec->symbols.items[symbol].kind == kind, "symbol %d is of kind %d, not %d", symbol,
                (int)spec->symbols.items[symbol].kind, (int)kind);
}

// It is there, its children come before it, and what should be whole is.
static void expect_expression(const bench_spec *spec, const bench_expression *expression, bool is_integer)
{
    fuzz_expect(expression->count > 0 && expression->root == expression->count - 1, "root %d of %d nodes",
                expression->root, expression->count);
    fuzz_expect(!is_integer || bench_expression_root(expression)->is_integer, "it is no whole number");
    for (int i = 0; i < expression->count; i++) {
        const bench_node *node = &expression->nodes[i];
        for (int k = 0; k < 3; k++)
            fuzz_expect(node->child[k] < (i ? i : 1), "node %d has the child %d", i, node->child[k]);
        fuzz_expect(node->symbol >= 0 && node->symbol < BENCH_MOST_SYMBOLS, "symbol %d", node->symbol);
        if (node->kind == BENCH_NODE_ELEMENT)
            expect_symbol(spec, node->symbol, BENCH_SYMBOL_BUFFER);
    }
}

static void expect_symbols(const bench_spec *spec)
{
    const bench_symbols *symbols = &spec->symbols;
    for (int i = 0; i < symbols->count; i++) {
        // Indices of formulas have lost theirs.
        if (!symbols->items[i].name[0]) {
            expect_symbol(spec, i, BENCH_SYMBOL_INDEX);
            continue;
        }
        expect_name(symbols->items[i].name);
        fuzz_expect(bench_symbols_find(symbols, symbols->items[i].name) == i, "%s is there twice",
                    symbols->items[i].name);
    }
    for (int i = 0; i < spec->config_count; i++) {
        expect_symbol(spec, spec->configs[i].symbol, BENCH_SYMBOL_CONFIG);
        fuzz_expect(spec->configs[i].count > 0, "a parameter without values");
    }
    for (int i = 0; i < spec->sizes.names; i++)
        expect_symbol(spec, spec->sizes.symbols[i], BENCH_SYMBOL_SIZE);
    fuzz_expect(!spec->sizes.names == !spec->sizes.count, "%d names, %d sizes", spec->sizes.names, spec->sizes.count);
    fuzz_expect(bench_spec_config_count(spec) > 0 && bench_spec_size_count(spec) > 0, "nothing to try");
    for (int i = 0; i < spec->define_count; i++)
        expect_expression(spec, &spec->defines[i].value, true);
    for (int i = 0; i < spec->rule_count; i++)
        expect_expression(spec, &spec->rules[i], true);
}

static void expect_argument(const bench_spec *spec, const bench_argument *argument)
{
    if (argument->kind == BENCH_ARGUMENT_BUFFER) {
        fuzz_expect(argument->buffer >= 0 && argument->buffer < spec->buffer_count, "buffer %d", argument->buffer);
        return;
    }
    const bool is_local = argument->kind == BENCH_ARGUMENT_LOCAL;
    fuzz_expect(argument->element < BENCH_ELEMENTS, "element type %d", (int)argument->element);
    fuzz_expect(argument->width >= 1 && argument->width <= BENCH_MOST_WIDTH, "a vector of %d", argument->width);
    fuzz_expect(argument->value_count == 1 || argument->value_count == argument->width, "%d numbers of %d",
                argument->value_count, argument->width);
    for (int i = 0; i < argument->value_count; i++)
        expect_expression(spec, &argument->values[i], is_local || !bench_element_is_real(argument->element));
    if (argument->symbol >= 0)
        expect_symbol(spec, argument->symbol, argument->width > 1 ? BENCH_SYMBOL_LOCAL : BENCH_SYMBOL_ARGUMENT);
}

// Texts that stand in quotes may have blanks, and nothing that JSON or a terminal does not take.
static void expect_text(const char *text)
{
    char clean[BENCH_LONGEST_WORD];
    fuzz_expect(strlen(text) < sizeof clean, "a text does not end");
    strcpy(clean, text);
    bench_clean_line(clean);
    for (size_t i = 0; text[i]; i++)
        fuzz_expect(text[i] == clean[i] || text[i] == '\t' || text[i] == '\r', "a control character in: %s", text);
}

static void expect_steps(const bench_spec *spec)
{
    expect_text(spec->file);
    expect_text(spec->options);
    for (int i = 0; i < spec->include_count; i++)
        expect_text(spec->includes[i]);
    fuzz_expect(spec->step_count > 0 && (spec->is_pipeline || spec->step_count == 1), "%d steps", spec->step_count);
    for (int i = 0; i < spec->step_count; i++) {
        const bench_step *step = &spec->steps[i];
        expect_text(step->file);
        expect_text(step->function);
        fuzz_expect(spec->file[0] || step->file[0], "%s has no program", step->function);
        fuzz_expect(step->dimensions >= 1 && step->dimensions <= 3, "%d dimensions", step->dimensions);
        fuzz_expect(step->local_dimensions == step->dimensions || (!step->local_dimensions && !step->is_groups),
                    "%d dimensions of groups, %d in all", step->local_dimensions, step->dimensions);
        for (int k = 0; k < step->dimensions; k++)
            expect_expression(spec, &step->global[k], true);
        for (int k = 0; k < step->local_dimensions; k++)
            expect_expression(spec, &step->local[k], true);
        for (int k = 0; k < step->argument_count; k++)
            expect_argument(spec, &step->arguments[k]);
    }
}

static void expect_buffers(const bench_spec *spec)
{
    for (int i = 0; i < spec->buffer_count; i++) {
        const bench_buffer *buffer = &spec->buffers[i];
        bool is_expected = buffer->access == BENCH_ACCESS_IN || buffer->access == BENCH_ACCESS_SCRATCH;
        expect_symbol(spec, buffer->symbol, BENCH_SYMBOL_BUFFER);
        fuzz_expect(bench_spec_buffer_of(spec, buffer->symbol) == i, "buffer %d is not its symbol's", i);
        expect_expression(spec, &buffer->count, true);
        if (buffer->generator.filling == BENCH_FILL_FORMULA)
            expect_expression(spec, &buffer->generator.formula, false);
        for (int k = 0; k < spec->expectation_count; k++)
            is_expected = is_expected || spec->expectations[k].buffer == i;
        fuzz_expect(is_expected, "nothing is expected of the output %s", spec->symbols.items[buffer->symbol].name);
    }
}

static void expect_expectations(const bench_spec *spec)
{
    for (int i = 0; i < spec->expectation_count; i++) {
        const bench_expectation *expectation = &spec->expectations[i];
        fuzz_expect(expectation->buffer >= 0 && expectation->buffer < spec->buffer_count, "buffer %d",
                    expectation->buffer);
        expect_text(expectation->path);
        expect_text(expectation->function);
        fuzz_expect(expectation->limit >= 0, "within %g", expectation->limit);
        for (int k = 0; k < expectation->key_count; k++) {
            const bench_operand_of *key = &expectation->keys[k];
            expect_name(key->key);
            fuzz_expect(key->buffer < spec->buffer_count, "buffer %d", key->buffer);
            if (key->buffer < 0 && !key->word[0])
                expect_expression(spec, &key->value, false);
        }
        if (expectation->by != BENCH_BY_FORMULA)
            continue;
        expect_expression(spec, &expectation->subscript, true);
        expect_expression(spec, &expectation->formula,
                          !bench_element_is_real(spec->buffers[expectation->buffer].element));
        for (int k = 0; k < expectation->range_count; k++) {
            expect_symbol(spec, expectation->ranges[k].symbol, BENCH_SYMBOL_INDEX);
            if (expectation->ranges[k].end.root >= 0)
                expect_expression(spec, &expectation->ranges[k].end, true);
        }
    }
}

// ---- at a point ----

static void judge(bench_point *point, int buffer, const void *data)
{
    const bench_spec *spec = point->spec;
    const bench_contents contents = {data, data};
    unsigned char touched[MOST_ELEMENTS] = {0};
    bool has_all = false;
    bench_judgement judgement;
    bench_judgement_begin(&judgement);
    for (int i = 0; i < spec->expectation_count; i++) {
        const bench_expectation *expectation = &spec->expectations[i];
        bool is_all = true;
        if (expectation->buffer != buffer)
            continue;
        if (expectation->by == BENCH_BY_FORMULA)
            bench_judge_formula(point, expectation, &contents, 1, touched, &is_all, &judgement);
        else if (expectation->by == BENCH_BY_FILE || expectation->by == BENCH_BY_FUNCTION)
            bench_judge_array(point, expectation, data, &contents, &judgement);
        has_all = has_all || is_all;
    }
    if (!has_all)
        bench_judge_untouched(point, buffer, &contents, touched, &judgement);
    bench_judgement_end(&judgement);
    fuzz_expect(judgement.is_right == !judgement.text[0] && judgement.is_right == !judgement.wrong,
                "%lld are wrong, and it says: %s", (long long)judgement.wrong, judgement.text);
    fuzz_expect(judgement.wrong <= judgement.checked + 1, "%lld of %lld are wrong", (long long)judgement.wrong,
                (long long)judgement.checked);
}

static void fill_and_judge(bench_point *point, const bench_description *description)
{
    const bench_spec *spec = point->spec;
    void *data[BENCH_MOST_BUFFERS] = {NULL};
    char reason[BENCH_REASON_TEXT] = "";
    bool is_filled = true;
    for (int i = 0; i < spec->buffer_count && is_filled; i++) {
        const bench_buffer *buffer = &spec->buffers[i];
        bench_binding *binding = &point->bindings[buffer->symbol];
        fuzz_expect(binding->count > 0, "a buffer of %lld elements", (long long)binding->count);
        // A target reads no files.
        if (binding->count > MOST_ELEMENTS || buffer->generator.filling == BENCH_FILL_FILE) {
            is_filled = false;
            break;
        }
        data[i] = calloc((size_t)binding->count, bench_element_bytes(buffer->element));
        fuzz_expect(data[i] != NULL, "memory is short");
        is_filled = bench_fill(point, description, i, 1, data[i], reason);
        if (!is_filled)
            expect_place(reason);
        binding->data = data[i];
    }
    for (int i = 0; i < spec->buffer_count && is_filled; i++)
        judge(point, i, data[i]);
    for (int i = 0; i < spec->buffer_count; i++)
        free(data[i]);
}

static void evaluate_all(bench_point *point)
{
    char reason[BENCH_REASON_TEXT];
    double real = 0;
    int64_t integer = 0;
    const bench_spec *spec = point->spec;
    if (spec->flops.root >= 0 && !bench_point_real(point, &spec->flops, &real, reason))
        expect_place(reason);
    if (spec->bytes.root >= 0 && !bench_point_real(point, &spec->bytes, &real, reason))
        expect_place(reason);
    for (int i = 0; i < spec->step_count; i++) {
        for (int k = 0; k < spec->steps[i].dimensions; k++) {
            if (!bench_point_integer(point, &spec->steps[i].global[k], &integer, reason))
                expect_place(reason);
        }
    }
}

static void expect_point(const bench_description *description, const bench_spec *spec, int64_t config_number,
                         int size_number)
{
    char reason[BENCH_REASON_TEXT] = "", text[BENCH_POINT_TEXT], macros[300];
    int64_t config[BENCH_MOST_CONFIGS] = {0};
    const int64_t *size = bench_spec_size(spec, size_number);
    bench_point *point = malloc(sizeof *point);
    fuzz_expect(point != NULL, "memory is short");
    bench_spec_config(spec, config_number, config);
    bench_point_text(spec, config, size, text);
    fuzz_expect(memchr(text, 0, sizeof text) != NULL, "the point's text does not end");
    fuzz_expect_clean(text);
    const bool is_set = bench_point_set(point, spec, config, size, reason);
    bench_point_macros(point, macros, sizeof macros);
    fuzz_expect(memchr(macros, 0, sizeof macros) != NULL, "the macros do not end");
    fuzz_expect_clean(macros);
    if (is_set) {
        point->evaluation.most_steps = MOST_OPERATIONS;
        point->most_operations = MOST_OPERATIONS;
        const bool is_allowed = bench_point_is_allowed(point, reason);
        if (!is_allowed && reason[0])
            expect_place(reason);
        evaluate_all(point);
        if (is_allowed)
            fill_and_judge(point, description);
    } else {
        expect_place(reason);
    }
    free(point);
}

void fuzz_target(const char *text, size_t size)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_description description;
    (void)size;
    if (!bench_description_parse(path, text, &description, reason)) {
        expect_place(reason);
        fuzz_expect(description.count == 0 && !description.specs, "a refused description has kernels");
        return;
    }
    fuzz_expect(description.count > 0, "no kernels");
    for (int i = 0; i < description.count; i++) {
        const bench_spec *spec = description.specs[i];
        expect_name(spec->name);
        for (int k = 0; k < i; k++)
            fuzz_expect(strcmp(description.specs[k]->name, spec->name) != 0, "%s is there twice", spec->name);
        expect_symbols(spec);
        expect_steps(spec);
        expect_buffers(spec);
        expect_expectations(spec);
        const int64_t configs = bench_spec_config_count(spec);
        expect_point(&description, spec, 0, 0);
        if (configs > 1 || bench_spec_size_count(spec) > 1)
            expect_point(&description, spec, configs - 1, bench_spec_size_count(spec) - 1);
    }
    bench_description_free(&description);
}
