// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=60
// Rows of a table: every variant and layout against the reference; indices that name no row; bad input.
#include <math.h>
#include <stdio.h>

#include "ref/lookup/embedding.h"
#include "support/support.h"

static const char *const variants[] = {NULL, "vector", "grid:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };
static const char name[] = "embedding";

static void check(void *user, const husk_ref_array *y, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_embedding_function(user);
    husk_ref_check(&function, 1, y, report);
}

// Of this dtype, in [first, first + limit).
static test_tensor make_indices(husk_dtype dtype, int32_t rank, const int64_t *shape, test_layout layout, int64_t first,
                                int64_t limit, uint64_t seed)
{
    test_tensor made = test_input_of(dtype, rank, shape, layout, seed, 1.0f);
    husk_ref_random random = {.seed = seed};
    int64_t index[HUSK_MAX_RANK] = {0};
    if (husk_ref_array_count(&made.array) == 0)
        return made;
    do
        husk_ref_store(&made.array, husk_ref_offset(&made.array, index),
                       (double)(first + husk_ref_random_below(&random, limit)));
    while (husk_ref_index_next(rank, shape, index));
    test_input_update(&made);
    return made;
}

static void run_all(const husk_embedding_params *wanted, test_tensor *table, test_tensor *indices, test_tensor *y)
{
    husk_embedding_params params = *wanted;
    husk_ref_embedding op = {.params = &params, .table = &table->array, .indices = &indices->array};
    char text[160];
    snprintf(text, sizeof(text), "rows=%lld columns=%lld rank=%d %s", (long long)table->array.shape[0],
             (long long)table->array.shape[1], (int)indices->array.rank, husk_dtype_name(indices->array.dtype));
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_restore(y);
        if (!test_ran(husk_embedding(test_queue(), &params, &table->tensor, &indices->tensor, &y->tensor), name,
                      variants[v]))
            continue;
        test_fetch(y);
        husk_ref_report report = {0};
        check(&op, &y->array, &report);
        test_accept(name, variants[v], text, &report);
    }
}

// A fifth of all has indices that name no row. In the tier "dtypes" the others in turns.
START_TEST(shapes_and_layouts)
{
    husk_ref_random random = {.seed = 61 + (uint64_t)_i};
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
        test_tensor table = test_input_of(dtype, 2, table_shape, test_pick_layout(&random), (uint64_t)round, 8.0f);
        test_tensor indices =
            make_indices(test_one_in(&random, 2) ? HUSK_I64 : HUSK_I32, rank, shape, test_pick_layout(&random),
                         is_wild ? -2 : 0, table_shape[0] + (is_wild ? 4 : 0), (uint64_t)round + 1);
        test_tensor y = test_output(dtype, rank + 1, shape, test_pick_layout(&random));
        const husk_embedding_params params =
            HUSK_EMBEDDING_PARAMS(.has_padding = (uint32_t)(round % 2),
                                  .padding_index = round % 2 * husk_ref_random_below(&random, table_shape[0]));
        run_all(&params, &table, &indices, &y);
        test_release(&table);
        test_release(&indices);
        test_release(&y);
    }
}
END_TEST

// Larger than the caches of most machines, and rows longer than a work-group takes.
START_TEST(large)
{
    static const int64_t sizes[][3] = {{20011, 300, 517}, {3, 5, 200003}}; // lookups, rows, columns
    const int64_t table_shape[] = {sizes[_i][1], sizes[_i][2]}, shape[] = {sizes[_i][0], sizes[_i][2]};
    const husk_embedding_params params = HUSK_EMBEDDING_PARAMS(0);
    test_tensor table = test_input(2, table_shape, TEST_PACKED, 1, 1.0f);
    test_tensor indices = make_indices(HUSK_I32, 1, shape, TEST_PACKED, 0, table_shape[0], 2);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    run_all(&params, &table, &indices, &y);
    test_release(&table);
    test_release(&indices);
    test_release(&y);
}
END_TEST

// No such index reads anything; whatever its size. The table lies at its buffer's end.
START_TEST(indices_that_name_no_row)
{
    static const int64_t wild[] = {0,         4,         -1,           5, INT32_MAX, INT32_MIN, INT64_MAX,
                                   INT64_MIN, 1LL << 32, -(1LL << 32), 3, 6};
    const int64_t table_shape[] = {5, 33}, shape[] = {12, 33};
    const husk_embedding_params params = HUSK_EMBEDDING_PARAMS(0);
    test_tensor table = test_input(2, table_shape, TEST_PACKED, 1, 1.0f);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PADDED);
    for (int is_long = 0; is_long < 2; is_long++) {
        test_tensor indices = make_indices(is_long ? HUSK_I64 : HUSK_I32, 1, shape, TEST_PACKED, 0, 5, 2);
        for (int i = 0; i < 12; i++)
            if (is_long)
                ((int64_t *)indices.array.data)[i] = wild[i];
            else if (wild[i] >= INT32_MIN && wild[i] <= INT32_MAX)
                ((int32_t *)indices.array.data)[i] = (int32_t)wild[i];
        test_input_update(&indices);
        run_all(&params, &table, &indices, &y);
        test_release(&indices);
    }
    test_release(&table);
    test_release(&y);
}
END_TEST

START_TEST(nothing)
{
    static const int64_t sizes[][3] = {{0, 5, 7}, {4, 5, 0}, {4, 0, 7}}; // lookups, rows, columns
    const int64_t table_shape[] = {sizes[_i][1], sizes[_i][2]}, shape[] = {sizes[_i][0], sizes[_i][2]};
    husk_embedding_params params = HUSK_EMBEDDING_PARAMS(0);
    test_tensor table = test_input(2, table_shape, TEST_PACKED, 1, 1.0f);
    test_tensor indices = make_indices(HUSK_I64, 1, shape, TEST_PACKED, 0, 3, 2);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    if (_i == 2) { // a table of no rows: NaN
        run_all(&params, &table, &indices, &y);
    } else {
        for (int v = 0; v < VARIANTS; v++) {
            params.variant = variants[v];
            test_ran(husk_embedding(test_queue(), &params, &table.tensor, &indices.tensor, &y.tensor), name,
                     variants[v]);
            test_untouched(&y);
        }
    }
    test_release(&table);
    test_release(&indices);
    test_release(&y);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    const int64_t table_shape[] = {9, 20}, shape[] = {5, 20};
    const husk_embedding_params params = HUSK_EMBEDDING_PARAMS(0);
    test_tensor table = test_input(2, table_shape, TEST_PACKED, 1, 1.0f);
    test_tensor indices = make_indices(HUSK_I32, 1, shape, TEST_PACKED, 0, 9, 2);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PADDED);
    test_ok(husk_embedding(test_queue(), &params, &table.tensor, &indices.tensor, &y.tensor));
    test_fetch(&y);
    husk_ref_embedding op = {.table = &table.array, .indices = &indices.array};
    husk_ref_function function = husk_ref_embedding_function(&op);
    test_planted(&function, &y.array, check, &op);
    test_planted_guards(&y);
    test_release(&table);
    test_release(&indices);
    test_release(&y);
}
END_TEST

// ---- bad input ----

static void refuse(husk_status wanted, const char *argument, const husk_embedding_params *params,
                   const husk_tensor *table, const husk_tensor *indices, const husk_tensor *y)
{
    test_refused(husk_embedding(test_silent_queue(), params, table, indices, y), wanted, argument);
}

START_TEST(bad_input)
{
    const int64_t table_shape[] = {9, 6}, shape[] = {4, 6}, other[] = {6, 4}, high[] = {1, 1, 1, 1, 1, 1, 1, 6};
    husk_embedding_params params = HUSK_EMBEDDING_PARAMS(0);
    test_tensor t = test_input(2, table_shape, TEST_PACKED, 1, 1.0f);
    test_tensor i = make_indices(HUSK_I32, 1, shape, TEST_PACKED, 0, 9, 2);
    test_tensor i8 = make_indices(HUSK_I32, 8, high, TEST_PACKED, 0, 9, 2);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    test_tensor turned = test_output(HUSK_F32, 2, other, TEST_PACKED);
    test_tensor half = test_output(HUSK_F16, 2, shape, TEST_PACKED);
    const husk_tensor *table = &t.tensor, *indices = &i.tensor;
    refuse(HUSK_INVALID_ARGUMENT, "table", &params, NULL, indices, &y.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "indices", &params, table, NULL, &y.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, table, indices, NULL);
    refuse(HUSK_UNSUPPORTED, "table", &params, indices, indices, &y.tensor);
    refuse(HUSK_UNSUPPORTED, "indices", &params, table, table, &y.tensor);
    refuse(HUSK_UNSUPPORTED, "y", &params, table, indices, &half.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, table, indices, &turned.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "indices", &params, table, &i8.tensor, &y.tensor);
    husk_tensor bad = *table;
    bad.rank = 1;
    refuse(HUSK_INVALID_ARGUMENT, "table", &params, &bad, indices, &y.tensor);
    bad = *table;
    bad.offset += 4; // its end is past the buffer's
    refuse(HUSK_INVALID_ARGUMENT, "table", &params, &bad, indices, &y.tensor);
    bad = *indices;
    bad.offset += 1;
    refuse(HUSK_INVALID_ARGUMENT, "indices", &params, table, &bad, &y.tensor);
    bad = y.tensor;
    bad.buffer = NULL;
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, table, indices, &bad);
    bad = y.tensor;
    bad.strides[0] = 3; // rows of 6 elements 3 apart
    bad.strides[1] = 1;
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, table, indices, &bad);
    bad = *table;
    bad.shape[0] = 4; // y lies in the table
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, table, indices, &bad);
    params = HUSK_EMBEDDING_PARAMS(.has_padding = 1, .padding_index = 9);
    refuse(HUSK_INVALID_ARGUMENT, "padding_index", &params, table, indices, &y.tensor);
    params = HUSK_EMBEDDING_PARAMS(.has_padding = 1, .padding_index = -10);
    refuse(HUSK_INVALID_ARGUMENT, "padding_index", &params, table, indices, &y.tensor);
    params = HUSK_EMBEDDING_PARAMS(.padding_index = 3);
    refuse(HUSK_INVALID_ARGUMENT, "padding_index is 3, but has_padding is 0", &params, table, indices, &y.tensor);
    params = HUSK_EMBEDDING_PARAMS(.has_padding = 2);
    refuse(HUSK_INVALID_ARGUMENT, "has_padding", &params, table, indices, &y.tensor);
    params = HUSK_EMBEDDING_PARAMS(.scale_by_frequency = 2);
    refuse(HUSK_INVALID_ARGUMENT, "scale_by_frequency", &params, table, indices, &y.tensor);
    params = HUSK_EMBEDDING_PARAMS(.accumulate = 4);
    refuse(HUSK_INVALID_ARGUMENT, "accumulate", &params, table, indices, &y.tensor);
    params = HUSK_EMBEDDING_PARAMS(.variant = "vectorr");
    refuse(HUSK_INVALID_ARGUMENT, "vectorr", &params, table, indices, &y.tensor);
    params = HUSK_EMBEDDING_PARAMS(0);
    params.size = sizeof(params) + 8;
    refuse(HUSK_INVALID_ARGUMENT, "params", &params, table, indices, &y.tensor);
    ck_assert_int_eq(husk_embedding(NULL, NULL, table, indices, &y.tensor), HUSK_INVALID_ARGUMENT);
    test_untouched(&y);
    test_release_all();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("embedding");
    TCase *tests = tcase_create("embedding");
    tcase_add_loop_test(tests, shapes_and_layouts, 0, 3);
    suite_add_tcase(suite, tests);
    if (test_tier_is("dtypes"))
        return test_main(suite);
    tcase_add_loop_test(tests, large, 0, 2);
    tcase_add_test(tests, indices_that_name_no_row);
    tcase_add_loop_test(tests, nothing, 0, 3);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_input);
    return test_main(suite);
}
