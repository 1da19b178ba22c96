// SPDX-License-Identifier: MIT
#include "terminal.h"

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

void bench_time_left(char text[32], double spent, size_t done, size_t all)
{
    const double left = done ? spent / (double)done * (double)(all > done ? all - done : 0) : 0;
    text[0] = '\0';
    if (done && left < 100)
        snprintf(text, 32, ", about %.0f s left", left);
    else if (done)
        snprintf(text, 32, ", about %.0f min left", left / 60);
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
