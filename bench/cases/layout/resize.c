// SPDX-License-Identifier: MIT
// resize c w s [n d h t r mode coordinates rounding layout dtype dir]
#include <stdio.h>

#include "cases/array.h"
#include "cases/op.h"
#include "cases/space.h"
#include "ref/layout/resize.h"

static const bench_choice mode_choices[] = {
    {"nearest", HUSK_RESIZE_NEAREST}, {"linear", HUSK_RESIZE_LINEAR}, {"cubic", HUSK_RESIZE_CUBIC}, {NULL, 0}};
static const bench_choice coordinate_choices[] = {{"half_pixel", HUSK_RESIZE_HALF_PIXEL},
                                                  {"pytorch", HUSK_RESIZE_PYTORCH_HALF_PIXEL},
                                                  {"corners", HUSK_RESIZE_ALIGN_CORNERS},
                                                  {"asymmetric", HUSK_RESIZE_ASYMMETRIC},
                                                  {NULL, 0}};
static const bench_choice rounding_choices[] = {{"prefer_floor", HUSK_RESIZE_ROUND_PREFER_FLOOR},
                                                {"prefer_ceil", HUSK_RESIZE_ROUND_PREFER_CEIL},
                                                {"floor", HUSK_RESIZE_FLOOR},
                                                {"ceil", HUSK_RESIZE_CEIL},
                                                {NULL, 0}};

static const bench_field fields[] = {
    BENCH_REQUIRED("c", as.resize.c, 1, "channels"),
    BENCH_REQUIRED("w", as.resize.w, 1, "width of x"),
    BENCH_REQUIRED("s", as.resize.s, 1, "width of y"),
    BENCH_INTEGER("n", as.resize.n, 1, 0, "images"),
    BENCH_INTEGER("d", as.resize.d, 0, 0, "depth of x; with it there are three dimensions of space"),
    BENCH_INTEGER("h", as.resize.h, 0, 0, "height of x; with it there are two"),
    BENCH_INTEGER("t", as.resize.t, 0, 0, "depth of y"),
    BENCH_INTEGER("r", as.resize.r, 0, 0, "height of y"),
    BENCH_CHOICE("mode", as.resize.mode, HUSK_RESIZE_NEAREST, mode_choices, "how elements are combined"),
    BENCH_CHOICE("coordinates", as.resize.coordinates, HUSK_RESIZE_HALF_PIXEL, coordinate_choices,
                 "where y's elements lie in x"),
    BENCH_CHOICE("rounding", as.resize.rounding, HUSK_RESIZE_ROUND_PREFER_FLOOR, rounding_choices,
                 "of nearest's coordinates"),
    {.key = NULL},
};

static int64_t space(const bench_case *c, char reason[BENCH_REASON_TEXT])
{
    const bench_resize *own = &c->as.resize;
    const int64_t sizes[3] = {own->t, own->r, own->s};
    return bench_space_count(own->d, own->h, sizes, true, reason);
}

static void resolve(bench_case *c)
{
    bench_resize *own = &c->as.resize;
    own->space = own->d ? 3 : own->h ? 2 : 1;
    bench_space_list(own->space, own->d, own->h, own->w, own->in);
    bench_space_list(own->space, own->t, own->r, own->s, own->out);
}

static double elements(const bench_case *c, const int64_t extents[3])
{
    const bench_resize *own = &c->as.resize;
    return (double)own->n * (double)own->c * (double)extents[0] * (double)extents[1] * (double)extents[2];
}

// A multiplication and an addition for each element that y reads.
static double flops(const bench_case *c)
{
    const bench_resize *own = &c->as.resize;
    double taps = 1.0;
    for (int64_t i = 0; i < own->space && own->mode != HUSK_RESIZE_NEAREST; i++)
        taps *= own->mode == HUSK_RESIZE_LINEAR ? 2.0 : 4.0;
    return 2.0 * taps * elements(c, own->out);
}

// Of x no more than y reads, and no dy of more than there is.
static double bytes(const bench_case *c)
{
    const bench_resize *own = &c->as.resize;
    const double x = elements(c, own->in), y = elements(c, own->out), read = flops(c) / 2.0;
    return bench_case_element(c) * (c->dir == BENCH_FWD ? y + (read < x ? read : x) : x + y);
}

static double operands(const bench_case *c)
{
    return bench_case_element(c) * (elements(c, c->as.resize.in) + elements(c, c->as.resize.out));
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const bench_resize *own = &c->as.resize;
    const bool is_gradient = c->dir == BENCH_BWD;
    int64_t x[5] = {own->n, own->c}, y[5] = {own->n, own->c};
    for (int64_t i = 0; i < own->space; i++) {
        x[2 + i] = own->in[i];
        y[2 + i] = own->out[i];
    }
    const int32_t rank = (int32_t)own->space + 2;
    bench_array *from = is_gradient ? &data->dy : &data->x;
    if (!bench_array_make_layout(from, c->layout, rank, is_gradient ? y : x) ||
        !bench_array_make_layout(&data->y, c->layout, rank, is_gradient ? x : y))
        return false;
    bench_array_fill(from, seed, 4);
    return true;
}

static husk_resize_params params_of(const bench_case *c, const char *variant)
{
    const bench_resize *own = &c->as.resize;
    return HUSK_RESIZE_PARAMS(.mode = (husk_resize_mode)own->mode,
                              .coordinates = (husk_resize_coordinates)own->coordinates,
                              .rounding = (husk_resize_rounding)own->rounding, .variant = variant);
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    const husk_resize_params params = params_of(job->c, job->form);
    return job->c->dir == BENCH_BWD ? husk_resize_backward(job->queue, &params, &set->dy, &set->y)
                                    : husk_resize(job->queue, &params, &set->x, &set->y);
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    const husk_resize_params params = params_of(c, NULL);
    const husk_ref_array x = bench_ref_array(&data->x), dy = bench_ref_array(&data->dy),
                         y = bench_ref_array(&output->y);
    const husk_ref_resize op = {.params = &params, .x = &x, .shape = y.shape};
    const husk_ref_resize_backward backward = {.params = &params, .dy = &dy, .dx = &y};
    const bool is_gradient = c->dir == BENCH_BWD;
    const husk_ref_function function =
        is_gradient ? husk_ref_resize_backward_function(&backward) : husk_ref_resize_function(&op);
    husk_ref_report report = {0};
    husk_ref_check(&function, options->seed, &y, &report);
    bench_verdict_add(verdict, is_gradient ? "dx" : "y", &report);
}

static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int sizes[] = {4, 7, 16, 33, 65};
    if (index >= 48)
        return false;
    snprintf(line, BENCH_CASE_TEXT, "resize c=%d h=%d w=%d r=%d s=%d mode=%s coordinates=%s rounding=%s layout=%s%s",
             1 + (int)(index % 5), sizes[index % 4], sizes[index % 5], sizes[(index + 2) % 5], sizes[(index / 3) % 5],
             mode_choices[index / 2 % 3].text, coordinate_choices[index / 6 % 4].text,
             rounding_choices[index / 24 + index / 3 % 2 * 2].text, index % 7 == 3 ? "nhwc" : "nchw",
             index % 2 ? " dir=bwd" : "");
    return true;
}

const bench_op bench_op_resize = {
    .name = "resize",
    .gradients = {[BENCH_BWD] = "resize_backward"},
    .fields = fields,
    .common = BENCH_COMMON_DTYPE | BENCH_COMMON_LAYOUT | BENCH_COMMON_DIR,
    .space = space,
    .resolve = resolve,
    .flops = flops,
    .bytes = bytes,
    .operands = operands,
    .is_bandwidth = true,
    .narrows = true,
    .make_data = make_data,
    .husk_enqueue = husk_enqueue,
    .verify = verify,
    .generate = generate,
};
