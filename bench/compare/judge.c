// SPDX-License-Identifier: MIT
// What became slower, what faster: cases by how their processes differ, operators by their cases and processes.
#include "compare/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/rank_test.h"
#include "common/stats.h"

// ---- how the processes of a run differ ----

// Between how processes differ as measured and what is left of it without the machine's speed. The first alone would
// hide what is there; the second alone is too little: the machine's speed moves two runs further apart than it moves
// the processes of one, and is known in part only (docs/notebook/two-speeds.md).
static double variance_between(double measured, double scaled)
{
    return (measured * measured + scaled * scaled) / 2;
}

// The case's own deviation and the usual one; of one process the latter alone.
static void mix(bench_side *s, const bench_usual *usual)
{
    const double freedom = s->processes > 1 ? (double)s->processes - 1 : 0;
    const double own = freedom > 0 ? variance_between(bench_deviation(s->measured, s->processes),
                                                      bench_deviation(s->scaled, s->processes))
                                   : 0;
    s->weight = freedom > 0 ? usual->weight : fmax(usual->weight, 1);
    const double squares = s->weight * variance_between(usual->measured, usual->deviation) + freedom * own;
    s->deviation = sqrt(squares / (s->weight + freedom));
}

static bool find_deviations(bench_comparison *c)
{
    bench_side **sides = calloc(c->pair_count + 1, sizeof *sides);
    bool good = sides != NULL;
    for (int side = 0; good && side < 2; side++) {
        for (size_t i = 0; i < c->pair_count; i++) {
            const size_t processes = (sides[i] = &c->pairs[i].sides[side])->processes;
            c->fewest[side] = i == 0 || processes < c->fewest[side] ? processes : c->fewest[side];
            c->most[side] = processes > c->most[side] ? processes : c->most[side];
            c->disturbed[side] += sides[i]->disturbed;
        }
        c->felt[side] = bench_sides_scale(sides, c->pair_count);
        good = bench_sides_usual(sides, c->pair_count, &c->usual[side]);
        for (size_t i = 0; good && i < c->pair_count; i++)
            mix(sides[i], &c->usual[side]);
    }
    free(sides);
    return good;
}

// ---- cases ----

// The standard deviation of a process' quartile that its samples explain.
static double of_samples(const bench_side *s)
{
    return s->within / 1.96;
}

// Variance of the mean of a side's processes: by how they differ, or by their samples where these differ more.
static double variance_of(const bench_side *s)
{
    const double n = (double)s->processes, samples = of_samples(s), between = s->deviation;
    // One process alone does not show what its samples add.
    return (n > 1 ? fmax(between * between, samples * samples) : between * between + samples * samples) / n;
}

static void find_error(bench_pair *pair)
{
    bool by_samples = false;
    double sum = 0, parts = 0;
    for (int i = 0; i < 2; i++) {
        const bench_side *s = &pair->sides[i];
        const double variance = variance_of(s);
        by_samples = by_samples || of_samples(s) > s->deviation;
        sum += variance;
        parts += variance * variance / (s->weight + (double)s->processes - 1);
    }
    pair->error = sqrt(sum);
    pair->freedom = sum * sum / parts; // Welch, 1947
    pair->level = by_samples ? BENCH_LEVEL_SAMPLES : BENCH_LEVEL_PROCESSES;
}

static bool is_bound_by_memory(const json_t *row)
{
    return !strcmp(bench_text_of(row, "bound_by"), "memory");
}

static void find_distances(const bench_comparison *c, bench_pair *pair)
{
    const bench_side *s = pair->sides;
    const double measured = bench_mean(s[1].measured, s[1].processes) - bench_mean(s[0].measured, s[0].processes),
                 scaled = bench_mean(s[1].scaled, s[1].processes) - bench_mean(s[0].scaled, s[0].processes);
    const bool has_memory = c->is_normalised && isfinite(log(c->memory_speed)) && is_bound_by_memory(s[0].row) &&
                            is_bound_by_memory(s[1].row);
    for (int i = 0; i < BENCH_VIEWS; i++)
        pair->distances[i] = measured;
    if (c->is_normalised)
        pair->distances[BENCH_BY_ARITHMETIC] = scaled + log(c->speed);
    if (has_memory)
        pair->distances[BENCH_BY_MEMORY] = measured + log(c->memory_speed);
}

// The distance nearest to none; zero where the views do not even agree on the direction.
static double nearest(const double distances[BENCH_VIEWS])
{
    double least = distances[0];
    for (int i = 1; i < BENCH_VIEWS; i++) {
        if (!(least * distances[i] > 0))
            return isnan(least * distances[i]) ? NAN : 0;
        if (fabs(distances[i]) < fabs(least))
            least = distances[i];
    }
    return least;
}

static double farthest(const double distances[BENCH_VIEWS])
{
    double most = 0;
    for (int i = 0; i < BENCH_VIEWS; i++)
        most = fmax(most, fabs(distances[i]));
    return most;
}

// No process of the one run is as fast as one of the other: Student's t relies on a normal distribution, which times do
// not have. Of many processes some may be out of line.
static bool are_apart(const bench_side *s)
{
    const double *a = s[0].measured, *b = s[1].measured;
    size_t above = 0, below = 0;
    if (s[0].processes < 2 || s[1].processes < 2)
        return true;
    if (s[0].processes + s[1].processes >= 10)
        return bench_rank_test(a, s[0].processes, b, s[1].processes) < BENCH_LEVEL;
    for (size_t i = 0; i < s[0].processes; i++) {
        for (size_t k = 0; k < s[1].processes; k++) {
            above += b[k] > a[i];
            below += b[k] < a[i];
        }
    }
    return !above || !below;
}

static bool is_enough(const bench_pair *pair)
{
    for (int i = 0; i < 2; i++)
        if (pair->sides[i].count < BENCH_LEAST_SAMPLES && pair->sides[i].processes < BENCH_ENOUGH_PROCESSES)
            return false;
    return true;
}

// What is divided in one run or the other is not judged, but where the two have nothing in common.
static bench_change judge_divided(const bench_pair *pair)
{
    const bench_levels *old = &pair->sides[0].levels, *new = &pair->sides[1].levels;
    return new->fastest > old->slowest * (1 + BENCH_UNSURE_CHANGE) ? BENCH_UNSURE : BENCH_DIVIDED;
}

static void judge_pair(bench_pair *pair)
{
    const double distance = log(pair->ratio), limit = log(1 + pair->limit);
    if (isnan(pair->p) || isnan(distance))
        pair->change = BENCH_UNSURE;
    else if (pair->sides[0].levels.disagree || pair->sides[1].levels.disagree)
        pair->change = judge_divided(pair);
    else if (pair->p < BENCH_LEVEL / 2 && fabs(distance) > log(1 + BENCH_LEAST_CHANGE) && are_apart(pair->sides))
        pair->change = distance > 0 ? BENCH_SLOWER : BENCH_FASTER;
    else if (distance > log(1 + BENCH_UNSURE_CHANGE))
        pair->change = BENCH_UNSURE; // the noise is no excuse for so much
    const double most = farthest(pair->distances);
    pair->by_machine = pair->change == BENCH_SAME && fabs(distance) <= limit && most > limit &&
                       most - fabs(distance) > log(1 + BENCH_LEAST_CHANGE);
    pair->overlaps = pair->change == BENCH_SAME && fabs(distance) > limit && !are_apart(pair->sides);
}

static bool judge_pairs(bench_comparison *c)
{
    double *p = calloc(c->pair_count + 1, sizeof *p);
    size_t tested = 0;
    if (!p)
        return false;
    for (size_t i = 0; i < c->pair_count; i++) {
        bench_pair *pair = &c->pairs[i];
        find_error(pair);
        find_distances(c, pair);
        pair->ratio = exp(nearest(pair->distances));
        p[i] = is_enough(pair) ? bench_student_p(log(pair->ratio) / pair->error, pair->freedom) : NAN;
        tested += !isnan(p[i]);
    }
    const bool good = bench_holm(p, c->pair_count);
    for (size_t i = 0; good && i < c->pair_count; i++) {
        bench_pair *pair = &c->pairs[i];
        pair->p = p[i];
        pair->limit =
            exp(bench_student_limit(BENCH_LEVEL / 2 / (double)(tested ? tested : 1), pair->freedom) * pair->error) - 1;
        if (pair->limit < BENCH_LEAST_CHANGE) {
            pair->limit = BENCH_LEAST_CHANGE;
            pair->level = BENCH_LEVEL_LEAST;
        }
        judge_pair(pair);
        c->slower += pair->change == BENCH_SLOWER;
        c->faster += pair->change == BENCH_FASTER;
        c->unsure += pair->change == BENCH_UNSURE;
        c->divided += pair->change == BENCH_DIVIDED;
    }
    free(p);
    return good;
}

// ---- operators ----

static bool is_in(const bench_pair *pair, const char *op)
{
    return !op || !strcmp(pair->op, op);
}

static bool is_counted(const bench_pair *pair, const char *op)
{
    return is_in(pair, op) && !isnan(pair->p) && isfinite(log(pair->ratio)) && !pair->sides[0].levels.disagree &&
           !pair->sides[1].levels.disagree;
}

// What a group's cases share in one process: the mean of what they are off their own means there. NaN: none has it.
static double shared_in(const bench_comparison *c, const bench_group *group, int side, json_int_t number)
{
    double sum = 0, used = 0;
    for (size_t i = 0; i < c->pair_count; i++) {
        const bench_side *s = &c->pairs[i].sides[side];
        for (size_t k = 0; is_counted(&c->pairs[i], group->op) && k < s->processes; k++) {
            if (s->numbers[k] != number)
                continue;
            sum += s->scaled[k] - bench_mean(s->scaled, s->processes);
            used++;
        }
    }
    return sum / used;
}

// Whether an earlier case of the group, or an earlier place in this one, has the process.
static bool is_known(const bench_comparison *c, const bench_group *group, int side, size_t pair, size_t place)
{
    const json_int_t number = c->pairs[pair].sides[side].numbers[place];
    for (size_t i = 0; i <= pair; i++) {
        const bench_side *s = &c->pairs[i].sides[side];
        for (size_t k = 0; is_counted(&c->pairs[i], group->op) && k < (i == pair ? place : s->processes); k++)
            if (s->numbers[k] == number)
                return true;
    }
    return false;
}

// Variance of a group's mean in one run: of its cases by themselves, or of its processes, whose cases share some of
// their noise, where that is more.
static double group_variance(const bench_comparison *c, const bench_group *group, int side, double *freedom)
{
    double own = 0, between = 0, processes = 0, all = 0, weights = 0;
    for (size_t i = 0; i < c->pair_count; i++) {
        const bench_side *s = &c->pairs[i].sides[side];
        if (!is_counted(&c->pairs[i], group->op))
            continue;
        own += variance_of(s);
        all += (double)s->processes;
        weights += s->weight + (double)s->processes - 1;
        for (size_t k = 0; k < s->processes; k++) {
            if (is_known(c, group, side, i, k))
                continue;
            const double shared = shared_in(c, group, side, s->numbers[k]);
            between += shared * shared;
            processes++;
        }
    }
    const double n = (double)group->count, each = all / n;
    *freedom = weights / n;
    if (each < 2) // whatever its cases share is not known: no more than four of them count
        return own / n / fmin(n, 4);
    own /= n * n;
    between /= (processes - 1) * each;
    if (between > own)
        *freedom = processes - 1;
    return fmax(between, own);
}

typedef struct group_noise {
    double error, freedom; // by processes
    double rows_error, rows_freedom; // by how the cases differ from each other; 0: too few of them
} group_noise;

static double p_of(double distance, const group_noise *noise)
{
    const double p = bench_student_p(distance / noise->error, noise->freedom);
    return noise->rows_freedom > 0 ? fmax(p, bench_student_p(distance / noise->rows_error, noise->rows_freedom)) : p;
}

static double half_at(double p, const group_noise *noise)
{
    const double half = bench_student_limit(p, noise->freedom) * noise->error;
    return noise->rows_freedom > 0 ? fmax(half, bench_student_limit(p, noise->rows_freedom) * noise->rows_error) : half;
}

static group_noise find_group_noise(const bench_comparison *c, const bench_group *group, double mean, double squares)
{
    group_noise noise = {0};
    double sum = 0, parts = 0;
    for (int side = 0; side < 2; side++) {
        double freedom;
        const double variance = group_variance(c, group, side, &freedom);
        sum += variance;
        parts += variance * variance / freedom;
    }
    const double n = (double)group->count;
    noise.error = sqrt(sum);
    noise.freedom = sum * sum / parts;
    if (group->count > 2) {
        noise.rows_error = sqrt(fmax(squares / n - mean * mean, 1e-12) / (n - 1));
        noise.rows_freedom = n - 1;
    }
    return noise;
}

// The mean of the logarithms of its cases' ratios.
static void judge_group(const bench_comparison *c, bench_group *group)
{
    double sums[BENCH_VIEWS] = {0}, squares = 0;
    group->ratio = group->low = group->high = group->limit = group->p = NAN;
    for (size_t i = 0; i < c->pair_count; i++) {
        const bench_pair *pair = &c->pairs[i];
        if (!is_in(pair, group->op))
            continue;
        group->slower += pair->change == BENCH_SLOWER;
        group->faster += pair->change == BENCH_FASTER;
        group->unsure += pair->change == BENCH_UNSURE;
        group->divided += pair->change == BENCH_DIVIDED;
        if (!is_counted(pair, group->op))
            continue;
        for (int v = 0; v < BENCH_VIEWS; v++)
            sums[v] += pair->distances[v];
        squares += pair->distances[0] * pair->distances[0];
        group->count++;
    }
    if (!group->count)
        return;
    const double n = (double)group->count;
    for (int v = 0; v < BENCH_VIEWS; v++)
        sums[v] /= n;
    const group_noise noise = find_group_noise(c, group, sums[0], squares);
    const double mean = nearest(sums), half = half_at(BENCH_LEVEL, &noise);
    group->ratio = exp(mean);
    group->low = exp(mean - half);
    group->high = exp(mean + half);
    group->p = p_of(mean, &noise);
    group->limit = fmax(BENCH_LEAST_CHANGE, exp(half_at(BENCH_LEVEL / 2 / (double)c->group_count, &noise)) - 1);
}

static void conclude(bench_group *group, double adjusted)
{
    const double mean = log(group->ratio);
    group->p = adjusted;
    if (!group->count)
        group->change = group->divided ? BENCH_DIVIDED : BENCH_UNSURE;
    else if (adjusted < BENCH_LEVEL / 2 && fabs(mean) > log(1 + BENCH_LEAST_CHANGE))
        group->change = mean > 0 ? BENCH_SLOWER : BENCH_FASTER;
    else if (mean > log(1 + BENCH_LEAST_CHANGE) && log(group->high) > log(1 + BENCH_UNSURE_CHANGE))
        group->change = BENCH_UNSURE;
}

static bool judge_groups(bench_comparison *c)
{
    c->groups = calloc(c->pair_count + 1, sizeof *c->groups);
    double *p = calloc(c->pair_count + 1, sizeof *p);
    bool good = c->groups && p;
    for (size_t i = 0; good && i < c->pair_count; i++) {
        size_t known = 0;
        while (known < c->group_count && strcmp(c->groups[known].op, c->pairs[i].op) != 0)
            known++;
        if (known == c->group_count)
            c->groups[c->group_count++].op = c->pairs[i].op;
    }
    if (good)
        c->group_count++; // all together
    for (size_t i = 0; i < c->group_count; i++) {
        judge_group(c, &c->groups[i]);
        p[i] = c->groups[i].p;
    }
    good = good && bench_holm(p, c->group_count);
    for (size_t i = 0; good && i < c->group_count; i++)
        conclude(&c->groups[i], p[i]);
    free(p);
    return good;
}

bool bench_comparison_judge(bench_comparison *c)
{
    return find_deviations(c) && judge_pairs(c) && judge_groups(c);
}
