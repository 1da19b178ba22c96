// SPDX-License-Identifier: MIT
// Tensors one after the other along a dimension, for GPUs: lib/concat_grid.clh.
#include "lib/concat_grid.clh"

// registers husk_concat_grid: nvidia 40, amd 40
CONCAT_GRID_KERNEL(husk_concat_grid)
