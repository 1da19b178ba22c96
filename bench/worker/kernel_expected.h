/* SPDX-License-Identifier: MIT */
/*
 * bench/worker/kernel_expected.h: whether a described kernel's outputs are what the description expects: by formulas,
 * by the reference of one of Husk's operators, by a function of a shared object, or by a file.
 */
#ifndef BENCH_WORKER_KERNEL_EXPECTED_H
#define BENCH_WORKER_KERNEL_EXPECTED_H

#include "spec/judge.h"
#include "worker/kernel_launch.h"

/*
 * Compares what the job has read, and that inputs are what they were. False: nothing can be said (a file that is not
 * there, a case that no operator has), and reason says why.
 */
bool bench_kernel_judge(bench_kernel_job *job, uint64_t seed, bench_judgement *judgement,
                        char reason[BENCH_REASON_TEXT]);

#endif
