/* SPDX-License-Identifier: MIT */
/*
 * bench/measure/levels.h: one time, measured by several processes. Where a process' memory lies, on which cores its
 * threads began and the like is decided once in its life, so that its samples resemble each other more than those of
 * another process. What can be said of the time then depends on how many processes took part, and not on how many
 * samples each took (Kalibera and Jones, Rigorous Benchmarking in Reasonable Time, 2013).
 */
#ifndef BENCH_MEASURE_LEVELS_H
#define BENCH_MEASURE_LEVELS_H

#include <stdbool.h>
#include <stddef.h>

/* What one process added to a list of samples. */
typedef struct bench_part {
    int number;      /* of the process among those that the runner has had */
    size_t count;    /* of samples, behind those of the process before */
    double busy_ns;  /* CPU time of all its threads while it took them */
    double spent_ns; /* and how long that was */
} bench_part;

typedef struct bench_parts {
    bench_part *values;
    size_t count, capacity;
} bench_parts;

/*
 * Count samples to the part of that process: the last one, or one that is begun. A part without samples is dropped
 * where another begins. False: memory is short.
 */
bool bench_parts_add(bench_parts *parts, const bench_part *more);
void bench_parts_free(bench_parts *parts);

/*
 * Processes are said to disagree where their medians are further apart than this, and than what explains it, and each
 * has samples enough for a 95% interval.
 */
#define BENCH_DISAGREEMENT   0.08
#define BENCH_SAMPLES_EACH   6
#define BENCH_OF_SAMPLES     3.0 /* times half of a median's interval: explained by the samples */
#define BENCH_OF_DEVIATION   5.0 /* times the usual deviation between processes: explained by that */
#define BENCH_WIDEST         1e3 /* an interval ends at so many times the median, which says that nothing is known */

typedef struct bench_levels {
    size_t processes;
    double median;            /* of the processes' medians */
    double low, high;         /* its 95% interval: by how the processes differ (Student's t of the logarithms, as much
                                 wider as a median varies more than a mean), or by the samples within them where those
                                 differ more; NaN: one process */
    double between;           /* standard deviation of the logarithms of the medians; NaN: one process */
    double within;            /* half of the 95% interval of a process' median by its samples, relative */
    double fastest, slowest;  /* medians */
    bool disagree;            /* more than BENCH_DISAGREEMENT */
    bool is_even;             /* and no gap divides them: half of the range at least */
    double speeds[2];         /* where they do: the median of the faster ones and that of the slower ones, divided at
                                 the widest gap; the fastest and the slowest where it is even; else NaN */
} bench_levels;

/* values: samples, one process' behind the other's. False: memory is short. All NaN where there are none. */
bool bench_levels_find(const double *values, const bench_parts *parts, bench_levels *levels);

/* Divide medians at their widest gap; sorts them. explained: how far they may be apart without a word, relative. */
void bench_levels_divide(double *medians, size_t count, double explained, bench_levels *levels);

/* "two speeds: 440 us and 650 us", "processes differ: 440 us to 650 us"; "" where they agree. */
void bench_levels_text(const bench_levels *levels, char text[96]);

#endif
