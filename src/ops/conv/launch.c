// SPDX-License-Identifier: MIT
// What all of conv's variants do alike: making kernels, packing weights, enqueuing.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/epilogue.h"
#include "base/tensor.h"
#include "machine/predict.h"
#include "ops/conv/problem.h"

enum { SHARED_ARGUMENTS = 38, EXTRA_ARGUMENTS = 9, ACTIVATION_ARGUMENTS = 4, LAY_OUT_ARGUMENTS = 2 };
enum { SCRATCH_ALIGNMENT = 256 };

int64_t husk__conv_filter_count(const husk__conv_problem *problem)
{
    const husk__conv_geometry *g = &problem->geometry;
    return g->channels * g->kernel[0] * g->kernel[1] * g->kernel[2];
}

double husk__conv_error_factor(const husk__candidate *candidate)
{
    return 4.0 + 2.0 * sqrt((double)husk__conv_filter_count(candidate->problem));
}

double husk__conv_flops(const husk__candidate *candidate)
{
    const husk__conv_problem *problem = candidate->problem;
    return 2.0 * (double)husk__tensor_count(&problem->y) * (double)husk__conv_filter_count(problem);
}

void husk__conv_describe_packed(const husk_plan *plan, husk__key *key)
{
    const husk__conv_problem *problem = plan->problem;
    const husk__conv_state *state = plan->state;
    husk__key_i64(key, problem->geometry.groups);
    husk__key_i64(key, problem->w.dtype);
    for (int32_t d = 0; d < problem->w.rank; ++d)
        husk__key_i64(key, problem->w.shape[d]);
    husk__key_i64(key, state->packed_form);
}

enum { HAS_BIAS = 1, WIDE_BIAS = 2, WIDE_Y = 4 };

int32_t husk__conv_flags(const husk__conv_problem *problem)
{
    return (problem->has_bias ? HAS_BIAS : 0) |
           (problem->has_bias && problem->bias.dtype != problem->dtype ? WIDE_BIAS : 0) |
           (problem->wide_output ? WIDE_Y : 0);
}

bool husk__conv_has_wide_y(const husk__conv_problem *problem, char *reason)
{
    if (!problem->wide_output)
        return false;
    snprintf(reason, HUSK__REASON_CAPACITY, "y is f32 beside %s, which implicit_gemm, winograd and tiled compute",
             husk_dtype_name(problem->dtype));
    return true;
}

bool husk__conv_is_double(const husk__conv_problem *problem, char *reason)
{
    if (problem->dtype != HUSK_F64)
        return false;
    snprintf(reason, HUSK__REASON_CAPACITY, "f64, which implicit_gemm and tiled compute");
    return true;
}

husk__conv_tile husk__conv_tile_of(const husk__configuration *configuration)
{
    const int32_t *values = configuration->values;
    return (husk__conv_tile){values[0], values[1], values[2]};
}

bool husk__conv_tile_fits(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__conv_tile tile = husk__conv_tile_of(candidate->configuration);
    if (tile.width == (int32_t)candidate->traits->vector_width)
        return true;
    snprintf(reason, HUSK__REASON_CAPACITY, "tile %s is for vectors of %d floats", candidate->configuration->name,
             tile.width);
    return false;
}

int64_t husk__conv_vector_width(const husk__candidate *candidate)
{
    const int64_t width = candidate->traits->vector_width;
    return ((const husk__conv_problem *)candidate->problem)->dtype == HUSK_F64 && width > 4 ? width / 2 : width;
}

// ---- preparing ----

static void set_activation(const husk__conv_problem *problem, husk__conv_state *state)
{
    const husk__epilogue epilogue = husk__epilogue_resolve(problem->activation, problem->slope);
    state->low = epilogue.low;
    state->slope = epilogue.slope;
    state->high = epilogue.high;
}

// The furthest element of any tensor. Packed weights are rounded up: lines by less than 128, products by less than 32.
static int64_t reach(const husk__conv_problem *problem)
{
    const husk__conv_geometry *g = &problem->geometry;
    const int64_t taps = g->kernel[0] * g->kernel[1] * g->kernel[2];
    const int64_t forward = husk__round_up(g->filters, 128) * husk__round_up(g->channels * taps, 32);
    const int64_t backward = husk__round_up(g->channels, 128) * husk__round_up(g->filters * taps, 32);
    const husk_tensor *tensors[] = {&problem->x, &problem->w, &problem->y};
    int64_t furthest = husk__max_i64(g->groups * husk__max_i64(forward, backward), husk__tensor_count(&problem->y));
    for (size_t i = 0; i < 3; ++i)
        furthest = husk__max_i64(furthest, husk__tensor_last(tensors[i]));
    return furthest;
}

husk_status husk__conv_kernel(const husk_plan *plan, const char *configuration, const char *file, const char *name,
                              const husk__kernel **kernel, const husk__scope *scope)
{
    const husk__conv_problem *problem = plan->problem;
    const bool is_smooth = husk__epilogue_resolve(problem->activation, problem->slope).is_smooth;
    const bool is_gpu = plan->variant->family == HUSK__FAMILY_GPU;
    const bool is_long = is_gpu && husk__needs_index_64(plan->context, reach(problem));
    const bool is_halved = !is_gpu && problem->dtype == HUSK_F64;
    char options[400];
    snprintf(options, sizeof options, "%s %s%s%s%s", husk__dtype_option(problem->dtype), configuration,
             is_halved ? " -DHALF_VECTORS" : "", is_smooth ? " -DACT_SMOOTH" : "", is_long ? " -DINDEX_64" : "");
    return husk__kernel_get(plan->context, file, options, name, kernel, scope);
}

husk_status husk__conv_prepare_with(husk_plan *plan, size_t state_size, const char *configuration, const char *file,
                                    const char *kernel, const char *pack, const husk__scope *scope)
{
    const husk__conv_problem *problem = plan->problem;
    husk__conv_state *state = calloc(1, state_size);
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = state;
    set_activation(problem, state);
    state->pack_filters = problem->geometry.filters;
    state->pack_channels = problem->geometry.channels;
    husk_status status = husk__conv_kernel(plan, configuration, file, kernel, &state->kernel, scope);
    if (status == HUSK_OK)
        status = husk__conv_kernel(plan, configuration, file, pack, &state->pack, scope);
    return status;
}

husk_status husk__conv_prepare(husk_plan *plan, size_t state_size, const char *file, const char *kernel,
                               const char *pack, const husk__scope *scope)
{
    return husk__conv_prepare_with(plan, state_size, plan->configuration->options, file, kernel, pack, scope);
}

// Among splits that are predicted to take nearly the same the finest is taken: where something else has a part of
// a core, the others can take over its share.
static const double NEARLY = 1.02;

husk__conv_split husk__conv_divide(const husk__candidate *candidate, int64_t columns, int64_t filter_panels,
                                   husk__conv_item_cycles *cycles)
{
    const husk_machine_rates *typical = &candidate->machine->typical;
    const int64_t groups = ((const husk__conv_problem *)candidate->problem)->geometry.groups;
    const int64_t units = husk__max_i64(1, candidate->traits->compute_units);
    husk__conv_split least = {1, 1, 0}, best = {1, 1, 0};
    for (int64_t across = 1; across <= husk__min_i64(columns, 4 * units); ++across)
        for (int64_t down = 1; down <= husk__min_i64(filter_panels, units); ++down) {
            const int64_t rounds = husk__divide_up(groups * across * down, units);
            const husk__conv_split split = {across, down,
                                            (double)rounds * cycles(candidate, typical,
                                                                    husk__divide_up(columns, across),
                                                                    husk__divide_up(filter_panels, down))};
            if (least.cycles == 0 || split.cycles < least.cycles)
                least = split;
            if (best.cycles == 0 || split.cycles <= NEARLY * least.cycles)
                best = split;
        }
    return best.cycles <= NEARLY * least.cycles ? best : least;
}

double husk__conv_split_time(const husk__candidate *candidate, const husk__conv_split *split, int64_t columns,
                             int64_t filter_panels, husk__conv_item_cycles *cycles)
{
    const husk_machine *machine = candidate->machine;
    const husk_machine_rates *rates = &machine->rates;
    const int64_t groups = ((const husk__conv_problem *)candidate->problem)->geometry.groups;
    const int64_t items = groups * split->column_items * split->filter_items;
    const double item = cycles(candidate, rates, husk__divide_up(columns, split->column_items),
                               husk__divide_up(filter_panels, split->filter_items));
    return husk__launch_time(machine, rates, husk__cycles_ns(rates, item), items);
}

// ---- weights ----

uint64_t husk__conv_packing_bytes(const husk__conv_problem *problem, int64_t packed_count)
{
    const int64_t size = (int64_t)husk__accumulator_size(problem->dtype);
    return problem->has_packed_weights ? 0 : (uint64_t)husk__round_up(packed_count * size, SCRATCH_ALIGNMENT);
}

// To transpose a vector of weights, measured.
static const double PACK_CYCLES = 12.0;

// Weights are read and their packed form is written, from and to whatever holds both.
double husk__conv_packing_cost(const husk__candidate *candidate, int64_t packed_count)
{
    const husk__conv_problem *problem = candidate->problem;
    const husk_machine *machine = candidate->machine;
    const husk_machine_rates *rates = &machine->rates;
    if (!problem->packs_every_call)
        return 0.0;
    const double size = (double)husk__accumulator_size(problem->dtype);
    const double bytes = size * ((double)packed_count + (double)husk__tensor_count(&problem->w));
    const double compute =
        husk__cycles_ns(rates, (double)packed_count / (double)husk__conv_vector_width(candidate) * PACK_CYCLES);
    return rates->launch_ns + fmax(compute, bytes / husk__read_rate(machine, rates, bytes)) / machine->cores;
}

static uint32_t packed_unit(const husk_plan *plan)
{
    const husk__conv_state *state = plan->state;
    const husk__conv_problem *problem = plan->problem;
    return state->packed_unit ? state->packed_unit : (uint32_t)husk__accumulator_size(problem->dtype);
}

husk_status husk__conv_pack(const husk_plan *plan, husk_queue *queue, const husk_tensor *w, const husk_buffer *packed,
                            const husk__scope *scope)
{
    const husk__conv_state *state = plan->state;
    const husk__conv_problem *problem = plan->problem;
    const husk__conv_geometry *g = &problem->geometry;
    const husk__arg to = HUSK__ARG_BUFFER(packed, 0, packed_unit(plan));
    return HUSK__LAUNCH(queue, state->pack, &state->pack_range, scope, HUSK__ARG_TENSOR(w), to,
                        HUSK__ARG_I32(state->pack_filters), HUSK__ARG_I32(state->pack_channels),
                        HUSK__ARG_I32(g->kernel[0]), HUSK__ARG_I32(g->kernel[1]), HUSK__ARG_I32(g->kernel[2]),
                        HUSK__ARG_I64(g->w_strides[0]), HUSK__ARG_I64(g->w_strides[1]), HUSK__ARG_I64(g->w_strides[2]),
                        HUSK__ARG_I64(g->w_strides[3]), HUSK__ARG_I64(g->w_strides[4]));
}

husk_status husk__conv_weights(const husk_plan *plan, husk_queue *queue, const husk__conv_arguments *arguments,
                               const husk__scratch *scratch, husk__arg *weights, const husk__scope *scope)
{
    const husk__conv_state *state = plan->state;
    const husk_packed *packed = arguments->w->packed;
    const uint32_t size = packed_unit(plan);
    if (packed) {
        *weights = HUSK__ARG_BUFFER(packed->buffer, 0, size);
        return husk__packed_check(packed, plan, scope);
    }
    *weights = HUSK__ARG_BUFFER(state->packed_count ? scratch->buffer : NULL, 0, size);
    return state->packed_count ? husk__conv_pack(plan, queue, arguments->w, scratch->buffer, scope) : HUSK_OK;
}

// ---- launching ----

static size_t add_numbers(husk__arg *list, const int64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        list[i] = HUSK__ARG_I32(numbers[i]);
    return count;
}

// CONV_PARAMS of cl/lib/convolution.clh.
size_t husk__conv_geometry_arguments(husk__arg *list, const husk__conv_geometry *g)
{
    size_t count = add_numbers(list, (int64_t[]){g->batch, g->groups, g->channels, g->filters}, 4);
    count += add_numbers(list + count, g->in, 3);
    count += add_numbers(list + count, g->out, 3);
    count += add_numbers(list + count, g->kernel, 3);
    count += add_numbers(list + count, g->stride, 3);
    count += add_numbers(list + count, g->pad, 3);
    count += add_numbers(list + count, g->dilation, 3);
    for (int i = 0; i < 5; ++i)
        list[count++] = HUSK__ARG_I64(g->x_strides[i]);
    for (int i = 0; i < 5; ++i)
        list[count++] = HUSK__ARG_I64(g->y_strides[i]);
    return count;
}

husk_status husk__conv_lay_out(const husk_plan *plan, husk_queue *queue, const husk_tensor *x, husk__arg image,
                               const husk__arg *extra, size_t extra_count, const husk__scope *scope)
{
    const husk__conv_problem *problem = plan->problem;
    const husk__conv_state *state = plan->state;
    husk__arg list[2 + HUSK__CONV_GEOMETRY_ARGUMENTS + LAY_OUT_ARGUMENTS];
    size_t count = 0;
    list[count++] = HUSK__ARG_TENSOR(x);
    list[count++] = image;
    count += husk__conv_geometry_arguments(list + count, &problem->geometry);
    for (size_t i = 0; i < extra_count; ++i)
        list[count++] = extra[i];
    return husk__launch(queue, state->lay_out, &state->lay_out_range, list, count, scope);
}

husk_status husk__conv_launch_on(const husk_plan *plan, husk_queue *queue, const husk__conv_arguments *arguments,
                                 const husk__conv_input *input, husk__arg weights, const husk__arg *extra,
                                 size_t extra_count, const husk__scope *scope)
{
    const husk__conv_problem *problem = plan->problem;
    const husk__conv_state *state = plan->state;
    husk__conv_geometry geometry = problem->geometry;
    husk__arg list[SHARED_ARGUMENTS + EXTRA_ARGUMENTS + ACTIVATION_ARGUMENTS];
    size_t count = 0;
    memcpy(geometry.x_strides, input->strides, sizeof geometry.x_strides);
    list[count++] = input->x;
    list[count++] = weights;
    list[count++] = HUSK__ARG_TENSOR(arguments->bias);
    list[count++] = HUSK__ARG_I32(husk__conv_flags(problem));
    list[count++] = HUSK__ARG_TENSOR(arguments->y);
    count += husk__conv_geometry_arguments(list + count, &geometry);
    for (size_t i = 0; i < extra_count; ++i)
        list[count++] = extra[i];
    list[count++] = HUSK__ARG_I32(problem->activation);
    list[count++] = HUSK__ARG_F32(state->low);
    list[count++] = HUSK__ARG_F32(state->slope);
    list[count++] = HUSK__ARG_F32(state->high);
    return husk__launch(queue, state->kernel, &state->range, list, count, scope);
}

husk_status husk__conv_launch(const husk_plan *plan, husk_queue *queue, const husk__conv_arguments *arguments,
                              husk__arg weights, const husk__arg *extra, size_t extra_count, const husk__scope *scope)
{
    const husk__conv_problem *problem = plan->problem;
    husk__conv_input input = {HUSK__ARG_TENSOR(arguments->x), {0}};
    memcpy(input.strides, problem->geometry.x_strides, sizeof input.strides);
    return husk__conv_launch_on(plan, queue, arguments, &input, weights, extra, extra_count, scope);
}
