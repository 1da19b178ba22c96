// SPDX-License-Identifier: MIT
#include "dist/stages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dist/failure.h"
#include "dist/together.h"

static const uint64_t most_bytes = (uint64_t)1 << 30;

// Elements that follow each other in memory as they do in the tensor: so they are sent.
static bool is_packed(const husk_tensor *tensor)
{
    const int64_t count = husk_tensor_count(tensor);
    return husk_tensor_reshape(tensor, 1, &count).rank == 1;
}

static bool same_shape(const husk_tensor *a, const husk_tensor *b)
{
    bool same = a->rank == b->rank;
    for (int32_t d = 0; d < a->rank && same; d++)
        same = a->shape[d] == b->shape[d];
    return same;
}

// gradient: NULL where the link has none.
static husk_status check_link(const husk_pipeline_link *link, const husk_tensor *value, const husk_tensor *gradient,
                              const char *argument, const husk__dist_scope *scope)
{
    if ((uint64_t)husk_tensor_extent(value) > most_bytes)
        return husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT, "params: %s: %s has more than 2^30 bytes", argument,
                                 link->value);
    if (gradient && !same_shape(value, gradient))
        return husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT, "params: %s: %s and %s have different shapes", argument,
                                 link->value, link->gradient);
    if (gradient && gradient->dtype != value->dtype)
        return husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT, "params: %s: %s is %s, %s is %s", argument, link->value,
                                 husk_dtype_name(value->dtype), link->gradient, husk_dtype_name(gradient->dtype));
    if (!is_packed(value) || (gradient && !is_packed(gradient)))
        return husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT,
                                 "params: %s: %s is not packed: husk_graph_copy makes it so", argument,
                                 is_packed(value) ? link->gradient : link->value);
    return HUSK_OK;
}

husk_status husk__stage_describe(husk_graph *graph, const husk_pipeline_link *links, size_t count,
                                 husk__link_shape *shapes, const char *argument, const husk__dist_scope *scope)
{
    if (count > 0 && !links)
        return husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT, "params: %s: it is NULL", argument);
    if (count > HUSK__MOST_LINKS)
        return husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT, "params: %s: %zu links; at most %d", argument, count,
                                 HUSK__MOST_LINKS);
    for (size_t i = 0; i < count; i++) {
        husk_tensor value, gradient;
        husk_status status = husk_graph_tensor(graph, links[i].value, &value);
        if (!status && links[i].gradient)
            status = husk_graph_tensor(graph, links[i].gradient, &gradient);
        if (status)
            return husk__dist_refuse(scope, status, "params: %s: link %zu: %s", argument, i,
                                     husk_graph_error(graph)->text);
        status = check_link(&links[i], &value, links[i].gradient ? &gradient : NULL, argument, scope);
        if (status)
            return status;
        shapes[i].dtype = (int32_t)value.dtype;
        shapes[i].rank = value.rank;
        shapes[i].has_gradient = links[i].gradient != NULL;
        for (int32_t d = 0; d < value.rank; d++)
            shapes[i].extents[d] = value.shape[d];
    }
    return HUSK_OK;
}

static const char *shape_text(const husk__link_shape *s, char text[200])
{
    int used = snprintf(text, 200, "%s [", husk_dtype_name((husk_dtype)s->dtype));
    for (int32_t d = 0; d < s->rank && used < 160; d++)
        used += snprintf(text + used, 200 - (size_t)used, "%s%lld", d ? ", " : "", (long long)s->extents[d]);
    snprintf(text + used, 200 - (size_t)used, "]%s", s->has_gradient ? "" : " without a gradient");
    return text;
}

// Member by member: what lies between them was sent as it was.
static bool are_alike(const husk__link_shape *a, const husk__link_shape *b)
{
    return a->dtype == b->dtype && a->rank == b->rank && a->has_gradient == b->has_gradient &&
           memcmp(a->extents, b->extents, sizeof a->extents) == 0;
}

// Each stage's own rules, and those between it and the next one.
static husk_status check_stages(const husk_dist *dist, const husk__stage_description *all,
                                const husk__dist_scope *scope)
{
    char who[128], next[128], a[200], b[200];
    for (int32_t r = 0; r < dist->count; r++) {
        bool is_last = r + 1 == dist->count;
        husk__rank_text(dist, r, who);
        const char *rule = NULL;
        if (all[r].micro_batches != all[0].micro_batches)
            rule = "has another number of micro-batches than rank 0";
        else if (r == 0 && all[r].previous_count)
            rule = "is the first stage, and wants something from one before";
        else if (is_last && all[r].next_count)
            rule = "is the last stage, and has something for one behind";
        else if (is_last != (all[r].has_loss != 0))
            rule = is_last ? "is the last stage, and names no loss" : "names a loss, and is not the last stage";
        if (rule)
            return husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT, "%s %s", who, rule);
        if (is_last)
            break;
        husk__rank_text(dist, r + 1, next);
        if (all[r].next_count != all[r + 1].previous_count)
            return husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT, "%s has %u links to %s, which wants %u", who,
                                     (unsigned)all[r].next_count, next, (unsigned)all[r + 1].previous_count);
        for (uint32_t i = 0; i < all[r].next_count; i++)
            if (!are_alike(&all[r].next[i], &all[r + 1].previous[i]))
                return husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT, "link %u: %s gives %s, %s wants %s", (unsigned)i,
                                         who, shape_text(&all[r].next[i], a), next,
                                         shape_text(&all[r + 1].previous[i], b));
    }
    return HUSK_OK;
}

husk_status husk__stages_compare(husk_dist *dist, const husk__stage_description *own, const husk__dist_scope *scope)
{
    husk__stage_description *all = malloc(sizeof *all * (size_t)dist->count);
    if (!all)
        return husk__dist_fail_with(dist, HUSK_OUT_OF_HOST_MEMORY, "host memory does not suffice", scope);
    husk_status status = husk__dist_gather(dist, own, sizeof *own, all, "husk_pipeline_create", scope);
    if (!status)
        status = check_stages(dist, all, scope);
    free(all);
    return status;
}
