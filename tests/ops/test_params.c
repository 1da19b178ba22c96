// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=60
// Every call that takes a params struct refuses one whose size is not this version's: one that nobody has made (0), an
// older and a newer one. It says so before it looks at any tensor, names the argument and what sets the size, and
// enqueues nothing. include/husk/ops is read for calls that are not in the list.
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

static husk_queue *queue;
static husk_context *context;
static husk_error *error;
static husk_plan *plan;
static int64_t shape[HUSK_MAX_RANK];
// Other structs have their sizes, and no tensor.
static const husk_rnn_inputs inputs = {.size = sizeof(husk_rnn_inputs)};
static const husk_rnn_outputs outputs = {.size = sizeof(husk_rnn_outputs)};
static const husk_rnn_gradients gradients = {.size = sizeof(husk_rnn_gradients)};

#define CALL(name, type, ...)                     \
    static husk_status call_##name(const void *p) \
    {                                             \
        const husk_##type##_params *params = p;   \
        return husk_##name(__VA_ARGS__);          \
    }
CALL(activation, activation, queue, params, NULL, NULL)
CALL(activation_backward, activation, queue, params, NULL, NULL, NULL, NULL)
CALL(attention, attention, queue, params, NULL, NULL, NULL, NULL, NULL, NULL)
CALL(attention_backward, attention, queue, params, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
CALL(binary, binary, queue, params, NULL, NULL, NULL)
CALL(binary_backward, binary, queue, params, NULL, NULL, NULL, NULL, NULL)
CALL(concat, concat, queue, params, NULL, 0, NULL)
CALL(concat_backward, concat, queue, params, NULL, NULL, NULL, 0)
CALL(conv, conv, queue, params, NULL, NULL, NULL, NULL)
CALL(conv_output_shape, conv, params, NULL, NULL, shape, error)
CALL(conv_plan_create, conv, context, params, NULL, NULL, NULL, NULL, &plan, error)
CALL(conv_backward_data, conv, queue, params, NULL, NULL, NULL)
CALL(conv_backward_weights, conv, queue, params, NULL, NULL, NULL, NULL)
CALL(conv_transpose, conv, queue, params, NULL, NULL, NULL, NULL)
CALL(copy, copy, queue, params, NULL, NULL)
CALL(dequantize, dequantize, queue, params, NULL, NULL, NULL, NULL)
CALL(dropout, dropout, queue, params, NULL, NULL)
CALL(dropout_backward, dropout, queue, params, NULL, NULL)
CALL(embedding, embedding, queue, params, NULL, NULL, NULL)
CALL(embedding_backward, embedding, queue, params, NULL, NULL, NULL)
CALL(gemm, gemm, queue, params, 0, NULL, NULL, NULL, 0, NULL)
CALL(gemm_plan_create, gemm, context, params, NULL, NULL, NULL, NULL, &plan, error)
CALL(gemm_backward, gemm, queue, params, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
CALL(gemm_backward_plan_create, gemm, context, params, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &plan,
     error)
CALL(grad_norm, grad_norm, queue, params, NULL, 0, NULL, NULL)
CALL(grad_scale, grad_scale, queue, params, NULL, 0, NULL, NULL)
CALL(loss, loss, queue, params, NULL, NULL, NULL, NULL, NULL)
CALL(loss_backward, loss, queue, params, NULL, NULL, NULL, NULL, NULL, NULL)
CALL(norm, norm, queue, params, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
CALL(norm_backward, norm, queue, params, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
CALL(one_hot, one_hot, queue, params, NULL, NULL)
CALL(optimizer, optimizer, queue, params, NULL, NULL, NULL, NULL, NULL)
CALL(pad, pad, queue, params, NULL, NULL)
CALL(pad_backward, pad, queue, params, NULL, NULL)
CALL(pool, pool, queue, params, NULL, NULL, NULL)
CALL(pool_output_shape, pool, params, NULL, shape, error)
CALL(pool_backward, pool, queue, params, NULL, NULL, NULL, NULL)
CALL(quantize, quantize, queue, params, NULL, NULL, NULL, NULL)
CALL(quantized_conv, quantized_conv, queue, params, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
CALL(quantized_conv_plan_create, quantized_conv, context, params, NULL, NULL, NULL, NULL, NULL, &plan, error)
CALL(quantized_gemm, quantized_gemm, queue, params, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
CALL(quantized_gemm_plan_create, quantized_gemm, context, params, NULL, NULL, NULL, NULL, NULL, &plan, error)
CALL(reduce, reduce, queue, params, NULL, NULL)
CALL(reduce_backward, reduce, queue, params, NULL, NULL, NULL, NULL)
CALL(rnn, rnn, queue, params, &inputs, &outputs)
CALL(rnn_plan_create, rnn, context, params, &inputs, &outputs, &plan, error)
CALL(rnn_backward, rnn, queue, params, &inputs, &outputs, &outputs, &gradients)
CALL(rnn_backward_plan_create, rnn, context, params, &inputs, &outputs, &outputs, &gradients, &plan, error)
CALL(rotary, rotary, queue, params, NULL, NULL, NULL, NULL, NULL)
CALL(rotary_backward, rotary, queue, params, NULL, NULL, NULL, NULL, NULL)
CALL(softmax, softmax, queue, params, NULL, NULL)
CALL(softmax_backward, softmax, queue, params, NULL, NULL, NULL)
CALL(unary, unary, queue, params, NULL, NULL)
CALL(unary_backward, unary, queue, params, NULL, NULL, NULL, NULL)
CALL(where, where, queue, params, NULL, NULL, NULL, NULL)
CALL(where_backward, where, queue, params, NULL, NULL, NULL, NULL)

#define ROW(name, type)                                                 \
    {                                                                   \
        "husk_" #name, #type, call_##name, sizeof(husk_##type##_params) \
    }
static const struct {
    const char *name, *type;
    husk_status (*call)(const void *params);
    uint32_t size;
} calls[] = {
    ROW(activation, activation),
    ROW(activation_backward, activation),
    ROW(attention, attention),
    ROW(attention_backward, attention),
    ROW(binary, binary),
    ROW(binary_backward, binary),
    ROW(concat, concat),
    ROW(concat_backward, concat),
    ROW(conv, conv),
    ROW(conv_output_shape, conv),
    ROW(conv_plan_create, conv),
    ROW(conv_backward_data, conv),
    ROW(conv_backward_weights, conv),
    ROW(conv_transpose, conv),
    ROW(copy, copy),
    ROW(dequantize, dequantize),
    ROW(dropout, dropout),
    ROW(dropout_backward, dropout),
    ROW(embedding, embedding),
    ROW(embedding_backward, embedding),
    ROW(gemm, gemm),
    ROW(gemm_plan_create, gemm),
    ROW(gemm_backward, gemm),
    ROW(gemm_backward_plan_create, gemm),
    ROW(grad_norm, grad_norm),
    ROW(grad_scale, grad_scale),
    ROW(loss, loss),
    ROW(loss_backward, loss),
    ROW(norm, norm),
    ROW(norm_backward, norm),
    ROW(one_hot, one_hot),
    ROW(optimizer, optimizer),
    ROW(pad, pad),
    ROW(pad_backward, pad),
    ROW(pool, pool),
    ROW(pool_output_shape, pool),
    ROW(pool_backward, pool),
    ROW(quantize, quantize),
    ROW(quantized_conv, quantized_conv),
    ROW(quantized_conv_plan_create, quantized_conv),
    ROW(quantized_gemm, quantized_gemm),
    ROW(quantized_gemm_plan_create, quantized_gemm),
    ROW(reduce, reduce),
    ROW(reduce_backward, reduce),
    ROW(rnn, rnn),
    ROW(rnn_plan_create, rnn),
    ROW(rnn_backward, rnn),
    ROW(rnn_backward_plan_create, rnn),
    ROW(rotary, rotary),
    ROW(rotary_backward, rotary),
    ROW(softmax, softmax),
    ROW(softmax_backward, softmax),
    ROW(unary, unary),
    ROW(unary_backward, unary),
    ROW(where, where),
    ROW(where_backward, where),
};
enum { CALLS = sizeof calls / sizeof *calls };

static const char *said(husk_status status)
{
    (void)status;
    return error->text[0] ? error->text : husk_queue_error(queue)->text;
}

// What a struct is made by: a macro, or a function where 0 is no default for some member.
static void name_maker(const char *type, char *maker, size_t capacity)
{
    static const char *const made_by_function[] = {"binary", "grad_scale", "loss", "norm", "one_hot", "softmax"};
    for (size_t i = 0; i < sizeof made_by_function / sizeof *made_by_function; i++)
        if (!strcmp(type, made_by_function[i])) {
            snprintf(maker, capacity, ": husk_%s_defaults of this", type);
            return;
        }
    snprintf(maker, capacity, ": HUSK_%s_PARAMS of this", type);
    for (char *at = maker; *at && strncmp(at, " of this", 8) != 0; at++)
        *at = (char)toupper((unsigned char)*at);
    if (!strcmp(type, "optimizer"))
        snprintf(maker, capacity, ": husk_sgd, husk_adam ... of this");
}

START_TEST(another_size_is_refused)
{
    const uint32_t size = calls[_i].size, wrong[] = {0, 4, size - 4, size - 8, size + 8, UINT32_MAX};
    char name[80], maker[80];
    queue = test_silent_queue();
    context = test_context();
    uint32_t *params = calloc(1, size + 8); // zeros: the size alone is wrong
    ck_assert_ptr_nonnull(params);
    snprintf(name, sizeof name, "%s: params: size is ", calls[_i].name);
    name_maker(calls[_i].type, maker, sizeof maker);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        husk_error own = {0};
        error = &own;
        params[0] = wrong[i];
        const husk_status status = calls[_i].call(params);
        ck_assert_msg(status == HUSK_INVALID_ARGUMENT, "%s: size %u: %s", calls[_i].name, (unsigned)wrong[i],
                      husk_status_name(status));
        ck_assert_msg(!strncmp(said(status), name, strlen(name)), "%s: size %u: %s", calls[_i].name, (unsigned)wrong[i],
                      said(status));
        ck_assert_msg(strstr(said(status), maker) != NULL, "%s: %s is not in it", said(status), maker);
        ck_assert_ptr_null(plan);
    }
    free(params);
}
END_TEST

// Names behind "HUSK_API husk_status " whose arguments have "_params *params".
static void check_header(const char *path)
{
    static char text[1 << 17];
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    for (char *at = text; (at = strstr(at, "HUSK_API husk_status husk_"));) {
        char *name = at + strlen("HUSK_API husk_status "), *end = strchr(name, ';');
        ck_assert_ptr_nonnull(end);
        *end = '\0';
        if (strstr(name, "_params *params")) {
            name[strcspn(name, "(")] = '\0';
            int known = 0;
            for (int i = 0; i < CALLS; i++)
                known += !strcmp(calls[i].name, name);
            ck_assert_msg(known == 1, "%s of %s is in the list %d times", name, path, known);
        }
        at = end + 1;
    }
}

START_TEST(no_call_is_missing)
{
    const char *folder = HUSK_SOURCE_DIR "/include/husk/ops";
    DIR *directory = opendir(folder);
    ck_assert_ptr_nonnull(directory);
    int headers = 0;
    for (struct dirent *entry; (entry = readdir(directory));) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (strstr(entry->d_name, ".h")) {
            check_header(path);
            headers++;
        }
    }
    closedir(directory);
    ck_assert_int_gt(headers, 20);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("params");
    TCase *tests = tcase_create("params");
    tcase_add_loop_test(tests, another_size_is_refused, 0, CALLS);
    tcase_add_test(tests, no_call_is_missing);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
