// SPDX-License-Identifier: MIT
// The gradients of general matrix multiplication: validate -> resolve -> choose. The variants, and what they do, are in
// ops/gemm/backward_variants.c.
#include <string.h>

#include "base/params.h"
#include "base/tensor.h"
#include "ops/gemm/backward_problem.h"

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
    DC = HUSK__GEMM_BACKWARD_DC,
    TENSORS = HUSK__GEMM_BACKWARD_TENSORS
};

// The kernels' ACT_SIGMOID_Y and ACT_TANH_Y of cl/lib/activation_gradient.clh.
enum { SIGMOID_Y = 100, TANH_Y = 101 };

// A call as it is given: the run's arguments, and x and y of which one is read.
typedef struct call {
    arguments run;
    const husk_tensor *x, *y;
} call;

// ---- validation ----

static husk_status check_params(const husk_gemm_params *given, husk_gemm_params *params, const husk__scope *scope)
{
    husk_status status = husk__params_read(params, sizeof *params, "HUSK_GEMM_PARAMS", given, scope);
    if (status == HUSK_OK)
        status = husk__epilogue_check(params->activation, params->activation_slope, "activation_slope", scope);
    if (status == HUSK_OK)
        status = husk__precision_check(params->precision, scope);
    if (status == HUSK_OK && params->accumulate > HUSK_ACCUMULATE_ALL)
        return husk__reject(scope, "params", "accumulate %u has bits that mean nothing", (unsigned)params->accumulate);
    return status;
}

// f32, f16, bf16 or f64 of rank 2, or 3 with a batch; resolved into the problem, without memory.
static husk_status check_matrix(const husk_tensor *tensor, const char *name, int which, problem *own,
                                const husk__scope *scope)
{
    if (!tensor)
        return HUSK_OK;
    husk_status status = husk__tensor_check_number(tensor, name, scope);
    if (status != HUSK_OK)
        return status;
    if (tensor->rank != 2 && tensor->rank != 3)
        return husk__reject(scope, name, "has rank %d; a matrix has 2, a batch of matrices 3", (int)tensor->rank);
    husk_tensor *resolved = &own->tensors[which];
    *resolved = *tensor;
    husk__tensor_bare(resolved);
    own->has[which] = true;
    return HUSK_OK;
}

static int64_t batch_of(const husk_tensor *matrix)
{
    return matrix->rank == 3 ? matrix->shape[0] : 1;
}

// Whether one matrix lies behind the whole batch.
static bool is_shared(const husk_tensor *matrix)
{
    return batch_of(matrix) == 1 || (matrix->rank == 3 && matrix->shape[0] > 1 && matrix->strides[0] == 0);
}

static bool is_expanded(const husk_tensor *matrix)
{
    return is_shared(matrix) && batch_of(matrix) != 1;
}

// A or its gradient, or B or its: [rows, columns] as stored, and batches that dy allows.
static husk_status check_factor(const problem *own, int which, const char *name, int64_t rows, int64_t columns,
                                const husk__scope *scope)
{
    if (!own->has[which])
        return HUSK_OK;
    const husk_tensor *tensor = &own->tensors[which];
    const int64_t *size = tensor->shape + tensor->rank - 2;
    char text[HUSK__SHAPE_TEXT];
    if (size[0] != rows || size[1] != columns)
        return husk__reject(scope, name, "is %s, dy and the others make it [%lld, %lld]",
                            husk__shape_text(tensor, text), (long long)rows, (long long)columns);
    if (batch_of(tensor) != own->batch && batch_of(tensor) != 1)
        return husk__reject(scope, name, "has %lld matrices, dy has %lld", (long long)batch_of(tensor),
                            (long long)own->batch);
    return HUSK_OK;
}

// A gradient against what it is the gradient of (NULL where that was not given).
static husk_status check_gradient(const husk_tensor *gradient, const husk_tensor *of, const char *name,
                                  const char *name_of, const husk__scope *scope)
{
    if (of && is_shared(of) && !is_expanded(of) && !is_shared(gradient))
        return husk__reject(scope, name, "has %lld matrices, %s has one for the whole batch",
                            (long long)batch_of(gradient), name_of);
    if (of && !is_shared(of) && is_shared(gradient))
        return husk__reject(scope, name, "is one matrix for the whole batch, %s has %lld", name_of,
                            (long long)batch_of(of));
    husk_tensor one = *gradient;
    if (is_expanded(gradient)) {
        one.shape[0] = 1;
        one.strides[0] = 1;
    }
    return husk__tensor_check_distinct(&one, name, scope);
}

// f32 beside f16 and bf16.
static bool stands_beside(const problem *own, const husk_tensor *tensor)
{
    return tensor->dtype == HUSK_F32 && own->tensors[DY].dtype != HUSK_F64;
}

static const char *as_dy(const problem *own)
{
    return own->tensors[DY].dtype == HUSK_F64 ? "as dy" : "as dy, or f32";
}

// A, B and their gradients are dy's dtype or f32.
static husk_status check_dtypes(const problem *own, const husk__scope *scope)
{
    static const int which[] = {A, B, DA, DB};
    static const char *const names[] = {"a", "b", "da", "db"};
    husk_status status = HUSK_OK;
    for (int i = 0; i < 4 && status == HUSK_OK; ++i) {
        const husk_tensor *tensor = &own->tensors[which[i]];
        if (own->has[which[i]] && !stands_beside(own, tensor))
            status = husk__tensor_check_dtype(tensor, names[i], own->tensors[DY].dtype, as_dy(own), scope);
    }
    return status;
}

static husk_status check_sizes(problem *own, const husk__scope *scope)
{
    static const int of_k[] = {A, DA, B, DB};
    static const char *const names[] = {"a", "da", "b", "db"};
    const husk_tensor *dy = &own->tensors[DY];
    own->batch = batch_of(dy);
    own->m = dy->shape[dy->rank - 2];
    own->n = dy->shape[dy->rank - 1];
    for (int i = 3; i >= 0; --i) {
        const husk_tensor *tensor = &own->tensors[of_k[i]];
        const bool k_is_last = i < 2 ? !own->transpose_a : own->transpose_b;
        if (own->has[of_k[i]])
            own->k = tensor->shape[tensor->rank - (k_is_last ? 1 : 2)];
    }
    husk_status status = HUSK_OK;
    for (int i = 0; i < 4 && status == HUSK_OK; ++i) {
        const bool is_a = i < 2, is_transposed = is_a ? own->transpose_a : own->transpose_b;
        const int64_t rows = is_a ? own->m : own->k, columns = is_a ? own->k : own->n;
        status =
            check_factor(own, of_k[i], names[i], is_transposed ? columns : rows, is_transposed ? rows : columns, scope);
    }
    if (status == HUSK_OK && own->has[DA])
        status = check_gradient(&own->tensors[DA], own->has[A] ? &own->tensors[A] : NULL, "da", "a", scope);
    if (status == HUSK_OK && own->has[DB])
        status = check_gradient(&own->tensors[DB], own->has[B] ? &own->tensors[B] : NULL, "db", "b", scope);
    return status;
}

// [n], [m, 1], or [1, n], which is the same as [n].
static husk_status check_bias(const husk_tensor *dbias, problem *own, const husk__scope *scope)
{
    if (!dbias)
        return HUSK_OK;
    husk_status status = husk__tensor_check_number(dbias, "dbias", scope);
    if (status == HUSK_OK && !stands_beside(own, dbias))
        status = husk__tensor_check_dtype(dbias, "dbias", own->tensors[DY].dtype, as_dy(own), scope);
    if (status != HUSK_OK)
        return status;
    const int64_t *size = dbias->shape;
    own->bias_is_by_rows = dbias->rank == 2 && size[0] == own->m && size[1] == 1 && !(own->m == 1 && own->n == 1);
    const bool is_by_columns =
        (dbias->rank == 1 && size[0] == own->n) || (dbias->rank == 2 && size[0] == 1 && size[1] == own->n);
    char text[HUSK__SHAPE_TEXT];
    if (!own->bias_is_by_rows && !is_by_columns)
        return husk__reject(scope, "dbias", "is %s; it must be [n] = [%lld] or [m, 1] = [%lld, 1]",
                            husk__shape_text(dbias, text), (long long)own->n, (long long)own->m);
    own->tensors[DBIAS] = *dbias;
    husk__tensor_bare(&own->tensors[DBIAS]);
    own->has[DBIAS] = true;
    return husk__tensor_check_distinct(&own->tensors[DBIAS], "dbias", scope);
}

static bool reads_y(const husk__epilogue *activation, const husk_tensor *x, const husk_tensor *y)
{
    return y && (husk__epilogue_has_inverse(activation) || !x);
}

static husk_status check_like_dy(const problem *own, const husk_tensor *tensor, const char *name,
                                 const husk__scope *scope)
{
    const husk_tensor *dy = &own->tensors[DY];
    husk_status status = husk__tensor_check_number(tensor, name, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_dtype(tensor, name, dy->dtype, "as dy", scope);
    return status == HUSK_OK ? husk__tensor_check_shape(tensor, name, dy->rank, dy->shape, "as dy", scope) : status;
}

// What the activation's derivative is taken from.
static husk_status check_saved(call *given, problem *own, const husk__scope *scope)
{
    const husk_act activation = own->activation.activation;
    husk_status status = HUSK_OK;
    if (given->x)
        status = check_like_dy(own, given->x, "x", scope);
    if (status == HUSK_OK && given->y)
        status = check_like_dy(own, given->y, "y", scope);
    if (status != HUSK_OK || activation == HUSK_ACT_NONE)
        return status;
    if (!given->x && !given->y)
        return husk__reject(scope, "x", "is NULL, and so is y; the gradient of %s is taken from one of them",
                            husk_act_name(activation));
    if (!given->x && !husk__epilogue_has_inverse(&own->activation))
        return husk__reject(scope, "x", "is NULL, but the gradient of %s does not follow from y%s",
                            husk_act_name(activation), activation == HUSK_ACT_LEAKY_RELU ? " with this slope" : "");
    own->is_from_y = reads_y(&own->activation, given->x, given->y);
    given->run.tensors[FROM] = own->is_from_y ? given->y : given->x;
    if (own->is_from_y && own->activation.is_smooth)
        own->kind = activation == HUSK_ACT_TANH ? TANH_Y : SIGMOID_Y;
    return check_matrix(given->run.tensors[FROM], own->is_from_y ? "y" : "x", FROM, own, scope);
}

static husk_status check_needs(const problem *own, const husk__scope *scope)
{
    if (!own->has[DA] && !own->has[DB] && !own->has[DBIAS] && !own->has[DC])
        return husk__reject(scope, "da", "da, db, dbias and dc are all NULL; one gradient at least must be wanted");
    if (own->has[DB] && !own->has[A])
        return husk__reject(scope, "a", "is NULL, db is made of it");
    if (own->has[DA] && !own->has[B])
        return husk__reject(scope, "b", "is NULL, da is made of it");
    return HUSK_OK;
}

// Every argument but memory into a problem; given->run receives the x or y that is read.
static husk_status resolve(const husk_gemm_params *given_params, call *given, problem *own,
                           husk__preference *preference, const husk__scope *scope)
{
    husk_gemm_params params;
    *own = (problem){0};
    husk_status status = check_params(given_params, &params, scope);
    if (status != HUSK_OK)
        return status;
    own->transpose_a = params.transpose_a != 0;
    own->transpose_b = params.transpose_b != 0;
    own->accumulate = params.accumulate;
    own->precision = params.precision;
    own->activation = husk__epilogue_resolve(params.activation, params.activation_slope);
    own->kind = own->activation.is_smooth ? (int32_t)own->activation.activation : 0;
    const husk_tensor *const *tensors = given->run.tensors;
    status = check_matrix(tensors[A], "a", A, own, scope);
    if (status == HUSK_OK)
        status = check_matrix(tensors[B], "b", B, own, scope);
    if (status == HUSK_OK && !tensors[DY])
        status = husk__reject(scope, "dy", "is NULL");
    if (status == HUSK_OK)
        status = check_matrix(tensors[DY], "dy", DY, own, scope);
    if (status == HUSK_OK)
        status = check_saved(given, own, scope);
    if (status == HUSK_OK)
        status = check_matrix(tensors[DA], "da", DA, own, scope);
    if (status == HUSK_OK)
        status = check_matrix(tensors[DB], "db", DB, own, scope);
    if (status == HUSK_OK)
        status = check_dtypes(own, scope);
    if (status == HUSK_OK)
        status = check_sizes(own, scope);
    if (status == HUSK_OK)
        status = check_bias(tensors[DBIAS], own, scope);
    if (status == HUSK_OK && tensors[DC])
        status = check_like_dy(own, tensors[DC], "dc", scope);
    if (status == HUSK_OK)
        status = check_matrix(tensors[DC], "dc", DC, own, scope);
    if (status == HUSK_OK && own->has[DC])
        status = husk__tensor_check_distinct(&own->tensors[DC], "dc", scope);
    if (status == HUSK_OK)
        status = check_needs(own, scope);
    *preference = husk__preference_of(params.variant, params.workspace_limit, tensors, TENSORS);
    return status;
}

static const char *name_of(const problem *own, int which)
{
    static const char *const names[TENSORS] = {"a", "b", "x", "dy", "da", "db", "dbias", "dc"};
    return which == FROM && own->is_from_y ? "y" : names[which];
}

// The memory behind the arguments.
static husk_status bind(const problem *own, husk_queue *queue, const arguments *run, const husk__scope *scope)
{
    husk_status status = HUSK_OK;
    for (int i = 0; i < TENSORS && status == HUSK_OK; ++i)
        if (own->has[i])
            status = husk__tensor_bind(queue, run->tensors[i], name_of(own, i), scope);
    for (int i = DA; i < TENSORS; ++i) {
        for (int j = 0; j < i && status == HUSK_OK; ++j) {
            if (!own->has[i] || !own->has[j])
                continue;
            if (i == DC && j == DY && !(own->accumulate & HUSK_ACCUMULATE_INPUTS))
                status = husk__refuse_partial_overlap(run->tensors[i], "dc", run->tensors[j], "dy", scope);
            else
                status =
                    husk__refuse_overlap(run->tensors[i], name_of(own, i), run->tensors[j], name_of(own, j), scope);
        }
    }
    return status;
}

// ---- the operator ----

static void describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    for (int i = 0; i < TENSORS; ++i)
        husk__key_tensor(key, own->has[i] ? &own->tensors[i] : NULL);
    husk__key_i64(key, own->transpose_a + 2 * own->transpose_b + 4 * own->is_from_y);
    husk__key_i64(key, own->accumulate);
    husk__key_i64(key, own->precision);
    husk__key_i64(key, own->activation.activation);
    husk__key_f32(key, own->activation.slope);
}

static void classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    husk__text_format(text, " %s %s gradients=%s%s%s%s", husk_dtype_name(own->tensors[DY].dtype),
                      husk_act_name(own->activation.activation), own->has[DA] ? "a" : "", own->has[DB] ? "b" : "",
                      own->has[DBIAS] ? own->bias_is_by_rows ? "r" : "c" : "", own->has[DC] ? "y" : "");
    husk__class_size(text, "batch", own->batch);
    husk__class_size(text, "m", own->m);
    husk__class_size(text, "n", own->n);
    husk__class_size(text, "k", own->k);
}

static void write_case(const void *untyped, const void *untyped_run, husk__case *c)
{
    const problem *own = untyped;
    const arguments *run = untyped_run;
    husk__case_begin(c, "gemm");
    husk__case_size(c, "m", own->m);
    husk__case_size(c, "n", own->n);
    husk__case_size(c, "k", own->k);
    husk__case_integer(c, "batch", own->batch, 1);
    husk__case_integer(c, "ta", own->transpose_a, 0);
    husk__case_integer(c, "tb", own->transpose_b, 0);
    if (own->has[A])
        husk__case_matrix(c, "a", "lda", &own->tensors[A]);
    if (own->has[B])
        husk__case_matrix(c, "b", "ldb", &own->tensors[B]);
    husk__case_matrix(c, "dy", "ldc", &own->tensors[DY]);
    if (run) {
        husk__case_real(c, "alpha", (double)run->alpha, 1);
        husk__case_real(c, "beta", (double)run->beta, 0);
    }
    if (own->has[DBIAS])
        husk__case_word(c, "bias", own->bias_is_by_rows ? "col" : "1", NULL);
    husk__case_act(c, own->activation.activation, own->activation.slope);
    husk__case_dtype(c, own->tensors[DY].dtype);
    husk__case_precision(c, own->precision);
    husk__case_word(c, "dir", "bwd", NULL);
    if (!own->has[DA] || !own->has[DB])
        husk__case_note(c, "%s", own->has[DA] ? "da alone" : own->has[DB] ? "db alone" : "without da and db");
    if (own->accumulate)
        husk__case_note(c, "accumulates");
}

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&husk__gemm_backward_vector, &husk__gemm_backward_grid, NULL};

const husk__op husk__op_gemm_backward = {
    .name = "gemm_backward",
    .problem_size = sizeof(problem),
    .variants = variants,
    .describe = describe,
    .prewarm = prewarm,
    .classify = classify,
    .write_case = write_case,
};

// ---- the calls ----

husk_status husk_gemm_backward(husk_queue *queue, const husk_gemm_params *params, float alpha, const husk_tensor *a,
                               const husk_tensor *b, float beta, const husk_tensor *x, const husk_tensor *y,
                               const husk_tensor *dy, const husk_tensor *da, const husk_tensor *db,
                               const husk_tensor *dbias, const husk_tensor *dc)
{
    husk__scope scope;
    problem own;
    husk__preference preference = {0};
    call given = {.run = {alpha, beta, {a, b, NULL, dy, da, db, dbias, dc}}, .x = x, .y = y};
    husk_status status = husk__call_begin(queue, "husk_gemm_backward", &scope);
    if (status == HUSK_OK)
        status = resolve(params, &given, &own, &preference, &scope);
    if (status == HUSK_OK)
        status = husk__dtype_check(husk_queue_context(queue), own.tensors[DY].dtype, "dy", &scope);
    if (status == HUSK_OK)
        status = bind(&own, queue, &given.run, &scope);
    if (status != HUSK_OK)
        return status;
    return husk__plan_immediate(queue, &husk__op_gemm_backward, &own, &preference, &given.run, &scope);
}

husk_status husk_gemm_backward_plan_create(husk_context *context, const husk_gemm_params *params, const husk_tensor *a,
                                           const husk_tensor *b, const husk_tensor *x, const husk_tensor *y,
                                           const husk_tensor *dy, const husk_tensor *da, const husk_tensor *db,
                                           const husk_tensor *dbias, const husk_tensor *dc, husk_plan **plan,
                                           husk_error *error)
{
    husk__scope scope;
    problem own;
    husk__preference preference = {0};
    call given = {.run = {1.0f, 0.0f, {a, b, NULL, dy, da, db, dbias, dc}}, .x = x, .y = y};
    husk_status status = husk__context_call_begin(context, "husk_gemm_backward_plan_create", error, &scope);
    if (status == HUSK_OK && !plan)
        return husk__reject(&scope, "plan", "is NULL");
    if (plan)
        *plan = NULL;
    if (status == HUSK_OK)
        status = resolve(params, &given, &own, &preference, &scope);
    if (status == HUSK_OK)
        status = husk__dtype_check(context, own.tensors[DY].dtype, "dy", &scope);
    return status == HUSK_OK ? husk__plan_create(context, &husk__op_gemm_backward, &own, &preference, plan, &scope)
                             : status;
}

// The tensors of a run against the plan's.
static husk_status check_run(const problem *own, const arguments *run, const husk__scope *scope)
{
    husk_status status = HUSK_OK;
    for (int i = 0; i < TENSORS && status == HUSK_OK; ++i) {
        if (own->has[i] != (run->tensors[i] != NULL))
            return husk__reject(scope, name_of(own, i),
                                own->has[i] ? "is NULL, the plan was made for one"
                                            : "is given, the plan was made for none");
        if (own->has[i])
            status = husk__plan_check_tensor(&own->tensors[i], run->tensors[i], name_of(own, i), scope);
    }
    return status;
}

husk_status husk_gemm_backward_plan_run(husk_plan *plan, husk_queue *queue, float alpha, const husk_tensor *a,
                                        const husk_tensor *b, float beta, const husk_tensor *x, const husk_tensor *y,
                                        const husk_tensor *dy, const husk_tensor *da, const husk_tensor *db,
                                        const husk_tensor *dbias, const husk_tensor *dc)
{
    husk__scope scope;
    husk_status status = husk__call_begin(queue, "husk_gemm_backward_plan_run", &scope);
    if (status == HUSK_OK)
        status = husk__plan_check(plan, &husk__op_gemm_backward, queue, &scope);
    if (status != HUSK_OK)
        return status;
    const problem *own = plan->problem;
    const husk_tensor *from = own->has[FROM] ? own->is_from_y ? y : x : NULL;
    const arguments run = {alpha, beta, {a, b, from, dy, da, db, dbias, dc}};
    status = check_run(own, &run, &scope);
    if (status == HUSK_OK)
        status = bind(own, queue, &run, &scope);
    return status == HUSK_OK ? husk__plan_execute(plan, queue, &run, &scope) : status;
}

// ---- prewarming ----

// Both programs of the device's variant, on a small matrix; the multiplications' own are gemm's.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    enum { SIZE = 16, COUNT = SIZE * SIZE };
    const int64_t shape[] = {SIZE, SIZE}, columns[] = {SIZE};
    husk_buffer *buffer;
    husk_status status =
        husk_buffer_create(husk_queue_context(queue), 3 * COUNT * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor dy = husk_tensor_make(buffer, HUSK_F32, 2, shape);
    husk_tensor dc = dy, dbias = husk_tensor_make(buffer, HUSK_F32, 1, columns);
    dc.offset = COUNT;
    dbias.offset = 2 * COUNT;
    const husk_act activations[] = {HUSK_ACT_RELU, HUSK_ACT_GELU};
    for (int i = 0; i < 2 && status == HUSK_OK; ++i) {
        const husk_gemm_params params = HUSK_GEMM_PARAMS(.activation = activations[i]);
        call given = {.run = {1.0f, 0.0f, {[DY] = &dy, [DBIAS] = &dbias, [DC] = &dc}}, .x = &dy};
        problem own;
        husk__preference preference = {0};
        status = resolve(&params, &given, &own, &preference, scope);
        if (status == HUSK_OK)
            status = husk__plan_immediate(queue, &husk__op_gemm_backward, &own, &preference, &given.run, scope);
    }
    husk_buffer_release(buffer);
    return status;
}
