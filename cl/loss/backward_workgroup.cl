// SPDX-License-Identifier: MIT
// Gradients of losses for GPUs: lib/loss_workgroup.clh.
//
//   husk_loss_backward_workgroup_elements   losses of single elements
//   husk_loss_backward_workgroup_rows       losses of rows: softmax, then (Q p - q) g
//   husk_loss_backward_workgroup_weights    means of labels: sums of the labels' weights, which ..._rows adds up
//
// A work-group takes a unit of rows or elements, cut by the shape alone. Bound by memory.
//
//   -DWG=64|256   work-items a work-group
#include "lib/loss_workgroup.clh"

// registers husk_loss_backward_workgroup_elements: nvidia 48, amd 48
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_loss_backward_workgroup_elements(const __global data_t *x_base, long x_offset,
                                           const __global data_t *t_base, long t_offset,
                                           const __global data_t *w_base, long w_offset,
                                           const __global data_t *p_base, long p_offset,
                                           const __global data_t *dloss_base, long dloss_offset,
                                           __global data_t *dx_base, long dx_offset, LOSS_ROWS_PARAMS,
                                           LOSS_EXTRA_PARAMS)
{
    WALK_4(main);
    WALK_2(extra);
    const long first = get_group_id(0) * share;
    const long last = min(first + share, total);
    acc_t g = flags & LOSS_REDUCES ? load_one(dloss_base, dloss_offset) / (acc_t)divisor : 0.0f;
    for (long i = first + get_local_id(0); i < last; i += WG) {
        const long row = i / run, column = i - row * run;
        walk_seek(&main, row);
        walk_seek(&extra, row);
        acc_t weight = 1.0f, positive = 1.0f;
        if (flags & LOSS_WEIGHT)
            weight = load_one(w_base, w_offset + extra.at[0] + column * w_step);
        if (flags & LOSS_POSITIVE)
            positive = load_one(p_base, p_offset + extra.at[1] + column * p_step);
        if (!(flags & LOSS_REDUCES))
            g = load_one(dloss_base, dloss_offset + main.at[2] + column * loss_step);
        const long at = dx_offset + main.at[3] + column * dx_step;
        acc_t r = g * loss_slope(kind, beta, load_one(x_base, x_offset + main.at[0] + column * x_step),
                                 load_one(t_base, t_offset + main.at[1] + column * t_step), weight, positive);
        if (flags & LOSS_ADDS)
            r += load_one(dx_base, at);
        store_one(dx_base, at, r);
    }
}

// label: -1 for a row whose gradient is 0. spread_sum: of the weights alone, where there are labels.
#define WRITE_ROW(name, softmax, SUM) \
    inline void name(loss_options o, int item, int step, __local acc_t *scratch, const __global data_t *x, \
                     const __global data_t *t, const __global data_t *w, int label, acc_t weight, acc_t spread_sum, \
                     acc_t g, __global data_t *dx) \
    { \
        const bool has_label = o.flags & LOSS_LABELS, is_log = o.kind == LOSS_NEGATIVE_LOG; \
        acc_t maximum = 0.0f, sum = 1.0f; \
        if (label >= 0 && !is_log) { \
            softmax(item, step, scratch, x, o.x_class, o.classes, &maximum, &sum); \
            if (!has_label) { \
                LONG_SUM(all); \
                for (int c = item; c < o.classes; c += step) \
                    LONG_SUM_ADD(all, loss_wanted(o, t, w, c)); \
                spread_sum = SUM(scratch, LONG_SUM_TOTAL(all)); \
            } \
        } \
        const acc_t at_label = has_label ? weight * o.keep : 0.0f; \
        const acc_t factor = (spread_sum + at_label) / sum; \
        for (int c = item; c < o.classes; c += step) { \
            acc_t r = 0.0f; \
            if (label >= 0 && !is_log) \
                r = exp(load_one(x, c * o.x_class) - maximum) * factor - loss_wanted(o, t, w, c); \
            r = g * (c == label ? r - at_label : r); \
            if (label < 0 || (is_log && c != label)) \
                r = 0.0f; \
            if (o.flags & LOSS_ADDS) \
                r += load_one(dx, c * o.dx_class); \
            store_one(dx, c * o.dx_class, r); \
        } \
    }

WRITE_ROW(write_row_group, loss_softmax_group, loss_group_add)
WRITE_ROW(write_row_alone, loss_softmax_alone, LOSS_ALONE)

// weights: of `weight_units` units of labels, see below.
// registers husk_loss_backward_workgroup_rows DTYPE_F64: nvidia 80, amd 80
// registers husk_loss_backward_workgroup_rows: nvidia 96, amd 56
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_loss_backward_workgroup_rows(const __global data_t *x_base, long x_offset, const __global uchar *t_base,
                                       long t_offset, const __global data_t *w_base, long w_offset,
                                       const __global data_t *dloss_base, long dloss_offset,
                                       __global data_t *dx_base, long dx_offset, const __global acc_t *weights_base,
                                       long weights_offset, int weight_units, LOSS_ROWS_PARAMS, LOSS_CLASSES_PARAMS)
{
    __local acc_t scratch[WG];
    WALK_4(main);
    const long first = get_group_id(0) * share;
    const long last = min(first + share, total);
    const int item = (int)get_local_id(0);
    const __global data_t *w = w_base + w_offset;
    const loss_options o = {kind, flags, classes, x_class, t_class, w_class, dx_class, ignored, 1.0f - smoothing,
                            smoothing / (acc_t)classes};
    const acc_t count = weight_units ? loss_weights(weights_base + weights_offset, weight_units) : (acc_t)divisor;
    acc_t g = flags & LOSS_REDUCES ? load_one(dloss_base, dloss_offset) / count : 0.0f, spread_sum = 0.0f;
    if ((flags & LOSS_LABELS) && smoothing != 0.0f) {
        LONG_SUM(all);
        for (int c = item; c < classes; c += WG)
            LONG_SUM_ADD(all, loss_wanted(o, x_base, w, c));
        spread_sum = loss_group_add(scratch, LONG_SUM_TOTAL(all));
    }
#define ROW_HEAD(i) \
    const long row = (i) / run, column = (i)-row * run; \
    walk_seek(&main, row); \
    const __global data_t *x = x_base + x_offset + main.at[0] + column * x_step; \
    const long t_at = t_offset + main.at[1] + column * t_step; \
    const __global data_t *t = (const __global data_t *)t_base + t_at; \
    __global data_t *dx = dx_base + dx_offset + main.at[3] + column * dx_step; \
    acc_t weight; \
    bool is_ignored; \
    const int label = loss_find_label(o, t_base, t_at, w, &weight, &is_ignored); \
    if (!(flags & LOSS_REDUCES)) \
        g = load_one(dloss_base, dloss_offset + main.at[2] + column * loss_step)
    if (flags & LOSS_COLUMNS) {
        for (long i = first + item; i < last; i += WG) {
            ROW_HEAD(i);
            write_row_alone(o, 0, 1, scratch, x, t, w, label, weight, spread_sum, g, dx);
        }
    } else {
        for (long i = first; i < last; ++i) {
            ROW_HEAD(i);
            write_row_group(o, item, WG, scratch, x, t, w, label, weight, spread_sum, g, dx);
        }
    }
}

// registers husk_loss_backward_workgroup_weights: nvidia 40, amd 32
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_loss_backward_workgroup_weights(const __global uchar *t_base, long t_offset,
                                          const __global data_t *w_base, long w_offset,
                                          __global acc_t *weights_base, long weights_offset, LOSS_ROWS_PARAMS,
                                          LOSS_CLASSES_PARAMS)
{
    __local acc_t values[WG], rests[WG];
    WALK_4(main);
    const long first = get_group_id(0) * share;
    const long last = min(first + share, total);
    const loss_options o = {kind, flags, classes, x_class, t_class, w_class, 0, ignored, 1.0f, 0.0f};
    loss_sum sum = loss_nothing();
    for (long i = first + get_local_id(0); i < last; i += WG) {
        const long row = i / run, column = i - row * run;
        acc_t weight;
        bool is_ignored;
        walk_seek(&main, row);
        loss_find_label(o, t_base, t_offset + main.at[1] + column * t_step, w_base + w_offset, &weight, &is_ignored);
        loss_add(&sum, weight);
    }
    sum = loss_group_sum(sum, values, rests);
    if (get_local_id(0) == 0)
        vstore2((ACC2)(sum.value, sum.rest), get_group_id(0), weights_base + weights_offset);
}
