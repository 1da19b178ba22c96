// SPDX-License-Identifier: MIT
// clbench and clbench run: measure a list of cases on one device after another.
#include "run.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "measure.h"
#include "plausible.h"
#include "ref/random.h"
#include "results.h"
#include "startup.h"
#include "summary.h"
#include "table.h"
#include "terminal.h"
#include "text.h"
#include "timer.h"

#define MAX_CONTESTANTS 9
#define STANDARD_BUDGET 60.0
#define QUICK_BUDGET    20.0

typedef struct run {
    const bench_options *options;
    bench_suite suite;
    bench_contestant contestants[MAX_CONTESTANTS]; /* husk first */
    size_t contestant_count;
    const char *wish;
    uint64_t start_ns;
    double budget;    /* seconds for everything; 0: no limit */
    double compiling; /* seconds in which programs were built, once; beside the budget */
    bench_row *rows;
    size_t row_count;
    bench_peaks peaks;
    double sentinel_ns, worst_drift;
    bench_results results;
    bench_table table;
    bool was_cut; /* the budget ended some measurement */
} run;

volatile int bench_interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    bench_interrupted = 1;
}

static double elapsed(const run *r)
{
    return (double)(bench_now_ns() - r->start_ns) * 1e-9;
}

static bool wants_baseline(const run *r, const char *name)
{
    const char *list = r->options->baselines;
    if (!list) // the reference is no rival, and CLBlast compiles longer than --quick lasts
        return strcmp(name, "ref") && !(r->options->quick && !strcmp(name, "clblast"));
    if (!strcmp(list, "all"))
        return true;
    for (const char *at = list; *at;) {
        size_t length = strcspn(at, ",");
        if (strlen(name) == length && !strncmp(at, name, length))
            return true;
        at += length + (at[length] == ',');
    }
    return false;
}

// Every name in --baseline must be one that is built in.
static bool check_baselines(const bench_options *options, char reason[BENCH_REASON_TEXT])
{
    const char *known[16] = {"all", "none"};
    size_t count = 2;
    for (size_t i = 1; bench_contender_get(i) && count < 16; i++)
        known[count++] = bench_contender_get(i)->name;
    for (const char *at = options->baselines; at && *at;) {
        char name[64];
        size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        bool found = false;
        for (size_t i = 0; i < count; i++)
            found = found || !strcmp(known[i], name);
        if (!found)
            return bench_explain(reason, BENCH_REASON_TEXT,
                                 "unknown or not built in: baseline '%s'; the nearest is '%s'", name,
                                 bench_nearest(name, known, count));
        at += length + (at[length] == ',');
    }
    return true;
}

static int cpu_threads(const run *r)
{
    const json_t *device = json_object_get(r->contestants[0].hello, "device"),
                 *traits = json_object_get(device, "traits");
    json_int_t units = json_integer_value(json_object_get(traits, "compute_units"));
    bool is_cpu = json_is_true(json_object_get(traits, "is_cpu"));
    return is_cpu && units > 0 ? (int)units : bench_host_cores();
}

static void start_baselines(run *r)
{
    int threads = cpu_threads(r);
    for (size_t i = 1; bench_contender_get(i) && r->contestant_count < MAX_CONTESTANTS; i++) {
        const char *name = bench_contender_get(i)->name;
        if (!wants_baseline(r, name))
            continue;
        bench_contestant_start(&r->contestants[r->contestant_count++], name, r->wish, threads, NULL);
    }
    for (size_t i = 1; i < r->contestant_count; i++) {
        bench_contestant *c = &r->contestants[i];
        if (bench_contestant_await(c, 60))
            printf("baseline %s: %s\n", c->name, c->version);
        else
            bench_say("baseline %s cannot be used: %s", c->name, c->why);
    }
}

static void read_peaks(const json_t *reply, bench_peaks *peaks)
{
    const json_t *copy = json_object_get(reply, "copy");
    peaks->fma_gflops = json_number_value(json_object_get(reply, "fma_gflops"));
    peaks->launch_ns = json_number_value(json_object_get(reply, "launch_ns"));
    peaks->trust_ratio = json_number_value(json_object_get(reply, "trust_ratio"));
    for (size_t i = 0; i < json_array_size(copy) && i < BENCH_COPY_SIZES; i++) {
        peaks->copy[i].bytes = json_number_value(json_object_get(json_array_get(copy, i), "bytes"));
        peaks->copy[i].gbytes_per_s =
            json_number_value(json_object_get(json_array_get(copy, i), "gbytes_per_s"));
        peaks->copy_count = (int)i + 1;
    }
}

static json_t *timer_json(const bench_peaks *peaks)
{
    bool trusted = peaks->trust_ratio >= 0.8 && peaks->trust_ratio <= 1.25;
    json_t *timer = json_pack("{s:s, s:f, s:b, s:I}", "source", "wall", "trust_ratio", peaks->trust_ratio,
                              "events_trusted", trusted, "tick_ns", (json_int_t)bench_timer_tick_ns());
    return timer;
}

// The device's peaks, and the header that says what is being measured.
static void measure_device(run *r)
{
    char reason[BENCH_REASON_TEXT] = "";
    json_t *reply = NULL, *device = json_deep_copy(json_object_get(r->contestants[0].hello, "device"));
    bench_process *husk = &r->contestants[0].process;
    bench_progress_show("measuring the device's peaks");
    memset(&r->peaks, 0, sizeof r->peaks);
    r->sentinel_ns = 0;
    if (bench_process_call(husk, json_pack("{s:s, s:b}", "do", "peaks", "quick", r->options->quick),
                           r->options->max_time, &reply, reason) == BENCH_REPLY_OK &&
        bench_state_of_reply(BENCH_REPLY_OK, reply, reason) == BENCH_STATE_OK) {
        read_peaks(reply, &r->peaks);
        json_object_del(reply, "answer");
        json_object_set(device, "peaks", reply);
    } else {
        bench_say("the device's peaks could not be measured: %s", reason);
        json_object_set_new(device, "peaks", json_null());
    }
    json_decref(reply);
    json_object_set(device, "notes", json_object_get(r->contestants[0].hello, "notes"));
    bench_progress_clear();
    bench_print_device(device, &r->peaks, cpu_threads(r));
    bench_results_device(&r->results, device, timer_json(&r->peaks));
}

// A fixed piece of work before each row: has the machine become slower?
static void watch_drift(run *r, bench_row *row)
{
    char reason[BENCH_REASON_TEXT];
    json_t *reply = NULL;
    if (!bench_contestant_revive(&r->contestants[0]) ||
        bench_process_call(&r->contestants[0].process, json_pack("{s:s}", "do", "sentinel"),
                           r->options->max_time, &reply, reason) != BENCH_REPLY_OK)
        return;
    double ns = json_number_value(json_object_get(reply, "ns"));
    double gflops = json_number_value(json_object_get(reply, "gflops"));
    json_decref(reply);
    if (ns <= 0)
        return;
    if (gflops > r->peaks.fma_gflops)
        r->peaks.fma_gflops = gflops;
    if (r->sentinel_ns <= 0)
        r->sentinel_ns = ns;
    double drift = ns / r->sentinel_ns - 1;
    if (fabs(drift) > fabs(row->sentinel_drift))
        row->sentinel_drift = drift;
    if (fabs(drift) > fabs(r->worst_drift))
        r->worst_drift = drift;
}

static bench_measure_options measure_options(const run *r, size_t rows_left, int64_t round)
{
    bench_measure_options options = {
        .rule = {.min_samples = 10, .min_seconds = 0.5, .half_width = 0.01, .max_seconds = 15},
        .max_time = r->options->max_time,
        .warmup = r->options->warmup,
        .seed = (uint64_t)r->options->seed * 1000003u + rows_left,
        .verify = round == 0,
    };
    if (r->options->quick)
        options.rule = (bench_stop_rule){.min_samples = 3,
                                         .min_seconds = 0.1,
                                         .half_width = 0.01,
                                         .max_seconds = 1,
                                         .quick = true};
    if (r->budget > 0) {
        double beside = r->compiling < r->budget ? r->compiling : r->budget;
        double left = r->budget + beside - elapsed(r);
        options.row_seconds = left > 0.01 ? left / (double)rows_left : 0.01;
    }
    return options;
}

// Which contestants and forms take part in a row is asked when its turn comes.
static void add_entrants(run *r, bench_row *row)
{
    const char *variant = r->options->variant;
    if (row->entrant_count) // "all": the form was added when the rows were made
        variant = NULL;
    else
        bench_row_add(row, &r->contestants[0], variant);
    for (size_t i = 1; i < r->contestant_count; i++) {
        if (r->contestants[i].is_usable)
            bench_row_add_forms(row, &r->contestants[i], r->options->max_time);
    }
}

static void keep_larger(double *value, double other)
{
    if (other > *value)
        *value = other;
}

// Faster than the device can be: or were the peaks measured while something else ran? Look again before saying so.
static json_t *reconsider(run *r, const bench_row *row, json_t *json)
{
    char reason[BENCH_REASON_TEXT];
    for (int attempt = 0; attempt < 2; attempt++) {
        const char *state = json_string_value(json_object_get(json, "state"));
        json_t *reply = NULL;
        bench_peaks again = {0};
        if (!state || strcmp(state, "suspect") || !bench_contestant_revive(&r->contestants[0]))
            break;
        if (bench_process_call(&r->contestants[0].process,
                               json_pack("{s:s, s:b}", "do", "peaks", "quick", attempt == 0),
                               r->options->max_time, &reply, reason) == BENCH_REPLY_OK)
            read_peaks(reply, &again);
        json_decref(reply);
        keep_larger(&r->peaks.fma_gflops, again.fma_gflops);
        for (int i = 0; i < again.copy_count && i < r->peaks.copy_count; i++)
            keep_larger(&r->peaks.copy[i].gbytes_per_s, again.copy[i].gbytes_per_s);
        json_decref(json);
        json = bench_row_json(row, &r->peaks);
    }
    return json;
}

static void print_row(run *r, bench_row *row)
{
    json_t *json = reconsider(r, row, bench_row_json(row, &r->peaks));
    if (r->options->compile && row->entrants[0].state == BENCH_STATE_OK) {
        bench_progress_show("first call of %s", row->c.canonical);
        json_t *first = bench_first_call_json(r->wish, row->c.canonical, r->options->max_time);
        json_object_update(json_object_get(json, "compile"), first);
        json_decref(first);
    }
    bench_progress_clear();
    bench_table_row(&r->table, json);
    for (size_t i = 0; i < row->entrant_count; i++)
        r->was_cut = r->was_cut || (row->entrants[i].summary.n && row->entrants[i].stop == BENCH_STOP_BUDGET);
    bench_results_add(&r->results, json);
}

static void measure_rounds(run *r)
{
    husk_ref_random random = {.seed = (uint64_t)r->options->seed};
    size_t *order = calloc(r->row_count + 1, sizeof *order);
    int64_t rounds = r->options->rounds;
    for (size_t i = 0; order && i < r->row_count; i++)
        order[i] = i;
    for (int64_t round = 0; order && round < rounds && !bench_interrupted; round++) {
        // One round keeps the suite's order, in which people read it; several are shuffled.
        for (size_t i = r->row_count; rounds > 1 && i > 1; i--) {
            size_t j = (size_t)husk_ref_random_below(&random, (int64_t)i), kept = order[i - 1];
            order[i - 1] = order[j];
            order[j] = kept;
        }
        for (size_t i = 0; i < r->row_count && !bench_interrupted; i++) {
            bench_row *row = &r->rows[order[i]];
            size_t left = (size_t)(rounds - round - 1) * r->row_count + r->row_count - i;
            bench_progress_show("[%zu/%zu, %.0f s] %s", i + 1, r->row_count, elapsed(r), row->c.canonical);
            if (round == 0)
                add_entrants(r, row);
            watch_drift(r, row);
            bench_measure_options options = measure_options(r, left, round);
            bench_measure_row(row, &options);
            r->compiling += row->preparing;
            if (round + 1 == rounds)
                print_row(r, row);
        }
    }
    free(order);
}

static bool make_rows(run *r)
{
    r->row_count = 0;
    size_t capacity = r->suite.count;
    bool all = r->options->variant && !strcmp(r->options->variant, "all");
    for (size_t i = 0; all && i < r->suite.count; i++) {
        for (size_t v = 0; husk_op_variant(bench_op_text(r->suite.entries[i].c.op), v); v++)
            capacity++;
    }
    r->rows = calloc(capacity + 1, sizeof *r->rows);
    for (size_t i = 0; r->rows && i < r->suite.count; i++) {
        const bench_suite_entry *entry = &r->suite.entries[i];
        for (size_t v = 0; v == 0 || all; v++) {
            const char *variant = all ? husk_op_variant(bench_op_text(entry->c.op), v) : NULL;
            if (all && !variant)
                break;
            bench_row *row = &r->rows[r->row_count++];
            row->c = entry->c;
            row->count = entry->count;
            if (all)
                bench_row_add(row, &r->contestants[0], variant);
        }
    }
    return r->rows != NULL;
}

static void measure_startup(run *r)
{
    const bench_options *o = r->options;
    bool is_suite_run = o->command == BENCH_COMMAND_RUN && !o->cases[0] && !o->quick;
    if (bench_interrupted || o->no_startup || !(o->startup || is_suite_run))
        return;
    bench_progress_show("creating contexts with every operator prewarmed, with caches and without");
    json_t *startup = bench_startup_json(r->wish, 600);
    bench_progress_clear();
    bench_print_startup(startup);
    json_object_set_new(r->results.root, "startup", startup);
}

// The peaks may have turned out higher than when the first rows were printed: the document has one figure.
static void settle_peaks(run *r, size_t first_row)
{
    json_t *devices = json_object_get(r->results.root, "devices");
    json_t *peaks = json_object_get(json_array_get(devices, json_array_size(devices) - 1), "peaks");
    if (!json_is_object(peaks))
        return;
    json_object_set_new(peaks, "fma_gflops", json_real(r->peaks.fma_gflops));
    json_t *copy = json_object_get(peaks, "copy");
    for (size_t i = 0; i < json_array_size(copy); i++)
        json_object_set_new(json_array_get(copy, i), "gbytes_per_s",
                            json_real(r->peaks.copy[i].gbytes_per_s));
    for (size_t i = first_row; i < json_array_size(r->results.rows); i++) {
        json_t *row = json_array_get(r->results.rows, i);
        double median = json_number_value(json_object_get(json_object_get(row, "time"), "median_ns"));
        if (!json_is_number(json_object_get(row, "percent_of_peak")) || !(median > 0))
            continue;
        bool by_memory = false;
        double percent = bench_percent_of_peak(json_number_value(json_object_get(row, "executed_flops")),
                                               json_number_value(json_object_get(row, "bytes")),
                                               json_is_true(json_object_get(row, "is_bandwidth")), median,
                                               &r->peaks, &by_memory);
        json_object_set_new(row, "percent_of_peak", isnan(percent) ? json_null() : json_real(percent));
        json_object_set_new(row, "bound_by", json_string(by_memory ? "memory" : "arithmetic"));
    }
}

static int run_device(run *r, size_t index)
{
    char buffer[64];
    r->wish = bench_device_wish(r->options, index, buffer);
    r->contestant_count = 1;
    int code = bench_open_husk(&r->contestants[0], r->wish);
    if (code != BENCH_EXIT_OK)
        return code;
    // The header is for the device that is measured; baselines name themselves below it.
    measure_device(r);
    start_baselines(r);
    r->table.rival_count = 0;
    for (size_t i = 1; i < r->contestant_count && r->table.rival_count < BENCH_MAX_RIVALS; i++) {
        if (r->contestants[i].is_usable)
            r->table.rivals[r->table.rival_count++] = r->contestants[i].name;
    }
    r->table.with_variant = r->options->variant != NULL;
    bench_table_begin(&r->table, &r->suite);
    putchar('\n');
    bench_table_header(&r->table);
    size_t first_row = json_array_size(r->results.rows);
    if (make_rows(r))
        measure_rounds(r);
    settle_peaks(r, first_row);
    for (size_t i = 0; i < r->row_count; i++)
        bench_row_free(&r->rows[i]);
    free(r->rows);
    r->rows = NULL;
    for (size_t i = 0; i < r->contestant_count; i++)
        bench_contestant_stop(&r->contestants[i]);
    measure_startup(r);
    return BENCH_EXIT_OK;
}

static int exit_code(const json_t *rows)
{
    if (bench_results_count(rows, "failed"))
        return BENCH_EXIT_VERIFICATION;
    if (bench_results_count(rows, "error"))
        return BENCH_EXIT_ERROR;
    return bench_results_count(rows, "timeout") ? BENCH_EXIT_TIMEOUT : BENCH_EXIT_OK;
}

static bool write_tables(const run *r)
{
    bool good = !r->results.failed;
    if (r->options->csv_path)
        good = bench_write_csv(r->options->csv_path, r->results.rows) && good;
    if (r->options->md_path)
        good = bench_write_markdown(r->options->md_path, r->results.root) && good;
    return good;
}

// Nonsense is refused before the first device is opened.
static int check(run *r)
{
    char reason[BENCH_REASON_TEXT];
    const bench_options *o = r->options;
    if (!bench_select_cases(o, "standard", &r->suite, reason) || !check_baselines(o, reason)) {
        fprintf(stderr, "clbench: %s\n", reason);
        return BENCH_EXIT_USAGE;
    }
    const char *names[64];
    size_t count = 0;
    bool found = !o->variant || !strcmp(o->variant, "all") || strchr(o->variant, ':');
    for (size_t i = 0; i < r->suite.count && !found; i++) {
        for (size_t v = 0; !found && husk_op_variant(bench_op_text(r->suite.entries[i].c.op), v); v++) {
            const char *name = husk_op_variant(bench_op_text(r->suite.entries[i].c.op), v);
            found = !strcmp(name, o->variant);
            if (count < 64)
                names[count++] = name;
        }
    }
    if (!found) {
        const char *nearest = bench_nearest(o->variant, names, count);
        fprintf(stderr, "clbench: no operator of these cases has a variant '%s'; the nearest is '%s'\n",
                o->variant, nearest ? nearest : "none");
        return BENCH_EXIT_USAGE;
    }
    return BENCH_EXIT_OK;
}

int bench_command_run(const bench_options *options)
{
    run r = {.options = options, .start_ns = bench_now_ns()};
    int code = check(&r);
    if (code != BENCH_EXIT_OK || options->list) {
        for (size_t i = 0; code == BENCH_EXIT_OK && i < r.suite.count; i++)
            puts(r.suite.entries[i].c.canonical);
        bench_suite_free(&r.suite);
        return code;
    }
    bool is_default = options->command == BENCH_COMMAND_STANDARD && !options->suite && !options->file;
    r.budget = options->quick ? QUICK_BUDGET : is_default ? STANDARD_BUDGET : 0;
    if (options->budget != 0)
        r.budget = options->budget > 0 ? options->budget : 0;
    bench_progress_start(options->quiet);
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    if (!bench_results_begin(&r.results, options->json_path))
        code = BENCH_EXIT_ERROR;
    size_t devices = options->device_count ? options->device_count : 1;
    for (size_t i = 0; i < devices && code == BENCH_EXIT_OK && !bench_interrupted; i++)
        code = run_device(&r, i);
    bench_results_finish(&r.results);
    if (code == BENCH_EXIT_OK) {
        bench_print_verdict(&r.results, r.budget, r.was_cut, r.worst_drift);
        code = write_tables(&r) ? exit_code(r.results.rows) : BENCH_EXIT_ERROR;
    }
    if (bench_interrupted)
        bench_say("interrupted: what was measured until then is kept");
    bench_results_free(&r.results);
    bench_suite_free(&r.suite);
    return bench_interrupted ? 130 : code;
}
