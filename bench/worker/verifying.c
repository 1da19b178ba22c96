// SPDX-License-Identifier: MIT
#include "worker/verifying.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/array.h"
#include "cases/data.h"
#include "cases/ops.h"
#include "cases/output_digest.h"
#include "common/text.h"
#include "worker/guarded.h"

static void verdict_reply(json_t *reply, const bench_verdict *verdict)
{
    json_object_set_new(reply, "pass", json_boolean(verdict->pass));
    json_object_set_new(reply, "inconclusive", json_boolean(verdict->inconclusive));
    json_object_set_new(reply, "checked", json_integer((json_int_t)verdict->checked));
    // JSON has no infinity; a missed NaN or infinity is said by the text.
    json_object_set_new(reply, "max_error", json_real(verdict->max_error));
    json_object_set_new(reply, "bound", json_real(verdict->bound));
    json_object_set_new(reply, "max_ratio", json_real(verdict->max_ratio));
    bench_worker_put_text(reply, "text", verdict->text);
}

// ERROR where host memory does not suffice: neither right nor wrong.
static bench_answer compare(bench_worker *w, void *state, const json_t *request, const bench_output *output,
                            bench_verdict *verdict)
{
    bench_details details = {0};
    w->runner->details(state, &details);
    const bench_verify_options options = {
        .seed = (uint64_t)json_integer_value(json_object_get(request, "seed")),
        .error_factor = details.error_factor,
        .widening = details.widening,
    };
    bench_verdict_begin(verdict);
    bench_op_get(w->c.op)->verify(&w->c, &w->data, output, &options, verdict);
    if (!verdict->unchecked)
        return BENCH_OK;
    bench_explain(w->reason, sizeof w->reason, "%s", verdict->text);
    return BENCH_ERROR;
}

// Arrays for the result, and what the last run has left in them. Baselines are compared by what every operator has,
// their y.
static bench_answer read_result(bench_worker *w, void *state, bench_output *output)
{
    const bench_answer answer = w->runner->read(state, output, w->reason);
    if (answer == BENCH_OK && strcmp(w->runner->name, "husk") != 0) {
        bench_array_free(&output->h_n);
        bench_array_free(&output->c_n);
    }
    return answer;
}

// Integers of which samples alone were compared: one more run, from other poison, tells what is not written at all.
static bench_answer find_unwritten(bench_worker *w, void *state, const bench_output *first, bench_verdict *verdict)
{
    bench_output second = {0};
    if (!bench_output_make(&w->c, &w->data, &second, w->reason))
        return BENCH_ERROR;
    bench_poison_flip(&w->data.y);
    bench_answer answer = w->runner->reset(state, w->reason);
    if (answer == BENCH_OK)
        answer = w->runner->run(state, w->reason);
    if (answer == BENCH_OK)
        answer = read_result(w, state, &second);
    if (answer == BENCH_OK)
        bench_verdict_unwritten(verdict, &w->data.y, &first->y, &second.y);
    bench_poison_flip(&w->data.y);
    bench_output_free(&second);
    return answer;
}

// Whether a run finds numbers in its output, and not poison: then it may build upon what the one before has left.
static bool begins_with_numbers(const bench_array *y)
{
    const husk_ref_array view = bench_ref_array(y);
    const bool is_real = y->dtype == HUSK_F32 || y->dtype == HUSK_F64 || y->dtype == HUSK_F16 || y->dtype == HUSK_BF16;
    for (int64_t i = 0; is_real && y->data && i < y->count; i++) {
        if (!isnan(husk_ref_load(&view, i)))
            return true;
    }
    return false;
}

// One more run, on what this one has left. Where it comes to the same bits any later one must, too; where it does not,
// it has to be right by itself, unless it builds upon the one before. Sets of operands are rotated through until it is
// this one's turn again.
static bench_answer find_repeats(bench_worker *w, void *state, const json_t *request, uint64_t expected,
                                 bench_verdict *verdict, json_t *reply)
{
    bench_output output = {0};
    bench_verdict second = {.pass = true};
    const int copies = w->copies[json_integer_value(json_object_get(request, "slot"))];
    if (!bench_output_make(&w->c, &w->data, &output, w->reason))
        return BENCH_ERROR;
    bench_answer answer = w->runner->run_batch(state, copies, w->reason);
    if (answer == BENCH_OK)
        answer = read_result(w, state, &output);
    const bool is_same = answer == BENCH_OK && bench_output_fingerprint(&output) == expected;
    const bool builds_up = !is_same && begins_with_numbers(&w->data.y);
    if (answer == BENCH_OK && !is_same && !builds_up)
        answer = compare(w, state, request, &output, &second);
    if (answer == BENCH_OK && !second.pass) {
        verdict->pass = false;
        snprintf(verdict->text, sizeof verdict->text, "the first run is right, and the one after it is not: %.400s",
                 second.text);
    } else if (answer == BENCH_OK && !builds_up) {
        char text[20];
        snprintf(text, sizeof text, "%016" PRIx64, expected);
        bench_worker_put_text(reply, "repeats", text);
    }
    bench_output_free(&output);
    return answer;
}

// With guards around its memory: the same bits, or what is right, too.
static bench_answer run_guarded(bench_worker *w, void *state, const json_t *request, uint64_t expected, char *found,
                                bench_verdict *verdict, json_t *reply)
{
    const char *form = w->forms[json_integer_value(json_object_get(request, "slot"))];
    bench_details details = {0};
    bench_guarded_result result;
    bench_verdict second = {.pass = true};
    w->runner->details(state, &details);
    const bench_guarded guarded = {w->runner,       w->session,           &w->c, &w->data, *form ? form : NULL,
                                   details.variant, details.configuration};
    bench_answer answer = bench_run_guarded(&guarded, &result, w->reason);
    const bool is_there = answer == BENCH_OK && !result.absent[0];
    if (is_there && verdict->pass && !result.found[0] && bench_output_fingerprint(&result.output) != expected)
        answer = compare(w, state, request, &result.output, &second);
    if (answer == BENCH_OK && !second.pass) {
        verdict->pass = false;
        snprintf(verdict->text, sizeof verdict->text,
                 "the first run is right, and one between guard bands is not: %.400s", second.text);
    }
    snprintf(found, BENCH_REASON_TEXT, "%s", result.found);
    bench_worker_put_text(reply, "guards", result.absent[0] ? result.absent : NULL);
    bench_output_free(&result.output);
    return answer;
}

// Whether anything but its memory was written; that is said beside what else is wrong, which may be its consequence.
// "guards" of the reply: intact, touched, or why nobody has looked.
static bench_answer find_writes(bench_worker *w, void *state, const json_t *request, uint64_t expected,
                                bench_verdict *verdict, json_t *reply)
{
    char found[BENCH_REASON_TEXT] = "";
    bench_answer answer = BENCH_OK;
    if (!w->runner->guards)
        return answer;
    const char *unguarded = w->runner->unguarded(w->session);
    if (unguarded) {
        bench_worker_put_text(reply, "guards", unguarded);
        return answer;
    }
    if (w->are_guarded[json_integer_value(json_object_get(request, "slot"))])
        answer = w->runner->guards(state, found, w->reason);
    else
        answer = run_guarded(w, state, request, expected, found, verdict, reply);
    if (answer == BENCH_OK && *found) {
        const size_t length = verdict->pass ? 0 : strlen(verdict->text);
        snprintf(verdict->text + length, sizeof verdict->text - length, "%s%.500s", length ? "; " : "", found);
        verdict->pass = false;
    }
    if (answer == BENCH_OK && !json_is_string(json_object_get(reply, "guards")))
        bench_worker_put_text(reply, "guards", *found ? "touched" : "intact");
    return answer;
}

json_t *bench_worker_verify(bench_worker *w, json_t *request)
{
    json_t *reply = NULL;
    void *state = bench_worker_slot(w, request, &reply);
    if (!state)
        return reply;
    bench_output output = {0};
    bench_verdict verdict;
    bench_answer answer = BENCH_ERROR;
    if (!bench_output_make(&w->c, &w->data, &output, w->reason))
        return bench_worker_answer(BENCH_ERROR, w->reason);
    answer = w->runner->reset(state, w->reason);
    if (answer == BENCH_OK)
        answer = w->runner->run(state, w->reason);
    if (answer == BENCH_OK) {
        bench_worker_say("reading its result");
        answer = read_result(w, state, &output);
    }
    json_t *found = json_object();
    if (answer == BENCH_OK) {
        bench_worker_say("being compared with the reference");
        answer = compare(w, state, request, &output, &verdict);
    }
    if (answer == BENCH_OK) {
        char digest[20];
        snprintf(digest, sizeof digest, "%016" PRIx64, bench_output_digest(&output));
        bench_worker_put_text(found, "digest", digest);
    }
    if (answer == BENCH_OK && verdict.pass && verdict.unscanned) {
        bench_worker_say("running from other poison");
        answer = find_unwritten(w, state, &output, &verdict);
    }
    if (answer == BENCH_OK && verdict.pass && json_is_true(json_object_get(request, "again"))) {
        bench_worker_say("running once more");
        answer = find_repeats(w, state, request, bench_output_fingerprint(&output), &verdict, found);
    }
    if (answer == BENCH_OK) {
        bench_worker_say("running between guard bands");
        answer = find_writes(w, state, request, bench_output_fingerprint(&output), &verdict, found);
    }
    if (answer == BENCH_OK)
        verdict_reply(found, &verdict);
    reply = bench_worker_answer(answer, w->reason);
    if (answer == BENCH_OK)
        json_object_update(reply, found);
    json_decref(found);
    bench_output_free(&output);
    return reply;
}

json_t *bench_worker_check(bench_worker *w, json_t *request)
{
    json_t *reply = NULL;
    void *state = bench_worker_slot(w, request, &reply);
    if (!state)
        return reply;
    const char *expected = json_string_value(json_object_get(request, "repeats"));
    bench_output output = {0};
    bench_verdict verdict = {.pass = true};
    if (!bench_output_make(&w->c, &w->data, &output, w->reason))
        return bench_worker_answer(BENCH_ERROR, w->reason);
    bench_answer answer = read_result(w, state, &output);
    if (answer == BENCH_OK && (!expected || strtoull(expected, NULL, 16) != bench_output_fingerprint(&output)))
        answer = compare(w, state, request, &output, &verdict);
    reply = bench_worker_answer(answer, w->reason);
    json_object_set_new(reply, "pass", json_boolean(verdict.pass));
    bench_worker_put_text(reply, "text", verdict.text);
    bench_output_free(&output);
    return reply;
}
