/* SPDX-License-Identifier: MIT */
/*
 * ref/conv/conv.h: convolution in one, two and three dimensions and its gradients, see husk/ops/conv.h.
 */
#ifndef HUSK_REF_CONV_CONV_H
#define HUSK_REF_CONV_CONV_H

#include <husk/ops/conv.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

typedef struct husk_ref_conv {
    const husk_conv_params *params; /* NULL for the defaults */
    const husk_ref_array *x;
    const husk_ref_array *w;
    const husk_ref_array *bias; /* or NULL */
    double error_factor;        /* husk_plan_error_factor of the variant; 0: the header's 4 + 2 sqrt J */
    /*
     * For variants that compute whole tiles of outputs at a time from sums over them (Winograd): the tile's
     * extent. An output's error then follows the largest magnitude in its tile (tiles start at 0), not its
     * own. 0: none.
     */
    int64_t tile[HUSK_MAX_SPACE];
    double *magnitudes; /* NULL, or every output's own magnitude from husk_ref_conv_prepare */
} husk_ref_conv;

/* y's shape, by the header's formula; a dimension may come out negative where nothing fits. */
void husk_ref_conv_output_shape(const husk_ref_conv *op, int64_t shape[HUSK_MAX_RANK]);

void husk_ref_conv_run(const husk_ref_conv *op, const husk_ref_array *y);

/*
 * With a tile: compute every output's magnitude once, so that one output does not cost a whole tile. False
 * when memory does not suffice; the description works all the same.
 */
bool husk_ref_conv_prepare(husk_ref_conv *op);
void husk_ref_conv_release(husk_ref_conv *op);

/*
 * One element of y. Its bound is the header's, with J = C / groups * filter elements,
 *     e = (4 + 2 sqrt J) * 2^-24 * (sum |w x| + |bias|)
 * (the sum being the largest in the tile, if there is one) carried through the activation.
 */
husk_ref_value husk_ref_conv_at(const husk_ref_conv *op, const int64_t *index);
husk_ref_function husk_ref_conv_function(const husk_ref_conv *op);

/* What zero stands for in the params, resolved. */
typedef struct husk_ref_window {
    int32_t space; /* dimensions of space */
    int64_t window[HUSK_MAX_SPACE], stride[HUSK_MAX_SPACE], pad[HUSK_MAX_SPACE], pad_end[HUSK_MAX_SPACE];
    int64_t dilation[HUSK_MAX_SPACE];
} husk_ref_window;
husk_ref_window husk_ref_conv_get_window(const husk_ref_conv *op);

/*
 * The gradient by the data, which is the transposed convolution: one element of dx is a sum over the filters of its
 * group and the filter's elements that meet it. The activation of params and bias are conv_transpose's.
 */
typedef struct husk_ref_conv_backward_data {
    const husk_conv_params *params; /* NULL for the defaults */
    const husk_ref_array *w, *dy;
    const husk_ref_array *bias;   /* or NULL */
    const husk_ref_array *before; /* what is added to; NULL: nothing */
    int64_t shape[HUSK_MAX_RANK]; /* dx's */
    double error_factor;          /* as above */
    /*
     * As above; tiles are counted among the elements of dx that are alike modulo the stride.
     */
    int64_t tile[HUSK_MAX_SPACE];
    double *magnitudes; /* NULL, or each element's own from husk_ref_conv_backward_data_prepare */
} husk_ref_conv_backward_data;

husk_ref_value husk_ref_conv_backward_data_at(const husk_ref_conv_backward_data *op, const int64_t *index);
husk_ref_function husk_ref_conv_backward_data_function(const husk_ref_conv_backward_data *op);
void husk_ref_conv_backward_data_run(const husk_ref_conv_backward_data *op, const husk_ref_array *dx);
/* The tile that an error factor speaks of, docs/operators.md: sets op->tile; 1 where it is a direct sum's. */
void husk_ref_conv_backward_data_set_tile(husk_ref_conv_backward_data *op);
/* As husk_ref_conv_prepare and husk_ref_conv_release. */
bool husk_ref_conv_backward_data_prepare(husk_ref_conv_backward_data *op);
void husk_ref_conv_backward_data_release(husk_ref_conv_backward_data *op);

/* The gradients by the weights and by the bias, sums over all positions of dy. */
typedef struct husk_ref_conv_backward_weights {
    const husk_conv_params *params; /* NULL for the defaults */
    const husk_ref_array *x, *dy;   /* x is not read for the bias' gradient */
    const husk_ref_array *before;   /* what is added to; NULL: nothing */
    int64_t shape[HUSK_MAX_RANK];   /* dw's */
    double error_factor;            /* as above, of dw */
    bool has_tile; /* errors of dw follow the largest magnitude of a filter's elements in a channel */
    double *magnitudes; /* NULL, or each element's own from husk_ref_conv_backward_weights_prepare */
} husk_ref_conv_backward_weights;

husk_ref_value husk_ref_conv_backward_weights_at(const husk_ref_conv_backward_weights *op, const int64_t *index);
husk_ref_function husk_ref_conv_backward_weights_function(const husk_ref_conv_backward_weights *op);
void husk_ref_conv_backward_weights_run(const husk_ref_conv_backward_weights *op, const husk_ref_array *dw);
/* Whether an error factor is Winograd's, docs/operators.md: sets op->has_tile. */
void husk_ref_conv_backward_weights_set_tile(husk_ref_conv_backward_weights *op);
/* As husk_ref_conv_prepare and husk_ref_conv_release. */
bool husk_ref_conv_backward_weights_prepare(husk_ref_conv_backward_weights *op);
void husk_ref_conv_backward_weights_release(husk_ref_conv_backward_weights *op);
/* The same for dbias, of one dimension. */
husk_ref_value husk_ref_conv_backward_bias_at(const husk_ref_conv_backward_weights *op, const int64_t *index);
husk_ref_function husk_ref_conv_backward_bias_function(const husk_ref_conv_backward_weights *op);
void husk_ref_conv_backward_bias_run(const husk_ref_conv_backward_weights *op, const husk_ref_array *dbias);

HUSK_END_DECLS

#endif
