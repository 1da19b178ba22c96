// SPDX-License-Identifier: MIT
#include "tune/kernel_race.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "ref/random.h"
#include "system/host.h"
#include "system/interrupt.h"
#include "system/timer.h"
#include "worker/requests.h"

#define MOST_FINALISTS (BENCH_SLOTS - 1)
#define HOPELESS       1.4 // a first look so much above the best does not get into the final
#define LOOKING        0.7 // of the time: what is left is the final's
#define PROCESSES      3   // of the final: what a process got when it began may favour anyone

static double seconds_since(uint64_t start)
{
    return (double)(bench_now_ns() - start) * 1e-9;
}

// ---- one by one ----

static void keep_samples(bench_tried *tried, const bench_samples *samples)
{
    json_decref(tried->samples);
    tried->samples = json_array();
    for (size_t i = 0; i < samples->count; i++)
        json_array_append_new(tried->samples, json_real(samples->values[i]));
}

static void take_times(bench_tried *tried, const bench_entrant *e)
{
    tried->median_ns = e->summary.median;
    tried->low_ns = e->summary.ci_low;
    tried->high_ns = e->summary.ci_high;
    keep_samples(tried, &e->samples);
}

static void fail(bench_tried *tried, const bench_entrant *e)
{
    tried->state = e->state;
    snprintf(tried->stage, sizeof tried->stage, "%s", e->stage);
    free(tried->reason);
    tried->reason = bench_copy_text(e->reason);
    // What it took before is no time of a right result's.
    tried->median_ns = tried->low_ns = tried->high_ns = 0;
    json_decref(tried->samples);
    tried->samples = NULL;
    // A worker that ended while it compiled says so by where it ended.
    if (strstr(e->reason, "while compiling"))
        snprintf(tried->stage, sizeof tried->stage, "compile");
}

static void look_at(bench_runner_process *runner, const bench_kernel_race_options *options,
                    const bench_suite_entry *entry, bench_tried *tried)
{
    bench_row *row = calloc(1, sizeof *row);
    if (!row)
        return;
    const bench_measure_options look = {
        .rule = {.min_samples = 3, .min_seconds = 0.02, .half_width = 0.02, .max_seconds = 0.1, .quick = true},
        .max_time = options->max_time,
        .compile_time = options->compile_time,
        .warmup = 1,
        .seed = options->seed,
        .verify = true,
    };
    json_t *now = bench_host_time();
    row->c = entry->c;
    row->kernel = entry->kernel;
    bench_entrant *e = bench_row_add(row, runner, NULL);
    e->kernel = entry->kernel;
    bench_measure_row(row, &look);
    tried->build_ns = json_number_value(json_object_get(e->prepared, "build_ns"));
    snprintf(tried->at, sizeof tried->at, "%s", json_string_value(now) ? json_string_value(now) : "");
    json_decref(now);
    if (!bench_interrupted && e->state == BENCH_STATE_OK && e->summary.n > 0) {
        tried->state = BENCH_STATE_OK;
        take_times(tried, e);
    } else if (!bench_interrupted) {
        fail(tried, e);
    }
    bench_row_free(row);
    free(row);
}

static bool shuffle(bench_kernel_race *race, uint64_t seed, size_t **order)
{
    husk_ref_random random = {.seed = seed};
    *order = calloc(race->count + 1, sizeof **order);
    for (size_t i = 0; *order && i < race->count; i++) {
        const size_t k = (size_t)husk_ref_random_below(&random, (int64_t)i + 1);
        (*order)[i] = (*order)[k];
        (*order)[k] = i;
    }
    return *order != NULL;
}

static void look_at_all(bench_runner_process *runner, const bench_kernel_race_options *options,
                        bench_kernel_race_watch *watch, bench_kernel_race *race, const size_t *order, uint64_t start)
{
    for (size_t i = 0; i < race->count && !bench_interrupted; i++) {
        const size_t at = order[i];
        // The first is looked at whatever the time is: without one there is no answer at all.
        if (i > 0 && seconds_since(start) > LOOKING * options->seconds)
            return;
        watch(&race->entries[at], i, race->count);
        look_at(runner, options, &race->entries[at], &race->tried[at]);
    }
}

// ---- against each other ----

static bool is_right(const bench_tried *tried)
{
    return tried->state == BENCH_STATE_OK && tried->median_ns > 0;
}

// The fastest at first sight, as many as fit.
static void choose_finalists(bench_kernel_race *race)
{
    for (size_t i = 0; i < race->count; i++) {
        if (!is_right(&race->tried[i]))
            continue;
        size_t at = race->finalists;
        while (at > 0 && race->tried[race->order[at - 1]].median_ns > race->tried[i].median_ns)
            at--;
        if (at == MOST_FINALISTS)
            continue;
        const size_t moved = (race->finalists < MOST_FINALISTS ? race->finalists : MOST_FINALISTS - 1) - at;
        memmove(&race->order[at + 1], &race->order[at], moved * sizeof *race->order);
        race->order[at] = i;
        race->finalists += race->finalists < MOST_FINALISTS;
    }
    while (race->finalists > 1 &&
           race->tried[race->order[race->finalists - 1]].median_ns > HOPELESS * race->tried[race->order[0]].median_ns)
        race->finalists--;
}

static void sort_finalists(bench_kernel_race *race)
{
    for (size_t i = 1; i < race->finalists; i++) {
        const size_t one = race->order[i];
        size_t at = i;
        for (; at > 0 && race->tried[race->order[at - 1]].median_ns > race->tried[one].median_ns; at--)
            race->order[at] = race->order[at - 1];
        race->order[at] = one;
    }
}

// Those whose interval reaches the first one's come next.
static void count_as_fast(bench_kernel_race *race)
{
    const bench_tried *best = &race->tried[race->order[0]];
    for (size_t i = 1; i < race->finalists; i++) {
        const size_t one = race->order[i];
        if (race->tried[one].low_ns > best->high_ns)
            continue;
        const size_t at = ++race->as_fast;
        memmove(&race->order[at + 1], &race->order[at], (i - at) * sizeof *race->order);
        race->order[at] = one;
    }
}

static bool has_failed(const bench_row *row)
{
    for (size_t i = 0; i < row->entrant_count; i++) {
        if (row->entrants[i].state != BENCH_STATE_OK)
            return true;
    }
    return false;
}

static void take_final(bench_kernel_race *race, const bench_row *row, bool is_whole)
{
    for (size_t i = 0; i < race->finalists; i++) {
        const bench_entrant *e = &row->entrants[i];
        bench_tried *tried = &race->tried[race->order[i]];
        if (e->state != BENCH_STATE_OK && !e->is_victim)
            fail(tried, e);
        tried->is_finalist = is_whole && e->summary.n > 0;
        if (tried->is_finalist)
            take_times(tried, e);
    }
}

// False: one has failed, and the others have no times yet.
static bool run_final(bench_runner_process *runner, const bench_kernel_race_options *options, bench_kernel_race *race,
                      double seconds)
{
    bench_row *row = calloc(1, sizeof *row);
    if (!row)
        return true;
    bench_measure_options final = {
        .rule = {.min_samples = 5, .min_seconds = 0.1, .half_width = 0.005, .max_seconds = 1},
        .row_seconds = seconds / PROCESSES,
        .max_time = options->max_time,
        .compile_time = options->compile_time,
        .warmup = 3,
    };
    row->c = race->entries[0].c;
    row->kernel = race->entries[0].kernel;
    for (size_t i = 0; i < race->finalists; i++) {
        const bench_suite_entry *entry = &race->entries[race->order[i]];
        bench_row_add(row, runner, bench_text_of(entry->kernel, "configuration"))->kernel = entry->kernel;
    }
    for (int process = 0; process < PROCESSES && !has_failed(row) && !bench_interrupted; process++) {
        bench_process_stop(&runner->process);
        final.seed = options->seed + (uint64_t)process;
        final.verify = process == 0;
        bench_measure_row(row, &final);
    }
    const bool is_whole = !has_failed(row);
    if (!bench_interrupted)
        take_final(race, row, is_whole);
    bench_row_free(row);
    free(row);
    return is_whole;
}

// One that has failed in the final is none.
static void leave_out_failed(bench_kernel_race *race)
{
    size_t kept = 0;
    for (size_t i = 0; i < race->finalists; i++) {
        if (is_right(&race->tried[race->order[i]]))
            race->order[kept++] = race->order[i];
    }
    race->finalists = kept;
}

bool bench_kernel_race_run(bench_runner_process *runner, const bench_kernel_race_options *options,
                           bench_kernel_race_watch *watch, bench_kernel_race *race)
{
    const uint64_t start = bench_now_ns();
    size_t *order = NULL;
    race->tried = calloc(race->count, sizeof *race->tried);
    if (!race->tried || !shuffle(race, options->seed, &order))
        return false;
    for (size_t i = 0; i < race->count; i++) {
        race->tried[i].kernel = race->entries[i].kernel;
        race->tried[i].state = BENCH_STATE_SKIPPED;
    }
    look_at_all(runner, options, watch, race, order, start);
    free(order);
    choose_finalists(race);
    bool is_over = false;
    while (race->finalists && !is_over && !bench_interrupted) {
        const double left = options->seconds - seconds_since(start);
        const size_t before = race->finalists;
        watch(&race->entries[race->order[0]], race->count, race->count);
        // What was found must not be lost for a moment's saving.
        is_over = run_final(runner, options, race, fmax(left, 0.3 * (double)race->finalists * PROCESSES));
        leave_out_failed(race);
        // Who is to blame is not known where nobody is left out: what was seen at first stands.
        is_over = is_over || race->finalists == before;
        if (!race->finalists) // the next ones
            choose_finalists(race);
    }
    sort_finalists(race);
    if (race->finalists)
        count_as_fast(race);
    return true;
}

void bench_kernel_race_free(bench_kernel_race *race)
{
    for (size_t i = 0; race->tried && i < race->count; i++) {
        free(race->tried[i].reason);
        json_decref(race->tried[i].samples);
    }
    free(race->tried);
    race->tried = NULL;
}

size_t bench_kernel_race_count(const bench_kernel_race *race, bench_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < race->count; i++)
        count += race->tried[i].state == state;
    return count;
}
