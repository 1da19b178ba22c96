// SPDX-License-Identifier: MIT
// ctest: tiers=default,valgrind timeout=30
// Initial values: their distributions, and that they depend on seed, name and index alone.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include <husk/train.h>

#include "support/device.h"
#include "support/main.h"
#include "train/random.h"

// The known answers that come with Random123 (kat_vectors).
START_TEST(philox_gives_the_known_answers)
{
    uint32_t words[4];
    husk__train_random(0, 0, 0, words);
    ck_assert(memcmp(words, (uint32_t[]){0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}, sizeof words) == 0);
    husk__train_random(UINT64_MAX, UINT64_MAX, UINT64_MAX, words);
    ck_assert(memcmp(words, (uint32_t[]){0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}, sizeof words) == 0);
    husk__train_random(0x299f31d0a4093822u, 0x0370734413198a2eu, 0x85a308d3243f6a88u, words);
    ck_assert(memcmp(words, (uint32_t[]){0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}, sizeof words) == 0);
    ck_assert(husk__train_hash("") == 0xcbf29ce484222325u && husk__train_hash("a") == 0xaf63dc4c8601ec8cu);
}
END_TEST

typedef struct expectation {
    husk_initializer initializer;
    double mean, deviation, low, high;
} expectation;

START_TEST(the_moments_are_those_of_the_distribution)
{
    enum { COUNT = 40 * 20 * 3 * 3 };
    const int64_t shape[] = {40, 20, 3, 3};
    const double he = sqrt(2.0 / 180), xavier = sqrt(2.0 / (180 + 360));
    const expectation all[] = {
        {HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_CONSTANT, .value = 3), 3, 0, 3, 3},
        {HUSK_INITIALIZER(0), 0, 0, 0, 0},
        {HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_UNIFORM, .value = 1, .spread = 2), 1, 2 / sqrt(3), -1, 3},
        {HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_NORMAL, .value = -1, .spread = 2), -1, 2, -12, 10},
        {HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_HE_UNIFORM), 0, he, -he * sqrt(3), he * sqrt(3)},
        {HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_HE_NORMAL), 0, he, -6 * he, 6 * he},
        {HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_HE_NORMAL, .gain = 1), 0, he / sqrt(2), -6 * he, 6 * he},
        {HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_XAVIER_UNIFORM), 0, xavier, -xavier * sqrt(3), xavier * sqrt(3)},
        {HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_XAVIER_NORMAL, .gain = 2), 0, 2 * xavier, -12 * xavier, 12 * xavier},
    };
    static double values[COUNT];
    for (size_t e = 0; e < sizeof all / sizeof *all; e++) {
        husk_error error = {0};
        test_ok_error(husk_initializer_fill(&all[e].initializer, 7, "w", 4, shape, values, &error), &error);
        double sum = 0, squares = 0;
        for (int i = 0; i < COUNT; i++) {
            ck_assert_msg(values[i] >= all[e].low - 1e-12 && values[i] <= all[e].high, "kind %zu: %g", e, values[i]);
            sum += values[i];
        }
        double mean = sum / COUNT, deviation = all[e].deviation;
        for (int i = 0; i < COUNT; i++)
            squares += (values[i] - mean) * (values[i] - mean);
        // Five standard errors: of a mean, of a normal sample's deviation.
        ck_assert_msg(fabs(mean - all[e].mean) <= 5 * deviation / sqrt(COUNT), "kind %zu: mean %g", e, mean);
        ck_assert_msg(fabs(sqrt(squares / COUNT) - deviation) <= 5 * deviation / sqrt(2.0 * COUNT),
                      "kind %zu: deviation %g for %g", e, sqrt(squares / COUNT), deviation);
    }
}
END_TEST

START_TEST(values_depend_on_seed_name_and_index_alone)
{
    husk_initializer normal = HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_NORMAL, .spread = 1);
    double a[8], b[8], c[8], d[4];
    ck_assert(!husk_initializer_fill(&normal, 1, "a", 1, (int64_t[]){8}, a, NULL));
    ck_assert(!husk_initializer_fill(&normal, 1, "b", 1, (int64_t[]){8}, b, NULL));
    ck_assert(!husk_initializer_fill(&normal, 2, "a", 1, (int64_t[]){8}, c, NULL));
    ck_assert(!husk_initializer_fill(&normal, 1, "a", 2, (int64_t[]){2, 2}, d, NULL));
    ck_assert(memcmp(a, d, sizeof d) == 0);
    for (int i = 0; i < 8; i++)
        ck_assert(a[i] != b[i] && a[i] != c[i] && isfinite(a[i]));
}
END_TEST

START_TEST(bad_ones_are_refused)
{
    double value;
    husk_error error;
    husk_initializer bad[] = {
        HUSK_INITIALIZER(.kind = (husk_initializer_kind)8),
        HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_NORMAL, .spread = -1),
        HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_CONSTANT, .value = NAN),
        {.size = sizeof(husk_initializer) + 1},
    };
    const char *words[] = {"kind 8", "negative", "finite", "size is"};
    for (int i = 0; i < 4; i++) {
        ck_assert(husk_initializer_fill(&bad[i], 0, "w", 0, NULL, &value, &error) == HUSK_INVALID_ARGUMENT);
        ck_assert_msg(strstr(error.text, "initializer: ") && strstr(error.text, words[i]), "%s", error.text);
    }
    ck_assert(husk_initializer_fill(NULL, 0, "w", 1, (int64_t[]){-1}, &value, &error) == HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strstr(error.text, "shape: "), "%s", error.text);
    ck_assert(husk_initializer_fill(NULL, 0, NULL, 0, NULL, &value, &error) == HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strstr(error.text, "name: "), "%s", error.text);
    ck_assert_str_eq(husk_initializer_kind_name(HUSK_INITIALIZER_HE_NORMAL), "he_normal");
    ck_assert_str_eq(husk_initializer_kind_name((husk_initializer_kind)99), "unknown");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("initializer");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, philox_gives_the_known_answers);
    tcase_add_test(tests, the_moments_are_those_of_the_distribution);
    tcase_add_test(tests, values_depend_on_seed_name_and_index_alone);
    tcase_add_test(tests, bad_ones_are_refused);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
