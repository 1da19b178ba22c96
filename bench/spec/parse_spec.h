/* SPDX-License-Identifier: MIT */
/* bench/spec/parse_spec.h: the lines of one kernel's description, each by its first word. */
#ifndef BENCH_SPEC_PARSE_SPEC_H
#define BENCH_SPEC_PARSE_SPEC_H

#include "spec/spec.h"

/* Behind "kernel" or "pipeline": its name and where its program is. spec: all zero. */
bool bench_parse_heading(bench_scan *scan, bench_spec *spec, bool is_pipeline);
/* A line inside it, from its first word on. */
bool bench_parse_line(bench_scan *scan, bench_spec *spec);
/* Whether something is missing, once all lines are read. */
bool bench_parse_check(bench_scan *scan, const bench_spec *spec);

#endif
