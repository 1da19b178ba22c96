/* SPDX-License-Identifier: MIT */
/*
 * bench/tune/race.h: one case's race. The predicted variant and its challengers take turns in shuffled order; a round
 * is a turn of each, and what counts is a challenger's time over the predicted one's in the same round, so that what
 * happens to the machine happens to both. Losers leave early; who wins has to win again, and to be right.
 */
#ifndef BENCH_TUNE_RACE_H
#define BENCH_TUNE_RACE_H

#include "cases/case.h"
#include "common/stats.h"
#include "measure/runner_process.h"

typedef enum bench_race_result {
    BENCH_RACE_TUNED,     /* a challenger is faster, and right */
    BENCH_RACE_KEPT,      /* none is */
    BENCH_RACE_UNDECIDED, /* the time was too short to tell */
    BENCH_RACE_KNOWN,     /* the database has an answer */
    BENCH_RACE_NOTHING,   /* several operators compute the case: there is no variant of its own to choose */
    BENCH_RACE_FAILED     /* the case itself cannot be run; reason says why */
} bench_race_result;

typedef struct bench_race_options {
    double seconds;      /* for this race, compiling and verifying included */
    double seconds_left; /* of the whole command; a compilation that lasts much longer is given up */
    double max_time;     /* watchdog of one request */
    double compile_time; /* of one that may compile; 0: max_time */
    uint64_t seed;
    bool again; /* race although the database has an answer */
    const json_t *entries;
    const json_t *hung; /* entries of variants that hung in an earlier race: they have no part in this one */
} bench_race_options;

enum { BENCH_RACE_PROBLEMS = 8 };

typedef struct bench_race {
    bench_race_result result;
    json_t *key;         /* the worker's reply to "tuning"; NULL when it failed before */
    char predicted[128]; /* variants with configurations */
    char winner[128];    /* the predicted one unless tuned */
    double predicted_ns, winner_ns;
    size_t challengers, rounds;
    char reason[BENCH_REASON_TEXT];
    bool is_late;    /* the command's time ended a compilation: a challenger's, or the predicted one's */
    double given_up; /* seconds of requests that were given up; they count neither for the race nor for the command */
    /* Challengers that computed wrongly, crashed or hung, and who was late; "" is the predicted one. */
    struct {
        char variant[128];
        char reason[BENCH_REASON_TEXT];
        bool is_wrong, is_timeout, is_late;
    } problems[BENCH_RACE_PROBLEMS];
    size_t problem_count;
} bench_race;

void bench_race_run(bench_runner_process *husk, const bench_case *c, const bench_race_options *options,
                    bench_race *race);
void bench_race_free(bench_race *race);

/* What a challenger must reach: this much of the predicted one's time, at most. */
#define BENCH_RACE_THRESHOLD 0.97

typedef enum bench_race_verdict { BENCH_RACE_OPEN, BENCH_RACE_FASTER, BENCH_RACE_NOT_FASTER } bench_race_verdict;

/*
 * A verdict from the ratios of paired rounds: faster where the 95% confidence interval of their median lies below the
 * threshold; not faster where four or more rounds, all of them or by that interval, lie above it.
 */
bench_race_verdict bench_race_judge(const double *ratios, size_t count);

#endif
