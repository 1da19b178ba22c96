/* SPDX-License-Identifier: MIT */
/** @file
 * Checkpoints: a network's parameters and the state of its training, in a safetensors file.
 *
 *     husk_graph_save(graph, "net.safetensors", &HUSK_SAVE_PARAMS(.feed = feed), &error);
 *
 *     husk_safetensors_open("net.safetensors", NULL, &file, &error);     another process, the same program
 *     husk_graph_load(graph, file, &HUSK_LOAD_PARAMS(.feed = feed), NULL, &error);
 *
 * With the same program, device and data, a resumed run continues with the bits that it would have had without the
 * interruption.
 *
 * ## Tensors of a checkpoint
 *
 * | tensor | content |
 * | --- | --- |
 * | NAME | a parameter or a statistic, under its own name |
 * | husk.optimizer.first.NAME | what the optimizer keeps for it; also second and third |
 * | husk.gradient.NAME | the sum so far, if some batches of a step are done and others are to come |
 * | husk.mask.NAME | for a pruned parameter: 0 where it stays zero (husk/train/compress.h) |
 * | husk.rate | the current learning rate: f32 of rank 0 |
 * | husk.loss_scale | if there is one: scale, since, good, skipped of husk_loss_scale, f32 |
 * | husk.extra.NAME | the caller's |
 *
 * ## Metadata
 *
 * | key | content |
 * | --- | --- |
 * | husk.checkpoint | the version, "1" |
 * | husk.optimizer | the kind |
 * | husk.updates, husk.batches, husk.seed | position and seed |
 * | husk.pending, husk.accumulate | only beside gradients |
 * | husk.feed.epoch, husk.feed.batch | the feed's position |
 * | format | "pt", which Hugging Face's tools look for |
 * | others | the caller's |
 *
 * What does not begin with "husk." is for other tools. The program makes the graph and sets the optimizer's other
 * numbers, such as betas and weight decay; they are in no file.
 */
#ifndef HUSK_TRAIN_CHECKPOINT_H
#define HUSK_TRAIN_CHECKPOINT_H

#include <husk/train/data.h>
#include <husk/train/safetensors.h>
#include <husk/train/step.h>

HUSK_BEGIN_DECLS

/**
 * The prefix of the caller's tensors:
 *
 *     husk_safetensors_read(file, HUSK_CHECKPOINT_EXTRA "words", ...)
 */
#define HUSK_CHECKPOINT_EXTRA "husk.extra."

/** Options of husk_graph_save(). */
typedef struct husk_save_params {
    uint32_t size;         /**< sizeof this struct; HUSK_SAVE_PARAMS() sets it. */
    uint32_t weights_only; /**< Not 0: only parameters, statistics, and what the caller adds. */
    const husk_feed *feed; /**< The feed whose position is stored; NULL: none. Not with weights_only. */
    const husk_safetensors_item *tensors; /**< More tensors, stored as husk.extra.NAME, such as a vocabulary. */
    size_t tensor_count;
    const husk_safetensors_pair *metadata; /**< More metadata. Keys do not begin with "husk.". */
    size_t metadata_count;
} husk_save_params;

/** Makes a husk_save_params; see husk/export.h. */
#define HUSK_SAVE_PARAMS(...) HUSK_MAKE(husk_save_params, __VA_ARGS__)

/**
 * Write a checkpoint of a compiled graph, all or nothing, as husk_safetensors_write() does: a full disk or a killed
 * process leaves the old file.
 *
 * It may be called at any time except between a forward and its backward, since the results of forward are not stored.
 * The call waits for the graph's queue. No parameter's name may begin with "husk.".
 *
 * @param params NULL for the defaults
 */
HUSK_API husk_status husk_graph_save(husk_graph *graph, const char *path, const husk_save_params *params,
                                     husk_error *error);

/** What is loaded from a file. */
typedef enum husk_load_mode {
    /**
     * Everything: parameters, statistics, the optimizer's states, gradients of a step that has begun, masks, position,
     * rate and seed.
     *
     * The file must have exactly these, and the graph must have an optimizer of the same kind. The file must have the
     * checksum of its header, husk.header, since a flipped bit of a number there makes another number. It is compared
     * even if the file was opened unverified. Checkpoints without it, of older versions of Husk, are refused; WEIGHTS
     * and MATCHING accept them.
     */
    HUSK_LOAD_RESUME = 0,
    /**
     * Parameters and statistics. The file must have all of the graph's, and no others. It may come from any program.
     *
     * What begins with "husk." is ignored. Optimizer, position, rate and seed do not change. Floating-point tensors
     * (f16, bf16, f32, f64) are converted to the graph's dtype, rounded to nearest. A finite element that this dtype
     * cannot represent is refused.
     */
    HUSK_LOAD_WEIGHTS = 1,
    /** Parameters and statistics that both have, at least one, converted likewise. All others do not change. */
    HUSK_LOAD_MATCHING = 2
} husk_load_mode;

/** Options of husk_graph_load(). */
typedef struct husk_load_params {
    uint32_t size;          /**< sizeof this struct; HUSK_LOAD_PARAMS() sets it. */
    husk_load_mode mode;
    husk_feed *feed;        /**< RESUME: the feed that is set to the stored position; NULL: none. */
    /**
     * WEIGHTS, MATCHING: parameters with these names, or with a name that begins with one of them and a dot, are
     * ignored in both the graph and the file. This is for a head that is replaced.
     */
    const char *const *except;
    size_t except_count;
} husk_load_params;

/** Makes a husk_load_params; see husk/export.h. */
#define HUSK_LOAD_PARAMS(...) HUSK_MAKE(husk_load_params, __VA_ARGS__)

/** Counts of parameters and statistics. */
typedef struct husk_load_counts {
    size_t loaded;
    size_t absent; /**< In the graph, and not in the file. */
    size_t unused; /**< In the file, and not in the graph. */
} husk_load_counts;

/**
 * Load a file into a compiled graph.
 *
 * Names, shapes and dtypes are compared, and the file is read, before anything is changed. Host memory for what is
 * loaded is needed during the call.
 *
 * - If the checkpoint is of another network, the text says how many names differ, and gives the first of them.
 * - Frozen parameters are loaded like others.
 * - A quantized graph accepts no file of another calibration than the one that it was quantized with
 *   (husk_graph_quantize()).
 * - The results of an earlier forward cannot be used afterwards.
 *
 * @param params NULL for the defaults
 * @param counts may be NULL
 * @return After HUSK_INVALID_ARGUMENT, HUSK_IO and HUSK_OUT_OF_HOST_MEMORY, graph and feed have not changed. The
 *   exception is a text that says what is loaded or not applied: then a device call has failed half way, and the file
 *   must be loaded again.
 */
HUSK_API husk_status husk_graph_load(husk_graph *graph, const husk_safetensors *file, const husk_load_params *params,
                                     husk_load_counts *counts, husk_error *error);

HUSK_END_DECLS

#endif
