// SPDX-License-Identifier: MIT
// What one run knows of a case: a figure a process, as it was measured and with the machine's speed taken out.
#include "compare/side.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/rank_test.h"
#include "common/stats.h"
#include "compare/rows.h"

// ---- the machine ----

// Of a round: the mean of before and after, or what there is of them; NaN: neither.
static double rate_of(const json_t *sentinel, const char *before_key, const char *after_key)
{
    const double before = bench_number_of(sentinel, before_key), after = bench_number_of(sentinel, after_key);
    return isnan(after) ? before : isnan(before) ? after : sqrt(before * after);
}

static double gflops_of(const json_t *sentinel)
{
    return rate_of(sentinel, "before_gflops", "after_gflops");
}

static double gbytes_of(const json_t *sentinel)
{
    return rate_of(sentinel, "before_gbytes_per_s", "after_gbytes_per_s");
}

static int compare_times(const void *a, const void *b)
{
    const double x = ((const bench_reading *)a)->at, y = ((const bench_reading *)b)->at;
    return (x > y) - (x < y);
}

static size_t count_sentinels(const json_t *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(rows); i++)
        count += json_array_size(json_object_get(json_array_get(rows, i), "sentinels"));
    return count;
}

// The upper quartile of what every round says: what else runs can only make it lower. NaN: none says anything.
static double usual(const json_t *rows, size_t device, double rate(const json_t *), double *scratch)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i), *sentinels = json_object_get(row, "sentinels");
        for (size_t k = 0; bench_row_is_of(row, device) && k < json_array_size(sentinels); k++) {
            const double value = rate(json_array_get(sentinels, k));
            if (value > 0)
                scratch[count++] = value;
        }
    }
    bench_median(scratch, count); // sorts
    return count ? bench_quantile(scratch, count, 0.75) : NAN;
}

static void take_readings(bench_machine *m, const json_t *rows, size_t device)
{
    static const char *const keys[] = {"before_gflops", "after_gflops"};
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i), *sentinels = json_object_get(row, "sentinels");
        for (size_t k = 0; bench_row_is_of(row, device) && k < json_array_size(sentinels); k++) {
            const json_t *sentinel = json_array_get(sentinels, k);
            for (int side = 0; side < 2; side++) {
                const bench_reading now = {bench_number_of(sentinel, "at_s"), bench_number_of(sentinel, keys[side])};
                if (!isnan(now.at) && now.gflops > 0) // a file of before it was kept has no times
                    m->readings[m->reading_count++] = now;
            }
        }
    }
    qsort(m->readings, m->reading_count, sizeof *m->readings, compare_times);
}

bool bench_machine_find(bench_machine *m, const json_t *document, size_t device)
{
    const json_t *rows = json_object_get(document, "results");
    const size_t count = count_sentinels(rows);
    double *scratch = calloc(count + 1, sizeof *scratch);
    *m = (bench_machine){.readings = calloc(2 * count + 1, sizeof *m->readings), .gflops = NAN, .gbytes_per_s = NAN};
    const bool good = scratch && m->readings;
    if (good) {
        m->gflops = usual(rows, device, gflops_of, scratch);
        m->gbytes_per_s = usual(rows, device, gbytes_of, scratch);
        take_readings(m, rows, device);
    }
    free(scratch);
    return good;
}

void bench_machine_free(bench_machine *m)
{
    free(m->readings);
    m->readings = NULL;
}

static size_t first_behind(const bench_machine *m, double at)
{
    size_t low = 0, high = m->reading_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (m->readings[middle].at < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// How fast the machine was then, in parts of its usual rate: the middle of the round's two readings and of the two
// before and behind them, so that none of them decides alone.
static double speed_at(const bench_machine *m, double at)
{
    double near[6];
    size_t count = 0;
    if (isnan(at) || isnan(m->gflops))
        return 1;
    const size_t behind = first_behind(m, at), first = behind > 2 ? behind - 2 : 0;
    for (size_t i = first; i < m->reading_count && i < first + 6; i++)
        if (fabs(m->readings[i].at - at) < BENCH_NEAR_SECONDS)
            near[count++] = m->readings[i].gflops;
    return count < 3 ? 1 : bench_median(near, count) / m->gflops;
}

// Something else ran beside the round: the rate before or after it is below the usual one.
static bool is_disturbed(const json_t *sentinel, double usual_rate)
{
    const double before = bench_number_of(sentinel, "before_gflops"), after = bench_number_of(sentinel, "after_gflops");
    return log(usual_rate / before) > BENCH_DISTURBED || log(usual_rate / after) > BENCH_DISTURBED; // NaN: false
}

// ---- processes ----

// One process' samples that count.
typedef struct process {
    json_int_t number;
    size_t begin, count;
    double speed; // of the machine meanwhile: the mean of its rounds' logarithms
    size_t rounds;
} process;

static double sample_at(const json_t *samples, size_t index)
{
    return json_number_value(json_array_get(samples, index));
}

// Which process took a round's samples. A file of before it was kept had one for each round of the list; what was
// measured again is behind the last of them.
static json_int_t process_of(const json_t *row, const json_t *sentinel, size_t index)
{
    const json_t *number = json_object_get(sentinel, "process");
    const json_int_t rounds = json_integer_value(json_object_get(row, "rounds"));
    if (json_is_integer(number))
        return json_integer_value(number);
    return rounds > 0 && (json_int_t)index >= rounds ? rounds - 1 : (json_int_t)index;
}

// The samples of the rounds that count, process by process. undisturbed: without rounds beside which something ran.
static size_t divide(bench_side *side, const bench_machine *m, bool undisturbed, process *all)
{
    const json_t *sentinels = json_object_get(side->row, "sentinels"),
                 *samples = json_object_get(json_object_get(side->row, "time"), "samples_ns");
    size_t at = 0, count = 0;
    side->count = side->disturbed = 0;
    for (size_t i = 0; i < json_array_size(sentinels); i++) {
        const json_t *sentinel = json_array_get(sentinels, i);
        const size_t end = at + (size_t)json_integer_value(json_object_get(sentinel, "samples"));
        if (at == end || (undisturbed && is_disturbed(sentinel, m->gflops))) {
            side->disturbed += at != end;
            at = end;
            continue;
        }
        const json_int_t number = process_of(side->row, sentinel, i);
        if (!count || all[count - 1].number != number)
            all[count++] = (process){.number = number, .begin = side->count};
        process *p = &all[count - 1];
        p->count += end - at;
        p->speed += log(speed_at(m, bench_number_of(sentinel, "at_s")));
        p->rounds++;
        while (at < end)
            side->work[side->count++] = sample_at(samples, at++);
    }
    if (!json_array_size(sentinels)) { // a file of before there were sentinels
        while (at < json_array_size(samples))
            side->work[side->count++] = sample_at(samples, at++);
        if (side->count)
            all[count++] = (process){.count = side->count};
    }
    return count;
}

// The lower quartile: what else runs on the machine can only add to a time, and adds to some samples more than to
// others. Sorts the values. width gets half of its 95% interval, relative: by the order statistics that the binomial
// distribution's normal approximation names.
static double quartile(double *values, size_t count, double *width)
{
    bench_median(values, count); // sorts
    const double at = bench_quantile(values, count, 0.25), reach = 1.96 * sqrt(0.25 * 0.75 / (double)count);
    *width =
        (bench_quantile(values, count, fmin(0.25 + reach, 1)) - bench_quantile(values, count, fmax(0.25 - reach, 0))) /
        2 / at;
    return at;
}

static bool find_typicals(bench_side *side, const process *all, size_t count)
{
    double *widths = calloc(count + 1, sizeof *widths);
    if (!widths)
        return false;
    for (size_t i = 0; i < count; i++) {
        side->numbers[i] = all[i].number;
        side->fewest = i == 0 || all[i].count < side->fewest ? all[i].count : side->fewest;
        side->measured[i] = side->scaled[i] = log(quartile(side->work + all[i].begin, all[i].count, &widths[i]));
        side->speeds[i] = all[i].rounds ? all[i].speed / (double)all[i].rounds : 0;
    }
    side->processes = count;
    side->within = bench_median(widths, count);
    free(widths);
    return true;
}

bool bench_side_take(bench_side *side, const json_t *row, const bench_machine *m)
{
    const json_t *time = json_object_get(row, "time"), *samples = json_object_get(time, "samples_ns");
    const size_t rounds = json_array_size(json_object_get(row, "sentinels")) + 1;
    process *all = calloc(rounds, sizeof *all);
    *side = (bench_side){.row = row,
                         .median_ns = bench_number_of(time, "median_ns"),
                         .deviation = NAN,
                         .work = calloc(json_array_size(samples) + 1, sizeof *side->work),
                         .numbers = calloc(rounds, sizeof *side->numbers),
                         .measured = calloc(rounds, sizeof *side->measured),
                         .speeds = calloc(rounds, sizeof *side->speeds),
                         .scaled = calloc(rounds, sizeof *side->scaled)};
    bool good = all && side->work && side->numbers && side->measured && side->speeds && side->scaled;
    if (good) {
        size_t count = divide(side, m, true, all);
        // Too little would be left: then all of it, with the noise that it has.
        if (side->disturbed && (side->count < BENCH_LEAST_SAMPLES || count < BENCH_LEAST_PROCESSES))
            count = divide(side, m, false, all);
        good = find_typicals(side, all, count);
    }
    free(all);
    return good;
}

void bench_side_free(bench_side *side)
{
    free(side->work);
    free(side->numbers);
    free(side->measured);
    free(side->speeds);
    free(side->scaled);
    side->work = side->measured = side->speeds = side->scaled = NULL;
    side->numbers = NULL;
}

// ---- a run ----

static double limited(double value)
{
    return fmax(-BENCH_MOST_OFF, fmin(BENCH_MOST_OFF, value));
}

double bench_sides_scale(bench_side *const *sides, size_t count)
{
    double products = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        const bench_side *s = sides[i];
        const double time = bench_mean(s->measured, s->processes), speed = bench_mean(s->speeds, s->processes);
        for (size_t k = 0; k < s->processes; k++) {
            products += limited(s->measured[k] - time) * limited(s->speeds[k] - speed);
            squares += limited(s->speeds[k] - speed) * limited(s->speeds[k] - speed);
        }
    }
    const double felt = squares > 0 ? fmax(0, fmin(1, -products / squares)) : 1;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sides[i]->processes; k++)
            sides[i]->scaled[k] = sides[i]->measured[k] + felt * sides[i]->speeds[k];
    return felt;
}

// The second derivative of the gamma function's logarithm (DLMF 5.15): by its recurrence, and its asymptotic series.
static double trigamma(double x)
{
    double sum = 0;
    for (; x < 8; x++)
        sum += 1 / (x * x);
    const double y = 1 / (x * x);
    return sum + 1 / x + y / 2 + y / x * (1.0 / 6 - y * (1.0 / 30 - y * (1.0 / 42 - y / 30)));
}

// How many processes the usual deviation counts like: few where the deviations of cases spread by more than those of so
// few processes do anyway (Smyth 2004, 6.2). squares: variances of cases with so many degrees of freedom.
static double weight_of(double *squares, size_t count, double freedom)
{
    for (size_t i = 0; i < count; i++)
        squares[i] = log(squares[i]);
    const double deviation = bench_deviation(squares, count), excess = deviation * deviation - trigamma(freedom / 2);
    double low = 0, high = BENCH_MOST_WEIGHT;
    if (!(excess > trigamma(BENCH_MOST_WEIGHT / 2)))
        return BENCH_MOST_WEIGHT;
    for (int i = 0; i < 40; i++) {
        const double middle = (low + high) / 2;
        *(trigamma(middle / 2) > excess ? &low : &high) = middle;
    }
    return low;
}

static bool divide_processes(bench_side *side, double usual_deviation)
{
    double *times = calloc(side->processes + 1, sizeof *times);
    if (!times)
        return false;
    for (size_t i = 0; i < side->processes; i++)
        times[i] = exp(side->measured[i]);
    const double explained = fmax(BENCH_OF_SAMPLES * side->within, BENCH_OF_DEVIATION * usual_deviation);
    bench_levels_divide(times, side->processes, side->fewest < BENCH_SAMPLES_EACH ? INFINITY : explained,
                        &side->levels);
    free(times);
    return true;
}

// The middle one of the cases' deviations, of their times as measured or scaled. NaN: no case has two processes. Of so
// few processes it is too small by what the chi-square distribution's median (Wilson and Hilferty, 1931) says.
static double middle_deviation(bench_side *const *sides, size_t count, bool is_scaled, double *scratch)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const double freedom = (double)sides[i]->processes - 1,
                     own = bench_deviation(is_scaled ? sides[i]->scaled : sides[i]->measured, sides[i]->processes);
        if (!isnan(own))
            scratch[used++] = own / pow(1 - 2 / (9 * freedom), 1.5);
    }
    return bench_median(scratch, used);
}

static size_t count_witnesses(bench_side *const *sides, size_t count)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        used += sides[i]->processes > 1;
    return used;
}

// Of cases with as many processes as most have, which do not disagree.
static double find_weight(bench_side *const *sides, size_t count, double *scratch)
{
    size_t used = 0, most = 0;
    for (size_t i = 0; i < count; i++)
        most = sides[i]->processes > most ? sides[i]->processes : most;
    for (size_t i = 0; most > 1 && i < count; i++) {
        const double own = bench_deviation(sides[i]->scaled, sides[i]->processes);
        if (sides[i]->processes == most && !sides[i]->levels.disagree)
            scratch[used++] = fmax(own * own, 1e-12);
    }
    return used > 1 ? weight_of(scratch, used, (double)most - 1) : BENCH_MOST_WEIGHT;
}

bool bench_sides_usual(bench_side *const *sides, size_t count, bench_usual *found)
{
    double *scratch = calloc(count + 1, sizeof *scratch);
    bool good = scratch != NULL;
    const size_t witnesses = count_witnesses(sides, count);
    // One process each: none of them knows what another would have found.
    *found = (bench_usual){BENCH_UNKNOWN_DEVIATION, BENCH_UNKNOWN_DEVIATION, BENCH_MOST_WEIGHT};
    if (good && witnesses) {
        found->measured = middle_deviation(sides, count, false, scratch);
        found->deviation = fmax(middle_deviation(sides, count, true, scratch), BENCH_LEAST_DEVIATION);
    }
    for (size_t i = 0; good && i < count; i++)
        good = divide_processes(sides[i], found->measured);
    if (good && witnesses) // a case is no witness of its own
        found->weight = fmin((double)witnesses - 1, find_weight(sides, count, scratch));
    free(scratch);
    return good;
}
