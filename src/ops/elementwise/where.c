// SPDX-License-Identifier: MIT
// One of two tensors, element by element: validate -> resolve -> choose -> launch. Kernels: cl/elementwise/where_*.cl.
#include <husk/ops/where.h>

#include "base/params.h"
#include "base/tensor.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/where_problem.h"

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static void write_case(const void *untyped, const void *given, husk__case *c)
{
    const husk__elementwise *own = untyped;
    int64_t count = 1;
    (void)given;
    for (int32_t i = 0; i < own->x[2].rank; ++i)
        count *= own->x[2].shape[i];
    husk__case_begin(c, "where");
    husk__case_rows(c, &own->y);
    husk__case_integer(c, "scalar", count == 1, 0);
    husk__case_integer(c, "numbers", own->x[0].dtype != HUSK_U8, 0);
    husk__elementwise_end_case(own, false, c);
}

const husk__op husk__op_where = {.name = "where", HUSK__ELEMENTWISE_OP, .prewarm = prewarm, .write_case = write_case};

static const char *const names[] = {"condition", "a", "b"};

static husk_status check_tensors(husk_queue *queue, const husk__elementwise_arguments *given, const husk__scope *scope)
{
    const husk_tensor *condition = given->x[0], *a = given->x[1], *b = given->x[2];
    husk_tensor wanted = {0};
    char shape[HUSK__SHAPE_TEXT];
    husk_status status = husk__where_check_condition(condition, a, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_real(queue, a, "a", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(b, a->dtype, "b", scope);
    for (int i = 0; i < 3 && status == HUSK_OK; ++i) {
        const husk_tensor before = wanted;
        if (!husk__tensor_broadcast(given->x[i], &wanted))
            return husk__reject(scope, names[i], "its shape does not go with those before it, %s",
                                husk__shape_text(&before, shape));
    }
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(given->y, a->dtype, "y", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(given->y, "y", wanted.rank, wanted.shape, "as the inputs broadcast", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(given->y, "y", scope);
    return status;
}

static husk_status validate(husk_queue *queue, const husk__elementwise_arguments *given, const husk__scope *scope)
{
    husk_status status = check_tensors(queue, given, scope);
    for (int i = 0; i < 3 && status == HUSK_OK; ++i)
        status = husk__tensor_bind(queue, given->x[i], names[i], scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, given->y, "y", scope);
    for (int i = 0; i < 3 && status == HUSK_OK; ++i)
        status = husk__refuse_partial_overlap(given->y, "y", given->x[i], names[i], scope);
    return status;
}

static husk__elementwise resolve(husk_dtype condition)
{
    return (husk__elementwise){.inputs = 3,
                               .function = husk_dtype_name(condition),
                               .options = condition == HUSK_U8 ? " -DCONDITION_BYTES" : ""};
}

husk_status husk_where(husk_queue *queue, const husk_where_params *params, const husk_tensor *condition,
                       const husk_tensor *a, const husk_tensor *b, const husk_tensor *y)
{
    husk__scope scope;
    husk_where_params given;
    const husk__elementwise_arguments tensors = {y, {condition, a, b}};
    husk_status status = husk__call_begin(queue, "husk_where", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, "HUSK_WHERE_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = validate(queue, &tensors, &scope);
    if (status != HUSK_OK)
        return status;
    return husk__elementwise_call(queue, &husk__op_where, given.variant, resolve(condition->dtype), &tensors, &scope);
}

static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    return husk__elementwise_prewarm(queue, &husk__op_where, resolve(HUSK_F32), scope);
}
