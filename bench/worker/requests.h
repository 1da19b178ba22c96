/* SPDX-License-Identifier: MIT */
/*
 * bench/worker/requests.h: requests ("do") to a worker, and what their replies hold beside "answer" (ok, unsupported,
 * error, lost) and "reason":
 *     (at the start, unasked)         name, version; of one on an OpenCL device also device; from husk notes, status
 *     forms    case                  forms: names, [] when there is only the runner's own choice
 *     prepare  case slot form        variant, configuration, choice, executed_flops, predicted_ns, error_factor,
 *                                    workspace, builds, cache_loads, prepare_ns, first_ns (the first run), cpu_ns;
 *                                    with run false it does not run; with guards its memory lies between guard bands
 *                                    (the runner `kernel` has no case: worker/kernel_runner.h)
 *     run      slot                  the first run, of one that was prepared without
 *     verify   slot seed again       pass, inconclusive, max_error, bound, max_ratio, checked, text; with again also
 *                                    repeats, where a run on the output of another comes to the same bits; of husk
 *                                    guards: intact, touched, or why nobody has looked at bands
 *     warm     slot runs ns limit_ns reset       batch (runs a sample), settled; reset: from the initial output
 *     sample   slot batch ns         samples: ns of one run each; latency_ns: of single launches
 *     check    slot seed repeats     pass, text: of what the last run has left
 *     release                        all slots and the case's data
 *     (before a reply, any number)   at: what it is doing, behind "while"
 *     (likewise)                     building: what a driver's compiler is at, null: nothing;
 *                                    mark: bench/worker/builds.h
 *     (likewise)                     first_launch: the kernel that is about to be launched for the first time
 *     any other                      is handed to the runner's own table (bench_worker_extra)
 */
#ifndef BENCH_WORKER_REQUESTS_H
#define BENCH_WORKER_REQUESTS_H

#include <stdint.h>

#define BENCH_SLOTS 8
/* Runs a sample, at most: what has not lasted long enough by then does nothing. */
#define BENCH_LONGEST_BATCH ((int64_t)1 << 30)

#endif
