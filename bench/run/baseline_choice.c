// SPDX-License-Identifier: MIT
#include "run/baseline_choice.h"

#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "run/runners.h"

bool bench_baseline_is_wanted(const bench_options *options, const char *name)
{
    const char *list = options->baselines;
    if (!list) // the reference is no rival, and CLBlast compiles longer than --quick lasts
        return strcmp(name, "ref") && !(options->quick && !strcmp(name, "clblast"));
    if (!strcmp(list, "all"))
        return true;
    for (const char *at = list; *at;) {
        size_t length = strcspn(at, ",");
        if (strlen(name) == length && !strncmp(at, name, length))
            return true;
        at += length + (at[length] == ',');
    }
    return false;
}

bool bench_baselines_check(const bench_options *options, char reason[BENCH_REASON_TEXT])
{
    const char *known[16] = {"all", "none"};
    size_t count = 2;
    for (size_t i = 1; bench_runner_get(i) && count < 16; i++)
        known[count++] = bench_runner_get(i)->name;
    for (const char *at = options->baselines; at && *at;) {
        char name[64];
        size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        bool found = false;
        for (size_t i = 0; i < count; i++)
            found = found || !strcmp(known[i], name);
        if (!found)
            return bench_explain(reason, BENCH_REASON_TEXT,
                                 "unknown or not built in: baseline '%s'; the nearest is '%s'", name,
                                 bench_nearest(name, known, count));
        at += length + (at[length] == ',');
    }
    return true;
}
