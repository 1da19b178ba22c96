// SPDX-License-Identifier: MIT
#include "run/described.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/described.h"
#include "cases/parse.h"
#include "common/digest.h"
#include "common/json.h"
#include "spec/choice.h"
#include "spec/operator_case.h"
#include "spec/read.h"
#include "system/input.h"
#include "system/terminal.h"
#include "worker/kernel_program.h"

enum { LARGEST_FILE = 64 << 20 };

typedef struct builder {
    const bench_options *options;
    bench_suite *suite;
    bench_kernel_choice choice;
    const bench_description *description;
    const bench_spec *spec;
    int number; // of the spec in its file
    bench_point *point;
    char *reason;
} builder;

// ---- what a kernel computes and moves ----

static husk_dtype dtype_of(bench_element element)
{
    static const struct {
        bench_element element;
        husk_dtype dtype;
    } known[] = {{BENCH_ELEMENT_DOUBLE, HUSK_F64}, {BENCH_ELEMENT_HALF, HUSK_F16},   {BENCH_ELEMENT_CHAR, HUSK_I8},
                 {BENCH_ELEMENT_UCHAR, HUSK_U8},   {BENCH_ELEMENT_INT, HUSK_I32},    {BENCH_ELEMENT_UINT, HUSK_I32},
                 {BENCH_ELEMENT_SHORT, HUSK_I32},  {BENCH_ELEMENT_USHORT, HUSK_I32}, {BENCH_ELEMENT_LONG, HUSK_I64},
                 {BENCH_ELEMENT_ULONG, HUSK_I64}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].element == element)
            return known[i].dtype;
    }
    return HUSK_F32;
}

// Of its first output.
static husk_dtype output_dtype(const bench_spec *spec)
{
    for (int i = 0; i < spec->buffer_count; i++) {
        if (spec->buffers[i].access == BENCH_ACCESS_OUT || spec->buffers[i].access == BENCH_ACCESS_INOUT)
            return dtype_of(spec->buffers[i].element);
    }
    return HUSK_F32;
}

// Without a line `bytes`: every input read once, every output written once, what is both twice.
static double bytes_of_buffers(const bench_point *point)
{
    double bytes = 0;
    for (int i = 0; i < point->spec->buffer_count; i++) {
        const bench_buffer *buffer = &point->spec->buffers[i];
        const double own = (double)point->bindings[buffer->symbol].count * (double)bench_element_bytes(buffer->element);
        bytes += buffer->access == BENCH_ACCESS_SCRATCH ? 0 : buffer->access == BENCH_ACCESS_INOUT ? 2 * own : own;
    }
    return bytes;
}

// What a set of operands takes on the device; what is restored is there twice.
static double room_of_buffers(const bench_point *point)
{
    double bytes = 0;
    for (int i = 0; i < point->spec->buffer_count; i++) {
        const bench_buffer *buffer = &point->spec->buffers[i];
        bytes += (buffer->is_restored ? 2 : 1) * (double)point->bindings[buffer->symbol].count *
                 (double)bench_element_bytes(buffer->element);
    }
    return bytes;
}

static bool find_amount(builder *b, const bench_expression *expression, const char *what, double *amount)
{
    char why[BENCH_REASON_TEXT];
    if (!expression->count)
        return true;
    if (!bench_point_real(b->point, expression, amount, why))
        return bench_explain(b->reason, BENCH_REASON_TEXT, "%.600s", why);
    return (isfinite(*amount) && *amount >= 0) ||
           bench_explain(b->reason, BENCH_REASON_TEXT, "%s: %s of a run are %g", b->spec->name, what, *amount);
}

static bool describe(builder *b, const char *text, bench_case *c)
{
    double flops = 0, bytes = bytes_of_buffers(b->point);
    if (!find_amount(b, &b->spec->flops, "flops", &flops) || !find_amount(b, &b->spec->bytes, "bytes", &bytes))
        return false;
    bench_case_describe(c, text, output_dtype(b->spec), flops, bytes);
    c->as.described.is_guess = !b->spec->bytes.count;
    c->as.described.room = room_of_buffers(b->point);
    return true;
}

// ---- entries ----

static const char *name_of(const bench_spec *spec, int symbol)
{
    return spec->symbols.items[symbol].name;
}

// What the worker is asked for, and what results call it: bench/worker/kernel_runner.h.
static json_t *kernel_json(const builder *b, const int64_t *config, const int64_t *size, const char *text,
                           const char *operation)
{
    char configuration[BENCH_POINT_TEXT], options[BENCH_OPTIONS_TEXT];
    bench_point_text(b->spec, config, NULL, configuration);
    bench_point_macros(b->point, options, sizeof options);
    json_t *values = json_object(), *sizes = json_object();
    for (int i = 0; i < b->spec->config_count; i++)
        json_object_set_new(values, name_of(b->spec, b->spec->configs[i].symbol), json_integer((json_int_t)config[i]));
    for (int i = 0; i < b->spec->sizes.names; i++)
        json_object_set_new(sizes, name_of(b->spec, b->spec->sizes.symbols[i]), json_integer((json_int_t)size[i]));
    return json_pack("{s:s, s:i, s:o, s:o, s:I, s:s, s:s, s:s, s:s?, s:b, s:s, s:o, s:o}", "path", b->description->path,
                     "spec", b->number, "config", bench_json_integers(config, b->spec->config_count), "size",
                     bench_json_integers(size, b->spec->sizes.names), "seed", (json_int_t)b->options->seed, "text",
                     text, "name", b->spec->name, "configuration", configuration, "operation", operation, "compares",
                     bench_spec_compares(b->spec), "options", options + (options[0] == ' '), "values", values, "sizes",
                     sizes);
}

static bool add_point(builder *b, const int64_t *config, const int64_t *size)
{
    char point[BENCH_POINT_TEXT], text[BENCH_CASE_TEXT], line[BENCH_CASE_TEXT] = "", why[BENCH_REASON_TEXT] = "";
    bench_case c;
    if (!bench_point_set(b->point, b->spec, config, size, why) || !bench_point_is_allowed(b->point, why))
        return !why[0] || bench_explain(b->reason, BENCH_REASON_TEXT, "%s: %.900s", b->spec->name, why);
    bench_point_text(b->spec, config, size, point);
    if (snprintf(text, sizeof text, "%s%s%s", b->spec->name, point[0] ? " " : "", point) >= (int)sizeof text)
        return bench_explain(b->reason, BENCH_REASON_TEXT, "%s has so many parameters that they fill no row",
                             b->spec->name);
    const bench_expectation *expectation = bench_spec_operator(b->spec);
    if (expectation) {
        if (!bench_kernel_case(b->point, expectation, line, sizeof line, why) || !bench_case_parse(line, &c, why))
            return bench_explain(b->reason, BENCH_REASON_TEXT, "%.200s:%d: %.700s", b->description->path,
                                 expectation->line, why);
    } else if (!describe(b, text, &c)) {
        return false;
    }
    return bench_suite_add_kernel(b->suite, &c, kernel_json(b, config, size, text, expectation ? c.canonical : NULL)) ||
           bench_explain(b->reason, BENCH_REASON_TEXT, "host memory does not suffice");
}

// ---- sizes ----

static bool names_size(const builder *b)
{
    for (int i = 0; i < b->choice.value_count; i++) {
        for (int k = 0; k < b->spec->sizes.names; k++) {
            if (!strcmp(name_of(b->spec, b->spec->sizes.symbols[k]), b->choice.values[i].name))
                return true;
        }
    }
    return false;
}

// Of the listed sizes the one whose buffers take the most, in the first configuration that is allowed there.
static void keep_largest(builder *b, const bench_kernel_points *configs, bench_kernel_points *sizes)
{
    int64_t largest = 0;
    double most = -1;
    char ignored[BENCH_REASON_TEXT];
    for (int64_t i = 0; i < sizes->count; i++) {
        for (int64_t k = 0; k < configs->count; k++) {
            if (!bench_point_set(b->point, b->spec, configs->values + k * configs->width,
                                 sizes->values + i * sizes->width, ignored) ||
                !bench_point_is_allowed(b->point, ignored))
                continue;
            const double bytes = bytes_of_buffers(b->point);
            largest = bytes > most ? i : largest;
            most = bytes > most ? bytes : most;
            break;
        }
    }
    if (sizes->count && sizes->width)
        memmove(sizes->values, sizes->values + largest * sizes->width, (size_t)sizes->width * sizeof *sizes->values);
    sizes->count = sizes->count ? 1 : 0;
}

static bool find_sizes(builder *b, const bench_kernel_points *configs, bench_kernel_points *sizes)
{
    if (b->spec->measured.count)
        return bench_kernel_sizes(&b->choice, b->spec, &b->spec->measured, sizes, b->reason);
    if (names_size(b))
        return bench_kernel_sizes(&b->choice, b->spec, &b->spec->sizes, sizes, b->reason);
    if (!bench_kernel_sizes(&b->choice, b->spec, &b->spec->sizes, sizes, b->reason))
        return false;
    keep_largest(b, configs, sizes);
    return true;
}

// The configurations of a size stand beside each other.
static bool add_spec(builder *b)
{
    bench_kernel_points configs = {0}, sizes = {0};
    const size_t before = b->suite->count;
    bool is_added = bench_kernel_configs(&b->choice, b->spec, &configs, b->reason) && find_sizes(b, &configs, &sizes);
    for (int64_t i = 0; i < sizes.count && is_added; i++) {
        for (int64_t k = 0; k < configs.count && is_added; k++)
            is_added = add_point(b, configs.values + k * configs.width, sizes.values + i * sizes.width);
    }
    bench_kernel_points_free(&sizes);
    bench_kernel_points_free(&configs);
    if (is_added && b->suite->count == before)
        bench_say("clbench: %s is not measured: `where` excludes all its parameters at these sizes", b->spec->name);
    return is_added;
}

// ---- descriptions ----

// Rows are told apart by their kernels' names.
static bool check_names(const bench_options *o, const bench_description *descriptions, char reason[BENCH_REASON_TEXT])
{
    for (size_t i = 0; i < o->kernel_count; i++) {
        for (size_t k = 0; k < i; k++) {
            for (int n = 0; n < descriptions[i].count * descriptions[k].count; n++) {
                const char *name = descriptions[i].specs[n / descriptions[k].count]->name;
                if (!strcmp(name, descriptions[k].specs[n % descriptions[k].count]->name))
                    return bench_explain(reason, BENCH_REASON_TEXT,
                                         "%.200s and %.200s both have a kernel %s: rows are told apart by names",
                                         o->kernels[k], o->kernels[i], name);
            }
        }
    }
    return true;
}

static bool add_all(builder *b, bench_description *descriptions)
{
    const bench_options *o = b->options;
    if (!bench_kernel_choice_read(o->kernels, o->kernel_count, o->cases, descriptions, &b->choice, b->reason) ||
        !check_names(o, descriptions, b->reason))
        return false;
    for (size_t i = 0; i < o->kernel_count; i++) {
        b->description = &descriptions[i];
        for (b->number = 0; b->number < descriptions[i].count; b->number++) {
            b->spec = descriptions[i].specs[b->number];
            if (bench_kernel_choice_has(&b->choice, b->spec) && !add_spec(b))
                return false;
        }
    }
    return b->suite->count > 0 ||
           bench_explain(b->reason, BENCH_REASON_TEXT, "nothing is left: `where` excludes all parameters and sizes");
}

bool bench_described_suite(const bench_options *options, bench_suite *suite, char reason[BENCH_REASON_TEXT])
{
    memset(suite, 0, sizeof *suite);
    bench_description *descriptions = calloc(options->kernel_count, sizeof *descriptions);
    bench_point *point = calloc(1, sizeof *point);
    builder b = {.options = options, .suite = suite, .point = point, .reason = reason};
    const bool is_made = descriptions && point
                             ? add_all(&b, descriptions)
                             : bench_explain(reason, BENCH_REASON_TEXT, "host memory does not suffice");
    for (size_t i = 0; descriptions && i < options->kernel_count; i++)
        bench_description_free(&descriptions[i]);
    free(descriptions);
    free(point);
    if (!is_made)
        bench_suite_free(suite);
    return is_made;
}

bool bench_described_has_operator(const bench_suite *suite)
{
    for (size_t i = 0; i < suite->count; i++) {
        if (suite->entries[i].c.op != BENCH_OP_DESCRIBED)
            return true;
    }
    return false;
}

static uint64_t add_file(uint64_t digest, const char *path)
{
    char reason[BENCH_REASON_TEXT];
    size_t size = 0;
    char *bytes = bench_input_read(path, LARGEST_FILE, &size, reason);
    digest = bench_digest_add(digest, bytes ? bytes : "", bytes ? size : 1); // one that is not there is no empty one
    free(bytes);
    return digest;
}

// .npy files and shared objects; "" is none.
static uint64_t add_named(uint64_t digest, const bench_description *description, const char *name)
{
    char path[2 * BENCH_PATH_TEXT];
    bench_description_path(description, name, path, sizeof path);
    return name[0] ? add_file(digest, path) : digest;
}

void bench_described_digest(const bench_options *options, char text[20])
{
    uint64_t digest = BENCH_DIGEST_EMPTY;
    for (size_t i = 0; i < options->kernel_count; i++) {
        bench_description description;
        char path[2 * BENCH_PATH_TEXT], reason[BENCH_REASON_TEXT];
        digest = add_file(digest, options->kernels[i]);
        if (!bench_description_read(options->kernels[i], &description, reason))
            continue;
        for (int k = 0; k < description.count; k++) {
            const bench_spec *spec = description.specs[k];
            for (int step = 0; step < spec->step_count; step++) {
                bench_kernel_path(&description, spec, &spec->steps[step], path, sizeof path);
                digest = add_file(digest, path);
            }
            for (int buffer = 0; buffer < spec->buffer_count; buffer++)
                digest = add_named(digest, &description, spec->buffers[buffer].generator.path);
            for (int expected = 0; expected < spec->expectation_count; expected++)
                digest = add_named(digest, &description, spec->expectations[expected].path);
        }
        bench_description_free(&description);
    }
    snprintf(text, 20, "%016" PRIx64, digest);
}
