/* SPDX-License-Identifier: MIT */
/*
 * husk/dist.h: one network trained by several processes, over MPI. libhusk_dist, which stands on libhusk_train's public
 * calls alone; link it beside the others (husk::husk_dist, or pkg-config husk_dist). docs/distributed.md says how such
 * programs are started.
 *
 *     husk_dist_create                    this process is a rank of a run
 *     husk_dist_context_create            its device
 *     husk_parallel_create                the same graph in every rank: each has a part of every batch
 *     husk_parallel_step                  instead of husk_graph_step
 *     husk_pipeline_create, _step         or: a part of the network in every rank
 *     husk_dist_release                   the end of the run
 *
 * What is sent goes through a thread of the library's. That thread alone calls MPI between husk_dist_create and
 * husk_dist_release; where MPI gives MPI_THREAD_MULTIPLE, as it is asked to, the program may do so, too.
 *
 * No wait is endless. A rank that fails tells the others, a rank that dies or stops is noticed by its silence, and one
 * that does not come to a common call by the patience of those who wait. From then on every call here answers with the
 * sentence that names the rank and what has happened, and the program has to end: husk_dist_release ends all ranks
 * (MPI_Abort). Where the program does not come to it within two seconds, the library does that itself, with the
 * sentence given to `log`. What MPI does by itself no patience bounds: MPI_Init, which comes to its end when all ranks
 * have called it, and what husk_dist_create makes of their communicator once all have come to it.
 *
 * Calls that are marked "together" have to be made by all ranks, in the same order. Objects belong to one thread.
 */
#ifndef HUSK_DIST_H
#define HUSK_DIST_H

#include <husk/train.h>

HUSK_BEGIN_DECLS

/* A process among the ranks of a run. */
typedef struct husk_dist husk_dist;

/* Zero means the default throughout. */
typedef struct husk_dist_params {
    uint32_t size;            /* sizeof this struct: HUSK_DIST_PARAMS sets it */
    uint32_t silence_ms;      /* a rank that is not heard from for so long is lost; at least 100, default 5000 */
    uint32_t patience_ms;     /* so long a rank waits for another in a common call; default 600000 */
    const void *communicator; /* an MPI_Comm *, which is duplicated; NULL: MPI_COMM_WORLD */
    husk_log_callback log;    /* receives, in rank 0, which rank is which process; and the library's last words,
                                 from its thread, which without a log are a line on stderr */
    void *log_user;
} husk_dist_params;

#define HUSK_DIST_PARAMS(...) HUSK_MAKE(husk_dist_params, __VA_ARGS__)

/*
 * Together. Initialises MPI where nobody has; otherwise at least MPI_THREAD_SERIALIZED has to have been given. Ranks
 * whose libraries have different versions are refused, and all are where one breaks a rule of params. HUSK_TIMEOUT
 * where not all have come within patience_ms: there will be no run, and MPI, if it was initialised here, is left
 * without MPI_Finalize, which would wait for them. params: NULL for the defaults.
 */
HUSK_API husk_status husk_dist_create(const husk_dist_params *params, husk_dist **dist, husk_error *error);
/*
 * Together. Waits for the others, and finalises MPI where husk_dist_create has initialised it. After a failure it ends
 * all ranks and does not return. What was made with it has to be released before; NULL may be released, too.
 */
HUSK_API void husk_dist_release(husk_dist *dist);

HUSK_API int32_t husk_dist_rank(const husk_dist *dist);
HUSK_API int32_t husk_dist_count(const husk_dist *dist);
/* Among the ranks of this machine. */
HUSK_API int32_t husk_dist_local_rank(const husk_dist *dist);
HUSK_API int32_t husk_dist_local_count(const husk_dist *dist);
/* The last failure of a call with this, or with what was made with it. Never NULL. */
HUSK_API const husk_error *husk_dist_error(const husk_dist *dist);

/*
 * A context on this rank's device. wish is as husk_device_list_select takes it (NULL: HUSK_DEVICE, and where that is
 * unset the default device). "P:D" is that device in every rank. Otherwise the wish chooses a device, and the ranks of
 * this machine are dealt out over all that are like it (platform, class and name), by their local ranks: with four such
 * GPUs and eight ranks two share each. A machine's ranks share its CPU.
 */
HUSK_API husk_status husk_dist_context_create(husk_dist *dist, const char *wish, const husk_context_params *params,
                                              husk_context **context, husk_error *error);

/*
 * Tell all ranks that this one cannot go on: their next call, or the one that they are in, answers with this status and
 * text. Calls of this header do so themselves when what they need fails.
 */
HUSK_API void husk_dist_fail(husk_dist *dist, const husk_error *error);

/*
 * Together: each of the values summed over all ranks, in their order, so that all have the same bits. At most 65536.
 * Here and below ranks whose numbers of values or bytes differ are refused.
 */
HUSK_API husk_status husk_dist_sum(husk_dist *dist, double *values, size_t count);
/* Together: rank 0's bytes in all ranks. */
HUSK_API husk_status husk_dist_broadcast(husk_dist *dist, void *data, size_t bytes);
/* Together: nobody goes on before all have come. */
HUSK_API husk_status husk_dist_barrier(husk_dist *dist);

/* ---- data parallel --------------------------------------------------------------------------------------- */

/*
 * The same graph in every rank. Each computes the gradients of its part of the batch (husk_feed_params.shards and
 * .shard); while backward goes on, the buckets that are finished are summed over the ranks and divided by their number.
 * Each rank then updates its own parameters, which so stay alike to the bit, unless they are `mixed`.
 *
 * A bucket is cut into as many pieces as there are ranks; each rank sums one of them, in the order of the ranks and in
 * double, and sends the sum to the others. So the bits follow from data, seed and number of ranks alone.
 */
typedef struct husk_parallel husk_parallel;

typedef struct husk_parallel_params {
    uint32_t size;         /* sizeof this struct: HUSK_PARALLEL_PARAMS sets it */
    uint32_t mixed;        /* not 0: ranks may have devices, drivers or variants of the update that differ: see
                              husk_parallel_settle */
    uint32_t check_finite; /* not 0: husk_parallel_step looks at the loss, as husk_graph_check_finite; it waits then */
    uint64_t part_bytes;   /* larger buckets are sent in parts of this; default 16 MiB; 4 KiB to 1 GiB */
} husk_parallel_params;

#define HUSK_PARALLEL_PARAMS(...) HUSK_MAKE(husk_parallel_params, __VA_ARGS__)

/*
 * Together. graph: compiled, and the caller's; it takes over husk_graph_on_bucket. Graphs whose parameters or buckets
 * differ, and devices, drivers or husk_graph_update_variants that do and are not `mixed`, are refused by a text that
 * says which rank has what. Parameters, statistics, the optimizer's states, masks of pruning, the loss scale and the
 * position become those of rank 0, and are compared by a hash; so rank 0 alone loads a checkpoint, before this call,
 * and between updates. Seeds and the rate are each rank's own: with the same seed in all ranks dropout's masks are the
 * same in the parts of a batch. A rank that resumes from rank 0's checkpoint itself takes its seed, too. Afterwards all
 * ranks prune, by the same call.
 */
HUSK_API husk_status husk_parallel_create(husk_dist *dist, husk_graph *graph, const husk_parallel_params *params,
                                          husk_parallel **parallel, husk_error *error);
HUSK_API void husk_parallel_release(husk_parallel *parallel);

/*
 * Together. Forward in training and backward; and, when it is the last of the graph's `accumulate` batches, the
 * gradients' mean over the ranks and the update. It returns when all of it is enqueued. A loss that weights labels, or
 * ignores some, divides by what its own rank has of them: the mean over the ranks is then not the whole batch's.
 */
HUSK_API husk_status husk_parallel_step(husk_parallel *parallel);
/* The same without the update, whose gradients can be looked at before husk_graph_update. */
HUSK_API husk_status husk_parallel_backward(husk_parallel *parallel);

/*
 * Together, before an evaluation or a checkpoint: the running statistics of batch normalisation, which each rank takes
 * from its part of the batches, become their mean over the ranks; and a hash tells whether all ranks have the same
 * parameters, states and masks of pruning.
 *
 * With `mixed` each device rounds roots, quotients and sums in its own way, so that the ranks' parameters come apart by
 * last bits from the first update on. Then rank 0's parameters, states and masks become everybody's here. Between two
 * of these calls nothing else brings the ranks together: make one after every so many updates.
 */
HUSK_API husk_status husk_parallel_settle(husk_parallel *parallel);

/*
 * When the parts of the last step's gradients were on their way; nanoseconds of CLOCK_MONOTONIC. With one rank there
 * are none.
 */
typedef struct husk_parallel_exchange {
    uint32_t size;       /* sizeof this struct: HUSK_PARALLEL_EXCHANGE sets it */
    uint64_t bytes;
    uint64_t enqueued_ns;/* backward was enqueued up to the part's end */
    uint64_t ready_ns;   /* the device has finished it */
    uint64_t summed_ns;  /* this rank's piece is summed */
    uint64_t ended_ns;   /* the means are on their way to the device */
} husk_parallel_exchange;

#define HUSK_PARALLEL_EXCHANGE(...) HUSK_MAKE(husk_parallel_exchange, __VA_ARGS__)

HUSK_API size_t husk_parallel_exchange_count(const husk_parallel *parallel);
HUSK_API husk_status husk_parallel_exchange_at(husk_parallel *parallel, size_t index,
                                               husk_parallel_exchange *exchange);

/* ---- pipelines ------------------------------------------------------------------------------------------- */

/*
 * A part of the network in every rank, a stage, in the order of the ranks: what comes out of one goes into the next,
 * and gradients go back. A batch goes through in micro-batches, so that the stages compute at the same time: each has
 * as many forwards ahead as there are stages behind it, then one backward and one forward in turn (1F1B; Narayanan et
 * al.: PipeDream, 2019, with the gradients of all micro-batches in one update as in Huang et al.: GPipe, 2019). Each
 * stage updates its own parameters. Sums go over micro-batches in their order, so a run repeats to the bit, and gives
 * what one rank does with the whole network and `accumulate`.
 */
typedef struct husk_pipeline husk_pipeline;

/* A tensor between two stages. */
typedef struct husk_pipeline_link {
    const char *value;    /* an output of the one stage's graph, an input of the other's */
    const char *gradient; /* husk_graph_output_gradient's and husk_graph_input_gradient's name; NULL: there is none */
} husk_pipeline_link;

/* In which the program writes what the stage takes from outside, labels say, for the micro-batch. */
typedef husk_status (*husk_pipeline_callback)(void *user, husk_graph *graph, uint32_t micro_batch);

typedef struct husk_pipeline_params {
    uint32_t size;           /* sizeof this struct: HUSK_PIPELINE_PARAMS sets it */
    uint32_t micro_batches;  /* of a step, in all ranks; 1 to 512, and has no default */
    const husk_pipeline_link *previous; /* from the stage before, in the order in which that has them as `next` */
    size_t previous_count;              /* at most 8; none in the first stage */
    const husk_pipeline_link *next;     /* to the stage behind */
    size_t next_count;                  /* at most 8; none in the last stage */
    const char *loss;                   /* the last stage's, by its name; NULL elsewhere */
    husk_pipeline_callback load;        /* before each forward, in their order; NULL: nothing is to be done */
    void *load_user;
} husk_pipeline_params;

#define HUSK_PIPELINE_PARAMS(...) HUSK_MAKE(husk_pipeline_params, __VA_ARGS__)

/* How many micro-batches this rank's stage has under way: what its graph's options have to have as micro_batches. */
HUSK_API uint32_t husk_pipeline_depth(const husk_dist *dist, uint32_t micro_batches);
/*
 * Together. graph: this stage's, compiled with an optimizer, `accumulate` of params' micro_batches, and `micro_batches`
 * of husk_pipeline_depth; the caller's. Stages whose links do not fit are refused by a text that says which. A link has
 * at most 2^30 bytes, and its tensors are packed: a view that is not, or attention's result, goes through
 * husk_graph_copy or husk_graph_output, whose name is then the link's.
 */
HUSK_API husk_status husk_pipeline_create(husk_dist *dist, husk_graph *graph, const husk_pipeline_params *params,
                                          husk_pipeline **pipeline, husk_error *error);
HUSK_API void husk_pipeline_release(husk_pipeline *pipeline);
/*
 * Together: all micro-batches forward and backward, and the update. It returns when all of this stage's work is
 * enqueued.
 */
HUSK_API husk_status husk_pipeline_step(husk_pipeline *pipeline);
/* Together: the mean of the last step's losses, in all ranks. */
HUSK_API husk_status husk_pipeline_loss(husk_pipeline *pipeline, double *loss);

HUSK_END_DECLS

#endif
