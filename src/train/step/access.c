// SPDX-License-Identifier: MIT
// Values by name, parameters and buckets by number.
#include <husk/train/compress.h>

#include "train/nodes/quantized.h"
#include "train/step/calls.h"
#include "train/step/micro_batch.h"

// Whoever is shown where parameters lie may write them.
static void expose(husk_graph *graph, const husk_tensor *tensor)
{
    husk__compiled *own = graph->compiled;
    if (tensor->buffer == own->regions[HUSK__REGION_PARAMETERS])
        own->copies_are_old = true;
}

// Where a value lies; for writing it has to be packed.
static husk_status locate(husk_graph *graph, const char *name, bool to_write, husk_tensor *tensor,
                          const husk__train_scope *scope)
{
    if (!name)
        return husk__train_reject(scope, "name", "it is NULL");
    int32_t found = husk__graph_find(graph, name);
    if (!found)
        return husk__train_reject(scope, "name", "there is no value %s", name);
    const husk__compiled *own = graph->compiled;
    const husk__value *value = &graph->values[found], *root = husk__root(graph, found);
    if (to_write && (root->role == HUSK__ROLE_RESULT || root->role == HUSK__ROLE_INPUT_GRADIENT))
        return husk__train_reject(scope, "name", "%s is computed, and cannot be written", name);
    husk__region region = HUSK__REGION_OUTSIDE;
    uint64_t offset = root->offset;
    if (root->role == HUSK__ROLE_PARAMETER)
        region = HUSK__REGION_PARAMETERS;
    else if (root->role == HUSK__ROLE_RESULT && !husk__is_kept(graph, own->options.loss, value->root)) {
        const husk__schedule *schedule = &own->schedules[own->at];
        int32_t storage = schedule->graph && own->options.keep_values ? schedule->of_value[value->root] : -1;
        if (storage < 0)
            return husk__train_reject(scope, "name", "%s is no output (husk_graph_output), so it is not kept", name);
        region = HUSK__REGION_ARENA;
        offset = schedule->storages[storage].offset;
    }
    if (to_write && !husk__is_packed(&value->tensor))
        return husk__train_reject(scope, "name", "%s is a view that is not packed, and cannot be written", name);
    *tensor = value->tensor;
    if (region == HUSK__REGION_PARAMETERS)
        tensor->dtype = husk__parameter_dtype(graph, root);
    tensor->buffer = own->regions[region];
    tensor->offset += (int64_t)(offset / husk_dtype_size(tensor->dtype));
    return HUSK_OK;
}

static bool forward_reads(const husk__schedule *schedule, int32_t root)
{
    const int32_t storage = schedule->graph ? schedule->of_value[root] : -1;
    for (int32_t c = 0; c < schedule->forward_count && storage >= 0; c++)
        for (int32_t s = 0; s < schedule->calls[c].slot_count; s++)
            if (schedule->calls[c].slots[s].storage == storage)
                return true;
    return false;
}

// What a forward has read is changed: no backward may follow. What backward alone reads may come between them.
static void forget_forward(husk_graph *graph, const char *name)
{
    husk__compiled *own = graph->compiled;
    const int32_t root = graph->values[husk__graph_find(graph, name)].root;
    if (!forward_reads(&own->schedules[HUSK_GRAPH_TRAINING], root))
        return;
    if (graph->values[root].role == HUSK__ROLE_PARAMETER)
        husk__drop_forwards(own);
    else
        own->has_forward = false;
}

static husk_status check_bytes(const husk_tensor *tensor, const char *name, uint64_t bytes, const void *host,
                               const husk__train_scope *scope)
{
    uint64_t wanted = (uint64_t)husk_tensor_count(tensor) * husk_dtype_size(tensor->dtype);
    if (!host)
        return husk__train_reject(scope, "host", "it is NULL");
    if (bytes != wanted) {
        char text[160];
        return husk__train_reject(scope, "bytes", "%llu; %s is %s of %s, %llu bytes", (unsigned long long)bytes, name,
                                  husk__graph_shape_text(tensor, text), husk_dtype_name(tensor->dtype),
                                  (unsigned long long)wanted);
    }
    return HUSK_OK;
}

// A quantized graph's products keep the scale and the zero point of what they read. host NULL: it is not seen.
static husk_status check_quantization(const husk_graph *graph, const char *name, const void *host,
                                      const husk__train_scope *scope)
{
    double kept, given;
    const int32_t root = graph->values[husk__graph_find(graph, name)].root;
    if (!husk__quantized_differs(graph, root, host, &kept, &given))
        return HUSK_OK;
    if (!host)
        return husk__train_reject(scope, "name", "%s is what the graph was quantized with, and stays it", name);
    return husk__train_reject(scope, "host",
                              "%.9g; the graph was quantized with %s %.9g, and has to be quantized anew "
                              "for another (husk_graph_quantize)",
                              given, name, kept);
}

husk_status husk_graph_write(husk_graph *graph, const char *name, const void *host, uint64_t bytes)
{
    husk__train_scope scope;
    husk_tensor tensor;
    husk_status status = husk__step_begin(graph, "husk_graph_write", &scope);
    if (!status)
        status = locate(graph, name, true, &tensor, &scope);
    if (!status)
        status = check_bytes(&tensor, name, bytes, host, &scope);
    if (!status)
        status = check_quantization(graph, name, host, &scope);
    if (status)
        return status;
    forget_forward(graph, name);
    expose(graph, &tensor);
    uint64_t offset = (uint64_t)tensor.offset * husk_dtype_size(tensor.dtype);
    return husk__queue_failed(graph, husk_buffer_write_async(graph->queue, tensor.buffer, offset, bytes, host), &scope);
}

husk_status husk_graph_write_tensor(husk_graph *graph, const char *name, const husk_tensor *from)
{
    husk__train_scope scope;
    husk_tensor tensor;
    char text[160], wanted[160];
    husk_status status = husk__step_begin(graph, "husk_graph_write_tensor", &scope);
    if (!status)
        status = locate(graph, name, true, &tensor, &scope);
    if (!status && !from)
        status = husk__train_reject(&scope, "from", "it is NULL");
    if (status)
        return status;
    husk_tensor part = tensor;
    if (tensor.rank > 0 && from->rank == tensor.rank && from->shape[0] >= 0 && from->shape[0] < tensor.shape[0])
        part.shape[0] = from->shape[0];
    if (from->dtype != tensor.dtype || !husk__same_shape(from, &part))
        return husk__train_reject(&scope, "from", "%s of %s; %s is %s of %s", husk__graph_shape_text(from, text),
                                  husk_dtype_name(from->dtype), name, husk__graph_shape_text(&tensor, wanted),
                                  husk_dtype_name(tensor.dtype));
    if ((status = check_quantization(graph, name, NULL, &scope)))
        return status;
    forget_forward(graph, name);
    expose(graph, &tensor);
    return husk__queue_failed(graph, husk_copy(graph->queue, NULL, from, &part), &scope);
}

// Of a view whose elements lie apart.
static husk_status read_gathered(husk_graph *graph, const husk_tensor *tensor, void *host, uint64_t bytes,
                                 const husk__train_scope *scope)
{
    husk_buffer *buffer;
    husk_error error;
    husk_status status = husk_buffer_create(graph->context, bytes, &buffer, &error);
    if (status)
        return husk__caused_by(scope->error, &error, husk__train_fail(scope, status, "%s", error.text));
    const husk_tensor packed = husk_tensor_make(buffer, tensor->dtype, tensor->rank, tensor->shape);
    status = husk_copy(graph->queue, NULL, tensor, &packed);
    if (!status)
        status = husk_buffer_read(graph->queue, buffer, 0, bytes, host);
    husk_buffer_release(buffer);
    return husk__queue_failed(graph, status, scope);
}

husk_status husk_graph_read(husk_graph *graph, const char *name, void *host, uint64_t bytes)
{
    husk__train_scope scope;
    husk_tensor tensor;
    husk_status status = husk__step_begin(graph, "husk_graph_read", &scope);
    if (!status)
        status = locate(graph, name, false, &tensor, &scope);
    if (!status)
        status = check_bytes(&tensor, name, bytes, host, &scope);
    if (status)
        return status;
    if (!husk__is_packed(&tensor))
        return read_gathered(graph, &tensor, host, bytes, &scope);
    uint64_t offset = (uint64_t)tensor.offset * husk_dtype_size(tensor.dtype);
    return husk__queue_failed(graph, husk_buffer_read(graph->queue, tensor.buffer, offset, bytes, host), &scope);
}

husk_status husk_graph_tensor(husk_graph *graph, const char *name, husk_tensor *tensor)
{
    husk__train_scope scope;
    husk_status status = husk__step_begin(graph, "husk_graph_tensor", &scope);
    if (!status && !tensor)
        status = husk__train_reject(&scope, "tensor", "it is NULL");
    if (!status)
        status = locate(graph, name, false, tensor, &scope);
    if (!status)
        expose(graph, tensor);
    return status;
}

husk_status husk_graph_parameters_changed(husk_graph *graph)
{
    husk__train_scope scope;
    husk_status status = husk__step_begin(graph, "husk_graph_parameters_changed", &scope);
    if (!status)
        graph->compiled->copies_are_old = true;
    return status;
}

size_t husk_graph_parameter_count(const husk_graph *graph)
{
    return graph && graph->compiled ? (size_t)graph->compiled->parameter_count : 0;
}

static husk_status check_parameter(const husk_graph *graph, size_t index, const husk__train_scope *scope)
{
    if (index >= (size_t)graph->compiled->parameter_count)
        return husk__train_reject(scope, "index", "%zu; there are %d parameters", index,
                                  (int)graph->compiled->parameter_count);
    return HUSK_OK;
}

husk_status husk_graph_parameter_at(husk_graph *graph, size_t index, husk_parameter *parameter)
{
    husk__train_scope scope;
    husk_status status = husk__step_begin(graph, "husk_graph_parameter_at", &scope);
    if (!status && !parameter)
        status = husk__train_reject(&scope, "parameter", "it is NULL");
    if (!status)
        status = husk__train_size(parameter->size, sizeof *parameter, "HUSK_PARAMETER", "parameter", &scope);
    if (!status)
        status = check_parameter(graph, index, &scope);
    if (status)
        return status;
    const husk__compiled *own = graph->compiled;
    const husk__value *value = &graph->values[own->parameters[index]];
    husk_tensor tensor = value->tensor;
    tensor.dtype = husk__parameter_dtype(graph, value);
    tensor.offset = (int64_t)(value->offset / husk_dtype_size(tensor.dtype));
    parameter->kind = value->is_statistic ? HUSK_PARAMETER_STATISTIC
                      : value->is_trained ? HUSK_PARAMETER_TRAINED
                                          : HUSK_PARAMETER_FROZEN;
    parameter->name = value->name;
    parameter->tensor = parameter->gradient = tensor;
    parameter->tensor.buffer = own->regions[HUSK__REGION_PARAMETERS];
    expose(graph, &parameter->tensor);
    parameter->gradient.buffer = value->is_trained ? own->regions[HUSK__REGION_GRADIENTS] : NULL;
    for (int s = 0; s < HUSK__STATES; s++) {
        parameter->states[s] = tensor;
        parameter->states[s].buffer = value->is_trained ? own->states[s] : NULL;
    }
    return HUSK_OK;
}

husk_status husk_graph_mask_at(husk_graph *graph, size_t index, husk_tensor *mask)
{
    husk__train_scope scope;
    husk_status status = husk__step_begin(graph, "husk_graph_mask_at", &scope);
    if (!status && !mask)
        status = husk__train_reject(&scope, "mask", "it is NULL");
    if (!status)
        status = check_parameter(graph, index, &scope);
    if (status)
        return status;
    const husk__compiled *own = graph->compiled;
    const husk__value *value = &graph->values[own->parameters[index]];
    const bool has_mask = own->masks && own->masked && own->masked[own->parameters[index]];
    *mask = husk_tensor_make(has_mask ? own->masks : NULL, HUSK_U8, value->tensor.rank, value->tensor.shape);
    mask->offset = (int64_t)(value->offset / husk_dtype_size(husk__parameter_dtype(graph, value)));
    return HUSK_OK;
}

size_t husk_graph_bucket_count(const husk_graph *graph)
{
    return graph && graph->compiled ? graph->compiled->bucket_count : 0;
}

husk_status husk_graph_bucket_at(husk_graph *graph, size_t index, husk_bucket *bucket)
{
    husk__train_scope scope;
    husk_status status = husk__step_begin(graph, "husk_graph_bucket_at", &scope);
    if (!status && !bucket)
        status = husk__train_reject(&scope, "bucket", "it is NULL");
    if (!status)
        status = husk__train_size(bucket->size, sizeof *bucket, "HUSK_BUCKET", "bucket", &scope);
    if (!status && index >= graph->compiled->bucket_count)
        status =
            husk__train_reject(&scope, "index", "%zu; there are %zu buckets", index, graph->compiled->bucket_count);
    if (status)
        return status;
    const husk__compiled *own = graph->compiled;
    const husk__bucket_range *range = &own->buckets[index];
    husk_dtype dtype = husk__wide_dtype(graph);
    uint64_t size = husk_dtype_size(dtype);
    int64_t count = (int64_t)((range->end - range->begin) / size);
    bucket->values = husk_tensor_make(own->regions[HUSK__REGION_PARAMETERS], dtype, 1, &count);
    expose(graph, &bucket->values);
    bucket->gradients = husk_tensor_make(own->regions[HUSK__REGION_GRADIENTS], dtype, 1, &count);
    bucket->values.offset = bucket->gradients.offset = (int64_t)(range->begin / size);
    return HUSK_OK;
}

void husk_graph_on_bucket(husk_graph *graph, husk_bucket_callback ready, void *user)
{
    if (!graph || !graph->compiled)
        return;
    graph->compiled->ready = ready;
    graph->compiled->ready_user = user;
}
