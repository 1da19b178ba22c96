// SPDX-License-Identifier: MIT
// 32 rows by 32 columns by lib/amx.clh's words, for the host to compare with numbers it has computed itself, as
// runtime/engine_probe.cl does for engines of fragments. Constants: see lib/amx.clh.
//
// A is 32 rows and B 32 columns of tiles * PROBE_STEPS steps each, steps side by side. `way` 0 sums in one call, 1 in
// one after the other, 2 by the upper tiles alone, rows above and rows below.
#define TILE_M 16
#define TILE_NV (16 / VW)
#include "lib/amx.clh"

#if AMX_PARTS == 2
#define PROBE_STEPS 16
#else
#define PROBE_STEPS AMX_STEPS
#endif
#define PROBE_MOST 3 // tiles

enum { AT_ONCE, ONE_BY_ONE, UPPER_ALONE };

inline void probe_store(const amx_sum_t *sums, __global amx_sum_t *c, int row)
{
    for (int e = 0; e < 2 * AMX_TILE; ++e)
        c[(row + e / AMX_SIDE % AMX_SIDE) * AMX_BLOCK + e / AMX_TILE * AMX_SIDE + e % AMX_SIDE] = sums[e];
}

__attribute__((reqd_work_group_size(1, 1, 1)))
__kernel void husk_runtime_amx_probe(const __global amx_t *a_base, long a_offset, const __global amx_t *b_base,
                                     long b_offset, __global amx_sum_t *c_base, long c_offset, int tiles, int way)
{
    ONE_ITEM();
    uint a_panel[PROBE_MOST * AMX_STEP] __attribute__((aligned(64)));
    uint lower_panel[PROBE_MOST * AMX_STEP] __attribute__((aligned(64)));
    uint b_panel[PROBE_MOST * AMX_STEP] __attribute__((aligned(64)));
    amx_sum_t sums[4 * AMX_TILE] __attribute__((aligned(64)));
    const __global amx_t *a = a_base + a_offset, *b = b_base + b_offset;
    __global amx_sum_t *c = c_base + c_offset;
    const int steps = tiles * PROBE_STEPS, count = (steps + AMX_STEPS - 1) / AMX_STEPS;
    for (int t = 0; t < count; ++t)
        for (int side = 0; side < 2; ++side) {
            const int from = t * AMX_STEPS, some = min(steps - from, AMX_STEPS);
            const __global amx_t *rows = a + side * AMX_SIDE * steps + from;
            amx_pack(a_panel + t * AMX_STEP, 1, side, rows, steps, 1, AMX_SIDE, some);
            if (side)
                amx_pack(lower_panel + t * AMX_STEP, 1, 0, rows, steps, 1, AMX_SIDE, some);
            amx_pack(b_panel + t * AMX_STEP, 0, side, b + side * AMX_SIDE * steps + from, steps, 1, AMX_SIDE, some);
        }
    amx_begin();
    if (way == ONE_BY_ONE) {
        amx_multiply_first(a_panel, b_panel, 1, 1, c);
        amx_multiply_more(a_panel + AMX_STEP, b_panel + AMX_STEP, count - 1, 1, c);
        for (int e = 0; e < 4 * AMX_TILE; ++e)
            sums[e] = c[e];
    } else {
        amx_multiply(a_panel, b_panel, count, way == AT_ONCE, sums);
        if (way == UPPER_ALONE)
            amx_multiply(lower_panel, b_panel, count, 0, sums + 2 * AMX_TILE);
    }
    amx_end();
    probe_store(sums, c, 0);
    probe_store(sums + 2 * AMX_TILE, c, AMX_SIDE);
}
