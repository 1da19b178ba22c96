/* SPDX-License-Identifier: MIT */
/** @file
 * Smaller networks: pruning, quantization after training, and distillation.
 *
 * ## Pruning
 *
 * The weights of smallest magnitude become zero, and stay zero while the others are trained (arXiv 1506.02626).
 *
 *     husk_graph_prune(graph, &HUSK_PRUNE_PARAMS(.share = 0.8), NULL, &error);     after training
 *     ... husk_graph_step ...                                                      fine-tuning
 *
 * ## Quantization after training
 *
 * Weights have eight bits, which makes a network a quarter as large. Inputs have eight bits, too; calibration observes
 * their ranges on some batches (arXiv 2004.09602).
 *
 *     husk_calibration_create(graph, &calibration, &error);                        a trained graph, compiled
 *     husk_graph_write(graph, "images", ...);
 *     husk_calibration_observe(calibration, &error);                               some batches
 *     husk_calibration_save(calibration, "int8.safetensors", &error);
 *
 *     husk_graph_quantize(other, file, NULL, &error);                              the same network, built again
 *     husk_graph_compile(other, NULL, &error);                                     for evaluation
 *     husk_graph_load(other, file, &HUSK_LOAD_PARAMS(.mode = HUSK_LOAD_WEIGHTS), NULL, &error);
 *
 * ## Distillation
 *
 * A small network learns the answers of a large one, not only what is right (arXiv 1503.02531).
 *
 *     loss = husk_graph_distillation(student, "loss", NULL, logits, teacher_logits, labels);
 */
#ifndef HUSK_TRAIN_COMPRESS_H
#define HUSK_TRAIN_COMPRESS_H

#include <husk/train/safetensors.h>
#include <husk/train/step.h>

HUSK_BEGIN_DECLS

/* ---- pruning --------------------------------------------------------------------------------------------- */

/** Options of husk_graph_prune(). */
typedef struct husk_prune_params {
    uint32_t size;       /**< sizeof this struct; HUSK_PRUNE_PARAMS() sets it. */
    uint32_t per_tensor; /**< Not 0: the share of each parameter. 0: of all of them together, by one threshold. */
    double share;        /**< Of the elements, 0 to 1. Zeros count first, and are always pruned. */
    /**
     * Trained parameters with these names, or with a name that begins with one of them and a dot; each name must match.
     * Without names: all trained parameters with at least two dimensions, so no biases and no scales of normalisation.
     */
    const char *const *names;
    size_t name_count;
} husk_prune_params;

/** Makes a husk_prune_params; see husk/export.h. */
#define HUSK_PRUNE_PARAMS(...) HUSK_MAKE(husk_prune_params, __VA_ARGS__)

/** What was pruned. */
typedef struct husk_prune_counts {
    uint64_t elements; /**< Of the parameters that were considered. */
    uint64_t zeros;    /**< Of these, pruned. */
} husk_prune_counts;

/**
 * Set the share of smallest magnitude to zero, with what the optimizer keeps for it, and mask it. Of equal magnitudes
 * the earlier ones are pruned first.
 *
 * From now on every update (husk_graph_update(), husk_graph_step()) ignores the gradients of masked elements, before
 * the gradients are clipped. So these elements stay zero under every optimizer.
 *
 * - Pruning again adds to the masks. The masks of other parameters do not change.
 * - A checkpoint stores masks (husk.mask.NAME, u8). Resuming from one restores its masks, or removes all if it has
 *   none. The other modes of husk_graph_load() set to zero what the graph's masks say. husk_graph_write() does not.
 * - The graph must be compiled with a loss. A parameter with NaN is refused.
 * - It takes a byte of device memory for each trained element. It reads the parameters, and waits.
 * - After a failure nothing is masked that was not masked before.
 *
 * @param counts may be NULL
 */
HUSK_API husk_status husk_graph_prune(husk_graph *graph, const husk_prune_params *params, husk_prune_counts *counts,
                                      husk_error *error);
/**
 * The mask of the parameter that husk_graph_parameter_at() returns for this index, in a compiled graph.
 * husk_graph_error() has the text of a failure.
 *
 * @param mask receives u8 of the parameter's shape, 0 where it stays zero. The buffer belongs to the graph until it is
 *   pruned, given another mask or loaded again. It is NULL if the parameter has no mask.
 */
HUSK_API husk_status husk_graph_mask_at(husk_graph *graph, size_t index, husk_tensor *mask);
/**
 * Replace the mask of a trained parameter. Masked elements become zero, with what the optimizer keeps for them.
 *
 * The call waits. The results of an earlier forward cannot be used afterwards. After a failure the graph's masks have
 * not changed. husk_graph_error() has the text.
 *
 * @param mask `bytes` bytes of host memory, one for each element, 0 where it is to stay zero; NULL removes the mask
 */
HUSK_API husk_status husk_graph_set_mask(husk_graph *graph, size_t index, const void *mask, uint64_t bytes);

/* ---- quantization ---------------------------------------------------------------------------------------- */

/**
 * The calibration of a network that is to be quantized.
 *
 * @par What is quantized
 * Convolutions and matrix products (linear layers) of f32 graphs whose weights are a parameter that nothing else reads.
 * Matrix products must have two dimensions, an alpha of 1, an A that is not transposed, and a bias of [n] or none. All
 * other nodes stay in f32.
 *
 * @par How
 * - Weights are w = scale[k] q, with q from -127 to 127. The scale of an output channel k is 1/127 of its largest
 *   magnitude.
 * - Inputs are x = scale (q - zero), with q from 0 to 255. Each node has one scale and one zero point, from the range
 *   between the smallest and the largest number observed, extended to include 0.
 * - Sums are exact (husk/ops/quantized_conv.h, husk/ops/quantized_gemm.h). They become f32 again, with bias and
 *   activation.
 *
 * @par In the file
 * | tensor | content |
 * | --- | --- |
 * | NAME | i8, in place of the weight NAME |
 * | NAME_scale | f32 [k] |
 * | NODE.input_scale | f32 [], of the node NODE |
 * | NODE.input_zero | u8 [], of the node NODE |
 * | others | all other parameters and statistics, unchanged |
 */
typedef struct husk_calibration husk_calibration;

/** Create a calibration of a compiled graph, which must outlive it. It is refused if nothing can be quantized. */
HUSK_API husk_status husk_calibration_create(husk_graph *graph, husk_calibration **calibration, husk_error *error);
/** Release the calibration. */
HUSK_API void husk_calibration_release(husk_calibration *calibration);
/**
 * Run husk_graph_forward() in evaluation on the content of the inputs, and record the ranges of what is to be
 * quantized. The call waits. A range with NaN or infinity is refused and not recorded; the error names its node.
 */
HUSK_API husk_status husk_calibration_observe(husk_calibration *calibration, husk_error *error);
/** Write the quantized network, as husk_safetensors_write() does. At least one observation is needed. */
HUSK_API husk_status husk_calibration_save(const husk_calibration *calibration, const char *path, husk_error *error);

/**
 * Quantize a graph before husk_graph_compile(): convolutions and products whose weights have eight bits in the file
 * become quantized ones. The graph is then for evaluation only, and needs the parameters of the same file
 * (husk_graph_load() with HUSK_LOAD_WEIGHTS).
 *
 * A file without such a weight is refused, and so is a file with wrong information about one. After
 * HUSK_INVALID_ARGUMENT and HUSK_IO the graph has not changed. HUSK_OUT_OF_HOST_MEMORY may be an error in building
 * (husk_graph_error()).
 *
 * Each NODE.input_scale and NODE.input_zero becomes part of the graph:
 * - husk_graph_load() refuses a file with another value, such as the same network calibrated on other data.
 * - husk_graph_write() refuses another value, and accepts the same.
 * - husk_graph_write_tensor() refuses any.
 * - They must not be written through husk_graph_tensor().
 *
 * @param count receives how many nodes were quantized; may be NULL
 */
HUSK_API husk_status husk_graph_quantize(husk_graph *graph, const husk_safetensors *file, size_t *count,
                                         husk_error *error);

/* ---- distillation ---------------------------------------------------------------------------------------- */

/** Options of husk_graph_distillation(). */
typedef struct husk_distillation_params {
    uint32_t size;     /**< sizeof this struct; husk_distillation_defaults() sets it. */
    float temperature; /**< The divisor of both networks' logits, above 0. */
    float weight;      /**< Of the teacher's part, 0 to 1. */
} husk_distillation_params;

/** The defaults, to be changed afterwards: temperature 4, weight 0.9. NULL params mean the same. */
static inline husk_distillation_params husk_distillation_defaults(void)
{
    husk_distillation_params made = HUSK_ZEROS;
    made.size = (uint32_t)sizeof made;
    made.temperature = 4;
    made.weight = 0.9f;
    return made;
}

/**
 * The loss of a student that learns from a teacher's logits, and from labels if there are any (arXiv 1503.02531):
 *
 *     weight T^2 / N sum over rows and classes of p (log p - log q) + (1 - weight) cross entropy(x, labels)
 *     p = softmax(teacher / T), q = softmax(x / T), T the temperature, N the rows
 *
 * It is made of nodes whose names begin with this one's and a dot.
 *
 * @param x the student's logits, [C] or [N, C, space...], with the classes in dimension 1
 * @param teacher the teacher's logits, as x. It gets no gradient. It is an input that is written from the output of
 *   another graph on the same queue (husk_graph_tensor(), husk_graph_write_tensor()), or a frozen part of this graph.
 * @param labels as for husk_graph_loss() with CROSS_ENTROPY; or #HUSK_NO_VALUE, and then weight is 1
 */
HUSK_API husk_value husk_graph_distillation(husk_graph *graph, const char *name, const husk_distillation_params *params,
                                            husk_value x, husk_value teacher, husk_value labels);

HUSK_END_DECLS

#endif
