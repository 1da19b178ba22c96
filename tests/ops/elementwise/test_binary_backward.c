// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=180
// Gradients of two tensors element by element: finite differences; every kind and variant against the reference with
// every way of broadcasting; sums without terms; the same bits every time; bad input.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ref/elementwise/binary.h"
#include "support/support.h"

static const char *const variants[] = {NULL, "vector", "grid:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]), KINDS = HUSK_BINARY_POWER + 1 };
static const char name[] = "binary_backward";

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
    husk_ref_binary_run(((husk_ref_binary **)op)[0], ((husk_ref_array **)op)[1]);
}

static void move_into_domain(husk_binary_op op, const husk_ref_array *a, const husk_ref_array *b)
{
    double *of_a = a->data, *of_b = b->data;
    for (int64_t i = 0; i < husk_ref_array_count(a); i++)
        of_a[i] = op == HUSK_BINARY_POWER ? fabs(of_a[i]) + 0.5 : of_a[i];
    for (int64_t i = 0; i < husk_ref_array_count(b); i++) // no divisor near 0; irrational beside a's
        of_b[i] = fabs(of_b[i]) < 0.3 ? of_b[i] + 0.7317 : of_b[i];
}

START_TEST(differences)
{
    husk_ref_random random = {.seed = 5 + (uint64_t)_i};
    for (uint64_t seed = 1; seed <= 5; seed++) {
        husk_binary_params params =
            HUSK_MAKE(husk_binary_params, .op = (husk_binary_op)_i, .alpha = seed % 2 ? 1 : -1.5f, .beta = 0.75f);
        const shapes s = draw_shapes(&random, 9);
        husk_ref_array a = test_array(s.rank[0], s.shape[0], seed, 2.0);
        husk_ref_array b = test_array(s.rank[1], s.shape[1], seed + 40, 2.0);
        husk_ref_array y = test_array(s.rank[2], s.shape[2], 0, 0.0);
        husk_ref_array dy = test_array(s.rank[2], s.shape[2], seed + 80, 1.0);
        husk_ref_array da = test_array(s.rank[0], s.shape[0], 0, 0.0), db = test_array(s.rank[1], s.shape[1], 0, 0.0);
        move_into_domain(params.op, &a, &b);
        husk_ref_binary op = {.params = &params, .a = &a, .b = &b};
        void *user[] = {&op, &y};
        forward(user);
        husk_ref_binary_backward backward = {.params = &params, .a = &a, .b = &b, .dy = &dy, .gradient = &da};
        husk_ref_binary_backward_run(&backward, &da);
        backward.by_b = true;
        backward.gradient = &db;
        husk_ref_binary_backward_run(&backward, &db);
        // Which of two is larger is no question where one input is twice the other's size: one gradient is zero there.
        if (params.op != HUSK_BINARY_MAXIMUM && params.op != HUSK_BINARY_MINIMUM) {
            test_differences("binary_backward by a", forward, user, &a, &y, &dy, &da, seed);
            test_differences("binary_backward by b", forward, user, &b, &y, &dy, &db, seed);
        } else {
            ck_assert(fabs(test_dot(&a, &da) + test_dot(&b, &db) - test_dot(&y, &dy)) < 1e-9);
        }
        husk_ref_array *const all[] = {&a, &b, &y, &dy, &da, &db};
        for (int i = 0; i < 6; i++)
            test_array_release(all[i]);
    }
}
END_TEST

// ---- every variant ----

typedef struct tensors {
    test_tensor a, b, dy, da, db;
} tensors;

static void set(test_tensor *tensor, double (*change)(double))
{
    int64_t index[HUSK_MAX_RANK] = {0};
    if (husk_ref_array_count(&tensor->array) == 0)
        return;
    do {
        const int64_t offset = husk_ref_offset(&tensor->array, index);
        husk_ref_store(&tensor->array, offset, change(husk_ref_load(&tensor->array, offset)));
    } while (husk_ref_index_next(tensor->array.rank, tensor->array.shape, index));
    test_input_update(tensor);
}

static double to_divisor(double x)
{
    return x < 0 ? x - 0.25 : x + 0.25;
}

static double to_base(double x)
{
    return fabs(x) + 0.25;
}

static tensors make(husk_dtype dtype, husk_binary_op op, const shapes *s, const test_layout layouts[5], uint64_t seed)
{
    tensors t = {.a = test_input_of(dtype, s->rank[0], s->shape[0], layouts[0], seed, 2.0f),
                 .b = test_input_of(dtype, s->rank[1], s->shape[1], layouts[1], seed + 1, 2.0f),
                 .dy = test_input_of(dtype, s->rank[2], s->shape[2], layouts[2], seed + 2, 1.0f),
                 .da = test_inout_of(dtype, s->rank[0], s->shape[0], layouts[3], seed + 3, 1.0f),
                 .db = test_inout_of(dtype, s->rank[1], s->shape[1], layouts[4], seed + 4, 1.0f)};
    if (op == HUSK_BINARY_DIVIDE)
        set(&t.b, to_divisor);
    if (op == HUSK_BINARY_POWER)
        set(&t.a, to_base);
    if (op == HUSK_BINARY_MAXIMUM || op == HUSK_BINARY_MINIMUM) { // some are alike
        set(&t.a, rint);
        set(&t.b, rint);
    }
    return t;
}

static void release(tensors *t)
{
    test_tensor *const all[] = {&t->a, &t->b, &t->dy, &t->da, &t->db};
    for (int i = 0; i < 5; i++)
        test_release(all[i]);
}

static void check(void *user, const husk_ref_array *gradient, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_binary_backward_function(user);
    husk_ref_check(&function, 1, gradient, report);
}

static void check_one(const husk_binary_params *params, tensors *t, bool by_b, const char *text)
{
    test_tensor *gradient = by_b ? &t->db : &t->da;
    husk_ref_binary_backward op = {.params = params,
                                   .a = &t->a.array,
                                   .b = &t->b.array,
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
static void run_all(const husk_binary_params *options, tensors *t, int wanted)
{
    husk_binary_params params = *options;
    const bool reads = params.op > HUSK_BINARY_SUBTRACT;
    char text[160];
    snprintf(text, sizeof(text), "%s%s ranks %d %d, dy %lld", husk_binary_name(params.op),
             params.accumulate ? " accumulate" : "", (int)t->a.array.rank, (int)t->b.array.rank,
             (long long)husk_ref_array_count(&t->dy.array));
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_restore(&t->da);
        test_restore(&t->db);
        if (!test_ran(husk_binary_backward(test_queue(), &params, reads ? &t->a.tensor : NULL,
                                           reads ? &t->b.tensor : NULL, &t->dy.tensor,
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

START_TEST(kinds_and_broadcasts)
{
    husk_ref_random random = {.seed = 91 + (uint64_t)_i};
    const int64_t rounds = test_is_long() ? 80 : 18;
    for (int64_t round = 0; round < rounds; round++) {
        const shapes s = draw_shapes(&random, 300);
        husk_binary_params params = husk_binary_defaults((husk_binary_op)_i);
        if (test_one_in(&random, 2)) {
            params.alpha = -1.5f;
            params.beta = 0.75f;
        }
        if (test_one_in(&random, 3))
            params.accumulate = HUSK_ACCUMULATE_INPUTS;
        test_layout layouts[5];
        for (int i = 0; i < 5; i++)
            layouts[i] = test_pick_layout(&random);
        const husk_dtype dtype = test_tier_is("dtypes") ? test_dtype(round) : HUSK_F32;
        tensors t = make(dtype, params.op, &s, layouts, (uint64_t)round);
        run_all(&params, &t, (int)TEST_PICK(&random, 1, 2, 3, 3));
        release(&t);
    }
}
END_TEST

// Sums large enough to be divided: of everything, over rows, over columns, over the outside and the inside of channels;
// and more of them than a GPU's launch has work-groups.
START_TEST(large_sums)
{
    static const test_layout packed[5];
    static const shapes all[] = {
        {{2, 0, 2}, {{300, 1001}, {0}, {300, 1001}}},      {{2, 1, 2}, {{3001, 100}, {100}, {3001, 100}}},
        {{2, 2, 2}, {{20, 20011}, {20, 1}, {20, 20011}}},  {{4, 3, 4}, {{8, 5, 60, 61}, {5, 1, 1}, {8, 5, 60, 61}}},
        {{2, 1, 2}, {{100003, 3}, {3}, {100003, 3}}},      {{1, 2, 2}, {{700}, {300, 1}, {300, 700}}},
        {{2, 2, 2}, {{40009, 5}, {40009, 1}, {40009, 5}}},
    };
    husk_binary_params params = husk_binary_defaults(_i % 2 ? HUSK_BINARY_MULTIPLY : HUSK_BINARY_ADD);
    tensors t = make(HUSK_F32, params.op, &all[_i / 2], packed, 3);
    run_all(&params, &t, 3);
    release(&t);
}
END_TEST

static double to_tenth(double x)
{
    (void)x;
    return 0.1;
}

// Terms that are all alike: errors of one sign, in sums over rows, and in sums of elements of short rows.
START_TEST(many_terms_of_one_sign)
{
    static const test_layout packed[5];
    static const shapes all[] = {{{2, 1, 2}, {{16000, 2}, {2}, {16000, 2}}},
                                 {{3, 2, 3}, {{10900, 2, 3}, {2, 1}, {10900, 2, 3}}}};
    const husk_binary_params params = husk_binary_defaults(_i % 2 ? HUSK_BINARY_MULTIPLY : HUSK_BINARY_ADD);
    tensors t = make(HUSK_F32, params.op, &all[_i / 2], packed, 3);
    set(&t.a, to_tenth);
    set(&t.dy, to_tenth);
    run_all(&params, &t, 2);
    release(&t);
}
END_TEST

// A sum without terms is 0, or adds nothing.
START_TEST(nothing)
{
    static const test_layout packed[5];
    static const shapes all[] = {
        {{2, 1, 2}, {{0, 7}, {7}, {0, 7}}}, {{2, 0, 2}, {{7, 0}, {0}, {7, 0}}}, {{0, 0, 0}, {{0}, {0}, {0}}}};
    for (int i = 0; i < 3; i++)
        for (uint32_t accumulate = 0; accumulate < 2; accumulate++) {
            husk_binary_params params = HUSK_MAKE(husk_binary_params, .op = HUSK_BINARY_MULTIPLY,
                                                  .accumulate = accumulate, .alpha = 1, .beta = 1);
            tensors t = make(HUSK_F32, params.op, &all[i], packed, 9);
            run_all(&params, &t, 3);
            release(&t);
        }
}
END_TEST

START_TEST(special_values)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, 0.0, 1.0, -1.0, 2.0, 2.5, -3.0};
    enum { COUNT = sizeof(values) / sizeof(values[0]) };
    static const test_layout packed[5];
    static const shapes s = {{2, 2, 2}, {{COUNT, COUNT}, {COUNT, COUNT}, {COUNT, COUNT}}};
    husk_binary_params params = husk_binary_defaults((husk_binary_op)_i);
    tensors t = make(HUSK_F32, params.op, &s, packed, 7);
    for (int64_t i = 0; i < COUNT * COUNT; i++) {
        husk_ref_store(&t.a.array, i, values[i / COUNT]);
        husk_ref_store(&t.b.array, i, values[i % COUNT]);
    }
    test_input_update(&t.a);
    test_input_update(&t.b);
    run_all(&params, &t, 3);
    release(&t);
}
END_TEST

// Numbers whose quotient or power is out of range, where the gradient is not. wanted: 1 for a's gradient, 2 for b's.
START_TEST(ends_of_the_range)
{
    static const struct {
        husk_binary_op op;
        double a, b, dy;
        int wanted;
    } ends[] = {{HUSK_BINARY_DIVIDE, 1.0, 1e-20, 1e-5, 3}, {HUSK_BINARY_DIVIDE, 1.0, 1e-20, 0.0, 3},
                {HUSK_BINARY_DIVIDE, 1.0, 1e25, 1e20, 3},  {HUSK_BINARY_POWER, 3e38, 2.0, 1e-10, 1},
                {HUSK_BINARY_POWER, 3e38, 2.0, 0.0, 1},    {HUSK_BINARY_POWER, 3e38, 1.0, 1e-10, 3}};
    static const test_layout packed[5];
    static const shapes s = {{1, 1, 1}, {{40}, {40}, {40}}};
    husk_binary_params params = husk_binary_defaults(ends[_i].op);
    tensors t = make(HUSK_F32, params.op, &s, packed, 7);
    for (int64_t i = 0; i < 40; i++) {
        husk_ref_store(&t.a.array, i, ends[_i].a);
        husk_ref_store(&t.b.array, i, ends[_i].b);
        husk_ref_store(&t.dy.array, i, i % 2 ? ends[_i].dy : -ends[_i].dy);
    }
    test_input_update(&t.a);
    test_input_update(&t.b);
    test_input_update(&t.dy);
    run_all(&params, &t, ends[_i].wanted);
    release(&t);
}
END_TEST

// Of a large number's power what counts most is that b - 1 is rounded: here by 2^-23, which ln a = 39 makes 78 units of
// 2^-24.
START_TEST(rounded_exponent)
{
    static const test_layout packed[5];
    static const shapes s = {{1, 1, 1}, {{40}, {40}, {40}}};
    husk_binary_params params = husk_binary_defaults(HUSK_BINARY_POWER);
    tensors t = make(HUSK_F32, params.op, &s, packed, 7);
    for (int64_t i = 0; i < 40; i++) {
        husk_ref_store(&t.a.array, i, 1e17 * (1.0 + 0.01 * (double)i));
        husk_ref_store(&t.b.array, i, -1.1);
        husk_ref_store(&t.dy.array, i, i % 2 ? 1e30 : -1e30);
    }
    test_input_update(&t.a);
    test_input_update(&t.b);
    test_input_update(&t.dy);
    run_all(&params, &t, 1);
    release(&t);
}
END_TEST

START_TEST(the_same_bits)
{
    static const test_layout packed[5];
    static const shapes s = {{4, 3, 4}, {{8, 5, 60, 61}, {5, 1, 1}, {8, 5, 60, 61}}};
    husk_binary_params params = husk_binary_defaults(HUSK_BINARY_MULTIPLY);
    tensors t = make(HUSK_F32, params.op, &s, packed, 21);
    const size_t bytes = (size_t)t.db.words * sizeof(uint32_t);
    uint32_t *first = malloc(bytes);
    ck_assert_ptr_nonnull(first);
    for (int run = 0; run < 10; run++) {
        test_restore(&t.db);
        test_ok(
            husk_binary_backward(test_queue(), &params, &t.a.tensor, &t.b.tensor, &t.dy.tensor, NULL, &t.db.tensor));
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
    static const test_layout packed[5];
    static const shapes s = {{3, 2, 3}, {{7, 6, 50}, {6, 50}, {7, 6, 50}}};
    husk_binary_params params = husk_binary_defaults(HUSK_BINARY_MULTIPLY);
    tensors t = make(HUSK_F32, params.op, &s, packed, 15);
    test_ok(husk_binary_backward(test_queue(), &params, &t.a.tensor, &t.b.tensor, &t.dy.tensor, NULL, &t.db.tensor));
    test_fetch(&t.db);
    husk_ref_binary_backward op = {
        .params = &params, .a = &t.a.array, .b = &t.b.array, .dy = &t.dy.array, .gradient = &t.db.array, .by_b = true};
    husk_ref_function function = husk_ref_binary_backward_function(&op);
    test_planted(&function, &t.db.array, check, &op);
    test_planted_guards(&t.db);
    release(&t);
}
END_TEST

// ---- bad input ----

static void refuse(husk_status wanted, const char *argument, const husk_binary_params *params, const husk_tensor *a,
                   const husk_tensor *b, const husk_tensor *dy, const husk_tensor *da, const husk_tensor *db)
{
    test_refused(husk_binary_backward(test_silent_queue(), params, a, b, dy, da, db), wanted, argument);
}

START_TEST(bad_input)
{
    static const test_layout packed[5];
    static const shapes s = {{2, 1, 2}, {{4, 6}, {6}, {4, 6}}};
    const int64_t turned_shape[] = {6, 4};
    husk_binary_params params = husk_binary_defaults((husk_binary_op)13);
    tensors t = make(HUSK_F32, HUSK_BINARY_MULTIPLY, &s, packed, 17);
    test_tensor turned = test_output(HUSK_F32, 2, turned_shape, TEST_PACKED);
    test_tensor whole = test_output(HUSK_I32, 2, s.shape[0], TEST_PACKED);
    const husk_tensor *a = &t.a.tensor, *b = &t.b.tensor, *dy = &t.dy.tensor, *da = &t.da.tensor, *db = &t.db.tensor;
    refuse(HUSK_INVALID_ARGUMENT, "op", &params, a, b, dy, da, db);
    params = husk_binary_defaults(HUSK_BINARY_LESS);
    refuse(HUSK_INVALID_ARGUMENT, "less", &params, a, b, dy, da, db);
    params = HUSK_MAKE(husk_binary_params, .alpha = INFINITY, .beta = 1);
    refuse(HUSK_INVALID_ARGUMENT, "alpha", &params, a, b, dy, da, db);
    params = HUSK_MAKE(husk_binary_params, .accumulate = 4, .alpha = 1, .beta = 1);
    refuse(HUSK_INVALID_ARGUMENT, "accumulate", &params, a, b, dy, da, db);
    params = HUSK_MAKE(husk_binary_params, .variant = "gird", .alpha = 1, .beta = 1);
    refuse(HUSK_INVALID_ARGUMENT, "gird", &params, a, b, dy, da, db);
    params = husk_binary_defaults(HUSK_BINARY_MULTIPLY);
    refuse(HUSK_INVALID_ARGUMENT, "a", &params, NULL, b, dy, da, db);
    refuse(HUSK_INVALID_ARGUMENT, "b", &params, a, NULL, dy, da, db);
    refuse(HUSK_INVALID_ARGUMENT, "dy", &params, a, b, NULL, da, db);
    refuse(HUSK_INVALID_ARGUMENT, "da", &params, a, b, dy, NULL, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "a", &params, &turned.tensor, b, dy, da, db);
    refuse(HUSK_INVALID_ARGUMENT, "b", &params, a, &turned.tensor, dy, da, db);
    refuse(HUSK_INVALID_ARGUMENT, "da", &params, a, b, dy, &turned.tensor, db);
    refuse(HUSK_INVALID_ARGUMENT, "da", &params, a, b, dy, db, NULL); // b's shape
    refuse(HUSK_INVALID_ARGUMENT, "db", &params, a, b, dy, da, da);
    refuse(HUSK_UNSUPPORTED, "a", &params, &whole.tensor, b, dy, da, db);
    refuse(HUSK_UNSUPPORTED, "dy", &params, a, b, &whole.tensor, da, db);
    refuse(HUSK_UNSUPPORTED, "da", &params, a, b, dy, &whole.tensor, db);
    husk_tensor bad = *db;
    bad.buffer = NULL;
    refuse(HUSK_INVALID_ARGUMENT, "db", &params, a, b, dy, da, &bad);
    bad = *da;
    bad.strides[0] = 3;
    bad.strides[1] = 1;
    refuse(HUSK_INVALID_ARGUMENT, "da", &params, a, b, dy, &bad, db);
    refuse(HUSK_INVALID_ARGUMENT, "da", &params, a, b, dy, dy, db); // not in place
    refuse(HUSK_INVALID_ARGUMENT, "da", &params, a, b, dy, a, db);
    bad = *da;
    bad.rank = 1;
    bad.shape[0] = 6; // da's first row
    refuse(HUSK_INVALID_ARGUMENT, "da", &params, a, b, dy, da, &bad);
    ck_assert_int_eq(husk_binary_backward(NULL, NULL, a, b, dy, da, db), HUSK_INVALID_ARGUMENT);
    test_untouched(&t.da);
    test_untouched(&t.db);
    release(&t);
    test_release(&turned);
    test_release(&whole);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("binary_backward");
    TCase *tests = tcase_create("binary_backward");
    tcase_add_loop_test(tests, kinds_and_broadcasts, 0, KINDS);
    suite_add_tcase(suite, tests);
    if (test_tier_is("dtypes"))
        return test_main(suite);
    tcase_add_loop_test(tests, differences, 0, KINDS);
    tcase_add_loop_test(tests, large_sums, 0, 14);
    tcase_add_loop_test(tests, many_terms_of_one_sign, 0, 4);
    tcase_add_test(tests, nothing);
    tcase_add_loop_test(tests, special_values, 0, KINDS);
    tcase_add_loop_test(tests, ends_of_the_range, 0, 6);
    tcase_add_test(tests, rounded_exponent);
    tcase_add_test(tests, the_same_bits);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_input);
    return test_main(suite);
}
