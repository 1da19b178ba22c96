// SPDX-License-Identifier: MIT
// Explicit plans of recurrent layers' gradients: what they give, by whom and how often they may be run, what they
// refuse, and that a limit of the workspace is kept down to the least that the header names.
#include <pthread.h>
#include <string.h>

#include "rnn_backward_case.h"

static husk_status create(const rnn_backward_case *t, husk_context *context, const char *variant, uint64_t limit,
                          husk_plan **plan, husk_error *error)
{
    husk_rnn_params params = t->c.params;
    params.variant = variant;
    params.workspace_limit = limit;
    return husk_rnn_backward_plan_create(context, &params, &t->c.inputs, &t->outputs, &t->output_gradients,
                                         &t->gradients, plan, error);
}

static husk_plan *plan_of(const rnn_backward_case *t, const char *variant, uint64_t limit)
{
    husk_plan *plan = NULL;
    husk_error error = {0};
    test_ok_error(create(t, test_context(), variant, limit, &plan, &error), &error);
    return plan;
}

static husk_status run_on(husk_queue *queue, husk_plan *plan, const rnn_backward_case *t)
{
    return husk_rnn_backward_plan_run(plan, queue, &t->c.inputs, &t->outputs, &t->output_gradients, &t->gradients);
}

static void run(husk_plan *plan, rnn_backward_case *t)
{
    rnn_backward_each(t, test_restore);
    test_ok(run_on(test_queue(), plan, t));
}

// Every cell; of the second half two layers in both directions, sequences that end, gradients that are added to.
static rnn_backward_config config_of(int i, int64_t steps)
{
    rnn_backward_config c = rnn_backward_everything(rnn_backward_shape(i % RNN_CELLS, steps, 5, 9, 21));
    if (i < RNN_CELLS)
        return c;
    c.shape.layers = 2;
    c.shape.bidirectional = c.shape.has_lengths = c.shape.are_rows_apart = true;
    c.accumulate = HUSK_ACCUMULATE_ALL;
    return c;
}

typedef struct expected_case {
    rnn_backward_case t;
    husk_ref_rnn_gradients expected;
} expected_case;

static void begin(const rnn_backward_config *c, expected_case *e)
{
    rnn_backward_make(c, &e->t);
    const husk_ref_rnn_backward op = rnn_backward_reference_of(&e->t);
    ck_assert(husk_ref_rnn_backward_run(&op, &e->expected));
}

static void end(expected_case *e)
{
    husk_ref_rnn_gradients_release(&e->expected);
    rnn_backward_release(&e->t);
}

// ---- plans ----

// As often as wanted, with the bits of the call.
START_TEST(as_the_call)
{
    const rnn_backward_config c = config_of(_i, 6);
    expected_case e;
    begin(&c, &e);
    rnn_backward_each(&e.t, test_restore);
    test_ok(rnn_backward_run(&e.t, NULL));
    const uint64_t called = rnn_backward_bits(&e.t);
    husk_plan *plan = plan_of(&e.t, NULL, 0);
    ck_assert_str_ne(husk_plan_variant(plan), "");
    ck_assert(husk_plan_executed_flops(plan) > 0.0);
    ck_assert_uint_eq(husk_plan_workspace(plan), husk_plan_workspace(husk_queue_plan(test_queue())));
    for (int round = 0; round < 3; round++) {
        run(plan, &e.t);
        rnn_backward_verify(&e.t, &e.expected, "plan");
        ck_assert(rnn_backward_bits(&e.t) == called);
    }
    husk_plan_release(plan);
    end(&e);
}
END_TEST

// The second call finds the first one's plan, one of another accumulate does not.
START_TEST(calls_find_theirs)
{
    const rnn_backward_config c = config_of(_i, 4);
    rnn_backward_case t;
    husk_program_stats before, after;
    rnn_backward_make(&c, &t);
    t.c.params.workspace_limit = 7654321 + (uint64_t)_i; // nobody else's
    test_ok(rnn_backward_run(&t, NULL));
    husk_context_program_stats(test_context(), &before);
    test_ok(rnn_backward_run(&t, NULL));
    husk_context_program_stats(test_context(), &after);
    ck_assert_uint_eq(after.plans, before.plans);
    ck_assert_uint_eq(after.plan_hits, before.plan_hits + 1);
    t.c.params.accumulate ^= HUSK_ACCUMULATE_PARAMETERS;
    test_ok(rnn_backward_run(&t, NULL));
    husk_context_program_stats(test_context(), &after);
    ck_assert_uint_eq(after.plans, before.plans + 1);
    rnn_backward_release(&t);
}
END_TEST

// From descriptions without memory, by every variant.
START_TEST(from_descriptions)
{
    const rnn_backward_config c = config_of(_i, 3);
    expected_case e;
    begin(&c, &e);
    for (int v = 0; v < RNN_BACKWARD_VARIANTS; v++) {
        husk_tensor x = e.t.c.x.tensor, dy = e.t.dy.tensor;
        husk_plan *plan = NULL;
        husk_error error = {0};
        x.buffer = dy.buffer = NULL;
        e.t.c.inputs.x = &x;
        e.t.output_gradients.y = &dy;
        const husk_status status = create(&e.t, test_context(), rnn_backward_variants[v], 0, &plan, &error);
        e.t.c.inputs.x = &e.t.c.x.tensor;
        e.t.output_gradients.y = &e.t.dy.tensor;
        if (!test_ran_error(status, &error, "rnn_backward", rnn_backward_variants[v]))
            continue;
        run(plan, &e.t);
        rnn_backward_verify(&e.t, &e.expected, rnn_backward_variants[v]);
        husk_plan_release(plan);
    }
    end(&e);
}
END_TEST

// One gradient alone is made, and no other touched.
START_TEST(wanted_alone)
{
    const rnn_backward_config c = rnn_backward_everything(rnn_backward_shape(_i, 4, 5, 9, 21));
    expected_case e;
    begin(&c, &e);
    const husk_rnn_gradients all = e.t.gradients;
    const husk_rnn_weights weights = {.hidden = &e.t.d_weights[0][1].tensor};
    e.t.gradients = HUSK_RNN_GRADIENTS(.weights = &weights);
    husk_plan *plan = plan_of(&e.t, NULL, 0);
    run(plan, &e.t);
    test_untouched(&e.t.dx);
    test_untouched(&e.t.dh0);
    test_untouched(&e.t.d_weights[0][0]);
    test_untouched(&e.t.d_weights[0][2]);
    test_fetch(&e.t.d_weights[0][1]);
    const husk_ref_rnn_backward op = rnn_backward_reference_of(&e.t);
    rnn_backward_compare(&e.t, &op, &e.expected.weights[0][1], &e.t.d_weights[0][1], 0, "plan", "hidden alone");
    e.t.gradients = all;
    test_refused(run_on(test_silent_queue(), plan, &e.t), HUSK_INVALID_ARGUMENT, "gradients.x");
    husk_plan_release(plan);
    end(&e);
}
END_TEST

// ---- two threads ----

enum { THREADS = 2, ROUNDS = 20 };

typedef struct worker {
    husk_plan *plan;
    husk_queue *queue;
    rnn_backward_case *t;
    husk_status status;
} worker;

static void *work(void *opaque)
{
    worker *w = opaque;
    for (int round = 0; round < ROUNDS && w->status == HUSK_OK; round++)
        w->status = run_on(w->queue, w->plan, w->t);
    if (w->status == HUSK_OK)
        w->status = husk_queue_finish(w->queue);
    return NULL;
}

// One plan on two queues at once, whole and in chunks: the bits of one alone.
START_TEST(two_threads)
{
    rnn_backward_config c = config_of(RNN_CELLS + _i % RNN_CELLS, 9);
    rnn_backward_case t[THREADS];
    uint64_t alone[THREADS];
    worker workers[THREADS];
    pthread_t threads[THREADS];
    husk_plan *plan = NULL;
    husk_error error = {0};
    c.accumulate = 0;
    for (int i = 0; i < THREADS; i++) {
        c.shape.seed = 400 + (uint64_t)i;
        rnn_backward_make(&c, &t[i]);
    }
    plan = plan_of(&t[0], NULL, 0);
    if (_i >= RNN_CELLS) {
        const uint64_t less = husk_plan_workspace(plan) * 3 / 4;
        husk_plan_release(plan);
        plan = plan_of(&t[0], NULL, less);
    }
    for (int i = 0; i < THREADS; i++) {
        run(plan, &t[i]);
        alone[i] = rnn_backward_bits(&t[i]);
        rnn_backward_each(&t[i], test_restore);
        workers[i] = (worker){.plan = plan, .t = &t[i]};
        test_ok_error(husk_queue_create(test_context(), NULL, &workers[i].queue, &error), &error);
    }
    test_ok(husk_queue_finish(test_queue()));
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(workers[i].status, HUSK_OK);
        ck_assert(rnn_backward_bits(&t[i]) == alone[i]);
        husk_queue_release(workers[i].queue);
        rnn_backward_release(&t[i]);
    }
    husk_plan_release(plan);
}
END_TEST

// ---- the limit of the workspace ----

static bool is_enough(const rnn_backward_case *t, const char *variant, uint64_t limit)
{
    husk_plan *plan = NULL;
    husk_error error = {0};
    const husk_status status = create(t, test_context(), variant, limit, &plan, &error);
    if (status == HUSK_OK) {
        ck_assert_uint_le(husk_plan_workspace(plan), limit);
        husk_plan_release(plan);
        return true;
    }
    ck_assert_int_eq(status, HUSK_UNSUPPORTED);
    ck_assert_msg(strstr(error.text, "workspace") != NULL, "%s", error.text);
    ck_assert_ptr_null(plan);
    return false;
}

// The least limit that a plan can be made with.
static uint64_t least_of(const rnn_backward_case *t, const char *variant, uint64_t most)
{
    uint64_t least = 0;
    while (most - least > 1) {
        const uint64_t middle = least + (most - least) / 2;
        if (is_enough(t, variant, middle))
            most = middle;
        else
            least = middle;
    }
    return most;
}

// Whatever the limit, from the least on: it is kept, the gradients are right, and the same bits every time.
START_TEST(limits)
{
    const rnn_backward_config c = config_of(_i, 17);
    const char *variant = rnn_backward_variants[_i % RNN_BACKWARD_VARIANTS];
    expected_case e;
    husk_plan *whole = NULL;
    husk_error error = {0};
    begin(&c, &e);
    if (!test_ran_error(create(&e.t, test_context(), variant, 0, &whole, &error), &error, "rnn_backward", variant)) {
        end(&e);
        return;
    }
    const uint64_t most = husk_plan_workspace(whole), least = least_of(&e.t, variant, most);
    ck_assert_uint_lt(least, most);
    husk_plan_release(whole);
    for (int eighths = 0; eighths <= 8; eighths++) {
        const uint64_t limit = eighths < 8 ? least + (most - least) * (uint64_t)eighths / 8 : most - 1;
        husk_plan *plan = plan_of(&e.t, variant, limit);
        ck_assert_uint_le(husk_plan_workspace(plan), limit);
        run(plan, &e.t);
        rnn_backward_verify(&e.t, &e.expected, "limited");
        const uint64_t first = rnn_backward_bits(&e.t);
        run(plan, &e.t);
        ck_assert(rnn_backward_bits(&e.t) == first);
        husk_plan_release(plan);
    }
    end(&e);
}
END_TEST

// The least is one step's: it does not grow with time. Calls keep it as well.
START_TEST(least_is_a_step)
{
    uint64_t least[2];
    for (int i = 0; i < 2; i++) {
        rnn_backward_config c = config_of(_i % RNN_CELLS, i ? 23 : 4);
        expected_case e;
        c.shape.bidirectional = c.shape.has_lengths = _i >= RNN_CELLS;
        begin(&c, &e);
        husk_plan *whole = plan_of(&e.t, "panel", 0);
        least[i] = least_of(&e.t, "panel", husk_plan_workspace(whole));
        husk_plan_release(whole);
        e.t.c.params.workspace_limit = least[i];
        rnn_backward_each(&e.t, test_restore);
        test_ok(rnn_backward_run(&e.t, "panel"));
        rnn_backward_verify(&e.t, &e.expected, "limited");
        e.t.c.params.workspace_limit = least[i] - 1;
        e.t.c.params.variant = "panel";
        test_refused(husk_rnn_backward(test_silent_queue(), &e.t.c.params, &e.t.c.inputs, &e.t.outputs,
                                       &e.t.output_gradients, &e.t.gradients),
                     HUSK_UNSUPPORTED, "workspace");
        end(&e);
    }
    ck_assert_uint_eq(least[0], least[1]);
}
END_TEST

// f16 and bf16: sums go on in f32 from chunk to chunk, and are rounded once.
START_TEST(limits_of_narrow)
{
    rnn_backward_config c = config_of(RNN_CELLS + HUSK_RNN_LSTM, 17);
    expected_case e;
    c.shape.dtype = _i ? HUSK_BF16 : HUSK_F16;
    begin(&c, &e);
    husk_plan *plan = plan_of(&e.t, NULL, 0);
    const uint64_t least = least_of(&e.t, NULL, husk_plan_workspace(plan));
    husk_plan_release(plan);
    plan = plan_of(&e.t, NULL, least);
    run(plan, &e.t);
    rnn_backward_verify(&e.t, &e.expected, "limited");
    husk_plan_release(plan);
    end(&e);
}
END_TEST

static husk_plan *plan_described(const rnn_description *d, const husk_rnn_gradients *gradients)
{
    husk_plan *plan = NULL;
    husk_error error = {0};
    const husk_status status = husk_rnn_backward_plan_create(test_context(), &d->params, &d->inputs, &d->outputs,
                                                             &d->outputs, gradients, &plan, &error);
    return rnn_described_plan(d, status, plan, &error);
}

// Where nobody gives a limit the choice is that of a large one, in any dtype.
START_TEST(default_is_enough)
{
    husk_ref_random random = {.seed = 5000 + (uint64_t)_i};
    rnn_description d;
    rnn_describe(&random, &d);
    const int64_t kept = husk_rnn_reserve_size(&d.params, &d.x);
    const husk_tensor reserve = husk_tensor_make(NULL, HUSK_F32, 1, &kept);
    const husk_rnn_gradients gradients =
        HUSK_RNN_GRADIENTS(.x = &d.x, .h0 = test_one_in(&random, 2) ? &d.state : NULL, .weights = d.weights);
    d.outputs.reserve = &reserve;
    husk_plan *plan = plan_described(&d, &gradients);
    d.params.workspace_limit = UINT64_C(1) << 40;
    husk_plan *large = plan_described(&d, &gradients);
    ck_assert(!plan == !large);
    if (!plan)
        return;
    ck_assert_str_eq(husk_plan_variant(plan), husk_plan_variant(large));
    ck_assert_str_eq(husk_plan_configuration(plan), husk_plan_configuration(large));
    husk_plan_release(plan);
    husk_plan_release(large);
}
END_TEST

// ---- refusals ----

static rnn_backward_case good;
static husk_plan *good_plan;

static void set_up(void)
{
    rnn_backward_config c = config_of(RNN_CELLS + HUSK_RNN_LSTM, 3);
    c.accumulate = 0;
    rnn_backward_make(&c, &good);
    good_plan = plan_of(&good, NULL, 0);
}

static void tear_down(void)
{
    rnn_backward_each(&good, test_untouched);
    husk_plan_release(good_plan);
    rnn_backward_release(&good);
}

static void refused(husk_status wanted, const char *argument)
{
    test_refused(run_on(test_silent_queue(), good_plan, &good), wanted, argument);
}

static void refused_plan(husk_status wanted, const char *argument)
{
    husk_plan *plan = good_plan;
    husk_error error = {0};
    test_refused_error(create(&good, test_context(), NULL, 0, &plan, &error), &error, wanted, argument);
    ck_assert_ptr_null(plan);
}

START_TEST(bad_plans)
{
    husk_plan *plan = NULL, *other = NULL;
    husk_error error = {0};
    husk_rnn_params params = good.c.params;
    test_refused_error(husk_rnn_backward_plan_create(test_context(), &params, &good.c.inputs, &good.outputs,
                                                     &good.output_gradients, &good.gradients, NULL, &error),
                       &error, HUSK_INVALID_ARGUMENT, "plan");
    test_refused_error(husk_rnn_backward_plan_create(test_context(), NULL, &good.c.inputs, &good.outputs,
                                                     &good.output_gradients, &good.gradients, &plan, &error),
                       &error, HUSK_INVALID_ARGUMENT, "params");
    test_refused_error(husk_rnn_backward_plan_create(test_context(), &params, &good.c.inputs, &good.outputs,
                                                     &good.output_gradients, NULL, &plan, &error),
                       &error, HUSK_INVALID_ARGUMENT, "gradients");
    ck_assert_int_eq(create(&good, NULL, NULL, 0, &plan, &error), HUSK_INVALID_ARGUMENT);
    test_refused_error(create(&good, test_context(), "nonsense", 0, &plan, &error), &error, HUSK_INVALID_ARGUMENT,
                       "nonsense");
    const husk_rnn_outputs outputs = good.outputs;
    good.outputs.reserve = NULL;
    refused_plan(HUSK_INVALID_ARGUMENT, "reserve");
    good.outputs = outputs;
    const husk_rnn_gradients gradients = good.gradients;
    good.gradients = HUSK_RNN_GRADIENTS(.x = NULL);
    refused_plan(HUSK_INVALID_ARGUMENT, "gradients");
    good.gradients = gradients;
    test_refused(run_on(test_silent_queue(), NULL, &good), HUSK_INVALID_ARGUMENT, "plan");
    ck_assert_int_eq(run_on(NULL, good_plan, &good), HUSK_INVALID_ARGUMENT);
    const husk_rnn_outputs plain = HUSK_RNN_OUTPUTS(.y = &good.c.y.tensor);
    test_ok_error(husk_rnn_plan_create(test_context(), &params, &good.c.inputs, &plain, &other, &error), &error);
    test_refused(run_on(test_silent_queue(), other, &good), HUSK_INVALID_ARGUMENT, "plan of rnn");
    husk_plan_release(other);
}
END_TEST

START_TEST(other_context)
{
    husk_context *elsewhere = NULL;
    husk_queue *far = NULL;
    husk_error error = {0};
    test_ok_error(husk_context_create(NULL, NULL, &elsewhere, &error), &error);
    test_ok_error(husk_queue_create(elsewhere, NULL, &far, &error), &error);
    ck_assert_int_eq(run_on(far, good_plan, &good), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(husk_queue_error(far)->text, "another context"));
    husk_queue_release(far);
    husk_context_release(elsewhere);
}
END_TEST

// What is there must be what was planned, in every member.
START_TEST(other_tensors)
{
    const husk_tensor **const members[] = {&good.c.inputs.x,
                                           &good.c.inputs.lengths,
                                           &good.c.inputs.h0,
                                           &good.c.inputs.c0,
                                           &good.outputs.y,
                                           &good.outputs.reserve,
                                           &good.output_gradients.y,
                                           &good.output_gradients.h_n,
                                           &good.output_gradients.c_n,
                                           &good.gradients.x,
                                           &good.gradients.h0,
                                           &good.gradients.c0,
                                           &good.c.weights[1].input,
                                           &good.c.weights[2].hidden,
                                           &good.c.weights[3].input_bias,
                                           &good.list[0].input,
                                           &good.list[1].hidden,
                                           &good.list[2].input_bias,
                                           &good.list[3].hidden_bias};
    static const char *const names[] = {"x",
                                        "lengths",
                                        "h0",
                                        "c0",
                                        "y",
                                        "reserve",
                                        "output_gradients.y",
                                        "output_gradients.h_n",
                                        "output_gradients.c_n",
                                        "gradients.x",
                                        "gradients.h0",
                                        "gradients.c0",
                                        "weights[1].input",
                                        "weights[2].hidden",
                                        "weights[3].input_bias",
                                        "gradients.weights[0].input",
                                        "gradients.weights[1].hidden",
                                        "gradients.weights[2].input_bias",
                                        "gradients.weights[3].hidden_bias"};
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
        const husk_tensor *was = *members[i];
        husk_tensor other = *was;
        *members[i] = NULL;
        refused(HUSK_INVALID_ARGUMENT, names[i]);
        *members[i] = &other;
        other.shape[0]++;
        refused(HUSK_INVALID_ARGUMENT, names[i]);
        other = *was;
        other.buffer = NULL;
        refused(HUSK_INVALID_ARGUMENT, names[i]);
        *members[i] = was;
    }
    const husk_rnn_weights *list = good.gradients.weights;
    good.gradients.weights = NULL;
    refused(HUSK_INVALID_ARGUMENT, "gradients.weights[0].input");
    good.gradients.weights = list;
    good.output_gradients.size = 4096;
    refused(HUSK_INVALID_ARGUMENT, "output_gradients");
    good.output_gradients.size = sizeof good.output_gradients;
}
END_TEST

// Rows that lie elsewhere than planned, and memory that is read.
START_TEST(other_strides)
{
    husk_tensor *const tensors[] = {&good.dx.tensor, &good.dy.tensor, &good.d_weights[1][1].tensor,
                                    &good.c.tensors[1][1].tensor};
    static const char *const names[] = {"gradients.x", "output_gradients.y", "gradients.weights[1].hidden",
                                        "weights[1]"};
    for (int i = 0; i < 4; i++) {
        const husk_tensor was = *tensors[i];
        tensors[i]->strides[0] = was.strides[0] + 1;
        refused(HUSK_INVALID_ARGUMENT, names[i]);
        *tensors[i] = was;
    }
    const husk_tensor was = good.dh0.tensor;
    good.dh0.tensor.buffer = good.dh_n.tensor.buffer;
    good.dh0.tensor.offset = good.dh_n.tensor.offset;
    refused(HUSK_INVALID_ARGUMENT, "gradients.h0");
    good.dh0.tensor = was;
}
END_TEST

START_TEST(packed_weights)
{
    husk_plan *plan = NULL;
    husk_packed *packed = NULL;
    husk_error error = {0};
    const husk_rnn_outputs plain = HUSK_RNN_OUTPUTS(.y = &good.c.y.tensor);
    test_ok_error(husk_rnn_plan_create(test_context(), &good.c.params, &good.c.inputs, &plain, &plan, &error), &error);
    test_ok(husk_rnn_plan_pack(plan, test_queue(), good.c.weights, &packed));
    const husk_rnn_inputs inputs = good.c.inputs;
    good.c.inputs.weights = NULL;
    good.c.inputs.packed = packed;
    refused(HUSK_UNSUPPORTED, "packed");
    refused_plan(HUSK_UNSUPPORTED, "packed");
    good.c.inputs = inputs;
    husk_packed_release(packed);
    husk_plan_release(plan);
}
END_TEST

TCase *rnn_backward_plans(void)
{
    TCase *plans = tcase_create("plans");
    tcase_add_loop_test(plans, as_the_call, 0, 2 * RNN_CELLS);
    tcase_add_loop_test(plans, calls_find_theirs, 0, 2 * RNN_CELLS);
    tcase_add_loop_test(plans, from_descriptions, 0, 2 * RNN_CELLS);
    tcase_add_loop_test(plans, wanted_alone, 0, RNN_CELLS);
    tcase_add_loop_test(plans, two_threads, 0, 2 * RNN_CELLS);
    tcase_add_loop_test(plans, limits, 0, 2 * RNN_CELLS);
    tcase_add_loop_test(plans, least_is_a_step, 0, 2 * RNN_CELLS);
    tcase_add_loop_test(plans, limits_of_narrow, 0, test_is_long() ? 2 : 1); // bf16 has programs of its own
    tcase_add_loop_test(plans, default_is_enough, 0, test_is_long() ? 400 : 60);
    return plans;
}

TCase *rnn_backward_plan_refusals(void)
{
    TCase *refusals = tcase_create("refusals of plans");
    tcase_add_checked_fixture(refusals, set_up, tear_down);
    tcase_add_test(refusals, bad_plans);
    tcase_add_test(refusals, other_context);
    tcase_add_test(refusals, other_tensors);
    tcase_add_test(refusals, other_strides);
    tcase_add_test(refusals, packed_weights);
    return refusals;
}
