// SPDX-License-Identifier: MIT
// Tensors one after the other along a dimension, for CPU devices: lib/concat_rows.clh. Bound by memory: every element
// is read once and written once.
#include "lib/concat_rows.clh"

CONCAT_ROWS_KERNEL(husk_concat_rows)
