/* SPDX-License-Identifier: MIT */
/*
 * select/verbose.h: what HUSK_VERBOSE writes (docs/debugging-kernels.md): with 1 a line for each run of a plan that the
 * program has asked for, with 2 also one for each run inside it and for each candidate of a choice.
 */
#ifndef HUSK_SELECT_VERBOSE_H
#define HUSK_SELECT_VERBOSE_H

#include "select/choose.h"

/* A run that is watched: the queue is waited for before it and behind it. */
typedef struct husk__watched_run {
    bool is_watched;
    uint64_t begin_ns;
} husk__watched_run;

husk__watched_run husk__verbose_begin(const husk_plan *plan, husk_queue *queue);
void husk__verbose_end(husk__watched_run watched, const husk_plan *plan, husk_queue *queue, const void *arguments,
                       husk_status status);

/* The candidates of a choice: those of the ranking in its order, then what was refused, with the reason. */
void husk__verbose_candidates(husk_context *context, const husk__op *op, const void *problem, const char *wanted,
                              bool is_named, husk__limit limit, const husk__ranking *ranking);
/* One of them that is not taken after all. */
void husk__verbose_refused(husk_context *context, const husk__op *op, const void *problem, const husk__ranked *ranked,
                           const char *reason);

#endif
