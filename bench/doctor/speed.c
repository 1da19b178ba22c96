// SPDX-License-Identifier: MIT
// Whether a device holds its speed: it is kept busy, long enough to become warm, and the rates at the end are set
// against those at the beginning, in the light of how much they differ by themselves.
#include "doctor/speed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/rank_test.h"
#include "common/stats.h"
#include "system/interrupt.h"
#include "system/terminal.h"
#include "system/timer.h"

#define HEAT_SECONDS 20.0
#define HEAT_SHARE   0.25 // of a budget, where that is shorter than 80 s
#define STEADY       0.07 // changes of the sentinel by less are what it does by itself
#define BINS         25   // of the whole time; the first and the last five are set against each other
#define WINDOW       5
#define LEAST_BINS   3 // in which something was timed: a busy machine may take longer than a bin for a kernel

double bench_doctor_heat_seconds(const bench_options *options)
{
    const double wanted = options->heat > 0     ? options->heat
                          : options->heat < 0   ? 0
                          : options->budget > 0 ? fmin(HEAT_SECONDS, HEAT_SHARE * options->budget)
                                                : HEAT_SECONDS;
    return options->budget > 0 ? fmin(wanted, options->budget) : wanted;
}

// The logarithm of the median rate of a part of the time; NaN: nothing was timed in it.
static double bin_rate(const double *rates, const double *times, size_t count, double from, double to, double *work)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (times[i] >= from && times[i] < to)
            work[used++] = rates[i];
    }
    return log(bench_median(work, used));
}

typedef struct window {
    double mean, squares; // of its bins, and their squared deviations
    size_t count;         // of bins in which something was timed
} window;

static window window_of(const double *bins)
{
    window w = {0};
    for (size_t i = 0; i < WINDOW; i++) {
        w.count += isfinite(bins[i]);
        w.mean += isfinite(bins[i]) ? bins[i] : 0;
    }
    w.mean /= (double)w.count;
    for (size_t i = 0; i < WINDOW; i++)
        w.squares += isfinite(bins[i]) ? (bins[i] - w.mean) * (bins[i] - w.mean) : 0;
    return w;
}

// Half of the 95% interval of their difference. A bin is one observation: samples within it resemble each other.
static double difference_noise(const window *a, const window *b)
{
    const size_t freedom = a->count + b->count - 2;
    return bench_student(freedom) * sqrt((a->squares + b->squares) / (double)freedom) *
           sqrt(1.0 / (double)a->count + 1.0 / (double)b->count);
}

bool bench_doctor_judge_speed(const double *rates, const double *times, size_t count, double seconds,
                              bench_speed *speed)
{
    double bins[BINS], *work = calloc(count + 1, sizeof *work);
    *speed = (bench_speed){0};
    if (!work)
        return false;
    for (size_t i = 0; i < BINS; i++)
        bins[i] = bin_rate(rates, times, count, seconds * (double)i / BINS, seconds * (double)(i + 1) / BINS, work);
    const window first = window_of(bins), last = window_of(bins + BINS - WINDOW);
    free(work);
    if (first.count < LEAST_BINS || last.count < LEAST_BINS)
        return false;
    const double noise = difference_noise(&first, &last), fall = first.mean - last.mean;
    size_t timed = 0;
    for (size_t i = 0; i < BINS; i++) {
        if (isfinite(bins[i]))
            bins[timed++] = bins[i];
    }
    speed->usual = exp(bench_median(bins, timed)); // sorts
    speed->best = exp(bench_quantile(bins, timed, 0.9));
    speed->first = exp(first.mean);
    speed->last = exp(last.mean);
    speed->change = exp(-fall) - 1;
    speed->noise = exp(noise) - 1;
    speed->least = 1 - exp(noise - fall);
    speed->slows = speed->change < -STEADY && fall > noise;
    speed->is_contended = !speed->slows && speed->usual < (1 - STEADY) * speed->best;
    return true;
}

static void tell_speed(bench_patient *p, const bench_speed *s, double seconds)
{
    if (s->slows)
        bench_doctor_advise(
            bench_doctor_find(p->d, BENCH_FINDING_NOTE, "slows_down",
                              "%.300s: within %.3g s of work it falls from %.0f to %.0f GFLOP/s (by %.0f%%; in spite "
                              "of its noise by %.0f%% at least): it throttles, or other work began",
                              p->name, seconds, s->first, s->last, -100 * s->change, 100 * s->least),
            "look at temperature, power limit and governor, repeat it with a longer --heat, and measure with "
            "--rounds 5");
    else if (s->is_contended)
        bench_doctor_advise(
            bench_doctor_find(p->d, BENCH_FINDING_NOTE, "contended",
                              "%.300s: half of the time it has at most %.0f%% of its best speed: other work runs on it",
                              p->name, 100 * s->usual / s->best),
            "end the other work, or measure with --rounds 5: medians of a busy machine are of little worth");
    else if (s->change < -STEADY)
        bench_doctor_advise(bench_doctor_find(p->d, BENCH_FINDING_NOTE, "speed_unclear",
                                              "%.300s: at the end of %.3g s of work it has %.0f%% less speed than "
                                              "at the beginning, which its noise (%.0f%%) may explain",
                                              p->name, seconds, -100 * s->change, 100 * s->noise),
                            "end other work, and repeat it with a longer --heat");
    else
        bench_doctor_find(
            p->d, BENCH_FINDING_OK, "speed",
            "%.300s: it holds its speed for %.3g s of work (%.0f GFLOP/s f32; at the end %+.1f%% +- %.1f%%)", p->name,
            seconds, s->usual, 100 * s->change, 100 * s->noise);
}

// False: it ended its work; reason says how.
static bool keep_busy(bench_patient *p, double seconds, bench_samples *rates, bench_samples *times,
                      char reason[BENCH_REASON_TEXT])
{
    const uint64_t start = bench_now_ns();
    for (double spent = 0, rate = 0; spent < seconds && !bench_interrupted;) {
        bench_progress_show("doctor: %.100s: keeping it busy, %.0f s left", p->name, seconds - spent);
        if (!bench_doctor_ask(p, "sentinel", "gflops", &rate, reason))
            return false;
        if (!bench_samples_add(rates, rate) || !bench_samples_add(times, spent))
            break;
        spent = (double)(bench_now_ns() - start) * 1e-9;
    }
    return true;
}

void bench_doctor_heat(bench_patient *p)
{
    char reason[BENCH_REASON_TEXT] = "";
    const double seconds = bench_doctor_heat_seconds(p->d->options);
    bench_samples rates = {0}, times = {0};
    bench_speed speed;
    double rate;
    if (seconds <= 0 || bench_interrupted)
        return;
    // The first one builds its kernel, and is not of the time.
    const bool is_busy =
        bench_doctor_ask(p, "sentinel", "gflops", &rate, reason) && keep_busy(p, seconds, &rates, &times, reason);
    if (bench_interrupted)
        ;
    else if (!is_busy)
        bench_doctor_advise(bench_doctor_find(p->d, BENCH_FINDING_PROBLEM, "work_fails",
                                              "%.300s does not stand %.3g s of work: %.500s", p->name, seconds, reason),
                            "look into dmesg (temperature, power, the driver's resets), and update the driver");
    else if (bench_doctor_judge_speed(rates.values, times.values, rates.count, seconds, &speed))
        tell_speed(p, &speed, seconds);
    else
        bench_doctor_advise(bench_doctor_find(p->d, BENCH_FINDING_NOTE, "not_heated",
                                              "%.300s: %.3g s of work are too few to see whether it slows down",
                                              p->name, seconds),
                            "give it more with --heat 20s, or with --budget");
    bench_samples_free(&rates);
    bench_samples_free(&times);
}
