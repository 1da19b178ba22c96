// SPDX-License-Identifier: MIT
// Resizing and its gradient, which are the same sums the two ways round: validate -> resolve -> choose -> launch.
// Kernels: cl/layout/resize_*.cl.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <husk/context.h>
#include <husk/ops/resize.h>

#include "base/checked.h"
#include "base/params.h"
#include "base/tensor.h"
#include "select/grid.h"
#include "select/plan.h"

extern const husk__op husk__op_resize, husk__op_resize_backward;

enum { SPACE = 2, DIMENSIONS = 5 }; // the first dimension of space; those of cl/lib/resize.clh

#define MOST (INT64_C(1) << 62) // what kernels reckon with

// ---- the problem ----

// A dimension as cl/lib/resize.clh has it: element j of y lies at (step j + start) / unit in x.
typedef struct dimension {
    int64_t inputs, outputs, x_stride, y_stride, step, start, unit, taps;
} dimension;

enum { FIELDS = sizeof(dimension) / sizeof(int64_t) };

typedef struct problem {
    bool is_gradient, adds;
    husk_dtype dtype;
    husk_resize_mode mode;
    float coefficient;
    int32_t rank; // 1 at least; the last dimension is the row
    dimension dimensions[DIMENSIONS];
} problem;

typedef struct arguments {
    const husk_tensor *x, *y; // dx, dy
    const husk_resize_params *params; // for write_case, which nothing of the problem can tell them
} arguments;

static const int64_t *fields_of(const dimension *d)
{
    return &d->inputs; // a struct of int64_t alone
}

static void describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    const int64_t fields[] = {own->is_gradient, own->adds, own->dtype, own->mode, own->rank};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; ++i)
        husk__key_i64(key, fields[i]);
    husk__key_f32(key, own->coefficient);
    for (int32_t d = 0; d < own->rank; ++d)
        for (int i = 0; i < FIELDS; ++i)
            husk__key_i64(key, fields_of(&own->dimensions[d])[i]);
}

// Elements of what is written.
static int64_t elements_of(const problem *own)
{
    int64_t elements = 1;
    for (int32_t d = 0; d < own->rank; ++d)
        elements *= own->is_gradient ? own->dimensions[d].inputs : own->dimensions[d].outputs;
    return elements;
}

static const char *const mode_names[] = {"nearest", "linear", "cubic"};

static void classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    const dimension *row = &own->dimensions[own->rank - 1];
    husk__text_format(text, " %s %s %s", husk_dtype_name(own->dtype), mode_names[own->mode],
                      row->taps == 1 && row->step == row->unit ? "copied" : "sampled");
    husk__class_size(text, "x_row", row->inputs);
    husk__class_size(text, "y_row", row->outputs);
    husk__class_size(text, "count", elements_of(own));
}

// The problem has coordinates as ratios; a run also has what they were made of.
static void write_case(const void *untyped, const void *untyped_run, husk__case *c)
{
    static const char *const coordinates[] = {"half_pixel", "pytorch", "corners", "asymmetric"};
    static const char *const roundings[] = {"prefer_floor", "prefer_ceil", "floor", "ceil"};
    static const char *const in[] = {"w", "h", "d"}, *const out[] = {"s", "r", "t"};
    const problem *own = untyped;
    const arguments *given = untyped_run;
    husk__case_begin(c, "resize");
    if (given) {
        const husk_tensor *x = given->x, *y = given->y;
        husk__case_size(c, "c", x->shape[1]);
        husk__case_integer(c, "n", x->shape[0], 1);
        for (int32_t i = 0; i < x->rank - SPACE; ++i) {
            husk__case_size(c, in[i], x->shape[x->rank - 1 - i]);
            husk__case_size(c, out[i], y->shape[y->rank - 1 - i]);
        }
        husk__case_word(c, "mode", mode_names[own->mode], mode_names[0]);
        husk__case_word(c, "coordinates", coordinates[given->params->coordinates], coordinates[0]);
        if (own->mode == HUSK_RESIZE_NEAREST)
            husk__case_word(c, "rounding", roundings[given->params->rounding], roundings[0]);
        husk__case_layout(c, own->is_gradient ? "dx" : "x", x, own->is_gradient ? "dy" : "y", y);
    } else {
        husk__case_word(c, "mode", mode_names[own->mode], mode_names[0]);
        husk__case_note(c, "the problem alone, as ratios");
    }
    husk__case_dtype(c, own->dtype);
    if (own->is_gradient)
        husk__case_word(c, "dir", "bwd", NULL);
    if (own->adds)
        husk__case_note(c, "accumulates");
}

// ---- coordinates ----

// scale = numerator / denominator, exactly: a power of two and an odd number.
static bool as_ratio(float scale, int64_t *numerator, int64_t *denominator)
{
    int exponent;
    int64_t odd = (int64_t)ldexpf(frexpf(scale, &exponent), 24);
    exponent -= 24;
    for (; odd % 2 == 0; odd /= 2)
        ++exponent;
    if (exponent < -60 || exponent > 36)
        return false;
    *numerator = exponent > 0 ? odd * (INT64_C(1) << exponent) : odd;
    *denominator = exponent > 0 ? 1 : INT64_C(1) << -exponent;
    return true;
}

// a j + b over c becomes what NEAREST rounds it to: the floor of the new ratio.
static bool round_place(husk_resize_rounding rounding, dimension *d)
{
    const bool prefers = rounding == HUSK_RESIZE_ROUND_PREFER_FLOOR || rounding == HUSK_RESIZE_ROUND_PREFER_CEIL;
    if (prefers) { // in halves
        const int64_t half = rounding == HUSK_RESIZE_ROUND_PREFER_CEIL ? d->unit : -d->unit;
        if (!husk__mul_i64(d->step, 2, &d->step) || !husk__mul_i64(d->start, 2, &d->start) ||
            !husk__mul_i64(d->unit, 2, &d->unit) || !husk__add_i64(d->start, half, &d->start))
            return false;
    }
    const bool is_up = rounding == HUSK_RESIZE_ROUND_PREFER_FLOOR || rounding == HUSK_RESIZE_CEIL;
    return !is_up || husk__add_i64(d->start, d->unit - 1, &d->start);
}

// Whether all that the kernels compute fits.
static bool fits(const dimension *d)
{
    int64_t end, span;
    return husk__mul_i64(d->step, d->outputs + 1, &end) && husk__mul_i64(d->unit, d->inputs + 8, &span) &&
           end < MOST / 4 && span < MOST / 4 && d->start < MOST / 4 && d->start > -MOST / 4;
}

// Dimension `at` of space, where the extents are there already; false: the numbers are too large.
static bool place(const husk_resize_params *params, int32_t at, dimension *d)
{
    const int64_t n = d->inputs, m = d->outputs;
    const bool is_corners = params->coordinates == HUSK_RESIZE_ALIGN_CORNERS;
    const bool is_first = m == 1 && (is_corners || params->coordinates == HUSK_RESIZE_PYTORCH_HALF_PIXEL);
    int64_t numerator = m, denominator = n; // of y's size over x's
    if (!is_corners && params->scale[at] > 0.0f && !as_ratio(params->scale[at], &numerator, &denominator))
        return false;
    if (is_first) {
        d->unit = 1; // the first element alone
    } else if (is_corners) {
        d->step = n - 1;
        d->unit = m - 1;
    } else if (params->coordinates == HUSK_RESIZE_ASYMMETRIC) {
        d->step = denominator;
        d->unit = numerator;
    } else {
        d->start = denominator - numerator;
        if (!husk__mul_i64(denominator, 2, &d->step) || !husk__mul_i64(numerator, 2, &d->unit))
            return false;
    }
    d->taps = params->mode == HUSK_RESIZE_NEAREST ? 1 : params->mode == HUSK_RESIZE_LINEAR ? 2 : 4;
    if (n == m && d->step == d->unit && d->start == 0) { // every coordinate is a position
        d->step = d->unit = d->taps = 1;
        return fits(d);
    }
    return (params->mode != HUSK_RESIZE_NEAREST || round_place(params->rounding, d)) && fits(d);
}

// ---- validate ----

static husk_status check_params(const husk_resize_params *params, const husk__scope *scope)
{
    if ((int)params->mode < HUSK_RESIZE_NEAREST || params->mode > HUSK_RESIZE_CUBIC)
        return husk__reject(scope, "params", "mode %d is none of husk_resize_mode", (int)params->mode);
    if ((int)params->coordinates < HUSK_RESIZE_HALF_PIXEL || params->coordinates > HUSK_RESIZE_ASYMMETRIC)
        return husk__reject(scope, "params", "coordinates %d is none of husk_resize_coordinates",
                            (int)params->coordinates);
    if ((int)params->rounding < HUSK_RESIZE_ROUND_PREFER_FLOOR || params->rounding > HUSK_RESIZE_CEIL)
        return husk__reject(scope, "params", "rounding %d is none of husk_resize_rounding", (int)params->rounding);
    if (!(params->cubic_coefficient >= -1.0f && params->cubic_coefficient <= 0.0f))
        return husk__reject(scope, "params", "cubic_coefficient %g is not from -1 to 0",
                            (double)params->cubic_coefficient);
    for (int32_t d = 0; d < HUSK_MAX_SPACE; ++d)
        if (!(params->scale[d] >= 0.0f && params->scale[d] < INFINITY))
            return husk__reject(scope, "params", "scale[%d] is %g: it must be positive and finite, or 0", (int)d,
                                (double)params->scale[d]);
    if (params->accumulate > HUSK_ACCUMULATE_ALL)
        return husk__reject(scope, "params", "accumulate %u has bits that mean nothing", (unsigned)params->accumulate);
    return HUSK_OK;
}

// y against x: all but the extents of space are the same.
static husk_status check_shapes(const husk_resize_params *params, const arguments *given, const char *x_name,
                                const char *y_name, const husk__scope *scope)
{
    const husk_tensor *x = given->x, *y = given->y;
    if (x->rank <= SPACE || x->rank > SPACE + HUSK_MAX_SPACE)
        return husk__reject(scope, x_name, "has rank %d; it must be [N, C, ...] with one to three dimensions of space",
                            (int)x->rank);
    husk_tensor wanted = *x;
    for (int32_t d = SPACE; d < x->rank && y->rank == x->rank; ++d) {
        dimension own = {.inputs = x->shape[d], .outputs = y->shape[d]};
        wanted.shape[d] = y->shape[d];
        if ((own.inputs == 0) != (own.outputs == 0))
            return husk__reject(scope, x_name, "has extent %lld in dimension %d, and %s %lld: both are 0 or neither",
                                (long long)own.inputs, (int)d, y_name, (long long)own.outputs);
        if (own.inputs > 0 && !place(params, d - SPACE, &own))
            return husk__fail(scope, HUSK_UNSUPPORTED,
                              "params: scale[%d] and the extents of dimension %d have coordinates that exceed 62 bits",
                              (int)(d - SPACE), (int)d);
    }
    return husk__tensor_check_shape(y, y_name, wanted.rank, wanted.shape, "as it is resized", scope);
}

static husk_status validate(husk_queue *queue, const husk_resize_params *params, bool is_gradient,
                            const arguments *given, const husk__scope *scope)
{
    const char *x_name = is_gradient ? "dx" : "x", *y_name = is_gradient ? "dy" : "y";
    const husk_tensor *from = is_gradient ? given->y : given->x, *to = is_gradient ? given->x : given->y;
    const char *from_name = is_gradient ? y_name : x_name, *to_name = is_gradient ? x_name : y_name;
    husk_status status = check_params(params, scope);
    if (status == HUSK_OK)
        status = is_gradient || params->mode != HUSK_RESIZE_NEAREST
                     ? husk__tensor_check_real(queue, from, from_name, scope)
                     : husk__tensor_check_plain(from, from ? from->dtype : HUSK_F32, from_name, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(to, from->dtype, to_name, scope);
    if (status == HUSK_OK)
        status = check_shapes(params, given, x_name, y_name, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(to, to_name, scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, from, from_name, scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, to, to_name, scope);
    return status == HUSK_OK ? husk__refuse_overlap(to, to_name, from, from_name, scope) : status;
}

// ---- resolve ----

// Larger strides first: those of what is written decide.
static void insert(problem *own, dimension d)
{
    int32_t at = own->rank++;
    for (; at > 0; --at) {
        const dimension *before = &own->dimensions[at - 1];
        const int64_t mine = own->is_gradient ? d.x_stride : d.y_stride;
        if (mine <= (own->is_gradient ? before->x_stride : before->y_stride))
            break;
        own->dimensions[at] = *before;
    }
    own->dimensions[at] = d;
}

static bool is_copied(const dimension *d)
{
    return d->inputs == d->outputs && d->step == d->unit && d->start == 0 && d->taps == 1;
}

// Those that are copied and lie one after the other are one.
static void merge(problem *own)
{
    int32_t rank = 0;
    for (int32_t i = 0; i < own->rank; ++i) {
        dimension inner = own->dimensions[i];
        const dimension *outer = rank > 0 ? &own->dimensions[rank - 1] : NULL;
        if (outer && is_copied(outer) && is_copied(&inner) && outer->x_stride == inner.inputs * inner.x_stride &&
            outer->y_stride == inner.outputs * inner.y_stride) {
            inner.inputs *= outer->inputs;
            inner.outputs *= outer->outputs;
            --rank;
        }
        own->dimensions[rank++] = inner;
    }
    own->rank = rank;
}

static problem resolve(const husk_resize_params *params, bool is_gradient, const arguments *given)
{
    husk_tensor x = *given->x, y = *given->y;
    problem own = {.is_gradient = is_gradient,
                   .adds = is_gradient && (params->accumulate & HUSK_ACCUMULATE_INPUTS),
                   .dtype = x.dtype,
                   .mode = params->mode};
    if (params->mode == HUSK_RESIZE_CUBIC)
        own.coefficient = params->cubic_coefficient != 0.0f ? params->cubic_coefficient : -0.75f;
    husk__tensor_resolve(&x);
    husk__tensor_resolve(&y);
    for (int32_t d = 0; d < x.rank; ++d) {
        dimension one = {
            .inputs = x.shape[d], .outputs = y.shape[d], .x_stride = x.strides[d], .y_stride = y.strides[d]};
        if (d < SPACE)
            one.step = one.unit = one.taps = 1;
        else
            place(params, d - SPACE, &one); // it fits: check_shapes
        if (!is_copied(&one) || one.inputs != 1)
            insert(&own, one);
    }
    merge(&own);
    if (own.rank == 0)
        own.dimensions[own.rank++] = (dimension){1, 1, 1, 1, 1, 0, 1, 1};
    return own;
}

// ---- variants ----

typedef struct launch {
    const husk__kernel *kernel;
    int64_t fields[FIELDS][8]; // a field of all dimensions is an argument
    int64_t elements, share;
    husk__range range;
} launch;

// A work-group is worth launching for so many elements: waking a thread takes as long.
enum { ROWS_MINIMUM = 4096, ROWS_GROUPS = 4, GRID_GROUPS = 16, SHARE_MULTIPLE = 64 };

// Bits are copied, whatever they mean.
static bool copies(const problem *own)
{
    return own->mode == HUSK_RESIZE_NEAREST && !own->is_gradient;
}

static void write_dimensions(const problem *what, launch *own)
{
    for (int32_t i = 0; i < DIMENSIONS; ++i) {
        const int32_t d = i - (DIMENSIONS - what->rank);
        const dimension one = d < 0 ? (dimension){1, 1, 0, 0, 1, 0, 1, 1} : what->dimensions[d];
        for (int f = 0; f < FIELDS; ++f)
            own->fields[f][i] = fields_of(&one)[f];
    }
}

// values[0]: work-items a group, 1 for CPU devices.
static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const problem *what = plan->problem;
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
    const char *variant = items == 1 ? "rows" : "grid";
    char file[64], kernel[64], options[96];
    snprintf(file, sizeof file, "layout/resize_%s.cl", variant);
    snprintf(kernel, sizeof kernel, "husk_resize_%s%s", copies(what) ? "copy_" : "", variant);
    if (copies(what))
        snprintf(options, sizeof options, "-DELEMENT_BYTES=%d %s", (int)husk_dtype_size(what->dtype),
                 plan->configuration->options);
    else
        snprintf(options, sizeof options, "%s%s %s", husk__dtype_option(what->dtype),
                 what->is_gradient ? " -DGRADIENT" : "", plan->configuration->options);
    return husk__kernel_get(plan->context, file, options, kernel, &own->kernel, scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const problem *what = plan->problem;
    const launch *own = plan->state;
    const arguments *given = untyped;
    const husk_tensor *from = what->is_gradient ? given->y : given->x, *to = what->is_gradient ? given->x : given->y;
    (void)scratch;
#define DIMENSION_ARGUMENTS                                                                                       \
    HUSK__ARG_I64X8(own->fields[0]), HUSK__ARG_I64X8(own->fields[1]), HUSK__ARG_I64X8(own->fields[2]),            \
        HUSK__ARG_I64X8(own->fields[3]), HUSK__ARG_I64X8(own->fields[4]), HUSK__ARG_I64X8(own->fields[5]),        \
        HUSK__ARG_I64X8(own->fields[6]), HUSK__ARG_I64X8(own->fields[7])
    if (copies(what))
        return HUSK__LAUNCH(queue, own->kernel, &own->range, scope, HUSK__ARG_TENSOR(from), HUSK__ARG_TENSOR(to),
                            DIMENSION_ARGUMENTS, HUSK__ARG_I64(own->elements), HUSK__ARG_I64(own->share));
    return HUSK__LAUNCH(queue, own->kernel, &own->range, scope, HUSK__ARG_TENSOR(from), HUSK__ARG_TENSOR(to),
                        DIMENSION_ARGUMENTS, HUSK__ARG_ACC(what->dtype, what->coefficient), HUSK__ARG_I32(what->adds),
                        HUSK__ARG_I64(own->elements), HUSK__ARG_I64(own->share));
#undef DIMENSION_ARGUMENTS
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

static const husk__variant *const variants[] = {&rows, &grid, NULL};

// ---- calls ----

static husk_status enqueue(husk_queue *queue, const husk_resize_params *params, bool is_gradient,
                           const arguments *given, const husk__scope *scope)
{
    if (husk__tensor_count(is_gradient ? given->x : given->y) == 0)
        return HUSK_OK;
    const problem own = resolve(params, is_gradient, given);
    const husk__preference preference = {.variant = params->variant};
    return husk__plan_immediate(queue, is_gradient ? &husk__op_resize_backward : &husk__op_resize, &own, &preference,
                                given, scope);
}

// An image of twice the size, by mode.
static husk_status call_small(husk_queue *queue, husk_resize_mode mode, bool is_gradient, husk_buffer *buffer,
                              const husk__scope *scope)
{
    const husk_resize_params params = HUSK_RESIZE_PARAMS(.mode = mode);
    const int64_t x_shape[] = {1, 1, 4, 4}, y_shape[] = {1, 1, 8, 8};
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 4, x_shape);
    husk_tensor y = husk_tensor_make(buffer, HUSK_F32, 4, y_shape);
    y.offset = 16;
    const arguments given = {&x, &y, &params};
    return enqueue(queue, &params, is_gradient, &given, scope);
}

static husk_status prewarm_both(husk_queue *queue, bool is_gradient, const husk__scope *scope)
{
    husk_buffer *buffer;
    husk_status status = husk_buffer_create(husk_queue_context(queue), 80 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    status = call_small(queue, HUSK_RESIZE_LINEAR, is_gradient, buffer, scope);
    if (status == HUSK_OK)
        status = call_small(queue, HUSK_RESIZE_NEAREST, is_gradient, buffer, scope);
    husk_buffer_release(buffer);
    return status;
}

static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    return prewarm_both(queue, false, scope);
}

static husk_status prewarm_backward(husk_queue *queue, const husk__scope *scope)
{
    return prewarm_both(queue, true, scope);
}

const husk__op husk__op_resize = {
    .name = "resize",
    .problem_size = sizeof(problem),
    .variants = variants,
    .describe = describe,
    .prewarm = prewarm,
    .classify = classify,
    .write_case = write_case,
};

const husk__op husk__op_resize_backward = {
    .name = "resize_backward",
    .problem_size = sizeof(problem),
    .variants = variants,
    .describe = describe,
    .prewarm = prewarm_backward,
    .classify = classify,
    .write_case = write_case,
};

static husk_status call(husk_queue *queue, const char *name, const husk_resize_params *params, bool is_gradient,
                        arguments given)
{
    husk__scope scope;
    husk_resize_params options;
    given.params = &options;
    husk_status status = husk__call_begin(queue, name, &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&options, sizeof options, "HUSK_RESIZE_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = validate(queue, &options, is_gradient, &given, &scope);
    return status == HUSK_OK ? enqueue(queue, &options, is_gradient, &given, &scope) : status;
}

husk_status husk_resize(husk_queue *queue, const husk_resize_params *params, const husk_tensor *x, const husk_tensor *y)
{
    return call(queue, "husk_resize", params, false, (arguments){.x = x, .y = y});
}

husk_status husk_resize_backward(husk_queue *queue, const husk_resize_params *params, const husk_tensor *dy,
                                 const husk_tensor *dx)
{
    return call(queue, "husk_resize_backward", params, true, (arguments){.x = dx, .y = dy});
}
