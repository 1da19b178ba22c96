// SPDX-License-Identifier: MIT
// ctest: tiers=default,long timeout=600
// Multiplication by matrix engines against the reference: each soft engine (cl/lib/fragment_soft.clh), whose
// fragments, splitting and main loop are those of the real one, in each dtype and precision that it has; within the
// bound that the plan states. In the default tier one of them, for the sake of few programs.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ref/freivalds.h"
#include "ref/gemm.h"
#include "support/environment.h"
#include "support/support.h"

typedef struct product {
    const char *engine;
    husk_dtype dtype;
    husk_precision precision;
    double most; // of the error factor, at K = 100
} product;

// Three products of parts, one of one part, whole numbers: see husk/context.h. Sums here are rounded, not cut off.
#define BF16X3 (3 * 0x1p8 + 4 + 2 * 17.33)
#define BF16X1 (0x1p17 + 0x1p8 + 4 + 20.01)
#define TF32X3 (3 * 0x1p2 + 4 + 2 * 17.33)
#define TF32X1 (0x1p14 + 0x1p2 + 4 + 20.01)
#define WHOLE  (4 + 20.01)
#define HALVES(engine) {engine, HUSK_F16, HUSK_PRECISION_HIGHEST, WHOLE}, \
    {engine, HUSK_BF16, HUSK_PRECISION_HIGHEST, WHOLE}
#define BF16_PARTS(engine) {engine, HUSK_F32, HUSK_PRECISION_HIGH, BF16X3}, \
    {engine, HUSK_F32, HUSK_PRECISION_MEDIUM, BF16X1}

static const product products[] = {
    {"soft_nv_mma", HUSK_F32, HUSK_PRECISION_HIGH, TF32X3},
    {"soft_nv_mma", HUSK_F32, HUSK_PRECISION_MEDIUM, TF32X1},
    HALVES("soft_nv_mma"),
    {"soft_amd_mfma", HUSK_F32, HUSK_PRECISION_HIGHEST, WHOLE},
    HALVES("soft_amd_mfma"),
    BF16_PARTS("soft_amd_mfma"),
    HALVES("soft_amd_wmma"),
    BF16_PARTS("soft_amd_wmma"),
    HALVES("soft_amd_wmma_gfx12"),
    BF16_PARTS("soft_amd_wmma_gfx12"),
    HALVES("soft_intel_dpas"),
    BF16_PARTS("soft_intel_dpas"),
    HALVES("soft_intel_dpas_8"),
    BF16_PARTS("soft_intel_dpas_8"),
};
enum { PRODUCTS = sizeof products / sizeof *products, IN_DEFAULT = 1 };

typedef struct fixture {
    test_tensor a, b, bias, c;
    husk_gemm_params params;
    husk_ref_gemm op;
} fixture;

typedef struct shape {
    int64_t batch, m, n, k;
    bool transpose_a, transpose_b;
    test_layout a, b, c;
    float beta;
    husk_act activation;
    bool c_is_wide;
} shape;

static test_tensor matrix(husk_dtype dtype, int64_t batch, bool transposed, int64_t rows, int64_t columns,
                          test_layout layout, uint64_t seed)
{
    const int64_t sizes[3] = {batch, transposed ? columns : rows, transposed ? rows : columns};
    return test_input_of(dtype, batch ? 3 : 2, sizes + !batch, layout, seed, 1.0f);
}

static void make(fixture *f, const shape *s, husk_dtype dtype, husk_precision precision, const char *variant,
                 uint64_t seed)
{
    const int64_t sizes[3] = {s->batch, s->m, s->n};
    const husk_dtype c = s->c_is_wide ? HUSK_F32 : dtype;
    *f = (fixture){0};
    f->a = matrix(dtype, s->batch, s->transpose_a, s->m, s->k, s->a, seed);
    f->b = matrix(dtype, 0, s->transpose_b, s->k, s->n, s->b, seed + 1);
    f->bias = test_input_of(dtype, 1, &s->n, TEST_PACKED, seed + 2, 1.0f);
    f->c = s->beta != 0.0f ? test_inout_of(c, s->batch ? 3 : 2, sizes + !s->batch, s->c, seed + 3, 1.0f)
                           : test_output(c, s->batch ? 3 : 2, sizes + !s->batch, s->c);
    f->params = HUSK_GEMM_PARAMS(.transpose_a = s->transpose_a, .transpose_b = s->transpose_b,
                                 .activation = s->activation, .precision = precision, .variant = variant);
    f->op = (husk_ref_gemm){.params = &f->params, .alpha = -0.75f, .beta = s->beta, .a = &f->a.array,
                            .b = &f->b.array, .bias = &f->bias.array, .c = &f->c.before};
}

static void release(fixture *f)
{
    test_release(&f->a);
    test_release(&f->b);
    test_release(&f->bias);
    test_release(&f->c);
}

// A plan of its own each time: engines change between the tests.
static husk_plan *plan_of(fixture *f, const char *variant)
{
    husk_plan *plan = NULL;
    husk_error error = {0};
    const husk_status status = husk_gemm_plan_create(test_context(), &f->params, &f->a.tensor, &f->b.tensor,
                                                     &f->bias.tensor, &f->c.tensor, &plan, &error);
    return test_ran_error(status, &error, "gemm", variant) ? plan : NULL;
}

static bool run(const shape *s, const product *p, const char *variant, uint64_t seed)
{
    fixture f;
    char text[200];
    make(&f, s, p->dtype, p->precision, variant, seed);
    husk_plan *plan = plan_of(&f, variant);
    if (plan) {
        test_ok(husk_gemm_plan_run(plan, test_queue(), f.op.alpha, &f.a.tensor, &f.b.tensor, &f.bias.tensor, f.op.beta,
                                   &f.c.tensor));
        f.op.error_factor = husk_plan_error_factor(plan);
        if (s->k <= 100)
            ck_assert_msg(f.op.error_factor > 0.0 && f.op.error_factor <= p->most, "%s claims %g", p->engine,
                          f.op.error_factor);
        husk_ref_report report = {0};
        test_fetch(&f.c);
        husk_ref_gemm_check(&f.op, seed, &f.c.array, &report);
        snprintf(text, sizeof text, "%s %s precision %d batch=%lld m=%lld n=%lld k=%lld ta=%d tb=%d layouts=%d,%d,%d",
                 p->engine, husk_dtype_name(p->dtype), (int)p->precision, (long long)s->batch, (long long)s->m,
                 (long long)s->n, (long long)s->k, s->transpose_a, s->transpose_b, s->a, s->b, s->c);
        test_accept("gemm", variant, text, &report);
    }
    husk_plan_release(plan);
    release(&f);
    return plan != NULL;
}

static shape draw(husk_ref_random *random, int64_t limit)
{
    shape s = {0};
    s.m = test_pick_size(random, 32, limit);
    s.n = test_pick_size(random, 32, limit);
    s.k = test_pick_size(random, 16, 100);
    s.batch = test_one_in(random, 4) ? 2 : 0;
    s.transpose_a = test_one_in(random, 2);
    s.transpose_b = test_one_in(random, 2);
    s.a = test_pick_layout(random);
    s.b = test_pick_layout(random);
    s.c = test_pick_layout(random);
    s.beta = test_one_in(random, 3) ? 0.5f : 0.0f;
    s.activation = test_one_in(random, 3) ? HUSK_ACT_LEAKY_RELU : HUSK_ACT_NONE;
    return s;
}

START_TEST(every_product_is_within_its_bound)
{
    const product *p = &products[_i];
    husk_ref_random random = {.seed = 77 + (uint64_t)_i};
    static const char *const variants[] = {"matrix:32x32", "matrix:64x64", "matrix:128x128"};
    if (_i >= IN_DEFAULT && !test_is_long())
        return;
    test_setenv("HUSK_ENGINES", p->engine);
    int ran = 0;
    for (int i = 0; i < (test_is_long() ? 40 : 24); ++i) {
        const int tile = test_is_long() && i % 4 == 3 ? 1 + i / 4 % 2 : 0;
        shape s = draw(&random, tile ? 150 : 70);
        s.c_is_wide = p->dtype != HUSK_F32 && i % 3 == 0;
        // Sides by side along k, whole fours at a time: what engines copy straight to local memory.
        if (i % 4 == 0) {
            s.a = s.b = TEST_PACKED;
            s.transpose_a = false;
            s.transpose_b = true;
            s.k = (s.k + 3) / 4 * 4;
        }
        ran += run(&s, p, variants[tile], 500 + (uint64_t)i);
    }
    ck_assert_msg(ran > 10 || husk_context_traits(test_context())->work_group < 128, "%s refuses too much", p->engine);
    test_restore_environment();
}
END_TEST

// A K that several work-groups share, of which the last has less than a tile.
START_TEST(split_sums)
{
    test_setenv("HUSK_ENGINES", products[0].engine);
    for (int i = 0; i < 3; ++i)
        run(&(shape){.m = 20, .n = 33, .k = 64 * 8 * 3 + 7 * i, .transpose_b = i == 1, .beta = i == 2 ? 1.0f : 0.0f},
            &products[0], "matrix:32x32", 900 + (uint64_t)i);
    test_restore_environment();
}
END_TEST

// ---- special values, and the same bits ----

static float call(float a0, float b0, husk_precision precision)
{
    fixture f;
    make(&f, &(shape){.m = 3, .n = 5, .k = 9}, HUSK_F32, precision, "matrix:32x32", 7);
    *(float *)f.a.array.data = a0;
    *(float *)f.b.array.data = b0;
    test_input_update(&f.a);
    test_input_update(&f.b);
    husk_plan *plan = plan_of(&f, "matrix:32x32");
    float result = 0.0f;
    if (plan) {
        test_ok(husk_gemm_plan_run(plan, test_queue(), 1.0f, &f.a.tensor, &f.b.tensor, &f.bias.tensor, 0.0f,
                                   &f.c.tensor));
        test_fetch(&f.c);
        const float *c = f.c.array.data;
        result = c[0];
        for (int i = 5; i < 15; ++i)
            ck_assert(isfinite(c[i]) || i % 5 == 0);
    }
    husk_plan_release(plan);
    release(&f);
    return plan ? result : NAN;
}

START_TEST(special_values)
{
    test_setenv("HUSK_ENGINES", products[0].engine);
    ck_assert(isnan(call(NAN, 1.0f, HUSK_PRECISION_HIGH)));
    ck_assert(!isfinite(call(INFINITY, 1.0f, HUSK_PRECISION_HIGH)));
    if (husk_context_traits(test_context())->work_group >= 128) {
        // Rounded to a part, this would be infinite.
        const float largest = call(0x1.ffep127f, 1.0f, HUSK_PRECISION_HIGH);
        ck_assert_msg(largest == 0x1.ffep127f, "%a", (double)largest);
    }
    test_restore_environment();
}
END_TEST

START_TEST(ten_runs_give_the_same_bits)
{
    fixture f;
    test_setenv("HUSK_ENGINES", products[0].engine);
    make(&f, &(shape){.m = 70, .n = 40, .k = 1600}, HUSK_F32, HUSK_PRECISION_HIGH, "matrix:32x32", 3);
    husk_plan *plan = plan_of(&f, "matrix:32x32");
    float first[70 * 40];
    for (int i = 0; plan && i < 10; ++i) {
        test_restore(&f.c);
        test_ok(husk_gemm_plan_run(plan, test_queue(), 1.0f, &f.a.tensor, &f.b.tensor, &f.bias.tensor, 0.0f,
                                   &f.c.tensor));
        test_fetch(&f.c);
        if (i == 0)
            memcpy(first, f.c.array.data, sizeof first);
        ck_assert_int_eq(memcmp(first, f.c.array.data, sizeof first), 0);
    }
    husk_plan_release(plan);
    release(&f);
    test_restore_environment();
}
END_TEST

// ---- who is asked ----

static const char *chosen(husk_context *context, fixture *f, const char *variant, husk_status wanted)
{
    static char name[32];
    husk_plan *plan = NULL;
    husk_error error = {0};
    f->params.variant = variant;
    husk_tensor bias = f->bias.tensor;
    const husk_status status = husk_gemm_plan_create(context, &f->params, &f->a.tensor, &f->b.tensor, &bias,
                                                     &f->c.tensor, &plan, &error);
    ck_assert_msg(status == wanted, "%s", error.text);
    snprintf(name, sizeof name, "%s", status == HUSK_OK ? husk_plan_variant(plan) : "");
    husk_plan_release(plan);
    return name;
}

// Precision comes from the params, else from the context; without an engine everything is computed as highest.
START_TEST(precision_is_the_contexts_unless_a_call_says_otherwise)
{
    fixture f;
    husk_context *context = NULL;
    husk_error error = {0};
    husk_context_params params = HUSK_CONTEXT_PARAMS(.precision = HUSK_PRECISION_HIGH);
    if (husk_context_traits(test_context())->work_group < 128)
        return;
    test_setenv("HUSK_ENGINES", "soft_nv_mma");
    make(&f, &(shape){.m = 9, .n = 9, .k = 9}, HUSK_F32, HUSK_PRECISION_DEFAULT, NULL, 1);
    chosen(test_context(), &f, "matrix", HUSK_UNSUPPORTED); // which is highest there
    f.params.precision = HUSK_PRECISION_HIGH;
    ck_assert_str_eq(chosen(test_context(), &f, "matrix:32x32", HUSK_OK), "matrix");
    test_setenv("HUSK_ENGINES", "none");
    chosen(test_context(), &f, "matrix", HUSK_UNSUPPORTED);
    test_setenv("HUSK_ENGINES", "soft_nv_mma");
    if (test_is_long()) {
        test_ok_error(husk_context_create(NULL, &params, &context, &error), &error);
        f.params.precision = HUSK_PRECISION_DEFAULT;
        ck_assert_str_eq(chosen(context, &f, "matrix:32x32", HUSK_OK), "matrix");
        f.params.precision = HUSK_PRECISION_HIGHEST;
        chosen(context, &f, "matrix", HUSK_UNSUPPORTED);
        husk_context_release(context);
    }
    params.precision = (husk_precision)4;
    ck_assert_int_eq(husk_context_create(NULL, &params, &context, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "precision"));
    release(&f);
    test_restore_environment();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gemm_matrix");
    TCase *cases = tcase_create("gemm_matrix");
    tcase_set_timeout(cases, 600);
    tcase_add_loop_test(cases, every_product_is_within_its_bound, 0, PRODUCTS);
    tcase_add_test(cases, split_sums);
    tcase_add_test(cases, special_values);
    tcase_add_test(cases, ten_runs_give_the_same_bits);
    tcase_add_test(cases, precision_is_the_contexts_unless_a_call_says_otherwise);
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
