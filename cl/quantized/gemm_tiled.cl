// SPDX-License-Identifier: MIT
// Products of matrices of bytes for GPUs: work-groups of 8 x 8 work-items compute 64 x 64 sums, 8 x 8 each.
//
// STEPS quads of k (four bytes of k in a word) of 64 rows and 64 columns are fetched to local memory, 8 KiB, then each
// work-item takes 8 + 8 words for 64 dot products. Operands are read byte by byte, at any strides.
//
//   -DWG=64        work-items a work-group
//   -DACT_SMOOTH   with the transcendental activations, see lib/activation.clh
#include "lib/unroll.clh"
#include "lib/quantized_grid.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64"
#endif

#define TILE 64
#define EACH 8
#define STEPS 16

// Four bytes of k from p; those past the end are 0.
inline uint fetch_quad(const __global uchar *from, long step, int left, uint flip)
{
    uint word = 0;
    for (int q = 0; q < 4; ++q)
        word |= q < left ? ((uint)from[q * step] ^ flip) << 8 * q : 0u;
    return word;
}

// registers husk_quantized_gemm_tiled: nvidia 128, amd 256
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_quantized_gemm_tiled(const __global uchar *a_base, long a_offset, long a_row, long a_step, long a_group,
                               int flip, const __global uchar *b_base, long b_offset, long b_step, long b_column,
                               long b_group, __global uchar *c_base, long c_offset, long c_row, long c_column,
                               long c_group, int m, int n, int k, FINISH_PARAMS)
{
    __local uint rows[STEPS * TILE], columns[STEPS * TILE];
    const int item = (int)get_local_id(0), across = item % EACH, down = item / EACH;
    QUANTIZED_PLACE(TILE, TILE);
    const __global uchar *a = a_base + a_offset + matrix * a_group;
    const __global uchar *b = b_base + b_offset + matrix * b_group;
    const int quads = (k + 3) / 4;
    int sums[EACH][EACH], totals[EACH];
    UNROLL
    for (int i = 0; i < EACH; ++i) {
        totals[i] = 0;
        UNROLL
        for (int j = 0; j < EACH; ++j)
            sums[i][j] = 0;
    }
    for (int start = 0; start < quads; start += STEPS) {
        for (int i = item; i < STEPS * TILE; i += WG) {
            // Neighbours read along whatever lies side by side.
            const int p = a_step == 1 ? i % STEPS : i / TILE, row = a_step == 1 ? i / STEPS : i % TILE;
            const int left = first_row + row < m ? k - 4 * (start + p) : 0;
            rows[p * TILE + row] =
                fetch_quad(a + (first_row + row) * a_row + 4L * (start + p) * a_step, a_step, left, (uint)flip);
        }
        for (int i = item; i < STEPS * TILE; i += WG) {
            const int p = b_step == 1 ? i % STEPS : i / TILE, column = b_step == 1 ? i / STEPS : i % TILE;
            const int left = first_column + column < n ? k - 4 * (start + p) : 0;
            columns[p * TILE + column] =
                fetch_quad(b + (first_column + column) * b_column + 4L * (start + p) * b_step, b_step, left, 0);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int p = 0; p < STEPS; ++p) {
            uint left[EACH], right[EACH];
            UNROLL
            for (int i = 0; i < EACH; ++i) {
                left[i] = rows[p * TILE + down + i * EACH];
                right[i] = columns[p * TILE + across + i * EACH];
            }
            UNROLL
            for (int j = 0; j < EACH; ++j) {
                totals[j] = DOT_4(0x01010101u, right[j], totals[j]);
                UNROLL
                for (int i = 0; i < EACH; ++i)
                    sums[i][j] = DOT_4(left[i], right[j], sums[i][j]);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const long to = c_offset + matrix * c_group;
    UNROLL
    for (int i = 0; i < EACH; ++i) {
        const int row = first_row + down + i * EACH;
        UNROLL
        for (int j = 0; j < EACH; ++j) {
            const int column = first_column + across + j * EACH;
            if (row < m && column < n)
                store_sum(sums[i][j] - zero * totals[j], c_base, to + row * c_row + column * c_column, column,
                          FINISH_ARGS);
        }
    }
}
