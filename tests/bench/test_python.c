// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Python's expressions and lists, as tuning files have them: what they come to as ours, and what is not understood.
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "spec/python.h"
#include "spec/python_list.h"

static char reason[BENCH_REASON_TEXT];

START_TEST(expressions)
{
    static const struct {
        const char *python, *ours;
    } cases[] = {
        {"1 + 2 * 3", "1 + 2 * 3"},
        {"(1 + 2) * 3", "(1 + 2) * 3"},
        {"a - (b - c)", "a - (b - c)"},
        {"a - b - c", "a - b - c"},
        {"a and b or not c", "a && b || !c"},
        {"a or b and c", "a || b && c"},
        {"(a or b) and c", "(a || b) && c"},
        {"not a == b", "!(a == b)"},
        {"not (a == 1 and b == 2)", "!(a == 1 && b == 2)"},
        {"not not a", "!!a"},
        {"1 < a <= b", "1 < a && a <= b"},
        {"a == b != c", "a == b && b != c"},
        {"a & b == c", "(a & b) == c"}, // unlike C
        {"a | b ^ c & 1 << 2", "a | b ^ c & 1 << 2"},
        {"-a ** 2", "-(a * a)"},
        {"2 ** a", "1 << a"},
        {"3 * 2**a", "3 * (1 << a)"},
        {"a**0 + a**3", "1 + a * a * a"},
        {"a // b / c", "a // b / c"},
        {"a % (b / c)", "a * c % b / c"},
        {"a + 1 if b > 2 else c", "b > 2 ? a + 1 : c"},
        {"a if b else c if a else 1", "b ? a : (a ? c : 1)"},
        {"min(a, b, 3) + max(a, b)", "min(min(a, b), 3) + max(a, b)"},
        {"int(a / b) + math.ceil(a / b)", "trunc(a / b) + ceil(a / b)"},
        {"True + False", "1 + 0"},
        {"ProblemSize[1] * 2", "64 * 2"},
        {"0x10 + 1.5e3 + ~a", "0x10 + 1.5e3 + ~a"},
    };
    const bench_python_scope scope = {.problem = {1000, 64}, .problem_count = 2};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char written[200];
        ck_assert_msg(bench_python_write(cases[i].python, &scope, written, sizeof written, reason), "%s: %s",
                      cases[i].python, reason);
        ck_assert_str_eq(written, cases[i].ours);
    }
}
END_TEST

START_TEST(mistakes_of_expressions)
{
    static const struct {
        const char *python, *words;
    } cases[] = {
        {"", "character 1: a number or a name is wanted, and the text ends"},
        {"a +", "character 4: a number or a name is wanted, and the text ends"},
        {"a b", "character 3: nothing is wanted here: 'b'"},
        {"(a", "character 3: ')' is wanted"},
        {"a in [1, 2]", "character 3: nothing is wanted here: 'in"},
        {"a == \"b\"", "character 6: a text is not understood"},
        {"a == 'b'", "character 6: unexpected character"},
        {"a = 1", "character 3: nothing is wanted here"},
        {"len(a)", "character 1: the function len is not understood"},
        {"max(a)", "max of one number, which is no parameter"},
        {"min()", "a number or a name is wanted"},
        {"a[0]", "character 1: a[ is not understood"},
        {"a.b", "character 1: a. is not understood"},
        {"None", "'None' is not understood"},
        {"lambda x: x", "'lambda' is not understood"},
        {"a ** b", "character 3: ** is not understood but of 2"},
        {"a ** 9", "** is not understood but of 2"},
        {"a if b", "'else' is wanted"},
        {"ProblemSize", "ProblemSize has 2 numbers: one of them is wanted"},
        {"ProblemSize[2]", "ProblemSize has 2 numbers, and none at 2"},
        {"ProblemSize[-1]", "none at -1"},
        {"1_000", "a number ends where a letter begins"},
        {"99999999999999999999", "does not fit into 64 bits"},
        {"((((((((((((((((((((((((((((((((((((((((((1", "the expression is too deep"},
        {"not not not not not not not not not not not not not not not not not not not not not not not not not not not "
         "not not not not not not not not not not not not not not not not 1",
         "the expression is too deep"},
        {"(((a**8)**8)**8)**8", "too long"},
    };
    const bench_python_scope scope = {.problem = {1000, 64}, .problem_count = 2};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char written[200];
        const bool is_read = bench_python_write(cases[i].python, &scope, written, sizeof written, reason);
        ck_assert_msg(!is_read, "%s is read: %s", cases[i].python, written);
        ck_assert_msg(strstr(reason, cases[i].words) != NULL, "%s: '%s' lacks '%s'", cases[i].python, reason,
                      cases[i].words);
    }
}
END_TEST

START_TEST(lists)
{
    static const struct {
        const char *python, *values; // or why not
    } cases[] = {
        {"[16, 32]", "16 32"},
        {"[16, 32,]", "16 32"},
        {"[]", ""},
        {"[-1, 2*3, 7//2]", "-1 6 3"},
        {"list(range(1, 5))", "1 2 3 4"},
        {"list(range(3))", "0 1 2"},
        {"range(32, 64+1, 16)", "32 48 64"},
        {"[i for i in range(9, 0, -4)]", "9 5 1"},
        {"[2**i for i in range(0, 4)]", "1 2 4 8"},
        {"[128+64*k for k in range(3)]", "128 192 256"},
        {"[1] + [2*i for i in range(1,3)] + list(range(1))", "1 2 4 0"},
        {"[True, False]", "1 0"},
        {"16", "character 1: this is no list"},
        {"", "character 1: this is no list"},
        {"[0.5]", "character 2: a value is a whole number"},
        {"[1/2]", "character 2: a value is a whole number"},
        {"[x]", "character 2: nothing is called x"},
        {"[j for i in range(3)]", "character 2: nothing is called j"},
        {"[i for i in [1, 2]]", "character 13: 'range' is wanted"},
        {"[i for i in range(3) if i]", "']' is wanted behind the range"},
        {"[1", "']' is wanted"},
        {"[1] * 3", "nothing is wanted here"},
        {"list([1])", "'range' is wanted"},
        {"range(1, 2, 0)", "the step of a range is not 0"},
        {"range(1, 2, 3, 4)", "range has at most three numbers"},
        {"range(10001)", "more than 10000 values"},
        {"range(9223372036854775807)", "a range goes up to"},
        {"[1//0]", "character 2: division by zero"},
        {"[2**i for i in range(65)]", "a shift by 64 bits"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t *values = NULL;
        int count = 0;
        char text[200] = "";
        if (bench_python_list(cases[i].python, &values, &count, reason)) {
            for (int k = 0; k < count; k++)
                bench_append(text, sizeof text, "%s%d", k ? " " : "", (int)values[k]);
            ck_assert_str_eq(text, cases[i].values);
        } else {
            ck_assert_msg(values == NULL && strstr(reason, cases[i].values) != NULL, "%s: '%s' lacks '%s'",
                          cases[i].python, reason, cases[i].values);
        }
        free(values);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("python");
    TCase *tcase = tcase_create("python");
    tcase_add_test(tcase, expressions);
    tcase_add_test(tcase, mistakes_of_expressions);
    tcase_add_test(tcase, lists);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
