// SPDX-License-Identifier: MIT
// ctest: tiers=default,long timeout=120
// No operator takes more scratch memory than the larger of 64 MiB and twice its tensors: for the cases of every
// suite, for those that `clbench verify` generates, and for large shapes drawn by chance. Plans are made of shapes
// alone; operators without plans run, and the queue's memory is looked at.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/case.h"
#include "cases/data.h"
#include "cases/ops.h"
#include "cases/parse.h"
#include "cases/size.h"
#include "cases/suite.h"
#include "cases/suites.h"
#include "ref/random.h"
#include "support/support.h"
#include "worker/husk_runner.h"

#define LEAST ((uint64_t)64 << 20)

typedef struct shapes {
    husk_tensor x, w, bias, y;
    husk_tensor weights[4 * 32];
    husk_rnn_weights layers[32];
    uint64_t bytes, longest; // of all tensors, and of the largest one
} shapes;

static uint64_t largest;
static char largest_case[BENCH_CASE_TEXT];
static long checked;

static husk_tensor shape_of(shapes *s, int32_t rank, const int64_t *shape, bench_layout layout)
{
    husk_tensor tensor = layout == BENCH_NHWC ? husk_tensor_make_channels_last(NULL, HUSK_F32, rank, shape)
                                              : husk_tensor_make(NULL, HUSK_F32, rank, shape);
    const uint64_t bytes = (uint64_t)husk_tensor_count(&tensor) * sizeof(float);
    s->bytes += bytes;
    s->longest = bytes > s->longest ? bytes : s->longest;
    return tensor;
}

static husk_status plan_gemm(const bench_case *c, shapes *s, const char *variant, husk_plan **plan, husk_error *error)
{
    const bench_gemm *g = &c->as.gemm;
    const int64_t a[3] = {g->batch, g->ta ? g->k : g->m, g->ta ? g->m : g->k};
    const int64_t b[3] = {g->batch, g->tb ? g->n : g->k, g->tb ? g->k : g->n}, d[3] = {g->batch, g->m, g->n};
    const int drop = g->batch == 1;
    s->x = shape_of(s, 3 - drop, a + drop, BENCH_NCHW);
    s->w = shape_of(s, 3 - drop, b + drop, BENCH_NCHW);
    s->y = shape_of(s, 3 - drop, d + drop, BENCH_NCHW);
    const husk_gemm_params params = HUSK_GEMM_PARAMS(.transpose_a = (uint32_t)g->ta, .transpose_b = (uint32_t)g->tb,
                                                     .activation = c->act, .variant = variant);
    return husk_gemm_plan_create(test_context(), &params, &s->x, &s->w, NULL, &s->y, plan, error);
}

static husk_status plan_conv(const bench_case *c, shapes *s, const char *variant, husk_plan **plan, husk_error *error)
{
    const bench_conv *v = &c->as.conv;
    const int64_t x[5] = {v->n, v->c, v->in[0], v->in[1], v->in[2]};
    const int64_t w[5] = {v->k, v->c / v->groups, v->filter[0], v->filter[1], v->filter[2]};
    const int64_t y[5] = {v->n, v->k, v->out[0], v->out[1], v->out[2]};
    const int32_t rank = (int32_t)(2 + v->space);
    s->x = shape_of(s, rank, x, c->layout);
    s->w = shape_of(s, rank, w, BENCH_NCHW);
    s->y = shape_of(s, rank, y, c->layout);
    husk_conv_params params = HUSK_CONV_PARAMS(.activation = c->act, .groups = v->groups, .variant = variant);
    for (int64_t i = 0; i < v->space; i++) {
        params.stride[i] = v->stride[i];
        params.pad[i] = v->pad[i];
        params.pad_end_extra[i] = v->pad_end[i] - v->pad[i];
        params.dilation[i] = v->dilation[i];
    }
    return husk_conv_plan_create(test_context(), &params, &s->x, &s->w, NULL, &s->y, plan, error);
}

static husk_status plan_rnn(const bench_case *c, shapes *s, const char *variant, husk_plan **plan, husk_error *error)
{
    const bench_rnn *r = &c->as.rnn;
    const int64_t x[3] = {r->t, r->b, r->input}, y[3] = {r->t, r->b, r->directions * r->hidden};
    const int64_t rows = r->gates * r->hidden;
    s->x = shape_of(s, 3, x, BENCH_NCHW);
    s->y = shape_of(s, 3, y, BENCH_NCHW);
    for (int64_t i = 0; i < r->layers * r->directions; i++) {
        husk_tensor *w = s->weights + 4 * i;
        const int64_t features = i < r->directions ? r->input : r->directions * r->hidden;
        w[0] = shape_of(s, 2, (const int64_t[]){rows, features}, BENCH_NCHW);
        w[1] = shape_of(s, 2, (const int64_t[]){rows, r->hidden}, BENCH_NCHW);
        w[2] = husk_tensor_make(NULL, HUSK_F32, 1, &rows);
        w[3] = w[2];
        s->layers[i] = (husk_rnn_weights){&w[0], &w[1], r->bias ? &w[2] : NULL, r->bias ? &w[3] : NULL};
    }
    const husk_rnn_params params =
        HUSK_RNN_PARAMS(.cell = (husk_rnn_cell)r->cell, .hidden_size = r->hidden, .layers = r->layers,
                        .bidirectional = (uint32_t)r->bidir, .reset = (husk_gru_reset)r->reset, .variant = variant);
    const husk_rnn_inputs inputs = HUSK_RNN_INPUTS(.x = &s->x, .weights = s->layers);
    const husk_rnn_outputs outputs = HUSK_RNN_OUTPUTS(.y = &s->y);
    return husk_rnn_plan_create(test_context(), &params, &inputs, &outputs, plan, error);
}

static husk_status make_plan(const bench_case *c, shapes *s, const char *variant, husk_plan **plan, husk_error *error)
{
    memset(s, 0, sizeof *s);
    if (c->op == BENCH_GEMM)
        return plan_gemm(c, s, variant, plan, error);
    if (c->op == BENCH_CONV)
        return plan_conv(c, s, variant, plan, error);
    return plan_rnn(c, s, variant, plan, error);
}

static void note(const bench_case *c, uint64_t workspace, uint64_t bytes, const char *variant)
{
    const uint64_t limit = 2 * bytes > LEAST ? 2 * bytes : LEAST;
    ck_assert_msg(workspace <= limit, "%s: %s takes %llu bytes of scratch, the limit is %llu", c->canonical, variant,
                  (unsigned long long)workspace, (unsigned long long)limit);
    checked++;
    if (workspace <= largest)
        return;
    largest = workspace;
    snprintf(largest_case, sizeof largest_case, "%s", c->canonical);
}

static void check_plan(const bench_case *c)
{
    static shapes s;
    husk_plan *plan = NULL;
    husk_error error = {0};
    const husk_status status = make_plan(c, &s, NULL, &plan, &error);
    if (status == HUSK_UNSUPPORTED && s.longest > husk_context_traits(test_context())->max_allocation)
        return; // such a tensor cannot be made here
    ck_assert_msg(status == HUSK_OK, "%s: %s", c->canonical, error.text);
    note(c, husk_plan_workspace(plan), s.bytes, husk_plan_variant(plan));
    husk_plan_release(plan);
}

static uint64_t live_bytes(void)
{
    husk_memory_stats stats;
    husk_context_memory_stats(test_context(), &stats);
    return stats.live_bytes;
}

// What a fresh queue holds after the call is the call's scratch memory: what its plan says, those inside it included.
static uint64_t taken_by_call(const bench_case *c, uint64_t *said)
{
    char reason[BENCH_REASON_TEXT];
    bench_husk_session session = {.context = test_context()};
    bench_data data;
    const bench_prepare_options options = {0};
    void *state = NULL;
    husk_error error = {0};
    ck_assert_msg(bench_data_make(c, &data, reason), "%s", reason);
    test_ok_error(husk_queue_create(test_context(), NULL, &session.queue, &error), &error);
    ck_assert_msg(bench_runner_husk.prepare(&session, c, &data, &options, &state, reason) == BENCH_OK, "%s", reason);
    const uint64_t before = live_bytes();
    ck_assert_msg(bench_runner_husk.run(state, reason) == BENCH_OK, "%s: %s", c->canonical, reason);
    const uint64_t taken = live_bytes() - before; // in blocks of the pool's sizes
    *said = husk_plan_workspace(husk_queue_plan(session.queue));
    bench_runner_husk.release(state);
    husk_queue_release(session.queue);
    bench_data_free(c, &data);
    return taken;
}

static void check_call(const bench_case *c)
{
    uint64_t said;
    note(c, taken_by_call(c, &said), (uint64_t)bench_case_operands(c), "the call");
}

static void check_case(const bench_case *c)
{
    if (c->dtype != HUSK_F32 || c->dir != BENCH_FWD)
        return;
    if (c->op == BENCH_GEMM || c->op == BENCH_CONV || c->op == BENCH_RNN)
        check_plan(c);
    else if (bench_case_operands(c) < 256e6)
        check_call(c);
}

static void check_line(const char *line)
{
    char reason[BENCH_REASON_TEXT];
    bench_case c;
    ck_assert_msg(bench_case_parse(line, &c, reason), "%s: %s", line, reason);
    check_case(&c);
}

static void say(const char *what)
{
    printf("%s: %ld cases, at most %.1f MiB: %s\n", what, checked, (double)largest / 0x100000, largest_case);
    checked = 0;
    largest = 0;
    largest_case[0] = '\0';
}

START_TEST(cases_of_every_suite)
{
    char reason[BENCH_REASON_TEXT];
    for (size_t i = 0; bench_suite_name(i); i++) {
        bench_suite suite;
        ck_assert_msg(bench_suite_load(bench_suite_name(i), &suite, reason), "%s", reason);
        for (size_t k = 0; k < suite.count; k++)
            check_case(&suite.entries[k].c);
        bench_suite_free(&suite);
    }
    ck_assert_int_gt(checked, 200);
    say("suites");
}
END_TEST

// Small ones, and with every epilogue: programs that nothing else here needs.
START_TEST(generated_cases)
{
    if (!test_is_long())
        return;
    for (int op = 0; op < BENCH_OP_COUNT; op++) {
        char line[BENCH_CASE_TEXT];
        for (int64_t i = 0; bench_op_get((bench_op_kind)op)->generate(i, line); i++)
            check_line(line);
    }
    ck_assert_int_gt(checked, 300);
    say("generated cases");
}
END_TEST

static long below(husk_ref_random *random, long limit)
{
    return (long)husk_ref_random_below(random, limit);
}

// Sizes over several powers of two.
static long draw(husk_ref_random *random, int most)
{
    const int bits = 1 + (int)below(random, most);
    return (1L << (bits - 1)) + below(random, 1L << (bits - 1));
}

START_TEST(large_shapes_by_chance)
{
    husk_ref_random random = {.seed = 64};
    for (int i = 0; i < (test_is_long() ? 3000 : 300); i++) {
        char line[BENCH_CASE_TEXT];
        const long filter = 1 + 2 * below(&random, 4), group = below(&random, 4) ? 1 : 2 + below(&random, 31);
        snprintf(line, sizeof line, "gemm m=%ld n=%ld k=%ld ta=%ld tb=%ld", draw(&random, 15), draw(&random, 15),
                 draw(&random, 15), below(&random, 2), below(&random, 2));
        check_line(line);
        snprintf(line, sizeof line, "conv n=%ld c=%ld h=%ld w=%ld k=%ld r=%ld s=%ld pad=%ld stride=%ld groups=%ld",
                 draw(&random, 5), group * draw(&random, group > 1 ? 6 : 11), filter + below(&random, 200),
                 filter + below(&random, 200), group * draw(&random, group > 1 ? 6 : 11), filter, filter, filter / 2,
                 1 + below(&random, 2), group);
        check_line(line);
        snprintf(line, sizeof line, "rnn cell=%s t=%ld b=%ld input=%ld hidden=%ld layers=%ld bidir=%ld",
                 i % 3 ? i % 3 == 1 ? "lstm" : "gru" : "tanh", draw(&random, 9), draw(&random, 8), draw(&random, 12),
                 draw(&random, 12), 1 + below(&random, 3), below(&random, 2));
        check_line(line);
    }
    say("large shapes");
}
END_TEST

// A variant that needs more than the limit does not compute the problem, unless it is asked for by name.
START_TEST(a_variant_asked_for_by_name_may_take_more)
{
    static shapes s;
    char reason[BENCH_REASON_TEXT];
    bench_case c;
    husk_plan *plan = NULL;
    husk_error error = {0};
    ck_assert(bench_case_parse("conv c=1024 h=14 w=14 k=1024 r=3 s=3 pad=1", &c, reason));
    const husk_status status = make_plan(&c, &s, "winograd_4x4", &plan, &error);
    if (status == HUSK_OK) // some 150 MiB of transformed weights beside 38 MiB of tensors
        ck_assert_uint_gt(husk_plan_workspace(plan), 2 * s.bytes);
    else
        ck_assert_int_eq(status, HUSK_UNSUPPORTED);
    husk_plan_release(plan);
    check_case(&c);
}
END_TEST

START_TEST(composites_count_the_plans_inside_them)
{
    static const char *const lines[] = {
        "gemm m=129 n=650 k=257 tb=1 bias=1 act=relu dir=bwd",
        "conv n=2 c=20 h=28 w=28 k=24 r=3 s=3 pad=1 dir=bwd_data",
        "conv n=2 c=30 h=24 w=20 k=100 r=5 s=4 stride=6 dir=bwd_data",
        "rnn cell=lstm t=5 b=3 input=200 hidden=17 layers=2 bidir=1 lengths=1",
        "rnn cell=lstm t=30 b=3 input=90 hidden=17 layers=2 bidir=1 lengths=1 dir=bwd",
    };
    char reason[BENCH_REASON_TEXT];
    bench_case c;
    uint64_t said;
    ck_assert_msg(bench_case_parse(lines[_i], &c, reason), "%s", reason);
    const uint64_t taken = taken_by_call(&c, &said);
    ck_assert_msg(said <= taken && (double)taken <= 1.25 * (double)said + 4096,
                  "%s: takes %llu bytes of scratch, its plan says %llu", lines[_i], (unsigned long long)taken,
                  (unsigned long long)said);
    ck_assert_uint_gt(taken, 0);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("workspace");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, cases_of_every_suite);
    tcase_add_test(tests, generated_cases);
    tcase_add_test(tests, large_shapes_by_chance);
    tcase_add_test(tests, a_variant_asked_for_by_name_may_take_more);
    tcase_add_loop_test(tests, composites_count_the_plans_inside_them, 0, 5);
    Suite *suite = suite_create("workspace");
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
