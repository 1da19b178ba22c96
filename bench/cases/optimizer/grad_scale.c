// SPDX-License-Identifier: MIT
// grad_scale count [tensors clips dtype]
//
// In place and measured one after the other, so the list is a fixed point: clipped numbers stay, and so do those that
// are looked through alone. The last number of all is not finite, which has to be found each time: infinity, or NaN
// where infinity would be clipped.
#include <math.h>
#include <stdio.h>

#include "cases/array.h"
#include "cases/op.h"
#include "ref/optimizer/grad_scale.h"

static const bench_field fields[] = {
    BENCH_REQUIRED("count", as.grad_scale.count, 1, "elements of a tensor"),
    BENCH_INTEGER("tensors", as.grad_scale.tensors, 1, 1, "tensors in the list, 256 at most"),
    BENCH_CHOICE("clips", as.grad_scale.clips, 0, bench_flag_choices, "1: to within a limit, 0: looked through alone"),
    {.key = NULL},
};

static bool normalise(bench_case *c, char reason[BENCH_REASON_TEXT])
{
    snprintf(reason, BENCH_REASON_TEXT, "tensors is more than %d", (int)BENCH_LIST_MOST);
    return c->as.grad_scale.tensors <= BENCH_LIST_MOST;
}

static double elements(const bench_case *c)
{
    return (double)c->as.grad_scale.count * (double)c->as.grad_scale.tensors;
}

static double bytes(const bench_case *c)
{
    return (c->as.grad_scale.clips ? 8.0 : 4.0) * elements(c);
}

// The list is the rows of y; x is what there was before.
static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const int64_t shape[] = {c->as.grad_scale.tensors, c->as.grad_scale.count};
    if (!bench_array_make(&data->x, HUSK_F32, 2, shape, NULL))
        return false;
    bench_array_fill(&data->x, seed, 2.0f);
    ((float *)data->x.data)[data->x.count - 1] = c->as.grad_scale.clips ? NAN : INFINITY;
    return bench_array_clone(&data->y, &data->x);
}

// found
static bool make_output(const bench_case *c, const bench_data *data, bench_output *output)
{
    (void)c;
    return bench_array_make(&output->gradients[0], HUSK_F32, 0, data->x.shape, NULL);
}

static husk_grad_scale_params params_of(const bench_case *c, const char *variant)
{
    husk_grad_scale_params params = husk_grad_scale_defaults();
    params.limit = c->as.grad_scale.clips ? 1.0f : 0.0f;
    params.variant = variant;
    return params;
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    const bench_grad_scale *own = &job->c->as.grad_scale;
    const husk_grad_scale_params params = params_of(job->c, job->form);
    husk_tensor rows[BENCH_LIST_MOST];
    const husk_tensor *list[BENCH_LIST_MOST];
    for (int64_t i = 0; i < own->tensors; i++) {
        rows[i] = husk_tensor_slice(&set->y, 0, i, 1, 1);
        list[i] = &rows[i];
    }
    return husk_grad_scale(job->queue, &params, list, (size_t)own->tensors, NULL, &set->gradients[0]);
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    const husk_grad_scale_params params = params_of(c, NULL);
    const husk_ref_array x = bench_ref_array(&data->x), y = bench_ref_array(&output->y);
    const husk_ref_grad_scale op = {.params = &params, .before = &x, .by = 1.0};
    const husk_ref_function function = husk_ref_grad_scale_function(&op);
    const int64_t nowhere[1] = {0};
    husk_ref_report found = {0}, report = {0};
    husk_ref_report_add(&found, 0, nowhere, husk_ref_grad_scale_found(&x), 0.0, *(float *)output->gradients[0].data);
    bench_verdict_add(verdict, "found", &found);
    husk_ref_check(&function, options->seed, &y, &report);
    bench_verdict_add(verdict, "list", &report);
}

static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int counts[] = {1, 15, 17, 1000, 4099, 16385};
    if (index >= 36)
        return false;
    snprintf(line, BENCH_CASE_TEXT, "grad_scale count=%d tensors=%d clips=%d", counts[index % 6],
             1 + (int)(index / 6) * 7, (int)(index / 3 % 2));
    return true;
}

const bench_op bench_op_grad_scale = {
    .name = "grad_scale",
    .fields = fields,
    .common = BENCH_COMMON_DTYPE,
    .normalise = normalise,
    .flops = elements,
    .bytes = bytes,
    .is_bandwidth = true,
    .make_data = make_data,
    .make_output = make_output,
    .husk_enqueue = husk_enqueue,
    .verify = verify,
    .generate = generate,
};
