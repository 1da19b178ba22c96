// SPDX-License-Identifier: MIT
// A graph's life.
#include <stdlib.h>

#include "train/graph/compiled.h"

husk_status husk_graph_create(husk_context *context, const husk_graph_params *params, husk_graph **graph,
                              husk_error *error)
{
    const husk__train_scope scope = {"husk_graph_create", error};
    if (!graph)
        return husk__train_reject(&scope, "graph", "it is NULL");
    *graph = NULL;
    if (!context)
        return husk__train_reject(&scope, "context", "it is NULL");
    husk_graph_params own;
    husk_status status = husk__train_struct(&own, sizeof own, "HUSK_GRAPH_PARAMS", params, "params", &scope);
    if (status)
        return status;
    if (own.dtype != HUSK_F32 && own.dtype != HUSK_F64 && own.dtype != HUSK_F16 && own.dtype != HUSK_BF16)
        return husk__train_reject(&scope, "params", "dtype %s is none of f32, f16, bf16, f64",
                                  husk_dtype_name(own.dtype));
    if (own.dtype == HUSK_F64 && !husk_context_has(context, HUSK_FEATURE_F64))
        return husk__train_fail(&scope, HUSK_UNSUPPORTED, "params: the device has no f64");
    if (own.queue && husk_queue_context(own.queue) != context)
        return husk__train_reject(&scope, "params", "queue belongs to another context");
    husk_graph *made = calloc(1, sizeof *made);
    if (!made)
        return husk__train_no_memory(&scope);
    made->value_count = made->node_count = 1;
    made->dtype = own.dtype;
    made->seed = own.seed;
    husk_context_retain(context);
    made->context = context;
    if (own.queue)
        made->queue = own.queue;
    else
        status = husk_queue_create(context, NULL, &made->queue, &made->error);
    made->owns_queue = !own.queue;
    if (status) {
        husk__caused_by(error, &made->error, husk__train_fail(&scope, status, "%s", made->error.text));
        husk_graph_release(made);
        return status;
    }
    *graph = made;
    return HUSK_OK;
}

void husk_graph_release(husk_graph *graph)
{
    if (!graph)
        return;
    husk__compiled_release(graph->compiled);
    for (int32_t i = 1; i < graph->value_count; i++)
        free(graph->values[i].name);
    for (int32_t i = 1; i < graph->node_count; i++) {
        free(graph->nodes[i].name);
        free(graph->nodes[i].inputs);
    }
    for (int32_t i = 0; i < graph->output_count; i++)
        free(graph->outputs[i].name);
    free(graph->values);
    free(graph->nodes);
    free(graph->outputs);
    if (graph->owns_queue)
        husk_queue_release(graph->queue);
    husk_context_release(graph->context);
    free(graph);
}
