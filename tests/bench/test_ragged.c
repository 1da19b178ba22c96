// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=300
// The suite ragged: sizes that end amid a vector, by every operator and gradient, between guard bands; in the tier long
// by every variant, too. Both have f32, the tier dtypes what else operators store.
// This program is its own worker: the parent starts it again with --worker, as clbench does.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/ops.h"
#include "cases/parse.h"
#include "cases/suite.h"
#include "cases/suites.h"
#include "support/support.h"
#include "verify/check.h"
#include "worker/husk_runner.h"
#include "worker/husk_extra.h"
#include "worker/worker.h"

enum { MOST_ROWS = 64, MOST_VARIANTS = 16 };

// How often a variant of an operator or gradient was right; entry 0 is the operator's own choice.
typedef struct tally {
    const char *op;
    int right[MOST_VARIANTS + 1];
} tally;

typedef struct sweep {
    bench_runner_process husk;
    tally tallies[MOST_ROWS];
    int wrong;
} sweep;

static bench_suite suite_of_cases;

static void setup(void)
{
    char reason[BENCH_REASON_TEXT] = "";
    ck_assert_msg(bench_suite_load("ragged", &suite_of_cases, reason), "%s", reason);
}

static void teardown(void)
{
    bench_suite_free(&suite_of_cases);
}

// ---- the suite ----

// A multiple of 4 fills vectors of 4, 8 and 16 numbers: whole ones, or the last one by itself.
static bool fills_vectors(const char *value)
{
    const size_t digits = strspn(value, "0123456789");
    const long number = strtol(value, NULL, 10);
    return digits > 0 && (value[digits] == ' ' || value[digits] == '\0') && number > 0 && number % 4 == 0;
}

START_TEST(each_size_ends_amid_a_vector)
{
    for (size_t i = 0; i < suite_of_cases.count; i++) {
        const char *line = suite_of_cases.entries[i].c.canonical;
        for (const char *at = strchr(line, '='); at; at = strchr(at + 1, '='))
            ck_assert_msg(!fills_vectors(at + 1), "%s: %s", line, at + 1);
    }
}
END_TEST

// ---- what computes it ----

static tally *tally_of(sweep *s, const char *op)
{
    size_t i = 0;
    while (i < MOST_ROWS && s->tallies[i].op && strcmp(s->tallies[i].op, op) != 0)
        i++;
    ck_assert_uint_lt(i, MOST_ROWS);
    s->tallies[i].op = op;
    return &s->tallies[i];
}

static void check_one(sweep *s, const bench_case *c, const char *variant, int *right)
{
    bench_check check;
    const bench_check_options options = {.form = variant, .max_time = 120, .compile_time = 300, .seed = 1};
    bench_check_case(&s->husk, c, &options, &check);
    if (check.state == BENCH_STATE_OK)
        *right += !json_is_true(json_object_get(check.verified, "inconclusive"));
    else if (check.state != BENCH_STATE_UNSUPPORTED) {
        fprintf(stderr, "%s, %s: %s: %s\n", c->canonical, variant ? variant : "(chosen)", bench_state_text(check.state),
                check.reason);
        s->wrong++;
    }
    bench_check_free(&check);
}

static void check_each_variant(sweep *s, const bench_case *c)
{
    const char *op = bench_op_row(c), *variant;
    tally *t = tally_of(s, op);
    check_one(s, c, NULL, &t->right[0]);
    for (size_t i = 0; !test_tier_is("default") && (variant = husk_op_variant(op, i)); i++) {
        ck_assert_uint_lt(i, MOST_VARIANTS);
        check_one(s, c, variant, &t->right[i + 1]);
    }
}

// Of an operator that has the dtype.
static bool with_dtype(const bench_case *c, const char *dtype, bench_case *out)
{
    char line[BENCH_CASE_TEXT + 16], reason[BENCH_REASON_TEXT];
    snprintf(line, sizeof line, "%s%s%s", c->canonical, dtype ? " dtype=" : "", dtype ? dtype : "");
    return (!dtype || bench_op_get(c->op)->narrows) && bench_case_parse(line, out, reason);
}

static sweep check_suite(const char *dtype)
{
    sweep s = {.wrong = 0};
    ck_assert(bench_runner_process_start(&s.husk, "husk", NULL, 1, NULL));
    ck_assert_msg(bench_runner_process_await(&s.husk, 120), "%s", s.husk.why);
    for (size_t i = 0; i < suite_of_cases.count; i++) {
        bench_case c;
        if (with_dtype(&suite_of_cases.entries[i].c, dtype, &c))
            check_each_variant(&s, &c);
    }
    bench_runner_process_stop(&s.husk);
    ck_assert_msg(s.wrong == 0, "%d results are wrong, or their calls have written outside their memory", s.wrong);
    return s;
}

// Matrix engines and CLBlast are not everywhere.
static bool may_be_absent(const char *variant)
{
    return strcmp(variant, "cpu_matrix") == 0 || strcmp(variant, "matrix") == 0 || strcmp(variant, "clblast") == 0;
}

START_TEST(every_variant_is_right)
{
    if (test_tier_is("dtypes"))
        return;
    const sweep s = check_suite(NULL);
    const char *op, *variant;
    int missing = 0;
    for (size_t i = 0; (op = husk_op_name(i)); i++) {
        const tally *t = tally_of((sweep *)&s, op);
        ck_assert_msg(t->right[0] > 0, "no case of %s is right", op);
        for (size_t k = 0; (variant = husk_op_variant(op, k)); k++) {
            if (test_tier_is("default") || t->right[k + 1] > 0 || may_be_absent(variant) || test_lacks_panels(variant))
                continue;
            fprintf(stderr, "%s: variant %s computes no case of the suite ragged\n", op, variant);
            missing++;
        }
    }
    ck_assert_msg(missing == 0 || !test_device_is_home(), "%d variants meet no such size", missing);
}
END_TEST

// A variant may refuse a dtype; an operator that has it does not.
START_TEST(every_dtype_is_right)
{
    static const char *const dtypes[] = {"f16", "bf16", "f64"};
    if (!test_tier_is("dtypes"))
        return;
    const size_t count = husk_context_has(test_context(), HUSK_FEATURE_F64) ? 3 : 2;
    for (size_t i = 0; i < count; i++) {
        const sweep s = check_suite(dtypes[i]);
        for (size_t k = 0; k < MOST_ROWS && s.tallies[k].op; k++)
            ck_assert_msg(s.tallies[k].right[0] > 0, "no case of %s in %s is right", s.tallies[k].op, dtypes[i]);
    }
}
END_TEST

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], BENCH_WORKER_ARGUMENT)) {
        const bench_worker_options options = {.runner = &bench_runner_husk, .extra = bench_husk_extra};
        return bench_worker_serve(&options);
    }
    Suite *suite = suite_create("ragged");
    TCase *tests = tcase_create("ragged");
    tcase_set_timeout(tests, 6000);
    tcase_add_unchecked_fixture(tests, setup, teardown);
    tcase_add_test(tests, each_size_ends_amid_a_vector);
    tcase_add_test(tests, every_variant_is_right);
    tcase_add_test(tests, every_dtype_is_right);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
