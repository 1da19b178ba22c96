// SPDX-License-Identifier: MIT
// clbench verify --kernels: every described kernel, in every configuration, at every size, on every device.
#include "verify/kernels.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "cli/take_stdout.h"
#include "run/select.h"
#include "spec/point.h"
#include "system/interrupt.h"
#include "system/output.h"
#include "system/terminal.h"
#include "system/timer.h"
#include "verify/kernel_devices.h"
#include "verify/kernel_log.h"
#include "verify/kernel_points.h"
#include "verify/results.h"

typedef struct tally {
    int64_t right, wrong, inconclusive, refused, errors, timeouts;
} tally;

typedef struct verification {
    const bench_options *options;
    bench_description descriptions[BENCH_MAX_KERNELS];
    bench_kernel_choice choice;
    bench_verify_results results;
    bool has_results;
    tally total;
    bench_simulator simulator;
    // The device at hand.
    const char *preference;
    bench_runner_process husk;
    pid_t described_to; // the process that has the file below
    const bench_description *described;
    char name[160]; // of the device
} verification;

// A kernel in one configuration.
typedef struct row {
    const bench_description *description;
    const bench_spec *spec;
    int number; // of the spec in its file
    const int64_t *config;
    tally tally;
    double worst; // the largest error over its bound
    char by[80];
    char refused[BENCH_REASON_TEXT]; // why, the first time
} row;

static void add_tally(tally *to, const tally *from)
{
    to->right += from->right;
    to->wrong += from->wrong;
    to->inconclusive += from->inconclusive;
    to->refused += from->refused;
    to->errors += from->errors;
    to->timeouts += from->timeouts;
}

// ---- asking the worker ----

static json_t *numbers(const int64_t *values, int count)
{
    json_t *array = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(array, json_integer((json_int_t)values[i]));
    return array;
}

static bench_state call(verification *v, json_t *request, double seconds, json_t **reply,
                        char reason[BENCH_REASON_TEXT])
{
    if (!bench_runner_process_revive(&v->husk)) {
        json_decref(request);
        snprintf(reason, BENCH_REASON_TEXT, "%s", v->husk.why);
        return BENCH_STATE_ERROR;
    }
    const bench_reply status = bench_process_call(&v->husk.process, request, seconds, reply, reason);
    return bench_state_of_reply(status, *reply, reason);
}

// A worker that was started again knows of no file.
static bench_state describe(verification *v, const bench_description *description, char reason[BENCH_REASON_TEXT])
{
    json_t *reply = NULL;
    if (v->described == description && v->described_to == v->husk.process.pid && v->described_to)
        return BENCH_STATE_OK;
    v->described = NULL;
    const bench_state state = call(v, json_pack("{s:s, s:s}", "do", "describe", "path", description->path),
                                   v->options->compile_time, &reply, reason);
    json_decref(reply);
    if (state == BENCH_STATE_OK) {
        v->described = description;
        v->described_to = v->husk.process.pid;
    }
    return state;
}

static bench_state ask(verification *v, const row *r, const int64_t *size, const char *what, json_t **reply,
                       char reason[BENCH_REASON_TEXT])
{
    *reply = NULL;
    const bench_state state = describe(v, r->description, reason);
    if (state != BENCH_STATE_OK)
        return state;
    json_t *request = json_pack("{s:s, s:i, s:o, s:o, s:I, s:I}", "do", what, "spec", r->number, "config",
                                numbers(r->config, r->spec->config_count), "size", numbers(size, r->spec->sizes.names),
                                "seed", (json_int_t)v->options->seed, "repeat", (json_int_t)v->options->repeat);
    return call(v, request, v->options->compile_time, reply, reason);
}

// ---- saying it ----

static void reproducer(const verification *v, const row *r, const int64_t *size, char *text, size_t bytes)
{
    char point[BENCH_POINT_TEXT], word[4 * BENCH_PATH_TEXT];
    bench_point_text(r->spec, r->config, size, point);
    bench_shell_word(r->description->path, word, sizeof word);
    text[0] = '\0';
    bench_append(text, bytes, "clbench verify --kernels %s %s%s%s", word, r->spec->name, point[0] ? " " : "", point);
    if (v->preference) {
        bench_shell_word(v->preference, word, sizeof word);
        bench_append(text, bytes, " -d %s", word);
    }
    if (v->options->seed != 1)
        bench_append(text, bytes, " --seed %" PRId64, v->options->seed);
    if (v->options->repeat != BENCH_REPEATS)
        bench_append(text, bytes, " --repeat %" PRId64, v->options->repeat);
}

// What one point came to.
typedef struct outcome {
    const char *verdict;
    char reason[BENCH_REASON_TEXT];
    const char *log; // a compiler's, or NULL
    int line; // in the kernel's source
    double ratio, seconds;
    char by[80];
} outcome;

static void say(const verification *v, const row *r, const int64_t *size, const outcome *o)
{
    char point[BENCH_POINT_TEXT], command[2 * BENCH_REASON_TEXT], path[2 * BENCH_PATH_TEXT];
    bench_point_text(r->spec, r->config, size, point);
    reproducer(v, r, size, command, sizeof command);
    bench_progress_clear();
    bench_print(4, "%s%s%s  %s%s%s: %s\n    %s\n", bench_colour_on(BENCH_BAD), o->verdict, bench_colour_off(),
                r->spec->name, point[0] ? " " : "", point, o->reason, command);
    if (o->log)
        bench_log_print(o->log, 20);
    if (v->options->annotate) {
        bench_description_path(r->description, r->spec->file, path, sizeof path);
        char text[4 * BENCH_REASON_TEXT] = "";
        bench_append(text, sizeof text, "%s %s on %s: %s\n%s", r->spec->name, point, v->name, o->reason, command);
        // Where no line of the source is known, the description's says which kernel it is.
        bench_annotate_github(o->line ? path : r->description->path, o->line ? o->line : r->spec->line, text);
    }
    fflush(stdout);
}

static void put(verification *v, const row *r, const int64_t *size, const outcome *o)
{
    char point[BENCH_POINT_TEXT], config[BENCH_POINT_TEXT], name[2 * BENCH_POINT_TEXT], path[2 * BENCH_PATH_TEXT],
        command[2 * BENCH_REASON_TEXT];
    if (!v->has_results)
        return;
    bench_point_text(r->spec, NULL, size, point);
    bench_point_text(r->spec, r->config, NULL, config);
    snprintf(name, sizeof name, "%s%s%s", r->spec->name, point[0] ? " " : "", point);
    bench_description_path(r->description, r->spec->file, path, sizeof path);
    reproducer(v, r, size, command, sizeof command);
    const bench_verify_row result = {.name = name,
                                     .op = r->spec->name,
                                     .asked = config,
                                     .verdict = o->verdict,
                                     .reason = o->reason,
                                     .reproducer = command,
                                     .by = o->by,
                                     .file = path,
                                     .line = o->line,
                                     .of_bound = o->ratio,
                                     .seconds = o->seconds};
    bench_verify_results_put(&v->results, &result);
}

static void count(tally *t, const char *verdict)
{
    int64_t *const counters[] = {&t->right, &t->wrong, &t->inconclusive, &t->refused, &t->errors, &t->timeouts};
    static const char *const verdicts[] = {"right", "wrong", "inconclusive", "refused", "error", "timeout"};
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        if (!strcmp(verdicts[i], verdict))
            ++*counters[i];
    }
}

static void finish(verification *v, row *r, const int64_t *size, const outcome *o)
{
    count(&r->tally, o->verdict);
    put(v, r, size, o);
    if (!strcmp(o->verdict, "refused") && !r->refused[0])
        snprintf(r->refused, sizeof r->refused, "%s", o->reason);
    const bool is_bad = !strcmp(o->verdict, "wrong") || !strcmp(o->verdict, "error") || !strcmp(o->verdict, "timeout");
    if (is_bad && !bench_interrupted)
        say(v, r, size, o);
}

// ---- verdicts ----

// "Invalid write of size 4 ..., at line 12: y[i] = x[i];" of what a simulator saw.
static void tell_findings(const json_t *findings, outcome *o)
{
    const size_t findings_count = json_array_size(findings);
    const json_t *first = json_array_get(findings, 0);
    char before[BENCH_REASON_TEXT];
    if (!findings_count)
        return;
    snprintf(before, sizeof before, "%s", !strcmp(o->verdict, "right") ? "" : o->reason);
    o->verdict = "wrong";
    o->line = (int)json_integer_value(json_object_get(first, "line"));
    snprintf(o->reason, sizeof o->reason, "%.250s", bench_text_of(first, "text"));
    if (o->line)
        bench_append(o->reason, sizeof o->reason, ", at line %d: %.200s", o->line, bench_text_of(first, "source"));
    if (findings_count > 1)
        bench_append(o->reason, sizeof o->reason, " (and %zu more kinds of finding)", findings_count - 1);
    if (before[0])
        bench_append(o->reason, sizeof o->reason, "; %.400s", before);
}

static void judge(bench_state state, const json_t *reply, outcome *o)
{
    const char *stage = bench_text_of(reply, "stage");
    o->log = NULL;
    o->ratio = bench_number_of(reply, "max_ratio");
    snprintf(o->by, sizeof o->by, "%.79s", bench_text_of(reply, "by"));
    if (state == BENCH_STATE_OK) {
        const bool is_right = json_is_true(json_object_get(reply, "pass"));
        o->verdict = !is_right                                              ? "wrong"
                     : json_is_true(json_object_get(reply, "inconclusive")) ? "inconclusive"
                                                                            : "right";
        snprintf(o->reason, sizeof o->reason, "%s", is_right ? "" : bench_text_of(reply, "text"));
    } else {
        o->verdict = state == BENCH_STATE_UNSUPPORTED ? "refused" : state == BENCH_STATE_TIMEOUT ? "timeout" : "error";
        o->ratio = -1;
        if (!strcmp(stage, "compile"))
            o->log = json_string_value(json_object_get(reply, "log"));
        const bench_log_message message = bench_log_first_error(o->log);
        o->line = message.line;
        if (message.text[0])
            bench_append(o->reason, sizeof o->reason, ": %s", message.text);
    }
    tell_findings(json_object_get(reply, "findings"), o);
}

static void check_size(verification *v, row *r, const int64_t *size)
{
    outcome o = {.ratio = -1};
    json_t *reply = NULL;
    bench_point *point = calloc(1, sizeof *point);
    const bool is_set = point && bench_point_set(point, r->spec, r->config, size, o.reason);
    const bool is_allowed = is_set && bench_point_is_allowed(point, o.reason);
    free(point);
    if (is_set && !is_allowed && !o.reason[0])
        return; // `where` excludes it
    const uint64_t start = bench_now_ns();
    if (!is_allowed) {
        o.verdict = "error";
        finish(v, r, size, &o);
        return;
    }
    const bench_state state = ask(v, r, size, "check_kernel", &reply, o.reason);
    o.seconds = (double)(bench_now_ns() - start) * 1e-9;
    judge(state, reply, &o);
    if (o.ratio > r->worst)
        r->worst = o.ratio;
    if (o.by[0])
        snprintf(r->by, sizeof r->by, "%s", o.by);
    if (!bench_interrupted)
        finish(v, r, size, &o);
    json_decref(reply);
}

// What does not compile is said once, not at each size.
static bool compiles(verification *v, row *r, const bench_kernel_points *sizes)
{
    outcome o = {.ratio = -1};
    json_t *reply = NULL;
    const int64_t *size = sizes->values;
    bench_point *point = calloc(1, sizeof *point);
    const bool is_set =
        point && bench_point_set(point, r->spec, r->config, size, o.reason) && bench_point_is_allowed(point, o.reason);
    free(point);
    if (!is_set)
        return true; // it is said, or excluded, at its size
    const bench_state state = ask(v, r, size, "compile_kernel", &reply, o.reason);
    const bool is_compiled = state == BENCH_STATE_OK;
    if (!is_compiled) {
        o.verdict = state == BENCH_STATE_UNSUPPORTED ? "refused" : state == BENCH_STATE_TIMEOUT ? "timeout" : "error";
        o.log = json_string_value(json_object_get(reply, "log"));
        const bench_log_message message = bench_log_first_error(o.log);
        o.line = message.line;
        if (message.text[0])
            bench_append(o.reason, sizeof o.reason, ": %s", message.text);
        if (!bench_interrupted)
            finish(v, r, size, &o);
    }
    json_decref(reply);
    return is_compiled;
}

static void print_row(const row *r)
{
    char config[BENCH_POINT_TEXT], text[200] = "";
    const tally *t = &r->tally;
    const struct {
        int64_t number;
        const char *word;
    } counts[] = {{t->right, "right"},     {t->wrong, "wrong"},  {t->inconclusive, "inconclusive"},
                  {t->refused, "refused"}, {t->errors, "error"}, {t->timeouts, "not finished"}};
    bench_point_text(r->spec, r->config, NULL, config);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (counts[i].number)
            bench_append(text, sizeof text, "%s%" PRId64 " %s", text[0] ? ", " : "", counts[i].number, counts[i].word);
    }
    if (!text[0])
        return; // `where` excludes all of it
    const bool is_good = !t->wrong && !t->errors && !t->timeouts;
    bench_progress_clear();
    bench_print(4, "%-20s %-24s %s%s%s", r->spec->name, config, bench_colour_on(is_good ? BENCH_GOOD : BENCH_BAD), text,
                bench_colour_off());
    if (r->by[0])
        printf("  %s", r->by);
    if (r->worst > 0)
        printf(" (%.2g of the bound)", r->worst);
    putchar('\n');
    if (r->refused[0])
        bench_print(4, "    refused: %s\n", r->refused);
    fflush(stdout);
}

static void check_config(verification *v, const bench_description *description, int number, const int64_t *config,
                         const bench_kernel_points *sizes)
{
    row r = {.description = description, .spec = description->specs[number], .number = number, .config = config};
    const bool goes_on = compiles(v, &r, sizes);
    for (int64_t i = 0; i < sizes->count && !bench_interrupted && goes_on; i++) {
        char point[BENCH_POINT_TEXT];
        const int64_t *size = sizes->values + i * sizes->width;
        bench_point_text(r.spec, config, size, point);
        bench_progress_show("%s %s", r.spec->name, point);
        check_size(v, &r, size);
    }
    print_row(&r);
    add_tally(&v->total, &r.tally);
}

static void check_spec(verification *v, const bench_description *description, int number)
{
    const bench_spec *spec = description->specs[number];
    bench_kernel_points configs, sizes;
    if (!bench_kernel_choice_has(&v->choice, spec))
        return;
    const bool has_room = bench_kernel_configs(&v->choice, spec, &configs);
    if (has_room && bench_kernel_sizes(&v->choice, spec, &sizes)) {
        for (int64_t i = 0; i < configs.count && !bench_interrupted; i++)
            check_config(v, description, number, configs.values + i * configs.width, &sizes);
        bench_kernel_points_free(&sizes);
    } else {
        bench_say("clbench: %s: memory is short", spec->name);
        v->total.errors++;
    }
    if (has_room)
        bench_kernel_points_free(&configs);
}

// ---- devices ----

static int verify_device(verification *v, char *required)
{
    v->described = NULL;
    const char *const *environment =
        bench_simulator_is_meant(&v->simulator, v->preference) ? v->simulator.environment : NULL;
    const int code = bench_open_husk(&v->husk, v->preference, environment, v->options->max_time);
    if (code != BENCH_EXIT_OK) {
        if (v->has_results)
            bench_verify_results_unopened(&v->results, v->preference, v->husk.why);
        bench_runner_process_stop(&v->husk);
        return code;
    }
    const json_t *device = json_object_get(v->husk.hello, "device");
    snprintf(v->name, sizeof v->name, "%.159s", bench_text_of(device, "name"));
    if (v->has_results)
        bench_verify_results_device(&v->results, device);
    bench_print(2, "%s%s (%s)%s\n", bench_colour_on(BENCH_STRONG), v->name, bench_text_of(device, "platform"),
                bench_colour_off());
    for (size_t d = 0; d < v->options->kernel_count; d++) {
        for (int i = 0; i < v->descriptions[d].count && !bench_interrupted; i++)
            check_spec(v, &v->descriptions[d], i);
    }
    // What was asked for and has been verified is struck off the list.
    char left[BENCH_REASON_TEXT] = "", *rest = NULL;
    for (char *name = strtok_r(required, ", ", &rest); name; name = strtok_r(NULL, ", ", &rest)) {
        if (!bench_device_is_called(device, name))
            bench_append(left, sizeof left, "%s%s", left[0] ? ", " : "", name);
    }
    snprintf(required, BENCH_REASON_TEXT, "%s", left);
    bench_runner_process_stop(&v->husk);
    return BENCH_EXIT_OK;
}

static int exit_code(const verification *v, int opened)
{
    const tally *t = &v->total;
    if (bench_interrupted)
        return bench_interrupted_exit();
    if (t->wrong)
        return BENCH_EXIT_VERIFICATION;
    if (opened != BENCH_EXIT_OK)
        return opened;
    if (t->errors)
        return BENCH_EXIT_ERROR;
    if (t->timeouts)
        return BENCH_EXIT_TIMEOUT;
    if (t->right)
        return BENCH_EXIT_OK;
    bench_say("clbench: nothing was verified: %s", t->refused        ? "the devices refuse these kernels"
                                                   : t->inconclusive ? "the bounds are as large as the numbers"
                                                                     : "no parameters and sizes are left");
    return BENCH_EXIT_ERROR;
}

static void print_total(const tally *t)
{
    bench_print(0,
                "%" PRId64 " right, %" PRId64 " wrong, %" PRId64 " ended with an error, %" PRId64
                " not finished, %" PRId64 " inconclusive, %" PRId64 " refused\n",
                t->right, t->wrong, t->errors, t->timeouts, t->inconclusive, t->refused);
    fflush(stdout);
}

static int run(verification *v, bench_options *options)
{
    char required[BENCH_REASON_TEXT], buffer[64];
    int code = BENCH_EXIT_OK;
    bench_simulator_begin(&v->simulator);
    bench_kernel_devices(options, &v->simulator);
    snprintf(required, sizeof required, "%s", options->required ? options->required : "");
    // --require, and nothing that it names is here: the default device was not asked for.
    const bool has_none = options->required && !options->device_count && !options->platform;
    const size_t devices = has_none ? 0 : options->device_count ? options->device_count : 1;
    for (size_t i = 0; i < devices && !bench_interrupted; i++) {
        v->preference = bench_device_preference(options, i, buffer);
        const int answer = verify_device(v, required);
        code = code == BENCH_EXIT_OK ? answer : code;
    }
    if (required[0] && !bench_interrupted) {
        bench_say("clbench: --require %s: no such device was verified (clbench devices lists what is here)", required);
        char why[BENCH_REASON_TEXT];
        snprintf(why, sizeof why, "--require %.900s: no such device was verified", required);
        if (v->has_results)
            bench_verify_results_unopened(&v->results, required, why);
        code = BENCH_EXIT_NO_DEVICE;
    }
    bench_simulator_end(&v->simulator);
    bench_progress_clear();
    print_total(&v->total);
    return exit_code(v, code);
}

// All files, before anything is run: a mistake in the last one is no reason to wait.
static bool read_all(verification *v, const bench_options *options, char reason[BENCH_REASON_TEXT])
{
    for (size_t i = 0; i < options->kernel_count; i++) {
        if (!bench_description_read(options->kernels[i], &v->descriptions[i], reason))
            return false;
    }
    if (!bench_kernel_choice_parse(options->cases, &v->choice, reason))
        return false;
    const char *unknown = bench_kernel_choice_unknown(&v->choice, v->descriptions, options->kernel_count);
    return !unknown ||
           bench_explain(reason, BENCH_REASON_TEXT, "%s is no kernel, parameter or size of these files", unknown);
}

static bool has_place(const char *path)
{
    return !path || bench_output_check(path);
}

int bench_verify_kernels(const bench_options *given)
{
    char reason[BENCH_REASON_TEXT] = "", place[32] = "";
    bench_options options = *given;
    verification *v = calloc(1, sizeof *v);
    int code = BENCH_EXIT_ERROR;
    if (!v) {
        fprintf(stderr, "clbench: memory is short\n");
        return code;
    }
    v->options = &options;
    v->has_results = options.json_path || options.junit_path;
    bench_output_take_stdout(&options, place);
    if (!read_all(v, &options, reason)) {
        fprintf(stderr, "clbench: %s\n", reason);
        code = BENCH_EXIT_USAGE;
    } else if (has_place(options.json_path) && has_place(options.junit_path)) {
        if (v->has_results)
            bench_verify_results_begin(&v->results);
        bench_progress_start(options.quiet);
        bench_catch_interrupt();
        code = run(v, &options);
        const bool has_json = !options.json_path || bench_verify_results_json(&v->results, options.json_path);
        const bool has_junit = !options.junit_path || bench_verify_results_junit(&v->results, options.junit_path);
        if ((!has_json || !has_junit) && code == BENCH_EXIT_OK)
            code = BENCH_EXIT_ERROR;
    }
    bench_verify_results_free(&v->results);
    for (size_t i = 0; i < options.kernel_count; i++)
        bench_description_free(&v->descriptions[i]);
    free(v);
    return code;
}
