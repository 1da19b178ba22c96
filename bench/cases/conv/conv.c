// SPDX-License-Identifier: MIT
// conv n c h w k r s [d t (3-D) stride pad dilation groups bias act layout dtype packed dir]
#include <stdio.h>
#include <string.h>

#include "cases/array.h"
#include "cases/op.h"
#include "cases/space.h"
#include "cases/touched.h"
#include "ref/conv/conv.h"
#include "ref/freivalds.h"
#include "ref/random.h"

static const bench_field fields[] = {
    BENCH_INTEGER("n", as.conv.n, 1, 0, "images"),
    BENCH_REQUIRED("c", as.conv.c, 0, "input channels"),
    BENCH_INTEGER("d", as.conv.d, 0, 0, "input depth, for three dimensions"),
    BENCH_INTEGER("h", as.conv.h, 0, 0, "input height; left out for one dimension"),
    BENCH_REQUIRED("w", as.conv.w, 1, "input width"),
    BENCH_REQUIRED("k", as.conv.k, 0, "output channels"),
    BENCH_INTEGER("t", as.conv.t, 0, 0, "filter depth"),
    BENCH_INTEGER("r", as.conv.r, 0, 0, "filter height"),
    BENCH_REQUIRED("s", as.conv.s, 1, "filter width"),
    BENCH_LIST("stride", as.conv.stride, 1, 1, "steps of the filter"),
    BENCH_PAD("pad", as.conv.pad, as.conv.pad_end, "zeros around: 1, 1x2, or BEGIN:END"),
    BENCH_LIST("dilation", as.conv.dilation, 1, 1, "distance of filter elements"),
    BENCH_INTEGER("groups", as.conv.groups, 1, 1, "groups of channels; c for depthwise"),
    BENCH_CHOICE("bias", as.conv.bias, 0, bench_flag_choices, "1: one a channel is added"),
    {.key = NULL},
};

static int64_t space(const bench_case *c, char reason[BENCH_REASON_TEXT])
{
    const bench_conv *v = &c->as.conv;
    return bench_space_count(v->d, v->h, (int64_t[]){v->t, v->r, v->s}, true, reason);
}

static void resolve(bench_case *c)
{
    char ignored[BENCH_REASON_TEXT];
    bench_conv *v = &c->as.conv;
    v->space = space(c, ignored);
    bench_space_list(v->space, v->d, v->h, v->w, v->in);
    bench_space_list(v->space, v->t, v->r, v->s, v->filter);
    for (int64_t i = 0; i < 3; i++) {
        v->out[i] = 1;
        if (i >= v->space)
            continue;
        int64_t padded = v->in[i] + v->pad[i] + v->pad_end[i];
        v->out[i] = (padded - bench_window_extent(v->filter[i], v->dilation[i])) / v->stride[i] + 1;
    }
}

static bool normalise(bench_case *c, char reason[BENCH_REASON_TEXT])
{
    bench_conv *v = &c->as.conv;
    if (v->c % v->groups || v->k % v->groups)
        return bench_explain(reason, BENCH_REASON_TEXT, "c=%lld and k=%lld must be multiples of groups=%lld",
                             (long long)v->c, (long long)v->k, (long long)v->groups);
    if (c->dir != BENCH_FWD && (c->act != HUSK_ACT_NONE || c->packed))
        return bench_explain(reason, BENCH_REASON_TEXT, "gradients take no activation and no packed weights");
    if (c->dir == BENCH_BWD_DATA && v->bias)
        return bench_explain(reason, BENCH_REASON_TEXT, "the gradient by the data has no bias");
    bench_case trial = *c;
    resolve(&trial);
    const bench_conv *t = &trial.as.conv;
    for (int64_t i = 0; i < t->space; i++) {
        int64_t padded = t->in[i] + t->pad[i] + t->pad_end[i];
        if (bench_window_extent(t->filter[i], t->dilation[i]) > padded)
            return bench_explain(reason, BENCH_REASON_TEXT, "the filter is larger than the padded input");
    }
    return true;
}

static double product3(const int64_t list[3])
{
    return (double)list[0] * (double)list[1] * (double)list[2];
}

static double macs(const bench_case *c)
{
    const bench_conv *v = &c->as.conv;
    double channels = (double)v->c / (double)v->groups;
    return (double)v->n * (double)v->k * product3(v->out) * channels * product3(v->filter);
}

static double flops(const bench_case *c)
{
    return 2 * macs(c);
}

static double weights(const bench_conv *v)
{
    return (double)v->k * (double)v->c / (double)v->groups * product3(v->filter) + (v->bias ? (double)v->k : 0);
}

// So many positions of x's image; the weights and a bias, and the outputs.
static double bytes_with(const bench_case *c, double positions)
{
    const bench_conv *v = &c->as.conv;
    double x = (double)v->n * (double)v->c * positions;
    double y = (double)v->n * (double)v->k * product3(v->out);
    return bench_case_element(c) * (x + weights(v) + y);
}

// What no window touches need not be read, and nothing where there are no outputs; gradients are written whole.
static double bytes(const bench_case *c)
{
    const bench_conv *v = &c->as.conv;
    if (v->n == 0 || v->k == 0)
        return bench_case_element(c) * (c->dir == BENCH_BWD_DATA     ? (double)v->n * (double)v->c * product3(v->in)
                                        : c->dir == BENCH_BWD_WEIGHT ? weights(v)
                                                                     : 0);
    const double channels = c->layout == BENCH_NHWC ? (double)v->c : 1;
    const bench_windows windows = {.space = v->space,
                                   .in = v->in,
                                   .window = v->filter,
                                   .stride = v->stride,
                                   .pad = v->pad,
                                   .dilation = v->dilation,
                                   .out = v->out,
                                   .apart = bench_case_element(c) * channels};
    return bytes_with(c, c->dir == BENCH_BWD_DATA ? product3(v->in) : bench_touched(&windows));
}

static double operands(const bench_case *c)
{
    return bytes_with(c, product3(c->as.conv.in));
}

// The gradients: one at a time, which takes y's place; dy has forward's shape of y.
static bool make_backward(const bench_case *c, bench_data *data, uint64_t seed, int32_t rank, const int64_t *x,
                          const int64_t *w, const int64_t *y)
{
    const bool is_data = c->dir == BENCH_BWD_DATA;
    if (!bench_array_make_layout(&data->dy, c->layout, rank, y))
        return false;
    bench_array_fill(&data->dy, seed + 3, 1);
    if (is_data) {
        if (!bench_array_make(&data->w, HUSK_F32, rank, w, NULL) ||
            !bench_array_make_layout(&data->y, c->layout, rank, x))
            return false;
        bench_array_fill(&data->w, seed + 1, 1);
        return true;
    }
    if (!bench_array_make_layout(&data->x, c->layout, rank, x) || !bench_array_make(&data->y, HUSK_F32, rank, w, NULL))
        return false;
    bench_array_fill(&data->x, seed, 1);
    return true;
}

// The bias' gradient comes with the weights'.
static bool make_output(const bench_case *c, const bench_data *data, bench_output *output)
{
    (void)data;
    return c->dir != BENCH_BWD_WEIGHT || !c->as.conv.bias ||
           bench_array_make(&output->gradients[0], HUSK_F32, 1, &c->as.conv.k, NULL);
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const bench_conv *v = &c->as.conv;
    int64_t x[5] = {v->n, v->c, v->in[0], v->in[1], v->in[2]};
    int64_t w[5] = {v->k, v->c / v->groups, v->filter[0], v->filter[1], v->filter[2]};
    int64_t y[5] = {v->n, v->k, v->out[0], v->out[1], v->out[2]};
    int32_t rank = (int32_t)(2 + v->space);
    if (c->dir != BENCH_FWD)
        return make_backward(c, data, seed, rank, x, w, y);
    if (!bench_array_make_layout(&data->x, c->layout, rank, x) ||
        !bench_array_make(&data->w, HUSK_F32, rank, w, NULL) || !bench_array_make_layout(&data->y, c->layout, rank, y))
        return false;
    bench_array_fill(&data->x, seed, 1);
    bench_array_fill(&data->w, seed + 1, 1);
    if (v->bias) {
        if (!bench_array_make(&data->bias, HUSK_F32, 1, &v->k, NULL))
            return false;
        bench_array_fill(&data->bias, seed + 2, 1);
    }
    return true;
}

static husk_conv_params params_of(const bench_case *c, const char *variant)
{
    const bench_conv *v = &c->as.conv;
    husk_conv_params params = HUSK_CONV_PARAMS(.activation = c->act, .activation_slope = BENCH_LEAKY_SLOPE,
                                               .groups = v->groups, .precision = c->precision, .variant = variant);
    for (int64_t i = 0; i < v->space; i++) {
        params.stride[i] = v->stride[i];
        params.pad[i] = v->pad[i];
        params.pad_end_extra[i] = v->pad_end[i] - v->pad[i];
        params.dilation[i] = v->dilation[i];
    }
    return params;
}

static husk_status husk_prepare(bench_husk_job *job)
{
    husk_conv_params params = params_of(job->c, job->form);
    bench_husk_set *set = job->sets;
    husk_status status = husk_conv_plan_create(job->context, &params, &set->x, &set->w, bench_optional(&set->bias),
                                               &set->y, &job->plan, &job->error);
    if (status == HUSK_OK && job->c->packed)
        status = bench_job_packed(job, husk_conv_plan_pack(job->plan, job->queue, &set->w, &job->packed));
    return status;
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    if (job->c->dir != BENCH_FWD) {
        const husk_conv_params backward = params_of(job->c, job->form);
        return job->c->dir == BENCH_BWD_DATA
                   ? husk_conv_backward_data(job->queue, &backward, &set->w, &set->dy, &set->y)
                   : husk_conv_backward_weights(job->queue, &backward, &set->x, &set->dy, &set->y,
                                                bench_optional(&set->gradients[0]));
    }
    if (job->c->packed)
        return husk_conv_plan_run(job->plan, job->queue, &set->x, job->packed ? &job->packed_w : &set->w,
                                  bench_optional(&set->bias), &set->y);
    husk_conv_params params = params_of(job->c, job->form);
    return husk_conv(job->queue, &params, &set->x, &set->w, bench_optional(&set->bias), &set->y);
}

static void verify_backward(const bench_case *c, const bench_data *data, const bench_output *output,
                            const bench_verify_options *options, bench_verdict *verdict)
{
    const husk_conv_params params = params_of(c, NULL);
    const husk_ref_array x = bench_ref_array(&data->x), w = bench_ref_array(&data->w), dy = bench_ref_array(&data->dy);
    const husk_ref_array y = bench_ref_array(&output->y);
    if (c->dir == BENCH_BWD_DATA) {
        husk_ref_conv_backward_data op = {.params = &params, .w = &w, .dy = &dy, .error_factor = options->error_factor};
        memcpy(op.shape, y.shape, sizeof(op.shape));
        if (op.error_factor > 0)
            husk_ref_conv_backward_data_set_tile(&op);
        husk_ref_report report = {0};
        husk_ref_conv_backward_data_check(&op, options->seed, &y, &report);
        bench_verdict_add(verdict, "dx", &report);
        return;
    }
    husk_ref_conv_backward_weights op = {.params = &params, .x = &x, .dy = &dy, .error_factor = options->error_factor};
    memcpy(op.shape, y.shape, sizeof(op.shape));
    husk_ref_conv_backward_weights_set_tile(&op);
    husk_ref_report weights = {0}, bias = {0};
    husk_ref_conv_backward_weights_check(&op, options->seed, &y, &weights);
    bench_verdict_add(verdict, "dw", &weights);
    if (!c->as.conv.bias)
        return;
    const husk_ref_array dbias = bench_ref_array(&output->gradients[0]);
    const husk_ref_function function = husk_ref_conv_backward_bias_function(&op);
    husk_ref_check(&function, options->seed, &dbias, &bias);
    bench_verdict_add(verdict, "dbias", &bias);
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    if (c->dir != BENCH_FWD) {
        verify_backward(c, data, output, options, verdict);
        return;
    }
    husk_conv_params params = params_of(c, NULL);
    husk_ref_array x = bench_ref_array(&data->x), w = bench_ref_array(&data->w), bias = bench_ref_array(&data->bias);
    husk_ref_array y = bench_ref_array(&output->y);
    husk_ref_conv op = {
        .params = &params,
        .x = &x,
        .w = &w,
        .bias = data->bias.data ? &bias : NULL,
        .error_factor = options->error_factor,
    };
    husk_ref_report report = {0};
    husk_ref_conv_check(&op, options->seed, &y, &report);
    bench_verdict_add(verdict, "y", &report);
}

static void generate_space(husk_ref_random *draw, char *line, int64_t space_count)
{
    static const char sizes[] = "whd", windows[] = "srt";
    static const int filters[] = {1, 1, 2, 3, 3, 3, 5, 7};
    int limit = space_count == 3 ? 9 : space_count == 2 ? 35 : 200;
    for (int64_t i = 0; i < space_count; i++) {
        int filter = filters[husk_ref_random_below(draw, space_count == 3 ? 6 : 8)];
        int size = 7 + (int)husk_ref_random_below(draw, limit);
        bench_append(line, BENCH_CASE_TEXT, " %c=%d %c=%d", sizes[i], size, windows[i], filter);
    }
}

// Every option, dimension and layout; channels around vector lengths; a third are 3x3 with stride 1
// (Winograd).
static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int channels[] = {1, 2, 3, 4, 7, 8, 15, 16, 17, 24, 32, 33};
    if (index >= 200)
        return false;
    // From 100 on sixty gradients, of what the first have been; then forty of all in f16 and bf16.
    const int64_t first = index < 100 ? index : index < 160 ? index - 100 : index - 150;
    const bool is_gradient = index >= 100 && index < 180;
    const char *const dir = !is_gradient ? NULL : index % 2 ? "bwd_data" : "bwd_weight";
    husk_ref_random draw = {.seed = 0x636f6e76 + (uint64_t)first};
#define BELOW(limit) ((int)husk_ref_random_below(&draw, limit))
    int groups = BELOW(3) ? 1 : 1 + BELOW(4);
    bool is_depthwise = BELOW(6) == 0;
    int c = channels[BELOW(12)], k = channels[BELOW(12)];
    groups = is_depthwise ? c : groups;
    int n = 1 + BELOW(3), multiplier = 1 + BELOW(2);
    snprintf(line, BENCH_CASE_TEXT, "conv n=%d c=%d k=%d", n, is_depthwise ? c : c * groups,
             is_depthwise ? c * multiplier : k * groups);
    if (groups > 1)
        bench_append(line, BENCH_CASE_TEXT, " groups=%d", groups);
    if (index % 3 == 0) {
        int h = 5 + BELOW(30), w = 5 + BELOW(30);
        bench_append(line, BENCH_CASE_TEXT, " h=%d w=%d r=3 s=3 pad=%d", h, w, BELOW(2));
    } else {
        static const int64_t spaces[] = {1, 2, 2, 2, 3};
        static const char *const paddings[] = {"", " pad=1", " pad=0:1", " pad=2:0", " pad=3"};
        generate_space(&draw, line, spaces[BELOW(5)]);
        const char *padding = paddings[BELOW(5)];
        int stride = 1 + BELOW(3);
        bench_append(line, BENCH_CASE_TEXT, "%s stride=%d", padding, stride);
        // A dilated filter of 7 still fits the smallest padded input only without dilation.
        if (BELOW(5) == 0 && !strstr(line, "=7 ") && !strstr(line, "=5 "))
            bench_append(line, BENCH_CASE_TEXT, " dilation=2");
    }
    if (BELOW(2) && !(dir && index % 2))
        bench_append(line, BENCH_CASE_TEXT, " bias=1");
    if (BELOW(3) == 0 && !dir)
        bench_append(line, BENCH_CASE_TEXT, " act=%s", husk_act_name((husk_act)(1 + BELOW(8))));
    if (BELOW(4) == 0)
        bench_append(line, BENCH_CASE_TEXT, " layout=nhwc");
    if (BELOW(3) == 0 && !dir)
        bench_append(line, BENCH_CASE_TEXT, " packed=1");
    if (index >= 160)
        bench_append(line, BENCH_CASE_TEXT, " dtype=%s", index / 2 % 2 ? "bf16" : "f16");
    if (dir)
        bench_append(line, BENCH_CASE_TEXT, " dir=%s", dir);
#undef BELOW
    return true;
}

const bench_op bench_op_conv = {
    .name = "conv",
    .gradients = {[BENCH_BWD_DATA] = "conv_backward_data", [BENCH_BWD_WEIGHT] = "conv_backward_weights"},
    .fields = fields,
    .common = BENCH_COMMON_ACT | BENCH_COMMON_LAYOUT | BENCH_COMMON_DTYPE | BENCH_COMMON_PRECISION |
              BENCH_COMMON_PACKED | BENCH_COMMON_DIR,
    .space = space,
    .normalise = normalise,
    .resolve = resolve,
    .flops = flops,
    .macs = macs,
    .bytes = bytes,
    .operands = operands,
    .narrows = true,
    .make_data = make_data,
    .make_output = make_output,
    .husk_prepare = husk_prepare,
    .husk_enqueue = husk_enqueue,
    .verify = verify,
    .generate = generate,
};
