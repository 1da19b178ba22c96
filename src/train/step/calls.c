// SPDX-License-Identifier: MIT
#include "train/step/calls.h"

#include <string.h>

husk_status husk__step_begin(husk_graph *graph, const char *call, husk__train_scope *scope)
{
    if (!graph)
        return HUSK_INVALID_ARGUMENT;
    *scope = (husk__train_scope){call, &graph->error};
    if (graph->failed)
        return graph->failed;
    if (!graph->compiled)
        return husk__train_reject(scope, "graph", "it is not compiled");
    return HUSK_OK;
}

husk_status husk__needs_loss(const husk_graph *graph, const husk__train_scope *scope)
{
    if (husk__can_train(graph))
        return HUSK_OK;
    return husk__train_reject(scope, "graph", "it was compiled without a loss, for evaluation alone");
}

husk_tensor husk__number(const husk_graph *graph, int which)
{
    const husk__compiled *own = graph->compiled;
    const husk_dtype dtype = husk__wide_dtype(graph);
    husk_tensor number = husk_tensor_make(own->regions[HUSK__REGION_OUTSIDE], dtype, 0, NULL);
    number.offset = (int64_t)((own->numbers + (uint64_t)which * HUSK__NUMBER_BYTES) / husk_dtype_size(dtype));
    return number;
}

husk_status husk__queue_failed(const husk_graph *graph, husk_status status, const husk__train_scope *scope)
{
    const husk_error *cause = husk_queue_error(graph->queue);
    return status ? husk__caused_by(scope->error, cause, husk__train_fail(scope, status, "%s", cause->text)) : HUSK_OK;
}

husk_status husk__run_calls(husk_graph *graph, const husk__schedule *schedule, int32_t first, int32_t past,
                            const husk__train_scope *scope)
{
    for (int32_t c = first; c < past; c++) {
        const husk__call *call = &schedule->calls[c];
        husk_status status = call->is_idle ? HUSK_OK : call->run(graph, call);
        if (status)
            return husk__caused_by(scope->error, husk_queue_error(graph->queue),
                                   husk__train_fail(scope, status, "%s: %s%s", graph->nodes[call->node].name,
                                                    call->is_backward ? "gradient: " : "",
                                                    husk_queue_error(graph->queue)->text));
    }
    return HUSK_OK;
}

husk_status husk__read_number(husk_graph *graph, const husk_tensor *tensor, double *number)
{
    char host[8];
    uint64_t size = husk_dtype_size(tensor->dtype);
    husk_status status = husk_buffer_read(graph->queue, tensor->buffer, (uint64_t)tensor->offset * size, size, host);
    float narrow;
    if (tensor->dtype == HUSK_F64)
        memcpy(number, host, 8);
    else {
        memcpy(&narrow, host, 4);
        *number = (double)narrow;
    }
    return status;
}
