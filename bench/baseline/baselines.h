/* SPDX-License-Identifier: MIT */
/*
 * bench/baseline/baselines.h: the contenders beside husk. Which are there depends on the libraries found
 * (HUSK_WITH_ONEDNN, HUSK_WITH_BLAS, HUSK_WITH_CLBLAST).
 */
#ifndef BENCH_BASELINE_BASELINES_H
#define BENCH_BASELINE_BASELINES_H

#include "worker/contender.h"

extern const bench_contender bench_contender_ref;
extern const bench_contender bench_contender_onednn;
extern const bench_contender bench_contender_blas;
extern const bench_contender bench_contender_clblast;

#endif
