// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=90
// The gradient of pooling: finite differences and adjoints; every option, variant and layout against the reference;
// maxima by saved indices and found anew; adding; special values; bad input.
#include "ref/pool/pool.h"
#include "support/gradient.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const variants[] = {NULL, "planes", "channels", "direct:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };

#define NAME "pool_backward"

typedef enum with_indices { ANEW, INDICES_I32, INDICES_I64 } with_indices;

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

// A shape that the params' windows fit.
static void pick_problem(husk_ref_random *random, int32_t rank, int64_t largest, husk_pool_params *params,
                         int64_t *shape, int64_t *out)
{
    for (;;) {
        *params = pick_params(random, rank - 2);
        for (int32_t d = 2; d < rank; d++)
            shape[d] = test_pick_size(random, 16, largest);
        husk_tensor probe = {.rank = rank};
        memcpy(probe.shape, shape, (size_t)rank * sizeof(*shape));
        if (husk_pool_output_shape(params, &probe, out, NULL) == HUSK_OK)
            return;
    }
}

// ---- the reference is the gradient ----

typedef struct forward {
    husk_ref_pool op;
    husk_ref_array *y;
} forward;

// A maximum over padding alone, -infinity, is no function of x, and counts as 0.
static void run_forward(void *user)
{
    const forward *f = user;
    double *y = f->y->data;
    husk_ref_pool_run(&f->op, f->y, NULL);
    for (int64_t i = 0; i < husk_ref_array_count(f->y); i++)
        y[i] = isinf(y[i]) ? 0.0 : y[i];
}

// Numbers so far apart that no step of the differences changes which is the largest; x's and the windows' are few.
static void make_distinct(husk_ref_array *x, husk_ref_random *random)
{
    double *values = x->data;
    const int64_t count = husk_ref_array_count(x);
    for (int64_t i = 0; i < count; i++)
        values[i] = (double)(i - count / 2) * 0.01;
    for (int64_t i = count - 1; i > 0; i--) {
        const int64_t other = husk_ref_random_below(random, i + 1);
        const double kept = values[i];
        values[i] = values[other];
        values[other] = kept;
    }
}

static bool has_gradient(const husk_ref_array *dx)
{
    double sum = 0;
    for (int64_t i = 0; i < husk_ref_array_count(dx); i++)
        sum += fabs(((const double *)dx->data)[i]);
    return sum > 0;
}

// Average pooling is linear; maximum pooling is where its maxima are, and its y is what it reads there.
START_TEST(differences_and_adjoints)
{
    husk_ref_random random = {.seed = 700 + (uint64_t)_i};
    int64_t shape[HUSK_MAX_RANK] = {2, 2}, out[HUSK_MAX_RANK];
    const int32_t rank = (int32_t)TEST_PICK(&random, 3, 4, 4, 5);
    husk_pool_params params;
    pick_problem(&random, rank, rank == 3 ? 30 : rank == 4 ? 9 : 5, &params, shape, out);
    params.kind = (husk_pool_kind)(_i % 2);
    husk_ref_array x = test_array(rank, shape, 0, 0), dx = test_array(rank, shape, 0, 0);
    husk_ref_array y = test_array(rank, out, 0, 0), dy = test_array(rank, out, (uint64_t)_i + 9, 1.0);
    make_distinct(&x, &random);
    forward f = {{.params = &params, .x = &x}, &y};
    run_forward(&f);
    const husk_ref_pool_backward op = {.params = &params, .x = &x, .dy = &dy};
    husk_ref_pool_backward_run(&op, &dx);
    if (has_gradient(&dx)) { // there may be windows over padding alone
        test_differences(NAME, run_forward, &f, &x, &y, &dy, &dx, 7);
        test_adjoint(NAME, &y, &dy, &x, &dx);
    }
    test_array_release(&x);
    test_array_release(&dx);
    test_array_release(&y);
    test_array_release(&dy);
}
END_TEST
enum { DIFFERENCES = 32 };

// ---- every variant against the reference ----

static void check(void *user, const husk_ref_array *dx, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_pool_backward_function(user);
    husk_ref_check(&function, 1, dx, report);
}

static void describe(const husk_pool_params *params, const husk_tensor *x, with_indices with, char *text,
                     size_t capacity)
{
    size_t used = (size_t)snprintf(text, capacity, "%s %s%s%s%s%s indices %d x", husk_dtype_name(x->dtype),
                                   params->kind == HUSK_POOL_MAX ? "max" : "avg", params->global ? " global" : "",
                                   params->ceil_mode ? " ceil" : "", params->count_pad ? " count_pad" : "",
                                   params->accumulate ? " accumulate" : "", (int)with);
    for (int32_t d = 0; d < x->rank && used < capacity; d++)
        used += (size_t)snprintf(text + used, capacity - used, " %lld", (long long)x->shape[d]);
    for (int32_t d = 0; d < x->rank - 2 && used < capacity; d++)
        used += (size_t)snprintf(text + used, capacity - used, "; window %lld stride %lld pad %lld:%lld dilation %lld",
                                 (long long)params->window[d], (long long)params->stride[d], (long long)params->pad[d],
                                 (long long)params->pad_end_extra[d], (long long)params->dilation[d]);
}

// What forward saves for x, by the reference: the check of maxima found anew takes them, too.
static test_tensor make_indices(const husk_pool_params *params, const test_tensor *x, const int64_t *out,
                                husk_dtype dtype, test_layout layout)
{
    const husk_ref_pool op = {.params = params, .x = &x->array};
    test_tensor indices = test_output(dtype, x->tensor.rank, out, layout);
    husk_ref_function function = husk_ref_pool_index_function(&op);
    husk_ref_function_evaluate(&function, &indices.before);
    test_restore(&indices);
    return indices;
}

// dx by every variant. layouts: of dx, dy and indices; x is as it is.
static void run_all(const husk_pool_params *wanted, test_tensor *x, const test_layout layouts[3], with_indices with)
{
    husk_pool_params params = *wanted;
    const int32_t rank = x->tensor.rank;
    const bool is_max = params.kind == HUSK_POOL_MAX;
    int64_t out[HUSK_MAX_RANK];
    husk_error error;
    char text[400];
    describe(&params, &x->tensor, with, text, sizeof(text));
    test_ok_error(husk_pool_output_shape(&params, &x->tensor, out, &error), &error);

    const husk_dtype dtype = x->tensor.dtype;
    test_tensor dy = test_input_of(dtype, rank, out, layouts[1], 31, 1.0f), indices = {0};
    test_tensor dx = params.accumulate ? test_inout_of(dtype, rank, x->tensor.shape, layouts[0], 33, 1.0f)
                                       : test_output(dtype, rank, x->tensor.shape, layouts[0]);
    if (is_max)
        indices = make_indices(&params, x, out, with == INDICES_I64 ? HUSK_I64 : HUSK_I32, layouts[2]);
    husk_ref_pool_backward op = {.params = &params, .x = &x->array, .dy = &dy.array};
    op.indices = is_max ? &indices.before : NULL;
    op.dx = params.accumulate ? &dx.before : NULL;
    for (int v = 0; v < VARIANTS; v++) {
        const bool takes_indices = is_max && with != ANEW;
        params.variant = variants[v];
        test_restore(&dx);
        if (!test_ran(husk_pool_backward(test_queue(), &params, takes_indices || !is_max ? NULL : &x->tensor,
                                         takes_indices ? &indices.tensor : NULL, &dy.tensor, &dx.tensor),
                      NAME, variants[v]))
            continue;
        husk_ref_report report = {0};
        test_fetch(&dx);
        check(&op, &dx.array, &report);
        test_accept(NAME, variants[v], text, &report);
    }
    test_release(&dx);
    test_release(&dy);
    if (is_max)
        test_release(&indices);
}

static void run_any(husk_dtype dtype, husk_ref_random *random, uint64_t seed)
{
    int64_t shape[HUSK_MAX_RANK], out[HUSK_MAX_RANK];
    test_layout layouts[3];
    const int32_t rank = (int32_t)TEST_PICK(random, 3, 4, 4, 4, 5);
    husk_pool_params params;
    shape[0] = TEST_PICK(random, 1, 2, 3);
    shape[1] = TEST_PICK(random, 1, 2, 3, 5, 16, 17, 64, 67);
    pick_problem(random, rank, rank == 3 ? 200 : rank == 4 ? 32 : 10, &params, shape, out);
    params.accumulate = test_one_in(random, 3) ? HUSK_ACCUMULATE_INPUTS : 0;
    layouts[0] = test_pick_layout(random);
    for (int i = 1; i < 3; i++)
        layouts[i] = test_one_in(random, 3) ? test_pick_layout(random) : layouts[0];
    test_tensor x = test_input_of(dtype, rank, shape, test_pick_layout(random), seed, 2.0f);
    run_all(&params, &x, layouts, (with_indices)husk_ref_random_below(random, 3));
    test_release(&x);
}

START_TEST(options_and_layouts)
{
    husk_ref_random random = {.seed = 500 + (uint64_t)_i};
    const int64_t rounds = test_is_long() ? 30 : 3;
    for (int64_t round = 0; round < rounds; round++)
        run_any(HUSK_F32, &random, (uint64_t)round);
}
END_TEST

// The tier "dtypes".
START_TEST(narrow_dtypes)
{
    husk_ref_random random = {.seed = 900 + (uint64_t)_i};
    for (uint64_t round = 0; round < 4; round++)
        run_any(test_dtype(_i + (int64_t)round), &random, round);
}
END_TEST

typedef struct shape_case {
    int32_t rank;
    int64_t shape[5];
    husk_pool_params params;
} shape_case;

// Layers of real networks with fewer channels; and edges of the kernels' vectors, bands and phases.
static const shape_case cases[] = {
    {4, {1, 3, 112, 112}, {.window = {3, 3}, .stride = {2, 2}, .pad = {1, 1}}},
    {4, {2, 4, 56, 56}, {.window = {2, 2}, .stride = {2, 2}}},
    {4, {1, 5, 35, 35}, {.window = {3, 3}, .stride = {1, 1}, .pad = {1, 1}}},
    {4, {1, 5, 14, 14}, {.window = {5, 5}, .stride = {3, 3}}},
    {4, {1, 65, 7, 7}, {.window = {7, 7}, .stride = {1, 1}}},
    {4, {2, 65, 7, 7}, {.global = 1}},
    {5, {1, 3, 8, 14, 14}, {.global = 1}},
    {5, {1, 2, 6, 20, 33}, {.window = {2, 3, 3}, .stride = {2, 2, 2}, .pad = {0, 1, 1}}},
    {5, {1, 1, 12, 40, 41}, {.window = {3, 3, 3}, .stride = {1, 2, 1}, .pad = {1, 1, 1}}},
    {3, {2, 3, 1000}, {.global = 1}},
    {3, {1, 2, 10000}, {.window = {3}, .stride = {1}, .pad = {1}}},
    {3, {1, 2, 20007}, {.window = {4}, .stride = {2}, .pad = {1}}},
    {3, {1, 2, 9000}, {.window = {1000}, .stride = {500}}},
    {3, {1, 1, 20000}, {.window = {4097}, .stride = {1000}, .pad = {2000}, .count_pad = 1}},
    {3, {3, 2, 4096}, {.window = {8}, .stride = {1}, .dilation = {63}}},
    {3, {1, 2, 900}, {.window = {8}, .stride = {6}, .dilation = {4}}},
    {3, {1, 2, 900}, {.window = {5}, .stride = {2}, .dilation = {3}, .pad = {6}}},
    {3, {1, 2, 4095}, {.window = {2}, .stride = {3}}},
    {3, {1, 1, 30000}, {.global = 1}},
    {4, {1, 1, 300, 301}, {.window = {2, 2}, .stride = {2, 2}}},
    {4, {1, 2, 70, 9}, {.window = {66, 2}, .stride = {2, 1}}},
    {4, {1, 2, 3, 3}, {.window = {3, 3}, .stride = {7, 7}, .pad = {2, 2}, .dilation = {2, 2}}},
    {4, {2, 21, 14, 14}, {.window = {2, 2}, .stride = {1, 1}, .pad = {1, 0}, .count_pad = 1}},
    {4, {1, 3, 30, 31}, {.window = {3, 3}, .stride = {2, 2}, .pad = {1, 1}, .ceil_mode = 1}},
    {4, {1, 200, 9, 9}, {.window = {3, 3}, .stride = {2, 2}}},
    {4, {2, 130, 5, 6}, {.window = {3, 2}, .stride = {2, 1}, .pad = {1, 0}, .ceil_mode = 1}},
    {4, {2, 33, 7, 7}, {.window = {3, 3}, .stride = {1, 1}, .pad = {1, 1}}},
    {4, {2, 5, 7, 7}, {.global = 1}},
    {4, {1, 6, 28, 29}, {.window = {3, 5}, .stride = {3, 4}, .pad = {1, 2}}},
    {4, {1, 3, 20, 50}, {.window = {3, 3}, .stride = {1, 1}, .pad = {2, 2}, .dilation = {2, 2}}},
    {4, {1, 2, 19, 40}, {.window = {5, 5}, .stride = {2, 2}, .pad = {1, 2}, .count_pad = 1, .ceil_mode = 1}},
    {4, {1, 1, 120, 200}, {.window = {3, 3}, .stride = {2, 2}, .pad = {1, 1}}},
    {3, {2, 3, 3}, {.window = {3}, .dilation = {2}, .pad_end_extra = {2}}}, // as wide as the image, and not all of it
    {4, {1, 2, 3, 5}, {.window = {3, 5}, .dilation = {2, 1}, .pad_end_extra = {2, 0}, .count_pad = 1}},
    {4, {1, 2, 12, 200}, {.window = {2, 2}, .stride = {2, 200}}}, // one window a row, and far more columns than it has
    {4, {1, 1, 40, 900}, {.window = {1, 3}, .stride = {1, 1000}, .dilation = {1, 2}, .pad = {0, 1}}},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

START_TEST(known_shapes)
{
    const shape_case *own = &cases[_i];
    for (int option = 0; option < 5; option++) {
        husk_pool_params params = own->params;
        params.size = sizeof(params);
        params.kind = option < 3 ? HUSK_POOL_MAX : HUSK_POOL_AVG;
        const test_layout layout = option == 2 || option == 4 ? TEST_CHANNELS_LAST : TEST_PACKED;
        const test_layout layouts[3] = {layout, layout, layout};
        test_tensor x = test_input(own->rank, own->shape, layout, 7, 3.0f);
        run_all(&params, &x, layouts, option == 0 ? ANEW : INDICES_I32);
        test_release(&x);
    }
}
END_TEST

static void set(test_tensor *x, int64_t c, int64_t h, int64_t w, double value)
{
    const int64_t index[] = {0, c, h, w};
    husk_ref_store(&x->array, husk_ref_offset(&x->array, index), value);
}

// Maxima found anew among: NaN, two NaN under one window, infinities, nothing but -infinity, ties.
START_TEST(special_values)
{
    static const test_layout of_x[] = {TEST_PACKED, TEST_CHANNELS_LAST, TEST_SPREAD};
    const test_layout layouts[3] = {_i % 2 ? TEST_CHANNELS_LAST : TEST_PACKED, TEST_PACKED, TEST_PACKED};
    const int64_t shape[] = {1, 20, 13, 37};
    husk_pool_params params = HUSK_POOL_PARAMS(.window = {3, 3}, .stride = {2, 1 + _i % 2}, .pad = {1, 1});
    if (_i >= 6) { // the windows of which planes finds maxima without positions, and others near them
        const int64_t window = 2 + _i % 2, stride = 1 + _i / 2 % 3;
        params = HUSK_POOL_PARAMS(.window = {window, window}, .stride = {stride, stride}, .pad = {_i / 2 % 2, 1},
                                  .ceil_mode = _i % 3 == 0, .accumulate = _i % 5 == 0 ? HUSK_ACCUMULATE_INPUTS : 0);
    }
    test_tensor x = test_input(4, shape, of_x[_i % 3], 11, 3.0f);
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
    run_all(&params, &x, layouts, ANEW);
    test_release(&x);
}
END_TEST

// A NaN just beyond where a band of part of a row ends, and about there, is met by windows of both.
START_TEST(not_a_number_between_bands)
{
    static const int64_t widths[] = {512, 484, 482};
    const int64_t window = 2 + _i % 2, stride = 1 + _i / 2 % 2, pad = _i / 4 % 2, width = widths[_i / 8];
    const int64_t shape[] = {1, 21, 4, width};
    const test_layout layouts[3] = {TEST_PACKED, TEST_PACKED, TEST_PACKED};
    const husk_pool_params params =
        HUSK_POOL_PARAMS(.window = {window, window}, .stride = {stride, stride}, .pad = {pad, pad});
    test_tensor x = test_input(4, shape, TEST_PACKED, 19, 1.0f);
    for (int64_t c = 0; c < shape[1]; c++)
        set(&x, c, 1 + c % 2, width / 2 - 10 + c, NAN);
    test_input_update(&x);
    run_all(&params, &x, layouts, ANEW);
    test_release(&x);
}
END_TEST

// Windows over padding alone give to no one.
START_TEST(windows_over_nothing)
{
    const int64_t shape[] = {1, 18, 3, 3};
    const test_layout layout = _i / 2 % 2 ? TEST_CHANNELS_LAST : TEST_PACKED, layouts[3] = {layout, layout, layout};
    husk_pool_params params = HUSK_POOL_PARAMS(.kind = _i % 2 ? HUSK_POOL_AVG : HUSK_POOL_MAX, .window = {2, 2},
                                               .stride = {1, 1}, .pad = {3, 3}, .dilation = {4, 4});
    params.count_pad = _i >= 4;
    test_tensor x = test_input(4, shape, layout, 17, 2.0f);
    run_all(&params, &x, layouts, INDICES_I64);
    test_release(&x);
}
END_TEST

// Windows of 2^31 elements and more, whose number 32 bits do not hold; over 64 of them lie over each element.
START_TEST(windows_past_int)
{
    const int64_t high = INT64_C(1) << (_i < 2 ? 27 : 28), wide = (INT64_C(1) << (31 + _i % 2)) / high;
    const int64_t shape[] = {1, 2, 1, 8};
    const test_layout layouts[3] = {TEST_PACKED, TEST_PACKED, TEST_PACKED};
    const husk_pool_params params =
        HUSK_POOL_PARAMS(.kind = HUSK_POOL_AVG, .window = {high, wide}, .stride = {high / 240, wide},
                         .pad = {high - 1, wide - 1}, .count_pad = (uint32_t)_i / 2);
    test_tensor x = test_input(4, shape, TEST_PACKED, 3, 1.0f);
    run_all(&params, &x, layouts, ANEW);
    test_release(&x);
}
END_TEST

// Windows that all lie over one element, wider ones than planes takes: errors of one sign. Its position is 0.
START_TEST(many_terms_of_one_sign)
{
    static const int64_t counts[][2] = {{1, 20000}, {1, 1000}, {1, 120}, {20, 100}};
    const int64_t rows = counts[_i / 4][0], windows = counts[_i / 4][1];
    const int64_t shape[] = {1, 20, 1, 1}, out[] = {1, 20, rows, windows};
    const test_layout layout = _i % 2 ? TEST_CHANNELS_LAST : TEST_PACKED;
    husk_pool_params params =
        HUSK_POOL_PARAMS(.kind = _i / 2 % 2 ? HUSK_POOL_MAX : HUSK_POOL_AVG, .window = {rows, windows},
                         .stride = {1, 1}, .pad = {rows - 1, windows - 1}, .count_pad = 1);
    test_tensor x = test_input(4, shape, layout, 3, 1.0f), dy = test_input_alike(4, out, layout, 0.1f);
    test_tensor dx = test_output(HUSK_F32, 4, shape, layout), indices = test_output(HUSK_I32, 4, out, layout);
    memset(indices.initial, 0, (size_t)indices.words * sizeof(*indices.initial));
    husk_ref_pool_backward op = {.params = &params, .x = &x.array, .dy = &dy.array};
    op.indices = params.kind == HUSK_POOL_MAX ? &indices.before : NULL;
    test_restore(&indices);
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_restore(&dx);
        if (!test_ran(husk_pool_backward(test_queue(), &params, NULL, op.indices ? &indices.tensor : NULL, &dy.tensor,
                                         &dx.tensor),
                      NAME, variants[v]))
            continue;
        husk_ref_report report = {0};
        test_fetch(&dx);
        check(&op, &dx.array, &report);
        test_accept(NAME, variants[v], params.kind == HUSK_POOL_MAX ? "max of one sign" : "avg of one sign", &report);
    }
    test_release(&x);
    test_release(&dy);
    test_release(&dx);
    test_release(&indices);
}
END_TEST

// NaN and infinity in dy go to the elements of their windows alone; what indices name is never outside of dx.
START_TEST(special_gradients)
{
    const int64_t shape[] = {1, 17, 9, 9}, out[] = {1, 17, 4, 4};
    for (int v = 0; v < VARIANTS; v++) {
        for (int kind = 0; kind < 2; kind++) {
            const husk_pool_params params = HUSK_POOL_PARAMS(.kind = (husk_pool_kind)kind, .window = {3, 3},
                                                             .stride = {2, 2}, .variant = variants[v]);
            const test_layout layout = _i ? TEST_CHANNELS_LAST : TEST_PACKED;
            test_tensor x = test_input(4, shape, layout, 3, 1.0f), dy = test_input(4, out, layout, 4, 1.0f);
            test_tensor dx = test_output(HUSK_F32, 4, shape, layout);
            test_tensor indices = make_indices(&params, &x, out, HUSK_I32, layout);
            set(&dy, 3, 1, 1, NAN);
            set(&dy, 4, 2, 1, INFINITY);
            test_input_update(&dy);
            for (int64_t c = 5; c < 8; c++) {
                static const double positions[] = {-1, 1000000, -1000000};
                const int64_t index[] = {0, c, 0, c - 5};
                husk_ref_store(&indices.before, husk_ref_offset(&indices.before, index), positions[c - 5]);
            }
            test_restore(&indices);
            husk_ref_pool_backward op = {.params = &params, .x = &x.array, .dy = &dy.array};
            op.indices = kind == HUSK_POOL_MAX ? &indices.before : NULL;
            if (test_ran(husk_pool_backward(test_queue(), &params, NULL, op.indices ? &indices.tensor : NULL,
                                            &dy.tensor, &dx.tensor),
                         NAME, variants[v])) {
                husk_ref_report report = {0};
                test_fetch(&dx);
                check(&op, &dx.array, &report);
                test_accept(NAME, variants[v], "special gradients", &report);
            }
            test_release(&x);
            test_release(&dy);
            test_release(&dx);
            test_release(&indices);
        }
    }
}
END_TEST

// What is stored past the caches is what another variant makes: an element is under one window, so bits are the same.
START_TEST(past_the_caches)
{
    const int64_t shape[] = {1, 2, 1500, 1501}, out[] = {1, 2, 750, 750}; // 18 MB, and 18 MB of x
    husk_pool_params params = HUSK_POOL_PARAMS(.window = {2, 2}, .stride = {2, 2});
    test_tensor x = test_input(4, shape, TEST_PACKED, 3, 1.0f), dy = test_input(4, out, TEST_PACKED, 4, 1.0f);
    test_tensor made[2];
    for (int i = 0; i < 2; i++) {
        params.variant = i ? "direct:64" : "planes";
        made[i] = test_output(HUSK_F32, 4, shape, TEST_PACKED);
        test_ok(husk_pool_backward(test_queue(), &params, &x.tensor, NULL, &dy.tensor, &made[i].tensor));
        test_fetch(&made[i]);
    }
    ck_assert_mem_eq(made[0].array.data, made[1].array.data,
                     (size_t)husk_ref_array_count(&made[0].array) * sizeof(float));
    test_release(&x);
    test_release(&dy);
    test_release(&made[0]);
    test_release(&made[1]);
}
END_TEST

// Ten runs, the same bits, where windows overlap.
START_TEST(ten_runs_agree)
{
    const int64_t shape[] = {2, 33, 30, 31};
    for (int v = 0; v < VARIANTS; v++) {
        const husk_pool_params params =
            HUSK_POOL_PARAMS(.kind = _i % 2 ? HUSK_POOL_AVG : HUSK_POOL_MAX, .window = {3, 3}, .stride = {1, 1},
                             .pad = {1, 1}, .variant = variants[v]);
        const test_layout layout = _i / 2 ? TEST_CHANNELS_LAST : TEST_PACKED;
        test_tensor x = test_input(4, shape, layout, 3, 1.0f), dy = test_input(4, shape, layout, 4, 1.0f);
        test_tensor first = test_output(HUSK_F32, 4, shape, layout), next = test_output(HUSK_F32, 4, shape, layout);
        for (int run = 0; run < 10; run++) {
            test_tensor *dx = run == 0 ? &first : &next;
            if (!test_ran(husk_pool_backward(test_queue(), &params, &x.tensor, NULL, &dy.tensor, &dx->tensor), NAME,
                          variants[v]))
                break;
            test_fetch(dx);
            ck_assert_mem_eq(first.array.data, dx->array.data,
                             (size_t)husk_ref_array_count(&dx->array) * sizeof(float));
        }
        test_release(&x);
        test_release(&dy);
        test_release(&first);
        test_release(&next);
    }
}
END_TEST

START_TEST(zero_sizes)
{
    static const int64_t shapes[][4] = {{0, 3, 8, 8}, {2, 0, 8, 8}};
    for (int i = 0; i < 2; i++) {
        for (int v = 0; v < VARIANTS; v++) {
            const husk_pool_params params = HUSK_POOL_PARAMS(.window = {2, 2}, .variant = variants[v]);
            const int64_t out[] = {shapes[i][0], shapes[i][1], 4, 4};
            test_tensor x = test_input(4, shapes[i], TEST_PACKED, 9, 2.0f);
            test_tensor dy = test_input(4, out, TEST_PACKED, 9, 2.0f);
            test_tensor dx = test_output(HUSK_F32, 4, shapes[i], TEST_PACKED);
            test_ran(husk_pool_backward(test_queue(), &params, &x.tensor, NULL, &dy.tensor, &dx.tensor), NAME,
                     variants[v]);
            test_untouched(&dx);
            test_release(&x);
            test_release(&dy);
            test_release(&dx);
        }
    }
    const int64_t empty_space[] = {2, 3, 0, 5}, single[] = {2, 3, 1, 1};
    for (int kind = 0; kind < 2; kind++) {
        const husk_pool_params params = HUSK_POOL_PARAMS(.kind = (husk_pool_kind)kind, .global = 1);
        test_tensor x = test_input(4, empty_space, TEST_PACKED, 9, 2.0f);
        test_tensor dy = test_input(4, single, TEST_PACKED, 9, 2.0f);
        test_tensor dx = test_output(HUSK_F32, 4, empty_space, TEST_PACKED);
        test_ok(husk_pool_backward(test_queue(), &params, &x.tensor, NULL, &dy.tensor, &dx.tensor));
        test_untouched(&dx);
        test_release(&x);
        test_release(&dy);
        test_release(&dx);
    }
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    const int64_t shape[] = {1, 3, 9, 11}, out[] = {1, 3, 4, 5};
    for (int kind = 0; kind < 2; kind++) {
        const husk_pool_params params =
            HUSK_POOL_PARAMS(.kind = (husk_pool_kind)kind, .window = {3, 3}, .stride = {2, 2});
        test_tensor x = test_input(4, shape, TEST_PACKED, 15, 2.0f), dy = test_input(4, out, TEST_PACKED, 16, 1.0f);
        test_tensor dx = test_output(HUSK_F32, 4, shape, TEST_PADDED);
        test_ok(husk_pool_backward(test_queue(), &params, &x.tensor, NULL, &dy.tensor, &dx.tensor));
        test_fetch(&dx);
        husk_ref_pool_backward op = {.params = &params, .x = &x.array, .dy = &dy.array};
        husk_ref_function function = husk_ref_pool_backward_function(&op);
        test_planted(&function, &dx.array, check, &op);
        test_planted_guards(&dx);
        test_release(&x);
        test_release(&dy);
        test_release(&dx);
    }
}
END_TEST

// ---- bad input ----

typedef struct bad_call {
    const char *argument;
    husk_status status;
    husk_pool_params params;
} bad_call;

// Against dx [2, 3, 8, 8] and dy [2, 3, 4, 4].
static const bad_call bad_calls[] = {
    {"kind", HUSK_INVALID_ARGUMENT, {.kind = (husk_pool_kind)2, .window = {2, 2}}},
    {"window[0]", HUSK_INVALID_ARGUMENT, {.window = {0, 2}}},
    {"stride[1]", HUSK_INVALID_ARGUMENT, {.window = {2, 2}, .stride = {2, -1}}},
    {"dilation[0]", HUSK_INVALID_ARGUMENT, {.window = {2, 2}, .dilation = {-1, 1}}},
    {"pad[0]", HUSK_INVALID_ARGUMENT, {.window = {2, 2}, .pad = {2, 0}}},
    {"pad_end_extra[1]", HUSK_INVALID_ARGUMENT, {.window = {2, 2}, .pad_end_extra = {0, 2}}},
    {"window[0]", HUSK_INVALID_ARGUMENT, {.window = {9, 2}}},
    {"global", HUSK_INVALID_ARGUMENT, {.window = {2, 2}, .global = 1}},
    {"accumulate", HUSK_INVALID_ARGUMENT, {.window = {2, 2}, .accumulate = 8}},
    {"dy", HUSK_INVALID_ARGUMENT, {.window = {3, 3}}},
    {"params", HUSK_UNSUPPORTED, {.window = {2, 2}, .stride = {INT64_C(1) << 40, 2}}},
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
    test_tensor x = test_input(4, shape, TEST_PACKED, 19, 1.0f), dy = test_input(4, out, TEST_PACKED, 19, 1.0f);
    test_tensor dx = test_output(HUSK_F32, 4, shape, TEST_PACKED);
    test_refused(husk_pool_backward(test_silent_queue(), &params, &x.tensor, NULL, &dy.tensor, &dx.tensor), bad->status,
                 bad->argument);
    test_untouched(&dx);
    test_release(&x);
    test_release(&dy);
    test_release(&dx);
}
END_TEST

static void refuse(husk_status wanted, const char *argument, const husk_pool_params *params, const husk_tensor *x,
                   const husk_tensor *indices, const husk_tensor *dy, const husk_tensor *dx)
{
    test_refused(husk_pool_backward(test_silent_queue(), params, x, indices, dy, dx), wanted, argument);
}

START_TEST(bad_tensors)
{
    const int64_t shape[] = {2, 3, 8, 8}, out[] = {2, 3, 4, 4}, other[] = {2, 3, 4, 5};
    const husk_pool_params params = HUSK_POOL_PARAMS(.window = {2, 2});
    const husk_pool_params average = HUSK_POOL_PARAMS(.kind = HUSK_POOL_AVG, .window = {2, 2});
    test_tensor x = test_input(4, shape, TEST_PACKED, 19, 1.0f), dy = test_input(4, out, TEST_PACKED, 20, 1.0f);
    test_tensor dx = test_output(HUSK_F32, 4, shape, TEST_PACKED);
    test_tensor indices = test_output(HUSK_I32, 4, out, TEST_PACKED);
    test_tensor wide = test_output(HUSK_I32, 4, other, TEST_PACKED);
    refuse(HUSK_INVALID_ARGUMENT, "params", NULL, &x.tensor, NULL, &dy.tensor, &dx.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, NULL, NULL, &dy.tensor, &dx.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "dy", &params, &x.tensor, NULL, NULL, &dx.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, &x.tensor, NULL, &dy.tensor, NULL);
    refuse(HUSK_UNSUPPORTED, "dy", &params, &x.tensor, NULL, &indices.tensor, &dx.tensor);
    refuse(HUSK_UNSUPPORTED, "dx", &params, &x.tensor, NULL, &dy.tensor, &indices.tensor);
    refuse(HUSK_UNSUPPORTED, "x", &params, &indices.tensor, NULL, &dy.tensor, &dx.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, &dy.tensor, NULL, &dy.tensor, &dx.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "indices", &params, NULL, &dy.tensor, &dy.tensor, &dx.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "indices", &params, NULL, &wide.tensor, &dy.tensor, &dx.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "indices", &average, NULL, &indices.tensor, &dy.tensor, &dx.tensor);

    husk_tensor bad = dx.tensor;
    bad.rank = 2;
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, &x.tensor, NULL, &dy.tensor, &bad);
    bad = x.tensor;
    bad.offset += 1; // its end is past the buffer's
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, &bad, NULL, &dy.tensor, &dx.tensor);
    bad = dy.tensor;
    bad.buffer = dx.tensor.buffer; // somewhere in dx
    bad.offset = dx.tensor.offset + 5;
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, &x.tensor, NULL, &bad, &dx.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, &dx.tensor, NULL, &dy.tensor, &dx.tensor);
    bad.dtype = HUSK_I32;
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, NULL, &bad, &dy.tensor, &dx.tensor);
    bad = dx.tensor;
    for (int d = 0; d < 4; d++)
        bad.strides[d] = 1;
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, &x.tensor, NULL, &dy.tensor, &bad);
    ck_assert_int_eq(husk_pool_backward(NULL, &params, &x.tensor, NULL, &dy.tensor, &dx.tensor), HUSK_INVALID_ARGUMENT);
    test_untouched(&dx);
    test_release(&x);
    test_release(&dy);
    test_release(&dx);
    test_release(&indices);
    test_release(&wide);
}
END_TEST

START_TEST(enough_configurations)
{
    ck_assert_msg(test_executed(NAME) >= 120, "only %ld configurations were executed", test_executed(NAME));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create(NAME);
    TCase *tests = tcase_create(NAME);
    suite_add_tcase(suite, tests);
    if (test_tier_is("dtypes")) {
        tcase_add_loop_test(tests, narrow_dtypes, 0, 20);
        return test_main(suite);
    }
    tcase_add_loop_test(tests, differences_and_adjoints, 0, DIFFERENCES);
    tcase_add_loop_test(tests, options_and_layouts, 0, 40);
    tcase_add_loop_test(tests, known_shapes, 0, CASES);
    tcase_add_loop_test(tests, special_values, 0, 24);
    tcase_add_loop_test(tests, not_a_number_between_bands, 0, 24);
    tcase_add_test(tests, past_the_caches);
    tcase_add_loop_test(tests, windows_over_nothing, 0, 8);
    tcase_add_loop_test(tests, many_terms_of_one_sign, 0, 16);
    tcase_add_loop_test(tests, windows_past_int, 0, 4);
    tcase_add_loop_test(tests, special_gradients, 0, 2);
    tcase_add_loop_test(tests, ten_runs_agree, 0, 4);
    tcase_add_test(tests, zero_sizes);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_loop_test(tests, bad_params, 0, BAD_CALLS);
    tcase_add_test(tests, bad_tensors);
    tcase_add_test(tests, enough_configurations);
    return test_main(suite);
}
