// SPDX-License-Identifier: MIT
// Pruning: a threshold of magnitudes on the host, masks on the device.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <husk/train/compress.h>

#include "train/step/calls.h"
#include "train/step/masks.h"
#include "train/step/micro_batch.h"

// ---- which parameters ----

static bool is_called(const char *name, const char *wanted)
{
    const size_t length = strlen(wanted);
    return strncmp(name, wanted, length) == 0 && (name[length] == '\0' || name[length] == '.');
}

// Whether each of the trained parameters is pruned.
static husk_status choose(const husk_graph *graph, const husk_prune_params *params, bool *chosen,
                          const husk__train_scope *scope)
{
    const husk__compiled *own = graph->compiled;
    if (params->name_count && !params->names)
        return husk__train_reject(scope, "params", "names is NULL");
    for (int32_t i = 0; i < own->trained_count && !params->name_count; i++)
        chosen[i] = graph->values[own->trained[i]].tensor.rank >= 2;
    for (size_t n = 0; n < params->name_count; n++) {
        bool found = false;
        if (!params->names[n])
            return husk__train_reject(scope, "params", "names: one of them is NULL");
        for (int32_t i = 0; i < own->trained_count; i++)
            if (is_called(graph->values[own->trained[i]].name, params->names[n]))
                chosen[i] = found = true;
        if (!found)
            return husk__train_reject(scope, "params",
                                      "names: no trained parameter is called \"%.200s\", or begins with it",
                                      params->names[n]);
    }
    return HUSK_OK;
}

// ---- the threshold ----

// The number that would be at this place if they were sorted (Hoare's FIND). Moves them about.
static double select_place(double *numbers, size_t count, size_t place)
{
    size_t low = 0, high = count - 1;
    while (low < high) {
        const double a = numbers[low], b = numbers[low + (high - low) / 2], c = numbers[high];
        const double pivot = fmax(fmin(a, b), fmin(fmax(a, b), c));
        size_t i = low, j = high;
        for (;;) {
            while (numbers[i] < pivot)
                i++;
            while (numbers[j] > pivot)
                j--;
            if (i >= j)
                break;
            const double moved = numbers[i];
            numbers[i++] = numbers[j];
            numbers[j--] = moved;
        }
        if (place <= j)
            high = j;
        else
            low = j + 1;
    }
    return numbers[low];
}

// Parameters that have one threshold: those of a list of ranges in the flat magnitudes.
typedef struct range {
    size_t begin, end;
} range;

static husk_status prune_ranges(const double *magnitudes, const range *ranges, size_t range_count, double share,
                                uint8_t *masks, husk_prune_counts *counts, const husk__train_scope *scope)
{
    size_t count = 0, zeros = 0, pruned = 0, equal = 0;
    for (size_t r = 0; r < range_count; r++)
        count += ranges[r].end - ranges[r].begin;
    double *sorted = malloc((count + 1) * sizeof *sorted);
    if (!sorted)
        return husk__train_no_memory(scope);
    count = 0;
    for (size_t r = 0; r < range_count; r++)
        for (size_t i = ranges[r].begin; i < ranges[r].end; i++) {
            zeros += magnitudes[i] == 0;
            sorted[count++] = magnitudes[i];
        }
    size_t wanted = (size_t)floor(share * (double)count + 0.5);
    wanted = wanted > zeros ? wanted : zeros;
    const double threshold = wanted ? select_place(sorted, count, wanted - 1) : -1;
    free(sorted);
    for (size_t r = 0; r < range_count; r++)
        for (size_t i = ranges[r].begin; i < ranges[r].end; i++)
            pruned += magnitudes[i] < threshold;
    equal = wanted - pruned; // of those at the threshold
    for (size_t r = 0; r < range_count; r++)
        for (size_t i = ranges[r].begin; i < ranges[r].end; i++) {
            const bool is_equal = magnitudes[i] == threshold && equal > 0;
            equal -= is_equal;
            masks[i] = !(magnitudes[i] < threshold || is_equal);
        }
    counts->elements += count;
    counts->zeros += wanted;
    return HUSK_OK;
}

static husk_status prune_chosen(const husk_graph *graph, const husk_prune_params *params, const bool *chosen,
                                const double *magnitudes, uint8_t *masks, husk_prune_counts *counts,
                                const husk__train_scope *scope)
{
    const husk__compiled *own = graph->compiled;
    range *ranges = malloc((size_t)own->trained_count * sizeof *ranges);
    size_t range_count = 0;
    husk_status status = ranges ? HUSK_OK : husk__train_no_memory(scope);
    for (int32_t i = 0; i < own->trained_count && !status; i++) {
        const husk__value *value = &graph->values[own->trained[i]];
        const size_t begin = (size_t)(value->offset / husk_dtype_size(husk__wide_dtype(graph)));
        const range one = {begin, begin + (size_t)husk_tensor_count(&value->tensor)};
        if (!chosen[i])
            continue;
        for (size_t e = one.begin; e < one.end && !status; e++)
            if (isnan(magnitudes[e]))
                status = husk__train_reject(scope, "graph", "its parameter %s holds NaN", value->name);
        if (!status && params->per_tensor)
            status = prune_ranges(magnitudes, &one, 1, params->share, masks, counts, scope);
        ranges[range_count++] = one;
    }
    if (!status && !params->per_tensor)
        status = prune_ranges(magnitudes, ranges, range_count, params->share, masks, counts, scope);
    free(ranges);
    return status;
}

// ---- pruning ----

static husk_status read_magnitudes(const husk_graph *graph, double *magnitudes, const husk__train_scope *scope)
{
    const husk__compiled *own = graph->compiled;
    const size_t count = (size_t)husk__trained_elements(graph);
    char *host = malloc(own->trained_bytes);
    if (!host)
        return husk__train_no_memory(scope);
    husk_status status =
        husk_buffer_read(graph->queue, own->regions[HUSK__REGION_PARAMETERS], 0, own->trained_bytes, host);
    for (size_t i = 0; i < count && !status; i++)
        magnitudes[i] =
            husk__wide_dtype(graph) == HUSK_F64 ? fabs(((double *)host)[i]) : fabs((double)((float *)host)[i]);
    free(host);
    return husk__queue_failed(graph, status, scope);
}

// The new masks take the place of the old ones, and are applied.
static husk_status put_masks(husk_graph *graph, const uint8_t *host, const bool *chosen, const husk__train_scope *scope)
{
    husk__compiled *own = graph->compiled;
    husk_error error;
    husk_buffer *masks;
    if (!own->masked && !(own->masked = calloc((size_t)graph->value_count, sizeof *own->masked)))
        return husk__train_no_memory(scope);
    husk_status status = husk__masks_create(graph, &masks, &error);
    if (status)
        return husk__caused_by(scope->error, &error, husk__train_fail(scope, status, "%s", error.text));
    status = husk__queue_failed(graph, husk_buffer_write(graph->queue, masks, 0, husk__trained_elements(graph), host),
                                scope);
    if (status) {
        husk_buffer_release(masks);
        return status;
    }
    husk_buffer *before = own->masks;
    own->masks = masks;
    husk__drop_forwards(own);
    status = husk__queue_failed(graph, husk__masks_apply_all(graph), scope);
    if (status) {
        own->masks = before;
        before = masks;
    }
    for (int32_t i = 0; i < own->trained_count && !status; i++)
        own->masked[own->trained[i]] = own->masked[own->trained[i]] || chosen[i];
    husk_buffer_release(before);
    return status;
}

static husk_status prune(husk_graph *graph, const husk_prune_params *params, husk_prune_counts *counts,
                         const husk__train_scope *scope)
{
    const husk__compiled *own = graph->compiled;
    const size_t elements = (size_t)husk__trained_elements(graph);
    bool *chosen = calloc((size_t)own->trained_count, sizeof *chosen);
    double *magnitudes = malloc(elements * sizeof *magnitudes);
    uint8_t *masks = malloc(elements);
    husk_status status = HUSK_OK;
    if (!chosen || !magnitudes || !masks)
        status = husk__train_no_memory(scope);
    if (!status)
        status = choose(graph, params, chosen, scope);
    if (!status)
        status = read_magnitudes(graph, magnitudes, scope);
    if (!status && own->masks)
        status = husk__queue_failed(graph, husk_buffer_read(graph->queue, own->masks, 0, elements, masks), scope);
    else if (!status)
        memset(masks, 1, elements);
    for (size_t i = 0; i < elements && !status; i++)
        if (!masks[i])
            magnitudes[i] = 0; // whatever was written there since
    if (!status)
        status = prune_chosen(graph, params, chosen, magnitudes, masks, counts, scope);
    if (!status)
        status = put_masks(graph, masks, chosen, scope);
    free(chosen);
    free(magnitudes);
    free(masks);
    return status;
}

husk_status husk_graph_prune(husk_graph *graph, const husk_prune_params *params, husk_prune_counts *counts,
                             husk_error *error)
{
    const husk__train_scope scope = {"husk_graph_prune", error};
    husk_prune_params own;
    husk_prune_counts found = {0};
    if (!graph)
        return husk__train_reject(&scope, "graph", "it is NULL");
    if (!graph->compiled || !graph->compiled->is_final)
        return husk__train_reject(&scope, "graph", "it is not compiled");
    if (graph->compiled->trained_count == 0)
        return husk__train_reject(&scope, "graph", "it was compiled without a loss, for evaluation alone");
    husk_status status = husk__train_struct(&own, sizeof own, "HUSK_PRUNE_PARAMS", params, "params", &scope);
    if (!status && !(own.share >= 0 && own.share <= 1))
        status = husk__train_reject(&scope, "params", "share is %g; it has to be from 0 to 1", own.share);
    if (!status)
        status = prune(graph, &own, &found, &scope);
    if (!status && counts)
        *counts = found;
    return status;
}
