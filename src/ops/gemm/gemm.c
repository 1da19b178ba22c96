// SPDX-License-Identifier: MIT
// General matrix multiplication: the public calls. What the variants (<variant>.c) share is in problem.c.
#include "ops/gemm/problem.h"

#include <string.h>

#include "base/checked.h"
#include "base/epilogue.h"
#include "base/params.h"
#include "base/tensor.h"
#include "ops/shared/matrices.h"

static const husk__variant *const variants[] = {
    &husk__gemm_cpu_matrix,
    &husk__gemm_packed,
    &husk__gemm_skinny,
    &husk__gemm_tiled,
    &husk__gemm_matrix,
#ifdef HUSK_WITH_CLBLAST
    &husk__gemm_clblast,
#endif
    NULL,
};

// ---- validation ----

static husk_status check_params(const husk_gemm_params *params, husk_gemm_params *resolved, const husk__scope *scope)
{
    husk_status status = husk__params_read(resolved, sizeof *resolved, "HUSK_GEMM_PARAMS", params, scope);
    if (status != HUSK_OK)
        return status;
    status = husk__epilogue_check(resolved->activation, resolved->activation_slope, "activation_slope", scope);
    return status == HUSK_OK ? husk__precision_check(resolved->precision, scope) : status;
}

// f32, f16, bf16 or f64, of rank 2, or 3 with a batch; resolved into *out, without memory.
static husk_status check_matrix(const husk_tensor *tensor, const char *argument, husk_tensor *out,
                                const husk__scope *scope)
{
    if (!tensor)
        return husk__reject(scope, argument, "is NULL");
    husk_status status = husk__tensor_check(tensor, argument, scope);
    if (status != HUSK_OK)
        return status;
    if (tensor->dtype != HUSK_F32 && tensor->dtype != HUSK_F16 && tensor->dtype != HUSK_BF16 &&
        tensor->dtype != HUSK_F64)
        return husk__fail(scope, HUSK_UNSUPPORTED, "%s: is %s; gemm computes f32, f16, bf16 and f64", argument,
                          husk_dtype_name(tensor->dtype));
    if (tensor->rank != 2 && tensor->rank != 3)
        return husk__reject(scope, argument, "has rank %d; a matrix has 2, a batch of matrices 3", (int)tensor->rank);
    *out = *tensor;
    husk__tensor_bare(out);
    return HUSK_OK;
}

static int64_t rows_of(const husk_tensor *matrix)
{
    return matrix->shape[matrix->rank - 2];
}

static int64_t columns_of(const husk_tensor *matrix)
{
    return matrix->shape[matrix->rank - 1];
}

static int64_t batch_of(const husk_tensor *matrix)
{
    return matrix->rank == 3 ? matrix->shape[0] : 1;
}

// A and B against each other and C.
static husk_status check_sizes(const husk__gemm_problem *problem, const husk__scope *scope)
{
    const husk__gemm_shape *shape = &problem->shape;
    char text[HUSK__SHAPE_TEXT];
    const int64_t k = problem->transpose_b ? columns_of(&problem->b) : rows_of(&problem->b);
    if (k != shape->k)
        return husk__reject(scope, "b", "%s has k = %lld, a has k = %lld", husk__shape_text(&problem->b, text),
                            (long long)k, (long long)shape->k);
    if (rows_of(&problem->c) != shape->m || columns_of(&problem->c) != shape->n)
        return husk__reject(scope, "c", "is %s, a and b make [%lld, %lld]", husk__shape_text(&problem->c, text),
                            (long long)shape->m, (long long)shape->n);
    if (batch_of(&problem->a) != shape->batch && batch_of(&problem->a) != 1)
        return husk__reject(scope, "a", "has %lld matrices, c has %lld", (long long)batch_of(&problem->a),
                            (long long)shape->batch);
    if (batch_of(&problem->b) != shape->batch && batch_of(&problem->b) != 1)
        return husk__reject(scope, "b", "has %lld matrices, c has %lld", (long long)batch_of(&problem->b),
                            (long long)shape->batch);
    if (husk__tensor_may_alias_itself(&problem->c))
        return husk__reject(scope, "c", "its strides let different elements coincide");
    return husk__matrices_check(shape->batch, shape->m, shape->n, shape->k, scope);
}

// The narrowest dtype, beside which f32 alone may stand.
static husk_status check_dtypes(husk__gemm_problem *problem, const husk__scope *scope)
{
    static const char *const names[] = {"a", "b", "c"};
    static const int32_t bits[] = {HUSK__GEMM_WIDE_A, HUSK__GEMM_WIDE_B, HUSK__GEMM_WIDE_C};
    const husk_tensor *const tensors[] = {&problem->a, &problem->b, &problem->c};
    const char *narrowest = NULL;
    problem->dtype = HUSK_F32;
    for (int i = 0; i < 3; ++i) {
        const husk_dtype dtype = tensors[i]->dtype;
        if (dtype == HUSK_F32 || dtype == problem->dtype)
            continue;
        if (narrowest)
            return husk__reject(scope, names[i], "is %s, %s is %s; only f32 may stand beside another dtype",
                                husk_dtype_name(dtype), narrowest, husk_dtype_name(problem->dtype));
        problem->dtype = dtype;
        narrowest = names[i];
    }
    for (int i = 0; i < 3 && problem->dtype == HUSK_F64; ++i)
        if (tensors[i]->dtype != HUSK_F64)
            return husk__reject(scope, names[i], "is %s, %s is f64, beside which nothing else may stand",
                                husk_dtype_name(tensors[i]->dtype), narrowest);
    for (int i = 0; i < 3; ++i)
        problem->wide |= tensors[i]->dtype != problem->dtype ? bits[i] : 0;
    if (problem->b_is_packed && (problem->wide & HUSK__GEMM_WIDE_B))
        return husk__reject(scope, "b", "is packed f32, %s is %s; weights beside it are packed as that", narrowest,
                            husk_dtype_name(problem->dtype));
    return HUSK_OK;
}

// [n], [m, 1], or [1, n], which is the same as [n].
static husk_status check_bias(const husk_tensor *bias, husk__gemm_problem *problem, const husk__scope *scope)
{
    husk__gemm_shape *shape = &problem->shape;
    problem->has_bias = bias != NULL;
    if (!bias)
        return HUSK_OK;
    husk_status status = husk__tensor_check_number(bias, "bias", scope);
    if (status == HUSK_OK && problem->dtype == HUSK_F64)
        status = husk__tensor_check_dtype(bias, "bias", HUSK_F64, "as the matrices", scope);
    else if (status == HUSK_OK && bias->dtype != HUSK_F32)
        status = husk__tensor_check_dtype(bias, "bias", problem->dtype, "as the matrices, or f32", scope);
    if (status != HUSK_OK)
        return status;
    problem->wide |= bias->dtype != problem->dtype ? HUSK__GEMM_WIDE_BIAS : 0;
    problem->bias = *bias;
    husk__tensor_bare(&problem->bias);
    const int64_t *size = problem->bias.shape, *stride = problem->bias.strides;
    if (bias->rank == 2 && size[0] == shape->m && size[1] == 1 && !(shape->m == 1 && shape->n == 1)) {
        shape->bias = HUSK__GEMM_BIAS_ROW;
        shape->bias_stride = shape->m > 1 ? stride[0] : 1;
    } else if ((bias->rank == 1 && size[0] == shape->n) || (bias->rank == 2 && size[0] == 1 && size[1] == shape->n)) {
        shape->bias = HUSK__GEMM_BIAS_COLUMN;
        shape->bias_stride = shape->n > 1 ? stride[bias->rank - 1] : 1;
    } else {
        char text[HUSK__SHAPE_TEXT];
        return husk__reject(scope, "bias", "is %s; it must be [n] = [%lld] or [m, 1] = [%lld, 1]",
                            husk__shape_text(bias, text), (long long)shape->n, (long long)shape->m);
    }
    return HUSK_OK;
}

// ---- resolution ----

static void set_strides(husk__gemm_problem *problem)
{
    husk__gemm_shape *shape = &problem->shape;
    const int64_t *a = problem->a.strides + problem->a.rank - 2, *b = problem->b.strides + problem->b.rank - 2;
    const int64_t *c = problem->c.strides + problem->c.rank - 2;
    shape->a_row = shape->m > 1 ? a[problem->transpose_a ? 1 : 0] : 1;
    shape->a_step = shape->k > 1 ? a[problem->transpose_a ? 0 : 1] : 1;
    shape->b_step = shape->k > 1 ? b[problem->transpose_b ? 1 : 0] : 1;
    shape->b_column = shape->n > 1 ? b[problem->transpose_b ? 0 : 1] : 1;
    shape->c_row = shape->m > 1 ? c[0] : 1;
    shape->c_column = shape->n > 1 ? c[1] : 1;
    shape->a_batch = batch_of(&problem->a) > 1 ? problem->a.strides[0] : 0;
    shape->b_batch = batch_of(&problem->b) > 1 ? problem->b.strides[0] : 0;
    shape->c_batch = batch_of(&problem->c) > 1 ? problem->c.strides[0] : 0;
}

static void set_activation(const husk_gemm_params *params, husk__gemm_problem *problem)
{
    const husk__epilogue epilogue = husk__epilogue_resolve(params->activation, params->activation_slope);
    problem->activation = (int32_t)epilogue.activation;
    problem->low = epilogue.low;
    problem->slope = epilogue.slope;
    problem->high = epilogue.high;
    problem->activation_is_smooth = epilogue.is_smooth;
}

// Every argument but memory, in the header's order, into a problem.
static husk_status resolve(const husk_context *context, const husk_gemm_params *params, const husk_tensor *a,
                           const husk_tensor *b, const husk_tensor *bias, const husk_tensor *c,
                           husk__gemm_problem *problem, husk__preference *preference, const husk__scope *scope)
{
    husk_gemm_params resolved;
    *problem = (husk__gemm_problem){0};
    husk_status status = check_params(params, &resolved, scope);
    if (status == HUSK_OK)
        status = check_matrix(a, "a", &problem->a, scope);
    if (status == HUSK_OK && a->packed)
        status = husk__reject(scope, "a", "is packed; only b may be");
    if (status == HUSK_OK)
        status = check_matrix(b, "b", &problem->b, scope);
    if (status == HUSK_OK && b->packed && b->packed->op != &husk__op_gemm)
        status = husk__reject(scope, "b", "was packed for %s, not for gemm", b->packed->op->name);
    if (status == HUSK_OK)
        status = check_matrix(c, "c", &problem->c, scope);
    if (status == HUSK_OK && c->packed)
        status = husk__reject(scope, "c", "is packed; only b may be");
    if (status != HUSK_OK)
        return status;
    problem->transpose_a = resolved.transpose_a != 0;
    problem->transpose_b = resolved.transpose_b != 0;
    problem->b_is_packed = b->packed != NULL;
    problem->precision = husk__context_precision(context, resolved.precision);
    status = check_dtypes(problem, scope);
    if (status != HUSK_OK)
        return status;
    husk__gemm_shape *shape = &problem->shape;
    shape->batch = batch_of(&problem->c);
    shape->m = problem->transpose_a ? columns_of(&problem->a) : rows_of(&problem->a);
    shape->k = problem->transpose_a ? rows_of(&problem->a) : columns_of(&problem->a);
    shape->n = problem->transpose_b ? rows_of(&problem->b) : columns_of(&problem->b);
    status = check_sizes(problem, scope);
    if (status == HUSK_OK)
        status = check_bias(bias, problem, scope);
    if (status != HUSK_OK)
        return status;
    set_strides(problem);
    set_activation(&resolved, problem);
    const husk_tensor *const tensors[] = {&problem->a, &problem->b, &problem->c};
    *preference = husk__preference_of(resolved.variant, resolved.workspace_limit, tensors, 3);
    husk__preference_of_packed(preference, b->packed);
    return HUSK_OK;
}

static void describe(const void *problem_, husk__key *key)
{
    const husk__gemm_problem *problem = problem_;
    husk__key_tensor(key, &problem->a);
    husk__key_tensor(key, &problem->b);
    husk__key_tensor(key, problem->has_bias ? &problem->bias : NULL);
    husk__key_tensor(key, &problem->c);
    husk__key_i64(key, problem->b_is_packed);
    husk__key_i64(key, problem->transpose_a);
    husk__key_i64(key, problem->transpose_b);
    husk__key_i64(key, problem->precision);
    husk__key_i64(key, problem->activation);
    husk__key_f32(key, problem->slope);
}

static void classify(const void *problem_, husk__text *text)
{
    const husk__gemm_problem *problem = problem_;
    const husk__gemm_shape *shape = &problem->shape;
    husk__text_format(text, " %s", husk_dtype_name(problem->dtype));
    if (problem->wide & ~HUSK__GEMM_WIDE_BIAS)
        husk__text_format(text, "/f32%s%s%s", problem->wide & HUSK__GEMM_WIDE_A ? "a" : "",
                          problem->wide & HUSK__GEMM_WIDE_B ? "b" : "", problem->wide & HUSK__GEMM_WIDE_C ? "c" : "");
    if (problem->precision != HUSK_PRECISION_HIGHEST)
        husk__text_format(text, "%s", problem->precision == HUSK_PRECISION_HIGH ? " high" : " medium");
    husk__text_format(text, " a=%s b=%s c=%s", shape->a_step == 1 ? "rows" : "columns",
                      problem->b_is_packed   ? "packed"
                      : shape->b_column == 1 ? "rows"
                                             : "columns",
                      husk__gemm_is_by_columns(shape) ? "columns" : "rows");
    husk__class_size(text, "batch", shape->batch);
    husk__class_size(text, "m", shape->m);
    husk__class_size(text, "n", shape->n);
    husk__class_size(text, "k", shape->k);
}

static void write_case(const void *problem_, const void *arguments, husk__case *c)
{
    const husk__gemm_problem *problem = problem_;
    const husk__gemm_run *run = arguments;
    const husk__gemm_shape *shape = &problem->shape;
    const bool is_packed = problem->b_is_packed || (run && run->b && run->b->packed);
    husk__case_begin(c, "gemm");
    husk__case_size(c, "m", shape->m);
    husk__case_size(c, "n", shape->n);
    husk__case_size(c, "k", shape->k);
    husk__case_integer(c, "batch", shape->batch, 1);
    husk__case_integer(c, "ta", problem->transpose_a, 0);
    husk__case_integer(c, "tb", problem->transpose_b, 0);
    husk__case_matrix(c, "a", "lda", &problem->a);
    if (!is_packed)
        husk__case_matrix(c, "b", "ldb", &problem->b);
    husk__case_matrix(c, "c", "ldc", &problem->c);
    if (run) {
        husk__case_real(c, "alpha", (double)run->alpha, 1);
        husk__case_real(c, "beta", (double)run->beta, 0);
    }
    if (problem->has_bias)
        husk__case_word(c, "bias", shape->bias == HUSK__GEMM_BIAS_ROW ? "col" : "1", NULL);
    husk__case_act(c, (husk_act)problem->activation, problem->slope);
    husk__case_dtype(c, problem->dtype);
    husk__case_precision(c, problem->precision);
    husk__case_integer(c, "packed", is_packed, 0);
    if (problem->wide)
        husk__case_note(c, "f32:%s%s%s%s", problem->wide & HUSK__GEMM_WIDE_A ? " a" : "",
                        problem->wide & HUSK__GEMM_WIDE_B ? " b" : "", problem->wide & HUSK__GEMM_WIDE_C ? " c" : "",
                        problem->wide & HUSK__GEMM_WIDE_BIAS ? " bias" : "");
}

static bool is_empty(const husk__gemm_problem *problem)
{
    return problem->shape.batch == 0 || problem->shape.m == 0 || problem->shape.n == 0;
}

// The memory behind the arguments. A and B are not read where k is 0.
static husk_status bind(const husk__gemm_problem *problem, husk_queue *queue, const husk__gemm_run *run,
                        const husk__scope *scope)
{
    husk_status status = husk__tensor_bind(queue, run->a, "a", scope);
    if (status == HUSK_OK && !run->b->packed)
        status = husk__tensor_bind(queue, run->b, "b", scope);
    if (status == HUSK_OK && run->bias)
        status = husk__tensor_bind(queue, run->bias, "bias", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, run->c, "c", scope);
    if (status == HUSK_OK)
        status = husk__refuse_overlap(run->c, "c", run->a, "a", scope);
    if (status == HUSK_OK && !run->b->packed)
        status = husk__refuse_overlap(run->c, "c", run->b, "b", scope);
    if (status == HUSK_OK && problem->has_bias)
        status = husk__refuse_overlap(run->c, "c", run->bias, "bias", scope);
    return status;
}

// alpha is 0: A and B are not read, as in BLAS, so that what is not finite there does not come into C. That is the
// product over nothing, by whatever variant computes it in as much workspace.
static void make_without_product(husk__gemm_problem *none, husk__gemm_run *run, husk__preference *preference,
                                 husk__limit limit)
{
    none->shape.k = 0;
    none->b_is_packed = false;
    none->a.shape[none->a.rank - (none->transpose_a ? 2 : 1)] = 0;
    none->b.shape[none->b.rank - (none->transpose_b ? 1 : 2)] = 0;
    set_strides(none);
    run->a = &none->a;
    run->b = &none->b;
    *preference = (husk__preference){.limit = limit};
}

// ---- the calls ----

husk_status husk_gemm(husk_queue *queue, const husk_gemm_params *params, float alpha, const husk_tensor *a,
                      const husk_tensor *b, const husk_tensor *bias, float beta, const husk_tensor *c)
{
    husk__scope scope;
    husk__gemm_problem problem;
    husk__preference preference = {0};
    husk_status status = husk__call_begin(queue, "husk_gemm", &scope);
    if (status == HUSK_OK)
        status = resolve(husk_queue_context(queue), params, a, b, bias, c, &problem, &preference, &scope);
    if (status == HUSK_OK)
        status = husk__dtype_check(husk_queue_context(queue), problem.dtype, "a", &scope);
    if (status != HUSK_OK)
        return status;
    const husk__gemm_run run = {alpha, beta, a, b, c, bias};
    status = bind(&problem, queue, &run, &scope);
    if (status != HUSK_OK || is_empty(&problem))
        return status;
    if (alpha == 0.0f && problem.shape.k > 0) {
        husk__gemm_run own = run;
        make_without_product(&problem, &own, &preference, preference.limit);
        return husk__plan_immediate(queue, &husk__op_gemm, &problem, &preference, &own, &scope);
    }
    return husk__packed_immediate(queue, &husk__op_gemm, &problem, &preference, b->packed, &run, &scope);
}

husk_status husk_gemm_plan_create(husk_context *context, const husk_gemm_params *params, const husk_tensor *a,
                                  const husk_tensor *b, const husk_tensor *bias, const husk_tensor *c, husk_plan **plan,
                                  husk_error *error)
{
    husk__scope scope;
    husk__gemm_problem problem;
    husk__preference preference = {0};
    husk_status status = husk__context_call_begin(context, "husk_gemm_plan_create", error, &scope);
    if (status == HUSK_OK && !plan)
        return husk__reject(&scope, "plan", "is NULL");
    if (plan)
        *plan = NULL;
    if (status == HUSK_OK)
        status = resolve(context, params, a, b, bias, c, &problem, &preference, &scope);
    if (status == HUSK_OK)
        status = husk__dtype_check(context, problem.dtype, "a", &scope);
    if (status != HUSK_OK)
        return status;
    return husk__packed_plan_create(context, &husk__op_gemm, &problem, &preference, b->packed, plan, &scope);
}

// The tensors of a run against the plan's.
static husk_status check_run(const husk_plan *plan, const husk__gemm_run *run, const husk__scope *scope)
{
    const husk__gemm_problem *problem = plan->problem;
    husk_status status = husk__packed_check_other(plan, &problem->a, true, run->a, "a", scope);
    if (status == HUSK_OK)
        status = husk__packed_check_weights(plan, &problem->b, problem->b_is_packed, run->b, scope);
    if (status == HUSK_OK)
        status = husk__packed_check_other(plan, &problem->bias, problem->has_bias, run->bias, "bias", scope);
    if (status == HUSK_OK)
        status = husk__packed_check_other(plan, &problem->c, true, run->c, "c", scope);
    return status;
}

husk_status husk_gemm_plan_run(husk_plan *plan, husk_queue *queue, float alpha, const husk_tensor *a,
                               const husk_tensor *b, const husk_tensor *bias, float beta, const husk_tensor *c)
{
    husk__scope scope;
    husk_status status = husk__call_begin(queue, "husk_gemm_plan_run", &scope);
    if (status == HUSK_OK)
        status = husk__plan_check(plan, &husk__op_gemm, queue, &scope);
    const husk__gemm_run run = {alpha, beta, a, b, c, bias};
    if (status == HUSK_OK)
        status = check_run(plan, &run, &scope);
    if (status == HUSK_OK)
        status = bind(plan->problem, queue, &run, &scope);
    if (status != HUSK_OK || is_empty(plan->problem))
        return status;
    husk__gemm_problem none = *(const husk__gemm_problem *)plan->problem;
    if (alpha != 0.0f || none.shape.k == 0)
        return husk__plan_execute(plan, queue, &run, &scope);
    husk__gemm_run own = run;
    husk__preference preference;
    husk_plan *other;
    make_without_product(&none, &own, &preference, plan->limit);
    status = husk__plan_find(plan->context, &husk__op_gemm, &none, &preference, &other, &scope);
    if (status != HUSK_OK)
        return status;
    status = husk__plan_execute(other, queue, &own, &scope);
    husk_plan_release(other); // the queue's last immediate call was another
    return status;
}

static husk_status pack(const husk_plan *plan, husk_queue *queue, const husk_tensor *b, husk_packed **packed,
                        const husk__scope *scope)
{
    if (plan->variant == &husk__gemm_packed || plan->variant == &husk__gemm_skinny)
        return husk__gemm_panels_pack(plan, queue, b, packed, scope);
    if (plan->variant == &husk__gemm_cpu_matrix)
        return husk__gemm_cpu_matrix_pack(plan, queue, b, packed, scope);
    const husk_status status =
        plan->variant == &husk__gemm_matrix ? husk__gemm_matrix_expect_packed(plan, scope) : HUSK_OK;
    if (status != HUSK_OK)
        return status;
    return husk__gemm_rows_pack(plan, queue, b, packed, scope);
}

husk_status husk_gemm_plan_pack(husk_plan *plan, husk_queue *queue, const husk_tensor *b, husk_packed **packed)
{
    husk__scope scope;
    husk_status status = husk__call_begin(queue, "husk_gemm_plan_pack", &scope);
    if (packed)
        *packed = NULL;
    if (status == HUSK_OK)
        status = husk__plan_check(plan, &husk__op_gemm, queue, &scope);
    if (status != HUSK_OK)
        return status;
    const husk__gemm_problem *problem = plan->problem;
    status = husk__packed_begin(plan, queue, &problem->b, problem->b_is_packed, b, packed, &scope);
    if (status == HUSK_OK && problem->b.rank == 3)
        status = husk__fail(&scope, HUSK_UNSUPPORTED, "b: is a batch of matrices; one matrix can be packed");
    if (status == HUSK_OK && (problem->wide & HUSK__GEMM_WIDE_B))
        status = husk__fail(&scope, HUSK_UNSUPPORTED, "b: is f32 beside %s; weights are packed as that",
                            husk_dtype_name(problem->dtype));
    return status == HUSK_OK ? pack(plan, queue, b, packed, &scope) : status;
}

// ---- prewarming ----

// What a first inference takes: a matrix, a vector, and weights packed beforehand.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    enum { SIZE = 64 };
    husk_context *context = husk_queue_context(queue);
    husk_buffer *buffer = NULL;
    husk_plan *plan = NULL;
    husk_packed *packed = NULL;
    husk_status status = husk_buffer_create(context, 3 * SIZE * SIZE * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    husk_tensor a = husk_tensor_make(buffer, HUSK_F32, 2, (const int64_t[]){SIZE, SIZE});
    husk_tensor b = a, c = a;
    b.offset = SIZE * SIZE;
    c.offset = 2 * SIZE * SIZE;
    status = husk_gemm(queue, NULL, 1.0f, &a, &b, NULL, 0.0f, &c);
    if (status == HUSK_OK)
        status = husk_gemm_plan_create(context, NULL, &a, &b, NULL, &c, &plan, scope->error);
    if (status == HUSK_OK && husk_gemm_plan_pack(plan, queue, &b, &packed) == HUSK_OK) {
        husk_tensor weights = husk_packed_tensor(packed);
        status = husk_gemm_plan_run(plan, queue, 1.0f, &a, &weights, NULL, 0.0f, &c);
    }
    a.shape[0] = c.shape[0] = 1;
    if (status == HUSK_OK)
        status = husk_gemm(queue, NULL, 1.0f, &a, &b, NULL, 0.0f, &c);
    if (status != HUSK_OK && scope->error->status == HUSK_OK)
        *scope->error = *husk_queue_error(queue);
    husk_packed_release(packed);
    husk_plan_release(plan);
    husk_buffer_release(buffer);
    return status;
}

const husk__op husk__op_gemm = {
    .name = "gemm",
    .problem_size = sizeof(husk__gemm_problem),
    .variants = variants,
    .describe = describe,
    .prewarm = prewarm,
    .classify = classify,
    .write_case = write_case,
    .packed_argument = "b",
    .describe_packed = husk__gemm_describe_packed,
};
