// SPDX-License-Identifier: MIT
// Ranks to devices.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "dist/rank.h"

// "P:D"
static bool is_exact(const char *preference)
{
    size_t digits = strspn(preference, "0123456789");
    return digits > 0 && preference[digits] == ':' && isdigit((unsigned char)preference[digits + 1]) &&
           preference[digits + 1 + strspn(preference + digits + 1, "0123456789")] == 0;
}

static bool is_like(const husk_device_traits *a, const husk_device_traits *b)
{
    return a->platform_index == b->platform_index && a->device_class == b->device_class &&
           strcmp(a->name, b->name) == 0 && a->is_available == b->is_available;
}

// The index-th of those like the chosen one, from the first again behind the last.
static const husk_device *deal(const husk_device_list *list, const husk_device *chosen, int32_t index)
{
    const husk_device_traits *wanted = husk_device_get_traits(chosen);
    size_t count = 0;
    for (size_t d = 0; d < husk_device_list_count(list); d++)
        count += is_like(husk_device_get_traits(husk_device_list_get(list, d)), wanted);
    size_t left = count ? (size_t)index % count : 0;
    for (size_t d = 0; d < husk_device_list_count(list); d++) {
        const husk_device *device = husk_device_list_get(list, d);
        if (is_like(husk_device_get_traits(device), wanted) && left-- == 0)
            return device;
    }
    return chosen;
}

husk_status husk_dist_context_create(husk_dist *dist, const char *preference, const husk_context_params *params,
                                     husk_context **context, husk_error *error)
{
    const husk__dist_scope scope = {"husk_dist_context_create", error};
    if (!dist || !context)
        return husk__dist_refuse(&scope, HUSK_INVALID_ARGUMENT, "%s: it is NULL", dist ? "context" : "dist");
    *context = NULL;
    husk_device_list *list = NULL;
    const husk_device *device = NULL;
    if (!preference || !preference[0])
        preference = getenv("HUSK_DEVICE");
    husk_status status = husk_device_list_create(&list, error);
    if (!status)
        status = husk_device_list_select(list, preference, &device, error);
    if (!status && !(preference && is_exact(preference)))
        device = deal(list, device, dist->local_rank);
    if (!status)
        status = husk_context_create(device, params, context, error);
    husk_device_list_release(list);
    return status;
}
