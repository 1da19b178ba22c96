/* SPDX-License-Identifier: MIT */
/*
 * bench/spec/t1_document.h: a T1 document that is being turned into a kernel's description (spec/t1.h).
 *
 * What the document says is written as lines of our own grammar, and these are parsed: so each rule is checked in one
 * place. A mistake names the file, the line and the member of the JSON text:
 * "k.json:34: KernelSpecification.Arguments[2].FillType: ...".
 */
#ifndef BENCH_SPEC_T1_DOCUMENT_H
#define BENCH_SPEC_T1_DOCUMENT_H

#include <jansson.h>

#include "spec/description.h"
#include "spec/python.h"

enum { BENCH_T1_MEMBER_TEXT = 200, BENCH_T1_NUMBER_TEXT = 40, BENCH_T1_EXPRESSION_TEXT = 4000 };

typedef struct bench_t1 {
    const bench_description *description;
    const char *text; /* of the document, with a zero behind it */
    bench_spec *spec;
    bench_python_scope scope;
    bench_scan scan;
    char *reason;
} bench_t1;

/* A member's name into text: "Arguments[2]" and "Size" are "Arguments[2].Size". */
void bench_t1_member(char text[BENCH_T1_MEMBER_TEXT], const char *of, const char *name);

/* FILE:LINE: MEMBER: what is wrong. False, so that it can be returned. Only the first one is kept. */
bool bench_t1_fail(bench_t1 *t, const char *member, const char *format, ...) BENCH_PRINTF(3, 4);

/* Parses a line of our grammar, which the member says in its own way. */
bool bench_t1_line(bench_t1 *t, const char *member, const char *line);
/* Whether something is missing, once all lines are parsed. */
bool bench_t1_check(bench_t1 *t, const char *member);

/* A string without control characters, of at most `most` bytes. NULL: it is none, and that is said. */
const char *bench_t1_string(bench_t1 *t, const char *member, const json_t *value, size_t most);

/* A number as our lines have it: whole ones without an exponent, which would make them real. */
void bench_t1_number(double number, char text[BENCH_T1_NUMBER_TEXT]);

/* A number, or a Python expression in a string, as an expression of ours. */
bool bench_t1_expression(bench_t1 *t, const char *member, const json_t *value, char text[BENCH_T1_EXPRESSION_TEXT]);

/* The same, and it has to be a whole number. */
bool bench_t1_whole(bench_t1 *t, const char *member, const json_t *value, char text[BENCH_T1_EXPRESSION_TEXT]);

/* Whether it can be a name in a kernel. */
bool bench_t1_is_name(const char *text);

/*
 * Whether the object is one, and has no member whose name is near to one of these without being one of them: a misspelt
 * name is a mistake, and any other one is somebody else's.
 */
bool bench_t1_check_members(bench_t1 *t, const char *member, const json_t *object, const char *const *known,
                            size_t count);

/* Appends a text in quotes, as our lines have paths and options. */
void bench_t1_quote(char *line, size_t size, const char *text);

#endif
