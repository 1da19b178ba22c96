/* SPDX-License-Identifier: MIT */
/*
 * bench/cases/op_lists.h: what lists elsewhere have of an operator stands in one file, bench/cases/FAMILY/NAME.txt: an
 * entry a line, under a heading that names its list, "[smoke]", or several, "[smoke races]". `#` begins a comment line.
 *
 *   operators   rows of docs/operators.md, without the variants: the operator's, and one for each gradient
 *   smoke       cases of the suite smoke: every kernel is met; every option that matters
 *   ragged      cases of the suite ragged: each size is 1 or no multiple of 4; every variant computes one
 *   races       cases for the simulator (tests/tools/check_oclgrind.sh), which may name one: "CASE --variant NAME"
 *   memory      the same, smaller; races and memory meet every kernel three times
 *   zeros       what 0 means in members of the params struct (tests/train/test_zeros.c)
 *   writes      for each row a store that is moved past the output's end (tests/bench/test_planted_writes.c)
 */
#ifndef BENCH_CASES_OP_LISTS_H
#define BENCH_CASES_OP_LISTS_H

/* All operators' lines of a list, in the order of husk_add_op: a text to be freed. NULL: memory is short. */
char *bench_op_lists(const char *list);

#endif
