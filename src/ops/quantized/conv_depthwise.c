// SPDX-License-Identifier: MIT
// Variant depthwise of quantized_conv, for CPU devices: one filter for each channel. Kernels:
// cl/quantized/conv_depthwise.cl.
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "ops/quantized/conv_problem.h"

typedef husk__quantized_conv_problem problem;
typedef husk__quantized_run arguments;

enum {
    MOST_TAPS = 1 << 16, // whose sum fits a word
    MOST_ROWS = 16, // of a filter: KEPT_QUADS in the kernel
    GROUPS_PER_UNIT = 4,
    FEW_PRODUCTS = 200000 // not worth waking another core for
};

// What the number of a configuration means.
enum { DOT };
enum { QUADS, PAIRS, PLAIN };

typedef struct state {
    const husk__kernel *pack, *lay_out, *multiply;
    husk__range range;
    int64_t rows, share, block;
    int32_t literals; // what the kernel has them for: 10 * taps + stride, or 0
} state;

static int64_t taps_of(const problem *own)
{
    return own->filter[0] * own->filter[1] * own->filter[2];
}

// An image of no elements has no row to read instead of those outside: laid out, it is zero points.
static bool is_laid_out(const problem *own)
{
    return own->x_strides[1] != 1 || own->in[0] * own->in[1] * own->in[2] == 0;
}

static uint64_t image_bytes(const problem *own)
{
    return is_laid_out(own) ? husk__quantized_conv_laid_out_bytes(own) : 0;
}

static uint64_t weight_bytes(const problem *own)
{
    const int64_t quads = husk__divide_up(own->filter[0] * own->filter[1], 4);
    return 4 * (uint64_t)((quads * own->filter[2] + 1) * own->groups);
}

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const problem *own = candidate->problem;
    if (!husk__products_supports(&own->products, reason) || !husk__quantized_conv_fits_int(own, reason))
        return false;
    snprintf(reason, HUSK__REASON_CAPACITY, "needs one filter for each channel, of at most %d elements", MOST_TAPS);
    return own->channels == 1 && own->filters == 1 && taps_of(own) <= MOST_TAPS;
}

static int32_t literals_of(const problem *own)
{
    const int64_t taps = own->filter[2], stride = own->stride[2];
    const bool is_there = own->filter[0] * own->filter[1] <= MOST_ROWS && (taps == 3 || taps == 5) &&
                          (stride == 1 || stride == 2) && own->dilation[2] == 1;
    return is_there ? (int32_t)(10 * taps + stride) : 0;
}

static double products_of(const problem *own)
{
    return (double)own->products.m * (double)own->groups * (double)taps_of(own);
}

// Nanoseconds, which follow from the kernel's instructions, those of quads; cost_of below is the others' factor.
static const double LANE_NS = 0.8;     // of a tap and a lane, where channels are read one by one
static const double FITTING_NS = 0.15; // of a tap and a vector, in a strip whose columns are read once: FITTING
static const double TAP_NS = 0.6;      // ... where each output gathers its own
static const double STORE_NS = 5.0;    // of a vector of sums: corrected, scaled and stored
static const double LAID_OUT_NS = 0.2; // of a byte of the image laid out

// Nanoseconds: vectors of products, of which fewer channels than a vector has are read one by one, and vectors that are
// stored.
static double cost(const husk__candidate *candidate)
{
    const problem *own = candidate->problem;
    const double width = candidate->traits->vector_width;
    const bool is_whole = (double)own->groups >= width;
    const double vectors = (double)own->products.m * (is_whole ? (double)own->groups / width : 1.0);
    static const double cost_of[] = {1.0, 1.8, 3.0};
    const double each = !is_whole ? LANE_NS * width : literals_of(own) ? FITTING_NS : TAP_NS;
    const double work =
        vectors * ((double)taps_of(own) * each * cost_of[candidate->configuration->values[DOT]] + STORE_NS);
    return (work + LAID_OUT_NS * (double)image_bytes(own)) / (double)candidate->traits->compute_units;
}

static uint64_t workspace(const husk__candidate *candidate)
{
    const problem *own = candidate->problem;
    return image_bytes(own) + (own->tensors.is_packed ? 0 : weight_bytes(own));
}

// Rows first; few of them are divided by channels, too, in blocks of whole vectors.
static void divide(const problem *own, const husk_device_traits *traits, state *made)
{
    const int64_t units = traits->compute_units, width = traits->vector_width;
    made->rows = own->batch * own->out[0] * own->out[1];
    const int64_t wanted = products_of(own) < FEW_PRODUCTS ? 1 : GROUPS_PER_UNIT * units;
    const int64_t row_parts = husk__max_i64(husk__min_i64(made->rows, wanted), 1);
    made->share = husk__max_i64(husk__divide_up(made->rows, row_parts), 1);
    const int64_t vectors = husk__max_i64(own->groups / width, 1);
    const int64_t parts = husk__min_i64(husk__divide_up(wanted, row_parts), vectors);
    made->block = vectors / parts * width;
    made->range = (husk__range){{(size_t)husk__divide_up(made->rows, made->share), (size_t)parts, 1}, {1, 1, 1}};
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    static const char file[] = "quantized/conv_depthwise.cl";
    const problem *own = plan->problem;
    state *made = calloc(1, sizeof *made);
    plan->state = made; // freed with the plan
    if (!made)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    husk_status status =
        plan->configuration->values[DOT] == QUADS ? husk__products_ask_quads(plan->context, scope) : HUSK_OK;
    if (status != HUSK_OK)
        return status;
    made->literals = literals_of(own);
    divide(own, husk_context_traits(plan->context), made);
    status = husk__products_kernel(plan, &own->products, file, "husk_quantized_conv_depthwise", &made->multiply, scope);
    if (status == HUSK_OK)
        status =
            husk__products_kernel(plan, &own->products, file, "husk_quantized_conv_depthwise_pack", &made->pack, scope);
    if (status == HUSK_OK && is_laid_out(own))
        status = husk__products_kernel(plan, &own->products, file, "husk_quantized_conv_depthwise_lay_out",
                                       &made->lay_out, scope);
    return status;
}

static husk_status pack_into(const husk_plan *plan, husk_queue *queue, const husk_tensor *w, const husk__arg *to,
                             const husk__scope *scope)
{
    const state *made = plan->state;
    const problem *own = plan->problem;
    const int64_t width = husk_context_traits(plan->context)->vector_width;
    const husk__range range = {{(size_t)husk__divide_up(own->groups, width), 1, 1}, {1, 1, 1}};
    int64_t strides[5];
    husk__quantized_conv_strides(w, strides);
    return HUSK__LAUNCH(queue, made->pack, &range, scope, HUSK__ARG_TENSOR(w), HUSK__ARG_I64(strides[0]),
                        HUSK__ARG_I64(strides[2]), HUSK__ARG_I64(strides[3]), HUSK__ARG_I64(strides[4]),
                        HUSK__ARG_I32(own->filter[0] * own->filter[1]), HUSK__ARG_I32(own->filter[1]),
                        HUSK__ARG_I32(own->filter[2]), HUSK__ARG_I32(own->groups), *to);
}

husk_status husk__quantized_conv_depthwise_pack(const husk_plan *plan, husk_queue *queue, const husk_tensor *w,
                                                husk_packed **packed, const husk__scope *scope)
{
    const problem *own = plan->problem;
    husk_status status = husk__packed_create(plan, weight_bytes(own), &own->tensors.weights, packed, scope);
    if (status != HUSK_OK || weight_bytes(own) == 0)
        return status;
    const husk__arg to = HUSK__ARG_BUFFER((*packed)->buffer, 0, 4);
    status = pack_into(plan, queue, w, &to, scope);
    if (status != HUSK_OK) {
        husk_packed_release(*packed);
        *packed = NULL;
    }
    return status;
}

// An image laid out has its padding around it.
static husk__arg *write_image(const problem *own, const arguments *given, const husk__scratch *scratch, husk__arg *end)
{
    if (!is_laid_out(own)) {
        *end++ = HUSK__ARG_TENSOR(given->input);
        *end++ = HUSK__ARG_I64(own->x_strides[0]);
        for (int i = 2; i < 5; ++i)
            *end++ = HUSK__ARG_I64(own->x_strides[i]);
        *end++ = HUSK__ARG_I32(own->tensors.input.dtype == HUSK_I8 ? 128 : 0);
        return end;
    }
    int64_t steps[4];
    husk__quantized_conv_laid_out_steps(own, steps);
    *end++ = HUSK__ARG_BUFFER(scratch->buffer, 0, 1);
    for (int i = 0; i < 4; ++i)
        *end++ = HUSK__ARG_I64(steps[i]);
    *end++ = HUSK__ARG_I32(0);
    return end;
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    static const int64_t none[3];
    const state *made = plan->state;
    const problem *own = plan->problem;
    const arguments *given = untyped;
    husk__arg weights = HUSK__ARG_BUFFER(given->weights->packed ? given->weights->packed->buffer : scratch->buffer,
                                         given->weights->packed ? 0 : image_bytes(own), 4);
    husk_status status = HUSK_OK;
    if (!given->weights->packed)
        status = pack_into(plan, queue, given->weights, &weights, scope);
    if (status == HUSK_OK && made->lay_out)
        status = husk__quantized_conv_lay_out(plan, made->lay_out, queue, given, scratch, scope);
    if (status != HUSK_OK)
        return status;
    int64_t in[3];
    for (int d = 0; d < 3; ++d)
        in[d] = made->lay_out ? own->in[d] + own->pad[d] + own->pad_end[d] : own->in[d];
    husk__arg list[48 + HUSK__PRODUCTS_FINISH_ARGS], *end = write_image(own, given, scratch, list);
    *end++ = weights;
    *end++ = HUSK__ARG_TENSOR(given->output);
    for (int i = 0; i < 5; ++i)
        *end++ = HUSK__ARG_I64(own->y_strides[i]);
    *end++ = HUSK__ARG_I32(own->groups);
    end = husk__quantized_conv_write_window(own, in, made->lay_out ? none : own->pad, end);
    *end++ = HUSK__ARG_I32(made->literals);
    *end++ = HUSK__ARG_I32(made->block);
    *end++ = HUSK__ARG_I64(made->rows);
    *end++ = HUSK__ARG_I64(made->share);
    end = husk__products_write_finish(&own->products, given->scale, given->bias, &given->input_quantization,
                                      &given->output_quantization, end);
    return husk__launch(queue, made->multiply, &made->range, list, (size_t)(end - list), scope);
}

static const husk__configuration menu[] = {
    {"quads", "-DDOT_QUADS", {QUADS}}, // AVX-512 VNNI
    {"pairs", "", {PAIRS}}, // x86
    {"plain", "-DDOT_PLAIN", {PLAIN}},
};

const husk__variant husk__quantized_conv_depthwise = {
    .name = "depthwise",
    .family = HUSK__FAMILY_CPU,
    .configurations = menu,
    .configuration_count = sizeof menu / sizeof *menu,
    .supports = supports,
    .cost = cost,
    .workspace = workspace,
    .flops = husk__quantized_conv_flops,
    .prepare = prepare,
    .run = run,
};
