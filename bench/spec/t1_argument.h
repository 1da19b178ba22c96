/* SPDX-License-Identifier: MIT */
/* bench/spec/t1_argument.h: the arguments of a T1 document's kernel, and what is expected of them. */
#ifndef BENCH_SPEC_T1_ARGUMENT_H
#define BENCH_SPEC_T1_ARGUMENT_H

#include "spec/t1_document.h"

/* KernelSpecification.Arguments, and SharedMemory, which is one more local argument behind them. */
bool bench_t1_arguments(bench_t1 *t, const json_t *specification);

/*
 * ReferenceArguments. An output without one has to be repeatable, and nothing else is expected of it. Call this last:
 * references name arguments.
 */
bool bench_t1_references(bench_t1 *t, const json_t *specification);

#endif
