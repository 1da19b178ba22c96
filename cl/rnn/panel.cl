// SPDX-License-Identifier: MIT
// Recurrent steps for CPU devices: vanilla tanh and ReLU, LSTM, GRU with either reset.
//
// The products of the inputs with their weights are taken for all time steps at once: by a launch of this kernel
// that does nothing else, before the steps in the first of their launches where that wakes as many cores, or, for
// plain weights and few sequences and steps, by gemm. What is left for each step is h R^T, and the gates.
// A work-group is one work-item that owns a range of sequences of the batch and a range of hidden units of
// one direction, and does them for one or several time steps in a launch: several where it owns all hidden
// units, since then nothing it needs is computed by anyone else (sequences do not depend on each other).
// Otherwise the host launches one step after the other.
//
// The hidden weights are packed in panels of PANEL_UNITS hidden units by husk_rnn_pack_panels: the vectors of a
// panel, [gate][unit vector], in strips of STRIP_VECTORS, each [k][vector] (lib/rnn_strips.clh).
// For training the gates are left in the place of the inputs' products, for the gradients: keeps.
// Cost of a step: 2 * gates * H * H operations a sequence, and one pass over the weights a work-item.
// After Appleyard et al., "Optimizing performance of recurrent neural networks on GPUs", arXiv 1604.01946
// (one product over all inputs, gates fused into the recurrent product).
//
//   -DCELL=0..3           0 vanilla, 1 LSTM, 2 GRU with the reset after the product, 3 before it
//   -DVW                  floats in a vector; -DHALF_VECTORS with -DDTYPE_F64, see lib/vector.clh
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
#include "lib/rnn_strips.clh"

// The passes of a step: all there is to do; or for a reset before the product, the gates r and z in one
// pass and n in another, between which every hidden unit of a sequence has to be done.
#define PASS_FIRST 1
#define PASS_SECOND 2
#define PASS_INPUTS 4

// A state [direction][batch][hidden] that may be absent.
typedef struct {
    __global data_t *data;
    long row;
    int present;
} state_t;

// sigmoid(a) * tanh(b), with one division where exp is ours.
inline vf sigmoid_tanh_vf(vf a, vf b)
{
#ifdef DTYPE_F64
    return sigmoid_vf(a) * tanh_vf(b);
#else
    vf twice = b + b;
    twice = twice > (vf)(20.0f) ? (vf)(20.0f) : twice;
    twice = twice < (vf)(-20.0f) ? (vf)(-20.0f) : twice;
    vf power, rest;
    exp_parts(twice, &power, &rest);
    const vf less_one = MAD(power, rest, power - (vf)(1.0f));
    return less_one / ((less_one + (vf)(2.0f)) * ((vf)(1.0f) + exp_vf(-a)));
#endif
}

// One vector of hidden units of one sequence: the gates from the sums of h, the biases and the products of
// the inputs, and the new state. sums and bias are [gate][unit] with a pitch of PANEL_UNITS; inputs
// [gate][unit] with a pitch of inputs_gate. h and c are the states before, and after on return.
ALWAYS_INLINE void finish_cell(const acc_t *sums, const __global data_t *bias, const __global data_t *inputs,
                               int inputs_gate, int lanes, int relu, vf *h, vf *c)
{
#define INPUT(gate) load_lanes(inputs + (long)(gate) * inputs_gate, lanes)
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
}

// The same for training. What the gradients are made of is left where the inputs' products were: every gate, and behind
// them an LSTM's new cell state, or the sum that a reset after the product multiplies.
__attribute__((noinline)) void finish_and_keep(const acc_t *sums, const __global data_t *bias, __global data_t *inputs,
                                               int inputs_gate, int lanes, int relu, vf *h, vf *c)
{
#define KEEP(gate, value) store_lanes(value, inputs + (long)(gate) * inputs_gate, lanes)
#if CELL == CELL_LSTM
    const vf in = sigmoid_vf(INPUT(0) + HIDDEN(0));
    const vf forget = sigmoid_vf(INPUT(1) + HIDDEN(1));
    const vf candidate = tanh_vf(INPUT(2) + HIDDEN(2));
    const vf out = sigmoid_vf(INPUT(3) + HIDDEN(3));
    *c = MAD(forget, *c, in * candidate);
    *h = out * tanh_vf(*c);
    KEEP(0, in);
    KEEP(1, forget);
    KEEP(2, candidate);
    KEEP(3, out);
    KEEP(4, *c);
#elif CELL == CELL_GRU_AFTER
    const vf reset = sigmoid_vf(INPUT(0) + HIDDEN(0));
    const vf update = sigmoid_vf(INPUT(1) + HIDDEN(1));
    const vf sum = HIDDEN(2);
    const vf candidate = tanh_vf(MAD(reset, sum, INPUT(2)));
    *h = MAD(update, *h - candidate, candidate);
    KEEP(0, reset);
    KEEP(1, update);
    KEEP(2, candidate);
    KEEP(3, sum);
#elif CELL == CELL_GRU_BEFORE
    const vf reset = sigmoid_vf(INPUT(0) + HIDDEN(0));
    *c = sigmoid_vf(INPUT(1) + HIDDEN(1));
    *h *= reset;
    KEEP(0, reset);
    KEEP(1, *c);
#else
    finish_cell(sums, bias, inputs, inputs_gate, lanes, relu, h, c);
    KEEP(0, *h);
#endif
#undef KEEP
#undef INPUT
#undef HIDDEN
}

// Everything a work-item works with, for its own direction.
typedef struct {
    // [panel][time][batch][gate][unit] of the first pass, then of the second; by gemm, [time][batch][gate][hidden].
    const __global data_t *inputs;
    const __global data_t *panels; // the first pass's, then the second's
    const __global data_t *bias;   // [gate][PANEL_UNITS] a panel, as the panels
    const __global int *lengths;
    __global data_t *y;
    __global data_t *hidden_states; // two of [batch][pitch], written in turn
    __global data_t *cell;          // [batch][pitch]: LSTM's c, or the update gate between the passes
    __global data_t *reset_hidden;  // [batch][pitch]: r . h between the passes
    state_t h0, c0, h_n, c_n;
    long inputs_row, inputs_rows, y_time, y_row, pitch; // inputs_row by gemm, inputs_rows in panels
    int is_far, inputs_by_gate, inputs_first, has_lengths, reverse, inputs_by_step, steps_total, batch, hidden, relu;
    int keeps;
} layer_t;

inline int length_of(const layer_t *l, int sequence)
{
    return l->has_lengths ? clamp(l->lengths[sequence], 0, l->steps_total) : l->steps_total;
}

// When a sequence takes its step `step`.
inline int time_of(const layer_t *l, int step, int sequence)
{
    const int length = length_of(l, sequence);
    return l->reverse && step < length ? length - 1 - step : step;
}

// The products of a sequence's inputs with the gates of a panel that this pass needs.
inline const __global data_t *inputs_of(const layer_t *l, int second, int step, int sequence, int panel)
{
    const int time = (l->inputs_by_step ? step : time_of(l, step, sequence)) - l->inputs_first;
    const long row = (long)time * l->batch + sequence;
    if (l->inputs_by_gate)
        return l->inputs + row * l->inputs_row + panel * PANEL_UNITS + (second ? FIRST_GATES * l->hidden : 0);
    const int columns = (second ? GATES - FIRST_GATES : FIRST_GATES) * PANEL_UNITS;
    const __global data_t *pass = l->inputs + (second ? l->inputs_rows * FIRST_GATES * l->pitch : 0);
    return pass + (panel * l->inputs_rows + row) * columns;
}

// Rows first..first + rows of the batch, step `step`, panels [panel_begin, panel_end), one pass.
inline void run_block(const layer_t *l, int pass, int step, int first, int rows, int panel_begin,
                      int panel_end, acc_t *sums)
{
    const int second = CELL == CELL_GRU_BEFORE && pass == PASS_SECOND;
    const int gates = second ? 1 : FIRST_GATES;
    const int panels = (l->hidden + PANEL_UNITS - 1) / PANEL_UNITS;
    const int inputs_gate = l->inputs_by_gate ? l->hidden : PANEL_UNITS;
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
        if (any && !l->inputs_by_gate) {
            // The inputs' products lie in the third cache or beyond: they come while h is multiplied.
            for (int i = 0; i < rows; ++i) {
                const __global data_t *p = inputs_of(l, second, step, first + i, panel);
                for (int j = 0; j < gates * PANEL_UNITS; j += LINE)
                    PREFETCH_READ(p + j);
            }
        }
        if (any) {
            const int k = has_old ? l->hidden : 0;
            const __global data_t *from = weights + panel * gates * panel_size;
            multiply_panel(gates * UNIT_VECTORS, sums, factor, factor_row, from, k, rows, running, l->is_far);
        }
        for (int i = 0; i < rows; ++i) {
            const int b = first + i;
            const int length = length_of(l, b);
            const int last = length > 0 ? step == length - 1 : step == 0;
            const int time = time_of(l, step, b);
            const __global data_t *inputs = inputs_of(l, second, step, b, panel);
            __global data_t *y = l->y + time * l->y_time + b * l->y_row;
#pragma unroll
            for (int u = 0; u < UNIT_VECTORS; ++u) {
                const int unit = panel * PANEL_UNITS + u * VW;
                const int lanes = lanes_left(l->hidden - unit);
                const int input_lanes = l->inputs_by_gate ? lanes : VW;
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
                                    load_lanes(inputs + u * VW, input_lanes));
                        h = MAD(update, h - candidate, candidate);
                        if (l->keeps)
                            store_lanes(candidate, (__global data_t *)inputs + u * VW, lanes);
                    } else
#endif
                    if (l->keeps) { // by copies: h and c stay in registers where nothing is kept
                        vf kept_h = h, kept_c = c;
                        finish_and_keep(sum, bias + u * VW, (__global data_t *)inputs + u * VW, inputs_gate, lanes,
                                        l->relu, &kept_h, &kept_c);
                        h = kept_h;
                        c = kept_c;
                    } else
                        finish_cell(sum, bias + u * VW, inputs + u * VW, inputs_gate, input_lanes, l->relu, &h, &c);
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

// The products of rows [row_begin, row_end) of x with panels [panel_begin, panel_end) of the input weights of all
// passes. x_rows: all rows.
inline void multiply_inputs(const __global data_t *x, long x_row, long x_rows, int features,
                            const __global data_t *weights, __global data_t *to, int panels, int panel_begin,
                            int panel_end, int row_begin, int row_end, int is_far, acc_t *sums)
{
    const long pitch = (long)panels * PANEL_UNITS;
    const __global data_t *bias = weights + pitch * GATES * features;
    int running[BATCH_BLOCK];
    for (int i = 0; i < BATCH_BLOCK; ++i)
        running[i] = 1;
    for (int gate = 0; gate < GATES; gate += FIRST_GATES) {
        const int columns = (gate == 0 ? FIRST_GATES : GATES - FIRST_GATES) * PANEL_UNITS;
        for (int row = row_begin; row < row_end; row += BATCH_BLOCK) {
            const int rows = min(row_end - row, BATCH_BLOCK);
            for (int panel = panel_begin; panel < panel_end; ++panel) {
                const long column = gate * pitch + panel * columns;
                multiply_panel(columns / VW, sums, x + row * x_row, x_row, weights + column * features, features,
                               rows, running, is_far);
                __global data_t *to_rows = to + x_rows * column + (long)row * columns;
                for (int i = 0; i < rows * columns; i += columns)
                    for (int j = 0; j < columns; j += VW)
                        store_vf(load_private(sums + i + j) + load_vf(bias + column + j), to_rows + i + j);
            }
        }
    }
}

// Work-group (x, y, z) does panels x * group_panels..., sequences y * group_rows... of direction z, steps
// step_begin to step_begin + steps; direction 1 runs backwards. inputs holds time steps from inputs_first on
// (inputs_first_reverse for direction 1, where inputs_by_step says that they are in the order of its steps
// and not of time), by panels or, where inputs_by_gate, by gates. passes: PASS_FIRST, PASS_SECOND or both;
// both, or several steps, only where one work-group has all panels. With PASS_INPUTS the group first makes its
// panels' inputs from rows y * x_group_rows... of x, [x_rows][features], and packed input weights; steps may be 0.
// is_far: the weights are more than the last cache holds. keeps: the inputs are by gates, and finish_and_keep leaves
// there what the gradients need; a row of theirs, inputs_time / batch long, has room for it.
// scratch holds, a direction: two hidden
// states, the cell state, and r . h for CELL 3, each [batch][pitch], pitch being the units of all panels.
// A state's absence is said by its has_ flag; it may then be any pointer.
__attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_rnn_panel(__global data_t *inputs_base, long inputs_offset,
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
                             int hidden, int relu, int keeps, int inputs_by_gate,
                             const __global data_t *restrict x_base, long x_offset, long x_row, int x_rows,
                             int x_group_rows, int features, const __global data_t *restrict input_base,
                             long input_offset, long input_direction, int group_panels, int group_rows,
                             int step_begin, int steps, int passes, int is_far)
{
    ONE_ITEM();
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
    l.inputs_row = inputs_time / batch;
    l.inputs_rows = x_rows;
    l.inputs_by_gate = inputs_by_gate;
    l.is_far = is_far;
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
    l.keeps = keeps;

    acc_t sums[BATCH_BLOCK * PANEL_COLUMNS];
    if (passes & PASS_INPUTS) {
        const int begin = get_group_id(1) * x_group_rows;
        multiply_inputs(x_base + x_offset, x_row, x_rows, features,
                        input_base + input_offset + direction * input_direction,
                        inputs_base + inputs_offset + direction * inputs_direction, panels, panel_begin, panel_end,
                        begin, min(x_rows, begin + x_group_rows), is_far, sums);
    }
    for (int step = step_begin; step < step_begin + steps; ++step)
        for (int pass = PASS_FIRST; pass <= (CELL == CELL_GRU_BEFORE ? PASS_SECOND : PASS_FIRST); ++pass)
            if (passes & pass)
                for (int row = row_begin; row < row_end; row += BATCH_BLOCK)
                    run_block(&l, pass, step, row, min(row_end - row, BATCH_BLOCK), panel_begin, panel_end,
                              sums);
}
