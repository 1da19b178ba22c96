// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=720
// Attention's gradients: finite differences; every variant, option and layout against the reference; each gradient
// alone; the same bits every time; bad input.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/attention_case.h"

static const char *const variants[] = {NULL, "blocks:12x2v", "blocks:6x2v", "workgroup:8x8", "workgroup:16x16"};
enum { ALL = sizeof(variants) / sizeof(variants[0]), IN_DEFAULT = ALL - 1, GRADIENTS = 3 };
#define VARIANTS (test_is_long() || test_tier_is("dtypes") ? ALL : IN_DEFAULT) // PoCL compiles the last for 20 s
static const char name[] = "attention_backward";
static const char *const gradient_names[GRADIENTS] = {"dq", "dk", "dv"};

// ---- the reference is the gradient ----

typedef struct forward_run {
    husk_ref_attention op;
    const husk_ref_array *y, *sums;
} forward_run;

static void forward(void *user)
{
    const forward_run *run = user;
    ck_assert(husk_ref_attention_run(&run->op, run->y, run->sums));
}

START_TEST(differences)
{
    husk_ref_random random = {.seed = 40 + (uint64_t)_i};
    const uint64_t seed = (uint64_t)_i;
    test_attention c = test_attention_draw(&random, HUSK_F32, 7, seed);
    c.queries += 1;
    test_attention_release(&c);
    c.d = 1 + c.d % 6;
    c.e = 1 + c.e % 6;
    c.has_mask = _i % 3 == 0;
    test_attention_fill(&c, &random, seed);
    const int64_t q_shape[] = {c.batch, c.heads, c.queries, c.d}, k_shape[] = {c.batch, c.kv_heads, c.keys, c.d};
    const int64_t v_shape[] = {c.batch, c.kv_heads, c.keys, c.e}, y_shape[] = {c.batch, c.heads, c.queries, c.e};
    const int64_t *const shapes[] = {q_shape, k_shape, v_shape};
    husk_ref_array inputs[GRADIENTS], y = test_array(4, y_shape, 0, 0), sums = test_array(3, q_shape, 0, 0);
    husk_ref_array dy = test_array(4, y_shape, seed + 9, 1.0);
    for (int i = 0; i < GRADIENTS; i++)
        inputs[i] = test_array(4, shapes[i], seed + (uint64_t)i, 1.5);
    forward_run run = {.op = test_attention_reference(&c), .y = &y, .sums = &sums};
    run.op.q = &inputs[0];
    run.op.k = &inputs[1];
    run.op.v = &inputs[2];
    forward(&run);
    for (int i = 0; i < GRADIENTS; i++) {
        husk_ref_array gradient = test_array(4, shapes[i], 0, 0);
        const husk_ref_attention_backward backward = {
            .forward = run.op, .y = &y, .log_sum_exp = &sums, .dy = &dy, .by = (husk_ref_attention_by)i};
        ck_assert(husk_ref_attention_backward_run(&backward, &gradient));
        if (test_dot(&gradient, &gradient) > 1e-12) // where one key is seen at most, weights do not change
            test_differences(name, forward, &run, &inputs[i], &y, &dy, &gradient, seed);
        test_array_release(&gradient);
    }
    for (int i = 0; i < GRADIENTS; i++)
        test_array_release(&inputs[i]);
    test_array_release(&y);
    test_array_release(&sums);
    test_array_release(&dy);
    test_attention_release(&c);
}
END_TEST

// ---- every variant ----

typedef struct tensors {
    test_tensor y, sums, dy, gradient[GRADIENTS];
    bool is_wanted[GRADIENTS];
} tensors;

// y and log_sum_exp are what the reference makes of the inputs.
static tensors make_tensors(const test_attention *c, uint64_t seed)
{
    const int64_t sums_shape[] = {c->batch, c->heads, c->queries};
    const bool adds = (c->params.accumulate & HUSK_ACCUMULATE_INPUTS) != 0;
    tensors t = {.is_wanted = {true, true, true}};
    t.y = test_attention_input(c, c->heads, c->queries, c->e, seed, 1.0f);
    t.sums = test_input_of(c->dtype == HUSK_F64 ? HUSK_F64 : HUSK_F32, 3, sums_shape,
                           c->layout == 1 ? TEST_REVERSED : TEST_PADDED, seed, 1.0f);
    t.dy = test_attention_input(c, c->heads, c->queries, c->e, seed + 1, 1.0f);
    t.gradient[0] = test_attention_output(c, c->heads, c->queries, c->d, adds, seed + 2);
    t.gradient[1] = test_attention_output(c, c->kv_heads, c->keys, c->d, adds, seed + 3);
    t.gradient[2] = test_attention_output(c, c->kv_heads, c->keys, c->e, adds, seed + 4);
    const husk_ref_attention op = test_attention_reference(c);
    if (husk_ref_array_count(&t.sums.array) > 0) {
        ck_assert(husk_ref_attention_run(&op, &t.y.array, &t.sums.array));
        test_input_update(&t.y);
        test_input_update(&t.sums);
    }
    return t;
}

static void release_tensors(tensors *t)
{
    test_release(&t->y);
    test_release(&t->sums);
    test_release(&t->dy);
    for (int i = 0; i < GRADIENTS; i++)
        test_release(&t->gradient[i]);
}

static husk_status call(const test_attention *c, const char *variant, const tensors *t)
{
    husk_attention_params params = c->params;
    const husk_tensor *gradient[GRADIENTS];
    params.variant = variant;
    for (int i = 0; i < GRADIENTS; i++)
        gradient[i] = t->is_wanted[i] ? &t->gradient[i].tensor : NULL;
    return husk_attention_backward(test_queue(), &params, &c->q.tensor, &c->k.tensor, &c->v.tensor,
                                   test_attention_mask(c), &t->y.tensor, &t->sums.tensor, &t->dy.tensor, gradient[0],
                                   gradient[1], gradient[2]);
}

static husk_ref_attention_backward reference(const test_attention *c, const tensors *t, int by)
{
    return (husk_ref_attention_backward){.forward = test_attention_reference(c),
                                         .y = &t->y.array,
                                         .log_sum_exp = &t->sums.array,
                                         .dy = &t->dy.array,
                                         .by = (husk_ref_attention_by)by,
                                         .before = &t->gradient[by].before};
}

static void run_all(const test_attention *c, tensors *t)
{
    husk_ref_expected expected[GRADIENTS];
    for (int i = 0; i < GRADIENTS; i++) {
        husk_ref_attention_backward op = reference(c, t, i);
        ck_assert(husk_ref_attention_backward_prepare(&op));
        const husk_ref_function function = husk_ref_attention_backward_function(&op);
        ck_assert(husk_ref_expect(&function, 1, &expected[i]));
        husk_ref_attention_backward_release(&op);
    }
    for (int v = 0; v < VARIANTS; v++) {
        if (c->dtype != HUSK_F32 && !test_tier_is("dtypes") && v != 0)
            continue; // few programs in the default tier
        for (int i = 0; i < GRADIENTS; i++)
            test_restore(&t->gradient[i]);
        if (!test_ran(call(c, variants[v], t), name, variants[v]))
            continue;
        husk_ref_report report = {0};
        char text[300];
        snprintf(text, sizeof text, "%s", c->text);
        for (int i = 0; i < GRADIENTS; i++) {
            if (!t->is_wanted[i]) {
                test_untouched(&t->gradient[i]);
                continue;
            }
            test_fetch(&t->gradient[i]);
            husk_ref_compare(&expected[i], &t->gradient[i].array, &report);
            if (!husk_ref_report_pass(&report)) {
                snprintf(text, sizeof text, "%s %s", gradient_names[i], c->text);
                break;
            }
        }
        test_accept(name, variants[v], text, &report);
    }
    for (int i = 0; i < GRADIENTS; i++)
        husk_ref_expected_release(&expected[i]);
}

// A third has one gradient alone, a third all but one; half adds. In the tier "dtypes" the other dtypes in turns; here
// every eighth is f16.
START_TEST(options_and_layouts)
{
    husk_ref_random random = {.seed = 200 + (uint64_t)_i};
    const int64_t rounds = test_is_long() ? 60 : 16;
    const bool is_narrow = test_tier_is("dtypes");
    for (int64_t round = 0; round < rounds; round++) {
        const husk_dtype dtype = is_narrow ? test_dtype(round) : round % 8 == 7 ? HUSK_F16 : HUSK_F32;
        const uint64_t seed = (uint64_t)(round + 20 * _i);
        test_attention c = test_attention_draw(&random, dtype, round % 8 == 3 ? 150 : 50, seed);
        c.params.accumulate = test_one_in(&random, 2) ? HUSK_ACCUMULATE_INPUTS : HUSK_ACCUMULATE_PARAMETERS;
        tensors t = make_tensors(&c, seed + 500);
        const int64_t which = husk_ref_random_below(&random, GRADIENTS);
        const int64_t kind = husk_ref_random_below(&random, 3);
        for (int i = 0; i < GRADIENTS && kind < 2; i++)
            t.is_wanted[i] = (i == which) == (kind == 0);
        run_all(&c, &t);
        release_tensors(&t);
        test_attention_release(&c);
    }
}
END_TEST

// Several lines of scores, several chunks, several work-groups; rows of many columns; sums that GPUs make in parts.
START_TEST(large)
{
    static const struct {
        int64_t heads, kv_heads, queries, keys, d, e;
        int causal;
        float dropout;
    } sizes[] = {{2, 1, 300, 300, 64, 64, 1, 0},  {1, 1, 20, 2001, 64, 64, 2, 0.1f}, {1, 1, 1100, 30, 64, 64, 1, 0},
                 {1, 1, 40, 150, 256, 256, 0, 0}, {4, 2, 1, 700, 128, 128, 2, 0},    {1, 1, 130, 256, 64, 64, 0, 0.5f},
                 {1, 1, 5, 5, 300, 8, 0, 0},      {2, 2, 2300, 20, 5, 3, 2, 0},      {4, 1, 2500, 40, 8, 5, 2, 0},
                 {1, 1, 20, 9000, 8, 40, 2, 0.1f}};
    husk_ref_random random = {.seed = 7};
    test_attention c = {.dtype = test_tier_is("dtypes") ? test_dtype(2) : HUSK_F32,
                        .batch = 1,
                        .heads = sizes[_i].heads,
                        .kv_heads = sizes[_i].kv_heads,
                        .queries = sizes[_i].queries,
                        .keys = sizes[_i].keys,
                        .d = sizes[_i].d,
                        .e = sizes[_i].e,
                        .params = HUSK_ATTENTION_PARAMS(.causal = (husk_causal)sizes[_i].causal,
                                                        .dropout = sizes[_i].dropout, .seed = 5)};
    test_attention_fill(&c, &random, 3);
    tensors t = make_tensors(&c, 11);
    run_all(&c, &t);
    release_tensors(&t);
    test_attention_release(&c);
}
END_TEST

static void alternate(test_tensor *tensor, double value)
{
    int64_t index[HUSK_MAX_RANK] = {0};
    do
        husk_ref_store(&tensor->array, husk_ref_offset(&tensor->array, index), index[2] % 2 ? -value : value);
    while (husk_ref_index_next(tensor->array.rank, tensor->array.shape, index));
    test_input_update(tensor);
}

// Many queries that are alike, whose terms of dk and dv are; many keys, every other one of which has the same with the
// other sign, as its values, so that terms of dq are alike: errors have one sign.
START_TEST(many_terms_of_one_sign)
{
    husk_ref_random random = {.seed = 7};
    const int64_t many = _i < 2 ? 50000 : 500000;
    test_attention c = {.batch = 1,
                        .heads = 1,
                        .kv_heads = 1,
                        .queries = _i % 2 == 0 ? many : 1,
                        .keys = _i % 2 == 0 ? 2 : many,
                        .d = 4,
                        .e = 4,
                        .params = HUSK_ATTENTION_PARAMS(0)};
    const int64_t shape[] = {1, 1, c.queries, 4};
    test_attention_fill(&c, &random, 3);
    test_release(&c.q);
    c.q = test_input_alike(4, shape, TEST_PACKED, 0.1f);
    alternate(&c.k, 0.3);
    alternate(&c.v, 0.7);
    tensors t = make_tensors(&c, 11);
    test_release(&t.dy);
    t.dy = test_input_alike(4, shape, TEST_PACKED, 0.1f);
    run_all(&c, &t);
    release_tensors(&t);
    test_attention_release(&c);
}
END_TEST

// Sums in parts of more heads than GPUs take in one launch, of dq, and of dk and dv.
START_TEST(many_positions_of_many_heads)
{
    const int64_t units = husk_context_traits(test_context())->compute_units;
    const int64_t heads = 32 * (units < 8 ? units : 8) + 5; // more take too long
    husk_ref_random random = {.seed = 19};
    test_attention c = {.batch = 1,
                        .heads = heads,
                        .kv_heads = _i ? heads : 1,
                        .queries = _i ? 8300 : 1,
                        .keys = _i ? 1 : 8300,
                        .d = 3,
                        .e = 2,
                        .params = HUSK_ATTENTION_PARAMS(0)};
    test_attention_fill(&c, &random, 3);
    tensors t = make_tensors(&c, 11);
    run_all(&c, &t);
    release_tensors(&t);
    test_attention_release(&c);
}
END_TEST

static test_attention small(int64_t queries, int64_t keys, int64_t d, int64_t e)
{
    husk_ref_random random = {.seed = 7};
    test_attention c = {.batch = 1, .heads = 2, .kv_heads = 1, .queries = queries, .keys = keys, .d = d, .e = e};
    c.params = HUSK_ATTENTION_PARAMS(.causal = HUSK_CAUSAL_BOTTOM_RIGHT);
    test_attention_fill(&c, &random, 3);
    return c;
}

// Of 9 queries 4 come before all keys; no keys; no queries: dk and dv are zero then; no columns.
START_TEST(little_and_nothing)
{
    static const int64_t sizes[][4] = {{9, 5, 18, 20}, {9, 0, 18, 20}, {0, 5, 18, 20},
                                       {3, 5, 0, 4},   {3, 5, 4, 0},   {0, 0, 3, 3}};
    test_attention c = small(sizes[_i][0], sizes[_i][1], sizes[_i][2], sizes[_i][3]);
    tensors t = make_tensors(&c, 11);
    run_all(&c, &t);
    release_tensors(&t);
    test_attention_release(&c);
}
END_TEST

// NaN and infinity in dy; the rows and columns that they belong to.
START_TEST(special_values)
{
    test_attention c = small(6, 30, 18, 20);
    tensors t = make_tensors(&c, 11);
    ((float *)t.dy.array.data)[40 + 3] = _i ? INFINITY : NAN;
    test_input_update(&t.dy);
    t.is_wanted[1] = t.is_wanted[2] = false; // there weights of zero meet it, or do not
    run_all(&c, &t);
    release_tensors(&t);
    test_attention_release(&c);
}
END_TEST

// Of all weights dropped no gradient is left.
START_TEST(everything_dropped)
{
    test_attention c = small(7, 9, 18, 20);
    c.params.dropout = 1.0f;
    tensors t = make_tensors(&c, 11);
    for (int v = 0; v < VARIANTS; v++) {
        for (int i = 0; i < GRADIENTS; i++)
            test_restore(&t.gradient[i]);
        if (!test_ran(call(&c, variants[v], &t), name, variants[v]))
            continue;
        for (int i = 0; i < GRADIENTS; i++) {
            int64_t index[HUSK_MAX_RANK] = {0};
            const husk_ref_array *made = &t.gradient[i].array;
            test_fetch(&t.gradient[i]);
            do
                ck_assert(husk_ref_load(made, husk_ref_offset(made, index)) == 0.0);
            while (husk_ref_index_next(made->rank, made->shape, index));
        }
    }
    release_tensors(&t);
    test_attention_release(&c);
}
END_TEST

START_TEST(the_same_bits)
{
    husk_ref_random random = {.seed = 7};
    test_attention c = {.batch = 2, .heads = 2, .kv_heads = 1, .queries = 200, .keys = 300, .d = 40, .e = 40};
    c.params = HUSK_ATTENTION_PARAMS(.dropout = 0.2f);
    test_attention_fill(&c, &random, 3);
    tensors t = make_tensors(&c, 11);
    uint32_t *first[GRADIENTS];
    for (int run = 0; run < 10; run++) {
        for (int i = 0; i < GRADIENTS; i++)
            test_restore(&t.gradient[i]);
        test_ok(call(&c, NULL, &t));
        for (int i = 0; i < GRADIENTS; i++) {
            const size_t bytes = (size_t)t.gradient[i].words * sizeof(uint32_t);
            test_fetch(&t.gradient[i]);
            if (run == 0) {
                first[i] = malloc(bytes);
                ck_assert_ptr_nonnull(first[i]);
                memcpy(first[i], t.gradient[i].current, bytes);
            }
            ck_assert_msg(memcmp(first[i], t.gradient[i].current, bytes) == 0, "run %d has other bits", run);
        }
    }
    for (int i = 0; i < GRADIENTS; i++)
        free(first[i]);
    release_tensors(&t);
    test_attention_release(&c);
}
END_TEST

static void check(void *user, const husk_ref_array *gradient, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_attention_backward_function(user);
    husk_ref_check(&function, 1, gradient, report);
}

START_TEST(the_check_sees_mistakes)
{
    test_attention c = small(7, 9, 18, 20);
    tensors t = make_tensors(&c, 11);
    test_ok(call(&c, NULL, &t));
    for (int i = 0; i < GRADIENTS; i++) {
        test_fetch(&t.gradient[i]);
        husk_ref_attention_backward op = reference(&c, &t, i);
        ck_assert(husk_ref_attention_backward_prepare(&op));
        const husk_ref_function function = husk_ref_attention_backward_function(&op);
        test_planted(&function, &t.gradient[i].array, check, &op);
        test_planted_guards(&t.gradient[i]);
        husk_ref_attention_backward_release(&op);
    }
    release_tensors(&t);
    test_attention_release(&c);
}
END_TEST

// ---- bad input: what forward refuses is refused by the same code ----

START_TEST(bad_input)
{
    enum { Q, K, V, MASK, Y, SUMS, DY, DQ, DK, DV, COUNT };
    test_attention c = small(5, 40, 18, 20);
    tensors t = make_tensors(&c, 11);
    const int64_t mask_shape[] = {5, 40};
    test_tensor mask = test_input(2, mask_shape, TEST_PACKED, 1, 1.0f);
    husk_attention_params params;
#define REFUSED(status, argument, ...) \
    do { \
        husk_tensor g[COUNT] = {c.q.tensor, c.k.tensor, c.v.tensor, mask.tensor, t.y.tensor, t.sums.tensor, \
                                t.dy.tensor, t.gradient[0].tensor, t.gradient[1].tensor, t.gradient[2].tensor}; \
        const husk_tensor *p[COUNT]; \
        params = HUSK_ATTENTION_PARAMS(0); \
        for (int i = 0; i < COUNT; i++) \
            p[i] = &g[i]; \
        __VA_ARGS__; \
        test_refused(husk_attention_backward(test_silent_queue(), &params, p[Q], p[K], p[V], p[MASK], p[Y], p[SUMS], \
                                             p[DY], p[DQ], p[DK], p[DV]), \
                     HUSK_##status, argument); \
    } while (0)
    REFUSED(INVALID_ARGUMENT, "q", p[Q] = NULL);
    REFUSED(INVALID_ARGUMENT, "k", p[K] = NULL);
    REFUSED(INVALID_ARGUMENT, "v", p[V] = NULL);
    REFUSED(INVALID_ARGUMENT, "y", p[Y] = NULL);
    REFUSED(INVALID_ARGUMENT, "log_sum_exp", p[SUMS] = NULL);
    REFUSED(INVALID_ARGUMENT, "dy", p[DY] = NULL);
    REFUSED(INVALID_ARGUMENT, "dq", p[DQ] = p[DK] = p[DV] = NULL);
    REFUSED(INVALID_ARGUMENT, "mask", g[MASK].shape[0] = 4);
    REFUSED(INVALID_ARGUMENT, "y", g[Y].shape[3] = 19);
    REFUSED(INVALID_ARGUMENT, "log_sum_exp", g[SUMS].shape[2] = 4);
    REFUSED(UNSUPPORTED, "log_sum_exp", g[SUMS].dtype = HUSK_F16);
    REFUSED(INVALID_ARGUMENT, "dy", g[DY].shape[2] = 4);
    REFUSED(UNSUPPORTED, "dy", g[DY].dtype = HUSK_F16);
    REFUSED(INVALID_ARGUMENT, "dq", g[DQ].shape[3] = 17);
    REFUSED(INVALID_ARGUMENT, "dk", g[DK].shape[2] = 39);
    REFUSED(INVALID_ARGUMENT, "dv", g[DV].shape[3] = 18);
    REFUSED(UNSUPPORTED, "dv", g[DV].dtype = HUSK_BF16);
    REFUSED(INVALID_ARGUMENT, "dk", g[DK].strides[0] = 100; g[DK].strides[1] = 9; g[DK].strides[2] = 9;
            g[DK].strides[3] = 1);
    REFUSED(INVALID_ARGUMENT, "dy", g[DY].offset += 1);
    REFUSED(INVALID_ARGUMENT, "dq", g[DQ].buffer = NULL);
    REFUSED(INVALID_ARGUMENT, "dq", g[Q] = g[DQ]);
    REFUSED(INVALID_ARGUMENT, "dv", g[DV] = g[DK]; g[V] = g[K]; g[Y] = g[Q]; g[DY] = g[Q]);
    REFUSED(INVALID_ARGUMENT, "accumulate", params.accumulate = 4);
    REFUSED(INVALID_ARGUMENT, "causal", params.causal = (husk_causal)-1);
    REFUSED(INVALID_ARGUMENT, "dropout", params.dropout = -0.1f);
    REFUSED(INVALID_ARGUMENT, "blockss", params.variant = "blockss");
    REFUSED(INVALID_ARGUMENT, "params", params.size += 8);
    ck_assert_int_eq(husk_attention_backward(NULL, NULL, &c.q.tensor, &c.k.tensor, &c.v.tensor, NULL, &t.y.tensor,
                                             &t.sums.tensor, &t.dy.tensor, &t.gradient[0].tensor, NULL, NULL),
                     HUSK_INVALID_ARGUMENT);
    for (int i = 0; i < GRADIENTS; i++)
        test_untouched(&t.gradient[i]);
    test_release_all();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("attention_backward");
    TCase *tests = tcase_create("attention_backward");
    tcase_add_loop_test(tests, options_and_layouts, 0, 7);
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, large, 0, 10);
    if (test_tier_is("dtypes"))
        return test_main(suite);
    tcase_add_loop_test(tests, differences, 0, 24);
    tcase_add_loop_test(tests, many_terms_of_one_sign, 0, 4);
    tcase_add_loop_test(tests, many_positions_of_many_heads, 0, 2);
    tcase_add_loop_test(tests, little_and_nothing, 0, 6);
    tcase_add_loop_test(tests, special_values, 0, 2);
    tcase_add_test(tests, everything_dropped);
    tcase_add_test(tests, the_same_bits);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_input);
    return test_main(suite);
}
