/* SPDX-License-Identifier: MIT */
/*
 * runtime/device.h: devices and lists of them.
 */
#ifndef HUSK_RUNTIME_DEVICE_H
#define HUSK_RUNTIME_DEVICE_H

#include <CL/cl.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <husk/device.h>

#include "base/error.h"

struct husk_device {
    husk_device_traits traits; /* its texts point into strings */
    char *strings[9];
    cl_platform_id platform;
    cl_device_id id;
    husk_device_list *list;
    int64_t index_limit;    /* kernels use 64-bit indices for what lies further from a tensor's first element */
    int64_t launch_limit;   /* work-items of a launch where there may be any number: husk__most_items */
    uint64_t pooled_memory; /* bytes of free memory that a context keeps for use again; no limit: UINT64_MAX */
};

typedef struct husk__note {
    husk_note_kind kind;
    char *text;
} husk__note;

struct husk_device_list {
    atomic_int references;
    size_t count;
    husk_device *devices;
    size_t note_count;
    husk__note *notes;
    bool lacks_memory; /* a note or a limit was lost */
};

bool husk__is_gpu(const husk_device_traits *traits);

/* An empty one, of one reference; NULL without memory. */
husk_device_list *husk__device_list_create(void);
void husk__device_list_retain(husk_device_list *list);
/* The texts of a device, which go with the list that it is in. */
void husk__device_free_texts(husk_device *device);
bool husk__device_list_add_note(husk_device_list *list, husk_note_kind kind, const char *format, ...)
    HUSK__PRINTF(3, 4);

#endif
