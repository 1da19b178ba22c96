// SPDX-License-Identifier: MIT
#include "compare/rows.h"

#include "common/json.h"

bool bench_row_is_of(const json_t *row, size_t device)
{
    return (size_t)json_integer_value(json_object_get(row, "device")) == device;
}

const json_t *bench_find_row(const json_t *document, size_t device, const json_t *like)
{
    const json_t *rows = json_object_get(document, "results"), *found = NULL;
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (!bench_row_is_of(row, device) || !bench_has_text(row, "case", bench_text_of(like, "case")) ||
            !bench_has_text(row, "temperature", bench_text_of(like, "temperature")))
            continue;
        if (bench_has_text(row, "variant", bench_text_of(like, "variant"))) // --variant all has several
            return row;
        found = row;
        count++;
    }
    return count == 1 ? found : NULL;
}

// How many rows of that case there are on the device.
static size_t count_like(const json_t *document, size_t device, const json_t *like)
{
    const json_t *rows = json_object_get(document, "results");
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        count += bench_row_is_of(row, device) && bench_has_text(row, "case", bench_text_of(like, "case")) &&
                 bench_has_text(row, "temperature", bench_text_of(like, "temperature"));
    }
    return count;
}

const json_t *bench_match_row(const json_t *document, size_t device, const json_t *own, size_t own_device,
                              const json_t *row)
{
    const json_t *found = bench_find_row(document, device, row);
    // One of several variants here must not be compared with the only one there, unless it is the same.
    if (found && count_like(own, own_device, row) > 1 &&
        !bench_has_text(found, "variant", bench_text_of(row, "variant")))
        return NULL;
    return found;
}
