// SPDX-License-Identifier: MIT
// Loading: everything is compared, then everything is read, then the graph is changed.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/convert.h"
#include "train/files/checkpoint.h"
#include "train/files/safetensors.h"
#include "train/files/safetensors_digits.h"
#include "train/nodes/quantized.h"
#include "train/step/masks.h"
#include "train/step/micro_batch.h"

typedef struct loading {
    husk_graph *graph;
    const husk_safetensors *file;
    const husk__source *source;
    husk_load_params params;
    husk__checkpoint_list list;
    const husk_safetensors_item **sorted; // the list's, by name
    bool *taken;                          // of the list: it is loaded
    husk_load_counts counts;
    // RESUME's
    husk_graph_position position;
    husk_feed_position feed_position;
    uint64_t seed, pending;
    double rate;
    husk_buffer *masks; // new ones, where the file has some
} loading;

static bool begins_with(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

// ---- how far training has come ----

static husk_status refuse_key(const loading *load, const char *key, const char *text)
{
    if (!text)
        return husk__source_fail(load->source, HUSK_INVALID_ARGUMENT,
                                 "its metadata has no %s: nothing can be resumed from it", key);
    return husk__source_fail(load->source, HUSK_INVALID_ARGUMENT, "its metadata has \"%.64s\" as %s, which cannot be",
                             text, key);
}

bool husk__checkpoint_number(const char *text, uint64_t *number)
{
    uint64_t read = 0;
    bool is_number = text && *text;
    for (const char *at = text; is_number && *at; at++)
        is_number = *at >= '0' && *at <= '9' && !__builtin_mul_overflow(read, (uint64_t)10, &read) &&
                    !__builtin_add_overflow(read, (uint64_t)(*at - '0'), &read);
    *number = read;
    return is_number;
}

static husk_status read_number(const loading *load, const char *key, uint64_t *number)
{
    const char *text = husk_safetensors_metadata(load->file, key);
    return husk__checkpoint_number(text, number) ? HUSK_OK : refuse_key(load, key, text);
}

static husk_status read_pending(loading *load)
{
    uint64_t accumulate;
    if (!husk_safetensors_metadata(load->file, HUSK__CHECKPOINT_PENDING_KEY))
        return HUSK_OK;
    husk_status status = read_number(load, HUSK__CHECKPOINT_PENDING_KEY, &load->pending);
    if (!status)
        status = read_number(load, HUSK__CHECKPOINT_ACCUMULATE_KEY, &accumulate);
    if (status)
        return status;
    const uint32_t own = load->graph->compiled->options.accumulate;
    if (load->pending == 0 || load->pending > accumulate)
        return refuse_key(load, HUSK__CHECKPOINT_PENDING_KEY,
                          husk_safetensors_metadata(load->file, HUSK__CHECKPOINT_PENDING_KEY));
    if (accumulate != own)
        return husk__source_fail(load->source, HUSK_INVALID_ARGUMENT,
                                 "it has the gradients of %" PRIu64 " of %" PRIu64
                                 " batches of a step, and a step of the graph has %u",
                                 load->pending, accumulate, (unsigned)own);
    return HUSK_OK;
}

static husk_status read_feed(loading *load)
{
    if (!load->params.feed)
        return HUSK_OK;
    husk_status status = read_number(load, HUSK__CHECKPOINT_EPOCH_KEY, &load->feed_position.epoch);
    if (!status)
        status = read_number(load, HUSK__CHECKPOINT_BATCH_KEY, &load->feed_position.batch);
    const int64_t batches = husk_feed_batches(load->params.feed);
    if (!status && (load->feed_position.epoch == UINT64_MAX || load->feed_position.batch >= (uint64_t)batches))
        status = husk__source_fail(load->source, HUSK_INVALID_ARGUMENT,
                                   "its feed was at batch %" PRIu64 " of epoch %" PRIu64
                                   ", and an epoch of this one has %lld",
                                   load->feed_position.batch, load->feed_position.epoch, (long long)batches);
    return status;
}

static husk_status read_rate(loading *load)
{
    husk_safetensors_entry entry;
    husk_error error;
    if (!husk_safetensors_find(load->file, HUSK__CHECKPOINT_RATE, &entry) || entry.dtype != HUSK_F64 || entry.rank != 0)
        return husk__source_fail(load->source, HUSK_INVALID_ARGUMENT,
                                 "it has no tensor " HUSK__CHECKPOINT_RATE ", F64 []");
    if (husk_safetensors_read(load->file, HUSK__CHECKPOINT_RATE, &load->rate, sizeof load->rate, &error))
        return husk__checkpoint_pass_on(load->source, &error);
    if (!(load->rate - load->rate == 0)) // NaN, infinity
        return husk__source_fail(load->source, HUSK_INVALID_ARGUMENT, HUSK__CHECKPOINT_RATE " is not finite");
    return HUSK_OK;
}

// What could only have been damaged, or made so: with such a scale every update would be skipped. A scale that is not
// there, or of another shape, is named with the other tensors.
static husk_status check_scale(const loading *load)
{
    const husk_dtype dtype = husk__wide_dtype(load->graph);
    const uint64_t bytes = HUSK__SCALES * husk_dtype_size(dtype);
    husk_safetensors_entry entry;
    husk_error error;
    char host[HUSK__SCALES * sizeof(double)];
    if (!load->graph->compiled->has_loss_scale || !husk_safetensors_find(load->file, HUSK__CHECKPOINT_SCALE, &entry) ||
        entry.dtype != (int32_t)dtype || entry.bytes != bytes)
        return HUSK_OK;
    if (husk_safetensors_read(load->file, HUSK__CHECKPOINT_SCALE, host, bytes, &error))
        return husk__checkpoint_pass_on(load->source, &error);
    for (int i = 0; i < HUSK__SCALES; i++) {
        const double number = husk__load_element(host + (size_t)i * husk_dtype_size(dtype), dtype);
        const bool is_scale = i == HUSK__SCALE_NOW;
        if (!(number >= (is_scale ? 0x1p-24 : 0) && number <= (is_scale ? 0x1p24 : 0x1p63)))
            return husk__source_fail(load->source, HUSK_INVALID_ARGUMENT,
                                     HUSK__CHECKPOINT_SCALE ": its element %d is %g, which cannot be", i, number);
    }
    return HUSK_OK;
}

static husk_status read_progress(loading *load)
{
    const husk__compiled *own = load->graph->compiled;
    const char *version = husk_safetensors_metadata(load->file, HUSK__CHECKPOINT_VERSION_KEY);
    if (!version || strcmp(version, HUSK__CHECKPOINT_VERSION) != 0)
        return refuse_key(load, HUSK__CHECKPOINT_VERSION_KEY, version);
    // Without it, a number with a flipped bit would be another number. A file may be open that was not verified.
    if (!husk_safetensors_metadata(load->file, HUSK__SAFETENSORS_HEADER))
        return refuse_key(load, HUSK__SAFETENSORS_HEADER, NULL);
    if (!husk__safetensors_is_verified(load->file))
        return husk__source_fail(load->source, HUSK_INVALID_ARGUMENT,
                                 "its header is not that of which " HUSK__SAFETENSORS_HEADER
                                 " is the checksum: nothing can be resumed from it");
    const char *kind = husk_safetensors_metadata(load->file, HUSK__CHECKPOINT_OPTIMIZER_KEY);
    const char *wanted = own->has_optimizer ? husk_optimizer_kind_name(own->optimizer.kind) : "none";
    if (!kind)
        return refuse_key(load, HUSK__CHECKPOINT_OPTIMIZER_KEY, NULL);
    if (strcmp(kind, wanted) != 0)
        return husk__source_fail(load->source, HUSK_INVALID_ARGUMENT,
                                 "its optimizer is \"%.64s\", and the graph's is \"%s\"", kind, wanted);
    husk_status status = read_number(load, HUSK__CHECKPOINT_UPDATES_KEY, &load->position.updates);
    if (!status)
        status = read_number(load, HUSK__CHECKPOINT_BATCHES_KEY, &load->position.batches);
    if (!status)
        status = read_number(load, HUSK__CHECKPOINT_SEED_KEY, &load->seed);
    if (!status)
        status = read_pending(load);
    if (!status)
        status = read_rate(load);
    if (!status)
        status = check_scale(load);
    return status ? status : read_feed(load);
}

// ---- names ----

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(const husk_safetensors_item *const *)a)->name, (*(const husk_safetensors_item *const *)b)->name);
}

static const husk_safetensors_item *find(const loading *load, const char *name)
{
    const husk_safetensors_item key = {.name = name}, *key_pointer = &key;
    const husk_safetensors_item **found = (const husk_safetensors_item **)bsearch(
        &key_pointer, load->sorted, load->list.count, sizeof *load->sorted, compare_names);
    return found ? *found : NULL;
}

static bool is_excepted(const loading *load, const char *name)
{
    for (size_t i = 0; i < load->params.except_count; i++) {
        const char *except = load->params.except[i];
        if (begins_with(name, except) && (name[strlen(except)] == '\0' || name[strlen(except)] == '.'))
            return true;
    }
    return false;
}

// Names of one kind, the first few of them.
typedef struct names {
    size_t count, shown, used;
    char text[320];
} names;

static void note(names *to, const char *format, ...) HUSK__FILE_PRINTF(2, 3);
static void note(names *to, const char *format, ...)
{
    enum { MOST = 4 };
    char one[sizeof to->text - 8];
    if (to->count++ != to->shown || to->shown == MOST)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(one, sizeof one, format, arguments);
    va_end(arguments);
    if (to->used + strlen(one) + 8 > sizeof to->text)
        return;
    to->used += (size_t)sprintf(to->text + to->used, "%s%s", to->shown ? ", " : "", one);
    to->shown++;
}

static const char *more(const names *of)
{
    return of->count > of->shown ? " ..." : "";
}

typedef struct differences {
    names absent, surplus, different;
} differences;

static husk_status refuse_differences(const loading *load, const differences *found)
{
    char text[3][sizeof found->absent.text + 100] = {"", "", ""};
    const char *between[2] = {"", ""};
    if (found->absent.count)
        snprintf(text[0], sizeof text[0], "%zu of the graph's tensors %s not in it (%s%s)", found->absent.count,
                 found->absent.count == 1 ? "is" : "are", found->absent.text, more(&found->absent));
    if (found->surplus.count)
        snprintf(text[1], sizeof text[1], "%zu of its tensors %s not the graph's (%s%s)", found->surplus.count,
                 found->surplus.count == 1 ? "is" : "are", found->surplus.text, more(&found->surplus));
    if (found->different.count)
        snprintf(text[2], sizeof text[2], "%zu of its tensors %s not what the graph has (%s%s)", found->different.count,
                 found->different.count == 1 ? "is" : "are", found->different.text, more(&found->different));
    if (*text[0] && (*text[1] || *text[2]))
        between[0] = "; ";
    if (*text[1] && *text[2])
        between[1] = "; ";
    return husk__source_fail(load->source, HUSK_INVALID_ARGUMENT, "it is of another network: %s%s%s%s%s", text[0],
                             between[0], text[1], between[1], text[2]);
}

// A resumed run goes on with its own bits; weights may be of any floating-point dtype.
static bool has_dtype(const loading *load, const husk_safetensors_entry *entry, husk_dtype dtype)
{
    return entry->dtype == (int32_t)dtype || (load->params.mode != HUSK_LOAD_RESUME &&
                                              husk__is_floating(entry->dtype) && husk__is_floating((int32_t)dtype));
}

// The list's tensors that the file has, and those that it has not or has otherwise.
static void compare_list(loading *load, differences *found)
{
    for (size_t i = 0; i < load->list.count; i++) {
        const husk_safetensors_item *item = &load->list.items[i];
        husk_safetensors_entry entry;
        char there[256], here[256];
        if (load->params.mode != HUSK_LOAD_RESUME && is_excepted(load, item->name))
            continue;
        if (!husk_safetensors_find(load->file, item->name, &entry)) {
            load->counts.absent++;
            if (load->params.mode != HUSK_LOAD_MATCHING)
                note(&found->absent, "%s", item->name);
            continue;
        }
        const husk_tensor *tensor = &item->tensor;
        load->taken[i] = true;
        load->counts.loaded += i < load->list.parameters;
        if (has_dtype(load, &entry, tensor->dtype) && entry.rank == tensor->rank &&
            memcmp(entry.shape, tensor->shape, (size_t)entry.rank * sizeof *entry.shape) == 0)
            continue;
        husk__safetensors_describe(there, entry.dtype_name, entry.rank, entry.shape);
        husk__safetensors_describe(here, husk__safetensors_dtype_name(tensor->dtype), tensor->rank, tensor->shape);
        note(&found->different, "%s: %s, for %s", item->name, there, here);
    }
}

// The file's tensors that the list has not.
static void compare_file(loading *load, differences *found)
{
    const husk_load_mode mode = load->params.mode;
    for (size_t i = 0; i < husk_safetensors_count(load->file); i++) {
        husk_safetensors_entry entry;
        husk_safetensors_get(load->file, i, &entry);
        const bool is_own = begins_with(entry.name, HUSK__CHECKPOINT_OWN);
        if (mode == HUSK_LOAD_RESUME
                ? begins_with(entry.name, HUSK_CHECKPOINT_EXTRA) || strcmp(entry.name, HUSK__CHECKPOINT_RATE) == 0
                : is_own || is_excepted(load, entry.name))
            continue;
        if (find(load, entry.name))
            continue;
        load->counts.unused++;
        if (mode != HUSK_LOAD_MATCHING)
            note(&found->surplus, "%.100s", entry.name);
    }
}

// Memory for masks, where the file has some.
static husk_status make_masks(loading *load)
{
    husk_safetensors_entry entry;
    husk_error error;
    bool has_masks = false;
    for (size_t i = 0; i < husk_safetensors_count(load->file) && !has_masks; i++) {
        husk_safetensors_get(load->file, i, &entry);
        has_masks = begins_with(entry.name, HUSK__CHECKPOINT_MASK);
    }
    if (!has_masks || load->graph->compiled->trained_count == 0)
        return HUSK_OK;
    if (husk__masks_create(load->graph, &load->masks, &error))
        return husk__checkpoint_pass_on(load->source, &error);
    return HUSK_OK;
}

static husk_status compare(loading *load)
{
    husk__checkpoint_preference preference = {0};
    husk_status status = HUSK_OK;
    if (load->params.mode == HUSK_LOAD_RESUME) {
        status = make_masks(load);
        preference = (husk__checkpoint_preference){
            .states = true, .gradients = load->pending > 0, .masks = load->masks, .file = load->file};
    }
    if (!status)
        status = husk__checkpoint_list_make(&load->list, load->graph, &preference, load->source);
    if (status)
        return status;
    load->sorted = malloc(load->list.count * sizeof *load->sorted);
    load->taken = calloc(load->list.count, sizeof *load->taken);
    if (!load->sorted || !load->taken)
        return husk__source_fail(load->source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for the list of tensors");
    for (size_t i = 0; i < load->list.count; i++)
        load->sorted[i] = &load->list.items[i];
    qsort(load->sorted, load->list.count, sizeof *load->sorted, compare_names);
    differences found = {0};
    compare_list(load, &found);
    compare_file(load, &found);
    if (found.absent.count + found.surplus.count + found.different.count)
        return refuse_differences(load, &found);
    if (load->counts.loaded == 0)
        return husk__source_fail(load->source, HUSK_INVALID_ARGUMENT,
                                 "none of the graph's %zu parameters and statistics is to be loaded from it",
                                 load->list.parameters);
    return HUSK_OK;
}

// ---- elements ----

static uint64_t bytes_of(const husk_safetensors_item *item)
{
    return (uint64_t)husk_tensor_extent(&item->tensor);
}

// Of another dtype than the graph's.
static husk_status read_converted(const loading *load, const husk_safetensors_item *item,
                                  const husk_safetensors_entry *entry, char *host)
{
    husk_error error;
    const uint64_t count = (uint64_t)husk_tensor_count(&item->tensor);
    const uint64_t bytes = count * husk_dtype_size((husk_dtype)entry->dtype);
    char *raw = malloc(bytes + 1);
    if (!raw)
        return husk__source_fail(load->source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for %s's %llu bytes",
                                 item->name, (unsigned long long)bytes);
    husk_status status = HUSK_OK;
    if (husk_safetensors_read(load->file, item->name, raw, bytes, &error))
        status = husk__checkpoint_pass_on(load->source, &error);
    else {
        const husk_dtype dtype = item->tensor.dtype;
        const uint64_t at = husk__convert(host, dtype, raw, (husk_dtype)entry->dtype, count);
        if (at < count)
            status = husk__source_fail(load->source, HUSK_INVALID_ARGUMENT,
                                       "%s: its element %llu, of %s, is too large for the graph's %s", item->name,
                                       (unsigned long long)at, entry->dtype_name, husk__safetensors_dtype_name(dtype));
    }
    free(raw);
    return status;
}

static husk_status read_elements(const loading *load, char *host)
{
    husk_error error;
    for (size_t i = 0; i < load->list.count; i++) {
        const husk_safetensors_item *item = &load->list.items[i];
        husk_safetensors_entry entry;
        husk_status status = HUSK_OK;
        if (!load->taken[i])
            continue;
        if (husk_safetensors_find(load->file, item->name, &entry) && entry.dtype != (int32_t)item->tensor.dtype)
            status = read_converted(load, item, &entry, host);
        else if (husk_safetensors_read(load->file, item->name, host, bytes_of(item), &error))
            status = husk__checkpoint_pass_on(load->source, &error);
        if (status)
            return status;
        host += bytes_of(item);
    }
    return HUSK_OK;
}

// A product keeps its input's scale and zero point: with others in the parameters its results would be wrong.
static husk_status check_quantization(const loading *load, const char *host)
{
    for (size_t i = 0; i < load->list.parameters; i++) {
        double now, there;
        if (!load->taken[i])
            continue;
        if (husk__quantized_differs(load->graph, load->graph->compiled->parameters[i], host, &now, &there))
            return husk__source_fail(load->source, HUSK_INVALID_ARGUMENT,
                                     "its %s is %.9g, and the graph was quantized with %.9g: a graph for this file has "
                                     "to be quantized with it (husk_graph_quantize)",
                                     load->list.items[i].name, there, now);
        host += bytes_of(&load->list.items[i]);
    }
    return HUSK_OK;
}

static husk_status write_elements(const loading *load, const char *host)
{
    for (size_t i = 0; i < load->list.count; i++) {
        const husk_safetensors_item *item = &load->list.items[i];
        if (!load->taken[i])
            continue;
        husk_queue *queue = load->graph->queue;
        const uint64_t begin = (uint64_t)item->tensor.offset * husk_dtype_size(item->tensor.dtype);
        husk_status status = husk_buffer_write(queue, item->tensor.buffer, begin, bytes_of(item), host);
        if (status)
            return husk__caused_by(load->source->error, husk_queue_error(queue),
                                   husk__source_fail(load->source, status, "%s, and what is before it is loaded: %s",
                                                     item->name, husk_queue_error(queue)->text));
        host += bytes_of(item);
    }
    return HUSK_OK;
}

static husk_status load_elements(const loading *load)
{
    uint64_t bytes = 1;
    for (size_t i = 0; i < load->list.count; i++)
        bytes += load->taken[i] ? bytes_of(&load->list.items[i]) : 0;
    char *host = malloc(bytes);
    if (!host)
        return husk__source_fail(load->source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for its %llu bytes",
                                 (unsigned long long)bytes - 1);
    husk__compiled *own = load->graph->compiled;
    husk_status status = read_elements(load, host);
    if (!status)
        status = check_quantization(load, host);
    if (!status) {
        husk__drop_forwards(own);
        status = write_elements(load, host);
        if (status) // gradients that were begun may be the file's in part
            own->pending = 0;
    }
    free(host);
    return status;
}

// ---- loading ----

static husk_status check_params(const husk_load_params *own, const husk__source *source)
{
    const char *rule = NULL;
    if (own->mode != HUSK_LOAD_RESUME && own->mode != HUSK_LOAD_WEIGHTS && own->mode != HUSK_LOAD_MATCHING)
        rule = "mode: it is none";
    else if (own->feed && own->mode != HUSK_LOAD_RESUME)
        rule = "feed: only RESUME has a place for it";
    else if (own->except_count && own->mode == HUSK_LOAD_RESUME)
        rule = "except: RESUME loads everything";
    else if (own->except_count && !own->except)
        rule = "except: it is NULL";
    for (size_t i = 0; i < own->except_count && !rule; i++)
        if (!own->except[i])
            rule = "except: one of its names is NULL";
    return rule ? husk__source_fail(source, HUSK_INVALID_ARGUMENT, "params: %s", rule) : HUSK_OK;
}

// The file's masks instead of the graph's.
static void take_masks(loading *load, bool *masked)
{
    husk__compiled *own = load->graph->compiled;
    husk_buffer_release(own->masks);
    own->masks = load->masks;
    load->masks = NULL;
    free(own->masked);
    own->masked = masked;
    for (int32_t i = 0; i < own->parameter_count && masked; i++) {
        char name[HUSK__GRAPH_NAME + 32];
        snprintf(name, sizeof name, HUSK__CHECKPOINT_MASK "%s", load->graph->values[own->parameters[i]].name);
        masked[own->parameters[i]] = find(load, name) != NULL;
    }
}

static husk_status resume(const loading *load)
{
    husk__compiled *own = load->graph->compiled;
    own->position = load->position;
    own->pending = (uint32_t)load->pending;
    own->optimizer.rate = load->rate;
    load->graph->seed = load->seed;
    return load->params.feed ? husk_feed_seek(load->params.feed, load->feed_position, load->source->error) : HUSK_OK;
}

static husk_status load_file(loading *load)
{
    const bool resumes = load->params.mode == HUSK_LOAD_RESUME;
    husk_status status = resumes ? read_progress(load) : HUSK_OK;
    if (!status)
        status = compare(load);
    bool *masked = load->masks ? calloc((size_t)load->graph->value_count, sizeof *masked) : NULL;
    if (!status && load->masks && !masked)
        status = husk__source_fail(load->source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for masks");
    if (!status)
        status = load_elements(load);
    if (status) {
        free(masked);
        return status;
    }
    if (resumes) {
        take_masks(load, masked);
        status = resume(load);
    }
    const husk_error *applied = husk_queue_error(load->graph->queue);
    if (!status && load->graph->compiled->masks && husk__masks_apply_all(load->graph))
        status = husk__caused_by(
            load->source->error, applied,
            husk__source_fail(load->source, applied->status, "its masks are not applied: %s", applied->text));
    return status;
}

husk_status husk_graph_load(husk_graph *graph, const husk_safetensors *file, const husk_load_params *params,
                            husk_load_counts *counts, husk_error *error)
{
    const husk__train_scope scope = {"husk_graph_load", error};
    husk__source source = {.call = scope.call, .error = error};
    loading load = {.graph = graph, .file = file, .source = &source};
    husk_status status = husk__checkpoint_check_graph(graph, &source);
    if (!status && !file)
        status = husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "file: it is NULL");
    if (!status)
        status = husk__train_struct(&load.params, sizeof load.params, "HUSK_LOAD_PARAMS", params, "params", &scope);
    if (!status)
        status = check_params(&load.params, &source);
    if (status)
        return status;
    source.path = husk__safetensors_path(file);
    status = load_file(&load);
    if (!status && counts)
        *counts = load.counts;
    husk__checkpoint_list_free(&load.list);
    husk_buffer_release(load.masks);
    free(load.sorted);
    free(load.taken);
    return status;
}
