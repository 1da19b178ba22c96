// SPDX-License-Identifier: MIT
#include "spec/parse_spec.h"

#include <stdio.h>
#include <string.h>

#include "spec/parse_argument.h"
#include "spec/parse_expectation.h"
#include "spec/parse_numbers.h"

// ---- the heading ----

bool bench_parse_heading(bench_scan *scan, bench_spec *spec, bool is_pipeline)
{
    // All else is zero: it is large, and a file may describe hundreds.
    spec->line = scan->line;
    spec->is_pipeline = is_pipeline;
    spec->flops.root = spec->bytes.root = -1;
    if (!bench_scan_name(scan, spec->name, is_pipeline ? "the pipeline's name" : "the kernel's name"))
        return false;
    if (!is_pipeline)
        snprintf(spec->steps[0].function, sizeof spec->steps[0].function, "%s", spec->name);
    while (scan->word.kind == BENCH_WORD_NAME) {
        char key[BENCH_NAME_TEXT], *text = NULL;
        size_t size = BENCH_PATH_TEXT;
        const int column = scan->word.column;
        bench_scan_name(scan, key, "a key");
        if (!strcmp(key, "file") || !strcmp(key, "spirv") || !strcmp(key, "binary")) {
            if (spec->file[0])
                return bench_scan_fail(scan, column, "where the program is has been said already");
            text = spec->file;
            spec->form = key[0] == 'f' ? BENCH_FROM_SOURCE : key[0] == 's' ? BENCH_FROM_SPIRV : BENCH_FROM_BINARY;
        } else if (!strcmp(key, "options")) {
            text = spec->options;
            size = sizeof spec->options;
        } else if (!strcmp(key, "function") && !is_pipeline) {
            text = spec->steps[0].function;
            size = BENCH_NAME_TEXT;
        } else if (!strcmp(key, "include")) {
            if (spec->include_count == BENCH_MOST_INCLUDES)
                return bench_scan_fail(scan, column, "at most %d folders are searched", BENCH_MOST_INCLUDES);
            text = spec->includes[spec->include_count++];
        } else {
            return bench_scan_fail(scan, column, "%s is no key here: file, spirv, binary, options, include%s are", key,
                                   is_pipeline ? "" : " and function");
        }
        if (!bench_scan_argument(scan, "=", text, size, key))
            return false;
    }
    return !scan->has_failed;
}

static bool parse_define(bench_scan *scan, bench_spec *spec, bool is_macro)
{
    bench_symbol symbol = {.kind = BENCH_SYMBOL_SIZE};
    const int column = scan->word.column;
    if (!bench_scan_name(scan, symbol.name, "a name") || !bench_scan_expect(scan, "=", "behind the name"))
        return false;
    if (spec->define_count == BENCH_MOST_DEFINES)
        return bench_scan_fail(scan, column, "a kernel has at most %d of define and let", BENCH_MOST_DEFINES);
    bench_define *define = &spec->defines[spec->define_count++];
    define->is_macro = is_macro;
    define->symbol = -1;
    if (!bench_expression_parse_integer(scan, &spec->symbols, &define->value, symbol.name))
        return false;
    define->symbol = bench_symbols_add(&spec->symbols, scan, column, &symbol);
    return define->symbol >= 0;
}

static bool parse_rule(bench_scan *scan, bench_spec *spec)
{
    if (spec->rule_count == BENCH_MOST_RULES)
        return bench_scan_fail(scan, scan->word.column, "a kernel has at most %d rules", BENCH_MOST_RULES);
    return bench_expression_parse_integer(scan, &spec->symbols, &spec->rules[spec->rule_count++], "a rule");
}

// ---- launches ----

static bool parse_range(bench_scan *scan, bench_spec *spec, bench_expression range[3], int *dimensions)
{
    if (*dimensions)
        return bench_scan_fail(scan, scan->word.column, "this is given twice");
    do {
        if (*dimensions == 3)
            return bench_scan_fail(scan, scan->word.column, "a launch has at most three dimensions");
        if (!bench_expression_parse_integer(scan, &spec->symbols, &range[(*dimensions)++], "a range"))
            return false;
    } while (bench_scan_take(scan, ","));
    return true;
}

static bool parse_global(bench_scan *scan, bench_spec *spec, bench_step *step, bool is_groups)
{
    step->is_groups = is_groups;
    return parse_range(scan, spec, step->global, &step->dimensions);
}

// An argument of a pipeline's step: a buffer, local float[64], or int(n).
static bool parse_actual(bench_scan *scan, bench_spec *spec, bench_step *step)
{
    bench_argument *argument = bench_parse_add_argument(scan, step);
    if (!argument)
        return false;
    if (bench_scan_take(scan, "local"))
        return bench_parse_local_argument(scan, spec, argument);
    const int column = scan->word.column;
    const int symbol = scan->word.kind == BENCH_WORD_NAME ? bench_symbols_find(&spec->symbols, scan->word.text) : -1;
    if (symbol >= 0 && spec->symbols.items[symbol].kind == BENCH_SYMBOL_BUFFER) {
        argument->buffer = bench_spec_buffer_of(spec, symbol);
        bench_scan_next(scan);
        return !scan->has_failed;
    }
    argument->kind = BENCH_ARGUMENT_SCALAR;
    argument->value_count = 1;
    if (!bench_expression_parse(scan, &spec->symbols, &argument->values[0]))
        return false;
    const bench_node *root = bench_expression_root(&argument->values[0]);
    if (root->kind != BENCH_NODE_CONVERT)
        return bench_scan_fail(scan, column, "the number's type is not said: write int(...), float(...) or the like");
    argument->element = root->element;
    return true;
}

static bool parse_step(bench_scan *scan, bench_spec *spec)
{
    if (spec->step_count == BENCH_MOST_STEPS)
        return bench_scan_fail(scan, scan->word.column, "a pipeline has at most %d steps", BENCH_MOST_STEPS);
    bench_step *step = &spec->steps[spec->step_count++];
    *step = (bench_step){.line = scan->line};
    if (!bench_scan_name(scan, step->function, "the kernel of the step") ||
        !bench_scan_expect(scan, "(", "behind the kernel"))
        return false;
    if (!bench_scan_is(scan, ")")) {
        do {
            if (!parse_actual(scan, spec, step))
                return false;
        } while (bench_scan_take(scan, ","));
    }
    if (!bench_scan_expect(scan, ")", "behind the arguments"))
        return false;
    while (scan->word.kind == BENCH_WORD_NAME) {
        char word[BENCH_NAME_TEXT];
        const int column = scan->word.column;
        bench_scan_name(scan, word, "");
        const bool is_read = !strcmp(word, "local")    ? parse_range(scan, spec, step->local, &step->local_dimensions)
                             : !strcmp(word, "global") ? parse_global(scan, spec, step, false)
                             : !strcmp(word, "groups") ? parse_global(scan, spec, step, true)
                             : !strcmp(word, "file")
                                 ? bench_scan_argument(scan, "=", step->file, sizeof step->file, "file")
                                 : bench_scan_fail(scan, column,
                                                   "local, global, groups or file is "
                                                   "wanted, and '%s' stands there",
                                                   word);
        if (!is_read)
            return false;
    }
    return !scan->has_failed;
}

static bool parse_limit(bench_scan *scan, bench_spec *spec)
{
    static const char *const known[] = {"registers", "spills", "stack", "local_memory"};
    do {
        const int column = scan->word.column;
        if (spec->limit_count == BENCH_MOST_LIMITS)
            return bench_scan_fail(scan, column, "a kernel has at most %d limits", BENCH_MOST_LIMITS);
        bench_limit *limit = &spec->limits[spec->limit_count++];
        if (!bench_scan_name(scan, limit->what, "registers, spills, stack or local_memory"))
            return false;
        const size_t count = sizeof known / sizeof *known;
        const char *nearest = bench_nearest(limit->what, known, count);
        if (strcmp(nearest, limit->what) != 0)
            return bench_scan_fail(scan, column, "nothing is limited by the name %s; the nearest is %s", limit->what,
                                   nearest);
        const bool has_sign = bench_scan_take(scan, "<=") || bench_scan_take(scan, "=");
        if (!has_sign)
            return bench_scan_fail(scan, scan->word.column, "<= is wanted behind what is limited");
        if (!bench_scan_integer(scan, &limit->most, "the limit"))
            return false;
    } while (scan->word.kind == BENCH_WORD_NAME);
    return true;
}

// ---- lines ----

static bool parse_macro_line(bench_scan *scan, bench_spec *spec)
{
    return parse_define(scan, spec, true);
}

static bool parse_let_line(bench_scan *scan, bench_spec *spec)
{
    return parse_define(scan, spec, false);
}

static bool parse_buffer_line(bench_scan *scan, bench_spec *spec)
{
    char name[BENCH_NAME_TEXT];
    const int column = scan->word.column;
    return bench_scan_name(scan, name, "the buffer's name") &&
           bench_parse_buffer(scan, spec, name, column, false, true) >= 0;
}

static bool parse_local_line(bench_scan *scan, bench_spec *spec)
{
    return parse_range(scan, spec, spec->steps[0].local, &spec->steps[0].local_dimensions);
}

static bool parse_global_line(bench_scan *scan, bench_spec *spec)
{
    return parse_global(scan, spec, &spec->steps[0], false);
}

static bool parse_groups_line(bench_scan *scan, bench_spec *spec)
{
    return parse_global(scan, spec, &spec->steps[0], true);
}

static bool parse_flops_line(bench_scan *scan, bench_spec *spec)
{
    bench_expression_free(&spec->flops);
    return bench_expression_parse(scan, &spec->symbols, &spec->flops);
}

static bool parse_bytes_line(bench_scan *scan, bench_spec *spec)
{
    bench_expression_free(&spec->bytes);
    return bench_expression_parse(scan, &spec->symbols, &spec->bytes);
}

typedef enum where { ANYWHERE, OF_KERNELS, OF_PIPELINES } where;

static const struct {
    const char *word;
    bool (*parse)(bench_scan *scan, bench_spec *spec);
    where where;
} lines[] = {
    {"config", bench_parse_configs, ANYWHERE},     {"where", parse_rule, ANYWHERE},
    {"define", parse_macro_line, ANYWHERE},        {"let", parse_let_line, ANYWHERE},
    {"size", bench_parse_sizes, ANYWHERE},         {"measure", bench_parse_measured, ANYWHERE},
    {"arg", bench_parse_arguments, OF_KERNELS},    {"buffer", parse_buffer_line, OF_PIPELINES},
    {"local", parse_local_line, OF_KERNELS},       {"global", parse_global_line, OF_KERNELS},
    {"groups", parse_groups_line, OF_KERNELS},     {"step", parse_step, OF_PIPELINES},
    {"expect", bench_parse_expectation, ANYWHERE}, {"flops", parse_flops_line, ANYWHERE},
    {"bytes", parse_bytes_line, ANYWHERE},         {"limit", parse_limit, ANYWHERE},
};

bool bench_parse_line(bench_scan *scan, bench_spec *spec)
{
    const char *words[sizeof lines / sizeof *lines + 2];
    size_t count = 0;
    const int column = scan->word.column;
    char word[BENCH_NAME_TEXT];
    if (!bench_scan_name(scan, word, "the first word of a line, such as arg,"))
        return false;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        words[count++] = lines[i].word;
        if (strcmp(lines[i].word, word) != 0)
            continue;
        if (lines[i].where == (spec->is_pipeline ? OF_KERNELS : OF_PIPELINES))
            return bench_scan_fail(scan, column,
                                   "%s is of a %s: a pipeline has `buffer` and `step`, a kernel `arg`, "
                                   "`local` and `global`",
                                   word, spec->is_pipeline ? "kernel" : "pipeline");
        return lines[i].parse(scan, spec) && bench_scan_end(scan);
    }
    words[count++] = "kernel";
    words[count++] = "pipeline";
    return bench_scan_fail(scan, column, "no line begins with %s; the nearest is %s", word,
                           bench_nearest(word, words, count));
}

// ---- at its end ----

static bool expects(const bench_spec *spec, int buffer)
{
    for (int i = 0; i < spec->expectation_count; i++) {
        if (spec->expectations[i].buffer == buffer)
            return true;
    }
    return false;
}

// These options leave errors open, so that no bound can be derived.
static bool check_relaxed(bench_scan *scan, const bench_spec *spec)
{
    static const char *const options[] = {"-cl-fast-relaxed-math", "-cl-unsafe-math-optimizations", "-cl-mad-enable"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        for (int k = 0; k < spec->expectation_count && strstr(spec->options, options[i]); k++) {
            const bench_expectation *expectation = &spec->expectations[k];
            const bool is_derived =
                expectation->by == BENCH_BY_FORMULA &&
                (expectation->tolerance == BENCH_WITHIN_DERIVED || expectation->tolerance == BENCH_WITHIN_WORST);
            if (!is_derived || !bench_element_is_real(spec->buffers[expectation->buffer].element))
                continue;
            scan->line = expectation->line;
            return bench_scan_fail(scan, 1,
                                   "%s leaves open how far results may be off: write within 4 ulp, within 1e-5 or the "
                                   "like",
                                   options[i]);
        }
    }
    return true;
}

bool bench_parse_check(bench_scan *scan, const bench_spec *spec)
{
    if (scan->has_failed)
        return false;
    scan->line = spec->line;
    for (int i = 0; i < spec->step_count; i++) {
        const bench_step *step = &spec->steps[i];
        if (!spec->file[0] && !step->file[0])
            return bench_scan_fail(scan, 1, "%s: where its program is is not said: write file=NAME.cl behind %s",
                                   step->function, spec->is_pipeline ? "the step" : "its name");
        if (!step->dimensions)
            return bench_scan_fail(scan, 1,
                                   "%s: how many work-items run is not said: write global n, or groups with "
                                   "local",
                                   step->function);
        if (step->is_groups && step->local_dimensions != step->dimensions)
            return bench_scan_fail(scan, 1, "%s: groups needs local with as many dimensions", step->function);
        if (step->local_dimensions && step->local_dimensions != step->dimensions)
            return bench_scan_fail(scan, 1, "%s: local has %d dimensions, and global %d", step->function,
                                   step->local_dimensions, step->dimensions);
    }
    if (!spec->step_count)
        return bench_scan_fail(scan, 1, "%s has no steps", spec->name);
    if (!check_relaxed(scan, spec))
        return false;
    for (int i = 0; i < spec->buffer_count; i++) {
        const bench_buffer *buffer = &spec->buffers[i];
        const bool is_output = buffer->access == BENCH_ACCESS_OUT || buffer->access == BENCH_ACCESS_INOUT;
        if (is_output && !expects(spec, i)) {
            const char *name = spec->symbols.items[buffer->symbol].name;
            scan->line = buffer->line;
            return bench_scan_fail(scan, 1,
                                   "%s is an output, and what it should hold is not said: write expect %s[i] = "
                                   "..., or expect %s anything",
                                   name, name, name);
        }
    }
    return true;
}
