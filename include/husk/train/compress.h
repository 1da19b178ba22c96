/* SPDX-License-Identifier: MIT */
/*
 * husk/train/compress.h: networks made smaller.
 *
 * Pruning: the weights of smallest magnitude become zero and stay it while the others are trained on
 * (arXiv 1506.02626).
 *
 *     husk_graph_prune(graph, &HUSK_PRUNE_PARAMS(.share = 0.8), NULL, &error);     after training
 *     ... husk_graph_step ...                                                      fine-tuning
 *
 * Quantisation after training: weights of eight bits, which make a network a quarter as large, and inputs of eight
 * bits, whose ranges calibration sees on some batches (arXiv 2004.09602).
 *
 *     husk_calibration_create(graph, &calibration, &error);                        a trained graph, compiled
 *     husk_graph_write(graph, "images", ...);
 *     husk_calibration_observe(calibration, &error);                               some batches
 *     husk_calibration_save(calibration, "int8.safetensors", &error);
 *
 *     husk_graph_quantize(other, file, NULL, &error);                              the same network, built anew
 *     husk_graph_compile(other, NULL, &error);                                     for evaluation
 *     husk_graph_load(other, file, &HUSK_LOAD_PARAMS(.mode = HUSK_LOAD_WEIGHTS), NULL, &error);
 *
 * Distillation: a small network learns what a large one answers, not only what is right (arXiv 1503.02531).
 *
 *     loss = husk_graph_distillation(student, "loss", NULL, logits, teacher_logits, labels);
 */
#ifndef HUSK_TRAIN_COMPRESS_H
#define HUSK_TRAIN_COMPRESS_H

#include <husk/train/safetensors.h>
#include <husk/train/step.h>

HUSK_BEGIN_DECLS

/* ---- pruning --------------------------------------------------------------------------------------------- */

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

#define HUSK_PRUNE_PARAMS(...) HUSK_MAKE(husk_prune_params, __VA_ARGS__)

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
/*
 * The mask of the parameter that husk_graph_parameter_at gives for this index: u8 of its shape, 0 where it stays zero.
 * The buffer is the graph's until it is pruned, given another mask or loaded anew, and NULL where the parameter has no
 * mask. Of a compiled graph; texts of failures are husk_graph_error's.
 */
HUSK_API husk_status husk_graph_mask_at(husk_graph *graph, size_t index, husk_tensor *mask);
/*
 * The same from elsewhere, in the place of what there is: bytes of host memory, one for each element of a trained
 * parameter, 0 where it is to stay zero. There it becomes zero, and what the optimizer keeps of it, too. NULL: the
 * parameter has no mask any more. Waits; a forward that was done is of no use afterwards. After a failure the graph's
 * masks are as they were. Texts are husk_graph_error's.
 */
HUSK_API husk_status husk_graph_set_mask(husk_graph *graph, size_t index, const void *mask, uint64_t bytes);

/* ---- quantisation ---------------------------------------------------------------------------------------- */

/*
 * Which: convolutions and matrix products (linear layers) of f32 graphs whose weights are a parameter that nothing else
 * reads; of products those of two dimensions, with alpha of 1, A not transposed, and a bias of [n] or none. All other
 * nodes stay as they are, in f32.
 *
 * How: weights w = scale[k] q, q from -127 to 127, a scale for each output channel k, that of its largest magnitude
 * over 127. Inputs x = scale (q - zero), q from 0 to 255, one scale and zero point a node, of the range from the
 * smallest to the largest number that was observed, with 0. Sums are exact (husk/ops/quantized_conv.h,
 * quantized_gemm.h) and become f32 again, with bias and activation.
 *
 * In the file: NAME i8 in the place of a weight NAME; NAME_scale f32 [k]; and of the node NODE, NODE.input_scale f32 []
 * and NODE.input_zero u8 []. All other parameters and statistics as they are.
 */
typedef struct husk_calibration husk_calibration;

/* Of a compiled graph, which has to outlive it. Refused where nothing can be quantized. */
HUSK_API husk_status husk_calibration_create(husk_graph *graph, husk_calibration **calibration, husk_error *error);
HUSK_API void husk_calibration_release(husk_calibration *calibration);
/*
 * husk_graph_forward in evaluation on what the inputs hold, while the ranges of what is to be quantized are noted.
 * Waits. A range with NaN or infinity is refused by its node's name, and not noted.
 */
HUSK_API husk_status husk_calibration_observe(husk_calibration *calibration, husk_error *error);
/* Write the quantized network, as husk_safetensors_write does it. After one observation at least. */
HUSK_API husk_status husk_calibration_save(const husk_calibration *calibration, const char *path, husk_error *error);

/*
 * Before husk_graph_compile: convolutions and products whose weights have eight bits in the file become those of eight
 * bits. count, which may be NULL, receives how many; none is refused, and so is what the file says wrongly of one. The
 * graph is then for evaluation alone, and wants the same file's parameters (husk_graph_load, HUSK_LOAD_WEIGHTS). After
 * INVALID_ARGUMENT and IO the graph is as it was; OUT_OF_HOST_MEMORY may be an error in building (husk_graph_error).
 *
 * Each NODE.input_scale and NODE.input_zero is part of the graph from here on: husk_graph_load refuses a file that has
 * another, such as the same network calibrated on other data, and so do husk_graph_write another number and
 * husk_graph_write_tensor any. The same is taken. Nobody may write them where husk_graph_tensor says they lie.
 */
HUSK_API husk_status husk_graph_quantize(husk_graph *graph, const husk_safetensors *file, size_t *count,
                                         husk_error *error);

/* ---- distillation ---------------------------------------------------------------------------------------- */

typedef struct husk_distillation_params {
    uint32_t size;     /* sizeof this struct: husk_distillation_defaults sets it */
    float temperature; /* by which both networks' logits are divided, above 0 */
    float weight;      /* of the teacher's part, 0 to 1 */
} husk_distillation_params;

/* To be changed afterwards: temperature 4, weight 0.9. NULL params are these. */
static inline husk_distillation_params husk_distillation_defaults(void)
{
    husk_distillation_params made = HUSK_ZEROS;
    made.size = (uint32_t)sizeof made;
    made.temperature = 4;
    made.weight = 0.9f;
    return made;
}

/*
 * The loss of a student that learns from a teacher's logits, and from labels where there are some (arXiv 1503.02531):
 *
 *     weight T^2 / N sum over rows and classes of p (log p - log q) + (1 - weight) cross entropy(x, labels)
 *     p = softmax(teacher / T), q = softmax(x / T), T the temperature, N the rows
 *
 * x and teacher: [C] or [N, C, space...], the classes in dimension 1. labels as husk_graph_loss has them for
 * CROSS_ENTROPY, or HUSK_NO_VALUE: then weight is 1. teacher gets no gradient: an input, written from the output of
 * another graph on the same queue (husk_graph_tensor, husk_graph_write_tensor), or a frozen part of this graph. Made of
 * nodes whose names begin with this one's and a dot.
 */
HUSK_API husk_value husk_graph_distillation(husk_graph *graph, const char *name,
                                            const husk_distillation_params *params, husk_value x, husk_value teacher,
                                            husk_value labels);

HUSK_END_DECLS

#endif
