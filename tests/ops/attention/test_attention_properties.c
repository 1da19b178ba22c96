// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=120
// What attention keeps whatever rounding does: equal scores give the mean of the values however large they are, a key
// far above all others gives its own value, and nothing leaves the values' range. By every variant, CPUs' and GPUs'.
// (A mask that adds the same to all keys changes results by what rounding a score takes: scores are held in powers of
// two, so that no number that is added stays whole.)
#include <math.h>
#include <stdlib.h>

#include "support/support.h"
#include "support/values.h"

static const char *const variants[] = {NULL,           "blocks:12x2v", "blocks:6x2v", "workgroup:8x8",
                                       "ranges:whole", "ranges:split", "tiled:32x64"};
enum {
    VARIANTS = sizeof variants / sizeof *variants,
    HEADS = 2,
    QUERIES = 5,
    D = 8,
    E = 12,
    MOST = 700 // keys
};
static const int64_t key_counts[] = {1, 2, 33, 64, 700};
enum { COUNTS = sizeof key_counts / sizeof *key_counts };

static float q[HEADS * QUERIES * D], k[HEADS * MOST * D], v[HEADS * MOST * E], mask[MOST], y[HEADS * QUERIES * E];
static int64_t keys;

// Scores are whole numbers, at most 32, where no mask is added.
static void begin(int64_t count)
{
    husk_ref_random random = {.seed = 7};
    keys = count;
    for (int i = 0; i < HEADS * QUERIES * D; i++)
        q[i] = (float)husk_ref_random_below(&random, 5) - 2;
    for (int64_t i = 0; i < HEADS * keys * D; i++)
        k[i] = (float)husk_ref_random_below(&random, 5) - 2;
    for (int64_t i = 0; i < HEADS * keys * E; i++)
        v[i] = (float)husk_ref_random_below(&random, 65) - 32;
    for (int64_t i = 0; i < keys; i++)
        mask[i] = 0;
}

static bool compute(const char *variant)
{
    const int64_t shapes[][4] = {
        {1, HEADS, QUERIES, D}, {1, HEADS, keys, D}, {1, HEADS, keys, E}, {1, 1, 1, keys}, {1, HEADS, QUERIES, E}};
    const husk_attention_params params = HUSK_ATTENTION_PARAMS(.scale = 1, .variant = variant);
    test_tensor in[] = {test_input_values(4, shapes[0], q), test_input_values(4, shapes[1], k),
                        test_input_values(4, shapes[2], v), test_input_values(4, shapes[3], mask)};
    test_tensor out = test_output(HUSK_F32, 4, shapes[4], TEST_PACKED);
    const bool ran = test_ran(husk_attention(test_queue(), &params, &in[0].tensor, &in[1].tensor, &in[2].tensor,
                                             &in[3].tensor, &out.tensor, NULL),
                              "attention", variant);
    if (ran) {
        test_get_values(&out, y);
        test_count_executed("attention", variant);
    }
    for (int i = 0; i < 4; i++)
        test_release(&in[i]);
    test_release(&out);
    return ran;
}

static const char *named(const char *variant)
{
    return variant ? variant : "(chosen)";
}

static double value_at(int result, int64_t key) // of the head and column of an element of the result
{
    return v[(result / (QUERIES * E) * keys + key) * E + result % E];
}

START_TEST(equal_scores_give_the_mean)
{
    static const float sizes[] = {0, 1, 100, 3e4f};
    begin(key_counts[_i]);
    const double most = (16 + 2 * sqrt((double)keys)) * HUSK_REF_UNIT;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (int64_t i = 0; i < HEADS * keys * D; i++)
            k[i] = sizes[s] * (float)(1 + i % D);
        for (int n = 0; n < VARIANTS; n++) {
            if (!compute(variants[n]))
                continue;
            for (int i = 0; i < HEADS * QUERIES * E; i++) {
                double sum = 0, size = 0;
                for (int64_t j = 0; j < keys; j++) {
                    sum += value_at(i, j);
                    size += fabs(value_at(i, j));
                }
                ck_assert_msg(fabs(y[i] - sum / (double)keys) <= most * size / (double)keys,
                              "%s, %d keys of %g: %.9g, %.9g is right", named(variants[n]), (int)keys, (double)sizes[s],
                              (double)y[i], sum / (double)keys);
            }
        }
    }
}
END_TEST

// e^-1000 is nothing beside one.
START_TEST(one_key_far_above_gives_its_value)
{
    begin(key_counts[_i]);
    const int64_t places[] = {0, keys / 2, keys - 1};
    for (int which = 0; which < 3 * VARIANTS; which++) {
        const int64_t above = places[which % 3];
        for (int64_t i = 0; i < keys; i++)
            mask[i] = i == above ? 1e4f : 0;
        if (!compute(variants[which / 3]))
            continue;
        for (int i = 0; i < HEADS * QUERIES * E; i++)
            ck_assert_msg((double)y[i] == value_at(i, above), "%s, %d keys: %.9g of a value of %g",
                          named(variants[which / 3]), (int)keys, (double)y[i], value_at(i, above));
    }
}
END_TEST

START_TEST(nothing_leaves_the_values_range)
{
    begin(key_counts[_i]);
    for (int64_t i = 0; i < keys; i++)
        mask[i] = i % 3 == 0 ? -INFINITY : (float)(i % 7) * 3.5f;
    for (int n = 0; n < VARIANTS; n++) {
        if (!compute(variants[n]))
            continue;
        for (int i = 0; i < HEADS * QUERIES * E; i++) {
            double least = INFINITY, greatest = -INFINITY;
            for (int64_t j = 0; j < keys; j++)
                if (j % 3 != 0) {
                    least = fmin(least, value_at(i, j));
                    greatest = fmax(greatest, value_at(i, j));
                }
            if (keys == 1) // nothing is seen
                least = greatest = 0;
            const double slack = (16 + 2 * sqrt((double)keys)) * HUSK_REF_UNIT * 32;
            ck_assert_msg(y[i] >= least - slack && y[i] <= greatest + slack, "%s, %d keys: %.9g of values %g to %g",
                          named(variants[n]), (int)keys, (double)y[i], least, greatest);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("attention_properties");
    TCase *tests = tcase_create("attention_properties");
    tcase_add_loop_test(tests, equal_scores_give_the_mean, 0, COUNTS);
    tcase_add_loop_test(tests, one_key_far_above_gives_its_value, 0, COUNTS);
    tcase_add_loop_test(tests, nothing_leaves_the_values_range, 0, COUNTS);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
