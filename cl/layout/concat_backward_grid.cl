// SPDX-License-Identifier: MIT
// A tensor's slices into tensors of their own, or added to them, for GPUs: lib/concat_grid.clh.
#define CONCAT_SPLITS
#include "lib/concat_grid.clh"

// registers husk_concat_backward_grid: nvidia 40, amd 40
CONCAT_GRID_KERNEL(husk_concat_backward_grid)
