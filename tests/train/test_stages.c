// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=120 with=whole_gradient
// Graphs that are parts of a network: gradients that come from outside and those that go there; several forwards before
// their backwards. What a whole network computes, two halves of it have to compute to the bit.
#include <stdlib.h>
#include <string.h>

#include "support/support.h"
#include "train/whole_gradient.h"

enum { BATCH = 4, CLASSES = 5, BATCHES = 3, MOST = 4096 };

static const husk_optimizer_params adam = {.size = sizeof(husk_optimizer_params),
                                           .kind = HUSK_OPTIMIZER_ADAM,
                                           .rate = 0.01f,
                                           .beta = 0.9,
                                           .beta2 = 0.999,
                                           .epsilon = 1e-8};

static husk_value build_front(husk_graph *graph, float dropout)
{
    husk_value x = husk_graph_input(graph, "x", HUSK_F32, 4, (int64_t[]){BATCH, 2, 8, 8});
    husk_conv_params same = HUSK_CONV_PARAMS(.pad = {1, 1}, .activation = HUSK_ACT_RELU);
    husk_conv_layer conv = HUSK_CONV_LAYER(.filters = 4, .window = {3, 3}, .params = &same);
    x = husk_graph_conv_layer(graph, "conv1", &conv, x);
    x = husk_graph_pool(graph, "pool1", &HUSK_POOL_PARAMS(.window = {2, 2}), x);
    x = husk_graph_reshape(graph, "flat", x, 2, (int64_t[]){BATCH, 64});
    if (dropout > 0)
        x = husk_graph_dropout(graph, "dropout", &HUSK_DROPOUT_PARAMS(.p = dropout), x);
    return husk_graph_linear(graph, "fc1", &HUSK_LINEAR_LAYER(.outputs = 64, .activation = HUSK_ACT_RELU), x);
}

static husk_value build_back(husk_graph *graph, husk_value x)
{
    husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 1, (int64_t[]){BATCH});
    x = husk_graph_linear(graph, "fc2", &HUSK_LINEAR_LAYER(.outputs = CLASSES), x);
    return husk_graph_loss(graph, "loss", NULL, x, labels, HUSK_NO_VALUE, HUSK_NO_VALUE);
}

static void compile(husk_graph *graph, husk_value loss, uint32_t accumulate, uint32_t micro_batches)
{
    husk_error error = {0};
    husk_graph_options options =
        HUSK_GRAPH_OPTIONS(.loss = loss, .optimizer = &adam, .accumulate = accumulate, .micro_batches = micro_batches);
    test_ok_error(husk_graph_compile(graph, &options, &error), &error);
}

static husk_graph *whole_network(float dropout, uint32_t accumulate, uint32_t micro_batches)
{
    husk_graph *graph = test_graph(HUSK_F32, 7);
    compile(graph, build_back(graph, build_front(graph, dropout)), accumulate, micro_batches);
    return graph;
}

static husk_graph *front_stage(uint32_t micro_batches)
{
    husk_graph *graph = test_graph(HUSK_F32, 7);
    husk_value y = build_front(graph, 0);
    husk_graph_output(graph, "y", y);
    husk_graph_output_gradient(graph, "dy", y);
    compile(graph, HUSK_NO_VALUE, BATCHES, micro_batches);
    return graph;
}

static husk_graph *back_stage(void)
{
    husk_graph *graph = test_graph(HUSK_F32, 7);
    husk_value x = husk_graph_input(graph, "x", HUSK_F32, 2, (int64_t[]){BATCH, 64});
    husk_graph_input_gradient(graph, "dx", x);
    compile(graph, build_back(graph, x), BATCHES, 1);
    return graph;
}

static void write_batch(husk_graph *images, husk_graph *labels, int batch)
{
    if (images)
        test_fill_input(images, "x", 100 + (uint64_t)batch, 0);
    if (labels)
        test_fill_input(labels, "labels", 200 + (uint64_t)batch, CLASSES);
}

static void same_parameter(husk_graph *a, husk_graph *b, const char *name)
{
    static float own[MOST], other[MOST];
    husk_tensor tensor;
    test_graph_ok(a, husk_graph_tensor(a, name, &tensor));
    uint64_t bytes = (uint64_t)husk_tensor_extent(&tensor);
    ck_assert_uint_le(bytes, sizeof own);
    test_graph_ok(a, husk_graph_read(a, name, own, bytes));
    test_graph_ok(b, husk_graph_read(b, name, other, bytes));
    ck_assert_msg(memcmp(own, other, bytes) == 0, "%s differs", name);
}

// Whole, and in halves with the activations and their gradients carried over by the host; `late`: the front makes all
// its forwards before the first of its backwards.
static void compare_halves(bool late)
{
    husk_graph *whole = whole_network(0, BATCHES, 1), *front = front_stage(late ? BATCHES : 1), *back = back_stage();
    float between[BATCH * 64], gradient[BATCH * 64], loss, loss_in_halves;
    for (int step = 0; step < 2; step++) {
        for (int b = 0; b < BATCHES; b++) {
            write_batch(whole, whole, b);
            test_graph_ok(whole, husk_graph_step(whole));
        }
        for (int b = 0; b < BATCHES && late; b++) {
            test_graph_ok(front, husk_graph_micro_batch(front, (uint32_t)b));
            write_batch(front, NULL, b);
            test_graph_ok(front, husk_graph_forward(front, HUSK_GRAPH_TRAINING));
        }
        for (int b = 0; b < BATCHES; b++) {
            if (late)
                test_graph_ok(front, husk_graph_micro_batch(front, (uint32_t)b));
            else {
                write_batch(front, NULL, b);
                test_graph_ok(front, husk_graph_forward(front, HUSK_GRAPH_TRAINING));
            }
            test_graph_ok(front, husk_graph_read(front, "y", between, sizeof between));
            write_batch(NULL, back, b);
            test_graph_ok(back, husk_graph_write(back, "x", between, sizeof between));
            test_graph_ok(back, husk_graph_forward(back, HUSK_GRAPH_TRAINING));
            test_graph_ok(back, husk_graph_backward(back));
            test_graph_ok(back, husk_graph_read(back, "dx", gradient, sizeof gradient));
            test_graph_ok(front, husk_graph_write(front, "dy", gradient, sizeof gradient));
            test_graph_ok(front, husk_graph_backward(front));
        }
        test_graph_ok(front, husk_graph_update(front));
        test_graph_ok(back, husk_graph_update(back));
        test_graph_ok(whole, husk_graph_read(whole, "loss", &loss, sizeof loss));
        test_graph_ok(back, husk_graph_read(back, "loss", &loss_in_halves, sizeof loss));
        ck_assert_msg(memcmp(&loss, &loss_in_halves, sizeof loss) == 0, "step %d: %.9g and %.9g", step, (double)loss,
                      (double)loss_in_halves);
    }
    const char *first[] = {"conv1.weight", "conv1.bias", "fc1.bias"};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        same_parameter(front, whole, first[i]);
    same_parameter(back, whole, "fc2.weight");
    same_parameter(back, whole, "fc2.bias");
    husk_graph_release(whole);
    husk_graph_release(front);
    husk_graph_release(back);
}

START_TEST(halves_compute_what_the_whole_does)
{
    compare_halves(_i);
}
END_TEST

// Dropout's masks, activations and inputs are each micro-batch's own.
START_TEST(forwards_may_precede_all_backwards)
{
    husk_graph *in_turn = whole_network(0.5f, BATCHES, 1), *late = whole_network(0.5f, BATCHES, BATCHES);
    float losses[BATCHES], loss;
    for (int step = 0; step < 2; step++) {
        for (int b = 0; b < BATCHES; b++) {
            write_batch(in_turn, in_turn, b);
            test_graph_ok(in_turn, husk_graph_step(in_turn));
            test_graph_ok(in_turn, husk_graph_read(in_turn, "loss", &losses[b], sizeof loss));
            test_graph_ok(late, husk_graph_micro_batch(late, (uint32_t)b));
            write_batch(late, late, b);
            test_graph_ok(late, husk_graph_forward(late, HUSK_GRAPH_TRAINING));
        }
        for (int b = 0; b < BATCHES; b++) {
            test_graph_ok(late, husk_graph_micro_batch(late, (uint32_t)b));
            test_graph_ok(late, husk_graph_backward(late));
            test_graph_ok(late, husk_graph_read(late, "loss", &loss, sizeof loss));
            ck_assert_msg(memcmp(&loss, &losses[b], sizeof loss) == 0, "step %d, batch %d: %.9g and %.9g", step, b,
                          (double)losses[b], (double)loss);
        }
        ck_assert_int_eq(husk_graph_backward(late), HUSK_INVALID_ARGUMENT);
        test_graph_ok(late, husk_graph_update(late));
    }
    same_parameter(in_turn, late, "conv1.weight");
    same_parameter(in_turn, late, "fc2.weight");
    husk_graph_memory one, three;
    husk_graph_memory_used(in_turn, &one);
    husk_graph_memory_used(late, &three);
    ck_assert_uint_eq(three.arena, BATCHES * one.arena);
    ck_assert_uint_eq(three.inputs, BATCHES * one.inputs);
    ck_assert_uint_eq(three.parameters, one.parameters);
    ck_assert_int_eq(husk_graph_micro_batch(late, BATCHES), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(husk_graph_error(late)->text, "husk_graph_micro_batch: index: 3"));
    husk_graph_release(in_turn);
    husk_graph_release(late);
}
END_TEST

// A gradient that is given adds to the loss' own: with dy = 0 it is the loss' alone, and otherwise their sum.
START_TEST(given_gradients_add_up)
{
    static float own[MOST], with_zero[MOST], with_one[MOST], dx[2][BATCH * 64];
    husk_graph *graph = test_graph(HUSK_F32, 7);
    husk_value x = husk_graph_input(graph, "x", HUSK_F32, 2, (int64_t[]){BATCH, 64});
    husk_graph_input_gradient(graph, "dx", x);
    husk_value hidden = husk_graph_linear(graph, "fc1", &HUSK_LINEAR_LAYER(.outputs = 64), x);
    husk_value dy = husk_graph_output_gradient(graph, "dy", hidden);
    ck_assert_int_ne(dy, HUSK_NO_VALUE);
    compile(graph, build_back(graph, hidden), 1, 1);
    float zeros[BATCH * 64] = {0}, ones[BATCH * 64];
    for (int i = 0; i < BATCH * 64; i++)
        ones[i] = 1;
    husk_parameter weight = HUSK_PARAMETER();
    test_graph_ok(graph, husk_graph_parameter_at(graph, 0, &weight));
    ck_assert_str_eq(weight.name, "fc1.weight");
    for (int pass = 0; pass < 2; pass++) {
        write_batch(graph, graph, 0);
        test_graph_ok(graph, husk_graph_write(graph, "dy", pass ? ones : zeros, sizeof ones));
        test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_TRAINING));
        test_graph_ok(graph, husk_graph_backward(graph));
        test_graph_ok(graph, husk_graph_read(graph, "dx", dx[pass], sizeof dx[pass]));
        test_ok(husk_buffer_read(husk_graph_queue(graph), weight.gradient.buffer, 4 * (uint64_t)weight.gradient.offset,
                                 64 * 64 * sizeof(float), pass ? with_one : with_zero));
        test_graph_ok(graph, husk_graph_set_position(graph, husk_graph_get_position(graph)));
    }
    test_graph_ok(graph, husk_graph_read(graph, "fc1.weight", own, 64 * 64 * sizeof(float)));
    float x_read[BATCH * 64];
    test_graph_ok(graph, husk_graph_read(graph, "x", x_read, sizeof x_read));
    for (int j = 0; j < 64; j++) { // ones add the sum over the outputs to dx, and over the batch to the weights
        double to_x = 0, to_weight = 0;
        for (int o = 0; o < 64; o++)
            to_x += (double)own[o * 64 + j];
        for (int b = 0; b < BATCH; b++)
            to_weight += (double)x_read[b * 64 + j];
        ck_assert_double_eq_tol((double)dx[1][j] - (double)dx[0][j], to_x, 1e-5);
        ck_assert_double_eq_tol((double)with_one[5 * 64 + j] - (double)with_zero[5 * 64 + j], to_weight, 1e-5);
    }
    husk_graph_release(graph);
}
END_TEST

static void refused(husk_graph *graph, const char *text)
{
    ck_assert_msg(strstr(husk_graph_error(graph)->text, text) != NULL, "%s", husk_graph_error(graph)->text);
    husk_graph_release(graph);
}

START_TEST(what_has_no_gradient_is_refused)
{
    husk_error error = {0};
    husk_graph *graph = test_graph(HUSK_F32, 7);
    husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 1, (int64_t[]){BATCH});
    husk_graph_input_gradient(graph, "d", labels);
    refused(graph, "husk_graph_input_gradient: d: input:");

    graph = test_graph(HUSK_F32, 7);
    husk_graph_input_gradient(graph, "d", build_front(graph, 0));
    refused(graph, "husk_graph_input_gradient: d: input: it is no input");

    graph = test_graph(HUSK_F32, 7);
    husk_value x = husk_graph_input(graph, "x", HUSK_F32, 1, (int64_t[]){BATCH});
    husk_graph_input_gradient(graph, "d", x);
    husk_graph_input_gradient(graph, "e", x);
    refused(graph, "husk_graph_input_gradient: e: input: its gradient has the name d already");

    graph = test_graph(HUSK_F32, 7);
    x = husk_graph_input(graph, "x", HUSK_F32, 1, (int64_t[]){BATCH});
    ck_assert_int_eq(husk_graph_output_gradient(graph, "d", x), HUSK_NO_VALUE);
    refused(graph, "husk_graph_output_gradient: d: result: no node computes it");

    graph = test_graph(HUSK_F32, 7);
    husk_value unused = husk_graph_input(graph, "unused", HUSK_F32, 1, (int64_t[]){BATCH});
    husk_graph_input_gradient(graph, "d", unused);
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.loss = build_back(graph, build_front(graph, 0)));
    ck_assert_int_eq(husk_graph_compile(graph, &options, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "does not depend on the input unused"));
    husk_graph_release(graph);

    graph = front_stage(1); // it trains without a loss, and there is none to be looked at
    ck_assert_int_eq(husk_graph_check_finite(graph), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_graph_write(graph, "y", &error, 4), HUSK_INVALID_ARGUMENT);
    husk_graph_release(graph);
    graph = back_stage();
    ck_assert_int_eq(husk_graph_write(graph, "dx", &error, BATCH * 64 * 4), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(husk_graph_error(graph)->text, "dx is computed, and cannot be written"));
    husk_graph_release(graph);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/stages");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, halves_compute_what_the_whole_does, 0, 2);
    tcase_add_test(all, forwards_may_precede_all_backwards);
    tcase_add_test(all, given_gradients_add_up);
    tcase_add_test(all, what_has_no_gradient_is_refused);
    suite_add_tcase(suite, all);
    return test_main(suite);
}
