/* SPDX-License-Identifier: MIT */
/* bench/worker/kernel_check.h: a described kernel is run, and what it leaves is looked at. */
#ifndef BENCH_WORKER_KERNEL_CHECK_H
#define BENCH_WORKER_KERNEL_CHECK_H

#include <jansson.h>

#include "spec/judge.h"
#include "worker/kernel_launch.h"

/*
 * Runs the job `repeats` times from poison that differs, which has to come to the same bits, and in work-groups of
 * other sizes where the driver chooses them. The judgement is of the first run that is not right, or of the first.
 */
bench_answer bench_kernel_check(bench_kernel_job *job, uint64_t seed, int64_t repeats, bench_judgement *judgement,
                                char reason[BENCH_REASON_TEXT]);

/* Looks at what the last run has left: beside the buffers, and with_results in them. */
bench_answer bench_kernel_check_last(bench_kernel_job *job, uint64_t seed, bool with_results,
                                     bench_judgement *judgement, char reason[BENCH_REASON_TEXT]);

/* pass, inconclusive, checked, of, max_error, bound, max_ratio, text and by of a reply. */
void bench_kernel_put_judgement(json_t *reply, const bench_judgement *judgement);

#endif
