/* SPDX-License-Identifier: MIT */
/*
 * bench/cases/husk_job.h: a case as the library runs it. bench/cases/<op>.c says what to call; worker/husk_runner.c
 * owns everything here.
 */
#ifndef BENCH_CASES_HUSK_JOB_H
#define BENCH_CASES_HUSK_JOB_H

#include "cases/case.h"
#include "cases/operands.h"

/* One set of operands on the device. A tensor whose buffer is NULL is not there. */
typedef struct bench_husk_set {
    husk_tensor x, w, bias, y, indices, lengths, h0, c0, h_n, c_n;
    husk_tensor dy, saved[BENCH_SAVED], gradients[BENCH_GRADIENTS]; /* for gradients; y is the first that is wanted */
    husk_tensor *layer_tensors;      /* rnn: input, hidden, input_bias, hidden_bias of each */
    husk_rnn_weights *layer_weights; /* pointing into layer_tensors */
} bench_husk_set;

typedef struct bench_husk_job {
    const bench_case *c;
    const bench_data *data;
    const char *form; /* a variant's name, or NULL */
    husk_context *context;
    husk_queue *queue;
    husk_plan *plan; /* for packed=1; NULL otherwise */
    husk_packed *packed;
    husk_tensor packed_w; /* stands for packed */
    bench_husk_set *sets;
    int copies;
    int next;         /* the set that the next run takes */
    double error_factor; /* of a composed case: the widest of its multiplications */
    husk_error error; /* of husk_prepare; that of husk_enqueue is on the queue */
} bench_husk_job;

/* NULL for a tensor that is not there. */
static inline const husk_tensor *bench_optional(const husk_tensor *tensor)
{
    return tensor->buffer || tensor->packed ? tensor : NULL;
}

/*
 * What packing for job->plan answered. The chosen variant may take weights as they are: then the plan runs
 * with plain ones, and that is what packed=1 measures. A variant that was named must be able to.
 */
static inline husk_status bench_job_packed(bench_husk_job *job, husk_status status)
{
    if (status == HUSK_UNSUPPORTED && !job->form)
        return HUSK_OK;
    if (status != HUSK_OK)
        job->error = *husk_queue_error(job->queue);
    return status;
}

#endif
