/* SPDX-License-Identifier: MIT */
/* bench/spec/fill.h: what a buffer holds before the kernel runs. */
#ifndef BENCH_SPEC_FILL_H
#define BENCH_SPEC_FILL_H

#include "spec/description.h"
#include "spec/point.h"

/*
 * Writes count elements of the point's buffer. Their numbers depend on the seed, the buffer's name and their positions
 * alone. False: reason (a file that cannot be read, a formula that fails).
 */
bool bench_fill(bench_point *point, const bench_description *description, int buffer, uint64_t seed, void *data,
                char reason[BENCH_REASON_TEXT]);

/*
 * What no kernel makes by chance: NaN, or a pattern of bits. which: 0 or 1, of which integers differ in every byte, so
 * that two runs tell what was not written.
 */
void bench_fill_poison(bench_element element, void *data, int64_t count, int which);

#endif
