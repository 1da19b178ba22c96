// SPDX-License-Identifier: MIT
#include "spec/element.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "ref/dtype.h"

typedef struct traits {
    const char *name, *short_name;
    size_t bytes;
    bool is_real;
    int64_t least, most;
    int precision;
    double smallest, largest;
} traits;

static const traits table[] = {
    [BENCH_ELEMENT_CHAR] = {"char", "i8", 1, false, INT8_MIN, INT8_MAX, 7, 1, INT8_MAX},
    [BENCH_ELEMENT_UCHAR] = {"uchar", "u8", 1, false, 0, UINT8_MAX, 8, 1, UINT8_MAX},
    [BENCH_ELEMENT_SHORT] = {"short", "i16", 2, false, INT16_MIN, INT16_MAX, 15, 1, INT16_MAX},
    [BENCH_ELEMENT_USHORT] = {"ushort", "u16", 2, false, 0, UINT16_MAX, 16, 1, UINT16_MAX},
    [BENCH_ELEMENT_INT] = {"int", "i32", 4, false, INT32_MIN, INT32_MAX, 31, 1, INT32_MAX},
    [BENCH_ELEMENT_UINT] = {"uint", "u32", 4, false, 0, UINT32_MAX, 32, 1, UINT32_MAX},
    [BENCH_ELEMENT_LONG] = {"long", "i64", 8, false, INT64_MIN, INT64_MAX, 63, 1, 0x1p63},
    [BENCH_ELEMENT_ULONG] = {"ulong", "u64", 8, false, 0, INT64_MAX, 63, 1, 0x1p63},
    [BENCH_ELEMENT_HALF] = {"half", "f16", 2, true, 0, 0, 11, 0x1p-14, 65504},
    [BENCH_ELEMENT_FLOAT] = {"float", "f32", 4, true, 0, 0, 24, FLT_MIN, FLT_MAX},
    [BENCH_ELEMENT_DOUBLE] = {"double", "f64", 8, true, 0, 0, 53, DBL_MIN, DBL_MAX},
};

const char *bench_element_name(bench_element element)
{
    return element < BENCH_ELEMENTS ? table[element].name : NULL;
}

bench_element bench_element_find(const char *name)
{
    for (size_t i = 0; i < BENCH_ELEMENTS; i++) {
        if (!strcmp(table[i].name, name) || !strcmp(table[i].short_name, name))
            return (bench_element)i;
    }
    return BENCH_ELEMENTS;
}

size_t bench_element_bytes(bench_element element)
{
    return table[element].bytes;
}

bool bench_element_is_real(bench_element element)
{
    return table[element].is_real;
}

int64_t bench_element_least(bench_element element)
{
    return table[element].least;
}

int64_t bench_element_most(bench_element element)
{
    return table[element].most;
}

int bench_element_precision(bench_element element)
{
    return table[element].precision;
}

double bench_element_smallest(bench_element element)
{
    return table[element].smallest;
}

double bench_element_largest(bench_element element)
{
    return table[element].largest;
}

int64_t bench_element_integer(bench_element element, const void *data, int64_t at)
{
    switch (element) {
    case BENCH_ELEMENT_CHAR:
        return ((const int8_t *)data)[at];
    case BENCH_ELEMENT_UCHAR:
        return ((const uint8_t *)data)[at];
    case BENCH_ELEMENT_SHORT:
        return ((const int16_t *)data)[at];
    case BENCH_ELEMENT_USHORT:
        return ((const uint16_t *)data)[at];
    case BENCH_ELEMENT_INT:
        return ((const int32_t *)data)[at];
    case BENCH_ELEMENT_UINT:
        return ((const uint32_t *)data)[at];
    default:
        return ((const int64_t *)data)[at];
    }
}

double bench_element_load(bench_element element, const void *data, int64_t at)
{
    switch (element) {
    case BENCH_ELEMENT_HALF:
        return husk_ref_f16_load(((const uint16_t *)data)[at]);
    case BENCH_ELEMENT_FLOAT:
        return (double)((const float *)data)[at];
    case BENCH_ELEMENT_DOUBLE:
        return ((const double *)data)[at];
    case BENCH_ELEMENT_ULONG:
        return (double)((const uint64_t *)data)[at];
    default:
        return (double)bench_element_integer(element, data, at);
    }
}

void bench_element_store_integer(bench_element element, void *data, int64_t at, int64_t value)
{
    const uint64_t bits = (uint64_t)value;
    switch (table[element].bytes) {
    case 1:
        ((uint8_t *)data)[at] = (uint8_t)bits;
        break;
    case 2:
        ((uint16_t *)data)[at] = (uint16_t)bits;
        break;
    case 4:
        ((uint32_t *)data)[at] = (uint32_t)bits;
        break;
    default:
        ((uint64_t *)data)[at] = bits;
        break;
    }
}

void bench_element_store(bench_element element, void *data, int64_t at, double value)
{
    switch (element) {
    case BENCH_ELEMENT_HALF:
        ((uint16_t *)data)[at] = husk_ref_f16_store(value);
        break;
    case BENCH_ELEMENT_FLOAT:
        ((float *)data)[at] = (float)value;
        break;
    case BENCH_ELEMENT_DOUBLE:
        ((double *)data)[at] = value;
        break;
    default: {
        const double nearest = rint(value);
        const bool fits = nearest >= -0x1p63 && nearest < 0x1p63;
        bench_element_store_integer(element, data, at, fits ? (int64_t)nearest : nearest > 0 ? INT64_MAX : INT64_MIN);
        break;
    }
    }
}
