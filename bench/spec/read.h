/* SPDX-License-Identifier: MIT */
/* bench/spec/read.h: files that describe kernels, in our grammar (spec/description.h) or in T1 (spec/t1.h). */
#ifndef BENCH_SPEC_READ_H
#define BENCH_SPEC_READ_H

#include "spec/description.h"

/* A file whose first character is { is read as T1. False: reason. */
bool bench_description_read(const char *path, bench_description *description, char reason[BENCH_REASON_TEXT]);

#endif
