// SPDX-License-Identifier: MIT
// Gradients of two tensors element by element: validate -> resolve -> choose, with
// ops/elementwise/broadcast_backward.c. Kernels: cl/elementwise/binary_backward_*.cl.
#include <husk/ops/binary.h>

#include <math.h>

#include "base/params.h"
#include "base/tensor.h"
#include "ops/elementwise/broadcast_backward.h"

typedef husk__broadcast_arguments arguments;
typedef husk__broadcast_recipe recipe;

// The kernels' kinds: cl/lib/binary_gradient.clh has the same numbers.
enum { SCALE, PRODUCT, QUOTIENT, DIVISOR, LARGER, SMALLER, BASE, EXPONENT };
// Tensors by number.
enum { OF_A = HUSK__BY_A, OF_B, INPUTS };

static bool reads_inputs(husk_binary_op op)
{
    return op != HUSK_BINARY_ADD && op != HUSK_BINARY_SUBTRACT;
}

static recipe recipe_of(const husk_binary_params *own, int by)
{
    const bool is_a = by == OF_A;
    const int other = is_a ? OF_B : OF_A;
    switch (own->op) {
    case HUSK_BINARY_ADD:
        return (recipe){SCALE, is_a ? own->alpha : own->beta, -1, -1};
    case HUSK_BINARY_SUBTRACT:
        return (recipe){SCALE, is_a ? own->alpha : -own->beta, -1, -1};
    case HUSK_BINARY_MULTIPLY:
        return (recipe){PRODUCT, own->alpha, other, -1};
    case HUSK_BINARY_DIVIDE:
        return is_a ? (recipe){QUOTIENT, own->alpha, OF_B, -1} : (recipe){DIVISOR, -own->alpha, OF_A, OF_B};
    case HUSK_BINARY_MAXIMUM:
        return (recipe){LARGER, 0, by, other};
    case HUSK_BINARY_MINIMUM:
        return (recipe){SMALLER, 0, by, other};
    default:
        return (recipe){is_a ? BASE : EXPONENT, 0, OF_A, OF_B};
    }
}

// ---- the operator ----

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static void write_case(const void *untyped, const void *given, husk__case *c)
{
    const husk__broadcast_backward *own = untyped;
    const husk_tensor *b = own->is_wanted[HUSK__BY_B] ? &own->gradient[HUSK__BY_B] : &own->read[HUSK__BY_B];
    (void)given;
    husk__case_begin(c, "binary");
    husk__case_rows(c, &own->dy);
    husk__case_word(c, "op", own->function, husk_binary_name(HUSK_BINARY_ADD));
    husk__case_broadcast(c, "b", b, &own->dy);
    husk__broadcast_end_case(own, c);
}

const husk__op husk__op_binary_backward = {
    .name = "binary_backward", HUSK__BROADCAST_BACKWARD_OP, .prewarm = prewarm, .write_case = write_case};

static const char *const input_names[INPUTS] = {"a", "b"};
static const char *const gradient_names[INPUTS] = {"da", "db"};

static husk_status check_params(const husk_binary_params *params, const husk__scope *scope)
{
    if ((int)params->op < HUSK_BINARY_ADD || params->op > HUSK_BINARY_GREATER_EQUAL)
        return husk__reject(scope, "params", "op %d is none of husk_binary_op", (int)params->op);
    if (params->op >= HUSK_BINARY_EQUAL)
        return husk__reject(scope, "params", "op %s has no gradient", husk_binary_name(params->op));
    if (!isfinite(params->alpha) || !isfinite(params->beta))
        return husk__reject(scope, "params", "%s is not finite", isfinite(params->alpha) ? "beta" : "alpha");
    if (params->accumulate > HUSK_ACCUMULATE_ALL)
        return husk__reject(scope, "params", "accumulate %u has bits that mean nothing", (unsigned)params->accumulate);
    return HUSK_OK;
}

// An input or its gradient.
static husk_status check_tensor(const husk_tensor *tensor, const char *name, const husk_tensor *dy,
                                const husk__scope *scope)
{
    husk_status status = husk__tensor_check_plain(tensor, dy->dtype, name, scope);
    return status == HUSK_OK ? husk__tensor_check_broadcast(tensor, name, dy, "dy", scope) : status;
}

static husk_status check_tensors(husk_queue *queue, const husk_binary_params *params, const arguments *given,
                                 const husk__scope *scope)
{
    husk_status status = husk__tensor_check_real(queue, given->dy, "dy", scope);
    for (int i = 0; i < INPUTS && status == HUSK_OK; ++i) {
        if (given->read[i])
            status = check_tensor(given->read[i], input_names[i], given->dy, scope);
        else if (reads_inputs(params->op))
            status = husk__reject(scope, input_names[i], "is NULL");
    }
    for (int i = 0; i < INPUTS && status == HUSK_OK; ++i) {
        const husk_tensor *gradient = given->gradient[i], *input = given->read[i];
        if (!gradient)
            continue;
        status = check_tensor(gradient, gradient_names[i], given->dy, scope);
        if (status == HUSK_OK && input)
            status = husk__tensor_check_shape(gradient, gradient_names[i], input->rank, input->shape,
                                              i == OF_A ? "as a" : "as b", scope);
        if (status == HUSK_OK)
            status = husk__tensor_check_distinct(gradient, gradient_names[i], scope);
    }
    if (status == HUSK_OK && !given->gradient[OF_A] && !given->gradient[OF_B])
        return husk__reject(scope, "da", "is NULL, and so is db: there is nothing to compute");
    return status;
}

static husk_status bind(husk_queue *queue, const arguments *given, const husk__scope *scope)
{
    husk_status status = husk__tensor_bind(queue, given->dy, "dy", scope);
    for (int i = 0; i < INPUTS && status == HUSK_OK; ++i) {
        if (given->read[i])
            status = husk__tensor_bind(queue, given->read[i], input_names[i], scope);
        if (status == HUSK_OK && given->gradient[i])
            status = husk__tensor_bind(queue, given->gradient[i], gradient_names[i], scope);
    }
    for (int i = 0; i < INPUTS && status == HUSK_OK; ++i) {
        if (!given->gradient[i])
            continue;
        status = husk__refuse_overlap(given->gradient[i], gradient_names[i], given->dy, "dy", scope);
        for (int k = 0; k < INPUTS && status == HUSK_OK; ++k) {
            status = husk__refuse_overlap(given->gradient[i], gradient_names[i], given->read[k], input_names[k], scope);
            if (status == HUSK_OK && k > i)
                status = husk__refuse_overlap(given->gradient[i], gradient_names[i], given->gradient[k],
                                              gradient_names[k], scope);
        }
    }
    return status;
}

static husk__broadcast_backward resolve(const husk_binary_params *params)
{
    return (husk__broadcast_backward){.recipes = {recipe_of(params, OF_A), recipe_of(params, OF_B)},
                                      .function = husk_binary_name(params->op),
                                      .options = params->op == HUSK_BINARY_POWER ? " -DBINARY_POWER" : "",
                                      .adds = (params->accumulate & HUSK_ACCUMULATE_INPUTS) != 0};
}

husk_status husk_binary_backward(husk_queue *queue, const husk_binary_params *params, const husk_tensor *a,
                                 const husk_tensor *b, const husk_tensor *dy, const husk_tensor *da,
                                 const husk_tensor *db)
{
    const husk_binary_params defaults = husk_binary_defaults(HUSK_BINARY_ADD);
    husk__scope scope;
    husk_binary_params options;
    const arguments given = {dy, {a, b}, {da, db}};
    husk_status status = husk__call_begin(queue, "husk_binary_backward", &scope);
    if (status == HUSK_OK)
        status =
            husk__params_read(&options, sizeof options, "husk_binary_defaults", params ? params : &defaults, &scope);
    if (status == HUSK_OK)
        status = check_params(&options, &scope);
    if (status == HUSK_OK)
        status = check_tensors(queue, &options, &given, &scope);
    if (status == HUSK_OK)
        status = bind(queue, &given, &scope);
    if (status != HUSK_OK)
        return status;
    return husk__broadcast_call(queue, &husk__op_binary_backward, options.variant, resolve(&options), &given, &scope);
}

// The program of most kinds.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const husk_binary_params params = husk_binary_defaults(HUSK_BINARY_ADD);
    return husk__broadcast_prewarm(queue, &husk__op_binary_backward, resolve(&params), scope);
}
