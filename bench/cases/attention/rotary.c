// SPDX-License-Identifier: MIT
// rotary heads length d [n turned interleaved dtype dir]
#include <stdio.h>

#include "cases/array.h"
#include "cases/op.h"
#include "common/text.h"
#include "ref/attention/rotary.h"

static const bench_field fields[] = {
    BENCH_INTEGER("n", as.rotary.n, 1, 1, "sequences"),
    BENCH_REQUIRED("heads", as.rotary.heads, 1, "heads"),
    BENCH_REQUIRED("length", as.rotary.length, 1, "positions, from 0 on"),
    BENCH_REQUIRED("d", as.rotary.d, 1, "columns of a head"),
    BENCH_INTEGER("turned", as.rotary.turned, 0, 0, "columns that are turned; 0: all"),
    BENCH_CHOICE("interleaved", as.rotary.interleaved, 0, bench_flag_choices, "neighbours are pairs, not halves"),
    {.key = NULL},
};

static bool normalise(bench_case *c, char reason[BENCH_REASON_TEXT])
{
    bench_rotary *r = &c->as.rotary;
    if (r->turned > r->d || (r->turned ? r->turned : r->d) % 2)
        return bench_explain(reason, BENCH_REASON_TEXT, "turned, or d without it, must be even, and turned at most d");
    r->turned = r->turned == r->d ? 0 : r->turned;
    return true;
}

static double elements(const bench_case *c)
{
    const bench_rotary *r = &c->as.rotary;
    return (double)r->n * (double)r->heads * (double)r->length * (double)r->d;
}

static double flops(const bench_case *c)
{
    const bench_rotary *r = &c->as.rotary;
    return 3 * elements(c) * (double)(r->turned ? r->turned : r->d) / (double)r->d;
}

static double bytes(const bench_case *c)
{
    return 2 * bench_case_element(c) * elements(c);
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const bench_rotary *r = &c->as.rotary;
    const int64_t shape[] = {r->n, r->heads, r->length, r->d};
    bench_array *x = c->dir == BENCH_FWD ? &data->x : &data->dy;
    if (!bench_array_make(x, HUSK_F32, 4, shape, NULL) || !bench_array_make(&data->y, HUSK_F32, 4, shape, NULL))
        return false;
    bench_array_fill(x, seed, 1);
    return true;
}

static husk_rotary_params params_of(const bench_case *c, const char *variant)
{
    const bench_rotary *r = &c->as.rotary;
    return HUSK_ROTARY_PARAMS(.interleaved = (uint32_t)r->interleaved, .rotary_dimension = r->turned,
                              .variant = variant);
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    const husk_rotary_params params = params_of(job->c, job->form);
    if (job->c->dir == BENCH_BWD)
        return husk_rotary_backward(job->queue, &params, NULL, NULL, NULL, &set->dy, &set->y);
    return husk_rotary(job->queue, &params, &set->x, NULL, NULL, NULL, &set->y);
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    const husk_rotary_params params = params_of(c, NULL);
    const bool is_forward = c->dir == BENCH_FWD;
    husk_ref_array x = bench_ref_array(is_forward ? &data->x : &data->dy), y = bench_ref_array(&output->y);
    husk_ref_rotary op = {.params = &params, .x = &x, .is_gradient = !is_forward};
    husk_ref_function function = husk_ref_rotary_function(&op);
    husk_ref_report report = {0};
    husk_ref_check(&function, options->seed, &y, &report);
    bench_verdict_add(verdict, is_forward ? "y" : "dx", &report);
}

// Columns around vectors, all or some turned; both forms.
static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int columns[] = {2, 34, 64, 90};
    if (index >= 48)
        return false;
    snprintf(line, BENCH_CASE_TEXT, "rotary n=2 heads=%d length=%d d=%d%s%s%s", index / 4 % 2 ? 5 : 12,
             index / 8 % 2 ? 1 : 19, columns[index % 4], index % 3 == 2 ? " turned=2" : "",
             index % 2 ? " interleaved=1" : "", index < 24 ? "" : " dir=bwd");
    return true;
}

const bench_op bench_op_rotary = {
    .name = "rotary",
    .gradients = {[BENCH_BWD] = "rotary_backward"},
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
};
