// SPDX-License-Identifier: MIT
// clbench and clbench run: measure a list of cases on one device after another.
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host.h"
#include "op.h"
#include "overhead.h"
#include "rounds.h"
#include "startup.h"
#include "summary.h"
#include "terminal.h"
#include "text.h"
#include "timer.h"

#define STANDARD_BUDGET 60.0
#define QUICK_BUDGET    20.0

static bool wants_baseline(const bench_run *r, const char *name)
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

static int cpu_threads(const bench_run *r)
{
    const json_t *device = json_object_get(r->contestants[0].hello, "device"),
                 *traits = json_object_get(device, "traits");
    json_int_t units = json_integer_value(json_object_get(traits, "compute_units"));
    bool is_cpu = json_is_true(json_object_get(traits, "is_cpu"));
    return is_cpu && units > 0 ? (int)units : bench_host_cores();
}

static void start_baselines(bench_run *r)
{
    int threads = cpu_threads(r);
    for (size_t i = 1; bench_contender_get(i) && r->contestant_count < BENCH_MAX_CONTESTANTS; i++) {
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

static json_t *timer_json(const bench_peaks *peaks)
{
    bool trusted = peaks->trust_ratio >= 0.8 && peaks->trust_ratio <= 1.25;
    json_t *timer = json_pack("{s:s, s:f, s:b, s:I}", "source", "wall", "trust_ratio", peaks->trust_ratio,
                              "events_trusted", trusted, "tick_ns", (json_int_t)bench_timer_tick_ns());
    return timer;
}

// The device's peaks, and the header that says what is being measured.
static void measure_device(bench_run *r)
{
    char reason[BENCH_REASON_TEXT] = "";
    json_t *reply = NULL, *device = json_deep_copy(json_object_get(r->contestants[0].hello, "device"));
    bench_process *husk = &r->contestants[0].process;
    bench_progress_show("measuring the device's peaks");
    memset(&r->peaks, 0, sizeof r->peaks);
    r->sentinel_gflops = 0;
    if (bench_process_call(husk, json_pack("{s:s, s:b}", "do", "peaks", "quick", r->options->quick),
                           r->options->max_time, &reply, reason) == BENCH_REPLY_OK &&
        bench_state_of_reply(BENCH_REPLY_OK, reply, reason) == BENCH_STATE_OK) {
        bench_read_peaks(reply, &r->peaks);
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

static void measure_startup(bench_run *r)
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

// The most device memory that was in use at once, and the case whose plan takes the most scratch memory.
static void ask_memory(bench_run *r)
{
    char reason[BENCH_REASON_TEXT] = "";
    json_t *reply = NULL;
    if (!r->contestants[0].process.pid) // a worker that was ended took its count with it
        return;
    bench_reply status = bench_process_call(&r->contestants[0].process, json_pack("{s:s}", "do", "memory"),
                                            r->options->max_time, &reply, reason);
    if (bench_state_of_reply(status, reply, reason) == BENCH_STATE_OK)
        bench_results_memory(&r->results, json_integer_value(json_object_get(reply, "peak_bytes")));
    json_decref(reply);
}

// What a call costs the host.
static void measure_overhead(bench_run *r)
{
    const bench_options *o = r->options;
    char reason[BENCH_REASON_TEXT] = "";
    json_t *reply = NULL;
    bool is_suite_run = o->command == BENCH_COMMAND_RUN && !o->cases[0] && !o->quick;
    if (bench_interrupted || o->no_startup || !(o->startup || is_suite_run) ||
        !bench_contestant_revive(&r->contestants[0]))
        return;
    bench_reply status = bench_process_call(&r->contestants[0].process, json_pack("{s:s}", "do", "overhead"),
                                            o->max_time, &reply, reason);
    if (bench_state_of_reply(status, reply, reason) == BENCH_STATE_OK)
        json_object_set(r->results.root, "overhead", json_object_get(reply, "overhead"));
    else
        bench_say("the overhead of a call could not be measured: %s", reason);
    json_decref(reply);
}

static int run_device(bench_run *r, size_t index)
{
    char buffer[64];
    r->wish = bench_device_wish(r->options, index, buffer);
    r->contestant_count = 1;
    if (index > 0)
        putchar('\n');
    int code = bench_open_husk(&r->contestants[0], r->wish);
    if (code != BENCH_EXIT_OK) {
        bench_contestant_stop(&r->contestants[0]);
        return code;
    }
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
    if (bench_make_rows(r))
        bench_measure_rounds(r);
    bench_settle_peaks(r, first_row);
    for (size_t i = 0; i < r->row_count; i++)
        bench_row_free(&r->rows[i]);
    free(r->rows);
    r->rows = NULL;
    ask_memory(r);
    measure_overhead(r);
    for (size_t i = 0; i < r->contestant_count; i++)
        bench_contestant_stop(&r->contestants[i]);
    measure_startup(r);
    bench_overhead_print(json_object_get(r->results.root, "overhead"), false);
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

static bool write_tables(const bench_run *r)
{
    bool good = !r->results.failed;
    if (r->options->csv_path)
        good = bench_write_csv(r->options->csv_path, r->results.rows) && good;
    if (r->options->md_path)
        good = bench_write_markdown(r->options->md_path, r->results.root) && good;
    return good;
}

// Nonsense is refused before the first device is opened.
static int check(bench_run *r)
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
        for (size_t v = 0; !found && husk_op_variant(bench_op_row(&r->suite.entries[i].c), v); v++) {
            const char *name = husk_op_variant(bench_op_row(&r->suite.entries[i].c), v);
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

// "-" is stdout, for data alone: what people read goes to stderr then.
static void take_over_stdout(bench_options *options, char path[32])
{
    const char **const paths[] = {&options->json_path, &options->csv_path, &options->md_path};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (!*paths[i] || strcmp(*paths[i], "-"))
            continue;
        if (!path[0]) {
            fflush(stdout);
            snprintf(path, 32, "/dev/fd/%d", dup(STDOUT_FILENO));
            dup2(STDERR_FILENO, STDOUT_FILENO);
        }
        *paths[i] = path;
    }
}

int bench_command_run(const bench_options *given)
{
    char stdout_path[32] = "";
    bench_options changed = *given, *options = &changed;
    bench_run r = {.options = options, .start_ns = bench_now_ns()};
    int code = check(&r);
    if (code != BENCH_EXIT_OK || options->list) {
        for (size_t i = 0; code == BENCH_EXIT_OK && i < r.suite.count; i++)
            puts(r.suite.entries[i].c.canonical);
        bench_suite_free(&r.suite);
        return code;
    }
    bool is_default = !strcmp(r.suite.name, "standard"); // a minute, however it was asked for
    r.budget = options->quick ? QUICK_BUDGET : is_default ? STANDARD_BUDGET : 0;
    if (options->budget != 0)
        r.budget = options->budget > 0 ? options->budget : 0;
    bench_progress_start(options->quiet);
    take_over_stdout(options, stdout_path);
    bench_catch_interrupt();
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
