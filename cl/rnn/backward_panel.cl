// SPDX-License-Identifier: MIT
// Gradients of recurrent steps for CPU devices, from the last step to the first: vanilla tanh and ReLU, LSTM, GRU with
// either reset.
//
// The gradients of all gates are left in rows [time * batch], of which multiplications over all steps make the
// gradients of inputs, weights and biases afterwards. What is left for each step is the product of the gates'
// gradients, of the step behind it, with the hidden weights, and the gates. Work is divided as in rnn/panel.cl: a
// work-group is one work-item that owns a range of sequences and a range of hidden units of one direction, for all
// steps where it owns all hidden units, else for one step a launch.
//
// The hidden weights [gates * hidden][hidden] are packed in panels of PANEL_UNITS hidden units by
// husk_rnn_backward_pack: [panel][gates * hidden][PANEL_UNITS], which is a strip (lib/rnn_strips.clh).
// Cost of a step: 2 * gates * H * H operations a sequence, and one pass over the weights a work-item.
//
//   -DVW                  floats in a vector; -DHALF_VECTORS with -DDTYPE_F64, see lib/vector.clh
//   -DTILE_ROWS=4..8      the most sequences in a register tile of two vectors
//   -DBLOCK_K=32..1024    rows of a strip multiplied with all sequences before the next ones are touched
#define STRIP_VECTORS 2
#include "lib/rnn_strips.clh"
#include "lib/rnn_backward.clh"

#define PANEL_UNITS STRIP_COLUMNS

// A state [direction][batch][hidden] that may be absent.
typedef struct {
    __global data_t *data;
    long row;
    int present;
} state_t;

// Everything a work-item works with, for its own direction.
typedef struct {
    const __global data_t *kept; // [time][batch][kept][hidden]
    const __global data_t *panels;
    const __global int *lengths;
    const __global data_t *y, *dy;
    state_t h0, c0, dh_n, dc_n, dh0, dc0;
    __global data_t *gradients; // [time of the chunk][batch][columns][hidden]
    __global data_t *previous;  // the same of [hidden], the states before; or of h' and r . h' side by side
    __global data_t *rows;      // two of [batch][rows_pitch]: the step buffers, written in turn
    __global data_t *carry;     // [batch][pitch]: c's gradient, or the part of h's that no product makes
    long y_time, y_row, dy_time, dy_row, rows_pitch, pitch;
    int has_dy, has_previous, has_lengths, reverse, steps_total, batch, hidden, cell, is_far, adds;
    int first_time; // of gradients and previous
} layer_t;

inline int length_of(const layer_t *l, int sequence)
{
    return l->has_lengths ? clamp(l->lengths[sequence], 0, l->steps_total) : l->steps_total;
}

inline vf load_state(state_t state, int sequence, int unit, int lanes)
{
    return state.present ? load_lanes(state.data + sequence * state.row + unit, lanes) : (vf)(0.0f);
}

inline void store_state(vf value, state_t state, int sequence, int unit, int lanes, int adds)
{
    if (!state.present)
        return;
    __global data_t *p = state.data + sequence * state.row + unit;
    store_lanes(adds ? value + load_lanes(p, lanes) : value, p, lanes);
}

// The slopes of sigmoid and tanh at values that they have taken.
inline vf sigmoid_slope(vf value)
{
    return value * ((vf)(1.0f) - value);
}

inline vf tanh_slope(vf value)
{
    return ((vf)(1.0f) - value) * ((vf)(1.0f) + value);
}

// The time at which a step of all sequences is done: the last step of direction 1 is the first in time.
inline int time_of(const layer_t *l, int step)
{
    return l->reverse ? l->steps_total - 1 - step : step;
}

// Whether a sequence of that length has this step.
inline int is_running(const layer_t *l, int step, int length)
{
    const int time = time_of(l, step);
    return time >= 0 && time < length;
}

// A sequence at a step, and a vector of its hidden units.
typedef struct {
    int sequence, unit, lanes;
    int is_first;         // of the sequence's steps: before it there are the initial states
    int time_before;      // of the step before
    long row, row_before; // of this step's time and of the step's before, among all
    long chunk_row;       // of this step's time in the chunk
    __global data_t *to, *step_row;
} place_t;

inline vf previous_state(const layer_t *l, const place_t *p)
{
    if (p->is_first)
        return load_state(l->h0, p->sequence, p->unit, p->lanes);
    return load_lanes(l->y + p->time_before * l->y_time + p->sequence * l->y_row + p->unit, p->lanes);
}

inline void put_previous(const layer_t *l, const place_t *p, int part, vf value)
{
    if (l->has_previous) {
        const int parts = l->cell == CELL_GRU_BEFORE ? 2 : 1;
        store_lanes(value, l->previous + (p->chunk_row * parts + part) * l->hidden + p->unit, p->lanes);
    }
}

// The gates' gradients from that of h in the first pass, and what is carried to the step before.
inline void finish_first(const layer_t *l, const place_t *p, vf dh, vf *carry)
{
    const __global data_t *kept = l->kept + p->row * kept_of(l->cell) * l->hidden + p->unit;
    const vf one = (vf)(1.0f);
    const vf h = previous_state(l, p);
    put_previous(l, p, 0, h);
#define GATE(gate) load_lanes(kept + (long)(gate) * l->hidden, p->lanes)
#define PUT(column, value) store_lanes(value, p->to + (long)(column) * l->hidden, p->lanes)
#define PUT_BOTH(column, gate, value) \
    do { \
        const vf made = value; \
        PUT(column, made); \
        store_lanes(made, p->step_row + (long)(gate) * l->hidden, p->lanes); \
    } while (0)
    if (l->cell == CELL_LSTM) {
        const vf in = GATE(0), forget = GATE(1), candidate = GATE(2), out = GATE(3), c = tanh_vf(GATE(4));
        const long beyond = (p->row_before - p->row) * kept_of(l->cell) * l->hidden;
        const vf before = p->is_first ? load_state(l->c0, p->sequence, p->unit, p->lanes)
                                      : load_lanes(kept + beyond + 4L * l->hidden, p->lanes);
        const vf dc = MAD(dh * out, tanh_slope(c), *carry);
        PUT_BOTH(0, 0, dc * candidate * sigmoid_slope(in));
        PUT_BOTH(1, 1, dc * before * sigmoid_slope(forget));
        PUT_BOTH(2, 2, dc * in * tanh_slope(candidate));
        PUT_BOTH(3, 3, dh * c * sigmoid_slope(out));
        *carry = dc * forget;
    } else if (l->cell == CELL_GRU_AFTER) {
        const vf reset = GATE(0), update = GATE(1), candidate = GATE(2), sum = GATE(3);
        const vf dn = dh * (one - update) * tanh_slope(candidate);
        PUT(0, dn);
        PUT_BOTH(1, 0, dn * sum * sigmoid_slope(reset));
        PUT_BOTH(2, 1, dh * (h - candidate) * sigmoid_slope(update));
        PUT_BOTH(3, 2, dn * reset);
        *carry = dh * update;
    } else if (l->cell == CELL_GRU_BEFORE) {
        const vf update = GATE(1), candidate = GATE(2);
        PUT_BOTH(1, 1, dh * (h - candidate) * sigmoid_slope(update));
        PUT_BOTH(2, 2, dh * (one - update) * tanh_slope(candidate));
        *carry = dh * update;
    } else {
        const vf value = GATE(0);
        PUT_BOTH(0, 0, dh * (l->cell == CELL_RELU ? (value > (vf)(0.0f) ? one : (vf)(0.0f)) : tanh_slope(value)));
    }
}

// The second pass of a reset before the product: from the gradient of r . h'.
inline void finish_second(const layer_t *l, const place_t *p, vf dv, vf *carry)
{
    const __global data_t *kept = l->kept + p->row * kept_of(l->cell) * l->hidden + p->unit;
    const vf reset = GATE(0), h = previous_state(l, p);
    PUT_BOTH(0, 0, dv * h * sigmoid_slope(reset));
    put_previous(l, p, 1, reset * h);
    *carry = MAD(dv, reset, *carry);
#undef GATE
#undef PUT
#undef PUT_BOTH
}

// No step of this sequence: zeros, which the multiplications over all steps read.
inline void put_zeros(const layer_t *l, const place_t *p)
{
    for (int column = 0; column < columns_of(l->cell); ++column)
        store_lanes((vf)(0.0f), p->to + (long)column * l->hidden, p->lanes);
    for (int gate = 0; gate < gates_of(l->cell); ++gate)
        store_lanes((vf)(0.0f), p->step_row + (long)gate * l->hidden, p->lanes);
    put_previous(l, p, 0, (vf)(0.0f));
    if (l->cell == CELL_GRU_BEFORE)
        put_previous(l, p, 1, (vf)(0.0f));
}

// Rows first..first + rows of the batch, step `step`, or -1 for the initial states' gradients of sequences that end
// with time, one panel, one pass. Direction 1 comes to those of the others when it has passed their last time.
inline void run_panel(const layer_t *l, int pass, int step, int first, int rows, int panel, const int *lengths,
                      const acc_t *sums)
{
    const int second = pass == PASS_SECOND;
    const int time = time_of(l, step);
    for (int i = 0; i < rows; ++i) {
        place_t p;
        p.sequence = first + i;
        const int running = is_running(l, step, lengths[i]);
        const int is_initial = l->reverse ? time == lengths[i] : step < 0;
        const int is_last = l->reverse ? time == 0 : step + 1 == lengths[i];
        if (!running && (second || (step < 0 && !is_initial)))
            continue;
        p.is_first = l->reverse ? time + 1 == lengths[i] : step == 0;
        p.time_before = l->reverse ? time + 1 : time - 1;
        p.row = (long)time * l->batch + p.sequence;
        p.row_before = (long)p.time_before * l->batch + p.sequence;
        p.chunk_row = p.row - (long)l->first_time * l->batch;
        for (int u = 0; u < STRIP_VECTORS; ++u) {
            p.unit = panel * PANEL_UNITS + u * VW;
            p.lanes = lanes_left(l->hidden - p.unit);
            if (p.lanes == 0)
                break;
            p.to = l->gradients + p.chunk_row * columns_of(l->cell) * l->hidden + p.unit;
            p.step_row = l->rows + ((step & 1) * (long)l->batch + p.sequence) * l->rows_pitch + p.unit;
            if (step >= 0 && !running)
                put_zeros(l, &p);
            if (!running && !is_initial)
                continue;
            __global data_t *carry_at = l->carry + p.sequence * l->pitch + p.unit;
            const vf sum = load_private(sums + (i * STRIP_VECTORS + u) * VW);
            vf carry = (vf)(0.0f);
            if (second) {
                carry = load_vf(carry_at);
                finish_second(l, &p, sum, &carry);
                store_vf(carry, carry_at);
                continue;
            }
            vf dh;
            if (is_last) {
                dh = load_state(l->dh_n, p.sequence, p.unit, p.lanes);
                if (l->cell == CELL_LSTM)
                    carry = load_state(l->dc_n, p.sequence, p.unit, p.lanes);
            } else {
                dh = sum;
                if (l->cell >= CELL_LSTM)
                    carry = load_vf(carry_at);
                if (l->cell > CELL_LSTM)
                    dh += carry;
            }
            if (is_initial) {
                store_state(dh, l->dh0, p.sequence, p.unit, p.lanes, l->adds);
                store_state(carry, l->dc0, p.sequence, p.unit, p.lanes, l->adds);
                continue;
            }
            if (l->has_dy)
                dh += load_lanes(l->dy + time * l->dy_time + p.sequence * l->dy_row + p.unit, p.lanes);
            finish_first(l, &p, dh, &carry);
            if (l->cell >= CELL_LSTM)
                store_vf(carry, carry_at);
        }
    }
}

// The same of panels [panel_begin, panel_end), the product before it.
inline void run_block(const layer_t *l, int pass, int step, int first, int rows, int panel_begin, int panel_end,
                      acc_t *sums)
{
    const int second = pass == PASS_SECOND;
    const int gates = gates_of(l->cell);
    const int k_begin = second ? 2 * l->hidden : 0;
    const int k = (second ? 1 : l->cell == CELL_GRU_BEFORE ? 2 : gates) * l->hidden;
    const int from_step = second ? step : step + 1; // whose gates' gradients are multiplied
    int lengths[BATCH_BLOCK], needed[BATCH_BLOCK];
    int any = 0;
    for (int i = 0; i < rows; ++i) {
        lengths[i] = length_of(l, first + i);
        needed[i] = is_running(l, from_step, lengths[i]);
        any |= needed[i];
    }
    const __global data_t *from = l->rows + ((from_step & 1) * (long)l->batch + first) * l->rows_pitch + k_begin;
    for (int panel = panel_begin; panel < panel_end; ++panel) {
        const __global data_t *weights = l->panels + ((long)panel * gates * l->hidden + k_begin) * PANEL_UNITS;
        if (any)
            multiply_panel(STRIP_VECTORS, sums, from, l->rows_pitch, weights, k, rows, needed, l->is_far);
        run_panel(l, pass, step, first, rows, panel, lengths, sums);
    }
}

// Work-group (x, y, z) does panels x * group_panels..., sequences y * group_rows... of direction first_direction + z,
// steps step_begin down to step_begin - steps + 1, of which -1 stands for the initial states' gradients; direction 1
// ran backwards. They are steps of the chunk chunk_begin..chunk_end - 1, whose gradients and states before there is
// room for; packed weights, gradients, previous and rows are those of direction first_direction and the next.
// passes: PASS_FIRST, PASS_SECOND or both; both, or several steps, only where one work-group has all panels.
// adds: the initial states' gradients are added to. rows holds, a direction: two step buffers [batch][rows_pitch], and
// what is carried, [batch][pitch]. What a has_ flag says is absent may be any pointer.
__attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_rnn_backward_panel(const __global data_t *restrict kept_base, long kept_offset, long kept_direction,
                                      const __global data_t *restrict packed_base, long packed_offset,
                                      long packed_direction, const __global int *restrict lengths_base,
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
                                      int chunk_end, int group_panels, int group_rows, int is_far, int step_begin,
                                      int steps, int passes)
{
    ONE_ITEM();
    const long place = get_group_id(2);
    const long direction = first_direction + place;
    const int panels = (hidden + PANEL_UNITS - 1) / PANEL_UNITS;
    const int panel_begin = get_group_id(0) * group_panels;
    const int panel_end = min(panels, panel_begin + group_panels);
    const int row_begin = get_group_id(1) * group_rows;
    const int row_end = min(batch, row_begin + group_rows);
    layer_t l;
    l.kept = kept_base + kept_offset + direction * kept_direction;
    l.panels = packed_base + packed_offset + place * packed_direction;
    l.lengths = lengths_base + lengths_offset;
    l.y = y_base + y_offset + direction * hidden;
    l.dy = dy_base + dy_offset + direction * hidden;
#define STATE(name) \
    l.name.data = (__global data_t *)name##_base + name##_offset + direction * name##_direction; \
    l.name.row = name##_row; \
    l.name.present = has_##name;
    STATE(h0)
    STATE(c0)
    STATE(dh_n)
    STATE(dc_n)
    STATE(dh0)
    STATE(dc0)
#undef STATE
    l.gradients = gradients_base + gradients_offset + place * gradients_direction;
    l.previous = previous_base + previous_offset + place * previous_direction;
    l.rows = rows_base + rows_offset + place * rows_direction;
    l.carry = l.rows + 2L * batch * rows_pitch;
    l.y_time = y_time;
    l.y_row = y_row;
    l.dy_time = dy_time;
    l.dy_row = dy_row;
    l.rows_pitch = rows_pitch;
    l.pitch = (long)panels * PANEL_UNITS;
    l.has_dy = has_dy;
    l.has_previous = has_previous;
    l.has_lengths = has_lengths;
    l.reverse = direction == 1;
    l.first_time = l.reverse ? steps_total - chunk_end : chunk_begin;
    l.steps_total = steps_total;
    l.batch = batch;
    l.hidden = hidden;
    l.cell = cell;
    l.is_far = is_far;
    l.adds = adds;

    acc_t sums[BATCH_BLOCK * PANEL_UNITS];
    for (int step = step_begin; step > step_begin - steps; --step)
        for (int pass = PASS_FIRST; pass <= PASS_SECOND; ++pass)
            if (passes & pass && (pass == PASS_FIRST || (cell == CELL_GRU_BEFORE && step >= 0)))
                for (int row = row_begin; row < row_end; row += BATCH_BLOCK)
                    run_block(&l, pass, step, row, min(row_end - row, BATCH_BLOCK), panel_begin, panel_end, sums);
}

// Hidden weights [k][hidden] into panels [panel][k][PANEL_UNITS]; units beyond the last are zeros. Work-group (x, y, z)
// does rows x * k_count... of panel y of direction z.
__attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_rnn_backward_pack(const __global data_t *restrict weights_base, long weights_offset,
                                     const __global data_t *restrict reverse_base, long reverse_offset,
                                     long weights_row, long reverse_row, __global data_t *restrict to_base,
                                     long to_offset, long to_direction, int k_total, int hidden, int k_count)
{
    ONE_ITEM();
    const int direction = get_group_id(2);
    const __global data_t *weights =
        direction ? reverse_base + reverse_offset : weights_base + weights_offset;
    const long row = direction ? reverse_row : weights_row;
    const int panel = get_group_id(1);
    const int k_begin = get_group_id(0) * k_count;
    const int k_end = min(k_total, k_begin + k_count);
    __global data_t *to = to_base + to_offset + direction * to_direction + (long)panel * k_total * PANEL_UNITS;
    for (int u = 0; u < STRIP_VECTORS; ++u) {
        const int unit = panel * PANEL_UNITS + u * VW;
        const int lanes = lanes_left(hidden - unit);
        for (int k = k_begin; k < k_end; ++k)
            store_vf(lanes > 0 ? load_vf_part(weights + k * row + unit, lanes) : (vf)(0.0f),
                     to + (long)k * PANEL_UNITS + u * VW);
    }
}
