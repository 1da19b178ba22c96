// SPDX-License-Identifier: MIT
// The lesson docs/first-network.md: a network learns which points lie in a circle, is saved, loaded again, and asked.
//     first_network [FILE]
#include <stdio.h>
#include <stdlib.h>

#include <husk/train.h>

enum { SIDE = 16, POINTS = SIDE * SIDE, HIDDEN = 32, CLASSES = 2, MOST_STEPS = 1000 };

static husk_error error;

static void check(husk_status status, const husk_error *of)
{
    if (status) {
        fprintf(stderr, "%s\n", of->text);
        exit(1);
    }
}

// Points on a grid of the square from -1 to 1. The class is 1 inside a circle around the middle.
static void make_data(float *points, int32_t *classes)
{
    for (int i = 0; i < POINTS; i++) {
        const float x = -1 + 2 * (float)(i % SIDE) / (SIDE - 1), y = -1 + 2 * (float)(i / SIDE) / (SIDE - 1);
        points[2 * i] = x;
        points[2 * i + 1] = y;
        classes[i] = x * x + y * y < 0.5f;
    }
}

// Two layers. The result has a score for each class; the larger one wins.
static husk_value build(husk_graph *graph, int64_t rows)
{
    husk_value points = husk_graph_input(graph, "points", HUSK_F32, 2, (int64_t[]){rows, 2});
    husk_linear_layer wide = HUSK_LINEAR_LAYER(.outputs = HIDDEN, .activation = HUSK_ACT_TANH);
    husk_linear_layer last = HUSK_LINEAR_LAYER(.outputs = CLASSES);
    husk_value hidden = husk_graph_linear(graph, "hidden", &wide, points);
    return husk_graph_linear(graph, "last", &last, hidden);
}

static void train(husk_context *context, const char *path)
{
    float points[2 * POINTS], loss = 1;
    int32_t classes[POINTS];
    make_data(points, classes);

    husk_graph *graph;
    check(husk_graph_create(context, &HUSK_GRAPH_PARAMS(.seed = 1), &graph, &error), &error);
    husk_value scores = build(graph, POINTS);
    husk_value labels = husk_graph_input(graph, "classes", HUSK_I32, 1, (int64_t[]){POINTS});
    husk_loss_params entropy = husk_loss_defaults(HUSK_LOSS_CROSS_ENTROPY);
    husk_optimizer_params adam = husk_adam(0.05);
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.optimizer = &adam);
    options.loss = husk_graph_loss(graph, "loss", &entropy, scores, labels, HUSK_NO_VALUE, HUSK_NO_VALUE);
    check(husk_graph_compile(graph, &options, &error), &error);

    check(husk_graph_write(graph, "points", points, sizeof points), husk_graph_error(graph));
    check(husk_graph_write(graph, "classes", classes, sizeof classes), husk_graph_error(graph));
    int step = 0;
    while (loss > 0.05f && step < MOST_STEPS) {
        check(husk_graph_step(graph), husk_graph_error(graph));
        if (step++ % 10 == 0) {
            check(husk_graph_read(graph, "loss", &loss, sizeof loss), husk_graph_error(graph)); // waits
        }
    }
    printf("after %d steps the loss is %.3f\n", step, (double)loss);
    check(husk_graph_save(graph, path, NULL, &error), &error);
    husk_graph_release(graph);
}

static void predict(husk_context *context, const char *path)
{
    const float points[3][2] = {{0, 0}, {0.4f, -0.3f}, {0.9f, 0.8f}};
    float chances[3][CLASSES];

    husk_graph *graph;
    check(husk_graph_create(context, NULL, &graph, &error), &error);
    husk_softmax_params params = husk_softmax_defaults();
    husk_value scores = build(graph, 3);
    husk_graph_output(graph, "chances", husk_graph_softmax(graph, "softmax", &params, scores));
    check(husk_graph_compile(graph, NULL, &error), &error); // no loss: nothing is learnt

    husk_safetensors *file;
    check(husk_safetensors_open(path, NULL, &file, &error), &error);
    check(husk_graph_load(graph, file, &HUSK_LOAD_PARAMS(.mode = HUSK_LOAD_WEIGHTS), NULL, &error), &error);
    husk_safetensors_close(file);

    check(husk_graph_write(graph, "points", points, sizeof points), husk_graph_error(graph));
    check(husk_graph_forward(graph, HUSK_GRAPH_EVALUATION), husk_graph_error(graph));
    check(husk_graph_read(graph, "chances", chances, sizeof chances), husk_graph_error(graph));
    for (int i = 0; i < 3; i++) {
        printf("(%.1f, %.1f) is %s the circle: %.2f\n", (double)points[i][0], (double)points[i][1],
               chances[i][1] > 0.5f ? "inside" : "outside", (double)chances[i][1]);
    }
    husk_graph_release(graph);
}

int main(int count, char **arguments)
{
    const char *path = count > 1 ? arguments[1] : "circle.safetensors";
    husk_context *context;
    check(husk_context_create(NULL, NULL, &context, &error), &error);
    train(context, path);
    predict(context, path);
    husk_context_release(context);
    return 0;
}
