// SPDX-License-Identifier: MIT
// The variants of padding and of its gradient. Kernels: cl/layout/pad_*.cl.
#include <stdio.h>
#include <stdlib.h>

#include <husk/context.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/layout/pad_problem.h"
#include "select/grid.h"

void husk__pad_describe(const void *untyped, husk__key *key)
{
    const husk__pad_problem *own = untyped;
    const int64_t fields[] = {own->is_gradient, own->adds, own->dtype, own->mode, own->fill, own->rank};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; ++i)
        husk__key_i64(key, fields[i]);
    for (int32_t d = 0; d < own->rank; ++d) {
        const husk__pad_dimension *dimension = &own->dimensions[d];
        const int64_t numbers[] = {dimension->extent, dimension->before, dimension->total, dimension->x_stride,
                                   dimension->y_stride};
        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i)
            husk__key_i64(key, numbers[i]);
    }
}

// Elements of what is written.
static int64_t elements_of(const husk__pad_problem *own)
{
    int64_t elements = 1;
    for (int32_t d = 0; d < own->rank; ++d)
        elements *= own->is_gradient ? own->dimensions[d].extent : own->dimensions[d].total;
    return elements;
}

// Dimensions are merged and sorted by now: this is a case of the same work. Its w and h are the last two, outer what is
// before them.
void husk__pad_write_case(const void *untyped, const void *given, husk__case *c)
{
    static const char *const modes[] = {"constant", "reflect", "replicate", "circular"};
    const husk__pad_problem *own = untyped;
    const int64_t width = own->dimensions[own->rank - 1].before;
    int64_t outer = 1, x_stride = 1, y_stride = 1;
    bool is_alike = own->rank > 1 || width == 0, is_packed = true;
    (void)given;
    for (int32_t d = own->rank - 1; d >= 0; --d) {
        const husk__pad_dimension *dimension = &own->dimensions[d];
        const int64_t expected = d + 2 < own->rank ? 0 : width;
        is_alike = is_alike && dimension->before == expected && dimension->total == dimension->extent + 2 * expected;
        is_packed = is_packed && dimension->x_stride == x_stride && dimension->y_stride == y_stride;
        x_stride *= dimension->extent;
        y_stride *= dimension->total;
        outer *= d + 2 < own->rank ? dimension->extent : 1;
    }
    husk__case_begin(c, "pad");
    husk__case_size(c, "h", own->rank > 1 ? own->dimensions[own->rank - 2].extent : 1);
    husk__case_size(c, "w", own->dimensions[own->rank - 1].extent);
    husk__case_integer(c, "outer", outer, 1);
    husk__case_integer(c, "width", is_alike ? width : 0, 1);
    husk__case_word(c, "mode", modes[own->mode], "constant");
    husk__case_dtype(c, own->dtype);
    if (own->is_gradient)
        husk__case_word(c, "dir", "bwd", NULL);
    for (int32_t d = 0; d < own->rank && !is_alike; ++d) {
        const husk__pad_dimension *dimension = &own->dimensions[d];
        husk__case_note(c, "%lld+%lld+%lld", (long long)dimension->before, (long long)dimension->extent,
                        (long long)(dimension->total - dimension->before - dimension->extent));
    }
    if (!is_packed)
        husk__case_note(c, "strides");
    if (own->adds)
        husk__case_note(c, "accumulates");
}

void husk__pad_classify(const void *untyped, husk__text *text)
{
    const husk__pad_problem *own = untyped;
    const husk__pad_dimension *row = &own->dimensions[own->rank - 1];
    husk__text_format(text, " %s %s", husk_dtype_name(own->dtype),
                      row->x_stride == 1 && row->y_stride == 1 ? "rows" : "strided");
    husk__class_size(text, "row", row->total);
    husk__class_size(text, "count", elements_of(own));
}

typedef struct launch {
    const husk__kernel *kernel;
    int64_t extents[8], before[8], totals[8], x_strides[8], y_strides[8];
    int64_t elements, share;
    husk__range range;
} launch;

// A work-group is worth launching for so many elements: waking a thread takes as long.
enum { ROWS_MINIMUM = 32768, ROWS_GROUPS = 4, GRID_GROUPS = 16, SHARE_MULTIPLE = 64 };

static void write_dimensions(const husk__pad_problem *what, launch *own)
{
    for (int32_t i = 0; i < HUSK_MAX_RANK; ++i) {
        const int32_t d = i - (HUSK_MAX_RANK - what->rank);
        const husk__pad_dimension dimension =
            d < 0 ? (husk__pad_dimension){.extent = 1, .total = 1} : what->dimensions[d];
        own->extents[i] = dimension.extent;
        own->before[i] = dimension.before;
        own->totals[i] = dimension.total;
        own->x_strides[i] = dimension.x_stride;
        own->y_strides[i] = dimension.y_stride;
    }
}

// values[0]: work-items a group, 1 for CPU devices.
static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__pad_problem *what = plan->problem;
    const int64_t items = plan->configuration->values[0];
    const int64_t units = (int64_t)husk_context_traits(plan->context)->compute_units;
    launch *own = calloc(1, sizeof *own);
    plan->state = own; // freed with the plan
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    write_dimensions(what, own);
    own->elements = elements_of(what);
    const int64_t share = husk__divide_up(own->elements, ROWS_GROUPS * units);
    own->share = husk__round_up(husk__max_i64(share, ROWS_MINIMUM), SHARE_MULTIPLE);
    const int64_t groups = items == 1 ? husk__divide_up(own->elements, own->share)
                                      : husk__min_i64(husk__divide_up(own->elements, items), GRID_GROUPS * units);
    own->range = (husk__range){{(size_t)groups, 1, 1}, {(size_t)items, 1, 1}};
    char file[64], kernel[64], options[96];
    const char *row = what->is_gradient ? "pad_backward" : "pad", *variant = items == 1 ? "rows" : "grid";
    snprintf(file, sizeof file, "layout/%s_%s.cl", row, variant);
    snprintf(kernel, sizeof kernel, "husk_%s_%s", row, variant);
    if (what->is_gradient)
        snprintf(options, sizeof options, "%s %s", husk__dtype_option(what->dtype), plan->configuration->options);
    else
        snprintf(options, sizeof options, "-DELEMENT_BYTES=%d %s", (int)husk_dtype_size(what->dtype),
                 plan->configuration->options);
    return husk__kernel_get(plan->context, file, options, kernel, &own->kernel, scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const husk__pad_problem *what = plan->problem;
    const launch *own = plan->state;
    const husk__pad_arguments *given = untyped;
    const husk__arg option = what->is_gradient ? HUSK__ARG_I32(what->adds) : HUSK__ARG_I64(what->fill);
    (void)scratch;
    return HUSK__LAUNCH(queue, own->kernel, &own->range, scope,
                        HUSK__ARG_TENSOR(what->is_gradient ? given->y : given->x),
                        HUSK__ARG_TENSOR(what->is_gradient ? given->x : given->y), HUSK__ARG_I64X8(own->extents),
                        HUSK__ARG_I64X8(own->before), HUSK__ARG_I64X8(own->totals), HUSK__ARG_I64X8(own->x_strides),
                        HUSK__ARG_I64X8(own->y_strides), HUSK__ARG_I32(what->mode), option,
                        HUSK__ARG_I64(own->elements), HUSK__ARG_I64(own->share));
}

static const husk__configuration rows_menu[] = {{.name = "1", .options = "", .values = {1}}};

static const husk__variant rows = {
    .name = "rows",
    .family = HUSK__FAMILY_CPU,
    .configurations = rows_menu,
    .configuration_count = 1,
    .prepare = prepare,
    .run = run,
};

static const husk__variant grid = {
    HUSK__GRID_VARIANT,
    .prepare = prepare,
    .run = run,
};

const husk__variant *const husk__pad_variants[] = {&rows, &grid, NULL};

// ---- calls ----

husk_status husk__pad_enqueue(husk_queue *queue, const husk__op *op, const husk_pad_params *params, bool is_gradient,
                              const husk__pad_arguments *given, const husk__scope *scope)
{
    if (husk__tensor_count(is_gradient ? given->x : given->y) == 0)
        return HUSK_OK;
    const husk__pad_problem own = husk__pad_resolve(params, is_gradient, given);
    const husk__preference preference = {.variant = params->variant};
    return husk__plan_immediate(queue, op, &own, &preference, given, scope);
}

husk_status husk__pad_prewarm(husk_queue *queue, const husk__op *op, bool is_gradient, const husk__scope *scope)
{
    const int64_t shape[] = {64};
    husk_buffer *buffer;
    husk_status status = husk_buffer_create(husk_queue_context(queue), 192 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_pad_params params = HUSK_PAD_PARAMS(.before = {1}, .after = {1});
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 1, shape);
    husk_tensor y = x;
    y.offset = 64;
    y.shape[0] = 66;
    const husk__pad_arguments given = {&x, &y};
    status = husk__pad_enqueue(queue, op, &params, is_gradient, &given, scope);
    husk_buffer_release(buffer);
    return status;
}
