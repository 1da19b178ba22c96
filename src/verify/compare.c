// SPDX-License-Identifier: MIT
// Comparing an output with what is expected: the rules are those of ref/check.h.
#include <husk/verify.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ref/check.h"
#include "verify/array.h"

// The digits of a dtype's numbers, the leading one included, and the smallest normal one.
static int digits_of(husk_dtype dtype, double *smallest)
{
    switch (dtype) {
    case HUSK_F16:
        return *smallest = 0x1p-14, 11;
    case HUSK_BF16:
        return *smallest = HUSK_REF_TINY, 8;
    case HUSK_F64:
        return *smallest = DBL_MIN, 53;
    default:
        return *smallest = HUSK_REF_TINY, 24;
    }
}

static double ulps(husk_dtype dtype, double value, double count)
{
    double smallest;
    int exponent = 0;
    if (count == 0.0 || dtype >= HUSK_I8)
        return count;
    const int digits = digits_of(dtype, &smallest);
    frexp(fmax(fabs(value), smallest), &exponent);
    return count * ldexp(1.0, exponent - digits) + (fabs(value) < smallest ? smallest : 0.0);
}

static double tolerated(const husk_verify_tolerance *tolerance, husk_dtype dtype, double value)
{
    if (!tolerance || !isfinite(value))
        return 0.0;
    return tolerance->absolute + tolerance->relative * fabs(value) + ulps(dtype, value, tolerance->ulp);
}

// What is expected of one element once it is stored, and how far it may be off.
static void expect(husk_dtype dtype, double actual, const husk_verify_tolerance *tolerance, double *value,
                   double *bound)
{
    const double more = tolerated(tolerance, dtype, *value);
    if (*bound == 0.0 && more == 0.0) {
        *value = husk_ref_round(dtype, *value);
        return;
    }
    if (isinf(actual) && isfinite(*value) && husk_ref_round(dtype, *value + copysign(*bound + more, actual)) == actual)
        *value = actual; // past the dtype's range
    if (*bound > 0.0)
        husk_ref_expect_stored(dtype, actual, value, bound);
    *bound += more;
}

// Zeros: what husk_ref_report_inconclusive counts.
static void add(husk_verify_report *report, husk_ref_report *zeros, int64_t position, double expected, double bound,
                double actual, double most)
{
    const double ratio = husk_ref_error_ratio(expected, bound, actual, most);
    zeros->checked = ++report->count;
    husk_ref_report_add_zero(zeros, expected, bound, actual);
    if (!(ratio <= 1.0) && report->wrong++ == 0)
        report->first = position;
    if (report->worst >= 0 && ratio <= report->ratio)
        return;
    report->worst = position;
    report->expected = expected;
    report->actual = actual;
    report->bound = bound;
    report->ratio = ratio;
}

// "[1, 17]"
static void index_text(const husk_ref_array *array, int64_t position, char text[200])
{
    int64_t index[HUSK_MAX_RANK] = {0};
    size_t used = 1;
    husk_ref_index_of(array->rank, array->shape, position, index);
    text[0] = '[';
    for (int32_t d = 0; d < array->rank; ++d)
        used += (size_t)snprintf(text + used, 200 - used, "%s%lld", d ? ", " : "", (long long)index[d]);
    snprintf(text + used, 200 - used, "]");
}

static void write_text(const husk_ref_array *array, husk_verify_report *report)
{
    char worst[200], first[200], ratio[64] = "";
    const int digits = array->dtype == HUSK_F64 ? 17 : 9;
    const char *few =
        report->is_inconclusive ? "; inconclusive: most of what is expected is zero within its bound" : "";
    if (report->wrong == 0 && report->count == 0) {
        snprintf(report->text, sizeof report->text, "right: there are no elements");
        return;
    }
    if (report->wrong == 0) {
        snprintf(report->text, sizeof report->text, "%lld elements are right, the largest error is %.3g of its bound%s",
                 (long long)report->count, report->ratio, few);
        return;
    }
    index_text(array, report->worst, worst);
    index_text(array, report->first, first);
    if (isfinite(report->ratio))
        snprintf(ratio, sizeof ratio, ", off by %.3g bounds", report->ratio);
    snprintf(report->text, sizeof report->text,
             "%lld of %lld elements are wrong, the worst at %s: %.*g, expected %.*g within %.3g%s; the first at %s",
             (long long)report->wrong, (long long)report->count, worst, digits, report->actual, digits,
             report->expected, report->bound, ratio, first);
}

static husk_status check_bounds(const double *bounds, int64_t count, const husk__scope *scope)
{
    for (int64_t i = 0; bounds && i < count; ++i)
        if (bounds[i] < 0.0)
            return husk__reject(scope, "bounds", "[%lld] is %g, must not be negative", (long long)i, bounds[i]);
    return HUSK_OK;
}

static husk_status check(const husk_verify_array *actual, const double *expected, const double *bounds,
                         const husk_verify_tolerance *tolerance, const husk__scope *scope)
{
    husk_status status = husk__verify_check(actual, true, "actual", scope);
    if (status == HUSK_OK)
        status = husk__verify_check_expected(actual, expected, scope);
    if (status != HUSK_OK)
        return status;
    const double members[] = {tolerance ? tolerance->absolute : 0.0, tolerance ? tolerance->relative : 0.0,
                              tolerance ? tolerance->ulp : 0.0};
    static const char *const names[] = {"absolute", "relative", "ulp"};
    for (int i = 0; i < 3; ++i)
        if (!(members[i] >= 0.0))
            return husk__reject(scope, "tolerance", "%s is %g, must be 0 or more", names[i], members[i]);
    const husk_ref_array array = husk__verify_ref(actual);
    return check_bounds(bounds, husk_ref_array_count(&array), scope);
}

static void compare(const husk_ref_array *array, const double *expected, const double *bounds,
                    const husk_verify_tolerance *tolerance, husk_verify_report *report)
{
    const double most = array->dtype == HUSK_F64 ? DBL_MAX : (double)FLT_MAX;
    int64_t index[HUSK_MAX_RANK] = {0}, position = 0;
    husk_ref_report zeros = {0};
    if (husk_ref_array_count(array) == 0)
        return;
    do {
        const double actual = husk_ref_load(array, husk_ref_offset(array, index));
        double wanted = expected[position], bound = bounds ? bounds[position] : 0.0;
        expect(array->dtype, actual, tolerance, &wanted, &bound);
        add(report, &zeros, position++, wanted, bound, actual, most);
    } while (husk_ref_index_next(array->rank, array->shape, index));
    report->is_inconclusive = husk_ref_report_inconclusive(&zeros);
}

int32_t husk_verify_compare(const husk_verify_array *actual, const double *expected, const double *bounds,
                            const husk_verify_tolerance *tolerance, husk_verify_report *report)
{
    husk_error error = {0};
    const husk__scope scope = {"husk_verify_compare", &error};
    husk_verify_report own, *found = report ? report : &own;
    memset(found, 0, sizeof *found);
    found->first = found->worst = -1;
    if (check(actual, expected, bounds, tolerance, &scope) != HUSK_OK) {
        snprintf(found->text, sizeof found->text, "%.*s", (int)sizeof found->text - 1, error.text);
        return 0;
    }
    const husk_ref_array array = husk__verify_ref(actual);
    compare(&array, expected, bounds, tolerance, found);
    write_text(&array, found);
    return found->wrong == 0;
}
