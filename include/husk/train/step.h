/* SPDX-License-Identifier: MIT */
/** @file
 * Compiling a graph, and its steps: forward, backward, the optimizer.
 *
 * husk_graph_compile() decides everything once: which gradients are wanted, what is fused, where each tensor lies, and
 * which plan computes it. A step is then a list of calls. Every device and every run computes the same bits from the
 * same seed, data and plans.
 *
 *     husk_graph_write(graph, "images", ...);
 *     husk_graph_write(graph, "labels", ...);
 *     husk_graph_step(graph);                      forward, backward and, after `accumulate` batches, the optimizer
 *     husk_graph_read(graph, "loss", ...);         waits
 */
#ifndef HUSK_TRAIN_STEP_H
#define HUSK_TRAIN_STEP_H

#include <husk/train/graph.h>

HUSK_BEGIN_DECLS

/**
 * Options of the loss scale (arXiv 1710.03740).
 *
 * Backward begins with the loss scale instead of 1, so that small gradients stay within f16's range. The update divides
 * by it before anything else reads the gradients. If a gradient is not finite then, the update is skipped: parameters,
 * states, and the number by which Adam counts steps do not change, and the scale gets smaller. All of this happens on
 * the device, and the host does not wait. Losses are read without the scale.
 *
 * This is torch.amp's GradScaler, and the defaults are its numbers. husk/ops/grad_scale.h has the rule.
 */
typedef struct husk_loss_scale_params {
    uint32_t size;     /**< sizeof this struct; HUSK_LOSS_SCALE_PARAMS() sets it. */
    float start;       /**< 2^-24 to 2^24; 0 means 65536. */
    float growth;      /**< The factor after `interval` good updates; 0 means 2. */
    float backoff;     /**< The factor after a skipped update; 0 means 0.5. */
    uint32_t interval; /**< 0 means 2000. */
    uint32_t fixed;    /**< Not 0: the scale does not change. */
    uint32_t none;     /**< Not 0: there is no scale, and no update is skipped. */
} husk_loss_scale_params;

/** Makes a husk_loss_scale_params; see husk/export.h. */
#define HUSK_LOSS_SCALE_PARAMS(...) HUSK_MAKE(husk_loss_scale_params, __VA_ARGS__)

/** Options of husk_graph_compile(). */
typedef struct husk_graph_options {
    uint32_t size;          /**< sizeof this struct; HUSK_GRAPH_OPTIONS() sets it. */
    /** The value that is minimised, of rank 0; f32 beside f16 and bf16. #HUSK_NO_VALUE: evaluation only, without any
     * gradient, unless husk_graph_output_gradient() gives one. */
    husk_value loss;
    /** The kind, rate and other numbers; its step, scale, skip, skipped and copy are ignored. NULL: there are no
     * updates, and a step ends with its last batch. */
    const husk_optimizer_params *optimizer;
    float clip_norm; /**< Gradients are scaled so that their norm is at most this; 0: they are not. */
    uint32_t accumulate; /**< Batches for each step of the optimizer, which uses their mean gradient; 0 means 1. */
    uint64_t memory_limit; /**< Bytes for all of husk_graph_memory; 0: what is left of the context's budget. */
    uint64_t bucket_bytes; /**< The least size of a gradient bucket, except the last; 0 means 4 MiB. */
    uint32_t keep_values; /**< Not 0: every value has its own memory, and can be read by its name. */
    /** Not 0: husk_graph_step() checks the loss, as husk_graph_check_finite() does. It then waits. */
    uint32_t check_finite;
    /** Not 0: compiling does not run a step on zeros. The first step then builds the programs. */
    uint32_t cold;
    /** How many micro-batches may be between their forward and their backward, for pipelines; 0 means 1, at most 1024.
     * Each has its own inputs, outputs and arena; see husk_graph_micro_batch(). */
    uint32_t micro_batches;
    /** Each element of a gradient is limited to [-clip_value, clip_value] before clip_norm applies; 0: it is not. */
    float clip_value;
    /** NULL: f16 graphs with a loss and an optimizer have the default loss scale, others none. If
     * husk_graph_output_gradient() gives a gradient or husk_graph_input_gradient() wants one, NULL means none and a
     * scale is refused, since these gradients are not scaled. */
    const husk_loss_scale_params *loss_scale;
    /** Not 0: compiling does not verify convolutions. By default it runs each variant that was chosen for a convolution
     * or its gradients on random numbers and compares it with the host's result; see husk_graph_compile(). */
    uint32_t unverified;
} husk_graph_options;

/** Makes a husk_graph_options; see husk/export.h. */
#define HUSK_GRAPH_OPTIONS(...) HUSK_MAKE(husk_graph_options, __VA_ARGS__)

/** Bytes of device memory. All of them are known before any is allocated. */
typedef struct husk_graph_memory {
    /** Parameters with statistics, frozen ones, padding to 64 bytes after each, and for f16 and bf16 the copies that
     * forward reads. */
    uint64_t parameters;
    uint64_t gradients; /**< Of parameters. */
    uint64_t states; /**< The optimizer's. */
    uint64_t inputs;
    uint64_t arena; /**< All else. Tensors share memory if they are not needed at the same time. */
    uint64_t unshared; /**< What the arena would be without sharing. It is not part of the total. */
    /** What a call takes from the queue. Before compiling: the maximum over convolutions, products and embeddings. The
     * scratch memory of other operators is known once compiling has run them. */
    uint64_t workspace;
    uint64_t total; /**< Without `unshared`. */
} husk_graph_memory;

/** What husk_graph_compile() would allocate. Nothing is allocated, and the graph can still be changed. */
HUSK_API husk_status husk_graph_measure(husk_graph *graph, const husk_graph_options *options, husk_graph_memory *memory,
                                        husk_error *error);

/**
 * Make the graph ready: differentiate, plan and allocate memory, make plans, build programs, initialise parameters. A
 * graph is compiled once.
 *
 * @par Verification of convolutions
 * Unless options.unverified is set, compiling finds variants of convolutions that compute wrongly on this device with
 * this driver:
 * - A warning in the context's log names the node, the operator, the variant, an element and its right value. Another
 *   variant replaces it, and is verified in turn.
 * - Equal calls are verified once. The graph then uses only the verified variants. Nothing is remembered beyond the
 *   graph.
 * - It takes some milliseconds for each convolution (docs/training.md). Before the graph's own memory is allocated, it
 *   needs memory for the tensors of one call. If that is not available, the log says that the call was not verified.
 * - The programs of convolutions are built here, even with options.cold.
 *
 * @retval HUSK_OUT_OF_MEMORY The total exceeds memory_limit. The text has the figures. Nothing was allocated.
 * @retval HUSK_UNSUPPORTED No variant of a convolution computes correctly, or the one that the node's params name does
 *   not.
 */
HUSK_API husk_status husk_graph_compile(husk_graph *graph, const husk_graph_options *options, husk_error *error);
/** The memory of a compiled graph. */
HUSK_API void husk_graph_memory_used(const husk_graph *graph, husk_graph_memory *memory);

/* ---- steps ----------------------------------------------------------------------------------------------- */

/** How forward runs. */
typedef enum husk_graph_mode {
    HUSK_GRAPH_EVALUATION = 0, /**< No dropout; running statistics are used. */
    HUSK_GRAPH_TRAINING = 1 /**< Dropout; the batch's statistics are used, and the running ones updated. */
} husk_graph_mode;

/**
 * Enqueue the forward computation. husk_graph_error() has the text of a failure, here and for the other calls of a
 * step. If forward fails in training, the running statistics may already include the batch.
 */
HUSK_API husk_status husk_graph_forward(husk_graph *graph, husk_graph_mode mode);
/**
 * Enqueue backward, after a forward in training. Gradients are written, or added to those of earlier batches of the
 * same step.
 *
 * It is refused if an input, a parameter or a statistic that forward has read was written since, or if an update came
 * in between. A failure drops all batches of the step; they have to be repeated.
 */
HUSK_API husk_status husk_graph_backward(husk_graph *graph);
/**
 * Enqueue clipping and a step of the optimizer, after `accumulate` backwards. It is refused before that. A failure
 * drops all batches of the step; they have to be repeated.
 */
HUSK_API husk_status husk_graph_update(husk_graph *graph);
/**
 * The variants that decide an update's bits, such as "grad_norm grid:64, optimizer grid", as compiling or the last
 * update has chosen them. If two processes have different ones, the same gradients give different bits.
 *
 * "with denormals" follows a variant whose programs keep denormal numbers (HUSK_QUIRK_FLUSH). The text belongs to the
 * graph. It is "" without an optimizer, and before the first update of a graph that was compiled `cold`.
 */
HUSK_API const char *husk_graph_update_variants(const husk_graph *graph);
/** Enqueue forward in training, backward and, when it is due, the update. */
HUSK_API husk_status husk_graph_step(husk_graph *graph);

/**
 * Select one of the `micro_batches`. From now on inputs, outputs, and what forward leaves for backward are its own. A
 * new graph has selected 0.
 *
 * @param index counted from 0
 */
HUSK_API husk_status husk_graph_micro_batch(husk_graph *graph, uint32_t index);

/** Set the learning rate from now on. */
HUSK_API husk_status husk_graph_set_rate(husk_graph *graph, double rate);

/**
 * How far training has come. Together with parameters, statistics, states and the loss scale, if there is one, it is
 * all that a resumed run needs.
 */
typedef struct husk_graph_position {
    uint64_t updates; /**< Of the optimizer, with the skipped ones, which husk_loss_scale counts. */
    uint64_t batches; /**< Backwards done. The masks of dropout count them. */
} husk_graph_position;

/** Read the position. */
HUSK_API husk_graph_position husk_graph_get_position(const husk_graph *graph);
/** Set the position, between updates. The gradients of a step that has begun are dropped. */
HUSK_API husk_status husk_graph_set_position(husk_graph *graph, husk_graph_position position);

/** The loss scale, and the counts of updates. */
typedef struct husk_loss_scale {
    uint32_t size; /**< sizeof this struct; HUSK_LOSS_SCALE() sets it. */
    float scale; /**< For the next batch; 0: there is none. */
    uint64_t since; /**< Good updates since the scale was set or changed. */
    uint64_t good; /**< Updates that were not skipped. They count to 2^24. */
    uint64_t skipped; /**< Updates that were skipped. */
} husk_loss_scale;

/** Makes a husk_loss_scale; see husk/export.h. */
#define HUSK_LOSS_SCALE(...) HUSK_MAKE(husk_loss_scale, __VA_ARGS__)

/** Read the loss scale. It lies on the device, so the call waits. */
HUSK_API husk_status husk_graph_get_loss_scale(husk_graph *graph, husk_loss_scale *scale);
/**
 * Set all of the loss scale, for a run that is resumed. The graph must have one. The gradients of a step that has begun
 * are dropped.
 */
HUSK_API husk_status husk_graph_set_loss_scale(husk_graph *graph, const husk_loss_scale *scale);

/**
 * Check that the loss is finite. The call waits.
 *
 * Call it after forward or backward in training, and before the update. If the loss is not finite after backward, the
 * gradients of the step are dropped, with those of its earlier batches.
 *
 * With options.check_finite the running statistics are then restored to what they were before the batch, so that
 * another batch can replace it. Without it they include the batch.
 *
 * Gradients that are not finite while the loss is finite are no error: a loss scale skips the update, which
 * husk_graph_get_loss_scale() shows.
 *
 * @retval HUSK_INVALID_ARGUMENT The loss is not finite. The text names the batch and the first tensor that has NaN or
 *   infinity: an input, a parameter, or what a node computed. It is found by computing the batch once more.
 */
HUSK_API husk_status husk_graph_check_finite(husk_graph *graph);

/* ---- values ---------------------------------------------------------------------------------------------- */

/**
 * Write an input, a parameter or a statistic by its name: all of its elements, packed, in its dtype. For f16 and bf16
 * that is f32 for parameters and statistics, and for inputs the dtype with which they were made. The call returns when
 * `host` may be reused.
 *
 * @param bytes the size of the elements
 */
HUSK_API husk_status husk_graph_write(husk_graph *graph, const char *name, const void *host, uint64_t bytes);
/**
 * Read an input, a parameter, a statistic or an output by its name, as husk_graph_write() writes it. For f16 and bf16
 * outputs are f32. The elements of a view that is not packed are gathered. The call returns when `host` is filled.
 */
HUSK_API husk_status husk_graph_read(husk_graph *graph, const char *name, void *host, uint64_t bytes);
/**
 * Write an input, a parameter or a statistic from device memory, such as a batch of husk_feed_next(). The write is
 * ordered on the graph's queue. Dtype and shape must be the same, except that the first dimension may be smaller; the
 * rest is then not changed.
 */
HUSK_API husk_status husk_graph_write_tensor(husk_graph *graph, const char *name, const husk_tensor *from);
/**
 * Where an input, a parameter, a statistic or an output lies. The buffer belongs to the graph. Before you write to a
 * parameter through it, see husk_graph_parameters_changed().
 */
HUSK_API husk_status husk_graph_tensor(husk_graph *graph, const char *name, husk_tensor *tensor);

/** The kinds of parameter. */
typedef enum husk_parameter_kind {
    HUSK_PARAMETER_TRAINED = 0,
    HUSK_PARAMETER_FROZEN = 1, /**< Frozen, or the loss does not depend on it. */
    HUSK_PARAMETER_STATISTIC = 2 /**< Of batch normalisation. */
} husk_parameter_kind;

/** A parameter of a compiled graph. Name and buffers belong to the graph. */
typedef struct husk_parameter {
    uint32_t size; /**< sizeof this struct; HUSK_PARAMETER() sets it. */
    husk_parameter_kind kind;
    const char *name;
    husk_tensor tensor;
    husk_tensor gradient; /**< TRAINED only; otherwise its buffer is NULL. */
    husk_tensor states[3]; /**< The optimizer's first, second and third; buffers it does not use are NULL. */
} husk_parameter;

/** Makes a husk_parameter; see husk/export.h. */
#define HUSK_PARAMETER(...) HUSK_MAKE(husk_parameter, __VA_ARGS__)

/** The number of parameters and statistics of a compiled graph. */
HUSK_API size_t husk_graph_parameter_count(const husk_graph *graph);
/** A parameter or statistic of a compiled graph, in the order in which they were made. */
HUSK_API husk_status husk_graph_parameter_at(husk_graph *graph, size_t index, husk_parameter *parameter);
/**
 * Tell the graph that the program has written to a parameter's memory.
 *
 * In a graph of f16 or bf16, forward reads copies of the parameters. They are made again before the first forward after
 * husk_graph_parameter_at(), husk_graph_bucket_at(), or husk_graph_tensor() of a parameter. A program that writes
 * through such a tensor later than that must make this call.
 */
HUSK_API husk_status husk_graph_parameters_changed(husk_graph *graph);

/**
 * A part of the gradients that ends where a gradient ends.
 *
 * All trained parameters lie one after the other in memory, and their gradients and states in the same order, with gaps
 * of zeros between them. It is the order in which backward finishes the gradients. With a loss scale, gradients are
 * multiplied by it until the update, and are sums instead of means.
 */
typedef struct husk_bucket {
    uint32_t size; /**< sizeof this struct; HUSK_BUCKET() sets it. */
    husk_tensor values; /**< The parameters, of rank 1. */
    husk_tensor gradients;
} husk_bucket;

/** Makes a husk_bucket; see husk/export.h. */
#define HUSK_BUCKET(...) HUSK_MAKE(husk_bucket, __VA_ARGS__)

/** The number of buckets. */
HUSK_API size_t husk_graph_bucket_count(const husk_graph *graph);
/** A bucket. */
HUSK_API husk_status husk_graph_bucket_at(husk_graph *graph, size_t index, husk_bucket *bucket);
/** Receives the index of a bucket whose gradients are enqueued. */
typedef husk_status (*husk_bucket_callback)(void *user, husk_graph *graph, size_t index);
/**
 * Call `ready` for each bucket, from inside husk_graph_backward() and husk_graph_step(), once the work that finishes
 * the bucket is enqueued. Only the last of `accumulate` batches calls it.
 */
HUSK_API void husk_graph_on_bucket(husk_graph *graph, husk_bucket_callback ready, void *user);

HUSK_END_DECLS

#endif
