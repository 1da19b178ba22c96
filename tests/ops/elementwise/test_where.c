// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=60
// One of two tensors: every variant against the reference with every way of broadcasting, in every layout, with bytes
// and with numbers as the condition; special values; bad input.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ref/elementwise/where.h"
#include "support/support.h"

static const char *const variants[] = {NULL, "vector", "grid:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]), CONDITION = 0, A, B, INPUTS };

static void check(void *user, const husk_ref_array *y, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_where_function(user);
    husk_ref_check(&function, 1, y, report);
}

static void run_all(test_tensor inputs[INPUTS], test_tensor *y)
{
    husk_where_params params = HUSK_WHERE_PARAMS(0);
    husk_ref_where op = {&inputs[CONDITION].array, &inputs[A].array, &inputs[B].array};
    char text[160];
    snprintf(text, sizeof(text), "condition %s, ranks %d %d %d, y %lld", husk_dtype_name(op.condition->dtype),
             (int)op.condition->rank, (int)op.a->rank, (int)op.b->rank, (long long)husk_ref_array_count(&y->array));
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_restore(y);
        if (!test_ran(husk_where(test_queue(), &params, &inputs[CONDITION].tensor, &inputs[A].tensor, &inputs[B].tensor,
                                 &y->tensor),
                      "where", variants[v]))
            continue;
        test_fetch(y);
        husk_ref_report report = {0};
        check(&op, &y->array, &report);
        test_accept("where", variants[v], text, &report);
    }
}

// Half of it 0; other numbers than 1, too.
static void fill_condition(test_tensor *condition, uint64_t seed)
{
    static const double others[] = {1, 255, 128, 2};
    husk_ref_random random = {.seed = seed};
    int64_t index[HUSK_MAX_RANK] = {0};
    if (husk_ref_array_count(&condition->array) == 0)
        return;
    do {
        const double value = test_one_in(&random, 2) ? 0.0 : others[husk_ref_random_below(&random, 4)];
        husk_ref_store(&condition->array, husk_ref_offset(&condition->array, index), value);
    } while (husk_ref_index_next(condition->array.rank, condition->array.shape, index));
    test_input_update(condition);
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

START_TEST(broadcasts)
{
    husk_ref_random random = {.seed = 61 + (uint64_t)_i};
    const int64_t rounds = test_is_long() ? 120 : 25;
    const bool is_narrow = test_tier_is("dtypes");
    for (int64_t round = 0; round < rounds; round++) {
        int64_t shape[HUSK_MAX_RANK], own[INPUTS][HUSK_MAX_RANK], y_shape[HUSK_MAX_RANK];
        const int32_t rank = (int32_t)TEST_PICK(&random, 1, 2, 2, 3, 3, 4, 5, 8);
        int32_t ranks[INPUTS], y_rank = 0;
        for (int32_t d = 0; d < rank; d++)
            shape[d] = d + 1 < rank ? test_pick_size(&random, 4, rank > 4 ? 3 : 9)
                                    : test_pick_size(&random, 64, rank == 1 ? 5000 : 300);
        for (int i = 0; i < INPUTS; i++) {
            ranks[i] = draw_operand(&random, rank, shape, own[i]);
            y_rank = ranks[i] > y_rank ? ranks[i] : y_rank;
        }
        for (int32_t d = 0; d < y_rank; d++) {
            y_shape[d] = 1;
            for (int i = 0; i < INPUTS; i++)
                if (d >= y_rank - ranks[i] && own[i][d - y_rank + ranks[i]] != 1)
                    y_shape[d] = own[i][d - y_rank + ranks[i]];
        }
        const husk_dtype dtype = is_narrow || round % 6 == 5 ? test_dtype(round / 2) : HUSK_F32;
        test_tensor inputs[INPUTS];
        for (int i = 0; i < INPUTS; i++)
            inputs[i] = test_input_of(i == CONDITION && round % 2 == 0 ? HUSK_U8 : dtype, ranks[i], own[i],
                                      test_pick_layout(&random), (uint64_t)(round * 3 + i), i == CONDITION ? 0.5f : 3);
        fill_condition(&inputs[CONDITION], (uint64_t)round);
        test_tensor y = test_output(dtype, y_rank, y_shape, test_pick_layout(&random));
        run_all(inputs, &y);
        for (int i = 0; i < INPUTS; i++)
            test_release(&inputs[i]);
        test_release(&y);
    }
}
END_TEST

// Shares of work-groups and tails of vectors end somewhere; each input once a row, a column and a number.
START_TEST(sizes_around_the_shares)
{
    static const int64_t sizes[] = {1, 15, 16, 17, 63, 65, 255, 257, 16384, 65535, 65537, 300007};
    const int64_t size = sizes[_i], whole[] = {3, size}, row[] = {1, size}, column[] = {3, 1}, one[] = {1, 1};
    const int64_t *const shapes[] = {whole, row, column, one};
    test_tensor y = test_output(HUSK_F32, 2, whole, TEST_PACKED);
    for (int k = 0; k < 10; k++) {
        test_tensor inputs[INPUTS];
        for (int i = 0; i < INPUTS; i++)
            inputs[i] =
                test_input_of(i == CONDITION ? HUSK_U8 : HUSK_F32, 2, k < 9 && i == k % 3 ? shapes[1 + k / 3] : whole,
                              TEST_PACKED, 5 + (uint64_t)i, i == CONDITION ? 0.5f : 3);
        fill_condition(&inputs[CONDITION], (uint64_t)_i);
        run_all(inputs, &y);
        for (int i = 0; i < INPUTS; i++)
            test_release(&inputs[i]);
    }
    test_release(&y);
}
END_TEST

// Larger than the caches of most machines: stored past them.
START_TEST(large)
{
    const int64_t shape[] = {3, 2000017}, one[] = {1, 1};
    test_tensor inputs[INPUTS] = {test_input_of(HUSK_U8, 2, shape, TEST_PACKED, 1, 0.5f),
                                  test_input(2, shape, TEST_PACKED, 2, 4.0f), test_input(2, one, TEST_PACKED, 3, 4)};
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    fill_condition(&inputs[CONDITION], 5);
    run_all(inputs, &y);
    for (int i = 0; i < INPUTS; i++)
        test_release(&inputs[i]);
    test_release(&y);
}
END_TEST

// y is a, b, or the condition where that is of numbers.
START_TEST(in_place)
{
    static const test_layout layouts[] = {TEST_PACKED, TEST_PADDED, TEST_SPREAD, TEST_REVERSED};
    const int64_t shape[] = {5, 37, 11}, row[] = {1, 11};
    for (int v = 0; v < VARIANTS; v++) {
        for (int l = 0; l < 12; l++) {
            const husk_where_params params = HUSK_WHERE_PARAMS(.variant = variants[v]);
            test_tensor y = test_inout(3, shape, layouts[l % 4], 5, 3.0f);
            test_tensor others[INPUTS];
            const husk_tensor *tensors[INPUTS];
            const husk_ref_array *arrays[INPUTS];
            for (int i = 0; i < INPUTS; i++) {
                others[i] = test_input(l % 2 ? 2 : 3, l % 2 ? row : shape, TEST_PACKED, 6 + (uint64_t)i, 3.0f);
                if (i == CONDITION)
                    fill_condition(&others[i], 3);
                tensors[i] = i == l / 4 ? &y.tensor : &others[i].tensor;
                arrays[i] = i == l / 4 ? &y.before : &others[i].array;
            }
            husk_ref_where op = {arrays[CONDITION], arrays[A], arrays[B]};
            if (test_ran(husk_where(test_queue(), &params, tensors[CONDITION], tensors[A], tensors[B], &y.tensor),
                         "where", variants[v])) {
                test_fetch(&y);
                husk_ref_report report = {0};
                check(&op, &y.array, &report);
                test_accept("where", variants[v], "in place", &report);
            }
            for (int i = 0; i < INPUTS; i++)
                test_release(&others[i]);
            test_release(&y);
        }
    }
}
END_TEST

// Of conditions NaN is not 0, -0 is; what is chosen stays what it is, beside whatever is not chosen.
START_TEST(special_values)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1.0, -1e-30, 3.4e38};
    enum { COUNT = sizeof(values) / sizeof(values[0]) };
    const int64_t shape[] = {COUNT, COUNT}, column[] = {COUNT, 1}, row[] = {COUNT};
    test_tensor inputs[INPUTS] = {test_input(2, column, TEST_PACKED, 7, 2), test_input(1, row, TEST_PACKED, 8, 2),
                                  test_input(1, row, TEST_PACKED, 9, 2)};
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    for (int64_t i = 0; i < COUNT; i++) {
        husk_ref_store(&inputs[CONDITION].array, i, values[i]);
        husk_ref_store(&inputs[A].array, i, values[i]);
        husk_ref_store(&inputs[B].array, i, values[(i + 3) % COUNT]);
    }
    for (int i = 0; i < INPUTS; i++)
        test_input_update(&inputs[i]);
    run_all(inputs, &y);
    for (int i = 0; i < INPUTS; i++)
        test_release(&inputs[i]);
    test_release(&y);
}
END_TEST

START_TEST(scalar_and_nothing)
{
    static const int64_t empty[][2] = {{0, 7}, {7, 0}, {0, 0}};
    test_tensor inputs[INPUTS];
    for (int i = 0; i < INPUTS; i++)
        inputs[i] =
            test_input_of(i == CONDITION ? HUSK_U8 : HUSK_F32, 0, empty[0], TEST_PACKED, 9, i == CONDITION ? 0.5f : 2);
    test_tensor y = test_output(HUSK_F32, 0, empty[0], TEST_PACKED);
    run_all(inputs, &y);
    test_release(&y);
    for (int i = 0; i < 3; i++) {
        for (int v = 0; v < VARIANTS; v++) {
            const husk_where_params params = HUSK_WHERE_PARAMS(.variant = variants[v]);
            test_tensor none = test_input(2, empty[i], TEST_PACKED, 9, 2.0f);
            y = test_output(HUSK_F32, 2, empty[i], TEST_PACKED);
            test_ran(husk_where(test_queue(), &params, &inputs[CONDITION].tensor, &none.tensor, &inputs[B].tensor,
                                &y.tensor),
                     "where", variants[v]);
            test_untouched(&y);
            test_release(&none);
            test_release(&y);
        }
    }
    for (int i = 0; i < INPUTS; i++)
        test_release(&inputs[i]);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    const int64_t shape[] = {6, 50}, row[] = {50};
    test_tensor inputs[INPUTS] = {test_input_of(HUSK_U8, 2, shape, TEST_PACKED, 1, 0.5f),
                                  test_input(2, shape, TEST_PACKED, 15, 2.0f), test_input(1, row, TEST_PACKED, 16, 2)};
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PADDED);
    fill_condition(&inputs[CONDITION], 5);
    test_ok(husk_where(test_queue(), NULL, &inputs[CONDITION].tensor, &inputs[A].tensor, &inputs[B].tensor, &y.tensor));
    test_fetch(&y);
    husk_ref_where op = {&inputs[CONDITION].array, &inputs[A].array, &inputs[B].array};
    husk_ref_function function = husk_ref_where_function(&op);
    test_planted(&function, &y.array, check, &op);
    test_planted_guards(&y);
    for (int i = 0; i < INPUTS; i++)
        test_release(&inputs[i]);
    test_release(&y);
}
END_TEST

// ---- bad input ----

static void refuse(husk_status wanted, const char *argument, const husk_where_params *params,
                   const husk_tensor *condition, const husk_tensor *a, const husk_tensor *b, const husk_tensor *y)
{
    test_refused(husk_where(test_silent_queue(), params, condition, a, b, y), wanted, argument);
}

START_TEST(bad_input)
{
    const int64_t shape[] = {4, 6}, turned_shape[] = {6, 4}, row[] = {6};
    const husk_where_params grid = HUSK_WHERE_PARAMS(.variant = "grid:65");
    test_tensor tc = test_input_of(HUSK_U8, 2, shape, TEST_PACKED, 4, 0.5f);
    test_tensor ta = test_input(2, shape, TEST_PACKED, 17, 1.0f), tb = test_input(1, row, TEST_PACKED, 18, 1.0f);
    test_tensor ty = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    test_tensor turned = test_output(HUSK_F32, 2, turned_shape, TEST_PACKED);
    test_tensor whole = test_output(HUSK_I32, 2, shape, TEST_PACKED);
    test_tensor half = test_output(HUSK_F16, 2, shape, TEST_PACKED);
    const husk_tensor *c = &tc.tensor, *a = &ta.tensor, *b = &tb.tensor, *y = &ty.tensor;
    refuse(HUSK_INVALID_ARGUMENT, "grid:65", &grid, c, a, b, y);
    refuse(HUSK_INVALID_ARGUMENT, "condition", NULL, NULL, a, b, y);
    refuse(HUSK_INVALID_ARGUMENT, "a", NULL, c, NULL, b, y);
    refuse(HUSK_INVALID_ARGUMENT, "b", NULL, c, a, NULL, y);
    refuse(HUSK_INVALID_ARGUMENT, "y", NULL, c, a, b, NULL);
    refuse(HUSK_UNSUPPORTED, "condition", NULL, &whole.tensor, a, b, y);
    refuse(HUSK_UNSUPPORTED, "condition", NULL, &half.tensor, a, b, y);
    refuse(HUSK_UNSUPPORTED, "a", NULL, c, &whole.tensor, b, y);
    refuse(HUSK_UNSUPPORTED, "a", NULL, c, c, b, y);
    refuse(HUSK_UNSUPPORTED, "b", NULL, c, a, &half.tensor, y);
    refuse(HUSK_UNSUPPORTED, "y", NULL, c, a, b, &half.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "a", NULL, c, &turned.tensor, b, y);
    refuse(HUSK_INVALID_ARGUMENT, "b", NULL, c, a, &turned.tensor, y);
    refuse(HUSK_INVALID_ARGUMENT, "y", NULL, c, a, b, &turned.tensor);
    husk_tensor bad = *c;
    bad.offset += 4;
    refuse(HUSK_INVALID_ARGUMENT, "condition", NULL, &bad, a, b, y);
    bad = *a;
    bad.buffer = NULL;
    refuse(HUSK_INVALID_ARGUMENT, "a", NULL, c, &bad, b, y);
    bad = *y;
    bad.strides[0] = 3; // rows of 6 elements 3 apart
    bad.strides[1] = 1;
    refuse(HUSK_INVALID_ARGUMENT, "y", NULL, c, a, b, &bad);
    bad = *y;
    bad.offset += 2; // in place, but not quite
    refuse(HUSK_INVALID_ARGUMENT, "y", NULL, c, y, b, &bad);
    bad = *y;
    bad.dtype = HUSK_U8; // y's own bytes
    bad.offset *= 4;
    refuse(HUSK_INVALID_ARGUMENT, "y", NULL, &bad, a, b, y);
    ck_assert_int_eq(husk_where(NULL, NULL, c, a, b, y), HUSK_INVALID_ARGUMENT);
    test_untouched(&ty);
    test_tensor *const all[] = {&tc, &ta, &tb, &ty, &turned, &whole, &half};
    for (int i = 0; i < 7; i++)
        test_release(all[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("where");
    TCase *tests = tcase_create("where");
    tcase_add_loop_test(tests, broadcasts, 0, 4);
    suite_add_tcase(suite, tests);
    if (test_tier_is("dtypes"))
        return test_main(suite);
    tcase_add_loop_test(tests, sizes_around_the_shares, 0, 12);
    tcase_add_test(tests, large);
    tcase_add_test(tests, in_place);
    tcase_add_test(tests, special_values);
    tcase_add_test(tests, scalar_and_nothing);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_input);
    return test_main(suite);
}
