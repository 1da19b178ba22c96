// SPDX-License-Identifier: MIT
#include "cases/data.h"

#include <stdlib.h>
#include <string.h>

#include "cases/array.h"
#include "cases/ops.h"
#include "cases/size.h"
#include "common/text.h"
#include "system/host.h"

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
    return bench_explain(reason, BENCH_REASON_TEXT, "host memory does not suffice for the operands (%s)", size);
}

void bench_data_free(const bench_case *c, bench_data *data)
{
    (void)c;
    bench_array *const arrays[] = {&data->x,       &data->w,  &data->bias, &data->y,
                                   &data->lengths, &data->h0, &data->c0,   &data->dy};
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
