// SPDX-License-Identifier: MIT
// Gradients of recurrent steps for GPUs, from the last step to the first: vanilla tanh and ReLU, LSTM, GRU with either
// reset.
//
// One launch is one time step (for the GRU with its reset before the product, one of two passes of it). The gradients
// of all gates are left in rows [time * batch], of which multiplications over all steps make the gradients of inputs,
// weights and biases afterwards. A work-group does a tile of TILE_UNITS hidden units and TILE_THREADS * THREAD_ROWS
// sequences: the product of the gates' gradients, of the step behind it, with the hidden weights, through
// double-buffered tiles in local memory, and the gates at the end. A work-item has one hidden unit and THREAD_ROWS
// sequences; the weights are read as they lie, hidden units side by side.
// Local memory: 8 * BLOCK_K * (TILE_UNITS + TILE_THREADS * THREAD_ROWS) bytes, of doubles twice that.
//
//   -DTILE_UNITS=16|32     hidden units of a work-group, one a work-item of dimension 0
//   -DTILE_THREADS=4|8     work-items of dimension 1
//   -DTHREAD_ROWS=1|2|4    sequences of a work-item
//   -DBLOCK_K=8..32        rows of weights in local memory at a time
#ifndef TILE_UNITS
#error "TILE_UNITS, the hidden units of a work-group, is not set: the host passes -DTILE_UNITS=16 or 32"
#endif
#ifndef TILE_THREADS
#error "TILE_THREADS, the work-items of dimension 1, is not set: the host passes -DTILE_THREADS=4 or 8"
#endif
#ifndef THREAD_ROWS
#error "THREAD_ROWS, the sequences of a work-item, is not set: the host passes -DTHREAD_ROWS=1, 2 or 4"
#endif
#ifndef BLOCK_K
#error "BLOCK_K, the rows of weights in local memory, is not set: the host passes -DBLOCK_K=8..32"
#endif

#include "lib/dtype.clh"
#include "lib/rnn_backward.clh"

#define TILE_ROWS (TILE_THREADS * THREAD_ROWS)
#define THREADS (TILE_UNITS * TILE_THREADS)

// Rows k_begin... of the weights and of the step buffer into local memory; zeros past the last k, unit and sequence.
inline void load_tiles(__local acc_t *weights_tile, __local acc_t *rows_tile, const __global data_t *weights,
                       long weights_row, const __global data_t *from, long from_row, int units, int rows, int k_begin,
                       int k_end, int thread)
{
    for (int i = thread; i < BLOCK_K * TILE_UNITS; i += THREADS) {
        const int k = k_begin + (uint)i / TILE_UNITS;
        const int unit = (uint)i % TILE_UNITS;
        weights_tile[i] = k < k_end && unit < units ? load_one(weights, k * weights_row + unit) : 0.0f;
    }
    for (int i = thread; i < BLOCK_K * TILE_ROWS; i += THREADS) {
        const int row = (uint)i / BLOCK_K;
        const int k = (uint)i % BLOCK_K;
        const int is_there = row < rows && k_begin + k < k_end;
        rows_tile[k * TILE_ROWS + row] = is_there ? load_one(from, row * from_row + k_begin + k) : 0.0f;
    }
}

// The slopes of sigmoid and tanh at values that they have taken.
inline acc_t sigmoid_slope(acc_t value)
{
    return value * (1.0f - value);
}

inline acc_t tanh_slope(acc_t value)
{
    return (1.0f - value) * (1.0f + value);
}

// The arguments are those of husk_rnn_backward_panel (rnn/backward_panel.cl) up to chunk_end, but for the weights,
// which are given as they lie, those of both directions. Work-groups of dimension 0 are tiles of sequences, each its
// tiles of units: NVIDIA's other dimensions end at 65,535. Work-group (x, 0, z) does one pass of time step `step` of
// direction first_direction + z; -1 stands for the initial states' gradients of sequences that end with time.
// registers husk_rnn_backward_tile DTYPE_F64 THREAD_ROWS=4: nvidia 120, amd 104
// registers husk_rnn_backward_tile DTYPE_F64: nvidia 72, amd 80
// registers husk_rnn_backward_tile THREAD_ROWS=1: nvidia 56, amd 40
// registers husk_rnn_backward_tile: nvidia 88, amd 64
__attribute__((reqd_work_group_size(TILE_UNITS, TILE_THREADS, 1)))
__kernel void husk_rnn_backward_tile(const __global data_t *restrict kept_base, long kept_offset, long kept_direction,
                                     const __global data_t *restrict weights_base, long weights_offset,
                                     const __global data_t *restrict reverse_base, long reverse_offset,
                                     long weights_row, long reverse_row, const __global int *restrict lengths_base,
                                     long lengths_offset, int has_lengths, const __global data_t *restrict h0_base,
                                     long h0_offset, long h0_row, long h0_direction, int has_h0,
                                     const __global data_t *restrict c0_base, long c0_offset, long c0_row,
                                     long c0_direction, int has_c0, const __global data_t *restrict y_base,
                                     long y_offset, long y_time, long y_row,
                                     const __global data_t *restrict dy_base, long dy_offset, long dy_time,
                                     long dy_row, int has_dy, const __global data_t *restrict dh_n_base,
                                     long dh_n_offset, long dh_n_row, long dh_n_direction, int has_dh_n,
                                     const __global data_t *restrict dc_n_base, long dc_n_offset, long dc_n_row,
                                     long dc_n_direction, int has_dc_n, __global data_t *dh0_base, long dh0_offset,
                                     long dh0_row, long dh0_direction, int has_dh0, __global data_t *dc0_base,
                                     long dc0_offset, long dc0_row, long dc0_direction, int has_dc0, int adds,
                                     __global data_t *gradients_base, long gradients_offset,
                                     long gradients_direction, __global data_t *previous_base, long previous_offset,
                                     long previous_direction, int has_previous, __global data_t *rows_base,
                                     long rows_offset, long rows_direction, int rows_pitch, int steps_total,
                                     int batch, int hidden, int cell, int first_direction, int chunk_begin,
                                     int chunk_end, int step, int pass)
{
    const int lane = get_local_id(0);
    const int thread = get_local_id(1) * TILE_UNITS + lane;
    const uint panels = ((uint)hidden + TILE_UNITS - 1) / TILE_UNITS, tile = (uint)get_group_id(0) / panels;
    const int first_unit = ((uint)get_group_id(0) - tile * panels) * TILE_UNITS;
    const int unit = first_unit + lane;
    const int first_row = tile * TILE_ROWS;
    const int my_row = get_local_id(1) * THREAD_ROWS;
    const long place = get_group_id(2);
    const long direction = first_direction + place;
    const int reverse = direction == 1;
    const int time = reverse ? steps_total - 1 - step : step;
    const int time_before = reverse ? time + 1 : time - 1;
    const int first_time = reverse ? steps_total - chunk_end : chunk_begin;
    const int second = pass == PASS_SECOND;
    const int from_step = second ? step : step + 1; // whose gates' gradients are multiplied
    const int k_begin = second ? 2 * hidden : 0;
    const int k_end = from_step >= steps_total ? k_begin
                      : second                 ? 3 * hidden
                                               : (cell == CELL_GRU_BEFORE ? 2 : gates_of(cell)) * hidden;

    const __global data_t *weights =
        (direction ? reverse_base + reverse_offset : weights_base + weights_offset) + first_unit;
    const long row_of_weights = direction ? reverse_row : weights_row;
    __global data_t *step_buffers = rows_base + rows_offset + place * rows_direction;
    __global data_t *carried = step_buffers + 2L * batch * rows_pitch;
    const __global data_t *from = step_buffers + ((from_step & 1) * (long)batch + first_row) * rows_pitch;

    __local acc_t weights_tile[2][BLOCK_K * TILE_UNITS];
    __local acc_t rows_tile[2][BLOCK_K * TILE_ROWS];
    acc_t sums[THREAD_ROWS];
#pragma unroll
    for (int r = 0; r < THREAD_ROWS; ++r)
        sums[r] = 0.0f;
    const int rows = min(batch - first_row, TILE_ROWS);
    const int units = hidden - first_unit;
    if (k_begin < k_end)
        load_tiles(weights_tile[0], rows_tile[0], weights, row_of_weights, from, rows_pitch, units, rows, k_begin,
                   k_end, thread);
    for (int k = k_begin, buffer = 0; k < k_end; k += BLOCK_K, buffer ^= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (k + BLOCK_K < k_end)
            load_tiles(weights_tile[buffer ^ 1], rows_tile[buffer ^ 1], weights, row_of_weights, from, rows_pitch,
                       units, rows, k + BLOCK_K, k_end, thread);
#pragma unroll 4
        for (int q = 0; q < BLOCK_K; ++q) {
            const acc_t column = weights_tile[buffer][q * TILE_UNITS + lane];
#pragma unroll
            for (int r = 0; r < THREAD_ROWS; ++r)
                sums[r] = MAD(rows_tile[buffer][q * TILE_ROWS + my_row + r], column, sums[r]);
        }
    }
    if (unit >= hidden)
        return;

    // The gates, as in run_panel of rnn/backward_panel.cl.
#pragma unroll
    for (int r = 0; r < THREAD_ROWS; ++r) {
        const int b = first_row + my_row + r;
        if (b >= batch)
            continue;
        const int length = has_lengths ? clamp(lengths_base[lengths_offset + b], 0, steps_total) : steps_total;
        const int running = time >= 0 && time < length;
        // Direction 1 comes to the initial states' gradients when it has passed a sequence's last time.
        const int is_initial = reverse ? time == length : step < 0;
        if (!running && (second || (step < 0 && !is_initial)))
            continue;
        const int is_first = reverse ? time_before == length : step == 0;
        const int is_last = reverse ? time == 0 : step + 1 == length;
        const long row = (long)time * batch + b;
        const long chunk_row = row - (long)first_time * batch;
        const __global data_t *kept =
            kept_base + kept_offset + direction * kept_direction + row * kept_of(cell) * hidden + unit;
        __global data_t *to = gradients_base + gradients_offset + place * gradients_direction +
                              chunk_row * columns_of(cell) * hidden + unit;
        __global data_t *step_row = step_buffers + ((step & 1) * (long)batch + b) * rows_pitch + unit;
        const int parts = cell == CELL_GRU_BEFORE ? 2 : 1;
        __global data_t *previous =
            previous_base + previous_offset + place * previous_direction + chunk_row * parts * hidden + unit;
        __global data_t *carry_at = carried + (long)b * hidden + unit;
        if (step >= 0 && !running) { // zeros, which the multiplications over all steps read
            for (int column = 0; column < columns_of(cell); ++column)
                store_one(to, (long)column * hidden, 0.0f);
            for (int gate = 0; gate < gates_of(cell); ++gate)
                store_one(step_row, (long)gate * hidden, 0.0f);
            for (int part = 0; has_previous && part < parts; ++part)
                store_one(previous, (long)part * hidden, 0.0f);
        }
        if (!running && !is_initial)
            continue;
        acc_t h = 0.0f;
        if (running && !is_first)
            h = load_one(y_base + y_offset, time_before * y_time + b * y_row + direction * hidden + unit);
        else if (running && has_h0)
            h = load_one(h0_base + h0_offset, direction * h0_direction + b * h0_row + unit);
#define GATE(gate) load_one(kept, (long)(gate) * hidden)
#define PUT(column, value) store_one(to, (long)(column) * hidden, value)
#define PUT_BOTH(column, gate, value) \
    { \
        const acc_t made = value; \
        PUT(column, made); \
        store_one(step_row, (long)(gate) * hidden, made); \
    }
        if (second) {
            const acc_t reset = GATE(0);
            PUT_BOTH(0, 0, sums[r] * h * sigmoid_slope(reset))
            if (has_previous)
                store_one(previous, hidden, reset * h);
            *carry_at = MAD(sums[r], reset, *carry_at);
            continue;
        }
        acc_t dh, carry = 0.0f;
        if (is_last) {
            dh = has_dh_n ? load_one(dh_n_base + dh_n_offset, direction * dh_n_direction + b * dh_n_row + unit) : 0.0f;
            if (cell == CELL_LSTM && has_dc_n)
                carry = load_one(dc_n_base + dc_n_offset, direction * dc_n_direction + b * dc_n_row + unit);
        } else {
            dh = sums[r];
            if (cell >= CELL_LSTM)
                carry = *carry_at;
            if (cell > CELL_LSTM)
                dh += carry;
        }
        if (is_initial) {
            __global data_t *dh0 = dh0_base + dh0_offset + direction * dh0_direction + b * dh0_row + unit;
            __global data_t *dc0 = dc0_base + dc0_offset + direction * dc0_direction + b * dc0_row + unit;
            if (has_dh0)
                store_one(dh0, 0, adds ? load_one(dh0, 0) + dh : dh);
            if (has_dc0)
                store_one(dc0, 0, adds ? load_one(dc0, 0) + carry : carry);
            continue;
        }
        if (has_dy)
            dh += load_one(dy_base + dy_offset, time * dy_time + b * dy_row + direction * hidden + unit);
        if (has_previous)
            store_one(previous, 0, h);
        if (cell == CELL_LSTM) {
            const acc_t in = GATE(0), forget = GATE(1), candidate = GATE(2), out = GATE(3), c = tanh(GATE(4));
            acc_t before = 0.0f;
            if (!is_first)
                before = load_one(kept, (long)(time_before - time) * batch * kept_of(cell) * hidden + 4L * hidden);
            else if (has_c0)
                before = load_one(c0_base + c0_offset, direction * c0_direction + b * c0_row + unit);
            const acc_t dc = MAD(dh * out, tanh_slope(c), carry);
            PUT_BOTH(0, 0, dc * candidate * sigmoid_slope(in))
            PUT_BOTH(1, 1, dc * before * sigmoid_slope(forget))
            PUT_BOTH(2, 2, dc * in * tanh_slope(candidate))
            PUT_BOTH(3, 3, dh * c * sigmoid_slope(out))
            *carry_at = dc * forget;
        } else if (cell == CELL_GRU_AFTER) {
            const acc_t reset = GATE(0), update = GATE(1), candidate = GATE(2), sum = GATE(3);
            const acc_t dn = dh * (1.0f - update) * tanh_slope(candidate);
            PUT(0, dn);
            PUT_BOTH(1, 0, dn * sum * sigmoid_slope(reset))
            PUT_BOTH(2, 1, dh * (h - candidate) * sigmoid_slope(update))
            PUT_BOTH(3, 2, dn * reset)
            *carry_at = dh * update;
        } else if (cell == CELL_GRU_BEFORE) {
            const acc_t update = GATE(1), candidate = GATE(2);
            PUT_BOTH(1, 1, dh * (h - candidate) * sigmoid_slope(update))
            PUT_BOTH(2, 2, dh * (1.0f - update) * tanh_slope(candidate))
            *carry_at = dh * update;
        } else {
            const acc_t value = GATE(0);
            PUT_BOTH(0, 0, dh * (cell == CELL_RELU ? (value > 0.0f ? 1.0f : 0.0f) : tanh_slope(value)))
        }
#undef GATE
#undef PUT
#undef PUT_BOTH
    }
}
