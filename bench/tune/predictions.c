// SPDX-License-Identifier: MIT
#include "tune/predictions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/stats.h"
#include "common/text.h"
#include "system/interrupt.h"
#include "system/terminal.h"
#include "tune/budget.h"
#include "tune/race.h"

#define NEARLY_BEST 1.1 // a choice so near to the best is a good one
#define NEAR_TIME   2.0 // a prediction within this factor is a good one
#define NO_TIME     1e15 // what is predicted to take days is only taken by name

// One operator's cases.
typedef struct family {
    char op[48];
    bench_samples losses; // the chosen variant's time over the best one's
    bench_samples ratios; // of every candidate, its predicted time over its measured one
} family;

typedef struct survey {
    family families[64];
    size_t count, failed;
} survey;

static family *family_of(survey *s, const char *op)
{
    const size_t most = sizeof s->families / sizeof *s->families;
    for (size_t i = 0; i < s->count; i++) {
        if (!strcmp(s->families[i].op, op))
            return &s->families[i];
    }
    if (s->count < most)
        snprintf(s->families[s->count++].op, sizeof s->families[0].op, "%s", op);
    return &s->families[s->count - 1];
}

static double best_of(const bench_race *race)
{
    double best = INFINITY;
    for (size_t i = 0; i < race->candidate_count; i++) {
        if (race->candidates[i].measured_ns > 0)
            best = fmin(best, race->candidates[i].measured_ns);
    }
    return best;
}

static const bench_race_candidate *chosen_of(const bench_race *race)
{
    for (size_t i = 0; i < race->candidate_count; i++) {
        if (!strcmp(race->candidates[i].variant, race->predicted) && race->candidates[i].measured_ns > 0)
            return &race->candidates[i];
    }
    return NULL;
}

static void print_candidate(const bench_race *race, const bench_race_candidate *candidate, double best)
{
    char predicted[32] = "by name", measured[32] = "not measured", factor[32] = "";
    if (candidate->predicted_ns < NO_TIME)
        bench_format_ns(candidate->predicted_ns, predicted, sizeof predicted);
    if (candidate->measured_ns > 0) {
        bench_format_ns(candidate->measured_ns, measured, sizeof measured);
        snprintf(factor, sizeof factor, "%.2f of the best", candidate->measured_ns / best);
    }
    bench_print(4, "    %-6s %-34s predicted %10s   measured %10s   %s\n",
                strcmp(candidate->variant, race->predicted) ? "" : "chosen", candidate->variant, predicted, measured,
                factor);
}

static bool add(survey *s, const bench_race *race, const bench_case *c)
{
    const bench_race_candidate *chosen = chosen_of(race);
    const double best = best_of(race);
    bench_progress_clear();
    bench_print(4, "%s\n", c->canonical);
    for (size_t i = 0; i < race->candidate_count; i++)
        print_candidate(race, &race->candidates[i], best);
    fflush(stdout);
    if (!chosen)
        return true;
    family *f = family_of(s, json_string_value(json_object_get(race->key, "op")));
    bool good = bench_samples_add(&f->losses, chosen->measured_ns / best);
    for (size_t i = 0; i < race->candidate_count; i++) {
        const bench_race_candidate *candidate = &race->candidates[i];
        if (candidate->measured_ns > 0 && candidate->predicted_ns > 0 && candidate->predicted_ns < NO_TIME)
            good = good && bench_samples_add(&f->ratios, candidate->predicted_ns / candidate->measured_ns);
    }
    return good;
}

static double share_within(const bench_samples *samples, double factor)
{
    size_t within = 0;
    for (size_t i = 0; i < samples->count; i++)
        within += samples->values[i] <= factor && samples->values[i] >= 1.0 / factor;
    return samples->count ? 100.0 * (double)within / (double)samples->count : NAN;
}

static void print_family(family *f)
{
    bench_median(f->ratios.values, f->ratios.count); // sorts them
    const double *r = f->ratios.values;
    const size_t n = f->ratios.count;
    bench_print(4, "%-28s %5zu %10.0f%% %9.3f %8.2f %8.2f %8.2f %10.0f%%\n", f->op, f->losses.count,
                share_within(&f->losses, NEARLY_BEST), bench_geometric_mean(f->losses.values, f->losses.count),
                n ? bench_quantile(r, n, 0.1) : NAN, n ? bench_quantile(r, n, 0.5) : NAN,
                n ? bench_quantile(r, n, 0.9) : NAN, share_within(&f->ratios, NEAR_TIME));
}

static void print_summary(survey *s)
{
    bench_print(0, "\n%-28s %5s %11s %9s %8s %8s %8s %11s\n", "operator", "cases", "within 10%", "mean loss", "p10",
                "median", "p90", "within 2x");
    for (size_t i = 0; i < s->count; i++)
        print_family(&s->families[i]);
    bench_print(0,
                "\nwithin 10%%: cases whose chosen variant takes at most 1.1 times the best one's time; mean loss: the "
                "geometric mean of that factor. p10, median, p90: predicted over measured time of every candidate; "
                "within 2x: how many of those lie between 0.5 and 2.\n");
}

int bench_tune_predictions(bench_runner_process *husk, const bench_suite *suite, const bench_options *options)
{
    survey s = {.count = 0};
    bool has_memory = true;
    for (size_t i = 0; i < suite->count && !bench_interrupted && has_memory; i++) {
        const bench_case *c = &suite->entries[i].c;
        const bench_race_options race_options = {
            .seconds = BENCH_TUNE_NO_LIMIT,
            .seconds_left = BENCH_TUNE_NO_LIMIT,
            .max_time = options->max_time,
            .compile_time = options->compile_time,
            .seed = (uint64_t)options->seed + i,
            .again = true,
            .is_survey = true,
        };
        bench_race race;
        bench_progress_show("[%zu left] %s", suite->count - i, c->canonical);
        bench_race_run(husk, c, &race_options, &race);
        if (race.result == BENCH_RACE_SURVEYED)
            has_memory = add(&s, &race, c);
        else if (race.result == BENCH_RACE_FAILED) {
            bench_progress_clear();
            bench_print(4, "%s  not measured: %s\n", c->canonical, race.reason);
            s.failed++;
        }
        bench_race_free(&race);
    }
    bench_progress_clear();
    print_summary(&s);
    for (size_t i = 0; i < s.count; i++) {
        bench_samples_free(&s.families[i].losses);
        bench_samples_free(&s.families[i].ratios);
    }
    if (!has_memory)
        bench_say("no memory for the samples");
    if (bench_interrupted)
        return bench_interrupted_exit();
    return s.failed || !has_memory ? BENCH_EXIT_ERROR : BENCH_EXIT_OK;
}
