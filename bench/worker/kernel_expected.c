// SPDX-License-Identifier: MIT
#include "worker/kernel_expected.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/array.h"
#include "cases/data.h"
#include "cases/ops.h"
#include "cases/parse.h"
#include "spec/npy.h"
#include "spec/operator_case.h"
#include "system/dynamic_library.h"

static bench_contents contents_of(const bench_kernel_job *job, int buffer)
{
    return (bench_contents){job->buffers[buffer].before, job->buffers[buffer].after};
}

static const char *name_of(const bench_spec *spec, int buffer)
{
    return spec->symbols.items[spec->buffers[buffer].symbol].name;
}

// ---- by an operator ----

static bench_element element_of(husk_dtype dtype)
{
    switch (dtype) {
    case HUSK_F64:
        return BENCH_ELEMENT_DOUBLE;
    case HUSK_F16:
        return BENCH_ELEMENT_HALF;
    case HUSK_I8:
        return BENCH_ELEMENT_CHAR;
    case HUSK_U8:
        return BENCH_ELEMENT_UCHAR;
    case HUSK_I32:
        return BENCH_ELEMENT_INT;
    case HUSK_I64:
        return BENCH_ELEMENT_LONG;
    case HUSK_F32:
        return BENCH_ELEMENT_FLOAT;
    default:
        return BENCH_ELEMENTS;
    }
}

// The operand's array by its name in the description; NULL: there is none.
static bench_array *operand(bench_data *data, const char *name)
{
    const struct {
        const char *name;
        bench_array *array;
    } arrays[] = {
        {"x", &data->x},
        {"w", &data->w},
        {"bias", &data->bias},
        {"y", &data->y},
        {"dy", &data->dy},
        {"saved1", &data->saved[0]},
        {"saved2", &data->saved[1]},
        {"saved3", &data->saved[2]},
        {"saved4", &data->saved[3]},
        {"lengths", &data->lengths},
        {"h0", &data->h0},
        {"c0", &data->c0},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        if (!strcmp(arrays[i].name, name))
            return arrays[i].array;
    }
    return NULL;
}

// The buffer has the array's elements, as many and of the same type.
static bool check_operand(const bench_kernel_job *job, const bench_array *array, int buffer, const char *key,
                          char reason[BENCH_REASON_TEXT])
{
    const bench_spec *spec = job->point->spec;
    const bench_element wanted = element_of(array->dtype), there = spec->buffers[buffer].element;
    const int64_t count = job->point->bindings[spec->buffers[buffer].symbol].count;
    if (!array->data)
        return bench_explain(reason, BENCH_REASON_TEXT, "the operator's case has no %s", key);
    if (wanted != there)
        return bench_explain(reason, BENCH_REASON_TEXT, "%s has elements of %s, and the operator's %s of %s",
                             name_of(spec, buffer), bench_element_name(there), key, husk_dtype_name(array->dtype));
    if (count != array->count)
        return bench_explain(reason, BENCH_REASON_TEXT, "%s has %" PRId64 " elements, and the operator's %s %" PRId64,
                             name_of(spec, buffer), count, key, array->count);
    return true;
}

static bool fill_operands(bench_kernel_job *job, const bench_expectation *expectation, bench_data *data,
                          char reason[BENCH_REASON_TEXT])
{
    for (int i = 0; i < expectation->key_count; i++) {
        const bench_operand_of *key = &expectation->keys[i];
        if (key->buffer < 0)
            continue;
        bench_array *array = operand(data, key->key);
        if (!array)
            return bench_explain(reason, BENCH_REASON_TEXT,
                                 "%s is no operand: x, w, bias, y, dy, saved1 to saved4, lengths, h0 and c0 are",
                                 key->key);
        if (!check_operand(job, array, key->buffer, key->key, reason))
            return false;
        memcpy(array->data, job->buffers[key->buffer].before, job->buffers[key->buffer].bytes);
    }
    return true;
}

static bool judge_operator(bench_kernel_job *job, const bench_expectation *expectation, uint64_t seed,
                           bench_judgement *judgement, char reason[BENCH_REASON_TEXT])
{
    char line[BENCH_CASE_TEXT], why[BENCH_REASON_TEXT];
    bench_case c;
    bench_data data = {0};
    bench_output output = {0};
    const bench_kernel_buffer *buffer = &job->buffers[expectation->buffer];
    if (!bench_kernel_case(job->point, expectation, line, sizeof line, reason))
        return false;
    if (!bench_case_parse(line, &c, why))
        return bench_explain(reason, BENCH_REASON_TEXT, "line %d: %.900s", expectation->line, why);
    if (!bench_data_make(&c, &data, reason))
        return false;
    bool is_judged = bench_output_make(&c, &data, &output, reason) && fill_operands(job, expectation, &data, reason) &&
                     check_operand(job, &output.y, expectation->buffer, "result", reason);
    if (is_judged) {
        const bench_verify_options options = {.seed = seed};
        bench_verdict verdict;
        memcpy(output.y.data, buffer->after, buffer->bytes);
        bench_verdict_begin(&verdict);
        bench_op_get(c.op)->verify(&c, &data, &output, &options, &verdict);
        judgement->checked += verdict.checked;
        judgement->of += output.y.count;
        judgement->max_ratio = verdict.max_ratio;
        judgement->max_error = verdict.max_error;
        judgement->bound = verdict.bound;
        judgement->is_inconclusive = judgement->is_inconclusive || verdict.inconclusive;
        if (verdict.unchecked)
            is_judged = bench_explain(reason, BENCH_REASON_TEXT, "%s", verdict.text);
        else if (!verdict.pass && judgement->is_right)
            snprintf(judgement->text, sizeof judgement->text, "%s: %.500s",
                     name_of(job->point->spec, expectation->buffer), verdict.text);
        judgement->is_right = judgement->is_right && verdict.pass;
        snprintf(judgement->by, sizeof judgement->by, "husk's bound of %.40s", expectation->op);
    }
    bench_output_free(&output);
    bench_data_free(&c, &data);
    return is_judged;
}

// ---- by a function of a shared object, or by a file ----

// docs/verify-kernels.md has the prototype.
typedef void user_reference(const void *const *arguments, void *expected);

static bool call_function(bench_kernel_job *job, const bench_expectation *expectation, void *expected,
                          char reason[BENCH_REASON_TEXT])
{
    const bench_spec *spec = job->point->spec;
    const bench_step *step = &spec->steps[0];
    const void *arguments[BENCH_MOST_ARGUMENTS + BENCH_MOST_BUFFERS] = {NULL};
    uint64_t scalars[BENCH_MOST_ARGUMENTS][BENCH_MOST_WIDTH] = {{0}};
    char path[2 * BENCH_PATH_TEXT];
    user_reference *function = NULL;
    bench_description_path(job->launcher->description, expectation->path, path, sizeof path);
    const char *const names[] = {path, NULL};
    void *library = bench_library_open(names, reason);
    if (!library || !bench_library_function(library, expectation->function, &function, reason))
        return false;
    // Of a pipeline, whose steps have arguments of their own: its buffers in their order.
    for (int i = 0; i < spec->buffer_count && spec->is_pipeline; i++)
        arguments[i] = job->buffers[i].before;
    for (int i = 0; i < step->argument_count && !spec->is_pipeline; i++) {
        const bench_argument *argument = &step->arguments[i];
        if (argument->kind == BENCH_ARGUMENT_BUFFER)
            arguments[i] = job->buffers[argument->buffer].before;
        if (argument->kind == BENCH_ARGUMENT_SCALAR) {
            arguments[i] = scalars[i];
            if (!bench_kernel_scalar(job->point, argument, scalars[i], reason))
                return false;
        }
    }
    function(arguments, expected);
    return true;
}

static bool judge_foreign(bench_kernel_job *job, const bench_expectation *expectation, bench_judgement *judgement,
                          char reason[BENCH_REASON_TEXT])
{
    const bench_kernel_buffer *buffer = &job->buffers[expectation->buffer];
    const bench_buffer *declared = &job->point->spec->buffers[expectation->buffer];
    const bench_contents contents = contents_of(job, expectation->buffer);
    char path[2 * BENCH_PATH_TEXT];
    void *expected = malloc(buffer->bytes);
    if (!expected)
        return bench_explain(reason, BENCH_REASON_TEXT, "host memory does not suffice");
    memcpy(expected, buffer->before, buffer->bytes);
    bench_description_path(job->launcher->description, expectation->path, path, sizeof path);
    const bool is_there =
        expectation->by == BENCH_BY_FUNCTION
            ? call_function(job, expectation, expected, reason)
            : bench_npy_read(path, declared->element, job->point->bindings[declared->symbol].count, expected, reason);
    if (is_there)
        bench_judge_array(job->point, expectation, expected, &contents, judgement);
    free(expected);
    return is_there;
}

// ---- all of them ----

static bool judge_buffer(bench_kernel_job *job, int buffer, uint64_t seed, bench_judgement *judgement,
                         char reason[BENCH_REASON_TEXT])
{
    const bench_spec *spec = job->point->spec;
    const bench_contents contents = contents_of(job, buffer);
    const int64_t count = job->point->bindings[spec->buffers[buffer].symbol].count;
    unsigned char *touched = calloc((size_t)count, 1);
    bool has_all = false, is_judged = touched != NULL;
    if (!touched)
        bench_explain(reason, BENCH_REASON_TEXT, "host memory does not suffice");
    for (int i = 0; i < spec->expectation_count && is_judged; i++) {
        const bench_expectation *expectation = &spec->expectations[i];
        if (expectation->buffer != buffer)
            continue;
        bool is_all = true;
        if (expectation->by == BENCH_BY_FORMULA)
            bench_judge_formula(job->point, expectation, &contents, seed, touched, &is_all, judgement);
        else if (expectation->by == BENCH_BY_OPERATOR)
            is_judged = judge_operator(job, expectation, seed, judgement, reason);
        else if (expectation->by != BENCH_BY_NOBODY)
            is_judged = judge_foreign(job, expectation, judgement, reason);
        has_all = has_all || is_all;
    }
    if (is_judged && !has_all && judgement->is_right)
        bench_judge_untouched(job->point, buffer, &contents, touched, judgement);
    free(touched);
    return is_judged;
}

// Inputs, which nobody may change.
static void judge_input(const bench_kernel_job *job, int buffer, bench_judgement *judgement)
{
    const bench_spec *spec = job->point->spec;
    const bench_kernel_buffer *b = &job->buffers[buffer];
    const size_t bytes = bench_element_bytes(spec->buffers[buffer].element);
    if (!memcmp(b->before, b->after, b->bytes) || !judgement->is_right)
        return;
    size_t at = 0;
    while (!memcmp((const char *)b->before + at * bytes, (const char *)b->after + at * bytes, bytes))
        at++;
    judgement->is_right = false;
    judgement->wrong++;
    snprintf(judgement->text, sizeof judgement->text, "%s[%zu] was changed, and %s is an input", name_of(spec, buffer),
             at, name_of(spec, buffer));
}

bool bench_kernel_judge(bench_kernel_job *job, uint64_t seed, bench_judgement *judgement,
                        char reason[BENCH_REASON_TEXT])
{
    const bench_spec *spec = job->point->spec;
    bench_judgement_begin(judgement);
    for (int i = 0; i < spec->buffer_count; i++) {
        const bench_access access = spec->buffers[i].access;
        if (access == BENCH_ACCESS_IN)
            judge_input(job, i, judgement);
        else if (access != BENCH_ACCESS_SCRATCH && !judge_buffer(job, i, seed, judgement, reason))
            return false;
    }
    bench_judgement_end(judgement);
    return true;
}
