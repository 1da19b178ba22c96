/* SPDX-License-Identifier: MIT */
/*
 * train/graph/compiled.h: what compiling makes of a graph.
 */
#ifndef HUSK_TRAIN_GRAPH_COMPILED_H
#define HUSK_TRAIN_GRAPH_COMPILED_H

#include "train/graph/schedule.h"

#define HUSK__STATES 3
#define HUSK__UPDATE_VARIANTS 128
#define HUSK__NUMBER_BYTES 64

typedef struct husk__bucket_range {
    uint64_t begin, end; /* bytes in the gradients */
    int32_t call;        /* of the training schedule: after it the bucket is complete */
} husk__bucket_range;

/* What a forward leaves for its backward. */
typedef struct husk__micro_batch {
    husk_buffer *arena, *outside;
    husk_graph_mode at;
    bool has_forward;
    uint64_t batch;
} husk__micro_batch;

typedef struct husk__compiled {
    bool is_final; /* not only measured */
    husk_graph_options options;
    husk_optimizer_params optimizer;
    bool has_optimizer, keeps_state[HUSK__STATES];
    char update_variants[HUSK__UPDATE_VARIANTS]; /* of the last update */
    husk_loss_scale_params loss_scale; /* without zeros for defaults */
    bool has_loss_scale;

    husk__schedule schedules[2]; /* by mode; without a loss that of training is empty */
    int32_t *trained, trained_count; /* values, in the order in which their gradients are finished */
    uint64_t trained_bytes;
    uint64_t parameter_bytes, statistics; /* of all, and before the statistics, which are the last ones */
    uint64_t copied_bytes; /* of parameters that have copies: all before the statistics, or none */
    bool copies_are_old;   /* somebody may have written parameters since the copies were made */
    husk__bucket_range *buckets;
    size_t bucket_count;
    int32_t *parameters, parameter_count; /* all of them, in the order in which they were made */

    husk_graph_memory memory;
    husk_buffer *regions[HUSK__REGIONS], *states[HUSK__STATES];
    husk_buffer *masks; /* of a pruned graph, train/step/masks.h; NULL: none */
    bool *masked;       /* by value: a parameter with a mask; NULL: none is */
    /* In HUSK__REGION_OUTSIDE: the statistics as before a forward. */
    uint64_t before, before_bytes;
    uint64_t numbers; /* in HUSK__REGION_OUTSIDE: the loss' gradient, norm, coefficient, found */

    husk_graph_position position;
    uint32_t pending;   /* backwards since the last update */
    husk_graph_mode at; /* the last forward */
    bool has_forward;   /* a backward may follow */
    uint64_t batch;     /* the number of that forward, which dropout's masks follow from */
    husk__micro_batch *micro_batches; /* each has an arena and an outside; the one in use has them in regions, too */
    uint32_t micro_batch;             /* the one in use; at, has_forward and batch are its own */
    husk_bucket_callback ready;
    void *ready_user;
} husk__compiled;

enum { HUSK__NUMBER_SEED, HUSK__NUMBER_NORM, HUSK__NUMBER_COEFFICIENT, HUSK__NUMBER_FOUND, HUSK__NUMBERS };
enum { HUSK__SCALE_NOW, HUSK__SCALE_SINCE, HUSK__SCALE_GOOD, HUSK__SCALE_SKIPPED, HUSK__SCALES };

/* Whether it can train: there is a loss, or a gradient that is given. */
bool husk__can_train(const husk_graph *graph);
/* Whether this root is there after a step, to be read: outputs are, and the loss. */
static inline bool husk__is_kept(const husk_graph *graph, husk_value loss, int32_t root)
{
    return graph->values[root].is_output || (loss && graph->values[loss].root == root);
}

void husk__compiled_release(husk__compiled *compiled);

#endif
