// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=300 with=conv_backward_case
// The gradient of convolution by its data and the transposed convolution: finite differences and adjoints; every
// variant against the reference; layouts, strides that leave elements out, empty ones; bad input.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "conv_backward_case.h"
#include "ref/freivalds.h"

#define NAME "conv_backward_data"

static const char *const variants[] = {NULL, "phases", "depthwise", "columns", "tiled:32x32"};
enum { VARIANTS = sizeof variants / sizeof *variants, GENERATED = 120, DIFFERENCES = 24 };

static double most_products(void)
{
    return test_is_long() ? 4e6 : 4e5;
}

// ---- the reference is the gradient ----

static bool is_named(int variant, const char *name)
{
    return variants[variant] && strcmp(variants[variant], name) == 0;
}

START_TEST(finite_differences)
{
    husk_ref_random random = {.seed = 300 + (uint64_t)_i};
    conv_backward_case c = conv_backward_draw_meeting(&random, 3e4);
    conv_backward_arrays a;
    conv_backward_arrays_make(&c, &a);
    husk_ref_array dx = test_array(a.x.rank, c.x, 0, 0);
    husk_ref_conv_backward_data op = {.params = &c.params, .w = &a.w, .dy = &a.dy};
    memcpy(op.shape, c.x, sizeof c.x);
    husk_ref_conv_backward_data_run(&op, &dx);
    test_differences(NAME, conv_backward_forward, &a, &a.x, &a.y, &a.dy, &dx, 7);
    test_adjoint(NAME, &a.y, &a.dy, &a.x, &dx);
    test_array_release(&dx);
    conv_backward_arrays_release(&a);
}
END_TEST

// ---- every variant against the reference ----

static void check(void *user, const husk_ref_array *dx, husk_ref_report *report)
{
    husk_ref_conv_backward_data_check(user, 1, dx, report);
}

// The tensors of a case.
typedef struct tensors {
    test_tensor w, dy, bias, dx;
    husk_ref_conv_backward_data op;
} tensors;

static void make(const conv_backward_case *c, bool has_bias, tensors *t)
{
    const int32_t rank = 2 + c->space;
    const husk_dtype output = c->is_wide ? HUSK_F32 : c->dtype;
    t->w = test_input_of(c->dtype, rank, c->w, c->layouts[1], c->seed, 1.0f);
    t->dy = c->dtype == HUSK_F32 && test_one_in(&(husk_ref_random){.seed = c->seed}, 3)
                ? test_input_amid_nan(rank, c->y, c->layouts[2], c->seed + 1, 1.0f)
                : test_input_of(c->dtype, rank, c->y, c->layouts[2], c->seed + 1, 1.0f);
    const husk_dtype bias = c->seed % 4 || c->dtype == HUSK_F64 ? c->dtype : HUSK_F32;
    t->bias = test_input_of(bias, 1, &c->x[1], TEST_PACKED, c->seed + 2, 1.0f);
    t->dx = c->params.accumulate ? test_inout_of(output, rank, c->x, c->layouts[0], c->seed + 3, 1.0f)
                                 : test_output(output, rank, c->x, c->layouts[0]);
    t->op = (husk_ref_conv_backward_data){.params = &c->params,
                                          .w = &t->w.array,
                                          .dy = &t->dy.array,
                                          .bias = has_bias ? &t->bias.array : NULL,
                                          .before = c->params.accumulate ? &t->dx.before : NULL};
    memcpy(t->op.shape, c->x, sizeof c->x);
}

static void release(tensors *t)
{
    test_release(&t->w);
    test_release(&t->dy);
    test_release(&t->bias);
    test_release(&t->dx);
}

static bool run(const conv_backward_case *c, const char *variant, tensors *t)
{
    husk_conv_params params = c->params;
    params.variant = variant;
    test_restore(&t->dx);
    if (!test_ran(husk_conv_backward_data(test_queue(), &params, &t->w.tensor, &t->dy.tensor, &t->dx.tensor), NAME,
                  variant))
        return false;
    test_fetch(&t->dx);
    return true;
}

static void set_bound(tensors *t)
{
    t->op.error_factor = husk_plan_error_factor(husk_queue_plan(test_queue()));
    husk_ref_conv_backward_data_set_tile(&t->op);
}

static void test_one(const conv_backward_case *c, const char *variant, tensors *t)
{
    char text[500];
    if (!run(c, variant, t))
        return;
    set_bound(t);
    husk_ref_report report = {0};
    check(&t->op, &t->dx.array, &report);
    test_accept(NAME, variant, conv_backward_text(c, text), &report);
}

static void test_variant(const conv_backward_case *c, const char *variant)
{
    tensors t;
    make(c, false, &t);
    test_one(c, variant, &t);
    release(&t);
}

static void test_case(const conv_backward_case *c)
{
    tensors t;
    make(c, false, &t);
    for (int v = 0; v < VARIANTS; ++v)
        test_one(c, variants[v], &t);
    release(&t);
}

START_TEST(generated)
{
    husk_ref_random random = {.seed = 4000 + (uint64_t)_i};
    const int count = test_is_long() ? 10 * GENERATED / 10 : GENERATED / 10;
    for (int i = 0; i < count; ++i) {
        const conv_backward_case c = conv_backward_draw(&random, most_products(), false);
        test_case(&c);
    }
}
END_TEST

// A few in the default tier.
START_TEST(narrow_ones)
{
    for (int i = 0; i < 4; ++i) {
        conv_backward_case c = conv_backward_plain(9, 20, 15, 3, 1, 1 + i / 2);
        c.dtype = HUSK_F16;
        c.is_wide = i == 3;
        c.params.accumulate = i == 1 ? HUSK_ACCUMULATE_INPUTS : 0;
        for (int v = 0; v < VARIANTS; ++v) // gemm's programs for f16, which the first may choose, are the tier dtypes'
            if (variants[v] && strcmp(variants[v], "columns") != 0)
                test_variant(&c, variants[v]);
    }
}
END_TEST

// Every stride with every filter and padding: phases of all kinds.
START_TEST(strides_filters_and_paddings)
{
    for (int64_t stride = 1; stride <= 4; ++stride)
        for (int64_t filter = 1; filter <= 4; ++filter)
            for (int64_t dilation = 1; dilation <= 2; ++dilation) {
                conv_backward_case c = conv_backward_plain(5, 6, 13, filter, filter / 2 + (stride == 3), stride);
                c.params.dilation[0] = c.params.dilation[1] = dilation;
                c.params.pad_end_extra[0] = stride == 2 ? -c.params.pad[0] : 0;
                if (conv_backward_resolve(&c))
                    test_case(&c);
            }
}
END_TEST

START_TEST(larger_ones)
{
    static const int64_t numbers[][6] = {{64, 64, 14, 3, 1, 1},  {32, 64, 28, 3, 1, 2}, {3, 32, 33, 7, 3, 2},
                                         {64, 128, 14, 1, 0, 2}, {48, 40, 17, 5, 2, 1}, {16, 16, 40, 3, 1, 1},
                                         {3, 20, 32, 16, 0, 16}, {2, 5, 40, 4, 1, 9}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
        const int64_t *n = numbers[i];
        conv_backward_case c = conv_backward_plain(n[0], n[1], n[2], n[3], n[4], n[5]);
        test_case(&c);
        for (int l = 0; l < 3; ++l)
            c.layouts[l] = TEST_CHANNELS_LAST;
        c.params.accumulate = HUSK_ACCUMULATE_INPUTS;
        test_case(&c);
    }
    // More steps than the packing kernel has work-groups in a dimension.
    const conv_backward_case deep = conv_backward_plain(2, 4096, 2, 3, 1, 1);
    test_variant(&deep, "tiled:32x32");
    // Blocks of lines in two dimensions of work-groups, of which the last is of no group.
    conv_backward_case many = conv_backward_plain(1, 1, 2, 1, 0, 1);
    many.groups = 32769;
    many.params.accumulate = HUSK_ACCUMULATE_INPUTS;
    ck_assert(conv_backward_resolve(&many));
    test_variant(&many, "tiled:32x32");
}
END_TEST

// One channel and filter a group, 3x3 and 5x5 at stride 1 and 2: strips of columns and their ends, rows in halves of
// vectors, odd images, more strips than have masks, padding beyond the filter, elements that nothing meets.
START_TEST(strips)
{
    static const int64_t numbers[][7] = {// batch, groups, height, width, filter, pad, stride
                                         {4, 5, 7, 7, 3, 1, 1},   {3, 2, 9, 8, 3, 1, 1},    {2, 3, 7, 4, 5, 2, 1},
                                         {1, 7, 14, 14, 3, 1, 1}, {2, 3, 3, 9, 3, 2, 1},    {3, 3, 8, 6, 3, 4, 1},
                                         {1, 2, 3, 550, 3, 1, 1}, {2, 3, 15, 33, 5, 2, 2},  {3, 2, 7, 7, 3, 1, 2},
                                         {2, 2, 14, 14, 3, 0, 2}, {1, 2, 5, 1050, 5, 1, 2}, {2, 2, 6, 17, 5, 7, 2},
                                         {3, 3, 13, 16, 3, 1, 2}, {2, 5, 30, 31, 5, 3, 2},  {1, 3, 28, 40, 5, 2, 1}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
        for (int form = 0; form < 3; ++form) {
            const int64_t *n = numbers[i];
            conv_backward_case c = conv_backward_plain(1, 1, n[2], n[4], n[5], n[6]);
            c.batch = n[0];
            c.groups = n[1];
            c.in[1] = n[3];
            c.params.pad_end_extra[1] = i % 2 ? -c.params.pad[1] : 0;
            c.layouts[1] = form == 1 ? TEST_SPREAD : TEST_PACKED;
            c.params.accumulate = form == 2 ? HUSK_ACCUMULATE_INPUTS : 0;
            c.seed += (uint64_t)form + 3 * i;
            ck_assert(conv_backward_resolve(&c));
            test_variant(&c, "depthwise");
        }
}
END_TEST

// Patches that overlap, touch and leave elements out; blocks of taps and of channels and their ends; padding on either
// side and beyond the filter.
START_TEST(columns)
{
    static const int64_t numbers[][8] = {// batch, channels, filters, height, width, filter, pad, stride
                                         {2, 3, 20, 64, 70, 16, 0, 16}, {3, 5, 7, 33, 30, 5, 3, 6},
                                         {1, 17, 6, 7, 7, 3, 1, 1},     {2, 33, 9, 9, 8, 5, 2, 2},
                                         {3, 4, 40, 11, 13, 4, 6, 3},   {1, 2, 3, 40, 60, 17, 1, 19}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
        for (int form = 0; form < 4; ++form) {
            const int64_t *n = numbers[i];
            conv_backward_case c = conv_backward_plain(n[1], n[2], n[3], n[5], n[6], n[7]);
            c.batch = n[0];
            c.in[1] = n[4];
            c.params.pad_end_extra[1] = i % 2 ? -c.params.pad[1] : 0;
            c.params.dilation[0] = form == 3 && n[7] < 4 ? 2 : 1;
            c.layouts[2] = form == 1 ? TEST_CHANNELS_LAST : TEST_PACKED;
            c.params.accumulate = form == 2 ? HUSK_ACCUMULATE_INPUTS : 0;
            c.seed += (uint64_t)form + 4 * i;
            ck_assert(conv_backward_resolve(&c));
            test_variant(&c, "columns");
        }
}
END_TEST

// A dy, or weights, that are one element repeated: rows are one, and a stride that is never taken is not 0.
START_TEST(one_element_for_all)
{
    for (int of_w = 0; of_w < 2; ++of_w) {
        conv_backward_case c = conv_backward_plain(3, 4, 9, 3, 1, 1);
        c.batch = 2;
        c.in[0] = c.filter[0] = 1;
        c.params.pad[0] = 0;
        ck_assert(conv_backward_resolve(&c));
        tensors t;
        make(&c, false, &t);
        test_tensor *repeated = of_w ? &t.w : &t.dy;
        husk_ref_store(&repeated->array, 0, 1.0);
        test_input_update(repeated);
        memcpy(repeated->tensor.strides, (int64_t[]){0, 0, 1, 0}, 4 * sizeof(int64_t));
        memcpy(repeated->array.strides, (int64_t[]){0, 0, 1, 0}, 4 * sizeof(int64_t));
        for (int v = 0; v < VARIANTS; ++v)
            test_one(&c, variants[v], &t);
        release(&t);
    }
}
END_TEST

// The whole of dx is padding or is passed over: nothing meets it.
START_TEST(what_nothing_meets_is_zero)
{
    conv_backward_case c = conv_backward_plain(4, 3, 9, 1, 0, 3);
    test_case(&c);
    c = conv_backward_plain(4, 3, 2, 1, 5, 4); // only padding is looked at
    test_case(&c);
    c = conv_backward_plain(4, 3, 3, 3, 12, 1);
    test_case(&c);
}
END_TEST

START_TEST(empty_ones)
{
    conv_backward_case c = conv_backward_plain(4, 0, 9, 3, 1, 2);
    test_case(&c); // no filters: zeros
    c.params.accumulate = HUSK_ACCUMULATE_INPUTS;
    test_case(&c);
    c = conv_backward_plain(4, 5, 9, 3, 1, 2);
    c.batch = 0;
    conv_backward_resolve(&c);
    test_case(&c);
    c = conv_backward_plain(0, 5, 9, 3, 1, 2);
    test_case(&c);
}
END_TEST

// ---- the transposed convolution ----

// PyTorch's output_padding up to the largest: less than the stride or less than the dilation.
static void make_longer(husk_ref_random *random, conv_backward_case *c)
{
    for (int32_t i = 0; i < c->space; ++i) {
        const int64_t stride = c->params.stride[i] ? c->params.stride[i] : 1;
        const int64_t dilation = c->params.dilation[i] ? c->params.dilation[i] : 1;
        const int64_t padded = c->in[i] + 2 * c->params.pad[i] + c->params.pad_end_extra[i];
        const int64_t padding = (padded - dilation * (c->filter[i] - 1) - 1) % stride;
        const int64_t most = (dilation > stride ? dilation : stride) - 1 - padding;
        c->longer[i] = most > 0 ? husk_ref_random_below(random, most + 1) : 0;
    }
    ck_assert(conv_backward_resolve(c));
}

static void test_transpose(const conv_backward_case *c, bool has_bias, husk_act activation)
{
    tensors t;
    char text[500];
    conv_backward_case own = *c;
    own.params.accumulate = 0;
    own.params.activation = activation;
    make(&own, has_bias, &t);
    for (int v = 0; v < VARIANTS; ++v) {
        own.params.variant = variants[v];
        test_restore(&t.dx);
        if (!test_ran(husk_conv_transpose(test_queue(), &own.params, &t.dy.tensor, &t.w.tensor,
                                          has_bias ? &t.bias.tensor : NULL, &t.dx.tensor),
                      NAME, variants[v]))
            continue;
        test_fetch(&t.dx);
        set_bound(&t);
        husk_ref_report report = {0};
        check(&t.op, &t.dx.array, &report);
        test_accept(NAME, variants[v], conv_backward_text(c, text), &report);
    }
    release(&t);
}

START_TEST(transposed_convolution)
{
    static const husk_act activations[] = {HUSK_ACT_NONE, HUSK_ACT_RELU, HUSK_ACT_SIGMOID};
    husk_ref_random random = {.seed = 90};
    for (int i = 0; i < 24; ++i) {
        conv_backward_case c = conv_backward_draw(&random, most_products(), false);
        make_longer(&random, &c);
        test_transpose(&c, c.x[1] >= 8 && i % 2, i % 2 && c.x[1] >= 8 ? activations[i / 2 % 3] : HUSK_ACT_NONE);
    }
    // Two by two with stride 2, and a filter that leaves elements of y to the bias alone.
    const conv_backward_case doubles = conv_backward_plain(8, 12, 14, 2, 0, 2);
    test_transpose(&doubles, true, HUSK_ACT_RELU);
    const conv_backward_case sparse = conv_backward_plain(8, 12, 14, 1, 0, 2);
    test_transpose(&sparse, true, HUSK_ACT_SIGMOID);
    // Elements that nothing reaches, and such that something does, beyond a stride.
    for (int64_t pad = 0; pad <= 2; pad += 2)
        for (int64_t stride = 1; stride <= 2; ++stride) {
            conv_backward_case far = conv_backward_plain(8, 12, 14, 3, pad, stride);
            far.params.dilation[0] = far.params.dilation[1] = 5;
            far.in[0] = 15;
            far.longer[0] = 4 - (far.in[0] + 2 * pad - 11) % stride;
            far.longer[1] = 2;
            ck_assert(conv_backward_resolve(&far));
            test_transpose(&far, true, HUSK_ACT_SIGMOID);
        }
}
END_TEST

// ---- rules ----

START_TEST(not_a_number_and_infinity)
{
    conv_backward_case c = conv_backward_plain(_i ? 1 : 8, _i ? 1 : 9, 12, 3, 1, 2);
    c.groups = _i ? 9 : 1;
    conv_backward_resolve(&c);
    tensors t;
    make(&c, false, &t);
    husk_ref_store(&t.dy.array, 7, (double)NAN);
    husk_ref_store(&t.dy.array, 40, (double)INFINITY);
    test_input_update(&t.dy);
    for (int v = 0; v < VARIANTS; ++v) {
        if (is_named(v, "depthwise") != (_i == 1))
            continue;
        const bool ran = run(&c, variants[v], &t);
        ck_assert_msg(ran || is_named(v, "columns"), "%s refused", variants[v] ? variants[v] : "its own choice");
        if (!ran)
            continue;
        husk_ref_report report = {0};
        check(&t.op, &t.dx.array, &report);
        test_accept(NAME, variants[v], "NaN and infinity", &report);
    }
    release(&t);
}
END_TEST

START_TEST(ten_runs_are_bitwise_equal)
{
    conv_backward_case cases[] = {conv_backward_plain(20, 30, 25, 3, 1, 1), conv_backward_plain(20, 30, 25, 3, 1, 2),
                                  conv_backward_plain(1, 1, 30, 3, 1, 2)};
    cases[2].groups = 20;
    conv_backward_resolve(&cases[2]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        for (int v = 0; v < VARIANTS; ++v) {
            tensors t;
            make(&cases[i], false, &t);
            const bool is_meant = is_named(v, "depthwise") == (i == 2);
            const bool ran = is_meant && run(&cases[i], variants[v], &t);
            ck_assert_msg(ran || !is_meant || is_named(v, "columns"), "%s refused",
                          variants[v] ? variants[v] : "its own choice");
            if (!ran) {
                release(&t);
                continue;
            }
            const size_t bytes = (size_t)t.dx.words * 4;
            void *first = malloc(bytes);
            memcpy(first, t.dx.current, bytes);
            for (int j = 0; j < 9; ++j) {
                run(&cases[i], variants[v], &t);
                ck_assert_int_eq(memcmp(first, t.dx.current, bytes), 0);
            }
            free(first);
            release(&t);
        }
}
END_TEST

START_TEST(new_shape_compiles_nothing)
{
    husk_program_stats before, after;
    conv_backward_case c = conv_backward_plain(13, 14, 12, 3, 1, 2);
    test_case(&c);
    husk_context_program_stats(test_context(), &before);
    c = conv_backward_plain(7, 9, 15, 3, 1, 2);
    test_case(&c);
    husk_context_program_stats(test_context(), &after);
    ck_assert_uint_eq(after.builds + after.cache_loads, before.builds + before.cache_loads);
}
END_TEST

START_TEST(planted_mistakes_are_found)
{
    for (int v = 1; v < VARIANTS; ++v) {
        const bool is_depthwise = strcmp(variants[v], "depthwise") == 0;
        conv_backward_case c = conv_backward_plain(is_depthwise ? 1 : 6, is_depthwise ? 1 : 7, 20, 3, 1, 2);
        c.groups = is_depthwise ? 7 : 1;
        conv_backward_resolve(&c);
        tensors t;
        make(&c, false, &t);
        ck_assert(run(&c, variants[v], &t));
        const husk_ref_function function = husk_ref_conv_backward_data_function(&t.op);
        test_planted(&function, &t.dx.array, check, &t.op);
        test_planted_guards(&t.dx);
        release(&t);
    }
}
END_TEST

// A good call's arguments, of which each case spoils one.
typedef struct arguments {
    husk_conv_params params;
    husk_tensor w, dy, dx;
} arguments;

static void bad_size(arguments *a)
{
    a->params.size = 4096;
}
static void bad_activation(arguments *a)
{
    a->params.activation = HUSK_ACT_RELU;
}
static void bad_accumulate(arguments *a)
{
    a->params.accumulate = 8;
}
static void bad_stride(arguments *a)
{
    a->params.stride[1] = -1;
}
static void bad_groups(arguments *a)
{
    a->params.groups = -1;
}
static void bad_variant(arguments *a)
{
    a->params.variant = "fastest";
}
static void w_rank(arguments *a)
{
    a->w.rank = 3;
}
static void w_channels(arguments *a)
{
    a->w.shape[1] = 9;
}
static void w_dtype(arguments *a)
{
    a->w.dtype = HUSK_I64;
}
static void w_double(arguments *a)
{
    a->w.dtype = HUSK_F64;
}
static void w_memory(arguments *a)
{
    a->w.buffer = NULL;
}
static void dy_shape(arguments *a)
{
    a->dy.shape[3] -= 1;
}
static void dy_filters(arguments *a)
{
    a->dy.shape[1] -= 1;
}
static void dy_dtype(arguments *a)
{
    a->dy.dtype = HUSK_I32;
}
static void dy_memory(arguments *a)
{
    a->dy.offset = 1 << 30;
}
static void dx_rank(arguments *a)
{
    a->dx.rank = 2;
}
static void dx_dtype(arguments *a)
{
    a->dx.dtype = HUSK_I8;
}
static void dx_folded(arguments *a)
{
    memcpy(a->dx.strides, (int64_t[]){42, 7, 1, 1}, 4 * sizeof(int64_t));
}
static void dx_over_w(arguments *a)
{
    a->w.buffer = a->dx.buffer;
    a->w.offset = a->dx.offset;
}
static void dx_over_dy(arguments *a)
{
    a->dy.buffer = a->dx.buffer;
    a->dy.offset = a->dx.offset;
}

static const struct {
    void (*spoil)(arguments *a);
    husk_status status;
    const char *argument;
} bad_calls[] = {
    {bad_size, HUSK_INVALID_ARGUMENT, "size"},
    {bad_activation, HUSK_INVALID_ARGUMENT, "activation"},
    {bad_accumulate, HUSK_INVALID_ARGUMENT, "accumulate"},
    {bad_stride, HUSK_INVALID_ARGUMENT, "stride[1]"},
    {bad_groups, HUSK_INVALID_ARGUMENT, "groups"},
    {bad_variant, HUSK_INVALID_ARGUMENT, "variant"},
    {w_rank, HUSK_INVALID_ARGUMENT, "w:"},
    {w_channels, HUSK_INVALID_ARGUMENT, "w:"},
    {w_dtype, HUSK_UNSUPPORTED, "w:"},
    {w_double, HUSK_INVALID_ARGUMENT, "w:"},
    {w_memory, HUSK_INVALID_ARGUMENT, "w:"},
    {dy_shape, HUSK_INVALID_ARGUMENT, "dy:"},
    {dy_filters, HUSK_INVALID_ARGUMENT, "dy:"},
    {dy_dtype, HUSK_UNSUPPORTED, "dy:"},
    {dy_memory, HUSK_INVALID_ARGUMENT, "dy:"},
    {dx_rank, HUSK_INVALID_ARGUMENT, "dx:"},
    {dx_dtype, HUSK_UNSUPPORTED, "dx:"},
    {dx_folded, HUSK_INVALID_ARGUMENT, "dx:"},
    {dx_over_w, HUSK_INVALID_ARGUMENT, "dx"},
    {dx_over_dy, HUSK_INVALID_ARGUMENT, "dx"},
};

START_TEST(bad_calls_are_refused)
{
    const conv_backward_case c = conv_backward_plain(4, 5, 9, 3, 1, 1);
    tensors t;
    make(&c, false, &t);
    arguments a = {c.params, t.w.tensor, t.dy.tensor, t.dx.tensor};
    bad_calls[_i].spoil(&a);
    test_refused(husk_conv_backward_data(test_silent_queue(), &a.params, &a.w, &a.dy, &a.dx), bad_calls[_i].status,
                 bad_calls[_i].argument);
    test_untouched(&t.dx);
    release(&t);
}
END_TEST

START_TEST(missing_arguments_are_refused)
{
    const conv_backward_case c = conv_backward_plain(4, 5, 9, 3, 1, 1);
    tensors t;
    make(&c, false, &t);
    husk_queue *queue = test_silent_queue();
    const husk_tensor *w = &t.w.tensor, *dy = &t.dy.tensor, *dx = &t.dx.tensor, *bias = &t.bias.tensor;
    ck_assert_int_eq(husk_conv_backward_data(NULL, &c.params, w, dy, dx), HUSK_INVALID_ARGUMENT);
    test_refused(husk_conv_backward_data(queue, &c.params, NULL, dy, dx), HUSK_INVALID_ARGUMENT, "w:");
    test_refused(husk_conv_backward_data(queue, &c.params, w, NULL, dx), HUSK_INVALID_ARGUMENT, "dy:");
    test_refused(husk_conv_backward_data(queue, &c.params, w, dy, NULL), HUSK_INVALID_ARGUMENT, "dx:");
    test_refused(husk_conv_transpose(queue, &c.params, NULL, w, bias, dx), HUSK_INVALID_ARGUMENT, "x:");
    test_refused(husk_conv_transpose(queue, &c.params, dy, NULL, bias, dx), HUSK_INVALID_ARGUMENT, "w:");
    test_refused(husk_conv_transpose(queue, &c.params, dy, w, bias, NULL), HUSK_INVALID_ARGUMENT, "y:");
    husk_tensor other = *bias;
    other.shape[0] = 3;
    test_refused(husk_conv_transpose(queue, &c.params, dy, w, &other, dx), HUSK_INVALID_ARGUMENT, "bias:");
    other = *bias;
    other.strides[0] = 2;
    test_refused(husk_conv_transpose(queue, &c.params, dy, w, &other, dx), HUSK_INVALID_ARGUMENT, "has a stride of 2");
    other = *dy;
    other.shape[2] = 3;
    test_refused(husk_conv_transpose(queue, &c.params, &other, w, bias, dx), HUSK_INVALID_ARGUMENT, "x:");
    test_untouched(&t.dx);
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
    // One tile of gemm's serves all products: others would be programs more.
    if (!test_is_long())
        setenv("HUSK_VARIANT", "gemm:packed:12x2v", 1);
    Suite *suite = suite_create(NAME);
    TCase *reference = tcase_create("reference"), *device = tcase_create("device"), *rules = tcase_create("rules");
    tcase_set_timeout(reference, 600);
    tcase_set_timeout(device, 600);
    tcase_set_timeout(rules, 600);
    if (test_tier_is("dtypes")) {
        tcase_add_loop_test(device, generated, 0, 10);
        tcase_add_test(device, strides_filters_and_paddings);
        tcase_add_test(device, larger_ones);
        tcase_add_test(device, strips);
        tcase_add_test(device, columns);
        tcase_add_test(device, empty_ones);
        tcase_add_test(device, transposed_convolution);
        suite_add_tcase(suite, device);
        return test_main(suite);
    }
    tcase_add_loop_test(reference, finite_differences, 0, DIFFERENCES);
    tcase_add_test(device, narrow_ones);
    tcase_add_loop_test(device, generated, 0, 10);
    tcase_add_test(device, strides_filters_and_paddings);
    tcase_add_test(device, larger_ones);
    tcase_add_test(device, strips);
    tcase_add_test(device, columns);
    tcase_add_test(device, one_element_for_all);
    tcase_add_test(device, what_nothing_meets_is_zero);
    tcase_add_test(device, empty_ones);
    tcase_add_test(device, transposed_convolution);
    tcase_add_loop_test(rules, not_a_number_and_infinity, 0, 2);
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
