// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=90
// The gradients of normalisation: finite differences, every variant against the reference, determinism, bad input.
#include "ref/norm/norm.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const variants[] = {NULL, "rows", "columns", "workgroup:256", "workgroup:64"};
static const char *const gradient_names[] = {"dx", "dscale", "dbias"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]), GRADIENTS = 3 };

// ---- in double, without a device ----

typedef struct forward {
    husk_ref_norm op;
    husk_ref_array y;
} forward;

static void run_forward(void *user)
{
    forward *f = user;
    const husk_ref_array *const outputs[5] = {&f->y};
    ck_assert(husk_ref_norm_run(&f->op, outputs));
}

static husk_ref_array array_like(int32_t rank, const int64_t *shape, uint64_t seed, double scale)
{
    return test_array(rank, shape, seed, scale);
}

typedef struct difference_case {
    husk_norm_params params;
    int32_t rank;
    int64_t shape[4];
} difference_case;

#define CASE(rank_, n, c, h, w, ...)                     \
    {                                                    \
        HUSK_MAKE(husk_norm_params, __VA_ARGS__), rank_, \
        {                                                \
            n, c, h, w                                   \
        }                                                \
    }
static const difference_case difference_cases[] = {
    CASE(1, 9, 0, 0, 0, .kind = HUSK_NORM_LAYER, .axis = -1, .epsilon = 1e-5f),
    CASE(2, 3, 7, 0, 0, .kind = HUSK_NORM_LAYER, .axis = -1, .epsilon = 1e-5f),
    CASE(2, 3, 7, 0, 0, .kind = HUSK_NORM_LAYER, .axis = -2, .epsilon = 1e-5f),
    CASE(3, 2, 3, 5, 0, .kind = HUSK_NORM_LAYER, .epsilon = 0.1f, .axis = -1),
    CASE(4, 2, 2, 3, 4, .kind = HUSK_NORM_LAYER, .axis = -3, .epsilon = 1e-5f),
    CASE(1, 9, 0, 0, 0, .kind = HUSK_NORM_RMS, .axis = -1, .epsilon = 1e-5f),
    CASE(2, 4, 6, 0, 0, .kind = HUSK_NORM_RMS, .axis = -1, .epsilon = 1e-5f),
    CASE(3, 2, 3, 4, 0, .kind = HUSK_NORM_RMS, .epsilon = 0.2f, .axis = -2),
    CASE(2, 3, 8, 0, 0, .kind = HUSK_NORM_GROUP, .groups = 2, .epsilon = 1e-5f),
    CASE(3, 2, 6, 4, 0, .kind = HUSK_NORM_GROUP, .groups = 3, .epsilon = 1e-5f),
    CASE(4, 2, 4, 3, 3, .kind = HUSK_NORM_GROUP, .epsilon = 1e-5f),
    CASE(4, 1, 6, 2, 3, .kind = HUSK_NORM_GROUP, .groups = 6, .epsilon = 0.1f),
    CASE(3, 2, 3, 5, 0, .kind = HUSK_NORM_INSTANCE, .epsilon = 1e-5f),
    CASE(4, 2, 3, 3, 4, .kind = HUSK_NORM_INSTANCE, .epsilon = 1e-5f),
    CASE(4, 1, 2, 3, 4, .kind = HUSK_NORM_INSTANCE, .epsilon = 0.3f),
    CASE(2, 6, 4, 0, 0, .kind = HUSK_NORM_BATCH, .training = 1, .epsilon = 1e-5f),
    CASE(3, 3, 4, 5, 0, .kind = HUSK_NORM_BATCH, .training = 1, .epsilon = 1e-5f),
    CASE(4, 2, 3, 3, 4, .kind = HUSK_NORM_BATCH, .training = 1, .epsilon = 1e-5f),
    CASE(4, 1, 3, 3, 4, .kind = HUSK_NORM_BATCH, .training = 1, .epsilon = 0.1f),
    CASE(2, 6, 4, 0, 0, .kind = HUSK_NORM_BATCH, .epsilon = 1e-5f),
    CASE(4, 2, 3, 3, 4, .kind = HUSK_NORM_BATCH, .epsilon = 1e-5f),
    CASE(4, 2, 3, 3, 4, .kind = HUSK_NORM_BATCH, .epsilon = 0.1f),
};
#undef CASE
enum { DIFFERENCES = sizeof(difference_cases) / sizeof(difference_cases[0]) };

START_TEST(finite_differences)
{
    const difference_case *c = &difference_cases[_i];
    int64_t small[HUSK_MAX_RANK];
    husk_ref_array x = array_like(c->rank, c->shape, 3, 2), dy = array_like(c->rank, c->shape, 4, 1),
                   dx = array_like(c->rank, c->shape, 0, 0);
    int32_t rank = husk_ref_norm_parameter_shape(&c->params, &x, small);
    husk_ref_array scale = array_like(rank, small, 5, 2), bias = array_like(rank, small, 6, 1),
                   dscale = array_like(rank, small, 0, 0), dbias = array_like(rank, small, 0, 0);
    rank = husk_ref_norm_statistic_shape(&c->params, &x, small);
    husk_ref_array mean = array_like(rank, small, 0, 0), rstd = array_like(rank, small, 0, 0),
                   running_mean = array_like(rank, small, 7, 1), running_variance = array_like(rank, small, 8, 1);
    for (int64_t i = 0; i < husk_ref_array_count(&running_variance); i++)
        husk_ref_store(&running_variance, i, 0.5 + fabs(husk_ref_load(&running_variance, i)));
    forward f = {.op = {.params = &c->params, .x = &x, .scale = &scale, .bias = &bias}};
    f.op.running_mean = &running_mean;
    f.op.running_variance = &running_variance;
    f.y = array_like(c->rank, c->shape, 0, 0);
    const husk_ref_array *const outputs[5] = {&f.y, &mean, &rstd};
    ck_assert(husk_ref_norm_run(&f.op, outputs));

    const husk_ref_norm_backward op = {
        .params = &c->params, .x = &x, .scale = &scale, .mean = &mean, .rstd = &rstd, .dy = &dy};
    const husk_ref_array *const gradients[3] = {&dx, &dscale, &dbias};
    ck_assert(husk_ref_norm_backward_run(&op, gradients));
    test_differences("norm dx", run_forward, &f, &x, &f.y, &dy, &dx, 1);
    test_differences("norm dscale", run_forward, &f, &scale, &f.y, &dy, &dscale, 1);
    test_differences("norm dbias", run_forward, &f, &bias, &f.y, &dy, &dbias, 1);
    husk_ref_array *all[] = {
        &x, &dy, &dx, &scale, &bias, &dscale, &dbias, &mean, &rstd, &running_mean, &running_variance, &f.y};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        test_array_release(all[i]);
}
END_TEST

// ---- on the device ----

typedef struct operands {
    husk_norm_params params;
    test_tensor x, scale, mean, rstd, dy;
    test_tensor gradients[GRADIENTS];
    bool has_scale, has_mean, wants[GRADIENTS];
} operands;

// mean and rstd are those of x, rounded as forward would save them.
static void save_statistics(operands *o)
{
    const husk_ref_norm op = {.params = &o->params, .x = &o->x.before};
    husk_ref_norm forward_op = op;
    husk_norm_params params = o->params;
    if (params.kind == HUSK_NORM_BATCH)
        params.training = 1; // the running statistics are as good as any
    forward_op.params = &params;
    const husk_ref_array *const outputs[5] = {NULL, o->has_mean ? &o->mean.array : NULL, &o->rstd.array};
    ck_assert(husk_ref_norm_run(&forward_op, outputs));
    if (o->has_mean)
        test_input_update(&o->mean);
    test_input_update(&o->rstd);
}

static operands make_operands(const husk_norm_params *params, husk_dtype dtype, int32_t rank, const int64_t *shape,
                              const test_layout layouts[3], uint64_t seed, float scale)
{
    operands o = {.params = *params, .has_scale = true, .has_mean = params->kind != HUSK_NORM_RMS};
    const bool adds_inputs = params->accumulate & HUSK_ACCUMULATE_INPUTS;
    const bool adds_parameters = params->accumulate & HUSK_ACCUMULATE_PARAMETERS;
    int64_t small[HUSK_MAX_RANK];
    o.x = test_input_of(dtype, rank, shape, layouts[0], seed, scale);
    o.dy = test_input_of(dtype, rank, shape, layouts[1], seed + 1, 1.0f);
    o.gradients[0] = adds_inputs ? test_inout_of(dtype, rank, shape, layouts[2], seed + 2, 2.0f)
                                 : test_output(dtype, rank, shape, layouts[2]);
    int32_t small_rank = husk_ref_norm_parameter_shape(params, &o.x.array, small);
    o.scale = test_input_of(dtype, small_rank, small, TEST_PACKED, seed + 3, 2.0f);
    for (int i = 1; i < GRADIENTS; i++)
        o.gradients[i] = adds_parameters
                             ? test_inout_of(dtype, small_rank, small, TEST_PACKED, seed + 4 + (uint64_t)i, 2.0f)
                             : test_output(dtype, small_rank, small, TEST_PACKED);
    small_rank = husk_ref_norm_statistic_shape(params, &o.x.array, small);
    const husk_dtype statistic = dtype == HUSK_F64 ? HUSK_F64 : HUSK_F32;
    o.mean = test_input_of(statistic, small_rank, small, TEST_PACKED, seed + 7, 1.0f);
    o.rstd = test_input_of(statistic, small_rank, small, TEST_PACKED, seed + 8, 1.0f);
    for (int i = 0; i < GRADIENTS; i++)
        o.wants[i] = true;
    save_statistics(&o);
    return o;
}

static void release_operands(operands *o)
{
    test_tensor *all[] = {&o->x,  &o->scale,        &o->mean,         &o->rstd,
                          &o->dy, &o->gradients[0], &o->gradients[1], &o->gradients[2]};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (all[i]->memory != NULL)
            test_release(all[i]);
}

static const husk_tensor *gradient_of(const operands *o, int i)
{
    return o->wants[i] ? &o->gradients[i].tensor : NULL;
}

static husk_status run(husk_queue *queue, const operands *o, const char *variant)
{
    husk_norm_params params = o->params;
    params.variant = variant;
    return husk_norm_backward(queue, &params, &o->x.tensor, o->has_scale ? &o->scale.tensor : NULL,
                              o->has_mean ? &o->mean.tensor : NULL, &o->rstd.tensor, &o->dy.tensor, gradient_of(o, 0),
                              gradient_of(o, 1), gradient_of(o, 2));
}

static husk_ref_norm_backward reference_of(const operands *o)
{
    husk_ref_norm_backward op = {.params = &o->params,
                                 .x = &o->x.before,
                                 .scale = o->has_scale ? &o->scale.before : NULL,
                                 .mean = o->has_mean ? &o->mean.before : NULL,
                                 .rstd = &o->rstd.before,
                                 .dy = &o->dy.before};
    for (int i = 0; i < GRADIENTS; i++)
        if (o->params.accumulate & (uint32_t)(i == 0 ? HUSK_ACCUMULATE_INPUTS : HUSK_ACCUMULATE_PARAMETERS))
            op.before[i] = &o->gradients[i].before;
    ck_assert(husk_ref_norm_backward_prepare(&op));
    return op;
}

static void describe(const operands *o, const char *gradient, char *text, size_t capacity)
{
    const husk_norm_params *p = &o->params;
    size_t used = (size_t)snprintf(text, capacity, "%s %s axis=%d groups=%u training=%u accumulate=%u %s shape",
                                   gradient, husk_norm_kind_name(p->kind), (int)p->axis, (unsigned)p->groups,
                                   (unsigned)p->training, (unsigned)p->accumulate, husk_dtype_name(o->x.tensor.dtype));
    for (int32_t d = 0; d < o->x.tensor.rank && used < capacity; d++)
        used += (size_t)snprintf(text + used, capacity - used, " %lld", (long long)o->x.tensor.shape[d]);
}

static void check_gradients(operands *o, const husk_ref_norm_backward *op, const char *variant)
{
    for (int i = 0; i < GRADIENTS; i++) {
        char text[200];
        describe(o, gradient_names[i], text, sizeof(text));
        if (!o->wants[i]) {
            test_untouched(&o->gradients[i]);
            continue;
        }
        test_fetch(&o->gradients[i]);
        const husk_ref_norm_backward_question question = {.op = op, .gradient = (husk_ref_norm_gradient)i};
        const husk_ref_function function = husk_ref_norm_backward_function(&question);
        husk_ref_report report = {0};
        husk_ref_check(&function, 1, &o->gradients[i].array, &report);
        report.zeros = 0; // sets of one element have gradients of zero
        test_accept("norm_backward", variant, text, &report);
    }
}

static void run_all(operands *o)
{
    husk_ref_norm_backward op = reference_of(o);
    for (int v = 0; v < VARIANTS; v++) {
        for (int i = 0; i < GRADIENTS; i++)
            test_restore(&o->gradients[i]);
        if (test_ran(run(test_queue(), o, variants[v]), "norm_backward", variants[v]))
            check_gradients(o, &op, variants[v]);
    }
    husk_ref_norm_backward_release(&op);
}

static void random_case(husk_ref_random *random, husk_norm_kind kind, husk_dtype dtype)
{
    const bool is_layer = kind == HUSK_NORM_LAYER || kind == HUSK_NORM_RMS;
    const int32_t rank = (int32_t)(is_layer ? TEST_PICK(random, 1, 2, 2, 3, 4, 5) : TEST_PICK(random, 2, 3, 4, 4, 5));
    int64_t shape[HUSK_MAX_RANK];
    husk_norm_params params = husk_norm_defaults(kind);
    params.accumulate = (uint32_t)TEST_PICK(random, 0, 0, 1, 2, 3);
    params.axis = test_axis(random, (int32_t)husk_ref_random_below(random, rank), rank);
    params.groups = kind == HUSK_NORM_GROUP ? (uint32_t)TEST_PICK(random, 0, 1, 2, 3, 5) : 0;
    params.training = kind == HUSK_NORM_BATCH && husk_ref_random_below(random, 4) > 0;
    for (int32_t d = 0; d < rank; d++)
        shape[d] = test_pick_size(random, 16, rank > 4 ? 4 : rank > 2 ? 14 : 90);
    if (is_layer && rank <= 3)
        shape[rank - 1] = test_pick_size(random, 64, 300);
    if (params.groups > 1)
        shape[1] = params.groups * (1 + husk_ref_random_below(random, rank > 3 ? 5 : 20));
    if (kind == HUSK_NORM_BATCH && shape[0] < 2)
        shape[0] = 2;
    test_layout layouts[3] = {test_one_in(random, 2) ? TEST_PACKED : test_pick_layout(random)};
    for (int i = 1; i < 3; i++)
        layouts[i] = test_one_in(random, 3) ? test_pick_layout(random) : layouts[0];
    operands o = make_operands(&params, dtype, rank, shape, layouts, random->drawn, 4.0f);
    o.has_scale = !test_one_in(random, 4);
    for (int i = 0; i < GRADIENTS; i++)
        o.wants[i] = !test_one_in(random, 4);
    if (!o.wants[1] && !o.wants[2])
        o.wants[0] = true;
    run_all(&o);
    release_operands(&o);
}

START_TEST(kinds_and_layouts)
{
    husk_ref_random random = {.seed = 900 + (uint64_t)_i};
    const int64_t rounds = test_is_long() ? 60 : 6;
    for (int64_t round = 0; round < rounds; round++)
        random_case(&random, (husk_norm_kind)(_i % 5), HUSK_F32);
}
END_TEST

START_TEST(narrow_dtypes)
{
    husk_ref_random random = {.seed = 1700 + (uint64_t)_i};
    for (int64_t round = 0; round < 16; round++)
        random_case(&random, (husk_norm_kind)(_i % 5), test_dtype(_i / 5 + round));
}
END_TEST

START_TEST(row_lengths)
{
    static const int64_t lengths[] = {1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 65, 1000, 4097, 20011};
    static const test_layout packed[3] = {TEST_PACKED, TEST_PACKED, TEST_PACKED};
    const int64_t shape[] = {lengths[_i] > 5000 ? 2 : 37, lengths[_i]};
    for (int kind = 0; kind < 2; kind++) {
        const husk_norm_params params = husk_norm_defaults((husk_norm_kind)kind);
        operands o = make_operands(&params, HUSK_F32, 2, shape, packed, 3, 3.0f);
        run_all(&o);
        release_operands(&o);
    }
}
END_TEST
enum { LENGTHS = 14 };

// More rows than blocks have at the least, so that many are in one.
START_TEST(many_rows)
{
    static const test_layout packed[3] = {TEST_PACKED, TEST_PACKED, TEST_PACKED};
    const int64_t shape[] = {6001, 33};
    const husk_norm_params params =
        HUSK_MAKE(husk_norm_params, .accumulate = HUSK_ACCUMULATE_ALL, .axis = -1, .epsilon = 1e-5f);
    operands o = make_operands(&params, HUSK_F32, 2, shape, packed, 3, 3.0f);
    run_all(&o);
    release_operands(&o);
}
END_TEST

START_TEST(images)
{
    static const int64_t shapes[][4] = {
        {2, 6, 70, 71}, {3, 600, 5, 7}, {40, 3, 33, 17}, {1, 32, 65, 64}, {70, 520, 1, 1}};
    const test_layout layout = _i % 2 ? TEST_CHANNELS_LAST : TEST_PACKED, layouts[3] = {layout, layout, layout};
    const int64_t *shape = shapes[_i / 2];
    for (int kind = HUSK_NORM_GROUP; kind <= HUSK_NORM_BATCH; kind++) {
        husk_norm_params params = husk_norm_defaults((husk_norm_kind)kind);
        params.groups = kind != HUSK_NORM_GROUP ? 0 : shape[1] % 2 ? 3 : 2;
        params.training = kind == HUSK_NORM_BATCH;
        operands o = make_operands(&params, HUSK_F32, 4, shape, layouts, 3, 3.0f);
        run_all(&o);
        release_operands(&o);
    }
}
END_TEST

// More than the caches of most hold: dx goes past them.
START_TEST(large)
{
    const test_layout layout = _i % 2 ? TEST_CHANNELS_LAST : TEST_PACKED, layouts[3] = {layout, layout, layout};
    const int64_t shape[] = {3, 64, 125, 128};
    const husk_norm_params params =
        _i < 2 ? HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_BATCH, .training = 1, .axis = -1, .epsilon = 1e-5f,
                           .momentum = 0.1f)
               : HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_LAYER, .axis = -1, .epsilon = 1e-5f);
    operands o = make_operands(&params, HUSK_F32, 4, shape, layouts, 4, 3.0f);
    husk_ref_norm_backward op = reference_of(&o);
    test_ok(run(test_queue(), &o, NULL));
    check_gradients(&o, &op, NULL);
    husk_ref_norm_backward_release(&op);
    release_operands(&o);
}
END_TEST

// dbias of errors of one sign, over many sets, many images of two pixels, a block of rows and a large image; dx of a
// group of many channels; and, in the tier long, dbias over so many sets that there are more blocks of them.
START_TEST(many_terms_of_one_sign)
{
    static const int64_t shapes[][4] = {{130000, 40},      {60000, 3, 1, 2}, {2, 16, 32, 32},
                                        {1, 16, 256, 256}, {1, 65536, 1, 1}, {16777216, 2}};
    const bool is_layer = _i % 5 == 0, is_group = _i == 4;
    const husk_norm_params params =
        is_layer   ? HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_LAYER, .axis = -1, .epsilon = 1e-5f)
        : is_group ? HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_GROUP, .groups = 1, .axis = -1, .epsilon = 1e-5f)
                   : HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_BATCH, .training = 1, .axis = -1, .epsilon = 1e-5f,
                               .momentum = 0.1f);
    const test_layout layout = !is_layer && _i >= 2 ? TEST_CHANNELS_LAST : TEST_PACKED;
    const test_layout layouts[3] = {layout, layout, layout};
    const int32_t rank = is_layer ? 2 : 4;
    operands o = make_operands(&params, HUSK_F32, rank, shapes[_i], layouts, 5, 1.0f);
    test_release(&o.dy);
    o.dy = test_input_alike(rank, shapes[_i], layout, is_group ? 1.00191f : is_layer && _i ? 1.0f + 0.49f / 256 : 0.1f);
    if (is_group) {
        for (int64_t c = 0; c < shapes[_i][1]; c++)
            husk_ref_store(&o.x.array, c, c % 2 ? -1.0 : 1.0);
        test_input_update(&o.x);
        save_statistics(&o);
        o.has_scale = false;
    }
    o.wants[0] = !is_layer; // each dx has few terms there
    run_all(&o);
    release_operands(&o);
}
END_TEST

// dx in the place of dy, and of x.
START_TEST(in_place)
{
    static const int64_t shapes[][4] = {{3, 12, 7, 5}, {2, 6, 30, 31}};
    static const test_layout choices[] = {TEST_PACKED, TEST_CHANNELS_LAST, TEST_PADDED};
    for (int which = 0; which < 12; which++) {
        const test_layout layout = choices[which % 3], layouts[3] = {layout, layout, layout};
        const husk_norm_params params =
            HUSK_MAKE(husk_norm_params, .kind = (husk_norm_kind)_i, .training = _i == HUSK_NORM_BATCH, .axis = -1,
                      .epsilon = 1e-5f, .momentum = 0.1f);
        for (int v = 0; v < VARIANTS; v++) {
            operands o = make_operands(&params, HUSK_F32, 4, shapes[which / 6], layouts, 3, 2.0f);
            test_tensor *replaced = which / 3 % 2 ? &o.x : &o.dy;
            test_release(&o.gradients[0]);
            test_release(replaced);
            *replaced = o.gradients[0] = test_inout(4, shapes[which / 6], layout, 9, 2.0f);
            save_statistics(&o);
            if (test_ran(run(test_queue(), &o, variants[v]), "norm_backward", variants[v])) {
                husk_ref_norm_backward op = reference_of(&o);
                check_gradients(&o, &op, variants[v]);
                husk_ref_norm_backward_release(&op);
            }
            replaced->memory = NULL; // dx releases it
            release_operands(&o);
        }
    }
}
END_TEST

// A NaN of dy or x spoils its own set's dx and its own parameters alone.
START_TEST(special_values)
{
    static const test_layout choices[] = {TEST_PACKED, TEST_CHANNELS_LAST, TEST_REVERSED};
    const test_layout layouts[3] = {choices[_i % 3], choices[_i % 3], TEST_PACKED};
    const int64_t shape[] = {4, 8, 5, 9}, at_dy[] = {0, 1, 2, 3}, at_x[] = {3, 4, 0, 7};
    husk_norm_params params = husk_norm_defaults((husk_norm_kind)(_i / 3 % 5));
    params.groups = params.kind == HUSK_NORM_GROUP ? 4 : 0;
    params.training = params.kind == HUSK_NORM_BATCH && _i < 15;
    operands o = make_operands(&params, HUSK_F32, 4, shape, layouts, 3, 2.0f);
    husk_ref_store(&o.dy.array, husk_ref_offset(&o.dy.array, at_dy), NAN);
    husk_ref_store(&o.x.array, husk_ref_offset(&o.x.array, at_x), NAN);
    test_input_update(&o.dy);
    test_input_update(&o.x);
    run_all(&o);
    release_operands(&o);
}
END_TEST

START_TEST(runs_agree)
{
    const test_layout layout = _i % 2 ? TEST_CHANNELS_LAST : TEST_PACKED, layouts[3] = {layout, layout, layout};
    const int64_t shape[] = {4, 48, 31, 37};
    husk_norm_params params = husk_norm_defaults((husk_norm_kind)(_i / 2));
    params.groups = params.kind == HUSK_NORM_GROUP ? 3 : 0;
    params.training = params.kind == HUSK_NORM_BATCH;
    for (int v = 0; v < VARIANTS; v++) {
        operands first = make_operands(&params, HUSK_F32, 4, shape, layouts, 3, 2.0f);
        operands second = make_operands(&params, HUSK_F32, 4, shape, layouts, 3, 2.0f);
        if (test_ran(run(test_queue(), &first, variants[v]), "norm_backward", variants[v]))
            for (int i = 0; i < 9; i++) {
                test_ok(run(test_queue(), &second, variants[v]));
                for (int g = 0; g < GRADIENTS; g++) {
                    test_fetch(&first.gradients[g]);
                    test_fetch(&second.gradients[g]);
                    ck_assert_mem_eq(first.gradients[g].array.data, second.gradients[g].array.data,
                                     (size_t)husk_ref_array_count(&first.gradients[g].array) * sizeof(float));
                }
            }
        release_operands(&first);
        release_operands(&second);
    }
}
END_TEST

// What is not there has no dx, and the parameters' gradients are sums over nothing.
START_TEST(nothing)
{
    static const int64_t shapes[][3] = {{0, 6, 3}, {3, 0, 5}, {2, 4, 0}};
    static const test_layout packed[3] = {TEST_PACKED, TEST_PACKED, TEST_PACKED};
    for (int which = 0; which < 30; which++) {
        const husk_norm_params params = HUSK_MAKE(
            husk_norm_params, .kind = (husk_norm_kind)(which / 6), .training = which / 6 == HUSK_NORM_BATCH,
            .accumulate = which % 2 ? HUSK_ACCUMULATE_ALL : 0, .axis = -1, .epsilon = 1e-5f, .momentum = 0.1f);
        operands o = make_operands(&params, HUSK_F32, 3, shapes[which / 2 % 3], packed, 3, 2.0f);
        test_ok(run(test_queue(), &o, NULL));
        husk_ref_norm_backward op = reference_of(&o);
        if (params.accumulate)
            for (int i = 0; i < GRADIENTS; i++)
                test_untouched(&o.gradients[i]);
        else
            check_gradients(&o, &op, NULL);
        husk_ref_norm_backward_release(&op);
        release_operands(&o);
    }
}
END_TEST

typedef struct checked {
    husk_ref_norm_backward op;
    husk_ref_norm_gradient gradient;
} checked;

static void check_one(void *user, const husk_ref_array *array, husk_ref_report *report)
{
    const checked *own = user;
    const husk_ref_norm_backward_question question = {.op = &own->op, .gradient = own->gradient};
    const husk_ref_function function = husk_ref_norm_backward_function(&question);
    husk_ref_check(&function, 1, array, report);
}

START_TEST(the_check_sees_mistakes)
{
    static const test_layout layouts[3] = {TEST_PACKED, TEST_PACKED, TEST_PADDED};
    const int64_t shape[] = {3, 8, 5, 6};
    for (int kind = 0; kind < 5; kind++) {
        const husk_norm_params params =
            HUSK_MAKE(husk_norm_params, .kind = (husk_norm_kind)kind, .training = kind == HUSK_NORM_BATCH, .axis = -1,
                      .epsilon = 1e-5f, .momentum = 0.1f);
        operands o = make_operands(&params, HUSK_F32, 4, shape, layouts, 3, 2.0f);
        test_ok(run(test_queue(), &o, NULL));
        for (int i = 0; i < GRADIENTS; i++) {
            checked own = {.op = reference_of(&o), .gradient = (husk_ref_norm_gradient)i};
            const husk_ref_norm_backward_question question = {.op = &own.op, .gradient = own.gradient};
            const husk_ref_function function = husk_ref_norm_backward_function(&question);
            test_fetch(&o.gradients[i]);
            test_planted(&function, &o.gradients[i].array, check_one, &own);
            test_planted_guards(&o.gradients[i]);
            husk_ref_norm_backward_release(&own.op);
        }
        release_operands(&o);
    }
}
END_TEST

enum { ARGUMENTS = 8 };
static const char *const argument_names[] = {"x", "scale", "mean", "rstd", "dy", "dx", "dscale", "dbias"};

static void list_arguments(const operands *o, const husk_tensor *list[ARGUMENTS])
{
    const husk_tensor *const all[] = {
        &o->x.tensor,  &o->scale.tensor,        &o->mean.tensor,         &o->rstd.tensor,
        &o->dy.tensor, &o->gradients[0].tensor, &o->gradients[1].tensor, &o->gradients[2].tensor};
    for (int i = 0; i < ARGUMENTS; i++)
        list[i] = all[i];
}

// One argument after another is spoilt; which: its place in the call.
static void spoil(const operands *o, int which, const husk_tensor *with, husk_status wanted, const char *argument)
{
    const husk_tensor *all[ARGUMENTS];
    list_arguments(o, all);
    all[which] = with;
    test_refused(husk_norm_backward(test_silent_queue(), &o->params, all[0], all[1], all[2], all[3], all[4], all[5],
                                    all[6], all[7]),
                 wanted, argument);
}

START_TEST(bad_tensors)
{
    static const test_layout packed[3] = {TEST_PACKED, TEST_PACKED, TEST_PACKED};
    const int64_t shape[] = {4, 6, 5}, other[] = {4, 5, 6}, channels[] = {7};
    const husk_norm_params params = HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_BATCH, .training = 1, .axis = -1,
                                              .epsilon = 1e-5f, .momentum = 0.1f);
    operands o = make_operands(&params, HUSK_F32, 3, shape, packed, 3, 1.0f);
    test_tensor turned = test_output(HUSK_F32, 3, other, TEST_PACKED);
    test_tensor longer = test_output(HUSK_F32, 1, channels, TEST_PACKED);
    test_tensor whole = test_output(HUSK_I32, 3, shape, TEST_PACKED);
    test_tensor whole_channels = test_output(HUSK_I32, 1, channels, TEST_PACKED);
    const husk_tensor *good[ARGUMENTS];
    list_arguments(&o, good);
    for (int i = 0; i < ARGUMENTS; i++) {
        const bool is_large = i == 0 || i == 4 || i == 5;
        if (i == 0 || i == 2 || i == 3 || i == 4)
            spoil(&o, i, NULL, HUSK_INVALID_ARGUMENT, argument_names[i]);
        spoil(&o, i, is_large ? &whole.tensor : &whole_channels.tensor, HUSK_UNSUPPORTED, argument_names[i]);
        if (i > 0)
            spoil(&o, i, is_large ? &turned.tensor : &longer.tensor, HUSK_INVALID_ARGUMENT, argument_names[i]);
        husk_tensor bad = *good[i];
        bad.buffer = NULL;
        spoil(&o, i, &bad, HUSK_INVALID_ARGUMENT, argument_names[i]);
        bad = *good[i];
        bad.offset += 100000; // past the buffer's end
        spoil(&o, i, &bad, HUSK_INVALID_ARGUMENT, argument_names[i]);
        bad = *good[i];
        bad.shape[0] = -4;
        spoil(&o, i, &bad, HUSK_INVALID_ARGUMENT, argument_names[i]);
        bad = *good[i];
        bad.strides[0] = is_large ? 3 : 2;
        bad.strides[1] = is_large ? 3 : 0;
        bad.strides[2] = is_large ? 1 : 0;
        if (!is_large || i == 5) // inputs may have any strides
            spoil(&o, i, &bad, HUSK_INVALID_ARGUMENT, argument_names[i]);
    }
    for (int i = 1; i < 4; i++) // memory of an input
        spoil(&o, 6, good[i], HUSK_INVALID_ARGUMENT, "dscale");
    spoil(&o, 7, good[6], HUSK_INVALID_ARGUMENT, "dscale");
    husk_tensor shifted = o.x.tensor; // in x's place, but not quite
    shifted.shape[0] = 3;
    shifted.offset += 6;
    husk_tensor short_x = o.x.tensor, short_dy = o.dy.tensor;
    short_x.shape[0] = short_dy.shape[0] = 3;
    test_refused(husk_norm_backward(test_silent_queue(), &params, &short_x, NULL, good[2], good[3], &short_dy, &shifted,
                                    NULL, NULL),
                 HUSK_INVALID_ARGUMENT, "dx");
    operands adds = o;
    adds.params.accumulate = HUSK_ACCUMULATE_INPUTS;
    spoil(&adds, 5, good[4], HUSK_INVALID_ARGUMENT, "dx"); // added to, it cannot take dy's place
    for (int i = 0; i < GRADIENTS; i++)
        test_untouched(&o.gradients[i]);
    test_release(&turned);
    test_release(&longer);
    test_release(&whole);
    test_release(&whole_channels);
    release_operands(&o);
}
END_TEST

START_TEST(bad_params)
{
    static const test_layout packed[3] = {TEST_PACKED, TEST_PACKED, TEST_PACKED};
    const int64_t shape[] = {4, 6, 5};
    const husk_norm_params good = HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_BATCH, .training = 1, .axis = -1,
                                            .epsilon = 1e-5f, .momentum = 0.1f);
    operands o = make_operands(&good, HUSK_F32, 3, shape, packed, 3, 1.0f);
#define BAD(argument, ...)                                                                 \
    do {                                                                                   \
        o.params = HUSK_MAKE(husk_norm_params, __VA_ARGS__);                               \
        test_refused(run(test_silent_queue(), &o, NULL), HUSK_INVALID_ARGUMENT, argument); \
    } while (0)
    BAD("kind", .kind = (husk_norm_kind)9);
    BAD("epsilon", .kind = HUSK_NORM_BATCH, .training = 1, .epsilon = -3.0f);
    BAD("momentum", .kind = HUSK_NORM_BATCH, .training = 1, .momentum = 2.0f);
    BAD("accumulate", .kind = HUSK_NORM_BATCH, .training = 1, .accumulate = 8);
    BAD("axis is 3, must be -3 to 2", .kind = HUSK_NORM_LAYER, .axis = 3);
    BAD("groups", .kind = HUSK_NORM_GROUP, .groups = 4);
    o.has_scale = false; // which is of another shape then
    BAD("mean", .kind = HUSK_NORM_RMS);
#undef BAD
    o.params = good;
    o.params.size = 4096;
    test_refused(run(test_silent_queue(), &o, NULL), HUSK_INVALID_ARGUMENT, "params");
    o.params = good;
    test_refused(run(test_silent_queue(), &o, "row"), HUSK_INVALID_ARGUMENT, "row");
    for (int i = 0; i < GRADIENTS; i++) {
        o.wants[i] = false;
        test_untouched(&o.gradients[i]);
    }
    test_refused(run(test_silent_queue(), &o, NULL), HUSK_INVALID_ARGUMENT, "dx");
    ck_assert_int_eq(run(NULL, &o, NULL), HUSK_INVALID_ARGUMENT);
    release_operands(&o);
}
END_TEST

START_TEST(enough_configurations)
{
    ck_assert_msg(test_executed("norm_backward") >= 300, "only %ld configurations were executed",
                  test_executed("norm_backward"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("norm_backward");
    TCase *tests = tcase_create("norm_backward");
    if (test_tier_is("dtypes")) {
        tcase_add_loop_test(tests, narrow_dtypes, 0, 10);
        suite_add_tcase(suite, tests);
        return test_main(suite);
    }
    tcase_add_loop_test(tests, finite_differences, 0, DIFFERENCES);
    tcase_add_loop_test(tests, kinds_and_layouts, 0, 15);
    tcase_add_loop_test(tests, row_lengths, 0, LENGTHS);
    tcase_add_test(tests, many_rows);
    tcase_add_loop_test(tests, images, 0, 10);
    tcase_add_loop_test(tests, large, 0, 3);
    tcase_add_loop_test(tests, many_terms_of_one_sign, 0, test_is_long() ? 6 : 5);
    tcase_add_loop_test(tests, in_place, 0, 5);
    tcase_add_loop_test(tests, special_values, 0, 18);
    tcase_add_loop_test(tests, runs_agree, 0, 10);
    tcase_add_test(tests, nothing);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_tensors);
    tcase_add_test(tests, bad_params);
    tcase_add_test(tests, enough_configurations);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
