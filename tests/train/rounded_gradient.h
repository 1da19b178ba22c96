/* SPDX-License-Identifier: MIT */
/*
 * train/rounded_gradient.h: the gradients of a network in f16 or bf16 against those of the same network in f64 or f32.
 *
 * How far they may be apart follows from the network: to first order the difference is a sum over all roundings, of
 * what is stored between operators forward and backward and of the parameters' copies, each at most u of what it rounds
 * (f16: u = 2^-11, bf16: 2^-8) times how much the gradient depends on that. The wide network is asked for it: with
 * every such value multiplied by 1 + u r, r random in (-1, 1), its gradients change by what roundings of that size
 * change them by (stochastic arithmetic; Vignes, Mathematics and Computers in Simulation 35, 1993).
 *
 * A gradient's error is the Euclidean norm of the difference, and D the root mean square of it over TEST_SAMPLES such
 * draws. 4 D is allowed: a factor of sqrt 2, since a value's gradient may be rounded twice (as it is stored, and where
 * it is added up) where a draw has one factor, and the rest for what one case may be off from the mean. A term that is
 * left out or counted twice is off by a hundred D.
 */
#ifndef HUSK_TESTS_ROUNDED_GRADIENT_H
#define HUSK_TESTS_ROUNDED_GRADIENT_H

#include <stdbool.h>

#include <husk/train.h>

enum { TEST_SAMPLES = 8 };

/* x; where the graph perturbs, times an input of random factors that the comparison fills. */
husk_value test_rounded(husk_graph *graph, bool perturbs, husk_value x);

typedef struct test_rounded_network {
    husk_value (*build)(husk_graph *graph, bool perturbs); /* gives the loss; no dropout */
    void (*fill)(husk_graph *graph);                       /* the inputs */
} test_rounded_network;

/* Compare the gradients of all parameters; gives the largest error as a share of 4 D. */
double test_rounded_gradient(const test_rounded_network *network, husk_dtype dtype, husk_dtype wide);

#endif
