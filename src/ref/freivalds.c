// SPDX-License-Identifier: MIT
#include "ref/freivalds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/projection.h"

// Multiply-adds that the projections of one multiplication may take: beyond, blocks are wider.
#define MOST_PRODUCTS 0x1p30
// Projections of B that are kept at a time, as well.
#define MOST_PROJECTIONS 0x1p23
// Blocks and rows that are multiplied together, as compilers and caches like it; where there is one block it is alone.
#define LANES 4
#define ROWS  4
// Products of a row that are kept at a time: longer sums are added up by parts.
#define PART 0x10000

/*
 * alpha times a sum of products of matrices, op->sums of them, beta times what was there, and a bias. Forward has one
 * product; a gradient of a matrix that serves the whole batch one for each of the batch.
 */
typedef struct product {
    int64_t batch, sums, m, n, k;
    const husk_ref_array *left, *right;
    int64_t left_strides[4], right_strides[4]; // over batch, sums, [m, k] and [k, n]
    const husk_ref_gemm_backward *gradient;    // whose z is on the left, if that is not dy itself; or NULL
    double alpha, beta, error_factor;
    const husk_ref_array *bias; // or NULL
    const husk_ref_array *before, *out;
    int64_t before_strides[3], out_strides[3], bias_strides[2];
    husk_ref_elements elements;
    bool out_is_transposed;
    husk_ref_blocks blocks; // of the n columns
    int64_t group, lanes;   // of blocks; no fewer than blocks: the others are zeros
    int64_t length, part;   // of all sums together, and what is kept of it at a time
    int64_t rows;           // whose results are kept at a time: a multiple of ROWS
    double *right_values;   // [lanes / group, part, group]: B r
    double *right_norms;    // as these: sqrt(sum_j b_kj^2)
    double *left_values;    // [ROWS, part]: rows; zeros where there are no more
    double *left_absolute;  // as these
    double *left_errors;    // as these: how far they may be off, with a gradient
    double *expected;       // [rows, lanes]
    double *magnitudes;     // as these
    double *inherited;      // as these: what the left side's errors make of it, with a gradient
} product;

// Sets the sizes.
static void choose_sizes(product *p)
{
    p->length = p->sums * p->k;
    const double rows = (double)p->batch * (double)p->m, each = fmax(1.0, (double)p->length);
    const double most = fmin(MOST_PRODUCTS / rows, MOST_PROJECTIONS) / each;
    p->blocks.columns = p->n;
    p->blocks.width = husk_ref_projection_width(p->out->dtype, p->error_factor, p->length, p->n, most);
    p->blocks.count = (p->n + p->blocks.width - 1) / p->blocks.width;
    p->group = p->blocks.count > 1 ? LANES : 1;
    p->lanes = (p->blocks.count + p->group - 1) / p->group * p->group;
    p->part = p->length < PART ? p->length : PART;
    // What is projected of B serves all rows: of parts each needs all of them at once.
    p->rows = p->part < p->length ? (p->m + ROWS - 1) / ROWS * ROWS : ROWS;
}

// Numbers that are kept.
static int64_t kept(const product *p)
{
    const int64_t each = p->gradient != NULL ? 3 : 2;
    return p->n + p->part * (2 * p->lanes + each * ROWS) + each * p->rows * p->lanes;
}

static bool allocate(product *p, uint64_t seed)
{
    const bool has_errors = p->gradient != NULL;
    p->blocks.signs = calloc((size_t)kept(p), sizeof(double));
    if (p->blocks.signs == NULL)
        return false;
    p->right_values = p->blocks.signs + p->n;
    p->right_norms = p->right_values + p->part * p->lanes;
    p->left_values = p->right_norms + p->part * p->lanes;
    p->left_absolute = p->left_values + ROWS * p->part;
    p->left_errors = has_errors ? p->left_absolute + ROWS * p->part : NULL;
    p->expected = p->left_absolute + (has_errors ? 2 : 1) * ROWS * p->part;
    p->magnitudes = p->expected + p->rows * p->lanes;
    p->inherited = has_errors ? p->magnitudes + p->rows * p->lanes : NULL;
    for (int64_t j = 0; j < p->n; j++)
        p->blocks.signs[j] = husk_ref_random_sign(seed, j);
    return true;
}

// The part of the length that begins at `first`.
static int64_t part_length(const product *p, int64_t first)
{
    return p->length - first < p->part ? p->length - first : p->part;
}

static void project_right(const product *p, int64_t batch, int64_t first)
{
    const int64_t *strides = p->right_strides, count = part_length(p, first);
    for (int64_t i = 0; i < count; i++)
        for (int64_t block = 0; block < p->blocks.count; block++) {
            const int64_t sum = (first + i) / p->k, k = (first + i) % p->k;
            const int64_t start = batch * strides[0] + sum * strides[1] + k * strides[2];
            const husk_ref_projection made = husk_ref_project_block(&p->blocks, p->right, start, strides[3], block);
            const int64_t at = (block / p->group * p->part + i) * p->group + block % p->group;
            p->right_values[at] = made.value;
            p->right_norms[at] = sqrt(made.squares);
        }
}

// One row's part, as one of the ROWS.
static void load_left(const product *p, int64_t batch, int64_t row, int64_t first, int64_t to)
{
    const int64_t *strides = p->left_strides, count = part_length(p, first);
    const bool is_transposed = p->gradient != NULL && p->gradient->wanted == HUSK_REF_GEMM_DB;
    for (int64_t i = 0; i < count; i++) {
        const int64_t sum = (first + i) / p->k, k = (first + i) % p->k;
        husk_ref_value z = {0};
        if (row < p->m && p->gradient != NULL)
            z = husk_ref_gemm_backward_z(p->gradient, batch + sum, is_transposed ? k : row, is_transposed ? row : k);
        else if (row < p->m)
            z.value = husk_ref_load(p->left, batch * strides[0] + sum * strides[1] + row * strides[2] + k * strides[3]);
        p->left_values[to * p->part + i] = z.value;
        p->left_absolute[to * p->part + i] = fabs(z.value);
        if (p->left_errors != NULL)
            p->left_errors[to * p->part + i] = z.bound;
    }
}

// out: [ROWS, lanes], to which left times right is added: [ROWS, part] times [lanes / group, part, group].
static void multiply(const product *p, int64_t count, const double *left, const double *right, double *out)
{
    for (int64_t first = 0; p->group == LANES && first < p->lanes; first += LANES) {
        const double *lanes = right + first * p->part;
        double sums[ROWS][LANES] = {{0}};
        for (int64_t k = 0; k < count; k++)
            for (int row = 0; row < ROWS; row++)
                for (int lane = 0; lane < LANES; lane++)
                    sums[row][lane] += left[row * p->part + k] * lanes[k * LANES + lane];
        for (int64_t row = 0; row < ROWS; row++)
            for (int64_t lane = 0; lane < LANES; lane++)
                out[row * p->lanes + first + lane] += sums[row][lane];
    }
    if (p->group == LANES)
        return;
    double sums[ROWS] = {0};
    for (int64_t k = 0; k < count; k++)
        for (int row = 0; row < ROWS; row++)
            sums[row] += left[row * p->part + k] * right[k];
    for (int row = 0; row < ROWS; row++)
        out[row] += sums[row];
}

// p->rows of them, from `first`.
static void multiply_rows(const product *p, int64_t batch, int64_t first)
{
    const int64_t last = p->m - first < p->rows ? p->m : first + p->rows;
    memset(p->expected, 0, (size_t)((p->inherited != NULL ? 3 : 2) * p->rows * p->lanes) * sizeof(*p->expected));
    for (int64_t part = 0; part < p->length; part += p->part) {
        const int64_t count = part_length(p, part);
        if (first == 0)
            project_right(p, batch, part);
        for (int64_t row = first; row < last; row += ROWS) {
            const int64_t to = (row - first) * p->lanes;
            for (int64_t i = 0; i < ROWS; i++)
                load_left(p, batch, row + i, part, i);
            multiply(p, count, p->left_values, p->right_values, p->expected + to);
            multiply(p, count, p->left_absolute, p->right_norms, p->magnitudes + to);
            if (p->inherited != NULL)
                multiply(p, count, p->left_errors, p->right_norms, p->inherited + to);
        }
    }
}

static int64_t row_start(const int64_t strides[3], int64_t batch, int64_t row)
{
    return batch * strides[0] + row * strides[1];
}

static void settle(product *p, husk_ref_projection *actual, const int64_t index[3], double expected, double magnitude,
                   husk_ref_report *report)
{
    const int32_t rank = p->out->rank;
    int64_t at[HUSK_MAX_RANK] = {rank == 3 && p->out->shape[0] != 1 ? index[0] : 0};
    at[rank - 2] = index[p->out_is_transposed ? 2 : 1];
    at[rank - 1] = index[p->out_is_transposed ? 1 : 2];
    husk_ref_projection_settle(actual, &p->elements, at, p->blocks.signs + index[2], expected, magnitude, report);
}

static void check_row(product *p, int64_t batch, int64_t row, husk_ref_report *report)
{
    for (int64_t block = 0; block < p->blocks.count; block++) {
        const int64_t at = row % p->rows * p->lanes + block;
        double expected = p->alpha * p->expected[at], magnitude = fabs(p->alpha) * p->magnitudes[at];
        if (p->beta != 0.0) {
            const husk_ref_projection before = husk_ref_project_block(
                &p->blocks, p->before, row_start(p->before_strides, batch, row), p->before_strides[2], block);
            expected += p->beta * before.value;
            magnitude += fabs(p->beta) * sqrt(before.squares);
        }
        if (p->bias != NULL) {
            const husk_ref_projection bias =
                husk_ref_project_block(&p->blocks, p->bias, row * p->bias_strides[0], p->bias_strides[1], block);
            expected += bias.value;
            magnitude += sqrt(bias.squares);
        }
        const int64_t index[3] = {batch, row, block * p->blocks.width};
        husk_ref_projection actual =
            husk_ref_project_block(&p->blocks, p->out, row_start(p->out_strides, batch, row), p->out_strides[2], block);
        settle(p, &actual, index, expected, magnitude, report);
        const double flushed = husk_ref_gemm_flushed(p->alpha, p->length, magnitude) * sqrt((double)actual.count);
        const double bound = husk_ref_sum_bound(p->error_factor, p->length, magnitude) + flushed +
                             (p->inherited != NULL ? fabs(p->alpha) * p->inherited[at] : 0.0);
        husk_ref_projection_check(&actual, p->out->dtype, expected, bound, magnitude, (double)p->length, 3, index,
                                  report);
    }
}

static void check_product(product *p, uint64_t seed, husk_ref_report *report)
{
    if (p->batch <= 0 || p->m <= 0 || p->n <= 0)
        return;
    choose_sizes(p);
    if (!allocate(p, seed)) {
        report->allocation_failed = true;
        return;
    }
    for (int64_t batch = 0; batch < p->batch; batch++)
        for (int64_t row = 0; row < p->m; row++) {
            if (row % p->rows == 0)
                multiply_rows(p, batch, row);
            check_row(p, batch, row, report);
        }
    free(p->blocks.signs);
}

// Over batch, rows and columns; exchanged: of the transpose.
static void matrix_strides(const husk_ref_array *matrix, bool exchanged, int64_t strides[3])
{
    const int32_t rank = matrix->rank;
    strides[0] = rank == 3 && matrix->shape[0] != 1 ? matrix->strides[0] : 0;
    strides[1] = matrix->strides[exchanged ? rank - 1 : rank - 2];
    strides[2] = matrix->strides[exchanged ? rank - 2 : rank - 1];
}

static product product_of(const husk_ref_gemm *op, const husk_ref_array *out)
{
    const husk_ref_gemm_sizes sizes = husk_ref_gemm_get_sizes(op);
    const husk_ref_gemm_strides strides = husk_ref_gemm_get_strides(op);
    product p = {.batch = sizes.batch,
                 .sums = 1,
                 .m = sizes.m,
                 .n = sizes.n,
                 .k = sizes.k,
                 .left = op->a,
                 .right = op->b,
                 .left_strides = {strides.a[0], 0, strides.a[1], strides.a[2]},
                 .right_strides = {strides.b[0], 0, strides.b[1], strides.b[2]},
                 .alpha = (double)op->alpha,
                 .beta = (double)op->beta,
                 .error_factor = op->error_factor,
                 .bias = op->bias,
                 .bias_strides = {strides.bias[0], strides.bias[1]},
                 .before = op->c,
                 .out = out,
                 .elements = {husk_ref_gemm_function(op), out, out->rank - 1, 0.0}};
    matrix_strides(op->c, false, p.before_strides);
    matrix_strides(out, false, p.out_strides);
    return p;
}

void husk_ref_gemm_freivalds(const husk_ref_gemm *op, const husk_ref_array *out, uint64_t seed, husk_ref_report *report)
{
    product p = product_of(op, out);
    if (op->params == NULL || op->params->activation == HUSK_ACT_NONE)
        check_product(&p, seed, report);
}

int64_t husk_ref_gemm_freivalds_memory(const husk_ref_gemm *op, const husk_ref_array *out)
{
    product p = product_of(op, out);
    choose_sizes(&p);
    return kept(&p) * (int64_t)sizeof(double);
}

// da = alpha z B', and the transpose of db, alpha z' A: what z errs by is on the left in both.
void husk_ref_gemm_backward_freivalds(const husk_ref_gemm_backward *op, const husk_ref_array *out, uint64_t seed,
                                      husk_ref_report *report)
{
    static const husk_gemm_params defaults;
    const husk_gemm_params *params = op->params != NULL ? op->params : &defaults;
    const bool is_a = op->wanted == HUSK_REF_GEMM_DA;
    if (!is_a && op->wanted != HUSK_REF_GEMM_DB)
        return;
    const husk_ref_array *dy = op->dy, *right = is_a ? op->b : op->a;
    const int64_t batch = dy->rank == 3 ? dy->shape[0] : 1;
    const int64_t m = dy->shape[dy->rank - 2], n = dy->shape[dy->rank - 1];
    const bool out_is_transposed = is_a ? params->transpose_a != 0 : params->transpose_b == 0;
    const bool right_is_transposed = is_a ? params->transpose_b == 0 : params->transpose_a != 0;
    const bool accumulates = (params->accumulate & (is_a ? HUSK_ACCUMULATE_INPUTS : HUSK_ACCUMULATE_PARAMETERS)) != 0;
    const bool adds_up = husk_ref_gemm_backward_adds_up(op);
    product p = {.batch = adds_up ? 1 : batch,
                 .sums = adds_up ? batch : 1,
                 .m = is_a ? m : n,
                 .n = out->shape[out->rank - (out_is_transposed ? 2 : 1)],
                 .k = is_a ? n : m,
                 .left = dy,
                 .right = right,
                 .gradient = params->activation != HUSK_ACT_NONE ? op : NULL,
                 .alpha = (double)op->alpha,
                 .beta = accumulates ? 1.0 : 0.0,
                 .error_factor = op->error_factor,
                 .before = op->before,
                 .out = out,
                 .elements = {husk_ref_gemm_backward_function(op), out, out->rank - (out_is_transposed ? 2 : 1), 0.0},
                 .out_is_transposed = out_is_transposed};
    int64_t left_strides[3], right_strides[3];
    matrix_strides(dy, !is_a, left_strides);
    matrix_strides(right, right_is_transposed, right_strides);
    p.left_strides[adds_up] = left_strides[0];
    p.right_strides[adds_up] = right_strides[0];
    memcpy(p.left_strides + 2, left_strides + 1, 2 * sizeof(*left_strides));
    memcpy(p.right_strides + 2, right_strides + 1, 2 * sizeof(*right_strides));
    matrix_strides(op->before, out_is_transposed, p.before_strides);
    matrix_strides(out, out_is_transposed, p.out_strides);
    check_product(&p, seed, report);
}

void husk_ref_gemm_check(const husk_ref_gemm *op, uint64_t seed, const husk_ref_array *out, husk_ref_report *report)
{
    const husk_ref_function function = husk_ref_gemm_function(op);
    if (!husk_ref_check(&function, seed, out, report))
        husk_ref_gemm_freivalds(op, out, seed, report);
}

void husk_ref_gemm_backward_check(const husk_ref_gemm_backward *op, uint64_t seed, const husk_ref_array *out,
                                  husk_ref_report *report)
{
    const husk_ref_function function = husk_ref_gemm_backward_function(op);
    if (!husk_ref_check(&function, seed, out, report))
        husk_ref_gemm_backward_freivalds(op, out, seed, report);
}
