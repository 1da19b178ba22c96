// SPDX-License-Identifier: MIT
#include "measure/levels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/rank_test.h"
#include "common/stats.h"
#include "common/text.h"

// ---- parts ----

static bool grow(bench_parts *parts)
{
    if (parts->count < parts->capacity)
        return true;
    const size_t capacity = parts->capacity ? 2 * parts->capacity : 4;
    bench_part *values = realloc(parts->values, capacity * sizeof *values);
    if (!values)
        return false;
    parts->values = values;
    parts->capacity = capacity;
    return true;
}

bool bench_parts_add(bench_parts *parts, const bench_part *more)
{
    bench_part *last = parts->count ? &parts->values[parts->count - 1] : NULL;
    if (last && last->number == more->number) {
        last->count += more->count;
        last->busy_ns += more->busy_ns;
        last->spent_ns += more->spent_ns;
        return true;
    }
    if (last && !last->count) {
        *last = *more;
        return true;
    }
    if (!grow(parts))
        return false;
    parts->values[parts->count++] = *more;
    return true;
}

void bench_parts_free(bench_parts *parts)
{
    free(parts->values);
    memset(parts, 0, sizeof *parts);
}

// ---- what they say ----

void bench_levels_divide(double *medians, size_t count, double explained, bench_levels *levels)
{
    levels->speeds[0] = levels->speeds[1] = NAN;
    levels->disagree = levels->is_even = false;
    bench_median(medians, count); // sorts
    levels->fastest = count ? medians[0] : NAN;
    levels->slowest = count ? medians[count - 1] : NAN;
    const double range = log(levels->slowest / levels->fastest);
    if (count < 2 || !(range > log(1 + BENCH_DISAGREEMENT)) || range < explained)
        return;
    size_t faster = 1;
    for (size_t i = 2; i < count; i++)
        if (medians[i] / medians[i - 1] > medians[faster] / medians[faster - 1])
            faster = i;
    levels->disagree = true;
    levels->is_even = log(medians[faster] / medians[faster - 1]) < range / 2;
    levels->speeds[0] = levels->is_even ? levels->fastest : bench_quantile(medians, faster, 0.5);
    levels->speeds[1] = levels->is_even ? levels->slowest : bench_quantile(medians + faster, count - faster, 0.5);
}

typedef struct figures { // of each process that has samples
    double *medians, *logarithms, *widths;
    size_t count, fewest; // samples of one
} figures;

static bool find_figures(const double *values, const bench_parts *parts, figures *f)
{
    for (size_t i = 0; i < parts->count; values += parts->values[i++].count) {
        // They are only read.
        const bench_samples samples = {.values = (double *)(uintptr_t)values, .count = parts->values[i].count};
        bench_summary s;
        if (!samples.count)
            continue;
        if (!bench_summarise(&samples, &s))
            return false;
        f->fewest = !f->count || samples.count < f->fewest ? samples.count : f->fewest;
        f->medians[f->count] = s.median;
        f->logarithms[f->count] = log(s.median);
        f->widths[f->count++] = s.half_width;
    }
    return true;
}

// How much more than the mean the median of so many normal values varies (Kendall and Stuart, 1, 14.7); of many
// root of pi / 2.
static double of_median(size_t count)
{
    static const double few[] = {1, 1, 1, 1.160, 1.092, 1.198, 1.135, 1.214};
    return count < sizeof few / sizeof *few ? few[count] : 1.253;
}

bool bench_levels_find(const double *values, const bench_parts *parts, bench_levels *levels)
{
    const size_t most = parts->count + 1;
    double *memory = calloc(3 * most, sizeof *memory);
    figures f = {.medians = memory};
    *levels = (bench_levels){0, NAN, NAN, NAN, NAN, NAN, NAN, NAN, false, false, {NAN, NAN}};
    if (!memory)
        return false;
    f.logarithms = memory + most;
    f.widths = memory + 2 * most;
    if (!find_figures(values, parts, &f)) {
        free(memory);
        return false;
    }
    levels->processes = f.count;
    levels->between = bench_deviation(f.logarithms, f.count);
    levels->within = bench_median(f.widths, f.count);
    const double explained = f.fewest < BENCH_SAMPLES_EACH ? INFINITY : BENCH_OF_SAMPLES * levels->within;
    bench_levels_divide(f.medians, f.count, explained, levels);
    levels->median = f.count ? bench_quantile(f.medians, f.count, 0.5) : NAN;
    if (f.count > 1) {
        const double known = fmax(bench_student(f.count - 1) * levels->between, levels->within) * of_median(f.count) /
                             sqrt((double)f.count),
                     half = fmin(known, log(BENCH_WIDEST)); // of two processes that disagree it is any number
        levels->low = levels->median * exp(-half);
        levels->high = levels->median * exp(half);
    }
    free(memory);
    return true;
}

void bench_levels_text(const bench_levels *levels, char text[96])
{
    char from[32], to[32];
    text[0] = '\0';
    if (!levels->disagree)
        return;
    bench_format_ns(levels->speeds[0], from, sizeof from);
    bench_format_ns(levels->speeds[1], to, sizeof to);
    snprintf(text, 96, levels->is_even ? "processes differ: %s to %s" : "two speeds: %s and %s", from, to);
}
