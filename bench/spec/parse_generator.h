/* SPDX-License-Identifier: MIT */
/* bench/spec/parse_generator.h: what a buffer holds before the kernel runs: the words behind its "=". */
#ifndef BENCH_SPEC_PARSE_GENERATOR_H
#define BENCH_SPEC_PARSE_GENERATOR_H

#include "spec/spec.h"

bool bench_parse_generator(bench_scan *scan, bench_spec *spec, const bench_buffer *buffer, bench_generator *generator);

#endif
