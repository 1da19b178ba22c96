// SPDX-License-Identifier: MIT
#include "select/verbose.h"

#include <stdio.h>
#include <string.h>

#include "os/time.h"
#include "runtime/context.h"
#include "runtime/queue.h"

enum { CALLS = 1, CANDIDATES = 2 };

static int verbosity(const husk_context *context)
{
    return husk__context_log(context)->verbosity;
}

// "husk KIND; CASE (besides: a has strides); " begins every line.
static void begin_line(husk__text *line, const char *kind, const husk__op *op, const void *problem,
                       const void *arguments)
{
    husk__case c = {0};
    if (op->write_case)
        op->write_case(problem, arguments, &c);
    else
        husk__case_begin(&c, op->name);
    husk__text_format(line, "husk %s; %s%s%s%s; ", kind, c.text.bytes ? c.text.bytes : op->name,
                      c.notes.size ? " (besides: " : "", c.notes.size ? c.notes.bytes : "", c.notes.size ? ")" : "");
    line->failed = line->failed || c.text.failed || c.notes.failed;
    husk__case_free(&c);
}

static void end_line(husk__text *line, const husk_context *context)
{
    husk__log_verbose(husk__context_log(context), line->failed ? "husk: no memory for a line" : line->bytes);
    husk__text_free(line);
}

static double in_us(double ns)
{
    return ns > 0.0 ? ns / 1e3 : 0.0; // some are a little less, which orders them
}

// ---- runs ----

husk__watched_run husk__verbose_begin(const husk_plan *plan, husk_queue *queue)
{
    husk__watched_run watched = {0};
    const int wanted = verbosity(plan->context);
    watched.is_watched = wanted >= CANDIDATES || (wanted == CALLS && husk__queue_depth(queue) == 0);
    if (watched.is_watched) {
        husk__queue_drain(queue);
        watched.begin_ns = husk__now_ns();
    }
    return watched;
}

void husk__verbose_end(husk__watched_run watched, const husk_plan *plan, husk_queue *queue, const void *arguments,
                       husk_status status)
{
    if (!watched.is_watched)
        return;
    husk__queue_drain(queue);
    const double us = (double)(husk__now_ns() - watched.begin_ns) / 1e3;
    husk__text line = {0};
    begin_line(&line, husk__queue_depth(queue) ? "inner call" : "call", plan->op, plan->problem, arguments);
    husk__text_format(&line, "%s:%s; choice=%s; predicted_us=%.1f; ", plan->variant->name, plan->configuration->name,
                      husk_choice_text(plan->choice), in_us(plan->predicted_ns));
    if (status == HUSK_OK)
        husk__text_format(&line, "measured_us=%.1f", us);
    else
        husk__text_format(&line, "failed=%s", husk_status_name(status));
    end_line(&line, plan->context);
}

// ---- candidates ----

static void write_candidate(husk_context *context, const husk__op *op, const void *problem,
                            const husk__variant *variant, const husk__configuration *configuration, const char *what)
{
    husk__text line = {0};
    begin_line(&line, "candidate", op, problem, NULL);
    husk__text_format(&line, "%s:%s; %s", variant->name, configuration->name, what);
    end_line(&line, context);
}

static bool is_ranked(const husk__ranking *ranking, const husk__variant *variant,
                      const husk__configuration *configuration)
{
    for (size_t i = 0; i < ranking->count; ++i)
        if (ranking->candidates[i].variant == variant && ranking->candidates[i].configuration == configuration)
            return true;
    return false;
}

void husk__verbose_candidates(husk_context *context, const husk__op *op, const void *problem, const char *wanted,
                              bool is_named, husk__limit limit, const husk__ranking *ranking)
{
    char what[HUSK__REASON_CAPACITY + 80];
    if (verbosity(context) < CANDIDATES)
        return;
    const husk__target target = {husk_context_traits(context), husk__machine_of(context)}; // which has ranked them
    for (size_t i = 0; i < ranking->count; ++i) {
        const husk__ranked *ranked = &ranking->candidates[i];
        snprintf(what, sizeof what, "predicted_us=%.1f; workspace=%llu%s", in_us(ranked->cost),
                 (unsigned long long)ranked->workspace, ranked->is_foreign ? "; for another class of device" : "");
        write_candidate(context, op, problem, ranked->variant, ranked->configuration, what);
    }
    for (const husk__variant *const *row = op->variants; *row; ++row) {
        for (size_t i = 0; i < (*row)->configuration_count; ++i) {
            const husk__configuration *configuration = &(*row)->configurations[i];
            const husk__candidate candidate = {problem, target.traits, target.machine, configuration, is_named};
            char reason[HUSK__REASON_CAPACITY] = "it does not compute this";
            if ((wanted && !husk__variant_matches(wanted, *row, configuration)) ||
                is_ranked(ranking, *row, configuration))
                continue;
            if ((!(*row)->supports || (*row)->supports(&candidate, reason)) && (*row)->workspace)
                husk__explain_workspace(&candidate, (*row)->workspace(&candidate), limit.bytes, reason);
            snprintf(what, sizeof what, "refused: %s", reason);
            write_candidate(context, op, problem, *row, configuration, what);
        }
    }
}

void husk__verbose_refused(husk_context *context, const husk__op *op, const void *problem, const husk__ranked *ranked,
                           const char *reason)
{
    if (verbosity(context) < CANDIDATES)
        return;
    husk__text line = {0};
    begin_line(&line, "candidate", op, problem, NULL);
    husk__text_format(&line, "%s:%s; refused: %s", ranked->variant->name, ranked->configuration->name, reason);
    end_line(&line, context);
}
