// SPDX-License-Identifier: MIT
// HUSK_LIMITS: it lowers and never raises, what remains is a device that can compute, twice is as once, and what is not
// understood is said.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "runtime/device_traits.h"

static const husk_device whole = {
    .traits = {.name = "a device",
               .platform_name = "a platform",
               .device_class = HUSK_DEVICE_CPU,
               .has_f64 = true,
               .compute_units = 8,
               .vector_width = 16,
               .global_memory = (uint64_t)8 << 30,
               .max_allocation = (uint64_t)2 << 30,
               .local_memory = 65536,
               .work_group = 4096,
               .work_item_sizes = {4096, 4096, 4096}},
    .pooled_memory = UINT64_MAX,
    .index_limit = INT32_MAX / 2,
    .launch_limit = UINT32_MAX,
};

static void expect_lowered(const husk_device *d)
{
    const husk_device_traits *t = &d->traits, *before = &whole.traits;
    fuzz_expect(t->local_memory <= before->local_memory, "local_memory was raised");
    fuzz_expect(t->work_group >= 1 && t->work_group <= before->work_group, "work_group is %zu", t->work_group);
    fuzz_expect(t->compute_units >= 1 && t->compute_units <= before->compute_units, "compute_units is %u",
                t->compute_units);
    fuzz_expect(t->vector_width == 4 || t->vector_width == 8 || t->vector_width == 16, "vector_width is %u",
                t->vector_width);
    fuzz_expect(t->max_allocation <= before->max_allocation, "max_allocation was raised");
    fuzz_expect(t->global_memory <= before->global_memory, "global_memory was raised");
    fuzz_expect(d->index_limit >= 0 && d->index_limit <= whole.index_limit, "index is %lld", (long long)d->index_limit);
    fuzz_expect(d->launch_limit >= 0 && d->launch_limit <= whole.launch_limit, "launch is %lld",
                (long long)d->launch_limit);
}

void fuzz_target(const char *text, size_t size)
{
    husk_device_list *list = calloc(1, sizeof *list);
    (void)size;
    fuzz_expect(list != NULL, "memory is short");
    list->references = 1;
    husk_device device = whole;
    device.list = list;
    husk__device_limit(&device, text);
    expect_lowered(&device);
    const size_t notes = list->note_count;
    for (size_t i = 0; i < notes; i++)
        fuzz_expect(list->notes[i].kind == HUSK_NOTE_WARNING && strstr(list->notes[i].text, "HUSK_LIMITS: \"") != NULL,
                    "a note that says nothing");
    const husk_device once = device;
    husk__device_limit(&device, text);
    fuzz_expect(list->note_count == 2 * notes, "the second time %zu notes are not %zu", list->note_count - notes,
                notes);
    fuzz_expect(!memcmp(&once, &device, sizeof once), "\"%s\" twice is not as once", text);
    husk_device_list_release(list);
}
