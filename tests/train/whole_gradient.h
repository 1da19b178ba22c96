/* SPDX-License-Identifier: MIT */
/*
 * train/whole_gradient.h: the gradients of a whole network in f64 against central differences of its loss.
 */
#ifndef HUSK_TESTS_WHOLE_GRADIENT_H
#define HUSK_TESTS_WHOLE_GRADIENT_H

#include <husk/train.h>

/* A graph on the tests' device and queue. */
husk_graph *test_graph(husk_dtype dtype, uint64_t seed);
/* Fail the test with the text unless the status is HUSK_OK. */
void test_graph_ok(husk_graph *graph, husk_status status);
/* Write an input: random numbers in (-1, 1), or whole ones below `below`. */
void test_fill_input(husk_graph *graph, const char *name, uint64_t seed, int32_t below);
/* The loss, read. */
double test_read_loss(husk_graph *graph, const char *name);

/*
 * Of each trained parameter `elements` elements, spread evenly: the gradient that backward gives against
 * (loss(w + h) - loss(w - h)) / 2h. Returns the largest difference, relative to the gradient's largest element.
 *
 * With h = 2^-17 (7.6e-6) a loss of size 1 brings rounding errors of some 1e-15 / h = 1e-10, and truncation h^2 / 6 =
 * 1e-11 times the third derivative. The tolerance is 1e-7 of the largest element of the same gradient, or of 1e-2 where
 * that is less: wrong gradients are off by more than a thousandth.
 */
double test_whole_gradient(husk_graph *graph, const char *loss, int64_t elements);

#endif
