// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=60
// Two tensors element by element: every kind and variant against the reference, with every way of broadcasting and in
// every layout; special values; bad input.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ref/elementwise/binary.h"
#include "support/support.h"

static const char *const variants[] = {NULL, "vector", "grid:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]), KINDS = HUSK_BINARY_GREATER_EQUAL + 1 };

static void check(void *user, const husk_ref_array *y, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_binary_function(user);
    husk_ref_check(&function, 1, y, report);
}

static void describe(char text[200], const husk_binary_params *params, const test_tensor *a, const test_tensor *b)
{
    int used = snprintf(text, 200, "%s", husk_binary_name(params->op));
    const husk_ref_array *arrays[] = {&a->array, &b->array};
    for (int i = 0; i < 2; i++) {
        used += snprintf(text + used, (size_t)(200 - used), " [");
        for (int32_t d = 0; d < arrays[i]->rank && used < 180; d++)
            used += snprintf(text + used, (size_t)(200 - used), "%s%lld", d ? "x" : "", (long long)arrays[i]->shape[d]);
        used += snprintf(text + used, (size_t)(200 - used), "]");
    }
}

static void run_all(const husk_binary_params *wanted, test_tensor *a, test_tensor *b, test_tensor *y)
{
    husk_binary_params params = *wanted;
    husk_ref_binary op = {.params = &params, .a = &a->array, .b = &b->array};
    char text[200];
    describe(text, &params, a, b);
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_restore(y);
        if (!test_ran(husk_binary(test_queue(), &params, &a->tensor, &b->tensor, &y->tensor), "binary", variants[v]))
            continue;
        test_fetch(y);
        husk_ref_report report = {0};
        check(&op, &y->array, &report);
        test_accept("binary", variants[v], text, &report);
    }
}

// Exponents that are whole, since negative numbers have no other powers; some numbers alike, for comparisons.
static void shape_values(husk_binary_op op, test_tensor *b, bool is_whole)
{
    int64_t index[HUSK_MAX_RANK] = {0};
    if (husk_ref_array_count(&b->array) == 0 || (op != HUSK_BINARY_POWER && !is_whole))
        return;
    do {
        const int64_t offset = husk_ref_offset(&b->array, index);
        husk_ref_store(&b->array, offset, rint(husk_ref_load(&b->array, offset)));
    } while (husk_ref_index_next(b->array.rank, b->array.shape, index));
    test_input_update(b);
}

// A shape that broadcasts to y's: dimensions become 1, leading ones go.
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

static void draw_shape(husk_ref_random *random, int32_t *rank, int64_t shape[HUSK_MAX_RANK])
{
    *rank = (int32_t)TEST_PICK(random, 1, 2, 2, 3, 3, 4, 5, 8);
    for (int32_t d = 0; d < *rank; d++)
        shape[d] = d + 1 < *rank ? test_pick_size(random, 4, *rank > 4 ? 3 : 9)
                                 : test_pick_size(random, 64, *rank == 1 ? 5000 : 300);
}

// Where both are broadcast in a dimension, y has 1 there.
static void broadcast(int32_t rank, int64_t *shape, const test_tensor *a, const test_tensor *b)
{
    for (int32_t d = 0; d < rank; d++) {
        const int32_t i = d - rank + a->array.rank, k = d - rank + b->array.rank;
        if ((i < 0 || a->array.shape[i] == 1) && (k < 0 || b->array.shape[k] == 1))
            shape[d] = 1;
    }
}

START_TEST(kinds_and_broadcasts)
{
    husk_ref_random random = {.seed = 71 + (uint64_t)_i};
    const int64_t rounds = test_is_long() ? 80 : 14;
    const bool is_narrow = test_tier_is("dtypes");
    test_begin_draws();
    for (int64_t round = 0; round < rounds; round++) {
        int64_t shape[HUSK_MAX_RANK], a_shape[HUSK_MAX_RANK], b_shape[HUSK_MAX_RANK];
        int32_t rank;
        draw_shape(&random, &rank, shape);
        const int32_t a_rank = draw_operand(&random, rank, shape, a_shape);
        const int32_t b_rank = draw_operand(&random, rank, shape, b_shape);
        const int32_t y_rank = a_rank > b_rank ? a_rank : b_rank;
        husk_binary_params params = husk_binary_defaults((husk_binary_op)_i);
        if (test_one_in(&random, 2)) {
            params.alpha = -1.5f;
            params.beta = 0.75f;
        }
        const husk_dtype dtype = is_narrow ? test_dtype(round) : HUSK_F32;
        test_tensor a = test_input_of(dtype, a_rank, a_shape, test_pick_layout(&random), (uint64_t)round, 3.0f);
        test_tensor b = test_input_of(dtype, b_rank, b_shape, test_pick_layout(&random), (uint64_t)round + 9, 3.0f);
        shape_values(params.op, &a, params.op >= HUSK_BINARY_EQUAL);
        shape_values(params.op, &b, params.op >= HUSK_BINARY_EQUAL);
        broadcast(y_rank, shape + rank - y_rank, &a, &b);
        test_tensor y = test_output(dtype, y_rank, shape + rank - y_rank, test_pick_layout(&random));
        run_all(&params, &a, &b, &y);
        test_release(&a);
        test_release(&b);
        test_release(&y);
    }
    test_end_draws();
}
END_TEST

// Shares of work-groups and tails of vectors end somewhere: sizes around them, rows and columns too.
START_TEST(sizes_around_the_shares)
{
    static const int64_t sizes[] = {1, 15, 16, 17, 63, 64, 65, 255, 257, 16384, 65535, 65537, 300007};
    const int64_t shape[] = {3, sizes[_i]}, row[] = {sizes[_i]}, column[] = {3, 1};
    husk_binary_params params = husk_binary_defaults(HUSK_BINARY_SUBTRACT);
    test_tensor a = test_input(2, shape, TEST_PACKED, 3, 4.0f), y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    test_tensor b = test_input(2, shape, TEST_PACKED, 4, 4.0f), c = test_input(1, row, TEST_PACKED, 5, 4.0f);
    test_tensor d = test_input(2, column, TEST_PACKED, 6, 4.0f);
    run_all(&params, &a, &b, &y);
    run_all(&params, &a, &c, &y);
    run_all(&params, &a, &d, &y);
    run_all(&params, &c, &a, &y);
    run_all(&params, &d, &a, &y);
    run_all(&params, &d, &c, &y);
    test_release(&a);
    test_release(&b);
    test_release(&c);
    test_release(&d);
    test_release(&y);
}
END_TEST

// Larger than the caches of most machines: stored past them.
START_TEST(large)
{
    const int64_t shape[] = {3, 3000017}, column[] = {3, 1};
    husk_binary_params params = husk_binary_defaults(HUSK_BINARY_MULTIPLY);
    test_tensor a = test_input(2, shape, TEST_PACKED, 3, 4.0f), y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    test_tensor b = test_input(2, column, TEST_PACKED, 6, 4.0f);
    run_all(&params, &a, &b, &y);
    test_release(&a);
    test_release(&b);
    test_release(&y);
}
END_TEST

START_TEST(in_place)
{
    static const test_layout layouts[] = {TEST_PACKED, TEST_PADDED, TEST_SPREAD, TEST_REVERSED};
    const int64_t shape[] = {5, 37, 11}, row[] = {1, 11};
    for (int v = 0; v < VARIANTS; v++) {
        for (int l = 0; l < 12; l++) {
            husk_binary_params params =
                HUSK_MAKE(husk_binary_params, .op = (husk_binary_op)_i, .variant = variants[v], .alpha = 1, .beta = 1);
            const int who = l / 4; // y is a, b, or both
            test_tensor y = test_inout(3, shape, layouts[l % 4], 5, 3.0f);
            test_tensor other =
                l % 2 ? test_input(2, row, TEST_PACKED, 6, 3.0f) : test_input(3, shape, TEST_PACKED, 6, 3.0f);
            const husk_tensor *a = who != 1 ? &y.tensor : &other.tensor, *b = who != 0 ? &y.tensor : &other.tensor;
            husk_ref_binary op = {
                .params = &params, .a = who != 1 ? &y.before : &other.array, .b = who != 0 ? &y.before : &other.array};
            if (test_ran(husk_binary(test_queue(), &params, a, b, &y.tensor), "binary", variants[v])) {
                test_fetch(&y);
                husk_ref_report report = {0};
                check(&op, &y.array, &report);
                if (report.failures)
                    test_accept("binary", variants[v], "in place", &report);
            }
            test_release(&y);
            test_release(&other);
        }
    }
}
END_TEST

START_TEST(special_values)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, 0.0,   -0.0,   1.0, -1.0,
                                    2.5, -3.0,     1e30,      1e-30, 3.4e38, 7.0};
    enum { COUNT = sizeof(values) / sizeof(values[0]) };
    const int64_t shape[] = {COUNT, COUNT}, column[] = {COUNT, 1}, row[] = {COUNT};
    husk_binary_params params = husk_binary_defaults((husk_binary_op)_i);
    test_tensor a = test_input(2, column, TEST_PACKED, 7, 2.0f), b = test_input(1, row, TEST_PACKED, 8, 2.0f);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    for (int64_t i = 0; i < COUNT; i++) {
        husk_ref_store(&a.array, i, values[i]);
        husk_ref_store(&b.array, i, values[i]);
    }
    test_input_update(&a);
    test_input_update(&b);
    run_all(&params, &a, &b, &y);
    run_all(&params, &b, &a, &y);
    test_release(&a);
    test_release(&b);
    test_release(&y);
}
END_TEST

START_TEST(scalar_and_nothing)
{
    static const int64_t empty[][2] = {{0, 7}, {7, 0}, {0, 0}};
    husk_binary_params params = husk_binary_defaults(HUSK_BINARY_ADD);
    test_tensor a = test_input(0, empty[0], TEST_PACKED, 9, 2.0f), b = test_input(0, empty[0], TEST_PACKED, 8, 2.0f);
    test_tensor y = test_output(HUSK_F32, 0, empty[0], TEST_PACKED);
    run_all(&params, &a, &b, &y);
    test_release(&y);
    for (int i = 0; i < 3; i++) {
        for (int v = 0; v < VARIANTS; v++) {
            params.variant = variants[v];
            test_tensor none = test_input(2, empty[i], TEST_PACKED, 9, 2.0f);
            y = test_output(HUSK_F32, 2, empty[i], TEST_PACKED);
            test_ran(husk_binary(test_queue(), &params, &none.tensor, &b.tensor, &y.tensor), "binary", variants[v]);
            test_untouched(&y);
            test_release(&none);
            test_release(&y);
        }
    }
    test_release(&a);
    test_release(&b);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    const int64_t shape[] = {6, 50}, row[] = {50};
    husk_binary_params params = husk_binary_defaults(HUSK_BINARY_DIVIDE);
    test_tensor a = test_input(2, shape, TEST_PACKED, 15, 2.0f), b = test_input(1, row, TEST_PACKED, 16, 2.0f);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PADDED);
    test_ok(husk_binary(test_queue(), &params, &a.tensor, &b.tensor, &y.tensor));
    test_fetch(&y);
    husk_ref_binary op = {.params = &params, .a = &a.array, .b = &b.array};
    husk_ref_function function = husk_ref_binary_function(&op);
    test_planted(&function, &y.array, check, &op);
    test_planted_guards(&y);
    test_release(&a);
    test_release(&b);
    test_release(&y);
}
END_TEST

// ---- bad input ----

static void refuse(husk_status wanted, const char *argument, const husk_binary_params *params, const husk_tensor *a,
                   const husk_tensor *b, const husk_tensor *y)
{
    test_refused(husk_binary(test_silent_queue(), params, a, b, y), wanted, argument);
}

START_TEST(bad_input)
{
    const int64_t shape[] = {4, 6}, turned_shape[] = {6, 4}, row[] = {6}, column[] = {4, 1};
    husk_binary_params params = husk_binary_defaults((husk_binary_op)13);
    test_tensor ta = test_input(2, shape, TEST_PACKED, 17, 1.0f), tb = test_input(1, row, TEST_PACKED, 18, 1.0f);
    test_tensor ty = test_output(HUSK_F32, 2, shape, TEST_PACKED), tc = test_input(2, column, TEST_PACKED, 1, 1.0f);
    test_tensor turned = test_output(HUSK_F32, 2, turned_shape, TEST_PACKED);
    test_tensor whole = test_output(HUSK_I32, 2, shape, TEST_PACKED);
    const husk_tensor *a = &ta.tensor, *b = &tb.tensor, *y = &ty.tensor;
    refuse(HUSK_INVALID_ARGUMENT, "op", &params, a, b, y);
    params = HUSK_MAKE(husk_binary_params, .alpha = INFINITY, .beta = 1);
    refuse(HUSK_INVALID_ARGUMENT, "alpha", &params, a, b, y);
    params = HUSK_MAKE(husk_binary_params, .beta = NAN, .alpha = 1);
    refuse(HUSK_INVALID_ARGUMENT, "beta", &params, a, b, y);
    params = HUSK_MAKE(husk_binary_params, .variant = "grid:65", .alpha = 1, .beta = 1);
    refuse(HUSK_INVALID_ARGUMENT, "grid:65", &params, a, b, y);
    params = husk_binary_defaults(HUSK_BINARY_ADD);
    refuse(HUSK_INVALID_ARGUMENT, "a", &params, NULL, b, y);
    refuse(HUSK_INVALID_ARGUMENT, "b", &params, a, NULL, y);
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, a, b, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "b", &params, a, &turned.tensor, y);
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, a, b, &turned.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, b, b, y); // larger than both
    refuse(HUSK_UNSUPPORTED, "a", &params, &whole.tensor, b, y);
    refuse(HUSK_UNSUPPORTED, "b", &params, a, &whole.tensor, y);
    refuse(HUSK_UNSUPPORTED, "y", &params, a, b, &whole.tensor);
    husk_tensor bad = *b;
    bad.offset += 4;
    refuse(HUSK_INVALID_ARGUMENT, "b", &params, a, &bad, y);
    bad = *a;
    bad.buffer = NULL;
    refuse(HUSK_INVALID_ARGUMENT, "a", &params, &bad, b, y);
    bad = *y;
    bad.strides[0] = 3; // rows of 6 elements 3 apart
    bad.strides[1] = 1;
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, a, b, &bad);
    bad = *y;
    bad.offset += 2; // in place, but not quite
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, y, b, &bad);
    bad = *y;
    bad.shape[0] = 1; // y's first row, broadcast over y
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, a, &bad, y);
    ck_assert_int_eq(husk_binary(NULL, NULL, a, b, y), HUSK_INVALID_ARGUMENT);
    test_untouched(&ty);
    test_release(&ta);
    test_release(&tb);
    test_release(&tc);
    test_release(&ty);
    test_release(&turned);
    test_release(&whole);
}
END_TEST

START_TEST(names)
{
    ck_assert_str_eq(husk_binary_name(HUSK_BINARY_ADD), "add");
    ck_assert_str_eq(husk_binary_name(HUSK_BINARY_GREATER_EQUAL), "greater_equal");
    ck_assert_str_eq(husk_binary_name((husk_binary_op)13), "unknown");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("binary");
    TCase *tests = tcase_create("binary");
    tcase_add_loop_test(tests, kinds_and_broadcasts, 0, KINDS);
    suite_add_tcase(suite, tests);
    if (test_tier_is("dtypes"))
        return test_main(suite);
    tcase_add_loop_test(tests, sizes_around_the_shares, 0, 13);
    tcase_add_test(tests, large);
    tcase_add_loop_test(tests, in_place, 0, KINDS);
    tcase_add_loop_test(tests, special_values, 0, KINDS);
    tcase_add_test(tests, scalar_and_nothing);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_input);
    tcase_add_test(tests, names);
    return test_main(suite);
}
