/* SPDX-License-Identifier: MIT */
/*
 * bench/worker/kernel_runner.h: kernels that somebody has described, as a runner: prepared, verified, and timed like
 * everybody's. "prepare" has in place of "case"
 *     kernel: {path, spec, config, size, seed}    the description's file, and the point (worker/described.h)
 * and a suite's entries, whose `kernel` is handed on to it, have beside these
 *     text            "saxpy WG=64 n=1000", by which results are told apart
 *     name            of the kernel, "saxpy"
 *     configuration   "WG=64", or "" without parameters
 *     operation       the operator's case by which its result is expected; or null
 *     compares        whether anything is expected of its results
 *     options         what it is compiled with there, "-DWG=64"; sizes: the values by their names; values: those of the
 *                     parameters
 */
#ifndef BENCH_WORKER_KERNEL_RUNNER_H
#define BENCH_WORKER_KERNEL_RUNNER_H

#include "worker/runner.h"

extern const bench_runner bench_runner_kernel;

#endif
