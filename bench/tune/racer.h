/* SPDX-License-Identifier: MIT */
/*
 * bench/tune/racer.h: the candidates of one case in a worker process: prepared side by side, measured in turn.
 */
#ifndef BENCH_TUNE_RACER_H
#define BENCH_TUNE_RACER_H

#include "measure/row.h"
#include "cases/case.h"
#include "measure/runner_process.h"
#include "tune/race_result.h"
#include "worker/requests.h"

enum { BENCH_MAX_RACERS = BENCH_SLOTS, BENCH_RACER_SAMPLES = 256, BENCH_RACE_ROUNDS = 24 };

#define BENCH_RACE_TURN_NS 4e6 // a turn lasts so long, or one run

typedef struct bench_racer {
    char form[128]; // "" for the predicted one
    int slot;
    bool is_out;
    int64_t batch;
    double look_ns;                  // at first sight
    double turns[BENCH_RACE_ROUNDS]; // time of one run, by round
} bench_racer;

typedef struct bench_track {
    bench_runner_process *husk;
    const bench_case *c;
    const bench_race_options *options;
    bench_race *race;
    uint64_t start_ns;
    bench_racer racers[BENCH_MAX_RACERS]; // the predicted one first
    size_t count, rounds;
    double best_look; // the shortest run at first sight
    double hopeless;  // a first look so much above the best ends a challenge
    bool is_complete; // every candidate was looked at
    bool is_cut;      // the command's time ended the compilation of the predicted one: nobody's fault
} bench_track;

/* Seconds since the race began, and of its time that are left. */
double bench_track_elapsed(const bench_track *track);
double bench_track_left(const bench_track *track);

/* A request to the racer's slot. NULL: state and reason say why. */
json_t *bench_racer_ask(bench_track *track, const bench_racer *racer, json_t *request, bench_state *state,
                        char reason[BENCH_REASON_TEXT]);
/* Compiled, and run once. */
json_t *bench_racer_prepare(bench_track *track, const bench_racer *racer, bench_state *state,
                            char reason[BENCH_REASON_TEXT]);
/* Times of one run, in as many batches as fit into ns, at least so many; the shortest first. 0: it failed. */
size_t bench_racer_sample(bench_track *track, bench_racer *racer, int64_t batch, double ns, int least,
                          double values[BENCH_RACER_SAMPLES], bench_state *state, char reason[BENCH_REASON_TEXT]);
/* A first look: look_ns and the batch. False: the worker is gone for good. */
bool bench_racer_look(bench_track *track, bench_racer *racer);
/* It failed, and is out; a refusal is nothing to speak of. False: as above. */
bool bench_racer_drop(bench_track *track, bench_racer *racer, bench_state state, const char *reason);
/* A worker that ended took every slot with it: started again, with those who are still there. */
bool bench_track_restore(bench_track *track);

#endif
