// SPDX-License-Identifier: MIT
// Two tensors, element by element: validate -> resolve -> choose -> launch. Kernels: cl/elementwise/binary_*.cl.
#include <husk/ops/binary.h>

#include <math.h>
#include <stddef.h>

#include "base/params.h"
#include "base/tensor.h"
#include "ops/elementwise/elementwise.h"

// The kernels' kinds: cl/lib/binary.clh has the same numbers.
enum { LINEAR, PRODUCT, QUOTIENT, MAXIMUM, MINIMUM, COMPARE, POWER_OF };

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static void write_case(const void *untyped, const void *given, husk__case *c)
{
    const husk__elementwise *own = untyped;
    (void)given;
    husk__case_begin(c, "binary");
    husk__case_rows(c, &own->y);
    husk__case_word(c, "op", own->function, husk_binary_name(HUSK_BINARY_ADD));
    husk__case_broadcast(c, "b", &own->x[1], &own->y);
    husk__elementwise_end_case(own, false, c);
}

const husk__op husk__op_binary = {.name = "binary", HUSK__ELEMENTWISE_OP, .prewarm = prewarm, .write_case = write_case};

const char *husk_binary_name(husk_binary_op op)
{
    switch (op) {
#define NAME(name, number, text) \
    case HUSK_BINARY_##name:      \
        return text;
        HUSK_BINARY_LIST(NAME)
#undef NAME
    }
    return "unknown";
}

static husk_status check_params(const husk_binary_params *params, const husk__scope *scope)
{
    if ((int)params->op < HUSK_BINARY_ADD || params->op > HUSK_BINARY_GREATER_EQUAL)
        return husk__reject(scope, "params", "op %d is none of husk_binary_op", (int)params->op);
    if (!isfinite(params->alpha) || !isfinite(params->beta))
        return husk__reject(scope, "params", "%s is not finite", isfinite(params->alpha) ? "beta" : "alpha");
    return HUSK_OK;
}

static husk_status check_tensors(husk_queue *queue, const husk_tensor *a, const husk_tensor *b, const husk_tensor *y,
                                 const husk__scope *scope)
{
    husk_tensor wanted = {0};
    char shape[HUSK__SHAPE_TEXT];
    husk_status status = husk__tensor_check_real(queue, a, "a", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(b, a->dtype, "b", scope);
    if (status == HUSK_OK && !(husk__tensor_broadcast(a, &wanted) && husk__tensor_broadcast(b, &wanted)))
        return husk__reject(scope, "b", "its shape does not go with a's, %s", husk__shape_text(a, shape));
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(y, a->dtype, "y", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(y, "y", wanted.rank, wanted.shape, "as a and b broadcast", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(y, "y", scope);
    return status;
}

static husk_status validate(husk_queue *queue, const husk_binary_params *params, const husk_tensor *a,
                            const husk_tensor *b, const husk_tensor *y, const husk__scope *scope)
{
    husk_status status = check_params(params, scope);
    if (status == HUSK_OK)
        status = check_tensors(queue, a, b, y, scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, a, "a", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, b, "b", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, y, "y", scope);
    if (status == HUSK_OK)
        status = husk__refuse_partial_overlap(y, "y", a, "a", scope);
    if (status == HUSK_OK)
        status = husk__refuse_partial_overlap(y, "y", b, "b", scope);
    return status;
}

// What a comparison gives where a is less than b, equal, greater.
static void set_comparison(husk__elementwise *own, float less, float equal, float greater)
{
    own->kind = COMPARE;
    own->numbers[0] = less;
    own->numbers[1] = equal;
    own->numbers[2] = greater;
}

static void resolve_op(husk__elementwise *own, husk_binary_op op, float alpha, float beta)
{
    own->numbers[0] = alpha;
    switch (op) {
    case HUSK_BINARY_ADD:
    case HUSK_BINARY_SUBTRACT:
        own->kind = LINEAR;
        own->numbers[1] = op == HUSK_BINARY_ADD ? beta : -beta;
        break;
    case HUSK_BINARY_MULTIPLY:
        own->kind = PRODUCT;
        break;
    case HUSK_BINARY_DIVIDE:
        own->kind = QUOTIENT;
        break;
    case HUSK_BINARY_MAXIMUM:
        own->kind = MAXIMUM;
        break;
    case HUSK_BINARY_MINIMUM:
        own->kind = MINIMUM;
        break;
    case HUSK_BINARY_POWER:
        own->kind = POWER_OF;
        break;
    case HUSK_BINARY_EQUAL:
        set_comparison(own, 0, 1, 0);
        break;
    case HUSK_BINARY_NOT_EQUAL:
        set_comparison(own, 1, 0, 1);
        break;
    case HUSK_BINARY_LESS:
        set_comparison(own, 1, 0, 0);
        break;
    case HUSK_BINARY_LESS_EQUAL:
        set_comparison(own, 1, 1, 0);
        break;
    case HUSK_BINARY_GREATER:
        set_comparison(own, 0, 0, 1);
        break;
    case HUSK_BINARY_GREATER_EQUAL:
        set_comparison(own, 0, 1, 1);
        break;
    }
}

static husk__elementwise resolve(const husk_binary_params *params)
{
    const bool is_power = params->op == HUSK_BINARY_POWER;
    husk__elementwise own = {.inputs = 2,
                             .is_smooth = is_power,
                             .function = husk_binary_name(params->op),
                             .options = is_power ? " -DBINARY_POWER" : ""};
    resolve_op(&own, params->op, params->alpha, params->beta);
    return own;
}

husk_status husk_binary(husk_queue *queue, const husk_binary_params *params, const husk_tensor *a, const husk_tensor *b,
                        const husk_tensor *y)
{
    const husk_binary_params defaults = husk_binary_defaults(HUSK_BINARY_ADD);
    husk__scope scope;
    husk_binary_params given;
    husk_status status = husk__call_begin(queue, "husk_binary", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, "husk_binary_defaults", params ? params : &defaults, &scope);
    if (status == HUSK_OK)
        status = validate(queue, &given, a, b, y, &scope);
    if (status != HUSK_OK)
        return status;
    const husk__elementwise_arguments tensors = {y, {a, b}};
    return husk__elementwise_call(queue, &husk__op_binary, given.variant, resolve(&given), &tensors, &scope);
}

// The program of most kinds.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const husk_binary_params params = husk_binary_defaults(HUSK_BINARY_ADD);
    return husk__elementwise_prewarm(queue, &husk__op_binary, resolve(&params), scope);
}
