// SPDX-License-Identifier: MIT
// Gradients of one of two tensors element by element: validate -> resolve -> choose, with
// ops/elementwise/broadcast_backward.c. Kernels: cl/elementwise/where_backward_*.cl.
#include <husk/ops/where.h>

#include "base/params.h"
#include "base/tensor.h"
#include "ops/elementwise/broadcast_backward.h"
#include "ops/elementwise/where_problem.h"

typedef husk__broadcast_arguments arguments;

// The gradients by number, which is the kernel's kind. What both read is the condition.
enum { OF_A = HUSK__BY_A, OF_B, INPUTS };
enum { CONDITION };

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static void write_case(const void *untyped, const void *given, husk__case *c)
{
    const husk__broadcast_backward *own = untyped;
    const husk_tensor *b = &own->gradient[HUSK__BY_B];
    int64_t count = 1;
    (void)given;
    for (int32_t i = 0; i < b->rank; ++i)
        count *= b->shape[i];
    husk__case_begin(c, "where");
    husk__case_rows(c, &own->dy);
    husk__case_integer(c, "scalar", own->is_wanted[HUSK__BY_B] && count == 1, 0);
    husk__case_integer(c, "numbers", own->read[HUSK__BY_A].dtype != HUSK_U8, 0);
    husk__broadcast_end_case(own, c);
}

const husk__op husk__op_where_backward = {
    .name = "where_backward", HUSK__BROADCAST_BACKWARD_OP, .prewarm = prewarm, .write_case = write_case};

static const char *const gradient_names[INPUTS] = {"da", "db"};

static husk_status check(husk_queue *queue, const husk_where_params *params, const arguments *given,
                         const husk__scope *scope)
{
    if (params->accumulate > HUSK_ACCUMULATE_ALL)
        return husk__reject(scope, "params", "accumulate %u has bits that mean nothing", (unsigned)params->accumulate);
    husk_status status = husk__tensor_check_real(queue, given->dy, "dy", scope);
    if (status == HUSK_OK)
        status = husk__where_check_condition(given->read[CONDITION], given->dy, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_broadcast(given->read[CONDITION], "condition", given->dy, "dy", scope);
    for (int i = 0; i < INPUTS && status == HUSK_OK; ++i) {
        if (!given->gradient[i])
            continue;
        status = husk__tensor_check_plain(given->gradient[i], given->dy->dtype, gradient_names[i], scope);
        if (status == HUSK_OK)
            status = husk__tensor_check_broadcast(given->gradient[i], gradient_names[i], given->dy, "dy", scope);
        if (status == HUSK_OK)
            status = husk__tensor_check_distinct(given->gradient[i], gradient_names[i], scope);
    }
    if (status == HUSK_OK && !given->gradient[OF_A] && !given->gradient[OF_B])
        return husk__reject(scope, "da", "is NULL, and so is db: there is nothing to compute");
    return status;
}

static husk_status bind(husk_queue *queue, const arguments *given, const husk__scope *scope)
{
    husk_status status = husk__tensor_bind(queue, given->dy, "dy", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, given->read[CONDITION], "condition", scope);
    for (int i = 0; i < INPUTS && status == HUSK_OK; ++i) {
        if (!given->gradient[i])
            continue;
        status = husk__tensor_bind(queue, given->gradient[i], gradient_names[i], scope);
        if (status == HUSK_OK)
            status = husk__refuse_overlap(given->gradient[i], gradient_names[i], given->dy, "dy", scope);
        if (status == HUSK_OK)
            status =
                husk__refuse_overlap(given->gradient[i], gradient_names[i], given->read[CONDITION], "condition", scope);
    }
    if (status == HUSK_OK && given->gradient[OF_A])
        status = husk__refuse_overlap(given->gradient[OF_A], "da", given->gradient[OF_B], "db", scope);
    return status;
}

static husk__broadcast_backward resolve(const husk_where_params *params, husk_dtype condition)
{
    return (husk__broadcast_backward){.recipes = {{OF_A, 0, CONDITION, -1}, {OF_B, 0, CONDITION, -1}},
                                      .function = husk_dtype_name(condition),
                                      .options = condition == HUSK_U8 ? " -DCONDITION_BYTES" : "",
                                      .adds = (params->accumulate & HUSK_ACCUMULATE_INPUTS) != 0};
}

husk_status husk_where_backward(husk_queue *queue, const husk_where_params *params, const husk_tensor *condition,
                                const husk_tensor *dy, const husk_tensor *da, const husk_tensor *db)
{
    husk__scope scope;
    husk_where_params options;
    const arguments given = {dy, {condition}, {da, db}};
    husk_status status = husk__call_begin(queue, "husk_where_backward", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&options, sizeof options, "HUSK_WHERE_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = check(queue, &options, &given, &scope);
    if (status == HUSK_OK)
        status = bind(queue, &given, &scope);
    if (status != HUSK_OK)
        return status;
    return husk__broadcast_call(queue, &husk__op_where_backward, options.variant, resolve(&options, condition->dtype),
                                &given, &scope);
}

static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const husk_where_params params = HUSK_WHERE_PARAMS(0);
    return husk__broadcast_prewarm(queue, &husk__op_where_backward, resolve(&params, HUSK_F32), scope);
}
