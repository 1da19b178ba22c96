// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=60 with=whole_gradient
// Building a graph (husk/train/graph.h, layers.h): each rule of each call is broken once, in a graph of its own.
#include "support/support.h"
#include "train/refusals.h"
#include "train/whole_gradient.h"

static husk_error error;
static husk_graph *g;
static husk_value x, flat, image, wide, row, seq, heads, labels, bytes, w, square, stat, none = HUSK_NO_VALUE;
static char long_name[202], full_name[201];

static husk_value of(const char *name, husk_dtype dtype, int32_t rank, const int64_t *shape)
{
    husk_value made = husk_graph_input(g, name, dtype, rank, shape);
    ck_assert_msg(made != HUSK_NO_VALUE, "%s", husk_graph_error(g)->text);
    return made;
}

static void begin(husk_dtype dtype)
{
    memset(long_name, 'n', sizeof long_name - 1);
    memset(full_name, 'n', sizeof full_name - 1);
    g = test_graph(dtype, 3);
    x = of("x", dtype, 2, (int64_t[]){4, 6});
    flat = of("flat", dtype, 0, NULL);
    image = of("image", dtype, 4, (int64_t[]){2, 4, 8, 8});
    wide = of("wide", dtype, 8, (int64_t[]){1, 1, 1, 1, 1, 1, 2, 3});
    row = of("row", dtype, 1, (int64_t[]){6});
    seq = of("seq", dtype, 3, (int64_t[]){3, 2, 5});
    heads = of("heads", dtype, 4, (int64_t[]){2, 4, 3, 8});
    labels = of("labels", HUSK_I32, 1, (int64_t[]){4});
    bytes = of("bytes", HUSK_U8, 8, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 2});
    w = husk_graph_parameter(g, "w", 4, (int64_t[]){4, 4, 3, 3}, NULL);
    square = husk_graph_parameter(g, "square", 2, (int64_t[]){6, 6}, NULL);
    stat = husk_graph_statistic(g, "stat", 4, 0);
    ck_assert_msg(square && stat, "%s", husk_graph_error(g)->text);
}

// The text, and that the first error stays: with the graph, its next value and its compiling.
static void expect(husk_status status, const char *words, const char *call, int line)
{
    char text[HUSK_ERROR_TEXT_CAPACITY];
    husk_graph_memory memory;
    strcpy(text, husk_graph_error(g)->text);
    ck_assert_msg(husk_graph_error(g)->status == status, "line %d: %s: %s", line, call, text);
    test_begins_with(text, words, call, line);
    ck_assert_int_eq(husk_graph_copy(g, NULL, x), HUSK_NO_VALUE);
    ck_assert_int_eq(husk_graph_measure(g, NULL, &memory, NULL), status);
    ck_assert_int_eq(husk_graph_compile(g, NULL, &error), status);
    ck_assert_str_eq(error.text, text);
    ck_assert_str_eq(husk_graph_error(g)->text, text);
    husk_graph_release(g);
}

#define REFUSED_IN(dtype, status, call, words)                           \
    do {                                                                 \
        begin(dtype);                                                    \
        ck_assert_msg(!(call), "line %d: %s is taken", __LINE__, #call); \
        expect(status, words, #call, __LINE__);                          \
    } while (0)
#define REFUSED(call, words) REFUSED_IN(HUSK_F32, HUSK_INVALID_ARGUMENT, call, words)
// A call that gives nothing back.
#define REFUSED_VOID(call, words) REFUSED(((call), 0), words)
// A parameter more, of this shape.
#define NEW(...) \
    husk_graph_parameter(g, NULL, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__}, NULL)

START_TEST(a_graph_is_made_of_what_there_is)
{
    husk_context *other;
    husk_queue *queue;
    husk_graph *graph = (husk_graph *)&error;
    husk_graph_params params = HUSK_GRAPH_PARAMS(.seed = 1);
    FAILS(husk_graph_create(test_context(), &params, NULL, &error), "husk_graph_create: graph: it is NULL");
    FAILS(husk_graph_create(NULL, &params, &graph, &error), "husk_graph_create: context: it is NULL");
    ck_assert_ptr_null(graph);
    params.dtype = HUSK_I32;
    FAILS(husk_graph_create(test_context(), &params, &graph, &error),
          "husk_graph_create: params: dtype i32 is none of f32, f16, bf16, f64");
    const uint32_t sizes[] = {0, 3, sizeof params + 1};
    for (size_t i = 0; i < 3; i++) {
        params = HUSK_GRAPH_PARAMS(.seed = 1);
        params.size = sizes[i];
        FAILS(husk_graph_create(test_context(), &params, &graph, &error), "husk_graph_create: params: size is ");
    }
    test_ok_error(husk_context_create(NULL, NULL, &other, &error), &error);
    test_ok_error(husk_queue_create(other, NULL, &queue, &error), &error);
    params = HUSK_GRAPH_PARAMS(.queue = queue);
    FAILS(husk_graph_create(test_context(), &params, &graph, &error),
          "husk_graph_create: params: queue belongs to another context");
    ck_assert_ptr_null(graph);
    husk_queue_release(queue);
    husk_context_release(other);
    ck_assert_int_eq(husk_graph_create(NULL, NULL, &graph, NULL), HUSK_INVALID_ARGUMENT);
    test_ok_error(husk_graph_create(test_context(), NULL, &graph, &error), &error); // with a queue of its own
    ck_assert_ptr_nonnull(husk_graph_queue(graph));
    ck_assert_ptr_ne(husk_graph_queue(graph), test_queue());
    husk_graph_release(graph);
    husk_graph_release(NULL);
}
END_TEST

START_TEST(no_graph_gives_no_value)
{
    int64_t shape[HUSK_MAX_RANK];
    husk_value h = 7, c = 7;
    ck_assert_ptr_nonnull(husk_graph_error(NULL));
    ck_assert_ptr_null(husk_graph_queue(NULL));
    ck_assert_int_eq(husk_graph_shape(NULL, 1, shape), -1);
    ck_assert_int_eq(husk_graph_freeze(NULL, "w"), HUSK_INVALID_ARGUMENT);
    husk_graph_output(NULL, "y", 1);
    husk_graph_input_gradient(NULL, "dx", 1);
    const husk_value made[] = {husk_graph_input(NULL, "x", HUSK_F32, 0, NULL),
                               husk_graph_parameter(NULL, "w", 0, NULL, NULL),
                               husk_graph_statistic(NULL, "s", 1, 0),
                               husk_graph_output_gradient(NULL, "dy", 1),
                               husk_graph_reshape(NULL, NULL, 1, 0, NULL),
                               husk_graph_permute(NULL, NULL, 1, NULL),
                               husk_graph_slice(NULL, NULL, 1, 0, 0, 1),
                               husk_graph_copy(NULL, NULL, 1),
                               husk_graph_cast(NULL, NULL, 1, HUSK_F32),
                               husk_graph_conv(NULL, NULL, NULL, 1, 1, 0),
                               husk_graph_gemm(NULL, NULL, NULL, 1, 1, 1, 0),
                               husk_graph_pool(NULL, NULL, NULL, 1),
                               husk_graph_activation(NULL, NULL, NULL, 1),
                               husk_graph_binary(NULL, NULL, NULL, 1, 1),
                               husk_graph_unary(NULL, NULL, NULL, 1),
                               husk_graph_softmax(NULL, NULL, NULL, 1),
                               husk_graph_reduce(NULL, NULL, NULL, 1),
                               husk_graph_concat(NULL, NULL, NULL, NULL, 0),
                               husk_graph_dropout(NULL, NULL, NULL, 1),
                               husk_graph_loss(NULL, NULL, NULL, 1, 1, 0, 0),
                               husk_graph_norm(NULL, NULL, NULL, 1, 0, 0, 0, 0),
                               husk_graph_embedding(NULL, NULL, NULL, 1, 1),
                               husk_graph_attention(NULL, NULL, NULL, 1, 1, 1, 0),
                               husk_graph_rnn(NULL, NULL, NULL, NULL, &h, &c),
                               husk_graph_conv_layer(NULL, NULL, NULL, 1),
                               husk_graph_linear(NULL, NULL, NULL, 1),
                               husk_graph_norm_layer(NULL, NULL, NULL, 1),
                               husk_graph_embedding_layer(NULL, NULL, NULL, 1),
                               husk_graph_rnn_layer(NULL, NULL, NULL, 1, 0, NULL, NULL),
                               husk_graph_distillation(NULL, NULL, NULL, 1, 1, 0)};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        ck_assert_msg(made[i] == HUSK_NO_VALUE, "number %zu", i);
    ck_assert(h == HUSK_NO_VALUE && c == HUSK_NO_VALUE);
    begin(HUSK_F32);
    ck_assert_int_eq(husk_graph_shape(g, HUSK_NO_VALUE, NULL), -1);
    ck_assert_int_eq(husk_graph_shape(g, -1, shape), -1);
    ck_assert_int_eq(husk_graph_shape(g, 1000, shape), -1);
    ck_assert_int_eq(husk_graph_shape(g, x, NULL), 2);
    husk_graph_release(g);
}
END_TEST

START_TEST(names)
{
    REFUSED(husk_graph_input(g, "", HUSK_F32, 0, NULL), "husk_graph_input: name: it has to have 1 to 200 characters");
    REFUSED(husk_graph_input(g, long_name, HUSK_F32, 0, NULL),
            "husk_graph_input: name: it has to have 1 to 200 characters");
    REFUSED(husk_graph_copy(g, "x", x), "husk_graph_copy: x: name: there is a value of this name already");
    REFUSED(husk_graph_linear(g, full_name, &HUSK_LINEAR_LAYER(.outputs = 2), x), "husk_graph_linear: nnn");
    ck_assert_ptr_nonnull(strstr(error.text, "n: name: with .weight it has more than 200 characters"));
    REFUSED((husk_graph_parameter(g, "fc.bias", 0, NULL, NULL),
             husk_graph_linear(g, "fc", &HUSK_LINEAR_LAYER(.outputs = 2), x)),
            "husk_graph_linear: fc: name: there is a value fc.bias already");
    REFUSED(
        (husk_graph_parameter(g, "n.running_mean", 0, NULL, NULL),
         husk_graph_norm_layer(g, "n",
                               &HUSK_NORM_LAYER(.params = &HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_BATCH,
                                                                     .axis = -1, .epsilon = 1e-5f, .momentum = 0.1f)),
                               x)),
        "husk_graph_norm_layer: n: name: there is a value n.running_mean already");
    REFUSED_VOID(husk_graph_output(g, NULL, x), "husk_graph_output: name: it is NULL");
    REFUSED_VOID(husk_graph_output(g, long_name, x), "husk_graph_output: name: it has to have 1 to 200 characters");
    REFUSED_VOID(husk_graph_output(g, "w", x),
                 "husk_graph_output: w: name: there is another value of this name already");
    REFUSED_VOID(husk_graph_output(g, "y", none), "husk_graph_output: y: value: it is HUSK_NO_VALUE");
    begin(HUSK_F32);
    ck_assert_int_ne(husk_graph_copy(g, full_name, x), HUSK_NO_VALUE);
    ck_assert_int_eq(husk_graph_freeze(g, NULL), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_graph_freeze(g, "square"), HUSK_INVALID_ARGUMENT); // the first error stays
    expect(HUSK_INVALID_ARGUMENT, "husk_graph_freeze: name: it is NULL", "husk_graph_freeze", __LINE__);
    begin(HUSK_F32);
    ck_assert_int_eq(husk_graph_freeze(g, "squ"), HUSK_INVALID_ARGUMENT);
    expect(HUSK_INVALID_ARGUMENT, "husk_graph_freeze: squ: name: no parameter is called so, or begins with it",
           "husk_graph_freeze", __LINE__);
    // Names that were taken are not made.
    begin(HUSK_F32);
    ck_assert_int_ne(husk_graph_input(g, "copy_2", HUSK_F32, 0, NULL), HUSK_NO_VALUE);
    husk_graph_copy(g, NULL, x);
    ck_assert_int_ne(husk_graph_copy(g, NULL, x), HUSK_NO_VALUE);
    ck_assert_int_eq(husk_graph_error(g)->status, HUSK_OK);
    husk_graph_release(g);
}
END_TEST

START_TEST(values_from_outside)
{
    static const int64_t huge[] = {INT64_C(1) << 31, INT64_C(1) << 31, 16};
    husk_initializer bad = HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_UNIFORM, .spread = -1), off = bad, short_one = {0};
    off.kind = (husk_initializer_kind)99;
    REFUSED(husk_graph_input(g, "i", HUSK_F16, 0, NULL),
            "husk_graph_input: i: dtype: f16 is neither the graph's, f32, nor i32, i64 or u8");
    REFUSED_IN(HUSK_F16, HUSK_INVALID_ARGUMENT, husk_graph_input(g, "i", HUSK_BF16, 0, NULL),
               "husk_graph_input: i: dtype: bf16 is neither the graph's, f16, nor f32, i32, i64 or u8");
    REFUSED(husk_graph_input(g, "i", HUSK_F32, -1, huge), "husk_graph_input: i: shape: a rank of 0 to 8");
    REFUSED(husk_graph_input(g, "i", HUSK_F32, 9, huge), "husk_graph_input: i: shape: a rank of 0 to 8");
    REFUSED(husk_graph_input(g, "i", HUSK_F32, 1, NULL), "husk_graph_input: i: shape: a rank of 0 to 8");
    REFUSED(husk_graph_input(g, "i", HUSK_F32, 2, (int64_t[]){2, 0}), "husk_graph_input: i: shape: dimension 1 is 0");
    REFUSED(husk_graph_input(g, "i", HUSK_F32, 3, huge), "husk_graph_input: i: shape: there are too many elements");
    REFUSED(husk_graph_parameter(g, "p", 1, (int64_t[]){-1}, NULL),
            "husk_graph_parameter: p: shape: dimension 0 is -1");
    REFUSED(husk_graph_parameter(g, "p", 3, huge, NULL), "husk_graph_parameter: p: shape: there are too many elements");
    REFUSED(husk_graph_parameter(g, "p", 0, NULL, &bad),
            "husk_graph_parameter: p: initializer: spread and gain must not be negative");
    REFUSED(husk_graph_parameter(g, "p", 0, NULL, &off),
            "husk_graph_parameter: p: initializer: kind 99 does not exist");
    REFUSED(husk_graph_parameter(g, "p", 0, NULL, &short_one), "husk_graph_parameter: p: initializer: size is 0");
    REFUSED(husk_graph_statistic(g, "s", 0, 0), "husk_graph_statistic: s: shape: dimension 0 is 0");
    REFUSED(husk_graph_statistic(g, "x", 1, 0), "husk_graph_statistic: x: name: there is a value");
    REFUSED(husk_graph_linear(g, "l", &HUSK_LINEAR_LAYER(.outputs = 2, .weight = &bad), x),
            "husk_graph_linear: l: initializer: spread and gain must not be negative");
    REFUSED(husk_graph_linear(g, "l", &HUSK_LINEAR_LAYER(.outputs = 2, .weight = &short_one), x),
            "husk_graph_linear: l: initializer: size is 0");
    REFUSED(husk_graph_linear(g, "l", &HUSK_LINEAR_LAYER(.outputs = 2, .bias = &off), x),
            "husk_graph_linear: l: initializer: kind 99 does not exist");
}
END_TEST

START_TEST(gradients_of_parts)
{
    REFUSED_VOID(husk_graph_input_gradient(g, "d", none), "husk_graph_input_gradient: d: input: it is HUSK_NO_VALUE");
    REFUSED_VOID(husk_graph_input_gradient(g, "d", labels), "husk_graph_input_gradient: d: input: its dtype is i32");
    REFUSED_VOID(husk_graph_input_gradient(g, "d", w), "husk_graph_input_gradient: d: input: it is no input");
    REFUSED_VOID((husk_graph_input_gradient(g, "d", x), husk_graph_input_gradient(g, "e", x)),
                 "husk_graph_input_gradient: e: input: its gradient has the name d already");
    REFUSED(husk_graph_output_gradient(g, "d", none), "husk_graph_output_gradient: d: result: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_output_gradient(g, "d", -3),
            "husk_graph_output_gradient: d: result: -3 is no value of this graph");
    REFUSED(husk_graph_output_gradient(g, "d", x), "husk_graph_output_gradient: d: result: no node computes it");
    begin(HUSK_F32);
    husk_value y = husk_graph_copy(g, "y", x);
    ck_assert_int_ne(husk_graph_output_gradient(g, "d", y), HUSK_NO_VALUE);
    ck_assert_int_eq(husk_graph_output_gradient(g, "e", y), HUSK_NO_VALUE);
    expect(HUSK_INVALID_ARGUMENT, "husk_graph_output_gradient: e: result: its gradient is d already", "twice",
           __LINE__);
}
END_TEST

START_TEST(views)
{
    REFUSED(husk_graph_reshape(g, "r", none, 1, (int64_t[]){24}), "husk_graph_reshape: r: x: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_reshape(g, "r", 999, 1, (int64_t[]){24}), "husk_graph_reshape: r: x: 999 is no value");
    REFUSED(husk_graph_reshape(g, "r", x, -1, (int64_t[]){24}), "husk_graph_reshape: r: shape: a rank of 0 to 8");
    REFUSED(husk_graph_reshape(g, "r", x, 9, (int64_t[]){24}), "husk_graph_reshape: r: shape: a rank of 0 to 8");
    REFUSED(husk_graph_reshape(g, "r", x, 1, NULL), "husk_graph_reshape: r: shape: a rank of 0 to 8");
    REFUSED(husk_graph_reshape(g, "r", x, 2, (int64_t[]){-1, -1}), "husk_graph_reshape: r: shape: dimension 1 is -1");
    REFUSED(husk_graph_reshape(g, "r", x, 2, (int64_t[]){24, 0}), "husk_graph_reshape: r: shape: dimension 1 is 0");
    REFUSED(husk_graph_reshape(g, "r", x, 1, (int64_t[]){25}), "husk_graph_reshape: r: shape: dimension 0 is 25");
    REFUSED(husk_graph_reshape(g, "r", x, 2, (int64_t[]){5, 5}),
            "husk_graph_reshape: r: shape: [5, 5], but x is [4, 6]");
    REFUSED(husk_graph_reshape(g, "r", x, 2, (int64_t[]){5, -1}), "husk_graph_reshape: r: shape: [5, ");
    REFUSED(husk_graph_permute(g, "p", none, (int32_t[]){1, 0}), "husk_graph_permute: p: x: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_permute(g, "p", x, NULL), "husk_graph_permute: p: order: ");
    REFUSED(husk_graph_permute(g, "p", x, (int32_t[]){1, 1}), "husk_graph_permute: p: order: ");
    REFUSED(husk_graph_permute(g, "p", x, (int32_t[]){1, -1}), "husk_graph_permute: p: order: ");
    REFUSED(husk_graph_permute(g, "p", x, (int32_t[]){0, 2}), "husk_graph_permute: p: order: ");
    REFUSED(husk_graph_slice(g, "s", none, 0, 0, 1), "husk_graph_slice: s: x: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_slice(g, "s", x, -3, 0, 1),
            "husk_graph_slice: s: axis: is -3, must be -2 to 1: x has 2 dimensions");
    REFUSED(husk_graph_slice(g, "s", x, 2, 0, 1),
            "husk_graph_slice: s: axis: is 2, must be -2 to 1: x has 2 dimensions");
    REFUSED(husk_graph_slice(g, "s", x, 1, -1, 1), "husk_graph_slice: s: count: 1 elements from -1 on of 6");
    REFUSED(husk_graph_slice(g, "s", x, 1, 0, 0), "husk_graph_slice: s: count: 0 elements from 0 on of 6");
    REFUSED(husk_graph_slice(g, "s", x, 1, 0, 7), "husk_graph_slice: s: count: 7 elements from 0 on of 6");
    REFUSED(husk_graph_slice(g, "s", x, 1, 5, 2), "husk_graph_slice: s: count: 2 elements from 5 on of 6");
    REFUSED(husk_graph_copy(g, "c", none), "husk_graph_copy: c: x: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_cast(g, "c", none, HUSK_F32), "husk_graph_cast: c: x: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_cast(g, "c", x, HUSK_F16), "husk_graph_cast: c: dtype: f16; f32 is wanted");
    REFUSED_IN(HUSK_F16, HUSK_INVALID_ARGUMENT, husk_graph_cast(g, "c", x, HUSK_I32),
               "husk_graph_cast: c: dtype: i32; f16 or f32 is wanted");
    if (husk_context_has(test_context(), HUSK_FEATURE_F64))
        REFUSED_IN(HUSK_F64, HUSK_UNSUPPORTED, husk_graph_cast(g, "c", labels, HUSK_F64),
                   "husk_graph_cast: c: x: i32 does not become f64");
}
END_TEST

START_TEST(products)
{
    husk_conv_params conv = HUSK_CONV_PARAMS(.pad = {1, 1}), odd = conv;
    husk_gemm_params gemm = HUSK_GEMM_PARAMS(.transpose_b = 1), off = gemm;
    odd.activation = (husk_act)99;
    off.activation = (husk_act)99;
    REFUSED(husk_graph_conv(g, "c", NULL, none, w, none), "husk_graph_conv: c: x: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_conv(g, "c", NULL, image, none, none), "husk_graph_conv: c: w: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_conv(g, "c", NULL, labels, w, none),
            "husk_graph_conv: c: x: its dtype is i32, the graph's is f32");
    REFUSED(husk_graph_conv(g, "c", NULL, image, labels, none), "husk_graph_conv: c: w: its dtype is i32");
    REFUSED(husk_graph_conv(g, "c", NULL, x, w, none), "husk_graph_conv: c: x: ");
    REFUSED(husk_graph_conv(g, "c", NULL, image, square, none), "husk_graph_conv: c: w: ");
    REFUSED(husk_graph_conv(g, "c", &conv, image, w, row), "husk_graph_conv: c: bias: its shape is [6]; [4] is wanted");
    REFUSED(husk_graph_conv(g, "c", &conv, image, w, x),
            "husk_graph_conv: c: bias: its shape is [4, 6]; [4] is wanted");
    REFUSED(husk_graph_conv(g, "c", &conv, image, w, labels), "husk_graph_conv: c: bias: its dtype is i32");
    REFUSED(husk_graph_conv(g, "c", &odd, image, w, none),
            "husk_graph_conv: c: params: activation 99 is none of husk_act");
    conv.size = 1000;
    REFUSED(husk_graph_conv(g, "c", &conv, image, w, none), "husk_graph_conv: c: params: size is 1000");
    REFUSED(husk_graph_gemm(g, "m", NULL, 1, none, square, none), "husk_graph_gemm: m: a: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_gemm(g, "m", NULL, 1, x, none, none), "husk_graph_gemm: m: b: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_gemm(g, "m", NULL, 1, row, square, none),
            "husk_graph_gemm: m: a: its shape is [6]; a matrix or a batch of them is wanted");
    REFUSED(husk_graph_gemm(g, "m", NULL, 1, x, w, none),
            "husk_graph_gemm: m: b: its shape is [4, 4, 3, 3]; a matrix or a batch of them is wanted");
    REFUSED(husk_graph_gemm(g, "m", NULL, 1, square, x, none), "husk_graph_gemm: m: b: 4 products a sum, a has 6");
    REFUSED(husk_graph_gemm(g, "m", NULL, 1, NEW(2, 4, 6), NEW(3, 6, 5), none),
            "husk_graph_gemm: m: b: a batch of 3, a's is 2");
    REFUSED(husk_graph_gemm(g, "m", NULL, 1, x, square, NEW(4)),
            "husk_graph_gemm: m: bias: its shape is [4]; [6] or [4, 1] is wanted");
    REFUSED(husk_graph_gemm(g, "m", NULL, 1, x, square, NEW(6, 1)),
            "husk_graph_gemm: m: bias: its shape is [6, 1]; [6] or [4, 1] is wanted");
    REFUSED(husk_graph_gemm(g, "m", NULL, 1, x, square, NEW(4, 6)),
            "husk_graph_gemm: m: bias: its shape is [4, 6]; [6] or [4, 1] is wanted");
    REFUSED(husk_graph_gemm(g, "m", NULL, 1, x, square, labels), "husk_graph_gemm: m: bias: its dtype is i32");
    REFUSED(husk_graph_gemm(g, "m", &off, 1, x, square, none),
            "husk_graph_gemm: m: params: activation 99 does not exist");
    gemm.size = 1;
    REFUSED(husk_graph_gemm(g, "m", &gemm, 1, x, square, none), "husk_graph_gemm: m: params: size is 1");
    REFUSED(husk_graph_pool(g, "p", &HUSK_POOL_PARAMS(.window = {2, 2}), none),
            "husk_graph_pool: p: x: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_pool(g, "p", &HUSK_POOL_PARAMS(.window = {2, 2}), x), "husk_graph_pool: p: x: ");
    REFUSED(husk_graph_pool(g, "p", NULL, image), "husk_graph_pool: p: params: ");
    REFUSED(husk_graph_pool(g, "p", &HUSK_POOL_PARAMS(.kind = (husk_pool_kind)99, .window = {2, 2}), image),
            "husk_graph_pool: p: params: ");
    REFUSED(husk_graph_pool(g, "p", &(husk_pool_params){.size = 2}, image), "husk_graph_pool: p: params: size is 2");
}
END_TEST

START_TEST(what_is_done_to_each_element)
{
    REFUSED(husk_graph_activation(g, "a", &HUSK_ACTIVATION_PARAMS(.activation = (husk_act)99), x),
            "husk_graph_activation: a: params: activation 99 does not exist");
    REFUSED(husk_graph_activation(g, "a", &(husk_activation_params){.size = 1}, x),
            "husk_graph_activation: a: params: size is 1");
    REFUSED(husk_graph_activation(g, "a", NULL, none), "husk_graph_activation: a: x: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_activation(g, "a", NULL, labels), "husk_graph_activation: a: x: its dtype is i32");
    REFUSED(husk_graph_binary(g, "b", NULL, none, x), "husk_graph_binary: b: a: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_binary(g, "b", NULL, x, none), "husk_graph_binary: b: b: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_binary(g, "b", NULL, x, labels), "husk_graph_binary: b: b: its dtype is i32");
    REFUSED(husk_graph_binary(g, "b", NULL, x, NEW(4)), "husk_graph_binary: b: b: its shape is [4]");
    REFUSED(husk_graph_binary(g, "b", &HUSK_MAKE(husk_binary_params, .op = (husk_binary_op)99, .alpha = 1, .beta = 1),
                              x, x),
            "husk_graph_binary: b: params: op 99 does not exist");
    REFUSED(husk_graph_binary(g, "b", &(husk_binary_params){.size = 1}, x, x),
            "husk_graph_binary: b: params: size is 1");
    REFUSED_IN(HUSK_F16, HUSK_INVALID_ARGUMENT,
               husk_graph_binary(g, "b", NULL, x, husk_graph_cast(g, "f", x, HUSK_F32)),
               "husk_graph_binary: b: b: its dtype is f32, and what was given before is f16; husk_graph_cast makes");
    REFUSED(husk_graph_unary(g, "u", &HUSK_UNARY_PARAMS(.op = (husk_unary_op)99), x),
            "husk_graph_unary: u: params: op 99 does not exist");
    REFUSED(husk_graph_unary(g, "u", &(husk_unary_params){.size = 1}, x), "husk_graph_unary: u: params: size is 1");
    REFUSED(husk_graph_unary(g, "u", NULL, none), "husk_graph_unary: u: x: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_softmax(g, "s", &(husk_softmax_params){.size = 1}, x),
            "husk_graph_softmax: s: params: size is 1");
    REFUSED(husk_graph_softmax(g, "s", NULL, none), "husk_graph_softmax: s: x: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_softmax(g, "s", NULL, flat),
            "husk_graph_softmax: s: params: axis is -1, must be 0 to -1: x has 0");
    REFUSED(husk_graph_softmax(g, "s", &HUSK_MAKE(husk_softmax_params, .axis = 2), x),
            "husk_graph_softmax: s: params: axis is 2, must be -2 to 1: x has 2 dimensions");
    REFUSED(husk_graph_reduce(g, "r", &(husk_reduce_params){.size = 1}, x), "husk_graph_reduce: r: params: size is 1");
    REFUSED(husk_graph_reduce(g, "r", NULL, none), "husk_graph_reduce: r: x: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_reduce(g, "r", &HUSK_REDUCE_PARAMS(.kind = (husk_reduce_kind)99), x),
            "husk_graph_reduce: r: params: kind 99 does not exist");
    REFUSED(husk_graph_reduce(g, "r", &HUSK_REDUCE_PARAMS(.axis_count = 1, .axes = {-3}), x),
            "husk_graph_reduce: r: params: axes[0] is -3, must be -2 to 1: x has 2 dimensions");
    REFUSED(husk_graph_dropout(g, "d", &(husk_dropout_params){.size = 1}, x),
            "husk_graph_dropout: d: params: size is 1");
    REFUSED(husk_graph_dropout(g, "d", NULL, none), "husk_graph_dropout: d: x: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_dropout(g, "d", &HUSK_DROPOUT_PARAMS(.p = -0.1f), x),
            "husk_graph_dropout: d: params: p is -0.1");
    REFUSED(husk_graph_dropout(g, "d", &HUSK_DROPOUT_PARAMS(.p = 1.5f), x), "husk_graph_dropout: d: params: p is 1.5");
    REFUSED(husk_graph_concat(g, "c", &(husk_concat_params){.size = 1}, &x, 1),
            "husk_graph_concat: c: params: size is 1");
    REFUSED(husk_graph_concat(g, "c", NULL, NULL, 1), "husk_graph_concat: c: inputs: one at least is wanted");
    REFUSED(husk_graph_concat(g, "c", NULL, &x, 0), "husk_graph_concat: c: inputs: one at least is wanted");
    REFUSED(husk_graph_concat(g, "c", NULL, &none, 1), "husk_graph_concat: c: inputs: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_concat(g, "c", NULL, &flat, 1),
            "husk_graph_concat: c: params: axis is 0, must be 0 to -1: inputs[0] has 0 dimensions");
    REFUSED(husk_graph_concat(g, "c", &HUSK_CONCAT_PARAMS(.axis = 2), &x, 1),
            "husk_graph_concat: c: params: axis is 2, must be -2 to 1: inputs[0] has 2 dimensions");
    REFUSED(husk_graph_concat(g, "c", &HUSK_CONCAT_PARAMS(.axis = -3), &x, 1),
            "husk_graph_concat: c: params: axis is -3, must be -2 to 1: inputs[0] has 2 dimensions");
    REFUSED(husk_graph_concat(g, "c", NULL, (husk_value[]){x, row}, 2),
            "husk_graph_concat: c: inputs: number 1 has the shape [6], the first one [4, 6]");
}
END_TEST

START_TEST(losses)
{
#define LOSS(...) &HUSK_MAKE(husk_loss_params, __VA_ARGS__)
    REFUSED(husk_graph_loss(g, "l", NULL, none, labels, none, none), "husk_graph_loss: l: x: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_loss(g, "l", NULL, labels, labels, none, none), "husk_graph_loss: l: x: its dtype is i32");
    REFUSED(husk_graph_loss(g, "l", NULL, x, none, none, none), "husk_graph_loss: l: target: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_loss(g, "l", &(husk_loss_params){.size = 1}, x, labels, none, none),
            "husk_graph_loss: l: params: size is 1");
    REFUSED(husk_graph_loss(g, "l", LOSS(.kind = (husk_loss_kind)99), x, labels, none, none),
            "husk_graph_loss: l: params: kind 99 or reduction 0 does not exist");
    REFUSED(husk_graph_loss(g, "l", LOSS(.reduction = (husk_loss_reduction)99), x, labels, none, none),
            "husk_graph_loss: l: params: kind 0 or reduction 99 does not exist");
    REFUSED(husk_graph_loss(g, "l", NULL, flat, labels, none, none),
            "husk_graph_loss: l: x: its shape is []; [C] or [N, C, ...] is wanted");
    REFUSED(husk_graph_loss(g, "l", NULL, image, labels, none, none),
            "husk_graph_loss: l: target: labels of shape [4]; x's without the classes is [2, 8, 8]");
    REFUSED(husk_graph_loss(g, "l", NULL, x, bytes, none, none),
            "husk_graph_loss: l: target: its dtype is u8; i32 or i64, labels, or x's is wanted");
    REFUSED(husk_graph_loss(g, "l", LOSS(.kind = HUSK_LOSS_NEGATIVE_LOG), x, x, none, none),
            "husk_graph_loss: l: target: its dtype is f32; i32 or i64, labels is wanted");
    REFUSED(husk_graph_loss(g, "l", LOSS(.kind = HUSK_LOSS_MEAN_SQUARE), x, labels, none, none),
            "husk_graph_loss: l: target: its dtype is i32; x's is wanted");
    REFUSED(husk_graph_loss(g, "l", LOSS(.kind = HUSK_LOSS_MEAN_SQUARE), x, row, none, none),
            "husk_graph_loss: l: target: its shape is [6], x's is [4, 6]");
    REFUSED(husk_graph_loss(g, "l", NULL, x, labels, NEW(4), none),
            "husk_graph_loss: l: weight: its shape is [4]; [6] is wanted, the classes");
    REFUSED(husk_graph_loss(g, "l", NULL, x, labels, x, none), "husk_graph_loss: l: weight: its shape is [4, 6]; [6]");
    REFUSED(husk_graph_loss(g, "l", NULL, x, labels, labels, none), "husk_graph_loss: l: weight: its dtype is i32");
    REFUSED(husk_graph_loss(g, "l", LOSS(.kind = HUSK_LOSS_MEAN_SQUARE), x, x, x, none),
            "husk_graph_loss: l: weight: mean_square has none");
    REFUSED(husk_graph_loss(g, "l", NULL, x, labels, none, row),
            "husk_graph_loss: l: positive_weight: cross_entropy has none");
    REFUSED(husk_graph_loss(g, "l", NULL, x, labels, none, labels),
            "husk_graph_loss: l: positive_weight: its dtype is i32");
    REFUSED(husk_graph_loss(g, "l", LOSS(.kind = HUSK_LOSS_BINARY_LOGITS), x, x, NEW(4), none),
            "husk_graph_loss: l: weight: its shape is [4]; what can be broadcast to x's, [4, 6], is wanted");
    REFUSED(husk_graph_loss(g, "l", LOSS(.kind = HUSK_LOSS_BINARY_LOGITS), x, x, row, NEW(1, 4, 6)),
            "husk_graph_loss: l: positive_weight: its shape is [1, 4, 6]; what can be broadcast to x's, [4, 6]");
    REFUSED(husk_graph_distillation(g, "d", NULL, none, x, none), "husk_graph_distillation: d: x: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_distillation(g, "d", NULL, x, none, none), "husk_graph_distillation: d: teacher: it is HUSK_NO");
    REFUSED(husk_graph_distillation(g, "d", &(husk_distillation_params){.size = 1}, x, x, none),
            "husk_graph_distillation: d: params: size is 1");
}
END_TEST

START_TEST(normalisation)
{
#define NORM(...) &HUSK_MAKE(husk_norm_params, __VA_ARGS__)
    husk_norm_params batch = husk_norm_defaults(HUSK_NORM_BATCH);
    REFUSED(husk_graph_norm(g, "n", NULL, none, none, none, none, none), "husk_graph_norm: n: x: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_norm(g, "n", &(husk_norm_params){.size = 1}, x, none, none, none, none),
            "husk_graph_norm: n: params: size is 1");
    REFUSED(husk_graph_norm(g, "n", NORM(.kind = (husk_norm_kind)99), x, none, none, none, none),
            "husk_graph_norm: n: params: kind 99 does not exist");
    REFUSED(husk_graph_norm(g, "n", NULL, flat, none, none, none, none),
            "husk_graph_norm: n: params: axis is -1, must be 0 to -1: x has 0 dimensions");
    REFUSED(husk_graph_norm(g, "n", NORM(.axis = 2), x, none, none, none, none),
            "husk_graph_norm: n: params: axis is 2, must be -2 to 1: x has 2 dimensions");
    REFUSED(husk_graph_norm(g, "n", NORM(.axis = INT32_MIN), x, none, none, none, none),
            "husk_graph_norm: n: params: axis is -2147483648, must be -2 to 1: x has 2 dimensions");
    REFUSED(husk_graph_norm(g, "n", NORM(.kind = HUSK_NORM_GROUP), row, none, none, none, none),
            "husk_graph_norm: n: x: its shape is [6]; [N, C, space...] is wanted");
    REFUSED(husk_graph_norm(g, "n", NORM(.kind = HUSK_NORM_GROUP, .groups = 3), image, none, none, none, none),
            "husk_graph_norm: n: params: 3 groups do not divide x's 4 channels");
    REFUSED(husk_graph_norm(g, "n", NULL, x, x, none, none, none),
            "husk_graph_norm: n: scale: its shape is [4, 6]; [6]");
    REFUSED(husk_graph_norm(g, "n", NULL, x, labels, none, none, none), "husk_graph_norm: n: scale: its dtype is i32");
    REFUSED(husk_graph_norm(g, "n", NULL, x, row, x, none, none), "husk_graph_norm: n: bias: its shape is [4, 6]; [6]");
    REFUSED(husk_graph_norm(g, "n", &batch, image, none, none, none, stat),
            "husk_graph_norm: n: running_mean: batch normalisation needs");
    REFUSED(husk_graph_norm(g, "n", &batch, image, none, none, stat, none), "husk_graph_norm: n: running_");
    REFUSED(husk_graph_norm(g, "n", NULL, x, none, none, husk_graph_statistic(g, "m", 6, 0), none),
            "husk_graph_norm: n: running_mean: ");
    REFUSED(husk_graph_norm(g, "n", NULL, x, none, none, none, husk_graph_statistic(g, "v", 6, 0)),
            "husk_graph_norm: n: running_");
    REFUSED(husk_graph_norm(g, "n", &batch, image, none, none, NEW(4), stat),
            "husk_graph_norm: n: running_mean: it has to be made by husk_graph_statistic");
    REFUSED(husk_graph_norm(g, "n", &batch, image, none, none, stat, NEW(4)),
            "husk_graph_norm: n: running_variance: it has to be made by husk_graph_statistic");
    REFUSED(husk_graph_norm(g, "n", &batch, image, none, none, 999, stat),
            "husk_graph_norm: n: running_mean: 999 is no");
    REFUSED(husk_graph_norm(g, "n", &batch, image, none, none, stat, row),
            "husk_graph_norm: n: running_variance: its shape is [6]; [4] is wanted");
    REFUSED(husk_graph_norm(g, "n", &batch, NEW(1, 4), none, none, stat, stat),
            "husk_graph_norm: n: x: a channel has one element; it needs two");
}
END_TEST

START_TEST(sequences)
{
    static husk_value four[4];
#define WEIGHTS          (four[0] = NEW(4, 5), four[1] = NEW(4, 4), four[2] = NEW(4), four[3] = NEW(4), four)
#define RNN(params, ...) husk_graph_rnn(g, "r", params, &HUSK_RNN_VALUES(.weights = WEIGHTS, __VA_ARGS__), NULL, NULL)
    husk_rnn_params tanh = HUSK_RNN_PARAMS(.cell = HUSK_RNN_TANH, .hidden_size = 4), bad = tanh;
    husk_value h, c;
    REFUSED(husk_graph_rnn(g, "r", &tanh, NULL, NULL, NULL), "husk_graph_rnn: r: x: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_rnn(g, "r", &tanh, &(husk_rnn_values){.size = 1}, NULL, NULL),
            "husk_graph_rnn: r: values: size is 1");
    REFUSED(husk_graph_rnn(g, "r", &(husk_rnn_params){.size = 1}, NULL, NULL, NULL),
            "husk_graph_rnn: r: params: size is 1");
    REFUSED(RNN(NULL, .x = seq), "husk_graph_rnn: r: params: hidden_size is 0; 1 at least is wanted");
    REFUSED(RNN(&tanh, .x = x), "husk_graph_rnn: r: x: its shape is [4, 6]; [steps, batch, features] is wanted");
    bad.cell = (husk_rnn_cell)99;
    REFUSED(RNN(&bad, .x = seq), "husk_graph_rnn: r: params: cell 99 does not exist");
    bad = tanh, bad.hidden_size = INT64_C(1) << 31;
    REFUSED(RNN(&bad, .x = seq),
            "husk_graph_rnn: r: params: hidden_size is 2147483648; at most 2147483647 is possible");
    bad = tanh, bad.layers = -1;
    REFUSED(RNN(&bad, .x = seq), "husk_graph_rnn: r: params: layers is -1; graphs have 1 to 8");
    bad.layers = 9;
    REFUSED(RNN(&bad, .x = seq), "husk_graph_rnn: r: params: layers is 9; graphs have 1 to 8");
    REFUSED(RNN(&tanh, .x = seq, .lengths = -1), "husk_graph_rnn: r: lengths: -1 is no value of this graph");
    REFUSED(RNN(&tanh, .x = seq, .lengths = labels), "husk_graph_rnn: r: lengths: [4] of i32; [2] of i32 is wanted");
    REFUSED(RNN(&tanh, .x = seq, .lengths = row), "husk_graph_rnn: r: lengths: [6] of f32; [2] of i32 is wanted");
    REFUSED(RNN(&tanh, .x = seq, .lengths = of("two", HUSK_I32, 2, (int64_t[]){2, 1})),
            "husk_graph_rnn: r: lengths: [2, 1] of i32; [2] of i32 is wanted");
    REFUSED(RNN(&tanh, .x = seq, .h0 = x), "husk_graph_rnn: r: h0: its shape is [4, 6]; [1, 2, 4] is wanted");
    REFUSED(RNN(&tanh, .x = seq, .h0 = labels), "husk_graph_rnn: r: h0: its dtype is i32");
    REFUSED(RNN(&tanh, .x = seq, .c0 = x), "husk_graph_rnn: r: c0: only an LSTM has c0 and c_n");
    bad = tanh, bad.cell = HUSK_RNN_LSTM;
    REFUSED(RNN(&bad, .x = seq, .c0 = x), "husk_graph_rnn: r: c0: its shape is [4, 6]; [1, 2, 4] is wanted");
    REFUSED(husk_graph_rnn(g, "r", &tanh, &HUSK_RNN_VALUES(.x = seq, .weights = WEIGHTS), &h, &c),
            "husk_graph_rnn: r: c_n: only an LSTM has c0 and c_n");
    REFUSED(husk_graph_rnn(g, "r", &bad, &HUSK_RNN_VALUES(.x = seq, .weights = WEIGHTS), NULL, &c),
            "husk_graph_rnn: r: h_n: it is NULL, though c_n is wanted");
    REFUSED(husk_graph_rnn(g, "r", &tanh, &HUSK_RNN_VALUES(.x = seq), NULL, NULL),
            "husk_graph_rnn: r: weights: it is NULL");
    static const char *const parts[] = {"weights: input", "weights: hidden", "weights: input_bias",
                                        "weights: hidden_bias"};
    static const char *const shapes[] = {"[4, 5]", "[4, 4]", "[4]", "[4]"};
    for (int part = 0; part < 4; part++) {
        char words[120];
        husk_rnn_values values;
        snprintf(words, sizeof words, "husk_graph_rnn: r: %s: its shape is [4, 6]; %s is wanted", parts[part],
                 shapes[part]);
        REFUSED((values = HUSK_RNN_VALUES(.x = seq, .weights = WEIGHTS), four[part] = x,
                 husk_graph_rnn(g, "r", &tanh, &values, NULL, NULL)),
                words);
        snprintf(words, sizeof words, "husk_graph_rnn: r: weights: number %d is HUSK_NO_VALUE", part);
        if (part < 2) // biases may be absent
            REFUSED((values = HUSK_RNN_VALUES(.x = seq, .weights = WEIGHTS), four[part] = none,
                     husk_graph_rnn(g, "r", &tanh, &values, NULL, NULL)),
                    words);
    }
    REFUSED(husk_graph_embedding(g, "e", NULL, none, labels), "husk_graph_embedding: e: table: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_embedding(g, "e", NULL, square, none), "husk_graph_embedding: e: indices: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_embedding(g, "e", NULL, row, labels),
            "husk_graph_embedding: e: table: its shape is [6]; [rows, columns] is wanted");
    REFUSED(husk_graph_embedding(g, "e", NULL, square, x), "husk_graph_embedding: e: indices: ");
    REFUSED(husk_graph_embedding(g, "e", NULL, square, of("deep", HUSK_I32, 8, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 1})),
            "husk_graph_embedding: e: indices: ");
    REFUSED(husk_graph_embedding(g, "e", &(husk_embedding_params){.size = 1}, square, labels),
            "husk_graph_embedding: e: params: size is 1");
}
END_TEST

START_TEST(attention)
{
#define ATTENTION(...) &HUSK_ATTENTION_PARAMS(__VA_ARGS__)
    REFUSED(husk_graph_attention(g, "a", NULL, none, heads, heads, none),
            "husk_graph_attention: a: q: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_attention(g, "a", NULL, heads, none, heads, none),
            "husk_graph_attention: a: k: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_attention(g, "a", NULL, heads, heads, none, none),
            "husk_graph_attention: a: v: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_attention(g, "a", &(husk_attention_params){.size = 1}, heads, heads, heads, none),
            "husk_graph_attention: a: params: size is 1");
    REFUSED(husk_graph_attention(g, "a", NULL, x, heads, heads, none),
            "husk_graph_attention: a: q: its shape is [4, 6]; [batch, heads, length, width] is wanted");
    REFUSED(husk_graph_attention(g, "a", NULL, heads, x, heads, none),
            "husk_graph_attention: a: k: its shape is [4, 6]");
    REFUSED(husk_graph_attention(g, "a", NULL, heads, heads, x, none),
            "husk_graph_attention: a: v: its shape is [4, 6]");
    REFUSED(husk_graph_attention(g, "a", NULL, husk_graph_permute(g, NULL, heads, (int32_t[]){0, 1, 3, 2}), heads,
                                 heads, none),
            "husk_graph_attention: a: q: its shape is [2, 4, 8, 3]; the last dimension has to be packed");
#define KEYS(...) husk_graph_attention(g, "a", NULL, heads, NEW(__VA_ARGS__), heads, none)
    REFUSED(KEYS(1, 4, 3, 8),
            "husk_graph_attention: a: k: its shape is [1, 4, 3, 8], which does not go with q's, [2, 4, 3, 8]");
    REFUSED(KEYS(2, 3, 3, 8), "husk_graph_attention: a: k: its shape is [2, 3, 3, 8], which does not go");
    REFUSED(KEYS(2, 4, 3, 7), "husk_graph_attention: a: k: its shape is [2, 4, 3, 7], which does not go");
#define VALUES(...) husk_graph_attention(g, "a", NULL, heads, heads, NEW(__VA_ARGS__), none)
    REFUSED(VALUES(1, 4, 3, 8), "husk_graph_attention: a: v: its shape is [1, 4, 3, 8], which does not go with k's");
    REFUSED(VALUES(2, 2, 3, 8), "husk_graph_attention: a: v: its shape is [2, 2, 3, 8], which does not go with k's");
    REFUSED(VALUES(2, 4, 5, 8), "husk_graph_attention: a: v: its shape is [2, 4, 5, 8], which does not go with k's");
    REFUSED(husk_graph_attention(g, "a", ATTENTION(.dropout = 1.5f), heads, heads, heads, none),
            "husk_graph_attention: a: params: dropout 1.5 or causal 0 does not exist");
    REFUSED(husk_graph_attention(g, "a", ATTENTION(.dropout = -1), heads, heads, heads, none),
            "husk_graph_attention: a: params: dropout -1 or causal 0 does not exist");
    REFUSED(husk_graph_attention(g, "a", ATTENTION(.causal = (husk_causal)99), heads, heads, heads, none),
            "husk_graph_attention: a: params: dropout 0 or causal 99 does not exist");
#define MASK(mask) husk_graph_attention(g, "a", NULL, heads, heads, heads, mask)
    REFUSED(MASK(-1), "husk_graph_attention: a: mask: -1 is no value of this graph");
    REFUSED(MASK(labels),
            "husk_graph_attention: a: mask: [4] of i32; what broadcasts to [2, 4, 3, 3], of u8 or the graph's");
    REFUSED(MASK(bytes), "husk_graph_attention: a: mask: [1, 1, 1, 1, 1, 1, 1, 2] of u8; what broadcasts to");
    REFUSED(MASK(row), "husk_graph_attention: a: mask: [6] of f32; what broadcasts to [2, 4, 3, 3]");
}
END_TEST

START_TEST(layers)
{
    husk_conv_params grouped = HUSK_CONV_PARAMS(.groups = 3), short_conv = {.size = 1},
                     odd = HUSK_CONV_PARAMS(.groups = -1);
    husk_rnn_params short_rnn = {.size = 1}, gru = HUSK_RNN_PARAMS(.cell = HUSK_RNN_GRU, .hidden_size = 4);
    husk_norm_params short_norm = {.size = 1}, unknown = husk_norm_defaults((husk_norm_kind)99);
#define CONV(...) husk_graph_conv_layer(g, "c", &HUSK_CONV_LAYER(__VA_ARGS__), image)
    REFUSED(husk_graph_conv_layer(g, "c", &(husk_conv_layer){.size = 1}, image),
            "husk_graph_conv_layer: c: layer: size is 1");
    REFUSED(husk_graph_conv_layer(g, "c", NULL, none), "husk_graph_conv_layer: c: x: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_conv_layer(g, "c", NULL, image),
            "husk_graph_conv_layer: c: layer: filters is 0; 1 at least is wanted");
    REFUSED(CONV(.params = &short_conv), "husk_graph_conv_layer: c: layer: params: size is 1");
    REFUSED(husk_graph_conv_layer(g, "c", &HUSK_CONV_LAYER(.filters = 4), x),
            "husk_graph_conv_layer: c: x: its shape is [4, 6]; [N, C, space...] of 1 to 3 space dimensions is wanted");
    REFUSED(husk_graph_conv_layer(g, "c", &HUSK_CONV_LAYER(.filters = 4), wide),
            "husk_graph_conv_layer: c: x: its shape is [1,");
    REFUSED(CONV(.filters = 4), "husk_graph_conv_layer: c: layer: window[0] is 0; 1 at least is wanted");
    REFUSED(CONV(.filters = 4, .window = {3, -1}),
            "husk_graph_conv_layer: c: layer: window[1] is -1; 1 at least is wanted");
    REFUSED(CONV(.filters = 6, .window = {3, 3}, .params = &grouped),
            "husk_graph_conv_layer: c: layer: 3 groups divide x's 4 channels and 6 filters not evenly");
    grouped.groups = 2;
    REFUSED(CONV(.filters = 3, .window = {3, 3}, .params = &grouped),
            "husk_graph_conv_layer: c: layer: 2 groups divide x's 4 channels and 3 filters not evenly");
    REFUSED(CONV(.filters = 4, .window = {3, 3}, .params = &odd),
            "husk_graph_conv_layer: c: layer: -1 groups divide x's 4 channels and 4 filters not evenly");
    REFUSED(husk_graph_linear(g, "l", &(husk_linear_layer){.size = 1}, x), "husk_graph_linear: l: layer: size is 1");
    REFUSED(husk_graph_linear(g, "l", NULL, x), "husk_graph_linear: l: layer: outputs is 0; 1 at least is wanted");
    REFUSED(husk_graph_linear(g, "l", &HUSK_LINEAR_LAYER(.outputs = 1), none),
            "husk_graph_linear: l: x: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_linear(g, "l", &HUSK_LINEAR_LAYER(.outputs = 1), flat),
            "husk_graph_linear: l: x: it is a scalar; [..., inputs] is wanted");
    REFUSED(husk_graph_linear(g, "l", &HUSK_LINEAR_LAYER(.outputs = 1, .activation = (husk_act)99), x),
            "husk_graph_linear: l: layer: activation 99 does not exist");
    REFUSED(husk_graph_linear(g, "l", &HUSK_LINEAR_LAYER(.outputs = 1, .activation = (husk_act)99), seq),
            "husk_graph_linear: l: layer: activation 99 does not exist");
    REFUSED(husk_graph_norm_layer(g, "n", &(husk_norm_layer){.size = 1}, x),
            "husk_graph_norm_layer: n: layer: size is 1");
    REFUSED(husk_graph_norm_layer(g, "n", NULL, none), "husk_graph_norm_layer: n: x: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_norm_layer(g, "n", NULL, flat),
            "husk_graph_norm_layer: n: params: axis is -1, must be 0 to -1: x has 0 dimensions");
    REFUSED(husk_graph_norm_layer(g, "n", &HUSK_NORM_LAYER(.params = &short_norm), x),
            "husk_graph_norm_layer: n: layer: params: size is 1");
    REFUSED(husk_graph_norm_layer(g, "n", &HUSK_NORM_LAYER(.params = &unknown), x),
            "husk_graph_norm_layer: n: params: kind 99 does not exist");
    REFUSED(husk_graph_embedding_layer(g, "e", &(husk_embedding_layer){.size = 1}, labels),
            "husk_graph_embedding_layer: e: layer: size is 1");
    REFUSED(husk_graph_embedding_layer(g, "e", NULL, labels),
            "husk_graph_embedding_layer: e: layer: 0 rows of 0 columns");
    REFUSED(husk_graph_embedding_layer(g, "e", &HUSK_EMBEDDING_LAYER(.rows = 2), labels),
            "husk_graph_embedding_layer: e: layer: 2 rows of 0 columns; 1 at least is wanted");
#define RNN_LAYER(...) husk_graph_rnn_layer(g, "r", &HUSK_RNN_LAYER(__VA_ARGS__), seq, none, NULL, NULL)
    REFUSED(husk_graph_rnn_layer(g, "r", &(husk_rnn_layer){.size = 1}, seq, none, NULL, NULL),
            "husk_graph_rnn_layer: r: layer: size is 1");
    REFUSED(husk_graph_rnn_layer(g, "r", NULL, none, none, NULL, NULL),
            "husk_graph_rnn_layer: r: x: it is HUSK_NO_VALUE");
    REFUSED(husk_graph_rnn_layer(g, "r", NULL, seq, none, NULL, NULL),
            "husk_graph_rnn_layer: r: params: hidden_size is 0");
    REFUSED(RNN_LAYER(.params = &short_rnn), "husk_graph_rnn_layer: r: layer: params: size is 1");
    REFUSED((NEW(1), husk_graph_parameter(g, "r.bias_hh_l0", 0, NULL, NULL), RNN_LAYER(.params = &gru)),
            "husk_graph_rnn_layer: r: name: there is a value r.bias_hh_l0 already");
    begin(HUSK_F32);
    ck_assert_int_ne(RNN_LAYER(.params = &gru, .no_bias = 1), HUSK_NO_VALUE);
    ck_assert_int_ne(husk_graph_linear(g, "l", &HUSK_LINEAR_LAYER(.outputs = 3, .no_bias = 1), seq), HUSK_NO_VALUE);
    ck_assert_int_ne(husk_graph_norm_layer(g, "n", &HUSK_NORM_LAYER(.no_scale = 1, .no_bias = 1), x), HUSK_NO_VALUE);
    ck_assert_int_eq(husk_graph_freeze(g, "l"), HUSK_OK);
    ck_assert_int_eq(husk_graph_freeze(g, "l.bias"), HUSK_INVALID_ARGUMENT); // there is none
    husk_graph_release(g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/refusals_graph");
    TCase *tcase = tcase_create("all");
    tcase_add_test(tcase, a_graph_is_made_of_what_there_is);
    tcase_add_test(tcase, no_graph_gives_no_value);
    tcase_add_test(tcase, names);
    tcase_add_test(tcase, values_from_outside);
    tcase_add_test(tcase, gradients_of_parts);
    tcase_add_test(tcase, views);
    tcase_add_test(tcase, products);
    tcase_add_test(tcase, what_is_done_to_each_element);
    tcase_add_test(tcase, losses);
    tcase_add_test(tcase, normalisation);
    tcase_add_test(tcase, sequences);
    tcase_add_test(tcase, attention);
    tcase_add_test(tcase, layers);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
