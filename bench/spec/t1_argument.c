// SPDX-License-Identifier: MIT
#include "spec/t1_argument.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "spec/words.h"

#define ARGUMENTS "KernelSpecification.Arguments"

enum {
    SIZE_TEXT = BENCH_T1_EXPRESSION_TEXT + 40,
    LINE_TEXT = 2 * BENCH_T1_EXPRESSION_TEXT + 400,
    LONGEST_NAME = 200,
    LONGEST_WORD = 40
};

// ---- its name and its type ----

/*
 * The name of argument `number`: the document's, if it can be one here, and else arg1, arg2 ... by its place. `i` is
 * the index of generators.
 */
static void name_of(const json_t *argument, size_t number, char name[BENCH_NAME_TEXT])
{
    const char *given = json_string_value(json_object_get(argument, "Name"));
    if (given && bench_t1_is_name(given) && !bench_word_is_reserved(given) && strcmp(given, "i") != 0)
        snprintf(name, BENCH_NAME_TEXT, "%.63s", given);
    else
        snprintf(name, BENCH_NAME_TEXT, "arg%zu", number + 1);
}

typedef struct element_type {
    const char *name; // OpenCL C's
    bench_element element;
    int width; // numbers of a vector
} element_type;

static const struct {
    const char *t1, *name;
    bench_element element;
} types[] = {
    {"int8", "char", BENCH_ELEMENT_CHAR},       {"uint8", "uchar", BENCH_ELEMENT_UCHAR},
    {"int16", "short", BENCH_ELEMENT_SHORT},    {"uint16", "ushort", BENCH_ELEMENT_USHORT},
    {"int32", "int", BENCH_ELEMENT_INT},        {"uint32", "uint", BENCH_ELEMENT_UINT},
    {"int64", "long", BENCH_ELEMENT_LONG},      {"uint64", "ulong", BENCH_ELEMENT_ULONG},
    {"half", "half", BENCH_ELEMENT_HALF},       {"float", "float", BENCH_ELEMENT_FLOAT},
    {"double", "double", BENCH_ELEMENT_DOUBLE},
};

static const struct {
    const char *text;
    int width;
} widths[] = {{"", 1}, {"2", 2}, {"4", 4}, {"8", 8}, {"16", 16}};

// "float", or "float4": of real numbers alone, as T1 has it.
static bool find_type(const char *t1, element_type *found)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const size_t length = strlen(types[i].t1);
        for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
            const bool may_be = k == 0 || bench_element_is_real(types[i].element);
            if (may_be && !strncmp(t1, types[i].t1, length) && !strcmp(t1 + length, widths[k].text)) {
                *found = (element_type){types[i].name, types[i].element, widths[k].width};
                return true;
            }
        }
    }
    return false;
}

// A member that is one word, or its default where it is missing; NULL: a mistake.
static const char *word_of(bench_t1 *t, const char *of, const json_t *object, const char *key, const char *otherwise)
{
    char member[BENCH_T1_MEMBER_TEXT];
    const json_t *value = json_object_get(object, key);
    bench_t1_member(member, of, key);
    return value || !otherwise ? bench_t1_string(t, member, value, LONGEST_WORD) : otherwise;
}

static bool read_type(bench_t1 *t, const char *of, const json_t *argument, element_type *found)
{
    char member[BENCH_T1_MEMBER_TEXT];
    const char *name = word_of(t, of, argument, "Type", NULL);
    bench_t1_member(member, of, "Type");
    if (!name)
        return false;
    if (!strcmp(name, "custom"))
        return bench_t1_fail(t, member, "custom: structs cannot be described: a buffer's elements are numbers");
    if (!strcmp(name, "bool"))
        return bench_t1_fail(t, member, "bool: OpenCL has no arguments of this type");
    return find_type(name, found) ||
           bench_t1_fail(t, member,
                         "%s: int8 to int64, uint8 to uint64, half, float and double are read, and vectors of 2, 4, 8 "
                         "or 16 of the last three",
                         name);
}

// The number of elements, as an expression.
static bool read_size(bench_t1 *t, const char *of, const json_t *argument, int width, char text[SIZE_TEXT])
{
    char member[BENCH_T1_MEMBER_TEXT], size[BENCH_T1_EXPRESSION_TEXT];
    bench_t1_member(member, of, "Size");
    if (!bench_t1_whole(t, member, json_object_get(argument, "Size"), size))
        return false;
    if (width > 1)
        snprintf(text, SIZE_TEXT, "(%s) * %d", size, width);
    else
        snprintf(text, SIZE_TEXT, "%s", size);
    return true;
}

// ---- what it holds ----

// FillValue, of a buffer: a number, or a string that has one.
static bool read_number(bench_t1 *t, const char *member, const json_t *value, double *number)
{
    const char *text = json_string_value(value);
    *number = json_number_value(value);
    if (!value)
        return bench_t1_fail(t, member, "it is missing");
    if (!json_is_number(value) && !(text && bench_parse_real(text, number)))
        return bench_t1_fail(t, member, "a number is wanted");
    return true;
}

// Whether elements of the type hold the number.
static bool check_number(bench_t1 *t, const char *member, const element_type *type, double number)
{
    const bool is_real = bench_element_is_real(type->element);
    const double most = is_real ? bench_element_largest(type->element) : (double)bench_element_most(type->element),
                 least = is_real ? -most : (double)bench_element_least(type->element);
    if (number < least || number > most)
        return bench_t1_fail(t, member, "%s holds %g to %g", type->name, least, most);
    return is_real || number == floor(number) || bench_t1_fail(t, member, "%s has whole numbers", type->name);
}

static bool add_constant(bench_t1 *t, const char *of, const json_t *argument, const element_type *type,
                         char line[LINE_TEXT])
{
    char member[BENCH_T1_MEMBER_TEXT], text[BENCH_T1_NUMBER_TEXT];
    double number = 0;
    bench_t1_member(member, of, "FillValue");
    if (!read_number(t, member, json_object_get(argument, "FillValue"), &number) ||
        !check_number(t, member, type, number))
        return false;
    bench_t1_number(number, text);
    bench_append(line, LINE_TEXT, " = constant(%s)", text);
    return true;
}

// Between 0 and FillValue, as KTT has it; of whole numbers both are among them.
static bool add_random(bench_t1 *t, const char *of, const json_t *argument, const element_type *type,
                       char line[LINE_TEXT])
{
    char member[BENCH_T1_MEMBER_TEXT], text[BENCH_T1_NUMBER_TEXT];
    double number = 1;
    const json_t *value = json_object_get(argument, "FillValue");
    const bool is_real = bench_element_is_real(type->element);
    bench_t1_member(member, of, "FillValue");
    if (value && !read_number(t, member, value, &number))
        return false;
    number = is_real ? number : floor(number);
    if (!check_number(t, member, type, number))
        return false;
    bench_t1_number(number, text);
    bench_append(line, LINE_TEXT, " = %s(%s, %s)", is_real ? "uniform" : "integers", number < 0 ? text : "0",
                 number < 0 ? "0" : text);
    return true;
}

// DataSource: a formula of i.
static bool read_generator(bench_t1 *t, const char *of, const json_t *argument, char text[BENCH_T1_EXPRESSION_TEXT])
{
    char member[BENCH_T1_MEMBER_TEXT];
    const json_t *source = json_object_get(argument, "DataSource");
    bench_t1_member(member, of, "DataSource");
    if (bench_symbols_find(&t->spec->symbols, "i") >= 0)
        return bench_t1_fail(t, member, "i is the index of the generator, and a parameter, too");
    return bench_t1_expression(t, member, source, text);
}

static bool add_fill(bench_t1 *t, const char *of, const json_t *argument, const element_type *type,
                     char line[LINE_TEXT])
{
    char member[BENCH_T1_MEMBER_TEXT], formula[BENCH_T1_EXPRESSION_TEXT];
    const char *fill = word_of(t, of, argument, "FillType", "Constant");
    if (!fill)
        return false;
    if (!strcmp(fill, "Constant"))
        return add_constant(t, of, argument, type, line);
    if (!strcmp(fill, "Random"))
        return add_random(t, of, argument, type, line);
    if (!strcmp(fill, "Generator")) {
        if (!read_generator(t, of, argument, formula))
            return false;
        bench_append(line, LINE_TEXT, " = each(i, %s)", formula);
        return true;
    }
    bench_t1_member(member, of, "FillType");
    const bool is_file = !strncmp(fill, "Binary", 6);
    return bench_t1_fail(t, member, "%s: %s; Constant, Random and Generator are read", fill,
                         is_file                   ? "files of raw numbers are not read"
                         : !strcmp(fill, "Script") ? "scripts are not run"
                                                   : "T1 has no such filling");
}

// ---- arguments ----

static bool add_vector(bench_t1 *t, const char *of, const json_t *argument, const char *name, const element_type *type)
{
    char line[LINE_TEXT] = "", size[SIZE_TEXT], member[BENCH_T1_MEMBER_TEXT];
    const char *access = word_of(t, of, argument, "AccessType", "ReadWrite"),
               *space = word_of(t, of, argument, "MemType", "Global");
    if (!access || !space || !read_size(t, of, argument, type->width, size))
        return false;
    const char *direction = !strcmp(access, "ReadOnly")    ? "in"
                            : !strcmp(access, "WriteOnly") ? "out"
                            : !strcmp(access, "ReadWrite") ? "inout"
                                                           : NULL;
    bench_t1_member(member, of, "AccessType");
    if (!direction)
        return bench_t1_fail(t, member, "%s: ReadOnly, WriteOnly and ReadWrite are known", access);
    bench_t1_member(member, of, "MemType");
    if (strcmp(space, "Constant") != 0 && strcmp(space, "Global") != 0)
        return bench_t1_fail(t, member, "%s: Global and Constant are read", space);
    snprintf(line, sizeof line, "arg %s %s %s[%s] %s", name, space[0] == 'C' ? "constant" : "global", type->name, size,
             direction);
    // What is written alone holds NaN or a pattern before the run, whatever the document fills it with.
    if (strcmp(direction, "out") != 0 && !add_fill(t, of, argument, type, line))
        return false;
    // The size has been checked: what may be wrong is the generator's formula.
    bench_t1_member(member, of, "DataSource");
    return bench_t1_line(t, strstr(line, "each(") ? member : of, line);
}

static bool add_scalar(bench_t1 *t, const char *of, const json_t *argument, const char *name, const element_type *type)
{
    char line[LINE_TEXT] = "", value[BENCH_T1_EXPRESSION_TEXT], member[BENCH_T1_MEMBER_TEXT];
    bench_t1_member(member, of, "FillValue");
    if (!bench_t1_expression(t, member, json_object_get(argument, "FillValue"), value))
        return false;
    if (type->width == 1)
        snprintf(line, sizeof line, "arg %s %s = %s", name, type->name, value);
    else
        // Parentheses at its beginning would be a list of the vector's numbers.
        snprintf(line, sizeof line, "arg %s %s%d = 1 * (%s)", name, type->name, type->width, value);
    return bench_t1_line(t, member, line);
}

static bool add_local(bench_t1 *t, const char *of, const json_t *argument, const char *name, const element_type *type)
{
    char line[LINE_TEXT] = "", size[SIZE_TEXT];
    if (!read_size(t, of, argument, type->width, size))
        return false;
    snprintf(line, sizeof line, "arg %s local %s[%s]", name, type->name, size);
    return bench_t1_line(t, of, line);
}

static bool add_argument(bench_t1 *t, const json_t *argument, size_t number)
{
    static const char *const known[] = {"Name",    "Type",       "Size",       "TypeSize",   "FillType",   "FillValue",
                                        "MemType", "DataSource", "RandomSeed", "AccessType", "MemoryType", "Output"};
    char of[BENCH_T1_MEMBER_TEXT], name[BENCH_NAME_TEXT], member[BENCH_T1_MEMBER_TEXT];
    element_type type;
    snprintf(of, sizeof of, ARGUMENTS "[%zu]", number);
    if (!bench_t1_check_members(t, of, argument, known, sizeof known / sizeof *known))
        return false;
    bench_t1_member(member, of, "Name");
    const json_t *given = json_object_get(argument, "Name");
    if (given && !bench_t1_string(t, member, given, LONGEST_NAME))
        return false;
    name_of(argument, number, name);
    if (bench_symbols_find(&t->spec->symbols, name) >= 0)
        return bench_t1_fail(t, member, "%s is in use already", name);
    const char *memory = word_of(t, of, argument, "MemoryType", NULL);
    if (!memory || !read_type(t, of, argument, &type))
        return false;
    if (!strcmp(memory, "Vector"))
        return add_vector(t, of, argument, name, &type);
    if (!strcmp(memory, "Scalar"))
        return add_scalar(t, of, argument, name, &type);
    if (!strcmp(memory, "Local"))
        return add_local(t, of, argument, name, &type);
    bench_t1_member(member, of, "MemoryType");
    return bench_t1_fail(t, member, "%s: Vector, Scalar and Local are read", memory);
}

// Bytes of local memory, which KTT hands over behind all arguments. 0 and null are none.
static bool add_shared_memory(bench_t1 *t, const json_t *specification, size_t arguments)
{
    static const char member[] = "KernelSpecification.SharedMemory";
    char size[BENCH_T1_EXPRESSION_TEXT], line[LINE_TEXT];
    const json_t *value = json_object_get(specification, "SharedMemory");
    if (!value || json_is_null(value))
        return true;
    if (!bench_t1_whole(t, member, value, size))
        return false;
    if (!strcmp(size, "0"))
        return true;
    snprintf(line, sizeof line, "arg arg%zu local uchar[%s]", arguments + 1, size);
    return bench_t1_line(t, member, line);
}

bool bench_t1_arguments(bench_t1 *t, const json_t *specification)
{
    const json_t *arguments = json_object_get(specification, "Arguments");
    if (arguments && !json_is_array(arguments))
        return bench_t1_fail(t, ARGUMENTS, "an array is wanted");
    for (size_t i = 0; i < json_array_size(arguments); i++) {
        if (!add_argument(t, json_array_get(arguments, i), i))
            return false;
    }
    return add_shared_memory(t, specification, json_array_size(arguments));
}

// ---- references ----

// How far a result may be from its reference.
static bool add_tolerance(bench_t1 *t, const char *of, const json_t *reference, const element_type *type,
                          char line[LINE_TEXT])
{
    char member[BENCH_T1_MEMBER_TEXT], text[BENCH_T1_NUMBER_TEXT];
    double threshold = 1e-4; // KTT's default
    const json_t *value = json_object_get(reference, "ValidationThreshold");
    const char *method = word_of(t, of, reference, "ValidationMethod", "SideBySideComparison");
    if (!method)
        return false;
    bench_t1_member(member, of, "ValidationMethod");
    const bool is_relative = !strcmp(method, "SideBySideRelativeComparison");
    if (!is_relative && strcmp(method, "SideBySideComparison") != 0)
        return bench_t1_fail(t, member, "%s: SideBySideComparison and SideBySideRelativeComparison are read", method);
    bench_t1_member(member, of, "ValidationThreshold");
    if (value && !read_number(t, member, value, &threshold))
        return false;
    if (threshold < 0)
        return bench_t1_fail(t, member, "results cannot be off by less than nothing");
    bench_t1_number(threshold, text);
    if (bench_element_is_real(type->element))
        bench_append(line, LINE_TEXT, " within %s%s", text, is_relative ? " relative" : "");
    return true;
}

// The argument that a reference is of; NULL: there is none.
static const json_t *find_target(bench_t1 *t, const char *of, const json_t *arguments, const json_t *reference,
                                 size_t *number)
{
    char member[BENCH_T1_MEMBER_TEXT];
    bench_t1_member(member, of, "TargetName");
    const char *target = bench_t1_string(t, member, json_object_get(reference, "TargetName"), LONGEST_NAME);
    for (size_t i = 0; i < json_array_size(arguments) && target; i++) {
        const json_t *argument = json_array_get(arguments, i);
        const char *name = json_string_value(json_object_get(argument, "Name"));
        *number = i;
        if (name && !strcmp(name, target))
            return argument;
    }
    if (target)
        bench_t1_fail(t, member, "no argument is called %s", target);
    return NULL;
}

static bool add_reference(bench_t1 *t, const json_t *arguments, const json_t *reference, size_t place)
{
    static const char *const known[] = {"Name",       "TargetName", "FillType",         "FillValue",
                                        "DataSource", "RandomSeed", "ValidationMethod", "ValidationThreshold"};
    char of[BENCH_T1_MEMBER_TEXT], member[BENCH_T1_MEMBER_TEXT], name[BENCH_NAME_TEXT], line[LINE_TEXT],
        value[BENCH_T1_EXPRESSION_TEXT];
    size_t number = 0;
    element_type type;
    snprintf(of, sizeof of, "KernelSpecification.ReferenceArguments[%zu]", place);
    if (!bench_t1_check_members(t, of, reference, known, sizeof known / sizeof *known))
        return false;
    const json_t *target = find_target(t, of, arguments, reference, &number);
    if (!target || !find_type(json_string_value(json_object_get(target, "Type")), &type))
        return false;
    bench_t1_member(member, of, "TargetName");
    if (type.width > 1)
        return bench_t1_fail(t, member, "the argument has vectors, and references of numbers alone are read");
    const char *fill = word_of(t, of, reference, "FillType", NULL);
    if (!fill)
        return false;
    bench_t1_member(member, of, "FillValue");
    double constant = 0;
    if (!strcmp(fill, "Constant")) {
        if (!read_number(t, member, json_object_get(reference, "FillValue"), &constant) ||
            !check_number(t, member, &type, constant))
            return false;
        bench_t1_number(constant, value);
    } else if (!strcmp(fill, "Generator")) {
        if (!read_generator(t, of, reference, value))
            return false;
    } else {
        bench_t1_member(member, of, "FillType");
        return bench_t1_fail(t, member, "%s: Constant and Generator are read of references", fill);
    }
    name_of(target, number, name);
    bench_t1_member(member, of, fill[0] == 'G' ? "DataSource" : "TargetName");
    snprintf(line, sizeof line, "expect %s[i] = %s", name, value);
    return add_tolerance(t, of, reference, &type, line) && bench_t1_line(t, member, line);
}

static bool is_expected(const bench_spec *spec, int buffer)
{
    for (int i = 0; i < spec->expectation_count; i++) {
        if (spec->expectations[i].buffer == buffer)
            return true;
    }
    return false;
}

bool bench_t1_references(bench_t1 *t, const json_t *specification)
{
    static const char member[] = "KernelSpecification.ReferenceArguments";
    const json_t *references = json_object_get(specification, "ReferenceArguments");
    if (references && !json_is_array(references))
        return bench_t1_fail(t, member, "an array is wanted");
    for (size_t i = 0; i < json_array_size(references); i++) {
        if (!add_reference(t, json_object_get(specification, "Arguments"), json_array_get(references, i), i))
            return false;
    }
    for (int i = 0; i < t->spec->buffer_count; i++) {
        char line[BENCH_NAME_TEXT + 40];
        const bench_buffer *buffer = &t->spec->buffers[i];
        if (buffer->access == BENCH_ACCESS_IN || is_expected(t->spec, i))
            continue;
        snprintf(line, sizeof line, "expect %s repeatable", t->spec->symbols.items[buffer->symbol].name);
        if (!bench_t1_line(t, ARGUMENTS, line))
            return false;
    }
    return true;
}
