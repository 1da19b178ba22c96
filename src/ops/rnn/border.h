/* SPDX-License-Identifier: MIT */
/*
 * ops/rnn/border.h: recurrent layers of f16 and bf16 as f32 in scratch memory.
 */
#ifndef HUSK_OPS_RNN_BORDER_H
#define HUSK_OPS_RNN_BORDER_H

#include "ops/rnn/problem.h"

enum { HUSK__RNN_BORDER_TENSORS = 16 + 8 * HUSK__RNN_MAX_WEIGHTS };

/* f32 stand-ins for a run's tensors, one after the other from element `next` of the buffer on. */
typedef struct husk__rnn_border {
    husk_buffer *buffer;
    int64_t next;
    husk_status status; /* of the first conversion that failed */
    int count;
    husk_tensor tensors[HUSK__RNN_BORDER_TENSORS];
    husk_rnn_weights weights[HUSK__RNN_MAX_WEIGHTS];
    husk_rnn_inputs inputs;
    husk_rnn_outputs outputs;
    husk__rnn_run run;
} husk__rnn_border;

/* Nothing yet, from a byte offset of the buffer on. */
static inline void husk__rnn_border_begin(husk__rnn_border *border, husk_buffer *buffer, uint64_t byte_offset)
{
    border->buffer = buffer;
    border->next = (int64_t)(byte_offset / sizeof(float));
    border->status = HUSK_OK;
    border->count = 0;
}

/* A stand-in for a tensor (NULL for NULL), its values copied into it, or back out of it. */
const husk_tensor *husk__rnn_border_place(husk__rnn_border *border, const husk_tensor *tensor);
const husk_tensor *husk__rnn_border_in(husk__rnn_border *border, husk_queue *queue, const husk_tensor *tensor);
void husk__rnn_border_out(husk__rnn_border *border, husk_queue *queue, const husk_tensor *made,
                          const husk_tensor *tensor);
void husk__rnn_border_weights(husk__rnn_border *border, husk_queue *queue, const husk_rnn_weights *weights,
                              int64_t count, husk_rnn_weights *made);

/* All tensors of a forward run in, and border->run to be done instead; then the outputs out. */
husk_status husk__rnn_enter(const husk__rnn_problem *problem, husk_queue *queue, const husk__rnn_run *run,
                            husk__rnn_border *border);
husk_status husk__rnn_leave(husk_queue *queue, const husk__rnn_run *run, husk__rnn_border *border);

#endif
