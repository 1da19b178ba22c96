/* SPDX-License-Identifier: MIT */
/*
 * ref/rnn/rnn.h: recurrent layers, see husk/ops/rnn.h.
 *
 * Errors. With u = 2^-24, K = I_l + H and mag(s) = sum |W x| + |R h'| + |b| + |d|, a gate's sum s is off by
 *     e(s) = (4 + 2 sqrt K) u mag(s) + sqrt(sum (W e(x))^2 + sum (R e(h'))^2)
 * where e(x), e(h') are the errors of what goes in: zero for x of the first layer and for an h' that was read
 * back from the device, the bounds computed for it where the device does not show it (c', lower layers).
 * Those bounds are added as independent errors are, like the roundings in 2 sqrt K. sigmoid and tanh have
 * slopes of at most 1/4 and 1 and own errors of 8 u (husk/ops/activation.h). Where a matrix engine multiplies, by
 * bounds of its own, F u sum |W x| + |b| is added to e(s), and to the errors of the gradients of x and of weights F u
 * times their sum of absolute products:
 *     gate   e(sigmoid(s)) = e(s) / 4 + 8 u      e(tanh(s)) = e(s) + 8 u      e(relu(s)) = e(s)
 *     LSTM   e(c) = |c'| e(f) + f e(c') + |g| e(i) + i e(g) + 4 u (|f c'| + |i g|)
 *            e(h) = |tanh c| e(o) + o (e(c) + 8 u) + 2 u |h|
 *     GRU    RESET_AFTER, q = Rn h' + dn:   e(arg n) = e(Wn x + bn) + |r| e(q) + |q| e(r) + 2 u |r q|
 *            RESET_BEFORE, v = r . h':      e(v) = |h'| e(r) + |r| e(h') + u |v|; then e(s) with v for h'
 *            e(n) = e(arg n) + 8 u
 *            e(h) = |h' - n| e(z) + (1 - z) e(n) + z e(h') + 4 u (|n| + |h'|)
 * The second-order products of two errors are left out; they are 2^-24 times smaller.
 */
#ifndef HUSK_REF_RNN_RNN_H
#define HUSK_REF_RNN_RNN_H

#include "ref/check.h"
#include "ref/rnn/problem.h"
#include "ref/rnn/step.h"

HUSK_BEGIN_DECLS

/* The whole sequence, everything by the reference's own states. h_n, c_n may be NULL. */
bool husk_ref_rnn_run(const husk_ref_rnn *op, const husk_ref_array *y, const husk_ref_array *h_n,
                      const husk_ref_array *c_n);

/*
 * Compare what a device computed. Every step of the top layer starts from the device's own previous h,
 * read from y; c and the lower layers, which the device does not show, are the reference's, with the bounds
 * that have grown on the way. Up to 2^24 multiply-adds everything is compared, beyond that a sample of
 * sequences and units over all of time, the first and the last always among them. h_n and c_n may be NULL.
 * Indices in the reports are the arrays' own. False when memory does not suffice.
 */
bool husk_ref_rnn_check(const husk_ref_rnn *op, const husk_ref_array *y, const husk_ref_array *h_n,
                        const husk_ref_array *c_n, uint64_t seed, husk_ref_report *y_report,
                        husk_ref_report *state_report);

/* ---- training ---- */

/*
 * y of f16 or bf16 is rounded, the states inside are not. husk_ref_rnn_check therefore takes the reference's own states
 * for such a y; here e(h') of a state that is read back from it is half a unit in the last place, which may come
 * together in the worst way: times sqrt(H). What is stored rounded may err by half a unit more.
 * Compare what a device kept: every gate of every running step with what it is by the device's own states before it, in
 * y and in the reserve itself, which are exact. Those of lower layers' outputs too.
 */
bool husk_ref_rnn_reserve_check(const husk_ref_rnn *op, const husk_ref_array *y, const husk_ref_array *reserve,
                                husk_ref_report *report);

/*
 * The gradients. What forward left in y and the reserve is exact: the errors are backward's own.
 *
 * With u = 2^-24, a saved gate's slope is off by 3 u of itself, but 2 |t| e(t) more for the t = tanh c that is made
 * anew, e(t) being its own error; a product of gates and gradients by u for each factor:
 *     e(dh) = e(product) + e(carried) + 2 u (|product| + |carried| + |dy|)
 *     LSTM  e(do) = |t o'| e(dh) + |dh o'| e(t) + 6 u |do|
 *           e(dc) = |o t'| e(dh) + 2 |dh o t| e(t) + e(carried) + 6 u (|dh o t'| + |carried|)
 *           e(di) = |g i'| e(dc) + 6 u |di|, and so for df and dg; e(carried) = f e(dc) + u |f dc|
 *     GRU   e(dn) = |(1 - z) n'| e(dh) + 8 u |dn|     e(dz) = |(h' - n) z'| e(dh) + 7 u |dz|
 *           e(dr) = |q r'| e(dn) + 6 u |dr|, with RESET_BEFORE |h' r'| e(dv) for it, dv being the gradient of r . h'
 * A product with weights, of K terms, is off by GEMM's bound for K and, inherited, by sqrt(sum (w e)^2), as forward's.
 * The gradients of weights and biases, with K = T B, inherit sum |e x|.
 *
 * Whoever made states and gates of its own, which differ from those by state_error, adds
 * state_error (|slope| + |v bend|) times the gradient to a product with a kept number v and a slope, and
 * state_error sum |dgate| to gradients of weights. The bend is the slope's own, |1 - 2 s| or 2 |t|: slopes near 0, and
 * states near 0, are off by many times u of themselves.
 *
 * Of large batches a few sequences are computed, which the others repeat: sequence b has the length of like[b], its
 * numbers in x, h0, c0, y and reserve, and sign[b] times those in dy, dh_n and dc_n. Gradients are linear in these: its
 * own are sign[b] times those of like[b], whose part in the gradients of weights and biases is taken as often.
 */
typedef struct husk_ref_rnn_backward {
    const husk_ref_rnn *forward;
    const husk_ref_array *y, *reserve;        /* as forward left them */
    const husk_ref_array *dy, *dh_n, *dc_n;   /* NULL: zeros */
    const int64_t *like;                      /* [B]; like[like[b]] is like[b], with sign 1. NULL: nothing repeats */
    const double *sign;                       /* [B], 1 or -1; beside like */
    double state_error;                       /* 0: the states are y's */
} husk_ref_rnn_backward;

/* One gradient: packed, with bounds; terms: of a sum in it, at most. values is NULL where there is none. */
typedef struct husk_ref_rnn_gradient {
    int32_t rank;
    int64_t shape[3];
    int64_t terms;
    double *values, *bounds;
} husk_ref_rnn_gradient;

enum { HUSK_REF_RNN_MAX_WEIGHTS = 32 };

typedef struct husk_ref_rnn_gradients {
    husk_ref_rnn_gradient x, h0, c0;
    husk_ref_rnn_gradient weights[HUSK_REF_RNN_MAX_WEIGHTS][4]; /* input, hidden, input bias, hidden bias */
} husk_ref_rnn_gradients;

/* False when memory does not suffice. Release it in either case. */
bool husk_ref_rnn_backward_run(const husk_ref_rnn_backward *op, husk_ref_rnn_gradients *gradients);
void husk_ref_rnn_gradients_release(husk_ref_rnn_gradients *gradients);
/* before: what was there and was added to; or NULL. Those of sequences that repeat others are compared as well. */
void husk_ref_rnn_gradient_compare(const husk_ref_rnn_backward *op, const husk_ref_rnn_gradient *gradient,
                                   const husk_ref_array *before, const husk_ref_array *actual, husk_ref_report *report);

HUSK_END_DECLS

#endif
