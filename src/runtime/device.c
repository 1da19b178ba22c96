// SPDX-License-Identifier: MIT
#include "runtime/device.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

const char *husk_device_class_text(husk_device_class device_class)
{
    switch (device_class) {
    case HUSK_DEVICE_CPU:
        return "CPU";
    case HUSK_DEVICE_GPU_INTEGRATED:
        return "integrated GPU";
    case HUSK_DEVICE_GPU_DISCRETE:
        return "discrete GPU";
    case HUSK_DEVICE_ACCELERATOR:
        return "accelerator";
    case HUSK_DEVICE_SIMULATOR:
        return "simulator";
    }
    return "unknown";
}

bool husk__is_gpu(const husk_device_traits *traits)
{
    return traits->device_class == HUSK_DEVICE_GPU_DISCRETE || traits->device_class == HUSK_DEVICE_GPU_INTEGRATED;
}

bool husk__device_list_add_note(husk_device_list *list, husk_note_kind kind, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    husk__note *notes = realloc(list->notes, (list->note_count + 1) * sizeof *notes);
    list->notes = notes ? notes : list->notes;
    char *copy = notes ? husk__copy_string(text) : NULL;
    if (!copy) {
        list->lacks_memory = true;
        return false;
    }
    notes[list->note_count++] = (husk__note){kind, copy};
    return true;
}

husk_device_list *husk__device_list_create(void)
{
    husk_device_list *list = calloc(1, sizeof *list);
    if (list)
        atomic_init(&list->references, 1);
    return list;
}

void husk__device_list_retain(husk_device_list *list)
{
    atomic_fetch_add(&list->references, 1);
}

void husk__device_free_texts(husk_device *device)
{
    for (size_t s = 0; s < sizeof device->strings / sizeof *device->strings; ++s)
        free(device->strings[s]);
}

void husk_device_list_release(husk_device_list *list)
{
    if (!list || atomic_fetch_sub(&list->references, 1) != 1)
        return;
    for (size_t i = 0; i < list->count; ++i)
        husk__device_free_texts(&list->devices[i]);
    for (size_t i = 0; i < list->note_count; ++i)
        free(list->notes[i].text);
    free(list->devices);
    free(list->notes);
    free(list);
}

size_t husk_device_list_count(const husk_device_list *list)
{
    return list ? list->count : 0;
}

const husk_device *husk_device_list_get(const husk_device_list *list, size_t index)
{
    return list && index < list->count ? &list->devices[index] : NULL;
}

size_t husk_device_list_note_count(const husk_device_list *list)
{
    return list ? list->note_count : 0;
}

const char *husk_device_list_note(const husk_device_list *list, size_t index, husk_note_kind *kind)
{
    if (!list || index >= list->note_count)
        return NULL;
    if (kind)
        *kind = list->notes[index].kind;
    return list->notes[index].text;
}

const husk_device_traits *husk_device_get_traits(const husk_device *device)
{
    return device ? &device->traits : NULL;
}
