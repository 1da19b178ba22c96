// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=720
// Attention: every variant, option and layout against the reference; rows that see nothing; bad input.
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/attention_case.h"

static const char *const variants[] = {NULL,           "blocks:12x2v",    "blocks:6x2v",  "workgroup:8x8",
                                       "ranges:whole", "workgroup:16x16", "ranges:split", "tiled:32x64",
                                       "tiled:64x128", "tiled:64x64",     "tiled:32x128"};
enum { ALL = sizeof(variants) / sizeof(variants[0]), IN_DEFAULT = ALL - 2 };
#define VARIANTS (test_is_long() || test_tier_is("dtypes") ? ALL : IN_DEFAULT) // few programs in the default tier
static const char name[] = "attention";

static void check(void *user, const husk_ref_array *y, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_attention_function(user);
    husk_ref_check(&function, 1, y, report);
}

static husk_status call(const test_attention *c, const char *variant, const test_tensor *y, const test_tensor *sums)
{
    husk_attention_params params = c->params;
    params.variant = variant;
    return husk_attention(test_queue(), &params, &c->q.tensor, &c->k.tensor, &c->v.tensor, test_attention_mask(c),
                          &y->tensor, sums ? &sums->tensor : NULL);
}

static void run_variants(const test_attention *c, const char *const *list, int count)
{
    const int64_t sums_shape[] = {c->batch, c->heads, c->queries};
    test_tensor y = test_attention_output(c, c->heads, c->queries, c->e, false, 0);
    test_tensor sums = test_output(c->dtype == HUSK_F64 ? HUSK_F64 : HUSK_F32, 3, sums_shape,
                                   c->layout == 1 ? TEST_REVERSED : TEST_PADDED);
    husk_ref_attention op = test_attention_reference(c);
    husk_ref_expected expected, expected_sums;
    ck_assert(husk_ref_attention_prepare(&op));
    husk_ref_function function = husk_ref_attention_function(&op);
    ck_assert(husk_ref_expect(&function, 1, &expected));
    function = husk_ref_attention_log_sum_exp_function(&op);
    ck_assert(husk_ref_expect(&function, 1, &expected_sums));
    for (int v = 0; v < count; v++) {
        if (c->dtype != HUSK_F32 && !test_tier_is("dtypes") && v != 0 && v != 3)
            continue; // few programs in the default tier
        test_restore(&y);
        test_restore(&sums);
        if (!test_ran(call(c, list[v], &y, c->has_sums ? &sums : NULL), name, list[v]))
            continue;
        test_fetch(&y);
        husk_ref_report report = {0};
        husk_ref_compare(&expected, &y.array, &report);
        if (c->has_sums) {
            test_fetch(&sums);
            husk_ref_compare(&expected_sums, &sums.array, &report);
        } else {
            test_untouched(&sums);
        }
        test_accept(name, list[v], c->text, &report);
    }
    husk_ref_expected_release(&expected);
    husk_ref_expected_release(&expected_sums);
    husk_ref_attention_release(&op);
    test_release(&y);
    test_release(&sums);
}

static void run_all(const test_attention *c)
{
    run_variants(c, variants, VARIANTS);
}

// In the tier "dtypes" the other dtypes in turns; in the tier "long" every eighth is f16.
START_TEST(options_and_layouts)
{
    husk_ref_random random = {.seed = 100 + (uint64_t)_i};
    const int64_t rounds = test_is_long() ? 60 : 16;
    const bool is_narrow = test_tier_is("dtypes");
    for (int64_t round = 0; round < rounds; round++) {
        const husk_dtype dtype = is_narrow ? test_dtype(round) : test_is_long() && round % 8 == 7 ? HUSK_F16 : HUSK_F32;
        test_attention c = test_attention_draw(&random, dtype, round % 8 == 3 ? 150 : 60, (uint64_t)(round + 20 * _i));
        run_all(&c);
        test_attention_release(&c);
    }
}
END_TEST

// Several lines of scores, several chunks of keys, several work-groups of queries; rows of many columns. In the tier
// "dtypes" in f64, of which a chunk has half as many.
START_TEST(large)
{
    static const struct {
        int64_t heads, kv_heads, queries, keys, d, e;
        int causal;
        float dropout;
    } sizes[] = {{2, 1, 300, 300, 64, 64, 1, 0},    {1, 1, 20, 3001, 64, 64, 2, 0.1f}, {1, 1, 70, 900, 300, 130, 0, 0},
                 {1, 1, 40, 200, 512, 512, 0, 0},   {4, 2, 1, 1000, 128, 128, 2, 0},   {1, 1, 700, 70, 33, 65, 0, 0},
                 {1, 1, 130, 256, 64, 64, 0, 0.5f}, {1, 1, 5, 5, 600, 8, 0, 0},        {3, 3, 500, 40, 16, 16, 2, 0},
                 {1, 1, 251, 700, 200, 136, 1, 0},  {1, 1, 45, 1101, 64, 64, 0, 0},    {2, 1, 97, 333, 32, 96, 2, 0},
                 {1, 1, 1, 1900, 64, 80, 0, 0},     {8, 1, 1, 2310, 40, 33, 2, 0.3f},  {6, 2, 3, 1100, 20, 130, 2, 0},
                 {1, 1, 32, 520, 9, 16, 1, 0},      {2, 2, 2, 600, 1100, 1030, 1, 0},  {1, 1, 1, 513, 128, 64, 1, 0}};
    husk_ref_random random = {.seed = 7};
    test_attention c = {.dtype = test_tier_is("dtypes") ? test_dtype(2) : HUSK_F32,
                        .batch = 1,
                        .heads = sizes[_i].heads,
                        .kv_heads = sizes[_i].kv_heads,
                        .queries = sizes[_i].queries,
                        .keys = sizes[_i].keys,
                        .d = sizes[_i].d,
                        .e = sizes[_i].e,
                        .has_sums = true,
                        .params = HUSK_ATTENTION_PARAMS(.causal = (husk_causal)sizes[_i].causal,
                                                        .dropout = sizes[_i].dropout, .seed = 5)};
    test_attention_fill(&c, &random, 3);
    run_all(&c);
    test_attention_release(&c);
}
END_TEST

// Keys and values that are all alike: the errors of a row's sums have one sign. A million of them where tiles of 32
// keys are added up, and for several queries where ranges of keys are.
START_TEST(many_terms_of_one_sign)
{
    static const char *const parts[] = {"workgroup:8x8", "tiled:32x64", "ranges:whole", "ranges:split"};
    static const int queries[] = {1, 13, 1, 4};
    const int64_t shape[] = {1, 1, _i >= 2 ? 1 << 20 : 100000, 4};
    husk_ref_random random = {.seed = 7};
    test_attention c = {.batch = 1,
                        .heads = 1,
                        .kv_heads = 1,
                        .queries = queries[_i],
                        .keys = shape[2],
                        .d = 4,
                        .e = 4,
                        .has_sums = true,
                        .params = HUSK_ATTENTION_PARAMS(.scale = 0.01f)};
    test_attention_fill(&c, &random, 3);
    test_release(&c.k);
    test_release(&c.v);
    c.k = test_input_alike(4, shape, TEST_PACKED, 0.3f);
    c.v = test_input_alike(4, shape, TEST_PACKED, 0.1f);
    if (_i >= 2)
        run_variants(&c, parts + (_i == 2 ? 0 : 2), 2);
    else
        run_all(&c);
    test_attention_release(&c);
}
END_TEST

// So many keys that GPUs add up their sums in parts, which meet larger scores than those before them: in rows whose
// scores grow or become less, that see nothing of the first half or of the second, and where all is low from then on.
START_TEST(many_keys)
{
    enum { QUERIES = 37, KEYS = 20000 };
    const int64_t mask_shape[] = {QUERIES, KEYS};
    husk_ref_random random = {.seed = 17};
    test_attention c = {.batch = 1, .heads = 2, .kv_heads = 1, .queries = QUERIES, .keys = KEYS, .d = 5, .e = 70};
    c.has_sums = true;
    c.params = HUSK_ATTENTION_PARAMS(.dropout = _i ? 0.3f : 0.0f, .causal = _i ? HUSK_CAUSAL_BOTTOM_RIGHT : 0);
    test_attention_fill(&c, &random, 3);
    c.mask = test_input_of(HUSK_F32, 2, mask_shape, TEST_PACKED, 9, 1.0f);
    for (int64_t i = 0; i < QUERIES * KEYS; i++) {
        const int64_t row = i / KEYS % 5, key = i % KEYS;
        const double part = (double)key / KEYS;
        const double of_row[] = {0.0, 30.0 * part, -30.0 * part, key < KEYS / 2 ? -INFINITY : -200.0,
                                 key < KEYS / 2 ? 1.0 : -INFINITY};
        husk_ref_store(&c.mask.array, i, of_row[row]);
    }
    test_input_update(&c.mask);
    c.has_mask = true;
    run_all(&c);
    test_attention_release(&c);
}
END_TEST

// Sums in parts of more heads than GPUs take in one launch: the next one has its totals in the same place. Of wide rows
// a head has several work-groups.
START_TEST(many_keys_of_many_heads)
{
    static const char *const own[] = {"workgroup:8x8", "tiled:32x64"};
    const int64_t units = husk_context_traits(test_context())->compute_units;
    husk_ref_random random = {.seed = 19};
    test_attention c = {.batch = 1,
                        .heads = 32 * units + 5,
                        .kv_heads = 1,
                        .queries = 1,
                        .keys = 8300,
                        .d = 3,
                        .e = _i ? 70 : 2,
                        .has_sums = true};
    c.params = HUSK_ATTENTION_PARAMS(0);
    test_attention_fill(&c, &random, 3);
    run_variants(&c, own, 2);
    const uint64_t scratch = husk_plan_workspace(husk_queue_plan(test_queue()));
    ck_assert_msg(scratch > 0 && scratch <= (uint64_t)units << 20, "%llu bytes of scratch memory",
                  (unsigned long long)scratch);
    test_attention_release(&c);
}
END_TEST

// More heads than NVIDIA has work-groups in any dimension but the first.
START_TEST(many_heads)
{
    static const char *const own[] = {"workgroup:8x8", "tiled:32x64"};
    husk_ref_random random = {.seed = 7};
    test_attention c = {.batch = 2, .heads = 33000, .kv_heads = 16500, .queries = 2, .keys = 3, .d = 1, .e = 2};
    c.has_sums = true;
    c.params = HUSK_ATTENTION_PARAMS(.causal = HUSK_CAUSAL_BOTTOM_RIGHT);
    test_attention_fill(&c, &random, 3);
    run_variants(&c, own, 2);
    test_attention_release(&c);
}
END_TEST

static test_attention small(void)
{
    husk_ref_random random = {.seed = 7};
    test_attention c = {.batch = 1, .heads = 2, .kv_heads = 1, .queries = 5, .keys = 40, .d = 18, .e = 20};
    c.has_sums = true;
    c.params = HUSK_ATTENTION_PARAMS(0);
    test_attention_fill(&c, &random, 3);
    return c;
}

// Scores far apart, equal, and past what exp takes; NaN and infinity in a row touch no other row.
START_TEST(special_values)
{
    static const float specials[] = {1e4f, -1e4f, NAN, INFINITY, 1e-30f, 3e30f};
    test_attention c = small();
    float *q = c.q.array.data;
    for (int i = 0; i < 18; i++)
        q[18 + i] *= i == 0 && _i >= 2 ? specials[_i] : _i < 2 ? specials[_i] : 1.0f;
    test_input_update(&c.q);
    run_all(&c);
    test_attention_release(&c);
}
END_TEST

// All masked, by each kind of mask and by causality: zeros, and -infinity. No keys at all: the same.
START_TEST(rows_that_see_nothing)
{
    const int64_t mask_shape[] = {5, 40};
    test_attention c = small();
    if (_i < 2) {
        const husk_dtype dtype = _i ? HUSK_U8 : HUSK_F32;
        c.mask = test_input_of(dtype, 2, mask_shape, TEST_PACKED, 9, 1.0f);
        for (int64_t i = 0; i < 200; i++)
            husk_ref_store(&c.mask.array, i, i / 40 == 2 ? (_i ? 0.0 : -INFINITY) : 1.0);
        test_input_update(&c.mask);
        c.has_mask = true;
    } else {
        husk_ref_random random = {.seed = 7};
        test_attention_release(&c);
        c.keys = _i == 2 ? 3 : 0;
        c.params.causal = HUSK_CAUSAL_BOTTOM_RIGHT; // of 5 queries two come before all keys
        test_attention_fill(&c, &random, 3);
    }
    run_all(&c);
    for (int v = 0; v < VARIANTS; v++) {
        const int64_t shape[] = {1, 2, 5}, row = _i < 2 ? 2 : 0;
        test_tensor y = test_attention_output(&c, 2, 5, 20, false, 0);
        test_tensor sums = test_output(HUSK_F32, 3, shape, TEST_PACKED);
        if (test_ran(call(&c, variants[v], &y, &sums), name, variants[v])) {
            test_fetch(&y);
            test_fetch(&sums);
            for (int64_t j = 0; j < 20; j++)
                ck_assert(husk_ref_load(&y.array, row * 20 + j) == 0.0);
            ck_assert(husk_ref_load(&sums.array, row) == -INFINITY);
        }
        test_release(&y);
        test_release(&sums);
    }
    test_attention_release(&c);
}
END_TEST

// What the mask says of keys that a query does not see by causality does not count, NaN and infinity neither.
START_TEST(masks_of_unseen_keys)
{
    const bool is_last = _i / 2 != 0; // the last query sees all keys
    test_attention c = small();
    c.params.causal = is_last ? HUSK_CAUSAL_BOTTOM_RIGHT : HUSK_CAUSAL_TOP_LEFT;
    c.mask = test_input_of(HUSK_F32, 2, (const int64_t[]){5, 40}, TEST_PACKED, 9, 1.0f);
    for (int64_t i = 0; i < 200; i++)
        if (i % 40 > i / 40 + (is_last ? 35 : 0))
            husk_ref_store(&c.mask.array, i, _i % 2 ? INFINITY : NAN);
    test_input_update(&c.mask);
    c.has_mask = true;
    run_all(&c);
    test_attention_release(&c);
}
END_TEST

// A row of the lowest finite numbers alone sees all keys alike; beside a key that is not masked they are not seen.
START_TEST(lowest_masks)
{
    const float lowest = _i ? -3e38f : -FLT_MAX;
    test_attention c = small();
    c.mask = test_input_of(HUSK_F32, 2, (const int64_t[]){5, 40}, TEST_PACKED, 9, 1.0f);
    for (int64_t i = 0; i < 200; i++)
        husk_ref_store(&c.mask.array, i, i / 40 == 2 || (i / 40 == 3 && i % 40 != 7) ? lowest : 0.0);
    test_input_update(&c.mask);
    c.has_mask = true;
    for (int v = 0; v < VARIANTS; v++) {
        test_tensor y = test_attention_output(&c, 2, 5, 20, false, 0);
        test_tensor sums = test_output(HUSK_F32, 3, (const int64_t[]){1, 2, 5}, TEST_PACKED);
        if (test_ran(call(&c, variants[v], &y, &sums), name, variants[v])) {
            test_fetch(&y);
            test_fetch(&sums);
            for (int64_t j = 0; j < 20; j++) {
                double mean = 0.0;
                for (int64_t key = 0; key < 40; key++)
                    mean += husk_ref_load(&c.v.array, key * 20 + j) / 40.0;
                ck_assert_double_eq_tol(husk_ref_load(&y.array, 2 * 20 + j), mean, 1e-5);
                ck_assert_double_eq_tol(husk_ref_load(&y.array, 3 * 20 + j), husk_ref_load(&c.v.array, 7 * 20 + j),
                                        1e-6);
            }
            ck_assert(fabs(husk_ref_load(&sums.array, 2) + 0x1p127) < 1e-5 * 0x1p127);
            ck_assert(fabs(husk_ref_load(&sums.array, 3)) < 1e4);
        }
        test_release(&y);
        test_release(&sums);
    }
    test_attention_release(&c);
}
END_TEST

// So does the reference: of finite numbers below -2^127 none is lower than the other.
START_TEST(lowest_masks_of_the_reference)
{
    float zeros[8] = {0}, values[] = {0.0f, 1.0f}, masks[] = {-FLT_MAX, -0x1p127f};
    double result = 0.0;
    const husk_ref_array q = husk_ref_array_make(zeros, HUSK_F32, 4, (const int64_t[]){1, 1, 1, 4});
    const husk_ref_array k = husk_ref_array_make(zeros, HUSK_F32, 4, (const int64_t[]){1, 1, 2, 4});
    const husk_ref_array v = husk_ref_array_make(values, HUSK_F32, 4, (const int64_t[]){1, 1, 2, 1});
    const husk_ref_array mask = husk_ref_array_make(masks, HUSK_F32, 1, (const int64_t[]){2});
    const husk_ref_array y = husk_ref_array_make(&result, HUSK_F64, 4, (const int64_t[]){1, 1, 1, 1});
    const husk_ref_attention op = {.q = &q, .k = &k, .v = &v, .mask = &mask};
    ck_assert(husk_ref_attention_run(&op, &y, NULL));
    ck_assert_double_eq_tol(result, 0.5, 1e-12);
}
END_TEST

// No query, no column, no batch: nothing happens. No column of q: all keys weigh the same.
START_TEST(nothing)
{
    husk_ref_random random = {.seed = 7};
    test_attention c = small();
    test_attention_release(&c);
    int64_t *const sizes[] = {&c.batch, &c.heads, &c.queries, &c.e, &c.d};
    *sizes[_i] = 0;
    c.kv_heads = c.heads ? 1 : 0;
    test_attention_fill(&c, &random, 3);
    if (_i >= 3) {
        run_all(&c);
    } else {
        test_tensor y = test_attention_output(&c, c.heads, c.queries, c.e, false, 0);
        for (int v = 0; v < VARIANTS; v++) {
            test_ran(call(&c, variants[v], &y, NULL), name, variants[v]);
            test_untouched(&y);
        }
        test_release(&y);
    }
    test_attention_release(&c);
}
END_TEST

// Of all weights dropped nothing is left, and the sums are as ever.
START_TEST(everything_dropped)
{
    test_attention c = small();
    c.params.dropout = 1.0f;
    husk_ref_attention op = test_attention_reference(&c);
    ck_assert(husk_ref_attention_prepare(&op));
    const husk_ref_function function = husk_ref_attention_log_sum_exp_function(&op);
    for (int v = 0; v < VARIANTS; v++) {
        test_tensor y = test_attention_output(&c, 2, 5, 20, false, 0);
        test_tensor sums = test_output(HUSK_F32, 3, (const int64_t[]){1, 2, 5}, TEST_PACKED);
        if (test_ran(call(&c, variants[v], &y, &sums), name, variants[v])) {
            husk_ref_report report = {0};
            test_fetch(&y);
            test_fetch(&sums);
            for (int64_t i = 0; i < 2 * 5 * 20; i++)
                ck_assert(husk_ref_load(&y.array, i) == 0.0);
            husk_ref_check(&function, 1, &sums.array, &report);
            test_accept(name, variants[v], "everything dropped", &report);
        }
        test_release(&y);
        test_release(&sums);
    }
    husk_ref_attention_release(&op);
    test_attention_release(&c);
}
END_TEST

START_TEST(the_same_bits)
{
    husk_ref_random random = {.seed = 7};
    test_attention c = {.batch = 2, .heads = 2, .kv_heads = 1, .queries = 200, .keys = 300, .d = 40, .e = 40};
    c.params = HUSK_ATTENTION_PARAMS(.dropout = 0.2f);
    test_attention_fill(&c, &random, 3);
    test_tensor y = test_attention_output(&c, 2, 200, 40, false, 0);
    const size_t bytes = (size_t)y.words * sizeof(uint32_t);
    uint32_t *first = malloc(bytes);
    ck_assert_ptr_nonnull(first);
    for (int run = 0; run < 10; run++) {
        test_restore(&y);
        test_ok(call(&c, NULL, &y, NULL));
        test_fetch(&y);
        if (run == 0)
            memcpy(first, y.current, bytes);
        ck_assert_msg(memcmp(first, y.current, bytes) == 0, "run %d has other bits", run);
    }
    free(first);
    test_release(&y);
    test_attention_release(&c);
}
END_TEST

// Work-groups of all ranges of the keys and of one each add up the same parts in the same order.
START_TEST(the_same_bits_by_ranges)
{
    static const int64_t rows[] = {1, 3, 8};
    husk_ref_random random = {.seed = 11};
    test_attention c = {.batch = 2, .heads = 4, .kv_heads = _i == 1 ? 4 : 2, .queries = rows[_i], .keys = 1800};
    c.d = c.e = 40;
    c.params = HUSK_ATTENTION_PARAMS(.causal = HUSK_CAUSAL_BOTTOM_RIGHT, .dropout = _i == 1 ? 0.2f : 0.0f);
    test_attention_fill(&c, &random, 3);
    test_tensor whole = test_attention_output(&c, 4, rows[_i], 40, false, 0);
    test_tensor split = test_attention_output(&c, 4, rows[_i], 40, false, 0);
    if (test_ran(call(&c, "ranges:whole", &whole, NULL), name, "ranges:whole") &&
        test_ran(call(&c, "ranges:split", &split, NULL), name, "ranges:split")) {
        test_fetch(&whole);
        test_fetch(&split);
        ck_assert(memcmp(whole.current, split.current, (size_t)whole.words * sizeof(uint32_t)) == 0);
    }
    test_release(&whole);
    test_release(&split);
    test_attention_release(&c);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    test_attention c = small();
    test_tensor y = test_attention_output(&c, 2, 5, 20, false, 0);
    test_ok(call(&c, NULL, &y, NULL));
    test_fetch(&y);
    husk_ref_attention op = test_attention_reference(&c);
    ck_assert(husk_ref_attention_prepare(&op));
    husk_ref_function function = husk_ref_attention_function(&op);
    test_planted(&function, &y.array, check, &op);
    test_planted_guards(&y);
    husk_ref_attention_release(&op);
    test_release(&y);
    test_attention_release(&c);
}
END_TEST

// NULL params are the defaults.
START_TEST(default_params)
{
    test_attention c = small();
    test_tensor y = test_attention_output(&c, 2, 5, 20, false, 0);
    test_ok(husk_attention(test_queue(), NULL, &c.q.tensor, &c.k.tensor, &c.v.tensor, NULL, &y.tensor, NULL));
    test_fetch(&y);
    husk_ref_attention op = test_attention_reference(&c);
    husk_ref_report report = {0};
    ck_assert(husk_ref_attention_prepare(&op));
    check(&op, &y.array, &report);
    test_accept(name, NULL, "defaults", &report);
    husk_ref_attention_release(&op);
    test_release(&y);
    test_attention_release(&c);
}
END_TEST

// ---- bad input ----

typedef struct given {
    husk_attention_params params;
    husk_tensor q, k, v, mask, y, sums;
    const husk_tensor *q_or, *k_or, *v_or, *mask_or, *y_or, *sums_or; // what is passed
} given;

START_TEST(bad_input)
{
    const int64_t sums_shape[] = {1, 2, 5}, mask_shape[] = {5, 40}, five[] = {1, 1, 1, 5, 40};
    test_attention c = small();
    test_tensor y = test_attention_output(&c, 2, 5, 20, false, 0);
    test_tensor sums = test_output(HUSK_F32, 3, sums_shape, TEST_PACKED);
    test_tensor mask = test_input(2, mask_shape, TEST_PACKED, 1, 1.0f);
    test_tensor wide = test_input(5, five, TEST_PACKED, 1, 1.0f);
    test_tensor whole = test_input_of(HUSK_I32, 2, mask_shape, TEST_PACKED, 1, 1.0f);
#define REFUSED(status, argument, ...) \
    do { \
        given g = {HUSK_ATTENTION_PARAMS(0), c.q.tensor, c.k.tensor, c.v.tensor, mask.tensor, y.tensor, sums.tensor, \
                   NULL, NULL, NULL, NULL, NULL, NULL}; \
        g.q_or = &g.q; \
        g.k_or = &g.k; \
        g.v_or = &g.v; \
        g.mask_or = &g.mask; \
        g.y_or = &g.y; \
        g.sums_or = &g.sums; \
        __VA_ARGS__; \
        test_refused(husk_attention(test_silent_queue(), &g.params, g.q_or, g.k_or, g.v_or, g.mask_or, g.y_or, \
                                    g.sums_or), \
                     HUSK_##status, argument); \
    } while (0)
    REFUSED(INVALID_ARGUMENT, "q", g.q_or = NULL);
    REFUSED(INVALID_ARGUMENT, "k", g.k_or = NULL);
    REFUSED(INVALID_ARGUMENT, "v", g.v_or = NULL);
    REFUSED(INVALID_ARGUMENT, "y", g.y_or = NULL);
    REFUSED(INVALID_ARGUMENT, "q", g.q.rank = 3);
    REFUSED(INVALID_ARGUMENT, "k", g.k.rank = 3);
    REFUSED(INVALID_ARGUMENT, "v", g.v.rank = 3);
    REFUSED(UNSUPPORTED, "q", g.q = whole.tensor);
    REFUSED(UNSUPPORTED, "k", g.k = whole.tensor);
    REFUSED(UNSUPPORTED, husk_context_has(test_context(), HUSK_FEATURE_F64) ? "k" : "q", g.q.dtype = HUSK_F64);
    REFUSED(UNSUPPORTED, "v", g.v.dtype = HUSK_F16);
    REFUSED(UNSUPPORTED, "y", g.y.dtype = HUSK_F16);
    REFUSED(UNSUPPORTED, "mask", g.mask = whole.tensor);
    REFUSED(UNSUPPORTED, "log_sum_exp", g.sums.dtype = HUSK_F16);
    REFUSED(INVALID_ARGUMENT, "k", g.k.shape[0] = 2);
    REFUSED(INVALID_ARGUMENT, "k", g.k.shape[1] = 3);
    REFUSED(INVALID_ARGUMENT, "k", g.k.shape[3] = 17);
    REFUSED(INVALID_ARGUMENT, "v", g.v.shape[2] = 39);
    REFUSED(INVALID_ARGUMENT, "mask", g.mask.shape[1] = 39);
    REFUSED(INVALID_ARGUMENT, "mask", g.mask = wide.tensor);
    REFUSED(INVALID_ARGUMENT, "y", g.y.shape[3] = 19);
    REFUSED(INVALID_ARGUMENT, "log_sum_exp", g.sums.shape[2] = 4);
    REFUSED(UNSUPPORTED, "q", g.q.shape[2] = 2; g.q.strides[0] = 500; g.q.strides[1] = 100; g.q.strides[2] = 40;
            g.q.strides[3] = 2);
    REFUSED(INVALID_ARGUMENT, "y", g.y.strides[0] = 100; g.y.strides[1] = 20; g.y.strides[2] = 10; g.y.strides[3] = 1);
    REFUSED(INVALID_ARGUMENT, "q", g.q.offset += 1);
    REFUSED(INVALID_ARGUMENT, "k", g.k.buffer = NULL);
    REFUSED(INVALID_ARGUMENT, "v", g.v.offset += 1);
    REFUSED(INVALID_ARGUMENT, "mask", g.mask.offset += 1);
    REFUSED(INVALID_ARGUMENT, "y", g.v = y.tensor; g.v.shape[1] = 1; g.v.shape[2] = g.k.shape[2] = 5; g.mask_or = NULL);
    REFUSED(INVALID_ARGUMENT, "log_sum_exp", g.mask = sums.tensor; g.mask.rank = 1; g.mask.shape[0] = 1);
    REFUSED(INVALID_ARGUMENT, "causal", g.params.causal = (husk_causal)3);
    REFUSED(INVALID_ARGUMENT, "scale", g.params.scale = INFINITY);
    REFUSED(INVALID_ARGUMENT, "dropout", g.params.dropout = 1.5f);
    REFUSED(INVALID_ARGUMENT, "dropout", g.params.dropout = NAN);
    REFUSED(INVALID_ARGUMENT, "accumulate", g.params.accumulate = 4);
    REFUSED(INVALID_ARGUMENT, "precision", g.params.precision = (husk_precision)4);
    REFUSED(INVALID_ARGUMENT, "blockss", g.params.variant = "blockss");
    REFUSED(INVALID_ARGUMENT, "params", g.params.size += 8);
    REFUSED(UNSUPPORTED, "columns", g.q.shape[3] = g.k.shape[3] = INT32_MAX / 4 + 1);
    REFUSED(UNSUPPORTED, "columns", g.v.shape[3] = g.y.shape[3] = INT32_MAX / 4 + 1);
    REFUSED(UNSUPPORTED, "heads", g.q.shape[1] = g.y.shape[1] = g.sums.shape[1] = INT32_MAX / 4 * 2);
    ck_assert_int_eq(husk_attention(NULL, NULL, &c.q.tensor, &c.k.tensor, &c.v.tensor, NULL, &y.tensor, NULL),
                     HUSK_INVALID_ARGUMENT);
    test_untouched(&y);
    test_untouched(&sums);
    test_release_all();
}
END_TEST

// Work-groups of a dimension, and work-items of the first, end before a driver's numbers do.
START_TEST(more_than_a_launch)
{
    static const struct {
        int64_t batch, columns;
        const char *variant, *reason;
    } calls[] = {{1, 1 << 22, "workgroup:8x8", "columns"},
                 {1, 1 << 22, "tiled:32x64", "columns"},
                 {1 << 26, 1, "workgroup:8x8", "work-items"}};
    const int64_t batch = calls[_i].batch, columns = calls[_i].columns;
    husk_buffer *buffer;
    husk_error error;
    test_without_guards(); // as much as a buffer may have on devices of the tier "devices"
    test_ok_error(husk_buffer_create(test_context(), (uint64_t)(batch * columns * 4), &buffer, &error), &error);
    husk_tensor q = husk_tensor_make(buffer, HUSK_F32, 4, (int64_t[]){batch, 1, 1, 1});
    husk_tensor v = husk_tensor_make(buffer, HUSK_F32, 4, (int64_t[]){batch, 1, 1, columns});
    husk_tensor y = v;
    const husk_attention_params params = HUSK_ATTENTION_PARAMS(.variant = calls[_i].variant);
    test_ok_error(husk_buffer_create(test_context(), (uint64_t)(batch * columns * 4), &y.buffer, &error), &error);
    test_refused(husk_attention(test_silent_queue(), &params, &q, &q, &v, NULL, &y, NULL), HUSK_UNSUPPORTED,
                 calls[_i].reason);
    husk_buffer_release(y.buffer);
    husk_buffer_release(buffer);
}
END_TEST

// The columns of q are summed in one work-group: however many there are, they make no launch larger.
START_TEST(more_columns_than_a_launch_has_blocks)
{
    husk_ref_random random = {.seed = 13};
    test_attention c = {.batch = 1, .heads = 1, .kv_heads = 1, .queries = 1, .keys = 2, .d = 1 << 22, .e = 1};
    c.params = HUSK_ATTENTION_PARAMS(.dropout = 0.0f);
    test_attention_fill(&c, &random, 3);
    test_tensor y = test_attention_output(&c, 1, 1, 1, false, 0);
    husk_ref_attention op = test_attention_reference(&c);
    ck_assert(husk_ref_attention_prepare(&op));
    husk_ref_report report = {0};
    const husk_status status = call(&c, "workgroup:16x16", &y, NULL);
    if (status == HUSK_UNSUPPORTED) { // by a device of small work-groups alone
        ck_assert_ptr_nonnull(strstr(husk_queue_error(test_queue())->text, "needs work-groups of 256"));
    } else {
        test_ok(status);
        test_fetch(&y);
        check(&op, &y.array, &report);
        test_accept(name, "workgroup:16x16", "2^22 columns", &report);
    }
    husk_ref_attention_release(&op);
    test_release(&y);
    test_attention_release(&c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("attention");
    TCase *tests = tcase_create("attention");
    tcase_add_loop_test(tests, options_and_layouts, 0, 6);
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, large, 0, 18);
    if (test_tier_is("dtypes"))
        return test_main(suite);
    tcase_add_loop_test(tests, the_same_bits_by_ranges, 0, 3);
    if (test_is_long())
        tcase_add_test(tests, many_heads);
    tcase_add_loop_test(tests, many_terms_of_one_sign, 0, 4);
    tcase_add_loop_test(tests, many_keys, 0, 2);
    tcase_add_loop_test(tests, many_keys_of_many_heads, 0, 2);
    tcase_add_loop_test(tests, special_values, 0, 6);
    tcase_add_loop_test(tests, rows_that_see_nothing, 0, 4);
    tcase_add_loop_test(tests, masks_of_unseen_keys, 0, 4);
    tcase_add_loop_test(tests, lowest_masks, 0, 2);
    tcase_add_test(tests, lowest_masks_of_the_reference);
    tcase_add_loop_test(tests, nothing, 0, 5);
    tcase_add_test(tests, everything_dropped);
    tcase_add_test(tests, the_same_bits);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, default_params);
    tcase_add_test(tests, bad_input);
    tcase_add_test(tests, more_columns_than_a_launch_has_blocks);
    tcase_add_loop_test(tests, more_than_a_launch, 0, 3); // the last one: without guards
    return test_main(suite);
}
