// SPDX-License-Identifier: MIT
#include "dry_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "doctor.h"
#include "op.h"
#include "run.h"

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
             (long long)json_integer_value(json_object_get(traits, "device_index")),
             bench_doctor_text(device, "name"), bench_doctor_text(traits, "class"),
             bench_doctor_text(device, "platform"));
    bench_clean_line(line);
    puts(line);
}

// Those that a wish stands for: one, or with "all" every one that is usable. How many.
static size_t print_chosen(const json_t *devices, const char *wish)
{
    const bool all = wish && !strcmp(wish, "all");
    size_t count = 0, i;
    const json_t *device;
    json_array_foreach(devices, i, device)
    {
        const json_t *traits = json_object_get(device, "traits");
        const bool is_usable =
            strcmp(bench_doctor_text(traits, "class"), husk_device_class_text(HUSK_DEVICE_SIMULATOR)) != 0 &&
            json_is_true(json_object_get(traits, "is_available"));
        if (all ? !is_usable : !json_is_true(json_object_get(device, "is_default")))
            continue;
        print_device(device);
        count++;
    }
    return count;
}

// The devices of one wish; the exit code.
static int print_wish(const char *wish, double patience, size_t *count)
{
    char reason[BENCH_REASON_TEXT] = "";
    json_t *reply = NULL;
    bench_process process;
    const char *arguments[] = {"clbench", BENCH_PROBE_ARGUMENT, "devices",
                               wish && strcmp(wish, "all") ? wish : "", NULL};
    bench_reply status = BENCH_REPLY_DIED;
    if (bench_process_start(&process, arguments, NULL, reason)) {
        snprintf(process.who, sizeof process.who, "a driver");
        status = bench_process_receive(&process, patience, &reply, reason);
        bench_process_stop(&process);
    }
    const char *text = status != BENCH_REPLY_OK ? reason : bench_doctor_text(reply, "reason");
    const bool is_listed = status == BENCH_REPLY_OK && !strcmp(bench_doctor_text(reply, "answer"), "ok");
    const size_t chosen = is_listed ? print_chosen(json_object_get(reply, "devices"), wish) : 0;
    if (is_listed && !chosen)
        text = bench_doctor_text(reply, "unfit");
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
        printf("  %s", entry->c.canonical);
        if (entry->count > 1)
            printf(" * %" PRId64, entry->count);
        putchar('\n');
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
    if (dry->budget > 0 && dry->seconds > dry->budget)
        printf("It would take about %s, and is given %s (--budget)", wanted, given);
    else
        printf("It would take about %s", wanted);
    printf("; programs that have to be compiled come on top, and noise may make it more. Nothing was run.\n");
}

int bench_dry_run_print(const bench_dry_run *dry)
{
    const bench_options *o = dry->options;
    const size_t wishes = o->device_count ? o->device_count : 1;
    char buffer[64];
    size_t devices = 0;
    int code = BENCH_EXIT_OK;
    printf("%zu case%s would be %s", dry->suite->count, dry->suite->count == 1 ? "" : "s", dry->done);
    if (dry->rows != dry->suite->count)
        printf(", %zu with their variants", dry->rows);
    if (dry->rounds > 1)
        printf(", in %zu rounds", dry->rounds);
    printf(", on\n");
    fflush(stdout);
    for (size_t i = 0; i < wishes; i++) {
        const int answer = print_wish(bench_device_wish(o, i, buffer), o->max_time, &devices);
        code = code == BENCH_EXIT_OK ? answer : code;
    }
    if (code != BENCH_EXIT_OK)
        return code;
    print_baselines(dry);
    print_cases(dry);
    print_time(dry, devices);
    return code;
}
