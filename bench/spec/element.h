/* SPDX-License-Identifier: MIT */
/*
 * bench/spec/element.h: the element types of OpenCL C that arguments and buffers of a described kernel have, and their
 * numbers in host memory.
 */
#ifndef BENCH_SPEC_ELEMENT_H
#define BENCH_SPEC_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum bench_element {
    BENCH_ELEMENT_CHAR,
    BENCH_ELEMENT_UCHAR,
    BENCH_ELEMENT_SHORT,
    BENCH_ELEMENT_USHORT,
    BENCH_ELEMENT_INT,
    BENCH_ELEMENT_UINT,
    BENCH_ELEMENT_LONG,
    BENCH_ELEMENT_ULONG,
    BENCH_ELEMENT_HALF,
    BENCH_ELEMENT_FLOAT,
    BENCH_ELEMENT_DOUBLE,
    BENCH_ELEMENTS /* how many there are */
} bench_element;

/* OpenCL C's name, "uint"; NULL past the end. */
const char *bench_element_name(bench_element element);
/* By OpenCL C's name or the short one (i8 u8 i16 u16 i32 u32 i64 u64 f16 f32 f64); BENCH_ELEMENTS: neither. */
bench_element bench_element_find(const char *name);

size_t bench_element_bytes(bench_element element);
bool bench_element_is_real(bench_element element);
/* What integers hold. ULONG's largest is INT64_MAX here: expressions count in 64 bits with a sign. */
int64_t bench_element_least(bench_element element);
int64_t bench_element_most(bench_element element);

/* Bits of the significand, the hidden one counted: 24 for float. */
int bench_element_precision(bench_element element);
/* The smallest normal number: what a flushed denormal is below. */
double bench_element_smallest(bench_element element);
/* The largest finite number. */
double bench_element_largest(bench_element element);

/* The number at a position. Integers of 64 bits are rounded to double; bench_element_integer has them as they are. */
double bench_element_load(bench_element element, const void *data, int64_t at);
/* Of integer types: its bits, extended by its sign to 64; ULONG past INT64_MAX wraps around. */
int64_t bench_element_integer(bench_element element, const void *data, int64_t at);
/* Rounded to nearest, ties to even; integers are cut to their type's bits. */
void bench_element_store(bench_element element, void *data, int64_t at, double value);
void bench_element_store_integer(bench_element element, void *data, int64_t at, int64_t value);

#endif
