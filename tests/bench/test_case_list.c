// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Lists and ranges in a case: what they stand for, and what is refused with which words.
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "cases/list.h"
#include "cases/suites.h"

static bench_suite suite;

static void setup(void)
{
    memset(&suite, 0, sizeof suite);
}

static void teardown(void)
{
    bench_suite_free(&suite);
}

static void expect(const char *line, size_t count, const char *const *cases)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_suite_free(&suite);
    ck_assert_msg(bench_case_list_add(line, &suite, 1, reason), "%s: %s", line, reason);
    ck_assert_msg(suite.count == count, "%s: %zu cases", line, suite.count);
    for (size_t i = 0; i < count; i++)
        ck_assert_str_eq(suite.entries[i].c.canonical, cases[i]);
}

static void refuse(const char *line, const char *words)
{
    char reason[BENCH_REASON_TEXT] = "";
    ck_assert_msg(!bench_case_list_add(line, &suite, 1, reason), "'%s' was taken", line);
    ck_assert_msg(strstr(reason, words) != NULL, "%s: '%s' lacks '%s'", line, reason, words);
}

#define EXPECT(line, ...)                                  \
    do {                                                   \
        static const char *const cases[] = {__VA_ARGS__};  \
        expect(line, sizeof cases / sizeof *cases, cases); \
    } while (0)

START_TEST(values_of_lists_and_ranges_are_cases)
{
    EXPECT("gemm m=1 n=2 k=3", "gemm m=1 n=2 k=3");
    EXPECT("gemm m=1,16 n=2 k=3", "gemm m=1 n=2 k=3", "gemm m=16 n=2 k=3");
    EXPECT("gemm m=3..5 n=2 k=3", "gemm m=3 n=2 k=3", "gemm m=4 n=2 k=3", "gemm m=5 n=2 k=3");
    EXPECT("gemm m=7..7 n=2 k=3", "gemm m=7 n=2 k=3");
    EXPECT("gemm m=64..200+64 n=2 k=3", "gemm m=64 n=2 k=3", "gemm m=128 n=2 k=3", "gemm m=192 n=2 k=3");
    EXPECT("gemm m=256..1024*2 n=2 k=3", "gemm m=256 n=2 k=3", "gemm m=512 n=2 k=3", "gemm m=1024 n=2 k=3");
    EXPECT("gemm m=1,4..5,100..1000*10 n=2 k=3", "gemm m=1 n=2 k=3", "gemm m=4 n=2 k=3", "gemm m=5 n=2 k=3",
           "gemm m=100 n=2 k=3", "gemm m=1000 n=2 k=3");
    EXPECT("gemm m=0..1 n=2 k=3", "gemm m=0 n=2 k=3", "gemm m=1 n=2 k=3");
}
END_TEST

START_TEST(all_combinations_are_made_the_last_key_first)
{
    EXPECT("gemm m=1,2 n=3 k=4,5 act=none,relu", "gemm m=1 n=3 k=4", "gemm m=1 n=3 k=4 act=relu", "gemm m=1 n=3 k=5",
           "gemm m=1 n=3 k=5 act=relu", "gemm m=2 n=3 k=4", "gemm m=2 n=3 k=4 act=relu", "gemm m=2 n=3 k=5",
           "gemm m=2 n=3 k=5 act=relu");
    EXPECT("conv c=1 w=9 k=1 s=3 pad=0,1,0:1 stride=1,2", "conv c=1 w=9 k=1 s=3", "conv c=1 w=9 k=1 s=3 stride=2",
           "conv c=1 w=9 k=1 s=3 pad=1", "conv c=1 w=9 k=1 s=3 stride=2 pad=1", "conv c=1 w=9 k=1 s=3 pad=0:1",
           "conv c=1 w=9 k=1 s=3 stride=2 pad=0:1");
    EXPECT("gemm m=1 n=1 k=1 alpha=0.5,1,-2", "gemm m=1 n=1 k=1 alpha=0.5", "gemm m=1 n=1 k=1",
           "gemm m=1 n=1 k=1 alpha=-2");
}
END_TEST

// What comes again is counted, as two lines of a suite would be.
START_TEST(a_value_that_is_there_twice_is_counted_twice)
{
    EXPECT("gemm m=1,1 n=2 k=3", "gemm m=1 n=2 k=3");
    ck_assert_int_eq(suite.entries[0].count, 2);
}
END_TEST

START_TEST(mistakes_name_the_key_and_what_is_wrong)
{
    refuse("gemm m=8..1 n=1 k=1", "m=8..1: the range ends before it begins");
    refuse("gemm m=1..x n=1 k=1", "m=1..x: a range is of whole numbers");
    refuse("gemm m=x..2 n=1 k=1", "m=x..2: a range begins with a whole number");
    refuse("gemm m=1.. n=1 k=1", "m=1..: a range is of whole numbers");
    refuse("gemm m=1..8+ n=1 k=1", "a range is of whole numbers");
    refuse("gemm m=1..8+0 n=1 k=1", "a step of at least 1");
    refuse("gemm m=1..8*1 n=1 k=1", "m=1..8*1: a factor of at least 2");
    refuse("gemm m=0..8*2 n=1 k=1", "multiplying begins at 1");
    refuse("gemm m=1..8 n=1 k=1 alpha=0.5..2", "alpha=0.5..2: a range begins with a whole number");
    refuse("gemm m=1,,2 n=1 k=1", "m=: an item of its list is empty");
    refuse("gemm m=1, n=1 k=1", "m=: an item of its list is empty");
    refuse("gemm m=1,x n=1 k=1", "m=x: a whole number is wanted (in gemm m=x n=1 k=1)");
    refuse("gemm m=-9223372036854775807..-9223372036854775806+9223372036854775807 n=1 k=1",
           "m=-9223372036854775807: at least 0 is wanted");
    refuse("gemm m=1 n=1 k=1 act=none,rleu", "the nearest is act=relu");
    refuse("gemm m=1,2 m=3 n=1 k=1", "m is given twice");
    refuse("gemm m= n=1 k=1", "m needs a value");
    refuse("gem,conv m=1", "unknown operator 'gem,conv'");
}
END_TEST

START_TEST(products_that_are_too_long_are_refused)
{
    char reason[BENCH_REASON_TEXT] = "";
    refuse("gemm m=1..1000 n=1..1000 k=1..1000", "these lists stand for 1000000000 cases, and at most 10000");
    refuse("gemm m=1..101 n=1..100 k=1", "10100 cases");
    refuse("gemm m=1..1000000000 n=1 k=1", "m= stands for more than 10000 values");
    refuse("gemm m=1..9223372036854775807*2,1..9223372036854775807 n=1 k=1", "m= stands for more than 10000 values");
    ck_assert(bench_case_list_add("gemm m=1..100 n=1..100 k=1", &suite, 1, reason));
    ck_assert_uint_eq(suite.count, 10000);
}
END_TEST

START_TEST(suites_have_lists_and_counts)
{
    char reason[BENCH_REASON_TEXT] = "";
    ck_assert_msg(bench_suite_parse("# sizes\ngemm m=64..256*2 n=8 k=8 * 3\nsoftmax outer=1,2 axis=5 # both\n", "here",
                                    &suite, reason),
                  "%s", reason);
    ck_assert_uint_eq(suite.count, 5);
    ck_assert_str_eq(suite.entries[2].c.canonical, "gemm m=256 n=8 k=8");
    ck_assert_int_eq(suite.entries[2].count, 3);
    ck_assert_int_eq(suite.entries[4].count, 1);
    bench_suite_free(&suite);
    ck_assert(!bench_suite_parse("gemm m=1 n=1 k=1\ngemm m=4..2 n=8 k=8\n", "here", &suite, reason));
    ck_assert_ptr_nonnull(strstr(reason, "here, line 2: m=4..2: the range ends"));
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("lists");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, values_of_lists_and_ranges_are_cases);
    tcase_add_test(tests, all_combinations_are_made_the_last_key_first);
    tcase_add_test(tests, a_value_that_is_there_twice_is_counted_twice);
    tcase_add_test(tests, mistakes_name_the_key_and_what_is_wrong);
    tcase_add_test(tests, products_that_are_too_long_are_refused);
    tcase_add_test(tests, suites_have_lists_and_counts);
    Suite *all = suite_create("lists in cases");
    suite_add_tcase(all, tests);
    SRunner *runner = srunner_create(all);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
