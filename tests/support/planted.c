// SPDX-License-Identifier: MIT
#include "support/planted.h"

#include <math.h>
#include <string.h>

#include "support/main.h"

static bool passes(const husk_ref_array *array, test_check_fn check, void *user)
{
    husk_ref_report report = {0};
    check(user, array, &report);
    return husk_ref_report_pass(&report);
}

// Put value at offset, see that the check fails, and put back what was there.
static void plant(const husk_ref_array *array, int64_t offset, double value, const char *what, test_check_fn check,
                  void *user)
{
    double right = husk_ref_load(array, offset);
    husk_ref_store(array, offset, value);
    bool unseen = passes(array, check, user);
    husk_ref_store(array, offset, right);
    ck_assert_msg(!unseen, "the check does not see %s at element %lld", what, (long long)offset);
}

// Two by two in the middle, where no edge is sampled.
void test_planted_patch(const husk_ref_array *array, test_check_fn check, void *user)
{
    int32_t rank = array->rank;
    double right[4];
    int64_t offsets[4];
    if (rank < 2 || array->shape[rank - 1] < 2 || array->shape[rank - 2] < 2)
        return;
    for (int i = 0; i < 4; i++) {
        int64_t index[HUSK_MAX_RANK];
        for (int32_t d = 0; d < rank; d++)
            index[d] = array->shape[d] / 2;
        index[rank - 2] -= i >> 1;
        index[rank - 1] -= i & 1;
        offsets[i] = husk_ref_offset(array, index);
        right[i] = husk_ref_load(array, offsets[i]);
    }
    for (int i = 0; i < 4; i++)
        husk_ref_store(array, offsets[i], right[i] + fabs(right[i]) + 1.0);
    bool unseen = passes(array, check, user);
    for (int i = 0; i < 4; i++)
        husk_ref_store(array, offsets[i], right[i]);
    ck_assert_msg(!unseen, "the check does not see a patch of wrong values");
}

void test_planted(const husk_ref_function *function, const husk_ref_array *array, test_check_fn check, void *user)
{
    husk_ref_report report = {0};
    char text[512];
    check(user, array, &report);
    husk_ref_report_text(&report, text, sizeof(text));
    ck_assert_msg(husk_ref_report_pass(&report) && report.checked > 0, "the output is to be right at first: %s", text);
    bool real = array->dtype == HUSK_F32 || array->dtype == HUSK_F64;
    int64_t count = husk_ref_array_count(array);
    const int64_t places[3] = {0, count / 2, count - 1};
    for (int i = 0; i < 3; i++) {
        int64_t index[HUSK_MAX_RANK];
        husk_ref_index_of(array->rank, array->shape, places[i], index);
        int64_t offset = husk_ref_offset(array, index);
        husk_ref_value value = function->at(function->op, index);
        double off = value.value + 10.0 * value.bound;
        if (!(fabs((double)(float)off - value.value) > 5.0 * value.bound)) // too little for f32 to tell
            off = real ? (double)nextafterf((float)value.value, INFINITY) : value.value + 1.0;
        plant(array, offset, off, "an error of ten times the bound", check, user);
        if (!real)
            continue;
        plant(array, offset, NAN, "NaN", check, user);
        plant(array, offset, INFINITY, "infinity", check, user);
    }
    test_planted_patch(array, check, user);
    ck_assert_msg(passes(array, check, user), "what was planted is undone");
}

void test_planted_guards(test_tensor *output)
{
    int64_t size = (int64_t)husk_dtype_size(output->tensor.dtype), first = output->tensor.offset * size;
    int64_t end = first + husk_ref_array_extent(&output->array) * size; // in bytes; whole words outside:
    const int64_t places[4] = {0, first / 4 - 1, (end + 3) / 4, output->words - 1};
    ck_assert_msg(test_changed_guard(output) < 0, "the guards are to be right at first");
    for (int i = 0; i < 4; i++) {
        unsigned char *byte = (unsigned char *)&output->current[places[i]];
        byte[i] ^= 1;
        ck_assert_msg(test_changed_guard(output) / 4 == places[i], "a changed guard byte is not seen");
        byte[i] ^= 1;
    }
}
