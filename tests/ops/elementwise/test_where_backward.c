// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=60
// Gradients of one of two tensors: finite differences; every variant against the reference with every way of
// broadcasting; sums without terms; the same bits every time; bad input.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ref/elementwise/where.h"
#include "support/support.h"

static const char *const variants[] = {NULL, "vector", "grid:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };
static const char name[] = "where_backward";

// ---- shapes ----

typedef struct shapes {
    int32_t rank[3];
    int64_t shape[3][HUSK_MAX_RANK]; // a, b, y
} shapes;

// y's shape with dimensions that became 1, less leading ones.
static int32_t draw_operand(husk_ref_random *random, int32_t rank, const int64_t *shape, int64_t own[HUSK_MAX_RANK])
{
    const int64_t kind = husk_ref_random_below(random, 4);
    int32_t drop = 0;
    memcpy(own, shape, (size_t)rank * sizeof(*own));
    if (kind == 0) // as it is
        return rank;
    for (int32_t d = 0; d < rank; d++)
        if (kind == 1 || test_one_in(random, 2))
            own[d] = 1;
    if (kind == 1 && rank > 0 && test_one_in(random, 2))
        own[rank - 1] = shape[rank - 1]; // a row
    while (drop < rank && own[drop] == 1 && test_one_in(random, 2))
        drop++;
    memmove(own, own + drop, (size_t)(rank - drop) * sizeof(*own));
    return rank - drop;
}

static shapes draw_shapes(husk_ref_random *random, int64_t limit)
{
    shapes s = {0};
    int64_t shape[HUSK_MAX_RANK];
    const int32_t rank = (int32_t)TEST_PICK(random, 1, 2, 2, 3, 3, 4, 5, 8);
    for (int32_t d = 0; d < rank; d++)
        shape[d] = d + 1 < rank ? test_pick_size(random, 4, rank > 4 ? 3 : 9)
                                : test_pick_size(random, 64, rank == 1 ? 10 * limit : limit);
    for (int i = 0; i < 2; i++)
        s.rank[i] = draw_operand(random, rank, shape, s.shape[i]);
    s.rank[2] = s.rank[0] > s.rank[1] ? s.rank[0] : s.rank[1];
    for (int32_t d = 0; d < s.rank[2]; d++) {
        const int32_t i = d - s.rank[2] + s.rank[0], k = d - s.rank[2] + s.rank[1];
        const int64_t of_a = i < 0 ? 1 : s.shape[0][i], of_b = k < 0 ? 1 : s.shape[1][k];
        s.shape[2][d] = of_a == 1 ? of_b : of_a;
    }
    return s;
}

// ---- the reference is the gradient ----

static void forward(void *op)
{
    husk_ref_where_run(((husk_ref_where **)op)[0], ((husk_ref_array **)op)[1]);
}

// Half of the condition, which has y's shape, is 0.
START_TEST(differences)
{
    husk_ref_random random = {.seed = 5};
    for (uint64_t seed = 1; seed <= 16; seed++) {
        const shapes s = draw_shapes(&random, 9);
        husk_ref_array condition = test_array(s.rank[2], s.shape[2], seed, 1.0);
        husk_ref_array a = test_array(s.rank[0], s.shape[0], seed + 20, 2.0);
        husk_ref_array b = test_array(s.rank[1], s.shape[1], seed + 40, 2.0);
        husk_ref_array y = test_array(s.rank[2], s.shape[2], 0, 0.0);
        husk_ref_array dy = test_array(s.rank[2], s.shape[2], seed + 80, 1.0);
        husk_ref_array da = test_array(s.rank[0], s.shape[0], 0, 0.0), db = test_array(s.rank[1], s.shape[1], 0, 0.0);
        for (int64_t i = 0; i < husk_ref_array_count(&condition); i++)
            ((double *)condition.data)[i] = i % 2 ? ((double *)condition.data)[i] : 0.0;
        husk_ref_where op = {.condition = &condition, .a = &a, .b = &b};
        void *user[] = {&op, &y};
        forward(user);
        husk_ref_where_backward backward = {.condition = &condition, .dy = &dy, .gradient = &da};
        husk_ref_where_backward_run(&backward, &da);
        backward.by_b = true;
        backward.gradient = &db;
        husk_ref_where_backward_run(&backward, &db);
        if (husk_ref_array_count(&y) > 1) { // of one element one gradient is 0
            test_differences("where_backward by a", forward, user, &a, &y, &dy, &da, seed);
            test_differences("where_backward by b", forward, user, &b, &y, &dy, &db, seed);
        }
        husk_ref_array *const all[] = {&condition, &a, &b, &y, &dy, &da, &db};
        for (int i = 0; i < 7; i++)
            test_array_release(all[i]);
    }
}
END_TEST

// ---- every variant ----

typedef struct tensors {
    test_tensor condition, dy, da, db;
} tensors;

// condition: 0 a's shape, 1 b's, 2 y's; a third of it is 0.
static tensors make(husk_dtype dtype, int condition, const shapes *s, const test_layout layouts[4], uint64_t seed)
{
    const husk_dtype own = seed % 2 == 0 ? HUSK_U8 : dtype;
    tensors t = {.condition = test_input_of(own, s->rank[condition], s->shape[condition], layouts[0], seed,
                                            own == HUSK_U8 ? 0.5f : 1.5f),
                 .dy = test_input_of(dtype, s->rank[2], s->shape[2], layouts[1], seed + 2, 1.0f),
                 .da = test_inout_of(dtype, s->rank[0], s->shape[0], layouts[2], seed + 3, 1.0f),
                 .db = test_inout_of(dtype, s->rank[1], s->shape[1], layouts[3], seed + 4, 1.0f)};
    int64_t index[HUSK_MAX_RANK] = {0};
    husk_ref_random random = {.seed = seed};
    if (husk_ref_array_count(&t.condition.array) > 0)
        do {
            const int64_t offset = husk_ref_offset(&t.condition.array, index);
            const double value = rint(husk_ref_load(&t.condition.array, offset));
            husk_ref_store(&t.condition.array, offset,
                           own == HUSK_U8 ? (double)husk_ref_random_below(&random, 3) : value);
        } while (husk_ref_index_next(t.condition.array.rank, t.condition.array.shape, index));
    test_input_update(&t.condition);
    return t;
}

static void release(tensors *t)
{
    test_tensor *const all[] = {&t->condition, &t->dy, &t->da, &t->db};
    for (int i = 0; i < 4; i++)
        test_release(all[i]);
}

static void check(void *user, const husk_ref_array *gradient, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_where_backward_function(user);
    husk_ref_check(&function, 1, gradient, report);
}

static void check_one(const husk_where_params *params, tensors *t, bool by_b, const char *text)
{
    test_tensor *gradient = by_b ? &t->db : &t->da;
    husk_ref_where_backward op = {.params = params,
                                  .condition = &t->condition.array,
                                  .dy = &t->dy.array,
                                  .gradient = &gradient->array,
                                  .before = &gradient->before,
                                  .by_b = by_b};
    husk_ref_report report = {0};
    test_fetch(gradient);
    check(&op, &gradient->array, &report);
    test_accept(name, params->variant, text, &report);
}

// wanted: 1 da, 2 db, 3 both
static void run_all(const husk_where_params *options, tensors *t, int wanted)
{
    husk_where_params params = *options;
    char text[160];
    snprintf(text, sizeof(text), "%s ranks %d %d %d, dy %lld", params.accumulate ? "accumulate" : "",
             (int)t->condition.array.rank, (int)t->da.array.rank, (int)t->db.array.rank,
             (long long)husk_ref_array_count(&t->dy.array));
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_restore(&t->da);
        test_restore(&t->db);
        if (!test_ran(husk_where_backward(test_queue(), &params, &t->condition.tensor, &t->dy.tensor,
                                          wanted & 1 ? &t->da.tensor : NULL, wanted & 2 ? &t->db.tensor : NULL),
                      name, variants[v]))
            continue;
        if (wanted & 1)
            check_one(&params, t, false, text);
        else
            test_untouched(&t->da);
        if (wanted & 2)
            check_one(&params, t, true, text);
        else
            test_untouched(&t->db);
    }
}

START_TEST(broadcasts)
{
    husk_ref_random random = {.seed = 91};
    const int64_t rounds = test_is_long() ? 400 : 110;
    for (int64_t round = 0; round < rounds; round++) {
        const shapes s = draw_shapes(&random, 300);
        husk_where_params params = HUSK_WHERE_PARAMS(0);
        if (test_one_in(&random, 3))
            params.accumulate = HUSK_ACCUMULATE_INPUTS;
        test_layout layouts[4];
        for (int i = 0; i < 4; i++)
            layouts[i] = test_pick_layout(&random);
        const bool is_narrow = test_tier_is("dtypes") || round % 6 == 5;
        const husk_dtype dtype = is_narrow ? test_dtype(round / 2) : HUSK_F32;
        tensors t = make(dtype, (int)(round % 3), &s, layouts, (uint64_t)round);
        run_all(&params, &t, (int)TEST_PICK(&random, 1, 2, 3, 3));
        release(&t);
    }
}
END_TEST

// Sums large enough to be divided: of everything, over rows, over columns, over the outside and the inside of channels.
START_TEST(large_sums)
{
    static const test_layout packed[4];
    static const shapes all[] = {
        {{2, 0, 2}, {{300, 1001}, {0}, {300, 1001}}},
        {{2, 1, 2}, {{3001, 100}, {100}, {3001, 100}}},
        {{2, 2, 2}, {{20, 20011}, {20, 1}, {20, 20011}}},
        {{4, 3, 4}, {{8, 5, 60, 61}, {5, 1, 1}, {8, 5, 60, 61}}},
    };
    const husk_where_params params = HUSK_WHERE_PARAMS(0);
    tensors t = make(HUSK_F32, 2, &all[_i], packed, 3 + (uint64_t)_i);
    run_all(&params, &t, 3);
    release(&t);
}
END_TEST

// Terms that are all alike, but for those that are b's: errors of one sign, in sums over rows, and in sums of elements
// of short rows.
START_TEST(many_terms_of_one_sign)
{
    static const test_layout packed[4];
    static const shapes all[] = {{{1, 2, 2}, {{2}, {16000, 2}, {16000, 2}}},
                                 {{2, 3, 3}, {{2, 1}, {10900, 2, 3}, {10900, 2, 3}}}};
    const husk_where_params params = HUSK_WHERE_PARAMS(0);
    tensors t = make(HUSK_F32, 2, &all[_i], packed, 4);
    test_release(&t.dy);
    t.dy = test_input_alike(all[_i].rank[2], all[_i].shape[2], TEST_PACKED, 0.1f);
    run_all(&params, &t, 1);
    release(&t);
}
END_TEST

// A sum without terms is 0, or adds nothing.
START_TEST(nothing)
{
    static const test_layout packed[4];
    static const shapes all[] = {
        {{2, 1, 2}, {{0, 7}, {7}, {0, 7}}}, {{2, 0, 2}, {{7, 0}, {0}, {7, 0}}}, {{0, 0, 0}, {{0}, {0}, {0}}}};
    for (int i = 0; i < 3; i++)
        for (uint32_t accumulate = 0; accumulate < 2; accumulate++) {
            const husk_where_params params = HUSK_WHERE_PARAMS(.accumulate = accumulate);
            tensors t = make(HUSK_F32, 2, &all[i], packed, 9);
            run_all(&params, &t, 3);
            release(&t);
        }
}
END_TEST

START_TEST(the_same_bits)
{
    static const test_layout packed[4];
    static const shapes s = {{4, 3, 4}, {{8, 5, 60, 61}, {5, 1, 1}, {8, 5, 60, 61}}};
    husk_where_params params = HUSK_WHERE_PARAMS(0);
    tensors t = make(HUSK_F32, 2, &s, packed, 21);
    const size_t bytes = (size_t)t.db.words * sizeof(uint32_t);
    uint32_t *first = malloc(bytes);
    ck_assert_ptr_nonnull(first);
    for (int run = 0; run < 10; run++) {
        test_restore(&t.db);
        test_ok(husk_where_backward(test_queue(), &params, &t.condition.tensor, &t.dy.tensor, NULL, &t.db.tensor));
        test_fetch(&t.db);
        if (run == 0)
            memcpy(first, t.db.current, bytes);
        ck_assert_msg(memcmp(first, t.db.current, bytes) == 0, "run %d has other bits", run);
    }
    free(first);
    release(&t);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    static const test_layout packed[4];
    static const shapes s = {{3, 2, 3}, {{7, 6, 50}, {6, 50}, {7, 6, 50}}};
    husk_where_params params = HUSK_WHERE_PARAMS(0);
    tensors t = make(HUSK_F32, 2, &s, packed, 15);
    test_ok(husk_where_backward(test_queue(), &params, &t.condition.tensor, &t.dy.tensor, NULL, &t.db.tensor));
    test_fetch(&t.db);
    husk_ref_where_backward op = {
        .params = &params, .condition = &t.condition.array, .dy = &t.dy.array, .gradient = &t.db.array, .by_b = true};
    husk_ref_function function = husk_ref_where_backward_function(&op);
    test_planted(&function, &t.db.array, check, &op);
    test_planted_guards(&t.db);
    release(&t);
}
END_TEST

// ---- bad input ----

static void refuse(husk_status wanted, const char *argument, const husk_where_params *params,
                   const husk_tensor *condition, const husk_tensor *dy, const husk_tensor *da, const husk_tensor *db)
{
    test_refused(husk_where_backward(test_silent_queue(), params, condition, dy, da, db), wanted, argument);
}

START_TEST(bad_input)
{
    static const test_layout packed[4];
    static const shapes s = {{2, 1, 2}, {{4, 6}, {6}, {4, 6}}};
    const int64_t turned_shape[] = {6, 4};
    husk_where_params params = HUSK_WHERE_PARAMS(.accumulate = 4);
    tensors t = make(HUSK_F32, 2, &s, packed, 17);
    test_tensor turned = test_output(HUSK_F32, 2, turned_shape, TEST_PACKED);
    test_tensor whole = test_output(HUSK_I32, 2, s.shape[0], TEST_PACKED);
    const husk_tensor *c = &t.condition.tensor, *dy = &t.dy.tensor, *da = &t.da.tensor, *db = &t.db.tensor;
    refuse(HUSK_INVALID_ARGUMENT, "accumulate", &params, c, dy, da, db);
    params = HUSK_WHERE_PARAMS(.variant = "gird");
    refuse(HUSK_INVALID_ARGUMENT, "gird", &params, c, dy, da, db);
    params = HUSK_WHERE_PARAMS(0);
    refuse(HUSK_INVALID_ARGUMENT, "condition", &params, NULL, dy, da, db);
    refuse(HUSK_INVALID_ARGUMENT, "dy", &params, c, NULL, da, db);
    refuse(HUSK_INVALID_ARGUMENT, "da", &params, c, dy, NULL, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "condition", &params, &turned.tensor, dy, da, db);
    refuse(HUSK_INVALID_ARGUMENT, "da", &params, c, dy, &turned.tensor, db);
    refuse(HUSK_INVALID_ARGUMENT, "db", &params, c, dy, da, &turned.tensor);
    refuse(HUSK_UNSUPPORTED, "condition", &params, &whole.tensor, dy, da, db);
    refuse(HUSK_UNSUPPORTED, "dy", &params, c, &whole.tensor, da, db);
    refuse(HUSK_UNSUPPORTED, "da", &params, c, dy, &whole.tensor, db);
    husk_tensor bad = *db;
    bad.buffer = NULL;
    refuse(HUSK_INVALID_ARGUMENT, "db", &params, c, dy, da, &bad);
    bad = *da;
    bad.strides[0] = 3;
    bad.strides[1] = 1;
    refuse(HUSK_INVALID_ARGUMENT, "da", &params, c, dy, &bad, db);
    refuse(HUSK_INVALID_ARGUMENT, "da", &params, c, dy, dy, db); // not in place
    refuse(HUSK_INVALID_ARGUMENT, "da", &params, c, dy, c, db);
    bad = *da;
    bad.rank = 1;
    bad.shape[0] = 6; // da's first row
    refuse(HUSK_INVALID_ARGUMENT, "da", &params, c, dy, da, &bad);
    ck_assert_int_eq(husk_where_backward(NULL, NULL, c, dy, da, db), HUSK_INVALID_ARGUMENT);
    test_untouched(&t.da);
    test_untouched(&t.db);
    release(&t);
    test_release(&turned);
    test_release(&whole);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("where_backward");
    TCase *tests = tcase_create("where_backward");
    tcase_add_test(tests, broadcasts);
    suite_add_tcase(suite, tests);
    if (test_tier_is("dtypes"))
        return test_main(suite);
    tcase_add_test(tests, differences);
    tcase_add_loop_test(tests, large_sums, 0, 4);
    tcase_add_loop_test(tests, many_terms_of_one_sign, 0, 2);
    tcase_add_test(tests, nothing);
    tcase_add_test(tests, the_same_bits);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_input);
    return test_main(suite);
}
