// SPDX-License-Identifier: MIT
// Losses and their gradients: validate -> resolve.
#include "ops/loss/problem.h"

#include <math.h>

#include "base/tensor.h"
#include "runtime/walk.h"

typedef husk__loss_problem problem;
typedef husk__loss_arguments arguments;

const char *husk_loss_kind_name(husk_loss_kind kind)
{
    switch (kind) {
#define NAME(name, number, text) \
    case HUSK_LOSS_##name:       \
        return text;
        HUSK_LOSS_LIST(NAME)
#undef NAME
    }
    return "unknown";
}

bool husk__loss_has_rows(husk_loss_kind kind)
{
    return kind == HUSK_LOSS_CROSS_ENTROPY || kind == HUSK_LOSS_NEGATIVE_LOG;
}

int32_t husk__loss_axis(const husk_tensor *x)
{
    return x->rank > 1 ? 1 : 0;
}

// ---- validate ----

static husk_status check_params(const husk_loss_params *params, const husk__scope *scope)
{
    if ((int)params->kind < HUSK_LOSS_CROSS_ENTROPY || params->kind > HUSK_LOSS_DIVERGENCE)
        return husk__reject(scope, "params", "kind %d is none of husk_loss_kind", (int)params->kind);
    if ((int)params->reduction < HUSK_LOSS_MEAN || params->reduction > HUSK_LOSS_NONE)
        return husk__reject(scope, "params", "reduction %d is none of husk_loss_reduction", (int)params->reduction);
    const bool needs_beta = params->kind == HUSK_LOSS_HUBER;
    if (!(needs_beta ? params->beta > 0 : params->beta >= 0) || isinf(params->beta))
        return husk__reject(scope, "params", "beta is %g, must be a finite number%s", (double)params->beta,
                            needs_beta ? " above 0" : ", not negative");
    if (!(params->label_smoothing >= 0 && params->label_smoothing <= 1))
        return husk__reject(scope, "params", "label_smoothing is %g, must be 0 to 1", (double)params->label_smoothing);
    if (params->label_smoothing > 0 && params->kind != HUSK_LOSS_CROSS_ENTROPY)
        return husk__reject(scope, "params", "label_smoothing is for cross_entropy alone");
    if (params->accumulate & ~(uint32_t)HUSK_ACCUMULATE_ALL)
        return husk__reject(scope, "params", "accumulate is %u, which has unknown bits", (unsigned)params->accumulate);
    return HUSK_OK;
}

// The shape of x without the classes; returns its rank.
static int32_t rows_shape(const husk_tensor *x, bool has_rows, int64_t shape[HUSK_MAX_RANK])
{
    int32_t rank = 0;
    for (int32_t d = 0; d < x->rank; ++d)
        if (!has_rows || d != husk__loss_axis(x))
            shape[rank++] = x->shape[d];
    return rank;
}

static bool is_label(const husk_tensor *target)
{
    return target->dtype == HUSK_I32 || target->dtype == HUSK_I64;
}

static husk_status check_target(const husk_loss_params *params, const husk_tensor *x, const husk_tensor *target,
                                const husk__scope *scope)
{
    int64_t shape[HUSK_MAX_RANK];
    husk_status status = husk__tensor_check(target, "target", scope);
    if (status == HUSK_OK && husk__loss_has_rows(params->kind) && is_label(target)) {
        status = husk__tensor_check_plain(target, target->dtype, "target", scope);
        return status ? status
                      : husk__tensor_check_shape(target, "target", rows_shape(x, true, shape), shape,
                                                 "as x without its classes", scope);
    }
    if (status == HUSK_OK && params->kind == HUSK_LOSS_NEGATIVE_LOG)
        return husk__reject(scope, "target", "is %s, must be labels, i32 or i64", husk_dtype_name(target->dtype));
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(target, x->dtype, "target", scope);
    return status ? status : husk__tensor_check_shape(target, "target", x->rank, x->shape, "as x", scope);
}

static husk_status check_broadcast(const husk_tensor *x, const husk_tensor *weight, const char *argument,
                                   const husk__scope *scope)
{
    char own[HUSK__SHAPE_TEXT], other[HUSK__SHAPE_TEXT];
    bool is_right = weight->rank <= x->rank;
    for (int32_t d = 0; is_right && d < weight->rank; ++d)
        is_right = weight->shape[d] == 1 || weight->shape[d] == x->shape[x->rank - weight->rank + d];
    return is_right ? HUSK_OK
                    : husk__reject(scope, argument, "shape %s cannot be broadcast to x's %s",
                                   husk__shape_text(weight, own), husk__shape_text(x, other));
}

static husk_status check_weight(const husk_loss_params *params, const husk_tensor *x, const husk_tensor *weight,
                                bool is_positive, const char *argument, const husk__scope *scope)
{
    const bool has_rows = husk__loss_has_rows(params->kind);
    if (!weight)
        return HUSK_OK;
    if (params->kind != HUSK_LOSS_BINARY_LOGITS && (is_positive || !has_rows))
        return husk__reject(scope, argument, "is not NULL, but %s has none", husk_loss_kind_name(params->kind));
    husk_status status = husk__tensor_check_plain(weight, x->dtype, argument, scope);
    if (status != HUSK_OK || !has_rows)
        return status ? status : check_broadcast(x, weight, argument, scope);
    return husk__tensor_check_shape(weight, argument, 1, &x->shape[husk__loss_axis(x)], "[classes]", scope);
}

static husk_status check_loss(const husk_loss_params *params, const husk_tensor *x, const husk_tensor *loss,
                              const char *argument, const husk__scope *scope)
{
    int64_t shape[HUSK_MAX_RANK];
    const bool is_whole = params->reduction == HUSK_LOSS_NONE;
    const int32_t rank = is_whole ? rows_shape(x, husk__loss_has_rows(params->kind), shape) : 0;
    husk_status status = husk__tensor_check_plain(loss, x->dtype, argument, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(loss, argument, rank, shape,
                                          is_whole ? "one for each row or element" : "as the loss is reduced", scope);
    return status;
}

// Rows of no classes have no loss; where there are no rows either, there is nothing to say.
static bool has_empty_rows(const husk_tensor *x)
{
    const int32_t axis = husk__loss_axis(x);
    bool is_empty = x->shape[axis] == 0;
    for (int32_t d = 0; d < x->rank; ++d)
        is_empty = is_empty && (d == axis || x->shape[d] > 0);
    return is_empty;
}

static husk_status check_numbers(husk_queue *queue, const husk_loss_params *params, const arguments *given,
                                 bool is_backward, const husk__scope *scope)
{
    const husk_tensor *x = given->x;
    husk_status status = check_params(params, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_real(queue, x, "x", scope);
    if (status == HUSK_OK && husk__loss_has_rows(params->kind) && x->rank < 1)
        status = husk__reject(scope, "x", "rank is 0, must be 1 to %d", HUSK_MAX_RANK);
    if (status == HUSK_OK && husk__loss_has_rows(params->kind) && has_empty_rows(x))
        status = husk__reject(scope, "x", "has rows of no classes");
    if (status == HUSK_OK)
        status = check_target(params, x, given->target, scope);
    if (status == HUSK_OK)
        status = check_weight(params, x, given->weight, false, "weight", scope);
    if (status == HUSK_OK)
        status = check_weight(params, x, given->positive_weight, true, "positive_weight", scope);
    if (status == HUSK_OK && !is_backward) {
        status = check_loss(params, x, given->last, "loss", scope);
        return status ? status : husk__tensor_check_distinct(given->last, "loss", scope);
    }
    if (status == HUSK_OK)
        status = check_loss(params, x, given->dloss, "dloss", scope);
    if (status == HUSK_OK && !given->last)
        status = husk__reject(scope, "dx", "is NULL, and there is no other gradient");
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(given->last, x->dtype, "dx", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(given->last, "dx", x->rank, x->shape, "as x", scope);
    return status ? status : husk__tensor_check_distinct(given->last, "dx", scope);
}

// What an output may replace: tensors of its own shape that are read element by element, or row by row, before.
static husk_status check_overlaps(const husk_loss_params *params, const arguments *given, bool is_backward,
                                  const husk__scope *scope)
{
    const char *name = is_backward ? "dx" : "loss";
    const bool adds = is_backward && (params->accumulate & HUSK_ACCUMULATE_INPUTS);
    const bool has_rows = husk__loss_has_rows(params->kind);
    const bool may_replace = is_backward ? !adds : !has_rows && params->reduction == HUSK_LOSS_NONE;
    husk_status (*const refuse)(const husk_tensor *, const char *, const husk_tensor *, const char *,
                                const husk__scope *) =
        may_replace ? husk__refuse_partial_overlap : husk__refuse_overlap;
    husk_status status = refuse(given->last, name, given->x, "x", scope);
    if (status == HUSK_OK)
        status = (has_rows && is_label(given->target) ? husk__refuse_overlap : refuse)(given->last, name, given->target,
                                                                                       "target", scope);
    if (status == HUSK_OK)
        status = husk__refuse_overlap(given->last, name, given->weight, "weight", scope);
    if (status == HUSK_OK)
        status = husk__refuse_overlap(given->last, name, given->positive_weight, "positive_weight", scope);
    if (status == HUSK_OK && is_backward)
        status = husk__refuse_overlap(given->last, name, given->dloss, "dloss", scope);
    return status;
}

husk_status husk__loss_validate(husk_queue *queue, const husk_loss_params *params, const arguments *given,
                                bool is_backward, const husk__scope *scope)
{
    husk_status status = check_numbers(queue, params, given, is_backward, scope);
    status = status ? status : husk__tensor_bind_given(queue, given->x, "x", scope);
    status = status ? status : husk__tensor_bind_given(queue, given->target, "target", scope);
    status = status ? status : husk__tensor_bind_given(queue, given->weight, "weight", scope);
    status = status ? status : husk__tensor_bind_given(queue, given->positive_weight, "positive_weight", scope);
    status = status ? status : husk__tensor_bind_given(queue, given->dloss, "dloss", scope);
    status = status ? status : husk__tensor_bind_given(queue, given->last, is_backward ? "dx" : "loss", scope);
    return status ? status : check_overlaps(params, given, is_backward, scope);
}

// ---- resolve ----

// As x, with the strides by which the weights are repeated.
static husk_tensor broadcast(const husk_tensor *weight, const husk_tensor *x)
{
    const husk_tensor own = husk__tensor_bare_copy(weight);
    husk_tensor wide = *x;
    for (int32_t d = 0; d < x->rank; ++d)
        wide.strides[d] = husk__broadcast_stride(&own, x->rank, d);
    return wide;
}

problem husk__loss_resolve(const husk_loss_params *params, const arguments *given, bool is_backward)
{
    problem own = {.kind = params->kind, .reduction = params->reduction, .is_backward = is_backward};
    const bool has_rows = husk__loss_has_rows(own.kind);
    own.x = husk__tensor_bare_copy(given->x);
    own.target = husk__tensor_bare_copy(given->target);
    own.has_labels = has_rows && is_label(given->target);
    own.has_weight = given->weight != NULL;
    own.has_positive_weight = given->positive_weight != NULL;
    if (given->weight)
        own.weight = has_rows ? husk__tensor_bare_copy(given->weight) : broadcast(given->weight, &own.x);
    if (given->positive_weight)
        own.positive_weight = broadcast(given->positive_weight, &own.x);
    own.loss = husk__tensor_bare_copy(is_backward ? given->dloss : given->last);
    if (is_backward)
        own.dx = husk__tensor_bare_copy(given->last);
    own.accumulates = is_backward && (params->accumulate & HUSK_ACCUMULATE_INPUTS);
    if (own.kind == HUSK_LOSS_SMOOTH_ABSOLUTE || own.kind == HUSK_LOSS_HUBER)
        own.beta = params->beta;
    if (own.kind == HUSK_LOSS_SMOOTH_ABSOLUTE && own.beta == 0) // nothing is smoothed
        own.kind = HUSK_LOSS_ABSOLUTE;
    own.log_target = own.kind == HUSK_LOSS_DIVERGENCE && params->log_target;
    own.smoothing = params->label_smoothing;
    if (own.has_labels)
        own.ignored = params->ignore_index;
    return own;
}

void husk__loss_describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    husk__key_i64(key, own->kind + 16 * own->reduction);
    husk__key_i64(key, own->log_target + 2 * own->has_weight + 4 * own->has_positive_weight + 8 * own->accumulates);
    husk__key_f32(key, own->beta);
    husk__key_f32(key, own->smoothing);
    husk__key_i64(key, own->ignored);
    husk__key_tensor(key, &own->x);
    husk__key_tensor(key, &own->target);
    husk__key_tensor(key, &own->weight);
    husk__key_tensor(key, &own->positive_weight);
    husk__key_tensor(key, &own->loss);
    husk__key_tensor(key, &own->dx);
}

static void note_options(const problem *own, husk__case *c)
{
    const husk_loss_params usual = husk_loss_defaults(own->kind);
    const bool has_beta = own->kind == HUSK_LOSS_SMOOTH_ABSOLUTE || own->kind == HUSK_LOSS_HUBER;
    if (has_beta && own->beta != usual.beta)
        husk__case_note(c, "beta %g", (double)own->beta);
    if (own->smoothing != 0)
        husk__case_note(c, "label_smoothing %g", (double)own->smoothing);
    if (own->log_target)
        husk__case_note(c, "log_target");
    if (own->has_labels && own->target.dtype != HUSK_I32)
        husk__case_note(c, "labels are %s", husk_dtype_name(own->target.dtype));
    if (own->has_labels && own->ignored != usual.ignore_index)
        husk__case_note(c, "ignores label %lld", (long long)own->ignored);
    if (own->has_weight)
        husk__case_note(c, "with weight");
    if (own->has_positive_weight)
        husk__case_note(c, "with positive_weight");
    if (own->accumulates)
        husk__case_note(c, "accumulates");
}

// Without rows n is the first dimension as well, and c the second.
void husk__loss_write_case(const void *untyped, const void *given, husk__case *c)
{
    static const char *const reductions[] = {
        [HUSK_LOSS_MEAN] = "mean", [HUSK_LOSS_SUM] = "sum", [HUSK_LOSS_NONE] = "none"};
    const problem *own = untyped;
    const husk_tensor *x = &own->x;
    const int32_t axis = husk__loss_axis(x);
    int64_t n = 1, inner = 1;
    (void)given;
    for (int32_t d = 0; d < x->rank; ++d)
        *(d < axis ? &n : &inner) *= d == axis ? 1 : x->shape[d];
    husk__case_begin(c, "loss");
    husk__case_size(c, "n", n);
    husk__case_size(c, "c", x->rank > 0 ? x->shape[axis] : 1);
    husk__case_integer(c, "inner", inner, 1);
    husk__case_word(c, "kind", husk_loss_kind_name(own->kind), husk_loss_kind_name(HUSK_LOSS_CROSS_ENTROPY));
    husk__case_word(c, "reduction", reductions[own->reduction], "mean");
    husk__case_integer(c, "probabilities", own->kind == HUSK_LOSS_CROSS_ENTROPY && !own->has_labels, 0);
    husk__case_dtype(c, x->dtype);
    if (own->is_backward)
        husk__case_word(c, "dir", "bwd", NULL);
    note_options(own, c);
    husk__case_tensor(c, "x", x);
    husk__case_tensor(c, "target", &own->target);
    husk__case_tensor(c, own->is_backward ? "dloss" : "loss", &own->loss);
    if (own->is_backward)
        husk__case_tensor(c, "dx", &own->dx);
}

void husk__loss_classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    const bool has_rows = husk__loss_has_rows(own->kind);
    const int64_t classes = has_rows ? own->x.shape[husk__loss_axis(&own->x)] : 1;
    husk__text_format(text, " %s %s%s%s", husk_dtype_name(own->x.dtype), husk_loss_kind_name(own->kind),
                      own->reduction == HUSK_LOSS_NONE ? " none" : "",
                      husk__tensor_is_packed(&own->x) ? " packed" : " strided");
    husk__class_size(text, "classes", classes);
    husk__class_size(text, "rows", husk__tensor_count(&own->x) / classes);
}
