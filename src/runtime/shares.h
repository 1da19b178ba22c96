/* SPDX-License-Identifier: MIT */
/*
 * runtime/shares.h: who does which share of a launch: a queue's table of cl/lib/shares.clh.
 */
#ifndef HUSK_RUNTIME_SHARES_H
#define HUSK_RUNTIME_SHARES_H

#include <CL/cl.h>

#include <husk/queue.h>

/* What HUSK__ARG_SHARES gives a kernel; NULL with an OpenCL code where there is no memory for it. */
cl_mem husk__queue_shares(husk_queue *queue, cl_int *code);

#endif
