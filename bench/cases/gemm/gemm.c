// SPDX-License-Identifier: MIT
// gemm m n k [batch ta tb lda ldb ldc alpha beta bias act dtype precision packed dir]
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cases/array.h"
#include "cases/op.h"
#include "common/text.h"
#include "ref/elementwise/activation.h"
#include "ref/freivalds.h"
#include "ref/random.h"

static const bench_choice bias_choices[] = {
    {"0", BENCH_BIAS_NONE}, {"1", BENCH_BIAS_ROW}, {"row", BENCH_BIAS_ROW}, {"col", BENCH_BIAS_COLUMN}, {NULL, 0},
};

static const bench_field fields[] = {
    BENCH_REQUIRED("m", as.gemm.m, 0, "rows of C"),
    BENCH_REQUIRED("n", as.gemm.n, 0, "columns of C"),
    BENCH_REQUIRED("k", as.gemm.k, 0, "length of the sums"),
    BENCH_INTEGER("batch", as.gemm.batch, 1, 0, "matrices of each kind"),
    BENCH_CHOICE("ta", as.gemm.ta, 0, bench_flag_choices, "1: A is stored as [k, m]"),
    BENCH_CHOICE("tb", as.gemm.tb, 0, bench_flag_choices, "1: B is stored as [n, k]"),
    BENCH_INTEGER("lda", as.gemm.lda, 0, 0, "elements from a stored row of A to the next"),
    BENCH_INTEGER("ldb", as.gemm.ldb, 0, 0, "the same of B"),
    BENCH_INTEGER("ldc", as.gemm.ldc, 0, 0, "the same of C"),
    BENCH_REAL("alpha", as.gemm.alpha, 1, "factor of the product"),
    BENCH_REAL("beta", as.gemm.beta, 0, "factor of the old C"),
    BENCH_CHOICE("bias", as.gemm.bias, BENCH_BIAS_NONE, bias_choices, "1: added to every row; col: to every column"),
    {.key = NULL},
};

typedef struct stored {
    int64_t a_rows, a_columns, b_rows, b_columns;
} stored;

static stored stored_sizes(const bench_gemm *g)
{
    return (stored){
        .a_rows = g->ta ? g->k : g->m,
        .a_columns = g->ta ? g->m : g->k,
        .b_rows = g->tb ? g->n : g->k,
        .b_columns = g->tb ? g->k : g->n,
    };
}

static bool check_leading(const char *key, int64_t *leading, int64_t columns, char reason[BENCH_REASON_TEXT])
{
    if (*leading && *leading < columns)
        return bench_explain(reason, BENCH_REASON_TEXT, "%s=%lld is less than the %lld columns stored", key,
                             (long long)*leading, (long long)columns);
    if (*leading == columns)
        *leading = 0;
    return true;
}

static bool is_backward(const bench_case *c)
{
    return c->dir != BENCH_FWD;
}

static bool normalise(bench_case *c, char reason[BENCH_REASON_TEXT])
{
    bench_gemm *g = &c->as.gemm;
    if (is_backward(c) && c->packed)
        return bench_explain(reason, BENCH_REASON_TEXT, "packed=1: gradients take B as it is");
    stored s = stored_sizes(g);
    return check_leading("lda", &g->lda, s.a_columns, reason) && check_leading("ldb", &g->ldb, s.b_columns, reason) &&
           check_leading("ldc", &g->ldc, g->n, reason);
}

static void resolve(bench_case *c)
{
    bench_gemm *g = &c->as.gemm;
    stored s = stored_sizes(g);
    g->lda = g->lda ? g->lda : s.a_columns;
    g->ldb = g->ldb ? g->ldb : s.b_columns;
    g->ldc = g->ldc ? g->ldc : g->n;
}

static double products(const bench_case *c)
{
    const bench_gemm *g = &c->as.gemm;
    return (double)g->batch * (double)g->m * (double)g->n * (double)g->k;
}

// dir=bwd: two multiplications, for the gradients of A and B.
static double macs(const bench_case *c)
{
    return (is_backward(c) ? 2 : 1) * products(c);
}

static double flops(const bench_case *c)
{
    return 2 * macs(c);
}

static double bias_elements(const bench_gemm *g)
{
    return (double)(g->bias == BENCH_BIAS_ROW ? g->n : g->bias == BENCH_BIAS_COLUMN ? g->m : 0);
}

// Everything once, without what lies between rows.
static double matrices(const bench_case *c)
{
    const bench_gemm *g = &c->as.gemm;
    double m = (double)g->m, n = (double)g->n, k = (double)g->k;
    const double bias = bias_elements(g), size = bench_case_element(c);
    if (is_backward(c)) // A, B and their gradients; dy, what the activation's derivative is taken from, dc
        return size *
               ((double)g->batch * (2 * m * k + 2 * k * n + m * n * (1 + (c->act != HUSK_ACT_NONE) + (g->beta != 0))) +
                bias);
    return size * ((double)g->batch * (m * k + k * n + m * n * (g->beta != 0 ? 2 : 1)) + bias);
}

// What lies between the rows of stored matrices, in elements: the last row ends them.
static double gaps(const bench_gemm *g, int64_t rows, int64_t columns, int64_t leading)
{
    return fmax((double)g->batch * (double)rows - 1, 0) * (double)(leading - columns);
}

// Rows are lda, ldb and ldc elements apart; the gradients have A and B twice, and of C's shape what matrices says.
static double operands(const bench_case *c)
{
    const bench_gemm *g = &c->as.gemm;
    const double a = g->ta ? gaps(g, g->k, g->m, g->lda) : gaps(g, g->m, g->k, g->lda),
                 b = g->tb ? gaps(g, g->n, g->k, g->ldb) : gaps(g, g->k, g->n, g->ldb),
                 each = gaps(g, g->m, g->n, g->ldc);
    const double all =
        is_backward(c) ? 2 * (a + b) + each * (1 + (c->act != HUSK_ACT_NONE) + (g->beta != 0)) : a + b + each;
    return matrices(c) + bench_case_element(c) * all;
}

// Where C is empty, nothing is read, and gradients are zeros.
static double bytes(const bench_case *c)
{
    const bench_gemm *g = &c->as.gemm;
    const double m = (double)g->m, n = (double)g->n, k = (double)g->k, batch = (double)g->batch;
    if (batch * m * n > 0)
        return matrices(c);
    return is_backward(c) ? bench_case_element(c) * (batch * (m * k + k * n) + bias_elements(g)) : 0;
}

static bool make_matrices(bench_array *array, const bench_gemm *g, int64_t rows, int64_t columns, int64_t leading)
{
    int64_t shape[3] = {g->batch, rows, columns}, strides[3] = {0, leading, 1};
    if (__builtin_mul_overflow(rows, leading, &strides[0]))
        return false;
    int drop = g->batch == 1; // a single matrix has rank 2
    return bench_array_make(array, HUSK_F32, 3 - drop, shape + drop, strides + drop);
}

static bool follows_from_y(husk_act act)
{
    return act <= HUSK_ACT_RELU6 || act == HUSK_ACT_SIGMOID || act == HUSK_ACT_TANH;
}

// The gradients of C = op(A) op(B) and so on: y is da, gradients[0] db, then dbias and dc where there are any.
static bool make_backward_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const bench_gemm *g = &c->as.gemm;
    stored s = stored_sizes(g);
    if (!make_matrices(&data->x, g, s.a_rows, s.a_columns, g->lda) ||
        !make_matrices(&data->w, g, s.b_rows, s.b_columns, g->ldb) ||
        !make_matrices(&data->y, g, s.a_rows, s.a_columns, g->lda) || !make_matrices(&data->dy, g, g->m, g->n, g->ldc))
        return false;
    bench_array_fill(&data->x, seed, 1);
    bench_array_fill(&data->w, seed + 1, 1);
    bench_array_fill(&data->dy, seed + 2, 1);
    if (c->act == HUSK_ACT_NONE)
        return true;
    if (!make_matrices(&data->saved[0], g, g->m, g->n, g->ldc))
        return false;
    bench_array_fill(&data->saved[0], seed + 3, 4);
    for (int64_t i = 0; follows_from_y(c->act) && i < data->saved[0].count; i++) { // gaps are NaN and stay so
        float *value = (float *)data->saved[0].data + i;
        *value = (float)husk_ref_activate(c->act, 0, *value);
    }
    return true;
}

static bool make_output(const bench_case *c, const bench_data *data, bench_output *output)
{
    const bench_gemm *g = &c->as.gemm;
    const int64_t row[] = {g->n}, column[] = {g->m, 1};
    const bool is_row = g->bias == BENCH_BIAS_ROW;
    if (!is_backward(c))
        return true;
    return bench_array_make(&output->gradients[0], HUSK_F32, data->w.rank, data->w.shape, data->w.strides) &&
           (!g->bias ||
            bench_array_make(&output->gradients[1], HUSK_F32, is_row ? 1 : 2, is_row ? row : column, NULL)) &&
           (g->beta == 0 ||
            bench_array_make(&output->gradients[2], HUSK_F32, data->dy.rank, data->dy.shape, data->dy.strides));
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    if (is_backward(c))
        return make_backward_data(c, data, seed);
    const bench_gemm *g = &c->as.gemm;
    stored s = stored_sizes(g);
    if (!make_matrices(&data->x, g, s.a_rows, s.a_columns, g->lda) ||
        !make_matrices(&data->w, g, s.b_rows, s.b_columns, g->ldb) || !make_matrices(&data->y, g, g->m, g->n, g->ldc))
        return false;
    bench_array_fill(&data->x, seed, 1);
    bench_array_fill(&data->w, seed + 1, 1);
    if (g->beta != 0)
        bench_array_fill(&data->y, seed + 2, 1);
    if (g->bias) {
        int64_t row[1] = {g->n}, column[2] = {g->m, 1};
        bool is_row = g->bias == BENCH_BIAS_ROW;
        if (!bench_array_make(&data->bias, HUSK_F32, is_row ? 1 : 2, is_row ? row : column, NULL))
            return false;
        bench_array_fill(&data->bias, seed + 3, 1);
    }
    return true;
}

static husk_gemm_params params_of(const bench_case *c, const char *variant)
{
    return HUSK_GEMM_PARAMS(.transpose_a = (uint32_t)c->as.gemm.ta, .transpose_b = (uint32_t)c->as.gemm.tb,
                            .activation = c->act, .activation_slope = BENCH_LEAKY_SLOPE, .precision = c->precision,
                            .variant = variant);
}

static husk_status husk_prepare(bench_husk_job *job)
{
    husk_gemm_params params = params_of(job->c, job->form);
    bench_husk_set *set = job->sets;
    husk_status status = husk_gemm_plan_create(job->context, &params, &set->x, &set->w, bench_optional(&set->bias),
                                               &set->y, &job->plan, &job->error);
    if (status == HUSK_OK && job->c->packed)
        status = bench_job_packed(job, husk_gemm_plan_pack(job->plan, job->queue, &set->w, &job->packed));
    return status;
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    float alpha = (float)job->c->as.gemm.alpha, beta = (float)job->c->as.gemm.beta;
    if (job->c->packed)
        return husk_gemm_plan_run(job->plan, job->queue, alpha, &set->x, job->packed ? &job->packed_w : &set->w,
                                  bench_optional(&set->bias), beta, &set->y);
    husk_gemm_params params = params_of(job->c, job->form);
    if (is_backward(job->c)) {
        const husk_tensor *saved = bench_optional(&set->saved[0]);
        const bool from_y = follows_from_y(job->c->act);
        return husk_gemm_backward(job->queue, &params, alpha, &set->x, &set->w, beta, from_y ? NULL : saved,
                                  from_y ? saved : NULL, &set->dy, &set->y, &set->gradients[0],
                                  bench_optional(&set->gradients[1]), bench_optional(&set->gradients[2]));
    }
    return husk_gemm(job->queue, &params, alpha, &set->x, &set->w, bench_optional(&set->bias), beta, &set->y);
}

static void verify_backward(const bench_case *c, const bench_data *data, const bench_output *output,
                            const bench_verify_options *options, bench_verdict *verdict)
{
    static const char *const names[] = {"da", "db", "dbias", "dc"};
    const bench_array *const made[] = {&output->y, &output->gradients[0], &output->gradients[1], &output->gradients[2]};
    const husk_gemm_params params = params_of(c, NULL);
    const husk_ref_array a = bench_ref_array(&data->x), b = bench_ref_array(&data->w), dy = bench_ref_array(&data->dy),
                         saved = bench_ref_array(&data->saved[0]);
    const bool from_y = follows_from_y(c->act);
    for (int i = 0; i < 4; i++) {
        if (!made[i]->data)
            continue;
        const husk_ref_array after = bench_ref_array(made[i]);
        const husk_ref_gemm_backward op = {
            .params = &params,
            .alpha = (float)c->as.gemm.alpha,
            .beta = (float)c->as.gemm.beta,
            .a = &a,
            .b = &b,
            .x = from_y ? NULL : &saved,
            .y = from_y ? &saved : NULL,
            .dy = &dy,
            .wanted = (husk_ref_gemm_gradient)i,
            .before = &after,
            .error_factor = options->error_factor,
        };
        husk_ref_report report = {0};
        husk_ref_gemm_backward_check(&op, options->seed, &after, &report);
        bench_verdict_add(verdict, names[i], &report);
    }
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    if (is_backward(c)) {
        verify_backward(c, data, output, options, verdict);
        return;
    }
    husk_gemm_params params = params_of(c, NULL);
    husk_ref_array a = bench_ref_array(&data->x), b = bench_ref_array(&data->w), bias = bench_ref_array(&data->bias);
    husk_ref_array before = bench_ref_array(&data->y), after = bench_ref_array(&output->y);
    husk_ref_gemm op = {
        .params = &params,
        .alpha = (float)c->as.gemm.alpha,
        .beta = (float)c->as.gemm.beta,
        .a = &a,
        .b = &b,
        .bias = data->bias.data ? &bias : NULL,
        .c = &before,
        .error_factor = options->error_factor,
    };
    husk_ref_report report = {0};
    husk_ref_gemm_check(&op, options->seed, &after, &report);
    bench_verdict_add(verdict, "C", &report);
}

// Ones, primes, tile sizes and their neighbours, sums of length zero; every option now and then.
static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int sizes[] = {1,  2,  3,  7,  12, 13, 15, 16,  17,  31,  32, 33,
                                47, 48, 49, 63, 64, 65, 97, 127, 128, 129, 200};
    static const int depths[] = {0, 1, 2, 5, 15, 16, 17, 64, 100, 255, 256, 257, 300};
    static const char *const biases[] = {"", "", " bias=1", " bias=col"};
    static const char *const scales[] = {"", "", "", " beta=1", " alpha=0.5 beta=-0.25", " alpha=0 beta=0.5"};
    if (index >= 150)
        return false;
    const bool is_gradient = index >= 80 && index < 136, is_narrow = index >= 120;
    husk_ref_random draw = {.seed = 0x67656d6d + (uint64_t)index};
#define PICK(list) list[husk_ref_random_below(&draw, (int64_t)(sizeof list / sizeof *list))]
    int m = PICK(sizes), n = PICK(sizes), k = PICK(depths);
    int ta = (int)husk_ref_random_below(&draw, 2), tb = (int)husk_ref_random_below(&draw, 2);
    const char *bias = PICK(biases), *scale = PICK(scales);
    if (is_gradient && strstr(scale, "alpha=0 "))
        scale = "";
    snprintf(line, BENCH_CASE_TEXT, "gemm m=%d n=%d k=%d ta=%d tb=%d%s%s", m, n, k, ta, tb, bias, scale);
    bool is_batched = husk_ref_random_below(&draw, 5) == 0;
    if (is_batched)
        bench_append(line, BENCH_CASE_TEXT, " batch=%d", 2 + (int)husk_ref_random_below(&draw, 3));
    if (husk_ref_random_below(&draw, 5) == 0)
        bench_append(line, BENCH_CASE_TEXT, " lda=%d ldb=%d ldc=%d", (ta ? m : k) + 3, (tb ? k : n) + 1, n + 5);
    if (husk_ref_random_below(&draw, 3) == 0)
        bench_append(line, BENCH_CASE_TEXT, " act=%s", husk_act_name((husk_act)(1 + husk_ref_random_below(&draw, 8))));
    if (!is_batched && husk_ref_random_below(&draw, 3) == 0 && !is_gradient)
        bench_append(line, BENCH_CASE_TEXT, " packed=1");
    if (is_narrow)
        bench_append(line, BENCH_CASE_TEXT, " dtype=%s", index % 2 ? "bf16" : "f16");
    if (is_gradient)
        bench_append(line, BENCH_CASE_TEXT, " dir=bwd");
#undef PICK
    return true;
}

const bench_op bench_op_gemm = {
    .name = "gemm",
    .gradients = {[BENCH_BWD] = "gemm_backward"},
    .fields = fields,
    .common = BENCH_COMMON_ACT | BENCH_COMMON_DTYPE | BENCH_COMMON_PRECISION | BENCH_COMMON_PACKED | BENCH_COMMON_DIR,
    .normalise = normalise,
    .resolve = resolve,
    .flops = flops,
    .macs = macs,
    .bytes = bytes,
    .operands = operands,
    .narrows = true,
    .make_data = make_data,
    .make_output = make_output,
    .husk_prepare = husk_prepare,
    .husk_enqueue = husk_enqueue,
    .verify = verify,
    .generate = generate,
};
