/* SPDX-License-Identifier: MIT */
/*
 * bench/worker/runner.h: one who does a case's work: husk, onednn, blas, clblast, ref, or a kernel of the user's own.
 *
 * A runner lives in a worker process of its own and is called from that process' main thread alone. It
 * uses no CPU between calls: thread pools that spin must be told to sleep when open() starts them.
 *
 *     open                       once, at the worker's start
 *     form, prepare              for each case
 *       run, run_batch, reset, read     any number of times
 *     release                    when the case is over
 *     close                      at the end
 */
#ifndef BENCH_WORKER_RUNNER_H
#define BENCH_WORKER_RUNNER_H

#include <jansson.h>

#include "cases/case.h"
#include "cases/operands.h"
#include "worker/builds.h"

typedef enum bench_answer {
    BENCH_OK,
    BENCH_UNSUPPORTED, /* the runner lacks this; reason says what */
    BENCH_ERROR,       /* it failed; reason says how */
    BENCH_LOST         /* it failed and the process must be restarted */
} bench_answer;

typedef struct bench_open_options {
    const char *device; /* what husk_device_list_select understands: for husk and clblast */
    int threads;        /* for runners on the CPU: as many as the CPU device has compute units */
    bench_building *building;   /* is told what husk builds; NULL: nobody wants to know */
    bench_launching *launching; /* and what it launches for the first time */
} bench_open_options;

typedef struct bench_prepare_options {
    const char *form; /* one of form()'s names; NULL: the runner's own choice */
    int copies;       /* operand sets to rotate through, one a run, for cold measurements; 0 or 1: one */
    /* details().variant of an earlier prepare() of this case and form: who chooses by timing chooses that; or NULL */
    const char *as_before;
    bool is_guarded; /* its memory lies between guard bands, for guards() */
} bench_prepare_options;

/* What a prepared case is. Texts belong to the state. */
typedef struct bench_details {
    const char *variant; /* the algorithm that runs, such as "winograd_4x4" or "jit:avx512_core"; or NULL */
    const char *configuration; /* or NULL */
    const char *choice; /* who chose them: husk_choice_text; or NULL */
    double executed_flops; /* operations that a run executes; 0: as bench_case_flops */
    double predicted_ns; /* time of a run, as the library predicts it; 0: it does not */
    double error_factor; /* the algorithm's own bound, as husk_plan_error_factor; 0: the operator's */
    double widening; /* of rnn's gradients by own states: what the bounds are multiplied with; 0: nothing */
    uint64_t workspace; /* bytes of scratch memory, 0 where unknown */
    uint64_t build_ns; /* time that prepare() spent in building programs or primitives */
    uint64_t builds; /* programs compiled by it */
    uint64_t cache_loads; /* programs loaded from a cache by it */
    bool on_device; /* runs on the OpenCL device; transfers are not in its time */
} bench_details;

struct bench_worker;

typedef struct bench_runner {
    const char *name; /* as in --baseline: "onednn" */
    const char *description; /* one line: "oneDNN, the CPU library of Intel and Arm" */

    bench_answer (*open)(const bench_open_options *options, void **session, char reason[BENCH_REASON_TEXT]);
    void (*close)(void *session);

    /* Name and version as printed: "oneDNN 2.6.0 (avx512_core_amx, 2 threads)". Never empty. */
    void (*version)(void *session, char *text, size_t size);
    /* The OpenCL device that it runs on, a new reference; NULL: it runs on none, or says so by itself. */
    json_t *(*device)(void *session);

    /*
     * Requests (worker/requests.h) that it serves in its own way, since what it runs is no case: then it has neither
     * form, prepare, read nor guards. NULL, or a reply of NULL: they are served like everybody's.
     */
    json_t *(*serve)(struct bench_worker *worker, const char *what, json_t *request);

    /*
     * The ways this runner can be asked to do the case, each timed by itself when every one is wanted; the
     * fastest is the rival. NULL past the end; NULL at 0: there is only its own choice. oneDNN: "auto" and
     * "winograd" for a 3x3 convolution with stride 1; husk: the operator's variants.
     */
    const char *(*form)(void *session, const bench_case *c, size_t index);

    /*
     * Make the case ready to run: memory, plans, packed weights where case.packed (those are not timed; with
     * packed=0 whatever packing or reordering plain operands need is part of a run). UNSUPPORTED where the
     * runner has no such operator or option.
     */
    bench_answer (*prepare)(void *session, const bench_case *c, const bench_data *data,
                            const bench_prepare_options *options, void **state, char reason[BENCH_REASON_TEXT]);
    void (*release)(void *state);
    void (*details)(void *state, bench_details *details);

    /* Do the work once, and return when it is done. */
    bench_answer (*run)(void *state, char reason[BENCH_REASON_TEXT]);
    /* Do it count times, waiting only at the end: what a program with much to do would see. */
    bench_answer (*run_batch)(void *state, int64_t count, char reason[BENCH_REASON_TEXT]);
    /*
     * Put data.y back into the output, and what a run changes of data.saved; what further outputs hold becomes what
     * no run makes (NaN, or an integer out of range), so that nothing of an earlier run passes for a result.
     */
    bench_answer (*reset)(void *state, char reason[BENCH_REASON_TEXT]);
    /* Copy the last run's output to host memory, in the layout of data. */
    bench_answer (*read)(void *state, bench_output *output, char reason[BENCH_REASON_TEXT]);
    /*
     * Whether what ran in a guarded state has written nothing but its memory; found, of BENCH_REASON_TEXT bytes, says
     * what it has, or is "". NULL for runners without guards.
     */
    bench_answer (*guards)(void *state, char *found, char reason[BENCH_REASON_TEXT]);
    /* Why nothing is to be guarded on this device; NULL: it is. NULL for runners without guards. */
    const char *(*unguarded)(const void *session);
} bench_runner;

#endif
