/* SPDX-License-Identifier: MIT */
/*
 * bench/tune/predictions.h: clbench tune --predictions: how good the library's own choice is, without databases: every
 * candidate of each case, its predicted time beside its measured one.
 */
#ifndef BENCH_TUNE_PREDICTIONS_H
#define BENCH_TUNE_PREDICTIONS_H

#include "cases/suite.h"
#include "cli/options.h"
#include "measure/runner_process.h"

/* The exit code. */
int bench_tune_predictions(bench_runner_process *husk, const bench_suite *suite, const bench_options *options);

#endif
