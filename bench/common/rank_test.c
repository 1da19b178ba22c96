// SPDX-License-Identifier: MIT
#include "common/rank_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct ranked {
    double value;
    bool is_first;
    int twice_rank; // ties have halves
} ranked;

static int compare_values(const void *a, const void *b)
{
    const double x = ((const ranked *)a)->value, y = ((const ranked *)b)->value;
    return (x > y) - (x < y);
}

// Ranks from 1, ties at their mean; the sum of t^3 - t over groups of ties comes back.
static double rank(ranked *all, size_t count)
{
    double ties = 0;
    qsort(all, count, sizeof *all, compare_values);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && all[end].value == all[i].value; end++)
            continue;
        const double size = (double)(end - i);
        ties += size * size * size - size;
        for (size_t k = i; k < end; k++)
            all[k].twice_rank = (int)(i + 1 + end);
    }
    return ties;
}

// ways[k][s]: how many sets of k of the ranks there are whose doubled sum is s, built up rank by rank (Streitberg and
// Roehmel's shift algorithm, 1986). The largest count is 50 over 25, which a double holds exactly.
static double exact(const ranked *all, size_t count, size_t chosen, double sum)
{
    const size_t most = count * (count + 1) + 1;
    double *ways = calloc((chosen + 1) * most, sizeof *ways), far = 0, total = 0;
    const double mean = (double)chosen * (double)(count + 1); // of the doubled sum
    if (!ways)
        return NAN;
    ways[0] = 1;
    for (size_t i = 0; i < count; i++) {
        const size_t add = (size_t)all[i].twice_rank;
        for (size_t k = chosen < i + 1 ? chosen : i + 1; k >= 1; k--) {
            const double *from = ways + (k - 1) * most;
            double *to = ways + k * most;
            for (size_t s = most - 1; s >= add; s--)
                to[s] += from[s - add];
        }
    }
    for (size_t s = 0; s < most; s++) {
        const double count_of = ways[chosen * most + s];
        total += count_of;
        far += fabs((double)s - mean) >= fabs(sum - mean) ? count_of : 0;
    }
    free(ways);
    return far / total;
}

static double approximate(size_t a_count, size_t b_count, double twice_sum, double ties)
{
    const double a = (double)a_count, b = (double)b_count, n = a + b;
    const double distance = fabs(twice_sum / 2 - a * (n + 1) / 2) - 0.5;
    const double variance = a * b / 12 * (n + 1 - ties / (n * (n - 1)));
    if (!(variance > 0) || distance <= 0)
        return 1;
    return erfc(distance / sqrt(2 * variance));
}

double bench_rank_test(const double *a, size_t a_count, const double *b, size_t b_count)
{
    const size_t count = a_count + b_count;
    ranked *all = a_count && b_count ? calloc(count, sizeof *all) : NULL;
    if (!all)
        return NAN;
    for (size_t i = 0; i < count; i++)
        all[i] = (ranked){i < a_count ? a[i] : b[i - a_count], i < a_count, 0};
    const double ties = rank(all, count);
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += all[i].is_first ? all[i].twice_rank : 0;
    const double p =
        count <= BENCH_EXACT_SAMPLES ? exact(all, count, a_count, sum) : approximate(a_count, b_count, sum, ties);
    free(all);
    return p;
}

typedef struct numbered {
    double p;
    size_t index;
} numbered;

static int compare_p(const void *a, const void *b)
{
    const double x = ((const numbered *)a)->p, y = ((const numbered *)b)->p;
    return (x > y) - (x < y);
}

bool bench_holm(double *p, size_t count)
{
    numbered *order = calloc(count + 1, sizeof *order);
    size_t used = 0;
    double largest = 0;
    if (!order)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!isnan(p[i]))
            order[used++] = (numbered){p[i], i};
    qsort(order, used, sizeof *order, compare_p);
    for (size_t i = 0; i < used; i++) {
        largest = fmax(largest, fmin(1, (double)(used - i) * order[i].p));
        p[order[i].index] = largest;
    }
    free(order);
    return true;
}

double bench_student(size_t freedom)
{
    // Up to 10 as any table has them; beyond, Abramowitz and Stegun 26.7.5, good to four digits there.
    static const double few[] = {INFINITY,         12.7062047361747, 4.30265272974946, 3.18244630528371,
                                 2.77644510519779, 2.57058183563631, 2.44691185114497, 2.36462425159278,
                                 2.30600413520417, 2.26215716279820, 2.22813885198627};
    const double z = 1.95996398454005, n = (double)freedom;
    if (freedom < sizeof few / sizeof *few)
        return few[freedom];
    return z + (pow(z, 3) + z) / (4 * n) + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * n * n);
}

// The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method.
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m <= 300; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                     odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        for (int i = 0; i < 2; i++) {
            const double step = i ? odd : even;
            d = 1 + step * d;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = 1 + step / c;
            c = fabs(c) < tiny ? tiny : c;
            value *= c * d;
        }
        if (fabs(c * d - 1) < 1e-14)
            break;
    }
    return value;
}

double bench_student_p(double t, double freedom)
{
    const double a = freedom / 2, b = 0.5, x = freedom / (freedom + t * t);
    if (!(freedom > 0) || isnan(t))
        return NAN;
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    const double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    // The fraction converges fast on one side of the mean.
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double bench_student_limit(double p, double freedom)
{
    double low = 0, high = 1;
    while (high < 1e9 && bench_student_p(high, freedom) > p)
        high *= 2;
    for (int i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;
        *(bench_student_p(middle, freedom) > p ? &low : &high) = middle;
    }
    return (low + high) / 2;
}
