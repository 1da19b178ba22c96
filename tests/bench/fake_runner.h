/* SPDX-License-Identifier: MIT */
/*
 * fake_runner.h: a runner that computes relu, or quantized_gemm c=i32, on the host; its name says what it does
 * wrong.
 */
#ifndef HUSK_TESTS_FAKE_RUNNER_H
#define HUSK_TESTS_FAKE_RUNNER_H

#include "worker/runner.h"

/*
 * closed, sleeps (does not open), refuses, obeys (refuses what has no form), hangs, stalls (a form of it hangs in
 * its first run), builds (a form of it hangs before), crashes, replans (says that its variant is another), wrong,
 * nothing (computes before it is timed), tires (is wrong from then on), forgets (is right in the first run after a
 * reset alone), wavers (has -0 for 0 from the second on), adds (a product, to what the run before has left), skips
 * (leaves some of quantized_gemm's sums unwritten), starvesN (from the Nth result that is read on, which has -0 for
 * 0, no memory is left until the next reset; very slow without a form), forms; any other: good.
 */
void fake_set_name(const char *name);
extern bool fake_memory_is_short;
extern const bench_runner fake_runner;

#endif
