/* SPDX-License-Identifier: MIT */
/*
 * ops/conv/async.h: the configurations of conv's variant matrix whose tiles are filled by asynchronous copies
 * (cl/conv/async.cl). Each is what the variant's function of that name does.
 */
#ifndef HUSK_OPS_CONV_ASYNC_H
#define HUSK_OPS_CONV_ASYNC_H

#include "ops/conv/problem.h"

/* What the numbers of such a configuration mean: those of tiles.h, but for STAGES, which only these have. */
enum { HUSK__CONV_STAGES = 5 };
#define HUSK__CONV_ASYNC(side, efficiency, stages) \
    {#side "x" #side "_async" #stages, " -DSTAGES=" #stages, {side, side, 0, 0, 32, stages, efficiency}}

bool husk__conv_async_supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY]);
double husk__conv_async_cost(const husk__candidate *candidate);
uint64_t husk__conv_async_workspace(const husk__candidate *candidate);
husk_status husk__conv_async_prepare(husk_plan *plan, const husk__scope *scope);
husk_status husk__conv_async_run(const husk_plan *plan, husk_queue *queue, const void *arguments,
                                 const husk__scratch *scratch, const husk__scope *scope);

#endif
