// SPDX-License-Identifier: MIT
// What one run knows of a case, and how far that can be trusted.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "rank_test.h"
#include "stats.h"

static double deviation(const double *values, size_t count)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        mean += values[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return count > 1 ? sqrt(squares / (double)(count - 1)) : NAN;
}

// ---- the machine beside each round ----

// Of a round: the mean of before and after, or what there is of them; NaN: neither.
static double rate_of(const json_t *sentinel)
{
    const double before = bench_number_of(sentinel, "before_gflops"),
                 after = bench_number_of(sentinel, "after_gflops");
    return isnan(after) ? before : isnan(before) ? after : sqrt(before * after);
}

// Something else ran beside the round: the rate before or after it is below the usual one.
static bool is_disturbed(const json_t *sentinel, double usual)
{
    const double before = bench_number_of(sentinel, "before_gflops"),
                 after = bench_number_of(sentinel, "after_gflops");
    return log(usual / before) > BENCH_DISTURBED || log(usual / after) > BENCH_DISTURBED; // NaN: false
}

// ---- what a case takes ----

// The lower quartile: what else runs on the machine can only add to a time, and adds to some samples more than to
// others. Sorts the values. width, where it is not NULL, gets half of its 95% interval, relative: by the order
// statistics that the binomial distribution's normal approximation names.
static double quartile(double *values, size_t count, double *width)
{
    if (!count)
        return NAN;
    bench_median(values, count); // sorts
    const double at = bench_quantile(values, count, 0.25), reach = 1.96 * sqrt(0.25 * 0.75 / (double)count);
    if (width)
        *width = (bench_quantile(values, count, fmin(0.25 + reach, 1)) -
                  bench_quantile(values, count, fmax(0.25 - reach, 0))) /
                 2 / at;
    return at;
}

static size_t samples_of(const json_t *sentinel)
{
    return (size_t)json_integer_value(json_object_get(sentinel, "samples"));
}

double bench_usual_rate(const json_t *document, size_t device)
{
    const json_t *rows = json_object_get(document, "results");
    size_t count = 0, capacity = 1;
    for (size_t i = 0; i < json_array_size(rows); i++)
        capacity += json_array_size(json_object_get(json_array_get(rows, i), "sentinels"));
    double *rates = calloc(capacity, sizeof *rates);
    for (size_t i = 0; rates && i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i), *sentinels = json_object_get(row, "sentinels");
        const bool is_its = (size_t)json_integer_value(json_object_get(row, "device")) == device;
        for (size_t k = 0; is_its && k < json_array_size(sentinels); k++) {
            const double rate = rate_of(json_array_get(sentinels, k));
            if (rate > 0)
                rates[count++] = rate;
        }
    }
    bench_median(rates, rates ? count : 0); // sorts
    const double usual = rates && count ? bench_quantile(rates, count, 0.75) : NAN;
    free(rates);
    return usual;
}

// ---- a case ----

// What a round's samples are multiplied with. Small differences from the run's usual rate are the sentinel's own noise.
static double factor_of(const json_t *sentinel, double usual)
{
    const double rate = rate_of(sentinel);
    return isnan(usual) ? 1 : isnan(rate) || fabs(log(rate / usual)) < BENCH_SENTINEL_NOISE ? usual : rate;
}

// The samples of the rounds that count; undisturbed: not of the others.
static void take_rounds(bench_side *side, double usual, bool undisturbed, double *typicals)
{
    const json_t *sentinels = json_object_get(side->row, "sentinels"),
                 *samples = json_object_get(json_object_get(side->row, "time"), "samples_ns");
    size_t at = 0;
    side->count = side->rounds = side->disturbed = 0;
    for (size_t i = 0; i < json_array_size(sentinels); i++) {
        const json_t *sentinel = json_array_get(sentinels, i);
        const size_t begin = side->count, end = at + samples_of(sentinel);
        if (undisturbed && is_disturbed(sentinel, usual)) {
            at = end;
            side->disturbed++;
            continue;
        }
        for (; at < end; at++)
            side->work[side->count++] =
                json_number_value(json_array_get(samples, at)) * factor_of(sentinel, usual);
        const double typical = quartile(side->work + begin, side->count - begin, NULL);
        if (typical > 0)
            typicals[side->rounds++] = log(typical);
    }
    for (; at < json_array_size(samples); at++) // a file of before there were sentinels
        side->work[side->count++] = json_number_value(json_array_get(samples, at));
}

bool bench_side_take(bench_side *side, const json_t *row, double usual_rate)
{
    const json_t *time = json_object_get(row, "time"), *samples = json_object_get(time, "samples_ns");
    const size_t rounds = json_array_size(json_object_get(row, "sentinels"));
    double *typicals = calloc(rounds + 1, sizeof *typicals);
    *side = (bench_side){.row = row,
                         .median_ns = bench_number_of(time, "median_ns"),
                         .noise = NAN,
                         .work = calloc(json_array_size(samples) + 1, sizeof *side->work)};
    const bool good = typicals && side->work;
    if (good) {
        take_rounds(side, usual_rate, true, typicals);
        // Too little would be left: then all of it, with the noise that it has.
        if (side->disturbed && (side->count < BENCH_LEAST_SAMPLES || side->rounds < 3))
            take_rounds(side, usual_rate, false, typicals);
        side->typical = quartile(side->work, side->count, &side->half_width);
    }
    side->deviation = good ? deviation(typicals, side->rounds) : NAN;
    free(typicals);
    return good;
}

// ---- a run ----

// The usual deviation of a round's quartile in this run: the middle of its cases. Of so few rounds the middle deviation
// is too small by what the chi-square distribution's median (Wilson and Hilferty, 1931) says.
static double usual_spread(bench_side *const *sides, size_t count, double *scratch)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const double freedom = (double)sides[i]->rounds - 1;
        if (!isnan(sides[i]->deviation))
            scratch[used++] = sides[i]->deviation / pow(1 - 2 / (9 * freedom), 1.5);
    }
    return used ? bench_median(scratch, used) : NAN;
}

bool bench_sides_noise(bench_side *const *sides, size_t count)
{
    double *scratch = calloc(count + 1, sizeof *scratch);
    if (!scratch)
        return false;
    double usual = usual_spread(sides, count, scratch);
    free(scratch);
    if (isnan(usual)) // one round: it cannot know what another would have found
        usual = BENCH_UNKNOWN_NOISE;
    for (size_t i = 0; i < count; i++) {
        bench_side *s = sides[i];
        const double rounds = s->rounds > 1 ? (double)s->rounds : 1;
        // 1.36: what a quartile varies more than a mean does, of normal values.
        const double own = isnan(s->deviation) ? 0 : bench_student(s->rounds - 1) * s->deviation;
        s->noise = fmax(s->half_width, 1.36 * fmax(own, 1.96 * usual) / sqrt(rounds));
    }
    return true;
}
