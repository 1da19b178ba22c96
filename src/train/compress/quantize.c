// SPDX-License-Identifier: MIT
// A graph's convolutions and products become those of eight bits, before it is compiled.
#include <stdlib.h>
#include <string.h>

#include <husk/train/compress.h>

#include "train/files/checkpoint.h"
#include "train/files/safetensors.h"
#include "train/files/safetensors_header.h"
#include "train/nodes/quantized.h"

typedef struct found {
    int32_t node;
    int64_t channels;
    husk_quantization x;
} found;

// The file has to have a tensor of this name, dtype and shape.
static husk_status expect(const husk_safetensors *file, const char *name, husk_dtype dtype, int32_t rank,
                          const int64_t *shape, const husk__source *source)
{
    husk_safetensors_entry entry;
    char there[256] = "", wanted[256];
    const bool is_there = husk_safetensors_find(file, name, &entry);
    if (is_there && entry.dtype == (int32_t)dtype && entry.rank == rank &&
        (rank == 0 || memcmp(entry.shape, shape, (size_t)rank * sizeof *shape) == 0))
        return HUSK_OK;
    husk__safetensors_describe(wanted, husk__safetensors_dtype_name(dtype), rank, shape);
    if (is_there)
        husk__safetensors_describe(there, entry.dtype_name, entry.rank, entry.shape);
    return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "its tensor %s is %s, and %s is wanted", name,
                             is_there ? there : "missing", wanted);
}

// What the file says of a node; is_there: its weights have eight bits.
static husk_status look_at(const husk_graph *graph, const husk_safetensors *file, const husk__node *node, found *one,
                           bool *is_there, const husk__source *source)
{
    int32_t axis;
    const husk__value *w = &graph->values[husk__quantizable_weights(node, &axis)];
    husk_safetensors_entry entry;
    husk__quantized_names names;
    husk_error error;
    *is_there = husk_safetensors_find(file, w->name, &entry) && entry.dtype == HUSK_I8;
    if (!*is_there)
        return HUSK_OK;
    husk__quantized_names_make(&names, graph, node);
    one->node = (int32_t)(node - graph->nodes);
    one->channels = w->tensor.shape[axis];
    husk_status status = expect(file, w->name, HUSK_I8, w->tensor.rank, w->tensor.shape, source);
    if (!status)
        status = expect(file, names.weight_scale, HUSK_F32, 1, &one->channels, source);
    if (!status)
        status = expect(file, names.input_scale, HUSK_F32, 0, NULL, source);
    if (!status)
        status = expect(file, names.input_zero, HUSK_U8, 0, NULL, source);
    if (status)
        return status;
    uint8_t zero;
    if (husk_safetensors_read(file, names.input_scale, &one->x.scale, sizeof one->x.scale, &error) ||
        husk_safetensors_read(file, names.input_zero, &zero, sizeof zero, &error))
        return husk__checkpoint_pass_on(source, &error);
    one->x.zero = zero;
    if (!(one->x.scale > 0 && one->x.scale - one->x.scale == 0))
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "its %s is %g; it has to be positive and finite",
                                 names.input_scale, (double)one->x.scale);
    // Nothing may fail by its name once nodes are changed.
    const char *const made[] = {names.weight_scale, names.input_scale, names.input_zero};
    for (int i = 0; i < 3; i++)
        if (strlen(made[i]) > HUSK__GRAPH_NAME || husk__graph_find(graph, made[i]))
            return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "graph: it cannot have a parameter %s: %s", made[i],
                                     strlen(made[i]) > HUSK__GRAPH_NAME ? "the name is too long"
                                                                        : "there is a value of this name already");
    return HUSK_OK;
}

// Parameters of this name: the value, or none where the graph has failed.
static husk_value add_parameter(husk_graph *graph, const char *name, husk_dtype dtype, int32_t rank,
                                const int64_t *shape, double number)
{
    husk_initializer constant = HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_CONSTANT, .value = (float)number);
    husk_value value = husk_graph_parameter(graph, name, rank, shape, &constant);
    if (value) {
        graph->values[value].tensor.dtype = dtype;
        graph->values[value].frozen = true;
    }
    return value;
}

static husk_status change(husk_graph *graph, const found *one, const husk__train_scope *scope)
{
    husk__node *node = &graph->nodes[one->node];
    husk__quantized_names names;
    int32_t axis, *inputs = realloc(node->inputs, 6 * sizeof *inputs);
    if (!inputs) { // others may be changed already
        graph->failed = husk__train_no_memory(&(husk__train_scope){scope->call, &graph->error});
        return husk__train_no_memory(scope);
    }
    node->inputs = inputs;
    const int32_t weights = husk__quantizable_weights(node, &axis);
    husk__quantized_names_make(&names, graph, node);
    inputs[3] = add_parameter(graph, names.weight_scale, HUSK_F32, 1, &one->channels, 1);
    inputs[4] = add_parameter(graph, names.input_scale, HUSK_F32, 0, NULL, (double)one->x.scale);
    inputs[5] = add_parameter(graph, names.input_zero, HUSK_U8, 0, NULL, one->x.zero);
    if (graph->failed)
        return husk__train_fail(scope, graph->failed, "%s", graph->error.text);
    for (int i = 3; i < 6; i++)
        graph->values[inputs[i]].users++;
    node->input_count = 6;
    const bool is_conv = strcmp(node->kind->name, "conv") == 0;
    husk__quantized_params params = {.x = one->x, .transpose_b = !is_conv && node->params.gemm.transpose_b};
    params.gemm.size = sizeof params.gemm;
    params.conv = is_conv ? node->params.conv : (husk_quantized_conv_params){.size = sizeof params.conv};
    params.conv.variant = NULL; // f32's
    node->params.quantized = params;
    node->kind = is_conv ? &husk__quantized_conv_kind : &husk__quantized_gemm_kind;
    husk__value *w = &graph->values[weights];
    w->tensor.dtype = HUSK_I8;
    w->frozen = true;
    w->initializer = HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_CONSTANT);
    return HUSK_OK;
}

static husk_status quantize(husk_graph *graph, const husk_safetensors *file, size_t *count, const husk__source *source,
                            const husk__train_scope *scope)
{
    found *list = malloc((size_t)graph->node_count * sizeof *list);
    husk_status status = list ? HUSK_OK : husk__train_no_memory(scope);
    *count = 0;
    for (int32_t n = 1; n < graph->node_count && !status; n++) {
        bool is_there = false;
        if (husk__can_quantize(graph, &graph->nodes[n]))
            status = look_at(graph, file, &graph->nodes[n], &list[*count], &is_there, source);
        *count += is_there;
    }
    if (!status && *count == 0)
        status = husk__source_fail(source, HUSK_INVALID_ARGUMENT,
                                   "it has no weights of eight bits for a convolution or product of the graph");
    graph->is_quantized = !status;
    for (size_t i = 0; i < *count && !status; i++)
        status = change(graph, &list[i], scope);
    free(list);
    return status;
}

husk_status husk_graph_quantize(husk_graph *graph, const husk_safetensors *file, size_t *count, husk_error *error)
{
    const husk__train_scope scope = {"husk_graph_quantize", error};
    husk__source source = {.call = scope.call, .error = error};
    size_t changed;
    if (!graph || !file)
        return husk__train_reject(&scope, graph ? "file" : "graph", "it is NULL");
    if (graph->failed) {
        if (error)
            *error = graph->error;
        return graph->failed;
    }
    if (graph->compiled)
        return husk__train_reject(&scope, "graph", "it is compiled");
    if (graph->is_quantized)
        return husk__train_reject(&scope, "graph", "it is quantized already");
    source.path = husk__safetensors_path(file);
    husk_status status = quantize(graph, file, &changed, &source, &scope);
    if (!status && count)
        *count = changed;
    return status;
}
