// SPDX-License-Identifier: MIT
// ctest: tiers=default,train timeout=120 with=whole_gradient,digits
// Distillation: the loss and its gradient, what is refused, and a small student of the digits with a teacher and
// without.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/device.h"
#include "support/main.h"
#include "train/digits.h"
#include "train/whole_gradient.h"

enum { BATCH = 32 };

static husk_error error;

// ---- the loss ----

enum { ROWS = 6, CLASSES = 5, INPUTS = 7 };

static void log_softmax(const double *x, double temperature, double *y)
{
    double sum = 0;
    for (int c = 0; c < CLASSES; c++)
        sum += exp(x[c] / temperature);
    for (int c = 0; c < CLASSES; c++)
        y[c] = x[c] / temperature - log(sum);
}

static double wanted_loss(const double *x, const double *teacher, const int32_t *labels, double temperature,
                          double weight)
{
    double soft = 0, hard = 0, q[CLASSES], p[CLASSES];
    for (int row = 0; row < ROWS; row++) {
        log_softmax(x + row * CLASSES, temperature, q);
        log_softmax(teacher + row * CLASSES, temperature, p);
        for (int c = 0; c < CLASSES; c++)
            soft += exp(p[c]) * (p[c] - q[c]) / ROWS;
        log_softmax(x + row * CLASSES, 1, q);
        hard -= q[labels[row]] / ROWS;
    }
    return weight * temperature * temperature * soft + (1 - weight) * hard;
}

static void read_doubles(husk_graph *graph, const char *name, double numbers[ROWS * CLASSES])
{
    husk_tensor tensor;
    float narrow[ROWS * CLASSES];
    test_graph_ok(graph, husk_graph_tensor(graph, name, &tensor));
    if (tensor.dtype == HUSK_F64)
        test_graph_ok(graph, husk_graph_read(graph, name, numbers, sizeof narrow * 2));
    else {
        test_graph_ok(graph, husk_graph_read(graph, name, narrow, sizeof narrow));
        for (int i = 0; i < ROWS * CLASSES; i++)
            numbers[i] = (double)narrow[i];
    }
}

static void check_loss(husk_dtype dtype, husk_distillation_params params, bool has_labels, double temperature,
                       double weight)
{
    husk_graph *graph = test_graph(dtype, 3);
    husk_value x = husk_graph_input(graph, "x", dtype, 2, (int64_t[]){ROWS, INPUTS});
    husk_value teacher = husk_graph_input(graph, "teacher", dtype, 2, (int64_t[]){ROWS, CLASSES});
    husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 1, (int64_t[]){ROWS});
    x = husk_graph_linear(graph, "fc", &HUSK_LINEAR_LAYER(.outputs = CLASSES), x);
    husk_graph_output(graph, "logits", x);
    husk_value loss = husk_graph_distillation(graph, "loss", &params, x, teacher, has_labels ? labels : HUSK_NO_VALUE);
    test_ok_error(husk_graph_compile(graph, &HUSK_GRAPH_OPTIONS(.loss = loss), &error), &error);
    test_fill_input(graph, "x", 1, 0);
    test_fill_input(graph, "teacher", 2, 0);
    test_fill_input(graph, "labels", 3, CLASSES);
    double logits[ROWS * CLASSES], given[ROWS * CLASSES];
    int32_t right[ROWS];
    test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_TRAINING));
    read_doubles(graph, "logits", logits);
    read_doubles(graph, "teacher", given);
    test_graph_ok(graph, husk_graph_read(graph, "labels", right, sizeof right));
    const double found = test_read_loss(graph, "loss"), wanted = wanted_loss(logits, given, right, temperature, weight);
    // In f64 the factors are f32 still, 2^-24 of each part; in f32 two logarithms of softmax err by 1.2e-6 each, times
    // the temperature's square.
    const double bound = dtype == HUSK_F64 ? 2e-7 : 2.4e-6 * temperature * temperature;
    ck_assert_msg(fabs(found - wanted) <= bound * (1 + fabs(wanted)), "temperature %g: %.12g, by the formula %.12g",
                  temperature, found, wanted);
    if (dtype == HUSK_F64)
        test_whole_gradient(graph, "loss", CLASSES * INPUTS);
    husk_graph_release(graph);
}

// The gradient in the tier train, where programs of f64 are built.
START_TEST(loss_and_gradient_are_the_formula)
{
    const bool is_f64 = test_tier_is("train") && husk_context_has(test_context(), HUSK_FEATURE_F64);
    const husk_dtype dtype = is_f64 ? HUSK_F64 : HUSK_F32;
    check_loss(dtype, HUSK_MAKE(husk_distillation_params, .temperature = 3, .weight = 0.6f), true, 3, 0.6);
    check_loss(dtype, HUSK_MAKE(husk_distillation_params, .temperature = 4, .weight = 0.9f), true, 4, 0.9);
    check_loss(dtype, HUSK_MAKE(husk_distillation_params, .temperature = 1, .weight = 0.9f), false, 1, 1);
    check_loss(dtype, HUSK_MAKE(husk_distillation_params, .temperature = 2, .weight = 0.5f), false, 2, 1);
}
END_TEST

START_TEST(wrong_calls_are_refused)
{
    static const struct {
        husk_distillation_params params;
        int64_t classes;
        const char *words;
    } wrong[] = {
        {{.size = 100}, 10, "params"},
        {HUSK_MAKE(husk_distillation_params, .temperature = -1, .weight = 0.9f), 10,
         "params: temperature is -1; it has to be above 0"},
        {HUSK_MAKE(husk_distillation_params, .temperature = INFINITY, .weight = 0.9f), 10,
         "params: temperature is inf"},
        {HUSK_MAKE(husk_distillation_params, .weight = 1.5f, .temperature = 4), 10,
         "params: weight is 1.5; it has to be 0 to 1"},
        {HUSK_MAKE(husk_distillation_params, .weight = -0.5f, .temperature = 4), 10, "params: weight is -0.5"},
        {HUSK_MAKE(husk_distillation_params, .temperature = 4, .weight = 0.9f), 9,
         "teacher: its shape is [4, 9], x's is [4, 10]"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        husk_graph *graph = test_graph(HUSK_F32, 1);
        husk_value x = husk_graph_input(graph, "x", HUSK_F32, 2, (int64_t[]){4, 10});
        husk_value teacher = husk_graph_input(graph, "teacher", HUSK_F32, 2, (int64_t[]){4, wrong[i].classes});
        ck_assert_int_eq(husk_graph_distillation(graph, "loss", &wrong[i].params, x, teacher, HUSK_NO_VALUE),
                         HUSK_NO_VALUE);
        const char *text = husk_graph_error(graph)->text;
        ck_assert_msg(strncmp(text, "husk_graph_distillation: loss: ", 31) == 0 && strstr(text, wrong[i].words), "%s",
                      text);
        husk_graph_release(graph);
    }
    husk_graph *graph = test_graph(HUSK_F32, 1);
    husk_value scalar = husk_graph_input(graph, "s", HUSK_F32, 0, NULL);
    ck_assert_int_eq(husk_graph_distillation(graph, "loss", NULL, scalar, scalar, HUSK_NO_VALUE), HUSK_NO_VALUE);
    ck_assert(strstr(husk_graph_error(graph)->text, "x: it is a scalar"));
    husk_graph_release(graph);
}
END_TEST

// ---- the digits ----

// A layer of 32 units between the pixels and the logits, which learns from the labels, or from a teacher, too.
static husk_graph *student(uint64_t seed, bool is_distilled)
{
    husk_graph *graph = test_graph(HUSK_F32, seed);
    husk_value x = husk_graph_input(graph, "images", HUSK_F32, 3, (int64_t[]){BATCH, DIGITS_SIZE, DIGITS_SIZE});
    husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 1, (int64_t[]){BATCH});
    husk_value teacher = husk_graph_input(graph, "teacher", HUSK_F32, 2, (int64_t[]){BATCH, DIGITS_CLASSES});
    husk_linear_layer few = HUSK_LINEAR_LAYER(.outputs = 32, .activation = HUSK_ACT_RELU);
    x = husk_graph_reshape(graph, NULL, x, 2, (int64_t[]){BATCH, -1});
    x = husk_graph_linear(graph, "fc1", &few, x);
    x = husk_graph_linear(graph, "fc2", &HUSK_LINEAR_LAYER(.outputs = DIGITS_CLASSES), x);
    husk_graph_output(graph, "logits", x);
    husk_optimizer_params adam = husk_adam(3e-3);
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.optimizer = &adam);
    options.loss = is_distilled ? husk_graph_distillation(graph, "loss", NULL, x, teacher, labels)
                                : husk_graph_loss(graph, "loss", NULL, x, labels, HUSK_NO_VALUE, HUSK_NO_VALUE);
    test_ok_error(husk_graph_compile(graph, &options, &error), &error);
    return graph;
}

// The teacher's answers to the student's images, then a step of the student.
static void learn_from(husk_graph *teacher, husk_graph *graph, husk_feed *feed, int64_t batches)
{
    husk_tensor images, logits;
    test_graph_ok(graph, husk_graph_tensor(graph, "images", &images));
    test_graph_ok(teacher, husk_graph_tensor(teacher, "logits", &logits));
    for (int64_t b = 0; b < batches; b++) {
        test_digits_next(graph, feed, NULL);
        test_graph_ok(teacher, husk_graph_write_tensor(teacher, "images", &images));
        test_graph_ok(teacher, husk_graph_forward(teacher, HUSK_GRAPH_EVALUATION));
        test_graph_ok(graph, husk_graph_write_tensor(graph, "teacher", &logits));
        test_graph_ok(graph, husk_graph_step(graph));
    }
}

// Per cent of the digits, after so many batches of a few labelled images.
static double taught(husk_graph *teacher, const husk_dataset *few, const husk_dataset *asked, uint64_t seed,
                     int64_t batches)
{
    husk_graph *graph = student(seed, teacher != NULL);
    husk_feed *feed = test_digits_feed(few, BATCH, seed);
    if (teacher)
        learn_from(teacher, graph, feed, batches);
    else
        test_digits_train(graph, feed, batches);
    const double known = test_digits_accuracy(graph, asked, BATCH);
    husk_feed_release(feed);
    husk_graph_release(graph);
    return known;
}

// With the labels of 192 images; a larger teacher, longer and five seeds in the tier train.
START_TEST(a_distilled_student_knows_more)
{
    const bool is_whole = test_tier_is("train");
    husk_dataset *learnt, *asked, *few;
    test_digits_open(&learnt, &asked);
    test_ok_error(husk_dataset_part(learnt, 0, 192, &few, &error), &error);
    husk_optimizer_params adam = husk_adam(is_whole ? 1e-3f : 4e-3f);
    husk_graph *teacher = test_graph(HUSK_F32, 1);
    husk_value labels, logits = test_digits_network(teacher, BATCH, is_whole ? 32 : 12, &labels);
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.optimizer = &adam);
    options.loss = husk_graph_loss(teacher, "loss", NULL, logits, labels, HUSK_NO_VALUE, HUSK_NO_VALUE);
    test_ok_error(husk_graph_compile(teacher, &options, &error), &error);
    husk_feed *feed = test_digits_feed(learnt, BATCH, 1);
    test_digits_train(teacher, feed, (is_whole ? 30 : 8) * husk_feed_batches(feed));
    husk_feed_release(feed);
    const double most = test_digits_accuracy(teacher, asked, BATCH);
    for (uint64_t seed = 1; seed <= (is_whole ? 5 : 1); seed++) {
        const int64_t batches = is_whole ? 2500 : 1000;
        const double alone = taught(NULL, few, asked, seed, batches);
        const double distilled = taught(teacher, few, asked, seed, batches);
        printf("digits: a student of 32 units alone %.2f%%, of a teacher that knows %.2f%%: %.2f%%\n", alone, most,
               distilled);
        ck_assert_msg(distilled > alone + 1, "%g, and alone %g", distilled, alone);
    }
    husk_graph_release(teacher);
    husk_dataset_release(few);
    husk_dataset_release(learnt);
    husk_dataset_release(asked);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("distill");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, loss_and_gradient_are_the_formula);
    tcase_add_test(tests, wrong_calls_are_refused);
    tcase_add_test(tests, a_distilled_student_knows_more);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
