// SPDX-License-Identifier: MIT
// Moves data for rnn_panel and rnn_tile: packs hidden weights and their biases, gathers inputs.
//
// Packed weights are, for one layer and direction, panels of panel_units hidden units: those of the first gates,
// then, where a second pass needs its own (GRU with the reset before the product), those of the rest; after them
// the biases, [panel][gate][unit] alike. Units beyond the last are zeros. A panel is [k][gate][unit] for
// rnn_tile (husk_rnn_pack); for rnn_panel (husk_rnn_pack_panels) its vectors [gate][unit vector] are cut into
// strips, [strip][k][vector]. It has input weights packed alike, with their biases.
//
//   -DVW=4|8|16   floats in a vector; -DHALF_VECTORS with -DDTYPE_F64, see lib/vector.clh
#define TILE_M VW
#define TILE_NV 1
#include "lib/tile.clh"

// `to` is where this pass's panels begin, and bias_to elements on its biases. The pass has gates `gate`...
// `gate + gates - 1` of the weights [all gates * hidden][hidden], whose rows lie weights_row apart.
// Work-group (x, y, z) does units x * 16... of panel z, rows y * k_count... of it.
// registers husk_rnn_pack: nvidia 64, amd 16
__attribute__((reqd_work_group_size(16, 1, 1)))
__kernel void husk_rnn_pack(const __global data_t *restrict weights_base, long weights_offset,
                            long weights_row, const __global data_t *restrict bias_base, long bias_offset,
                            int has_bias, __global data_t *restrict to_base, long to_offset, long bias_to,
                            int hidden, int panel_units, int gate, int gates, int k_count)
{
    const int lane = get_global_id(0);
    const int panel = get_group_id(2);
    const int unit = panel * panel_units + lane;
    const int k_begin = get_group_id(1) * k_count;
    const int k_end = min(hidden, k_begin + k_count);
    const long panel_row = (long)gates * panel_units;
    if (lane >= panel_units)
        return;
    for (int g = 0; g < gates; ++g) {
        const long row = (long)(gate + g) * hidden + unit;
        const __global data_t *from = weights_base + weights_offset + row * weights_row;
        __global data_t *to = to_base + to_offset + g * panel_units + lane;
        for (int k = k_begin; k < k_end; ++k)
            to[(panel * (long)hidden + k) * panel_row] = unit < hidden ? from[k] : 0.0f;
        if (k_begin == 0)
            to[bias_to + panel * panel_row] = has_bias && unit < hidden ? bias_base[bias_offset + row] : 0.0f;
    }
}

// The same for rnn_panel, of hidden weights and, in work-groups of z = 1, of input weights
// [all gates * hidden][features]. `to` is where this pass's hidden panels begin, the other places are so many elements
// on. Work-group (x, y, z) does rows x * k_count... of panel y: squares of VW units and
// VW rows are transposed in registers. k_count is a multiple of VW.
// registers husk_rnn_pack_panels DTYPE_F64: nvidia 96, amd 16
// registers husk_rnn_pack_panels: nvidia 72, amd 16
__attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_rnn_pack_panels(const __global data_t *restrict hidden_base, long hidden_offset,
                                   long hidden_row, const __global data_t *restrict hidden_bias_base,
                                   long hidden_bias_offset, int has_hidden_bias,
                                   const __global data_t *restrict input_base, long input_offset, long input_row,
                                   const __global data_t *restrict input_bias_base, long input_bias_offset,
                                   int has_input_bias, __global data_t *restrict to_base, long to_offset,
                                   long hidden_bias_to, long input_to, long input_bias_to, int hidden, int features,
                                   int unit_vectors, int strip_vectors, int gate, int gates, int k_count)
{
    ONE_ITEM();
    const int is_input = get_group_id(2);
    const __global data_t *weights = is_input ? input_base + input_offset : hidden_base + hidden_offset;
    const __global data_t *biases =
        is_input ? input_bias_base + input_bias_offset : hidden_bias_base + hidden_bias_offset;
    const int has_bias = is_input ? has_input_bias : has_hidden_bias;
    const long weights_row = is_input ? input_row : hidden_row;
    const int depth = is_input ? features : hidden;
    __global data_t *to_panels = to_base + to_offset + (is_input ? input_to : 0);
    __global data_t *to_biases = to_base + to_offset + (is_input ? input_bias_to : hidden_bias_to);
    const int panel = get_group_id(1);
    const int k_begin = get_group_id(0) * k_count;
    const int k_end = min(depth, k_begin + k_count);
    const int vectors = gates * unit_vectors;
    const int step = strip_vectors * VW;
    __global data_t *to_panel = to_panels + panel * (long)depth * vectors * VW;
    for (int vector = 0; vector < vectors; ++vector) {
        const int unit = (panel * unit_vectors + vector % unit_vectors) * VW;
        const int units = clamp(hidden - unit, 0, VW);
        const long first_row = (long)(gate + vector / unit_vectors) * hidden + unit;
        const __global data_t *from = weights + first_row * weights_row;
        const int strip = vector / strip_vectors;
        __global data_t *to = to_panel + (long)strip * depth * step + (vector - strip * strip_vectors) * VW;
        for (int k = k_begin; k < k_end; k += VW) {
            const int steps = min(VW, k_end - k);
            vf square[VW];
#define LOAD(i) \
            if ((i) < VW) { \
                square[i] = (i) < units ? load_vf_part(from + (i) * weights_row + k, steps) : (vf)(0.0f); \
                if ((i) < units) \
                    PREFETCH_READ(from + (i) * weights_row + k + 8 * VW); \
            }
            REPEAT_16(LOAD)
#undef LOAD
            transpose_vf(square);
#define STORE(i) \
            if ((i) < VW && (i) < steps) \
                store_vf(square[i], to + (long)(k + (i)) * step);
            REPEAT_16(STORE)
#undef STORE
        }
        if (k_begin == 0)
            store_vf(has_bias && units > 0 ? load_vf_part(biases + first_row, units) : (vf)(0.0f),
                     to_biases + (panel * vectors + vector) * VW);
    }
}

// Copies x [time][batch][features] of any strides to rows without gaps, time steps step_begin... of it; where
// reversed, in the order in which the backward direction takes them. Also states, and zeros where there are
// none. Work-groups of dimension 0 are sequences, each its features by 64: NVIDIA's other dimensions end at 65,535.
// Work-group (x, 1, z) does steps step_begin + z * group_steps...
// registers husk_rnn_gather: nvidia 32, amd 8
__attribute__((reqd_work_group_size(64, 1, 1)))
__kernel void husk_rnn_gather(const __global data_t *restrict from_base, long from_offset, long from_time,
                              long from_batch, long from_feature, int has_from,
                              const __global int *restrict lengths_base, long lengths_offset, int has_lengths,
                              int reversed, __global data_t *restrict to_base, long to_offset, long to_time,
                              long to_batch, int steps_total, int step_begin, int steps, int features,
                              int group_steps)
{
    const long group = get_group_id(0);
    const int parts = (features + 63) / 64;
    const long b = group / parts;
    const int feature = (int)(group - b * parts) * 64 + (int)get_local_id(0);
    const int begin = get_group_id(2) * group_steps;
    const int end = min(steps, begin + group_steps);
    const int length = has_lengths ? clamp(lengths_base[lengths_offset + b], 0, steps_total) : steps_total;
    if (feature >= features)
        return;
    const __global data_t *from = from_base + from_offset + b * from_batch + feature * from_feature;
    __global data_t *to = to_base + to_offset + b * to_batch + feature;
    for (int i = begin; i < end; ++i) {
        const int step = step_begin + i;
        const long time = reversed && step < length ? length - 1 - step : step;
        to[i * to_time] = has_from ? from[time * from_time] : 0.0f;
    }
}
