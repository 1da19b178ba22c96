// SPDX-License-Identifier: MIT
// Saving: the graph's tensors under their names, and how far training has come as metadata.
#include "train/files/checkpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/step/loss_scale.h"

static const char *const state_prefixes[HUSK__STATES] = {"husk.optimizer.first.", "husk.optimizer.second.",
                                                         "husk.optimizer.third."};

// ---- names ----

static void add(husk__checkpoint_list *list, char **at, const char *prefix, const char *name, const husk_tensor *tensor)
{
    list->items[list->count++] = (husk_safetensors_item){.name = *at, .tensor = *tensor};
    *at += sprintf(*at, "%s%s", prefix, name) + 1;
}

static bool has_mask(const husk_graph *graph, const char *name, int32_t value,
                     const husk__checkpoint_preference *preference)
{
    char text[HUSK__GRAPH_NAME + 32];
    const husk__compiled *own = graph->compiled;
    if (!preference->masks || !preference->file)
        return preference->masks && own->masked[value];
    snprintf(text, sizeof text, HUSK__CHECKPOINT_MASK "%s", name);
    return husk_safetensors_find(preference->file, text, NULL);
}

husk_status husk__checkpoint_list_make(husk__checkpoint_list *list, husk_graph *graph,
                                       const husk__checkpoint_preference *preference, const husk__source *source)
{
    enum { KINDS = 3 + HUSK__STATES, LONGEST = 32 }; // parameter, gradient, mask, states; a prefix
    size_t count = husk_graph_parameter_count(graph), bytes = 0;
    husk_parameter parameter = HUSK_PARAMETER();
    *list = (husk__checkpoint_list){0};
    for (size_t i = 0; i < count; i++) {
        husk_graph_parameter_at(graph, i, &parameter);
        bytes += KINDS * (strlen(parameter.name) + 1 + LONGEST);
    }
    list->items = malloc((KINDS * count + 1) * sizeof *list->items);
    char *at = list->names = malloc(bytes + sizeof HUSK__CHECKPOINT_SCALE);
    if (!list->items || !at)
        return husk__source_fail(source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for the names of tensors");
    for (size_t i = 0; i < count; i++) {
        husk_graph_parameter_at(graph, i, &parameter);
        add(list, &at, "", parameter.name, &parameter.tensor);
    }
    list->parameters = list->count;
    for (size_t i = 0; i < count; i++) {
        husk_graph_parameter_at(graph, i, &parameter);
        for (int s = 0; s < HUSK__STATES && preference->states; s++)
            if (parameter.states[s].buffer)
                add(list, &at, state_prefixes[s], parameter.name, &parameter.states[s]);
        if (preference->gradients && parameter.gradient.buffer)
            add(list, &at, HUSK__CHECKPOINT_GRADIENT, parameter.name, &parameter.gradient);
        husk_tensor mask = parameter.tensor; // one element of it for each of the parameters'
        mask.dtype = HUSK_U8;
        mask.buffer = preference->masks;
        if (parameter.gradient.buffer && has_mask(graph, parameter.name, graph->compiled->parameters[i], preference))
            add(list, &at, HUSK__CHECKPOINT_MASK, parameter.name, &mask);
    }
    if (preference->states && graph->compiled->has_loss_scale) {
        const husk_tensor scale = husk__scale_state(graph);
        add(list, &at, HUSK__CHECKPOINT_SCALE, "", &scale);
    }
    return HUSK_OK;
}

void husk__checkpoint_list_free(husk__checkpoint_list *list)
{
    free(list->items);
    free(list->names);
}

husk_status husk__checkpoint_check_graph(const husk_graph *graph, const husk__source *source)
{
    if (!graph)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "graph: it is NULL");
    if (!graph->compiled || !graph->compiled->is_final)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "graph: it is not compiled");
    return HUSK_OK;
}

husk_status husk__checkpoint_pass_on(const husk__source *source, const husk_error *error)
{
    const husk__source bare = {.call = source->call, .error = source->error};
    const char *rest = strstr(error->text, ": ");
    return husk__caused_by(source->error, error,
                           husk__source_fail(&bare, error->status, "%s", rest ? rest + 2 : error->text));
}

// ---- metadata ----

enum { MOST_NUMBERS = 8, NUMBER = 24 };

typedef struct metadata_list {
    husk_safetensors_pair *pairs;
    size_t count;
    char numbers[MOST_NUMBERS][NUMBER];
    int number_count;
} metadata_list;

static void add_text(metadata_list *to, const char *key, const char *text)
{
    to->pairs[to->count++] = (husk_safetensors_pair){key, text};
}

static void add_number(metadata_list *to, const char *key, uint64_t number)
{
    char *text = to->numbers[to->number_count++];
    snprintf(text, NUMBER, "%" PRIu64, number);
    add_text(to, key, text);
}

static void add_progress(metadata_list *to, const husk_graph *graph, const husk_feed *feed)
{
    const husk__compiled *own = graph->compiled;
    add_text(to, HUSK__CHECKPOINT_VERSION_KEY, HUSK__CHECKPOINT_VERSION);
    add_text(to, HUSK__CHECKPOINT_OPTIMIZER_KEY,
             own->has_optimizer ? husk_optimizer_kind_name(own->optimizer.kind) : "none");
    add_number(to, HUSK__CHECKPOINT_UPDATES_KEY, own->position.updates);
    add_number(to, HUSK__CHECKPOINT_BATCHES_KEY, own->position.batches);
    add_number(to, HUSK__CHECKPOINT_SEED_KEY, graph->seed);
    if (own->pending) {
        add_number(to, HUSK__CHECKPOINT_PENDING_KEY, own->pending);
        add_number(to, HUSK__CHECKPOINT_ACCUMULATE_KEY, own->options.accumulate);
    }
    if (feed) {
        husk_feed_position position = husk_feed_tell(feed);
        add_number(to, HUSK__CHECKPOINT_EPOCH_KEY, position.epoch);
        add_number(to, HUSK__CHECKPOINT_BATCH_KEY, position.batch);
    }
}

static void add_all(metadata_list *to, const husk_graph *graph, const husk_save_params *own)
{
    bool has_format = false;
    for (size_t i = 0; i < own->metadata_count; i++) {
        has_format = has_format || (own->metadata[i].key && strcmp(own->metadata[i].key, "format") == 0);
        to->pairs[to->count++] = own->metadata[i];
    }
    if (!has_format)
        add_text(to, "format", "pt");
    if (!own->weights_only)
        add_progress(to, graph, own->feed);
}

// ---- checks ----

static bool is_own(const char *name)
{
    return strncmp(name, HUSK__CHECKPOINT_OWN, strlen(HUSK__CHECKPOINT_OWN)) == 0;
}

static husk_status check_params(const husk_save_params *own, const husk__source *source)
{
    if (own->feed && own->weights_only)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT,
                                 "params: feed: a file of weights alone has no place of a feed");
    if ((own->tensor_count && !own->tensors) || (own->metadata_count && !own->metadata))
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "params: %s: it is NULL",
                                 own->tensor_count && !own->tensors ? "tensors" : "metadata");
    for (size_t i = 0; i < own->tensor_count; i++)
        if (!own->tensors[i].name)
            return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "params: tensors[%zu]: its name is NULL", i);
    for (size_t i = 0; i < own->metadata_count; i++)
        if (own->metadata[i].key && is_own(own->metadata[i].key))
            return husk__source_fail(source, HUSK_INVALID_ARGUMENT,
                                     "params: metadata[%zu], \"%.256s\": keys that begin with "
                                     "\"" HUSK__CHECKPOINT_OWN "\" are Husk's",
                                     i, own->metadata[i].key);
    return HUSK_OK;
}

static husk_status check_names(const husk__checkpoint_list *list, const husk__source *source)
{
    for (size_t i = 0; i < list->parameters; i++)
        if (is_own(list->items[i].name))
            return husk__source_fail(source, HUSK_INVALID_ARGUMENT,
                                     "graph: its parameter \"%.256s\": in a checkpoint, names that begin with "
                                     "\"" HUSK__CHECKPOINT_OWN "\" are Husk's",
                                     list->items[i].name);
    return HUSK_OK;
}

// ---- saving ----

// The caller's tensors under names of theirs, written to `names`.
static void add_extra(husk_safetensors_item *items, const husk_save_params *own, char *names)
{
    for (size_t i = 0; i < own->tensor_count; i++) {
        items[i] = own->tensors[i];
        items[i].name = names;
        names += sprintf(names, HUSK_CHECKPOINT_EXTRA "%s", own->tensors[i].name) + 1;
    }
}

static husk_status write_file(husk_graph *graph, const husk__checkpoint_list *list, const husk_save_params *own,
                              const husk__source *source)
{
    enum { MOST_OWN = MOST_NUMBERS + 3 }; // and the version, the optimizer, the format
    metadata_list metadata = {.pairs = malloc((own->metadata_count + MOST_OWN) * sizeof *metadata.pairs)};
    husk_safetensors_item *items = malloc((list->count + own->tensor_count + 1) * sizeof *items);
    size_t count = list->count, bytes = 1;
    for (size_t i = 0; i < own->tensor_count; i++)
        bytes += strlen(HUSK_CHECKPOINT_EXTRA) + strlen(own->tensors[i].name) + 1;
    char *names = malloc(bytes);
    husk_status status = HUSK_OK;
    husk_error error;
    if (!metadata.pairs || !items || !names) {
        status = husk__source_fail(source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for the list of tensors");
        goto cleanup;
    }
    const double rate = graph->compiled->optimizer.rate;
    memcpy(items, list->items, count * sizeof *items);
    if (!own->weights_only)
        items[count++] =
            (husk_safetensors_item){HUSK__CHECKPOINT_RATE, &rate, husk_tensor_make(NULL, HUSK_F64, 0, NULL)};
    add_extra(items + count, own, names);
    count += own->tensor_count;
    add_all(&metadata, graph, own);
    if (husk_safetensors_write(source->path, graph->queue, items, count, metadata.pairs, metadata.count, &error))
        status = husk__checkpoint_pass_on(source, &error);
cleanup:
    free(names);
    free(items);
    free(metadata.pairs);
    return status;
}

husk_status husk_graph_save(husk_graph *graph, const char *path, const husk_save_params *params, husk_error *error)
{
    const husk__train_scope scope = {"husk_graph_save", error};
    husk__source source = {.call = scope.call, .error = error};
    husk_save_params own;
    husk_status status = husk__checkpoint_check_graph(graph, &source);
    if (!status && !path)
        status = husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "path: it is NULL");
    if (!status)
        status = husk__train_struct(&own, sizeof own, "HUSK_SAVE_PARAMS", params, "params", &scope);
    if (!status)
        status = check_params(&own, &source);
    if (status)
        return status;
    husk__checkpoint_list list;
    source.path = path;
    husk__checkpoint_preference preference = {0};
    if (!own.weights_only)
        preference = (husk__checkpoint_preference){
            .states = true, .gradients = graph->compiled->pending > 0, .masks = graph->compiled->masks};
    status = husk__checkpoint_list_make(&list, graph, &preference, &source);
    if (!status)
        status = check_names(&list, &source);
    if (!status)
        status = write_file(graph, &list, &own, &source);
    husk__checkpoint_list_free(&list);
    return status;
}
