// SPDX-License-Identifier: MIT
// Gradients of losses: validate -> resolve -> choose. Launches: ops/loss/launch.c.
#include "base/params.h"
#include "base/tensor.h"
#include "ops/loss/problem.h"
#include "select/grid.h"

typedef husk__loss_problem problem;
typedef husk__loss_arguments arguments;

static const husk__variant vector = {
    .name = "vector",
    .family = HUSK__FAMILY_CPU,
    .configurations = husk__loss_vector_menu,
    .configuration_count = 1,
    .supports = husk__loss_supports,
    .workspace = husk__loss_workspace,
    .prepare = husk__loss_prepare,
    .run = husk__loss_run,
};

static const husk__variant workgroup = {
    .name = "workgroup",
    .family = HUSK__FAMILY_GPU,
    .configurations = husk__grid_menu,
    .configuration_count = HUSK__GRID_CONFIGURATIONS,
    .supports = husk__loss_supports,
    .cost = husk__loss_cost,
    .workspace = husk__loss_workspace,
    .prepare = husk__loss_prepare,
    .run = husk__loss_run,
};

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&vector, &workgroup, NULL};

const husk__op husk__op_loss_backward = {
    .name = "loss_backward",
    .problem_size = sizeof(problem),
    .variants = variants,
    .describe = husk__loss_describe,
    .prewarm = prewarm,
    .classify = husk__loss_classify,
    .write_case = husk__loss_write_case,
};

static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    return husk__loss_prewarm(queue, &husk__op_loss_backward, true, scope);
}

husk_status husk_loss_backward(husk_queue *queue, const husk_loss_params *params, const husk_tensor *x,
                               const husk_tensor *target, const husk_tensor *weight, const husk_tensor *positive_weight,
                               const husk_tensor *dloss, const husk_tensor *dx)
{
    const husk_loss_params defaults = husk_loss_defaults(HUSK_LOSS_CROSS_ENTROPY);
    husk__scope scope;
    husk_loss_params given;
    const arguments tensors = {
        .x = x, .target = target, .weight = weight, .positive_weight = positive_weight, .dloss = dloss, .last = dx};
    husk_status status = husk__call_begin(queue, "husk_loss_backward", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, "husk_loss_defaults", params ? params : &defaults, &scope);
    if (status == HUSK_OK)
        status = husk__loss_validate(queue, &given, &tensors, true, &scope);
    if (status != HUSK_OK || husk__tensor_count(x) == 0)
        return status;

    const problem own = husk__loss_resolve(&given, &tensors, true);
    const husk_tensor *const operands[] = {x, target, dx};
    const husk__preference preference = husk__preference_of(given.variant, 0, operands, 3);
    return husk__plan_immediate(queue, &husk__op_loss_backward, &own, &preference, &tensors, &scope);
}
