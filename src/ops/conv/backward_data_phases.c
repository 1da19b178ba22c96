// SPDX-License-Identifier: MIT
// cl/conv/backward_data_phases.cl: the gradient by the data as convolutions of dy, one for every remainder of an index
// of dx modulo the stride. With stride 1 that is one, which writes dx itself.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "machine/predict.h"
#include "ops/conv/backward_problem.h"
#include "select/choose.h"

static const husk__configuration MENU[] = {{"forward", "", {0}}};

// Of a phase's convolution, whose weights are plain.
static const husk__conv_names NAMES = {"x", "w", "bias", "y", true, HUSK__CONV_Y, false, NULL};

// MAX_PHASES: as in the kernel; of more than NAMED_PHASES the kernel takes all for present; ALIGNMENT: elements
enum { MAX_PHASES = 1024, NAMED_PHASES = 64, ALIGNMENT = 64 };

enum { SPACE = 3 }; // dimensions of space in the kernels' geometry

// Cycles of an element of dx that is interleaved, of the weights that is flipped.
static const double INTERLEAVE_CYCLES = 3.5, FLIP_CYCLES = 7.0;

// What the elements i = remainder + stride * j of one dimension are made of: from + to of dy's elements, padded.
typedef struct part {
    bool meets; // anything at all
    int64_t extent;      // elements j
    int64_t taps, first, step; // elements of the filter: first, first + step ...
    int64_t from, length, pad, pad_end, dilation;
} part;

typedef struct phase {
    husk_plan *plan;
    husk_tensor dy, w, dx; /* views: their offsets count from the tensors' own; flipped w and parts: from scratch */
    bool meets, is_flipped;
    int64_t taps[3], first[3], step[3];
} phase;

typedef struct state {
    const husk__kernel *flip, *interleave;
    int64_t count, slot;
    bool is_direct; // the only phase writes dx
    bool is_channels_last;
    int64_t steps[3]; // phases of each of three dimensions
    uint64_t present, parts_offset;
    size_t items;
    phase phases[];
} state;

static int64_t greatest_common_divisor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// Phases of a dimension: none is empty.
static int64_t phases_of(const husk__conv_problem *problem, int32_t i)
{
    return husk__min_i64(problem->stride[i], problem->x.shape[2 + i]);
}

static int64_t phase_count(const husk__conv_problem *problem)
{
    int64_t count = 1;
    for (int32_t i = 0; i < problem->x.rank - 2; ++i) {
        count *= phases_of(problem, i);
        if (count > MAX_PHASES)
            return MAX_PHASES + 1;
    }
    return count;
}

static part find_part(const husk__conv_problem *problem, int32_t i, int64_t remainder)
{
    const int64_t stride = problem->stride[i], dilation = problem->dilation[i], filter = problem->w.shape[2 + i];
    const int64_t divisor = greatest_common_divisor(stride, dilation), out = problem->y.shape[2 + i];
    part p = {.extent = husk__divide_up(problem->x.shape[2 + i] - remainder, stride),
              .step = stride / divisor,
              .dilation = dilation / divisor};
    while (p.first < filter && p.first < p.step && (remainder + problem->pad[i] - p.first * dilation) % stride != 0)
        ++p.first;
    if (p.first >= filter || p.first >= p.step)
        return p;
    p.taps = (filter - 1 - p.first) / p.step + 1;
    // Element j meets dy[j + base - tap * dilation]; with the taps in reverse, j - before + tap * dilation.
    const int64_t base = (remainder + problem->pad[i] - p.first * dilation) / stride;
    const int64_t reach = (p.taps - 1) * p.dilation, before = reach - base;
    const int64_t end = husk__min_i64(out, p.extent - before + reach);
    p.from = husk__max_i64(0, -before);
    p.length = end - p.from;
    p.meets = p.length > 0;
    p.pad = husk__max_i64(0, before);
    p.pad_end = p.extent - before + reach - end;
    return p;
}

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    if (phase_count(candidate->problem) <= MAX_PHASES)
        return true;
    snprintf(reason, HUSK__REASON_CAPACITY, "strides that make more than %d phases", MAX_PHASES);
    return false;
}

// ---- scratch: the filters of all phases in their own dtype, then what the phases give, in accumulators ----

static bool is_direct(const husk__conv_problem *problem)
{
    return phase_count(problem) == 1 && !problem->accumulates;
}

static int64_t filter_elements(const husk__conv_problem *problem)
{
    return husk__round_up(husk__tensor_count(&problem->w) + phase_count(problem) * ALIGNMENT, ALIGNMENT);
}

static int64_t slot_elements(const husk__conv_problem *problem)
{
    int64_t count = problem->x.shape[0] * problem->x.shape[1];
    for (int32_t i = 0; i < problem->x.rank - 2; ++i)
        count *= husk__divide_up(problem->x.shape[2 + i], problem->stride[i]);
    return husk__round_up(count, ALIGNMENT);
}

static uint64_t workspace(const husk__candidate *candidate)
{
    const husk__conv_problem *problem = candidate->problem;
    const int64_t parts = is_direct(problem) ? 0 : phase_count(problem) * slot_elements(problem);
    return (uint64_t)(filter_elements(problem) + parts) * husk__accumulator_size(problem->dtype);
}

// ---- preparing ----

// Whether a phase that meets nothing is something else than zero.
static bool has_constant(const husk__conv_problem *problem)
{
    return problem->has_bias || problem->activation != HUSK_ACT_NONE;
}

static void make_filter(const husk__conv_problem *problem, const part parts[3], phase *p, int64_t *used)
{
    const int32_t space = problem->x.rank - 2;
    const int64_t groups = problem->geometry.groups;
    int64_t shape[HUSK_MAX_RANK] = {problem->x.shape[1], p->meets ? problem->w.shape[0] / groups : 0}, count;
    p->is_flipped = groups > 1;
    for (int32_t i = 0; i < space; ++i) {
        shape[2 + i] = p->meets ? parts[i].taps : 1;
        p->is_flipped = p->is_flipped || parts[i].taps > 1;
    }
    p->w = husk_tensor_make(NULL, problem->dtype, problem->w.rank, shape);
    husk__tensor_resolve(&p->w);
    p->is_flipped = p->is_flipped && p->meets;
    if (p->is_flipped) {
        p->w.offset = *used;
        count = husk__tensor_count(&p->w);
        *used += husk__round_up(count, ALIGNMENT);
    } else if (p->meets) {
        p->w.strides[0] = problem->w.strides[1];
        p->w.strides[1] = problem->w.strides[0];
        for (int32_t i = 0; i < space; ++i)
            p->w.offset += parts[i].first * problem->w.strides[2 + i];
    }
}

// The phase's tensors, and the params of its convolution.
static husk_conv_params make_phase(const husk__conv_problem *problem, const state *s, const part parts[3],
                                   int64_t index, phase *p, int64_t *used)
{
    const int32_t space = problem->x.rank - 2;
    husk_conv_params params = HUSK_CONV_PARAMS(.activation = problem->activation, .activation_slope = problem->slope,
                                               .groups = problem->geometry.groups, .precision = problem->precision,
                                               .winograd = problem->allows_winograd);
    int64_t shape[HUSK_MAX_RANK] = {problem->x.shape[0], problem->x.shape[1]};
    p->meets = problem->w.shape[0] > 0;
    for (int32_t i = 0; i < space; ++i)
        p->meets = p->meets && parts[i].meets;
    p->dy = problem->y;
    if (!p->meets)
        p->dy.shape[1] = 0;
    for (int32_t i = 0; i < space; ++i) {
        shape[2 + i] = parts[i].extent;
        p->dy.shape[2 + i] = p->meets ? parts[i].length : parts[i].extent;
        if (!p->meets)
            continue;
        p->dy.offset += parts[i].from * problem->y.strides[2 + i];
        params.pad[i] = parts[i].pad;
        params.pad_end_extra[i] = parts[i].pad_end - parts[i].pad;
        params.dilation[i] = parts[i].dilation;
        p->taps[3 - space + i] = parts[i].taps;
        p->first[3 - space + i] = parts[i].first;
        p->step[3 - space + i] = parts[i].step;
    }
    for (int32_t i = 0; i < 3 - space; ++i)
        p->taps[i] = p->step[i] = 1;
    make_filter(problem, parts, p, used);
    if (s->is_direct) {
        p->dx = problem->x;
    } else {
        const husk_dtype dtype = problem->dtype == HUSK_F64 ? HUSK_F64 : HUSK_F32;
        p->dx = s->is_channels_last ? husk_tensor_make_channels_last(NULL, dtype, problem->x.rank, shape)
                                    : husk_tensor_make(NULL, dtype, problem->x.rank, shape);
        husk__tensor_resolve(&p->dx);
        p->dx.offset = index * s->slot;
    }
    return params;
}

static part *find_parts(const husk__conv_problem *problem, const state *s, int64_t index, part parts[3])
{
    const int32_t space = problem->x.rank - 2;
    for (int32_t i = space - 1; i >= 0; --i) {
        parts[i] = find_part(problem, i, index % s->steps[3 - space + i]);
        index /= s->steps[3 - space + i];
    }
    return parts;
}

// What the plan knows before there are kernels.
static state begin_state(const husk__conv_problem *problem)
{
    state s = {.count = phase_count(problem),
               .slot = slot_elements(problem),
               .is_direct = is_direct(problem),
               .is_channels_last = problem->x.strides[1] == 1 && problem->x.shape[1] > 1,
               .parts_offset = (uint64_t)filter_elements(problem)};
    for (int32_t i = 0; i < 3; ++i) {
        const int32_t d = i - (5 - problem->x.rank);
        s.steps[i] = d < 0 ? 1 : phases_of(problem, d);
    }
    return s;
}

// Nanoseconds that a phase's convolution is predicted to take, as the library chooses it; 0 where it cannot be told.
static double phase_cost(const husk__candidate *candidate, const state *s, int64_t index)
{
    const husk__conv_problem *problem = candidate->problem;
    const husk__scope silent = {"husk_conv_backward_data", NULL};
    part parts[SPACE];
    phase p = {0};
    int64_t used = 0;
    const husk_conv_params params = make_phase(problem, s, find_parts(problem, s, index, parts), index, &p, &used);
    const husk_tensor *const tensors[] = {&p.dy, &p.w, &p.dx};
    husk__conv_problem own;
    husk__ranking ranking;
    if (!p.meets || husk__conv_resolve(&params, &p.dy, &p.w, problem->has_bias ? &problem->bias : NULL, &p.dx, &NAMES,
                                       &own, &silent) != HUSK_OK)
        return 0.0;
    own.packs_every_call = true;
    // dy is read meanwhile, by every phase.
    const husk_machine *machine = candidate->machine;
    const double bytes = (double)husk__tensor_count(&p.dy) * (double)husk_dtype_size(problem->dtype);
    const double reading = bytes / husk__read_rate(machine, &machine->rates, bytes) / machine->cores;
    const husk__limit limit = husk__default_limit(tensors, sizeof tensors / sizeof *tensors);
    const husk__target target = {candidate->traits, candidate->machine};
    if (husk__rank(&husk__op_conv, &own, &target, NULL, false, limit, &ranking, &silent) != HUSK_OK ||
        ranking.count == 0)
        return 0.0;
    return fmax(ranking.candidates[0].cost, reading);
}

// Launches, the phases' convolutions (of many some stand for all), filters that are flipped and phases interleaved.
static double cost(const husk__candidate *candidate)
{
    enum { SAMPLES = 4 };
    const husk__conv_problem *problem = candidate->problem;
    const husk_machine_rates *rates = &candidate->machine->rates;
    const double units = (double)husk__max_i64(1, candidate->traits->compute_units);
    const state s = begin_state(problem);
    const int64_t samples = husk__min_i64(s.count, SAMPLES);
    double sum = 0.0;
    for (int64_t i = 0; i < samples; ++i)
        sum += phase_cost(candidate, &s, i * s.count / samples);
    sum *= (double)s.count / (double)husk__max_i64(1, samples);
    if (!s.is_direct)
        sum += rates->launch_ns +
               husk__cycles_ns(rates, (double)husk__tensor_count(&problem->x) * INTERLEAVE_CYCLES / units);
    if (husk__conv_backward_data_products(problem) > problem->geometry.filters)
        sum += (double)s.count * rates->launch_ns +
               husk__cycles_ns(rates, (double)husk__tensor_count(&problem->w) * FLIP_CYCLES / units);
    return (double)s.count * rates->launch_ns + sum; // weights of each phase are packed, whatever computes it
}

static husk_status plan_phase(husk_plan *plan, const husk_conv_params *params, phase *p, const husk__scope *scope)
{
    const husk__conv_problem *problem = plan->problem;
    const husk_tensor *const tensors[] = {&p->dy, &p->w, &p->dx};
    const uint64_t limit = husk__plan_inside_limit(plan);
    const husk__preference preference = {.limit =
                                             limit ? (husk__limit){limit, false} : husk__default_limit(tensors, 3)};
    husk__conv_problem own;
    husk_status status = husk__conv_resolve(params, &p->dy, &p->w, problem->has_bias ? &problem->bias : NULL, &p->dx,
                                            &NAMES, &own, scope);
    own.packs_every_call = true;
    if (status == HUSK_OK)
        status = husk__plan_create(plan->context, &husk__op_conv, &own, &preference, &p->plan, scope);
    if (status != HUSK_OK)
        return status;
    husk__plan_adopt(plan, p->plan);
    // Its bound may be Winograd's; sums are as long as the whole gradient's, or shorter.
    const double terms = (double)husk__conv_filter_count(&own);
    const double all = (double)husk__conv_backward_data_products(problem);
    const double factor = p->plan->error_factor / (4.0 + 2.0 * sqrt(terms)) * (4.0 + 2.0 * sqrt(all));
    plan->error_factor = fmax(plan->error_factor, factor);
    plan->flops += p->plan->flops;
    return HUSK_OK;
}

static husk_status plan_phases(husk_plan *plan, state *s, const husk__scope *scope)
{
    const husk__conv_problem *problem = plan->problem;
    int64_t used = 0;
    for (int64_t index = 0; index < s->count; ++index) {
        part parts[3];
        phase *p = &s->phases[index];
        const husk_conv_params params = make_phase(problem, s, find_parts(problem, s, index, parts), index, p, &used);
        if (!p->meets && !s->is_direct && !has_constant(problem) && s->count <= NAMED_PHASES)
            continue;
        if (index < NAMED_PHASES)
            s->present |= UINT64_C(1) << index;
        const husk_status status = plan_phase(plan, &params, p, scope);
        if (status != HUSK_OK)
            return status;
    }
    return HUSK_OK;
}

static void unprepare(husk_plan *plan)
{
    state *s = plan->state;
    if (s)
        for (int64_t i = 0; i < s->count; ++i)
            husk_plan_release(s->phases[i].plan);
    free(s);
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    static const char *const file = "conv/backward_data_phases.cl";
    const husk__conv_problem *problem = plan->problem;
    const int64_t count = phase_count(problem);
    state *s = calloc(1, sizeof *s + (size_t)count * sizeof *s->phases);
    if (!s)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = s;
    plan->flops = 0.0; // the phases' own
    *s = begin_state(problem);
    s->items = 4 * (size_t)husk__max_i64(1, husk_context_traits(plan->context)->compute_units);
    const char *options = husk__dtype_option(problem->dtype);
    husk_status status =
        husk__kernel_get(plan->context, file, options, "husk_conv_backward_data_flip", &s->flip, scope);
    if (status == HUSK_OK)
        status =
            husk__kernel_get(plan->context, file, options, "husk_conv_backward_data_interleave", &s->interleave, scope);
    return status == HUSK_OK ? plan_phases(plan, s, scope) : status;
}

// ---- running ----

static husk_status flip(const husk_plan *plan, husk_queue *queue, const phase *p, const husk_tensor *w,
                        const husk__scratch *scratch, const husk__scope *scope)
{
    const state *s = plan->state;
    const husk__conv_problem *problem = plan->problem;
    int64_t strides[3] = {0};
    for (int32_t i = 0; i < problem->w.rank - 2; ++i)
        strides[5 - problem->w.rank + i] = problem->w.strides[2 + i];
    const int64_t channels = problem->x.shape[1];
    const uint32_t element = (uint32_t)husk_dtype_size(problem->dtype);
    const husk__range range = {{(size_t)husk__min_i64(channels, (int64_t)s->items), 1, 1}, {1, 1, 1}};
    return HUSK__LAUNCH(
        queue, s->flip, &range, scope, HUSK__ARG_TENSOR(w),
        HUSK__ARG_BUFFER(scratch->buffer, (uint64_t)p->w.offset * element, element), HUSK__ARG_I32(channels),
        HUSK__ARG_I32(problem->geometry.channels), HUSK__ARG_I32(problem->geometry.filters), HUSK__ARG_I32(p->taps[0]),
        HUSK__ARG_I32(p->taps[1]), HUSK__ARG_I32(p->taps[2]), HUSK__ARG_I32(p->first[0]), HUSK__ARG_I32(p->first[1]),
        HUSK__ARG_I32(p->first[2]), HUSK__ARG_I32(p->step[0]), HUSK__ARG_I32(p->step[1]), HUSK__ARG_I32(p->step[2]),
        HUSK__ARG_I64(problem->w.strides[0]), HUSK__ARG_I64(problem->w.strides[1]), HUSK__ARG_I64(strides[0]),
        HUSK__ARG_I64(strides[1]), HUSK__ARG_I64(strides[2]));
}

static husk_status run_phase(const husk_plan *plan, husk_queue *queue, const phase *p,
                             const husk__conv_backward_data_arguments *arguments, const husk__scratch *scratch,
                             const husk__scope *scope)
{
    const state *s = plan->state;
    husk_tensor dy = p->dy, w = p->w, dx = p->dx;
    dy.buffer = arguments->dy->buffer;
    dy.offset += arguments->dy->offset;
    w.buffer = p->is_flipped ? scratch->buffer : arguments->w->buffer;
    w.offset += p->is_flipped ? 0 : arguments->w->offset;
    dx.buffer = s->is_direct ? arguments->dx->buffer : scratch->buffer;
    dx.offset += s->is_direct ? arguments->dx->offset : (int64_t)s->parts_offset;
    husk_status status = p->is_flipped ? flip(plan, queue, p, arguments->w, scratch, scope) : HUSK_OK;
    const husk__conv_arguments own = {&dy, &w, arguments->bias, &dx};
    return status == HUSK_OK ? husk__plan_execute(p->plan, queue, &own, scope) : status;
}

static husk_status interleave(const husk_plan *plan, husk_queue *queue,
                              const husk__conv_backward_data_arguments *arguments, const husk__scratch *scratch,
                              const husk__scope *scope)
{
    const state *s = plan->state;
    const husk_tensor *x = &((const husk__conv_problem *)plan->problem)->x;
    int64_t in[3] = {1, 1, 1}, strides[3] = {0};
    for (int32_t i = 0; i < x->rank - 2; ++i) {
        in[5 - x->rank + i] = x->shape[2 + i];
        strides[5 - x->rank + i] = x->strides[2 + i];
    }
    const int64_t rows = x->shape[0] * (s->is_channels_last ? 1 : x->shape[1]) * in[0] * in[1];
    const husk__range range = {{(size_t)husk__min_i64(rows, (int64_t)s->items), 1, 1}, {1, 1, 1}};
    const int32_t flags = husk__conv_backward_flags(plan->problem, x->dtype);
    const uint64_t size = husk__accumulator_size(((const husk__conv_problem *)plan->problem)->dtype);
    return HUSK__LAUNCH(
        queue, s->interleave, &range, scope, HUSK__ARG_BUFFER(scratch->buffer, s->parts_offset * size, size),
        HUSK__ARG_TENSOR(arguments->dx), HUSK__ARG_I32(x->shape[0]), HUSK__ARG_I32(x->shape[1]), HUSK__ARG_I32(in[0]),
        HUSK__ARG_I32(in[1]), HUSK__ARG_I32(in[2]), HUSK__ARG_I32(s->steps[0]), HUSK__ARG_I32(s->steps[1]),
        HUSK__ARG_I32(s->steps[2]), HUSK__ARG_I64(x->strides[0]), HUSK__ARG_I64(x->strides[1]),
        HUSK__ARG_I64(strides[0]), HUSK__ARG_I64(strides[1]), HUSK__ARG_I64(strides[2]), HUSK__ARG_I64(s->slot),
        HUSK__ARG_I64(s->present), HUSK__ARG_I32(s->is_channels_last), HUSK__ARG_I32(flags));
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *arguments, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const state *s = plan->state;
    husk_status status = HUSK_OK;
    for (int64_t i = 0; i < s->count && status == HUSK_OK; ++i)
        if (s->phases[i].plan)
            status = run_phase(plan, queue, &s->phases[i], arguments, scratch, scope);
    return status == HUSK_OK && !s->is_direct ? interleave(plan, queue, arguments, scratch, scope) : status;
}

const husk__variant husk__conv_backward_data_phases = {
    .name = "phases",
    .family = HUSK__FAMILY_CPU,
    .configurations = MENU,
    .configuration_count = sizeof MENU / sizeof *MENU,
    .supports = supports,
    .cost = cost,
    .workspace = workspace,
    .error_factor = husk__conv_backward_data_error_factor,
    .flops = husk__conv_flops,
    .prepare = prepare,
    .unprepare = unprepare,
    .run = run,
};
