// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=300 with=conv_backward_case
// The gradients of convolution by weights and bias: finite differences and adjoints; every variant against the
// reference; layouts, slices and blocks of positions, empty ones; bad input.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "conv_backward_case.h"
#include "ref/freivalds.h"

#define NAME "conv_backward_weights"

static const char *const variants[] = {NULL, "panels", "depthwise", "winograd", "tiled:32x32"};
enum { VARIANTS = sizeof variants / sizeof *variants, GENERATED = 110, DIFFERENCES = 24 };

static double most_products(void)
{
    return test_is_long() ? 4e6 : 4e5;
}

// ---- the reference is the gradient ----

// y = conv(x, w) + bias as a function of bias alone.
typedef struct with_bias {
    conv_backward_arrays a;
    husk_ref_array bias;
} with_bias;

static void run_forward(void *user)
{
    with_bias *f = user;
    f->a.op.bias = &f->bias;
    conv_backward_forward(&f->a);
}

START_TEST(finite_differences)
{
    husk_ref_random random = {.seed = 600 + (uint64_t)_i};
    conv_backward_case c = conv_backward_draw_meeting(&random, 3e4);
    with_bias f;
    conv_backward_arrays_make(&c, &f.a);
    conv_backward_arrays *a = &f.a;
    husk_ref_array dw = test_array(a->w.rank, c.w, 0, 0), dbias = test_array(1, &c.y[1], 0, 0);
    husk_ref_conv_backward_weights op = {.params = &c.params, .x = &a->x, .dy = &a->dy};
    memcpy(op.shape, c.w, sizeof c.w);
    husk_ref_conv_backward_weights_run(&op, &dw);
    husk_ref_conv_backward_bias_run(&op, &dbias);
    test_adjoint(NAME, &a->y, &a->dy, &a->w, &dw);
    test_differences(NAME, conv_backward_forward, a, &a->w, &a->y, &a->dy, &dw, 7);
    f.bias = test_array(1, &c.y[1], 3, 1.0);
    test_differences(NAME, run_forward, &f, &f.bias, &a->y, &a->dy, &dbias, 8);
    test_array_release(&f.bias);
    test_array_release(&dw);
    test_array_release(&dbias);
    conv_backward_arrays_release(a);
}
END_TEST

// ---- every variant against the reference ----

static void check_weights(void *user, const husk_ref_array *dw, husk_ref_report *report)
{
    husk_ref_conv_backward_weights_check(user, 1, dw, report);
}

static void check_bias(void *user, const husk_ref_array *dbias, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_conv_backward_bias_function(user);
    husk_ref_check(&function, 1, dbias, report);
}

// The tensors of a case, and what they are checked by.
typedef struct tensors {
    test_tensor x, dy, dw, dbias;
    husk_ref_conv_backward_weights weights, bias;
} tensors;

static test_tensor make_output(const conv_backward_case *c, int32_t rank, const int64_t *shape, test_layout layout,
                               uint64_t seed)
{
    const husk_dtype dtype = c->is_wide ? HUSK_F32 : c->dtype;
    return c->params.accumulate ? test_inout_of(dtype, rank, shape, layout, seed, 1.0f)
                                : test_output(dtype, rank, shape, layout);
}

static void make(const conv_backward_case *c, tensors *t)
{
    const int32_t rank = 2 + c->space;
    const bool amid_nan = c->seed % 3 == 0 && c->dtype == HUSK_F32;
    t->x = amid_nan ? test_input_amid_nan(rank, c->x, c->layouts[0], c->seed, 1.0f)
                    : test_input_of(c->dtype, rank, c->x, c->layouts[0], c->seed, 1.0f);
    t->dy = amid_nan ? test_input_amid_nan(rank, c->y, c->layouts[2], c->seed + 1, 1.0f)
                     : test_input_of(c->dtype, rank, c->y, c->layouts[2], c->seed + 1, 1.0f);
    t->dw = make_output(c, rank, c->w, c->layouts[1], c->seed + 2);
    t->dbias = make_output(c, 1, &c->y[1], c->layouts[1] == TEST_SPREAD ? TEST_SPREAD : TEST_PACKED, c->seed + 3);
    t->weights = (husk_ref_conv_backward_weights){.params = &c->params, .x = &t->x.array, .dy = &t->dy.array};
    memcpy(t->weights.shape, c->w, sizeof c->w);
    t->bias = t->weights;
    if (c->params.accumulate) {
        t->weights.before = &t->dw.before;
        t->bias.before = &t->dbias.before;
    }
}

static void release(tensors *t)
{
    test_release(&t->x);
    test_release(&t->dy);
    test_release(&t->dw);
    test_release(&t->dbias);
}

enum { WEIGHTS = 1, BIAS = 2 };

static bool run(const conv_backward_case *c, const char *variant, unsigned wanted, tensors *t)
{
    husk_conv_params params = c->params;
    params.variant = variant;
    test_restore(&t->dw);
    test_restore(&t->dbias);
    if (!test_ran(husk_conv_backward_weights(test_queue(), &params, &t->x.tensor, &t->dy.tensor,
                                             wanted & WEIGHTS ? &t->dw.tensor : NULL,
                                             wanted & BIAS ? &t->dbias.tensor : NULL),
                  NAME, variant))
        return false;
    test_fetch(&t->dw);
    test_fetch(&t->dbias);
    t->weights.error_factor = husk_plan_error_factor(husk_queue_plan(test_queue()));
    husk_ref_conv_backward_weights_set_tile(&t->weights);
    return true;
}

static void test_one(const conv_backward_case *c, unsigned wanted, const char *variant, tensors *t)
{
    char text[500];
    if (!run(c, variant, wanted, t))
        return;
    husk_ref_report report = {0};
    if (wanted & WEIGHTS)
        check_weights(&t->weights, &t->dw.array, &report);
    else
        test_untouched(&t->dw);
    if (wanted & BIAS)
        check_bias(&t->bias, &t->dbias.array, &report);
    else
        test_untouched(&t->dbias);
    test_accept(NAME, variant, conv_backward_text(c, text), &report);
}

static void test_variant(const conv_backward_case *c, unsigned wanted, const char *variant)
{
    tensors t;
    make(c, &t);
    test_one(c, wanted, variant, &t);
    release(&t);
}

static void test_case(const conv_backward_case *c, unsigned wanted)
{
    tensors t;
    make(c, &t);
    for (int v = 0; v < VARIANTS; ++v)
        test_one(c, wanted, variants[v], &t);
    release(&t);
}

START_TEST(generated)
{
    husk_ref_random random = {.seed = 7000 + (uint64_t)_i};
    const int count = test_is_long() ? GENERATED : GENERATED / 10;
    for (int i = 0; i < count; ++i) {
        const conv_backward_case c = conv_backward_draw(&random, most_products(), false);
        test_case(&c, i % 5 == 0 ? WEIGHTS : i % 5 == 1 ? BIAS : WEIGHTS | BIAS);
    }
}
END_TEST

// A few in the default tier.
START_TEST(narrow_ones)
{
    for (int i = 0; i < 4; ++i) {
        conv_backward_case c = conv_backward_plain(9, i < 2 ? 20 : 70, i < 2 ? 9 : 24, 3, 1, 1);
        c.dtype = HUSK_F16;
        c.is_wide = i == 3;
        c.params.accumulate = i == 1 ? HUSK_ACCUMULATE_PARAMETERS : 0;
        test_case(&c, WEIGHTS | BIAS);
    }
}
END_TEST

// Errors of one sign: few pixels of many images, one long row, channels last.
START_TEST(many_terms_of_one_sign)
{
    static const int64_t sizes[][4] = {{40000, 1, 4, 4}, {3, 1, 5, 40000}, {2500, 5, 3, 20}, {150, 1, 32, 40}};
    conv_backward_case c = {.space = 2,
                            .batch = sizes[_i][0],
                            .groups = sizes[_i][1],
                            .channels = 1,
                            .filters = 1,
                            .in = {sizes[_i][2], sizes[_i][3]},
                            .filter = {_i == 3 ? 5 : 3, _i == 3 ? 5 : 3},
                            .params = HUSK_CONV_PARAMS(.pad = {1, 1}, .groups = sizes[_i][1])};
    if (_i == 2)
        c.layouts[0] = c.layouts[1] = c.layouts[2] = TEST_CHANNELS_LAST;
    ck_assert(conv_backward_resolve(&c));
    tensors t;
    make(&c, &t);
    test_release(&t.x);
    test_release(&t.dy);
    t.x = test_input_alike(4, c.x, c.layouts[0], 0.7f);
    t.dy = test_input_alike(4, c.y, c.layouts[2], 0.1f);
    for (int v = 0; v < VARIANTS; ++v)
        test_one(&c, variants[v] && strcmp(variants[v], "tiled:32x32") == 0 ? BIAS : WEIGHTS | BIAS, variants[v], &t);
    release(&t);
}
END_TEST

// As large as an image may be, all ones: the bias' gradient is a sum over a row of nearly 2^31.
START_TEST(largest_image)
{
    enum { ROW = 536870911, ROWS = 4 };
    const uint32_t one = 0x3f800000, far = 1024; // 1.0f
    husk_error error = {0};
    husk_buffer *memory;
    float sum = 0.0f;
    test_ok_error(husk_buffer_create(test_context(), 4 * far + 4, &memory, &error), &error);
    test_ok(husk_buffer_fill(test_queue(), memory, 0, 4, &one, 4));
    const husk_tensor element = husk_tensor_make(memory, HUSK_F32, 4, (const int64_t[]){1, 1, 1, 1});
    const husk_tensor image = husk_tensor_expand(&element, 4, (const int64_t[]){1, 1, ROWS, ROW});
    husk_tensor dbias = husk_tensor_make(memory, HUSK_F32, 1, (const int64_t[]){1});
    dbias.offset = far;
    test_ok(husk_conv_backward_weights(test_queue(), NULL, &image, &image, NULL, &dbias));
    test_ok(husk_buffer_read(test_queue(), memory, 4 * far, 4, &sum));
    ck_assert_double_eq_tol(sum, (double)ROW * ROWS, 128.0);
    husk_buffer_release(memory);
}
END_TEST

START_TEST(generated_depthwise)
{
    husk_ref_random random = {.seed = 8000};
    for (int i = 0; i < (test_is_long() ? 500 : 50); ++i) {
        const conv_backward_case c = conv_backward_draw(&random, most_products(), true);
        test_case(&c, i % 5 == 0 ? WEIGHTS : WEIGHTS | BIAS);
    }
}
END_TEST

// Blocks of positions, slices of blocks, panels of filters and their ends.
START_TEST(blocks_slices_and_panels)
{
    static const int64_t numbers[][7] = {// batch, channels, filters, extent, filter, pad, stride
                                         {1, 3, 31, 40, 3, 1, 1}, {3, 2, 33, 33, 1, 0, 1}, {2, 13, 16, 23, 3, 1, 1},
                                         {5, 4, 17, 7, 3, 1, 1},  {1, 5, 64, 16, 1, 0, 1}, {1, 2, 530, 17, 1, 0, 1},
                                         {2, 3, 8, 33, 7, 3, 2},  {1, 6, 9, 47, 5, 2, 3},  {1, 26, 12, 16, 3, 1, 2}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
        const int64_t *n = numbers[i];
        conv_backward_case c = conv_backward_plain(n[1], n[2], n[3], n[4], n[5], n[6]);
        c.batch = n[0];
        conv_backward_resolve(&c);
        test_case(&c, WEIGHTS | BIAS);
        for (int l = 0; l < 3; ++l)
            c.layouts[l] = TEST_CHANNELS_LAST;
        c.params.accumulate = HUSK_ACCUMULATE_PARAMETERS;
        test_case(&c, WEIGHTS | BIAS);
    }
    // Blocks of filters in two dimensions of work-groups, of which the last is of no group.
    conv_backward_case many = conv_backward_plain(1, 1, 2, 1, 0, 1);
    many.groups = 32769;
    many.params.accumulate = HUSK_ACCUMULATE_PARAMETERS;
    ck_assert(conv_backward_resolve(&many));
    test_variant(&many, WEIGHTS, "tiled:32x32");
}
END_TEST

// Tiles in regions, slices and blocks; channels and filters that fill vectors in part; images that end amid a block.
START_TEST(winograd_tiles)
{
    static const int64_t numbers[][7] = {
                                         // batch, groups, channels, filters, height, width, pad
        {5, 1, 33, 18, 7, 7, 1},   {1, 1, 17, 5, 6, 270, 1},  {3, 2, 9, 40, 14, 13, 0},
        {2, 1, 20, 70, 40, 40, 1}, {60, 1, 1, 1000, 3, 3, 0}, {1, 1, 1, 3, 190, 190, 1},
        {1, 1, 70, 8, 5, 2, 3},    {2, 3, 4, 4, 9, 4, 2},     {9, 1, 4, 4, 30, 30, 1}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
        const int64_t *n = numbers[i];
        conv_backward_case c = conv_backward_plain(n[2], n[3], n[4], 3, n[6], 1);
        c.batch = n[0];
        c.groups = n[1];
        c.in[1] = n[5];
        c.params.pad_end_extra[1] = i % 2 ? -c.params.pad[1] : 0;
        conv_backward_resolve(&c);
        for (int layout = 0; layout < (n[3] > 500 ? 2 : TEST_LAYOUTS); ++layout) {
            for (int l = 0; l < 3; ++l)
                c.layouts[l] = (test_layout)((layout + l * (layout > 2)) % TEST_LAYOUTS);
            c.params.accumulate = (i + (size_t)layout) % 2 ? HUSK_ACCUMULATE_PARAMETERS : 0;
            test_variant(&c, WEIGHTS, "winograd");
        }
    }
}
END_TEST

// One channel a group: bands of rows and parts of rows, remainders of strides, taps at a time and their ends.
START_TEST(bands_and_taps)
{
    static const int64_t numbers[][8] = {
                                         // batch, groups, filters, height, width, filter, pad, stride
        {2, 5, 1, 90, 113, 3, 1, 1}, {1, 3, 2, 70, 300, 3, 1, 2}, {2, 2, 1, 3, 6000, 3, 1, 1},
        {1, 17, 1, 14, 14, 5, 2, 1}, {3, 33, 1, 7, 7, 3, 1, 1},   {1, 2, 1, 40, 41, 7, 3, 1},
        {1, 2, 1, 50, 49, 15, 7, 2}, {2, 4, 3, 31, 37, 4, 0, 3},  {1, 3, 1, 9, 9000, 1, 0, 1},
        {1, 2, 1, 12, 12, 11, 5, 4}, {1, 4, 1, 8, 8, 2, 3, 5},    {2, 9, 1, 17, 65, 3, 0, 7}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
        const int64_t *n = numbers[i];
        conv_backward_case c = conv_backward_plain(1, n[2], n[3], n[5], n[6], n[7]);
        c.batch = n[0];
        c.groups = n[1];
        c.in[1] = n[4];
        c.params.dilation[0] = n[5] < 5 && i % 3 == 0 ? 2 : 1;
        conv_backward_resolve(&c);
        test_case(&c, WEIGHTS | BIAS);
        for (int l = 0; l < 3; ++l)
            c.layouts[l] = TEST_CHANNELS_LAST;
        c.params.accumulate = HUSK_ACCUMULATE_PARAMETERS;
        test_case(&c, WEIGHTS | BIAS);
    }
}
END_TEST

// Taps that lie so far apart that the last ones' part of a row ends beyond the row's.
START_TEST(far_taps)
{
    conv_backward_case c = conv_backward_plain(1, 1, 1, 3, 0, 1);
    c.groups = 2;
    c.in[1] = 20048;
    c.filter[0] = 1;
    c.params.dilation[1] = 1024;
    ck_assert(conv_backward_resolve(&c));
    test_case(&c, WEIGHTS | BIAS);
}
END_TEST

// A filter whose taps lie millions apart, of which one meets the image: choosing a variant takes no time.
START_TEST(taps_millions_apart)
{
    conv_backward_case c = conv_backward_plain(1, 1, 10, 3, 2000000, 1);
    c.params.dilation[0] = c.params.dilation[1] = 2000000;
    ck_assert(conv_backward_resolve(&c));
    tensors t;
    make(&c, &t);
    const clock_t before = clock();
    test_ok(husk_conv_backward_weights(test_queue(), &c.params, &t.x.tensor, &t.dy.tensor, &t.dw.tensor, NULL));
    const double seconds = (double)(clock() - before) / CLOCKS_PER_SEC;
    ck_assert_msg(seconds < 8, "%.1f s", seconds); // kernels may be compiled in it
    release(&t);
}
END_TEST

// Filters of 3 and 5 at stride 1 and 2: strips of columns and their ends, rows in halves of vectors, odd images, more
// strips than have masks, padding beyond the filter, rows of dy that no row of x meets.
START_TEST(strips)
{
    static const int64_t numbers[][8] = {
                                         // batch, groups, filters, height, width, filter, pad, stride
        {4, 5, 1, 7, 7, 3, 1, 1}, {3, 2, 2, 9, 8, 3, 1, 1},   {2, 3, 1, 7, 4, 5, 2, 1},   {1, 7, 1, 14, 14, 3, 1, 1},
        {2, 3, 1, 3, 9, 3, 2, 1}, {3, 3, 1, 8, 6, 3, 4, 1},   {1, 2, 1, 3, 550, 3, 1, 1}, {2, 3, 1, 15, 33, 5, 2, 2},
        {3, 2, 1, 7, 7, 3, 1, 2}, {2, 2, 3, 14, 14, 3, 0, 2}, {1, 2, 1, 5, 530, 5, 1, 2}, {2, 2, 1, 6, 17, 5, 7, 2}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
        for (int form = 0; form < 3; ++form) {
            const int64_t *n = numbers[i];
            conv_backward_case c = conv_backward_plain(1, n[2], n[3], n[5], n[6], n[7]);
            c.batch = n[0];
            c.groups = n[1];
            c.in[1] = n[4];
            c.params.pad_end_extra[1] = i % 2 ? -c.params.pad[1] : 0;
            c.layouts[1] = form == 1 ? TEST_SPREAD : TEST_PACKED;
            c.params.accumulate = form == 2 ? HUSK_ACCUMULATE_PARAMETERS : 0;
            c.seed += (uint64_t)form + 3 * i;
            ck_assert(conv_backward_resolve(&c));
            test_variant(&c, i % 3 ? WEIGHTS | BIAS : WEIGHTS, "depthwise");
        }
}
END_TEST

// One x or dy for all images, several of which are in a block of positions.
START_TEST(one_image_for_all)
{
    for (int i = 0; i < 3; i += 2) {
        conv_backward_case c = conv_backward_plain(4, 9, 6, 3, 1, 1);
        c.batch = 3;
        c.layouts[i] = TEST_REPEATED_FIRST;
        conv_backward_resolve(&c);
        test_case(&c, WEIGHTS | BIAS);
    }
}
END_TEST

START_TEST(what_only_padding_meets_is_zero)
{
    conv_backward_case c = conv_backward_plain(4, 3, 2, 1, 5, 4);
    test_case(&c, WEIGHTS);
    c = conv_backward_plain(4, 3, 3, 3, 12, 1);
    test_case(&c, WEIGHTS);
}
END_TEST

START_TEST(empty_ones)
{
    conv_backward_case c = conv_backward_plain(4, 5, 9, 3, 1, 2);
    c.batch = 0;
    conv_backward_resolve(&c);
    test_case(&c, WEIGHTS | BIAS); // zeros
    c.params.accumulate = HUSK_ACCUMULATE_PARAMETERS;
    test_case(&c, WEIGHTS | BIAS);
    c = conv_backward_plain(0, 5, 9, 3, 1, 2);
    test_case(&c, WEIGHTS | BIAS);
    c = conv_backward_plain(4, 0, 9, 3, 1, 2);
    test_case(&c, WEIGHTS | BIAS);
}
END_TEST

// ---- rules ----

// A NaN of dy spoils its filter's gradients; one of x the elements that meet it.
START_TEST(not_a_number_and_infinity)
{
    conv_backward_case c = conv_backward_plain(_i ? 1 : 8, _i ? 1 : 9, 12, 3, 1, _i ? 1 : 2);
    c.groups = _i ? 9 : 1;
    c.layouts[0] = c.layouts[2] = _i == 2 ? TEST_CHANNELS_LAST : TEST_PACKED;
    conv_backward_resolve(&c);
    tensors t;
    make(&c, &t);
    // Filters 0 and 1, away from the padding.
    husk_ref_store(&t.dy.array, _i == 2 ? 9 * 17 : 15 + 2 * _i, (double)NAN);
    husk_ref_store(&t.dy.array, _i == 2 ? 9 * 29 + 1 : (_i ? 144 : 36) + 15 + 2 * _i, (double)INFINITY);
    husk_ref_store(&t.x.array, 300, (double)NAN);
    test_input_update(&t.dy);
    test_input_update(&t.x);
    for (int v = 0; v < VARIANTS; ++v) {
        // Winograd's differences make an infinity a NaN, for all nine elements.
        if ((variants[v] && strcmp(variants[v], "winograd") == 0) || !run(&c, variants[v], WEIGHTS | BIAS, &t))
            continue;
        husk_ref_report report = {0};
        check_weights(&t.weights, &t.dw.array, &report);
        check_bias(&t.bias, &t.dbias.array, &report);
        test_accept(NAME, variants[v], "NaN and infinity", &report);
    }
    release(&t);
}
END_TEST

START_TEST(ten_runs_are_bitwise_equal)
{
    conv_backward_case cases[] = {conv_backward_plain(20, 30, 45, 3, 1, 1), conv_backward_plain(20, 30, 25, 3, 1, 2),
                                  conv_backward_plain(1, 1, 30, 3, 1, 1)};
    cases[2].groups = 20;
    conv_backward_resolve(&cases[2]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        for (int v = 0; v < VARIANTS; ++v) {
            tensors t;
            make(&cases[i], &t);
            if (run(&cases[i], variants[v], WEIGHTS | BIAS, &t)) {
                const size_t bytes = (size_t)t.dw.words * 4, bias_bytes = (size_t)t.dbias.words * 4;
                void *first = malloc(bytes), *first_bias = malloc(bias_bytes);
                memcpy(first, t.dw.current, bytes);
                memcpy(first_bias, t.dbias.current, bias_bytes);
                for (int j = 0; j < 9; ++j) {
                    run(&cases[i], variants[v], WEIGHTS | BIAS, &t);
                    ck_assert_int_eq(memcmp(first, t.dw.current, bytes), 0);
                    ck_assert_int_eq(memcmp(first_bias, t.dbias.current, bias_bytes), 0);
                }
                free(first);
                free(first_bias);
            }
            release(&t);
        }
}
END_TEST

START_TEST(new_shape_compiles_nothing)
{
    husk_program_stats before, after;
    conv_backward_case c = conv_backward_plain(4, 5, 12, 3, 1, 1);
    test_case(&c, WEIGHTS | BIAS);
    husk_context_program_stats(test_context(), &before);
    c = conv_backward_plain(7, 17, 19, 5, 2, 2);
    test_case(&c, WEIGHTS | BIAS);
    husk_context_program_stats(test_context(), &after);
    ck_assert_uint_eq(after.builds + after.cache_loads, before.builds + before.cache_loads);
}
END_TEST

START_TEST(planted_mistakes_are_found)
{
    for (int v = 1; v < VARIANTS; ++v) {
        conv_backward_case c = conv_backward_plain(1, 1, 20, 3, 1, 1);
        c.groups = 7;
        conv_backward_resolve(&c);
        tensors t;
        make(&c, &t);
        if (!run(&c, variants[v], WEIGHTS | BIAS, &t)) { // more private memory than a GPU has, say
            ck_assert(!test_device_is_home());
            release(&t);
            continue;
        }
        const husk_ref_function weights = husk_ref_conv_backward_weights_function(&t.weights);
        const husk_ref_function bias = husk_ref_conv_backward_bias_function(&t.bias);
        test_planted(&weights, &t.dw.array, check_weights, &t.weights);
        test_planted(&bias, &t.dbias.array, check_bias, &t.bias);
        test_planted_guards(&t.dw);
        release(&t);
    }
}
END_TEST

// A good call's arguments, of which each case spoils one.
typedef struct arguments {
    husk_conv_params params;
    husk_tensor x, dy, dw, dbias;
} arguments;

static void bad_size(arguments *a)
{
    a->params.size = 4096;
}
static void bad_activation(arguments *a)
{
    a->params.activation = HUSK_ACT_TANH;
}
static void bad_accumulate(arguments *a)
{
    a->params.accumulate = 4;
}
static void bad_dilation(arguments *a)
{
    a->params.dilation[1] = -1;
}
static void bad_groups(arguments *a)
{
    a->params.groups = -1;
}
static void bad_variant(arguments *a)
{
    a->params.variant = "fastest";
}
static void x_rank(arguments *a)
{
    a->x.rank = 2;
}
static void x_channels(arguments *a)
{
    a->x.shape[1] = 3;
}
static void x_dtype(arguments *a)
{
    a->x.dtype = HUSK_I64;
}
static void x_double(arguments *a)
{
    a->x.dtype = HUSK_F64;
}
static void dw_wide(arguments *a)
{
    a->x.dtype = a->dy.dtype = HUSK_F64;
}
static void x_memory(arguments *a)
{
    a->x.buffer = NULL;
}
static void dy_shape(arguments *a)
{
    a->dy.shape[3] -= 1;
}
static void dy_dtype(arguments *a)
{
    a->dy.dtype = HUSK_I32;
}
static void dy_memory(arguments *a)
{
    a->dy.offset = 1 << 30;
}
static void dw_rank(arguments *a)
{
    a->dw.rank = 3;
}
static void dw_channels(arguments *a)
{
    a->dw.shape[1] = 9;
}
static void dw_dtype(arguments *a)
{
    a->dw.dtype = HUSK_I8;
}
static void dw_folded(arguments *a)
{
    memcpy(a->dw.strides, (int64_t[]){36, 9, 1, 1}, 4 * sizeof(int64_t));
}
static void dw_over_x(arguments *a)
{
    a->x.buffer = a->dw.buffer;
    a->x.offset = a->dw.offset;
}
static void dw_over_dy(arguments *a)
{
    a->dy.buffer = a->dw.buffer;
    a->dy.offset = a->dw.offset;
}
static void dbias_shape(arguments *a)
{
    a->dbias.shape[0] = 4;
}
static void dbias_dtype(arguments *a)
{
    a->dbias.dtype = HUSK_I64;
}
static void dbias_over_dw(arguments *a)
{
    a->dbias.buffer = a->dw.buffer;
    a->dbias.offset = a->dw.offset;
}

static const struct {
    void (*spoil)(arguments *a);
    husk_status status;
    const char *argument;
} bad_calls[] = {
    {bad_size, HUSK_INVALID_ARGUMENT, "size"},
    {bad_activation, HUSK_INVALID_ARGUMENT, "activation"},
    {bad_accumulate, HUSK_INVALID_ARGUMENT, "accumulate"},
    {bad_dilation, HUSK_INVALID_ARGUMENT, "dilation[1]"},
    {bad_groups, HUSK_INVALID_ARGUMENT, "groups"},
    {bad_variant, HUSK_INVALID_ARGUMENT, "variant"},
    {x_rank, HUSK_INVALID_ARGUMENT, "x:"},
    {x_channels, HUSK_INVALID_ARGUMENT, "dw:"},
    {x_dtype, HUSK_UNSUPPORTED, "x:"},
    {x_double, HUSK_INVALID_ARGUMENT, "x:"},
    {dw_wide, HUSK_INVALID_ARGUMENT, "dw:"},
    {x_memory, HUSK_INVALID_ARGUMENT, "x:"},
    {dy_shape, HUSK_INVALID_ARGUMENT, "dy:"},
    {dy_dtype, HUSK_UNSUPPORTED, "dy:"},
    {dy_memory, HUSK_INVALID_ARGUMENT, "dy:"},
    {dw_rank, HUSK_INVALID_ARGUMENT, "dw:"},
    {dw_channels, HUSK_INVALID_ARGUMENT, "dw:"},
    {dw_dtype, HUSK_UNSUPPORTED, "dw:"},
    {dw_folded, HUSK_INVALID_ARGUMENT, "dw:"},
    {dw_over_x, HUSK_INVALID_ARGUMENT, "dw"},
    {dw_over_dy, HUSK_INVALID_ARGUMENT, "dw"},
    {dbias_shape, HUSK_INVALID_ARGUMENT, "dbias:"},
    {dbias_dtype, HUSK_UNSUPPORTED, "dbias:"},
    {dbias_over_dw, HUSK_INVALID_ARGUMENT, "dbias"},
};

START_TEST(bad_calls_are_refused)
{
    const conv_backward_case c = conv_backward_plain(4, 5, 9, 3, 1, 1);
    tensors t;
    make(&c, &t);
    arguments a = {c.params, t.x.tensor, t.dy.tensor, t.dw.tensor, t.dbias.tensor};
    bad_calls[_i].spoil(&a);
    test_refused(husk_conv_backward_weights(test_silent_queue(), &a.params, &a.x, &a.dy, &a.dw, &a.dbias),
                 bad_calls[_i].status, bad_calls[_i].argument);
    test_untouched(&t.dw);
    test_untouched(&t.dbias);
    release(&t);
}
END_TEST

START_TEST(missing_arguments_are_refused)
{
    const conv_backward_case c = conv_backward_plain(4, 5, 9, 3, 1, 1);
    tensors t;
    make(&c, &t);
    husk_queue *queue = test_silent_queue();
    const husk_tensor *x = &t.x.tensor, *dy = &t.dy.tensor, *dw = &t.dw.tensor;
    ck_assert_int_eq(husk_conv_backward_weights(NULL, &c.params, x, dy, dw, NULL), HUSK_INVALID_ARGUMENT);
    test_refused(husk_conv_backward_weights(queue, &c.params, NULL, dy, dw, NULL), HUSK_INVALID_ARGUMENT, "x:");
    test_refused(husk_conv_backward_weights(queue, &c.params, x, NULL, dw, NULL), HUSK_INVALID_ARGUMENT, "dy:");
    test_refused(husk_conv_backward_weights(queue, &c.params, x, dy, NULL, NULL), HUSK_INVALID_ARGUMENT, "dw:");
    test_untouched(&t.dw);
    release(&t);
}
END_TEST

START_TEST(enough_was_executed)
{
    ck_assert_msg(test_executed(NAME) >= 300, "only %ld configurations", test_executed(NAME));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create(NAME);
    TCase *reference = tcase_create("reference"), *device = tcase_create("device"), *rules = tcase_create("rules");
    tcase_set_timeout(reference, 600);
    tcase_set_timeout(device, 600);
    tcase_set_timeout(rules, 600);
    if (test_tier_is("dtypes")) {
        tcase_add_loop_test(device, generated, 0, 10);
        tcase_add_test(device, generated_depthwise);
        tcase_add_test(device, blocks_slices_and_panels);
        tcase_add_test(device, winograd_tiles);
        tcase_add_test(device, strips);
        tcase_add_test(device, empty_ones);
        suite_add_tcase(suite, device);
        return test_main(suite);
    }
    tcase_add_loop_test(reference, finite_differences, 0, DIFFERENCES);
    tcase_add_test(device, narrow_ones);
    tcase_add_test(device, largest_image);
    tcase_add_loop_test(device, many_terms_of_one_sign, 0, 4);
    tcase_add_loop_test(device, generated, 0, 10);
    tcase_add_test(device, generated_depthwise);
    tcase_add_test(device, blocks_slices_and_panels);
    tcase_add_test(device, winograd_tiles);
    tcase_add_test(device, bands_and_taps);
    tcase_add_test(device, far_taps);
    tcase_add_test(device, taps_millions_apart);
    tcase_add_test(device, strips);
    tcase_add_test(device, one_image_for_all);
    tcase_add_test(device, what_only_padding_meets_is_zero);
    tcase_add_test(device, empty_ones);
    tcase_add_loop_test(rules, not_a_number_and_infinity, 0, 3);
    tcase_add_test(rules, ten_runs_are_bitwise_equal);
    tcase_add_test(rules, new_shape_compiles_nothing);
    tcase_add_test(rules, planted_mistakes_are_found);
    tcase_add_loop_test(rules, bad_calls_are_refused, 0, (int)(sizeof bad_calls / sizeof *bad_calls));
    tcase_add_test(rules, missing_arguments_are_refused);
    tcase_add_test(rules, enough_was_executed);
    suite_add_tcase(suite, reference);
    suite_add_tcase(suite, device);
    suite_add_tcase(suite, rules);
    return test_main(suite);
}
