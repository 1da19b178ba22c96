// SPDX-License-Identifier: MIT
// pad h w [outer width mode dtype dir]
#include <stdio.h>

#include "cases/array.h"
#include "cases/op.h"
#include "ref/layout/pad.h"

static const bench_choice mode_choices[] = {{"constant", HUSK_PAD_CONSTANT},
                                            {"reflect", HUSK_PAD_REFLECT},
                                            {"replicate", HUSK_PAD_REPLICATE},
                                            {"circular", HUSK_PAD_CIRCULAR},
                                            {NULL, 0}};

static const bench_field fields[] = {
    BENCH_REQUIRED("h", as.pad.h, 1, "extent of the dimension before the last"),
    BENCH_REQUIRED("w", as.pad.w, 1, "extent of the last"),
    BENCH_INTEGER("outer", as.pad.outer, 1, 0, "extent before them"),
    BENCH_INTEGER("width", as.pad.width, 1, 0, "of all four edges"),
    BENCH_CHOICE("mode", as.pad.mode, HUSK_PAD_CONSTANT, mode_choices, "what the edges are made of"),
    {.key = NULL},
};

static bool normalise(bench_case *c, char reason[BENCH_REASON_TEXT])
{
    const bench_pad *own = &c->as.pad;
    const int64_t least = own->h < own->w ? own->h : own->w;
    snprintf(reason, BENCH_REASON_TEXT, "width is more than h and w allow");
    return own->mode == HUSK_PAD_CONSTANT || own->mode == HUSK_PAD_REPLICATE ||
           own->width < least + (own->mode == HUSK_PAD_CIRCULAR);
}

static double inner(const bench_case *c)
{
    return (double)c->as.pad.outer * (double)c->as.pad.h * (double)c->as.pad.w;
}

static double padded(const bench_case *c)
{
    const bench_pad *own = &c->as.pad;
    return (double)own->outer * (double)(own->h + 2 * own->width) * (double)(own->w + 2 * own->width);
}

// The gradient by what edges of constants are made of is none's: there dy is not read.
static double bytes(const bench_case *c)
{
    const bool reads_edges = c->dir == BENCH_FWD || c->as.pad.mode != HUSK_PAD_CONSTANT;
    return bench_case_element(c) * (inner(c) + (reads_edges ? padded(c) : inner(c)));
}

static double operands(const bench_case *c)
{
    return bench_case_element(c) * (inner(c) + padded(c));
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const bench_pad *own = &c->as.pad;
    const int64_t x[3] = {own->outer, own->h, own->w},
                  y[3] = {own->outer, own->h + 2 * own->width, own->w + 2 * own->width};
    bench_array *from = c->dir == BENCH_BWD ? &data->dy : &data->x;
    if (!bench_array_make(from, HUSK_F32, 3, c->dir == BENCH_BWD ? y : x, NULL) ||
        !bench_array_make(&data->y, HUSK_F32, 3, c->dir == BENCH_BWD ? x : y, NULL))
        return false;
    bench_array_fill(from, seed, 4);
    return true;
}

static husk_pad_params params_of(const bench_case *c, const char *variant)
{
    const int64_t width = c->as.pad.width;
    return HUSK_PAD_PARAMS(.mode = c->as.pad.mode, .value = 0.5, .before = {0, width, width},
                           .after = {0, width, width}, .variant = variant);
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    const husk_pad_params params = params_of(job->c, job->form);
    return job->c->dir == BENCH_BWD ? husk_pad_backward(job->queue, &params, &set->dy, &set->y)
                                    : husk_pad(job->queue, &params, &set->x, &set->y);
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    const husk_pad_params params = params_of(c, NULL);
    const husk_ref_array x = bench_ref_array(&data->x), dy = bench_ref_array(&data->dy),
                         y = bench_ref_array(&output->y);
    const husk_ref_pad op = {.params = &params, .x = &x};
    const husk_ref_pad_backward backward = {.params = &params, .dy = &dy, .dx = &y};
    const bool is_gradient = c->dir == BENCH_BWD;
    const husk_ref_function function =
        is_gradient ? husk_ref_pad_backward_function(&backward) : husk_ref_pad_function(&op);
    husk_ref_report report = {0};
    husk_ref_check(&function, options->seed, &y, &report);
    bench_verdict_add(verdict, is_gradient ? "dx" : "y", &report);
}

static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int sizes[] = {4, 7, 16, 33, 65};
    if (index >= 40)
        return false;
    snprintf(line, BENCH_CASE_TEXT, "pad h=%d w=%d outer=%d width=%d mode=%s%s", sizes[index % 5],
             sizes[(index / 5 + 1) % 5], 1 + (int)(index % 3), (int)(index % 4), mode_choices[index / 2 % 4].text,
             index % 2 ? " dir=bwd" : "");
    return true;
}

const bench_op bench_op_pad = {
    .name = "pad",
    .gradients = {[BENCH_BWD] = "pad_backward"},
    .fields = fields,
    .common = BENCH_COMMON_DTYPE | BENCH_COMMON_DIR,
    .normalise = normalise,
    .flops = padded,
    .bytes = bytes,
    .operands = operands,
    .is_bandwidth = true,
    .narrows = true,
    .make_data = make_data,
    .husk_enqueue = husk_enqueue,
    .verify = verify,
    .generate = generate,
};
