// SPDX-License-Identifier: MIT
// norm kind=layer|rms|group|instance|batch n c [h w groups training layout dtype dir]
//
// dir=bwd computes dx, dscale and dbias. saved: mean (or the running one) and 1 / deviation (the running variance).
#include <math.h>
#include <stdio.h>

#include "cases/array.h"
#include "cases/op.h"
#include "common/text.h"
#include "ref/norm/norm.h"
#include "ref/random.h"

static const bench_choice kind_choices[] = {{"layer", HUSK_NORM_LAYER}, {"rms", HUSK_NORM_RMS},
                                            {"group", HUSK_NORM_GROUP}, {"instance", HUSK_NORM_INSTANCE},
                                            {"batch", HUSK_NORM_BATCH}, {NULL, 0}};

static const bench_field fields[] = {
    BENCH_CHOICE("kind", as.norm.kind, HUSK_NORM_LAYER, kind_choices, "what is normalised together"),
    BENCH_REQUIRED("n", as.norm.n, 1, "rows (layer, rms) or images"),
    BENCH_REQUIRED("c", as.norm.c, 1, "length of a row, or channels"),
    BENCH_INTEGER("h", as.norm.h, 0, 0, "image height; left out for rows"),
    BENCH_INTEGER("w", as.norm.w, 0, 0, "image width"),
    BENCH_INTEGER("groups", as.norm.groups, 1, 1, "group: groups of channels"),
    BENCH_CHOICE("training", as.norm.training, 0, bench_flag_choices, "1: batch with statistics of x"),
    {.key = NULL},
};

static bool is_trailing(const bench_norm *p)
{
    return p->kind == HUSK_NORM_LAYER || p->kind == HUSK_NORM_RMS;
}

static bool is_backward(const bench_case *c)
{
    return c->dir == BENCH_BWD;
}

static bool normalise(bench_case *c, char reason[BENCH_REASON_TEXT])
{
    const bench_norm *p = &c->as.norm;
    if ((p->h == 0) != (p->w == 0))
        return bench_explain(reason, BENCH_REASON_TEXT, "h and w go together");
    if (is_trailing(p) && p->h)
        return bench_explain(reason, BENCH_REASON_TEXT, "kind=layer and kind=rms have rows: n and c alone");
    if (p->groups != 1 && (p->kind != HUSK_NORM_GROUP || p->c % p->groups))
        return bench_explain(reason, BENCH_REASON_TEXT, "groups goes with kind=group and must divide c");
    if (p->training && p->kind != HUSK_NORM_BATCH)
        return bench_explain(reason, BENCH_REASON_TEXT, "training=1 goes with kind=batch alone");
    if (p->training && p->n == 1 && p->h <= 1 && p->w <= 1)
        return bench_explain(reason, BENCH_REASON_TEXT, "training=1 needs two elements a channel");
    return true;
}

static double elements(const bench_case *c)
{
    const bench_norm *p = &c->as.norm;
    return (double)p->n * (double)p->c * (p->h ? (double)p->h * (double)p->w : 1);
}

// A few operations an element: sums, differences, squares; the gradients have two sums of products and three terms.
static double flops(const bench_case *c)
{
    return (is_backward(c) ? 12 : 7) * elements(c);
}

static double bytes(const bench_case *c)
{
    return (is_backward(c) ? 12 : 8) * elements(c);
}

// Statistics have the shape that the operator wants: [n, groups], [n, c], [c] or [n].
static int32_t statistics_shape(const bench_norm *p, int64_t shape[2])
{
    const bool is_by_image = p->kind == HUSK_NORM_GROUP || p->kind == HUSK_NORM_INSTANCE;
    shape[0] = p->kind == HUSK_NORM_BATCH ? p->c : p->n;
    shape[1] = p->kind == HUSK_NORM_GROUP ? p->groups : p->c;
    return is_by_image ? 2 : 1;
}

// Means around zero, and what multiplies (or variances) around one.
static bool make_statistics(const bench_case *c, bench_data *data, uint64_t seed)
{
    int64_t shape[2];
    const int32_t rank = statistics_shape(&c->as.norm, shape);
    if (!bench_array_make(&data->saved[0], HUSK_F32, rank, shape, NULL) ||
        !bench_array_make(&data->saved[1], HUSK_F32, rank, shape, NULL))
        return false;
    bench_array_fill(&data->saved[0], seed, 0.5f);
    bench_array_fill(&data->saved[1], seed + 1, 0.5f);
    float *values = data->saved[1].data;
    for (int64_t i = 0; i < data->saved[1].count; i++)
        values[i] = 0.5f + fabsf(values[i]);
    return true;
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const bench_norm *p = &c->as.norm;
    const int64_t shape[4] = {p->n, p->c, p->h, p->w};
    const int32_t rank = p->h ? 4 : 2;
    if (!bench_array_make_layout(&data->x, c->layout, rank, shape) ||
        !bench_array_make_layout(&data->y, c->layout, rank, shape) ||
        !bench_array_make(&data->w, HUSK_F32, 1, &p->c, NULL) ||
        !bench_array_make(&data->bias, HUSK_F32, 1, &p->c, NULL))
        return false;
    bench_array_fill(&data->x, seed, 4);
    bench_array_fill(&data->w, seed + 1, 2);
    bench_array_fill(&data->bias, seed + 2, 1);
    if (is_backward(c)) {
        if (!bench_array_make_layout(&data->dy, c->layout, rank, shape))
            return false;
        bench_array_fill(&data->dy, seed + 3, 1);
    }
    const bool are_given = is_backward(c) || (p->kind == HUSK_NORM_BATCH && !p->training);
    return !are_given || make_statistics(c, data, seed + 4);
}

static bool make_output(const bench_case *c, const bench_data *data, bench_output *output)
{
    return !is_backward(c) || (bench_array_make(&output->gradients[0], HUSK_F32, 1, data->w.shape, NULL) &&
                               bench_array_make(&output->gradients[1], HUSK_F32, 1, data->w.shape, NULL));
}

static husk_norm_params params_of(const bench_case *c, const char *variant)
{
    const bench_norm *p = &c->as.norm;
    husk_norm_params params = husk_norm_defaults((husk_norm_kind)p->kind);
    params.groups = p->kind == HUSK_NORM_GROUP ? (uint32_t)p->groups : 0;
    params.training = (uint32_t)p->training;
    params.variant = variant;
    return params;
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    const husk_norm_params params = params_of(job->c, job->form);
    const bool is_rms = params.kind == HUSK_NORM_RMS;
    if (is_backward(job->c))
        return husk_norm_backward(job->queue, &params, &set->x, &set->w, is_rms ? NULL : &set->saved[0], &set->saved[1],
                                  &set->dy, &set->y, &set->gradients[0], &set->gradients[1]);
    return husk_norm(job->queue, &params, &set->x, &set->w, &set->bias, bench_optional(&set->saved[0]),
                     bench_optional(&set->saved[1]), &set->y, NULL, NULL);
}

static void verify_backward(const bench_case *c, const bench_data *data, const bench_output *output,
                            const bench_verify_options *options, bench_verdict *verdict)
{
    static const char *const names[] = {"dx", "dscale", "dbias"};
    const husk_norm_params params = params_of(c, NULL);
    const husk_ref_array x = bench_ref_array(&data->x), scale = bench_ref_array(&data->w);
    const husk_ref_array dy = bench_ref_array(&data->dy), mean = bench_ref_array(&data->saved[0]),
                         rstd = bench_ref_array(&data->saved[1]);
    const husk_ref_array made[] = {bench_ref_array(&output->y), bench_ref_array(&output->gradients[0]),
                                   bench_ref_array(&output->gradients[1])};
    husk_ref_norm_backward op = {.params = &params, .x = &x, .scale = &scale, .rstd = &rstd, .dy = &dy};
    op.mean = params.kind == HUSK_NORM_RMS ? NULL : &mean;
    if (!husk_ref_norm_backward_prepare(&op)) {
        bench_verdict_unchecked(verdict);
        return;
    }
    for (int i = 0; i < 3; i++) {
        const husk_ref_norm_backward_question question = {.op = &op, .gradient = (husk_ref_norm_gradient)i};
        const husk_ref_function function = husk_ref_norm_backward_function(&question);
        husk_ref_report report = {0};
        husk_ref_check(&function, options->seed, &made[i], &report);
        bench_verdict_add(verdict, names[i], &report);
    }
    husk_ref_norm_backward_release(&op);
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    if (is_backward(c)) {
        verify_backward(c, data, output, options, verdict);
        return;
    }
    const husk_norm_params params = params_of(c, NULL);
    const husk_ref_array x = bench_ref_array(&data->x), y = bench_ref_array(&output->y);
    const husk_ref_array scale = bench_ref_array(&data->w), bias = bench_ref_array(&data->bias);
    const husk_ref_array mean = bench_ref_array(&data->saved[0]), variance = bench_ref_array(&data->saved[1]);
    husk_ref_norm op = {.params = &params, .x = &x, .scale = &scale, .bias = &bias};
    op.running_mean = data->saved[0].data ? &mean : NULL;
    op.running_variance = data->saved[0].data ? &variance : NULL;
    if (!husk_ref_norm_prepare(&op)) {
        bench_verdict_unchecked(verdict);
        return;
    }
    const husk_ref_norm_question question = {.op = &op, .output = HUSK_REF_NORM_Y};
    const husk_ref_function function = husk_ref_norm_function(&question);
    husk_ref_report report = {0};
    husk_ref_check(&function, options->seed, &y, &report);
    husk_ref_norm_release(&op);
    bench_verdict_add(verdict, "y", &report);
}

static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int lengths[] = {2, 3, 15, 16, 17, 63, 64, 65, 100, 256, 1000, 4099};
    if (index >= 60)
        return false;
    husk_ref_random draw = {.seed = 0x6e6f726d + (uint64_t)index};
#define BELOW(limit) ((int)husk_ref_random_below(&draw, limit))
    const int kind = (int)(index % 5), groups = 1 + BELOW(4);
    if (kind < 2) {
        snprintf(line, BENCH_CASE_TEXT, "norm kind=%s n=%d c=%d", husk_norm_kind_name((husk_norm_kind)kind),
                 1 + BELOW(40), lengths[BELOW(12)]);
    } else {
        snprintf(line, BENCH_CASE_TEXT, "norm kind=%s n=%d c=%d h=%d w=%d", husk_norm_kind_name((husk_norm_kind)kind),
                 1 + BELOW(4), groups * (1 + BELOW(12)), 2 + BELOW(20), 1 + BELOW(30));
        if (kind == HUSK_NORM_GROUP && groups > 1)
            bench_append(line, BENCH_CASE_TEXT, " groups=%d", groups);
        if (kind == HUSK_NORM_BATCH && BELOW(3))
            bench_append(line, BENCH_CASE_TEXT, " training=1");
        if (BELOW(2))
            bench_append(line, BENCH_CASE_TEXT, " layout=nhwc");
    }
    if (index >= 30)
        bench_append(line, BENCH_CASE_TEXT, " dir=bwd");
#undef BELOW
    return true;
}

const bench_op bench_op_norm = {
    .name = "norm",
    .gradients = {[BENCH_BWD] = "norm_backward"},
    .fields = fields,
    .common = BENCH_COMMON_LAYOUT | BENCH_COMMON_DTYPE | BENCH_COMMON_DIR,
    .normalise = normalise,
    .flops = flops,
    .bytes = bytes,
    .is_bandwidth = true,
    .make_data = make_data,
    .make_output = make_output,
    .husk_enqueue = husk_enqueue,
    .verify = verify,
    .generate = generate,
};
