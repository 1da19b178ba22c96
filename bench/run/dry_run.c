// SPDX-License-Identifier: MIT
#include "run/dry_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cases/ops.h"
#include "common/json.h"
#include "system/terminal.h"
#include "run/select.h"

size_t bench_variant_count(const bench_case *c)
{
    size_t count = 0;
    while (husk_op_variant(bench_op_row(c), count))
        count++;
    return count;
}

static void print_device(const json_t *device)
{
    const json_t *traits = json_object_get(device, "traits");
    char line[1024];
    snprintf(line, sizeof line, "  %lld:%lld  %.400s (%.100s, %.400s)",
             (long long)json_integer_value(json_object_get(traits, "platform_index")),
             (long long)json_integer_value(json_object_get(traits, "device_index")), bench_text_of(device, "name"),
             bench_text_of(traits, "class"), bench_text_of(device, "platform"));
    bench_clean_line(line);
    bench_print(7, "%s\n", line);
}

// Those that a preference stands for: one, or with "all" every one that is usable. How many.
static size_t print_chosen(const json_t *devices, bool all)
{
    size_t count = 0, i;
    const json_t *device;
    json_array_foreach(devices, i, device)
    {
        if (all ? !bench_is_usual_device(device) : !json_is_true(json_object_get(device, "is_default")))
            continue;
        print_device(device);
        count++;
    }
    return count;
}

static bool is_answered(bench_reply status, const json_t *reply)
{
    return status == BENCH_REPLY_OK && !strcmp(bench_text_of(reply, "answer"), "ok");
}

// What a real run says first: a GPU that is not shown, and what else the library notes.
static void print_notes(const bench_options *options)
{
    char reason[BENCH_REASON_TEXT];
    json_t *reply = NULL;
    const bench_reply status = bench_list_devices(NULL, options->max_time, &reply, reason);
    if (is_answered(status, reply))
        bench_print_notes(json_object_get(reply, "notes"));
    json_decref(reply);
}

// The devices of one preference; the exit code.
static int print_preference(const char *preference, double patience, size_t *count)
{
    const bool all = preference && !strcmp(preference, "all");
    char reason[BENCH_REASON_TEXT] = "";
    json_t *reply = NULL;
    const bench_reply status = bench_list_devices(all ? NULL : preference, patience, &reply, reason);
    const char *text = status != BENCH_REPLY_OK ? reason : bench_text_of(reply, "reason");
    const bool is_listed = is_answered(status, reply);
    const size_t chosen = is_listed ? print_chosen(json_object_get(reply, "devices"), all) : 0;
    if (is_listed && !chosen)
        text = bench_text_of(reply, "unfit");
    if (!chosen)
        fprintf(stderr, "clbench: %s\n", text);
    *count += chosen;
    json_decref(reply);
    return chosen ? BENCH_EXIT_OK : status == BENCH_REPLY_OK ? BENCH_EXIT_NO_DEVICE : BENCH_EXIT_ERROR;
}

static void print_baselines(const bench_dry_run *dry)
{
    if (strcmp(dry->done, "measured") != 0)
        return;
    printf("against ");
    for (size_t i = 0; i < dry->baseline_count; i++)
        printf("%s%s", i ? ", " : "", dry->baselines[i]);
    printf("%s\n", dry->baseline_count ? "" : "no baseline");
}

static void print_cases(const bench_dry_run *dry)
{
    for (size_t i = 0; i < dry->suite->count; i++) {
        const bench_suite_entry *entry = &dry->suite->entries[i];
        char times[32] = "";
        if (entry->count > 1)
            snprintf(times, sizeof times, " * %" PRId64, entry->count);
        bench_print(6, "  %s%s\n", bench_suite_entry_text(entry), times);
    }
}

static void format_seconds(double seconds, char text[32])
{
    if (seconds < 100)
        snprintf(text, 32, "%.0f s", seconds < 1 ? 1 : seconds);
    else
        snprintf(text, 32, "%.0f min", seconds / 60);
}

static void print_time(const bench_dry_run *dry, size_t devices)
{
    char wanted[32], given[32];
    format_seconds(dry->seconds * (double)devices, wanted);
    format_seconds(dry->budget * (double)devices, given);
    const bool is_cut = dry->budget > 0 && dry->seconds > dry->budget;
    bench_print(0,
                "It would take about %s%s%s%s; programs that have to be compiled come on top, and noise may make it "
                "more. Nothing was run.\n",
                wanted, is_cut ? ", and is given " : "", is_cut ? given : "", is_cut ? " (--budget)" : "");
}

int bench_dry_run_print(const bench_dry_run *dry)
{
    const bench_options *o = dry->options;
    const size_t preferences = o->device_count ? o->device_count : 1;
    char buffer[64];
    size_t devices = 0;
    int code = BENCH_EXIT_OK;
    print_notes(o);
    printf("%zu case%s would be %s", dry->suite->count, dry->suite->count == 1 ? "" : "s", dry->done);
    if (dry->rows != dry->suite->count)
        printf(", %zu with their variants", dry->rows);
    if (dry->rounds > 1)
        printf(", in %zu rounds", dry->rounds);
    printf(", on\n");
    fflush(stdout);
    for (size_t i = 0; i < preferences; i++) {
        const int answer = print_preference(bench_device_preference(o, i, buffer), o->max_time, &devices);
        code = code == BENCH_EXIT_OK ? answer : code;
    }
    if (code != BENCH_EXIT_OK)
        return code;
    print_baselines(dry);
    print_cases(dry);
    print_time(dry, devices);
    return code;
}
