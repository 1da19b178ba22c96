// SPDX-License-Identifier: MIT
// Recurrent steps for CPU devices: vanilla tanh and ReLU, LSTM, GRU with either reset.
//
// The products of the inputs with their weights, for all time steps, come ready from one matrix
// multiplication; what is left for each step is h R^T, and the gates, which are fused here.
// A work-group is one work-item that owns a range of sequences of the batch and a range of hidden units of
// one direction, and does them for one or several time steps in a launch: several where it owns all hidden
// units, since then nothing it needs is computed by anyone else (sequences do not depend on each other).
// Otherwise the host launches one step after the other.
//
// The hidden weights are packed in panels of PANEL_UNITS hidden units by husk_rnn_pack_panels: the vectors of a
// panel, [gate][unit vector], in strips of STRIP_VECTORS, each [k][vector]. A strip is multiplied with up to
// TILE_ROWS sequences in a register tile; its sums go to private memory. Tall and narrow tiles, since weights
// come from the second or third cache and are used once for every tile, while the states stay in the first.
// More sequences are cut into tiles of about the same height, and the strip into blocks of BLOCK_K rows, which
// stay in the first cache while all tiles use them. One or two sequences leave the vector units waiting for
// their own results, so several steps of k have accumulators of their own.
// Cost of a step: 2 * gates * H * H operations a sequence, and one pass over the weights a work-item.
// After Appleyard et al., "Optimizing performance of recurrent neural networks on GPUs", arXiv 1604.01946
// (one product over all inputs, gates fused into the recurrent product).
//
//   -DCELL=0..3           0 vanilla, 1 LSTM, 2 GRU with the reset after the product, 3 before it
//   -DVW                  floats in a vector
//   -DUNIT_VECTORS=1..4   vectors of hidden units in a panel; a panel has UNIT_VECTORS * VW units
//   -DTILE_ROWS=4..8      the most sequences in a register tile: TILE_ROWS * STRIP_VECTORS accumulators and
//                         STRIP_VECTORS + 1 more vectors should fit the register file; STRIP_VECTORS is 3 for
//                         CELL 2 and else 2
//   -DBLOCK_K=32..1024    rows of a strip multiplied with all sequences before the next ones are touched
#ifndef CELL
#error "CELL, the recurrent cell, is not set: the host passes -DCELL=0..3"
#endif
#ifndef UNIT_VECTORS
#error "UNIT_VECTORS, the vectors of hidden units in a panel, is not set: the host passes -DUNIT_VECTORS=1..4"
#endif
#ifndef TILE_ROWS
#error "TILE_ROWS, the sequences in a register tile, is not set: the host passes -DTILE_ROWS=4..8"
#endif
#ifndef BLOCK_K
#error "BLOCK_K, the rows of a strip in a block, is not set: the host passes -DBLOCK_K=32..1024"
#endif

#define CELL_VANILLA 0
#define CELL_LSTM 1
#define CELL_GRU_AFTER 2
#define CELL_GRU_BEFORE 3


// Gates whose product is taken with h alone, in one pass, and gates in all.
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

#define PANEL_UNITS (UNIT_VECTORS * VW)
#define PANEL_COLUMNS (FIRST_GATES * PANEL_UNITS)
// Vectors of a panel that are multiplied at once; a divisor of those of either pass.
#if CELL == CELL_GRU_AFTER
#define STRIP_VECTORS 3
#else
#define STRIP_VECTORS 2
#endif
#define STRIP_COLUMNS (STRIP_VECTORS * VW)
// The register tile, in the words of lib/tile.clh: both of its operands are read where they lie.
#define TILE_M TILE_ROWS
#define TILE_NV STRIP_VECTORS
#define TILE_A_SPACE __global
#define TILE_B_SPACE __global
#include "lib/vector_math.clh"
#include "lib/tile.clh"

#define REPEAT_SUMS(STEP) \
    REPEAT_16(STEP) \
    STEP(16) STEP(17) STEP(18) STEP(19) STEP(20) STEP(21) STEP(22) STEP(23) \
    STEP(24) STEP(25) STEP(26) STEP(27) STEP(28) STEP(29) STEP(30) STEP(31)

// Sequences whose sums are kept in private memory at once.
#define BATCH_BLOCK 48

// The passes of a step: all there is to do; or for a reset before the product, the gates r and z in one
// pass and n in another, between which every hidden unit of a sequence has to be done.
#define PASS_FIRST 1
#define PASS_SECOND 2

// A state [direction][batch][hidden] that may be absent.
typedef struct {
    __global data_t *data;
    long row;
    int present;
} state_t;

inline int lanes_left(int left)
{
    return clamp(left, 0, VW);
}

inline vf load_lanes(const __global data_t *p, int lanes)
{
    return lanes > 0 ? load_vf_part(p, lanes) : (vf)(0.0f);
}

inline void store_lanes(vf v, __global data_t *p, int lanes)
{
    if (lanes > 0)
        store_vf_part(v, p, lanes);
}

// sums[row][vector] += h[row][0..steps) * strip[0..steps)[vector], or = where is_first. rows and phases are
// literals: rows * STRIP_VECTORS * phases accumulators live in registers.
ALWAYS_INLINE void multiply_rows(int rows, int phases, int is_first, acc_t *sums, int sums_row,
                                 const __global data_t *h, long h_row, const __global data_t *strip, int steps)
{
    vf acc[32];
    const int count = rows * STRIP_VECTORS;
#define CLEAR_SUM(i) \
    if ((i) < count * phases) \
        acc[i] = (vf)(0.0f);
    REPEAT_SUMS(CLEAR_SUM)
#undef CLEAR_SUM
    if (!is_first) {
#define LOAD_SUM(i) \
    if ((i) < count) \
        acc[i] = load_private(sums + (i) / STRIP_VECTORS * sums_row + (i) % STRIP_VECTORS * VW);
        REPEAT_SUMS(LOAD_SUM)
#undef LOAD_SUM
    }
    int p = 0;
    for (; p + 4 <= steps; p += 4) {
#define MULTIPLY_STEP(q) \
        tile_multiply_step(acc + (q) % phases * count, rows, STRIP_VECTORS, h + p + (q), h_row, \
                           strip + (q) * STRIP_COLUMNS);
        REPEAT_4(MULTIPLY_STEP)
#undef MULTIPLY_STEP
        strip += 4 * STRIP_COLUMNS;
    }
    for (; p < steps; ++p) {
        tile_multiply_step(acc, rows, STRIP_VECTORS, h + p, h_row, strip);
        strip += STRIP_COLUMNS;
    }
#define STORE_SUM(i) \
    if ((i) < count) { \
        vf sum = acc[i]; \
        if (phases > 1) \
            sum += acc[(i) + count]; \
        if (phases > 2) \
            sum += acc[(i) + 2 * count] + acc[(i) + 3 * count]; \
        store_private(sum, sums + (i) / STRIP_VECTORS * sums_row + (i) % STRIP_VECTORS * VW); \
    }
    REPEAT_SUMS(STORE_SUM)
#undef STORE_SUM
}

inline void multiply_tile(int rows, int is_first, acc_t *sums, int sums_row, const __global data_t *h,
                          long h_row, const __global data_t *strip, int steps)
{
#define ROWS_CASE(count, phases) \
    case count: \
        multiply_rows(count, phases, is_first, sums, sums_row, h, h_row, strip, steps); \
        break;
    switch (rows) {
        ROWS_CASE(1, 4)
        ROWS_CASE(2, 2)
        ROWS_CASE(3, 1)
        ROWS_CASE(4, 1)
#if TILE_ROWS > 4
        ROWS_CASE(5, 1)
        ROWS_CASE(6, 1)
#endif
#if TILE_ROWS > 6
        ROWS_CASE(7, 1)
        ROWS_CASE(8, 1)
#endif
    }
#undef ROWS_CASE
}

// The sums of one panel for `rows` sequences: sums = h * panel. Tiles in which no sequence is still running
// are left out.
inline void multiply_panel(int vectors, acc_t *sums, const __global data_t *h, long h_row,
                           const __global data_t *panel, int k, int rows, const int *running)
{
    const int tiles = (rows + TILE_ROWS - 1) / TILE_ROWS;
    const int most_steps = tiles > 1 ? BLOCK_K : k;
    for (int vector = 0; vector < vectors; vector += STRIP_VECTORS) {
        const __global data_t *strip = panel + (long)vector * VW * k;
        int block = 0;
        do {
            const int steps = min(k - block, most_steps);
            for (int tile = 0; tile < tiles; ++tile) {
                const int row = rows * tile / tiles, end = rows * (tile + 1) / tiles;
                int any = 0;
                for (int i = row; i < end; ++i)
                    any |= running[i];
                if (any)
                    multiply_tile(end - row, block == 0, sums + (row * vectors + vector) * VW, vectors * VW,
                                  h + row * h_row + block, h_row, strip + (long)block * STRIP_COLUMNS, steps);
            }
            block += most_steps;
        } while (block < k);
    }
}

// sigmoid(a) * tanh(b) with one division.
inline vf sigmoid_tanh_vf(vf a, vf b)
{
    vf twice = b + b;
    twice = twice > (vf)(20.0f) ? (vf)(20.0f) : twice;
    twice = twice < (vf)(-20.0f) ? (vf)(-20.0f) : twice;
    vf power, rest;
    exp_parts(twice, &power, &rest);
    const vf less_one = MAD(power, rest, power - (vf)(1.0f));
    return less_one / ((less_one + (vf)(2.0f)) * ((vf)(1.0f) + exp_vf(-a)));
}

// One vector of hidden units of one sequence: the gates from the sums of h, the biases and the products of
// the inputs, and the new state. sums and bias are [gate][unit] with a pitch of PANEL_UNITS; inputs
// [gate][unit] with a pitch of `hidden`. h and c are the states before, and after on return.
ALWAYS_INLINE void finish_cell(const acc_t *sums, const __global data_t *bias, const __global data_t *inputs,
                        int hidden, int lanes, int relu, vf *h, vf *c)
{
#define INPUT(gate) load_lanes(inputs + (long)(gate) * hidden, lanes)
#define HIDDEN(gate) (load_private(sums + (gate) * PANEL_UNITS) + load_vf(bias + (gate) * PANEL_UNITS))
#if CELL == CELL_LSTM
    const vf added = sigmoid_tanh_vf(INPUT(0) + HIDDEN(0), INPUT(2) + HIDDEN(2));
    const vf forget = sigmoid_vf(INPUT(1) + HIDDEN(1));
    *c = MAD(forget, *c, added);
    *h = sigmoid_tanh_vf(INPUT(3) + HIDDEN(3), *c);
#elif CELL == CELL_GRU_AFTER
    const vf reset = sigmoid_vf(INPUT(0) + HIDDEN(0));
    const vf update = sigmoid_vf(INPUT(1) + HIDDEN(1));
    const vf candidate = tanh_vf(MAD(reset, HIDDEN(2), INPUT(2)));
    *h = MAD(update, *h - candidate, candidate);
#elif CELL == CELL_GRU_BEFORE
    // The first pass: c carries the update gate to the second one, h becomes r . h.
    *c = sigmoid_vf(INPUT(1) + HIDDEN(1));
    *h = sigmoid_vf(INPUT(0) + HIDDEN(0)) * *h;
#else
    const vf sum = INPUT(0) + HIDDEN(0);
    if (relu)
        *h = sum < (vf)(0.0f) ? (vf)(0.0f) : sum;
    else
        *h = tanh_vf(sum);
#endif
#undef INPUT
#undef HIDDEN
}

// Everything a work-item works with, for its own direction.
typedef struct {
    const __global data_t *inputs; // [time][batch][gates * hidden]
    const __global data_t *panels; // the first pass's, then the second's
    const __global data_t *bias;   // [gate][PANEL_UNITS] a panel, as the panels
    const __global int *lengths;
    __global data_t *y;
    __global data_t *hidden_states; // two of [batch][pitch], written in turn
    __global data_t *cell;          // [batch][pitch]: LSTM's c, or the update gate between the passes
    __global data_t *reset_hidden;  // [batch][pitch]: r . h between the passes
    state_t h0, c0, h_n, c_n;
    long inputs_time, inputs_first, y_time, y_row, pitch;
    int has_lengths, reverse, inputs_by_step, steps_total, batch, hidden, relu;
} layer_t;

inline int length_of(const layer_t *l, int sequence)
{
    return l->has_lengths ? clamp(l->lengths[sequence], 0, l->steps_total) : l->steps_total;
}

// Rows first..first + rows of the batch, step `step`, panels [panel_begin, panel_end), one pass.
inline void run_block(const layer_t *l, int pass, int step, int first, int rows, int panel_begin,
                      int panel_end, acc_t *sums)
{
    const int second = CELL == CELL_GRU_BEFORE && pass == PASS_SECOND;
    const int gates = second ? 1 : FIRST_GATES;
    const int panels = (l->hidden + PANEL_UNITS - 1) / PANEL_UNITS;
    const long panel_size = (long)l->hidden * PANEL_UNITS;
    const __global data_t *weights = l->panels + (second ? panels * FIRST_GATES * panel_size : 0);
    const __global data_t *biases = l->bias + (second ? panels * FIRST_GATES * PANEL_UNITS : 0);

    // The state before this step: the caller's at first, then ours.
    const long state_size = l->batch * l->pitch;
    const int has_old = step > 0 || l->h0.present;
    const long old_row = step > 0 ? l->pitch : l->h0.row;
    const __global data_t *old = (step > 0 ? l->hidden_states + ((step - 1) & 1) * state_size : l->h0.data) +
                                 first * old_row;
    __global data_t *new = l->hidden_states + (step & 1) * state_size + first * l->pitch;
    __global data_t *cell = l->cell + first * l->pitch;
    __global data_t *reset_hidden = l->reset_hidden + first * l->pitch;
    const __global data_t *factor = second ? reset_hidden : old;
    const long factor_row = second ? l->pitch : old_row;

    int running[BATCH_BLOCK];
    int any = 0;
    for (int i = 0; i < rows; ++i) {
        running[i] = step < length_of(l, first + i);
        any |= running[i];
    }
    for (int panel = panel_begin; panel < panel_end; ++panel) {
        const __global data_t *bias = biases + panel * gates * PANEL_UNITS;
        if (any) {
            const int k = has_old ? l->hidden : 0;
            const __global data_t *from = weights + panel * gates * panel_size;
            multiply_panel(gates * UNIT_VECTORS, sums, factor, factor_row, from, k, rows, running);
        }
        for (int i = 0; i < rows; ++i) {
            const int b = first + i;
            const int length = length_of(l, b);
            const int last = length > 0 ? step == length - 1 : step == 0;
            const int time = l->reverse && step < length ? length - 1 - step : step;
            const long inputs_row = (l->inputs_by_step ? step : time) - l->inputs_first;
            const __global data_t *inputs =
                l->inputs + inputs_row * l->inputs_time + (long)b * GATES * l->hidden;
            __global data_t *y = l->y + time * l->y_time + b * l->y_row;
#pragma unroll
            for (int u = 0; u < UNIT_VECTORS; ++u) {
                const int unit = panel * PANEL_UNITS + u * VW;
                const int lanes = lanes_left(l->hidden - unit);
                vf h = has_old ? load_lanes(old + i * old_row + unit, lanes) : (vf)(0.0f);
                vf c = (vf)(0.0f);
#if CELL == CELL_LSTM
                if (step > 0)
                    c = load_vf(cell + i * l->pitch + unit);
                else if (l->c0.present)
                    c = load_lanes(l->c0.data + b * l->c0.row + unit, lanes);
#endif
                if (running[i]) {
                    const acc_t *sum = sums + i * gates * PANEL_UNITS + u * VW;
#if CELL == CELL_GRU_BEFORE
                    if (second) {
                        const vf update = load_vf(cell + i * l->pitch + unit);
                        const vf candidate =
                            tanh_vf(load_private(sum) + load_vf(bias + u * VW) +
                                    load_lanes(inputs + 2l * l->hidden + unit, lanes));
                        h = MAD(update, h - candidate, candidate);
                    } else
#endif
                        finish_cell(sum, bias + u * VW, inputs + unit, l->hidden, lanes, l->relu, &h, &c);
                }
#if CELL == CELL_GRU_BEFORE
                if (!second) {
                    store_vf(c, cell + i * l->pitch + unit);
                    store_vf(running[i] ? h : (vf)(0.0f), reset_hidden + i * l->pitch + unit);
                    continue;
                }
#endif
                store_lanes(running[i] ? h : (vf)(0.0f), y + unit, lanes);
                store_vf(running[i] ? h : (vf)(0.0f), new + i * l->pitch + unit);
                if (last && l->h_n.present)
                    store_lanes(h, l->h_n.data + b * l->h_n.row + unit, lanes);
#if CELL == CELL_LSTM
                store_vf(running[i] ? c : (vf)(0.0f), cell + i * l->pitch + unit);
                if (last && l->c_n.present)
                    store_lanes(c, l->c_n.data + b * l->c_n.row + unit, lanes);
#endif
            }
        }
    }
}

// Work-group (x, y, z) does panels x * group_panels..., sequences y * group_rows... of direction z, steps
// step_begin to step_begin + steps; direction 1 runs backwards. inputs holds time steps from inputs_first on
// (inputs_first_reverse for direction 1, where inputs_by_step says that they are in the order of its steps
// and not of time). passes: PASS_FIRST, PASS_SECOND or both;
// both, or several steps, only where one work-group has all panels. scratch holds, a direction: two hidden
// states, the cell state, and r . h for CELL 3, each [batch][pitch], pitch being the units of all panels.
// A state's absence is said by its has_ flag; it may then be any pointer.
__attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_rnn_panel(const __global data_t *restrict inputs_base, long inputs_offset,
                             long inputs_time, long inputs_direction, int inputs_first,
                             int inputs_first_reverse, int inputs_by_step,
                             const __global data_t *restrict packed_base, long packed_offset,
                             long packed_direction, const __global int *restrict lengths_base,
                             long lengths_offset, int has_lengths, const __global data_t *restrict h0_base,
                             long h0_offset, long h0_row, long h0_direction, int has_h0,
                             const __global data_t *restrict c0_base, long c0_offset, long c0_row,
                             long c0_direction, int has_c0, __global data_t *y_base, long y_offset,
                             long y_time, long y_row, __global data_t *h_n_base, long h_n_offset,
                             long h_n_row, long h_n_direction, int has_h_n, __global data_t *c_n_base,
                             long c_n_offset, long c_n_row, long c_n_direction, int has_c_n,
                             __global data_t *scratch_base, long scratch_offset, int steps_total, int batch,
                             int hidden, int relu, int group_panels, int group_rows, int step_begin,
                             int steps, int passes)
{
    const long direction = get_group_id(2);
    const int panels = (hidden + PANEL_UNITS - 1) / PANEL_UNITS;
    const int panel_begin = get_group_id(0) * group_panels;
    const int panel_end = min(panels, panel_begin + group_panels);
    const int row_begin = get_group_id(1) * group_rows;
    const int row_end = min(batch, row_begin + group_rows);
    const long pitch = (long)panels * PANEL_UNITS;
    const long state_size = batch * pitch;
    __global data_t *scratch = scratch_base + scratch_offset + direction * 4 * state_size;
    const __global data_t *packed = packed_base + packed_offset + direction * packed_direction;

    layer_t l;
    l.inputs = inputs_base + inputs_offset + direction * inputs_direction;
    l.panels = packed;
    l.bias = packed + pitch * GATES * hidden;
    l.lengths = lengths_base + lengths_offset;
    l.y = y_base + y_offset + direction * hidden;
    l.hidden_states = scratch;
    l.cell = scratch + 2 * state_size;
    l.reset_hidden = scratch + 3 * state_size;
    l.h0.data = (__global data_t *)h0_base + h0_offset + direction * h0_direction;
    l.h0.row = h0_row;
    l.h0.present = has_h0;
    l.c0.data = (__global data_t *)c0_base + c0_offset + direction * c0_direction;
    l.c0.row = c0_row;
    l.c0.present = has_c0;
    l.h_n.data = h_n_base + h_n_offset + direction * h_n_direction;
    l.h_n.row = h_n_row;
    l.h_n.present = has_h_n;
    l.c_n.data = c_n_base + c_n_offset + direction * c_n_direction;
    l.c_n.row = c_n_row;
    l.c_n.present = has_c_n;
    l.inputs_time = inputs_time;
    l.inputs_first = direction ? inputs_first_reverse : inputs_first;
    l.y_time = y_time;
    l.y_row = y_row;
    l.pitch = pitch;
    l.has_lengths = has_lengths;
    l.reverse = direction == 1;
    l.inputs_by_step = direction == 1 && inputs_by_step;
    l.steps_total = steps_total;
    l.batch = batch;
    l.hidden = hidden;
    l.relu = relu;

    acc_t sums[BATCH_BLOCK * PANEL_COLUMNS];
    for (int step = step_begin; step < step_begin + steps; ++step)
        for (int pass = PASS_FIRST; pass <= (CELL == CELL_GRU_BEFORE ? PASS_SECOND : PASS_FIRST); ++pass)
            if (passes & pass)
                for (int row = row_begin; row < row_end; row += BATCH_BLOCK)
                    run_block(&l, pass, step, row, min(row_end - row, BATCH_BLOCK), panel_begin, panel_end,
                              sums);
}
