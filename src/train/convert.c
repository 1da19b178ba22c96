// SPDX-License-Identifier: MIT
#include "train/convert.h"

#include <math.h>
#include <string.h>

// IEEE 754's binary formats of 16 bits: the bits of exponent and fraction.
typedef struct format {
    int exponent, fraction;
} format;

static format format_of(husk_dtype dtype)
{
    return dtype == HUSK_F16 ? (format){5, 10} : (format){8, 7};
}

bool husk__is_floating(int32_t dtype)
{
    return dtype == HUSK_F16 || dtype == HUSK_BF16 || dtype == HUSK_F32 || dtype == HUSK_F64;
}

static double widen(uint16_t bits, format of)
{
    const int most = (1 << of.exponent) - 1, bias = most / 2;
    const int exponent = bits >> of.fraction & most, fraction = bits & ((1 << of.fraction) - 1);
    double size;
    if (exponent == most)
        size = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        size = ldexp(fraction, 1 - bias - of.fraction);
    else
        size = ldexp(fraction + (1 << of.fraction), exponent - bias - of.fraction);
    return bits & 0x8000 ? -size : size;
}

static uint16_t narrow(double value, format to)
{
    const int most = (1 << to.exponent) - 1, bias = most / 2;
    const uint16_t sign = signbit(value) ? 0x8000 : 0, infinity = (uint16_t)(most << to.fraction);
    const double size = fabs(value);
    if (isnan(value))
        return (uint16_t)(sign | infinity | 1 << (to.fraction - 1));
    if (size == 0 || isinf(size))
        return size == 0 ? sign : sign | infinity;
    int exponent;
    frexp(size, &exponent); // size < 2^exponent
    const int least = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    // In units of the last place: below 2^fraction a denormal, and 2^(fraction + 1) carries into the exponent.
    const double units = rint(ldexp(size, to.fraction - least));
    const double bits = units + ldexp(least + bias - 1, to.fraction);
    return sign | (bits < infinity ? (uint16_t)bits : infinity);
}

double husk__load_element(const void *from, husk_dtype dtype)
{
    double f64;
    float f32;
    uint16_t bits;
    switch (dtype) {
    case HUSK_F64:
        memcpy(&f64, from, sizeof f64);
        return f64;
    case HUSK_F32:
        memcpy(&f32, from, sizeof f32);
        return (double)f32;
    default:
        memcpy(&bits, from, sizeof bits);
        return widen(bits, format_of(dtype));
    }
}

void husk__store_element(void *to, husk_dtype dtype, double value)
{
    const float f32 = (float)value;
    uint16_t bits;
    switch (dtype) {
    case HUSK_F64:
        memcpy(to, &value, sizeof value);
        break;
    case HUSK_F32:
        memcpy(to, &f32, sizeof f32);
        break;
    default:
        bits = narrow(value, format_of(dtype));
        memcpy(to, &bits, sizeof bits);
    }
}

double husk__rounded(husk_dtype dtype, double value)
{
    char element[8];
    husk__store_element(element, dtype, value);
    return husk__load_element(element, dtype);
}

uint64_t husk__convert(void *to, husk_dtype to_dtype, const void *from, husk_dtype from_dtype, uint64_t count)
{
    char *element = to;
    for (uint64_t i = 0; i < count; i++, element += husk_dtype_size(to_dtype)) {
        const double value = husk__load_element((const char *)from + i * husk_dtype_size(from_dtype), from_dtype);
        husk__store_element(element, to_dtype, value);
        if (isinf(husk__load_element(element, to_dtype)) && !isinf(value))
            return i;
    }
    return count;
}
