// SPDX-License-Identifier: MIT
// Reading one device: its texts and numbers, and the limits that the environment sets to them.
#include "runtime/device_traits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "os/environment.h"
#include "runtime/range.h"

// ---- asking ----

// A query that the driver does not know is answered with 0 and "". One that failed otherwise ends the reading: what
// a driver would say at another time, such as its name, is part of the keys of caches.
static bool is_known(husk__unanswered *failed, const char *function, cl_int code)
{
    if (code != CL_SUCCESS && code != CL_INVALID_VALUE)
        *failed = (husk__unanswered){function, code};
    return code == CL_SUCCESS;
}

typedef struct reading {
    cl_device_id id;
    husk__unanswered failed;
} reading;

static bool ask(reading *r, cl_device_info info, size_t size, void *value)
{
    return !r->failed.code && is_known(&r->failed, "clGetDeviceInfo", clGetDeviceInfo(r->id, info, size, value, NULL));
}

// What only some drivers have: whatever else they answer, want of memory apart, means that this one has not.
static bool ask_extension(reading *r, cl_device_info info, size_t size, void *value)
{
    if (r->failed.code)
        return false;
    const cl_int code = clGetDeviceInfo(r->id, info, size, value, NULL);
    return is_known(&r->failed, "clGetDeviceInfo", code == CL_OUT_OF_HOST_MEMORY || !code ? code : CL_INVALID_VALUE);
}

static char *device_text(reading *r, cl_device_info info)
{
    size_t size = 0;
    if (r->failed.code || !is_known(&r->failed, "clGetDeviceInfo", clGetDeviceInfo(r->id, info, 0, NULL, &size)))
        return husk__copy_string("");
    char *text = calloc(1, size + 1);
    if (text && !ask(r, info, size, text))
        text[0] = 0;
    return text;
}

char *husk__platform_name(cl_platform_id platform, husk__unanswered *failed)
{
    static const char function[] = "clGetPlatformInfo";
    size_t size = 0;
    if (!is_known(failed, function, clGetPlatformInfo(platform, CL_PLATFORM_NAME, 0, NULL, &size)))
        return husk__copy_string("");
    char *text = calloc(1, size + 1);
    if (text && !is_known(failed, function, clGetPlatformInfo(platform, CL_PLATFORM_NAME, size, text, NULL)))
        text[0] = 0;
    return text;
}

static uint64_t device_u64(reading *r, cl_device_info info)
{
    cl_ulong value = 0;
    ask(r, info, sizeof value, &value);
    return value;
}

static uint32_t device_u32(reading *r, cl_device_info info)
{
    cl_uint value = 0;
    ask(r, info, sizeof value, &value);
    return value;
}

static uint64_t device_size(reading *r, cl_device_info info)
{
    size_t value = 0;
    ask(r, info, sizeof value, &value);
    return value;
}

// ---- texts and numbers ----

enum {
    STRING_PLATFORM_NAME,
    STRING_NAME,
    STRING_VENDOR,
    STRING_DRIVER_VERSION,
    STRING_DEVICE_VERSION,
    STRING_OPENCL_C_VERSION,
    STRING_EXTENSIONS,
    STRING_PCI_ADDRESS
};

// cl_khr_pci_bus_info, else NVIDIA's and AMD's own queries; "" where none answers. Asked only of a device that
// lists the extension: a checking layer takes any other question for a mistake.
static char *pci_address(reading *r, const char *extensions)
{
    enum { PCI_BUS_INFO_KHR = 0x410F, PCI_BUS_NV = 0x4008, PCI_SLOT_NV, PCI_DOMAIN_NV, TOPOLOGY_AMD = 0x4037 };
    char text[32] = "";
    struct {
        cl_uint domain, bus, device, function;
    } khr;
    struct {
        cl_uint type;
        cl_char unused[17], bus, device, function;
    } amd;
    cl_uint bus, slot, domain = 0;
    if (strstr(extensions, "cl_khr_pci_bus_info") && ask_extension(r, PCI_BUS_INFO_KHR, sizeof khr, &khr))
        snprintf(text, sizeof text, "%04x:%02x:%02x.%x", khr.domain, khr.bus, khr.device, khr.function);
    else if (strstr(extensions, "cl_nv_device_attribute_query") && ask_extension(r, PCI_BUS_NV, sizeof bus, &bus) &&
             ask_extension(r, PCI_SLOT_NV, sizeof slot, &slot)) {
        if (!ask_extension(r, PCI_DOMAIN_NV, sizeof domain, &domain))
            domain = 0; // older drivers do not say
        snprintf(text, sizeof text, "%04x:%02x:%02x.%x", domain, bus, slot >> 3, slot & 7);
    } else if (strstr(extensions, "cl_amd_device_attribute_query") &&
               ask_extension(r, TOPOLOGY_AMD, sizeof amd, &amd) && amd.type == 1)
        snprintf(text, sizeof text, "0000:%02x:%02x.%x", (unsigned)(cl_uchar)amd.bus, (unsigned)(cl_uchar)amd.device,
                 (unsigned)(cl_uchar)amd.function);
    return husk__copy_string(text);
}

static husk_device_class device_class(reading *r, const char *platform_name, bool shares_host_memory)
{
    cl_device_type type = 0;
    ask(r, CL_DEVICE_TYPE, sizeof type, &type);
    if (husk__contains_ignoring_case(platform_name, "oclgrind"))
        return HUSK_DEVICE_SIMULATOR;
    if (type & CL_DEVICE_TYPE_GPU)
        return shares_host_memory ? HUSK_DEVICE_GPU_INTEGRATED : HUSK_DEVICE_GPU_DISCRETE;
    return type & CL_DEVICE_TYPE_CPU ? HUSK_DEVICE_CPU : HUSK_DEVICE_ACCELERATOR;
}

// Floats in a register: 4, 8 or 16 for a CPU, whatever odd number a driver gives; 4 where it does not matter.
static uint32_t vector_width(reading *r, husk_device_class class)
{
    if (class != HUSK_DEVICE_CPU)
        return 4;
    uint32_t width = device_u32(r, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
    if (width < 4)
        width = device_u32(r, CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT);
    return width >= 16 ? 16 : width >= 8 ? 8 : 4;
}

static void read_texts(husk_device *device, reading *r)
{
    device->strings[STRING_PLATFORM_NAME] = husk__platform_name(device->platform, &r->failed);
    device->strings[STRING_NAME] = device_text(r, CL_DEVICE_NAME);
    device->strings[STRING_VENDOR] = device_text(r, CL_DEVICE_VENDOR);
    device->strings[STRING_DRIVER_VERSION] = device_text(r, CL_DRIVER_VERSION);
    device->strings[STRING_DEVICE_VERSION] = device_text(r, CL_DEVICE_VERSION);
    device->strings[STRING_OPENCL_C_VERSION] = device_text(r, CL_DEVICE_OPENCL_C_VERSION);
    device->strings[STRING_EXTENSIONS] = device_text(r, CL_DEVICE_EXTENSIONS);
    device->strings[STRING_PCI_ADDRESS] =
        pci_address(r, device->strings[STRING_EXTENSIONS] ? device->strings[STRING_EXTENSIONS] : "");
    husk_device_traits *traits = &device->traits;
    traits->platform_name = device->strings[STRING_PLATFORM_NAME];
    traits->name = device->strings[STRING_NAME];
    traits->vendor = device->strings[STRING_VENDOR];
    traits->driver_version = device->strings[STRING_DRIVER_VERSION];
    traits->device_version = device->strings[STRING_DEVICE_VERSION];
    traits->opencl_c_version = device->strings[STRING_OPENCL_C_VERSION];
    traits->extensions = device->strings[STRING_EXTENSIONS];
    traits->pci_address = device->strings[STRING_PCI_ADDRESS];
}

static void read_numbers(husk_device *device, reading *r)
{
    husk_device_traits *traits = &device->traits;
    traits->is_available = device_u32(r, CL_DEVICE_AVAILABLE) != 0;
    traits->shares_host_memory = device_u32(r, CL_DEVICE_HOST_UNIFIED_MEMORY) != 0;
    traits->device_class = device_class(r, traits->platform_name, traits->shares_host_memory);
    traits->has_f64 = strstr(traits->extensions, "cl_khr_fp64") != NULL;
    traits->has_f16 = strstr(traits->extensions, "cl_khr_fp16") != NULL;
    traits->has_subgroups = strstr(traits->extensions, "cl_khr_subgroups") != NULL ||
                            strstr(traits->extensions, "cl_intel_subgroups") != NULL;
    traits->compute_units = device_u32(r, CL_DEVICE_MAX_COMPUTE_UNITS);
    if (traits->compute_units == 0) // work is divided among them
        traits->compute_units = 1;
    traits->clock_mhz = device_u32(r, CL_DEVICE_MAX_CLOCK_FREQUENCY);
    traits->vector_width = vector_width(r, traits->device_class);
    traits->base_address_alignment = device_u32(r, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
    traits->global_memory = device_u64(r, CL_DEVICE_GLOBAL_MEM_SIZE);
    traits->max_allocation = device_u64(r, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    traits->local_memory = device_u64(r, CL_DEVICE_LOCAL_MEM_SIZE);
    traits->work_group = device_size(r, CL_DEVICE_MAX_WORK_GROUP_SIZE);
    size_t sizes[16] = {0};
    if (ask(r, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes))
        for (int d = 0; d < 3; ++d)
            traits->work_item_sizes[d] = sizes[d];
    traits->cache_line = device_u32(r, CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE);
    traits->global_cache = device_u64(r, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
    traits->profiling_resolution_ns = device_size(r, CL_DEVICE_PROFILING_TIMER_RESOLUTION);
}

static bool texts_complete(const husk_device *device)
{
    for (int i = STRING_PLATFORM_NAME; i <= STRING_PCI_ADDRESS; ++i)
        if (!device->strings[i])
            return false;
    return true;
}

// ---- limits ----

// False: there is no such limit, or none of this value.
static bool limit(husk_device *device, const char *name, uint64_t value)
{
    husk_device_traits *traits = &device->traits;
    uint32_t small = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
    const bool is_count = strcmp(name, "work_group") == 0 || strcmp(name, "compute_units") == 0;
    if (is_count && value == 0)
        return false;
    if (strcmp(name, "vector_width") == 0 && (value < 4 || (value & (value - 1))))
        return false;
    if (strcmp(name, "local_memory") == 0) {
        if (value < traits->local_memory)
            traits->local_memory = value;
    } else if (strcmp(name, "work_group") == 0) {
        if (value < traits->work_group)
            traits->work_group = value;
    } else if (strcmp(name, "compute_units") == 0) {
        if (small < traits->compute_units)
            traits->compute_units = small;
    } else if (strcmp(name, "max_allocation") == 0) {
        if (value < traits->max_allocation)
            traits->max_allocation = value;
    } else if (strcmp(name, "global_memory") == 0) {
        if (value < traits->global_memory)
            traits->global_memory = value;
    } else if (strcmp(name, "vector_width") == 0) {
        if (value < traits->vector_width)
            traits->vector_width = small;
    } else if (strcmp(name, "f64") == 0) {
        traits->has_f64 = traits->has_f64 && value != 0;
    } else if (strcmp(name, "pooled_memory") == 0) {
        device->pooled_memory = value;
    } else if (strcmp(name, "index") == 0) {
        if (value < (uint64_t)device->index_limit)
            device->index_limit = (int64_t)value;
    } else if (strcmp(name, "launch") == 0) {
        if (value < (uint64_t)device->launch_limit)
            device->launch_limit = (int64_t)value;
    } else {
        return false;
    }
    return true;
}

void husk__device_limit(husk_device *device, const char *limits)
{
    char *copy = limits ? husk__copy_string(limits) : NULL;
    char *rest = copy;
    device->list->lacks_memory |= limits && !copy;
    for (char *item = copy ? strtok_r(copy, ",", &rest) : NULL; item; item = strtok_r(NULL, ",", &rest)) {
        char *equals = strchr(item, '=');
        uint64_t value;
        if (equals)
            *equals = 0;
        if (!equals || !husk__parse_size(equals + 1, &value) || !limit(device, item, value))
            husk__device_list_add_note(
                device->list, HUSK_NOTE_WARNING,
                "HUSK_LIMITS: \"%s%s%s\" is not understood; legal: local_memory, work_group and compute_units (from "
                "1 on), vector_width (4, 8 or 16), max_allocation, global_memory, pooled_memory, index, launch, f64, "
                "each =number[K|M|G]",
                item, equals ? "=" : "", equals ? equals + 1 : "");
    }
    free(copy);
}

bool husk__device_read(husk_device *device, husk__unanswered *failed)
{
    reading r = {.id = device->id};
    read_texts(device, &r);
    if (texts_complete(device))
        read_numbers(device, &r);
    *failed = r.failed;
    if (!texts_complete(device) || r.failed.code)
        return false;
    device->pooled_memory = UINT64_MAX;
    device->index_limit = INT32_MAX / 2; // the other half is left to the kernels' own steps past the end
    device->launch_limit = HUSK__MOST_ITEMS;
    husk__device_limit(device, husk__environment("HUSK_LIMITS"));
    return true;
}
