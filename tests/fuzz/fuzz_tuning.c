// SPDX-License-Identifier: MIT
// A tuning database, by its two readers: the library's own, and clbench's, which uses jansson. What clbench takes and
// writes again, the library reads, with the same entries; and merging it with itself changes nothing.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "select/tuning_file.h"
#include "tune/database.h"

static void expect_entries(const husk__tuning_file *file)
{
    for (size_t i = 0; i < file->count; i++) {
        const husk__tuning_entry *e = &file->entries[i];
        const char *const texts[] = {e->device,  e->platform,    e->driver,  e->family, e->op,
                                     e->problem, e->shape_class, e->kernels, e->state,  e->variant};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            fuzz_expect(texts[k] && texts[k] >= file->text, "text %zu of entry %zu is missing", k, i);
    }
}

// What the library needs of an entry, as jansson sees it.
static bool is_whole(const json_t *entry)
{
    static const char *const keys[] = {"device",  "platform", "driver",  "family", "op",
                                       "problem", "class",    "kernels", "state",  "variant"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!json_is_string(json_object_get(entry, keys[i])))
            return false;
    return true;
}

static void expect_written(const json_t *entries)
{
    char *text = NULL, reason[HUSK__TUNING_REASON] = "";
    size_t size = 0, whole = 0;
    FILE *file = open_memstream(&text, &size);
    fuzz_expect(file && bench_database_print(file, entries) && fclose(file) == 0, "it cannot be written");
    husk__tuning_file read;
    for (size_t i = 0; i < json_array_size(entries); i++)
        whole += is_whole(json_array_get(entries, i));
    fuzz_expect(husk__tuning_file_parse(text, size, &read, reason), "the library refuses what clbench wrote: %s\n%s",
                reason, text);
    fuzz_expect(read.count == whole, "the library reads %zu of %zu entries\n%s", read.count, whole, text);
    expect_entries(&read);
    husk__tuning_file_free(&read);
    free(text);
}

static void expect_merged(json_t *entries)
{
    json_t *merged = json_array();
    const size_t taken = bench_database_merge(merged, entries);
    fuzz_expect(json_array_size(merged) <= taken && taken <= json_array_size(entries), "%zu entries were taken", taken);
    json_t *copy = json_deep_copy(merged);
    fuzz_expect(bench_database_merge(merged, copy) == 0 && json_equal(merged, copy),
                "merging a database with itself changes it");
    json_decref(copy);
    json_decref(merged);
}

void fuzz_target(const char *text, size_t size)
{
    char reason[HUSK__TUNING_REASON] = "", why[BENCH_REASON_TEXT] = "";
    husk__tuning_file file;
    const bool is_taken = husk__tuning_file_parse(text, size, &file, reason);
    if (is_taken)
        expect_entries(&file);
    else
        fuzz_expect(!file.text && !file.entries && !file.count, "a refused database is not empty");
    if (!is_taken) {
        fuzz_expect_reason(reason, sizeof reason);
        fuzz_expect_clean(reason);
    }
    husk__tuning_file_free(&file);
    json_t *entries = bench_database_parse(text, size, "a database", why);
    if (!entries) {
        fuzz_expect_reason(why, sizeof why);
        return;
    }
    expect_written(entries);
    expect_merged(entries);
    json_decref(entries);
}
