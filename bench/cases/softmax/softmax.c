// SPDX-License-Identifier: MIT
// softmax outer axis [inner log dtype dir]
#include <stdio.h>

#include "cases/array.h"
#include "cases/op.h"
#include "common/text.h"
#include "ref/random.h"
#include "ref/softmax/softmax.h"

static const bench_field fields[] = {
    BENCH_REQUIRED("outer", as.softmax.outer, 0, "rows before the axis"),
    BENCH_REQUIRED("axis", as.softmax.axis, 0, "length of the axis"),
    BENCH_INTEGER("inner", as.softmax.inner, 1, 0, "elements after the axis"),
    BENCH_CHOICE("log", as.softmax.log, 0, bench_flag_choices, "1: log-softmax"),
    {.key = NULL},
};

static husk_softmax_params params_of(const bench_case *c, const char *variant)
{
    husk_softmax_params params = husk_softmax_defaults();
    params.axis = 1;
    params.log = (uint32_t)c->as.softmax.log;
    params.variant = variant;
    return params;
}

static double elements(const bench_case *c)
{
    return (double)c->as.softmax.outer * (double)c->as.softmax.axis * (double)c->as.softmax.inner;
}

// A comparison, a subtraction, an exponential, an addition and a division an element. The gradient: two
// multiplications, an addition and a subtraction; log-softmax's an exponential more, and one multiplication less.
static double flops(const bench_case *c)
{
    return (c->dir == BENCH_FWD ? 5 : 4) * elements(c);
}

static double bytes(const bench_case *c)
{
    return (c->dir == BENCH_FWD ? 2 : 3) * bench_case_element(c) * elements(c);
}

// What forward gives for random inputs: the gradient is taken at rows that add up to one.
static bool make_saved(const bench_case *c, bench_data *data, uint64_t seed)
{
    const husk_softmax_params params = params_of(c, NULL);
    if (!bench_array_make(&data->saved[0], HUSK_F32, data->y.rank, data->y.shape, NULL) ||
        !bench_array_make(&data->dy, HUSK_F32, data->y.rank, data->y.shape, NULL))
        return false;
    husk_ref_array x = bench_ref_array(&data->saved[0]);
    bench_array_fill(&data->saved[0], seed, 8);
    bench_array_fill(&data->dy, seed + 1, 1);
    return husk_ref_softmax_run(&(husk_ref_softmax){.params = &params, .x = &x}, &x);
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const bench_softmax *s = &c->as.softmax;
    int64_t shape[3] = {s->outer, s->axis, s->inner};
    int32_t rank = s->inner == 1 ? 2 : 3;
    if (!bench_array_make(&data->y, HUSK_F32, rank, shape, NULL))
        return false;
    if (c->dir != BENCH_FWD)
        return make_saved(c, data, seed);
    if (!bench_array_make(&data->x, HUSK_F32, rank, shape, NULL))
        return false;
    bench_array_fill(&data->x, seed, 8);
    return true;
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    husk_softmax_params params = params_of(job->c, job->form);
    if (job->c->dir != BENCH_FWD)
        return husk_softmax_backward(job->queue, &params, &set->saved[0], &set->dy, &set->y);
    return husk_softmax(job->queue, &params, &set->x, &set->y);
}

static void verify_backward(const bench_case *c, const bench_data *data, const bench_output *output,
                            const bench_verify_options *options, bench_verdict *verdict)
{
    husk_softmax_params params = params_of(c, NULL);
    husk_ref_array y = bench_ref_array(&data->saved[0]), dy = bench_ref_array(&data->dy);
    husk_ref_array dx = bench_ref_array(&output->y);
    husk_ref_softmax_backward op = {.params = &params, .y = &y, .dy = &dy};
    husk_ref_softmax_backward_prepare(&op);
    husk_ref_function function = husk_ref_softmax_backward_function(&op);
    husk_ref_report report = {0};
    husk_ref_check(&function, options->seed, &dx, &report);
    husk_ref_softmax_backward_release(&op);
    bench_verdict_add(verdict, "dx", &report);
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    if (c->dir != BENCH_FWD) {
        verify_backward(c, data, output, options, verdict);
        return;
    }
    husk_softmax_params params = params_of(c, NULL);
    husk_ref_array x = bench_ref_array(&data->x), y = bench_ref_array(&output->y);
    husk_ref_softmax op = {.params = &params, .x = &x};
    // Without the rows' sums every output costs a row; slower, not wrong.
    husk_ref_softmax_prepare(&op);
    husk_ref_function function = husk_ref_softmax_function(&op);
    husk_ref_report report = {0};
    husk_ref_check(&function, options->seed, &y, &report);
    husk_ref_softmax_release(&op);
    bench_verdict_add(verdict, "y", &report);
}

static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int axes[] = {1, 2, 3, 15, 16, 17, 63, 64, 65, 100, 255, 256, 257, 1000, 1024, 4099};
    static const int inners[] = {1, 1, 1, 2, 7, 16, 33};
    if (index >= 80)
        return false;
    husk_ref_random draw = {.seed = 0x736f6674 + (uint64_t)(index % 40)};
    int axis = axes[husk_ref_random_below(&draw, 16)], inner = inners[husk_ref_random_below(&draw, 7)];
    int outer = 1 + (int)husk_ref_random_below(&draw, 20), log = (int)husk_ref_random_below(&draw, 2);
    log = axis > 1 ? log : 0; // the logarithm of one: zero throughout, which proves nothing
    if (axis == 1 && index >= 40)
        axis = 5; // rows of one element have no gradient
    snprintf(line, BENCH_CASE_TEXT, "softmax outer=%d axis=%d inner=%d log=%d dir=%s", outer, axis, inner, log,
             index < 40 ? "fwd" : "bwd");
    return true;
}

const bench_op bench_op_softmax = {
    .name = "softmax",
    .gradients = {[BENCH_BWD] = "softmax_backward"},
    .fields = fields,
    .common = BENCH_COMMON_DTYPE | BENCH_COMMON_DIR,
    .flops = flops,
    .bytes = bytes,
    .is_bandwidth = true,
    .narrows = true,
    .make_data = make_data,
    .husk_enqueue = husk_enqueue,
    .verify = verify,
    .generate = generate,
};
