// SPDX-License-Identifier: MIT
// Softmax and log-softmax for GPUs, of rows that lie together in memory and fit the registers of a few work-items
// (lib/held_row.clh): memory is read once and written once, and of local memory there is one round for the maximum and
// one for the sum.
//
//   -DROW_ITEMS, -DFOURS   see lib/held_row.clh
#include "lib/held_row.clh"
#include "lib/strided.clh"

// y may be x.
// registers husk_softmax_registers DTYPE_F64 FOURS=8: nvidia 256, amd 232
// registers husk_softmax_registers FOURS=1: nvidia 72, amd 80
// registers husk_softmax_registers FOURS=2: nvidia 88, amd 104
// registers husk_softmax_registers: nvidia 176, amd 144
__kernel HELD_WORK_GROUP
void husk_softmax_registers(const __global data_t *x_base, long x_offset, __global data_t *y_base, long y_offset,
                            STRIDED_PARAMS, int length, long row_count, int log_form)
{
    HELD_ITEM
    HELD_SCRATCH
    STRIDED_ROWS(rows);
    for (long first = (long)get_group_id(0) * ROWS; first < row_count; first += (long)get_num_groups(0) * ROWS) {
        const long row = first + held_row;
        const int count = row < row_count ? length : 0; // idle work-items still meet the barriers
        acc_t v[HELD];
        strided_seek(&rows, row < row_count ? row : first);
        held_load(x_base + x_offset + rows.x, count, held_lane, -INFINITY, v);
        acc_t maximum = -INFINITY;
        HELD_EACH(i) maximum = HELD_MAX(maximum, v[i]);
        HELD_COMBINE(maximum, HELD_MAX, 0);
        acc_t sum = 0.0f;
        HELD_EACH(i)
        {
            const acc_t below = v[i] - maximum, power = exp(below);
            v[i] = log_form ? below : power;
            sum += HELD_AT(i) < count ? power : 0.0f;
        }
        HELD_COMBINE(sum, HELD_SUM, 1);
        const acc_t scale = 1.0f / sum, shift = log(sum);
        HELD_EACH(i) v[i] = log_form ? v[i] - shift : v[i] * scale;
        held_store(y_base + y_offset + rows.y, count, held_lane, v);
    }
}
