// SPDX-License-Identifier: MIT
#include "runtime/map.h"

#include <stdio.h>

#include <husk/context.h>

#include "base/checked.h"
#include "runtime/groups.h"

enum { GRID_GROUPS_PER_UNIT = 16, SHARE_MULTIPLE = 64 };
enum { ADDS = 1, STREAMS = 2, FOURS = 4 }; // MAP_ADDS ... in cl/lib/map.clh

husk_status husk__map_prepare_vector(husk_context *context, const char *file, const char *options, const char *kernel,
                                     int64_t minimum, uint64_t bytes, husk__map *map, const husk__scope *scope)
{
    const husk_device_traits *traits = husk_context_traits(context);
    map->total = husk__walk_count(&map->walk);
    const int64_t units = husk__divide_up(map->total, SHARE_MULTIPLE);
    const double unit_time = (double)HUSK__WAKING_TIME / (double)minimum * SHARE_MULTIPLE;
    map->share = SHARE_MULTIPLE * husk__group_share(traits, units, unit_time);
    map->range = (husk__range){{(size_t)husk__divide_up(map->total, map->share), 1, 1}, {1, 1, 1}};
    map->streams = traits->global_cache > 0 && bytes * (uint64_t)map->total > traits->global_cache;
    return husk__kernel_get(context, file, options, kernel, &map->kernel, scope);
}

// Whether what lies side by side in all tensors comes in fours.
static bool has_fours(const husk__walk *walk)
{
    if (walk->rank == 0)
        return false;
    const husk__walk_dimension *last = &walk->dimensions[walk->rank - 1];
    bool has = last->strides[HUSK__WALK_Y] == 1 && (walk->rank == 1 || last->extent % 4 == 0);
    for (int t = HUSK__WALK_U; t < HUSK__WALK_TENSORS; ++t)
        has = has && (last->strides[t] == 0 || last->strides[t] == 1);
    return has;
}

husk_status husk__map_prepare_grid(husk_context *context, const char *file, const char *options, const char *kernel,
                                   int64_t items, husk__map *map, const husk__scope *scope)
{
    const int64_t most = GRID_GROUPS_PER_UNIT * (int64_t)husk_context_traits(context)->compute_units;
    map->total = husk__walk_count(&map->walk);
    map->by_fours = has_fours(&map->walk);
    const int64_t pieces = husk__divide_up(map->total, map->by_fours ? 4 : 1);
    const size_t groups = (size_t)husk__min_i64(husk__divide_up(pieces, items), most);
    map->range = (husk__range){{groups, 1, 1}, {(size_t)items, 1, 1}};
    char all[192];
    const bool needs_index_64 = husk__needs_index_64(context, husk__walk_reach(&map->walk));
    snprintf(all, sizeof all, "%s%s", options, needs_index_64 ? " -DINDEX_64" : "");
    return husk__kernel_get(context, file, all, kernel, &map->kernel, scope);
}

// What has just been read is in the caches anyway.
static bool is_read(const husk__map_run *run)
{
    const husk_buffer *y = run->y->buffer;
    return run->adds || run->u->buffer == y || (run->v && run->v->buffer == y) || (run->w && run->w->buffer == y);
}

husk_status husk__map_launch(const husk__map *map, husk_queue *queue, const husk__map_run *run,
                             const husk__scope *scope)
{
    const husk__walk_values values = husk__walk_prepare(&map->walk);
    husk__arg list[4 + HUSK__WALK_ARGS + 8];
    husk__arg *end = list;
    *end++ = HUSK__ARG_TENSOR(run->y);
    *end++ = HUSK__ARG_TENSOR(run->u);
    *end++ = HUSK__ARG_TENSOR(run->v ? run->v : run->u);
    *end++ = HUSK__ARG_TENSOR(run->w ? run->w : run->u);
    end = husk__walk_write_args(&values, HUSK__WALK_TENSORS, end);
    *end++ = HUSK__ARG_I32(HUSK_MAX_RANK - map->walk.rank);
    *end++ = HUSK__ARG_I64(map->total);
    *end++ = HUSK__ARG_I64(map->share);
    *end++ = HUSK__ARG_I32((run->adds ? ADDS : 0) | (map->streams && !is_read(run) ? STREAMS : 0) |
                           (map->by_fours ? FOURS : 0));
    *end++ = HUSK__ARG_I32(run->kind);
    for (int i = 0; i < 3; ++i)
        *end++ = HUSK__ARG_F32(run->numbers[i]);
    return husk__launch(queue, map->kernel, &map->range, list, (size_t)(end - list), scope);
}
