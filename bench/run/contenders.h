/* SPDX-License-Identifier: MIT */
/* bench/run/contenders.h: every contender that was built in; husk first. */
#ifndef BENCH_RUN_CONTENDERS_H
#define BENCH_RUN_CONTENDERS_H

#include "worker/contender.h"

/* NULL past the end. */
const bench_contender *bench_contender_get(size_t index);
/* NULL when there is none of that name. */
const bench_contender *bench_contender_find(const char *name);

#endif
