// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=150
// Sums of products of small whole numbers are whole numbers that f32 holds, in whatever order they are added: every
// variant of what only multiplies and adds is exact on them. A bound by the sum of absolute terms would let an error of
// one pass where there are a thousand terms. Winograd's transforms divide, and are not among them.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"
#include "support/values.h"

enum { MOST = 1 << 17 };
static float a[MOST], b[MOST], y[MOST];

static void draw(float *values, int64_t count, uint64_t seed)
{
    husk_ref_random random = {.seed = seed};
    ck_assert_int_le(count, MOST);
    for (int64_t i = 0; i < count; i++)
        values[i] = (float)(husk_ref_random_below(&random, 17) - 8);
}

// The sum that element i of the output is.
typedef int64_t (*exact_function)(const void *problem, int64_t i);

static void compare(const char *op, const char *variant, const void *problem, int64_t count, exact_function exact)
{
    test_count_executed(op, variant);
    for (int64_t i = 0; i < count; i++)
        ck_assert_msg(y[i] == (float)exact(problem, i), "%s %s: element %lld is %.9g, not %lld", op,
                      variant ? variant : "(chosen)", (long long)i, (double)y[i], (long long)exact(problem, i));
}

// ---- gemm ----

typedef struct gemm_problem {
    int64_t m, n, k;
} gemm_problem;
static const gemm_problem gemms[] = {{1, 70, 300}, {37, 1, 513}, {33, 65, 129}, {128, 96, 1024}};

static int64_t gemm_exact(const void *problem, int64_t i)
{
    const gemm_problem *p = problem;
    int64_t sum = 0;
    for (int64_t k = 0; k < p->k; k++)
        sum += (int64_t)a[i / p->n * p->k + k] * (int64_t)b[k * p->n + i % p->n];
    return sum;
}

START_TEST(products_of_matrices)
{
    const gemm_problem *p = &gemms[_i];
    draw(a, p->m * p->k, 1);
    draw(b, p->k * p->n, 2);
    test_tensor ta = test_input_values(2, (int64_t[]){p->m, p->k}, a);
    test_tensor tb = test_input_values(2, (int64_t[]){p->k, p->n}, b);
    const char *variant = NULL;
    for (size_t v = 0; v == 0 || (variant = husk_op_variant("gemm", v - 1)); v++) {
        const husk_gemm_params params = HUSK_GEMM_PARAMS(.variant = variant);
        test_tensor c = test_output(HUSK_F32, 2, (int64_t[]){p->m, p->n}, TEST_PACKED);
        if (test_ran(husk_gemm(test_queue(), &params, 1, &ta.tensor, &tb.tensor, NULL, 0, &c.tensor), "gemm",
                     variant)) {
            test_get_values(&c, y);
            compare("gemm", variant, p, p->m * p->n, gemm_exact);
        }
        test_release(&c);
    }
    test_release(&ta);
    test_release(&tb);
}
END_TEST

// ---- conv ----

typedef struct conv_problem {
    int64_t c, h, w, k, r, s, stride, pad, groups;
} conv_problem;
static const conv_problem convs[] = {{5, 9, 11, 7, 3, 3, 1, 1, 1},
                                     {16, 12, 12, 24, 1, 1, 1, 0, 1},
                                     {3, 23, 21, 16, 7, 7, 2, 3, 1},
                                     {12, 10, 10, 12, 3, 3, 1, 1, 12},
                                     {8, 11, 9, 16, 3, 3, 2, 1, 2}};

static int64_t out_of(int64_t size, int64_t window, const conv_problem *p)
{
    return (size + 2 * p->pad - window) / p->stride + 1;
}

static int64_t conv_exact(const void *problem, int64_t i)
{
    const conv_problem *p = problem;
    const int64_t oh = out_of(p->h, p->r, p), ow = out_of(p->w, p->s, p), each = p->c / p->groups;
    const int64_t k = i / (oh * ow), first = k / (p->k / p->groups) * each;
    int64_t sum = 0;
    for (int64_t c = 0; c < each; c++)
        for (int64_t r = 0; r < p->r; r++)
            for (int64_t s = 0; s < p->s; s++) {
                const int64_t row = i / ow % oh * p->stride - p->pad + r, column = i % ow * p->stride - p->pad + s;
                if (row >= 0 && row < p->h && column >= 0 && column < p->w)
                    sum += (int64_t)a[((first + c) * p->h + row) * p->w + column] *
                           (int64_t)b[((k * each + c) * p->r + r) * p->s + s];
            }
    return sum;
}

static bool is_exact(const char *variant)
{
    return !variant || !strstr(variant, "winograd");
}

START_TEST(convolutions)
{
    const conv_problem *p = &convs[_i];
    const int64_t oh = out_of(p->h, p->r, p), ow = out_of(p->w, p->s, p);
    draw(a, p->c * p->h * p->w, 3);
    draw(b, p->k * p->c / p->groups * p->r * p->s, 4);
    test_tensor x = test_input_values(4, (int64_t[]){1, p->c, p->h, p->w}, a);
    test_tensor w = test_input_values(4, (int64_t[]){p->k, p->c / p->groups, p->r, p->s}, b);
    const char *variant;
    for (size_t v = 0; (variant = husk_op_variant("conv", v)); v++) {
        husk_conv_params params = HUSK_CONV_PARAMS(.variant = variant);
        test_tensor out = test_output(HUSK_F32, 4, (int64_t[]){1, p->k, oh, ow}, TEST_PACKED);
        for (int d = 0; d < 2; d++) {
            params.stride[d] = p->stride;
            params.pad[d] = p->pad;
        }
        params.groups = p->groups;
        if (is_exact(variant) &&
            test_ran(husk_conv(test_queue(), &params, &x.tensor, &w.tensor, NULL, &out.tensor), "conv", variant)) {
            test_get_values(&out, y);
            compare("conv", variant, p, p->k * oh * ow, conv_exact);
        }
        test_release(&out);
    }
    test_release(&x);
    test_release(&w);
}
END_TEST

// ---- reduce ----

START_TEST(sums)
{
    enum { ROWS = 3 };
    static const int64_t lengths[] = {1, 17, 1000, 30001};
    const int64_t n = lengths[_i];
    draw(a, ROWS * n, 5);
    test_tensor x = test_input_values(2, (int64_t[]){ROWS, n}, a);
    const char *variant = NULL;
    for (size_t v = 0; v == 0 || (variant = husk_op_variant("reduce", v - 1)); v++) {
        const husk_reduce_params params =
            HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_SUM, .axis_count = 1, .axes = {-1}, .variant = variant);
        test_tensor out = test_output(HUSK_F32, 2, (int64_t[]){ROWS, 1}, TEST_PACKED);
        if (test_ran(husk_reduce(test_queue(), &params, &x.tensor, &out.tensor), "reduce", variant)) {
            test_get_values(&out, y);
            test_count_executed("reduce", variant);
            for (int64_t row = 0; row < ROWS; row++) {
                int64_t sum = 0;
                for (int64_t i = 0; i < n; i++)
                    sum += (int64_t)a[row * n + i];
                ck_assert_msg(y[row] == (float)sum, "reduce %s: %.9g, not %lld", variant ? variant : "(chosen)",
                              (double)y[row], (long long)sum);
            }
        }
        test_release(&out);
    }
    test_release(&x);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whole_numbers");
    TCase *tests = tcase_create("whole_numbers");
    tcase_add_loop_test(tests, products_of_matrices, 0, (int)(sizeof gemms / sizeof *gemms));
    tcase_add_loop_test(tests, convolutions, 0, (int)(sizeof convs / sizeof *convs));
    tcase_add_loop_test(tests, sums, 0, 4);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
