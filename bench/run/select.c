// SPDX-License-Identifier: MIT
// What the command line selects: cases and devices.
#include "run/select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/list.h"
#include "cases/ops.h"
#include "cases/parse.h"
#include "cases/suites.h"
#include "common/text.h"
#include "system/terminal.h"

// Positional words: a word without '=' begins a case.
static bool cases_of_words(const char *words, bench_suite *suite, char reason[BENCH_REASON_TEXT])
{
    char copy[sizeof((bench_options *)0)->cases], line[sizeof copy] = "", *position = NULL;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok_r(copy, " \t\n", &position);; word = strtok_r(NULL, " \t\n", &position)) {
        bool begins = !word || !strchr(word, '=');
        if (begins && line[0]) {
            if (!bench_case_list_add(line, suite, 1, reason))
                return false;
            line[0] = '\0';
        }
        if (!word)
            return true;
        bench_append(line, sizeof line, "%s%s", line[0] ? " " : "", word);
    }
}

// A case names one measurement: what comes again is counted, as if the suite had said "* 2". (Those that are
// named twice are merged when they are read.)
static void merge_duplicates(bench_suite *suite)
{
    size_t kept = 0;
    for (size_t i = 0; i < suite->count; i++) {
        size_t first = 0;
        while (first < kept && strcmp(suite->entries[first].c.canonical, suite->entries[i].c.canonical) != 0)
            first++;
        if (first < kept)
            suite->entries[first].count += suite->entries[i].count;
        else
            suite->entries[kept++] = suite->entries[i];
    }
    suite->count = kept;
}

// The same cases with another dtype.
static bool change_dtype(bench_suite *suite, const char *dtype, char reason[BENCH_REASON_TEXT])
{
    for (size_t i = 0; i < suite->count; i++) {
        char line[2 * BENCH_CASE_TEXT], *given;
        snprintf(line, sizeof line, "%s", suite->entries[i].c.canonical);
        if ((given = strstr(line, " dtype="))) {
            size_t length = 1 + strcspn(given + 1, " ");
            memmove(given, given + length, strlen(given + length) + 1);
        }
        bench_append(line, sizeof line, " dtype=%s", dtype);
        if (!bench_case_parse(line, &suite->entries[i].c, reason))
            return false;
    }
    merge_duplicates(suite);
    return true;
}

// Cases of these operators alone: each of them has to have one.
static bool keep_operators(bench_suite *suite, const char *words, char reason[BENCH_REASON_TEXT])
{
    char copy[sizeof((bench_options *)0)->cases], *position = NULL;
    bool *kept = calloc(suite->count + 1, sizeof *kept);
    bool good = kept != NULL || bench_explain(reason, BENCH_REASON_TEXT, "memory is short");
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok_r(copy, " ", &position); good && word; word = strtok_r(NULL, " ", &position)) {
        size_t found = 0;
        for (size_t i = 0; i < suite->count; i++) {
            const bool is_it = !strcmp(bench_op_text(suite->entries[i].c.op), word);
            kept[i] = kept[i] || is_it;
            found += is_it;
        }
        good = found || bench_explain(reason, BENCH_REASON_TEXT, "'%.100s': no case of %s is of such an operator", word,
                                      suite->name[0] ? suite->name : "the file");
    }
    size_t count = 0;
    for (size_t i = 0; good && i < suite->count; i++)
        if (kept[i])
            suite->entries[count++] = suite->entries[i];
    if (good)
        suite->count = count;
    free(kept);
    return good;
}

bool bench_select_cases(const bench_options *options, const char *fallback, bench_suite *suite,
                        char reason[BENCH_REASON_TEXT])
{
    bool good = false;
    memset(suite, 0, sizeof *suite);
    const bool is_filtered = options->cases[0] && (options->suite || options->file);
    if (options->cases[0] && !is_filtered)
        good = cases_of_words(options->cases, suite, reason);
    else if (options->file)
        good = bench_suite_load_file(options->file, suite, reason);
    else if (options->suite && bench_suite_is_path(options->suite))
        good = bench_suite_load_file(options->suite, suite, reason);
    else
        good = bench_suite_load(options->suite ? options->suite : fallback, suite, reason);
    if (good && is_filtered)
        good = keep_operators(suite, options->cases, reason);
    if (good && options->dtype)
        good = change_dtype(suite, options->dtype, reason);
    if (good && suite->count == 0)
        good = bench_explain(reason, BENCH_REASON_TEXT, "there is no case in it");
    if (!good)
        bench_suite_free(suite);
    return good;
}

static bool has_configuration(const char *op, const char *variant, const char *wanted)
{
    const char *configuration;
    for (size_t i = 0; (configuration = husk_op_configuration(op, variant, i)); i++) {
        if (!strcmp(configuration, wanted))
            return true;
    }
    return false;
}

bool bench_check_variant(const char *variant, const bench_suite *suite, char reason[BENCH_REASON_TEXT])
{
    enum { MOST = 64 };
    const char *names[MOST], *name;
    size_t count = 0;
    bool is_known = false;
    if (!variant || !strcmp(variant, "all"))
        return true;
    const char *configuration = strchr(variant, ':');
    const size_t length = strcspn(variant, ":");
    for (size_t i = 0; i < suite->count; i++) {
        const char *op = bench_op_row(&suite->entries[i].c);
        for (size_t v = 0; (name = husk_op_variant(op, v)); v++) {
            const bool is_it = strlen(name) == length && !strncmp(name, variant, length);
            if (is_it && (!configuration || has_configuration(op, name, configuration + 1)))
                return true;
            is_known = is_known || is_it;
            size_t n = 0;
            while (n < count && names[n] != name)
                n++;
            if (n == count && count < MOST)
                names[count++] = name;
        }
    }
    if (is_known)
        return bench_explain(reason, BENCH_REASON_TEXT, "variant %.*s of these cases has no configuration '%s'",
                             (int)length, variant, configuration + 1);
    name = bench_nearest(variant, names, count);
    return bench_explain(reason, BENCH_REASON_TEXT,
                         "no operator of these cases has a variant '%s'; the nearest is '%s'", variant,
                         name ? name : "none");
}

static bool is_of_class(const json_t *traits, husk_device_class class)
{
    const char *text = json_string_value(json_object_get(traits, "class"));
    return text && !strcmp(text, husk_device_class_text(class));
}

static bool is_simulator(const json_t *traits)
{
    return is_of_class(traits, HUSK_DEVICE_SIMULATOR);
}

// As the library ranks them (husk_device_list_select); -1: it cannot be opened.
static int rank(const json_t *traits)
{
    static const husk_device_class classes[] = {HUSK_DEVICE_SIMULATOR, HUSK_DEVICE_CPU, HUSK_DEVICE_ACCELERATOR,
                                                HUSK_DEVICE_GPU_INTEGRATED, HUSK_DEVICE_GPU_DISCRETE};
    const int count = (int)(sizeof classes / sizeof *classes);
    for (int i = 0; i < count && json_is_true(json_object_get(traits, "is_available")); i++) {
        if (is_of_class(traits, classes[i]))
            return i;
    }
    return -1;
}

// The default device of a platform; 0 where none is to be had: opening that says what there is.
static json_int_t default_of_platform(int64_t number, double seconds)
{
    char reason[BENCH_REASON_TEXT];
    json_t *reply = NULL;
    json_int_t device = 0;
    int best = -1;
    bench_list_devices(NULL, seconds, &reply, reason);
    const json_t *devices = json_object_get(reply, "devices");
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *traits = json_object_get(json_array_get(devices, i), "traits");
        if (json_integer_value(json_object_get(traits, "platform_index")) != number || rank(traits) <= best)
            continue;
        best = rank(traits);
        device = json_integer_value(json_object_get(traits, "device_index"));
    }
    json_decref(reply);
    return device;
}

const char *bench_device_preference(const bench_options *options, size_t index, char buffer[64])
{
    int64_t number = 0;
    if (index < options->device_count)
        return options->devices[index];
    if (!options->platform)
        return NULL;
    if (!bench_parse_integer(options->platform, &number))
        return options->platform;
    snprintf(buffer, 64, "%lld:%lld", (long long)number, (long long)default_of_platform(number, options->max_time));
    return buffer;
}

bench_reply bench_list_devices(const char *preference, double seconds, json_t **reply, char reason[BENCH_REASON_TEXT])
{
    bench_process process;
    const char *arguments[] = {"clbench", BENCH_PROBE_ARGUMENT, "devices", preference ? preference : "", NULL};
    *reply = NULL;
    if (!bench_process_start(&process, arguments, NULL, reason))
        return BENCH_REPLY_DIED;
    snprintf(process.who, sizeof process.who, "a driver");
    const bench_reply status = bench_process_receive(&process, seconds, reply, reason);
    bench_process_stop(&process);
    return status;
}

bool bench_is_usual_device(const json_t *device)
{
    const json_t *traits = json_object_get(device, "traits");
    return !is_simulator(traits) && json_is_true(json_object_get(traits, "is_available"));
}

void bench_expand_devices(bench_options *options)
{
    char reason[BENCH_REASON_TEXT];
    json_t *reply = NULL;
    if (options->device_count != 1 || strcmp(options->devices[0], "all") != 0)
        return;
    bench_list_devices(NULL, options->max_time, &reply, reason);
    const json_t *devices = json_object_get(reply, "devices");
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *traits = json_object_get(json_array_get(devices, i), "traits");
        if (!bench_is_usual_device(json_array_get(devices, i)))
            continue;
        if (count == BENCH_MAX_DEVICES) {
            fprintf(stderr, "clbench: only the first %d devices are taken; name others with -d\n", BENCH_MAX_DEVICES);
            break;
        }
        snprintf(options->device_texts[count], sizeof *options->device_texts, "%lld:%lld",
                 (long long)json_integer_value(json_object_get(traits, "platform_index")),
                 (long long)json_integer_value(json_object_get(traits, "device_index")));
        options->devices[count] = options->device_texts[count];
        count++;
    }
    options->device_count = count; // none: the default, and what opening that says
    json_decref(reply);
}

static void print_devices(const json_t *devices)
{
    if (json_array_size(devices))
        fprintf(stderr, "The devices that are here:\n");
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *device = json_array_get(devices, i), *traits = json_object_get(device, "traits");
        fprintf(stderr, "  %lld:%lld  %s (%s, %s)\n",
                (long long)json_integer_value(json_object_get(traits, "platform_index")),
                (long long)json_integer_value(json_object_get(traits, "device_index")),
                json_string_value(json_object_get(device, "name")),
                json_string_value(json_object_get(device, "platform")),
                json_string_value(json_object_get(traits, "class")));
    }
}

void bench_print_notes(const json_t *notes)
{
    for (size_t i = 0; i < json_array_size(notes); i++) {
        const json_t *note = json_array_get(notes, i);
        const char *kind = json_string_value(json_object_get(note, "kind"));
        const char *text = json_string_value(json_object_get(note, "text"));
        if (kind && text && !strcmp(kind, "missing_gpu")) {
            bench_print(2, "warning: %s (clbench doctor says more)\n", text);
            fflush(stdout);
        }
    }
    for (size_t i = 0; i < json_array_size(notes); i++) {
        const json_t *note = json_array_get(notes, i);
        const char *kind = json_string_value(json_object_get(note, "kind"));
        const char *text = json_string_value(json_object_get(note, "text"));
        if (kind && text && !strcmp(kind, "warning"))
            fprintf(stderr, "warning: %s\n", text);
    }
}

int bench_open_husk(bench_runner_process *husk, const char *preference, const char *const *environment, double seconds)
{
    bench_runner_process_start(husk, "husk", preference, 1, environment);
    bool opened = bench_runner_process_await(husk, seconds);
    const char *status = json_string_value(json_object_get(husk->hello, "status"));
    bench_print_notes(json_object_get(husk->hello, "notes"));
    if (opened)
        return BENCH_EXIT_OK;
    const char *text = strstr(husk->why, ": "); // behind the status' name
    fprintf(stderr, "clbench: %s\n", status && text ? text + 2 : husk->why);
    bool no_platform = status && !strcmp(status, "HUSK_NO_PLATFORM");
    bool no_device = status && !strcmp(status, "HUSK_NO_DEVICE");
    // The library's text lists the devices; the list here is for a driver that fails later.
    if (!no_platform && !no_device)
        print_devices(json_object_get(husk->hello, "devices"));
    if (no_platform || no_device)
        fprintf(stderr, "clbench doctor looks for what is missing.\n");
    return no_platform || no_device ? BENCH_EXIT_NO_DEVICE : BENCH_EXIT_ERROR;
}
