// SPDX-License-Identifier: MIT
#include "spec/fill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/digest.h"
#include "ref/random.h"
#include "spec/generator.h"
#include "spec/npy.h"

// In [0, 1), a multiple of 2^-53 of 64 random bits.
static double draw(uint64_t seed, int64_t at)
{
    const uint64_t high = husk_ref_random_bits(seed, 2 * (uint64_t)at),
                   low = husk_ref_random_bits(seed, 2 * (uint64_t)at + 1);
    return (double)((high << 32 | low) >> 11) * 0x1p-53;
}

static double draw_uniform(bench_element element, const bench_generator *g, uint64_t seed, int64_t at)
{
    char cell[8];
    bench_element_store(element, cell, 0, g->a + (g->b - g->a) * draw(seed, at));
    const double value = bench_element_load(element, cell, 0);
    // Rounding may reach the end, which does not belong to it.
    return value < g->b || g->a == g->b ? value : g->a;
}

static const double pi = 3.14159265358979323846;

// G. E. P. Box, M. E. Muller: A Note on the Generation of Random Normal Deviates, 1958.
static double draw_normal(const bench_generator *g, uint64_t seed, int64_t at)
{
    const double radius = sqrt(-2 * log(1 - draw(seed, 2 * at))), angle = 2 * pi * draw(seed, 2 * at + 1);
    return g->a + g->b * radius * cos(angle);
}

static double draw_integer(const bench_generator *g, uint64_t seed, int64_t at)
{
    const double range = g->b - g->a + 1, value = g->a + floor(draw(seed, at) * range);
    return value < g->b ? value : g->b; // of large ones the sums are rounded
}

static double special(bench_element element, uint64_t seed, int64_t at)
{
    const double smallest = bench_element_smallest(element);
    const double values[] = {NAN,
                             INFINITY,
                             -INFINITY,
                             0.0,
                             -0.0,
                             smallest,
                             smallest / 2,
                             -smallest / 4,
                             bench_element_largest(element),
                             -bench_element_largest(element),
                             1,
                             -1};
    const size_t count = sizeof values / sizeof *values;
    const uint32_t bits = husk_ref_random_bits(seed ^ 0x5eedu, (uint64_t)at);
    // A quarter of them, and the first few in order, so that small buffers have each.
    if (at < (int64_t)count)
        return values[at];
    return bits % 4 == 0 ? values[bits / 4 % count] : 2 * draw(seed, at) - 1;
}

static bool fill_permutation(uint64_t seed, const bench_buffer *buffer, void *data, int64_t count,
                             char reason[BENCH_REASON_TEXT])
{
    const bool is_real = bench_element_is_real(buffer->element);
    const int64_t most =
        is_real ? (int64_t)1 << bench_element_precision(buffer->element) : bench_element_most(buffer->element);
    if (count - 1 > most)
        return bench_explain(reason, BENCH_REASON_TEXT,
                             "%.200s:%d: permutation: %s does not hold all numbers below %lld", buffer->count.file,
                             buffer->line, bench_element_name(buffer->element), (long long)count);
    int64_t *order = malloc((size_t)count * sizeof *order);
    if (!order)
        return bench_explain(reason, BENCH_REASON_TEXT, "host memory does not suffice");
    for (int64_t i = 0; i < count; i++)
        order[i] = i;
    // R. A. Fisher, F. Yates, as R. Durstenfeld's algorithm 235, 1964.
    for (int64_t i = count - 1; i > 0; i--) {
        const int64_t other = (int64_t)(draw(seed, i) * (double)(i + 1)), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    for (int64_t i = 0; i < count; i++) {
        if (is_real)
            bench_element_store(buffer->element, data, i, (double)order[i]);
        else
            bench_element_store_integer(buffer->element, data, i, order[i]);
    }
    free(order);
    return true;
}

static bool fill_formula(bench_point *point, const bench_buffer *buffer, void *data, int64_t count,
                         char reason[BENCH_REASON_TEXT])
{
    const bench_expression *formula = &buffer->generator.formula;
    double operations = 0;
    for (int64_t i = 0; i < count; i++) {
        if (operations > 10 * point->most_operations)
            return bench_explain(reason, BENCH_REASON_TEXT,
                                 "%.200s:%d: filling the buffer takes more than %.0f operations", formula->file,
                                 formula->line, 10 * point->most_operations);
        point->bindings[buffer->generator.index].integer = i;
        double real = 0;
        int64_t integer = 0;
        if (bench_expression_root(formula)->is_integer) {
            if (!bench_point_integer(point, formula, &integer, reason))
                return false;
            real = (double)integer;
        } else if (!bench_point_real(point, formula, &real, reason)) {
            return false;
        }
        if (bench_element_is_real(buffer->element) || !bench_expression_root(formula)->is_integer)
            bench_element_store(buffer->element, data, i, real);
        else
            bench_element_store_integer(buffer->element, data, i, integer);
        operations += point->evaluation.steps;
    }
    return true;
}

// a and b of this point. A copy: the formulas stay the buffer's.
static bool set_numbers(bench_point *point, const bench_buffer *buffer, bench_generator *g,
                        char reason[BENCH_REASON_TEXT])
{
    char why[BENCH_REASON_TEXT];
    double *const numbers[2] = {&g->a, &g->b};
    const bench_expression *formula = NULL;
    *g = buffer->generator;
    for (int i = 0; i < 2; i++) {
        if (g->numbers[i].nodes) {
            formula = &g->numbers[i];
            if (!bench_point_real(point, formula, numbers[i], reason))
                return false;
        }
    }
    if (!formula || bench_generator_check(buffer, g, why))
        return true;
    return bench_explain(reason, BENCH_REASON_TEXT, "%.200s:%d: %.300s", formula->file, formula->line, why);
}

static void fill_numbers(const bench_buffer *buffer, const bench_generator *g, uint64_t seed, void *data, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        switch (g->filling) {
        case BENCH_FILL_UNIFORM:
            bench_element_store(buffer->element, data, i, draw_uniform(buffer->element, g, seed, i));
            break;
        case BENCH_FILL_NORMAL:
            bench_element_store(buffer->element, data, i, draw_normal(g, seed, i));
            break;
        case BENCH_FILL_INTEGERS:
            bench_element_store(buffer->element, data, i, draw_integer(g, seed, i));
            break;
        case BENCH_FILL_CONSTANT:
            bench_element_store(buffer->element, data, i, g->a);
            break;
        case BENCH_FILL_RAMP:
            bench_element_store(buffer->element, data, i, g->a + g->b * (double)i);
            break;
        default:
            bench_element_store(buffer->element, data, i, special(buffer->element, seed, i));
            break;
        }
    }
}

bool bench_fill(bench_point *point, const bench_description *description, int number, uint64_t seed, void *data,
                char reason[BENCH_REASON_TEXT])
{
    const bench_buffer *buffer = &point->spec->buffers[number];
    const int64_t count = point->bindings[buffer->symbol].count;
    const char *name = point->spec->symbols.items[buffer->symbol].name;
    const uint64_t own = seed ^ bench_digest_add(BENCH_DIGEST_EMPTY, name, strlen(name));
    char path[2 * BENCH_PATH_TEXT];
    bench_generator generator;
    switch (buffer->generator.filling) {
    case BENCH_FILL_POISON:
        bench_fill_poison(buffer->element, data, count, 0);
        return true;
    case BENCH_FILL_PERMUTATION:
        return fill_permutation(own, buffer, data, count, reason);
    case BENCH_FILL_FORMULA:
        return fill_formula(point, buffer, data, count, reason);
    case BENCH_FILL_FILE:
        bench_description_path(description, buffer->generator.path, path, sizeof path);
        return bench_npy_read(path, buffer->element, count, data, reason);
    default:
        if (!set_numbers(point, buffer, &generator, reason))
            return false;
        fill_numbers(buffer, &generator, own, data, count);
        return true;
    }
}

void bench_fill_poison(bench_element element, void *data, int64_t count, int which)
{
    // Bytes of 0xff are quiet NaN in every format; of integers they are -1, which a kernel may well mean.
    const bool is_real = bench_element_is_real(element);
    memset(data, is_real ? 0xff : which ? 0x59 : 0xa6, (size_t)count * bench_element_bytes(element));
}
