// SPDX-License-Identifier: MIT
// Seeded inputs.
#include <husk/verify.h>

#include "ref/random.h"
#include "verify/array.h"

husk_status husk_verify_random_fill(const husk_verify_array *array, uint64_t seed, husk_error *error)
{
    const husk__scope scope = {"husk_verify_random_fill", error};
    const husk_status status = husk__verify_check_real(array, true, "array", &scope);
    if (status != HUSK_OK)
        return status;
    const husk_ref_array ref = husk__verify_ref(array);
    husk_ref_random_fill_array(&ref, seed, 1.0f);
    return HUSK_OK;
}

// The whole numbers that a dtype holds without a gap.
static void exact_range(husk_dtype dtype, int64_t *low, int64_t *high)
{
    static const int64_t most[] = {
        [HUSK_F32] = 1 << 24, [HUSK_F16] = 1 << 11,  [HUSK_BF16] = 1 << 8,   [HUSK_F64] = INT64_C(1) << 53,
        [HUSK_I8] = INT8_MAX, [HUSK_U8] = UINT8_MAX, [HUSK_I32] = INT32_MAX, [HUSK_I64] = INT64_C(1) << 53,
    };
    *high = most[dtype];
    *low = dtype == HUSK_U8 ? 0 : dtype == HUSK_I8 ? INT8_MIN : dtype == HUSK_I32 ? INT32_MIN : -*high;
}

static husk_status check_range(husk_dtype dtype, int64_t low, int64_t high, const husk__scope *scope)
{
    int64_t least, most;
    exact_range(dtype, &least, &most);
    if (low > high)
        return husk__reject(scope, "low", "is %lld, more than high, %lld", (long long)low, (long long)high);
    if (low < least || high > most)
        return husk__reject(scope, low < least ? "low" : "high",
                            "is %lld; the dtype of array holds every whole number from %lld to %lld",
                            (long long)(low < least ? low : high), (long long)least, (long long)most);
    if (high - low > UINT32_MAX)
        return husk__reject(scope, "high", "is %lld, which makes more than 2^32 numbers from %lld on", (long long)high,
                            (long long)low);
    return HUSK_OK;
}

husk_status husk_verify_integers_fill(const husk_verify_array *array, int64_t low, int64_t high, uint64_t seed,
                                      husk_error *error)
{
    const husk__scope scope = {"husk_verify_integers_fill", error};
    husk_status status = husk__verify_check(array, true, "array", &scope);
    if (status == HUSK_OK)
        status = check_range(array->dtype, low, high, &scope);
    if (status != HUSK_OK)
        return status;
    const husk_ref_array ref = husk__verify_ref(array);
    if (husk_ref_array_count(&ref) == 0)
        return HUSK_OK;
    int64_t index[HUSK_MAX_RANK] = {0};
    const uint64_t numbers = (uint64_t)(high - low) + 1;
    uint64_t position = 0;
    do { // the upper half of bits * numbers is uniform below numbers, but for a part in 2^32
        const uint64_t drawn = husk_ref_random_bits(seed, position++) * numbers >> 32;
        husk_ref_store(&ref, husk_ref_offset(&ref, index), (double)(low + (int64_t)drawn));
    } while (husk_ref_index_next(ref.rank, ref.shape, index));
    return HUSK_OK;
}
