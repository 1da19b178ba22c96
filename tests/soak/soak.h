/* SPDX-License-Identifier: MIT */
/*
 * soak/soak.h: many threads on one context for hours, every result checked, and what is in use at rest.
 *
 * Cases are drawn as random_calls draws them (fuzz/random_calls.h). The first run of each is compared with the
 * reference, later ones with the bits of that one, on queues of the threads' own and on shared ones.
 */
#ifndef HUSK_TESTS_SOAK_H
#define HUSK_TESTS_SOAK_H

#include <pthread.h>
#include <stdatomic.h>

#include "random_calls.h"
#include "worker/husk_runner.h"

enum { SOAK_SHARED = 4, SOAK_MOST_LINES = 32, SOAK_KINDS = 6 };

typedef struct soak_options {
    uint64_t seed;
    int64_t seconds, threads;
    int64_t bursts; /* draws of options, for each operator and direction */
    int64_t leak;   /* bytes that each call loses: planted, to see that it is noticed */
    const char *lines[SOAK_MOST_LINES]; /* these cases instead of drawn ones */
    int64_t line_count;
} soak_options;

/* A case that the reference has found right, and its bits. */
typedef struct soak_case {
    bench_case c;
    char form[CALL_FORM];
    call options; /* that it was drawn from */
    uint64_t digest;
} soak_case;

typedef enum soak_phase { SOAK_DRAW, SOAK_VISIT, SOAK_STEADY, SOAK_END } soak_phase;

typedef struct soak {
    soak_options o;
    bench_husk_session *opened; /* its context is everybody's */
    bench_husk_session shared[SOAK_SHARED];
    pthread_mutex_t shared_lock[SOAK_SHARED]; /* a queue belongs to one thread at a time */

    pthread_mutex_t lock; /* of the cases and of stdout */
    soak_case **cases;
    size_t count, capacity;

    _Atomic(int) phase;
    atomic_bool rest; /* everybody to the barrier */
    atomic_llong next; /* burst, or visit */
    pthread_barrier_t barrier;
    atomic_llong calls, by_reference, by_bits, transfers, refused, inconclusive, mismatches;
} soak;

typedef struct soak_worker {
    soak *s;
    pthread_t thread;
    husk_ref_random random;
    bench_husk_session own;
    char present[BENCH_CASE_TEXT + CALL_FORM + 32]; /* what it does, should it never end */
} soak_worker;

/* ---- soak_cases.c ---- */

/* One step of the phase; false where there is nothing left to do in it. */
bool soak_step(soak_worker *w);
void soak_mismatch(soak_worker *w, const char *what, const char *why);

/* ---- soak_transfer.c ---- */

/* Buffers made, written, copied, filled, read and mapped, over two queues that wait for one another. */
void soak_transfer(soak_worker *w);

/* ---- soak_memory.c ---- */

typedef struct soak_sample {
    double seconds;
    double resident; /* bytes */
    uint64_t live, cached;
    husk_program_stats programs;
    long objects[SOAK_KINDS]; /* references to OpenCL objects; -1 where nobody counts */
} soak_sample;

/* Puts the counting layer between the program and its driver; before the first OpenCL call and the first thread. */
void soak_count_objects(void);
/* With everybody at rest. */
void soak_take_sample(soak *s, double seconds, soak_sample *sample);
void soak_print_sample(const soak *s, const soak_sample *sample);
/* How many rules were broken between the first sample and the last; each is printed. */
int soak_judge_memory(const soak_sample *samples, size_t count);

#endif
