// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=90
// Normalisation: every kind, variant and layout against the reference; large means; special values; bad input.
#include "ref/norm/norm.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>

static const char *const variants[] = {NULL,           "rows",           "columns",        "workgroup:256",
                                       "workgroup:64", "registers:32x1", "registers:64x4", "registers:256x8"};
static const char *const output_names[] = {"y", "mean", "rstd", "running_mean", "running_variance"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]), OUTPUTS = 5 };

// Everything of one configuration; what is not there has no buffer.
typedef struct operands {
    husk_norm_params params;
    test_tensor x, scale, bias;
    test_tensor outputs[OUTPUTS];
    bool has_scale, has_bias, has[OUTPUTS];
} operands;

static bool is_batch(const operands *o)
{
    return o->params.kind == HUSK_NORM_BATCH;
}

// Running variances are positive.
static void make_positive(test_tensor *t)
{
    for (int64_t i = 0; i < husk_ref_array_count(&t->array); i++)
        husk_ref_store(&t->array, i, 0.25 + fabs(husk_ref_load(&t->array, i)));
    test_input_update(t);
}

// The tensors that belong to an x of this shape; all there are.
static operands make_operands(const husk_norm_params *params, husk_dtype dtype, int32_t rank, const int64_t *shape,
                              test_layout x_layout, test_layout y_layout, uint64_t seed, float scale)
{
    operands o = {.params = *params, .has_scale = true, .has_bias = true};
    int64_t small[HUSK_MAX_RANK];
    o.x = test_input_of(dtype, rank, shape, x_layout, seed, scale);
    int32_t small_rank = husk_ref_norm_parameter_shape(params, &o.x.array, small);
    o.scale = test_input_of(dtype, small_rank, small, TEST_PACKED, seed + 1, 2.0f);
    o.bias = test_input_of(dtype, small_rank, small, TEST_PACKED, seed + 2, 2.0f);
    o.outputs[HUSK_REF_NORM_Y] = test_output(dtype, rank, shape, y_layout);
    small_rank = husk_ref_norm_statistic_shape(params, &o.x.array, small);
    for (int i = HUSK_REF_NORM_MEAN; i <= HUSK_REF_NORM_RSTD; i++)
        o.outputs[i] = test_output(dtype == HUSK_F64 ? HUSK_F64 : HUSK_F32, small_rank, small, TEST_PACKED);
    o.has[0] = o.has[HUSK_REF_NORM_RSTD] = true;
    o.has[HUSK_REF_NORM_MEAN] = params->kind != HUSK_NORM_RMS;
    for (int i = HUSK_REF_NORM_RUNNING_MEAN; i < OUTPUTS && is_batch(&o); i++) {
        o.outputs[i] = test_inout_of(dtype == HUSK_F64 ? HUSK_F64 : HUSK_F32, small_rank, small, TEST_PACKED,
                                     seed + (uint64_t)i, 1.5f);
        o.has[i] = true;
    }
    if (is_batch(&o))
        make_positive(&o.outputs[HUSK_REF_NORM_RUNNING_VARIANCE]);
    return o;
}

static void release_operands(operands *o)
{
    test_release(&o->x);
    test_release(&o->scale);
    test_release(&o->bias);
    for (int i = 0; i < OUTPUTS; i++)
        if (o->outputs[i].memory != NULL)
            test_release(&o->outputs[i]);
}

static const husk_tensor *output_of(const operands *o, int i)
{
    return o->has[i] ? &o->outputs[i].tensor : NULL;
}

static husk_status run(husk_queue *queue, const operands *o, const char *variant)
{
    husk_norm_params params = o->params;
    params.variant = variant;
    return husk_norm(queue, &params, &o->x.tensor, o->has_scale ? &o->scale.tensor : NULL,
                     o->has_bias ? &o->bias.tensor : NULL, output_of(o, HUSK_REF_NORM_RUNNING_MEAN),
                     output_of(o, HUSK_REF_NORM_RUNNING_VARIANCE), output_of(o, HUSK_REF_NORM_Y),
                     output_of(o, HUSK_REF_NORM_MEAN), output_of(o, HUSK_REF_NORM_RSTD));
}

static husk_ref_norm reference_of(const operands *o)
{
    husk_ref_norm op = {.params = &o->params, .x = &o->x.before};
    op.scale = o->has_scale ? &o->scale.array : NULL;
    op.bias = o->has_bias ? &o->bias.array : NULL;
    op.running_mean = o->has[HUSK_REF_NORM_RUNNING_MEAN] ? &o->outputs[HUSK_REF_NORM_RUNNING_MEAN].before : NULL;
    op.running_variance =
        o->has[HUSK_REF_NORM_RUNNING_VARIANCE] ? &o->outputs[HUSK_REF_NORM_RUNNING_VARIANCE].before : NULL;
    ck_assert(husk_ref_norm_prepare(&op));
    return op;
}

static void describe(const operands *o, const char *output, char *text, size_t capacity)
{
    const husk_norm_params *p = &o->params;
    size_t used = (size_t)snprintf(text, capacity, "%s %s axis=%d groups=%u training=%u %s shape", output,
                                   husk_norm_kind_name(p->kind), (int)p->axis, (unsigned)p->groups,
                                   (unsigned)p->training, husk_dtype_name(o->x.tensor.dtype));
    for (int32_t d = 0; d < o->x.tensor.rank && used < capacity; d++)
        used += (size_t)snprintf(text + used, capacity - used, " %lld", (long long)o->x.tensor.shape[d]);
}

// proves: whether zeros are suspicious.
static void check_outputs(operands *o, const husk_ref_norm *op, const char *variant, bool proves)
{
    for (int i = 0; i < OUTPUTS; i++) {
        if (!o->has[i])
            continue;
        char text[200];
        describe(o, output_names[i], text, sizeof(text));
        test_fetch(&o->outputs[i]);
        const husk_ref_norm_question question = {.op = op, .output = (husk_ref_norm_output)i};
        const husk_ref_function function = husk_ref_norm_function(&question);
        husk_ref_report report = {0};
        husk_ref_check(&function, 1, &o->outputs[i].array, &report);
        if (!proves)
            report.zeros = 0;
        test_accept("norm", variant, text, &report);
    }
}

static void run_all_that(operands *o, bool proves)
{
    const husk_ref_norm op = reference_of(o);
    for (int v = 0; v < VARIANTS; v++) {
        for (int i = 0; i < OUTPUTS; i++)
            if (o->has[i])
                test_restore(&o->outputs[i]);
        if (test_ran(run(test_queue(), o, variants[v]), "norm", variants[v]))
            check_outputs(o, &op, variants[v], proves);
    }
    husk_ref_norm_release((husk_ref_norm *)&op);
}

static void run_all(operands *o)
{
    run_all_that(o, true);
}

static void drop_some(operands *o, husk_ref_random *random)
{
    o->has_scale = !test_one_in(random, 4);
    o->has_bias = !test_one_in(random, 4);
    const bool needs_running = is_batch(o) && !o->params.training;
    for (int i = 1; i < OUTPUTS; i++)
        if (test_one_in(random, 5) && !(needs_running && i >= HUSK_REF_NORM_RUNNING_MEAN))
            o->has[i] = false;
}

static husk_norm_params draw_params(husk_ref_random *random, husk_norm_kind kind, int32_t rank)
{
    husk_norm_params params = husk_norm_defaults(kind);
    params.epsilon = test_one_in(random, 3) ? 1e-3f : params.epsilon;
    if (kind == HUSK_NORM_LAYER || kind == HUSK_NORM_RMS)
        params.axis = test_axis(random, rank - 1 - (int32_t)husk_ref_random_below(random, rank < 4 ? rank : 4), rank);
    if (kind == HUSK_NORM_GROUP)
        params.groups = (uint32_t)TEST_PICK(random, 0, 1, 2, 3, 5);
    if (kind == HUSK_NORM_BATCH) {
        params.training = (uint32_t)husk_ref_random_below(random, 3) > 0;
        params.momentum = (float)TEST_PICK(random, 0, 1, 2, 4) / 8;
    }
    return params;
}

// Small ranks and shapes that groups divide and training takes.
static int32_t draw_shape(husk_ref_random *random, const husk_norm_params *wanted, int32_t rank, int64_t *shape)
{
    const bool is_layer = wanted->kind == HUSK_NORM_LAYER || wanted->kind == HUSK_NORM_RMS;
    for (int32_t d = 0; d < rank; d++)
        shape[d] = test_pick_size(random, 16, rank > 4 ? 4 : rank > 2 ? 14 : 90);
    if (is_layer && rank <= 3)
        shape[rank - 1] = test_pick_size(random, 64, 300);
    if (!is_layer && wanted->groups > 1)
        shape[1] = wanted->groups * (1 + husk_ref_random_below(random, rank > 3 ? 5 : 20));
    if (wanted->training && shape[0] < 2)
        shape[0] = 2;
    return rank;
}

static void random_case(husk_ref_random *random, husk_norm_kind kind, husk_dtype dtype)
{
    const bool is_layer = kind == HUSK_NORM_LAYER || kind == HUSK_NORM_RMS;
    const int32_t rank = (int32_t)(is_layer ? TEST_PICK(random, 1, 2, 2, 3, 4, 5) : TEST_PICK(random, 2, 3, 4, 4, 5));
    int64_t shape[HUSK_MAX_RANK];
    const husk_norm_params params = draw_params(random, kind, rank);
    draw_shape(random, &params, rank, shape);
    const test_layout x_layout = test_one_in(random, 2) ? TEST_PACKED : test_pick_layout(random);
    const test_layout y_layout = test_one_in(random, 2) ? x_layout : test_pick_layout(random);
    operands o = make_operands(&params, dtype, rank, shape, x_layout, y_layout, random->drawn, 4.0f);
    drop_some(&o, random);
    run_all_that(&o, false); // sets of one element are zeros
    release_operands(&o);
}

START_TEST(kinds_and_layouts)
{
    husk_ref_random random = {.seed = 300 + (uint64_t)_i};
    const int64_t rounds = test_is_long() ? 60 : 6;
    for (int64_t round = 0; round < rounds; round++)
        random_case(&random, (husk_norm_kind)(_i % 5), HUSK_F32);
}
END_TEST

START_TEST(narrow_dtypes)
{
    husk_ref_random random = {.seed = 700 + (uint64_t)_i};
    for (int64_t round = 0; round < 16; round++)
        random_case(&random, (husk_norm_kind)(_i % 5), test_dtype(_i / 5 + round));
}
END_TEST

// One configuration of every kind in f16: the programs of the dtypes are built and used in the default tier.
START_TEST(one_narrow_dtype)
{
    const int64_t shape[] = {3, 12, 5, 7};
    for (int kind = 0; kind < 5; kind++) {
        const husk_norm_params params = husk_norm_defaults((husk_norm_kind)kind);
        operands o = make_operands(&params, HUSK_F16, 4, shape, TEST_PACKED, TEST_PACKED, 5, 2.0f);
        test_ok(run(test_queue(), &o, NULL));
        const husk_ref_norm op = reference_of(&o);
        check_outputs(&o, &op, NULL, true);
        husk_ref_norm_release((husk_ref_norm *)&op);
        release_operands(&o);
    }
}
END_TEST

// Rows around vectors, chunks and what is unrolled.
START_TEST(row_lengths)
{
    static const int64_t lengths[] = {1,   2,   3,    7,    15,   16,   17,   63,   64,   65,
                                      127, 129, 1000, 1024, 4095, 4096, 4097, 8191, 8193, 20011};
    const int64_t shape[] = {lengths[_i] > 5000 ? 2 : 5, lengths[_i]};
    for (int kind = 0; kind < 2; kind++) {
        const husk_norm_params params = husk_norm_defaults((husk_norm_kind)kind);
        operands o = make_operands(&params, HUSK_F32, 2, shape, TEST_PACKED, TEST_PACKED, 3, 9.0f);
        run_all_that(&o, lengths[_i] > 1);
        release_operands(&o);
    }
}
END_TEST
enum { LENGTHS = 20 };

// Images whose planes, groups and channels are larger than chunks, blocks and strips, in both layouts.
START_TEST(images)
{
    static const int64_t shapes[][4] = {
        {2, 6, 70, 71}, {3, 600, 5, 7}, {40, 3, 33, 17}, {1, 32, 65, 64}, {70, 520, 1, 1}};
    static const test_layout layouts[] = {TEST_PACKED, TEST_CHANNELS_LAST};
    const int64_t *shape = shapes[_i / 2];
    for (int kind = HUSK_NORM_GROUP; kind <= HUSK_NORM_BATCH; kind++) {
        husk_norm_params params = husk_norm_defaults((husk_norm_kind)kind);
        params.groups = kind != HUSK_NORM_GROUP ? 0 : shape[1] % 2 ? 3 : 2;
        params.training = kind == HUSK_NORM_BATCH;
        operands o = make_operands(&params, HUSK_F32, 4, shape, layouts[_i % 2], layouts[_i % 2], 3, 3.0f);
        run_all_that(&o, false);
        release_operands(&o);
    }
}
END_TEST

// More than the caches of most hold: the result goes past them.
START_TEST(large)
{
    static const test_layout layouts[] = {TEST_PACKED, TEST_CHANNELS_LAST};
    const int64_t shape[] = {9, 64, 88, 88};
    const husk_norm_params params =
        HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_GROUP, .groups = 8, .axis = -1, .epsilon = 1e-5f);
    operands o = make_operands(&params, HUSK_F32, 4, shape, layouts[_i], layouts[_i], 4, 3.0f);
    const husk_ref_norm op = reference_of(&o);
    test_ok(run(test_queue(), &o, NULL));
    check_outputs(&o, &op, NULL, true);
    husk_ref_norm_release((husk_ref_norm *)&op);
    release_operands(&o);
}
END_TEST

// x = 10000 + something small: what a naive sum of squares, or a mean of f32, would spoil.
START_TEST(large_means)
{
    static const int64_t shapes[][4] = {{2, 6, 40, 41}, {3, 64, 9, 5}, {2, 2, 1, 1300}};
    static const double sizes[] = {1.0, 0.05};
    for (int which = 0; which < 12; which++) {
        const int64_t *shape = shapes[which % 3];
        const test_layout layout = which / 3 % 2 ? TEST_CHANNELS_LAST : TEST_PACKED;
        husk_norm_params params = husk_norm_defaults((husk_norm_kind)_i);
        params.axis = 1; // of LAYER and RMS
        params.groups = _i == HUSK_NORM_GROUP ? 2 : 0;
        params.training = _i == HUSK_NORM_BATCH;
        operands o = make_operands(&params, HUSK_F32, 4, shape, layout, layout, 3, 1.0f);
        for (int64_t i = 0; i < husk_ref_array_count(&o.x.array); i++) {
            int64_t index[HUSK_MAX_RANK];
            husk_ref_index_of(4, shape, i, index);
            const int64_t offset = husk_ref_offset(&o.x.before, index);
            husk_ref_store(&o.x.array, offset, 1e4 + sizes[which / 6] * husk_ref_load(&o.x.array, offset));
        }
        test_input_update(&o.x);
        run_all(&o);
        release_operands(&o);
    }
}
END_TEST

// Squares of differences that are all alike: errors of one sign, in a block of rows, in what a work-item has of a large
// image, and in runs of two.
START_TEST(many_terms_of_one_sign)
{
    static const int64_t shapes[][4] = {{2, 16, 32, 64}, {1, 16, 256, 256}, {2048, 6, 1, 2}, {1, 65536, 1, 1}};
    const test_layout layout = _i != 2 ? TEST_CHANNELS_LAST : TEST_PACKED;
    const husk_norm_params params =
        _i < 2    ? HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_INSTANCE, .axis = -1, .epsilon = 1e-5f)
        : _i == 2 ? HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_BATCH, .training = 1, .axis = -1, .epsilon = 1e-5f,
                              .momentum = 0.1f)
                  : HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_GROUP, .groups = 1, .axis = -1, .epsilon = 1e-5f);
    operands o = make_operands(&params, HUSK_F32, 4, shapes[_i], layout, layout, 3, 1.0f);
    int64_t index[4] = {0};
    do {
        const double of_group = sqrt(1.00191), by_channels = index[1] % 2 ? -of_group : of_group;
        const double difference = (index[0] + index[2] + index[3]) % 2 ? -sqrt(0.3) : sqrt(0.3);
        husk_ref_store(&o.x.array, husk_ref_offset(&o.x.array, index), _i == 3 ? by_channels : 1.0 + difference);
    } while (husk_ref_index_next(4, shapes[_i], index));
    test_input_update(&o.x);
    run_all(&o);
    release_operands(&o);
}
END_TEST

// All elements alike: zeros and the bias, whatever their size; epsilon none and large.
START_TEST(constant_rows)
{
    const int64_t shape[] = {3, 5000};
    static const double values[] = {0.1, 1e4, -3e15};
    husk_norm_params params = HUSK_MAKE(husk_norm_params, .epsilon = _i ? 0.5f : 1e-5f, .axis = -1);
    operands o = make_operands(&params, HUSK_F32, 2, shape, TEST_PACKED, TEST_PACKED, 0, 1.0f);
    for (int64_t i = 0; i < 2 * 5000; i++)
        husk_ref_store(&o.x.array, i, values[i / 5000]);
    test_input_update(&o.x);
    run_all(&o);
    release_operands(&o);
}
END_TEST

START_TEST(no_epsilon)
{
    const int64_t shape[] = {7, 50};
    for (int kind = 0; kind < 2; kind++) {
        const husk_norm_params params =
            HUSK_MAKE(husk_norm_params, .kind = (husk_norm_kind)kind, .epsilon = 0, .axis = -1);
        operands o = make_operands(&params, HUSK_F32, 2, shape, TEST_PACKED, TEST_PACKED, 3, 1e-3f);
        run_all(&o);
        release_operands(&o);
    }
}
END_TEST

START_TEST(in_place)
{
    static const int64_t shapes[][4] = {{3, 12, 7, 5}, {2, 6, 30, 31}, {4, 4, 1, 1100}};
    static const test_layout layouts[] = {TEST_PACKED, TEST_CHANNELS_LAST, TEST_PADDED};
    for (int which = 0; which < 9; which++) {
        husk_norm_params params = husk_norm_defaults((husk_norm_kind)_i);
        params.training = _i == HUSK_NORM_BATCH;
        for (int v = 0; v < VARIANTS; v++) {
            operands o = make_operands(&params, HUSK_F32, 4, shapes[which / 3], TEST_PACKED, TEST_PACKED, 3, 2.0f);
            test_release(&o.x);
            test_release(&o.outputs[0]);
            o.x = o.outputs[0] = test_inout(4, shapes[which / 3], layouts[which % 3], 7, 2.0f);
            if (test_ran(run(test_queue(), &o, variants[v]), "norm", variants[v])) {
                const husk_ref_norm op = reference_of(&o);
                check_outputs(&o, &op, variants[v], true);
                husk_ref_norm_release((husk_ref_norm *)&op);
            }
            o.outputs[0].memory = NULL; // x releases it
            release_operands(&o);
        }
    }
}
END_TEST

// A NaN and an infinity spoil their own set alone.
START_TEST(special_values)
{
    static const test_layout layouts[] = {TEST_PACKED, TEST_CHANNELS_LAST, TEST_REVERSED};
    const int64_t shape[] = {4, 8, 5, 9};
    husk_norm_params params = husk_norm_defaults((husk_norm_kind)(_i / 3));
    params.groups = params.kind == HUSK_NORM_GROUP ? 4 : 0;
    params.training = params.kind == HUSK_NORM_BATCH;
    operands o = make_operands(&params, HUSK_F32, 4, shape, layouts[_i % 3], TEST_PACKED, 3, 2.0f);
    const struct {
        int64_t index[4];
        double value;
    } special[] = {{{0, 1, 2, 3}, NAN}, {{1, 3, 0, 0}, INFINITY}, {{2, 5, 4, 8}, -INFINITY}};
    for (int i = 0; i < 3; i++)
        husk_ref_store(&o.x.array, husk_ref_offset(&o.x.array, special[i].index), special[i].value);
    test_input_update(&o.x);
    run_all_that(&o, false);
    release_operands(&o);
}
END_TEST

// Ten runs, the same bits, and those of a different share of the work.
START_TEST(runs_agree)
{
    static const test_layout layouts[] = {TEST_PACKED, TEST_CHANNELS_LAST};
    const int64_t shape[] = {4, 48, 31, 37}, bytes = 4 * 48 * 31 * 37 * (int64_t)sizeof(float);
    husk_norm_params params = husk_norm_defaults((husk_norm_kind)(_i / 2));
    params.groups = params.kind == HUSK_NORM_GROUP ? 3 : 0;
    params.training = params.kind == HUSK_NORM_BATCH;
    for (int v = 0; v < VARIANTS; v++) {
        operands o = make_operands(&params, HUSK_F32, 4, shape, layouts[_i % 2], layouts[_i % 2], 3, 2.0f);
        test_tensor second = test_output(HUSK_F32, 4, shape, layouts[_i % 2]);
        o.has[HUSK_REF_NORM_RUNNING_MEAN] = o.has[HUSK_REF_NORM_RUNNING_VARIANCE] = false;
        if (test_ran(run(test_queue(), &o, variants[v]), "norm", variants[v])) {
            const test_tensor first = o.outputs[0];
            test_fetch(&o.outputs[0]);
            o.outputs[0] = second;
            for (int i = 0; i < 9; i++) {
                test_ok(run(test_queue(), &o, variants[v]));
                test_fetch(&second);
                ck_assert_mem_eq(first.array.data, second.array.data, (size_t)bytes);
            }
            o.outputs[0] = first;
        }
        test_release(&second);
        release_operands(&o);
    }
}
END_TEST

START_TEST(nothing)
{
    static const int64_t shapes[][3] = {{0, 6, 3}, {3, 0, 5}, {2, 4, 0}};
    for (int which = 0; which < 15; which++) {
        const husk_norm_params params =
            HUSK_MAKE(husk_norm_params, .kind = (husk_norm_kind)(which / 3), .training = which / 3 == HUSK_NORM_BATCH,
                      .axis = -1, .epsilon = 1e-5f, .momentum = 0.1f);
        operands o = make_operands(&params, HUSK_F32, 3, shapes[which % 3], TEST_PACKED, TEST_PACKED, 3, 2.0f);
        test_ok(run(test_queue(), &o, NULL));
        for (int i = 0; i < OUTPUTS; i++)
            if (o.has[i])
                test_untouched(&o.outputs[i]);
        release_operands(&o);
    }
}
END_TEST

START_TEST(default_params)
{
    const int64_t shape[] = {6, 30};
    const husk_norm_params params = HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_LAYER, .axis = -1, .epsilon = 1e-5f);
    operands o = make_operands(&params, HUSK_F32, 2, shape, TEST_PACKED, TEST_PACKED, 3, 2.0f);
    test_ok(husk_norm(test_queue(), NULL, &o.x.tensor, NULL, NULL, NULL, NULL, &o.outputs[0].tensor, NULL, NULL));
    o.has_scale = o.has_bias = o.has[1] = o.has[2] = false;
    const husk_ref_norm op = reference_of(&o);
    check_outputs(&o, &op, NULL, true);
    husk_ref_norm_release((husk_ref_norm *)&op);
    release_operands(&o);
}
END_TEST

static void check_y(void *user, const husk_ref_array *y, husk_ref_report *report)
{
    const husk_ref_norm_question question = {.op = user, .output = HUSK_REF_NORM_Y};
    const husk_ref_function function = husk_ref_norm_function(&question);
    husk_ref_check(&function, 1, y, report);
}

START_TEST(the_check_sees_mistakes)
{
    const int64_t shape[] = {3, 8, 5, 6};
    for (int kind = 0; kind < 5; kind++) {
        const husk_norm_params params =
            HUSK_MAKE(husk_norm_params, .kind = (husk_norm_kind)kind, .training = kind == HUSK_NORM_BATCH, .axis = -1,
                      .epsilon = 1e-5f, .momentum = 0.1f);
        operands o = make_operands(&params, HUSK_F32, 4, shape, TEST_PACKED, TEST_PADDED, 3, 2.0f);
        test_ok(run(test_queue(), &o, NULL));
        test_fetch(&o.outputs[0]);
        husk_ref_norm op = reference_of(&o);
        const husk_ref_norm_question question = {.op = &op, .output = HUSK_REF_NORM_Y};
        const husk_ref_function function = husk_ref_norm_function(&question);
        test_planted(&function, &o.outputs[0].array, check_y, &op);
        test_planted_guards(&o.outputs[0]);
        husk_ref_norm_release(&op);
        release_operands(&o);
    }
}
END_TEST

static void refuse(husk_status wanted, const char *argument, const operands *o)
{
    test_refused(run(test_silent_queue(), o, NULL), wanted, argument);
}

START_TEST(bad_params)
{
    const int64_t shape[] = {4, 6, 5};
    const husk_norm_params good = HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_BATCH, .training = 1, .axis = -1,
                                            .epsilon = 1e-5f, .momentum = 0.1f);
    operands o = make_operands(&good, HUSK_F32, 3, shape, TEST_PACKED, TEST_PACKED, 3, 1.0f);
#define BAD(argument, ...)                                   \
    do {                                                     \
        o.params = HUSK_MAKE(husk_norm_params, __VA_ARGS__); \
        refuse(HUSK_INVALID_ARGUMENT, argument, &o);         \
    } while (0)
    BAD("kind", .kind = (husk_norm_kind)5);
    BAD("kind", .kind = (husk_norm_kind)-1);
    BAD("epsilon", .kind = HUSK_NORM_BATCH, .training = 1, .epsilon = -0.5f);
    BAD("epsilon", .kind = HUSK_NORM_BATCH, .training = 1, .epsilon = NAN);
    BAD("epsilon", .kind = HUSK_NORM_BATCH, .training = 1, .epsilon = INFINITY);
    BAD("momentum", .kind = HUSK_NORM_BATCH, .training = 1, .momentum = 1.5f);
    BAD("momentum", .kind = HUSK_NORM_BATCH, .training = 1, .momentum = -0.1f);
    BAD("momentum", .kind = HUSK_NORM_BATCH, .training = 1, .momentum = NAN);
    BAD("momentum", .kind = HUSK_NORM_GROUP, .momentum = 2);
    BAD("training", .kind = HUSK_NORM_LAYER, .training = 1);
    BAD("accumulate", .kind = HUSK_NORM_BATCH, .training = 1, .accumulate = 4);
    BAD("axis is 3, must be -3 to 2", .kind = HUSK_NORM_LAYER, .axis = 3);
    BAD("axis is -4, must be -3 to 2", .kind = HUSK_NORM_RMS, .axis = -4);
    BAD("groups", .kind = HUSK_NORM_LAYER, .groups = 2);
    BAD("groups", .kind = HUSK_NORM_INSTANCE, .groups = 2);
    BAD("groups", .kind = HUSK_NORM_GROUP, .groups = 4);
#undef BAD
    o.params = good;
    o.params.size = 4096;
    refuse(HUSK_INVALID_ARGUMENT, "params", &o);
    o.params = HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_BATCH, .variant = "row", .axis = -1, .epsilon = 1e-5f,
                         .momentum = 0.1f);
    test_refused(husk_norm(test_silent_queue(), &o.params, &o.x.tensor, NULL, NULL, &o.outputs[3].tensor,
                           &o.outputs[4].tensor, &o.outputs[0].tensor, NULL, NULL),
                 HUSK_INVALID_ARGUMENT, "row");
    ck_assert_int_eq(husk_norm(NULL, &good, &o.x.tensor, NULL, NULL, NULL, NULL, &o.outputs[0].tensor, NULL, NULL),
                     HUSK_INVALID_ARGUMENT);
    for (int i = 0; i < OUTPUTS; i++)
        test_untouched(&o.outputs[i]);
    release_operands(&o);
}
END_TEST

// One argument after another is spoilt; index: its place in the call.
static void spoil(const operands *o, int which, const husk_tensor *with, husk_status wanted, const char *argument)
{
    const husk_tensor *all[] = {&o->x.tensor,          &o->scale.tensor,      &o->bias.tensor,
                                &o->outputs[3].tensor, &o->outputs[4].tensor, &o->outputs[0].tensor,
                                &o->outputs[1].tensor, &o->outputs[2].tensor};
    all[which] = with;
    test_refused(
        husk_norm(test_silent_queue(), &o->params, all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7]),
        wanted, argument);
}

START_TEST(bad_tensors)
{
    static const char *const names[] = {"x", "scale", "bias", "running_mean", "running_variance", "y", "mean", "rstd"};
    const int64_t shape[] = {4, 6, 5}, other[] = {4, 5, 6}, channels[] = {7}, single[] = {1, 6, 1};
    const husk_norm_params params = HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_BATCH, .training = 1, .axis = -1,
                                              .epsilon = 1e-5f, .momentum = 0.1f);
    operands o = make_operands(&params, HUSK_F32, 3, shape, TEST_PACKED, TEST_PACKED, 3, 1.0f);
    test_tensor turned = test_output(HUSK_F32, 3, other, TEST_PACKED);
    test_tensor longer = test_output(HUSK_F32, 1, channels, TEST_PACKED);
    test_tensor whole = test_output(HUSK_I32, 3, shape, TEST_PACKED);
    test_tensor whole_channels = test_output(HUSK_I32, 1, channels, TEST_PACKED);
    test_tensor narrow = test_output(HUSK_F16, 3, shape, TEST_PACKED);
    for (int i = 0; i < 8; i++) {
        const bool is_large = i == 0 || i == 5;
        if (is_large)
            spoil(&o, i, NULL, HUSK_INVALID_ARGUMENT, names[i]);
        spoil(&o, i, is_large ? &whole.tensor : &whole_channels.tensor, HUSK_UNSUPPORTED, names[i]);
        if (i > 0)
            spoil(&o, i, is_large ? &turned.tensor : &longer.tensor, HUSK_INVALID_ARGUMENT, names[i]);
        const husk_tensor *const good[] = {&o.x.tensor,          &o.scale.tensor,      &o.bias.tensor,
                                           &o.outputs[3].tensor, &o.outputs[4].tensor, &o.outputs[0].tensor,
                                           &o.outputs[1].tensor, &o.outputs[2].tensor};
        husk_tensor bad = *good[i];
        bad.buffer = NULL;
        spoil(&o, i, &bad, HUSK_INVALID_ARGUMENT, names[i]);
        bad = *good[i];
        bad.offset += 100000; // past the buffer's end
        spoil(&o, i, &bad, HUSK_INVALID_ARGUMENT, names[i]);
        bad = *good[i];
        bad.shape[0] = -4;
        spoil(&o, i, &bad, HUSK_INVALID_ARGUMENT, names[i]);
        if (is_large)
            continue;
        bad = *good[i];
        bad.strides[0] = 2;
        spoil(&o, i, &bad, HUSK_INVALID_ARGUMENT, names[i]);
    }
    spoil(&o, 5, &narrow.tensor, HUSK_UNSUPPORTED, "y");
    husk_tensor bad = o.outputs[0].tensor;
    bad.strides[0] = bad.strides[1] = 3;
    bad.strides[2] = 1;
    spoil(&o, 5, &bad, HUSK_INVALID_ARGUMENT, "y");
    spoil(&o, 6, &o.outputs[3].tensor, HUSK_INVALID_ARGUMENT, "mean"); // memory of the running mean
    spoil(&o, 7, &o.outputs[1].tensor, HUSK_INVALID_ARGUMENT, "mean");
    spoil(&o, 3, &o.scale.tensor, HUSK_INVALID_ARGUMENT, "running_mean");
    bad = o.outputs[0].tensor; // in place, but not quite
    bad.shape[0] = 3;
    husk_tensor shifted = bad;
    shifted.offset += 6;
    test_refused(husk_norm(test_silent_queue(), &params, &bad, NULL, NULL, NULL, NULL, &shifted, NULL, NULL),
                 HUSK_INVALID_ARGUMENT, "y");
    test_tensor few = test_input(3, single, TEST_PACKED, 5, 1.0f);
    husk_tensor few_y = o.outputs[0].tensor;
    few_y.shape[0] = few_y.shape[2] = 1;
    test_refused(husk_norm(test_silent_queue(), &params, &few.tensor, NULL, NULL, NULL, NULL, &few_y, NULL, NULL),
                 HUSK_INVALID_ARGUMENT, "two");
    for (int i = 0; i < OUTPUTS; i++)
        test_untouched(&o.outputs[i]);
    test_release(&turned);
    test_release(&longer);
    test_release(&whole);
    test_release(&whole_channels);
    test_release(&narrow);
    test_release(&few);
    release_operands(&o);
}
END_TEST

// What a kind does not have, and inference needs.
START_TEST(statistics_that_do_not_belong)
{
    const int64_t shape[] = {4, 6, 5}, no_shape[] = {0};
    husk_norm_params params = husk_norm_defaults(HUSK_NORM_BATCH);
    operands o = make_operands(&params, HUSK_F32, 3, shape, TEST_PACKED, TEST_PACKED, 3, 1.0f);
    o.has[3] = false;
    refuse(HUSK_INVALID_ARGUMENT, "running_mean", &o);
    o.has[3] = true;
    o.has[4] = false;
    refuse(HUSK_INVALID_ARGUMENT, "running_variance", &o);
    o.params.kind = HUSK_NORM_INSTANCE;
    o.has[1] = o.has[2] = false;
    refuse(HUSK_INVALID_ARGUMENT, "running_mean", &o);
    release_operands(&o);
    params = husk_norm_defaults(HUSK_NORM_RMS);
    o = make_operands(&params, HUSK_F32, 3, shape, TEST_PACKED, TEST_PACKED, 3, 1.0f);
    o.has[1] = true;
    refuse(HUSK_INVALID_ARGUMENT, "mean", &o);
    release_operands(&o);
    test_tensor scalar = test_input(0, no_shape, TEST_PACKED, 21, 1.0f);
    test_tensor y = test_output(HUSK_F32, 0, no_shape, TEST_PACKED);
    test_refused(husk_norm(test_silent_queue(), NULL, &scalar.tensor, NULL, NULL, NULL, NULL, &y.tensor, NULL, NULL),
                 HUSK_INVALID_ARGUMENT, "x");
    test_release(&scalar);
    test_release(&y);
}
END_TEST

// Strides that no variant walks are refused, not misread.
START_TEST(too_many_dimensions)
{
    const int64_t shape[] = {2, 2, 3, 2, 2, 2, 3, 2};
    const husk_norm_params params = HUSK_MAKE(husk_norm_params, .axis = -7, .epsilon = 1e-5f);
    operands o = make_operands(&params, HUSK_F32, 8, shape, TEST_REVERSED, TEST_PACKED, 3, 1.0f);
    refuse(HUSK_UNSUPPORTED, "dimensions", &o);
    test_untouched(&o.outputs[0]);
    release_operands(&o);
}
END_TEST

START_TEST(names)
{
    ck_assert_str_eq(husk_norm_kind_name(HUSK_NORM_GROUP), "group");
    ck_assert_str_eq(husk_norm_kind_name((husk_norm_kind)77), "unknown");
}
END_TEST

START_TEST(enough_configurations)
{
    ck_assert_msg(test_executed("norm") >= 300, "only %ld configurations were executed", test_executed("norm"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("norm");
    TCase *tests = tcase_create("norm");
    if (test_tier_is("dtypes")) {
        tcase_add_loop_test(tests, narrow_dtypes, 0, 10);
        suite_add_tcase(suite, tests);
        return test_main(suite);
    }
    tcase_add_loop_test(tests, kinds_and_layouts, 0, 15);
    tcase_add_test(tests, one_narrow_dtype);
    tcase_add_loop_test(tests, row_lengths, 0, LENGTHS);
    tcase_add_loop_test(tests, images, 0, 10);
    tcase_add_loop_test(tests, large, 0, 2);
    tcase_add_loop_test(tests, large_means, 0, 5);
    tcase_add_loop_test(tests, many_terms_of_one_sign, 0, 4);
    tcase_add_loop_test(tests, constant_rows, 0, 2);
    tcase_add_test(tests, no_epsilon);
    tcase_add_loop_test(tests, in_place, 0, 5);
    tcase_add_loop_test(tests, special_values, 0, 15);
    tcase_add_loop_test(tests, runs_agree, 0, 10);
    tcase_add_test(tests, nothing);
    tcase_add_test(tests, default_params);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_params);
    tcase_add_test(tests, bad_tensors);
    tcase_add_test(tests, statistics_that_do_not_belong);
    tcase_add_test(tests, too_many_dimensions);
    tcase_add_test(tests, names);
    tcase_add_test(tests, enough_configurations);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
