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
#include "worker/requests.h"

#define MAX_RACERS     BENCH_SLOTS
#define MAX_SAMPLES    256
#define MAX_ROUNDS     24
#define MANY_ROUNDS    10 // those who are still together are equally fast
#define CONFIRM_PROCESSES 2 // new ones: what a process got when it began may favour either
#define CONFIRM_ROUNDS    6 // in each of them
#define TURN_NS        4e6 // a turn lasts so long, or one run
#define HOPELESS       1.4 // a first look so much above the best ends a challenge
#define COMPILE_GRACE  60.0 // a compilation beyond the command's time: half of one is of no use to the next run either

typedef struct racer {
    char form[128]; // "" for the predicted one
    int slot;
    bool is_out;
    int64_t batch;
    double look_ns;           // at first sight
    double turns[MAX_ROUNDS]; // time of one run, by round
} racer;

typedef struct track {
    bench_runner_process *husk;
    const bench_case *c;
    const bench_race_options *options;
    bench_race *race;
    uint64_t start_ns;
    racer racers[MAX_RACERS]; // the predicted one first
    size_t count, rounds;
    double best_look; // the shortest run at first sight
    bool is_complete; // every candidate was looked at
    bool is_cut;      // the command's time ended the compilation of the predicted one: nobody's fault
} track;

static double elapsed(const track *t)
{
    return (double)(bench_now_ns() - t->start_ns) * 1e-9;
}

static double left(const track *t)
{
    return t->options->seconds - elapsed(t);
}

// ---- requests ----

// One that is given up takes nothing of the time: the same command would begin with it again, and get no further.
static json_t *ask_within(track *t, const racer *r, json_t *request, double limit, bench_state *state,
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
static json_t *ask(track *t, const racer *r, json_t *request, bench_state *state, char reason[BENCH_REASON_TEXT])
{
    return ask_within(t, r, request, t->options->max_time, state, reason);
}

static void note_problem(track *t, const racer *r, bench_state state, const char *reason)
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
static json_t *compile(track *t, const racer *r, double limit, double most, bench_state *state,
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
static json_t *prepare(track *t, const racer *r, bench_state *state, char reason[BENCH_REASON_TEXT])
{
    const double most = t->options->compile_time > 0 ? t->options->compile_time : t->options->max_time;
    const double limit = fmin(most, fmax(1, t->options->seconds_left - elapsed(t) + COMPILE_GRACE));
    json_t *reply = compile(t, r, limit, most, state, reason);
    if (!reply)
        return NULL;
    json_decref(reply);
    return ask_within(t, r, json_pack("{s:s}", "do", "run"), fmax(limit, t->options->max_time), state, reason);
}

// A worker that ended took every slot with it: start it again and prepare who is still there.
static bool restore(track *t)
{
    bench_state state;
    if (t->husk->process.pid)
        return true;
    if (bench_interrupted || !bench_runner_process_revive(t->husk))
        return false;
    for (size_t i = 0; i < t->count; i++) {
        char reason[BENCH_REASON_TEXT];
        json_t *reply = t->racers[i].is_out ? NULL : prepare(t, &t->racers[i], &state, reason);
        t->racers[i].is_out = !reply;
        json_decref(reply);
        if (!t->husk->process.pid)
            return false;
    }
    return !t->racers[0].is_out;
}

// A racer that failed is out; its refusal is nothing to speak of.
static bool drop(track *t, racer *r, bench_state state, const char *reason)
{
    r->is_out = true;
    if (state != BENCH_STATE_UNSUPPORTED && state != BENCH_STATE_SKIPPED)
        note_problem(t, r, state, reason);
    return restore(t);
}

// Times of one run, in as many batches as fit into ns, at least so many; the shortest first. 0: it failed.
static size_t sample(track *t, racer *r, int64_t batch, double ns, int least, double *values, bench_state *state,
                     char reason[BENCH_REASON_TEXT])
{
    size_t count = 0;
    json_t *reply = ask(t, r,
                        json_pack("{s:s, s:I, s:I, s:i}", "do", "sample", "batch", (json_int_t)batch, "ns",
                                  (json_int_t)ns, "least", least),
                        state, reason);
    json_t *samples = json_object_get(reply, "samples");
    for (size_t i = 0; i < json_array_size(samples) && count < MAX_SAMPLES; i++)
        values[count++] = json_number_value(json_array_get(samples, i));
    json_decref(reply);
    bench_median(values, count); // sorts them
    return count;
}

// ---- who takes part ----

// A first look: the batch, and whether there is any hope.
static bool look(track *t, racer *r)
{
    bench_state state;
    char reason[BENCH_REASON_TEXT];
    double values[MAX_SAMPLES];
    size_t count = sample(t, r, 1, 1e6, 3, values, &state, reason);
    if (!count)
        return drop(t, r, state, reason);
    double ns = r->look_ns = values[0]; // the shortest: what else runs here only makes it longer
    r->batch = ns < TURN_NS / 2 ? (int64_t)(TURN_NS / 2 / ns) : 1;
    r->is_out = t->best_look > 0 && ns > HOPELESS * t->best_look;
    if (t->best_look <= 0 || ns < t->best_look)
        t->best_look = ns;
    return true;
}

// Whether entries say it of a variant of these kernels on this device.
static bool say(const json_t *entries, const track *t, const char *state, const char *variant)
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

static bool is_known_bad(const track *t, const char *variant)
{
    for (size_t i = 0; i < t->race->problem_count; i++) {
        if (!strcmp(t->race->problems[i].variant, variant))
            return true;
    }
    return say(t->options->entries, t, "wrong", variant) || say(t->options->hung, t, "hung", variant);
}

// A place for one more: a free one, or that of one who is out.
static racer *find_place(track *t)
{
    for (size_t i = 1; i < t->count; i++) {
        if (t->racers[i].is_out)
            return &t->racers[i];
    }
    return t->count < MAX_RACERS ? &t->racers[t->count++] : NULL;
}

static bool add_challenger(track *t, const char *variant)
{
    char reason[BENCH_REASON_TEXT];
    bench_state state;
    racer *r = find_place(t);
    if (!r) {
        t->is_complete = false;
        return true;
    }
    memset(r, 0, sizeof *r);
    r->slot = (int)(r - t->racers);
    snprintf(r->form, sizeof r->form, "%s", variant);
    json_t *reply = prepare(t, r, &state, reason);
    if (!reply)
        return drop(t, r, state, reason);
    json_decref(reply);
    t->race->challengers++;
    return look(t, r);
}

// Those predicted to be fast first; the last ones may be left out when compiling took the time.
static bool add_challengers(track *t)
{
    const json_t *list = json_object_get(t->race->key, "candidates");
    t->is_complete = true;
    for (size_t i = 0; i < json_array_size(list) && !bench_interrupted; i++) {
        const json_t *candidate = json_array_get(list, i);
        const char *variant = bench_entry_text(candidate, "variant");
        if (json_is_true(json_object_get(candidate, "foreign")) || !strcmp(variant, t->race->predicted) ||
            is_known_bad(t, variant))
            continue;
        if (left(t) < 0.25 * t->options->seconds) {
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
    double sorted[MAX_ROUNDS];
    size_t low, high;
    if (count < 4 || count > MAX_ROUNDS)
        return BENCH_RACE_OPEN;
    memcpy(sorted, ratios, count * sizeof *sorted);
    bench_median(sorted, count); // sorts them
    bool is_sure = bench_median_ranks(count, 0.95, &low, &high);
    if (is_sure && sorted[high] < BENCH_RACE_THRESHOLD)
        return BENCH_RACE_FASTER;
    return sorted[low] > BENCH_RACE_THRESHOLD ? BENCH_RACE_NOT_FASTER : BENCH_RACE_OPEN;
}

static double ratios_of(const track *t, const racer *r, size_t first, double *ratios)
{
    double copy[MAX_ROUNDS];
    size_t count = t->rounds - first;
    for (size_t i = 0; i < count; i++)
        ratios[i] = r->turns[first + i] / t->racers[0].turns[first + i];
    memcpy(copy, ratios, count * sizeof *copy);
    return count ? bench_median(copy, count) : NAN;
}

static bool run_round(track *t, husk_ref_random *random)
{
    size_t order[MAX_RACERS], count = 0;
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
        racer *r = &t->racers[order[i]];
        bench_state state;
        char reason[BENCH_REASON_TEXT];
        double values[MAX_SAMPLES];
        size_t taken = sample(t, r, r->batch, TURN_NS, 1, values, &state, reason);
        if (!taken) {
            if (r == &t->racers[0]) {
                snprintf(t->race->reason, sizeof t->race->reason, "%s", reason);
                return false;
            }
            if (!drop(t, r, state, reason))
                return false;
            continue;
        }
        r->turns[t->rounds] = bench_median(values, taken);
    }
    t->rounds++;
    return true;
}

static racer *find_leader(track *t)
{
    double ratios[MAX_ROUNDS], best = INFINITY;
    racer *leader = NULL;
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
static void drop_losers(track *t)
{
    double ratios[MAX_ROUNDS];
    const racer *leader = find_leader(t);
    for (size_t i = 1; i < t->count; i++) {
        racer *r = &t->racers[i];
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

static size_t count_challengers(const track *t)
{
    size_t count = 0;
    for (size_t i = 1; i < t->count; i++)
        count += !t->racers[i].is_out;
    return count;
}

// Until a challenger is sure to be faster, none is left, or the time is up. The leader, or NULL.
static racer *run_heats(track *t, husk_ref_random *random)
{
    double ratios[MAX_ROUNDS];
    t->rounds = 0;
    while (count_challengers(t) > 0 && t->rounds < MAX_ROUNDS && !bench_interrupted) {
        if (left(t) <= 0 || !run_round(t, random))
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
static bench_race_verdict race_again(track *t, racer *leader, husk_ref_random *random)
{
    double ratios[MAX_ROUNDS];
    t->rounds = 0;
    bench_process_stop(&t->husk->process);
    if (!restore(t) || leader->is_out)
        return BENCH_RACE_OPEN;
    while (t->rounds < CONFIRM_ROUNDS && !bench_interrupted && t->options->seconds_left > elapsed(t)) {
        if (!run_round(t, random) || leader->is_out)
            return BENCH_RACE_OPEN;
    }
    ratios_of(t, leader, 0, ratios);
    return bench_race_judge(ratios, t->rounds);
}

// The best of several has had luck on its side, so it has to win against the predicted one again, whatever the process.
static bench_race_verdict confirm(track *t, racer *leader, husk_ref_random *random)
{
    double ratios[MAX_ROUNDS];
    ratios_of(t, leader, 0, ratios);
    if (bench_race_judge(ratios, t->rounds) != BENCH_RACE_FASTER) // after so many rounds it is about the threshold
        return t->rounds == MAX_ROUNDS ? BENCH_RACE_NOT_FASTER : BENCH_RACE_OPEN;
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
static bool verify(track *t, racer *r)
{
    bench_state state;
    char reason[BENCH_REASON_TEXT] = "";
    json_t *reply =
        ask(t, r, json_pack("{s:s, s:I}", "do", "verify", "seed", (json_int_t)t->options->seed), &state, reason);
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
    drop(t, r, state, reason);
    return false;
}

static double median_turn(const track *t, const racer *r)
{
    double copy[MAX_ROUNDS];
    memcpy(copy, r->turns, t->rounds * sizeof *copy);
    return t->rounds ? bench_median(copy, t->rounds) : r->look_ns;
}

static void finish(track *t, const racer *winner, bench_race_result result)
{
    bench_race *race = t->race;
    race->result = result;
    race->rounds += t->rounds;
    race->predicted_ns = median_turn(t, &t->racers[0]);
    race->winner_ns = median_turn(t, winner);
    snprintf(race->winner, sizeof race->winner, "%s", winner->form[0] ? winner->form : race->predicted);
}

static void run_race(track *t)
{
    husk_ref_random random = {.seed = t->options->seed};
    for (;;) {
        racer *leader = run_heats(t, &random);
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
        if (!restore(t) || !add_challengers(t))
            t->racers[0].is_out = true;
    }
}

static bool is_known(const track *t)
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
static bool line_up(track *t)
{
    bench_race *race = t->race;
    racer *first = &t->racers[0];
    bench_state state = BENCH_STATE_ERROR;
    race->result = BENCH_RACE_FAILED;
    if (!bench_runner_process_revive(t->husk)) {
        snprintf(race->reason, sizeof race->reason, "%s", t->husk->why);
        return false;
    }
    t->count = 1;
    json_t *reply = prepare(t, first, &state, race->reason);
    json_decref(reply);
    if (reply)
        race->key = ask(t, first, json_pack("{s:s}", "do", "tuning"), &state, race->reason);
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
    if (!look(t, first) || first->is_out)
        return bench_explain(race->reason, sizeof race->reason, "the predicted variant failed");
    return add_challengers(t);
}

void bench_race_run(bench_runner_process *husk, const bench_case *c, const bench_race_options *options,
                    bench_race *race)
{
    track t = {.husk = husk, .c = c, .options = options, .race = race, .start_ns = bench_now_ns()};
    memset(race, 0, sizeof *race);
    if (line_up(&t))
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
