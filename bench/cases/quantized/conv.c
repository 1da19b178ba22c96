// SPDX-License-Identifier: MIT
// quantized_conv c h w k r s [n stride pad dilation groups y=f32|i32|i8 u8 bias act layout packed dtype dir]
#include <math.h>
#include <stdio.h>

#include "cases/array.h"
#include "cases/op.h"
#include "cases/space.h"
#include "cases/touched.h"
#include "common/text.h"
#include "ref/quantized/conv.h"
#include "ref/random.h"

static const bench_choice y_choices[] = {{"f32", HUSK_F32}, {"i32", HUSK_I32}, {"i8", HUSK_I8}, {NULL, 0}};

static const bench_field fields[] = {
    BENCH_INTEGER("n", as.quantized_conv.n, 1, 0, "images"),
    BENCH_REQUIRED("c", as.quantized_conv.c, 1, "channels"),
    BENCH_REQUIRED("h", as.quantized_conv.h, 1, "input height"),
    BENCH_REQUIRED("w", as.quantized_conv.w, 1, "input width"),
    BENCH_REQUIRED("k", as.quantized_conv.k, 1, "filters"),
    BENCH_REQUIRED("r", as.quantized_conv.r, 1, "filter height"),
    BENCH_REQUIRED("s", as.quantized_conv.s, 1, "filter width"),
    BENCH_INTEGER("stride", as.quantized_conv.stride, 1, 1, "steps of the filter"),
    BENCH_INTEGER("pad", as.quantized_conv.pad, 0, 0, "padding on every side"),
    BENCH_INTEGER("dilation", as.quantized_conv.dilation, 1, 1, "distance of filter elements"),
    BENCH_INTEGER("groups", as.quantized_conv.groups, 1, 1, "groups of channels"),
    BENCH_CHOICE("y", as.quantized_conv.y, HUSK_F32, y_choices, "y: scaled, the sums, or quantized again"),
    BENCH_CHOICE("u8", as.quantized_conv.u8, 0, bench_flag_choices, "1: x is u8"),
    BENCH_CHOICE("bias", as.quantized_conv.bias, 0, bench_flag_choices, "1: with a bias"),
    {.key = NULL},
};

static const husk_quantization x_quantization = BENCH_QUANTIZED_CONV_X, y_quantization = BENCH_QUANTIZED_CONV_Y;

static int64_t out_size(const bench_quantized_conv *p, int64_t in, int64_t filter)
{
    return (in + 2 * p->pad - bench_window_extent(filter, p->dilation)) / p->stride + 1;
}

static bool normalise(bench_case *c, char reason[BENCH_REASON_TEXT])
{
    const bench_quantized_conv *p = &c->as.quantized_conv;
    if (p->c % p->groups || p->k % p->groups)
        return bench_explain(reason, BENCH_REASON_TEXT, "c and k must be multiples of groups");
    if (p->h + 2 * p->pad < bench_window_extent(p->r, p->dilation) ||
        p->w + 2 * p->pad < bench_window_extent(p->s, p->dilation))
        return bench_explain(reason, BENCH_REASON_TEXT, "the filter is larger than the padded input");
    if (p->y == HUSK_I32 && (p->bias || c->act != HUSK_ACT_NONE))
        return bench_explain(reason, BENCH_REASON_TEXT, "y=i32 are the sums as they are, without bias and act");
    return true;
}

static double outputs(const bench_quantized_conv *p)
{
    return (double)p->n * (double)p->k * (double)out_size(p, p->h, p->r) * (double)out_size(p, p->w, p->s);
}

static double macs(const bench_case *c)
{
    const bench_quantized_conv *p = &c->as.quantized_conv;
    return outputs(p) * (double)(p->c / p->groups) * (double)p->r * (double)p->s;
}

static double flops(const bench_case *c)
{
    return 2 * macs(c);
}

// So many positions of x's image, and all of the rest.
static double bytes_with(const bench_case *c, double positions)
{
    const bench_quantized_conv *p = &c->as.quantized_conv;
    return (double)p->n * (double)p->c * positions +
           (double)p->k * (double)(p->c / p->groups) * (double)p->r * (double)p->s +
           (double)husk_dtype_size((husk_dtype)p->y) * outputs(p) + (p->y == HUSK_I32 ? 0 : 4 * (double)p->k) +
           (p->bias ? 4 * (double)p->k : 0);
}

// What no window touches need not be read, and nothing where there are no outputs.
static double bytes(const bench_case *c)
{
    const bench_quantized_conv *p = &c->as.quantized_conv;
    const bench_windows windows = {.space = 2,
                                   .in = (int64_t[]){p->h, p->w},
                                   .window = (int64_t[]){p->r, p->s},
                                   .stride = (int64_t[]){p->stride, p->stride},
                                   .pad = (int64_t[]){p->pad, p->pad},
                                   .dilation = (int64_t[]){p->dilation, p->dilation},
                                   .out = (int64_t[]){out_size(p, p->h, p->r), out_size(p, p->w, p->s)},
                                   .apart = c->layout == BENCH_NHWC ? (double)p->c : 1};
    return p->n ? bytes_with(c, bench_touched(&windows)) : 0;
}

static double operands(const bench_case *c)
{
    return bytes_with(c, (double)c->as.quantized_conv.h * (double)c->as.quantized_conv.w);
}

// bench_array_make_layout makes floats.
static bool make_image(bench_array *array, husk_dtype dtype, bench_layout layout, const int64_t shape[4])
{
    const int64_t strides[4] = {shape[1] * shape[2] * shape[3], 1, shape[1] * shape[3], shape[1]};
    return bench_array_make(array, dtype, 4, shape, layout == BENCH_NHWC ? strides : NULL);
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const bench_quantized_conv *p = &c->as.quantized_conv;
    const int64_t x[4] = {p->n, p->c, p->h, p->w}, w[4] = {p->k, p->c / p->groups, p->r, p->s};
    const int64_t y[4] = {p->n, p->k, out_size(p, p->h, p->r), out_size(p, p->w, p->s)};
    if (!make_image(&data->x, p->u8 ? HUSK_U8 : HUSK_I8, c->layout, x) ||
        !bench_array_make(&data->w, HUSK_I8, 4, w, NULL) || !make_image(&data->y, (husk_dtype)p->y, c->layout, y))
        return false;
    bench_array_fill_bytes(&data->x, seed);
    bench_array_fill_bytes(&data->w, seed + 1);
    if (p->y == HUSK_I32)
        return true;
    if (!bench_array_make(&data->saved[0], HUSK_F32, 1, &p->k, NULL) ||
        (p->bias && !bench_array_make(&data->bias, HUSK_F32, 1, &p->k, NULL)))
        return false;
    for (int64_t i = 0; i < p->k; i++)
        ((float *)data->saved[0].data)[i] =
            (0.5f + (float)(i % 13) / 13) / (100.0f * sqrtf((float)(w[1] * p->r * p->s)));
    if (p->bias)
        bench_array_fill(&data->bias, seed + 2, 1);
    return true;
}

static husk_quantized_conv_params params_of(const bench_case *c, const char *variant)
{
    const bench_quantized_conv *p = &c->as.quantized_conv;
    return HUSK_QUANTIZED_CONV_PARAMS(.activation = c->act, .activation_slope = BENCH_LEAKY_SLOPE,
                                      .stride = {p->stride, p->stride}, .pad = {p->pad, p->pad},
                                      .dilation = {p->dilation, p->dilation}, .groups = p->groups, .variant = variant);
}

static const husk_quantization *y_quantization_of(const bench_case *c)
{
    return c->as.quantized_conv.y == HUSK_I8 ? &y_quantization : NULL;
}

static husk_status husk_prepare(bench_husk_job *job)
{
    const husk_quantized_conv_params params = params_of(job->c, job->form);
    bench_husk_set *set = job->sets;
    husk_status status =
        husk_quantized_conv_plan_create(job->context, &params, &set->x, &set->w, bench_optional(&set->saved[0]),
                                        bench_optional(&set->bias), &set->y, &job->plan, &job->error);
    if (status == HUSK_OK && job->c->packed)
        status = bench_job_packed(job, husk_quantized_conv_plan_pack(job->plan, job->queue, &set->w, &job->packed));
    return status;
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    const husk_tensor *scale = bench_optional(&set->saved[0]), *bias = bench_optional(&set->bias);
    const husk_quantization *y = y_quantization_of(job->c);
    if (job->c->packed)
        return husk_quantized_conv_plan_run(job->plan, job->queue, &set->x, &x_quantization,
                                            job->packed ? &job->packed_w : &set->w, scale, bias, &set->y, y);
    const husk_quantized_conv_params params = params_of(job->c, job->form);
    return husk_quantized_conv(job->queue, &params, &set->x, &x_quantization, &set->w, scale, bias, &set->y, y);
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    const husk_quantized_conv_params params = params_of(c, NULL);
    const husk_ref_array x = bench_ref_array(&data->x), w = bench_ref_array(&data->w);
    const husk_ref_array scale = bench_ref_array(&data->saved[0]), bias = bench_ref_array(&data->bias);
    const husk_ref_array y = bench_ref_array(&output->y);
    const husk_ref_quantized_conv op = {.params = &params,
                                        .x = &x,
                                        .w = &w,
                                        .w_scale = data->saved[0].data ? &scale : NULL,
                                        .bias = data->bias.data ? &bias : NULL,
                                        .y = &y,
                                        .x_quantization = &x_quantization,
                                        .y_quantization = y_quantization_of(c)};
    husk_ref_function function = husk_ref_quantized_conv_function(&op);
    husk_ref_report report = {0};
    husk_ref_check(&function, options->seed, &y, &report);
    bench_verdict_add(verdict, "y", &report);
}

static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int channels[] = {1, 3, 8, 16, 31, 32, 64}, sizes[] = {1, 5, 7, 14, 23};
    static const char *const outputs_[] = {"f32", "i32", "i8"};
    if (index >= 40)
        return false;
    husk_ref_random draw = {.seed = 0x71636f6e + (uint64_t)index};
    const int c = channels[husk_ref_random_below(&draw, 7)], k = channels[husk_ref_random_below(&draw, 7)];
    const int h = sizes[husk_ref_random_below(&draw, 5)], w = sizes[husk_ref_random_below(&draw, 5)];
    const bool is_depthwise = index % 8 == 7;
    const int filter = index % 2 ? 3 : 1;
    snprintf(line, BENCH_CASE_TEXT,
             "quantized_conv c=%d h=%d w=%d k=%d r=%d s=%d pad=%d stride=%d groups=%d y=%s u8=%d bias=%d layout=%s "
             "packed=%d",
             c, h, w, is_depthwise ? c : k, filter, filter, filter / 2, 1 + (int)(index / 3 % 2), is_depthwise ? c : 1,
             outputs_[index % 3], (int)(index / 6 % 2), index % 3 != 1 ? (int)(index / 12 % 2) : 0,
             index / 2 % 2 ? "nhwc" : "nchw", (int)(index / 5 % 2));
    return true;
}

const bench_op bench_op_quantized_conv = {
    .name = "quantized_conv",
    .fields = fields,
    .common = BENCH_COMMON_ACT | BENCH_COMMON_LAYOUT | BENCH_COMMON_PACKED | BENCH_COMMON_DTYPE | BENCH_COMMON_DIR,
    .normalise = normalise,
    .flops = flops,
    .macs = macs,
    .bytes = bytes,
    .operands = operands,
    .peak_factor = 4,
    .make_data = make_data,
    .husk_prepare = husk_prepare,
    .husk_enqueue = husk_enqueue,
    .verify = verify,
    .generate = generate,
};
