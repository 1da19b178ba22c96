// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Formulas of descriptions: what they come to, by how much a right kernel may differ, and what is refused.
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/evaluate.h"

static bench_symbols symbols;
static bench_binding bindings[BENCH_MOST_SYMBOLS];
static const float x[] = {0.1f, -2, 3, 0.5f, 1e-3f, 7, -0.25f, 11};
static const int32_t whole[] = {5, 4, 3, 2, 1, 0, -1, -2};

static int add_symbol(const char *name, bench_symbol_kind kind, bench_element element)
{
    bench_symbol *symbol = &symbols.items[symbols.count];
    *symbol = (bench_symbol){.kind = kind, .element = element};
    snprintf(symbol->name, sizeof symbol->name, "%s", name);
    return symbols.count++;
}

static void setup(void)
{
    memset(&symbols, 0, sizeof symbols);
    memset(bindings, 0, sizeof bindings);
    bindings[add_symbol("n", BENCH_SYMBOL_SIZE, BENCH_ELEMENT_INT)].integer = 8;
    bindings[add_symbol("a", BENCH_SYMBOL_ARGUMENT, BENCH_ELEMENT_FLOAT)].real = 0.5;
    const int real = add_symbol("x", BENCH_SYMBOL_BUFFER, BENCH_ELEMENT_FLOAT);
    bindings[real].data = x;
    bindings[real].count = 8;
    const int integer = add_symbol("w", BENCH_SYMBOL_BUFFER, BENCH_ELEMENT_INT);
    bindings[integer].data = whole;
    bindings[integer].count = 8;
}

// The value in float; NaN where it is refused, and then reason says why.
static bench_value evaluate(const char *text, bench_element computed_in, bool *is_integer, char *reason)
{
    bench_scan scan;
    bench_expression expression;
    bench_evaluation evaluation;
    bench_value value = {.value = NAN};
    reason[0] = '\0';
    bench_scan_begin(&scan, "f", 1, text, reason);
    if (bench_expression_parse(&scan, &symbols, &expression) && bench_scan_end(&scan)) {
        *is_integer = bench_expression_root(&expression)->is_integer;
        bench_evaluation_begin(&evaluation, &symbols, bindings, computed_in);
        if (*is_integer)
            value = (bench_value){.value = (double)bench_evaluate_integer(&evaluation, &expression)};
        else
            value = bench_evaluate(&evaluation, &expression);
        if (evaluation.has_failed) {
            snprintf(reason, BENCH_REASON_TEXT, "%s", evaluation.reason);
            value.value = NAN;
        }
    }
    bench_expression_free(&expression);
    ck_assert_int_eq(symbols.count, 4); // indices are gone
    return value;
}

static void expect_integer(const char *text, double wanted)
{
    char reason[BENCH_REASON_TEXT];
    bool is_integer = false;
    const bench_value value = evaluate(text, BENCH_ELEMENT_FLOAT, &is_integer, reason);
    ck_assert_msg(!reason[0], "%s: %s", text, reason);
    ck_assert_msg(is_integer, "%s is no whole number", text);
    ck_assert_msg(value.value == wanted, "%s is %g, not %g", text, value.value, wanted);
}

START_TEST(whole_numbers)
{
    expect_integer("1 + 2*3", 7);
    expect_integer("(1 + 2)*3", 9);
    expect_integer("-2 - -3", 1);
    expect_integer("7 // 2", 3);
    expect_integer("-7 // 2", -4);
    expect_integer("-7 % 4", 1);
    expect_integer("7 % -4", -1);
    expect_integer("(1 << 63) % 3", 1);
    expect_integer("(1 << 63) // 3", (double)-3074457345618258603);
    expect_integer("(1 << 63) // -1", (double)INT64_MIN);
    expect_integer("(1 << 63) % -1", 0);
    expect_integer("ceil(n/3)", 3);
    expect_integer("floor(7/2)", 3);
    expect_integer("ceil(n/64)*64", 64);
    expect_integer("1 << 4 | 1", 17);
    expect_integer("6 & 3 ^ 1", 3);
    expect_integer("~0", -1);
    expect_integer("n > 3 && n != 9", 1);
    expect_integer("n < 3 || !n", 0);
    expect_integer("n == 8 ? 2 : 3", 2);
    expect_integer("min(n, 3) + max(2, 9) + abs(-4) + clamp(n, 0, 5)", 21);
    expect_integer("sum(i<n, w[i])", 12);
    expect_integer("sum(2<=i<4, w[i])", 5);
    expect_integer("sum(i<2, k<3, w[i*3 + k])", 15);
    expect_integer("sum(i<n, w[i] == 3)", 1);
    expect_integer("product(1<=k<5, k)", 24);
    // As deep as an expression may be that is no deeper in parentheses.
    char wide[4000] = "1";
    for (int i = 1; i < 1000; i++)
        strcat(wide, "+1");
    expect_integer(wide, 1000);
    expect_integer("max(k<n, w[k])", 5);
    expect_integer("min(k<n, w[k])", -2);
    expect_integer("sum(k<0, w[k])", 0);
    expect_integer("uchar(300)", 44);
    expect_integer("int(x[1])", -2);
    expect_integer("0x1f + 1", 32);
    expect_integer("w[w[5]]", 5);
    expect_integer("let(a1 = w[0], a1*a1)", 25);
    expect_integer("let(b = n + 1, c = b*b, c - b) + let(b = 1, b)", 73);
    expect_integer("let(h = uchar(n*40), t = h ^ h >> 3, uchar(t << 1))", 144);
    expect_integer("sum(i<n, let(v = w[i], v > 0 ? v : 0))", 15);
    expect_integer("let(s = sum(k<n, w[k]), s + sum(k<2, s))", 36);
    // A condition leaves out what it does not take.
    expect_integer("n > 100 ? w[n] : w[0]", 5);
}
END_TEST

static void expect_real(const char *text, bench_element computed_in, double wanted, double least_error,
                        double most_error)
{
    char reason[BENCH_REASON_TEXT];
    bool is_integer = true;
    const bench_value value = evaluate(text, computed_in, &is_integer, reason);
    ck_assert_msg(!reason[0], "%s: %s", text, reason);
    ck_assert_msg(!is_integer, "%s is a whole number", text);
    ck_assert_msg(fabs(value.value - wanted) <= 1e-12 * fabs(wanted), "%s is %.17g, not %.17g", text, value.value,
                  wanted);
    ck_assert_msg(value.error >= least_error && value.error <= most_error, "%s: an error of %g is outside %g to %g",
                  text, value.error, least_error, most_error);
}

static void expect_float(const char *text, double wanted, double least_units, double most_units)
{
    const double unit = 0x1p-24 * fabs(wanted);
    expect_real(text, BENCH_ELEMENT_FLOAT, wanted, least_units * unit, most_units * unit + 1e-36);
}

// Of products of many factors no number leaves its type.
START_TEST(many_factors)
{
    char why[BENCH_REASON_TEXT];
    bool is_integer = true;
    const bench_value value = evaluate("product(k<3000000, 1e300)", BENCH_ELEMENT_INT, &is_integer, why);
    ck_assert_msg(isinf(value.value) && !why[0], "%s", why);
    ck_assert_msg(value.grain > BENCH_NO_GRAIN && value.grain < BENCH_ANY_GRAIN, "2^%d", value.grain);
}
END_TEST

START_TEST(errors)
{
    // Exact: copies, whole numbers, halves, powers of 2, choices.
    expect_float("x[0]", (double)0.1f, 0, 0);
    expect_float("2*x[0]", 2 * (double)0.1f, 0, 0);
    expect_float("a*x[1] + x[2]", 2, 0, 0);
    expect_float("x[2]/4", 0.75, 0, 0);
    expect_float("max(x[0], x[2])", 3, 0, 0);
    expect_float("abs(x[1])", 2, 0, 0);
    expect_float("floor(x[3])", 0, 0, 0);
    expect_float("x[0] > x[1] ? x[0] : x[1]", (double)0.1f, 0, 0);
    expect_float("sum(k<3, x[k+1]*w[k])", -2 * 5 + 3 * 4 + 0.5 * 3, 0, 0);
    // A rounding each.
    expect_float("x[0]*x[0]", (double)0.1f * (double)0.1f, 1, 1.001);
    expect_float("x[0] + x[5]", (double)0.1f + 7, 1, 1.001);
    expect_float("0.1*x[2]", 0.1 * 3, 1.9, 2.1); // the literal's and the product's
    expect_float("x[2]/x[5]", 3.0 / 7, 4, 5.1);  // 2.5 ulp
    expect_float("sqrt(x[2])", sqrt(3), 5, 6.1);
    expect_float("exp(x[2])", exp(3), 5, 6.1);
    // Errors of operands go through: e^x makes a relative error of an absolute one.
    expect_float("exp(x[5]*x[0])", exp(7 * (double)0.1f), 6, 7);
    expect_float("log(x[5]*x[0])", log(7 * (double)0.1f), 7, 12);
    // A sum's: 4 + 2 sqrt(n) of what the absolute terms add up to, and those of its products.
    double sum = 0, magnitude = 0;
    for (int i = 0; i < 8; i++) {
        sum += (double)x[i] * (double)x[i] * (i % 2 ? 1 : -1);
        magnitude += (double)x[i] * (double)x[i];
    }
    const double unit = 0x1p-24 * magnitude;
    expect_real("sum(k<n, x[k]*x[k]*(k%2 ? 1 : -1))", BENCH_ELEMENT_FLOAT, sum, 8 * unit, 12 * unit);
    // What is named keeps its error.
    expect_float("let(p = x[0]*x[0], p)", (double)0.1f * (double)0.1f, 1, 1.001);
    expect_float("let(p = x[0] + x[5], q = 3, x[2]/q*p)", (double)0.1f + 7, 3, 10);
    expect_float("let(v = x[0], v)", (double)0.1f, 0, 0);
    expect_float("let(i = 2, x[i])/4", 0.75, 0, 0);
    // Cancellation keeps the terms' errors.
    expect_real("x[0]*x[0] - x[0]*x[0]", BENCH_ELEMENT_FLOAT, 0, 2e-2 * 0x1p-24, 5e-2 * 0x1p-24);
    // In double the reference errs as much.
    expect_real("x[0]*x[0]*x[0]", BENCH_ELEMENT_DOUBLE, pow((double)0.1f, 3), 0x1p-53 * 1e-3, 0x1p-53 * 5e-3);
}
END_TEST

START_TEST(what_errors_decide)
{
    char reason[BENCH_REASON_TEXT];
    bool is_integer = false;
    // The product is 0.3 give or take its error, so that both answers are right, and what lies between.
    bench_value value = evaluate("x[0]*x[2] > x[0]*x[2] ? 5*a : 1*a", BENCH_ELEMENT_FLOAT, &is_integer, reason);
    ck_assert_msg(value.error >= 2, "an error of %g", value.error);
    value = evaluate("x[2]*a > 1 ? 5*a : 1*a", BENCH_ELEMENT_FLOAT, &is_integer, reason);
    ck_assert(value.value == 2.5 && value.error == 0);
    // A step within the error.
    value = evaluate("floor(x[0]*10*10)", BENCH_ELEMENT_FLOAT, &is_integer, reason);
    ck_assert_msg(value.error >= 1, "an error of %g", value.error);
    evaluate("int(x[0]*10*10)", BENCH_ELEMENT_FLOAT, &is_integer, reason);
    ck_assert_ptr_nonnull(strstr(reason, "depends on how"));
    value = evaluate("tan(x[0]*(1.5707963267948966/0.1))", BENCH_ELEMENT_FLOAT, &is_integer, reason);
    ck_assert(isinf(value.error));
    value = evaluate("1/(x[0]*x[0] - x[0]*x[0])", BENCH_ELEMENT_FLOAT, &is_integer, reason);
    ck_assert(isinf(value.error));
}
END_TEST

static void refuse(const char *text, const char *words)
{
    char reason[BENCH_REASON_TEXT];
    bool is_integer;
    evaluate(text, BENCH_ELEMENT_FLOAT, &is_integer, reason);
    ck_assert_msg(strstr(reason, words) != NULL, "%s: '%s' lacks '%s'", text, reason, words);
}

START_TEST(mistakes)
{
    refuse("", "f:1:1: a number or a name is wanted, and the line ends");
    refuse("1 +", "a number or a name is wanted, and the line ends");
    refuse("(1", "')' is wanted");
    refuse("1 2", "f:1:3: nothing is wanted here: '2'");
    refuse("y[0]", "nothing is called y");
    refuse("nn", "the nearest is n");
    refuse("sqr(2)", "the nearest is sqrt");
    refuse("x", "'[' is wanted behind a buffer");
    refuse("x[a]", "an index is a whole number");
    refuse("x[n]", "x[8] is outside: it has 8 elements");
    refuse("x[-1]", "x[-1] is outside");
    refuse("a % 2", "% is of whole numbers");
    refuse("~a", "~ is of whole numbers");
    refuse("1 // 0", "division by zero");
    refuse("1 << 64", "a shift by 64 bits");
    refuse("int(9223372036854775807.0)", "does not fit into int");
    refuse("long(9223372036854775807.0)", "does not fit into long");
    refuse("sum(n, 1)", "'<' is wanted");
    refuse("sum(n<3, 1)", "n is in use already");
    refuse("sum(k<a, 1)", "the end of the sum is a whole number");
    refuse("max(k<0, w[k])", "the smallest or largest of nothing");
    refuse("uchar(x[5]*100)", "does not fit into uchar");
    refuse("let(b, 1)", "'=' is wanted behind the name");
    refuse("let(b = 1)", "',' is wanted behind what is named");
    refuse("let(n = 1, n)", "n is in use already");
    refuse("let(b = c, c = 1, b)", "nothing is called c");
    refuse("let(b = 1, b) + b", "nothing is called b");
    refuse("let(b = 1 == 2, b", "')' is wanted behind what is computed with the names");
    refuse("let(b = x[0], w[b])", "an index is a whole number");
    refuse("1e999", "not a finite number");
    refuse("99999999999999999999", "does not fit into 64 bits");
    refuse("3x", "a number ends where a letter begins");
    refuse("$", "unexpected character '$'");
    char deep[400] = "";
    for (int i = 0; i < 100; i++)
        strcat(deep, "(");
    refuse(deep, "too deep");
    deep[0] = '\0';
    for (int i = 0; i < 100; i++)
        strcat(deep, "-");
    refuse(deep, "too deep");
    static char wide[4000] = "1";
    for (int i = 0; i < 1100; i++)
        strcat(wide, "+1");
    refuse(wide, "the expression is too long");
    bindings[bench_symbols_find(&symbols, "w")].data = NULL;
    refuse("w[0]", "what w holds is not known here");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("expression");
    TCase *tcase = tcase_create("expression");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, whole_numbers);
    tcase_add_test(tcase, many_factors);
    tcase_add_test(tcase, errors);
    tcase_add_test(tcase, what_errors_decide);
    tcase_add_test(tcase, mistakes);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
