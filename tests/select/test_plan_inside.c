// SPDX-License-Identifier: MIT
// ctest: tiers=default,valgrind timeout=60
// Scratch memory of plans inside plans: what they may take together, and how often they are made until they do. Whose
// name a failure has that is a part's.
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/call.h"
#include "select/plan.h"
#include "support/main.h"

// ---- a leaf, a nest that holds one, and a pair of a leaf and a nest ----

enum { ROOMY = 1000000, LEAN = 10, MOST_INSIDE = 2 };
static int leaves, pairs; // that were made

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *arguments, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    (void)plan, (void)queue, (void)arguments, (void)scratch, (void)scope;
    return HUSK_OK;
}

static double cost(const husk__candidate *candidate)
{
    return candidate->configuration->values[0];
}

static uint64_t workspace(const husk__candidate *candidate)
{
    return (uint64_t)candidate->configuration->values[1];
}

static husk_status prepare_leaf(husk_plan *plan, const husk__scope *scope)
{
    (void)plan, (void)scope;
    ++leaves;
    return HUSK_OK;
}

static void unprepare(husk_plan *plan)
{
    husk_plan **inside = plan->state;
    for (int i = 0; inside && i < MOST_INSIDE; ++i)
        husk_plan_release(inside[i]);
    free(inside);
}

static husk_status add(husk_plan *plan, const husk__op *op, int at, const husk__scope *scope)
{
    const uint64_t limit = husk__plan_inside_limit(plan);
    const husk__preference preference = {.limit = {limit, false}, .inside_limit = limit};
    husk_plan **inside = plan->state;
    const husk_status status = husk__plan_create(plan->context, op, plan->problem, &preference, &inside[at], scope);
    if (status == HUSK_OK)
        husk__plan_adopt(plan, inside[at]);
    return status;
}

static const husk__configuration sizes[] = {{"roomy", "", {1, ROOMY}}, {"lean", "", {2, LEAN}}};
static const husk__configuration none[] = {{"one", "", {1, 0}}};

static void describe(const void *problem, husk__key *key)
{
    husk__key_i64(key, *(const int64_t *)problem);
}

#define OP(op_name, row) \
    {.name = op_name, .problem_size = sizeof(int64_t), .variants = row, .describe = describe}
static const husk__variant leaf_variant = {.name = "leaf",
                                           .configurations = sizes,
                                           .configuration_count = 2,
                                           .cost = cost,
                                           .workspace = workspace,
                                           .prepare = prepare_leaf,
                                           .run = run};
static const husk__variant *const leaf_variants[] = {&leaf_variant, NULL};
static const husk__op leaf = OP("leaf", leaf_variants);

static husk_status make_room(husk_plan *plan, const husk__scope *scope)
{
    plan->state = calloc(MOST_INSIDE, sizeof(husk_plan *));
    return plan->state ? HUSK_OK : husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory");
}

static husk_status prepare_nest(husk_plan *plan, const husk__scope *scope)
{
    const husk_status status = make_room(plan, scope);
    return status == HUSK_OK ? add(plan, &leaf, 0, scope) : status;
}

static const husk__variant nest_variant = {.name = "nest",
                                           .configurations = none,
                                           .configuration_count = 1,
                                           .cost = cost,
                                           .prepare = prepare_nest,
                                           .unprepare = unprepare,
                                           .run = run};
static const husk__variant *const nest_variants[] = {&nest_variant, NULL};
static const husk__op nest = OP("nest", nest_variants);

static husk_status prepare_pair(husk_plan *plan, const husk__scope *scope)
{
    ++pairs;
    husk_status status = make_room(plan, scope);
    if (status == HUSK_OK)
        status = add(plan, &leaf, 0, scope);
    return status == HUSK_OK ? add(plan, &nest, 1, scope) : status;
}

static const husk__variant pair_variant = {.name = "pair",
                                           .configurations = none,
                                           .configuration_count = 1,
                                           .cost = cost,
                                           .prepare = prepare_pair,
                                           .unprepare = unprepare,
                                           .run = run};
static const husk__variant *const pair_variants[] = {&pair_variant, NULL};
static const husk__op pair = OP("pair", pair_variants);

// ---- tests ----

static husk_context *context;

static void setup(void)
{
    husk_error error = {0};
    ck_assert_msg(husk_context_create(NULL, NULL, &context, &error) == HUSK_OK, "%s", error.text);
    leaves = pairs = 0;
}

static void teardown(void)
{
    husk_context_release(context);
}

// What a pair takes within a limit, and how many were made until it did.
static void expect(uint64_t limit, husk_status status, uint64_t bytes, int most_pairs)
{
    const int64_t number = 1;
    const husk__preference preference = {.limit = {limit, false}, .inside_limit = limit};
    husk_error error = {0};
    husk_plan *plan = NULL;
    pairs = 0;
    ck_assert_int_eq(husk__plan_create(context, &pair, &number, &preference, &plan, &(husk__scope){"pair", &error}),
                     status);
    ck_assert_msg(pairs <= most_pairs, "a limit of %llu: %d pairs were made", (unsigned long long)limit, pairs);
    ck_assert_uint_eq(husk_plan_workspace(plan), bytes);
    husk_plan_release(plan);
}

// The leaf takes its memory at the first depth, the nest at the second: together they take what neither does alone, and
// only a limit below what either takes changes anything.
START_TEST(a_limit_just_below_what_plans_take_together)
{
    expect(0, HUSK_OK, 2 * ROOMY, 1);
    expect(2 * ROOMY, HUSK_OK, 2 * ROOMY, 1);
    expect(2 * ROOMY - 1, HUSK_OK, 2 * LEAN, 2);
    expect(ROOMY + LEAN, HUSK_OK, 2 * LEAN, 2);
    expect(ROOMY, HUSK_OK, 2 * LEAN, 2);
    expect(ROOMY - 1, HUSK_OK, 2 * LEAN, 1);
    expect(2 * LEAN, HUSK_OK, 2 * LEAN, 1);
}
END_TEST

START_TEST(what_does_not_fit_is_refused_soon)
{
    expect(2 * LEAN - 1, HUSK_UNSUPPORTED, 0, 2);
    expect(LEAN, HUSK_UNSUPPORTED, 0, 2);
    expect(LEAN - 1, HUSK_UNSUPPORTED, 0, 1);
    expect(1, HUSK_UNSUPPORTED, 0, 1);
}
END_TEST

static husk_status run_part(const husk_plan *plan, husk_queue *queue, const void *arguments,
                            const husk__scratch *scratch, const husk__scope *scope)
{
    (void)plan, (void)arguments, (void)scratch, (void)scope;
    return husk_buffer_write(queue, NULL, 0, 0, NULL);
}

START_TEST(a_parts_failure_begins_with_the_public_call)
{
    static const husk__variant variant = {.name = "whole",
                                          .configurations = none,
                                          .configuration_count = 1,
                                          .cost = cost,
                                          .prepare = prepare_leaf,
                                          .run = run_part};
    static const husk__variant *const variants[] = {&variant, NULL};
    static const husk__op whole = OP("whole", variants);
    const int64_t number = 1;
    const husk__preference preference = {.variant = NULL};
    husk_error error = {0};
    husk_queue *queue = NULL;
    husk__scope scope;
    ck_assert_msg(husk_queue_create(context, NULL, &queue, &error) == HUSK_OK, "%s", error.text);
    ck_assert_int_eq(husk__call_begin(queue, "husk_whole", &scope), HUSK_OK);
    ck_assert_int_eq(husk__plan_immediate(queue, &whole, &number, &preference, NULL, &scope), HUSK_INVALID_ARGUMENT);
    const husk_error *said = husk_queue_error(queue);
    ck_assert_int_eq(said->status, HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strncmp(said->text, "husk_whole: husk_buffer_write: ", 31) == 0, "%s", said->text);
    husk_queue_release(queue);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan_inside");
    TCase *tests = tcase_create("inside");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_limit_just_below_what_plans_take_together);
    tcase_add_test(tests, what_does_not_fit_is_refused_soon);
    tcase_add_test(tests, a_parts_failure_begins_with_the_public_call);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
