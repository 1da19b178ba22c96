// SPDX-License-Identifier: MIT
#include "worker/builds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

void bench_builds_begin(bench_builds *builds, bench_building *building, bench_launching *launching)
{
    memset(builds, 0, sizeof *builds);
    builds->building = building;
    builds->launching = launching;
    pthread_mutex_init(&builds->lock, NULL);
}

void bench_builds_end(bench_builds *builds)
{
    for (size_t i = 0; i < builds->count; i++)
        free(builds->under_way[i].line);
    pthread_mutex_destroy(&builds->lock);
}

static const char *behind(const char *line, const char *begin)
{
    return strncmp(line, begin, strlen(begin)) ? NULL : line + strlen(begin);
}

// "PROGRAM (refused where there is MARK)", of which the latter part may be missing. The line is cut.
static char *cut_mark(char *line)
{
    static const char before[] = " (refused where there is ";
    char *at = strstr(line, before);
    const size_t length = strlen(line);
    if (!at || line[length - 1] != ')')
        return NULL;
    line[length - 1] = '\0';
    *at = '\0';
    return at + strlen(before);
}

// Of several which are built at once, by several threads, none is known to be the one that crashes: none is marked.
static void tell(const bench_builds *builds)
{
    char *line = builds->count ? bench_copy_text(builds->under_way[builds->count - 1].line) : NULL;
    char *mark = line ? cut_mark(line) : NULL, several[1024];
    if (line && builds->count > 1) {
        snprintf(several, sizeof several, "one of %zu programs at once, the last of them %s", builds->count, line);
        builds->building(several, NULL);
    } else {
        builds->building(line, mark);
    }
    free(line);
}

static void forget(bench_builds *builds, pthread_t thread)
{
    for (size_t i = 0; i < builds->count; i++) {
        if (!pthread_equal(builds->under_way[i].thread, thread))
            continue;
        free(builds->under_way[i].line);
        builds->under_way[i] = builds->under_way[--builds->count];
        return;
    }
}

static void note_launch(bench_builds *builds, const char *kernel)
{
    pthread_mutex_lock(&builds->lock); // one tells at a time
    builds->launching(kernel);
    pthread_mutex_unlock(&builds->lock);
}

void bench_builds_note(bench_builds *builds, const char *line)
{
    const char *begun = behind(line, "building "), *kernel = behind(line, "first launch of ");
    if (kernel && builds->launching)
        note_launch(builds, kernel);
    if (!builds->building || (!begun && !behind(line, "built ") && !behind(line, "not built: ")))
        return;
    pthread_mutex_lock(&builds->lock);
    const size_t before = builds->count;
    forget(builds, pthread_self());
    char *copy = begun && builds->count < BENCH_MOST_BUILDS ? bench_copy_text(begun) : NULL;
    if (copy) {
        builds->under_way[builds->count].thread = pthread_self();
        builds->under_way[builds->count++].line = copy;
    }
    if (begun || builds->count != before)
        tell(builds);
    pthread_mutex_unlock(&builds->lock);
}
