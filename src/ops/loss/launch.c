// SPDX-License-Identifier: MIT
// Launches of losses and their gradients. Both variants, cl/loss/*vector.cl and cl/loss/*workgroup.cl, take the same
// arguments and cut the work in the same way: by the shape alone.
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/loss/problem.h"
#include "select/grid.h"

typedef husk__loss_problem problem;
typedef husk__loss_arguments arguments;

enum {
    UNIT = 16384,          // elements of x that are worth a work-group
    MOST_UNITS = 1024,     // of a call: their sums are added by one work-item
    WEIGHT_UNIT = 4096,    // labels
    MOST_WEIGHT_UNITS = 16 // every work-group of the gradient adds them up
};

// The same numbers as in cl/lib/loss.clh.
enum {
    FLAG_WEIGHT = 1,
    FLAG_POSITIVE = 2,
    FLAG_LABELS_I32 = 4,
    FLAG_LABELS_I64 = 8,
    FLAG_REDUCES = 16,
    FLAG_MEAN = 32,
    FLAG_FINISHES = 64,
    FLAG_ADDS = 128,
    FLAG_COLUMNS = 256,
    KIND_DIVERGENCE_LOG = 100 // far behind the operator's own numbers
};

enum { X, TARGET, LOSS, DX, WEIGHT, POSITIVE_WEIGHT, TENSORS };

typedef struct dimension {
    int64_t extent, strides[TENSORS];
} dimension;

typedef struct geometry {
    husk__walk main, extra; // of rows, but for the last dimension
    dimension last;
    dimension classes;
    int64_t rows;
} geometry;

typedef struct launch {
    const husk__kernel *main, *second; // second: combine, or weights
    geometry shape;
    int64_t share, units, weight_share, weight_units; // 0 weight_units: no sums of weights are needed
    int32_t flags, kind;
    double divisor;
    size_t items;
} launch;

// ---- geometry ----

static dimension dimension_of(const problem *own, int32_t d, int32_t row)
{
    const bool has_rows = husk__loss_has_rows(own->kind), is_class = row < 0;
    dimension made = {.extent = own->x.shape[d], .strides = {[X] = own->x.strides[d]}};
    if (!own->has_labels)
        made.strides[TARGET] = own->target.strides[d];
    else if (!is_class)
        made.strides[TARGET] = own->target.strides[row];
    if (own->reduction == HUSK_LOSS_NONE && !is_class)
        made.strides[LOSS] = own->loss.strides[row];
    if (own->is_backward)
        made.strides[DX] = own->dx.strides[d];
    if (has_rows && is_class && own->has_weight)
        made.strides[WEIGHT] = own->weight.strides[0];
    if (!has_rows && own->has_weight)
        made.strides[WEIGHT] = own->weight.strides[d];
    if (!has_rows && own->has_positive_weight)
        made.strides[POSITIVE_WEIGHT] = own->positive_weight.strides[d];
    return made;
}

static bool comes_before(const dimension *a, const dimension *b)
{
    for (int t = 0; t < TENSORS; ++t)
        if (a->strides[t] != b->strides[t])
            return a->strides[t] > b->strides[t];
    return false;
}

static void insert(dimension *list, int32_t *rank, dimension added)
{
    if (added.extent == 1)
        return;
    int32_t at = (*rank)++;
    for (; at > 0 && comes_before(&added, &list[at - 1]); --at)
        list[at] = list[at - 1];
    list[at] = added;
}

static bool follows(const dimension *outer, const dimension *inner)
{
    for (int t = 0; t < TENSORS; ++t)
        if (outer->strides[t] != inner->extent * inner->strides[t])
            return false;
    return true;
}

static int32_t merge(dimension *list, int32_t rank)
{
    int32_t kept = 0;
    for (int32_t d = 0; d < rank; ++d) {
        if (kept > 0 && follows(&list[kept - 1], &list[d])) {
            list[d].extent *= list[kept - 1].extent;
            list[kept - 1] = list[d];
        } else {
            list[kept++] = list[d];
        }
    }
    return kept;
}

static geometry geometry_of(const problem *own)
{
    geometry made = {.last = {.extent = 1}, .classes = {.extent = 1}, .rows = 1};
    const bool has_rows = husk__loss_has_rows(own->kind);
    dimension list[HUSK_MAX_RANK];
    int32_t rank = 0, row = 0;
    for (int32_t d = 0; d < own->x.rank; ++d) {
        if (has_rows && d == husk__loss_axis(&own->x)) {
            made.classes = dimension_of(own, d, -1);
        } else {
            made.rows *= own->x.shape[d];
            insert(list, &rank, dimension_of(own, d, row++));
        }
    }
    rank = merge(list, rank);
    if (rank > 0)
        made.last = list[--rank];
    for (int32_t d = 0; d < rank; ++d) {
        const int64_t *s = list[d].strides;
        husk__walk_add(&made.main, (husk__walk_dimension){list[d].extent, {s[X], s[TARGET], s[LOSS], s[DX]}});
        husk__walk_add(&made.extra, (husk__walk_dimension){list[d].extent, {s[WEIGHT], s[POSITIVE_WEIGHT]}});
    }
    return made;
}

// ---- a variant's functions ----

bool husk__loss_supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const geometry shape = geometry_of(candidate->problem);
    const int32_t items = husk__grid_items(candidate->configuration);
    snprintf(reason, HUSK__REASON_CAPACITY, "needs work-groups of %d and less than 2^30 classes", items);
    return (uint64_t)items <= candidate->traits->work_group && shape.classes.extent <= INT32_MAX / 2;
}

enum { LARGE_GROUP = 256 }; // work-items of the menu's larger work-groups (select/grid.h); a row of as many fills one

// Larger work-groups, but not for short rows.
double husk__loss_cost(const husk__candidate *candidate)
{
    const geometry shape = geometry_of(candidate->problem);
    const bool wants_large = shape.classes.extent == 1 || shape.classes.extent >= LARGE_GROUP;
    return (husk__grid_items(candidate->configuration) >= LARGE_GROUP) == wants_large ? 0.0 : 1.0;
}

static void share_out(const geometry *shape, launch *own)
{
    const int64_t least = husk__max_i64(1, UNIT / shape->classes.extent);
    own->share = husk__max_i64(least, husk__divide_up(shape->rows, MOST_UNITS));
    if (shape->last.extent > 64) // units end with whole vectors
        own->share = husk__round_up(own->share, 64);
    own->units = husk__divide_up(shape->rows, own->share);
    own->weight_share = husk__max_i64(WEIGHT_UNIT, husk__divide_up(shape->rows, MOST_WEIGHT_UNITS));
}

static bool needs_weights(const problem *own)
{
    return own->is_backward && own->has_labels && own->reduction == HUSK_LOSS_MEAN;
}

// Four numbers a unit forward, two a unit of labels backward.
uint64_t husk__loss_workspace(const husk__candidate *candidate)
{
    const problem *own = candidate->problem;
    const uint64_t size = husk__accumulator_size(own->x.dtype);
    const geometry shape = geometry_of(own);
    launch parts = {0};
    share_out(&shape, &parts);
    if (needs_weights(own))
        return 2 * size * (uint64_t)husk__divide_up(shape.rows, parts.weight_share);
    return own->is_backward || own->reduction == HUSK_LOSS_NONE ? 0 : 4 * size * (uint64_t)parts.units;
}

static int32_t flags_of(const problem *own, const launch *parts)
{
    const bool reduces = own->reduction != HUSK_LOSS_NONE;
    int32_t flags = (own->has_weight ? FLAG_WEIGHT : 0) | (own->has_positive_weight ? FLAG_POSITIVE : 0);
    if (own->has_labels)
        flags |= own->target.dtype == HUSK_I64 ? FLAG_LABELS_I64 : FLAG_LABELS_I32;
    flags |= (reduces ? FLAG_REDUCES : 0) | (own->reduction == HUSK_LOSS_MEAN ? FLAG_MEAN : 0);
    flags |= (reduces && parts->units == 1 ? FLAG_FINISHES : 0) | (own->accumulates ? FLAG_ADDS : 0);
    const geometry *shape = &parts->shape;
    if (husk__loss_has_rows(own->kind) && shape->classes.strides[X] != 1 && shape->last.strides[X] == 1)
        flags |= FLAG_COLUMNS;
    return flags;
}

husk_status husk__loss_prepare(husk_plan *plan, const husk__scope *scope)
{
    const problem *what = plan->problem;
    const char *direction = what->is_backward ? "_backward" : "", *form = plan->variant->name;
    char options[64], file[64], name[64];
    launch *own = calloc(1, sizeof *own);
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = own; // freed with the plan
    own->shape = geometry_of(what);
    share_out(&own->shape, own);
    own->weight_units = needs_weights(what) ? husk__divide_up(own->shape.rows, own->weight_share) : 0;
    own->flags = flags_of(what, own);
    own->kind = what->log_target ? KIND_DIVERGENCE_LOG : (int32_t)what->kind;
    own->divisor = what->reduction == HUSK_LOSS_MEAN ? (double)own->shape.rows : 1.0;
    own->items = (size_t)husk__grid_items(plan->configuration);
    snprintf(options, sizeof options, "%s %s", husk__dtype_option(what->x.dtype), plan->configuration->options);
    snprintf(file, sizeof file, "loss/%s%s.cl", what->is_backward ? "backward_" : "", form);
    snprintf(name, sizeof name, "husk_loss%s_%s_%s", direction, form,
             husk__loss_has_rows(what->kind) ? "rows" : "elements");
    husk_status status = husk__kernel_get(plan->context, file, options, name, &own->main, scope);
    const bool combines = !what->is_backward && (own->flags & FLAG_REDUCES) && !(own->flags & FLAG_FINISHES);
    if (status == HUSK_OK && (combines || own->weight_units)) {
        snprintf(name, sizeof name, "husk_loss%s_%s_%s", direction, form, combines ? "combine" : "weights");
        status = husk__kernel_get(plan->context, file, options, name, &own->second, scope);
    }
    return status;
}

// ---- launches ----

enum { MOST_ARGUMENTS = 13 + 2 * (2 + HUSK__WALK_TENSORS) + 12 + 7 };

static husk__arg *write_rows(const launch *own, const problem *what, const husk__walk_values *main, int64_t share,
                             husk__arg *end)
{
    const dimension *last = &own->shape.last;
    end = husk__walk_write_args(main, 4, end);
    *end++ = HUSK__ARG_I64(last->extent);
    for (int t = X; t <= DX; ++t)
        *end++ = HUSK__ARG_I64(last->strides[t]);
    *end++ = HUSK__ARG_I64(own->shape.rows);
    *end++ = HUSK__ARG_I64(share);
    *end++ = HUSK__ARG_I32(own->kind);
    *end++ = HUSK__ARG_I32(own->flags);
    *end++ = HUSK__ARG_ACC(what->x.dtype, own->divisor);
    return end;
}

static husk__arg *write_classes(const launch *own, const problem *what, husk__arg *end)
{
    const dimension *classes = &own->shape.classes;
    *end++ = HUSK__ARG_I32(classes->extent);
    *end++ = HUSK__ARG_I64(classes->strides[X]);
    *end++ = HUSK__ARG_I64(classes->strides[TARGET]);
    *end++ = HUSK__ARG_I64(classes->strides[DX]);
    *end++ = HUSK__ARG_I64(classes->strides[WEIGHT]);
    *end++ = HUSK__ARG_I64(what->ignored);
    *end++ = HUSK__ARG_ACC(what->x.dtype, what->smoothing);
    return end;
}

static husk_status sum_weights(const launch *own, const problem *what, const husk__walk_values *main, husk_queue *queue,
                               const arguments *given, const husk__scratch *scratch, const husk__scope *scope)
{
    husk__arg list[MOST_ARGUMENTS], *end = list;
    const husk__range range = {{(size_t)own->weight_units, 1, 1}, {own->items, 1, 1}};
    *end++ = HUSK__ARG_TENSOR(given->target);
    *end++ = HUSK__ARG_TENSOR(given->weight);
    *end++ = HUSK__ARG_BUFFER(scratch->buffer, 0, husk__accumulator_size(what->x.dtype));
    end = write_rows(own, what, main, own->weight_share, end);
    end = write_classes(own, what, end);
    return husk__launch(queue, own->second, &range, list, (size_t)(end - list), scope);
}

husk_status husk__loss_run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                           const husk__scope *scope)
{
    const launch *own = plan->state;
    const problem *what = plan->problem;
    const arguments *given = untyped;
    const husk__walk_values main = husk__walk_prepare(&own->shape.main), extra = husk__walk_prepare(&own->shape.extra);
    const husk__arg partials = HUSK__ARG_BUFFER(scratch->buffer, 0, husk__accumulator_size(what->x.dtype));
    const husk__range range = {{(size_t)own->units, 1, 1}, {own->items, 1, 1}}, one = {{1, 1, 1}, {1, 1, 1}};
    const bool has_rows = husk__loss_has_rows(what->kind);
    husk__arg list[MOST_ARGUMENTS], *end = list;
    husk_status status = HUSK_OK;
    if (own->weight_units)
        status = sum_weights(own, what, &main, queue, given, scratch, scope);
    *end++ = HUSK__ARG_TENSOR(given->x);
    *end++ = HUSK__ARG_TENSOR(given->target);
    *end++ = HUSK__ARG_TENSOR(given->weight);
    if (!has_rows)
        *end++ = HUSK__ARG_TENSOR(given->positive_weight);
    if (what->is_backward)
        *end++ = HUSK__ARG_TENSOR(given->dloss);
    *end++ = HUSK__ARG_TENSOR(given->last);
    if (!what->is_backward || has_rows)
        *end++ = partials;
    if (what->is_backward && has_rows)
        *end++ = HUSK__ARG_I32(own->weight_units);
    end = write_rows(own, what, &main, own->share, end);
    if (has_rows) {
        end = write_classes(own, what, end);
    } else {
        end = husk__walk_write_args(&extra, 2, end);
        *end++ = HUSK__ARG_I64(own->shape.last.strides[WEIGHT]);
        *end++ = HUSK__ARG_I64(own->shape.last.strides[POSITIVE_WEIGHT]);
        *end++ = HUSK__ARG_ACC(what->x.dtype, what->beta);
    }
    if (status == HUSK_OK)
        status = husk__launch(queue, own->main, &range, list, (size_t)(end - list), scope);
    if (status == HUSK_OK && own->second && !what->is_backward)
        status = HUSK__LAUNCH(queue, own->second, &one, scope, partials, HUSK__ARG_TENSOR(given->last),
                              HUSK__ARG_I64(own->units), HUSK__ARG_I32(own->flags),
                              HUSK__ARG_ACC(what->x.dtype, own->divisor));
    return status;
}

husk_status husk__loss_prewarm(husk_queue *queue, const husk__op *op, bool is_backward, const husk__scope *scope)
{
    const int64_t shape[] = {4, 16};
    husk_buffer *buffer;
    husk_status status = husk_buffer_create(husk_queue_context(queue), 64 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 2, shape);
    const husk_tensor one = husk_tensor_make(buffer, HUSK_F32, 0, shape);
    const husk_loss_kind kinds[] = {HUSK_LOSS_CROSS_ENTROPY, HUSK_LOSS_MEAN_SQUARE};
    for (int i = 0; i < 2 && status == HUSK_OK; ++i) {
        const husk_loss_params params = husk_loss_defaults(kinds[i]);
        const arguments given = {.x = &x, .target = &x, .dloss = &one, .last = is_backward ? &x : &one};
        const problem own = husk__loss_resolve(&params, &given, is_backward);
        const husk__preference preference = {0};
        status = husk__plan_immediate(queue, op, &own, &preference, &given, scope);
    }
    husk_buffer_release(buffer);
    return status;
}

const husk__configuration husk__loss_vector_menu[1] = {{.name = "1", .options = "", .values = {1}}};
