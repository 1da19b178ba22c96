// SPDX-License-Identifier: MIT
// ctest: timeout=120 processors=1 with=fake_runner
// Worker processes, the watchdog, interleaving and verification, with runners that misbehave on purpose.
// This program is its own worker: the parent starts it again with --worker, as clbench does.
#define _GNU_SOURCE // RTLD_NEXT
#include <check.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cases/data.h"
#include "cases/ops.h"
#include "cases/parse.h"
#include "cases/suite.h"
#include "cases/suites.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "fake_runner.h"
#include "measure/runner_process.h"
#include "measure/plausible.h"
#include "measure/row.h"
#include "system/timer.h"
#include "record/results.h"
#include "record/row_json.h"
#include "run/run.h"
#include "tune/race.h"
#include "verify/check.h"
#include "worker/worker.h"

// Allocations of clbench's and the reference's, which are linked into this program.
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_malloc(size_t size)
{
    return fake_memory_is_short ? NULL : __real_malloc(size);
}

static size_t too_large; // what calloc has no room for; 0: nothing

void *__wrap_calloc(size_t count, size_t size)
{
    return fake_memory_is_short || (too_large && size == too_large) ? NULL : __real_calloc(count, size);
}

// A compiler that crashes: each time, or unless the file `once` is there, which it makes; in a worker that has launched
// a kernel before, or not.
static json_t *fake_build(const json_t *request)
{
    const char *building = json_string_value(json_object_get(request, "mark"));
    const char *once = json_string_value(json_object_get(request, "once"));
    if (json_is_true(json_object_get(request, "launches")))
        dprintf(BENCH_WORKER_REPLIES, "{\"first_launch\": \"husk_fake of fake.cl\"}\n");
    dprintf(BENCH_WORKER_REPLIES,
            "{\"first_launch\": \"husk_runtime_quirk of runtime/quirks.cl\"}\n"
            "{\"building\": \"fake.cl\", \"mark\": \"%s\"}\n",
            building);
    const int file = once ? open(once, O_WRONLY | O_CREAT | O_EXCL, 0600) : -1;
    if (!once || file >= 0)
        raise(SIGABRT);
    return json_pack("{s:s}", "answer", "ok");
}

// What only this worker answers: a driver that says nothing sensible.
static json_t *fake_extra(void *session, const char *what, json_t *request)
{
    (void)session;
    if (!strcmp(what, "build"))
        return fake_build(request);
    if (!strcmp(what, "leave"))
        _exit(7);
    if (!strcmp(what, "tuning"))
        return json_pack("{s:s, s:s, s:s, s:s, s:[{s:s, s:f, s:b}]}", "answer", "ok", "op", "toy", "problem", "p",
                         "predicted", "slow", "candidates", "variant", "fast", "predicted_ns", 1.0, "foreign", false);
    if (strcmp(what, "start a compiler"))
        return NULL;
    pid_t pid = fork();
    while (pid == 0)
        pause();
    return json_pack("{s:s, s:I}", "answer", "ok", "pid", (json_int_t)pid);
}

// The program's own calls come here first: a process inside a hung driver follows no signal.
static bool signals_are_lost;

int kill(pid_t pid, int number)
{
    void *address = dlsym(RTLD_NEXT, "kill");
    int (*real)(pid_t, int);
    memcpy(&real, &address, sizeof real);
    return signals_are_lost ? 0 : real(pid, number);
}

static bench_runner_process start_within(const char *name, double seconds)
{
    bench_runner_process c;
    ck_assert(bench_runner_process_start(&c, name, NULL, 1, NULL));
    ck_assert_msg(bench_runner_process_await(&c, seconds), "%s", c.why);
    return c;
}

static bench_runner_process start(const char *name)
{
    return start_within(name, 10);
}

static bench_row make_row(const char *line)
{
    bench_row row = {.count = 1};
    char reason[BENCH_REASON_TEXT];
    ck_assert_msg(bench_case_parse(line, &row.c, reason), "%s", reason);
    return row;
}

static bench_measure_options quick_options(void)
{
    return (bench_measure_options){
        .rule = {.min_samples = 3, .min_seconds = 0.05, .half_width = 0.01, .max_seconds = 1, .quick = true},
        .max_time = 5,
        .warmup = 3,
        .seed = 1,
        .verify = true,
    };
}

START_TEST(a_row_is_verified_and_timed)
{
    bench_runner_process ours = start("good"), rival = start("forms");
    bench_row row = make_row("activation count=1000");
    bench_measure_options options = quick_options();
    ck_assert_str_eq(ours.version, "Fake 1.0 good");
    bench_row_add(&row, &ours, NULL);
    bench_row_add_forms(&row, &rival, 5);
    ck_assert_uint_eq(row.entrant_count, 3);
    bench_measure_row(&row, &options);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_msg(row.entrants[i].state == BENCH_STATE_OK, "%s", row.entrants[i].reason);
        ck_assert(json_is_true(json_object_get(row.entrants[i].verified, "pass")));
        ck_assert_uint_ge(row.entrants[i].summary.n, 3);
    }
    // The slow form sleeps four times as long; other work on the machine may add to both.
    ck_assert_double_gt(row.entrants[0].summary.median, 0.4e6);
    ck_assert_double_gt(row.entrants[1].summary.median, 1.5 * row.entrants[2].summary.median);
    ck_assert_int_gt(row.entrants[0].batch, 1);
    json_t *json = bench_row_json(&row, &(bench_peaks){0});
    const json_t *baseline = json_array_get(json_object_get(json, "baselines"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(baseline, "form")), "fast");
    ck_assert_str_eq(json_string_value(json_object_get(json, "state")), "ok");
    json_decref(json);
    bench_row_free(&row);
    bench_runner_process_stop(&ours);
    bench_runner_process_stop(&rival);
}
END_TEST

static void expect_state_of(const char *line, const char *name, bench_state state, const char *part)
{
    bench_runner_process c = start(name);
    bench_row row = make_row(line);
    bench_measure_options options = quick_options();
    options.max_time = state == BENCH_STATE_TIMEOUT ? 1 : 20; // only a hang is waited for; sanitizers are slow
    bench_row_add(&row, &c, NULL);
    bench_measure_row(&row, &options);
    ck_assert_msg(row.entrants[0].state == state, "%s: %s: %s", name, bench_state_text(row.entrants[0].state),
                  row.entrants[0].reason);
    ck_assert_msg(strstr(row.entrants[0].reason, part) != NULL, "%s: '%s' lacks '%s'", name, row.entrants[0].reason,
                  part);
    bench_row_free(&row);
    bench_runner_process_stop(&c);
}

static void expect_state(const char *name, bench_state state, const char *part)
{
    expect_state_of("activation count=1000", name, state, part);
}

START_TEST(a_wrong_result_is_found)
{
    expect_state("wrong", BENCH_STATE_FAILED, "y");
}
END_TEST

START_TEST(a_refusal_is_no_failure)
{
    expect_state("refuses", BENCH_STATE_UNSUPPORTED, "not today");
}
END_TEST

START_TEST(a_hang_is_ended)
{
    uint64_t before = bench_now_ns();
    expect_state("hangs", BENCH_STATE_TIMEOUT, "1 s");
    ck_assert_uint_lt(bench_now_ns() - before, 20000000000u);
}
END_TEST

// Ctrl-Z, or a laptop that sleeps: what has been answered meanwhile was in time.
START_TEST(a_parent_that_was_stopped_takes_what_has_come)
{
    bench_runner_process c = start("compiles"); // for 2 s
    char reason[BENCH_REASON_TEXT] = "";
    json_t *reply, *request = json_pack("{s:s, s:s, s:i}", "do", "prepare", "case", "activation count=10", "slot", 0);
    const pid_t own = getpid(), other = fork();
    if (other == 0) {
        nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
        kill(own, SIGSTOP);
        nanosleep(&(struct timespec){.tv_sec = 6}, NULL);
        kill(own, SIGCONT);
        _exit(0);
    }
    ck_assert_msg(bench_process_call(&c.process, request, 5, &reply, reason) == BENCH_REPLY_OK, "%s", reason);
    json_decref(reply);
    ck_assert_int_eq(waitpid(other, NULL, 0), other);
    bench_runner_process_stop(&c);
}
END_TEST

// Making a case ready may compile for long, which is no hang: it has a time of its own.
START_TEST(a_slow_compiler_is_no_hang)
{
    bench_runner_process c = start("compiles");
    bench_row row = make_row("activation count=1000");
    bench_measure_options options = quick_options();
    options.max_time = 1;
    options.compile_time = 20;
    bench_row_add(&row, &c, NULL);
    bench_measure_row(&row, &options);
    ck_assert_msg(row.entrants[0].state == BENCH_STATE_OK, "%s", row.entrants[0].reason);
    bench_row_free(&row);
    bench_check check;
    bench_check_options own = {.max_time = 1, .compile_time = 20, .seed = 1};
    bench_case small;
    char reason[BENCH_REASON_TEXT];
    ck_assert(bench_case_parse("activation count=10", &small, reason));
    bench_check_case(&c, &small, &own, &check);
    ck_assert_msg(check.state == BENCH_STATE_OK, "%s", check.reason);
    bench_check_free(&check);
    own.compile_time = 0; // nothing said: the same time as everything else
    bench_check_case(&c, &small, &own, &check);
    ck_assert_int_eq(check.state, BENCH_STATE_TIMEOUT);
    bench_check_free(&check);
    bench_runner_process_stop(&c);
    expect_state("compiles", BENCH_STATE_TIMEOUT, "no answer within 1 s");
}
END_TEST

START_TEST(a_hang_says_what_it_was_doing)
{
    expect_state("hangs", BENCH_STATE_TIMEOUT, "while making its operands and plan");
}
END_TEST

START_TEST(a_driver_that_cannot_be_ended_does_not_hang_the_parent)
{
    bench_runner_process c = start("hangs");
    const pid_t pid = c.process.pid;
    char reason[BENCH_REASON_TEXT];
    json_t *reply, *request = json_pack("{s:s, s:s, s:i}", "do", "prepare", "case", "activation count=10", "slot", 0);
    uint64_t before = bench_now_ns();
    signals_are_lost = true;
    ck_assert_int_eq(bench_process_call(&c.process, request, 0.3, &reply, reason), BENCH_REPLY_TIMEOUT);
    signals_are_lost = false;
    ck_assert_uint_lt(bench_now_ns() - before, 30000000000u);
    ck_assert_msg(strstr(reason, "cannot be ended") != NULL, "%s", reason);
    ck_assert_int_eq(c.process.pid, 0); // forgotten: the next row gets a new one
    ck_assert(bench_runner_process_revive(&c));
    bench_runner_process_stop(&c);
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

// Whether a process still does something; one that nobody has waited for does not.
static bool is_running(pid_t pid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    const bool read = file && fgets(text, sizeof text, file);
    if (file)
        fclose(file);
    const char *end = read ? strrchr(text, ')') : NULL;
    return end && end[2] != 'Z' && end[2] != 'X';
}

// A driver's compiler must not outlive the worker that started it.
START_TEST(what_a_worker_has_started_ends_with_it)
{
    for (int way = 0; way < 2; way++) {
        bench_runner_process c = start("good");
        char reason[BENCH_REASON_TEXT];
        json_t *reply;
        ck_assert_int_eq(
            bench_process_call(&c.process, json_pack("{s:s}", "do", "start a compiler"), 5, &reply, reason),
            BENCH_REPLY_OK);
        const pid_t pid = (pid_t)json_integer_value(json_object_get(reply, "pid"));
        json_decref(reply);
        ck_assert(pid > 0);
        if (way == 0)
            bench_process_kill(&c.process);
        bench_runner_process_stop(&c);
        for (int i = 0; i < 200 && is_running(pid); i++)
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        ck_assert(!is_running(pid));
    }
}
END_TEST

// A rival that cannot do the case in its first form is one nevertheless.
START_TEST(any_form_makes_a_rival)
{
    bench_runner_process ours = start("good"), rival = start("forms");
    bench_row row = make_row("activation count=1000");
    bench_measure_options options = quick_options();
    bench_row_add(&row, &ours, NULL);
    bench_row_add_forms(&row, &rival, 5);
    row.entrants[1].state = BENCH_STATE_UNSUPPORTED;
    bench_measure_row(&row, &options);
    json_t *json = bench_row_json(&row, &(bench_peaks){0});
    const json_t *baseline = json_array_get(json_object_get(json, "baselines"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(baseline, "form")), "fast");
    ck_assert_double_gt(json_number_value(json_object_get(baseline, "speedup")), 0);
    json_decref(json);
    row.entrants[2].state = BENCH_STATE_UNSUPPORTED;
    json = bench_row_json(&row, &(bench_peaks){0});
    ck_assert_uint_eq(json_array_size(json_object_get(json, "baselines")), 0);
    json_decref(json);
    bench_row_free(&row);
    bench_runner_process_stop(&ours);
    bench_runner_process_stop(&rival);
}
END_TEST

// What was verified is one run, and figures are of others: those have to write what they are timed for.
START_TEST(what_is_timed_has_to_be_right_as_well)
{
    expect_state("nothing", BENCH_STATE_FAILED, "the last that was timed is not");
    expect_state("tires", BENCH_STATE_FAILED, "the last that was timed is not: y: 1 of 1000 outputs wrong");
    expect_state("forgets", BENCH_STATE_FAILED, "the one after it is not: y: 1 of 1000 outputs wrong");
    expect_state("wavers", BENCH_STATE_OK, ""); // other bits, and as right
    // Of what builds upon the run before, later ones say nothing.
    expect_state_of("gemm m=1 n=1000 k=1 beta=1", "adds", BENCH_STATE_OK, "");
}
END_TEST

// Integers have no NaN that would show it, and samples miss it.
START_TEST(integers_that_are_not_written_are_found)
{
    const char *line = "quantized_gemm m=512 n=512 k=80 c=i32";
    bench_runner_process c = start("skips");
    const bench_row row = make_row(line);
    bench_check check;
    const bench_check_options options = {.max_time = 20, .seed = 1};
    bench_check_case(&c, &row.c, &options, &check);
    ck_assert_int_eq(check.state, BENCH_STATE_FAILED);
    ck_assert_msg(strstr(check.reason, "2 of 262144 outputs not written, first [195, 162]") != NULL, "%s",
                  check.reason);
    bench_check_free(&check);
    bench_runner_process_stop(&c);
    expect_state_of(line, "skips", BENCH_STATE_FAILED, "not written");
    expect_state_of(line, "good", BENCH_STATE_OK, "");
    // What is small is compared whole.
    expect_state_of("quantized_gemm m=512 n=512 k=8 c=i32", "skips", BENCH_STATE_FAILED, "outputs wrong");
}
END_TEST

// Whichever comparison finds none: the first, the one of the run after it, the one of the last that was timed.
START_TEST(without_memory_nothing_is_right_or_wrong)
{
    static const char *const names[] = {"starves1", "starves2", "starves3"};
    static const char text[] = "there is no host memory to verify";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        expect_state(names[i], BENCH_STATE_ERROR, text);
    bench_runner_process c = start("starves1");
    bench_check check;
    const bench_check_options own = {.max_time = 5, .seed = 1};
    bench_case small;
    char reason[BENCH_REASON_TEXT];
    ck_assert(bench_case_parse("activation count=10", &small, reason));
    bench_check_case(&c, &small, &own, &check);
    ck_assert_int_eq(check.state, BENCH_STATE_ERROR);
    ck_assert_str_eq(check.reason, text);
    bench_check_free(&check);
    bench_runner_process_stop(&c);
}
END_TEST

// Nor does tune keep a candidate as wrong, which would be for good.
START_TEST(a_candidate_that_could_not_be_verified_is_not_kept_as_wrong)
{
    bench_runner_process c = start("starves1");
    bench_case small;
    bench_race race;
    char reason[BENCH_REASON_TEXT];
    const bench_race_options options = {.seconds = 20, .seconds_left = 20, .max_time = 5, .seed = 1};
    ck_assert(bench_case_parse("activation count=10", &small, reason));
    for (int i = 0; i < 5; i++) { // other work on the machine may leave it undecided
        bench_race_run(&c, &small, &options, &race);
        if (race.result != BENCH_RACE_UNDECIDED)
            break;
        bench_race_free(&race);
    }
    ck_assert_msg(race.problem_count == 1, "%d after %zu rounds: %s", (int)race.result, race.rounds, race.reason);
    ck_assert_str_eq(race.problems[0].variant, "fast");
    ck_assert_str_eq(race.problems[0].reason, "there is no host memory to verify");
    ck_assert(!race.problems[0].is_wrong && !race.problems[0].is_timeout);
    ck_assert_int_eq(race.result, BENCH_RACE_KEPT);
    bench_race_free(&race);
    bench_runner_process_stop(&c);
}
END_TEST

// A race of a command whose time leaves a compilation two seconds.
static bench_race late_race(const char *name)
{
    bench_runner_process c = start(name);
    bench_case small;
    bench_race race;
    char reason[BENCH_REASON_TEXT];
    const bench_race_options options = {
        .seconds = 20, .seconds_left = -58, .max_time = 2, .compile_time = 50, .seed = 1};
    ck_assert(bench_case_parse("activation count=10", &small, reason));
    bench_race_run(&c, &small, &options, &race);
    bench_runner_process_stop(&c);
    return race;
}

// However little time is left: else the same command would begin with it again, and never get past it.
START_TEST(tune_tells_a_hang_and_decides_without_it)
{
    bench_race race = late_race("stalls");
    ck_assert_msg(race.problem_count == 1, "%d: %s", (int)race.result, race.reason);
    ck_assert_str_eq(race.problems[0].variant, "fast");
    ck_assert_msg(strstr(race.problems[0].reason, "while running for the first time") != NULL, "%s",
                  race.problems[0].reason);
    ck_assert(race.problems[0].is_timeout && !race.is_late);
    ck_assert_int_eq(race.result, BENCH_RACE_KEPT);
    ck_assert_double_ge(race.given_up, 1);
    bench_race_free(&race);
}
END_TEST

// One that the command's time ended while it was compiled is nobody's fault; it is told, and nothing decided.
START_TEST(tune_tells_what_it_had_no_time_to_compile)
{
    bench_race race = late_race("builds");
    ck_assert_msg(race.problem_count == 1, "%d: %s", (int)race.result, race.reason);
    ck_assert_str_eq(race.problems[0].variant, "fast");
    ck_assert_msg(strstr(race.problems[0].reason, "while making its operands and plan") != NULL, "%s",
                  race.problems[0].reason);
    ck_assert(!race.problems[0].is_timeout && race.problems[0].is_late && race.is_late);
    ck_assert_int_eq(race.result, BENCH_RACE_UNDECIDED);
    ck_assert_double_ge(race.given_up, 1);
    bench_race_free(&race);
    race = late_race("hangs"); // what is predicted, too
    ck_assert_msg(race.problem_count == 1, "%d: %s", (int)race.result, race.reason);
    ck_assert_str_eq(race.problems[0].variant, "");
    ck_assert(race.problems[0].is_late && race.is_late);
    ck_assert_int_eq(race.result, BENCH_RACE_UNDECIDED);
    bench_race_free(&race);
}
END_TEST

// Every operator and gradient, before anything could be compared, and after something was found to be wrong.
START_TEST(no_operators_verdict_is_wrong_for_want_of_memory)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_suite suite;
    ck_assert_msg(bench_suite_load("smoke", &suite, reason), "%s", reason);
    for (size_t i = 0; i < suite.count; i++) {
        const bench_case *c = &suite.entries[i].c;
        const bench_verify_options options = {.seed = 1};
        bench_data data;
        bench_output output;
        bench_verdict verdict;
        ck_assert_msg(bench_data_make(c, &data, reason), "%s", reason);
        ck_assert_msg(bench_output_make(c, &data, &output, reason), "%s", reason);
        if (c->op == BENCH_GRAD_SCALE) // a single number is compared without memory: this one is right
            *(float *)output.gradients[0].data = 1.0f;
        for (int is_wrong = 0; is_wrong < 2; is_wrong++) {
            bench_verdict_begin(&verdict);
            if (is_wrong)
                bench_verdict_fail(&verdict, "it is wrong");
            fake_memory_is_short = true;
            bench_op_get(c->op)->verify(c, &data, &output, &options, &verdict);
            fake_memory_is_short = false;
            ck_assert_msg(!verdict.pass && verdict.unchecked == !is_wrong, "%s: %s", c->canonical, verdict.text);
            ck_assert_str_eq(verdict.text, is_wrong ? "it is wrong" : "there is no host memory to verify");
        }
        bench_output_free(&output);
        bench_data_free(c, &data);
    }
    bench_suite_free(&suite);
}
END_TEST

// Of several outputs one that is wrong decides, whatever could not be looked at before or after it.
START_TEST(what_is_wrong_stays_so_without_memory)
{
    const husk_ref_report short_of = {.allocation_failed = true}, right = {.checked = 3};
    const husk_ref_report wrong = {.checked = 3, .failures = 1, .max_ratio = 2, .allocation_failed = true};
    const husk_ref_report *const orders[][3] = {
        {&short_of, &right, &wrong},
        {&wrong, &right, &short_of},
        {&right, &short_of, &right},
        {&right, &right, &right},
    };
    static const char *const texts[] = {"c: 1 of 3 outputs", "a: 1 of 3 outputs", "there is no", "c: 3 outputs right"};
    for (size_t i = 0; i < 4; i++) {
        static const char *const names[] = {"a", "b", "c"};
        bench_verdict verdict;
        bench_verdict_begin(&verdict);
        for (size_t k = 0; k < 3; k++)
            bench_verdict_add(&verdict, names[k], orders[i][k]);
        ck_assert_int_eq(verdict.pass, i == 3);
        ck_assert_int_eq(verdict.unchecked, i == 2);
        ck_assert_msg(strncmp(verdict.text, texts[i], strlen(texts[i])) == 0, "%s", verdict.text);
    }
}
END_TEST

// Its time would be less than memory takes, were memory as slow as this: minutes, which no other work makes of it.
// What is written to stderr meanwhile.
static int run_command(const char *const *words, int count, char *text, size_t size)
{
    bench_options options;
    char reason[BENCH_REASON_TEXT];
    ck_assert_msg(bench_cli_parse(count, (char **)(uintptr_t)words, &options, reason), "%s", reason);
    FILE *file = tmpfile();
    const int before = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    const int code = bench_command_run(&options);
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
    return code;
}

// Ten thousand cases with all their variants are gigabytes of rows: without them nothing is measured, and that is said.
START_TEST(rows_that_find_no_memory_are_not_nothing_to_do)
{
    static const char *const words[] = {"clbench", "run",          "-q",         "--baseline",
                                        "none",    "--no-history", "activation", "count=10"};
    char text[4096];
    too_large = sizeof(bench_row);
    const int code = run_command(words, sizeof words / sizeof *words, text, sizeof text);
    too_large = 0;
    ck_assert_int_eq(code, BENCH_EXIT_ERROR);
    ck_assert_msg(strstr(text, "host memory does not suffice") != NULL, "%s", text);
}
END_TEST

START_TEST(one_that_is_too_fast_is_suspect)
{
    bench_runner_process c = start("good");
    bench_row row = make_row("activation count=1000000");
    bench_measure_options options = quick_options();
    const bench_peaks peaks = {.fma_gflops = 100, .copy = {{1e5, 2e-4}, {1e8, 2e-5}}, .copy_count = 2};
    bench_row_add(&row, &c, NULL);
    bench_measure_row(&row, &options);
    ck_assert_int_eq(row.entrants[0].state, BENCH_STATE_OK); // what it has computed was right
    json_t *json = bench_row_json(&row, &peaks);
    ck_assert_str_eq(json_string_value(json_object_get(json, "state")), "suspect");
    ck_assert_ptr_nonnull(strstr(json_string_value(json_object_get(json, "reason")), "bandwidth"));
    json_decref(json);
    bench_row_free(&row);
    bench_runner_process_stop(&c);
}
END_TEST

START_TEST(a_crash_names_the_signal)
{
    expect_state("crashes", BENCH_STATE_ERROR, "crashes crashed: SIGABRT");
}
END_TEST

START_TEST(a_crash_costs_one_row_and_the_worker_comes_back)
{
    bench_runner_process ours = start("good"), rival = start("crashes");
    bench_measure_options options = quick_options();
    for (int i = 0; i < 2; i++) {
        bench_row row = make_row(i ? "activation count=2000" : "activation count=1000");
        bench_row_add(&row, &ours, NULL);
        bench_row_add_forms(&row, &rival, 5);
        bench_measure_row(&row, &options);
        ck_assert_int_eq(row.entrants[0].state, BENCH_STATE_OK);
        ck_assert_uint_ge(row.entrants[0].summary.n, 3);
        ck_assert_int_eq(row.entrants[1].state, BENCH_STATE_ERROR);
        bench_row_free(&row);
    }
    ck_assert_int_eq(rival.restarts, 1);
    bench_runner_process_stop(&ours);
    bench_runner_process_stop(&rival);
}
END_TEST

START_TEST(one_that_cannot_open_says_why)
{
    bench_runner_process c;
    ck_assert(bench_runner_process_start(&c, "closed", NULL, 1, NULL));
    ck_assert(!bench_runner_process_await(&c, 10));
    ck_assert_str_eq(c.why, "it is closed today");
    ck_assert(!bench_runner_process_revive(&c));
    bench_runner_process_stop(&c);
}
END_TEST

// Who has said how long opening may take has said it of a worker that is started again, too.
START_TEST(one_that_does_not_open_again_is_given_up)
{
    bench_runner_process c = start_within("good", 2);
    bench_process_kill(&c.process);
    snprintf(c.runner, sizeof c.runner, "sleeps");
    const uint64_t before = bench_now_ns();
    ck_assert(!bench_runner_process_revive(&c));
    ck_assert_uint_lt(bench_now_ns() - before, 30000000000u);
    ck_assert_str_eq(c.why, "no answer within 2 s while opening the device; the worker process was ended");
    bench_runner_process_stop(&c);
}
END_TEST

// Measured once; the next round starts a new process.
static bench_row measure_first_round(bench_runner_process *c, const bench_measure_options *options)
{
    *c = start("good");
    bench_row row = make_row("activation count=1000");
    bench_row_add(&row, c, NULL);
    bench_measure_row(&row, options);
    ck_assert_uint_gt(row.entrants[0].samples.count, 0);
    bench_process_kill(&c->process);
    return row;
}

// The next process has chosen another variant: its samples are of something else.
START_TEST(samples_of_another_variant_are_not_mixed_in)
{
    bench_measure_options options = quick_options();
    bench_runner_process c;
    bench_row row = measure_first_round(&c, &options);
    const size_t samples = row.entrants[0].samples.count;
    options.verify = false;
    bench_measure_row(&row, &options); // the same once more
    ck_assert_msg(row.entrants[0].state == BENCH_STATE_OK, "%s", row.entrants[0].reason);
    ck_assert_uint_gt(row.entrants[0].samples.count, samples);
    const size_t more = row.entrants[0].samples.count;
    bench_process_kill(&c.process);
    snprintf(c.runner, sizeof c.runner, "replans");
    bench_measure_row(&row, &options);
    ck_assert_int_eq(row.entrants[0].state, BENCH_STATE_ERROR);
    ck_assert_str_eq(row.entrants[0].reason, "its variant was plain, and is other in a later round");
    ck_assert_uint_eq(row.entrants[0].samples.count, more);
    bench_row_free(&row);
    bench_runner_process_stop(&c);
}
END_TEST

// Which way is fastest may differ from round to round on a busy machine: who chooses is told what was chosen first.
START_TEST(a_choice_of_the_first_round_is_made_again)
{
    bench_measure_options options = quick_options();
    bench_runner_process c;
    bench_row row = measure_first_round(&c, &options);
    const size_t samples = row.entrants[0].samples.count;
    snprintf(c.runner, sizeof c.runner, "recalls"); // would choose another one by itself
    bench_measure_row(&row, &options);
    ck_assert_msg(row.entrants[0].state == BENCH_STATE_OK, "%s", row.entrants[0].reason);
    ck_assert_uint_gt(row.entrants[0].samples.count, samples);
    bench_row_free(&row);
    bench_runner_process_stop(&c);
}
END_TEST

START_TEST(an_exit_code_is_reported)
{
    bench_runner_process c = start("good");
    char reason[BENCH_REASON_TEXT];
    json_t *reply;
    ck_assert_int_eq(bench_process_call(&c.process, json_pack("{s:s}", "do", "leave"), 5, &reply, reason),
                     BENCH_REPLY_DIED);
    ck_assert_ptr_nonnull(strstr(reason, "exit code 7"));
    bench_runner_process_stop(&c);
}
END_TEST

// The reason that a build's crash comes with, for which a worker is started.
static void crash_build(json_t *request, char reason[BENCH_REASON_TEXT])
{
    bench_runner_process c = start("good");
    json_t *reply;
    ck_assert_int_eq(bench_process_call(&c.process, request, 5, &reply, reason), BENCH_REPLY_DIED);
    bench_runner_process_stop(&c);
}

// Marked is what crashes in a new process, too, before that has launched anything but the runtime's probes.
START_TEST(a_program_is_marked_for_what_it_does_again)
{
    char folder[] = "/tmp/husk-test-marks-XXXXXX", path[64], once[64], reason[BENCH_REASON_TEXT], line[100];
    struct rlimit limit, less;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/1.crashed", folder);
    snprintf(once, sizeof once, "%s/once", folder);
    crash_build(json_pack("{s:s, s:s, s:s}", "do", "build", "mark", path, "once", once), reason);
    ck_assert_str_eq(reason, "good crashed (SIGABRT) while building fake.cl, which is not held against the program: a "
                             "new process that has launched nothing does not crash there");
    crash_build(json_pack("{s:s, s:s, s:b}", "do", "build", "mark", path, "launches", 1), reason);
    ck_assert_ptr_nonnull(strstr(reason, "which is not held against the program"));
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    less = limit;
    less.rlim_cur = limit.rlim_max == RLIM_INFINITY ? (rlim_t)1 << 40 : limit.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &less), 0);
    crash_build(json_pack("{s:s, s:s}", "do", "build", "mark", path), reason);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_ptr_nonnull(strstr(reason, "memory or the size of files is limited (ulimit)"));
    ck_assert_int_ne(access(path, F_OK), 0);
    FILE *file = fopen(path, "w"); // an old one
    ck_assert_ptr_nonnull(file);
    fclose(file);
    crash_build(json_pack("{s:s, s:s}", "do", "build", "mark", path), reason);
    ck_assert_ptr_nonnull(strstr(reason, "the driver's compiler crashed (SIGABRT) while building fake.cl; Husk does "
                                         "without that program until /tmp/husk-test-marks-"));
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
    ck_assert_str_eq(line, "SIGABRT, as clbench saw\n");
    fclose(file);
    unlink(path);
    unlink(once);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

// A parent that ignores SIGCHLD leaves that to its children. Where the end is lost even so, nothing is made up.
START_TEST(an_end_that_nobody_saw_is_no_crash)
{
    char reason[BENCH_REASON_TEXT];
    json_t *reply;
    signal(SIGCHLD, SIG_IGN);
    bench_runner_process c = start("good");
    ck_assert_int_eq(bench_process_call(&c.process, json_pack("{s:s}", "do", "leave"), 5, &reply, reason),
                     BENCH_REPLY_DIED);
    ck_assert_ptr_nonnull(strstr(reason, "exit code 7"));
    ck_assert(bench_runner_process_revive(&c));
    signal(SIGCHLD, SIG_IGN);
    ck_assert_int_eq(bench_process_call(&c.process, json_pack("{s:s}", "do", "leave"), 5, &reply, reason),
                     BENCH_REPLY_DIED);
    ck_assert_str_eq(reason, "good ended the process, nobody knows how, while answering a request");
    signal(SIGCHLD, SIG_DFL);
    bench_runner_process_stop(&c);
}
END_TEST

START_TEST(nonsense_gets_an_answer)
{
    bench_runner_process c = start("good");
    const char *const requests[] = {"{}", "{\"do\": \"dance\"}", "{\"do\": \"sample\", \"slot\": 3}",
                                    "{\"do\": \"prepare\", \"slot\": 99, \"case\": \"activation count=1\"}",
                                    "{\"do\": \"prepare\", \"slot\": 0, \"case\": \"activation cuont=1\"}"};
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        char reason[BENCH_REASON_TEXT];
        json_t *reply;
        ck_assert_int_eq(bench_process_call(&c.process, json_loads(requests[i], 0, NULL), 5, &reply, reason),
                         BENCH_REPLY_OK);
        ck_assert_int_eq(bench_state_of_reply(BENCH_REPLY_OK, reply, reason), BENCH_STATE_ERROR);
        json_decref(reply);
    }
    bench_runner_process_stop(&c);
}
END_TEST

// The file is whole after every row, and a row that cannot be true is left out of the summary.
START_TEST(results_are_on_disk_after_every_row)
{
    char path[] = "/tmp/husk-test-results-XXXXXX";
    int descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    close(descriptor);
    char reason[BENCH_REASON_TEXT];
    bench_results results = {0};
    ck_assert(bench_results_claim(&results, path, reason));
    ck_assert(bench_results_begin(&results, path, NULL));
    for (int i = 0; i < 3; i++) {
        json_error_t error;
        json_t *baselines = json_pack("[{s:s, s:f}]", "name", "rival", "speedup", i == 2 ? 100.0 : 2.0);
        char name[32];
        snprintf(name, sizeof name, "gemm m=%d n=1 k=1", i + 1);
        bench_results_add(&results, json_pack("{s:s, s:s, s:s, s:o}", "case", name, "op", "gemm", "state",
                                              i == 2 ? "suspect" : "ok", "baselines", baselines));
        json_t *read = json_load_file(path, 0, &error);
        ck_assert_msg(read != NULL, "%s", error.text);
        ck_assert_str_eq(json_string_value(json_object_get(read, "schema")), "clbench/2");
        ck_assert_uint_eq(json_array_size(json_object_get(read, "results")), (size_t)i + 1);
        json_decref(read);
    }
    bench_results_finish(&results, true);
    const json_t *summary = json_object_get(results.root, "summary");
    double mean = json_number_value(json_object_get(json_object_get(summary, "geomean_speedup"), "rival"));
    ck_assert_double_eq_tol(mean, 2, 1e-12);
    ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(summary, "counts"), "suspect")), 1);
    bench_results_free(&results);
    unlink(path);
}
END_TEST

static void add_engine(bench_peaks *peaks, const char *name, const char *dtype, double gflops)
{
    const int at = peaks->engine_count++;
    snprintf(peaks->engines[at].name, sizeof peaks->engines[at].name, "%s", name);
    snprintf(peaks->engines[at].dtype, sizeof peaks->engines[at].dtype, "%s", dtype);
    peaks->engines[at].gflops = gflops;
}

static double engine_peak(const char *line, const char *variant, const bench_peaks *peaks)
{
    const bench_row row = make_row(line);
    return bench_peaks_arithmetic(&row.c, variant, peaks);
}

// By what an engine makes of f32, and of the engine that the variant takes; what was not measured is not known.
START_TEST(peaks_of_engines_go_by_their_products)
{
    bench_peaks peaks = {.fma_gflops = 100};
    add_engine(&peaks, "soft_amd_mfma", "f16", 900);
    add_engine(&peaks, "soft_amd_mfma", "bf16", 600);
    add_engine(&peaks, "soft_amd_mfma", "i8", 5000);
    add_engine(&peaks, "amx", "bf16", 3000);
    add_engine(&peaks, "amx", "i8", 8000);
    const char *const highest = "gemm m=9 n=9 k=9", *const high = "gemm m=9 n=9 k=9 precision=high",
                      *const medium = "gemm m=9 n=9 k=9 precision=medium";
    ck_assert_double_eq(engine_peak(medium, "matrix", &peaks), 600);
    ck_assert_double_eq(engine_peak(high, "matrix", &peaks), 200);
    ck_assert_double_eq(engine_peak(highest, "matrix", &peaks), 0);
    ck_assert_double_eq(engine_peak(medium, "cpu_matrix", &peaks), 3000);
    ck_assert_double_eq(engine_peak(high, "cpu_matrix", &peaks), 1000);
    ck_assert_double_eq(engine_peak(medium, "tiled", &peaks), 100);
    ck_assert_double_eq(engine_peak("gemm m=9 n=9 k=9 dtype=f16", "matrix", &peaks), 900);
    ck_assert_double_eq(engine_peak("gemm m=9 n=9 k=9 dtype=bf16", "matrix", &peaks), 600);
    ck_assert_double_eq(engine_peak("gemm m=9 n=9 k=9 dtype=bf16", "cpu_matrix", &peaks), 3000);
    ck_assert_double_eq(engine_peak("gemm m=9 n=9 k=9 dtype=f16", "cpu_matrix", &peaks), 0);
    ck_assert_double_eq(engine_peak("quantized_gemm m=9 n=9 k=9", "matrix", &peaks), 5000);
    ck_assert_double_eq(engine_peak("quantized_gemm m=9 n=9 k=9", "cpu_matrix", &peaks), 8000);
    bench_row row = make_row(highest);
    ck_assert_double_nan(bench_plausible(&row.c, "matrix", 0, 0, 100, &peaks).percent_of_peak);
    bench_peaks nv = {.fma_gflops = 100}; // TF32
    add_engine(&nv, "nv_mma", "f16", 900);
    add_engine(&nv, "nv_mma", "bf16", 900);
    ck_assert_double_eq(engine_peak(high, "matrix", &nv), 0);
    ck_assert_double_eq(engine_peak(medium, "matrix", &nv), 0);
    ck_assert_double_eq(engine_peak("gemm m=9 n=9 k=9 dtype=bf16", "matrix", &nv), 900);
}
END_TEST

START_TEST(what_is_faster_than_the_device_is_suspect)
{
    bench_peaks peaks = {.fma_gflops = 100, .copy = {{1e5, 200}, {1e8, 20}}, .copy_count = 2};
    bench_row row = make_row("gemm m=1000 n=1000 k=1000");
    ck_assert(!bench_plausible(&row.c, NULL, 2e9, 0, 2e7, &peaks).is_suspect);
    ck_assert_double_eq_tol(bench_plausible(&row.c, NULL, 2e9, 0, 4e7, &peaks).percent_of_peak, 50, 1e-9);
    ck_assert(bench_plausible(&row.c, NULL, 2e9, 0, 1.8e7, &peaks).is_suspect);
    // Winograd executes fewer operations than the case counts: those are what the device did.
    ck_assert(!bench_plausible(&row.c, NULL, 1e9, 0, 1.2e7, &peaks).is_suspect);
    ck_assert(bench_plausible(&row.c, NULL, 2e9, 0, 0, &peaks).is_suspect);
    ck_assert(bench_plausible(&row.c, NULL, 2e9, 0, INFINITY, &peaks).is_suspect);
    bench_row copy = make_row("activation count=12500000"); // 100 MB
    bench_plausibility p = bench_plausible(&copy.c, NULL, 0, 0, 1e7, &peaks); // 10 GB/s
    ck_assert(p.bound_by_memory && !p.is_suspect);
    ck_assert_double_eq_tol(p.percent_of_peak, 50, 1e-6);
    ck_assert(bench_plausible(&copy.c, NULL, 0, 0, 4e5, &peaks).is_suspect);
    // Each dtype has a limit of its own; an engine's is what it does at least.
    bench_row wide = make_row("gemm m=1000 n=1000 k=1000 dtype=f64"),
              bytes = make_row("quantized_gemm m=100 n=100 k=100");
    ck_assert_double_nan(bench_plausible(&wide.c, NULL, 0, 0, 4e7, &peaks).percent_of_peak);
    peaks.arithmetic[BENCH_PEAK_F64] = 50;
    ck_assert_double_eq_tol(bench_plausible(&wide.c, NULL, 0, 0, 4e7, &peaks).percent_of_peak, 100, 1e-6);
    ck_assert(bench_plausible(&wide.c, NULL, 0, 0, 3.5e7, &peaks).is_suspect);
    ck_assert_double_eq(bench_peaks_arithmetic(&bytes.c, NULL, &peaks), 400);
    peaks.arithmetic[BENCH_PEAK_I8] = 350;
    ck_assert_double_eq(bench_peaks_arithmetic(&bytes.c, NULL, &peaks), 350);
    ck_assert_double_eq(bench_peaks_arithmetic(&bytes.c, "cpu_matrix", &peaks), 350);
    bench_peaks engines = peaks;
    add_engine(&engines, "amx", "i8", 4000);
    ck_assert_double_eq(bench_peaks_arithmetic(&bytes.c, "cpu_matrix", &engines), 4000);
    ck_assert_double_eq(bench_peaks_arithmetic(&bytes.c, "packed", &engines), 350);
    ck_assert(!bench_plausible(&row.c, "matrix", 2e9, 0, 1e6, &peaks).is_suspect);
    ck_assert(!bench_plausible(&row.c, "cpu_matrix", 2e9, 0, 1e6, &peaks).is_suspect);
    // Cold, a small case is limited by memory, too, not by the cache that it would fit.
    bench_row small = make_row("activation count=1000"); // 8 KB
    ck_assert_double_eq_tol(bench_plausible(&small.c, NULL, 0, 0, 80, &peaks).percent_of_peak, 50, 1e-6);
    ck_assert_double_eq_tol(bench_plausible(&small.c, NULL, 0, 1e8, 800, &peaks).percent_of_peak, 50, 1e-6);
}
END_TEST

// Who waits for its turn uses no CPU.
static double last_level_of(const char *class, double own, double host)
{
    json_t *device = json_pack("{s:{s:s, s:f}}", "traits", "class", class, "global_cache", own);
    const double bytes = bench_last_level_cache(device, host);
    json_decref(device);
    return bytes;
}

// Else cold rows would be hot there.
START_TEST(what_a_card_says_of_its_caches_is_not_all)
{
    const double mebibyte = 1048576;
    ck_assert_double_eq(last_level_of("CPU", 1 * mebibyte, 32 * mebibyte), 32 * mebibyte);
    ck_assert_double_eq(last_level_of("CPU", 64 * mebibyte, 32 * mebibyte), 64 * mebibyte);
    ck_assert_double_eq(last_level_of("integrated GPU", 1 * mebibyte, 32 * mebibyte), 32 * mebibyte);
    ck_assert_double_eq(last_level_of("discrete GPU", 16384, 32 * mebibyte), 256 * mebibyte);
    ck_assert_double_eq(last_level_of("discrete GPU", 408 * mebibyte, 32 * mebibyte), 408 * mebibyte);
    ck_assert_double_eq(last_level_of("discrete GPU", 0, 1024 * mebibyte), 256 * mebibyte);
}
END_TEST

START_TEST(an_idle_worker_sleeps)
{
    bench_runner_process c = start("good");
    char path[64], text[512] = "";
    unsigned long user[2], kernel[2];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "/proc/%d/stat", (int)c.process.pid);
        FILE *file = fopen(path, "r");
        if (!file)
            break; // not Linux
        ck_assert(fgets(text, sizeof text, file) != NULL);
        fclose(file);
        ck_assert_int_eq(
            sscanf(strrchr(text, ')') + 1, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu %lu", &user[i], &kernel[i]),
            2);
        if (i == 0)
            nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
        else
            ck_assert_uint_le(user[1] + kernel[1] - user[0] - kernel[0], 1);
    }
    bench_runner_process_stop(&c);
}
END_TEST

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (argc == 5 && !strcmp(argv[1], BENCH_WORKER_ARGUMENT)) {
        fake_set_name(argv[2]);
        return bench_worker_serve(&(bench_worker_options){.runner = &fake_runner, .extra = fake_extra});
    }
    TCase *tests = tcase_create("worker");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_row_is_verified_and_timed);
    tcase_add_test(tests, a_wrong_result_is_found);
    tcase_add_test(tests, a_refusal_is_no_failure);
    tcase_add_test(tests, a_hang_is_ended);
    tcase_add_test(tests, a_parent_that_was_stopped_takes_what_has_come);
    tcase_add_test(tests, a_slow_compiler_is_no_hang);
    tcase_add_test(tests, a_hang_says_what_it_was_doing);
    tcase_add_test(tests, a_driver_that_cannot_be_ended_does_not_hang_the_parent);
    tcase_add_test(tests, what_a_worker_has_started_ends_with_it);
    tcase_add_test(tests, any_form_makes_a_rival);
    tcase_add_test(tests, what_is_timed_has_to_be_right_as_well);
    tcase_add_test(tests, integers_that_are_not_written_are_found);
    tcase_add_test(tests, without_memory_nothing_is_right_or_wrong);
    tcase_add_test(tests, a_candidate_that_could_not_be_verified_is_not_kept_as_wrong);
    tcase_add_test(tests, tune_tells_a_hang_and_decides_without_it);
    tcase_add_test(tests, tune_tells_what_it_had_no_time_to_compile);
    tcase_add_test(tests, no_operators_verdict_is_wrong_for_want_of_memory);
    tcase_add_test(tests, what_is_wrong_stays_so_without_memory);
    tcase_add_test(tests, rows_that_find_no_memory_are_not_nothing_to_do);
    tcase_add_test(tests, one_that_is_too_fast_is_suspect);
    tcase_add_test(tests, a_crash_names_the_signal);
    tcase_add_test(tests, a_crash_costs_one_row_and_the_worker_comes_back);
    tcase_add_test(tests, one_that_cannot_open_says_why);
    tcase_add_test(tests, one_that_does_not_open_again_is_given_up);
    tcase_add_test(tests, samples_of_another_variant_are_not_mixed_in);
    tcase_add_test(tests, a_choice_of_the_first_round_is_made_again);
    tcase_add_test(tests, an_exit_code_is_reported);
    tcase_add_test(tests, a_program_is_marked_for_what_it_does_again);
    tcase_add_test(tests, an_end_that_nobody_saw_is_no_crash);
    tcase_add_test(tests, nonsense_gets_an_answer);
    tcase_add_test(tests, results_are_on_disk_after_every_row);
    tcase_add_test(tests, peaks_of_engines_go_by_their_products);
    tcase_add_test(tests, what_is_faster_than_the_device_is_suspect);
    tcase_add_test(tests, what_a_card_says_of_its_caches_is_not_all);
    tcase_add_test(tests, an_idle_worker_sleeps);
    Suite *suite = suite_create("clbench worker");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
