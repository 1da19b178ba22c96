/* SPDX-License-Identifier: MIT */
/*
 * train/shared_memory.h: tensors of a network share memory, and nobody notices.
 */
#ifndef HUSK_TESTS_SHARED_MEMORY_H
#define HUSK_TESTS_SHARED_MEMORY_H

#include <husk/train.h>

/*
 * A network is compiled twice, with memory of its own for every tensor (keep_values), and with memory that is shared.
 * Of the latter no two tensors' times overlap where their bytes do, but where one call makes one of the other; and
 * after three steps of Adam, each begun with a memory full of NaN, both have the same bits. build gives the loss.
 */
void test_memory_is_shared_rightly(husk_dtype dtype, husk_value (*build)(husk_graph *graph),
                                   void (*fill)(husk_graph *graph));

#endif
