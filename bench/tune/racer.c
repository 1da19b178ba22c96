// SPDX-License-Identifier: MIT
#include "tune/racer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/stats.h"
#include "common/text.h"
#include "system/interrupt.h"
#include "system/timer.h"
#include "tune/database.h"

#define COMPILE_GRACE 60.0 // a compilation beyond the command's time: half of one is of no use to the next run either

double bench_track_elapsed(const bench_track *t)
{
    return (double)(bench_now_ns() - t->start_ns) * 1e-9;
}

double bench_track_left(const bench_track *t)
{
    return t->options->seconds - bench_track_elapsed(t);
}

// ---- requests ----

// One that is given up takes nothing of the time: the same command would begin with it again, and get no further.
static json_t *ask_within(bench_track *t, const bench_racer *r, json_t *request, double limit, bench_state *state,
                          char reason[BENCH_REASON_TEXT])
{
    json_t *reply = NULL;
    const uint64_t start = bench_now_ns();
    json_object_set_new(request, "slot", json_integer(r->slot));
    bench_reply status = bench_process_call(&t->husk->process, request, limit, &reply, reason);
    if (status == BENCH_REPLY_TIMEOUT) {
        const uint64_t spent = bench_now_ns() - start;
        t->start_ns += spent;
        t->race->given_up += (double)spent * 1e-9;
    }
    *state = bench_state_of_reply(status, reply, reason);
    if (!strcmp(bench_entry_text(reply, "answer"), "lost"))
        bench_process_kill(&t->husk->process);
    if (*state == BENCH_STATE_OK)
        return reply;
    json_decref(reply);
    return NULL;
}

// Whatever is left of the command's time: what runs is known to hang only after --max-time.
json_t *bench_racer_ask(bench_track *t, const bench_racer *r, json_t *request, bench_state *state,
                        char reason[BENCH_REASON_TEXT])
{
    return ask_within(t, r, request, t->options->max_time, state, reason);
}

static void note_problem(bench_track *t, const bench_racer *r, bench_state state, const char *reason)
{
    bench_race *race = t->race;
    if (race->problem_count == BENCH_RACE_PROBLEMS || bench_interrupted)
        return;
    size_t at = race->problem_count++;
    snprintf(race->problems[at].variant, sizeof race->problems[at].variant, "%s", r->form);
    snprintf(race->problems[at].reason, sizeof race->problems[at].reason, "%s", reason);
    race->problems[at].is_wrong = state == BENCH_STATE_FAILED;
    race->problems[at].is_timeout = state == BENCH_STATE_TIMEOUT;
    race->problems[at].is_late = state == BENCH_STATE_SKIPPED;
}

// Its operands and plan. SKIPPED, and noted: the command's time ended it.
static json_t *compile(bench_track *t, const bench_racer *r, double limit, double most, bench_state *state,
                       char reason[BENCH_REASON_TEXT])
{
    json_t *request = json_pack("{s:s, s:s, s:b}", "do", "prepare", "case", t->c->canonical, "run", 0);
    if (r->form[0])
        json_object_set_new(request, "form", json_string(r->form));
    json_t *reply = ask_within(t, r, request, limit, state, reason);
    if (*state == BENCH_STATE_TIMEOUT && limit < most && !bench_interrupted) {
        *state = BENCH_STATE_SKIPPED;
        t->race->is_late = true;
        t->is_cut = t->is_cut || r == t->racers;
        note_problem(t, r, *state, reason);
    }
    return reply;
}

// A driver may compile in the first run, too: it has what a compilation has, and --max-time at least.
json_t *bench_racer_prepare(bench_track *t, const bench_racer *r, bench_state *state, char reason[BENCH_REASON_TEXT])
{
    const double most = t->options->compile_time > 0 ? t->options->compile_time : t->options->max_time;
    const double limit = fmin(most, fmax(1, t->options->seconds_left - bench_track_elapsed(t) + COMPILE_GRACE));
    json_t *reply = compile(t, r, limit, most, state, reason);
    if (!reply)
        return NULL;
    json_decref(reply);
    return ask_within(t, r, json_pack("{s:s}", "do", "run"), fmax(limit, t->options->max_time), state, reason);
}

// A worker that ended took every slot with it: start it again and prepare who is still there.
bool bench_track_restore(bench_track *t)
{
    bench_state state;
    if (t->husk->process.pid)
        return true;
    if (bench_interrupted || !bench_runner_process_revive(t->husk))
        return false;
    for (size_t i = 0; i < t->count; i++) {
        char reason[BENCH_REASON_TEXT];
        json_t *reply = t->racers[i].is_out ? NULL : bench_racer_prepare(t, &t->racers[i], &state, reason);
        t->racers[i].is_out = !reply;
        json_decref(reply);
        if (!t->husk->process.pid)
            return false;
    }
    return !t->racers[0].is_out;
}

// A racer that failed is out; its refusal is nothing to speak of.
bool bench_racer_drop(bench_track *t, bench_racer *r, bench_state state, const char *reason)
{
    r->is_out = true;
    if (state != BENCH_STATE_UNSUPPORTED && state != BENCH_STATE_SKIPPED)
        note_problem(t, r, state, reason);
    return bench_track_restore(t);
}

// Times of one run, in as many batches as fit into ns, at least so many; the shortest first. 0: it failed.
size_t bench_racer_sample(bench_track *t, bench_racer *r, int64_t batch, double ns, int least,
                          double values[BENCH_RACER_SAMPLES], bench_state *state, char reason[BENCH_REASON_TEXT])
{
    size_t count = 0;
    json_t *reply = bench_racer_ask(t, r,
                                    json_pack("{s:s, s:I, s:I, s:i}", "do", "sample", "batch", (json_int_t)batch, "ns",
                                              (json_int_t)ns, "least", least),
                                    state, reason);
    json_t *samples = json_object_get(reply, "samples");
    for (size_t i = 0; i < json_array_size(samples) && count < BENCH_RACER_SAMPLES; i++)
        values[count++] = json_number_value(json_array_get(samples, i));
    json_decref(reply);
    bench_median(values, count); // sorts them
    return count;
}

// ---- who takes part ----

// A first look: the batch, and whether there is any hope.
bool bench_racer_look(bench_track *t, bench_racer *r)
{
    bench_state state;
    char reason[BENCH_REASON_TEXT];
    double values[BENCH_RACER_SAMPLES];
    size_t count = bench_racer_sample(t, r, 1, 1e6, 3, values, &state, reason);
    if (!count)
        return bench_racer_drop(t, r, state, reason);
    double ns = r->look_ns = values[0]; // the shortest: what else runs here only makes it longer
    r->batch = ns < BENCH_RACE_TURN_NS / 2 ? (int64_t)(BENCH_RACE_TURN_NS / 2 / ns) : 1;
    r->is_out = t->best_look > 0 && ns > t->hopeless * t->best_look;
    if (t->best_look <= 0 || ns < t->best_look)
        t->best_look = ns;
    return true;
}
