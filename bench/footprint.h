/* SPDX-License-Identifier: MIT */
/*
 * bench/footprint.h: the memory that a case's operands take, which is more than what must move where rows are far apart
 * or not all are read.
 */
#ifndef BENCH_FOOTPRINT_H
#define BENCH_FOOTPRINT_H

#include "case.h"

/* Bytes of one set of operands and results, with what lies between rows. Of small cases about, of large ones close. */
double bench_case_footprint(const bench_case *c);

/*
 * Sets of operands of which a run finds nothing in a cache of so many bytes when their turn comes again. 0: they would
 * be too many, or take more than room: the case is measured hot.
 */
int bench_cold_copies(const bench_case *c, double cache_bytes, double room);

#endif
