/* SPDX-License-Identifier: MIT */
/*
 * ref/check.h: which outputs are compared with the reference, and what the comparison found.
 *
 * Up to 2^24 multiply-adds (and 2^22 outputs) every output is checked. Beyond, 2,048 random outputs, the
 * edges of 64 tiles in the last two dimensions, and all corners are; for what is linear the caller adds a
 * Freivalds check (ref/freivalds.h), since samples alone miss a small wrong patch; and no output anywhere may
 * be NaN unless the samples hold one too. Integers have no NaN: their report says that it was not looked for.
 *
 * Expectations may be computed once and compared with what several variants made.
 */
#ifndef HUSK_REF_CHECK_H
#define HUSK_REF_CHECK_H

#include "ref/ref.h"

HUSK_BEGIN_DECLS

#define HUSK_REF_COMPLETE_COST  16777216.0
#define HUSK_REF_COMPLETE_COUNT 4194304

typedef struct husk_ref_expected {
    husk_ref_function function; /* whose op is asked again where NaN is expected: it has to be there */
    bool complete;      /* every output, in row-major order */
    int64_t count;      /* outputs evaluated */
    int64_t *positions; /* their row-major positions, ascending; NULL when complete */
    double *values;
    double *bounds;
    bool *computed; /* which have terms; NULL: none */
    bool has_nan; /* somewhere */
} husk_ref_expected;

/* Choose the outputs and evaluate them. False when memory does not suffice. */
bool husk_ref_expect(const husk_ref_function *function, uint64_t seed, husk_ref_expected *expected);
void husk_ref_expected_release(husk_ref_expected *expected);

/* What was found. Start it with {0}; every check adds to it. */
typedef struct husk_ref_report {
    int64_t checked;
    int64_t failures;
    int64_t zeros;    /* expected values for which zero would be right, and not by definition */
    int64_t near_zeros; /* of them those that are not zero; the sums of their squares and of their errors' squares */
    double near_squares, near_errors;
    double max_ratio; /* the largest |error| / bound; infinity where NaN, infinity or exactness is missed */
    double max_error; /* the largest |error| */
    double max_bound; /* the bound where max_ratio was found */
    int32_t rank;     /* of the index below */
    int64_t first_failure[HUSK_MAX_RANK];
    double first_expected, first_actual, first_bound;
    int64_t projections; /* by Freivalds' method */
    int64_t projection_failures;
    double max_projection_ratio;
    int32_t projection_rank; /* of the index below */
    int64_t first_projection[HUSK_MAX_RANK]; /* the block's first element; gemm's with a batch, db's turned */
    bool allocation_failed;                  /* something could not be checked at all */
    bool unscanned; /* integers beyond samples were not looked at: what was not written does not show in them */
} husk_ref_report;

/*
 * Compare one output. NaN must meet NaN, infinity the same infinity; a value past f32's range may have
 * become infinity; a bound of 0 wants equality (of numbers: -0 equals 0). True if it passes.
 */
bool husk_ref_report_add(husk_ref_report *report, int32_t rank, const int64_t *index, double expected, double bound,
                         double actual);

/* |error| / bound by these rules; most: the largest number of what was computed in. Infinite where it may not be. */
double husk_ref_error_ratio(double expected, double bound, double actual, double most);

/*
 * What is expected, once it has been stored in the dtype: what is exact stays exact if the dtype holds it, and is what
 * it rounds to if not.
 */
void husk_ref_expect_stored(husk_dtype dtype, double actual, double *value, double *bound);

/* Count an expected value for which zero would be right, and what was computed there. */
void husk_ref_report_add_zero(husk_ref_report *report, double expected, double bound, double actual);

/* The same for one projection of outputs; one that is not finite by rights is passed over. */
void husk_ref_report_add_projection(husk_ref_report *report, int32_t rank, const int64_t *index, double expected,
                                    double bound, double actual);

/* Compare an output array with the expectations. Of f64, what is finite must not have become infinity. */
void husk_ref_compare(const husk_ref_expected *expected, const husk_ref_array *actual, husk_ref_report *report);

/* husk_ref_expect and husk_ref_compare in one. True if every output was compared, and not samples alone. */
bool husk_ref_check(const husk_ref_function *function, uint64_t seed, const husk_ref_array *actual,
                    husk_ref_report *report);

/* No failure of any kind. A check of a zero-sized output passes. */
bool husk_ref_report_pass(const husk_ref_report *report);
/*
 * Most expected values are zero, or no farther from it than their bounds, so that the check proves nothing: more
 * than three quarters (ReLU makes half of random outputs zero) of at least 16. Zeros by definition do not count: they
 * must be met exactly. Nor do numbers within wide bounds that were met all the same: where those of a report, as the
 * root of their squares' sum, are off by less than a sixteenth.
 */
bool husk_ref_report_inconclusive(const husk_ref_report *report);
/* One line for people: what failed first, or how near the bound it came. */
void husk_ref_report_text(const husk_ref_report *report, char *text, size_t capacity);

HUSK_END_DECLS

#endif
