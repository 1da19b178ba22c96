// SPDX-License-Identifier: MIT
// Plans of gemm, packed weights, and calls that must be refused without enqueuing anything.
#include <math.h>
#include <string.h>

#include "ref/freivalds.h"
#include "ref/gemm/gemm.h"
#include "support/support.h"

TCase *test_gemm_calls(void);

enum { M = 21, N = 45, K = 300 };

// A plain multiplication C = A B^T + bias that every test here changes a little.
typedef struct operands {
    test_tensor a, b, bias, c;
} operands;

static const int64_t a_shape[] = {M, K}, b_shape[] = {N, K}, c_shape[] = {M, N}, bias_shape[] = {N};
static husk_gemm_params transposed;

static operands make_operands(void)
{
    transposed = HUSK_GEMM_PARAMS(.transpose_b = 1);
    return (operands){test_input(2, a_shape, TEST_PACKED, 1, 1.0f), test_input(2, b_shape, TEST_PADDED, 2, 1.0f),
                      test_input(1, bias_shape, TEST_PACKED, 3, 1.0f), test_output(HUSK_F32, 2, c_shape, TEST_PADDED)};
}

static void release_operands(operands *o)
{
    test_release(&o->a);
    test_release(&o->b);
    test_release(&o->bias);
    test_release(&o->c);
}

static void verify(operands *o, const husk_gemm_params *params, float alpha, const char *what)
{
    const husk_ref_gemm op = {.params = params,
                              .alpha = alpha,
                              .a = &o->a.array,
                              .b = &o->b.array,
                              .bias = &o->bias.array,
                              .c = &o->c.before};
    husk_ref_report report = {0};
    test_fetch(&o->c);
    husk_ref_gemm_check(&op, 5, &o->c.array, &report);
    test_accept("gemm", params->variant, what, &report);
    test_restore(&o->c);
}

static husk_plan *make_plan(const operands *o, const husk_gemm_params *params)
{
    husk_error error = {0};
    husk_plan *plan = NULL;
    test_ok_error(husk_gemm_plan_create(test_context(), params, &o->a.tensor, &o->b.tensor, &o->bias.tensor,
                                        &o->c.tensor, &plan, &error),
                  &error);
    return plan;
}

START_TEST(test_plan)
{
    operands o = make_operands();
    husk_plan *plan = make_plan(&o, &transposed);
    ck_assert_str_ne(husk_plan_variant(plan), "");
    ck_assert(husk_plan_executed_flops(plan) == 2.0 * M * N * K);
    for (int round = 0; round < 3; ++round) {
        const float alpha = (float)round - 0.5f;
        test_ok(
            husk_gemm_plan_run(plan, test_queue(), alpha, &o.a.tensor, &o.b.tensor, &o.bias.tensor, 0.0f, &o.c.tensor));
        verify(&o, &transposed, alpha, "plan");
    }
    husk_plan_release(plan);
    release_operands(&o);
}
END_TEST

static const char *const packing_variants[] = {"packed:12x2v", "packed:16x1v", "packed:6x2v", "packed:8x3v",
                                               "tiled:32x32"};

// Packed once; used by the plan, by an immediate call, by a plan made for packed weights and by one of another m.
START_TEST(test_packed_weights)
{
    if (test_lacks_panels(packing_variants[_i]))
        return;
    operands o = make_operands();
    husk_gemm_params params = HUSK_GEMM_PARAMS(.transpose_b = 1, .variant = packing_variants[_i]);
    husk_plan *plan = make_plan(&o, &params), *again = NULL;
    husk_packed *packed = NULL;
    husk_error error = {0};
    test_ok(husk_gemm_plan_pack(plan, test_queue(), &o.b.tensor, &packed));
    ck_assert(husk_packed_size(packed) >= sizeof(float) * N * K);
    const husk_tensor weights = husk_packed_tensor(packed);
    ck_assert(weights.shape[0] == N && weights.shape[1] == K);

    test_ok(husk_gemm_plan_run(plan, test_queue(), 1.0f, &o.a.tensor, &weights, &o.bias.tensor, 0.0f, &o.c.tensor));
    verify(&o, &params, 1.0f, "packed, in its plan");
    test_ok(husk_gemm(test_queue(), &transposed, 1.0f, &o.a.tensor, &weights, &o.bias.tensor, 0.0f, &o.c.tensor));
    verify(&o, &params, 1.0f, "packed, immediate");

    test_ok_error(husk_gemm_plan_create(test_context(), &transposed, &o.a.tensor, &weights, &o.bias.tensor, &o.c.tensor,
                                        &again, &error),
                  &error);
    test_ok(husk_gemm_plan_run(again, test_queue(), 1.0f, &o.a.tensor, &weights, &o.bias.tensor, 0.0f, &o.c.tensor));
    verify(&o, &params, 1.0f, "packed, in a plan for packed weights");
    husk_tensor two_rows = o.a.tensor, two_results = o.c.tensor;
    two_rows.shape[0] = two_results.shape[0] = 2;
    test_ok(husk_gemm(test_queue(), &transposed, 1.0f, &two_rows, &weights, &o.bias.tensor, 0.0f, &two_results));

    husk_packed_release(packed);
    husk_plan_release(again);
    husk_plan_release(plan);
    release_operands(&o);
}
END_TEST

// More weights than the copying kernel has work-items.
START_TEST(test_many_packed_rows)
{
    husk_gemm_params params = HUSK_GEMM_PARAMS(.variant = "tiled:32x32");
    const int64_t a[] = {1, 1403}, b[] = {1403, 1500}, c[] = {1, 1500}, bias[] = {1500};
    operands o = {test_input(2, a, TEST_PACKED, 1, 1.0f), test_input(2, b, TEST_REVERSED, 2, 1.0f),
                  test_input(1, bias, TEST_PACKED, 3, 1.0f), test_output(HUSK_F32, 2, c, TEST_PACKED)};
    husk_plan *plan = make_plan(&o, &params);
    husk_packed *packed = NULL;
    test_ok(husk_gemm_plan_pack(plan, test_queue(), &o.b.tensor, &packed));
    const husk_tensor weights = husk_packed_tensor(packed);
    test_ok(husk_gemm_plan_run(plan, test_queue(), 1.0f, &o.a.tensor, &weights, &o.bias.tensor, 0.0f, &o.c.tensor));
    verify(&o, &params, 1.0f, "many packed rows");
    husk_packed_release(packed);
    husk_plan_release(plan);
    release_operands(&o);
}
END_TEST

// A packed B that a plain B of the same values would not match: C by columns, a smooth activation, a batch of A.
START_TEST(test_packed_elsewhere)
{
    const char *variant = test_lacks_panels("packed") ? "tiled:32x32" : "packed";
    husk_gemm_params params = HUSK_GEMM_PARAMS(.activation = HUSK_ACT_TANH, .variant = variant);
    const int64_t a[] = {3, M, K}, b[] = {K, N}, c[] = {3, M, N};
    operands o = {test_input(3, a, TEST_REVERSED, 1, 0.1f), test_input(2, b, TEST_PACKED, 2, 0.1f),
                  test_input(1, bias_shape, TEST_SPREAD, 3, 1.0f), test_output(HUSK_F32, 3, c, TEST_REVERSED)};
    husk_plan *plan = make_plan(&o, &params);
    husk_packed *packed = NULL;
    test_ok(husk_gemm_plan_pack(plan, test_queue(), &o.b.tensor, &packed));
    const husk_tensor weights = husk_packed_tensor(packed);
    test_ok(husk_gemm_plan_run(plan, test_queue(), 1.0f, &o.a.tensor, &weights, &o.bias.tensor, 0.0f, &o.c.tensor));
    verify(&o, &params, 1.0f, "packed, C by columns");
    husk_packed_release(packed);
    husk_plan_release(plan);
    release_operands(&o);
}
END_TEST

// Every plan packs, whichever variant was chosen: few rows, one column, and weights that serve other m as well.
START_TEST(test_packed_by_any_plan)
{
    static const int64_t sizes[][3] = {{1, 70, 50}, {8, 33, 300}, {40, 1, 64}, {16, 16, 16}, {90, 5, 33}, {30, 20, 0}};
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; ++i) {
        const int64_t *size = sizes[i / 2], m = size[0], n = size[1], k = size[2];
        const int64_t a[] = {m, k}, b[] = {i % 2 ? n : k, i % 2 ? k : n}, c[] = {m, n}, more[] = {m + 20, k};
        husk_gemm_params params = HUSK_GEMM_PARAMS(.transpose_b = i % 2);
        operands o = {test_input(2, a, TEST_PACKED, 1, 1.0f), test_input(2, b, TEST_SPREAD, 2, 1.0f),
                      test_input(1, &n, TEST_PACKED, 3, 1.0f), test_output(HUSK_F32, 2, c, TEST_REVERSED)};
        husk_plan *plan = make_plan(&o, &params);
        husk_packed *packed = NULL;
        test_ok(husk_gemm_plan_pack(plan, test_queue(), &o.b.tensor, &packed));
        const husk_tensor weights = husk_packed_tensor(packed);
        test_ok(husk_gemm_plan_run(plan, test_queue(), 1.0f, &o.a.tensor, &weights, &o.bias.tensor, 0.0f, &o.c.tensor));
        verify(&o, &params, 1.0f, "packed by the plan that was chosen");
        test_release(&o.a);
        test_release(&o.c);
        o.a = test_input(2, more, TEST_PACKED, 4, 1.0f);
        o.c = test_output(HUSK_F32, 2, (const int64_t[]){m + 20, n}, TEST_PADDED);
        test_ok(husk_gemm(test_queue(), &params, 1.0f, &o.a.tensor, &weights, &o.bias.tensor, 0.0f, &o.c.tensor));
        verify(&o, &params, 1.0f, "the same weights for more rows");
        husk_packed_release(packed);
        husk_plan_release(plan);
        release_operands(&o);
    }
}
END_TEST

static operands make_narrow(husk_dtype dtype)
{
    return (operands){test_input_of(dtype, 2, a_shape, TEST_PACKED, 1, 1.0f),
                      test_input_of(dtype, 2, b_shape, TEST_PADDED, 2, 1.0f),
                      test_input(1, bias_shape, TEST_PACKED, 3, 1.0f), test_output(dtype, 2, c_shape, TEST_PADDED)};
}

// Weights that are packed stay of their dtype; plans and weights of different ones do not fit, nor other tensors.
START_TEST(test_packed_dtypes)
{
    if (!test_tier_is("dtypes") && _i != 0 && _i != 4) // few programs in the default tier
        return;
    if (test_lacks_panels(packing_variants[_i]))
        return;
    static const husk_dtype dtypes[] = {HUSK_F16, HUSK_BF16, HUSK_F32};
    enum { COUNT = 3 };
    husk_gemm_params params = HUSK_GEMM_PARAMS(.transpose_b = 1, .variant = packing_variants[_i]);
    operands o[COUNT];
    husk_plan *plans[COUNT];
    husk_packed *packed[COUNT];
    for (int i = 0; i < 3; ++i) {
        o[i] = make_narrow(dtypes[i]);
        plans[i] = make_plan(&o[i], &params);
        test_ok(husk_gemm_plan_pack(plans[i], test_queue(), &o[i].b.tensor, &packed[i]));
        const husk_tensor weights = husk_packed_tensor(packed[i]);
        test_ok(husk_gemm_plan_run(plans[i], test_queue(), 1.0f, &o[i].a.tensor, &weights, &o[i].bias.tensor, 0.0f,
                                   &o[i].c.tensor));
        verify(&o[i], &params, 1.0f, husk_dtype_name(dtypes[i]));
        // A's own dtype does not matter.
        test_ok(
            husk_gemm(test_queue(), &params, 1.0f, &o[i].a.tensor, &weights, &o[i].bias.tensor, 0.0f, &o[i].c.tensor));
        verify(&o[i], &params, 1.0f, husk_dtype_name(dtypes[i]));
    }
    ck_assert(husk_packed_size(packed[0]) < husk_packed_size(packed[2]));
    test_ok(husk_queue_finish(test_silent_queue()));
    for (int i = 0; i < 3; ++i) {
        const int other = (i + 1) % 3;
        const husk_tensor weights = husk_packed_tensor(packed[other]);
        test_refused(husk_gemm_plan_run(plans[i], test_silent_queue(), 1.0f, &o[i].a.tensor, &weights,
                                        &o[i].bias.tensor, 0.0f, &o[i].c.tensor),
                     HUSK_INVALID_ARGUMENT, "b");
        test_refused(husk_gemm_plan_run(plans[i], test_silent_queue(), 1.0f, &o[other].a.tensor, &o[i].b.tensor,
                                        &o[i].bias.tensor, 0.0f, &o[i].c.tensor),
                     HUSK_INVALID_ARGUMENT, "a");
        test_refused(husk_gemm_plan_run(plans[i], test_silent_queue(), 1.0f, &o[i].a.tensor, &o[other].b.tensor,
                                        &o[i].bias.tensor, 0.0f, &o[i].c.tensor),
                     HUSK_INVALID_ARGUMENT, "b");
        test_refused(husk_gemm_plan_run(plans[i], test_silent_queue(), 1.0f, &o[i].a.tensor, &o[i].b.tensor,
                                        &o[i].bias.tensor, 0.0f, &o[other].c.tensor),
                     HUSK_INVALID_ARGUMENT, "c");
    }
    // f32 weights beside narrower activations: as they are, but not packed.
    husk_plan *mixed = NULL;
    husk_packed *none = NULL;
    husk_error error = {0};
    const husk_tensor wide = husk_packed_tensor(packed[2]);
    test_refused(husk_gemm(test_silent_queue(), &params, 1.0f, &o[0].a.tensor, &wide, NULL, 0.0f, &o[0].c.tensor),
                 HUSK_INVALID_ARGUMENT, "b");
    test_ok_error(husk_gemm_plan_create(test_context(), &params, &o[0].a.tensor, &o[2].b.tensor, NULL, &o[0].c.tensor,
                                        &mixed, &error),
                  &error);
    test_refused(husk_gemm_plan_pack(mixed, test_silent_queue(), &o[2].b.tensor, &none), HUSK_UNSUPPORTED, "b");
    husk_plan_release(mixed);
    for (int i = 0; i < 3; ++i) {
        husk_packed_release(packed[i]);
        husk_plan_release(plans[i]);
        release_operands(&o[i]);
    }
}
END_TEST

// Past f16's range a number is infinite.
START_TEST(test_overflow)
{
    const int64_t shape[] = {1, 4}, one[] = {1, 1};
    test_tensor a = test_input_of(HUSK_F16, 2, shape, TEST_PACKED, 1, 1.0f);
    test_tensor c = test_output(HUSK_F16, 2, one, TEST_PACKED);
    const float most[] = {65504.0f, 16.0f, 15.0f, -65504.0f};
    const char *variant = test_lacks_panels("packed") ? "tiled:32x32" : "packed:12x2v";
    for (int i = 0; i < 4; ++i)
        husk_ref_store(&a.array, i, (double)most[i]);
    test_input_update(&a);
    husk_gemm_params params = HUSK_GEMM_PARAMS(.transpose_b = 1, .variant = variant);
    husk_tensor b = a.tensor;
    test_ok(husk_gemm(test_queue(), &params, 1.0f, &a.tensor, &b, NULL, 0.0f, &c.tensor));
    test_fetch(&c);
    ck_assert(isinf(husk_ref_load(&c.array, 0)));
    test_restore(&c); // the sum is f32: what fits when it is scaled is right
    test_ok(husk_gemm(test_queue(), &params, 0x1p-20f, &a.tensor, &b, NULL, 0.0f, &c.tensor));
    test_fetch(&c);
    ck_assert(fabs(husk_ref_load(&c.array, 0) - 2.0 * 65504.0 * 65504.0 * 0x1p-20) < 4.0);
    test_release(&a);
    test_release(&c);
}
END_TEST

START_TEST(test_packed_clblast)
{
    operands o = make_operands();
    husk_gemm_params params = HUSK_GEMM_PARAMS(.transpose_b = 1, .variant = "clblast");
    husk_plan *plan = NULL;
    husk_packed *packed = NULL;
    if (husk_gemm_plan_create(test_context(), &params, &o.a.tensor, &o.b.tensor, &o.bias.tensor, &o.c.tensor, &plan,
                              NULL) == HUSK_OK) {
        test_ok(husk_gemm_plan_pack(plan, test_queue(), &o.b.tensor, &packed));
        const husk_tensor weights = husk_packed_tensor(packed);
        test_ok(husk_gemm_plan_run(plan, test_queue(), 1.0f, &o.a.tensor, &weights, &o.bias.tensor, 0.0f, &o.c.tensor));
        verify(&o, &params, 1.0f, "packed, clblast");
    }
    husk_packed_release(packed);
    husk_plan_release(plan);
    release_operands(&o);
}
END_TEST

// Two rows 2^31 elements apart against the same rows side by side: the sums are the same to the bit. Eight GiB
// of memory, of which two pages are touched; where the device has no such buffer there is nothing to prove.
START_TEST(test_far_apart)
{
    enum { ROWS = 2, STEPS = 40, COLUMNS = 30 };
    static const char *const variants[] = {NULL, "packed", "skinny", "tiled:32x32"};
    const int64_t far = INT64_C(1) << 31, near_shape[] = {ROWS, STEPS}, b_sizes[] = {STEPS, COLUMNS};
    const int64_t c_sizes[] = {ROWS, COLUMNS};
    const uint64_t bytes = (uint64_t)(far + STEPS) * sizeof(float);
    husk_buffer *buffer = NULL;
    if (!test_is_long() || husk_context_traits(test_context())->max_allocation < bytes ||
        husk_buffer_create(test_context(), bytes, &buffer, NULL) != HUSK_OK)
        return;
    test_tensor a = test_input(2, near_shape, TEST_PACKED, 1, 1.0f), b = test_input(2, b_sizes, TEST_PACKED, 2, 1.0f);
    husk_tensor spread = husk_tensor_make(buffer, HUSK_F32, 2, near_shape);
    spread.strides[0] = far;
    for (int row = 0; row < ROWS; ++row)
        test_ok(husk_buffer_write(test_queue(), buffer, (uint64_t)row * (uint64_t)far * sizeof(float),
                                  STEPS * sizeof(float), (float *)a.array.data + row * STEPS));
    for (size_t v = 0; v < sizeof variants / sizeof *variants; ++v) {
        test_tensor near_c = test_output(HUSK_F32, 2, c_sizes, TEST_PACKED);
        test_tensor far_c = test_output(HUSK_F32, 2, c_sizes, TEST_PACKED);
        const husk_gemm_params params = HUSK_GEMM_PARAMS(.variant = variants[v]);
        test_ok(husk_gemm(test_queue(), &params, 1.0f, &a.tensor, &b.tensor, NULL, 0.0f, &near_c.tensor));
        test_ok(husk_gemm(test_queue(), &params, 1.0f, &spread, &b.tensor, NULL, 0.0f, &far_c.tensor));
        test_fetch(&near_c);
        test_fetch(&far_c);
        ck_assert_mem_eq(near_c.array.data, far_c.array.data, ROWS * COLUMNS * sizeof(float));
        test_release(&near_c);
        test_release(&far_c);
    }
    husk_buffer_release(buffer);
    test_release(&a);
    test_release(&b);
}
END_TEST

START_TEST(test_prewarm)
{
    static const char *const ops[] = {"gemm"};
    husk_error error = {0};
    test_ok_error(husk_context_prewarm(test_context(), ops, 1, &error), &error);
}
END_TEST

// ---- what must be refused ----

typedef struct refusal {
    operands o;
    husk_gemm_params params;
    husk_tensor a, b, bias, c;
} refusal;

static refusal begin_refusal(void)
{
    refusal r = {.o = make_operands(), .params = HUSK_GEMM_PARAMS(.transpose_b = 1)};
    r.a = r.o.a.tensor;
    r.b = r.o.b.tensor;
    r.bias = r.o.bias.tensor;
    r.c = r.o.c.tensor;
    return r;
}

static void refuse(refusal *r, husk_status wanted, const char *argument)
{
    test_refused(husk_gemm(test_silent_queue(), &r->params, 1.0f, &r->a, &r->b, &r->bias, 0.0f, &r->c), wanted,
                 argument);
    test_untouched(&r->o.c);
    const refusal fresh = {.o = r->o, .params = HUSK_GEMM_PARAMS(.transpose_b = 1)};
    *r = fresh;
    r->a = r->o.a.tensor;
    r->b = r->o.b.tensor;
    r->bias = r->o.bias.tensor;
    r->c = r->o.c.tensor;
}

START_TEST(test_bad_shapes)
{
    refusal r = begin_refusal();
    r.a.rank = 1;
    refuse(&r, HUSK_INVALID_ARGUMENT, "a");
    r.b.rank = 4;
    r.b.shape[2] = r.b.shape[3] = 1;
    refuse(&r, HUSK_INVALID_ARGUMENT, "b");
    r.b.shape[1] = K - 1;
    refuse(&r, HUSK_INVALID_ARGUMENT, "b");
    r.params.transpose_b = 0;
    refuse(&r, HUSK_INVALID_ARGUMENT, "b");
    r.params.transpose_a = 1;
    refuse(&r, HUSK_INVALID_ARGUMENT, "b");
    r.c.shape[0] = M - 1;
    refuse(&r, HUSK_INVALID_ARGUMENT, "c");
    r.c.shape[1] = N - 1;
    refuse(&r, HUSK_INVALID_ARGUMENT, "c");
    r.bias.shape[0] = N - 1;
    refuse(&r, HUSK_INVALID_ARGUMENT, "bias");
    r.bias = husk_tensor_make(r.o.bias.tensor.buffer, HUSK_F32, 2, (const int64_t[]){M - 1, 1});
    refuse(&r, HUSK_INVALID_ARGUMENT, "bias");
    r.a.shape[0] = -1;
    refuse(&r, HUSK_INVALID_ARGUMENT, "a");
    r.a.strides[0] = -1;
    refuse(&r, HUSK_INVALID_ARGUMENT, "a");
    r.c.strides[0] = 0;
    refuse(&r, HUSK_INVALID_ARGUMENT, "c");
    r.c = husk_tensor_make(r.o.c.tensor.buffer, HUSK_F32, 3, (const int64_t[]){2, M, N});
    r.a = husk_tensor_make(r.o.a.tensor.buffer, HUSK_F32, 3, (const int64_t[]){3, M, K});
    refuse(&r, HUSK_INVALID_ARGUMENT, "a");
    r.c = husk_tensor_make(r.o.c.tensor.buffer, HUSK_F32, 3, (const int64_t[]){2, M, N});
    r.b = husk_tensor_make(r.o.b.tensor.buffer, HUSK_F32, 3, (const int64_t[]){3, N, K});
    refuse(&r, HUSK_INVALID_ARGUMENT, "b");
    release_operands(&r.o);
}
END_TEST

START_TEST(test_bad_memory)
{
    refusal r = begin_refusal();
    r.a.buffer = NULL;
    refuse(&r, HUSK_INVALID_ARGUMENT, "a");
    r.b.offset += 1000000;
    refuse(&r, HUSK_INVALID_ARGUMENT, "b");
    r.bias.offset = -1;
    refuse(&r, HUSK_INVALID_ARGUMENT, "bias");
    r.c.buffer = NULL;
    refuse(&r, HUSK_INVALID_ARGUMENT, "c");
    r.a.dtype = HUSK_F64;
    refuse(&r, HUSK_INVALID_ARGUMENT, "b");
    r.a.dtype = HUSK_I64;
    refuse(&r, HUSK_UNSUPPORTED, "a");
    r.b.dtype = HUSK_I32;
    refuse(&r, HUSK_UNSUPPORTED, "b");
    r.a.dtype = HUSK_F16;
    r.b.dtype = HUSK_BF16;
    refuse(&r, HUSK_INVALID_ARGUMENT, "b");
    r.b.dtype = HUSK_F16;
    r.c.dtype = HUSK_BF16;
    refuse(&r, HUSK_INVALID_ARGUMENT, "c");
    r.bias.dtype = HUSK_F16;
    refuse(&r, HUSK_INVALID_ARGUMENT, "bias");
    r.a.dtype = r.b.dtype = r.c.dtype = HUSK_BF16;
    r.bias.dtype = HUSK_F16;
    refuse(&r, HUSK_INVALID_ARGUMENT, "bias");
    r.a.dtype = r.b.dtype = HUSK_F16;
    r.params.variant = "clblast";
    if (test_has_variant("gemm", "clblast"))
        refuse(&r, HUSK_UNSUPPORTED, "clblast");
    else
        refuse(&r, HUSK_INVALID_ARGUMENT, "variant");
    r.bias.dtype = HUSK_I32;
    refuse(&r, HUSK_UNSUPPORTED, "bias");
    r.c.dtype = (husk_dtype)99;
    refuse(&r, HUSK_INVALID_ARGUMENT, "c");
    r.c.buffer = r.a.buffer;
    r.c.offset = r.a.offset;
    r.c.strides[0] = N;
    refuse(&r, HUSK_INVALID_ARGUMENT, "c");
    r.bias.buffer = r.c.buffer;
    r.bias.offset = r.c.offset;
    refuse(&r, HUSK_INVALID_ARGUMENT, "c");
    release_operands(&r.o);
}
END_TEST

START_TEST(test_bad_params)
{
    refusal r = begin_refusal();
    r.params.size = sizeof r.params + 8;
    refuse(&r, HUSK_INVALID_ARGUMENT, "params");
    r.params.activation = (husk_act)77;
    refuse(&r, HUSK_INVALID_ARGUMENT, "activation");
    r.params.precision = (husk_precision)5;
    refuse(&r, HUSK_INVALID_ARGUMENT, "precision");
    r.params.activation_slope = NAN;
    refuse(&r, HUSK_INVALID_ARGUMENT, "activation_slope");
    r.params.variant = "no_such_variant";
    refuse(&r, HUSK_INVALID_ARGUMENT, "variant");
    r.params.variant = "packed:no_such_configuration";
    refuse(&r, HUSK_INVALID_ARGUMENT, "variant");
    r.params.variant = "skinny"; // neither m nor n is small
    refuse(&r, HUSK_UNSUPPORTED, "skinny");
    test_refused(husk_gemm(test_silent_queue(), NULL, 1.0f, NULL, &r.b, NULL, 0.0f, &r.c), HUSK_INVALID_ARGUMENT, "a");
    test_refused(husk_gemm(test_silent_queue(), NULL, 1.0f, &r.a, NULL, NULL, 0.0f, &r.c), HUSK_INVALID_ARGUMENT, "b");
    test_refused(husk_gemm(test_silent_queue(), NULL, 1.0f, &r.a, &r.b, NULL, 0.0f, NULL), HUSK_INVALID_ARGUMENT, "c");
    ck_assert_int_eq(husk_gemm(NULL, NULL, 1.0f, &r.a, &r.b, NULL, 0.0f, &r.c), HUSK_INVALID_ARGUMENT);
    release_operands(&r.o);
}
END_TEST

static void refuse_run(husk_plan *plan, const husk_tensor *a, const husk_tensor *b, const husk_tensor *bias,
                       const husk_tensor *c, const char *argument)
{
    test_refused(husk_gemm_plan_run(plan, test_silent_queue(), 1.0f, a, b, bias, 0.0f, c), HUSK_INVALID_ARGUMENT,
                 argument);
}

START_TEST(test_bad_runs)
{
    refusal r = begin_refusal();
    husk_plan *plan = make_plan(&r.o, &transposed);
    refuse_run(NULL, &r.a, &r.b, &r.bias, &r.c, "plan");
    refuse_run(plan, NULL, &r.b, &r.bias, &r.c, "a");
    refuse_run(plan, &r.a, NULL, &r.bias, &r.c, "b");
    refuse_run(plan, &r.a, &r.b, NULL, &r.c, "bias");
    refuse_run(plan, &r.a, &r.b, &r.bias, NULL, "c");
    husk_tensor changed = r.a;
    changed.shape[0] = M - 1;
    refuse_run(plan, &changed, &r.b, &r.bias, &r.c, "a");
    changed = r.b;
    changed.strides[0] += 1;
    refuse_run(plan, &r.a, &changed, &r.bias, &r.c, "b");
    changed = r.c;
    changed.shape[1] = N - 1;
    refuse_run(plan, &r.a, &r.b, &r.bias, &changed, "c");
    husk_plan_release(plan);

    husk_error error = {0};
    test_refused_error(husk_gemm_plan_create(test_context(), NULL, &r.a, &r.b, NULL, &r.c, &plan, &error), &error,
                       HUSK_INVALID_ARGUMENT, "b");
    ck_assert_ptr_null(plan);
    test_refused_error(husk_gemm_plan_create(test_context(), &transposed, &r.a, &r.b, NULL, &r.c, NULL, &error), &error,
                       HUSK_INVALID_ARGUMENT, "plan");
    release_operands(&r.o);
}
END_TEST

START_TEST(test_bad_packed)
{
    if (test_lacks_panels("packed"))
        return;
    refusal r = begin_refusal();
    husk_gemm_params wide = HUSK_GEMM_PARAMS(.transpose_b = 1, .variant = "packed:12x2v");
    husk_gemm_params narrow = HUSK_GEMM_PARAMS(.transpose_b = 1, .variant = "packed:16x1v");
    husk_gemm_params tiled = HUSK_GEMM_PARAMS(.transpose_b = 1, .variant = "tiled:32x32");
    husk_plan *plan = make_plan(&r.o, &wide), *other = make_plan(&r.o, &narrow), *third = make_plan(&r.o, &tiled);
    husk_packed *packed = NULL, *none = NULL;
    test_ok(husk_gemm_plan_pack(plan, test_silent_queue(), &r.b, &packed));
    const husk_tensor weights = husk_packed_tensor(packed);
    test_ok(husk_queue_finish(test_silent_queue()));
    husk_queue_profile_clear(test_silent_queue());

    refuse_run(other, &r.a, &weights, &r.bias, &r.c, "b"); // another configuration
    refuse_run(third, &r.a, &weights, &r.bias, &r.c, "b"); // another variant
    refuse_run(plan, &weights, &r.b, &r.bias, &r.c, "a");
    r.params = narrow;
    r.b = weights;
    refuse(&r, HUSK_INVALID_ARGUMENT, "b");
    r.params.transpose_b = 0; // [n, k] read as [k, n]
    r.b = weights;
    refuse(&r, HUSK_INVALID_ARGUMENT, "b");
    r.a = weights;
    refuse(&r, HUSK_INVALID_ARGUMENT, "a");
    test_refused(husk_gemm_plan_pack(plan, test_silent_queue(), &weights, &none), HUSK_INVALID_ARGUMENT, "b");
    test_refused(husk_gemm_plan_pack(plan, test_silent_queue(), NULL, &none), HUSK_INVALID_ARGUMENT, "b");
    test_refused(husk_gemm_plan_pack(plan, test_silent_queue(), &r.a, &none), HUSK_INVALID_ARGUMENT, "b");
    test_refused(husk_gemm_plan_pack(plan, test_silent_queue(), &r.b, NULL), HUSK_INVALID_ARGUMENT, "packed");
    ck_assert_ptr_null(none);
    husk_error error = {0};
    husk_plan *batched = NULL;
    const husk_tensor pair = husk_tensor_make(NULL, HUSK_F32, 3, (const int64_t[]){2, M, K});
    husk_tensor weights_of_pair = husk_tensor_make(r.o.b.tensor.buffer, HUSK_F32, 3, (const int64_t[]){2, N, K});
    weights_of_pair.strides[0] = 0;
    const husk_tensor results = husk_tensor_make(NULL, HUSK_F32, 3, (const int64_t[]){2, M, N});
    test_ok_error(
        husk_gemm_plan_create(test_context(), &transposed, &pair, &weights_of_pair, NULL, &results, &batched, &error),
        &error);
    test_refused(husk_gemm_plan_pack(batched, test_silent_queue(), &weights_of_pair, &none), HUSK_UNSUPPORTED, "b");
    husk_plan_release(batched);
    husk_packed_release(packed);
    husk_plan_release(plan);
    husk_plan_release(other);
    husk_plan_release(third);
    release_operands(&r.o);
}
END_TEST

// ---- alpha of 0 ----

static void fill_with_nan(test_tensor *t)
{
    int64_t index[HUSK_MAX_RANK] = {0};
    do
        husk_ref_store(&t->array, husk_ref_offset(&t->array, index), (double)NAN);
    while (husk_ref_index_next(t->array.rank, t->array.shape, index));
    test_input_update(t);
}

// C = beta C + bias, rounded once or twice.
static void verify_without_product(const operands *o, test_tensor *c, float beta)
{
    test_fetch(c);
    for (int64_t i = 0; i < M * N; i++) {
        const int64_t index[] = {i / N, i % N};
        const double before = beta == 0 ? 0 : husk_ref_load(&c->before, husk_ref_offset(&c->before, index));
        const double right = (double)beta * before + husk_ref_load(&o->bias.array, i % N);
        const double is = husk_ref_load(&c->array, husk_ref_offset(&c->array, index));
        ck_assert_msg(fabs(is - right) <= 2 * HUSK_REF_UNIT * (fabs(beta * before) + fabs(right)),
                      "beta %g: %.9g, %.9g is right", (double)beta, is, right);
    }
    test_restore(c);
}

// A and B hold NaN, and are not read, by whatever way they come: as in BLAS.
START_TEST(test_alpha_of_zero)
{
    operands o = make_operands();
    husk_plan *plan = make_plan(&o, &transposed);
    husk_packed *packed = NULL;
    test_tensor c = test_inout(2, c_shape, TEST_PADDED, 6, 1.0f);
    fill_with_nan(&o.a);
    fill_with_nan(&o.b);
    test_ok(husk_gemm_plan_pack(plan, test_queue(), &o.b.tensor, &packed));
    const husk_tensor weights = husk_packed_tensor(packed);
    static const float betas[] = {0, 1, -2.5f};
    for (int i = 0; i < 3; i++) {
        test_ok(husk_gemm(test_queue(), &transposed, 0, &o.a.tensor, &o.b.tensor, &o.bias.tensor, betas[i], &c.tensor));
        verify_without_product(&o, &c, betas[i]);
        test_ok(husk_gemm(test_queue(), &transposed, 0, &o.a.tensor, &weights, &o.bias.tensor, betas[i], &c.tensor));
        verify_without_product(&o, &c, betas[i]);
        test_ok(
            husk_gemm_plan_run(plan, test_queue(), 0, &o.a.tensor, &o.b.tensor, &o.bias.tensor, betas[i], &c.tensor));
        verify_without_product(&o, &c, betas[i]);
        test_ok(husk_gemm_plan_run(plan, test_queue(), 0, &o.a.tensor, &weights, &o.bias.tensor, betas[i], &c.tensor));
        verify_without_product(&o, &c, betas[i]);
    }
    husk_packed_release(packed);
    husk_plan_release(plan);
    test_release(&c);
    release_operands(&o);
}
END_TEST

TCase *test_gemm_calls(void)
{
    TCase *cases = tcase_create("calls");
    tcase_add_test(cases, test_alpha_of_zero);
    tcase_add_test(cases, test_plan);
    tcase_add_loop_test(cases, test_packed_weights, 0, sizeof packing_variants / sizeof *packing_variants);
    tcase_add_test(cases, test_packed_elsewhere);
    tcase_add_test(cases, test_many_packed_rows);
    tcase_add_test(cases, test_packed_by_any_plan);
    tcase_add_loop_test(cases, test_packed_dtypes, 0, sizeof packing_variants / sizeof *packing_variants);
    tcase_add_test(cases, test_overflow);
    tcase_add_test(cases, test_packed_clblast);
    tcase_add_test(cases, test_far_apart);
    tcase_add_test(cases, test_prewarm);
    tcase_add_test(cases, test_bad_shapes);
    tcase_add_test(cases, test_bad_memory);
    tcase_add_test(cases, test_bad_params);
    tcase_add_test(cases, test_bad_runs);
    tcase_add_test(cases, test_bad_packed);
    return cases;
}
