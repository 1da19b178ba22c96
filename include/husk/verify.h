/* SPDX-License-Identifier: MIT */
/** @file
 * Reference results and comparison, for tests of OpenCL code.
 *
 * This is libhusk_verify, a library for test programs. It says what an operator should compute and how far a right
 * result may be off, and compares. Link husk::husk_verify, or use pkg-config husk_verify; it does not need libhusk. The
 * calls of this header run on the host, and need no device. husk/verify_opencl.h adds guarded buffers. Any test
 * framework will do: the library neither prints nor ends the process. docs/verify-kernels.md has an introduction.
 *
 *     float a[M * K], b[K * N], c[M * N];                          // c: what the code under test has computed
 *     double expected[M * N], bounds[M * N];
 *     const int64_t a_shape[] = {M, K}, b_shape[] = {K, N}, c_shape[] = {M, N};
 *     const husk_verify_array va = husk_verify_array_make(a, HUSK_F32, 2, a_shape);
 *     const husk_verify_array vb = husk_verify_array_make(b, HUSK_F32, 2, b_shape);
 *     const husk_verify_array vc = husk_verify_array_make(c, HUSK_F32, 2, c_shape);
 *     husk_verify_report report;
 *
 *     husk_verify_gemm(NULL, 1, &va, &vb, NULL, 0, &vc, expected, bounds, NULL);
 *     ck_assert_msg(husk_verify_compare(&vc, expected, bounds, NULL, &report), "%s", report.text);
 *
 * ## Arrays
 *
 * A ::husk_verify_array describes host memory as a ::husk_tensor describes a buffer: the same dtypes, shapes and
 * strides. f16 and bf16 are 16 bits each, as in the device's memory.
 *
 * ## References
 *
 * `husk_verify_<op>()` takes the arguments of `husk_<op>()` in their order, without the queue and with host arrays in
 * place of tensors. It means the same by them: `husk/ops/<op>.h` has formulas, shapes, special values and sources. Then
 * follow
 *
 * - `expected`: receives the results, in double, one for each element of the output in row-major order, whatever the
 *   output's strides are;
 * - `bounds`: receives how far each may be off, in the same order; may be NULL;
 * - `error`: explains a failure; may be NULL.
 *
 * The output is the last array (`c`, `y`). Its shape has to be right, and its dtype decides the bounds. Its data is
 * what husk_verify_compare() reads later; the reference reads it only where the operator does, as gemm does with beta.
 *
 * - Operands are f32, f16, bf16 or f64, in any mixture.
 * - Options that only choose how Husk computes are checked for nothing and ignored: variant, precision, winograd,
 *   workspace_limit, accumulate.
 * - References are plain loops in double. They are slow, and take the time of every element.
 *
 * @par Bounds
 * They are those that `husk/ops/<op>.h` promises of the operator in f32, or in f64 if the output is f64: sums of n
 * terms in any order err by at most (4 + 2 sqrt n) u times the sum of the absolute terms. (Higham, Mary: A New Approach
 * to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41(5), 2019.) Functions have what the OpenCL C
 * specification allows, and denormals may be flushed to zero. Code that computes otherwise, as with sums in f16 or
 * native_exp, needs a wider bound: pass a ::husk_verify_tolerance as well. What rounding to f16 or bf16 costs when a
 * result is stored is not in the bounds; husk_verify_compare() adds it.
 *
 * @par Failures
 * HUSK_INVALID_ARGUMENT: the text of `error` names the argument and the rule that it breaks. HUSK_UNSUPPORTED: a dtype
 * that is not computed. HUSK_OUT_OF_HOST_MEMORY. After a failure, expected and bounds are undefined.
 *
 * ## With libhusk
 *
 * This header includes others for their types and options. The functions that those declare are libhusk's: a program
 * that calls them links libhusk as well. Both may be linked into one program, as shared or as static libraries.
 *
 * ## Threads
 *
 * The library has no state. Every call may be made by any thread at any time.
 */
#ifndef HUSK_VERIFY_H
#define HUSK_VERIFY_H

#include <husk/ops/activation.h>
#include <husk/ops/binary.h>
#include <husk/ops/conv.h>
#include <husk/ops/gemm.h>
#include <husk/ops/norm.h>
#include <husk/ops/pool.h>
#include <husk/ops/reduce.h>
#include <husk/ops/softmax.h>
#include <husk/ops/unary.h>
#include <husk/tensor.h>

#if defined(__GNUC__) && !defined(_WIN32)
/** Marks a public function of libhusk_verify. */
#define HUSK_VERIFY_API __attribute__((visibility("default")))
#else
#define HUSK_VERIFY_API
#endif

HUSK_BEGIN_DECLS

/* ---- arrays ---------------------------------------------------------------------------------------------- */

/** A view of host memory. */
typedef struct husk_verify_array {
    void *data; /**< Element (0, ..., 0). It is written only by the calls that fill. */
    husk_dtype dtype;
    int32_t rank; /**< 0 (a scalar) to #HUSK_MAX_RANK. */
    int64_t shape[HUSK_MAX_RANK];
    /** In elements, not negative. All zero means packed, with the last dimension fastest. */
    int64_t strides[HUSK_MAX_RANK];
} husk_verify_array;

/** A packed array, with the last dimension fastest. */
static inline husk_verify_array husk_verify_array_make(const void *data, husk_dtype dtype, int32_t rank,
                                                       const int64_t *shape)
{
    husk_verify_array made = HUSK_ZEROS;
    made.data = (void *)data;
    made.dtype = dtype;
    made.rank = rank;
    for (int32_t d = 0; d < rank && d < HUSK_MAX_RANK; ++d)
        made.shape[d] = shape[d];
    return made;
}

/** A packed array of one dimension: what to compare if shapes do not matter. */
static inline husk_verify_array husk_verify_vector(const void *data, husk_dtype dtype, int64_t count)
{
    return husk_verify_array_make(data, dtype, 1, &count);
}

/* ---- inputs ---------------------------------------------------------------------------------------------- */

/**
 * Fill with random numbers, uniform in (-1, 1).
 *
 * The same seed gives the same numbers on every machine. They belong to elements by their row-major position: arrays
 * that differ only in strides hold the same. None is zero. In f32 each is an odd multiple of 2^-24, so exact. f64 has
 * further digits. f16 and bf16 hold what the f32 number rounds to, which may be 1 or -1.
 *
 * The source is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011), whose
 * key is the seed and whose counter is the position.
 *
 * @param array f32, f16, bf16 or f64
 */
HUSK_VERIFY_API husk_status husk_verify_random_fill(const husk_verify_array *array, uint64_t seed, husk_error *error);

/**
 * Fill with random whole numbers from `low` to `high`, both included, by the same source.
 *
 * Sums and products of small whole numbers are exact in floating point, in any order. So a wrong index shows as a wrong
 * number, and no bound hides it.
 *
 * @param array of any dtype that holds all of these numbers exactly
 * @param low, high at most 2^32 numbers
 */
HUSK_VERIFY_API husk_status husk_verify_integers_fill(const husk_verify_array *array, int64_t low, int64_t high,
                                                      uint64_t seed, husk_error *error);

/* ---- comparison ------------------------------------------------------------------------------------------ */

/** How far a result may be off: the sum of the members. Zero means exactly what is expected, rounded to the dtype. */
typedef struct husk_verify_tolerance {
    double absolute;
    double relative; /**< Times the expected value's magnitude. */
    /** Times a unit in the last place: the distance of the dtype's numbers around the expected value. It is 1 for whole
     * numbers. If the expected value is denormal, the smallest normal number is added, as it may be flushed. */
    double ulp;
} husk_verify_tolerance;

/** Bytes of husk_verify_report::text, with the terminating zero. */
#define HUSK_VERIFY_TEXT_CAPACITY 640

/** What a comparison has found. */
typedef struct husk_verify_report {
    int64_t count; /**< Elements that were compared. */
    int64_t wrong; /**< Elements that are wrong. */
    int64_t first; /**< The row-major position of the first wrong one; -1 if there is none. */
    int64_t worst; /**< That of the element with the largest ratio; -1 if none was compared. */
    double expected; /**< Of the worst element: what it should be, */
    double actual; /**< what it is, */
    double bound; /**< how far it may be off, */
    double ratio; /**< and how far it is, in bounds. Infinite where NaN, infinity or exactness is missed. */
    /** Not 0: more than three quarters of the expected values are zero, or within their bounds of it, so that an output
     * of zeros would nearly pass. The comparison proves little. */
    uint32_t is_inconclusive;
    /** A sentence for the message of an assertion, also where everything is right or an argument is wrong. */
    char text[HUSK_VERIFY_TEXT_CAPACITY];
} husk_verify_report;

/**
 * Compare an output, element by element.
 *
 * An element may be off by bounds[i] plus the tolerance.
 *
 * | expected | right is |
 * | --- | --- |
 * | NaN | NaN |
 * | an infinity | the same infinity |
 * | a number beyond the dtype's range, also by its bound | the infinity of its sign, or a number within the bound |
 * | another number | a number within the bound; with a bound of 0, what the expected value rounds to in the dtype |
 *
 * - 0 and -0 are equal.
 * - If `actual` is f16 or bf16, a bound that is not 0 is wider by what storing costs: half a unit in the last place.
 * - i64 is compared as double, which holds whole numbers up to 2^53.
 *
 * @param actual the output
 * @param expected as many numbers as `actual` has elements, in row-major order
 * @param bounds as many, none negative; NULL: zeros
 * @param tolerance NULL: zeros
 * @param report may be NULL
 * @return Not 0 if every element is right. 0 if one is wrong, or an argument is; the report's text says which. An array
 *   without elements is right.
 */
HUSK_VERIFY_API int32_t husk_verify_compare(const husk_verify_array *actual, const double *expected,
                                            const double *bounds, const husk_verify_tolerance *tolerance,
                                            husk_verify_report *report);

/* ---- references ------------------------------------------------------------------------------------------ */

/** What husk_gemm() computes; see husk/ops/gemm.h. With a beta that is not 0, c's data is C before the call. */
HUSK_VERIFY_API husk_status husk_verify_gemm(const husk_gemm_params *params, float alpha, const husk_verify_array *a,
                                             const husk_verify_array *b, const husk_verify_array *bias, float beta,
                                             const husk_verify_array *c, double *expected, double *bounds,
                                             husk_error *error);

/** What husk_conv() computes, by the sum of its definition; see husk/ops/conv.h. bias may have any stride. */
HUSK_VERIFY_API husk_status husk_verify_conv(const husk_conv_params *params, const husk_verify_array *x,
                                             const husk_verify_array *w, const husk_verify_array *bias,
                                             const husk_verify_array *y, double *expected, double *bounds,
                                             husk_error *error);

/** What husk_pool() computes as y; see husk/ops/pool.h. */
HUSK_VERIFY_API husk_status husk_verify_pool(const husk_pool_params *params, const husk_verify_array *x,
                                             const husk_verify_array *y, double *expected, double *bounds,
                                             husk_error *error);

/** What husk_softmax() computes; see husk/ops/softmax.h. */
HUSK_VERIFY_API husk_status husk_verify_softmax(const husk_softmax_params *params, const husk_verify_array *x,
                                                const husk_verify_array *y, double *expected, double *bounds,
                                                husk_error *error);

/**
 * What husk_norm() computes as y; see husk/ops/norm.h. scale, bias and statistics may have any strides. Only BATCH
 * without `training` reads running_mean and running_variance.
 */
HUSK_VERIFY_API husk_status husk_verify_norm(const husk_norm_params *params, const husk_verify_array *x,
                                             const husk_verify_array *scale, const husk_verify_array *bias,
                                             const husk_verify_array *running_mean,
                                             const husk_verify_array *running_variance, const husk_verify_array *y,
                                             double *expected, double *bounds, husk_error *error);

/** What husk_activation() computes; see husk/ops/activation.h. */
HUSK_VERIFY_API husk_status husk_verify_activation(const husk_activation_params *params, const husk_verify_array *x,
                                                   const husk_verify_array *y, double *expected, double *bounds,
                                                   husk_error *error);

/** What husk_unary() computes; see husk/ops/unary.h. */
HUSK_VERIFY_API husk_status husk_verify_unary(const husk_unary_params *params, const husk_verify_array *x,
                                              const husk_verify_array *y, double *expected, double *bounds,
                                              husk_error *error);

/** What husk_binary() computes, with broadcasting; see husk/ops/binary.h. */
HUSK_VERIFY_API husk_status husk_verify_binary(const husk_binary_params *params, const husk_verify_array *a,
                                               const husk_verify_array *b, const husk_verify_array *y, double *expected,
                                               double *bounds, husk_error *error);

/**
 * What husk_reduce() computes; see husk/ops/reduce.h. y has the reduced dimensions as 1, or is without them. For ARGMAX
 * and ARGMIN it is i32 or i64.
 */
HUSK_VERIFY_API husk_status husk_verify_reduce(const husk_reduce_params *params, const husk_verify_array *x,
                                               const husk_verify_array *y, double *expected, double *bounds,
                                               husk_error *error);

HUSK_END_DECLS

#endif
