/* SPDX-License-Identifier: MIT */
/*
 * bench/measure/row.h: one row: every runner prepares the case, or the first a described kernel and the others the case
 * that it computes, is verified and warmed up; then they take
 * turns, in shuffled order, until each has enough samples.
 */
#ifndef BENCH_MEASURE_ROW_H
#define BENCH_MEASURE_ROW_H

#include "cases/case.h"
#include "common/stats.h"
#include "measure/runner_process.h"
#include "measure/levels.h"

#define BENCH_MAX_ENTRANTS 16

typedef enum bench_state {
    BENCH_STATE_OK,
    BENCH_STATE_UNSUPPORTED,
    BENCH_STATE_SKIPPED,
    BENCH_STATE_FAILED,     /* a wrong result */
    BENCH_STATE_INCONCLUSIVE, /* most of what was expected is zero */
    BENCH_STATE_SUSPECT,    /* faster than the device can be */
    BENCH_STATE_ERROR,
    BENCH_STATE_TIMEOUT
} bench_state;

const char *bench_state_text(bench_state state);

/* A runner's form in a row. */
typedef struct bench_entrant {
    bench_runner_process *runner;
    char form[64]; /* "" for its own choice */
    int life;       /* of its worker process in which it was prepared last: runner->restarts */
    bool is_victim; /* its process was ended by another form */
    json_t *kernel; /* what it runs in place of the row's case, as a suite's entry has it; or NULL */
    int slot;
    bench_state state;
    char reason[BENCH_REASON_TEXT];
    char stage[16]; /* of one that failed, where its reply says it: "compile" */
    json_t *prepared; /* the reply to prepare, and to verify; NULL before */
    json_t *verified;
    int64_t batch;
    bool settled; /* warmed up until two groups of batches agreed */
    bool is_done;
    bench_samples samples; /* of all rounds */
    bench_parts parts;     /* by the worker process that took them */
    size_t round_begins;   /* the present round's first sample */
    bench_summary summary; /* of all; its median and interval are those of levels */
    bench_levels levels;
    bench_progress progress;
    bench_stop stop;
    double latency_ns;
} bench_entrant;

/* How fast the machine was beside one round of a row: 0 where that is not known. */
typedef struct bench_sentinel {
    double before_gflops, after_gflops, before_gbytes_per_s, after_gbytes_per_s;
    double at;      /* seconds since the run began, in the middle of the round */
    size_t samples; /* of the first entrant */
    int process;    /* that took them: of those that the first runner has had, from 0 */
} bench_sentinel;

typedef struct bench_sentinels {
    bench_sentinel *values;
    size_t count, capacity;
} bench_sentinels;

typedef struct bench_row {
    bench_case c;
    json_t *kernel;                             /* the described kernel that the row is about; NULL: it is about c */
    int64_t count;                              /* how often the suite's network has it */
    bench_entrant entrants[BENCH_MAX_ENTRANTS]; /* the first is husk's, or the kernel's */
    size_t entrant_count;
    double preparing; /* seconds spent in building programs and the like, beyond what that usually takes */
    double sentinel_drift; /* largest relative change of the sentinel beside this row */
    bench_sentinels sentinels;
    char asked[64]; /* the variant that was asked for; "": none */
    int64_t rounds; /* in how many it has been measured */
    int copies;     /* sets of operands that are rotated through; more than one: it is cold */
    char reproducer[2 * BENCH_CASE_TEXT]; /* the command that measures it alone */
} bench_row;

typedef struct bench_measure_options {
    bench_stop_rule rule; /* budget_seconds is set by measure from the row's share */
    double row_seconds;   /* what the run's time leaves to this row; 0: no limit */
    double max_time;      /* watchdog of one request */
    double compile_time;  /* of one that may compile; 0: max_time */
    int copies;           /* sets of operands that are rotated through; 0 or 1: one, and the row is hot */
    int64_t warmup;
    uint64_t seed; /* of the shuffling and of the verified sample */
    bool verify;   /* false in later rounds */
} bench_measure_options;

/* False: memory is short. */
bool bench_sentinels_add(bench_sentinels *sentinels, const bench_sentinel *sentinel);

/* What the row is called: the case's canonical form, or the kernel's text. */
const char *bench_row_text(const bench_row *row);

/* Add an entrant; form NULL or "" for the runner's own choice. */
bench_entrant *bench_row_add(bench_row *row, bench_runner_process *runner, const char *form);
/* Ask a runner for its forms of the case and add them (one, its own choice, where it has none). */
void bench_row_add_forms(bench_row *row, bench_runner_process *runner, double max_time);

/* One round over the row's entrants. */
void bench_measure_row(bench_row *row, const bench_measure_options *options);
void bench_row_free(bench_row *row);

/* State and reason from a reply of the worker or its absence. */
bench_state bench_state_of_reply(bench_reply status, const json_t *reply, char reason[BENCH_REASON_TEXT]);

#endif
