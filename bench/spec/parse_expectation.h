/* SPDX-License-Identifier: MIT */
/* bench/spec/parse_expectation.h: what a buffer should hold when the kernel has run: the line behind "expect". */
#ifndef BENCH_SPEC_PARSE_EXPECTATION_H
#define BENCH_SPEC_PARSE_EXPECTATION_H

#include "spec/spec.h"

bool bench_parse_expectation(bench_scan *scan, bench_spec *spec);

#endif
