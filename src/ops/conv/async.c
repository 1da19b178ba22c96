// SPDX-License-Identifier: MIT
// Variant matrix where asynchronous copies fill its tiles: cl/conv/async.cl, which wants channels innermost, in whole
// chunks of 16 bytes. An x that has them otherwise is brought into that order in scratch memory first.
#include "ops/conv/async.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/conv/tiles.h"
#include "select/engine.h"

enum { EFFICIENCY = 6, MOST_WHOLE_STAGES = 3, CHUNK_BYTES = 16, PACKED_CHANNELS = 32, PACK_ITEMS = 32 };
enum { IMAGE_SIDE = 32, IMAGE_ROWS = 4, LEAST_CHANNELS = 4, MOST_PIXELS = 1 << 30 };

static int64_t chunk_of(const husk__conv_problem *problem)
{
    return CHUNK_BYTES / (int64_t)husk_dtype_size(problem->dtype);
}

// Channels of a pixel that are copied.
static int64_t all_channels(const husk__conv_problem *problem)
{
    return husk__round_up(problem->geometry.channels, chunk_of(problem));
}

static int64_t taps_of(const husk__conv_geometry *g)
{
    return g->kernel[0] * g->kernel[1] * g->kernel[2];
}

// Whether x can be copied as it lies.
static bool is_as_wanted(const husk__conv_problem *problem)
{
    const husk__conv_geometry *g = &problem->geometry;
    const int64_t chunk = chunk_of(problem);
    bool is_wanted = g->x_strides[1] == 1 && g->channels % chunk == 0;
    const int64_t extents[5] = {g->batch, 1, g->in[0], g->in[1], g->in[2]};
    for (int i = 0; i < 5; ++i)
        is_wanted = is_wanted && (extents[i] == 1 || g->x_strides[i] % chunk == 0);
    return is_wanted;
}

static int64_t pixels_of(const husk__conv_geometry *g)
{
    return g->batch * g->in[0] * g->in[1] * g->in[2];
}

static uint64_t image_bytes(const husk__conv_problem *problem)
{
    const int64_t count = problem->geometry.groups * pixels_of(&problem->geometry) * all_channels(problem);
    return is_as_wanted(problem) ? 0 : (uint64_t)count * husk_dtype_size(problem->dtype);
}

static int32_t tile_of(const husk__configuration *configuration)
{
    const int32_t *v = configuration->values;
    return v[HUSK__TILE_M] | HUSK__ENGINE_ASYNC |
           (v[HUSK__CONV_STAGES] > MOST_WHOLE_STAGES ? HUSK__ENGINE_HALF_STEPS : 0);
}

// Positions by filters; the steps are those of whole tiles, of which each has one tap.
static husk__conv_tiles tiles_of(const husk__candidate *candidate)
{
    const husk__conv_problem *problem = candidate->problem;
    const husk__conv_geometry *g = &problem->geometry;
    const int64_t line_bytes = candidate->configuration->values[HUSK__CONV_STAGES] > MOST_WHOLE_STAGES ? 32 : 64;
    const int64_t steps = line_bytes / (int64_t)husk_dtype_size(problem->dtype);
    return (husk__conv_tiles){g->groups, g->filters, g->batch * g->out[0] * g->out[1] * g->out[2],
                              taps_of(g) * husk__round_up(all_channels(problem), steps), 1};
}

static int64_t packed_filters(const husk__candidate *candidate)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    return g->groups * husk__round_up(g->filters, candidate->configuration->values[HUSK__TILE_N]);
}

static int64_t packed_count(const husk__candidate *candidate)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    return packed_filters(candidate) * taps_of(g) * husk__round_up(g->channels, PACKED_CHANNELS);
}

bool husk__conv_async_supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__conv_problem *problem = candidate->problem;
    const int32_t *v = candidate->configuration->values;
    const husk__engine *engine =
        husk__engine_claimed(HUSK__ENGINE_FRAGMENTS, candidate->traits, problem->dtype, problem->precision);
    if (!engine || !engine->copies) {
        snprintf(reason, HUSK__REASON_CAPACITY, "%s",
                 engine ? "this device's engine has no asynchronous copies"
                        : "no matrix engine for this dtype and precision on this "
                          "device");
        return false;
    }
    if (problem->geometry.channels < LEAST_CHANNELS) {
        snprintf(reason, HUSK__REASON_CAPACITY, "copies channels by 16 bytes: fewer than %d of a group are too few",
                 LEAST_CHANNELS);
        return false;
    }
    if (!is_as_wanted(problem) && pixels_of(&problem->geometry) > MOST_PIXELS) {
        snprintf(reason, HUSK__REASON_CAPACITY, "x has more than 2^30 pixels to be brought into order");
        return false;
    }
    const uint64_t items = (uint64_t)husk__engine_items(engine, tile_of(candidate->configuration));
    const uint64_t line = (v[HUSK__CONV_STAGES] > MOST_WHOLE_STAGES ? 32 : 64) * (uint64_t)v[HUSK__CONV_STAGES];
    const uint64_t local =
        line * (uint64_t)(v[HUSK__TILE_M] + v[HUSK__TILE_N]) + sizeof(int64_t) * (uint64_t)v[HUSK__TILE_M];
    if (items <= candidate->traits->work_group && local <= candidate->traits->local_memory)
        return true;
    snprintf(reason, HUSK__REASON_CAPACITY, "needs %llu work-items a group and %llu bytes of local memory",
             (unsigned long long)items, (unsigned long long)local);
    return false;
}

// To bring x into order: a launch, and bytes a nanosecond that a compute unit moves of it, read and written.
static const double LAUNCH_NS = 5000.0, UNIT_RATE = 10.0;
// The EFFICIENCY, in percent, of a configuration that takes as long as husk__conv_tiles_cost says.
static const double AS_FAST = 100.0;

double husk__conv_async_cost(const husk__candidate *candidate)
{
    const husk__conv_tiles tiles = tiles_of(candidate);
    const uint64_t image = image_bytes(candidate->problem);
    const double units = (double)husk__max_i64(1, candidate->traits->compute_units);
    // As fast beside the other configurations as their efficiency says, of percents.
    const double products =
        husk__conv_tiles_cost(candidate, &tiles) * AS_FAST / candidate->configuration->values[EFFICIENCY];
    return products + (image > 0 ? LAUNCH_NS + 2.0 * (double)image / (UNIT_RATE * units) : 0.0);
}

uint64_t husk__conv_async_workspace(const husk__candidate *candidate)
{
    return husk__conv_packing_bytes(candidate->problem, packed_count(candidate)) + image_bytes(candidate->problem);
}

husk_status husk__conv_async_prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__conv_problem *problem = plan->problem;
    const husk__conv_geometry *g = &problem->geometry;
    const husk__candidate candidate = husk__candidate_of(plan);
    const husk__conv_tiles tiles = tiles_of(&candidate);
    husk__text options = {0};
    int64_t items;
    husk_status status = husk__engine_configure(plan, problem->dtype, problem->precision, tile_of(plan->configuration),
                                                husk__conv_filter_count(problem), &options, &items, scope);
    husk__text_format(&options, "%s", plan->configuration->options);
    if (status == HUSK_OK && options.failed)
        status = husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    if (status == HUSK_OK)
        status = husk__conv_prepare_with(plan, sizeof(husk__conv_state), options.bytes, "conv/async.cl",
                                         "husk_conv_async", "husk_conv_async_pack", scope);
    husk__conv_state *state = plan->state;
    if (status == HUSK_OK && image_bytes(problem) > 0)
        status =
            husk__conv_kernel(plan, options.bytes, "conv/async.cl", "husk_conv_async_image", &state->lay_out, scope);
    husk__text_free(&options);
    if (status != HUSK_OK)
        return status;
    const int64_t taps = taps_of(g), channels = husk__round_up(g->channels, PACKED_CHANNELS);
    const int64_t image_blocks = g->groups * husk__divide_up(all_channels(problem), IMAGE_SIDE);
    state->packed_count = packed_count(&candidate);
    state->packed_unit = (uint32_t)husk_dtype_size(problem->dtype);
    state->range = husk__conv_tiles_range(plan->configuration, &tiles, items);
    state->pack_range = (husk__range){{(size_t)(packed_filters(&candidate) * channels / PACK_ITEMS),
                                       (size_t)husk__min_i64(taps, HUSK__MOST_GROUPS), 1},
                                      {PACK_ITEMS, 1, 1}};
    state->lay_out_range = (husk__range){
        {(size_t)husk__divide_up(pixels_of(g), IMAGE_SIDE), (size_t)husk__min_i64(image_blocks, HUSK__MOST_GROUPS), 1},
        {IMAGE_SIDE, IMAGE_ROWS, 1}};
    return HUSK_OK;
}

husk_status husk__conv_async_run(const husk_plan *plan, husk_queue *queue, const void *arguments,
                                 const husk__scratch *scratch, const husk__scope *scope)
{
    const husk__conv_problem *problem = plan->problem;
    const husk__conv_geometry *g = &problem->geometry;
    const husk__conv_state *state = plan->state;
    const husk__conv_arguments *given = arguments;
    husk__arg weights;
    husk_status status = husk__conv_weights(plan, queue, given, scratch, &weights, scope);
    if (status != HUSK_OK)
        return status;
    husk__conv_input input = {HUSK__ARG_TENSOR(given->x), {0}};
    int64_t group = g->channels * g->x_strides[1];
    memcpy(input.strides, g->x_strides, sizeof input.strides);
    if (state->lay_out) {
        const int64_t pixel = all_channels(problem), line = g->in[2] * pixel, plane = g->in[1] * line;
        const int64_t strides[5] = {g->in[0] * plane, 1, plane, line, pixel};
        input.x = HUSK__ARG_BUFFER(scratch->buffer, husk__conv_packing_bytes(problem, state->packed_count),
                                   husk_dtype_size(problem->dtype));
        memcpy(input.strides, strides, sizeof input.strides);
        group = pixels_of(g) * pixel;
        status = husk__conv_lay_out(plan, queue, given->x, input.x, NULL, 0, scope);
        if (status != HUSK_OK)
            return status;
    }
    const husk__arg extra[] = {HUSK__ARG_I64(group)};
    return husk__conv_launch_on(plan, queue, given, &input, weights, extra, 1, scope);
}
