/* SPDX-License-Identifier: MIT */
/*
 * bench/compare/compare.h: two runs of the same cases on the same device: what became slower, what faster, and what
 * cannot be told from noise. docs/clbench.md, "Comparing", says how it is decided.
 */
#ifndef BENCH_COMPARE_COMPARE_H
#define BENCH_COMPARE_COMPARE_H

#include "compare/comparison.h"

/*
 * Compares the rows of one device of each document. The documents were read by bench_result_read and must outlive the
 * comparison. is_same_device: they may be normalised by the sentinel. False: memory is short.
 */
bool bench_compare(const json_t *old_document, size_t old_device, const json_t *new_document, size_t new_device,
                   bool is_same_device, bench_comparison *comparison);

#endif
