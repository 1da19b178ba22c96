// SPDX-License-Identifier: MIT
// ctest: tiers=default,valgrind timeout=120
// Tuning databases: how they are read, whom they speak for, and what is done where they are wrong.
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <husk/husk.h>

#include "os/private.h"
#include "os/read_file.h"
#include "select/plan.h"
#include "select/state.h"
#include "select/tuning.h"
#include "select/tuning_file.h"
#include "select/tuning_key.h"
#include "support/environment.h"
#include "support/main.h"

// ---- an operator made of nothing but choices ----

typedef struct toy_problem {
    int64_t number;
} toy_problem;

static bool supports_small(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    if (((const toy_problem *)candidate->problem)->number < 1000)
        return true;
    snprintf(reason, HUSK__REASON_CAPACITY, "the number is large");
    return false;
}

static double cost(const husk__candidate *candidate)
{
    return candidate->configuration->values[0];
}

static uint64_t workspace(const husk__candidate *candidate)
{
    return (uint64_t)candidate->configuration->values[1];
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    (void)scope;
    plan->state = malloc(1);
    return HUSK_OK;
}

static husk_status prepare_never(husk_plan *plan, const husk__scope *scope)
{
    (void)plan;
    return husk__fail(scope, HUSK_BUILD_FAILED, "it does not build");
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *arguments, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    (void)plan, (void)queue, (void)arguments, (void)scratch, (void)scope;
    return HUSK_OK;
}

static const husk__configuration few[] = {{"one", "", {1}}, {"two", "", {2}}, {"three", "", {3, 5000}}};
static const husk__configuration one[] = {{"one", "", {50}}};
static const husk__variant plain = {.name = "plain",
                                    .configurations = few,
                                    .configuration_count = 3,
                                    .cost = cost,
                                    .workspace = workspace,
                                    .prepare = prepare,
                                    .run = run};
static const husk__variant small = {.name = "small",
                                    .configurations = one,
                                    .configuration_count = 1,
                                    .cost = cost,
                                    .supports = supports_small,
                                    .prepare = prepare,
                                    .run = run};
static const husk__variant broken = {.name = "broken",
                                     .configurations = one,
                                     .configuration_count = 1,
                                     .cost = cost,
                                     .prepare = prepare_never,
                                     .run = run};

static void describe(const void *problem, husk__key *key)
{
    husk__key_i64(key, ((const toy_problem *)problem)->number);
}

static void classify(const void *problem, husk__text *text)
{
    husk__class_size(text, "number", ((const toy_problem *)problem)->number);
}

static const husk__variant *const variants[] = {&plain, &small, &broken, NULL};
static const husk__op toy = {.name = "toy",
                             .problem_size = sizeof(toy_problem),
                             .variants = variants,
                             .describe = describe,
                             .classify = classify};

// ---- a context, and what its log says ----

static husk_context *context;
static husk_queue *queue;
static husk_error error;
static const husk__scope scope = {"toy", &error};
static char log_text[1 << 16];
static char folder[] = "/tmp/husk-test-tuning-XXXXXX";

static void keep_log(void *user, husk_log_level level, const char *text)
{
    (void)user, (void)level;
    size_t used = strlen(log_text);
    snprintf(log_text + used, sizeof log_text - used, "%s\n", text);
}

static void open_context(void)
{
    log_text[0] = 0;
    error = (husk_error){0};
    ck_assert_msg(husk_context_create(NULL, &HUSK_CONTEXT_PARAMS(.log = keep_log), &context, &error) == HUSK_OK, "%s",
                  error.text);
    ck_assert_int_eq(husk_queue_create(context, NULL, &queue, &error), HUSK_OK);
}

static void close_context(void)
{
    husk_queue_release(queue);
    husk_context_release(context);
}

static void begin(void)
{
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    test_setenv("XDG_DATA_HOME", folder);
    test_setenv("HUSK_TUNING", NULL);
    open_context();
}

static void end(void)
{
    char command[200];
    close_context();
    test_restore_environment();
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static void reopen(void)
{
    close_context();
    open_context();
}

// ---- entries ----

typedef struct entry {
    const char *device, *driver, *family, *kernels; // NULL: this device's
    int64_t number;
    const char *kind; // NULL: "plan"
    const char *state, *variant;
} entry;

static void key_of(int64_t number, bool is_call, husk_tuning_key *key)
{
    toy_problem problem = {number};
    husk__tuning_key_device(husk_context_traits(context), key);
    ck_assert(husk__tuning_key_problem(&toy, &problem, is_call, key, NULL));
    husk__tuning_kernels(&toy, key->kernels);
}

static void append_entry(char *text, size_t size, const entry *e)
{
    husk_tuning_key key;
    size_t used = strlen(text);
    key_of(e->number, e->kind && !strcmp(e->kind, "call"), &key);
    snprintf(text + used, size - used,
             "%s{\"device\": \"%s\", \"platform\": \"%s\", \"driver\": \"%s\", \"family\": \"%s\",\n \"op\": \"toy\", "
             "\"problem\": \"%s\", \"class\": \"%s\", \"kernels\": \"%s\", \"state\": \"%s\", \"variant\": \"%s\", "
             "\"median_ns\": 12.5, \"more\": [1, {\"a\": null}]}",
             text[used - 1] == '[' ? "" : ",\n", e->device ? e->device : key.device, key.platform,
             e->driver ? e->driver : key.driver, e->family ? e->family : key.family, key.problem, key.shape_class,
             e->kernels ? e->kernels : key.kernels, e->state ? e->state : "tuned", e->variant);
}

static char document[1 << 15];

static const char *write_document(const entry *entries, size_t count)
{
    strcpy(document, "{\"schema\": \"husk-tuning/1\", \"entries\": [");
    for (size_t i = 0; i < count; ++i)
        append_entry(document, sizeof document, &entries[i]);
    strcat(document, "]}\n");
    return document;
}

static void load(const entry *entries, size_t count)
{
    husk_tuning_params params = HUSK_TUNING_PARAMS(.text = write_document(entries, count));
    husk_status status = husk_context_load_tuning(context, &params, &error);
    ck_assert_msg(status == HUSK_OK, "%s\n%s", error.text, document);
}

#define LOAD(...) load((const entry[]){__VA_ARGS__}, sizeof((const entry[]){__VA_ARGS__}) / sizeof(entry))

static husk_plan *create(int64_t number, const char *variant, uint64_t limit)
{
    toy_problem problem = {number};
    husk__preference preference = {.variant = variant, .limit.bytes = limit};
    husk_plan *plan = NULL;
    husk_status status = husk__plan_create(context, &toy, &problem, &preference, &plan, &scope);
    ck_assert_msg(status == HUSK_OK, "%s", error.text);
    return plan;
}

static void expect(int64_t number, const char *variant, husk_choice choice)
{
    husk_plan *plan = create(number, NULL, 0);
    char got[100];
    snprintf(got, sizeof got, "%s:%s", husk_plan_variant(plan), husk_plan_configuration(plan));
    ck_assert_str_eq(got, variant);
    ck_assert_str_eq(husk_choice_text(husk_plan_choice(plan)), husk_choice_text(choice));
    husk_plan_release(plan);
}

static void write_file(const char *path, const char *text, size_t size)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, size, file), size);
    fclose(file);
}

// ---- the order of choice ----

START_TEST(the_user_comes_before_the_database_and_it_before_the_prediction)
{
    expect(100, "plain:one", HUSK_CHOICE_PREDICTED);
    LOAD({.number = 100, .variant = "plain:two"});
    expect(100, "plain:two", HUSK_CHOICE_TUNED);
    husk_plan *plan = create(100, "small", 0);
    ck_assert_str_eq(husk_plan_variant(plan), "small");
    ck_assert_int_eq(husk_plan_choice(plan), HUSK_CHOICE_NAMED);
    husk_plan_release(plan);

    test_setenv("HUSK_VARIANT", "toy:small");
    reopen();
    LOAD({.number = 100, .variant = "plain:two"}, {.number = 2000, .variant = "plain:two"});
    expect(100, "small:one", HUSK_CHOICE_ENVIRONMENT);
    expect(2000, "plain:two", HUSK_CHOICE_TUNED); // the preferred one cannot compute it
}
END_TEST

START_TEST(device_before_family_and_problem_before_class)
{
    LOAD({.number = 100, .variant = "small:one", .device = "a cousin"});
    expect(100, "small:one", HUSK_CHOICE_FAMILY);
    expect(101, "small:one", HUSK_CHOICE_FAMILY_CLASS); // 64 to 127
    expect(200, "plain:one", HUSK_CHOICE_PREDICTED);
    LOAD({.number = 110, .variant = "plain:three"});
    expect(100, "plain:three", HUSK_CHOICE_TUNED_CLASS);
    LOAD({.number = 100, .variant = "plain:two"});
    expect(100, "plain:two", HUSK_CHOICE_TUNED);
    expect(110, "plain:three", HUSK_CHOICE_TUNED);
    // The class does not agree any more.
    expect(120, "small:one", HUSK_CHOICE_FAMILY_CLASS);
}
END_TEST

START_TEST(other_families_drivers_and_kernels_do_not_count)
{
    husk_tuning_stats before, stats; // the defaults may know this device
    ck_assert_int_eq(husk_context_tuning_stats(context, &before, &error), HUSK_OK);
    LOAD({.number = 100, .variant = "plain:two", .family = "something else"},
         {.number = 100, .variant = "plain:three", .kernels = "00000000000000000000000000000000"});
    expect(100, "plain:one", HUSK_CHOICE_PREDICTED);
    LOAD({.number = 100, .variant = "plain:two", .driver = "an older one"});
    expect(100, "plain:two", HUSK_CHOICE_FAMILY);

    ck_assert_int_eq(husk_context_tuning_stats(context, &stats, &error), HUSK_OK);
    ck_assert_uint_eq(stats.entries, before.entries + 3);
    ck_assert_uint_eq(stats.device, before.device + 1);
    ck_assert_uint_eq(stats.family, before.family + 1);
}
END_TEST

START_TEST(a_measured_prediction_stands)
{
    LOAD({.number = 100, .variant = "plain:one", .state = "kept"},
         {.number = 100, .variant = "plain:two", .device = "a cousin"}, {.number = 110, .variant = "plain:two"});
    expect(100, "plain:one", HUSK_CHOICE_PREDICTED);
    expect(111, "plain:two", HUSK_CHOICE_FAMILY_CLASS); // on this device the class does not agree
    LOAD({.number = 111, .variant = "plain:one", .state = "kept"}, {.number = 120, .variant = "plain:one"},
         {.number = 110, .variant = "plain:one", .state = "kept"});
    expect(112, "plain:one", HUSK_CHOICE_TUNED_CLASS); // now it does; what was superseded has no say
}
END_TEST

START_TEST(calls_and_plans_are_tuned_apart)
{
    toy_problem problem = {100};
    husk__preference preference = {0};
    husk_plan *plan;
    LOAD({.number = 100, .variant = "plain:two", .kind = "call"});
    expect(100, "plain:one", HUSK_CHOICE_PREDICTED);
    ck_assert_int_eq(husk__plan_find(context, &toy, &problem, &preference, &plan, &scope), HUSK_OK);
    ck_assert_str_eq(husk_plan_configuration(plan), "two");

    husk_tuning_key key;
    ck_assert_int_eq(husk_tuning_key_get(context, plan, &key, &error), HUSK_OK);
    husk_plan_release(plan);
    ck_assert_str_eq(key.op, "toy");
    ck_assert_str_eq(key.variant, "plain:two");
    ck_assert_str_eq(key.shape_class, "call number=64+");
    ck_assert_int_eq(strncmp(key.problem, "call ", 5), 0);
    ck_assert_uint_eq(strlen(key.kernels), 32);
}
END_TEST

START_TEST(what_cannot_be_taken_is_passed_over)
{
    LOAD({.number = 100, .variant = "no_such:one"}, {.number = 200, .variant = "plain:no_such"},
         {.number = 300, .variant = "broken:one"}, {.number = 2000, .variant = "small:one"},
         {.number = 400, .variant = ""}, {.number = 401, .variant = ":"}, {.number = 500, .variant = "plain:three"});
    int64_t numbers[] = {100, 200, 300, 2000, 400, 401};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
        expect(numbers[i], "plain:one", HUSK_CHOICE_PREDICTED);
        ck_assert_int_eq(error.status, HUSK_OK);
    }
    ck_assert_ptr_nonnull(strstr(log_text, "no_such:one of toy is not taken"));
    ck_assert_ptr_nonnull(strstr(log_text, "it does not build"));
    ck_assert_ptr_nonnull(strstr(log_text, "the number is large"));
    expect(500, "plain:three", HUSK_CHOICE_TUNED);
    husk_plan *plan = create(500, NULL, 4999); // it needs 5000 bytes of workspace
    ck_assert_str_eq(husk_plan_configuration(plan), "one");
    husk_plan_release(plan);
}
END_TEST

START_TEST(the_next_suggestion_takes_the_place_of_one_that_fails)
{
    LOAD({.number = 100, .variant = "broken:one"}, {.number = 100, .variant = "plain:two", .device = "a cousin"});
    expect(100, "plain:two", HUSK_CHOICE_FAMILY);
}
END_TEST

START_TEST(what_computed_wrongly_is_not_taken)
{
    LOAD({.number = 7, .variant = "plain:one", .state = "wrong"},
         {.number = 100, .variant = "plain:two", .state = "wrong", .driver = "an older one"},
         {.number = 100, .variant = "plain:one"});
    expect(100, "plain:two", HUSK_CHOICE_PREDICTED); // wrong once is wrong everywhere, with this driver
    husk_plan *plan = create(100, "plain:one", 0);   // named, it is the caller's own choice
    husk_plan_release(plan);
    // Nothing is left that could compute this one right.
    toy_problem problem = {2000};
    const husk__preference preference = {0};
    LOAD({.number = 7, .variant = "plain:two", .state = "wrong"},
         {.number = 7, .variant = "plain:three", .state = "wrong"});
    ck_assert_int_eq(husk__plan_create(context, &toy, &problem, &preference, &plan, &scope), HUSK_UNSUPPORTED);
    ck_assert_msg(strstr(error.text, "a tuning database says that plain:one computes wrongly"), "%s", error.text);
}
END_TEST

START_TEST(loading_chooses_anew)
{
    toy_problem problem = {100};
    husk__preference preference = {0};
    husk_plan *plan, *held = create(100, NULL, 0);
    husk_program_stats stats;
    for (int i = 0; i < 3; ++i) {
        ck_assert_int_eq(husk__plan_find(context, &toy, &problem, &preference, &plan, &scope), HUSK_OK);
        ck_assert_str_eq(husk_plan_configuration(plan), "one");
        husk_plan_release(plan);
    }
    LOAD({.number = 100, .variant = "plain:two", .kind = "call"});
    for (int i = 0; i < 3; ++i) {
        ck_assert_int_eq(husk__plan_find(context, &toy, &problem, &preference, &plan, &scope), HUSK_OK);
        ck_assert_str_eq(husk_plan_configuration(plan), "two");
        husk_plan_release(plan);
    }
    husk_context_program_stats(context, &stats);
    ck_assert_uint_eq(stats.plans, 2);
    ck_assert_uint_eq(stats.plan_hits, 4);
    ck_assert_str_eq(husk_plan_configuration(held), "one");
    husk_plan_release(held);

    // One that was chosen before and comes to the cache afterwards is not kept.
    husk__plan_cache *cache = husk__select_state_of(context)->plans;
    husk__key key = {.size = 1};
    uint64_t age = husk__plan_cache_age(cache);
    plan = create(3, NULL, 0);
    husk__plan_cache_forget(cache);
    husk__plan_cache_put(cache, &key, plan, age);
    ck_assert_ptr_null(husk__plan_cache_get(cache, &key));
    husk_plan_release(plan);
}
END_TEST

// Those of the other family come last, by their prediction, too.
START_TEST(foreign_candidates_come_by_their_prediction)
{
    static const husk__configuration two[] = {{"slow", "", {7}}, {"fast", "", {5}}};
    static const husk__variant by_cpus = {.name = "by_cpus",
                                          .family = HUSK__FAMILY_CPU,
                                          .configurations = two,
                                          .configuration_count = 2,
                                          .cost = cost,
                                          .prepare = prepare,
                                          .run = run};
    static const husk__variant by_gpus = {.name = "by_gpus",
                                          .family = HUSK__FAMILY_GPU,
                                          .configurations = two,
                                          .configuration_count = 2,
                                          .cost = cost,
                                          .prepare = prepare,
                                          .run = run};
    static const husk__variant *const both[] = {&by_cpus, &by_gpus, NULL};
    static const husk__op op = {
        .name = "families", .problem_size = sizeof(toy_problem), .variants = both, .describe = describe};
    const toy_problem problem = {.number = 1};
    const husk__preference preference = {.variant = NULL};
    husk_tuning_candidate candidates[8];
    size_t count = 0;
    husk_plan *plan = NULL;
    ck_assert_msg(husk__plan_create(context, &op, &problem, &preference, &plan, &scope) == HUSK_OK, "%s", error.text);
    ck_assert_int_eq(husk_tuning_candidates(context, plan, candidates, 8, &count, &error), HUSK_OK);
    ck_assert_uint_eq(count, 4);
    for (int i = 0; i < 4; i++) {
        ck_assert_msg(candidates[i].is_foreign == (i >= 2), "candidate %d", i);
        ck_assert_msg(candidates[i].predicted_ns == (i % 2 ? 7 : 5), "candidate %d: %g", i, candidates[i].predicted_ns);
    }
    husk_plan_release(plan);
}
END_TEST

START_TEST(candidates_come_by_their_prediction)
{
    husk_tuning_candidate candidates[8];
    size_t count = 0;
    husk_plan *plan = create(100, NULL, 0);
    ck_assert_int_eq(husk_tuning_candidates(context, plan, candidates, 8, &count, &error), HUSK_OK);
    ck_assert_uint_eq(count, 5);
    ck_assert_str_eq(candidates[1].variant, "plain");
    ck_assert_str_eq(candidates[1].configuration, "two");
    ck_assert(candidates[1].predicted_ns == 2 && !candidates[1].is_foreign);
    ck_assert_int_eq(husk_tuning_candidates(context, plan, NULL, 0, &count, &error), HUSK_OK);
    ck_assert_uint_eq(count, 5);
    husk_plan_release(plan);
    plan = create(100, NULL, 100);
    ck_assert_int_eq(husk_tuning_candidates(context, plan, candidates, 8, &count, &error), HUSK_OK);
    ck_assert_uint_eq(count, 4); // within the limit

    ck_assert_int_eq(husk_tuning_candidates(context, NULL, candidates, 8, &count, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "plan"));
    ck_assert_int_eq(husk_tuning_candidates(context, plan, candidates, 8, NULL, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "count"));
    ck_assert_int_eq(husk_tuning_candidates(context, plan, NULL, 8, &count, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "candidates"));
    husk_plan_release(plan);
    ck_assert_int_eq(husk_tuning_key_get(context, NULL, NULL, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "key"));
    husk_tuning_key key; // of the device alone
    ck_assert_int_eq(husk_tuning_key_get(context, NULL, &key, &error), HUSK_OK);
    ck_assert_str_eq(key.op, "");
    ck_assert_str_ne(key.kernels, ""); // all operators'
    ck_assert_str_ne(key.device, "");
    ck_assert_int_eq(strncmp(key.path, folder, strlen(folder)), 0);
}
END_TEST

// ---- files ----

START_TEST(the_users_folder_is_read)
{
    char path[4096];
    husk_tuning_key key;
    ck_assert_int_eq(husk_tuning_key_get(context, NULL, &key, &error), HUSK_OK);
    strcpy(path, key.path);
    *strrchr(path, '/') = 0;
    ck_assert(husk__prepare_private_directory(path));
    const char *text = write_document(&(entry){.number = 100, .variant = "plain:two"}, 1);
    write_file(key.path, text, strlen(text));
    reopen();
    expect(100, "plain:two", HUSK_CHOICE_TUNED);

    test_setenv("HUSK_TUNING", "0");
    reopen();
    expect(100, "plain:one", HUSK_CHOICE_PREDICTED);
    test_setenv("HUSK_TUNING", key.path); // a file
    reopen();
    expect(100, "plain:two", HUSK_CHOICE_TUNED);
    test_setenv("HUSK_TUNING", path); // a folder
    reopen();
    expect(100, "plain:two", HUSK_CHOICE_TUNED);
    ck_assert_str_eq(log_text, "");
    test_setenv("HUSK_TUNING", "/nonexistent/tuning.json");
    reopen();
    expect(100, "plain:one", HUSK_CHOICE_PREDICTED);
    ck_assert_ptr_nonnull(strstr(log_text, "/nonexistent/tuning.json is left out"));

    test_setenv("HUSK_TUNING", NULL); // others may write to it
    chmod(key.path, 0666);
    reopen();
    expect(100, "plain:one", HUSK_CHOICE_PREDICTED);
    ck_assert_ptr_nonnull(strstr(log_text, "is left out"));
}
END_TEST

START_TEST(a_bad_file_is_left_out)
{
    char path[200];
    snprintf(path, sizeof path, "%s/bad.json", folder);
    const char *text = write_document(&(entry){.number = 100, .variant = "plain:two"}, 1);
    write_file(path, text, strlen(text) / 2);
    test_setenv("HUSK_TUNING", path);
    reopen();
    expect(100, "plain:one", HUSK_CHOICE_PREDICTED);
    ck_assert_ptr_nonnull(strstr(log_text, "bad.json is left out: line"));
}
END_TEST

START_TEST(a_folder_is_loaded_whole_or_not_at_all)
{
    char path[200];
    const char *text = write_document(&(entry){.number = 100, .variant = "plain:two"}, 1);
    snprintf(path, sizeof path, "%s/b.json", folder);
    write_file(path, text, strlen(text));
    snprintf(path, sizeof path, "%s/a.json", folder); // which is loaded after b, to come before it
    write_file(path, text, strlen(text) / 2);
    const husk_tuning_params params = HUSK_TUNING_PARAMS(.path = folder);
    ck_assert_int_eq(husk_context_load_tuning(context, &params, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "a.json"));
    expect(100, "plain:one", HUSK_CHOICE_PREDICTED);
    write_file(path, text, strlen(text));
    ck_assert_int_eq(husk_context_load_tuning(context, &params, &error), HUSK_OK);
    expect(100, "plain:two", HUSK_CHOICE_TUNED);
}
END_TEST

START_TEST(loading_says_what_is_wrong)
{
    static const struct {
        husk_tuning_params params;
        const char *part;
    } cases[] = {
#define WHOLE .size = sizeof(husk_tuning_params)
        {{WHOLE}, "one of path and text"},
        {{WHOLE, .path = "x", .text = "y"}, "one of path and text"},
        {{WHOLE, .path = "/nonexistent/x"}, "path: /nonexistent/x cannot be read"},
        {{WHOLE, .text = "[]"}, "text: line 1: an object is wanted"},
        {{WHOLE, .text = "{\"schema\": \"husk-tuning/1\", \"entries\": []}", .text_size = 10}, "text: line 1"},
        {{WHOLE, .text = "{\"schema\": \"husk-tuning/1\"}"}, "there are no entries"},
        {{WHOLE, .text = "{\"schema\": \"husk-tuning/2\", \"entries\": []}"}, "the schema is not \"husk-tuning/1\""},
        {{WHOLE, .text = "{\n\"entries\": [],\n\"schema\": 1}"}, "line 3: a string is wanted"},
        {{.size = 4000, .text = "{}"}, "params: size is 4000"},
        {{.text = "{}"}, "params: size is 0"},
#undef WHOLE
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        ck_assert_int_eq(husk_context_load_tuning(context, &cases[i].params, &error), HUSK_INVALID_ARGUMENT);
        ck_assert_msg(strstr(error.text, cases[i].part) != NULL, "'%s' is not in '%s'", cases[i].part, error.text);
    }
    ck_assert_int_eq(husk_context_load_tuning(NULL, &cases[0].params, &error), HUSK_INVALID_ARGUMENT);
}
END_TEST

// ---- the reader ----

START_TEST(texts_are_unescaped)
{
    static const char text[] =
        "{ \"later\": {\"x\": [1, -2.5e3, true, false, null, \"\\n\"]}, \"entries\": [ {\"device\": \"a\\\"b\\\\\\/\", "
        "\"platform\": \"\\u00e4\\u20ac\", \"driver\": \"\", \"family\": \"f\", \"op\": \"o\", \"problem\": \"p\", "
        "\"class\": \"c\", \"kernels\": \"k\", \"state\": \"tuned\", \"variant\": \"v\" },\n {\"device\": 3}, {} ],"
        "\"schema\": \"husk-tuning/1\" }\n";
    husk__tuning_file file;
    char reason[HUSK__TUNING_REASON] = "";
    ck_assert_msg(husk__tuning_file_parse(text, sizeof text - 1, &file, reason), "%s", reason);
    ck_assert_uint_eq(file.count, 1); // the others lack something
    ck_assert_str_eq(file.entries[0].device, "a\"b\\/");
    ck_assert_str_eq(file.entries[0].platform, "\xc3\xa4\xe2\x82\xac");
    ck_assert_str_eq(file.entries[0].driver, "");
    husk__tuning_file_free(&file);
}
END_TEST

START_TEST(every_part_of_a_file_is_refused)
{
    husk__tuning_file file;
    char reason[HUSK__TUNING_REASON];
    const char *text = write_document(
        (const entry[]){{.number = 1, .variant = "plain:two"}, {.number = 2, .variant = "plain:one", .state = "kept"}},
        2);
    size_t size = strlen(text), whole = size - 1; // the newline is not missed
    ck_assert(husk__tuning_file_parse(text, size, &file, reason));
    ck_assert_uint_eq(file.count, 2);
    husk__tuning_file_free(&file);
    for (size_t length = 0; length < whole; ++length) {
        char *part = malloc(length + 1); // of its size, for the sanitizer
        memcpy(part, text, length);
        ck_assert_msg(!husk__tuning_file_parse(part, length, &file, reason), "the first %zu bytes", length);
        ck_assert_ptr_null(file.entries);
        free(part);
    }
}
END_TEST

START_TEST(no_change_of_a_byte_does_harm)
{
    husk__tuning_file file;
    char reason[HUSK__TUNING_REASON];
    const char *text = write_document(&(entry){.number = 1, .variant = "plain:two"}, 1);
    size_t size = strlen(text);
    char *changed = malloc(size);
    static const char values[] = {0, '"', '\\', '{', '[', '}', ']', 'u', ',', '1', (char)0xff};
    for (size_t at = 0; at < size; ++at) {
        for (size_t v = 0; v < sizeof values; ++v) {
            memcpy(changed, text, size);
            changed[at] = values[v];
            if (husk__tuning_file_parse(changed, size, &file, reason))
                husk__tuning_file_free(&file);
        }
    }
    memset(changed, '[', size);
    ck_assert(!husk__tuning_file_parse(changed, size, &file, reason));
    memcpy(changed, "{\"x\": ", 6);
    ck_assert(!husk__tuning_file_parse(changed, size, &file, reason));
    ck_assert_ptr_nonnull(strstr(reason, "too deep"));
    free(changed);
}
END_TEST

// ---- the operators ----

static void kernels_with(const char *name, const char *text, char hash[33])
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    write_file(path, text, strlen(text));
    husk__tuning_kernels(husk__op_find("pool"), hash);
}

START_TEST(kernels_are_known_by_what_a_compiler_sees)
{
    char command[300], first[33], again[33];
    snprintf(command, sizeof command, "cp -r '%s/cl/.' '%s'", HUSK_SOURCE_DIR, folder);
    ck_assert_int_eq(system(command), 0);
    husk__tuning_kernels(husk__op_find("pool"), first);
    test_setenv("HUSK_KERNEL_DIR", folder);
    husk__tuning_kernels(husk__op_find("pool"), again);
    ck_assert_str_eq(first, again);
    kernels_with("pool/direct.cl", "int a; // one\n", first);
    ck_assert_str_ne(first, again);
    kernels_with("pool/direct.cl", "\n/* two */ int   a;\n", again);
    ck_assert_str_eq(first, again);
    kernels_with("pool/direct.cl", "int b;\n", again);
    ck_assert_str_ne(first, again);
    kernels_with("pool/direct.cl", "#include \"lib/nowhere.clh\"\n", again);
    ck_assert_str_eq(again, ""); // no kernels: no entry is for them
}
END_TEST

// A kernel file is of one operator: a change of it is seen there and nowhere else.
START_TEST(kernels_are_of_one_operator)
{
    static const char *const files[][2] = {{"pool", "pool/direct.cl"},
                                           {"pool_backward", "pool/backward_direct.cl"},
                                           {"attention", "attention/blocks.cl"},
                                           {"rotary_backward", "attention/rotary_backward_vector.cl"},
                                           {"unary", "elementwise/unary_grid.cl"},
                                           {"optimizer", "optimizer/grid.cl"},
                                           {"grad_norm", "optimizer/grad_norm_grid.cl"},
                                           {"gemm", "gemm/packed.cl"},
                                           {"quantized_gemm", "quantized/gemm_packed.cl"},
                                           {"quantized_conv", "quantized/conv_grid.cl"},
                                           {"", "runtime/probe.cl"}};
    char command[300], path[300], before[33], after[33];
    snprintf(command, sizeof command, "cp -r '%s/cl/.' '%s'", HUSK_SOURCE_DIR, folder);
    ck_assert_int_eq(system(command), 0);
    test_setenv("HUSK_KERNEL_DIR", folder);
    for (size_t i = 0; i < sizeof files / sizeof *files - 1; ++i)
        for (size_t j = 0; j < sizeof files / sizeof *files; ++j) {
            const husk__op *op = husk__op_find(files[i][0]);
            snprintf(path, sizeof path, "%s/%s", folder, files[j][1]);
            char *text = husk__read_file(path, NULL);
            husk__tuning_kernels(op, before);
            write_file(path, "int a;\n", 7);
            husk__tuning_kernels(op, after);
            write_file(path, text, strlen(text));
            free(text);
            ck_assert_msg((strcmp(before, after) != 0) == (i == j), "%s, %s", files[i][0], files[j][1]);
        }
}
END_TEST

START_TEST(kernels_that_cannot_be_read_are_no_want_of_memory)
{
    char hash[33];
    husk__tuning *tuning = husk__select_state_of(context)->tuning;
    test_setenv("HUSK_KERNEL_DIR", folder); // which is empty
    for (int i = 0; i < 2; ++i) {
        ck_assert(husk__tuning_kernels_of(tuning, husk__op_find("pool"), hash));
        ck_assert_str_eq(hash, "");
    }
}
END_TEST

START_TEST(a_class_is_a_factor_of_two)
{
    static const struct {
        int64_t size;
        const char *text;
    } cases[] = {{0, " m=0"},  {1, " m=1"},       {2, " m=2+"},       {3, " m=2+"},
                 {4, " m=4+"}, {1023, " m=512+"}, {1024, " m=1024+"}, {INT64_MAX, " m=4611686018427387904+"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        husk__text text = {0};
        husk__class_size(&text, "m", cases[i].size);
        ck_assert_str_eq(text.bytes, cases[i].text);
        husk__text_free(&text);
    }
}
END_TEST

static husk_tensor matrix(int64_t rows, int64_t columns)
{
    return (husk_tensor){.dtype = HUSK_F32, .rank = 2, .shape = {rows, columns}};
}

static void gemm_key(int64_t m, husk_tuning_key *key, size_t *count)
{
    husk_plan *plan;
    husk_tensor a = matrix(m, 300), b = matrix(300, 40), c = matrix(m, 40);
    husk_tuning_candidate candidates[64];
    husk_status status = husk_gemm_plan_create(context, NULL, &a, &b, NULL, &c, &plan, &error);
    ck_assert_msg(status == HUSK_OK, "%s", error.text);
    ck_assert_int_eq(husk_tuning_key_get(context, plan, key, &error), HUSK_OK);
    ck_assert_int_eq(husk_tuning_candidates(context, plan, candidates, 64, count, &error), HUSK_OK);
    husk_plan_release(plan);
}

START_TEST(a_real_operator_has_keys_and_takes_what_is_tuned)
{
    husk_tuning_key key, near, far;
    size_t count;
    gemm_key(100, &key, &count);
    gemm_key(127, &near, &count);
    gemm_key(128, &far, &count);
    ck_assert_uint_gt(count, 1);
    ck_assert_str_eq(key.op, "gemm");
    ck_assert_str_ne(key.problem, near.problem);
    ck_assert_str_eq(key.shape_class, near.shape_class);
    ck_assert_str_ne(key.shape_class, far.shape_class);
    ck_assert_ptr_nonnull(strstr(key.shape_class, "m=64+ n=32+ k=256+"));

    snprintf(document, sizeof document,
             "{\"schema\": \"husk-tuning/1\", \"entries\": [{\"device\": \"%s\", \"platform\": \"%s\", \"driver\": "
             "\"%s\", \"family\": \"%s\", \"op\": \"gemm\", \"problem\": \"%s\", \"class\": \"%s\", \"kernels\": "
             "\"%s\", \"state\": \"tuned\", \"variant\": \"tiled:32x32\"}]}",
             key.device, key.platform, key.driver, key.family, key.problem, key.shape_class, key.kernels);
    ck_assert_int_eq(husk_context_load_tuning(context, &HUSK_TUNING_PARAMS(.text = document), &error), HUSK_OK);
    gemm_key(100, &key, &count);
    ck_assert_str_eq(key.variant, "tiled:32x32");
    ck_assert_int_eq(key.choice, HUSK_CHOICE_TUNED);
    gemm_key(127, &near, &count);
    ck_assert_int_eq(near.choice, HUSK_CHOICE_TUNED_CLASS);
    gemm_key(128, &far, &count);
    ck_assert_int_eq(far.choice, HUSK_CHOICE_PREDICTED);
}
END_TEST

// ---- threads ----

enum { THREADS = 8, TURNS = 25 };

typedef struct worker {
    husk_context *context;
    const char *tuning;
    bool has_fma;
    int64_t number; // one tuned to the second configuration
    int wrong;
} worker;

static bool is_chosen(const worker *w)
{
    const toy_problem problem = {w->number};
    husk__preference preference = {0};
    husk_error own = {0};
    const husk__scope its_scope = {"toy", &own};
    husk_plan *plan = NULL;
    if (husk__plan_create(w->context, &toy, &problem, &preference, &plan, &its_scope) != HUSK_OK)
        return false;
    const bool is_right = strcmp(husk_plan_configuration(plan), "two") == 0;
    husk_plan_release(plan);
    return is_right;
}

// Whatever a context answers, all at once. What this thread has loaded holds from then on, also while others load it.
static void *use_context(void *user)
{
    worker *w = user;
    for (int turn = 0; turn < TURNS; ++turn) {
        const husk_tuning_params params = HUSK_TUNING_PARAMS(.text = w->tuning);
        husk_error own = {0};
        husk_memory_stats memory;
        husk_program_stats programs;
        husk_context_retain(w->context);
        w->wrong += husk_context_load_tuning(w->context, &params, &own) != HUSK_OK;
        w->wrong += !is_chosen(w);
        w->wrong += husk_context_has(w->context, HUSK_FEATURE_FMA) != w->has_fma;
        husk_context_trim(w->context, 0);
        husk_context_memory_stats(w->context, &memory);
        husk_context_program_stats(w->context, &programs);
        w->wrong += husk_context_status(w->context) != HUSK_OK;
        husk_context_release(w->context);
    }
    return NULL;
}

START_TEST(threads_share_what_a_context_answers)
{
    husk_context *shared;
    pthread_t threads[THREADS];
    worker workers[THREADS];
    const entry entries[] = {{.number = 7, .variant = "plain:two"}, {.number = 300, .variant = "plain:two"}};
    const char *text = write_document(entries, 2);
    ck_assert_int_eq(husk_context_create(NULL, NULL, &shared, &error), HUSK_OK);
    const bool has_fma = husk_context_has(context, HUSK_FEATURE_FMA);
    for (int i = 0; i < THREADS; ++i) {
        workers[i] = (worker){.context = shared, .tuning = text, .has_fma = has_fma, .number = i % 2 ? 7 : 300};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, use_context, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(threads[i], NULL);
        ck_assert_int_eq(workers[i].wrong, 0);
    }
    husk_context_release(shared);
}
END_TEST

START_TEST(every_operator_has_classes)
{
    for (size_t i = 0; husk_op_name(i); ++i)
        ck_assert_msg(husk__op_find(husk_op_name(i))->classify != NULL, "%s has none", husk_op_name(i));
}
END_TEST

START_TEST(the_defaults_can_be_read)
{
    for (const husk__tuning_default *at = husk__tuning_defaults; at->name; ++at) {
        husk__tuning_file file;
        char reason[HUSK__TUNING_REASON];
        ck_assert_msg(husk__tuning_file_parse(at->text, at->size, &file, reason), "%s: %s", at->name, reason);
        for (size_t i = 0; i < file.count; ++i)
            ck_assert_ptr_nonnull(husk__op_find(file.entries[i].op));
        husk__tuning_file_free(&file);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tuning");
    TCase *tests = tcase_create("tuning");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, the_user_comes_before_the_database_and_it_before_the_prediction);
    tcase_add_test(tests, device_before_family_and_problem_before_class);
    tcase_add_test(tests, other_families_drivers_and_kernels_do_not_count);
    tcase_add_test(tests, a_measured_prediction_stands);
    tcase_add_test(tests, calls_and_plans_are_tuned_apart);
    tcase_add_test(tests, what_cannot_be_taken_is_passed_over);
    tcase_add_test(tests, the_next_suggestion_takes_the_place_of_one_that_fails);
    tcase_add_test(tests, what_computed_wrongly_is_not_taken);
    tcase_add_test(tests, loading_chooses_anew);
    tcase_add_test(tests, candidates_come_by_their_prediction);
    tcase_add_test(tests, foreign_candidates_come_by_their_prediction);
    tcase_add_test(tests, the_users_folder_is_read);
    tcase_add_test(tests, a_bad_file_is_left_out);
    tcase_add_test(tests, a_folder_is_loaded_whole_or_not_at_all);
    tcase_add_test(tests, loading_says_what_is_wrong);
    tcase_add_test(tests, texts_are_unescaped);
    tcase_add_test(tests, every_part_of_a_file_is_refused);
    tcase_add_test(tests, no_change_of_a_byte_does_harm);
    tcase_add_test(tests, kernels_are_known_by_what_a_compiler_sees);
    tcase_add_test(tests, kernels_are_of_one_operator);
    tcase_add_test(tests, kernels_that_cannot_be_read_are_no_want_of_memory);
    tcase_add_test(tests, a_class_is_a_factor_of_two);
    tcase_add_test(tests, a_real_operator_has_keys_and_takes_what_is_tuned);
    tcase_add_test(tests, threads_share_what_a_context_answers);
    tcase_add_test(tests, every_operator_has_classes);
    tcase_add_test(tests, the_defaults_can_be_read);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
