// SPDX-License-Identifier: MIT
#include "measure/same_device.h"

#include <string.h>

#include "common/json.h"
#include "common/text.h"

static const char *or_unknown(const char *text)
{
    return *text ? text : "unknown";
}

bool bench_same_device(const json_t *before, const json_t *device, char reason[BENCH_REASON_TEXT])
{
    static const char *const keys[] = {"platform", "name", "driver", "version"};
    for (size_t i = 0; before && i < sizeof keys / sizeof *keys; i++) {
        const char *old = bench_text_of(before, keys[i]), *now = bench_text_of(device, keys[i]);
        if (strcmp(old, now))
            return bench_explain(reason, BENCH_REASON_TEXT, "the device's %s was %.200s, and is %.200s", keys[i],
                                 or_unknown(old), or_unknown(now));
    }
    const json_t *traits_then = json_object_get(before, "traits"), *traits = json_object_get(device, "traits");
    const json_t *units_then = json_object_get(traits_then, "compute_units");
    const json_t *units = json_object_get(traits, "compute_units");
    if (json_is_integer(units_then) && !json_equal(units_then, units))
        return bench_explain(reason, BENCH_REASON_TEXT, "the device's compute units were %lld, and are %lld",
                             (long long)json_integer_value(units_then), (long long)json_integer_value(units));
    // Of two equal cards either may have been the one that could be opened.
    const char *then = bench_text_of(traits_then, "pci_address"), *here = bench_text_of(traits, "pci_address");
    if (*then && *here && strcmp(then, here))
        return bench_explain(reason, BENCH_REASON_TEXT, "the device's PCI address was %.40s, and is %.40s", then, here);
    return true;
}
