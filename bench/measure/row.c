// SPDX-License-Identifier: MIT
#include "measure/row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "system/interrupt.h"
#include "system/terminal.h"
#include "system/timer.h"
#include "ref/random.h"
#include "worker/requests.h"

#define USUAL_PREPARE \
    0.3 // seconds: data, memory and programs from a cache; beyond that something is compiled
#define LEAST_SHARE  0.08 // seconds that a runner gets even when the time is up
#define TURN_SECONDS 0.05 // what one runner measures before it is another's turn

const char *bench_state_text(bench_state state)
{
    static const char *const texts[] = {"ok",           "unsupported", "skipped", "failed",
                                        "inconclusive", "suspect",     "error",   "timeout"};
    return (size_t)state < sizeof texts / sizeof *texts ? texts[state] : "error";
}

bench_state bench_state_of_reply(bench_reply status, const json_t *reply, char reason[BENCH_REASON_TEXT])
{
    if (status != BENCH_REPLY_OK)
        return status == BENCH_REPLY_TIMEOUT ? BENCH_STATE_TIMEOUT : BENCH_STATE_ERROR;
    const char *answer = json_string_value(json_object_get(reply, "answer"));
    const char *why = json_string_value(json_object_get(reply, "reason"));
    if (answer && !strcmp(answer, "ok"))
        return BENCH_STATE_OK;
    snprintf(reason, BENCH_REASON_TEXT, "%s", why ? why : "it did not say why");
    return answer && !strcmp(answer, "unsupported") ? BENCH_STATE_UNSUPPORTED : BENCH_STATE_ERROR;
}

bool bench_sentinels_add(bench_sentinels *sentinels, const bench_sentinel *sentinel)
{
    if (sentinels->count == sentinels->capacity) {
        const size_t capacity = sentinels->capacity ? 2 * sentinels->capacity : 4;
        bench_sentinel *values = realloc(sentinels->values, capacity * sizeof *values);
        if (!values)
            return false;
        sentinels->values = values;
        sentinels->capacity = capacity;
    }
    sentinels->values[sentinels->count++] = *sentinel;
    return true;
}

const char *bench_row_text(const bench_row *row)
{
    return row->kernel ? bench_text_of(row->kernel, "text") : row->c.canonical;
}

bench_entrant *bench_row_add(bench_row *row, bench_runner_process *runner, const char *form)
{
    if (row->entrant_count == BENCH_MAX_ENTRANTS)
        return NULL;
    bench_entrant *entrant = &row->entrants[row->entrant_count];
    memset(entrant, 0, sizeof *entrant);
    entrant->runner = runner;
    snprintf(entrant->form, sizeof entrant->form, "%s", form ? form : "");
    for (size_t i = 0; i < row->entrant_count; i++)
        entrant->slot += row->entrants[i].runner == runner;
    row->entrant_count++;
    return entrant;
}

void bench_row_add_forms(bench_row *row, bench_runner_process *runner, double max_time)
{
    char reason[BENCH_REASON_TEXT];
    json_t *reply = NULL, *forms = NULL;
    if (bench_runner_process_revive(runner) &&
        bench_process_call(&runner->process, json_pack("{s:s, s:s}", "do", "forms", "case", row->c.canonical), max_time,
                           &reply, reason) == BENCH_REPLY_OK)
        forms = json_object_get(reply, "forms");
    for (size_t i = 0; i < json_array_size(forms); i++)
        bench_row_add(row, runner, json_string_value(json_array_get(forms, i)));
    if (!json_array_size(forms))
        bench_row_add(row, runner, NULL);
    json_decref(reply);
}

// A request to the entrant's worker; a failure of any kind becomes the entrant's state.
static json_t *ask(bench_entrant *e, json_t *request, double max_time)
{
    json_t *reply = NULL;
    json_object_set_new(request, "slot", json_integer(e->slot));
    bench_reply status = bench_process_call(&e->runner->process, request, max_time, &reply, e->reason);
    e->state = bench_state_of_reply(status, reply, e->reason);
    if (e->state == BENCH_STATE_OK)
        return reply;
    const char *answer = json_string_value(json_object_get(reply, "answer"));
    snprintf(e->stage, sizeof e->stage, "%s", bench_text_of(reply, "stage"));
    if (answer && !strcmp(answer, "lost")) // the worker says itself that it must be started anew
        bench_process_kill(&e->runner->process);
    json_decref(reply);
    return NULL;
}

// A worker that was ended took the slots of all its forms with it.
static bool is_alive(bench_entrant *e)
{
    if (e->state != BENCH_STATE_OK)
        return false;
    if (!e->runner->process.pid || e->life != e->runner->restarts) {
        e->is_victim = true;
        e->state = BENCH_STATE_ERROR;
        snprintf(e->reason, sizeof e->reason, "its worker process was ended by another form of the same case");
    }
    return e->state == BENCH_STATE_OK;
}

// The samples of all rounds are one set: of one variant in one configuration.
static void keep_prepared(bench_entrant *e, json_t *reply)
{
    static const char *const keys[] = {"variant", "configuration"};
    if (!e->prepared)
        e->prepared = json_incref(reply);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *was = bench_text_of(e->prepared, keys[i]), *now = bench_text_of(reply, keys[i]);
        if (!strcmp(was, now))
            continue;
        e->state = BENCH_STATE_ERROR;
        snprintf(e->reason, sizeof e->reason, "its %s was %.200s, and is %.200s in a later round", keys[i],
                 *was ? was : "none", *now ? now : "none");
        return;
    }
}

static void prepare(bench_entrant *e, bench_row *row, const bench_measure_options *options)
{
    uint64_t start = bench_now_ns();
    if (!bench_runner_process_revive(e->runner)) {
        e->state = BENCH_STATE_ERROR;
        snprintf(e->reason, sizeof e->reason, "%s", e->runner->why);
        return;
    }
    e->life = e->runner->restarts;
    json_t *request = json_pack("{s:s}", "do", "prepare");
    if (e->kernel)
        json_object_set(request, "kernel", e->kernel);
    else
        json_object_set_new(request, "case", json_string(row->c.canonical));
    if (e->form[0])
        json_object_set_new(request, "form", json_string(e->form));
    if (options->copies > 1)
        json_object_set_new(request, "copies", json_integer(options->copies));
    if (e->prepared && *bench_text_of(e->prepared, "variant"))
        json_object_set_new(request, "as_before", json_string(bench_text_of(e->prepared, "variant")));
    json_t *reply = ask(e, request, options->compile_time > 0 ? options->compile_time : options->max_time);
    if (reply)
        keep_prepared(e, reply);
    json_decref(reply);
    double seconds = (double)(bench_now_ns() - start) * 1e-9;
    row->preparing += seconds > USUAL_PREPARE ? seconds - USUAL_PREPARE : 0;
}

static void verify(bench_entrant *e, const bench_measure_options *options)
{
    json_decref(e->verified);
    e->verified = ask(e, json_pack("{s:s, s:I, s:b}", "do", "verify", "seed", (json_int_t)options->seed, "again", true),
                      options->max_time);
    if (!e->verified)
        return;
    const char *text = json_string_value(json_object_get(e->verified, "text"));
    if (!json_is_true(json_object_get(e->verified, "pass"))) {
        e->state = BENCH_STATE_FAILED;
        snprintf(e->reason, sizeof e->reason, "%s", text ? text : "");
    } else if (json_is_true(json_object_get(e->verified, "inconclusive"))) {
        e->state = BENCH_STATE_INCONCLUSIVE;
        snprintf(e->reason, sizeof e->reason,
                 "most of what is expected is zero within its bound, so that the check proves nothing");
    }
}

// The bits of the verified run, or what is right beside them, is what every run comes to; NULL: they depend on the runs
// before.
static json_t *repeats(const bench_entrant *e)
{
    json_t *bits = json_object_get(e->verified, "repeats");
    return json_is_string(bits) ? bits : NULL;
}

// What was timed was not what was verified: the last of its runs has to be as right.
static void check(bench_entrant *e, const bench_measure_options *options)
{
    if (!is_alive(e) || !repeats(e) || !e->samples.count)
        return;
    json_t *reply =
        ask(e, json_pack("{s:s, s:I, s:O}", "do", "check", "seed", (json_int_t)options->seed, "repeats", repeats(e)),
            options->max_time);
    if (reply && !json_is_true(json_object_get(reply, "pass"))) {
        const char *text = json_string_value(json_object_get(reply, "text"));
        e->state = BENCH_STATE_FAILED;
        snprintf(e->reason, sizeof e->reason, "the verified run was right, and the last that was timed is not: %s",
                 text ? text : "");
    }
    json_decref(reply);
}

// share: seconds this entrant has in all; 0: no limit.
static void warm(bench_entrant *e, const bench_measure_options *options, double share)
{
    double wanted = options->rule.quick ? 0.03 : 0.2, limit = options->rule.quick ? options->rule.min_seconds : 2;
    if (share > 0 && limit > 0.25 * share)
        limit = 0.25 * share;
    if (wanted > limit)
        wanted = limit;
    json_t *reply =
        ask(e,
            json_pack("{s:s, s:I, s:I, s:I, s:b}", "do", "warm", "runs", (json_int_t)options->warmup, "ns",
                      (json_int_t)(wanted * 1e9), "limit_ns", (json_int_t)(limit * 1e9), "reset", repeats(e) != NULL),
            options->max_time);
    if (!reply)
        return;
    e->batch = json_integer_value(json_object_get(reply, "batch"));
    e->settled = json_is_true(json_object_get(reply, "settled"));
    json_decref(reply);
}

// Of all processes: where there are several, it is they that say how far the median can be trusted.
static void summarise(bench_entrant *e)
{
    if (!bench_summarise(&e->samples, &e->summary) || !bench_levels_find(e->samples.values, &e->parts, &e->levels) ||
        e->levels.processes < 2)
        return;
    e->summary.median = e->levels.median;
    e->summary.ci_low = e->levels.low;
    e->summary.ci_high = e->levels.high;
    e->summary.half_width = (e->levels.high - e->levels.low) / 2 / e->levels.median;
}

// Of the present round alone: more samples of it tell nothing of other processes.
static void summarise_round(const bench_entrant *e, bench_summary *summary)
{
    const bench_samples round = {.values = e->samples.values + e->round_begins,
                                 .count = e->samples.count - e->round_begins};
    bench_summarise(&round, summary);
}

static void keep_samples(bench_entrant *e, const json_t *reply)
{
    const json_t *samples = json_object_get(reply, "samples");
    bench_part more = {.number = e->runner->restarts,
                       .busy_ns = json_number_value(json_object_get(reply, "busy_ns")),
                       .spent_ns = json_number_value(json_object_get(reply, "spent_ns"))};
    e->progress.seconds += more.spent_ns * 1e-9;
    // The part first: a sample that is of no process would be none of the median's.
    if (!bench_parts_add(&e->parts, &more))
        return;
    more = (bench_part){.number = more.number};
    while (more.count < json_array_size(samples) &&
           bench_samples_add(&e->samples, json_number_value(json_array_get(samples, more.count))))
        more.count++;
    bench_parts_add(&e->parts, &more);
}

static void take_samples(bench_entrant *e, const bench_measure_options *options, double seconds)
{
    bool first = e->samples.count == 0;
    json_t *reply = ask(e,
                        json_pack("{s:s, s:I, s:I, s:i, s:b}", "do", "sample", "batch", (json_int_t)e->batch, "ns",
                                  (json_int_t)(seconds * 1e9), "least", 1, "latency", first),
                        options->max_time);
    if (!reply)
        return;
    keep_samples(e, reply);
    if (first)
        e->latency_ns = json_number_value(json_object_get(reply, "latency_ns"));
    json_decref(reply);
}

static void shuffle(size_t *order, size_t count, husk_ref_random *random)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)husk_ref_random_below(random, (int64_t)i), kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
}

static size_t list_active(bench_row *row, size_t *order)
{
    size_t count = 0;
    for (size_t i = 0; i < row->entrant_count; i++) {
        if (is_alive(&row->entrants[i]) && !row->entrants[i].is_done)
            order[count++] = i;
    }
    return count;
}

static void interleave(bench_row *row, const bench_measure_options *options, double share)
{
    husk_ref_random random = {.seed = options->seed};
    size_t order[BENCH_MAX_ENTRANTS], count;
    bench_stop_rule rule = options->rule;
    rule.budget_seconds = share;
    double turn = share > 0 && share / 3 < TURN_SECONDS ? share / 3 : TURN_SECONDS;
    while ((count = list_active(row, order)) > 0) {
        shuffle(order, count, &random);
        for (size_t i = 0; i < count; i++) {
            bench_entrant *e = &row->entrants[order[i]];
            take_samples(e, options, turn);
            if (e->state != BENCH_STATE_OK)
                continue;
            bench_summary round;
            summarise_round(e, &round);
            e->stop = bench_decide(&rule, &e->progress, &round);
            if (e->batch >= BENCH_LONGEST_BATCH && e->stop == BENCH_STOP_NOT_YET)
                e->stop = BENCH_STOP_TIME; // one that does nothing gets no more precise
            e->is_done = e->stop != BENCH_STOP_NOT_YET;
        }
    }
}

static void prepare_all(bench_row *row, const bench_measure_options *options)
{
    for (size_t i = 0; i < row->entrant_count; i++) {
        bench_entrant *e = &row->entrants[i];
        if (e->state != BENCH_STATE_OK)
            continue;
        e->is_done = false;
        e->progress = (bench_progress){0};
        e->round_begins = e->samples.count;
        prepare(e, row, options);
        if (is_alive(e) && options->verify)
            verify(e, options);
    }
}

void bench_measure_row(bench_row *row, const bench_measure_options *options)
{
    uint64_t start = bench_now_ns();
    row->preparing = 0;
    prepare_all(row, options);
    // Without a right result of ours the rivals' times are of no use.
    bool ours = row->entrant_count > 0 && is_alive(&row->entrants[0]);
    size_t order[BENCH_MAX_ENTRANTS], count = ours ? list_active(row, order) : 0;
    double share = 0;
    if (options->row_seconds > 0 && count > 0) {
        double left = options->row_seconds + row->preparing - (double)(bench_now_ns() - start) * 1e-9;
        share = left > 0 ? left / (double)count : 0;
        share = share < LEAST_SHARE ? LEAST_SHARE : share;
    }
    for (size_t i = 0; i < count; i++) {
        if (is_alive(&row->entrants[order[i]]))
            warm(&row->entrants[order[i]], options, share);
    }
    if (ours)
        interleave(row, options, share * 0.75);
    for (size_t i = 0; ours && i < row->entrant_count; i++) {
        check(&row->entrants[i], options);
        summarise(&row->entrants[i]);
    }
    for (size_t i = 0; i < row->entrant_count; i++) {
        bench_runner_process *c = row->entrants[i].runner;
        json_t *reply = NULL;
        char reason[BENCH_REASON_TEXT];
        // What was measured is right; that its worker has to be started anew is worth a word.
        if (row->entrants[i].slot == 0 && c->process.pid &&
            bench_process_call(&c->process, json_pack("{s:s}", "do", "release"), options->max_time, &reply, reason) !=
                BENCH_REPLY_OK &&
            !bench_interrupted)
            bench_say("after %s: %s", bench_row_text(row), reason);
        json_decref(reply);
    }
}

void bench_row_free(bench_row *row)
{
    for (size_t i = 0; i < row->entrant_count; i++) {
        json_decref(row->entrants[i].prepared);
        json_decref(row->entrants[i].verified);
        bench_samples_free(&row->entrants[i].samples);
        bench_parts_free(&row->entrants[i].parts);
    }
    free(row->sentinels.values);
    row->sentinels = (bench_sentinels){0};
    row->entrant_count = 0;
}
