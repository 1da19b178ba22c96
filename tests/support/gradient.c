// SPDX-License-Identifier: MIT
#include "support/gradient.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "ref/random.h"
#include "support/main.h"

#define MAX_ELEMENTS 64

husk_ref_array test_array(int32_t rank, const int64_t *shape, uint64_t seed, double scale)
{
    husk_ref_array array = husk_ref_array_make(NULL, HUSK_F64, rank, shape);
    int64_t count = husk_ref_array_count(&array);
    array.data = calloc(count > 0 ? (size_t)count : 1, sizeof(double));
    ck_assert_msg(array.data != NULL, "host memory does not suffice");
    husk_ref_random draw = {.seed = seed};
    for (int64_t i = 0; i < count && scale > 0; i++)
        ((double *)array.data)[i] = scale * ((double)husk_ref_random_below(&draw, 2000001) / 1e6 - 1);
    return array;
}

void test_array_release(husk_ref_array *array)
{
    free(array->data);
    array->data = NULL;
}

static double dot(const husk_ref_array *a, const husk_ref_array *b, bool is_absolute)
{
    int64_t index[HUSK_MAX_RANK] = {0};
    double sum = 0;
    if (husk_ref_array_count(a) == 0)
        return 0;
    do {
        double product = husk_ref_load(a, husk_ref_offset(a, index)) * husk_ref_load(b, husk_ref_offset(b, index));
        sum += is_absolute ? fabs(product) : product;
    } while (husk_ref_index_next(a->rank, a->shape, index));
    return sum;
}

double test_dot(const husk_ref_array *a, const husk_ref_array *b)
{
    return dot(a, b, false);
}

typedef struct question {
    void (*run)(void *user);
    void *user;
    const husk_ref_array *input, *output, *output_gradient;
} question;

static double loss_with(const question *q, int64_t offset, double value)
{
    husk_ref_store(q->input, offset, value);
    q->run(q->user);
    return test_dot(q->output, q->output_gradient);
}

static double central_difference(const question *q, int64_t offset, double step)
{
    double value = husk_ref_load(q->input, offset);
    double above = loss_with(q, offset, value + step), below = loss_with(q, offset, value - step);
    husk_ref_store(q->input, offset, value);
    return (above - below) / (2 * step);
}

void test_differences(const char *name, void (*run)(void *user), void *user, const husk_ref_array *input,
                      const husk_ref_array *output, const husk_ref_array *output_gradient,
                      const husk_ref_array *gradient, uint64_t seed)
{
    const question q = {run, user, input, output, output_gradient};
    int64_t count = husk_ref_array_count(input), index[HUSK_MAX_RANK] = {0};
    husk_ref_random draw = {.seed = seed};
    husk_ref_report report = {0};
    double largest = 0;
    ck_assert_msg(count > 0, "%s: there is nothing to differentiate by", name);
    do {
        largest = fmax(largest, fabs(husk_ref_load(gradient, husk_ref_offset(gradient, index))));
    } while (husk_ref_index_next(gradient->rank, gradient->shape, index));
    for (int64_t i = 0; i < count && i < MAX_ELEMENTS; i++) {
        int64_t position = count <= MAX_ELEMENTS ? i : (int64_t)husk_ref_random_below(&draw, count);
        husk_ref_index_of(input->rank, input->shape, position, index);
        int64_t offset = husk_ref_offset(input, index);
        double said = husk_ref_load(gradient, husk_ref_offset(gradient, index));
        // The error of a step is of second order: a quarter for half the step. What is left after removing it is less.
        double whole = central_difference(&q, offset, 2e-4), half = central_difference(&q, offset, 1e-4);
        double better = half + (half - whole) / 3;
        double bound = fabs(half - whole) + 1e-7 * fmax(largest, 1e-3);
        husk_ref_report_add(&report, input->rank, index, better, bound, said);
    }
    q.run(q.user); // the output is as it was
    ck_assert_msg(largest > 0, "%s: a gradient that is zero throughout proves nothing", name);
    test_accept(name, "differences", "finite differences", &report);
}

void test_adjoint(const char *name, const husk_ref_array *output, const husk_ref_array *output_gradient,
                  const husk_ref_array *input, const husk_ref_array *gradient)
{
    const int64_t nowhere[] = {0};
    husk_ref_report report = {0};
    double bound = 1e-12 * (dot(output, output_gradient, true) + dot(input, gradient, true));
    husk_ref_report_add(&report, 1, nowhere, test_dot(output, output_gradient), bound, test_dot(input, gradient));
    test_accept(name, "adjoint", "adjoint identity", &report);
}
