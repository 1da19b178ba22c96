// SPDX-License-Identifier: MIT
#include <math.h>

#include <husk/train/initializer.h>
#include <husk/tensor.h>

#include "train/error.h"
#include "train/random.h"

const char *husk_initializer_kind_name(husk_initializer_kind kind)
{
    switch (kind) {
#define NAME(name, number, text)  \
    case HUSK_INITIALIZER_##name: \
        return text;
        HUSK_INITIALIZER_LIST(NAME)
#undef NAME
    }
    return "unknown";
}

static husk_status check(const husk__train_scope *scope, const husk_initializer *own)
{
    if ((unsigned)own->kind > HUSK_INITIALIZER_XAVIER_NORMAL)
        return husk__train_reject(scope, "initializer", "kind %u does not exist", (unsigned)own->kind);
    if (!isfinite(own->value) || !isfinite(own->spread) || !isfinite(own->gain))
        return husk__train_reject(scope, "initializer", "value, spread and gain must be finite");
    if (own->spread < 0 || own->gain < 0)
        return husk__train_reject(scope, "initializer", "spread and gain must not be negative");
    return HUSK_OK;
}

// The standard deviation of HE and XAVIER.
static double deviation(const husk_initializer *own, int32_t rank, const int64_t *shape)
{
    double first = rank > 0 ? (double)shape[0] : 1, second = rank > 1 ? (double)shape[1] : first, inner = 1;
    for (int32_t d = 2; d < rank; d++)
        inner *= (double)shape[d];
    double fan_in = second * inner, fan_out = first * inner, gain = own->gain;
    bool is_he = own->kind == HUSK_INITIALIZER_HE_UNIFORM || own->kind == HUSK_INITIALIZER_HE_NORMAL;
    if (gain == 0)
        gain = is_he ? sqrt(2.0) : 1;
    return is_he ? gain / sqrt(fan_in) : gain * sqrt(2 / (fan_in + fan_out));
}

husk_status husk_initializer_fill(const husk_initializer *initializer, uint64_t seed, const char *name, int32_t rank,
                                  const int64_t *shape, double *values, husk_error *error)
{
    const husk__train_scope scope = {"husk_initializer_fill", error};
    husk_initializer own;
    husk_status status = husk__train_struct(&own, sizeof own, "HUSK_INITIALIZER", initializer, "initializer", &scope);
    if (!status)
        status = check(&scope, &own);
    if (status)
        return status;
    if (!name)
        return husk__train_reject(&scope, "name", "it is NULL");
    if (rank < 0 || rank > HUSK_MAX_RANK || (rank > 0 && !shape))
        return husk__train_reject(&scope, "shape", "a rank of 0 to %d and a shape are wanted", HUSK_MAX_RANK);
    husk_tensor tensor = husk_tensor_make(0, HUSK_F64, rank, shape);
    int64_t count = husk_tensor_count(&tensor);
    if (count < 0)
        return husk__train_reject(&scope, "shape", "a dimension is negative, or there are too many elements");
    if (count > 0 && !values)
        return husk__train_reject(&scope, "values", "it is NULL");

    double middle = own.value, spread = own.spread;
    bool is_normal = own.kind == HUSK_INITIALIZER_NORMAL || own.kind == HUSK_INITIALIZER_HE_NORMAL ||
                     own.kind == HUSK_INITIALIZER_XAVIER_NORMAL;
    if (own.kind >= HUSK_INITIALIZER_HE_UNIFORM) {
        middle = 0;
        spread = deviation(&own, rank, shape) * (is_normal ? 1 : sqrt(3.0));
    }
    if (own.kind <= HUSK_INITIALIZER_CONSTANT) {
        for (int64_t i = 0; i < count; i++)
            values[i] = own.kind == HUSK_INITIALIZER_CONSTANT ? middle : 0;
        return HUSK_OK;
    }
    uint64_t stream = husk__train_hash(name);
    for (int64_t i = 0; i < count; i++) {
        uint32_t words[4];
        husk__train_random(seed, stream, (uint64_t)i, words);
        double u = husk__train_uniform(words[0], words[1]), v = husk__train_uniform(words[2], words[3]);
        double number = is_normal ? sqrt(-2 * log1p(-u)) * cos(6.283185307179586 * v) : 2 * u - 1;
        values[i] = middle + spread * number;
    }
    return HUSK_OK;
}
