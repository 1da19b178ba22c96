/* SPDX-License-Identifier: MIT */
/* bench/spec/parse_argument.h: buffers and arguments of a kernel: the lines behind "arg" and "buffer". */
#ifndef BENCH_SPEC_PARSE_ARGUMENT_H
#define BENCH_SPEC_PARSE_ARGUMENT_H

#include "spec/spec.h"

/* Behind "arg": one or several, n int = n, a float = 0.5. */
bool bench_parse_arguments(bench_scan *scan, bench_spec *spec);

/* Behind a buffer's name, which stands at the column: float[n] in = uniform(-1, 1). Its number; -1: a mistake. */
int bench_parse_buffer(bench_scan *scan, bench_spec *spec, const char *name, int column, bool is_constant,
                       bool may_be_scratch);
/* One more argument of a launch; NULL: there are too many. */
bench_argument *bench_parse_add_argument(bench_scan *scan, bench_step *step);
/* Behind "local": float[64]. */
bool bench_parse_local_argument(bench_scan *scan, bench_spec *spec, bench_argument *argument);

#endif
