/* SPDX-License-Identifier: MIT */
/*
 * support/gradient.h: whether a gradient is the gradient, in double and without a device.
 *
 * The way of such a test, for y = f(x, w) and a loss L = sum y * dy:
 *     fill F64 arrays x, w, dy; compute dx and dw with the reference's backward;
 *     test_differences("softmax dx", run, &op, &x, &y, &dy, &dx, seed);   for each input that has a gradient
 */
#ifndef HUSK_TESTS_GRADIENT_H
#define HUSK_TESTS_GRADIENT_H

#include "ref/ref.h"

/* Packed, of HUSK_F64, random in (-scale, scale) for a scale > 0, zeros for 0. Freed by test_array_release. */
husk_ref_array test_array(int32_t rank, const int64_t *shape, uint64_t seed, double scale);
void test_array_release(husk_ref_array *array);
/* sum a * b over all elements. Shapes are the same. */
double test_dot(const husk_ref_array *a, const husk_ref_array *b);

/*
 * Compare `gradient`, which the reference's backward made from output_gradient, with the central differences of
 * L = sum output * output_gradient at up to 64 elements of input: run(user) computes output from input. All are F64.
 * The error of the difference is estimated from a second step of half the size; what the reference says may differ from
 * it by that and 1e-7 of the largest gradient. Fails the test, naming the element; counts it as executed for `name`.
 * Elements where f is not smooth are the caller's to avoid: keep inputs further than 1e-3 from a kink.
 */
void test_differences(const char *name, void (*run)(void *user), void *user, const husk_ref_array *input,
                      const husk_ref_array *output, const husk_ref_array *output_gradient,
                      const husk_ref_array *gradient, uint64_t seed);
/*
 * The adjoint identity of what is linear: <forward, dy> = <x, backward> within 1e-12 of the sum of absolute products.
 */
void test_adjoint(const char *name, const husk_ref_array *output, const husk_ref_array *output_gradient,
                  const husk_ref_array *input, const husk_ref_array *gradient);

#endif
