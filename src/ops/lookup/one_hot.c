// SPDX-License-Identifier: MIT
// One-hot vectors: validate -> resolve -> choose -> launch. Kernels: cl/lookup/one_hot_*.cl.
#include <husk/ops/one_hot.h>

#include <string.h>

#include "base/params.h"
#include "base/tensor.h"
#include "ops/lookup/lookups.h"
#include "select/grid.h"

// ---- the problem ----

typedef struct problem {
    husk_tensor labels, y;
} problem;

static int64_t classes_of(const problem *own)
{
    return own->y.shape[own->labels.rank];
}

static void describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    husk__key_tensor(key, &own->labels);
    husk__key_tensor(key, &own->y);
}

static void classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    husk__text_format(text, " %s %s", husk_dtype_name(own->y.dtype), husk_dtype_name(own->labels.dtype));
    husk__class_size(text, "labels", husk__tensor_count(&own->labels));
    husk__class_size(text, "classes", classes_of(own));
}

static void write_case(const void *untyped, const void *given, husk__case *c)
{
    const problem *own = untyped;
    (void)given;
    husk__case_begin(c, "one_hot");
    husk__case_size(c, "labels", husk__tensor_count(&own->labels));
    husk__case_size(c, "classes", classes_of(own));
    husk__case_dtype(c, own->y.dtype);
    if (own->labels.dtype != HUSK_I32)
        husk__case_note(c, "labels are %s", husk_dtype_name(own->labels.dtype));
    husk__case_tensor(c, "labels", &own->labels);
    husk__case_tensor(c, "y", &own->y);
}

// The values belong to a run.
typedef struct arguments {
    const husk_tensor *labels, *y;
    float on, off;
} arguments;

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const problem *own = plan->problem;
    return husk__lookup_prepare(plan, &own->labels, &own->y, scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const problem *own = plan->problem;
    const arguments *given = untyped;
    const husk__lookup_launch *made = plan->state;
    husk__arg list[1 + HUSK__LOOKUP_INDICES_ARGS + 7];
    husk__arg *end = list;
    (void)scratch;
    *end++ = HUSK__ARG_TENSOR(given->y);
    end = husk__lookup_write_indices(given->labels, &made->walk, end);
    *end++ = HUSK__ARG_I64(classes_of(own));
    *end++ = HUSK__ARG_I64(own->y.strides[own->labels.rank]);
    *end++ = HUSK__ARG_F32(given->on);
    *end++ = HUSK__ARG_F32(given->off);
    end = husk__lookup_write_share(made, end);
    return husk__launch(queue, made->kernel, &made->range, list, (size_t)(end - list), scope);
}

static const husk__variant vector = {
    .name = "vector",
    .family = HUSK__FAMILY_CPU,
    .configurations = husk__lookup_vector_menu,
    .configuration_count = 1,
    .prepare = prepare,
    .run = run,
};

static const husk__variant grid = {
    HUSK__GRID_VARIANT,
    .prepare = prepare,
    .run = run,
};

// ---- the operator ----

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&vector, &grid, NULL};

const husk__op husk__op_one_hot = {
    .name = "one_hot",
    .problem_size = sizeof(problem),
    .variants = variants,
    .describe = describe,
    .prewarm = prewarm,
    .classify = classify,
    .write_case = write_case,
};

// y's shape is the labels' and the classes, of which there may be any number.
static husk_status check_shapes(const husk_tensor *labels, const husk_tensor *y, const husk__scope *scope)
{
    if (labels->rank >= HUSK_MAX_RANK)
        return husk__reject(scope, "labels", "has %d dimensions; y would have one more than %d", (int)labels->rank,
                            HUSK_MAX_RANK);
    if (y->rank != labels->rank + 1)
        return husk__reject(scope, "y", "has %d dimensions, not labels' and the classes: %d", (int)y->rank,
                            (int)labels->rank + 1);
    int64_t shape[HUSK_MAX_RANK];
    memcpy(shape, labels->shape, (size_t)labels->rank * sizeof *shape);
    shape[labels->rank] = y->shape[labels->rank];
    return husk__tensor_check_shape(y, "y", y->rank, shape, "labels' and the classes", scope);
}

static husk_status validate(husk_queue *queue, const husk_tensor *labels, const husk_tensor *y,
                            const husk__scope *scope)
{
    husk_status status = husk__tensor_check_indices(labels, "labels", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_real(queue, y, "y", scope);
    if (status == HUSK_OK)
        status = check_shapes(labels, y, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(y, "y", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, labels, "labels", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, y, "y", scope);
    if (status == HUSK_OK)
        status = husk__refuse_overlap(y, "y", labels, "labels", scope);
    return status;
}

static husk_status enqueue(husk_queue *queue, const husk_one_hot_params *params, const husk_tensor *labels,
                           const husk_tensor *y, const husk__scope *scope)
{
    problem own = {.labels = *labels, .y = *y};
    husk__tensor_bare(&own.labels);
    husk__tensor_bare(&own.y);
    const husk_tensor *const operands[] = {labels, y};
    const husk__preference preference = husk__preference_of(params->variant, 0, operands, 2);
    const arguments tensors = {labels, y, params->on, params->off};
    return husk__plan_immediate(queue, &husk__op_one_hot, &own, &preference, &tensors, scope);
}

husk_status husk_one_hot(husk_queue *queue, const husk_one_hot_params *params, const husk_tensor *labels,
                         const husk_tensor *y)
{
    const husk_one_hot_params defaults = husk_one_hot_defaults();
    husk__scope scope;
    husk_one_hot_params given;
    husk_status status = husk__call_begin(queue, "husk_one_hot", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, "husk_one_hot_defaults", params ? params : &defaults, &scope);
    if (status == HUSK_OK)
        status = validate(queue, labels, y, &scope);
    return status == HUSK_OK ? enqueue(queue, &given, labels, y, &scope) : status;
}

// The device's program, with two labels. What they are does not matter.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const int64_t shape[] = {2, 16};
    const husk_one_hot_params params = husk_one_hot_defaults();
    husk_buffer *buffer;
    husk_status status = husk_buffer_create(husk_queue_context(queue), 256, &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor y = husk_tensor_make(buffer, HUSK_F32, 2, shape);
    husk_tensor labels = husk_tensor_make(buffer, HUSK_I32, 1, shape);
    labels.offset = 32;
    status = enqueue(queue, &params, &labels, &y, scope);
    husk_buffer_release(buffer);
    return status;
}
