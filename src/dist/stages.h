/* SPDX-License-Identifier: MIT */
/*
 * dist/stages.h: what the stages of a network say of themselves and of the links between them.
 */
#ifndef HUSK_DIST_STAGES_H
#define HUSK_DIST_STAGES_H

#include "dist/rank.h"

enum { HUSK__MOST_LINKS = 8 };

/* What a stage says of a link. */
typedef struct husk__link_shape {
    int32_t dtype, rank, has_gradient;
    int64_t extents[HUSK_MAX_RANK];
} husk__link_shape;

typedef struct husk__stage_description {
    uint32_t micro_batches, previous_count, next_count, has_loss;
    husk__link_shape previous[HUSK__MOST_LINKS], next[HUSK__MOST_LINKS];
} husk__stage_description;

/* The shapes of this graph's links; refused where one breaks a rule. */
husk_status husk__stage_describe(husk_graph *graph, const husk_pipeline_link *links, size_t count,
                                 husk__link_shape *shapes, const char *argument, const husk__dist_scope *scope);
/* Together: refused where stages do not fit each other. */
husk_status husk__stages_compare(husk_dist *dist, const husk__stage_description *own, const husk__dist_scope *scope);

#endif
