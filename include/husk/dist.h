/* SPDX-License-Identifier: MIT */
/** @file
 * One network trained by several processes, over MPI.
 *
 * This is libhusk_dist, which uses only libhusk_train's public calls. Link it beside the others: husk::husk_dist, or
 * pkg-config husk_dist. docs/distributed.md describes how to start such programs.
 *
 * | call | purpose |
 * | --- | --- |
 * | husk_dist_create() | makes this process a rank of a run |
 * | husk_dist_context_create() | opens its device |
 * | husk_parallel_create() | the same graph in every rank: each has a part of every batch |
 * | husk_parallel_step() | replaces husk_graph_step() |
 * | husk_pipeline_create(), husk_pipeline_step() | or: a part of the network in every rank |
 * | husk_dist_release() | ends the run |
 *
 * Calls that are marked "Together" must be made by all ranks, in the same order. Objects belong to one thread.
 *
 * ## Threads
 *
 * A thread of the library does all communication. Between husk_dist_create() and husk_dist_release() only that thread
 * calls MPI. The program may call MPI, too, if MPI grants MPI_THREAD_MULTIPLE, which the library asks for.
 *
 * ## Failures
 *
 * No wait is endless:
 *
 * - A rank that fails tells the others.
 * - A rank that dies or stops is noticed by its silence.
 * - A rank that does not make a common call is noticed by the patience of those who wait.
 *
 * From then on every call of this header returns an error whose text names the rank and what happened, and the program
 * must end. husk_dist_release() ends all ranks (MPI_Abort). If the program does not call it within two seconds, the
 * library ends them itself, and passes the text to `log`.
 *
 * Two waits inside MPI have no limit: MPI_Init, which ends when all ranks have called it; and what husk_dist_create()
 * does with the ranks' communicator once all have reached it.
 */
#ifndef HUSK_DIST_H
#define HUSK_DIST_H

#include <husk/train.h>

HUSK_BEGIN_DECLS

/** A process among the ranks of a run. */
typedef struct husk_dist husk_dist;

/** Options of a run. Zero means the default for every member. */
typedef struct husk_dist_params {
    uint32_t size;            /**< sizeof this struct; HUSK_DIST_PARAMS() sets it. */
    uint32_t silence_ms;      /**< A rank that is silent for this time is lost; at least 100, default 5000. */
    uint32_t patience_ms;     /**< How long a rank waits for another in a common call; default 600000. */
    const void *communicator; /**< An MPI_Comm *, which is duplicated; NULL: MPI_COMM_WORLD. */
    /** Receives in rank 0 which rank is which process. If the library ends a run itself, it receives the text of the
     * failure, from the library's thread; without a log that is a line on stderr. */
    husk_log_callback log;
    void *log_user; /**< The callback's first argument. */
} husk_dist_params;

/** Makes a husk_dist_params; see husk/export.h. */
#define HUSK_DIST_PARAMS(...) HUSK_MAKE(husk_dist_params, __VA_ARGS__)

/**
 * Together. Join a run.
 *
 * The call initialises MPI if nobody has. Otherwise MPI must have granted at least MPI_THREAD_SERIALIZED. Ranks whose
 * libraries have different versions are refused. If one rank breaks a rule of params, all are refused.
 *
 * @param params NULL for the defaults
 * @retval HUSK_TIMEOUT Not all ranks have come within patience_ms. There will be no run. If MPI was initialised here,
 *   MPI_Finalize is not called, since it would wait for the missing ranks.
 */
HUSK_API husk_status husk_dist_create(const husk_dist_params *params, husk_dist **dist, husk_error *error);
/**
 * Together. Wait for the others, and finalise MPI if husk_dist_create() has initialised it. After a failure the call
 * ends all ranks and does not return. Release first what was made with `dist`. NULL may be released, too.
 */
HUSK_API void husk_dist_release(husk_dist *dist);

/** The number of this rank, from 0. */
HUSK_API int32_t husk_dist_rank(const husk_dist *dist);
/** How many ranks there are. */
HUSK_API int32_t husk_dist_count(const husk_dist *dist);
/** The number of this rank among the ranks of this machine. */
HUSK_API int32_t husk_dist_local_rank(const husk_dist *dist);
/** How many ranks this machine has. */
HUSK_API int32_t husk_dist_local_count(const husk_dist *dist);
/** The last failure of a call with `dist`, or with what was made with it. Never NULL. */
HUSK_API const husk_error *husk_dist_error(const husk_dist *dist);

/**
 * Create a context on this rank's device.
 *
 * @param preference the preference, as for husk_device_list_select(). NULL means HUSK_DEVICE and, if that is unset, the
 *   default device. "P:D" is that device in every rank. Any other preference chooses a device. The ranks of this
 *   machine are then distributed, by their local ranks, over all devices like it: those of the same platform, class and
 *   name. With four such GPUs and eight ranks, two ranks share each. The ranks of a machine share its CPU.
 */
HUSK_API husk_status husk_dist_context_create(husk_dist *dist, const char *preference,
                                              const husk_context_params *params, husk_context **context,
                                              husk_error *error);

/**
 * Tell all ranks that this one cannot continue. Their next call, or the one in which they wait, returns this status and
 * text. The calls of this header do the same when something that they need fails.
 */
HUSK_API void husk_dist_fail(husk_dist *dist, const husk_error *error);

/**
 * Together. Sum each value over all ranks, in the order of the ranks, so that all have the same bits. Ranks whose
 * numbers of values differ are refused.
 *
 * @param count at most 65536
 */
HUSK_API husk_status husk_dist_sum(husk_dist *dist, double *values, size_t count);
/** Together. Copy rank 0's bytes to all ranks. Ranks whose numbers of bytes differ are refused. */
HUSK_API husk_status husk_dist_broadcast(husk_dist *dist, void *data, size_t bytes);
/** Together. No rank continues before all have come. */
HUSK_API husk_status husk_dist_barrier(husk_dist *dist);

/* ---- data parallel --------------------------------------------------------------------------------------- */

/**
 * Data parallel training: every rank has the same graph.
 *
 * Each rank computes the gradients of its part of the batch (husk_feed_params::shards and husk_feed_params::shard).
 * While backward continues, the finished buckets are summed over the ranks and divided by the number of ranks. Each
 * rank then updates its own parameters. These stay the same to the bit, unless the ranks are `mixed`.
 *
 * A bucket is divided into as many pieces as there are ranks. Each rank sums one piece, in the order of the ranks and
 * in double, and sends the sum to the others. So the bits depend only on data, seed and the number of ranks.
 */
typedef struct husk_parallel husk_parallel;

/** Options of data parallel training. */
typedef struct husk_parallel_params {
    uint32_t size; /**< sizeof this struct; HUSK_PARALLEL_PARAMS() sets it. */
    /** Not 0: the ranks may have different devices, drivers or variants of the update; see husk_parallel_settle(). */
    uint32_t mixed;
    /** Not 0: husk_parallel_step() checks the loss, as husk_graph_check_finite() does. It then waits. */
    uint32_t check_finite;
    uint64_t part_bytes; /**< Larger buckets are sent in parts of this size: 4 KiB to 1 GiB, default 16 MiB. */
} husk_parallel_params;

/** Makes a husk_parallel_params; see husk/export.h. */
#define HUSK_PARALLEL_PARAMS(...) HUSK_MAKE(husk_parallel_params, __VA_ARGS__)

/**
 * Together. Start data parallel training.
 *
 * @par Refused
 * Ranks are refused whose graphs differ in parameters or buckets. Without `mixed`, so are ranks that differ in devices,
 * drivers or husk_graph_update_variants(). The text says which rank has what.
 *
 * @par What becomes the same
 * Parameters, statistics, the optimizer's states, masks of pruning, the loss scale and the position become those of
 * rank 0, and are compared by a hash. So only rank 0 loads a checkpoint, before this call, and between updates. Later
 * all ranks prune, by the same call.
 *
 * @par What remains each rank's own
 * Seeds and the rate. With the same seed in all ranks, dropout's masks are the same in all parts of a batch. A rank
 * that loads rank 0's checkpoint itself, to resume, gets its seed, too.
 *
 * @param graph compiled; it belongs to the caller. The call replaces the callback of husk_graph_on_bucket().
 */
HUSK_API husk_status husk_parallel_create(husk_dist *dist, husk_graph *graph, const husk_parallel_params *params,
                                          husk_parallel **parallel, husk_error *error);
/** Release the object. */
HUSK_API void husk_parallel_release(husk_parallel *parallel);

/**
 * Together. Enqueue forward in training and backward. After the last of the graph's `accumulate` batches, also enqueue
 * the mean of the gradients over the ranks, and the update. The call returns when all of it is enqueued.
 *
 * A loss that weights labels, or ignores some, divides by what its own rank has of them. The mean over the ranks is
 * then not that of the whole batch.
 */
HUSK_API husk_status husk_parallel_step(husk_parallel *parallel);
/** Together. The same without the update. The gradients can be read before husk_graph_update(). */
HUSK_API husk_status husk_parallel_backward(husk_parallel *parallel);

/**
 * Together, before an evaluation or a checkpoint.
 *
 * - The running statistics of batch normalisation, which each rank computes from its part of the batches, become their
 *   mean over the ranks.
 * - A hash shows whether all ranks have the same parameters, states and masks of pruning.
 *
 * With `mixed`, each device rounds roots, quotients and sums in its own way. The ranks' parameters then differ in their
 * last bits from the first update on, and this call gives rank 0's parameters, states and masks to all ranks. Nothing
 * else brings the ranks together between two such calls: make one after every so many updates.
 */
HUSK_API husk_status husk_parallel_settle(husk_parallel *parallel);

/**
 * When a part of the last step's gradients was exchanged, in nanoseconds of CLOCK_MONOTONIC. With one rank there are no
 * parts.
 */
typedef struct husk_parallel_exchange {
    uint32_t size; /**< sizeof this struct; HUSK_PARALLEL_EXCHANGE() sets it. */
    uint64_t bytes;
    uint64_t enqueued_ns; /**< Backward was enqueued up to the end of the part. */
    uint64_t ready_ns; /**< The device has finished it. */
    uint64_t summed_ns; /**< This rank's piece is summed. */
    uint64_t ended_ns; /**< The means are on their way to the device. */
} husk_parallel_exchange;

/** Makes a husk_parallel_exchange; see husk/export.h. */
#define HUSK_PARALLEL_EXCHANGE(...) HUSK_MAKE(husk_parallel_exchange, __VA_ARGS__)

/** The number of parts of the last step. */
HUSK_API size_t husk_parallel_exchange_count(const husk_parallel *parallel);
/** The times of a part. */
HUSK_API husk_status husk_parallel_exchange_at(husk_parallel *parallel, size_t index, husk_parallel_exchange *exchange);

/* ---- pipelines ------------------------------------------------------------------------------------------- */

/**
 * Pipeline training: every rank has a part of the network, a stage, in the order of the ranks.
 *
 * The results of a stage go to the next one, and gradients go back. A batch is divided into micro-batches, so that the
 * stages compute at the same time. Each stage runs as many forwards ahead as there are stages after it, then one
 * backward and one forward in turn: 1F1B (Narayanan et al.: PipeDream, 2019), with the gradients of all micro-batches
 * in one update (Huang et al.: GPipe, 2019). Each stage updates its own parameters.
 *
 * Sums go over micro-batches in their order. So a run is reproducible to the bit, and gives what one rank gives with
 * the whole network and `accumulate`.
 */
typedef struct husk_pipeline husk_pipeline;

/** A tensor between two stages. */
typedef struct husk_pipeline_link {
    const char *value; /**< An output of one stage's graph, and an input of the other's. */
    /** The name given to husk_graph_output_gradient() and husk_graph_input_gradient(); NULL: no gradient. */
    const char *gradient;
} husk_pipeline_link;

/** Writes what the stage takes from outside, such as labels, for a micro-batch. */
typedef husk_status (*husk_pipeline_callback)(void *user, husk_graph *graph, uint32_t micro_batch);

/** Options of a stage. */
typedef struct husk_pipeline_params {
    uint32_t size; /**< sizeof this struct; HUSK_PIPELINE_PARAMS() sets it. */
    uint32_t micro_batches; /**< In a step, the same in all ranks: 1 to 512, without a default. */
    const husk_pipeline_link *previous; /**< From the stage before, in the order of that stage's `next`. */
    size_t previous_count; /**< At most 8; 0 in the first stage. */
    const husk_pipeline_link *next; /**< To the following stage. */
    size_t next_count; /**< At most 8; 0 in the last stage. */
    const char *loss; /**< The name of the last stage's loss; NULL in other stages. */
    husk_pipeline_callback load; /**< Called before each forward, in their order; NULL: nothing to do. */
    void *load_user; /**< The callback's first argument. */
} husk_pipeline_params;

/** Makes a husk_pipeline_params; see husk/export.h. */
#define HUSK_PIPELINE_PARAMS(...) HUSK_MAKE(husk_pipeline_params, __VA_ARGS__)

/** How many micro-batches this rank's stage has under way. Compile its graph with this number as `micro_batches`. */
HUSK_API uint32_t husk_pipeline_depth(const husk_dist *dist, uint32_t micro_batches);
/**
 * Together. Start pipeline training. Stages whose links do not match are refused; the text says which.
 *
 * A link has at most 2^30 bytes, and its tensors are packed. A view that is not packed, or attention's result, must
 * pass through husk_graph_copy() or husk_graph_output(), whose name is then the link's.
 *
 * @param graph this stage's; it belongs to the caller. It is compiled with an optimizer, with params' micro_batches as
 *   `accumulate`, and with husk_pipeline_depth() as `micro_batches`.
 */
HUSK_API husk_status husk_pipeline_create(husk_dist *dist, husk_graph *graph, const husk_pipeline_params *params,
                                          husk_pipeline **pipeline, husk_error *error);
/** Release the object. */
HUSK_API void husk_pipeline_release(husk_pipeline *pipeline);
/**
 * Together. Enqueue all micro-batches forward and backward, and the update. The call returns when all of this stage's
 * work is enqueued.
 */
HUSK_API husk_status husk_pipeline_step(husk_pipeline *pipeline);
/** Together. Get the mean of the last step's losses, in all ranks. */
HUSK_API husk_status husk_pipeline_loss(husk_pipeline *pipeline, double *loss);

HUSK_END_DECLS

#endif
