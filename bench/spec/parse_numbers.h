/* SPDX-License-Identifier: MIT */
/*
 * bench/spec/parse_numbers.h: the values that parameters and sizes are given: the lines behind "config", "size"
 * and "measure".
 */
#ifndef BENCH_SPEC_PARSE_NUMBERS_H
#define BENCH_SPEC_PARSE_NUMBERS_H

#include "spec/spec.h"

bool bench_parse_configs(bench_scan *scan, bench_spec *spec);
bool bench_parse_sizes(bench_scan *scan, bench_spec *spec);
bool bench_parse_measured(bench_scan *scan, bench_spec *spec);

#endif
