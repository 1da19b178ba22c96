/* SPDX-License-Identifier: MIT */
/** @file
 * The OpenCL devices of this machine, and what they can do.
 *
 * A husk_device_list is a snapshot of every platform and device. Broken OpenCL drivers (ICDs) are skipped, and so are
 * devices that do not answer the queries. The list's notes describe what was skipped. A husk_device stays valid while
 * its list, or a context that was made from it, is alive.
 */
#ifndef HUSK_DEVICE_H
#define HUSK_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <husk/status.h>

HUSK_BEGIN_DECLS

/** One OpenCL device. */
typedef struct husk_device husk_device;
/** A snapshot of all platforms and devices. */
typedef struct husk_device_list husk_device_list;

/** The kinds of device. */
typedef enum husk_device_class {
    HUSK_DEVICE_CPU = 0,
    HUSK_DEVICE_GPU_INTEGRATED = 1, /**< Shares the host's memory. */
    HUSK_DEVICE_GPU_DISCRETE = 2,
    HUSK_DEVICE_ACCELERATOR = 3,
    HUSK_DEVICE_SIMULATOR = 4 /**< Oclgrind. Chosen only by name. */
} husk_device_class;

/**
 * The properties of a device. The texts belong to the device.
 *
 * For tests, the environment variable HUSK_LIMITS changes properties, for example
 * `HUSK_LIMITS=local_memory=16K,work_group=64`:
 *
 * | name | effect |
 * | --- | --- |
 * | local_memory, work_group, compute_units, vector_width, max_allocation, global_memory | lowers the property |
 * | pooled_memory | lowers how much memory of released buffers a context keeps |
 * | index | sets from how many elements on kernels use 64-bit indices |
 * | f64=0 | removes f64 |
 */
typedef struct husk_device_traits {
    const char *platform_name;
    const char *name;
    const char *vendor;
    const char *driver_version;
    const char *device_version;     /**< "OpenCL 3.0 ..." */
    const char *opencl_c_version;   /**< "OpenCL C 1.2 ..." */
    const char *extensions;         /**< As the device lists them; not verified. */
    const char *pci_address;        /**< "0000:41:00.0"; "" if unknown. */
    uint32_t platform_index;        /**< P of P:D. */
    uint32_t device_index;          /**< D of P:D. */
    husk_device_class device_class;
    bool is_available;
    bool shares_host_memory;
    bool has_f64;                   /**< f64 arithmetic. */
    bool has_f16;                   /**< f16 arithmetic. Every device can store f16. */
    bool has_subgroups;             /**< As advertised. A probe decides whether they are used. */
    uint32_t compute_units;
    uint32_t clock_mhz;             /**< As advertised; 0 if unknown. */
    uint32_t vector_width;          /**< Floats in a vector of the CPU kernels: 4, 8 or 16. */
    uint32_t base_address_alignment;/**< Bytes. Views that are sub-buffers start at multiples of it. */
    uint64_t global_memory;         /**< Bytes. */
    uint64_t max_allocation;        /**< Bytes of the largest possible buffer. */
    uint64_t local_memory;          /**< Bytes for one work-group. */
    uint64_t work_group;            /**< Work-items of the largest possible work-group. */
    uint64_t work_item_sizes[3];    /**< The same for each dimension. */
    uint64_t cache_line;            /**< Bytes. */
    uint64_t global_cache;          /**< Bytes; 0 if unknown. */
    uint64_t profiling_resolution_ns;
} husk_device_traits;

/**
 * List every platform and device. An empty list is not a failure if there are platforms.
 *
 * @retval HUSK_NO_PLATFORM The loader finds no platform. The text says how to install one.
 */
HUSK_API husk_status husk_device_list_create(husk_device_list **list, husk_error *error);
/** Release the list. */
HUSK_API void husk_device_list_release(husk_device_list *list);

/** The number of devices in the list. */
HUSK_API size_t husk_device_list_count(const husk_device_list *list);
/** The device at an index; NULL past the end. */
HUSK_API const husk_device *husk_device_list_get(const husk_device_list *list, size_t index);

/**
 * The kinds of note. Notes tell a person what to know about this machine: for example, that an ICD was skipped, and
 * why; or that the system has a GPU which OpenCL does not show, and which package, group or variable is missing.
 */
typedef enum husk_note_kind {
    HUSK_NOTE_INFORMATION = 0,
    HUSK_NOTE_WARNING = 1,
    HUSK_NOTE_MISSING_GPU = 2 /**< Show it before anything else. */
} husk_note_kind;

/** The number of notes. */
HUSK_API size_t husk_device_list_note_count(const husk_device_list *list);
/** The text of a note; NULL past the end. `kind` receives its kind, and may be NULL. */
HUSK_API const char *husk_device_list_note(const husk_device_list *list, size_t index, husk_note_kind *kind);

/**
 * Choose a device.
 *
 * Of several devices that match, the first is chosen; of several CPUs, the first of those with the most compute units.
 * A preference is never replaced by something else.
 *
 * @param preference the preference. Case is ignored.
 *
 *   | value | meaning |
 *   | --- | --- |
 *   | "gpu", "cpu" | a device of this kind |
 *   | "P:D" | the device with these platform and device numbers |
 *   | any other text | a device whose name, or whose platform's name, contains the text |
 *   | NULL or "" | the environment variable HUSK_DEVICE; if it is unset, the default order |
 *
 *   The default order is: discrete GPU, integrated GPU, accelerator, CPU; never a simulator.
 * @retval HUSK_NO_DEVICE No device matches the preference. The text lists the devices that there are.
 */
HUSK_API husk_status husk_device_list_select(const husk_device_list *list, const char *preference,
                                             const husk_device **device, husk_error *error);

/** The properties of a device. They live as long as the device. */
HUSK_API const husk_device_traits *husk_device_get_traits(const husk_device *device);

/** A text for a class, such as "discrete GPU" or "CPU". */
HUSK_API const char *husk_device_class_text(husk_device_class device_class);

HUSK_END_DECLS

#endif
