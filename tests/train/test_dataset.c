// SPDX-License-Identifier: MIT
// ctest: tiers=default,valgrind timeout=60
// Datasets: what is handed out, ranges of labels, parts by chance, statistics. No device is opened.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <husk/train/data.h>

#include "support/main.h"
#include "train/data/order.h"
#include "train/data/set.h"

static husk_error error;

// Elements 0, 1, 2 ... modulo 100.
static husk_array counted(husk_dtype dtype, int32_t rank, const int64_t *shape)
{
    husk_array array = {.dtype = dtype, .rank = rank};
    int64_t count = 1;
    for (int32_t i = 0; i < rank; ++i)
        count *= array.shape[i] = shape[i];
    array.bytes = (uint64_t)count * husk_dtype_size(dtype);
    array.data = calloc(1, array.bytes + 1);
    for (int64_t i = 0; i < count; ++i) {
        const int value = (int)(i % 100);
        switch (dtype) {
        case HUSK_U8:
        case HUSK_I8:
            ((int8_t *)array.data)[i] = (int8_t)value;
            break;
        case HUSK_I32:
            ((int32_t *)array.data)[i] = value;
            break;
        case HUSK_I64:
            ((int64_t *)array.data)[i] = value;
            break;
        case HUSK_F32:
            ((float *)array.data)[i] = (float)value;
            break;
        default:
            ((double *)array.data)[i] = value;
        }
    }
    return array;
}

static void refused(husk_status status, const char *words)
{
    ck_assert_msg(status == HUSK_INVALID_ARGUMENT, "%s: status %d: %s", words, status, error.text);
    ck_assert_msg(strstr(error.text, words) != NULL, "\"%s\" is not in: %s", words, error.text);
}

START_TEST(every_dtype_is_handed_out)
{
    static const husk_dtype dtypes[] = {HUSK_U8, HUSK_I8, HUSK_I32, HUSK_I64, HUSK_F32, HUSK_F64};
    for (int i = 0; i < 6; ++i)
        for (int numbers = 0; numbers < 2; ++numbers) {
            husk_array inputs = counted(dtypes[i], 3, (int64_t[]){10, 2, 3});
            husk_array labels = counted(dtypes[i], 1, (int64_t[]){10});
            husk_dataset *dataset;
            const husk_dataset_params params = HUSK_DATASET_PARAMS(.numbers = (uint32_t)numbers, .classes = 10);
            ck_assert_msg(husk_dataset_create(&inputs, &labels, &params, &dataset, &error) == HUSK_OK, "%s",
                          error.text);
            ck_assert(!inputs.data && !labels.data && husk_dataset_count(dataset) == 10);
            husk_tensor input, label;
            husk_dataset_describe(dataset, &input, &label);
            const bool ids = (dtypes[i] == HUSK_I32 || dtypes[i] == HUSK_I64) && !numbers;
            ck_assert(input.dtype == (ids ? HUSK_I32 : HUSK_F32) && input.rank == 2 && input.shape[0] == 2);
            ck_assert(label.dtype == (i < 4 ? HUSK_I32 : HUSK_F32) && label.rank == 0);
            float read[3 * 6], read_labels[3];
            ck_assert_int_eq(husk_dataset_read(dataset, 7, 3, read, read_labels, &error), HUSK_OK);
            for (int k = 0; k < 18; ++k)
                ck_assert((ids ? ((int32_t *)read)[k] : (int)read[k]) == 42 + k);
            for (int k = 0; k < 3; ++k)
                ck_assert((i < 4 ? ((int32_t *)read_labels)[k] : (int)read_labels[k]) == 7 + k);
            husk_dataset_release(dataset);
        }
}
END_TEST

START_TEST(labels_and_ids_are_within_their_ranges)
{
    husk_dataset *dataset;
    husk_array inputs = counted(HUSK_I32, 2, (int64_t[]){10, 3}), labels = counted(HUSK_U8, 1, (int64_t[]){10});
    const husk_dataset_params nine = HUSK_DATASET_PARAMS(.classes = 9), ids = HUSK_DATASET_PARAMS(.ids = 25);
    refused(husk_dataset_create(&inputs, &labels, &nine, &dataset, &error), "example 9 has 9, and classes are 0 to 8");
    ck_assert(inputs.data && labels.data && !dataset); // the caller's still
    refused(husk_dataset_create(&inputs, &labels, &ids, &dataset, &error), "example 8 has 25, and ids are 0 to 24");
    ((int32_t *)inputs.data)[4] = -1;
    refused(husk_dataset_create(&inputs, &labels, &ids, &dataset, &error), "example 1 has -1");
    ck_assert_int_eq(husk_dataset_create(&inputs, NULL, NULL, &dataset, &error), HUSK_OK);
    husk_tensor none;
    husk_dataset_describe(dataset, NULL, &none);
    ck_assert_int_eq(none.rank, -1);
    float read[30];
    refused(husk_dataset_read(dataset, 0, 10, read, read, &error), "has none");
    refused(husk_dataset_read(dataset, 1, 10, read, NULL, &error), "not within 10");
    husk_dataset_release(dataset);
    husk_array_release(&labels);

    inputs = counted(HUSK_F32, 1, (int64_t[]){10});
    labels = counted(HUSK_I64, 1, (int64_t[]){10});
    ((int64_t *)labels.data)[3] = 1ll << 31;
    refused(husk_dataset_create(&inputs, &labels, NULL, &dataset, &error), "example 3 has 2147483648");
    husk_array_release(&labels);
    labels = counted(HUSK_F32, 1, (int64_t[]){10});
    ((float *)labels.data)[2] = 1.5f;
    refused(husk_dataset_create(&inputs, &labels, &HUSK_DATASET_PARAMS(.classes = 10), &dataset, &error),
            "example 2 has 1.5");
    ((float *)labels.data)[2] = NAN;
    refused(husk_dataset_create(&inputs, &labels, &HUSK_DATASET_PARAMS(.classes = 10), &dataset, &error), "example 2");
    labels.shape[0] = 9;
    refused(husk_dataset_create(&inputs, &labels, NULL, &dataset, &error), "bytes are not those");
    labels.bytes = 36;
    refused(husk_dataset_create(&inputs, &labels, NULL, &dataset, &error), "they are 9, and there are 10");
    inputs.dtype = HUSK_F16;
    refused(husk_dataset_create(&inputs, NULL, NULL, &dataset, &error), "dtype");
    inputs.dtype = HUSK_F32;
    inputs.rank = 0;
    refused(husk_dataset_create(&inputs, NULL, NULL, &dataset, &error), "first dimension");
    refused(husk_dataset_create(NULL, NULL, NULL, &dataset, &error), "inputs");
    refused(husk_dataset_create(&inputs, NULL, &(husk_dataset_params){0}, &dataset, &error), "size");
    husk_array none_of_many = {.rank = 4, .shape = {0, 1 << 30, 1 << 30, 1 << 30}, .data = inputs.data};
    refused(husk_dataset_create(&none_of_many, NULL, NULL, &dataset, &error), "beyond 60 bits");
    husk_array_release(&inputs);
    husk_array_release(&labels);
}
END_TEST

START_TEST(windows_of_a_text_predict_the_next)
{
    husk_dataset *dataset;
    husk_array text = counted(HUSK_U8, 1, (int64_t[]){23});
    refused(husk_dataset_create_windows(&text, 23, NULL, &dataset, &error), "length");
    refused(husk_dataset_create_windows(&text, 4, &HUSK_DATASET_PARAMS(.ids = 22), &dataset, &error), "22");
    ck_assert_int_eq(husk_dataset_create_windows(&text, 4, NULL, &dataset, &error), HUSK_OK);
    ck_assert_int_eq(husk_dataset_count(dataset), 5); // 22 have a next one
    int32_t inputs[20], labels[20];
    ck_assert_int_eq(husk_dataset_read(dataset, 0, 5, inputs, labels, &error), HUSK_OK);
    for (int i = 0; i < 20; ++i)
        ck_assert(inputs[i] == i && labels[i] == i + 1);
    husk_dataset_release(dataset);
    text = counted(HUSK_U8, 1, (int64_t[]){21});
    ck_assert_int_eq(husk_dataset_create_windows(&text, 4, NULL, &dataset, &error), HUSK_OK);
    ck_assert_int_eq(husk_dataset_count(dataset), 5);
    husk_dataset_release(dataset);
    text = counted(HUSK_U8, 1, (int64_t[]){20});
    ck_assert_int_eq(husk_dataset_create_windows(&text, 4, NULL, &dataset, &error), HUSK_OK);
    ck_assert_int_eq(husk_dataset_count(dataset), 4);
    husk_dataset_release(dataset);
}
END_TEST

static husk_dataset *numbered(int64_t count)
{
    husk_dataset *dataset;
    husk_array inputs = {.dtype = HUSK_I32,
                         .rank = 1,
                         .shape = {count},
                         .bytes = (uint64_t)count * 4,
                         .data = malloc((size_t)count * 4)};
    for (int32_t i = 0; i < count; ++i)
        ((int32_t *)inputs.data)[i] = i;
    ck_assert_int_eq(husk_dataset_create(&inputs, NULL, NULL, &dataset, &error), HUSK_OK);
    return dataset;
}

// Examples of no elements take no memory, lists of their numbers do.
START_TEST(more_examples_than_a_list_can_have)
{
    static const int64_t counts[] = {INT64_MAX, INT64_C(1) << 61, (INT64_C(1) << 61) + 1, INT64_C(1) << 60};
    husk_array inputs = {.dtype = HUSK_F32, .rank = 2, .shape = {counts[_i], 0}, .data = malloc(1)};
    husk_dataset *dataset = NULL, *first = NULL, *second = NULL;
    ck_assert_int_eq(husk_dataset_create(&inputs, NULL, NULL, &dataset, &error), HUSK_OK);
    ck_assert_int_eq(husk_dataset_split(dataset, 0.5, 1, &first, &second, &error), HUSK_OUT_OF_HOST_MEMORY);
    ck_assert(!first && !second && strstr(error.text, "memory"));
    husk_context *context = NULL;
    husk_feed *feed = NULL;
    ck_assert_int_eq(husk_context_create(NULL, NULL, &context, &error), HUSK_OK);
    ck_assert_int_eq(husk_feed_create(context, dataset, &HUSK_FEED_PARAMS(.batch = 4), &feed, &error),
                     HUSK_OUT_OF_HOST_MEMORY);
    ck_assert(!feed);
    husk_context_release(context);
    husk_dataset_release(dataset);
}
END_TEST

START_TEST(parts_by_chance_share_nothing)
{
    enum { COUNT = 1000 };
    husk_dataset *whole = numbered(COUNT), *parts[2], *again[2], *other[2], *inner[2], *middle, *none[2];
    ck_assert_int_eq(husk_dataset_split(whole, 0.8, 5, &parts[0], &parts[1], &error), HUSK_OK);
    ck_assert_int_eq(husk_dataset_split(whole, 0.8, 5, &again[0], &again[1], &error), HUSK_OK);
    ck_assert_int_eq(husk_dataset_split(whole, 0.8, 6, &other[0], &other[1], &error), HUSK_OK);
    ck_assert(husk_dataset_count(parts[0]) == 800 && husk_dataset_count(parts[1]) == 200);
    husk_dataset_release(whole); // the parts keep the elements
    int32_t found[2][800], second[800], seen[COUNT] = {0};
    for (int p = 0; p < 2; ++p) {
        const int64_t count = husk_dataset_count(parts[p]);
        ck_assert_int_eq(husk_dataset_read(parts[p], 0, count, found[p], NULL, &error), HUSK_OK);
        ck_assert_int_eq(husk_dataset_read(again[p], 0, count, second, NULL, &error), HUSK_OK);
        ck_assert_mem_eq(found[p], second, (size_t)count * 4);
        ck_assert_int_eq(husk_dataset_read(other[p], 0, count, second, NULL, &error), HUSK_OK);
        ck_assert(memcmp(found[p], second, (size_t)count * 4) != 0);
        for (int64_t i = 0; i < count; ++i) {
            ck_assert(i == 0 || found[p][i] > found[p][i - 1]);
            seen[found[p][i]]++;
        }
    }
    for (int i = 0; i < COUNT; ++i)
        ck_assert_int_eq(seen[i], 1);
    // Parts of parts.
    ck_assert_int_eq(husk_dataset_part(parts[1], 50, 100, &middle, &error), HUSK_OK);
    ck_assert_int_eq(husk_dataset_split(middle, 0.255, 1, &inner[0], &inner[1], &error), HUSK_OK);
    ck_assert_int_eq(husk_dataset_count(inner[0]), 26);
    int32_t in_middle[100];
    ck_assert_int_eq(husk_dataset_read(middle, 0, 100, in_middle, NULL, &error), HUSK_OK);
    ck_assert_mem_eq(in_middle, found[1] + 50, sizeof in_middle);
    ck_assert_int_eq(husk_dataset_read(inner[0], 0, 26, second, NULL, &error), HUSK_OK);
    ck_assert_int_eq(husk_dataset_read(inner[1], 0, 74, second + 26, NULL, &error), HUSK_OK);
    int64_t sum = 0;
    for (int i = 0; i < 100; ++i)
        sum += in_middle[i] - second[i];
    ck_assert_int_eq(sum, 0);
    refused(husk_dataset_part(middle, 50, 51, &none[0], &error), "not within 100");
    refused(husk_dataset_split(middle, 1.5, 1, &none[0], &none[1], &error), "fraction");
    refused(husk_dataset_split(middle, NAN, 1, &none[0], &none[1], &error), "fraction");
    husk_dataset *const all[] = {parts[0], parts[1], again[0], again[1], other[0],
                                 other[1], inner[0], inner[1], middle,   NULL};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        husk_dataset_release(all[i]);
}
END_TEST

START_TEST(statistics_are_those_of_the_examples)
{
    husk_dataset *dataset, *part;
    husk_array inputs = counted(HUSK_U8, 3, (int64_t[]){100, 2, 8});
    double sums[2] = {0}, squares[2] = {0};
    for (int i = 20; i < 100; ++i)
        for (int k = 0; k < 16; ++k) {
            const double number = ((uint8_t *)inputs.data)[i * 16 + k];
            sums[k / 8] += number;
            squares[k / 8] += number * number;
        }
    ck_assert_int_eq(husk_dataset_create(&inputs, NULL, NULL, &dataset, &error), HUSK_OK);
    ck_assert_int_eq(husk_dataset_part(dataset, 20, 80, &part, &error), HUSK_OK);
    float mean[2], deviation[2];
    ck_assert_int_eq(husk_dataset_statistics(part, 0.5f, 2, mean, deviation, &error), HUSK_OK);
    for (int c = 0; c < 2; ++c) {
        const double wanted = sums[c] / 640;
        ck_assert_double_eq_tol((double)mean[c], wanted / 2, 1e-5);
        ck_assert_double_eq_tol((double)deviation[c], sqrt(squares[c] / 640 - wanted * wanted) / 2, 1e-5);
    }
    refused(husk_dataset_statistics(part, 1, 3, mean, deviation, &error), "channels");
    husk_dataset_release(part);
    husk_dataset_release(dataset);
    inputs = counted(HUSK_F64, 2, (int64_t[]){1, 1}); // all the same
    ck_assert_int_eq(husk_dataset_create(&inputs, NULL, NULL, &dataset, &error), HUSK_OK);
    ck_assert_int_eq(husk_dataset_statistics(dataset, 1, 1, mean, deviation, &error), HUSK_OK);
    ck_assert(deviation[0] == 1.0f);
    husk_dataset_release(dataset);
    inputs = counted(HUSK_F64, 2, (int64_t[]){1000, 1});
    for (int i = 0; i < 1000; ++i) // whose mean is rounded
        ((double *)inputs.data)[i] = 0.1;
    ck_assert_int_eq(husk_dataset_create(&inputs, NULL, NULL, &dataset, &error), HUSK_OK);
    ck_assert_int_eq(husk_dataset_statistics(dataset, 1.0f / 3, 1, mean, deviation, &error), HUSK_OK);
    ck_assert_msg(deviation[0] == 1.0f, "%g", (double)deviation[0]);
    husk_dataset_release(dataset);
}
END_TEST

START_TEST(an_order_is_a_permutation_and_a_fair_one)
{
    enum { COUNT = 6, ROUNDS = 60000 };
    static int counts[COUNT][COUNT];
    int64_t order[COUNT];
    for (int round = 0; round < ROUNDS; ++round) {
        unsigned seen = 0;
        husk__order(order, COUNT, 11, "test", (uint64_t)round);
        for (int i = 0; i < COUNT; ++i) {
            seen |= 1u << order[i];
            counts[i][order[i]]++;
        }
        ck_assert_uint_eq(seen, (1u << COUNT) - 1);
    }
    // Each number at each place 10,000 times, give or take: chi-squared, 25 degrees of freedom.
    double chi = 0;
    for (int i = 0; i < COUNT; ++i)
        for (int j = 0; j < COUNT; ++j)
            chi += pow(counts[i][j] - ROUNDS / COUNT, 2) / (ROUNDS / COUNT);
    ck_assert_msg(chi < 60, "chi-squared is %g", chi);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dataset");
    TCase *cases = tcase_create("dataset");
    tcase_add_test(cases, every_dtype_is_handed_out);
    tcase_add_test(cases, labels_and_ids_are_within_their_ranges);
    tcase_add_test(cases, windows_of_a_text_predict_the_next);
    tcase_add_loop_test(cases, more_examples_than_a_list_can_have, 0, 4);
    tcase_add_test(cases, parts_by_chance_share_nothing);
    tcase_add_test(cases, statistics_are_those_of_the_examples);
    tcase_add_test(cases, an_order_is_a_permutation_and_a_fair_one);
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
