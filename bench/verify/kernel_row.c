// SPDX-License-Identifier: MIT
#include "verify/kernel_row.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/compiler_log.h"
#include "common/json.h"
#include "system/interrupt.h"
#include "system/terminal.h"
#include "system/timer.h"
#include "verify/kernel_log.h"

#define MOST_ALIKE 3 // results that are wrong in the same way; of errors one is enough

void bench_kernel_tally_add(bench_kernel_tally *to, const bench_kernel_tally *from)
{
    to->right += from->right;
    to->wrong += from->wrong;
    to->inconclusive += from->inconclusive;
    to->uncompared += from->uncompared;
    to->refused += from->refused;
    to->errors += from->errors;
    to->timeouts += from->timeouts;
}

// ---- asking the worker ----

static bench_state call(bench_kernel_session *v, json_t *request, double seconds, json_t **reply,
                        char reason[BENCH_REASON_TEXT])
{
    if (!bench_runner_process_revive(&v->husk)) {
        json_decref(request);
        snprintf(reason, BENCH_REASON_TEXT, "%s", v->husk.why);
        return BENCH_STATE_ERROR;
    }
    const bench_reply status = bench_process_call(&v->husk.process, request, seconds, reply, reason);
    const bench_state state = bench_state_of_reply(status, *reply, reason);
    if (bench_has_text(*reply, "answer", "lost"))
        bench_process_kill(&v->husk.process);
    return state;
}

// A worker that was started again knows of no file.
static bench_state describe(bench_kernel_session *v, const bench_description *description,
                            char reason[BENCH_REASON_TEXT])
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

static bench_state ask(const bench_kernel_row *r, const int64_t *size, const char *what, json_t **reply,
                       char reason[BENCH_REASON_TEXT])
{
    *reply = NULL;
    const bench_state state = describe(r->session, r->description, reason);
    if (state != BENCH_STATE_OK)
        return state;
    json_t *request = json_pack(
        "{s:s, s:i, s:o, s:o, s:I, s:I}", "do", what, "spec", r->number, "config",
        bench_json_integers(r->config, r->spec->config_count), "size", bench_json_integers(size, r->spec->sizes.names),
        "seed", (json_int_t)r->session->options->seed, "repeat", (json_int_t)r->session->options->repeat);
    return call(r->session, request, r->session->options->compile_time, reply, reason);
}

// ---- saying it ----

static void reproducer(const bench_kernel_row *r, const int64_t *size, char *text, size_t bytes)
{
    char point[BENCH_POINT_TEXT], word[4 * BENCH_PATH_TEXT];
    bench_point_text(r->spec, r->config, size, point);
    bench_shell_word(r->description->path, word, sizeof word);
    text[0] = '\0';
    bench_append(text, bytes, "clbench verify --kernels %s %s%s%s", word, r->spec->name, point[0] ? " " : "", point);
    if (r->session->preference) {
        bench_shell_word(r->session->preference, word, sizeof word);
        bench_append(text, bytes, " -d %s", word);
    }
    if (r->session->options->seed != 1)
        bench_append(text, bytes, " --seed %" PRId64, r->session->options->seed);
    if (r->session->options->repeat != BENCH_REPEATS)
        bench_append(text, bytes, " --repeat %" PRId64, r->session->options->repeat);
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

// Whether the same, but for its numbers and how many elements are wrong, has been said of sizes before, often enough to
// be known.
static bool is_known(bench_kernel_row *r, const outcome *o)
{
    char shape[BENCH_REASON_TEXT];
    size_t length = 0;
    for (const char *at = o->reason; *at && *at != ';'; at++) {
        if (!strchr("0123456789.+-e", *at))
            shape[length++] = *at;
    }
    shape[length] = '\0';
    const bool is_same = !strcmp(shape, r->said);
    snprintf(r->said, sizeof r->said, "%s", shape);
    r->alike = is_same ? r->alike + 1 : 1;
    const bool is_often = r->alike > (!strcmp(o->verdict, "error") ? 1 : MOST_ALIKE);
    r->unsaid += is_often;
    return is_often;
}

static void say(const bench_kernel_row *r, const int64_t *size, const outcome *o)
{
    char point[BENCH_POINT_TEXT], command[2 * BENCH_REASON_TEXT], path[2 * BENCH_PATH_TEXT];
    bench_point_text(r->spec, r->config, size, point);
    reproducer(r, size, command, sizeof command);
    bench_progress_clear();
    bench_print(4, "%s%s%s  %s%s%s: %s\n    %s\n", bench_colour_on(BENCH_BAD), o->verdict, bench_colour_off(),
                r->spec->name, point[0] ? " " : "", point, o->reason, command);
    if (o->log)
        bench_log_print(o->log, 20);
    if (r->session->options->annotate) {
        bench_description_path(r->description, r->spec->file, path, sizeof path);
        char text[4 * BENCH_REASON_TEXT] = "";
        bench_append(text, sizeof text, "%s %s on %s: %s\n%s", r->spec->name, point, r->session->name, o->reason,
                     command);
        // Where no line of the source is known, the description's says which kernel it is.
        bench_annotate_github(o->line ? path : r->description->path, o->line ? o->line : r->spec->line, text);
    }
    fflush(stdout);
}

static void put(const bench_kernel_row *r, const int64_t *size, const outcome *o)
{
    char point[BENCH_POINT_TEXT], config[BENCH_POINT_TEXT], name[2 * BENCH_POINT_TEXT], path[2 * BENCH_PATH_TEXT],
        command[2 * BENCH_REASON_TEXT];
    if (!r->session->has_results)
        return;
    bench_point_text(r->spec, NULL, size, point);
    bench_point_text(r->spec, r->config, NULL, config);
    snprintf(name, sizeof name, "%s%s%s", r->spec->name, point[0] ? " " : "", point);
    bench_description_path(r->description, r->spec->file, path, sizeof path);
    reproducer(r, size, command, sizeof command);
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
    bench_verify_results_put(&r->session->results, &result);
}

static void count(bench_kernel_tally *t, const char *verdict)
{
    int64_t *const counters[] = {&t->right, &t->wrong, &t->inconclusive, &t->refused, &t->errors, &t->timeouts};
    static const char *const verdicts[] = {"right", "wrong", "inconclusive", "refused", "error", "timeout"};
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        if (!strcmp(verdicts[i], verdict))
            ++*counters[i];
    }
}

static void finish(bench_kernel_row *r, const int64_t *size, const outcome *o)
{
    count(&r->tally, o->verdict);
    r->tally.uncompared += !strcmp(o->verdict, "inconclusive") && !bench_spec_compares(r->spec);
    put(r, size, o);
    if (!strcmp(o->verdict, "refused") && !r->refused[0])
        snprintf(r->refused, sizeof r->refused, "%s", o->reason);
    const bool is_bad = !strcmp(o->verdict, "wrong") || !strcmp(o->verdict, "error") || !strcmp(o->verdict, "timeout");
    if (is_bad && !bench_interrupted && !is_known(r, o))
        say(r, size, o);
}

// ---- verdicts ----

// A run that ended well, of which the description expects no results.
static const char nothing_expected[] = "it runs; no results are compared, since none are described";

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
        bench_append(o->reason, sizeof o->reason, " (and %zu other finding%s)", findings_count - 1,
                     findings_count > 2 ? "s" : "");
    if (before[0])
        bench_append(o->reason, sizeof o->reason, ". Besides: %.400s", before);
}

// What came to no result, and what the compiler said where it was the cause.
static void tell_failure(bench_state state, const char *log, outcome *o)
{
    const bench_log_message message = bench_log_first_error(log);
    o->verdict = state == BENCH_STATE_UNSUPPORTED ? "refused" : state == BENCH_STATE_TIMEOUT ? "timeout" : "error";
    o->ratio = -1;
    o->log = *log ? log : NULL;
    o->line = message.line;
    if (message.text[0])
        bench_append(o->reason, sizeof o->reason, ": %s", message.text);
}

static void judge(const bench_spec *spec, bench_state state, const json_t *reply, outcome *o)
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
        if (is_right && !bench_spec_compares(spec)) {
            snprintf(o->reason, sizeof o->reason, "%s", nothing_expected);
            snprintf(o->by, sizeof o->by, "%s", nothing_expected);
        }
    } else {
        tell_failure(state, !strcmp(stage, "compile") ? bench_text_of(reply, "log") : "", o);
    }
    tell_findings(json_object_get(reply, "findings"), o);
}

// Whether these sizes are to be tried. False: `where` excludes them, or they are a mistake of the description's, and
// then reason says which.
static bool is_tried(bench_kernel_row *r, const int64_t *size, char reason[BENCH_REASON_TEXT])
{
    bench_point *point = &r->session->point;
    return bench_point_set(point, r->spec, r->config, size, reason) && bench_point_is_allowed(point, reason);
}

// False: `where` excludes these sizes. The reply is the caller's; what the outcome says of a log lies in it.
static bool try_size(bench_kernel_row *r, const int64_t *size, outcome *o, json_t **reply)
{
    *o = (outcome){.ratio = -1};
    *reply = NULL;
    const bool is_there = is_tried(r, size, o->reason);
    if (!is_there && !o->reason[0])
        return false;
    o->verdict = "error";
    if (!is_there)
        return true;
    const uint64_t start = bench_now_ns();
    const bench_state state = ask(r, size, "check_kernel", reply, o->reason);
    o->seconds = (double)(bench_now_ns() - start) * 1e-9;
    judge(r->spec, state, *reply, o);
    return true;
}

void bench_kernel_row_check(bench_kernel_row *r, const int64_t *size)
{
    outcome o;
    json_t *reply;
    if (try_size(r, size, &o, &reply) && !bench_interrupted) {
        if (o.ratio > r->worst)
            r->worst = o.ratio;
        if (o.by[0])
            snprintf(r->by, sizeof r->by, "%s", o.by);
        finish(r, size, &o);
    }
    json_decref(reply);
}

// A point that a description makes nothing of, such as an empty buffer, is no fault of the kernel's.
bool bench_kernel_row_fails(bench_kernel_row *r, const int64_t *size)
{
    outcome o;
    json_t *reply;
    const bool fails = try_size(r, size, &o, &reply) && !bench_interrupted &&
                       (!strcmp(o.verdict, "wrong") || !strcmp(o.verdict, "timeout") ||
                        (!strcmp(o.verdict, "error") && o.seconds > 0));
    json_decref(reply);
    return fails;
}

// What does not compile is said once, not at each size.
bool bench_kernel_row_compiles(bench_kernel_row *r, const int64_t *size)
{
    outcome o = {.ratio = -1};
    json_t *reply = NULL;
    if (!is_tried(r, size, o.reason))
        return true; // it is said, or excluded, at its size
    const bench_state state = ask(r, size, "compile_kernel", &reply, o.reason);
    const bool is_compiled = state == BENCH_STATE_OK;
    if (!is_compiled) {
        tell_failure(state, bench_text_of(reply, "log"), &o);
        if (!bench_interrupted)
            finish(r, size, &o);
    }
    json_decref(reply);
    return is_compiled;
}

void bench_kernel_row_print(const bench_kernel_row *r)
{
    char config[BENCH_POINT_TEXT], text[200] = "";
    const bench_kernel_tally *t = &r->tally;
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
    if (r->drawn)
        printf(", %" PRId64 " drawn", r->drawn);
    putchar('\n');
    if (r->unsaid)
        bench_print(4, "    %" PRId64 " of these like those above: --json and --junit have all\n", r->unsaid);
    if (r->refused[0])
        bench_print(4, "    refused: %s\n", r->refused);
    fflush(stdout);
}
