// SPDX-License-Identifier: MIT
// clbench verify --kernels: every described kernel, in every configuration, at every size, on every device.
#include "verify/kernels.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/take_stdout.h"
#include "common/json.h"
#include "run/select.h"
#include "spec/point.h"
#include "system/interrupt.h"
#include "system/output.h"
#include "system/terminal.h"
#include "system/timer.h"
#include "verify/kernel_devices.h"
#include "verify/kernel_fuzz.h"
#include "verify/kernel_offline.h"
#include "spec/choice.h"
#include "verify/kernel_row.h"

typedef struct verification {
    bench_kernel_session session;
    const bench_options *options;
    bench_description descriptions[BENCH_MAX_KERNELS];
    bench_kernel_choice choice;
    bench_kernel_tally total;
    bench_simulator simulator;
    double fuzz_seconds; // of each kernel's configuration; 0: none
} verification;

// ---- sizes that nobody has listed ----

static bool fails_at(void *user, const int64_t *size)
{
    return bench_kernel_row_fails(user, size);
}

// The first that fails, made as small as it can be, is a result like those of the listed sizes.
static void fuzz_row(verification *v, bench_kernel_row *r)
{
    bench_kernel_fuzz fuzz = {
        .spec = r->spec, .config = r->config, .seed = (uint64_t)v->options->seed, .fails = fails_at, .user = r};
    const uint64_t start = bench_now_ns();
    int64_t size[BENCH_MOST_SIZES], tried = 0;
    bool is_found = false;
    if (!r->spec->sizes.names)
        return;
    while (!is_found && !bench_interrupted && (double)(bench_now_ns() - start) * 1e-9 < v->fuzz_seconds) {
        char point[BENCH_POINT_TEXT];
        bench_fuzz_draw(&fuzz, size);
        bench_point_text(r->spec, r->config, size, point);
        bench_progress_show("%s %s", r->spec->name, point);
        is_found = bench_kernel_row_fails(r, size);
        tried++;
    }
    if (is_found) {
        bench_fuzz_shrink(&fuzz, size);
        bench_kernel_row_check(r, size);
    }
    r->drawn = tried;
}

// ---- kernels ----

static void check_config(verification *v, const bench_description *description, int number, const int64_t *config,
                         const bench_kernel_points *sizes)
{
    bench_kernel_row r = {.session = &v->session,
                          .description = description,
                          .spec = description->specs[number],
                          .number = number,
                          .config = config};
    const bool goes_on = bench_kernel_row_compiles(&r, sizes->values);
    for (int64_t i = 0; i < sizes->count && !bench_interrupted && goes_on; i++) {
        char point[BENCH_POINT_TEXT];
        const int64_t *size = sizes->values + i * sizes->width;
        bench_point_text(r.spec, config, size, point);
        bench_progress_show("%s %s", r.spec->name, point);
        bench_kernel_row_check(&r, size);
    }
    if (goes_on && v->fuzz_seconds > 0 && !r.tally.wrong && !r.tally.errors && !r.tally.timeouts)
        fuzz_row(v, &r);
    bench_kernel_row_print(&r);
    bench_kernel_tally_add(&v->total, &r.tally);
}

static void check_spec(verification *v, const bench_description *description, int number)
{
    const bench_spec *spec = description->specs[number];
    bench_kernel_points configs = {0}, sizes = {0};
    char reason[BENCH_REASON_TEXT];
    if (!bench_kernel_choice_has(&v->choice, spec))
        return;
    const bool has_configs = bench_kernel_configs(&v->choice, spec, &configs, reason);
    if (has_configs && bench_kernel_sizes(&v->choice, spec, &spec->sizes, &sizes, reason)) {
        for (int64_t i = 0; i < configs.count && !bench_interrupted; i++)
            check_config(v, description, number, configs.values + i * configs.width, &sizes);
    } else {
        bench_say("clbench: %s", reason);
        v->total.errors++;
    }
    bench_kernel_points_free(&sizes);
    bench_kernel_points_free(&configs);
}

// ---- devices ----

static int verify_device(verification *v, char *required)
{
    v->session.described = NULL;
    const char *const *environment =
        bench_simulator_is_meant(&v->simulator, v->session.preference) ? v->simulator.environment : NULL;
    const int code = bench_open_husk(&v->session.husk, v->session.preference, environment, v->options->max_time);
    if (code != BENCH_EXIT_OK) {
        if (v->session.has_results)
            bench_verify_results_unopened(&v->session.results, v->session.preference, v->session.husk.why);
        bench_runner_process_stop(&v->session.husk);
        return code;
    }
    const json_t *device = json_object_get(v->session.husk.hello, "device");
    snprintf(v->session.name, sizeof v->session.name, "%.159s", bench_text_of(device, "name"));
    if (v->session.has_results)
        bench_verify_results_device(&v->session.results, device);
    bench_print(2, "%s%s (%s)%s\n", bench_colour_on(BENCH_STRONG), v->session.name, bench_text_of(device, "platform"),
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
    bench_runner_process_stop(&v->session.husk);
    return BENCH_EXIT_OK;
}

static int exit_code(const verification *v, int opened)
{
    const bench_kernel_tally *t = &v->total;
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
    if (t->uncompared)
        bench_say("clbench: of %" PRId64 " runs no results were compared, since none are described", t->uncompared);
    // They were run and looked at, which is all that their descriptions ask for.
    if (t->right || t->uncompared)
        return BENCH_EXIT_OK;
    bench_say("clbench: nothing was verified: %s", t->refused        ? "the devices refuse these kernels"
                                                   : t->inconclusive ? "the bounds are as large as the numbers"
                                                                     : "no parameters and sizes are left");
    return BENCH_EXIT_ERROR;
}

static void print_total(const bench_kernel_tally *t)
{
    bench_print(0,
                "%" PRId64 " right, %" PRId64 " wrong, %" PRId64 " ended with an error, %" PRId64
                " not finished, %" PRId64 " inconclusive, %" PRId64 " refused\n",
                t->right, t->wrong, t->errors, t->timeouts, t->inconclusive, t->refused);
    fflush(stdout);
}

// A device's time is shared by the configurations of its kernels.
static double seconds_of_row(const verification *v)
{
    double rows = 0;
    for (size_t d = 0; d < v->options->kernel_count; d++) {
        for (int i = 0; i < v->descriptions[d].count; i++) {
            const bench_spec *spec = v->descriptions[d].specs[i];
            bench_kernel_points configs;
            char reason[BENCH_REASON_TEXT];
            if (bench_kernel_choice_has(&v->choice, spec) && bench_kernel_configs(&v->choice, spec, &configs, reason)) {
                rows += (double)configs.count;
                bench_kernel_points_free(&configs);
            }
        }
    }
    return rows > 0 ? v->options->fuzz / rows : 0;
}

static int run(verification *v, bench_options *options)
{
    char required[BENCH_REASON_TEXT], buffer[64];
    int code = BENCH_EXIT_OK;
    v->fuzz_seconds = seconds_of_row(v);
    bench_simulator_begin(&v->simulator);
    bench_kernel_devices(options, &v->simulator);
    snprintf(required, sizeof required, "%s", options->required ? options->required : "");
    // --require, and nothing that it names is here: the default device was not asked for.
    const bool has_none = options->required && !options->device_count && !options->platform;
    // --offline by itself needs no device.
    const bool wants_none = options->offline && !options->device_count && !options->platform && !options->required;
    const size_t devices = has_none || wants_none ? 0 : options->device_count ? options->device_count : 1;
    for (size_t i = 0; i < devices && !bench_interrupted; i++) {
        v->session.preference = bench_device_preference(options, i, buffer);
        const int answer = verify_device(v, required);
        code = code == BENCH_EXIT_OK ? answer : code;
    }
    if (options->offline && !bench_interrupted) {
        const bench_kernel_offline offline = {.options = options,
                                              .descriptions = v->descriptions,
                                              .count = options->kernel_count,
                                              .choice = &v->choice,
                                              .results = v->session.has_results ? &v->session.results : NULL,
                                              .total = &v->total};
        const int answer = bench_kernel_offline_run(&offline);
        code = code == BENCH_EXIT_OK ? answer : code;
    }
    if (required[0] && !bench_interrupted) {
        bench_say("clbench: --require %s: no such device was verified (clbench devices lists what is here)", required);
        char why[BENCH_REASON_TEXT];
        snprintf(why, sizeof why, "--require %.900s: no such device was verified", required);
        if (v->session.has_results)
            bench_verify_results_unopened(&v->session.results, required, why);
        code = BENCH_EXIT_NO_DEVICE;
    }
    bench_simulator_end(&v->simulator);
    bench_progress_clear();
    print_total(&v->total);
    return exit_code(v, code);
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
    v->options = v->session.options = &options;
    v->session.has_results = options.json_path || options.junit_path;
    bench_output_take_stdout(&options, place);
    // All of them before anything is run: a mistake in the last one is no reason to wait.
    if (!bench_kernel_choice_read(options.kernels, options.kernel_count, options.cases, v->descriptions, &v->choice,
                                  reason)) {
        fprintf(stderr, "clbench: %s\n", reason);
        code = BENCH_EXIT_USAGE;
    } else if (has_place(options.json_path) && has_place(options.junit_path)) {
        if (v->session.has_results)
            bench_verify_results_begin(&v->session.results);
        bench_progress_start(options.quiet);
        bench_catch_interrupt();
        code = run(v, &options);
        const bool has_json = !options.json_path || bench_verify_results_json(&v->session.results, options.json_path);
        const bool has_junit =
            !options.junit_path || bench_verify_results_junit(&v->session.results, options.junit_path);
        if ((!has_json || !has_junit) && code == BENCH_EXIT_OK)
            code = BENCH_EXIT_ERROR;
    }
    bench_verify_results_free(&v->session.results);
    for (size_t i = 0; i < options.kernel_count; i++)
        bench_description_free(&v->descriptions[i]);
    free(v);
    return code;
}
