// SPDX-License-Identifier: MIT
// clbench and clbench run: measure a list of cases on one device after another.
#include "run/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/take_stdout.h"
#include "common/json.h"
#include "common/text.h"
#include "compare/history.h"
#include "measure/peaks_ask.h"
#include "measure/plausible.h"
#include "system/awake.h"
#include "system/host.h"
#include "system/interrupt.h"
#include "system/output.h"
#include "system/steps.h"
#include "system/terminal.h"
#include "system/timer.h"
#include "record/resume.h"
#include "report/summary.h"
#include "run/baseline_choice.h"
#include "run/runners.h"
#include "run/described.h"
#include "run/dry_run.h"
#include "run/overhead.h"
#include "run/rounds.h"
#include "run/select.h"
#include "worker/kernel_runner.h"
#include "worker/measure_peaks.h"

#define STANDARD_BUDGET 60.0
#define STANDARD_ROUNDS 3
#define QUICK_BUDGET    20.0
#define UNKNOWN_CACHE   (64.0 * 1048576)

static int cpu_threads(const bench_run *r)
{
    const json_t *device = json_object_get(r->runners[0].hello, "device"), *traits = json_object_get(device, "traits");
    json_int_t units = json_integer_value(json_object_get(traits, "compute_units"));
    bool is_cpu = json_is_true(json_object_get(traits, "is_cpu"));
    return is_cpu && units > 0 ? (int)units : bench_host_cores();
}

// One that runs kernels of the user's own, who has a process beside Husk's, and rivals where any compute the same.
static void start_baselines(bench_run *r)
{
    int threads = cpu_threads(r);
    json_t *device = json_object_get(r->runners[0].hello, "device");
    if (r->options->kernel_count) {
        bench_runner_process *c = &r->runners[r->runner_count++];
        bench_runner_process_start(c, bench_runner_kernel.name, r->preference, threads, NULL);
        bench_runner_process_expect(c, device);
    }
    const bool has_rivals = !r->options->kernel_count || bench_described_has_operator(&r->suite);
    for (size_t i = 0; has_rivals && i < r->baselines.count; i++) {
        const bench_baseline *b = &r->baselines.all[i];
        bench_runner_process *c = &r->runners[r->runner_count++];
        bench_runner_process_start_other(c, b->name, b->program, b->runner, r->preference, threads);
        bench_runner_process_expect(c, device);
    }
    for (size_t i = 1; i < r->runner_count; i++)
        bench_runner_process_await(&r->runners[i], r->options->max_time);
}

// Of the runners: Husk's own place is the first one, that of described kernels the second.
static size_t first_rival(const bench_run *r)
{
    return r->options->kernel_count ? 2 : 1;
}

static void print_baselines(const bench_run *r)
{
    for (size_t i = first_rival(r); i < r->runner_count; i++) {
        const bench_runner_process *c = &r->runners[i];
        if (c->is_usable)
            bench_print(2, "baseline %s: %s\n", c->name, c->version);
        else
            bench_say("baseline %s cannot be used: %s", c->name, c->why);
    }
}

static const char *device_name(const bench_run *r)
{
    const char *name = json_string_value(json_object_get(json_object_get(r->runners[0].hello, "device"), "name"));
    return name ? name : "unknown";
}

static json_t *timer_json(const bench_peaks *peaks)
{
    bool trusted = peaks->trust_ratio >= 0.8 && peaks->trust_ratio <= 1.25;
    json_t *timer = json_pack("{s:s, s:f, s:b, s:I}", "source", "wall", "trust_ratio", peaks->trust_ratio,
                              "events_trusted", trusted, "tick_ns", (json_int_t)bench_timer_tick_ns());
    return timer;
}

// What of the machine may be used, and what cold rows rotate over.
static void print_host(bench_run *r, const json_t *device)
{
    char text[256], bytes[32];
    bench_host_limits limits;
    bench_host_read_limits("", &limits);
    bench_host_limits_text(&limits, text, sizeof text);
    bench_print(2, "This process may use %s\n", text);
    const double cache = bench_last_level_cache(device, bench_host_cache(""));
    r->cache_bytes = cache > 0 ? cache : UNKNOWN_CACHE;
    bench_format_bytes(2 * r->cache_bytes, bytes, sizeof bytes);
    if (r->options->cold)
        bench_print(2, "Cold: operands rotate over %s, twice the last-level cache; rows that cannot are hot\n", bytes);
    fflush(stdout);
}

// The device's peaks, and the header that says what is being measured.
static void measure_device(bench_run *r)
{
    char reason[BENCH_REASON_TEXT] = "";
    json_t *device = json_deep_copy(json_object_get(r->runners[0].hello, "device"));
    memset(&r->peaks, 0, sizeof r->peaks);
    r->sentinel_gflops = r->memory_rate = 0;
    // All that there is, or what the cases need.
    bench_peaks_request preference = {
        .quick = r->options->quick, .arithmetic = r->options->quick ? 0 : ~0u, .part = -1};
    for (size_t i = 0; i < r->suite.count; i++)
        preference.arithmetic |= bench_wanted_arithmetic(&r->suite.entries[i].c);
    bench_steps steps;
    double usual;
    const size_t count = bench_peaks_steps(preference.quick, &usual);
    bench_steps_begin(&steps, count, usual);
    json_t *peaks =
        bench_peaks_ask(&r->runners[0].process, device_name(r), &preference, r->options->compile_time, &steps, reason);
    bench_steps_end(&steps);
    if (peaks)
        bench_read_peaks(peaks, &r->peaks);
    else
        bench_say("the device's peaks could not be measured: %s", reason);
    json_object_set_new(device, "peaks", peaks ? peaks : json_null());
    if (r->kernels[0])
        json_object_set_new(device, "kernels", json_string(r->kernels));
    json_object_set_new(device, "kept_awake", json_boolean(r->is_kept_awake));
    json_object_set(device, "notes", json_object_get(r->runners[0].hello, "notes"));
    bench_print_device(device, &r->peaks, cpu_threads(r));
    print_host(r, device);
    bench_results_device(&r->results, r->device, device, timer_json(&r->peaks));
    bench_keep_peaks(r);
}

// Where startup and overhead of the present device stand: the first one's in the document itself.
static json_t *place_of(const bench_run *r)
{
    return r->device ? json_array_get(json_object_get(r->results.root, "devices"), r->device) : r->results.root;
}

static void measure_startup(bench_run *r)
{
    const bench_options *o = r->options;
    bool is_suite_run = o->command == BENCH_COMMAND_RUN && !o->cases[0] && !o->kernel_count && !o->quick;
    if (bench_interrupted || o->no_startup || !(o->startup || is_suite_run) || json_object_get(place_of(r), "startup"))
        return;
    const bench_startup_options new_process = bench_run_startup(r);
    json_t *startup = bench_startup_json(&new_process);
    if (bench_interrupted) { // half of it is nothing
        json_decref(startup);
        return;
    }
    bench_print_startup(startup);
    json_object_set_new(place_of(r), "startup", startup);
}

// The most device memory that was in use at once, and the case whose plan takes the most scratch memory.
static void ask_memory(bench_run *r)
{
    char reason[BENCH_REASON_TEXT] = "";
    json_t *reply = NULL;
    if (!r->runners[0].process.pid) // a worker that was ended took its count with it
        return;
    bench_reply status = bench_process_call(&r->runners[0].process, json_pack("{s:s}", "do", "memory"),
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
    bool is_suite_run = o->command == BENCH_COMMAND_RUN && !o->cases[0] && !o->kernel_count && !o->quick;
    if (bench_interrupted || o->no_startup || !(o->startup || is_suite_run) ||
        json_object_get(place_of(r), "overhead") || !bench_runner_process_revive(&r->runners[0]))
        return;
    json_t *overhead = bench_overhead_ask(&r->runners[0], o->compile_time, reason);
    if (overhead)
        json_object_set_new(place_of(r), "overhead", overhead);
    else if (!bench_interrupted)
        bench_say("the overhead of a call could not be measured: %s", reason);
}

static void begin_table(bench_run *r)
{
    r->table.rival_count = 0;
    if (r->options->kernel_count && bench_described_has_operator(&r->suite))
        r->table.rivals[r->table.rival_count++] = r->runners[0].name;
    for (size_t i = first_rival(r); i < r->runner_count && r->table.rival_count < BENCH_MAX_RIVALS; i++) {
        if (r->runners[i].is_usable)
            r->table.rivals[r->table.rival_count++] = r->runners[i].name;
    }
    r->table.with_variant = r->options->variant != NULL;
    bench_table_begin(&r->table, &r->suite);
    putchar('\n');
    if (r->kept)
        bench_print(0, "%zu row%s of this device %s in %s; %zu %s measured now.\n\n", r->kept, r->kept == 1 ? "" : "s",
                    r->kept == 1 ? "is" : "are", r->options->resume_path, r->row_count,
                    r->row_count == 1 ? "is" : "are");
    bench_table_header(&r->table);
}

// A run that goes on has the part of its time that the rows which are left had.
static void share_budget(bench_run *r)
{
    if (r->budget > 0 && r->kept > 0)
        r->budget = bench_run_elapsed(r) + r->budget * (double)r->row_count / (double)(r->row_count + r->kept);
}

// What computes on this device: with other kernels its rows would be others.
static void ask_kernels(bench_run *r)
{
    char reason[BENCH_REASON_TEXT] = "";
    json_t *reply = NULL;
    bench_process_call(&r->runners[0].process, json_pack("{s:s}", "do", "kernels"), r->options->max_time, &reply,
                       reason);
    snprintf(r->kernels, sizeof r->kernels, "%s", bench_text_of(reply, "kernels"));
    char own[20];
    if (r->options->kernel_count)
        bench_described_digest(r->options, own);
    if (r->options->kernel_count)
        bench_append(r->kernels, sizeof r->kernels, "-%s", own);
    json_decref(reply);
}

static int refuse(const bench_run *r, const char *reason)
{
    fprintf(stderr, "clbench: %s cannot be resumed: %s\n", r->options->resume_path, reason);
    return BENCH_EXIT_USAGE;
}

static int open_device(bench_run *r)
{
    char reason[BENCH_REASON_TEXT];
    int code = bench_open_husk(&r->runners[0], r->preference, NULL, r->options->max_time);
    if (code == BENCH_EXIT_OK)
        ask_kernels(r);
    if (code == BENCH_EXIT_OK && (!bench_resume_same_device(r->results.root, r->device,
                                                            json_object_get(r->runners[0].hello, "device"), reason) ||
                                  !bench_resume_same_kernels(r->results.root, r->device, r->kernels, reason)))
        code = refuse(r, reason);
    if (code != BENCH_EXIT_OK)
        bench_runner_process_stop(&r->runners[0]);
    return code;
}

static bool has_same_baselines(const bench_run *r, char reason[BENCH_REASON_TEXT])
{
    for (size_t i = first_rival(r); i < r->runner_count; i++) {
        const bench_runner_process *c = &r->runners[i];
        if (c->is_usable && !bench_resume_same_baseline(r->results.root, r->device, c->name, c->version, reason))
            return false;
    }
    return true;
}

// A device that a resumed document has whole is not measured again.
static int measure_rows(bench_run *r)
{
    char reason[BENCH_REASON_TEXT];
    start_baselines(r);
    if (!has_same_baselines(r, reason))
        return refuse(r, reason);
    bench_results_go_on(&r->results);
    r->clock_begins = bench_resume_clock(r->results.rows);
    bench_process awake;
    bench_awake_start(&awake, json_object_get(r->runners[0].hello, "device"));
    r->is_kept_awake = awake.pid != 0;
    // The header is for the device that is measured; baselines name themselves below it.
    measure_device(r);
    print_baselines(r);
    share_budget(r);
    begin_table(r);
    bench_measure_rounds(r);
    bench_settle_peaks(r);
    ask_memory(r);
    bench_process_stop(&awake);
    return BENCH_EXIT_OK;
}

static void free_rows(bench_run *r)
{
    for (size_t i = 0; i < r->row_count; i++)
        bench_row_free(&r->rows[i]);
    free(r->rows);
    free(r->order);
    r->rows = NULL;
    r->order = NULL;
}

static int run_device(bench_run *r, size_t index)
{
    char buffer[64];
    r->preference = bench_device_preference(r->options, index, buffer);
    r->runner_count = 1;
    r->kept = r->row_count = r->repeated = 0;
    r->results.device = r->device;
    if (index > 0) { // each device has the time that was given
        putchar('\n');
        r->start_ns = bench_now_ns();
        r->compiling = 0;
        r->budget = r->given_budget;
    }
    int code = open_device(r);
    if (code != BENCH_EXIT_OK)
        return code;
    if (!bench_make_rows(r)) {
        bench_say("clbench: %s: nothing was measured: host memory does not suffice for the rows of so many cases",
                  device_name(r));
        code = BENCH_EXIT_ERROR;
    } else if (r->row_count > 0) {
        code = measure_rows(r);
    } else {
        printf("%s: nothing is missing\n", device_name(r));
    }
    free_rows(r);
    if (code == BENCH_EXIT_OK)
        measure_overhead(r);
    for (size_t i = 0; i < r->runner_count; i++)
        bench_runner_process_stop(&r->runners[i]);
    if (code != BENCH_EXIT_OK)
        return code;
    measure_startup(r);
    bench_overhead_print(json_object_get(place_of(r), "overhead"), false);
    r->device++;
    return BENCH_EXIT_OK;
}

static bool is_of(const json_t *row, json_int_t device)
{
    return json_integer_value(json_object_get(row, "device")) == device;
}

// A device none of whose rows came to a right result: its name; NULL: there is none.
static const char *without_result(const json_t *root, const json_t *rows)
{
    const json_t *devices = json_object_get(root, "devices");
    for (size_t d = 0; d < json_array_size(devices); d++) {
        size_t all = 0, right = 0;
        for (size_t i = 0; i < json_array_size(rows); i++) {
            const json_t *row = json_array_get(rows, i);
            const char *state = json_string_value(json_object_get(row, "state"));
            all += is_of(row, (json_int_t)d);
            right += is_of(row, (json_int_t)d) && state && !strcmp(state, "ok");
        }
        const char *name = json_string_value(json_object_get(json_array_get(devices, d), "name"));
        if (all && !right)
            return name ? name : "the device";
    }
    return NULL;
}

// What nobody measured must not look as if it had been, nor what cannot be true.
static int exit_code(const json_t *root, const json_t *rows)
{
    if (bench_results_count(rows, "failed"))
        return BENCH_EXIT_VERIFICATION;
    if (bench_results_count(rows, "error") || bench_results_count(rows, "suspect"))
        return BENCH_EXIT_ERROR;
    if (bench_results_count(rows, "timeout"))
        return BENCH_EXIT_TIMEOUT;
    const char *name = without_result(root, rows);
    if (name)
        bench_say("clbench: %s: nothing was measured: no case came to a right result", name);
    return name ? BENCH_EXIT_ERROR : BENCH_EXIT_OK;
}

static bool write_tables(const bench_run *r)
{
    bool good = !r->results.failed;
    if (r->options->csv_path)
        good = bench_write_csv(r->options->csv_path, r->results.rows) && good;
    if (r->options->plain_path)
        good = bench_write_plain(r->options->plain_path, r->results.root) && good;
    if (r->options->md_path)
        good = bench_write_markdown(r->options->md_path, r->results.root) && good;
    return good;
}

// Nonsense is refused before the first device is opened.
static int check(bench_run *r)
{
    char reason[BENCH_REASON_TEXT];
    const bench_options *o = r->options;
    const bool is_selected = o->kernel_count ? bench_described_suite(o, &r->suite, reason)
                                             : bench_select_cases(o, "standard", &r->suite, reason);
    if (!is_selected || !bench_baselines_choose(o, &r->baselines, reason) ||
        !bench_check_variant(o->variant, &r->suite, reason)) {
        fprintf(stderr, "clbench: %s\n", reason);
        return BENCH_EXIT_USAGE;
    }
    return BENCH_EXIT_OK;
}

// One device after another; what one cannot be opened for does not keep the others from being measured.
static int run_devices(bench_run *r)
{
    int code = BENCH_EXIT_OK;
    size_t devices = r->options->device_count ? r->options->device_count : 1;
    for (size_t i = 0; i < devices && !bench_interrupted; i++) {
        int answer = run_device(r, i);
        code = code == BENCH_EXIT_OK ? answer : code;
        if (answer == BENCH_EXIT_USAGE) // refused to go on with a file
            break;
    }
    return code;
}

// Each device's rows by themselves: a mean over two of them says nothing.
static void print_verdicts(const bench_run *r)
{
    const json_t *devices = json_object_get(r->results.root, "devices");
    const size_t count = json_array_size(devices);
    for (size_t d = 0; d < count && d < BENCH_MAX_DEVICES; d++) {
        bench_results part = r->results;
        part.rows = bench_results_of(r->results.rows, d);
        part.path = d + 1 == count ? part.path : NULL;
        const char *name = json_string_value(json_object_get(json_array_get(devices, d), "name"));
        if (count > 1)
            printf("\n%s:", name ? name : "unknown");
        bench_print_verdict(&part, r->budget, r->was_cut[d], r->worst_drift[d], r->worst_memory_drift[d]);
        json_decref(part.rows);
    }
}

static void say_interrupted(const bench_run *r)
{
    const char *path = r->results.path;
    if (path && !bench_output_is_stream(path) && r->results.written_ns && !r->results.failed)
        bench_say("interrupted: what was measured is in %s; clbench run --resume %s goes on", path, path);
    else
        bench_say("interrupted; --json FILE keeps what was measured, and clbench run --resume FILE goes on");
}

static double budget_of(const bench_options *options, const bench_suite *suite)
{
    if (options->budget != 0)
        return options->budget > 0 ? options->budget : 0;
    // A minute for the standard suite, however it was asked for.
    return options->quick ? QUICK_BUDGET : !strcmp(suite->name, "standard") ? STANDARD_BUDGET : 0;
}

// Three processes are the fewest of which two can be seen to agree.
static int64_t rounds_of(const bench_options *options, const bench_suite *suite)
{
    if (options->rounds != BENCH_ROUNDS_UNSAID)
        return options->rounds;
    return !options->quick && !strcmp(suite->name, "standard") ? STANDARD_ROUNDS : 1;
}

// The suite, and the document of a run that is gone on with.
static int begin(bench_run *r, bench_options *options)
{
    char reason[BENCH_REASON_TEXT];
    json_t *document = NULL;
    if (options->resume_path) {
        options->json_path = options->json_path ? options->json_path : options->resume_path;
    } else {
        int code = check(r);
        options->rounds = rounds_of(options, &r->suite);
        if (code != BENCH_EXIT_OK || options->list || options->dry_run)
            return code;
        bench_expand_devices(options);
    }
    if (!bench_results_claim(&r->results, options->json_path, reason) || // and read when nobody else writes it
        (options->resume_path && !bench_resume_load(options, &r->suite, &document, reason)) ||
        (document && options->kernel_count && !bench_described_suite(options, &r->suite, reason)) ||
        (document && !bench_baselines_choose(options, &r->baselines, reason))) {
        fprintf(stderr, "clbench: %s\n", reason);
        json_decref(document);
        return BENCH_EXIT_USAGE;
    }
    if (!bench_output_check(options->csv_path) || !bench_output_check(options->md_path) ||
        !bench_output_check(options->plain_path)) {
        json_decref(document);
        return BENCH_EXIT_ERROR;
    }
    r->budget = budget_of(options, &r->suite);
    r->given_budget = r->budget;
    bool good = document
                    ? bench_results_resume(&r->results, options->json_path, document)
                    : bench_results_begin(&r->results, options->json_path, bench_resume_describe(options, &r->suite));
    return good ? BENCH_EXIT_OK : BENCH_EXIT_ERROR;
}

// A disk that is full or read-only is a pity, and no failure of the run. Whether it is in the history.
static bool keep(const bench_run *r)
{
    char reason[BENCH_REASON_TEXT];
    if (r->options->no_history || r->results.is_untouched)
        return false;
    const bool is_kept = bench_history_keep(r->results.root, reason);
    if (!is_kept)
        bench_say("clbench: the result is not in the history: %s", reason);
    return is_kept;
}

// What can be done with the result next.
static void say_next(const bench_run *r, bool is_kept)
{
    const char *path = r->results.path;
    const bool is_file = path && !bench_output_is_stream(path) && !r->results.failed;
    char name[4 * 512];
    if (is_file && strlen(path) < 512)
        bench_shell_word(path, name, sizeof name);
    else if (is_kept)
        snprintf(name, sizeof name, "last");
    else
        return;
    bench_print(2, "As a page: clbench report %s -o report.html\n", name);
    fflush(stdout);
}

#define DEVICE_SECONDS       8.0 // peaks and the workers' start
#define DEVICE_SECONDS_QUICK 2.0
#define RUNNER_SECONDS    0.9 // of one in a row: made ready, verified, warmed up, and half a second of samples
#define RUNNER_QUICK      0.25

static int dry_run(const bench_run *r)
{
    const bench_options *options = r->options;
    const bench_suite *suite = &r->suite;
    bench_dry_run dry = {.options = options, .suite = suite, .done = "measured", .rounds = (size_t)options->rounds};
    const bool all = options->variant && !strcmp(options->variant, "all");
    const bool has_rivals = !options->kernel_count || bench_described_has_operator(suite);
    if (options->kernel_count && has_rivals)
        dry.baselines[dry.baseline_count++] = bench_runner_get(0)->name;
    for (size_t i = 0; has_rivals && i < r->baselines.count; i++)
        dry.baselines[dry.baseline_count++] = r->baselines.all[i].name;
    for (size_t i = 0; i < suite->count; i++)
        dry.rows += all ? bench_variant_count(&suite->entries[i].c) : 1;
    const double turns = (double)(dry.rows * dry.rounds * (1 + dry.baseline_count));
    dry.seconds = turns * (options->quick ? RUNNER_QUICK : RUNNER_SECONDS) +
                  (options->quick ? DEVICE_SECONDS_QUICK : DEVICE_SECONDS);
    dry.budget = budget_of(options, suite);
    return bench_dry_run_print(&dry);
}

int bench_command_run(const bench_options *given)
{
    char stdout_path[32] = "";
    bench_options changed = *given, *options = &changed;
    bench_run r = {.options = options, .start_ns = bench_now_ns()};
    bench_progress_start(options->quiet);
    if (!options->list && !options->dry_run)
        bench_output_take_stdout(options, stdout_path);
    bench_catch_interrupt();
    int code = begin(&r, options);
    if (code != BENCH_EXIT_OK || options->list || options->dry_run) {
        for (size_t i = 0; code == BENCH_EXIT_OK && options->list && i < r.suite.count; i++)
            puts(bench_suite_entry_text(&r.suite.entries[i]));
        if (code == BENCH_EXIT_OK && !options->list)
            code = dry_run(&r);
        bench_results_free(&r.results);
        bench_suite_free(&r.suite);
        return code;
    }
    code = run_devices(&r);
    const bool is_whole = code == BENCH_EXIT_OK && !bench_interrupted;
    bench_results_finish(&r.results, is_whole);
    if (json_array_size(r.results.rows)) {
        const bool is_kept = keep(&r);
        print_verdicts(&r);
        say_next(&r, is_kept);
        const bool is_written = write_tables(&r);
        const int judged = exit_code(r.results.root, r.results.rows);
        // A wrong result comes before what could not be opened or written.
        if (judged == BENCH_EXIT_VERIFICATION && code != BENCH_EXIT_USAGE)
            code = judged;
        else if (code == BENCH_EXIT_OK)
            code = is_written ? judged : BENCH_EXIT_ERROR;
    } else if (code == BENCH_EXIT_OK && !bench_interrupted) {
        bench_say("clbench: nothing was measured");
        code = BENCH_EXIT_ERROR;
    }
    if (bench_interrupted)
        say_interrupted(&r);
    bench_results_free(&r.results);
    bench_suite_free(&r.suite);
    return bench_interrupted ? bench_interrupted_exit() : code;
}
