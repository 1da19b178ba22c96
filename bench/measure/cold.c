// SPDX-License-Identifier: MIT
#include "measure/cold.h"

#include <math.h>

#include "cases/size.h"

#define MOST_COPIES 4096

// Together they are twice the cache. Gaps between rows are never in it, and take memory nevertheless.
int bench_cold_copies(const bench_case *c, double cache_bytes, double room)
{
    const double bytes = bench_case_bytes(c);
    double copies = bytes > 0 ? ceil(2 * cache_bytes / bytes) : 0;
    copies = copies < 2 ? 2 : copies; // one that is larger than that still finds nothing of the run before
    if (!(bytes > 0) || copies > MOST_COPIES || copies * bench_case_operands(c) > room)
        return 0;
    return (int)copies;
}
