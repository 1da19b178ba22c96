// SPDX-License-Identifier: MIT
#include "tune/race.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "measure/row.h"
#include "system/interrupt.h"
#include "system/timer.h"
#include "ref/random.h"
#include "tune/database.h"
#include "tune/racer.h"
#include "worker/requests.h"

#define MANY_ROUNDS       10  // those who are still together are equally fast
#define CONFIRM_PROCESSES 2   // new ones: what a process got when it began may favour either
#define CONFIRM_ROUNDS    6   // in each of them
#define HOPELESS          1.4 // a first look so much above the best ends a challenge
#define SURVEY_HOPELESS   4.0 // the same where all are measured
#define SURVEY_ROUNDS     5

// ---- who takes part ----

// Whether entries say it of a variant of these kernels on this device.
static bool say(const json_t *entries, const bench_track *t, const char *state, const char *variant)
{
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *entry = json_array_get(entries, i);
        if (!strcmp(bench_entry_text(entry, "state"), state) && bench_database_is_of(entry, t->race->key) &&
            !strcmp(bench_entry_text(entry, "op"), bench_entry_text(t->race->key, "op")) &&
            !strcmp(bench_entry_text(entry, "kernels"), bench_entry_text(t->race->key, "kernels")) &&
            !strcmp(bench_entry_text(entry, "variant"), variant))
            return true;
    }
    return false;
}

static bool is_known_bad(const bench_track *t, const char *variant)
{
    for (size_t i = 0; i < t->race->problem_count; i++) {
        if (!strcmp(t->race->problems[i].variant, variant))
            return true;
    }
    return say(t->options->entries, t, "wrong", variant) || say(t->options->hung, t, "hung", variant);
}

// A place for one more: a free one, or that of one who is out.
static bench_racer *find_place(bench_track *t)
{
    for (size_t i = 1; i < t->count; i++) {
        if (t->racers[i].is_out)
            return &t->racers[i];
    }
    return t->count < BENCH_MAX_RACERS ? &t->racers[t->count++] : NULL;
}

static bool add_challenger(bench_track *t, const char *variant)
{
    char reason[BENCH_REASON_TEXT];
    bench_state state;
    bench_racer *r = find_place(t);
    if (!r) {
        t->is_complete = false;
        return true;
    }
    memset(r, 0, sizeof *r);
    r->slot = (int)(r - t->racers);
    snprintf(r->form, sizeof r->form, "%s", variant);
    json_t *reply = bench_racer_prepare(t, r, &state, reason);
    if (!reply)
        return bench_racer_drop(t, r, state, reason);
    json_decref(reply);
    t->race->challengers++;
    return bench_racer_look(t, r);
}

// Those predicted to be fast first; the last ones may be left out when compiling took the time.
static bool add_challengers(bench_track *t)
{
    const json_t *list = json_object_get(t->race->key, "candidates");
    t->is_complete = true;
    for (size_t i = 0; i < json_array_size(list) && !bench_interrupted; i++) {
        const json_t *candidate = json_array_get(list, i);
        const char *variant = bench_entry_text(candidate, "variant");
        if (json_is_true(json_object_get(candidate, "foreign")) || !strcmp(variant, t->race->predicted) ||
            is_known_bad(t, variant))
            continue;
        if (bench_track_left(t) < 0.25 * t->options->seconds) {
            t->is_complete = false;
            break;
        }
        if (!add_challenger(t, variant))
            return false;
    }
    return true;
}

// ---- the rounds ----

bench_race_verdict bench_race_judge(const double *ratios, size_t count)
{
    double sorted[BENCH_RACE_ROUNDS];
    size_t low, high;
    if (count < 4 || count > BENCH_RACE_ROUNDS)
        return BENCH_RACE_OPEN;
    memcpy(sorted, ratios, count * sizeof *sorted);
    bench_median(sorted, count); // sorts them
    bool is_sure = bench_median_ranks(count, 0.95, &low, &high);
    if (is_sure && sorted[high] < BENCH_RACE_THRESHOLD)
        return BENCH_RACE_FASTER;
    return sorted[low] > BENCH_RACE_THRESHOLD ? BENCH_RACE_NOT_FASTER : BENCH_RACE_OPEN;
}

static double ratios_of(const bench_track *t, const bench_racer *r, size_t first, double *ratios)
{
    double copy[BENCH_RACE_ROUNDS];
    size_t count = t->rounds - first;
    for (size_t i = 0; i < count; i++)
        ratios[i] = r->turns[first + i] / t->racers[0].turns[first + i];
    memcpy(copy, ratios, count * sizeof *copy);
    return count ? bench_median(copy, count) : NAN;
}

static bool run_round(bench_track *t, husk_ref_random *random)
{
    size_t order[BENCH_MAX_RACERS], count = 0;
    for (size_t i = 0; i < t->count; i++) {
        if (!t->racers[i].is_out)
            order[count++] = i;
    }
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)husk_ref_random_below(random, (int64_t)i), kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
    for (size_t i = 0; i < count; i++) {
        bench_racer *r = &t->racers[order[i]];
        bench_state state;
        char reason[BENCH_REASON_TEXT];
        double values[BENCH_RACER_SAMPLES];
        size_t taken = bench_racer_sample(t, r, r->batch, BENCH_RACE_TURN_NS, 1, values, &state, reason);
        if (!taken) {
            if (r == &t->racers[0]) {
                snprintf(t->race->reason, sizeof t->race->reason, "%s", reason);
                return false;
            }
            if (!bench_racer_drop(t, r, state, reason))
                return false;
            continue;
        }
        r->turns[t->rounds] = bench_median(values, taken);
    }
    t->rounds++;
    return true;
}

static bench_racer *find_leader(bench_track *t)
{
    double ratios[BENCH_RACE_ROUNDS], best = INFINITY;
    bench_racer *leader = NULL;
    for (size_t i = 1; i < t->count; i++) {
        double ratio = t->racers[i].is_out ? INFINITY : ratios_of(t, &t->racers[i], 0, ratios);
        if (ratio < best) {
            best = ratio;
            leader = &t->racers[i];
        }
    }
    return leader;
}

// Out: who is not faster than the predicted one, or slower than the leader in every one of four rounds.
static void drop_losers(bench_track *t)
{
    double ratios[BENCH_RACE_ROUNDS];
    const bench_racer *leader = find_leader(t);
    for (size_t i = 1; i < t->count; i++) {
        bench_racer *r = &t->racers[i];
        if (r->is_out)
            continue;
        ratios_of(t, r, 0, ratios);
        size_t slower = 0;
        for (size_t k = 0; k < t->rounds; k++)
            slower += r->turns[k] > 1.01 * leader->turns[k];
        r->is_out = bench_race_judge(ratios, t->rounds) == BENCH_RACE_NOT_FASTER ||
                    (r != leader && t->rounds >= 4 && slower == t->rounds);
    }
}

static size_t count_challengers(const bench_track *t)
{
    size_t count = 0;
    for (size_t i = 1; i < t->count; i++)
        count += !t->racers[i].is_out;
    return count;
}

// Until a challenger is sure to be faster, none is left, or the time is up. The leader, or NULL.
static bench_racer *run_heats(bench_track *t, husk_ref_random *random)
{
    double ratios[BENCH_RACE_ROUNDS];
    t->rounds = 0;
    while (count_challengers(t) > 0 && t->rounds < BENCH_RACE_ROUNDS && !bench_interrupted) {
        if (bench_track_left(t) <= 0 || !run_round(t, random))
            break;
        drop_losers(t);
        if (count_challengers(t) == 0 || (count_challengers(t) > 1 && t->rounds < MANY_ROUNDS))
            continue;
        ratios_of(t, find_leader(t), 0, ratios);
        if (bench_race_judge(ratios, t->rounds) == BENCH_RACE_FASTER)
            break;
    }
    return find_leader(t);
}

// The leader and the predicted one in a process of their own. Beyond the race's time, if need be: what was found must
// not be lost for a moment's saving.
static bench_race_verdict race_again(bench_track *t, bench_racer *leader, husk_ref_random *random)
{
    double ratios[BENCH_RACE_ROUNDS];
    t->rounds = 0;
    bench_process_stop(&t->husk->process);
    if (!bench_track_restore(t) || leader->is_out)
        return BENCH_RACE_OPEN;
    while (t->rounds < CONFIRM_ROUNDS && !bench_interrupted && t->options->seconds_left > bench_track_elapsed(t)) {
        if (!run_round(t, random) || leader->is_out)
            return BENCH_RACE_OPEN;
    }
    ratios_of(t, leader, 0, ratios);
    return bench_race_judge(ratios, t->rounds);
}

// The best of several has had luck on its side, so it has to win against the predicted one again, whatever the process.
static bench_race_verdict confirm(bench_track *t, bench_racer *leader, husk_ref_random *random)
{
    double ratios[BENCH_RACE_ROUNDS];
    ratios_of(t, leader, 0, ratios);
    if (bench_race_judge(ratios, t->rounds) != BENCH_RACE_FASTER) // after so many rounds it is about the threshold
        return t->rounds == BENCH_RACE_ROUNDS ? BENCH_RACE_NOT_FASTER : BENCH_RACE_OPEN;
    for (size_t i = 1; i < t->count; i++)
        t->racers[i].is_out = &t->racers[i] != leader;
    bench_race_verdict verdict = BENCH_RACE_FASTER;
    for (int i = 0; i < CONFIRM_PROCESSES && verdict == BENCH_RACE_FASTER; i++) {
        t->race->rounds += t->rounds;
        verdict = race_again(t, leader, random);
    }
    return verdict;
}

// Right, against the reference? A challenger that is not is out.
static bool verify(bench_track *t, bench_racer *r)
{
    bench_state state;
    char reason[BENCH_REASON_TEXT] = "";
    json_t *reply = bench_racer_ask(t, r, json_pack("{s:s, s:I}", "do", "verify", "seed", (json_int_t)t->options->seed),
                                    &state, reason);
    bool passed = json_is_true(json_object_get(reply, "pass"));
    bool inconclusive = json_is_true(json_object_get(reply, "inconclusive"));
    if (reply && !passed) {
        state = BENCH_STATE_FAILED;
        snprintf(reason, sizeof reason, "%s", bench_entry_text(reply, "text"));
    } else if (inconclusive) {
        state = BENCH_STATE_INCONCLUSIVE;
        snprintf(reason, sizeof reason,
                 "most of what is expected is zero within its bound, so that the check proves nothing");
    }
    json_decref(reply);
    if (state == BENCH_STATE_OK)
        return true;
    bench_racer_drop(t, r, state, reason);
    return false;
}

static double median_turn(const bench_track *t, const bench_racer *r)
{
    double copy[BENCH_RACE_ROUNDS];
    memcpy(copy, r->turns, t->rounds * sizeof *copy);
    return t->rounds ? bench_median(copy, t->rounds) : r->look_ns;
}

static void finish(bench_track *t, const bench_racer *winner, bench_race_result result)
{
    bench_race *race = t->race;
    race->result = result;
    race->rounds += t->rounds;
    race->predicted_ns = median_turn(t, &t->racers[0]);
    race->winner_ns = median_turn(t, winner);
    snprintf(race->winner, sizeof race->winner, "%s", winner->form[0] ? winner->form : race->predicted);
}

static void run_race(bench_track *t)
{
    husk_ref_random random = {.seed = t->options->seed};
    for (;;) {
        bench_racer *leader = run_heats(t, &random);
        if (!t->husk->process.pid || t->racers[0].is_out || t->race->reason[0] || bench_interrupted) {
            finish(t, &t->racers[0], BENCH_RACE_FAILED);
            return;
        }
        // Without a round there is no leader, either.
        bench_race_verdict verdict = leader                 ? confirm(t, leader, &random)
                                     : count_challengers(t) ? BENCH_RACE_OPEN
                                                            : BENCH_RACE_NOT_FASTER;
        if (verdict != BENCH_RACE_FASTER) {
            bool is_known = verdict == BENCH_RACE_NOT_FASTER && t->is_complete && !t->race->is_late;
            finish(t, &t->racers[0], is_known ? BENCH_RACE_KEPT : BENCH_RACE_UNDECIDED);
            return;
        }
        if (verify(t, leader)) {
            finish(t, leader, BENCH_RACE_TUNED);
            return;
        }
        if (t->race->problem_count == BENCH_RACE_PROBLEMS) {
            finish(t, &t->racers[0], BENCH_RACE_UNDECIDED);
            return;
        }
        // The others were sent home for the sake of one that is no good: look at them again.
        for (size_t i = 1; i < t->count; i++)
            t->racers[i].is_out = true;
        t->best_look = t->racers[0].look_ns; // how fast the wrong one was does not make the others hopeless
        if (!bench_track_restore(t) || !add_challengers(t))
            t->racers[0].is_out = true;
    }
}

// ---- measuring all of them ----

static bench_race_candidate *candidate_of(bench_track *t, const char *variant)
{
    for (size_t i = 0; i < t->race->candidate_count; i++) {
        if (!strcmp(t->race->candidates[i].variant, variant))
            return &t->race->candidates[i];
    }
    return NULL;
}

static void list_candidates(bench_track *t)
{
    const json_t *list = json_object_get(t->race->key, "candidates");
    for (size_t i = 0; i < json_array_size(list) && t->race->candidate_count < BENCH_RACE_CANDIDATES; i++) {
        const json_t *given = json_array_get(list, i);
        if (json_is_true(json_object_get(given, "foreign")))
            continue;
        bench_race_candidate *candidate = &t->race->candidates[t->race->candidate_count++];
        snprintf(candidate->variant, sizeof candidate->variant, "%s", bench_entry_text(given, "variant"));
        candidate->predicted_ns = json_number_value(json_object_get(given, "predicted_ns"));
    }
}

static void run_survey(bench_track *t)
{
    husk_ref_random random = {.seed = t->options->seed};
    list_candidates(t);
    for (t->rounds = 0; t->rounds < SURVEY_ROUNDS && !bench_interrupted;) {
        if (!run_round(t, &random))
            break;
    }
    for (size_t i = 0; i < t->count; i++) {
        const bench_racer *r = &t->racers[i];
        bench_race_candidate *candidate = candidate_of(t, r->form[0] ? r->form : t->race->predicted);
        if (candidate && !r->is_out)
            candidate->measured_ns = median_turn(t, r);
        else if (candidate && r->look_ns > 0)
            candidate->measured_ns = r->look_ns;
    }
    finish(t, &t->racers[0], t->racers[0].is_out || bench_interrupted ? BENCH_RACE_FAILED : BENCH_RACE_SURVEYED);
}

static bool is_known(const bench_track *t)
{
    for (size_t i = 0; i < json_array_size(t->options->entries); i++) {
        const json_t *entry = json_array_get(t->options->entries, i);
        if (strcmp(bench_entry_text(entry, "state"), "wrong") && bench_database_is_of(entry, t->race->key) &&
            !strcmp(bench_entry_text(entry, "op"), bench_entry_text(t->race->key, "op")) &&
            !strcmp(bench_entry_text(entry, "kernels"), bench_entry_text(t->race->key, "kernels")) &&
            !strcmp(bench_entry_text(entry, "problem"), bench_entry_text(t->race->key, "problem")))
            return true;
    }
    return false;
}

// The predicted one, and who might be faster. False: the result is there.
static bool line_up(bench_track *t)
{
    bench_race *race = t->race;
    bench_racer *first = &t->racers[0];
    bench_state state = BENCH_STATE_ERROR;
    race->result = BENCH_RACE_FAILED;
    if (!bench_runner_process_revive(t->husk)) {
        snprintf(race->reason, sizeof race->reason, "%s", t->husk->why);
        return false;
    }
    t->count = 1;
    json_t *reply = bench_racer_prepare(t, first, &state, race->reason);
    json_decref(reply);
    if (reply)
        race->key = bench_racer_ask(t, first, json_pack("{s:s}", "do", "tuning"), &state, race->reason);
    if (!race->key)
        return false;
    snprintf(race->predicted, sizeof race->predicted, "%s", bench_entry_text(race->key, "predicted"));
    snprintf(race->winner, sizeof race->winner, "%s", race->predicted);
    race->reason[0] = '\0';
    if (!*bench_entry_text(race->key, "problem")) {
        race->result = BENCH_RACE_NOTHING;
        return false;
    }
    if (!t->options->again && is_known(t)) {
        race->result = BENCH_RACE_KNOWN;
        return false;
    }
    if (!bench_racer_look(t, first) || first->is_out)
        return bench_explain(race->reason, sizeof race->reason, "the predicted variant failed");
    return add_challengers(t);
}

void bench_race_run(bench_runner_process *husk, const bench_case *c, const bench_race_options *options,
                    bench_race *race)
{
    bench_track t = {.husk = husk, .c = c, .options = options, .race = race, .start_ns = bench_now_ns()};
    t.hopeless = options->is_survey ? SURVEY_HOPELESS : HOPELESS;
    memset(race, 0, sizeof *race);
    const bool is_ready = line_up(&t);
    if (is_ready && options->is_survey)
        run_survey(&t);
    else if (is_ready)
        run_race(&t);
    if (race->result == BENCH_RACE_FAILED && (t.is_cut || bench_interrupted))
        race->result = BENCH_RACE_UNDECIDED;
    if (race->result == BENCH_RACE_FAILED && !race->reason[0])
        snprintf(race->reason, sizeof race->reason, "%s",
                 husk->is_usable ? "the worker process could not be started again" : husk->why);
    char reason[BENCH_REASON_TEXT];
    json_t *reply = NULL;
    if (husk->process.pid)
        bench_process_call(&husk->process, json_pack("{s:s}", "do", "release"), 10, &reply, reason);
    json_decref(reply);
}

void bench_race_free(bench_race *race)
{
    json_decref(race->key);
    race->key = NULL;
}
