// SPDX-License-Identifier: MIT
// Copies: validate -> resolve -> choose -> launch. Kernels: cl/layout/copy_*.cl.
#include <husk/ops/copy.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/params.h"
#include "base/tensor.h"
#include "runtime/walk.h"
#include "select/grid.h"
#include "select/plan.h"

typedef struct problem {
    husk_tensor x, y; // x has y's shape, with strides of 0 where it is repeated
} problem;

typedef struct arguments {
    const husk_tensor *x, *y;
} arguments;

static void describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    husk__key_tensor(key, &own->x);
    husk__key_tensor(key, &own->y);
}

// ---- what the variants share ----

// Tensors: x and y. Sorted by y's strides: writing in order matters more.
static husk__walk walk_of(const problem *own)
{
    husk__walk walk = {0};
    for (int32_t d = 0; d < own->y.rank; ++d)
        husk__walk_add(&walk, (husk__walk_dimension){own->y.shape[d], {own->x.strides[d], own->y.strides[d]}});
    husk__walk_sort_by(&walk, 1);
    husk__walk_merge(&walk);
    return walk;
}

static void classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    husk__walk walk = walk_of(own);
    const int64_t count = husk__walk_count(&walk);
    const husk__walk_dimension row = husk__walk_take_last(&walk);
    husk__text_format(text, " %s %s %s", husk_dtype_name(own->x.dtype), husk_dtype_name(own->y.dtype),
                      row.strides[0] == 1   ? "rows"
                      : row.strides[0] == 0 ? "repeated"
                                            : "turned");
    husk__class_size(text, "row", row.extent);
    husk__class_size(text, "count", count);
}

// Whether x lies as cases with turn=1 have it: its last two dimensions exchanged.
static bool is_turned(const husk_tensor *x)
{
    husk_tensor turned = *x;
    if (x->rank < 2 || husk__tensor_is_packed(x))
        return false;
    turned.shape[x->rank - 2] = x->shape[x->rank - 1];
    turned.shape[x->rank - 1] = x->shape[x->rank - 2];
    turned.strides[x->rank - 2] = x->strides[x->rank - 1];
    turned.strides[x->rank - 1] = x->strides[x->rank - 2];
    return husk__tensor_is_packed(&turned);
}

static void write_case(const void *untyped, const void *given, husk__case *c)
{
    const problem *own = untyped;
    const int32_t rank = own->y.rank;
    const bool turn = is_turned(&own->x);
    int64_t outer = 1;
    (void)given;
    for (int32_t d = 0; d + 2 < rank; ++d)
        outer *= own->y.shape[d];
    husk__case_begin(c, "copy");
    husk__case_size(c, "rows", rank > 1 ? own->y.shape[rank - 2] : 1);
    husk__case_size(c, "columns", rank > 0 ? own->y.shape[rank - 1] : 1);
    husk__case_integer(c, "outer", outer, 1);
    husk__case_integer(c, "turn", turn, 0);
    husk__case_dtype(c, own->y.dtype);
    if (own->x.dtype != own->y.dtype)
        husk__case_note(c, "x is %s", husk_dtype_name(own->x.dtype));
    if (!turn)
        husk__case_tensor(c, "x", &own->x);
    husk__case_tensor(c, "y", &own->y);
}

// A variant's state.
typedef struct launch {
    const husk__kernel *kernel;
    husk__walk_values outer;
    husk__walk_dimension row, lines; // y's fastest dimension, and x's where that is another one
    int64_t total;
    int64_t piece, units, share; // blocks
    husk__range range;
} launch;

// The same dtype twice: bits of its size, so that programs are fewer.
static void dtype_options(const problem *what, const char *more, char options[128])
{
    husk_dtype from = what->x.dtype, to = what->y.dtype;
    if (from == to) {
        const uint64_t bytes = husk_dtype_size(from);
        from = to = bytes == 8 ? HUSK_I64 : bytes == 4 ? HUSK_F32 : bytes == 2 ? HUSK_F16 : HUSK_U8;
    }
    snprintf(options, 128, "-DCOPY_FROM=%d -DCOPY_TO=%d%s%s", (int)from, (int)to, more[0] ? " " : "", more);
}

// ---- blocks: CPU devices ----

enum {
    BLOCKS_LINES = 32, // LINES and COLUMNS of cl/layout/copy_blocks.cl
    BLOCKS_COLUMNS = 64,
    BLOCKS_PIECE = 16384, // elements of a row that has no lines
    BLOCKS_MINIMUM = 65536,
    BLOCKS_GROUPS_PER_UNIT = 4
};

// x's fastest dimension, where x does not go along the row at stride 1 or 0.
static husk__walk_dimension take_lines(husk__walk *walk, const husk__walk_dimension *row)
{
    if (row->strides[0] <= 1 || walk->rank == 0)
        return (husk__walk_dimension){.extent = 1};
    husk__walk_bring_last(walk, 0);
    const husk__walk_dimension *last = &walk->dimensions[walk->rank - 1];
    if (last->strides[0] == 0 || last->strides[0] >= row->strides[0])
        return (husk__walk_dimension){.extent = 1};
    return husk__walk_take_last(walk);
}

static husk_status prepare_blocks(husk_plan *plan, const husk__scope *scope)
{
    const problem *what = plan->problem;
    launch *own = calloc(1, sizeof *own);
    plan->state = own; // freed with the plan
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    husk__walk walk = walk_of(what);
    own->total = husk__walk_count(&walk);
    own->row = husk__walk_take_last(&walk);
    own->lines = take_lines(&walk, &own->row);
    own->outer = husk__walk_prepare(&walk);
    own->piece = own->lines.extent > 1 ? BLOCKS_COLUMNS : BLOCKS_PIECE;
    own->units = husk__walk_count(&walk) * husk__divide_up(own->lines.extent, BLOCKS_LINES) *
                 husk__divide_up(own->row.extent, own->piece);
    const int64_t units = husk_context_traits(plan->context)->compute_units;
    const int64_t unit = husk__max_i64(own->total / own->units, 1);
    own->share = husk__max_i64(husk__divide_up(own->units, BLOCKS_GROUPS_PER_UNIT * units),
                               husk__divide_up(BLOCKS_MINIMUM, unit));
    own->range = (husk__range){{(size_t)husk__divide_up(own->units, own->share), 1, 1}, {1, 1, 1}};
    char options[128];
    dtype_options(what, "", options);
    return husk__kernel_get(plan->context, "layout/copy_blocks.cl", options, "husk_copy_blocks", &own->kernel, scope);
}

static husk_status run_blocks(const husk_plan *plan, husk_queue *queue, const void *untyped,
                              const husk__scratch *scratch, const husk__scope *scope)
{
    const launch *own = plan->state;
    const arguments *given = untyped;
    husk__arg list[20], *end = list;
    (void)scratch;
    *end++ = HUSK__ARG_TENSOR(given->x);
    *end++ = HUSK__ARG_TENSOR(given->y);
    end = husk__walk_write_args(&own->outer, 2, end);
    *end++ = HUSK__ARG_I64(own->lines.extent);
    *end++ = HUSK__ARG_I64(own->lines.strides[0]);
    *end++ = HUSK__ARG_I64(own->lines.strides[1]);
    *end++ = HUSK__ARG_I64(own->row.extent);
    *end++ = HUSK__ARG_I64(own->row.strides[0]);
    *end++ = HUSK__ARG_I64(own->row.strides[1]);
    *end++ = HUSK__ARG_I64(own->piece);
    *end++ = HUSK__ARG_I64(own->units);
    *end++ = HUSK__ARG_I64(own->share);
    return husk__launch(queue, own->kernel, &own->range, list, (size_t)(end - list), scope);
}

static const husk__configuration blocks_menu[] = {{.name = "1", .options = ""}};

static const husk__variant blocks = {
    .name = "blocks",
    .family = HUSK__FAMILY_CPU,
    .configurations = blocks_menu,
    .configuration_count = 1,
    .prepare = prepare_blocks,
    .run = run_blocks,
};

// ---- grid: GPUs ----

enum { GRID_GROUPS_PER_UNIT = 16 };

static husk_status prepare_grid(husk_plan *plan, const husk__scope *scope)
{
    const problem *what = plan->problem;
    launch *own = calloc(1, sizeof *own);
    plan->state = own; // freed with the plan
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    const husk__walk walk = walk_of(what);
    own->total = husk__walk_count(&walk);
    own->outer = husk__walk_prepare(&walk);
    const int64_t items = plan->configuration->values[0];
    const int64_t most = GRID_GROUPS_PER_UNIT * (int64_t)husk_context_traits(plan->context)->compute_units;
    own->range =
        (husk__range){{(size_t)husk__min_i64(husk__divide_up(own->total, items), most), 1, 1}, {(size_t)items, 1, 1}};
    char options[128];
    dtype_options(what, plan->configuration->options, options);
    return husk__kernel_get(plan->context, "layout/copy_grid.cl", options, "husk_copy_grid", &own->kernel, scope);
}

static husk_status run_grid(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                            const husk__scope *scope)
{
    const launch *own = plan->state;
    const arguments *given = untyped;
    husk__arg list[8], *end = list;
    (void)scratch;
    *end++ = HUSK__ARG_TENSOR(given->x);
    *end++ = HUSK__ARG_TENSOR(given->y);
    end = husk__walk_write_args(&own->outer, 2, end);
    *end++ = HUSK__ARG_I64(own->total);
    return husk__launch(queue, own->kernel, &own->range, list, (size_t)(end - list), scope);
}

static const husk__variant grid = {
    HUSK__GRID_VARIANT,
    .prepare = prepare_grid,
    .run = run_grid,
};

// ---- the operator ----

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&blocks, &grid, NULL};

const husk__op husk__op_copy = {
    .name = "copy",
    .problem_size = sizeof(problem),
    .variants = variants,
    .describe = describe,
    .prewarm = prewarm,
    .classify = classify,
    .write_case = write_case,
};

static bool becomes_others(husk_dtype dtype)
{
    return dtype != HUSK_F64 && dtype != HUSK_I8;
}

static husk_status validate(husk_queue *queue, const husk_tensor *x, const husk_tensor *y, const husk__scope *scope)
{
    husk_status status = husk__tensor_check_plain(x, x ? x->dtype : HUSK_F32, "x", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(y, y ? y->dtype : HUSK_F32, "y", scope);
    if (status == HUSK_OK && x->dtype != y->dtype && (!becomes_others(x->dtype) || !becomes_others(y->dtype)))
        return husk__fail(scope, HUSK_UNSUPPORTED, "y: is %s, which %s is not converted to", husk_dtype_name(y->dtype),
                          husk_dtype_name(x->dtype));
    if (status == HUSK_OK)
        status = husk__tensor_check_broadcast(x, "x", y, "y", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(y, "y", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, x, "x", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, y, "y", scope);
    if (status == HUSK_OK)
        status = husk__refuse_overlap(y, "y", x, "x", scope);
    return status;
}

static problem resolve(const husk_tensor *x, const husk_tensor *y)
{
    problem own = {.x = *y, .y = *y};
    husk_tensor from = *x;
    husk__tensor_resolve(&from);
    husk__tensor_resolve(&own.y);
    own.x.dtype = x->dtype;
    for (int32_t d = 0; d < y->rank; ++d) {
        const int32_t at = d - (y->rank - x->rank);
        own.x.strides[d] = at >= 0 && from.shape[at] == y->shape[d] ? from.strides[at] : 0;
    }
    own.x.buffer = own.y.buffer = NULL;
    own.x.offset = own.y.offset = 0;
    return own;
}

husk_status husk_copy(husk_queue *queue, const husk_copy_params *params, const husk_tensor *x, const husk_tensor *y)
{
    husk__scope scope;
    husk_copy_params given;
    husk_status status = husk__call_begin(queue, "husk_copy", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, "HUSK_COPY_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = validate(queue, x, y, &scope);
    if (status != HUSK_OK || husk__tensor_count(y) == 0)
        return status;

    const problem own = resolve(x, y);
    const husk_tensor *const operands[] = {x, y};
    const husk__preference preference = husk__preference_of(given.variant, 0, operands, 2);
    const arguments tensors = {x, y};
    return husk__plan_immediate(queue, &husk__op_copy, &own, &preference, &tensors, &scope);
}

// Bits of four bytes.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const int64_t shape[] = {64};
    husk_buffer *buffer;
    husk_status status = husk_buffer_create(husk_queue_context(queue), 2 * 64 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 1, shape);
    husk_tensor y = x;
    y.offset = 64;
    const problem own = resolve(&x, &y);
    const husk__preference preference = {0};
    const arguments tensors = {&x, &y};
    status = husk__plan_immediate(queue, &husk__op_copy, &own, &preference, &tensors, scope);
    husk_buffer_release(buffer);
    return status;
}
