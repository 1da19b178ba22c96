// SPDX-License-Identifier: MIT
// ctest: tiers=train timeout=290 with=whole_gradient,digits
// A convolutional network learns the digits in bf16 and in f16 as well as in f32: three seeds, each with a network's
// initial values, batches and dropout of its own.
#include <math.h>
#include <stdio.h>

#include "support/support.h"
#include "train/digits.h"
#include "train/whole_gradient.h"

enum { BATCH = 32, EPOCHS = 24, SEEDS = 3 };

static husk_value block(husk_graph *graph, const char *name, int64_t filters, husk_value x)
{
    husk_conv_params same = HUSK_CONV_PARAMS(.pad = {1, 1});
    husk_norm_params batch = husk_norm_defaults(HUSK_NORM_BATCH);
    husk_conv_layer layer = HUSK_CONV_LAYER(.filters = filters, .window = {3, 3}, .params = &same, .no_bias = 1);
    char norm[32];
    snprintf(norm, sizeof norm, "%s_norm", name);
    x = husk_graph_conv_layer(graph, name, &layer, x);
    x = husk_graph_norm_layer(graph, norm, &HUSK_NORM_LAYER(.params = &batch), x);
    return husk_graph_activation(graph, NULL, &HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_RELU), x);
}

// As examples/train_digits.c, half as wide.
static husk_value build(husk_graph *graph)
{
    husk_pool_params halves = HUSK_POOL_PARAMS(.window = {2, 2});
    husk_linear_layer wide = HUSK_LINEAR_LAYER(.outputs = 64, .activation = HUSK_ACT_RELU);
    husk_loss_params smoothed = HUSK_MAKE(husk_loss_params, .label_smoothing = 0.1f, .ignore_index = -100);
    husk_value images = husk_graph_input(graph, "images", HUSK_F32, 3, (int64_t[]){BATCH, 8, 8});
    husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 1, (int64_t[]){BATCH});
    husk_value x = husk_graph_reshape(graph, NULL, images, 4, (int64_t[]){BATCH, 1, 8, 8});
    x = block(graph, "conv1", 24, x);
    x = block(graph, "conv2", 24, x);
    x = husk_graph_pool(graph, NULL, &halves, x);
    x = block(graph, "conv3", 48, x);
    x = husk_graph_pool(graph, NULL, &halves, x);
    x = husk_graph_linear(graph, "fc1", &wide, husk_graph_reshape(graph, NULL, x, 2, (int64_t[]){BATCH, -1}));
    x = husk_graph_dropout(graph, NULL, &HUSK_DROPOUT_PARAMS(.p = 0.4f), x);
    x = husk_graph_linear(graph, "fc2", &HUSK_LINEAR_LAYER(.outputs = DIGITS_CLASSES), x);
    husk_graph_output(graph, "logits", x);
    return husk_graph_loss(graph, "loss", &smoothed, x, labels, HUSK_NO_VALUE, HUSK_NO_VALUE);
}

static double learn(husk_dtype dtype, uint64_t seed, const husk_dataset *learnt, const husk_dataset *asked)
{
    husk_graph *graph = test_graph(dtype, seed);
    husk_optimizer_params adam = husk_adam(2e-3);
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.optimizer = &adam, .loss = build(graph));
    husk_error error = {0};
    test_ok_error(husk_graph_compile(graph, &options, &error), &error);
    husk_graph_memory memory;
    husk_graph_memory_used(graph, &memory);
    husk_feed *feed = test_digits_feed(learnt, BATCH, seed);
    const int64_t batches = EPOCHS * (husk_dataset_count(learnt) / BATCH);
    for (int64_t b = 0; b < batches; b++) {
        const double cosine = 0.5 + 0.5 * cos(3.141592653589793 * (double)b / (double)batches);
        test_graph_ok(graph, husk_graph_set_rate(graph, adam.rate * (float)cosine));
        test_digits_train(graph, feed, 1);
    }
    const double accuracy = test_digits_accuracy(graph, asked, BATCH);
    husk_loss_scale scale = HUSK_LOSS_SCALE();
    test_graph_ok(graph, husk_graph_get_loss_scale(graph, &scale));
    printf("%s, seed %d: %.2f%%, arena %llu bytes, loss scale %g, %d of %d updates skipped\n", husk_dtype_name(dtype),
           (int)seed, accuracy, (unsigned long long)memory.arena, (double)scale.scale, (int)scale.skipped,
           (int)batches);
    husk_feed_release(feed);
    husk_graph_release(graph);
    return accuracy;
}

START_TEST(digits_are_known_as_well)
{
    static const husk_dtype dtypes[] = {HUSK_F32, HUSK_BF16, HUSK_F16};
    husk_dataset *learnt, *asked;
    double mean[3] = {0};
    test_digits_open(&learnt, &asked);
    for (int d = 0; d < 3; d++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++)
            mean[d] += learn(dtypes[d], seed, learnt, asked) / SEEDS;
    printf("of %d seeds: f32 %.2f%%, bf16 %.2f%%, f16 %.2f%%\n", SEEDS, mean[0], mean[1], mean[2]);
    for (int d = 0; d < 3; d++)
        ck_assert_msg(mean[d] >= 98 && mean[d] >= mean[0] - 0.3, "%s: %g%%, f32 %g%%", husk_dtype_name(dtypes[d]),
                      mean[d], mean[0]);
    husk_dataset_release(learnt);
    husk_dataset_release(asked);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mixed_digits");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, digits_are_known_as_well);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
