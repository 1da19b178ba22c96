// SPDX-License-Identifier: MIT
#include "record/resume.h"

#include <stdio.h>
#include <string.h>

#include "cases/parse.h"
#include "common/json.h"
#include "common/text.h"
#include "measure/same_device.h"
#include "system/environment.h"
#include "system/host.h"
#include "record/result_file.h"

// The options that decide what is measured and how, by their names in the document.
typedef struct member {
    const char *name;
    size_t offset;
} member;

#define AT(name)                             \
    {                                        \
#name, offsetof(bench_options, name) \
    }
static const member texts[] = {AT(baselines), AT(variant), AT(platform)};
static const member numbers[] = {AT(rounds), AT(warmup), AT(seed)};
static const member seconds[] = {AT(max_time), AT(compile_time), AT(budget)};
static const member flags[] = {AT(quick), AT(cold), AT(compile), AT(startup), AT(no_startup)};

#define COUNT(list)                  (sizeof(list) / sizeof *(list))
#define MEMBER(type, options, entry) (*(type *)((char *)(uintptr_t)(options) + (entry).offset))

static json_t *text_or_null(const char *text)
{
    json_t *value = text ? json_string(text) : NULL;
    return value ? value : json_null();
}

json_t *bench_resume_describe(const bench_options *o, const bench_suite *suite)
{
    json_t *run = json_object(), *devices = json_array(), *cases = json_array();
    json_object_set_new(run, "command", json_string(o->command == BENCH_COMMAND_STANDARD ? "" : "run"));
    json_object_set_new(run, "suite", text_or_null(suite->name));
    json_object_set_new(run, "title", text_or_null(suite->title));
    json_object_set_new(run, "is_list", json_boolean(o->cases[0] != '\0'));
    for (size_t i = 0; i < o->device_count; i++)
        json_array_append_new(devices, text_or_null(o->devices[i]));
    json_object_set_new(run, "devices", devices);
    for (size_t i = 0; i < COUNT(texts); i++)
        json_object_set_new(run, texts[i].name, text_or_null(MEMBER(const char *, o, texts[i])));
    for (size_t i = 0; i < COUNT(numbers); i++)
        json_object_set_new(run, numbers[i].name, json_integer((json_int_t)MEMBER(int64_t, o, numbers[i])));
    for (size_t i = 0; i < COUNT(seconds); i++)
        json_object_set_new(run, seconds[i].name, json_real(MEMBER(double, o, seconds[i])));
    for (size_t i = 0; i < COUNT(flags); i++)
        json_object_set_new(run, flags[i].name, json_boolean(MEMBER(bool, o, flags[i])));
    for (size_t i = 0; i < suite->count; i++)
        json_array_append_new(cases, json_pack("[s, I]", bench_suite_entry_text(&suite->entries[i]),
                                               (json_int_t)suite->entries[i].count));
    json_object_set_new(run, "cases", cases);
    json_t *kernels = json_array();
    for (size_t i = 0; i < o->kernel_count; i++)
        json_array_append_new(kernels, text_or_null(o->kernels[i]));
    json_object_set_new(run, "kernels", kernels);
    json_object_set_new(run, "words", text_or_null(o->kernel_count ? o->cases : NULL));
    json_object_set_new(run, "environment", bench_environment_json());
    return run;
}

// Kernels of the user's own are made of their files anew.
static bool take_suite(const json_t *run, bench_suite *suite, char reason[BENCH_REASON_TEXT])
{
    if (json_array_size(json_object_get(run, "kernels")))
        return true;
    const json_t *cases = json_object_get(run, "cases");
    const char *name = json_string_value(json_object_get(run, "suite"));
    const char *title = json_string_value(json_object_get(run, "title"));
    snprintf(suite->name, sizeof suite->name, "%s", name ? name : "");
    snprintf(suite->title, sizeof suite->title, "%s", title ? title : "");
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *entry = json_array_get(cases, i);
        const char *line = json_string_value(json_array_get(entry, 0));
        const json_int_t count = json_integer_value(json_array_get(entry, 1));
        bench_case c;
        if (!line || !bench_case_parse(line, &c, reason))
            return line ? false : bench_explain(reason, BENCH_REASON_TEXT, "a case of it is no text");
        if (count < 1)
            return bench_explain(reason, BENCH_REASON_TEXT, "a case of it does not say how often it occurs");
        if (!bench_suite_add(suite, &c, count))
            return bench_explain(reason, BENCH_REASON_TEXT, "host memory does not suffice");
    }
    return suite->count > 0 || bench_explain(reason, BENCH_REASON_TEXT, "it does not say what was to be measured");
}

// A file that does not say is of a clbench that did not look: its kernels may be others, too.
static bool has_same_environment(const json_t *run, char reason[BENCH_REASON_TEXT])
{
    char why[BENCH_REASON_TEXT];
    const json_t *before = json_object_get(run, "environment");
    if (!json_is_object(before))
        return bench_explain(reason, BENCH_REASON_TEXT, "it does not say which variables were set");
    return bench_environment_is_same(before, why) ||
           bench_explain(reason, BENCH_REASON_TEXT, "its rows cannot stand beside new ones: %.900s", why);
}

static void take_options(const json_t *run, bench_options *o)
{
    const char *command = json_string_value(json_object_get(run, "command"));
    const json_t *devices = json_object_get(run, "devices");
    o->command = command && !*command ? BENCH_COMMAND_STANDARD : BENCH_COMMAND_RUN;
    for (size_t i = 0; i < COUNT(texts); i++)
        MEMBER(const char *, o, texts[i]) = json_string_value(json_object_get(run, texts[i].name));
    for (size_t i = 0; i < COUNT(numbers); i++)
        MEMBER(int64_t, o, numbers[i]) = json_integer_value(json_object_get(run, numbers[i].name));
    for (size_t i = 0; i < COUNT(seconds); i++)
        MEMBER(double, o, seconds[i]) = json_number_value(json_object_get(run, seconds[i].name));
    for (size_t i = 0; i < COUNT(flags); i++)
        MEMBER(bool, o, flags[i]) = json_is_true(json_object_get(run, flags[i].name));
    o->rounds = o->rounds < 1 ? 1 : o->rounds;
    o->device_count = 0;
    for (size_t i = 0; i < json_array_size(devices) && i < BENCH_MAX_DEVICES; i++) {
        const char *device = json_string_value(json_array_get(devices, i));
        if (device)
            o->devices[o->device_count++] = device;
    }
    const json_t *kernels = json_object_get(run, "kernels");
    for (size_t i = 0; i < json_array_size(kernels) && i < BENCH_MAX_KERNELS; i++) {
        const char *path = json_string_value(json_array_get(kernels, i));
        if (path)
            o->kernels[o->kernel_count++] = path;
    }
    if (o->kernel_count)
        snprintf(o->cases, sizeof o->cases, "%s", bench_text_of(run, "words"));
    else if (json_is_true(json_object_get(run, "is_list")))
        snprintf(o->cases, sizeof o->cases, "(the cases of %.1000s)", o->resume_path);
}

bool bench_resume_take(const json_t *root, bench_options *options, bench_suite *suite, char reason[BENCH_REASON_TEXT])
{
    char why[BENCH_REASON_TEXT];
    memset(suite, 0, sizeof *suite);
    const char *path = options->resume_path;
    const char *version = json_string_value(json_object_get(root, "husk_version"));
    const json_t *run = json_object_get(root, "run");
    bool good = version && !strcmp(version, husk_version());
    if (!good)
        bench_explain(reason, BENCH_REASON_TEXT,
                      "%.300s cannot be resumed: it was measured by Husk %.50s, and this is %s", path,
                      version ? version : "of no version", husk_version());
    else if (!json_is_object(run))
        good = bench_explain(reason, BENCH_REASON_TEXT, "%.300s cannot be resumed: it does not say what was asked for",
                             path);
    else if (!has_same_environment(run, why) || !take_suite(run, suite, why))
        good = bench_explain(reason, BENCH_REASON_TEXT, "%.300s cannot be resumed: %.500s", path, why);
    if (good)
        take_options(run, options);
    else
        bench_suite_free(suite);
    return good;
}

bool bench_resume_load(bench_options *options, bench_suite *suite, json_t **document, char reason[BENCH_REASON_TEXT])
{
    char why[BENCH_REASON_TEXT];
    *document = bench_result_read(options->resume_path, why);
    if (!*document)
        return bench_explain(reason, BENCH_REASON_TEXT, "cannot be resumed: %.900s", why);
    if (bench_resume_take(*document, options, suite, reason))
        return true;
    json_decref(*document);
    *document = NULL;
    return false;
}

static bool has_baselines(const json_t *document, size_t index)
{
    const json_t *rows = json_object_get(document, "results");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if ((size_t)json_integer_value(json_object_get(row, "device")) == index &&
            json_array_size(json_object_get(row, "baselines")))
            return true;
    }
    return false;
}

static bool is_same_host(const json_t *document, char reason[BENCH_REASON_TEXT])
{
    const json_t *before = json_object_get(document, "host");
    json_t *host = bench_host_json();
    const char *then = bench_text_of(before, "cpu"), *here = bench_text_of(host, "cpu");
    const json_t *cores_then = json_object_get(before, "cores"), *cores_here = json_object_get(host, "cores");
    bool good = true;
    if (*then && *here && strcmp(then, here))
        good = bench_explain(reason, BENCH_REASON_TEXT,
                             "its rows cannot stand beside new ones: the host's CPU was %.200s, and is %.200s", then,
                             here);
    else if (json_is_integer(cores_then) && !json_equal(cores_then, cores_here))
        good = bench_explain(
            reason, BENCH_REASON_TEXT,
            "its rows cannot stand beside new ones: the cores that clbench may use were %lld, and are %lld",
            (long long)json_integer_value(cores_then), (long long)json_integer_value(cores_here));
    json_decref(host);
    return good;
}

bool bench_resume_same_device(const json_t *document, size_t index, const json_t *device,
                              char reason[BENCH_REASON_TEXT])
{
    char why[BENCH_REASON_TEXT];
    if (!bench_same_device(json_array_get(json_object_get(document, "devices"), index), device, why))
        return bench_explain(reason, BENCH_REASON_TEXT, "its rows cannot stand beside new ones: %.900s", why);
    // Baselines run on the host, whatever the device is.
    const bool is_cpu = json_is_true(json_object_get(json_object_get(device, "traits"), "is_cpu"));
    return (!is_cpu && !has_baselines(document, index)) || is_same_host(document, reason);
}

bool bench_resume_same_kernels(const json_t *document, size_t index, const char *kernels,
                               char reason[BENCH_REASON_TEXT])
{
    const json_t *before = json_array_get(json_object_get(document, "devices"), index);
    return !before || !strcmp(bench_text_of(before, "kernels"), kernels) ||
           bench_explain(
               reason, BENCH_REASON_TEXT,
               "its rows cannot stand beside new ones: kernels, or the menus of their configurations, are not "
               "those that they were measured with");
}

bool bench_resume_same_baseline(const json_t *document, size_t index, const char *name, const char *version,
                                char reason[BENCH_REASON_TEXT])
{
    const json_t *rows = json_object_get(document, "results");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i), *all = json_object_get(row, "baselines");
        if ((size_t)json_integer_value(json_object_get(row, "device")) != index)
            continue;
        for (size_t k = 0; k < json_array_size(all); k++) {
            const json_t *baseline = json_array_get(all, k);
            const char *then = bench_text_of(baseline, "version");
            if (!strcmp(bench_text_of(baseline, "name"), name) && *then && strcmp(then, version))
                return bench_explain(reason, BENCH_REASON_TEXT,
                                     "its rows cannot stand beside new ones: baseline %.40s was %.200s, and is %.200s",
                                     name, then, version);
        }
    }
    return true;
}

double bench_resume_clock(const json_t *rows)
{
    const double gap = 1000; // more than compare takes readings from
    double last = -gap;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *sentinels = json_object_get(json_array_get(rows, i), "sentinels");
        for (size_t k = 0; k < json_array_size(sentinels); k++) {
            const double at = json_number_value(json_object_get(json_array_get(sentinels, k), "at_s"));
            last = at > last ? at : last;
        }
    }
    return last + gap;
}

bool bench_resume_is_whole(const json_t *row, int64_t rounds)
{
    const char *state = json_string_value(json_object_get(row, "state"));
    if (!state || !strcmp(state, "error") || !strcmp(state, "timeout"))
        return false;
    return json_integer_value(json_object_get(row, "rounds")) >= rounds;
}
