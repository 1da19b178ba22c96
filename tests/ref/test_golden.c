// SPDX-License-Identifier: MIT
// ctest: timeout=60
// The reference against golden vectors from PyTorch: tests/golden/make_golden.py.
//
// Both sides compute in double from the same inputs, so they agree to TOLERANCE, far below any f32 bound.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ref/activation.h"
#include "ref/binary.h"
#include "ref/conv.h"
#include "ref/copy.h"
#include "ref/dropout.h"
#include "ref/embedding.h"
#include "ref/gemm.h"
#include "ref/loss.h"
#include "ref/norm.h"
#include "ref/one_hot.h"
#include "ref/optimizer.h"
#include "ref/pool.h"
#include "ref/random.h"
#include "ref/reduce.h"
#include "ref/rnn.h"
#include "ref/softmax.h"
#include "ref/unary.h"
#include "support/main.h"

#define TOLERANCE 1e-11

typedef struct golden_array {
    int32_t rank;
    int64_t shape[HUSK_MAX_RANK];
    const double *values;
} golden_array;

typedef struct golden_weights {
    golden_array input, hidden, input_bias, hidden_bias;
} golden_weights;

static const struct golden_activation {
    const char *name;
    husk_activation_params params;
    golden_array x, y;
} golden_activation[] = {
#include "golden/golden_activation.inc"
};

static const struct golden_activation_backward {
    const char *name;
    husk_activation_params params;
    golden_array x, y, dy, dx;
} golden_activation_backward[] = {
#include "golden/golden_activation_backward.inc"
};

static const struct golden_unary {
    const char *name;
    husk_unary_params params;
    golden_array x, y, dy, dx;
} golden_unary[] = {
#include "golden/golden_unary.inc"
};

static const struct golden_dropout {
    const char *name;
    husk_dropout_params params;
    golden_array x, y, dy, dx;
} golden_dropout[] = {
#include "golden/golden_dropout.inc"
};

static const struct golden_embedding {
    const char *name;
    husk_embedding_params params;
    golden_array table, indices, y, dy, dtable;
} golden_embedding[] = {
#include "golden/golden_embedding.inc"
};

static const struct golden_one_hot {
    const char *name;
    husk_one_hot_params params;
    golden_array labels, y;
} golden_one_hot[] = {
#include "golden/golden_one_hot.inc"
};

static const struct golden_binary {
    const char *name;
    husk_binary_params params;
    golden_array a, b, y, dy, da, db;
} golden_binary[] = {
#include "golden/golden_binary.inc"
};

static const struct golden_gemm {
    const char *name;
    husk_gemm_params params;
    float alpha, beta;
    golden_array a, b, bias, c, out;
} golden_gemm[] = {
#include "golden/golden_gemm.inc"
};

static const struct golden_gemm_backward {
    const char *name;
    husk_gemm_params params;
    float alpha, beta;
    golden_array a, b, bias, c, dy, da, db, dbias, dc; // what the activation reads and writes is the reference's
} golden_gemm_backward[] = {
#include "golden/golden_gemm_backward.inc"
};

static const struct golden_conv {
    const char *name;
    husk_conv_params params;
    golden_array x, w, bias, y;
} golden_conv[] = {
#include "golden/golden_conv.inc"
};

static const struct golden_conv_backward {
    const char *name;
    husk_conv_params params;
    golden_array x, w, dy, dx, dw, dbias;
} golden_conv_backward[] = {
#include "golden/golden_conv_backward.inc"
};

static const struct golden_conv golden_conv_transpose[] = {
#include "golden/golden_conv_transpose.inc"
};

static const struct golden_pool {
    const char *name;
    husk_pool_params params;
    golden_array x, y, indices;
} golden_pool[] = {
#include "golden/golden_pool.inc"
};

static const struct golden_pool_backward {
    const char *name;
    husk_pool_params params;
    golden_array x, dy, dx;
} golden_pool_backward[] = {
#include "golden/golden_pool_backward.inc"
};

static const struct golden_softmax {
    const char *name;
    husk_softmax_params params;
    golden_array x, y;
} golden_softmax[] = {
#include "golden/golden_softmax.inc"
};

static const struct golden_softmax_backward {
    const char *name;
    husk_softmax_params params;
    golden_array x, dy, dx; // y is the reference's
} golden_softmax_backward[] = {
#include "golden/golden_softmax_backward.inc"
};

static const struct golden_rnn {
    const char *name;
    husk_rnn_params params;
    golden_array x, lengths, h0, c0;
    const golden_weights *weights;
    golden_array y, h_n, c_n;
} golden_rnn[] = {
#include "golden/golden_rnn.inc"
};

static const struct golden_reduce {
    const char *name;
    husk_reduce_params params;
    golden_array x, y, dy, dx;
} golden_reduce[] = {
#include "golden/golden_reduce.inc"
};

static const struct golden_norm {
    const char *name;
    husk_norm_params params;
    golden_array x, scale, bias, running_mean, running_variance;
    golden_array y, mean, rstd, running_mean_after, running_variance_after; // five outputs, one after another
    golden_array dy, dx, dscale, dbias;                                     // three gradients
} golden_norm[] = {
#include "golden/golden_norm.inc"
};

static const struct golden_loss {
    const char *name;
    husk_loss_params params;
    husk_dtype target_dtype;
    golden_array x, target, weight, positive_weight, loss, dloss, dx;
} golden_loss[] = {
#include "golden/golden_loss.inc"
};

static const struct golden_optimizer {
    const char *name;
    husk_optimizer_params params;
    golden_array before, gradients, after; // gradients: [steps, elements]
} golden_optimizer[] = {
#include "golden/golden_optimizer.inc"
};

static const struct golden_copy {
    const char *name;
    husk_dtype from, to;
    golden_array x, y;
} golden_copy[] = {
#include "golden/golden_copy.inc"
};

#define COUNT(table) (int)(sizeof(table) / sizeof((table)[0]))

// Inputs of the case that runs are packed, or with the first dimension fastest and gaps between the elements.
static bool strided;

static husk_ref_array layout(const golden_array *golden, husk_dtype dtype)
{
    husk_ref_array array = husk_ref_array_make(NULL, dtype, golden->rank, golden->shape);
    int64_t stride = 2;
    for (int32_t d = 0; strided && d < golden->rank; d++) {
        array.strides[d] = stride;
        stride = stride * golden->shape[d] + 1;
    }
    return array;
}

// Inputs are f32, which holds them exactly, or I32; the reference writes f64.
static husk_ref_array make(const golden_array *golden, husk_dtype dtype)
{
    husk_ref_array array = layout(golden, dtype);
    array.data = calloc((size_t)husk_ref_array_extent(&array) + 1, sizeof(double));
    ck_assert_ptr_nonnull(array.data);
    for (int64_t i = 0; i < husk_ref_array_count(&array); i++) {
        int64_t index[HUSK_MAX_RANK];
        husk_ref_index_of(golden->rank, golden->shape, i, index);
        int64_t offset = husk_ref_offset(&array, index);
        husk_ref_store(&array, offset, golden->values[i]);
        ck_assert_msg(isnan(golden->values[i]) || husk_ref_load(&array, offset) == golden->values[i],
                      "an input that f32 does not hold: %.17g", golden->values[i]);
    }
    return array;
}

// An absent array has no values; pointers to it are NULL.
static const husk_ref_array *optional(const golden_array *golden, const husk_ref_array *array)
{
    return golden->values != NULL ? array : NULL;
}

static husk_ref_array make_optional(const golden_array *golden, husk_dtype dtype)
{
    return golden->values != NULL ? make(golden, dtype) : (husk_ref_array){0};
}

// A packed array of the golden one's shape that holds something else everywhere.
static husk_ref_array make_output(const golden_array *golden)
{
    husk_ref_array array = husk_ref_array_make(NULL, HUSK_F64, golden->rank, golden->shape);
    array.data = calloc((size_t)husk_ref_array_count(&array) + 1, sizeof(double));
    ck_assert_ptr_nonnull(array.data);
    for (int64_t i = 0; i < husk_ref_array_count(&array); i++)
        husk_ref_store(&array, i, -12345.0);
    return array;
}

static bool agree(double expected, double actual)
{
    if (isnan(expected) || isnan(actual))
        return isnan(expected) && isnan(actual);
    return expected == actual || fabs(actual - expected) <= TOLERANCE * fmax(1.0, fabs(expected));
}

static void expect_equal(const char *name, const char *what, const golden_array *golden,
                         const husk_ref_array *array)
{
    for (int64_t i = 0; i < husk_ref_array_count(array); i++)
        ck_assert_msg(agree(golden->values[i], husk_ref_load(array, i)), "%s: %s %lld is %.13g, golden %.13g",
                      name, what, (long long)i, husk_ref_load(array, i), golden->values[i]);
}

// Single outputs have the same values, and bounds that are as they should be.
static void expect_function(const char *name, const husk_ref_function *function, const golden_array *golden)
{
    ck_assert_int_eq(function->rank, golden->rank);
    for (int32_t d = 0; d < golden->rank; d++)
        ck_assert_msg(function->shape[d] == golden->shape[d], "%s: dimension %d is %lld, golden %lld", name,
                      (int)d, (long long)function->shape[d], (long long)golden->shape[d]);
    husk_ref_array shape = husk_ref_array_make(NULL, HUSK_F64, golden->rank, golden->shape);
    for (int64_t i = 0; i < husk_ref_array_count(&shape); i++) {
        int64_t index[HUSK_MAX_RANK];
        husk_ref_index_of(golden->rank, golden->shape, i, index);
        husk_ref_value value = function->at(function->op, index);
        ck_assert_msg(agree(golden->values[i], value.value), "%s: output %lld is %.13g, golden %.13g", name,
                      (long long)i, value.value, golden->values[i]);
        if (!isfinite(value.value))
            continue;
        ck_assert_msg(value.bound >= 0.0 && value.bound <= 1e-4 * (1.0 + value.magnitude),
                      "%s: output %lld has the bound %g", name, (long long)i, value.bound);
    }
}

START_TEST(test_activation)
{
    const struct golden_activation *golden = &golden_activation[_i / 2];
    strided = _i % 2 != 0;
    husk_ref_array x = make(&golden->x, HUSK_F32), y = make_output(&golden->y);
    husk_ref_activation op = {.params = &golden->params, .x = &x};
    husk_ref_function function = husk_ref_activation_function(&op);
    expect_function(golden->name, &function, &golden->y);
    husk_ref_activation_run(&op, &y);
    expect_equal(golden->name, "y", &golden->y, &y);
    free(x.data);
    free(y.data);
}
END_TEST

START_TEST(test_activation_backward)
{
    const struct golden_activation_backward *golden = &golden_activation_backward[_i / 2];
    strided = _i % 2 != 0;
    husk_ref_array x = make_optional(&golden->x, HUSK_F32), y = make_optional(&golden->y, HUSK_F32);
    husk_ref_array dy = make(&golden->dy, HUSK_F32), dx = make_output(&golden->dx);
    husk_ref_activation_backward op = {.params = &golden->params, .dy = &dy};
    op.x = optional(&golden->x, &x);
    op.y = optional(&golden->y, &y);
    husk_ref_function function = husk_ref_activation_backward_function(&op);
    expect_function(golden->name, &function, &golden->dx);
    husk_ref_activation_backward_run(&op, &dx);
    expect_equal(golden->name, "dx", &golden->dx, &dx);
    free(x.data);
    free(y.data);
    free(dy.data);
    free(dx.data);
}
END_TEST

START_TEST(test_unary)
{
    const struct golden_unary *golden = &golden_unary[_i / 2];
    strided = _i % 2 != 0;
    husk_ref_array x = make(&golden->x, HUSK_F32), y = make_output(&golden->y);
    husk_ref_array dy = make(&golden->dy, HUSK_F32), dx = make_output(&golden->dx);
    husk_ref_unary op = {.params = &golden->params, .x = &x};
    husk_ref_unary_backward backward = {.params = &golden->params, .x = &x, .dy = &dy};
    husk_ref_function function = husk_ref_unary_function(&op);
    expect_function(golden->name, &function, &golden->y);
    husk_ref_unary_run(&op, &y);
    expect_equal(golden->name, "y", &golden->y, &y);
    function = husk_ref_unary_backward_function(&backward);
    expect_function(golden->name, &function, &golden->dx);
    husk_ref_unary_backward_run(&backward, &dx);
    expect_equal(golden->name, "dx", &golden->dx, &dx);
    backward.y = &y; // which is read where it can be
    husk_ref_unary_backward_run(&backward, &dx);
    expect_equal(golden->name, "dx of y", &golden->dx, &dx);
    free(x.data);
    free(y.data);
    free(dy.data);
    free(dx.data);
}
END_TEST

START_TEST(test_dropout)
{
    const struct golden_dropout *golden = &golden_dropout[_i / 2];
    strided = _i % 2 != 0;
    husk_ref_array x = make(&golden->x, HUSK_F32), y = make_output(&golden->y);
    husk_ref_array dy = make(&golden->dy, HUSK_F32), dx = make_output(&golden->dx);
    husk_ref_dropout op = {.params = &golden->params, .x = &x};
    husk_ref_dropout_backward backward = {.params = &golden->params, .dy = &dy};
    husk_ref_function function = husk_ref_dropout_function(&op);
    expect_function(golden->name, &function, &golden->y);
    husk_ref_dropout_run(&op, &y);
    expect_equal(golden->name, "y", &golden->y, &y);
    function = husk_ref_dropout_backward_function(&backward);
    expect_function(golden->name, &function, &golden->dx);
    husk_ref_dropout_backward_run(&backward, &dx);
    expect_equal(golden->name, "dx", &golden->dx, &dx);
    free(x.data);
    free(y.data);
    free(dy.data);
    free(dx.data);
}
END_TEST

START_TEST(test_embedding)
{
    const struct golden_embedding *golden = &golden_embedding[_i / 2];
    strided = _i % 2 != 0;
    husk_ref_array table = make(&golden->table, HUSK_F32), y = make_output(&golden->y);
    husk_ref_array indices = make(&golden->indices, strided ? HUSK_I64 : HUSK_I32);
    husk_ref_array dy = make(&golden->dy, HUSK_F32), dtable = make_output(&golden->dtable);
    husk_ref_embedding op = {.params = &golden->params, .table = &table, .indices = &indices};
    husk_ref_embedding_backward backward = {
        .params = &golden->params, .indices = &indices, .dy = &dy, .rows = golden->table.shape[0]};
    husk_ref_function function = husk_ref_embedding_function(&op);
    expect_function(golden->name, &function, &golden->y);
    husk_ref_embedding_run(&op, &y);
    expect_equal(golden->name, "y", &golden->y, &y);
    function = husk_ref_embedding_backward_function(&backward);
    expect_function(golden->name, &function, &golden->dtable);
    husk_ref_embedding_backward_run(&backward, &dtable);
    expect_equal(golden->name, "dtable", &golden->dtable, &dtable);
    free(table.data);
    free(indices.data);
    free(y.data);
    free(dy.data);
    free(dtable.data);
}
END_TEST

START_TEST(test_one_hot)
{
    const struct golden_one_hot *golden = &golden_one_hot[_i / 2];
    strided = _i % 2 != 0;
    husk_ref_array labels = make(&golden->labels, strided ? HUSK_I64 : HUSK_I32), y = make_output(&golden->y);
    husk_ref_one_hot op = {
        .params = &golden->params, .labels = &labels, .classes = golden->y.shape[golden->y.rank - 1]};
    husk_ref_function function = husk_ref_one_hot_function(&op);
    expect_function(golden->name, &function, &golden->y);
    husk_ref_one_hot_run(&op, &y);
    expect_equal(golden->name, "y", &golden->y, &y);
    free(labels.data);
    free(y.data);
}
END_TEST

START_TEST(test_binary)
{
    const struct golden_binary *golden = &golden_binary[_i / 2];
    strided = _i % 2 != 0;
    husk_ref_array a = make(&golden->a, HUSK_F32), b = make(&golden->b, HUSK_F32), y = make_output(&golden->y);
    husk_ref_binary op = {.params = &golden->params, .a = &a, .b = &b};
    husk_ref_function function = husk_ref_binary_function(&op);
    expect_function(golden->name, &function, &golden->y);
    husk_ref_binary_run(&op, &y);
    expect_equal(golden->name, "y", &golden->y, &y);
    husk_ref_array dy = make_optional(&golden->dy, HUSK_F32);
    for (int by_b = 0; by_b < 2 && golden->dy.values != NULL; by_b++) {
        const golden_array *wanted = by_b ? &golden->db : &golden->da;
        husk_ref_array gradient = make_output(wanted);
        husk_ref_binary_backward backward = {.params = &golden->params, .a = &a, .b = &b, .dy = &dy};
        backward.gradient = &gradient;
        backward.by_b = by_b;
        function = husk_ref_binary_backward_function(&backward);
        expect_function(golden->name, &function, wanted);
        husk_ref_binary_backward_run(&backward, &gradient);
        expect_equal(golden->name, by_b ? "db" : "da", wanted, &gradient);
        free(gradient.data);
    }
    free(a.data);
    free(b.data);
    free(y.data);
    free(dy.data);
}
END_TEST

START_TEST(test_gemm)
{
    const struct golden_gemm *golden = &golden_gemm[_i / 2];
    strided = _i % 2 != 0;
    husk_ref_array a = make(&golden->a, HUSK_F32), b = make(&golden->b, HUSK_F32);
    husk_ref_array bias = make_optional(&golden->bias, HUSK_F32), c = make(&golden->c, HUSK_F32);
    husk_ref_array out = make_output(&golden->out);
    husk_ref_gemm op = {.params = &golden->params,
                        .alpha = golden->alpha,
                        .beta = golden->beta,
                        .a = &a,
                        .b = &b};
    op.bias = optional(&golden->bias, &bias);
    op.c = &c;
    husk_ref_function function = husk_ref_gemm_function(&op);
    expect_function(golden->name, &function, &golden->out);
    husk_ref_gemm_run(&op, &out);
    expect_equal(golden->name, "C", &golden->out, &out);
    free(a.data);
    free(b.data);
    free(bias.data);
    free(c.data);
    free(out.data);
}
END_TEST

static void expect_gemm_gradient(const struct golden_gemm_backward *golden, husk_ref_gemm_backward op,
                                 husk_ref_gemm_gradient wanted, const golden_array *gradient)
{
    if (gradient->values == NULL)
        return;
    husk_ref_array out = make_output(gradient);
    op.wanted = wanted;
    op.before = &out;
    husk_ref_function function = husk_ref_gemm_backward_function(&op);
    expect_function(golden->name, &function, gradient);
    husk_ref_gemm_backward_run(&op, &out);
    expect_equal(golden->name, "gradient", gradient, &out);
    free(out.data);
}

START_TEST(test_gemm_backward)
{
    const struct golden_gemm_backward *golden = &golden_gemm_backward[_i / 2];
    strided = _i % 2 != 0;
    husk_ref_array a = make(&golden->a, HUSK_F32), b = make(&golden->b, HUSK_F32);
    husk_ref_array bias = make_optional(&golden->bias, HUSK_F32), c = make_optional(&golden->c, HUSK_F32);
    husk_ref_array dy = make(&golden->dy, HUSK_F32), x = make_output(&golden->dy), y = make_output(&golden->dy);
    husk_gemm_params params = golden->params;
    husk_ref_gemm forward = {.params = &params, .alpha = golden->alpha, .beta = golden->beta, .a = &a, .b = &b};
    forward.bias = optional(&golden->bias, &bias);
    forward.c = golden->c.values != NULL ? &c : &dy; // its shape alone
    husk_ref_gemm_run(&forward, &y);
    params.activation = HUSK_ACT_NONE;
    husk_ref_gemm_run(&forward, &x);
    const bool follows = golden->params.activation <= HUSK_ACT_RELU6 || golden->params.activation >= HUSK_ACT_SIGMOID;
    for (int from_y = 0; from_y <= (int)follows; from_y++) {
        const husk_ref_gemm_backward op = {.params = &golden->params,
                                           .alpha = golden->alpha,
                                           .beta = golden->beta,
                                           .a = &a,
                                           .b = &b,
                                           .x = from_y ? NULL : &x,
                                           .y = from_y ? &y : NULL,
                                           .dy = &dy};
        expect_gemm_gradient(golden, op, HUSK_REF_GEMM_DA, &golden->da);
        expect_gemm_gradient(golden, op, HUSK_REF_GEMM_DB, &golden->db);
        expect_gemm_gradient(golden, op, HUSK_REF_GEMM_DBIAS, &golden->dbias);
        expect_gemm_gradient(golden, op, HUSK_REF_GEMM_DC, &golden->dc);
    }
    free(a.data);
    free(b.data);
    free(bias.data);
    free(c.data);
    free(dy.data);
    free(x.data);
    free(y.data);
}
END_TEST

START_TEST(test_conv)
{
    const struct golden_conv *golden = &golden_conv[_i / 2];
    strided = _i % 2 != 0;
    husk_ref_array x = make(&golden->x, HUSK_F32), w = make(&golden->w, HUSK_F32);
    husk_ref_array bias = make_optional(&golden->bias, HUSK_F32), y = make_output(&golden->y);
    husk_ref_conv op = {.params = &golden->params, .x = &x, .w = &w, .bias = optional(&golden->bias, &bias)};
    husk_ref_function function = husk_ref_conv_function(&op);
    expect_function(golden->name, &function, &golden->y);
    husk_ref_conv_run(&op, &y);
    expect_equal(golden->name, "y", &golden->y, &y);
    free(x.data);
    free(w.data);
    free(bias.data);
    free(y.data);
}
END_TEST

START_TEST(test_conv_backward)
{
    const struct golden_conv_backward *golden = &golden_conv_backward[_i / 2];
    strided = _i % 2 != 0;
    husk_ref_array x = make(&golden->x, HUSK_F32), w = make(&golden->w, HUSK_F32), dy = make(&golden->dy, HUSK_F32);
    husk_ref_array dx = make_output(&golden->dx), dw = make_output(&golden->dw), dbias = make_output(&golden->dbias);
    husk_ref_conv_backward_data data = {.params = &golden->params, .w = &w, .dy = &dy};
    memcpy(data.shape, x.shape, sizeof(data.shape));
    husk_ref_function function = husk_ref_conv_backward_data_function(&data);
    expect_function(golden->name, &function, &golden->dx);
    husk_ref_conv_backward_data_run(&data, &dx);
    expect_equal(golden->name, "dx", &golden->dx, &dx);
    husk_ref_conv_backward_weights weights = {.params = &golden->params, .x = &x, .dy = &dy};
    memcpy(weights.shape, w.shape, sizeof(weights.shape));
    function = husk_ref_conv_backward_weights_function(&weights);
    expect_function(golden->name, &function, &golden->dw);
    husk_ref_conv_backward_weights_run(&weights, &dw);
    expect_equal(golden->name, "dw", &golden->dw, &dw);
    function = husk_ref_conv_backward_bias_function(&weights);
    expect_function(golden->name, &function, &golden->dbias);
    husk_ref_conv_backward_bias_run(&weights, &dbias);
    expect_equal(golden->name, "dbias", &golden->dbias, &dbias);
    void *const arrays[] = {x.data, w.data, dy.data, dx.data, dw.data, dbias.data};
    for (size_t i = 0; i < COUNT(arrays); i++)
        free(arrays[i]);
}
END_TEST

START_TEST(test_conv_transpose)
{
    const struct golden_conv *golden = &golden_conv_transpose[_i / 2];
    strided = _i % 2 != 0;
    husk_ref_array x = make(&golden->x, HUSK_F32), w = make(&golden->w, HUSK_F32);
    husk_ref_array bias = make_optional(&golden->bias, HUSK_F32), y = make_output(&golden->y);
    husk_ref_conv_backward_data op = {
        .params = &golden->params, .w = &w, .dy = &x, .bias = optional(&golden->bias, &bias)};
    memcpy(op.shape, y.shape, sizeof(op.shape));
    husk_ref_function function = husk_ref_conv_backward_data_function(&op);
    expect_function(golden->name, &function, &golden->y);
    husk_ref_conv_backward_data_run(&op, &y);
    expect_equal(golden->name, "y", &golden->y, &y);
    free(x.data);
    free(w.data);
    free(bias.data);
    free(y.data);
}
END_TEST

START_TEST(test_pool)
{
    const struct golden_pool *golden = &golden_pool[_i / 2];
    strided = _i % 2 != 0;
    husk_ref_array x = make(&golden->x, HUSK_F32), y = make_output(&golden->y);
    husk_ref_array indices = {0};
    if (golden->indices.values != NULL)
        indices = make_output(&golden->indices);
    husk_ref_pool op = {.params = &golden->params, .x = &x};
    husk_ref_function function = husk_ref_pool_function(&op);
    expect_function(golden->name, &function, &golden->y);
    husk_ref_pool_run(&op, &y, optional(&golden->indices, &indices));
    expect_equal(golden->name, "y", &golden->y, &y);
    if (golden->indices.values != NULL) {
        expect_equal(golden->name, "index", &golden->indices, &indices);
        function = husk_ref_pool_index_function(&op);
        expect_function(golden->name, &function, &golden->indices);
    }
    free(x.data);
    free(y.data);
    free(indices.data);
}
END_TEST

// Maxima are found in x, and by the indices that forward gives.
START_TEST(test_pool_backward)
{
    const struct golden_pool_backward *golden = &golden_pool_backward[_i / 2];
    strided = _i % 2 != 0;
    husk_ref_array x = make(&golden->x, HUSK_F32), dy = make(&golden->dy, HUSK_F32), dx = make_output(&golden->dx);
    husk_ref_array y = make_output(&golden->dy), indices = make_output(&golden->dy);
    husk_ref_pool_backward op = {.params = &golden->params, .x = &x, .dy = &dy};
    husk_ref_function function = husk_ref_pool_backward_function(&op);
    expect_function(golden->name, &function, &golden->dx);
    if (golden->params.kind == HUSK_POOL_MAX) {
        const husk_ref_pool forward = {.params = &golden->params, .x = &x};
        husk_ref_pool_run(&forward, &y, &indices);
        op.indices = &indices;
    }
    husk_ref_pool_backward_run(&op, &dx);
    expect_equal(golden->name, "dx", &golden->dx, &dx);
    free(x.data);
    free(dy.data);
    free(dx.data);
    free(y.data);
    free(indices.data);
}
END_TEST

START_TEST(test_softmax)
{
    const struct golden_softmax *golden = &golden_softmax[_i / 2];
    strided = _i % 2 != 0;
    husk_ref_array x = make(&golden->x, HUSK_F32), y = make_output(&golden->y);
    strided = false; // the output is compared packed
    husk_ref_array in_place = make(&golden->x, HUSK_F64);
    husk_ref_softmax op = {.params = &golden->params, .x = &x},
                     same = {.params = &golden->params, .x = &in_place};
    husk_ref_function function = husk_ref_softmax_function(&op);
    ck_assert(husk_ref_softmax_run(&op, &y));
    expect_equal(golden->name, "y", &golden->y, &y);
    expect_function(golden->name, &function, &golden->y);
    ck_assert(husk_ref_softmax_prepare(&op));
    function = husk_ref_softmax_function(&op);
    expect_function(golden->name, &function, &golden->y);
    husk_ref_softmax_release(&op);
    ck_assert(husk_ref_softmax_run(&same, &in_place));
    expect_equal(golden->name, "y in x's place", &golden->y, &in_place);
    free(x.data);
    free(y.data);
    free(in_place.data);
}
END_TEST

START_TEST(test_softmax_backward)
{
    const struct golden_softmax_backward *golden = &golden_softmax_backward[_i / 2];
    strided = _i % 2 != 0;
    husk_ref_array x = make(&golden->x, HUSK_F32), y = make_output(&golden->x), dx = make_output(&golden->dx);
    husk_ref_array dy = make(&golden->dy, HUSK_F32);
    husk_ref_softmax forward = {.params = &golden->params, .x = &x};
    ck_assert(husk_ref_softmax_run(&forward, &y));
    husk_ref_softmax_backward op = {.params = &golden->params, .y = &y, .dy = &dy};
    husk_ref_function function = husk_ref_softmax_backward_function(&op);
    expect_function(golden->name, &function, &golden->dx);
    ck_assert(husk_ref_softmax_backward_run(&op, &dx));
    expect_equal(golden->name, "dx", &golden->dx, &dx);
    ck_assert(husk_ref_softmax_backward_run(&op, &y));
    expect_equal(golden->name, "dx in y's place", &golden->dx, &y);
    free(x.data);
    free(y.data);
    free(dy.data);
    free(dx.data);
}
END_TEST

#define MAX_WEIGHTS 8

typedef struct rnn_case {
    husk_ref_array x, lengths, h0, c0, weights[MAX_WEIGHTS][4], y, h_n, c_n;
    husk_ref_rnn_weights list[MAX_WEIGHTS];
    husk_ref_rnn op;
} rnn_case;

static void make_rnn(const struct golden_rnn *golden, rnn_case *c)
{
    int64_t layers = golden->params.layers != 0 ? golden->params.layers : 1;
    int64_t count = layers * (golden->params.bidirectional ? 2 : 1);
    *c = (rnn_case){.x = make(&golden->x, HUSK_F32)};
    c->lengths = make_optional(&golden->lengths, HUSK_I32);
    c->h0 = make_optional(&golden->h0, HUSK_F32);
    c->c0 = make_optional(&golden->c0, HUSK_F32);
    for (int64_t i = 0; i < count; i++) {
        const golden_array *from = &golden->weights[i].input; // four of them, one after another
        for (int j = 0; j < 4; j++)
            c->weights[i][j] = make_optional(&from[j], HUSK_F32);
        c->list[i] = (husk_ref_rnn_weights){&c->weights[i][0], &c->weights[i][1],
                                            optional(&from[2], &c->weights[i][2]),
                                            optional(&from[3], &c->weights[i][3])};
    }
    c->y = make_output(&golden->y);
    c->h_n = make_output(&golden->h_n);
    c->c_n = golden->c_n.values != NULL ? make_output(&golden->c_n) : (husk_ref_array){0};
    c->op = (husk_ref_rnn){.params = &golden->params, .x = &c->x, .weights = c->list};
    c->op.lengths = optional(&golden->lengths, &c->lengths);
    c->op.h0 = optional(&golden->h0, &c->h0);
    c->op.c0 = optional(&golden->c0, &c->c0);
}

static void free_rnn(rnn_case *c)
{
    for (int i = 0; i < MAX_WEIGHTS; i++)
        for (int j = 0; j < 4; j++)
            free(c->weights[i][j].data);
    husk_ref_array *arrays[] = {&c->x, &c->lengths, &c->h0, &c->c0, &c->y, &c->h_n, &c->c_n};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        free(arrays[i]->data);
}

START_TEST(test_rnn)
{
    const struct golden_rnn *golden = &golden_rnn[_i / 2];
    strided = _i % 2 != 0;
    rnn_case c;
    make_rnn(golden, &c);
    const husk_ref_array *c_n = optional(&golden->c_n, &c.c_n);
    ck_assert(husk_ref_rnn_run(&c.op, &c.y, &c.h_n, c_n));
    expect_equal(golden->name, "y", &golden->y, &c.y);
    expect_equal(golden->name, "h_n", &golden->h_n, &c.h_n);
    if (c_n != NULL)
        expect_equal(golden->name, "c_n", &golden->c_n, c_n);

    // Step by step from what the golden y says, and rounded to f32 as a device would give it.
    for (int64_t i = 0; i < husk_ref_array_count(&c.y); i++)
        husk_ref_store(&c.y, i, (double)(float)golden->y.values[i]);
    husk_ref_report y_report = {0}, state_report = {0};
    char text[512];
    ck_assert(husk_ref_rnn_check(&c.op, &c.y, &c.h_n, c_n, 1, &y_report, &state_report));
    husk_ref_report_text(&y_report, text, sizeof(text));
    ck_assert_msg(husk_ref_report_pass(&y_report), "%s: %s", golden->name, text);
    husk_ref_report_text(&state_report, text, sizeof(text));
    ck_assert_msg(husk_ref_report_pass(&state_report), "%s: states: %s", golden->name, text);
    ck_assert_int_eq(y_report.checked, husk_ref_array_count(&c.y));

    // One wrong value is seen, be it ever so late.
    int64_t index[3] = {golden->y.shape[0] / 2, 0, golden->y.shape[2] - 1};
    int64_t offset = husk_ref_offset(&c.y, index);
    husk_ref_store(&c.y, offset, husk_ref_load(&c.y, offset) + 1e-3);
    ck_assert(husk_ref_rnn_check(&c.op, &c.y, &c.h_n, c_n, 1, &y_report, &state_report));
    ck_assert_msg(!husk_ref_report_pass(&y_report), "%s: a wrong y is not seen", golden->name);
    free_rnn(&c);
}
END_TEST

START_TEST(test_reduce)
{
    const struct golden_reduce *golden = &golden_reduce[_i / 2];
    strided = _i % 2 != 0;
    husk_ref_array x = make(&golden->x, HUSK_F32), y = make_output(&golden->y);
    husk_ref_reduce op = {.params = &golden->params, .x = &x};
    husk_ref_function function = husk_ref_reduce_function(&op);
    expect_function(golden->name, &function, &golden->y);
    husk_ref_reduce_run(&op, &y);
    expect_equal(golden->name, "y", &golden->y, &y);
    if (golden->dx.values != NULL) {
        husk_ref_array dy = make(&golden->dy, HUSK_F32), dx = make_output(&golden->dx);
        husk_ref_reduce_backward back = {.params = &golden->params, .x = &x, .y = &y, .dy = &dy};
        function = husk_ref_reduce_backward_function(&back);
        expect_function(golden->name, &function, &golden->dx);
        husk_ref_reduce_backward_run(&back, &dx);
        expect_equal(golden->name, "dx", &golden->dx, &dx);
        free(dy.data);
        free(dx.data);
    }
    free(x.data);
    free(y.data);
}
END_TEST

typedef struct norm_case {
    husk_ref_array x, scale, bias, running[2], dy, outputs[5], gradients[3];
    husk_ref_norm op;
    husk_ref_norm_backward backward;
} norm_case;

// Statistics that backward reads are what forward made, in double.
static void make_norm(const struct golden_norm *golden, norm_case *c)
{
    *c = (norm_case){.x = make(&golden->x, HUSK_F32), .dy = make(&golden->dy, HUSK_F32)};
    c->scale = make_optional(&golden->scale, HUSK_F32);
    c->bias = make_optional(&golden->bias, HUSK_F32);
    const golden_array *outputs = &golden->y, *gradients = &golden->dx;
    for (int i = 0; i < 2; i++)
        c->running[i] = make_optional(&(&golden->running_mean)[i], HUSK_F32);
    for (int i = 0; i < 5; i++)
        c->outputs[i] = outputs[i].values != NULL ? make_output(&outputs[i]) : (husk_ref_array){0};
    for (int i = 0; i < 3; i++)
        c->gradients[i] =
            gradients[i].values != NULL ? make_output(&gradients[i]) : (husk_ref_array){0};
    c->op = (husk_ref_norm){.params = &golden->params, .x = &c->x};
    c->op.scale = optional(&golden->scale, &c->scale);
    c->op.bias = optional(&golden->bias, &c->bias);
    c->op.running_mean = optional(&golden->running_mean, &c->running[0]);
    c->op.running_variance = optional(&golden->running_variance, &c->running[1]);
    c->backward = (husk_ref_norm_backward){.params = &golden->params, .x = &c->x, .dy = &c->dy};
    c->backward.scale = c->op.scale;
    c->backward.mean = optional(&golden->mean, &c->outputs[1]);
    c->backward.rstd = &c->outputs[2];
}

static void free_norm(norm_case *c)
{
    husk_ref_array *arrays[] = {&c->x,  &c->scale, &c->bias, &c->running[0], &c->running[1],
                                &c->dy, NULL};
    for (size_t i = 0; arrays[i] != NULL; i++)
        free(arrays[i]->data);
    for (int i = 0; i < 5; i++)
        free(c->outputs[i].data);
    for (int i = 0; i < 3; i++)
        free(c->gradients[i].data);
}

START_TEST(test_norm)
{
    static const char *const output_names[] = {"y", "mean", "rstd", "running mean", "running variance"};
    static const char *const gradient_names[] = {"dx", "dscale", "dbias"};
    const struct golden_norm *golden = &golden_norm[_i / 2];
    const golden_array *outputs = &golden->y, *gradients = &golden->dx;
    strided = _i % 2 != 0;
    norm_case c;
    make_norm(golden, &c);
    const husk_ref_array *made[5], *derived[3];
    for (int i = 0; i < 5; i++)
        made[i] = optional(&outputs[i], &c.outputs[i]);
    ck_assert(husk_ref_norm_run(&c.op, made));
    for (int i = 0; i < 5; i++) {
        const husk_ref_norm_question question = {.op = &c.op, .output = (husk_ref_norm_output)i};
        if (made[i] == NULL)
            continue;
        husk_ref_function function = husk_ref_norm_function(&question);
        expect_equal(golden->name, output_names[i], &outputs[i], made[i]);
        expect_function(golden->name, &function, &outputs[i]);
    }
    for (int i = 0; i < 3; i++)
        derived[i] = optional(&gradients[i], &c.gradients[i]);
    ck_assert(husk_ref_norm_backward_run(&c.backward, derived));
    for (int i = 0; i < 3; i++) {
        const husk_ref_norm_backward_question question = {.op = &c.backward, .gradient = (husk_ref_norm_gradient)i};
        if (derived[i] == NULL)
            continue;
        husk_ref_function function = husk_ref_norm_backward_function(&question);
        expect_equal(golden->name, gradient_names[i], &gradients[i], derived[i]);
        expect_function(golden->name, &function, &gradients[i]);
    }
    free_norm(&c);
}
END_TEST

START_TEST(test_loss)
{
    const struct golden_loss *golden = &golden_loss[_i / 2];
    strided = _i % 2 != 0;
    husk_ref_array x = make(&golden->x, HUSK_F32), target = make(&golden->target, golden->target_dtype);
    husk_ref_array weight = make_optional(&golden->weight, HUSK_F32);
    husk_ref_array positive = make_optional(&golden->positive_weight, HUSK_F32);
    husk_ref_array dloss = make(&golden->dloss, HUSK_F32);
    husk_ref_array loss = make_output(&golden->loss), dx = make_output(&golden->dx);
    husk_ref_loss op = {.params = &golden->params, .x = &x, .target = &target, .dloss = &dloss};
    op.weight = optional(&golden->weight, &weight);
    op.positive_weight = optional(&golden->positive_weight, &positive);
    ck_assert(husk_ref_loss_run(&op, &loss));
    expect_equal(golden->name, "loss", &golden->loss, &loss);
    ck_assert(husk_ref_loss_backward_run(&op, &dx));
    expect_equal(golden->name, "dx", &golden->dx, &dx);
    ck_assert(husk_ref_loss_prepare(&op));
    husk_ref_function function = husk_ref_loss_function(&op);
    expect_function(golden->name, &function, &golden->loss);
    function = husk_ref_loss_backward_function(&op);
    expect_function(golden->name, &function, &golden->dx);
    husk_ref_loss_release(&op);
    husk_ref_array *arrays[] = {&x, &target, &weight, &positive, &dloss, &loss, &dx};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        free(arrays[i]->data);
}
END_TEST

START_TEST(test_optimizer)
{
    const struct golden_optimizer *golden = &golden_optimizer[_i];
    strided = false;
    const int64_t count = golden->before.shape[0];
    husk_optimizer_params params = golden->params;
    husk_ref_array gradients = make(&golden->gradients, HUSK_F64), w = make(&golden->before, HUSK_F64);
    double states[3][16] = {{0}};
    husk_ref_array kept[3], g = husk_ref_array_make(NULL, HUSK_F64, 1, &count);
    husk_ref_optimizer op = {.params = &params, .g = &g, .before = {&w, &kept[0], &kept[1], &kept[2]}};
    for (int i = 0; i < 3; i++)
        kept[i] = husk_ref_array_make(states[i], HUSK_F64, 1, &count);
    for (int64_t step = 0; step < golden->gradients.shape[0]; step++) {
        g.data = (double *)gradients.data + step * count;
        params.step = (uint64_t)step + 1;
        husk_ref_optimizer_run(&op);
    }
    expect_equal(golden->name, "w", &golden->after, &w);
    free(gradients.data);
    free(w.data);
}
END_TEST

START_TEST(test_copy)
{
    const struct golden_copy *golden = &golden_copy[_i / 2];
    strided = _i % 2 != 0;
    husk_ref_array x = make(&golden->x, golden->from), y = make_output(&golden->y);
    husk_ref_copy op = {.x = &x, .dtype = golden->to, .rank = golden->y.rank};
    memcpy(op.shape, golden->y.shape, sizeof(op.shape));
    husk_ref_function function = husk_ref_copy_function(&op);
    expect_function(golden->name, &function, &golden->y);
    husk_ref_copy_run(&op, &y);
    expect_equal(golden->name, "y", &golden->y, &y);
    free(x.data);
    free(y.data);
}
END_TEST

// The known answers of Philox4x32-10 that its authors publish.
START_TEST(test_philox)
{
    const struct {
        uint32_t counter[4], key[2], random[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        uint32_t random[4];
        husk_ref_philox(known[i].counter, known[i].key, random);
        ck_assert_mem_eq(random, known[i].random, sizeof(random));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden");
    TCase *cases = tcase_create("golden");
    tcase_add_loop_test(cases, test_activation, 0, 2 * COUNT(golden_activation));
    tcase_add_loop_test(cases, test_activation_backward, 0, 2 * COUNT(golden_activation_backward));
    tcase_add_loop_test(cases, test_unary, 0, 2 * COUNT(golden_unary));
    tcase_add_loop_test(cases, test_dropout, 0, 2 * COUNT(golden_dropout));
    tcase_add_loop_test(cases, test_embedding, 0, 2 * COUNT(golden_embedding));
    tcase_add_loop_test(cases, test_one_hot, 0, 2 * COUNT(golden_one_hot));
    tcase_add_loop_test(cases, test_binary, 0, 2 * COUNT(golden_binary));
    tcase_add_loop_test(cases, test_gemm, 0, 2 * COUNT(golden_gemm));
    tcase_add_loop_test(cases, test_gemm_backward, 0, 2 * COUNT(golden_gemm_backward));
    tcase_add_loop_test(cases, test_conv, 0, 2 * COUNT(golden_conv));
    tcase_add_loop_test(cases, test_conv_backward, 0, 2 * COUNT(golden_conv_backward));
    tcase_add_loop_test(cases, test_conv_transpose, 0, 2 * COUNT(golden_conv_transpose));
    tcase_add_loop_test(cases, test_pool, 0, 2 * COUNT(golden_pool));
    tcase_add_loop_test(cases, test_pool_backward, 0, 2 * COUNT(golden_pool_backward));
    tcase_add_loop_test(cases, test_softmax, 0, 2 * COUNT(golden_softmax));
    tcase_add_loop_test(cases, test_softmax_backward, 0, 2 * COUNT(golden_softmax_backward));
    tcase_add_loop_test(cases, test_rnn, 0, 2 * COUNT(golden_rnn));
    tcase_add_loop_test(cases, test_reduce, 0, 2 * COUNT(golden_reduce));
    tcase_add_loop_test(cases, test_norm, 0, 2 * COUNT(golden_norm));
    tcase_add_loop_test(cases, test_loss, 0, 2 * COUNT(golden_loss));
    tcase_add_loop_test(cases, test_optimizer, 0, COUNT(golden_optimizer));
    tcase_add_loop_test(cases, test_copy, 0, 2 * COUNT(golden_copy));
    tcase_add_test(cases, test_philox);
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
