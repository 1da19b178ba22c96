// SPDX-License-Identifier: MIT
// binary rows columns [op b dtype dir]
#include <math.h>
#include <stdio.h>

#include "cases/array.h"
#include "cases/op.h"
#include "common/text.h"
#include "ref/elementwise/binary.h"

static const bench_choice op_choices[] = {
#define CHOICE(name, number, text) {text, number},
    HUSK_BINARY_LIST(CHOICE)
#undef CHOICE
        {NULL, 0},
};

static const bench_choice b_choices[] = {
    {"full", BENCH_FULL}, {"row", BENCH_ROW}, {"column", BENCH_COLUMN}, {"scalar", BENCH_SCALAR}, {NULL, 0},
};

static const bench_field fields[] = {
    BENCH_REQUIRED("rows", as.binary.rows, 0, "rows of a and y"),
    BENCH_REQUIRED("columns", as.binary.columns, 0, "columns of a and y"),
    BENCH_CHOICE("op", as.binary.op, HUSK_BINARY_ADD, op_choices, "the function"),
    BENCH_CHOICE("b", as.binary.b, BENCH_FULL, b_choices, "what of its shape b has; the rest is broadcast"),
    {.key = NULL},
};

static void shape_of_b(const bench_binary *own, int64_t shape[2])
{
    shape[0] = own->b == BENCH_FULL || own->b == BENCH_COLUMN ? own->rows : 1;
    shape[1] = own->b == BENCH_FULL || own->b == BENCH_ROW ? own->columns : 1;
}

static bool normalise(bench_case *c, char reason[BENCH_REASON_TEXT])
{
    if (c->dir == BENCH_FWD || c->as.binary.op < HUSK_BINARY_EQUAL)
        return true;
    return bench_explain(reason, BENCH_REASON_TEXT, "%s has no gradient",
                         husk_binary_name((husk_binary_op)c->as.binary.op));
}

static double flops(const bench_case *c)
{
    return (double)c->as.binary.rows * (double)c->as.binary.columns;
}

static double operands(const bench_case *c)
{
    int64_t shape[2];
    shape_of_b(&c->as.binary, shape);
    const double b = (double)shape[0] * (double)shape[1], size = bench_case_element(c);
    if (c->dir == BENCH_FWD)
        return size * (2 * flops(c) + b);
    // dy and da; db; a and b where they are read.
    const bool reads = c->as.binary.op > HUSK_BINARY_SUBTRACT;
    return size * (2 * flops(c) + b + (reads ? flops(c) + b : 0));
}

// Where y is empty, nothing is read, and db is zeros.
static double bytes(const bench_case *c)
{
    int64_t shape[2];
    shape_of_b(&c->as.binary, shape);
    if (flops(c) > 0)
        return operands(c);
    return c->dir == BENCH_FWD ? 0 : bench_case_element(c) * (double)shape[0] * (double)shape[1];
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const int64_t shape[2] = {c->as.binary.rows, c->as.binary.columns};
    int64_t b_shape[2];
    shape_of_b(&c->as.binary, b_shape);
    if (!bench_array_make(&data->x, HUSK_F32, 2, shape, NULL) ||
        !bench_array_make(&data->w, HUSK_F32, 2, b_shape, NULL) ||
        !bench_array_make(&data->y, HUSK_F32, 2, shape, NULL))
        return false;
    bench_array_fill(&data->x, seed, 4);
    bench_array_fill(&data->w, seed + 1, 4);
    for (int64_t i = 0; c->as.binary.op == HUSK_BINARY_POWER && i < shape[0] * shape[1]; i++)
        ((float *)data->x.data)[i] = fabsf(((float *)data->x.data)[i]);
    if (c->dir == BENCH_FWD)
        return true;
    if (!bench_array_make(&data->dy, HUSK_F32, 2, shape, NULL))
        return false;
    bench_array_fill(&data->dy, seed + 2, 1);
    return true;
}

// db; da is y.
static bool make_output(const bench_case *c, const bench_data *data, bench_output *output)
{
    return c->dir == BENCH_FWD || bench_array_make(&output->gradients[0], HUSK_F32, 2, data->w.shape, NULL);
}

static husk_binary_params params_of(const bench_case *c, const char *variant)
{
    husk_binary_params params = husk_binary_defaults(c->as.binary.op);
    params.variant = variant;
    return params;
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    husk_binary_params params = params_of(job->c, job->form);
    if (job->c->dir == BENCH_BWD)
        return husk_binary_backward(job->queue, &params, &set->x, &set->w, &set->dy, &set->y, &set->gradients[0]);
    return husk_binary(job->queue, &params, &set->x, &set->w, &set->y);
}

static void verify_gradients(const bench_case *c, const bench_data *data, const bench_output *output,
                             const bench_verify_options *options, bench_verdict *verdict)
{
    husk_binary_params params = params_of(c, NULL);
    husk_ref_array a = bench_ref_array(&data->x), b = bench_ref_array(&data->w), dy = bench_ref_array(&data->dy);
    const bench_array *const gradients[] = {&output->y, &output->gradients[0]};
    for (int i = 0; i < 2; i++) {
        husk_ref_array gradient = bench_ref_array(gradients[i]);
        husk_ref_binary_backward op = {.params = &params, .a = &a, .b = &b, .dy = &dy, .gradient = &gradient};
        op.by_b = i == 1;
        husk_ref_function function = husk_ref_binary_backward_function(&op);
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
    husk_binary_params params = params_of(c, NULL);
    husk_ref_array a = bench_ref_array(&data->x), b = bench_ref_array(&data->w), y = bench_ref_array(&output->y);
    husk_ref_binary op = {.params = &params, .a = &a, .b = &b};
    husk_ref_function function = husk_ref_binary_function(&op);
    husk_ref_report report = {0};
    husk_ref_check(&function, options->seed, &y, &report);
    bench_verdict_add(verdict, "y", &report);
}

// Every function with every way of broadcasting; random numbers are never equal.
static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int columns[] = {1, 15, 257, 1031};
    const husk_binary_op op = (husk_binary_op)(index % 13);
    if (index >= 80)
        return false;
    if (index >= 52) { // gradients of the kinds that have them
        const int64_t k = index - 52;
        snprintf(line, BENCH_CASE_TEXT, "binary rows=%d columns=%d op=%s b=%s dir=bwd", 3 + (int)k % 5,
                 columns[1 + k % 3], husk_binary_name((husk_binary_op)(k % 7)), b_choices[k / 7].text);
        return true;
    }
    snprintf(line, BENCH_CASE_TEXT, "binary rows=%d columns=%d op=%s b=%s", 3 + (int)index % 5, columns[index / 13],
             husk_binary_name(op == HUSK_BINARY_EQUAL ? HUSK_BINARY_ADD : op), b_choices[index % 4].text);
    return true;
}

const bench_op bench_op_binary = {
    .name = "binary",
    .gradients = {[BENCH_BWD] = "binary_backward"},
    .fields = fields,
    .common = BENCH_COMMON_DTYPE | BENCH_COMMON_DIR,
    .normalise = normalise,
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
