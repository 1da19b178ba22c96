// SPDX-License-Identifier: MIT
// grad_norm count [tensors kind dtype]
#include <stdio.h>

#include "cases/array.h"
#include "cases/op.h"
#include "ref/optimizer/grad_norm.h"

static const bench_choice kind_choices[] = {
    {"euclidean", HUSK_GRAD_NORM_EUCLIDEAN}, {"maximum", HUSK_GRAD_NORM_MAXIMUM}, {NULL, 0}};

static const bench_field fields[] = {
    BENCH_REQUIRED("count", as.grad_norm.count, 1, "elements of a tensor"),
    BENCH_INTEGER("tensors", as.grad_norm.tensors, 1, 1, "tensors in the list, 256 at most"),
    BENCH_CHOICE("kind", as.grad_norm.kind, HUSK_GRAD_NORM_EUCLIDEAN, kind_choices, "euclidean or maximum"),
    {.key = NULL},
};

static bool normalise(bench_case *c, char reason[BENCH_REASON_TEXT])
{
    snprintf(reason, BENCH_REASON_TEXT, "tensors is more than %d", (int)BENCH_LIST_MOST);
    return c->as.grad_norm.tensors <= BENCH_LIST_MOST;
}

static double flops(const bench_case *c)
{
    return 2.0 * (double)c->as.grad_norm.count * (double)c->as.grad_norm.tensors;
}

static double bytes(const bench_case *c)
{
    return 2.0 * flops(c);
}

// The list is the rows of x.
static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const int64_t shape[] = {c->as.grad_norm.tensors, c->as.grad_norm.count};
    if (!bench_array_make(&data->x, HUSK_F32, 2, shape, NULL) || !bench_array_make(&data->y, HUSK_F32, 0, shape, NULL))
        return false;
    bench_array_fill(&data->x, seed, 2.0f);
    return true;
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    const bench_grad_norm *own = &job->c->as.grad_norm;
    const husk_grad_norm_params params =
        HUSK_GRAD_NORM_PARAMS(.kind = (husk_grad_norm_kind)own->kind, .variant = job->form);
    husk_tensor rows[BENCH_LIST_MOST];
    const husk_tensor *list[BENCH_LIST_MOST];
    for (int64_t i = 0; i < own->tensors; i++) {
        rows[i] = husk_tensor_slice(&set->x, 0, i, 1, 1);
        list[i] = &rows[i];
    }
    return husk_grad_norm(job->queue, &params, list, (size_t)own->tensors, &set->y, NULL);
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    const husk_grad_norm_params params = HUSK_GRAD_NORM_PARAMS(.kind = (husk_grad_norm_kind)c->as.grad_norm.kind);
    const husk_ref_array x = bench_ref_array(&data->x), y = bench_ref_array(&output->y);
    const husk_ref_array *const list[] = {&x};
    const husk_ref_grad_norm op = {.params = &params, .tensors = list, .count = 1};
    const husk_ref_function function = husk_ref_grad_norm_function(&op);
    husk_ref_report report = {0};
    husk_ref_check(&function, options->seed, &y, &report);
    bench_verdict_add(verdict, "norm", &report);
}

static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int counts[] = {1, 15, 17, 1000, 4099, 16385};
    if (index >= 36)
        return false;
    snprintf(line, BENCH_CASE_TEXT, "grad_norm count=%d tensors=%d kind=%s", counts[index % 6],
             1 + (int)(index / 6) * 7, kind_choices[index / 3 % 2].text);
    return true;
}

const bench_op bench_op_grad_norm = {
    .name = "grad_norm",
    .fields = fields,
    .common = BENCH_COMMON_DTYPE,
    .normalise = normalise,
    .flops = flops,
    .bytes = bytes,
    .is_bandwidth = true,
    .make_data = make_data,
    .husk_enqueue = husk_enqueue,
    .verify = verify,
    .generate = generate,
};
