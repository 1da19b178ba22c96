// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes,valgrind timeout=90
// Pooling: every option, variant and layout against the reference; special values; bad input.
#include "ref/pool/pool.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const variants[] = {NULL, "planes", "channels", "window", "direct:64", "direct:256"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };

typedef enum with_indices { NO_INDICES, INDICES_I32, INDICES_I64 } with_indices;

static void check_values(void *user, const husk_ref_array *y, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_pool_function(user);
    husk_ref_check(&function, 1, y, report);
}

static void check_indices(void *user, const husk_ref_array *indices, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_pool_index_function(user);
    husk_ref_check(&function, 1, indices, report);
}

static void describe(const husk_pool_params *params, const husk_tensor *x, char *text, size_t capacity)
{
    size_t used = (size_t)snprintf(text, capacity, "%s %s%s%s%s x", husk_dtype_name(x->dtype),
                                   params->kind == HUSK_POOL_MAX ? "max" : "avg", params->global ? " global" : "",
                                   params->ceil_mode ? " ceil" : "", params->count_pad ? " count_pad" : "");
    for (int32_t d = 0; d < x->rank && used < capacity; d++)
        used += (size_t)snprintf(text + used, capacity - used, " %lld", (long long)x->shape[d]);
    for (int32_t d = 0; d < x->rank - 2 && used < capacity; d++)
        used += (size_t)snprintf(text + used, capacity - used, "; window %lld stride %lld pad %lld:%lld dilation %lld",
                                 (long long)params->window[d], (long long)params->stride[d], (long long)params->pad[d],
                                 (long long)params->pad_end_extra[d], (long long)params->dilation[d]);
}

// x into outputs of the given layouts with every variant.
static void run_all(const husk_pool_params *wanted, test_tensor *x, test_layout y_layout, with_indices with)
{
    husk_pool_params params = *wanted;
    husk_ref_pool op = {.params = &params, .x = &x->array};
    int64_t shape[HUSK_MAX_RANK], reference[HUSK_MAX_RANK];
    husk_error error;
    char text[400];
    describe(&params, &x->tensor, text, sizeof(text));
    test_ok_error(husk_pool_output_shape(&params, &x->tensor, shape, &error), &error);
    husk_ref_pool_output_shape(&op, reference);
    ck_assert_msg(memcmp(shape, reference, (size_t)x->tensor.rank * sizeof(*shape)) == 0, "output shape of %s", text);

    test_tensor y = test_output(x->tensor.dtype, x->tensor.rank, shape, y_layout);
    test_tensor indices = {0};
    if (with != NO_INDICES)
        indices = test_output(with == INDICES_I32 ? HUSK_I32 : HUSK_I64, x->tensor.rank, shape,
                              y_layout == TEST_PACKED ? TEST_PADDED : y_layout);
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_restore(&y);
        if (with != NO_INDICES)
            test_restore(&indices);
        if (!test_ran(husk_pool(test_queue(), &params, &x->tensor, &y.tensor, with ? &indices.tensor : NULL), "pool",
                      variants[v]))
            continue;
        husk_ref_report report = {0};
        test_fetch(&y);
        check_values(&op, &y.array, &report);
        if (with != NO_INDICES) {
            test_fetch(&indices);
            check_indices(&op, &indices.array, &report);
        }
        test_accept("pool", variants[v], text, &report);
    }
    test_release(&y);
    if (with != NO_INDICES)
        test_release(&indices);
}

static husk_pool_params pick_params(husk_ref_random *random, int32_t space)
{
    husk_pool_params params = HUSK_POOL_PARAMS(.kind = (husk_pool_kind)husk_ref_random_below(random, 2));
    params.ceil_mode = (uint32_t)test_one_in(random, 3);
    params.count_pad = (uint32_t)test_one_in(random, 2);
    for (int32_t d = 0; d < space; d++) {
        params.window[d] = TEST_PICK(random, 1, 2, 2, 3, 3, 3, 4, 5, 7);
        params.stride[d] = TEST_PICK(random, 0, 1, 1, 2, 2, 3, 4);
        params.dilation[d] = TEST_PICK(random, 0, 0, 1, 2, 3);
        const int64_t extent = (params.dilation[d] ? params.dilation[d] : 1) * (params.window[d] - 1) + 1;
        params.pad[d] = test_one_in(random, 2) ? husk_ref_random_below(random, extent) : 0;
        params.pad_end_extra[d] = test_one_in(random, 3)   ? husk_ref_random_below(random, extent) - params.pad[d]
                                  : test_one_in(random, 4) ? -params.pad[d]
                                                           : 0;
    }
    return params;
}

// A random problem; false where the window does not fit.
static bool pick_problem(husk_ref_random *random, husk_pool_params *params, int32_t *rank, int64_t *shape)
{
    *rank = (int32_t)TEST_PICK(random, 3, 4, 4, 4, 5);
    *params = pick_params(random, *rank - 2);
    shape[0] = TEST_PICK(random, 1, 2, 3);
    shape[1] = TEST_PICK(random, 1, 2, 3, 5, 16, 17, 64, 67);
    for (int32_t d = 2; d < *rank; d++)
        shape[d] = test_pick_size(random, 16, *rank == 3 ? 200 : *rank == 4 ? 40 : 12);
    husk_tensor probe = {.rank = *rank};
    int64_t out[HUSK_MAX_RANK];
    memcpy(probe.shape, shape, (size_t)*rank * sizeof(*shape));
    return husk_pool_output_shape(params, &probe, out, NULL) == HUSK_OK;
}

// The tier "dtypes".
START_TEST(narrow_dtypes)
{
    husk_ref_random random = {.seed = 900 + (uint64_t)_i};
    for (int64_t round = 0; round < 5;) {
        int64_t shape[HUSK_MAX_RANK];
        int32_t rank;
        husk_pool_params params;
        if (!pick_problem(&random, &params, &rank, shape))
            continue;
        if (round == 4) { // a window in bands, or all of space
            params = HUSK_POOL_PARAMS(.kind = (husk_pool_kind)(_i / 2 % 2), .global = _i / 4 % 2);
            for (int32_t d = 0; d < rank - 2 && !params.global; d++)
                params.window[d] = d < rank - 4 ? 1 : 2;
            if (rank == 3 || (!params.global && (shape[2] < 2 || shape[3] < 2 || (rank == 5 && shape[4] < 2)))) {
                rank = 4;
                shape[2] = 21;
                shape[3] = 37;
                params.window[0] = params.window[1] = params.global ? 0 : 2;
            }
        }
        const with_indices with =
            params.kind == HUSK_POOL_MAX ? (with_indices)husk_ref_random_below(&random, 3) : NO_INDICES;
        test_tensor x =
            test_input_of(test_dtype(_i + round), rank, shape, test_pick_layout(&random), (uint64_t)round, 2.0f);
        run_all(&params, &x, test_pick_layout(&random), with);
        test_release(&x);
        round++;
    }
}
END_TEST

START_TEST(options_and_layouts)
{
    husk_ref_random random = {.seed = 500 + (uint64_t)_i};
    const int64_t rounds = test_is_long() ? 40 : 4;
    for (int64_t round = 0; round < rounds;) {
        int64_t shape[HUSK_MAX_RANK];
        int32_t rank;
        husk_pool_params params;
        if (!pick_problem(&random, &params, &rank, shape))
            continue;
        const bool is_amid_nan = test_one_in(&random, 2);
        const with_indices with =
            params.kind == HUSK_POOL_MAX ? (with_indices)husk_ref_random_below(&random, 3) : NO_INDICES;
        test_tensor x = (is_amid_nan ? test_input_amid_nan : test_input)(rank, shape, test_pick_layout(&random),
                                                                         (uint64_t)round, 2.0f);
        run_all(&params, &x, test_pick_layout(&random), with);
        test_release(&x);
        round++;
    }
}
END_TEST

typedef struct shape_case {
    int32_t rank;
    int64_t shape[5];
    husk_pool_params params;
} shape_case;

// Layers of real networks, scaled down where the number of channels is all that differs; and edges of the
// kernels' vectors and private rows.
static const shape_case cases[] = {
    {4, {1, 3, 112, 112}, {.window = {3, 3}, .stride = {2, 2}, .pad = {1, 1}}},
    {4, {2, 4, 56, 56}, {.window = {2, 2}, .stride = {2, 2}}},
    {4, {1, 5, 35, 35}, {.window = {3, 3}, .stride = {1, 1}, .pad = {1, 1}}},
    {4, {1, 5, 14, 14}, {.window = {5, 5}, .stride = {3, 3}}},
    {4, {1, 65, 7, 7}, {.window = {7, 7}, .stride = {1, 1}}},
    {4, {2, 65, 7, 7}, {.global = 1}},
    {5, {1, 3, 8, 14, 14}, {.global = 1}},
    {5, {1, 2, 6, 20, 33}, {.window = {2, 3, 3}, .stride = {2, 2, 2}, .pad = {0, 1, 1}}},
    {3, {2, 3, 1000}, {.global = 1}},
    {3, {1, 1, 300001}, {.global = 1}},
    {3, {1, 2, 10000}, {.window = {3}, .stride = {1}, .pad = {1}}},
    {3, {1, 2, 10007}, {.window = {4}, .stride = {2}, .pad = {1}}},
    {3, {1, 2, 9000}, {.window = {1000}, .stride = {500}}},
    {3, {1, 2, 20000}, {.window = {4097}, .stride = {1000}, .pad = {2000}, .count_pad = 1}},
    {3, {3, 2, 4096}, {.window = {64}, .stride = {1}, .dilation = {63}}},
    {3, {1, 2, 4095}, {.window = {2}, .stride = {3}}},
    {4, {1, 2, 70, 9}, {.window = {66, 2}, .stride = {2, 1}}},
    {4, {1, 2, 100, 100}, {.window = {100, 100}}},
    {4, {1, 2, 3, 3}, {.window = {3, 3}, .stride = {7, 7}, .pad = {2, 2}, .dilation = {2, 2}}},
    {4, {2, 21, 14, 14}, {.window = {2, 2}, .stride = {1, 1}, .pad = {1, 0}, .count_pad = 1}},
    {4, {2, 5, 9, 66}, {.window = {3, 3}, .stride = {1, 1}, .pad = {1, 1}, .count_pad = 1}},
    {4, {1, 3, 30, 31}, {.window = {3, 3}, .stride = {2, 2}, .pad = {1, 1}, .ceil_mode = 1}},
    {4, {3, 43, 7, 7}, {.global = 1}},
    {4, {1, 35, 29, 31}, {.global = 1}},
    {4, {1, 200, 9, 9}, {.window = {3, 3}, .stride = {2, 2}}},
    {4, {2, 130, 5, 6}, {.window = {3, 2}, .stride = {2, 1}, .pad = {1, 0}, .ceil_mode = 1}},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

START_TEST(known_shapes)
{
    const shape_case *own = &cases[_i];
    for (int option = 0; option < 4; option++) {
        husk_pool_params params = own->params;
        params.size = sizeof(params);
        params.kind = option < 2 ? HUSK_POOL_MAX : HUSK_POOL_AVG;
        const test_layout layout = option == 3 ? TEST_CHANNELS_LAST : TEST_PACKED;
        test_tensor x = test_input(own->rank, own->shape, layout, 7, 3.0f);
        run_all(&params, &x, layout, option == 1 ? INDICES_I32 : NO_INDICES);
        test_release(&x);
    }
}
END_TEST

static void set(test_tensor *x, int64_t c, int64_t h, int64_t w, double value)
{
    const int64_t index[] = {0, c, h, w};
    husk_ref_store(&x->array, husk_ref_offset(&x->array, index), value);
}

// Channels of: a NaN; two NaN under one window; infinities; all -infinity; ties; a denormal-free mix.
START_TEST(special_values)
{
    static const test_layout layouts[] = {TEST_PACKED, TEST_CHANNELS_LAST, TEST_SPREAD};
    const int64_t shape[] = {1, 20, 13, 37};
    husk_pool_params params = HUSK_POOL_PARAMS(.kind = _i % 2 ? HUSK_POOL_AVG : HUSK_POOL_MAX, .window = {3, 3},
                                               .stride = {2, 1 + _i % 4 / 2}, .pad = {1, 1});
    if (_i >= 12)
        params = HUSK_POOL_PARAMS(.kind = params.kind, .global = 1);
    test_tensor x = test_input(4, shape, layouts[_i / 4 % 3], 11, 3.0f);
    set(&x, 0, 5, 5, NAN);
    set(&x, 1, 5, 5, NAN);
    set(&x, 1, 5, 6, NAN);
    set(&x, 1, 4, 7, NAN);
    set(&x, 2, 6, 6, INFINITY);
    set(&x, 3, 6, 6, -INFINITY);
    for (int64_t h = 0; h < shape[2]; h++) {
        for (int64_t w = 0; w < shape[3]; w++) {
            set(&x, 4, h, w, -INFINITY);
            set(&x, 5, h, w, 2.5);
            set(&x, 6, h, w, (h + w) % 3 ? 1.0 : 2.0);
            set(&x, 7, h, w, w % 5 ? -INFINITY : NAN);
        }
    }
    test_input_update(&x);
    const with_indices with = params.kind == HUSK_POOL_AVG ? NO_INDICES : _i % 4 ? INDICES_I64 : INDICES_I32;
    run_all(&params, &x, TEST_PACKED, with);
    if (with != NO_INDICES)
        run_all(&params, &x, TEST_PACKED, NO_INDICES);
    test_release(&x);
}
END_TEST

// The sum of many equal numbers rounds the same way every time: the worst case for sums of large windows.
START_TEST(large_equal_sums)
{
    static const int64_t shapes[][4] = {{1, 2, 1000, 1000}, {1, 64, 100, 97}, {1, 1, 1, 700001}};
    husk_pool_params params = HUSK_POOL_PARAMS(.kind = HUSK_POOL_AVG, .global = 1);
    const test_layout layout = _i == 1 ? TEST_CHANNELS_LAST : TEST_PACKED;
    test_tensor x = test_input(4, shapes[_i], layout, 13, 1.0f);
    const int64_t count = husk_ref_array_count(&x.array);
    for (int64_t i = 0; i < count; i++)
        husk_ref_store(&x.array, i, (double)0.1f);
    test_input_update(&x);
    run_all(&params, &x, layout, NO_INDICES);
    test_release(&x);
}
END_TEST

// Windows over padding alone: -infinity and -1, or 0.
START_TEST(windows_over_nothing)
{
    const int64_t shape[] = {1, 18, 2, 2};
    husk_pool_params params = HUSK_POOL_PARAMS(.kind = _i % 2 ? HUSK_POOL_AVG : HUSK_POOL_MAX, .window = {2, 2},
                                               .stride = {1, 1}, .pad = {3, 3}, .dilation = {4, 4});
    params.count_pad = _i >= 4;
    test_tensor x = test_input(4, shape, _i / 2 % 2 ? TEST_CHANNELS_LAST : TEST_PACKED, 17, 2.0f);
    run_all(&params, &x, TEST_PACKED, params.kind == HUSK_POOL_MAX ? INDICES_I32 : NO_INDICES);
    test_release(&x);
}
END_TEST

START_TEST(zero_sizes)
{
    static const int64_t shapes[][4] = {{0, 3, 8, 8}, {2, 0, 8, 8}};
    for (int i = 0; i < 2; i++) {
        for (int v = 0; v < VARIANTS; v++) {
            husk_pool_params params = HUSK_POOL_PARAMS(.window = {2, 2}, .variant = variants[v]);
            const int64_t out[] = {shapes[i][0], shapes[i][1], 4, 4};
            test_tensor x = test_input(4, shapes[i], TEST_PACKED, 9, 2.0f);
            test_tensor y = test_output(HUSK_F32, 4, out, TEST_PACKED);
            test_ran(husk_pool(test_queue(), &params, &x.tensor, &y.tensor, NULL), "pool", variants[v]);
            test_untouched(&y);
            test_release(&x);
            test_release(&y);
        }
    }
    const int64_t empty_space[] = {2, 3, 0, 5};
    for (int kind = 0; kind < 2; kind++) {
        husk_pool_params params = HUSK_POOL_PARAMS(.kind = (husk_pool_kind)kind, .global = 1);
        test_tensor x = test_input(4, empty_space, TEST_PACKED, 9, 2.0f);
        run_all(&params, &x, TEST_PACKED, kind == HUSK_POOL_MAX ? INDICES_I64 : NO_INDICES);
        test_release(&x);
    }
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    const int64_t shape[] = {1, 3, 9, 11}, out[] = {1, 3, 4, 5};
    for (int kind = 0; kind < 2; kind++) {
        husk_pool_params params = HUSK_POOL_PARAMS(.kind = (husk_pool_kind)kind, .window = {3, 3}, .stride = {2, 2});
        test_tensor x = test_input(4, shape, TEST_PACKED, 15, 2.0f);
        test_tensor y = test_output(HUSK_F32, 4, out, TEST_PADDED);
        test_ok(husk_pool(test_queue(), &params, &x.tensor, &y.tensor, NULL));
        test_fetch(&y);
        husk_ref_pool op = {.params = &params, .x = &x.array};
        husk_ref_function function = husk_ref_pool_function(&op);
        test_planted(&function, &y.array, check_values, &op);
        test_planted_guards(&y);
        test_release(&x);
        test_release(&y);
    }
}
END_TEST

typedef struct bad_call {
    const char *argument;
    husk_status status;
    husk_pool_params params;
} bad_call;

// Against x [2, 3, 8, 8] and y [2, 3, 4, 4].
static const bad_call bad_calls[] = {
    {"kind", HUSK_INVALID_ARGUMENT, {.kind = (husk_pool_kind)2, .window = {2, 2}}},
    {"window[0]", HUSK_INVALID_ARGUMENT, {.window = {0, 2}}},
    {"window[1]", HUSK_INVALID_ARGUMENT, {.window = {2, -2}}},
    {"stride[1]", HUSK_INVALID_ARGUMENT, {.window = {2, 2}, .stride = {2, -1}}},
    {"dilation[0]", HUSK_INVALID_ARGUMENT, {.window = {2, 2}, .dilation = {-1, 1}}},
    {"pad[0]", HUSK_INVALID_ARGUMENT, {.window = {2, 2}, .pad = {2, 0}}},
    {"pad[1]", HUSK_INVALID_ARGUMENT, {.window = {2, 2}, .pad = {0, -1}}},
    {"pad_end_extra[1]", HUSK_INVALID_ARGUMENT, {.window = {2, 2}, .pad_end_extra = {0, 2}}},
    {"pad_end_extra[0]", HUSK_INVALID_ARGUMENT, {.window = {2, 2}, .pad = {1, 0}, .pad_end_extra = {-2, 0}}},
    {"window[0]", HUSK_INVALID_ARGUMENT, {.window = {9, 2}}},
    {"global", HUSK_INVALID_ARGUMENT, {.window = {2, 2}, .global = 1}},
    {"global", HUSK_INVALID_ARGUMENT, {.pad_end_extra = {1, 0}, .global = 1}},
    {"y", HUSK_INVALID_ARGUMENT, {.window = {3, 3}}},
    {"y", HUSK_INVALID_ARGUMENT, {.global = 1}},
    {"params", HUSK_UNSUPPORTED, {.window = {2, 2}, .stride = {INT64_C(1) << 40, 2}}},
    {"params", HUSK_UNSUPPORTED, {.window = {INT64_MAX, 2}}},
    {"plain", HUSK_INVALID_ARGUMENT, {.window = {2, 2}, .variant = "plain"}},
    {"params", HUSK_INVALID_ARGUMENT, {.size = 9999, .window = {2, 2}}},
};
enum { BAD_CALLS = sizeof(bad_calls) / sizeof(bad_calls[0]) };

START_TEST(bad_params)
{
    const int64_t shape[] = {2, 3, 8, 8}, out[] = {2, 3, 4, 4};
    const bad_call *bad = &bad_calls[_i];
    husk_pool_params params = bad->params;
    if (params.size == 0)
        params.size = sizeof(params);
    test_tensor x = test_input(4, shape, TEST_PACKED, 19, 1.0f);
    test_tensor y = test_output(HUSK_F32, 4, out, TEST_PACKED);
    test_refused(husk_pool(test_silent_queue(), &params, &x.tensor, &y.tensor, NULL), bad->status, bad->argument);
    test_untouched(&y);
    test_release(&x);
    test_release(&y);
}
END_TEST

static void refuse(husk_status wanted, const char *argument, const husk_pool_params *params, const husk_tensor *x,
                   const husk_tensor *y, const husk_tensor *indices)
{
    test_refused(husk_pool(test_silent_queue(), params, x, y, indices), wanted, argument);
}

START_TEST(bad_tensors)
{
    const int64_t shape[] = {2, 3, 8, 8}, out[] = {2, 3, 4, 4}, other[] = {2, 3, 4, 5};
    const husk_pool_params params = HUSK_POOL_PARAMS(.window = {2, 2});
    test_tensor x = test_input(4, shape, TEST_PACKED, 19, 1.0f);
    test_tensor y = test_output(HUSK_F32, 4, out, TEST_PACKED);
    test_tensor indices = test_output(HUSK_I32, 4, out, TEST_PACKED);
    test_tensor wide = test_output(HUSK_I32, 4, other, TEST_PACKED);
    refuse(HUSK_INVALID_ARGUMENT, "params", NULL, &x.tensor, &y.tensor, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, NULL, &y.tensor, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &x.tensor, NULL, NULL);
    refuse(HUSK_UNSUPPORTED, "y", &params, &x.tensor, &indices.tensor, NULL);
    refuse(HUSK_UNSUPPORTED, "x", &params, &indices.tensor, &y.tensor, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "indices", &params, &x.tensor, &y.tensor, &x.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "indices", &params, &x.tensor, &y.tensor, &wide.tensor);
    const husk_pool_params average = HUSK_POOL_PARAMS(.kind = HUSK_POOL_AVG, .window = {2, 2});
    refuse(HUSK_INVALID_ARGUMENT, "indices", &average, &x.tensor, &y.tensor, &indices.tensor);

    husk_tensor bad = x.tensor;
    bad.rank = 2;
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, &bad, &y.tensor, NULL);
    bad = x.tensor;
    bad.offset += 1; // its end is past the buffer's
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, &bad, &y.tensor, NULL);
    bad = y.tensor;
    bad.buffer = x.tensor.buffer; // somewhere in x
    bad.offset = 5;
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &x.tensor, &bad, NULL);
    bad = indices.tensor;
    bad.buffer = y.tensor.buffer;
    refuse(HUSK_INVALID_ARGUMENT, "indices", &params, &x.tensor, &y.tensor, &bad);
    bad = y.tensor;
    for (int d = 0; d < 4; d++)
        bad.strides[d] = 1;
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &x.tensor, &bad, NULL);
    bad = indices.tensor;
    for (int d = 0; d < 4; d++)
        bad.strides[d] = 1;
    refuse(HUSK_INVALID_ARGUMENT, "indices", &params, &x.tensor, &y.tensor, &bad);
    ck_assert_int_eq(husk_pool(NULL, &params, &x.tensor, &y.tensor, NULL), HUSK_INVALID_ARGUMENT);
    test_untouched(&y);
    test_untouched(&indices);
    test_release(&x);
    test_release(&y);
    test_release(&indices);
    test_release(&wide);
}
END_TEST

START_TEST(bad_output_shape_calls)
{
    husk_tensor x = {.rank = 4, .shape = {1, 2, 8, 8}};
    int64_t shape[HUSK_MAX_RANK];
    husk_error error;
    husk_pool_params params = HUSK_POOL_PARAMS(.window = {2, 2});
    test_refused_error(husk_pool_output_shape(NULL, &x, shape, &error), &error, HUSK_INVALID_ARGUMENT, "params");
    test_refused_error(husk_pool_output_shape(&params, NULL, shape, &error), &error, HUSK_INVALID_ARGUMENT, "x");
    test_refused_error(husk_pool_output_shape(&params, &x, NULL, &error), &error, HUSK_INVALID_ARGUMENT, "shape");
    params.window[1] = 9;
    test_refused_error(husk_pool_output_shape(&params, &x, shape, &error), &error, HUSK_INVALID_ARGUMENT, "window[1]");
}
END_TEST

START_TEST(enough_configurations)
{
    ck_assert_msg(test_executed("pool") >= 100, "only %ld configurations were executed", test_executed("pool"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pool");
    TCase *tests = tcase_create("pool");
    suite_add_tcase(suite, tests);
    if (test_tier_is("dtypes")) {
        tcase_add_loop_test(tests, narrow_dtypes, 0, 24);
        return test_main(suite);
    }
    tcase_add_loop_test(tests, options_and_layouts, 0, 40);
    tcase_add_loop_test(tests, known_shapes, 0, CASES);
    tcase_add_loop_test(tests, special_values, 0, 16);
    tcase_add_loop_test(tests, large_equal_sums, 0, 3);
    tcase_add_loop_test(tests, windows_over_nothing, 0, 8);
    tcase_add_test(tests, zero_sizes);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_loop_test(tests, bad_params, 0, BAD_CALLS);
    tcase_add_test(tests, bad_tensors);
    tcase_add_test(tests, bad_output_shape_calls);
    tcase_add_test(tests, enough_configurations);
    return test_main(suite);
}
