/* SPDX-License-Identifier: MIT */
/*
 * bench/measure/cold.h: how many sets of operands a case is measured with whose operands are to come from memory.
 */
#ifndef BENCH_MEASURE_COLD_H
#define BENCH_MEASURE_COLD_H

#include "cases/case.h"

/*
 * Sets of operands of which a run finds nothing in a cache of so many bytes when their turn comes again. 0: they would
 * be too many, or take more than room: the case is measured hot.
 */
int bench_cold_copies(const bench_case *c, double cache_bytes, double room);

#endif
