// SPDX-License-Identifier: MIT
// The choice among the devices of a list.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "os/environment.h"
#include "runtime/device.h"

static int rank(const husk_device_traits *traits)
{
    if (!traits->is_available)
        return -1;
    switch (traits->device_class) {
    case HUSK_DEVICE_GPU_DISCRETE:
        return 4;
    case HUSK_DEVICE_GPU_INTEGRATED:
        return 3;
    case HUSK_DEVICE_ACCELERATOR:
        return 2;
    case HUSK_DEVICE_CPU:
        return 1;
    case HUSK_DEVICE_SIMULATOR:
        return 0;
    }
    return -1;
}

// Of two CPUs the one with more compute units: PoCL has one of a single thread beside the whole (basic, cpu-minimal).
static bool is_better(const husk_device_traits *traits, const husk_device *than)
{
    const int here = rank(traits), there = than ? rank(&than->traits) : -1;
    return here > there || (here == there && than && traits->device_class == HUSK_DEVICE_CPU &&
                            traits->compute_units > than->traits.compute_units);
}

// "2:0", in digits alone; a number that is too large is no device's.
static bool parse_place(const char *preference, unsigned long long place[2])
{
    for (int i = 0; i < 2; ++i) {
        char *end;
        if (*preference < '0' || *preference > '9')
            return false;
        place[i] = strtoull(preference, &end, 10);
        if (*end != (i == 0 ? ':' : 0))
            return false;
        preference = end + 1;
    }
    return true;
}

static bool fits(const husk_device_traits *traits, const char *preference)
{
    if (!preference)
        return rank(traits) > 0;
    if (strcasecmp(preference, "gpu") == 0)
        return husk__is_gpu(traits);
    if (strcasecmp(preference, "cpu") == 0)
        return traits->device_class == HUSK_DEVICE_CPU;
    unsigned long long place[2];
    if (parse_place(preference, place))
        return traits->platform_index == place[0] && traits->device_index == place[1];
    return husk__contains_ignoring_case(traits->name, preference) ||
           husk__contains_ignoring_case(traits->platform_name, preference);
}

static husk_status nothing_fits(const husk_device_list *list, const char *preference, const husk__scope *scope)
{
    husk__text text = {0};
    for (size_t i = 0; i < list->count; ++i) {
        const husk_device_traits *traits = &list->devices[i].traits;
        husk__text_format(&text, "\n  %u:%u  %s (%s, %s)%s", (unsigned)traits->platform_index,
                          (unsigned)traits->device_index, traits->name, husk_device_class_text(traits->device_class),
                          traits->platform_name, traits->is_available ? "" : ", not available");
    }
    const bool has_any = text.bytes;
    for (size_t i = 0; i < list->note_count; ++i) // a platform that did not list its devices, and why
        if (list->notes[i].kind == HUSK_NOTE_WARNING)
            husk__text_format(&text, "\n  %s", list->notes[i].text);
    husk_status status =
        husk__fail(scope, HUSK_NO_DEVICE, "%s%s%s%s", preference ? "no device fits \"" : "no device can be the default",
                   preference ? preference : "", preference ? "\"" : "", has_any ? "; there is:" : "; there is none");
    if (text.bytes && scope->error) {
        size_t used = strlen(scope->error->text);
        snprintf(scope->error->text + used, sizeof scope->error->text - used, "%s", text.bytes);
    }
    husk__text_free(&text);
    return status;
}

husk_status husk_device_list_select(const husk_device_list *list, const char *preference, const husk_device **device,
                                    husk_error *error)
{
    husk__scope scope = {"husk_device_list_select", error};
    if (!list)
        return husk__reject(&scope, "list", "is NULL");
    if (!device)
        return husk__reject(&scope, "device", "is NULL");
    *device = NULL;
    if (!preference || !*preference)
        preference = husk__environment("HUSK_DEVICE");
    for (size_t i = 0; i < list->count; ++i) {
        const husk_device *candidate = &list->devices[i];
        if (fits(&candidate->traits, preference) && is_better(&candidate->traits, *device))
            *device = candidate;
    }
    return *device ? HUSK_OK : nothing_fits(list, preference, &scope);
}
