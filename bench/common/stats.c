// SPDX-License-Identifier: MIT
#include "common/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool bench_samples_add(bench_samples *samples, double value)
{
    if (samples->count == samples->capacity) {
        size_t capacity = samples->capacity ? 2 * samples->capacity : 64;
        double *values = realloc(samples->values, capacity * sizeof *values);
        if (!values)
            return false;
        samples->values = values;
        samples->capacity = capacity;
    }
    samples->values[samples->count++] = value;
    return true;
}

void bench_samples_free(bench_samples *samples)
{
    free(samples->values);
    memset(samples, 0, sizeof *samples);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_quantile(const double *sorted, size_t n, double p)
{
    double position = p * (double)(n - 1);
    size_t below = (size_t)position;
    if (below + 1 >= n)
        return sorted[n - 1];
    return sorted[below] + (position - (double)below) * (sorted[below + 1] - sorted[below]);
}

double bench_median(double *values, size_t count)
{
    if (count == 0)
        return NAN;
    qsort(values, count, sizeof *values, compare_doubles);
    return bench_quantile(values, count, 0.5);
}

// P(X <= k) for X binomial with n trials of probability 1/2; by logarithms, so that n may be large.
static double binomial_half_cdf(size_t n, size_t k)
{
    double sum = 0, log_term = -(double)n * log(2.0);
    for (size_t i = 0; i <= k; i++) {
        sum += exp(log_term);
        log_term += log((double)(n - i)) - log((double)(i + 1));
    }
    return sum;
}

bool bench_median_ranks(size_t n, double confidence, size_t *low, size_t *high)
{
    *low = 0;
    *high = n ? n - 1 : 0;
    if (n == 0)
        return false;
    // [x_(l), x_(n-1-l)] misses the median with probability 2 P(X <= l).
    bool found = false;
    for (size_t l = 0; 2 * l + 1 < n; l++) {
        if (1 - 2 * binomial_half_cdf(n, l) < confidence)
            break;
        *low = l;
        *high = n - 1 - l;
        found = true;
    }
    return found;
}

bool bench_summarise(const bench_samples *samples, bench_summary *s)
{
    size_t n = samples->count;
    *s = (bench_summary){n, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0};
    if (n == 0)
        return true;
    double *sorted = malloc(n * sizeof *sorted);
    if (!sorted)
        return false;
    memcpy(sorted, samples->values, n * sizeof *sorted);
    s->median = bench_median(sorted, n);
    s->min = sorted[0];
    s->max = sorted[n - 1];
    s->q1 = bench_quantile(sorted, n, 0.25);
    s->q3 = bench_quantile(sorted, n, 0.75);
    size_t low, high;
    bench_median_ranks(n, 0.95, &low, &high);
    s->ci_low = sorted[low];
    s->ci_high = sorted[high];
    s->half_width = (s->ci_high - s->ci_low) / 2 / s->median;
    double reach = 3 * (s->q3 - s->q1);
    for (size_t i = 0; i < n; i++)
        s->outliers += sorted[i] < s->q1 - reach || sorted[i] > s->q3 + reach;
    free(sorted);
    return true;
}

double bench_mean(const double *values, size_t count)
{
    double mean = 0;
    for (size_t i = 0; i < count; i++)
        mean += values[i] / (double)count;
    return count ? mean : NAN;
}

double bench_deviation(const double *values, size_t count)
{
    const double mean = bench_mean(values, count);
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return count > 1 ? sqrt(squares / (double)(count - 1)) : NAN;
}

double bench_geometric_mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(values[i] > 0) || isinf(values[i]))
            return NAN;
        sum += log(values[i]);
    }
    return count ? exp(sum / (double)count) : NAN;
}

bool bench_is_noise_plateau(const double *widths, const size_t *counts, size_t entries)
{
    if (entries < 2)
        return false;
    size_t last = entries - 1;
    for (size_t i = last; i-- > 0;) {
        if (2 * counts[last] >= 3 * counts[i] && counts[i] >= 20)
            return widths[last] > 0.95 * widths[i];
    }
    return false;
}

const char *bench_stop_text(bench_stop stop)
{
    static const char *const texts[] = {"not yet", "precise", "plateau", "time", "budget", "quick"};
    return (size_t)stop < sizeof texts / sizeof *texts ? texts[stop] : "unknown";
}

static void remember(bench_progress *progress, const bench_summary *summary)
{
    const size_t capacity = sizeof progress->widths / sizeof *progress->widths;
    if (progress->entries == capacity) { // keep every other one
        for (size_t i = 0; i < capacity / 2; i++) {
            progress->widths[i] = progress->widths[2 * i + 1];
            progress->counts[i] = progress->counts[2 * i + 1];
        }
        progress->entries = capacity / 2;
    }
    progress->widths[progress->entries] = summary->half_width;
    progress->counts[progress->entries++] = summary->n;
}

bench_stop bench_decide(const bench_stop_rule *rule, bench_progress *progress, const bench_summary *summary)
{
    remember(progress, summary);
    if (rule->budget_seconds > 0 && progress->seconds >= rule->budget_seconds && summary->n >= 1)
        return BENCH_STOP_BUDGET;
    if (rule->quick && progress->seconds >= rule->min_seconds && summary->n >= 3)
        return BENCH_STOP_QUICK;
    if (progress->seconds >= rule->max_seconds)
        return BENCH_STOP_TIME;
    if (summary->n < rule->min_samples || progress->seconds < rule->min_seconds)
        return BENCH_STOP_NOT_YET;
    if (summary->half_width <= rule->half_width)
        return BENCH_STOP_PRECISE;
    if (bench_is_noise_plateau(progress->widths, progress->counts, progress->entries))
        return BENCH_STOP_PLATEAU;
    return BENCH_STOP_NOT_YET;
}
