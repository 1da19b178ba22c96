// SPDX-License-Identifier: MIT
// Losses for GPUs: lib/loss_workgroup.clh.
//
//   husk_loss_workgroup_elements   losses of single elements
//   husk_loss_workgroup_rows       losses of rows of classes
//   husk_loss_workgroup_combine    sums and means: the units' sums in order
//
// A work-group takes a unit of rows or elements, cut by the shape alone; sums within it go by halves through local
// memory. Bound by memory.
//
//   -DWG=64|256   work-items a work-group
#include "lib/loss_workgroup.clh"

// registers husk_loss_workgroup_elements DTYPE_F64: nvidia 64, amd 96
// registers husk_loss_workgroup_elements: nvidia 56, amd 48
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_loss_workgroup_elements(const __global data_t *x_base, long x_offset, const __global data_t *t_base,
                                  long t_offset, const __global data_t *w_base, long w_offset,
                                  const __global data_t *p_base, long p_offset, __global data_t *loss_base,
                                  long loss_offset, __global acc_t *partials_base, long partials_offset,
                                  LOSS_ROWS_PARAMS, LOSS_EXTRA_PARAMS)
{
    __local acc_t values[WG], rests[WG];
    WALK_4(main);
    WALK_2(extra);
    const long first = get_group_id(0) * share;
    const long last = min(first + share, total);
    loss_sum sum = loss_nothing();
    for (long i = first + get_local_id(0); i < last; i += WG) {
        const long row = i / run, column = i - row * run;
        walk_seek(&main, row);
        walk_seek(&extra, row);
        acc_t weight = 1.0f, positive = 1.0f;
        if (flags & LOSS_WEIGHT)
            weight = load_one(w_base, w_offset + extra.at[0] + column * w_step);
        if (flags & LOSS_POSITIVE)
            positive = load_one(p_base, p_offset + extra.at[1] + column * p_step);
        const acc_t v = loss_value(kind, beta, load_one(x_base, x_offset + main.at[0] + column * x_step),
                                   load_one(t_base, t_offset + main.at[1] + column * t_step), weight, positive);
        if (flags & LOSS_REDUCES)
            loss_add(&sum, v);
        else
            store_one(loss_base, loss_offset + main.at[2] + column * loss_step, v);
    }
    // Barriers are met whatever the flags say.
    sum = loss_group_sum(sum, values, rests);
    if (get_local_id(0) == 0 && (flags & LOSS_REDUCES))
        loss_store_unit(sum, loss_nothing(), partials_base + partials_offset, loss_base + loss_offset, flags, divisor);
}

// label: valid, or 0 for probabilities.
#define ROW_LOSS(name, softmax, SUM) \
    inline acc_t name(loss_options o, int item, int step, __local acc_t *scratch, const __global data_t *x, \
                      const __global data_t *t, const __global data_t *w, int label, acc_t weight) \
    { \
        const bool has_label = o.flags & LOSS_LABELS; \
        acc_t maximum = 0.0f, sum = 1.0f, loss = 0.0f; \
        if (o.kind != LOSS_NEGATIVE_LOG) \
            softmax(item, step, scratch, x, o.x_class, o.classes, &maximum, &sum); \
        const acc_t log_sum = log(sum); \
        if (has_label) \
            loss = -weight * o.keep * ((load_one(x, label * o.x_class) - maximum) - log_sum); \
        if (!has_label || o.spread != 0.0f) { \
            LONG_SUM(all); \
            for (int c = item, count = 0; c < o.classes; count = 0) { \
                acc_t run = 0.0f; \
                for (; c < o.classes && count < LONG_SUM_RUN; c += step, ++count) \
                    run += loss_wanted(o, t, w, c) * ((load_one(x, c * o.x_class) - maximum) - log_sum); \
                LONG_SUM_ADD(all, run); \
            } \
            loss -= SUM(scratch, LONG_SUM_TOTAL(all)); \
        } \
        return loss; \
    }

ROW_LOSS(row_loss_group, loss_softmax_group, loss_group_add)
ROW_LOSS(row_loss_alone, loss_softmax_alone, LOSS_ALONE)

// registers husk_loss_workgroup_rows DTYPE_F64: nvidia 88, amd 104
// registers husk_loss_workgroup_rows: nvidia 80, amd 56
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_loss_workgroup_rows(const __global data_t *x_base, long x_offset, const __global uchar *t_base,
                              long t_offset, const __global data_t *w_base, long w_offset,
                              __global data_t *loss_base, long loss_offset, __global acc_t *partials_base,
                              long partials_offset, LOSS_ROWS_PARAMS, LOSS_CLASSES_PARAMS)
{
    __local acc_t values[WG], rests[WG];
    WALK_4(main);
    const long first = get_group_id(0) * share;
    const long last = min(first + share, total);
    const int item = (int)get_local_id(0);
    const __global data_t *w = w_base + w_offset;
    const loss_options o = {kind, flags, classes, x_class, t_class, w_class, 0, ignored, 1.0f - smoothing,
                            smoothing / (acc_t)classes};
    loss_sum sum = loss_nothing(), weights = loss_nothing();
#define ROW_HEAD(i) \
    const long row = (i) / run, column = (i)-row * run; \
    walk_seek(&main, row); \
    const __global data_t *x = x_base + x_offset + main.at[0] + column * x_step; \
    const long t_at = t_offset + main.at[1] + column * t_step; \
    const __global data_t *t = (const __global data_t *)t_base + t_at; \
    acc_t weight, v; \
    bool is_ignored; \
    const int label = loss_find_label(o, t_base, t_at, w, &weight, &is_ignored); \
    v = is_ignored ? 0.0f : NAN
#define ROW_TAIL() \
    if (flags & LOSS_REDUCES) { \
        loss_add(&sum, v); \
        loss_add(&weights, weight); \
    } else { \
        store_one(loss_base, loss_offset + main.at[2] + column * loss_step, v); \
    }
    if (flags & LOSS_COLUMNS) {
        for (long i = first + item; i < last; i += WG) {
            ROW_HEAD(i);
            if (label >= 0)
                v = row_loss_alone(o, 0, 1, values, x, t, w, label, weight);
            ROW_TAIL()
        }
    } else {
        for (long i = first; i < last; ++i) {
            ROW_HEAD(i);
            if (label >= 0)
                v = row_loss_group(o, item, WG, values, x, t, w, label, weight);
            if (item == 0) {
                ROW_TAIL()
            }
        }
    }
    sum = loss_group_sum(sum, values, rests);
    weights = loss_group_sum(weights, values, rests);
    if (item == 0 && (flags & LOSS_REDUCES))
        loss_store_unit(sum, weights, partials_base + partials_offset, loss_base + loss_offset, flags, divisor);
}

// registers husk_loss_workgroup_combine DTYPE_F64: nvidia 40, amd 24
// registers husk_loss_workgroup_combine: nvidia 32, amd 16
LOSS_COMBINE_KERNEL(husk_loss_workgroup_combine)
