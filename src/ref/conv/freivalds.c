// SPDX-License-Identifier: MIT
// A convolution and its gradients, projected along channels: each projection is one of an operator of few channels.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/freivalds.h"
#include "ref/projection.h"
#include "ref/random.h"

// Multiply-adds that the projections of one output may take: beyond, blocks of channels are wider.
#define MOST_PRODUCTS 0x1p26
// Terms that all sums of one output's check may have: beyond, not every position is projected.
#define MOST_TERMS 0x1p29

// What is projected: one dimension, channels of every group by blocks.
typedef struct channels {
    int64_t count, width, blocks; // of one group
    double *signs;                // [count]: every group's
} channels;

// outputs: all, each of length products.
static bool choose_blocks(channels *c, const husk_ref_array *out, double outputs, double factor, int64_t length,
                          uint64_t seed)
{
    const double most = MOST_PRODUCTS / fmax(1.0, outputs / (double)c->count * (double)length);
    c->width = husk_ref_projection_width(out->dtype, factor, length, c->count, most);
    c->blocks = (c->count + c->width - 1) / c->width;
    c->signs = malloc((size_t)c->count * sizeof(*c->signs));
    for (int64_t i = 0; c->signs != NULL && i < c->count; i++)
        c->signs[i] = husk_ref_random_sign(seed, i);
    return c->signs != NULL;
}

// index[dimension]: a block, counted over all groups.
static int64_t first_channel(const channels *c, int64_t block)
{
    return block / c->blocks * c->count + block % c->blocks * c->width;
}

static husk_ref_projection project_at(const channels *c, const husk_ref_array *array, int32_t dimension,
                                      const int64_t *index)
{
    husk_ref_projection projection = {0};
    int64_t at[HUSK_MAX_RANK] = {0};
    memcpy(at, index, (size_t)array->rank * sizeof(*at));
    at[dimension] = first_channel(c, index[dimension]);
    const int64_t within = index[dimension] % c->blocks * c->width, rest = c->count - within;
    husk_ref_project(&projection, array, husk_ref_offset(array, at), array->strides[dimension],
                     rest < c->width ? rest : c->width, c->signs + within);
    return projection;
}

// An array's projections and their norms, in one piece of memory; both without data where there is no array.
typedef struct projected {
    husk_ref_array values, norms;
} projected;

static bool project(const channels *c, const husk_ref_array *array, int32_t dimension, projected *made)
{
    *made = (projected){0};
    if (array == NULL)
        return true;
    int64_t shape[HUSK_MAX_RANK] = {0}, index[HUSK_MAX_RANK] = {0};
    memcpy(shape, array->shape, sizeof(shape));
    shape[dimension] = shape[dimension] / c->count * c->blocks;
    made->values = husk_ref_array_make(NULL, HUSK_F64, array->rank, shape);
    made->norms = made->values;
    const int64_t count = husk_ref_array_count(&made->values);
    double *data = malloc((size_t)(2 * count + 1) * sizeof(*data));
    if (data == NULL)
        return false;
    made->values.data = data;
    made->norms.data = data + count;
    for (int64_t i = 0; i < count; i++) {
        const husk_ref_projection projection = project_at(c, array, dimension, index);
        data[i] = projection.value;
        data[count + i] = sqrt(projection.squares);
        husk_ref_index_next(array->rank, shape, index);
    }
    return true;
}

static const husk_ref_array *given(const husk_ref_array *projection)
{
    return projection->data != NULL ? projection : NULL;
}

// Absolute values: with norms of the other factor, what the operator makes of them is the bound's magnitude.
static bool absolute_values(const husk_ref_array *x, husk_ref_array *absolute)
{
    int64_t count = husk_ref_array_count(x);
    double *values = malloc((size_t)(count > 0 ? count : 1) * sizeof(*values));
    if (values == NULL)
        return false;
    *absolute = husk_ref_array_make(values, HUSK_F64, x->rank, x->shape);
    int64_t index[HUSK_MAX_RANK] = {0};
    for (int64_t i = 0; i < count; i++) {
        values[i] = fabs(husk_ref_load(x, husk_ref_offset(x, index)));
        husk_ref_index_next(x->rank, x->shape, index);
    }
    return true;
}

static int64_t positions_of(const husk_ref_function *values)
{
    int64_t count = 1;
    for (int32_t d = 0; d < values->rank; d++)
        count *= values->shape[d];
    return count;
}

// How many positions are projected: each has a sum of values and one of norms. tile: whose largest norm counts; with
// one every norm is prepared once, or, of some positions, those of their tiles are computed on the spot.
static int64_t choose_positions(const husk_ref_function *values, int64_t tile)
{
    const int64_t count = positions_of(values);
    if ((double)count * values->cost * (tile > 1 ? 3.0 : 2.0) <= MOST_TERMS)
        return count;
    return (int64_t)fmax(1.0, MOST_TERMS / (values->cost * (tile > 1 ? 2.0 + (double)tile : 2.0)));
}

// So many projections of the output, one from each of as many equal parts of it: what `values` expects, within what
// `norms` allows.
static void check_positions(const channels *c, const husk_ref_function *values, const husk_ref_function *norms,
                            husk_ref_elements *elements, int64_t chosen, uint64_t seed, husk_ref_report *report)
{
    const husk_ref_array *out = elements->out;
    const int32_t dimension = elements->dimension;
    const int64_t count = positions_of(values), each = count / chosen, more = count % chosen;
    husk_ref_random draw = {.seed = seed};
    for (int64_t i = 0; i < chosen; i++) {
        const int64_t first = i * each + (i < more ? i : more), there = each + (i < more ? 1 : 0);
        int64_t index[HUSK_MAX_RANK] = {0}, place[HUSK_MAX_RANK];
        const int64_t position = first + (there > 1 ? husk_ref_random_below(&draw, there) : 0);
        husk_ref_index_of(values->rank, values->shape, position, index);
        memcpy(place, index, sizeof(place));
        place[dimension] = first_channel(c, index[dimension]);
        const husk_ref_value expected = values->at(values->op, index), error = norms->at(norms->op, index);
        husk_ref_projection actual = project_at(c, out, dimension, index);
        husk_ref_projection_settle(&actual, elements, place, c->signs + index[dimension] % c->blocks * c->width,
                                   expected.value, error.magnitude, report);
        // One more than the products: what was there is added.
        husk_ref_projection_check(&actual, out->dtype, expected.value, error.bound, error.magnitude, values->cost + 1.0,
                                  out->rank, place, report);
    }
}

static int64_t tile_outputs(const int64_t tile[HUSK_MAX_SPACE])
{
    int64_t outputs = 1;
    for (int32_t d = 0; d < HUSK_MAX_SPACE; d++)
        outputs *= tile[d] > 1 ? tile[d] : 1;
    return outputs;
}

static husk_conv_params params_of(const husk_conv_params *params)
{
    husk_conv_params made = {0};
    if (params != NULL)
        made = *params;
    made.groups = made.groups != 0 ? made.groups : 1;
    return made;
}

void husk_ref_conv_freivalds(const husk_ref_conv *op, const husk_ref_array *y, uint64_t seed, husk_ref_report *report)
{
    const husk_conv_params params = params_of(op->params);
    const int64_t count = husk_ref_array_count(y);
    if (params.activation != HUSK_ACT_NONE || count == 0)
        return;
    channels c = {.count = op->w->shape[0] / params.groups};
    projected w = {0}, bias = {0};
    husk_ref_array x = {0};
    husk_ref_conv norms = {0};
    const double length = husk_ref_conv_function(op).cost;
    bool is_ready = choose_blocks(&c, y, (double)count, op->error_factor, (int64_t)length, seed) &&
                    project(&c, op->w, 0, &w) && project(&c, op->bias, 0, &bias) && absolute_values(op->x, &x);
    if (is_ready) {
        const husk_ref_conv values = {.params = &params, .x = op->x, .w = &w.values, .bias = given(&bias.values)};
        norms = (husk_ref_conv){
            .params = &params, .x = &x, .w = &w.norms, .bias = given(&bias.norms), .error_factor = op->error_factor};
        memcpy(norms.tile, op->tile, sizeof(norms.tile));
        const husk_ref_function expected = husk_ref_conv_function(&values), error = husk_ref_conv_function(&norms);
        husk_ref_elements elements = {husk_ref_conv_function(op), y, 1, 0.0};
        elements.function.cost *= 1.0 + (double)tile_outputs(op->tile);
        const int64_t chosen = choose_positions(&expected, tile_outputs(op->tile));
        is_ready = chosen < positions_of(&expected) || husk_ref_conv_prepare(&norms);
        if (is_ready)
            check_positions(&c, &expected, &error, &elements, chosen, seed, report);
    }
    report->allocation_failed = report->allocation_failed || !is_ready;
    husk_ref_conv_release(&norms);
    free(x.data);
    free(bias.values.data);
    free(w.values.data);
    free(c.signs);
}

// Along the channels of dx, which are w's; every group's have the same signs.
void husk_ref_conv_backward_data_freivalds(const husk_ref_conv_backward_data *op, const husk_ref_array *dx,
                                           uint64_t seed, husk_ref_report *report)
{
    const husk_conv_params params = params_of(op->params);
    const int64_t count = husk_ref_array_count(dx);
    if (params.activation != HUSK_ACT_NONE || count == 0)
        return;
    channels c = {.count = op->w->shape[1]};
    projected w = {0}, bias = {0}, before = {0};
    husk_ref_array dy = {0};
    husk_ref_conv_backward_data norms = {0};
    const double length = husk_ref_conv_backward_data_function(op).cost;
    bool is_ready = choose_blocks(&c, dx, (double)count, op->error_factor, (int64_t)length, seed) &&
                    project(&c, op->w, 1, &w) && project(&c, op->bias, 0, &bias) &&
                    project(&c, op->before, 1, &before) && absolute_values(op->dy, &dy);
    if (is_ready) {
        husk_ref_conv_backward_data values = {.params = &params,
                                              .w = &w.values,
                                              .dy = op->dy,
                                              .bias = given(&bias.values),
                                              .before = given(&before.values)};
        memcpy(values.shape, op->shape, sizeof(values.shape));
        values.shape[1] = op->shape[1] / c.count * c.blocks;
        norms = values;
        norms.w = &w.norms;
        norms.dy = &dy;
        norms.bias = given(&bias.norms);
        norms.before = given(&before.norms);
        norms.error_factor = op->error_factor;
        memcpy(norms.tile, op->tile, sizeof(norms.tile));
        const husk_ref_function expected = husk_ref_conv_backward_data_function(&values),
                                error = husk_ref_conv_backward_data_function(&norms);
        husk_ref_elements elements = {husk_ref_conv_backward_data_function(op), dx, 1, 0.0};
        elements.function.cost *= 1.0 + (double)tile_outputs(op->tile);
        const int64_t chosen = choose_positions(&expected, tile_outputs(op->tile));
        is_ready = chosen < positions_of(&expected) || husk_ref_conv_backward_data_prepare(&norms);
        if (is_ready)
            check_positions(&c, &expected, &error, &elements, chosen, seed, report);
    }
    report->allocation_failed = report->allocation_failed || !is_ready;
    husk_ref_conv_backward_data_release(&norms);
    free(dy.data);
    free(before.values.data);
    free(bias.values.data);
    free(w.values.data);
    free(c.signs);
}

// Along the filters of each group, which are dy's channels.
void husk_ref_conv_backward_weights_freivalds(const husk_ref_conv_backward_weights *op, const husk_ref_array *dw,
                                              uint64_t seed, husk_ref_report *report)
{
    const husk_conv_params params = params_of(op->params);
    const int64_t count = husk_ref_array_count(dw);
    if (count == 0)
        return;
    channels c = {.count = op->shape[0] / params.groups};
    projected dy = {0}, before = {0};
    husk_ref_array x = {0};
    husk_ref_conv_backward_weights norms = {0};
    const double length = husk_ref_conv_backward_weights_function(op).cost;
    bool is_ready = choose_blocks(&c, dw, (double)count, op->error_factor, (int64_t)length, seed) &&
                    project(&c, op->dy, 1, &dy) && project(&c, op->before, 0, &before) && absolute_values(op->x, &x);
    if (is_ready) {
        husk_ref_conv_backward_weights values = {
            .params = &params, .x = op->x, .dy = &dy.values, .before = given(&before.values)};
        memcpy(values.shape, op->shape, sizeof(values.shape));
        values.shape[0] = params.groups * c.blocks;
        norms = values;
        norms.x = &x;
        norms.dy = &dy.norms;
        norms.before = given(&before.norms);
        norms.error_factor = op->error_factor;
        norms.has_tile = op->has_tile;
        int64_t tile = 1;
        for (int32_t d = 2; op->has_tile && d < dw->rank; d++)
            tile *= op->shape[d];
        const husk_ref_function expected = husk_ref_conv_backward_weights_function(&values),
                                error = husk_ref_conv_backward_weights_function(&norms);
        husk_ref_elements elements = {husk_ref_conv_backward_weights_function(op), dw, 0, 0.0};
        elements.function.cost *= 1.0 + (double)tile;
        const int64_t chosen = choose_positions(&expected, tile);
        is_ready = chosen < positions_of(&expected) || husk_ref_conv_backward_weights_prepare(&norms);
        if (is_ready)
            check_positions(&c, &expected, &error, &elements, chosen, seed, report);
    }
    report->allocation_failed = report->allocation_failed || !is_ready;
    husk_ref_conv_backward_weights_release(&norms);
    free(x.data);
    free(before.values.data);
    free(dy.values.data);
    free(c.signs);
}

void husk_ref_conv_check(const husk_ref_conv *op, uint64_t seed, const husk_ref_array *y, husk_ref_report *report)
{
    husk_ref_conv prepared = *op;
    const husk_ref_function function = husk_ref_conv_function(&prepared);
    int64_t outputs = 1;
    for (int32_t d = 0; d < function.rank; d++)
        outputs *= function.shape[d];
    prepared.magnitudes = NULL;
    if ((double)outputs * function.cost <= HUSK_REF_COMPLETE_COST)
        husk_ref_conv_prepare(&prepared);
    if (!husk_ref_check(&function, seed, y, report))
        husk_ref_conv_freivalds(op, y, seed, report);
    husk_ref_conv_release(&prepared);
}

void husk_ref_conv_backward_data_check(const husk_ref_conv_backward_data *op, uint64_t seed, const husk_ref_array *dx,
                                       husk_ref_report *report)
{
    const husk_ref_function function = husk_ref_conv_backward_data_function(op);
    if (!husk_ref_check(&function, seed, dx, report))
        husk_ref_conv_backward_data_freivalds(op, dx, seed, report);
}

void husk_ref_conv_backward_weights_check(const husk_ref_conv_backward_weights *op, uint64_t seed,
                                          const husk_ref_array *dw, husk_ref_report *report)
{
    const husk_ref_function function = husk_ref_conv_backward_weights_function(op);
    if (!husk_ref_check(&function, seed, dw, report))
        husk_ref_conv_backward_weights_freivalds(op, dw, seed, report);
}
