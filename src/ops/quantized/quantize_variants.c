// SPDX-License-Identifier: MIT
// quantize and dequantize: validate -> resolve -> choose -> launch. Kernels: cl/quantized/quantize_*.cl,
// cl/quantized/dequantize_*.cl.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/axis.h"
#include "base/checked.h"
#include "base/params.h"
#include "base/tensor.h"
#include "ops/quantized/quantize_problem.h"
#include "runtime/walk.h"
#include "select/grid.h"

typedef husk__quantize_problem problem;

typedef struct arguments {
    const husk_tensor *x, *scale, *zero, *y; // zero: NULL where there is none
} arguments;

void husk__quantize_describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    husk__key_i64(key, own->is_back + 2 * own->has_zero);
    husk__key_tensor(key, &own->x);
    husk__key_tensor(key, &own->y);
    husk__key_tensor(key, &own->scale);
    husk__key_tensor(key, own->has_zero ? &own->zero : NULL);
}

static husk_dtype float_of(const problem *own)
{
    return own->is_back ? own->y.dtype : own->x.dtype;
}

// Tensors: y, x, the scales, the zero points. Sorted by y's strides: writing in order matters most.
static husk__walk walk_of(const problem *own)
{
    husk__walk walk = {0};
    for (int32_t d = 0; d < own->y.rank; ++d)
        husk__walk_add(&walk, (husk__walk_dimension){own->y.shape[d],
                                                     {own->y.strides[d], own->x.strides[d], own->scale.strides[d],
                                                      own->has_zero ? own->zero.strides[d] : 0}});
    husk__walk_sort(&walk);
    husk__walk_merge(&walk);
    return walk;
}

void husk__quantize_classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    husk__walk walk = walk_of(own);
    const int64_t count = husk__walk_count(&walk);
    const husk__walk_dimension row = husk__walk_take_last(&walk);
    husk__text_format(text, " %s %s", husk_dtype_name(float_of(own)), row.strides[2] == 0 ? "one" : "channels");
    husk__class_size(text, "row", row.extent);
    husk__class_size(text, "count", count);
}

void husk__quantize_write_case(const void *untyped, const void *given, husk__case *c)
{
    const problem *own = untyped;
    const husk_tensor *bytes = own->is_back ? &own->x : &own->y;
    int32_t axis = -1; // of the channels
    (void)given;
    for (int32_t d = 0; d < own->x.rank; ++d)
        axis = own->scale.strides[d] != 0 ? d : axis;
    husk__case_begin(c, own->is_back ? "dequantize" : "quantize");
    husk__case_rows(c, &own->y);
    if (axis >= 0)
        husk__case_word(c, "per", axis + 1 == own->x.rank ? "column" : "row", NULL);
    husk__case_integer(c, "u8", bytes->dtype == HUSK_U8, 0);
    if (axis >= 0 && axis + 1 < own->x.rank && own->x.rank > 2)
        husk__case_note(c, "per dimension %d of %d", (int)axis, (int)own->x.rank);
    if (!own->has_zero)
        husk__case_note(c, "without zero points");
    if (float_of(own) != HUSK_F32) // cases have f32 alone
        husk__case_note(c, "%s is %s", own->is_back ? "y" : "x", husk_dtype_name(float_of(own)));
    husk__case_tensor(c, "x", &own->x);
    husk__case_tensor(c, "y", &own->y);
}

// ---- what the variants share ----

typedef struct launch {
    const husk__kernel *kernel;
    husk__walk_values walk;
    husk__walk_dimension row; // vector
    int64_t total, share;
    husk__range range;
} launch;

static launch *make_launch(husk_plan *plan)
{
    launch *own = calloc(1, sizeof *own);
    plan->state = own; // freed with the plan
    return own;
}

static husk_status get_kernel(husk_plan *plan, const char *variant, launch *own, const husk__scope *scope)
{
    const problem *what = plan->problem;
    const char *op = what->is_back ? "dequantize" : "quantize";
    char file[64], kernel[64], options[128];
    snprintf(file, sizeof file, "quantized/%s_%s.cl", op, variant);
    snprintf(kernel, sizeof kernel, "husk_%s_%s", op, variant);
    snprintf(options, sizeof options, "%s %s", husk__dtype_option(float_of(what)), plan->configuration->options);
    return husk__kernel_get(plan->context, file, options, kernel, &own->kernel, scope);
}

// QUANTIZE_PARAMS of cl/lib/quantize.clh.
enum { SHARED_ARGS = 6 };
static husk__arg *write_shared(const problem *what, const arguments *given, husk__arg *end)
{
    const husk_dtype byte = what->is_back ? what->x.dtype : what->y.dtype;
    *end++ = HUSK__ARG_TENSOR(given->y);
    *end++ = HUSK__ARG_TENSOR(given->x);
    *end++ = HUSK__ARG_TENSOR(given->scale);
    *end++ = HUSK__ARG_TENSOR(given->zero);
    *end++ = HUSK__ARG_I32(what->has_zero);
    *end++ = HUSK__ARG_I32(byte == HUSK_I8 ? 128 : 0);
    return end;
}

// ---- vector: CPU devices ----

// A work-group is worth launching for so many elements; several a core even out the cores' speeds.
enum { VECTOR_MINIMUM = 32768, GROUPS_PER_UNIT = 4 };

static husk_status prepare_vector(husk_plan *plan, const husk__scope *scope)
{
    launch *own = make_launch(plan);
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    husk__walk walk = walk_of(plan->problem);
    own->total = husk__walk_count(&walk);
    own->row = husk__walk_take_last(&walk);
    own->walk = husk__walk_prepare(&walk);
    const int64_t units = husk_context_traits(plan->context)->compute_units;
    own->share = husk__max_i64(husk__divide_up(own->total, GROUPS_PER_UNIT * units), VECTOR_MINIMUM);
    own->range = (husk__range){{(size_t)husk__divide_up(own->total, own->share), 1, 1}, {1, 1, 1}};
    return get_kernel(plan, "vector", own, scope);
}

static husk_status run_vector(const husk_plan *plan, husk_queue *queue, const void *untyped,
                              const husk__scratch *scratch, const husk__scope *scope)
{
    const launch *own = plan->state;
    husk__arg list[SHARED_ARGS + 2 + HUSK__WALK_TENSORS + 7], *end = write_shared(plan->problem, untyped, list);
    (void)scratch;
    end = husk__walk_write_args(&own->walk, 4, end);
    *end++ = HUSK__ARG_I64(own->row.extent);
    for (int t = 0; t < 4; ++t)
        *end++ = HUSK__ARG_I64(own->row.strides[t]);
    *end++ = HUSK__ARG_I64(own->total);
    *end++ = HUSK__ARG_I64(own->share);
    return husk__launch(queue, own->kernel, &own->range, list, (size_t)(end - list), scope);
}

static const husk__configuration vector_menu[] = {{.name = "1", .options = ""}};

static const husk__variant vector = {
    .name = "vector",
    .family = HUSK__FAMILY_CPU,
    .configurations = vector_menu,
    .configuration_count = 1,
    .prepare = prepare_vector,
    .run = run_vector,
};

// ---- grid: GPUs ----

enum { GRID_GROUPS_PER_UNIT = 16 };

static husk_status prepare_grid(husk_plan *plan, const husk__scope *scope)
{
    launch *own = make_launch(plan);
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    const husk__walk walk = walk_of(plan->problem);
    own->total = husk__walk_count(&walk);
    own->walk = husk__walk_prepare(&walk);
    const int64_t items = husk__grid_items(plan->configuration);
    const int64_t most = GRID_GROUPS_PER_UNIT * (int64_t)husk_context_traits(plan->context)->compute_units;
    own->range =
        (husk__range){{(size_t)husk__min_i64(husk__divide_up(own->total, items), most), 1, 1}, {(size_t)items, 1, 1}};
    return get_kernel(plan, "grid", own, scope);
}

static husk_status run_grid(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                            const husk__scope *scope)
{
    const launch *own = plan->state;
    husk__arg list[SHARED_ARGS + 2 + HUSK__WALK_TENSORS + 1], *end = write_shared(plan->problem, untyped, list);
    (void)scratch;
    end = husk__walk_write_args(&own->walk, 4, end);
    *end++ = HUSK__ARG_I64(own->total);
    return husk__launch(queue, own->kernel, &own->range, list, (size_t)(end - list), scope);
}

static const husk__variant grid = {
    HUSK__GRID_VARIANT,
    .prepare = prepare_grid,
    .run = run_grid,
};

const husk__variant *const husk__quantize_variants[] = {&vector, &grid, NULL};

// ---- the call ----

static husk_status check_bytes(const husk_tensor *tensor, const char *argument, const husk__scope *scope)
{
    husk_status status = husk__tensor_check_plain(tensor, tensor ? tensor->dtype : HUSK_I8, argument, scope);
    if (status == HUSK_OK && tensor->dtype != HUSK_I8 && tensor->dtype != HUSK_U8)
        status = husk__fail(scope, HUSK_UNSUPPORTED, "%s: is %s; quantized numbers are i8 or u8", argument,
                            husk_dtype_name(tensor->dtype));
    return status;
}

// One number, or one for each channel.
static husk_status check_channels(const husk_tensor *tensor, const char *argument, const husk_tensor *x, int32_t axis,
                                  const husk__scope *scope)
{
    char text[HUSK__SHAPE_TEXT];
    if (husk__tensor_count(tensor) == 1)
        return HUSK_OK;
    const int32_t dimension = husk__axis_dimension(axis, x->rank);
    if (dimension < 0)
        return husk__reject(scope, "params", "axis " HUSK__AXIS_TEXT, HUSK__AXIS_VALUES(axis, x->rank, "x"));
    if (tensor->rank != 1 || tensor->shape[0] != x->shape[dimension])
        return husk__reject(scope, argument, "is %s; it must have one element, or be [%lld]",
                            husk__shape_text(tensor, text), (long long)x->shape[dimension]);
    return HUSK_OK;
}

static husk_status validate(husk_queue *queue, const husk_quantize_params *params, bool is_back, const arguments *given,
                            const husk__scope *scope)
{
    const husk_tensor *x = given->x, *y = given->y, *scale = given->scale, *zero = given->zero;
    husk_status status = is_back ? check_bytes(x, "x", scope) : husk__tensor_check_float(x, "x", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(scale, HUSK_F32, "scale", scope);
    if (status == HUSK_OK)
        status = check_channels(scale, "scale", x, params->axis, scope);
    if (status == HUSK_OK)
        status = is_back ? husk__tensor_check_float(y, "y", scope) : check_bytes(y, "y", scope);
    if (status == HUSK_OK && zero)
        status = husk__tensor_check_plain(zero, is_back ? x->dtype : y->dtype, "zero", scope);
    if (status == HUSK_OK && zero)
        status = husk__tensor_check_shape(zero, "zero", scale->rank, scale->shape, "as scale", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(y, "y", x->rank, x->shape, "as x", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(y, "y", scope);
    const husk_tensor *const tensors[] = {x, scale, zero};
    static const char *const names[] = {"x", "scale", "zero"};
    for (int i = 0; i < 3 && status == HUSK_OK; ++i)
        if (tensors[i])
            status = husk__tensor_bind(queue, tensors[i], names[i], scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, y, "y", scope);
    for (int i = 0; i < 3 && status == HUSK_OK; ++i)
        if (tensors[i])
            status = husk__refuse_overlap(y, "y", tensors[i], names[i], scope);
    return status;
}

// One number or one a channel, as it lies along the dimensions of x.
static husk_tensor along(const husk_tensor *tensor, const husk_tensor *x, int32_t axis)
{
    const husk_tensor plain = husk__tensor_bare_copy(tensor);
    husk_tensor made = *x;
    made.dtype = tensor->dtype;
    memset(made.strides, 0, sizeof made.strides);
    if (husk__tensor_count(tensor) != 1)
        made.strides[husk__axis_dimension(axis, x->rank)] = plain.strides[0];
    return made;
}

static husk_status enqueue(husk_queue *queue, const husk__quantize_operator *called, const husk_quantize_params *params,
                           const arguments *given, const husk__scope *scope)
{
    problem own = {.is_back = called->is_back, .has_zero = given->zero != NULL};
    own.x = husk__tensor_bare_copy(given->x);
    own.y = husk__tensor_bare_copy(given->y);
    own.scale = along(given->scale, &own.x, params->axis);
    if (given->zero)
        own.zero = along(given->zero, &own.x, params->axis);
    const husk_tensor *const operands[] = {given->x, given->y};
    const husk__preference preference = husk__preference_of(params->variant, 0, operands, 2);
    return husk__plan_immediate(queue, called->op, &own, &preference, given, scope);
}

husk_status husk__quantize_call(husk_queue *queue, const husk__quantize_operator *called,
                                const husk_quantize_params *params, const husk_tensor *x, const husk_tensor *scale,
                                const husk_tensor *zero, const husk_tensor *y, const husk__scope *scope)
{
    husk_quantize_params given;
    const arguments tensors = {x, scale, zero, y};
    husk_status status = husk__params_read(&given, sizeof given, called->params, params, scope);
    if (status == HUSK_OK)
        status = validate(queue, &given, called->is_back, &tensors, scope);
    if (status != HUSK_OK || husk__tensor_count(y) == 0)
        return status;
    return enqueue(queue, called, &given, &tensors, scope);
}

// A few numbers, whatever they are.
husk_status husk__quantize_prewarm(husk_queue *queue, const husk__quantize_operator *called, const husk__scope *scope)
{
    const int64_t shape[] = {64}, one[] = {1};
    const husk_quantize_params params = {0};
    husk_buffer *buffer;
    husk_status status =
        husk_buffer_create(husk_queue_context(queue), (64 + 16 + 1) * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor floats = husk_tensor_make(buffer, HUSK_F32, 1, shape);
    husk_tensor bytes = husk_tensor_make(buffer, HUSK_I8, 1, shape), scale = husk_tensor_make(buffer, HUSK_F32, 1, one);
    bytes.offset = 64 * sizeof(float);
    scale.offset = 64 + 16;
    const arguments tensors = {called->is_back ? &bytes : &floats, &scale, NULL, called->is_back ? &floats : &bytes};
    status = enqueue(queue, called, &params, &tensors, scope);
    husk_buffer_release(buffer);
    return status;
}
