/* SPDX-License-Identifier: MIT */
/*
 * train/check/verify.h: what a compiled graph's calls are verified by before the first step: each variant that was
 * chosen is run on drawn data and compared with the host's numbers. One that is wrong is logged, and another one takes
 * its place. docs/training.md says how; <operator>.c has an operator's comparison.
 */
#ifndef HUSK_TRAIN_CHECK_VERIFY_H
#define HUSK_TRAIN_CHECK_VERIFY_H

#include "train/graph/compiled.h"

typedef struct husk__finding {
    husk_plan *plan; /* what has run; to be released by who asked. NULL: nothing did */
    bool is_wrong;
    char text[256]; /* "y[0, 3, 7, 7] is 12 and should be 14" */
    husk_error failure; /* where that is no call's on the queue; else its status is 0 */
} husk__finding;

/* How the calls of an operator are verified. */
typedef struct husk__verifier {
    const char *op; /* "conv" */
    /* Where the params name their variant. */
    const char **(*variant)(husk__node_params *params);
    /*
     * Run the call once, on this queue and on tensors of its own, and compare. A failure is the call's, with the
     * finding's text or else the queue's, or OUT_OF_MEMORY and OUT_OF_HOST_MEMORY where there was no room to verify.
     */
    husk_status (*check)(const husk__call *call, husk_queue *queue, husk__finding *finding);
} husk__verifier;

/*
 * Verify all calls that have a verifier. Afterwards each names the variant that has passed, or a plan of it. Memory
 * that was taken for it is given back. UNSUPPORTED, with all that were tried, where no variant of an operator is right.
 */
husk_status husk__verify(husk_graph *graph, husk__compiled *compiled, const husk__train_scope *scope);

#endif
