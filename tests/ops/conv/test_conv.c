// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=300
// Convolution against the reference: every variant, option, layout and way of calling.
#include "conv_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "conv_refusals.h"

// In the tier "dtypes" the other dtypes in turns.
static husk_dtype tier_dtype(int i)
{
    return test_tier_is("dtypes") ? test_dtype(i) : HUSK_F32;
}

static void narrow(conv_case *c, husk_ref_random *random, int i)
{
    c->dtype = tier_dtype(i);
    if (c->dtype == HUSK_F32 || c->dtype == HUSK_F64)
        return;
    c->y_is_wide = test_one_in(random, 5);
    c->bias_is_wide = test_one_in(random, 2);
}

enum { GENERATED = 260, GENERATED_EACH = 60, ATTEMPTS = 40 };

// Outputs times products of one configuration: what the reference does in a few milliseconds.
static double most_products(void)
{
    return test_is_long() ? 4e6 : 4e5;
}

// ---- configurations by chance ----

static void draw_space(husk_ref_random *random, conv_case *c)
{
    static const int64_t limits[] = {0, 300, 40, 10};
    for (int32_t i = 0; i < c->space; ++i) {
        c->in[i] = test_pick_size(random, c->space == 3 ? 4 : 16, limits[c->space]);
        c->filter[i] =
            c->space == 1 ? TEST_PICK(random, 1, 2, 3, 5, 9, 31) : TEST_PICK(random, 1, 1, 2, 3, 3, 3, 4, 5, 7);
        c->params.stride[i] = TEST_PICK(random, 0, 1, 1, 2, 2, 3, 5);
        c->params.dilation[i] = TEST_PICK(random, 0, 1, 1, 1, 2, 3);
        c->params.pad[i] = test_one_in(random, 2) ? 0 : husk_ref_random_below(random, c->filter[i] + 2);
        c->params.pad_end_extra[i] = test_one_in(random, 2) ? 0 : TEST_PICK(random, 0, 1, 2, 4) - c->params.pad[i];
    }
}

static void make_depthwise(husk_ref_random *random, conv_case *c)
{
    c->groups = test_pick_size(random, 16, 50);
    c->channels = 1;
    c->filters = TEST_PICK(random, 1, 1, 2, 3);
}

static void make_winograd(husk_ref_random *random, conv_case *c)
{
    c->space = 2;
    for (int32_t i = 0; i < 2; ++i) {
        c->in[i] = test_pick_size(random, 16, 70);
        c->filter[i] = 3;
        c->params.stride[i] = c->params.dilation[i] = TEST_PICK(random, 0, 1);
    }
}

static void draw_channels(husk_ref_random *random, conv_case *c)
{
    c->groups = test_one_in(random, 3) ? TEST_PICK(random, 2, 3, 4, 17) : 1;
    c->channels = test_pick_size(random, 8, 40);
    c->filters = test_pick_size(random, test_one_in(random, 2) ? 13 : 16, 70);
    if (test_one_in(random, 5))
        make_depthwise(random, c);
}

static void draw_rest(husk_ref_random *random, conv_case *c)
{
    c->batch = TEST_PICK(random, 1, 1, 1, 2, 3);
    c->params.activation =
        test_one_in(random, 2) ? HUSK_ACT_NONE : (husk_act)husk_ref_random_below(random, HUSK_ACT_TANH + 1);
    c->params.activation_slope = test_one_in(random, 2) ? 0.0f : 0.25f;
    // A few filters whose bias is negative leave nothing but zeros behind ReLU: that would prove nothing.
    const bool is_relu = c->params.activation == HUSK_ACT_RELU || c->params.activation == HUSK_ACT_RELU6;
    c->has_bias = test_one_in(random, 2) && !(is_relu && c->groups * c->filters < 8);
    c->x_layout = test_pick_layout(random);
    c->y_layout = test_pick_layout(random);
    c->w_layout = test_one_in(random, 4) ? test_pick_layout(random) : TEST_PACKED;
    c->amid_nan = test_one_in(random, 3);
    c->seed = (uint64_t)husk_ref_random_below(random, 1 << 30);
}

static conv_case draw(husk_ref_random *random, const char *variant)
{
    const bool is_winograd = variant && strncmp(variant, "winograd", 8) == 0;
    const bool is_depthwise = variant && strstr(variant, "depthwise");
    for (;;) {
        conv_case c = {.space = (int32_t)TEST_PICK(random, 1, 2, 2, 2, 3)};
        draw_channels(random, &c);
        if (is_depthwise && !test_one_in(random, 20)) {
            make_depthwise(random, &c);
            if (strcmp(variant, "depthwise") == 0 && c.space == 3)
                c.space = 2;
        }
        draw_space(random, &c);
        draw_rest(random, &c);
        if (is_winograd && !test_one_in(random, 20))
            make_winograd(random, &c);
        if (conv_case_is_valid(&c) && conv_case_products(&c) <= most_products())
            return c;
    }
}

START_TEST(generated_by_own_choice)
{
    husk_ref_random random = {.seed = 2024};
    const int count = test_is_long() ? 10 * GENERATED : GENERATED;
    test_begin_draws();
    for (int i = 0; i < count; ++i) {
        conv_case c = draw(&random, NULL);
        narrow(&c, &random, i / 4);
        conv_test(&c, NULL, (conv_way)(i % CONV_WAYS));
    }
    test_end_draws();
}
END_TEST

// tests/ops/conv/test_conv_matrix.c and test_conv_cpu_matrix.c have those.
static bool needs_engine(const char *variant)
{
    return strcmp(variant, "matrix") == 0 || strcmp(variant, "cpu_matrix") == 0;
}

START_TEST(generated_for_every_variant)
{
    const char *variant = husk_op_variant("conv", (size_t)_i);
    if (!variant || needs_engine(variant))
        return;
    husk_ref_random random = {.seed = 77 + (uint64_t)_i};
    const int wanted = test_is_long() ? 10 * GENERATED_EACH : GENERATED_EACH;
    int ran = 0;
    test_begin_draws();
    for (int i = 0; i < wanted * ATTEMPTS && ran < wanted; ++i) {
        conv_case c = draw(&random, variant);
        narrow(&c, &random, i / 4);
        ran += conv_test(&c, variant, (conv_way)(i % CONV_WAYS));
    }
    test_end_draws();
    ck_assert_msg(ran == wanted, "%s ran %d of %d configurations", variant, ran, wanted);
}
END_TEST

// ---- configurations by hand ----

static conv_case plain_case(int64_t channels, int64_t filters, int64_t extent, int64_t filter, int64_t pad)
{
    return (conv_case){.space = 2,
                       .batch = 1,
                       .groups = 1,
                       .channels = channels,
                       .filters = filters,
                       .in = {extent, extent},
                       .filter = {filter, filter},
                       .params = {.pad = {pad, pad}},
                       .has_bias = true,
                       .seed = 5,
                       .dtype = tier_dtype((int)(channels + filters))};
}

// A few in the default tier, with as few programs: the rest is in the tier "dtypes".
START_TEST(narrow_ones)
{
    static const char *const variants[] = {"implicit_gemm", "winograd_2x2", "depthwise", "direct_positions",
                                           "tiled:32x32"};
    const char *variant = variants[_i];
    for (int i = 0; i < 2; ++i) {
        conv_case c = plain_case(i ? 150 : 3, 20, 17, 3, 1);
        if (strstr(variant, "depthwise")) {
            c.groups = 20;
            c.channels = c.filters = 1;
        }
        c.dtype = _i % 2 ? HUSK_BF16 : HUSK_F16;
        c.bias_is_wide = i;
        c.y_is_wide = i && strstr(variant, "gemm");
        conv_test(&c, variant, i ? CONV_PLAN_PACKED : CONV_CALL);
    }
}
END_TEST

static void test_everywhere(const conv_case *c)
{
    const char *variant;
    conv_test(c, NULL, CONV_CALL);
    for (size_t i = 0; (variant = husk_op_variant("conv", i)); ++i)
        conv_test(c, variant, CONV_PLAN_PACKED);
}

START_TEST(edges_of_the_tiles)
{
    for (int64_t filters = 12; filters <= 14; ++filters)
        for (int64_t extent = 31; extent <= 33; ++extent) {
            const conv_case c = {.space = 1,
                                 .batch = 1,
                                 .groups = 1,
                                 .channels = 4,
                                 .filters = filters,
                                 .in = {extent},
                                 .filter = {3},
                                 .params = {.pad = {1}},
                                 .seed = 9};
            conv_test(&c, "implicit_gemm", CONV_CALL);
            conv_test(&c, "direct_filters", CONV_CALL);
            conv_test(&c, "direct_patches", CONV_CALL);
            conv_test(&c, "direct_positions", CONV_CALL);
            conv_test(&c, "tiled:32x32", CONV_CALL);
        }
    for (int64_t extent = 1; extent <= 9; ++extent) {
        const conv_case c = plain_case(3, 14, extent, 3, 1);
        test_everywhere(&c);
    }
}
END_TEST

START_TEST(filter_larger_than_the_image)
{
    conv_case c = plain_case(2, 5, 4, 9, 8);
    test_everywhere(&c);
    c.in[0] = 1;
    c.params.stride[1] = 3;
    c.params.dilation[0] = 2;
    test_everywhere(&c);
    c = plain_case(1, 2, 3, 3, 40); // mostly padding, tiles and rows entirely so
    test_everywhere(&c);
}
END_TEST

// Filters of one element, whose only row of outputs lies before the image, or where there is none.
START_TEST(row_that_is_all_padding)
{
    conv_case c = plain_case(3, 14, 20, 1, 0);
    c.in[0] = 1;
    c.params.pad[0] = 1;
    c.params.pad_end_extra[0] = -1;
    c.params.stride[0] = 2;
    test_everywhere(&c);
    c.in[0] = 3;
    c.params.stride[0] = 4;
    test_everywhere(&c);
    c.in[0] = 0;
    c.params.pad[0] = 0;
    c.params.pad_end_extra[0] = 1;
    test_everywhere(&c);
}
END_TEST

// Rows that fill a vector, half of one or a few; the second plane of a pair that is not there.
START_TEST(depthwise_planes_of_every_width)
{
    static const int64_t widths[] = {2, 4, 7, 8, 9, 14, 16, 17, 31, 33, 70};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; ++i)
        for (int64_t filter = 3; filter <= 7; filter += 2)
            for (int64_t stride = 1; stride <= 2; ++stride)
                for (int channels_last = 0; channels_last < 2; ++channels_last) {
                    const int64_t pad = (int64_t)(i + (size_t)stride) % 3;
                    conv_case c = plain_case(1, 1, widths[i], filter, pad);
                    c.groups = 5 + 16 * channels_last;
                    c.filters = i % 3 == 0 && !channels_last ? 2 : 1;
                    c.batch = 1 + (int64_t)i % 2;
                    c.in[0] = widths[i] + (int64_t)i % 5;
                    c.has_bias = i % 2;
                    c.params.activation = i % 2 ? HUSK_ACT_RELU6 : HUSK_ACT_NONE;
                    c.params.stride[0] = c.params.stride[1] = stride;
                    c.x_layout = c.y_layout = channels_last ? TEST_CHANNELS_LAST : TEST_PACKED;
                    if (conv_case_is_valid(&c))
                        conv_test(&c, "depthwise", CONV_PLAN_PACKED);
                }
}
END_TEST

// Planes of several blocks of rows, and rows of more strips than masks are kept for.
START_TEST(depthwise_planes_of_several_blocks)
{
    static const int64_t extents[][2] = {{50, 120}, {45, 203}, {19, 530}, {21, 1090}};
    for (size_t i = 0; i < sizeof extents / sizeof *extents; ++i)
        for (int64_t filter = 3; filter <= 5; filter += 2)
            for (int64_t stride = 1; stride <= 2; ++stride) {
                conv_case c = plain_case(1, 1, extents[i][1], filter, filter / 2);
                c.groups = 3;
                c.in[0] = extents[i][0];
                c.params.activation = stride == 1 ? HUSK_ACT_LEAKY_RELU : HUSK_ACT_RELU;
                c.params.activation_slope = 0.25f;
                c.params.stride[0] = c.params.stride[1] = stride;
                conv_test(&c, "depthwise", CONV_PLAN_PACKED);
            }
}
END_TEST

START_TEST(wide_filter_in_one_dimension)
{
    conv_case c = {.space = 1,
                   .batch = 2,
                   .groups = 1,
                   .channels = 2,
                   .filters = 3,
                   .in = {2600},
                   .filter = {700},
                   .params = {.pad = {300}, .stride = {7}, .dilation = {2}},
                   .has_bias = true,
                   .seed = 3};
    conv_test(&c, "implicit_gemm", CONV_CALL);
    conv_test(&c, "tiled", CONV_CALL);
    c.params.stride[0] = 1400; // columns further apart than the copied row is long
    conv_test(&c, "implicit_gemm", CONV_CALL);
}
END_TEST

START_TEST(several_blocks_of_depth)
{
    // Partial sums wait in y: deep filters, whole and partial tiles, packed and strided y.
    conv_case c = plain_case(150, 14, 9, 3, 1);
    for (int layout = 0; layout < TEST_LAYOUTS; ++layout) {
        c.y_layout = (test_layout)layout;
        c.params.activation = HUSK_ACT_RELU;
        conv_test(&c, "implicit_gemm", CONV_CALL);
    }
}
END_TEST

static void set_all(test_tensor *tensor, double value)
{
    int64_t index[HUSK_MAX_RANK] = {0};
    do
        husk_ref_store(&tensor->array, husk_ref_offset(&tensor->array, index), value);
    while (husk_ref_index_next(tensor->array.rank, tensor->array.shape, index));
    test_input_update(tensor);
}

// Deep filters whose products are all alike: errors of one sign. Whole and partial tiles of y, narrow ones, f32 of f16.
START_TEST(many_terms_of_one_sign)
{
    static const int64_t sizes[][3] = {{30000, 9, 1}, {30000, 3, 1}, {4000, 5, 3}, {30000, 9, 1}};
    conv_case c = plain_case(sizes[_i][0], 14, sizes[_i][1], sizes[_i][2], 0);
    conv_tensors t;
    char text[400];
    c.dtype = _i == 3 ? HUSK_F16 : HUSK_F32;
    c.y_is_wide = _i == 3;
    c.y_layout = _i == 2 ? TEST_CHANNELS_LAST : TEST_PACKED;
    conv_make(&c, "implicit_gemm", &t);
    set_all(&t.x, 0.7);
    set_all(&t.w, 0.1);
    husk_plan *plan = conv_plan(&c, &t, "implicit_gemm");
    conv_run(&c, &t, plan, CONV_PLAN);
    husk_ref_conv op = conv_reference(&c, &t, plan);
    husk_ref_report report = {0};
    husk_ref_conv_check(&op, c.seed, &t.y.array, &report);
    test_accept("conv", "implicit_gemm", conv_case_text(&c, CONV_PLAN, text), &report);
    husk_ref_conv_release(&op);
    husk_plan_release(plan);
    conv_release(&t);
}
END_TEST

// Steps of a packing kernel and images: more than such kernels have work-groups in a dimension.
START_TEST(work_items_go_on_from_the_last_group)
{
    conv_case c = plain_case(4096, 2, 2, 3, 1);
    conv_test(&c, "tiled:32x32", CONV_CALL);
    c = plain_case(1, 1, 2, 1, 0);
    c.batch = 33000;
    conv_test(&c, "tiled_depthwise", CONV_CALL);
    c = plain_case(1, 1, 2, 1, 0); // blocks of lines in two dimensions, of which the last is of no group
    c.groups = 32769;
    conv_test(&c, "tiled:32x32", CONV_CALL);
}
END_TEST

START_TEST(winograd_tiles_in_regions_and_blocks)
{
    static const char *const variants[] = {"winograd_2x2", "winograd_4x4"};
    for (size_t i = 0; i < 2; ++i)
        for (int layout = 0; layout < TEST_LAYOUTS; ++layout) {
            conv_case c = plain_case(17, 5, 3, 3, 1); // a row of tiles that takes several regions
            c.in[1] = 270;
            c.x_layout = c.y_layout = (test_layout)layout;
            c.params.activation = HUSK_ACT_RELU;
            conv_test(&c, variants[i], CONV_PLAN_PACKED);
            c = plain_case(33, 18, 7, 3, 1); // blocks that end amid a row, images that end amid a block
            c.batch = 5;
            c.x_layout = c.y_layout = (test_layout)layout;
            conv_test(&c, variants[i], CONV_CALL);
        }
    conv_case c = plain_case(4, 4, 90, 3, 1); // tensors that do not fit a second-level cache
    c.batch = 9;
    conv_test(&c, "winograd_4x4", CONV_PLAN_PACKED);
}
END_TEST

START_TEST(direct_convolution_cuts_rows_and_filters)
{
    // Tiles and panels of every height, rows in place and staged, blocks of rows and parts of long rows.
    static const char *const variants[] = {"direct_filters", "direct_patches", "direct_positions"};
    for (size_t v = 0; v < sizeof variants / sizeof *variants; ++v) {
        for (int64_t size = 1; size <= 40; ++size) {
            conv_case c = plain_case(5, 41 - size, size, 1, size % 3 == 0);
            c.in[0] = 3;
            c.filter[0] = 2;
            conv_test(&c, variants[v], CONV_CALL);
            c.params.stride[1] = 2;
            conv_test(&c, variants[v], CONV_PLAN_PACKED);
        }
        conv_case c = plain_case(3, 33, 1, 5, 0);
        c.batch = 2;
        c.in[0] = 8;
        c.in[1] = 1500; // a row is several blocks
        conv_test(&c, variants[v], CONV_CALL);
        c.params.pad[1] = 2;
        c.params.stride[1] = 3;
        conv_test(&c, variants[v], CONV_CALL);
        c = plain_case(700, 35, 7, 3, 1); // rows do not all fit at once, and partial sums wait
        c.params.activation = HUSK_ACT_RELU;
        conv_test(&c, variants[v], CONV_PLAN_PACKED);
        c.y_layout = TEST_CHANNELS_LAST;
        conv_test(&c, variants[v], CONV_CALL);
    }
}
END_TEST

START_TEST(every_activation_of_every_variant)
{
    const char *variant;
    for (size_t i = 0; (variant = husk_op_variant("conv", i)); ++i)
        for (int act = HUSK_ACT_NONE; act <= HUSK_ACT_TANH && !needs_engine(variant); ++act) {
            conv_case c = plain_case(strstr(variant, "depthwise") ? 1 : 5, 3, 12, 3, 1);
            c.groups = strstr(variant, "depthwise") ? 5 : 1;
            c.params.activation = (husk_act)act;
            ck_assert_msg(conv_test(&c, variant, CONV_CALL), "%s refused", variant);
        }
}
END_TEST

START_TEST(all_configurations_by_name)
{
    // The last one, 64x64 once more with other work-items, is a program that the default tier does without.
    static const char *const names[] = {"tiled:128x128",          "tiled:64x64",      "tiled:32x32",
                                        "tiled_depthwise:direct", "depthwise:direct", "tiled:64x64_small"};
    const size_t count = sizeof names / sizeof *names - !test_is_long();
    for (size_t i = 0; i < count; ++i) {
        conv_case c = plain_case(1, 70, 15, 3, 2);
        conv_test(&c, names[i], CONV_PLAN_PACKED);
    }
}
END_TEST

// ---- nothing to do, and nothing to add up ----

START_TEST(empty_batch_does_nothing)
{
    conv_case c = plain_case(3, 4, 5, 3, 1);
    c.batch = 0;
    conv_tensors t;
    conv_make(&c, NULL, &t);
    test_ok(husk_conv(test_queue(), &t.params, &t.x.tensor, &t.w.tensor, &t.bias.tensor, &t.y.tensor));
    test_untouched(&t.y);
    husk_plan *plan = conv_plan(&c, &t, NULL);
    husk_packed *packed = conv_pack(plan, &t);
    const husk_tensor w = husk_packed_tensor(packed);
    test_ok(husk_conv_plan_run(plan, test_queue(), &t.x.tensor, &w, &t.bias.tensor, &t.y.tensor));
    test_untouched(&t.y);
    husk_packed_release(packed);
    husk_plan_release(plan);
    conv_release(&t);
}
END_TEST

START_TEST(no_channels_give_the_bias)
{
    conv_case c = plain_case(0, 14, 5, 3, 1);
    for (int way = 0; way < CONV_WAYS; ++way) {
        conv_test(&c, "implicit_gemm", (conv_way)way);
        conv_test(&c, "tiled", (conv_way)way);
    }
    static const char *const wide[] = {"direct_filters", "direct_patches", "direct_positions"};
    conv_case row = plain_case(0, 3, 5, 1, 0);
    row.in[1] = 120;
    row.filter[1] = 100; // longer than any room that is left over
    for (size_t v = 0; v < sizeof wide / sizeof *wide; ++v)
        conv_test(&row, wide[v], CONV_CALL);
    c.in[1] = 0; // no image either: y is all padding
    c.channels = 3;
    c.params.pad[1] = 2;
    test_everywhere(&c);
    c.groups = 5;
    c.channels = c.filters = 1;
    test_everywhere(&c);
}
END_TEST

START_TEST(no_filters_do_nothing)
{
    const conv_case c = plain_case(3, 0, 5, 3, 1);
    conv_test(&c, NULL, CONV_CALL);
    conv_test(&c, NULL, CONV_PLAN_PACKED);
}
END_TEST

// ---- NaN, repetition, choice ----

START_TEST(nan_and_infinity_propagate)
{
    static const char *const variants[] = {"implicit_gemm", "tiled", "depthwise", "tiled_depthwise"};
    for (size_t i = 0; i < 8; ++i) {
        conv_case c = plain_case(1, 2, 20, 3, 1);
        const char *variant = variants[i / 2];
        c.params.activation = HUSK_ACT_RELU;
        c.params.stride[0] = c.params.stride[1] = 1 + (int64_t)i % 2;
        conv_tensors t;
        conv_make(&c, variant, &t);
        husk_ref_store(&t.x.array, husk_ref_offset(&t.x.array, (int64_t[]){0, 0, 3, 4}), NAN);
        husk_ref_store(&t.x.array, husk_ref_offset(&t.x.array, (int64_t[]){0, 0, 12, 19}), INFINITY);
        test_input_update(&t.x);
        husk_plan *plan = conv_plan(&c, &t, variant);
        conv_run(&c, &t, plan, CONV_PLAN);
        husk_ref_conv op = conv_reference(&c, &t, plan);
        husk_ref_report report = {0};
        husk_ref_conv_check(&op, 1, &t.y.array, &report);
        test_accept("conv", variant, "NaN and infinity", &report);
        husk_ref_conv_release(&op);
        husk_plan_release(plan);
        conv_release(&t);
    }
}
END_TEST

START_TEST(ten_runs_are_bitwise_equal)
{
    const char *variant;
    for (size_t v = 0; (variant = husk_op_variant("conv", v)); ++v) {
        if (needs_engine(variant))
            continue;
        conv_case c =
            plain_case(strstr(variant, "depthwise") ? 1 : 40, strstr(variant, "depthwise") ? 1 : 30, 30, 3, 1);
        c.groups = strstr(variant, "depthwise") ? 40 : 1;
        conv_tensors t;
        conv_make(&c, variant, &t);
        husk_plan *plan = conv_plan(&c, &t, variant);
        conv_run(&c, &t, plan, CONV_PLAN);
        const size_t bytes = (size_t)t.y.words * 4;
        void *first = malloc(bytes);
        memcpy(first, t.y.current, bytes);
        for (int i = 0; i < 9; ++i) {
            test_restore(&t.y);
            conv_run(&c, &t, plan, i % 2 ? CONV_PLAN : CONV_CALL);
            ck_assert_msg(memcmp(first, t.y.current, bytes) == 0, "%s differs in run %d", variant, i + 2);
        }
        free(first);
        husk_plan_release(plan);
        conv_release(&t);
    }
}
END_TEST

START_TEST(new_shape_compiles_nothing)
{
    static const char *const variants[] = {"implicit_gemm", "winograd_2x2", "winograd_4x4", "tiled:32x32"};
    for (size_t i = 0; i < 4; ++i) {
        husk_program_stats before, after;
        conv_case c = plain_case(4, 5, 12, 3, 1);
        conv_test(&c, variants[i], CONV_CALL);
        husk_context_program_stats(test_context(), &before);
        c = plain_case(7, 17, 19, 3, 2);
        c.batch = 2;
        c.params.activation = HUSK_ACT_LEAKY_RELU;
        c.params.activation_slope = 0.25f;
        conv_test(&c, variants[i], CONV_CALL);
        husk_context_program_stats(test_context(), &after);
        ck_assert_uint_eq(after.builds + after.cache_loads, before.builds + before.cache_loads);
    }
}
END_TEST

START_TEST(named_variant_is_taken)
{
    conv_case c = plain_case(16, 16, 12, 3, 1);
    conv_tensors t;
    conv_make(&c, "tiled:32x32", &t);
    husk_plan *plan = conv_plan(&c, &t, "tiled:32x32");
    ck_assert_str_eq(husk_plan_variant(plan), "tiled");
    ck_assert_str_eq(husk_plan_configuration(plan), "32x32");
    husk_plan_release(plan);
    t.params.variant = NULL;
    t.params.workspace_limit = 1; // not even the packing of weights
    plan = NULL;
    husk_error error = {0};
    ck_assert_int_eq(
        husk_conv_plan_create(test_context(), &t.params, &t.x.tensor, &t.w.tensor, NULL, &t.y.tensor, &plan, &error),
        HUSK_UNSUPPORTED);
    conv_release(&t);
}
END_TEST

static husk_plan *plan_elsewhere(husk_context *context, const conv_tensors *t)
{
    husk_plan *plan = NULL;
    husk_error error = {0};
    test_ok_error(
        husk_conv_plan_create(context, &t->params, &t->x.tensor, &t->w.tensor, NULL, &t->y.tensor, &plan, &error),
        &error);
    return plan;
}

START_TEST(environment_names_a_variant)
{
    conv_case c = plain_case(16, 16, 12, 3, 1);
    conv_tensors t;
    husk_error error = {0};
    husk_context *context = NULL;
    conv_make(&c, NULL, &t);
    setenv("HUSK_VARIANT", "gemm:packed,conv:tiled:32x32", 1);
    test_ok_error(husk_context_create(NULL, NULL, &context, &error), &error);
    husk_plan *plan = plan_elsewhere(context, &t);
    unsetenv("HUSK_VARIANT");
    ck_assert_str_eq(husk_plan_variant(plan), "tiled");
    ck_assert_str_eq(husk_plan_configuration(plan), "32x32");
    husk_plan_release(plan);
    t.params.variant = "implicit_gemm"; // the call's own word counts more
    plan = plan_elsewhere(context, &t);
    ck_assert_str_eq(husk_plan_variant(plan), "implicit_gemm");
    husk_plan_release(plan);
    husk_context_release(context);
    conv_release(&t);
}
END_TEST

START_TEST(prewarmed_plans_build_nothing)
{
    conv_case c = plain_case(64, 64, 28, 3, 1);
    conv_tensors t;
    husk_error error = {0};
    husk_context *context = NULL;
    husk_program_stats warm, after;
    conv_make(&c, NULL, &t);
    test_ok_error(husk_context_create(NULL, NULL, &context, &error), &error);
    test_ok_error(husk_context_prewarm(context, (const char *const[]){"conv"}, 1, &error), &error);
    husk_context_program_stats(context, &warm);
    ck_assert_uint_gt(warm.builds + warm.cache_loads, 0);
    husk_plan_release(plan_elsewhere(context, &t));
    husk_context_program_stats(context, &after);
    ck_assert_uint_eq(after.builds + after.cache_loads, warm.builds + warm.cache_loads);
    husk_context_release(context);
    conv_release(&t);
}
END_TEST

// ---- the check itself ----

static void check_outputs(void *user, const husk_ref_array *array, husk_ref_report *report)
{
    husk_ref_conv_check(user, 1, array, report);
}

START_TEST(planted_mistakes_are_found)
{
    static const char *const variants[] = {"implicit_gemm", "direct_filters", "direct_patches", "direct_positions",
                                           "winograd_4x4"};
    for (size_t i = 0; i < sizeof variants / sizeof *variants; ++i) {
        conv_case c = plain_case(6, 7, 20, 3, 1);
        conv_tensors t;
        conv_make(&c, variants[i], &t);
        husk_plan *plan = conv_plan(&c, &t, variants[i]);
        conv_run(&c, &t, plan, CONV_PLAN);
        husk_ref_conv op = conv_reference(&c, &t, plan);
        const husk_ref_function function = husk_ref_conv_function(&op);
        test_planted(&function, &t.y.array, check_outputs, &op);
        test_planted_guards(&t.y);
        husk_ref_conv_release(&op);
        husk_plan_release(plan);
        conv_release(&t);
    }
}
END_TEST

// Pixels times taps are more than 2^31. All ones: what lies inside has as many as the filter has taps.
START_TEST(many_taps_of_a_large_plane)
{
    enum { H = 8192, W = 16512, FILTER_H = 15, FILTER_W = 17 };
    const uint64_t bytes = 2ull * H * W;
    const uint32_t ones = 0x3f803f80; // two of bf16
    husk_error error = {0};
    husk_buffer *memory[3];
    for (int i = 0; i < 3; ++i) {
        test_ok_error(husk_buffer_create(test_context(), i ? bytes : 1024, &memory[i], &error), &error);
        test_ok(husk_buffer_fill(test_queue(), memory[i], 0, i ? bytes : 1024, &ones, 4));
    }
    const husk_tensor w = husk_tensor_make(memory[0], HUSK_BF16, 4, (const int64_t[]){1, 1, FILTER_H, FILTER_W});
    const husk_tensor x = husk_tensor_make(memory[1], HUSK_BF16, 4, (const int64_t[]){1, 1, H, W});
    const husk_tensor y = husk_tensor_make(memory[2], HUSK_BF16, 4, (const int64_t[]){1, 1, H, W});
    const husk_conv_params params = HUSK_CONV_PARAMS(.pad = {FILTER_H / 2, FILTER_W / 2});
    test_ok(husk_conv(test_queue(), &params, &x, &w, NULL, &y));
    static const int64_t places[][3] = {{H / 2, W / 2, FILTER_H * FILTER_W},
                                        {H - 8, W - 9, FILTER_H * FILTER_W},
                                        {0, 0, (FILTER_H / 2 + 1) * (FILTER_W / 2 + 1)},
                                        {H - 1, W - 1, (FILTER_H / 2 + 1) * (FILTER_W / 2 + 1)}};
    for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
        uint16_t got;
        test_ok(husk_buffer_read(test_queue(), memory[2], 2 * (uint64_t)(places[i][0] * W + places[i][1]), 2, &got));
        ck_assert_double_eq(husk_ref_bf16_load(got), (double)places[i][2]);
    }
    for (int i = 0; i < 3; ++i)
        husk_buffer_release(memory[i]);
}
END_TEST

START_TEST(enough_was_executed)
{
    ck_assert_msg(test_executed("conv") >= 400, "only %ld configurations", test_executed("conv"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("conv");
    TCase *generated = tcase_create("generated"), *edges = tcase_create("edges"), *rules = tcase_create("rules");
    tcase_set_timeout(generated, 600);
    tcase_set_timeout(edges, 600);
    tcase_set_timeout(rules, 600);
    tcase_add_test(generated, generated_by_own_choice);
    tcase_add_loop_test(generated, generated_for_every_variant, 0, 10);
    if (test_tier_is("dtypes")) {
        tcase_add_test(edges, edges_of_the_tiles);
        tcase_add_test(edges, filter_larger_than_the_image);
        tcase_add_test(edges, several_blocks_of_depth);
        tcase_add_test(edges, winograd_tiles_in_regions_and_blocks);
        tcase_add_test(edges, direct_convolution_cuts_rows_and_filters);
        tcase_add_test(edges, empty_batch_does_nothing);
        tcase_add_test(edges, no_channels_give_the_bias);
        suite_add_tcase(suite, generated);
        suite_add_tcase(suite, edges);
        return test_main(suite);
    }
    tcase_add_loop_test(generated, narrow_ones, 0, 5);
    if (test_is_long()) // 20 seconds, 540 MB
        tcase_add_test(edges, many_taps_of_a_large_plane);
    tcase_add_test(edges, edges_of_the_tiles);
    tcase_add_test(edges, filter_larger_than_the_image);
    tcase_add_test(edges, row_that_is_all_padding);
    tcase_add_test(edges, depthwise_planes_of_every_width);
    tcase_add_test(edges, depthwise_planes_of_several_blocks);
    tcase_add_test(edges, wide_filter_in_one_dimension);
    tcase_add_test(edges, several_blocks_of_depth);
    tcase_add_loop_test(edges, many_terms_of_one_sign, 0, 4);
    tcase_add_test(edges, work_items_go_on_from_the_last_group);
    tcase_add_test(edges, winograd_tiles_in_regions_and_blocks);
    tcase_add_test(edges, direct_convolution_cuts_rows_and_filters);
    tcase_add_test(edges, every_activation_of_every_variant);
    tcase_add_test(edges, all_configurations_by_name);
    tcase_add_test(edges, empty_batch_does_nothing);
    tcase_add_test(edges, no_channels_give_the_bias);
    tcase_add_test(edges, no_filters_do_nothing);
    tcase_add_test(rules, nan_and_infinity_propagate);
    tcase_add_test(rules, ten_runs_are_bitwise_equal);
    tcase_add_test(rules, new_shape_compiles_nothing);
    tcase_add_test(rules, named_variant_is_taken);
    tcase_add_test(rules, environment_names_a_variant);
    tcase_add_test(rules, prewarmed_plans_build_nothing);
    tcase_add_test(rules, planted_mistakes_are_found);
    conv_add_refusals(rules);
    tcase_add_test(rules, enough_was_executed);
    suite_add_tcase(suite, generated);
    suite_add_tcase(suite, edges);
    suite_add_tcase(suite, rules);
    return test_main(suite);
}
