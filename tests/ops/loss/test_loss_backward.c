// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=90
// Gradients of losses: finite differences; every kind, reduction, target, variant and layout against the reference;
// adding, in place, special values; bad input.
#include "support/loss_case.h"

#include <math.h>
#include <stdio.h>

static const char *const variants[] = {NULL, "vector", "workgroup:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };

#define NAME "loss_backward"

// ---- the reference is the gradient ----

typedef struct forward {
    husk_ref_loss op;
    husk_ref_array *loss;
} forward;

static void run_forward(void *user)
{
    forward *f = user;
    ck_assert(husk_ref_loss_run(&f->op, f->loss));
}

// Targets in (0, 1) and x beyond them, so that no difference is near a kink.
static void spread_out(husk_ref_array *x, husk_ref_array *target)
{
    for (int64_t i = 0; i < husk_ref_array_count(x); i++) {
        const double value = husk_ref_load(x, i);
        husk_ref_store(x, i, value + (value > 0 ? 1.1 : -0.1));
        husk_ref_store(target, i, 0.1 + 0.8 * fabs(husk_ref_load(target, i)));
    }
}

START_TEST(finite_differences)
{
    const int64_t shape[] = {3, 5, 2}, rows[] = {3, 2}, classes[] = {5};
    husk_loss_params params = husk_loss_defaults((husk_loss_kind)(_i % 8));
    params.reduction = (husk_loss_reduction)(_i / 8);
    const bool has_rows = _i % 8 < 2, has_labels = _i % 8 == 1 || _i == 8;
    if (_i % 8 == 0)
        params.label_smoothing = 0.125f;
    params.beta = _i % 2 ? 0.5f : 0.0f;
    params.log_target = _i < 8;
    husk_ref_array x = test_array(3, shape, (uint64_t)_i + 1, 2.0);
    husk_ref_array target = test_array(3, shape, (uint64_t)_i + 2, 1.0), w = test_array(1, classes, 4, 1.0);
    husk_ref_array labels = test_array(2, rows, 0, 0);
    spread_out(&x, &target);
    int64_t numbers[6];
    for (int i = 0; i < 6; i++)
        numbers[i] = i == 3 ? -100 : i % 5;
    labels.dtype = HUSK_I64;
    double *const own = labels.data;
    labels.data = numbers;
    const int32_t rank = params.reduction != HUSK_LOSS_NONE ? 0 : has_rows ? 2 : 3;
    husk_ref_array loss = test_array(rank, has_rows ? rows : shape, 0, 0);
    husk_ref_array dloss = test_array(rank, has_rows ? rows : shape, 77, 1.0), dx = test_array(3, shape, 0, 0);
    forward f = {{.params = &params, .x = &x, .target = has_labels ? &labels : &target, .dloss = &dloss}, &loss};
    f.op.weight = has_rows ? &w : NULL;
    run_forward(&f);
    ck_assert(husk_ref_loss_backward_run(&f.op, &dx));
    test_differences(NAME, run_forward, &f, &x, &loss, &dloss, &dx, 7);
    labels.data = own;
    husk_ref_array *all[] = {&x, &target, &w, &labels, &loss, &dloss, &dx};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        test_array_release(all[i]);
}
END_TEST
enum { DIFFERENCES = 24 };

// ---- every variant against the reference ----

static void check(void *user, const husk_ref_array *dx, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_loss_backward_function(user);
    husk_ref_check(&function, 1, dx, report);
}

static husk_status run(const loss_case *c, const husk_loss_params *params, const test_tensor *dloss,
                       const test_tensor *dx)
{
    return husk_loss_backward(test_queue(), params, &c->x.tensor, &c->target.tensor, loss_case_weight(c),
                              loss_case_positive_weight(c), &dloss->tensor, &dx->tensor);
}

static void run_all(loss_case *c, test_layout layout, test_layout loss_layout)
{
    test_tensor dloss = test_input_of(c->dtype, loss_case_loss_rank(c), c->rows_shape, loss_layout, 21, 1.0f);
    test_tensor dx = c->params.accumulate ? test_inout_of(c->dtype, c->rank, c->shape, layout, 22, 1.0f)
                                          : test_output(c->dtype, c->rank, c->shape, layout);
    husk_ref_loss op = loss_case_ref(c);
    op.dloss = &dloss.array;
    op.dx = c->params.accumulate ? &dx.before : NULL;
    ck_assert(husk_ref_loss_prepare(&op));
    for (int v = 0; v < VARIANTS; v++) {
        husk_loss_params params = c->params;
        params.variant = variants[v];
        test_restore(&dx);
        if (!test_ran(run(c, &params, &dloss, &dx), NAME, variants[v]))
            continue;
        test_fetch(&dx);
        husk_ref_report report = {0};
        check(&op, &dx.array, &report);
        test_accept(NAME, variants[v], c->text, &report);
    }
    husk_ref_loss_release(&op);
    test_release(&dloss);
    test_release(&dx);
}

static void run_any(husk_dtype dtype, husk_ref_random *random, uint64_t seed)
{
    loss_case c;
    loss_case_draw(&c, dtype, random, seed);
    c.params.accumulate = test_one_in(random, 3) ? HUSK_ACCUMULATE_INPUTS : 0;
    run_all(&c, test_pick_layout(random), test_pick_layout(random));
    loss_case_release(&c);
}

START_TEST(kinds_and_layouts)
{
    husk_ref_random random = {.seed = 200 + (uint64_t)_i};
    const int64_t rounds = test_is_long() ? 12 : 4;
    test_begin_draws();
    for (int64_t round = 0; round < rounds; round++)
        run_any(HUSK_F32, &random, (uint64_t)round);
    test_end_draws();
}
END_TEST

// The tier "dtypes".
START_TEST(narrow_dtypes_too)
{
    husk_ref_random random = {.seed = 300 + (uint64_t)_i};
    for (uint64_t round = 0; round < 4; round++)
        run_any(test_dtype((int64_t)round), &random, round);
}
END_TEST

static void run_shape(const husk_loss_params *params, loss_target target, int32_t rank, const int64_t *shape,
                      bool has_weight)
{
    loss_case c = {.params = *params, .dtype = HUSK_F32, .rank = rank};
    for (int32_t d = 0; d < rank; d++)
        c.shape[d] = shape[d];
    loss_case_fill(&c, target, TEST_PACKED, TEST_PACKED, has_weight, has_weight, 3);
    run_all(&c, TEST_PACKED, TEST_PACKED);
    loss_case_release(&c);
}

// Vectors, blocks and units end somewhere: lengths around them.
START_TEST(row_lengths)
{
    static const int64_t lengths[] = {1,   2,    3,    7,    15,   16,   17,   63,    64,    65,   255,
                                      257, 1000, 2047, 2048, 2049, 4097, 8191, 16384, 16385, 32769};
    const int64_t shape[] = {3, lengths[_i]}, flat[] = {lengths[_i]};
    husk_loss_params params =
        HUSK_MAKE(husk_loss_params, .reduction = _i % 2 ? HUSK_LOSS_NONE : HUSK_LOSS_MEAN, .ignore_index = -100);
    run_shape(&params, LOSS_TARGET_I32, 2, shape, _i % 3 == 0);
    params.label_smoothing = 0.25f;
    params.accumulate = HUSK_ACCUMULATE_ALL;
    run_shape(&params, _i % 2 ? LOSS_TARGET_I64 : LOSS_TARGET_FLOAT, 2, shape, _i % 3 == 0);
    params = husk_loss_defaults(HUSK_LOSS_SMOOTH_ABSOLUTE);
    run_shape(&params, LOSS_TARGET_FLOAT, 1, flat, false);
    params.kind = HUSK_LOSS_BINARY_LOGITS;
    run_shape(&params, LOSS_TARGET_FLOAT, 1, flat, true);
}
END_TEST
enum { LENGTHS = 21 };

// Many rows, so that labels' weights are summed in units; and neighbours at stride 1 (images).
START_TEST(many_rows)
{
    static const int64_t shapes[][3] = {{20000, 3, 1}, {700, 130, 1}, {3, 21, 3000}, {2, 5, 40000}};
    for (int reduction = 0; reduction < 2; reduction++) {
        const husk_loss_params params = HUSK_MAKE(husk_loss_params, .reduction = (husk_loss_reduction)reduction,
                                                  .label_smoothing = reduction ? 0.1f : 0.0f, .ignore_index = -100);
        run_shape(&params, LOSS_TARGET_I64, shapes[_i][2] == 1 ? 2 : 3, shapes[_i], reduction == 0);
    }
}
END_TEST

// Many classes of neighbouring rows, whose targets and exponentials are alike: errors have one sign.
START_TEST(many_terms_of_one_sign)
{
    loss_case c = {.params = HUSK_MAKE(husk_loss_params, .reduction = HUSK_LOSS_SUM, .ignore_index = -100),
                   .dtype = HUSK_F32,
                   .rank = 3};
    const int64_t shape[] = {1, 130000, 2};
    memcpy(c.shape, shape, sizeof shape);
    loss_case_fill(&c, LOSS_TARGET_FLOAT, TEST_PACKED, TEST_PACKED, false, false, 3);
    test_release(&c.x);
    test_release(&c.target);
    c.x = test_input_alike(3, shape, TEST_PACKED, -0.1f);
    for (int64_t i = 0; i < 2; i++) // one class of half the weight
        husk_ref_store(&c.x.array, husk_ref_offset(&c.x.array, (int64_t[]){0, 7, i}), 11.0);
    test_input_update(&c.x);
    c.target = test_input_alike(3, shape, TEST_PACKED, 0.1f);
    run_all(&c, TEST_PACKED, TEST_PACKED);
    loss_case_release(&c);
}
END_TEST

// dx in x's place, and in that of a target that is no label.
START_TEST(in_place)
{
    static const test_layout layouts[] = {TEST_PACKED, TEST_REVERSED, TEST_SPREAD, TEST_CHANNELS_LAST};
    static const husk_loss_kind kinds[] = {HUSK_LOSS_CROSS_ENTROPY, HUSK_LOSS_HUBER, HUSK_LOSS_BINARY_LOGITS};
    const int64_t shape[] = {3, 70, 41};
    for (int v = 0; v < VARIANTS; v++) {
        for (int option = 0; option < 6; option++) {
            const bool is_target = option % 2;
            const husk_loss_params params = HUSK_MAKE(husk_loss_params, .kind = kinds[option / 2],
                                                      .variant = variants[v], .ignore_index = -100, .beta = 1);
            test_tensor other = test_input(3, shape, layouts[_i], 4, 1.0f);
            test_tensor own = test_inout(3, shape, layouts[_i], 5, 1.0f);
            test_tensor dloss = test_input(0, loss_scalar, TEST_PACKED, 6, 1.0f);
            const test_tensor *x = is_target ? &other : &own, *target = is_target ? &own : &other;
            husk_ref_loss op = {.params = &params,
                                .x = is_target ? &other.array : &own.before,
                                .target = is_target ? &own.before : &other.array,
                                .dloss = &dloss.array};
            ck_assert(husk_ref_loss_prepare(&op));
            if (test_ran(husk_loss_backward(test_queue(), &params, &x->tensor, &target->tensor, NULL, NULL,
                                            &dloss.tensor, &own.tensor),
                         NAME, variants[v])) {
                test_fetch(&own);
                husk_ref_report report = {0};
                check(&op, &own.array, &report);
                test_accept(NAME, variants[v], is_target ? "in target's place" : "in x's place", &report);
            }
            husk_ref_loss_release(&op);
            test_release(&other);
            test_release(&own);
            test_release(&dloss);
        }
    }
}
END_TEST

static void set(test_tensor *tensor, int64_t row, int64_t column, double value)
{
    const int64_t index[] = {row, column};
    husk_ref_store(&tensor->array, husk_ref_offset(&tensor->array, index), value);
}

// Labels that are no class's; NaN and infinity in rows; rows of -infinity.
START_TEST(special_rows)
{
    static const int64_t labels[] = {3, -1, -100, 9000, INT32_MAX, 0, 49, 7};
    static const int64_t lengths[] = {50, 9000};
    const int64_t shape[] = {8, lengths[_i / 2]};
    for (int reduction = 0; reduction < 6; reduction++) {
        loss_case c = {.dtype = HUSK_F32, .rank = 2, .shape = {shape[0], shape[1]}};
        c.params = HUSK_MAKE(husk_loss_params, .reduction = (husk_loss_reduction)(reduction % 3), .ignore_index = 7,
                             .accumulate = reduction < 3 ? 0 : HUSK_ACCUMULATE_INPUTS);
        loss_case_fill(&c, LOSS_TARGET_I64, _i % 2 ? TEST_REVERSED : TEST_PACKED, TEST_PACKED, false, false, 9);
        for (int64_t i = 0; i < 8; i++)
            husk_ref_store(&c.target.array, i, (double)labels[i]);
        test_input_update(&c.target);
        set(&c.x, 0, 40, NAN);
        for (int64_t j = 0; j < shape[1]; j++)
            set(&c.x, 6, j, -INFINITY);
        set(&c.x, 3, 2, -INFINITY);
        set(&c.x, 7, 2, NAN);
        set(&c.x, 4, 1, NAN);
        set(&c.x, 5, 2, -INFINITY);
        test_input_update(&c.x);
        run_all(&c, TEST_PACKED, TEST_PACKED);
        loss_case_release(&c);
    }
}
END_TEST

// Labels of no class, one at a time among good rows: that row has no gradient, its weight does not count, and none is
// read past the ends. i32 and i64, rows of neighbouring classes, and neighbouring rows.
START_TEST(labels_of_no_class)
{
    static const int64_t labels[] = {
        -1, 21, INT32_MAX, INT32_MIN, -100, 1LL << 32, (1LL << 32) + 3, INT64_MAX / 2 + 1, INT64_MIN, -(1LL << 32) + 3};
    enum { COUNT = sizeof(labels) / sizeof(labels[0]) };
    const bool is_long = _i % 2;
    for (int i = 0; i < COUNT; i++) {
        if (!is_long && (labels[i] < INT32_MIN || labels[i] > INT32_MAX))
            continue;
        for (int reduction = 0; reduction < 3; reduction++) {
            loss_case c = {.dtype = HUSK_F32, .rank = 2, .shape = {70, 21}};
            c.params = HUSK_MAKE(husk_loss_params, .kind = (husk_loss_kind)(i % 2),
                                 .reduction = (husk_loss_reduction)reduction, .ignore_index = 7, .beta = 1);
            loss_case_fill(&c, is_long ? LOSS_TARGET_I64 : LOSS_TARGET_I32, _i / 2 ? TEST_REVERSED : TEST_PACKED,
                           TEST_PACKED, true, false, 9);
            husk_ref_store(&c.target.array, 5, (double)labels[i]);
            test_input_update(&c.target);
            run_all(&c, TEST_PACKED, TEST_PACKED);
            loss_case_release(&c);
        }
    }
}
END_TEST

// An index that is none of 32 bits is no class' number, whatever its lowest bits are.
START_TEST(ignored_index_of_64_bits)
{
    loss_case c = {.dtype = HUSK_F32, .rank = 2, .shape = {70, 21}};
    c.params = HUSK_MAKE(husk_loss_params, .reduction = HUSK_LOSS_NONE, .ignore_index = 7);
    loss_case_fill(&c, _i % 2 ? LOSS_TARGET_I64 : LOSS_TARGET_I32, _i / 2 ? TEST_REVERSED : TEST_PACKED, TEST_PACKED,
                   true, false, 9);
    c.params.ignore_index = (1LL << 32) + 3;
    for (int64_t i = 0; i < 70; i++)
        husk_ref_store(&c.target.array, i, (double)(_i % 2 && i % 5 == 0 ? c.params.ignore_index : i % 21));
    test_input_update(&c.target);
    run_all(&c, TEST_PACKED, TEST_PACKED);
    loss_case_release(&c);
}
END_TEST

// All rows ignored: zeros, whatever the mean divides by.
START_TEST(everything_ignored)
{
    const int64_t shape[] = {5, 9};
    loss_case c = {.dtype = HUSK_F32, .rank = 2, .shape = {shape[0], shape[1]}};
    c.params = HUSK_MAKE(husk_loss_params, .kind = (husk_loss_kind)(_i % 2), .reduction = (husk_loss_reduction)(_i / 2),
                         .ignore_index = -100, .beta = 1);
    loss_case_fill(&c, LOSS_TARGET_I32, TEST_PACKED, TEST_PACKED, true, false, 9);
    for (int64_t i = 0; i < 5; i++)
        husk_ref_store(&c.target.array, i, -100);
    test_input_update(&c.target);
    run_all(&c, TEST_PACKED, TEST_PACKED);
    loss_case_release(&c);
}
END_TEST

START_TEST(special_elements)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, 0.0, 1.0, -1.0, 17.0, -17.0, 80.0, -80.0, 1e30};
    enum { COUNT = sizeof(values) / sizeof(values[0]) };
    loss_case c = {.dtype = HUSK_F32, .rank = 2, .shape = {COUNT, COUNT}};
    c.params = HUSK_MAKE(husk_loss_params, .kind = (husk_loss_kind)(2 + _i), .reduction = HUSK_LOSS_SUM,
                         .ignore_index = -100, .beta = 1);
    loss_case_fill(&c, LOSS_TARGET_FLOAT, TEST_PACKED, TEST_PACKED, false, false, 9);
    for (int64_t i = 0; i < COUNT; i++)
        for (int64_t j = 0; j < COUNT; j++) {
            set(&c.x, i, j, values[i]);
            set(&c.target, i, j, values[j]);
        }
    test_input_update(&c.x);
    test_input_update(&c.target);
    run_all(&c, TEST_PACKED, TEST_PACKED);
    loss_case_release(&c);
}
END_TEST

// e^x has numbers beyond 2^127.
START_TEST(large_logarithms)
{
    loss_case c = {.dtype = HUSK_F32, .rank = 1, .shape = {40}};
    c.params = HUSK_MAKE(husk_loss_params, .kind = HUSK_LOSS_DIVERGENCE, .reduction = HUSK_LOSS_SUM, .log_target = 1,
                         .ignore_index = -100);
    loss_case_fill(&c, LOSS_TARGET_FLOAT, TEST_PACKED, TEST_PACKED, false, false, 9);
    for (int64_t i = 0; i < 40; i++)
        husk_ref_store(&c.target.array, i, 88.0 + 0.0175 * (double)i);
    test_input_update(&c.target);
    run_all(&c, TEST_PACKED, TEST_PACKED);
    loss_case_release(&c);
}
END_TEST

START_TEST(ten_runs_agree)
{
    static const int64_t shapes[][2] = {{1000, 129}, {3, 90000}};
    for (int v = 0; v < VARIANTS; v++) {
        loss_case c = {.dtype = HUSK_F32, .rank = 2, .shape = {shapes[_i][0], shapes[_i][1]}};
        c.params = HUSK_MAKE(husk_loss_params, .variant = variants[v], .ignore_index = -100);
        loss_case_fill(&c, LOSS_TARGET_I32, TEST_PACKED, TEST_PACKED, true, false, 2);
        const size_t bytes = (size_t)(shapes[_i][0] * shapes[_i][1]) * sizeof(float);
        test_tensor dloss = test_input(0, loss_scalar, TEST_PACKED, 6, 1.0f);
        test_tensor first = test_output(HUSK_F32, 2, shapes[_i], TEST_PACKED);
        test_tensor next = test_output(HUSK_F32, 2, shapes[_i], TEST_PACKED);
        for (int i = 0; i < 10; i++) {
            test_tensor *dx = i == 0 ? &first : &next;
            if (!test_ran(run(&c, &c.params, &dloss, dx), NAME, variants[v]))
                break;
            test_fetch(dx);
            ck_assert_mem_eq(first.array.data, dx->array.data, bytes);
        }
        test_release(&dloss);
        test_release(&first);
        test_release(&next);
        loss_case_release(&c);
    }
}
END_TEST

START_TEST(nothing)
{
    static const int64_t shapes[][2] = {{0, 7}, {7, 0}, {0, 0}};
    const husk_loss_params params = husk_loss_defaults(HUSK_LOSS_MEAN_SQUARE);
    test_tensor x = test_input(2, shapes[_i], TEST_PACKED, 9, 2.0f);
    test_tensor dloss = test_input(0, loss_scalar, TEST_PACKED, 6, 1.0f);
    test_tensor dx = test_output(HUSK_F32, 2, shapes[_i], TEST_PACKED);
    test_ok(husk_loss_backward(test_queue(), &params, &x.tensor, &x.tensor, NULL, NULL, &dloss.tensor, &dx.tensor));
    test_untouched(&dx);
    test_release(&x);
    test_release(&dloss);
    test_release(&dx);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    loss_case c = {.dtype = HUSK_F32, .rank = 2, .shape = {12, 50}};
    c.params = HUSK_MAKE(husk_loss_params, .kind = _i ? HUSK_LOSS_MEAN_SQUARE : HUSK_LOSS_CROSS_ENTROPY,
                         .reduction = HUSK_LOSS_NONE, .ignore_index = -100, .beta = 1);
    loss_case_fill(&c, LOSS_TARGET_FLOAT, TEST_PACKED, TEST_PACKED, false, false, 15);
    test_tensor dloss = test_input(loss_case_loss_rank(&c), c.rows_shape, TEST_PACKED, 6, 1.0f);
    test_tensor dx = test_output(HUSK_F32, 2, c.shape, TEST_PADDED);
    test_ok(run(&c, &c.params, &dloss, &dx));
    test_fetch(&dx);
    husk_ref_loss op = loss_case_ref(&c);
    op.dloss = &dloss.array;
    ck_assert(husk_ref_loss_prepare(&op));
    husk_ref_function function = husk_ref_loss_backward_function(&op);
    test_planted(&function, &dx.array, check, &op);
    test_planted_guards(&dx);
    husk_ref_loss_release(&op);
    test_release(&dloss);
    test_release(&dx);
    loss_case_release(&c);
}
END_TEST

// ---- bad input ----

static void refuse(husk_status wanted, const char *argument, const husk_loss_params *params, const husk_tensor *x,
                   const husk_tensor *target, const husk_tensor *weight, const husk_tensor *positive,
                   const husk_tensor *dloss, const husk_tensor *dx)
{
    test_refused(husk_loss_backward(test_silent_queue(), params, x, target, weight, positive, dloss, dx), wanted,
                 argument);
}

START_TEST(bad_input)
{
    const int64_t shape[] = {4, 6}, other[] = {4, 7}, rows[] = {4};
    static const int32_t numbers[4] = {0};
    test_tensor x = test_input(2, shape, TEST_PACKED, 19, 1.0f), wrong = test_input(2, other, TEST_PACKED, 1, 1.0f);
    test_tensor labels = test_input_i32(4, numbers), dloss = test_input(0, loss_scalar, TEST_PACKED, 3, 1.0f);
    test_tensor each = test_input(1, rows, TEST_PACKED, 4, 1.0f), dx = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    const husk_tensor *t = &x.tensor, *l = &labels.tensor, *g = &dloss.tensor, *y = &dx.tensor;
    const husk_loss_params unknown = HUSK_MAKE(husk_loss_params, .accumulate = 4, .ignore_index = -100),
                           kind = husk_loss_defaults(8),
                           adds =
                               HUSK_MAKE(husk_loss_params, .accumulate = HUSK_ACCUMULATE_INPUTS, .ignore_index = -100),
                           none = HUSK_MAKE(husk_loss_params, .reduction = HUSK_LOSS_NONE, .ignore_index = -100);
    husk_tensor no_buffer = dx.tensor, inside = x.tensor;
    no_buffer.buffer = NULL;
    inside.rank = 0;
    refuse(HUSK_INVALID_ARGUMENT, "accumulate", &unknown, t, l, NULL, NULL, g, y);
    refuse(HUSK_INVALID_ARGUMENT, "kind", &kind, t, l, NULL, NULL, g, y);
    refuse(HUSK_INVALID_ARGUMENT, "x", NULL, NULL, l, NULL, NULL, g, y);
    refuse(HUSK_INVALID_ARGUMENT, "target", NULL, t, NULL, NULL, NULL, g, y);
    refuse(HUSK_INVALID_ARGUMENT, "target", NULL, t, &wrong.tensor, NULL, NULL, g, y);
    refuse(HUSK_INVALID_ARGUMENT, "weight", NULL, t, l, &each.tensor, NULL, g, y);
    refuse(HUSK_INVALID_ARGUMENT, "positive_weight", NULL, t, l, NULL, &each.tensor, g, y);
    refuse(HUSK_INVALID_ARGUMENT, "dloss", NULL, t, l, NULL, NULL, NULL, y);
    refuse(HUSK_INVALID_ARGUMENT, "dloss", NULL, t, l, NULL, NULL, &each.tensor, y);
    refuse(HUSK_INVALID_ARGUMENT, "dloss", &none, t, l, NULL, NULL, g, y);
    refuse(HUSK_UNSUPPORTED, "dloss", &none, t, l, NULL, NULL, l, y);
    refuse(HUSK_INVALID_ARGUMENT, "dx", NULL, t, l, NULL, NULL, g, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "dx", NULL, t, l, NULL, NULL, g, &wrong.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "dx", NULL, t, l, NULL, NULL, g, &no_buffer);
    refuse(HUSK_INVALID_ARGUMENT, "dx", &adds, t, l, NULL, NULL, g, t);
    refuse(HUSK_INVALID_ARGUMENT, "dx", NULL, t, l, NULL, NULL, &inside, t);
    test_untouched(&dx);
    test_release(&x);
    test_release(&wrong);
    test_release(&labels);
    test_release(&dloss);
    test_release(&each);
    test_release(&dx);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create(NAME);
    TCase *cases = tcase_create(NAME);
    suite_add_tcase(suite, cases);
    if (test_tier_is("dtypes")) {
        tcase_add_loop_test(cases, narrow_dtypes_too, 0, 24);
        return test_main(suite);
    }
    tcase_add_loop_test(cases, finite_differences, 0, DIFFERENCES);
    tcase_add_loop_test(cases, kinds_and_layouts, 0, 50);
    tcase_add_loop_test(cases, row_lengths, 0, LENGTHS);
    tcase_add_loop_test(cases, many_rows, 0, 4);
    tcase_add_test(cases, many_terms_of_one_sign);
    tcase_add_loop_test(cases, in_place, 0, 4);
    tcase_add_loop_test(cases, special_rows, 0, 4);
    tcase_add_loop_test(cases, labels_of_no_class, 0, 4);
    tcase_add_loop_test(cases, ignored_index_of_64_bits, 0, 4);
    tcase_add_loop_test(cases, everything_ignored, 0, 6);
    tcase_add_loop_test(cases, special_elements, 0, 6);
    tcase_add_test(cases, large_logarithms);
    tcase_add_loop_test(cases, ten_runs_agree, 0, 2);
    tcase_add_loop_test(cases, nothing, 0, 3);
    tcase_add_loop_test(cases, the_check_sees_mistakes, 0, 2);
    tcase_add_test(cases, bad_input);
    return test_main(suite);
}
