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

typedef struct husk_graph_options {
    uint32_t size;          /* sizeof this struct: HUSK_GRAPH_OPTIONS sets it */
    husk_value loss;        /* of rank 0, what is minimised; HUSK_NO_VALUE: evaluation alone, without any gradient,
                               unless husk_graph_output_gradient gives one */
    const husk_optimizer_params *optimizer; /* kind, rate and the rest; NULL: there are no updates. step, scale, skip
                                               and copy are not looked at */
    float clip_norm;        /* gradients are scaled so that their norm is this at most; 0: they are not */
    uint32_t accumulate;    /* batches a step of the optimizer, whose gradients' mean is taken; 0 means 1 */
    uint64_t memory_limit;  /* bytes for all of husk_graph_memory; 0: what the context's budget has left */
    uint64_t bucket_bytes;  /* gradients are cut into buckets of this at least, but the last; 0 means 4 MiB */
    uint32_t keep_values;   /* not 0: every value has memory of its own, and can be read by its name */
    uint32_t check_finite;  /* not 0: husk_graph_step looks at the loss, as husk_graph_check_finite; it waits then */
    uint32_t cold;          /* not 0: compiling does not run a step on zeros, so the first one builds the programs */
    uint32_t micro_batches; /* how many may be between their forward and their backward (pipelines); 0 means 1. Each
                               has inputs, outputs and an arena of its own: husk_graph_micro_batch */
    float clip_value;       /* each element of a gradient is brought into [-clip_value, clip_value], before clip_norm is
                               looked at; 0: it is not */
} husk_graph_options;

#define HUSK_GRAPH_OPTIONS(...) (husk_graph_options) { .size = sizeof(husk_graph_options), __VA_ARGS__ }

/* Bytes of device memory, all of them known before any is allocated. */
typedef struct husk_graph_memory {
    uint64_t parameters; /* with statistics, frozen ones, and what fills up to 64 bytes after each */
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
 */
HUSK_API husk_status husk_graph_compile(husk_graph *graph, const husk_graph_options *options, husk_error *error);
HUSK_API void husk_graph_memory_used(const husk_graph *graph, husk_graph_memory *memory);

/* ---- steps ----------------------------------------------------------------------------------------------- */

typedef enum husk_graph_mode {
    HUSK_GRAPH_EVALUATION = 0, /* no dropout; running statistics are used */
    HUSK_GRAPH_TRAINING = 1    /* dropout; the batch's statistics are used, and the running ones updated */
} husk_graph_mode;

/* These enqueue; texts of failures are husk_graph_error's. */
HUSK_API husk_status husk_graph_forward(husk_graph *graph, husk_graph_mode mode);
/*
 * After a forward in training: gradients are written, or added to those of earlier batches of the same step. Refused
 * where an input, a parameter or a statistic that forward has read was written since, or an update has come between.
 * A failure drops all batches of the step: they have to come again.
 */
HUSK_API husk_status husk_graph_backward(husk_graph *graph);
/* Clip, and let the optimizer go a step, once `accumulate` backwards were done; refused before. */
HUSK_API husk_status husk_graph_update(husk_graph *graph);
/* Forward in training, backward, and the update when it is due. */
HUSK_API husk_status husk_graph_step(husk_graph *graph);

/*
 * From now on inputs, outputs and what forward leaves for backward are those of this one of the `micro_batches`, which
 * count from 0. At the beginning it is 0.
 */
HUSK_API husk_status husk_graph_micro_batch(husk_graph *graph, uint32_t index);

/* The learning rate from now on. */
HUSK_API husk_status husk_graph_set_rate(husk_graph *graph, float rate);

/* How far training has come: with parameters, statistics and states it is all that a resumed run needs. */
typedef struct husk_graph_position {
    uint64_t updates; /* of the optimizer */
    uint64_t batches; /* backwards done; dropout's masks count them */
} husk_graph_position;

HUSK_API husk_graph_position husk_graph_get_position(const husk_graph *graph);
/* Between updates: gradients of a step that was begun are dropped. */
HUSK_API husk_status husk_graph_set_position(husk_graph *graph, husk_graph_position position);

/*
 * HUSK_OK where the loss is finite. Else INVALID_ARGUMENT, and the text names the batch and the first tensor that holds
 * NaN or infinity: an input, a parameter, or what a node computed, looked for by computing the batch once more. To be
 * asked after forward or backward in training and before the update. Waits. With options.check_finite running
 * statistics are then what they were before the batch, so that another one may take its place; without it they are
 * what the batch has made them.
 */
HUSK_API husk_status husk_graph_check_finite(husk_graph *graph);

/* ---- values ---------------------------------------------------------------------------------------------- */

/*
 * An input, a parameter or a statistic, and for reading an output too, by its name: all of its elements, packed, in its
 * dtype; reading gathers those of a view that is not. bytes must be their size. write returns when host may be reused,
 * read when it is filled.
 */
HUSK_API husk_status husk_graph_write(husk_graph *graph, const char *name, const void *host, uint64_t bytes);
HUSK_API husk_status husk_graph_read(husk_graph *graph, const char *name, void *host, uint64_t bytes);
/*
 * An input, a parameter or a statistic from device memory, such as a batch of husk_feed_next, ordered on the graph's
 * queue. Same dtype and shape; the first dimension may be smaller: what is behind it stays as it is.
 */
HUSK_API husk_status husk_graph_write_tensor(husk_graph *graph, const char *name, const husk_tensor *from);
/* Where an input, a parameter, a statistic or an output lies. The buffer is the graph's. */
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

#define HUSK_PARAMETER() (husk_parameter) { .size = sizeof(husk_parameter) }

/* Of a compiled graph, in the order in which they were made. */
HUSK_API size_t husk_graph_parameter_count(const husk_graph *graph);
HUSK_API husk_status husk_graph_parameter_at(husk_graph *graph, size_t index, husk_parameter *parameter);

/*
 * All trained parameters lie one after the other, and their gradients and states in the same order, with gaps of zeros
 * between them: the order in which backward finishes the gradients. A bucket is a part of the gradients that ends where
 * one does: when backward has come to its end, `ready` is called, from inside husk_graph_backward (and _step), with
 * what finishes the bucket enqueued. Only the last of `accumulate` batches calls it.
 */
typedef struct husk_bucket {
    uint32_t size;      /* sizeof this struct: HUSK_BUCKET sets it */
    husk_tensor values; /* of rank 1 */
    husk_tensor gradients;
} husk_bucket;

#define HUSK_BUCKET() (husk_bucket) { .size = sizeof(husk_bucket) }

HUSK_API size_t husk_graph_bucket_count(const husk_graph *graph);
HUSK_API husk_status husk_graph_bucket_at(husk_graph *graph, size_t index, husk_bucket *bucket);
typedef husk_status (*husk_bucket_callback)(void *user, husk_graph *graph, size_t index);
HUSK_API void husk_graph_on_bucket(husk_graph *graph, husk_bucket_callback ready, void *user);

HUSK_END_DECLS

#endif
