// SPDX-License-Identifier: MIT
// ctest: tiers=default,train timeout=120 with=whole_gradient,digits
// Quantisation after training: the formulas of the header, computed on the host; what is refused; a network of a
// quarter of the size, and what it knows of the digits.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ref/random.h"
#include "support/device.h"
#include "support/main.h"
#include "train/digits.h"
#include "train/whole_gradient.h"

enum { BATCH = 32 };

static husk_error error;
static char path[40];

static void setup(void)
{
    strcpy(path, "/tmp/husk-quantize-XXXXXX");
    close(mkstemp(path));
}

static void teardown(void)
{
    unlink(path);
}

static husk_calibration *calibrated(husk_graph *graph)
{
    husk_calibration *made;
    test_ok_error(husk_calibration_create(graph, &made, &error), &error);
    return made;
}

static husk_safetensors *opened(void)
{
    husk_safetensors *file;
    test_ok_error(husk_safetensors_open(path, NULL, &file, &error), &error);
    return file;
}

// The graph's weights, of the file, are there and the graph can be run.
static void make_quantized(husk_graph *graph, size_t wanted)
{
    husk_safetensors *file = opened();
    size_t count;
    test_ok_error(husk_graph_quantize(graph, file, &count, &error), &error);
    ck_assert_uint_eq(count, wanted);
    test_ok_error(husk_graph_compile(graph, NULL, &error), &error);
    husk_load_counts counts;
    test_ok_error(husk_graph_load(graph, file, &HUSK_LOAD_PARAMS(.mode = HUSK_LOAD_WEIGHTS), &counts, &error), &error);
    ck_assert(counts.absent == 0 && counts.unused == 0);
    husk_safetensors_close(file);
}

// ---- the formulas ----

enum { N = 3, C = 2, SIDE = 5, K = 4, PIXELS = SIDE * SIDE, FLAT = K * PIXELS, HIDDEN = 7, OUT = 6 };

// A convolution with ReLU, a linear layer (weights [n, k]), a product (weights [k, n]).
static void build(husk_graph *graph)
{
    husk_conv_params same = HUSK_CONV_PARAMS(.pad = {1, 1}, .activation = HUSK_ACT_RELU);
    husk_initializer spread = HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_NORMAL, .spread = 0.3f);
    husk_conv_layer conv = HUSK_CONV_LAYER(.filters = K, .window = {3, 3}, .params = &same, .bias = &spread);
    husk_linear_layer linear = HUSK_LINEAR_LAYER(.outputs = HIDDEN, .bias = &spread);
    husk_value x = husk_graph_input(graph, "x", HUSK_F32, 4, (int64_t[]){N, C, SIDE, SIDE});
    x = husk_graph_conv_layer(graph, "conv", &conv, x);
    husk_graph_output(graph, "y1", x);
    x = husk_graph_reshape(graph, "flat", x, 2, (int64_t[]){N, -1});
    x = husk_graph_linear(graph, "fc", &linear, x);
    husk_graph_output(graph, "y2", x);
    husk_value w = husk_graph_parameter(graph, "w", 2, (int64_t[]){HIDDEN, OUT}, &spread);
    x = husk_graph_gemm(graph, "product", NULL, 1, x, w, HUSK_NO_VALUE);
    husk_graph_output(graph, "y3", x);
}

static float *read_values(husk_graph *graph, const char *name, size_t count)
{
    float *values = malloc(count * sizeof *values);
    test_graph_ok(graph, husk_graph_read(graph, name, values, count * sizeof *values));
    return values;
}

typedef struct layer {
    const char *x, *y, *weight, *bias, *node; // names
    size_t count_x, count_y, count_w;
    int outputs;
    bool is_conv, is_kn; // weights [k, n]
} layer;

static const layer layers[] = {
    {"x", "y1", "conv.weight", "conv.bias", "conv", N * C * PIXELS, N * FLAT, K * C * 9, K, true, false},
    {"y1", "y2", "fc.weight", "fc.bias", "fc", N * FLAT, N * HIDDEN, FLAT * HIDDEN, HIDDEN, false, false},
    {"y2", "y3", "w", NULL, "product", N * HIDDEN, N * OUT, HIDDEN * OUT, OUT, false, true},
};

// Output `at` of a layer from x and w as functions of an element's number, and its channel.
static double sum_of(const layer *l, const double *x, const double *w, size_t at, int *channel)
{
    double sum = 0;
    if (!l->is_conv) {
        const size_t inner = l->count_x / N, row = at / (size_t)l->outputs, column = at % (size_t)l->outputs;
        *channel = (int)column;
        for (size_t i = 0; i < inner; i++)
            sum += x[row * inner + i] * w[l->is_kn ? i * (size_t)l->outputs + column : column * inner + i];
        return sum;
    }
    const int n = (int)at / FLAT, k = (int)at / PIXELS % K, row = (int)at / SIDE % SIDE, column = (int)at % SIDE;
    *channel = k;
    for (int c = 0; c < C; c++)
        for (int r = 0; r < 9; r++) {
            const int i = row + r / 3 - 1, j = column + r % 3 - 1;
            if (i >= 0 && i < SIDE && j >= 0 && j < SIDE)
                sum += x[((n * C + c) * SIDE + i) * SIDE + j] * w[(k * C + c) * 9 + r];
        }
    return sum;
}

// What the network of eight bits computes in a layer, from what it read, by the formulas.
static void check_layer(husk_graph *plain, husk_graph *quantized, const layer *l, const float *low, const float *high)
{
    float *x = read_values(quantized, l->x, l->count_x), *y = read_values(quantized, l->y, l->count_y);
    float *w = read_values(plain, l->weight, l->count_w), bias[16] = {0}, scales[16] = {0};
    double *qx = malloc(l->count_x * sizeof *qx), *qw = malloc(l->count_w * sizeof *qw);
    if (l->bias)
        test_graph_ok(plain, husk_graph_read(plain, l->bias, bias, (uint64_t)l->outputs * sizeof *bias));
    const float scale = (*high - *low) / 255, zero = rintf(-*low / scale);
    for (size_t i = 0; i < l->count_x; i++)
        qx[i] = fmax(0, fmin(255, rint((double)(x[i] / scale)) + (double)zero)) - (double)zero;
    const size_t inner = l->is_kn ? 1 : l->count_w / (size_t)l->outputs;
    for (size_t i = 0; i < l->count_w; i++)
        scales[i / inner % (size_t)l->outputs] = fmaxf(scales[i / inner % (size_t)l->outputs], fabsf(w[i]));
    for (size_t i = 0; i < l->count_w; i++)
        qw[i] = rint((double)(w[i] / (scales[i / inner % (size_t)l->outputs] / 127)));
    for (size_t i = 0; i < l->count_y; i++) {
        int channel;
        const double sum = sum_of(l, qx, qw, i, &channel);
        double wanted = (double)scale * (double)(scales[channel] / 127) * sum + (double)bias[channel];
        wanted = l->is_conv ? fmax(wanted, 0) : wanted;
        ck_assert_msg(fabs((double)y[i] - wanted) <= 2e-6 * (1 + fabs(wanted)), "%s[%zu]: %.9g, by the formula %.9g",
                      l->y, i, (double)y[i], wanted);
    }
    free(x);
    free(y);
    free(w);
    free(qx);
    free(qw);
}

START_TEST(each_layer_is_its_formula)
{
    husk_graph *plain = test_graph(HUSK_F32, 3), *quantized = test_graph(HUSK_F32, 4);
    build(plain);
    build(quantized);
    test_ok_error(husk_graph_compile(plain, NULL, &error), &error);
    husk_calibration *calibration = calibrated(plain);
    float low[3] = {0}, high[3] = {0};
    for (uint64_t batch = 0; batch < 2; batch++) { // both count
        test_fill_input(plain, "x", 20 + batch, 0);
        test_ok_error(husk_calibration_observe(calibration, &error), &error);
        for (int l = 0; l < 3; l++) {
            float *x = read_values(plain, layers[l].x, layers[l].count_x);
            for (size_t i = 0; i < layers[l].count_x; i++) {
                low[l] = fminf(low[l], x[i]);
                high[l] = fmaxf(high[l], x[i]);
            }
            free(x);
        }
    }
    test_ok_error(husk_calibration_save(calibration, path, &error), &error);
    husk_calibration_release(calibration);
    make_quantized(quantized, 3);
    for (uint64_t batch = 0; batch < 3; batch++) { // the last was not observed
        test_fill_input(quantized, "x", 20 + batch, 0);
        test_graph_ok(quantized, husk_graph_forward(quantized, HUSK_GRAPH_EVALUATION));
        for (int l = 0; l < 3; l++)
            check_layer(plain, quantized, &layers[l], &low[l], &high[l]);
    }
    husk_graph_release(plain);
    husk_graph_release(quantized);
}
END_TEST

// ---- what is refused ----

static void refused(husk_status status, const char *call, const char *words)
{
    ck_assert_int_eq(status, HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strncmp(error.text, call, strlen(call)) == 0 && strstr(error.text, words), "\"%s\" is not in: %s",
                  words, error.text);
}

static husk_value pool_alone(husk_graph *graph)
{
    husk_value x = husk_graph_input(graph, "x", HUSK_F32, 4, (int64_t[]){1, 1, 4, 4});
    return husk_graph_pool(graph, "pool", &HUSK_POOL_PARAMS(.window = {2, 2}), x);
}

// The calibrated file once more: one tensor left out, or another one instead.
static void rewrite(const char *name, const husk_safetensors_item *instead)
{
    husk_safetensors_item items[20];
    husk_safetensors *file = opened();
    size_t count = 0;
    for (size_t i = 0; i < husk_safetensors_count(file); i++) {
        husk_safetensors_entry e;
        husk_safetensors_get(file, i, &e);
        if (strcmp(e.name, name) == 0)
            continue;
        void *host = malloc(e.bytes);
        test_ok_error(husk_safetensors_read(file, e.name, host, e.bytes, &error), &error);
        items[count++] =
            (husk_safetensors_item){e.name, host, husk_tensor_make(NULL, (husk_dtype)e.dtype, e.rank, e.shape)};
    }
    const size_t own = count;
    if (instead)
        items[count++] = *instead;
    test_ok_error(husk_safetensors_write(path, NULL, items, count, NULL, 0, &error), &error);
    for (size_t i = 0; i < own; i++)
        free((void *)(uintptr_t)items[i].host);
    husk_safetensors_close(file);
}

START_TEST(what_cannot_be_quantized_is_refused)
{
    husk_graph *plain = test_graph(HUSK_F32, 3), *empty = test_graph(HUSK_F32, 3), *other = test_graph(HUSK_F32, 3);
    husk_calibration *calibration;
    build(plain);
    refused(husk_calibration_create(NULL, &calibration, &error), "husk_calibration_create: ", "graph: it is NULL");
    refused(husk_calibration_create(plain, NULL, &error), "husk_calibration_create: ", "calibration: it is NULL");
    refused(husk_calibration_create(plain, &calibration, &error), "husk_calibration_create: ", "not compiled");
    test_ok_error(husk_graph_compile(plain, NULL, &error), &error);
    husk_graph_output(empty, "y", pool_alone(empty));
    test_ok_error(husk_graph_compile(empty, NULL, &error), &error);
    refused(husk_calibration_create(empty, &calibration, &error), "husk_calibration_create: ", "no convolution");
    ck_assert_ptr_null(calibration);
    husk_calibration_release(NULL);
    calibration = calibrated(plain);
    refused(husk_calibration_save(calibration, path, &error), "husk_calibration_save: ", "nothing was observed");
    refused(husk_calibration_observe(NULL, &error), "husk_calibration_observe: ", "it is NULL");
    float wrong[N * C * PIXELS] = {[7] = NAN};
    for (int i = 0; i < 2; i++) {
        wrong[7] = i ? INFINITY : NAN;
        test_graph_ok(plain, husk_graph_write(plain, "x", wrong, sizeof wrong));
        refused(husk_calibration_observe(calibration, &error), "husk_calibration_observe: ", "conv: what it reads");
    }
    refused(husk_calibration_save(calibration, path, &error), "husk_calibration_save: ", "nothing was observed");
    test_fill_input(plain, "x", 20, 0);
    test_ok_error(husk_calibration_observe(calibration, &error), &error);
    refused(husk_calibration_save(calibration, NULL, &error), "husk_calibration_save: ", "path: it is NULL");
    refused(husk_calibration_save(NULL, path, &error), "husk_calibration_save: ", "calibration: it is NULL");
    husk_status status = husk_calibration_save(calibration, "/tmp/husk-no-such-folder/x", &error);
    ck_assert_msg(status == HUSK_IO && strncmp(error.text, "husk_calibration_save: /tmp", 27) == 0, "%s", error.text);

    // The file: of which each is wrong once.
    static const float zero = 0, two[2] = {1, 1};
    static const uint8_t byte = 3;
    const husk_safetensors_item instead[] = {
        {"conv.input_scale", &zero, husk_tensor_make(NULL, HUSK_F32, 0, NULL)},
        {"conv.input_scale", two, husk_tensor_make(NULL, HUSK_F32, 1, (int64_t[]){2})},
        {"fc.weight", &byte, husk_tensor_make(NULL, HUSK_I8, 1, (int64_t[]){1})},
        {"w_scale", two, husk_tensor_make(NULL, HUSK_F32, 1, (int64_t[]){2})},
    };
    static const struct {
        const char *name;
        int instead;
        const char *words;
    } files[] = {
        {"conv.weight_scale", -1, "its tensor conv.weight_scale is missing, and F32 [4] is wanted"},
        {"product.input_zero", -1, "its tensor product.input_zero is missing, and U8 [] is wanted"},
        {"conv.input_scale", 0, "its conv.input_scale is 0; it has to be positive"},
        {"conv.input_scale", 1, "its tensor conv.input_scale is F32 [2], and F32 [] is wanted"},
        {"fc.weight", 2, "its tensor fc.weight is I8 [1], and I8 [7, 100] is wanted"},
        {"w_scale", 3, "its tensor w_scale is F32 [2], and F32 [6] is wanted"},
    };
    build(other);
    husk_safetensors *file;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        test_ok_error(husk_calibration_save(calibration, path, &error), &error);
        rewrite(files[i].name, files[i].instead < 0 ? NULL : &instead[files[i].instead]);
        file = opened();
        refused(husk_graph_quantize(other, file, NULL, &error), "husk_graph_quantize: /tmp", files[i].words);
        husk_safetensors_close(file);
    }
    test_ok_error(husk_graph_save(plain, path, &HUSK_SAVE_PARAMS(.weights_only = 1), &error), &error);
    file = opened();
    refused(husk_graph_quantize(other, file, NULL, &error), "husk_graph_quantize: /tmp", "no weights of eight bits");
    husk_safetensors_close(file);
    test_ok_error(husk_calibration_save(calibration, path, &error), &error);
    file = opened();
    refused(husk_graph_quantize(NULL, file, NULL, &error), "husk_graph_quantize: ", "graph: it is NULL");
    refused(husk_graph_quantize(other, NULL, NULL, &error), "husk_graph_quantize: ", "file: it is NULL");
    refused(husk_graph_quantize(plain, file, NULL, &error), "husk_graph_quantize: ", "it is compiled");
    // A name that the graph has already, of the last node: the others are not changed either.
    husk_graph *taken = test_graph(HUSK_F32, 3);
    build(taken);
    husk_graph_input(taken, "product.input_zero", HUSK_F32, 0, NULL);
    for (int i = 0; i < 2; i++)
        refused(husk_graph_quantize(taken, file, NULL, &error), "husk_graph_quantize: /tmp",
                "it cannot have a parameter product.input_zero: there is a value of this name already");
    ck_assert_int_eq(husk_graph_error(taken)->status, HUSK_OK);
    test_ok_error(husk_graph_compile(taken, NULL, &error), &error);
    husk_graph_release(taken);
    refused(husk_graph_load(plain, file, &HUSK_LOAD_PARAMS(.mode = HUSK_LOAD_WEIGHTS), NULL, &error),
            "husk_graph_load: ", "conv.weight: I8 [4, 2, 3, 3], for F32 [4, 2, 3, 3]");
    // One layer alone, where the file has eight bits of that one alone; and no training.
    rewrite("fc.weight", NULL);
    husk_safetensors_close(file);
    file = opened();
    size_t count;
    test_ok_error(husk_graph_quantize(other, file, &count, &error), &error);
    ck_assert_uint_eq(count, 2);
    refused(husk_graph_quantize(other, file, NULL, &error), "husk_graph_quantize: ", "quantized already");
    husk_value loss = husk_graph_reduce(other, "loss", NULL, husk_graph_input(other, "z", HUSK_F32, 1, (int64_t[]){3}));
    refused(husk_graph_compile(other, &HUSK_GRAPH_OPTIONS(.loss = loss), &error),
            "husk_graph_compile: ", "a quantized graph is for evaluation alone");
    husk_safetensors_close(file);
    husk_calibration_release(calibration);
    husk_graph_release(plain);
    husk_graph_release(empty);
    husk_graph_release(other);
}
END_TEST

// As the last file that was made: quantized by another calibration.
static void refused_load(husk_graph *graph, const char *words)
{
    husk_safetensors *file = opened();
    const husk_load_mode modes[] = {HUSK_LOAD_WEIGHTS, HUSK_LOAD_MATCHING};
    for (int i = 0; i < 2; i++) {
        refused(husk_graph_load(graph, file, &HUSK_LOAD_PARAMS(.mode = modes[i]), NULL, &error),
                "husk_graph_load: /tmp", words);
        ck_assert_ptr_nonnull(strstr(error.text, ": a graph for this file has to be quantized with it"));
    }
    husk_safetensors_close(file);
}

static void refused_write(husk_graph *graph, husk_status status, const char *words)
{
    error = *husk_graph_error(graph);
    refused(status, "husk_graph_write", words);
}

START_TEST(another_calibration_is_refused)
{
    husk_graph *plain = test_graph(HUSK_F32, 3), *quantized = test_graph(HUSK_F32, 4);
    build(plain);
    build(quantized);
    test_ok_error(husk_graph_compile(plain, NULL, &error), &error);
    husk_calibration *calibration = calibrated(plain), *wider = calibrated(plain);
    test_fill_input(plain, "x", 20, 0);
    test_ok_error(husk_calibration_observe(calibration, &error), &error);
    test_ok_error(husk_calibration_save(calibration, path, &error), &error);
    make_quantized(quantized, 3);
    float *x = read_values(plain, "x", N * C * PIXELS), scale;
    uint8_t zero;
    test_graph_ok(quantized, husk_graph_write(quantized, "x", x, N * C * PIXELS * sizeof *x));
    test_graph_ok(quantized, husk_graph_forward(quantized, HUSK_GRAPH_EVALUATION));
    float *before = read_values(quantized, "y3", N * OUT);
    for (int i = 0; i < N * C * PIXELS; i++)
        x[i] *= 10;
    test_graph_ok(plain, husk_graph_write(plain, "x", x, N * C * PIXELS * sizeof *x));
    test_ok_error(husk_calibration_observe(wider, &error), &error);
    test_ok_error(husk_calibration_save(wider, path, &error), &error);
    refused_load(quantized, "its conv.input_scale is ");

    // Its weights, while inputs are quantized as they were.
    static const char *const inputs[] = {"conv.input_scale", "conv.input_zero",     "fc.input_scale",
                                         "fc.input_zero",    "product.input_scale", "product.input_zero"};
    husk_safetensors *file = opened();
    husk_load_params params = HUSK_LOAD_PARAMS(.mode = HUSK_LOAD_WEIGHTS, .except = inputs, .except_count = 6);
    test_ok_error(husk_graph_load(quantized, file, &params, NULL, &error), &error);
    husk_safetensors_close(file);

    // One number alone: the last node's zero point, then the scale of the middle one.
    test_ok_error(husk_calibration_save(calibration, path, &error), &error);
    test_graph_ok(quantized, husk_graph_read(quantized, "product.input_zero", &zero, sizeof zero));
    test_graph_ok(quantized, husk_graph_read(quantized, "fc.input_scale", &scale, sizeof scale));
    const uint8_t next = (uint8_t)(zero ^ 1);
    const float above = nextafterf(scale, 1);
    rewrite("product.input_zero",
            &(husk_safetensors_item){"product.input_zero", &next, husk_tensor_make(NULL, HUSK_U8, 0, NULL)});
    refused_load(quantized, "its product.input_zero is ");
    test_ok_error(husk_calibration_save(calibration, path, &error), &error);
    rewrite("fc.input_scale",
            &(husk_safetensors_item){"fc.input_scale", &above, husk_tensor_make(NULL, HUSK_F32, 0, NULL)});
    refused_load(quantized, "its fc.input_scale is ");

    refused_write(quantized, husk_graph_write(quantized, "product.input_zero", &next, sizeof next),
                  "the graph was quantized with product.input_zero ");
    refused_write(quantized, husk_graph_write(quantized, "fc.input_scale", &above, sizeof above),
                  "the graph was quantized with fc.input_scale ");
    husk_tensor there;
    test_graph_ok(quantized, husk_graph_tensor(quantized, "fc.input_scale", &there));
    refused_write(quantized, husk_graph_write_tensor(quantized, "fc.input_scale", &there),
                  "name: fc.input_scale is what the graph was quantized with");
    // The same is taken, of a file of the graph's own, too; and nothing has changed.
    test_graph_ok(quantized, husk_graph_write(quantized, "product.input_zero", &zero, sizeof zero));
    test_graph_ok(quantized, husk_graph_write(quantized, "fc.input_scale", &scale, sizeof scale));
    test_ok_error(husk_graph_save(quantized, path, NULL, &error), &error);
    file = opened();
    test_ok_error(husk_graph_load(quantized, file, NULL, NULL, &error), &error);
    test_ok_error(husk_graph_load(quantized, file, &HUSK_LOAD_PARAMS(.mode = HUSK_LOAD_WEIGHTS), NULL, &error), &error);
    husk_safetensors_close(file);
    test_graph_ok(quantized, husk_graph_forward(quantized, HUSK_GRAPH_EVALUATION));
    float *after = read_values(quantized, "y3", N * OUT);
    ck_assert_mem_eq(before, after, N * OUT * sizeof *before);
    free(x);
    free(before);
    free(after);
    husk_calibration_release(calibration);
    husk_calibration_release(wider);
    husk_graph_release(plain);
    husk_graph_release(quantized);
}
END_TEST

// Ranges of nothing but 0 have a scale, so that what comes later is a number; filters of zeros likewise.
START_TEST(zeros_are_quantized)
{
    husk_graph *plain = test_graph(HUSK_F32, 3), *quantized = test_graph(HUSK_F32, 4);
    float zeros[N * C * PIXELS] = {0}, weights[K * C * 9] = {0};
    build(plain);
    build(quantized);
    test_ok_error(husk_graph_compile(plain, NULL, &error), &error);
    husk_calibration *calibration = calibrated(plain);
    test_graph_ok(plain, husk_graph_write(plain, "x", zeros, sizeof zeros));
    test_graph_ok(plain, husk_graph_write(plain, "conv.weight", weights, sizeof weights));
    test_ok_error(husk_calibration_observe(calibration, &error), &error);
    weights[5] = NAN;
    test_graph_ok(plain, husk_graph_write(plain, "conv.weight", weights, sizeof weights));
    refused(husk_calibration_save(calibration, path, &error),
            "husk_calibration_save: ", "calibration: the graph's parameter conv.weight holds NaN or infinity");
    weights[5] = 0;
    test_graph_ok(plain, husk_graph_write(plain, "conv.weight", weights, sizeof weights));
    test_ok_error(husk_calibration_save(calibration, path, &error), &error);
    husk_safetensors *file = opened();
    float scale = 0, scales[K] = {0};
    test_ok_error(husk_safetensors_read(file, "conv.input_scale", &scale, sizeof scale, &error), &error);
    test_ok_error(husk_safetensors_read(file, "conv.weight_scale", scales, sizeof scales, &error), &error);
    ck_assert(scale == 1 && scales[0] == 1 && scales[K - 1] == 1);
    husk_safetensors_close(file);
    make_quantized(quantized, 3);
    // The convolution's bias is all that there is.
    float bias[K], *y;
    test_graph_ok(plain, husk_graph_read(plain, "conv.bias", bias, sizeof bias));
    test_fill_input(quantized, "x", 1, 0);
    test_graph_ok(quantized, husk_graph_forward(quantized, HUSK_GRAPH_EVALUATION));
    y = read_values(quantized, "y1", (size_t)N * FLAT);
    for (int i = 0; i < N * FLAT; i++)
        ck_assert(y[i] == fmaxf(bias[i / PIXELS % K], 0));
    free(y);
    husk_calibration_release(calibration);
    husk_graph_release(plain);
    husk_graph_release(quantized);
}
END_TEST

// ---- the digits ----

static off_t size_of(const char *name)
{
    struct stat status;
    ck_assert_int_eq(stat(name, &status), 0);
    return status.st_size;
}

// A small network; a larger one, and three seeds in the tier train.
START_TEST(a_quarter_of_the_size_knows_the_digits)
{
    const bool is_whole = test_tier_is("train");
    const int64_t width = is_whole ? 32 : 12;
    husk_dataset *learnt, *asked;
    test_digits_open(&learnt, &asked);
    for (uint64_t seed = 1; seed <= (is_whole ? 3 : 1); seed++) {
        husk_optimizer_params adam = husk_adam(is_whole ? 1e-3f : 4e-3f);
        husk_graph *graph = test_graph(HUSK_F32, seed), *small = test_graph(HUSK_F32, seed);
        husk_value labels, logits = test_digits_network(graph, BATCH, width, &labels);
        husk_graph_options options = HUSK_GRAPH_OPTIONS(.optimizer = &adam);
        options.loss = husk_graph_loss(graph, "loss", NULL, logits, labels, HUSK_NO_VALUE, HUSK_NO_VALUE);
        test_ok_error(husk_graph_compile(graph, &options, &error), &error);
        husk_feed *feed = test_digits_feed(learnt, BATCH, seed);
        test_digits_train(graph, feed, (is_whole ? 30 : 8) * husk_feed_batches(feed));
        husk_calibration *calibration = calibrated(graph);
        for (int batch = 0; batch < 10; batch++) { // of what was learnt
            test_digits_next(graph, feed, NULL);
            test_ok_error(husk_calibration_observe(calibration, &error), &error);
        }
        test_ok_error(husk_graph_save(graph, path, &HUSK_SAVE_PARAMS(.weights_only = 1), &error), &error);
        const off_t large_file = size_of(path);
        test_ok_error(husk_calibration_save(calibration, path, &error), &error);
        const off_t small_file = size_of(path);
        test_digits_network(small, BATCH, width, NULL);
        make_quantized(small, 5);
        husk_graph_memory large_memory, small_memory;
        husk_graph_memory_used(graph, &large_memory);
        husk_graph_memory_used(small, &small_memory);
        const double before = test_digits_accuracy(graph, asked, BATCH),
                     after = test_digits_accuracy(small, asked, BATCH);
        const double file = (double)small_file / (double)large_file,
                     memory = (double)small_memory.parameters / (double)large_memory.parameters;
        printf("digits: %.2f%% in f32, %.2f%% in eight bits; %.1f%% of the parameters' memory, %.1f%% of the file\n",
               before, after, 100 * memory, 100 * file);
        ck_assert(before > (is_whole ? 98 : 93));
        ck_assert_msg(after >= before - 1, "%g is far from %g", after, before);
        ck_assert(!is_whole || (memory < 0.27 && file < 0.27));
        husk_calibration_release(calibration);
        husk_feed_release(feed);
        husk_graph_release(graph);
        husk_graph_release(small);
    }
    husk_dataset_release(learnt);
    husk_dataset_release(asked);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("quantize");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, each_layer_is_its_formula);
    tcase_add_test(tests, what_cannot_be_quantized_is_refused);
    tcase_add_test(tests, another_calibration_is_refused);
    tcase_add_test(tests, zeros_are_quantized);
    tcase_add_test(tests, a_quarter_of_the_size_knows_the_digits);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
