// SPDX-License-Identifier: MIT
#include "ref/projection.h"

#include <math.h>
#include <string.h>

#include "ref/random.h"

// Standard deviations that a projection may be off; see ref/freivalds.h.
#define DEVIATIONS 6.0
// An output's own error times the root of a block's width, which a block of some outputs is at most to have.
#define BLOCK_ERROR 0x1p-6
#define LEAST_WIDTH 16
// Multiply-adds that the elements of one output which are not finite may take.
#define MOST_SPENT 0x1p26

double husk_ref_random_sign(uint64_t seed, int64_t index)
{
    return husk_ref_random_bits(seed, (uint64_t)index) & 1 ? 1.0 : -1.0;
}

// The largest power of two that is no more than |value|; 0 of what is denormal.
static double power_below(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    bits &= UINT64_C(0x7ff0000000000000);
    memcpy(&value, &bits, sizeof(bits));
    return value;
}

void husk_ref_project(husk_ref_projection *projection, const husk_ref_array *array, int64_t start, int64_t stride,
                      int64_t count, const double *signs)
{
    // Half a unit in the last place, or of the smallest number there is: husk_ref_round_bound.
    const double of_one = husk_ref_round_bound(array->dtype, 1.0), least = husk_ref_round_bound(array->dtype, 0.0);
    for (int64_t i = 0; i < count; i++) {
        const double value = husk_ref_load(array, start + i * stride);
        projection->value += signs[i] * value;
        projection->squares += value * value;
        if (of_one > 0.0) {
            const double rounding = fmax(power_below(value) * of_one, least);
            projection->rounding += rounding * rounding;
        }
    }
    projection->count += count;
}

husk_ref_projection husk_ref_project_block(const husk_ref_blocks *blocks, const husk_ref_array *array, int64_t start,
                                           int64_t stride, int64_t block)
{
    husk_ref_projection projection = {0};
    const int64_t first = block * blocks->width, rest = blocks->columns - first;
    husk_ref_project(&projection, array, start + first * stride, stride, rest < blocks->width ? rest : blocks->width,
                     blocks->signs + first);
    return projection;
}

// Of random numbers the sum of `length` products is as their magnitudes' over the root of length.
int64_t husk_ref_projection_width(husk_dtype dtype, double factor, int64_t length, int64_t count, double most)
{
    const double computing = husk_ref_sum_bound(factor, length, 1.0) * sqrt((double)length);
    const double ratio = BLOCK_ERROR / (husk_ref_round_bound(dtype, 1.0) + husk_ref_bound_in(dtype, computing));
    double width = fmax(floor(ratio * ratio), LEAST_WIDTH);
    width = fmax(width, ceil((double)count / fmax(floor(most), 1.0)));
    return width < (double)count ? (int64_t)width : count > 0 ? count : 1;
}

// What it should be, having been compared with what it is.
static double settle_one(husk_ref_elements *elements, const int64_t *index, double actual, husk_ref_report *report)
{
    const husk_ref_array *out = elements->out;
    const husk_ref_value wanted = elements->function.at(elements->function.op, index);
    const double bound = husk_ref_bound_in(out->dtype, wanted.bound);
    const double most = husk_ref_round(out->dtype, wanted.value + copysign(bound, actual));
    // Past the dtype's range where all that it may err by is added.
    husk_ref_report_add(report, out->rank, index, isinf(actual) && most == actual ? actual : wanted.value, bound,
                        actual);
    return wanted.value;
}

void husk_ref_projection_settle(husk_ref_projection *projection, husk_ref_elements *elements, const int64_t *index,
                                const double *signs, double expected, double magnitude, husk_ref_report *report)
{
    const husk_ref_array *out = elements->out;
    if (isfinite(projection->value) || !isfinite(expected) || out->dtype == HUSK_F64 ||
        !isinf(husk_ref_round(out->dtype, magnitude)))
        return;
    husk_ref_projection settled = {0};
    int64_t at[HUSK_MAX_RANK] = {0};
    memcpy(at, index, (size_t)out->rank * sizeof(*at));
    for (int64_t i = 0; i < projection->count; i++) {
        at[elements->dimension] = index[elements->dimension] + i;
        const int64_t offset = husk_ref_offset(out, at);
        const double actual = husk_ref_load(out, offset);
        if (isfinite(actual)) {
            husk_ref_project(&settled, out, offset, 1, 1, signs + i);
            continue;
        }
        if (elements->spent + elements->function.cost > MOST_SPENT)
            return;
        elements->spent += elements->function.cost;
        const double wanted = settle_one(elements, at, actual, report);
        settled.value += signs[i] * wanted;
        settled.squares += wanted * wanted;
        settled.count++;
    }
    *projection = settled;
}

void husk_ref_projection_check(const husk_ref_projection *actual, husk_dtype dtype, double expected, double bound,
                               double magnitude, double length, int32_t rank, const int64_t *index,
                               husk_ref_report *report)
{
    // Past the dtype's range, perhaps by rights, and not settled: the samples judge it.
    if (!isfinite(actual->value) && isinf(husk_ref_round(dtype, magnitude)))
        return;
    const double others = sqrt(fmax(1.0, (double)actual->count)) - 1.0;
    bound += magnitude > 0.0 ? others * length * HUSK_REF_TINY : 0.0;
    // Of f64 computing may err by as little as the sums over a row here do by themselves.
    const double own = dtype == HUSK_F64 ? ldexp(magnitude, -53) * sqrt((double)actual->count) : 0.0;
    const double tolerance = DEVIATIONS * (husk_ref_bound_in(dtype, bound) + own + sqrt(actual->rounding));
    husk_ref_report_add_projection(report, rank, index, expected, tolerance, actual->value);
}
