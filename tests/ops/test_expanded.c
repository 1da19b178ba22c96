// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=60
// Inputs that strides of 0 repeat may have any number of elements, without memory that would bound it: every operator
// refuses more than it can reckon with, by a text that names the argument, and enqueues nothing.
#include <stdio.h>
#include <string.h>

#include "support/support.h"

static husk_buffer *memory;

static void setup(void)
{
    husk_error error = {0};
    test_ok_error(husk_buffer_create(test_context(), 1 << 16, &memory, &error), &error);
}

static void teardown(void)
{
    husk_buffer_release(memory);
}

// One row of memory, of one element, which all other dimensions repeat.
#define REPEATED(dtype, ...) \
    repeated(dtype, (int32_t)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)), (const int64_t[]){__VA_ARGS__})
// The element lies in dimension 1 instead.
#define REPEATED_FIRST(dtype, ...) exchanged(REPEATED(dtype, __VA_ARGS__))
// Packed, from another place of the buffer each time, so that nothing overlaps.
#define PACKED(dtype, ...) \
    packed(dtype, (int32_t)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)), (const int64_t[]){__VA_ARGS__})

static husk_tensor repeated(husk_dtype dtype, int32_t rank, const int64_t *shape)
{
    husk_tensor made = {.buffer = memory, .dtype = dtype, .rank = rank, .strides = {1}};
    memcpy(made.shape, shape, (size_t)rank * sizeof *shape);
    return made;
}

static husk_tensor exchanged(husk_tensor tensor)
{
    tensor.strides[0] = 0;
    tensor.strides[1] = 1;
    return tensor;
}

static husk_tensor packed(husk_dtype dtype, int32_t rank, const int64_t *shape)
{
    static int64_t place;
    husk_tensor made = husk_tensor_make(memory, dtype, rank, shape);
    place = place % 15 + 1;
    made.offset = place * (1 << 16) / 16 / (int64_t)husk_dtype_size(dtype);
    return made;
}

// ---- every operator that takes expanded inputs: of so many elements, more than 2^61 ----

typedef husk_status (*call_fn)(husk_queue *queue, int64_t many);

static husk_status activation(husk_queue *queue, int64_t many)
{
    const husk_tensor x = REPEATED(HUSK_F32, 1, many);
    return husk_activation(queue, NULL, &x, &x);
}

static husk_status activation_backward(husk_queue *queue, int64_t many)
{
    const husk_tensor x = REPEATED(HUSK_F32, 1, many);
    return husk_activation_backward(queue, NULL, &x, NULL, &x, &x);
}

static husk_status attention(husk_queue *queue, int64_t many)
{
    const husk_tensor q = PACKED(HUSK_F32, 1, 1, 1, 1), k = REPEATED(HUSK_F32, 1, 1, many, 1);
    const husk_tensor y = PACKED(HUSK_F32, 1, 1, 1, 1);
    return husk_attention(queue, NULL, &q, &k, &k, NULL, &y, NULL);
}

static husk_status attention_backward(husk_queue *queue, int64_t many)
{
    const husk_tensor q = PACKED(HUSK_F32, 1, 1, 1, 1), k = REPEATED(HUSK_F32, 1, 1, many, 1);
    const husk_tensor y = PACKED(HUSK_F32, 1, 1, 1, 1), sums = PACKED(HUSK_F32, 1, 1, 1);
    const husk_tensor dy = PACKED(HUSK_F32, 1, 1, 1, 1), dq = PACKED(HUSK_F32, 1, 1, 1, 1);
    return husk_attention_backward(queue, NULL, &q, &k, &k, NULL, &y, &sums, &dy, &dq, NULL, NULL);
}

static husk_status binary(husk_queue *queue, int64_t many)
{
    const husk_tensor a = REPEATED(HUSK_F32, 1, many), b = PACKED(HUSK_F32, 1);
    return husk_binary(queue, NULL, &a, &b, &a);
}

static husk_status binary_backward(husk_queue *queue, int64_t many)
{
    const husk_tensor a = PACKED(HUSK_F32, 1), dy = REPEATED(HUSK_F32, 1, many), da = PACKED(HUSK_F32, 1);
    const husk_tensor b = REPEATED(HUSK_F32, 1, many);
    return husk_binary_backward(queue, NULL, &a, &b, &dy, &da, NULL);
}

static husk_status concat(husk_queue *queue, int64_t many)
{
    const husk_tensor x = REPEATED(HUSK_F32, 1, many), y = REPEATED(HUSK_F32, 2, many);
    const husk_tensor *const inputs[] = {&x, &x};
    return husk_concat(queue, NULL, inputs, 2, &y);
}

static husk_status concat_backward(husk_queue *queue, int64_t many)
{
    const husk_tensor dy = REPEATED(HUSK_F32, 1, many), dx = PACKED(HUSK_F32, 1, 1);
    const husk_tensor *const gradients[] = {&dx, NULL};
    const husk_concat_params params = HUSK_CONCAT_PARAMS(.axis = 1);
    return husk_concat_backward(queue, &params, (const int64_t[]){1, many - 1}, &dy, gradients, 2);
}

static husk_status conv(husk_queue *queue, int64_t many)
{
    const husk_tensor x = REPEATED(HUSK_F32, 1, many, 1), w = REPEATED(HUSK_F32, 1, many, 1);
    const husk_tensor y = PACKED(HUSK_F32, 1, 1, 1);
    return husk_conv(queue, NULL, &x, &w, NULL, &y);
}

static husk_status conv_backward_data(husk_queue *queue, int64_t many)
{
    const husk_tensor w = REPEATED_FIRST(HUSK_F32, many, 1, 1), dy = REPEATED(HUSK_F32, 1, many, 1);
    const husk_tensor dx = PACKED(HUSK_F32, 1, 1, 1);
    return husk_conv_backward_data(queue, NULL, &w, &dy, &dx);
}

static husk_status conv_backward_weights(husk_queue *queue, int64_t many)
{
    const husk_tensor x = REPEATED(HUSK_F32, 1, 1, many), dy = REPEATED(HUSK_F32, 1, 1, many);
    const husk_tensor dw = PACKED(HUSK_F32, 1, 1, 1);
    return husk_conv_backward_weights(queue, NULL, &x, &dy, &dw, NULL);
}

static husk_status conv_transpose(husk_queue *queue, int64_t many)
{
    const husk_tensor x = REPEATED(HUSK_F32, 1, many, 1), y = PACKED(HUSK_F32, 1, 1, 1);
    const husk_tensor w = REPEATED_FIRST(HUSK_F32, many, 1, 1);
    return husk_conv_transpose(queue, NULL, &x, &w, NULL, &y);
}

static husk_status copy(husk_queue *queue, int64_t many)
{
    const husk_tensor x = REPEATED(HUSK_F32, 1, many);
    return husk_copy(queue, NULL, &x, &x);
}

static husk_status dequantize(husk_queue *queue, int64_t many)
{
    const husk_tensor x = REPEATED(HUSK_I8, 1, many), scale = PACKED(HUSK_F32, 1), y = REPEATED(HUSK_F32, 1, many);
    return husk_dequantize(queue, NULL, &x, &scale, NULL, &y);
}

static husk_status dropout(husk_queue *queue, int64_t many)
{
    const husk_tensor x = REPEATED(HUSK_F32, 1, many);
    return husk_dropout(queue, NULL, &x, &x);
}

static husk_status dropout_backward(husk_queue *queue, int64_t many)
{
    const husk_tensor dy = REPEATED(HUSK_F32, 1, many);
    return husk_dropout_backward(queue, NULL, &dy, &dy);
}

static husk_status embedding(husk_queue *queue, int64_t many)
{
    const husk_tensor table = REPEATED_FIRST(HUSK_F32, many, 1);
    const husk_tensor indices = PACKED(HUSK_I32, 2), y = PACKED(HUSK_F32, 2, 1);
    return husk_embedding(queue, NULL, &table, &indices, &y);
}

static husk_status embedding_backward(husk_queue *queue, int64_t many)
{
    const husk_tensor indices = REPEATED(HUSK_I32, 1, many), dy = REPEATED(HUSK_F32, 1, many, 1);
    const husk_tensor dtable = PACKED(HUSK_F32, 4, 1);
    return husk_embedding_backward(queue, NULL, &indices, &dy, &dtable);
}

static husk_status gemm(husk_queue *queue, int64_t many)
{
    const husk_tensor a = REPEATED(HUSK_F32, 1, many), c = PACKED(HUSK_F32, 1, 1);
    const husk_gemm_params params = HUSK_GEMM_PARAMS(.transpose_b = 1);
    return husk_gemm(queue, &params, 1, &a, &a, NULL, 0, &c);
}

static husk_status gemm_backward(husk_queue *queue, int64_t many)
{
    const husk_tensor a = REPEATED(HUSK_F32, 1, 1), dy = REPEATED(HUSK_F32, 1, many), da = PACKED(HUSK_F32, 1, 1);
    const husk_tensor b = REPEATED(HUSK_F32, 1, many);
    return husk_gemm_backward(queue, NULL, 1, &a, &b, 0, NULL, NULL, &dy, &da, NULL, NULL, NULL);
}

static husk_status loss(husk_queue *queue, int64_t many)
{
    const husk_tensor x = REPEATED(HUSK_F32, 1, many), value = {.buffer = memory, .offset = 64};
    const husk_loss_params params = husk_loss_defaults(HUSK_LOSS_MEAN_SQUARE);
    return husk_loss(queue, &params, &x, &x, NULL, NULL, &value);
}

static husk_status loss_backward(husk_queue *queue, int64_t many)
{
    const husk_tensor x = REPEATED(HUSK_F32, 1, many), dloss = {.buffer = memory, .offset = 64};
    const husk_loss_params params = husk_loss_defaults(HUSK_LOSS_MEAN_SQUARE);
    return husk_loss_backward(queue, &params, &x, &x, NULL, NULL, &dloss, &x);
}

static husk_status norm(husk_queue *queue, int64_t many)
{
    const husk_tensor x = REPEATED(HUSK_F32, 1, 1, many);
    return husk_norm(queue, NULL, &x, NULL, NULL, NULL, NULL, &x, NULL, NULL);
}

static husk_status norm_backward(husk_queue *queue, int64_t many)
{
    const husk_tensor x = REPEATED(HUSK_F32, 1, 1, many), numbers = PACKED(HUSK_F32, 1);
    const husk_tensor dscale = PACKED(HUSK_F32, 1), scale = PACKED(HUSK_F32, 1);
    const husk_norm_params params = HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_BATCH, .training = 1, .axis = -1,
                                              .epsilon = 1e-5f, .momentum = 0.1f);
    return husk_norm_backward(queue, &params, &x, &scale, &numbers, &numbers, &x, NULL, &dscale, NULL);
}

static husk_status one_hot(husk_queue *queue, int64_t many)
{
    const husk_tensor labels = REPEATED(HUSK_I32, 1, many), y = REPEATED(HUSK_F32, 1, many, 1);
    return husk_one_hot(queue, NULL, &labels, &y);
}

static husk_status pad(husk_queue *queue, int64_t many)
{
    const husk_tensor x = REPEATED(HUSK_F32, 1, many), y = PACKED(HUSK_F32, 1, 1);
    const husk_pad_params params = HUSK_PAD_PARAMS(.before = {0, 1 - many}); // cuts all but one off
    return husk_pad(queue, &params, &x, &y);
}

static husk_status pad_backward(husk_queue *queue, int64_t many)
{
    const husk_tensor dy = REPEATED(HUSK_F32, 1, many), dx = PACKED(HUSK_F32, 1, 1);
    const husk_pad_params params = HUSK_PAD_PARAMS(.before = {0, many - 1});
    return husk_pad_backward(queue, &params, &dy, &dx);
}

static husk_status pool(husk_queue *queue, int64_t many)
{
    const husk_tensor x = REPEATED(HUSK_F32, 1, 1, many), y = PACKED(HUSK_F32, 1, 1, 1);
    const husk_pool_params params = HUSK_POOL_PARAMS(.window = {many});
    return husk_pool(queue, &params, &x, &y, NULL);
}

static husk_status pool_backward(husk_queue *queue, int64_t many)
{
    const husk_tensor dy = REPEATED(HUSK_F32, 1, 1, many);
    const husk_pool_params params = HUSK_POOL_PARAMS(.kind = HUSK_POOL_AVG, .window = {1});
    return husk_pool_backward(queue, &params, NULL, NULL, &dy, &dy);
}

static husk_status quantize(husk_queue *queue, int64_t many)
{
    const husk_tensor x = REPEATED(HUSK_F32, 1, many), scale = PACKED(HUSK_F32, 1), y = REPEATED(HUSK_I8, 1, many);
    return husk_quantize(queue, NULL, &x, &scale, NULL, &y);
}

static husk_status quantized_conv(husk_queue *queue, int64_t many)
{
    const husk_tensor x = REPEATED(HUSK_U8, 1, many, 1), w = REPEATED(HUSK_I8, 1, many, 1);
    const husk_tensor scale = PACKED(HUSK_F32, 1), y = PACKED(HUSK_F32, 1, 1, 1);
    return husk_quantized_conv(queue, NULL, &x, NULL, &w, &scale, NULL, &y, NULL);
}

static husk_status quantized_gemm(husk_queue *queue, int64_t many)
{
    const husk_tensor a = REPEATED(HUSK_U8, 1, many), scale = PACKED(HUSK_F32, 1), c = PACKED(HUSK_F32, 1, 1);
    const husk_tensor b = REPEATED_FIRST(HUSK_I8, many, 1);
    return husk_quantized_gemm(queue, NULL, &a, NULL, &b, &scale, NULL, &c, NULL);
}

static husk_status reduce(husk_queue *queue, int64_t many)
{
    const husk_tensor x = REPEATED(HUSK_F32, 1, many), y = PACKED(HUSK_F32, 1);
    const husk_reduce_params params = HUSK_REDUCE_PARAMS(.axis_count = 1, .axes = {-1});
    return husk_reduce(queue, &params, &x, &y);
}

static husk_status reduce_backward(husk_queue *queue, int64_t many)
{
    const husk_tensor x = REPEATED(HUSK_F32, 1, many), dy = PACKED(HUSK_F32, 1);
    const husk_reduce_params params = HUSK_REDUCE_PARAMS(.axis_count = 1, .axes = {-1});
    return husk_reduce_backward(queue, &params, &x, NULL, &dy, &x);
}

static husk_status rnn_of(husk_queue *queue, int64_t many, const husk_tensor *reserve, const husk_tensor *dhidden)
{
    const husk_tensor x = REPEATED_FIRST(HUSK_F32, many, 1, 1), input = PACKED(HUSK_F32, 1, 1);
    const husk_tensor hidden = PACKED(HUSK_F32, 1, 1);
    const husk_rnn_weights weights = {.input = &input, .hidden = &hidden}, wanted = {.hidden = dhidden};
    const husk_rnn_params params = HUSK_RNN_PARAMS(.hidden_size = 1);
    const husk_rnn_inputs inputs = HUSK_RNN_INPUTS(.x = &x, .weights = &weights);
    const husk_rnn_outputs outputs = HUSK_RNN_OUTPUTS(.y = &x, .reserve = reserve);
    if (!dhidden)
        return husk_rnn(queue, &params, &inputs, &outputs);
    const husk_rnn_outputs given = HUSK_RNN_OUTPUTS(.y = &x);
    const husk_rnn_gradients gradients = HUSK_RNN_GRADIENTS(.weights = &wanted);
    return husk_rnn_backward(queue, &params, &inputs, &outputs, &given, &gradients);
}

static husk_status rnn(husk_queue *queue, int64_t many)
{
    return rnn_of(queue, many, NULL, NULL);
}

static husk_status rnn_backward(husk_queue *queue, int64_t many)
{
    const husk_tensor reserve = PACKED(HUSK_F32, 512), dhidden = PACKED(HUSK_F32, 1, 1);
    return rnn_of(queue, many, &reserve, &dhidden);
}

static husk_status rotary(husk_queue *queue, int64_t many)
{
    const husk_tensor x = REPEATED(HUSK_F32, 1, 1, many, 2), angles = REPEATED(HUSK_F32, 1, 1);
    return husk_rotary(queue, NULL, &x, NULL, &angles, &angles, &x);
}

static husk_status rotary_backward(husk_queue *queue, int64_t many)
{
    const husk_tensor dy = REPEATED(HUSK_F32, 1, 1, many, 2), angles = REPEATED(HUSK_F32, 1, 1);
    return husk_rotary_backward(queue, NULL, NULL, &angles, &angles, &dy, &dy);
}

static husk_status softmax(husk_queue *queue, int64_t many)
{
    const husk_tensor x = REPEATED(HUSK_F32, 1, many);
    return husk_softmax(queue, NULL, &x, &x);
}

static husk_status softmax_backward(husk_queue *queue, int64_t many)
{
    const husk_tensor y = REPEATED(HUSK_F32, 1, many);
    return husk_softmax_backward(queue, NULL, &y, &y, &y);
}

static husk_status unary(husk_queue *queue, int64_t many)
{
    const husk_tensor x = REPEATED(HUSK_F32, 1, many);
    return husk_unary(queue, NULL, &x, &x);
}

static husk_status unary_backward(husk_queue *queue, int64_t many)
{
    const husk_tensor x = REPEATED(HUSK_F32, 1, many);
    return husk_unary_backward(queue, NULL, &x, NULL, &x, &x);
}

static husk_status where(husk_queue *queue, int64_t many)
{
    const husk_tensor condition = REPEATED(HUSK_U8, 1, many), a = REPEATED(HUSK_F32, 1, many);
    return husk_where(queue, NULL, &condition, &a, &a, &a);
}

static husk_status where_backward(husk_queue *queue, int64_t many)
{
    const husk_tensor condition = PACKED(HUSK_U8, 1), dy = REPEATED(HUSK_F32, 1, many), da = PACKED(HUSK_F32, 1);
    return husk_where_backward(queue, NULL, &condition, &dy, &da, NULL);
}

static const struct {
    const char *name;
    call_fn call;
    const char *argument;
} calls[] = {
    {"activation", activation, "x"},
    {"activation_backward", activation_backward, "dy"},
    {"attention", attention, "k"},
    {"attention_backward", attention_backward, "k"},
    {"binary", binary, "a"},
    {"binary_backward", binary_backward, "dy"},
    {"concat", concat, "y"},
    {"concat_backward", concat_backward, "dy"},
    {"conv", conv, "x"},
    {"conv_backward_data", conv_backward_data, "w"},
    {"conv_backward_weights", conv_backward_weights, "x"},
    {"conv_transpose", conv_transpose, "w"},
    {"copy", copy, "x"},
    {"dequantize", dequantize, "x"},
    {"dropout", dropout, "x"},
    {"dropout_backward", dropout_backward, "dy"},
    {"embedding", embedding, "table"},
    {"embedding_backward", embedding_backward, "indices"},
    {"gemm", gemm, "a"},
    {"gemm_backward", gemm_backward, "b"},
    {"loss", loss, "x"},
    {"loss_backward", loss_backward, "x"},
    {"norm", norm, "x"},
    {"norm_backward", norm_backward, "x"},
    {"one_hot", one_hot, "labels"},
    {"pad", pad, "x"},
    {"pad_backward", pad_backward, "dy"},
    {"pool", pool, "x"},
    {"pool_backward", pool_backward, "dx"},
    {"quantize", quantize, "x"},
    {"quantized_conv", quantized_conv, "x"},
    {"quantized_gemm", quantized_gemm, "a"},
    {"reduce", reduce, "x"},
    {"reduce_backward", reduce_backward, "x"},
    {"rnn", rnn, "x"},
    {"rnn_backward", rnn_backward, "x"},
    {"rotary", rotary, "x"},
    {"rotary_backward", rotary_backward, "dy"},
    {"softmax", softmax, "x"},
    {"softmax_backward", softmax_backward, "y"},
    {"unary", unary, "x"},
    {"unary_backward", unary_backward, "dy"},
    {"where", where, "condition"},
    {"where_backward", where_backward, "dy"},
};
enum { CALLS = sizeof calls / sizeof *calls };

START_TEST(more_than_any_memory_is_refused)
{
    static const int64_t many[] = {(INT64_C(1) << 61) - 1, INT64_C(1) << 61, (INT64_C(1) << 61) + 1,
                                   INT64_C(1) << 62,       INT64_MAX - 1,    INT64_MAX};
    char argument[40];
    snprintf(argument, sizeof argument, "%s: its size", calls[_i].argument);
    for (size_t i = 0; i < sizeof many / sizeof *many; i++)
        test_refused(calls[_i].call(test_silent_queue(), many[i]), HUSK_INVALID_ARGUMENT, argument);
}
END_TEST

// ---- sizes that each can be, and are too much together ----

START_TEST(the_limit_is_of_elements)
{
    const int64_t most = INT64_C(1) << 52;
    // Reckoned with all bits, the workspace of so many lookups is more than any device has.
    test_refused(embedding_backward(test_silent_queue(), most), HUSK_UNSUPPORTED, "bytes of workspace");
    test_refused(embedding_backward(test_silent_queue(), most + 1), HUSK_INVALID_ARGUMENT, "indices: its size");
    test_refused(reduce(test_silent_queue(), most + 1), HUSK_INVALID_ARGUMENT, "x: its size");
    // Of what is empty the other dimensions count.
    const husk_tensor x = REPEATED(HUSK_F32, 0, most + 1);
    test_refused(husk_copy(test_silent_queue(), NULL, &x, &x), HUSK_INVALID_ARGUMENT, "x: its size");
}
END_TEST

START_TEST(matrices_that_one_serves)
{
    const int64_t batch = INT64_C(1) << 45, k = INT64_C(1) << 20;
    const husk_tensor a = {.rank = 2, .shape = {1, k}}, b = {.rank = 2, .shape = {k, 1}};
    const husk_tensor c = {.rank = 3, .shape = {batch, 1, 1}};
    husk_tensor bytes_a = a, bytes_b = b;
    bytes_a.dtype = HUSK_U8;
    bytes_b.dtype = HUSK_I8;
    husk_error error = {0};
    husk_plan *plan;
    test_refused_error(husk_gemm_plan_create(test_context(), NULL, &a, &b, NULL, &c, &plan, &error), &error,
                       HUSK_INVALID_ARGUMENT, "c: its");
    test_refused_error(
        husk_quantized_gemm_plan_create(test_context(), NULL, &bytes_a, &bytes_b, NULL, NULL, &c, &plan, &error),
        &error, HUSK_INVALID_ARGUMENT, "c: its");
}
END_TEST

START_TEST(windows_over_nothing_but_padding)
{
    // An image of 2^29 to each side, of which y has one place.
    const int64_t pad = (1 << 28) - 1, step = (1 << 29) - 2;
    const husk_conv_params params = HUSK_CONV_PARAMS(.pad = {pad, pad, pad}, .dilation = {step, step, step});
    const husk_tensor x = {.rank = 5, .shape = {1, 1, 1, 1, 1}}, w = {.rank = 5, .shape = {1, 1, 2, 2, 2}}, y = x;
    husk_error error = {0};
    husk_plan *plan;
    test_refused_error(husk_conv_plan_create(test_context(), &params, &x, &w, NULL, &y, &plan, &error), &error,
                       HUSK_UNSUPPORTED, "x with its padding");
}
END_TEST

START_TEST(windows_of_expanded_inputs)
{
    const husk_tensor x = REPEATED_FIRST(HUSK_F32, 1 << 28, 1, 1 << 20), dw = PACKED(HUSK_F32, 1, 1, 9);
    const husk_conv_params params = HUSK_CONV_PARAMS(.pad = {4});
    test_refused(husk_conv_backward_weights(test_silent_queue(), &params, &x, &x, &dw, NULL), HUSK_UNSUPPORTED,
                 "windows of w");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("expanded");
    TCase *tests = tcase_create("expanded");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, more_than_any_memory_is_refused, 0, CALLS);
    tcase_add_test(tests, the_limit_is_of_elements);
    tcase_add_test(tests, matrices_that_one_serves);
    tcase_add_test(tests, windows_over_nothing_but_padding);
    tcase_add_test(tests, windows_of_expanded_inputs);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
