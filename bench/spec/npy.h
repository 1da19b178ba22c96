/* SPDX-License-Identifier: MIT */
/*
 * bench/spec/npy.h: arrays in NumPy's format (numpy.lib.format, versions 1 to 3): of one of our element types, in
 * little-endian, C order.
 */
#ifndef BENCH_SPEC_NPY_H
#define BENCH_SPEC_NPY_H

#include "spec/element.h"
#include "common/text.h"

/* Reads count elements; a file of another type, or of more or fewer elements, is refused. The file is untrusted. */
bool bench_npy_read(const char *path, bench_element element, int64_t count, void *data, char reason[BENCH_REASON_TEXT]);
/* The same of bytes in memory. */
bool bench_npy_parse(const char *path, const void *bytes, size_t size, bench_element element, int64_t count, void *data,
                     char reason[BENCH_REASON_TEXT]);

#endif
