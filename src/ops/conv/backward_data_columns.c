// SPDX-License-Identifier: MIT
// cl/lib/data_columns.clh: the gradient by the data as one product of matrices, dy's positions times the weights as
// they lie, and its columns brought to their places in dx, on CPU devices. For large strides, whose phases would be
// many convolutions of few channels, and for many weights beside few positions, which nothing then has to pack. The
// product is gemm's plan; the kernels are in cl/conv/backward_data_phases.cl, so that they are no program of their own.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "machine/predict.h"
#include "ops/conv/backward_problem.h"

#include <husk/ops/gemm.h>

static const husk__configuration MENU[] = {{"gemm", "", {0}}};

// MOST_PIXELS: of a plane of dx that is summed up in private memory, as in the kernel.
enum { MOST_PIXELS = 1024, GROUPS_PER_UNIT = 4 };

// What the product reaches of a core's multiply-adds; cycles of a patch's row and of its element to copy, of an element
// to sum up.
static const double PRODUCT_EFFICIENCY = 0.5, ROW_CYCLES = 8.0, COPY_CYCLES = 0.3, SUM_CYCLES = 1.0;

typedef struct state {
    const husk__kernel *kernel;
    husk__range range;
    husk_plan *product;
    husk_tensor dy, w, columns; // the product's matrices: views without offsets
} state;

static int64_t taps(const husk__conv_geometry *g)
{
    return g->kernel[1] * g->kernel[2];
}

// Patches that do not overlap: an element of dx meets one tap at most.
static bool are_apart(const husk__conv_geometry *g)
{
    bool apart = true;
    for (int i = 1; i < 3; ++i)
        apart = apart && (g->kernel[i] == 1 || (g->dilation[i] == 1 && g->kernel[i] <= g->stride[i]));
    return apart;
}

// Channels, rows and columns of a filter follow one another at one distance, and so do dy's positions. Where one
// element is repeated throughout the matrices' strides would be 0 alone, which means packed.
static bool are_matrices(const husk__conv_geometry *g)
{
    const int64_t *w = g->w_strides, *y = g->y_strides;
    const bool are_there = (w[0] != 0 || w[4] != 0) && (y[0] != 0 || y[1] != 0 || y[4] != 0);
    return are_there && (g->kernel[1] == 1 || w[3] == g->kernel[2] * w[4]) &&
           (g->channels == 1 || w[1] == taps(g) * w[4]) && (g->out[1] == 1 || y[3] == g->out[2] * y[4]);
}

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__conv_problem *problem = candidate->problem;
    const husk__conv_geometry *g = &problem->geometry;
    const char *rule = NULL;
    if (problem->dtype == HUSK_F64)
        rule = "f64, which phases and tiled compute";
    else if (problem->has_bias || problem->activation != HUSK_ACT_NONE)
        rule = "there is a bias or an activation";
    else if (g->groups != 1 || g->batch < 1 || g->filters < 1 || g->channels < 1 || g->out[1] < 1 || g->out[2] < 1)
        rule = "there are several groups, or nothing to multiply";
    else if (g->kernel[0] != 1 || g->in[0] != 1 || g->out[0] != 1 || g->pad[0] != 0)
        rule = "there are more than two dimensions of space";
    else if (taps(g) == 1 || !are_matrices(g))
        rule = "the filter is 1x1, or weights or dy are no matrices";
    else if (g->x_strides[4] != 1)
        rule = "columns of dx are not neighbours";
    else if (!are_apart(g) && (g->in[1] * g->in[2] > MOST_PIXELS || (g->in[1] > 1 && g->x_strides[3] != g->in[2])))
        rule = "patches overlap, and planes are large or have gaps";
    if (rule)
        snprintf(reason, HUSK__REASON_CAPACITY, "%s", rule);
    return !rule;
}

static int64_t column_count(const husk__conv_problem *problem)
{
    const husk__conv_geometry *g = &problem->geometry;
    return g->batch * g->out[1] * g->out[2] * g->channels * taps(g);
}

static double cost(const husk__candidate *candidate)
{
    const husk__conv_problem *problem = candidate->problem;
    const husk__conv_geometry *g = &problem->geometry;
    const husk_machine *machine = candidate->machine;
    const husk_machine_rates *rates = &machine->rates;
    const double columns = (double)column_count(problem), cores = machine->cores;
    const double product = husk__cycles_ns(rates, columns * (double)g->filters / machine->vector_width /
                                                      (rates->fma_per_cycle * PRODUCT_EFFICIENCY));
    // Every image reads the weights; columns are written, and read again.
    const double weight_bytes = (double)sizeof(float) * (double)husk__tensor_count(&problem->w);
    const double weights = (double)g->batch * weight_bytes / husk__read_rate(machine, rates, weight_bytes);
    const double element = are_apart(g) ? COPY_CYCLES + ROW_CYCLES / (double)g->kernel[2] : SUM_CYCLES;
    const double bytes = columns * (double)sizeof(float);
    const double place =
        husk__cycles_ns(rates, columns * element) + 2.0 * bytes / husk__read_rate(machine, rates, bytes);
    return rates->launch_ns +
           husk__launch_time(machine, rates, (fmax(product, weights) + place) / cores, machine->cores);
}

static uint64_t workspace(const husk__candidate *candidate)
{
    return (uint64_t)column_count(candidate->problem) * sizeof(float);
}

// ---- preparing ----

static husk_status plan_product(husk_plan *plan, const husk__scope *scope)
{
    const husk__conv_problem *problem = plan->problem;
    const husk__conv_geometry *g = &problem->geometry;
    state *s = plan->state;
    const int64_t positions = g->out[1] * g->out[2], row = g->channels * taps(g);
    s->dy = husk_tensor_make(NULL, problem->dtype, 3, (int64_t[]){g->batch, g->filters, positions});
    s->dy.strides[0] = g->y_strides[0];
    s->dy.strides[1] = g->y_strides[1];
    s->dy.strides[2] = g->y_strides[4];
    s->w = husk_tensor_make(NULL, problem->w.dtype, 2, (int64_t[]){g->filters, row});
    s->w.strides[0] = g->w_strides[0];
    s->w.strides[1] = g->w_strides[4];
    s->columns = husk_tensor_make(NULL, HUSK_F32, 3, (int64_t[]){g->batch, positions, row});
    const husk_gemm_params params = HUSK_GEMM_PARAMS(.transpose_a = 1, .precision = problem->precision,
                                                     .workspace_limit = husk__plan_inside_limit(plan));
    husk_error error = {0};
    const husk_status status =
        husk_gemm_plan_create(plan->context, &params, &s->dy, &s->w, NULL, &s->columns, &s->product, &error);
    if (status != HUSK_OK)
        return husk__fail_opencl(scope, status, error.opencl_code, "the product: %s", error.text);
    husk__plan_adopt(plan, s->product);
    // An engine's bound is wider than that of sums of f32.
    const double terms = 4.0 + 2.0 * sqrt((double)g->filters);
    plan->error_factor = fmax(plan->error_factor, s->product->error_factor / terms * plan->error_factor);
    return HUSK_OK;
}

static void unprepare(husk_plan *plan)
{
    state *s = plan->state;
    if (s)
        husk_plan_release(s->product);
    free(s);
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__conv_problem *problem = plan->problem;
    const husk__conv_geometry *g = &problem->geometry;
    const husk_device_traits *traits = husk_context_traits(plan->context);
    state *s = calloc(1, sizeof *s);
    if (!s)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = s;
    const int64_t units = are_apart(g) ? g->batch * g->channels * g->in[1]
                                       : g->batch * husk__divide_up(g->channels, traits->vector_width);
    const int64_t most = GROUPS_PER_UNIT * husk__max_i64(1, traits->compute_units);
    s->range = (husk__range){{(size_t)husk__min_i64(units, most), 1, 1}, {1, 1, 1}};
    husk_status status = husk__kernel_get(
        plan->context, "conv/backward_data_phases.cl", husk__dtype_option(problem->dtype),
        are_apart(g) ? "husk_conv_backward_data_patches" : "husk_conv_backward_data_columns", &s->kernel, scope);
    return status == HUSK_OK ? plan_product(plan, scope) : status;
}

// ---- running ----

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const husk__conv_backward_data_arguments *arguments = untyped;
    const state *s = plan->state;
    const husk__conv_problem *problem = plan->problem;
    husk_tensor dy = s->dy, w = s->w, columns = s->columns;
    dy.buffer = arguments->dy->buffer;
    dy.offset = arguments->dy->offset;
    w.buffer = arguments->w->buffer;
    w.offset = arguments->w->offset;
    columns.buffer = scratch->buffer;
    husk_status status = husk_gemm_plan_run(s->product, queue, 1.0f, &dy, &w, NULL, 0.0f, &columns);
    if (status != HUSK_OK)
        return status;
    husk__arg list[2 + HUSK__CONV_GEOMETRY_ARGUMENTS + 2];
    size_t count = 0;
    list[count++] = HUSK__ARG_BUFFER(scratch->buffer, 0, sizeof(float));
    list[count++] = HUSK__ARG_TENSOR(arguments->dx);
    count += husk__conv_geometry_arguments(list + count, &problem->geometry);
    list[count++] = HUSK__ARG_I32(husk__conv_backward_flags(problem, arguments->dx->dtype));
    return husk__launch(queue, s->kernel, &s->range, list, count, scope);
}

const husk__variant husk__conv_backward_data_columns = {
    .name = "columns",
    .family = HUSK__FAMILY_CPU,
    .configurations = MENU,
    .configuration_count = sizeof MENU / sizeof *MENU,
    .supports = supports,
    .cost = cost,
    .workspace = workspace,
    .error_factor = husk__conv_backward_data_error_factor,
    .flops = husk__conv_flops,
    .prepare = prepare,
    .unprepare = unprepare,
    .run = run,
};
