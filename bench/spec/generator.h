/* SPDX-License-Identifier: MIT */
/* bench/spec/generator.h: the numbers of what fills a buffer: uniform(-1, 1), integers(0, bins-1). */
#ifndef BENCH_SPEC_GENERATOR_H
#define BENCH_SPEC_GENERATOR_H

#include "spec/spec.h"

/* Whether the buffer's type holds what lies between a and b. False: reason. */
bool bench_generator_check(const bench_buffer *buffer, const bench_generator *generator,
                           char reason[BENCH_REASON_TEXT]);

#endif
