// SPDX-License-Identifier: MIT
// The list of platforms and devices, their traits, and the choice among them.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/os.h"
#include "base/text.h"
#include "runtime/internal.h"

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

// ---- reading one device ----

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

static char *device_text(cl_device_id id, cl_device_info info)
{
    size_t size = 0;
    if (clGetDeviceInfo(id, info, 0, NULL, &size) != CL_SUCCESS)
        return husk__copy_string("");
    char *text = calloc(1, size + 1);
    if (text && clGetDeviceInfo(id, info, size, text, NULL) != CL_SUCCESS)
        text[0] = 0;
    return text;
}

static char *platform_text(cl_platform_id platform, cl_platform_info info)
{
    size_t size = 0;
    if (clGetPlatformInfo(platform, info, 0, NULL, &size) != CL_SUCCESS)
        return husk__copy_string("");
    char *text = calloc(1, size + 1);
    if (text && clGetPlatformInfo(platform, info, size, text, NULL) != CL_SUCCESS)
        text[0] = 0;
    return text;
}

static uint64_t device_u64(cl_device_id id, cl_device_info info)
{
    cl_ulong value = 0;
    clGetDeviceInfo(id, info, sizeof value, &value, NULL);
    return value;
}

static uint32_t device_u32(cl_device_id id, cl_device_info info)
{
    cl_uint value = 0;
    clGetDeviceInfo(id, info, sizeof value, &value, NULL);
    return value;
}

static uint64_t device_size(cl_device_id id, cl_device_info info)
{
    size_t value = 0;
    clGetDeviceInfo(id, info, sizeof value, &value, NULL);
    return value;
}

// cl_khr_pci_bus_info, else NVIDIA's and AMD's own queries; "" where none answers. Asked only of a device that
// lists the extension: a checking layer takes any other question for a mistake.
static char *pci_address(cl_device_id id, const char *extensions)
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
    if (strstr(extensions, "cl_khr_pci_bus_info") &&
        clGetDeviceInfo(id, PCI_BUS_INFO_KHR, sizeof khr, &khr, NULL) == CL_SUCCESS)
        snprintf(text, sizeof text, "%04x:%02x:%02x.%x", khr.domain, khr.bus, khr.device, khr.function);
    else if (strstr(extensions, "cl_nv_device_attribute_query") &&
             clGetDeviceInfo(id, PCI_BUS_NV, sizeof bus, &bus, NULL) == CL_SUCCESS &&
             clGetDeviceInfo(id, PCI_SLOT_NV, sizeof slot, &slot, NULL) == CL_SUCCESS) {
        if (clGetDeviceInfo(id, PCI_DOMAIN_NV, sizeof domain, &domain, NULL) != CL_SUCCESS)
            domain = 0; // older drivers do not say
        snprintf(text, sizeof text, "%04x:%02x:%02x.%x", domain, bus, slot >> 3, slot & 7);
    } else if (strstr(extensions, "cl_amd_device_attribute_query") &&
             clGetDeviceInfo(id, TOPOLOGY_AMD, sizeof amd, &amd, NULL) == CL_SUCCESS && amd.type == 1)
        snprintf(text, sizeof text, "0000:%02x:%02x.%x", (unsigned)(cl_uchar)amd.bus,
                 (unsigned)(cl_uchar)amd.device, (unsigned)(cl_uchar)amd.function);
    return husk__copy_string(text);
}

static husk_device_class device_class(cl_device_id id, const char *platform_name, bool shares_host_memory)
{
    cl_device_type type = 0;
    clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    if (husk__contains_ignoring_case(platform_name, "oclgrind"))
        return HUSK_DEVICE_SIMULATOR;
    if (type & CL_DEVICE_TYPE_GPU)
        return shares_host_memory ? HUSK_DEVICE_GPU_INTEGRATED : HUSK_DEVICE_GPU_DISCRETE;
    return type & CL_DEVICE_TYPE_CPU ? HUSK_DEVICE_CPU : HUSK_DEVICE_ACCELERATOR;
}

// Floats in a register: 4, 8 or 16 for a CPU, whatever odd number a driver gives; 4 where it does not matter.
static uint32_t vector_width(cl_device_id id, husk_device_class class)
{
    if (class != HUSK_DEVICE_CPU)
        return 4;
    uint32_t width = device_u32(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
    if (width < 4)
        width = device_u32(id, CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT);
    return width >= 16 ? 16 : width >= 8 ? 8 : 4;
}

static void read_texts(husk_device *device)
{
    device->strings[STRING_PLATFORM_NAME] = platform_text(device->platform, CL_PLATFORM_NAME);
    device->strings[STRING_NAME] = device_text(device->id, CL_DEVICE_NAME);
    device->strings[STRING_VENDOR] = device_text(device->id, CL_DEVICE_VENDOR);
    device->strings[STRING_DRIVER_VERSION] = device_text(device->id, CL_DRIVER_VERSION);
    device->strings[STRING_DEVICE_VERSION] = device_text(device->id, CL_DEVICE_VERSION);
    device->strings[STRING_OPENCL_C_VERSION] = device_text(device->id, CL_DEVICE_OPENCL_C_VERSION);
    device->strings[STRING_EXTENSIONS] = device_text(device->id, CL_DEVICE_EXTENSIONS);
    device->strings[STRING_PCI_ADDRESS] =
        pci_address(device->id, device->strings[STRING_EXTENSIONS] ? device->strings[STRING_EXTENSIONS] : "");
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

static void read_numbers(husk_device *device)
{
    cl_device_id id = device->id;
    husk_device_traits *traits = &device->traits;
    traits->is_available = device_u32(id, CL_DEVICE_AVAILABLE) != 0;
    traits->shares_host_memory = device_u32(id, CL_DEVICE_HOST_UNIFIED_MEMORY) != 0;
    traits->device_class = device_class(id, traits->platform_name, traits->shares_host_memory);
    traits->has_f64 = strstr(traits->extensions, "cl_khr_fp64") != NULL;
    traits->has_f16 = strstr(traits->extensions, "cl_khr_fp16") != NULL;
    traits->has_subgroups = strstr(traits->extensions, "cl_khr_subgroups") != NULL ||
                            strstr(traits->extensions, "cl_intel_subgroups") != NULL;
    traits->compute_units = device_u32(id, CL_DEVICE_MAX_COMPUTE_UNITS);
    if (traits->compute_units == 0) // work is divided among them
        traits->compute_units = 1;
    traits->clock_mhz = device_u32(id, CL_DEVICE_MAX_CLOCK_FREQUENCY);
    traits->vector_width = vector_width(id, traits->device_class);
    traits->base_address_alignment = device_u32(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
    traits->global_memory = device_u64(id, CL_DEVICE_GLOBAL_MEM_SIZE);
    traits->max_allocation = device_u64(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    traits->local_memory = device_u64(id, CL_DEVICE_LOCAL_MEM_SIZE);
    traits->work_group = device_size(id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
    size_t sizes[16] = {0};
    if (clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, NULL) == CL_SUCCESS)
        for (int d = 0; d < 3; ++d)
            traits->work_item_sizes[d] = sizes[d];
    traits->cache_line = device_u32(id, CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE);
    traits->global_cache = device_u64(id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
    traits->profiling_resolution_ns = device_size(id, CL_DEVICE_PROFILING_TIMER_RESOLUTION);
}

static bool limit(husk_device *device, const char *name, uint64_t value)
{
    husk_device_traits *traits = &device->traits;
    uint32_t small = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
    if (strcmp(name, "local_memory") == 0) {
        if (value < traits->local_memory)
            traits->local_memory = value;
    } else if (strcmp(name, "work_group") == 0) {
        if (value < traits->work_group && value > 0)
            traits->work_group = value;
    } else if (strcmp(name, "compute_units") == 0) {
        if (small < traits->compute_units && small > 0)
            traits->compute_units = small;
    } else if (strcmp(name, "max_allocation") == 0) {
        if (value < traits->max_allocation)
            traits->max_allocation = value;
    } else if (strcmp(name, "global_memory") == 0) {
        if (value < traits->global_memory)
            traits->global_memory = value;
    } else if (strcmp(name, "vector_width") == 0) {
        if ((value == 4 || value == 8) && value < traits->vector_width)
            traits->vector_width = small;
    } else if (strcmp(name, "f64") == 0) {
        traits->has_f64 = traits->has_f64 && value != 0;
    } else if (strcmp(name, "pooled_memory") == 0) {
        device->pooled_memory = value;
    } else if (strcmp(name, "index") == 0) {
        if (value < (uint64_t)device->index_limit)
            device->index_limit = (int64_t)value;
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
                "HUSK_LIMITS: \"%s\" is not understood; legal: local_memory, work_group, "
                "compute_units, vector_width, max_allocation, global_memory, pooled_memory, "
                "index, f64, each =number[K|M|G]",
                item);
    }
    free(copy);
}

static bool texts_complete(const husk_device *device)
{
    for (int i = STRING_PLATFORM_NAME; i <= STRING_PCI_ADDRESS; ++i)
        if (!device->strings[i])
            return false;
    return true;
}

// False where there was no memory for its texts, by which the numbers go.
static bool read_device(husk_device *device, cl_platform_id platform, cl_device_id id,
                        uint32_t platform_index, uint32_t device_index)
{
    device->platform = platform;
    device->id = id;
    read_texts(device);
    if (!texts_complete(device))
        return false;
    read_numbers(device);
    device->traits.platform_index = platform_index;
    device->traits.device_index = device_index;
    device->pooled_memory = UINT64_MAX;
    device->index_limit = INT32_MAX / 2; // the other half is left to the kernels' own steps past the end
    husk__device_limit(device, husk__environment("HUSK_LIMITS"));
    return true;
}

// ---- the list ----

static husk_device_list *create_list(void)
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

void husk_device_list_release(husk_device_list *list)
{
    if (!list || atomic_fetch_sub(&list->references, 1) != 1)
        return;
    for (size_t i = 0; i < list->count; ++i)
        for (size_t s = 0; s < sizeof list->devices[i].strings / sizeof *list->devices[i].strings; ++s)
            free(list->devices[i].strings[s]);
    for (size_t i = 0; i < list->note_count; ++i)
        free(list->notes[i].text);
    free(list->devices);
    free(list->notes);
    free(list);
}

static bool append_device(husk_device_list *list, cl_platform_id platform, cl_device_id id,
                          uint32_t platform_index, uint32_t device_index)
{
    husk_device *devices = realloc(list->devices, (list->count + 1) * sizeof *devices);
    if (!devices)
        return false;
    list->devices = devices;
    husk_device *device = &devices[list->count++];
    memset(device, 0, sizeof *device);
    device->list = list;
    return read_device(device, platform, id, platform_index, device_index);
}

static bool append_platform(husk_device_list *list, cl_platform_id platform, uint32_t index)
{
    cl_uint count = 0;
    cl_int code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count);
    if (code != CL_SUCCESS || count == 0) {
        char *name = platform_text(platform, CL_PLATFORM_NAME);
        husk__device_list_add_note(list,
                                   code == CL_SUCCESS || code == CL_DEVICE_NOT_FOUND ? HUSK_NOTE_INFORMATION
                                                                                     : HUSK_NOTE_WARNING,
                                   "platform %u, %s, has no device (%s)", (unsigned)index, name ? name : "",
                                   husk__opencl_name(code));
        free(name);
        return true;
    }
    cl_device_id *ids = calloc(count, sizeof *ids);
    bool complete = ids != NULL;
    code = ids ? clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids, NULL) : CL_SUCCESS;
    if (code != CL_SUCCESS)
        husk__device_list_add_note(list, HUSK_NOTE_WARNING, "platform %u does not list its devices (%s)",
                                   (unsigned)index, husk__opencl_name(code));
    for (cl_uint d = 0; complete && code == CL_SUCCESS && d < count; ++d)
        complete = append_device(list, platform, ids[d], index, d);
    free(ids);
    return complete;
}

// The same card under two platforms: said, so that nobody counts it twice.
static void note_duplicates(husk_device_list *list)
{
    for (size_t i = 0; i < list->count; ++i)
        for (size_t j = i + 1; j < list->count; ++j) {
            const husk_device_traits *a = &list->devices[i].traits, *b = &list->devices[j].traits;
            if (a->pci_address[0] && strcmp(a->pci_address, b->pci_address) == 0)
                husk__device_list_add_note(list, HUSK_NOTE_INFORMATION,
                                           "%u:%u and %u:%u are the same card, at PCI address %s",
                                           (unsigned)a->platform_index, (unsigned)a->device_index,
                                           (unsigned)b->platform_index, (unsigned)b->device_index,
                                           a->pci_address);
        }
}

// What the list's notes would have said stands in the text: a platform that is there but broken, a GPU.
static husk_status no_platform(const husk__scope *scope)
{
    husk__text text = {0};
    husk_device_list *list = create_list();
    if (list)
        husk__device_list_examine_system(list);
    for (size_t i = 0; list && i < list->note_count; ++i)
        husk__text_format(&text, "\n  %s", list->notes[i].text);
    husk_device_list_release(list);
    husk_status status = husk__fail(
        scope, HUSK_NO_PLATFORM,
        "no OpenCL platform is installed. For the CPU: apt-get install pocl-opencl-icd (Debian, Ubuntu), "
        "dnf install pocl (Fedora), pacman -S pocl (Arch); for a GPU: its vendor's OpenCL driver%s",
        text.bytes ? text.bytes : "");
    husk__text_free(&text);
    return status;
}

husk_status husk_device_list_create(husk_device_list **list, husk_error *error)
{
    husk__scope scope = {"husk_device_list_create", error};
    if (!list)
        return husk__reject(&scope, "list", "is NULL");
    *list = NULL;
    cl_uint count = 0;
    cl_int code = clGetPlatformIDs(0, NULL, &count);
    if (code == -1001 || (code == CL_SUCCESS && count == 0))
        return no_platform(&scope);
    if (code != CL_SUCCESS)
        return husk__opencl_failed(NULL, &scope, "clGetPlatformIDs", code);
    cl_platform_id *platforms = calloc(count, sizeof *platforms);
    husk_device_list *made = create_list();
    husk_status status = HUSK_OK;
    if (!platforms || !made)
        status = husk__fail(&scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for the list");
    else if ((code = clGetPlatformIDs(count, platforms, NULL)) != CL_SUCCESS)
        status = husk__opencl_failed(NULL, &scope, "clGetPlatformIDs", code);
    for (cl_uint p = 0; status == HUSK_OK && p < count; ++p)
        if (!append_platform(made, platforms[p], p))
            status = husk__fail(&scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for the list");
    free(platforms);
    if (status == HUSK_OK) {
        note_duplicates(made);
        husk__device_list_examine_system(made);
    }
    if (status == HUSK_OK && made->lacks_memory) // for a limit or a note, which are not to be missed
        status = husk__fail(&scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for the list");
    if (status == HUSK_OK)
        *list = made;
    else
        husk_device_list_release(made);
    return status;
}

husk_status husk__device_list_wrap(cl_device_id id, husk_device_list **list, const husk__scope *scope)
{
    cl_platform_id platform = NULL;
    clGetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    *list = create_list();
    if (!*list || !append_device(*list, platform, id, 0, 0) || (*list)->lacks_memory) {
        husk_device_list_release(*list);
        *list = NULL;
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for the device's description");
    }
    return HUSK_OK;
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

// ---- choosing ----

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

static bool is_gpu(const husk_device_traits *traits)
{
    return traits->device_class == HUSK_DEVICE_GPU_DISCRETE ||
           traits->device_class == HUSK_DEVICE_GPU_INTEGRATED;
}

// "2:0", in digits alone; a number that is too large is no device's.
static bool parse_place(const char *wish, unsigned long long place[2])
{
    for (int i = 0; i < 2; ++i) {
        char *end;
        if (*wish < '0' || *wish > '9')
            return false;
        place[i] = strtoull(wish, &end, 10);
        if (*end != (i == 0 ? ':' : 0))
            return false;
        wish = end + 1;
    }
    return true;
}

static bool fits(const husk_device_traits *traits, const char *wish)
{
    if (!wish)
        return rank(traits) > 0;
    if (strcasecmp(wish, "gpu") == 0)
        return is_gpu(traits);
    if (strcasecmp(wish, "cpu") == 0)
        return traits->device_class == HUSK_DEVICE_CPU;
    unsigned long long place[2];
    if (parse_place(wish, place))
        return traits->platform_index == place[0] && traits->device_index == place[1];
    return husk__contains_ignoring_case(traits->name, wish) ||
           husk__contains_ignoring_case(traits->platform_name, wish);
}

static husk_status nothing_fits(const husk_device_list *list, const char *wish, const husk__scope *scope)
{
    husk__text text = {0};
    for (size_t i = 0; i < list->count; ++i) {
        const husk_device_traits *traits = &list->devices[i].traits;
        husk__text_format(&text, "\n  %u:%u  %s (%s, %s)%s", (unsigned)traits->platform_index,
                          (unsigned)traits->device_index, traits->name,
                          husk_device_class_text(traits->device_class), traits->platform_name,
                          traits->is_available ? "" : ", not available");
    }
    const bool has_any = text.bytes;
    for (size_t i = 0; i < list->note_count; ++i) // a platform that did not list its devices, and why
        if (list->notes[i].kind == HUSK_NOTE_WARNING)
            husk__text_format(&text, "\n  %s", list->notes[i].text);
    husk_status status =
        husk__fail(scope, HUSK_NO_DEVICE, "%s%s%s%s",
                   wish ? "no device fits \"" : "no device can be the default", wish ? wish : "",
                   wish ? "\"" : "", has_any ? "; there is:" : "; there is none");
    if (text.bytes && scope->error) {
        size_t used = strlen(scope->error->text);
        snprintf(scope->error->text + used, sizeof scope->error->text - used, "%s", text.bytes);
    }
    husk__text_free(&text);
    return status;
}

husk_status husk_device_list_select(const husk_device_list *list, const char *wish,
                                    const husk_device **device, husk_error *error)
{
    husk__scope scope = {"husk_device_list_select", error};
    if (!list)
        return husk__reject(&scope, "list", "is NULL");
    if (!device)
        return husk__reject(&scope, "device", "is NULL");
    *device = NULL;
    if (!wish || !*wish)
        wish = husk__environment("HUSK_DEVICE");
    int best = -1;
    for (size_t i = 0; i < list->count; ++i) {
        const husk_device *candidate = &list->devices[i];
        if (fits(&candidate->traits, wish) && rank(&candidate->traits) > best) {
            best = rank(&candidate->traits);
            *device = candidate;
        }
    }
    return *device ? HUSK_OK : nothing_fits(list, wish, &scope);
}
