// SPDX-License-Identifier: MIT
#include "ref/check.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ref/random.h"

#define RANDOM_SAMPLES 2048
#define TILES          64
#define TILE_POINTS    16 // four corners, the four just outside them, and two on each edge
#define MAX_SAMPLES    (RANDOM_SAMPLES + TILES * TILE_POINTS + (1 << HUSK_MAX_RANK))

// Tiles that kernels like to use; which one this output was made with is not known here.
static const int64_t tile_extents[] = {4, 6, 8, 12, 14, 16, 32, 64, 128};

static int64_t clamp(int64_t value, int64_t limit)
{
    return value < 0 ? 0 : (value >= limit ? limit - 1 : value);
}

static int64_t sample_random(int64_t outputs, husk_ref_random *random, int64_t *positions)
{
    for (int64_t i = 0; i < RANDOM_SAMPLES; i++)
        positions[i] = husk_ref_random_below(random, outputs);
    return RANDOM_SAMPLES;
}

static int64_t sample_corners(const husk_ref_function *function, int64_t *positions)
{
    int64_t corners = (int64_t)1 << function->rank;
    for (int64_t corner = 0; corner < corners; corner++) {
        int64_t index[HUSK_MAX_RANK];
        for (int32_t d = 0; d < function->rank; d++)
            index[d] = corner >> d & 1 ? function->shape[d] - 1 : 0;
        positions[corner] = husk_ref_position_of(function->rank, function->shape, index);
    }
    return corners;
}

// Both sides of the edges of one tile in the plane of the last two dimensions, anywhere in the others. The
// last tiles of a row or column, which are often incomplete, are drawn as often as all others together.
static int64_t sample_tile(const husk_ref_function *function, husk_ref_random *random, int64_t *positions)
{
    int32_t rank = function->rank;
    int64_t index[HUSK_MAX_RANK] = {0}, first[2] = {0, 0}, last[2] = {0, 0};
    for (int32_t d = 0; d < rank; d++)
        index[d] = husk_ref_random_below(random, function->shape[d]);
    for (int32_t d = rank >= 2 ? 0 : 1; d < 2; d++) {
        int64_t extent = function->shape[rank - 2 + d];
        int64_t menu = (int64_t)(sizeof(tile_extents) / sizeof(tile_extents[0]));
        int64_t tile = tile_extents[husk_ref_random_below(random, menu)];
        int64_t tiles = (extent + tile - 1) / tile;
        bool at_end = husk_ref_random_below(random, 2) == 0;
        first[d] = (at_end ? tiles - 1 : husk_ref_random_below(random, tiles)) * tile;
        last[d] = clamp(first[d] + tile - 1, extent);
    }
    for (int64_t point = 0; point < TILE_POINTS; point++) {
        int64_t outside = point >= 4 && point < 8 ? 1 : 0;
        for (int32_t d = rank >= 2 ? 0 : 1; d < 2; d++) {
            int64_t extent = function->shape[rank - 2 + d];
            int64_t edge = point >> d & 1 ? last[d] + outside : first[d] - outside;
            bool inside_edge = point >= 8 && (point >> 2 & 1) == d; // anywhere along this edge
            if (inside_edge)
                edge = first[d] + husk_ref_random_below(random, last[d] - first[d] + 1);
            index[rank - 2 + d] = clamp(edge, extent);
        }
        positions[point] = husk_ref_position_of(rank, function->shape, index);
    }
    return TILE_POINTS;
}

static int compare_positions(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static bool choose_samples(const husk_ref_function *function, int64_t outputs, uint64_t seed,
                           husk_ref_expected *expected)
{
    expected->positions = malloc(MAX_SAMPLES * sizeof(*expected->positions));
    if (expected->positions == NULL)
        return false;
    husk_ref_random random = {.seed = seed};
    int64_t *positions = expected->positions, count = 0;
    count += sample_random(outputs, &random, positions);
    count += sample_corners(function, positions + count);
    for (int tile = 0; function->rank > 0 && tile < TILES; tile++)
        count += sample_tile(function, &random, positions + count);
    qsort(positions, (size_t)count, sizeof(*positions), compare_positions);
    int64_t unique = 0;
    for (int64_t i = 0; i < count; i++)
        if (i == 0 || positions[i] != positions[unique - 1])
            positions[unique++] = positions[i];
    expected->count = unique;
    return true;
}

bool husk_ref_expect(const husk_ref_function *function, uint64_t seed, husk_ref_expected *expected)
{
    *expected = (husk_ref_expected){.function = *function};
    int64_t outputs = 1;
    for (int32_t d = 0; d < function->rank; d++)
        outputs *= function->shape[d];
    expected->complete =
        outputs <= HUSK_REF_COMPLETE_COUNT && (double)outputs * function->cost <= HUSK_REF_COMPLETE_COST;
    expected->count = outputs;
    if (!expected->complete && !choose_samples(function, outputs, seed, expected))
        return false;

    size_t bytes = (size_t)(expected->count > 0 ? expected->count : 1) * sizeof(double);
    expected->values = malloc(bytes);
    expected->bounds = malloc(bytes);
    expected->computed = malloc(bytes / sizeof(double) * sizeof(bool));
    if (expected->values == NULL || expected->bounds == NULL || expected->computed == NULL) {
        husk_ref_expected_release(expected);
        return false;
    }
    for (int64_t i = 0; i < expected->count; i++) {
        int64_t index[HUSK_MAX_RANK] = {0};
        husk_ref_index_of(function->rank, function->shape, expected->complete ? i : expected->positions[i], index);
        husk_ref_value value = function->at(function->op, index);
        expected->values[i] = value.value;
        expected->bounds[i] = value.bound;
        expected->computed[i] = value.terms > 0;
        expected->has_nan = expected->has_nan || isnan(value.value);
    }
    return true;
}

void husk_ref_expected_release(husk_ref_expected *expected)
{
    free(expected->positions);
    free(expected->values);
    free(expected->bounds);
    free(expected->computed);
    *expected = (husk_ref_expected){0};
}

double husk_ref_error_ratio(double expected, double bound, double actual, double most)
{
    if (isnan(expected) || isnan(actual))
        return isnan(expected) && isnan(actual) ? 0.0 : INFINITY;
    if (expected == actual)
        return 0.0;
    if (isinf(expected))
        return INFINITY;
    if (isinf(actual)) {
        bool overflowed = fabs(expected) > most && (expected > 0.0) == (actual > 0.0);
        return overflowed ? 0.0 : INFINITY;
    }
    return bound > 0.0 ? fabs(actual - expected) / bound : INFINITY; // a bound of NaN allows nothing
}

static bool add(husk_ref_report *report, int32_t rank, const int64_t *index, double expected, double bound,
                double actual, double most)
{
    double ratio = husk_ref_error_ratio(expected, bound, actual, most);
    bool pass = ratio <= 1.0;
    report->checked++;
    if (isfinite(expected) && isfinite(actual))
        report->max_error = fmax(report->max_error, fabs(actual - expected));
    if (ratio > report->max_ratio || report->checked == 1) {
        report->max_ratio = ratio;
        report->max_bound = bound;
    }
    if (!pass && report->failures++ == 0) {
        report->rank = rank;
        memcpy(report->first_failure, index, (size_t)rank * sizeof(*index));
        report->first_expected = expected;
        report->first_actual = actual;
        report->first_bound = bound;
    }
    return pass;
}

bool husk_ref_report_add(husk_ref_report *report, int32_t rank, const int64_t *index, double expected, double bound,
                         double actual)
{
    return add(report, rank, index, expected, bound, actual, (double)FLT_MAX);
}

void husk_ref_report_add_zero(husk_ref_report *report, double expected, double bound, double actual)
{
    if (!isfinite(expected) || !(fabs(expected) <= bound)) // an infinity's own bound holds it, and no zero
        return;
    report->zeros++;
    if (expected == 0.0)
        return;
    report->near_zeros++;
    report->near_squares += expected * expected;
    report->near_errors += (actual - expected) * (actual - expected);
}

void husk_ref_report_add_projection(husk_ref_report *report, int32_t rank, const int64_t *index, double expected,
                                    double bound, double actual)
{
    if (!isfinite(expected))
        return;
    double ratio = husk_ref_error_ratio(expected, bound, actual, (double)FLT_MAX);
    report->projections++;
    report->max_projection_ratio = fmax(report->max_projection_ratio, ratio);
    if (ratio > 1.0 && report->projection_failures++ == 0) {
        report->projection_rank = rank;
        memcpy(report->first_projection, index, (size_t)rank * sizeof(*index));
    }
}

// Outputs that were not sampled hold no NaN either: what was not written shows, wherever it is.
static void scan_for_nan(const husk_ref_expected *expected, const husk_ref_array *actual, husk_ref_report *report)
{
    const husk_ref_function *function = &expected->function;
    int64_t asked = 0;
    if (actual->dtype >= HUSK_I8) {
        report->unscanned = true;
        return;
    }
    int64_t index[HUSK_MAX_RANK] = {0};
    do {
        double value = husk_ref_load(actual, husk_ref_offset(actual, index));
        if (!isnan(value))
            continue;
        if (expected->has_nan && asked++ == MAX_SAMPLES)
            return; // the samples judge the others
        if (!expected->has_nan || !isnan(function->at(function->op, index).value))
            husk_ref_report_add(report, actual->rank, index, 0.0, 0.0, value);
    } while (husk_ref_index_next(actual->rank, actual->shape, index));
}

void husk_ref_expect_stored(husk_dtype dtype, double actual, double *value, double *bound)
{
    double rounding = husk_ref_round_bound(dtype, fabs(*value) + *bound);
    if (rounding == 0.0 || !isfinite(*value))
        return;
    if (*bound == 0.0)
        *value = husk_ref_round(dtype, *value);
    else if (isinf(actual) && husk_ref_round(dtype, *value + copysign(*bound, actual)) == actual)
        *value = actual; // past the dtype's range
    else
        *bound += rounding;
}

void husk_ref_compare(const husk_ref_expected *expected, const husk_ref_array *actual, husk_ref_report *report)
{
    const double most = actual->dtype == HUSK_F64 ? DBL_MAX : (double)FLT_MAX;
    for (int64_t i = 0; i < expected->count; i++) {
        int64_t index[HUSK_MAX_RANK] = {0};
        const husk_ref_function *function = &expected->function;
        husk_ref_index_of(function->rank, function->shape, expected->complete ? i : expected->positions[i], index);
        double value = husk_ref_load(actual, husk_ref_offset(actual, index));
        double wanted = expected->values[i], bound = husk_ref_bound_in(actual->dtype, expected->bounds[i]);
        husk_ref_expect_stored(actual->dtype, value, &wanted, &bound);
        add(report, function->rank, index, wanted, bound, value, most);
        if (expected->computed != NULL && expected->computed[i])
            husk_ref_report_add_zero(report, wanted, bound, value);
    }
    if (!expected->complete)
        scan_for_nan(expected, actual, report);
}

bool husk_ref_check(const husk_ref_function *function, uint64_t seed, const husk_ref_array *actual,
                    husk_ref_report *report)
{
    husk_ref_expected expected;
    if (!husk_ref_expect(function, seed, &expected)) {
        report->allocation_failed = true;
        return false;
    }
    husk_ref_compare(&expected, actual, report);
    const bool is_complete = expected.complete;
    husk_ref_expected_release(&expected);
    return is_complete;
}

bool husk_ref_report_pass(const husk_ref_report *report)
{
    return report->failures == 0 && report->projection_failures == 0 && !report->allocation_failed;
}

// Wide bounds hold many a zero, as those of long sums by an engine do: what differs from the numbers themselves by less
// than a sixteenth of their size has been computed all the same.
bool husk_ref_report_inconclusive(const husk_ref_report *report)
{
    const bool is_seen = report->near_errors * 256 < report->near_squares;
    const int64_t zeros = report->zeros - (is_seen ? report->near_zeros : 0);
    return zeros >= 16 && zeros * 4 > report->checked * 3;
}

static void index_text(int32_t rank, const int64_t *index, char *text, size_t capacity)
{
    size_t used = 0;
    text[0] = '\0';
    for (int32_t d = 0; d < rank && used < capacity; d++)
        used += (size_t)snprintf(text + used, capacity - used, "%s%lld", d > 0 ? ", " : "", (long long)index[d]);
}

void husk_ref_report_text(const husk_ref_report *report, char *text, size_t capacity)
{
    char index[200];
    if (report->failures > 0) {
        index_text(report->rank, report->first_failure, index, sizeof(index));
        snprintf(text, capacity, "%lld of %lld outputs wrong, first [%s]: %.9g, expected %.9g within %.3g",
                 (long long)report->failures, (long long)report->checked, index, report->first_actual,
                 report->first_expected, report->first_bound);
    } else if (report->projection_failures > 0) {
        index_text(report->projection_rank, report->first_projection, index, sizeof(index));
        snprintf(text, capacity, "%lld of %lld projections wrong (%.3g of the bound), first [%s]",
                 (long long)report->projection_failures, (long long)report->projections, report->max_projection_ratio,
                 index);
    } else if (report->allocation_failed) {
        snprintf(text, capacity, "not checked: host memory does not suffice");
    } else if (husk_ref_report_inconclusive(report)) {
        snprintf(text, capacity, "inconclusive: %lld of %lld expected values are zero within their bounds",
                 (long long)report->zeros, (long long)report->checked);
    } else {
        snprintf(text, capacity, "%lld outputs right, largest error %.3g, %.3g of its bound",
                 (long long)report->checked, report->max_error, report->max_ratio);
    }
}
