/* SPDX-License-Identifier: MIT */
/*
 * fuzz/random_calls.h: calls of every operator by chance, as cases of clbench's language: what runs and checks them is
 * clbench verify's, within this process.
 */
#ifndef HUSK_TESTS_RANDOM_CALLS_H
#define HUSK_TESTS_RANDOM_CALLS_H

#include "cases/case.h"
#include "cases/op.h"
#include "ref/random.h"

/* A case's words, as they are drawn and shrunk: the operator, then "key=value". */
enum { CALL_WORDS = 48, CALL_WORD = 64, CALL_FORMS = 4, CALL_FORM = 96 };
typedef struct call {
    char words[CALL_WORDS][CALL_WORD];
    size_t count;
} call;

/* Its line, and what that is as a case; false: the language refuses it. */
bool call_parse(const call *k, bench_case *c);
void call_from_line(const char *line, call *k);

/* ---- random_calls_draw.c ---- */

/*
 * An operator's options by chance (those that decide about programs: the choices among values), and then sizes and
 * numbers for them, small enough to be checked at once: a burst of calls shares its programs. False: nothing that the
 * language takes was found. dir: a direction's name, or NULL for one by chance.
 */
bool call_draw_options(const bench_op *op, const char *dir, husk_ref_random *random, call *k);
bool call_draw_sizes(const bench_op *op, husk_ref_random *random, const call *options, call *k, bench_case *c);

/*
 * Ways to ask for the case, how many is answered: "", which is the library's choice, and some of the variants, each in
 * some configuration ("tiled:8x3v").
 */
size_t call_draw_forms(const bench_case *c, husk_ref_random *random, char forms[CALL_FORMS][CALL_FORM]);

/* ---- random_calls_check.c ---- */

typedef enum call_outcome { CALL_RIGHT, CALL_WRONG, CALL_REFUSED } call_outcome;

typedef struct call_result {
    call_outcome outcome;
    bool inconclusive;   /* right, but most of what is expected is zero */
    bool is_empty;     /* right, and there was nothing to compare */
    double max_ratio;  /* the largest error over its bound */
    uint64_t digest;   /* of the outputs' bits */
    char variant[128]; /* which ran, with its configuration */
    char why[600];     /* what is wrong, or why it was refused */
} call_result;

/* Runs the case twice and compares with the reference; the second run has to give the same bits. form: NULL or "" for
 * the library's choice. session: a bench_husk_session (bench/worker/husk_runner.h). */
call_outcome call_check(void *session, const bench_case *c, const char *form, call_result *result);
/* The same between guard bands, of which nothing may be written. For who has the context alone. */
call_outcome call_check_guarded(void *session, const bench_case *c, const char *form, call_result *result);

/* The steps of call_check, for who shares a queue: data and what it is compared with need none. */
typedef struct call_made {
    const bench_case *c;
    bench_data data;
    bench_output output;
    void *state;
    bool is_guarded; /* set it between call_make_data and call_prepare */
} call_made;

bool call_make_data(call_made *made, const bench_case *c, call_result *result);
bool call_prepare(call_made *made, void *session, const char *form, call_result *result);
bool call_compute(call_made *made, call_result *result); /* from the initial output to the result in host memory */
bool call_verify(call_made *made, call_result *result);
void call_release(call_made *made);
void call_free_data(call_made *made);

/* ---- random_calls_shrink.c ---- */

/* Whether a smaller call goes wrong, too. */
typedef bool (*call_fails_fn)(void *user, const bench_case *c);

/* Leaves out options and makes numbers smaller for as long as it still fails. The number of steps taken. */
int call_shrink(call *k, call_fails_fn fails, void *user);

#endif
