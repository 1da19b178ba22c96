// SPDX-License-Identifier: MIT
// An external C program that learns y = 3 x - 1 from four points.
#include <stdio.h>

#include <husk/train.h>

int main(void)
{
    const float x[4] = {-1, 0, 1, 2}, y[4] = {-4, -1, 2, 5};
    float weight = 0, bias = 0;
    husk_error error = {HUSK_OK, 0, ""};
    husk_context *context = NULL;
    husk_graph *graph = NULL;
    husk_optimizer_params sgd = husk_sgd(0.2);
    husk_loss_params square = husk_loss_defaults(HUSK_LOSS_MEAN_SQUARE);
    husk_linear_layer layer = HUSK_LINEAR_LAYER(.outputs = 1);
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.optimizer = &sgd);
    const int64_t shape[2] = {4, 1};
    if (husk_context_create(NULL, NULL, &context, &error) || husk_graph_create(context, NULL, &graph, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    husk_value in = husk_graph_input(graph, "x", HUSK_F32, 2, shape);
    husk_value out = husk_graph_linear(graph, "line", &layer, in);
    options.loss = husk_graph_loss(graph, "loss", &square, out, husk_graph_input(graph, "y", HUSK_F32, 2, shape), 0, 0);
    int failed = husk_graph_compile(graph, &options, &error) || husk_graph_write(graph, "x", x, sizeof x) ||
                 husk_graph_write(graph, "y", y, sizeof y);
    for (int step = 0; step < 100 && !failed; step++) {
        failed = husk_graph_step(graph) != HUSK_OK;
    }
    if (failed || husk_graph_read(graph, "line.weight", &weight, sizeof weight) ||
        husk_graph_read(graph, "line.bias", &bias, sizeof bias)) {
        fprintf(stderr, "%s\n", error.status ? error.text : husk_graph_error(graph)->text);
        failed = 1;
    }
    printf("husk %s: y = %.3f x + %.3f\n", husk_version(), (double)weight, (double)bias);
    husk_graph_release(graph);
    husk_context_release(context);
    return failed || weight < 2.999f || weight > 3.001f || bias < -1.001f || bias > -0.999f;
}
