// SPDX-License-Identifier: MIT
#include "train/nodes/gemm.h"

#include "train/nodes/activation.h"
#include "train/nodes/copy.h"

enum { A, B, BIAS, C };

static husk_status run_gemm(husk_graph *graph, const husk__call *call)
{
    return husk_gemm_plan_run(call->plan, graph->queue, call->alpha, husk__tensor_of(call, A), husk__tensor_of(call, B),
                              husk__tensor_of(call, BIAS), 0, husk__tensor_of(call, C));
}

static husk_status plan_gemm(husk_graph *graph, husk__call *call, husk_error *error)
{
    return husk_gemm_plan_create(graph->context, &call->params.gemm, husk__tensor_of(call, A), husk__tensor_of(call, B),
                                 husk__tensor_of(call, BIAS), husk__tensor_of(call, C), &call->plan, error);
}

static void take_activation(const husk__schedule *schedule, const husk__node *node, husk__call *call)
{
    const husk__node *activation = husk__activation_of(schedule, node);
    if (!activation)
        return;
    call->params.gemm.activation = activation->params.activation.activation;
    call->params.gemm.activation_slope = activation->params.activation.slope;
}

static husk_status forward(husk__schedule *schedule, husk__node *node)
{
    const husk__slot slots[] = {husk__slot_read(schedule, node->inputs[A]), husk__slot_read(schedule, node->inputs[B]),
                                husk__slot_read(schedule, node->inputs[BIAS]),
                                husk__slot_write(schedule, husk__output_of(schedule, node), 0)};
    husk__call *call = husk__call_add(schedule, node, run_gemm, slots, 4);
    if (!call)
        return husk__train_no_memory(&schedule->scope);
    call->plan_create = plan_gemm;
    take_activation(schedule, node, call);
    return HUSK_OK;
}

// ---- gradients ----

enum { GRADIENT_A, GRADIENT_B, GRADIENT_Y, GRADIENT_DY, GRADIENT_DA, GRADIENT_DB, GRADIENT_DBIAS };

static husk_status run_backward(husk_graph *graph, const husk__call *call)
{
    return husk_gemm_backward_plan_run(call->plan, graph->queue, call->alpha, husk__tensor_of(call, GRADIENT_A),
                                       husk__tensor_of(call, GRADIENT_B), 0, NULL, husk__tensor_of(call, GRADIENT_Y),
                                       husk__tensor_of(call, GRADIENT_DY), husk__tensor_of(call, GRADIENT_DA),
                                       husk__tensor_of(call, GRADIENT_DB), husk__tensor_of(call, GRADIENT_DBIAS), NULL);
}

static husk_status plan_backward(husk_graph *graph, husk__call *call, husk_error *error)
{
    return husk_gemm_backward_plan_create(
        graph->context, &call->params.gemm, husk__tensor_of(call, GRADIENT_A), husk__tensor_of(call, GRADIENT_B), NULL,
        husk__tensor_of(call, GRADIENT_Y), husk__tensor_of(call, GRADIENT_DY), husk__tensor_of(call, GRADIENT_DA),
        husk__tensor_of(call, GRADIENT_DB), husk__tensor_of(call, GRADIENT_DBIAS), NULL, &call->plan, error);
}

static husk_status backward(husk__schedule *schedule, husk__node *node)
{
    static const uint8_t bits[] = {HUSK_ACCUMULATE_INPUTS | HUSK__WIDE, HUSK_ACCUMULATE_PARAMETERS | HUSK__WIDE,
                                   HUSK_ACCUMULATE_PARAMETERS | HUSK__WIDE};
    husk__targets targets;
    husk_status status = husk__targets_begin(schedule, node, node->inputs, bits, 3, 0, &targets);
    if (status)
        return status;
    bool wants_a = husk__wants_gradient(schedule, node->inputs[A]);
    bool wants_b = husk__wants_gradient(schedule, node->inputs[B]);
    int32_t y = husk__output_of(schedule, node);
    const husk__slot slots[] = {[GRADIENT_A] = wants_b ? husk__slot_read(schedule, node->inputs[A]) : husk__slot_none(),
                                [GRADIENT_B] = wants_a ? husk__slot_read(schedule, node->inputs[B]) : husk__slot_none(),
                                [GRADIENT_Y] = husk__activation_of(schedule, node) ? husk__slot_read(schedule, y)
                                                                                   : husk__slot_none(),
                                [GRADIENT_DY] = husk__slot_gradient(schedule, y),
                                [GRADIENT_DA] = targets.slots[A],
                                [GRADIENT_DB] = targets.slots[B],
                                [GRADIENT_DBIAS] = targets.slots[BIAS]};
    husk__call *call = husk__call_add(schedule, node, run_backward, slots, 7);
    if (!call)
        return husk__train_no_memory(&schedule->scope);
    call->plan_create = plan_backward;
    call->params.gemm.accumulate = targets.accumulate;
    call->params.gemm.variant = NULL; // forward's
    take_activation(schedule, node, call);
    return husk__targets_settle(schedule, node, &targets);
}

static const husk__node_kind kind = {
    .name = "gemm", .takes_activation = true, .forward = forward, .backward = backward};

// ---- building ----

// [batch,] rows, columns of an operand as it takes part.
static bool read_matrix(husk__building *building, const husk_tensor *tensor, bool transpose, const char *argument,
                        int64_t *batch, int64_t *rows, int64_t *columns)
{
    char text[160];
    if (tensor->rank != 2 && tensor->rank != 3) {
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, argument,
                           "its shape is %s; a matrix or a batch of them is wanted",
                           husk__graph_shape_text(tensor, text));
        return false;
    }
    const int64_t *last = &tensor->shape[tensor->rank - 2];
    *batch = tensor->rank == 3 ? tensor->shape[0] : 0;
    *rows = last[transpose ? 1 : 0];
    *columns = last[transpose ? 0 : 1];
    return true;
}

static bool check_bias(husk__building *building, husk_value *bias, int64_t m, int64_t n)
{
    husk_tensor t;
    char text[160];
    if (!husk__graph_optional(building, bias, "bias", &t))
        return false;
    if (t.rank < 0 || (t.rank == 1 && t.shape[0] == n) || (t.rank == 2 && t.shape[0] == m && t.shape[1] == 1))
        return true;
    husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "bias", "its shape is %s; [%lld] or [%lld, 1] is wanted",
                       husk__graph_shape_text(&t, text), (long long)n, (long long)m);
    return false;
}

husk_value husk__graph_gemm(husk__building *building, const husk_gemm_params *params, float alpha, husk_value a,
                            husk_value b, husk_value bias)
{
    husk_graph *graph = building->graph;
    husk_tensor at, bt;
    int64_t a_batch, b_batch, m, k, k_of_b, n;
    if (!husk__graph_computed(building, &a, "a", &at) || !husk__graph_computed(building, &b, "b", &bt) ||
        !read_matrix(building, &at, params->transpose_a, "a", &a_batch, &m, &k) ||
        !read_matrix(building, &bt, params->transpose_b, "b", &b_batch, &k_of_b, &n))
        return HUSK_NO_VALUE;
    if (k != k_of_b)
        return husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "b", "%lld products a sum, a has %lld",
                                  (long long)k_of_b, (long long)k);
    if (a_batch > 1 && b_batch > 1 && a_batch != b_batch)
        return husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "b", "a batch of %lld, a's is %lld",
                                  (long long)b_batch, (long long)a_batch);
    if (!check_bias(building, &bias, m, n))
        return HUSK_NO_VALUE;
    husk__node *node = husk__graph_node(building, &kind, (husk_value[]){a, b, bias}, 3);
    if (!node)
        return HUSK_NO_VALUE;
    husk_activation_params activation =
        HUSK_ACTIVATION_PARAMS(.activation = params->activation, .slope = params->activation_slope);
    node->alpha = alpha;
    node->params.gemm = *params;
    node->params.gemm.size = sizeof *params;
    node->params.gemm.activation = HUSK_ACT_NONE;
    node->params.gemm.activation_slope = 0;
    node->params.gemm.accumulate = 0;
    int64_t batch = a_batch > b_batch ? a_batch : b_batch;
    return husk__graph_activated(building, &activation, graph->dtype, batch ? 3 : 2,
                                 batch ? (int64_t[]){batch, m, n} : (int64_t[]){m, n});
}

husk_value husk_graph_gemm(husk_graph *graph, const char *name, const husk_gemm_params *params, float alpha,
                           husk_value a, husk_value b, husk_value bias)
{
    husk__building building;
    husk_gemm_params own;
    if (!husk__graph_begin(&building, graph, "husk_graph_gemm", "gemm", name, true) ||
        !husk__graph_params(&building, &own, sizeof own, "HUSK_GEMM_PARAMS", params, "params"))
        return HUSK_NO_VALUE;
    return husk__graph_gemm(&building, &own, alpha, a, b, bias);
}
