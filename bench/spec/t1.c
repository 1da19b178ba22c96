// SPDX-License-Identifier: MIT
#include "spec/t1.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/python_list.h"
#include "spec/t1_argument.h"
#include "spec/t1_document.h"

#define SPACE         "ConfigurationSpace"
#define SPECIFICATION "KernelSpecification"

enum { LONGEST_PATH = BENCH_PATH_TEXT - 1, LONGEST_OPTIONS = 500, LONGEST_VALUES = 100000, MOST_VALUES = 10000 };

// ---- the kernel ----

static bool check_language(bench_t1 *t, const json_t *specification)
{
    const char *language =
        bench_t1_string(t, SPECIFICATION ".Language", json_object_get(specification, "Language"), 40);
    return language && (!strcmp(language, "OpenCL") ||
                        bench_t1_fail(t, SPECIFICATION ".Language", "%s: clbench runs kernels in OpenCL", language));
}

static bool read_options(bench_t1 *t, const json_t *specification, char options[LONGEST_OPTIONS + 2])
{
    const json_t *array = json_object_get(specification, "CompilerOptions");
    options[0] = '\0';
    if (array && !json_is_array(array))
        return bench_t1_fail(t, SPECIFICATION ".CompilerOptions", "an array of strings is wanted");
    for (size_t i = 0; i < json_array_size(array); i++) {
        char member[BENCH_T1_MEMBER_TEXT];
        snprintf(member, sizeof member, SPECIFICATION ".CompilerOptions[%zu]", i);
        const char *option = bench_t1_string(t, member, json_array_get(array, i), LONGEST_OPTIONS);
        if (!option)
            return false;
        if (strlen(options) + strlen(option) + 1 > LONGEST_OPTIONS)
            return bench_t1_fail(t, member, "all options together have more than %d characters", LONGEST_OPTIONS);
        bench_append(options, LONGEST_OPTIONS + 2, "%s%s", options[0] && option[0] ? " " : "", option);
    }
    return true;
}

static bool read_heading(bench_t1 *t, const json_t *specification)
{
    static const char *const known[] = {
        "Language",  "KernelName", "KernelFile",      "CompilerOptions",    "GlobalSize",          "GlobalSizeType",
        "LocalSize", "GridDivX",   "GridDivY",        "GridDivZ",           "ProblemSize",         "SharedMemory",
        "Arguments", "Device",     "Profiling",       "ReferenceArguments", "BenchmarkName",       "BenchmarkPath",
        "Stream",    "Misc",       "SimulationInput", "KernelTypeNames",    "SharedMemoryOriginal"};
    char options[LONGEST_OPTIONS + 2], line[4 * LONGEST_PATH + 200];
    if (!bench_t1_check_members(t, SPECIFICATION, specification, known, sizeof known / sizeof *known) ||
        !check_language(t, specification))
        return false;
    const char *name =
        bench_t1_string(t, SPECIFICATION ".KernelName", json_object_get(specification, "KernelName"), LONGEST_PATH);
    const char *file = name ? bench_t1_string(t, SPECIFICATION ".KernelFile",
                                              json_object_get(specification, "KernelFile"), LONGEST_PATH)
                            : NULL;
    if (!file || !read_options(t, specification, options))
        return false;
    if (!bench_t1_is_name(name))
        return bench_t1_fail(t, SPECIFICATION ".KernelName", "%.60s is no name of a kernel in OpenCL", name);
    if (json_array_size(json_object_get(specification, "KernelTypeNames")))
        return bench_t1_fail(t, SPECIFICATION ".KernelTypeNames", "OpenCL C has no templates");
    snprintf(line, sizeof line, "kernel %s file=", name);
    bench_t1_quote(line, sizeof line, file);
    bench_append(line, sizeof line, " options=");
    bench_t1_quote(line, sizeof line, options);
    if (!bench_t1_line(t, SPECIFICATION, line))
        return false;
    t->spec->step_count = 1;
    t->spec->steps[0].line = t->spec->line;
    return true;
}

// ---- parameters ----

// A JSON array of whole numbers; of true and false, too, where they are wanted.
static bool read_array(bench_t1 *t, const char *member, const json_t *array, bool is_bool, int64_t **values, int *count)
{
    const size_t size = json_array_size(array);
    if (size > MOST_VALUES)
        return bench_t1_fail(t, member, "more than %d values", MOST_VALUES);
    *values = malloc((size ? size : 1) * sizeof **values);
    if (!*values)
        return bench_t1_fail(t, member, "host memory does not suffice");
    for (size_t i = 0; i < size; i++) {
        const json_t *item = json_array_get(array, i);
        if (!json_is_integer(item) && !(is_bool && json_is_boolean(item)))
            return bench_t1_fail(t, member, "value %zu is no whole number", i + 1);
        (*values)[(*count)++] = json_is_integer(item) ? json_integer_value(item) : json_is_true(item);
    }
    return true;
}

static bool read_values(bench_t1 *t, const char *member, const json_t *value, bool is_bool, int64_t **values,
                        int *count)
{
    char why[BENCH_REASON_TEXT];
    *values = NULL;
    *count = 0;
    if (json_is_array(value))
        return read_array(t, member, value, is_bool, values, count);
    if (value && !json_is_string(value))
        return bench_t1_fail(t, member, "an array, or a list of Python in a string, is wanted");
    const char *text = bench_t1_string(t, member, value, LONGEST_VALUES);
    return text && (bench_python_list(text, values, count, why) || bench_t1_fail(t, member, "%s", why));
}

static bool add_config(bench_t1 *t, const char *of, const char *name, const int64_t *values, int count)
{
    const size_t size = (size_t)count * 22 + BENCH_NAME_TEXT + 20; // -9223372036854775808 and a comma
    char *line = malloc(size);
    if (!line)
        return bench_t1_fail(t, of, "host memory does not suffice");
    int length = snprintf(line, size, "config %s=", name);
    for (int i = 0; i < count; i++)
        length += snprintf(line + length, size - (size_t)length, "%s%" PRId64, i ? "," : "", values[i]);
    const bool is_read = bench_t1_line(t, of, line);
    free(line);
    return is_read;
}

static bool read_parameter(bench_t1 *t, const json_t *parameter, size_t number)
{
    static const char *const known[] = {"Name", "Type", "Values", "Default"};
    char of[BENCH_T1_MEMBER_TEXT], member[BENCH_T1_MEMBER_TEXT];
    snprintf(of, sizeof of, SPACE ".TuningParameters[%zu]", number);
    if (!bench_t1_check_members(t, of, parameter, known, sizeof known / sizeof *known))
        return false;
    bench_t1_member(member, of, "Name");
    const char *name = bench_t1_string(t, member, json_object_get(parameter, "Name"), 200);
    if (!name)
        return false;
    if (!bench_t1_is_name(name))
        return bench_t1_fail(t, member, "'%s' can be no macro", name);
    bench_t1_member(member, of, "Type");
    const char *type = bench_t1_string(t, member, json_object_get(parameter, "Type"), 40);
    if (!type)
        return false;
    if (strcmp(type, "int") != 0 && strcmp(type, "uint") != 0 && strcmp(type, "bool") != 0)
        return bench_t1_fail(t, member, "%s: parameters are whole numbers: int, uint and bool are read", type);
    int64_t *values = NULL;
    int count = 0;
    bench_t1_member(member, of, "Values");
    bool is_read = read_values(t, member, json_object_get(parameter, "Values"), type[0] == 'b', &values, &count);
    if (is_read && !count)
        is_read = bench_t1_fail(t, member, "it has no values");
    is_read = is_read && add_config(t, of, name, values, count);
    free(values);
    return is_read;
}

static bool read_condition(bench_t1 *t, const json_t *condition, size_t number)
{
    static const char *const known[] = {"Parameters", "Expression"};
    char of[BENCH_T1_MEMBER_TEXT], member[BENCH_T1_MEMBER_TEXT], text[BENCH_T1_EXPRESSION_TEXT],
        line[BENCH_T1_EXPRESSION_TEXT + 40];
    snprintf(of, sizeof of, SPACE ".Conditions[%zu]", number);
    if (!bench_t1_check_members(t, of, condition, known, sizeof known / sizeof *known))
        return false;
    bench_t1_member(member, of, "Expression");
    const json_t *expression = json_object_get(condition, "Expression");
    if (expression && !json_is_string(expression))
        return bench_t1_fail(t, member, "a string is wanted");
    if (!bench_t1_expression(t, member, expression, text))
        return false;
    // What is not 0 is true, be it whole or not.
    snprintf(line, sizeof line, "where int((%s) != 0)", text);
    return bench_t1_line(t, member, line);
}

static bool read_space(bench_t1 *t, const json_t *space)
{
    static const char *const known[] = {"TuningParameters", "Conditions"};
    if (!bench_t1_check_members(t, SPACE, space, known, sizeof known / sizeof *known))
        return false;
    const json_t *parameters = json_object_get(space, "TuningParameters"),
                 *conditions = json_object_get(space, "Conditions");
    if (!json_is_array(parameters))
        return bench_t1_fail(t, SPACE ".TuningParameters", parameters ? "an array is wanted" : "it is missing");
    if (conditions && !json_is_array(conditions))
        return bench_t1_fail(t, SPACE ".Conditions", "an array is wanted");
    if (json_array_size(json_object_get(space, "Constraints")))
        return bench_t1_fail(t, SPACE ".Constraints", "T1 calls them Conditions");
    for (size_t i = 0; i < json_array_size(parameters); i++) {
        if (!read_parameter(t, json_array_get(parameters, i), i))
            return false;
    }
    for (size_t i = 0; i < json_array_size(conditions); i++) {
        if (!read_condition(t, json_array_get(conditions, i), i))
            return false;
    }
    return true;
}

// ---- the launch ----

static const char *const axes[] = {"X", "Y", "Z"};

typedef struct launch {
    char sizes[3][BENCH_T1_EXPRESSION_TEXT];
    int dimensions;
} launch;

// LocalSize or GlobalSize: X, and Y and Z where they are given.
static bool read_size(bench_t1 *t, const char *of, const json_t *size, launch *l)
{
    if (!bench_t1_check_members(t, of, size, axes, sizeof axes / sizeof *axes))
        return false;
    for (int i = 0; i < 3; i++) {
        char member[BENCH_T1_MEMBER_TEXT];
        const json_t *value = json_object_get(size, axes[i]);
        bench_t1_member(member, of, axes[i]);
        snprintf(l->sizes[i], sizeof l->sizes[i], "1");
        if (!value && i > 0)
            continue;
        if (!bench_t1_whole(t, member, value, l->sizes[i]))
            return false;
        l->dimensions = i + 1;
    }
    return true;
}

// What ProblemSize is divided by along an axis: Kernel Tuner's GridDivX, or else its parameter for the work-group.
static bool read_divisor(bench_t1 *t, const json_t *divisors, int axis, char text[BENCH_T1_EXPRESSION_TEXT])
{
    static const char *const defaults[] = {"block_size_x", "block_size_y", "block_size_z"};
    const bool is_array = json_is_array(divisors);
    const size_t count = is_array ? json_array_size(divisors) : divisors && !json_is_null(divisors);
    const bool has_default = bench_symbols_find(&t->spec->symbols, defaults[axis]) >= 0;
    snprintf(text, BENCH_T1_EXPRESSION_TEXT, "%s", count || !has_default ? "1" : defaults[axis]);
    for (size_t i = 0; i < count; i++) {
        char member[BENCH_T1_MEMBER_TEXT], divisor[BENCH_T1_EXPRESSION_TEXT];
        snprintf(member, sizeof member, SPECIFICATION ".GridDiv%s", axes[axis]);
        if (is_array)
            bench_append(member, sizeof member, "[%zu]", i);
        if (!bench_t1_whole(t, member, is_array ? json_array_get(divisors, i) : divisors, divisor))
            return false;
        if (strlen(text) + strlen(divisor) + 10 > BENCH_T1_EXPRESSION_TEXT)
            return bench_t1_fail(t, member, "the expression is too long");
        bench_append(text, BENCH_T1_EXPRESSION_TEXT, " * (%s)", divisor);
    }
    return true;
}

// As Kernel Tuner has it: ProblemSize over the divisors, rounded up, is the number of work-groups.
static bool read_grid(bench_t1 *t, const json_t *const divisors[3], launch *l)
{
    if (!t->scope.problem_count)
        return bench_t1_fail(t, SPECIFICATION ".ProblemSize",
                             "GridDivX and the like divide it: a whole number, or up to three in an array, are wanted");
    for (int i = 0; i < 3; i++) {
        char text[BENCH_T1_EXPRESSION_TEXT];
        const int64_t problem = i < t->scope.problem_count ? t->scope.problem[i] : 1;
        if (!read_divisor(t, divisors[i], i, text))
            return false;
        const int length = snprintf(l->sizes[i], sizeof l->sizes[i], "ceil(%" PRId64 " / (%s))", problem, text);
        if (length >= (int)sizeof l->sizes[i])
            return bench_t1_fail(t, SPECIFICATION ".ProblemSize", "the expression is too long");
    }
    l->dimensions = t->scope.problem_count;
    return true;
}

static bool add_range(bench_t1 *t, const char *member, const char *word, const launch *l, int dimensions)
{
    char line[3 * BENCH_T1_EXPRESSION_TEXT + 40];
    snprintf(line, sizeof line, "%s %s", word, l->sizes[0]);
    for (int i = 1; i < dimensions; i++)
        bench_append(line, sizeof line, ", %s", l->sizes[i]);
    return bench_t1_line(t, member, line);
}

static bool has_divisors(const json_t *divisors)
{
    return json_array_size(divisors) || json_is_string(divisors) || json_is_number(divisors);
}

static bool read_launch(bench_t1 *t, const json_t *specification)
{
    launch local = {.dimensions = 0}, global = {.dimensions = 0};
    const json_t *divisors[3] = {json_object_get(specification, "GridDivX"), json_object_get(specification, "GridDivY"),
                                 json_object_get(specification, "GridDivZ")};
    const char *type = "OpenCL";
    const bool has_grid = has_divisors(divisors[0]) || has_divisors(divisors[1]) || has_divisors(divisors[2]);
    if (json_object_get(specification, "GlobalSizeType"))
        type =
            bench_t1_string(t, SPECIFICATION ".GlobalSizeType", json_object_get(specification, "GlobalSizeType"), 40);
    if (!type)
        return false;
    const bool is_groups = !strcmp(type, "CUDA") || !strcmp(type, "Vulkan");
    if (!is_groups && strcmp(type, "OpenCL") != 0)
        return bench_t1_fail(t, SPECIFICATION ".GlobalSizeType",
                             "%s: OpenCL (work-items), CUDA and Vulkan (work-groups) "
                             "are known",
                             type);
    if (!read_size(t, SPECIFICATION ".LocalSize", json_object_get(specification, "LocalSize"), &local))
        return false;
    const bool is_read =
        has_grid ? read_grid(t, divisors, &global)
                 : read_size(t, SPECIFICATION ".GlobalSize", json_object_get(specification, "GlobalSize"), &global);
    const int dimensions = local.dimensions > global.dimensions ? local.dimensions : global.dimensions;
    return is_read && add_range(t, SPECIFICATION ".LocalSize", "local", &local, dimensions) &&
           add_range(t, has_grid ? SPECIFICATION ".ProblemSize" : SPECIFICATION ".GlobalSize",
                     has_grid || is_groups ? "groups" : "global", &global, dimensions);
}

// ProblemSize: a whole number, or up to three of them. Others are a mistake where they are used.
static void read_problem(bench_t1 *t, const json_t *problem)
{
    const size_t count = json_array_size(problem);
    if (json_is_integer(problem)) {
        t->scope.problem[0] = json_integer_value(problem);
        t->scope.problem_count = 1;
    }
    for (size_t i = 0; i < count && count <= 3; i++) {
        if (!json_is_integer(json_array_get(problem, i))) {
            t->scope.problem_count = 0;
            return;
        }
        t->scope.problem[i] = json_integer_value(json_array_get(problem, i));
        t->scope.problem_count = (int)i + 1;
    }
}

// ---- the document ----

static void forget(bench_expression *expression)
{
    for (int i = 0; i < expression->count; i++)
        expression->nodes[i].column = 0;
}

// The lines that were parsed are ours: their columns are no places in the document.
static void forget_columns(bench_spec *spec)
{
    bench_step *step = &spec->steps[0];
    for (int i = 0; i < spec->rule_count; i++)
        forget(&spec->rules[i]);
    for (int i = 0; i < spec->buffer_count; i++) {
        forget(&spec->buffers[i].count);
        forget(&spec->buffers[i].generator.formula);
    }
    for (int i = 0; i < step->argument_count; i++) {
        for (int k = 0; k < step->arguments[i].value_count; k++)
            forget(&step->arguments[i].values[k]);
    }
    for (int i = 0; i < 3; i++) {
        forget(&step->local[i]);
        forget(&step->global[i]);
    }
    for (int i = 0; i < spec->expectation_count; i++) {
        forget(&spec->expectations[i].subscript);
        forget(&spec->expectations[i].formula);
    }
}

static bool read_document(bench_t1 *t, const json_t *document)
{
    static const char *const known[] = {"ConfigurationSpace", "KernelSpecification", "General", "Search", "Budget",
                                        "SearchSettings",     "BenchmarkConfig"};
    if (!bench_t1_check_members(t, "", document, known, sizeof known / sizeof *known))
        return false;
    const json_t *specification = json_object_get(document, SPECIFICATION);
    if (!json_is_object(specification))
        return bench_t1_fail(t, SPECIFICATION, specification ? "an object is wanted" : "it is missing");
    read_problem(t, json_object_get(specification, "ProblemSize"));
    if (!read_heading(t, specification) || !read_space(t, json_object_get(document, SPACE)) ||
        !read_launch(t, specification) || !bench_t1_arguments(t, specification) ||
        !bench_t1_references(t, specification) || !bench_t1_check(t, SPECIFICATION))
        return false;
    forget_columns(t->spec);
    return true;
}

bool bench_t1_parse(const char *path, const char *text, size_t size, bench_description *description,
                    char reason[BENCH_REASON_TEXT])
{
    json_error_t error;
    reason[0] = '\0';
    if (!bench_description_begin(path, description, reason))
        return false;
    json_t *document = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (!document) {
        bench_explain(reason, BENCH_REASON_TEXT, "%.200s:%d:%d: this is no JSON: %.300s", path, error.line,
                      error.column, error.text);
        bench_clean_line(reason);
        return false;
    }
    bench_t1 t = {.description = description, .text = text, .reason = reason};
    t.spec = bench_description_add(description);
    t.scope.spec = t.spec;
    const bool is_read =
        t.spec ? read_document(&t, document) : bench_explain(reason, BENCH_REASON_TEXT, "host memory does not suffice");
    json_decref(document);
    if (!is_read)
        bench_description_free(description);
    return is_read;
}
