// SPDX-License-Identifier: MIT
#include "system/terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool shows_progress, has_line;

static bool takes_colours(void)
{
    const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
    bool is_dumb = terminal && !strcmp(terminal, "dumb");
    return !(no_colour && *no_colour) && !is_dumb && isatty(STDOUT_FILENO);
}

const char *bench_colour_on(bench_colour colour)
{
    static const char *const codes[] = {"", "\033[32m", "\033[31m", "\033[33m", "\033[2m", "\033[1m"};
    return takes_colours() ? codes[colour] : "";
}

const char *bench_colour_off(void)
{
    return takes_colours() ? "\033[0m" : "";
}

int bench_terminal_columns(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO))
        return 0;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// Bytes up to the end of the word at text, and the columns that they take.
static size_t word_length(const char *text, int *columns)
{
    size_t length = 0;
    *columns = 0;
    while (text[length] && !strchr(" \n", text[length])) {
        if (text[length] == '\033') { // as in bench_colour_on: to its letter
            length += strcspn(text + length, "m");
            length += text[length] == 'm';
            continue;
        }
        *columns += ((unsigned char)text[length] & 0xc0) != 0x80; // not within a character of UTF-8
        length++;
    }
    return length;
}

void bench_fold(FILE *file, int columns, int indent, const char *text)
{
    int at = 0;
    if (columns <= 0)
        fputs(text, file);
    while (columns > 0 && *text) {
        const int blanks = (int)strspn(text, " ");
        int wide;
        const size_t length = word_length(text + blanks, &wide);
        if (at > indent && at + blanks + wide > columns) {
            fprintf(file, "\n%*s", indent, "");
            at = indent;
        } else {
            fprintf(file, "%*s", blanks, "");
            at += blanks;
        }
        fwrite(text + blanks, 1, length, file);
        at += wide;
        text += blanks + (int)length;
        if (*text == '\n') {
            fputc(*text++, file);
            at = 0;
        }
    }
}

void bench_print(int indent, const char *format, ...)
{
    char text[16384];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    bench_fold(stdout, bench_terminal_columns(), indent, text);
}

#define LEAST_NAME 40 // where less is left, names are not told apart any more

int bench_name_width(size_t longest, int others)
{
    const int columns = bench_terminal_columns(), room = columns - others;
    if (columns == 0 || (int)longest <= room)
        return (int)longest;
    return room >= LEAST_NAME ? room : 0;
}

void bench_print_name(const char *name, int width)
{
    if (width == 0)
        bench_print(4, "%s\n", name);
    else if ((int)strlen(name) <= width)
        printf("%-*s", width, name);
    else
        printf("%.*s~", width - 1, name);
}

void bench_progress_start(bool quiet)
{
    shows_progress = !quiet && isatty(STDERR_FILENO);
}

void bench_progress_clear(void)
{
    if (has_line)
        fputs("\r\033[K", stderr);
    has_line = false;
}

void bench_progress_show(const char *format, ...)
{
    if (!shows_progress)
        return;
    char text[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct winsize size;
    int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1 : 79;
    fprintf(stderr, "\r\033[K%.*s", columns, text);
    fflush(stderr);
    has_line = true;
}

void bench_format_left(char text[32], double seconds)
{
    if (seconds < 100)
        snprintf(text, 32, ", about %.0f s left", seconds);
    else
        snprintf(text, 32, ", about %.0f min left", seconds / 60);
}

void bench_time_left(char text[32], double spent, size_t done, size_t all)
{
    text[0] = '\0';
    if (done)
        bench_format_left(text, spent / (double)done * (double)(all > done ? all - done : 0));
}

void bench_say(const char *format, ...)
{
    va_list arguments;
    bench_progress_clear();
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}
