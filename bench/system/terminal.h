/* SPDX-License-Identifier: MIT */
/*
 * bench/system/terminal.h: colours where they are wanted (a terminal, no NO_COLOR), lines that fit the terminal, and
 * one line of progress on stderr.
 */
#ifndef BENCH_SYSTEM_TERMINAL_H
#define BENCH_SYSTEM_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

#include "common/text.h"

typedef enum bench_colour { BENCH_PLAIN, BENCH_GOOD, BENCH_BAD, BENCH_WARN, BENCH_FAINT, BENCH_STRONG } bench_colour;

/* Whether stdout takes colours; escape sequences, or "" where it does not. */
const char *bench_colour_on(bench_colour colour);
const char *bench_colour_off(void);
/* Columns of stdout's terminal; 0: it is none. */
int bench_terminal_columns(void);

/*
 * Print on stdout. Lines that are longer than its terminal is wide are broken between words, and go on behind indent
 * blanks; elsewhere they stay as they are. Escape sequences take no room.
 */
void bench_print(int indent, const char *format, ...) BENCH_PRINTF(2, 3);
/* The same for a text, a file and a width; 0: none. */
void bench_fold(FILE *file, int columns, int indent, const char *text);
/*
 * The width of a table's column of names, the longest of which is given, where others is what the columns behind it
 * take. 0: the terminal is so narrow that each name has a line of its own, above its figures.
 */
int bench_name_width(size_t longest, int others);
/* A name in that width: filled up with blanks, cut with a ~, or a line of its own. */
void bench_print_name(const char *name, int width);

/* Replace the line of progress. Nothing where stderr is no terminal or quiet was asked for. */
void bench_progress_start(bool quiet);
void bench_progress_show(const char *format, ...) BENCH_PRINTF(1, 2);
/* ", about 12 s left". */
void bench_format_left(char text[32], double seconds);
/* The same by what done of all things took; "" before the first is done. */
void bench_time_left(char text[32], double spent, size_t done, size_t all);
/* Remove it: before anything is printed on stdout. */
void bench_progress_clear(void);
/* A line of its own on stderr, above the progress. */
void bench_say(const char *format, ...) BENCH_PRINTF(1, 2);

#endif
