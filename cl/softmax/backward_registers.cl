// SPDX-License-Identifier: MIT
// The gradient of softmax and log-softmax for GPUs, of rows that lie together in memory and fit the registers of a few
// work-items (lib/held_row.clh): y and dy are read once. softmax/backward_rows.cl has the formulae.
//
//   -DROW_ITEMS, -DFOURS   see lib/held_row.clh
#include "lib/held_row.clh"
#include "lib/strided.clh"

// y is x of STRIDED_PARAMS, dx its y, dy its z. dx may be y or dy.
// registers husk_softmax_backward_registers FOURS=8: nvidia 248, amd 224
// registers husk_softmax_backward_registers FOURS=4: nvidia 128, amd 200
// registers husk_softmax_backward_registers DTYPE_F64 FOURS=2: nvidia 96, amd 112
// registers husk_softmax_backward_registers: nvidia 72, amd 88
__kernel HELD_WORK_GROUP
void husk_softmax_backward_registers(const __global data_t *y_base, long y_offset, const __global data_t *dy_base,
                                     long dy_offset, __global data_t *dx_base, long dx_offset, STRIDED_PARAMS,
                                     STRIDED_Z_PARAMS, int length, long row_count, int log_form, int accumulate)
{
    HELD_ITEM
    HELD_SCRATCH
    STRIDED_ROWS(rows);
    STRIDED_Z(z_stride);
    int round = 0;
    for (long first = (long)get_group_id(0) * ROWS; first < row_count; first += (long)get_num_groups(0) * ROWS) {
        const long row = first + held_row;
        const int count = row < row_count ? length : 0; // idle work-items still meet the barriers
        acc_t out[HELD], d[HELD];
        strided_seek(&rows, row < row_count ? row : first);
        __global data_t *dx = dx_base + dx_offset + rows.y;
        held_load(y_base + y_offset + rows.x, count, held_lane, 0.0f, out);
        held_load(dy_base + dy_offset + strided_third(&rows, z_stride), count, held_lane, 0.0f, d);
        acc_t sum = 0.0f;
        HELD_EACH(i) sum = log_form ? sum + d[i] : MAD(out[i], d[i], sum);
        HELD_COMBINE(sum, HELD_SUM, round);
        round ^= 1;
        HELD_EACH(i) d[i] = log_form ? MAD(-exp(out[i]), sum, d[i]) : out[i] * (d[i] - sum);
        if (accumulate) {
            held_load(dx, count, held_lane, 0.0f, out);
            HELD_EACH(i) d[i] += out[i];
        }
        held_store(dx, count, held_lane, d);
    }
}
