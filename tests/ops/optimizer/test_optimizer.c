// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=60
// Steps of optimizers: every kind, option and variant against the reference; several steps; bad input.
#include "ref/optimizer/optimizer.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const variants[] = {NULL, "vector", "grid:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]), STATES = HUSK_REF_OPTIMIZER_OUTPUTS };

#define NAME "optimizer"

// Which states the options keep.
static bool keeps(const husk_optimizer_params *p, int state)
{
    const bool is_adam = p->kind >= HUSK_OPTIMIZER_ADAM;
    if (state == HUSK_REF_OPTIMIZER_FIRST)
        return is_adam || p->momentum != 0;
    if (state == HUSK_REF_OPTIMIZER_SECOND)
        return p->kind != HUSK_OPTIMIZER_SGD;
    if (state == HUSK_REF_OPTIMIZER_THIRD)
        return is_adam ? p->amsgrad : p->kind == HUSK_OPTIMIZER_RMSPROP && p->centered;
    return true;
}

static husk_optimizer_params draw(husk_ref_random *random, int kind)
{
    husk_optimizer_params p = husk_optimizer_defaults((husk_optimizer_kind)kind, 0.03125);
    p.step = 1 + (uint64_t)husk_ref_random_below(random, 6);
    p.momentum = kind < 2 && test_one_in(random, 2) ? 0.75 : 0;
    p.nesterov = kind == 0 && p.momentum != 0 && test_one_in(random, 2);
    p.dampening = kind == 0 && !p.nesterov && test_one_in(random, 2) ? 0.25 : 0;
    p.weight_decay = test_one_in(random, 2) ? 0.125 : 0;
    p.centered = test_one_in(random, 2);
    p.amsgrad = test_one_in(random, 2);
    const int64_t which = husk_ref_random_below(random, 3);
    if (which == 1) {
        p.beta = 0.75;
        p.beta2 = 0.9375;
        p.epsilon = 0.001;
    } else if (which == 2) { // zeros are zeros; centered, of one gradient, all would cancel
        p.beta = test_one_in(random, 2) && !p.centered ? 0 : 0.75;
        p.beta2 = test_one_in(random, 2) ? 0 : 0.9375;
    }
    return p;
}

typedef struct memory {
    test_tensor g, states[STATES];
    bool has[STATES];
} memory;

// second is not negative, and larger than third's square.
static memory make_of(husk_dtype dtype, const husk_optimizer_params *p, int32_t rank, const int64_t *shape,
                      uint64_t seed)
{
    memory m = {.g = test_input_of(dtype, rank, shape, TEST_PACKED, seed, 1.0f)};
    for (int s = 0; s < STATES; s++) {
        m.has[s] = keeps(p, s);
        if (m.has[s])
            m.states[s] = test_inout_of(dtype, rank, shape, TEST_PACKED, seed + 1 + (uint64_t)s, s == 3 ? 0.5f : 1.0f);
        if (!m.has[s] || s < 2)
            continue;
        for (int64_t i = 0; i < husk_ref_array_count(&m.g.array); i++) {
            const double value = fabs(husk_ref_load(&m.states[s].array, i));
            if (s == 2 || p->kind >= HUSK_OPTIMIZER_ADAM)
                husk_ref_store(&m.states[s].array, i, (float)(value + 0.5));
        }
        test_input_update(&m.states[s]);
    }
    return m;
}

static memory make(const husk_optimizer_params *p, int32_t rank, const int64_t *shape, uint64_t seed)
{
    return make_of(HUSK_F32, p, rank, shape, seed);
}

static void release(memory *m)
{
    test_release(&m->g);
    for (int s = 0; s < STATES; s++)
        if (m->has[s])
            test_release(&m->states[s]);
}

static husk_status run(const husk_optimizer_params *p, const memory *m)
{
    const husk_tensor *t[STATES];
    for (int s = 0; s < STATES; s++)
        t[s] = m->has[s] ? &m->states[s].tensor : NULL;
    return husk_optimizer(test_queue(), p, &m->g.tensor, t[0], t[1], t[2], t[3]);
}

static void check(void *user, const husk_ref_array *made, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_optimizer_function(user);
    husk_ref_check(&function, 1, made, report);
}

static void compare_scaled(const husk_optimizer_params *p, memory *m, double scale, const char *variant)
{
    husk_ref_optimizer op = {.params = p, .g = &m->g.array, .scale = scale, .counts = p->skipped};
    char text[160];
    snprintf(text, sizeof text, "%s step %d count %lld", husk_optimizer_kind_name(p->kind), (int)p->step,
             (long long)husk_ref_array_count(&m->g.array));
    for (int s = 0; s < STATES; s++)
        op.before[s] = m->has[s] ? &m->states[s].before : NULL;
    for (int s = 0; s < STATES; s++) {
        if (!m->has[s])
            continue;
        test_fetch(&m->states[s]);
        op.output = (husk_ref_optimizer_output)s;
        husk_ref_report report = {0};
        check(&op, &m->states[s].array, &report);
        test_accept(NAME, variant, text, &report);
    }
}

static void compare(const husk_optimizer_params *p, memory *m, const char *variant)
{
    compare_scaled(p, m, 0.0, variant);
}

static void run_variants(const husk_optimizer_params *wanted, memory *m)
{
    for (int v = 0; v < VARIANTS; v++) {
        husk_optimizer_params p = *wanted;
        p.variant = variants[v];
        for (int s = 0; s < STATES; s++)
            if (m->has[s])
                test_restore(&m->states[s]);
        if (test_ran(run(&p, m), NAME, variants[v]))
            compare(&p, m, variants[v]);
    }
}

static void run_all(const husk_optimizer_params *wanted, int32_t rank, const int64_t *shape, uint64_t seed)
{
    memory m = make(wanted, rank, shape, seed);
    run_variants(wanted, &m);
    release(&m);
}

START_TEST(kinds_and_options)
{
    husk_ref_random random = {.seed = 500 + (uint64_t)_i};
    const int64_t rounds = test_is_long() ? 12 : 3;
    for (int64_t round = 0; round < rounds; round++) {
        const int64_t shape[] = {test_pick_size(&random, 16, 60), test_pick_size(&random, 16, 60)};
        const husk_optimizer_params p = draw(&random, _i % 4);
        run_all(&p, 2, shape, (uint64_t)round);
    }
}
END_TEST

START_TEST(row_lengths)
{
    static const int64_t lengths[] = {1, 3, 15, 16, 17, 63, 65, 1000, 16383, 16384, 16385, 70001, 300000};
    husk_ref_random random = {.seed = 700 + (uint64_t)_i};
    for (int kind = 0; kind < 4; kind++) {
        const husk_optimizer_params p = draw(&random, kind);
        run_all(&p, 1, &lengths[_i], 2);
    }
}
END_TEST

// ---- mixed precision ----

static test_tensor number_of(husk_dtype dtype, double value)
{
    test_tensor made = test_inout_of(dtype, 0, NULL, TEST_PACKED, 1, 1.0f);
    husk_ref_store(&made.before, 0, value);
    husk_ref_store(&made.array, 0, value);
    test_input_update(&made);
    return made;
}

// Gradients of one dtype, a copy of w in another (f32: none), a scale (0: none) and a flag to leave the step out.
// Beside gradients in f64 all is f64.
static void run_mixed(husk_optimizer_params p, husk_dtype gradient, husk_dtype copy, double scale, double flag,
                      int64_t count)
{
    const husk_dtype own = gradient == HUSK_F64 ? HUSK_F64 : HUSK_F32;
    memory m = make_of(own, &p, 1, &count, 7);
    test_tensor rounded = test_inout_of(copy == HUSK_F32 ? HUSK_F16 : copy, 1, &count, TEST_PACKED, 8, 1.0f);
    const uint64_t step = p.step, before = flag == 0 && count % 2 ? step + 1 : 0; // skipped before
    test_tensor factor = number_of(own, scale), skip = number_of(own, flag), skipped = number_of(own, (double)before);
    test_release(&m.g);
    m.g = test_input_of(gradient, 1, &count, TEST_PACKED, 9, 1.0f);
    p.scale = scale != 0 ? &factor.tensor : NULL;
    p.skip = &skip.tensor;
    p.skipped = before ? &skipped.tensor : NULL;
    p.copy = copy != HUSK_F32 ? &rounded.tensor : NULL;
    for (int v = 0; v < VARIANTS; v++) {
        p.variant = variants[v];
        for (int s = 0; s < STATES; s++)
            if (m.has[s])
                test_restore(&m.states[s]);
        test_restore(&rounded);
        p.step = step + before;
        if (!test_ran(run(&p, &m), NAME, variants[v]))
            continue;
        p.step = step;
        if (flag != 0) {
            for (int s = 0; s < STATES; s++)
                if (m.has[s])
                    test_untouched(&m.states[s]);
            test_untouched(&rounded);
            continue;
        }
        compare_scaled(&p, &m, scale != 0 && p.divides ? 1 / scale : scale, variants[v]);
        if (!p.copy) {
            test_untouched(&rounded);
            continue;
        }
        test_fetch(&rounded); // what w became, rounded once
        for (int64_t i = 0; i < count; i++)
            ck_assert_msg(husk_ref_load(&rounded.array, i) ==
                              husk_ref_round(copy, husk_ref_load(&m.states[0].array, i)),
                          "copy %lld is %g, w %g", (long long)i, husk_ref_load(&rounded.array, i),
                          husk_ref_load(&m.states[0].array, i));
    }
    test_release(&rounded);
    test_release(&factor);
    test_release(&skip);
    test_release(&skipped);
    release(&m);
}

START_TEST(mixed_precision)
{
    static const husk_dtype pairs[][2] = {{HUSK_F16, HUSK_F16},  {HUSK_BF16, HUSK_BF16}, {HUSK_F32, HUSK_F16},
                                          {HUSK_F32, HUSK_BF16}, {HUSK_F16, HUSK_F32},   {HUSK_F32, HUSK_F32},
                                          {HUSK_F64, HUSK_F32}};
    if (pairs[_i][0] == HUSK_F64 && !husk_context_has(test_context(), HUSK_FEATURE_F64))
        return;
    husk_ref_random random = {.seed = 900 + (uint64_t)_i};
    for (int kind = 0; kind < 4; kind++)
        for (int round = 0; round < (test_is_long() ? 8 : 2); round++) {
            husk_optimizer_params p = draw(&random, kind);
            const double scale = (double)TEST_PICK(&random, 0, 1, 3, 1024);
            p.divides = scale != 0 && test_one_in(&random, 2);
            run_mixed(p, pairs[_i][0], pairs[_i][1], scale, round % 4 == 3 || (_i + kind) % 5 == 4 ? 1 : 0,
                      test_pick_size(&random, 16, 3000));
        }
}
END_TEST

// Ten runs from the same state, the same bits.
START_TEST(ten_runs_agree)
{
    const int64_t shape[] = {100000};
    const husk_optimizer_params p = HUSK_MAKE(husk_optimizer_params, .kind = HUSK_OPTIMIZER_ADAMW, .rate = 0.01,
                                              .step = 3, .beta = 0.9, .beta2 = 0.999, .epsilon = 1e-8);
    memory m = make(&p, 1, shape, 4);
    test_tensor copy = test_output(HUSK_F32, 1, shape, TEST_PACKED);
    for (int i = 0; i < 10; i++) {
        for (int s = 0; s < STATES; s++)
            if (m.has[s])
                test_restore(&m.states[s]);
        ck_assert(test_ran(run(&p, &m), NAME, NULL));
        test_fetch(&m.states[0]);
        if (i == 0)
            memcpy(copy.array.data, m.states[0].array.data, sizeof(float) * 100000);
        ck_assert_mem_eq(copy.array.data, m.states[0].array.data, sizeof(float) * 100000);
    }
    test_release(&copy);
    release(&m);
}
END_TEST

// A parameter that has left the range, without decay, makes no gradient of it NaN, and no state.
START_TEST(infinite_parameters)
{
    const int64_t shape[] = {37};
    husk_optimizer_params p = husk_optimizer_defaults((husk_optimizer_kind)_i, 0.5);
    p.step = 3;
    p.weight_decay = 0;
    memory m = make(&p, 1, shape, 4);
    for (int64_t i = 0; i < shape[0]; i += 5)
        husk_ref_store(&m.states[0].array, i, i % 2 ? -INFINITY : INFINITY);
    test_input_update(&m.states[0]);
    run_variants(&p, &m);
    release(&m);
}
END_TEST

START_TEST(nothing)
{
    const int64_t shapes[][2] = {{0, 7}, {3, 0}};
    const husk_optimizer_params p = HUSK_MAKE(husk_optimizer_params, .rate = 0.5);
    memory m = make(&p, 2, shapes[_i], 4);
    test_ok(run(&p, &m));
    test_untouched(&m.states[0]);
    release(&m);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    const int64_t shape[] = {6, 50};
    const husk_optimizer_params p = HUSK_MAKE(husk_optimizer_params, .kind = HUSK_OPTIMIZER_ADAM, .rate = 0.5,
                                              .step = 2, .beta = 0.9, .beta2 = 0.999, .epsilon = 1e-8);
    memory m = make(&p, 2, shape, 4);
    test_ok(run(&p, &m));
    test_fetch(&m.states[0]);
    husk_ref_optimizer op = {.params = &p, .g = &m.g.array};
    for (int s = 0; s < STATES; s++)
        op.before[s] = m.has[s] ? &m.states[s].before : NULL;
    husk_ref_function function = husk_ref_optimizer_function(&op);
    test_planted(&function, &m.states[0].array, check, &op);
    test_planted_guards(&m.states[0]);
    release(&m);
}
END_TEST

static void refuse(husk_status wanted, const char *argument, const husk_optimizer_params *p, const husk_tensor *g,
                   const husk_tensor *w, const husk_tensor *first, const husk_tensor *second, const husk_tensor *third)
{
    test_refused(husk_optimizer(test_silent_queue(), p, g, w, first, second, third), wanted, argument);
}

START_TEST(bad_input)
{
    const int64_t shape[] = {4, 6}, other[] = {4, 7};
    test_tensor a = test_input(2, shape, TEST_PACKED, 1, 1.0f), b = test_inout(2, shape, TEST_PACKED, 2, 1.0f);
    test_tensor c = test_inout(2, shape, TEST_PACKED, 3, 1.0f), d = test_inout(2, shape, TEST_PACKED, 4, 1.0f);
    test_tensor wrong = test_inout(2, other, TEST_PACKED, 5, 1.0f), gaps = test_inout(2, shape, TEST_SPREAD, 5, 1.0f);
    const husk_tensor *g = &a.tensor, *w = &b.tensor, *m = &c.tensor, *v = &d.tensor;
    const husk_optimizer_params plain = HUSK_MAKE(husk_optimizer_params, .rate = 0.5), adam = husk_adam(0.5);
    const struct {
        husk_optimizer_params params;
        const char *text;
    } bad[] = {
        {HUSK_MAKE(husk_optimizer_params, .kind = (husk_optimizer_kind)4), "kind"},
        {HUSK_MAKE(husk_optimizer_params, .rate = NAN), "rate"},
        {HUSK_MAKE(husk_optimizer_params, .momentum = -1), "momentum"},
        {HUSK_MAKE(husk_optimizer_params, .dampening = NAN), "dampening"},
        {HUSK_MAKE(husk_optimizer_params, .beta = 1), "beta"},
        {HUSK_MAKE(husk_optimizer_params, .beta2 = 1.5), "beta2"},
        {HUSK_MAKE(husk_optimizer_params, .epsilon = -1), "epsilon"},
        {HUSK_MAKE(husk_optimizer_params, .weight_decay = -1), "weight_decay"},
        {HUSK_MAKE(husk_optimizer_params, .nesterov = 1), "nesterov"},
        {HUSK_MAKE(husk_optimizer_params, .variant = "fastest"), "fastest"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refuse(HUSK_INVALID_ARGUMENT, bad[i].text, &bad[i].params, g, w, NULL, NULL, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "g", &plain, NULL, w, NULL, NULL, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "g", &plain, &wrong.tensor, w, NULL, NULL, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "g", &plain, &gaps.tensor, w, NULL, NULL, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "w", &plain, g, NULL, NULL, NULL, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "w", &plain, g, g, NULL, NULL, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "first", &plain, g, w, m, NULL, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "first", &adam, g, w, NULL, v, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "second", &adam, g, w, m, NULL, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "second", &adam, g, w, m, m, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "third", &adam, g, w, m, v, v);
    const int64_t one[] = {1};
    test_tensor f16 = test_inout_of(HUSK_F16, 2, shape, TEST_PACKED, 5, 1), n = test_inout(1, one, TEST_PACKED, 5, 1);
    const husk_optimizer_params mixed[] = {HUSK_MAKE(husk_optimizer_params, .rate = 0.5, .divides = 1),
                                           HUSK_MAKE(husk_optimizer_params, .rate = 0.5, .scale = m),
                                           HUSK_MAKE(husk_optimizer_params, .rate = 0.5, .skip = m),
                                           HUSK_MAKE(husk_optimizer_params, .rate = 0.5, .copy = m),
                                           HUSK_MAKE(husk_optimizer_params, .rate = 0.5, .scale = &f16.tensor),
                                           HUSK_MAKE(husk_optimizer_params, .rate = 0.5, .copy = &wrong.tensor),
                                           HUSK_MAKE(husk_optimizer_params, .rate = 0.5, .skipped = &f16.tensor)};
    const char *const names[] = {"scale", "scale", "skip", "copy", "scale", "copy", "skipped"};
    for (int i = 0; i < 7; i++)
        refuse(i < 3 ? HUSK_INVALID_ARGUMENT : HUSK_UNSUPPORTED, names[i], &mixed[i], g, w, NULL, NULL, NULL);
    husk_tensor bf16 = f16.tensor;
    bf16.dtype = HUSK_BF16;
    husk_optimizer_params p = HUSK_MAKE(husk_optimizer_params, .rate = 0.5, .copy = &bf16);
    refuse(HUSK_UNSUPPORTED, "copy", &p, &f16.tensor, w, NULL, NULL, NULL);
    p.copy = &f16.tensor; // the gradient itself
    refuse(HUSK_INVALID_ARGUMENT, "copy", &p, &f16.tensor, w, NULL, NULL, NULL);
    husk_tensor inside = *w;
    inside.rank = 0;
    p = HUSK_MAKE(husk_optimizer_params, .rate = 0.5, .skip = &inside);
    refuse(HUSK_INVALID_ARGUMENT, "skip", &p, g, w, NULL, NULL, NULL);
    refuse(HUSK_UNSUPPORTED, "w", &plain, g, &f16.tensor, NULL, NULL, NULL);
    if (husk_context_has(test_context(), HUSK_FEATURE_F64)) { // beside which nothing else stands
        test_tensor e = test_inout_of(HUSK_F64, 2, shape, TEST_PACKED, 6, 1);
        test_tensor f = test_inout_of(HUSK_F64, 2, shape, TEST_PACKED, 7, 1);
        refuse(HUSK_INVALID_ARGUMENT, "g", &plain, g, &e.tensor, NULL, NULL, NULL);
        refuse(HUSK_INVALID_ARGUMENT, "g", &plain, &e.tensor, w, NULL, NULL, NULL);
        refuse(HUSK_UNSUPPORTED, "first", &adam, &e.tensor, &f.tensor, m, v, NULL);
        p = HUSK_MAKE(husk_optimizer_params, .rate = 0.5, .scale = &n.tensor);
        refuse(HUSK_UNSUPPORTED, "scale", &p, &e.tensor, &f.tensor, NULL, NULL, NULL);
        p = HUSK_MAKE(husk_optimizer_params, .rate = 0.5, .copy = &f16.tensor);
        refuse(HUSK_INVALID_ARGUMENT, "copy", &p, &e.tensor, &f.tensor, NULL, NULL, NULL);
        test_release(&e);
        test_release(&f);
    }
    test_release(&f16);
    test_release(&n);
    ck_assert_str_eq(husk_optimizer_kind_name(HUSK_OPTIMIZER_ADAMW), "adamw");
    ck_assert_str_eq(husk_optimizer_kind_name((husk_optimizer_kind)99), "unknown");
    test_tensor *const all[] = {&a, &b, &c, &d, &wrong, &gaps};
    for (int i = 0; i < 6; i++)
        test_release(all[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create(NAME);
    TCase *cases = tcase_create(NAME);
    suite_add_tcase(suite, cases);
    tcase_add_loop_test(cases, mixed_precision, 0, test_tier_is("dtypes") ? 7 : 6);
    if (test_tier_is("dtypes"))
        return test_main(suite);
    tcase_add_loop_test(cases, kinds_and_options, 0, 40);
    tcase_add_loop_test(cases, row_lengths, 0, 13);
    tcase_add_test(cases, ten_runs_agree);
    tcase_add_loop_test(cases, nothing, 0, 2);
    tcase_add_loop_test(cases, infinite_parameters, 0, HUSK_OPTIMIZER_ADAMW + 1);
    tcase_add_test(cases, the_check_sees_mistakes);
    tcase_add_test(cases, bad_input);
    return test_main(suite);
}
