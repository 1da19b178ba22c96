// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=90
// Losses: every kind, reduction, target, variant and layout against the reference; special values; bad input.
#include "support/loss_case.h"

#include <math.h>
#include <stdio.h>

static const char *const variants[] = {NULL, "vector", "workgroup:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };

#define NAME "loss"

static void check(void *user, const husk_ref_array *loss, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_loss_function(user);
    husk_ref_check(&function, 1, loss, report);
}

static husk_status run(const loss_case *c, const husk_loss_params *params, const test_tensor *loss)
{
    return husk_loss(test_queue(), params, &c->x.tensor, &c->target.tensor, loss_case_weight(c),
                     loss_case_positive_weight(c), &loss->tensor);
}

static void run_all(loss_case *c, test_layout layout)
{
    husk_ref_loss op = loss_case_ref(c);
    test_tensor loss = test_output(c->dtype, loss_case_loss_rank(c), c->rows_shape, layout);
    ck_assert(husk_ref_loss_prepare(&op));
    for (int v = 0; v < VARIANTS; v++) {
        husk_loss_params params = c->params;
        params.variant = variants[v];
        test_restore(&loss);
        if (!test_ran(run(c, &params, &loss), NAME, variants[v]))
            continue;
        test_fetch(&loss);
        husk_ref_report report = {0};
        check(&op, &loss.array, &report);
        test_accept(NAME, variants[v], c->text, &report);
    }
    husk_ref_loss_release(&op);
    test_release(&loss);
}

static void run_any(husk_dtype dtype, husk_ref_random *random, uint64_t seed)
{
    loss_case c;
    loss_case_draw(&c, dtype, random, seed);
    run_all(&c, test_pick_layout(random));
    loss_case_release(&c);
}

START_TEST(kinds_and_layouts)
{
    husk_ref_random random = {.seed = 100 + (uint64_t)_i};
    const int64_t rounds = test_is_long() ? 12 : 4;
    for (int64_t round = 0; round < rounds; round++)
        run_any(HUSK_F32, &random, (uint64_t)round);
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
    run_all(&c, TEST_PACKED);
    loss_case_release(&c);
}

// Vectors, blocks and units end somewhere: lengths around them, of rows and of what is added up.
START_TEST(row_lengths)
{
    static const int64_t lengths[] = {1,    2,    3,     7,     15,    16,    17,    63,   64,
                                      65,   255,  256,   257,   1000,  2047,  2048,  2049, 4097,
                                      8191, 8192, 16383, 16384, 16385, 20011, 32769, 70001};
    const int64_t shape[] = {3, lengths[_i]}, flat[] = {lengths[_i]};
    husk_loss_params params =
        HUSK_MAKE(husk_loss_params, .reduction = _i % 2 ? HUSK_LOSS_NONE : HUSK_LOSS_MEAN, .ignore_index = -100);
    run_shape(&params, LOSS_TARGET_I32, 2, shape, _i % 3 == 0);
    params.label_smoothing = 0.25f;
    run_shape(&params, _i % 2 ? LOSS_TARGET_I64 : LOSS_TARGET_FLOAT, 2, shape, _i % 3 == 0);
    params = husk_loss_defaults(HUSK_LOSS_MEAN_SQUARE);
    run_shape(&params, LOSS_TARGET_FLOAT, 1, flat, false);
    params.kind = HUSK_LOSS_BINARY_LOGITS;
    run_shape(&params, LOSS_TARGET_FLOAT, 1, flat, true);
}
END_TEST
enum { LENGTHS = 26 };

// Many rows, so that units are combined: one after the other, and neighbours at stride 1 (images).
START_TEST(many_rows)
{
    static const int64_t shapes[][3] = {{20000, 3, 1}, {700, 130, 1}, {3, 21, 3000}, {2, 5, 40000}, {60000, 1, 1}};
    for (int reduction = 0; reduction < 2; reduction++) {
        const husk_loss_params params = HUSK_MAKE(husk_loss_params, .reduction = (husk_loss_reduction)reduction,
                                                  .label_smoothing = reduction ? 0.1f : 0.0f, .ignore_index = -100);
        run_shape(&params, LOSS_TARGET_I64, shapes[_i][2] == 1 ? 2 : 3, shapes[_i], reduction == 0);
    }
}
END_TEST

// Classes whose terms are alike: errors have one sign, those of the sum of exponentials beside the label's, and of the
// logarithms' that smoothing takes. Of neighbouring rows, each in a lane or a work-item, and of a row that a work-group
// shares.
START_TEST(many_terms_of_one_sign)
{
    static const int64_t shapes[][3] = {{1, 130000, 2}, {1, 8000000, 1}};
    const int64_t *shape = shapes[_i / 2];
    loss_case c = {.dtype = HUSK_F32, .rank = _i / 2 ? 2 : 3, .shape = {shape[0], shape[1], shape[2]}};
    c.params = HUSK_MAKE(husk_loss_params, .reduction = HUSK_LOSS_NONE, .label_smoothing = _i % 2 ? 1.0f : 0.0f,
                         .ignore_index = -100);
    loss_case_fill(&c, LOSS_TARGET_I32, TEST_PACKED, TEST_PACKED, false, false, 3);
    test_release(&c.x);
    c.x = test_input_alike(c.rank, shape, TEST_PACKED, -logf((float)shape[1] / 1.7f));
    for (int64_t i = 0; i < shape[2]; i++) { // the label's exponential is 1, all others' 1.7
        husk_ref_store(&c.x.array, husk_ref_offset(&c.x.array, (int64_t[]){0, 7, i}), 0.0);
        husk_ref_store(&c.target.array, i, 7.0);
    }
    test_input_update(&c.x);
    test_input_update(&c.target);
    run_all(&c, TEST_PACKED);
    loss_case_release(&c);
}
END_TEST

// loss in x's and in target's place.
START_TEST(in_place)
{
    const int64_t shape[] = {3, 70, 41};
    for (int v = 0; v < VARIANTS; v++) {
        for (int place = 0; place < 2; place++) {
            const husk_loss_params params =
                HUSK_MAKE(husk_loss_params, .kind = HUSK_LOSS_HUBER, .reduction = HUSK_LOSS_NONE,
                          .variant = variants[v], .ignore_index = -100, .beta = 1);
            test_tensor other = test_input(3, shape, TEST_PADDED, 4, 2.0f);
            test_tensor own = test_inout(3, shape, TEST_PADDED, 5, 2.0f);
            const test_tensor *x = place ? &other : &own, *target = place ? &own : &other;
            husk_ref_loss op = {.params = &params,
                                .x = place ? &other.array : &own.before,
                                .target = place ? &own.before : &other.array};
            ck_assert(husk_ref_loss_prepare(&op));
            if (test_ran(husk_loss(test_queue(), &params, &x->tensor, &target->tensor, NULL, NULL, &own.tensor), NAME,
                         variants[v])) {
                test_fetch(&own);
                husk_ref_report report = {0};
                check(&op, &own.array, &report);
                test_accept(NAME, variants[v], place ? "in target's place" : "in x's place", &report);
            }
            husk_ref_loss_release(&op);
            test_release(&other);
            test_release(&own);
        }
    }
}
END_TEST

static void set(test_tensor *tensor, int64_t row, int64_t column, double value)
{
    const int64_t index[] = {row, column};
    husk_ref_store(&tensor->array, husk_ref_offset(&tensor->array, index), value);
}

// Labels that are no class's, each alone, and the sums they make NaN; NaN and infinity in rows; rows of -infinity.
START_TEST(special_rows)
{
    static const int64_t labels[] = {3, -1, -100, 50, INT32_MAX, 0, 49, 7};
    static const int64_t lengths[] = {50, 9000};
    const int64_t shape[] = {8, lengths[_i / 2]};
    for (int reduction = 0; reduction < 3; reduction++) {
        loss_case c = {.dtype = HUSK_F32, .rank = 2, .shape = {shape[0], shape[1]}};
        c.params = HUSK_MAKE(husk_loss_params, .reduction = (husk_loss_reduction)reduction, .ignore_index = 7);
        loss_case_fill(&c, LOSS_TARGET_I64, _i % 2 ? TEST_REVERSED : TEST_PACKED, TEST_PACKED, false, false, 9);
        for (int64_t i = 0; i < 8; i++)
            husk_ref_store(&c.target.array, i, (double)labels[i]);
        test_input_update(&c.target);
        set(&c.x, 0, 40, NAN);
        set(&c.x, 5, 41, INFINITY);
        for (int64_t j = 0; j < shape[1]; j++)
            set(&c.x, 6, j, -INFINITY);
        set(&c.x, 3, 2, -INFINITY);
        set(&c.x, 7, 2, NAN);
        test_input_update(&c.x);
        run_all(&c, TEST_PACKED);
        loss_case_release(&c);
    }
}
END_TEST

// Labels of no class, one at a time among good rows: that row alone is NaN, each sum is, and the weights are not read
// past their ends. i32 and i64, rows of neighbouring classes, and neighbouring rows.
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
            run_all(&c, TEST_PACKED);
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
    run_all(&c, TEST_PACKED);
    loss_case_release(&c);
}
END_TEST

// A mean of rows that are all ignored is NaN, a sum 0, and each of them 0.
START_TEST(everything_ignored)
{
    const int64_t shape[] = {5, 9};
    const husk_loss_params params =
        HUSK_MAKE(husk_loss_params, .reduction = (husk_loss_reduction)_i, .ignore_index = -100);
    loss_case c = {.params = params, .dtype = HUSK_F32, .rank = 2, .shape = {shape[0], shape[1]}};
    loss_case_fill(&c, LOSS_TARGET_I32, TEST_PACKED, TEST_PACKED, true, false, 9);
    for (int64_t i = 0; i < 5; i++)
        husk_ref_store(&c.target.array, i, -100);
    test_input_update(&c.target);
    run_all(&c, TEST_PACKED);
    loss_case_release(&c);
}
END_TEST

START_TEST(special_elements)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, 0.0, 1.0, -1.0, 80.0, -80.0, 88.5, 1e30};
    enum { COUNT = sizeof(values) / sizeof(values[0]) };
    const int64_t shape[] = {COUNT, COUNT};
    for (int log_target = 0; log_target < 2; log_target++) {
        loss_case c = {.dtype = HUSK_F32, .rank = 2, .shape = {shape[0], shape[1]}};
        c.params = HUSK_MAKE(husk_loss_params, .kind = (husk_loss_kind)(2 + _i), .reduction = HUSK_LOSS_NONE,
                             .log_target = (uint32_t)log_target, .ignore_index = -100, .beta = 1);
        loss_case_fill(&c, LOSS_TARGET_FLOAT, TEST_PACKED, TEST_PACKED, false, false, 9);
        for (int64_t i = 0; i < COUNT; i++)
            for (int64_t j = 0; j < COUNT; j++) {
                set(&c.x, i, j, values[i]);
                set(&c.target, i, j, values[j]);
            }
        test_input_update(&c.x);
        test_input_update(&c.target);
        run_all(&c, TEST_PACKED);
        loss_case_release(&c);
    }
}
END_TEST

// The square of a difference is out of range where the loss is not.
START_TEST(smooth_absolute_of_large_differences)
{
    loss_case c = {.dtype = HUSK_F32, .rank = 1, .shape = {40}};
    c.params = HUSK_MAKE(husk_loss_params, .kind = HUSK_LOSS_SMOOTH_ABSOLUTE, .reduction = HUSK_LOSS_NONE,
                         .beta = 1e30f, .ignore_index = -100);
    loss_case_fill(&c, LOSS_TARGET_FLOAT, TEST_PACKED, TEST_PACKED, false, false, 9);
    for (int64_t i = 0; i < 40; i++) {
        husk_ref_store(&c.x.array, i, i % 2 ? 1e25 : -3e29);
        husk_ref_store(&c.target.array, i, 0.0);
    }
    test_input_update(&c.x);
    test_input_update(&c.target);
    run_all(&c, TEST_PACKED);
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
        test_tensor first = test_output(HUSK_F32, 0, loss_scalar, TEST_PACKED);
        test_tensor next = test_output(HUSK_F32, 0, loss_scalar, TEST_PACKED);
        for (int i = 0; i < 10; i++) {
            test_tensor *loss = i == 0 ? &first : &next;
            if (!test_ran(run(&c, &c.params, loss), NAME, variants[v]))
                break;
            test_fetch(loss);
            ck_assert_mem_eq(first.array.data, loss->array.data, sizeof(float));
        }
        test_release(&first);
        test_release(&next);
        loss_case_release(&c);
    }
}
END_TEST

// Of no rows a sum is 0 and a mean NaN.
START_TEST(nothing)
{
    static const int64_t shapes[][2] = {{0, 7}, {7, 0}, {0, 0}};
    for (int kind = 0; kind < 8; kind++) {
        for (int reduction = 0; reduction < 3; reduction++) {
            loss_case c = {.dtype = HUSK_F32, .rank = 2, .shape = {shapes[_i][0], shapes[_i][1]}};
            c.params = HUSK_MAKE(husk_loss_params, .kind = (husk_loss_kind)kind,
                                 .reduction = (husk_loss_reduction)reduction, .ignore_index = -100, .beta = 1);
            if (kind < 2 && shapes[_i][1] == 0) // rows of no classes
                continue;
            loss_case_fill(&c, LOSS_TARGET_I32, TEST_PACKED, TEST_PACKED, false, false, 2);
            test_tensor loss = test_output(HUSK_F32, loss_case_loss_rank(&c), c.rows_shape, TEST_PACKED);
            test_ok(run(&c, &c.params, &loss));
            test_fetch(&loss);
            const float *value = loss.array.data;
            if (reduction == HUSK_LOSS_SUM)
                ck_assert_float_eq(*value, 0.0f);
            else if (reduction == HUSK_LOSS_MEAN)
                ck_assert(isnan(*value));
            test_release(&loss);
            loss_case_release(&c);
        }
    }
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    const int64_t shape[] = {12, 50};
    loss_case c = {.dtype = HUSK_F32, .rank = 2, .shape = {shape[0], shape[1]}};
    c.params = HUSK_MAKE(husk_loss_params, .kind = _i ? HUSK_LOSS_MEAN_SQUARE : HUSK_LOSS_CROSS_ENTROPY,
                         .reduction = HUSK_LOSS_NONE, .ignore_index = -100, .beta = 1);
    loss_case_fill(&c, LOSS_TARGET_FLOAT, TEST_PACKED, TEST_PACKED, false, false, 15);
    test_tensor loss = test_output(HUSK_F32, loss_case_loss_rank(&c), c.rows_shape, TEST_PADDED);
    test_ok(run(&c, &c.params, &loss));
    test_fetch(&loss);
    husk_ref_loss op = loss_case_ref(&c);
    ck_assert(husk_ref_loss_prepare(&op));
    husk_ref_function function = husk_ref_loss_function(&op);
    test_planted(&function, &loss.array, check, &op);
    test_planted_guards(&loss);
    husk_ref_loss_release(&op);
    test_release(&loss);
    loss_case_release(&c);
}
END_TEST

// ---- bad input ----

static void refuse(husk_status wanted, const char *argument, const husk_loss_params *params, const husk_tensor *x,
                   const husk_tensor *target, const husk_tensor *weight, const husk_tensor *positive,
                   const husk_tensor *loss)
{
    test_refused(husk_loss(test_silent_queue(), params, x, target, weight, positive, loss), wanted, argument);
}

START_TEST(bad_params)
{
    const int64_t shape[] = {4, 6};
    test_tensor x = test_input(2, shape, TEST_PACKED, 19, 1.0f);
    test_tensor loss = test_output(HUSK_F32, 0, loss_scalar, TEST_PACKED);
    const husk_tensor *t = &x.tensor, *y = &loss.tensor;
    const struct {
        husk_loss_params params;
        const char *text;
    } bad[] = {
        {HUSK_MAKE(husk_loss_params, .kind = (husk_loss_kind)8, .ignore_index = -100, .beta = 1), "kind"},
        {HUSK_MAKE(husk_loss_params, .kind = (husk_loss_kind)-1, .ignore_index = -100, .beta = 1), "kind"},
        {HUSK_MAKE(husk_loss_params, .reduction = (husk_loss_reduction)3, .ignore_index = -100), "reduction"},
        {HUSK_MAKE(husk_loss_params, .kind = HUSK_LOSS_HUBER, .beta = -1, .ignore_index = -100), "beta"},
        {HUSK_MAKE(husk_loss_params, .kind = HUSK_LOSS_HUBER, .beta = NAN, .ignore_index = -100), "beta"},
        {HUSK_MAKE(husk_loss_params, .label_smoothing = 1.5f, .ignore_index = -100), "label_smoothing"},
        {HUSK_MAKE(husk_loss_params, .label_smoothing = -0.5f, .ignore_index = -100), "label_smoothing"},
        {HUSK_MAKE(husk_loss_params, .kind = HUSK_LOSS_ABSOLUTE, .label_smoothing = 0.5f, .ignore_index = -100),
         "label_smoothing"},
        {HUSK_MAKE(husk_loss_params, .accumulate = 4, .ignore_index = -100), "accumulate"},
        {HUSK_MAKE(husk_loss_params, .variant = "fastest", .ignore_index = -100), "fastest"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refuse(HUSK_INVALID_ARGUMENT, bad[i].text, &bad[i].params, t, t, NULL, NULL, y);
    husk_loss_params large = husk_loss_defaults(0);
    large.size = sizeof large + 8;
    refuse(HUSK_INVALID_ARGUMENT, "params", &large, t, t, NULL, NULL, y);
    ck_assert_int_eq(husk_loss(NULL, NULL, t, t, NULL, NULL, y), HUSK_INVALID_ARGUMENT);
    ck_assert_str_eq(husk_loss_kind_name(HUSK_LOSS_HUBER), "huber");
    ck_assert_str_eq(husk_loss_kind_name((husk_loss_kind)99), "unknown");
    test_untouched(&loss);
    test_release(&x);
    test_release(&loss);
}
END_TEST

START_TEST(bad_tensors)
{
    const int64_t shape[] = {4, 6}, other[] = {4, 7}, rows[] = {4}, classes[] = {6};
    static const int32_t numbers[4] = {0};
    test_tensor x = test_input(2, shape, TEST_PACKED, 19, 1.0f), wrong = test_input(2, other, TEST_PACKED, 1, 1.0f);
    test_tensor labels = test_input_i32(4, numbers), w = test_input(1, classes, TEST_PACKED, 3, 1.0f);
    test_tensor loss = test_output(HUSK_F32, 0, loss_scalar, TEST_PACKED);
    test_tensor each = test_output(HUSK_F32, 1, rows, TEST_PACKED);
    const husk_tensor *t = &x.tensor, *l = &labels.tensor, *y = &loss.tensor;
    const husk_loss_params likelihood = husk_loss_defaults(HUSK_LOSS_NEGATIVE_LOG),
                           square = husk_loss_defaults(HUSK_LOSS_MEAN_SQUARE),
                           binary = husk_loss_defaults(HUSK_LOSS_BINARY_LOGITS),
                           none = HUSK_MAKE(husk_loss_params, .reduction = HUSK_LOSS_NONE, .ignore_index = -100);
    husk_tensor scalar = x.tensor, no_buffer = x.tensor, still = x.tensor, no_classes = x.tensor;
    scalar.rank = 0;
    no_buffer.buffer = NULL;
    no_classes.shape[1] = 0;
    refuse(HUSK_INVALID_ARGUMENT, "x", NULL, NULL, l, NULL, NULL, y);
    refuse(HUSK_UNSUPPORTED, "x", NULL, l, l, NULL, NULL, y);
    refuse(HUSK_INVALID_ARGUMENT, "x", NULL, &scalar, l, NULL, NULL, y);
    refuse(HUSK_INVALID_ARGUMENT, "x", NULL, &no_buffer, l, NULL, NULL, y);
    refuse(HUSK_INVALID_ARGUMENT, "x", NULL, &no_classes, l, NULL, NULL, y);
    refuse(HUSK_INVALID_ARGUMENT, "x", &likelihood, &no_classes, l, NULL, NULL, y);
    refuse(HUSK_INVALID_ARGUMENT, "x", &none, &no_classes, l, NULL, NULL, &each.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "target", NULL, t, NULL, NULL, NULL, y);
    refuse(HUSK_INVALID_ARGUMENT, "target", NULL, t, &wrong.tensor, NULL, NULL, y);
    refuse(HUSK_INVALID_ARGUMENT, "target", &likelihood, t, t, NULL, NULL, y);
    refuse(HUSK_UNSUPPORTED, "target", &square, t, l, NULL, NULL, y);
    refuse(HUSK_INVALID_ARGUMENT, "target", NULL, t, &no_buffer, NULL, NULL, y);
    refuse(HUSK_INVALID_ARGUMENT, "weight", NULL, t, l, &each.tensor, NULL, y);
    refuse(HUSK_INVALID_ARGUMENT, "weight", &square, t, t, &w.tensor, NULL, y);
    refuse(HUSK_INVALID_ARGUMENT, "weight", &binary, t, t, &wrong.tensor, NULL, y);
    refuse(HUSK_INVALID_ARGUMENT, "positive_weight", NULL, t, l, NULL, &w.tensor, y);
    refuse(HUSK_INVALID_ARGUMENT, "positive_weight", &binary, t, t, NULL, &wrong.tensor, y);
    refuse(HUSK_INVALID_ARGUMENT, "loss", NULL, t, l, NULL, NULL, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "loss", NULL, t, l, NULL, NULL, &each.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "loss", &none, t, l, NULL, NULL, y);
    refuse(HUSK_UNSUPPORTED, "loss", &none, t, l, NULL, NULL, l);
    scalar.rank = 0;
    refuse(HUSK_INVALID_ARGUMENT, "loss", NULL, t, l, NULL, NULL, &scalar); // x's first element
    still.strides[0] = 0;
    still.strides[1] = 1;
    const husk_loss_params square_none =
        HUSK_MAKE(husk_loss_params, .kind = HUSK_LOSS_MEAN_SQUARE, .reduction = HUSK_LOSS_NONE, .ignore_index = -100);
    refuse(HUSK_INVALID_ARGUMENT, "loss", &square_none, t, t, NULL, NULL, &still);
    test_release(&x);
    test_release(&wrong);
    test_release(&labels);
    test_release(&w);
    test_release(&loss);
    test_release(&each);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create(NAME);
    TCase *cases = tcase_create(NAME);
    if (test_tier_is("dtypes")) {
        tcase_add_loop_test(cases, narrow_dtypes_too, 0, 24);
        suite_add_tcase(suite, cases);
        return test_main(suite);
    }
    tcase_add_loop_test(cases, kinds_and_layouts, 0, 50);
    tcase_add_loop_test(cases, row_lengths, 0, LENGTHS);
    tcase_add_loop_test(cases, many_rows, 0, 5);
    tcase_add_loop_test(cases, many_terms_of_one_sign, 0, 4);
    tcase_add_test(cases, in_place);
    tcase_add_loop_test(cases, special_rows, 0, 4);
    tcase_add_loop_test(cases, labels_of_no_class, 0, 4);
    tcase_add_loop_test(cases, ignored_index_of_64_bits, 0, 4);
    tcase_add_loop_test(cases, everything_ignored, 0, 3);
    tcase_add_loop_test(cases, special_elements, 0, 6);
    tcase_add_test(cases, smooth_absolute_of_large_differences);
    tcase_add_loop_test(cases, ten_runs_agree, 0, 2);
    tcase_add_loop_test(cases, nothing, 0, 3);
    tcase_add_loop_test(cases, the_check_sees_mistakes, 0, 2);
    tcase_add_test(cases, bad_params);
    tcase_add_test(cases, bad_tensors);
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
