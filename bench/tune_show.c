// SPDX-License-Identifier: MIT
#include "tune_show.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

static void show_entry(const json_t *entry)
{
    const char *state = bench_entry_text(entry, "state"), *variant = bench_entry_text(entry, "variant");
    double ns = json_number_value(json_object_get(entry, "median_ns"));
    double before = json_number_value(json_object_get(entry, "predicted_ns"));
    char time[32];
    bench_format_ns(ns, time, sizeof time);
    if (!strcmp(state, "tuned"))
        printf("  %-62s  %s, %s: %.2fx of %s", bench_entry_text(entry, "case"), variant, time,
               ns > 0 ? before / ns : 0, bench_entry_text(entry, "predicted"));
    else if (!strcmp(state, "wrong"))
        printf("  %-62s  %s computed a wrong result: it is not taken", bench_entry_text(entry, "case"),
               variant);
    else
        printf("  %-62s  %s, as predicted, %s", bench_entry_text(entry, "case"), variant, time);
    printf("  (%.10s)\n", bench_entry_text(entry, "measured"));
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
    printf("%s, %s%s\n", bench_entry_text(device, "device"), bench_entry_text(device, "platform"), remark);
    printf("driver %s; its family: %s\n", bench_entry_text(device, "driver"),
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
    printf("\nEntries for kernels or menus that have changed since are kept here, and not used.\n");
}
