// SPDX-License-Identifier: MIT
// Gradients of losses for CPU devices, one work-item per work-group, explicit vectors.
//
//   husk_loss_backward_vector_elements   losses of single elements
//   husk_loss_backward_vector_rows       losses of rows: softmax as forward has it, then (Q p - q) g in a second pass
//                                        over what the caches hold: memory is read once and written once
//   husk_loss_backward_vector_weights    means of labels: sums of the labels' weights, which every work-group of
//                                        ..._rows adds up in order
//
// A work-group takes a unit, which depends on the shape alone. Bound by memory.
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/loss_vector.clh"

// dloss: of the first element; one number where the loss is reduced. Inlined with a literal kind.
LOSS_INLINE void write_elements(int kind, acc_t beta, const __global data_t *x, long x_step, const __global data_t *t,
                                long t_step, const __global data_t *w, long w_step, const __global data_t *p,
                                long p_step, const __global data_t *dloss, long loss_step, acc_t scale,
                                __global data_t *dx, long dx_step, int n, int flags)
{
    vf weight = (vf)(1.0f), positive = (vf)(1.0f), g = (vf)(scale);
    for (int i = 0; i < n; i += VW) {
        const int lanes = min(VW, n - i);
        if (kind == LOSS_BINARY_LOGITS && (flags & LOSS_WEIGHT))
            weight = loss_fetch(w + i * w_step, w_step, lanes);
        if (kind == LOSS_BINARY_LOGITS && (flags & LOSS_POSITIVE))
            positive = loss_fetch(p + i * p_step, p_step, lanes);
        if (!(flags & LOSS_REDUCES))
            g = loss_fetch(dloss + i * loss_step, loss_step, lanes);
        const vf slope = loss_slope(kind, beta, loss_fetch(x + i * x_step, x_step, lanes),
                                    loss_fetch(t + i * t_step, t_step, lanes), weight, positive);
        loss_put(g * slope, dx + i * dx_step, dx_step, lanes, flags);
    }
}

LOSS_INLINE void write_kind(int kind, acc_t beta, const __global data_t *x, long x_step, const __global data_t *t,
                            long t_step, const __global data_t *w, long w_step, const __global data_t *p, long p_step,
                            const __global data_t *dloss, long loss_step, acc_t scale, __global data_t *dx,
                            long dx_step, int n, int flags)
{
    if (x_step == 1 && t_step == 1 && dx_step == 1 && (flags & LOSS_REDUCES))
        write_elements(kind, beta, x, 1, t, 1, w, w_step, p, p_step, dloss, 1, scale, dx, 1, n, flags | LOSS_REDUCES);
    else
        write_elements(kind, beta, x, x_step, t, t_step, w, w_step, p, p_step, dloss, loss_step, scale, dx, dx_step, n,
                       flags);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_loss_backward_vector_elements(const __global data_t *x_base, long x_offset, const __global data_t *t_base,
                                        long t_offset, const __global data_t *w_base, long w_offset,
                                        const __global data_t *p_base, long p_offset,
                                        const __global data_t *dloss_base, long dloss_offset,
                                        __global data_t *dx_base, long dx_offset, LOSS_ROWS_PARAMS, LOSS_EXTRA_PARAMS)
{
    ONE_ITEM();
    WALK_4(main);
    WALK_2(extra);
    long first = get_group_id(0) * share;
    const long last = min(first + share, total);
    long column = first % run;
    const acc_t scale = flags & LOSS_REDUCES ? load_one(dloss_base, dloss_offset) / (acc_t)divisor : 0.0f;
    walk_seek(&main, first / run);
    walk_seek(&extra, first / run);
    while (first < last) {
        const int n = (int)min(min((long)LOSS_BLOCK, run - column), last - first);
        const __global data_t *x = x_base + x_offset + main.at[0] + column * x_step;
        const __global data_t *t = t_base + t_offset + main.at[1] + column * t_step;
        const __global data_t *dloss = dloss_base + dloss_offset + main.at[2] + column * loss_step;
        const __global data_t *w = w_base + w_offset + extra.at[0] + column * w_step;
        const __global data_t *p = p_base + p_offset + extra.at[1] + column * p_step;
        __global data_t *dx = dx_base + dx_offset + main.at[3] + column * dx_step;
#define ELEMENTS_CASE(literal) \
        case literal: \
            write_kind(literal, beta, x, x_step, t, t_step, w, w_step, p, p_step, dloss, loss_step, scale, dx, \
                       dx_step, n, flags); \
            break;
        switch (kind) {
            LOSS_ELEMENT_KINDS(ELEMENTS_CASE)
        default:
            break;
        }
        first += n;
        column += n;
        if (column == run) {
            column = 0;
            walk_next(&main);
            walk_next(&extra);
        }
    }
}

// What all rows have in common.
typedef struct {
    int kind, flags, classes;
    long x_class, t_class, w_class, dx_class;
    acc_t keep, spread; // q is keep times the target and spread
} options;

LOSS_INLINE void write_zeros(options o, __global data_t *dx)
{
    if (o.flags & LOSS_ADDS)
        return;
    for (int c = 0; c < o.classes; c += VW)
        loss_put((vf)(0.0f), dx + c * o.dx_class, o.dx_class, min(VW, o.classes - c), 0);
}

// sum over c of q_c without the label's part.
LOSS_INLINE acc_t spread_total(options o, const __global data_t *t, const __global data_t *w)
{
    loss_sum all = loss_nothing();
    for (int begin = 0; begin < o.classes; begin += LOSS_BLOCK) {
        const int end = min(o.classes, begin + LOSS_BLOCK);
        vf sum = (vf)(0.0f);
        for (int c = begin; c < end; c += VW) {
            const int n = min(VW, end - c);
            sum += loss_first(loss_wanted(t + c * o.t_class, o.t_class, w + c * o.w_class, o.w_class, n, o.flags,
                                          o.keep, o.spread), n, 0.0f);
        }
        loss_add(&all, reduce_sum(sum));
    }
    return loss_total(all);
}

// Inlined with literal strides where they are 1. total: Q; at_label: the label's own part of q.
LOSS_INLINE void write_strided(options o, const __global data_t *x, long x_class, const __global data_t *t,
                               const __global data_t *w, int label, acc_t maximum, acc_t factor, acc_t at_label,
                               acc_t g, __global data_t *dx, long dx_class, bool is_plain)
{
    for (int c = 0; c < o.classes; c += VW) {
        const int n = min(VW, o.classes - c);
        vf r = exp_vf(loss_fetch(x + c * x_class, x_class, n) - (vf)(maximum)) * (vf)(factor);
        if (!is_plain)
            r -= loss_wanted(t + c * o.t_class, o.t_class, w + c * o.w_class, o.w_class, n, o.flags, o.keep, o.spread);
        r -= (vi)(label - c) == LANES ? (vf)(at_label) : (vf)(0.0f);
        loss_put((vf)(g) * r, dx + c * dx_class, dx_class, n, o.flags);
    }
}

#define KEPT 65536 // exponentials of a row kept in private memory: 256 KiB, what a second-level cache holds

// A row of neighbouring classes with a label: its maximum, its exponentials, which are kept, and the gradient from
// them; what is read and written next is asked for while they are computed.
LOSS_INLINE void write_kept(const __global data_t *x, int classes, int label, acc_t at_label, acc_t g, acc_t *kept,
                            __global data_t *dx, const __global data_t *next)
{
    vf m0 = (vf)(-INFINITY), m1 = m0;
    int i = 0;
    for (; i + 2 * VW <= classes; i += 2 * VW) {
        m0 = max_vf(load_vf(x + i), m0);
        m1 = max_vf(load_vf(x + i + VW), m1);
    }
    for (; i < classes; i += VW)
        m0 = max_vf(loss_first(load_vf_part(x + i, classes - i), classes - i, -INFINITY), m0);
    const vf shift = (vf)(reduce_max(max_vf(m0, m1)));
    acc_t sum = 0.0f;
    for (int begin = 0; begin < classes; begin += LOSS_BLOCK) {
        const int end = min(begin + LOSS_BLOCK, classes);
        vf s0 = (vf)(0.0f), s1 = s0;
        for (i = begin; i + 2 * VW <= end; i += 2 * VW) {
            PREFETCH_WRITE(dx + i);
            PREFETCH_WRITE(dx + i + VW);
            const vf e0 = exp_vf(load_vf(x + i) - shift), e1 = exp_vf(load_vf(x + i + VW) - shift);
            store_private(e0, kept + i);
            store_private(e1, kept + i + VW);
            s0 += e0;
            s1 += e1;
        }
        for (; i < end; i += VW) {
            const vf e = exp_vf(loss_first(load_vf_part(x + i, end - i), end - i, -INFINITY) - shift);
            store_private(e, kept + i);
            s0 += e;
        }
        sum += reduce_sum(s0 + s1);
    }
    const acc_t factor = at_label / sum;
    const vf scale = (vf)(factor), gradient = (vf)(g);
    for (i = 0; i + VW <= classes; i += VW) {
        PREFETCH_READ(next + i);
        store_vf(gradient * (load_private(kept + i) * scale), dx + i);
    }
    if (i < classes)
        store_vf_part(gradient * (load_private(kept + i) * scale), dx + i, classes - i);
    store_one(dx, label, g * (kept[label] * factor - at_label));
}

// kept: room for KEPT elements; next: the row that follows in memory, or this one.
LOSS_INLINE void write_row(options o, const __global data_t *x, const __global data_t *t, const __global data_t *w,
                           long label, acc_t weight, acc_t spread_sum, acc_t g, __global data_t *dx, acc_t *kept,
                           const __global data_t *next)
{
    const bool has_label = o.flags & LOSS_LABELS;
    if (o.kind == LOSS_CROSS_ENTROPY && has_label && o.x_class == 1 && o.dx_class == 1 && o.spread == 0.0f &&
        !(o.flags & LOSS_ADDS) && o.classes <= KEPT - VW) {
        write_kept(x, o.classes, (int)label, weight * o.keep, g, kept, dx, next);
        return;
    }
    if (o.kind == LOSS_NEGATIVE_LOG) {
        write_zeros(o, dx);
        const acc_t before = o.flags & LOSS_ADDS ? load_one(dx, label * o.dx_class) : 0.0f;
        store_one(dx, label * o.dx_class, before - g * weight);
        return;
    }
    acc_t maximum, sum;
    loss_softmax(x, o.x_class, o.classes, &maximum, &sum);
    if (!has_label)
        spread_sum = spread_total(o, t, w);
    const acc_t at_label = has_label ? weight * o.keep : 0.0f;
    const acc_t factor = (spread_sum + at_label) / sum;
    if (o.x_class == 1 && o.dx_class == 1 && has_label && o.spread == 0.0f)
        write_strided(o, x, 1, t, w, (int)label, maximum, factor, at_label, g, dx, 1, true);
    else
        write_strided(o, x, o.x_class, t, w, (int)label, maximum, factor, at_label, g, dx, o.dx_class, false);
}

// Neighbouring rows, a lane each: labels[i] is negative where there is none and the gradient 0.
LOSS_INLINE void write_lanes(options o, const __global data_t *x, const __global data_t *t, long t_step,
                             const __global data_t *w, const ACC_INT *labels, const acc_t *weights, acc_t spread_sum,
                             vf g, __global data_t *dx, long dx_step, int n)
{
    const bool has_label = o.flags & LOSS_LABELS, is_log = o.kind == LOSS_NEGATIVE_LOG;
    const vi label = LOAD_PRIVATE(vi, labels);
    const vf at_label = has_label ? load_private(weights) * (vf)(o.keep) : (vf)(0.0f);
    vf maximum = (vf)(0.0f), sum = (vf)(1.0f), total = (vf)(spread_sum);
    if (!is_log)
        loss_softmax_lanes(x, o.x_class, o.classes, n, &maximum, &sum);
    if (!has_label) {
        LONG_SUM_VF(all);
        for (int c = 0, stop; c < o.classes;) {
            vf run = (vf)(0.0f);
            for (stop = min(c + LONG_SUM_RUN, o.classes); c < stop; ++c) {
                const vf q = MAD(loss_fetch(t + c * o.t_class, t_step, n), (vf)(o.keep), (vf)(o.spread));
                run += o.flags & LOSS_WEIGHT ? q * (vf)(load_one(w, c * o.w_class)) : q;
            }
            LONG_SUM_ADD_VF(all, run);
        }
        total = LONG_SUM_TOTAL_VF(all);
    }
    const vf factor = (total + at_label) / sum;
    for (int c = 0; c < o.classes; ++c) {
        vf r = (vf)(0.0f);
        if (!is_log) {
            vf q = (vf)(o.spread);
            if (!has_label)
                q = MAD(loss_fetch(t + c * o.t_class, t_step, n), (vf)(o.keep), q);
            if (o.flags & LOSS_WEIGHT)
                q *= (vf)(load_one(w, c * o.w_class));
            r = exp_vf(load_vf_part(x + c * o.x_class, n) - maximum) * factor - q;
        }
        r = (vi)(c) == label ? r - at_label : r;
        r = g * r;
        if (is_log)
            r = (vi)(c) == label ? r : (vf)(0.0f);
        r = label < (vi)(0) ? (vf)(0.0f) : r;
        loss_put(r, dx + c * o.dx_class, dx_step, n, o.flags);
    }
}

// weights: of `weight_units` units of labels, see below.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_loss_backward_vector_rows(const __global data_t *x_base, long x_offset, const __global uchar *t_base,
                                    long t_offset, const __global data_t *w_base, long w_offset,
                                    const __global data_t *dloss_base, long dloss_offset, __global data_t *dx_base,
                                    long dx_offset, const __global acc_t *weights_base, long weights_offset,
                                    int weight_units, LOSS_ROWS_PARAMS, LOSS_CLASSES_PARAMS)
{
    ONE_ITEM();
    WALK_4(main);
    long first = get_group_id(0) * share;
    const long last = min(first + share, total);
    const __global data_t *w = w_base + w_offset;
    const options o = {kind, flags, classes, x_class, t_class, w_class, dx_class,
                       1.0f - smoothing, smoothing / (acc_t)classes};
    const int width = flags & LOSS_COLUMNS ? VW : 1;
    const acc_t all = weight_units ? loss_weights(weights_base + weights_offset, weight_units) : (acc_t)divisor;
    const acc_t scale = flags & LOSS_REDUCES ? load_one(dloss_base, dloss_offset) / all : 0.0f;
    const acc_t spread_sum =
        (flags & LOSS_LABELS) && smoothing != 0.0f ? spread_total(o, x_base, w) : 0.0f; // of the weights alone
    long column = first % run;
    acc_t kept[KEPT];
    walk_seek(&main, first / run);
    while (first < last) {
        const int n = (int)min(min((long)width, run - column), last - first);
        const __global data_t *x = x_base + x_offset + main.at[0] + column * x_step;
        const long t_at = t_offset + main.at[1] + column * t_step;
        const __global data_t *t = (const __global data_t *)t_base + t_at;
        const __global data_t *dloss = dloss_base + dloss_offset + main.at[2] + column * loss_step;
        __global data_t *dx = dx_base + dx_offset + main.at[3] + column * dx_step;
        vi label = (vi)(0);
        if (flags & LOSS_LABELS)
            label = loss_labels(t_base, t_at, t_step, n, ignored, classes, flags);
        ACC_INT labels[VW];
        acc_t weights[VW];
        STORE_PRIVATE(vi, label, labels);
        store_private((vf)(1.0f), weights);
        if ((flags & LOSS_LABELS) && (flags & LOSS_WEIGHT))
            for (int i = 0; i < n; ++i)
                weights[i] = labels[i] >= 0 ? load_one(w, labels[i] * w_class) : 1.0f;
        const vf g = flags & LOSS_REDUCES ? (vf)(scale) : loss_fetch(dloss, loss_step, n);
        if (flags & LOSS_COLUMNS)
            write_lanes(o, x, t, t_step, w, labels, weights, spread_sum, g, dx, dx_step, n);
        else if (labels[0] >= 0)
            write_row(o, x, t, w, labels[0], weights[0], spread_sum, g.s0, dx, kept,
                      first + 1 < last && column + 1 < run ? x + x_step : x);
        else
            write_zeros(o, dx);
        first += n;
        column += n;
        if (column == run) {
            column = 0;
            walk_next(&main);
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void husk_loss_backward_vector_weights(const __global uchar *t_base, long t_offset, const __global data_t *w_base,
                                       long w_offset, __global acc_t *weights_base, long weights_offset,
                                       LOSS_ROWS_PARAMS, LOSS_CLASSES_PARAMS)
{
    ONE_ITEM();
    WALK_4(main);
    const long first = get_group_id(0) * share;
    const long last = min(first + share, total);
    long column = first % run;
    loss_sum weight = loss_nothing();
    walk_seek(&main, first / run);
    for (long i = first; i < last; ++i) {
        const long label = loss_label(t_base, t_offset + main.at[1] + column * t_step, flags);
        if (label != ignored && label >= 0 && label < classes)
            loss_add(&weight, flags & LOSS_WEIGHT ? load_one(w_base, w_offset + label * w_class) : 1.0f);
        if (++column == run) {
            column = 0;
            walk_next(&main);
        }
    }
    vstore2((ACC2)(weight.value, weight.rest), get_group_id(0), weights_base + weights_offset);
}
