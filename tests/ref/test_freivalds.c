// SPDX-License-Identifier: MIT
// ctest: timeout=120
// Freivalds' checks of gradients, and of outputs that are narrow and wide: they accept what is right, and see single
// wrong elements.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/freivalds.h"
#include "ref/random.h"
#include "support/main.h"

static const husk_dtype dtypes[] = {HUSK_F32, HUSK_F16, HUSK_BF16, HUSK_F64};

static husk_ref_array make(husk_dtype dtype, int32_t rank, const int64_t *shape, uint64_t seed)
{
    husk_ref_array array = husk_ref_array_make(NULL, dtype, rank, shape);
    array.data = calloc((size_t)husk_ref_array_count(&array) + 1, sizeof(double));
    ck_assert_ptr_nonnull(array.data);
    husk_ref_random_fill_array(&array, seed, 1.0f);
    return array;
}

static husk_ref_array clone(const husk_ref_array *array)
{
    husk_ref_array copy = make(array->dtype, array->rank, array->shape, 1);
    for (int64_t i = 0; i < husk_ref_array_count(array); i++)
        husk_ref_store(&copy, i, husk_ref_load(array, i));
    return copy;
}

static double root_mean_square(const husk_ref_array *array)
{
    const int64_t count = husk_ref_array_count(array);
    double squares = 0.0;
    for (int64_t i = 0; i < count; i++)
        squares += pow(husk_ref_load(array, i), 2.0);
    return sqrt(squares / (double)count);
}

typedef void (*project_fn)(const void *op, const husk_ref_array *out, uint64_t seed, husk_ref_report *report);

static void project_gemm(const void *op, const husk_ref_array *out, uint64_t seed, husk_ref_report *report)
{
    husk_ref_gemm_freivalds(op, out, seed, report);
}

static void project_gemm_backward(const void *op, const husk_ref_array *out, uint64_t seed, husk_ref_report *report)
{
    husk_ref_gemm_backward_freivalds(op, out, seed, report);
}

static void project_conv(const void *op, const husk_ref_array *out, uint64_t seed, husk_ref_report *report)
{
    husk_ref_conv_freivalds(op, out, seed, report);
}

static void project_data(const void *op, const husk_ref_array *out, uint64_t seed, husk_ref_report *report)
{
    husk_ref_conv_backward_data_freivalds(op, out, seed, report);
}

static void project_weights(const void *op, const husk_ref_array *out, uint64_t seed, husk_ref_report *report)
{
    husk_ref_conv_backward_weights_freivalds(op, out, seed, report);
}

static void project_table(const void *op, const husk_ref_array *out, uint64_t seed, husk_ref_report *report)
{
    husk_ref_embedding_backward_freivalds(op, out, seed, report);
}

// The output passes, in so many projections; not without any one of its elements that are no smaller than a share of
// their root mean square, of which `trials` are tried.
static void judge(project_fn project, const void *op, const husk_ref_array *out, int64_t projections, double share,
                  int trials)
{
    husk_ref_report report = {0};
    husk_ref_random draw = {.seed = 11};
    const double least = share * root_mean_square(out);
    char text[400];
    project(op, out, 5, &report);
    husk_ref_report_text(&report, text, sizeof(text));
    ck_assert_msg(husk_ref_report_pass(&report), "%s of what is right: %s", husk_dtype_name(out->dtype), text);
    ck_assert_int_eq(report.projections, projections);
    for (int tried = 0; tried < trials;) {
        const int64_t at = husk_ref_random_below(&draw, husk_ref_array_count(out));
        const double right = husk_ref_load(out, at);
        if (fabs(right) < least)
            continue;
        tried++;
        husk_ref_store(out, at, 0.0);
        report = (husk_ref_report){0};
        project(op, out, 5, &report);
        ck_assert_msg(report.projection_failures == 1, "%s: [%lld], %g, is zero and is not seen",
                      husk_dtype_name(out->dtype), (long long)at, right);
        husk_ref_store(out, at, right);
    }
}

static int64_t blocks_of(husk_dtype dtype, int64_t count)
{
    return dtype == HUSK_BF16 ? (count + 15) / 16 : 1;
}

// One element of a row of 4,096: by blocks it is seen in f16 and bf16, too.
START_TEST(wide_rows)
{
    const husk_dtype dtype = dtypes[_i];
    const int64_t m = 3, n = 4096, k = 60;
    husk_ref_array a = make(dtype, 2, (int64_t[]){m, k}, 1), b = make(dtype, 2, (int64_t[]){k, n}, 2);
    husk_ref_array c = make(dtype, 2, (int64_t[]){m, n}, 3);
    const husk_ref_gemm op = {.alpha = 1.0f, .a = &a, .b = &b, .c = &c};
    husk_ref_gemm_run(&op, &c);
    husk_ref_report report = {0};
    husk_ref_gemm_freivalds(&op, &c, 5, &report);
    ck_assert_int_ge(report.projections, dtype == HUSK_BF16 ? m * n / 16 : dtype == HUSK_F16 ? m * n / 1024 : m);
    judge(project_gemm, &op, &c, report.projections, 0.2, 40);
    husk_ref_array *arrays[] = {&a, &b, &c};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        free(arrays[i]->data);
}
END_TEST

// What it costs is bounded: of rows that are as long as this one blocks are wider.
START_TEST(wide_blocks)
{
    const int64_t n = 64, k = 1 << 22, index[2] = {0, 0};
    husk_ref_array a = make(HUSK_F32, 2, (int64_t[]){1, k}, 1), c = make(HUSK_BF16, 2, (int64_t[]){1, n}, 3);
    husk_ref_array b = {a.data, HUSK_F32, 2, {k, n}, {1, 0}};
    const husk_ref_gemm op = {.alpha = 1.0f, .a = &a, .b = &b, .c = &c};
    const double sum = husk_ref_gemm_at(&op, index).value;
    for (int64_t j = 0; j < n; j++)
        husk_ref_store(&c, j, sum);
    husk_ref_report report = {0};
    husk_ref_gemm_freivalds(&op, &c, 5, &report);
    ck_assert_int_eq(report.projections, 2); // four, of 16 columns
    ck_assert_int_eq(report.projection_failures, 0);
    free(a.data);
    free(c.data);
}
END_TEST

// Sums of more than 2^16 products are added up by parts: all rows, by blocks and whole, of a gradient as well.
START_TEST(long_sums)
{
    const husk_dtype dtype = dtypes[_i / 2];
    const int64_t m = 6, n = 20, batch = _i % 2 ? 3 : 1, k = 70000 / batch;
    husk_ref_array a = make(dtype, 3, (int64_t[]){batch, k, m}, 1), dy = make(dtype, 3, (int64_t[]){batch, k, n}, 2);
    const husk_gemm_params params = {.transpose_a = true};
    husk_ref_array c = make(dtype, 3, (int64_t[]){1, m, n}, 3), before = make(dtype, 3, (int64_t[]){1, m, n}, 4);
    if (batch > 1) { // one db of all of the batch, transposed
        const husk_gemm_params backward = {.activation = HUSK_ACT_RELU};
        const husk_ref_gemm_backward op = {.params = &backward,
                                           .alpha = 1.0f,
                                           .a = &a,
                                           .x = &dy,
                                           .dy = &dy,
                                           .before = &before,
                                           .wanted = HUSK_REF_GEMM_DB};
        husk_ref_gemm_backward_run(&op, &c);
        judge(project_gemm_backward, &op, &c, n, 0.3, 2);
    } else {
        const husk_ref_gemm op = {.params = &params, .alpha = 1.0f, .a = &a, .b = &dy, .c = &c};
        husk_ref_gemm_run(&op, &c);
        judge(project_gemm, &op, &c, m * (dtype == HUSK_F64 ? 1 : 2), 0.3, 2);
    }
    husk_ref_array *arrays[] = {&a, &dy, &c, &before};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        free(arrays[i]->data);
}
END_TEST

// However long the sums are.
START_TEST(memory)
{
    const int64_t k = INT64_C(1) << 28, n = _i == 0 ? 1 : 4096, m = _i == 2 ? 4096 : 1;
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(*dtypes); i++) {
        const husk_ref_array a = husk_ref_array_make(NULL, dtypes[i], 2, (int64_t[]){m, k});
        const husk_ref_array b = husk_ref_array_make(NULL, dtypes[i], 2, (int64_t[]){k, n});
        const husk_ref_array c = husk_ref_array_make(NULL, dtypes[i], 2, (int64_t[]){m, n});
        const husk_ref_gemm op = {.alpha = 1.0f, .a = &a, .b = &b, .c = &c};
        ck_assert_int_le(husk_ref_gemm_freivalds_memory(&op, &c), 16 << 20);
    }
}
END_TEST

// Every output may be a denormal that the device flushes to zero: of a gemm, a convolution and a table's gradient.
START_TEST(flushed)
{
    const int64_t n = 4096, rows = 5, k = 2;
    husk_ref_array a = make(HUSK_F32, 2, (int64_t[]){rows, k}, 1), b = make(HUSK_F32, 2, (int64_t[]){k, n}, 2);
    husk_ref_array c = make(HUSK_F32, 2, (int64_t[]){rows, n}, 3);
    memset(c.data, 0, (size_t)(rows * n) * sizeof(float));
    husk_ref_report report = {0};
    const husk_ref_gemm gemm = {.alpha = 1e-38f, .a = &a, .b = &b, .c = &c};
    husk_ref_gemm_freivalds(&gemm, &c, 5, &report);
    ck_assert(husk_ref_report_pass(&report));
    const husk_gemm_params transposed = {.transpose_b = true};
    const husk_ref_gemm_backward backward = {.params = &transposed, .alpha = 1e-38f, .b = &b, .dy = &a, .before = &c};
    husk_ref_gemm_backward_freivalds(&backward, &c, 5, &report); // da, as if dy were a
    ck_assert(husk_ref_report_pass(&report));

    husk_ref_random_fill_array(&a, 1, 1e-19f);
    husk_ref_random_fill_array(&b, 2, 1e-19f);
    const husk_ref_array x = husk_ref_array_make(a.data, HUSK_F32, 4, (int64_t[]){rows, k, 1, 1});
    const husk_ref_array w = husk_ref_array_make(b.data, HUSK_F32, 4, (int64_t[]){n, k, 1, 1});
    const husk_ref_array y = husk_ref_array_make(c.data, HUSK_F32, 4, (int64_t[]){rows, n, 1, 1});
    const husk_ref_conv conv = {.x = &x, .w = &w};
    husk_ref_conv_freivalds(&conv, &y, 5, &report);
    ck_assert(husk_ref_report_pass(&report));

    husk_ref_random_fill_array(&b, 2, 1e-38f);
    int32_t looked_up[] = {3, 1};
    const husk_ref_array indices = husk_ref_array_make(looked_up, HUSK_I32, 1, (int64_t[]){k});
    const husk_ref_embedding_backward table = {.indices = &indices, .dy = &b, .rows = rows};
    husk_ref_embedding_backward_freivalds(&table, &c, 5, &report);
    ck_assert(husk_ref_report_pass(&report));
    ck_assert_int_eq(report.projections, 4 * rows);
    husk_ref_array *arrays[] = {&a, &b, &c};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        free(arrays[i]->data);
}
END_TEST

// A row whose norm is past f16's range, though none of its elements is: an infinity in it is wrong. Where some are past
// it, their infinities are right, and what else is wrong with the row is seen all the same.
START_TEST(infinities)
{
    const int64_t m = 3, n = 1024, k = 512, wrong = n + 77;
    husk_ref_array a = make(HUSK_F16, 2, (int64_t[]){m, k}, 1), b = make(HUSK_F16, 2, (int64_t[]){k, n}, 2);
    husk_ref_array c = make(HUSK_F16, 2, (int64_t[]){m, n}, 3);
    const husk_ref_gemm op = {.alpha = _i == 0 ? 50.0f : 3000.0f, .a = &a, .b = &b, .c = &c};
    husk_ref_gemm_run(&op, &c);
    int64_t infinite = 0;
    for (int64_t i = 0; i < m * n; i++)
        infinite += isinf(husk_ref_load(&c, i)) ? 1 : 0;
    ck_assert(_i == 0 ? infinite == 0 : infinite > 0);
    husk_ref_report report = {0};
    husk_ref_gemm_freivalds(&op, &c, 5, &report);
    ck_assert(husk_ref_report_pass(&report));
    ck_assert_int_eq(report.checked, infinite);
    ck_assert_int_ge(report.projections, m);

    const double right = husk_ref_load(&c, wrong);
    ck_assert(isfinite(right));
    husk_ref_store(&c, wrong, INFINITY);
    report = (husk_ref_report){0};
    husk_ref_gemm_freivalds(&op, &c, 5, &report);
    ck_assert_int_eq(report.failures, 1);
    ck_assert_int_eq(report.first_failure[0] * n + report.first_failure[1], wrong);
    husk_ref_store(&c, wrong, right > 0.0 ? -65504.0 : 65504.0);
    report = (husk_ref_report){0};
    husk_ref_gemm_freivalds(&op, &c, 5, &report);
    ck_assert_int_eq(report.projection_failures, 1);
    husk_ref_array *arrays[] = {&a, &b, &c};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        free(arrays[i]->data);
}
END_TEST

// The same of gradients and of a convolution's groups: the infinity is wrong, alone, and its place is told.
static void judge_infinity(project_fn project, const void *op, const husk_ref_array *out)
{
    const int64_t count = husk_ref_array_count(out), at = count * 2 / 3 + 1;
    husk_ref_report report = {0};
    project(op, out, 5, &report);
    ck_assert(husk_ref_report_pass(&report));
    const double right = husk_ref_load(out, at);
    husk_ref_store(out, at, INFINITY);
    report = (husk_ref_report){0};
    project(op, out, 5, &report);
    ck_assert_int_eq(report.failures, 1);
    ck_assert_int_eq(report.projection_failures, 0);
    ck_assert_int_eq(husk_ref_position_of(out->rank, out->shape, report.first_failure), at);
    husk_ref_store(out, at, right);
}

START_TEST(infinities_elsewhere)
{
    const int64_t rows = 4, n = 600, k = 256;
    husk_ref_array a = make(HUSK_F16, 2, (int64_t[]){rows, k}, 1), b = make(HUSK_F16, 2, (int64_t[]){n, k}, 2);
    husk_ref_array c = make(HUSK_F16, 2, (int64_t[]){rows, n}, 3), d = make(HUSK_F16, 2, (int64_t[]){n, rows}, 4);
    for (int64_t i = 0; i < rows * k; i++)
        husk_ref_store(&a, i, 256.0 * husk_ref_load(&a, i));
    const husk_gemm_params transposed = {.transpose_b = true};
    husk_ref_array right = husk_ref_array_make(b.data, HUSK_F16, 2, (int64_t[]){k, n});
    const husk_ref_gemm_backward da = {.params = &transposed, .alpha = 1.0f, .b = &right, .dy = &a, .before = &c};
    husk_ref_gemm_backward_run(&da, &c);
    judge_infinity(project_gemm_backward, &da, &c);
    // db' = z' a, of a that is [k, n] and z that is [k, rows]
    husk_ref_array z = husk_ref_array_make(a.data, HUSK_F16, 2, (int64_t[]){k, rows});
    const husk_ref_gemm_backward db = {.alpha = 1.0f, .a = &right, .dy = &z, .before = &d, .wanted = HUSK_REF_GEMM_DB};
    husk_ref_gemm_backward_run(&db, &d);
    judge_infinity(project_gemm_backward, &db, &d);

    const husk_conv_params params = {.groups = 2};
    husk_ref_array x = husk_ref_array_make(a.data, HUSK_F16, 4, (int64_t[]){rows / 2, 2 * k, 1, 1});
    husk_ref_array w = husk_ref_array_make(b.data, HUSK_F16, 4, (int64_t[]){n, k, 1, 1});
    husk_ref_array y = husk_ref_array_make(c.data, HUSK_F16, 4, (int64_t[]){rows / 2, n, 1, 1});
    const husk_ref_conv conv = {.params = &params, .x = &x, .w = &w};
    husk_ref_conv_run(&conv, &y);
    judge_infinity(project_conv, &conv, &y);

    int32_t looked_up[4] = {1, 1, 0, 1};
    const husk_ref_array indices = husk_ref_array_make(looked_up, HUSK_I32, 1, (int64_t[]){rows});
    husk_ref_array dy = make(HUSK_F16, 2, (int64_t[]){rows, n}, 5);
    husk_ref_array dtable = husk_ref_array_make(c.data, HUSK_F16, 2, (int64_t[]){2, n});
    for (int64_t i = 0; i < rows * n; i++)
        husk_ref_store(&dy, i, 20000.0 * husk_ref_load(&dy, i));
    const husk_ref_embedding_backward table = {.indices = &indices, .dy = &dy, .rows = 2};
    husk_ref_embedding_backward_run(&table, &dtable);
    judge_infinity(project_table, &table, &dtable);
    husk_ref_array *arrays[] = {&a, &b, &c, &d, &dy};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        free(arrays[i]->data);
}
END_TEST

// Channels of a convolution, as columns of a gemm; two groups, whose last blocks are narrower.
START_TEST(many_channels)
{
    const husk_dtype dtype = dtypes[_i];
    husk_ref_array x = make(dtype, 4, (int64_t[]){2, 8, 5, 4}, 1), w = make(dtype, 4, (int64_t[]){200, 4, 3, 3}, 2);
    husk_ref_array bias = make(dtype, 1, (int64_t[]){200}, 3), y = make(dtype, 4, (int64_t[]){2, 200, 5, 4}, 4);
    const husk_conv_params params = {.pad = {1, 1}, .groups = 2};
    const husk_ref_conv op = {.params = &params, .x = &x, .w = &w, .bias = &bias};
    husk_ref_conv_run(&op, &y);
    judge(project_conv, &op, &y, 2 * 20 * 2 * blocks_of(dtype, 100), 0.3, 40);
    husk_ref_array *arrays[] = {&x, &w, &bias, &y};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        free(arrays[i]->data);
}
END_TEST

// What it costs is bounded, by some positions in the place of all: an output of 2^18 elements, each by a sum of 2^14
// terms, most of which meet nothing but padding or gaps of the stride.
START_TEST(many_terms)
{
    const bool is_forward = _i == 0, has_tile = _i == 2;
    const int64_t length = 1 << 14, edge = 1 << 9;
    const int64_t x_shape[] = {1, 1, is_forward ? 1 : edge, is_forward ? length : edge};
    const int64_t w_shape[] = {is_forward ? 1 : length, 1, 1, is_forward ? length : 1};
    husk_ref_array x = make(HUSK_F32, 4, x_shape, 1), w = make(HUSK_F32, 4, w_shape, 2);
    const int32_t pad = is_forward ? 1 << 17 : 0, stride = is_forward ? 1 : 64;
    const husk_conv_params params = {.pad = {pad, 0}, .stride = {stride, stride}};
    const husk_ref_conv op = {.params = &params, .x = &x, .w = &w};
    int64_t shape[HUSK_MAX_RANK];
    husk_ref_conv_output_shape(&op, shape);
    husk_ref_array y = make(HUSK_F32, 4, shape, 3);
    husk_ref_report report = {0};
    int64_t per_position = 2;
    if (is_forward) {
        husk_ref_conv_run(&op, &y);
        husk_ref_conv_freivalds(&op, &y, 5, &report);
    } else {
        husk_ref_conv_backward_data data = {.params = &params, .w = &w, .dy = &y, .shape = {1, 1, edge, edge}};
        data.tile[0] = data.tile[1] = has_tile ? 4 : 0;
        per_position += has_tile ? 16 : 0;
        husk_ref_conv_backward_data_run(&data, &x);
        husk_ref_conv_backward_data_freivalds(&data, &x, 5, &report);
        for (int64_t i = 0; i < husk_ref_array_count(&x); i++)
            husk_ref_store(&x, i, 1.0);
        husk_ref_report wrong = {0};
        husk_ref_conv_backward_data_freivalds(&data, &x, 5, &wrong);
        ck_assert_int_ge(wrong.projection_failures, report.projections * 9 / 10);
    }
    ck_assert(husk_ref_report_pass(&report));
    ck_assert_int_eq(report.projections, (INT64_C(1) << 29) / (length * per_position));
    husk_ref_array *arrays[] = {&x, &w, &y};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        free(arrays[i]->data);
}
END_TEST

enum { SINGLE, BATCHED, ADDED_UP, BATCHES };

// da and db; with and without transposition, an activation and what was there; alone, in batches, added up over one.
START_TEST(gemm_gradients)
{
    const bool is_a = _i & 1, is_transposed = _i & 2, has_activation = _i & 4;
    const int kind = _i / 8 % BATCHES;
    const int64_t batch = kind == SINGLE ? 1 : 3, m = 21, n = 33, k = 45;
    const int drop = kind == SINGLE, drop_own = kind != BATCHED;
    const husk_dtype dtype = dtypes[_i / 8 / BATCHES];
    const int64_t a_shape[] = {batch, is_transposed ? k : m, is_transposed ? m : k};
    const int64_t b_shape[] = {batch, is_transposed ? n : k, is_transposed ? k : n};
    const int64_t c_shape[] = {batch, m, n};
    const uint32_t accumulate = HUSK_ACCUMULATE_INPUTS | HUSK_ACCUMULATE_PARAMETERS;
    const int a_drop = is_a ? drop_own : drop, b_drop = is_a ? drop : drop_own;
    husk_ref_array a = make(dtype, 3 - a_drop, a_shape + a_drop, 1);
    husk_ref_array b = make(dtype, 3 - b_drop, b_shape + b_drop, 2);
    husk_ref_array x = make(dtype, 3 - drop, c_shape + drop, 3), dy = make(dtype, 3 - drop, c_shape + drop, 4);
    const husk_gemm_params params = {.transpose_a = is_transposed,
                                     .transpose_b = is_transposed,
                                     .activation = has_activation ? HUSK_ACT_GELU : HUSK_ACT_NONE,
                                     .accumulate = is_transposed ? accumulate : 0};
    husk_ref_gemm_backward op = {.params = &params,
                                 .alpha = -1.5f,
                                 .a = &a,
                                 .b = &b,
                                 .x = &x,
                                 .dy = &dy,
                                 .before = is_a ? &a : &b,
                                 .wanted = is_a ? HUSK_REF_GEMM_DA : HUSK_REF_GEMM_DB};
    husk_ref_array before = clone(op.before), out = clone(op.before);
    op.before = &before;
    husk_ref_gemm_backward_run(&op, &out);
    const int64_t rows = (kind == BATCHED ? batch : 1) * (is_a ? m : n);
    judge(project_gemm_backward, &op, &out, rows * blocks_of(dtype, k), 0.3, 20);
    husk_ref_report report = {0}; // of what is small every element is compared instead
    husk_ref_gemm_backward_check(&op, 5, &out, &report);
    ck_assert(husk_ref_report_pass(&report));
    ck_assert_int_eq(report.projections, 0);
    husk_ref_array *arrays[] = {&a, &b, &x, &dy, &before, &out};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        free(arrays[i]->data);
}
END_TEST

// Groups, strides, dilation; a bias, what was there, and Winograd's tiles, whose bounds are wider.
START_TEST(conv_gradients)
{
    const bool has_more = _i & 1, has_tile = _i & 2;
    const husk_dtype dtype = dtypes[_i / 4];
    husk_ref_array x = make(dtype, 4, (int64_t[]){2, 40, 9, 8}, 1), w = make(dtype, 4, (int64_t[]){36, 20, 3, 2}, 2);
    const husk_conv_params params = {.stride = {2, 1}, .pad = {1, 1}, .dilation = {1, 2}, .groups = 2};
    const husk_ref_conv forward = {.params = &params, .x = &x, .w = &w};
    int64_t shape[HUSK_MAX_RANK];
    husk_ref_conv_output_shape(&forward, shape);
    husk_ref_array dy = make(dtype, 4, shape, 3), bias = make(dtype, 1, (int64_t[]){40}, 4);
    husk_ref_array dx = clone(&x), dw = clone(&w);
    husk_ref_conv_backward_data data = {.params = &params,
                                        .w = &w,
                                        .dy = &dy,
                                        .bias = has_more ? &bias : NULL,
                                        .before = has_more ? &x : NULL,
                                        .shape = {2, 40, 9, 8},
                                        .tile = {has_tile ? 4 : 0, has_tile ? 4 : 0}};
    husk_ref_conv_backward_data_run(&data, &dx);
    judge(project_data, &data, &dx, 2 * 72 * 2 * blocks_of(dtype, 20), 0.3, 20);
    husk_ref_conv_backward_weights weights = {.params = &params,
                                              .x = &x,
                                              .dy = &dy,
                                              .before = has_more ? &w : NULL,
                                              .shape = {36, 20, 3, 2},
                                              .has_tile = has_tile};
    husk_ref_conv_backward_weights_run(&weights, &dw);
    judge(project_weights, &weights, &dw, 20 * 6 * 2 * blocks_of(dtype, 18), 0.3, 20);
    if (has_tile) { // what is prepared is what is computed on the spot
        const int64_t at[HUSK_MAX_RANK] = {1, 3, 2, 1};
        const double dx_bound = husk_ref_conv_backward_data_at(&data, at).bound;
        const double dw_bound = husk_ref_conv_backward_weights_at(&weights, at).bound;
        ck_assert(husk_ref_conv_backward_data_prepare(&data) && husk_ref_conv_backward_weights_prepare(&weights));
        ck_assert(data.magnitudes != NULL && weights.magnitudes != NULL);
        ck_assert_double_eq(husk_ref_conv_backward_data_at(&data, at).bound, dx_bound);
        ck_assert_double_eq(husk_ref_conv_backward_weights_at(&weights, at).bound, dw_bound);
        husk_ref_conv_backward_data_release(&data);
        husk_ref_conv_backward_weights_release(&weights);
    }
    husk_ref_array *arrays[] = {&x, &w, &dy, &bias, &dx, &dw};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        free(arrays[i]->data);
}
END_TEST

// Rows that are looked up often, once and never; a padding row; indices outside, which are ignored.
START_TEST(table_gradient)
{
    const husk_dtype dtype = dtypes[_i / 4];
    int32_t looked_up[50];
    const int64_t rows = 23, columns = 40, lookups = 50;
    husk_ref_random draw = {.seed = 3};
    for (int64_t i = 0; i < lookups; i++)
        looked_up[i] = (int32_t)husk_ref_random_below(&draw, rows);
    looked_up[7] = -1;
    looked_up[8] = (int32_t)rows;
    husk_ref_array indices = husk_ref_array_make(looked_up, HUSK_I32, 2, (int64_t[]){10, 5});
    husk_ref_array dy = make(dtype, 3, (int64_t[]){10, 5, columns}, 1);
    husk_ref_array before = make(dtype, 2, (int64_t[]){rows, columns}, 2), dtable = clone(&before);
    const husk_embedding_params params = {.has_padding = _i & 1,
                                          .padding_index = -2,
                                          .scale_by_frequency = _i & 1,
                                          .accumulate = _i & 2 ? HUSK_ACCUMULATE_PARAMETERS : 0};
    const husk_ref_embedding_backward op = {
        .params = &params, .indices = &indices, .dy = &dy, .before = &before, .rows = rows};
    husk_ref_embedding_backward_run(&op, &dtable);
    judge(project_table, &op, &dtable, rows * blocks_of(dtype, columns), 0.3, 20);
    free(dy.data);
    free(before.data);
    free(dtable.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("freivalds");
    TCase *cases = tcase_create("freivalds");
    tcase_add_loop_test(cases, wide_rows, 0, 4);
    tcase_add_test(cases, wide_blocks);
    tcase_add_test(cases, flushed);
    tcase_add_loop_test(cases, infinities, 0, 2);
    tcase_add_test(cases, infinities_elsewhere);
    tcase_add_loop_test(cases, long_sums, 0, 4 * 2);
    tcase_add_loop_test(cases, memory, 0, 3);
    tcase_add_loop_test(cases, many_channels, 0, 4);
    tcase_add_loop_test(cases, many_terms, 0, 3);
    tcase_add_loop_test(cases, gemm_gradients, 0, 8 * BATCHES * 4);
    tcase_add_loop_test(cases, conv_gradients, 0, 4 * 4);
    tcase_add_loop_test(cases, table_gradient, 0, 4 * 4);
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
