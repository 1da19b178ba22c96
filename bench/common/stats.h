/* SPDX-License-Identifier: MIT */
/*
 * bench/common/stats.h: what samples say, without assuming how they are distributed.
 */
#ifndef BENCH_COMMON_STATS_H
#define BENCH_COMMON_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growing list of samples in the order in which they were taken. */
typedef struct bench_samples {
    double *values;
    size_t count, capacity;
} bench_samples;

/* False when memory is short. */
bool bench_samples_add(bench_samples *samples, double value);
void bench_samples_free(bench_samples *samples);

typedef struct bench_summary {
    size_t n;
    double median, ci_low, ci_high; /* 95% where n allows it; n < 6: the whole range, which covers less */
    double min, max, q1, q3;
    double half_width; /* (ci_high - ci_low) / 2 / median */
    size_t outliers;   /* beyond 3 interquartile ranges from the quartiles; counted, never dropped */
} bench_summary;

/* All NaN and 0 for no samples. False when memory is short. */
bool bench_summarise(const bench_samples *samples, bench_summary *summary);

/* Of sorted values: between order statistics, linearly (type 7 of Hyndman and Fan 1996, as in R and NumPy). */
double bench_quantile(const double *sorted, size_t count, double p);

/* Median of count values; reorders them. NaN for none. */
double bench_median(double *values, size_t count);

/*
 * Ranks (from 0) of the order statistics of n samples that enclose the median with at least the given
 * confidence, by the binomial distribution (David and Nagaraja, Order Statistics, 7.1): false when no pair
 * does, and the ranks are those of the minimum and the maximum.
 */
bool bench_median_ranks(size_t n, double confidence, size_t *low, size_t *high);

/* NaN for none, and a standard deviation for one. */
double bench_mean(const double *values, size_t count);
double bench_deviation(const double *values, size_t count);

/* Geometric mean of positive numbers; NaN for none or for one that is not positive. */
double bench_geometric_mean(const double *values, size_t count);

/*
 * Whether more samples would not narrow the interval: the half-width has not shrunk by a twentieth while the
 * number of samples grew by half. widths[i] is the half-width after counts[i] samples, counts ascending.
 */
bool bench_is_noise_plateau(const double *widths, const size_t *counts, size_t entries);

/* Why sampling ended. */
typedef enum bench_stop {
    BENCH_STOP_NOT_YET,
    BENCH_STOP_PRECISE, /* 95% confidence half-width of the median at most 1% */
    BENCH_STOP_PLATEAU, /* more samples did not narrow it */
    BENCH_STOP_TIME,    /* the limit of one runner: 15 s */
    BENCH_STOP_BUDGET,  /* the time given to the whole run */
    BENCH_STOP_QUICK    /* --quick's 0.1 s */
} bench_stop;

const char *bench_stop_text(bench_stop stop);

typedef struct bench_stop_rule {
    size_t min_samples;    /* 10 */
    double min_seconds;    /* 0.5; 0.1 with --quick */
    double half_width;     /* 0.01 */
    double max_seconds;    /* 15 */
    double budget_seconds; /* what the run's total time leaves to this runner; 0: no limit */
    bool quick;            /* stop at min_seconds whatever the width, with at least 3 samples */
} bench_stop_rule;

/* State of one runner's sampling: half-widths as they developed. */
typedef struct bench_progress {
    double seconds; /* spent in samples */
    double widths[64];
    size_t counts[64];
    size_t entries;
} bench_progress;

/* Decide after each slice of samples. */
bench_stop bench_decide(const bench_stop_rule *rule, bench_progress *progress, const bench_summary *summary);

#endif
