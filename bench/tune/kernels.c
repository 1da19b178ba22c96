// SPDX-License-Identifier: MIT
// clbench tune --kernels: the fastest configuration of each described kernel at each size, on one device after another.
#include "tune/kernels.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/size.h"
#include "cli/take_stdout.h"
#include "common/json.h"
#include "run/described.h"
#include "run/select.h"
#include "system/awake.h"
#include "system/interrupt.h"
#include "system/output.h"
#include "system/terminal.h"
#include "system/timer.h"
#include "tune/budget.h"
#include "tune/kernel_race.h"
#include "tune/kernel_results.h"
#include "worker/kernel_runner.h"

typedef struct kernel_tuner {
    const bench_options *options;
    bench_suite suite;
    bench_runner_process runner;
    json_t *results, *t4;
    double budget;
    uint64_t start_ns;
    size_t problems, without; // without: for which nothing was found
    size_t wrong, failed, timeouts, skipped;
} kernel_tuner;

// The configurations of one kernel at one size stand beside each other.
static size_t problem_at(const bench_suite *suite, size_t first)
{
    const json_t *kernel = suite->entries[first].kernel;
    size_t end = first + 1;
    while (end < suite->count && bench_has_text(suite->entries[end].kernel, "path", bench_text_of(kernel, "path")) &&
           json_equal(json_object_get(suite->entries[end].kernel, "spec"), json_object_get(kernel, "spec")) &&
           json_equal(json_object_get(suite->entries[end].kernel, "size"), json_object_get(kernel, "size")))
        end++;
    return end - first;
}

static size_t count_problems(const bench_suite *suite)
{
    size_t problems = 0;
    for (size_t i = 0; i < suite->count; i += problem_at(suite, i))
        problems++;
    return problems;
}

// "saxpy n=1000": a row's text without the configuration.
static void name_problem(const json_t *kernel, char *text, size_t size)
{
    const char *key;
    json_t *value;
    snprintf(text, size, "%s", bench_text_of(kernel, "name"));
    json_object_foreach(json_object_get(kernel, "sizes"), key, value)
        bench_append(text, size, " %s=%" JSON_INTEGER_FORMAT, key, json_integer_value(value));
}

static void show_progress(const bench_suite_entry *entry, size_t number, size_t count)
{
    if (number < count)
        bench_progress_show("[%zu/%zu] %s", number + 1, count, bench_suite_entry_text(entry));
    else
        bench_progress_show("the fastest against each other: %s", bench_text_of(entry->kernel, "name"));
}

// ---- what people read ----

static const char *configuration_of(const bench_tried *tried)
{
    const char *text = bench_text_of(tried->kernel, "configuration");
    return *text ? text : "without parameters";
}

static void print_failures(kernel_tuner *t, const bench_kernel_race *race)
{
    for (size_t i = 0; i < race->count; i++) {
        const bench_tried *tried = &race->tried[i];
        const bool is_wrong = tried->state == BENCH_STATE_FAILED, is_late = tried->state == BENCH_STATE_TIMEOUT;
        const bool is_failed = tried->state == BENCH_STATE_ERROR || tried->state == BENCH_STATE_INCONCLUSIVE;
        t->wrong += is_wrong;
        t->timeouts += is_late;
        t->failed += is_failed;
        t->skipped += tried->state == BENCH_STATE_SKIPPED;
        if (is_wrong || is_late || is_failed)
            bench_print(8, "  %s%s%s  %s: %s\n", bench_colour_on(BENCH_BAD),
                        is_wrong  ? "wrong"
                        : is_late ? "not finished"
                                  : bench_state_text(tried->state),
                        bench_colour_off(), configuration_of(tried), tried->reason ? tried->reason : "");
    }
}

static double slowest_of(const bench_kernel_race *race)
{
    double slowest = 0;
    for (size_t i = 0; i < race->count; i++) {
        if (race->tried[i].state == BENCH_STATE_OK && race->tried[i].median_ns > slowest)
            slowest = race->tried[i].median_ns;
    }
    return slowest;
}

static void print_best(const bench_kernel_race *race)
{
    const bench_tried *best = &race->tried[race->order[0]];
    const bench_case *c = &race->entries[0].c;
    const double flops = bench_case_flops(c), bytes = bench_case_bytes(c);
    const bool by_memory = bench_case_is_bandwidth(c);
    const char *options = bench_text_of(best->kernel, "options");
    char time[32], text[BENCH_REASON_TEXT] = "";
    bench_format_ns(best->median_ns, time, sizeof time);
    bench_append(text, sizeof text, "%s%s%s  %s, %.3g %s", bench_colour_on(BENCH_GOOD), configuration_of(best),
                 bench_colour_off(), time, (by_memory ? bytes : flops) / best->median_ns,
                 by_memory ? "GB/s" : "GFLOP/s");
    if (*options && strlen(options) < 300)
        bench_append(text, sizeof text, "  (%s)", options);
    bench_print(4, "  %s\n", text);
    for (size_t i = 1; i <= race->as_fast; i++)
        bench_print(8, "    as fast: %s\n", configuration_of(&race->tried[race->order[i]]));
}

static void print_race(kernel_tuner *t, const bench_kernel_race *race)
{
    char name[BENCH_CASE_TEXT], counts[256] = "";
    const size_t right = bench_kernel_race_count(race, BENCH_STATE_OK);
    const size_t skipped = bench_kernel_race_count(race, BENCH_STATE_SKIPPED);
    const size_t refused = bench_kernel_race_count(race, BENCH_STATE_UNSUPPORTED);
    const bool compares = json_is_true(json_object_get(race->entries[0].kernel, "compares"));
    name_problem(race->entries[0].kernel, name, sizeof name);
    bench_append(counts, sizeof counts, "of %zu configuration%s %zu %s", race->count, race->count == 1 ? "" : "s",
                 right, compares ? "right" : "ran, of which no results were compared");
    if (refused)
        bench_append(counts, sizeof counts, ", %zu refused", refused);
    if (skipped)
        bench_append(counts, sizeof counts, ", %zu not reached in the time", skipped);
    if (right > 1 && race->finalists)
        bench_append(counts, sizeof counts, "; the slowest takes %.2f times as long",
                     slowest_of(race) / race->tried[race->order[0]].median_ns);
    bench_progress_clear();
    bench_print(4, "%s: %s\n", name, counts);
    print_failures(t, race);
    if (race->finalists)
        print_best(race);
    fflush(stdout);
}

// ---- devices ----

static double seconds_left(const kernel_tuner *t)
{
    return t->budget - (double)(bench_now_ns() - t->start_ns) * 1e-9;
}

static bool tune_problem(kernel_tuner *t, size_t first, size_t count, size_t problems_left)
{
    bench_kernel_race race = {.entries = t->suite.entries + first, .count = count};
    const bench_kernel_race_options options = {.seconds = seconds_left(t) / (double)problems_left,
                                               .max_time = t->options->max_time,
                                               .compile_time = t->options->compile_time,
                                               .seed = (uint64_t)t->options->seed};
    const bool has_run = bench_kernel_race_run(&t->runner, &options, show_progress, &race);
    if (!has_run) {
        bench_say("clbench: host memory does not suffice");
    } else if (!bench_interrupted) {
        print_race(t, &race);
        t->without += race.finalists == 0;
        bench_kernel_results_add(t->results, &race);
        if (t->options->t4_path)
            t->t4 = bench_kernel_results_t4(&race);
    }
    bench_kernel_race_free(&race);
    return has_run;
}

static int tune_device(kernel_tuner *t, const char *preference)
{
    bench_runner_process husk;
    bench_process awake;
    int code = bench_open_husk(&husk, preference, NULL, t->options->max_time);
    json_t *device = json_object_get(husk.hello, "device");
    if (code != BENCH_EXIT_OK) {
        bench_runner_process_stop(&husk);
        return code;
    }
    bench_print(2, "%s%s (%s)%s\n", bench_colour_on(BENCH_STRONG), bench_text_of(device, "name"),
                bench_text_of(device, "platform"), bench_colour_off());
    fflush(stdout);
    bench_kernel_results_device(t->results, device);
    bench_runner_process_start(&t->runner, bench_runner_kernel.name, preference, 1, NULL);
    bench_runner_process_expect(&t->runner, device);
    bench_awake_start(&awake, device);
    bench_process_stop(&husk.process);
    if (!bench_runner_process_await(&t->runner, t->options->max_time)) {
        bench_say("clbench: %s", t->runner.why);
        code = BENCH_EXIT_ERROR;
    }
    t->start_ns = bench_now_ns(); // each device has the time that was given
    size_t left = t->problems;
    for (size_t i = 0; i < t->suite.count && code == BENCH_EXIT_OK && !bench_interrupted;) {
        const size_t count = problem_at(&t->suite, i);
        if (!tune_problem(t, i, count, left--))
            code = BENCH_EXIT_ERROR;
        i += count;
    }
    bench_process_stop(&awake);
    bench_runner_process_stop(&t->runner);
    bench_runner_process_stop(&husk);
    bench_progress_clear();
    return code;
}

static int exit_code(const kernel_tuner *t, int code)
{
    if (bench_interrupted)
        return bench_interrupted_exit();
    if (t->wrong)
        return BENCH_EXIT_VERIFICATION;
    if (code != BENCH_EXIT_OK)
        return code;
    if (t->failed || t->without)
        return BENCH_EXIT_ERROR;
    return t->timeouts ? BENCH_EXIT_TIMEOUT : BENCH_EXIT_OK;
}

static bool write_files(const kernel_tuner *t)
{
    bool good = true;
    if (t->options->json_path)
        good = bench_output_write_json(t->results, t->options->json_path);
    if (t->options->t4_path && t->t4)
        good = bench_output_write_json(t->t4, t->options->t4_path) && good;
    return good;
}

// A T4 file is of one tuning problem.
static bool check_t4(const kernel_tuner *t, size_t devices, char reason[BENCH_REASON_TEXT])
{
    return !t->options->t4_path || (t->problems == 1 && devices == 1) ||
           bench_explain(reason, BENCH_REASON_TEXT,
                         "--t4 is of one kernel at one size on one device, and these are %zu on %zu: choose by KERNEL, "
                         "NAME=VALUE and -d",
                         t->problems, devices);
}

static int tune_devices(kernel_tuner *t, const bench_options *options, size_t devices)
{
    char buffer[64];
    int code = BENCH_EXIT_OK;
    for (size_t i = 0; i < devices && !bench_interrupted; i++) {
        if (i > 0)
            putchar('\n');
        const int answer = tune_device(t, bench_device_preference(options, i, buffer));
        code = code == BENCH_EXIT_OK ? answer : code;
    }
    if (t->skipped)
        bench_say("%zu configuration%s not reached in the time: --budget gives more, 0 as much as it takes", t->skipped,
                  t->skipped == 1 ? " was" : "s were");
    code = exit_code(t, code);
    return write_files(t) || code != BENCH_EXIT_OK ? code : BENCH_EXIT_ERROR;
}

int bench_tune_kernels(const bench_options *given)
{
    char reason[BENCH_REASON_TEXT], place[32] = "";
    bench_options options = *given;
    kernel_tuner t = {.options = &options};
    int code = BENCH_EXIT_USAGE;
    bench_output_take_stdout(&options, place);
    if (!bench_described_suite(&options, &t.suite, reason)) {
        fprintf(stderr, "clbench: %s\n", reason);
        return BENCH_EXIT_USAGE;
    }
    t.problems = count_problems(&t.suite);
    t.budget = bench_tune_budget(&options);
    bench_progress_start(options.quiet);
    bench_catch_interrupt();
    bench_expand_devices(&options);
    const size_t devices = options.device_count ? options.device_count : 1;
    t.results = bench_kernel_results_begin();
    if (options.list) {
        for (size_t i = 0; i < t.suite.count; i++)
            puts(bench_suite_entry_text(&t.suite.entries[i]));
        code = BENCH_EXIT_OK;
    } else if (!check_t4(&t, devices, reason)) {
        fprintf(stderr, "clbench: %s\n", reason);
    } else if ((options.json_path && !bench_output_check(options.json_path)) ||
               (options.t4_path && !bench_output_check(options.t4_path))) {
        code = BENCH_EXIT_ERROR;
    } else {
        code = tune_devices(&t, &options, devices);
    }
    bench_suite_free(&t.suite);
    json_decref(t.results);
    json_decref(t.t4);
    return code;
}
