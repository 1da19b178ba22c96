/* SPDX-License-Identifier: MIT */
/* bench/tune/race_result.h: what a race is asked for, and what it has found. */
#ifndef BENCH_TUNE_RACE_RESULT_H
#define BENCH_TUNE_RACE_RESULT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/text.h"

typedef enum bench_race_result {
    BENCH_RACE_TUNED,     /* a challenger is faster, and right */
    BENCH_RACE_KEPT,      /* none is */
    BENCH_RACE_UNDECIDED, /* the time was too short to tell */
    BENCH_RACE_KNOWN,     /* the database has an answer */
    BENCH_RACE_SURVEYED,  /* all were measured, as it was asked for */
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
    bool is_survey; /* measure every candidate that is not far slower, and decide nothing */
    const json_t *entries;
    const json_t *hung; /* entries of variants that hung in an earlier race: they have no part in this one */
} bench_race_options;

enum { BENCH_RACE_PROBLEMS = 8, BENCH_RACE_CANDIDATES = 32 };

/* A candidate, its predicted time and its time in a survey; 0: it has none. */
typedef struct bench_race_candidate {
    char variant[128];
    double predicted_ns, measured_ns;
} bench_race_candidate;

typedef struct bench_race {
    bench_race_result result;
    json_t *key;         /* the worker's reply to "tuning"; NULL when it failed before */
    char predicted[128]; /* variants with configurations */
    char winner[128];    /* the predicted one unless tuned */
    double predicted_ns, winner_ns;
    size_t challengers, rounds;
    char reason[BENCH_REASON_TEXT];
    bool is_late;    /* the command's time ended a compilation: a challenger's, or the predicted one's */
    bench_race_candidate
        candidates[BENCH_RACE_CANDIDATES]; /* of a survey, as they are predicted: the chosen one first */
    size_t candidate_count;
    double given_up; /* seconds of requests that were given up; they count neither for the race nor for the command */
    /* Challengers that computed wrongly, crashed or hung, and who was late; "" is the predicted one. */
    struct {
        char variant[128];
        char reason[BENCH_REASON_TEXT];
        bool is_wrong, is_timeout, is_late;
    } problems[BENCH_RACE_PROBLEMS];
    size_t problem_count;
} bench_race;

#endif
