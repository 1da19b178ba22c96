// SPDX-License-Identifier: MIT
// Normalisation for GPUs, of sets that lie together in memory and fit the registers of a few work-items
// (lib/held_row.clh): memory is read once and written once.
//
//   -DROW_ITEMS, -DFOURS   see lib/held_row.clh
#include "lib/held_row.clh"
#include "lib/norm_lists.clh"

// Scale or bias of an item's elements: side by side, or one of the whole set.
#define PARAMETERS(which, other) \
    if (which##_base) { \
        const __global data_t *from_ = which##_base + which##_offset + start.parameter; \
        if (parameter_stride == 1) { \
            held_load(from_, count, held_lane, other, some); \
        } else { \
            const acc_t one_ = count > 0 ? load_one(from_, 0) : other; \
            HELD_EACH(i) some[i] = one_; \
        } \
    }

// y may be x.
// registers husk_norm_registers DTYPE_F64 FOURS=8: nvidia 248, amd 224
// registers husk_norm_registers FOURS=1: nvidia 72, amd 80
// registers husk_norm_registers ROW_ITEMS=256: nvidia 168, amd 144
// registers husk_norm_registers DTYPE_F64: nvidia 136, amd 144
// registers husk_norm_registers FOURS=2: nvidia 72, amd 72
// registers husk_norm_registers: nvidia 96, amd 104
__kernel HELD_WORK_GROUP
void husk_norm_registers(const __global data_t *x_base, long x_offset, const __global data_t *scale_base,
                         long scale_offset, const __global data_t *bias_base, long bias_offset,
                         __global data_t *y_base, long y_offset, NORM_STATISTICS_PARAMS, NORM_LIST_PARAMS(set),
                         long set_count, int length, int parameter_stride, int mode)
{
    HELD_ITEM
    HELD_SCRATCH
    for (long first = (long)get_group_id(0) * ROWS; first < set_count; first += (long)get_num_groups(0) * ROWS) {
        const long number = first + held_row;
        const int count = number < set_count ? length : 0; // idle work-items still meet the barriers
        NORM_START(set, number < set_count ? number : first, start);
        acc_t v[HELD], some[HELD];
        held_load(x_base + x_offset + start.x, count, held_lane, 0.0f, v);
        norm_moments moments = {0.0f, 0.0f, 0.0f, (acc_t)length};
        if (mode & NORM_CENTRED) {
            acc_t sum = 0.0f;
            HELD_EACH(i) sum += v[i];
            HELD_COMBINE(sum, HELD_SUM, 0);
            moments.anchor = sum / moments.count;
        }
        acc_t differences = 0.0f, squares = 0.0f;
        HELD_EACH(i)
        {
            const acc_t difference = HELD_AT(i) < count ? v[i] - moments.anchor : 0.0f;
            differences += difference;
            squares += difference * difference;
        }
        HELD_COMBINE(squares, HELD_SUM, 1);
        if (mode & NORM_CENTRED) {
            HELD_COMBINE(differences, HELD_SUM, 0);
            moments.offset = differences / moments.count;
            squares -= differences * moments.offset;
        }
        barrier(CLK_LOCAL_MEM_FENCE); // the next set's first round may be this one's last
        moments.squares = squares;
        const norm_statistics found = norm_finish(&moments, epsilon);
        if (held_lane == 0 && count > 0)
            NORM_SAVE(start.statistic, found);
        HELD_EACH(i) v[i] = ((v[i] - found.high) - found.low) * found.rstd;
        PARAMETERS(scale, 1.0f)
        if (scale_base) {
            HELD_EACH(i) v[i] *= some[i];
        }
        PARAMETERS(bias, 0.0f)
        if (bias_base) {
            HELD_EACH(i) v[i] += some[i];
        }
        held_store(y_base + y_offset + start.y, count, held_lane, v);
    }
}
