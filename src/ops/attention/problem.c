// SPDX-License-Identifier: MIT
// What attention and its gradient share: checks, the problem, configurations.
#include "ops/attention/problem.h"

#include <math.h>
#include <stdio.h>

#include "base/checked.h"
#include "base/epilogue.h"
#include "base/params.h"
#include "base/tensor.h"
#include "machine/predict.h"

typedef husk__attention_problem problem;
typedef husk__attention_inputs inputs;

enum { BATCH = HUSK__ATTENTION_BATCH, HEADS, LENGTH, COLUMNS };

void husk__attention_describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    const husk_tensor *const tensors[] = {&own->q, &own->k, &own->v, &own->mask, &own->y, &own->log_sum_exp};
    husk__key_i64(key, own->causal);
    husk__key_f32(key, own->scale);
    husk__key_i64(key, own->precision);
    husk__key_i64(key, own->drops);
    husk__key_i64(key, own->mask_kind);
    for (int i = 0; i < 6; ++i)
        husk__key_tensor(key, tensors[i]);
}

void husk__attention_classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    husk__text_format(text, " %s%s%s%s", husk_dtype_name(own->q.dtype), own->causal ? " causal" : "",
                      own->mask_kind ? " mask" : "", own->drops ? " dropout" : "");
    if (own->precision != HUSK_PRECISION_HIGHEST)
        husk__text_format(text, "%s", own->precision == HUSK_PRECISION_HIGH ? " high" : " medium");
    husk__class_size(text, "heads", own->q.shape[BATCH] * own->q.shape[HEADS]);
    husk__class_size(text, "queries", own->q.shape[LENGTH]);
    husk__class_size(text, "keys", own->k.shape[LENGTH]);
    husk__class_size(text, "d", own->q.shape[COLUMNS]);
    husk__class_size(text, "e", own->v.shape[COLUMNS]);
}

void husk__attention_begin_case(const problem *own, const inputs *given, husk__case *c)
{
    static const char *const causal[] = {"none", "top_left", "bottom_right"};
    const int64_t *q = own->q.shape, *k = own->k.shape, e = own->v.shape[COLUMNS];
    husk__case_begin(c, "attention");
    husk__case_integer(c, "n", q[BATCH], 1);
    husk__case_size(c, "heads", q[HEADS]);
    husk__case_size(c, "length", q[LENGTH]);
    husk__case_size(c, "d", q[COLUMNS]);
    husk__case_integer(c, "kv_heads", k[HEADS], q[HEADS]);
    husk__case_integer(c, "keys", k[LENGTH], q[LENGTH]);
    husk__case_integer(c, "e", e, q[COLUMNS]);
    husk__case_word(c, "causal", causal[own->causal], "none");
    if (given)
        husk__case_integer(c, "percent", (int64_t)(100.0 * (double)given->dropout + 0.5), 0);
    else if (own->drops)
        husk__case_note(c, "dropout");
    husk__case_dtype(c, own->q.dtype);
    if (own->scale != 0.0f)
        husk__case_note(c, "scale %g", (double)own->scale);
    if (own->mask_kind != HUSK__ATTENTION_MASK_NONE)
        husk__case_note(c, own->mask_kind == HUSK__ATTENTION_MASK_ADDED ? "added mask" : "boolean mask");
    husk__case_tensor(c, "q", &own->q);
    husk__case_tensor(c, "k", &own->k);
    husk__case_tensor(c, "v", &own->v);
    husk__case_tensor(c, "y", &own->y);
}

// ---- checks ----

static husk_status check_params(const husk_attention_params *params, const husk__scope *scope)
{
    if ((int)params->causal < HUSK_CAUSAL_NONE || params->causal > HUSK_CAUSAL_BOTTOM_RIGHT)
        return husk__reject(scope, "params", "causal %d is none of husk_causal", (int)params->causal);
    if (!isfinite(params->scale))
        return husk__reject(scope, "params", "scale is not finite");
    if (!(params->dropout >= 0.0f && params->dropout <= 1.0f))
        return husk__reject(scope, "params", "dropout is %g, which is not from 0 to 1", (double)params->dropout);
    if (params->accumulate > HUSK_ACCUMULATE_ALL)
        return husk__reject(scope, "params", "accumulate %u has bits that mean nothing", (unsigned)params->accumulate);
    return husk__precision_check(params->precision, scope);
}

husk_status husk__attention_read(husk_attention_params *options, const husk_attention_params *params,
                                 const husk__scope *scope)
{
    return husk__params_read(options, sizeof *options, "HUSK_ATTENTION_PARAMS", params, scope);
}

husk_status husk__attention_check_tensor(const husk_tensor *tensor, const char *name, const husk_tensor *q,
                                         const int64_t *shape, const char *other, const husk__scope *scope)
{
    husk_status status = husk__tensor_check_plain(tensor, q->dtype, name, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(tensor, name, 4, shape, other, scope);
    if (status != HUSK_OK)
        return status;
    husk_tensor resolved = *tensor;
    husk__tensor_resolve(&resolved);
    if (resolved.strides[COLUMNS] != 1 && resolved.shape[COLUMNS] > 1)
        return husk__fail(scope, HUSK_UNSUPPORTED, "argument %s: its last dimension's stride is %lld, must be 1", name,
                          (long long)resolved.strides[COLUMNS]);
    return HUSK_OK;
}

husk_status husk__attention_check_sums(const husk_tensor *log_sum_exp, const husk_tensor *q, const husk__scope *scope)
{
    const husk_dtype dtype = q->dtype == HUSK_F64 ? HUSK_F64 : HUSK_F32;
    husk_status status = husk__tensor_check_plain(log_sum_exp, dtype, "log_sum_exp", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(log_sum_exp, "log_sum_exp", 3, q->shape, "batch, heads and queries", scope);
    return status;
}

static husk_status check_mask(const husk_tensor *mask, const husk_tensor *q, const husk_tensor *k,
                              const husk__scope *scope)
{
    const int64_t full[] = {q->shape[BATCH], q->shape[HEADS], q->shape[LENGTH], k->shape[LENGTH]};
    husk_status status = husk__tensor_check_plain(mask, mask->dtype == HUSK_U8 ? HUSK_U8 : q->dtype, "mask", scope);
    if (status != HUSK_OK)
        return status;
    if (mask->rank > 4)
        return husk__reject(scope, "mask", "has %d dimensions, 4 at most are meant", (int)mask->rank);
    for (int32_t d = 0; d < mask->rank; ++d)
        if (mask->shape[d] != 1 && mask->shape[d] != full[4 - mask->rank + d])
            return husk__reject(scope, "mask", "dimension %d is %lld, neither 1 nor %lld", (int)d,
                                (long long)mask->shape[d], (long long)full[4 - mask->rank + d]);
    return HUSK_OK;
}

husk_status husk__attention_check(husk_queue *queue, const husk_attention_params *params, const inputs *given,
                                  const husk__scope *scope)
{
    const husk_tensor *q = given->q, *k = given->k, *v = given->v;
    husk_status status = check_params(params, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_real(queue, q, "q", scope);
    if (status == HUSK_OK && q->rank != 4)
        return husk__reject(scope, "q", "rank is %d, must be 4: batch, heads, length, columns", (int)q->rank);
    if (status == HUSK_OK)
        status = husk__attention_check_tensor(q, "q", q, q->shape, "its own", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(k, q->dtype, "k", scope);
    if (status != HUSK_OK)
        return status;
    if (k->rank != 4)
        return husk__reject(scope, "k", "rank is %d, must be 4: batch, heads, length, columns", (int)k->rank);
    const int64_t heads = k->shape[HEADS];
    if ((heads == 0) != (q->shape[HEADS] == 0) || (heads > 0 && q->shape[HEADS] % heads != 0))
        return husk__reject(scope, "k", "q's %lld heads are no multiple of its %lld", (long long)q->shape[HEADS],
                            (long long)heads);
    const int64_t k_shape[] = {q->shape[BATCH], heads, k->shape[LENGTH], q->shape[COLUMNS]};
    status = husk__attention_check_tensor(k, "k", q, k_shape, "q's batch and columns", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(v, q->dtype, "v", scope);
    const int64_t v_shape[] = {q->shape[BATCH], heads, k->shape[LENGTH],
                               status == HUSK_OK && v->rank == 4 ? v->shape[COLUMNS] : 0};
    if (status == HUSK_OK)
        status = husk__attention_check_tensor(v, "v", q, v_shape, "k's batch, heads and length", scope);
    if (status == HUSK_OK && given->mask)
        status = check_mask(given->mask, q, k, scope);
    if (status == HUSK_OK && (q->shape[LENGTH] > INT32_MAX / 4 || k->shape[LENGTH] > INT32_MAX / 4))
        return husk__fail(scope, HUSK_UNSUPPORTED, "argument q or k: more than %d positions", INT32_MAX / 4);
    if (status == HUSK_OK && (q->shape[COLUMNS] > INT32_MAX / 4 || v->shape[COLUMNS] > INT32_MAX / 4))
        return husk__fail(scope, HUSK_UNSUPPORTED, "argument q or v: more than %d columns", INT32_MAX / 4);
    if (status == HUSK_OK && q->shape[HEADS] > INT32_MAX / 4)
        return husk__fail(scope, HUSK_UNSUPPORTED, "argument q: more than %d heads", INT32_MAX / 4);
    return status;
}

husk_status husk__attention_bind(husk_queue *queue, const inputs *given, const husk__scope *scope)
{
    husk_status status = husk__tensor_bind(queue, given->q, "q", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, given->k, "k", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, given->v, "v", scope);
    if (status == HUSK_OK && given->mask)
        status = husk__tensor_bind(queue, given->mask, "mask", scope);
    return status;
}

// ---- the problem ----

void husk__attention_resolve_tensor(husk_tensor *tensor, const husk_tensor *given)
{
    if (given)
        *tensor = husk__tensor_bare_copy(given);
}

static husk_tensor resolve_mask(const husk_tensor *given, const husk_tensor *q, const husk_tensor *k)
{
    const int64_t full[] = {q->shape[BATCH], q->shape[HEADS], q->shape[LENGTH], k->shape[LENGTH]};
    husk_tensor mask = {0}, wide = {0};
    if (!given)
        return mask;
    husk__attention_resolve_tensor(&mask, given);
    wide.dtype = mask.dtype;
    wide.rank = 4;
    for (int32_t d = 0; d < 4; ++d) {
        const int32_t own = d - (4 - mask.rank);
        wide.shape[d] = full[d];
        wide.strides[d] = own >= 0 && mask.shape[own] > 1 ? mask.strides[own] : 0;
    }
    return wide;
}

problem husk__attention_resolve(husk_context *context, const husk_attention_params *params, const inputs *given)
{
    problem own = {.causal = params->causal,
                   .precision = husk__context_precision(context, params->precision),
                   .drops = params->dropout > 0.0f};
    husk__attention_resolve_tensor(&own.q, given->q);
    husk__attention_resolve_tensor(&own.k, given->k);
    husk__attention_resolve_tensor(&own.v, given->v);
    own.mask = resolve_mask(given->mask, given->q, given->k);
    own.scale = params->scale;
    if (given->mask)
        own.mask_kind = given->mask->dtype == HUSK_U8 ? HUSK__ATTENTION_MASK_BOOLEAN : HUSK__ATTENTION_MASK_ADDED;
    return own;
}

double husk__attention_scale(const problem *own)
{
    const int64_t columns = own->q.shape[COLUMNS];
    if (own->scale != 0.0f || columns == 0)
        return own->scale;
    const double scale = 1.0 / sqrt((double)columns);
    return own->q.dtype == HUSK_F64 ? scale : (float)scale;
}

husk__arg *husk__attention_write_tensor(const husk_tensor *resolved, const husk_tensor *given, husk__arg *end)
{
    *end++ = HUSK__ARG_TENSOR(given);
    for (int d = BATCH; d <= LENGTH; ++d)
        *end++ = HUSK__ARG_I64(resolved->strides[d]);
    return end;
}

husk__arg *husk__attention_write_outputs(const problem *own, const husk__attention_arguments *given, husk__arg *end)
{
    end = husk__attention_write_tensor(&own->y, given->y, end);
    end = husk__attention_write_tensor(&own->log_sum_exp, given->log_sum_exp, end);
    *end++ = HUSK__ARG_I32(given->log_sum_exp != NULL);
    return end;
}

husk__arg *husk__attention_write_args(const problem *own, const inputs *given, husk__arg *end)
{
    const bool is_all = given->dropout >= 1.0f; // 2^32 is no uint; a factor of zero drops what the threshold leaves
    const int64_t keys = own->k.shape[LENGTH], queries = own->q.shape[LENGTH];
    int64_t shift = keys;
    if (own->causal)
        shift = own->causal == HUSK_CAUSAL_BOTTOM_RIGHT ? keys - queries : 0;
    end = husk__attention_write_tensor(&own->q, given->q, end);
    end = husk__attention_write_tensor(&own->k, given->k, end);
    end = husk__attention_write_tensor(&own->v, given->v, end);
    *end++ = HUSK__ARG_TENSOR(given->mask);
    for (int d = 0; d < 4; ++d)
        *end++ = HUSK__ARG_I64(own->mask.strides[d]);
    *end++ = HUSK__ARG_I32(own->mask_kind);
    *end++ = HUSK__ARG_I32(own->q.shape[HEADS]);
    *end++ = HUSK__ARG_I32(own->k.shape[HEADS] > 0 ? own->q.shape[HEADS] / own->k.shape[HEADS] : 1);
    *end++ = HUSK__ARG_I32(queries);
    *end++ = HUSK__ARG_I32(keys);
    *end++ = HUSK__ARG_I32(own->q.shape[COLUMNS]);
    *end++ = HUSK__ARG_I32(own->v.shape[COLUMNS]);
    *end++ = HUSK__ARG_ACC(own->q.dtype, husk__attention_scale(own) * 1.4426950408889634);
    *end++ = HUSK__ARG_I64(shift);
    *end++ = HUSK__ARG_I64(given->seed);
    *end++ = HUSK__ARG_I64(given->offset);
    *end++ = HUSK__ARG_I32(is_all ? UINT32_MAX : (uint32_t)rint(given->dropout * 4294967296.0));
    *end++ = HUSK__ARG_ACC(own->q.dtype, is_all ? 0.0 : 1.0 / (1.0 - given->dropout));
    return end;
}

// ---- the CPU family's configurations ----

// Panels of 512 KiB and sums of 256 KiB at most share a second-level cache of 1 MiB; 256 scores of 12 rows lie in the
// first beside what streams by. Backward holds two such lines.
#define TILE_12    "-DTILE_M=12 -DTILE_NV=2" // AVX-512 and NEON: 24 sums and three more in 32 registers
#define TILE_6     "-DTILE_M=6 -DTILE_NV=2"  // AVX2 and SSE: 12 sums in 16 registers
#define ROOM_OF(columns, line) \
    " -DMOST_COLUMNS=" #columns " -DPANEL_FLOATS=131328 -DSTATE_FLOATS=65536 -DLINE=" #line
const husk__configuration husk__attention_blocks_menu[HUSK__ATTENTION_BLOCKS] = {
    {"12x2v", TILE_12 ROOM_OF(512, 256), {12, 2, 512, 131328, 65536, 256}},
    {"6x2v", TILE_6 ROOM_OF(512, 256), {6, 2, 512, 131328, 65536, 256}},
};
// Four operands are packed instead of two.
const husk__configuration husk__attention_backward_blocks_menu[HUSK__ATTENTION_BLOCKS] = {
    {"12x2v", TILE_12 ROOM_OF(256, 128), {12, 2, 256, 131328, 65536, 128}},
    {"6x2v", TILE_6 ROOM_OF(256, 128), {6, 2, 256, 131328, 65536, 128}},
};

bool husk__attention_supports_blocks(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const problem *own = candidate->problem;
    const int32_t most = candidate->configuration->values[HUSK__ATTENTION_MOST_COLUMNS];
    if (own->q.shape[COLUMNS] <= most && own->v.shape[COLUMNS] <= most)
        return true;
    snprintf(reason, HUSK__REASON_CAPACITY, "takes rows of at most %d columns", (int)most);
    return false;
}

enum { SMALL_TILE_M = 6 }; // rows of TILE_6

// The tile that fits the registers: 1 for it, 2 for the other.
double husk__attention_cost_blocks(const husk__candidate *candidate)
{
    const bool is_small = candidate->configuration->values[HUSK__ATTENTION_TILE_M] == SMALL_TILE_M;
    return is_small == (candidate->machine->registers <= HUSK__FEW_REGISTERS) ? 1.0 : 2.0;
}

int32_t husk__attention_lanes(const husk_device_traits *traits, husk_dtype dtype)
{
    const int32_t lanes = (int32_t)traits->vector_width;
    return dtype == HUSK_F64 && lanes > 4 ? lanes / 2 : lanes;
}

const char *husk__attention_options(husk_dtype dtype)
{
    return dtype == HUSK_F64 ? "-DDTYPE_F64 -DHALF_VECTORS" : husk__dtype_option(dtype);
}

husk__attention_tile husk__attention_tile_of(const husk__configuration *configuration, const husk_device_traits *traits,
                                             husk_dtype dtype)
{
    const int32_t *values = configuration->values;
    const int64_t size = (int64_t)husk__accumulator_size(dtype), lanes = husk__attention_lanes(traits, dtype);
    return (husk__attention_tile){
        .rows = values[HUSK__ATTENTION_TILE_M],
        .columns = lanes * values[HUSK__ATTENTION_TILE_NV],
        .lanes = lanes,
        .panel_room = values[HUSK__ATTENTION_PANEL_FLOATS] * (int64_t)sizeof(float) / size,
        .state_room = values[HUSK__ATTENTION_STATE_FLOATS] * (int64_t)sizeof(float) / size,
    };
}

int64_t husk__attention_padded(const husk__attention_tile *tile, int64_t columns)
{
    return husk__round_up(husk__max_i64(columns, 1), tile->columns);
}

int64_t husk__attention_unit_rows(const husk__attention_tile *own, const husk_device_traits *traits, int64_t units,
                                  int64_t rows, int64_t room)
{
    // To pack and to begin costs a work-group what a few rows cost.
    enum { LEAST_TILES = 8, GROUPS_PER_UNIT = 4, ROWS_TO_BEGIN = 24 };
    const int64_t tile = own->rows, cores = (int64_t)traits->compute_units;
    const int64_t most = husk__max_i64(husk__divide_up(rows, LEAST_TILES * tile), 1);
    const int64_t wanted = husk__divide_up(GROUPS_PER_UNIT * cores, husk__max_i64(units, 1));
    const int64_t least = husk__max_i64(husk__divide_up(rows, room), husk__min_i64(wanted, most));
    int64_t best = 0, least_cost = INT64_MAX;
    for (int64_t parts = husk__max_i64(least, 1); parts <= least || parts <= husk__min_i64(most, 2 * wanted); ++parts) {
        const int64_t share = husk__round_up(husk__divide_up(husk__max_i64(rows, 1), parts), tile);
        const int64_t groups = units * husk__divide_up(husk__max_i64(rows, 1), share);
        const int64_t cost = husk__divide_up(groups, cores) * (share + ROWS_TO_BEGIN);
        if (cost < least_cost) {
            least_cost = cost;
            best = share;
        }
    }
    return husk__min_i64(best, room);
}

int64_t husk__attention_room(const husk__attention_tile *tile, int64_t columns)
{
    return (tile->state_room / columns - tile->rows) / tile->rows * tile->rows;
}

int64_t husk__attention_chunk(const husk__attention_tile *tile, int64_t rows, int64_t turned, int64_t plain_padded,
                              int64_t plain_panels)
{
    enum { MOST_CHUNK = 2048 };
    const int64_t room = tile->panel_room - plain_panels * tile->lanes, row = husk__max_i64(turned + plain_padded, 1);
    const int64_t most = husk__min_i64(room / row / tile->columns * tile->columns, MOST_CHUNK);
    return husk__attention_share(rows, most, tile->columns);
}

int64_t husk__attention_share(int64_t rows, int64_t most, int64_t tile)
{
    const int64_t parts = husk__divide_up(husk__max_i64(rows, 1), husk__max_i64(most, tile));
    return husk__round_up(husk__divide_up(husk__max_i64(rows, 1), parts), tile);
}

// ---- the GPU family's configurations ----

// Of cl/lib/attention_workgroup.clh: rows, and columns, of a tile that a work-item holds; the larger of its two sides.
enum { ITEM_SIDE = 4, LARGE_SIDE = 16 };

const husk__configuration husk__attention_workgroup_menu[HUSK__ATTENTION_SIDES] = {
    {.name = "16x16", .options = "-DSIDE=16", .values = {16}},
    {.name = "8x8", .options = "-DSIDE=8", .values = {8}},
};

bool husk__attention_can_launch(const husk_tensor *heads, int64_t rows, int64_t blocks, int64_t items,
                                char reason[HUSK__REASON_CAPACITY])
{
    const int64_t tiles = husk__divide_up(husk__max_i64(heads->shape[LENGTH], 1), rows);
    const int64_t most = HUSK__MOST_ITEMS / items / tiles;
    const bool has_few = heads->shape[BATCH] <= most / husk__max_i64(heads->shape[HEADS], 1);
    if (has_few && blocks <= HUSK__MOST_GROUPS)
        return true;
    snprintf(reason, HUSK__REASON_CAPACITY, "%s are more than a launch has",
             has_few ? "blocks of columns" : "work-items of all heads");
    return false;
}

bool husk__attention_supports_workgroup(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const problem *own = candidate->problem;
    const int32_t side = candidate->configuration->values[HUSK__ATTENTION_SIDE];
    if (own->q.dtype == HUSK_F64 && side == LARGE_SIDE) {
        snprintf(reason, HUSK__REASON_CAPACITY, "leaves f64 to work-groups whose tiles take half as much local memory");
        return false;
    }
    if ((uint64_t)(side * side) > candidate->traits->work_group) {
        snprintf(reason, HUSK__REASON_CAPACITY, "needs work-groups of %d", side * side);
        return false;
    }
    return husk__attention_can_launch(&own->q, ITEM_SIDE * side,
                                      husk__divide_up(own->v.shape[COLUMNS], ITEM_SIDE * side), side * side, reason);
}

// What the variants for GPUs are compared with one another by, and with nothing else, so that it is a scale that they
// share: a launch, and multiply-adds of a compute unit in a nanosecond.
static const double LAUNCH_NS = 5000.0, UNIT_PRODUCTS = 128.0;
static const double WEIGHT_PRODUCTS = 24.0; // multiply-adds in the time that a score takes to become a weight
static const double CAUSAL_MEAN = 0.5;      // of the keys that the first tile of queries sees, and the last
// The share of a unit's multiply-adds that variant workgroup comes to, by its side.
static const double LARGE_EFFICIENCY = 0.4, SMALL_EFFICIENCY = 0.3;

double husk__attention_cost_groups(const husk__candidate *candidate, int64_t rows, int64_t columns, double efficiency)
{
    const problem *own = candidate->problem;
    const int64_t queries = own->q.shape[LENGTH], keys = own->k.shape[LENGTH], e = own->v.shape[COLUMNS];
    const int64_t parts = husk__divide_up(husk__max_i64(e, 1), columns);
    const int64_t groups = husk__divide_up(queries, rows) * own->q.shape[BATCH] * own->q.shape[HEADS] * parts;
    const int64_t rounds = husk__divide_up(groups, husk__max_i64(1, candidate->traits->compute_units));
    const double seen = own->causal ? CAUSAL_MEAN * (double)(keys + husk__min_i64(keys, rows)) : (double)keys;
    // Blocks of columns that no column of y falls into are left out.
    const double block = (double)husk__min_i64(husk__round_up(husk__max_i64(e, 1), rows), columns);
    const double terms = (double)own->q.shape[COLUMNS] + block;
    return LAUNCH_NS + (double)rounds * (double)rows * seen *
                           (terms / (UNIT_PRODUCTS * efficiency) + WEIGHT_PRODUCTS / UNIT_PRODUCTS);
}

double husk__attention_cost_workgroup(const husk__candidate *candidate)
{
    const int32_t side = candidate->configuration->values[HUSK__ATTENTION_SIDE];
    return husk__attention_cost_groups(candidate, ITEM_SIDE * side, ITEM_SIDE * side,
                                       side == LARGE_SIDE ? LARGE_EFFICIENCY : SMALL_EFFICIENCY);
}
