// SPDX-License-Identifier: MIT
// A graph's life: values, nodes, names, the first error.
#include "train/graph/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/step/compile.h"

static const husk_error no_error = {HUSK_OK, 0, ""};

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

const husk_error *husk_graph_error(const husk_graph *graph)
{
    return graph ? &graph->error : &no_error;
}

husk_queue *husk_graph_queue(const husk_graph *graph)
{
    return graph ? graph->queue : NULL;
}

int32_t husk_graph_shape(const husk_graph *graph, husk_value value, int64_t shape[HUSK_MAX_RANK])
{
    if (!graph || value <= 0 || value >= graph->value_count)
        return -1;
    const husk_tensor *tensor = &graph->values[value].tensor;
    if (shape)
        memcpy(shape, tensor->shape, sizeof *shape * (size_t)tensor->rank);
    return tensor->rank;
}

// ---- the first error ----

husk_value husk__graph_refuse(husk__building *building, husk_status status, const char *argument,
                              const char *format, ...)
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

bool husk__graph_params(husk__building *building, void *own, size_t size, const char *made_by,
                        const void *given, const char *argument)
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
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, argument,
                           "%sis %d, must be %d to %d: %s has %d dimensions", member, (int)axis,
                           -(int)x->rank, (int)x->rank - 1, x_name, (int)x->rank);
    return *dimension >= 0;
}

// ---- names ----

int32_t husk__graph_find(const husk_graph *graph, const char *name)
{
    for (int32_t i = 0; i < graph->output_count; i++)
        if (strcmp(graph->outputs[i].name, name) == 0)
            return graph->outputs[i].value;
    for (int32_t i = 1; i < graph->value_count; i++)
        if (graph->values[i].name && strcmp(graph->values[i].name, name) == 0)
            return i;
    return 0;
}

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

const char *husk__graph_shape_text(const husk_tensor *tensor, char text[160])
{
    size_t used = (size_t)snprintf(text, 160, "[");
    for (int32_t d = 0; d < tensor->rank && used < 150; d++)
        used +=
            (size_t)snprintf(text + used, 160 - used, "%s%lld", d ? ", " : "", (long long)tensor->shape[d]);
    snprintf(text + (used < 158 ? used : 158), 2, "]");
    return text;
}

bool husk__same_shape(const husk_tensor *a, const husk_tensor *b)
{
    return a->rank == b->rank && memcmp(a->shape, b->shape, sizeof *a->shape * (size_t)a->rank) == 0;
}

bool husk__is_packed(const husk_tensor *tensor)
{
    int64_t stride = 1;
    for (int32_t d = tensor->rank - 1; d >= 0; d--) {
        if (tensor->shape[d] != 1 && tensor->strides[d] != stride)
            return false;
        stride *= tensor->shape[d];
    }
    return true;
}

bool husk__graph_argument(husk__building *building, husk_value value, const char *argument,
                          husk_tensor *tensor)
{
    if (value == HUSK_NO_VALUE)
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, argument, "it is HUSK_NO_VALUE");
    else if (value < 0 || value >= building->graph->value_count)
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, argument, "%d is no value of this graph",
                           (int)value);
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

static bool cast_argument(husk__building *building, husk_value *value, husk_dtype dtype, const char *argument,
                          husk_tensor *tensor)
{
    building->has_dtype = false;
    if (!husk__graph_number(building, *value, argument, tensor))
        return false;
    building->dtype = dtype;
    if (tensor->dtype == dtype)
        return true;
    *value = husk__graph_cast(building, *value, dtype);
    return *value && husk__graph_argument(building, *value, argument, tensor);
}

bool husk__graph_computed(husk__building *building, husk_value *value, const char *argument,
                          husk_tensor *tensor)
{
    return cast_argument(building, value, building->graph->dtype, argument, tensor);
}

bool husk__graph_optional(husk__building *building, husk_value *value, const char *argument,
                          husk_tensor *tensor)
{
    if (*value != HUSK_NO_VALUE)
        return husk__graph_computed(building, value, argument, tensor);
    *tensor = (husk_tensor){.rank = -1};
    return true;
}

bool husk__graph_wide(husk__building *building, husk_value *value, const char *argument, bool may_be_absent,
                      husk_tensor *tensor)
{
    *tensor = (husk_tensor){.rank = -1};
    return (may_be_absent && *value == HUSK_NO_VALUE) ||
           cast_argument(building, value, husk__wide_dtype(building->graph), argument, tensor);
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
    if (!grow(building, (void **)&graph->values, graph->value_count, &graph->value_capacity,
              sizeof *graph->values))
        return HUSK_NO_VALUE;
    if (building->is_inside && role != HUSK__ROLE_PARAMETER)
        name = NULL;
    char *copy = name ? copy_text(building, name) : NULL;
    if (name && !copy)
        return HUSK_NO_VALUE;
    husk_value value = graph->value_count++;
    graph->values[value] =
        (husk__value){.name = copy, .role = role, .tensor = *tensor, .root = value, .covers = true};
    return value;
}

// A packed tensor, its shape checked.
static bool make_tensor(husk__building *building, husk_dtype dtype, int32_t rank, const int64_t *shape,
                        husk_tensor *tensor)
{
    if (rank < 0 || rank > HUSK_MAX_RANK || (rank > 0 && !shape)) {
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "shape",
                           "a rank of 0 to %d and a shape are wanted", HUSK_MAX_RANK);
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
    if (!grow(building, (void **)&graph->nodes, graph->node_count, &graph->node_capacity,
              sizeof *graph->nodes))
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

husk_value husk_graph_input(husk_graph *graph, const char *name, husk_dtype dtype, int32_t rank,
                            const int64_t *shape)
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
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "name", "with .%s it has more than %d characters",
                           suffix, HUSK__GRAPH_NAME);
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

husk_value husk__graph_own_parameter(husk__building *building, const char *suffix, int32_t rank,
                                     const int64_t *shape, const husk_initializer *initializer,
                                     husk_initializer standard)
{
    char name[HUSK__GRAPH_NAME + 1];
    husk_initializer own;
    if (!own_name(building, suffix, name) ||
        !husk__graph_params(building, &own, sizeof own, "HUSK_INITIALIZER", initializer, "initializer"))
        return HUSK_NO_VALUE;
    bool is_given = own.kind != HUSK_INITIALIZER_DEFAULT;
    return add_parameter(building, name, building->graph->dtype, rank, shape,
                         is_given ? initializer : &standard);
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
        husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "name",
                           "no parameter is called so, or begins with it");
    return graph->failed;
}

void husk_graph_output(husk_graph *graph, const char *name, husk_value value)
{
    husk__building building;
    if (!husk__graph_begin(&building, graph, "husk_graph_output", "", name, false))
        return;
    husk_tensor tensor;
    if (!husk__graph_argument(&building, value, "value", &tensor))
        return;
    int32_t there = husk__graph_find(graph, name);
    bool is_narrow = husk__is_mixed(graph) && tensor.dtype == graph->dtype;
    if (is_narrow && there && there == husk__graph_cast_before(graph, value, HUSK_F32)) {
        husk__root(graph, there)->is_output = true; // a cast of the caller's may be none yet
        return;
    }
    if (there && there != value) {
        husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "name",
                           "there is another value of this name already");
        return;
    }
    if (is_narrow) {
        value = husk__graph_cast(&building, value, HUSK_F32);
        if (!value)
            return;
    } else if (!husk__is_packed(&tensor)) {
        char own[HUSK__GRAPH_NAME + 8];
        snprintf(own, sizeof own, "%.*s.packed", HUSK__GRAPH_NAME - 7, building.name);
        value = husk_graph_copy(graph, own, value);
        if (!value)
            return;
    }
    husk__root(graph, value)->is_output = true;
    if (there == value)
        return;
    if (!grow(&building, (void **)&graph->outputs, graph->output_count, &graph->output_capacity,
              sizeof *graph->outputs))
        return;
    char *copy = copy_text(&building, name);
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

bool husk__graph_is_given(const husk_graph *graph)
{
    for (int32_t v = 1; v < graph->value_count; v++)
        if (graph->values[v].given)
            return true;
    return false;
}
