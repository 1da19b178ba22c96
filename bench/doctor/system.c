// SPDX-License-Identifier: MIT
// GPUs that the system shows, on the PCI bus or as device files, and has no OpenCL device for: why, and what to do.
#include "doctor/system.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/json.h"
#include "doctor/address.h"
#include "doctor/machine.h"
#include "doctor/node.h"
#include "doctor/vendors.h"

#define PCI_ROOT "/sys/bus/pci/devices"

enum { VENDOR_AMD = 0x1002, VENDOR_NVIDIA = 0x10de, VENDOR_INTEL = 0x8086 };

static const struct {
    unsigned id;
    const char *name, *words, *modules, *rusticl; // words: parts of what its drivers call the vendor
} vendors[] = {
    {VENDOR_AMD, "AMD", "AMD|Advanced Micro", "amdgpu", "radeonsi"},
    {VENDOR_NVIDIA, "NVIDIA", "NVIDIA", "nvidia", "nouveau"},
    {VENDOR_INTEL, "Intel", "Intel", "i915 or xe", "iris"},
};
#define VENDOR_COUNT (sizeof vendors / sizeof *vendors)

static int vendor_index(const char *name)
{
    for (size_t i = 0; i < VENDOR_COUNT; i++) {
        if (!strcmp(vendors[i].name, name))
            return (int)i;
    }
    return -1;
}

// ---- what the system shows ----

static bool read_hex(const bench_doctor *d, const char *address, const char *leaf, unsigned *value)
{
    char path[300];
    snprintf(path, sizeof path, PCI_ROOT "/%.200s/%s", address, leaf);
    char *text = bench_doctor_read(d, path, NULL);
    const bool found = text && sscanf(text, "%x", value) == 1;
    free(text);
    return found;
}

// The kernel driver that is bound to it, by its link's last part; "" for none.
static void bound_driver(const bench_doctor *d, const char *address, char *name, size_t size)
{
    char path[BENCH_DOCTOR_PATH], target[512];
    bench_doctor_path(d, path, PCI_ROOT "/%.200s/driver", address);
    const ssize_t length = readlink(path, target, sizeof target - 1);
    target[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(target, '/');
    snprintf(name, size, "%.60s", slash ? slash + 1 : target);
}

static void add_gpu(bench_doctor *d, const char *where, const char *vendor, const char *id, const char *driver)
{
    json_array_append_new(
        d->gpus, json_pack("{s:s, s:s, s:s, s:s}", "where", where, "vendor", vendor, "id", id, "driver", driver));
}

// /dev/nvidia and a number, and not /dev/nvidiactl.
static bool is_nvidia_file(const char *path)
{
    return !strncmp(path, "/dev/nvidia", 11) && path[11] >= '0' && path[11] <= '9';
}

// Displays of the vendors that make GPUs for computing, and AMD's processing accelerators, since those of others are no
// GPUs; a virtual machine's plain display is none.
static void examine_pci(bench_doctor *d, const char *address)
{
    unsigned class = 0, vendor = 0, number = 0;
    char driver[64], id[32];
    if (!read_hex(d, address, "class", &class) || !read_hex(d, address, "vendor", &vendor) ||
        ((class >> 16) != 0x03 && !((class >> 16) == 0x12 && vendor == VENDOR_AMD)))
        return;
    read_hex(d, address, "device", &number);
    bound_driver(d, address, driver, sizeof driver);
    snprintf(id, sizeof id, "%04x:%04x", vendor, number);
    for (size_t i = 0; i < VENDOR_COUNT; i++) {
        if (vendors[i].id == vendor)
            add_gpu(d, address, vendors[i].name, id, driver);
    }
}

// A container may hide the PCI bus, and not the device files.
static void find_by_files(bench_doctor *d)
{
    size_t i;
    const json_t *node;
    json_array_foreach(d->nodes, i, node)
    {
        const char *path = bench_text_of(node, "path");
        if (is_nvidia_file(path))
            add_gpu(d, path, "NVIDIA", "", "nvidia");
        else if (!strcmp(path, "/dev/kfd"))
            add_gpu(d, path, "AMD", "", "amdgpu");
    }
}

static void find_gpus(bench_doctor *d)
{
    char folder[BENCH_DOCTOR_PATH];
    bench_doctor_path(d, folder, PCI_ROOT);
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (entry->d_name[0] != '.')
            examine_pci(d, entry->d_name);
    }
    if (directory)
        closedir(directory);
    if (json_array_size(d->gpus) == 0)
        find_by_files(d);
}

// ---- what OpenCL shows of it ----

static bool is_gpu(const json_t *device)
{
    return strstr(bench_text_of(json_object_get(device, "traits"), "class"), "GPU") != NULL;
}

static bool is_of_vendor(const json_t *device, int vendor)
{
    const char *name = bench_text_of(device, "vendor");
    char words[64], *position = NULL;
    snprintf(words, sizeof words, "%s", vendors[vendor].words);
    for (char *word = strtok_r(words, "|", &position); word; word = strtok_r(NULL, "|", &position)) {
        if (strstr(name, word) || strstr(bench_text_of(device, "name"), word))
            return true;
    }
    return false;
}

// Drivers that cannot say the domain say 0: what no GPU in domain 0 is meant by is the one elsewhere.
static bool is_meant(const bench_doctor *d, const char *said, const char *where)
{
    bench_address a, b;
    size_t i;
    const json_t *gpu;
    if (bench_doctor_same_address(said, where))
        return true;
    if (!bench_doctor_read_address(said, &a) || !bench_doctor_read_address(where, &b) || a.domain)
        return false;
    json_array_foreach(d->gpus, i, gpu)
    {
        if (bench_doctor_same_address(said, bench_text_of(gpu, "where")))
            return false;
    }
    return a.bus == b.bus && a.device == b.device && a.function == b.function;
}

// By its address, or by the vendor where the driver gives none.
static bool is_served(const bench_doctor *d, const json_t *gpu)
{
    const int vendor = vendor_index(bench_text_of(gpu, "vendor"));
    const char *where = bench_text_of(gpu, "where");
    size_t i;
    const json_t *device;
    json_array_foreach(d->devices, i, device)
    {
        const char *said = bench_text_of(json_object_get(device, "traits"), "pci_address");
        if (!is_gpu(device))
            continue;
        if (where[0] != '/' && is_meant(d, said, where))
            return true;
        if ((where[0] == '/' || !said[0]) && is_of_vendor(device, vendor))
            return true;
    }
    return false;
}

// ---- why not ----

typedef struct cause {
    char why[400], todo[600];
} cause;

static bool explain_driver(const bench_doctor *d, const json_t *gpu, int vendor, cause *c)
{
    const char *driver = bench_text_of(gpu, "driver");
    const bool is_nvidia = vendors[vendor].id == VENDOR_NVIDIA;
    if (!driver[0] && !d->in_container) {
        snprintf(c->why, sizeof c->why, "no kernel driver is bound to it");
        snprintf(c->todo, sizeof c->todo, "load %s (modprobe; dmesg says why it does not take the card)%s",
                 vendors[vendor].modules,
                 is_nvidia ? ", from the package nvidia-driver"
                           : ", and have its firmware installed (linux-firmware, firmware-misc-nonfree)");
        return true;
    }
    if (!strncmp(driver, "vfio", 4) || !strcmp(driver, "pci-stub")) {
        snprintf(c->why, sizeof c->why, "the kernel driver %s keeps it for virtual machines", driver);
        snprintf(c->todo, sizeof c->todo, "bind it to %s, or run this inside the virtual machine that has it",
                 vendors[vendor].modules);
        return true;
    }
    if (!strcmp(driver, "nouveau")) {
        snprintf(c->why, sizeof c->why, "the kernel driver nouveau has it, which NVIDIA's OpenCL cannot use");
        snprintf(c->todo, sizeof c->todo,
                 "install nvidia-driver and nvidia-opencl-icd, or mesa-opencl-icd with RUSTICL_ENABLE=nouveau");
        return true;
    }
    return false;
}

static bool has_render_node(const bench_doctor *d)
{
    return bench_doctor_has_node(d, "/dev/dri/renderD", true);
}

// The file of one card, by the number that its kernel driver says; "" where it says none.
static void nvidia_file(const bench_doctor *d, const json_t *gpu, char *file, size_t size)
{
    char path[300];
    unsigned number = 0;
    const char *where = bench_text_of(gpu, "where");
    snprintf(path, sizeof path, "/proc/driver/nvidia/gpus/%.200s/information", where);
    char *text = where[0] == '/' ? NULL : bench_doctor_read(d, path, NULL);
    const char *minor = text ? strstr(text, "Device Minor:") : NULL;
    file[0] = '\0';
    if (minor && sscanf(minor, "Device Minor: %u", &number) == 1)
        snprintf(file, size, "/dev/nvidia%u", number);
    free(text);
}

static bool explain_nvidia_files(const bench_doctor *d, const json_t *gpu, cause *c)
{
    char file[32];
    nvidia_file(d, gpu, file, sizeof file);
    const bool has_card =
        file[0] ? bench_doctor_has_node(d, file, false) : bench_doctor_has_node(d, "/dev/nvidia", true);
    const bool has_control = bench_doctor_has_node(d, "/dev/nvidiactl", false);
    if (has_card && has_control)
        return false;
    snprintf(c->why, sizeof c->why, "there is no %s",
             !has_control ? "/dev/nvidiactl"
             : file[0]    ? file
                          : "/dev/nvidiaN");
    snprintf(c->todo, sizeof c->todo, "%s",
             d->in_container ? "start the container with --gpus all (nvidia-container-toolkit) and "
                               "NVIDIA_DRIVER_CAPABILITIES=compute,utility"
                             : "run nvidia-smi once as root, or nvidia-modprobe: they make them");
    return true;
}

// Drivers reach cards through device files, which a container has to be given.
static bool explain_files(const bench_doctor *d, const json_t *gpu, int vendor, cause *c)
{
    if (vendors[vendor].id == VENDOR_NVIDIA)
        return explain_nvidia_files(d, gpu, c);
    if (has_render_node(d))
        return false;
    snprintf(c->why, sizeof c->why, "there is no /dev/dri/renderD*");
    snprintf(c->todo, sizeof c->todo, "%s",
             !d->in_container ? "boot without nomodeset: the kernel driver makes it when it has taken the card"
             : vendors[vendor].id == VENDOR_AMD ? "start the container with --device /dev/dri --device /dev/kfd"
                                                : "start the container with --device /dev/dri");
    return true;
}

// A registered driver of the vendor, or Mesa's; NULL: none.
static const json_t *icd_of(const bench_doctor *d, const char *vendor)
{
    size_t i;
    const json_t *icd;
    json_array_foreach(d->icds, i, icd)
    {
        if (!strcmp(bench_doctor_vendor_of(bench_text_of(icd, "library")), vendor))
            return icd;
    }
    return NULL;
}

static void explain_missing_driver(const bench_doctor *d, int vendor, cause *c)
{
    const char *name = vendors[vendor].name, *capabilities = getenv("NVIDIA_DRIVER_CAPABILITIES");
    snprintf(c->why, sizeof c->why, "no OpenCL driver of %s is registered in %.200s", name, d->vendors);
    if (vendors[vendor].id == VENDOR_NVIDIA && d->in_container && capabilities && !strstr(capabilities, "compute") &&
        !strstr(capabilities, "all"))
        snprintf(c->todo, sizeof c->todo,
                 "NVIDIA_DRIVER_CAPABILITIES=%.100s lacks compute: start the container with compute,utility",
                 capabilities);
    else if (vendors[vendor].id == VENDOR_NVIDIA && d->in_container)
        snprintf(
            c->todo, sizeof c->todo,
            "start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility, and mkdir -p /etc/OpenCL/vendors && "
            "echo libnvidia-opencl.so.1 > /etc/OpenCL/vendors/nvidia.icd");
    else
        snprintf(c->todo, sizeof c->todo, "install %s; or mesa-opencl-icd with RUSTICL_ENABLE=%s",
                 bench_doctor_packages(name), vendors[vendor].rusticl);
}

// Variables by which programs are kept from devices.
static bool explain_hiding(int vendor, cause *c)
{
    static const struct {
        const char *variable;
        unsigned vendor;
    } hiding[] = {
        {"CUDA_VISIBLE_DEVICES", VENDOR_NVIDIA}, {"ROCR_VISIBLE_DEVICES", VENDOR_AMD},
        {"HIP_VISIBLE_DEVICES", VENDOR_AMD},     {"GPU_DEVICE_ORDINAL", VENDOR_AMD},
        {"ZE_AFFINITY_MASK", VENDOR_INTEL},
    };
    for (size_t i = 0; i < sizeof hiding / sizeof *hiding; i++) {
        const char *value = getenv(hiding[i].variable);
        if (!value || hiding[i].vendor != vendors[vendor].id)
            continue;
        snprintf(c->why, sizeof c->why, "%s=%.100s may hide it", hiding[i].variable, value);
        snprintf(c->todo, sizeof c->todo, "unset %s", hiding[i].variable);
        return true;
    }
    return false;
}

static void explain_driver_that_is_there(const json_t *icd, int vendor, cause *c)
{
    const char *state = bench_text_of(icd, "state"), *file = bench_text_of(icd, "file");
    const bool is_mesa = !strcmp(bench_doctor_vendor_of(bench_text_of(icd, "library")), "Mesa");
    const char *enabled = getenv("RUSTICL_ENABLE");
    if (strcmp(state, "ok") != 0 && strcmp(state, "empty") != 0) {
        snprintf(c->why, sizeof c->why, "its driver (%.200s) cannot be used: %s", file, state);
        snprintf(c->todo, sizeof c->todo, "mend that first");
    } else if (is_mesa && !(enabled && strstr(enabled, vendors[vendor].rusticl))) {
        snprintf(c->why, sizeof c->why, "Mesa's driver shows only what RUSTICL_ENABLE names, which is %.100s",
                 enabled ? enabled : "not set");
        snprintf(c->todo, sizeof c->todo, "set RUSTICL_ENABLE=%s; or install %s", vendors[vendor].rusticl,
                 bench_doctor_packages(vendors[vendor].name));
    } else if (!explain_hiding(vendor, c)) {
        snprintf(c->why, sizeof c->why, "its driver (%.200s) loads and does not show it", file);
        snprintf(
            c->todo, sizeof c->todo, "%s",
            vendors[vendor].id == VENDOR_NVIDIA
                ? "run nvidia-smi: versions of kernel module and libraries differ, or the card has failed; see dmesg"
                : "look into dmesg, and whether this version of the driver supports the card");
    }
}

static void explain_gpu(bench_doctor *d, const json_t *gpu, size_t closed)
{
    const char *name = bench_text_of(gpu, "vendor"), *id = bench_text_of(gpu, "id");
    const int vendor = vendor_index(name);
    const json_t *icd = icd_of(d, name);
    cause c = {.why = ""};
    icd = icd ? icd : icd_of(d, "Mesa");
    if (explain_driver(d, gpu, vendor, &c) || explain_files(d, gpu, vendor, &c))
        ;
    else if (!icd)
        explain_missing_driver(d, vendor, &c);
    else if (closed) {
        snprintf(c.why, sizeof c.why, "its device files cannot be opened by this user");
        snprintf(c.todo, sizeof c.todo, "mend that first, as is said beside them");
    } else
        explain_driver_that_is_there(icd, vendor, &c);
    bench_doctor_advise(bench_doctor_find(d, BENCH_FINDING_PROBLEM, "gpu_without_device",
                                          "a GPU of %s%s%s (%s) has no OpenCL device: %s", name, id[0] ? ", " : "", id,
                                          bench_text_of(gpu, "where"), c.why),
                        "%s", c.todo);
}

static bool has_gpu(const bench_doctor *d)
{
    size_t i;
    const json_t *device;
    json_array_foreach(d->devices, i, device)
    {
        if (is_gpu(device))
            return true;
    }
    return false;
}

// The bus is hidden, and somebody's render node is there: a container was given it, or a virtual machine has one.
static void explain_render_node(bench_doctor *d)
{
    bench_doctor_advise(bench_doctor_find(d, BENCH_FINDING_NOTE, "render_node_without_device",
                                          "/dev/dri has a render node, and no GPU is an OpenCL device"),
                        "if it is a card for computing, install its driver: AMD %s; Intel %s",
                        bench_doctor_packages("AMD"), bench_doctor_packages("Intel"));
}

// Windows has the card, and lets WSL 2 use it through this file. Of the vendors' OpenCL drivers only Intel's is known
// to work there (its WSL.md: from 21.30.20482, with Windows' driver 30.0.100.9955).
static void explain_wsl(bench_doctor *d)
{
    const json_t *icd = icd_of(d, "Intel");
    json_t *finding = bench_doctor_find(
        d, BENCH_FINDING_NOTE, "wsl_without_device",
        "this is Linux in Windows (WSL 2): /dev/dxg leads to the GPUs of Windows, and none is an OpenCL device%s%s%s",
        icd ? "; Intel's driver is registered (" : "", bench_text_of(icd, "file"), icd ? ")" : "");
    if (icd)
        bench_doctor_advise(finding, "for a GPU of Intel: update Windows' graphics driver (30.0.100.9955 or later), "
                                     "intel-opencl-icd (21.30 or later) and WSL (wsl --update)");
    else
        bench_doctor_advise(finding,
                            "for a GPU of Intel install intel-opencl-icd (21.30 or later); of others, see whether the "
                            "vendor's OpenCL knows WSL, or start Linux without Windows. No kernel driver is to be "
                            "installed here: Windows has it");
}

void bench_doctor_system(bench_doctor *d)
{
    size_t i, missing = 0;
    json_t *gpu;
    find_gpus(d);
    json_array_foreach(d->gpus, i, gpu)
    {
        const bool served = is_served(d, gpu);
        json_object_set_new(gpu, "served", json_boolean(served));
        missing += !served;
        if (served)
            bench_doctor_find(d, BENCH_FINDING_OK, "gpu", "the GPU of %s at %s is an OpenCL device",
                              bench_text_of(gpu, "vendor"), bench_text_of(gpu, "where"));
    }
    const bool is_known = json_array_size(d->gpus) > 0, lacks_gpu = !is_known && !has_gpu(d);
    const bool is_wsl = lacks_gpu && bench_doctor_has_node(d, "/dev/dxg", false);
    const bool is_unknown = lacks_gpu && has_render_node(d);
    const size_t closed = bench_doctor_tell_nodes(d, missing || is_wsl || is_unknown);
    json_array_foreach(d->gpus, i, gpu)
    {
        if (!json_is_true(json_object_get(gpu, "served")))
            explain_gpu(d, gpu, closed);
    }
    if (is_wsl)
        explain_wsl(d);
    else if (is_unknown && !closed)
        explain_render_node(d);
    else if (lacks_gpu && !is_unknown)
        bench_doctor_find(d, BENCH_FINDING_OK, "no_gpu", "the system shows no GPU for computing");
}
