// SPDX-License-Identifier: MIT
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases/array.h"
#include "cases/data.h"
#include "cases/ops.h"
#include "cases/output_digest.h"
#include "cases/parse.h"
#include "common/stats.h"
#include "common/text.h"
#include "os/process.h"
#include "os/timer.h"
#include "worker/guarded.h"

#define SAMPLE_NS    10000000u // a sample lasts at least 10 ms
#define SAMPLE_TICKS 1000u     // or so many steps of the clock
#define MOST_SAMPLES 1000      // of one request: more come only from one that does nothing

typedef struct worker {
    const bench_contender *contender;
    void *session;
    bool has_case;
    bench_case c;
    bench_data data;
    void *slots[BENCH_SLOTS];
    int copies[BENCH_SLOTS]; // sets of operands that each rotates through
    char forms[BENCH_SLOTS][128]; // as each was prepared; "": the contender's own choice
    bool are_guarded[BENCH_SLOTS];
    uint64_t tick_ns;
    char reason[BENCH_REASON_TEXT];
} worker;

static json_t *answer_of(bench_answer answer, const char *reason)
{
    static const char *const names[] = {"ok", "unsupported", "error", "lost"};
    json_t *reply = json_object();
    json_object_set_new(reply, "answer", json_string(names[answer]));
    if (answer != BENCH_OK) {
        // A driver's text may be no UTF-8, which JSON must be.
        json_t *text = json_string(reason);
        json_object_set_new(reply, "reason", text ? text : json_string("(text that is not UTF-8)"));
    }
    return reply;
}

static void put_text(json_t *object, const char *key, const char *text)
{
    json_t *value = text ? json_string(text) : NULL;
    json_object_set_new(object, key, value ? value : json_null());
}

static bool send_reply(json_t *reply)
{
    char *text = json_dumps(reply, JSON_COMPACT);
    json_decref(reply);
    if (!text)
        return false;
    size_t size = strlen(text), done = 0;
    text[size++] = '\n';
    while (done < size) {
        ssize_t wrote = write(BENCH_WORKER_REPLIES, text + done, size - done);
        if (wrote < 0 && errno != EINTR)
            break;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    free(text);
    return done == size;
}

// What it is doing, for the parent to know when it ends or hangs. Never while something is timed: the parent wakes up.
static void say(const char *what)
{
    send_reply(json_pack("{s:s}", "at", what));
}

static void say_building(const char *program, const char *mark)
{
    send_reply(json_pack("{s:s?, s:s?}", "building", program, "mark", mark));
}

static void say_launching(const char *kernel)
{
    send_reply(json_pack("{s:s}", "first_launch", kernel));
}

static void release_slot(worker *w, size_t slot)
{
    if (w->slots[slot])
        w->contender->release(w->slots[slot]);
    w->slots[slot] = NULL;
}

static void release_all(worker *w)
{
    for (size_t i = 0; i < BENCH_SLOTS; i++)
        release_slot(w, i);
    if (w->has_case)
        bench_data_free(&w->c, &w->data);
    w->has_case = false;
}

// The request's slot, prepared; NULL with a reply otherwise.
static void *slot_of(worker *w, json_t *request, json_t **reply)
{
    json_int_t slot = json_integer_value(json_object_get(request, "slot"));
    if (slot >= 0 && slot < BENCH_SLOTS && w->slots[slot])
        return w->slots[slot];
    *reply = answer_of(BENCH_ERROR, "nothing is prepared in that slot");
    return NULL;
}

static bool take_case(worker *w, json_t *request)
{
    bench_case c;
    const char *line = json_string_value(json_object_get(request, "case"));
    if (!line || !bench_case_parse(line, &c, w->reason))
        return line ? false : bench_explain(w->reason, sizeof w->reason, "the request has no case");
    if (w->has_case && !strcmp(c.canonical, w->c.canonical))
        return true;
    release_all(w);
    w->c = c;
    w->has_case = bench_data_make(&w->c, &w->data, w->reason);
    return w->has_case;
}

static json_t *do_forms(worker *w, json_t *request)
{
    bench_case c;
    const char *line = json_string_value(json_object_get(request, "case"));
    if (!line || !bench_case_parse(line, &c, w->reason))
        return answer_of(BENCH_ERROR, w->reason);
    json_t *reply = answer_of(BENCH_OK, NULL), *forms = json_array();
    const char *form = NULL;
    for (size_t i = 0; w->contender->form && (form = w->contender->form(w->session, &c, i)); i++)
        json_array_append_new(forms, json_string(form));
    json_object_set_new(reply, "forms", forms);
    return reply;
}

static void put_details(worker *w, void *state, json_t *reply)
{
    bench_details d = {0};
    w->contender->details(state, &d);
    put_text(reply, "variant", d.variant);
    put_text(reply, "configuration", d.configuration);
    put_text(reply, "choice", d.choice);
    json_object_set_new(reply, "executed_flops", json_real(d.executed_flops));
    json_object_set_new(reply, "error_factor", json_real(d.error_factor));
    json_object_set_new(reply, "workspace", json_integer((json_int_t)d.workspace));
    json_object_set_new(reply, "build_ns", json_integer((json_int_t)d.build_ns));
    json_object_set_new(reply, "builds", json_integer((json_int_t)d.builds));
    json_object_set_new(reply, "cache_loads", json_integer((json_int_t)d.cache_loads));
    json_object_set_new(reply, "on_device", json_boolean(d.on_device));
}

// Whether guards can be laid for this contender on its device.
static bool has_guards(const worker *w)
{
    return w->contender->guards && !w->contender->unguarded(w->session);
}

static json_t *do_prepare(worker *w, json_t *request)
{
    json_int_t slot = json_integer_value(json_object_get(request, "slot"));
    if (slot < 0 || slot >= BENCH_SLOTS)
        return answer_of(BENCH_ERROR, "no such slot");
    say("making the case's data");
    if (!take_case(w, request))
        return answer_of(BENCH_ERROR, w->reason);
    release_slot(w, (size_t)slot);
    bench_prepare_options options = {
        .form = json_string_value(json_object_get(request, "form")),
        .copies = (int)json_integer_value(json_object_get(request, "copies")),
        .as_before = json_string_value(json_object_get(request, "as_before")),
        .is_guarded = has_guards(w) && json_is_true(json_object_get(request, "guards")),
    };
    snprintf(w->forms[slot], sizeof w->forms[slot], "%s", options.form ? options.form : "");
    w->are_guarded[slot] = options.is_guarded;
    w->copies[slot] = options.copies > 1 ? options.copies : 1;
    say("making its operands and plan");
    uint64_t start = bench_now_ns();
    bench_answer answer =
        w->contender->prepare(w->session, &w->c, &w->data, &options, &w->slots[slot], w->reason);
    uint64_t prepared = bench_now_ns();
    if (answer == BENCH_OK)
        answer = w->contender->reset(w->slots[slot], w->reason);
    const bool runs = answer == BENCH_OK && !json_is_false(json_object_get(request, "run"));
    if (runs)
        say("running for the first time");
    uint64_t reset = bench_now_ns();
    if (runs)
        answer = w->contender->run(w->slots[slot], w->reason);
    uint64_t ran = bench_now_ns();
    json_t *reply = answer_of(answer, w->reason);
    if (answer != BENCH_OK) {
        release_slot(w, (size_t)slot);
        return reply;
    }
    put_details(w, w->slots[slot], reply);
    json_object_set_new(reply, "prepare_ns", json_integer((json_int_t)(prepared - start)));
    json_object_set_new(reply, "first_ns", json_integer((json_int_t)(ran - reset)));
    return reply;
}

static json_t *do_run(worker *w, json_t *request)
{
    json_t *reply = NULL;
    void *state = slot_of(w, request, &reply);
    return state ? answer_of(w->contender->run(state, w->reason), w->reason) : reply;
}

static void verdict_reply(json_t *reply, const bench_verdict *verdict)
{
    json_object_set_new(reply, "pass", json_boolean(verdict->pass));
    json_object_set_new(reply, "mistrusted", json_boolean(verdict->mistrusted));
    json_object_set_new(reply, "checked", json_integer((json_int_t)verdict->checked));
    // JSON has no infinity; a missed NaN or infinity is said by the text.
    json_object_set_new(reply, "max_error", json_real(verdict->max_error));
    json_object_set_new(reply, "bound", json_real(verdict->bound));
    json_object_set_new(reply, "max_ratio", json_real(verdict->max_ratio));
    put_text(reply, "text", verdict->text);
}

// ERROR where host memory does not suffice: neither right nor wrong.
static bench_answer compare(worker *w, void *state, const json_t *request, const bench_output *output,
                            bench_verdict *verdict)
{
    bench_details details = {0};
    w->contender->details(state, &details);
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
static bench_answer read_result(worker *w, void *state, bench_output *output)
{
    const bench_answer answer = w->contender->read(state, output, w->reason);
    if (answer == BENCH_OK && strcmp(w->contender->name, "husk") != 0) {
        bench_array_free(&output->h_n);
        bench_array_free(&output->c_n);
    }
    return answer;
}

// Integers of which samples alone were compared: one more run, from other poison, tells what is not written at all.
static bench_answer find_unwritten(worker *w, void *state, const bench_output *first, bench_verdict *verdict)
{
    bench_output second = {0};
    if (!bench_output_make(&w->c, &w->data, &second, w->reason))
        return BENCH_ERROR;
    bench_poison_flip(&w->data.y);
    bench_answer answer = w->contender->reset(state, w->reason);
    if (answer == BENCH_OK)
        answer = w->contender->run(state, w->reason);
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
static bench_answer find_repeats(worker *w, void *state, const json_t *request, uint64_t expected,
                                 bench_verdict *verdict, json_t *reply)
{
    bench_output output = {0};
    bench_verdict second = {.pass = true};
    const int copies = w->copies[json_integer_value(json_object_get(request, "slot"))];
    if (!bench_output_make(&w->c, &w->data, &output, w->reason))
        return BENCH_ERROR;
    bench_answer answer = w->contender->run_batch(state, copies, w->reason);
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
        put_text(reply, "repeats", text);
    }
    bench_output_free(&output);
    return answer;
}

// With guards around its memory: the same bits, or what is right, too.
static bench_answer run_guarded(worker *w, void *state, const json_t *request, uint64_t expected, char *found,
                                bench_verdict *verdict, json_t *reply)
{
    const char *form = w->forms[json_integer_value(json_object_get(request, "slot"))];
    bench_details details = {0};
    bench_guarded_result result;
    bench_verdict second = {.pass = true};
    w->contender->details(state, &details);
    const bench_guarded guarded = {w->contender,    w->session,      &w->c, &w->data, *form ? form : NULL,
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
    put_text(reply, "guards", result.absent[0] ? result.absent : NULL);
    bench_output_free(&result.output);
    return answer;
}

// Whether anything but its memory was written; that is said beside what else is wrong, which may be its consequence.
// "guards" of the reply: intact, touched, or why nobody has looked.
static bench_answer find_writes(worker *w, void *state, const json_t *request, uint64_t expected,
                                bench_verdict *verdict, json_t *reply)
{
    char found[BENCH_REASON_TEXT] = "";
    bench_answer answer = BENCH_OK;
    if (!w->contender->guards)
        return answer;
    const char *unguarded = w->contender->unguarded(w->session);
    if (unguarded) {
        put_text(reply, "guards", unguarded);
        return answer;
    }
    if (w->are_guarded[json_integer_value(json_object_get(request, "slot"))])
        answer = w->contender->guards(state, found, w->reason);
    else
        answer = run_guarded(w, state, request, expected, found, verdict, reply);
    if (answer == BENCH_OK && *found) {
        const size_t length = verdict->pass ? 0 : strlen(verdict->text);
        snprintf(verdict->text + length, sizeof verdict->text - length, "%s%.500s", length ? "; " : "", found);
        verdict->pass = false;
    }
    if (answer == BENCH_OK && !json_is_string(json_object_get(reply, "guards")))
        put_text(reply, "guards", *found ? "touched" : "intact");
    return answer;
}

// One run from the initial output, read back and compared with the reference.
static json_t *do_verify(worker *w, json_t *request)
{
    json_t *reply = NULL;
    void *state = slot_of(w, request, &reply);
    if (!state)
        return reply;
    bench_output output = {0};
    bench_verdict verdict;
    bench_answer answer = BENCH_ERROR;
    if (!bench_output_make(&w->c, &w->data, &output, w->reason))
        return answer_of(BENCH_ERROR, w->reason);
    answer = w->contender->reset(state, w->reason);
    if (answer == BENCH_OK)
        answer = w->contender->run(state, w->reason);
    if (answer == BENCH_OK) {
        say("reading its result");
        answer = read_result(w, state, &output);
    }
    json_t *found = json_object();
    if (answer == BENCH_OK) {
        say("being compared with the reference");
        answer = compare(w, state, request, &output, &verdict);
    }
    if (answer == BENCH_OK) {
        char digest[20];
        snprintf(digest, sizeof digest, "%016" PRIx64, bench_output_digest(&output));
        put_text(found, "digest", digest);
    }
    if (answer == BENCH_OK && verdict.pass && verdict.unscanned) {
        say("running from other poison");
        answer = find_unwritten(w, state, &output, &verdict);
    }
    if (answer == BENCH_OK && verdict.pass && json_is_true(json_object_get(request, "again"))) {
        say("running once more");
        answer = find_repeats(w, state, request, bench_output_fingerprint(&output), &verdict, found);
    }
    if (answer == BENCH_OK) {
        say("running between guard bands");
        answer = find_writes(w, state, request, bench_output_fingerprint(&output), &verdict, found);
    }
    if (answer == BENCH_OK)
        verdict_reply(found, &verdict);
    reply = answer_of(answer, w->reason);
    if (answer == BENCH_OK)
        json_object_update(reply, found);
    json_decref(found);
    bench_output_free(&output);
    return reply;
}

// What the last of the runs that were timed has left: the bits of the verified one, or a result that is right, too.
static json_t *do_check(worker *w, json_t *request)
{
    json_t *reply = NULL;
    void *state = slot_of(w, request, &reply);
    if (!state)
        return reply;
    const char *expected = json_string_value(json_object_get(request, "repeats"));
    bench_output output = {0};
    bench_verdict verdict = {.pass = true};
    if (!bench_output_make(&w->c, &w->data, &output, w->reason))
        return answer_of(BENCH_ERROR, w->reason);
    bench_answer answer = read_result(w, state, &output);
    if (answer == BENCH_OK && (!expected || strtoull(expected, NULL, 16) != bench_output_fingerprint(&output)))
        answer = compare(w, state, request, &output, &verdict);
    reply = answer_of(answer, w->reason);
    json_object_set_new(reply, "pass", json_boolean(verdict.pass));
    put_text(reply, "text", verdict.text);
    bench_output_free(&output);
    return reply;
}

static bench_answer time_batch(worker *w, void *state, int64_t batch, uint64_t *ns)
{
    uint64_t start = bench_now_ns();
    bench_answer answer = w->contender->run_batch(state, batch, w->reason);
    *ns = bench_now_ns() - start;
    return answer;
}

static uint64_t long_enough(const worker *w)
{
    return SAMPLE_TICKS * w->tick_ns > SAMPLE_NS ? SAMPLE_TICKS * w->tick_ns : SAMPLE_NS;
}

// Double the batch until it lasts long enough for the clock and for the launch of one to drown.
static bench_answer find_batch(worker *w, void *state, int64_t *batch)
{
    uint64_t enough = long_enough(w), ns = 0;
    bench_answer answer = BENCH_OK;
    for (*batch = 1; answer == BENCH_OK && *batch < BENCH_LONGEST_BATCH; *batch *= 2) {
        answer = time_batch(w, state, *batch, &ns);
        if (ns >= enough && answer == BENCH_OK) // once more: a hiccup must not end it
            answer = time_batch(w, state, *batch, &ns);
        if (ns >= enough)
            break;
    }
    return answer;
}

// At least `runs` runs and `ns`, until the medians of two groups of five batches agree within 2%.
static json_t *do_warm(worker *w, json_t *request)
{
    json_t *reply = NULL;
    void *state = slot_of(w, request, &reply);
    if (!state)
        return reply;
    int64_t runs = json_integer_value(json_object_get(request, "runs")), batch = 1;
    uint64_t wanted = (uint64_t)json_integer_value(json_object_get(request, "ns"));
    uint64_t limit = (uint64_t)json_integer_value(json_object_get(request, "limit_ns"));
    uint64_t start = bench_now_ns(), ns = 0;
    uint64_t shortest = UINT64_MAX;
    // What is timed has to write its output itself: nothing of the verified run is left in it.
    bench_answer answer =
        json_is_true(json_object_get(request, "reset")) ? w->contender->reset(state, w->reason) : BENCH_OK;
    for (int64_t i = 0; i < runs && answer == BENCH_OK && (i == 0 || bench_now_ns() - start < limit); i++) {
        answer = time_batch(w, state, 1, &ns);
        shortest = ns < shortest ? ns : shortest;
    }
    // A single run that lasts long enough is a sample: nothing to search for.
    if (answer == BENCH_OK && (runs == 0 || shortest < long_enough(w)))
        answer = find_batch(w, state, &batch);
    double group[5], before = 0;
    bool settled = false;
    int in_group = 0;
    while (answer == BENCH_OK && bench_now_ns() - start < limit &&
           !(settled && bench_now_ns() - start >= wanted)) {
        answer = time_batch(w, state, batch, &ns);
        group[in_group++] = (double)ns;
        if (in_group < 5)
            continue;
        double median = bench_median(group, 5);
        settled = before > 0 && median < 1.02 * before && before < 1.02 * median;
        before = median;
        in_group = 0;
    }
    reply = answer_of(answer, w->reason);
    json_object_set_new(reply, "batch", json_integer(batch));
    json_object_set_new(reply, "settled", json_boolean(settled));
    return reply;
}

static json_t *do_sample(worker *w, json_t *request)
{
    json_t *reply = NULL;
    void *state = slot_of(w, request, &reply);
    if (!state)
        return reply;
    int64_t batch = json_integer_value(json_object_get(request, "batch"));
    uint64_t wanted = (uint64_t)json_integer_value(json_object_get(request, "ns"));
    int64_t least = json_integer_value(json_object_get(request, "least"));
    bool single = json_is_true(json_object_get(request, "latency"));
    json_t *samples = json_array();
    bench_answer answer = BENCH_OK;
    const uint64_t busy = bench_process_cpu_ns();
    uint64_t start = bench_now_ns(), ns = 0;
    batch = batch < 1 ? 1 : batch;
    for (int64_t i = 0;
         answer == BENCH_OK && i < MOST_SAMPLES && (i < least || bench_now_ns() - start < wanted); i++) {
        answer = time_batch(w, state, batch, &ns);
        json_array_append_new(samples, json_real((double)ns / (double)batch));
    }
    const uint64_t spent = bench_now_ns() - start, used = bench_process_cpu_ns() - busy;
    double singles[15], latency = 0;
    size_t count = 0;
    start = bench_now_ns();
    while (single && batch > 1 && answer == BENCH_OK && count < 15 &&
           (count < 3 || bench_now_ns() - start < 20000000u)) {
        uint64_t before = bench_now_ns();
        answer = w->contender->run(state, w->reason);
        singles[count++] = (double)(bench_now_ns() - before);
    }
    if (single && batch == 1) // a sample is a single launch
        singles[count++] = json_number_value(json_array_get(samples, 0));
    latency = count ? bench_median(singles, count) : 0;
    reply = answer_of(answer, w->reason);
    json_object_set_new(reply, "samples", samples);
    json_object_set_new(reply, "spent_ns", json_integer((json_int_t)spent));
    json_object_set_new(reply, "busy_ns", json_integer((json_int_t)used));
    if (single)
        json_object_set_new(reply, "latency_ns", json_real(latency));
    return reply;
}

static json_t *serve_one(worker *w, const bench_worker_options *options, json_t *request)
{
    static const struct {
        const char *what;
        json_t *(*serve)(worker *, json_t *);
    } table[] = {
        {"forms", do_forms}, {"prepare", do_prepare}, {"run", do_run},     {"verify", do_verify},
        {"warm", do_warm},   {"sample", do_sample},   {"check", do_check},
    };
    const char *what = json_string_value(json_object_get(request, "do"));
    if (!what)
        return answer_of(BENCH_ERROR, "no request");
    snprintf(w->reason, sizeof w->reason, "no reason was given");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (!strcmp(table[i].what, what))
            return table[i].serve(w, request);
    }
    if (!strcmp(what, "release")) {
        release_all(w);
        return answer_of(BENCH_OK, NULL);
    }
    json_t *reply = options->extra ? options->extra(w->session, what, request) : NULL;
    return reply ? reply : answer_of(BENCH_ERROR, "unknown request");
}

static json_t *hello(worker *w, const bench_worker_options *options, bench_answer answer)
{
    json_t *reply = answer_of(answer, w->reason);
    put_text(reply, "name", w->contender->name);
    if (options->extra) {
        json_t *more = options->extra(w->session, "hello", NULL);
        if (more)
            json_object_update(reply, more);
        json_decref(more);
    }
    if (answer != BENCH_OK)
        return reply;
    char version[256] = "";
    w->contender->version(w->session, version, sizeof version);
    put_text(reply, "version", version);
    if (w->contender->device)
        json_object_set_new(reply, "device", w->contender->device(w->session));
    return reply;
}

int bench_worker_serve(const bench_worker_options *options)
{
    worker w = {.contender = options->contender, .tick_ns = bench_timer_tick_ns()};
    FILE *requests = fdopen(BENCH_WORKER_REQUESTS, "r");
    if (!requests)
        return 1;
    // What a driver starts must not hold the pipes open when this process has crashed.
    fcntl(BENCH_WORKER_REQUESTS, F_SETFD, FD_CLOEXEC);
    fcntl(BENCH_WORKER_REPLIES, F_SETFD, FD_CLOEXEC);
    say("opening the device");
    bench_open_options open = options->open;
    open.building = say_building;
    open.launching = say_launching;
    bench_answer answer = w.contender->open(&open, &w.session, w.reason);
    bool alive = send_reply(hello(&w, options, answer)) && answer == BENCH_OK;
    char *line = NULL;
    size_t capacity = 0;
    while (alive && getline(&line, &capacity, requests) > 0) {
        json_error_t error;
        json_t *request = json_loads(line, 0, &error);
        json_t *reply = request ? serve_one(&w, options, request) : answer_of(BENCH_ERROR, error.text);
        json_decref(request);
        alive = send_reply(reply);
    }
    free(line);
    release_all(&w);
    // One with requests of its own leaves a session behind a failed open, too: its hello was made from it.
    if (answer == BENCH_OK || (w.session && options->extra))
        w.contender->close(w.session);
    fclose(requests);
    return answer == BENCH_OK ? 0 : 1;
}
