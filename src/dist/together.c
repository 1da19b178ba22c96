// SPDX-License-Identifier: MIT
#include "dist/together.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dist/failure.h"
#include "dist/task.h"

enum { MOST_VALUES = 65536 };

// A message begins with eight bytes that say how many are to come, of this message and of those behind it: ranks whose
// calls differ find out.
typedef struct gathering {
    husk__task task;
    size_t bytes; // of a message
    uint64_t said;
    char *own, *all;
    bool is_broadcast;
} gathering;

// MPI does not say how long.
static husk_status too_long(const husk_dist *dist, const gathering *g, husk_error *error)
{
    char who[128];
    error->status = HUSK_INVALID_ARGUMENT;
    snprintf(error->text, sizeof error->text, "%s: %s has come with more than the %llu bytes of this rank",
             g->task.what, husk__rank_text(dist, g->task.too_long_from, who), (unsigned long long)g->said);
    return error->status;
}

// Everybody to everybody; or rank 0 to all.
static husk_status advance_gathering(husk_dist *dist, husk__task *task, bool *has_ended, husk_error *error)
{
    gathering *g = (gathering *)task;
    husk_status status = HUSK_OK;
    if (task->steps > 0) {
        status = husk__task_settled(task, has_ended, error);
        return status && task->too_long_from != HUSK__NONE ? too_long(dist, g, error) : status;
    }
    task->steps++;
    int tag = g->is_broadcast ? HUSK__TAG_BROADCAST : HUSK__TAG_GATHER;
    for (int32_t r = 0; r < dist->count && !status; r++) {
        if (r == dist->rank)
            continue;
        if (!g->is_broadcast || r == 0)
            status = husk__task_receive(dist, task, g->all + (g->is_broadcast ? 0 : (size_t)r * g->bytes), g->bytes, r,
                                        tag, error);
        if (!status && (!g->is_broadcast || dist->rank == 0))
            status = husk__task_send(dist, task, g->own, g->bytes, r, tag, error);
    }
    return status;
}

static void gathering_free(gathering *g)
{
    if (!g)
        return;
    husk__task_clear(&g->task);
    free(g->own);
    free(g->all);
    free(g);
}

// Messages without what they begin with; refused where another rank's is not as long as this one's.
static husk_status take_messages(husk_dist *dist, const gathering *g, void *all, const husk__dist_scope *scope)
{
    const size_t bytes = g->bytes - sizeof(uint64_t);
    const char *message = g->all;
    char text[256], who[128];
    for (int32_t r = 0; r < (g->is_broadcast ? 1 : dist->count); r++, message += g->bytes) {
        uint64_t said;
        memcpy(&said, message, sizeof said);
        if (said != g->said) {
            snprintf(text, sizeof text, "%s has come with %llu bytes, this rank with %llu",
                     husk__rank_text(dist, r, who), (unsigned long long)said, (unsigned long long)g->said);
            return husk__dist_fail_with(dist, HUSK_INVALID_ARGUMENT, text, scope);
        }
        if (bytes)
            memcpy((char *)all + (size_t)r * bytes, message + sizeof said, bytes);
    }
    return HUSK_OK;
}

// What MPI may still write to after a failure is left to it.
static husk_status gather(husk_dist *dist, const void *own, size_t given, uint64_t said, void *all, bool is_broadcast,
                          const char *what, const husk__dist_scope *scope)
{
    const size_t bytes = given + sizeof said;
    gathering *g = calloc(1, sizeof *g);
    if (!g || !husk__task_init(&g->task, 2 * dist->count) || !(g->own = malloc(bytes)) ||
        !(g->all = malloc(is_broadcast ? bytes : bytes * (size_t)dist->count))) {
        gathering_free(g);
        return husk__dist_fail_with(dist, HUSK_OUT_OF_HOST_MEMORY, "host memory does not suffice", scope);
    }
    g->bytes = bytes;
    g->said = said;
    g->is_broadcast = is_broadcast;
    g->task.advance = advance_gathering;
    snprintf(g->task.what, sizeof g->task.what, "%s", what);
    memcpy(g->own, &said, sizeof said);
    if (given)
        memcpy(g->own + sizeof said, own, given);
    memcpy(g->all + (is_broadcast ? 0 : bytes * (size_t)dist->rank), g->own, bytes);
    husk__task_post(dist, &g->task);
    husk_status status = husk__task_wait(dist, &g->task, scope);
    if (status)
        return status;
    status = take_messages(dist, g, all, scope);
    gathering_free(g);
    return status;
}

husk_status husk__dist_gather(husk_dist *dist, const void *own, size_t bytes, void *all, const char *what,
                              const husk__dist_scope *scope)
{
    return gather(dist, own, bytes, bytes, all, false, what, scope);
}

husk_status husk__dist_broadcast(husk_dist *dist, void *data, size_t bytes, const char *what,
                                 const husk__dist_scope *scope)
{
    const size_t most = (size_t)64 << 20;
    char *part = data;
    husk_status status;
    do { // of no bytes, too: the others may have some
        const size_t own = bytes < most ? bytes : most;
        status = gather(dist, part, own, bytes, part, true, what, scope);
        part = own < bytes ? part + own : part;
        bytes -= own;
    } while (bytes && !status);
    return status;
}

husk_status husk_dist_sum(husk_dist *dist, double *values, size_t count)
{
    if (!dist)
        return HUSK_INVALID_ARGUMENT;
    const husk__dist_scope scope = {"husk_dist_sum", &dist->error};
    if (count > MOST_VALUES)
        return husk__dist_refuse(&scope, HUSK_INVALID_ARGUMENT, "count: %zu; at most %d", count, MOST_VALUES);
    if (count > 0 && !values)
        return husk__dist_refuse(&scope, HUSK_INVALID_ARGUMENT, "values: it is NULL");
    double *all = malloc((sizeof *all * count + 1) * (size_t)dist->count);
    if (!all)
        return husk__dist_fail_with(dist, HUSK_OUT_OF_HOST_MEMORY, "husk_dist_sum: host memory does not suffice",
                                    &scope);
    husk_status status = husk__dist_gather(dist, values, sizeof *values * count, all, "husk_dist_sum", &scope);
    for (size_t i = 0; i < count && !status; i++) {
        values[i] = 0;
        for (int32_t r = 0; r < dist->count; r++)
            values[i] += all[(size_t)r * count + i];
    }
    free(all);
    return status;
}

husk_status husk_dist_broadcast(husk_dist *dist, void *data, size_t bytes)
{
    if (!dist)
        return HUSK_INVALID_ARGUMENT;
    const husk__dist_scope scope = {"husk_dist_broadcast", &dist->error};
    if (bytes > 0 && !data)
        return husk__dist_refuse(&scope, HUSK_INVALID_ARGUMENT, "data: it is NULL");
    return husk__dist_broadcast(dist, data, bytes, "husk_dist_broadcast", &scope);
}

husk_status husk_dist_barrier(husk_dist *dist)
{
    if (!dist)
        return HUSK_INVALID_ARGUMENT;
    const husk__dist_scope scope = {"husk_dist_barrier", &dist->error};
    char nothing = 0;
    char *all = malloc((size_t)dist->count);
    if (!all)
        return husk__dist_fail_with(dist, HUSK_OUT_OF_HOST_MEMORY, "husk_dist_barrier: host memory does not suffice",
                                    &scope);
    husk_status status = husk__dist_gather(dist, &nothing, 1, all, "husk_dist_barrier", &scope);
    free(all);
    return status;
}
