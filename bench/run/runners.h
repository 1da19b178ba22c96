/* SPDX-License-Identifier: MIT */
/* bench/run/runners.h: every runner that was built in; husk first. */
#ifndef BENCH_RUN_RUNNERS_H
#define BENCH_RUN_RUNNERS_H

#include "worker/runner.h"

/* NULL past the end. */
const bench_runner *bench_runner_get(size_t index);
/* NULL when there is none of that name. */
const bench_runner *bench_runner_find(const char *name);

#endif
