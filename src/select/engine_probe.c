// SPDX-License-Identifier: MIT
// Does an engine multiply rightly? Matrices that are multiplied on the device, by cl/runtime/engine_probe.cl or, where
// it is AMX, cl/runtime/amx_probe.cl, and here, in exact arithmetic: integers, which have to come out to the bit, f16's
// denormals, which have to stay, and random numbers within the engine's bound, with a NaN and an infinity among them.
// Of bytes, whose sums are integers, all numbers, and then the least and the largest alone.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tensor.h"
#include "runtime/call.h"
#include "runtime/launch.h"
#include "select/engine.h"

enum { SIDE = 32, TILES = 3, MOST_STEPS = 64 * TILES, NAN_ROW = 5, INFINITE_ROW = 9 };
// Into a tile, in cl/runtime/engine_probe.cl: WAYS of all engines, COPIES of those with copies of chunks. The last one
// has a program of its own, and operands of which lines are side by side.
enum { WAYS = 3, WAY_ACROSS = 4, COPIES = 5 };

typedef enum filling { INTEGERS, DENORMALS, REALS, EXTREMES, FILLINGS } filling;

static const char *const filling_names[FILLINGS] = {"integers", "denormals", "random numbers", "extremes"};

// A matrix as the device gets it and as it is: rows of A or columns of B, k side by side.
typedef struct operand {
    float values[SIDE * MOST_STEPS];
    unsigned char bytes[SIDE * MOST_STEPS * sizeof(float)];
} operand;

typedef struct probe {
    husk_context *context;
    const husk__engine *engine;
    husk__product product;
    int32_t steps; // of both matrices
    uint64_t state; // of the random numbers
    const husk__kernel *kernel, *across;
    husk_queue *queue;
    husk_buffer *buffer; // A, B and C
    operand a, b;
    union {
        float reals[SIDE * SIDE];
        int32_t integers[SIDE * SIDE]; // of bytes
    } c;
} probe;

enum { OPERAND_BYTES = SIDE * MOST_STEPS * sizeof(float) };

static husk_dtype dtype_of(husk__product product)
{
    switch (product) {
    case HUSK__PRODUCT_F16:
        return HUSK_F16;
    case HUSK__PRODUCT_BF16:
        return HUSK_BF16;
    case HUSK__PRODUCT_I8:
        return HUSK_I8;
    case HUSK__PRODUCT_U8:
        return HUSK_U8;
    default:
        return HUSK_F32;
    }
}

// Which numbers a product is tried with.
static bool takes(husk__product product, filling kind)
{
    if (kind == DENORMALS)
        return product == HUSK__PRODUCT_F16; // f32's may be flushed
    return kind == INTEGERS || (kind == EXTREMES) == husk__product_is_of_bytes(product);
}

static bool has_low_parts(husk__product product)
{
    return product == HUSK__PRODUCT_BF16X3 || product == HUSK__PRODUCT_TF32X3;
}

// ---- numbers ----

static uint32_t draw(probe *p)
{
    p->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = p->state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(z >> 32);
}

// f16's bits of a number that f16 has.
static uint16_t half_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    if (isnan(value))
        return (uint16_t)(sign | 0x7e00u);
    if (isinf(value))
        return (uint16_t)(sign | 0x7c00u);
    const float size = fabsf(value);
    if (size < 0x1p-14f)
        return (uint16_t)(sign | (uint16_t)(size * 0x1p24f));
    return (uint16_t)(sign | (uint16_t)((bits >> 13 & 0x3ffffu) - (112u << 10)));
}

// A number that the dtype has, between 2^-6 and 2^6 with all its digits, of either sign.
static float draw_real(probe *p)
{
    const int digits = dtype_of(p->product) == HUSK_F16 ? 11 : dtype_of(p->product) == HUSK_BF16 ? 8 : 24;
    const uint32_t mantissa = 1u << (digits - 1) | draw(p) >> (33 - digits);
    const float size = ldexpf((float)mantissa, (int)(draw(p) % 12) - 6 - (digits - 1));
    return draw(p) & 1 ? size : -size;
}

// A's may be u8, B's are i8.
static float draw_byte(probe *p, filling kind, bool is_a)
{
    const int least = is_a && p->product == HUSK__PRODUCT_U8 ? 0 : -128;
    return (float)(least + (int)(kind == EXTREMES ? draw(p) % 2 * 255 : draw(p) % 256));
}

static float draw_one(probe *p, filling kind, bool is_a)
{
    if (husk__product_is_of_bytes(p->product))
        return draw_byte(p, kind, is_a);
    if (kind == REALS)
        return draw_real(p);
    if (kind == DENORMALS && is_a)
        return (float)(1 + draw(p) % 1023) * 0x1p-24f;
    return (float)((int)(draw(p) % 19) - 9);
}

// A NaN that all but an f32's last digits cannot tell from infinity.
static float smallest_nan(void)
{
    const uint32_t bits = 0x7f800001u;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void fill(probe *p, filling kind, operand *x, bool is_a)
{
    for (int i = 0; i < SIDE * p->steps; ++i) {
        x->values[i] = draw_one(p, kind, is_a);
        // Each in a row of its own. An f32 infinity has no parts that are numbers: see husk/plan.h.
        if (kind == REALS && is_a && i == NAN_ROW * p->steps + 7)
            x->values[i] = dtype_of(p->product) == HUSK_F32 ? smallest_nan() : NAN;
        if (kind == REALS && is_a && i == INFINITE_ROW * p->steps + 11)
            x->values[i] = INFINITY;
        uint32_t bits;
        memcpy(&bits, &x->values[i], sizeof bits);
        const uint16_t half = dtype_of(p->product) == HUSK_F16 ? half_of(x->values[i]) : (uint16_t)(bits >> 16);
        if (husk__product_is_of_bytes(p->product))
            x->bytes[i] = (unsigned char)(int)x->values[i];
        else if (dtype_of(p->product) == HUSK_F32)
            memcpy(x->bytes + i * 4, &bits, 4);
        else
            memcpy(x->bytes + i * 2, &half, 2);
    }
}

// ---- right or wrong ----

static double sum_at(const probe *p, int row, int column)
{
    const int i = row * SIDE + column;
    return husk__product_is_of_bytes(p->product) ? (double)p->c.integers[i] : (double)p->c.reals[i];
}

static bool is_right(const probe *p, filling kind, int row, int column, double *wanted)
{
    const double got = sum_at(p, row, column);
    double sum = 0.0, magnitude = 0.0;
    for (int k = 0; k < p->steps; ++k) {
        const double term = (double)p->a.values[row * p->steps + k] * p->b.values[column * p->steps + k];
        sum += term;
        magnitude += fabs(term);
    }
    *wanted = sum;
    if (isnan(sum))
        return isnan(got);
    if (isinf(sum))
        return got == sum || (isnan(got) && has_low_parts(p->product));
    if (kind != REALS)
        return got == sum;
    return fabs(got - sum) <= husk__engine_error_factor(p->engine, p->product, p->steps) * 0x1p-24 * magnitude;
}

static bool check(const probe *p, filling kind, int way, char reason[HUSK__ENGINE_REASON])
{
    for (int row = 0; row < SIDE; ++row)
        for (int column = 0; column < SIDE; ++column) {
            double wanted;
            if (is_right(p, kind, row, column, &wanted))
                continue;
            snprintf(reason, HUSK__ENGINE_REASON,
                     "of %s its probe computes %.9g where %.9g is right (way %d, row %d, column %d)",
                     filling_names[kind], sum_at(p, row, column), wanted, way, row, column);
            return false;
        }
    return true;
}

// ---- on the device ----

// Chunks are copied by kernels for f32 and narrower floats alone.
static int ways_of(const probe *p)
{
    return p->engine->copies && !husk__product_is_of_bytes(p->product) ? COPIES : WAYS;
}

// Lines side by side in place of steps.
static void turn(const probe *p, operand *x)
{
    const size_t size = husk_dtype_size(dtype_of(p->product));
    unsigned char turned[sizeof x->bytes];
    for (int line = 0; line < SIDE; ++line)
        for (int step = 0; step < p->steps; ++step)
            memcpy(turned + (size_t)(step * SIDE + line) * size, x->bytes + (size_t)(line * p->steps + step) * size,
                   size);
    memcpy(x->bytes, turned, (size_t)(SIDE * p->steps) * size);
}

static husk_status multiply(probe *p, int way, const husk__scope *scope)
{
    const uint32_t element = (uint32_t)husk_dtype_size(dtype_of(p->product));
    const husk__range range = {{1, 1, 1}, {(size_t)husk__engine_items(p->engine, SIDE), 1, 1}};
    const float poison = NAN;
    const husk__kernel *kernel = way == WAY_ACROSS ? p->across : p->kernel;
    if (way == WAY_ACROSS) { // the last one
        turn(p, &p->a);
        turn(p, &p->b);
    }
    husk_status status = husk_buffer_write(p->queue, p->buffer, 0, OPERAND_BYTES, p->a.bytes);
    if (status == HUSK_OK)
        status = husk_buffer_write(p->queue, p->buffer, OPERAND_BYTES, OPERAND_BYTES, p->b.bytes);
    if (status == HUSK_OK)
        status = husk_buffer_fill(p->queue, p->buffer, 2 * OPERAND_BYTES, sizeof p->c, &poison, sizeof poison);
    if (status == HUSK_OK)
        status = HUSK__LAUNCH(p->queue, kernel, &range, scope, HUSK__ARG_BUFFER(p->buffer, 0, element),
                              HUSK__ARG_BUFFER(p->buffer, OPERAND_BYTES, element),
                              HUSK__ARG_BUFFER(p->buffer, 2 * OPERAND_BYTES, sizeof(float)), HUSK__ARG_I32(TILES),
                              HUSK__ARG_I32(way));
    return status == HUSK_OK ? husk_buffer_read(p->queue, p->buffer, 2 * OPERAND_BYTES, sizeof p->c, &p->c) : status;
}

static husk_status prepare(probe *p, const husk__scope *scope)
{
    husk__text options = {0};
    const husk_dtype dtype = dtype_of(p->product);
    husk__text_format(&options, "%s ", husk__dtype_option(husk__product_is_of_bytes(p->product) ? HUSK_F32 : dtype));
    const bool is_amx = p->engine->kind == HUSK__ENGINE_TILES;
    if (is_amx)
        husk__engine_product_options(p->engine, p->product, &options);
    else
        husk__engine_options(p->engine, p->product, SIDE, &options);
    husk_status status =
        options.failed
            ? husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a probe")
            : husk__kernel_get(p->context, is_amx ? "runtime/amx_probe.cl" : "runtime/engine_probe.cl", options.bytes,
                               is_amx ? "husk_runtime_amx_probe" : "husk_runtime_engine_probe", &p->kernel, scope);
    if (status == HUSK_OK && ways_of(p) > WAY_ACROSS) {
        husk__text_format(&options, " -DA_ACROSS -DB_ACROSS");
        status = options.failed ? husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a probe")
                                : husk__kernel_get(p->context, "runtime/engine_probe.cl", options.bytes,
                                                   "husk_runtime_engine_probe", &p->across, scope);
    }
    husk__text_free(&options);
    if (status == HUSK_OK)
        status = husk_queue_create(p->context, NULL, &p->queue, scope->error);
    if (status == HUSK_OK)
        status = husk_buffer_create(p->context, 2 * OPERAND_BYTES + sizeof p->c, &p->buffer, scope->error);
    return status;
}

static husk_status run(probe *p, bool *passed, char reason[HUSK__ENGINE_REASON], const husk__scope *scope)
{
    husk_status status = prepare(p, scope);
    *passed = true;
    for (int kind = INTEGERS; kind < FILLINGS && status == HUSK_OK && *passed; ++kind) {
        if (!takes(p->product, (filling)kind))
            continue;
        fill(p, (filling)kind, &p->a, true);
        fill(p, (filling)kind, &p->b, false);
        for (int way = 0; way < ways_of(p) && status == HUSK_OK && *passed; ++way) {
            status = multiply(p, way, scope);
            if (status == HUSK_OK)
                *passed = check(p, (filling)kind, way, reason);
        }
    }
    return status;
}

husk_status husk__engine_probe(husk_context *context, const husk__engine *engine, husk__product product, bool *is_right,
                               char reason[HUSK__ENGINE_REASON], const husk__scope *scope)
{
    probe *p = calloc(1, sizeof *p);
    husk_error error = {0};
    const husk__scope own = {"husk_context_engine", &error};
    *is_right = false;
    if (!p)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for the probe of engine %s", engine->name);
    p->context = context;
    p->engine = engine;
    p->product = product;
    p->steps = husk__engine_steps(product) * TILES;
    p->state = 1;
    husk_status status = run(p, is_right, reason, &own);
    if (status != HUSK_OK) {
        *is_right = false;
        if (error.status == HUSK_OK) // transfers leave theirs on the queue
            error = *husk_queue_error(p->queue);
        snprintf(reason, HUSK__ENGINE_REASON, "its probe fails: %.170s", error.text);
        status = husk__may_pass(&error) ? husk__fail_opencl(scope, status, error.opencl_code,
                                                            "the probe of engine %s: %s", engine->name, error.text)
                                        : HUSK_OK;
    }
    husk_buffer_release(p->buffer);
    husk_queue_release(p->queue);
    free(p);
    return status;
}
