// SPDX-License-Identifier: MIT
// ctest: tiers=default,long timeout=600 with=whole_gradient,wrong_kernels
// Convolutions are verified before the first step. Mistakes are planted in a copy of the kernels: the variant that has
// one is found out, named in the log and replaced, and the network's numbers stay what they were; unverified, they are
// wrong. And no right variant is ever called wrong.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/environment.h"
#include "support/support.h"
#include "train/whole_gradient.h"
#include "train/wrong_kernels.h"

static test_log seen;

static husk_graph *make_graph(husk_context *context, husk_dtype dtype)
{
    husk_graph *graph = NULL;
    husk_error error = {0};
    test_ok_error(husk_graph_create(context, &HUSK_GRAPH_PARAMS(.dtype = dtype, .seed = 3), &graph, &error), &error);
    return graph;
}

// ---- a network of two convolutions ----

enum { BATCH = 6, CHANNELS = 20, FILTERS = 24, HEIGHT = 13, WIDTH = 15, MOST = 1 << 16 };

// The first one's.
static husk_act activation = HUSK_ACT_RELU;

// The second one has a stride. trains: there is a loss, the norm of what it gives.
static husk_graph *compile(husk_context *context, bool trains, uint32_t unverified, husk_status wanted)
{
    husk_graph *graph = make_graph(context, HUSK_F32);
    husk_error error = {0};
    const husk_initializer of_bias =
        HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_UNIFORM, .value = 0.75f, .spread = 0.25f);
    husk_conv_params same = HUSK_CONV_PARAMS(.pad = {1, 1}, .activation = activation);
    husk_conv_params halves = HUSK_CONV_PARAMS(.pad = {1, 1}, .stride = {2, 2});
    husk_conv_layer first = HUSK_CONV_LAYER(.filters = FILTERS, .window = {3, 3}, .params = &same, .bias = &of_bias);
    husk_conv_layer second = HUSK_CONV_LAYER(.filters = FILTERS, .window = {3, 3}, .params = &halves, .bias = &of_bias);
    husk_value x = husk_graph_input(graph, "x", HUSK_F32, 4, (int64_t[]){BATCH, CHANNELS, HEIGHT, WIDTH});
    x = husk_graph_conv_layer(graph, "conv1", &first, x);
    if (trains)
        x = husk_graph_conv_layer(graph, "conv2", &second, x);
    husk_graph_output(graph, "y", x);
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.unverified = unverified);
    if (trains)
        options.loss = husk_graph_reduce(graph, "loss", &HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_NORM), x);
    const husk_status status = husk_graph_compile(graph, &options, &error);
    ck_assert_msg(status == wanted, "%s\n%s", error.text, seen.warnings);
    if (wanted) {
        husk_graph_release(graph);
        return NULL;
    }
    test_fill_input(graph, "x", 1, 0);
    return graph;
}

// y and, where it trains, all gradients. Returns how many.
static int64_t numbers_of(husk_graph *graph, bool trains, float *numbers)
{
    husk_tensor y;
    test_graph_ok(graph, husk_graph_forward(graph, trains ? HUSK_GRAPH_TRAINING : HUSK_GRAPH_EVALUATION));
    test_graph_ok(graph, husk_graph_tensor(graph, "y", &y));
    int64_t count = husk_tensor_count(&y);
    ck_assert_int_lt(count, MOST);
    test_graph_ok(graph, husk_graph_read(graph, "y", numbers, sizeof *numbers * (size_t)count));
    if (trains)
        test_graph_ok(graph, husk_graph_backward(graph));
    for (size_t i = 0; trains && i < husk_graph_parameter_count(graph); i++) {
        husk_parameter parameter = HUSK_PARAMETER();
        test_graph_ok(graph, husk_graph_parameter_at(graph, i, &parameter));
        const int64_t here = husk_tensor_count(&parameter.gradient);
        ck_assert_int_lt(count + here, MOST);
        ck_assert_int_eq(husk_buffer_read(husk_graph_queue(graph), parameter.gradient.buffer,
                                          (uint64_t)parameter.gradient.offset * 4, (uint64_t)here * 4, numbers + count),
                         HUSK_OK);
        count += here;
    }
    return count;
}

// The largest difference, as a share of the largest number.
static double difference(const float *a, const float *b, int64_t count)
{
    double largest = 0, most = 0;
    for (int64_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs((double)a[i]));
        most = fmax(most, fabs((double)a[i] - (double)b[i]));
        if (!isfinite(b[i]))
            return INFINITY;
    }
    return most / largest;
}

// ---- planted mistakes ----

static const mistake mistakes[] = {
    {FORWARD, "x_end, x_stride_w, in_w,", "x_end, x_stride_w, in_w - 1,", "the last column of x is padding"},
    {FORWARD, "packed[m] = m < rows ?", "packed[m] = m < rows && c != channels - 1 ?", "the last channel is left out"},
    {FORWARD, "packed[m] = m < rows ?", "packed[m] = m < rows && (h != 0 || s != 2) ?", "a tap is left out"},
    {FORWARD, "has_bias && m < rows ?", "has_bias && m < rows - 1 ?", "some filters get no bias"},
    {FORWARD, "            line = line_end;\n",
     "            line = line_end;\n            if (line == lines && panel_begin == 0 && column == 0)\n"
     "                store_one(y, offsets[width / 2], 7.5f);\n",
     "an element in thousands is wrong"},
    {"conv", "winograd_4x4", "conv/winograd.cl", "w, vectors * VW, min(VW, channels - c)",
     "w, vectors * VW, min(VW, channels - 1 - c)", "the last channel is left out of tiles"},
    {DATA, "store_one(flipped++, 0, load_one(row, -(s * step_w * w_stride_w)));",
     "store_one(flipped++, 0, k == filters - 1 ? 0.0f : load_one(row, -(s * step_w * w_stride_w)));",
     "the last filter is left out"},
    {DATA, "const __global data_t *from = w + c * w_stride_c;",
     "const __global data_t *from = w + c * w_stride_c;\n"
     "                if (taps_h == 1 && taps_w == 2)\n                    from += step_w * w_stride_w;",
     "a tap is taken twice"},
    {DATA, "odds = length / 2;", "odds = length / 2 - 1;", "the last odd column is zero"},
    {WEIGHTS, "clamp((extent - column + stride - 1) / stride, low, length)",
     "clamp((extent - column + stride - 2) / stride, low, length)", "the last column of x is padding"},
    {WEIGHTS, "if (i >= here) {", "if (i >= here || (first_row + i) / kernel_size == channels - 1) {",
     "the last channel is left out"},
    {WEIGHTS, "if (i >= here) {", "if (i >= here || (first_row + i) % kernel_size == 4) {", "a tap is left out"},
    {WEIGHTS, "tile_zero(acc, TILE_M, TILE_NV);\n                    if (TILE_NV > 1",
     "tile_zero(acc, TILE_M, TILE_NV);\n"
     "                    acc[0].s1 += p == 0 && t == tiles - 1 && first_panel + j == 0 ? 3.0f : 0.0f;\n"
     "                    if (TILE_NV > 1",
     "an element in thousands is wrong"},
    {WEIGHTS, "        for (int n = 0; n < batch; ++n)\n            for (int d = 0; d < out_d; ++d)",
     "        for (int n = 1; n < batch; ++n)\n            for (int d = 0; d < out_d; ++d)",
     "the gradient of the bias lacks an image"},
    {"conv_backward_weights", "winograd", "conv/backward_weights_winograd.cl", "min(VW, channels - c), row - pad_h",
     "min(VW, channels - 1 - c), row - pad_h", "the last channel is left out of tiles"},
};
enum { MISTAKES = sizeof mistakes / sizeof *mistakes, FORWARDS = 6 };

// From now on the variant is preferred, and its kernels have the mistake.
static void begin_mistake(char *folder, const mistake *m)
{
    char preferred[96];
    test_copy_kernels(folder);
    test_plant(folder, m->file, m->right, m->wrong);
    snprintf(preferred, sizeof preferred, "%s:%s", m->op, m->variant);
    test_setenv("HUSK_VARIANT", preferred);
    test_setenv("HUSK_KERNEL_DIR", folder);
}

// The log has a line that names the operator and the variant and says how it is wrong, and what takes its place.
static void expect_named(const mistake *m, const char *how)
{
    char wanted[160];
    snprintf(wanted, sizeof wanted, ": %s: variant %s:", m->op, m->variant);
    const char *line = strstr(seen.warnings, wanted);
    ck_assert_msg(line && strstr(line, "computes wrongly") && strstr(line, how), "%s: %s", m->what, seen.warnings);
    snprintf(wanted, sizeof wanted, ": %s: variant ", m->op);
    line = strstr(seen.information, wanted);
    ck_assert_msg(line && strstr(line, "takes its place"), "%s: %s", m->what, seen.information);
}

static float right[MOST], got[MOST];

START_TEST(a_wrong_variant_is_replaced)
{
    const mistake *m = &mistakes[_i];
    const bool trains = _i >= FORWARDS;
    char folder[] = "/tmp/husk-verify-XXXXXX";
    if (test_lacks_panels("implicit_gemm")) // whose kernels have the mistakes
        return;
    if (_i > 0 && !test_is_long()) { // the kernels have what is to be planted, at least
        test_copy_kernels(folder);
        test_plant(folder, m->file, m->right, m->wrong);
        test_remove_kernels(folder);
        return;
    }
    husk_context *context = test_logged_context(&seen);
    husk_graph *graph = compile(context, trains, 0, HUSK_OK);
    const int64_t count = numbers_of(graph, trains, right);
    husk_graph_release(graph);
    husk_context_release(context);
    ck_assert_msg(!seen.warnings[0], "%s", seen.warnings);

    begin_mistake(folder, m);
    context = test_logged_context(&seen);
    graph = compile(context, trains, 0, HUSK_OK);
    ck_assert_int_eq(numbers_of(graph, trains, got), count);
    husk_graph_release(graph);
    expect_named(m, " instead of ");
    printf("%s\n%s", m->what, seen.warnings);
    double off = difference(right, got, count);
    ck_assert_msg(off < 1e-5, "%s: off by %g", m->what, off);

    // The check can fail: this is what is used without it.
    seen.warnings[0] = 0;
    graph = compile(context, trains, 1, HUSK_OK);
    numbers_of(graph, trains, got);
    off = difference(right, got, count);
    ck_assert_msg(!seen.warnings[0] && off > 1e-3, "%s: unverified off by %g; %s", m->what, off, seen.warnings);
    husk_graph_release(graph);
    husk_context_release(context);
    test_restore_environment();
    test_remove_kernels(folder);
}
END_TEST

// Behind y, where a small number is no wrong result: by each activation, for some are verified in another way.
START_TEST(writes_beyond_are_found)
{
    ck_assert_int_eq(BATCH * FILTERS * HEIGHT * WIDTH, 28080);
    static const mistake beyond = {FORWARD, "            line = line_end;\n",
                                   "            line = line_end;\n            if (line == lines && panel_begin == 0)\n"
                                   "                store_one(y_base, y_offset + 28080 + 5, 7.5f);\n",
                                   "an element behind the last one"};
    char folder[] = "/tmp/husk-verify-XXXXXX";
    const bool all = test_is_long();
    if (test_lacks_panels("implicit_gemm"))
        return;
    begin_mistake(folder, &beyond);
    for (int act = all ? HUSK_ACT_NONE : HUSK_ACT_TANH; act <= HUSK_ACT_TANH; act++) {
        activation = (husk_act)act;
        husk_context *context = test_logged_context(&seen);
        husk_graph_release(compile(context, false, 0, HUSK_OK));
        husk_context_release(context);
        expect_named(&beyond, "it writes beyond its output");
        printf("%s\n%s", husk_act_name(activation), seen.warnings);
    }
    activation = HUSK_ACT_RELU;
    test_restore_environment();
    test_remove_kernels(folder);
}
END_TEST

// ---- what is never replaced ----

// A variant that the params name, and one beside which there is none.
START_TEST(what_cannot_be_replaced_fails)
{
    char folder[] = "/tmp/husk-verify-XXXXXX";
    if (test_lacks_panels("implicit_gemm"))
        return;
    begin_mistake(folder, &mistakes[1]);
    husk_context *context = test_logged_context(&seen);
    husk_graph *graph = make_graph(context, HUSK_F32);
    husk_error error = {0};
    const husk_conv_params named = HUSK_CONV_PARAMS(.variant = "implicit_gemm");
    const husk_conv_layer layer = HUSK_CONV_LAYER(.filters = 5, .window = {3, 3}, .params = &named);
    husk_value x = husk_graph_input(graph, "x", HUSK_F32, 4, (int64_t[]){2, 3, 8, 8});
    husk_graph_output(graph, "y", husk_graph_conv_layer(graph, "only", &layer, x));
    ck_assert_int_eq(husk_graph_compile(graph, NULL, &error), HUSK_UNSUPPORTED);
    ck_assert_msg(strstr(error.text, "husk_graph_compile: only: conv: variant implicit_gemm") &&
                      strstr(error.text, "which params name"),
                  "%s", error.text);
    husk_graph_release(graph);
    husk_context_release(context);
    test_restore_environment();
    test_remove_kernels(folder);

    if (!test_is_long())
        return;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    const mistake everywhere = {"conv",
                                "implicit_gemm",
                                "lib/activation.clh",
                                "x = x < (ACT_T)(low) ? (ACT_T)(low) : x;",
                                "x += (ACT_T)(1.0f);",
                                ""};
    begin_mistake(folder, &everywhere);
    context = test_logged_context(&seen);
    compile(context, false, 0, HUSK_UNSUPPORTED);
    husk_context_release(context);
    test_restore_environment();
    test_remove_kernels(folder);
}
END_TEST

// ---- right variants ----

typedef struct sizes {
    int32_t space;
    int64_t images, channels, filters, groups, in[3], window[3], stride[3], pad[3], pad_end_extra[3], dilation[3];
} sizes;

static const sizes shapes[] = {
    {2, 3, 16, 24, 1, {12, 17}, {3, 3}, {1, 1}, {1, 1}, {0}, {1, 1}},
    {2, 2, 7, 5, 1, {9, 33}, {5, 4}, {2, 3}, {2, 0}, {-1, 3}, {1, 2}},
    {2, 2, 18, 18, 18, {14, 15}, {3, 3}, {1, 1}, {1, 1}, {0}, {1, 1}},
    {2, 5, 17, 17, 17, {11, 10}, {5, 5}, {2, 2}, {2, 2}, {0}, {1, 1}},
    {2, 2, 12, 20, 4, {10, 10}, {3, 3}, {2, 1}, {1, 1}, {0}, {1, 1}},
    {2, 2, 40, 33, 1, {7, 7}, {1, 1}, {1, 1}, {0}, {0}, {1, 1}},
    {1, 4, 6, 9, 1, {70}, {7}, {2}, {3}, {0}, {1}},
    {3, 2, 4, 6, 2, {6, 7, 9}, {3, 2, 3}, {1, 2, 1}, {1, 0, 1}, {0}, {1, 1, 1}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void expect_silence(const char *what, int shape)
{
    ck_assert_msg(!strstr(seen.warnings, "computes wrongly") && !strstr(seen.warnings, "not verified"),
                  "%s, shape %d: %s", what, shape, seen.warnings);
}

// A convolution of the graph's input and another one behind it, so that there are all three calls.
static void compile_shape(husk_context *context, const sizes *s, husk_dtype dtype, husk_act act, bool adds)
{
    husk_graph *graph = make_graph(context, dtype);
    husk_error error = {0};
    husk_conv_params params = HUSK_CONV_PARAMS(.groups = s->groups, .activation = act);
    memcpy(params.stride, s->stride, sizeof params.stride);
    memcpy(params.pad, s->pad, sizeof params.pad);
    memcpy(params.pad_end_extra, s->pad_end_extra, sizeof params.pad_end_extra);
    memcpy(params.dilation, s->dilation, sizeof params.dilation);
    const int64_t shape[5] = {s->images, s->channels, s->in[0], s->in[1], s->in[2]};
    const int64_t scale[5] = {1, 1, 1, 1, 1}; // a parameter in front, so that there is a gradient by x
    husk_conv_layer layer = HUSK_CONV_LAYER(.filters = s->filters, .params = &params);
    memcpy(layer.window, s->window, sizeof s->window);
    husk_value x = husk_graph_input(graph, "x", dtype, s->space + 2, shape);
    const husk_binary_params times = husk_binary_defaults(HUSK_BINARY_MULTIPLY);
    x = husk_graph_binary(graph, "scaled", &times, x, husk_graph_parameter(graph, "scale", s->space + 2, scale, NULL));
    x = husk_graph_conv_layer(graph, "conv", &layer, x);
    const husk_loss_params squares = husk_loss_defaults(HUSK_LOSS_MEAN_SQUARE);
    int64_t out[HUSK_MAX_RANK];
    husk_graph_shape(graph, x, out);
    husk_value target = husk_graph_input(graph, "target", dtype, s->space + 2, out);
    husk_value loss = husk_graph_loss(graph, "loss", &squares, x, target, HUSK_NO_VALUE, HUSK_NO_VALUE);
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.loss = loss, .accumulate = adds ? 2 : 1, .cold = 1);
    const husk_status status = husk_graph_compile(graph, &options, &error);
    ck_assert_msg(status == HUSK_OK, "%s", error.text);
    husk_graph_release(graph);
}

static const husk_dtype dtypes[] = {HUSK_F32, HUSK_BF16, HUSK_F16, HUSK_F64};
static const char *const ops[] = {"conv", "conv_backward_data", "conv_backward_weights"};

// What the library itself chooses, in dtypes that verifying reads and writes in its own ways.
START_TEST(right_choices_are_left_alone)
{
    const husk_dtype dtype = _i ? HUSK_F64 : HUSK_BF16;
    if (dtype == HUSK_F64 && !husk_context_has(test_context(), HUSK_FEATURE_F64))
        return;
    husk_context *context = test_logged_context(&seen);
    compile_shape(context, &shapes[SHAPES - 2], dtype, HUSK_ACT_NONE, true);
    expect_silence(husk_dtype_name(dtype), SHAPES - 2);
    husk_context_release(context);
}
END_TEST

// Every variant of an operator that takes a shape, in a dtype.
START_TEST(right_variants_are_left_alone)
{
    const char *op = ops[_i / 4];
    const husk_dtype dtype = dtypes[_i % 4];
    char preferred[96];
    if (!test_is_long() || (dtype == HUSK_F64 && !husk_context_has(test_context(), HUSK_FEATURE_F64)))
        return;
    for (size_t v = 0; husk_op_variant(op, v); v++) {
        snprintf(preferred, sizeof preferred, "%s:%s", op, husk_op_variant(op, v));
        test_setenv("HUSK_VARIANT", preferred);
        husk_context *context = test_logged_context(&seen);
        for (int s = 0; s < SHAPES; s++) {
            compile_shape(context, &shapes[s], dtype, HUSK_ACT_NONE, s % 2);
            expect_silence(preferred, s);
        }
        husk_context_release(context);
    }
    test_restore_environment();
}
END_TEST

START_TEST(activations_are_verified)
{
    const bool all = test_is_long();
    husk_context *context = test_logged_context(&seen);
    for (int act = HUSK_ACT_RELU; act <= HUSK_ACT_TANH; act++)
        for (int d = 0; d < (all ? 3 : 1); d++)
            for (int s = all ? 0 : SHAPES - 2; s < (all ? SHAPES : SHAPES - 1); s++) {
                compile_shape(context, &shapes[s], dtypes[d], (husk_act)act, false);
                expect_silence(husk_act_name((husk_act)act), s);
            }
    husk_context_release(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("verify");
    TCase *mistaken = tcase_create("mistakes"), *right_ones = tcase_create("right"),
          *activated = tcase_create("activations");
    tcase_set_timeout(mistaken, 300);
    tcase_set_timeout(right_ones, 300);
    tcase_set_timeout(activated, 300);
    tcase_add_loop_test(mistaken, a_wrong_variant_is_replaced, 0, MISTAKES);
    tcase_add_test(mistaken, writes_beyond_are_found);
    tcase_add_test(mistaken, what_cannot_be_replaced_fails);
    tcase_add_loop_test(right_ones, right_choices_are_left_alone, 0, 2);
    tcase_add_loop_test(right_ones, right_variants_are_left_alone, 0, 12);
    tcase_add_test(activated, activations_are_verified);
    suite_add_tcase(suite, mistaken);
    suite_add_tcase(suite, right_ones);
    suite_add_tcase(suite, activated);
    return test_main(suite);
}
