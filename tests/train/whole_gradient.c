// SPDX-License-Identifier: MIT
#include "train/whole_gradient.h"

#include <math.h>
#include <stdlib.h>

#include <check.h>

#include "ref/random.h"
#include "support/device.h"

husk_graph *test_graph(husk_dtype dtype, uint64_t seed)
{
    husk_graph *graph;
    husk_error error = {0};
    husk_graph_params params = HUSK_GRAPH_PARAMS(.dtype = dtype, .seed = seed, .queue = test_queue());
    test_ok_error(husk_graph_create(test_context(), &params, &graph, &error), &error);
    return graph;
}

void test_graph_ok(husk_graph *graph, husk_status status)
{
    ck_assert_msg(status == HUSK_OK, "%s", husk_graph_error(graph)->text);
}

void test_fill_input(husk_graph *graph, const char *name, uint64_t seed, int32_t below)
{
    husk_tensor tensor;
    test_graph_ok(graph, husk_graph_tensor(graph, name, &tensor));
    int64_t count = husk_tensor_count(&tensor);
    uint64_t bytes = (uint64_t)count * husk_dtype_size(tensor.dtype);
    char *host = malloc(bytes);
    for (int64_t i = 0; i < count; i++) {
        double number = (double)husk_ref_random_float(seed, (uint64_t)i); // in (-1, 1)
        if (tensor.dtype == HUSK_F64)
            ((double *)host)[i] = number;
        else if (tensor.dtype == HUSK_F32)
            ((float *)host)[i] = (float)number;
        else
            ((int32_t *)host)[i] = (int32_t)((number + 1) / 2 * below);
    }
    test_graph_ok(graph, husk_graph_write(graph, name, host, bytes));
    free(host);
}

double test_read_loss(husk_graph *graph, const char *name)
{
    double wide;
    float narrow;
    husk_tensor tensor;
    test_graph_ok(graph, husk_graph_tensor(graph, name, &tensor));
    if (tensor.dtype == HUSK_F64)
        test_graph_ok(graph, husk_graph_read(graph, name, &wide, sizeof wide));
    else {
        test_graph_ok(graph, husk_graph_read(graph, name, &narrow, sizeof narrow));
        wide = (double)narrow;
    }
    return wide;
}

static double loss_with(husk_graph *graph, const char *loss, const char *name, double *values, uint64_t bytes,
                        int64_t at, double value)
{
    double before = values[at];
    values[at] = value;
    test_graph_ok(graph, husk_graph_write(graph, name, values, bytes));
    values[at] = before;
    test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_TRAINING));
    return test_read_loss(graph, loss);
}

static double check_parameter(husk_graph *graph, const husk_parameter *parameter, const double *gradient,
                              const char *loss, int64_t elements)
{
    const double h = 0x1p-17;
    int64_t count = husk_tensor_count(&parameter->tensor);
    uint64_t bytes = (uint64_t)count * sizeof(double);
    double *values = malloc(bytes), largest = 0, worst = 0;
    test_graph_ok(graph, husk_graph_read(graph, parameter->name, values, bytes));
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(gradient[i]));
    int64_t step = count > elements ? count / elements : 1;
    for (int64_t i = 0; i < count; i += step) {
        double plus = loss_with(graph, loss, parameter->name, values, bytes, i, values[i] + h);
        double minus = loss_with(graph, loss, parameter->name, values, bytes, i, values[i] - h);
        double difference = fabs(gradient[i] - (plus - minus) / (2 * h)) / fmax(largest, 1e-2);
        ck_assert_msg(difference <= 1e-7, "%s[%lld]: backward says %.12g, differences %.12g", parameter->name,
                      (long long)i, gradient[i], (plus - minus) / (2 * h));
        worst = fmax(worst, difference);
    }
    test_graph_ok(graph, husk_graph_write(graph, parameter->name, values, bytes));
    ck_assert_msg(largest > 0, "%s has a gradient of zeros", parameter->name);
    free(values);
    return worst;
}

double test_whole_gradient(husk_graph *graph, const char *loss, int64_t elements)
{
    test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_TRAINING));
    test_graph_ok(graph, husk_graph_backward(graph));
    size_t count = husk_graph_parameter_count(graph);
    double **gradients = calloc(count, sizeof *gradients), worst = 0;
    husk_parameter parameter = HUSK_PARAMETER();
    for (size_t i = 0; i < count; i++) {
        test_graph_ok(graph, husk_graph_parameter_at(graph, i, &parameter));
        if (parameter.kind != HUSK_PARAMETER_TRAINED)
            continue;
        uint64_t bytes = (uint64_t)husk_tensor_count(&parameter.tensor) * sizeof(double);
        gradients[i] = malloc(bytes);
        test_ok(husk_buffer_read(test_queue(), parameter.gradient.buffer, (uint64_t)parameter.gradient.offset * 8,
                                 bytes, gradients[i]));
    }
    // Dropout's masks count batches: those of the batch whose gradients these are.
    husk_graph_position position = husk_graph_get_position(graph);
    position.batches--;
    test_graph_ok(graph, husk_graph_set_position(graph, position));
    for (size_t i = 0; i < count; i++) {
        test_graph_ok(graph, husk_graph_parameter_at(graph, i, &parameter));
        if (gradients[i])
            worst = fmax(worst, check_parameter(graph, &parameter, gradients[i], loss, elements));
        free(gradients[i]);
    }
    free(gradients);
    return worst;
}
