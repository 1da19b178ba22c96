// SPDX-License-Identifier: MIT
// Plans found again in the context's cache, and executed on queues.
#include "select/plan.h"

#include "select/plan_make.h"
#include "select/state.h"
#include "select/verbose.h"

static void write_key(const husk__op *op, const void *problem, const husk__preference *preference, husk__key *key)
{
    key->size = 0;
    key->is_full = false;
    husk__key_text(key, op->name);
    husk__key_text(key, preference->variant);
    husk__key_i64(key, (int64_t)preference->limit.bytes);
    husk__key_i64(key, preference->limit.is_default);
    husk__key_i64(key, (int64_t)preference->inside_limit);
    op->describe(problem, key);
}

static husk_status find(husk_context *context, const husk__op *op, const void *problem,
                        const husk__preference *preference, husk_plan **plan, bool *has_skipped,
                        const husk__scope *scope)
{
    husk__key key;
    husk__select_state *state;
    *has_skipped = false;
    husk_status status = husk__select_state_find(context, &state, scope);
    if (status != HUSK_OK)
        return status;
    write_key(op, problem, preference, &key);
    const bool is_cached = !key.is_full;
    *plan = is_cached ? husk__plan_cache_get(state->plans, &key) : NULL;
    if (*plan) {
        husk__context_count_plan(context, true);
        return HUSK_OK;
    }
    const uint64_t age = husk__plan_cache_age(state->plans);
    status = husk__plan_make(context, op, problem, preference, true, plan, has_skipped, scope);
    if (status == HUSK_OK) {
        husk__context_count_plan(context, false);
        if (is_cached)
            husk__plan_cache_put(state->plans, &key, *plan, age);
    }
    return status;
}

husk_status husk__plan_find(husk_context *context, const husk__op *op, const void *problem,
                            const husk__preference *preference, husk_plan **plan, const husk__scope *scope)
{
    bool has_skipped;
    husk_status status = find(context, op, problem, preference, plan, &has_skipped, scope);
    if (husk__plan_may_be_tried_again(context, op, has_skipped, status))
        status = find(context, op, problem, preference, plan, &has_skipped, scope);
    return status;
}

// The device has refused a launch. Of a plan and those inside it the innermost, which has said so itself, is not taken
// again, unless the caller has named it.
static void blame(const husk_plan *plan, husk__select_state *state, const husk__scope *scope)
{
    if (plan->choice == HUSK_CHOICE_NAMED)
        return;
    husk__log_write(husk__context_log(plan->context), HUSK_LOG_INFORMATION,
                    "%s: variant %s, configuration %s, is not taken again: %s", plan->op->name, plan->variant->name,
                    plan->configuration->name, scope->error ? scope->error->text : "a launch is refused");
    husk__rejections_add(&state->rejections, state->plans, plan->variant, plan->configuration);
}

husk_status husk__plan_execute(const husk_plan *plan, husk_queue *queue, const void *arguments,
                               const husk__scope *scope)
{
    husk__scratch scratch;
    husk__select_state *state = husk__select_state_of(plan->context); // which the plan was made with
    const uint64_t before = husk__rejections_count(&state->rejections);
    const husk__watched_run watched = husk__verbose_begin(plan, queue);
    husk_status status = husk__scratch_begin(queue, plan->workspace, &scratch, scope);
    if (status != HUSK_OK) {
        husk__verbose_end(watched, plan, queue, arguments, status);
        return status;
    }
    status = plan->variant->run(plan, queue, arguments, &scratch, scope);
    husk__scratch_end(queue, &scratch);
    husk__verbose_end(watched, plan, queue, arguments, status);
    if (status != HUSK_OK)
        husk__name_outer(scope);
    if (status == HUSK_UNSUPPORTED && husk__rejections_count(&state->rejections) == before)
        blame(plan, state, scope);
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
                                 const husk__preference *preference, const void *arguments, const husk__scope *scope)
{
    enum { MOST_REFUSALS = 256 }; // in one call, of a device that refuses whatever is inside a composite
    husk_context *context = husk_queue_context(queue);
    husk__select_state *state;
    husk_error refused; // by the device, in this call: what has been is not tried in it again
    refused.status = husk__select_state_find(context, &state, scope);
    if (refused.status != HUSK_OK)
        return refused.status;
    for (int refusals = 0;;) {
        husk_plan *plan;
        bool has_skipped;
        husk_status status = find(context, op, problem, preference, &plan, &has_skipped, scope);
        const bool is_forgiven = husk__plan_may_be_tried_again(context, op, has_skipped, status);
        if (is_forgiven && refused.status == HUSK_OK) {
            status = find(context, op, problem, preference, &plan, &has_skipped, scope);
        } else if (husk__plan_is_refused(status) && refused.status != HUSK_OK) {
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
        const uint64_t commands = husk__queue_commands(queue), before = husk__rejections_count(&state->rejections);
        status = husk__plan_execute(plan, queue, arguments, &own);
        // A composite's parts may have left their failure on the queue themselves, in their own names.
        if (status != HUSK_OK && error.status == HUSK_OK) {
            error = *husk_queue_error(queue);
            husk__name_outer(&own);
        }
        // What has begun is not begun again: parts of the outputs may have been added to, or lie where inputs lay.
        if (status == HUSK_UNSUPPORTED && husk__rejections_count(&state->rejections) != before &&
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
