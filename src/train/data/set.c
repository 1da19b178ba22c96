// SPDX-License-Identifier: MIT
#include "train/data/set.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "train/data/order.h"

struct husk__store {
    atomic_int users;
    husk_array inputs, labels; // labels without memory where it is inputs', or none
    husk__column columns[2];
};

// ---- elements ----

static bool is_integer(husk_dtype dtype)
{
    return dtype == HUSK_U8 || dtype == HUSK_I8 || dtype == HUSK_I32 || dtype == HUSK_I64;
}

static int64_t integer_at(const husk__column *column, int64_t element)
{
    switch (column->dtype) {
    case HUSK_U8:
        return ((const uint8_t *)column->data)[element];
    case HUSK_I8:
        return ((const int8_t *)column->data)[element];
    case HUSK_I32:
        return ((const int32_t *)column->data)[element];
    default:
        return ((const int64_t *)column->data)[element];
    }
}

double husk__column_number(const husk__column *column, int64_t element)
{
    if (column->dtype == HUSK_F32)
        return (double)((const float *)column->data)[element];
    if (column->dtype == HUSK_F64)
        return ((const double *)column->data)[element];
    return (double)integer_at(column, element);
}

void husk__column_read(const husk__column *column, int64_t example, void *to)
{
    const int64_t begin = column->first + example * column->step;
    if (column->given == HUSK_I32)
        for (int64_t i = 0; i < column->elements; ++i)
            ((int32_t *)to)[i] = (int32_t)integer_at(column, begin + i);
    else
        for (int64_t i = 0; i < column->elements; ++i)
            ((float *)to)[i] = (float)husk__column_number(column, begin + i);
}

// ---- making one ----

// Where there are no examples their shape says nothing of what is in memory.
static bool example_fits(const husk_array *array)
{
    int64_t elements = 1;
    for (int32_t i = 1; i < array->rank; ++i)
        if (__builtin_mul_overflow(elements, array->shape[i], &elements))
            return false;
    return elements <= INT64_MAX / (int64_t)sizeof(double);
}

static husk_status check_array(const husk_array *array, const char *name, const husk__source *source)
{
    const husk_tensor tensor = husk_tensor_make(NULL, array->dtype, array->rank, array->shape);
    const char *rule = NULL;
    if (!is_integer(array->dtype) && array->dtype != HUSK_F32 && array->dtype != HUSK_F64)
        rule = "its dtype is none of u8, i8, i32, i64, f32 and f64";
    else if (array->rank < 1 || array->rank > HUSK_MAX_RANK)
        rule = "its first dimension is the examples', and it has none";
    else if (husk_tensor_count(&tensor) < 0 || !array->data ||
             array->bytes != (uint64_t)husk_tensor_count(&tensor) * husk_dtype_size(array->dtype))
        rule = "its bytes are not those of its shape";
    else if (!example_fits(array))
        rule = "the elements of an example are beyond 60 bits";
    return rule ? husk__source_fail(source, HUSK_INVALID_ARGUMENT, "%s: %s", name, rule) : HUSK_OK;
}

static husk__column column_of(const husk_array *array, husk_dtype given)
{
    husk__column column = {
        .data = array->data, .dtype = array->dtype, .given = given, .rank = array->rank - 1, .elements = 1};
    for (int32_t i = 0; i < column.rank; ++i) {
        column.shape[i] = array->shape[i + 1];
        column.elements *= column.shape[i];
    }
    column.step = column.elements;
    return column;
}

// Whole numbers within int32, and from 0 to limit - 1 where there is a limit.
static husk_status check_range(const husk__column *column, int64_t examples, int64_t limit, const char *name,
                               const char *what, const husk__source *source)
{
    for (int64_t i = 0; i < examples; ++i)
        for (int64_t j = 0; j < column->elements; ++j) {
            const int64_t at = column->first + i * column->step + j;
            const double number = husk__column_number(column, at);
            if (limit && !(number >= 0 && number < (double)limit && number == floor(number)))
                return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "%s: example %lld has %g, and %s are 0 to %lld",
                                         name, (long long)i, number, what, (long long)(limit - 1));
            if (column->given == HUSK_I32 && !(number >= INT32_MIN && number <= INT32_MAX))
                return husk__source_fail(source, HUSK_INVALID_ARGUMENT,
                                         "%s: example %lld has %.0f, which is beyond 32 bits", name, (long long)i,
                                         number);
        }
    return HUSK_OK;
}

static husk_status read_params(husk_dataset_params *own, const husk_dataset_params *given, const husk__source *source)
{
    *own = given ? *given : HUSK_DATASET_PARAMS(0);
    if (own->size != sizeof *own)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "params: " HUSK__TRAIN_SIZE_RULE, (unsigned)own->size,
                                 (unsigned)sizeof *own, "HUSK_DATASET_PARAMS");
    if (own->classes < 0 || own->ids < 0 || own->classes > INT32_MAX || own->ids > INT32_MAX)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT,
                                 "params: classes and ids are 0 or more, within 32 bits");
    return HUSK_OK;
}

static void release_store(husk__store *store)
{
    if (atomic_fetch_sub(&store->users, 1) > 1)
        return;
    husk_array_release(&store->inputs);
    husk_array_release(&store->labels);
    free(store);
}

// A dataset of a new store, which takes the arrays.
static husk_status finish(const husk__column columns[2], husk_array *inputs, husk_array *labels, int64_t count,
                          husk_dataset **dataset, const husk__source *source)
{
    husk__store *store = calloc(1, sizeof *store);
    husk_dataset *made = calloc(1, sizeof *made);
    if (!store || !made) {
        free(store);
        free(made);
        return husk__source_fail(source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for the dataset");
    }
    atomic_init(&store->users, 1);
    store->inputs = *inputs;
    *inputs = (husk_array){0};
    if (labels) {
        store->labels = *labels;
        *labels = (husk_array){0};
    }
    memcpy(store->columns, columns, sizeof store->columns);
    *made = (husk_dataset){.store = store, .count = count};
    *dataset = made;
    return HUSK_OK;
}

husk_status husk_dataset_create(husk_array *inputs, husk_array *labels, const husk_dataset_params *params,
                                husk_dataset **dataset, husk_error *error)
{
    const husk__source source = {.call = "husk_dataset_create", .error = error};
    husk_dataset_params own;
    husk__column columns[2] = {{0}};
    if (!inputs || !dataset)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "%s: it is NULL", inputs ? "dataset" : "inputs");
    *dataset = NULL;
    husk_status status = read_params(&own, params, &source);
    if (!status)
        status = check_array(inputs, "inputs", &source);
    if (!status && labels)
        status = check_array(labels, "labels", &source);
    if (!status && labels && labels->shape[0] != inputs->shape[0])
        status = husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "labels: they are %lld, and there are %lld inputs",
                                   (long long)labels->shape[0], (long long)inputs->shape[0]);
    if (status)
        return status;
    const bool ids = (inputs->dtype == HUSK_I32 || inputs->dtype == HUSK_I64) && !own.numbers;
    columns[0] = column_of(inputs, ids ? HUSK_I32 : HUSK_F32);
    if (ids)
        status = check_range(&columns[0], inputs->shape[0], own.ids, "inputs", "ids", &source);
    if (!status && labels) {
        columns[1] = column_of(labels, is_integer(labels->dtype) ? HUSK_I32 : HUSK_F32);
        if (own.classes || columns[1].given == HUSK_I32)
            status = check_range(&columns[1], labels->shape[0], own.classes, "labels", "classes", &source);
    }
    return status ? status : finish(columns, inputs, labels, inputs->shape[0], dataset, &source);
}

husk_status husk_dataset_create_windows(husk_array *text, int64_t length, const husk_dataset_params *params,
                                        husk_dataset **dataset, husk_error *error)
{
    const husk__source source = {.call = "husk_dataset_create_windows", .error = error};
    husk_dataset_params own;
    if (!text || !dataset)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "%s: it is NULL", text ? "dataset" : "text");
    *dataset = NULL;
    husk_status status = read_params(&own, params, &source);
    if (!status)
        status = check_array(text, "text", &source);
    if (status)
        return status;
    if (text->rank != 1 || !is_integer(text->dtype))
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "text: it is not of one dimension and integers");
    if (length < 1 || length >= text->shape[0])
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "length: it is %lld, and text has %lld ids",
                                 (long long)length, (long long)text->shape[0]);
    husk__column whole = column_of(text, HUSK_I32);
    if ((status = check_range(&whole, text->shape[0], own.ids, "text", "ids", &source)))
        return status;
    husk__column columns[2];
    for (int i = 0; i < 2; ++i) {
        columns[i] = whole;
        columns[i].first = i;
        columns[i].step = columns[i].elements = columns[i].shape[0] = length;
        columns[i].rank = 1;
    }
    return finish(columns, text, NULL, (text->shape[0] - 1) / length, dataset, &source);
}

void husk_dataset_release(husk_dataset *dataset)
{
    if (!dataset)
        return;
    release_store(dataset->store);
    free(dataset->examples);
    free(dataset);
}

// ---- looking at one ----

const husk__column *husk__dataset_inputs(const husk_dataset *dataset)
{
    return &dataset->store->columns[0];
}

const husk__column *husk__dataset_labels(const husk_dataset *dataset)
{
    return &dataset->store->columns[1];
}

int64_t husk__dataset_example(const husk_dataset *dataset, int64_t index)
{
    return dataset->examples ? dataset->examples[index] : dataset->first + index;
}

int64_t husk_dataset_count(const husk_dataset *dataset)
{
    return dataset ? dataset->count : 0;
}

void husk_dataset_describe(const husk_dataset *dataset, husk_tensor *inputs, husk_tensor *labels)
{
    husk_tensor *const out[2] = {inputs, labels};
    for (int i = 0; i < 2; ++i) {
        if (!out[i])
            continue;
        if (!dataset) {
            *out[i] = (husk_tensor){.rank = -1};
            continue;
        }
        const husk__column *column = &dataset->store->columns[i];
        *out[i] = husk_tensor_make(NULL, column->given, column->rank, column->shape);
        if (!column->data)
            out[i]->rank = -1;
    }
}

husk_status husk_dataset_read(const husk_dataset *dataset, int64_t first, int64_t count, void *inputs, void *labels,
                              husk_error *error)
{
    const husk__source source = {.call = "husk_dataset_read", .error = error};
    if (!dataset || (!inputs && count))
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "%s: it is NULL", dataset ? "inputs" : "dataset");
    if (first < 0 || count < 0 || first > dataset->count || count > dataset->count - first)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT,
                                 "first, count: %lld and %lld are not within %lld examples", (long long)first,
                                 (long long)count, (long long)dataset->count);
    if (labels && !husk__dataset_labels(dataset)->data)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "labels: the dataset has none");
    for (int64_t i = 0; i < count; ++i) {
        const int64_t example = husk__dataset_example(dataset, first + i);
        for (int c = 0; c < 2; ++c) {
            const husk__column *column = &dataset->store->columns[c];
            char *to = c ? labels : inputs;
            if (to)
                husk__column_read(column, example, to + (size_t)(i * column->elements) * sizeof(float));
        }
    }
    return HUSK_OK;
}

husk_status husk_dataset_statistics(const husk_dataset *dataset, float scale, int32_t channels, float *mean,
                                    float *deviation, husk_error *error)
{
    const husk__source source = {.call = "husk_dataset_statistics", .error = error};
    if (!dataset || !mean || !deviation)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "%s: it is NULL",
                                 !dataset ? "dataset"
                                 : !mean  ? "mean"
                                          : "deviation");
    const husk__column *column = husk__dataset_inputs(dataset);
    if (column->given != HUSK_F32)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "dataset: its inputs are ids and not numbers");
    if (channels < 1 || column->elements % channels != 0)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT,
                                 "channels: %d do not divide the %lld numbers of an example", channels,
                                 (long long)column->elements);
    const int64_t part = column->elements / channels, count = part * dataset->count;
    if (count == 0)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "dataset: it is empty");
    for (int32_t c = 0; c < channels; ++c) {
        double middle = 0, sum = 0;
        bool differ = false; // what is the same everywhere has a deviation of 0, though its rounded mean is beside it
        const double first =
            husk__column_number(column, column->first + husk__dataset_example(dataset, 0) * column->step + c * part);
        for (int pass = 0; pass < 2; ++pass) {
            sum = 0;
            for (int64_t i = 0; i < dataset->count; ++i) {
                const int64_t begin = column->first + husk__dataset_example(dataset, i) * column->step + c * part;
                for (int64_t j = 0; j < part; ++j) {
                    const double given = husk__column_number(column, begin + j), number = given - middle;
                    differ |= given != first;
                    sum += pass ? number * number : number;
                }
            }
            if (pass == 0)
                middle = sum / (double)count;
        }
        mean[c] = (float)(middle * (double)scale);
        deviation[c] = (float)(sqrt(sum / (double)count) * fabs((double)scale));
        if (deviation[c] == 0.0f || !differ)
            deviation[c] = 1.0f;
    }
    return HUSK_OK;
}

// ---- parts ----

int64_t *husk__example_list(int64_t count)
{
    if (count > (int64_t)(PTRDIFF_MAX / sizeof(int64_t)))
        return NULL;
    return malloc((size_t)(count ? count : 1) * sizeof(int64_t));
}

husk_dataset *husk__dataset_share(const husk_dataset *dataset)
{
    husk_dataset *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    *made = *dataset;
    if (dataset->examples) {
        made->examples = husk__example_list(dataset->count);
        if (!made->examples) {
            free(made);
            return NULL;
        }
        memcpy(made->examples, dataset->examples, (size_t)dataset->count * sizeof *made->examples);
    }
    atomic_fetch_add(&dataset->store->users, 1);
    return made;
}

husk_status husk_dataset_part(const husk_dataset *dataset, int64_t first, int64_t count, husk_dataset **part,
                              husk_error *error)
{
    const husk__source source = {.call = "husk_dataset_part", .error = error};
    if (!dataset || !part)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "%s: it is NULL", dataset ? "part" : "dataset");
    *part = NULL;
    if (first < 0 || count < 0 || first > dataset->count || count > dataset->count - first)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT,
                                 "first, count: %lld and %lld are not within %lld examples", (long long)first,
                                 (long long)count, (long long)dataset->count);
    husk_dataset *made = husk__dataset_share(dataset);
    if (!made)
        return husk__source_fail(&source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for the part");
    made->count = count;
    if (made->examples)
        memmove(made->examples, made->examples + first, (size_t)count * sizeof *made->examples);
    else
        made->first += first;
    *part = made;
    return HUSK_OK;
}

static int compare_examples(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

// The examples at these places of a dataset's, sorted.
static husk_dataset *choose(const husk_dataset *dataset, const int64_t *places, int64_t count)
{
    husk_dataset *made = calloc(1, sizeof *made);
    int64_t *examples = husk__example_list(count);
    if (!made || !examples) {
        free(made);
        free(examples);
        return NULL;
    }
    memcpy(examples, places, (size_t)count * sizeof *examples);
    qsort(examples, (size_t)count, sizeof *examples, compare_examples);
    for (int64_t i = 0; i < count; ++i)
        examples[i] = husk__dataset_example(dataset, examples[i]);
    *made = (husk_dataset){.store = dataset->store, .count = count, .examples = examples};
    atomic_fetch_add(&dataset->store->users, 1);
    return made;
}

husk_status husk_dataset_split(const husk_dataset *dataset, double fraction, uint64_t seed, husk_dataset **first,
                               husk_dataset **second, husk_error *error)
{
    const husk__source source = {.call = "husk_dataset_split", .error = error};
    if (!dataset || !first || !second)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "%s: it is NULL",
                                 !dataset ? "dataset"
                                 : !first ? "first"
                                          : "second");
    *first = *second = NULL;
    if (!(fraction >= 0 && fraction <= 1))
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "fraction: it is %g, and not from 0 to 1", fraction);
    const int64_t count = dataset->count, cut = (int64_t)floor(fraction * (double)count + 0.5);
    int64_t *order = husk__example_list(count);
    if (order) {
        husk__order(order, count, seed, "husk_dataset_split", 0);
        *first = choose(dataset, order, cut);
        *second = choose(dataset, order + cut, count - cut);
    }
    free(order);
    if (*first && *second)
        return HUSK_OK;
    husk_dataset_release(*first);
    husk_dataset_release(*second);
    *first = *second = NULL;
    return husk__source_fail(&source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for the parts");
}
