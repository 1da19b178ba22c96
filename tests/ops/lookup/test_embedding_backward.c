// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=60
// The gradient of a table of embeddings: finite differences; every variant and layout against the reference; padding,
// frequencies, indices that name no row; the same bits every time and from every variant; bad input.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ref/lookup/embedding.h"
#include "ref/freivalds.h"
#include "support/support.h"

static const char *const variants[] = {NULL, "vector", "grid:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };
static const char name[] = "embedding_backward";

// ---- the reference is the gradient ----

static void forward(void *op)
{
    husk_ref_embedding_run(((husk_ref_embedding **)op)[0], ((husk_ref_array **)op)[1]);
}

START_TEST(differences)
{
    const int64_t table_shape[] = {6, 5}, shape[] = {4, 3, 5};
    int32_t values[12];
    husk_ref_random random = {.seed = (uint64_t)_i};
    for (int i = 0; i < 12; i++)
        values[i] = (int32_t)husk_ref_random_below(&random, 6);
    husk_ref_array indices = husk_ref_array_make(values, HUSK_I32, 2, shape);
    husk_ref_array table = test_array(2, table_shape, (uint64_t)_i, 2.0), dtable = test_array(2, table_shape, 0, 0.0);
    husk_ref_array y = test_array(3, shape, 0, 0.0), dy = test_array(3, shape, (uint64_t)_i + 50, 1.0);
    husk_ref_embedding op = {.table = &table, .indices = &indices};
    void *user[] = {&op, &y};
    forward(user);
    husk_ref_embedding_backward backward = {.indices = &indices, .dy = &dy, .rows = 6};
    husk_ref_embedding_backward_run(&backward, &dtable);
    test_differences(name, forward, user, &table, &y, &dy, &dtable, (uint64_t)_i);
    test_adjoint(name, &y, &dy, &table, &dtable);
    test_array_release(&table);
    test_array_release(&dtable);
    test_array_release(&y);
    test_array_release(&dy);
}
END_TEST

// ---- every variant ----

static void check(void *user, const husk_ref_array *dtable, husk_ref_report *report)
{
    husk_ref_embedding_backward_check(user, 1, dtable, report);
}

// In [first, first + limit), the lower ones more often where is_skewed.
static test_tensor make_indices(husk_dtype dtype, int32_t rank, const int64_t *shape, test_layout layout, int64_t first,
                                int64_t limit, bool is_skewed, uint64_t seed)
{
    test_tensor made = test_input_of(dtype, rank, shape, layout, seed, 1.0f);
    husk_ref_random random = {.seed = seed};
    int64_t index[HUSK_MAX_RANK] = {0};
    if (husk_ref_array_count(&made.array) == 0)
        return made;
    do {
        const int64_t below = is_skewed ? 1 + husk_ref_random_below(&random, limit) : limit;
        husk_ref_store(&made.array, husk_ref_offset(&made.array, index),
                       (double)(first + husk_ref_random_below(&random, below)));
    } while (husk_ref_index_next(rank, shape, index));
    test_input_update(&made);
    return made;
}

static void run_all(const husk_embedding_params *wanted, test_tensor *indices, test_tensor *dy, test_tensor *dtable)
{
    husk_embedding_params params = *wanted;
    husk_ref_embedding_backward op = {.params = &params,
                                      .indices = &indices->array,
                                      .dy = &dy->array,
                                      .before = &dtable->before,
                                      .rows = dtable->array.shape[0]};
    char text[160];
    snprintf(text, sizeof(text), "rows=%lld columns=%lld rank=%d %s%s%s%s", (long long)dtable->array.shape[0],
             (long long)dtable->array.shape[1], (int)indices->array.rank, husk_dtype_name(indices->array.dtype),
             params.accumulate ? " accumulate" : "", params.has_padding ? " padding" : "",
             params.scale_by_frequency ? " by frequency" : "");
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_restore(dtable);
        if (!test_ran(husk_embedding_backward(test_queue(), &params, &indices->tensor, &dy->tensor, &dtable->tensor),
                      name, variants[v]))
            continue;
        test_fetch(dtable);
        husk_ref_report report = {0};
        check(&op, &dtable->array, &report);
        test_accept(name, variants[v], text, &report);
    }
}

// In the tier "dtypes" the others in turns.
START_TEST(shapes_and_layouts)
{
    husk_ref_random random = {.seed = 71 + (uint64_t)_i};
    const int64_t rounds = test_is_long() ? 80 : 20;
    const bool is_narrow = test_tier_is("dtypes");
    for (int64_t round = 0; round < rounds; round++) {
        int64_t shape[HUSK_MAX_RANK];
        const int32_t rank = (int32_t)TEST_PICK(&random, 0, 1, 1, 2, 3, 4, 7);
        for (int32_t d = 0; d < rank; d++)
            shape[d] = test_pick_size(&random, 4, rank > 3 ? 3 : rank > 1 ? 9 : 100);
        const int64_t columns = shape[rank] = test_pick_size(&random, 16, 200);
        const int64_t table_shape[] = {test_pick_size(&random, 8, 60), columns};
        const husk_dtype dtype = is_narrow ? test_dtype(round) : HUSK_F32;
        const bool is_wild = test_one_in(&random, 5);
        test_tensor indices =
            make_indices(test_one_in(&random, 2) ? HUSK_I64 : HUSK_I32, rank, shape, test_pick_layout(&random),
                         is_wild ? -2 : 0, table_shape[0] + (is_wild ? 4 : 0), round % 3 == 0, (uint64_t)round + 1);
        test_tensor dy = test_input_of(dtype, rank + 1, shape, test_pick_layout(&random), (uint64_t)round, 2.0f);
        test_tensor dtable = test_inout_of(dtype, 2, table_shape, test_pick_layout(&random), (uint64_t)round, 2.0f);
        const bool has_padding = test_one_in(&random, 3);
        const husk_embedding_params params = HUSK_EMBEDDING_PARAMS(
                .has_padding = has_padding,
                .padding_index = has_padding ? husk_ref_random_below(&random, 2 * table_shape[0]) - table_shape[0] : 0,
                .scale_by_frequency = test_one_in(&random, 3),
                .accumulate = test_one_in(&random, 2) ? HUSK_ACCUMULATE_PARAMETERS : HUSK_ACCUMULATE_INPUTS);
        run_all(&params, &indices, &dy, &dtable);
        test_release(&indices);
        test_release(&dy);
        test_release(&dtable);
    }
}
END_TEST

// Several owners sort, several work-groups sum; most rows empty, or all lookups in few.
START_TEST(large)
{
    static const int64_t sizes[][3] = {{70001, 900, 17}, {700, 60000, 64}, {300, 3, 5000}}; // lookups, rows, columns
    const int64_t table_shape[] = {sizes[_i][1], sizes[_i][2]}, shape[] = {sizes[_i][0], sizes[_i][2]};
    const husk_embedding_params params = HUSK_EMBEDDING_PARAMS(.has_padding = 1, .padding_index = 0);
    test_tensor indices = make_indices(HUSK_I32, 1, shape, TEST_PACKED, 0, table_shape[0], true, 2);
    test_tensor dy = test_input(2, shape, TEST_PACKED, 1, 1.0f);
    test_tensor dtable = test_output(HUSK_F32, 2, table_shape, TEST_PACKED);
    run_all(&params, &indices, &dy, &dtable);
    test_release(&indices);
    test_release(&dy);
    test_release(&dtable);
}
END_TEST

// Rounding errors of one sign, in whole vectors, parts of them, and at other strides.
START_TEST(many_terms_of_one_sign)
{
    const int64_t lookups = 130000, columns = _i == 0 ? 1 : 70, table_shape[] = {2, columns};
    const int64_t shape[] = {_i == 0 ? 8 * lookups : lookups, columns};
    const husk_embedding_params params = HUSK_EMBEDDING_PARAMS(0);
    test_tensor indices = make_indices(HUSK_I32, 1, shape, TEST_PACKED, 1, 1, false, 2);
    test_tensor dy = test_input_alike(2, shape, _i == 2 ? TEST_REVERSED : TEST_PACKED, 0.1f);
    test_tensor dtable = test_output(HUSK_F32, 2, table_shape, TEST_PACKED);
    run_all(&params, &indices, &dy, &dtable);
    test_release(&indices);
    test_release(&dy);
    test_release(&dtable);
}
END_TEST

START_TEST(indices_that_name_no_row)
{
    static const int64_t wild[] = {0,         4,         -1,           5, INT32_MAX, INT32_MIN, INT64_MAX,
                                   INT64_MIN, 1LL << 32, -(1LL << 32), 3, 6};
    const int64_t table_shape[] = {5, 33}, shape[] = {12, 33};
    const husk_embedding_params params = HUSK_EMBEDDING_PARAMS(0);
    test_tensor indices = make_indices(HUSK_I64, 1, shape, TEST_PACKED, 0, 5, false, 2);
    test_tensor dy = test_input(2, shape, TEST_PACKED, 1, 1.0f);
    test_tensor dtable = test_output(HUSK_F32, 2, table_shape, TEST_PADDED);
    for (int i = 0; i < 12; i++)
        ((int64_t *)indices.array.data)[i] = wild[i];
    test_input_update(&indices);
    run_all(&params, &indices, &dy, &dtable);
    test_release(&indices);
    test_release(&dy);
    test_release(&dtable);
}
END_TEST

// NaN reaches the rows that it belongs to, and no other; not that of the padding.
START_TEST(special_values)
{
    const int64_t table_shape[] = {7, 19}, shape[] = {30, 19};
    const husk_embedding_params params =
        HUSK_EMBEDDING_PARAMS(.has_padding = 1, .padding_index = 2, .accumulate = (uint32_t)(2 * _i));
    test_tensor indices = make_indices(HUSK_I32, 1, shape, TEST_PACKED, 0, 7, false, 5);
    test_tensor dy = test_input(2, shape, TEST_PADDED, 1, 1.0f);
    test_tensor dtable = test_inout(2, table_shape, TEST_PACKED, 3, 1.0f);
    static const double values[] = {NAN, INFINITY, -INFINITY, 1e30};
    for (int64_t i = 0; i < 30; i++)
        husk_ref_store(&dy.array, husk_ref_offset(&dy.array, (int64_t[]){i, i % 19}), values[i % 4]);
    test_input_update(&dy);
    run_all(&params, &indices, &dy, &dtable);
    test_release(&indices);
    test_release(&dy);
    test_release(&dtable);
}
END_TEST

// Without lookups the gradient is zero, or what it was.
START_TEST(nothing)
{
    static const int64_t sizes[][3] = {{0, 5, 7}, {4, 5, 0}, {4, 0, 7}}; // lookups, rows, columns
    const int64_t table_shape[] = {sizes[_i][1], sizes[_i][2]}, shape[] = {sizes[_i][0], sizes[_i][2]};
    husk_embedding_params params = HUSK_EMBEDDING_PARAMS(0);
    test_tensor indices = make_indices(HUSK_I64, 1, shape, TEST_PACKED, 0, 3, false, 2);
    test_tensor dy = test_input(2, shape, TEST_PACKED, 1, 1.0f);
    test_tensor dtable = test_output(HUSK_F32, 2, table_shape, TEST_PACKED);
    run_all(&params, &indices, &dy, &dtable);
    params.accumulate = HUSK_ACCUMULATE_PARAMETERS;
    test_restore(&dtable);
    test_ok(husk_embedding_backward(test_queue(), &params, &indices.tensor, &dy.tensor, &dtable.tensor));
    if (_i == 0)
        test_untouched(&dtable);
    test_release(&indices);
    test_release(&dy);
    test_release(&dtable);
}
END_TEST

// A table without columns has no row that lookups have to be sorted for, however many there are.
START_TEST(many_rows_of_nothing)
{
    const int64_t shape[] = {2, 0};
    const husk_embedding_params params = HUSK_EMBEDDING_PARAMS(0);
    test_tensor indices = make_indices(HUSK_I64, 1, shape, TEST_PACKED, 0, 3, false, 2);
    test_tensor dy = test_input(2, shape, TEST_PACKED, 1, 1.0f);
    test_tensor dtable = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    husk_tensor table = dtable.tensor;
    table.shape[0] = INT64_C(1) << 40;
    test_ok(husk_embedding_backward(test_queue(), &params, &indices.tensor, &dy.tensor, &table));
    ck_assert_uint_eq(husk_plan_workspace(husk_queue_plan(test_queue())), 0);
    test_release(&indices);
    test_release(&dy);
    test_release(&dtable);
}
END_TEST

// Ten times, and by every variant, and in another layout of dy: every row is summed in one order.
START_TEST(the_same_bits)
{
    const int64_t table_shape[] = {50, 70}, shape[] = {40, 30, 70};
    husk_embedding_params params = HUSK_EMBEDDING_PARAMS(0);
    test_tensor indices = make_indices(HUSK_I32, 2, shape, TEST_PACKED, 0, 50, true, 2);
    test_tensor dy = test_input(3, shape, TEST_PACKED, 4, 1.0f), turned = test_input(3, shape, TEST_REVERSED, 4, 1.0f);
    test_tensor dtable = test_output(HUSK_F32, 2, table_shape, TEST_PACKED);
    const size_t bytes = (size_t)dtable.words * sizeof(uint32_t);
    uint32_t *first = malloc(bytes);
    ck_assert_ptr_nonnull(first);
    for (int run = 0; run < 10 + 2 * VARIANTS; run++) {
        const bool is_turned = run >= 10 && run % 2;
        params.variant = run < 10 ? NULL : variants[(run - 10) / 2];
        test_restore(&dtable);
        if (!test_ran(husk_embedding_backward(test_queue(), &params, &indices.tensor,
                                              is_turned ? &turned.tensor : &dy.tensor, &dtable.tensor),
                      name, params.variant))
            continue;
        test_fetch(&dtable);
        if (run == 0)
            memcpy(first, dtable.current, bytes);
        ck_assert_msg(memcmp(first, dtable.current, bytes) == 0, "run %d has other bits", run);
    }
    free(first);
    test_release(&indices);
    test_release(&dy);
    test_release(&turned);
    test_release(&dtable);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    const int64_t table_shape[] = {6, 20}, shape[] = {60, 20};
    const husk_embedding_params params = HUSK_EMBEDDING_PARAMS(0);
    test_tensor indices = make_indices(HUSK_I32, 1, shape, TEST_PACKED, 0, 6, false, 2);
    test_tensor dy = test_input(2, shape, TEST_PACKED, 1, 1.0f);
    test_tensor dtable = test_output(HUSK_F32, 2, table_shape, TEST_PADDED);
    test_ok(husk_embedding_backward(test_queue(), &params, &indices.tensor, &dy.tensor, &dtable.tensor));
    test_fetch(&dtable);
    husk_ref_embedding_backward op = {.indices = &indices.array, .dy = &dy.array, .rows = 6};
    husk_ref_function function = husk_ref_embedding_backward_function(&op);
    test_planted(&function, &dtable.array, check, &op);
    test_planted_guards(&dtable);
    test_release(&indices);
    test_release(&dy);
    test_release(&dtable);
}
END_TEST

// ---- bad input ----

static void refuse(husk_status wanted, const char *argument, const husk_embedding_params *params,
                   const husk_tensor *indices, const husk_tensor *dy, const husk_tensor *dtable)
{
    test_refused(husk_embedding_backward(test_silent_queue(), params, indices, dy, dtable), wanted, argument);
}

START_TEST(bad_input)
{
    const int64_t table_shape[] = {9, 6}, shape[] = {4, 6}, other[] = {6, 4};
    husk_embedding_params params = HUSK_EMBEDDING_PARAMS(0);
    test_tensor i = make_indices(HUSK_I32, 1, shape, TEST_PACKED, 0, 9, false, 2);
    test_tensor d = test_input(2, shape, TEST_PACKED, 1, 1.0f);
    test_tensor t = test_output(HUSK_F32, 2, table_shape, TEST_PACKED);
    test_tensor turned = test_input(2, other, TEST_PACKED, 3, 1.0f);
    test_tensor half = test_input_of(HUSK_F16, 2, shape, TEST_PACKED, 3, 1.0f);
    const husk_tensor *indices = &i.tensor, *dy = &d.tensor, *dtable = &t.tensor;
    refuse(HUSK_INVALID_ARGUMENT, "indices", &params, NULL, dy, dtable);
    refuse(HUSK_INVALID_ARGUMENT, "dy", &params, indices, NULL, dtable);
    refuse(HUSK_INVALID_ARGUMENT, "dtable", &params, indices, dy, NULL);
    refuse(HUSK_UNSUPPORTED, "indices", &params, dy, dy, dtable);
    refuse(HUSK_UNSUPPORTED, "dy", &params, indices, &half.tensor, dtable);
    refuse(HUSK_UNSUPPORTED, "dtable", &params, indices, dy, indices);
    refuse(HUSK_INVALID_ARGUMENT, "dy", &params, indices, &turned.tensor, dtable);
    husk_tensor bad = *dtable;
    bad.rank = 1;
    refuse(HUSK_INVALID_ARGUMENT, "dtable", &params, indices, dy, &bad);
    bad = *dtable;
    bad.strides[0] = 3; // rows of 6 elements 3 apart
    bad.strides[1] = 1;
    refuse(HUSK_INVALID_ARGUMENT, "dtable", &params, indices, dy, &bad);
    bad = *dtable;
    bad.buffer = NULL;
    refuse(HUSK_INVALID_ARGUMENT, "dtable", &params, indices, dy, &bad);
    bad = *dtable;
    bad.shape[0] = 4; // dy lies in dtable
    refuse(HUSK_INVALID_ARGUMENT, "dtable", &params, indices, &bad, dtable);
    bad = *dy;
    bad.offset += 4; // its end is past the buffer's
    refuse(HUSK_INVALID_ARGUMENT, "dy", &params, indices, &bad, dtable);
    bad = *indices;
    bad.offset += 1;
    refuse(HUSK_INVALID_ARGUMENT, "indices", &params, &bad, dy, dtable);
    params = HUSK_EMBEDDING_PARAMS(.has_padding = 1, .padding_index = 9);
    refuse(HUSK_INVALID_ARGUMENT, "padding_index", &params, indices, dy, dtable);
    params = HUSK_EMBEDDING_PARAMS(.has_padding = 2);
    refuse(HUSK_INVALID_ARGUMENT, "has_padding", &params, indices, dy, dtable);
    params = HUSK_EMBEDDING_PARAMS(.scale_by_frequency = 2);
    refuse(HUSK_INVALID_ARGUMENT, "scale_by_frequency", &params, indices, dy, dtable);
    params = HUSK_EMBEDDING_PARAMS(.accumulate = 4);
    refuse(HUSK_INVALID_ARGUMENT, "accumulate", &params, indices, dy, dtable);
    params = HUSK_EMBEDDING_PARAMS(.variant = "gridd");
    refuse(HUSK_INVALID_ARGUMENT, "gridd", &params, indices, dy, dtable);
    params = HUSK_EMBEDDING_PARAMS(0);
    params.size = sizeof(params) + 8;
    refuse(HUSK_INVALID_ARGUMENT, "params", &params, indices, dy, dtable);
    ck_assert_int_eq(husk_embedding_backward(NULL, NULL, indices, dy, dtable), HUSK_INVALID_ARGUMENT);
    test_untouched(&t);
    test_release_all();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("embedding_backward");
    TCase *tests = tcase_create("embedding_backward");
    tcase_add_loop_test(tests, shapes_and_layouts, 0, 3);
    suite_add_tcase(suite, tests);
    if (test_tier_is("dtypes"))
        return test_main(suite);
    tcase_add_loop_test(tests, differences, 0, 20);
    tcase_add_loop_test(tests, large, 0, 3);
    tcase_add_loop_test(tests, many_terms_of_one_sign, 0, 3);
    tcase_add_test(tests, indices_that_name_no_row);
    tcase_add_loop_test(tests, special_values, 0, 2);
    tcase_add_loop_test(tests, nothing, 0, 3);
    tcase_add_test(tests, many_rows_of_nothing);
    tcase_add_test(tests, the_same_bits);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_input);
    return test_main(suite);
}
