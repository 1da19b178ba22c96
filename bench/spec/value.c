// SPDX-License-Identifier: MIT
#include "spec/value.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

// The power of 2 that the number is a multiple of.
int bench_grain_of(double value)
{
    if (value == 0)
        return BENCH_ANY_GRAIN;
    if (!isfinite(value))
        return BENCH_NO_GRAIN;
    int exponent = 0;
    const uint64_t bits = (uint64_t)(frexp(fabs(value), &exponent) * 0x1p53);
#if defined(__GNUC__)
    return exponent - 53 + __builtin_ctzll(bits);
#else
    int zeros = 0;
    while (!(bits >> zeros & 1))
        zeros++;
    return exponent - 53 + zeros;
#endif
}

bench_value bench_value_exactly(double value)
{
    return (bench_value){.value = value, .magnitude = fabs(value), .grain = bench_grain_of(value)};
}

// Whether numbers whose absolute values add up to the magnitude, all multiples of 2^grain, are exact in any order.
bool bench_value_is_exact(const bench_rounding *r, double magnitude, int grain)
{
    if (r->unit == 0)
        return true;
    return grain > BENCH_NO_GRAIN && magnitude <= ldexp(1, r->precision + (grain > 2000 ? 2000 : grain)) &&
           (magnitude == 0 || grain >= BENCH_ANY_GRAIN || ldexp(1, grain) >= r->smallest);
}

// What rounding costs in an operation whose value is off by error already.
double bench_rounding_cost(const bench_rounding *r, double magnitude, double units)
{
    return units * r->unit * magnitude + r->smallest;
}

bench_value bench_value_rounded(const bench_rounding *r, bench_value value, double units)
{
    if (r->unit > 0 && units > 0)
        value.error += bench_rounding_cost(r, fabs(value.value) + value.error, units);
    value.magnitude = fabs(value.value);
    value.grain = BENCH_NO_GRAIN;
    return value;
}

static int finer(int a, int b)
{
    return a < b ? a : b;
}

bench_value bench_value_add(const bench_rounding *r, const bench_value *a, const bench_value *b, double sign)
{
    bench_value sum = {.value = a->value + sign * b->value,
                       .error = a->error + b->error,
                       .magnitude = a->magnitude + b->magnitude,
                       .grain = finer(a->grain, b->grain)};
    if (sum.error > 0 || !bench_value_is_exact(r, sum.magnitude, sum.grain))
        sum.error += bench_rounding_cost(r, sum.magnitude + sum.error, 1);
    return sum;
}

// Infinity times zero errors is no number.
static double times(double a, double b)
{
    return a == 0 || b == 0 ? 0 : a * b;
}

// Of many factors it stays a grain: neither "none" nor "any", nor past what an int holds.
static int grain_of_product(int a, int b)
{
    if (a <= BENCH_NO_GRAIN || b <= BENCH_NO_GRAIN)
        return BENCH_NO_GRAIN;
    if (a >= BENCH_ANY_GRAIN || b >= BENCH_ANY_GRAIN)
        return BENCH_ANY_GRAIN;
    return a + b < BENCH_ANY_GRAIN ? a + b : BENCH_ANY_GRAIN - 1;
}

bench_value bench_value_multiply(const bench_rounding *r, const bench_value *a, const bench_value *b)
{
    bench_value product = {.value = a->value * b->value,
                           .error = times(fabs(a->value), b->error) + times(fabs(b->value), a->error) +
                                    times(a->error, b->error),
                           .magnitude = times(a->magnitude, b->magnitude)};
    product.grain = grain_of_product(a->grain, b->grain);
    if (product.error > 0 || !bench_value_is_exact(r, product.magnitude, product.grain)) {
        product.error += bench_rounding_cost(r, fabs(product.value) + product.error, 1);
        product.grain = BENCH_NO_GRAIN;
    }
    return product;
}

bench_value bench_value_divide(const bench_rounding *r, const bench_value *a, const bench_value *b)
{
    const double value = a->value / b->value;
    const double nearest = fabs(b->value) - b->error; // of what the divisor may be, to zero
    bench_value result = {.value = value};
    if (a->error > 0 || b->error > 0)
        result.error = nearest > 0 ? (a->error + times(fabs(value), b->error)) / nearest : INFINITY;
    // x / 2^k is exact, where it is no denormal.
    int exponent = 0;
    const bool is_shift = fabs(frexp(b->value, &exponent)) == 0.5 && b->error == 0 && a->error == 0;
    if (is_shift && bench_value_is_exact(r, fabs(value), bench_grain_of(value)))
        return bench_value_exactly(value);
    return bench_value_rounded(r, result, r->is_double ? 0.5 * 2 : 2.5 * 2);
}

// -1: for all that a and b may be it is false; 1: true; 0: errors decide.
static int surely_less(const bench_value *a, const bench_value *b, bool or_equal)
{
    const double error = a->error + b->error, difference = b->value - a->value;
    if (error == 0 || isnan(difference))
        return (or_equal ? a->value <= b->value : a->value < b->value) ? 1 : -1;
    return difference > error ? 1 : difference < -error ? -1 : 0;
}

static int surely_equal(const bench_value *a, const bench_value *b)
{
    const double error = a->error + b->error;
    if (error == 0)
        return a->value == b->value ? 1 : -1;
    return fabs(a->value - b->value) > error ? -1 : 0;
}

bench_value bench_value_truth(int sure, bool value)
{
    bench_value result = bench_value_exactly(sure ? sure > 0 : value);
    if (!sure)
        result.error = 1;
    return result;
}

bench_value bench_value_compare(bench_operation operation, const bench_value *a, const bench_value *b)
{
    switch (operation) {
    case BENCH_LESS:
        return bench_value_truth(surely_less(a, b, false), a->value < b->value);
    case BENCH_LESS_EQUAL:
        return bench_value_truth(surely_less(a, b, true), a->value <= b->value);
    case BENCH_GREATER:
        return bench_value_truth(surely_less(b, a, false), a->value > b->value);
    case BENCH_GREATER_EQUAL:
        return bench_value_truth(surely_less(b, a, true), a->value >= b->value);
    case BENCH_EQUAL:
        return bench_value_truth(surely_equal(a, b), a->value == b->value);
    default:
        return bench_value_truth(-surely_equal(a, b), a->value != b->value);
    }
}

// -1: surely zero; 1: surely not; 0: errors decide.
int bench_surely_true(const bench_value *value)
{
    if (value->error == 0)
        return value->value != 0 ? 1 : -1;
    return fabs(value->value) > value->error ? 1 : 0;
}
