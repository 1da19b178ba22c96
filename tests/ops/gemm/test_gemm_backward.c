// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=240
// Gradients of multiplications: finite differences; every variant, layout, transposition, batch, bias and activation
// against the reference; plans; the same bits every time; bad input.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ref/elementwise/activation.h"
#include "ref/freivalds.h"
#include "ref/gemm/gemm.h"
#include "support/environment.h"
#include "support/support.h"

static const char *const variants[] = {NULL, "vector", "grid:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]), KINDS = HUSK_ACT_TANH + 1, GRADIENTS = 4 };
static const char name[] = "gemm_backward";
static const char *const gradient_names[] = {"da", "db", "dbias", "dc"};

static bool follows_from_y(husk_act act)
{
    return act <= HUSK_ACT_RELU6 || act >= HUSK_ACT_SIGMOID;
}

// ---- configurations ----

typedef enum bias_kind { NO_BIAS, BY_COLUMNS, BY_COLUMNS_OF_RANK_2, BY_ROWS } bias_kind;

// Whether A, or B, is one for the whole batch, and how that is said.
typedef enum sharing { FULL, SHARED, SHARED_OF_RANK_3, EXPANDED, EXPANDED_FULL_GRADIENT } sharing;

typedef struct config {
    husk_gemm_params params;
    float alpha, beta;
    int64_t batch, m, n, k; // batch 0: matrices of rank 2
    sharing of_a, of_b;
    bias_kind bias;
    test_layout layouts[8]; // a, b, x and y, dy, da, db, dbias, dc
    bool wants[GRADIENTS];
    bool from_y;
    husk_dtype dtype;
    bool a_is_wide, b_is_wide, gradients_are_wide; // f32 all the same; gradients: da, db, dbias
} config;

static void shape_of(int64_t shape[3], int32_t *rank, const config *c, bool is_a, sharing shared)
{
    const bool transposed = is_a ? c->params.transpose_a != 0 : c->params.transpose_b != 0;
    const int64_t rows = is_a ? c->m : c->k, columns = is_a ? c->k : c->n;
    const bool has_batch = c->batch > 0 && shared != SHARED;
    *rank = has_batch ? 3 : 2;
    shape[0] = shared == SHARED_OF_RANK_3 || shared == EXPANDED ? 1 : c->batch;
    shape[*rank - 2] = transposed ? columns : rows;
    shape[*rank - 1] = transposed ? rows : columns;
}

// A matrix with a batch of one becomes one with a batch of stride 0.
static void expand(test_tensor *t, int64_t batch)
{
    husk_tensor resolved = t->tensor;
    for (int i = 0; i < 3; i++)
        resolved.strides[i] = t->array.strides[i];
    resolved.shape[0] = batch;
    resolved.strides[0] = 0;
    t->tensor = resolved;
    t->array.shape[0] = t->before.shape[0] = batch;
    t->array.strides[0] = t->before.strides[0] = 0;
}

typedef struct tensors {
    test_tensor a, b, x, y, dy;
    test_tensor gradients[GRADIENTS];
} tensors;

static test_tensor make_factor(const config *c, bool is_a, bool is_gradient, test_layout layout, uint64_t seed)
{
    int64_t shape[3];
    int32_t rank;
    const sharing shared = is_a ? c->of_a : c->of_b;
    const bool is_full = shared == FULL || (is_gradient && shared == EXPANDED_FULL_GRADIENT);
    shape_of(shape, &rank, c, is_a, is_full ? FULL : shared == EXPANDED_FULL_GRADIENT ? EXPANDED : shared);
    const bool is_wide = is_gradient ? c->gradients_are_wide : is_a ? c->a_is_wide : c->b_is_wide;
    const husk_dtype dtype = is_wide && c->dtype != HUSK_F64 ? HUSK_F32 : c->dtype; // nothing stands beside f64
    test_tensor made = is_gradient ? test_inout_of(dtype, rank, shape, layout, seed, 1.0f)
                                   : test_input_of(dtype, rank, shape, layout, seed, 1.0f);
    // A gradient of what was expanded may be given as such, or as one matrix.
    if (c->batch > 1 && shared >= EXPANDED && !is_full && (!is_gradient || seed % 2))
        expand(&made, c->batch);
    return made;
}

static tensors make(const config *c, uint64_t seed)
{
    const int64_t matrix[] = {c->batch, c->m, c->n}, *shape = c->batch > 0 ? matrix : matrix + 1;
    const int32_t rank = c->batch > 0 ? 3 : 2;
    const int64_t row[] = {1, c->n}, column[] = {c->m, 1};
    const husk_dtype bias_dtype = c->gradients_are_wide && c->dtype != HUSK_F64 ? HUSK_F32 : c->dtype;
    tensors t = {
        .a = make_factor(c, true, false, c->layouts[0], seed),
        .b = make_factor(c, false, false, c->layouts[1], seed + 1),
        .x = test_input_of(c->dtype, rank, shape, c->layouts[2], seed + 2, 7.0f),
        .y = test_input_of(c->dtype, rank, shape, c->layouts[2], seed + 2, 7.0f),
        .dy = test_input_of(c->dtype, rank, shape, c->layouts[3], seed + 3, 1.0f),
        .gradients = {make_factor(c, true, true, c->layouts[4], seed + 4),
                      make_factor(c, false, true, c->layouts[5], seed + 5),
                      c->bias == BY_ROWS      ? test_inout_of(bias_dtype, 2, column, c->layouts[6], seed + 6, 1.0f)
                      : c->bias == BY_COLUMNS ? test_inout_of(bias_dtype, 1, row + 1, c->layouts[6], seed + 6, 1.0f)
                                              : test_inout_of(bias_dtype, 2, row, c->layouts[6], seed + 6, 1.0f),
                      test_inout_of(c->dtype, rank, shape, c->layouts[7], seed + 7, 1.0f)},
    };
    const husk_activation_params activation = {.activation = c->params.activation, .slope = c->params.activation_slope};
    husk_ref_activation op = {.params = &activation, .x = &t.x.array};
    husk_ref_activation_run(&op, &t.y.array);
    test_input_update(&t.y);
    return t;
}

static void release(tensors *t)
{
    test_release(&t->a);
    test_release(&t->b);
    test_release(&t->x);
    test_release(&t->y);
    test_release(&t->dy);
    for (int i = 0; i < GRADIENTS; i++)
        test_release(&t->gradients[i]);
}

static husk_ref_gemm_backward reference_of(const config *c, const tensors *t, int gradient)
{
    return (husk_ref_gemm_backward){.params = &c->params,
                                    .alpha = c->alpha,
                                    .beta = c->beta,
                                    .a = &t->a.array,
                                    .b = &t->b.array,
                                    .x = c->from_y ? NULL : &t->x.array,
                                    .y = c->from_y ? &t->y.array : NULL,
                                    .dy = &t->dy.array,
                                    .wanted = (husk_ref_gemm_gradient)gradient,
                                    .before = &t->gradients[gradient].before};
}

static const husk_tensor *wanted(const config *c, const tensors *t, int gradient)
{
    return c->wants[gradient] ? &t->gradients[gradient].tensor : NULL;
}

static const husk_tensor *saved_x(const config *c, const tensors *t)
{
    return c->from_y || c->params.activation == HUSK_ACT_NONE ? NULL : &t->x.tensor;
}

static const husk_tensor *saved_y(const config *c, const tensors *t)
{
    return c->from_y ? &t->y.tensor : NULL;
}

static husk_status call(const config *c, const husk_gemm_params *params, const tensors *t)
{
    return husk_gemm_backward(test_queue(), params, c->alpha, c->wants[1] ? &t->a.tensor : NULL,
                              c->wants[0] ? &t->b.tensor : NULL, c->beta, saved_x(c, t), saved_y(c, t), &t->dy.tensor,
                              wanted(c, t, 0), wanted(c, t, 1), wanted(c, t, 2), wanted(c, t, 3));
}

static void check(void *user, const husk_ref_array *array, husk_ref_report *report)
{
    husk_ref_gemm_backward_check(user, 1, array, report);
}

static void verify(const config *c, tensors *t, const char *variant, const char *what)
{
    char text[280];
    for (int i = 0; i < GRADIENTS; i++) {
        if (!c->wants[i]) {
            test_untouched(&t->gradients[i]);
            continue;
        }
        test_fetch(&t->gradients[i]);
        husk_ref_gemm_backward op = reference_of(c, t, i);
        husk_ref_report report = {0};
        check(&op, &t->gradients[i].array, &report);
        snprintf(text, sizeof(text),
                 "%s: %s, batch=%d m=%d n=%d k=%d ta=%u tb=%u sharing=%d,%d bias=%d act=%s%s "
                 "accumulate=%u alpha=%g beta=%g %s f32=%d%d%d",
                 what, gradient_names[i], (int)c->batch, (int)c->m, (int)c->n, (int)c->k,
                 (unsigned)c->params.transpose_a, (unsigned)c->params.transpose_b, (int)c->of_a, (int)c->of_b,
                 (int)c->bias, husk_act_name(c->params.activation), c->from_y ? " y" : "",
                 (unsigned)c->params.accumulate, (double)c->alpha, (double)c->beta, husk_dtype_name(c->dtype),
                 c->a_is_wide, c->b_is_wide, c->gradients_are_wide);
        test_accept(name, variant, text, &report);
    }
}

static void run_all(const config *c, uint64_t seed, const char *what)
{
    tensors t = make(c, seed);
    for (int v = 0; v < VARIANTS; v++) {
        husk_gemm_params params = c->params;
        params.variant = variants[v];
        for (int i = 0; i < GRADIENTS; i++)
            test_restore(&t.gradients[i]);
        if (test_ran(call(c, &params, &t), name, variants[v]))
            verify(c, &t, variants[v], what);
    }
    release(&t);
}

static config plain(int64_t m, int64_t n, int64_t k)
{
    return (config){.params = HUSK_GEMM_PARAMS(0),
                    .alpha = 1.0f,
                    .beta = 1.0f,
                    .m = m,
                    .n = n,
                    .k = k,
                    .bias = BY_COLUMNS,
                    .wants = {true, true, true, true}};
}

static husk_dtype tier_dtype(int i)
{
    return test_tier_is("dtypes") ? test_dtype(i) : HUSK_F32;
}

static config draw(husk_ref_random *random)
{
    config c = {.params = HUSK_GEMM_PARAMS(0)};
    const int64_t most = test_is_long() ? 150 : 60;
    c.m = test_pick_size(random, 16, most);
    c.n = test_pick_size(random, 16, most);
    c.k = test_pick_size(random, 16, most);
    c.batch = TEST_PICK(random, 0, 0, 1, 2, 3, 5);
    c.params.transpose_a = test_one_in(random, 2);
    c.params.transpose_b = test_one_in(random, 2);
    c.params.activation = (husk_act)TEST_PICK(random, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8);
    c.params.activation_slope = test_one_in(random, 2) ? 0.25f : 0.0f;
    c.params.accumulate = (uint32_t)TEST_PICK(random, 0, 0, 0, 1, 2, 3);
    c.from_y = c.params.activation != HUSK_ACT_NONE && follows_from_y(c.params.activation) && test_one_in(random, 2);
    c.alpha = (float)TEST_PICK(random, 1, 1, -2);
    c.beta = (float)TEST_PICK(random, 1, 0, 3) * 0.5f;
    c.of_a = c.batch > 0 ? (sharing)TEST_PICK(random, 0, 0, 1, 2, 3, 4) : FULL;
    c.of_b = c.batch > 0 ? (sharing)TEST_PICK(random, 0, 1, 1, 2, 3, 4) : FULL;
    c.bias = (bias_kind)TEST_PICK(random, 1, 2, 3);
    if (c.m == 1 && c.n == 1)
        c.bias = BY_COLUMNS;
    const bool is_packed = test_one_in(random, 2);
    for (int i = 0; i < 8; i++)
        c.layouts[i] = is_packed ? TEST_PACKED : test_pick_layout(random);
    for (int i = 0; i < GRADIENTS; i++)
        c.wants[i] = !test_one_in(random, 4);
    if (!c.wants[0] && !c.wants[1] && !c.wants[2] && !c.wants[3])
        c.wants[random->seed % GRADIENTS] = true;
    c.wants[3] = c.wants[3] && (c.beta != 0.0f || !(c.params.accumulate & 1)); // adding nothing proves nothing
    if (!c.wants[0] && !c.wants[1] && !c.wants[2] && !c.wants[3])
        c.wants[2] = true;
    return c;
}

// ---- the reference is the gradient ----

static void forward(void *op)
{
    husk_ref_gemm_run(((husk_ref_gemm **)op)[0], ((husk_ref_array **)op)[1]);
}

// In double, without a device: sharing is FULL or SHARED, which the index of the configuration says.
START_TEST(differences)
{
    husk_ref_random random = {.seed = 77 + (uint64_t)_i};
    config c = draw(&random);
    c.m = 1 + _i % 4;
    c.n = 3;
    c.k = 4 + _i % 2;
    c.batch = _i % 3 ? 3 : 0;
    c.of_a = _i % 6 == 1 ? SHARED : FULL;
    c.of_b = _i % 6 == 2 ? SHARED : FULL;
    c.bias = _i % 2 ? BY_ROWS : BY_COLUMNS;
    c.params.activation = (husk_act)(_i % KINDS);
    c.params.accumulate = 0;
    c.beta = 0.75f;
    int64_t shapes[4][3], of_y[] = {c.batch, c.m, c.n}, row[] = {c.n}, column[] = {c.m, 1};
    int32_t ranks[4] = {0, 0, c.bias == BY_ROWS ? 2 : 1, c.batch > 0 ? 3 : 2};
    shape_of(shapes[0], &ranks[0], &c, true, c.of_a);
    shape_of(shapes[1], &ranks[1], &c, false, c.of_b);
    memcpy(shapes[2], c.bias == BY_ROWS ? column : row, (size_t)ranks[2] * sizeof(int64_t));
    memcpy(shapes[3], c.batch > 0 ? of_y : of_y + 1, (size_t)ranks[3] * sizeof(int64_t));
    husk_ref_array inputs[4], gradients[4];
    for (int i = 0; i < 4; i++) {
        inputs[i] = test_array(ranks[i], shapes[i], (uint64_t)(_i * 8 + i), 1.0);
        gradients[i] = test_array(ranks[i], shapes[i], 0, 0.0);
    }
    husk_ref_array x = test_array(ranks[3], shapes[3], 0, 0.0), y = test_array(ranks[3], shapes[3], 0, 0.0);
    husk_ref_array dy = test_array(ranks[3], shapes[3], (uint64_t)_i + 5, 1.0);
    husk_gemm_params linear = c.params;
    linear.activation = HUSK_ACT_NONE;
    husk_ref_gemm op = {.params = &linear,
                        .alpha = c.alpha,
                        .beta = c.beta,
                        .a = &inputs[0],
                        .b = &inputs[1],
                        .bias = &inputs[2],
                        .c = &inputs[3]};
    husk_ref_gemm_run(&op, &x);
    for (int64_t i = 0; i < husk_ref_array_count(&x); i++) { // away from the kinks: C is moved
        const double value = ((double *)x.data)[i];
        if (fabs(value) < 2e-2 || fabs(value - 6.0) < 2e-2)
            ((double *)inputs[3].data)[i] += 0.1;
    }
    husk_ref_gemm_run(&op, &x);
    op.params = &c.params;
    husk_ref_gemm_run(&op, &y);
    void *user[] = {&op, &y};
    for (int i = 0; i < 4; i++) {
        husk_ref_gemm_backward backward = {.params = &c.params,
                                           .alpha = c.alpha,
                                           .beta = c.beta,
                                           .a = &inputs[0],
                                           .b = &inputs[1],
                                           .x = &x,
                                           .dy = &dy,
                                           .wanted = (husk_ref_gemm_gradient)i,
                                           .before = &gradients[i]};
        husk_ref_gemm_backward_run(&backward, &gradients[i]);
        test_differences(gradient_names[i], forward, user, &inputs[i], &y, &dy, &gradients[i], 3);
    }
    for (int i = 0; i < 4; i++) {
        test_array_release(&inputs[i]);
        test_array_release(&gradients[i]);
    }
    test_array_release(&x);
    test_array_release(&y);
    test_array_release(&dy);
}
END_TEST

// ---- every variant ----

// What a matrix engine multiplies is within the bound that the plan states, and not within f32's.
START_TEST(by_an_engine)
{
    config c = plain(40, 36, 50);
    int64_t failures = 0;
    test_setenv("HUSK_ENGINES", "soft_amx");
    c.params.precision = HUSK_PRECISION_MEDIUM;
    c.batch = _i ? 3 : 0; // b's gradient is added up over the batch
    c.of_b = _i ? SHARED : FULL;
    tensors t = make(&c, 4711);
    test_ok(call(&c, &c.params, &t));
    const double factor = husk_plan_error_factor(husk_queue_plan(test_queue()));
    ck_assert(factor > 0x1p16 || !test_device_is_home());
    for (int i = 0; i < GRADIENTS; i++) {
        husk_ref_report report = {0}, as_f32 = {0};
        husk_ref_gemm_backward op = reference_of(&c, &t, i);
        test_fetch(&t.gradients[i]);
        check(&op, &t.gradients[i].array, &as_f32);
        op.error_factor = factor;
        check(&op, &t.gradients[i].array, &report);
        test_accept(name, NULL, gradient_names[i], &report);
        failures += as_f32.failures;
    }
    ck_assert((failures > 0) == (factor > 0.0));
    release(&t);
    test_restore_environment();
}
END_TEST

START_TEST(drawn)
{
    husk_ref_random random = {.seed = 1009 + (uint64_t)_i};
    const int rounds = test_is_long() ? 60 : 8;
    for (int round = 0; round < rounds; round++) {
        config c = draw(&random);
        if (test_tier_is("dtypes")) {
            c.dtype = test_dtype(round);
            c.a_is_wide = test_one_in(&random, 6);
            c.b_is_wide = test_one_in(&random, 6);
            c.gradients_are_wide = test_one_in(&random, 4);
        }
        run_all(&c, (uint64_t)(_i * 100 + round), "drawn");
    }
}
END_TEST

// A few in the default tier, among them batches that are summed up one after the other.
START_TEST(narrow)
{
    for (int i = 0; i < 4; i++) {
        config c = plain(21, 34, 17);
        c.dtype = HUSK_F16;
        c.gradients_are_wide = i == 3;
        c.batch = i > 1 ? 3 : 0;
        c.of_b = i == 2 ? SHARED : FULL;
        for (int l = 0; l < 8; l++)
            c.layouts[l] = i == 2 ? TEST_PADDED : TEST_PACKED;
        c.params.activation = i < 2 ? HUSK_ACT_LEAKY_RELU : HUSK_ACT_NONE;
        c.params.activation_slope = 0.25f;
        c.params.accumulate = i == 2 ? HUSK_ACCUMULATE_PARAMETERS : 0;
        run_all(&c, (uint64_t)i, "narrow");
    }
}
END_TEST

// Shares of rows and blocks of columns end somewhere: sizes around them, with either bias.
START_TEST(around_the_shares)
{
    static const int64_t sizes[][2] = {{1, 5000}, {5000, 1}, {33, 1023}, {31, 1025}, {32, 1024}, {700, 257},
                                       {129, 64}, {9000, 3}, {3, 2049},  {4097, 17}, {67, 2050}};
    config c = plain(sizes[_i / 2][0], sizes[_i / 2][1], 3);
    c.dtype = tier_dtype(_i);
    c.bias = _i % 2 ? BY_ROWS : BY_COLUMNS;
    c.params.activation = _i % 3 ? HUSK_ACT_RELU : HUSK_ACT_NONE;
    run_all(&c, (uint64_t)_i, "around the shares");
    if (_i % 4 == 0) { // the same by columns
        c.layouts[2] = c.layouts[3] = c.layouts[7] = TEST_REVERSED;
        run_all(&c, (uint64_t)_i, "by columns");
    }
}
END_TEST

START_TEST(large)
{
    config c = plain(300, 257, 200);
    c.batch = 4;
    c.of_b = _i ? SHARED : FULL;
    c.params.activation = _i ? HUSK_ACT_GELU : HUSK_ACT_RELU;
    c.from_y = !_i;
    run_all(&c, 4, "large");
}
END_TEST

// dbias of errors of one sign; products are added up as gemm does.
START_TEST(many_terms_of_one_sign)
{
    config c = plain(_i == 0 ? 200000 : 3, _i == 0 ? 3 : 200000, 2);
    const int64_t shape[] = {c.m, c.n};
    c.bias = _i == 0 ? BY_COLUMNS : BY_ROWS;
    c.wants[0] = c.wants[1] = c.wants[3] = false;
    tensors t = make(&c, 3);
    test_release(&t.dy);
    t.dy = test_input_alike(2, shape, TEST_PACKED, 0.1f);
    for (int v = 0; v < VARIANTS; v++) {
        husk_gemm_params params = c.params;
        params.variant = variants[v];
        for (int i = 0; i < GRADIENTS; i++)
            test_restore(&t.gradients[i]);
        if (test_ran(call(&c, &params, &t), name, variants[v]))
            verify(&c, &t, variants[v], "of one sign");
    }
    release(&t);
}
END_TEST

// Sums of nothing are 0, or what was there; what has no elements is left alone.
START_TEST(empty)
{
    static const int64_t sizes[][3] = {{0, 5, 4}, {6, 0, 4}, {6, 5, 0}, {0, 0, 0}};
    config c = plain(sizes[_i / 2][0], sizes[_i / 2][1], sizes[_i / 2][2]);
    c.dtype = tier_dtype(_i);
    c.params.accumulate = _i % 2 ? HUSK_ACCUMULATE_ALL : 0;
    c.params.activation = HUSK_ACT_RELU;
    run_all(&c, 9, "empty");
    c.batch = 3;
    c.of_b = SHARED;
    c.bias = BY_ROWS;
    run_all(&c, 9, "empty batch");
}
END_TEST

static const test_layout packed;

START_TEST(no_batch_at_all)
{
    const int64_t none[] = {0, 6, 5}, b_shape[] = {4, 5}, a_shape[] = {0, 6, 4}, columns[] = {5};
    for (int v = 0; v < VARIANTS; v++) {
        const husk_gemm_params params = HUSK_GEMM_PARAMS(.variant = variants[v]);
        test_tensor a = test_input(3, a_shape, packed, 1, 1.0f), b = test_input(2, b_shape, packed, 1, 1.0f);
        test_tensor dy = test_input(3, none, packed, 1, 1.0f), da = test_inout(3, a_shape, packed, 1, 1.0f);
        test_tensor db = test_output(HUSK_F32, 2, b_shape, packed), dbias = test_output(HUSK_F32, 1, columns, packed);
        if (test_ran(husk_gemm_backward(test_queue(), &params, 1.0f, &a.tensor, &b.tensor, 0.0f, NULL, NULL, &dy.tensor,
                                        &da.tensor, &db.tensor, &dbias.tensor, NULL),
                     name, variants[v])) {
            test_untouched(&da);
            test_fetch(&db);
            test_fetch(&dbias);
            for (int64_t i = 0; i < 20; i++)
                ck_assert(husk_ref_load(&db.array, i) == 0.0);
            for (int64_t i = 0; i < 5; i++)
                ck_assert(husk_ref_load(&dbias.array, i) == 0.0);
        }
        test_release(&a);
        test_release(&b);
        test_release(&dy);
        test_release(&da);
        test_release(&db);
        test_release(&dbias);
    }
}
END_TEST

// dc is dy itself: the multiplications see dy as it was.
START_TEST(in_place)
{
    for (int v = 0; v < VARIANTS; v++) {
        config c = plain(37, 50, 20);
        c.beta = 0.5f;
        c.params.activation = _i ? HUSK_ACT_SIGMOID : HUSK_ACT_NONE;
        c.params.variant = variants[v];
        tensors t = make(&c, 12);
        husk_gemm_params params = c.params;
        test_tensor *dy = &t.gradients[3]; // its `before` is dy's values
        if (test_ran(husk_gemm_backward(test_queue(), &params, c.alpha, &t.a.tensor, &t.b.tensor, c.beta,
                                        saved_x(&c, &t), NULL, &dy->tensor, &t.gradients[0].tensor,
                                        &t.gradients[1].tensor, &t.gradients[2].tensor, &dy->tensor),
                     name, variants[v])) {
            for (int i = 0; i < GRADIENTS; i++) {
                test_fetch(&t.gradients[i]);
                husk_ref_gemm_backward op = reference_of(&c, &t, i);
                op.dy = &dy->before;
                husk_ref_report report = {0};
                check(&op, &t.gradients[i].array, &report);
                test_accept(name, variants[v], "in place", &report);
            }
        }
        release(&t);
    }
}
END_TEST

START_TEST(special_values)
{
    config c = plain(20, 24, 18);
    c.params.activation = _i == 0 ? HUSK_ACT_NONE : _i == 1 ? HUSK_ACT_RELU : HUSK_ACT_GELU;
    tensors t = make(&c, 5);
    husk_ref_store(&t.dy.array, 3 * 24 + 5, NAN);
    husk_ref_store(&t.dy.array, 7 * 24 + 2, INFINITY);
    husk_ref_store(&t.a.array, 4 * 18 + 1, -INFINITY);
    husk_ref_store(&t.x.array, 9 * 24 + 9, NAN);
    test_input_update(&t.dy);
    test_input_update(&t.a);
    test_input_update(&t.x);
    for (int v = 0; v < VARIANTS; v++) {
        husk_gemm_params params = c.params;
        params.variant = variants[v];
        for (int i = 0; i < GRADIENTS; i++)
            test_restore(&t.gradients[i]);
        if (test_ran(call(&c, &params, &t), name, variants[v]))
            verify(&c, &t, variants[v], "special values");
    }
    release(&t);
}
END_TEST

// ---- plans ----

START_TEST(plans)
{
    config c = plain(65, 70, 80);
    c.params.activation = HUSK_ACT_TANH;
    c.from_y = true;
    tensors t = make(&c, 31);
    husk_error error = {0};
    husk_plan *plan = NULL;
    test_ok_error(husk_gemm_backward_plan_create(test_context(), &c.params, &t.a.tensor, &t.b.tensor, NULL, &t.y.tensor,
                                                 &t.dy.tensor, &t.gradients[0].tensor, &t.gradients[1].tensor,
                                                 &t.gradients[2].tensor, &t.gradients[3].tensor, &plan, &error),
                  &error);
    ck_assert_uint_ge(husk_plan_workspace(plan), 65 * 70 * sizeof(float));
    for (int run = 0; run < 2; run++) {
        c.alpha = run ? 0.5f : 1.0f;
        for (int i = 0; i < GRADIENTS; i++)
            test_restore(&t.gradients[i]);
        test_ok(husk_gemm_backward_plan_run(plan, test_queue(), c.alpha, &t.a.tensor, &t.b.tensor, c.beta, NULL,
                                            &t.y.tensor, &t.dy.tensor, &t.gradients[0].tensor, &t.gradients[1].tensor,
                                            &t.gradients[2].tensor, &t.gradients[3].tensor));
        verify(&c, &t, NULL, "plan");
    }
    test_refused(husk_gemm_backward_plan_run(plan, test_silent_queue(), 1.0f, &t.a.tensor, &t.b.tensor, 0.0f, NULL,
                                             &t.y.tensor, &t.dy.tensor, &t.gradients[0].tensor, NULL,
                                             &t.gradients[2].tensor, &t.gradients[3].tensor),
                 HUSK_INVALID_ARGUMENT, "db");
    test_refused(husk_gemm_backward_plan_run(plan, test_silent_queue(), 1.0f, &t.b.tensor, &t.b.tensor, 0.0f, NULL,
                                             &t.y.tensor, &t.dy.tensor, &t.gradients[0].tensor, &t.gradients[1].tensor,
                                             &t.gradients[2].tensor, &t.gradients[3].tensor),
                 HUSK_INVALID_ARGUMENT, "a");
    test_refused(husk_gemm_backward_plan_run(plan, test_silent_queue(), 1.0f, &t.a.tensor, &t.b.tensor, 0.0f,
                                             &t.x.tensor, NULL, &t.dy.tensor, &t.gradients[0].tensor,
                                             &t.gradients[1].tensor, &t.gradients[2].tensor, &t.gradients[3].tensor),
                 HUSK_INVALID_ARGUMENT, "y");
    husk_plan_release(plan);
    test_refused_error(husk_gemm_backward_plan_create(test_context(), &c.params, &t.a.tensor, &t.b.tensor, NULL,
                                                      &t.y.tensor, NULL, &t.gradients[0].tensor, NULL, NULL, NULL,
                                                      &plan, &error),
                       &error, HUSK_INVALID_ARGUMENT, "dy");
    release(&t);
}
END_TEST

// ---- the same bits ----

START_TEST(the_same_bits)
{
    config c = plain(130, 300, 40);
    c.batch = 3;
    c.of_b = SHARED;
    c.of_a = _i ? EXPANDED : FULL;
    c.params.activation = HUSK_ACT_GELU;
    tensors t = make(&c, 21);
    uint32_t *first[GRADIENTS];
    for (int run = 0; run < 10; run++) {
        for (int i = 0; i < GRADIENTS; i++)
            test_restore(&t.gradients[i]);
        test_ok(call(&c, &c.params, &t));
        for (int i = 0; i < GRADIENTS; i++) {
            test_tensor *gradient = &t.gradients[i];
            const size_t bytes = (size_t)gradient->words * sizeof(uint32_t);
            test_fetch(gradient);
            if (run == 0) {
                first[i] = malloc(bytes);
                ck_assert_ptr_nonnull(first[i]);
                memcpy(first[i], gradient->current, bytes);
            }
            ck_assert_msg(memcmp(first[i], gradient->current, bytes) == 0, "run %d has other bits in %s", run,
                          gradient_names[i]);
        }
    }
    for (int i = 0; i < GRADIENTS; i++)
        free(first[i]);
    release(&t);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    config c = plain(12, 14, 10);
    c.layouts[4 + _i] = TEST_PADDED;
    tensors t = make(&c, 15);
    test_ok(call(&c, &c.params, &t));
    test_fetch(&t.gradients[_i]);
    husk_ref_gemm_backward op = reference_of(&c, &t, _i);
    husk_ref_function function = husk_ref_gemm_backward_function(&op);
    test_planted(&function, &t.gradients[_i].array, check, &op);
    test_planted_guards(&t.gradients[_i]);
    release(&t);
}
END_TEST

// ---- bad input ----

typedef struct bad {
    husk_gemm_params params;
    husk_tensor a, b, x, y, dy, da, db, dbias, dc;
} bad;

static bad good_of(const tensors *t)
{
    return (bad){.params = HUSK_GEMM_PARAMS(.activation = HUSK_ACT_RELU),
                 .a = t->a.tensor,
                 .b = t->b.tensor,
                 .x = t->x.tensor,
                 .y = t->y.tensor,
                 .dy = t->dy.tensor,
                 .da = t->gradients[0].tensor,
                 .db = t->gradients[1].tensor,
                 .dbias = t->gradients[2].tensor,
                 .dc = t->gradients[3].tensor};
}

// A tensor whose rank is -1 is not given.
static const husk_tensor *given(const husk_tensor *tensor)
{
    return tensor->rank < 0 ? NULL : tensor;
}

static void refuse(const bad *b, husk_status status, const char *argument)
{
    test_refused(husk_gemm_backward(test_silent_queue(), &b->params, 1.0f, given(&b->a), given(&b->b), 1.0f,
                                    given(&b->x), given(&b->y), given(&b->dy), given(&b->da), given(&b->db),
                                    given(&b->dbias), given(&b->dc)),
                 status, argument);
}

#define REFUSE(status, argument, ...) \
    do { \
        bad b = good; \
        __VA_ARGS__; \
        refuse(&b, status, argument); \
    } while (0)

START_TEST(bad_params)
{
    const config c = plain(4, 6, 5);
    tensors t = make(&c, 17);
    const bad good = good_of(&t);
    REFUSE(HUSK_INVALID_ARGUMENT, "activation", b.params.activation = (husk_act)9);
    REFUSE(HUSK_INVALID_ARGUMENT, "activation_slope", b.params.activation_slope = NAN);
    REFUSE(HUSK_INVALID_ARGUMENT, "precision", b.params.precision = (husk_precision)9);
    REFUSE(HUSK_INVALID_ARGUMENT, "accumulate", b.params.accumulate = 4);
    REFUSE(HUSK_INVALID_ARGUMENT, "packed", b.params.variant = "packed");
    REFUSE(HUSK_INVALID_ARGUMENT, "params", b.params.size = sizeof(b.params) + 8);
    REFUSE(HUSK_UNSUPPORTED, "workspace", b.params.workspace_limit = 8);
    REFUSE(HUSK_INVALID_ARGUMENT, "x", b.params.activation = HUSK_ACT_GELU; b.x.rank = -1);
    REFUSE(HUSK_INVALID_ARGUMENT, "x",
           b.params = HUSK_GEMM_PARAMS(.activation = HUSK_ACT_LEAKY_RELU, .activation_slope = -0.5f);
           b.x.rank = -1);
    REFUSE(HUSK_INVALID_ARGUMENT, "x", b.x.rank = b.y.rank = -1);
    ck_assert_int_eq(
        husk_gemm_backward(NULL, NULL, 1.0f, &good.a, &good.b, 1.0f, NULL, NULL, &good.dy, &good.da, NULL, NULL, NULL),
        HUSK_INVALID_ARGUMENT);
    for (int i = 0; i < GRADIENTS; i++)
        test_untouched(&t.gradients[i]);
    release(&t);
}
END_TEST

START_TEST(bad_tensors)
{
    const config c = plain(4, 6, 5);
    tensors t = make(&c, 19);
    const bad good = good_of(&t);
    const husk_status wrong = HUSK_INVALID_ARGUMENT;
    // sizes
    REFUSE(wrong, "a", b.a.shape[0] = 3);
    REFUSE(wrong, "b", b.b.shape[1] = 7);
    REFUSE(wrong, "x", b.x.shape[0] = 3);
    REFUSE(wrong, "y", b.y.shape[0] = 3);
    REFUSE(wrong, "da", b.da.shape[1] = 4);
    REFUSE(wrong, "db", b.db.shape[0] = 4);
    REFUSE(wrong, "dbias", b.dbias.shape[0] = 5);
    REFUSE(wrong, "dc", b.dc.shape[0] = 3);
    REFUSE(wrong, "a", b.params.transpose_a = 1);
    // what is not there
    REFUSE(wrong, "a", b.a.rank = -1);
    REFUSE(wrong, "b", b.b.rank = -1);
    REFUSE(wrong, "dy", b.dy.rank = -1);
    REFUSE(wrong, "da", b.da.rank = b.db.rank = b.dbias.rank = b.dc.rank = -1);
    // dtypes and ranks
    REFUSE(HUSK_UNSUPPORTED, "a", b.a.dtype = HUSK_I32);
    REFUSE(HUSK_INVALID_ARGUMENT, "b", b.b.dtype = HUSK_F64);
    REFUSE(HUSK_UNSUPPORTED, "dy", b.dy.dtype = HUSK_I8);
    REFUSE(HUSK_UNSUPPORTED, "da", b.da.dtype = HUSK_I32);
    REFUSE(HUSK_UNSUPPORTED, "db", b.db.dtype = HUSK_I32);
    REFUSE(HUSK_UNSUPPORTED, "dbias", b.dbias.dtype = HUSK_I32);
    // beside an f32 dy nothing is narrower
    REFUSE(HUSK_INVALID_ARGUMENT, "a", b.a.dtype = HUSK_F16);
    REFUSE(HUSK_INVALID_ARGUMENT, "b", b.b.dtype = HUSK_F16);
    REFUSE(HUSK_INVALID_ARGUMENT, "da", b.da.dtype = HUSK_F16);
    REFUSE(HUSK_INVALID_ARGUMENT, "db", b.db.dtype = HUSK_BF16);
    REFUSE(HUSK_INVALID_ARGUMENT, "dbias", b.dbias.dtype = HUSK_F16);
    REFUSE(wrong, "dy", b.dy.rank = 1);
    REFUSE(wrong, "a", b.a.rank = 4);
    // batches
    REFUSE(wrong, "da", b.da.rank = 3; b.da.shape[0] = 2; b.da.shape[1] = 4; b.da.shape[2] = 5);
    // elements that coincide
    REFUSE(wrong, "da", b.da.strides[0] = 0; b.da.strides[1] = 1);
    REFUSE(wrong, "dc", b.dc.strides[0] = 1; b.dc.strides[1] = 1);
    // memory
    REFUSE(wrong, "a", b.a.buffer = NULL);
    REFUSE(wrong, "x", b.x.buffer = NULL; b.y.rank = -1);
    REFUSE(wrong, "y", b.y.buffer = NULL);
    REFUSE(wrong, "dy", b.dy.offset = 1 << 20);
    REFUSE(wrong, "dbias", b.dbias.offset = 1 << 20);
    // overlap
    REFUSE(wrong, "da", b.da.buffer = b.a.buffer; b.da.offset = b.a.offset);
    REFUSE(wrong, "db", b.db.buffer = b.da.buffer; b.db.offset = b.da.offset);
    REFUSE(wrong, "dbias", b.dbias.buffer = b.dy.buffer; b.dbias.offset = b.dy.offset);
    REFUSE(wrong, "dc", b.dc.buffer = b.y.buffer; b.dc.offset = b.y.offset);
    REFUSE(wrong, "dc", b.dc.buffer = b.dy.buffer; b.dc.offset = b.dy.offset; b.params.accumulate = 1);
    for (int i = 0; i < GRADIENTS; i++)
        test_untouched(&t.gradients[i]);
    release(&t);
}
END_TEST

// Batches of A, B and their gradients that do not go together.
START_TEST(bad_batches)
{
    config c = plain(4, 6, 5);
    c.batch = 3;
    tensors t = make(&c, 23);
    const bad good = good_of(&t);
    REFUSE(HUSK_INVALID_ARGUMENT, "a", b.a.shape[0] = 2);
    REFUSE(HUSK_INVALID_ARGUMENT, "db", b.db.shape[0] = 2);
    REFUSE(HUSK_INVALID_ARGUMENT, "da", b.da.shape[0] = 1);
    REFUSE(HUSK_INVALID_ARGUMENT, "db", b.b.shape[0] = 1);
    release(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gemm_backward");
    TCase *cases = tcase_create("gemm_backward");
    if (test_tier_is("dtypes")) {
        tcase_add_loop_test(cases, drawn, 0, 16);
        tcase_add_loop_test(cases, around_the_shares, 0, 22);
        tcase_add_loop_test(cases, empty, 0, 8);
        suite_add_tcase(suite, cases);
        return test_main(suite);
    }
    tcase_add_loop_test(cases, differences, 0, 4 * KINDS);
    tcase_add_test(cases, narrow);
    tcase_add_loop_test(cases, drawn, 0, 16);
    tcase_add_loop_test(cases, around_the_shares, 0, 22);
    tcase_add_loop_test(cases, large, 0, 2);
    tcase_add_loop_test(cases, many_terms_of_one_sign, 0, 2);
    tcase_add_loop_test(cases, by_an_engine, 0, 2);
    tcase_add_loop_test(cases, empty, 0, 8);
    tcase_add_test(cases, no_batch_at_all);
    tcase_add_loop_test(cases, in_place, 0, 2);
    tcase_add_loop_test(cases, special_values, 0, 3);
    tcase_add_test(cases, plans);
    tcase_add_loop_test(cases, the_same_bits, 0, 2);
    tcase_add_loop_test(cases, the_check_sees_mistakes, 0, GRADIENTS);
    tcase_add_test(cases, bad_params);
    tcase_add_test(cases, bad_tensors);
    tcase_add_test(cases, bad_batches);
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
