/* SPDX-License-Identifier: MIT */
/*
 * ops/conv/tiles.h: implicit matrix products on GPUs, of which convolution and its gradients each have one: the tiles
 * of work-groups, multiplied by plain arithmetic (variants tiled) or by a matrix engine (variants matrix).
 */
#ifndef HUSK_OPS_CONV_TILES_H
#define HUSK_OPS_CONV_TILES_H

#include "base/text.h"
#include "ops/conv/problem.h"

/* C of lines x columns in each group, its elements sums of so many products. A has the lines, B the columns. */
typedef struct husk__conv_tiles {
    int64_t groups, lines, columns, steps;
    int64_t slices; /* of the steps; 1 where work-groups do not share them */
} husk__conv_tiles;

/* Named for the work-group's tile. What the numbers of a configuration mean; no ITEM_M marks an engine's. */
enum { HUSK__TILE_M, HUSK__TILE_N, HUSK__TILE_ITEM_M, HUSK__TILE_ITEM_N, HUSK__TILE_STEPS };
enum { HUSK__CONV_TILED_MENU = 4, HUSK__CONV_MATRIX_MENU = 3 };
/* An engine's: at most 32 steps of a tile lie in local memory, to which packed weights are rounded up. */
#define HUSK__CONV_MATRIX_TILE(side) {#side "x" #side, "", {side, side, 0, 0, 32}}
#define HUSK__CONV_MATRIX_TILES HUSK__CONV_MATRIX_TILE(128), HUSK__CONV_MATRIX_TILE(64), HUSK__CONV_MATRIX_TILE(32)
extern const husk__configuration husk__conv_tiled_menu[HUSK__CONV_TILED_MENU];
extern const husk__configuration husk__conv_matrix_menu[HUSK__CONV_MATRIX_MENU];

/* Whether an engine may be there, and its tiles fit: prepare() sees whether it is. */
bool husk__conv_matrix_supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY]);
/* Whole rounds of work-groups over the compute units: a large tile is no use where it leaves units idle. */
double husk__conv_tiles_cost(const husk__candidate *candidate, const husk__conv_tiles *tiles);

/*
 * Tiles of C, each slice's by themselves, as work-groups: columns, then lines of one slice and group after another in
 * two dimensions (CONV_PLACE of cl/lib/convolution.clh). items is what husk__conv_tiles_configure answers.
 */
husk__range husk__conv_tiles_range(const husk__configuration *configuration, const husk__conv_tiles *tiles,
                                   int64_t items);
/*
 * -D options of the plan's configuration; for an engine, which has to pass its probe, its own, and the plan's error
 * factor is set.
 */
husk_status husk__conv_tiles_configure(husk_plan *plan, int64_t steps, husk__text *options, int64_t *items,
                                       const husk__scope *scope);

/*
 * Where A are weights that a kernel packs (cl/lib/packed_lines.clh): how many elements of the accumulator's size they
 * take, and the work-groups of the kernel that packs them.
 */
int64_t husk__conv_tiles_packed_count(const husk__configuration *configuration, const husk__conv_tiles *tiles);
husk__range husk__conv_tiles_pack_range(const husk__configuration *configuration, const husk__conv_tiles *tiles);
/* The whole of such a variant's prepare(): state, kernels, ranges. */
husk_status husk__conv_tiles_prepare(husk_plan *plan, const husk__conv_tiles *tiles, const char *file,
                                     const char *kernel, const char *pack, const husk__scope *scope);

#endif
