// SPDX-License-Identifier: MIT
// What the system has besides what OpenCL shows: a GPU nobody serves must be said first, since measuring a CPU
// in its place without a word would be the worst answer.
#include "runtime/device_notes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/environment.h"
#include "os/folder.h"
#include "os/library.h"
#include "os/read_file.h"

enum { VENDOR_AMD = 0x1002, VENDOR_NVIDIA = 0x10de, VENDOR_INTEL = 0x8086 };

static char *read_text(husk_device_list *list, const char *path)
{
    errno = 0;
    char *text = husk__read_file(path, NULL);
    list->lacks_memory |= !text && errno == ENOMEM;
    return text;
}

static bool read_hex(husk_device_list *list, const char *directory, const char *name, const char *leaf, unsigned *value)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s/%s", directory, name, leaf);
    char *text = read_text(list, path);
    bool found = text && sscanf(text, "%x", value) == 1;
    free(text);
    return found;
}

// A driver that does not tell the domain, as AMD's, says 0.
static bool is_at(const char *said, const char *address)
{
    const char *bus = strchr(address, ':');
    return strcmp(said, address) == 0 || (bus && strncmp(said, "0000:", 5) == 0 && strcmp(said + 4, bus) == 0);
}

// Whether some GPU device of OpenCL is this card: by address, or by vendor where the driver gives none.
static bool is_served(const husk_device_list *list, const char *address, unsigned vendor)
{
    for (size_t i = 0; i < list->count; ++i) {
        const husk_device_traits *traits = &list->devices[i].traits;
        if (traits->device_class != HUSK_DEVICE_GPU_DISCRETE && traits->device_class != HUSK_DEVICE_GPU_INTEGRATED)
            continue;
        if (traits->pci_address[0] && is_at(traits->pci_address, address))
            return true;
        cl_uint device_vendor = 0;
        clGetDeviceInfo(list->devices[i].id, CL_DEVICE_VENDOR_ID, sizeof device_vendor, &device_vendor, NULL);
        if (!traits->pci_address[0] && device_vendor == vendor)
            return true;
    }
    return false;
}

static bool render_nodes_are_closed(void)
{
    husk__folder *folder = husk__folder_open("/dev/dri");
    if (!folder)
        return false;
    bool closed = false;
    for (const char *name; (name = husk__folder_next(folder));) {
        char path[512];
        snprintf(path, sizeof path, "/dev/dri/%s", name);
        if (strncmp(name, "renderD", 7) == 0 && !husk__is_open_to_user(path))
            closed = true;
    }
    husk__folder_close(folder);
    return closed;
}

static const char *advice(unsigned vendor)
{
    switch (vendor) {
    case VENDOR_NVIDIA:
        return "install NVIDIA's driver with its OpenCL library (Debian: nvidia-opencl-icd); in a container, "
               "/etc/OpenCL/vendors/nvidia.icd must name libnvidia-opencl.so.1 and the compute capability be granted";
    case VENDOR_AMD:
        return "install ROCm's OpenCL (rocm-opencl-icd), or Mesa's mesa-opencl-icd with RUSTICL_ENABLE=radeonsi";
    case VENDOR_INTEL:
        return "install intel-opencl-icd, or Mesa's mesa-opencl-icd with RUSTICL_ENABLE=iris";
    }
    return "install its vendor's OpenCL driver";
}

static const char *vendor_name(unsigned vendor)
{
    switch (vendor) {
    case VENDOR_NVIDIA:
        return "NVIDIA";
    case VENDOR_AMD:
        return "AMD";
    case VENDOR_INTEL:
        return "Intel";
    }
    return "other";
}

// Displays of the vendors that make GPUs for computing, and AMD's processing accelerators (those of others, such as
// Intel's NPUs, are no GPUs); a server's or a virtual machine's plain display adapter is none.
static bool is_computing_gpu(unsigned class, unsigned vendor)
{
    unsigned base = class >> 16;
    if (base == 0x12)
        return vendor == VENDOR_AMD;
    return base == 0x03 && (vendor == VENDOR_NVIDIA || vendor == VENDOR_AMD || vendor == VENDOR_INTEL);
}

static void examine_pci(husk_device_list *list)
{
    static const char root[] = "/sys/bus/pci/devices";
    husk__folder *folder = husk__folder_open(root);
    if (!folder)
        return;
    for (const char *name; (name = husk__folder_next(folder));) {
        unsigned class, vendor;
        if (name[0] == '.' || !read_hex(list, root, name, "class", &class) ||
            !read_hex(list, root, name, "vendor", &vendor) || !is_computing_gpu(class, vendor) ||
            is_served(list, name, vendor))
            continue;
        husk__device_list_add_note(
            list, HUSK_NOTE_MISSING_GPU, "this machine has a GPU from %s (PCI %s) that OpenCL does not show: %s%s",
            vendor_name(vendor), name, advice(vendor),
            render_nodes_are_closed() ? "; /dev/dri/renderD* is not open to this user: join the group render" : "");
    }
    husk__folder_close(folder);
}

static bool has_gpu(const husk_device_list *list)
{
    for (size_t i = 0; i < list->count; ++i)
        if (list->devices[i].traits.device_class == HUSK_DEVICE_GPU_DISCRETE ||
            list->devices[i].traits.device_class == HUSK_DEVICE_GPU_INTEGRATED)
            return true;
    return false;
}

static bool has_note(const husk_device_list *list, husk_note_kind kind)
{
    for (size_t i = 0; i < list->note_count; ++i)
        if (list->notes[i].kind == kind)
            return true;
    return false;
}

// A container may hide the PCI bus but not the device files.
static void examine_device_files(husk_device_list *list)
{
    if (has_gpu(list) || has_note(list, HUSK_NOTE_MISSING_GPU))
        return;
    if (husk__is_there("/dev/nvidia0"))
        husk__device_list_add_note(list, HUSK_NOTE_MISSING_GPU,
                                   "this machine has an NVIDIA GPU (/dev/nvidia0) that OpenCL does not show: %s",
                                   advice(VENDOR_NVIDIA));
    else if (husk__is_there("/dev/kfd"))
        husk__device_list_add_note(
            list, HUSK_NOTE_MISSING_GPU, "this machine has an AMD GPU (/dev/kfd) that OpenCL does not show: %s%s",
            advice(VENDOR_AMD),
            !husk__is_open_to_user("/dev/kfd") ? "; /dev/kfd is not open to this user: join the group render" : "");
}

// An .icd file that names a library which cannot be loaded: the loader skips it without a word. Those that can
// be have been, so this loads nothing new.
static void examine_icd_file(husk_device_list *list, const char *directory, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    char *library = read_text(list, path);
    if (!library)
        return;
    library[strcspn(library, " \t\r\n")] = 0;
    const char *reason = *library ? husk__try_library(library) : "the file is empty";
    if (reason)
        husk__device_list_add_note(list, HUSK_NOTE_WARNING,
                                   "%s: its OpenCL library cannot be loaded and is skipped: %s", path, reason);
    free(library);
}

static void examine_icds(husk_device_list *list)
{
    const char *directory = husk__environment("OCL_ICD_VENDORS");
    if (!directory)
        directory = "/etc/OpenCL/vendors";
    husk__folder *folder = husk__folder_open(directory);
    if (!folder)
        return;
    for (const char *name; (name = husk__folder_next(folder));) {
        size_t length = strlen(name);
        if (length > 4 && strcmp(name + length - 4, ".icd") == 0)
            examine_icd_file(list, directory, name);
    }
    husk__folder_close(folder);
}

void husk__device_list_examine_system(husk_device_list *list)
{
    examine_pci(list);
    examine_device_files(list);
    examine_icds(list);
}
