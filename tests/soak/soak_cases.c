// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/ops.h"
#include "cases/output_digest.h"
#include "cases/parse.h"
#include "common/text.h"
#include "soak.h"
#include "support/generate.h"

enum { SIZES = 6, STRIDE = 89, TRIES = 20 }; // sizes of a burst; a prime; bursts for the first case of an operator
#define A_MINUTE UINT64_C(60000000000)

void soak_mismatch(soak_worker *w, const char *what, const char *why)
{
    char line[600];
    snprintf(line, sizeof line, "%.500s", why);
    bench_clean_line(line);
    atomic_fetch_add(&w->s->mismatches, 1);
    pthread_mutex_lock(&w->s->lock);
    printf("mismatch: %s # %s\n", what, line);
    fflush(stdout);
    pthread_mutex_unlock(&w->s->lock);
}

static void present(soak_worker *w, const bench_case *c, const char *form)
{
    snprintf(w->present, sizeof w->present, "clbench verify %s%s%.*s", c->canonical, *form ? " --variant " : "",
             CALL_FORM - 1, form);
}

// ---- against the reference ----

static bool check_once(soak_worker *w, const bench_case *c, const char *form, call_result *result)
{
    soak *s = w->s;
    present(w, c, form);
    call_check(&w->own, c, form, result);
    atomic_fetch_add(&s->refused, result->outcome == CALL_REFUSED);
    atomic_fetch_add(&s->inconclusive, result->inconclusive);
    if (result->outcome == CALL_REFUSED || (result->outcome == CALL_RIGHT && result->is_empty)) // nothing to compare
        return false;
    atomic_fetch_add(&s->calls, 2);
    atomic_fetch_add(&s->by_reference, 1);
    atomic_fetch_add(&s->by_bits, 1);
    if (result->outcome == CALL_WRONG)
        soak_mismatch(w, w->present, result->why);
    return result->outcome == CALL_RIGHT;
}

static void keep(soak *s, const bench_case *c, const char *form, const call *options, uint64_t digest)
{
    soak_case *kept = calloc(1, sizeof *kept);
    pthread_mutex_lock(&s->lock);
    if (kept && s->count == s->capacity) {
        const size_t capacity = s->capacity ? 2 * s->capacity : 256;
        soak_case **grown = realloc(s->cases, capacity * sizeof *grown);
        s->cases = grown ? grown : s->cases;
        s->capacity = grown ? capacity : s->capacity;
    }
    if (kept && s->count < s->capacity) {
        kept->c = *c;
        snprintf(kept->form, sizeof kept->form, "%s", form);
        kept->options = *options;
        kept->digest = digest;
        s->cases[s->count++] = kept;
    } else {
        free(kept);
    }
    pthread_mutex_unlock(&s->lock);
}

static const char *direction_of(const bench_op *op, bench_direction dir)
{
    const bench_field *field;
    for (size_t i = 0; (field = bench_field_get(op, i)); i++)
        if (!strcmp(field->key, "dir"))
            return bench_direction_text(dir);
    return NULL;
}

// How many cases it has found. The end of the phase cuts it off, unless it has to find one.
static int draw_burst(soak_worker *w, bench_op_kind kind, bench_direction dir, bool has_to)
{
    const bench_op *op = bench_op_get(kind);
    int found = 0;
    char forms[CALL_FORMS][CALL_FORM];
    size_t form_count = 0;
    call_result result;
    call options, k;
    bench_case c;
    call_draw_options(op, direction_of(op, dir), &w->random, &options);
    for (int i = 0; i < SIZES && ((has_to && !found) || !atomic_load(&w->s->rest)); i++) {
        if (!call_draw_sizes(op, &w->random, &options, &k, &c))
            break;
        form_count = form_count ? form_count : call_draw_forms(&c, &w->random, forms);
        for (size_t f = 0; f < form_count && ((has_to && !found) || !atomic_load(&w->s->rest)); f++)
            if (check_once(w, &c, forms[f], &result)) {
                keep(w->s, &c, forms[f], &options, result.digest);
                found++;
            }
    }
    return found;
}

static bool draw(soak_worker *w)
{
    soak *s = w->s;
    const int64_t number = atomic_fetch_add(&s->next, 1);
    const int64_t rows = BENCH_OP_COUNT * BENCH_DIRECTIONS;
    call_result result;
    if (s->o.line_count) {
        bench_case c;
        char reason[BENCH_REASON_TEXT];
        if (number >= s->o.line_count || !bench_case_parse(s->o.lines[number], &c, reason))
            return false;
        if (check_once(w, &c, "", &result))
            keep(s, &c, "", &(call){.count = 0}, result.digest);
        return true;
    }
    if (number >= rows * s->o.bursts)
        return false;
    const int64_t row = number * STRIDE % rows; // so that a short run has something of everything
    const bench_case asked = {.op = (bench_op_kind)(row / BENCH_DIRECTIONS),
                              .dir = (bench_direction)(row % BENCH_DIRECTIONS)};
    const bool is_first = number < rows; // of all, everything has a case
    bool is_found = !bench_op_row(&asked);
    for (int i = 0; i < (is_first ? TRIES : 1) && !is_found; i++)
        is_found = draw_burst(w, asked.op, asked.dir, is_first) > 0;
    return true;
}

// ---- against the bits of the first run ----

// The same as bench_runner_husk.run, waiting for an event instead of the queue.
static bool run_by_event(call_made *made, call_result *result)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_husk_job *job = bench_husk_job_of(made->state);
    husk_event *event = NULL;
    bench_answer answer = bench_runner_husk.reset(made->state, reason);
    husk_status status = answer == BENCH_OK ? HUSK_OK : HUSK_OPENCL;
    if (status == HUSK_OK)
        status = bench_op_get(made->c->op)->husk_enqueue(job, &job->sets[0]);
    if (status == HUSK_OK)
        status = husk_queue_record(job->queue, &event);
    if (status == HUSK_OK)
        status = husk_event_wait(event, A_MINUTE);
    husk_event_release(event);
    if (status == HUSK_OK)
        answer = bench_runner_husk.read(made->state, &made->output, reason);
    result->digest = bench_output_digest(&made->output);
    if (status != HUSK_OK || answer != BENCH_OK) {
        result->outcome = CALL_WRONG;
        snprintf(result->why, sizeof result->why, "%s %.300s", husk_status_name(status), reason);
    }
    return result->outcome == CALL_RIGHT;
}

static void repeat(soak_worker *w, const soak_case *known, bench_husk_session *session, pthread_mutex_t *lock)
{
    soak *s = w->s;
    call_result result;
    call_made made;
    present(w, &known->c, known->form);
    if (call_make_data(&made, &known->c, &result)) {
        if (lock)
            pthread_mutex_lock(lock);
        if (call_prepare(&made, session, known->form, &result)) {
            const bool by_event = test_one_in(&w->random, 2);
            const bool is_done = by_event ? run_by_event(&made, &result) : call_compute(&made, &result);
            if (is_done && result.digest != known->digest) {
                result.outcome = CALL_WRONG;
                snprintf(result.why, sizeof result.why, "other bits than the first, reference-checked run gave%s",
                         lock ? ", on a shared queue" : "");
            }
        }
        call_release(&made);
        if (lock)
            pthread_mutex_unlock(lock);
    }
    call_free_data(&made);
    atomic_fetch_add(&s->calls, 1);
    atomic_fetch_add(&s->by_bits, 1);
    if (result.outcome != CALL_RIGHT) // a refusal, too: it was taken before
        soak_mismatch(w, w->present, result.why);
}

// Every case on every shared queue, so that those have all they will ever need.
static bool visit(soak_worker *w)
{
    soak *s = w->s;
    const int64_t number = atomic_fetch_add(&s->next, 1);
    if (number >= (int64_t)s->count * SOAK_SHARED)
        return false;
    const int queue = (int)(number % SOAK_SHARED);
    repeat(w, s->cases[number / SOAK_SHARED], &s->shared[queue], &s->shared_lock[queue]);
    return true;
}

// ---- steps ----

// Sizes that were not there before, for options that were: a new shape compiles nothing.
static void check_new_sizes(soak_worker *w, const soak_case *like)
{
    call_result result;
    call k;
    bench_case c;
    if (like->options.count && call_draw_sizes(bench_op_get(like->c.op), &w->random, &like->options, &k, &c))
        check_once(w, &c, like->form, &result);
}

static void lose(int64_t bytes)
{
    char *lost = malloc((size_t)bytes);
    for (int64_t i = 0; lost && i < bytes; i += 4096)
        ((volatile char *)lost)[i] = 1;
}

static bool steady(soak_worker *w)
{
    soak *s = w->s;
    if (!s->count)
        return false;
    const soak_case *known = s->cases[husk_ref_random_below(&w->random, (int64_t)s->count)];
    if (s->o.leak)
        lose(s->o.leak);
    if (test_one_in(&w->random, 12)) {
        soak_transfer(w);
    } else if (test_one_in(&w->random, 24)) {
        check_new_sizes(w, known);
    } else if (test_one_in(&w->random, 3)) {
        const int64_t queue = husk_ref_random_below(&w->random, SOAK_SHARED);
        repeat(w, known, &s->shared[queue], &s->shared_lock[queue]);
    } else {
        repeat(w, known, &w->own, NULL);
    }
    return true;
}

bool soak_step(soak_worker *w)
{
    switch ((soak_phase)atomic_load(&w->s->phase)) {
    case SOAK_DRAW:
        return draw(w);
    case SOAK_VISIT:
        return visit(w);
    case SOAK_STEADY:
        return steady(w);
    case SOAK_END:
        break;
    }
    return false;
}
