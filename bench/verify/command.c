// SPDX-License-Identifier: MIT
// clbench verify: every variant of every operator against the reference, on a suite's cases and on generated
// ones.
#include "verify/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/ops.h"
#include "cases/parse.h"
#include "cli/take_stdout.h"
#include "common/text.h"
#include "system/interrupt.h"
#include "system/output.h"
#include "system/terminal.h"
#include "system/timer.h"
#include "run/dry_run.h"
#include "run/select.h"
#include "verify/check.h"
#include "verify/kernels.h"
#include "verify/results.h"

#define MAX_VARIANTS 32

typedef struct tally {
    int64_t right, wrong, refused, inconclusive, errors, timeouts;
    double max_ratio;         /* the largest error / bound of those that are right */
    char configurations[128]; /* of the variant's menu, those that were taken */
} tally;

typedef struct verification {
    const bench_options *options;
    const char *preference; /* NULL: the default device */
    bench_runner_process husk;
    FILE *digests; /* NULL: nobody wants them */
    bench_verify_results *results;                                     /* the same */
    tally tallies[BENCH_OP_COUNT][BENCH_DIRECTIONS][MAX_VARIANTS + 1]; /* entry 0: the operator's own choice */
} verification;

static void count_right(const json_t *reply, tally *t)
{
    const double ratio = json_number_value(json_object_get(reply, "max_ratio"));
    if (json_is_true(json_object_get(reply, "inconclusive")))
        t->inconclusive++;
    else
        t->right++;
    if (ratio > t->max_ratio)
        t->max_ratio = ratio;
}

// "12x2v 8x3v": each once.
static void note_configuration(tally *t, const char *name)
{
    if (!name || !*name)
        return;
    size_t length = strlen(name);
    for (const char *at = t->configurations; (at = strstr(at, name)); at += length) {
        bool begins = at == t->configurations || at[-1] == ' ';
        if (begins && (at[length] == ' ' || !at[length]))
            return;
    }
    bench_append(t->configurations, sizeof t->configurations, "%s%s", t->configurations[0] ? " " : "", name);
}

static void write_digest(verification *v, const bench_case *c, const char *variant, const json_t *reply)
{
    const char *digest = json_string_value(json_object_get(reply, "digest"));
    if (v->digests && digest)
        fprintf(v->digests, "%s\t%s\t%s\n", c->canonical, variant ? variant : "(chosen)", digest);
}

static void verify_one(verification *v, const bench_case *c, const char *variant, tally *t)
{
    bench_check check;
    const bench_check_options options = {
        .form = variant,
        .max_time = v->options->max_time,
        .compile_time = v->options->compile_time,
        .seed = v->options->seed,
    };
    const uint64_t start = bench_now_ns();
    bench_check_case(&v->husk, c, &options, &check);
    const bench_state state = check.state;
    if (v->results && !bench_interrupted)
        bench_verify_results_add(v->results, c, bench_op_row(c), variant, &check,
                                 (double)(bench_now_ns() - start) * 1e-9);
    note_configuration(t, json_string_value(json_object_get(check.prepared, "configuration")));
    write_digest(v, c, variant, check.verified);
    if (state == BENCH_STATE_OK)
        count_right(check.verified, t);
    bench_check_free(&check);
    if (bench_interrupted)
        return;
    t->refused += state == BENCH_STATE_UNSUPPORTED;
    t->wrong += state == BENCH_STATE_FAILED;
    t->errors += state == BENCH_STATE_ERROR;
    t->timeouts += state == BENCH_STATE_TIMEOUT;
    if (state == BENCH_STATE_OK || state == BENCH_STATE_UNSUPPORTED)
        return;
    char device[4 * 128] = "";
    if (v->preference)
        bench_shell_word(v->preference, device, sizeof device);
    bench_progress_clear();
    bench_print(8, "%s%s%s  %s  %s\n    clbench verify %s%s%s%s%s\n", bench_colour_on(BENCH_BAD),
                bench_state_text(state), bench_colour_off(), variant ? variant : "(chosen)", check.reason, c->canonical,
                variant ? " --variant " : "", variant ? variant : "", v->preference ? " -d " : "", device);
    fflush(stdout);
}

// Each configuration of the variant's menu; a variant without a menu once.
static void verify_configurations(verification *v, const bench_case *c, const char *variant, tally *t)
{
    const char *configuration;
    size_t i = 0;
    for (; (configuration = husk_op_configuration(bench_op_row(c), variant, i)); i++) {
        char form[128];
        snprintf(form, sizeof form, "%s:%s", variant, configuration);
        verify_one(v, c, form, t);
    }
    if (i == 0)
        verify_one(v, c, variant, t);
}

// The operator's own choice and each variant by name; one variant; or all in each of their configurations.
static void verify_case(verification *v, const bench_case *c)
{
    const char *wanted = v->options->variant, *op = bench_op_row(c), *variant;
    tally *tallies = v->tallies[c->op][c->dir];
    if (!wanted)
        verify_one(v, c, NULL, &tallies[0]);
    for (size_t i = 0; i < MAX_VARIANTS && (variant = husk_op_variant(op, i)) && !bench_interrupted; i++) {
        size_t length = wanted ? strcspn(wanted, ":") : 0;
        bool is_wanted =
            !wanted || !strcmp(wanted, "all") || (strlen(variant) == length && !strncmp(variant, wanted, length));
        if (wanted && !strcmp(wanted, "all"))
            verify_configurations(v, c, variant, &tallies[i + 1]);
        else if (is_wanted)
            verify_one(v, c, wanted && strcmp(wanted, "all") ? wanted : variant, &tallies[i + 1]);
    }
}

static bool has_op(const bench_suite *suite, bench_op_kind op)
{
    for (size_t i = 0; i < suite->count; i++) {
        if (suite->entries[i].c.op == op)
            return true;
    }
    return false;
}

// Small configurations of the operators that the suite has; none beside cases that were named.
static bool add_generated(const bench_options *options, bench_suite *suite, char reason[BENCH_REASON_TEXT])
{
    if (options->cases[0] || options->file)
        return true;
    for (int op = 0; op < BENCH_OP_COUNT; op++) {
        char line[BENCH_CASE_TEXT];
        bench_case c;
        if (!has_op(suite, (bench_op_kind)op))
            continue;
        for (int64_t i = 0; bench_op_get((bench_op_kind)op)->generate(i, line); i++) {
            if (!bench_case_parse(line, &c, reason) || !bench_suite_add(suite, &c, 1))
                return false;
        }
    }
    return true;
}

// The configurations may be many: on a terminal they have lines of their own.
static void print_line(const char *name, const char *numbers, const char *configurations)
{
    const int columns = bench_terminal_columns();
    const int used = (int)(strlen(name) + strlen(numbers)) + 1;
    const bool has_room = columns == 0 || used + 2 + (int)strlen(configurations) <= columns;
    if (columns > 0 && used > columns)
        printf("%s\n  %s", name, numbers);
    else
        printf("%s %s", name, numbers);
    if (*configurations)
        bench_print(4, "%s%s", has_room ? "  " : "\n    ", configurations);
    putchar('\n');
}

static void print_tally(const char *op, const char *variant, const tally *t, tally *total)
{
    int64_t executed = t->right + t->wrong + t->inconclusive + t->errors + t->timeouts;
    total->right += t->right;
    total->wrong += t->wrong;
    total->refused += t->refused;
    total->inconclusive += t->inconclusive;
    total->errors += t->errors;
    total->timeouts += t->timeouts;
    if (!executed && !t->refused)
        return;
    char name[200], numbers[100];
    snprintf(name, sizeof name, "%-16s %-20s", op, variant);
    snprintf(numbers, sizeof numbers,
             "%6" PRId64 " %6" PRId64 " %6" PRId64 " %6" PRId64 " %8" PRId64 " %8" PRId64 "  %10.3f", executed,
             t->right, t->wrong, t->errors + t->timeouts, t->inconclusive, t->refused, t->max_ratio);
    print_line(name, numbers, t->configurations);
}

static void print_tallies(const verification *v, tally *total)
{
    char names[64], numbers[100];
    snprintf(names, sizeof names, "%-16s %-20s", "operator", "variant");
    snprintf(numbers, sizeof numbers, "%6s %6s %6s %6s %8s %8s  %10s", "run", "right", "wrong", "error", "inconcl.",
             "refused", "of bound");
    bench_print(0, "\nof bound: the largest error of those that are right, over what is allowed\n");
    print_line(names, numbers, "configurations");
    for (int op = 0; op < BENCH_OP_COUNT; op++) {
        for (int dir = 0; dir < BENCH_DIRECTIONS; dir++) {
            const bench_case c = {.op = (bench_op_kind)op, .dir = (bench_direction)dir};
            const char *name = bench_op_row(&c);
            const tally *tallies = v->tallies[op][dir];
            print_tally(name ? name : bench_op_text(c.op), "(chosen)", &tallies[0], total);
            for (size_t i = 0; i < MAX_VARIANTS && husk_op_variant(name, i); i++)
                print_tally(name, husk_op_variant(name, i), &tallies[i + 1], total);
        }
    }
    bench_print(0,
                "\n%" PRId64 " configurations right, %" PRId64 " wrong, %" PRId64 " ended with an error, %" PRId64
                " not finished, %" PRId64 " inconclusive (most of what is expected is zero within its bound); %" PRId64
                " refused (not supported)\n",
                total->right, total->wrong, total->errors, total->timeouts, total->inconclusive, total->refused);
    fflush(stdout);
}

#define CHECK_SECONDS 0.03 // one small case by one variant, compiled before

static int dry_run(const bench_options *options, const bench_suite *suite)
{
    bench_dry_run dry = {.options = options, .suite = suite, .done = "verified", .rounds = 1};
    const bool is_one = options->variant && strcmp(options->variant, "all") != 0;
    for (size_t i = 0; i < suite->count; i++)
        dry.rows += is_one ? 1 : bench_variant_count(&suite->entries[i].c) + !options->variant;
    dry.seconds = (double)dry.rows * CHECK_SECONDS;
    return bench_dry_run_print(&dry);
}

static int verify_device(verification *v, const bench_suite *suite, const char *preference)
{
    tally total = {0};
    int code = bench_open_husk(&v->husk, preference, NULL, v->options->max_time);
    if (code != BENCH_EXIT_OK) {
        if (v->results)
            bench_verify_results_unopened(v->results, preference, v->husk.why);
        bench_runner_process_stop(&v->husk);
        return code;
    }
    const json_t *device = json_object_get(v->husk.hello, "device");
    const char *name = json_string_value(json_object_get(device, "name"));
    const uint64_t start = bench_now_ns();
    if (v->results)
        bench_verify_results_device(v->results, device);
    char left[32];
    bench_print(2, "%s: %zu cases, every variant\n", name ? name : "the device", suite->count);
    for (size_t i = 0; i < suite->count && !bench_interrupted; i++) {
        bench_time_left(left, (double)(bench_now_ns() - start) * 1e-9, i, suite->count);
        bench_progress_show("[%zu/%zu%s] %s", i + 1, suite->count, left, suite->entries[i].c.canonical);
        verify_case(v, &suite->entries[i].c);
    }
    bench_progress_clear();
    print_tallies(v, &total);
    bench_runner_process_stop(&v->husk);
    if (bench_interrupted)
        return bench_interrupted_exit();
    if (total.wrong)
        return BENCH_EXIT_VERIFICATION;
    if (total.errors)
        return BENCH_EXIT_ERROR;
    if (!total.right && !total.timeouts) {
        bench_say("clbench: nothing was verified: no variant computes these cases here, or what is expected is zero");
        return BENCH_EXIT_ERROR;
    }
    return total.timeouts ? BENCH_EXIT_TIMEOUT : BENCH_EXIT_OK;
}

// False where a file could not be written.
static bool write_results(const bench_options *options, const bench_verify_results *results)
{
    const bool has_json = !options->json_path || bench_verify_results_json(results, options->json_path);
    return (!options->junit_path || bench_verify_results_junit(results, options->junit_path)) && has_json;
}

int bench_command_verify(const bench_options *given)
{
    char reason[BENCH_REASON_TEXT], buffer[64];
    bench_options changed = *given, *options = &changed;
    bench_suite suite;
    if (given->kernel_count)
        return bench_verify_kernels(given);
    if (!bench_select_cases(options, "smoke", &suite, reason) || !add_generated(options, &suite, reason) ||
        !bench_check_variant(options->variant, &suite, reason)) {
        fprintf(stderr, "clbench: %s\n", reason);
        bench_suite_free(&suite);
        return BENCH_EXIT_USAGE;
    }
    char place[32] = "";
    if (!options->list && !options->dry_run)
        bench_output_take_stdout(options, place);
    if (options->dry_run) {
        const int code = dry_run(options, &suite);
        bench_suite_free(&suite);
        return code;
    }
    if (!options->list && ((options->json_path && !bench_output_check(options->json_path)) ||
                           (options->junit_path && !bench_output_check(options->junit_path)))) {
        bench_suite_free(&suite);
        return BENCH_EXIT_ERROR;
    }
    FILE *digests = NULL;
    bench_writing writing;
    if (options->digests_path && !options->list && !(digests = bench_output_open(&writing, options->digests_path))) {
        bench_suite_free(&suite);
        return BENCH_EXIT_ERROR;
    }
    bench_verify_results results = {0};
    const bool has_results = (options->json_path || options->junit_path) && !options->list;
    if (has_results)
        bench_verify_results_begin(&results);
    verification *v = calloc(1, sizeof *v);
    int code = v ? BENCH_EXIT_OK : BENCH_EXIT_ERROR;
    bench_progress_start(options->quiet);
    bench_catch_interrupt();
    if (!options->list)
        bench_expand_devices(options);
    const size_t devices = options->device_count ? options->device_count : 1;
    for (size_t i = 0; i < suite.count && options->list; i++)
        puts(suite.entries[i].c.canonical);
    for (size_t i = 0; v && i < devices && !bench_interrupted && !options->list; i++) {
        memset(v, 0, sizeof *v);
        v->options = options;
        v->digests = digests;
        v->results = has_results ? &results : NULL;
        v->preference = bench_device_preference(options, i, buffer);
        const int answer = verify_device(v, &suite, v->preference);
        code = code == BENCH_EXIT_OK || answer == BENCH_EXIT_VERIFICATION ? answer : code;
    }
    free(v);
    bench_suite_free(&suite);
    if (bench_interrupted && code == BENCH_EXIT_OK)
        code = bench_interrupted_exit();
    const bool is_written = !has_results || write_results(options, &results);
    bench_verify_results_free(&results);
    if (!is_written && (code == BENCH_EXIT_OK || code == BENCH_EXIT_TIMEOUT))
        code = BENCH_EXIT_ERROR;
    if (digests && !bench_output_close(&writing, options->digests_path))
        return code == BENCH_EXIT_OK || code == BENCH_EXIT_TIMEOUT ? BENCH_EXIT_ERROR : code;
    return code;
}
