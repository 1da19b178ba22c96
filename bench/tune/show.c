// SPDX-License-Identifier: MIT
#include "tune/show.h"

#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "system/terminal.h"

static void show_entry(const json_t *entry)
{
    const char *state = bench_entry_text(entry, "state"), *variant = bench_entry_text(entry, "variant");
    double ns = json_number_value(json_object_get(entry, "median_ns"));
    double before = json_number_value(json_object_get(entry, "predicted_ns"));
    char time[32], what[300];
    bench_format_ns(ns, time, sizeof time);
    if (!strcmp(state, "tuned"))
        snprintf(what, sizeof what, "%s, %s: %.2fx of %s", variant, time, ns > 0 ? before / ns : 0,
                 bench_entry_text(entry, "predicted"));
    else if (!strcmp(state, "wrong"))
        snprintf(what, sizeof what, "%s computed a wrong result: it is not taken", variant);
    else
        snprintf(what, sizeof what, "%s, as predicted, %s", variant, time);
    bench_print(6, "  %-62s  %s  (%.10s)\n", bench_entry_text(entry, "case"), what,
                bench_entry_text(entry, "measured"));
}

static bool has_begun_before(const json_t *entries, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (bench_database_is_of(json_array_get(entries, i), json_array_get(entries, index)))
            return true;
    }
    return false;
}

static void show_device(const json_t *entries, const json_t *device, const char *remark)
{
    bench_print(2, "%s, %s%s\n", bench_entry_text(device, "device"), bench_entry_text(device, "platform"), remark);
    bench_print(2, "driver %s; its family: %s\n", bench_entry_text(device, "driver"),
                bench_entry_text(device, "family"));
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *entry = json_array_get(entries, i);
        if (bench_database_is_of(entry, device)) {
            show_entry(entry);
            count++;
        }
    }
    if (!count)
        printf("  nothing yet\n");
}

void bench_database_show(const bench_database *database, const json_t *key)
{
    const json_t *entries = database->entries;
    printf("%s\n\n", database->path);
    show_device(entries, key, "  (this device)");
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *entry = json_array_get(entries, i);
        if (!bench_database_is_of(entry, key) && !has_begun_before(entries, i)) {
            putchar('\n');
            show_device(entries, entry, "");
        }
    }
    bench_print(0, "\nEntries for kernels or menus that have changed since are kept here, and not used.\n");
}
