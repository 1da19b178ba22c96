// SPDX-License-Identifier: MIT
// concat a b [outer inner dtype dir]
#include <stdio.h>

#include "cases/array.h"
#include "cases/op.h"
#include "ref/layout/concat.h"

static const bench_field fields[] = {
    BENCH_REQUIRED("a", as.concat.a, 1, "the first input's extent along the axis"),
    BENCH_REQUIRED("b", as.concat.b, 1, "the second's"),
    BENCH_INTEGER("outer", as.concat.outer, 1, 0, "extent before the axis"),
    BENCH_INTEGER("inner", as.concat.inner, 1, 0, "extent after it"),
    {.key = NULL},
};

static double elements(const bench_case *c)
{
    const bench_concat *own = &c->as.concat;
    return (double)own->outer * (double)(own->a + own->b) * (double)own->inner;
}

static double bytes(const bench_case *c)
{
    return 2 * bench_case_element(c) * elements(c);
}

// x and w are the inputs; of the gradient, y and the first further one are theirs.
static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const bench_concat *own = &c->as.concat;
    const int64_t a[3] = {own->outer, own->a, own->inner}, b[3] = {own->outer, own->b, own->inner},
                  whole[3] = {own->outer, own->a + own->b, own->inner};
    if (c->dir == BENCH_BWD) {
        if (!bench_array_make(&data->dy, HUSK_F32, 3, whole, NULL) || !bench_array_make(&data->y, HUSK_F32, 3, a, NULL))
            return false;
        bench_array_fill(&data->dy, seed, 4);
        return true;
    }
    if (!bench_array_make(&data->x, HUSK_F32, 3, a, NULL) || !bench_array_make(&data->w, HUSK_F32, 3, b, NULL) ||
        !bench_array_make(&data->y, HUSK_F32, 3, whole, NULL))
        return false;
    bench_array_fill(&data->x, seed, 4);
    bench_array_fill(&data->w, seed + 1, 4);
    return true;
}

static bool make_output(const bench_case *c, const bench_data *data, bench_output *output)
{
    const int64_t b[3] = {c->as.concat.outer, c->as.concat.b, c->as.concat.inner};
    (void)data;
    return c->dir == BENCH_FWD || bench_array_make(&output->gradients[0], HUSK_F32, 3, b, NULL);
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    const husk_concat_params params = HUSK_CONCAT_PARAMS(.axis = 1, .variant = job->form);
    const husk_tensor *const inputs[] = {&set->x, &set->w}, *const gradients[] = {&set->y, &set->gradients[0]};
    if (job->c->dir == BENCH_BWD)
        return husk_concat_backward(job->queue, &params, NULL, &set->dy, gradients, 2);
    return husk_concat(job->queue, &params, inputs, 2, &set->y);
}

static void verify_gradients(const bench_case *c, const bench_data *data, const bench_output *output,
                             const bench_verify_options *options, bench_verdict *verdict)
{
    const husk_concat_params params = HUSK_CONCAT_PARAMS(.axis = 1);
    husk_ref_array dy = bench_ref_array(&data->dy);
    const bench_array *const gradients[] = {&output->y, &output->gradients[0]};
    for (int i = 0; i < 2; i++) {
        husk_ref_array gradient = bench_ref_array(gradients[i]);
        husk_ref_concat_backward op = {
            .params = &params, .dy = &dy, .gradient = &gradient, .start = i ? c->as.concat.a : 0};
        husk_ref_function function = husk_ref_concat_backward_function(&op);
        husk_ref_report report = {0};
        husk_ref_check(&function, options->seed, &gradient, &report);
        bench_verdict_add(verdict, i ? "db" : "da", &report);
    }
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    if (c->dir == BENCH_BWD) {
        verify_gradients(c, data, output, options, verdict);
        return;
    }
    const husk_concat_params params = HUSK_CONCAT_PARAMS(.axis = 1);
    const husk_ref_array inputs[] = {bench_ref_array(&data->x), bench_ref_array(&data->w)};
    husk_ref_array y = bench_ref_array(&output->y);
    husk_ref_concat op = {.params = &params, .inputs = inputs, .count = 2};
    husk_ref_function function = husk_ref_concat_function(&op);
    husk_ref_report report = {0};
    husk_ref_check(&function, options->seed, &y, &report);
    bench_verdict_add(verdict, "y", &report);
}

static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int extents[] = {1, 3, 16, 33, 100};
    if (index >= 40)
        return false;
    snprintf(line, BENCH_CASE_TEXT, "concat a=%d b=%d outer=%d inner=%d%s", extents[index % 5],
             extents[(index / 5 + 2) % 5], 1 + (int)(index % 4) * 3, extents[index / 3 % 4],
             index % 2 ? " dir=bwd" : "");
    return true;
}

const bench_op bench_op_concat = {
    .name = "concat",
    .gradients = {[BENCH_BWD] = "concat_backward"},
    .fields = fields,
    .common = BENCH_COMMON_DTYPE | BENCH_COMMON_DIR,
    .flops = elements,
    .bytes = bytes,
    .is_bandwidth = true,
    .narrows = true,
    .make_data = make_data,
    .make_output = make_output,
    .husk_enqueue = husk_enqueue,
    .verify = verify,
    .generate = generate,
};
