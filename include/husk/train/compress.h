/* SPDX-License-Identifier: MIT */
/*
 * husk/train/compress.h: networks made smaller.
 *
 * Pruning: the weights of smallest magnitude become zero and stay it while the others are trained on
 * (arXiv 1506.02626).
 *
 *     husk_graph_prune(graph, &HUSK_PRUNE_PARAMS(.share = 0.8), NULL, &error);     after training
 *     ... husk_graph_step ...                                                      fine-tuning
 */
#ifndef HUSK_TRAIN_COMPRESS_H
#define HUSK_TRAIN_COMPRESS_H

#include <husk/train/step.h>

HUSK_BEGIN_DECLS

typedef struct husk_prune_params {
    uint32_t size;       /* sizeof this struct: HUSK_PRUNE_PARAMS sets it */
    uint32_t per_tensor; /* not 0: the share of each parameter; 0: of all of them together, by one threshold */
    double share;        /* of the elements, 0 to 1; what is zero already counts first, and is pruned in any case */
    /*
     * Trained parameters of these names, or that begin with one and a dot, each of which has to be there; 0 of them:
     * all that are trained and have two dimensions at least, which leaves out biases and the scales of normalisation.
     */
    const char *const *names;
    size_t name_count;
} husk_prune_params;

#define HUSK_PRUNE_PARAMS(...) (husk_prune_params) { .size = sizeof(husk_prune_params), __VA_ARGS__ }

typedef struct husk_prune_counts {
    uint64_t elements; /* of the parameters that were looked at */
    uint64_t zeros;    /* of them, pruned */
} husk_prune_counts;

/*
 * Set the share of smallest magnitude to zero, and what the optimizer keeps of them, and mask them: from now on every
 * update (husk_graph_update, _step) leaves out their gradients, before these are clipped, so that they stay zero under
 * every optimizer. Of equal magnitudes the earlier ones go first. Pruning again adds to the masks; other parameters'
 * stay. A checkpoint keeps masks (husk.mask.NAME, u8), and resuming from one brings its masks, or none where it has
 * none; husk_graph_load's other modes set to zero what the graph's masks say. husk_graph_write does not.
 *
 * Of a graph compiled with a loss. Takes a byte of device memory for each element that is trained; reads the
 * parameters, and waits. A parameter with NaN is refused. counts may be NULL. After a failure nothing is masked that
 * was not before.
 */
HUSK_API husk_status husk_graph_prune(husk_graph *graph, const husk_prune_params *params, husk_prune_counts *counts,
                                      husk_error *error);

HUSK_END_DECLS

#endif
