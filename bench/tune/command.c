// SPDX-License-Identifier: MIT
// clbench tune: which variants are the fastest for a list of cases on a device, kept for the library to know.
#include "tune/command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/size.h"
#include "common/text.h"
#include "system/awake.h"
#include "system/host.h"
#include "system/interrupt.h"
#include "system/output.h"
#include "system/terminal.h"
#include "system/timer.h"
#include "run/dry_run.h"
#include "run/select.h"
#include "tune/budget.h"
#include "tune/database.h"
#include "tune/kernels.h"
#include "tune/predictions.h"
#include "tune/race.h"
#include "tune/show.h"

#define LEAST_RACE       0.2 // seconds without which a race is not begun
#define SHARE            1.6 // of the time that is left for a case: most races need less

typedef enum progress { WAITING, UNDECIDED, LATE, DONE } progress;

typedef struct tuner {
    const bench_options *options;
    bench_runner_process husk;
    bench_database database;
    const bench_suite *suite;
    json_t *device; // the worker's "tuning": who the device is
    json_t *hung;   // entries of candidates that have hung; they are not kept
    uint64_t start_ns;
    double budget;
    size_t *order; // the costly cases first
    progress *progress;
    size_t tuned, kept, known, nothing, failed, wrong, crashed, timeouts;
    bool cannot_save;
} tuner;

static double seconds_left(const tuner *t)
{
    return t->budget - (double)(bench_now_ns() - t->start_ns) * 1e-9;
}

// ---- entries ----

static json_t *entry_of(const bench_race *race, const char *state, const char *variant, const bench_case *c)
{
    static const char *const keys[] = {"device", "platform", "driver", "family", "op", "kernels", "problem", "class"};
    json_t *entry = json_object();
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        json_object_set_new(entry, keys[i], json_string(bench_entry_text(race->key, keys[i])));
    json_object_set_new(entry, "case", json_string(c->canonical));
    json_object_set_new(entry, "state", json_string(state));
    json_object_set_new(entry, "variant", json_string(variant));
    json_object_set_new(entry, "predicted", json_string(race->predicted));
    json_object_set_new(entry, "measured", bench_host_time());
    json_object_set_new(entry, "husk", json_string(husk_version()));
    return entry;
}

static void keep(tuner *t, const bench_race *race, const bench_case *c)
{
    char reason[BENCH_REASON_TEXT];
    bool is_known = race->result == BENCH_RACE_TUNED || race->result == BENCH_RACE_KEPT, has_news = is_known;
    if (is_known) {
        json_t *entry = entry_of(race, race->result == BENCH_RACE_TUNED ? "tuned" : "kept", race->winner, c);
        json_object_set_new(entry, "median_ns", json_real(race->winner_ns));
        json_object_set_new(entry, "predicted_ns", json_real(race->predicted_ns));
        bench_database_put(t->database.entries, entry);
    }
    for (size_t i = 0; i < race->problem_count; i++) {
        if (!race->problems[i].is_wrong)
            continue;
        bench_database_put(t->database.entries, entry_of(race, "wrong", race->problems[i].variant, c));
        has_news = true;
    }
    if (has_news && !bench_database_save(&t->database, reason)) {
        if (!t->cannot_save)
            bench_say("%s", reason);
        t->cannot_save = true;
    }
}

// A kernel that hangs in one case costs --max-time in each.
static void remember_hung(tuner *t, const bench_race *race, const bench_case *c)
{
    for (size_t i = 0; i < race->problem_count; i++) {
        if (race->problems[i].is_timeout)
            json_array_append_new(t->hung, entry_of(race, "hung", race->problems[i].variant, c));
    }
}

// ---- what people read ----

static void print_problems(tuner *t, const bench_race *race, const bench_case *c)
{
    for (size_t i = 0; i < race->problem_count; i++) {
        const bool is_wrong = race->problems[i].is_wrong, is_late = race->problems[i].is_late;
        const char *variant = race->problems[i].variant;
        t->wrong += is_wrong;
        t->timeouts += race->problems[i].is_timeout;
        t->crashed += !is_wrong && !is_late && !race->problems[i].is_timeout;
        bench_progress_clear();
        bench_print(8, "%s%s%s  %s: %s\n    clbench verify %s%s%s\n", bench_colour_on(is_late ? BENCH_WARN : BENCH_BAD),
                    is_wrong  ? "wrong"
                    : is_late ? "not ready in the time"
                              : "failed",
                    bench_colour_off(), variant[0] ? variant : "what is predicted", race->problems[i].reason,
                    c->canonical, variant[0] ? " --variant " : "", variant);
    }
}

static void print_race(tuner *t, const bench_race *race, const bench_case *c)
{
    char before[32], after[32];
    print_problems(t, race, c);
    bench_format_ns(race->predicted_ns, before, sizeof before);
    bench_format_ns(race->winner_ns, after, sizeof after);
    bench_progress_clear();
    switch (race->result) {
    case BENCH_RACE_TUNED:
        bench_print(4, "%-62s  %s%s instead of %s%s: %s -> %s, %.2fx\n", c->canonical, bench_colour_on(BENCH_GOOD),
                    race->winner, race->predicted, bench_colour_off(), before, after,
                    race->predicted_ns / race->winner_ns);
        break;
    case BENCH_RACE_KEPT:
        bench_print(4, "%-62s  %s stands (%zu tried)\n", c->canonical, race->predicted, race->challengers);
        break;
    case BENCH_RACE_NOTHING:
        bench_print(4, "%-62s  several operators compute it: nothing to choose\n", c->canonical);
        break;
    case BENCH_RACE_FAILED:
        bench_print(4, "%-62s  %snot tuned%s: %s\n", c->canonical, bench_colour_on(BENCH_WARN), bench_colour_off(),
                    race->reason);
        break;
    default:
        break;
    }
    fflush(stdout);
}

static void print_left(const tuner *t, progress which, const char *heading)
{
    bool is_first = true;
    for (size_t i = 0; i < t->suite->count; i++) {
        if (t->progress[i] != which)
            continue;
        printf("%s    %s\n", is_first ? heading : "", t->suite->entries[i].c.canonical);
        is_first = false;
    }
}

static int print_summary(const tuner *t)
{
    size_t undecided = 0, late = 0, waiting = 0;
    for (size_t i = 0; i < t->suite->count; i++) {
        undecided += t->progress[i] == UNDECIDED;
        late += t->progress[i] == LATE;
        waiting += t->progress[i] == WAITING;
    }
    print_left(t, UNDECIDED, "Not decided in the time:\n");
    print_left(t, LATE, "Not decided, since a candidate was not ready in the time:\n");
    print_left(t, WAITING, "Not reached in the time:\n");
    char text[600] = "";
    const size_t size = sizeof text;
    bench_append(text, size,
                 "\n%zu of %zu cases: %zu with a faster variant than predicted, %zu where the prediction stands",
                 t->tuned + t->kept, t->suite->count, t->tuned, t->kept);
    if (t->known)
        bench_append(text, size, "; %zu were known (--again measures them again)", t->known);
    if (t->nothing)
        bench_append(text, size, "; %zu have nothing to choose", t->nothing);
    if (undecided || waiting)
        bench_append(text, size, "; %zu undecided, %zu not reached: the same command goes on with them", undecided,
                     waiting);
    if (late)
        bench_append(text, size, "; %zu undecided that want a longer --budget", late);
    if (t->failed)
        bench_append(text, size, "; %zu could not be tuned", t->failed);
    bench_print(0, "%s.\n%s\n", text, t->database.path);
    if (t->wrong)
        return BENCH_EXIT_VERIFICATION;
    if (t->failed || t->crashed || t->cannot_save)
        return BENCH_EXIT_ERROR;
    return t->timeouts ? BENCH_EXIT_TIMEOUT : BENCH_EXIT_OK;
}

// ---- the cases ----

static double cost(const bench_suite_entry *entry)
{
    double arithmetic = bench_case_flops(&entry->c) / 1e11, memory = bench_case_bytes(&entry->c) / 1e10;
    return (arithmetic > memory ? arithmetic : memory) * (double)entry->count;
}

static bool make_order(tuner *t)
{
    t->order = calloc(t->suite->count + 1, sizeof *t->order);
    t->progress = calloc(t->suite->count + 1, sizeof *t->progress);
    for (size_t i = 0; t->order && i < t->suite->count; i++) {
        size_t at = i;
        for (; at > 0 && cost(&t->suite->entries[t->order[at - 1]]) < cost(&t->suite->entries[i]); at--)
            t->order[at] = t->order[at - 1];
        t->order[at] = i;
    }
    return t->order && t->progress;
}

static void count(tuner *t, const bench_race *race, size_t index)
{
    t->progress[index] = race->result != BENCH_RACE_UNDECIDED ? DONE : race->is_late ? LATE : UNDECIDED;
    t->tuned += race->result == BENCH_RACE_TUNED;
    t->kept += race->result == BENCH_RACE_KEPT;
    t->known += race->result == BENCH_RACE_KNOWN;
    t->nothing += race->result == BENCH_RACE_NOTHING;
    t->failed += race->result == BENCH_RACE_FAILED;
}

static void run_case(tuner *t, size_t index, size_t cases_left)
{
    const bench_case *c = &t->suite->entries[index].c;
    bench_race race;
    double left = seconds_left(t), share = SHARE * left / (double)cases_left;
    bench_race_options options = {
        .seconds = share < LEAST_RACE ? LEAST_RACE
                   : share < left     ? share
                                      : left,
        .seconds_left = left,
        .max_time = t->options->max_time,
        .compile_time = t->options->compile_time,
        .seed = (uint64_t)t->options->seed + index,
        .again = t->options->again,
        .entries = t->database.entries,
        .hung = t->hung,
    };
    char time_left[32];
    bench_time_left(time_left, (double)(bench_now_ns() - t->start_ns) * 1e-9, t->suite->count - cases_left,
                    t->suite->count);
    if (t->budget < BENCH_TUNE_NO_LIMIT)
        bench_progress_show("[%zu left, %.0f s] %s", cases_left, left, c->canonical);
    else
        bench_progress_show("[%zu left%s] %s", cases_left, time_left, c->canonical);
    bench_race_run(&t->husk, c, &options, &race);
    t->budget += race.given_up;
    if (!bench_interrupted) {
        keep(t, &race, c);
        remember_hung(t, &race, c);
        print_race(t, &race, c);
        count(t, &race, index);
    }
    bench_race_free(&race);
}

// Every case once; then, as long as there is time, those that it was too short for.
static void run_cases(tuner *t)
{
    for (int pass = WAITING; pass <= UNDECIDED; pass++) {
        size_t todo = 0;
        for (size_t i = 0; i < t->suite->count; i++)
            todo += t->progress[i] == (progress)pass;
        for (size_t i = 0; i < t->suite->count && !bench_interrupted; i++) {
            if (t->progress[t->order[i]] != (progress)pass)
                continue;
            if (seconds_left(t) < LEAST_RACE)
                return;
            run_case(t, t->order[i], todo--);
        }
    }
}

static int tune_cases(tuner *t)
{
    if (!make_order(t))
        return BENCH_EXIT_ERROR;
    run_cases(t);
    bench_progress_clear();
    int code = print_summary(t);
    if (bench_interrupted)
        bench_say("interrupted: what was found until then is kept");
    return bench_interrupted ? bench_interrupted_exit() : code;
}

// ---- the database ----

static int merge(tuner *t)
{
    char reason[BENCH_REASON_TEXT];
    for (size_t i = 0; i < t->options->merged_count; i++) {
        json_t *more = bench_database_read(t->options->merged[i], reason);
        if (!more) {
            fprintf(stderr, "clbench: %s\n", reason);
            return BENCH_EXIT_USAGE;
        }
        size_t taken = bench_database_merge(t->database.entries, more);
        printf("%s: %zu of %zu entries taken over\n", t->options->merged[i], taken, json_array_size(more));
        json_decref(more);
    }
    if (t->options->merged_count && !bench_database_save(&t->database, reason)) {
        fprintf(stderr, "clbench: %s\n", reason);
        return BENCH_EXIT_ERROR;
    }
    return BENCH_EXIT_OK;
}

static int export_device(tuner *t)
{
    char reason[BENCH_REASON_TEXT] = "";
    const char *path = t->options->export_path;
    json_t *essence = bench_database_essence(t->database.entries, t->device);
    fflush(stdout); // it may be what is written to
    bool good = bench_database_write(path, essence, reason);
    if (!good)
        fprintf(stderr, "clbench: %s\n", reason);
    else if (strcmp(path, "-") && !bench_output_is_stream(path))
        printf("%s: %zu entries\n", path, json_array_size(essence));
    json_decref(essence);
    return good ? BENCH_EXIT_OK : BENCH_EXIT_ERROR;
}

// Of the database and what is exported from it, asked before anything is measured.
static bool may_write(const tuner *t, const char *path, bool is_own, char reason[BENCH_REASON_TEXT])
{
    const char *exported = t->options->export_path;
    if (exported && !strcmp(exported, path))
        return bench_explain(reason, BENCH_REASON_TEXT, "%.300s is the database itself: export to another file", path);
    return bench_database_check(path, is_own, reason) && bench_output_is_apart(exported, path, reason);
}

static int open_database(tuner *t, const char *preference)
{
    char reason[BENCH_REASON_TEXT] = "", path[4096];
    if (bench_process_call(&t->husk.process, json_pack("{s:s}", "do", "tuning"), 60, &t->device, reason) !=
            BENCH_REPLY_OK ||
        !*bench_entry_text(t->device, "device")) {
        fprintf(stderr, "clbench: the device does not say who it is: %s\n", reason);
        return BENCH_EXIT_ERROR;
    }
    const bool is_own = bench_database_path(bench_entry_text(t->device, "path"), preference, path, sizeof path);
    if (!path[0]) {
        fprintf(stderr, "clbench: no place for a database: neither HOME nor XDG_DATA_HOME nor HUSK_TUNING is set\n");
        return BENCH_EXIT_ERROR;
    }
    if (!may_write(t, path, is_own, reason)) {
        fprintf(stderr, "clbench: %s\n", reason);
        return BENCH_EXIT_USAGE;
    }
    if (!bench_output_check(t->options->export_path))
        return BENCH_EXIT_ERROR;
    bench_database_open(&t->database, path, reason);
    t->database.is_own = is_own;
    if (reason[0])
        bench_say("%s; a new one takes its place", reason);
    return BENCH_EXIT_OK;
}

// device: what -d says; preference: what HUSK_TUNING says of the database.
static int run(tuner *t, const char *device, const char *preference)
{
    const bench_options *o = t->options;
    bool only_files = (o->show || o->export_path || o->merged_count) && !o->cases[0] && !o->suite && !o->file;
    int code = bench_open_husk(&t->husk, device, NULL, o->max_time);
    if (code == BENCH_EXIT_OK && o->predictions)
        return bench_tune_predictions(&t->husk, t->suite, o);
    if (code == BENCH_EXIT_OK)
        code = open_database(t, preference);
    if (code == BENCH_EXIT_OK && o->device_count > 1)
        bench_print(2, "%s, %s\n", bench_entry_text(t->device, "device"), bench_entry_text(t->device, "platform"));
    if (code == BENCH_EXIT_OK)
        code = merge(t);
    if (code == BENCH_EXIT_OK && !only_files) {
        bench_process awake;
        bench_awake_start(&awake, json_object_get(t->husk.hello, "device"));
        code = tune_cases(t);
        bench_process_stop(&awake);
    }
    if (t->database.entries && o->show && !bench_interrupted)
        bench_database_show(&t->database, t->device);
    if (t->database.entries && o->export_path && !bench_interrupted) {
        int exported = export_device(t);
        code = code == BENCH_EXIT_OK ? exported : code;
    }
    return code;
}

#define RACE_SECONDS 1.5 // what a case takes where nothing limits it

static int dry_run(const bench_options *options, const bench_suite *suite)
{
    bench_dry_run dry = {.options = options, .suite = suite, .done = "tuned", .rounds = 1};
    for (size_t i = 0; i < suite->count; i++)
        dry.rows += bench_variant_count(&suite->entries[i].c);
    dry.seconds = (double)suite->count * RACE_SECONDS;
    dry.budget = options->budget < 0 ? 0 : bench_tune_budget(options);
    return bench_dry_run_print(&dry);
}

// Each device has the time that was given.
static int tune_device(const bench_options *options, const bench_suite *suite, const char *device,
                       const char *preference)
{
    tuner t = {.options = options, .suite = suite, .start_ns = bench_now_ns(), .budget = bench_tune_budget(options)};
    t.hung = json_array();
    const int code = run(&t, device, preference);
    bench_runner_process_stop(&t.husk);
    bench_database_close(&t.database);
    json_decref(t.device);
    json_decref(t.hung);
    free(t.order);
    free(t.progress);
    return code;
}

static int tune_devices(const bench_options *given, const bench_suite *suite)
{
    bench_options options = *given;
    char buffer[64], path[4096], reason[BENCH_REASON_TEXT];
    int code = BENCH_EXIT_OK;
    // What is compared with is the prediction, so workers see neither databases nor preferences.
    const char *place = getenv("HUSK_TUNING");
    if (!bench_database_path("", place, path, sizeof path) && !bench_database_check(path, false, reason)) {
        fprintf(stderr, "clbench: HUSK_TUNING: %s\n", reason);
        return BENCH_EXIT_USAGE;
    }
    char *preference = place ? bench_copy_text(place) : NULL;
    setenv("HUSK_TUNING", "0", 1);
    unsetenv("HUSK_VARIANT");
    bench_progress_start(options.quiet);
    bench_catch_interrupt();
    bench_expand_devices(&options);
    const size_t devices = options.device_count ? options.device_count : 1;
    for (size_t i = 0; i < devices && !bench_interrupted; i++) {
        if (i > 0)
            putchar('\n');
        const int answer = tune_device(&options, suite, bench_device_preference(&options, i, buffer), preference);
        code = code == BENCH_EXIT_OK ? answer : code;
    }
    free(preference);
    return bench_interrupted ? bench_interrupted_exit() : code;
}

int bench_command_tune(const bench_options *options)
{
    bench_suite suite;
    char reason[BENCH_REASON_TEXT];
    int code = BENCH_EXIT_OK;
    if (options->kernel_count)
        return bench_tune_kernels(options);
    if (!bench_select_cases(options, "standard", &suite, reason)) {
        fprintf(stderr, "clbench: %s\n", reason);
        return BENCH_EXIT_USAGE;
    }
    if (options->dry_run) {
        code = dry_run(options, &suite);
    } else if (options->list) {
        for (size_t i = 0; i < suite.count; i++)
            puts(suite.entries[i].c.canonical);
    } else {
        code = tune_devices(options, &suite);
    }
    bench_suite_free(&suite);
    return code;
}
