// SPDX-License-Identifier: MIT
// The variants of quantized_conv: choose -> launch. Kernels: cl/quantized/conv_*.cl.
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/quantized/conv_problem.h"
#include "select/grid.h"

typedef husk__quantized_conv_problem problem;
typedef husk__quantized_run arguments;

// ---- implicit_gemm: CPU devices ----

static const husk__products_kernels kernels = {"quantized/conv_implicit_gemm.cl", "husk_quantized_conv_pack",
                                               "husk_quantized_conv_implicit_gemm"};

static uint64_t image_bytes(const problem *own)
{
    return own->is_direct ? 0 : husk__quantized_conv_laid_out_bytes(own);
}

static bool supports_gemm(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    return husk__products_supports(&((const problem *)candidate->problem)->products, reason);
}

static const double LAID_OUT_NS = 0.2; // nanoseconds of a byte of the image laid out, see cl/lib/quantized_lay_out.clh

static double cost_gemm(const husk__candidate *candidate)
{
    const problem *own = candidate->problem;
    return husk__products_cost(&own->products, candidate) +
           LAID_OUT_NS * (double)image_bytes(own) / (double)candidate->traits->compute_units;
}

static uint64_t workspace_gemm(const husk__candidate *candidate)
{
    const problem *own = candidate->problem;
    return image_bytes(own) + husk__products_workspace(&own->products, candidate, own->tensors.is_packed);
}

static husk_status prepare_gemm(husk_plan *plan, const husk__scope *scope)
{
    return husk__products_prepare(plan, &((const problem *)plan->problem)->products, &kernels, scope);
}

static husk_status run_gemm(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                            const husk__scope *scope)
{
    const problem *own = plan->problem;
    const arguments *given = untyped;
    husk__products products = own->products;
    if (!own->is_direct && image_bytes(own) > 0) {
        const husk__kernel *kernel;
        husk_status status =
            husk__products_kernel(plan, &own->products, kernels.file, "husk_quantized_conv_lay_out", &kernel, scope);
        if (status == HUSK_OK)
            status = husk__quantized_conv_lay_out(plan, kernel, queue, given, scratch, scope);
        if (status != HUSK_OK)
            return status;
    }
    const husk__products_run run = {.a = own->is_direct ? HUSK__ARG_TENSOR(given->input)
                                                        : HUSK__ARG_BUFFER(scratch->buffer, 0, 1),
                                    .c = HUSK__ARG_TENSOR(given->output),
                                    .b = given->weights,
                                    .b_scale = given->scale,
                                    .bias = given->bias,
                                    .a_quantization = given->input_quantization,
                                    .c_quantization = given->output_quantization,
                                    .a_is_flipped = !own->is_direct};
    return husk__products_run_all(plan, queue, &products, &run, scratch, image_bytes(own), scope);
}

husk_status husk__quantized_conv_pack(const husk_plan *plan, husk_queue *queue, const husk_tensor *w,
                                      husk_packed **packed, const husk__scope *scope)
{
    const problem *own = plan->problem;
    const husk__candidate candidate = husk__candidate_of(plan);
    husk__products products = own->products;
    int64_t strides[5];
    husk__quantized_conv_strides(w, strides);
    husk__quantized_conv_set_weights(&products, strides, own->filters);
    husk_status status = husk__packed_create(plan, husk__products_panel_bytes(&products, &candidate),
                                             &own->tensors.weights, packed, scope);
    if (status != HUSK_OK || products.n == 0)
        return status;
    const husk__arg to = HUSK__ARG_BUFFER((*packed)->buffer, 0, 4);
    status = husk__products_pack(plan, queue, &products, w, &to, scope);
    if (status != HUSK_OK) {
        husk_packed_release(*packed);
        *packed = NULL;
    }
    return status;
}

const husk__variant husk__quantized_conv_implicit_gemm = {
    .name = "implicit_gemm",
    .family = HUSK__FAMILY_CPU,
    .configurations = husk__products_menu,
    .configuration_count = HUSK__PRODUCTS_MENU,
    .supports = supports_gemm,
    .cost = cost_gemm,
    .workspace = workspace_gemm,
    .flops = husk__quantized_conv_flops,
    .prepare = prepare_gemm,
    .run = run_gemm,
};

// ---- grid: GPUs ----

enum { GRID_GROUPS_PER_UNIT = 16 };

typedef struct grid_state {
    const husk__kernel *kernel;
    husk__range range;
    int64_t total;
} grid_state;

static bool supports_grid(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const problem *own = candidate->problem;
    if (own->tensors.is_packed) {
        snprintf(reason, HUSK__REASON_CAPACITY, "it takes w as it is");
        return false;
    }
    return husk__products_supports(&own->products, reason) && husk__quantized_conv_fits_int(own, reason) &&
           husk__grid_supports(candidate, reason);
}

static husk_status prepare_grid(husk_plan *plan, const husk__scope *scope)
{
    const problem *own = plan->problem;
    const husk_dtype dtype = own->tensors.output.dtype;
    grid_state *state = calloc(1, sizeof *state);
    plan->state = state; // freed with the plan
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    const int64_t items = husk__grid_items(plan->configuration);
    const int64_t most = GRID_GROUPS_PER_UNIT * (int64_t)husk_context_traits(plan->context)->compute_units;
    state->total = husk__tensor_count(&own->tensors.output);
    state->range =
        (husk__range){{(size_t)husk__min_i64(husk__divide_up(state->total, items), most), 1, 1}, {(size_t)items, 1, 1}};
    char options[128];
    snprintf(options, sizeof options, "%s %s%s",
             husk__dtype_option(dtype == HUSK_F16 || dtype == HUSK_BF16 ? dtype : HUSK_F32),
             own->products.activation_is_smooth ? "-DACT_SMOOTH " : "", plan->configuration->options);
    return husk__kernel_get(plan->context, "quantized/conv_grid.cl", options, "husk_quantized_conv_grid",
                            &state->kernel, scope);
}

static husk__arg *write_strides(const int64_t strides[5], husk__arg *end)
{
    for (int i = 0; i < 5; ++i)
        *end++ = HUSK__ARG_I64(strides[i]);
    return end;
}

static husk_status run_grid(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                            const husk__scope *scope)
{
    const grid_state *state = plan->state;
    const problem *own = plan->problem;
    const arguments *given = untyped;
    husk__arg list[48 + HUSK__PRODUCTS_FINISH_ARGS], *end = list;
    (void)scratch;
    *end++ = HUSK__ARG_TENSOR(given->input);
    end = write_strides(own->x_strides, end);
    *end++ = HUSK__ARG_I32(own->tensors.input.dtype == HUSK_I8 ? 128 : 0);
    *end++ = HUSK__ARG_TENSOR(given->weights);
    end = write_strides(own->w_strides, end);
    *end++ = HUSK__ARG_TENSOR(given->output);
    end = write_strides(own->y_strides, end);
    *end++ = HUSK__ARG_I32(own->channels);
    *end++ = HUSK__ARG_I32(own->filters);
    end = husk__quantized_conv_write_window(own, own->in, own->pad, end);
    *end++ = HUSK__ARG_I32(own->groups * own->filters);
    *end++ = HUSK__ARG_I32(own->y_strides[1] == 1);
    *end++ = HUSK__ARG_I64(state->total);
    *end++ = HUSK__ARG_I32(given->input_quantization.zero);
    end = husk__products_write_finish(&own->products, given->scale, given->bias, &given->input_quantization,
                                      &given->output_quantization, end);
    return husk__launch(queue, state->kernel, &state->range, list, (size_t)(end - list), scope);
}

const husk__variant husk__quantized_conv_grid = {
    .name = "grid",
    .family = HUSK__FAMILY_GPU,
    .configurations = husk__grid_menu,
    .configuration_count = HUSK__GRID_CONFIGURATIONS,
    .supports = supports_grid,
    .cost = husk__grid_cost,
    .flops = husk__quantized_conv_flops,
    .prepare = prepare_grid,
    .run = run_grid,
};
