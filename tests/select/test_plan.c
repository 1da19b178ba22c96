// SPDX-License-Identifier: MIT
// ctest: tiers=default,valgrind timeout=60
// Choosing variants, the plan cache and packed weights, with an operator made of nothing but decisions.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "select/choose.h"
#include "select/plan.h"
#include "select/variant_list.h"
#include "select/state.h"
#include "support/environment.h"
#include "support/main.h"

typedef struct toy_problem {
    int64_t number;
    int64_t padding_matters_not;
} toy_problem;

static int prepared, ran, unprepared, refusals;
static const char *last_ran;

static bool supports_even(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const toy_problem *problem = candidate->problem;
    if (problem->number % 2 == 0)
        return true;
    snprintf(reason, HUSK__REASON_CAPACITY, "the number is odd");
    return false;
}

static double cost_by_configuration(const husk__candidate *candidate)
{
    return candidate->configuration->values[0];
}

static uint64_t workspace_by_number(const husk__candidate *candidate)
{
    return (uint64_t)((const toy_problem *)candidate->problem)->number * 1000;
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    (void)scope;
    ++prepared;
    plan->state = malloc(1);
    return HUSK_OK;
}

static husk_status prepare_never(husk_plan *plan, const husk__scope *scope)
{
    ++prepared;
    return husk__fail(scope, HUSK_UNSUPPORTED, "%s: too many registers", plan->variant->name);
}

static void unprepare(husk_plan *plan)
{
    ++unprepared;
    free(plan->state);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *arguments, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    (void)queue, (void)arguments, (void)scratch, (void)scope;
    ++ran;
    last_ran = plan->variant->name;
    return HUSK_OK;
}

// A launch the device refuses, as for want of registers.
static husk_status run_refused(const husk_plan *plan, husk_queue *queue, const void *arguments,
                               const husk__scratch *scratch, const husk__scope *scope)
{
    (void)plan, (void)queue, (void)arguments, (void)scratch;
    ++refusals;
    return husk__fail(scope, HUSK_UNSUPPORTED, "refused");
}

// The second launch of a run that adds to what is there: the first one has been enqueued.
static husk_buffer *late_buffer;

static husk_status run_refused_late(const husk_plan *plan, husk_queue *own, const void *arguments,
                                    const husk__scratch *scratch, const husk__scope *own_scope)
{
    (void)plan, (void)scratch, (void)arguments;
    const int32_t word = 1;
    const husk_status status = husk_buffer_fill(own, late_buffer, 0, sizeof word, &word, sizeof word);
    ++refusals;
    return status == HUSK_OK ? husk__fail(own_scope, HUSK_UNSUPPORTED, "refused late") : status;
}

static const husk__configuration wide[] = {{"wide", "", {10}}, {"narrow", "", {20}}};
static const husk__configuration one[] = {{"one", "", {5}}};
static const husk__configuration dear[] = {{"dear", "", {100}}};

static const husk__variant even = {.name = "even",
                                   .family = HUSK__FAMILY_CPU,
                                   .configurations = wide,
                                   .configuration_count = 2,
                                   .supports = supports_even,
                                   .cost = cost_by_configuration,
                                   .workspace = workspace_by_number,
                                   .prepare = prepare,
                                   .unprepare = unprepare,
                                   .run = run};
static const husk__variant broken = {.name = "broken",
                                     .family = HUSK__FAMILY_CPU,
                                     .configurations = one,
                                     .configuration_count = 1,
                                     .cost = cost_by_configuration,
                                     .prepare = prepare_never,
                                     .run = run};
static const husk__variant general = {.name = "general",
                                      .family = HUSK__FAMILY_ANY,
                                      .configurations = dear,
                                      .configuration_count = 1,
                                      .cost = cost_by_configuration,
                                      .prepare = prepare,
                                      .unprepare = unprepare,
                                      .run = run};
static const husk__variant for_gpus = {.name = "for_gpus",
                                       .family = HUSK__FAMILY_GPU,
                                       .configurations = one,
                                       .configuration_count = 1,
                                       .cost = cost_by_configuration,
                                       .prepare = prepare,
                                       .unprepare = unprepare,
                                       .run = run};
static const husk__variant refused = {.name = "refused",
                                      .family = HUSK__FAMILY_CPU,
                                      .configurations = one,
                                      .configuration_count = 1,
                                      .cost = cost_by_configuration,
                                      .prepare = prepare,
                                      .unprepare = unprepare,
                                      .run = run_refused};

static bool is_short; // of whatever the device needs for a launch

static husk_status run_if_not_short(const husk_plan *plan, husk_queue *own, const void *arguments,
                                    const husk__scratch *scratch, const husk__scope *own_scope)
{
    return is_short ? run_refused(plan, own, arguments, scratch, own_scope)
                    : run(plan, own, arguments, scratch, own_scope);
}

static const husk__variant pressed = {.name = "pressed",
                                      .configurations = wide,
                                      .configuration_count = 2,
                                      .cost = cost_by_configuration,
                                      .prepare = prepare,
                                      .unprepare = unprepare,
                                      .run = run_if_not_short};

static const husk__variant late = {.name = "late",
                                   .configurations = one,
                                   .configuration_count = 1,
                                   .cost = cost_by_configuration,
                                   .prepare = prepare,
                                   .unprepare = unprepare,
                                   .run = run_refused_late};

static bool lacks_memory;

static husk_status prepare_with_memory(husk_plan *plan, const husk__scope *own_scope)
{
    return lacks_memory ? husk__fail(own_scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory") : prepare(plan, own_scope);
}

static const husk__variant lacking = {.name = "lacking",
                                      .configurations = dear,
                                      .configuration_count = 1,
                                      .cost = cost_by_configuration,
                                      .prepare = prepare_with_memory,
                                      .unprepare = unprepare,
                                      .run = run};
static const husk__variant cheap = {.name = "cheap",
                                    .configurations = one,
                                    .configuration_count = 1,
                                    .cost = cost_by_configuration,
                                    .prepare = prepare,
                                    .unprepare = unprepare,
                                    .run = run};

// ---- a variant that is made of another operator's plan ----

static const husk__op inner, pressed_inner;
static bool is_named_inside;

static husk_status prepare_outer(husk_plan *plan, const husk__scope *own_scope)
{
    const husk__preference preference = {.variant = is_named_inside ? "refused" : NULL};
    husk_plan *inside = NULL;
    ++prepared;
    const husk__op *op = plan->configuration->values[1] ? &pressed_inner : &inner;
    const husk_status status = husk__plan_create(plan->context, op, plan->problem, &preference, &inside, own_scope);
    if (status == HUSK_OK)
        husk__plan_adopt(plan, inside);
    plan->state = inside;
    return status;
}

static void unprepare_outer(husk_plan *plan)
{
    ++unprepared;
    husk_plan_release(plan->state);
}

static const char *last_outer;

static husk_status run_outer(const husk_plan *plan, husk_queue *own, const void *arguments,
                             const husk__scratch *scratch, const husk__scope *own_scope)
{
    (void)scratch;
    last_outer = plan->configuration->name;
    return husk__plan_execute(plan->state, own, arguments, own_scope);
}

static const husk__configuration outers[] = {{"first", "", {1, 0}}, {"second", "", {2, 0}}};
static const husk__configuration presses[] = {{"press", "", {1, 1}}};

static const husk__variant outside = {.name = "outside",
                                      .configurations = outers,
                                      .configuration_count = 2,
                                      .cost = cost_by_configuration,
                                      .prepare = prepare_outer,
                                      .unprepare = unprepare_outer,
                                      .run = run_outer};
static const husk__variant pressing_outside = {.name = "pressing_outside",
                                               .configurations = presses,
                                               .configuration_count = 1,
                                               .cost = cost_by_configuration,
                                               .prepare = prepare_outer,
                                               .unprepare = unprepare_outer,
                                               .run = run_outer};
// Refused by the device once is_short, or not to be built at all.
static const husk__variant *const half_broken_variants[] = {&pressed, &broken, NULL};
static const husk__variant refused_anywhere = {.name = "refused",
                                               .configurations = one,
                                               .configuration_count = 1,
                                               .cost = cost_by_configuration,
                                               .prepare = prepare,
                                               .unprepare = unprepare,
                                               .run = run_refused};
static const husk__variant *const inner_variants[] = {&refused_anywhere, &general, NULL};
static const husk__variant *const pressed_inner_variants[] = {&pressed, NULL};
static const husk__variant *const outer_variants[] = {&outside, NULL};
static const husk__variant *const pressing_outer_variants[] = {&pressing_outside, NULL};

static void describe(const void *problem, husk__key *key)
{
    husk__key_i64(key, ((const toy_problem *)problem)->number);
}

// Weights packed for one number serve those that have the same hundreds.
static void describe_packed(const husk_plan *plan, husk__key *key)
{
    husk__key_i64(key, ((const toy_problem *)plan->problem)->number / 100);
}

static const husk__variant *const toy_variants[] = {&broken, &even, &general, &for_gpus, NULL};
static const husk__op toy = {.name = "toy",
                             .problem_size = sizeof(toy_problem),
                             .variants = toy_variants,
                             .describe = describe,
                             .packed_argument = "w",
                             .describe_packed = describe_packed};
static const husk__variant *const refusing_variants[] = {&refused, &general, NULL};
static const husk__op refusing = {
    .name = "refusing", .problem_size = sizeof(toy_problem), .variants = refusing_variants, .describe = describe};

static const husk__variant *const late_variants[] = {&late, &general, NULL};
static const husk__op refusing_late = {
    .name = "refusing_late", .problem_size = sizeof(toy_problem), .variants = late_variants, .describe = describe};

static const husk__variant *const pressed_variants[] = {&pressed, NULL};
static const husk__op pressing = {
    .name = "pressing", .problem_size = sizeof(toy_problem), .variants = pressed_variants, .describe = describe};

static const husk__variant *const lacking_variants[] = {&cheap, &lacking, NULL};
static const husk__op in_need = {
    .name = "in_need", .problem_size = sizeof(toy_problem), .variants = lacking_variants, .describe = describe};

#define OP(op_name, rows) \
    {.name = op_name, .problem_size = sizeof(toy_problem), .variants = rows, .describe = describe}
static const husk__variant *const picky_variants[] = {&even, NULL};
static const husk__variant *const hungry_variants[] = {&even, &for_gpus, NULL};
static const husk__op picky = OP("picky", picky_variants);
static const husk__op hungry = OP("hungry", hungry_variants);
static const husk__op half_broken = OP("half_broken", half_broken_variants);
static const husk__op inner = OP("inner", inner_variants);
static const husk__op pressed_inner = OP("pressed_inner", pressed_inner_variants);
static const husk__op outer = OP("outer", outer_variants);
static const husk__op pressing_outer = OP("pressing_outer", pressing_outer_variants);

static husk_context *context;
static husk_queue *queue;
static husk_error error;
static const husk__scope scope = {"toy", &error};

static int warnings;
static char warning[256]; // the last one

static void note_warning(void *user, husk_log_level level, const char *text)
{
    (void)user;
    if (level != HUSK_LOG_WARNING)
        return;
    ++warnings;
    snprintf(warning, sizeof warning, "%s", text);
}

static void open_device(void)
{
    prepared = ran = unprepared = refusals = 0;
    error = (husk_error){0};
    const husk_context_params params = HUSK_CONTEXT_PARAMS(.plan_cache_capacity = 4, .log = note_warning);
    ck_assert_msg(husk_context_create(NULL, &params, &context, &error) == HUSK_OK, "%s", error.text);
    ck_assert_int_eq(husk_queue_create(context, NULL, &queue, &error), HUSK_OK);
}

static void close_device(void)
{
    husk_queue_release(queue);
    husk_context_release(context);
}

static husk_plan *create_within(const husk__op *op, int64_t number, const char *variant, husk__limit limit)
{
    toy_problem problem = {number, 0};
    husk__preference preference = {.variant = variant, .limit = limit};
    husk_plan *plan = NULL;
    if (husk__plan_create(context, op, &problem, &preference, &plan, &scope) != HUSK_OK)
        ck_assert_ptr_null(plan);
    return plan;
}

static husk_plan *create(const husk__op *op, int64_t number, const char *variant, uint64_t limit)
{
    return create_within(op, number, variant, (husk__limit){limit, false});
}

static bool is_cpu(void)
{
    husk_device_class class = husk_context_traits(context)->device_class;
    return class == HUSK_DEVICE_CPU || class == HUSK_DEVICE_SIMULATOR;
}

START_TEST(cheapest_that_prepares_is_taken)
{
    husk_plan *plan = create(&toy, 4, NULL, 0);
    ck_assert_ptr_nonnull(plan);
    ck_assert_str_eq(husk_plan_variant(plan), is_cpu() ? "even" : "for_gpus");
    if (is_cpu()) {
        ck_assert_str_eq(husk_plan_configuration(plan), "wide");
        ck_assert_uint_eq(husk_plan_workspace(plan), 4000);
        ck_assert_int_eq(prepared, 2); // the cheaper one was tried and refused
    }
    ck_assert_int_eq(error.status, HUSK_OK); // what is not the caller's failure leaves no text
    ck_assert_str_eq(error.text, "");
    husk_plan_release(plan);
}
END_TEST

START_TEST(unsupported_and_too_hungry_fall_to_the_next)
{
    husk_plan *plan = create(&toy, 3, NULL, 0);
    if (is_cpu())
        ck_assert_str_eq(husk_plan_variant(plan), "general");
    husk_plan_release(plan);
    plan = create(&toy, 4, NULL, 3999);
    if (is_cpu())
        ck_assert_str_eq(husk_plan_variant(plan), "general");
    husk_plan_release(plan);
}
END_TEST

// A limit that nobody has asked for leaves the device to no variant of the other family.
START_TEST(a_default_limit_gives_way)
{
    const husk__limit little = {10, true};
    husk_plan *plan = create(&hungry, 4, NULL, 10);
    ck_assert_str_eq(husk_plan_variant(plan), "for_gpus");
    husk_plan_release(plan);
    plan = create_within(&hungry, 4, NULL, little);
    ck_assert_str_eq(husk_plan_variant(plan), is_cpu() ? "even" : "for_gpus");
    husk_tuning_candidate candidates[8];
    size_t count;
    ck_assert_int_eq(husk_tuning_candidates(context, plan, candidates, 8, &count, &error), HUSK_OK);
    ck_assert_str_eq(candidates[0].variant, husk_plan_variant(plan)); // who tunes it sees what can be had
    husk_plan_release(plan);
    plan = create_within(&toy, 4, NULL, little); // where another one of the family keeps to it, it holds
    ck_assert_str_eq(husk_plan_variant(plan), is_cpu() ? "general" : "for_gpus");
    husk_plan_release(plan);
    if (!is_cpu())
        return;
    plan = create_within(&picky, 4, NULL, little);
    ck_assert_str_eq(husk_plan_variant(plan), "even");
    husk_plan_release(plan);
    ck_assert_ptr_null(create(&picky, 4, NULL, 10));
    ck_assert_int_eq(error.status, HUSK_UNSUPPORTED);
}
END_TEST

// Scratch memory is one buffer.
START_TEST(more_than_a_buffer_may_have_falls_to_the_next)
{
    close_device();
    test_setenv("HUSK_LIMITS", "max_allocation=64K");
    open_device();
    husk_plan *plan = create(&toy, 64, NULL, 0);
    if (is_cpu())
        ck_assert_str_eq(husk_plan_variant(plan), "even");
    husk_plan_release(plan);
    plan = create(&toy, 66, NULL, 0);
    ck_assert_ptr_nonnull(plan);
    ck_assert_str_ne(husk_plan_variant(plan), "even");
    husk_plan_release(plan);
    ck_assert_ptr_null(create(&toy, 66, "even", 0));
    ck_assert_int_eq(error.status, HUSK_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "even needs 66000 bytes of workspace, one buffer may have 65536"));
    test_restore_environment();
}
END_TEST

START_TEST(a_named_variant_is_binding)
{
    husk_plan *plan = create(&toy, 4, "for_gpus", 0);
    ck_assert_str_eq(husk_plan_variant(plan), "for_gpus");
    husk_plan_release(plan);
    plan = create(&toy, 4, "even:narrow", 0);
    ck_assert_str_eq(husk_plan_configuration(plan), "narrow");
    husk_plan_release(plan);

    ck_assert_ptr_null(create(&toy, 3, "even", 0));
    ck_assert_int_eq(error.status, HUSK_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "the number is odd"));
    ck_assert_ptr_null(create(&toy, 4, "even", 10));
    ck_assert_ptr_nonnull(strstr(error.text, "workspace"));
    ck_assert_ptr_null(create(&toy, 4, "broken", 0));
    ck_assert_ptr_nonnull(strstr(error.text, "too many registers"));
    ck_assert_ptr_null(create(&toy, 4, "evne", 0));
    ck_assert_int_eq(error.status, HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "variant"));
    ck_assert_ptr_nonnull(strstr(error.text, "general"));
    ck_assert_ptr_null(create(&toy, 4, "even:wid", 0));
    ck_assert_int_eq(error.status, HUSK_INVALID_ARGUMENT);
}
END_TEST

START_TEST(the_limit_of_scratch_memory)
{
    const int64_t rows = 40 << 20, few = 10;
    const husk_tensor large = husk_tensor_make(NULL, HUSK_F32, 1, &rows),
                      small = husk_tensor_make(NULL, HUSK_F32, 1, &few);
    const husk_tensor *const tensors[] = {&large, NULL, &small};
    const husk_tensor narrow = husk_tensor_make(NULL, HUSK_BF16, 1, &rows);
    const husk_tensor *const halves[] = {&narrow, &small};
    ck_assert_uint_eq(husk__preference_of(NULL, 0, tensors, 3).limit.bytes, 2 * (UINT64_C(160) << 20) + 80);
    ck_assert_uint_eq(husk__preference_of(NULL, 0, tensors + 1, 2).limit.bytes, UINT64_C(64) << 20);
    ck_assert_uint_eq(husk__preference_of(NULL, 0, halves, 2).limit.bytes,
                      2 * (UINT64_C(160) << 20) + 80); // computed in f32
    ck_assert(husk__preference_of(NULL, 0, tensors, 3).limit.is_default);
    for (int i = 0; i < 2; ++i) {
        const husk__preference given = husk__preference_of(i ? "even" : NULL, 7, tensors, 3);
        ck_assert(given.limit.bytes == 7 && given.inside_limit == 7 && !given.limit.is_default);
    }
    const husk__preference named = husk__preference_of("even", 0, tensors, 3);
    ck_assert(named.limit.bytes == 0 && !named.limit.is_default); // none
}
END_TEST

static husk_status call(const husk__op *op, int64_t number, int64_t junk)
{
    toy_problem problem = {number, junk};
    husk__preference preference = {0};
    return husk__plan_immediate(queue, op, &problem, &preference, NULL, &scope);
}

START_TEST(immediate_calls_find_their_plan)
{
    husk_program_stats stats;
    for (int64_t i = 0; i < 3; ++i)
        ck_assert_int_eq(call(&toy, 8, i), HUSK_OK); // what describe leaves out does not count
    husk_context_program_stats(context, &stats);
    ck_assert_uint_eq(stats.plans, 1);
    ck_assert_uint_eq(stats.plan_hits, 2);
    ck_assert_int_eq(ran, 3);
}
END_TEST

// "As many as there are": 2^32 buckets would not be had, and no cache means no tuning and no preferences either.
START_TEST(a_capacity_without_end)
{
    husk_program_stats stats;
    close_device();
    const husk_context_params params = HUSK_CONTEXT_PARAMS(.plan_cache_capacity = UINT32_MAX);
    ck_assert_int_eq(husk_context_create(NULL, &params, &context, &error), HUSK_OK);
    ck_assert_int_eq(husk_queue_create(context, NULL, &queue, &error), HUSK_OK);
    for (int i = 0; i < 3; ++i)
        ck_assert_int_eq(call(&toy, 8, 0), HUSK_OK);
    husk_context_program_stats(context, &stats);
    ck_assert_uint_eq(stats.plan_hits, 2);
}
END_TEST

START_TEST(the_queue_says_what_its_last_call_chose)
{
    ck_assert_ptr_null(husk_queue_plan(NULL));
    ck_assert_ptr_null(husk_queue_plan(queue));
    ck_assert_int_eq(call(&toy, 8, 0), HUSK_OK);
    ck_assert_str_eq(husk_plan_variant(husk_queue_plan(queue)), is_cpu() ? "even" : "for_gpus");
    ck_assert_uint_eq(husk_plan_workspace(husk_queue_plan(queue)), is_cpu() ? 8000 : 0);
    ck_assert_int_eq(call(&toy, 9, 0), HUSK_OK);
    ck_assert_str_eq(husk_plan_variant(husk_queue_plan(queue)), is_cpu() ? "general" : "for_gpus");
    ck_assert_int_eq(call(&refusing, 1, 0), HUSK_OK); // what took the place of the refused one
    ck_assert_str_eq(husk_plan_variant(husk_queue_plan(queue)), "general");
}
END_TEST

START_TEST(the_least_recently_used_plan_goes)
{
    husk_program_stats stats;
    for (int64_t number = 0; number < 4; ++number)
        ck_assert_int_eq(call(&toy, number, 0), HUSK_OK);
    ck_assert_int_eq(call(&toy, 0, 0), HUSK_OK); // 1 is now the oldest
    ck_assert_int_eq(call(&toy, 9, 0), HUSK_OK);
    husk_context_program_stats(context, &stats);
    ck_assert_uint_eq(stats.plans, 5);
    ck_assert_int_eq(unprepared, 1);
    ck_assert_int_eq(call(&toy, 0, 0), HUSK_OK);
    ck_assert_int_eq(call(&toy, 1, 0), HUSK_OK);
    husk_context_program_stats(context, &stats);
    ck_assert_uint_eq(stats.plans, 6);
}
END_TEST

START_TEST(a_refused_launch_is_not_tried_again)
{
    ck_assert_int_eq(call(&refusing, 1, 0), HUSK_OK);
    ck_assert_str_eq(last_ran, "general");
    ck_assert_int_eq(call(&refusing, 2, 0), HUSK_OK);
    ck_assert_int_eq(refusals, is_cpu() ? 1 : 0);
    ck_assert_int_eq(error.status, HUSK_OK);
    ck_assert_str_eq(error.text, "");
}
END_TEST

// A gradient that is added, a list that is scaled in place: done again, it would be done twice.
START_TEST(a_run_that_has_begun_is_not_begun_again)
{
    toy_problem problem = {1, 0};
    husk__preference preference = {0};
    ck_assert_int_eq(husk_buffer_create(context, 64, &late_buffer, &error), HUSK_OK);
    ck_assert_int_eq(husk__plan_immediate(queue, &refusing_late, &problem, &preference, NULL, &scope),
                     HUSK_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "refused late"));
    ck_assert_int_eq(refusals, 1);
    ck_assert_int_eq(ran, 0);
    ck_assert_int_eq(husk__plan_immediate(queue, &refusing_late, &problem, &preference, NULL, &scope), HUSK_OK);
    ck_assert_int_eq(refusals, 1); // and it is not taken again
    ck_assert_str_eq(last_ran, "general");
    husk_buffer_release(late_buffer);
}
END_TEST

START_TEST(an_operator_is_not_refused_for_good)
{
    is_short = true;
    for (int i = 1; i <= 2; ++i) {
        ck_assert_int_eq(call(&pressing, 1, 0), HUSK_UNSUPPORTED);
        ck_assert_int_eq(refusals, 2 * i); // each configuration once a call
        ck_assert_str_eq(error.text, "toy: refused"); // what the device said
    }
    is_short = false;
    ck_assert_int_eq(call(&pressing, 1, 0), HUSK_OK);
    ck_assert_int_eq(refusals, 4);
    is_short = true;
    ck_assert_int_eq(call(&pressing, 1, 0), HUSK_UNSUPPORTED);
    is_short = false;
    husk_plan *plan = create(&pressing, 2, NULL, 0);
    ck_assert_ptr_nonnull(plan);
    husk_plan_release(plan);
}
END_TEST

// What else does not build is no reason that what the device has refused once is never asked again.
START_TEST(a_refused_variant_is_tried_again_where_another_does_not_build)
{
    if (!is_cpu())
        return;
    is_short = true;
    ck_assert_int_eq(call(&half_broken, 1, 0), HUSK_UNSUPPORTED);
    is_short = false;
    ck_assert_int_eq(call(&half_broken, 1, 0), HUSK_OK);
}
END_TEST

static bool is_rejected(const husk__variant *variant)
{
    return husk__rejections_have(&husk__select_state_of(context)->rejections, variant, &variant->configurations[0]);
}

// Another problem of the operator, that nothing computes, is no reason to ask again.
START_TEST(what_nothing_computes_brings_nothing_refused_back)
{
    toy_problem odd = {1, 0};
    const husk__preference preference = {0};
    husk_plan *plan;
    if (!is_cpu())
        return;
    husk__select_state *state = husk__select_state_of(context);
    husk__rejections_add(&state->rejections, state->plans, &even, &wide[0]);
    ck_assert(is_rejected(&even));
    ck_assert_int_eq(husk__plan_find(context, &picky, &odd, &preference, &plan, &scope), HUSK_UNSUPPORTED);
    ck_assert(is_rejected(&even));
}
END_TEST

// The plan inside is the one that the device refuses: what contains it goes on with another one.
START_TEST(of_plans_inside_each_other_the_innermost_is_blamed)
{
    ck_assert_int_eq(call(&outer, 1, 0), HUSK_OK);
    ck_assert_str_eq(last_outer, "first");
    ck_assert_str_eq(last_ran, "general");
    ck_assert_int_eq(refusals, 1);
    ck_assert(is_rejected(&refused_anywhere));
    ck_assert(!is_rejected(&outside));
    ck_assert_int_eq(call(&outer, 2, 0), HUSK_OK);
    ck_assert_str_eq(last_outer, "first");
    ck_assert_int_eq(refusals, 1);
}
END_TEST

START_TEST(a_plan_that_is_made_again_contains_another_one)
{
    husk_plan *plan = create(&outer, 1, NULL, 0);
    ck_assert_int_eq(husk__plan_execute(plan, queue, NULL, &scope), HUSK_UNSUPPORTED);
    husk_plan_release(plan);
    plan = create(&outer, 1, NULL, 0);
    ck_assert_int_eq(husk__plan_execute(plan, queue, NULL, &scope), HUSK_OK);
    ck_assert_str_eq(last_outer, "first");
    husk_plan_release(plan);
}
END_TEST

// A caller may run its plan again and again, whatever the device says: others keep what they have.
START_TEST(a_plan_that_is_refused_again_disturbs_nothing)
{
    husk_program_stats before, now;
    if (!is_cpu())
        return;
    husk_plan *plan = create(&refusing, 1, NULL, 0);
    ck_assert_int_eq(husk__plan_execute(plan, queue, NULL, &scope), HUSK_UNSUPPORTED);
    ck_assert_int_eq(call(&toy, 8, 0), HUSK_OK);
    husk_context_program_stats(context, &before);
    for (int i = 0; i < 1000; ++i) {
        ck_assert_int_eq(husk__plan_execute(plan, queue, NULL, &scope), HUSK_UNSUPPORTED);
        ck_assert_int_eq(call(&toy, 8, 0), HUSK_OK);
    }
    husk_context_program_stats(context, &now);
    ck_assert_uint_eq(now.plans, before.plans);
    ck_assert(is_rejected(&refused));
    ck_assert(husk__rejections_pardon(&husk__select_state_of(context)->rejections, &refusing));
    ck_assert(!is_rejected(&refused)); // it stood there once
    husk_plan_release(plan);
}
END_TEST

// What a composite has inside by name it cannot do without.
START_TEST(what_is_named_inside_is_not_blamed)
{
    is_named_inside = true;
    ck_assert_int_eq(call(&outer, 1, 0), HUSK_UNSUPPORTED);
    ck_assert_int_eq(refusals, 2); // in the first, and in the second
    ck_assert(!is_rejected(&refused_anywhere));
    is_named_inside = false;
}
END_TEST

START_TEST(a_device_that_refuses_whatever_is_inside_ends_the_call)
{
    is_short = true;
    ck_assert_int_eq(call(&pressing_outer, 1, 0), HUSK_UNSUPPORTED);
    ck_assert_str_eq(error.text, "toy: refused");
    is_short = false;
    ck_assert_int_eq(call(&pressing_outer, 1, 0), HUSK_OK);
}
END_TEST

START_TEST(a_preferred_variant_gives_way_once_refused)
{
    close_device();
    test_setenv("HUSK_VARIANT", "refusing:refused");
    open_device();
    ck_assert_int_eq(call(&refusing, 1, 0), HUSK_OK);
    ck_assert_str_eq(last_ran, "general");
    ck_assert_int_eq(refusals, 1);
    test_restore_environment();
}
END_TEST

/* Want of memory, which may be over at the next call, chooses no other one for good. */
START_TEST(a_preferred_variant_does_not_give_way_to_want_of_memory)
{
    close_device();
    test_setenv("HUSK_VARIANT", "in_need:lacking");
    open_device();
    lacks_memory = true;
    ck_assert_int_eq(call(&in_need, 1, 0), HUSK_OUT_OF_HOST_MEMORY);
    lacks_memory = false;
    ck_assert_int_eq(call(&in_need, 1, 0), HUSK_OK);
    ck_assert_str_eq(last_ran, "lacking");
    test_restore_environment();
}
END_TEST

// Of another version, or with a slip of the pen: no caller has given it.
START_TEST(a_preferred_variant_that_does_not_exist_gives_way)
{
    static const char *const preferences[] = {"toy:nonsense", "toy:even:nonsense"};
    for (int i = 0; i < 2; ++i) {
        close_device();
        test_setenv("HUSK_VARIANT", preferences[i]);
        open_device();
        warnings = 0;
        for (int again = 0; again < 2; ++again)
            ck_assert_int_eq(call(&toy, 8, 0), HUSK_OK);
        ck_assert_int_eq(warnings, 1);
        ck_assert_ptr_nonnull(strstr(warning, preferences[i] + strlen("toy:")));
        ck_assert_ptr_nonnull(strstr(warning, "there is: broken, even, general"));
        ck_assert_int_eq(error.status, HUSK_OK);
    }
    test_restore_environment();
}
END_TEST

START_TEST(preferences_in_a_list)
{
    char wanted[32];
    ck_assert(husk__variant_from_list("conv:winograd_4x4,gemm:tiled:64x64", "gemm", wanted, sizeof wanted));
    ck_assert_str_eq(wanted, "tiled:64x64");
    ck_assert(husk__variant_from_list("conv:winograd_4x4,gemm:tiled", "conv", wanted, sizeof wanted));
    ck_assert_str_eq(wanted, "winograd_4x4");
    ck_assert(!husk__variant_from_list("convolution:x", "conv", wanted, sizeof wanted));
    ck_assert(!husk__variant_from_list("conv:", "conv", wanted, sizeof wanted));
    ck_assert(!husk__variant_from_list(NULL, "conv", wanted, sizeof wanted));
}
END_TEST

START_TEST(packed_weights_fit_what_they_were_made_for)
{
    husk_plan *plan = create(&toy, 4, "even:wide", 0), *other = create(&toy, 4, "even:narrow", 0);
    husk_plan *alike = create(&toy, 6, "even:wide", 0), *unlike = create(&toy, 104, "even:wide", 0);
    husk_tensor logical = {.rank = 2, .shape = {3, 4}};
    husk_packed *packed;
    ck_assert_int_eq(husk__packed_create(plan, 100, &logical, &packed, &scope), HUSK_OK);
    ck_assert_uint_eq(husk_packed_size(packed), 100);
    husk_tensor tensor = husk_packed_tensor(packed);
    ck_assert_int_eq(tensor.shape[1], 4);
    ck_assert_ptr_eq(tensor.packed, packed);

    ck_assert_int_eq(husk__packed_check(packed, plan, &scope), HUSK_OK);
    ck_assert_int_eq(husk__packed_check(packed, alike, &scope), HUSK_OK);
    ck_assert_int_eq(husk__packed_check(packed, other, &scope), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "w: was packed for variant even:wide"));
    ck_assert_int_eq(husk__packed_check(packed, unlike, &scope), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "w: was packed for weights of another shape"));
    ck_assert_int_eq(husk__packed_check(NULL, plan, &scope), HUSK_INVALID_ARGUMENT);
    husk_plan_release(alike);
    husk_plan_release(unlike);

    husk_context *second;
    ck_assert_int_eq(husk_context_create(NULL, NULL, &second, NULL), HUSK_OK);
    husk_context *first = context;
    context = second;
    husk_plan *foreign = create(&toy, 4, "even:wide", 0);
    context = first;
    ck_assert_int_eq(husk__packed_check(packed, foreign, &scope), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "another context"));
    ck_assert_int_eq(husk__plan_check(foreign, &toy, queue, &scope), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk__plan_check(plan, &refusing, queue, &scope), HUSK_INVALID_ARGUMENT);
    husk_plan_release(foreign);
    husk_context_release(second);
    husk_packed_release(packed);
    husk_plan_release(plan);
    husk_plan_release(other);
}
END_TEST

// What lies behind a tensor's rank is nobody's.
START_TEST(a_plans_tensor_is_compared_as_far_as_its_rank)
{
    husk_tensor planned = {.rank = 2, .dtype = HUSK_F32, .shape = {3, 4}, .strides = {4, 1}}, given = planned;
    given.shape[2] = 9;
    given.strides[2] = 7;
    ck_assert_int_eq(husk__plan_check_tensor(&planned, &given, "x", &scope), HUSK_OK);
    given.strides[0] = 5;
    ck_assert_int_eq(husk__plan_check_tensor(&planned, &given, "x", &scope), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, " with other strides"));
    given = planned;
    given.dtype = HUSK_F16;
    ck_assert_int_eq(husk__plan_check_tensor(&planned, &given, "x", &scope), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_null(strstr(error.text, "strides"));
    given = planned;
    given.shape[1] = 5;
    ck_assert_int_eq(husk__plan_check_tensor(&planned, &given, "x", &scope), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "the plan was made for"));
    ck_assert_ptr_null(strstr(error.text, "strides"));
}
END_TEST

START_TEST(a_plan_keeps_its_context)
{
    husk_plan *plan = create(&toy, 4, NULL, 0);
    husk_queue_release(queue);
    husk_context_release(context);
    ck_assert_str_ne(husk_context_traits(plan->context)->name, ""); // a sanitizer would see it gone
    husk_plan_release(plan);
    open_device();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan");
    TCase *tests = tcase_create("plan");
    tcase_add_checked_fixture(tests, open_device, close_device);
    tcase_add_test(tests, cheapest_that_prepares_is_taken);
    tcase_add_test(tests, unsupported_and_too_hungry_fall_to_the_next);
    tcase_add_test(tests, a_default_limit_gives_way);
    tcase_add_test(tests, more_than_a_buffer_may_have_falls_to_the_next);
    tcase_add_test(tests, a_named_variant_is_binding);
    tcase_add_test(tests, the_limit_of_scratch_memory);
    tcase_add_test(tests, immediate_calls_find_their_plan);
    tcase_add_test(tests, a_capacity_without_end);
    tcase_add_test(tests, the_queue_says_what_its_last_call_chose);
    tcase_add_test(tests, the_least_recently_used_plan_goes);
    tcase_add_test(tests, a_refused_launch_is_not_tried_again);
    tcase_add_test(tests, a_run_that_has_begun_is_not_begun_again);
    tcase_add_test(tests, an_operator_is_not_refused_for_good);
    tcase_add_test(tests, a_refused_variant_is_tried_again_where_another_does_not_build);
    tcase_add_test(tests, what_nothing_computes_brings_nothing_refused_back);
    tcase_add_test(tests, of_plans_inside_each_other_the_innermost_is_blamed);
    tcase_add_test(tests, a_plan_that_is_made_again_contains_another_one);
    tcase_add_test(tests, a_plan_that_is_refused_again_disturbs_nothing);
    tcase_add_test(tests, what_is_named_inside_is_not_blamed);
    tcase_add_test(tests, a_device_that_refuses_whatever_is_inside_ends_the_call);
    tcase_add_test(tests, a_preferred_variant_gives_way_once_refused);
    tcase_add_test(tests, a_preferred_variant_does_not_give_way_to_want_of_memory);
    tcase_add_test(tests, a_preferred_variant_that_does_not_exist_gives_way);
    tcase_add_test(tests, preferences_in_a_list);
    tcase_add_test(tests, packed_weights_fit_what_they_were_made_for);
    tcase_add_test(tests, a_plans_tensor_is_compared_as_far_as_its_rank);
    tcase_add_test(tests, a_plan_keeps_its_context);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
