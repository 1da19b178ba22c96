// SPDX-License-Identifier: MIT
#include "spec/function.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static double reciprocal_root(double x)
{
    return 1 / sqrt(x);
}

static double power_of_ten(double x)
{
    return pow(10, x);
}

// As OpenCL C defines them: y where x < y, so that a NaN in x stays and one in y does not come in.
static double larger(double x, double y)
{
    return x < y ? y : x;
}

static double smaller(double x, double y)
{
    return y < x ? y : x;
}

static double clamped(double x, double low, double high)
{
    return smaller(larger(x, low), high);
}

static double sign_of(double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : isnan(x) ? 0 : x;
}

static const bench_function table[] = {
    {"abs", 1, fabs, NULL, NULL, 0, 0, BENCH_SHAPE_SLOPE_1, -INFINITY, INFINITY, true},
    {"fabs", 1, fabs, NULL, NULL, 0, 0, BENCH_SHAPE_SLOPE_1, -INFINITY, INFINITY, false},
    {"sqrt", 1, sqrt, NULL, NULL, 3, 0.5, BENCH_SHAPE_MONOTONE, 0, INFINITY, false},
    {"rsqrt", 1, reciprocal_root, NULL, NULL, 2, 2, BENCH_SHAPE_MONOTONE, 0, INFINITY, false},
    {"cbrt", 1, cbrt, NULL, NULL, 2, 2, BENCH_SHAPE_MONOTONE, -INFINITY, INFINITY, false},
    {"exp", 1, exp, NULL, NULL, 3, 3, BENCH_SHAPE_MONOTONE, -INFINITY, INFINITY, false},
    {"exp2", 1, exp2, NULL, NULL, 3, 3, BENCH_SHAPE_MONOTONE, -INFINITY, INFINITY, false},
    {"exp10", 1, power_of_ten, NULL, NULL, 3, 3, BENCH_SHAPE_MONOTONE, -INFINITY, INFINITY, false},
    {"expm1", 1, expm1, NULL, NULL, 3, 3, BENCH_SHAPE_MONOTONE, -INFINITY, INFINITY, false},
    {"log", 1, log, NULL, NULL, 3, 3, BENCH_SHAPE_MONOTONE, 0, INFINITY, false},
    {"log2", 1, log2, NULL, NULL, 3, 3, BENCH_SHAPE_MONOTONE, 0, INFINITY, false},
    {"log10", 1, log10, NULL, NULL, 3, 3, BENCH_SHAPE_MONOTONE, 0, INFINITY, false},
    {"log1p", 1, log1p, NULL, NULL, 2, 2, BENCH_SHAPE_MONOTONE, -1, INFINITY, false},
    {"sin", 1, sin, NULL, NULL, 4, 4, BENCH_SHAPE_SLOPE_1, -INFINITY, INFINITY, false},
    {"cos", 1, cos, NULL, NULL, 4, 4, BENCH_SHAPE_SLOPE_1, -INFINITY, INFINITY, false},
    {"tan", 1, tan, NULL, NULL, 5, 5, BENCH_SHAPE_TAN, -INFINITY, INFINITY, false},
    {"asin", 1, asin, NULL, NULL, 4, 4, BENCH_SHAPE_MONOTONE, -1, 1, false},
    {"acos", 1, acos, NULL, NULL, 4, 4, BENCH_SHAPE_MONOTONE, -1, 1, false},
    {"atan", 1, atan, NULL, NULL, 5, 5, BENCH_SHAPE_MONOTONE, -INFINITY, INFINITY, false},
    {"sinh", 1, sinh, NULL, NULL, 4, 4, BENCH_SHAPE_MONOTONE, -INFINITY, INFINITY, false},
    {"cosh", 1, cosh, NULL, NULL, 4, 4, BENCH_SHAPE_MONOTONE, -INFINITY, INFINITY, false},
    {"tanh", 1, tanh, NULL, NULL, 5, 5, BENCH_SHAPE_MONOTONE, -INFINITY, INFINITY, false},
    {"erf", 1, erf, NULL, NULL, 16, 16, BENCH_SHAPE_MONOTONE, -INFINITY, INFINITY, false},
    {"erfc", 1, erfc, NULL, NULL, 16, 16, BENCH_SHAPE_MONOTONE, -INFINITY, INFINITY, false},
    {"floor", 1, floor, NULL, NULL, 0, 0, BENCH_SHAPE_STEP, -INFINITY, INFINITY, true},
    {"ceil", 1, ceil, NULL, NULL, 0, 0, BENCH_SHAPE_STEP, -INFINITY, INFINITY, true},
    {"trunc", 1, trunc, NULL, NULL, 0, 0, BENCH_SHAPE_STEP, -INFINITY, INFINITY, true},
    {"round", 1, round, NULL, NULL, 0, 0, BENCH_SHAPE_STEP, -INFINITY, INFINITY, true},
    {"rint", 1, rint, NULL, NULL, 0, 0, BENCH_SHAPE_STEP, -INFINITY, INFINITY, true},
    {"sign", 1, sign_of, NULL, NULL, 0, 0, BENCH_SHAPE_STEP, -INFINITY, INFINITY, true},
    {"pow", 2, NULL, pow, NULL, 16, 16, BENCH_SHAPE_CORNERS, -INFINITY, INFINITY, false},
    {"hypot", 2, NULL, hypot, NULL, 4, 4, BENCH_SHAPE_CORNERS, -INFINITY, INFINITY, false},
    {"atan2", 2, NULL, atan2, NULL, 6, 6, BENCH_SHAPE_CORNERS, -INFINITY, INFINITY, false},
    {"fmod", 2, NULL, fmod, NULL, 0, 0, BENCH_SHAPE_WRAP, -INFINITY, INFINITY, false},
    {"fmin", 2, NULL, fmin, NULL, 0, 0, BENCH_SHAPE_CORNERS, -INFINITY, INFINITY, false},
    {"fmax", 2, NULL, fmax, NULL, 0, 0, BENCH_SHAPE_CORNERS, -INFINITY, INFINITY, false},
    {"min", 2, NULL, smaller, NULL, 0, 0, BENCH_SHAPE_CORNERS, -INFINITY, INFINITY, true},
    {"max", 2, NULL, larger, NULL, 0, 0, BENCH_SHAPE_CORNERS, -INFINITY, INFINITY, true},
    {"copysign", 2, NULL, copysign, NULL, 0, 0, BENCH_SHAPE_CORNERS, -INFINITY, INFINITY, false},
    {"fma", 3, NULL, NULL, fma, 0.5, 0.5, BENCH_SHAPE_CORNERS, -INFINITY, INFINITY, false},
    {"clamp", 3, NULL, NULL, clamped, 0, 0, BENCH_SHAPE_CORNERS, -INFINITY, INFINITY, true},
};

const bench_function *bench_function_get(int index)
{
    return index >= 0 && (size_t)index < sizeof table / sizeof *table ? &table[index] : NULL;
}

const bench_function *bench_function_find(const char *name)
{
    const bench_function *function;
    for (int i = 0; (function = bench_function_get(i)); i++) {
        if (!strcmp(function->name, name))
            return function;
    }
    return NULL;
}

double bench_function_value(const bench_function *function, const double *operands)
{
    if (function->one)
        return function->one(operands[0]);
    if (function->two)
        return function->two(operands[0], operands[1]);
    return function->three(operands[0], operands[1], operands[2]);
}
