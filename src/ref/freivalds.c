// SPDX-License-Identifier: MIT
#include "ref/freivalds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/random.h"

// Standard deviations that a projection may be off; see the header.
#define DEVIATIONS 6.0

static double random_sign(uint64_t seed, int64_t index)
{
    return husk_ref_random_bits(seed, (uint64_t)index) & 1 ? 1.0 : -1.0;
}

// What storing a row of that norm in the dtype may add to the root of its squared errors: half a unit in the last place
// of each number, or of the smallest there is.
static double rounding_of(husk_dtype dtype, double norm, int64_t count)
{
    const double least = husk_ref_round_bound(dtype, 0.0), of_one = husk_ref_round_bound(dtype, 1.0);
    return norm * of_one + least * sqrt((double)count);
}

// What computing a row may add to it. Of f64 that is as little as what the sums over a row here err by themselves.
static double computing_of(husk_dtype dtype, double bound, double magnitude, int64_t count)
{
    const double own = dtype == HUSK_F64 ? ldexp(magnitude, -53) * sqrt((double)count) : 0.0;
    return husk_ref_bound_in(dtype, bound) + own;
}

// Whether a row holds what is past the dtype's range by rights: the samples judge it.
static bool may_overflow(husk_dtype dtype, double actual, double magnitude)
{
    return !isfinite(actual) && isinf(husk_ref_round(dtype, magnitude));
}

typedef struct gemm_projection {
    double *signs;                    // [n]
    double *b_projected;              // [k]: B r
    double *b_norms;                  // [k]: sqrt(sum_j b_kj^2)
    double bias_projected, bias_norm; // of a bias [n]
} gemm_projection;

static void project_b(const husk_ref_gemm *op, int64_t batch, gemm_projection *p)
{
    husk_ref_gemm_sizes sizes = husk_ref_gemm_get_sizes(op);
    husk_ref_gemm_strides strides = husk_ref_gemm_get_strides(op);
    for (int64_t k = 0; k < sizes.k; k++) {
        double projected = 0.0, squares = 0.0;
        for (int64_t j = 0; j < sizes.n; j++) {
            double b = husk_ref_load(op->b, batch * strides.b[0] + k * strides.b[1] + j * strides.b[2]);
            projected += b * p->signs[j];
            squares += b * b;
        }
        p->b_projected[k] = projected;
        p->b_norms[k] = sqrt(squares);
    }
}

// A row of a matrix [.., m, n] projected, and its norm.
static double project_row(const husk_ref_array *matrix, const int64_t *index, int64_t n, const double *signs,
                          double *norm)
{
    int64_t start = husk_ref_offset(matrix, index), stride = matrix->strides[matrix->rank - 1];
    double projected = 0.0, squares = 0.0;
    for (int64_t j = 0; j < n; j++) {
        double value = husk_ref_load(matrix, start + j * stride);
        projected += value * signs[j];
        squares += value * value;
    }
    *norm = sqrt(squares);
    return projected;
}

static void check_row(const husk_ref_gemm *op, const husk_ref_array *out, int64_t batch, int64_t row,
                      const gemm_projection *p, husk_ref_report *report)
{
    husk_ref_gemm_sizes sizes = husk_ref_gemm_get_sizes(op);
    husk_ref_gemm_strides strides = husk_ref_gemm_get_strides(op);
    double expected = 0.0, magnitude = 0.0, norm;
    for (int64_t k = 0; k < sizes.k; k++) {
        double a = husk_ref_load(op->a, batch * strides.a[0] + row * strides.a[1] + k * strides.a[2]);
        expected += a * p->b_projected[k];
        magnitude += fabs(a) * p->b_norms[k];
    }
    expected *= (double)op->alpha;
    magnitude *= fabs((double)op->alpha);
    const int64_t index3[3] = {batch, row, 0};
    const int64_t *index = out->rank == 3 ? index3 : index3 + 1;
    if (op->beta != 0.0f) {
        expected += (double)op->beta * project_row(op->c, index, sizes.n, p->signs, &norm);
        magnitude += fabs((double)op->beta) * norm;
    }
    double row_bias = strides.bias[0] != 0 || (op->bias != NULL && op->bias->rank == 2)
                          ? husk_ref_load(op->bias, row * strides.bias[0])
                          : 0.0;
    for (int64_t j = 0; row_bias != 0.0 && j < sizes.n; j++)
        expected += row_bias * p->signs[j];
    expected += p->bias_projected;
    magnitude += p->bias_norm + fabs(row_bias) * sqrt((double)sizes.n);
    double actual = project_row(out, index, sizes.n, p->signs, &norm);
    if (may_overflow(out->dtype, actual, magnitude))
        return;
    double bound = husk_ref_sum_bound(op->error_factor, sizes.k, magnitude) +
                   husk_ref_gemm_flushed((double)op->alpha, sizes.k, magnitude) * sqrt((double)sizes.n);
    bound = DEVIATIONS * (computing_of(out->dtype, bound, magnitude, sizes.n) + rounding_of(out->dtype, norm, sizes.n));
    husk_ref_report_add_projection(report, 2, index3, expected, bound, actual);
}

void husk_ref_gemm_freivalds(const husk_ref_gemm *op, const husk_ref_array *out, uint64_t seed,
                             husk_ref_report *report)
{
    husk_ref_gemm_sizes sizes = husk_ref_gemm_get_sizes(op);
    if (op->params != NULL && op->params->activation != HUSK_ACT_NONE)
        return;
    double *memory = malloc((size_t)(sizes.n + 2 * sizes.k + 1) * sizeof(*memory));
    if (memory == NULL) {
        report->allocation_failed = true;
        return;
    }
    gemm_projection p = {memory, memory + sizes.n, memory + sizes.n + sizes.k, 0.0, 0.0};
    for (int64_t j = 0; j < sizes.n; j++)
        p.signs[j] = random_sign(seed, j);
    if (op->bias != NULL && op->bias->rank == 1) {
        const int64_t start[1] = {0};
        p.bias_projected = project_row(op->bias, start, sizes.n, p.signs, &p.bias_norm);
    }
    for (int64_t batch = 0; batch < sizes.batch; batch++) {
        project_b(op, batch, &p);
        for (int64_t row = 0; sizes.n > 0 && row < sizes.m; row++)
            check_row(op, out, batch, row, &p, report);
    }
    free(memory);
}

typedef struct conv_projection {
    int64_t groups, group_outputs;  // K / groups
    husk_ref_array w, w_norm;       // [groups, C / groups, filter...]
    husk_ref_array bias, bias_norm; // [groups]
    double *signs;                  // [K]
    double *memory;
} conv_projection;

static bool project_weights(const husk_ref_conv *op, uint64_t seed, conv_projection *p)
{
    const husk_ref_array *w = op->w;
    int64_t shape[HUSK_MAX_RANK], index[HUSK_MAX_RANK] = {0};
    memcpy(shape, w->shape, sizeof(shape));
    shape[0] = p->groups;
    husk_ref_array projected = husk_ref_array_make(NULL, HUSK_F64, w->rank, shape);
    int64_t count = husk_ref_array_count(&projected);
    int64_t outputs = p->groups * p->group_outputs;
    p->memory = calloc((size_t)((count + p->groups) * 2 + outputs + 1), sizeof(double));
    if (p->memory == NULL)
        return false;
    double *values = p->memory, *norms = values + count, *biases = norms + count,
           *bias_norms = biases + p->groups;
    p->signs = bias_norms + p->groups;
    for (int64_t k = 0; k < outputs; k++)
        p->signs[k] = random_sign(seed, k);
    for (int64_t i = 0; i < count; i++) {
        husk_ref_index_of(w->rank, shape, i, index);
        int64_t group = index[0];
        double squares = 0.0;
        for (int64_t k = group * p->group_outputs; k < (group + 1) * p->group_outputs; k++) {
            index[0] = k;
            double value = husk_ref_load(w, husk_ref_offset(w, index));
            values[i] += p->signs[k] * value;
            squares += value * value;
        }
        norms[i] = sqrt(squares);
    }
    for (int64_t k = 0; op->bias != NULL && k < outputs; k++) {
        double bias = husk_ref_load(op->bias, k * op->bias->strides[0]);
        biases[k / p->group_outputs] += p->signs[k] * bias;
        bias_norms[k / p->group_outputs] += bias * bias;
    }
    for (int64_t group = 0; group < p->groups; group++)
        bias_norms[group] = sqrt(bias_norms[group]);
    p->w = husk_ref_array_make(values, HUSK_F64, w->rank, shape);
    p->w_norm = husk_ref_array_make(norms, HUSK_F64, w->rank, shape);
    p->bias = husk_ref_array_make(biases, HUSK_F64, 1, &p->groups);
    p->bias_norm = husk_ref_array_make(bias_norms, HUSK_F64, 1, &p->groups);
    return true;
}

static double project_position(const conv_projection *p, const husk_ref_array *y, const int64_t *index, double *norm)
{
    int64_t at[HUSK_MAX_RANK];
    memcpy(at, index, sizeof(at));
    double projected = 0.0, squares = 0.0;
    for (int64_t k = 0; k < p->group_outputs; k++) {
        at[1] = index[1] * p->group_outputs + k;
        const double value = husk_ref_load(y, husk_ref_offset(y, at));
        projected += p->signs[at[1]] * value;
        squares += value * value;
    }
    *norm = sqrt(squares);
    return projected;
}

// x as its absolute values: with the weights' norms, its convolution is the bound's magnitude.
static bool absolute_values(const husk_ref_array *x, husk_ref_array *absolute)
{
    int64_t count = husk_ref_array_count(x);
    double *values = malloc((size_t)(count > 0 ? count : 1) * sizeof(*values));
    if (values == NULL)
        return false;
    *absolute = husk_ref_array_make(values, HUSK_F64, x->rank, x->shape);
    int64_t index[HUSK_MAX_RANK] = {0};
    for (int64_t i = 0; i < count; i++) {
        values[i] = fabs(husk_ref_load(x, husk_ref_offset(x, index)));
        husk_ref_index_next(x->rank, x->shape, index);
    }
    return true;
}

void husk_ref_conv_freivalds(const husk_ref_conv *op, const husk_ref_array *y, uint64_t seed,
                             husk_ref_report *report)
{
    husk_conv_params params = {0};
    if (op->params != NULL)
        params = *op->params;
    if (params.activation != HUSK_ACT_NONE || husk_ref_array_count(y) == 0)
        return;
    conv_projection p = {.groups = params.groups != 0 ? params.groups : 1};
    p.group_outputs = op->w->shape[0] / p.groups;
    husk_ref_array absolute = {0};
    husk_ref_conv values = {0}, norms = {0};
    if (!project_weights(op, seed, &p) || !absolute_values(op->x, &absolute)) {
        report->allocation_failed = true;
        goto cleanup;
    }
    values = (husk_ref_conv){.params = &params, .x = op->x, .w = &p.w, .bias = &p.bias};
    norms = (husk_ref_conv){.params = &params, .x = &absolute, .w = &p.w_norm, .bias = &p.bias_norm};
    norms.error_factor = op->error_factor;
    memcpy(norms.tile, op->tile, sizeof(norms.tile));
    if (!husk_ref_conv_prepare(&norms)) {
        report->allocation_failed = true;
        goto cleanup;
    }
    husk_ref_function function = husk_ref_conv_function(&values);
    int64_t index[HUSK_MAX_RANK] = {0};
    do {
        double expected = husk_ref_conv_at(&values, index).value;
        double norm, actual = project_position(&p, y, index, &norm);
        husk_ref_value error = husk_ref_conv_at(&norms, index);
        if (may_overflow(y->dtype, actual, error.magnitude))
            continue;
        double bound = DEVIATIONS * (computing_of(y->dtype, error.bound, error.magnitude, p.group_outputs) +
                                     rounding_of(y->dtype, norm, p.group_outputs));
        husk_ref_report_add_projection(report, function.rank, index, expected, bound, actual);
    } while (husk_ref_index_next(function.rank, function.shape, index));
cleanup:
    husk_ref_conv_release(&norms);
    free(absolute.data);
    free(p.memory);
}

// Where every output was not checked one by one, all of them are checked together.
static void sampled_check(const husk_ref_function *function, uint64_t seed, const husk_ref_array *actual,
                          husk_ref_report *report, bool *complete)
{
    husk_ref_expected expected;
    *complete = false;
    if (!husk_ref_expect(function, seed, &expected)) {
        report->allocation_failed = true;
        return;
    }
    *complete = expected.complete;
    husk_ref_compare(&expected, actual, report);
    husk_ref_expected_release(&expected);
}

void husk_ref_gemm_check(const husk_ref_gemm *op, uint64_t seed, const husk_ref_array *out,
                         husk_ref_report *report)
{
    husk_ref_function function = husk_ref_gemm_function(op);
    bool complete;
    sampled_check(&function, seed, out, report, &complete);
    if (!complete)
        husk_ref_gemm_freivalds(op, out, seed, report);
}

void husk_ref_conv_check(const husk_ref_conv *op, uint64_t seed, const husk_ref_array *y,
                         husk_ref_report *report)
{
    husk_ref_conv prepared = *op;
    husk_ref_function function = husk_ref_conv_function(&prepared);
    int64_t outputs = 1;
    for (int32_t d = 0; d < function.rank; d++)
        outputs *= function.shape[d];
    prepared.magnitudes = NULL;
    if ((double)outputs * function.cost <= HUSK_REF_COMPLETE_COST)
        husk_ref_conv_prepare(&prepared);
    bool complete;
    sampled_check(&function, seed, y, report, &complete);
    if (!complete)
        husk_ref_conv_freivalds(op, y, seed, report);
    husk_ref_conv_release(&prepared);
}
