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
 *     husk_dist_release                   the end of the run
 *
 * What is sent goes through a thread of the library's. That thread alone calls MPI between husk_dist_create and
 * husk_dist_release; where MPI gives MPI_THREAD_MULTIPLE, as it is asked to, the program may do so, too.
 *
 * No wait is endless. A rank that fails tells the others, a rank that dies or stops is noticed by its silence, and one
 * that does not come to a common call by the patience of those who wait. From then on every call here answers with the
 * sentence that names the rank and what has happened, and the program has to end: husk_dist_release ends all ranks
 * (MPI_Abort). Where the program does not come to it within two seconds, the library does that itself, with the
 * sentence given to `log`.
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
    uint32_t silence_ms;      /* a rank that is not heard from for so long is lost; default 5000 */
    uint32_t patience_ms;     /* so long a rank waits for another in a common call; default 600000 */
    const void *communicator; /* an MPI_Comm *, which is duplicated; NULL: MPI_COMM_WORLD */
    husk_log_callback log;    /* receives the library's last words, from its thread; default: a line on stderr */
    void *log_user;
} husk_dist_params;

#define HUSK_DIST_PARAMS(...) (husk_dist_params) { .size = sizeof(husk_dist_params), __VA_ARGS__ }

/*
 * Together. Initialises MPI where nobody has; otherwise at least MPI_THREAD_SERIALIZED has to have been given. Ranks
 * whose libraries have different versions are refused. params: NULL for the defaults.
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

/* Together: each of the values summed over all ranks, in their order, so that all have the same bits. At most 65536. */
HUSK_API husk_status husk_dist_sum(husk_dist *dist, double *values, size_t count);
/* Together: rank 0's bytes in all ranks. */
HUSK_API husk_status husk_dist_broadcast(husk_dist *dist, void *data, size_t bytes);
/* Together: nobody goes on before all have come. */
HUSK_API husk_status husk_dist_barrier(husk_dist *dist);

/* ---- data parallel --------------------------------------------------------------------------------------- */

/*
 * The same graph in every rank. Each computes the gradients of its part of the batch (husk_feed_params.shards and
 * .shard); while backward goes on, the buckets that are finished are summed over the ranks and divided by their number.
 * Each rank then updates its own parameters, which so stay alike to the bit.
 *
 * A bucket is cut into as many pieces as there are ranks; each rank sums one of them, in the order of the ranks and in
 * double, and sends the sum to the others. So the bits follow from data, seed and number of ranks alone.
 */
typedef struct husk_parallel husk_parallel;

typedef struct husk_parallel_params {
    uint32_t size;         /* sizeof this struct: HUSK_PARALLEL_PARAMS sets it */
    uint32_t mixed;        /* not 0: ranks may have devices or drivers that differ */
    uint32_t check_finite; /* not 0: husk_parallel_step looks at the loss, as husk_graph_check_finite; it waits then */
    uint64_t part_bytes;   /* larger buckets are sent in parts of this; default 16 MiB, at least 4 KiB */
} husk_parallel_params;

#define HUSK_PARALLEL_PARAMS(...) (husk_parallel_params) { .size = sizeof(husk_parallel_params), __VA_ARGS__ }

/*
 * Together. graph: compiled, and the caller's; it takes over husk_graph_on_bucket. Graphs whose parameters or buckets
 * differ, and devices or drivers that do, are refused by a text that says which rank has what. Parameters, statistics,
 * the optimizer's states and the position become those of rank 0, and are compared by a hash; so rank 0 alone has to
 * load a checkpoint, before this call, and between updates. Seeds and the rate are each rank's own: with the same seed
 * in all ranks dropout's masks are the same in the parts of a batch.
 */
HUSK_API husk_status husk_parallel_create(husk_dist *dist, husk_graph *graph, const husk_parallel_params *params,
                                          husk_parallel **parallel, husk_error *error);
HUSK_API void husk_parallel_release(husk_parallel *parallel);

/*
 * Together. Forward in training and backward; and, when it is the last of the graph's `accumulate` batches, the
 * gradients' mean over the ranks and the update. It returns when all of it is enqueued.
 */
HUSK_API husk_status husk_parallel_step(husk_parallel *parallel);
/* The same without the update, whose gradients can be looked at before husk_graph_update. */
HUSK_API husk_status husk_parallel_backward(husk_parallel *parallel);

/*
 * Together, before an evaluation or a checkpoint: the running statistics of batch normalisation, which each rank takes
 * from its part of the batches, become their mean over the ranks; and a hash tells whether all ranks have the same
 * parameters and states.
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

#define HUSK_PARALLEL_EXCHANGE() (husk_parallel_exchange) { .size = sizeof(husk_parallel_exchange) }

HUSK_API size_t husk_parallel_exchange_count(const husk_parallel *parallel);
HUSK_API husk_status husk_parallel_exchange_at(husk_parallel *parallel, size_t index,
                                               husk_parallel_exchange *exchange);

HUSK_END_DECLS

#endif
