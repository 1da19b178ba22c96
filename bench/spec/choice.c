// SPDX-License-Identifier: MIT
#include "spec/choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/point.h"
#include "spec/read.h"

enum { MOST_CONFIGS = 100000 };

bool bench_kernel_choice_parse(const char *words, bench_kernel_choice *choice, char reason[BENCH_REASON_TEXT])
{
    memset(choice, 0, sizeof *choice);
    for (const char *at = words; *at;) {
        const size_t length = strcspn(at, " ");
        char word[2 * BENCH_NAME_TEXT];
        if (length >= sizeof word)
            return bench_explain(reason, BENCH_REASON_TEXT, "%.40s...: a kernel or NAME=VALUE is wanted", at);
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        at += length + strspn(at + length, " ");
        char *equals = strchr(word, '=');
        if (choice->name_count == BENCH_MOST_CHOICES || choice->value_count == BENCH_MOST_CHOICES)
            return bench_explain(reason, BENCH_REASON_TEXT, "too many words");
        if (equals)
            *equals = '\0';
        if (strlen(word) >= BENCH_NAME_TEXT)
            return bench_explain(reason, BENCH_REASON_TEXT, "%.40s...: a name has at most %d characters", word,
                                 BENCH_NAME_TEXT - 1);
        if (!equals) {
            snprintf(choice->names[choice->name_count++], BENCH_NAME_TEXT, "%.63s", word);
            continue;
        }
        snprintf(choice->values[choice->value_count].name, BENCH_NAME_TEXT, "%.63s", word);
        if (!bench_parse_integer(equals + 1, &choice->values[choice->value_count].value))
            return bench_explain(reason, BENCH_REASON_TEXT, "%s=%.40s: a whole number is wanted", word, equals + 1);
        choice->value_count++;
    }
    return true;
}

static const char *symbol_name(const bench_spec *spec, int symbol)
{
    return spec->symbols.items[symbol].name;
}

static bool has_number(const bench_spec *spec, const char *name)
{
    for (int i = 0; i < spec->config_count; i++) {
        if (!strcmp(symbol_name(spec, spec->configs[i].symbol), name))
            return true;
    }
    for (int i = 0; i < spec->sizes.names; i++) {
        if (!strcmp(symbol_name(spec, spec->sizes.symbols[i]), name))
            return true;
    }
    return false;
}

// Whether a name, of a kernel or of a number, is somewhere.
static bool is_known(const bench_description *descriptions, size_t count, const char *name, bool is_kernel)
{
    for (size_t d = 0; d < count; d++) {
        for (int i = 0; i < descriptions[d].count; i++) {
            const bench_spec *spec = descriptions[d].specs[i];
            if (is_kernel ? !strcmp(spec->name, name) : has_number(spec, name))
                return true;
        }
    }
    return false;
}

const char *bench_kernel_choice_unknown(const bench_kernel_choice *choice, const bench_description *descriptions,
                                        size_t count)
{
    for (int i = 0; i < choice->name_count; i++) {
        if (!is_known(descriptions, count, choice->names[i], true))
            return choice->names[i];
    }
    for (int i = 0; i < choice->value_count; i++) {
        if (!is_known(descriptions, count, choice->values[i].name, false))
            return choice->values[i].name;
    }
    return NULL;
}

bool bench_kernel_choice_read(const char *const *paths, size_t count, const char *words,
                              bench_description *descriptions, bench_kernel_choice *choice,
                              char reason[BENCH_REASON_TEXT])
{
    for (size_t i = 0; i < count; i++) {
        if (!bench_description_read(paths[i], &descriptions[i], reason))
            return false;
    }
    if (!bench_kernel_choice_parse(words, choice, reason))
        return false;
    const char *unknown = bench_kernel_choice_unknown(choice, descriptions, count);
    return !unknown ||
           bench_explain(reason, BENCH_REASON_TEXT, "%s is no kernel, parameter or size of these files", unknown);
}

bool bench_kernel_choice_has(const bench_kernel_choice *choice, const bench_spec *spec)
{
    for (int i = 0; i < choice->name_count; i++) {
        if (!strcmp(choice->names[i], spec->name))
            return true;
    }
    return choice->name_count == 0;
}

static void choose(const bench_kernel_choice *choice, const char *name, int64_t *value)
{
    for (int i = 0; i < choice->value_count; i++) {
        if (!strcmp(choice->values[i].name, name))
            *value = choice->values[i].value;
    }
}

// Adds a point unless it is there already. Only a choice makes points the same, and then they are few.
static void add(bench_kernel_points *points, const int64_t *point, bool may_repeat)
{
    const size_t bytes = (size_t)points->width * sizeof *point;
    for (int64_t i = 0; i < points->count && may_repeat; i++) {
        if (!memcmp(points->values + i * points->width, point, bytes))
            return;
    }
    if (bytes)
        memcpy(points->values + points->count * points->width, point, bytes);
    points->count++;
}

static bool begin(bench_kernel_points *points, int64_t most, int width)
{
    *points = (bench_kernel_points){.width = width};
    points->values = malloc((size_t)most * (size_t)(width ? width : 1) * sizeof *points->values);
    return points->values != NULL;
}

// What is left of a parameter's list: a choice takes its place.
static bool chosen_value(const bench_kernel_choice *choice, const bench_spec *spec, int config, int64_t *value)
{
    const char *name = symbol_name(spec, spec->configs[config].symbol);
    bool is_chosen = false;
    for (int i = 0; i < choice->value_count; i++)
        is_chosen = is_chosen || !strcmp(choice->values[i].name, name);
    choose(choice, name, value);
    return is_chosen;
}

bool bench_kernel_configs(const bench_kernel_choice *choice, const bench_spec *spec, bench_kernel_points *points,
                          char reason[BENCH_REASON_TEXT])
{
    int64_t chosen[BENCH_MOST_CONFIGS] = {0}, count = 1;
    int lengths[BENCH_MOST_CONFIGS];
    *points = (bench_kernel_points){.values = NULL};
    for (int i = 0; i < spec->config_count; i++) {
        lengths[i] = chosen_value(choice, spec, i, &chosen[i]) ? 0 : spec->configs[i].count;
        count *= lengths[i] ? lengths[i] : 1;
        if (count > MOST_CONFIGS)
            return bench_explain(reason, BENCH_REASON_TEXT,
                                 "%s has more than %d configurations: choose some by NAME=VALUE", spec->name,
                                 MOST_CONFIGS);
    }
    if (!begin(points, count, spec->config_count))
        return bench_explain(reason, BENCH_REASON_TEXT, "memory is short");
    for (int64_t number = 0; number < count; number++) {
        int64_t point[BENCH_MOST_CONFIGS] = {0}, rest = number;
        for (int i = spec->config_count - 1; i >= 0; i--) {
            point[i] = lengths[i] ? spec->configs[i].values[rest % lengths[i]] : chosen[i];
            rest /= lengths[i] ? lengths[i] : 1;
        }
        add(points, point, false);
    }
    return true;
}

bool bench_kernel_sizes(const bench_kernel_choice *choice, const bench_spec *spec, const bench_sizes *sizes,
                        bench_kernel_points *points, char reason[BENCH_REASON_TEXT])
{
    const int count = sizes->names ? sizes->count : 1, names = sizes->names;
    if (!begin(points, count, names))
        return bench_explain(reason, BENCH_REASON_TEXT, "memory is short");
    for (int number = 0; number < count; number++) {
        int64_t point[BENCH_MOST_SIZES] = {0};
        for (int i = 0; i < names; i++) {
            point[i] = sizes->values[number * names + i];
            choose(choice, symbol_name(spec, sizes->symbols[i]), &point[i]);
        }
        add(points, point, choice->value_count > 0);
    }
    return true;
}

void bench_kernel_points_free(bench_kernel_points *points)
{
    free(points->values);
    *points = (bench_kernel_points){.values = NULL};
}
