// SPDX-License-Identifier: MIT
#include "dist/identity.h"

#include <stdio.h>
#include <string.h>

bool husk__versions_differ(const husk_dist *dist, char *text, size_t bytes)
{
    char first[128], other[128];
    for (int32_t r = 1; r < dist->count; r++)
        if (strcmp(dist->ranks[r].version, dist->ranks[0].version) != 0) {
            snprintf(text, bytes, "%s has version %s of the library, %s has %s", husk__rank_text(dist, r, other),
                     dist->ranks[r].version, husk__rank_text(dist, 0, first), dist->ranks[0].version);
            return true;
        }
    return false;
}

static bool texts_differ(const char *a, const char *b)
{
    return strcmp(a, b) != 0;
}

bool husk__likenesses_differ(const husk_dist *dist, const husk__likeness *all, bool mixed, char *text, size_t bytes)
{
    char first[128], other[128];
    const husk__likeness *a = &all[0];
    husk__rank_text(dist, 0, first);
    for (int32_t r = 1; r < dist->count; r++) {
        const husk__likeness *b = &all[r];
        husk__rank_text(dist, r, other);
        if (!mixed && texts_differ(a->device, b->device))
            snprintf(text, bytes, "%s computes on \"%s\", %s on \"%s\" (params.mixed allows it)", other, b->device,
                     first, a->device);
        else if (!mixed && texts_differ(a->driver, b->driver))
            snprintf(text, bytes, "%s has driver \"%s\", %s \"%s\" (params.mixed allows it)", other, b->driver, first,
                     a->driver);
        else if (!mixed && a->update[0] && b->update[0] && texts_differ(a->update, b->update))
            snprintf(text, bytes,
                     "%s updates by \"%s\", %s by \"%s\": the same HUSK_VARIANT and tuning databases make them alike "
                     "(params.mixed allows it)",
                     other, b->update, first, a->update);
        else if (texts_differ(a->dtype, b->dtype))
            snprintf(text, bytes, "the graph of %s is of %s, that of %s of %s", other, b->dtype, first, a->dtype);
        else if (a->parameters != b->parameters)
            snprintf(text, bytes, "the graph of %s has %llu parameters, that of %s %llu", other,
                     (unsigned long long)b->parameters, first, (unsigned long long)a->parameters);
        else if (a->names != b->names)
            snprintf(text, bytes, "the graphs of %s and %s have parameters of other names, or other ones are frozen",
                     other, first);
        else if (a->bytes != b->bytes || a->shapes != b->shapes)
            snprintf(text, bytes,
                     "the parameters of %s have other shapes than those of %s, or another order in "
                     "backward",
                     other, first);
        else if (a->buckets != b->buckets || a->cuts != b->cuts)
            snprintf(text, bytes,
                     "the gradients of %s are cut into %llu buckets, those of %s into %llu "
                     "(bucket_bytes)",
                     other, (unsigned long long)b->buckets, first, (unsigned long long)a->buckets);
        else
            continue;
        return true;
    }
    return false;
}
