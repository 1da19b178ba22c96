// SPDX-License-Identifier: MIT
// ctest: timeout=120
// Two runs compared: what changed is found, noise is not taken for a change, and what cannot be compared is said.
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/options.h"
#include "common/json.h"
#include "common/json_schema.h"
#include "common/stats.h"
#include "compare/compare.h"
#include "compare/comparison.h"
#include "compare/devices.h"
#include "record/result_file.h"
#include "ref/random.h"

// ---- runs that were never made ----

typedef struct plan {
    double gemm, conv;   // times of their cases, relative
    double machine;      // its speed: times are longer, and the sentinel's rate is lower
    double round_noise;  // of a round's median
    double sample_noise; // of a sample in it
    int rounds, samples; // of a round
    int disturbed;       // this round of each case has half the machine; -1: none
    bool without_sentinels;
    bool by_process;    // a file of today: which process took which samples, and when
    int slow_processes; // of the first two cases: they take half as long again
    int false_readings; // of the first case's sentinel: half the rate, though its times are what they are
    double unequal;      // standard deviation of the logarithm of each case's round_noise
    double shared_noise; // of all cases in one round
    bool sentinel_feels; // that noise is the machine's: its rate is lower by as much
    bool lost;           // every second case has lost its first round to other work
} plan;

static const plan usual = {.gemm = 1,
                           .conv = 1,
                           .machine = 1,
                           .round_noise = 0.02,
                           .sample_noise = 0.01,
                           .rounds = 5,
                           .samples = 8,
                           .disturbed = -1};
// As the bare run measures on idle cores.
static const plan bare = {.gemm = 1,
                          .conv = 1,
                          .machine = 1,
                          .round_noise = 0.007,
                          .sample_noise = 0.01,
                          .rounds = 3,
                          .samples = 20,
                          .disturbed = -1,
                          .by_process = true};

static husk_ref_random source;

// About normal, of variance 1: the sum of twelve.
static double normal(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)husk_ref_random_below(&source, 1 << 20) / (1 << 20);
    return sum;
}

static double shared[32]; // of the rounds of the run that is being made

static json_t *sentinel_of(const plan *p, int index, int round, double part)
{
    const double claimed = index == 0 && round < p->false_readings ? 0.5 : part,
                 rate = 200 * p->machine * (p->sentinel_feels ? exp(-shared[round]) : 1);
    json_t *sentinel = json_pack("{s:f, s:f, s:i}", "before_gflops", rate * exp(0.01 * normal()), "after_gflops",
                                 rate * claimed, "samples", p->samples);
    if (p->by_process) {
        json_object_set_new(sentinel, "process", json_integer(round));
        json_object_set_new(sentinel, "at_s", json_real(8 * round + index));
    }
    return sentinel;
}

static json_t *row_of(int index, const char *name, const char *op, double time, const plan *p)
{
    json_t *samples = json_array(), *sentinels = json_array(), *processes = json_array();
    bench_samples all = {0};
    bench_parts parts = {0};
    bench_summary s;
    bench_levels levels;
    const double own_noise = p->round_noise * (p->unequal > 0 ? exp(p->unequal * normal()) : 1);
    for (int round = p->lost && index % 2; round < p->rounds; round++) {
        const double part = round == p->disturbed ? 0.5 : 1, slow = index < 2 && round < p->slow_processes ? 1.5 : 1;
        const double middle = slow * time / p->machine / part * exp(own_noise * normal() + shared[round]);
        bench_samples own = {0};
        for (int i = 0; i < p->samples; i++) {
            bench_samples_add(&own, middle * exp(p->sample_noise * normal()));
            bench_samples_add(&all, own.values[i]);
        }
        bench_parts_add(&parts, &(bench_part){.number = round, .count = own.count});
        ck_assert(bench_summarise(&own, &s));
        json_array_append_new(processes, json_pack("{s:I, s:f}", "n", (json_int_t)own.count, "median_ns", s.median));
        bench_samples_free(&own);
        json_array_append_new(sentinels, sentinel_of(p, index, round, part));
    }
    for (size_t i = 0; i < all.count; i++)
        json_array_append_new(samples, json_real(all.values[i]));
    ck_assert(bench_summarise(&all, &s));
    ck_assert(bench_levels_find(all.values, &parts, &levels));
    bench_samples_free(&all);
    bench_parts_free(&parts);
    if (p->without_sentinels)
        json_array_clear(sentinels);
    if (p->by_process && p->rounds > 1) {
        s.median = levels.median;
        s.ci_low = levels.low;
        s.ci_high = levels.high;
    }
    json_t *row = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:n, s:n, s:n, s:n, s:n, s:o, s:[], s:s, s:o}", "case", name, "op", op, "dtype",
        "f32", "variant", "v", "state", "ok", "reason", "verify", "gflops", "gbytes_per_s", "percent_of_peak", "time",
        json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:s, s:o}", "median_ns", s.median, "ci_low_ns", s.ci_low,
                  "ci_high_ns", s.ci_high, "min_ns", s.min, "q1_ns", s.q1, "q3_ns", s.q3, "max_ns", s.max, "n",
                  (json_int_t)s.n, "stop", "quick", "samples_ns", samples),
        "baselines", "temperature", "hot", "sentinels", sentinels);
    if (p->by_process)
        json_object_set(json_object_get(row, "time"), "processes", processes);
    json_decref(processes);
    return row;
}

static json_t *run_of(const plan *p)
{
    char reason[BENCH_REASON_TEXT], name[64];
    json_t *rows = json_array();
    for (int i = 0; i < p->rounds; i++)
        shared[i] = p->shared_noise > 0 ? p->shared_noise * normal() : 0;
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "gemm m=%d n=1 k=1", i + 1);
        json_array_append_new(rows, row_of(2 * i, name, "gemm", 1e5 * (i + 1) * p->gemm, p));
        snprintf(name, sizeof name, "conv c=1 h=1 w=1 k=%d r=1 s=1", i + 1);
        json_array_append_new(rows, row_of(2 * i + 1, name, "conv", 2e5 * (i + 1) * p->conv, p));
    }
    json_t *document = json_pack("{s:s, s:s, s:s, s:{s:s, s:i}, s:{s:s, s:s, s:s, s:{s:i}}, s:{s:s}, s:o, s:{}}",
                                 "schema", "clbench/2", "husk_version", "0", "started", "2026-01-02T03:04:05Z", "host",
                                 "cpu", "c", "cores", 2, "device", "platform", "p", "name", "device", "driver", "1",
                                 "traits", "compute_units", 2, "timer", "source", "wall", "results", rows, "summary");
    ck_assert_msg(bench_result_check(document, "made", reason), "%s", reason);
    return document;
}

static json_t *row_at(json_t *document, size_t index)
{
    return json_array_get(json_object_get(document, "results"), index);
}

static void set_state(json_t *document, size_t index, const char *state)
{
    json_object_set_new(row_at(document, index), "state", json_string(state));
}

static void compare(json_t *old, json_t *new, bench_comparison *c)
{
    ck_assert(bench_compare(old, 0, new, 0, true, c));
}

static const bench_group *group(const bench_comparison *c, const char *op)
{
    for (size_t i = 0; i < c->group_count; i++)
        if (op ? c->groups[i].op && !strcmp(c->groups[i].op, op) : !c->groups[i].op)
            return &c->groups[i];
    ck_abort_msg("no group %s", op ? op : "of all");
    return NULL;
}

static void finish(bench_comparison *c, json_t *old, json_t *new)
{
    bench_comparison_free(c);
    json_decref(old);
    json_decref(new);
}

// ---- what is found ----

START_TEST(a_slower_operator_is_named)
{
    source = (husk_ref_random){.seed = 1};
    plan slow = usual;
    slow.gemm = 1.15;
    json_t *old = run_of(&usual), *new = run_of(&slow);
    bench_comparison c;
    compare(old, new, &c);
    ck_assert_int_eq(group(&c, "gemm")->change, BENCH_SLOWER);
    ck_assert_int_eq(group(&c, "conv")->change, BENCH_SAME);
    ck_assert_double_eq_tol(group(&c, "gemm")->ratio, 1.15, 0.03);
    ck_assert_double_eq_tol(group(&c, NULL)->ratio, sqrt(1.15), 0.03);
    ck_assert_uint_eq(c.pair_count, 8);
    ck_assert_int_eq(bench_comparison_code(&c), BENCH_EXIT_REGRESSION);
    finish(&c, json_incref(old), json_incref(new));
    compare(new, old, &c); // and the other way round
    ck_assert_int_eq(group(&c, "gemm")->change, BENCH_FASTER);
    ck_assert_int_eq(bench_comparison_code(&c), BENCH_EXIT_OK);
    finish(&c, new, old);
}
END_TEST

START_TEST(the_machines_speed_is_taken_out)
{
    source = (husk_ref_random){.seed = 2};
    plan slow = usual;
    slow.machine = 0.8;
    json_t *old = run_of(&usual), *new = run_of(&slow);
    bench_comparison c;
    compare(old, new, &c);
    ck_assert(c.is_normalised);
    ck_assert_double_eq_tol(c.speed, 0.8, 0.01);
    ck_assert_int_eq(bench_comparison_code(&c), BENCH_EXIT_OK);
    bench_comparison_free(&c);
    // What is not of the same device is not normalised.
    ck_assert(bench_compare(old, 0, new, 0, false, &c));
    ck_assert(!c.is_normalised);
    ck_assert_int_eq(bench_comparison_code(&c), BENCH_EXIT_REGRESSION);
    finish(&c, old, new);
}
END_TEST

START_TEST(a_round_in_which_something_else_ran_does_not_count)
{
    source = (husk_ref_random){.seed = 3};
    plan disturbed = usual;
    disturbed.disturbed = 2;
    json_t *old = run_of(&usual), *new = run_of(&disturbed);
    bench_comparison c;
    compare(old, new, &c);
    ck_assert_uint_eq(c.disturbed[0], 0);
    ck_assert_uint_eq(c.disturbed[1], 8);
    ck_assert_uint_eq(c.pairs[0].sides[1].count, 32);
    ck_assert_int_eq(bench_comparison_code(&c), BENCH_EXIT_OK);
    finish(&c, old, new);
}
END_TEST

START_TEST(files_without_sentinels_are_compared_as_they_are)
{
    source = (husk_ref_random){.seed = 4};
    plan old_plan = usual;
    old_plan.without_sentinels = true;
    json_t *old = run_of(&old_plan), *new = run_of(&usual);
    bench_comparison c;
    compare(old, new, &c);
    ck_assert(!c.is_normalised);
    ck_assert_uint_eq(c.pairs[0].sides[0].count, 40);
    ck_assert_double_eq_tol(group(&c, NULL)->ratio, 1, 0.03);
    finish(&c, old, new);
}
END_TEST

START_TEST(few_samples_claim_nothing)
{
    source = (husk_ref_random){.seed = 5};
    plan few = usual;
    few.rounds = 1;
    few.samples = 9;
    few.gemm = 2;
    json_t *old = run_of(&usual), *new = run_of(&few);
    bench_comparison c;
    compare(old, new, &c);
    ck_assert_int_eq(c.pairs[0].change, BENCH_UNSURE);
    ck_assert(isnan(c.pairs[0].p));
    ck_assert_uint_eq(c.unsure, 8);
    ck_assert_int_eq(bench_comparison_code(&c), BENCH_EXIT_AMBIGUOUS);
    finish(&c, old, new);
}
END_TEST

START_TEST(states_that_changed_are_named)
{
    source = (husk_ref_random){.seed = 6};
    json_t *old = run_of(&usual), *new = run_of(&usual);
    bench_comparison c;
    set_state(old, 1, "error");
    set_state(new, 2, "timeout");
    compare(old, new, &c);
    ck_assert_uint_eq(c.move_count, 2);
    ck_assert_int_eq(c.moves[0].kind, BENCH_MOVE_RIGHT);
    ck_assert_int_eq(c.moves[1].kind, BENCH_MOVE_LOST);
    ck_assert_uint_eq(c.pair_count, 6);
    ck_assert_int_eq(bench_comparison_code(&c), BENCH_EXIT_REGRESSION);
    bench_comparison_free(&c);
    set_state(new, 0, "failed");
    compare(old, new, &c);
    ck_assert_int_eq(c.moves[0].kind, BENCH_MOVE_WRONG);
    ck_assert_int_eq(bench_comparison_code(&c), BENCH_EXIT_VERIFICATION);
    bench_comparison_free(&c);
    set_state(old, 0, "failed"); // wrong in both is no news, and wrong nevertheless
    compare(old, new, &c);
    ck_assert_int_eq(c.moves[0].kind, BENCH_MOVE_STILL_WRONG);
    ck_assert_uint_eq(c.wrong, 0);
    ck_assert_uint_eq(c.still_wrong, 1);
    ck_assert_int_eq(bench_comparison_code(&c), BENCH_EXIT_VERIFICATION);
    finish(&c, old, new);
    old = run_of(&usual);
    new = run_of(&usual);
    set_state(new, 2, "suspect");
    compare(old, new, &c);
    ck_assert_uint_eq(c.lost, 0);
    ck_assert_int_eq(bench_comparison_code(&c), BENCH_EXIT_AMBIGUOUS);
    finish(&c, old, new);
}
END_TEST

START_TEST(cases_of_one_run_alone_are_listed)
{
    source = (husk_ref_random){.seed = 7};
    json_t *old = run_of(&usual), *new = run_of(&usual);
    json_object_set_new(row_at(old, 0), "case", json_string("gemm m=77 n=1 k=1"));
    json_object_set_new(row_at(new, 3), "temperature", json_string("cold"));
    bench_comparison c;
    compare(old, new, &c);
    ck_assert_uint_eq(c.only_count[0], 2);
    ck_assert_uint_eq(c.only_count[1], 2);
    ck_assert_uint_eq(c.pair_count, 6);
    ck_assert_int_eq(bench_comparison_code(&c), BENCH_EXIT_AMBIGUOUS); // what was not measured again is not known
    finish(&c, old, new);
    old = run_of(&usual);
    new = run_of(&usual);
    json_array_clear(json_object_get(new, "results"));
    compare(old, new, &c);
    ck_assert_uint_eq(c.pair_count, 0);
    ck_assert_int_eq(bench_comparison_code(&c), BENCH_EXIT_AMBIGUOUS);
    finish(&c, old, new);
}
END_TEST

// Wrong where there is nothing to compare with, it is wrong; what only the old run had wrong is gone.
START_TEST(a_wrong_case_of_the_new_run_alone_is_wrong)
{
    source = (husk_ref_random){.seed = 7};
    json_t *old = run_of(&usual), *new = run_of(&usual);
    json_object_set_new(row_at(new, 0), "case", json_string("gemm m=77 n=1 k=1"));
    set_state(new, 0, "failed");
    bench_comparison c;
    compare(old, new, &c);
    ck_assert_uint_eq(c.only_count[1], 1);
    ck_assert_uint_eq(c.new_wrong, 1);
    ck_assert_uint_eq(c.wrong, 0);
    ck_assert_uint_eq(c.move_count, 1);
    ck_assert_int_eq(c.moves[0].kind, BENCH_MOVE_NEW_WRONG);
    ck_assert_ptr_null(c.moves[0].old_row);
    ck_assert_int_eq(bench_comparison_code(&c), BENCH_EXIT_VERIFICATION);
    bench_comparison_free(&c);
    compare(new, old, &c);
    ck_assert_uint_eq(c.new_wrong + c.wrong + c.still_wrong, 0);
    ck_assert_int_eq(bench_comparison_code(&c), BENCH_EXIT_AMBIGUOUS);
    finish(&c, old, new);
}
END_TEST

// A build may choose another variant; where several were asked for, each is compared with itself.
START_TEST(variants_are_compared_with_themselves)
{
    source = (husk_ref_random){.seed = 8};
    json_t *old = run_of(&usual), *new = run_of(&usual);
    bench_comparison c;
    json_object_set_new(row_at(new, 0), "variant", json_string("w"));
    compare(old, new, &c);
    ck_assert_uint_eq(c.pair_count, 8);
    bench_comparison_free(&c);
    json_t *second = json_deep_copy(row_at(new, 0));
    json_object_set_new(second, "variant", json_string("v"));
    json_array_append_new(json_object_get(new, "results"), second);
    compare(old, new, &c);
    ck_assert_uint_eq(c.pair_count, 8);
    ck_assert_uint_eq(c.only_count[1], 1);
    ck_assert_str_eq(bench_text_of(c.only[1][0], "variant"), "w");
    finish(&c, old, new);
}
END_TEST

// Of runs that differ by noise alone, at most one in twenty is said to be slower; and of those whose GEMM is 15%
// slower, at most one in twenty is not.
START_TEST(noise_is_no_regression)
{
    const double noises[] = {0.01, 0.03, 0.06};
    for (int k = 0; k < 3; k++) {
        int claimed = 0, found = 0;
        for (int i = 0; i < 100; i++) {
            source = (husk_ref_random){.seed = (uint64_t)(1000 * k + i)};
            plan same = usual, slow = usual;
            same.round_noise = slow.round_noise = noises[k];
            slow.gemm = 1.15;
            json_t *old = run_of(&same), *new = run_of(&same), *slower = run_of(&slow);
            bench_comparison c;
            compare(old, new, &c);
            claimed += bench_comparison_code(&c) == BENCH_EXIT_REGRESSION;
            bench_comparison_free(&c);
            compare(old, slower, &c);
            found += bench_comparison_code(&c) == BENCH_EXIT_REGRESSION &&
                     (group(&c, "gemm")->change == BENCH_SLOWER || group(&c, "gemm")->slower);
            finish(&c, old, new);
            json_decref(slower);
        }
        ck_assert_msg(claimed <= 5, "noise %.2f: %d of 100 pairs were said to be slower", noises[k], claimed);
        ck_assert_msg(found >= 95, "noise %.2f: %d of 100 slower ones were found", noises[k], found);
    }
}
END_TEST

// ---- processes ----

static int compared(const plan *old_plan, const plan *new_plan, bench_comparison *c)
{
    static json_t *old, *new; // which the comparison borrows, until the next one
    json_decref(old);
    json_decref(new);
    old = run_of(old_plan);
    new = run_of(new_plan);
    compare(old, new, c);
    return bench_comparison_code(c);
}

// A process that was slow for all of its life says nothing about the build: the row is reported, and not judged; nor
// does it make the others' noise.
START_TEST(two_speeds_are_reported_and_not_judged)
{
    plan one = bare, two = bare;
    one.slow_processes = 1;
    two.slow_processes = 2;
    const plan *const pairs[][2] = {{&bare, &one}, {&one, &bare}, {&one, &two}, {&bare, &two}, {&two, &bare}};
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        int claimed = 0;
        for (int i = 0; i < 20; i++) {
            bench_comparison c;
            source = (husk_ref_random){.seed = 100 * k + (uint64_t)i};
            claimed += compared(pairs[k][0], pairs[k][1], &c) == BENCH_EXIT_REGRESSION;
            ck_assert_int_eq(c.pairs[0].change, BENCH_DIVIDED);
            ck_assert_int_eq(c.pairs[1].change, BENCH_DIVIDED);
            ck_assert_uint_eq(c.divided, 2);
            ck_assert_double_lt(c.pairs[2].limit, 0.06);
            bench_comparison_free(&c);
        }
        ck_assert_int_le(claimed, 1);
    }
}
END_TEST

// Where every process of the new run is slower than any of the old one, two speeds are no excuse.
START_TEST(two_speeds_that_have_nothing_in_common_are_ambiguous)
{
    bench_comparison c;
    plan old = bare, slow = bare;
    source = (husk_ref_random){.seed = 11};
    slow.slow_processes = 1;
    slow.gemm = 1.3;
    compared(&old, &slow, &c);
    ck_assert_int_eq(c.pairs[0].change, BENCH_UNSURE); // a gemm
    ck_assert_int_eq(c.pairs[1].change, BENCH_DIVIDED);
    ck_assert_uint_eq(group(&c, "gemm")->count, 3); // neither is part of its operator's mean
    ck_assert_uint_eq(group(&c, "conv")->count, 3);
    bench_comparison_free(&c);
}
END_TEST

// What is not judged is not known: --fail-on ambiguous says so, the default does not.
START_TEST(what_is_not_judged_is_ambiguous)
{
    bench_comparison c;
    plan one = bare;
    source = (husk_ref_random){.seed = 12};
    one.slow_processes = 1;
    ck_assert_int_eq(compared(&bare, &one, &c), BENCH_EXIT_AMBIGUOUS);
    bench_comparison_free(&c);
}
END_TEST

// Of so many pairs of one build: those that are said to be slower. 5% may be.
static void expect_few_claims(const plan *p, uint64_t seed, int pairs)
{
    int claimed = 0;
    for (int i = 0; i < pairs; i++) {
        bench_comparison c;
        source = (husk_ref_random){.seed = seed + (uint64_t)i};
        claimed += compared(p, p, &c) == BENCH_EXIT_REGRESSION;
        bench_comparison_free(&c);
    }
    ck_assert_msg(claimed <= pairs / 20, "%d of %d pairs of one build", claimed, pairs);
}

// Cases differ in how much their processes do. Those that agree by chance are not taken for quiet ones.
START_TEST(cases_of_unequal_noise_are_told_apart_no_more_often)
{
    plan p = bare;
    p.unequal = 1;
    expect_few_claims(&p, 3000, 200);
}
END_TEST

// One process of few samples each: an operator is not claimed where its case is not.
START_TEST(samples_of_one_process_are_noise_of_the_operator_too)
{
    plan p = bare;
    p.rounds = 1;
    p.sample_noise = 0.3;
    p.samples = 12;
    expect_few_claims(&p, 4000, 100);
}
END_TEST

// What all cases of a process share is the operator's noise, whichever of them lost a round to other work.
START_TEST(processes_are_known_by_their_number)
{
    plan p = bare;
    p.shared_noise = 0.02;
    p.lost = true;
    expect_few_claims(&p, 5000, 100);
}
END_TEST

// The machine's speed may explain a change that one view has and another has not; where all have it, it does not.
START_TEST(as_the_machine_is_said_where_views_differ)
{
    bench_comparison c;
    plan slow = bare, less = bare;
    source = (husk_ref_random){.seed = 13};
    slow.machine = 0.8;
    compared(&bare, &slow, &c);
    ck_assert(c.pairs[0].by_machine && !c.pairs[0].overlaps);
    bench_comparison_free(&c);
    less.gemm = 1.012;
    for (int i = 0; i < 20; i++) {
        source = (husk_ref_random){.seed = 60 + (uint64_t)i};
        compared(&bare, &less, &c);
        for (size_t k = 0; k < c.pair_count; k++)
            ck_assert(!c.pairs[k].by_machine);
        bench_comparison_free(&c);
    }
}
END_TEST

// One reading of the sentinel that is wrong moves no row: neither the case beside it, which it would make faster, nor
// those near it.
START_TEST(one_disturbed_sentinel_moves_nothing)
{
    int claimed = 0;
    for (int i = 0; i < 100; i++) {
        bench_comparison c;
        plan disturbed = bare;
        source = (husk_ref_random){.seed = (uint64_t)i};
        disturbed.false_readings = 1 + i % 3;
        claimed += compared(&bare, &disturbed, &c) == BENCH_EXIT_REGRESSION;
        claimed += c.faster > 0;
        ck_assert_double_eq_tol(c.pairs[0].ratio, 1, 0.03);
        bench_comparison_free(&c);
    }
    ck_assert_int_le(claimed, 5);
}
END_TEST

// What the bare run measures has to tell 5% of an operator's cases, each by name, and not to tell a build from itself.
START_TEST(a_real_five_percent_is_named)
{
    int claimed = 0, found = 0, named = 0, others = 0;
    for (int i = 0; i < 100; i++) {
        bench_comparison c;
        plan slow = bare;
        source = (husk_ref_random){.seed = 1000 + (uint64_t)i};
        slow.gemm = 1.05;
        claimed += compared(&bare, &bare, &c) == BENCH_EXIT_REGRESSION;
        bench_comparison_free(&c);
        found += compared(&bare, &slow, &c) == BENCH_EXIT_REGRESSION && group(&c, "gemm")->change == BENCH_SLOWER;
        named += (int)group(&c, "gemm")->slower;
        others += group(&c, "conv")->slower > 0 || group(&c, "conv")->change == BENCH_SLOWER;
        bench_comparison_free(&c);
    }
    ck_assert_msg(claimed <= 5, "%d of 100 pairs of one build", claimed);
    ck_assert_msg(found >= 95, "%d of 100 slower ones", found);
    ck_assert_msg(named >= 320, "%d of 400 cases", named);
    ck_assert_msg(others <= 5, "in %d of 100 another operator was said to be slower", others);
}
END_TEST

// A machine whose speed drifts moves all cases and the sentinel alike: what is left beside that is the noise.
START_TEST(a_machine_that_drifts_hides_no_five_percent)
{
    int claimed = 0, found = 0, blind = 0;
    double felt = 0, left = 0, whole = 0; // in all runs together
    for (int i = 0; i < 100; i++) {
        bench_comparison c;
        plan same = bare, slow = bare;
        source = (husk_ref_random){.seed = 5000 + (uint64_t)i};
        same.shared_noise = slow.shared_noise = 0.02;
        same.sentinel_feels = slow.sentinel_feels = true;
        slow.gemm = 1.05;
        claimed += compared(&same, &same, &c) == BENCH_EXIT_REGRESSION;
        bench_comparison_free(&c);
        found += compared(&same, &slow, &c) == BENCH_EXIT_REGRESSION;
        felt += c.felt[0] / 100;
        left += c.usual[0].deviation;
        whole += c.usual[0].measured;
        bench_comparison_free(&c);
        same.sentinel_feels = slow.sentinel_feels = false;
        blind += compared(&same, &slow, &c) == BENCH_EXIT_REGRESSION;
        bench_comparison_free(&c);
    }
    ck_assert_msg(claimed <= 5, "%d of 100 pairs of one build", claimed);
    ck_assert_msg(found >= 65 && found > 2 * blind, "%d of 100 slower ones, and %d without the sentinel", found, blind);
    ck_assert_msg(felt > 0.8 && left < 0.6 * whole, "felt %.2f, %.3f of %.3f are left", felt, left, whole);
}
END_TEST

// What the sentinel does and the cases do not feel is not put into their times.
START_TEST(a_sentinel_that_drifts_alone_moves_nothing)
{
    double felt = 0;
    for (int i = 0; i < 40; i++) {
        bench_comparison c;
        source = (husk_ref_random){.seed = 6000 + (uint64_t)i};
        plan drifting = bare;
        drifting.shared_noise = 0.05;
        drifting.sentinel_feels = true;
        json_t *old = run_of(&drifting), *quiet = run_of(&bare);
        for (size_t k = 0; k < json_array_size(json_object_get(old, "results")); k++) // its times from the quiet one
            json_object_set(row_at(old, k), "time", json_object_get(row_at(quiet, k), "time"));
        compare(old, quiet, &c);
        felt += c.felt[0] / 40;
        ck_assert_int_ne(bench_comparison_code(&c), BENCH_EXIT_REGRESSION);
        finish(&c, old, quiet);
    }
    ck_assert_double_lt(felt, 0.1);
}
END_TEST

// ---- the command ----

static char folder[] = "/tmp/husk-test-compare-XXXXXX", output[1 << 16];

static void write_run(const char *name, json_t *document)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    ck_assert_int_eq(json_dump_file(document, path, 0), 0);
    json_decref(document);
}

// In the folder, with $clbench; both streams are in output.
static void expect(const char *arguments, int code, const char *part)
{
    char command[1000];
    snprintf(command, sizeof command, "cd %s && { OCL_ICD_VENDORS=/nonexistent '%s' %s; } 2>&1 < /dev/null", folder,
             HUSK_CLBENCH, arguments);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    output[fread(output, 1, sizeof output - 1, pipe)] = '\0';
    const int status = pclose(pipe);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == code, "%s: not %d but %d\n%.3000s", arguments, code,
                  WEXITSTATUS(status), output);
    ck_assert_msg(strstr(output, part) != NULL, "%s: '%s' is not in\n%.3000s", arguments, part, output);
}

// It is what bench/schema says, without anything that the schema does not name; and a wrong one is not.
static void check_schema(const char *name)
{
    static const char file[] = HUSK_SOURCE_DIR "/bench/schema/clbench-compare-2.schema.json";
    char path[200], command[600];
    bench_fault fault = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    json_t *document = json_load_file(path, 0, NULL), *schema = json_load_file(file, 0, NULL);
    ck_assert(json_is_object(document) && json_is_object(schema));
    ck_assert_msg(bench_schema_check(schema, document, &fault), "%s: %s", fault.place, fault.rule);
    ck_assert_msg(bench_schema_names_all(schema, document, &fault), "%s: %s", fault.place, fault.rule);
    snprintf(command, sizeof command, "sh '%s' '%s' '%s'", HUSK_TESTS_DIR "/tools/check_schema.sh", file, path);
    ck_assert_msg(system(command) == 0, "%s", command);
    json_object_set_new(json_object_get(document, "all"), "change", json_string("better"));
    ck_assert(!bench_schema_check(schema, document, &fault));
    ck_assert_ptr_nonnull(strstr(fault.place, "all.change"));
    json_decref(document);
    json_decref(schema);
}

START_TEST(the_command_says_it_and_leaves_with_it)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    source = (husk_ref_random){.seed = 9};
    plan slow = usual, few = usual;
    slow.gemm = 1.3;
    few.rounds = 1;
    json_t *other = run_of(&usual), *none = run_of(&usual), *wrong = run_of(&usual);
    json_object_set_new(json_object_get(other, "device"), "driver", json_string("2"));
    json_object_set_new(none, "device", json_null());
    json_array_clear(json_object_get(none, "results"));
    set_state(wrong, 0, "failed");
    json_t *alone = json_deep_copy(wrong);
    json_object_set_new(row_at(alone, 0), "case", json_string("gemm m=77 n=1 k=1"));
    json_object_set_new(row_at(alone, 0), "reason", json_string("nine is not six"));
    write_run("alone.json", alone);
    write_run("a.json", run_of(&usual));
    write_run("b.json", run_of(&usual));
    write_run("slow.json", run_of(&slow));
    write_run("few.json", run_of(&few));
    write_run("other.json", other);
    write_run("none.json", none);
    write_run("wrong.json", wrong);
    expect("compare a.json b.json", 0, "No regression.");
    expect("compare a.json slow.json", 4, "Slower: gemm.");
    expect("compare a.json slow.json --fail-on never", 0, "Slower: gemm.");
    expect("compare a.json few.json", 5, "too few samples");
    ck_assert_ptr_nonnull(strstr(output, "Nothing could be judged."));
    expect("compare a.json few.json --fail-on never", 0, "ambiguous");
    expect("compare a.json wrong.json", 3, "WRONG now: gemm m=1 n=1 k=1: failed, was ok");
    expect("compare a.json other.json", 2, "the driver is \"1\" in one and \"2\" in the other; --force");
    expect("compare a.json other.json --force", 0, "as they are: they are of different devices");
    expect("compare a.json none.json", 2, "none.json: no device was measured in it");
    expect("compare a.json other.json slow.json", 0, "all together");
    ck_assert_ptr_nonnull(strstr(output, "B: device (p, driver 2)"));
    ck_assert_ptr_null(strstr(output, "A mean is over"));
    expect("compare a.json other.json wrong.json", 0, "in the other: of 8, C 7.");
    expect("compare", 2, "clbench compare OLD.json NEW.json");
    expect("compare a.json", 2, "compare needs two results");
    expect("compare a.json missing.json", 2, "missing.json: No such file or directory");
    expect("compare a.json b.json --fail-on slower", 2, "regression, ambiguous or never");
    expect("compare a.json b.json --csv x", 2, "has no option");
    expect("compare a.json b.json --json /no/such/folder/x", 1, "cannot be written");
    expect("compare a.json slow.json --md /no/such/folder/x", 1, "cannot be written");
    expect("compare a.json wrong.json --json /no/such/folder/x", 3, "cannot be written");
    expect("compare a.json wrong.json --json /dev/full", 3, "could not be written");
    expect("compare a.json slow.json --json c.json --md c.md", 4, "Slower");
    expect("compare a.json slow.json --md - 2> /dev/null", 4, "| `gemm m=1 n=1 k=1` |");
    char path[200];
    snprintf(path, sizeof path, "%s/c.json", folder);
    json_t *document = json_load_file(path, 0, NULL);
    ck_assert_str_eq(bench_text_of(document, "schema"), "clbench-compare/2");
    ck_assert_int_eq(json_integer_value(json_object_get(document, "code")), 4);
    ck_assert_str_eq(bench_text_of(json_array_get(json_object_get(document, "ops"), 0), "change"), "slower");
    ck_assert_uint_eq(json_array_size(json_object_get(document, "results")), 8);
    json_decref(document);
    check_schema("c.json");
    expect("compare wrong.json a.json --json c.json --force", 0, "right now");
    check_schema("c.json");
    expect("compare a.json wrong.json --json c.json", 3, "WRONG now");
    check_schema("c.json");
    expect("compare a.json few.json --json c.json", 5, "ambiguous");
    check_schema("c.json");
    expect("compare wrong.json wrong.json --fail-on never", 3, "still WRONG: gemm m=1 n=1 k=1: failed, was failed");
    ck_assert_ptr_nonnull(strstr(output, "1 case is still WRONG."));
    expect("compare a.json alone.json --fail-on never --json c.json --md c.md; code=$?; cat c.md; exit $code", 3,
           "WRONG: gemm m=77 n=1 k=1: failed, and not in the old run: nine is not six");
    ck_assert_ptr_nonnull(strstr(output, "only in alone.json: gemm m=77 n=1 k=1: failed\n"));
    ck_assert_ptr_nonnull(strstr(output, "1 case is WRONG that only the new run has."));
    ck_assert_ptr_nonnull(strstr(output, "- WRONG: `gemm m=77 n=1 k=1`: failed, and not in the old run\n"));
    ck_assert_ptr_nonnull(strstr(output, "- only in alone.json: `gemm m=77 n=1 k=1`: failed\n"));
    check_schema("c.json");
    document = json_load_file(path, 0, NULL);
    ck_assert_int_eq(json_integer_value(json_object_get(document, "code")), 3);
    const json_t *state = json_array_get(json_object_get(document, "states"), 0);
    ck_assert_str_eq(bench_text_of(state, "case"), "gemm m=77 n=1 k=1");
    ck_assert_str_eq(bench_text_of(state, "new"), "failed");
    ck_assert(json_is_null(json_object_get(state, "old")));
    json_decref(document);
    expect("compare alone.json a.json", 0, "only in alone.json: gemm m=77 n=1 k=1: failed");
    expect("compare a.json other.json slow.json --json d.json", 0, "A's time");
    snprintf(path, sizeof path, "%s/d.json", folder);
    document = json_load_file(path, 0, NULL);
    ck_assert_uint_eq(json_array_size(json_object_get(document, "columns")), 3);
    json_decref(document);
    json_t *all = run_of(&usual), *rows = json_object_get(all, "results");
    for (size_t i = 0; i < 2; i++) {
        json_t *variant = json_deep_copy(row_at(all, 0));
        json_object_set_new(variant, "variant", json_string(i ? "w" : "u"));
        json_object_set_new(variant, "asked", json_string(i ? "w" : "u"));
        json_array_append_new(rows, variant);
    }
    write_run("all.json", all);
    expect("compare all.json a.json b.json --json d.json --md d.md", 0, "\ngemm m=1 n=1 k=1 (u) ");
    ck_assert_ptr_nonnull(strstr(output, "\ngemm m=1 n=1 k=1 (w) "));
    expect("compare all.json a.json b.json > /dev/null; cat d.md", 0, "| `gemm m=1 n=1 k=1 (w)` |");
    document = json_load_file(path, 0, NULL);
    ck_assert_str_eq(bench_text_of(json_array_get(json_object_get(document, "results"), 9), "variant"), "w");
    json_decref(document);
    expect("compare a.json all.json --fail-on never --json c.json", 0, "only in all.json: gemm m=1 n=1 k=1 (u)\n");
    ck_assert_ptr_nonnull(strstr(output, "only in all.json: gemm m=1 n=1 k=1 (w)\n"));
    check_schema("c.json");
    // Cut off in the middle, as an interrupted copy leaves it.
    expect("compare a.json b.json; head -c 5000 a.json > cut.json; true", 0, "");
    expect("compare cut.json b.json", 2, "cut.json: line 1");
    snprintf(path, sizeof path, "rm -rf %s", folder);
    ck_assert_int_eq(system(path), 0);
}
END_TEST

// One run on two cards that only their place tells apart; the plans are theirs.
static json_t *run_of_two(const plan *first, const plan *second, const char *const places[2])
{
    json_t *document = run_of(first), *other = run_of(second), *devices = json_array();
    json_t *rows = json_object_get(document, "results"), *more = json_object_get(other, "results");
    for (size_t i = 0; i < json_array_size(more); i++) {
        json_object_set_new(json_array_get(more, i), "device", json_integer(1));
        json_array_append(rows, json_array_get(more, i));
    }
    for (int i = 0; i < 2; i++) {
        json_t *device = json_deep_copy(json_object_get(document, "device"));
        json_object_set_new(json_object_get(device, "traits"), "pci_address", json_string(places[i]));
        json_array_append_new(devices, device);
    }
    json_object_set_new(document, "devices", devices);
    json_decref(other);
    return document;
}

START_TEST(equal_devices_are_compared_each_with_its_own)
{
    static const char *const none[2] = {"", ""}, *const places[2] = {"0000:01:00.0", "0000:02:00.0"},
                             *const turned[2] = {"0000:02:00.0", "0000:01:00.0"};
    char command[400];
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    source = (husk_ref_random){.seed = 18};
    plan slow = usual;
    slow.gemm = slow.conv = 2;
    write_run("a.json", run_of_two(&usual, &slow, none));
    write_run("b.json", run_of_two(&usual, &slow, none));
    write_run("c.json", run_of_two(&usual, &slow, places));
    write_run("d.json", run_of_two(&slow, &usual, turned));
    expect("compare a.json b.json", 0, "No regression");
    expect("compare c.json d.json", 0, "No regression");
    ck_assert_ptr_null(strstr(output, "Not compared"));
    // What has no partner is said, whichever run has it.
    json_t *document = run_of_two(&usual, &slow, none);
    json_object_set_new(json_array_get(json_object_get(document, "devices"), 1), "driver", json_string("2"));
    write_run("e.json", document);
    expect("compare a.json e.json", 0, "Not compared: device (driver 2), which only e.json has.");
    ck_assert_ptr_nonnull(strstr(output, "Not compared: device (driver 1), which only a.json has."));
    // And what is wrong there is wrong.
    document = run_of_two(&usual, &slow, none);
    json_object_set_new(json_array_get(json_object_get(document, "devices"), 1), "driver", json_string("2"));
    set_state(document, 8, "failed");
    write_run("f.json", document);
    expect("compare a.json f.json", 3, "WRONG: gemm m=1 n=1 k=1: failed, and not compared, on device of f.json");
    expect("compare f.json a.json", 0, "Not compared");
    json_t *others = run_of_two(&usual, &slow, none);
    for (size_t i = 0; i < 2; i++)
        json_object_set_new(json_array_get(json_object_get(others, "devices"), i), "driver", json_string("3"));
    set_state(others, 8, "failed");
    write_run("g.json", others);
    expect("compare a.json g.json --force", 3, "WRONG: gemm m=1 n=1 k=1: failed, and not compared, on device of g");
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

// A node of so many equal cards.
static json_t *run_of_many(size_t count)
{
    json_t *document = run_of(&usual), *devices = json_array(), *rows = json_object_get(document, "results");
    const size_t own = json_array_size(rows);
    for (size_t k = 0; k < count; k++) {
        json_array_append(devices, json_object_get(document, "device"));
        for (size_t i = 0; k > 0 && i < own; i++) {
            json_t *row = json_copy(json_array_get(rows, i));
            json_object_set_new(row, "device", json_integer((json_int_t)k));
            json_array_append_new(rows, row);
        }
    }
    json_object_set_new(document, "devices", devices);
    return document;
}

// Sixteen files of eight devices are as many as a command takes: none of them is left out without a word.
START_TEST(every_device_of_every_file_has_its_column)
{
    char command[400], name[200];
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    source = (husk_ref_random){.seed = 19};
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "%d.json", i);
        write_run(name, run_of_many(8));
    }
    expect("compare 0.json 1.json 2.json 3.json 4.json --json all.json --md all.md", 0, "\nAN: device");
    snprintf(name, sizeof name, "%s/all.json", folder);
    json_t *document = json_load_file(name, 0, NULL);
    ck_assert_uint_eq(json_array_size(json_object_get(document, "columns")), 40);
    json_decref(document);
    expect("report 0.json 1.json 2.json 3.json 4.json -o all.html; grep -c '<section id=\"device-' all.html", 0,
           "40\n");
    write_run("many.json", run_of_many(129));
    static const char said[] = "many.json: with it there are more than 128 devices";
    expect("compare many.json", 2, said);
    expect("compare many.json 0.json", 2, said);
    expect("compare 0.json 1.json many.json", 2, said);
    expect("report 0.json many.json", 2, said);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

// PoCL's and Oclgrind's figures are of the same CPU, and have nothing to do with each other.
START_TEST(another_platform_is_refused)
{
    char command[400], reason[BENCH_REASON_TEXT];
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    json_t *pocl = bench_result_read(HUSK_TESTS_DIR "/bench/data/cpu_result.json", reason);
    ck_assert_msg(pocl != NULL, "%s", reason);
    json_t *oclgrind = json_deep_copy(pocl), *device = json_object_get(oclgrind, "device");
    json_object_del(oclgrind, "devices");
    json_object_set_new(device, "platform", json_string("Oclgrind"));
    json_object_set_new(device, "name", json_string("Oclgrind Simulator"));
    json_object_set_new(device, "driver", json_string("Oclgrind 21.10"));
    write_run("pocl.json", pocl);
    write_run("oclgrind.json", oclgrind);
    expect("compare pocl.json oclgrind.json", 2, "are not of the same device and driver: the platform is \"Portable");
    ck_assert_ptr_nonnull(strstr(output, "\"Oclgrind\" in the other; --force compares them nevertheless"));
    ck_assert_ptr_null(strstr(output, "No regression"));
    expect("compare oclgrind.json pocl.json", 2, "--force");
    expect("compare pocl.json oclgrind.json --force", 0, "as they are: they are of different devices");
    expect("compare pocl.json pocl.json", 0, "No regression");
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("compare");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, a_slower_operator_is_named);
    tcase_add_test(tests, the_machines_speed_is_taken_out);
    tcase_add_test(tests, a_round_in_which_something_else_ran_does_not_count);
    tcase_add_test(tests, files_without_sentinels_are_compared_as_they_are);
    tcase_add_test(tests, few_samples_claim_nothing);
    tcase_add_test(tests, states_that_changed_are_named);
    tcase_add_test(tests, cases_of_one_run_alone_are_listed);
    tcase_add_test(tests, a_wrong_case_of_the_new_run_alone_is_wrong);
    tcase_add_test(tests, variants_are_compared_with_themselves);
    tcase_add_test(tests, noise_is_no_regression);
    tcase_add_test(tests, two_speeds_are_reported_and_not_judged);
    tcase_add_test(tests, two_speeds_that_have_nothing_in_common_are_ambiguous);
    tcase_add_test(tests, as_the_machine_is_said_where_views_differ);
    tcase_add_test(tests, processes_are_known_by_their_number);
    tcase_add_test(tests, samples_of_one_process_are_noise_of_the_operator_too);
    tcase_add_test(tests, cases_of_unequal_noise_are_told_apart_no_more_often);
    tcase_add_test(tests, what_is_not_judged_is_ambiguous);
    tcase_add_test(tests, one_disturbed_sentinel_moves_nothing);
    tcase_add_test(tests, a_real_five_percent_is_named);
    tcase_add_test(tests, a_machine_that_drifts_hides_no_five_percent);
    tcase_add_test(tests, a_sentinel_that_drifts_alone_moves_nothing);
    tcase_add_test(tests, the_command_says_it_and_leaves_with_it);
    tcase_add_test(tests, another_platform_is_refused);
    tcase_add_test(tests, every_device_of_every_file_has_its_column);
    tcase_add_test(tests, equal_devices_are_compared_each_with_its_own);
    Suite *suite = suite_create("compare");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
