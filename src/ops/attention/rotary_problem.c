// SPDX-License-Identifier: MIT
// What rotary position embedding and its gradient share: problem, variants, calls. Kernels: cl/attention/rotary_*.cl.
#include "ops/attention/rotary_problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <husk/context.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "select/grid.h"

typedef husk__rotary_problem problem;
typedef husk__rotary_arguments arguments;

enum { BATCH, HEADS, LENGTH, COLUMNS }; // dimensions

void husk__rotary_describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    const husk_tensor *const tensors[] = {&own->x, &own->positions, &own->cosines, &own->sines, &own->y};
    husk__key_i64(key, own->is_gradient + 2 * own->adds + 4 * own->is_interleaved + 8 * own->is_in_place);
    husk__key_i64(key, own->turned);
    for (int i = 0; i < 5; ++i)
        husk__key_tensor(key, tensors[i]);
}

void husk__rotary_classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    const bool is_packed = own->x.strides[COLUMNS] == 1 && own->y.strides[COLUMNS] == 1;
    husk__text_format(text, " %s %s", husk_dtype_name(own->x.dtype), is_packed ? "packed" : "strided");
    husk__class_size(text, "heads", own->x.shape[HEADS]);
    husk__class_size(text, "columns", own->x.shape[COLUMNS]);
    husk__class_size(text, "rows", own->x.shape[BATCH] * own->x.shape[LENGTH]);
}

void husk__rotary_write_case(const void *untyped, const void *untyped_run, husk__case *c)
{
    const problem *own = untyped;
    const arguments *given = untyped_run;
    husk__case_begin(c, "rotary");
    husk__case_integer(c, "n", own->x.shape[BATCH], 1);
    husk__case_size(c, "heads", own->x.shape[HEADS]);
    husk__case_size(c, "length", own->x.shape[LENGTH]);
    husk__case_size(c, "d", own->x.shape[COLUMNS]);
    husk__case_integer(c, "turned", own->turned, own->x.shape[COLUMNS]);
    husk__case_integer(c, "interleaved", own->is_interleaved, 0);
    husk__case_dtype(c, own->x.dtype);
    if (own->is_gradient)
        husk__case_word(c, "dir", "bwd", NULL);
    if (own->positions.rank > 0)
        husk__case_note(c, "positions of %s", husk_dtype_name(own->positions.dtype));
    else if (given && given->first_position != 0)
        husk__case_note(c, "from position %lld", (long long)given->first_position);
    if (own->cosines.rank > 0)
        husk__case_note(c, "tables");
    if (own->is_in_place)
        husk__case_note(c, "in place");
    if (own->adds)
        husk__case_note(c, "accumulates");
    husk__case_tensor(c, own->is_gradient ? "dy" : "x", &own->x);
    husk__case_tensor(c, own->is_gradient ? "dx" : "y", &own->y);
}

// ---- what the two variants share ----

// cl/lib/rotary.clh has the same numbers.
enum { INTERLEAVED = 1, ADDS = 2, BACK = 4, POSITIONS = 8, IS_I64 = 16, TABLES = 32, REST = 64 };

typedef struct state {
    const husk__kernel *kernel;
    int64_t share;
    int32_t flags;
    husk__range range;
} state;

static state *make_state(husk_plan *plan)
{
    const problem *own = plan->problem;
    state *made = calloc(1, sizeof *made);
    plan->state = made; // freed with the plan
    if (!made)
        return NULL;
    // Columns that are not turned are there already where y is x.
    const bool has_rest = own->turned < own->x.shape[COLUMNS] && (!own->is_in_place || own->adds);
    made->flags = (own->is_interleaved ? INTERLEAVED : 0) | (own->adds ? ADDS : 0) | (own->is_gradient ? BACK : 0) |
                  (own->positions.rank ? POSITIONS : 0) | (own->positions.dtype == HUSK_I64 ? IS_I64 : 0) |
                  (own->cosines.rank ? TABLES : 0) | (has_rest ? REST : 0);
    return made;
}

static husk__arg *write_strides(const husk_tensor *tensor, husk__arg *end)
{
    for (int d = 0; d < 4; ++d)
        *end++ = HUSK__ARG_I64(tensor->strides[d]);
    return end;
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const problem *own = plan->problem;
    const state *made = plan->state;
    const arguments *given = untyped;
    const husk_tensor *positions = &own->positions;
    husk__arg list[40];
    husk__arg *end = list;
    (void)scratch;
    *end++ = HUSK__ARG_TENSOR(given->y);
    *end++ = HUSK__ARG_TENSOR(given->x);
    *end++ = HUSK__ARG_TENSOR(given->positions);
    *end++ = HUSK__ARG_TENSOR(given->cosines);
    *end++ = HUSK__ARG_TENSOR(given->sines);
    end = write_strides(&own->y, end);
    end = write_strides(&own->x, end);
    *end++ = HUSK__ARG_I64(positions->rank == 2 ? positions->strides[0] : 0);
    *end++ = HUSK__ARG_I64(positions->rank == 2 ? positions->strides[1] : positions->strides[0]);
    *end++ = HUSK__ARG_I64(own->cosines.strides[0]);
    *end++ = HUSK__ARG_I64(own->cosines.strides[1]);
    *end++ = HUSK__ARG_I64(own->sines.strides[0]);
    *end++ = HUSK__ARG_I64(own->sines.strides[1]);
    for (int d = 0; d < 4; ++d)
        *end++ = HUSK__ARG_I64(own->x.shape[d]);
    *end++ = HUSK__ARG_I64(own->turned);
    *end++ = HUSK__ARG_I64(own->cosines.shape[0]);
    *end++ = HUSK__ARG_I64(given->first_position);
    *end++ = HUSK__ARG_I64(given->ratio);
    *end++ = HUSK__ARG_I32(made->flags);
    *end++ = HUSK__ARG_I64(made->share);
    return husk__launch(queue, made->kernel, &made->range, list, (size_t)(end - list), scope);
}

// ---- vector: CPU devices ----

// A work-group is worth launching for so many elements; several a core even out the cores' speeds.
enum { VECTOR_MINIMUM = 32768, GROUPS_PER_UNIT = 4 };

static husk_status prepare_vector(husk_plan *plan, const husk__scope *scope)
{
    const problem *own = plan->problem;
    const husk_device_traits *traits = husk_context_traits(plan->context);
    const int64_t rows = own->x.shape[BATCH] * own->x.shape[LENGTH];
    const int64_t row = husk__max_i64(own->x.shape[HEADS] * own->x.shape[COLUMNS], 1);
    state *made = make_state(plan);
    if (!made)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    made->share = husk__max_i64(husk__divide_up(rows, GROUPS_PER_UNIT * (int64_t)traits->compute_units),
                                husk__divide_up(VECTOR_MINIMUM, row));
    made->range = (husk__range){{(size_t)husk__divide_up(rows, made->share), 1, 1}, {1, 1, 1}};
    const bool back = own->is_gradient;
    return husk__kernel_get(plan->context, back ? "attention/rotary_backward_vector.cl" : "attention/rotary_vector.cl",
                            husk__dtype_option(own->x.dtype),
                            back ? "husk_rotary_backward_vector" : "husk_rotary_vector", &made->kernel, scope);
}

static const husk__configuration vector_menu[] = {{.name = "1", .options = ""}};

static const husk__variant vector = {
    .name = "vector",
    .family = HUSK__FAMILY_CPU,
    .configurations = vector_menu,
    .configuration_count = 1,
    .prepare = prepare_vector,
    .run = run,
};

// ---- grid: GPUs ----

enum { GRID_GROUPS_PER_UNIT = 16, GRID_HEADS = 8 }; // heads that a work-item turns by one angle

static husk_status prepare_grid(husk_plan *plan, const husk__scope *scope)
{
    const problem *own = plan->problem;
    const husk_device_traits *traits = husk_context_traits(plan->context);
    const int64_t items = husk__grid_items(plan->configuration);
    state *made = make_state(plan);
    if (!made)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    made->share = husk__min_i64(husk__max_i64(own->x.shape[HEADS], 1), GRID_HEADS);
    const int64_t units = own->turned / 2 + (made->flags & REST ? own->x.shape[COLUMNS] - own->turned : 0);
    const int64_t total =
        own->x.shape[BATCH] * husk__divide_up(own->x.shape[HEADS], made->share) * own->x.shape[LENGTH] * units;
    const int64_t most = GRID_GROUPS_PER_UNIT * (int64_t)traits->compute_units;
    made->range =
        (husk__range){{(size_t)husk__min_i64(husk__divide_up(total, items), most), 1, 1}, {(size_t)items, 1, 1}};
    char options[128];
    const int64_t largest = husk__max_i64(total + most * items, own->x.shape[HEADS]);
    snprintf(options, sizeof options, "%s %s%s", husk__dtype_option(own->x.dtype), plan->configuration->options,
             husk__needs_index_64(plan->context, largest) ? " -DINDEX_64" : "");
    const bool back = own->is_gradient;
    return husk__kernel_get(plan->context, back ? "attention/rotary_backward_grid.cl" : "attention/rotary_grid.cl",
                            options, back ? "husk_rotary_backward_grid" : "husk_rotary_grid", &made->kernel, scope);
}

static const husk__variant grid = {
    HUSK__GRID_VARIANT,
    .prepare = prepare_grid,
    .run = run,
};

const husk__variant *const husk__rotary_variants[] = {&vector, &grid, NULL};

// ---- calls ----

static husk_status check_params(const husk_rotary_params *params, const husk__scope *scope)
{
    if (params->interleaved > 1)
        return husk__reject(scope, "params", "interleaved is %u, neither 0 nor 1", (unsigned)params->interleaved);
    if (params->base != 0.0f && !(params->base > 1.0f && params->base <= HUGE_VALF && !isinf(params->base)))
        return husk__reject(scope, "params", "base is %g, must be above 1", (double)params->base);
    if (params->accumulate > HUSK_ACCUMULATE_ALL)
        return husk__reject(scope, "params", "accumulate %u has bits that mean nothing", (unsigned)params->accumulate);
    return HUSK_OK;
}

static husk_status check_columns(const husk_rotary_params *params, const husk_tensor *x, const char *x_name,
                                 const husk__scope *scope)
{
    if (x->rank != 4)
        return husk__reject(scope, x_name, "rank is %d, must be 4: batch, heads, length, columns", (int)x->rank);
    if (params->rotary_dimension < 0 || params->rotary_dimension > x->shape[COLUMNS] || params->rotary_dimension % 2)
        return husk__reject(scope, "params", "rotary_dimension is %lld, must be even and at most %s's %lld columns",
                            (long long)params->rotary_dimension, x_name, (long long)x->shape[COLUMNS]);
    if (!params->rotary_dimension && x->shape[COLUMNS] % 2)
        return husk__reject(scope, x_name, "its %lld columns are no pairs", (long long)x->shape[COLUMNS]);
    return HUSK_OK;
}

static husk_status check_positions(const husk_tensor *x, const husk_tensor *positions, const husk__scope *scope)
{
    husk_status status = husk__tensor_check_indices(positions, "positions", scope);
    const int64_t shape[] = {x->shape[BATCH], x->shape[LENGTH]};
    if (status == HUSK_OK && positions->rank != 1)
        return husk__tensor_check_shape(positions, "positions", 2, shape, "batch and length", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(positions, "positions", 1, shape + 1, "length", scope);
    return status;
}

static husk_status check_table(const husk_tensor *table, const char *name, husk_dtype dtype, int64_t pairs,
                               const husk_tensor *other, const husk__scope *scope)
{
    husk_status status = husk__tensor_check_plain(table, dtype == HUSK_F64 ? HUSK_F64 : HUSK_F32, name, scope);
    if (status == HUSK_OK && (table->rank != 2 || table->shape[1] != pairs))
        return husk__reject(scope, name, "must have rows of %lld columns", (long long)pairs);
    if (status == HUSK_OK && table->shape[0] != other->shape[0])
        return husk__reject(scope, name, "has %lld rows, cosines has %lld", (long long)table->shape[0],
                            (long long)other->shape[0]);
    return status;
}

static int64_t turned_of(const husk_rotary_params *params, const husk_tensor *x)
{
    return params->rotary_dimension ? params->rotary_dimension : x->shape[COLUMNS];
}

static husk_status check_tensors(husk_queue *queue, const husk_rotary_params *params, const arguments *given,
                                 bool is_gradient, const husk__scope *scope)
{
    const char *x_name = is_gradient ? "dy" : "x", *y_name = is_gradient ? "dx" : "y";
    const husk_tensor *x = given->x, *y = given->y;
    husk_status status = husk__tensor_check_real(queue, x, x_name, scope);
    if (status == HUSK_OK)
        status = check_columns(params, x, x_name, scope);
    if (status == HUSK_OK && given->positions)
        status = check_positions(x, given->positions, scope);
    if (status == HUSK_OK && !given->cosines != !given->sines)
        return husk__reject(scope, given->cosines ? "sines" : "cosines", "is NULL, the other table is not");
    if (status == HUSK_OK && given->cosines)
        status = check_table(given->cosines, "cosines", x->dtype, turned_of(params, x) / 2, given->cosines, scope);
    if (status == HUSK_OK && given->sines)
        status = check_table(given->sines, "sines", x->dtype, turned_of(params, x) / 2, given->cosines, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(y, x->dtype, y_name, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(y, y_name, 4, x->shape, is_gradient ? "as dy" : "as x", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(y, y_name, scope);
    return status;
}

husk_status husk__rotary_validate(husk_queue *queue, const husk__rotary_operator *called,
                                  const husk_rotary_params *params, const arguments *given, const husk__scope *scope)
{
    const bool is_gradient = called->is_gradient;
    const char *x_name = is_gradient ? "dy" : "x", *y_name = is_gradient ? "dx" : "y";
    const husk_tensor *const others[] = {given->positions, given->cosines, given->sines};
    static const char *const names[] = {"positions", "cosines", "sines"};
    husk_status status = check_params(params, scope);
    if (status == HUSK_OK)
        status = check_tensors(queue, params, given, is_gradient, scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, given->x, x_name, scope);
    for (int i = 0; i < 3 && status == HUSK_OK; ++i)
        if (others[i])
            status = husk__tensor_bind(queue, others[i], names[i], scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, given->y, y_name, scope);
    if (status == HUSK_OK)
        status = husk__refuse_partial_overlap(given->y, y_name, given->x, x_name, scope);
    for (int i = 0; i < 3 && status == HUSK_OK; ++i)
        status = husk__refuse_overlap(given->y, y_name, others[i], names[i], scope);
    return status;
}

static void resolve_tensor(husk_tensor *tensor, const husk_tensor *given)
{
    if (given)
        *tensor = husk__tensor_bare_copy(given);
}

husk_status husk__rotary_enqueue(husk_queue *queue, const husk__rotary_operator *called,
                                 const husk_rotary_params *params, const arguments *given, const husk__scope *scope)
{
    problem own = {.is_gradient = called->is_gradient,
                   .is_interleaved = params->interleaved != 0,
                   .turned = turned_of(params, given->x)};
    own.adds = own.is_gradient && params->accumulate & HUSK_ACCUMULATE_INPUTS;
    own.is_in_place = given->x->buffer == given->y->buffer && given->x->offset == given->y->offset;
    resolve_tensor(&own.x, given->x);
    resolve_tensor(&own.positions, given->positions);
    resolve_tensor(&own.cosines, given->cosines);
    resolve_tensor(&own.sines, given->sines);
    resolve_tensor(&own.y, given->y);
    if (husk__tensor_count(&own.x) == 0)
        return HUSK_OK;
    const husk_tensor *const operands[] = {given->x, given->positions, given->cosines, given->sines, given->y};
    const husk__preference preference = husk__preference_of(params->variant, 0, operands, 5);
    arguments all = *given;
    const double base = params->base != 0.0f ? (double)params->base : 10000.0;
    const double ratio = own.turned ? ldexp(pow(base, -2.0 / (double)own.turned), 64) : 0.0;
    all.first_position = params->first_position;
    all.ratio = ratio < 18446744073709549568.0 ? (uint64_t)ratio : UINT64_MAX; // a base of hardly more than 1
    return husk__plan_immediate(queue, called->op, &own, &preference, &all, scope);
}

husk_status husk__rotary_prewarm(husk_queue *queue, const husk__rotary_operator *called, const husk__scope *scope)
{
    const int64_t shape[] = {1, 1, 2, 32};
    const husk_rotary_params params = HUSK_ROTARY_PARAMS(0);
    husk_buffer *buffer;
    husk_status status = husk_buffer_create(husk_queue_context(queue), 64 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 4, shape);
    const arguments given = {.x = &x, .y = &x};
    status = husk__rotary_enqueue(queue, called, &params, &given, scope);
    husk_buffer_release(buffer);
    return status;
}
