// SPDX-License-Identifier: MIT
#include "worker/guarded.h"

#include <stdio.h>
#include <string.h>

#include "cases/data.h"
#include "cases/size.h"
#include "common/text.h"
#include "system/host.h"

// Devices that compute in the host's memory would take from others what they do not have.
static bool has_room(const bench_case *c, char absent[BENCH_REASON_TEXT])
{
    const double there = bench_host_free_memory(""), needed = bench_case_operands(c);
    if (there <= 0 || needed <= there)
        return true;
    return bench_explain(absent, BENCH_REASON_TEXT, "host memory does not suffice for a second set of operands");
}

static bool is_same(const char *a, const char *b)
{
    return !a || !b || !strcmp(a, b);
}

// What was timed may be intact, where nothing was found in another variant or configuration.
static void compare_names(const bench_guarded *guarded, void *state, char absent[BENCH_REASON_TEXT])
{
    bench_details details = {0};
    guarded->runner->details(state, &details);
    if (!is_same(guarded->variant, details.variant) || !is_same(guarded->configuration, details.configuration))
        bench_explain(absent, BENCH_REASON_TEXT, "another variant was chosen, %s%s%s", details.variant,
                      details.configuration ? ":" : "", details.configuration ? details.configuration : "");
}

static bench_answer run(const bench_guarded *guarded, void *state, bench_guarded_result *result,
                        char reason[BENCH_REASON_TEXT])
{
    const bench_runner *runner = guarded->runner;
    bench_answer answer = runner->reset(state, reason);
    if (answer == BENCH_OK)
        answer = runner->run(state, reason);
    if (answer == BENCH_OK)
        answer = runner->read(state, &result->output, reason);
    if (answer == BENCH_OK)
        answer = runner->guards(state, result->found, reason);
    if (answer == BENCH_OK && !result->found[0])
        compare_names(guarded, state, result->absent);
    return answer;
}

bench_answer bench_run_guarded(const bench_guarded *guarded, bench_guarded_result *result,
                               char reason[BENCH_REASON_TEXT])
{
    memset(result, 0, sizeof *result);
    void *state = NULL;
    const bench_prepare_options options = {.form = guarded->form, .is_guarded = true};
    if (!has_room(guarded->c, result->absent))
        return BENCH_OK;
    if (!bench_output_make(guarded->c, guarded->data, &result->output, reason))
        return BENCH_ERROR;
    bench_answer answer =
        guarded->runner->prepare(guarded->session, guarded->c, guarded->data, &options, &state, result->absent);
    if (answer == BENCH_LOST)
        snprintf(reason, BENCH_REASON_TEXT, "%s", result->absent);
    if (answer != BENCH_OK)
        return answer == BENCH_LOST ? answer : BENCH_OK;
    answer = run(guarded, state, result, reason);
    guarded->runner->release(state);
    return answer;
}
