/* SPDX-License-Identifier: MIT */
/*
 * bench/worker/guarded.h: a case that runs once more with all its memory between guard bands (husk/guard.h).
 *
 * What is timed has ordinary memory. Beside it the same case is prepared with guards, runs once, and its bands are
 * looked at: whether it writes nothing but its memory, and, as bands are NaN, whether what it reads behind an operand
 * shows in the result.
 */
#ifndef BENCH_WORKER_GUARDED_H
#define BENCH_WORKER_GUARDED_H

#include "worker/runner.h"

typedef struct bench_guarded {
    const bench_runner *runner; /* one with guards() */
    void *session;
    const bench_case *c;
    const bench_data *data;
    const char *form;    /* as it was prepared for the run that is timed; NULL: the runner's own choice */
    const char *variant, *configuration; /* that ran then; or NULL */
} bench_guarded;

typedef struct bench_guarded_result {
    bench_output output; /* to be freed */
    char found[BENCH_REASON_TEXT];  /* what it has written outside its memory; "": nothing */
    char absent[BENCH_REASON_TEXT]; /* why there was no such run; "": there was one */
} bench_guarded_result;

/* Where it cannot be prepared, most often for want of memory, the answer is OK and absent says why. */
bench_answer bench_run_guarded(const bench_guarded *guarded, bench_guarded_result *result,
                               char reason[BENCH_REASON_TEXT]);

#endif
