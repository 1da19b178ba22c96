// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=120 with=whole_gradient,rounded_gradient,digits
// Mixed precision on a small network: what is refused, gradients, where parameters lie and what they are copied to, the
// loss scale, and that digits are learnt as in f32.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"
#include "train/graph/compiled.h"
#include "train/digits.h"
#include "train/rounded_gradient.h"
#include "train/whole_gradient.h"

enum { BATCH = 8, WIDTH = 64, HIDDEN = 32, CLASSES = 10 };

// Images of 64 pixels, a linear layer with a ReLU, another one.
static husk_value build(husk_graph *graph, bool perturbs)
{
    husk_value x = husk_graph_input(graph, "images", HUSK_F32, 3, (int64_t[]){BATCH, 8, 8});
    husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 1, (int64_t[]){BATCH});
    husk_linear_layer wide = HUSK_LINEAR_LAYER(.outputs = HIDDEN, .activation = HUSK_ACT_RELU);
    x = test_rounded(graph, perturbs, husk_graph_reshape(graph, "flat", x, 2, (int64_t[]){BATCH, WIDTH}));
    x = test_rounded(graph, perturbs, husk_graph_linear(graph, "fc1", &wide, x));
    x = test_rounded(graph, perturbs, husk_graph_linear(graph, "fc2", &HUSK_LINEAR_LAYER(.outputs = CLASSES), x));
    husk_graph_output(graph, "logits", x);
    return husk_graph_loss(graph, "loss", NULL, x, labels, HUSK_NO_VALUE, HUSK_NO_VALUE);
}

static void fill(husk_graph *graph)
{
    test_fill_input(graph, "images", 11, 0);
    test_fill_input(graph, "labels", 12, CLASSES);
}

static husk_graph *compiled(husk_dtype dtype, husk_graph_options options)
{
    husk_graph *graph = test_graph(dtype, 7);
    husk_error error = {0};
    options.loss = build(graph, false);
    options.cold = 1;
    test_ok_error(husk_graph_compile(graph, &options, &error), &error);
    fill(graph);
    return graph;
}

static const husk_optimizer_params momentum = {
    .size = sizeof(husk_optimizer_params), .kind = HUSK_OPTIMIZER_SGD, .rate = 0.05f, .momentum = 0.9f};
static const husk_optimizer_params adam = {.size = sizeof(husk_optimizer_params),
                                           .kind = HUSK_OPTIMIZER_ADAM,
                                           .rate = 0.01f,
                                           .beta = 0.9,
                                           .beta2 = 0.999,
                                           .epsilon = 1e-8};

// ---- what is refused ----

typedef husk_value (*planted)(husk_graph *graph, husk_value x, husk_value wide, husk_value labels);

static husk_value two_dtypes(husk_graph *g, husk_value x, husk_value wide, husk_value labels)
{
    (void)labels;
    return husk_graph_binary(g, "sum", NULL, x, wide);
}
static husk_value two_inputs(husk_graph *g, husk_value x, husk_value wide, husk_value labels)
{
    (void)labels;
    return husk_graph_concat(g, "both", NULL, (husk_value[]){wide, x}, 2);
}
static husk_value other_input(husk_graph *g, husk_value x, husk_value wide, husk_value labels)
{
    (void)x, (void)wide, (void)labels;
    return husk_graph_input(g, "y", HUSK_F16, 1, (int64_t[]){3});
}
static husk_value cast_to_labels(husk_graph *g, husk_value x, husk_value wide, husk_value labels)
{
    (void)wide, (void)labels;
    return husk_graph_cast(g, "numbers", x, HUSK_I32);
}
static husk_value product_of_labels(husk_graph *g, husk_value x, husk_value wide, husk_value labels)
{
    (void)wide;
    return husk_graph_gemm(g, "product", NULL, 1, x, labels, HUSK_NO_VALUE);
}
static husk_value norm_by_labels(husk_graph *g, husk_value x, husk_value wide, husk_value labels)
{
    (void)wide;
    return husk_graph_norm(g, "norm", NULL, x, labels, 0, 0, 0);
}

START_TEST(the_first_mistake_is_named)
{
    const struct {
        planted build;
        const char *text;
    } all[] = {
        {two_dtypes, "husk_graph_binary: sum: b: its dtype is f32, and what was given before is bf16; husk_graph_cast"},
        {two_inputs, "husk_graph_concat: both: inputs: its dtype is bf16, and what was given before is f32"},
        {other_input, "husk_graph_input: y: dtype: f16 is neither the graph's, bf16, nor f32, i32, i64 or u8"},
        {cast_to_labels, "husk_graph_cast: numbers: dtype: i32; bf16 or f32 is wanted"},
        {product_of_labels, "husk_graph_gemm: product: b: its dtype is i32, the graph's is bf16"},
        {norm_by_labels, "husk_graph_norm: norm: scale: its dtype is i32, the graph's is bf16"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        husk_graph *graph = test_graph(HUSK_BF16, 0);
        husk_value x = husk_graph_input(graph, "x", HUSK_BF16, 2, (int64_t[]){4, 5});
        husk_value wide = husk_graph_input(graph, "wide", HUSK_F32, 2, (int64_t[]){4, 5});
        husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 2, (int64_t[]){5, 3});
        ck_assert_int_eq(all[i].build(graph, x, wide, labels), HUSK_NO_VALUE);
        const char *text = husk_graph_error(graph)->text;
        ck_assert_msg(strncmp(text, all[i].text, strlen(all[i].text)) == 0, "\"%s\" is not \"%s\"", text, all[i].text);
        husk_graph_release(graph);
    }
}
END_TEST

START_TEST(options_are_checked)
{
    const struct {
        husk_loss_scale_params params;
        const char *text;
    } all[] = {
        {HUSK_LOSS_SCALE_PARAMS(.start = -1), "loss_scale: start is -1"},
        {HUSK_LOSS_SCALE_PARAMS(.start = 0x1p25f), "loss_scale: start is"},
        {HUSK_LOSS_SCALE_PARAMS(.growth = 0.5f), "loss_scale: growth is 0.5"},
        {HUSK_LOSS_SCALE_PARAMS(.backoff = 1.5f), "loss_scale: backoff is 1.5"},
        {HUSK_LOSS_SCALE_PARAMS(.start = NAN), "loss_scale: start is nan"},
    };
    husk_error error = {0};
    husk_graph *graph = test_graph(HUSK_F16, 7);
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.optimizer = &adam, .loss = build(graph, false));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        options.loss_scale = &all[i].params;
        ck_assert_int_eq(husk_graph_compile(graph, &options, &error), HUSK_INVALID_ARGUMENT);
        ck_assert_msg(strstr(error.text, all[i].text), "%s", error.text);
    }
    husk_loss_scale_params plain = HUSK_LOSS_SCALE_PARAMS(0);
    options.loss_scale = &plain;
    options.optimizer = NULL;
    ck_assert_int_eq(husk_graph_compile(graph, &options, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strstr(error.text, "loss_scale: without an optimizer"), "%s", error.text);
    // Nor is there one for gradients that come from elsewhere.
    husk_graph *stage = test_graph(HUSK_F16, 7);
    husk_value made = build(stage, false);
    husk_graph_output_gradient(stage, "given", husk__graph_find(stage, "fc1"));
    husk_graph_options of_stage = HUSK_GRAPH_OPTIONS(.optimizer = &adam, .loss = made, .loss_scale = &plain);
    ck_assert_int_eq(husk_graph_compile(stage, &of_stage, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strstr(error.text, "loss_scale: gradients that are given, or wanted by inputs"), "%s", error.text);
    husk_graph_release(stage);
    // Nor for those that go elsewhere.
    husk_graph *last = test_graph(HUSK_F16, 7);
    husk_value in = husk_graph_input(last, "in", HUSK_F16, 2, (int64_t[]){BATCH, WIDTH});
    husk_value out = husk_graph_linear(last, "fc", &HUSK_LINEAR_LAYER(.outputs = CLASSES), in);
    husk_value labels = husk_graph_input(last, "labels", HUSK_I32, 1, (int64_t[]){BATCH});
    of_stage.loss = husk_graph_loss(last, "loss", NULL, out, labels, HUSK_NO_VALUE, HUSK_NO_VALUE);
    husk_graph_input_gradient(last, "dx", in);
    ck_assert_int_eq(husk_graph_compile(last, &of_stage, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strstr(error.text, "loss_scale: gradients that are given, or wanted by inputs"), "%s", error.text);
    of_stage.loss_scale = NULL;
    test_ok_error(husk_graph_compile(last, &of_stage, &error), &error);
    husk_loss_scale scale = HUSK_LOSS_SCALE();
    ck_assert_int_eq(husk_graph_get_loss_scale(last, &scale), HUSK_OK);
    ck_assert(scale.scale == 0);
    husk_graph_release(last);
    // A loss that was computed in f16 is too coarse to be one.
    husk_value x = husk_graph_parameter(graph, "x", 1, (int64_t[]){5}, NULL);
    options.loss_scale = NULL;
    options.loss = husk_graph_reduce(graph, "sum", NULL, x);
    ck_assert_int_eq(husk_graph_compile(graph, &options, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strstr(error.text, "loss: its dtype is f16; f32 is wanted (husk_graph_cast)"), "%s", error.text);
    husk_graph_release(graph);
    ck_assert_int_eq(husk_graph_create(test_context(), &HUSK_GRAPH_PARAMS(.dtype = HUSK_I32), &graph, &error),
                     HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strstr(error.text, "dtype i32 is none of f32, f16, bf16, f64"), "%s", error.text);
}
END_TEST

// ---- gradients, memory ----

START_TEST(gradients_are_those_of_f32)
{
    const test_rounded_network network = {build, fill};
    const husk_dtype dtype = _i ? HUSK_F16 : HUSK_BF16;
    printf("%s: at most %.2f of the bound\n", husk_dtype_name(dtype), test_rounded_gradient(&network, dtype, HUSK_F32));
}
END_TEST

START_TEST(memory_is_less)
{
    husk_graph_memory memory[2];
    husk_error error = {0};
    for (int i = 0; i < 2; i++) {
        husk_graph *graph = test_graph(i ? HUSK_BF16 : HUSK_F32, 7);
        husk_value x = husk_graph_input(graph, "x", HUSK_F32, 2, (int64_t[]){64, 256});
        husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 1, (int64_t[]){64});
        husk_activation_params gelu = HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_GELU);
        for (int layer = 0; layer < 6; layer++) {
            husk_linear_layer square = HUSK_LINEAR_LAYER(.outputs = 256);
            char name[16];
            snprintf(name, sizeof name, "fc%d", layer);
            x = husk_graph_activation(graph, NULL, &gelu, husk_graph_linear(graph, name, &square, x));
        }
        x = husk_graph_linear(graph, "last", &HUSK_LINEAR_LAYER(.outputs = CLASSES), x);
        husk_graph_options options =
            HUSK_GRAPH_OPTIONS(.optimizer = &adam, .loss = husk_graph_loss(graph, "loss", NULL, x, labels, 0, 0));
        test_ok_error(husk_graph_measure(graph, &options, &memory[i], &error), &error);
        husk_graph_release(graph);
    }
    const double arena = (double)memory[1].arena / (double)memory[0].arena;
    printf("arena: %llu bytes in f32, %llu in bf16\n", (unsigned long long)memory[0].arena,
           (unsigned long long)memory[1].arena);
    ck_assert_msg(arena < 0.55, "the arena of bf16 is %g of f32's", arena);
    // What learning needs stays as it is, but for gaps, and copies are half of it more.
    const double gradients = (double)memory[1].gradients / (double)memory[0].gradients;
    const double parameters = (double)memory[1].parameters / (double)memory[0].parameters;
    ck_assert_msg(fabs(gradients - 1) < 1e-3 && fabs(parameters - 1.5) < 1e-3, "%g, %g", gradients, parameters);
    ck_assert_uint_eq(memory[1].states, 2 * memory[1].gradients);
}
END_TEST

// ---- parameters and their copies ----

static double logit(husk_graph *graph)
{
    float logits[BATCH * CLASSES];
    test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_EVALUATION));
    test_graph_ok(graph, husk_graph_read(graph, "logits", logits, sizeof logits));
    return (double)logits[0];
}

START_TEST(copies_follow_parameters)
{
    husk_graph *graph = compiled(HUSK_F16, HUSK_GRAPH_OPTIONS(.optimizer = &momentum));
    husk_parameter parameter = HUSK_PARAMETER();
    float bias[CLASSES];
    const float more = 3;
    // Masters are f32; they hold what f16 does not.
    test_graph_ok(graph, husk_graph_read(graph, "fc2.bias", bias, sizeof bias));
    for (size_t i = 0; i < husk_graph_parameter_count(graph); i++) {
        test_graph_ok(graph, husk_graph_parameter_at(graph, i, &parameter));
        ck_assert_int_eq(parameter.tensor.dtype, HUSK_F32);
        ck_assert_int_eq(parameter.gradient.dtype, HUSK_F32);
        ck_assert_int_eq(parameter.states[0].dtype, HUSK_F32);
        if (strcmp(parameter.name, "fc2.bias") == 0)
            break;
    }
    const double before = logit(graph);
    bias[0] += 1;
    test_graph_ok(graph, husk_graph_write(graph, "fc2.bias", bias, sizeof bias));
    const double after = logit(graph);
    ck_assert_msg(fabs(after - before - 1) < 0.01, "%g, then %g", before, after);
    // Through the buffer, which the library does not see, later than it was given.
    const uint64_t at = (uint64_t)parameter.tensor.offset * sizeof more;
    test_ok(husk_buffer_write(test_queue(), parameter.tensor.buffer, at, sizeof more, &more));
    ck_assert(logit(graph) == after);
    test_graph_ok(graph, husk_graph_parameters_changed(graph));
    const double last = logit(graph);
    ck_assert_msg(fabs(last - before - 3) < 0.02, "%g, then %g", before, last);
    // Steps far below f16's resolution add up in the master, and the copy follows at last.
    test_graph_ok(graph, husk_graph_set_rate(graph, 1e-5f));
    husk_tensor copies = husk_tensor_make(graph->compiled->regions[HUSK__REGION_COPIES], HUSK_F16, 0, NULL);
    uint16_t half[2];
    float master[2];
    for (int i = 0; i < 2; i++) {
        copies.offset = parameter.tensor.offset;
        test_ok(husk_buffer_read(test_queue(), copies.buffer, (uint64_t)copies.offset * 2, 2, &half[i]));
        test_ok(husk_buffer_read(test_queue(), parameter.tensor.buffer, at, sizeof *master, &master[i]));
        for (int step = 0; step < 100 && i == 0; step++)
            test_graph_ok(graph, husk_graph_step(graph));
    }
    const float step = (master[1] - master[0]) / 100;
    ck_assert_msg(step != 0 && fabsf(step) < 0x1p-11f && half[0] != half[1], "a step of %g, copies %x and %x",
                  (double)step, half[0], half[1]);
    // What f32 holds and f16 does not is named as what it is.
    bias[1] = 1e6f;
    test_graph_ok(graph, husk_graph_write(graph, "fc2.bias", bias, sizeof bias));
    test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_TRAINING));
    ck_assert_int_eq(husk_graph_check_finite(graph), HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strstr(husk_graph_error(graph)->text, "is the parameter fc2.bias"), "%s",
                  husk_graph_error(graph)->text);
    husk_graph_release(graph);
}
END_TEST

// ---- the loss scale ----

typedef struct image {
    uint64_t bytes;
    char *all;
} image;

// Parameters, copies and states.
static image take(husk_graph *graph)
{
    const husk__compiled *own = graph->compiled;
    husk_buffer *const buffers[] = {own->regions[HUSK__REGION_PARAMETERS], own->regions[HUSK__REGION_COPIES],
                                    own->states[0], own->states[1]};
    image taken = {0};
    for (int i = 0; i < 4; i++)
        taken.bytes += buffers[i] ? husk_buffer_size(buffers[i]) : 0;
    taken.all = malloc(taken.bytes);
    char *at = taken.all;
    for (int i = 0; i < 4; i++)
        if (buffers[i] && husk_buffer_size(buffers[i])) {
            test_ok(husk_buffer_read(test_queue(), buffers[i], 0, husk_buffer_size(buffers[i]), at));
            at += husk_buffer_size(buffers[i]);
        }
    return taken;
}

static bool is_same(image *a, image *b)
{
    const bool same = a->bytes == b->bytes && memcmp(a->all, b->all, a->bytes) == 0;
    free(a->all);
    free(b->all);
    return same;
}

static husk_loss_scale scale_of(husk_graph *graph)
{
    husk_loss_scale scale = HUSK_LOSS_SCALE();
    test_graph_ok(graph, husk_graph_get_loss_scale(graph, &scale));
    return scale;
}

static husk_graph *scaled(husk_dtype dtype, const husk_optimizer_params *optimizer, husk_loss_scale_params scale)
{
    return compiled(dtype, HUSK_GRAPH_OPTIONS(.optimizer = optimizer, .loss_scale = &scale, .check_finite = 1));
}

// 2^24 is too much for f16: until it is small enough updates are skipped, to the bit, and then training goes on as if
// nothing had been, Adam's count of steps included.
START_TEST(overflows_are_skipped)
{
    husk_graph *graph = scaled(HUSK_F16, &adam, HUSK_LOSS_SCALE_PARAMS(.start = 0x1p24f, .interval = 3));
    float wanted = 0x1p24f;
    uint64_t skipped = 0;
    husk_loss_scale scale = scale_of(graph);
    ck_assert(scale.scale == wanted && scale.good == 0 && scale.skipped == 0);
    const double loss = (test_graph_ok(graph, husk_graph_step(graph)), test_read_loss(graph, "loss"));
    for (; (scale = scale_of(graph)).good == 0; skipped++) {
        image before = take(graph);
        wanted /= 2;
        ck_assert_msg(scale.scale == wanted && scale.skipped == skipped + 1 && skipped < 20, "scale %g, skipped %d",
                      (double)scale.scale, (int)scale.skipped);
        test_graph_ok(graph, husk_graph_step(graph));
        ck_assert(test_read_loss(graph, "loss") == loss); // in true units, and not an error
        image after = take(graph);
        if (scale_of(graph).good == 0)
            ck_assert(is_same(&before, &after));
        else
            ck_assert(!is_same(&before, &after));
    }
    ck_assert_uint_ge(skipped, 3);
    ck_assert(scale.scale == wanted && scale.skipped == skipped && scale.since == 1);
    husk_graph *other = scaled(HUSK_F16, &adam, HUSK_LOSS_SCALE_PARAMS(.start = wanted, .interval = 3));
    test_graph_ok(other, husk_graph_step(other));
    for (int step = 1; step < 8; step++) {
        image a = take(graph), b = take(other);
        ck_assert_msg(is_same(&a, &b), "step %d", step);
        test_graph_ok(graph, husk_graph_step(graph));
        test_graph_ok(other, husk_graph_step(other));
    }
    // It has grown again, where it was too large, and come back.
    scale = scale_of(graph);
    ck_assert_msg(scale.good > 3 && scale.skipped > skipped && scale.scale == scale_of(other).scale,
                  "scale %g, good %d, skipped %d", (double)scale.scale, (int)scale.good, (int)scale.skipped);
    ck_assert_uint_eq(husk_graph_get_position(graph).updates, scale.good + scale.skipped);
    husk_graph_release(graph);
    husk_graph_release(other);
}
END_TEST

// In f32 powers of two change nothing: with a scale, with none, clipped or not, the same bits.
START_TEST(clipping_sees_true_gradients)
{
    for (int kind = 0; kind < 3; kind++) {
        const husk_loss_scale_params large = HUSK_LOSS_SCALE_PARAMS(.start = 4096, .fixed = 1);
        husk_graph_options options =
            HUSK_GRAPH_OPTIONS(.optimizer = &momentum, .accumulate = 2, .clip_norm = kind == 1 ? 0.125f : 0.0f,
                               .clip_value = kind == 2 ? 0.001f : 0.0f);
        husk_graph *plain = compiled(HUSK_F32, options);
        options.loss_scale = &large;
        husk_graph *with = compiled(HUSK_F32, options);
        for (int step = 0; step < 4; step++) {
            test_graph_ok(plain, husk_graph_step(plain));
            test_graph_ok(with, husk_graph_step(with));
        }
        image a = take(plain), b = take(with);
        ck_assert_msg(is_same(&a, &b), "kind %d", kind);
        ck_assert(scale_of(with).scale == 4096 && scale_of(with).good == 2);
        ck_assert(scale_of(plain).scale == 0);
        husk_graph_release(plain);
        husk_graph_release(with);
    }
}
END_TEST

// One infinity in the first of two batches: the whole update is left out; the next one is not.
START_TEST(one_batch_spoils_the_sum)
{
    const husk_loss_scale_params dynamic = HUSK_LOSS_SCALE_PARAMS(.start = 512);
    husk_graph *graph =
        compiled(HUSK_F32, HUSK_GRAPH_OPTIONS(.optimizer = &adam, .accumulate = 2, .loss_scale = &dynamic));
    husk_parameter parameter = HUSK_PARAMETER();
    const float infinite = -INFINITY;
    image before = take(graph);
    test_graph_ok(graph, husk_graph_step(graph));
    test_graph_ok(graph, husk_graph_parameter_at(graph, 1, &parameter));
    test_ok(husk_buffer_write(test_queue(), parameter.gradient.buffer, (uint64_t)parameter.gradient.offset * 4, 4,
                              &infinite));
    test_graph_ok(graph, husk_graph_step(graph));
    image after = take(graph);
    ck_assert(is_same(&before, &after));
    ck_assert(scale_of(graph).scale == 256 && scale_of(graph).skipped == 1);
    before = take(graph);
    for (int batch = 0; batch < 2; batch++)
        test_graph_ok(graph, husk_graph_step(graph));
    after = take(graph);
    ck_assert(!is_same(&before, &after));
    // All of it can be kept and given back.
    husk_loss_scale kept = scale_of(graph), wrong = HUSK_LOSS_SCALE(.scale = 0), now;
    ck_assert(kept.scale == 256 && kept.since == 1 && kept.good == 1 && kept.skipped == 1);
    test_graph_ok(graph, husk_graph_set_loss_scale(graph, &HUSK_LOSS_SCALE(.scale = 2, .since = 7, .good = 9)));
    test_graph_ok(graph, husk_graph_set_loss_scale(graph, &kept));
    now = scale_of(graph);
    ck_assert(memcmp(&kept, &now, sizeof kept) == 0);
    ck_assert_int_eq(husk_graph_set_loss_scale(graph, &wrong), HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strstr(husk_graph_error(graph)->text, "husk_graph_set_loss_scale: scale: scale is 0"), "%s",
                  husk_graph_error(graph)->text);
    husk_graph_release(graph);
}
END_TEST

// Gradients whose scale is unknown, after an update that failed half way or another scale, are of no use to an update.
START_TEST(a_scale_is_taken_out_once)
{
    const husk_loss_scale_params large = HUSK_LOSS_SCALE_PARAMS(.start = 4096);
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.optimizer = &momentum, .accumulate = 2, .loss_scale = &large);
    husk_graph *graph = compiled(HUSK_F32, options), *sound = compiled(HUSK_F32, options);
    test_graph_ok(graph, husk_graph_step(graph));
    const float set = graph->compiled->optimizer.momentum;
    graph->compiled->optimizer.momentum = NAN; // refused behind what takes out the scale
    ck_assert_int_eq(husk_graph_step(graph), HUSK_INVALID_ARGUMENT);
    graph->compiled->optimizer.momentum = set;
    ck_assert_int_eq(husk_graph_update(graph), HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strstr(husk_graph_error(graph)->text, "0 of 2 batches are in"), "%s", husk_graph_error(graph)->text);
    test_graph_ok(graph, husk_graph_step(graph)); // one batch of another scale
    test_graph_ok(graph, husk_graph_set_loss_scale(graph, &HUSK_LOSS_SCALE(.scale = 4)));
    for (int batch = 0; batch < 2; batch++) {
        test_graph_ok(graph, husk_graph_step(graph));
        test_graph_ok(sound, husk_graph_step(sound));
    }
    ck_assert_uint_eq(husk_graph_get_position(graph).updates, 1);
    image a = take(graph), b = take(sound);
    ck_assert(is_same(&a, &b));
    husk_graph_release(graph);
    husk_graph_release(sound);
}
END_TEST

// A run that is resumed has the scale that it had, and weights of f32 serve graphs of bf16 and f16.
START_TEST(checkpoints_keep_the_scale)
{
    const husk_loss_scale_params start = HUSK_LOSS_SCALE_PARAMS(.start = 0x1p20f, .interval = 2);
    const husk_graph_options options = HUSK_GRAPH_OPTIONS(.optimizer = &adam, .loss_scale = &start);
    char folder[] = "/tmp/husk-mixed-XXXXXX", path[64], command[64];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/net.safetensors", folder);
    husk_error error = {0};
    husk_safetensors *file;
    husk_graph *graph = compiled(HUSK_F16, options);
    for (int step = 0; step < 5; step++)
        test_graph_ok(graph, husk_graph_step(graph));
    ck_assert_uint_gt(scale_of(graph).skipped, 0);
    test_ok_error(husk_graph_save(graph, path, NULL, &error), &error);
    husk_graph *resumed = compiled(HUSK_F16, options);
    test_ok_error(husk_safetensors_open(path, NULL, &file, &error), &error);
    test_ok_error(husk_graph_load(resumed, file, NULL, NULL, &error), &error);
    for (int step = 0; step < 5; step++) {
        husk_loss_scale a = scale_of(graph), b = scale_of(resumed);
        ck_assert(memcmp(&a, &b, sizeof a) == 0);
        test_graph_ok(graph, husk_graph_step(graph));
        test_graph_ok(resumed, husk_graph_step(resumed));
    }
    image a = take(graph), b = take(resumed);
    ck_assert(is_same(&a, &b));
    // Weights alone, into f32: what f16 computes is near.
    husk_graph *other = compiled(HUSK_F32, HUSK_GRAPH_OPTIONS(.optimizer = &adam));
    ck_assert_int_eq(husk_graph_load(other, file, NULL, NULL, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strstr(error.text, "husk.loss_scale"), "%s", error.text);
    const husk_load_params weights = HUSK_LOAD_PARAMS(.mode = HUSK_LOAD_WEIGHTS);
    test_ok_error(husk_graph_load(other, file, &weights, NULL, &error), &error);
    test_ok_error(husk_graph_load(graph, file, &weights, NULL, &error), &error);
    const double narrow = logit(graph), wide = logit(other);
    ck_assert_msg(narrow != wide && fabs(narrow - wide) < 0.01, "%g for %g", narrow, wide);
    husk_safetensors_close(file);
    // A scale that cannot be is refused.
    for (uint64_t i = 0; i < HUSK__SCALES; i++) {
        const float wrong = i ? NAN : 0;
        husk_loss_scale before = scale_of(resumed);
        test_graph_ok(graph, husk_graph_set_loss_scale(graph, &before));
        test_ok(husk_buffer_write(test_queue(), graph->compiled->regions[HUSK__REGION_SCALE], 4 * i, 4, &wrong));
        test_ok_error(husk_graph_save(graph, path, NULL, &error), &error);
        test_ok_error(husk_safetensors_open(path, NULL, &file, &error), &error);
        ck_assert_int_eq(husk_graph_load(resumed, file, NULL, NULL, &error), HUSK_INVALID_ARGUMENT);
        ck_assert_msg(strstr(error.text, "husk.loss_scale: its element "), "%s", error.text);
        husk_loss_scale after = scale_of(resumed);
        ck_assert(memcmp(&before, &after, sizeof before) == 0);
        husk_safetensors_close(file);
    }
    husk_graph_release(graph);
    husk_graph_release(resumed);
    husk_graph_release(other);
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

// Masks are of the f32 parameters; their copies follow, at once and after updates.
START_TEST(pruning_reaches_the_copies)
{
    husk_graph *graph = compiled(HUSK_BF16, HUSK_GRAPH_OPTIONS(.optimizer = &momentum));
    husk_error error = {0};
    husk_prune_counts counts;
    test_graph_ok(graph, husk_graph_step(graph));
    test_ok_error(husk_graph_prune(graph, &HUSK_PRUNE_PARAMS(.share = 0.75), &counts, &error), &error);
    ck_assert_uint_eq(counts.zeros, counts.elements / 4 * 3);
    husk_tensor weight;
    test_graph_ok(graph, husk_graph_tensor(graph, "fc1.weight", &weight));
    for (int step = 0; step < 3; step++) {
        static float masters[HIDDEN * WIDTH];
        static uint16_t copies[HIDDEN * WIDTH];
        test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_EVALUATION));
        test_graph_ok(graph, husk_graph_read(graph, "fc1.weight", masters, sizeof masters));
        test_ok(husk_buffer_read(test_queue(), graph->compiled->regions[HUSK__REGION_COPIES],
                                 (uint64_t)weight.offset * sizeof *copies, sizeof copies, copies));
        int zeros = 0;
        for (int i = 0; i < HIDDEN * WIDTH; i++) {
            zeros += masters[i] == 0.0f;
            ck_assert_msg((masters[i] == 0.0f) == ((copies[i] & 0x7fff) == 0), "step %d: %g and %x", step,
                          (double)masters[i], copies[i]);
        }
        ck_assert_int_gt(zeros, HIDDEN * WIDTH / 2);
        test_graph_ok(graph, husk_graph_step(graph));
    }
    husk_graph_release(graph);
}
END_TEST

// Each micro-batch has inputs of its own, and all have one scale.
START_TEST(micro_batches_share_the_scale)
{
    const husk_loss_scale_params start = HUSK_LOSS_SCALE_PARAMS(.start = 1024, .interval = 1);
    husk_graph *one = compiled(HUSK_F32, HUSK_GRAPH_OPTIONS(.optimizer = &adam, .accumulate = 2, .loss_scale = &start));
    husk_graph *two = compiled(
        HUSK_F32, HUSK_GRAPH_OPTIONS(.optimizer = &adam, .accumulate = 2, .loss_scale = &start, .micro_batches = 2));
    test_graph_ok(two, husk_graph_micro_batch(two, 1));
    fill(two);
    for (int step = 0; step < 3; step++) {
        test_graph_ok(one, husk_graph_step(one));
        test_graph_ok(one, husk_graph_step(one));
        for (int part = 0; part < 4; part++) {
            test_graph_ok(two, husk_graph_micro_batch(two, (uint32_t)part % 2));
            test_graph_ok(two, part < 2 ? husk_graph_forward(two, HUSK_GRAPH_TRAINING) : husk_graph_backward(two));
        }
        test_graph_ok(two, husk_graph_update(two));
        ck_assert(scale_of(one).scale == (float)(2048 << step) && scale_of(two).scale == (float)(2048 << step));
    }
    image a = take(one), b = take(two);
    ck_assert(is_same(&a, &b));
    husk_graph_release(one);
    husk_graph_release(two);
}
END_TEST

// ---- learning ----

static double learn(husk_dtype dtype, uint64_t seed, const husk_dataset *learnt, const husk_dataset *asked, image *last)
{
    husk_graph *graph = test_graph(dtype, seed);
    husk_error error = {0};
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.optimizer = &adam, .loss = build(graph, false), .cold = 1);
    test_ok_error(husk_graph_compile(graph, &options, &error), &error);
    husk_feed *feed = test_digits_feed(learnt, BATCH, 0); // not moved about: few steps suffice
    husk_graph_set_rate(graph, 3e-3f);
    test_digits_train(graph, feed, 720); // four epochs
    const double accuracy = test_digits_accuracy(graph, asked, BATCH);
    *last = take(graph);
    husk_feed_release(feed);
    husk_graph_release(graph);
    return accuracy;
}

START_TEST(digits_are_learnt_as_in_f32)
{
    static const husk_dtype dtypes[] = {HUSK_F32, HUSK_BF16, HUSK_F16};
    husk_dataset *learnt, *asked;
    double accuracy[3];
    test_digits_open(&learnt, &asked);
    for (int d = 0; d < 3; d++) {
        image first, second;
        accuracy[d] = learn(dtypes[d], 1, learnt, asked, &first);
        ck_assert(learn(dtypes[d], 1, learnt, asked, &second) == accuracy[d]);
        ck_assert_msg(is_same(&first, &second), "two runs in %s differ", husk_dtype_name(dtypes[d]));
    }
    printf("digits: f32 %.2f%%, bf16 %.2f%%, f16 %.2f%%\n", accuracy[0], accuracy[1], accuracy[2]);
    // A tenth of what the small network does not know; tests/train/test_mixed_digits.c has the claim.
    for (int d = 1; d < 3; d++)
        ck_assert_msg(accuracy[d] > 85 && accuracy[d] >= accuracy[0] - 1.5, "%s: %g for %g", husk_dtype_name(dtypes[d]),
                      accuracy[d], accuracy[0]);
    husk_dataset_release(learnt);
    husk_dataset_release(asked);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mixed");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, the_first_mistake_is_named);
    tcase_add_test(tests, options_are_checked);
    tcase_add_loop_test(tests, gradients_are_those_of_f32, 0, 2);
    tcase_add_test(tests, memory_is_less);
    tcase_add_test(tests, copies_follow_parameters);
    tcase_add_test(tests, overflows_are_skipped);
    tcase_add_test(tests, clipping_sees_true_gradients);
    tcase_add_test(tests, one_batch_spoils_the_sum);
    tcase_add_test(tests, a_scale_is_taken_out_once);
    tcase_add_test(tests, checkpoints_keep_the_scale);
    tcase_add_test(tests, pruning_reaches_the_copies);
    tcase_add_test(tests, micro_batches_share_the_scale);
    tcase_add_test(tests, digits_are_learnt_as_in_f32);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
