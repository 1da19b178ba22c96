// SPDX-License-Identifier: MIT
#include "support/byte_products.h"

#include <math.h>
#include <stdio.h>

#include "ref/quantized/gemm.h"
#include "support/support.h"

static test_tensor make_bytes(husk_dtype dtype, int64_t batch, int64_t rows, int64_t columns, test_layout layout,
                              bool is_extreme, uint64_t seed)
{
    const int64_t shape[3] = {batch, rows, columns};
    const int32_t rank = batch ? 3 : 2;
    test_tensor made = test_input_of(dtype, rank, shape + !batch, layout, seed, 1.0f);
    husk_ref_random random = {.seed = seed};
    int64_t index[HUSK_MAX_RANK] = {0};
    if (husk_ref_array_count(&made.array) == 0)
        return made;
    do {
        const int64_t number =
            is_extreme ? 255 * husk_ref_random_below(&random, 2) : husk_ref_random_below(&random, 256);
        husk_ref_store(&made.array, husk_ref_offset(&made.array, index),
                       (double)(number - (dtype == HUSK_I8 ? 128 : 0)));
    } while (husk_ref_index_next(rank, shape + !batch, index));
    test_input_update(&made);
    return made;
}

// Of the size that makes sums of k products numbers around one.
static test_tensor make_scales(int64_t count, int64_t k, uint64_t seed)
{
    test_tensor made = test_input(1, &count, TEST_PACKED, seed, 1.0f);
    for (int64_t i = 0; i < count; i++)
        husk_ref_store(&made.array, i, (1.5 + husk_ref_load(&made.array, i)) / (5000.0 * sqrt((double)k + 1)));
    test_input_update(&made);
    return made;
}

// The plan that a call with packed weights finds.
static husk_status call_packed(const husk_ref_quantized_gemm *op, const husk_tensor *a, const husk_tensor *weights,
                               const husk_tensor *scale, const husk_tensor *bias, const husk_tensor *c)
{
    husk_quantized_gemm_params params = *op->params;
    params.variant = NULL;
    return husk_quantized_gemm(test_queue(), &params, a, op->a_quantization, weights, scale, bias, c,
                               op->c_quantization);
}

static void check(const husk_ref_quantized_gemm *op, const test_byte_shape *s, test_tensor *c, const char *variant,
                  uint64_t seed)
{
    char text[250];
    husk_ref_report report = {0};
    const husk_ref_function function = husk_ref_quantized_gemm_function(op);
    snprintf(text, sizeof text, "%s to %s batch=%lld m=%lld n=%lld k=%lld layout=%d,%d,%d packed=%d extreme=%d zero=%d",
             husk_dtype_name(s->a_dtype), husk_dtype_name(s->c_dtype), (long long)s->batch, (long long)s->m,
             (long long)s->n, (long long)s->k, s->a, s->b, s->c, s->is_packed, s->is_extreme, (int)s->zero);
    test_fetch(c);
    husk_ref_check(&function, seed, &c->array, &report);
    test_accept("quantized_gemm", variant, text, &report);
}

bool test_byte_product_run(const test_byte_shape *s, const char *variant, uint64_t seed)
{
    const int64_t c_shape[3] = {s->batch, s->m, s->n};
    const bool is_sums = s->c_dtype == HUSK_I32, is_quantized = s->c_dtype == HUSK_I8 || s->c_dtype == HUSK_U8;
    const husk_quantization a_quantization = {0.75f, s->zero};
    const husk_quantization c_quantization = {0.03f, s->c_dtype == HUSK_I8 ? 11 : 120}; // not all is cut off at 0
    test_tensor a =
        make_bytes(s->a_dtype, s->batch && s->shares_a ? 1 : s->batch, s->m, s->k, s->a, s->is_extreme, seed);
    test_tensor b =
        make_bytes(HUSK_I8, s->batch && s->shares_b ? 1 : s->batch, s->k, s->n, s->b, s->is_extreme, seed + 1);
    test_tensor c = test_output(s->c_dtype, s->batch ? 3 : 2, c_shape + !s->batch, s->c);
    test_tensor scale = make_scales(s->has_one_scale ? 1 : s->n, s->k, seed + 2);
    test_tensor bias = test_input(1, &s->n, TEST_PACKED, seed + 3, 1.0f);
    const bool has_bias = s->has_bias && !is_sums;
    const husk_quantized_gemm_params params =
        HUSK_QUANTIZED_GEMM_PARAMS(.variant = variant, .activation = is_sums ? HUSK_ACT_NONE : s->activation,
                                   .activation_slope = 0.25f);
    const husk_tensor *of_scale = is_sums ? NULL : &scale.tensor, *of_bias = has_bias ? &bias.tensor : NULL;
    const husk_quantization *of_c = is_quantized ? &c_quantization : NULL;
    husk_plan *plan = NULL;
    husk_error error = {0};
    const husk_status status = husk_quantized_gemm_plan_create(test_context(), &params, &a.tensor, &b.tensor, of_scale,
                                                               of_bias, &c.tensor, &plan, &error);
    const bool runs = test_ran_error(status, &error, "quantized_gemm", variant);
    if (runs) {
        husk_packed *packed = NULL;
        husk_tensor weights = b.tensor;
        if (s->is_packed) {
            test_ok(husk_quantized_gemm_plan_pack(plan, test_queue(), &b.tensor, &packed));
            weights = husk_packed_tensor(packed);
        }
        test_ok(husk_quantized_gemm_plan_run(plan, test_queue(), &a.tensor, &a_quantization, &weights, of_scale,
                                             of_bias, &c.tensor, of_c));
        ck_assert(husk_plan_error_factor(plan) == 0.0);
        const husk_ref_quantized_gemm op = {.params = &params,
                                            .a = &a.array,
                                            .b = &b.array,
                                            .c = &c.array,
                                            .b_scale = is_sums ? NULL : &scale.array,
                                            .bias = has_bias ? &bias.array : NULL,
                                            .a_quantization = &a_quantization,
                                            .c_quantization = of_c};
        check(&op, s, &c, variant, seed);
        if (packed) {
            test_restore(&c);
            test_ok(call_packed(&op, &a.tensor, &weights, of_scale, of_bias, &c.tensor));
            check(&op, s, &c, variant, seed);
        }
        husk_packed_release(packed);
    }
    husk_plan_release(plan);
    test_release(&a);
    test_release(&b);
    test_release(&c);
    test_release(&scale);
    test_release(&bias);
    return runs;
}

test_byte_shape test_draw_byte_shape(husk_ref_random *random, husk_dtype a_dtype, int64_t limit, int64_t most,
                                     int round)
{
    static const husk_dtype outputs[] = {HUSK_I32, HUSK_F32, HUSK_I8, HUSK_U8};
    test_byte_shape s = {.a_dtype = a_dtype, .c_dtype = outputs[round % 4]};
    s.m = test_pick_size(random, 32, limit);
    s.n = test_pick_size(random, 32, limit);
    s.k = test_pick_size(random, 64, most);
    if (s.k == 1 && (s.m == 1 || s.n == 1)) // one number of A, or of B, may make all sums 0
        s.k = 2;
    s.batch = test_one_in(random, 4) ? 2 : 0;
    s.shares_a = test_one_in(random, 3);
    s.shares_b = test_one_in(random, 2);
    s.a = test_pick_layout(random);
    s.b = test_pick_layout(random);
    s.c = test_pick_layout(random);
    s.has_bias = test_one_in(random, 2);
    s.has_one_scale = test_one_in(random, 3);
    s.is_extreme = test_one_in(random, 4);
    s.zero = (int32_t)husk_ref_random_below(random, 256) - (a_dtype == HUSK_I8 ? 128 : 0);
    s.activation = test_one_in(random, 3) ? HUSK_ACT_LEAKY_RELU : HUSK_ACT_NONE;
    return s;
}
