// SPDX-License-Identifier: MIT
// ctest: timeout=600
// What every operator and gradient has beside its kernels: programs that are built ahead, and the keys by which tuning
// databases know its problems. A case of the suite smoke has a key of its own, and the same one each time; the
// optimizer's kinds alone share one, since they are arguments of one kernel.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/data.h"
#include "cases/op.h"
#include "cases/ops.h"
#include "cases/suite.h"
#include "cases/suites.h"
#include "support/support.h"
#include "worker/husk_runner.h"
#include "worker/tuning.h"

// ---- programs that are built ahead ----

static uint64_t programs_of(husk_context *context)
{
    husk_program_stats stats;
    husk_context_program_stats(context, &stats);
    return stats.builds + stats.cache_loads;
}

static uint64_t live_bytes_of(husk_context *context)
{
    husk_memory_stats stats;
    husk_context_memory_stats(context, &stats);
    return stats.live_bytes;
}

static husk_context *new_context(void)
{
    husk_error error;
    husk_context *context = NULL;
    test_ok_error(husk_context_create(NULL, NULL, &context, &error), &error);
    return context;
}

START_TEST(each_is_prewarmed)
{
    const char *name;
    for (size_t i = 0; (name = husk_op_name(i)) != NULL; i++) {
        husk_context *context = new_context();
        husk_error error;
        const char *const ops[] = {name, name};
        husk_status status = husk_context_prewarm(context, ops, 1, &error);
        ck_assert_msg(status == HUSK_OK, "%s: %s", name, error.text);
        const uint64_t built = programs_of(context);
        ck_assert_msg(built > 0 && built <= 16, "%s: %llu programs", name, (unsigned long long)built);
        ck_assert_msg(live_bytes_of(context) == 0, "%s: %llu bytes stay", name,
                      (unsigned long long)live_bytes_of(context));
        status = husk_context_prewarm(context, ops, 2, &error); // by two threads at once
        ck_assert_msg(status == HUSK_OK, "%s: %s", name, error.text);
        ck_assert_msg(programs_of(context) == built, "%s: %llu programs, and %llu the second time", name,
                      (unsigned long long)built, (unsigned long long)programs_of(context));
        husk_context_release(context);
    }
}
END_TEST

// All at once: those of inference, each in a thread.
START_TEST(all_are_prewarmed)
{
    husk_context *context = new_context();
    husk_error error;
    const char *name;
    test_ok_error(husk_context_prewarm(context, NULL, 0, &error), &error);
    const uint64_t built = programs_of(context);
    for (size_t i = 0; (name = husk_op_name(i)) != NULL; i++)
        if (!strstr(name, "_backward"))
            test_ok_error(husk_context_prewarm(context, &name, 1, &error), &error);
    ck_assert_uint_eq(programs_of(context), built);
    ck_assert_uint_eq(live_bytes_of(context), 0);
    husk_context_release(context);
}
END_TEST

START_TEST(what_cannot_be_prewarmed)
{
    static const char *const unknown[] = {"softmax", "sofmax"}, *const none[] = {NULL};
    husk_context *context = new_context();
    husk_error error;
    test_refused_error(husk_context_prewarm(context, unknown, 2, &error), &error, HUSK_INVALID_ARGUMENT, "ops");
    ck_assert_ptr_nonnull(strstr(error.text, "sofmax"));
    test_refused_error(husk_context_prewarm(context, none, 1, &error), &error, HUSK_INVALID_ARGUMENT, "ops");
    test_refused_error(husk_context_prewarm(context, NULL, 2, &error), &error, HUSK_INVALID_ARGUMENT, "ops");
    test_ok_error(husk_context_prewarm(context, unknown, 0, &error), &error); // an empty list
    ck_assert_uint_eq(programs_of(context), 0);
    husk_context_release(context);
}
END_TEST

// ---- names ----

START_TEST(names_in_lists)
{
    const char *op, *variant, *configuration;
    for (size_t i = 0; (op = husk_op_name(i)) != NULL; i++) {
        size_t variants = 0;
        for (; (variant = husk_op_variant(op, variants)) != NULL; variants++) {
            size_t count = 0;
            for (; (configuration = husk_op_configuration(op, variant, count)) != NULL; count++)
                for (size_t k = 0; k < count; k++)
                    ck_assert_str_ne(configuration, husk_op_configuration(op, variant, k));
            ck_assert_msg(count > 0, "%s, variant %s: no configuration", op, variant);
            ck_assert_ptr_null(husk_op_configuration(op, variant, count + 1));
            for (size_t k = 0; k < variants; k++)
                ck_assert_str_ne(variant, husk_op_variant(op, k));
        }
        ck_assert_msg(variants > 0, "%s: no variant", op);
        ck_assert_ptr_null(husk_op_variant(op, variants + 1));
        ck_assert_ptr_null(husk_op_configuration(op, "no such", 0));
        ck_assert_ptr_null(husk_op_configuration(op, NULL, 0));
    }
    ck_assert_ptr_null(husk_op_name(1000));
    ck_assert_ptr_null(husk_op_variant("no such", 0));
    ck_assert_ptr_null(husk_op_variant(NULL, 0));
    ck_assert_ptr_null(husk_op_configuration("no such", "tiled", 0));
    ck_assert_ptr_null(husk_op_configuration(NULL, "tiled", 0));
}
END_TEST

// What is not there has no name, takes nothing, and may be released.
START_TEST(nothing)
{
    ck_assert_str_eq(husk_plan_variant(NULL), "");
    ck_assert_str_eq(husk_plan_configuration(NULL), "");
    ck_assert_uint_eq(husk_plan_workspace(NULL), 0);
    ck_assert_double_eq(husk_plan_executed_flops(NULL), 0.0);
    ck_assert_double_eq(husk_plan_error_factor(NULL), 0.0);
    ck_assert_ptr_null(husk_queue_plan(NULL));
    ck_assert_uint_eq(husk_packed_size(NULL), 0);
    ck_assert_ptr_null(husk_packed_tensor(NULL).buffer);
    ck_assert_ptr_null(husk_packed_tensor(NULL).packed);
    husk_plan_retain(NULL);
    husk_plan_release(NULL);
    husk_packed_retain(NULL);
    husk_packed_release(NULL);
    husk_context_retain(NULL);
    husk_context_release(NULL);
    husk_queue_release(NULL);
    husk_buffer_release(NULL);
    husk_event_release(NULL);
    husk_device_list_release(NULL);
}
END_TEST

// ---- keys ----

typedef struct known {
    husk_tuning_key key;
    char text[BENCH_CASE_TEXT];
} known;

// What clbench tune is told: the same, and nothing to choose where several operators compute the case.
static void expect_told(bench_husk_session *session, const bench_case *c, const husk_tuning_key *key)
{
    char reason[BENCH_REASON_TEXT] = "";
    const bench_op *op = bench_op_get(c->op);
    const bool is_composed = op->is_composed && op->is_composed(c);
    json_t *told = bench_tuning_json(session, reason);
    ck_assert_msg(told != NULL, "%s: %s", c->canonical, reason);
    ck_assert_str_eq(json_string_value(json_object_get(told, "device")), key->device);
    ck_assert_str_eq(json_string_value(json_object_get(told, "op")), is_composed ? "" : key->op);
    ck_assert_str_eq(json_string_value(json_object_get(told, "problem")), is_composed ? "" : key->problem);
    ck_assert_int_eq(json_array_size(json_object_get(told, "candidates")) == 0, is_composed);
    json_decref(told);
}

// What the case is by its key, after a run; false where the device has none of its dtype.
static bool key_of(bench_husk_session *session, const bench_case *c, husk_tuning_key *key)
{
    static const bench_prepare_options options;
    char reason[BENCH_REASON_TEXT] = "";
    bench_data data;
    void *state;
    husk_error error;
    ck_assert_msg(bench_data_make(c, &data, reason), "%s: %s", c->canonical, reason);
    const bench_answer answer = bench_runner_husk.prepare(session, c, &data, &options, &state, reason);
    ck_assert_msg(answer == BENCH_OK || answer == BENCH_UNSUPPORTED, "%s: %s", c->canonical, reason);
    if (answer == BENCH_OK) {
        const bench_husk_job *job = bench_husk_job_of(state);
        ck_assert_msg(bench_runner_husk.run(state, reason) == BENCH_OK, "%s: %s", c->canonical, reason);
        const husk_plan *plan = job->plan ? job->plan : husk_queue_plan(job->queue);
        test_ok_error(husk_tuning_key_get(job->context, plan, key, &error), &error);
        expect_told(session, c, key);
        bench_runner_husk.release(state);
    }
    bench_data_free(c, &data);
    return answer == BENCH_OK;
}

static int compare_known(const void *a, const void *b)
{
    const known *one = a, *other = b;
    const int by_op = strcmp(one->key.op, other->key.op);
    return by_op ? by_op : strcmp(one->key.problem, other->key.problem);
}

START_TEST(a_key_is_a_problems_own)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_suite suite;
    void *opened = NULL;
    const bench_open_options open = {.device = NULL};
    ck_assert_msg(bench_suite_load("smoke", &suite, reason), "%s", reason);
    ck_assert_msg(bench_runner_husk.open(&open, &opened, reason) == BENCH_OK, "%s", reason);
    known *all = calloc(suite.count, sizeof *all);
    size_t count = 0;
    ck_assert_ptr_nonnull(all);
    for (size_t i = 0; i < suite.count; i++) {
        const bench_case *c = &suite.entries[i].c;
        husk_tuning_key again;
        known *now = &all[count];
        if (!key_of(opened, c, &now->key))
            continue;
        snprintf(now->text, sizeof now->text, "%s", c->canonical);
        ck_assert(key_of(opened, c, &again));
        ck_assert_str_eq(now->key.problem, again.problem);
        ck_assert_str_eq(now->key.shape_class, again.shape_class);
        ck_assert_str_eq(now->key.variant, again.variant);
        const char *kind = c->packed ? "plan " : "call ";
        ck_assert_msg(strncmp(now->key.shape_class, kind, strlen(kind)) == 0 &&
                          strlen(now->key.shape_class) > strlen(kind),
                      "%s: the class is \"%s\"", now->text, now->key.shape_class);
        ck_assert_msg(strncmp(now->key.problem, kind, strlen(kind)) == 0, "%s: %s", now->text, now->key.problem);
        count++;
    }
    qsort(all, count, sizeof *all, compare_known);
    for (size_t i = 1; i < count; i++)
        ck_assert_msg(compare_known(&all[i - 1], &all[i]) != 0 || strcmp(all[i].key.op, "optimizer") == 0,
                      "one key for two problems: %s and %s", all[i - 1].text, all[i].text);
    printf("%zu keys\n", count);
    ck_assert_uint_gt(count, 100);
    free(all);
    bench_suite_free(&suite);
    bench_runner_husk.close(opened);
}
END_TEST

// ---- plans ----

// What the next calls find where they have nothing written yet.
__attribute__((noinline)) static void soil_stack(int with)
{
    char stack[256 * 1024];
    memset(stack, with, sizeof stack);
    __asm__ volatile("" : : "r"(stack) : "memory");
}

static uint64_t plans_of(husk_context *context)
{
    husk_program_stats stats;
    husk_context_program_stats(context, &stats);
    return stats.plans;
}

// A case's call, made again with other buffers, whatever lies on the stack: a part of a plan's key that nobody has
// written would be of that, or of the addresses that were there before.
static bool expect_found(bench_husk_session *session, const bench_case *c)
{
    enum { TIMES = 3 };
    static const bench_prepare_options options;
    static const int soils[TIMES] = {0x00, 0xff, 0x5a};
    char reason[BENCH_REASON_TEXT] = "";
    bench_data data;
    void *states[TIMES];
    uint64_t plans = 0;
    int count = 0;
    ck_assert_msg(bench_data_make(c, &data, reason), "%s: %s", c->canonical, reason);
    while (count < TIMES && bench_runner_husk.prepare(session, c, &data, &options, &states[count], reason) == BENCH_OK)
        count++;
    ck_assert_msg(count == 0 || count == TIMES, "%s: %s", c->canonical, reason);
    for (int i = 0; i < count; i++) {
        const bench_husk_job *job = bench_husk_job_of(states[i]);
        soil_stack(soils[i]);
        ck_assert_msg(bench_runner_husk.run(states[i], reason) == BENCH_OK, "%s: %s", c->canonical, reason);
        ck_assert_msg(i == 0 || plans_of(job->context) == plans, "%s: a call that was made before has found no plan",
                      c->canonical);
        plans = plans_of(job->context);
    }
    for (int i = 0; i < count; i++)
        bench_runner_husk.release(states[i]);
    bench_data_free(c, &data);
    return count > 0;
}

START_TEST(a_call_made_again_finds_its_plan)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_suite suite;
    void *opened = NULL;
    const bench_open_options open = {.device = NULL};
    size_t count = 0;
    ck_assert_msg(bench_suite_load("smoke", &suite, reason), "%s", reason);
    ck_assert_msg(bench_runner_husk.open(&open, &opened, reason) == BENCH_OK, "%s", reason);
    for (size_t i = 0; i < suite.count; i++)
        count += expect_found(opened, &suite.entries[i].c);
    ck_assert_uint_gt(count, 100);
    bench_suite_free(&suite);
    bench_runner_husk.close(opened);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("every_op");
    TCase *tests = tcase_create("every_op");
    tcase_set_timeout(tests, 1800);
    tcase_add_test(tests, each_is_prewarmed);
    tcase_add_test(tests, all_are_prewarmed);
    tcase_add_test(tests, what_cannot_be_prewarmed);
    tcase_add_test(tests, names_in_lists);
    tcase_add_test(tests, nothing);
    tcase_add_test(tests, a_key_is_a_problems_own);
    tcase_add_test(tests, a_call_made_again_finds_its_plan);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
