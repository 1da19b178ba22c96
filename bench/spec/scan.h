/* SPDX-License-Identifier: MIT */
/* bench/spec/scan.h: the words of a description's line, each with its column, and where a mistake lies. */
#ifndef BENCH_SPEC_SCAN_H
#define BENCH_SPEC_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/text.h"

enum { BENCH_NAME_TEXT = 64, BENCH_LONGEST_WORD = 512 };

typedef enum bench_word_kind {
    BENCH_WORD_END,     /* of the line, or a comment */
    BENCH_WORD_NAME,    /* a letter or _, then letters, digits and _ */
    BENCH_WORD_INTEGER, /* 12, 0x1f */
    BENCH_WORD_REAL,    /* 0.5, 1e-3, .5 */
    BENCH_WORD_STRING,  /* "..." without its quotes; \" and \\ stand for " and \ */
    BENCH_WORD_SIGN     /* one of + - * / % < > = ! ? : , ( ) [ ] & | ^ ~ @ . ; and << >> <= >= == != && || // .. */
} bench_word_kind;

typedef struct bench_word {
    bench_word_kind kind;
    int column; /* from 1 */
    const char *begin; /* in the line */
    char text[BENCH_LONGEST_WORD]; /* names, signs and strings */
    int64_t integer;
    double real; /* of integers as well */
} bench_word;

/* A line that is being read. The word that comes next is at hand; bench_scan_next takes it. */
typedef struct bench_scan {
    const char *file; /* as messages name it */
    int line;
    const char *text, *at;
    bench_word word; /* the next one */
    bool has_failed;
    char *reason; /* BENCH_REASON_TEXT bytes: of the first mistake alone */
} bench_scan;

/* text is not to change while it is read. */
void bench_scan_begin(bench_scan *scan, const char *file, int line, const char *text, char *reason);
/* Takes the word. After a mistake every word is the end. */
void bench_scan_next(bench_scan *scan);

/* FILE:LINE:COLUMN: what is wrong. False, so that it can be returned. Only the first one is kept. */
bool bench_scan_fail(bench_scan *scan, int column, const char *format, ...) BENCH_PRINTF(3, 4);

bool bench_scan_is(const bench_scan *scan, const char *sign_or_name);
/* Takes the word if it is that sign or name. */
bool bench_scan_take(bench_scan *scan, const char *sign_or_name);
/* The same, and a mistake where it is another: "what" says what it is for, "behind the size". */
bool bench_scan_expect(bench_scan *scan, const char *sign_or_name, const char *what);
/* A name into text, which has BENCH_NAME_TEXT bytes. */
bool bench_scan_name(bench_scan *scan, char *text, const char *what);
/* A whole number, which may have a sign. */
bool bench_scan_integer(bench_scan *scan, int64_t *value, const char *what);
/* A number, which may have a sign. */
bool bench_scan_real(bench_scan *scan, double *value, const char *what);
/* Nothing may follow. */
bool bench_scan_end(bench_scan *scan);

/* A text in quotes. */
bool bench_scan_string(bench_scan *scan, char *text, size_t size, const char *what);
/*
 * Behind a sign or a name, which has to be the next word: characters up to the next blank, or a text in quotes: a path,
 * options. Takes both.
 */
bool bench_scan_argument(bench_scan *scan, const char *behind, char *text, size_t size, const char *what);

#endif
