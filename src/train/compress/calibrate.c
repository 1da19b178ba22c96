// SPDX-License-Identifier: MIT
// Calibration: the ranges of what convolutions and products read, and the file of the quantized network.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <husk/train/compress.h>

#include "train/files/checkpoint.h"
#include "train/nodes/quantized.h"
#include "train/step/calls.h"
#include "train/step/micro_batch.h"

typedef struct observed {
    int32_t node, call; /* of the schedule of evaluation */
    float low, high;    /* 0 among them */
} observed;

struct husk_calibration {
    husk_graph *graph;
    observed *nodes;
    size_t count;
    bool has_seen;
};

husk_status husk_calibration_create(husk_graph *graph, husk_calibration **calibration, husk_error *error)
{
    const husk__train_scope scope = {"husk_calibration_create", error};
    const husk__source source = {.call = scope.call, .error = error};
    if (!calibration)
        return husk__train_reject(&scope, "calibration", "it is NULL");
    *calibration = NULL;
    husk_status status = husk__checkpoint_check_graph(graph, &source);
    if (status)
        return status;
    husk_calibration *made = calloc(1, sizeof *made);
    const husk__schedule *schedule = &graph->compiled->schedules[HUSK_GRAPH_EVALUATION];
    if (made)
        made->nodes = calloc((size_t)schedule->count + 1, sizeof *made->nodes);
    if (!made || !made->nodes) {
        free(made);
        return husk__train_no_memory(&scope);
    }
    made->graph = graph;
    for (int32_t c = 0; c < schedule->count; c++)
        if (husk__can_quantize(graph, &graph->nodes[schedule->calls[c].node]))
            made->nodes[made->count++] = (observed){.node = schedule->calls[c].node, .call = c};
    if (made->count == 0) {
        husk_calibration_release(made);
        return husk__train_reject(&scope, "graph", "it has no convolution or product that can be quantized");
    }
    *calibration = made;
    return HUSK_OK;
}

void husk_calibration_release(husk_calibration *calibration)
{
    if (!calibration)
        return;
    free(calibration->nodes);
    free(calibration);
}

// ---- observing ----

// Smallest and largest of a strided tensor's elements in host memory.
static void range_of(const float *elements, const husk_tensor *tensor, int32_t dimension, float *low, float *high)
{
    if (dimension == tensor->rank) {
        *low = *elements < *low || isnan(*elements) ? *elements : *low;
        *high = *elements > *high ? *elements : *high;
        return;
    }
    for (int64_t i = 0; i < tensor->shape[dimension]; i++)
        range_of(elements + i * tensor->strides[dimension], tensor, dimension + 1, low, high);
}

static husk_status observe(husk_graph *graph, const husk__call *call, observed *seen, const husk__train_scope *scope)
{
    const husk_tensor *x = &call->slots[0].tensor;
    const uint64_t bytes = (uint64_t)husk_tensor_extent(x);
    float *host = malloc(bytes);
    if (!host)
        return husk__train_no_memory(scope);
    husk_status status = husk__queue_failed(
        graph, husk_buffer_read(graph->queue, x->buffer, (uint64_t)x->offset * sizeof *host, bytes, host), scope);
    if (!status)
        range_of(host, x, 0, &seen->low, &seen->high);
    free(host);
    if (!status && !(isfinite(seen->low) && isfinite(seen->high)))
        status = husk__train_fail(scope, HUSK_INVALID_ARGUMENT, "graph: %s: what it reads holds NaN or infinity",
                                  graph->nodes[call->node].name);
    return status;
}

static husk_status observe_all(husk_calibration *calibration, observed *seen, const husk__train_scope *scope)
{
    husk_graph *graph = calibration->graph;
    const husk__schedule *schedule = &graph->compiled->schedules[HUSK_GRAPH_EVALUATION];
    int32_t at = 0;
    husk_status status = HUSK_OK;
    for (size_t i = 0; i < calibration->count && !status; i++) {
        status = husk__run_calls(graph, schedule, at, seen[i].call, scope);
        at = seen[i].call;
        if (!status)
            status = observe(graph, &schedule->calls[at], &seen[i], scope);
    }
    return status ? status : husk__run_calls(graph, schedule, at, schedule->count, scope);
}

husk_status husk_calibration_observe(husk_calibration *calibration, husk_error *error)
{
    const husk__train_scope scope = {"husk_calibration_observe", error};
    if (!calibration)
        return husk__train_reject(&scope, "calibration", "it is NULL");
    const size_t bytes = calibration->count * sizeof *calibration->nodes;
    observed *seen = malloc(bytes);
    if (!seen)
        return husk__train_no_memory(&scope);
    memcpy(seen, calibration->nodes, bytes);
    calibration->graph->compiled->at = HUSK_GRAPH_EVALUATION;
    husk__begin_forward(calibration->graph->compiled);
    husk_status status = observe_all(calibration, seen, &scope);
    if (!status) {
        memcpy(calibration->nodes, seen, bytes);
        calibration->has_seen = true;
    }
    free(seen);
    return status;
}

// ---- the file ----

// A node of the file, its names and numbers.
typedef struct quantized {
    husk__quantized_names names;
    int8_t *weights;
    float *weight_scales;
    float input_scale;
    uint8_t input_zero;
} quantized;

static void quantize_input(quantized *to, const observed *seen)
{
    to->input_scale = (seen->high - seen->low) / 255;
    if (!(to->input_scale > 0))
        to->input_scale = 1; // nothing but 0 was seen
    to->input_zero = (uint8_t)rintf(-seen->low / to->input_scale);
}

// inner: elements from one output channel to the next.
static void quantize_weights(quantized *to, const float *weights, int64_t count, int64_t channels, int64_t inner)
{
    for (int64_t k = 0; k < channels; k++)
        to->weight_scales[k] = 0;
    for (int64_t i = 0; i < count; i++) {
        float *largest = &to->weight_scales[i / inner % channels];
        *largest = fmaxf(*largest, fabsf(weights[i]));
    }
    for (int64_t k = 0; k < channels; k++)
        to->weight_scales[k] = to->weight_scales[k] > 0 ? to->weight_scales[k] / 127 : 1;
    for (int64_t i = 0; i < count; i++) {
        const float q = rintf(weights[i] / to->weight_scales[i / inner % channels]);
        to->weights[i] = (int8_t)fmaxf(-127, fminf(127, q));
    }
}

static husk_status quantize_node(const husk_calibration *calibration, size_t index, quantized *to,
                                 husk_safetensors_item items[4], const husk__source *source)
{
    husk_graph *graph = calibration->graph;
    const husk__node *node = &graph->nodes[calibration->nodes[index].node];
    int32_t axis;
    const husk__value *value = &graph->values[husk__quantizable_weights(node, &axis)];
    const int64_t count = husk_tensor_count(&value->tensor), channels = value->tensor.shape[axis];
    int64_t inner = 1;
    for (int32_t d = axis + 1; d < value->tensor.rank; d++)
        inner *= value->tensor.shape[d];
    float *weights = malloc((size_t)count * sizeof *weights);
    to->weights = malloc((size_t)count);
    to->weight_scales = malloc((size_t)channels * sizeof *to->weight_scales);
    husk_status status = HUSK_OK;
    if (!weights || !to->weights || !to->weight_scales)
        status = husk__source_fail(source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for weights");
    else if ((status = husk_buffer_read(graph->queue, graph->compiled->regions[HUSK__REGION_PARAMETERS], value->offset,
                                        (uint64_t)count * sizeof *weights, weights)))
        husk__caused_by(source->error, husk_queue_error(graph->queue),
                        husk__source_fail(source, status, "%s: %s", value->name, husk_queue_error(graph->queue)->text));
    for (int64_t i = 0; i < count && !status; i++)
        if (!isfinite(weights[i]))
            status = husk__source_fail(source, HUSK_INVALID_ARGUMENT,
                                       "calibration: the graph's parameter %s holds NaN or infinity", value->name);
    if (!status) {
        quantize_weights(to, weights, count, channels, inner);
        quantize_input(to, &calibration->nodes[index]);
        husk__quantized_names_make(&to->names, graph, node);
        const husk_tensor *w = &value->tensor;
        items[0] =
            (husk_safetensors_item){value->name, to->weights, husk_tensor_make(NULL, HUSK_I8, w->rank, w->shape)};
        items[1] = (husk_safetensors_item){to->names.weight_scale, to->weight_scales,
                                           husk_tensor_make(NULL, HUSK_F32, 1, &channels)};
        items[2] =
            (husk_safetensors_item){to->names.input_scale, &to->input_scale, husk_tensor_make(NULL, HUSK_F32, 0, NULL)};
        items[3] =
            (husk_safetensors_item){to->names.input_zero, &to->input_zero, husk_tensor_make(NULL, HUSK_U8, 0, NULL)};
    }
    free(weights);
    return status;
}

static bool is_quantized(const husk_safetensors_item *items, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i += 4)
        if (strcmp(items[i].name, name) == 0)
            return true;
    return false;
}

static husk_status save(const husk_calibration *calibration, const husk__source *source)
{
    static const husk_safetensors_pair metadata[] = {{"format", "pt"}};
    const size_t nodes = calibration->count;
    husk__checkpoint_list list = {0};
    husk_error error;
    quantized *all = calloc(nodes, sizeof *all);
    husk_status status =
        husk__checkpoint_list_make(&list, calibration->graph, &(husk__checkpoint_preference){0}, source);
    husk_safetensors_item *items = malloc((4 * nodes + list.count) * sizeof *items);
    if (!status && (!all || !items))
        status = husk__source_fail(source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for the list of tensors");
    for (size_t i = 0; i < nodes && !status; i++)
        status = quantize_node(calibration, i, &all[i], items + 4 * i, source);
    size_t count = 4 * nodes;
    for (size_t i = 0; i < list.count && !status; i++)
        if (!is_quantized(items, 4 * nodes, list.items[i].name))
            items[count++] = list.items[i];
    if (!status && husk_safetensors_write(source->path, calibration->graph->queue, items, count, metadata, 1, &error))
        status = husk__checkpoint_pass_on(source, &error);
    for (size_t i = 0; i < nodes && all; i++) {
        free(all[i].weights);
        free(all[i].weight_scales);
    }
    free(all);
    free(items);
    husk__checkpoint_list_free(&list);
    return status;
}

husk_status husk_calibration_save(const husk_calibration *calibration, const char *path, husk_error *error)
{
    husk__source source = {.call = "husk_calibration_save", .error = error};
    if (!calibration || !path)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "%s: it is NULL", path ? "calibration" : "path");
    if (!calibration->has_seen)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "calibration: nothing was observed yet");
    source.path = path;
    return save(calibration, &source);
}
