// SPDX-License-Identifier: MIT
// Plans: made for a problem, found again in the context's cache, executed on queues.
#include "select/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/tensor.h"
#include "select/choose.h"
#include "select/plan_cache.h"
#include "select/tuning.h"

static void destroy_plan(husk_plan *plan)
{
    if (plan->state) {
        if (plan->variant->unprepare)
            plan->variant->unprepare(plan);
        else
            free(plan->state);
    }
    if (plan->holds_context)
        husk_context_release(plan->context);
    free(plan->problem);
    free(plan);
}

void husk_plan_retain(husk_plan *plan)
{
    if (plan)
        atomic_fetch_add(&plan->references, 1);
}

void husk_plan_release(husk_plan *plan)
{
    if (plan && atomic_fetch_sub(&plan->references, 1) == 1)
        destroy_plan(plan);
}

const char *husk_plan_variant(const husk_plan *plan)
{
    return plan ? plan->variant->name : "";
}

const char *husk_plan_configuration(const husk_plan *plan)
{
    return plan ? plan->configuration->name : "";
}

uint64_t husk_plan_workspace(const husk_plan *plan)
{
    uint64_t bytes = plan ? plan->workspace : 0;
    for (int depth = 0; plan && depth < HUSK__PLAN_DEPTH; ++depth)
        bytes += plan->inside_workspace[depth];
    return bytes;
}

double husk_plan_executed_flops(const husk_plan *plan)
{
    return plan ? plan->flops : 0.0;
}

double husk_plan_error_factor(const husk_plan *plan)
{
    return plan ? plan->error_factor : 0.0;
}

// A queue keeps the largest scratch memory of each depth.
void husk__plan_adopt(husk_plan *outer, husk_plan *inside)
{
    uint64_t bytes = husk_plan_workspace(inside);
    if (bytes > outer->largest_inside)
        outer->largest_inside = bytes;
    bytes = inside->workspace;
    for (int depth = 0; depth < HUSK__PLAN_DEPTH; ++depth) {
        if (bytes > outer->inside_workspace[depth])
            outer->inside_workspace[depth] = bytes;
        bytes = inside->inside_workspace[depth];
    }
    if (inside->holds_context)
        husk_context_release(inside->context);
    inside->holds_context = false;
}

uint64_t husk__plan_inside_limit(const husk_plan *outer)
{
    if (outer->inside_limit == 0)
        return 0;
    return outer->inside_limit > outer->workspace ? outer->inside_limit - outer->workspace : 1;
}

// ---- making one ----

// One candidate made ready; inside_limit: for it and the plans inside it. The plan does not hold the context yet.
static husk_status prepare_within(husk_context *context, const husk__op *op, const void *problem,
                                  const husk__wish *wish, uint64_t inside_limit, const husk__ranked *ranked,
                                  husk_plan **plan, const husk__scope *scope)
{
    husk_plan *made = calloc(1, sizeof *made);
    void *copy = malloc(op->problem_size);
    if (!made || !copy) {
        free(made);
        free(copy);
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    }
    memcpy(copy, problem, op->problem_size);
    atomic_init(&made->references, 1);
    made->context = context;
    made->op = op;
    made->variant = ranked->variant;
    made->configuration = ranked->configuration;
    made->problem = copy;
    made->workspace = ranked->workspace;
    made->limit = wish->limit;
    made->inside_limit = inside_limit;
    husk__candidate candidate = {copy, husk_context_traits(context), ranked->configuration, false};
    made->flops = ranked->variant->flops ? ranked->variant->flops(&candidate) : 0.0;
    made->error_factor = ranked->variant->error_factor ? ranked->variant->error_factor(&candidate) : 0.0;
    husk_status status = ranked->variant->prepare(made, scope);
    if (status != HUSK_OK)
        destroy_plan(made);
    else
        *plan = made;
    return status;
}

// Each plan inside keeps to what is left of the limit; together they may take more, as a queue keeps the most that any
// takes at each depth. Then all of them are planned again with less than the largest takes: with more, all would be the
// same again.
static husk_status prepare(husk_context *context, const husk__op *op, const void *problem, const husk__wish *wish,
                           const husk__ranked *ranked, husk_plan **plan, const husk__scope *scope)
{
    uint64_t inside_limit = wish->inside_limit, bytes = 0;
    for (;;) {
        const husk_status status =
            prepare_within(context, op, problem, wish, inside_limit, ranked, plan, scope);
        if (status == HUSK_UNSUPPORTED && bytes > 0)
            break;
        if (status != HUSK_OK || wish->inside_limit == 0)
            return status;
        bytes = husk_plan_workspace(*plan);
        if (bytes <= wish->inside_limit)
            return HUSK_OK;
        const uint64_t largest = (*plan)->workspace + (*plan)->largest_inside;
        destroy_plan(*plan);
        *plan = NULL;
        if (largest > inside_limit) // it does not go by limits
            break;
        inside_limit = largest - 1;
    }
    return husk__fail(scope, HUSK_UNSUPPORTED,
                      "variant %s needs %llu bytes of workspace with the plans inside it, the limit is %llu",
                      ranked->variant->name, (unsigned long long)bytes, (unsigned long long)wish->inside_limit);
}

// Of a candidate: another one may take its place.
static bool is_refusal(husk_status status)
{
    return status == HUSK_UNSUPPORTED || status == HUSK_BUILD_FAILED;
}

// What a plan is to be made for, and how its variant may be chosen.
typedef struct request {
    husk_context *context;
    const husk__op *op;
    const void *problem;
    const husk__wish *wish;
    bool is_call;
    husk__plan_cache *cache;
    bool *has_skipped;       // set where a candidate is left out because the device has refused it
} request;

static husk_status lacks_memory(const husk__scope *scope)
{
    return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for the tuning databases");
}

// Without its cache a context would not know what HUSK_VARIANT, the databases and the device say of the variants.
static husk_status cache_of(husk_context *context, husk__plan_cache **cache, const husk__scope *scope)
{
    *cache = husk__plan_cache_of(context);
    return *cache ? HUSK_OK : husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for the cache of plans");
}

// Not to be taken unless it is named: what the device has refused, or what a tuning database says to be wrong.
static husk_status ask_out(const request *r, const husk__ranked *ranked, bool *is_out, bool *is_wrong,
                           const husk__scope *scope)
{
    *is_out = husk__plan_cache_is_rejected(r->cache, ranked->variant, ranked->configuration);
    *r->has_skipped |= *is_out;
    if (*is_out)
        return HUSK_OK;
    const bool is_told = husk__tuning_is_wrong(husk__plan_cache_tuning(r->cache), r->op, ranked->variant,
                                               ranked->configuration, is_wrong);
    return is_told ? HUSK_OK : lacks_memory(scope);
}

// What a tuning database says to be wrong is not computed, even where there is nothing else.
static husk_status nothing_left(const request *r, const husk__ranked *wrong, const husk__scope *scope)
{
    return husk__fail(scope, HUSK_UNSUPPORTED,
                      "no variant of %s computes this here; a tuning database says that %s:%s computes wrongly",
                      r->op->name, wrong->variant->name, wrong->configuration->name);
}

static husk_status prepare_first(const request *r, const husk__ranking *ranking, husk_choice choice,
                                 husk_plan **plan, const husk__scope *scope)
{
    const husk__ranked *wrong = NULL;
    husk_status status = husk__fail(scope, HUSK_UNSUPPORTED, "no variant of %s computes this here%s%s",
                                    r->op->name, ranking->reason[0] ? "; " : "", ranking->reason);
    for (size_t i = 0; i < ranking->count; ++i) {
        const husk__ranked *ranked = &ranking->candidates[i];
        bool is_out = false, is_wrong = false;
        const husk_status asked =
            choice != HUSK_CHOICE_NAMED ? ask_out(r, ranked, &is_out, &is_wrong, scope) : HUSK_OK;
        if (asked != HUSK_OK)
            return asked;
        if (is_wrong && !wrong)
            wrong = ranked;
        if (is_out || is_wrong)
            continue;
        status = prepare(r->context, r->op, r->problem, r->wish, ranked, plan, scope);
        if (status == HUSK_OK) {
            (*plan)->choice = choice;
            (*plan)->is_call = r->is_call;
        }
        if (!is_refusal(status))
            return status;
        husk__log_write(husk__context_log(r->context), HUSK_LOG_INFORMATION,
                        "%s: variant %s, configuration %s, is refused: %s", r->op->name, ranked->variant->name,
                        ranked->configuration->name,
                        scope->error->text);
    }
    return wrong ? nothing_left(r, wrong, scope) : status;
}

static husk_status rank(const request *r, const char *wanted, bool is_named, husk__ranking *ranking,
                        const husk__scope *scope)
{
    return husk__rank(r->op, r->problem, husk_context_traits(r->context), wanted, is_named, r->wish->limit,
                      ranking, scope);
}

// HUSK_VARIANT is a preference. *plan stays NULL where it gives way.
static husk_status choose_preferred(const request *r, husk_plan **plan, const husk__scope *scope)
{
    char preferred[96];
    husk__ranking ranking;
    if (!husk__variant_from_list(husk__plan_cache_wishes(r->cache), r->op->name, preferred, sizeof preferred))
        return HUSK_OK;
    const bool exists = rank(r, preferred, true, &ranking, scope) == HUSK_OK;
    const char *reason = exists ? ranking.reason : scope->error->text;
    if (exists && ranking.count > 0) {
        const husk_status status = prepare_first(r, &ranking, HUSK_CHOICE_ENVIRONMENT, plan, scope);
        // It gives way to what cannot change: want of memory would leave another variant in the cache for good.
        if (!is_refusal(status))
            return status;
        reason = scope->error->text;
    }
    husk__log_write(husk__context_log(r->context), HUSK_LOG_WARNING,
                    "HUSK_VARIANT: %s cannot compute this problem (%s); another variant is taken", preferred, reason);
    return HUSK_OK;
}

// So is what a database says; what it says wrongly is never the caller's failure.
static husk_status choose_tuned(const request *r, husk_plan **plan, const husk__scope *scope)
{
    husk__suggestion suggestions[HUSK__MAX_SUGGESTIONS];
    husk__ranking ranking;
    size_t count;
    if (!husk__tuning_find(husk__plan_cache_tuning(r->cache), r->op, r->problem, r->is_call, suggestions, &count))
        return lacks_memory(scope);
    for (size_t i = 0; i < count; ++i) {
        const char *wanted = suggestions[i].variant;
        husk_status status = rank(r, wanted, false, &ranking, scope);
        const char *reason = status != HUSK_OK ? scope->error->text : ranking.reason;
        if (status == HUSK_OK && ranking.count > 0) {
            status = prepare_first(r, &ranking, suggestions[i].choice, plan, scope);
            if (!is_refusal(status))
                return status;
            reason = scope->error->text;
        }
        husk__log_write(husk__context_log(r->context), HUSK_LOG_INFORMATION,
                        "tuning: %s of %s is not taken: %s", wanted, r->op->name, reason);
    }
    return HUSK_OK;
}

// The order of choice. A named variant is binding.
static husk_status choose(const request *r, husk_plan **plan, const husk__scope *scope)
{
    husk__ranking ranking;
    husk_status status = HUSK_OK;
    *plan = NULL;
    if (!r->wish->variant)
        status = choose_preferred(r, plan, scope);
    if (status == HUSK_OK && !*plan && !r->wish->variant)
        status = choose_tuned(r, plan, scope);
    if (status != HUSK_OK || *plan)
        return status;
    status = rank(r, r->wish->variant, r->wish->variant != NULL, &ranking, scope);
    if (status != HUSK_OK)
        return status;
    return prepare_first(r, &ranking, r->wish->variant ? HUSK_CHOICE_NAMED : HUSK_CHOICE_PREDICTED, plan, scope);
}

// A candidate's refusal is the caller's error only if no other candidate takes its place.
static husk_status create(husk_context *context, const husk__op *op, const void *problem, const husk__wish *wish,
                          bool is_call, husk_plan **plan, bool *has_skipped, const husk__scope *scope)
{
    husk_error error = {0};
    const husk__scope own = {scope->call, &error};
    request r = {context, op, problem, wish, is_call, NULL, has_skipped};
    *has_skipped = false;
    husk_status status = cache_of(context, &r.cache, &own);
    if (status == HUSK_OK)
        status = choose(&r, plan, &own);
    if (status != HUSK_OK && scope->error)
        *scope->error = error;
    return status;
}

// Where nothing is left but candidates that the device has refused it was no kernel's fault, but want of something that
// may be there the next time: drivers say CL_OUT_OF_RESOURCES for memory, too.
static bool may_be_tried_again(husk_context *context, const husk__op *op, bool has_skipped, husk_status status)
{
    return has_skipped && is_refusal(status) && husk__plan_cache_pardon(husk__plan_cache_of(context), op);
}

husk_status husk__plan_create(husk_context *context, const husk__op *op, const void *problem,
                              const husk__wish *wish, husk_plan **plan, const husk__scope *scope)
{
    bool has_skipped;
    husk_status status = create(context, op, problem, wish, false, plan, &has_skipped, scope);
    if (may_be_tried_again(context, op, has_skipped, status))
        status = create(context, op, problem, wish, false, plan, &has_skipped, scope);
    if (status == HUSK_OK) {
        husk_context_retain(context);
        (*plan)->holds_context = true;
    }
    return status;
}

static void write_key(const husk__op *op, const void *problem, const husk__wish *wish, husk__key *key)
{
    key->size = 0;
    key->is_full = false;
    husk__key_text(key, op->name);
    husk__key_text(key, wish->variant);
    husk__key_i64(key, (int64_t)wish->limit.bytes);
    husk__key_i64(key, wish->limit.is_default);
    husk__key_i64(key, (int64_t)wish->inside_limit);
    op->describe(problem, key);
}

static husk_status find(husk_context *context, const husk__op *op, const void *problem, const husk__wish *wish,
                        husk_plan **plan, bool *has_skipped, const husk__scope *scope)
{
    husk__key key;
    husk__plan_cache *cache;
    *has_skipped = false;
    husk_status status = cache_of(context, &cache, scope);
    if (status != HUSK_OK)
        return status;
    write_key(op, problem, wish, &key);
    const bool is_cached = !key.is_full;
    *plan = is_cached ? husk__plan_cache_get(cache, &key) : NULL;
    if (*plan) {
        husk__context_count_plan(context, true);
        return HUSK_OK;
    }
    const uint64_t age = husk__plan_cache_age(cache);
    status = create(context, op, problem, wish, true, plan, has_skipped, scope);
    if (status == HUSK_OK) {
        husk__context_count_plan(context, false);
        if (is_cached)
            husk__plan_cache_put(cache, &key, *plan, age);
    }
    return status;
}

husk_status husk__plan_find(husk_context *context, const husk__op *op, const void *problem,
                            const husk__wish *wish, husk_plan **plan, const husk__scope *scope)
{
    bool has_skipped;
    husk_status status = find(context, op, problem, wish, plan, &has_skipped, scope);
    if (may_be_tried_again(context, op, has_skipped, status))
        status = find(context, op, problem, wish, plan, &has_skipped, scope);
    return status;
}

// ---- running ----

// The device has refused a launch. Of a plan and those inside it the innermost, which has said so itself, is not taken
// again, unless the caller has named it.
static void blame(const husk_plan *plan, husk__plan_cache *cache, const husk__scope *scope)
{
    if (plan->choice == HUSK_CHOICE_NAMED)
        return;
    husk__log_write(husk__context_log(plan->context), HUSK_LOG_INFORMATION,
                    "%s: variant %s, configuration %s, is not taken again: %s", plan->op->name, plan->variant->name,
                    plan->configuration->name, scope->error ? scope->error->text : "a launch is refused");
    husk__plan_cache_reject(cache, plan->variant, plan->configuration);
}

husk_status husk__plan_execute(const husk_plan *plan, husk_queue *queue, const void *arguments,
                               const husk__scope *scope)
{
    husk__scratch scratch;
    husk__plan_cache *cache = husk__plan_cache_of(plan->context); // which the plan was made with
    const uint64_t before = husk__plan_cache_rejections(cache);
    husk_status status = husk__scratch_begin(queue, plan->workspace, &scratch, scope);
    if (status != HUSK_OK)
        return status;
    status = plan->variant->run(plan, queue, arguments, &scratch, scope);
    husk__scratch_end(queue, &scratch);
    if (status != HUSK_OK)
        husk__name_outer(scope);
    if (status == HUSK_UNSUPPORTED && husk__plan_cache_rejections(cache) == before)
        blame(plan, cache, scope);
    return status;
}

static void release_last(void *plan)
{
    husk_plan_release(plan);
}

void husk__plan_was_last(husk_plan *plan, husk_queue *queue)
{
    husk__queue_keep(queue, plan, release_last);
}

const husk_plan *husk_queue_plan(const husk_queue *queue)
{
    return queue ? husk__queue_kept(queue) : NULL;
}

husk_status husk__plan_immediate(husk_queue *queue, const husk__op *op, const void *problem,
                                 const husk__wish *wish, const void *arguments, const husk__scope *scope)
{
    enum { MOST_REFUSALS = 256 }; // in one call, of a device that refuses whatever is inside a composite
    husk_context *context = husk_queue_context(queue);
    husk__plan_cache *cache;
    husk_error refused; // by the device, in this call: what has been is not tried in it again
    refused.status = cache_of(context, &cache, scope);
    if (refused.status != HUSK_OK)
        return refused.status;
    for (int refusals = 0;;) {
        husk_plan *plan;
        bool has_skipped;
        husk_status status = find(context, op, problem, wish, &plan, &has_skipped, scope);
        const bool is_forgiven = may_be_tried_again(context, op, has_skipped, status);
        if (is_forgiven && refused.status == HUSK_OK) {
            status = find(context, op, problem, wish, &plan, &has_skipped, scope);
        } else if (is_refusal(status) && refused.status != HUSK_OK) {
            status = refused.status;
            if (scope->error)
                *scope->error = refused;
        }
        if (status != HUSK_OK)
            return status;
        husk_error error;
        error.status = HUSK_OK;
        error.text[0] = 0;
        const husk__scope own = {scope->call, &error};
        const uint64_t commands = husk__queue_commands(queue), before = husk__plan_cache_rejections(cache);
        status = husk__plan_execute(plan, queue, arguments, &own);
        // A composite's parts may have left their failure on the queue themselves, in their own names.
        if (status != HUSK_OK && error.status == HUSK_OK) {
            error = *husk_queue_error(queue);
            husk__name_outer(&own);
        }
        // What has begun is not begun again: parts of the outputs may have been added to, or lie where inputs lay.
        if (status == HUSK_UNSUPPORTED && husk__plan_cache_rejections(cache) != before &&
            husk__queue_commands(queue) == commands && ++refusals < MOST_REFUSALS) {
            refused = error;
            husk_plan_release(plan);
            continue;
        }
        husk__plan_was_last(plan, queue);
        if (status != HUSK_OK && scope->error)
            *scope->error = error;
        return status;
    }
}

husk_status husk__plan_check(const husk_plan *plan, const husk__op *op, const husk_queue *queue,
                             const husk__scope *scope)
{
    if (!plan)
        return husk__reject(scope, "plan", "is NULL");
    if (plan->op != op)
        return husk__reject(scope, "plan", "is a plan of %s, not of %s", plan->op->name, op->name);
    if (plan->context != husk_queue_context(queue))
        return husk__reject(scope, "plan", "belongs to another context than the queue");
    return HUSK_OK;
}

husk_status husk__plan_check_tensor(const husk_tensor *planned, const husk_tensor *given,
                                    const char *argument, const husk__scope *scope)
{
    husk_status status = husk__tensor_check(given, argument, scope);
    if (status != HUSK_OK)
        return status;
    husk_tensor resolved = *given;
    husk__tensor_resolve(&resolved);
    bool is_same = resolved.rank == planned->rank && resolved.dtype == planned->dtype;
    for (int32_t d = 0; is_same && d < planned->rank; ++d)
        is_same = resolved.shape[d] == planned->shape[d] &&
                  (resolved.shape[d] <= 1 || resolved.strides[d] == planned->strides[d]);
    if (is_same)
        return HUSK_OK;
    char is[HUSK__SHAPE_TEXT], was[HUSK__SHAPE_TEXT];
    husk__shape_text(given, is); // not among the arguments below, whose order is the compiler's
    husk__shape_text(planned, was);
    return husk__reject(scope, argument, "is %s %s, the plan was made for %s %s%s",
                        husk_dtype_name(given->dtype), is, husk_dtype_name(planned->dtype), was,
                        given->dtype == planned->dtype && strcmp(is, was) == 0 ? " with other strides" : "");
}

husk__limit husk__default_limit(const husk_tensor *const *tensors, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; ++i) {
        const int64_t extent = tensors[i] ? husk_tensor_extent(tensors[i]) : 0;
        const bool is_narrow = tensors[i] && (tensors[i]->dtype == HUSK_F16 || tensors[i]->dtype == HUSK_BF16);
        bytes += extent > 0 ? (uint64_t)extent * (is_narrow ? sizeof(float) / sizeof(uint16_t) : 1) : 0;
    }
    const uint64_t least = UINT64_C(64) << 20;
    return (husk__limit){2 * bytes > least ? 2 * bytes : least, true};
}

void husk__wish_of_packed(husk__wish *wish, const husk_packed *packed)
{
    const size_t length = wish->variant ? strlen(wish->variant) : 0;
    if (!packed)
        return;
    if (!wish->variant || (strncmp(packed->wish, wish->variant, length) == 0 && packed->wish[length] == ':'))
        wish->variant = packed->wish;
}

husk__wish husk__wish_of(const char *named, uint64_t limit, const husk_tensor *const *tensors, size_t count)
{
    const husk__limit own = limit || named ? (husk__limit){limit, false} : husk__default_limit(tensors, count);
    return (husk__wish){named, own, limit};
}

// ---- the operators by name ----

const char *husk_op_name(size_t index)
{
    size_t count = 0;
    while (husk__ops[count])
        ++count;
    return index < count ? husk__ops[index]->name : NULL;
}

const husk__op *husk__op_find(const char *name)
{
    for (size_t i = 0; name && husk__ops[i]; ++i) {
        if (strcmp(husk__ops[i]->name, name) == 0)
            return husk__ops[i];
    }
    return NULL;
}

const char *husk_op_variant(const char *op, size_t index)
{
    const husk__op *found = husk__op_find(op);
    size_t count = 0;
    while (found && found->variants[count])
        ++count;
    return index < count ? found->variants[index]->name : NULL;
}

const char *husk_op_configuration(const char *op, const char *variant, size_t index)
{
    const husk__op *found = husk__op_find(op);
    for (size_t i = 0; found && variant && found->variants[i]; ++i) {
        const husk__variant *row = found->variants[i];
        if (strcmp(row->name, variant) == 0)
            return index < row->configuration_count ? row->configurations[index].name : NULL;
    }
    return NULL;
}
