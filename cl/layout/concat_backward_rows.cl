// SPDX-License-Identifier: MIT
// A tensor's slices into tensors of their own, or added to them, for CPU devices: lib/concat_rows.clh.
#define CONCAT_SPLITS
#include "lib/concat_rows.clh"

CONCAT_ROWS_KERNEL(husk_concat_backward_rows)
