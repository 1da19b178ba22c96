// SPDX-License-Identifier: MIT
// Losses for CPU devices, one work-item per work-group, explicit vectors.
//
//   husk_loss_vector_elements   losses of single elements
//   husk_loss_vector_rows       losses of rows of classes: a row's maximum and sum of exponentials block by block, its
//                               elements read from memory once; where neighbouring rows lie at stride 1 and classes do
//                               not, a lane takes a row
//   husk_loss_vector_combine    sums and means: the units' sums in order
//
// A work-group takes a unit. Units depend on the shape alone, and so does the order of every sum. Bound by memory: x is
// read once, and only what was asked for is written.
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/loss_vector.clh"

// n elements of a run: their losses written, or summed. Inlined with a literal kind.
LOSS_INLINE acc_t sum_elements(int kind, acc_t beta, const __global data_t *x, long x_step, const __global data_t *t,
                               long t_step, const __global data_t *w, long w_step, const __global data_t *p,
                               long p_step, __global data_t *loss, long loss_step, int n, int flags)
{
    vf sum = (vf)(0.0f), weight = (vf)(1.0f), positive = (vf)(1.0f);
    for (int i = 0; i < n; i += VW) {
        const int lanes = min(VW, n - i);
        if (kind == LOSS_BINARY_LOGITS && (flags & LOSS_WEIGHT))
            weight = loss_fetch(w + i * w_step, w_step, lanes);
        if (kind == LOSS_BINARY_LOGITS && (flags & LOSS_POSITIVE))
            positive = loss_fetch(p + i * p_step, p_step, lanes);
        const vf v = loss_value(kind, beta, loss_fetch(x + i * x_step, x_step, lanes),
                                loss_fetch(t + i * t_step, t_step, lanes), weight, positive);
        if (flags & LOSS_REDUCES)
            sum += loss_first(v, lanes, 0.0f);
        else
            loss_put(v, loss + i * loss_step, loss_step, lanes, flags);
    }
    return reduce_sum(sum);
}

LOSS_INLINE acc_t sum_kind(int kind, acc_t beta, const __global data_t *x, long x_step, const __global data_t *t,
                           long t_step, const __global data_t *w, long w_step, const __global data_t *p, long p_step,
                           __global data_t *loss, long loss_step, int n, int flags)
{
    if (x_step == 1 && t_step == 1 && (flags & LOSS_REDUCES))
        return sum_elements(kind, beta, x, 1, t, 1, w, w_step, p, p_step, loss, 1, n, flags | LOSS_REDUCES);
    if (x_step == 1 && t_step == 1 && loss_step == 1)
        return sum_elements(kind, beta, x, 1, t, 1, w, w_step, p, p_step, loss, 1, n, flags & ~LOSS_REDUCES);
    return sum_elements(kind, beta, x, x_step, t, t_step, w, w_step, p, p_step, loss, loss_step, n, flags);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_loss_vector_elements(const __global data_t *x_base, long x_offset, const __global data_t *t_base,
                               long t_offset, const __global data_t *w_base, long w_offset,
                               const __global data_t *p_base, long p_offset, __global data_t *loss_base,
                               long loss_offset, __global acc_t *partials_base, long partials_offset,
                               LOSS_ROWS_PARAMS, LOSS_EXTRA_PARAMS)
{
    ONE_ITEM();
    WALK_4(main);
    WALK_2(extra);
    long first = get_group_id(0) * share;
    const long last = min(first + share, total);
    long column = first % run;
    loss_sum sum = loss_nothing();
    walk_seek(&main, first / run);
    walk_seek(&extra, first / run);
    while (first < last) {
        const int n = (int)min(min((long)LOSS_BLOCK, run - column), last - first);
        const __global data_t *x = x_base + x_offset + main.at[0] + column * x_step;
        const __global data_t *t = t_base + t_offset + main.at[1] + column * t_step;
        __global data_t *loss = loss_base + loss_offset + main.at[2] + column * loss_step;
        const __global data_t *w = w_base + w_offset + extra.at[0] + column * w_step;
        const __global data_t *p = p_base + p_offset + extra.at[1] + column * p_step;
        acc_t part = 0.0f;
#define ELEMENTS_CASE(literal) \
        case literal: \
            part = sum_kind(literal, beta, x, x_step, t, t_step, w, w_step, p, p_step, loss, loss_step, n, flags); \
            break;
        switch (kind) {
            LOSS_ELEMENT_KINDS(ELEMENTS_CASE)
        default:
            break;
        }
        loss_add(&sum, part);
        first += n;
        column += n;
        if (column == run) {
            column = 0;
            walk_next(&main);
            walk_next(&extra);
        }
    }
    if (flags & LOSS_REDUCES)
        loss_store_unit(sum, loss_nothing(), partials_base + partials_offset, loss_base + loss_offset, flags, divisor);
}

// What all rows have in common.
typedef struct {
    int kind, flags, classes;
    long x_class, t_class, w_class, ignored;
    acc_t keep, spread; // q is keep times the target and spread
} options;

// sum over c of q_c log softmax_c without the label's part.
LOSS_INLINE acc_t spread_row(options o, const __global data_t *x, const __global data_t *t, const __global data_t *w,
                             acc_t maximum, acc_t log_sum)
{
    loss_sum all = loss_nothing();
    for (int begin = 0; begin < o.classes; begin += LOSS_BLOCK) {
        const int end = min(o.classes, begin + LOSS_BLOCK);
        vf sum = (vf)(0.0f);
        for (int c = begin; c < end; c += VW) {
            const int n = min(VW, end - c);
            const vf y = (loss_fetch(x + c * o.x_class, o.x_class, n) - (vf)(maximum)) - (vf)(log_sum);
            const vf q = loss_wanted(t + c * o.t_class, o.t_class, w + c * o.w_class, o.w_class, n, o.flags, o.keep,
                                     o.spread);
            sum += loss_first(q * y, n, 0.0f);
        }
        loss_add(&all, reduce_sum(sum));
    }
    return loss_total(all);
}

// t: probabilities; label: in range. weight: the row's in a mean.
LOSS_INLINE acc_t row_loss(options o, const __global data_t *x, const __global data_t *t, const __global data_t *w,
                           long label, acc_t weight)
{
    const bool has_label = o.flags & LOSS_LABELS;
    if (o.kind == LOSS_NEGATIVE_LOG)
        return -weight * load_one(x, label * o.x_class);
    acc_t maximum, sum, loss = 0.0f;
    loss_softmax(x, o.x_class, o.classes, &maximum, &sum);
    const acc_t log_sum = log(sum);
    if (has_label)
        loss = -weight * o.keep * ((load_one(x, label * o.x_class) - maximum) - log_sum);
    if (!has_label || o.spread != 0.0f)
        loss -= spread_row(o, x, t, w, maximum, log_sum);
    return loss;
}

// Neighbouring rows, a lane each: labels[i] is negative where there is none.
LOSS_INLINE vf lanes_loss(options o, const __global data_t *x, const __global data_t *t, long t_step,
                          const __global data_t *w, const ACC_INT *labels, vf weights, int n)
{
    const bool has_label = o.flags & LOSS_LABELS;
    acc_t chosen[VW];
    for (int i = 0; i < VW; ++i)
        chosen[i] = i < n && has_label && labels[i] >= 0 ? load_one(x, i + labels[i] * o.x_class) : 0.0f;
    if (o.kind == LOSS_NEGATIVE_LOG)
        return -weights * load_private(chosen);
    vf maximum, sum, loss = (vf)(0.0f);
    loss_softmax_lanes(x, o.x_class, o.classes, n, &maximum, &sum);
    const vf log_sum = log(sum);
    if (has_label)
        loss = -weights * (vf)(o.keep) * ((load_private(chosen) - maximum) - log_sum);
    if (has_label && o.spread == 0.0f)
        return loss;
    LONG_SUM_VF(all);
    for (int c = 0, stop; c < o.classes;) {
        vf run = (vf)(0.0f);
        for (stop = min(c + LONG_SUM_RUN, o.classes); c < stop; ++c) {
            vf q = (vf)(o.spread);
            if (!has_label)
                q = MAD(loss_fetch(t + c * o.t_class, t_step, n), (vf)(o.keep), q);
            if (o.flags & LOSS_WEIGHT)
                q *= (vf)(load_one(w, c * o.w_class));
            run += q * ((load_vf_part(x + c * o.x_class, n) - maximum) - log_sum);
        }
        LONG_SUM_ADD_VF(all, run);
    }
    return loss - LONG_SUM_TOTAL_VF(all);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_loss_vector_rows(const __global data_t *x_base, long x_offset, const __global uchar *t_base, long t_offset,
                           const __global data_t *w_base, long w_offset, __global data_t *loss_base, long loss_offset,
                           __global acc_t *partials_base, long partials_offset, LOSS_ROWS_PARAMS, LOSS_CLASSES_PARAMS)
{
    ONE_ITEM();
    WALK_4(main);
    long first = get_group_id(0) * share;
    const long last = min(first + share, total);
    const __global data_t *w = w_base + w_offset;
    const options o = {kind, flags, classes, x_class, t_class, w_class, ignored,
                       1.0f - smoothing, smoothing / (acc_t)classes};
    const int width = flags & LOSS_COLUMNS ? VW : 1;
    long column = first % run;
    loss_sum sum = loss_nothing(), weight = loss_nothing();
    walk_seek(&main, first / run);
    while (first < last) {
        const int n = (int)min(min((long)width, run - column), last - first);
        const __global data_t *x = x_base + x_offset + main.at[0] + column * x_step;
        const long t_at = t_offset + main.at[1] + column * t_step;
        const __global data_t *t = (const __global data_t *)t_base + t_at;
        if (flags & LOSS_COLUMNS) {
            const vi label = flags & LOSS_LABELS ? loss_labels(t_base, t_at, t_step, n, ignored, classes, flags)
                                                 : LANES < (vi)(n) ? (vi)(0) : (vi)(-1);
            const vi is_there = label >= (vi)(0);
            vf weights = is_there ? (vf)(1.0f) : (vf)(0.0f);
            ACC_INT labels[VW];
            STORE_PRIVATE(vi, label, labels);
            if ((flags & LOSS_LABELS) && (flags & LOSS_WEIGHT)) {
                acc_t each[VW];
                for (int i = 0; i < VW; ++i)
                    each[i] = labels[i] >= 0 ? load_one(w, labels[i] * w_class) : 0.0f;
                weights = load_private(each);
            }
            vf losses = lanes_loss(o, x, t, t_step, w, labels, weights, n);
            losses = is_there ? losses : label == (vi)(-2) ? (vf)(NAN) : (vf)(0.0f);
            if (flags & LOSS_REDUCES) {
                loss_add(&sum, reduce_sum(losses));
                loss_add(&weight, reduce_sum(weights));
            } else {
                loss_put(losses, loss_base + loss_offset + main.at[2] + column * loss_step, loss_step, n, 0);
            }
        } else {
            const long label = flags & LOSS_LABELS ? loss_label(t_base, t_at, flags) : 0;
            const bool is_there = !(flags & LOSS_LABELS) || (label != ignored && label >= 0 && label < classes);
            acc_t own_weight = is_there ? 1.0f : 0.0f;
            if (is_there && (flags & LOSS_LABELS) && (flags & LOSS_WEIGHT))
                own_weight = load_one(w, label * w_class);
            const acc_t loss = is_there ? row_loss(o, x, t, w, label, own_weight) : label == ignored ? 0.0f : NAN;
            if (flags & LOSS_REDUCES) {
                loss_add(&sum, loss);
                loss_add(&weight, own_weight);
            } else {
                store_one(loss_base, loss_offset + main.at[2] + column * loss_step, loss);
            }
        }
        first += n;
        column += n;
        if (column == run) {
            column = 0;
            walk_next(&main);
        }
    }
    if (flags & LOSS_REDUCES)
        loss_store_unit(sum, weight, partials_base + partials_offset, loss_base + loss_offset, flags, divisor);
}

LOSS_COMBINE_KERNEL(husk_loss_vector_combine)
