// SPDX-License-Identifier: MIT
#include "cases/rnn/verify.h"

#include <math.h>
#include <stdlib.h>

#include "cases/rnn/sequences.h"
#include "cases/rnn/shape.h"
#include "ref/rnn/rnn.h"

// Reference views of all weights: four arrays a layer and direction.
static husk_ref_rnn_weights *ref_weights(const bench_data *data, husk_ref_array **arrays)
{
    size_t count = (size_t)data->layer_count;
    husk_ref_rnn_weights *weight = calloc(count, sizeof *weight);
    *arrays = calloc(4 * count, sizeof **arrays);
    for (size_t i = 0; weight && *arrays && i < count; i++) {
        husk_ref_array *a = *arrays + 4 * i;
        a[0] = bench_ref_array(&data->layers[i].input);
        a[1] = bench_ref_array(&data->layers[i].hidden);
        a[2] = bench_ref_array(&data->layers[i].input_bias);
        a[3] = bench_ref_array(&data->layers[i].hidden_bias);
        weight[i] = (husk_ref_rnn_weights){&a[0], &a[1], a[2].data ? &a[2] : NULL, a[3].data ? &a[3] : NULL};
    }
    return weight;
}

// Part of an array of gradients as one weight's.
static husk_ref_array part_of(const bench_array *all, int64_t offset, int32_t rank, int64_t rows, int64_t columns)
{
    char *at = (char *)all->data + offset * (int64_t)husk_dtype_size(all->dtype);
    return husk_ref_array_make(at, all->dtype, rank, (int64_t[]){rows, columns});
}

static void compare(const husk_ref_rnn_backward *op, const husk_ref_rnn_gradient *expected,
                    const husk_ref_array *actual, const char *name, bench_verdict *verdict)
{
    husk_ref_report report = {0};
    if (!actual->data || !expected->values)
        return;
    husk_ref_rnn_gradient_compare(op, expected, NULL, actual, &report);
    bench_verdict_add(verdict, name, &report);
}

static void compare_all(const bench_case *c, const husk_ref_rnn_backward *op, const husk_ref_rnn_gradients *expected,
                        const bench_output *output, bench_verdict *verdict)
{
    const bench_rnn *r = &c->as.rnn;
    const int64_t rows = r->gates * r->hidden;
    const husk_ref_array dx = bench_ref_array(&output->y), dh0 = bench_ref_array(&output->gradients[BENCH_RNN_H0]),
                         dc0 = bench_ref_array(&output->gradients[BENCH_RNN_C0]);
    compare(op, &expected->x, &dx, "dx", verdict);
    compare(op, &expected->h0, &dh0, "dh0", verdict);
    compare(op, &expected->c0, &dc0, "dc0", verdict);
    for (int64_t i = 0; output->gradients[BENCH_RNN_MATRICES].data && i < r->layers * r->directions; i++) {
        int64_t input, hidden, bias;
        bench_rnn_place_gradients(r, i, &input, &hidden, &bias);
        const husk_ref_array matrices[2] = {
            part_of(&output->gradients[BENCH_RNN_MATRICES], input, 2, rows,
                    bench_rnn_layer_input(r, i / r->directions)),
            part_of(&output->gradients[BENCH_RNN_MATRICES], hidden, 2, rows, r->hidden)};
        compare(op, &expected->weights[i][0], &matrices[0], "input weights' gradient", verdict);
        compare(op, &expected->weights[i][1], &matrices[1], "hidden weights' gradient", verdict);
        if (!output->gradients[BENCH_RNN_BIASES].data)
            continue;
        const husk_ref_array biases[2] = {part_of(&output->gradients[BENCH_RNN_BIASES], bias, 1, rows, 1),
                                          part_of(&output->gradients[BENCH_RNN_BIASES], bias + rows, 1, rows, 1)};
        compare(op, &expected->weights[i][2], &biases[0], "input bias' gradient", verdict);
        compare(op, &expected->weights[i][3], &biases[1], "hidden bias' gradient", verdict);
    }
}

// A runner that goes by a forward pass of its own errs by that as well: so many times the bound.
static void widen(husk_ref_rnn_gradient *gradient, double factor)
{
    int64_t count = gradient->values ? 1 : 0;
    for (int32_t d = 0; d < gradient->rank; d++)
        count *= gradient->shape[d];
    for (int64_t i = 0; i < count; i++)
        gradient->bounds[i] *= factor;
}

static void widen_all(husk_ref_rnn_gradients *expected, double factor)
{
    husk_ref_rnn_gradient *const states[] = {&expected->x, &expected->h0, &expected->c0};
    for (int i = 0; i < 3; i++)
        widen(states[i], factor);
    for (int i = 0; i < HUSK_REF_RNN_MAX_WEIGHTS; i++)
        for (int part = 0; part < 4; part++)
            widen(&expected->weights[i][part], factor);
}

// Which sequence each repeats, and its sign.
static bool find_repeats(const bench_case *c, int64_t **like, double **sign)
{
    const int64_t b = c->as.rnn.b, count = bench_rnn_distinct(c);
    const uint64_t seed = bench_rnn_sequences_seed(c);
    *like = malloc((size_t)b * sizeof **like);
    *sign = malloc((size_t)b * sizeof **sign);
    for (int64_t i = 0; *like && *sign && i < b; i++) {
        (*like)[i] = bench_rnn_like(c, seed, count, i);
        (*sign)[i] = (double)bench_rnn_sign(count, i);
    }
    return *like && *sign;
}

// Of a forward pass with sums of its own, of numbers that are about 1 together: as GEMM's bound, once it is widened.
static double state_error(const bench_case *c)
{
    const bench_rnn *r = &c->as.rnn;
    return 0x1p-24 * sqrt((double)(r->hidden + (r->input > r->hidden ? r->input : r->hidden)));
}

static void verify_backward(const bench_case *c, const bench_data *data, const bench_output *output,
                            const husk_ref_rnn *forward, double widening, bench_verdict *verdict)
{
    const husk_ref_array y = bench_ref_array(&data->saved[BENCH_RNN_SAVED_Y]), dy = bench_ref_array(&data->dy),
                         reserve = bench_ref_array(&data->saved[BENCH_RNN_SAVED_RESERVE]),
                         dh_n = bench_ref_array(&data->saved[BENCH_RNN_SAVED_DH_N]),
                         dc_n = bench_ref_array(&data->saved[BENCH_RNN_SAVED_DC_N]);
    int64_t *like = NULL;
    double *sign = NULL;
    husk_ref_rnn_gradients expected = {0};
    bool is_made = bench_rnn_distinct(c) == c->as.rnn.b || find_repeats(c, &like, &sign);
    const husk_ref_rnn_backward op = {.forward = forward,
                                      .y = &y,
                                      .reserve = &reserve,
                                      .dy = &dy,
                                      .dh_n = dh_n.data ? &dh_n : NULL,
                                      .dc_n = dc_n.data ? &dc_n : NULL,
                                      .like = like,
                                      .sign = sign,
                                      .state_error = widening > 0 ? state_error(c) : 0};
    is_made = is_made && husk_ref_rnn_backward_run(&op, &expected);
    if (is_made && widening > 0)
        widen_all(&expected, widening);
    if (!is_made)
        bench_verdict_unchecked(verdict);
    else
        compare_all(c, &op, &expected, output, verdict);
    husk_ref_rnn_gradients_release(&expected);
    free(like);
    free(sign);
}

void bench_rnn_verify(const bench_case *c, const bench_data *data, const bench_output *output,
                      const bench_verify_options *options, bench_verdict *verdict)
{
    husk_rnn_params params = bench_rnn_params(c, NULL);
    husk_ref_array *arrays = NULL;
    husk_ref_rnn_weights *weight = ref_weights(data, &arrays);
    husk_ref_array x = bench_ref_array(&data->x), lengths = bench_ref_array(&data->lengths);
    husk_ref_array h0 = bench_ref_array(&data->h0), c0 = bench_ref_array(&data->c0);
    husk_ref_array y = bench_ref_array(&output->y), h_n = bench_ref_array(&output->h_n);
    husk_ref_array c_n = bench_ref_array(&output->c_n);
    husk_ref_report y_report = {0}, state_report = {0};
    husk_ref_rnn op = {
        .params = &params,
        .x = &x,
        .lengths = lengths.data ? &lengths : NULL,
        .h0 = h0.data ? &h0 : NULL,
        .c0 = c0.data ? &c0 : NULL,
        .weights = weight,
        .product_factor = options->error_factor,
    };
    if (weight && arrays && bench_rnn_is_backward(c)) {
        verify_backward(c, data, output, &op, options->widening, verdict);
    } else {
        y_report.allocation_failed = !weight || !arrays ||
                                     !husk_ref_rnn_check(&op, &y, h_n.data ? &h_n : NULL, c_n.data ? &c_n : NULL,
                                                         options->seed, &y_report, &state_report);
        bench_verdict_add(verdict, "y", &y_report);
        if (h_n.data)
            bench_verdict_add(verdict, "h_n, c_n", &state_report);
    }
    free(weight);
    free(arrays);
}
