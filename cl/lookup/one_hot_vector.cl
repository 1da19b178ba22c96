// SPDX-License-Identifier: MIT
// One-hot vectors for CPU devices: a work-group writes the rows of its labels one after another. Bound by memory, which
// is written past the caches where they do not hold y.
//
//   -DVW=4|8|16        floats a vector holds
#include "lib/one_hot.clh"
#include "lib/vector.clh"

// `count` classes; the label is counted from their first, any number outside of them is none. Compared in int.
__attribute__((always_inline)) inline void write_row(__global data_t *to, int label, int count, float on_, float off_,
                                                     int streams)
{
    const vf on = (vf)(on_), off = (vf)(off_);
    const vi lanes = LANES;
    int c = 0;
    if (streams && (ulong)to % (VW * sizeof(data_t)) == 0)
        for (; c + VW <= count; c += VW)
            STREAM_VF(BLEND(off, on, lanes + (vi)(c) == (vi)(label)), to + c);
    for (; c < count; c += VW)
        store_vf_part(BLEND(off, on, lanes + (vi)(c) == (vi)(label)), to + c, count - c);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_one_hot_vector(ONE_HOT_PARAMS)
{
    ONE_ITEM();
    WALK_2(label);
    const long first = get_group_id(0) * share, last = min(first + share, labels);
    const long class = get_group_id(1) * span;
    const int count = (int)min(span, classes - class);
    __global data_t *y = y_base + y_offset + class * y_class;
    index_seek(&label, first);
    for (long n = first; n < last; ++n) {
        const long wanted = load_index(labels_base, labels_offset + label.at[0], is_i64);
        const int here = wanted >= class && wanted < class + count ? (int)(wanted - class) : -1;
        __global data_t *to = y + label.at[1];
        if (y_class == 1) {
            write_row(to, here, count, on, off, streams);
        } else {
            for (int c = 0; c < count; ++c)
                store_one(to, c * y_class, c == here ? on : off);
        }
        index_next(&label);
    }
    if (streams)
        END_STREAM();
}
