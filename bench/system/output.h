/* SPDX-License-Identifier: MIT */
/* bench/system/output.h: files that results are written to. */
#ifndef BENCH_SYSTEM_OUTPUT_H
#define BENCH_SYSTEM_OUTPUT_H

#include <jansson.h>
#include <stdio.h>

#include "common/text.h"

/* Written once, from where it stands: a descriptor of this process (/dev/stdout, /dev/fd/N), a pipe, a terminal. */
bool bench_output_is_stream(const char *path);
/* To be written from its beginning, or from where a descriptor of this process (/dev/stdout, /dev/fd/N) stands. */
FILE *bench_output_file(const char *path);
/* What is written to have a name in the end: until then what was there stays, whatever happens. */
typedef struct bench_writing {
    FILE *file;
    char place[4096];     /* the file that a path names, through links */
    char temporary[4200]; /* "": a stream, or where no other file can be made beside it: written in place */
} bench_writing;

/* NULL, and a word on stderr, where it cannot be written. */
FILE *bench_output_open(bench_writing *writing, const char *path);
/* False, and a word on stderr, where not all could be written: then what was there stays. */
bool bench_output_close(bench_writing *writing, const char *path);
/* A document, as the two above write files. */
bool bench_output_write_json(const json_t *document, const char *path);
/* The same without a word: errno says why. */
FILE *bench_output_begin(bench_writing *writing, const char *path);
bool bench_output_end(bench_writing *writing);
/* Nothing is written after all. */
void bench_output_drop(bench_writing *writing);

/* Whether two paths name one file, by whatever names. False where one of them is no file, or a stream. */
bool bench_output_is_same(const char *a, const char *b);
/* False: the output is the input, which would be lost; reason says so. NULL and "-" are no files. */
bool bench_output_is_apart(const char *output, const char *input, char reason[BENCH_REASON_TEXT]);

/* A new file whose name is made of a pattern that ends with XXXXXX: what is to have another's name. NULL: errno. */
FILE *bench_output_temporary(char *pattern);
/* Whether all that was written is on the disk; else errno. It stays open. */
bool bench_output_sync(FILE *file);
/* Give it its name, in place of what has that, or only where none has (EEXIST). False: errno. */
bool bench_output_place(const char *temporary, const char *path, bool replaces);

/* Whether it can be written, asked before the work is done whose result it is to have. False, and a word on stderr. */
bool bench_output_check(const char *path);

#endif
