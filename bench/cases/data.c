// SPDX-License-Identifier: MIT
#include "cases/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases/op.h"
#include "cases/verdict.h"
#include "common/digest.h"
#include "common/text.h"
#include "os/host.h"
#include "ref/random.h"

#define ALIGNMENT 64

static bool extent_of(const bench_array *array, int64_t *extent)
{
    int64_t last = 0;
    for (int32_t d = 0; d < array->rank; d++) {
        if (array->shape[d] == 0) {
            *extent = 0;
            return true;
        }
        int64_t step = 0;
        if (__builtin_mul_overflow(array->shape[d] - 1, array->strides[d], &step) ||
            __builtin_add_overflow(last, step, &last))
            return false;
    }
    *extent = last + 1;
    return true;
}

static int64_t bytes_of(const bench_array *array)
{
    return array->count * (int64_t)husk_dtype_size(array->dtype);
}

// NaN; -2 in integers, or what its bits are without a sign.
static void poison(bench_array *array)
{
    static const int64_t minus_two = -2;
    static const float nan_f32 = NAN;
    static const double nan_f64 = NAN;
    static const uint16_t nan_half = 0x7fc0; // of f16 and of bf16
    const void *pattern = array->dtype == HUSK_F32                             ? (const void *)&nan_f32
                          : array->dtype == HUSK_F64                           ? (const void *)&nan_f64
                          : array->dtype == HUSK_F16 || array->dtype == HUSK_BF16 ? (const void *)&nan_half
                                                                               : (const void *)&minus_two;
    const size_t size = husk_dtype_size(array->dtype);
    for (int64_t i = 0; i < array->count; i++)
        memcpy((char *)array->data + (size_t)i * size, pattern, size); // little-endian: an integer's low bytes
}

bool bench_array_make(bench_array *array, husk_dtype dtype, int32_t rank, const int64_t *shape,
                      const int64_t *strides)
{
    memset(array, 0, sizeof *array);
    array->dtype = dtype;
    array->rank = rank;
    int64_t packed = 1;
    for (int32_t d = rank - 1; d >= 0; d--) {
        array->shape[d] = shape[d];
        array->strides[d] = strides ? strides[d] : packed;
        if (shape[d] && __builtin_mul_overflow(packed, shape[d], &packed))
            return false;
    }
    if (!extent_of(array, &array->count) || array->count > (INT64_MAX >> 4))
        return false;
    // Never empty, so that data != NULL says the operand is there.
    size_t bytes = (size_t)bytes_of(array);
    bytes = (bytes / ALIGNMENT + 1) * ALIGNMENT;
    array->data = aligned_alloc(ALIGNMENT, bytes);
    if (!array->data)
        return false;
    poison(array);
    return true;
}

bool bench_array_make_layout(bench_array *array, bench_layout layout, int32_t rank, const int64_t *shape)
{
    if (layout == BENCH_NCHW)
        return bench_array_make(array, HUSK_F32, rank, shape, NULL);
    int64_t strides[HUSK_MAX_RANK], step = shape[1];
    strides[1] = 1;
    for (int32_t d = rank - 1; d >= 2; d--) {
        strides[d] = step;
        step *= shape[d];
    }
    strides[0] = step;
    return bench_array_make(array, HUSK_F32, rank, shape, strides);
}

bool bench_array_clone(bench_array *copy, const bench_array *array)
{
    if (!bench_array_make(copy, array->dtype, array->rank, array->shape, array->strides))
        return false;
    memcpy(copy->data, array->data, (size_t)bench_array_bytes(array));
    return true;
}

void bench_array_fill(bench_array *array, uint64_t seed, float scale)
{
    int64_t elements = 1;
    for (int32_t d = 0; d < array->rank; d++)
        elements *= array->shape[d];
    husk_ref_array view = bench_ref_array(array);
    bool is_packed = elements == array->count && array->rank > 0 && array->strides[array->rank - 1] == 1;
    for (int32_t d = 1; is_packed && d < array->rank; d++)
        is_packed = array->strides[d - 1] == array->strides[d] * array->shape[d];
    if (is_packed)
        husk_ref_random_fill(array->data, array->count, seed, scale);
    else
        husk_ref_random_fill_array(&view, seed, scale);
}

int64_t bench_array_bytes(const bench_array *array)
{
    return array->data ? bytes_of(array) : 0;
}

void bench_array_free(bench_array *array)
{
    free(array->data);
    memset(array, 0, sizeof *array);
}

uint64_t bench_case_seed(const bench_case *c)
{
    uint64_t hash = BENCH_DIGEST_EMPTY;
    const char *word = c->canonical;
    while (*word) {
        size_t length = strcspn(word, " ");
        if (strncmp(word, "packed=", 7))
            hash = bench_digest_add(bench_digest_add(hash, word, length), " ", 1);
        word += length + (word[length] == ' ');
    }
    return hash;
}

// f32 numbers as the dtype, narrower or wider, holds them.
static bool narrow(bench_array *array, husk_dtype dtype)
{
    if (!array->data || array->dtype != HUSK_F32)
        return true;
    bench_array made;
    if (!bench_array_make(&made, dtype, array->rank, array->shape, array->strides)) {
        bench_array_free(&made);
        return false;
    }
    const husk_ref_array from = bench_ref_array(array), to = bench_ref_array(&made);
    for (int64_t i = 0; i < array->count; i++)
        husk_ref_store(&to, i, husk_ref_load(&from, i));
    bench_array_free(array);
    *array = made;
    return true;
}

// The operands of a case with another dtype: those of the same case in f32, rounded.
static bool narrow_data(const bench_case *c, bench_data *data)
{
    bench_array *const arrays[] = {&data->x, &data->w, &data->bias, &data->y, &data->dy, &data->h0, &data->c0};
    const bool keeps = husk_dtype_size(c->dtype) < sizeof(float);
    bool good = true;
    for (size_t i = 0; good && i < sizeof arrays / sizeof *arrays; i++)
        good = narrow(arrays[i], c->dtype);
    for (size_t i = 0; good && i < BENCH_SAVED; i++)
        good = (keeps && bench_op_get(c->op)->keeps_saved >> i & 1) || narrow(&data->saved[i], c->dtype);
    for (int64_t i = 0; good && i < data->layer_count; i++) {
        bench_rnn_weights *layer = &data->layers[i];
        good = narrow(&layer->input, c->dtype) && narrow(&layer->hidden, c->dtype) &&
               narrow(&layer->input_bias, c->dtype) && narrow(&layer->hidden_bias, c->dtype);
    }
    return good;
}

static bool is_narrow(const bench_case *c)
{
    return c->dtype != HUSK_F32 && bench_op_get(c->op)->narrows;
}

bool bench_data_make(const bench_case *c, bench_data *data, char reason[BENCH_REASON_TEXT])
{
    memset(data, 0, sizeof *data);
    // Operands, the device's copy of them and the result: what is not there would be taken from others by force.
    const double needed = 2 * bench_case_operands(c), there = bench_host_free_memory("");
    if (there > 0 && needed > there) {
        char wanted[32], has[32];
        bench_format_bytes(needed, wanted, sizeof wanted);
        bench_format_bytes(there, has, sizeof has);
        return bench_explain(reason, BENCH_REASON_TEXT,
                             "memory does not suffice: it takes %s on the host, and %s is free", wanted, has);
    }
    if (bench_op_get(c->op)->make_data(c, data, bench_case_seed(c)) && (!is_narrow(c) || narrow_data(c, data)))
        return true;
    bench_data_free(c, data);
    char size[64];
    bench_format_bytes(bench_case_operands(c), size, sizeof size);
    return bench_explain(reason, BENCH_REASON_TEXT, "host memory does not suffice for the operands (%s)",
                         size);
}

void bench_data_free(const bench_case *c, bench_data *data)
{
    (void)c;
    bench_array *const arrays[] = {&data->x,       &data->w,  &data->bias, &data->y,
                                   &data->lengths, &data->h0, &data->c0, &data->dy};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        bench_array_free(arrays[i]);
    for (size_t i = 0; i < BENCH_SAVED; i++)
        bench_array_free(&data->saved[i]);
    for (int64_t i = 0; i < data->layer_count; i++) {
        bench_array_free(&data->layers[i].input);
        bench_array_free(&data->layers[i].hidden);
        bench_array_free(&data->layers[i].input_bias);
        bench_array_free(&data->layers[i].hidden_bias);
    }
    free(data->layers);
    memset(data, 0, sizeof *data);
}

bool bench_output_make(const bench_case *c, const bench_data *data, bench_output *output,
                       char reason[BENCH_REASON_TEXT])
{
    const bench_op *op = bench_op_get(c->op);
    memset(output, 0, sizeof *output);
    bool good = bench_array_make(&output->y, data->y.dtype, data->y.rank, data->y.shape, data->y.strides) &&
                (!op->make_output || op->make_output(c, data, output));
    for (size_t i = 0; good && is_narrow(c) && i < BENCH_GRADIENTS; i++)
        good = narrow(&output->gradients[i], c->dtype);
    for (size_t i = 0; good && i < BENCH_SAVED; i++) {
        const bench_array *from = &data->saved[i];
        if (op->updates_saved >> i & 1 && from->data)
            good = bench_array_make(&output->saved[i], from->dtype, from->rank, from->shape, from->strides);
    }
    if (good)
        return true;
    bench_output_free(output);
    return bench_explain(reason, BENCH_REASON_TEXT, "host memory does not suffice for the result");
}

void bench_output_free(bench_output *output)
{
    bench_array_free(&output->y);
    bench_array_free(&output->indices);
    bench_array_free(&output->h_n);
    bench_array_free(&output->c_n);
    for (size_t i = 0; i < BENCH_GRADIENTS; i++)
        bench_array_free(&output->gradients[i]);
    for (size_t i = 0; i < BENCH_SAVED; i++)
        bench_array_free(&output->saved[i]);
}
