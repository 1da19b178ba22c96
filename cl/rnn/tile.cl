// SPDX-License-Identifier: MIT
// Recurrent steps for GPUs: vanilla tanh and ReLU, LSTM, GRU with either reset.
//
// One launch is one time step (for the GRU with its reset before the product, one of two passes of it). The
// products of the inputs with their weights, for all time steps, come ready from one matrix multiplication;
// a work-group does a tile of TILE_UNITS hidden units and TILE_THREADS * THREAD_ROWS sequences: all gates of
// h R^T, through double-buffered tiles in local memory, and the gates at the end.
// A work-item has one hidden unit, all of its gates, and THREAD_ROWS sequences. keeps: as in rnn/panel.cl.
// Local memory: 8 * BLOCK_K * (gates * TILE_UNITS + TILE_THREADS * THREAD_ROWS) bytes, of doubles twice that.
//
// With K_SLICES the sums are divided among so many times as many work-items, and weights and states come straight from
// the caches: where there are fewer tiles than compute units a step is as long as its longest chain of loads. Local
// memory: 4 * (K_SLICES - 1) * gates * TILE_UNITS * TILE_THREADS * THREAD_ROWS bytes, of doubles twice that.
// After Appleyard et al., "Optimizing performance of recurrent neural networks on GPUs", arXiv 1604.01946.
//
//   -DCELL=0..3            0 vanilla, 1 LSTM, 2 GRU with the reset after the product, 3 before it
//   -DTILE_UNITS=16|32     hidden units of a work-group, one a work-item of dimension 0; the panels' width
//   -DTILE_THREADS=4|8     work-items of dimension 1
//   -DTHREAD_ROWS=1|2|4    sequences of a work-item
//   -DBLOCK_K=8..32        rows of weights in local memory at a time; or
//   -DK_SLICES=2..8        work-items of dimension 2
#ifndef CELL
#error "CELL, the recurrent cell, is not set: the host passes -DCELL=0..3"
#endif
#ifndef TILE_UNITS
#error "TILE_UNITS, the hidden units of a work-group, is not set: the host passes -DTILE_UNITS=16 or 32"
#endif
#ifndef TILE_THREADS
#error "TILE_THREADS, the work-items of dimension 1, is not set: the host passes -DTILE_THREADS=4 or 8"
#endif
#ifndef THREAD_ROWS
#error "THREAD_ROWS, the sequences of a work-item, is not set: the host passes -DTHREAD_ROWS=1, 2 or 4"
#endif
#if !defined(BLOCK_K) && !defined(K_SLICES)
#error "neither BLOCK_K, the rows of weights in local memory, nor K_SLICES is set: the host passes one of them"
#endif

#include "lib/dtype.clh"
#define ACT_T acc_t
#include "lib/activation.clh"

#define CELL_VANILLA 0
#define CELL_LSTM 1
#define CELL_GRU_AFTER 2
#define CELL_GRU_BEFORE 3

// Gates in all, and gates of the first pass.
#if CELL == CELL_LSTM
#define GATES 4
#define FIRST_GATES 4
#elif CELL == CELL_GRU_AFTER
#define GATES 3
#define FIRST_GATES 3
#elif CELL == CELL_GRU_BEFORE
#define GATES 3
#define FIRST_GATES 2
#else
#define GATES 1
#define FIRST_GATES 1
#endif

#define PASS_SECOND 2

#define TILE_ROWS (TILE_THREADS * THREAD_ROWS)
#define THREADS (TILE_UNITS * TILE_THREADS)
#define TILE_COLUMNS (FIRST_GATES * TILE_UNITS)

#ifdef K_SLICES
#define GROUP_SLICES K_SLICES
#else
#define GROUP_SLICES 1
// Rows k_begin... of a panel and of the states into local memory; zeros past the last k and sequence.
inline void load_tiles(__local acc_t *weights, __local acc_t *states, const __global data_t *panel,
                       const __global data_t *h, long h_row, int columns, int rows, int k_begin, int hidden,
                       int thread)
{
    const int count = min(hidden - k_begin, BLOCK_K) * columns;
    const __global data_t *from = panel + (long)k_begin * columns;
    for (int i = thread; i < BLOCK_K * columns; i += THREADS)
        weights[i] = i < count ? from[i] : 0.0f;
    for (int i = thread; i < BLOCK_K * TILE_ROWS; i += THREADS) {
        const int row = (uint)i / BLOCK_K;
        const int k = (uint)i % BLOCK_K;
        const int is_there = row < rows && k_begin + k < hidden;
        states[k * TILE_ROWS + row] = is_there ? h[row * h_row + k_begin + k] : 0.0f;
    }
}
#endif

// The arguments are those of husk_rnn_panel (rnn/panel.cl) up to relu. Work-groups of dimension 0 are tiles of
// sequences, each its panels: NVIDIA's other dimensions end at 65,535. Work-group (x, 0, z) does one pass of time step
// `step` of direction z.
// registers husk_rnn_tile K_SLICES=4: nvidia 256, amd 200
// registers husk_rnn_tile DTYPE_F64 THREAD_ROWS=4: nvidia 112, amd 128
// registers husk_rnn_tile CELL=0: nvidia 64, amd 40
// registers husk_rnn_tile CELL=3 THREAD_ROWS=4: nvidia 80, amd 48
// registers husk_rnn_tile: nvidia 72, amd 80
__attribute__((reqd_work_group_size(TILE_UNITS, TILE_THREADS, GROUP_SLICES)))
__kernel void husk_rnn_tile(__global data_t *inputs_base, long inputs_offset,
                            long inputs_time, long inputs_direction, int inputs_first,
                            int inputs_first_reverse, int inputs_by_step,
                            const __global data_t *restrict packed_base, long packed_offset,
                            long packed_direction, const __global int *restrict lengths_base,
                            long lengths_offset, int has_lengths, const __global data_t *restrict h0_base,
                            long h0_offset, long h0_row, long h0_direction, int has_h0,
                            const __global data_t *restrict c0_base, long c0_offset, long c0_row,
                            long c0_direction, int has_c0, __global data_t *restrict y_base, long y_offset,
                            long y_time, long y_row, __global data_t *restrict h_n_base, long h_n_offset,
                            long h_n_row, long h_n_direction, int has_h_n,
                            __global data_t *restrict c_n_base, long c_n_offset, long c_n_row,
                            long c_n_direction, int has_c_n, __global data_t *scratch_base,
                            long scratch_offset, int steps_total, int batch, int hidden, int relu, int keeps,
                            int step, int pass)
{
    const int lane = get_local_id(0);
    const int thread = get_local_id(1) * TILE_UNITS + lane;
    const int panels = (hidden + TILE_UNITS - 1) / TILE_UNITS;
    const int tile = (uint)get_group_id(0) / (uint)panels;
    const int panel = (uint)get_group_id(0) - (uint)tile * (uint)panels;
    const int unit = panel * TILE_UNITS + lane;
    const int first_row = tile * TILE_ROWS;
    const int my_row = get_local_id(1) * THREAD_ROWS;
    const long direction = get_group_id(2);

    // Scratch of a direction: two hidden states written in turn, the cell state (or the update gate between
    // the passes), and r . h.
    const long pitch = (long)panels * TILE_UNITS;
    const long state_size = batch * pitch;
    __global data_t *states = scratch_base + scratch_offset + direction * 4 * state_size;
    __global data_t *cell = states + 2 * state_size;
    __global data_t *reset_hidden = states + 3 * state_size;
    const int second = CELL == CELL_GRU_BEFORE && pass == PASS_SECOND;
    const int gates = second ? 1 : FIRST_GATES;
    const int columns = gates * TILE_UNITS;

    const __global data_t *packed = packed_base + packed_offset + direction * packed_direction;
    const __global data_t *weights =
        packed + (second ? pitch * FIRST_GATES * hidden : 0) + (long)panel * columns * hidden;
    const __global data_t *bias =
        packed + pitch * GATES * hidden + (second ? pitch * FIRST_GATES : 0) + panel * columns + lane;

    // The state before this step: the caller's at first, then ours.
    const int has_old = step > 0 || has_h0;
    const long old_row = step > 0 ? pitch : h0_row;
    const __global data_t *old = step > 0 ? states + ((step - 1) & 1) * state_size
                                          : h0_base + h0_offset + direction * h0_direction;
    const __global data_t *factor = second ? reset_hidden : old;
    const long factor_row = second ? pitch : old_row;

    acc_t sums[THREAD_ROWS][FIRST_GATES];
#pragma unroll
    for (int r = 0; r < THREAD_ROWS; ++r)
#pragma unroll
        for (int g = 0; g < FIRST_GATES; ++g)
            sums[r][g] = 0.0f;

    const int k_end = has_old ? hidden : 0;
    const int rows = min(batch - first_row, TILE_ROWS);
    const __global data_t *h_tile = factor + first_row * factor_row;
#ifdef K_SLICES
    // An item's sums over a slice of k: its own unit's columns, and rows of states, those past the last the last one's.
    const int slice = (int)get_local_id(2);
    const int share = (k_end + 4 * K_SLICES - 1) / (4 * K_SLICES) * 4;
    const int k_stop = min(slice * share + share, k_end);
    const int is_aligned = ((uintptr_t)h_tile & (4 * DATA_BYTES - 1)) == 0 && factor_row % 4 == 0;
    const __global data_t *state_rows[THREAD_ROWS];
#pragma unroll
    for (int r = 0; r < THREAD_ROWS; ++r)
        state_rows[r] = h_tile + min(my_row + r, rows - 1) * factor_row;
#pragma unroll 4
    for (int k = slice * share; k < k_stop; k += 4) {
        const __global data_t *from = weights + (long)k * columns + lane;
        acc_t column[4][FIRST_GATES];
#pragma unroll
        for (int q = 0; q < 4; ++q)
#pragma unroll
            for (int g = 0; g < FIRST_GATES; ++g)
                column[q][g] = g < gates && k + q < k_stop ? from[q * columns + g * TILE_UNITS] : 0.0f;
#pragma unroll
        for (int r = 0; r < THREAD_ROWS; ++r) {
            ACC4 four = (ACC4)(0.0f);
            const __global data_t *state = state_rows[r] + k;
            if (is_aligned && k + 4 <= k_stop) {
                four = *(const __global ACC4 *)state;
            } else {
                four.x = state[0];
                four.y = k + 1 < k_stop ? state[1] : 0.0f;
                four.z = k + 2 < k_stop ? state[2] : 0.0f;
                four.w = k + 3 < k_stop ? state[3] : 0.0f;
            }
#pragma unroll
            for (int g = 0; g < FIRST_GATES; ++g) {
                acc_t sum = sums[r][g];
                sum = MAD(four.x, column[0][g], sum);
                sum = MAD(four.y, column[1][g], sum);
                sum = MAD(four.z, column[2][g], sum);
                sums[r][g] = MAD(four.w, column[3][g], sum);
            }
        }
    }
    __local acc_t parts[K_SLICES - 1][THREAD_ROWS * FIRST_GATES][THREADS];
    if (slice > 0) {
#pragma unroll
        for (int i = 0; i < THREAD_ROWS * FIRST_GATES; ++i)
            parts[slice - 1][i][thread] = sums[i / FIRST_GATES][i % FIRST_GATES];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (slice > 0)
        return;
#pragma unroll
    for (int i = 0; i < THREAD_ROWS * FIRST_GATES; ++i)
#pragma unroll
        for (int s = 0; s < K_SLICES - 1; ++s)
            sums[i / FIRST_GATES][i % FIRST_GATES] += parts[s][i][thread];
#else
    __local acc_t weights_tile[2][BLOCK_K * TILE_COLUMNS];
    __local acc_t states_tile[2][BLOCK_K * TILE_ROWS];
    if (k_end > 0)
        load_tiles(weights_tile[0], states_tile[0], weights, h_tile, factor_row, columns, rows, 0, hidden,
                   thread);
    for (int k = 0, buffer = 0; k < k_end; k += BLOCK_K, buffer ^= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (k + BLOCK_K < k_end)
            load_tiles(weights_tile[buffer ^ 1], states_tile[buffer ^ 1], weights, h_tile, factor_row,
                       columns, rows, k + BLOCK_K, hidden, thread);
#pragma unroll 4
        for (int q = 0; q < BLOCK_K; ++q) {
            acc_t column[FIRST_GATES];
#pragma unroll
            for (int g = 0; g < FIRST_GATES; ++g)
                column[g] = g < gates ? weights_tile[buffer][q * columns + g * TILE_UNITS + lane] : 0.0f;
#pragma unroll
            for (int r = 0; r < THREAD_ROWS; ++r) {
                const acc_t element = states_tile[buffer][q * TILE_ROWS + my_row + r];
#pragma unroll
                for (int g = 0; g < FIRST_GATES; ++g)
                    sums[r][g] = MAD(element, column[g], sums[r][g]);
            }
        }
    }
#endif

    // The gates, as in finish_cell of rnn/panel.cl. Units of the padding are made of zeros and stay zero.
    const int is_unit = unit < hidden;
#pragma unroll
    for (int r = 0; r < THREAD_ROWS; ++r) {
        const int b = first_row + my_row + r;
        if (b >= batch)
            continue;
        const int length =
            has_lengths ? clamp(lengths_base[lengths_offset + b], 0, steps_total) : steps_total;
        const int running = step < length;
        const int last = length > 0 ? step == length - 1 : step == 0;
        const int time = direction == 1 && running ? length - 1 - step : step;
        const int by_step = direction == 1 && inputs_by_step;
        const long row = (by_step ? step : time) - (direction == 1 ? inputs_first_reverse : inputs_first);
        __global data_t *input = inputs_base + inputs_offset + direction * inputs_direction + row * inputs_time +
                                 b * (inputs_time / batch) + unit;
#define SUM(gate) (sums[r][gate] + bias[(gate) * TILE_UNITS])
#define INPUT(gate) (is_unit ? input[(long)(gate) * hidden] : 0.0f)
#define KEEP(gate, value) \
    if (keeps && is_unit) \
        input[(long)(gate) * hidden] = value;
        acc_t h = is_unit && has_old ? old[b * old_row + unit] : 0.0f;
        acc_t c = 0.0f;
#if CELL == CELL_LSTM
        if (step > 0)
            c = cell[b * pitch + unit];
        else if (has_c0 && is_unit)
            c = c0_base[c0_offset + direction * c0_direction + b * c0_row + unit];
#endif
        if (running) {
#if CELL == CELL_LSTM
            const acc_t candidate = tanh(INPUT(2) + SUM(2));
            const acc_t in = act_sigmoid(INPUT(0) + SUM(0)), forget = act_sigmoid(INPUT(1) + SUM(1));
            const acc_t out = act_sigmoid(INPUT(3) + SUM(3));
            c = MAD(forget, c, in * candidate);
            h = out * tanh(c);
            KEEP(0, in)
            KEEP(1, forget)
            KEEP(2, candidate)
            KEEP(3, out)
            KEEP(4, c)
#elif CELL == CELL_GRU_AFTER
            const acc_t reset = act_sigmoid(INPUT(0) + SUM(0));
            const acc_t update = act_sigmoid(INPUT(1) + SUM(1));
            const acc_t candidate = tanh(MAD(reset, SUM(2), INPUT(2)));
            h = MAD(update, h - candidate, candidate);
            KEEP(0, reset)
            KEEP(1, update)
            KEEP(2, candidate)
            KEEP(3, SUM(2))
#elif CELL == CELL_GRU_BEFORE
            if (second) {
                const acc_t candidate = tanh(INPUT(2) + SUM(0));
                h = MAD(cell[b * pitch + unit], h - candidate, candidate);
                KEEP(2, candidate)
            } else {
                const acc_t reset = act_sigmoid(INPUT(0) + SUM(0));
                c = act_sigmoid(INPUT(1) + SUM(1));
                h *= reset;
                KEEP(0, reset)
                KEEP(1, c)
            }
#else
            const acc_t sum = INPUT(0) + SUM(0);
            h = relu ? (sum < 0.0f ? 0.0f : sum) : tanh(sum);
            KEEP(0, h)
#endif
        }
#undef SUM
#undef INPUT
#undef KEEP
#if CELL == CELL_GRU_BEFORE
        if (!second) {
            cell[b * pitch + unit] = c;
            reset_hidden[b * pitch + unit] = running ? h : 0.0f;
            continue;
        }
#endif
        states[(step & 1) * state_size + b * pitch + unit] = running ? h : 0.0f;
#if CELL == CELL_LSTM
        cell[b * pitch + unit] = running ? c : 0.0f;
#endif
        if (!is_unit)
            continue;
        y_base[y_offset + time * y_time + b * y_row + direction * hidden + unit] = running ? h : 0.0f;
        if (last && has_h_n)
            h_n_base[h_n_offset + direction * h_n_direction + b * h_n_row + unit] = h;
#if CELL == CELL_LSTM
        if (last && has_c_n)
            c_n_base[c_n_offset + direction * c_n_direction + b * c_n_row + unit] = c;
#endif
    }
}
