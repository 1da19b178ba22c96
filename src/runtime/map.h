/* SPDX-License-Identifier: MIT */
/*
 * runtime/map.h: launching kernels of y = element(u, v, w), every element by itself: cl/lib/map.clh.
 */
#ifndef HUSK_RUNTIME_MAP_H
#define HUSK_RUNTIME_MAP_H

#include "runtime/walk.h"

/* Everything a launch needs but the tensors. */
typedef struct husk__map {
    const husk__kernel *kernel;
    husk__walk walk;
    int64_t total; /* elements */
    int64_t share; /* CPU devices: elements a work-group takes */
    bool streams;  /* the tensors are more than the caches hold */
    bool by_fours; /* grid: elements lie side by side, four and four */
    husk__range range;
} husk__map;

/* What a run is given beside. */
typedef struct husk__map_run {
    const husk_tensor *y, *u, *v, *w; /* v and w may be NULL: u once more */
    bool adds;                        /* y += */
    int32_t kind;                     /* element()'s */
    float numbers[3];
} husk__map_run;

/*
 * For CPU devices and for GPUs: builds the program, options being the operator's own. `minimum` elements take as long
 * as waking a thread; bytes: of an element in all tensors together. items: work-items a group. map->walk must be there
 * before.
 */
husk_status husk__map_prepare_vector(husk_context *context, const char *file, const char *options, const char *kernel,
                                     int64_t minimum, uint64_t bytes, husk__map *map, const husk__scope *scope);
husk_status husk__map_prepare_grid(husk_context *context, const char *file, const char *options, const char *kernel,
                                   int64_t items, husk__map *map, const husk__scope *scope);

husk_status husk__map_launch(const husk__map *map, husk_queue *queue, const husk__map_run *run,
                             const husk__scope *scope);

#endif
