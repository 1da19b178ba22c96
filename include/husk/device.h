/* SPDX-License-Identifier: MIT */
/*
 * husk/device.h: which OpenCL devices are here, and what they can do.
 *
 * A husk_device_list is a snapshot of every platform and device. Broken ICDs, and devices that do not answer what is
 * asked of them, are skipped and described in its notes. A husk_device stays valid while its list or a context made
 * from it lives.
 */
#ifndef HUSK_DEVICE_H
#define HUSK_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <husk/status.h>

HUSK_BEGIN_DECLS

typedef struct husk_device husk_device;
typedef struct husk_device_list husk_device_list;

typedef enum husk_device_class {
    HUSK_DEVICE_CPU = 0,
    HUSK_DEVICE_GPU_INTEGRATED = 1, /* shares the host's memory */
    HUSK_DEVICE_GPU_DISCRETE = 2,
    HUSK_DEVICE_ACCELERATOR = 3,
    HUSK_DEVICE_SIMULATOR = 4 /* Oclgrind; chosen only by name */
} husk_device_class;

/*
 * What a device is. Texts belong to the device. HUSK_LIMITS=local_memory=16K,work_group=64,... lowers
 * local_memory, work_group, compute_units, vector_width, max_allocation or global_memory for tests, and
 * pooled_memory, what a context keeps of released buffers, and index, from how many elements on kernels take
 * 64-bit indices; f64=0 takes f64 away.
 */
typedef struct husk_device_traits {
    const char *platform_name;
    const char *name;
    const char *vendor;
    const char *driver_version;
    const char *device_version;     /* "OpenCL 3.0 ..." */
    const char *opencl_c_version;   /* "OpenCL C 1.2 ..." */
    const char *extensions;         /* as the device lists them, unproven */
    const char *pci_address;        /* "0000:41:00.0", or "" where unknown */
    uint32_t platform_index;        /* P of P:D */
    uint32_t device_index;          /* D of P:D */
    husk_device_class device_class;
    bool is_available;
    bool shares_host_memory;
    bool has_f64;                   /* f64 arithmetic */
    bool has_f16;                   /* f16 arithmetic; storage works everywhere */
    bool has_subgroups;             /* as advertised; a probe decides about use */
    uint32_t compute_units;
    uint32_t clock_mhz;             /* as advertised, 0 where unknown */
    uint32_t vector_width;          /* floats in a vector of the CPU family's kernels: 4, 8 or 16 */
    uint32_t base_address_alignment;/* bytes; sub-buffer views start at multiples of it */
    uint64_t global_memory;         /* bytes */
    uint64_t max_allocation;        /* bytes one buffer may have */
    uint64_t local_memory;          /* bytes a work-group may have */
    uint64_t work_group;            /* work-items a work-group may have */
    uint64_t work_item_sizes[3];
    uint64_t cache_line;            /* bytes */
    uint64_t global_cache;          /* bytes, 0 where unknown */
    uint64_t profiling_resolution_ns;
} husk_device_traits;

/*
 * List every platform and device. NO_PLATFORM when the loader finds no platform at all: the text says how
 * to install one. An empty list with platforms present is not a failure.
 */
HUSK_API husk_status husk_device_list_create(husk_device_list **list, husk_error *error);
HUSK_API void husk_device_list_release(husk_device_list *list);

HUSK_API size_t husk_device_list_count(const husk_device_list *list);
/* NULL past the end. */
HUSK_API const husk_device *husk_device_list_get(const husk_device_list *list, size_t index);

/*
 * What a person should know about this machine: an ICD that was skipped and why, a GPU that the system
 * has but OpenCL does not show and which package, group or variable is missing.
 */
typedef enum husk_note_kind {
    HUSK_NOTE_INFORMATION = 0,
    HUSK_NOTE_WARNING = 1,
    HUSK_NOTE_MISSING_GPU = 2 /* to be said before anything else */
} husk_note_kind;

HUSK_API size_t husk_device_list_note_count(const husk_device_list *list);
HUSK_API const char *husk_device_list_note(const husk_device_list *list, size_t index, husk_note_kind *kind);

/*
 * Choose a device. wish: "gpu", "cpu", "P:D" (platform and device number), or a part of a device's or
 * platform's name, case ignored; NULL or "" means the environment's HUSK_DEVICE, and where that is unset
 * the default: discrete GPU, then integrated GPU, accelerator, CPU; simulators never. Of several the first, of several
 * CPUs the first with most compute units.
 * A wish is never replaced: NO_DEVICE, with the list of what there is, when nothing fits it.
 */
HUSK_API husk_status husk_device_list_select(const husk_device_list *list, const char *wish,
                                             const husk_device **device, husk_error *error);

HUSK_API const husk_device_traits *husk_device_get_traits(const husk_device *device);

/* "discrete GPU", "CPU" ... */
HUSK_API const char *husk_device_class_text(husk_device_class device_class);

HUSK_END_DECLS

#endif
