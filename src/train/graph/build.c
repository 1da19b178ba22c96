// SPDX-License-Identifier: MIT
#include "train/graph/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/graph/compiled.h"

// ---- the first error ----

husk_value husk__graph_refuse(husk__building *building, husk_status status, const char *argument, const char *format,
                              ...)
{
    husk_graph *graph = building->graph;
    char text[HUSK_ERROR_TEXT_CAPACITY];
    if (graph->failed) // the first one stays
        return HUSK_NO_VALUE;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    graph->failed = status;
    husk__train_fail(&building->scope, status, "%s%s%s%s%s", building->name ? building->name : "",
                     building->name ? ": " : "", argument ? argument : "", argument ? ": " : "", text);
    return HUSK_NO_VALUE;
}

husk_value husk__graph_pass_on(husk__building *building, husk_status status, const husk_error *error)
{
    const char *rest = strstr(error->text, ": ");
    return husk__graph_refuse(building, status, NULL, "%s", rest ? rest + 2 : error->text);
}

bool husk__graph_params(husk__building *building, void *own, size_t size, const char *made_by, const void *given,
                        const char *argument)
{
    husk_error error;
    const husk__train_scope scope = {"", &error};
    husk_status status = husk__train_struct(own, (uint32_t)size, made_by, given, argument, &scope);
    if (status)
        husk__graph_pass_on(building, status, &error);
    return !status;
}

bool husk__graph_axis(husk__building *building, const char *argument, const char *member, int32_t axis,
                      const husk_tensor *x, const char *x_name, int32_t *dimension)
{
    *dimension = husk_tensor_dimension(x, axis);
    if (*dimension < 0)
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, argument, "%sis %d, must be %d to %d: %s has %d dimensions",
                           member, (int)axis, -(int)x->rank, (int)x->rank - 1, x_name, (int)x->rank);
    return *dimension >= 0;
}

// ---- names ----

bool husk__graph_begin(husk__building *building, husk_graph *graph, const char *call, const char *kind,
                       const char *name, bool own)
{
    if (!graph || graph->failed)
        return false;
    *building = (husk__building){.graph = graph, .scope = {call, &graph->error}};
    if (graph->compiled && graph->compiled->is_final) {
        husk__train_fail(&building->scope, HUSK_INVALID_ARGUMENT, "graph: it is compiled, and cannot grow");
        return false;
    }
    if (!name && !own) {
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "name", "it is NULL");
        return false;
    }
    if (!name)
        do
            snprintf(building->text, sizeof building->text, "%s_%d", kind, ++graph->unnamed);
        while (husk__graph_find(graph, building->text));
    else if (*name == '\0' || strlen(name) > HUSK__GRAPH_NAME) {
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "name", "it has to have 1 to %d characters",
                           HUSK__GRAPH_NAME);
        return false;
    } else
        memcpy(building->text, name, strlen(name) + 1);
    building->name = building->text;
    if (name && own && husk__graph_find(graph, name)) {
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "name", "there is a value of this name already");
        return false;
    }
    return true;
}

// ---- arguments ----

bool husk__graph_argument(husk__building *building, husk_value value, const char *argument, husk_tensor *tensor)
{
    if (value == HUSK_NO_VALUE)
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, argument, "it is HUSK_NO_VALUE");
    else if (value < 0 || value >= building->graph->value_count)
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, argument, "%d is no value of this graph", (int)value);
    else {
        *tensor = building->graph->values[value].tensor;
        return true;
    }
    return false;
}

bool husk__graph_number(husk__building *building, husk_value value, const char *argument, husk_tensor *tensor)
{
    const husk_graph *graph = building->graph;
    if (!husk__graph_argument(building, value, argument, tensor))
        return false;
    if (tensor->dtype != graph->dtype && tensor->dtype != husk__wide_dtype(graph))
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, argument, "its dtype is %s, the graph's is %s",
                           husk_dtype_name(tensor->dtype), husk_dtype_name(graph->dtype));
    else if (building->has_dtype && tensor->dtype != building->dtype)
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, argument,
                           "its dtype is %s, and what was given before is %s; husk_graph_cast makes them alike",
                           husk_dtype_name(tensor->dtype), husk_dtype_name(building->dtype));
    else {
        building->has_dtype = true;
        building->dtype = tensor->dtype;
        return true;
    }
    return false;
}

// ---- values and nodes ----

// Room for one more of these elements; false: none, and the graph has failed.
static bool grow(husk__building *building, void **array, int32_t count, int32_t *capacity, size_t size)
{
    if (count < *capacity)
        return true;
    int32_t larger = *capacity ? *capacity * 2 : 32;
    void *moved = realloc(*array, (size_t)larger * size);
    if (!moved) {
        husk__graph_refuse(building, HUSK_OUT_OF_HOST_MEMORY, NULL, "host memory does not suffice");
        return false;
    }
    *array = moved;
    *capacity = larger;
    return true;
}

static char *copy_text(husk__building *building, const char *text)
{
    char *copy = malloc(strlen(text) + 1);
    if (!copy)
        husk__graph_refuse(building, HUSK_OUT_OF_HOST_MEMORY, NULL, "host memory does not suffice");
    else
        memcpy(copy, text, strlen(text) + 1);
    return copy;
}

static husk_value add_value(husk__building *building, const char *name, husk__value_role role,
                            const husk_tensor *tensor)
{
    husk_graph *graph = building->graph;
    if (!grow(building, (void **)&graph->values, graph->value_count, &graph->value_capacity, sizeof *graph->values))
        return HUSK_NO_VALUE;
    if (building->is_inside && role != HUSK__ROLE_PARAMETER)
        name = NULL;
    char *copy = name ? copy_text(building, name) : NULL;
    if (name && !copy)
        return HUSK_NO_VALUE;
    husk_value value = graph->value_count++;
    graph->values[value] = (husk__value){.name = copy, .role = role, .tensor = *tensor, .root = value, .covers = true};
    return value;
}

// A packed tensor, its shape checked.
static bool make_tensor(husk__building *building, husk_dtype dtype, int32_t rank, const int64_t *shape,
                        husk_tensor *tensor)
{
    if (rank < 0 || rank > HUSK_MAX_RANK || (rank > 0 && !shape)) {
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "shape", "a rank of 0 to %d and a shape are wanted",
                           HUSK_MAX_RANK);
        return false;
    }
    *tensor = husk_tensor_make(NULL, dtype, rank, shape);
    int64_t bytes = husk_tensor_extent(tensor);
    for (int32_t d = 0; d < rank; d++)
        if (shape[d] < 1) {
            husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "shape",
                               "dimension %d is %lld; it has to be 1 at least", (int)d, (long long)shape[d]);
            return false;
        }
    if (bytes < 0) {
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "shape", "there are too many elements");
        return false;
    }
    return true;
}

husk__node *husk__graph_node(husk__building *building, const husk__node_kind *kind, const husk_value *inputs,
                             int32_t count)
{
    husk_graph *graph = building->graph;
    if (!grow(building, (void **)&graph->nodes, graph->node_count, &graph->node_capacity, sizeof *graph->nodes))
        return NULL;
    husk__node node = {.kind = kind, .alpha = 1, .input_count = count};
    node.name = copy_text(building, building->name);
    node.inputs = node.name ? malloc(sizeof *inputs * (size_t)(count ? count : 1)) : NULL;
    if (!node.inputs) {
        free(node.name);
        husk__graph_refuse(building, HUSK_OUT_OF_HOST_MEMORY, NULL, "host memory does not suffice");
        return NULL;
    }
    for (int32_t i = 0; i < count; i++) {
        node.inputs[i] = inputs[i];
        if (inputs[i])
            husk__root(graph, inputs[i])->users++;
    }
    graph->nodes[graph->node_count] = node;
    return &graph->nodes[graph->node_count++];
}

husk_value husk__graph_result(husk__building *building, const char *name, husk_dtype dtype, int32_t rank,
                              const int64_t *shape)
{
    husk_graph *graph = building->graph;
    husk_tensor tensor;
    if (!make_tensor(building, dtype, rank, shape, &tensor))
        return HUSK_NO_VALUE;
    husk_value value = add_value(building, name, HUSK__ROLE_RESULT, &tensor);
    if (!value)
        return HUSK_NO_VALUE;
    husk__node *node = &graph->nodes[graph->node_count - 1];
    graph->values[value].node = graph->node_count - 1;
    node->outputs[node->output_count++] = value;
    return value;
}

husk_value husk__graph_view(husk__building *building, husk_value of, const husk_tensor *tensor, bool covers)
{
    husk_value value = add_value(building, building->name, HUSK__ROLE_VIEW, tensor);
    if (!value)
        return HUSK_NO_VALUE;
    husk__value *view = &building->graph->values[value], *base = &building->graph->values[of];
    view->root = base->root;
    view->covers = covers && base->covers;
    return value;
}

static husk_value add_parameter(husk__building *building, const char *name, husk_dtype dtype, int32_t rank,
                                const int64_t *shape, const husk_initializer *initializer)
{
    husk_graph *graph = building->graph;
    husk_tensor tensor;
    husk_initializer own;
    if (!make_tensor(building, dtype, rank, shape, &tensor) ||
        !husk__graph_params(building, &own, sizeof own, "HUSK_INITIALIZER", initializer, "initializer"))
        return HUSK_NO_VALUE;
    husk_error error;
    own.size = sizeof own;
    husk_status status = husk_initializer_fill(&own, 0, "", 1, (int64_t[]){0}, NULL, &error);
    if (status)
        return husk__graph_pass_on(building, status, &error);
    husk_value value = add_value(building, name, HUSK__ROLE_PARAMETER, &tensor);
    if (value)
        graph->values[value].initializer = own;
    return value;
}

husk_value husk_graph_input(husk_graph *graph, const char *name, husk_dtype dtype, int32_t rank, const int64_t *shape)
{
    husk__building building;
    husk_tensor tensor;
    if (!husk__graph_begin(&building, graph, "husk_graph_input", "input", name, true))
        return HUSK_NO_VALUE;
    if (dtype != graph->dtype && dtype != husk__wide_dtype(graph) && dtype != HUSK_I32 && dtype != HUSK_I64 &&
        dtype != HUSK_U8)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "dtype",
                                  "%s is neither the graph's, %s, nor %si32, i64 or u8", husk_dtype_name(dtype),
                                  husk_dtype_name(graph->dtype), husk__is_mixed(graph) ? "f32, " : "");
    if (!make_tensor(&building, dtype, rank, shape, &tensor))
        return HUSK_NO_VALUE;
    return add_value(&building, building.name, HUSK__ROLE_INPUT, &tensor);
}

husk_value husk_graph_parameter(husk_graph *graph, const char *name, int32_t rank, const int64_t *shape,
                                const husk_initializer *initializer)
{
    husk__building building;
    if (!husk__graph_begin(&building, graph, "husk_graph_parameter", "parameter", name, true))
        return HUSK_NO_VALUE;
    return add_parameter(&building, building.name, graph->dtype, rank, shape, initializer);
}

// "name.suffix" of the layer that is being made; false: refused.
static bool own_name(husk__building *building, const char *suffix, char name[HUSK__GRAPH_NAME + 1])
{
    if (strlen(building->name) + 1 + strlen(suffix) > HUSK__GRAPH_NAME)
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "name", "with .%s it has more than %d characters", suffix,
                           HUSK__GRAPH_NAME);
    else {
        strcpy(name, building->name);
        strcat(name, ".");
        strcat(name, suffix);
        if (!husk__graph_find(building->graph, name))
            return true;
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "name", "there is a value %s already", name);
    }
    return false;
}

husk_value husk__graph_own_parameter(husk__building *building, const char *suffix, int32_t rank, const int64_t *shape,
                                     const husk_initializer *initializer, husk_initializer standard)
{
    char name[HUSK__GRAPH_NAME + 1];
    husk_initializer own;
    if (!own_name(building, suffix, name) ||
        !husk__graph_params(building, &own, sizeof own, "HUSK_INITIALIZER", initializer, "initializer"))
        return HUSK_NO_VALUE;
    bool is_given = own.kind != HUSK_INITIALIZER_DEFAULT;
    return add_parameter(building, name, building->graph->dtype, rank, shape, is_given ? initializer : &standard);
}

static husk_value add_statistic(husk__building *building, const char *name, int64_t count, float value)
{
    husk_graph *graph = building->graph;
    husk_initializer constant = HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_CONSTANT, .value = value);
    husk_value made = add_parameter(building, name, husk__wide_dtype(graph), 1, &count, &constant);
    if (made)
        graph->values[made].is_statistic = true;
    return made;
}

husk_value husk__graph_own_statistic(husk__building *building, const char *suffix, int64_t count, float value)
{
    char name[HUSK__GRAPH_NAME + 1];
    return own_name(building, suffix, name) ? add_statistic(building, name, count, value) : HUSK_NO_VALUE;
}

husk_value husk_graph_statistic(husk_graph *graph, const char *name, int64_t count, float value)
{
    husk__building building;
    if (!husk__graph_begin(&building, graph, "husk_graph_statistic", "statistic", name, true))
        return HUSK_NO_VALUE;
    return add_statistic(&building, building.name, count, value);
}

husk_status husk_graph_freeze(husk_graph *graph, const char *name)
{
    husk__building building;
    if (!husk__graph_begin(&building, graph, "husk_graph_freeze", "", name, false))
        return graph ? graph->error.status : HUSK_INVALID_ARGUMENT;
    size_t length = strlen(name);
    bool found = false;
    for (int32_t i = 1; i < graph->value_count; i++) {
        husk__value *value = &graph->values[i];
        if (value->role == HUSK__ROLE_PARAMETER && strncmp(value->name, name, length) == 0 &&
            (value->name[length] == '\0' || value->name[length] == '.'))
            value->frozen = found = true;
    }
    if (!found)
        husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "name", "no parameter is called so, or begins with it");
    return graph->failed;
}

void husk__graph_name_output(husk__building *building, const char *name, husk_value value)
{
    husk_graph *graph = building->graph;
    if (!grow(building, (void **)&graph->outputs, graph->output_count, &graph->output_capacity, sizeof *graph->outputs))
        return;
    char *copy = copy_text(building, name);
    if (copy)
        graph->outputs[graph->output_count++] = (husk__output){copy, value};
}

void husk_graph_input_gradient(husk_graph *graph, const char *name, husk_value input)
{
    husk__building building;
    husk_tensor tensor;
    if (!husk__graph_begin(&building, graph, "husk_graph_input_gradient", "gradient", name, true) ||
        !husk__graph_number(&building, input, "input", &tensor))
        return;
    if (graph->values[input].role != HUSK__ROLE_INPUT) {
        husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "input", "it is no input");
        return;
    }
    if (graph->values[input].gradient) {
        husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "input", "its gradient has the name %s already",
                           graph->values[graph->values[input].gradient].name);
        return;
    }
    int32_t made = add_value(&building, building.name, HUSK__ROLE_INPUT_GRADIENT, &tensor);
    if (made)
        graph->values[input].gradient = made;
}

husk_value husk_graph_output_gradient(husk_graph *graph, const char *name, husk_value result)
{
    husk__building building;
    husk_tensor tensor;
    if (!husk__graph_begin(&building, graph, "husk_graph_output_gradient", "gradient", name, true) ||
        !husk__graph_number(&building, result, "result", &tensor))
        return HUSK_NO_VALUE;
    if (husk__root(graph, result)->role != HUSK__ROLE_RESULT)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "result", "no node computes it");
    if (graph->values[result].given)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "result", "its gradient is %s already",
                                  graph->values[graph->values[result].given].name);
    husk_tensor packed = husk_tensor_make(NULL, tensor.dtype, tensor.rank, tensor.shape);
    int32_t made = add_value(&building, building.name, HUSK__ROLE_INPUT, &packed);
    if (made) {
        graph->values[result].given = made;
        husk__root(graph, result)->is_output = true;
    }
    return made;
}
