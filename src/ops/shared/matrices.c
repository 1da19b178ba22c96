// SPDX-License-Identifier: MIT
#include "ops/shared/matrices.h"

#include <stdbool.h>

#include "base/checked.h"

// Of A and B one matrix may serve all of C's, and is packed for each, in tiles. Their bytes, and what engines add to a
// tile, fit 64 bits.
static bool fits(int64_t batch, int64_t m, int64_t n, int64_t k)
{
    const int64_t tile = 64, most = INT64_C(1) << 56;
    const int64_t sides[] = {husk__divide_up(m, tile), husk__divide_up(n, tile), husk__divide_up(k, tile)};
    for (int i = 0; i < 3; ++i) {
        const int64_t packed[] = {batch, tile * tile, sides[i], sides[(i + 1) % 3]};
        if (!husk__product_fits(packed, 4, most))
            return false;
    }
    return true;
}

husk_status husk__matrices_check(int64_t batch, int64_t m, int64_t n, int64_t k, const husk__scope *scope)
{
    if (fits(batch, m, n, k))
        return HUSK_OK;
    return husk__reject(scope, "c", "its %lld matrices of [%lld, %lld] with k = %lld overflow", (long long)batch,
                        (long long)m, (long long)n, (long long)k);
}
