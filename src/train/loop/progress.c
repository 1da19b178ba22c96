// SPDX-License-Identifier: MIT
// One line of progress.
#define _DEFAULT_SOURCE // ioctl
#include "train/loop/progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <husk/train/loop.h>

#include "train/error.h"

#define BAR    20
#define NARROW 60 /* columns, below which there is no bar */

struct husk_progress {
    husk_progress_params params;
    char *label;
    struct timespec begun;
    double shown; /* seconds since begun; negative: not yet */
};

void husk__progress_time(double seconds, char text[HUSK__PROGRESS_TIME])
{
    const size_t size = HUSK__PROGRESS_TIME;
    const bool is_known = seconds >= 0 && seconds < 1e15;
    const long long whole = is_known ? (long long)(seconds + 0.5) : 0;
    if (!is_known)
        snprintf(text, size, "-:--");
    else if (whole < 3600)
        snprintf(text, size, "%lld:%02lld", whole / 60, whole % 60);
    else if (whole < 86400)
        snprintf(text, size, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
    else
        snprintf(text, size, "%lld d %02lld h", whole / 86400, whole / 3600 % 24);
}

// ---- the line ----

// Adds what fits, blanks for what a terminal would take as a command.
static size_t append(char *line, size_t used, const char *text)
{
    for (; *text && used + 1 < HUSK__PROGRESS_LINE; text++)
        line[used++] = (unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text;
    line[used] = 0;
    return used;
}

// At most so many characters of UTF-8.
static size_t cut(const char *line, size_t used, int32_t columns)
{
    size_t at = 0;
    for (int32_t seen = 0; at < used; at++)
        if (((unsigned char)line[at] & 0xc0) != 0x80 && ++seen > columns)
            break;
    return at;
}

size_t husk__progress_line_write(const husk__progress_line *line, char text[HUSK__PROGRESS_LINE])
{
    char piece[HUSK__PROGRESS_TIME + 96], bar[BAR + 1], time_left[HUSK__PROGRESS_TIME];
    double part = line->done < line->total ? (double)line->done / (double)line->total : 1;
    double left = -1;
    if (line->done >= line->total)
        left = 0;
    else if (line->done > line->begun)
        left = line->seconds / (double)(line->done - line->begun) * (double)(line->total - line->done);
    husk__progress_time(left, time_left);
    int full = (int)(part * BAR);
    memset(bar, '.', BAR);
    memset(bar, '#', (size_t)full);
    bar[BAR] = 0;
    size_t used = append(text, 0, line->label ? line->label : "");
    if (used)
        used = append(text, used, "  ");
    if (line->columns >= NARROW) {
        used = append(text, used, "[");
        used = append(text, used, bar);
        used = append(text, used, "]  ");
    }
    snprintf(piece, sizeof piece, "%d%%  %llu/%llu  %s left", (int)(part * 100), (unsigned long long)line->done,
             (unsigned long long)line->total, time_left);
    used = append(text, used, piece);
    if (line->text && *line->text) {
        used = append(text, used, "  ");
        used = append(text, used, line->text);
    }
    used = cut(text, used, line->columns);
    text[used] = 0;
    return used;
}

// ---- the stream ----

static double seconds_since(const struct timespec *begun)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begun->tv_sec) + 1e-9 * (double)(now.tv_nsec - begun->tv_nsec);
}

static bool is_terminal(FILE *stream)
{
    int descriptor = fileno(stream);
    return descriptor >= 0 && isatty(descriptor);
}

// Asked for each line: windows change. The last column is left free, since some terminals wrap there.
static int32_t columns_of(const husk_progress_params *params)
{
    struct winsize window = {0};
    int descriptor = fileno(params->stream);
    if (params->columns > 0)
        return params->columns;
    if (descriptor >= 0 && ioctl(descriptor, TIOCGWINSZ, &window) == 0 && window.ws_col > 1)
        return window.ws_col - 1;
    return 80;
}

husk_status husk_progress_create(const husk_progress_params *params, husk_progress **progress, husk_error *error)
{
    const husk__train_scope scope = {"husk_progress_create", error};
    husk_progress_params own;
    if (!progress)
        return husk__train_reject(&scope, "progress", "it is NULL");
    *progress = NULL;
    if (!params)
        return husk__train_reject(&scope, "params", "it is NULL");
    husk_status status = husk__train_struct(&own, sizeof own, "HUSK_PROGRESS_PARAMS", params, "params", &scope);
    if (status)
        return status;
    if (own.total == 0)
        return husk__train_reject(&scope, "params", "total has to be 1 or more");
    if ((unsigned)own.mode > HUSK_PROGRESS_NEVER)
        return husk__train_reject(&scope, "params", "mode %u does not exist", (unsigned)own.mode);
    if (!(isfinite(own.interval) && own.interval >= 0))
        return husk__train_reject(&scope, "params", "interval is %g; it has to be finite and 0 or more", own.interval);
    if (own.columns < 0)
        return husk__train_reject(&scope, "params", "columns is %d; it has to be 0 or more", (int)own.columns);
    husk_progress *made = calloc(1, sizeof *made);
    char *label = own.label ? strdup(own.label) : NULL;
    if (!made || (own.label && !label)) {
        free(made);
        free(label);
        return husk__train_no_memory(&scope);
    }
    if (own.interval == 0)
        own.interval = 0.1;
    if (own.mode == HUSK_PROGRESS_NEVER || (own.stream && own.mode == HUSK_PROGRESS_AUTO && !is_terminal(own.stream)))
        own.stream = NULL;
    made->params = own;
    made->label = label;
    made->shown = -1;
    clock_gettime(CLOCK_MONOTONIC, &made->begun);
    *progress = made;
    return HUSK_OK;
}

void husk_progress_show(husk_progress *progress, uint64_t done, const char *text)
{
    if (!progress || !progress->params.stream)
        return;
    const husk_progress_params *own = &progress->params;
    double now = seconds_since(&progress->begun);
    if (progress->shown >= 0 && now - progress->shown < own->interval && done < own->total)
        return;
    progress->shown = now;
    char line[HUSK__PROGRESS_LINE];
    const husk__progress_line what = {.label = progress->label,
                                      .text = text,
                                      .begun = own->done,
                                      .done = done,
                                      .total = own->total,
                                      .seconds = now,
                                      .columns = columns_of(own)};
    size_t used = husk__progress_line_write(&what, line);
    fputc('\r', own->stream);
    fwrite(line, 1, used, own->stream);
    fputs("\033[K", own->stream);
    fflush(own->stream);
}

void husk_progress_release(husk_progress *progress)
{
    if (!progress)
        return;
    if (progress->params.stream && progress->shown >= 0) {
        fputc('\n', progress->params.stream);
        fflush(progress->params.stream);
    }
    free(progress->label);
    free(progress);
}
