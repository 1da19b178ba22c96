/* SPDX-License-Identifier: MIT */
/*
 * train/digits.h: the digits of examples/data, and what networks know of them.
 */
#ifndef HUSK_TESTS_DIGITS_H
#define HUSK_TESTS_DIGITS_H

#include <husk/train.h>

enum { DIGITS_CLASSES = 10, DIGITS_SIZE = 8 };

/* 80% of them to learn, by a seed, and the rest. Both are the caller's. */
void test_digits_open(husk_dataset **learnt, husk_dataset **asked);
/* Batches of them, normalised; shuffled and moved about by a pixel from a seed, or, for 0, in order and all of them. */
husk_feed *test_digits_feed(const husk_dataset *dataset, int64_t batch, uint64_t seed);
/* The same in a context that is not the tests'. */
husk_feed *test_digits_feed_in(husk_context *context, const husk_dataset *dataset, int64_t batch, uint64_t seed);

/*
 * Three convolutions of width, width and twice width filters, "conv1" to "conv3", with ReLU and pooling, and two linear
 * layers, "fc1" of four times width and "fc2", with dropout between them. Gives its output "logits" [batch, 10]; labels
 * receives that input, and may be NULL.
 */
husk_value test_digits_network(husk_graph *graph, int64_t batch, int64_t width, husk_value *labels);

/* The next batch into the inputs "images" [batch, 8, 8] and "labels" [batch]; gives its examples. */
int64_t test_digits_next(husk_graph *graph, husk_feed *feed, bool *is_last);
/* So many steps. */
void test_digits_train(husk_graph *graph, husk_feed *feed, int64_t batches);
/* Per cent of the examples whose largest one of the output "logits" [batch, 10] is their label's. */
double test_digits_accuracy(husk_graph *graph, const husk_dataset *dataset, int64_t batch);

#endif
