// SPDX-License-Identifier: MIT
#include "run/rounds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/ops.h"
#include "common/json.h"
#include "common/text.h"
#include "measure/cold.h"
#include "measure/plausible.h"
#include "system/host.h"
#include "system/interrupt.h"
#include "system/terminal.h"
#include "system/timer.h"
#include "record/resume.h"
#include "record/row_json.h"
#include "ref/random.h"
#include "run/runners.h"
#include "run/sentinel.h"

// Who measures several rounds wants to compare runs: a round beside which something else ran is measured again, twice
// at most and half as many of all, and as long as there is time. Its samples are kept, and compare leaves them out.
static void measure_again(bench_run *r, bench_row *row, bench_measure_options *options)
{
    options->verify = false;
    for (int i = 0; i < 2 && bench_sentinel_was_disturbed(r, row) && !bench_interrupted; i++) {
        if ((int64_t)r->repeated >= (int64_t)r->row_count * r->options->rounds / 2 ||
            (r->budget > 0 && bench_run_elapsed(r) > r->budget))
            return;
        r->repeated++;
        bench_sentinel_round(r, row, options);
    }
}

// Sets of operands, none of which is in the last-level cache when its turn comes again. 0: hot.
static int copies_for(const bench_run *r, const bench_row *row)
{
    const json_t *device = json_object_get(r->runners[0].hello, "device");
    double room = json_number_value(json_object_get(json_object_get(device, "traits"), "global_memory")) / 4;
    const double host = bench_host_free_memory("") / (2 * (double)(r->runner_count + 1)); // each has its own
    room = host > 0 && host < room ? host : room;
    room /= row->kernel ? 3 : 1; // the host keeps what each buffer holds before, and reads what it holds then
    return r->options->cold ? bench_cold_copies(&row->c, r->cache_bytes, room) : 0;
}

static bench_measure_options measure_options(const bench_run *r, size_t rows_left, int64_t round)
{
    bench_measure_options options = {
        .rule = {.min_samples = 10, .min_seconds = 0.5, .half_width = 0.01, .max_seconds = 15},
        .max_time = r->options->max_time,
        .compile_time = r->options->compile_time,
        .warmup = r->options->warmup,
        .seed = (uint64_t)r->options->seed * 1000003u + rows_left,
        .verify = round == 0,
    };
    const double quick = r->options->quick_seconds > 0 ? r->options->quick_seconds : 0.1;
    if (r->options->quick)
        options.rule = (bench_stop_rule){
            .min_samples = 3, .min_seconds = quick, .half_width = 0.01, .max_seconds = 1, .quick = true};
    if (r->budget > 0) {
        double beside = r->compiling < r->budget ? r->compiling : r->budget;
        double left = r->budget + beside - bench_run_elapsed(r);
        options.row_seconds = left > 0.01 ? left / (double)rows_left : 0.01;
    }
    return options;
}

// variant: a name, or "name:configuration".
static bool has_variant(const bench_case *c, const char *variant)
{
    size_t length = strcspn(variant, ":");
    const char *name;
    for (size_t i = 0; (name = husk_op_variant(bench_op_row(c), i)); i++) {
        if (strlen(name) == length && !strncmp(name, variant, length))
            return true;
    }
    return false;
}

// Which runners and forms take part in a row is asked when its turn comes.
static void add_entrants(bench_run *r, bench_row *row)
{
    const char *variant = row->asked;
    const size_t first = row->kernel ? 1 : 0;
    bench_row_add(row, &r->runners[first], variant)->kernel = row->kernel;
    if (row->kernel && row->c.op == BENCH_OP_DESCRIBED) // nobody else computes it
        return;
    if (row->kernel)
        bench_row_add(row, &r->runners[0], NULL);
    if (variant[0] && !has_variant(&row->c, variant)) {
        row->entrants[0].state = BENCH_STATE_SKIPPED;
        snprintf(row->entrants[0].reason, sizeof row->entrants[0].reason, "%s has no variant %s",
                 bench_op_text(row->c.op), variant);
        return;
    }
    // One that could not be started again has lost its rows: it is not that it lacks the operator.
    for (size_t i = first + 1; i < r->runner_count; i++) {
        bench_runner_process *rival = &r->runners[i];
        if (!rival->is_usable && !rival->restarts)
            continue;
        if (!strcmp(rival->runner, bench_runner_get(0)->name)) // another Husk: it does as this one is asked to
            bench_row_add(row, rival, variant);
        else
            bench_row_add_forms(row, rival, r->options->max_time);
    }
}

static void keep_larger(double *value, double other)
{
    if (other > *value)
        *value = other;
}

static void keep_peaks(bench_peaks *peaks, const bench_peaks *other)
{
    keep_larger(&peaks->fma_gflops, other->fma_gflops);
    for (int i = 0; i < BENCH_ARITHMETICS; i++)
        keep_larger(&peaks->arithmetic[i], other->arithmetic[i]);
    for (int i = 0; i < other->copy_count && i < peaks->copy_count; i++)
        keep_larger(&peaks->copy[i].gbytes_per_s, other->copy[i].gbytes_per_s);
    // What was not measured this time is what it was: a size past the last one, or all of them.
    for (int i = peaks->copy_count; i < other->copy_count; i++)
        peaks->copy[peaks->copy_count++] = other->copy[i];
    for (int i = peaks->engine_count; i < other->engine_count; i++)
        peaks->engines[peaks->engine_count++] = other->engines[i];
}

void bench_keep_peaks(bench_run *r)
{
    bench_peaks before = {0};
    const json_t *devices = json_object_get(r->results.root, "devices");
    bench_read_peaks(json_object_get(json_array_get(devices, r->results.device), "peaks"), &before);
    keep_peaks(&r->peaks, &before);
}

// Faster than the device can be: or were the peaks measured while something else ran? Look again before
// saying so.
static json_t *reconsider(bench_run *r, const bench_row *row, json_t *json)
{
    char reason[BENCH_REASON_TEXT];
    for (int attempt = 0; attempt < 2; attempt++) {
        const char *state = json_string_value(json_object_get(json, "state"));
        json_t *reply = NULL;
        bench_peaks again = {0};
        if (!state || strcmp(state, "suspect") || !bench_runner_process_revive(&r->runners[0]))
            break;
        if (bench_process_call(&r->runners[0].process,
                               json_pack("{s:s, s:b, s:i}", "do", "peaks", "quick", 1, "wanted",
                                         (int)bench_wanted_arithmetic(&row->c)),
                               r->options->compile_time, &reply, reason) == BENCH_REPLY_OK)
            bench_read_peaks(reply, &again);
        json_decref(reply);
        keep_peaks(&r->peaks, &again);
        json_decref(json);
        json = bench_row_json(row, &r->peaks);
    }
    return json;
}

// Said where somebody has to look into it.
static void print_reproducer(const bench_row *row, const json_t *json)
{
    static const char *const states[] = {"failed", "inconclusive", "suspect", "error", "timeout"};
    const char *state = json_string_value(json_object_get(json, "state"));
    for (size_t i = 0; state && i < sizeof states / sizeof *states; i++) {
        if (!strcmp(state, states[i]))
            bench_print(9, "  again: %s\n", row->reproducer);
    }
    fflush(stdout);
}

static void print_row(bench_run *r, bench_row *row)
{
    json_t *json = reconsider(r, row, bench_row_json(row, &r->peaks));
    if (r->options->compile && row->entrants[0].state == BENCH_STATE_OK) {
        bench_progress_show("first call of %s", row->c.canonical);
        const bench_startup_options new_process = bench_run_startup(r);
        json_t *first = bench_first_call_json(&new_process, row->c.canonical, row->entrants[0].form);
        json_object_update(json_object_get(json, "compile"), first);
        json_decref(first);
    }
    bench_progress_clear();
    if (bench_interrupted) { // a first call or peaks of which nothing is known; the row is measured again
        json_decref(json);
        return;
    }
    bench_table_row(&r->table, json);
    print_reproducer(row, json);
    for (size_t i = 0; i < row->entrant_count; i++) {
        if (row->entrants[i].summary.n && row->entrants[i].stop == BENCH_STOP_BUDGET)
            r->was_cut[r->device] = true;
    }
    bench_results_add(&r->results, json);
}

static void show_progress(const bench_run *r, size_t index, const bench_row *row)
{
    char limit[32] = "", left[32], round[64] = "";
    const size_t done = (size_t)r->round * r->row_count + index, all = (size_t)r->options->rounds * r->row_count;
    if (r->budget > 0)
        snprintf(limit, sizeof limit, " of %.0f", r->budget);
    if (r->options->rounds > 1)
        snprintf(round, sizeof round, "round %lld of %lld, ", (long long)r->round + 1, (long long)r->options->rounds);
    bench_time_left(left, bench_run_elapsed(r) - r->rows_began, done, all);
    bench_progress_show("[%s%zu/%zu, %.0f%s s%s] %s", round, index + 1, r->row_count, bench_run_elapsed(r), limit, left,
                        bench_row_text(row));
}

// What is under way, for the line of progress while a reply is waited for.
static const bench_run *watched;
static size_t watched_index;
static const bench_row *watched_row;

static void show_waiting(const char *at, double seconds)
{
    if (watched && watched_row && seconds >= 2)
        bench_progress_show("[%zu/%zu, %.0f s] %s: %s, %.0f s", watched_index + 1, watched->row_count,
                            bench_run_elapsed(watched), bench_row_text(watched_row), at, seconds);
}

// Rows of which not every round has been measured are in the file, too: what was measured is kept.
static void record(bench_run *r, bench_row *row, int64_t round)
{
    if (bench_interrupted) // half a row is none
        return;
    row->rounds = round + 1;
    if (round + 1 == r->options->rounds)
        print_row(r, row);
    else
        bench_results_note(&r->results, bench_row_json(row, &r->peaks));
}

// Of a run that is interrupted: the rows of which some round is whole, as the file has them.
static void print_begun(const bench_run *r)
{
    bench_progress_clear();
    for (size_t i = 0; i < r->row_count; i++) {
        const bench_row *row = &r->rows[i];
        const json_t *json = bench_results_find(&r->results, bench_row_text(row), row->asked);
        if (json && row->rounds && row->rounds < r->options->rounds)
            bench_table_row(&r->table, json);
    }
}

// Where a process' memory lies, and what else is decided when it starts, moves its times by several percent: each round
// has its own, so that the rounds know of it.
static void renew_workers(bench_run *r)
{
    for (size_t i = 0; i < r->runner_count; i++)
        if (r->runners[i].process.pid)
            bench_process_stop(&r->runners[i].process);
}

// The last round, in which rows are printed, has the suite's order, in which people read it; those before are shuffled.
static void set_order(bench_run *r, int64_t round, husk_ref_random *random)
{
    size_t *order = r->order;
    for (size_t i = 0; i < r->row_count; i++)
        order[i] = i;
    for (size_t i = r->row_count; round + 1 < r->options->rounds && i > 1; i--) {
        const size_t j = (size_t)husk_ref_random_below(random, (int64_t)i), kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
}

void bench_measure_rounds(bench_run *r)
{
    husk_ref_random random = {.seed = (uint64_t)r->options->seed};
    const size_t *order = r->order;
    int64_t rounds = r->options->rounds;
    r->rows_began = bench_run_elapsed(r);
    for (int64_t round = 0; round < rounds && !bench_interrupted; round++) {
        r->round = round;
        if (round > 0)
            renew_workers(r);
        set_order(r, round, &random);
        for (size_t i = 0; i < r->row_count && !bench_interrupted; i++) {
            bench_row *row = &r->rows[order[i]];
            size_t left = (size_t)(rounds - round - 1) * r->row_count + r->row_count - i;
            show_progress(r, i, row);
            watched = r;
            watched_index = i;
            watched_row = row;
            bench_process_watch(show_waiting);
            if (round == 0)
                add_entrants(r, row);
            bench_measure_options options = measure_options(r, left, round);
            // The samples of all rounds are one set: however much memory is free later, all are hot, or all are cold.
            row->copies = round == 0 ? copies_for(r, row) : row->copies;
            options.copies = row->copies;
            bench_sentinel_round(r, row, &options);
            if (rounds > 1)
                measure_again(r, row, &options);
            r->compiling += row->preparing;
            record(r, row, round);
        }
    }
    bench_process_watch(NULL);
    watched_row = NULL;
    if (bench_interrupted)
        print_begun(r);
}

static void write_reproducer(const bench_run *r, bench_row *row)
{
    char *text = row->reproducer;
    const size_t size = sizeof row->reproducer;
    char word[4 * 256];
    snprintf(text, size, "clbench run ");
    if (row->kernel) {
        bench_shell_word(bench_text_of(row->kernel, "path"), word, sizeof word);
        bench_append(text, size, "--kernels %s ", word);
    }
    bench_append(text, size, "%s", bench_row_text(row));
    if (row->asked[0])
        bench_append(text, size, " --variant %s", row->asked);
    if (r->options->cold)
        bench_append(text, size, " --cold");
    if (r->options->seed != 1)
        bench_append(text, size, " --seed %lld", (long long)r->options->seed);
    if (r->preference) {
        bench_shell_word(r->preference, word, sizeof word);
        bench_append(text, size, " -d %s", word);
    }
}

// A row is made unless a document that is resumed has it whole.
static void make_row(bench_run *r, const bench_suite_entry *entry, const char *variant)
{
    const json_t *before = bench_results_find(&r->results, bench_suite_entry_text(entry), variant);
    if (before && bench_resume_is_whole(before, r->options->rounds)) {
        r->kept++;
        return;
    }
    bench_row *row = &r->rows[r->row_count++];
    row->c = entry->c;
    row->kernel = entry->kernel;
    row->count = entry->count;
    snprintf(row->asked, sizeof row->asked, "%s", variant ? variant : "");
    write_reproducer(r, row);
}

bool bench_make_rows(bench_run *r)
{
    r->row_count = 0;
    size_t capacity = r->suite.count;
    bool all = r->options->variant && !strcmp(r->options->variant, "all");
    for (size_t i = 0; all && i < r->suite.count; i++) {
        for (size_t v = 0; husk_op_variant(bench_op_row(&r->suite.entries[i].c), v); v++)
            capacity++;
    }
    r->rows = calloc(capacity + 1, sizeof *r->rows);
    r->order = calloc(capacity + 1, sizeof *r->order);
    for (size_t i = 0; r->rows && r->order && i < r->suite.count; i++) {
        const bench_suite_entry *entry = &r->suite.entries[i];
        for (size_t v = 0; v == 0 || all; v++) {
            const char *variant = all ? husk_op_variant(bench_op_row(&entry->c), v) : r->options->variant;
            if (all && !variant)
                break;
            make_row(r, entry, variant);
        }
    }
    return r->rows && r->order;
}

// The peaks may have turned out higher than when the first rows were printed: the document has one figure.
void bench_settle_peaks(bench_run *r)
{
    json_t *devices = json_object_get(r->results.root, "devices");
    json_t *peaks = json_object_get(json_array_get(devices, r->results.device), "peaks");
    if (!json_is_object(peaks))
        return;
    json_object_set_new(peaks, "fma_gflops", json_real(r->peaks.fma_gflops));
    json_t *arithmetic = json_object_get(peaks, "arithmetic");
    json_object_set_new(arithmetic, "f32", json_real(r->peaks.fma_gflops));
    for (int i = 0; i < BENCH_ARITHMETICS; i++) {
        if (r->peaks.arithmetic[i] > 0)
            json_object_set_new(arithmetic, bench_arithmetic_name((bench_arithmetic)i),
                                json_real(r->peaks.arithmetic[i]));
    }
    json_t *copy = json_object_get(peaks, "copy");
    for (size_t i = 0; i < json_array_size(copy) && i < (size_t)r->peaks.copy_count; i++)
        json_object_set_new(json_array_get(copy, i), "gbytes_per_s", json_real(r->peaks.copy[i].gbytes_per_s));
    for (size_t i = 0; i < json_array_size(r->results.rows); i++) {
        json_t *row = json_array_get(r->results.rows, i);
        if ((size_t)json_integer_value(json_object_get(row, "device")) != r->results.device)
            continue;
        double median = json_number_value(json_object_get(json_object_get(row, "time"), "median_ns"));
        if (!json_is_number(json_object_get(row, "percent_of_peak")) || !(median > 0))
            continue;
        bench_case c;
        if (!bench_row_case(row, &c))
            continue;
        bool by_memory = false;
        const bool is_kernel = json_is_object(json_object_get(row, "kernel"));
        double percent = bench_percent_of_peak(
            &c, is_kernel ? NULL : json_string_value(json_object_get(row, "variant")),
            json_number_value(json_object_get(row, "executed_flops")),
            json_number_value(json_object_get(row, "working_set")), median, &r->peaks, &by_memory);
        json_object_set_new(row, "percent_of_peak", isnan(percent) ? json_null() : json_real(percent));
        json_object_set_new(row, "bound_by", json_string(by_memory ? "memory" : "arithmetic"));
    }
}
