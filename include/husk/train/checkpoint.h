/* SPDX-License-Identifier: MIT */
/*
 * husk/train/checkpoint.h: a network's parameters and how far its training has come, in a safetensors file.
 *
 *     husk_graph_save(graph, "net.safetensors", &HUSK_SAVE_PARAMS(.feed = feed), &error);
 *
 *     husk_safetensors_open("net.safetensors", NULL, &file, &error);     another process, the same program
 *     husk_graph_load(graph, file, &HUSK_LOAD_PARAMS(.feed = feed), NULL, &error);
 *
 * A run that is resumed goes on with the bits that it would have had without the interruption: same program, same
 * device, same data.
 *
 * Tensors of a checkpoint:
 *     NAME                          a parameter or a statistic, under its own name
 *     husk.optimizer.first.NAME     what the optimizer keeps of it: first, second, third
 *     husk.gradient.NAME            the sum so far, where some of the batches of a step are in and others to come
 *     husk.mask.NAME                of a pruned parameter: 0 where it stays zero (husk/train/compress.h)
 *     husk.rate                     the learning rate in force: f32 of rank 0
 *     husk.loss_scale               where there is one: scale, since, good, skipped of husk_loss_scale, f32
 *     husk.extra.NAME               the caller's
 * Metadata: husk.checkpoint, the version, "1"; husk.optimizer, the kind; husk.updates, husk.batches, husk.seed;
 * husk.pending and husk.accumulate beside gradients; husk.feed.epoch and husk.feed.batch; "format": "pt", which Hugging
 * Face's tools look for; the caller's. What does not begin with "husk." is what other tools want.
 *
 * The program makes the graph and gives the optimizer's other numbers (betas, weight decay ...); they are in no file.
 */
#ifndef HUSK_TRAIN_CHECKPOINT_H
#define HUSK_TRAIN_CHECKPOINT_H

#include <husk/train/data.h>
#include <husk/train/safetensors.h>
#include <husk/train/step.h>

HUSK_BEGIN_DECLS

/* Before the name of a tensor of the caller's: husk_safetensors_read(file, HUSK_CHECKPOINT_EXTRA "words", ...). */
#define HUSK_CHECKPOINT_EXTRA "husk.extra."

typedef struct husk_save_params {
    uint32_t size;         /* sizeof this struct: HUSK_SAVE_PARAMS sets it */
    uint32_t weights_only; /* not 0: parameters and statistics alone, and what the caller adds */
    const husk_feed *feed; /* whose place is kept; NULL: none. Not with weights_only */
    const husk_safetensors_item *tensors; /* more, as husk.extra.NAME: a vocabulary, a schedule's state */
    size_t tensor_count;
    const husk_safetensors_pair *metadata; /* more; keys do not begin with "husk." */
    size_t metadata_count;
} husk_save_params;

#define HUSK_SAVE_PARAMS(...) HUSK_MAKE(husk_save_params, __VA_ARGS__)

/*
 * Write a checkpoint of a compiled graph, all or nothing, as husk_safetensors_write says: a full disk or a killed
 * process leaves what was there. At any time but between a forward and its backward, whose results are not kept. Waits
 * for the graph's queue. No parameter's name may begin with "husk.". params: NULL for the defaults.
 */
HUSK_API husk_status husk_graph_save(husk_graph *graph, const char *path, const husk_save_params *params,
                                     husk_error *error);

typedef enum husk_load_mode {
    /*
     * All of it: parameters, statistics, the optimizer's states, gradients that were begun, masks, position, rate and
     * seed. The file has to have exactly those, and the graph an optimizer of the same kind. The file has to have the
     * checksum of its header, husk.header, since a flipped bit of a number there is another number. Checkpoints of
     * versions of Husk that wrote none are refused; WEIGHTS and MATCHING take them. It is compared also where the file
     * was opened unverified.
     */
    HUSK_LOAD_RESUME = 0,
    /*
     * Parameters and statistics: the file has to have all of the graph's, and no others. Of any program: what begins
     * with "husk." is not looked at. The optimizer, position, rate and seed stay as they are. Floating-point tensors
     * (f16, bf16, f32, f64) become the graph's dtype, rounded to nearest; a finite element that its dtype cannot hold
     * is refused.
     */
    HUSK_LOAD_WEIGHTS = 1,
    /* Parameters and statistics that both have, one at least, converted likewise; all others stay as they are. */
    HUSK_LOAD_MATCHING = 2
} husk_load_mode;

typedef struct husk_load_params {
    uint32_t size;          /* sizeof this struct: HUSK_LOAD_PARAMS sets it */
    husk_load_mode mode;
    husk_feed *feed;        /* RESUME: set to the place that was kept; NULL: none */
    /*
     * WEIGHTS, MATCHING: parameters of these names, or that begin with one and a dot, are looked for in neither: those
     * of a head that is replaced.
     */
    const char *const *except;
    size_t except_count;
} husk_load_params;

#define HUSK_LOAD_PARAMS(...) HUSK_MAKE(husk_load_params, __VA_ARGS__)

/* Parameters and statistics. */
typedef struct husk_load_counts {
    size_t loaded;
    size_t absent; /* of the graph, and not in the file */
    size_t unused; /* in the file, and not of the graph */
} husk_load_counts;

/*
 * Into a compiled graph, from an open file. Names, shapes and dtypes are compared, and the file is read, before
 * anything is changed: after INVALID_ARGUMENT, IO and OUT_OF_HOST_MEMORY graph and feed are as they were, unless the
 * text says what is loaded or not applied: then a call of the device's has failed half way, and the file has to be
 * loaded again. Of a checkpoint of another network the text says how many names differ, and the first of them. Host
 * memory for what is loaded is taken for the time of the call. Frozen parameters are loaded like others; a quantized
 * graph takes no file of another calibration than that it was quantized with (husk_graph_quantize). A forward that
 * was done is of no use afterwards. params: NULL for the defaults; counts may be NULL.
 */
HUSK_API husk_status husk_graph_load(husk_graph *graph, const husk_safetensors *file, const husk_load_params *params,
                                     husk_load_counts *counts, husk_error *error);

HUSK_END_DECLS

#endif
