// SPDX-License-Identifier: MIT
// clbench history: what was measured before.
#include "compare/history_command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "compare/devices.h"
#include "compare/history.h"
#include "system/terminal.h"
#include "record/result_file.h"
#include "record/rival.h"

static size_t count_state(const json_t *document, const char *state)
{
    const json_t *rows = json_object_get(document, "results");
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(rows); i++)
        count += !strcmp(bench_text_of(json_array_get(rows, i), "state"), state);
    return count;
}

// "standard", or the first case and how many more.
static void format_what(const json_t *document, char *text, size_t size)
{
    const json_t *rows = json_object_get(document, "results"), *run = json_object_get(document, "run");
    const char *suite = bench_text_of(run, "suite");
    const size_t count = json_array_size(rows);
    if (*suite)
        snprintf(text, size, "%.40s, %zu cases", suite, count);
    else if (count == 1)
        snprintf(text, size, "%.60s", bench_text_of(json_array_get(rows, 0), "case"));
    else
        snprintf(text, size, "%zu cases", count);
}

static int list(void)
{
    char folder[BENCH_PATH_TEXT], path[BENCH_PATH_TEXT + 80], reason[BENCH_REASON_TEXT], what[100];
    size_t count;
    if (!bench_history_folder(folder, reason)) {
        fprintf(stderr, "clbench: there is no history: %s\n", reason);
        return BENCH_EXIT_ERROR;
    }
    char **names = bench_history_names(&count);
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        json_t *document = bench_result_read(path, reason);
        const int length = (int)strlen(names[i]) - 5; // without .json
        if (!document) {
            printf("%.*s  %scannot be read%s\n", length, names[i], bench_colour_on(BENCH_BAD), bench_colour_off());
            bench_say("clbench: %s", reason);
            continue;
        }
        char wrong[64] = "";
        if (count_state(document, "failed"))
            snprintf(wrong, sizeof wrong, ", %s%zu WRONG%s", bench_colour_on(BENCH_BAD),
                     count_state(document, "failed"), bench_colour_off());
        format_what(document, what, sizeof what);
        bench_print(4, "%.*s  Husk %s  %s  %s, %zu right%s\n", length, names[i],
                    bench_text_of(document, "husk_version"), bench_text_of(bench_device_of(document, 0), "name"), what,
                    count_state(document, "ok"), wrong);
        json_decref(document);
    }
    free(names);
    bench_print(2, "%zu result%s in %s\n", count, count == 1 ? "" : "s", folder);
    return BENCH_EXIT_OK;
}

static void print_row(const json_t *row, int width)
{
    char median[32], name[BENCH_ROW_NAME];
    const bool is_bandwidth = json_is_true(json_object_get(row, "is_bandwidth"));
    const double rate = bench_number_of(row, is_bandwidth ? "gbytes_per_s" : "gflops"),
                 percent = bench_number_of(row, "percent_of_peak"), best = bench_rival_speedup(row, BENCH_BEST, NULL);
    bench_format_ns(bench_number_of(json_object_get(row, "time"), "median_ns"), median, sizeof median);
    bench_row_name(row, name);
    bench_print_name(name, width);
    printf("  %-11s  %8s", bench_text_of(row, "state"), median);
    if (!isnan(rate))
        printf("  %8.3g %s", rate, is_bandwidth ? "GB/s" : "GF/s");
    if (!isnan(percent))
        printf("  %3.0f%%", percent);
    if (!isnan(best))
        printf("  %5.2fx", best);
    putchar('\n');
}

static int show(const char *word)
{
    char path[BENCH_PATH_TEXT], reason[BENCH_REASON_TEXT];
    json_t *document = bench_history_resolve(word, NULL, path, reason) ? bench_result_read(path, reason) : NULL;
    if (!document) {
        fprintf(stderr, "clbench: %s\n", reason);
        return BENCH_EXIT_USAGE;
    }
    const json_t *rows = json_object_get(document, "results");
    const int width = bench_name_width(bench_longest_name(document, 4), 52);
    bench_print(2, "%s\n", path);
    for (size_t d = 0; d == 0 || d < bench_device_count(document); d++) { // rows below the device that they are of
        const json_t *device = bench_device_of(document, d);
        bench_print(2, "%s%s (%s, driver %s), Husk %s, %s\n\n", d ? "\n" : "", bench_text_of(device, "name"),
                    bench_text_of(device, "platform"), bench_text_of(device, "driver"),
                    bench_text_of(document, "husk_version"), bench_text_of(document, "started"));
        for (size_t i = 0; i < json_array_size(rows); i++) {
            const json_t *row = json_array_get(rows, i);
            if ((size_t)json_integer_value(json_object_get(row, "device")) == d)
                print_row(row, width);
        }
    }
    json_decref(document);
    return BENCH_EXIT_OK;
}

int bench_command_history(const bench_options *options)
{
    const char *what = options->file_count ? options->files[0] : "list";
    static const char *const known[] = {"list", "show"};
    if (!strcmp(what, "list") && options->file_count < 2)
        return list();
    if (!strcmp(what, "show") && options->file_count < 3)
        return show(options->file_count > 1 ? options->files[1] : "last");
    fprintf(stderr, "clbench: history list, or history show [RESULT]; the nearest is '%s'\n",
            bench_nearest(what, known, 2));
    return BENCH_EXIT_USAGE;
}
