/* SPDX-License-Identifier: MIT */
/*
 * bench/terminal.h: colours where they are wanted (a terminal, no NO_COLOR), and one line of progress on
 * stderr.
 */
#ifndef BENCH_TERMINAL_H
#define BENCH_TERMINAL_H

#include <stdbool.h>

#include "text.h"

typedef enum bench_colour {
    BENCH_PLAIN,
    BENCH_GOOD,
    BENCH_BAD,
    BENCH_WARN,
    BENCH_FAINT,
    BENCH_STRONG
} bench_colour;

/* Whether stdout takes colours; escape sequences, or "" where it does not. */
const char *bench_colour_on(bench_colour colour);
const char *bench_colour_off(void);
/* Columns of stdout's terminal; 0: it is none. */
int bench_terminal_columns(void);

/* Replace the line of progress. Nothing where stderr is no terminal or quiet was asked for. */
void bench_progress_start(bool quiet);
void bench_progress_show(const char *format, ...) BENCH_PRINTF(1, 2);
/* ", about 12 s left", by what done of all things took; "" before the first is done. */
void bench_time_left(char text[32], double spent, size_t done, size_t all);
/* Remove it: before anything is printed on stdout. */
void bench_progress_clear(void);
/* A line of its own on stderr, above the progress. */
void bench_say(const char *format, ...) BENCH_PRINTF(1, 2);

#endif
