/* SPDX-License-Identifier: MIT */
/*
 * dist/transfer.h: a tensor on its way to or from another rank.
 */
#ifndef HUSK_DIST_TRANSFER_H
#define HUSK_DIST_TRANSFER_H

#include "dist/rank.h"

enum { HUSK__MOST_MICRO_BATCHES = 512 };

/* Where it is: it waits for the device, then for host memory or for the other rank, then for the other of them. */
typedef enum husk__transfer_stage { HUSK__AT_BEGIN, HUSK__AT_HOST, HUSK__AT_WIRE } husk__transfer_stage;

/* One tensor of one micro-batch on its way to or from another rank. */
typedef struct husk__transfer {
    husk__task task;
    husk_queue *queue; /* the library's thread's; NULL: there is nothing to transfer */
    bool sends;
    int32_t peer;
    int tag;
    husk__transfer_stage stage;
    husk_buffer *buffer;
    uint64_t offset, bytes;
    char *host;
    husk_event *ready;  /* the tensor is there; or, where it arrives, may be written */
    husk_event *landed; /* it may be written again; or, where it arrives, is there */
    bool is_posted;
} husk__transfer;

/* What the library's thread does for it (husk__task). */
husk_status husk__transfer_send(husk_dist *dist, husk__task *task, bool *has_ended, husk_error *error);
husk_status husk__transfer_receive(husk_dist *dist, husk__task *task, bool *has_ended, husk_error *error);

/* It begins when the device has come to ready. is_next: it is with the next rank, not the previous one. */
void husk__transfer_post(husk_dist *dist, husk__transfer *t, uint32_t micro_batch, bool is_next, husk_event *ready);
/* The queue, which is the graph's, goes on when the transfer is done with the tensor, or has brought it. */
husk_status husk__transfer_settle(husk_dist *dist, husk__transfer *t, husk_queue *queue, const husk__dist_scope *scope);
void husk__transfer_clear(husk__transfer *t);

#endif
