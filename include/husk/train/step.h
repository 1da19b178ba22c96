/* SPDX-License-Identifier: MIT */
/*
 * husk/train/step.h: compiling a graph, and its steps: forward, backward, the optimizer.
 *
 * husk_graph_compile decides everything once: which gradients are wanted, what is fused, where each tensor lies, which
 * plan computes it. A step is then a list of calls. Every device and every run computes the same bits from the same
 * seed, data and plans.
 *
 *     husk_graph_write(graph, "images", ...);  husk_graph_write(graph, "labels", ...);
 *     husk_graph_step(graph);                      forward, backward and, after `accumulate` batches, the optimizer
 *     husk_graph_read(graph, "loss", ...);         waits
 */
#ifndef HUSK_TRAIN_STEP_H
#define HUSK_TRAIN_STEP_H

#include <husk/train/graph.h>

HUSK_BEGIN_DECLS

/*
 * The loss scale: backward begins with it instead of 1, so that small gradients stay within f16's range; the update
 * takes it out again, before anything else looks at the gradients. Where one of them is not finite then, the update is
 * skipped: parameters, states and the number that Adam counts steps by stay as they are, and the scale gets smaller.
 * All of that happens on the device, and nobody waits. Losses are read as they are. (arXiv 1710.03740; torch.amp's
 * GradScaler, whose numbers are the defaults. husk/ops/grad_scale.h has the rule.)
 */
typedef struct husk_loss_scale_params {
    uint32_t size;     /* sizeof this struct: HUSK_LOSS_SCALE_PARAMS sets it */
    float start;       /* 2^-24 to 2^24; 0 means 65536 */
    float growth;      /* what it is multiplied with after `interval` good updates; 0 means 2 */
    float backoff;     /* and after one that was skipped; 0 means 0.5 */
    uint32_t interval; /* 0 means 2000 */
    uint32_t fixed;    /* not 0: it stays as it is */
    uint32_t none;     /* not 0: there is no scale, and nothing is skipped */
} husk_loss_scale_params;

#define HUSK_LOSS_SCALE_PARAMS(...) HUSK_MAKE(husk_loss_scale_params, __VA_ARGS__)

typedef struct husk_graph_options {
    uint32_t size;          /* sizeof this struct: HUSK_GRAPH_OPTIONS sets it */
    husk_value loss;        /* of rank 0, what is minimised, f32 beside f16 and bf16; HUSK_NO_VALUE: evaluation alone,
                               without any gradient, unless husk_graph_output_gradient gives one */
    const husk_optimizer_params *optimizer; /* kind, rate and the rest; NULL: there are no updates, and a step
                                               ends with its last batch. step, scale, skip, skipped and copy are not
                                               looked at */
    float clip_norm;        /* gradients are scaled so that their norm is this at most; 0: they are not */
    uint32_t accumulate;    /* batches a step of the optimizer, whose gradients' mean is taken; 0 means 1 */
    uint64_t memory_limit;  /* bytes for all of husk_graph_memory; 0: what the context's budget has left */
    uint64_t bucket_bytes;  /* gradients are cut into buckets of this at least, but the last; 0 means 4 MiB */
    uint32_t keep_values;   /* not 0: every value has memory of its own, and can be read by its name */
    uint32_t check_finite;  /* not 0: husk_graph_step looks at the loss, as husk_graph_check_finite; it waits then */
    uint32_t cold;          /* not 0: compiling does not run a step on zeros, so the first one builds the programs */
    uint32_t micro_batches; /* how many may be between their forward and their backward (pipelines); 0 means 1, 1024
                               at most. Each has inputs, outputs and an arena of its own: husk_graph_micro_batch */
    float clip_value;       /* each element of a gradient is brought into [-clip_value, clip_value], before clip_norm is
                               looked at; 0: it is not */
    const husk_loss_scale_params *loss_scale; /* NULL: the defaults for f16 with a loss and an optimizer, unless
                               husk_graph_output_gradient gives a gradient or husk_graph_input_gradient wants one:
                               those are as they are, and refuse a scale; none for others */
    uint32_t unverified;    /* not 0: compiling does not verify convolutions. By default each variant that was chosen
                               for one or for its gradients is run on drawn numbers before the first step, and
                               compared with the host's own: see husk_graph_compile */
} husk_graph_options;

#define HUSK_GRAPH_OPTIONS(...) HUSK_MAKE(husk_graph_options, __VA_ARGS__)

/* Bytes of device memory, all of them known before any is allocated. */
typedef struct husk_graph_memory {
    uint64_t parameters; /* with statistics, frozen ones, what fills up to 64 bytes after each, and of f16 and bf16 the
                            copies that forward reads */
    uint64_t gradients;  /* of parameters */
    uint64_t states;     /* the optimizer's */
    uint64_t inputs;
    uint64_t arena;      /* all else, whose tensors share memory where they are not needed at the same time */
    uint64_t unshared;   /* what the arena would be if they did not: not part of the total */
    uint64_t workspace;  /* what a call takes from the queue. Before compiling: the most of convolutions, products and
                            embeddings; other operators' scratch is known when compiling has run them */
    uint64_t total;      /* without `unshared` */
} husk_graph_memory;

/* What husk_graph_compile would allocate. Nothing is, and the graph can still be changed. */
HUSK_API husk_status husk_graph_measure(husk_graph *graph, const husk_graph_options *options,
                                        husk_graph_memory *memory, husk_error *error);

/*
 * Make the graph ready: differentiate, plan memory, allocate it, make plans, build programs, initialise parameters.
 * Once a graph. OUT_OF_MEMORY, with the figures, before anything is allocated, where the total passes memory_limit.
 *
 * A variant of a convolution that computes wrongly on this device, with this driver, is found out here, unless
 * options.unverified says otherwise: a warning in the context's log names the node, the operator, the variant, an
 * element and what it should be; another variant takes its place and is verified in turn. Where none is right, or the
 * wrong one is what the node's params name, compiling answers UNSUPPORTED. Calls that are the same are verified once;
 * the graph then keeps to the variants that were verified, and nothing is remembered beyond it. It takes some
 * milliseconds a convolution (docs/training.md) and, before the graph's own memory is allocated, memory for one call's
 * tensors; where that is not to be had the log says that the call was not verified. The programs of convolutions are
 * built here then, even with `cold`.
 */
HUSK_API husk_status husk_graph_compile(husk_graph *graph, const husk_graph_options *options, husk_error *error);
HUSK_API void husk_graph_memory_used(const husk_graph *graph, husk_graph_memory *memory);

/* ---- steps ----------------------------------------------------------------------------------------------- */

typedef enum husk_graph_mode {
    HUSK_GRAPH_EVALUATION = 0, /* no dropout; running statistics are used */
    HUSK_GRAPH_TRAINING = 1    /* dropout; the batch's statistics are used, and the running ones updated */
} husk_graph_mode;

/*
 * These enqueue; texts of failures are husk_graph_error's. A forward in training that fails may leave running
 * statistics that have the batch in them already.
 */
HUSK_API husk_status husk_graph_forward(husk_graph *graph, husk_graph_mode mode);
/*
 * After a forward in training: gradients are written, or added to those of earlier batches of the same step. Refused
 * where an input, a parameter or a statistic that forward has read was written since, or an update has come between.
 * A failure drops all batches of the step: they have to come again.
 */
HUSK_API husk_status husk_graph_backward(husk_graph *graph);
/*
 * Clip, and let the optimizer go a step, once `accumulate` backwards were done; refused before. A failure drops all
 * batches of the step, likewise.
 */
HUSK_API husk_status husk_graph_update(husk_graph *graph);
/*
 * The variants that decide an update's bits, "grad_norm grid:64, optimizer grid", as compiling or the last update has
 * chosen them: where two processes have others, the same gradients give other bits. "with denormals"
 * stands behind one whose programs keep denormal numbers (HUSK_QUIRK_FLUSH). The graph's; "" without an
 * optimizer, and before the first update of a graph that was compiled `cold`.
 */
HUSK_API const char *husk_graph_update_variants(const husk_graph *graph);
/* Forward in training, backward, and the update when it is due. */
HUSK_API husk_status husk_graph_step(husk_graph *graph);

/*
 * From now on inputs, outputs and what forward leaves for backward are those of this one of the `micro_batches`, which
 * count from 0. At the beginning it is 0.
 */
HUSK_API husk_status husk_graph_micro_batch(husk_graph *graph, uint32_t index);

/* The learning rate from now on. */
HUSK_API husk_status husk_graph_set_rate(husk_graph *graph, double rate);

/*
 * How far training has come: with parameters, statistics and states, and the loss scale where there is one, it is all
 * that a resumed run needs.
 */
typedef struct husk_graph_position {
    uint64_t updates; /* of the optimizer, with those that were skipped: husk_loss_scale counts them */
    uint64_t batches; /* backwards done; dropout's masks count them */
} husk_graph_position;

HUSK_API husk_graph_position husk_graph_get_position(const husk_graph *graph);
/* Between updates: gradients of a step that was begun are dropped. */
HUSK_API husk_status husk_graph_set_position(husk_graph *graph, husk_graph_position position);

/* The loss scale and what has become of the updates. */
typedef struct husk_loss_scale {
    uint32_t size;    /* sizeof this struct: HUSK_LOSS_SCALE sets it */
    float scale;      /* for the next batch; 0: there is none */
    uint64_t since;   /* good updates since it was set or changed */
    uint64_t good;    /* updates that were not skipped; they count to 2^24 */
    uint64_t skipped; /* and those that were */
} husk_loss_scale;

#define HUSK_LOSS_SCALE(...) HUSK_MAKE(husk_loss_scale, __VA_ARGS__)

/* It lies on the device: this waits. */
HUSK_API husk_status husk_graph_get_loss_scale(husk_graph *graph, husk_loss_scale *scale);
/* All of it, for a run that is resumed. Of a graph that has one. Gradients of a step that was begun are dropped. */
HUSK_API husk_status husk_graph_set_loss_scale(husk_graph *graph, const husk_loss_scale *scale);

/*
 * HUSK_OK where the loss is finite. Else INVALID_ARGUMENT, and the text names the batch and the first tensor that holds
 * NaN or infinity: an input, a parameter, or what a node computed, looked for by computing the batch once more. To be
 * asked after forward or backward in training and before the update; after backward the step's gradients are dropped
 * where the loss is not finite, with those of the batches before. Waits. With options.check_finite running
 * statistics are then what they were before the batch, so that another one may take its place; without it they are
 * what the batch has made them. Gradients that are not finite while the loss is are no error: a loss scale skips the
 * update, which husk_graph_get_loss_scale tells.
 */
HUSK_API husk_status husk_graph_check_finite(husk_graph *graph);

/* ---- values ---------------------------------------------------------------------------------------------- */

/*
 * An input, a parameter or a statistic, and for reading an output too, by its name: all of its elements, packed, in its
 * dtype: f32 for parameters, statistics and outputs of f16 and bf16, for inputs that which they were made with. Reading
 * gathers those of a view that is not packed. bytes must be their size. write returns when host may be reused, read
 * when it is filled.
 */
HUSK_API husk_status husk_graph_write(husk_graph *graph, const char *name, const void *host, uint64_t bytes);
HUSK_API husk_status husk_graph_read(husk_graph *graph, const char *name, void *host, uint64_t bytes);
/*
 * An input, a parameter or a statistic from device memory, such as a batch of husk_feed_next, ordered on the graph's
 * queue. Same dtype and shape; the first dimension may be smaller: what is behind it stays as it is.
 */
HUSK_API husk_status husk_graph_write_tensor(husk_graph *graph, const char *name, const husk_tensor *from);
/* Where an input, a parameter, a statistic or an output lies. The buffer is the graph's. As for parameters below. */
HUSK_API husk_status husk_graph_tensor(husk_graph *graph, const char *name, husk_tensor *tensor);

typedef enum husk_parameter_kind {
    HUSK_PARAMETER_TRAINED = 0,
    HUSK_PARAMETER_FROZEN = 1,   /* frozen, or the loss does not depend on it */
    HUSK_PARAMETER_STATISTIC = 2 /* of batch normalisation */
} husk_parameter_kind;

typedef struct husk_parameter {
    uint32_t size;              /* sizeof this struct: HUSK_PARAMETER sets it */
    husk_parameter_kind kind;
    const char *name;           /* the graph's */
    husk_tensor tensor;         /* buffers are the graph's */
    husk_tensor gradient;       /* TRAINED alone; elsewhere its buffer is NULL */
    husk_tensor states[3];      /* what the optimizer keeps: first, second, third; NULL buffers where it keeps none */
} husk_parameter;

#define HUSK_PARAMETER(...) HUSK_MAKE(husk_parameter, __VA_ARGS__)

/*
 * Of a compiled graph, in the order in which they were made. Beside f16 and bf16 forward reads copies. They are made
 * anew before the first forward after this call, husk_graph_bucket_at or husk_graph_tensor of a parameter; a program
 * that writes through such a tensor later than that says so by husk_graph_parameters_changed.
 */
HUSK_API size_t husk_graph_parameter_count(const husk_graph *graph);
HUSK_API husk_status husk_graph_parameter_at(husk_graph *graph, size_t index, husk_parameter *parameter);
HUSK_API husk_status husk_graph_parameters_changed(husk_graph *graph);

/*
 * All trained parameters lie one after the other, and their gradients and states in the same order, with gaps of zeros
 * between them: the order in which backward finishes the gradients. A bucket is a part of the gradients that ends where
 * one does: when backward has come to its end, `ready` is called, from inside husk_graph_backward (and _step), with
 * what finishes the bucket enqueued. Only the last of `accumulate` batches calls it. With a loss scale gradients are
 * multiplied with it, and sums instead of means, until the update.
 */
typedef struct husk_bucket {
    uint32_t size;      /* sizeof this struct: HUSK_BUCKET sets it */
    husk_tensor values; /* of rank 1 */
    husk_tensor gradients;
} husk_bucket;

#define HUSK_BUCKET(...) HUSK_MAKE(husk_bucket, __VA_ARGS__)

HUSK_API size_t husk_graph_bucket_count(const husk_graph *graph);
HUSK_API husk_status husk_graph_bucket_at(husk_graph *graph, size_t index, husk_bucket *bucket);
typedef husk_status (*husk_bucket_callback)(void *user, husk_graph *graph, size_t index);
HUSK_API void husk_graph_on_bucket(husk_graph *graph, husk_bucket_callback ready, void *user);

HUSK_END_DECLS

#endif
