// SPDX-License-Identifier: MIT
#include "system/steps.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "system/process.h"
#include "system/terminal.h"
#include "system/timer.h"

static const bench_steps *shown; // NULL: none are under way

double bench_steps_left(const bench_steps *steps, uint64_t now_ns)
{
    const double before = (double)(steps->at_ns - steps->start_ns) * 1e-9;
    const double inside = (double)(now_ns - steps->at_ns) * 1e-9;
    const double pace = steps->done > 0 ? before / steps->done : 1;
    const double own = pace * steps->usual - inside, after = pace * (steps->all - steps->done - steps->usual);
    return (own > 1 ? own : 1) + (after > 0 ? after : 0); // a step that takes longer than it should is nearly over
}

static void show(void)
{
    char left[32];
    bench_format_left(left, bench_steps_left(shown, bench_now_ns()));
    bench_progress_show("[%zu/%zu%s] %s", shown->at, shown->count, left, shown->what);
}

// Twice a second, while a reply is waited for.
static void show_again(const char *at, double seconds)
{
    (void)at;
    (void)seconds;
    if (shown)
        show();
}

void bench_steps_begin(bench_steps *steps, size_t count, double seconds)
{
    memset(steps, 0, sizeof *steps);
    steps->count = count;
    steps->all = seconds;
    steps->start_ns = steps->at_ns = bench_now_ns();
    shown = steps;
    bench_process_watch(show_again);
}

void bench_steps_next(bench_steps *steps, double seconds, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(steps->what, sizeof steps->what, format, arguments);
    va_end(arguments);
    steps->at++;
    steps->done += steps->usual;
    steps->usual = seconds;
    steps->at_ns = bench_now_ns();
    show();
}

void bench_steps_skip_to(bench_steps *steps, size_t at, double seconds)
{
    steps->at = at;
    steps->done = seconds;
    steps->usual = 0;
    steps->at_ns = bench_now_ns();
}

void bench_steps_end(bench_steps *steps)
{
    (void)steps;
    shown = NULL;
    bench_process_watch(NULL);
    bench_progress_clear();
}
