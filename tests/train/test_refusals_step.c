// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=60 with=whole_gradient
// Compiled graphs (husk/train/step.h, compress.h, checkpoint.h): each rule of each call is broken once, and the graph
// goes on as if nothing had been said.
#include <math.h>

#include "support/support.h"
#include "train/refusals.h"
#include "train/whole_gradient.h"

enum { BATCH = 4, WIDTH = 6 };

static husk_error error;
static husk_graph *g;
static husk_value x, y, loss;

static const husk_optimizer_params momentum = {
    .size = sizeof(husk_optimizer_params), .kind = HUSK_OPTIMIZER_SGD, .rate = 0.05f, .momentum = 0.9f};

// A linear layer, a view of its input, its result in other places, and the norm of it.
static void build(husk_dtype dtype)
{
    g = test_graph(dtype, 3);
    x = husk_graph_input(g, "x", HUSK_F32, 2, (int64_t[]){BATCH, WIDTH});
    husk_graph_permute(g, "turned", x, (int32_t[]){1, 0});
    y = husk_graph_linear(g, "fc", &HUSK_LINEAR_LAYER(.outputs = WIDTH), x);
    husk_value hidden = husk_graph_activation(g, "hidden", &HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_GELU), y);
    loss = husk_graph_reduce(g, "loss", &HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_NORM), hidden);
    if (dtype == HUSK_F32)
        husk_graph_output(g, "y", y);
    ck_assert_msg(!husk_graph_error(g)->status, "%s", husk_graph_error(g)->text);
}

static void compile(husk_graph_options options)
{
    build(HUSK_F32);
    if (!options.loss)
        options.loss = loss;
    if (!options.optimizer)
        options.optimizer = &momentum;
    test_ok_error(husk_graph_compile(g, &options, &error), &error);
    test_fill_input(g, "x", 1, 0);
}

// Every call that wants a compiled graph. text: what each says, "" for its own name and rule; NULL: there is no graph.
static void every_call(husk_status status, const char *text)
{
    static const char *const names[] = {
        "write",        "write_tensor", "read",         "tensor",         "parameters_changed",
        "parameter_at", "bucket_at",    "forward",      "backward",       "update",
        "step",         "set_rate",     "set_position", "get_loss_scale", "set_loss_scale",
        "check_finite", "micro_batch",  "mask_at",      "set_mask"};
    enum { CALLS = sizeof names / sizeof *names };
    float host[BATCH * WIDTH];
    husk_tensor tensor = {0};
    husk_parameter parameter = HUSK_PARAMETER();
    husk_bucket bucket = HUSK_BUCKET();
    husk_loss_scale scale = HUSK_LOSS_SCALE(.scale = 1);
    for (int call = 0; call < CALLS; call++) {
        husk_status said = HUSK_OK;
        char words[160];
        switch (call) {
        case 0:
            said = husk_graph_write(g, "x", host, sizeof host);
            break;
        case 1:
            said = husk_graph_write_tensor(g, "x", &tensor);
            break;
        case 2:
            said = husk_graph_read(g, "x", host, sizeof host);
            break;
        case 3:
            said = husk_graph_tensor(g, "x", &tensor);
            break;
        case 4:
            said = husk_graph_parameters_changed(g);
            break;
        case 5:
            said = husk_graph_parameter_at(g, 0, &parameter);
            break;
        case 6:
            said = husk_graph_bucket_at(g, 0, &bucket);
            break;
        case 7:
            said = husk_graph_forward(g, HUSK_GRAPH_TRAINING);
            break;
        case 8:
            said = husk_graph_backward(g);
            break;
        case 9:
            said = husk_graph_update(g);
            break;
        case 10:
            said = husk_graph_step(g);
            break;
        case 11:
            said = husk_graph_set_rate(g, 1);
            break;
        case 12:
            said = husk_graph_set_position(g, (husk_graph_position){0});
            break;
        case 13:
            said = husk_graph_get_loss_scale(g, &scale);
            break;
        case 14:
            said = husk_graph_set_loss_scale(g, &scale);
            break;
        case 15:
            said = husk_graph_check_finite(g);
            break;
        case 16:
            said = husk_graph_micro_batch(g, 0);
            break;
        case 17:
            said = husk_graph_mask_at(g, 0, &tensor);
            break;
        default:
            said = husk_graph_set_mask(g, 0, NULL, 0);
        }
        ck_assert_msg(said == status, "husk_graph_%s: %s", names[call], husk_status_name(said));
        snprintf(words, sizeof words, "husk_graph_%s: graph: it is not compiled", names[call]);
        if (text)
            test_begins_with(husk_graph_error(g)->text, *text ? text : words, names[call], __LINE__);
    }
    husk_graph_memory memory = {.total = 1};
    husk_graph_on_bucket(g, NULL, NULL);
    husk_graph_memory_used(g, NULL);
    husk_graph_memory_used(g, &memory);
    ck_assert(memory.total == 0 && husk_graph_parameter_count(g) == 0 && husk_graph_bucket_count(g) == 0);
    ck_assert(husk_graph_get_position(g).batches == 0);
}

START_TEST(what_is_not_compiled_does_nothing)
{
    g = NULL;
    every_call(HUSK_INVALID_ARGUMENT, NULL);
    ck_assert_str_eq(husk_graph_update_variants(NULL), "");
    NOTHING_THERE(husk_graph_schedule_rate(NULL, &HUSK_MAKE(husk_rate_params, .rate = 1)));
    build(HUSK_F32);
    every_call(HUSK_INVALID_ARGUMENT, "");
    husk_graph_release(g);
    g = test_graph(HUSK_F32, 3);
    husk_graph_copy(g, "c", HUSK_NO_VALUE);
    every_call(HUSK_INVALID_ARGUMENT, "husk_graph_copy: c: x: it is HUSK_NO_VALUE");
    husk_graph_release(g);
}
END_TEST

// ---- compiling ----

#define OPTIONS(...)              &HUSK_GRAPH_OPTIONS(__VA_ARGS__)
#define COMPILING(options, words) FAILS(husk_graph_compile(g, options, &error), "husk_graph_compile: " words)
#define SCALING(words, ...)                                                                                      \
    COMPILING(OPTIONS(.loss = loss, .optimizer = &momentum, .loss_scale = &HUSK_LOSS_SCALE_PARAMS(__VA_ARGS__)), \
              words)

START_TEST(options_are_looked_at)
{
    husk_graph_memory memory;
    husk_optimizer_params unsized = momentum, unknown = momentum;
    unsized.size = 1;
    unknown.kind = (husk_optimizer_kind)99;
    FAILS(husk_graph_compile(NULL, NULL, &error), "husk_graph_compile: graph: it is NULL");
    FAILS(husk_graph_measure(NULL, NULL, &memory, &error), "husk_graph_measure: graph: it is NULL");
    NOTHING_THERE(husk_graph_compile(NULL, NULL, NULL));
    g = test_graph(HUSK_F32, 3);
    COMPILING(NULL, "graph: it has no node");
    husk_graph_release(g);
    build(HUSK_F32);
    FAILS(husk_graph_measure(g, NULL, NULL, &error), "husk_graph_measure: memory: it is NULL");
    COMPILING(&(husk_graph_options){.size = 1}, "options: size is 1, not ");
    COMPILING(OPTIONS(.loss = -1), "options: loss: -1 is no value of this graph");
    COMPILING(OPTIONS(.loss = 999), "options: loss: 999 is no value of this graph");
    COMPILING(OPTIONS(.loss = x), "options: loss: it has to be a result of one element");
    COMPILING(OPTIONS(.loss = y), "options: loss: it has to be a result of one element");
    COMPILING(OPTIONS(.loss = loss, .clip_norm = -1), "options: clip_norm must not be negative");
    COMPILING(OPTIONS(.loss = loss, .clip_norm = NAN), "options: clip_norm must not be negative");
    COMPILING(OPTIONS(.loss = loss, .clip_value = -1), "options: clip_value must not be negative");
    COMPILING(OPTIONS(.loss = loss, .micro_batches = 1025), "options: micro_batches: at most 1024");
    COMPILING(OPTIONS(.check_finite = 1), "options: check_finite: there is no loss");
    COMPILING(OPTIONS(.optimizer = &momentum), "options: optimizer: without a loss there is nothing for it to do");
    COMPILING(OPTIONS(.loss = loss, .optimizer = &unsized), "options: optimizer: size is 1");
    COMPILING(OPTIONS(.loss = loss, .optimizer = &unknown), "husk_optimizer: params: ");
    COMPILING(OPTIONS(.loss = loss, .loss_scale = &HUSK_LOSS_SCALE_PARAMS(.start = 1)),
              "options: loss_scale: without an optimizer nothing would take it out");
    COMPILING(OPTIONS(.loss_scale = &HUSK_LOSS_SCALE_PARAMS(.start = 1)),
              "options: loss_scale: gradients that are given, or wanted by inputs, are not multiplied with it");
    COMPILING(OPTIONS(.loss = loss, .loss_scale = &(husk_loss_scale_params){.size = 1}),
              "options: loss_scale: size is 1");
    SCALING("options: loss_scale: start is 3.35544e+07; 2^-24 to 2^24 is wanted", .start = 0x1p25f);
    SCALING("options: loss_scale: start is -1; 2^-24 to 2^24 is wanted", .start = -1);
    SCALING("options: loss_scale: growth is 0.5; 1 at least is wanted", .growth = 0.5f);
    SCALING("options: loss_scale: growth is inf; 1 at least is wanted", .growth = INFINITY);
    SCALING("options: loss_scale: backoff is -1; 0 to 1 is wanted", .backoff = -1);
    SCALING("options: loss_scale: backoff is 1.5; 0 to 1 is wanted", .backoff = 1.5f);
    test_graph_ok(g, husk_graph_freeze(g, "fc"));
    COMPILING(OPTIONS(.loss = loss), "options: loss: no parameter that is learnt has anything to do with it");
    // Nothing of it has stayed.
    husk_graph_linear(g, "more", &HUSK_LINEAR_LAYER(.outputs = 1), y);
    test_ok_error(husk_graph_measure(g, NULL, &memory, &error), &error);
    test_ok_error(husk_graph_compile(g, NULL, &error), &error);
    GRAPH_FAILS(g, husk_graph_set_mask(g, 0, "", 1), "husk_graph_set_mask: index: 0; fc.weight is not trained");
    COMPILING(NULL, "graph: it is compiled already");
    FAILS(husk_graph_measure(g, NULL, &memory, &error), "husk_graph_measure: graph: it is compiled already");
    husk_graph_release(g);
    build(HUSK_F16);
    COMPILING(OPTIONS(.loss = husk_graph_reduce(g, NULL, NULL, y)), "options: loss: its dtype is f16; f32 is wanted");
    husk_graph_release(g);
}
END_TEST

// By the node's name, whether a plan refuses it or the call itself.
START_TEST(a_variant_that_is_not_there_is_named)
{
    for (int plan = 0; plan < 2; plan++) {
        build(HUSK_F32);
        husk_softmax_params softmax = HUSK_MAKE(husk_softmax_params, .variant = "nothing", .axis = -1);
        husk_gemm_params gemm = HUSK_GEMM_PARAMS(.transpose_b = 1, .variant = "nothing");
        husk_value made =
            plan ? husk_graph_gemm(g, "odd", &gemm, 1, x, y, HUSK_NO_VALUE) : husk_graph_softmax(g, "odd", &softmax, y);
        ck_assert_int_ne(made, HUSK_NO_VALUE);
        FAILS(husk_graph_compile(g, NULL, &error), "husk_graph_compile: odd: ");
        ck_assert_msg(strstr(error.text, "variant") && strstr(error.text, "nothing"), "%s", error.text);
        husk_graph_release(g);
    }
}
END_TEST

// ---- steps and values ----

START_TEST(a_compiled_graph_goes_on)
{
    compile(HUSK_GRAPH_OPTIONS(.micro_batches = 2));
    float host[BATCH * WIDTH], two[2];
    husk_tensor tensor, from;
    husk_parameter parameter = HUSK_PARAMETER(), small = {.size = sizeof parameter - 1};
    husk_bucket bucket = HUSK_BUCKET(), little = {.size = 1};
    husk_loss_scale scale = HUSK_LOSS_SCALE(.scale = 2), tiny = {.size = 1};
    test_graph_ok(g, husk_graph_forward(g, HUSK_GRAPH_TRAINING));
    two[0] = (float)test_read_loss(g, "loss");
    GRAPH_FAILS(g, husk_graph_write(g, NULL, host, sizeof host), "husk_graph_write: name: it is NULL");
    GRAPH_FAILS(g, husk_graph_write(g, "z", host, sizeof host), "husk_graph_write: name: there is no value z");
    GRAPH_FAILS(g, husk_graph_write(g, "x", NULL, sizeof host), "husk_graph_write: host: it is NULL");
    GRAPH_FAILS(g, husk_graph_write(g, "x", host, 4), "husk_graph_write: bytes: 4; x is [4, 6] of f32, 96 bytes");
    GRAPH_FAILS(g, husk_graph_write(g, "y", host, sizeof host), "husk_graph_write: name: y is computed, and cannot be");
    GRAPH_FAILS(g, husk_graph_write(g, "turned", host, sizeof host),
                "husk_graph_write: name: turned is a view that is not packed, and cannot be written");
    GRAPH_FAILS(g, husk_graph_read(g, NULL, host, sizeof host), "husk_graph_read: name: it is NULL");
    GRAPH_FAILS(g, husk_graph_read(g, "x", NULL, sizeof host), "husk_graph_read: host: it is NULL");
    GRAPH_FAILS(g, husk_graph_read(g, "x", host, 0), "husk_graph_read: bytes: 0; x is [4, 6] of f32, 96 bytes");
    GRAPH_FAILS(g, husk_graph_read(g, "hidden", host, sizeof host),
                "husk_graph_read: name: hidden is no output (husk_graph_output), so it is not kept");
    GRAPH_FAILS(g, husk_graph_tensor(g, "x", NULL), "husk_graph_tensor: tensor: it is NULL");
    GRAPH_FAILS(g, husk_graph_tensor(g, NULL, &tensor), "husk_graph_tensor: name: it is NULL");
    test_graph_ok(g, husk_graph_tensor(g, "x", &tensor));
    GRAPH_FAILS(g, husk_graph_write_tensor(g, "x", NULL), "husk_graph_write_tensor: from: it is NULL");
    GRAPH_FAILS(g, husk_graph_write_tensor(g, NULL, &tensor), "husk_graph_write_tensor: name: it is NULL");
    GRAPH_FAILS(g, husk_graph_write_tensor(g, "y", &tensor), "husk_graph_write_tensor: name: y is computed");
    from = tensor, from.dtype = HUSK_I32;
    GRAPH_FAILS(g, husk_graph_write_tensor(g, "x", &from),
                "husk_graph_write_tensor: from: [4, 6] of i32; x is [4, 6] of f32");
    from = tensor, from.rank = 1;
    GRAPH_FAILS(g, husk_graph_write_tensor(g, "x", &from), "husk_graph_write_tensor: from: [4] of f32; x is [4, 6]");
    from = tensor, from.shape[0] = 5;
    GRAPH_FAILS(g, husk_graph_write_tensor(g, "x", &from), "husk_graph_write_tensor: from: [5, 6] of f32; x is [4, 6]");
    from = tensor, from.shape[0] = -1;
    GRAPH_FAILS(g, husk_graph_write_tensor(g, "x", &from),
                "husk_graph_write_tensor: from: [-1, 6] of f32; x is [4, 6]");
    from = tensor, from.shape[1] = 5;
    GRAPH_FAILS(g, husk_graph_write_tensor(g, "x", &from), "husk_graph_write_tensor: from: [4, 5] of f32; x is [4, 6]");
    GRAPH_FAILS(g, husk_graph_parameter_at(g, 0, NULL), "husk_graph_parameter_at: parameter: it is NULL");
    GRAPH_FAILS(g, husk_graph_parameter_at(g, 0, &small), "husk_graph_parameter_at: parameter: size is ");
    GRAPH_FAILS(g, husk_graph_parameter_at(g, 2, &parameter),
                "husk_graph_parameter_at: index: 2; there are 2 parameters");
    GRAPH_FAILS(g, husk_graph_mask_at(g, 0, NULL), "husk_graph_mask_at: mask: it is NULL");
    GRAPH_FAILS(g, husk_graph_mask_at(g, 2, &from), "husk_graph_mask_at: index: 2; there are 2 parameters");
    GRAPH_FAILS(g, husk_graph_set_mask(g, 2, "", 1), "husk_graph_set_mask: index: 2; there are 2 parameters");
    GRAPH_FAILS(g, husk_graph_set_mask(g, 0, "", 1), "husk_graph_set_mask: bytes: 1; fc.weight has 36 elements");
    GRAPH_FAILS(g, husk_graph_bucket_at(g, 0, NULL), "husk_graph_bucket_at: bucket: it is NULL");
    GRAPH_FAILS(g, husk_graph_bucket_at(g, 0, &little), "husk_graph_bucket_at: bucket: size is 1");
    GRAPH_FAILS(g, husk_graph_bucket_at(g, 1, &bucket), "husk_graph_bucket_at: index: 1; there are 1 buckets");
    GRAPH_FAILS(g, husk_graph_forward(g, (husk_graph_mode)99), "husk_graph_forward: mode: 99 is no mode");
    GRAPH_FAILS(g, husk_graph_set_rate(g, NAN), "husk_graph_set_rate: rate: it has to be finite");
    GRAPH_FAILS(g, husk_graph_set_rate(g, INFINITY), "husk_graph_set_rate: rate: it has to be finite");
    GRAPH_FAILS(g, husk_graph_get_loss_scale(g, NULL), "husk_graph_get_loss_scale: scale: it is NULL");
    GRAPH_FAILS(g, husk_graph_get_loss_scale(g, &tiny), "husk_graph_get_loss_scale: scale: size is 1, ");
    GRAPH_FAILS(g, husk_graph_set_loss_scale(g, &tiny), "husk_graph_set_loss_scale: scale: size is 1, ");
    GRAPH_FAILS(g, husk_graph_set_loss_scale(g, NULL), "husk_graph_set_loss_scale: scale: it is NULL");
    GRAPH_FAILS(g, husk_graph_set_loss_scale(g, &scale),
                "husk_graph_set_loss_scale: graph: it was compiled without a loss scale");
    GRAPH_FAILS(g, husk_graph_micro_batch(g, 2), "husk_graph_micro_batch: index: 2; options.micro_batches is 2");
    GRAPH_FAILS(g, husk_graph_schedule_rate(g, NULL), "husk_graph_schedule_rate: params: it is NULL");
    GRAPH_FAILS(g, husk_graph_update(g), "husk_graph_update: graph: 0 of 1 batches are in");
    // It is compiled, and cannot grow.
    GRAPH_FAILS(g, husk_graph_freeze(g, "fc"), "husk_graph_freeze: graph: it is compiled, and cannot grow");
    ck_assert_int_eq(husk_graph_copy(g, NULL, x), HUSK_NO_VALUE);
    ck_assert_str_eq(husk_graph_error(g)->text, "husk_graph_copy: graph: it is compiled, and cannot grow");
    husk_graph_output(g, "z", y);
    ck_assert_str_eq(husk_graph_error(g)->text, "husk_graph_output: graph: it is compiled, and cannot grow");
    // The forward that was done before all that is still there.
    test_graph_ok(g, husk_graph_backward(g));
    test_graph_ok(g, husk_graph_update(g));
    test_graph_ok(g, husk_graph_forward(g, HUSK_GRAPH_TRAINING));
    two[1] = (float)test_read_loss(g, "loss");
    ck_assert(two[0] > 0 && two[1] < two[0]);
    ck_assert_uint_eq(husk_graph_get_position(g).updates, 1);
    test_graph_ok(g, husk_graph_get_loss_scale(g, &scale));
    ck_assert(scale.scale == 0 && scale.good == 0 && scale.skipped == 0); // there is none
    husk_graph_release(g);
}
END_TEST

START_TEST(the_loss_scale_keeps_its_bounds)
{
    compile(HUSK_GRAPH_OPTIONS(.loss_scale = &HUSK_LOSS_SCALE_PARAMS(.start = 8)));
    husk_loss_scale scale = HUSK_LOSS_SCALE();
    const float wrong[] = {0, -1, 0x1p25f, NAN};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        husk_loss_scale other = HUSK_LOSS_SCALE(.scale = wrong[i]);
        GRAPH_FAILS(g, husk_graph_set_loss_scale(g, &other), "husk_graph_set_loss_scale: scale: scale is ");
    }
    test_graph_ok(g, husk_graph_get_loss_scale(g, &scale));
    ck_assert(scale.scale == 8);
    husk_graph_release(g);
}
END_TEST

START_TEST(without_a_loss_or_an_optimizer)
{
    build(HUSK_F32);
    test_ok_error(husk_graph_compile(g, NULL, &error), &error);
    GRAPH_FAILS(g, husk_graph_forward(g, HUSK_GRAPH_TRAINING),
                "husk_graph_forward: graph: it was compiled without a loss");
    GRAPH_FAILS(g, husk_graph_backward(g), "husk_graph_backward: graph: it was compiled without a loss, for");
    GRAPH_FAILS(g, husk_graph_step(g), "husk_graph_step: graph: it was compiled without a loss, for");
    GRAPH_FAILS(g, husk_graph_check_finite(g), "husk_graph_check_finite: graph: it was compiled without a loss, for");
    GRAPH_FAILS(g, husk_graph_update(g), "husk_graph_update: graph: it was compiled without an optimizer");
    GRAPH_FAILS(g, husk_graph_set_rate(g, 1), "husk_graph_set_rate: graph: it was compiled without an optimizer");
    test_graph_ok(g, husk_graph_forward(g, HUSK_GRAPH_EVALUATION));
    husk_graph_release(g);
    build(HUSK_F32);
    test_ok_error(husk_graph_compile(g, OPTIONS(.loss = loss), &error), &error);
    GRAPH_FAILS(g, husk_graph_step(g), "husk_graph_step: graph: it was compiled without an optimizer");
    GRAPH_FAILS(g, husk_graph_update(g), "husk_graph_update: graph: it was compiled without an optimizer");
    test_graph_ok(g, husk_graph_forward(g, HUSK_GRAPH_TRAINING));
    test_graph_ok(g, husk_graph_backward(g));
    husk_graph_release(g);
    build(HUSK_F32);
    husk_graph_output_gradient(g, "dy", y);
    COMPILING(OPTIONS(.optimizer = &momentum, .loss_scale = &HUSK_LOSS_SCALE_PARAMS(.start = 1)),
              "options: loss_scale: gradients that are given, or wanted by inputs, are not multiplied with it");
    test_ok_error(husk_graph_compile(g, OPTIONS(.optimizer = &momentum), &error), &error);
    GRAPH_FAILS(g, husk_graph_check_finite(g), "husk_graph_check_finite: graph: it has no loss");
    test_graph_ok(g, husk_graph_step(g));
    husk_graph_release(g);
}
END_TEST

// ---- compress.h, checkpoint.h ----

START_TEST(what_is_made_of_a_compiled_graph)
{
    husk_calibration *calibration = (husk_calibration *)&error;
    husk_safetensors *file = NULL;
    FAILS(husk_graph_prune(NULL, NULL, NULL, &error), "husk_graph_prune: graph: it is NULL");
    FAILS(husk_calibration_create(NULL, &calibration, &error), "husk_calibration_create: graph: it is NULL");
    FAILS(husk_calibration_observe(NULL, &error), "husk_calibration_observe: calibration: it is NULL");
    FAILS(husk_calibration_save(NULL, "/tmp/nowhere", &error), "husk_calibration_save: calibration: it is NULL");
    FAILS(husk_graph_quantize(NULL, file, NULL, &error), "husk_graph_quantize: graph: it is NULL");
    FAILS(husk_graph_save(NULL, "/tmp/nowhere", NULL, &error), "husk_graph_save: graph: it is NULL");
    FAILS(husk_graph_load(NULL, file, NULL, NULL, &error), "husk_graph_load: graph: it is NULL");
    husk_calibration_release(NULL);
    build(HUSK_F32);
    FAILS(husk_graph_prune(g, NULL, NULL, &error), "husk_graph_prune: graph: it is not compiled");
    FAILS(husk_calibration_create(g, &calibration, &error), "husk_calibration_create: graph: it is not compiled");
    FAILS(husk_graph_quantize(g, NULL, NULL, &error), "husk_graph_quantize: file: it is NULL");
    FAILS(husk_graph_save(g, "/tmp/nowhere", NULL, &error), "husk_graph_save: graph: it is not compiled");
    FAILS(husk_graph_load(g, file, NULL, NULL, &error), "husk_graph_load: graph: it is not compiled");
    husk_graph_release(g);
    compile(HUSK_GRAPH_OPTIONS(.accumulate = 1));
    FAILS(husk_calibration_create(g, NULL, &error), "husk_calibration_create: calibration: it is NULL");
    FAILS(husk_graph_save(g, NULL, NULL, &error), "husk_graph_save: path: it is NULL");
    FAILS(husk_graph_load(g, NULL, NULL, NULL, &error), "husk_graph_load: file: it is NULL");
    FAILS(husk_graph_prune(g, &(husk_prune_params){.size = 1}, NULL, &error), "husk_graph_prune: params: size is 1");
    FAILS(husk_graph_save(g, "/tmp/nowhere", &(husk_save_params){.size = 1}, &error),
          "husk_graph_save: params: size is 1");
    husk_graph_release(g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/refusals_step");
    TCase *tcase = tcase_create("all");
    tcase_add_test(tcase, what_is_not_compiled_does_nothing);
    tcase_add_test(tcase, options_are_looked_at);
    tcase_add_test(tcase, a_variant_that_is_not_there_is_named);
    tcase_add_test(tcase, a_compiled_graph_goes_on);
    tcase_add_test(tcase, the_loss_scale_keeps_its_bounds);
    tcase_add_test(tcase, without_a_loss_or_an_optimizer);
    tcase_add_test(tcase, what_is_made_of_a_compiled_graph);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
