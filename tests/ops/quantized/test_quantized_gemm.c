// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=240
// Multiplication of matrices of bytes: every variant, output and layout against the reference; packed weights; extreme
// numbers; bad input.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ref/quantized/gemm.h"
#include "support/support.h"

static const char *const variants[] = {NULL, "packed:12x2v", "packed:10x2v", "packed:6x2v", "packed:plain", "tiled"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]), TILED = VARIANTS - 1 };
#define NAME "quantized_gemm"

static void check(void *user, const husk_ref_array *c, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_quantized_gemm_function(user);
    husk_ref_check(&function, 1, c, report);
}

// What is right, computed once for all variants: from expect() to forget().
static husk_ref_expected expected;

static test_tensor make_bytes(husk_dtype dtype, int32_t rank, const int64_t *shape, test_layout layout, uint64_t seed)
{
    test_tensor made = test_input_of(dtype, rank, shape, layout, seed, 1.0f);
    husk_ref_random random = {.seed = seed};
    int64_t index[HUSK_MAX_RANK] = {0};
    if (husk_ref_array_count(&made.array) == 0)
        return made;
    do
        husk_ref_store(&made.array, husk_ref_offset(&made.array, index),
                       (double)(husk_ref_random_below(&random, 256) - (dtype == HUSK_I8 ? 128 : 0)));
    while (husk_ref_index_next(rank, shape, index));
    test_input_update(&made);
    return made;
}

// Of the size that makes sums of k products numbers around one.
static test_tensor make_scales(int64_t count, test_layout layout, int64_t k, uint64_t seed)
{
    test_tensor made = test_input(1, &count, layout, seed, 1.0f);
    for (int64_t i = 0; i < count; i++)
        husk_ref_store(&made.array, i * made.array.strides[0],
                       (1.5 + husk_ref_load(&made.array, i * made.array.strides[0])) / (5000.0 * sqrt((double)k + 1)));
    test_input_update(&made);
    return made;
}

// Operands of a call; those that are NULL are not there.
typedef struct operands {
    husk_quantized_gemm_params params;
    test_tensor *a, *b, *scale, *bias, *c;
    const husk_quantization *a_quantization, *c_quantization;
} operands;

static const husk_tensor *tensor_of(const test_tensor *tensor)
{
    return tensor ? &tensor->tensor : NULL;
}

static husk_status call(const operands *o, husk_queue *queue, const husk_tensor *b)
{
    return husk_quantized_gemm(queue, &o->params, &o->a->tensor, o->a_quantization, b, tensor_of(o->scale),
                               tensor_of(o->bias), &o->c->tensor, o->c_quantization);
}

static husk_ref_quantized_gemm op_of(const operands *o)
{
    return (husk_ref_quantized_gemm){.params = &o->params,
                                     .a = &o->a->array,
                                     .b = &o->b->array,
                                     .b_scale = o->scale ? &o->scale->array : NULL,
                                     .bias = o->bias ? &o->bias->array : NULL,
                                     .c = &o->c->array,
                                     .a_quantization = o->a_quantization,
                                     .c_quantization = o->c_quantization};
}

static void describe(const operands *o, char *text, size_t capacity)
{
    const husk_tensor *a = &o->a->tensor, *b = &o->b->tensor, *c = &o->c->tensor;
    snprintf(text, capacity, "%s to %s batch=%lld m=%lld n=%lld k=%lld a=%lld,%lld b=%lld,%lld c=%lld,%lld%s%s act %d",
             husk_dtype_name(a->dtype), husk_dtype_name(c->dtype), c->rank == 3 ? (long long)c->shape[0] : 0,
             (long long)c->shape[c->rank - 2], (long long)c->shape[c->rank - 1], (long long)a->shape[a->rank - 1],
             (long long)a->strides[a->rank - 2], (long long)a->strides[a->rank - 1], (long long)b->strides[b->rank - 2],
             (long long)b->strides[b->rank - 1], (long long)c->strides[c->rank - 2], (long long)c->strides[c->rank - 1],
             o->scale ? " scale" : "", o->bias ? " bias" : "", (int)o->params.activation);
}

static void expect(const operands *o)
{
    const husk_ref_quantized_gemm op = op_of(o);
    const husk_ref_function function = husk_ref_quantized_gemm_function(&op);
    ck_assert(husk_ref_expect(&function, 1, &expected));
}

static void forget(void)
{
    husk_ref_expected_release(&expected);
}

static void accept(const operands *o, const char *variant)
{
    char text[300];
    husk_ref_report report = {0};
    describe(o, text, sizeof(text));
    test_fetch(o->c);
    husk_ref_compare(&expected, &o->c->array, &report);
    test_accept(NAME, variant, text, &report);
}

// By the variants from first to last-1.
static void run_some(operands *o, int first, int last)
{
    for (int v = first; v < last; v++) {
        o->params.variant = variants[v];
        test_restore(o->c);
        if (test_ran(call(o, test_queue(), &o->b->tensor), NAME, variants[v]))
            accept(o, variants[v]);
    }
}

// By a plan with packed weights, and by a call with them.
static void run_packed(operands *o, const char *variant)
{
    husk_plan *plan = NULL;
    husk_packed *packed = NULL;
    husk_error error;
    o->params.variant = variant;
    const husk_status status =
        husk_quantized_gemm_plan_create(test_context(), &o->params, &o->a->tensor, &o->b->tensor, tensor_of(o->scale),
                                        tensor_of(o->bias), &o->c->tensor, &plan, &error);
    if (!test_ran_error(status, &error, NAME, variant))
        return;
    // A batch is not packed, and variants for GPUs take one matrix as it is.
    const char *const own = husk_plan_variant(plan);
    const bool packs = o->b->tensor.rank == 2 && (strcmp(own, "packed") == 0 || strcmp(own, "cpu_matrix") == 0);
    ck_assert_int_eq(husk_quantized_gemm_plan_pack(plan, test_queue(), &o->b->tensor, &packed),
                     packs ? HUSK_OK : HUSK_UNSUPPORTED);
    if (packs) {
        const husk_tensor weights = husk_packed_tensor(packed);
        test_restore(o->c);
        test_ok(husk_quantized_gemm_plan_run(plan, test_queue(), &o->a->tensor, o->a_quantization, &weights,
                                             tensor_of(o->scale), tensor_of(o->bias), &o->c->tensor,
                                             o->c_quantization));
        accept(o, variant);
        test_restore(o->c);
        test_ok(call(o, test_queue(), &weights));
        accept(o, variant);
    }
    test_restore(o->c);
    test_ok(husk_quantized_gemm_plan_run(plan, test_queue(), &o->a->tensor, o->a_quantization, &o->b->tensor,
                                         tensor_of(o->scale), tensor_of(o->bias), &o->c->tensor, o->c_quantization));
    accept(o, variant);
    husk_packed_release(packed);
    husk_plan_release(plan);
}

static void run_any(husk_ref_random *random, husk_dtype c_dtype, uint64_t seed, bool is_smooth)
{
    const husk_dtype a_dtype = test_one_in(random, 2) ? HUSK_I8 : HUSK_U8;
    const int64_t batch = TEST_PICK(random, 0, 0, 0, 1, 2, 3);
    const int64_t m = test_pick_size(random, 12, 90), n = test_pick_size(random, 32, 130);
    const int64_t k = test_pick_size(random, 64, 300);
    const int32_t rank = batch ? 3 : 2;
    const int64_t a_batch = batch > 1 && test_one_in(random, 3) ? 1 : batch;
    const int64_t b_batch = batch > 1 && test_one_in(random, 2) ? 1 : batch;
    const int64_t a_shape[] = {a_batch, m, k}, b_shape[] = {b_batch, k, n}, c_shape[] = {batch, m, n};
    const int drop = batch ? 0 : 1;
    const test_layout b_layout = test_one_in(random, 3) ? test_pick_layout(random) : TEST_PACKED;
    test_tensor a = make_bytes(a_dtype, rank, a_shape + drop,
                               test_one_in(random, 3) ? test_pick_layout(random) : TEST_PADDED, seed);
    test_tensor b =
        make_bytes(HUSK_I8, rank, b_shape + drop, test_one_in(random, 3) ? TEST_REVERSED : b_layout, seed + 1);
    test_tensor c =
        test_output(c_dtype, rank, c_shape + drop, test_one_in(random, 2) ? TEST_PACKED : test_pick_layout(random));
    test_tensor scale =
        make_scales(test_one_in(random, 3) ? 1 : n, test_one_in(random, 4) ? TEST_SPREAD : TEST_PACKED, k, seed);
    test_tensor bias = test_input(1, &n, test_one_in(random, 4) ? TEST_SPREAD : TEST_PACKED, seed + 2, 1.0f);
    const husk_quantization a_quantization = {test_one_in(random, 2) ? 0.0f : 0.75f,
                                              (int32_t)husk_ref_random_below(random, 256) -
                                                  (a_dtype == HUSK_I8 ? 128 : 0)};
    const husk_quantization c_quantization = {0.03f, (int32_t)husk_ref_random_below(random, 100) +
                                                         (c_dtype == HUSK_I8 ? -50 : 0)};
    const bool is_sums = c_dtype == HUSK_I32;
    operands o = {.params = HUSK_QUANTIZED_GEMM_PARAMS(.activation = HUSK_ACT_NONE),
                  .a = &a,
                  .b = &b,
                  .c = &c,
                  .scale = is_sums ? NULL : &scale,
                  .bias = is_sums || test_one_in(random, 3) ? NULL : &bias,
                  .a_quantization = test_one_in(random, 4) ? NULL : &a_quantization,
                  .c_quantization = c_dtype == HUSK_I8 || c_dtype == HUSK_U8 ? &c_quantization : NULL};
    if (!is_sums)
        o.params.activation =
            is_smooth ? (husk_act)TEST_PICK(random, HUSK_ACT_GELU, HUSK_ACT_SILU, HUSK_ACT_TANH)
                      : (husk_act)TEST_PICK(random, HUSK_ACT_NONE, HUSK_ACT_NONE, HUSK_ACT_LEAKY_RELU, HUSK_ACT_RELU6);
    o.params.activation_slope = seed % 2 ? 0.25f : 0.01f;
    expect(&o);
    if (is_smooth || test_tier_is("dtypes")) { // few programs
        run_some(&o, 0, 1);
        run_some(&o, TILED, VARIANTS);
    } else {
        run_some(&o, 0, VARIANTS);
    }
    if (test_one_in(random, 2))
        run_packed(&o, is_smooth || test_tier_is("dtypes") ? NULL : variants[seed % TILED]);
    forget();
    test_release(&a);
    test_release(&b);
    test_release(&c);
    test_release(&scale);
    test_release(&bias);
}

START_TEST(shapes_and_outputs)
{
    static const husk_dtype dtypes[] = {HUSK_I32, HUSK_F32, HUSK_I8, HUSK_U8};
    husk_ref_random random = {.seed = 20 + (uint64_t)_i};
    test_begin_draws();
    for (int64_t round = 0; round < (test_is_long() ? 32 : 4); round++)
        run_any(&random, dtypes[round % 4], (uint64_t)(round + 50 * _i), false);
    test_end_draws();
}
END_TEST

START_TEST(smooth_activations)
{
    static const husk_dtype dtypes[] = {HUSK_F32, HUSK_I8, HUSK_U8};
    husk_ref_random random = {.seed = 90};
    for (int round = 0; round < 9; round++)
        run_any(&random, dtypes[round % 3], (uint64_t)round, true);
}
END_TEST

// The tier "dtypes".
START_TEST(narrow_outputs)
{
    husk_ref_random random = {.seed = 70 + (uint64_t)_i};
    for (int round = 0; round < 6; round++)
        run_any(&random, round % 2 ? HUSK_F16 : HUSK_BF16, (uint64_t)(round + 50 * _i), false);
}
END_TEST

// More than one group, strip and panel; long sums; rows and columns at the tiles' ends.
START_TEST(larger)
{
    static const int64_t sizes[][3] = {{200, 300, 500}, {1, 1000, 1024}, {13, 33, 20000}, {500, 17, 64},
                                       {25, 700, 4096}, {129, 65, 1023}, {4, 32, 4},      {600, 600, 129}};
    const int64_t *s = sizes[_i], a_shape[] = {s[0], s[2]}, b_shape[] = {s[2], s[1]}, c_shape[] = {s[0], s[1]};
    const husk_quantization a_quantization = {0.5f, 3}, c_quantization = {0.04f, -7};
    for (int is_sums = 0; is_sums < 2; is_sums++) {
        test_tensor a = make_bytes(_i % 2 ? HUSK_U8 : HUSK_I8, 2, a_shape, TEST_PACKED, 1);
        test_tensor b = make_bytes(HUSK_I8, 2, b_shape, _i / 2 % 2 ? TEST_REVERSED : TEST_PACKED, 2);
        test_tensor c = test_output(is_sums ? HUSK_I32 : HUSK_I8, 2, c_shape, TEST_PACKED);
        test_tensor scale = make_scales(s[1], TEST_PACKED, s[2], 3);
        operands o = {.params = HUSK_QUANTIZED_GEMM_PARAMS(.variant = NULL),
                      .a = &a,
                      .b = &b,
                      .c = &c,
                      .scale = is_sums ? NULL : &scale,
                      .a_quantization = &a_quantization,
                      .c_quantization = is_sums ? NULL : &c_quantization};
        expect(&o);
        run_some(&o, 0, VARIANTS);
        run_packed(&o, NULL);
        forget();
        test_release_all();
    }
}
END_TEST

// The largest numbers of either sign everywhere, with zero points at both ends: no sum saturates on the way.
START_TEST(extremes)
{
    const int64_t a_shape[] = {9, 67}, b_shape[] = {67, 40}, c_shape[] = {9, 40};
    const husk_dtype a_dtype = _i % 2 ? HUSK_U8 : HUSK_I8;
    for (int zero = 0; zero < 2; zero++) {
        const husk_quantization a_quantization = {1.0f, (a_dtype == HUSK_I8 ? -128 : 0) + 255 * zero};
        test_tensor a = make_bytes(a_dtype, 2, a_shape, TEST_PACKED, 1);
        test_tensor b = make_bytes(HUSK_I8, 2, b_shape, TEST_PACKED, 2);
        test_tensor c = test_output(HUSK_I32, 2, c_shape, TEST_PACKED);
        for (int64_t i = 0; i < 9 * 67; i++)
            ((uint8_t *)a.array.data)[i] = (uint8_t)((_i / 2 ? 128 : 0) + (i / 67 % 3 == 0   ? 255
                                                                           : i / 67 % 3 == 1 ? 0
                                                                                             : i));
        for (int64_t i = 0; i < 67 * 40; i++)
            ((int8_t *)b.array.data)[i] = (int8_t)(i % 40 % 3 == 0 ? -128 : i % 40 % 3 == 1 ? 127 : i % 40);
        test_input_update(&a);
        test_input_update(&b);
        operands o = {.params = HUSK_QUANTIZED_GEMM_PARAMS(.variant = NULL),
                      .a = &a,
                      .b = &b,
                      .c = &c,
                      .a_quantization = &a_quantization};
        expect(&o);
        run_some(&o, 0, VARIANTS);
        forget();
        test_release_all();
    }
}
END_TEST

// The longest sums that fit an i32, and the shortest of which only the lowest bits do, whatever C is.
START_TEST(sums_of_32_bits)
{
    static const husk_dtype dtypes[] = {HUSK_I32, HUSK_F32, HUSK_I8};
    const int64_t k = 65793 + _i % 2, a_shape[] = {5, k}, b_shape[] = {k, 3}, c_shape[] = {5, 3};
    const husk_quantization c_quantization = {1e7f, 3};
    for (int zero = 0; zero < 2; zero++) {
        const husk_quantization a_quantization = {1.0f, 255 * zero};
        test_tensor a = make_bytes(HUSK_U8, 2, a_shape, TEST_PACKED, 1);
        test_tensor b = make_bytes(HUSK_I8, 2, b_shape, TEST_PACKED, 2);
        test_tensor c = test_output(dtypes[_i / 2], 2, c_shape, TEST_PACKED);
        test_tensor scale = make_scales(1, TEST_PACKED, 0, 3);
        husk_ref_store(&scale.array, 0, 0.5);
        test_input_update(&scale);
        for (int64_t i = 0; i < 5 * k; i++)
            ((uint8_t *)a.array.data)[i] = i / k % 2 ? 0 : 255;
        for (int64_t i = 0; i < 3 * k; i++)
            ((int8_t *)b.array.data)[i] = i % 3 == 0 ? -128 : i % 3 == 1 ? 127 : 1;
        test_input_update(&a);
        test_input_update(&b);
        operands o = {.params = HUSK_QUANTIZED_GEMM_PARAMS(.variant = NULL),
                      .a = &a,
                      .b = &b,
                      .c = &c,
                      .scale = _i / 2 ? &scale : NULL,
                      .a_quantization = &a_quantization,
                      .c_quantization = _i / 2 == 2 ? &c_quantization : NULL};
        expect(&o);
        run_some(&o, 0, VARIANTS);
        forget();
        test_release_all();
    }
}
END_TEST

// NaN and infinity in scales and bias, and quantized outputs past both ends.
START_TEST(special_values)
{
    const int64_t shape[] = {7, 20}, b_shape[] = {20, 12}, c_shape[] = {7, 12};
    static const double values[] = {NAN, INFINITY, -INFINITY, 0.0, 1e30, -1e30, 1.0, 0.01, 1e-3, NAN, 2.0, 1e-30};
    const husk_quantization c_quantization = {0.5f, 5};
    const husk_dtype dtype = _i / 2 ? HUSK_I8 : HUSK_F32;
    test_tensor a = make_bytes(HUSK_I8, 2, shape, TEST_PACKED, 1), b = make_bytes(HUSK_I8, 2, b_shape, TEST_PACKED, 2);
    test_tensor c = test_output(dtype, 2, c_shape, TEST_PACKED);
    test_tensor scale = make_scales(12, TEST_PACKED, 20, 1), bias = test_input(1, &b_shape[1], TEST_PACKED, 2, 1.0f);
    for (int i = 0; i < 12; i++)
        husk_ref_store(_i % 2 ? &bias.array : &scale.array, i, values[i]);
    test_input_update(&scale);
    test_input_update(&bias);
    operands o = {.params = HUSK_QUANTIZED_GEMM_PARAMS(.variant = NULL),
                  .a = &a,
                  .b = &b,
                  .c = &c,
                  .scale = &scale,
                  .bias = &bias,
                  .c_quantization = dtype == HUSK_I8 ? &c_quantization : NULL};
    expect(&o);
    run_some(&o, 0, VARIANTS);
    forget();
    test_release_all();
}
END_TEST

START_TEST(nothing)
{
    static const int64_t sizes[][3] = {{0, 5, 7}, {5, 0, 7}, {5, 7, 0}};
    const int64_t *s = sizes[_i], a_shape[] = {s[0], s[2]}, b_shape[] = {s[2], s[1]}, c_shape[] = {s[0], s[1]};
    test_tensor a = make_bytes(HUSK_I8, 2, a_shape, TEST_PACKED, 1),
                b = make_bytes(HUSK_I8, 2, b_shape, TEST_PACKED, 2);
    test_tensor c = test_output(HUSK_F32, 2, c_shape, TEST_PACKED), scale = make_scales(1, TEST_PACKED, 1, 1);
    test_tensor bias = test_input(1, &s[1], TEST_PACKED, 2, 1.0f);
    operands o = {.params = HUSK_QUANTIZED_GEMM_PARAMS(.variant = NULL),
                  .a = &a,
                  .b = &b,
                  .c = &c,
                  .scale = &scale,
                  .bias = &bias};
    expect(&o);
    run_some(&o, 0, VARIANTS);
    run_packed(&o, NULL);
    forget();
    test_release_all();
}
END_TEST

START_TEST(ten_runs_agree)
{
    const int64_t a_shape[] = {150, 300}, b_shape[] = {300, 250}, c_shape[] = {150, 250};
    test_tensor a = make_bytes(HUSK_I8, 2, a_shape, TEST_PACKED, 1),
                b = make_bytes(HUSK_I8, 2, b_shape, TEST_PACKED, 2);
    test_tensor first = test_output(HUSK_F32, 2, c_shape, TEST_PACKED),
                c = test_output(HUSK_F32, 2, c_shape, TEST_PACKED);
    test_tensor scale = make_scales(250, TEST_PACKED, 300, 1);
    for (int v = 0; v < VARIANTS; v++) {
        for (int run = 0; run < 10; run++) {
            test_tensor *to = run == 0 ? &first : &c;
            operands o = {.params = HUSK_QUANTIZED_GEMM_PARAMS(.variant = variants[v]),
                          .a = &a,
                          .b = &b,
                          .c = to,
                          .scale = &scale};
            if (!test_ran(call(&o, test_queue(), &b.tensor), NAME, variants[v]))
                break;
            test_fetch(to);
            ck_assert_mem_eq(first.array.data, to->array.data, 150 * 250 * sizeof(float));
        }
    }
    test_release_all();
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    static const husk_dtype dtypes[] = {HUSK_I32, HUSK_F32, HUSK_I8};
    const int64_t a_shape[] = {6, 30}, b_shape[] = {30, 20}, c_shape[] = {6, 20};
    const husk_quantization c_quantization = {0.05f, 5};
    const husk_dtype dtype = dtypes[_i];
    test_tensor a = make_bytes(HUSK_I8, 2, a_shape, TEST_PACKED, 1),
                b = make_bytes(HUSK_I8, 2, b_shape, TEST_PACKED, 2);
    test_tensor c = test_output(dtype, 2, c_shape, TEST_PADDED), scale = make_scales(20, TEST_PACKED, 30, 1);
    operands o = {.params = HUSK_QUANTIZED_GEMM_PARAMS(.variant = NULL),
                  .a = &a,
                  .b = &b,
                  .c = &c,
                  .scale = dtype == HUSK_I32 ? NULL : &scale,
                  .c_quantization = dtype == HUSK_I8 ? &c_quantization : NULL};
    test_ok(call(&o, test_queue(), &b.tensor));
    test_fetch(&c);
    husk_ref_quantized_gemm op = op_of(&o);
    husk_ref_function function = husk_ref_quantized_gemm_function(&op);
    test_planted(&function, &c.array, check, &op);
    test_planted_guards(&c);
    test_release_all();
}
END_TEST

// ---- bad input ----

typedef struct bad_case {
    husk_quantized_gemm_params params;
    const husk_tensor *a, *b, *scale, *bias, *c;
    const husk_quantization *a_quantization, *c_quantization;
} bad_case;

static void refuse(husk_status wanted, const char *argument, const bad_case *bad)
{
    test_refused(husk_quantized_gemm(test_silent_queue(), &bad->params, bad->a, bad->a_quantization, bad->b, bad->scale,
                                     bad->bias, bad->c, bad->c_quantization),
                 wanted, argument);
}

START_TEST(bad_input)
{
    const int64_t a_shape[] = {4, 8}, b_shape[] = {8, 6}, c_shape[] = {4, 6}, batches[] = {3, 4, 8}, six = 6, four = 4;
    test_tensor a = make_bytes(HUSK_I8, 2, a_shape, TEST_PACKED, 1),
                b = make_bytes(HUSK_I8, 2, b_shape, TEST_PACKED, 2);
    test_tensor unsigned_b = make_bytes(HUSK_U8, 2, b_shape, TEST_PACKED, 2);
    test_tensor batched = make_bytes(HUSK_I8, 3, batches, TEST_PACKED, 1);
    test_tensor c = test_output(HUSK_F32, 2, c_shape, TEST_PACKED),
                sums = test_output(HUSK_I32, 2, c_shape, TEST_PACKED);
    test_tensor bytes = test_output(HUSK_I8, 2, c_shape, TEST_PACKED);
    test_tensor wide = test_output(HUSK_I64, 2, c_shape, TEST_PACKED), scale = make_scales(six, TEST_PACKED, 8, 1);
    test_tensor narrow = make_scales(four, TEST_PACKED, 8, 1);
    const husk_quantization fine = {0.5f, 3}, high = {0.5f, 128}, below = {-1.0f, 0}, none = {NAN, 0};
    const bad_case good = {
        HUSK_QUANTIZED_GEMM_PARAMS(.variant = NULL), &a.tensor, &b.tensor, &scale.tensor, NULL, &c.tensor, &fine, NULL};
    bad_case bad = good;
#define REFUSE(status, argument, member, value) \
    bad = good;                                 \
    bad.member = value;                         \
    refuse(status, argument, &bad);
    REFUSE(HUSK_INVALID_ARGUMENT, "a", a, NULL)
    REFUSE(HUSK_INVALID_ARGUMENT, "b", b, NULL)
    REFUSE(HUSK_INVALID_ARGUMENT, "c", c, NULL)
    REFUSE(HUSK_INVALID_ARGUMENT, "b_scale", scale, NULL)
    REFUSE(HUSK_UNSUPPORTED, "a", a, &scale.tensor)
    REFUSE(HUSK_UNSUPPORTED, "b", b, &unsigned_b.tensor)
    REFUSE(HUSK_UNSUPPORTED, "c", c, &wide.tensor)
    REFUSE(HUSK_UNSUPPORTED, "b_scale", scale, &a.tensor)
    REFUSE(HUSK_UNSUPPORTED, "bias", bias, &sums.tensor)
    REFUSE(HUSK_INVALID_ARGUMENT, "b_scale", scale, &narrow.tensor)
    REFUSE(HUSK_INVALID_ARGUMENT, "bias", bias, &narrow.tensor)
    REFUSE(HUSK_INVALID_ARGUMENT, "b", b, &a.tensor)
    REFUSE(HUSK_INVALID_ARGUMENT, "a", a, &batched.tensor)
    REFUSE(HUSK_INVALID_ARGUMENT, "a_quantization", a_quantization, &high)
    REFUSE(HUSK_INVALID_ARGUMENT, "a_quantization", a_quantization, &below)
    REFUSE(HUSK_INVALID_ARGUMENT, "a_quantization", a_quantization, &none)
    REFUSE(HUSK_INVALID_ARGUMENT, "c_quantization", c_quantization, &fine)
    REFUSE(HUSK_INVALID_ARGUMENT, "b_scale", c, &sums.tensor)
    REFUSE(HUSK_INVALID_ARGUMENT, "params", params.activation, (husk_act)99)
    REFUSE(HUSK_INVALID_ARGUMENT, "params", params.size, 9999)
    REFUSE(HUSK_INVALID_ARGUMENT, "packd", params.variant, "packd")
    const husk_tensor deep = {.buffer = scale.tensor.buffer, .rank = HUSK_MAX_RANK + 1}; // its strides end before
    REFUSE(HUSK_INVALID_ARGUMENT, "b_scale", scale, &deep)
    REFUSE(HUSK_INVALID_ARGUMENT, "bias", bias, &deep)
    husk_tensor other = bytes.tensor;
    bad = good;
    bad.c = &other;
    bad.c_quantization = &high;
    refuse(HUSK_INVALID_ARGUMENT, "c_quantization", &bad);
    bad = good;
    bad.c = &sums.tensor;
    bad.scale = NULL;
    bad.params.activation = HUSK_ACT_RELU;
    refuse(HUSK_INVALID_ARGUMENT, "params", &bad);
    other = a.tensor;
    other.offset += 64; // its end is past the buffer's
    REFUSE(HUSK_INVALID_ARGUMENT, "a", a, &other)
    other = c.tensor;
    other.strides[0] = 3; // rows of 6 elements 3 apart
    other.strides[1] = 1;
    REFUSE(HUSK_INVALID_ARGUMENT, "c", c, &other)
    other = c.tensor;
    other.buffer = NULL;
    REFUSE(HUSK_INVALID_ARGUMENT, "c", c, &other)
    other = a.tensor;
    other.buffer = c.tensor.buffer; // c lies over a
    other.offset = c.tensor.offset * 4;
    REFUSE(HUSK_INVALID_ARGUMENT, "c", a, &other)
    test_untouched(&c);
    test_release_all();
}
END_TEST

// Packings of another shape, operator or configuration, and plans that do not fit the run.
START_TEST(bad_packings)
{
    const int64_t a_shape[] = {4, 8}, b_shape[] = {8, 6}, c_shape[] = {4, 6}, a2_shape[] = {4, 12},
                  b2_shape[] = {12, 6};
    test_tensor a = make_bytes(HUSK_I8, 2, a_shape, TEST_PACKED, 1),
                b = make_bytes(HUSK_I8, 2, b_shape, TEST_PACKED, 2);
    test_tensor a2 = make_bytes(HUSK_I8, 2, a2_shape, TEST_PACKED, 1);
    test_tensor b2 = make_bytes(HUSK_I8, 2, b2_shape, TEST_PACKED, 2);
    test_tensor c = test_output(HUSK_F32, 2, c_shape, TEST_PACKED), scale = make_scales(6, TEST_PACKED, 8, 1);
    husk_quantized_gemm_params params = HUSK_QUANTIZED_GEMM_PARAMS(.variant = "packed:6x2v");
    husk_plan *plan, *plan2;
    husk_packed *packed, *packed2;
    husk_error error;
    test_ok_error(husk_quantized_gemm_plan_create(test_context(), &params, &a.tensor, &b.tensor, &scale.tensor, NULL,
                                                  &c.tensor, &plan, &error),
                  &error);
    params.variant = "packed:plain";
    test_ok_error(husk_quantized_gemm_plan_create(test_context(), &params, &a2.tensor, &b2.tensor, &scale.tensor, NULL,
                                                  &c.tensor, &plan2, &error),
                  &error);
    test_ok(husk_quantized_gemm_plan_pack(plan, test_queue(), &b.tensor, &packed));
    test_ok(husk_quantized_gemm_plan_pack(plan2, test_queue(), &b2.tensor, &packed2));
    const husk_tensor weights = husk_packed_tensor(packed), weights2 = husk_packed_tensor(packed2);
    husk_queue *queue = test_silent_queue();
#define RUN(a_, b_, scale_, bias_, c_) \
    husk_quantized_gemm_plan_run(plan, queue, a_, NULL, b_, scale_, bias_, c_, NULL)
    test_refused(RUN(&a.tensor, &weights2, &scale.tensor, NULL, &c.tensor), HUSK_INVALID_ARGUMENT, "b");
    test_refused(RUN(&a2.tensor, &weights, &scale.tensor, NULL, &c.tensor), HUSK_INVALID_ARGUMENT, "a");
    test_refused(RUN(&weights, &weights, &scale.tensor, NULL, &c.tensor), HUSK_INVALID_ARGUMENT, "a");
    test_refused(RUN(&a.tensor, &weights, NULL, NULL, &c.tensor), HUSK_INVALID_ARGUMENT, "b_scale");
    test_refused(RUN(&a.tensor, &weights, &scale.tensor, &scale.tensor, &c.tensor), HUSK_INVALID_ARGUMENT, "bias");
    test_refused(RUN(&a.tensor, NULL, &scale.tensor, NULL, &c.tensor), HUSK_INVALID_ARGUMENT, "b");
    test_refused(husk_quantized_gemm_plan_pack(plan, queue, &weights, &packed2), HUSK_INVALID_ARGUMENT, "b");
    test_refused(husk_quantized_gemm_plan_pack(plan, queue, &b2.tensor, &packed2), HUSK_INVALID_ARGUMENT, "b");
    params.variant = "packed:plain";
    test_refused(husk_quantized_gemm(queue, &params, &a.tensor, NULL, &weights, &scale.tensor, NULL, &c.tensor, NULL),
                 HUSK_INVALID_ARGUMENT, "b");
    params.variant = NULL;
    test_refused(husk_gemm(queue, NULL, 1.0f, &a.tensor, &weights, NULL, 0.0f, &c.tensor), HUSK_UNSUPPORTED, "a");
    test_untouched(&c);
    husk_packed_release(packed);
    husk_packed_release(weights2.packed ? (husk_packed *)weights2.packed : NULL);
    husk_plan_release(plan);
    husk_plan_release(plan2);
    test_release_all();
}
END_TEST

START_TEST(enough_configurations)
{
    ck_assert_msg(test_executed(NAME) >= 200, "only %ld configurations were executed", test_executed(NAME));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create(NAME);
    TCase *tests = tcase_create(NAME);
    suite_add_tcase(suite, tests);
    if (test_tier_is("dtypes")) {
        tcase_add_loop_test(tests, narrow_outputs, 0, 4);
        return test_main(suite);
    }
    tcase_add_loop_test(tests, shapes_and_outputs, 0, 10);
    tcase_add_test(tests, smooth_activations);
    tcase_add_loop_test(tests, larger, 0, 8);
    tcase_add_loop_test(tests, extremes, 0, 4);
    tcase_add_loop_test(tests, sums_of_32_bits, 0, 6);
    tcase_add_loop_test(tests, special_values, 0, 4);
    tcase_add_loop_test(tests, nothing, 0, 3);
    tcase_add_test(tests, ten_runs_agree);
    tcase_add_loop_test(tests, the_check_sees_mistakes, 0, 3);
    tcase_add_test(tests, bad_input);
    tcase_add_test(tests, bad_packings);
    tcase_add_test(tests, enough_configurations);
    return test_main(suite);
}
