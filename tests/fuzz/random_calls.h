/* SPDX-License-Identifier: MIT */
/*
 * fuzz/random_calls.h: calls of every operator by chance, as cases of clbench's language: what runs and checks them is
 * clbench verify's, within this process.
 */
#ifndef HUSK_TESTS_RANDOM_CALLS_H
#define HUSK_TESTS_RANDOM_CALLS_H

#include "case.h"
#include "op.h"
#include "ref/random.h"

/* A case's words, as they are drawn and shrunk: the operator, then "key=value". */
enum { CALL_WORDS = 48, CALL_WORD = 64 };
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
 * language takes was found.
 */
bool call_draw_options(const bench_op *op, husk_ref_random *random, call *k);
bool call_draw_sizes(const bench_op *op, husk_ref_random *random, const call *options, call *k,
                     bench_case *c);

/* ---- random_calls_shrink.c ---- */

/* Whether a smaller call goes wrong, too. */
typedef bool (*call_fails_fn)(void *user, const bench_case *c);

/* Leaves out options and makes numbers smaller for as long as it still fails. The number of steps taken. */
int call_shrink(call *k, call_fails_fn fails, void *user);

#endif
