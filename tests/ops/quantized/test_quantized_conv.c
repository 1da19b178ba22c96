// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=240
// Convolution of bytes: every variant, output, layout and option against the reference; packed weights; special
// numbers; bad input.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ref/quantized/conv.h"
#include "support/support.h"

// Those from the grid's on are programs for the long tier.
static const char *const variants[] = {NULL,
                                       "implicit_gemm:12x2v",
                                       "implicit_gemm:plain",
                                       "depthwise",
                                       "grid:64",
                                       "implicit_gemm:10x2v",
                                       "implicit_gemm:6x2v",
                                       "depthwise:pairs",
                                       "depthwise:plain"};
enum { DEPTHWISE = 3, GRID, ALL_VARIANTS = sizeof(variants) / sizeof(variants[0]) };

static int variant_count(void)
{
    return test_is_long() ? ALL_VARIANTS : GRID + 1;
}

#define NAME "quantized_conv"

static void check(void *user, const husk_ref_array *y, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_quantized_conv_function(user);
    husk_ref_check(&function, 1, y, report);
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
    husk_quantized_conv_params params;
    test_tensor *x, *w, *scale, *bias, *y;
    const husk_quantization *x_quantization, *y_quantization;
} operands;

static const husk_tensor *tensor_of(const test_tensor *tensor)
{
    return tensor ? &tensor->tensor : NULL;
}

static husk_status call(const operands *o, husk_queue *queue, const husk_tensor *w)
{
    return husk_quantized_conv(queue, &o->params, &o->x->tensor, o->x_quantization, w, tensor_of(o->scale),
                               tensor_of(o->bias), &o->y->tensor, o->y_quantization);
}

static husk_ref_quantized_conv op_of(const operands *o)
{
    return (husk_ref_quantized_conv){.params = &o->params,
                                     .x = &o->x->array,
                                     .w = &o->w->array,
                                     .w_scale = o->scale ? &o->scale->array : NULL,
                                     .bias = o->bias ? &o->bias->array : NULL,
                                     .y = &o->y->array,
                                     .x_quantization = o->x_quantization,
                                     .y_quantization = o->y_quantization};
}

static void describe(const operands *o, char *text, size_t capacity)
{
    const husk_tensor *x = &o->x->tensor, *w = &o->w->tensor, *y = &o->y->tensor;
    size_t used = (size_t)snprintf(text, capacity, "%s to %s groups=%lld act %d%s", husk_dtype_name(x->dtype),
                                   husk_dtype_name(y->dtype), (long long)o->params.groups, (int)o->params.activation,
                                   o->bias ? " bias" : "");
    for (int32_t d = 0; d < x->rank && used < capacity; d++)
        used += (size_t)snprintf(text + used, capacity - used, "; x %lld (%lld) w %lld y %lld (%lld)",
                                 (long long)x->shape[d], (long long)x->strides[d], (long long)w->shape[d],
                                 (long long)y->shape[d], (long long)y->strides[d]);
    for (int32_t d = 0; d < x->rank - 2 && used < capacity; d++)
        used += (size_t)snprintf(text + used, capacity - used, "; stride %lld pad %lld:%lld dilation %lld",
                                 (long long)o->params.stride[d], (long long)o->params.pad[d],
                                 (long long)o->params.pad_end_extra[d], (long long)o->params.dilation[d]);
}

static void expect(const operands *o)
{
    const husk_ref_quantized_conv op = op_of(o);
    const husk_ref_function function = husk_ref_quantized_conv_function(&op);
    ck_assert(husk_ref_expect(&function, 1, &expected));
}

static void forget(void)
{
    husk_ref_expected_release(&expected);
}

static void accept(const operands *o, const char *variant)
{
    char text[600];
    husk_ref_report report = {0};
    describe(o, text, sizeof(text));
    test_fetch(o->y);
    husk_ref_compare(&expected, &o->y->array, &report);
    test_accept(NAME, variant, text, &report);
}

// By the variants from first to last-1.
static void run_some(operands *o, int first, int last)
{
    for (int v = first; v < last; v++) {
        o->params.variant = variants[v];
        test_restore(o->y);
        if (test_ran(call(o, test_queue(), &o->w->tensor), NAME, variants[v]))
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
        husk_quantized_conv_plan_create(test_context(), &o->params, &o->x->tensor, &o->w->tensor, tensor_of(o->scale),
                                        tensor_of(o->bias), &o->y->tensor, &plan, &error);
    if (!test_ran_error(status, &error, NAME, variant))
        return;
    const bool packs = strcmp(husk_plan_variant(plan), "grid") != 0; // which takes weights as they are
    ck_assert_int_eq(husk_quantized_conv_plan_pack(plan, test_queue(), &o->w->tensor, &packed),
                     packs ? HUSK_OK : HUSK_UNSUPPORTED);
    if (packs) {
        const husk_tensor weights = husk_packed_tensor(packed);
        test_restore(o->y);
        test_ok(husk_quantized_conv_plan_run(plan, test_queue(), &o->x->tensor, o->x_quantization, &weights,
                                             tensor_of(o->scale), tensor_of(o->bias), &o->y->tensor,
                                             o->y_quantization));
        accept(o, variant);
        test_restore(o->y);
        test_ok(call(o, test_queue(), &weights));
        accept(o, variant);
    }
    test_restore(o->y);
    test_ok(husk_quantized_conv_plan_run(plan, test_queue(), &o->x->tensor, o->x_quantization, &o->w->tensor,
                                         tensor_of(o->scale), tensor_of(o->bias), &o->y->tensor, o->y_quantization));
    accept(o, variant);
    husk_packed_release(packed);
    husk_plan_release(plan);
}

static test_layout pick_image_layout(husk_ref_random *random)
{
    return (test_layout)TEST_PICK(random, TEST_PACKED, TEST_CHANNELS_LAST, TEST_CHANNELS_LAST, TEST_CHANNELS_LAST,
                                  TEST_PADDED, TEST_SPREAD, TEST_REVERSED);
}

// What run_any draws.
typedef struct kind {
    bool is_smooth;   // the activation
    bool is_one_each; // one filter for each channel
} kind;

// A convolution that its options let have outputs; y's shape.
static void pick_problem(husk_ref_random *random, kind what, int32_t rank, husk_conv_params *params, int64_t *x,
                         int64_t *w, int64_t *y)
{
    for (;;) {
        *params = (husk_conv_params)HUSK_CONV_PARAMS(.groups = TEST_PICK(random, 0, 0, 0, 1, 2, 3, 8));
        if (what.is_one_each)
            params->groups = TEST_PICK(random, 1, 3, 15, 16, 17, 31, 48, 70);
        const int64_t groups = params->groups ? params->groups : 1;
        const bool is_depthwise = what.is_one_each || test_one_in(random, 5);
        const int64_t channels = is_depthwise ? 1 : TEST_PICK(random, 1, 2, 3, 4, 5, 8, 16, 17, 32, 40);
        x[0] = TEST_PICK(random, 1, 1, 2, 3);
        x[1] = groups * channels;
        w[0] = groups * (what.is_one_each ? 1
                         : is_depthwise   ? TEST_PICK(random, 1, 1, 2)
                                          : TEST_PICK(random, 1, 3, 8, 16, 31, 33, 40));
        w[1] = channels;
        for (int32_t d = 2; d < rank; d++) {
            x[d] = 1 + husk_ref_random_below(random, rank == 3 ? 60 : rank == 4 ? 14 : 6);
            w[d] = TEST_PICK(random, 1, 1, 2, 3, 3, 5);
            params->stride[d - 2] = TEST_PICK(random, 0, 1, 1, 2, 3);
            params->dilation[d - 2] = TEST_PICK(random, 0, 0, 1, 2);
            params->pad[d - 2] = TEST_PICK(random, 0, 0, 1, 2, 3);
            params->pad_end_extra[d - 2] = test_one_in(random, 3) ? 0 : TEST_PICK(random, 0, 1, 2) - params->pad[d - 2];
        }
        husk_tensor image = {.rank = rank}, filter = {.rank = rank};
        memcpy(image.shape, x, (size_t)rank * sizeof(*x));
        memcpy(filter.shape, w, (size_t)rank * sizeof(*w));
        if (husk_conv_output_shape(params, &image, &filter, y, NULL) == HUSK_OK)
            return;
    }
}

static void run_any(husk_ref_random *random, husk_dtype y_dtype, uint64_t seed, kind what)
{
    const husk_dtype x_dtype = test_one_in(random, 2) ? HUSK_I8 : HUSK_U8;
    const int32_t rank = (int32_t)TEST_PICK(random, 3, 4, 4, 4, 5);
    int64_t x_shape[HUSK_MAX_RANK], w_shape[HUSK_MAX_RANK], y_shape[HUSK_MAX_RANK], k = 1;
    husk_conv_params params;
    pick_problem(random, what, rank, &params, x_shape, w_shape, y_shape);
    for (int32_t d = 1; d < rank; d++)
        k *= w_shape[d];
    test_tensor x = make_bytes(x_dtype, rank, x_shape, pick_image_layout(random), seed);
    test_tensor w =
        make_bytes(HUSK_I8, rank, w_shape, test_one_in(random, 3) ? test_pick_layout(random) : TEST_PACKED, seed + 1);
    test_tensor y = test_output(y_dtype, rank, y_shape, pick_image_layout(random));
    test_tensor scale = make_scales(test_one_in(random, 3) ? 1 : w_shape[0],
                                    test_one_in(random, 4) ? TEST_SPREAD : TEST_PACKED, k, seed);
    test_tensor bias = test_input(1, w_shape, test_one_in(random, 4) ? TEST_SPREAD : TEST_PACKED, seed + 2, 1.0f);
    const husk_quantization x_quantization = {test_one_in(random, 2) ? 0.0f : 0.75f,
                                              (int32_t)husk_ref_random_below(random, 256) -
                                                  (x_dtype == HUSK_I8 ? 128 : 0)};
    const husk_quantization y_quantization = {0.03f, (int32_t)husk_ref_random_below(random, 100) +
                                                         (y_dtype == HUSK_I8 ? -50 : 78)};
    const bool is_sums = y_dtype == HUSK_I32;
    operands o = {.params = params,
                  .x = &x,
                  .w = &w,
                  .y = &y,
                  .scale = is_sums ? NULL : &scale,
                  .bias = is_sums || test_one_in(random, 3) ? NULL : &bias,
                  .x_quantization = test_one_in(random, 4) ? NULL : &x_quantization,
                  .y_quantization = y_dtype == HUSK_I8 || y_dtype == HUSK_U8 ? &y_quantization : NULL};
    if (!is_sums)
        o.params.activation = what.is_smooth ? HUSK_ACT_SILU
                                             : (husk_act)TEST_PICK(random, HUSK_ACT_NONE, HUSK_ACT_NONE,
                                                                   HUSK_ACT_LEAKY_RELU, HUSK_ACT_RELU6);
    if (o.params.activation == HUSK_ACT_RELU6 && w_shape[0] < 16)
        o.params.activation = HUSK_ACT_NONE; // a few filters may all be on the side where there are zeros alone
    o.params.activation_slope = seed % 2 ? 0.25f : 0.01f;
    expect(&o);
    const bool has_few_programs = what.is_smooth || test_tier_is("dtypes");
    if (what.is_one_each) {
        run_some(&o, DEPTHWISE, GRID);
        if (test_is_long())
            run_some(&o, GRID + 2, ALL_VARIANTS);
    } else if (has_few_programs) {
        run_some(&o, 0, 1);
        run_some(&o, GRID, GRID + 1);
    } else {
        run_some(&o, 0, variant_count());
    }
    if (test_one_in(random, 2))
        run_packed(&o, what.is_one_each ? variants[DEPTHWISE] : has_few_programs ? NULL : variants[seed % GRID]);
    forget();
    test_release(&x);
    test_release(&w);
    test_release(&y);
    test_release(&scale);
    test_release(&bias);
}

START_TEST(options_and_outputs)
{
    static const husk_dtype dtypes[] = {HUSK_I32, HUSK_F32, HUSK_I8, HUSK_U8};
    husk_ref_random random = {.seed = 20 + (uint64_t)_i};
    for (int64_t round = 0; round < (test_is_long() ? 32 : 4); round++)
        run_any(&random, dtypes[round % 4], (uint64_t)(round + 50 * _i), (kind){0});
}
END_TEST

START_TEST(one_filter_for_each_channel)
{
    static const husk_dtype dtypes[] = {HUSK_I32, HUSK_F32, HUSK_I8, HUSK_U8};
    husk_ref_random random = {.seed = 40 + (uint64_t)_i};
    for (int64_t round = 0; round < (test_is_long() ? 100 : 24); round++)
        run_any(&random, dtypes[round % 4], (uint64_t)(round + 50 * _i), (kind){.is_one_each = true});
}
END_TEST

START_TEST(smooth_activations)
{
    husk_ref_random random = {.seed = 90};
    for (int round = 0; round < 6; round++)
        run_any(&random, round % 2 ? HUSK_F32 : HUSK_I8, (uint64_t)round, (kind){.is_smooth = true});
}
END_TEST

// The tier "dtypes".
START_TEST(narrow_outputs)
{
    husk_ref_random random = {.seed = 70 + (uint64_t)_i};
    for (int round = 0; round < 8; round++)
        run_any(&random, round % 2 ? HUSK_F16 : HUSK_BF16, (uint64_t)(round + 50 * _i),
                (kind){.is_one_each = round >= 4});
}
END_TEST

typedef struct layer {
    int64_t x[4], w[4];
    husk_conv_params params;
} layer;

// Layers of real networks, the larger ones with fewer channels.
static const layer layers[] = {
    {{1, 3, 56, 56}, {32, 3, 7, 7}, {.stride = {2, 2}, .pad = {3, 3}}},
    {{1, 64, 28, 28}, {64, 64, 3, 3}, {.pad = {1, 1}}},
    {{2, 64, 14, 14}, {128, 64, 1, 1}, {.stride = {2, 2}}},
    {{1, 256, 14, 14}, {64, 256, 1, 1}, {.stride = {1, 1}}},
    {{1, 48, 20, 20}, {48, 1, 3, 3}, {.pad = {1, 1}, .groups = 48}},
    {{1, 64, 14, 14}, {64, 16, 3, 3}, {.pad = {2, 2}, .dilation = {2, 2}, .groups = 4}},
};
enum { LAYERS = sizeof(layers) / sizeof(layers[0]) };

START_TEST(known_layers)
{
    const layer *l = &layers[_i / 2];
    const test_layout layout = _i % 2 ? TEST_CHANNELS_LAST : TEST_PACKED;
    const husk_quantization x_quantization = {0.5f, 117}, y_quantization = {0.04f, -7};
    husk_conv_params params = l->params;
    int64_t y_shape[HUSK_MAX_RANK];
    params.size = sizeof(params);
    params.activation = HUSK_ACT_RELU;
    test_tensor x = make_bytes(HUSK_U8, 4, l->x, layout, 1), w = make_bytes(HUSK_I8, 4, l->w, TEST_PACKED, 2);
    const husk_tensor image = {.rank = 4, .shape = {l->x[0], l->x[1], l->x[2], l->x[3]}};
    const husk_tensor filter = {.rank = 4, .shape = {l->w[0], l->w[1], l->w[2], l->w[3]}};
    test_ok(husk_conv_output_shape(&params, &image, &filter, y_shape, NULL));
    test_tensor y = test_output(HUSK_I8, 4, y_shape, layout);
    test_tensor scale = make_scales(l->w[0], TEST_PACKED, l->w[1] * l->w[2] * l->w[3], 3);
    test_tensor bias = test_input(1, l->w, TEST_PACKED, 4, 1.0f);
    operands o = {.params = params,
                  .x = &x,
                  .w = &w,
                  .y = &y,
                  .scale = &scale,
                  .bias = &bias,
                  .x_quantization = &x_quantization,
                  .y_quantization = &y_quantization};
    expect(&o);
    run_some(&o, 0, variant_count());
    run_packed(&o, NULL);
    forget();
    test_release_all();
}
END_TEST

// NaN and infinity in scales and bias.
START_TEST(special_values)
{
    const int64_t x_shape[] = {1, 5, 6, 6}, w_shape[] = {12, 5, 3, 3}, y_shape[] = {1, 12, 4, 4};
    static const double values[] = {NAN, INFINITY, -INFINITY, 0.0, 1e30, -1e30, 1.0, 0.01, 1e-3, NAN, 2.0, 1e-30};
    const husk_quantization y_quantization = {0.5f, 5};
    const husk_dtype dtype = _i / 2 ? HUSK_I8 : HUSK_F32;
    test_tensor x = make_bytes(HUSK_I8, 4, x_shape, TEST_PACKED, 1);
    test_tensor w = make_bytes(HUSK_I8, 4, w_shape, TEST_PACKED, 2);
    test_tensor y = test_output(dtype, 4, y_shape, TEST_PACKED);
    test_tensor scale = make_scales(12, TEST_PACKED, 45, 1), bias = test_input(1, w_shape, TEST_PACKED, 2, 1.0f);
    for (int i = 0; i < 12; i++)
        husk_ref_store(_i % 2 ? &bias.array : &scale.array, i, values[i]);
    test_input_update(&scale);
    test_input_update(&bias);
    operands o = {.params = HUSK_QUANTIZED_CONV_PARAMS(.groups = 1),
                  .x = &x,
                  .w = &w,
                  .y = &y,
                  .scale = &scale,
                  .bias = &bias,
                  .y_quantization = dtype == HUSK_I8 ? &y_quantization : NULL};
    expect(&o);
    run_some(&o, 0, variant_count());
    forget();
    test_release_all();
}
END_TEST

START_TEST(nothing)
{
    static const int64_t x_shapes[][4] = {{0, 3, 6, 6}, {2, 3, 6, 6}, {2, 0, 6, 6}};
    static const int64_t filters[] = {4, 0, 4};
    const int64_t *x_shape = x_shapes[_i], w_shape[] = {filters[_i], x_shape[1], 3, 3};
    const int64_t y_shape[] = {x_shape[0], filters[_i], 6, 6};
    test_tensor x = make_bytes(HUSK_I8, 4, x_shape, TEST_PACKED, 1);
    test_tensor w = make_bytes(HUSK_I8, 4, w_shape, TEST_PACKED, 2);
    test_tensor y = test_output(HUSK_F32, 4, y_shape, TEST_PACKED), scale = make_scales(1, TEST_PACKED, 1, 1);
    test_tensor bias = test_input(1, w_shape, TEST_PACKED, 2, 1.0f);
    operands o = {
        .params = HUSK_QUANTIZED_CONV_PARAMS(.pad = {1, 1}), .x = &x, .w = &w, .y = &y, .scale = &scale, .bias = &bias};
    expect(&o);
    run_some(&o, 0, variant_count());
    run_packed(&o, NULL);
    forget();
    test_release_all();
}
END_TEST

// All outputs see padding alone.
START_TEST(image_without_rows)
{
    const int64_t x_shape[] = {1, 16, 0, 5}, w_shape[] = {16, 1, 3, 3}, y_shape[] = {1, 16, 2, 7};
    const husk_quantization x_quantization = {0.5f, 3};
    test_tensor x = make_bytes(HUSK_I8, 4, x_shape, TEST_CHANNELS_LAST, 1);
    test_tensor w = make_bytes(HUSK_I8, 4, w_shape, TEST_PACKED, 2);
    test_tensor y = test_output(HUSK_F32, 4, y_shape, TEST_CHANNELS_LAST), scale = make_scales(1, TEST_PACKED, 1, 1);
    test_tensor bias = test_input(1, w_shape, TEST_PACKED, 2, 1.0f);
    operands o = {.params = HUSK_QUANTIZED_CONV_PARAMS(.pad = {2, 2}, .groups = 16),
                  .x = &x,
                  .w = &w,
                  .y = &y,
                  .scale = &scale,
                  .bias = &bias,
                  .x_quantization = &x_quantization};
    expect(&o);
    run_some(&o, 0, variant_count());
    forget();
    test_release_all();
}
END_TEST

// With one group, and with one filter for each channel.
START_TEST(ten_runs_agree)
{
    const int64_t filters = _i ? 32 : 70;
    const int64_t x_shape[] = {2, 32, 20, 20}, w_shape[] = {filters, _i ? 1 : 32, 3, 3};
    const int64_t y_shape[] = {2, filters, 20, 20};
    test_tensor x = make_bytes(HUSK_I8, 4, x_shape, TEST_PACKED, 1);
    test_tensor w = make_bytes(HUSK_I8, 4, w_shape, TEST_PACKED, 2), scale = make_scales(filters, TEST_PACKED, 288, 1);
    test_tensor first = test_output(HUSK_F32, 4, y_shape, TEST_PACKED);
    test_tensor next = test_output(HUSK_F32, 4, y_shape, TEST_PACKED);
    for (int v = 0; v < variant_count(); v++) {
        for (int run = 0; run < 10; run++) {
            test_tensor *y = run == 0 ? &first : &next;
            const operands o = {
                .params = HUSK_QUANTIZED_CONV_PARAMS(.pad = {1, 1}, .groups = _i ? 32 : 1, .variant = variants[v]),
                .x = &x,
                .w = &w,
                .y = y,
                .scale = &scale};
            if (!test_ran(call(&o, test_queue(), &w.tensor), NAME, variants[v]))
                break;
            test_fetch(y);
            ck_assert_mem_eq(first.array.data, y->array.data, (size_t)(2 * filters * 400) * sizeof(float));
        }
    }
    test_release_all();
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    static const husk_dtype dtypes[] = {HUSK_I32, HUSK_F32, HUSK_I8};
    const int64_t x_shape[] = {1, 6, 7, 7}, w_shape[] = {5, 6, 3, 3}, y_shape[] = {1, 5, 5, 5};
    const husk_quantization y_quantization = {0.05f, 5};
    const husk_dtype dtype = dtypes[_i];
    test_tensor x = make_bytes(HUSK_I8, 4, x_shape, TEST_PACKED, 1);
    test_tensor w = make_bytes(HUSK_I8, 4, w_shape, TEST_PACKED, 2);
    test_tensor y = test_output(dtype, 4, y_shape, TEST_PADDED), scale = make_scales(5, TEST_PACKED, 54, 1);
    operands o = {.params = HUSK_QUANTIZED_CONV_PARAMS(.groups = 1),
                  .x = &x,
                  .w = &w,
                  .y = &y,
                  .scale = dtype == HUSK_I32 ? NULL : &scale,
                  .y_quantization = dtype == HUSK_I8 ? &y_quantization : NULL};
    test_ok(call(&o, test_queue(), &w.tensor));
    test_fetch(&y);
    husk_ref_quantized_conv op = op_of(&o);
    husk_ref_function function = husk_ref_quantized_conv_function(&op);
    test_planted(&function, &y.array, check, &op);
    test_planted_guards(&y);
    test_release_all();
}
END_TEST

// ---- bad input ----

typedef struct bad_case {
    husk_quantized_conv_params params;
    const husk_tensor *x, *w, *scale, *bias, *y;
    const husk_quantization *x_quantization, *y_quantization;
} bad_case;

static void refuse(husk_status wanted, const char *argument, const bad_case *bad)
{
    test_refused(husk_quantized_conv(test_silent_queue(), &bad->params, bad->x, bad->x_quantization, bad->w, bad->scale,
                                     bad->bias, bad->y, bad->y_quantization),
                 wanted, argument);
    const char *text = husk_queue_error(test_silent_queue())->text;
    ck_assert_msg(strncmp(text, "husk_quantized_conv: ", 21) == 0, "%s", text);
}

// A batch of nothing has images' sizes, too.
START_TEST(empty_batches_of_too_much)
{
    husk_buffer *none = NULL;
    const int64_t side = INT32_MAX / 4, shape[] = {0, 1, side, side, 1}, filter[] = {1, 1, 1, 1, 1};
    const husk_tensor x = husk_tensor_make(none, HUSK_U8, 5, shape), w = husk_tensor_make(none, HUSK_I8, 5, filter);
    const husk_tensor y = husk_tensor_make(none, HUSK_I32, 5, shape);
    const husk_quantized_conv_params params = HUSK_QUANTIZED_CONV_PARAMS(.groups = 1, .pad = {side, side, side});
    husk_error error;
    husk_plan *plan = NULL;
    const husk_status status =
        husk_quantized_conv_plan_create(test_context(), &params, &x, &w, NULL, NULL, &y, &plan, &error);
    ck_assert_msg(status == HUSK_INVALID_ARGUMENT || status == HUSK_UNSUPPORTED, "%s", husk_status_name(status));
    ck_assert_ptr_null(plan);
}
END_TEST

START_TEST(bad_input)
{
    const int64_t x_shape[] = {1, 4, 6, 6}, w_shape[] = {6, 4, 3, 3}, y_shape[] = {1, 6, 4, 4};
    const int64_t other_w[] = {6, 5, 3, 3}, large_w[] = {6, 4, 9, 3}, three[] = {1, 4, 6}, four = 4;
    test_tensor x = make_bytes(HUSK_I8, 4, x_shape, TEST_PACKED, 1);
    test_tensor w = make_bytes(HUSK_I8, 4, w_shape, TEST_PACKED, 2),
                wu = make_bytes(HUSK_U8, 4, w_shape, TEST_PACKED, 2);
    test_tensor w5 = make_bytes(HUSK_I8, 4, other_w, TEST_PACKED, 2),
                w9 = make_bytes(HUSK_I8, 4, large_w, TEST_PACKED, 2);
    test_tensor x3 = make_bytes(HUSK_I8, 3, three, TEST_PACKED, 2);
    test_tensor y = test_output(HUSK_F32, 4, y_shape, TEST_PACKED);
    test_tensor sums = test_output(HUSK_I32, 4, y_shape, TEST_PACKED),
                long_y = test_output(HUSK_I64, 4, y_shape, TEST_PACKED);
    test_tensor bytes = test_output(HUSK_U8, 4, y_shape, TEST_PACKED);
    test_tensor scale = make_scales(6, TEST_PACKED, 36, 1), narrow = make_scales(four, TEST_PACKED, 8, 1);
    const husk_quantization fine = {0.5f, 3}, high = {0.5f, 128}, below = {0.5f, -1}, none = {INFINITY, 0};
    const bad_case good = {
        HUSK_QUANTIZED_CONV_PARAMS(.groups = 1), &x.tensor, &w.tensor, &scale.tensor, NULL, &y.tensor, &fine, NULL};
    bad_case bad = good;
#define REFUSE(status, argument, member, value) \
    bad = good;                                 \
    bad.member = value;                         \
    refuse(status, argument, &bad);
    REFUSE(HUSK_INVALID_ARGUMENT, "x", x, NULL)
    REFUSE(HUSK_INVALID_ARGUMENT, "w", w, NULL)
    REFUSE(HUSK_INVALID_ARGUMENT, "y", y, NULL)
    REFUSE(HUSK_INVALID_ARGUMENT, "w_scale", scale, NULL)
    REFUSE(HUSK_UNSUPPORTED, "x", x, &y.tensor)
    REFUSE(HUSK_UNSUPPORTED, "w", w, &wu.tensor)
    REFUSE(HUSK_UNSUPPORTED, "y", y, &long_y.tensor)
    REFUSE(HUSK_UNSUPPORTED, "w_scale", scale, &x.tensor)
    REFUSE(HUSK_UNSUPPORTED, "bias", bias, &sums.tensor)
    REFUSE(HUSK_INVALID_ARGUMENT, "w_scale", scale, &narrow.tensor)
    REFUSE(HUSK_INVALID_ARGUMENT, "bias", bias, &narrow.tensor)
    const husk_tensor deep = {.buffer = scale.tensor.buffer, .rank = HUSK_MAX_RANK + 1}; // its strides end before
    REFUSE(HUSK_INVALID_ARGUMENT, "w_scale", scale, &deep)
    REFUSE(HUSK_INVALID_ARGUMENT, "bias", bias, &deep)
    REFUSE(HUSK_INVALID_ARGUMENT, "w", w, &w5.tensor)
    REFUSE(HUSK_INVALID_ARGUMENT, "w", w, &w9.tensor)
    REFUSE(HUSK_INVALID_ARGUMENT, "w", x, &x3.tensor)
    REFUSE(HUSK_INVALID_ARGUMENT, "y", params.pad[0], 1)
    REFUSE(HUSK_INVALID_ARGUMENT, "stride[1]", params.stride[1], -1)
    REFUSE(HUSK_INVALID_ARGUMENT, "groups", params.groups, 3)
    REFUSE(HUSK_INVALID_ARGUMENT, "x_quantization", x_quantization, &high)
    REFUSE(HUSK_INVALID_ARGUMENT, "x_quantization", x_quantization, &none)
    REFUSE(HUSK_INVALID_ARGUMENT, "y_quantization", y_quantization, &fine)
    REFUSE(HUSK_INVALID_ARGUMENT, "w_scale", y, &sums.tensor)
    REFUSE(HUSK_INVALID_ARGUMENT, "params", params.activation, (husk_act)99)
    REFUSE(HUSK_INVALID_ARGUMENT, "params", params.size, 9999)
    REFUSE(HUSK_INVALID_ARGUMENT, "winograd", params.variant, "winograd")
    bad = good;
    bad.y = &bytes.tensor;
    bad.y_quantization = &below;
    refuse(HUSK_INVALID_ARGUMENT, "y_quantization", &bad);
    husk_tensor other = x.tensor;
    other.offset += 64; // its end is past the buffer's
    REFUSE(HUSK_INVALID_ARGUMENT, "x", x, &other)
    other = y.tensor;
    for (int d = 0; d < 4; d++)
        other.strides[d] = 1;
    REFUSE(HUSK_INVALID_ARGUMENT, "y", y, &other)
    other = y.tensor;
    other.buffer = NULL;
    REFUSE(HUSK_INVALID_ARGUMENT, "y", y, &other)
    other = x.tensor;
    other.buffer = y.tensor.buffer; // y lies over x
    other.offset = y.tensor.offset * 4;
    REFUSE(HUSK_INVALID_ARGUMENT, "y", x, &other)
    test_untouched(&y);
    test_release_all();
}
END_TEST

// Padding so large that numbers of the image with it would overflow: of two dimensions to 2^64, of three to 2^90.
START_TEST(padding_without_bounds)
{
    static const int64_t x_shape[] = {1, 1, 2, 2, 2}, w_shape[] = {1, 1, 1, 1, 1};
    static const int64_t pads[] = {(INT64_C(1) << 31) - 1, (1 << 29) - 2};
    static const int64_t strides[] = {INT64_C(1) << 31, (1 << 29) - 1};
    static const char *const words[] = {"counts up to", "x with padding"};
    const int32_t rank = 4 + _i;
    const int64_t pad = pads[_i], stride = strides[_i];
    test_tensor x = make_bytes(HUSK_I8, rank, x_shape, TEST_PACKED, 1);
    test_tensor w = make_bytes(HUSK_I8, rank, w_shape, TEST_PACKED, 2);
    test_tensor y = test_output(HUSK_I32, rank, x_shape, TEST_PACKED);
    const bad_case bad = {.params =
                              HUSK_QUANTIZED_CONV_PARAMS(.pad = {pad, pad, pad}, .stride = {stride, stride, stride}),
                          .x = &x.tensor,
                          .w = &w.tensor,
                          .y = &y.tensor};
    refuse(HUSK_UNSUPPORTED, words[_i], &bad);
    test_untouched(&y);
    test_release_all();
}
END_TEST

// Packings of another shape or operator, and plans that do not fit the run.
START_TEST(bad_packings)
{
    const int64_t x_shape[] = {1, 4, 6, 6}, w_shape[] = {6, 4, 3, 3}, y_shape[] = {1, 6, 4, 4},
                  w2_shape[] = {6, 4, 1, 3};
    const int64_t y2_shape[] = {1, 6, 6, 4};
    test_tensor x = make_bytes(HUSK_I8, 4, x_shape, TEST_PACKED, 1),
                w = make_bytes(HUSK_I8, 4, w_shape, TEST_PACKED, 2);
    test_tensor w2 = make_bytes(HUSK_I8, 4, w2_shape, TEST_PACKED, 2);
    test_tensor y = test_output(HUSK_F32, 4, y_shape, TEST_PACKED),
                y2 = test_output(HUSK_F32, 4, y2_shape, TEST_PACKED);
    test_tensor scale = make_scales(6, TEST_PACKED, 8, 1);
    const husk_quantized_conv_params params = HUSK_QUANTIZED_CONV_PARAMS(.variant = "implicit_gemm:plain");
    husk_plan *plan, *plan2;
    husk_packed *packed, *packed2, *ignored;
    husk_error error;
    test_ok_error(husk_quantized_conv_plan_create(test_context(), &params, &x.tensor, &w.tensor, &scale.tensor, NULL,
                                                  &y.tensor, &plan, &error),
                  &error);
    test_ok_error(husk_quantized_conv_plan_create(test_context(), &params, &x.tensor, &w2.tensor, &scale.tensor, NULL,
                                                  &y2.tensor, &plan2, &error),
                  &error);
    test_ok(husk_quantized_conv_plan_pack(plan, test_queue(), &w.tensor, &packed));
    test_ok(husk_quantized_conv_plan_pack(plan2, test_queue(), &w2.tensor, &packed2));
    const husk_tensor weights = husk_packed_tensor(packed), weights2 = husk_packed_tensor(packed2);
    husk_queue *queue = test_silent_queue();
#define RUN(x_, w_, scale_, bias_, y_) \
    husk_quantized_conv_plan_run(plan, queue, x_, NULL, w_, scale_, bias_, y_, NULL)
    test_refused(RUN(&x.tensor, &weights2, &scale.tensor, NULL, &y.tensor), HUSK_INVALID_ARGUMENT, "w");
    test_refused(RUN(&weights, &weights, &scale.tensor, NULL, &y.tensor), HUSK_INVALID_ARGUMENT, "x");
    test_refused(RUN(&x.tensor, &weights, NULL, NULL, &y.tensor), HUSK_INVALID_ARGUMENT, "w_scale");
    test_refused(RUN(&x.tensor, &weights, &scale.tensor, &scale.tensor, &y.tensor), HUSK_INVALID_ARGUMENT, "bias");
    test_refused(RUN(&x.tensor, &weights, &scale.tensor, NULL, &y2.tensor), HUSK_INVALID_ARGUMENT, "y");
    test_refused(RUN(&x.tensor, NULL, &scale.tensor, NULL, &y.tensor), HUSK_INVALID_ARGUMENT, "w");
    test_refused(husk_quantized_conv_plan_pack(plan, queue, &weights, &ignored), HUSK_INVALID_ARGUMENT, "w");
    test_refused(husk_quantized_conv_plan_pack(plan, queue, &w2.tensor, &ignored), HUSK_INVALID_ARGUMENT, "w");
    test_untouched(&y);
    husk_packed_release(packed);
    husk_packed_release(packed2);
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
    tcase_add_loop_test(tests, options_and_outputs, 0, 12);
    tcase_add_loop_test(tests, one_filter_for_each_channel, 0, 4);
    tcase_add_test(tests, smooth_activations);
    tcase_add_loop_test(tests, known_layers, 0, 2 * LAYERS);
    tcase_add_loop_test(tests, special_values, 0, 4);
    tcase_add_loop_test(tests, nothing, 0, 3);
    tcase_add_test(tests, image_without_rows);
    tcase_add_loop_test(tests, ten_runs_agree, 0, 2);
    tcase_add_loop_test(tests, the_check_sees_mistakes, 0, 3);
    tcase_add_test(tests, bad_input);
    tcase_add_test(tests, empty_batches_of_too_much);
    tcase_add_loop_test(tests, padding_without_bounds, 0, 2);
    tcase_add_test(tests, bad_packings);
    tcase_add_test(tests, enough_configurations);
    return test_main(suite);
}
