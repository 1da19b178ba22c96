// SPDX-License-Identifier: MIT
#include "run/baseline_choice.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/text.h"
#include "run/runners.h"

// The reference is no rival, and CLBlast compiles longer than --quick lasts.
static bool is_usual(const bench_options *options, const char *name)
{
    return strcmp(name, "ref") != 0 && !(options->quick && !strcmp(name, "clblast"));
}

static bool has_element(const char *list, const char *name)
{
    for (const char *at = list; *at;) {
        const size_t length = strcspn(at, ",");
        if (strlen(name) == length && !strncmp(at, name, length))
            return true;
        at += length + (at[length] == ',');
    }
    return false;
}

static bool is_built_in(const char *name)
{
    for (size_t i = 1; bench_runner_get(i); i++)
        if (!strcmp(bench_runner_get(i)->name, name))
            return true;
    return false;
}

static bool is_chosen(const bench_baselines *chosen, const char *name)
{
    for (size_t i = 0; i < chosen->count; i++)
        if (!strcmp(chosen->all[i].name, name))
            return true;
    return false;
}

static bool add(bench_baselines *chosen, const char *name, const char *runner, const char *program,
                char reason[BENCH_REASON_TEXT])
{
    if (is_chosen(chosen, name))
        return !*program || bench_explain(reason, BENCH_REASON_TEXT, "two baselines are called '%s'", name);
    if (chosen->count == BENCH_MAX_BASELINES)
        return bench_explain(reason, BENCH_REASON_TEXT, "more than %d baselines", BENCH_MAX_BASELINES);
    bench_baseline *baseline = &chosen->all[chosen->count++];
    snprintf(baseline->name, sizeof baseline->name, "%s", name);
    snprintf(baseline->runner, sizeof baseline->runner, "%s", runner);
    snprintf(baseline->program, sizeof baseline->program, "%s", program);
    return true;
}

static bool unknown(const char *name, char reason[BENCH_REASON_TEXT])
{
    const char *known[16] = {"all", "none", "new"};
    size_t count = 3;
    for (size_t i = 1; bench_runner_get(i) && count < sizeof known / sizeof *known; i++)
        known[count++] = bench_runner_get(i)->name;
    return bench_explain(reason, BENCH_REASON_TEXT, "unknown or not built in: baseline '%s'; the nearest is '%s'", name,
                         bench_nearest(name, known, count));
}

static bool can_be_started(const char *name, const char *program, const char *advice, char reason[BENCH_REASON_TEXT])
{
    if (access(program, X_OK) == 0)
        return true;
    return bench_explain(reason, BENCH_REASON_TEXT, "baseline '%s': %s: %s%s", name, program, strerror(errno), advice);
}

static bool is_label(const char *text, size_t length)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    return length > 0 && length < sizeof((bench_baseline *)0)->name && strspn(text, letters) == length;
}

// NAME=PROGRAM:RUNNER, of which `equals` is the first "=".
static bool add_other(bench_baselines *chosen, char *element, char *equals, char reason[BENCH_REASON_TEXT])
{
    char *program = equals + 1, *colon = strrchr(program, ':');
    *equals = '\0';
    if (!is_label(element, strlen(element)))
        return bench_explain(reason, BENCH_REASON_TEXT,
                             "baseline '%s=...': a name has up to 31 letters, digits, '_', '-' and '.'", element);
    if (is_built_in(element))
        return bench_explain(reason, BENCH_REASON_TEXT,
                             "baseline '%s=...': '%s' is built in; give the other one another name", element, element);
    if (!colon || !is_label(colon + 1, strlen(colon + 1)) || colon == program)
        return bench_explain(
            reason, BENCH_REASON_TEXT,
            "baseline '%s=%s': what follows is PROGRAM:RUNNER, another clbench and one of its baselines "
            "or 'husk'",
            element, program);
    *colon = '\0';
    char path[sizeof chosen->all[0].program]; // with a "/": one without is this program's own name (system/child.h)
    const int length = snprintf(path, sizeof path, "%s%s", strchr(program, '/') ? "" : "./", program);
    if (length >= (int)sizeof path)
        return bench_explain(reason, BENCH_REASON_TEXT, "baseline '%s': the program's path is too long", element);
    return can_be_started(element, path, "", reason) && add(chosen, element, colon + 1, path, reason);
}

// What `./run rivals` makes, beside the folder that this program was built in.
static bool add_new(bench_baselines *chosen, char reason[BENCH_REASON_TEXT])
{
    char path[sizeof chosen->all[0].program] = "";
    const char *given = getenv("HUSK_RIVALS");
    if (given) {
        snprintf(path, sizeof path, "%s%s", strchr(given, '/') ? "" : "./", given);
    } else {
        char own[sizeof path - 32];
        const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
        own[length > 0 ? length : 0] = '\0';
        char *slash = strrchr(own, '/');
        if (slash)
            *slash = '\0';
        snprintf(path, sizeof path, "%s/../rivals/clbench", own);
    }
    return can_be_started("new", path, "; `./run rivals` makes it, and HUSK_RIVALS names it elsewhere", reason) &&
           add(chosen, "onednn_new", "onednn", path, reason) && add(chosen, "blas_new", "blas", path, reason);
}

static bool add_element(bench_baselines *chosen, char *element, char reason[BENCH_REASON_TEXT])
{
    char *equals = strchr(element, '=');
    if (equals)
        return add_other(chosen, element, equals, reason);
    if (!strcmp(element, "new"))
        return add_new(chosen, reason);
    return !strcmp(element, "all") || !strcmp(element, "none") || is_built_in(element) || unknown(element, reason);
}

// Those that are built in stand first, in their own order.
static bool add_built_in(const bench_options *options, bench_baselines *chosen, char reason[BENCH_REASON_TEXT])
{
    const char *list = options->baselines;
    for (size_t i = 1; bench_runner_get(i); i++) {
        const char *name = bench_runner_get(i)->name;
        const bool is_wanted = list ? has_element(list, name) || has_element(list, "all") : is_usual(options, name);
        if (is_wanted && !add(chosen, name, name, "", reason))
            return false;
    }
    return true;
}

bool bench_baselines_choose(const bench_options *options, bench_baselines *chosen, char reason[BENCH_REASON_TEXT])
{
    chosen->count = 0;
    bool is_right = add_built_in(options, chosen, reason);
    char *list = bench_copy_text(options->baselines ? options->baselines : ""), *rest = NULL;
    is_right = is_right && (list || bench_explain(reason, BENCH_REASON_TEXT, "out of memory"));
    char *element = is_right ? strtok_r(list, ",", &rest) : NULL;
    for (; is_right && element; element = strtok_r(NULL, ",", &rest))
        is_right = add_element(chosen, element, reason);
    free(list);
    return is_right;
}
