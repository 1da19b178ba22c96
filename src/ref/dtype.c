// SPDX-License-Identifier: MIT
// f16 and bf16 on the host: IEEE 754 binary16, and the upper half of binary32. Rounded to nearest, ties to even.
#include "ref/dtype.h"

#include <math.h>
#include <string.h>

// digits: of the significand, the leading one included; least: the exponent of the smallest normal number.
static double round_to(double value, int digits, int least)
{
    if (value == 0.0 || !isfinite(value))
        return value;
    int exponent;
    frexp(value, &exponent); // |value| is in [2^(exponent - 1), 2^exponent)
    exponent = exponent - 1 < least ? least : exponent - 1;
    return ldexp(nearbyint(ldexp(value, digits - 1 - exponent)), exponent - digits + 1);
}

double husk_ref_round(husk_dtype dtype, double value)
{
    double rounded;
    switch (dtype) {
    case HUSK_F16:
        rounded = round_to(value, 11, -14);
        return fabs(rounded) > 65504.0 ? copysign(INFINITY, value) : rounded;
    case HUSK_BF16:
        rounded = round_to(value, 8, -126);
        return fabs(rounded) > 3.3895313892515355e38 ? copysign(INFINITY, value) : rounded;
    case HUSK_F32:
        return (double)(float)value;
    default:
        return value;
    }
}

double husk_ref_bound_in(husk_dtype dtype, double bound)
{
    return dtype == HUSK_F64 ? ldexp(bound, -28) : bound;
}

double husk_ref_round_bound(husk_dtype dtype, double magnitude)
{
    int exponent = 0;
    if (dtype != HUSK_F16 && dtype != HUSK_BF16)
        return 0.0;
    const double least = dtype == HUSK_F16 ? ldexp(1.0, -25) : HUSK_REF_TINY; // bf16's denormals may be flushed
    if (magnitude == 0.0) // whose exponent frexp says to be 0
        return least;
    frexp(magnitude, &exponent); // magnitude < 2^exponent: half a unit in the last place, or of the denormals
    return fmax(ldexp(1.0, exponent - (dtype == HUSK_F16 ? 12 : 9)), least);
}

double husk_ref_f16_load(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
                   : exponent == 0 ? ldexp(fraction, -24)
                                   : ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -value : value;
}

uint16_t husk_ref_f16_store(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    if (isnan(value))
        return (uint16_t)(sign | 0x7e00);
    double rounded = fabs(husk_ref_round(HUSK_F16, value));
    if (isinf(rounded))
        return (uint16_t)(sign | 0x7c00);
    if (rounded < ldexp(1.0, -14))
        return (uint16_t)(sign | (uint16_t)ldexp(rounded, 24));
    int exponent;
    double fraction = frexp(rounded, &exponent); // in [0.5, 1)
    return (uint16_t)(sign | (uint16_t)((exponent + 14) << 10) | ((uint16_t)ldexp(fraction, 11) & 1023));
}

double husk_ref_bf16_load(uint16_t bits)
{
    uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof(value));
    return (double)value;
}

uint16_t husk_ref_bf16_store(double value)
{
    if (isnan(value))
        return 0x7fc0;
    float rounded = (float)husk_ref_round(HUSK_BF16, value);
    uint32_t word;
    memcpy(&word, &rounded, sizeof(word));
    return (uint16_t)(word >> 16);
}
