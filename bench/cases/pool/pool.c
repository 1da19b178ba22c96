// SPDX-License-Identifier: MIT
// pool kind=max|avg n c h w r s [d t (3-D) stride pad dilation ceil count_pad global indices layout dir]
#include <stdio.h>
#include <string.h>

#include "cases/array.h"
#include "cases/op.h"
#include "cases/space.h"
#include "cases/touched.h"
#include "ref/pool/pool.h"
#include "ref/random.h"

static const bench_choice kind_choices[] = {{"max", HUSK_POOL_MAX}, {"avg", HUSK_POOL_AVG}, {NULL, 0}};

static const bench_field fields[] = {
    BENCH_CHOICE("kind", as.pool.kind, HUSK_POOL_MAX, kind_choices, "maximum or mean"),
    BENCH_INTEGER("n", as.pool.n, 1, 0, "images"),
    BENCH_REQUIRED("c", as.pool.c, 0, "channels"),
    BENCH_INTEGER("d", as.pool.d, 0, 0, "input depth, for three dimensions"),
    BENCH_INTEGER("h", as.pool.h, 0, 0, "input height; left out for one dimension"),
    BENCH_REQUIRED("w", as.pool.w, 1, "input width"),
    BENCH_INTEGER("t", as.pool.t, 0, 0, "window depth"),
    BENCH_INTEGER("r", as.pool.r, 0, 0, "window height"),
    BENCH_INTEGER("s", as.pool.s, 0, 0, "window width"),
    BENCH_LIST("stride", as.pool.stride, 0, 0, "steps of the window; 0: as the window"),
    BENCH_PAD("pad", as.pool.pad, as.pool.pad_end, "padding: 1, 1x2, or BEGIN:END"),
    BENCH_LIST("dilation", as.pool.dilation, 1, 1, "distance of window elements"),
    BENCH_CHOICE("ceil", as.pool.ceil, 0, bench_flag_choices, "1: output size rounded up"),
    BENCH_CHOICE("count_pad", as.pool.count_pad, 0, bench_flag_choices, "1: the mean counts padding"),
    BENCH_CHOICE("global", as.pool.global, 0, bench_flag_choices, "1: the window is all of space"),
    BENCH_CHOICE("indices", as.pool.indices, 0, bench_flag_choices, "1: max also writes indices"),
    {.key = NULL},
};

static int64_t space(const bench_case *c, char reason[BENCH_REASON_TEXT])
{
    const bench_pool *p = &c->as.pool;
    return bench_space_count(p->d, p->h, (int64_t[]){p->t, p->r, p->s}, !p->global, reason);
}

// PyTorch's rule: rounded up, less one where the last window would start past the input and its left padding.
static int64_t out_size(const bench_pool *p, int64_t i)
{
    int64_t span = p->in[i] + p->pad[i] + p->pad_end[i] - bench_window_extent(p->window[i], p->dilation[i]);
    int64_t out = (span + (p->ceil ? p->stride[i] - 1 : 0)) / p->stride[i] + 1;
    if (p->ceil && (out - 1) * p->stride[i] >= p->in[i] + p->pad[i])
        out--;
    return out;
}

static void resolve(bench_case *c)
{
    char ignored[BENCH_REASON_TEXT];
    bench_pool *p = &c->as.pool;
    p->space = space(c, ignored);
    bench_space_list(p->space, p->d, p->h, p->w, p->in);
    bench_space_list(p->space, p->t, p->r, p->s, p->window);
    for (int64_t i = 0; i < 3; i++) {
        p->out[i] = 1;
        if (i >= p->space)
            continue;
        if (p->global)
            p->window[i] = p->in[i];
        if (!p->stride[i])
            p->stride[i] = p->window[i];
        p->out[i] = p->global ? 1 : out_size(p, i);
    }
}

static bool normalise_global(bench_pool *p, char reason[BENCH_REASON_TEXT])
{
    bool is_plain = !p->t && !p->r && !p->s;
    for (int i = 0; i < 3; i++)
        is_plain = is_plain && !p->stride[i] && !p->pad[i] && !p->pad_end[i] && p->dilation[i] == 1;
    if (!is_plain)
        return bench_explain(reason, BENCH_REASON_TEXT,
                             "global=1 leaves no room for a window, stride, pad or dilation");
    return true;
}

static bool normalise(bench_case *c, char reason[BENCH_REASON_TEXT])
{
    bench_pool *p = &c->as.pool;
    if (p->indices && p->kind != HUSK_POOL_MAX)
        return bench_explain(reason, BENCH_REASON_TEXT, "indices=1 goes with kind=max alone");
    if (p->global)
        return normalise_global(p, reason);
    bench_case trial = *c;
    resolve(&trial);
    const bench_pool *t = &trial.as.pool;
    bool stride_is_window = true;
    for (int64_t i = 0; i < t->space; i++) {
        int64_t extent = bench_window_extent(t->window[i], t->dilation[i]);
        if (t->pad[i] >= extent || t->pad_end[i] >= extent)
            return bench_explain(reason, BENCH_REASON_TEXT, "pad must be less than the window");
        if (extent > t->in[i] + t->pad[i] + t->pad_end[i])
            return bench_explain(reason, BENCH_REASON_TEXT, "the window is larger than the padded input");
        stride_is_window = stride_is_window && t->stride[i] == t->window[i];
    }
    if (stride_is_window)
        memset(p->stride, 0, sizeof p->stride);
    return true;
}

static double product3(const int64_t list[3])
{
    return (double)list[0] * (double)list[1] * (double)list[2];
}

static double flops(const bench_case *c)
{
    const bench_pool *p = &c->as.pool;
    return (double)p->n * (double)p->c * product3(p->out) * product3(p->window);
}

// The gradient reads dy and, of maxima, indices or else x, so many positions of its image; it is written whole. Indices
// are i32 whatever x is.
static double bytes_with(const bench_case *c, double positions)
{
    const bench_pool *p = &c->as.pool;
    const double planes = (double)p->n * (double)p->c, size = bench_case_element(c);
    const double outputs = product3(p->out) * (size + (p->indices ? 4 : 0));
    if (c->dir == BENCH_FWD)
        return planes * (size * positions + outputs);
    const bool reads_x = p->kind == HUSK_POOL_MAX && !p->indices;
    return planes * (size * (product3(p->in) + (reads_x ? positions : 0)) + outputs);
}

// What no window touches need not be read.
static double bytes(const bench_case *c)
{
    const bench_pool *p = &c->as.pool;
    const double channels = c->layout == BENCH_NHWC ? (double)p->c : 1;
    const bench_windows windows = {.space = p->space,
                                   .in = p->in,
                                   .window = p->window,
                                   .stride = p->stride,
                                   .pad = p->pad,
                                   .dilation = p->dilation,
                                   .out = p->out,
                                   .apart = bench_case_element(c) * channels};
    return bytes_with(c, bench_touched(&windows));
}

static double operands(const bench_case *c)
{
    return bytes_with(c, product3(c->as.pool.in));
}

static husk_pool_params params_of(const bench_case *c, const char *variant);

// The indices that forward would have saved.
static bool make_saved(const bench_case *c, bench_data *data)
{
    const husk_pool_params params = params_of(c, NULL);
    husk_ref_array x = bench_ref_array(&data->x), indices;
    const husk_ref_pool op = {.params = &params, .x = &x};
    if (!bench_array_make(&data->saved[0], HUSK_I32, data->dy.rank, data->dy.shape, data->dy.strides))
        return false;
    indices = bench_ref_array(&data->saved[0]);
    husk_ref_function function = husk_ref_pool_index_function(&op);
    husk_ref_function_evaluate(&function, &indices);
    return true;
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const bench_pool *p = &c->as.pool;
    int64_t x[5] = {p->n, p->c, p->in[0], p->in[1], p->in[2]};
    int64_t y[5] = {p->n, p->c, p->out[0], p->out[1], p->out[2]};
    int32_t rank = (int32_t)(2 + p->space);
    const bool is_forward = c->dir == BENCH_FWD;
    if (!bench_array_make_layout(&data->x, c->layout, rank, x) ||
        !bench_array_make_layout(&data->y, c->layout, rank, is_forward ? y : x))
        return false;
    bench_array_fill(&data->x, seed, 1);
    if (is_forward)
        return true;
    if (!bench_array_make_layout(&data->dy, c->layout, rank, y))
        return false;
    bench_array_fill(&data->dy, seed + 1, 1);
    return !p->indices || make_saved(c, data);
}

static bool make_output(const bench_case *c, const bench_data *data, bench_output *output)
{
    return !c->as.pool.indices || c->dir != BENCH_FWD ||
           bench_array_make(&output->indices, HUSK_I32, data->y.rank, data->y.shape, data->y.strides);
}

static husk_pool_params params_of(const bench_case *c, const char *variant)
{
    const bench_pool *p = &c->as.pool;
    husk_pool_params params =
        HUSK_POOL_PARAMS(.kind = (husk_pool_kind)p->kind, .ceil_mode = (uint32_t)p->ceil,
                         .count_pad = (uint32_t)p->count_pad, .global = (uint32_t)p->global, .variant = variant);
    for (int64_t i = 0; i < p->space && !p->global; i++) {
        params.window[i] = p->window[i];
        params.stride[i] = p->stride[i];
        params.pad[i] = p->pad[i];
        params.pad_end_extra[i] = p->pad_end[i] - p->pad[i];
        params.dilation[i] = p->dilation[i];
    }
    return params;
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    husk_pool_params params = params_of(job->c, job->form);
    if (job->c->dir != BENCH_FWD)
        return husk_pool_backward(job->queue, &params, &set->x, bench_optional(&set->saved[0]), &set->dy, &set->y);
    return husk_pool(job->queue, &params, &set->x, &set->y, bench_optional(&set->indices));
}

static void verify_backward(const bench_case *c, const bench_data *data, const bench_output *output,
                            const bench_verify_options *options, bench_verdict *verdict)
{
    husk_pool_params params = params_of(c, NULL);
    husk_ref_array x = bench_ref_array(&data->x), dy = bench_ref_array(&data->dy);
    husk_ref_array dx = bench_ref_array(&output->y), indices = bench_ref_array(&data->saved[0]);
    husk_ref_pool_backward op = {.params = &params, .x = &x, .dy = &dy};
    op.indices = data->saved[0].data ? &indices : NULL;
    husk_ref_function function = husk_ref_pool_backward_function(&op);
    husk_ref_report report = {0};
    husk_ref_check(&function, options->seed, &dx, &report);
    bench_verdict_add(verdict, "dx", &report);
}

// Poison, which is -2, is no index: wherever it is, nothing was written.
static void find_unwritten(const husk_ref_array *indices, bench_verdict *verdict)
{
    const int64_t outputs = husk_ref_array_count(indices);
    int64_t index[HUSK_MAX_RANK] = {0}, count = 0;
    char text[100];
    do
        count += outputs && husk_ref_load(indices, husk_ref_offset(indices, index)) == -2.0;
    while (husk_ref_index_next(indices->rank, indices->shape, index));
    snprintf(text, sizeof text, "indices: %lld of %lld not written", (long long)count, (long long)outputs);
    if (count)
        bench_verdict_fail(verdict, text);
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    if (c->dir != BENCH_FWD) {
        verify_backward(c, data, output, options, verdict);
        return;
    }
    husk_pool_params params = params_of(c, NULL);
    husk_ref_array x = bench_ref_array(&data->x), y = bench_ref_array(&output->y);
    husk_ref_pool op = {.params = &params, .x = &x};
    husk_ref_function function = husk_ref_pool_function(&op);
    husk_ref_report report = {0};
    husk_ref_check(&function, options->seed, &y, &report);
    bench_verdict_add(verdict, "y", &report);
    if (output->indices.data) {
        husk_ref_array indices = bench_ref_array(&output->indices);
        husk_ref_report index_report = {0};
        function = husk_ref_pool_index_function(&op);
        husk_ref_check(&function, options->seed, &indices, &index_report);
        if (verdict->pass && husk_ref_report_pass(&index_report) && index_report.unscanned)
            find_unwritten(&indices, verdict);
        index_report.unscanned = false;
        bench_verdict_add(verdict, "indices", &index_report);
        verdict->inconclusive = husk_ref_report_inconclusive(&report); // index 0 is as good as any
    }
}

static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const char *const windows[] = {" s=2",     " s=3",     " r=2 s=2",     " r=3 s=3",    " r=3 s=2",
                                          " r=5 s=5", " r=1 s=1", " t=2 r=2 s=2", " t=3 r=3 s=3"};
    static const int spaces[] = {1, 1, 2, 2, 2, 2, 2, 3, 3};
    static const char *const paddings[] = {"", " pad=1", " pad=0:1", " pad=1:0"};
    if (index >= 120)
        return false;
    husk_ref_random draw = {.seed = 0x706f6f6c + (uint64_t)(index % 60)};
#define BELOW(limit) ((int)husk_ref_random_below(&draw, limit))
    bool is_max = BELOW(2), is_global = BELOW(6) == 0;
    int which = BELOW(9), n = 1 + BELOW(3), c = 1 + BELOW(33), w = 6 + BELOW(40);
    int space_count = spaces[which];
    snprintf(line, BENCH_CASE_TEXT, "pool kind=%s n=%d c=%d w=%d", is_max ? "max" : "avg", n, c, w);
    if (space_count > 1)
        bench_append(line, BENCH_CASE_TEXT, " h=%d", 6 + BELOW(space_count == 3 ? 8 : 30));
    if (space_count > 2)
        bench_append(line, BENCH_CASE_TEXT, " d=%d", 6 + BELOW(6));
    if (is_global) {
        bench_append(line, BENCH_CASE_TEXT, " global=1");
    } else {
        const char *padding = which == 6 ? "" : paddings[BELOW(4)];
        bench_append(line, BENCH_CASE_TEXT, "%s%s", windows[which], padding);
        if (BELOW(2))
            bench_append(line, BENCH_CASE_TEXT, " stride=%d", 1 + BELOW(3));
        if (BELOW(3) == 0)
            bench_append(line, BENCH_CASE_TEXT, " ceil=1");
        if (BELOW(6) == 0 && which != 5)
            bench_append(line, BENCH_CASE_TEXT, " dilation=2");
        if (!is_max && BELOW(2))
            bench_append(line, BENCH_CASE_TEXT, " count_pad=1");
    }
    if (is_max && BELOW(3) == 0)
        bench_append(line, BENCH_CASE_TEXT, " indices=1");
    if (BELOW(4) == 0)
        bench_append(line, BENCH_CASE_TEXT, " layout=nhwc");
    if (index >= 60)
        bench_append(line, BENCH_CASE_TEXT, " dir=bwd");
#undef BELOW
    return true;
}

const bench_op bench_op_pool = {
    .name = "pool",
    .gradients = {[BENCH_BWD] = "pool_backward"},
    .fields = fields,
    .common = BENCH_COMMON_LAYOUT | BENCH_COMMON_DTYPE | BENCH_COMMON_DIR,
    .space = space,
    .normalise = normalise,
    .resolve = resolve,
    .flops = flops,
    .bytes = bytes,
    .operands = operands,
    .is_bandwidth = true,
    .narrows = true,
    .make_data = make_data,
    .make_output = make_output,
    .husk_enqueue = husk_enqueue,
    .verify = verify,
    .generate = generate,
};
