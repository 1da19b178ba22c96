// SPDX-License-Identifier: MIT
#include "train/rounded_gradient.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <check.h>

#include "ref/random.h"
#include "support/device.h"
#include "train/whole_gradient.h"

enum { MOST_PARAMETERS = 64, SCALE = 256 };

static int factor_count; // of the graph that is being made
static husk_dtype factor_dtype;

husk_value test_rounded(husk_graph *graph, bool perturbs, husk_value x)
{
    char name[32];
    int64_t shape[HUSK_MAX_RANK];
    if (!perturbs)
        return x;
    int32_t rank = husk_graph_shape(graph, x, shape);
    snprintf(name, sizeof name, "factors_%d", factor_count++);
    husk_value factors = husk_graph_input(graph, name, factor_dtype, rank, shape);
    return husk_graph_binary(
        graph, NULL, &HUSK_MAKE(husk_binary_params, .op = HUSK_BINARY_MULTIPLY, .alpha = 1, .beta = 1), x, factors);
}

// ---- numbers of the device as doubles, in f64 or f32 there ----

static double *read_tensor(const husk_tensor *tensor)
{
    const int64_t count = husk_tensor_count(tensor);
    const uint64_t size = husk_dtype_size(tensor->dtype);
    double *numbers = malloc(sizeof *numbers * (size_t)count);
    test_ok(husk_buffer_read(test_queue(), tensor->buffer, (uint64_t)tensor->offset * size, (uint64_t)count * size,
                             numbers));
    for (int64_t i = count - 1; i >= 0 && tensor->dtype == HUSK_F32; i--)
        numbers[i] = (double)((float *)numbers)[i];
    return numbers;
}

static void write_numbers(husk_graph *graph, const char *name, const husk_tensor *tensor, const double *numbers)
{
    const int64_t count = husk_tensor_count(tensor);
    float *narrow = malloc(sizeof *narrow * (size_t)count);
    for (int64_t i = 0; i < count; i++)
        narrow[i] = (float)numbers[i];
    test_graph_ok(graph, husk_graph_write(graph, name, tensor->dtype == HUSK_F64 ? (const void *)numbers : narrow,
                                          (uint64_t)count * husk_dtype_size(tensor->dtype)));
    free(narrow);
}

// ---- a network and its gradients ----

typedef struct gradients {
    size_t count;
    double *numbers[MOST_PARAMETERS];
} gradients;

static void release(gradients *of)
{
    for (size_t i = 0; i < of->count; i++)
        free(of->numbers[i]);
}

static gradients compute(husk_graph *graph, double scale)
{
    gradients made = {.count = husk_graph_parameter_count(graph)};
    ck_assert_uint_le(made.count, MOST_PARAMETERS);
    test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_TRAINING));
    test_graph_ok(graph, husk_graph_backward(graph));
    for (size_t i = 0; i < made.count; i++) {
        husk_parameter parameter = HUSK_PARAMETER();
        test_graph_ok(graph, husk_graph_parameter_at(graph, i, &parameter));
        if (parameter.kind == HUSK_PARAMETER_TRAINED)
            made.numbers[i] = read_tensor(&parameter.gradient);
        for (int64_t e = 0; e < husk_tensor_count(&parameter.tensor) && made.numbers[i]; e++)
            made.numbers[i][e] /= scale;
    }
    husk_graph_position position = husk_graph_get_position(graph); // the next backward may come
    test_graph_ok(graph, husk_graph_set_position(graph, position));
    return made;
}

static husk_graph *compile(const test_rounded_network *network, husk_dtype dtype, bool perturbs)
{
    husk_graph *graph = test_graph(dtype, 5);
    factor_count = 0;
    factor_dtype = dtype;
    husk_optimizer_params sgd = HUSK_MAKE(husk_optimizer_params, .rate = 0.1);
    husk_loss_scale_params fixed = HUSK_LOSS_SCALE_PARAMS(.start = SCALE, .fixed = 1, .none = perturbs);
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.optimizer = &sgd, .loss_scale = &fixed, .cold = 1);
    husk_error error = {0};
    options.loss = network->build(graph, perturbs);
    test_ok_error(husk_graph_compile(graph, &options, &error), &error);
    network->fill(graph);
    return graph;
}

// Factors of 1 + u r: every input of them, and the parameters, whose numbers are `exact`.
static void perturb(husk_graph *graph, double u, uint64_t draw, const gradients *exact)
{
    char name[32];
    husk_tensor tensor;
    husk_parameter parameter = HUSK_PARAMETER();
    for (int f = 0; f < factor_count; f++) {
        snprintf(name, sizeof name, "factors_%d", f);
        test_graph_ok(graph, husk_graph_tensor(graph, name, &tensor));
        double *numbers = malloc(sizeof *numbers * (size_t)husk_tensor_count(&tensor));
        for (int64_t i = 0; i < husk_tensor_count(&tensor); i++)
            numbers[i] = 1 + u * (double)husk_ref_random_float(1000 * draw + (uint64_t)f, (uint64_t)i);
        write_numbers(graph, name, &tensor, numbers);
        free(numbers);
    }
    for (size_t p = 0; p < exact->count; p++) {
        test_graph_ok(graph, husk_graph_parameter_at(graph, p, &parameter));
        if (!exact->numbers[p])
            continue;
        double *numbers = malloc(sizeof *numbers * (size_t)husk_tensor_count(&parameter.tensor));
        for (int64_t i = 0; i < husk_tensor_count(&parameter.tensor); i++)
            numbers[i] = exact->numbers[p][i] *
                         (1 + u * (double)husk_ref_random_float(1000 * draw + 500 + (uint64_t)p, (uint64_t)i));
        write_numbers(graph, parameter.name, &parameter.tensor, numbers);
        free(numbers);
    }
}

static double square_of_difference(const double *a, const double *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

double test_rounded_gradient(const test_rounded_network *network, husk_dtype dtype, husk_dtype wide)
{
    const double u = dtype == HUSK_F16 ? 0x1p-11 : 0x1p-8;
    husk_graph *graph = compile(network, wide, true);
    husk_parameter parameter = HUSK_PARAMETER();
    gradients values = {.count = husk_graph_parameter_count(graph)};
    for (size_t p = 0; p < values.count; p++) {
        test_graph_ok(graph, husk_graph_parameter_at(graph, p, &parameter));
        if (parameter.kind == HUSK_PARAMETER_TRAINED)
            values.numbers[p] = read_tensor(&parameter.tensor);
    }
    perturb(graph, 0, 0, &values);
    gradients exact = compute(graph, 1);
    double squares[MOST_PARAMETERS] = {0}, largest = 0;
    for (int draw = 1; draw <= TEST_SAMPLES; draw++) {
        perturb(graph, u, (uint64_t)draw, &values);
        gradients drawn = compute(graph, 1);
        for (size_t p = 0; p < values.count; p++) {
            test_graph_ok(graph, husk_graph_parameter_at(graph, p, &parameter));
            if (values.numbers[p])
                squares[p] +=
                    square_of_difference(drawn.numbers[p], exact.numbers[p], husk_tensor_count(&parameter.tensor)) /
                    TEST_SAMPLES;
        }
        release(&drawn);
    }
    husk_graph_release(graph);
    graph = compile(network, dtype, false);
    gradients narrow = compute(graph, SCALE);
    for (size_t p = 0; p < values.count; p++) {
        if (!values.numbers[p])
            continue;
        test_graph_ok(graph, husk_graph_parameter_at(graph, p, &parameter));
        const int64_t count = husk_tensor_count(&parameter.tensor);
        double length = 0, error = sqrt(square_of_difference(narrow.numbers[p], exact.numbers[p], count));
        for (int64_t i = 0; i < count; i++)
            length += exact.numbers[p][i] * exact.numbers[p][i];
        ck_assert_msg(length > 0 && squares[p] > 0, "%s has a gradient of zeros", parameter.name);
        ck_assert_msg(error <= 4 * sqrt(squares[p]), "%s of %s: the gradient's norm is %g, it errs by %g, D is %g",
                      parameter.name, husk_dtype_name(dtype), sqrt(length), error, sqrt(squares[p]));
        // What 4 D is has to be a small part of the gradient, or nothing is shown.
        ck_assert_msg(squares[p] < 0.01 * length, "%s of %s: the gradient's norm is %g, D is %g", parameter.name,
                      husk_dtype_name(dtype), sqrt(length), sqrt(squares[p]));
        largest = fmax(largest, error / (4 * sqrt(squares[p])));
    }
    release(&values);
    release(&exact);
    release(&narrow);
    husk_graph_release(graph);
    return largest;
}
