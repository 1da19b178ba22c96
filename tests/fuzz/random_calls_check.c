// SPDX-License-Identifier: MIT
// A case through the library, and what there is to be said of its result.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/data.h"
#include "cases/ops.h"
#include "cases/output_digest.h"
#include "random_calls.h"
#include "worker/runner.h"
#include "worker/husk_runner.h"

static call_outcome explain(call_result *result, call_outcome outcome, const char *text)
{
    snprintf(result->why, sizeof result->why, "%.500s", text);
    return result->outcome = outcome;
}

static call_outcome explain_answer(call_result *result, bench_answer answer, const char *reason)
{
    return explain(result, answer == BENCH_UNSUPPORTED ? CALL_REFUSED : CALL_WRONG, reason);
}

// Between the rows of a strided y nothing may have changed: those bytes are as data.y has them.
static bool gaps_are_whole(const bench_array *before, const bench_array *after)
{
    const size_t bytes = (size_t)husk_dtype_size(after->dtype);
    char *is_own = calloc((size_t)after->count + 1, 1);
    int64_t at[HUSK_MAX_RANK] = {0}, elements = 1;
    bool whole = is_own != NULL;
    for (int32_t d = 0; d < after->rank; d++)
        elements *= after->shape[d];
    for (int64_t i = 0; whole && i < elements; i++) {
        int64_t offset = 0;
        for (int32_t d = 0; d < after->rank; d++)
            offset += at[d] * after->strides[d];
        is_own[offset] = 1;
        for (int32_t d = after->rank; d-- > 0 && ++at[d] == after->shape[d];)
            at[d] = 0;
    }
    for (int64_t i = 0; whole && i < after->count; i++)
        whole = is_own[i] || !memcmp((const char *)before->data + (size_t)i * bytes,
                                     (const char *)after->data + (size_t)i * bytes, bytes);
    free(is_own);
    return whole;
}

bool call_make_data(call_made *made, const bench_case *c, call_result *result)
{
    char reason[BENCH_REASON_TEXT] = "";
    memset(made, 0, sizeof *made);
    memset(result, 0, sizeof *result);
    made->c = c;
    if (bench_data_make(c, &made->data, reason) && bench_output_make(c, &made->data, &made->output, reason))
        return true;
    explain(result, CALL_WRONG, reason);
    return false;
}

void call_free_data(call_made *made)
{
    bench_output_free(&made->output);
    bench_data_free(made->c, &made->data);
}

bool call_prepare(call_made *made, void *session, const char *form, call_result *result)
{
    char reason[BENCH_REASON_TEXT] = "";
    const bench_prepare_options options = {.form = form && *form ? form : NULL, .is_guarded = made->is_guarded};
    const bench_answer answer =
        bench_runner_husk.prepare(session, made->c, &made->data, &options, &made->state, reason);
    if (answer == BENCH_OK)
        return true;
    explain_answer(result, answer, reason);
    return false;
}

void call_release(call_made *made)
{
    if (made->state)
        bench_runner_husk.release(made->state);
    made->state = NULL;
}

bool call_compute(call_made *made, call_result *result)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_answer answer = bench_runner_husk.reset(made->state, reason);
    if (answer == BENCH_OK)
        answer = bench_runner_husk.run(made->state, reason);
    if (answer == BENCH_OK)
        answer = bench_runner_husk.read(made->state, &made->output, reason);
    if (answer != BENCH_OK) {
        explain_answer(result, answer, reason);
        return false;
    }
    result->digest = bench_output_digest(&made->output);
    return true;
}

bool call_verify(call_made *made, call_result *result)
{
    const bench_case *c = made->c;
    bench_verdict verdict;
    bench_details details = {0};
    bench_runner_husk.details(made->state, &details);
    const bench_verify_options verify = {.seed = 1, .error_factor = details.error_factor, .widening = details.widening};
    bench_verdict_begin(&verdict);
    bench_op_get(c->op)->verify(c, &made->data, &made->output, &verify, &verdict);
    result->inconclusive = verdict.pass && verdict.inconclusive;
    result->is_empty = verdict.pass && verdict.checked == 0;
    result->max_ratio = verdict.max_ratio;
    snprintf(result->variant, sizeof result->variant, "%.60s%s%.60s", details.variant ? details.variant : "",
             details.configuration ? ":" : "", details.configuration ? details.configuration : "");
    if (!verdict.pass) {
        explain(result, CALL_WRONG, verdict.text);
        return false;
    }
    const bench_array *before = &made->data.y, *after = &made->output.y;
    if (before->data && before->count == after->count && !gaps_are_whole(before, after)) {
        explain(result, CALL_WRONG, "y: something between its rows was written");
        return false;
    }
    return true;
}

// What was written outside the case's memory, which guard bands show where it has some.
static bool call_guards(call_made *made, call_result *result)
{
    char reason[BENCH_REASON_TEXT] = "", found[BENCH_REASON_TEXT] = "";
    const bench_answer answer = made->is_guarded ? bench_runner_husk.guards(made->state, found, reason) : BENCH_OK;
    if (answer != BENCH_OK || *found)
        explain(result, CALL_WRONG, *found ? found : reason);
    return answer == BENCH_OK && !*found;
}

static call_outcome check(void *session, const bench_case *c, const char *form, bool is_guarded, call_result *result)
{
    call_made made;
    if (call_make_data(&made, c, result)) {
        made.is_guarded = is_guarded;
        if (call_prepare(&made, session, form, result) && call_compute(&made, result) && call_guards(&made, result) &&
            call_verify(&made, result)) {
            const uint64_t digest = result->digest;
            if (!call_compute(&made, result))
                result->outcome = CALL_WRONG; // what was taken once is not refused
            else if (result->digest != digest)
                explain(result, CALL_WRONG, "a second run gives other bits");
        }
    }
    call_release(&made);
    call_free_data(&made);
    return result->outcome;
}

call_outcome call_check(void *session, const bench_case *c, const char *form, call_result *result)
{
    return check(session, c, form, false, result);
}

call_outcome call_check_guarded(void *session, const bench_case *c, const char *form, call_result *result)
{
    return check(session, c, form, true, result);
}
