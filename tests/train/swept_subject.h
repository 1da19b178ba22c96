/* SPDX-License-Identifier: MIT */
/*
 * train/swept_subject.h: a network that is swept, and what it is known to become.
 */
#ifndef HUSK_TESTS_SWEPT_SUBJECT_H
#define HUSK_TESTS_SWEPT_SUBJECT_H

#include "train/swept_graph.h"
#include "train/swept_networks.h"

typedef struct swept_subject {
    const swept_network *network;
    husk_dtype dtype;
    husk_graph_options options;
    husk_graph *graph;
    husk_value loss;
    husk_graph_memory memory;
    /* Parameters, states and, behind what is learnt, statistics: before an update and after it. */
    char *start, *now, *trained;
    size_t bytes, learnt;
    husk_loss_scale scale;
    char *outputs, *wanted; /* after an evaluation */
    size_t output_bytes;
    bool has_wanted;
} swept_subject;

/* Options and memory; and their end, with the graph's. */
void swept_begin(swept_subject *s);
void swept_end(swept_subject *s);
void swept_release(void *subject);

/* Of the compiled graph: what swept_restart writes again. */
void swept_keep_start(swept_subject *s);
/* As the header says that a run is resumed: parameters, states, position, loss scale. */
void swept_restart(swept_subject *s);
/* Inputs, an update, an evaluation, its outputs. */
husk_status swept_train(swept_subject *s);
/* What swept_train leaves is what it left the first time. */
void swept_expect(swept_subject *s, const char *when);
/* What is learnt is that of before the update, or all of it that of after. */
void swept_expect_old_or_new(swept_subject *s, const char *when);
/* All of it is that of before, statistics as well. */
void swept_expect_start(swept_subject *s, const char *when);

/* What is there now is wanted from now on; and whether it is there. */
void swept_keep(swept_subject *s);
void swept_expect_same(swept_subject *s, const char *when);

/* The other tests. */
void swept_files(void);
void swept_data(void);
void swept_metrics(void);

#endif
