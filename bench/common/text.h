/* SPDX-License-Identifier: MIT */
/*
 * bench/common/text.h: small string things: explanations of bounded size, nearest spellings, numbers.
 */
#ifndef BENCH_COMMON_TEXT_H
#define BENCH_COMMON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define BENCH_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define BENCH_PRINTF(format_index, first)
#endif

#define BENCH_REASON_TEXT 1024 /* bytes an explanation may take */

/* Appends to a zero-terminated text in size bytes; what does not fit is cut off. */
void bench_append(char *text, size_t size, const char *format, ...) BENCH_PRINTF(3, 4);

/* Writes text and returns false, so that `return bench_explain(...)` is the whole of error handling. */
bool bench_explain(char *reason, size_t size, const char *format, ...) BENCH_PRINTF(3, 4);

/* Edits (insertion, deletion, replacement, swap of neighbours) from one text to the other. */
size_t bench_edit_distance(const char *a, const char *b);

/* The candidate with the fewest edits from word, letters' case ignored; NULL when count is 0. */
const char *bench_nearest(const char *word, const char *const *candidates, size_t count);

/* A whole decimal number that fits and is all of the text. */
/* Whether it is a whole number, which may be larger than bench_parse_integer's: digits, with a sign or without. */
bool bench_is_integer(const char *text);
bool bench_parse_integer(const char *text, int64_t *value);
/* A finite number that is all of the text; the decimal point is '.' in every locale. */
bool bench_parse_real(const char *text, double *value);
/* "60s", "1.5m", "200ms" or a bare number of seconds; not negative. */
bool bench_parse_duration(const char *text, double *seconds);

/* The shortest decimal form that reads back as the same number. */
void bench_format_real(double value, char *text, size_t size);
/* Three significant digits with a unit: "12.3 us", "1.40 s". */
void bench_format_ns(double ns, char *text, size_t size);
/* "64 KiB", "1.5 GiB". */
void bench_format_bytes(double bytes, char *text, size_t size);

/*
 * Replaces what a terminal would take as a command (control characters, C0 and C1, ends of lines) by spaces, and what
 * is no UTF-8 by question marks, so that it can be printed and be JSON.
 */
void bench_clean_line(char *text);
/* The same for a text of several lines, whose ends stay. */
void bench_clean_text(char *text);
/* A word as a shell reads it back: as it is, or in quotes. size is to be four times the word's at most. */
void bench_shell_word(const char *word, char *text, size_t size);

/* malloc'ed copy; NULL when memory is short. */
char *bench_copy_text(const char *text);

#endif
