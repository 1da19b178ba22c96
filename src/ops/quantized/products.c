// SPDX-License-Identifier: MIT
// Products of bytes for CPU devices, see ops/quantized/products.h. The kernels and what they cost:
// cl/lib/quantized.clh.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/epilogue.h"
#include "base/tensor.h"
#include "machine/predict.h"
#include "ops/quantized/products.h"

// What the numbers of a configuration mean; the same as its options.
enum { TILE_M, TILE_NV, DOT };
enum { QUADS, PAIRS, PLAIN, SPREAD };

const husk__configuration husk__products_menu[] = {
    // AVX-512 VNNI: 24 sums, two vectors of B and one of A in 32 registers.
    {"12x2v", "-DTILE_M=12 -DTILE_NV=2 -DDOT_QUADS", {12, 2, QUADS}},
    // AVX-512 without: 20 sums, two vectors of B and two of A, each spread in two.
    {"10x2v", "-DTILE_M=10 -DTILE_NV=2", {10, 2, PAIRS}},
    // 16 registers: 12 sums, two vectors of B, which is spread before, one of A, and a product.
    {"6x2v", "-DTILE_M=6 -DTILE_NV=2 -DDOT_SPREAD", {6, 2, SPREAD}},
    // No instruction of x86.
    {"plain", "-DTILE_M=4 -DTILE_NV=2 -DDOT_PLAIN", {4, 2, PLAIN}},
};

enum {
    STRIP_BYTES = 384 << 10, // panels that stay in a second-level cache, with what streams by
    FEW_PRODUCTS = 2 << 20,  // not worth waking another core for
    LEAST_A_GROUP = 4 << 20,
    GROUPS_PER_UNIT = 4,
    SPREAD_ROWS = 16, // as in cl/lib/quantized.clh
    OUTPUT_SUMS = 0,
    OUTPUT_FLOATS = 1,
    OUTPUT_BYTES = 2 // as in cl/lib/quantized_store.clh
};

static int64_t tile_columns(const husk__candidate *candidate)
{
    return (int64_t)candidate->configuration->values[TILE_NV] * candidate->traits->vector_width;
}

static int64_t quads_of(const husk__products *own)
{
    return husk__divide_up(own->k, 4);
}

// As in the kernel: 32-bit words.
static int64_t row_words(const husk__products *own, const husk__candidate *candidate)
{
    const int dot = candidate->configuration->values[DOT];
    const int64_t words = quads_of(own) * (dot == PAIRS || dot == SPREAD ? 2 : 1);
    return (husk__divide_up(words, 16) | 1) * 16;
}

static int64_t panel_words(const husk__products *own, const husk__candidate *candidate)
{
    return (quads_of(own) + 1) * tile_columns(candidate);
}

// Of a panel as it is used: spread, bytes are 16-bit numbers.
static int64_t used_words(const husk__products *own, const husk__candidate *candidate)
{
    return panel_words(own, candidate) * (candidate->configuration->values[DOT] == SPREAD ? 2 : 1);
}

static int64_t panels_of(const husk__products *own, const husk__candidate *candidate)
{
    return husk__divide_up(own->n, tile_columns(candidate));
}

uint64_t husk__products_panel_bytes(const husk__products *own, const husk__candidate *candidate)
{
    return 4 * (uint64_t)(own->b_groups * panels_of(own, candidate) * panel_words(own, candidate));
}

// ---- how the work is divided ----

typedef struct division {
    int64_t row_parts, panel_parts;
    int64_t group_rows, group_panels, strip;
} division;

// What a column of B takes to spread, or a row of A to copy, in products a step; found by timing divisions on AVX2.
static const double COPIED = 6.0;

// Parts of the rows, where every one of them spreads all of its columns of B: of all divisions into so many groups that
// which takes the fewest products and copies in all rounds of groups.
static int64_t spread_row_parts(const husk__products *own, const husk__candidate *candidate, int64_t wanted)
{
    const int64_t tile_m = candidate->configuration->values[TILE_M], tile_n = tile_columns(candidate);
    const int64_t tiles = husk__divide_up(own->m, tile_m), panels = panels_of(own, candidate);
    int64_t best = 1;
    double least = INFINITY;
    for (int64_t parts = 1; parts <= husk__min_i64(wanted, tiles); ++parts) {
        const int64_t across = husk__min_i64(husk__divide_up(wanted, parts), panels);
        const double rows = (double)(husk__divide_up(tiles, parts) * tile_m),
                     columns = (double)(husk__divide_up(panels, across) * tile_n);
        const int64_t groups = own->groups * parts * across;
        const double rounds = (double)husk__divide_up(groups, (int64_t)candidate->traits->compute_units);
        const double takes = rounds * (rows * columns + COPIED * (rows + columns));
        if (takes < least) {
            least = takes;
            best = parts;
        }
    }
    return best;
}

static division divide(const husk__products *own, const husk__candidate *candidate)
{
    const int64_t units = candidate->traits->compute_units, tile_m = candidate->configuration->values[TILE_M];
    const double products = (double)own->m * (double)own->n * (double)own->k * (double)own->groups;
    const int64_t panels = panels_of(own, candidate), tiles = husk__divide_up(own->m, tile_m);
    int64_t wanted = 1;
    if (products >= FEW_PRODUCTS) {
        const double most = products / LEAST_A_GROUP;
        wanted = most<(double)units ? units : most>(double)(GROUPS_PER_UNIT * units) ? GROUPS_PER_UNIT * units
                                                                                     : (int64_t)most;
        wanted = husk__round_up(husk__divide_up(wanted, own->groups), own->groups >= units ? 1 : units);
    }
    division d;
    const int64_t row_parts = candidate->configuration->values[DOT] == SPREAD ? spread_row_parts(own, candidate, wanted)
                                                                              : husk__min_i64(wanted, tiles);
    d.group_rows = husk__divide_up(tiles, row_parts) * tile_m;
    d.row_parts = husk__divide_up(own->m, d.group_rows);
    const int64_t panel_parts = husk__min_i64(husk__divide_up(wanted, d.row_parts), panels);
    d.group_panels = husk__divide_up(panels, panel_parts);
    d.panel_parts = husk__divide_up(panels, d.group_panels);
    const int64_t room = husk__max_i64(STRIP_BYTES / (4 * used_words(own, candidate)), 1);
    const int64_t strips = husk__divide_up(d.group_panels, room);
    d.strip = husk__divide_up(d.group_panels, strips);
    return d;
}

// Words of a group's scratch: a tile of rows of A, and where they are spread before a strip of panels.
static int64_t group_words(const husk__products *own, const husk__candidate *candidate, const division *d)
{
    const int32_t *values = candidate->configuration->values;
    const bool spreads = values[DOT] == SPREAD && d->group_rows >= SPREAD_ROWS;
    return values[TILE_M] * row_words(own, candidate) + (spreads ? d->strip * used_words(own, candidate) : 0);
}

static uint64_t row_bytes(const husk__products *own, const husk__candidate *candidate)
{
    const division d = divide(own, candidate);
    return 4 * (uint64_t)(d.row_parts * d.panel_parts * own->groups * group_words(own, candidate, &d));
}

static bool is_nothing(const husk__products *own)
{
    return own->groups == 0 || own->m == 0 || own->n == 0;
}

uint64_t husk__products_workspace(const husk__products *own, const husk__candidate *candidate, bool b_is_packed)
{
    if (is_nothing(own))
        return 0;
    return row_bytes(own, candidate) + (b_is_packed ? 0 : husk__products_panel_bytes(own, candidate));
}

bool husk__products_supports(const husk__products *own, char reason[HUSK__REASON_CAPACITY])
{
    const int64_t most = INT64_C(1) << 30;
    snprintf(reason, HUSK__REASON_CAPACITY, "a dimension is larger than %lld", (long long)most);
    return own->groups <= most && own->m <= most && own->n <= most && own->k <= most;
}

// How the kernels of cl/lib/quantized.clh use registers and begin tiles, whatever the machine:
enum {
    TAIL_M = 4, // TAIL_M of cl/lib/quantized.clh: rows below the last full tile are done so many at a time
    LOW_TILE_M = 4, // rows of tiles whose sums and spread operands fit into 16 registers
    WIDE_VECTOR = 16, // floats of AVX-512's vectors, which come with the 32 registers that higher tiles need
    ENTER_TILE_QUADS = 4 // to begin and finish a tile takes as long as so many quads of k
};
// Of the rate of instructions, what is left to higher tiles whose sums go to memory and back, and to low tiles.
static const double SPILLED_SHARE = 0.4, LOW_TILE_SHARE = 0.75;

// Nanoseconds. A lane's worth of products, by the instruction; fewer sums in registers wait for loads.
double husk__products_cost(const husk__products *own, const husk__candidate *candidate)
{
    static const double quads_a_cycle[] = {1.0, 0.45, 0.1, 0.63};
    const husk_machine *machine = candidate->machine;
    const husk_machine_rates *rates = &machine->rates;
    if (is_nothing(own))
        return 0.0;
    const int32_t *values = candidate->configuration->values;
    const int64_t width = candidate->traits->vector_width;
    // What is spread before is meant for 16 registers. With more, tiles that are twice as high spread on the way.
    const bool is_wide = width == WIDE_VECTOR, is_spread = values[DOT] == SPREAD;
    const bool is_low = values[TILE_M] <= LOW_TILE_M || (is_spread && is_wide);
    const double share = is_low ? LOW_TILE_SHARE : is_wide || is_spread ? 1.0 : SPILLED_SHARE;
    const double rate = quads_a_cycle[is_spread && is_wide ? PAIRS : values[DOT]] * share;
    const division d = divide(own, candidate);
    const int64_t groups = own->groups * d.row_parts * d.panel_parts;
    const double rows = (double)husk__min_i64(d.group_rows, husk__round_up(own->m, TAIL_M));
    const double columns =
        (double)husk__min_i64(d.group_panels * tile_columns(candidate), husk__round_up(own->n, 2 * width));
    const double group = rows * columns * ((double)quads_of(own) + ENTER_TILE_QUADS) / ((double)width * rate);
    return husk__launch_time(machine, rates, husk__cycles_ns(rates, group), groups);
}

// ---- plans ----

typedef struct products_state {
    const husk__kernel *pack, *multiply;
} products_state;

husk_status husk__products_kernel(const husk_plan *plan, const husk__products *own, const char *file, const char *name,
                                  const husk__kernel **kernel, const husk__scope *scope)
{
    const bool is_narrow = own->c_dtype == HUSK_F16 || own->c_dtype == HUSK_BF16;
    char options[160];
    snprintf(options, sizeof options, "%s %s%s", husk__dtype_option(is_narrow ? own->c_dtype : HUSK_F32),
             own->activation_is_smooth ? "-DACT_SMOOTH " : "", plan->configuration->options);
    return husk__kernel_get(plan->context, file, options, name, kernel, scope);
}

husk_status husk__products_ask_quads(husk_context *context, const husk__scope *scope)
{
    bool has;
    const husk_status status = husk__context_probe(context, HUSK_FEATURE_DOT_I8, &has, scope);
    if (status != HUSK_OK || has)
        return status;
    return husk__fail(scope, HUSK_UNSUPPORTED, "the device has no instruction for four products of bytes");
}

husk_status husk__products_prepare(husk_plan *plan, const husk__products *own, const husk__products_kernels *kernels,
                                   const husk__scope *scope)
{
    products_state *state = calloc(1, sizeof *state);
    plan->state = state; // freed with the plan
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    husk_status status =
        plan->configuration->values[DOT] == QUADS ? husk__products_ask_quads(plan->context, scope) : HUSK_OK;
    if (status == HUSK_OK)
        status = husk__products_kernel(plan, own, kernels->file, kernels->pack, &state->pack, scope);
    if (status == HUSK_OK)
        status = husk__products_kernel(plan, own, kernels->file, kernels->multiply, &state->multiply, scope);
    return status;
}

husk_status husk__products_pack(const husk_plan *plan, husk_queue *queue, const husk__products *own,
                                const husk_tensor *b, const husk__arg *to, const husk__scope *scope)
{
    const products_state *state = plan->state;
    const husk__candidate candidate = husk__candidate_of(plan);
    const husk__range range = {{(size_t)panels_of(own, &candidate), (size_t)own->b_groups, 1}, {1, 1, 1}};
    return HUSK__LAUNCH(queue, state->pack, &range, scope, HUSK__ARG_TENSOR(b), HUSK__ARG_I64(own->b_group),
                        HUSK__ARG_I32(own->b_steps[0]), HUSK__ARG_I32(own->b_steps[1]), HUSK__ARG_I32(own->b_steps[2]),
                        HUSK__ARG_I32(own->b_steps[3]), HUSK__ARG_I64(own->b_strides[0]),
                        HUSK__ARG_I64(own->b_strides[1]), HUSK__ARG_I64(own->b_strides[2]),
                        HUSK__ARG_I64(own->b_strides[3]), HUSK__ARG_I64(own->b_column), HUSK__ARG_I32(own->n), *to);
}

static int32_t kind_of(const husk__products *own)
{
    if (own->c_dtype == HUSK_I32)
        return OUTPUT_SUMS;
    return own->c_dtype == HUSK_I8 || own->c_dtype == HUSK_U8 ? OUTPUT_BYTES : OUTPUT_FLOATS;
}

husk__arg *husk__products_write_finish(const husk__products *own, const husk_tensor *b_scale, const husk_tensor *bias,
                                       const husk_quantization *a, const husk_quantization *c, husk__arg *end)
{
    *end++ = HUSK__ARG_I32(kind_of(own));
    *end++ = HUSK__ARG_I32(a->zero + (own->a_dtype == HUSK_I8 ? 128 : 0));
    *end++ = HUSK__ARG_F32(a->scale);
    *end++ = HUSK__ARG_TENSOR(b_scale);
    *end++ = HUSK__ARG_I64(own->scale_stride);
    *end++ = HUSK__ARG_TENSOR(bias);
    *end++ = HUSK__ARG_I64(own->bias_stride);
    *end++ = HUSK__ARG_I32(bias != NULL);
    *end++ = HUSK__ARG_F32(c->scale);
    *end++ = HUSK__ARG_I32(c->zero);
    *end++ = HUSK__ARG_I32(own->c_dtype == HUSK_I8 ? 128 : 0);
    *end++ = HUSK__ARG_I32(own->activation);
    *end++ = HUSK__ARG_F32(own->low);
    *end++ = HUSK__ARG_F32(own->slope);
    *end++ = HUSK__ARG_F32(own->high);
    return end;
}

husk_status husk__products_run_all(const husk_plan *plan, husk_queue *queue, const husk__products *own,
                                   const husk__products_run *given, const husk__scratch *scratch,
                                   uint64_t scratch_offset, const husk__scope *scope)
{
    const products_state *state = plan->state;
    const husk__candidate candidate = husk__candidate_of(plan);
    const division d = divide(own, &candidate);
    const int64_t group_panels = panels_of(own, &candidate) * panel_words(own, &candidate);
    husk__arg panels;
    if (given->b->packed) {
        panels = HUSK__ARG_BUFFER(given->b->packed->buffer, 0, 4);
    } else {
        panels = HUSK__ARG_BUFFER(scratch->buffer, scratch_offset + row_bytes(own, &candidate), 4);
        const husk_status status = husk__products_pack(plan, queue, own, given->b, &panels, scope);
        if (status != HUSK_OK)
            return status;
    }
    const bool flips = own->a_dtype == HUSK_I8;
    husk__arg list[80], *end = list;
    *end++ = given->a;
    *end++ = HUSK__ARG_I64(own->a_group);
    for (int i = 0; i < 4; ++i)
        *end++ = HUSK__ARG_I64(own->a[i]);
    *end++ = HUSK__ARG_I32(own->run);
    for (int i = 0; i < 3; ++i)
        *end++ = HUSK__ARG_I32(own->steps[i]);
    for (int i = 0; i < 3; ++i)
        *end++ = HUSK__ARG_I64(own->strides[i]);
    *end++ = HUSK__ARG_I32(flips && !given->a_is_flipped ? 128 : 0);
    *end++ = panels;
    *end++ = HUSK__ARG_I64(own->b_groups == 1 ? 0 : group_panels);
    *end++ = given->c;
    *end++ = HUSK__ARG_I64(own->c_group);
    for (int i = 0; i < 4; ++i)
        *end++ = HUSK__ARG_I64(own->c[i]);
    *end++ = HUSK__ARG_I64(own->c_column);
    *end++ = HUSK__ARG_I64(own->column_step);
    *end++ = HUSK__ARG_BUFFER(scratch->buffer, scratch_offset, 4);
    *end++ = HUSK__ARG_I64(group_words(own, &candidate, &d));
    *end++ = HUSK__ARG_I32(own->m);
    for (int i = 0; i < 3; ++i)
        *end++ = HUSK__ARG_I32(own->rows[i]);
    *end++ = HUSK__ARG_I32(own->n);
    *end++ = HUSK__ARG_I32(d.group_rows);
    *end++ = HUSK__ARG_I32(d.group_panels);
    *end++ = HUSK__ARG_I32(d.strip);
    end = husk__products_write_finish(own, given->b_scale, given->bias, &given->a_quantization, &given->c_quantization,
                                      end);
    const husk__range range = {{(size_t)d.panel_parts, (size_t)d.row_parts, (size_t)own->groups}, {1, 1, 1}};
    return husk__launch(queue, state->multiply, &range, list, (size_t)(end - list), scope);
}

// ---- arguments ----

husk_status husk__products_check_byte(const husk_tensor *tensor, const char *argument, const husk__scope *scope)
{
    husk_status status = husk__tensor_check_plain(tensor, tensor ? tensor->dtype : HUSK_I8, argument, scope);
    if (status == HUSK_OK && tensor->dtype != HUSK_I8 && tensor->dtype != HUSK_U8)
        status = husk__fail(scope, HUSK_UNSUPPORTED, "%s: is %s; quantized numbers are i8 or u8", argument,
                            husk_dtype_name(tensor->dtype));
    return status;
}

husk_status husk__products_check_output(const husk_tensor *c, const char *argument, const husk__scope *scope)
{
    husk_status status = husk__tensor_check_plain(c, c ? c->dtype : HUSK_I32, argument, scope);
    if (status == HUSK_OK && (c->dtype == HUSK_F64 || c->dtype == HUSK_I64))
        status = husk__fail(scope, HUSK_UNSUPPORTED, "%s: is %s; sums become i32, f32, f16, bf16, i8 or u8", argument,
                            husk_dtype_name(c->dtype));
    return status;
}

husk_status husk__products_check_channels(const husk_tensor *b_scale, const char *scale_name, const husk_tensor *bias,
                                          const husk_tensor *c, const char *c_name, int64_t n, husk__products *own,
                                          const husk__scope *scope)
{
    char text[HUSK__SHAPE_TEXT];
    if (c->dtype == HUSK_I32 && (b_scale || bias))
        return husk__reject(scope, b_scale ? scale_name : "bias", "is given, but %s is i32: the sums as they are",
                            c_name);
    if (c->dtype == HUSK_I32)
        return HUSK_OK;
    husk_status status = husk__tensor_check_plain(b_scale, HUSK_F32, scale_name, scope);
    if (status != HUSK_OK)
        return status;
    const bool is_one = husk__tensor_count(b_scale) == 1;
    if (!is_one && (b_scale->rank != 1 || b_scale->shape[0] != n))
        return husk__reject(scope, scale_name, "is %s; it must have one element, or be [%lld]",
                            husk__shape_text(b_scale, text), (long long)n);
    husk_tensor plain = *b_scale;
    husk__tensor_resolve(&plain);
    own->scale_stride = is_one ? 0 : plain.strides[0];
    if (!bias)
        return HUSK_OK;
    status = husk__tensor_check_plain(bias, HUSK_F32, "bias", scope);
    if (status == HUSK_OK && (bias->rank != 1 || bias->shape[0] != n))
        status = husk__reject(scope, "bias", "is %s; it must be [%lld]", husk__shape_text(bias, text), (long long)n);
    if (status != HUSK_OK) // its rank may be beyond its strides
        return status;
    plain = *bias;
    husk__tensor_resolve(&plain);
    own->bias_stride = plain.strides[0];
    return HUSK_OK;
}

husk_status husk__products_check_activation(husk_act activation, float slope, husk_dtype c_dtype, husk__products *own,
                                            const husk__scope *scope)
{
    const husk_status status = husk__epilogue_check(activation, slope, "activation_slope", scope);
    if (status != HUSK_OK)
        return status;
    if (c_dtype == HUSK_I32 && activation != HUSK_ACT_NONE)
        return husk__reject(scope, "params", "there is an activation, but the output is i32: the sums as they are");
    const husk__epilogue epilogue = husk__epilogue_resolve(activation, slope);
    own->activation = (int32_t)epilogue.activation;
    own->low = epilogue.low;
    own->slope = epilogue.slope;
    own->high = epilogue.high;
    own->activation_is_smooth = epilogue.is_smooth;
    return HUSK_OK;
}

husk_status husk__products_check_quantization(const husk_quantization *given, const char *argument, husk_dtype dtype,
                                              bool is_wanted, husk_quantization *own, const husk__scope *scope)
{
    const int32_t low = dtype == HUSK_I8 ? -128 : 0;
    *own = (husk_quantization){1.0f, 0};
    if (!given)
        return HUSK_OK;
    if (!is_wanted)
        return husk__reject(scope, argument, "is given, but the tensor is %s, which is not quantized",
                            husk_dtype_name(dtype));
    if (!isfinite(given->scale) || given->scale < 0.0f)
        return husk__reject(scope, argument, "its scale is %g, which is no positive number", (double)given->scale);
    if (given->zero < low || given->zero > low + 255)
        return husk__reject(scope, argument, "its zero is %d, which is no %s", (int)given->zero,
                            husk_dtype_name(dtype));
    own->scale = given->scale != 0.0f ? given->scale : 1.0f;
    own->zero = given->zero;
    return HUSK_OK;
}

void husk__products_describe(const husk__products *own, husk__key *key)
{
    husk__key_i64(key, own->a_dtype);
    husk__key_i64(key, own->c_dtype);
    husk__key_i64(key, own->scale_stride);
    husk__key_i64(key, own->bias_stride);
    husk__key_i64(key, own->activation);
    husk__key_f32(key, own->slope);
}
