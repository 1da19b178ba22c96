// SPDX-License-Identifier: MIT
// Reductions: validate -> resolve -> choose, with ops/reduce/problem.c. The variants are in
// ops/reduce/variants.c.
#include "base/params.h"
#include "base/tensor.h"
#include "ops/reduce/problem.h"

static void describe(const void *untyped, husk__key *key)
{
    const husk__reduce_problem *own = untyped;
    husk__key_i64(key, own->kind);
    husk__key_i64(key, own->result);
    husk__key_i64(key, own->reduced);
    husk__key_tensor(key, &own->x);
    husk__key_tensor(key, &own->y);
}

static void classify(const void *untyped, husk__text *text)
{
    const husk__reduce_problem *own = untyped;
    husk__reduce_geometry shape = husk__reduce_geometry_of(own);
    const husk__walk_dimension run = husk__walk_take_last(&shape.reduced);
    const husk__walk_dimension inner = husk__walk_take_last(&shape.kept);
    const bool is_pair = own->kind > HUSK_REDUCE_LOG_SUM_EXP;
    husk__text_format(text, " %s %s %s", husk_dtype_name(own->x.dtype),
                      is_pair ? "pair" : husk_reduce_kind_name((husk_reduce_kind)own->kind),
                      run.strides[0] == 1     ? "rows"
                      : inner.strides[0] == 1 ? "columns"
                                              : "strided");
    husk__class_size(text, "rows", shape.rows);
    husk__class_size(text, "inner", inner.extent);
    husk__class_size(text, "run", run.extent);
    husk__class_size(text, "count", shape.count);
}

static void write_case(const void *untyped, const void *given, husk__case *c)
{
    const husk__reduce_problem *own = untyped;
    const bool is_max = own->kind == HUSK__REDUCE_MAX_COUNT, is_min = own->kind == HUSK__REDUCE_MIN_COUNT;
    const bool is_product = own->kind == HUSK__REDUCE_PRODUCT_ZEROS;
    (void)given;
    husk__reduce_begin_case(is_max       ? HUSK_REDUCE_MAX
                            : is_min     ? HUSK_REDUCE_MIN
                            : is_product ? HUSK_REDUCE_PRODUCT
                                         : (husk_reduce_kind)own->kind,
                            &own->x, own->reduced, c);
    if (is_max || is_min)
        husk__case_note(c, "and counts them");
    if (is_product)
        husk__case_note(c, "and counts zeros");
    if (own->result == HUSK__REDUCE_I64)
        husk__case_note(c, "y is i64");
    husk__case_tensor(c, "x", &own->x);
    husk__case_tensor(c, "y", &own->y);
}

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&husk__reduce_rows, &husk__reduce_columns, &husk__reduce_workgroup,
                                                NULL};

const husk__op husk__op_reduce = {
    .name = "reduce",
    .problem_size = sizeof(husk__reduce_problem),
    .variants = variants,
    .describe = describe,
    .prewarm = prewarm,
    .classify = classify,
    .write_case = write_case,
};

static husk_status check_kind(const husk_reduce_params *params, const husk_tensor *x, const husk_tensor *y,
                              uint32_t reduced, const husk__scope *scope)
{
    const bool is_position = params->kind == HUSK_REDUCE_ARGMAX || params->kind == HUSK_REDUCE_ARGMIN;
    int64_t count = 1;
    for (int32_t d = 0; d < x->rank; ++d)
        count *= reduced >> d & 1 ? x->shape[d] : 1;
    if (is_position && y->dtype != HUSK_I32 && y->dtype != HUSK_I64)
        return husk__fail(scope, HUSK_UNSUPPORTED, "y: is %s; %s gives i32 or i64", husk_dtype_name(y->dtype),
                          husk_reduce_kind_name(params->kind));
    if (is_position && y->dtype == HUSK_I32 && count > INT32_MAX)
        return husk__reject(scope, "y", "is i32, which cannot count %lld elements", (long long)count);
    if (count == 0 && husk__tensor_count(y) > 0 &&
        (is_position || params->kind == HUSK_REDUCE_MAX || params->kind == HUSK_REDUCE_MIN))
        return husk__reject(scope, "x", "has no elements to take the %s of", husk_reduce_kind_name(params->kind));
    return HUSK_OK;
}

static husk_status validate(husk_queue *queue, const husk_reduce_params *params, const husk_tensor *x,
                            const husk_tensor *y, uint32_t *reduced, const husk__scope *scope)
{
    if ((uint32_t)params->kind > HUSK_REDUCE_LOG_SUM_EXP)
        return husk__reject(scope, "params", "kind %d is unknown", (int)params->kind);
    const bool is_position = params->kind == HUSK_REDUCE_ARGMAX || params->kind == HUSK_REDUCE_ARGMIN;
    husk_status status = husk__tensor_check_real(queue, x, "x", scope);
    if (status == HUSK_OK)
        status = husk__reduce_axes(params, x, "x", reduced, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(y, is_position && y ? y->dtype : x->dtype, "y", scope);
    if (status == HUSK_OK)
        status = husk__reduce_check_shape(y, "y", x, *reduced, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(y, "y", scope);
    if (status == HUSK_OK)
        status = check_kind(params, x, y, *reduced, scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, x, "x", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, y, "y", scope);
    if (status == HUSK_OK)
        status = husk__refuse_overlap(y, "y", x, "x", scope);
    return status;
}

static husk__reduce_problem resolve(husk_reduce_kind kind, uint32_t reduced, const husk_tensor *x, const husk_tensor *y)
{
    husk__reduce_problem own = {.kind = (int32_t)kind, .reduced = reduced, .x = *x};
    husk__tensor_bare(&own.x);
    own.y = husk__reduce_align(y, x, own.reduced);
    own.result = y->dtype == HUSK_I32 ? HUSK__REDUCE_I32 : y->dtype == HUSK_I64 ? HUSK__REDUCE_I64 : HUSK__REDUCE_DATA;
    return own;
}

husk_status husk_reduce(husk_queue *queue, const husk_reduce_params *params, const husk_tensor *x, const husk_tensor *y)
{
    husk__scope scope;
    husk_reduce_params given;
    uint32_t reduced;
    husk_status status = husk__call_begin(queue, "husk_reduce", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, "HUSK_REDUCE_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = validate(queue, &given, x, y, &reduced, &scope);
    if (status != HUSK_OK || husk__tensor_count(y) == 0)
        return status;

    const husk__reduce_problem own = resolve(given.kind, reduced, x, y);
    const husk_tensor *const operands[] = {x, y};
    const husk__preference preference = husk__preference_of(given.variant, 0, operands, 2);
    const husk__reduce_arguments tensors = {x, y};
    return husk__plan_immediate(queue, &husk__op_reduce, &own, &preference, &tensors, &scope);
}

// Rows and columns, on a few numbers.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const int64_t shape[] = {32, 32};
    husk_buffer *buffer;
    husk_status status = husk_buffer_create(husk_queue_context(queue), 33 * 32 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 2, shape);
    husk_tensor y = husk_tensor_make(buffer, HUSK_F32, 1, shape);
    y.offset = 32 * 32;
    for (uint32_t reduced = 1; reduced <= 2 && status == HUSK_OK; ++reduced) {
        const husk__reduce_problem own = resolve(HUSK_REDUCE_SUM, reduced, &x, &y);
        const husk__preference preference = {0};
        const husk__reduce_arguments tensors = {&x, &y};
        status = husk__plan_immediate(queue, &husk__op_reduce, &own, &preference, &tensors, scope);
    }
    husk_buffer_release(buffer);
    return status;
}
