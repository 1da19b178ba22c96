// SPDX-License-Identifier: MIT
// One tile of C = A B by lib/fragment.clh's words, for the host to compare with numbers it has computed itself: a
// matrix engine is used for nothing before that. Constants: see lib/fragment.clh.
//
// A is BLOCK_M rows and B BLOCK_N columns of tiles * BLOCK_K steps each, steps side by side, so that a work-group's
// items meet every way into a tile: `way` 0 one element at a time, 1 fours along k (a copy, where the engine has
// those), 2 fours across lines; where the engine has copies, 3 chunks along k and, with -DA_ACROSS and -DB_ACROSS and
// lines side by side in place of steps, 4 chunks across, as lib/fragment_async.clh has them.
#include "lib/fragment.clh"

enum { ONE_BY_ONE, ALONG_K, ACROSS_LINES, CHUNKS_ALONG_K, CHUNKS_ACROSS };

#if FRAGMENT_COPIES
#ifdef A_ACROSS
#define PROBE_ACROSS_AT(line, step) ((line) / PANEL * PANEL * BLOCK_K + across_at((line) % PANEL, step))
#else
#define PROBE_ACROSS_AT(line, step) 0
#endif

inline void probe_copy(__local tile_t *tile, int lines, const __global operand_t *from, int line_stride,
                       int step_stride, int way, uint item)
{
    for (int n = item; n < lines * BLOCK_K / CHUNK; n += GROUP_ITEMS) {
        const int across = way == CHUNKS_ACROSS;
        const int line = across ? n % (lines / CHUNK) * CHUNK : n / CHUNKS;
        const int step = across ? n / (lines / CHUNK) : n % CHUNKS * CHUNK;
        const int to = across ? PROBE_ACROSS_AT(line, step) : tile_at(line, step);
        const __global operand_t *chunk = from + line * line_stride + step * step_stride;
        if (n % 3 == 0) // each way to copy one in turn
            fragment_copy_chunk(tile + to, chunk, CHUNK);
        else if (n % 3 == 1)
            fragment_copy_whole_chunk(tile + to, chunk, 1);
        else
            fragment_copy_or_clear_chunk(tile + to, chunk, 1);
    }
    fragment_copies_group();
    fragment_copies_wait(0);
}
#endif

inline carried_four probe_across(const __global operand_t *from, int steps)
{
    return CARRIED_FOUR(carried_one(from, 1), carried_one(from + steps, 1), carried_one(from + 2 * steps, 1),
                        carried_one(from + 3 * steps, 1));
}

inline void probe_fill(__local tile_t *tile, int lines, const __global operand_t *from, int steps, int way, uint item)
{
    for (int n = item; n < lines * BLOCK_K / (way == ONE_BY_ONE ? 1 : 4); n += GROUP_ITEMS) {
        if (way == ONE_BY_ONE) {
            const int line = n / BLOCK_K, step = n % BLOCK_K;
            fragment_keep(tile, lines, line, step, carried_one(from + line * steps + step, 1));
        } else if (way == ALONG_K) {
            const int line = n / (BLOCK_K / 4), step = n % (BLOCK_K / 4) * 4;
            const __global operand_t *four = from + line * steps + step;
            if (FRAGMENT_COPIES)
                fragment_copy_four(tile, line, step, four, 4);
            else
                fragment_keep_four(tile, lines, line, step, carried_four_aligned(four, 1), 1);
        } else {
            const int line = n / FOUR_STEPS % (lines / 4) * 4;
            const int step = n / (FOUR_STEPS * (lines / 4)) * FOUR_STEPS + n % FOUR_STEPS;
            fragment_keep_four(tile, lines, line, step, probe_across(from + line * steps + step, steps), 0);
        }
    }
    fragment_copies_end();
}

// registers husk_runtime_engine_probe: nvidia 96, amd 88
__attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1))) FRAGMENT_ATTRIBUTE
__kernel void husk_runtime_engine_probe(const __global operand_t *a_base, long a_offset,
                                        const __global operand_t *b_base, long b_offset, __global sum_t *c_base,
                                        long c_offset, int tiles, int way)
{
    __local tile_t a_tile[A_TILE] __attribute__((aligned(16)));
    __local tile_t b_tile[B_TILE] __attribute__((aligned(16)));
    const uint item = get_local_id(0);
    fragment_acc acc;
    fragment_zero(&acc);
    for (int t = 0; t < tiles; ++t) {
#if FRAGMENT_COPIES
        if (way >= CHUNKS_ALONG_K) {
            const int across = way == CHUNKS_ACROSS;
            probe_copy(a_tile, BLOCK_M, a_base + a_offset + t * BLOCK_K * (across ? BLOCK_M : 1),
                       across ? 1 : tiles * BLOCK_K, across ? BLOCK_M : 1, way, item);
            probe_copy(b_tile, BLOCK_N, b_base + b_offset + t * BLOCK_K * (across ? BLOCK_N : 1),
                       across ? 1 : tiles * BLOCK_K, across ? BLOCK_N : 1, way, item);
        } else
#endif
        {
            probe_fill(a_tile, BLOCK_M, a_base + a_offset + t * BLOCK_K, tiles * BLOCK_K, way, item);
            probe_fill(b_tile, BLOCK_N, b_base + b_offset + t * BLOCK_K, tiles * BLOCK_K, way, item);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        fragment_multiply(&acc, a_tile, b_tile, item);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#pragma unroll
    for (int i = 0; i < ITEM_M; ++i)
#pragma unroll
        for (int j = 0; j < ITEM_N; ++j)
            c_base[c_offset + fragment_row(item, i) * BLOCK_N + fragment_column(item, j)] =
                fragment_value(&acc, i, j);
}
