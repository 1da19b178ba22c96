// SPDX-License-Identifier: MIT
#include "support/products.h"

#include <stdio.h>

#include "ref/freivalds.h"

const test_product test_products[TEST_PRODUCTS] = {
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

static test_tensor matrix(husk_dtype dtype, int64_t batch, bool transposed, int64_t rows, int64_t columns,
                          test_layout layout, uint64_t seed)
{
    const int64_t sizes[3] = {batch, transposed ? columns : rows, transposed ? rows : columns};
    return test_input_of(dtype, batch ? 3 : 2, sizes + !batch, layout, seed, 1.0f);
}

void test_fixture_make(test_fixture *f, const test_shape *s, husk_dtype dtype, husk_precision precision,
                       const char *variant, uint64_t seed)
{
    const int64_t sizes[3] = {s->batch, s->m, s->n};
    const husk_dtype c = s->c_is_wide ? HUSK_F32 : dtype;
    *f = (test_fixture){0};
    f->a = matrix(dtype, s->batch, s->transpose_a, s->m, s->k, s->a, seed);
    f->b = matrix(dtype, 0, s->transpose_b, s->k, s->n, s->b, seed + 1);
    f->bias = test_input_of(dtype, 1, &s->n, TEST_PACKED, seed + 2, 1.0f);
    f->c = s->beta != 0.0f ? test_inout_of(c, s->batch ? 3 : 2, sizes + !s->batch, s->c, seed + 3, 1.0f)
                           : test_output(c, s->batch ? 3 : 2, sizes + !s->batch, s->c);
    f->params =
        HUSK_GEMM_PARAMS(.transpose_a = s->transpose_a, .transpose_b = s->transpose_b, .activation = s->activation,
                         .activation_slope = 0.25f, .precision = precision, .variant = variant);
    f->op = (husk_ref_gemm){.params = &f->params,
                            .alpha = -0.75f,
                            .beta = s->beta,
                            .a = &f->a.array,
                            .b = &f->b.array,
                            .bias = &f->bias.array,
                            .c = &f->c.before};
}

void test_fixture_release(test_fixture *f)
{
    test_release(&f->a);
    test_release(&f->b);
    test_release(&f->bias);
    test_release(&f->c);
}

husk_plan *test_fixture_plan(test_fixture *f, const char *variant)
{
    husk_plan *plan = NULL;
    husk_error error = {0};
    const husk_status status = husk_gemm_plan_create(test_context(), &f->params, &f->a.tensor, &f->b.tensor,
                                                     &f->bias.tensor, &f->c.tensor, &plan, &error);
    return test_ran_error(status, &error, "gemm", variant) ? plan : NULL;
}

bool test_product_run(const test_shape *s, const test_product *p, const char *variant, uint64_t seed)
{
    test_fixture f;
    char text[200];
    test_fixture_make(&f, s, p->dtype, p->precision, variant, seed);
    husk_plan *plan = test_fixture_plan(&f, variant);
    if (plan) {
        husk_packed *packed = NULL;
        husk_tensor b = f.b.tensor;
        if (s->is_packed) {
            test_ok(husk_gemm_plan_pack(plan, test_queue(), &b, &packed));
            b = husk_packed_tensor(packed);
        }
        test_ok(husk_gemm_plan_run(plan, test_queue(), f.op.alpha, &f.a.tensor, &b, &f.bias.tensor, f.op.beta,
                                   &f.c.tensor));
        husk_packed_release(packed);
        f.op.error_factor = husk_plan_error_factor(plan);
        if (s->k <= 100)
            ck_assert_msg(f.op.error_factor > 0.0 && f.op.error_factor <= p->most, "%s claims %g", p->engine,
                          f.op.error_factor);
        husk_ref_report report = {0};
        test_fetch(&f.c);
        husk_ref_gemm_check(&f.op, seed, &f.c.array, &report);
        snprintf(text, sizeof text,
                 "%s %s precision %d batch=%lld m=%lld n=%lld k=%lld ta=%d tb=%d layouts=%d,%d,%d packed=%d", p->engine,
                 husk_dtype_name(p->dtype), (int)p->precision, (long long)s->batch, (long long)s->m, (long long)s->n,
                 (long long)s->k, s->transpose_a, s->transpose_b, s->a, s->b, s->c, s->is_packed);
        test_accept("gemm", variant, text, &report);
    }
    husk_plan_release(plan);
    test_fixture_release(&f);
    return plan != NULL;
}

test_shape test_draw_shape(husk_ref_random *random, int64_t limit)
{
    test_shape s = {0};
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
