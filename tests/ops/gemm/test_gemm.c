// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=720
// Matrix multiplication against the reference: every variant and configuration, every transpose, stride and
// option, sizes that are legal and odd, plans and packed weights, and calls that must be refused.
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ref/freivalds.h"
#include "ref/gemm/gemm.h"
#include "support/environment.h"
#include "support/support.h"

typedef enum bias_kind { NO_BIAS, COLUMN_BIAS, ROW_BIAS } bias_kind;

typedef struct configuration {
    int64_t batch; // 0: matrices of rank 2
    int64_t m, n, k;
    bool transpose_a, transpose_b;
    bool shares_a, shares_b; // one matrix for the whole batch
    test_layout a_layout, b_layout, c_layout;
    bias_kind bias;
    float alpha, beta;
    husk_act activation;
    husk_dtype dtype;            // of the matrices and the bias
    bool c_is_wide, bias_is_wide; // f32 all the same
    bool a_is_wide, b_is_wide;
} configuration;

static husk_dtype dtype_of(const configuration *g, bool is_wide)
{
    return is_wide && g->dtype != HUSK_F64 ? HUSK_F32 : g->dtype; // nothing stands beside f64
}

// Tensors of a configuration, and what the reference thinks of them.
typedef struct fixture {
    test_tensor a, b, bias, c;
    husk_gemm_params params;
    husk_ref_gemm op;
    bool has_bias;
} fixture;

static const char *text_of(const configuration *g)
{
    static char text[300];
    snprintf(text, sizeof text,
             "batch=%lld%s%s m=%lld n=%lld k=%lld ta=%d tb=%d layouts=%d,%d,%d bias=%d alpha=%g beta=%g act=%s %s "
             "f32=%d%d%d%d",
             (long long)g->batch, g->shares_a ? " (one A)" : "", g->shares_b ? " (one B)" : "", (long long)g->m,
             (long long)g->n, (long long)g->k, g->transpose_a, g->transpose_b, g->a_layout, g->b_layout, g->c_layout,
             g->bias, (double)g->alpha, (double)g->beta, husk_act_name(g->activation), husk_dtype_name(g->dtype),
             g->a_is_wide, g->b_is_wide, g->c_is_wide, g->bias_is_wide);
    return text;
}

// A matrix of a batch; rank 2 without one, or where one matrix serves all of it.
static int32_t shape_of(const configuration *g, bool is_shared, bool transposed, int64_t rows, int64_t columns,
                        int64_t shape[3])
{
    const int64_t sizes[2] = {transposed ? columns : rows, transposed ? rows : columns};
    const bool has_batch = g->batch > 0 && !is_shared;
    shape[0] = g->batch;
    memcpy(shape + has_batch, sizes, sizeof sizes);
    return has_batch ? 3 : 2;
}

// The same as f->op points into the fixture: made in place.
static void make(fixture *f, const configuration *g, const char *variant, uint64_t seed)
{
    int64_t shape[3];
    int32_t rank = shape_of(g, g->shares_a, g->transpose_a, g->m, g->k, shape);
    f->a = test_input_of(dtype_of(g, g->a_is_wide), rank, shape, g->a_layout, seed, 1.0f);
    rank = shape_of(g, g->shares_b, g->transpose_b, g->k, g->n, shape);
    f->b = test_input_of(dtype_of(g, g->b_is_wide), rank, shape, g->b_layout, seed + 1, 1.0f);
    rank = shape_of(g, false, false, g->m, g->n, shape);
    const husk_dtype c_dtype = dtype_of(g, g->c_is_wide);
    f->c = g->beta != 0.0f ? test_inout_of(c_dtype, rank, shape, g->c_layout, seed + 2, 1.0f)
                           : test_output(c_dtype, rank, shape, g->c_layout);
    f->has_bias = g->bias != NO_BIAS;
    if (f->has_bias) {
        const int64_t sizes[2] = {g->bias == ROW_BIAS ? g->m : g->n, 1};
        f->bias = test_input_of(dtype_of(g, g->bias_is_wide), g->bias == ROW_BIAS ? 2 : 1, sizes,
                                seed % 2 ? TEST_PACKED : TEST_SPREAD, seed + 3, 1.0f);
    }
    f->params = HUSK_GEMM_PARAMS(.transpose_a = g->transpose_a, .transpose_b = g->transpose_b,
                                 .activation = g->activation, .activation_slope = 0.25f, .variant = variant);
    f->op = (husk_ref_gemm){.params = &f->params,
                            .alpha = g->alpha,
                            .beta = g->beta,
                            .a = &f->a.array,
                            .b = &f->b.array,
                            .bias = f->has_bias ? &f->bias.array : NULL,
                            .c = &f->c.before};
}

static void release(fixture *f)
{
    test_release(&f->a);
    test_release(&f->b);
    test_release(&f->c);
    if (f->has_bias)
        test_release(&f->bias);
}

static const husk_tensor *bias_of(const fixture *f)
{
    return f->has_bias ? &f->bias.tensor : NULL;
}

static husk_status call(fixture *f, husk_queue *queue)
{
    return husk_gemm(queue, &f->params, f->op.alpha, &f->a.tensor, &f->b.tensor, bias_of(f), f->op.beta, &f->c.tensor);
}

static void verify(fixture *f, const configuration *g, const char *variant, uint64_t seed)
{
    husk_ref_report report = {0};
    test_fetch(&f->c);
    husk_ref_gemm_check(&f->op, seed, &f->c.array, &report);
    test_accept("gemm", variant, text_of(g), &report);
}

static void run(const configuration *g, const char *variant, uint64_t seed)
{
    fixture f = {0};
    make(&f, g, variant, seed);
    if (test_ran(call(&f, test_queue()), "gemm", variant))
        verify(&f, g, variant, seed);
    release(&f);
}

// ---- generated configurations ----

static configuration draw(husk_ref_random *random, int64_t tile, int64_t limit, int64_t least_side)
{
    configuration g = {0};
    g.m = test_pick_size(random, tile, limit);
    g.n = test_pick_size(random, tile, limit);
    if (least_side > 0 && g.m > least_side && g.n > least_side)
        *(test_one_in(random, 2) ? &g.m : &g.n) = 1 + husk_ref_random_below(random, least_side);
    g.k = test_one_in(random, 8) ? 0 : test_pick_size(random, 16, test_one_in(random, 6) ? 700 : 100);
    g.batch = test_one_in(random, 3) ? 1 + husk_ref_random_below(random, 4) : 0;
    g.shares_a = g.batch > 0 && test_one_in(random, 4);
    g.shares_b = g.batch > 0 && test_one_in(random, 3);
    g.transpose_a = test_one_in(random, 2);
    g.transpose_b = test_one_in(random, 2);
    g.a_layout = test_pick_layout(random);
    g.b_layout = test_pick_layout(random);
    g.c_layout = test_pick_layout(random);
    g.bias = (bias_kind)husk_ref_random_below(random, 3);
    g.alpha = test_one_in(random, 2) ? 1.0f : -0.75f;
    g.beta = test_one_in(random, 2) ? 0.0f : test_one_in(random, 2) ? 1.0f : 0.5f;
    g.activation = test_one_in(random, 2) ? HUSK_ACT_NONE : (husk_act)husk_ref_random_below(random, HUSK_ACT_TANH + 1);
    // Few sums, or one bias for all of them, may well be negative together: ReLU of those would prove nothing.
    const bool is_one_sided = g.activation == HUSK_ACT_RELU || g.activation == HUSK_ACT_RELU6;
    if (is_one_sided && (g.m < 16 || g.n < 16 || g.k < 4))
        g.activation = HUSK_ACT_LEAKY_RELU;
    return g;
}

// The dtypes in turns, of f16 and bf16 some tensors f32 beside them.
static void narrow(configuration *g, husk_ref_random *random, int i)
{
    g->dtype = test_dtype(i);
    g->c_is_wide = test_one_in(random, 4);
    g->bias_is_wide = test_one_in(random, 2);
    g->a_is_wide = test_one_in(random, 8);
    g->b_is_wide = test_one_in(random, 8) && !(g->a_is_wide && g->c_is_wide);
}

// A device is not obliged to offer a variant, but it must not refuse everything.
static void run_generated(const char *variant, int count, int64_t tile, int64_t limit, int64_t least_side)
{
    husk_ref_random random = {.seed = 100 + (uint64_t)tile + (variant ? strlen(variant) : 0)};
    const bool has_f64 = !variant || strcmp(variant, "skinny") != 0;
    const long before = test_executed("gemm");
    count *= test_is_long() ? 8 : 1;
    for (int i = 0; i < count; ++i) {
        configuration g = draw(&random, tile, limit, least_side);
        if (test_tier_is("dtypes"))
            narrow(&g, &random, i);
        run(&g, variant, 1000 + (uint64_t)i);
    }
    if (variant == NULL || (husk_context_traits(test_context())->work_group >= 256 && !test_lacks_panels(variant)))
        ck_assert_msg(test_executed("gemm") - before >= count / (has_f64 ? 3 : 4), "%s refuses too much",
                      variant ? variant : "gemm");
}

START_TEST(test_chosen)
{
    run_generated(NULL, 160, 12, 150, 0);
}
END_TEST

START_TEST(test_packed_variant)
{
    run_generated("packed:12x2v", 60, 12, 100, 0);
    run_generated("packed:16x1v", 40, 16, 100, 0);
    run_generated("packed:6x2v", 40, 6, 100, 0);
    run_generated("packed:8x3v", 40, 8, 100, 0);
}
END_TEST

START_TEST(test_skinny_variant)
{
    run_generated("skinny", 100, 16, 300, 16);
}
END_TEST

START_TEST(test_tiled_variant)
{
    run_generated("tiled:128x128", 16, 128, 150, 0);
    run_generated("tiled:64x64", 24, 64, 100, 0);
    run_generated("tiled:64x64_64", 24, 64, 100, 0);
    run_generated("tiled:32x32", 40, 32, 100, 0);
}
END_TEST

// A few of them in the default tier, with as few programs: the rest is in the tier "dtypes".
START_TEST(test_narrow)
{
    static const char *const variants[] = {"packed:12x2v", "skinny", "tiled:32x32"};
    for (int i = 0; i < 9; ++i) {
        configuration g = {.m = i % 3 == 1 ? 9 : 40, .n = 37, .k = i < 3 ? 50 : 900, .alpha = 1.0f};
        g.dtype = i % 3 == 1 ? HUSK_BF16 : HUSK_F16;
        g.transpose_b = true;
        g.bias = COLUMN_BIAS;
        g.bias_is_wide = i >= 6;
        g.c_is_wide = i == 6;
        run(&g, variants[i % 3], 60 + (uint64_t)i);
    }
}
END_TEST

START_TEST(test_clblast_variant)
{
    if (test_has_variant("gemm", "clblast"))
        run_generated("clblast", 3, 32, 80, 0); // each routine of it takes seconds to compile
}
END_TEST

// ---- chosen configurations ----

static const char *const every_variant[] = {NULL,     "packed:12x2v",  "packed:16x1v", "packed:6x2v",    "packed:8x3v",
                                            "skinny", "tiled:128x128", "tiled:64x64",  "tiled:64x64_64", "tiled:32x32"};
#define VARIANTS ((int)(sizeof every_variant / sizeof *every_variant))

// The tests of chosen configurations are in the tier "dtypes", too, in the other dtypes.
static husk_dtype tier_dtype(int i)
{
    return test_tier_is("dtypes") ? test_dtype(i) : HUSK_F32;
}

static configuration simple(int64_t m, int64_t n, int64_t k)
{
    return (configuration){.m = m, .n = n, .k = k, .alpha = 1.0f};
}

// Packed weights for few rows and for more, k in one block and in several.
START_TEST(test_packed_rows)
{
    static const char *const layouts[] = {"packed:12x2v", "packed:6x2v", "packed:8x3v", "packed:16x1v"};
    static const int64_t rows[] = {1, 2, 3, 4, 5, 8, 9, 13, 30}, columns[] = {7, 33, 400},
                         depths[] = {0, 5, 2100, 4099};
    if (test_lacks_panels(layouts[_i]))
        return;
    for (int i = 0; i < 9 * 3 * 4; ++i) {
        configuration g = simple(rows[i / 12], columns[i / 4 % 3], depths[i % 4]);
        if (g.n == 400 && g.k > 5)
            g.k = 300;
        g.transpose_a = i % 2;
        g.transpose_b = i / 2 % 2;
        g.bias = (bias_kind)(i % 3);
        g.beta = i % 5 == 0 ? -0.5f : 0.0f;
        g.activation = i % 7 == 0 ? HUSK_ACT_LEAKY_RELU : HUSK_ACT_NONE;
        g.dtype = tier_dtype(i / 3);
        g.c_is_wide = g.dtype != HUSK_F32 && i % 5 == 3;
        fixture f = {0};
        make(&f, &g, layouts[_i], 40 + (uint64_t)i);
        husk_plan *plan;
        test_ok(husk_gemm_plan_create(test_context(), &f.params, &f.a.tensor, &f.b.tensor, bias_of(&f), &f.c.tensor,
                                      &plan, NULL));
        husk_packed *packed;
        test_ok(husk_gemm_plan_pack(plan, test_queue(), &f.b.tensor, &packed));
        const husk_tensor weights = husk_packed_tensor(packed);
        test_ok(husk_gemm_plan_run(plan, test_queue(), f.op.alpha, &f.a.tensor, &weights, bias_of(&f), f.op.beta,
                                   &f.c.tensor));
        verify(&f, &g, layouts[_i], 40 + (uint64_t)i);
        husk_packed_release(packed);
        husk_plan_release(plan);
        release(&f);
    }
}
END_TEST

// The variant alone is named, to which packed weights are other than plain ones: they stay with their configuration.
START_TEST(test_packed_by_name)
{
    if (test_lacks_panels("packed"))
        return;
    for (int64_t m = 1; m <= 10; m++)
        for (int64_t n = 1; n <= 40; n++) {
            configuration g = simple(m, n, 24);
            fixture f = {0};
            make(&f, &g, "packed", 90);
            husk_plan *plan, *again;
            husk_packed *packed;
            husk_error error;
            test_ok_error(husk_gemm_plan_create(test_context(), &f.params, &f.a.tensor, &f.b.tensor, NULL, &f.c.tensor,
                                                &plan, &error),
                          &error);
            test_ok(husk_gemm_plan_pack(plan, test_queue(), &f.b.tensor, &packed));
            const husk_tensor weights = husk_packed_tensor(packed);
            test_ok_error(husk_gemm_plan_create(test_context(), &f.params, &f.a.tensor, &weights, NULL, &f.c.tensor,
                                                &again, &error),
                          &error);
            ck_assert_str_eq(husk_plan_configuration(again), husk_plan_configuration(plan));
            husk_plan_release(again);
            husk_packed_release(packed);
            husk_plan_release(plan);
            release(&f);
        }
}
END_TEST

// A plan is made without memory, of which rows may lie as far apart as numbers go.
START_TEST(test_rows_far_apart)
{
    static const int64_t rows[] = {(INT64_C(1) << 58) + 16, (INT64_C(1) << 59) + 24, (INT64_C(1) << 60) + 24};
    for (int transposed = 0; transposed < 2; transposed++) {
        husk_tensor a = husk_tensor_make(NULL, HUSK_F32, 2, (int64_t[]){2, 64});
        const int64_t b_shape[] = {transposed ? 99 : 64, transposed ? 64 : 99};
        const husk_tensor b = husk_tensor_make(NULL, HUSK_F32, 2, b_shape);
        const husk_tensor c = husk_tensor_make(NULL, HUSK_F32, 2, (int64_t[]){2, 99});
        const husk_gemm_params params = HUSK_GEMM_PARAMS(.transpose_b = (uint32_t)transposed);
        husk_error error;
        husk_plan *plan = NULL;
        a.strides[0] = rows[_i];
        const clock_t before = clock();
        const husk_status status = husk_gemm_plan_create(test_context(), &params, &a, &b, NULL, &c, &plan, &error);
        ck_assert_msg(status == HUSK_OK || status == HUSK_INVALID_ARGUMENT, "%s", error.text);
        ck_assert(clock() - before < 8 * CLOCKS_PER_SEC);
        husk_plan_release(plan);
    }
}
END_TEST

// Sums of more columns than wait in one go, over more steps than are kept of A.
START_TEST(test_packed_many_columns)
{
    static const char *const layouts[] = {"packed:12x2v", "packed:6x2v", "packed:8x3v", "packed:16x1v"};
    if (test_lacks_panels(layouts[_i]))
        return;
    configuration g = simple(7, 2500, 2100);
    g.dtype = _i % 2 ? HUSK_F16 : HUSK_BF16;
    g.beta = 0.5f;
    fixture f = {0};
    make(&f, &g, layouts[_i], 70);
    husk_plan *plan;
    test_ok(husk_gemm_plan_create(test_context(), &f.params, &f.a.tensor, &f.b.tensor, NULL, &f.c.tensor, &plan, NULL));
    husk_packed *packed;
    test_ok(husk_gemm_plan_pack(plan, test_queue(), &f.b.tensor, &packed));
    const husk_tensor weights = husk_packed_tensor(packed);
    test_ok(husk_gemm_plan_run(plan, test_queue(), 1.0f, &f.a.tensor, &weights, NULL, 0.5f, &f.c.tensor));
    verify(&f, &g, layouts[_i], 70);
    husk_packed_release(packed);
    husk_plan_release(plan);
    release(&f);
}
END_TEST

START_TEST(test_activations)
{
    const char *variant = every_variant[_i];
    for (int act = HUSK_ACT_NONE; act <= HUSK_ACT_TANH; ++act) {
        configuration g = simple(37, 13, 20);
        g.activation = (husk_act)act;
        g.dtype = tier_dtype(act);
        g.bias = act % 2 ? ROW_BIAS : COLUMN_BIAS;
        run(&g, variant, 7);
    }
}
END_TEST

// Calls that differ in the slope alone: each has its own.
START_TEST(test_slopes)
{
    static const float slopes[] = {0.25f, 0.0f, -0.5f, 0.25f};
    fixture f = {0};
    configuration g = simple(37, 13, 20);
    g.activation = HUSK_ACT_LEAKY_RELU;
    g.dtype = tier_dtype(_i);
    make(&f, &g, every_variant[_i], 8);
    for (int i = 0; i < 4; ++i) {
        f.params.activation_slope = slopes[i];
        test_restore(&f.c);
        if (test_ran(call(&f, test_queue()), "gemm", every_variant[_i]))
            verify(&f, &g, every_variant[_i], 8);
    }
    release(&f);
}
END_TEST

// k = 0 leaves beta C + bias; the inputs have no elements, and no memory.
START_TEST(test_no_terms)
{
    for (int beta = 0; beta < 2; ++beta) {
        configuration g = simple(29, 14, 0);
        g.dtype = tier_dtype(beta);
        g.beta = (float)beta * 0.5f;
        g.bias = COLUMN_BIAS;
        run(&g, every_variant[_i], 8);
    }
}
END_TEST

START_TEST(test_nothing_to_do)
{
    const int64_t sizes[3][3] = {{0, 5, 3}, {5, 0, 3}, {0, 0, 0}};
    for (int i = 0; i < 3; ++i) {
        fixture f = {0};
        configuration g = simple(sizes[i][0], sizes[i][1], sizes[i][2]);
        make(&f, &g, NULL, 9);
        test_ok(call(&f, test_queue()));
        release(&f);
    }
    fixture f = {0};
    configuration g = simple(3, 4, 5);
    make(&f, &g, NULL, 9);
    f.c.tensor.rank = f.a.tensor.rank = 3;
    f.a.tensor = husk_tensor_make(NULL, HUSK_F32, 3, (const int64_t[]){0, 3, 5});
    f.c.tensor = husk_tensor_make(NULL, HUSK_F32, 3, (const int64_t[]){0, 3, 4});
    test_ok(husk_gemm(test_queue(), NULL, 1.0f, &f.a.tensor, &f.b.tensor, NULL, 0.0f, &f.c.tensor));
    release(&f);
}
END_TEST

// Several blocks of K, a split of K, several strips of columns.
START_TEST(test_large)
{
    const int64_t sizes[][3] = {{20, 20, 1100}, {130, 420, 300}, {3, 900, 700},
                                {700, 5, 1030}, {35, 1300, 500}, {257, 129, 513}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        configuration g = simple(sizes[i][0], sizes[i][1], sizes[i][2]);
        g.dtype = tier_dtype((int)i);
        g.bias = COLUMN_BIAS;
        g.transpose_a = i % 2;
        g.transpose_b = i / 2 % 2;
        g.beta = i % 3 ? 0.0f : -0.5f;
        run(&g, every_variant[_i], 10 + i);
    }
}
END_TEST

// Rows of A that a tile reads where they lie, and rows so far apart that it copies them: below, at and above a tile.
START_TEST(test_rows_of_a)
{
    static const int64_t rows[] = {5, 11, 12, 14, 16, 29}, depths[] = {400, 512};
    for (int i = 0; i < 6 * 2; ++i) {
        configuration g = simple(rows[i / 2], 70, depths[i % 2]);
        g.bias = (bias_kind)(i % 3);
        g.beta = i % 4 ? 0.5f : 0.0f;
        g.dtype = tier_dtype(i);
        run(&g, every_variant[_i], 50 + (uint64_t)i);
    }
}
END_TEST

// Few sums over a long k, and many small matrices: k is split among the cores, a core takes several matrices.
START_TEST(test_divided)
{
    configuration g = simple(30, 20, 9000);
    g.dtype = tier_dtype(0);
    g.bias = ROW_BIAS;
    g.beta = 0.5f;
    g.alpha = -0.75f;
    g.activation = HUSK_ACT_LEAKY_RELU;
    run(&g, every_variant[_i], 30);
    g = simple(9, 40, 5003);
    g.dtype = tier_dtype(1);
    g.batch = 2;
    g.transpose_a = true;
    g.c_layout = TEST_SPREAD;
    run(&g, every_variant[_i], 31);
    g = simple(13, 21, 17);
    g.dtype = tier_dtype(0);
    g.batch = 37;
    g.bias = COLUMN_BIAS;
    run(&g, every_variant[_i], 32);
    g.shares_b = true;
    g.transpose_b = true;
    run(&g, every_variant[_i], 33);
}
END_TEST

// More tiles than a launch may have work-items: several launches, in f32 with k split or not, and with sums that wait.
START_TEST(test_several_launches)
{
    test_close_device();
    test_setenv("HUSK_LIMITS", "launch=1000"); // 15 work-groups of 64
    configuration g = simple(9, 40, 17);
    g.batch = 37;
    g.bias = COLUMN_BIAS;
    g.beta = 0.5f;
    run(&g, "tiled:32x32", 80);
    g.shares_b = true;
    g.c_layout = TEST_SPREAD;
    run(&g, "tiled:32x32", 81);
    g = simple(130, 130, 20);
    g.batch = 3;
    g.transpose_a = true;
    run(&g, "tiled:32x32", 82);
    test_close_device();
    test_setenv("HUSK_LIMITS", "launch=100"); // a matrix, whose k two work-groups share
    g = simple(9, 30, 2000);
    g.batch = 2;
    g.bias = ROW_BIAS;
    run(&g, "tiled:32x32", 83);
    if (test_tier_is("dtypes")) {
        g = simple(9, 40, 30);
        g.batch = 20;
        g.dtype = HUSK_F16;
        g.activation = HUSK_ACT_GELU;
        run(&g, "tiled:32x32", 84);
    }
    test_close_device();
    test_restore_environment();
}
END_TEST

// A batch stride of 0, and a batch of one matrix against one of several.
START_TEST(test_broadcast)
{
    fixture f = {0};
    configuration g = simple(19, 33, 21);
    g.batch = 3;
    g.shares_a = true;
    make(&f, &g, every_variant[_i], 20);
    husk_tensor a = f.a.tensor;
    for (int stride = 0; stride < 2; ++stride) {
        f.a.tensor.rank = 3;
        f.a.tensor.shape[0] = stride ? 3 : 1;
        f.a.tensor.strides[0] = stride ? 0 : 19 * 21;
        for (int d = 0; d < 2; ++d) {
            f.a.tensor.shape[d + 1] = a.shape[d];
            f.a.tensor.strides[d + 1] = d == 0 ? 21 : 1;
        }
        if (test_ran(call(&f, test_queue()), "gemm", every_variant[_i]))
            verify(&f, &g, every_variant[_i], 20);
        test_restore(&f.c);
    }
    release(&f);
}
END_TEST

// One NaN in A spoils its row, one infinity in B its column, and nothing else.
START_TEST(test_not_finite)
{
    fixture f = {0};
    configuration g = simple(30, 15, 40);
    make(&f, &g, every_variant[_i], 21);
    husk_ref_store(&f.a.array, 4 * 40 + 39, NAN);
    husk_ref_store(&f.b.array, 17 * 15 + 14, INFINITY);
    test_input_update(&f.a);
    test_input_update(&f.b);
    if (test_ran(call(&f, test_queue()), "gemm", every_variant[_i]))
        verify(&f, &g, every_variant[_i], 21);
    release(&f);
}
END_TEST

START_TEST(test_deterministic)
{
    fixture f = {0};
    configuration g = simple(20, 20, 8200);
    float first[400];
    make(&f, &g, every_variant[_i], 22);
    for (int round = 0; round < 10; ++round) {
        test_restore(&f.c);
        if (!test_ran(call(&f, test_queue()), "gemm", every_variant[_i]))
            break;
        test_fetch(&f.c);
        if (round == 0)
            memcpy(first, f.c.array.data, sizeof first);
        ck_assert_mem_eq(first, f.c.array.data, sizeof first);
    }
    release(&f);
}
END_TEST

static void check_output(void *user, const husk_ref_array *array, husk_ref_report *report)
{
    husk_ref_gemm_check(user, 23, array, report);
}

START_TEST(test_planted_mistakes)
{
    fixture f = {0};
    configuration g = simple(40, 50, 30);
    make(&f, &g, NULL, 23);
    test_ok(call(&f, test_queue()));
    test_fetch(&f.c);
    const husk_ref_function function = husk_ref_gemm_function(&f.op);
    test_planted(&function, &f.c.array, check_output, &f.op);
    test_planted_guards(&f.c);
    release(&f);
    g = simple(300, 310, 290); // sampled, and projected
    make(&f, &g, NULL, 23);
    test_ok(call(&f, test_queue()));
    test_fetch(&f.c);
    test_planted_patch(&f.c.array, check_output, &f.op);
    release(&f);
}
END_TEST

TCase *test_gemm_calls(void);

int main(void)
{
    Suite *suite = suite_create("gemm");
    TCase *generated = tcase_create("generated"), *chosen = tcase_create("chosen");
    tcase_add_test(generated, test_chosen);
    tcase_add_test(generated, test_packed_variant);
    tcase_add_test(generated, test_skinny_variant);
    tcase_add_test(generated, test_tiled_variant);
    tcase_add_test(chosen, test_several_launches);
    if (test_tier_is("dtypes")) {
        tcase_add_loop_test(chosen, test_packed_rows, 0, 4);
        tcase_add_loop_test(chosen, test_packed_many_columns, 0, 4);
        tcase_add_loop_test(chosen, test_activations, 0, VARIANTS);
        tcase_add_loop_test(chosen, test_slopes, 0, VARIANTS);
        tcase_add_loop_test(chosen, test_no_terms, 0, VARIANTS);
        tcase_add_loop_test(chosen, test_large, 0, VARIANTS);
        tcase_add_loop_test(chosen, test_rows_of_a, 0, VARIANTS);
        tcase_add_loop_test(chosen, test_divided, 0, VARIANTS);
        suite_add_tcase(suite, generated);
        suite_add_tcase(suite, chosen);
        suite_add_tcase(suite, test_gemm_calls());
        return test_main(suite);
    }
    tcase_add_test(generated, test_clblast_variant);
    tcase_add_test(chosen, test_packed_by_name);
    tcase_add_loop_test(chosen, test_rows_far_apart, 0, 3);
    tcase_add_test(generated, test_narrow);
    tcase_add_loop_test(chosen, test_packed_rows, 0, 4);
    tcase_add_loop_test(chosen, test_activations, 0, VARIANTS);
    tcase_add_loop_test(chosen, test_slopes, 0, VARIANTS);
    tcase_add_loop_test(chosen, test_no_terms, 0, VARIANTS);
    tcase_add_test(chosen, test_nothing_to_do);
    tcase_add_loop_test(chosen, test_large, 0, VARIANTS);
    tcase_add_loop_test(chosen, test_rows_of_a, 0, VARIANTS);
    tcase_add_loop_test(chosen, test_divided, 0, VARIANTS);
    tcase_add_loop_test(chosen, test_broadcast, 0, VARIANTS);
    tcase_add_loop_test(chosen, test_not_finite, 0, VARIANTS);
    tcase_add_loop_test(chosen, test_deterministic, 0, VARIANTS);
    tcase_add_test(chosen, test_planted_mistakes);
    suite_add_tcase(suite, generated);
    suite_add_tcase(suite, chosen);
    suite_add_tcase(suite, test_gemm_calls());
    return test_main(suite);
}
