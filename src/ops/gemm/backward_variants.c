// SPDX-License-Identifier: MIT
// Gradients of a multiplication: one pass over dy (cl/gemm/backward_*.cl), and two multiplications by gemm's own plans.
// The variants differ in the kernels of the pass.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/gemm/backward_problem.h"
#include "ops/gemm/problem.h"
#include "ops/shared/gemm_backward.h"
#include "select/grid.h"

typedef husk__gemm_backward_problem problem;
typedef husk__gemm_backward_run arguments;

enum {
    A = HUSK__GEMM_BACKWARD_A,
    B = HUSK__GEMM_BACKWARD_B,
    FROM = HUSK__GEMM_BACKWARD_FROM,
    DY = HUSK__GEMM_BACKWARD_DY,
    DA = HUSK__GEMM_BACKWARD_DA,
    DB = HUSK__GEMM_BACKWARD_DB,
    DBIAS = HUSK__GEMM_BACKWARD_DBIAS,
    DC = HUSK__GEMM_BACKWARD_DC
};
enum { STORES_Z = 1, STORES_C = 2, ADDS_C = 4, SUMS_COLUMNS = 8, SUMS_ROWS = 16 }; // in cl/gemm/backward_*.cl
enum {
    BLOCK = 1024, // columns: BLOCK in cl/gemm/backward_vector.cl
    SHARE_ELEMENTS = 32768, // a work-group is worth launching for so many
    MOST_SHARES = 128, // what is summed up first is then a small part of what is read
    STRIP = 256 // numbers of dbias that a work-group of a CPU adds up
};

// ---- views ----

// Matrices in memory, transposition and broadcasting undone.
typedef struct view {
    int64_t batch, rows, columns; // batch 1: one for all
    int64_t strides[3];
} view;

static view view_of(const husk_tensor *tensor, bool transposed)
{
    const int32_t row = tensor->rank - (transposed ? 1 : 2), column = tensor->rank - (transposed ? 2 : 1);
    view made = {1, tensor->shape[row], tensor->shape[column], {1, tensor->strides[row], tensor->strides[column]}};
    if (tensor->rank == 3 && tensor->shape[0] != 1 && tensor->strides[0] != 0) {
        made.batch = tensor->shape[0];
        made.strides[0] = tensor->strides[0];
    }
    return made;
}

static view transpose(view v)
{
    return (view){v.batch, v.columns, v.rows, {v.strides[0], v.strides[2], v.strides[1]}};
}

// Two dimensions as one: the outer one's stride is the inner one's extent times its stride.
static bool joins(int64_t outer, int64_t outer_stride, int64_t inner, int64_t inner_stride, int64_t *stride)
{
    *stride = inner > 1 ? inner_stride : outer_stride;
    if (inner > 0 && outer > HUSK__GEMM_MAX_EXTENT / inner)
        return false; // a dimension that no variant of gemm takes
    return outer <= 1 || inner <= 1 || outer_stride == inner * inner_stride;
}

static husk_tensor tensor_of(const view *v, husk_dtype dtype, const husk_tensor *memory, int64_t beyond)
{
    husk_tensor made = {.dtype = dtype, .rank = 3};
    made.shape[0] = v->batch;
    made.shape[1] = v->rows;
    made.shape[2] = v->columns;
    for (int i = 0; i < 3; ++i)
        made.strides[i] = v->strides[i];
    if (v->batch == 1)
        made.strides[0] = 1; // strides of 0 alone would mean packed
    if (memory) {
        made.buffer = memory->buffer;
        made.offset = memory->offset + beyond;
    }
    return made;
}

// ---- the multiplications ----

// out = alpha left right, or the sum of `repeats` of them, each left_step and right_step further.
typedef struct product {
    view left, right, out;
    int64_t repeats, left_step, right_step;
    husk_dtype left_dtype, right_dtype, out_dtype;
    husk_plan *plan;
    const husk__kernel *finish; // of sums over the batch that wait in scratch memory, as out is too narrow for them
} product;

static bool waits(const product *p)
{
    return p->repeats > 1 && husk_dtype_size(p->out_dtype) < sizeof(float);
}

// The view of packed f32 sums.
static view view_of_waiting(const product *p)
{
    return (view){1, p->out.rows, p->out.columns, {1, p->out.columns, 1}};
}

// One multiplication whose rows are those of all matrices, where right is the same for all.
static void join_rows(product *p)
{
    int64_t left, out;
    if (p->right.batch != 1 || p->left.batch != p->out.batch ||
        !joins(p->left.batch, p->left.strides[0], p->left.rows, p->left.strides[1], &left) ||
        !joins(p->out.batch, p->out.strides[0], p->out.rows, p->out.strides[1], &out))
        return;
    p->left.rows *= p->left.batch;
    p->out.rows = p->left.rows;
    p->left.strides[1] = left;
    p->out.strides[1] = out;
    p->left.batch = p->out.batch = 1;
}

/*
 * The sum over the batch: one multiplication whose sums go through all matrices where memory lies so, which for one B
 * of a batch it does; else one multiplication after the other.
 */
static void sum_over_batch(product *p, int64_t batch)
{
    int64_t left, right;
    const bool is_empty = batch == 0 || p->left.columns == 0;
    const bool are_full = p->left.batch == batch && p->right.batch == batch;
    if (is_empty || (are_full && joins(batch, p->left.strides[0], p->left.columns, p->left.strides[2], &left) &&
                     joins(batch, p->right.strides[0], p->right.rows, p->right.strides[1], &right))) {
        p->left.columns = p->right.rows = batch * p->left.columns;
        if (!is_empty) {
            p->left.strides[2] = left;
            p->right.strides[1] = right;
        }
    } else {
        p->repeats = batch;
        p->left_step = p->left.batch > 1 ? p->left.strides[0] : 0;
        p->right_step = p->right.batch > 1 ? p->right.strides[0] : 0;
    }
    p->left.batch = p->right.batch = 1;
}

static product make_product(view left, view right, view out, int64_t batch)
{
    product made = {.left = left, .right = right, .out = out, .repeats = 1};
    if (batch != 1 && out.batch == 1)
        sum_over_batch(&made, batch);
    else
        join_rows(&made);
    return made;
}

static husk_status plan_product(husk_plan *plan, product *p, const husk__scope *scope)
{
    const problem *own = plan->problem;
    const view waiting = view_of_waiting(p);
    const husk_tensor a = tensor_of(&p->left, p->left_dtype, NULL, 0);
    const husk_tensor b = tensor_of(&p->right, p->right_dtype, NULL, 0);
    const husk_tensor c = waits(p) ? tensor_of(&waiting, HUSK_F32, NULL, 0) : tensor_of(&p->out, p->out_dtype, NULL, 0);
    const husk_gemm_params params =
        HUSK_GEMM_PARAMS(.precision = own->precision, .workspace_limit = husk__plan_inside_limit(plan));
    husk_error error = {0};
    husk_status status = husk_gemm_plan_create(plan->context, &params, &a, &b, NULL, &c, &p->plan, &error);
    if (status != HUSK_OK)
        return husk__fail_opencl(scope, status, error.opencl_code, "a multiplication: %s", error.text);
    husk__plan_adopt(plan, p->plan);
    if (!waits(p))
        return HUSK_OK;
    const husk__gemm_problem rounding = {.dtype = p->out_dtype};
    char options[64];
    husk__gemm_options(&rounding, "", options, sizeof options);
    return husk__kernel_get(plan->context, "gemm/reduce.cl", options, "husk_gemm_reduce", &p->finish, scope);
}

// Sums over the batch that wait, rounded into out, or added to it.
static husk_status finish(const product *p, husk_queue *queue, husk__arg waiting, const husk_tensor *out, bool adds,
                          const husk__scope *scope)
{
    const husk__gemm_problem as_output = {.dtype = p->out_dtype,
                                          .shape = {.batch = 1,
                                                    .m = p->out.rows,
                                                    .n = p->out.columns,
                                                    .c_row = p->out.strides[1],
                                                    .c_column = p->out.strides[2]}};
    const husk__gemm_reduce sums = {.parts = waiting,
                                    .row = p->out.columns,
                                    .column = 1,
                                    .splits = 1,
                                    .alpha = 1.0f,
                                    .beta = adds ? 1.0f : 0.0f,
                                    .only_scales = true,
                                    .wide_parts = true};
    const husk__gemm_run run = {.c = out};
    return husk__gemm_reduce_launch(p->finish, queue, &as_output, &sums, &run, scope);
}

static husk_status multiply(const product *p, husk_queue *queue, float alpha, const husk_tensor *left,
                            const husk_tensor *right, const husk_tensor *out, const husk_tensor *waiting, bool adds,
                            const husk__scope *scope)
{
    husk_status status = HUSK_OK;
    const bool in_waiting = waits(p);
    const view there = view_of_waiting(p);
    const husk_tensor c =
        in_waiting ? tensor_of(&there, HUSK_F32, waiting, 0) : tensor_of(&p->out, p->out_dtype, out, 0);
    for (int64_t i = 0; i < p->repeats && status == HUSK_OK; ++i) {
        const husk_tensor a = tensor_of(&p->left, p->left_dtype, left, i * p->left_step);
        const husk_tensor b = tensor_of(&p->right, p->right_dtype, right, i * p->right_step);
        const bool to_add = (adds && !in_waiting) || i > 0;
        status = husk_gemm_plan_run(p->plan, queue, alpha, &a, &b, NULL, to_add ? 1.0f : 0.0f, &c);
    }
    if (status != HUSK_OK || !in_waiting)
        return status;
    return finish(p, queue, HUSK__ARG_TENSOR(waiting), out, adds, scope);
}

// ---- the pass ----

// A gradient that is wanted and not empty.
static bool makes(const problem *own, int which)
{
    return own->has[which] && husk__tensor_count(&own->tensors[which]) > 0;
}

// dy as the kernels walk it: rows and columns exchanged where its columns lie together.
typedef struct pass {
    bool is_needed, is_exchanged;
    bool makes_z; // for the multiplications
    int32_t flags;
    int64_t rows, columns;
    int64_t share, shares, block, blocks;
    int64_t splits, sums; // of dbias
    uint64_t z_bytes, part_bytes;
} pass;

static pass pass_of(const problem *own, int64_t items)
{
    const husk_tensor *dy = &own->tensors[DY];
    const int64_t row_stride = dy->strides[dy->rank - 2], column_stride = dy->strides[dy->rank - 1];
    pass made = {.is_exchanged = own->n > 1 && column_stride != 1 && row_stride == 1};
    made.makes_z = own->activation.activation != HUSK_ACT_NONE && (makes(own, DA) || makes(own, DB));
    made.is_needed = made.makes_z || makes(own, DBIAS) || makes(own, DC);
    made.rows = made.is_exchanged ? own->n : own->m;
    made.columns = made.is_exchanged ? own->m : own->n;
    made.flags = (made.makes_z ? STORES_Z : 0) | (makes(own, DC) ? STORES_C : 0);
    if (own->accumulate & HUSK_ACCUMULATE_INPUTS)
        made.flags |= ADDS_C;
    if (makes(own, DBIAS))
        made.flags |= own->bias_is_by_rows != made.is_exchanged ? SUMS_ROWS : SUMS_COLUMNS;
    made.block = husk__min_i64(BLOCK, husk__max_i64(made.columns, 1));
    if (items > 1 && (made.flags & SUMS_COLUMNS))
        made.block = items; // an item a column
    const int64_t all_rows = own->batch * made.rows;
    made.share = husk__max_i64(husk__divide_up(SHARE_ELEMENTS, made.block), husk__divide_up(all_rows, MOST_SHARES));
    made.shares = husk__divide_up(all_rows, made.share);
    made.blocks = husk__divide_up(made.columns, made.block);
    if (made.flags & SUMS_COLUMNS) {
        made.splits = made.shares;
        made.sums = made.columns;
    } else if (made.flags & SUMS_ROWS) {
        made.splits = own->batch * made.blocks;
        made.sums = made.rows;
    }
    // Empty tensors have memory as well: what binds it does not ask.
    const uint64_t size = husk__accumulator_size(dy->dtype);
    made.z_bytes = made.makes_z ? size * (uint64_t)husk__max_i64(all_rows * made.columns, 1) : 0;
    made.z_bytes = (made.z_bytes + 63) / 64 * 64;
    made.part_bytes = size * (uint64_t)(made.splits * made.sums);
    if (made.sums > 0 && made.part_bytes == 0)
        made.part_bytes = size;
    return made;
}

uint64_t husk__gemm_backward_bias_bytes(int64_t rows, int64_t columns, husk_dtype dtype)
{
    const int64_t splits = husk__min_i64(husk__divide_up(rows, SHARE_ELEMENTS / BLOCK), MOST_SHARES);
    return husk__accumulator_size(dtype) * (uint64_t)(husk__max_i64(splits, 1) * husk__max_i64(columns, 1));
}

typedef struct launch {
    pass pass;
    product for_a, for_b;
    const husk__kernel *kernel, *bias;
    husk__range range, bias_range;
} launch;

// z's, and that of parts of sums.
static husk_dtype scratch_dtype(const problem *own)
{
    return own->tensors[DY].dtype == HUSK_F64 ? HUSK_F64 : HUSK_F32;
}

static view view_of_z(const problem *own, const pass *p)
{
    if (!p->makes_z)
        return view_of(&own->tensors[DY], false);
    const view packed = {own->batch, p->rows, p->columns, {p->rows * p->columns, p->columns, 1}};
    return p->is_exchanged ? transpose(packed) : packed;
}

// op(A)' = alpha z op(B)^T
static product product_for_a(const problem *own, const pass *p)
{
    const view right = transpose(view_of(&own->tensors[B], own->transpose_b));
    product made = make_product(view_of_z(own, p), right, view_of(&own->tensors[DA], own->transpose_a), own->batch);
    made.left_dtype = p->makes_z ? scratch_dtype(own) : own->tensors[DY].dtype;
    made.right_dtype = own->tensors[B].dtype;
    made.out_dtype = own->tensors[DA].dtype;
    return made;
}

// op(B)' = alpha op(A)^T z
static product product_for_b(const problem *own, const pass *p)
{
    const view left = transpose(view_of(&own->tensors[A], own->transpose_a));
    product made = make_product(left, view_of_z(own, p), view_of(&own->tensors[DB], own->transpose_b), own->batch);
    made.left_dtype = own->tensors[A].dtype;
    made.right_dtype = p->makes_z ? scratch_dtype(own) : own->tensors[DY].dtype;
    made.out_dtype = own->tensors[DB].dtype;
    return made;
}

static uint64_t waiting_bytes(const product *p)
{
    return waits(p) ? sizeof(float) * (uint64_t)(p->out.rows * p->out.columns) : 0;
}

// Behind z and the parts of dbias: the sums of one product, then of the other.
static uint64_t waiting_offset(const pass *p)
{
    return (p->z_bytes + p->part_bytes + 63) / 64 * 64;
}

static uint64_t workspace(const husk__candidate *candidate)
{
    const problem *own = candidate->problem;
    const pass p = pass_of(own, husk__grid_items(candidate->configuration));
    uint64_t waiting = 0;
    if (husk_dtype_size(own->tensors[DY].dtype) < sizeof(float)) {
        const product for_a = makes(own, DA) ? product_for_a(own, &p) : (product){0};
        const product for_b = makes(own, DB) ? product_for_b(own, &p) : (product){0};
        waiting = waiting_bytes(&for_a) > waiting_bytes(&for_b) ? waiting_bytes(&for_a) : waiting_bytes(&for_b);
    }
    return waiting > 0 ? waiting_offset(&p) + waiting : p.z_bytes + p.part_bytes;
}

// One factor stands for all gradients: where a matrix engine multiplies, the widest of them.
static double error_factor_of(const problem *own, const launch *state)
{
    const product *const products[] = {&state->for_a, &state->for_b};
    double factor = 0.0;
    for (int i = 0; i < 2; ++i)
        if (products[i]->plan && products[i]->plan->error_factor > 0.0)
            factor = fmax(factor, products[i]->plan->error_factor +
                                      (products[i]->repeats > 1 ? (double)products[i]->repeats : 0.0));
    const double terms = (double)own->batch * (double)husk__max_i64(own->m, own->n);
    return factor > 0.0 ? fmax(factor, 4.0 + 2.0 * sqrt(terms)) : 0.0;
}

static husk_status prepare_products(husk_plan *plan, launch *state, const husk__scope *scope)
{
    const problem *own = plan->problem;
    husk_status status = HUSK_OK;
    if (makes(own, DA)) {
        state->for_a = product_for_a(own, &state->pass);
        status = plan_product(plan, &state->for_a, scope);
    }
    if (status == HUSK_OK && makes(own, DB)) {
        state->for_b = product_for_b(own, &state->pass);
        status = plan_product(plan, &state->for_b, scope);
    }
    plan->error_factor = error_factor_of(own, state);
    return status;
}

static void unprepare(husk_plan *plan)
{
    launch *state = plan->state;
    if (!state)
        return;
    husk_plan_release(state->for_a.plan);
    husk_plan_release(state->for_b.plan);
    free(state);
}

static husk_status prepare_with(husk_plan *plan, const char *file, const char *name, const husk__scope *scope)
{
    const problem *own = plan->problem;
    const int64_t items = husk__grid_items(plan->configuration);
    launch *state = calloc(1, sizeof *state);
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = state;
    state->pass = pass_of(own, items);
    const pass *p = &state->pass;
    const bool is_line = items > 1; // of work-groups, on GPUs
    state->range =
        (husk__range){{(size_t)(is_line ? p->shares * p->blocks : p->shares), (size_t)(is_line ? 1 : p->blocks), 1},
                      {(size_t)items, 1, 1}};
    state->bias_range =
        (husk__range){{(size_t)husk__divide_up(p->sums, items > 1 ? items : STRIP), 1, 1}, {(size_t)items, 1, 1}};
    char options[96];
    snprintf(options, sizeof options, "%s %s%s", husk__dtype_option(own->tensors[DY].dtype),
             plan->configuration->options, own->activation.is_smooth ? " -DACT_SMOOTH" : "");
    husk_status status = HUSK_OK;
    if (p->is_needed)
        status = husk__kernel_get(plan->context, file, options, name, &state->kernel, scope);
    if (status == HUSK_OK && makes(own, DBIAS))
        status = husk__kernel_get(plan->context, file, options, "husk_gemm_backward_bias", &state->bias, scope);
    return status == HUSK_OK ? prepare_products(plan, state, scope) : status;
}

// A bound that the kind does not have is NaN, which no number reaches.
static float bound_of(float bound)
{
    return isfinite(bound) ? bound : NAN;
}

// The strides of batch, row and column, as the pass walks; a tensor that is not there has none.
static husk__arg *write_tensor(const launch *state, const problem *own, const arguments *given, int which,
                               husk__arg *end)
{
    view v = {0};
    if (given->tensors[which])
        v = view_of(&own->tensors[which], state->pass.is_exchanged);
    *end++ = HUSK__ARG_TENSOR(given->tensors[which]);
    *end++ = HUSK__ARG_I64(v.batch > 1 ? v.strides[0] : 0);
    *end++ = HUSK__ARG_I64(v.strides[1]);
    *end++ = HUSK__ARG_I64(v.strides[2]);
    return end;
}

static husk_status run_pass(const husk_plan *plan, husk_queue *queue, const arguments *given,
                            const husk__scratch *scratch, const husk__scope *scope)
{
    const launch *state = plan->state;
    const problem *own = plan->problem;
    const pass *p = &state->pass;
    const uint64_t size = husk__accumulator_size(own->tensors[DY].dtype);
    const husk__arg parts = HUSK__ARG_BUFFER(p->part_bytes > 0 ? scratch->buffer : NULL, p->z_bytes, size);
    husk__arg list[3 * 4 + 2 + 10 + 4], *end = list;
    end = write_tensor(state, own, given, DY, end);
    end = write_tensor(state, own, given, own->has[FROM] ? FROM : DY, end);
    *end++ = HUSK__ARG_BUFFER(p->makes_z ? scratch->buffer : NULL, 0, size);
    end = write_tensor(state, own, given, DC, end);
    *end++ = parts;
    *end++ = HUSK__ARG_I64(own->batch);
    *end++ = HUSK__ARG_I64(p->rows);
    *end++ = HUSK__ARG_I64(p->columns);
    *end++ = HUSK__ARG_I64(p->share);
    *end++ = HUSK__ARG_I32(p->block);
    *end++ = HUSK__ARG_I32(p->flags);
    *end++ = HUSK__ARG_F32(given->beta);
    *end++ = HUSK__ARG_I32(own->kind);
    *end++ = HUSK__ARG_F32(bound_of(own->activation.low));
    *end++ = HUSK__ARG_F32(own->activation.slope);
    *end++ = HUSK__ARG_F32(bound_of(own->activation.high));
    husk_status status = husk__launch(queue, state->kernel, &state->range, list, (size_t)(end - list), scope);
    if (status != HUSK_OK || !makes(own, DBIAS))
        return status;
    const husk_tensor *dbias = &own->tensors[DBIAS];
    const int64_t stride = dbias->strides[dbias->rank == 2 && own->bias_is_by_rows ? 0 : dbias->rank - 1];
    return HUSK__LAUNCH(queue, state->bias, &state->bias_range, scope, parts, HUSK__ARG_I64(p->splits),
                        HUSK__ARG_I64(p->sums), HUSK__ARG_TENSOR(given->tensors[DBIAS]), HUSK__ARG_I64(stride),
                        HUSK__ARG_I64(STRIP), HUSK__ARG_I32((own->accumulate & HUSK_ACCUMULATE_PARAMETERS) != 0),
                        HUSK__ARG_I32(dbias->dtype != own->tensors[DY].dtype));
}

// Where the multiplications read dy itself they come first: the pass may write dc over it.
static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const launch *state = plan->state;
    const problem *own = plan->problem;
    const arguments *given = untyped;
    const husk_tensor in_scratch = {.buffer = scratch->buffer, .dtype = scratch_dtype(own)};
    const husk_tensor waiting = {.buffer = scratch->buffer,
                                 .dtype = HUSK_F32,
                                 .offset = (int64_t)(waiting_offset(&state->pass) / sizeof(float))};
    const husk_tensor *z = state->pass.makes_z ? &in_scratch : given->tensors[DY];
    husk_status status = HUSK_OK;
    if (state->pass.makes_z)
        status = run_pass(plan, queue, given, scratch, scope);
    if (status == HUSK_OK && makes(own, DA))
        status = multiply(&state->for_a, queue, given->alpha, z, given->tensors[B], given->tensors[DA], &waiting,
                          (own->accumulate & HUSK_ACCUMULATE_INPUTS) != 0, scope);
    if (status == HUSK_OK && makes(own, DB))
        status = multiply(&state->for_b, queue, given->alpha, given->tensors[A], z, given->tensors[DB], &waiting,
                          (own->accumulate & HUSK_ACCUMULATE_PARAMETERS) != 0, scope);
    if (status == HUSK_OK && state->pass.is_needed && !state->pass.makes_z)
        status = run_pass(plan, queue, given, scratch, scope);
    return status;
}

static double flops(const husk__candidate *candidate)
{
    const problem *own = candidate->problem;
    const double products = (double)own->batch * (double)own->m * (double)own->n * (double)own->k;
    return 2.0 * (makes(own, DA) + makes(own, DB)) * products;
}

// ---- vector: CPU devices ----

static husk_status prepare_vector(husk_plan *plan, const husk__scope *scope)
{
    return prepare_with(plan, "gemm/backward_vector.cl", "husk_gemm_backward_vector", scope);
}

static const husk__configuration vector_menu[] = {{.name = "1", .options = "", .values = {1}}};

const husk__variant husk__gemm_backward_vector = {
    .name = "vector",
    .family = HUSK__FAMILY_CPU,
    .configurations = vector_menu,
    .configuration_count = 1,
    .workspace = workspace,
    .flops = flops,
    .prepare = prepare_vector,
    .unprepare = unprepare,
    .run = run,
};

// ---- grid: GPUs ----

static husk_status prepare_grid(husk_plan *plan, const husk__scope *scope)
{
    return prepare_with(plan, "gemm/backward_grid.cl", "husk_gemm_backward_grid", scope);
}

const husk__variant husk__gemm_backward_grid = {
    HUSK__GRID_VARIANT,      .workspace = workspace, .flops = flops,
    .prepare = prepare_grid, .unprepare = unprepare, .run = run,
};
