// SPDX-License-Identifier: MIT
// reduce outer axis [inner kind ends dtype dir]
#include <math.h>
#include <stdio.h>

#include "cases/array.h"
#include "cases/op.h"
#include "common/text.h"
#include "ref/random.h"
#include "ref/reduce/reduce.h"

static const bench_choice kind_choices[] = {
#define KIND_CHOICE(name, number, text) {text, number},
    HUSK_REDUCE_LIST(KIND_CHOICE)
#undef KIND_CHOICE
        {NULL, 0},
};

static const bench_field fields[] = {
    BENCH_REQUIRED("outer", as.reduce.outer, 0, "extent before the axis"),
    BENCH_REQUIRED("axis", as.reduce.axis, 1, "extent of the axis"),
    BENCH_INTEGER("inner", as.reduce.inner, 1, 0, "extent after the axis"),
    BENCH_CHOICE("kind", as.reduce.kind, HUSK_REDUCE_SUM, kind_choices, "sum, mean, max, argmax ..."),
    BENCH_CHOICE("ends", as.reduce.ends, 0, bench_flag_choices, "1: the axis is kept, the two others are reduced"),
    {.key = NULL},
};

static double elements(const bench_case *c)
{
    return (double)c->as.reduce.outer * (double)c->as.reduce.axis * (double)c->as.reduce.inner;
}

static double results(const bench_case *c)
{
    const bench_reduce *r = &c->as.reduce;
    return r->ends ? (double)r->axis : (double)r->outer * (double)r->inner;
}

static double flops(const bench_case *c)
{
    return elements(c);
}

static bool reads_x(const bench_case *c)
{
    return c->as.reduce.kind != HUSK_REDUCE_SUM && c->as.reduce.kind != HUSK_REDUCE_MEAN;
}

static bool is_position(const bench_case *c)
{
    return c->as.reduce.kind == HUSK_REDUCE_ARGMAX || c->as.reduce.kind == HUSK_REDUCE_ARGMIN;
}

// Positions are i32 whatever x is.
static double bytes(const bench_case *c)
{
    const double size = bench_case_element(c);
    if (c->dir != BENCH_FWD)
        return size * (elements(c) * (reads_x(c) ? 2 : 1) + results(c));
    return size * elements(c) + (is_position(c) ? 4 : size) * results(c);
}

static bool normalise(bench_case *c, char reason[BENCH_REASON_TEXT])
{
    const bench_reduce *r = &c->as.reduce;
    if (c->dir != BENCH_FWD && (r->kind == HUSK_REDUCE_ARGMAX || r->kind == HUSK_REDUCE_ARGMIN))
        return bench_explain(reason, BENCH_REASON_TEXT, "%s has no gradient",
                             husk_reduce_kind_name((husk_reduce_kind)r->kind));
    const bool is_empty = r->ends && (r->outer == 0 || r->inner == 0);
    if (is_empty && r->kind >= HUSK_REDUCE_MAX && r->kind <= HUSK_REDUCE_ARGMIN)
        return bench_explain(reason, BENCH_REASON_TEXT, "there is no %s of nothing",
                             husk_reduce_kind_name((husk_reduce_kind)r->kind));
    return true;
}

static husk_reduce_params params_of(const bench_case *c, const char *variant)
{
    husk_reduce_params params = HUSK_REDUCE_PARAMS(.kind = (husk_reduce_kind)c->as.reduce.kind, .variant = variant);
    params.axis_count = c->as.reduce.ends ? 2 : 1;
    params.axes[0] = c->as.reduce.ends ? 0 : 1;
    params.axes[1] = c->as.reduce.ends ? 2 : 0;
    return params;
}

// Factors of both signs about 1, the nearer the more there are: however long the axis, products are of ordinary size.
static void make_factors(const bench_reduce *r, bench_array *x)
{
    const double count = r->ends ? (double)r->outer * (double)r->inner : (double)r->axis;
    const double spread = fmin(0.5, 4 / sqrt(fmax(count, 1)));
    float *values = x->data;
    for (int64_t i = 0; i < x->count; i++) {
        const double drawn = (double)values[i];
        values[i] = (float)copysign(1 + spread * (2 * fabs(drawn) - 1), drawn);
    }
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const bench_reduce *r = &c->as.reduce;
    const int64_t shape[3] = {r->outer, r->axis, r->inner}, ends[1] = {r->axis}, sides[2] = {r->outer, r->inner};
    const husk_dtype dtype = is_position(c) ? HUSK_I32 : HUSK_F32;
    const int32_t rank = r->ends ? 1 : 2;
    const int64_t *results_shape = r->ends ? ends : sides;
    if (!bench_array_make(&data->x, HUSK_F32, 3, shape, NULL))
        return false;
    bench_array_fill(&data->x, seed, r->kind == HUSK_REDUCE_PRODUCT ? 1.0f : 1.5f);
    if (r->kind == HUSK_REDUCE_PRODUCT)
        make_factors(r, &data->x);
    if (c->dir == BENCH_FWD)
        return bench_array_make(&data->y, dtype, rank, results_shape, NULL);
    if (!bench_array_make(&data->y, HUSK_F32, 3, shape, NULL) ||
        !bench_array_make(&data->dy, HUSK_F32, rank, results_shape, NULL) ||
        !bench_array_make(&data->saved[0], HUSK_F32, rank, results_shape, NULL))
        return false;
    bench_array_fill(&data->dy, seed + 1, 1);
    husk_reduce_params params = params_of(c, NULL);
    husk_ref_array x = bench_ref_array(&data->x), y = bench_ref_array(&data->saved[0]);
    husk_ref_reduce op = {.params = &params, .x = &x};
    husk_ref_reduce_run(&op, &y);
    return true;
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    husk_reduce_params params = params_of(job->c, job->form);
    if (job->c->dir != BENCH_FWD)
        return husk_reduce_backward(job->queue, &params, &set->x, &set->saved[0], &set->dy, &set->y);
    return husk_reduce(job->queue, &params, &set->x, &set->y);
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    husk_reduce_params params = params_of(c, NULL);
    husk_ref_array x = bench_ref_array(&data->x), y = bench_ref_array(&output->y);
    husk_ref_reduce op = {.params = &params, .x = &x};
    husk_ref_function function = husk_ref_reduce_function(&op);
    husk_ref_report report = {0};
    husk_ref_array forward_y = bench_ref_array(&data->saved[0]), dy = bench_ref_array(&data->dy);
    husk_ref_reduce_backward back = {.params = &params, .x = &x, .y = &forward_y, .dy = &dy};
    if (c->dir != BENCH_FWD) {
        husk_ref_reduce_backward_prepare(&back); // without it slower, not wrong
        function = husk_ref_reduce_backward_function(&back);
    }
    husk_ref_check(&function, options->seed, &y, &report);
    husk_ref_reduce_backward_release(&back);
    bench_verdict_add(verdict, "y", &report);
}

static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int axes[] = {1, 2, 3, 15, 16, 17, 63, 64, 65, 100, 255, 256, 257, 1000, 1024, 4099};
    static const int inners[] = {1, 1, 1, 2, 7, 16, 33};
    if (index >= 60)
        return false;
    husk_ref_random draw = {.seed = 0x72656475 + (uint64_t)index};
    int axis = axes[husk_ref_random_below(&draw, 16)], inner = inners[husk_ref_random_below(&draw, 7)];
    int outer = 1 + (int)husk_ref_random_below(&draw, 20), ends = (int)husk_ref_random_below(&draw, 2);
    husk_reduce_kind kind = (husk_reduce_kind)(index % (HUSK_REDUCE_LOG_SUM_EXP + 1));
    const bool is_back = index >= 40 && kind != HUSK_REDUCE_ARGMAX && kind != HUSK_REDUCE_ARGMIN;
    snprintf(line, BENCH_CASE_TEXT, "reduce outer=%d axis=%d inner=%d kind=%s ends=%d dir=%s", outer, axis, inner,
             husk_reduce_kind_name(kind), ends, is_back ? "bwd" : "fwd");
    return true;
}

const bench_op bench_op_reduce = {
    .name = "reduce",
    .fields = fields,
    .common = BENCH_COMMON_DTYPE | BENCH_COMMON_DIR,
    .normalise = normalise,
    .flops = flops,
    .bytes = bytes,
    .is_bandwidth = true,
    .narrows = true,
    .make_data = make_data,
    .husk_enqueue = husk_enqueue,
    .verify = verify,
    .generate = generate,
    .gradients = {[BENCH_BWD] = "reduce_backward"},
};
