/* SPDX-License-Identifier: MIT */
/*
 * bench/baseline/baselines.h: the runners beside husk. Which are there depends on the libraries found
 * (HUSK_WITH_ONEDNN, HUSK_WITH_BLAS, HUSK_WITH_CLBLAST).
 */
#ifndef BENCH_BASELINE_BASELINES_H
#define BENCH_BASELINE_BASELINES_H

#include "worker/runner.h"

extern const bench_runner bench_runner_ref;
extern const bench_runner bench_runner_onednn;
extern const bench_runner bench_runner_blas;
extern const bench_runner bench_runner_clblast;

#endif
